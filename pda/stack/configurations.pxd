# Configurations of one family or of mask walks: the facade of the stack. See configurations.pyx.
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.memory.borrowed_array cimport Borrowed
from stackmask.pda.stack.byte_steps cimport ByteSteps
from stackmask.pda.stack.closure cimport Closure
from stackmask.pda.stack.configuration_draft cimport Member, Pop
from stackmask.pda.stack.configuration_table cimport UNKNOWN, Config, ConfigTable
from stackmask.pda.stack.frames cimport Edge, Frame, FrameGraph
from stackmask.pda.stack.token_steps cimport TokenSteps
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.terms.term_table cimport CallSite


cdef class ConfigSpace:
    # the records, read-only; the masks write `mask_kind`, `mask` and `mask_epoch` of a configuration
    cdef Borrowed[Config] configs
    cdef Borrowed[Member] members
    cdef Borrowed[Pop] pops
    cdef Borrowed[int32_t] rows
    cdef Borrowed[Frame] frames
    cdef Borrowed[Edge] edges
    cdef TermStore terms
    # each component knows those above it, none knows this object
    cdef FrameGraph graph
    cdef ConfigTable table
    cdef Closure closure
    cdef ByteSteps byte_steps
    cdef TokenSteps token_steps
    cdef bint is_summary
    cdef uint64_t max_configurations
    cdef uint64_t max_members

    cdef uint64_t steps_computed(self) noexcept
    cdef size_t nbytes(self) noexcept

    cdef inline int32_t step(self, int32_t config, int32_t symbol) except -3:
        # the configuration after a byte or a token class: its id, DEAD, or READS_STATE
        cdef int32_t next = self.table.known_step(config, symbol)
        return next if next != UNKNOWN else self.byte_steps.compute_step(config, symbol)

    cdef inline int32_t remembered(self, int32_t config, int32_t token) noexcept:
        return self.token_steps.remembered(config, token)

    cdef inline int32_t step_token(
        self, int32_t config, int32_t token, const uint8_t* text, size_t length
    ) except -3:
        return self.token_steps.step_token(config, token, text, length)

    cdef inline int32_t make_row(self, int32_t config) except -3:
        return self.byte_steps.make_row(config)

    cdef inline int32_t closed(self, int32_t state, int32_t frame, int32_t sem) except -3:
        return self.closure.closed(state, frame, sem)

    cdef inline int returns_alive(self, Member m, CallSite site) except -3:
        return self.closure.returns_alive(m, site)

    cdef inline int32_t raw(self, int32_t state, int32_t frame, int32_t sem) except -3:
        return self.table.raw(state, frame, sem)

    cdef inline int32_t of_members(self, vector[Member]& members) except -3:
        return self.table.of_members(members)

    cdef inline int32_t union_of(self, int32_t a, int32_t b) except -3:
        return self.table.union_of(a, b)

    cdef inline int32_t intern_frame(self, vector[Edge]& items) except -3:
        return self.graph.intern_frame(items)

    cdef inline uint64_t exits(self, int32_t frame, int32_t guard) except? 0x5555555555555555:
        return self.graph.exits(frame, guard)

    cdef inline uint64_t member_ends(self, int32_t state, int32_t frame) except? 0x5555555555555555:
        return self.graph.member_ends(state, frame)
