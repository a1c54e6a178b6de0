# distutils: language = c++
"""Configurations as values: sets of members (local state, frame, semantic state), sorted and interned.

The closure makes them (``closure``); byte steps and token steps lead from one to the next.
"""

cimport cython
from libc.stdint cimport uint32_t

from stackmask.pda.ids cimport NO_TOKEN
from stackmask.pda.memory.checked_vectors cimport copy_items
from stackmask.pda.terms.term_table cimport MAP_ONE
from stackmask.pda.context.semantic_states cimport SEM_SYMBOL
from stackmask.pda.memory.hash_tables cimport (
    ENTRY_BYTES,
    Probe,
    ids_free,
    ids_init,
    ids_next,
    ids_probe,
    ids_put,
    mix,
)

from stackmask.pda.errors import BudgetError


@cython.final
cdef class ConfigTable:
    """The configurations over the frames of one space, each once, and their transition rows."""

    def __cinit__(
        self,
        TermStore terms not None,
        Semantics semantics not None,
        bint is_walk,
        uint64_t max_configurations,
        uint64_t max_members,
    ):
        self.terms = terms
        self.semantics = semantics
        self.is_walk = is_walk
        self.max_configurations = max_configurations
        self.draft = ConfigDraft(max_members)
        ids_init(&self.config_index)
        self.intern(self.draft, 0)      # DEAD

    def __dealloc__(self):
        ids_free(&self.config_index)

    cdef ConfigId intern(self, ConfigDraft draft, uint64_t ends) except -3 nogil:
        """Return the id of a configuration whose members are sorted and distinct.

        Raises: BudgetError if it is new, and one too many.
        """
        cdef uint64_t h
        cdef size_t i
        cdef ConfigId id
        cdef Member m
        # many members, each hashed and sorted, do not fit into the caches
        cdef size_t n = draft.members.size()
        self.terms.meter.spend(4 + (4 if n <= CACHED_MEMBERS else 8) * n)
        if draft.members.empty() and draft.pops.empty():
            # there is one dead configuration, whatever is alive on the stack
            ends = 1 if draft.accepting else 0
        h = mix(mix(mix(37, draft.accepting), draft.reads), ends)
        for i in range(draft.members.size()):
            m = draft.members[i]
            h = mix(mix(mix(h, <uint32_t>m.state), <uint32_t>m.frame), <uint32_t>m.sem)
        for i in range(draft.pops.size()):
            h = mix(mix(h, <uint32_t>draft.pops[i].guard), <uint32_t>draft.pops[i].sem)
        cdef Probe probe = ids_probe(&self.config_index, h)
        id = ids_next(&self.config_index, &probe)
        while id >= 0:
            if self.is_same(id, draft, ends):
                return id
            id = ids_next(&self.config_index, &probe)
        id = self.append(draft, ends)
        ids_put(&self.config_index, &probe, id)
        return id

    cdef bint is_same(self, ConfigId config, ConfigDraft draft, uint64_t ends) noexcept nogil:
        """Tell whether a configuration has the content of a draft."""
        cdef Config* c = &self.configs[config]
        cdef size_t i, n = draft.members.size(), p = draft.pops.size()
        cdef const Member* mine = self.members.data() + c.first
        cdef const Pop* returns = self.pops.data() + c.pop_first
        if not (
            c.count == <int32_t>n
            and c.pop_count == <int32_t>p
            and c.accepting == draft.accepting
            and c.reads == draft.reads
            and c.ends == ends
        ):
            return False
        for i in range(n):
            if not (
                mine[i].state == draft.members[i].state
                and mine[i].frame == draft.members[i].frame
                and mine[i].sem == draft.members[i].sem
            ):
                return False
        for i in range(p):
            if not (returns[i].guard == draft.pops[i].guard and returns[i].sem == draft.pops[i].sem):
                return False
        return True

    cdef ConfigId append(self, ConfigDraft draft, uint64_t ends) except -3 nogil:
        """Enter a configuration that is new."""
        cdef Config config
        cdef size_t i, n = draft.members.size()
        cdef SemId sem
        if self.configs.size() >= self.max_configurations:
            raise BudgetError("max_configurations", self.max_configurations, "configurations visited")
        if not self.is_walk:
            # those of walks go with the masks
            self.terms.meter.hold(
                sizeof(Config) + ENTRY_BYTES + sizeof(Member) * n + sizeof(Pop) * draft.pops.size()
            )
        config.first = <int32_t>self.members.size()
        config.count = config.sure = <int32_t>n
        config.pop_first = <int32_t>self.pops.size()
        config.pop_count = <int32_t>draft.pops.size()
        config.accepting = draft.accepting
        config.row = NO_ROW_YET
        config.map = MAP_ONE
        config.mask_index = UNKNOWN
        config.mask_epoch = 0
        config.first_token = NO_TOKEN
        config.first_next = DEAD
        config.first_offset = 0
        config.capturing = False
        config.reads = draft.reads
        config.ends = ends
        for i in range(n):
            sem = draft.members[i].sem
            if sem > SEM_SYMBOL and self.semantics.in_capture(sem):
                config.capturing = True
            if self.is_walk and self.semantics.is_unsure(sem):
                config.sure -= 1
        self.members.append(draft.members.begin(), draft.members.end())
        self.pops.append(draft.pops.begin(), draft.pops.end())
        self.configs.push_back(config)
        return <int32_t>self.configs.size() - 1

    cdef ConfigId raw(self, TermId state, FrameId frame, SemId sem) except -3 nogil:
        """Return the configuration of one member alone, without its calls."""
        cdef Member m
        m.state = state
        m.frame = frame
        m.sem = sem
        self.draft.clear()
        self.draft.members.push_back(m)
        return self.intern(self.draft, 1)

    cdef ConfigId of_members(self, vector[Member]& members) except -3 nogil:
        """Return the configuration of some members alone, distinct, in any order."""
        self.draft.clear()
        copy_items(self.draft.members, members)
        self.draft.sort_items()
        return self.intern(self.draft, 1)

    cdef ConfigId union_of(self, ConfigId a, ConfigId b) except -3 nogil:
        """Return the union of two configurations. Both belong to families, so they have no returns."""
        if a == DEAD or a == b:
            return b
        if b == DEAD:
            return a
        self.draft.clear()
        self.copy_members(a)
        self.copy_members(b)
        self.draft.sort_items()
        self.draft.accepting = self.configs[a].accepting or self.configs[b].accepting
        self.draft.reads = self.configs[a].reads | self.configs[b].reads
        return self.intern(self.draft, 1)

    cdef int copy_members(self, ConfigId config) except -1 nogil:
        """Add the members of a configuration to the draft."""
        cdef Member* first = self.members.data() + self.configs[config].first
        self.draft.members.insert(self.draft.members.end(), first, first + self.configs[config].count)
        return 0

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes the configurations take."""
        cdef size_t held = sizeof(Config) * self.configs.size() + sizeof(Member) * self.members.size()
        held += sizeof(Pop) * self.pops.size() + 4 * self.rows.size()
        return held + 8 * self.config_index.mask + self.draft.nbytes()
