# distutils: language = c++
"""A configuration that is being built: its members are collected, then sorted and interned."""

cimport cython
from libc.stdint cimport uint32_t

from libcpp.vector cimport vector

from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_free, map_get, map_init, map_put, mix

from stackmask.pda.errors import BudgetError

cdef enum:
    FEW = 24             # up to so many members are searched, not hashed


cdef extern from "sorting.h" nogil:
    void sort_members "stackmask::sort_members"(vector[Member]& items) noexcept nogil
    void sort_pops "stackmask::sort_pops"(vector[Pop]& items) noexcept nogil


@cython.final
cdef class ConfigDraft:
    """The members and returns of a configuration without an id. The object is reused."""

    def __cinit__(self, uint64_t max_members):
        self.max_members = max_members
        map_init(&self.seen)
        self.indexed = 0
        self.accepting = False
        self.reads = 0

    def __dealloc__(self):
        map_free(&self.seen)

    cdef void clear(self) noexcept nogil:
        """Begin another configuration."""
        self.clear_members()
        self.forget_ends()

    cdef void clear_members(self) noexcept nogil:
        """Drop all members."""
        self.members.clear()
        self.indexed = 0

    cdef void forget_ends(self) noexcept nogil:
        """Clear everything but the members. A closure computes it again."""
        self.pops.clear()
        self.accepting = False
        self.reads = 0

    cdef int add_member(self, TermId state, FrameId frame, SemId sem) except -3 nogil:
        """Enter a member, if it is not there. Raises: BudgetError if there are too many.

        Cost: a look-up; one pass over a short list.
        """
        cdef Member m
        cdef size_t i, n = self.members.size()
        cdef uint64_t key
        cdef int32_t at
        m.state = state
        m.frame = frame
        m.sem = sem
        if n <= FEW:
            for i in range(n):
                if is_same(self.members[i], m):
                    return 0
        else:
            if self.indexed != n:
                self.index_members()
            key = key_of(m)
            at = map_get(&self.seen, key)
            while at != NO_VALUE:
                if is_same(self.members[at], m):
                    return 0
                key += 1
                at = map_get(&self.seen, key)
            self.check_size()
            map_put(&self.seen, key, <int32_t>n)
            self.indexed = n + 1
        self.members.push_back(m)
        return 0

    cdef int index_members(self) except -3 nogil:
        """Enter the members that are not yet in the index. Others may have been added meanwhile."""
        cdef uint64_t key
        if not self.indexed or self.indexed > self.members.size():
            map_forget(&self.seen)
            self.indexed = 0
        while self.indexed < self.members.size():
            key = key_of(self.members[self.indexed])
            while map_get(&self.seen, key) != NO_VALUE:
                key += 1
            map_put(&self.seen, key, <int32_t>self.indexed)
            self.indexed += 1
        return 0

    cdef int check_size(self) except -1 nogil:
        """Raise BudgetError if there is no room for one more member."""
        if self.members.size() >= self.max_members:
            raise BudgetError("max_members", self.max_members, "parallel readings of the text")
        return 0

    cdef int sort_items(self) except -1 nogil:
        """Sort members and returns, each once."""
        if self.members.size() > 1:
            sort_members(self.members)
        if self.pops.size() > 1:
            sort_pops(self.pops)
        self.indexed = 0
        return 0

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes of the scratch, which never shrinks."""
        cdef size_t held = sizeof(Member) * self.members.capacity() + sizeof(Pop) * self.pops.capacity()
        return held + 12 * self.seen.mask


cdef inline uint64_t key_of(Member m) noexcept nogil:
    return mix(mix(mix(41, <uint32_t>m.state), <uint32_t>m.frame), <uint32_t>m.sem)


cdef inline bint is_same(Member x, Member y) noexcept nogil:
    return x.state == y.state and x.frame == y.frame and x.sem == y.sem
