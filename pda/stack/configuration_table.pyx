# distutils: language = c++
"""Configurations as values: sets of members (local state, frame, semantic state), sorted and interned.

What makes them, the closure and the step, is in ``configurations``.
"""

from libcpp.algorithm cimport sort

from stackmask.pda.memory.checked_vectors cimport copy_items
from stackmask.pda.stack.frames cimport Edge, Frame
from stackmask.pda.terms.term_table cimport MAP_ONE
from stackmask.pda.context.semantic_states cimport SEM_SYMBOL
from stackmask.pda.memory.hash_tables cimport (
    NO_VALUE,
    Probe,
    ids_free,
    ids_init,
    ids_next,
    ids_probe,
    ids_put,
    map_clear,
    map_free,
    map_get,
    map_init,
    map_put,
    mix,
)

from stackmask.pda.errors import BudgetError

cdef enum:
    FEW = 24             # up to here a list is searched, not hashed


cdef class ConfigTable(FrameSpace):
    """The configurations over the frames of one space."""

    def __cinit__(
        self,
        TermStore terms,
        Semantics semantics,
        bint is_walk,
        uint64_t max_configurations=50_000_000,
        uint64_t max_members=200_000,
    ):
        self.max_configurations = max_configurations
        self.max_members = max_members
        ids_init(&self.config_index)
        map_init(&self.single_steps)
        map_init(&self.seen)
        self.found_accepting = False
        self.intern_config(0)

    def __dealloc__(self):
        ids_free(&self.config_index)
        map_free(&self.single_steps)
        map_free(&self.seen)

    cdef int32_t intern_config(self, uint64_t ends) except -3:
        """Intern what the scratch holds: ``work`` (sorted, distinct), ``found_pops``, ``found_accepting``."""
        cdef uint64_t h
        cdef size_t i, n = self.work.size(), p = self.found_pops.size()
        cdef int32_t id
        cdef Config* c
        cdef Config config
        cdef Member m
        if n == 0 and p == 0:
            # nothing is one thing, whatever is alive below
            ends = 1 if self.found_accepting else 0
        h = mix(mix(mix(37, self.found_accepting), self.found_reads), ends)
        for i in range(n):
            m = self.work[i]
            h = mix(mix(mix(h, <uint32_t>m.state), <uint32_t>m.frame), <uint32_t>m.sem)
        for i in range(p):
            h = mix(mix(h, <uint32_t>self.found_pops[i].guard), <uint32_t>self.found_pops[i].sem)
        cdef Probe probe = ids_probe(&self.config_index, h)
        id = ids_next(&self.config_index, &probe)
        while id >= 0:
            c = &self.configs[id]
            if (
                c.count == <int32_t>n
                and c.pop_count == <int32_t>p
                and c.accepting == self.found_accepting
                and c.reads == self.found_reads
                and c.ends == ends
            ):
                i = 0
                while i < n and (
                    self.members[c.first + i].state == self.work[i].state
                    and self.members[c.first + i].frame == self.work[i].frame
                    and self.members[c.first + i].sem == self.work[i].sem
                ):
                    i += 1
                if i == n:
                    i = 0
                    while i < p and (
                        self.pops[c.pop_first + i].guard == self.found_pops[i].guard
                        and self.pops[c.pop_first + i].sem == self.found_pops[i].sem
                    ):
                        i += 1
                    if i == p:
                        return id
            id = ids_next(&self.config_index, &probe)
        id = <int32_t>self.configs.size()
        if self.configs.size() >= self.max_configurations:
            raise BudgetError("max_configurations", self.max_configurations, "configurations visited")
        config.first = <int32_t>self.members.size()
        config.count = config.sure = <int32_t>n
        config.pop_first = <int32_t>self.pops.size()
        config.pop_count = <int32_t>p
        config.accepting = self.found_accepting
        config.row = UNKNOWN
        config.map = MAP_ONE
        config.whole = UNKNOWN
        config.token = NO_TOKEN
        config.after_token = DEAD
        config.token_at = 0
        config.capturing = False
        config.reads = self.found_reads
        for i in range(n):
            if self.work[i].sem > SEM_SYMBOL and self.semantics.in_capture(self.work[i].sem):
                config.capturing = True
            if self.is_walk and self.semantics.is_unsure(self.work[i].sem):
                config.sure -= 1
        config.mask_epoch = 0
        config.ends = ends
        for i in range(n):
            self.members.push_back(self.work[i])
        for i in range(p):
            self.pops.push_back(self.found_pops[i])
        self.configs.push_back(config)
        ids_put(&self.config_index, &probe, id)
        return id

    cdef int add_member(self, int32_t state, int32_t frame, int32_t sem) except -3:
        """Enter a member into ``work``, if it is not there. Raises: BudgetError if there are too many."""
        cdef Member m
        cdef size_t i, n = self.work.size()
        cdef uint64_t key
        cdef int32_t at
        if n <= FEW:
            for i in range(n):
                if self.work[i].state == state and self.work[i].frame == frame and self.work[i].sem == sem:
                    return 0
            if n == FEW:
                map_clear(&self.seen)
                for i in range(n):
                    m = self.work[i]
                    key = mix(mix(mix(41, <uint32_t>m.state), <uint32_t>m.frame), <uint32_t>m.sem)
                    map_put(&self.seen, key, <int32_t>i)
        if n >= FEW:
            key = mix(mix(mix(41, <uint32_t>state), <uint32_t>frame), <uint32_t>sem)
            at = map_get(&self.seen, key)
            if at != NO_VALUE:
                # a compaction may have moved members since: then search
                if <size_t>at < n:
                    m = self.work[at]
                else:
                    m.state = -1
                if m.state == state and m.frame == frame and m.sem == sem:
                    return 0
                for i in range(n):
                    m = self.work[i]
                    if m.state == state and m.frame == frame and m.sem == sem:
                        return 0
            else:
                map_put(&self.seen, key, <int32_t>n)
            if n >= self.max_members:
                raise BudgetError("max_members", self.max_members, "parallel readings of the text")
        m.state = state
        m.frame = frame
        m.sem = sem
        self.work.push_back(m)
        return 0

    cdef int32_t raw(self, int32_t state, int32_t frame, int32_t sem) except -3:
        """Return the configuration of one member alone, without its calls."""
        cdef Member m
        m.state = state
        m.frame = frame
        m.sem = sem
        self.work.clear()
        self.work.push_back(m)
        self.found_pops.clear()
        self.found_accepting = False
        self.found_reads = 0
        return self.intern_config(1)

    cdef int32_t of_members(self, vector[Member]& members) except -3:
        """Return the configuration of some members alone, in any order."""
        copy_items(self.work, members)
        sort(self.work.begin(), self.work.end(), member_less)
        self.found_pops.clear()
        self.found_accepting = False
        self.found_reads = 0
        return self.intern_config(1)

    cdef int32_t union_of(self, int32_t a, int32_t b) except -3:
        """Return the configuration that holds what either holds."""
        cdef size_t i, n
        cdef int32_t k
        if a == DEAD or a == b:
            return b
        if b == DEAD:
            return a
        self.work.clear()
        self.found_pops.clear()
        for k in range(self.configs[a].first, self.configs[a].first + self.configs[a].count):
            self.work.push_back(self.members[k])
        for k in range(self.configs[b].first, self.configs[b].first + self.configs[b].count):
            self.work.push_back(self.members[k])
        sort(self.work.begin(), self.work.end(), member_less)
        n = 1 if self.work.size() else 0
        for i in range(1, self.work.size()):
            if member_less(self.work[n - 1], self.work[i]):
                self.work[n] = self.work[i]
                n += 1
        self.work.resize(n)
        self.found_accepting = self.configs[a].accepting or self.configs[b].accepting
        self.found_reads = self.configs[a].reads | self.configs[b].reads
        return self.intern_config(1)

    cdef size_t nbytes(self) noexcept:
        """Return about how many bytes frames and configurations take."""
        cdef size_t held = sizeof(Config) * self.configs.size() + sizeof(Member) * self.members.size()
        held += 4 * self.rows.size() + sizeof(Pop) * self.pops.size() + 8 * self.config_index.mask
        held += sizeof(Edge) * self.edges.size() + sizeof(Frame) * self.frames.size()
        held += 8 * self.frame_index.mask + sizeof(TokenStep) * self.token_steps.size()
        return held + 12 * (self.single_steps.mask + self.exits_index.mask)

    def nbytes_held(self):
        """Return about how many bytes frames and configurations take."""
        return self.nbytes()
