# Steps of configurations by whole tokens. See token_steps.pyx.
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libcpp.vector cimport vector

from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.memory.hash_tables cimport mix
from stackmask.pda.stack.byte_steps cimport ByteSteps
from stackmask.pda.stack.closure cimport Closure
from stackmask.pda.stack.configuration_draft cimport Member
from stackmask.pda.stack.configuration_table cimport UNKNOWN, Config, ConfigTable
from stackmask.pda.terms.term_store cimport TermStore


cdef struct PartialMember:
    # a member inside of a token: so many bytes of the literal of its state are consumed
    Member member
    int32_t consumed


cdef struct TokenStep:
    # a token that was stepped by its bytes, and where it led; all 0 if there is none
    int32_t config
    int32_t token
    int32_t next
    int32_t unused      # four to a line of the cache


cdef inline size_t slot_of(int32_t config, int32_t token) noexcept nogil:
    # where a step of a token is stored, before reduction to the size of the table
    return <size_t>(mix(<uint32_t>token, <uint32_t>config) >> 16)


cdef class TokenSteps:
    # owner: ConfigSpace. The only one that writes `first_token` and what belongs to it in the records
    cdef TermStore terms
    cdef Semantics semantics
    cdef ConfigTable table
    cdef Closure closure
    cdef ByteSteps byte_steps
    cdef vector[TokenStep] noted        # by slot_of, the last one; a power of two, or empty
    cdef size_t noted_since             # steps stored since the table grew
    cdef vector[PartialMember] partial  # scratch of `leap`

    cdef int32_t state_of(self, PartialMember at) except -3
    cdef bint consume(self, PartialMember* at, uint8_t byte, bint* skips_closure) except -1
    cdef int take_members(self, const Member* members, size_t count) except -1
    cdef int32_t leap(self, int32_t config, const uint8_t* text, size_t length) except -3
    cdef int32_t step_token(
        self, int32_t config, int32_t token, const uint8_t* text, size_t length
    ) except -3
    cdef int32_t step_bytes(
        self, int32_t config, int32_t token, const uint8_t* text, size_t length
    ) except -3
    cdef int note_step(self, int32_t config, int32_t token, int32_t next) except -3
    cdef size_t nbytes(self) noexcept

    cdef inline int32_t remembered(self, int32_t config, int32_t token) noexcept:
        # the configuration after the first token from here, or a stored one; else UNKNOWN
        cdef Config* c = &self.table.configs[config]
        cdef TokenStep* noted
        if c.first_token == token and not c.first_offset:
            return c.first_next
        if self.noted.empty():
            return UNKNOWN
        noted = &self.noted[slot_of(config, token) & (self.noted.size() - 1)]
        return noted.next if noted.config == config and noted.token == token else UNKNOWN
