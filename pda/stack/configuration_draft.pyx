# distutils: language = c++
"""A configuration that is being built: its members are collected, then sorted and interned."""

cimport cython
from libc.stdint cimport uint32_t
from libcpp.algorithm cimport sort

from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_clear, map_free, map_get, map_init, map_put, mix

from stackmask.pda.errors import BudgetError

cdef enum:
    FEW = 24             # up to so many members are searched, not hashed


@cython.final
cdef class ConfigDraft:
    """The members and returns of a configuration without an id. The object is reused."""

    def __cinit__(self, uint64_t max_members):
        self.max_members = max_members
        map_init(&self.seen)
        self.accepting = False
        self.reads = 0

    def __dealloc__(self):
        map_free(&self.seen)

    cdef void clear(self) noexcept:
        """Begin another configuration."""
        self.members.clear()
        self.forget_ends()

    cdef void forget_ends(self) noexcept:
        """Clear everything but the members. A closure computes it again."""
        self.pops.clear()
        self.accepting = False
        self.reads = 0

    cdef int add_member(self, int32_t state, int32_t frame, int32_t sem) except -3:
        """Enter a member, if it is not there. Raises: BudgetError if there are too many."""
        cdef Member m
        cdef size_t i, n = self.members.size()
        cdef uint64_t key
        cdef int32_t at
        if n <= FEW:
            for i in range(n):
                m = self.members[i]
                if m.state == state and m.frame == frame and m.sem == sem:
                    return 0
            if n == FEW:
                map_clear(&self.seen)
                for i in range(n):
                    map_put(&self.seen, key_of(self.members[i]), <int32_t>i)
        m.state = state
        m.frame = frame
        m.sem = sem
        if n >= FEW:
            key = key_of(m)
            at = map_get(&self.seen, key)
            if at == NO_VALUE:
                map_put(&self.seen, key, <int32_t>n)
            elif self.holds(m, at):
                return 0
            self.check_size()
        self.members.push_back(m)
        return 0

    cdef bint holds(self, Member m, int32_t at) noexcept:
        """Tell whether a member is there. ``at``: where it was when hashed; it may have moved since."""
        cdef size_t i
        if <size_t>at < self.members.size() and is_same(self.members[at], m):
            return True
        for i in range(self.members.size()):
            if is_same(self.members[i], m):
                return True
        return False

    cdef int check_size(self) except -1:
        """Raise BudgetError if there is no room for one more member."""
        if self.members.size() >= self.max_members:
            raise BudgetError("max_members", self.max_members, "parallel readings of the text")
        return 0

    cdef int sort_items(self) except -1:
        """Sort members and returns, each once."""
        cdef size_t i, n
        if self.members.size() > 1:
            sort(self.members.begin(), self.members.end(), member_less)
            n = 1
            for i in range(1, self.members.size()):
                if member_less(self.members[n - 1], self.members[i]):
                    self.members[n] = self.members[i]
                    n += 1
            self.members.resize(n)
        if self.pops.size() > 1:
            sort(self.pops.begin(), self.pops.end(), pop_less)
            n = 1
            for i in range(1, self.pops.size()):
                if pop_less(self.pops[n - 1], self.pops[i]):
                    self.pops[n] = self.pops[i]
                    n += 1
            self.pops.resize(n)
        return 0

    cdef size_t nbytes(self) noexcept:
        """Return the bytes of the scratch, which never shrinks."""
        cdef size_t held = sizeof(Member) * self.members.capacity() + sizeof(Pop) * self.pops.capacity()
        return held + 12 * self.seen.mask


cdef inline uint64_t key_of(Member m) noexcept:
    return mix(mix(mix(41, <uint32_t>m.state), <uint32_t>m.frame), <uint32_t>m.sem)


cdef inline bint is_same(Member x, Member y) noexcept:
    return x.state == y.state and x.frame == y.frame and x.sem == y.sem
