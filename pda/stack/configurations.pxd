# Configurations of one family or of mask walks: the facade of the stack. See configurations.pyx.
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport ConfigId, FrameId, GuardId, SemId, StepRowId, SymbolId, TermId, TokenId
from stackmask.pda.memory.borrowed_array cimport Borrowed
from stackmask.pda.stack.byte_steps cimport ByteSteps
from stackmask.pda.stack.closure cimport Closure
from stackmask.pda.stack.configuration_draft cimport Member, Pop
from stackmask.pda.stack.configuration_table cimport DEAD, UNKNOWN, Config, ConfigTable
from stackmask.pda.stack.frames cimport Edge, Frame, FrameGraph
from stackmask.pda.stack.token_counts cimport TokenCounts
from stackmask.pda.stack.token_steps cimport TokenSteps
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.terms.term_table cimport CallSite


cdef class ConfigSpace:
    # the records, read-only; the masks write `mask_kind`, `mask` and `mask_epoch` of a configuration
    cdef Borrowed[Config] configs
    cdef Borrowed[Member] members
    cdef Borrowed[Pop] pops
    cdef Borrowed[ConfigId] rows
    cdef Borrowed[Frame] frames
    cdef Borrowed[Edge] edges
    cdef TermStore terms
    # each component knows those above it, none knows this object
    cdef FrameGraph graph
    cdef ConfigTable table
    cdef Closure closure
    cdef ByteSteps byte_steps
    cdef TokenSteps token_steps
    cdef TokenCounts token_counts
    cdef bint is_summary
    cdef object __weakref__
    cdef uint64_t max_configurations
    cdef uint64_t max_members

    cdef uint64_t steps_computed(self) noexcept nogil
    cdef size_t nbytes(self) noexcept nogil

    cdef inline ConfigId step(self, ConfigId config, SymbolId symbol) except -3 nogil:
        # the configuration after a byte or a token class: its id, DEAD, or READS_STATE
        cdef ConfigId next = self.table.known_step(config, symbol)
        return next if next != UNKNOWN else self.byte_steps.compute_step(config, symbol)

    cdef inline ConfigId remembered(self, ConfigId config, TokenId token) noexcept nogil:
        return self.token_steps.remembered(config, token)

    cdef inline ConfigId step_token(
        self, ConfigId config, TokenId token, const uint8_t* text, size_t length
    ) except -3 nogil:
        return self.token_steps.step_token(config, token, text, length)

    cdef inline ConfigId end_token(self, ConfigId config) except -3 nogil:
        # the configuration where a token ends whose bytes led here
        if not self.graph.counts or config <= DEAD:
            return config
        return self.token_counts.after_token(config)

    cdef inline bint counts_tokens(self, ConfigId config) noexcept nogil:
        # whether the next byte may be one of a text whose tokens are counted
        return self.graph.counts and self.token_counts.is_open(config)

    cdef inline StepRowId make_row(self, ConfigId config) except -3 nogil:
        return self.byte_steps.make_row(config)

    cdef inline ConfigId closed(self, TermId state, FrameId frame, SemId sem) except -3 nogil:
        return self.closure.closed(state, frame, sem)

    cdef inline int returns_alive(self, Member m, CallSite site) except -3 nogil:
        return self.closure.returns_alive(m, site)

    cdef inline ConfigId raw(self, TermId state, FrameId frame, SemId sem) except -3 nogil:
        return self.table.raw(state, frame, sem)

    cdef inline ConfigId of_members(self, vector[Member]& members) except -3 nogil:
        return self.table.of_members(members)

    cdef inline ConfigId union_of(self, ConfigId a, ConfigId b) except -3 nogil:
        return self.table.union_of(a, b)

    cdef inline FrameId intern_frame(self, vector[Edge]& items) except -3 nogil:
        return self.graph.intern_frame(items)

    cdef inline uint64_t exits(self, FrameId frame, GuardId guard) except? 0x5555555555555555 nogil:
        return self.graph.exits(frame, guard)

    cdef inline uint64_t member_ends(self, TermId state, FrameId frame) except? 0x5555555555555555 nogil:
        return self.graph.member_ends(state, frame)
