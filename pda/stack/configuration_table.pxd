# Configurations by content: sets of (local state, frame, semantic state). See configuration_table.pyx.
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint64_t
from libcpp cimport bool
from libcpp.vector cimport vector

from stackmask.pda.ids cimport ConfigId, FrameId, MapId, SemId, StepRowId, SymbolId, TermId, TokenId
from stackmask.pda.stack.configuration_draft cimport CACHED_MEMBERS, ConfigDraft, Member, Pop
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.memory.hash_tables cimport IdTable
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.terms.term_table cimport is_byte

cdef enum:
    # a step leads to the id of a configuration, or to one of these:
    DEAD = 0            # the configuration without members
    UNKNOWN = -1        # not computed yet
    READS_STATE = -2    # in a mask walk: the semantic state of the unknown stack decides
    # where a transition row begins, or:
    NO_ROW_YET = -1     # it is made at the first step
    NEVER_A_ROW = -2    # steps are remembered one by one


cdef extern from "configuration_table.h" nogil:
    ctypedef struct Config "stackmask::Config":
        # What the configuration is; never changed.
        int32_t first       # members[first:first + count], sorted, distinct
        int32_t count
        # sure: the number of members that were reached without an action that may forbid. In families
        # that is `count`, since actions have run. In walks, 0 to `count`: the others may not exist
        int32_t sure
        int32_t pop_first   # pops[pop_first:pop_first + pop_count]
        int32_t pop_count
        bool accepting
        bool capturing      # a member has a capture open
        # reads: in walks, the guards (bits) under which the semantic state decides; these readings are
        # left out. Bit 0: whatever the next byte is
        uint64_t reads
        uint64_t ends       # walks: guards under which the unknown frame must be alive; else 1
        # Its transition row, which ByteSteps makes.
        StepRowId row       # offset in rows, NO_ROW_YET, or NEVER_A_ROW; see `has_row`
        MapId map           # the partition of the bytes that a step distinguishes
        # Of the masks, which alone write it; in families. See masks/mask_ref.pxd.
        uint8_t mask_kind   # the remembered mask: its form,
        int32_t mask_index  # ... and its number, if mask_epoch
        int32_t mask_epoch  # ... is the current epoch of the masks
        # Of TokenSteps, which alone writes it; in families: the first token that continued from here
        TokenId first_token     # or NO_TOKEN,
        ConfigId first_next     # ... where it led
        uint16_t first_offset   # ... and how many of its bytes were consumed before this configuration


cdef inline bint has_row(const Config& config) noexcept nogil:
    # whether its transition row is made
    return config.row >= 0


cdef inline bint leads_on(ConfigId next) noexcept nogil:
    # whether a step leads to a configuration with members: neither DEAD nor a code
    return next > DEAD


cdef class ConfigTable:
    # owner: ConfigSpace. Append-only; ids are never reused
    cdef TermStore terms
    cdef Semantics semantics
    cdef bint is_walk
    cdef Growing[Config] configs
    cdef Growing[Member] members
    cdef Growing[Pop] pops
    cdef Growing[ConfigId] rows         # transition rows: byte class -> configuration, or a code of a step
    cdef IdTable config_index
    cdef uint64_t max_configurations
    cdef ConfigDraft draft              # of raw, of_members and union_of

    cdef ConfigId intern(self, ConfigDraft draft, uint64_t ends) except -3 nogil
    cdef bint is_same(self, ConfigId config, ConfigDraft draft, uint64_t ends) noexcept nogil
    cdef ConfigId append(self, ConfigDraft draft, uint64_t ends) except -3 nogil
    cdef ConfigId raw(self, TermId state, FrameId frame, SemId sem) except -3 nogil
    cdef ConfigId of_members(self, vector[Member]& members) except -3 nogil
    cdef ConfigId union_of(self, ConfigId a, ConfigId b) except -3 nogil
    cdef int copy_members(self, ConfigId config) except -1 nogil
    cdef size_t nbytes(self) noexcept nogil

    cdef inline ConfigId known_step(self, ConfigId config, SymbolId symbol) noexcept nogil:
        # the configuration after one more byte, or UNKNOWN; `symbol` may be a token class, which is in no row
        cdef Config* c = &self.configs[config]
        if has_row(c[0]) and is_byte(symbol):
            return self.rows[<size_t>c.row + self.terms.classes.maps[c.map].of[symbol]]
        return UNKNOWN
