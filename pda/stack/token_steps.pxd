# Steps of configurations by whole tokens. See token_steps.pyx.
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport ConfigId, TermId, TokenId
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
    ConfigId config
    TokenId token
    ConfigId next
    int32_t unused      # four to a line of the cache


cdef inline size_t slot_of(ConfigId config, TokenId token) noexcept nogil:
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

    cdef TermId state_of(self, PartialMember at) except -3 nogil
    cdef bint consume(self, PartialMember* at, uint8_t byte, bint* skips_closure) except -1 nogil
    cdef int take_members(self, const Member* members, size_t count) except -1 nogil
    cdef ConfigId leap(self, ConfigId config, const uint8_t* text, size_t length) except -3 nogil
    cdef ConfigId step_token(
        self, ConfigId config, TokenId token, const uint8_t* text, size_t length
    ) except -3 nogil
    cdef ConfigId step_bytes(
        self, ConfigId config, TokenId token, const uint8_t* text, size_t length
    ) except -3 nogil
    cdef int note_step(self, ConfigId config, TokenId token, ConfigId next) except -3 nogil
    cdef size_t nbytes(self) noexcept nogil

    cdef inline ConfigId remembered(self, ConfigId config, TokenId token) noexcept nogil:
        # the configuration after the first token from here, or a stored one; else UNKNOWN
        cdef Config* c = &self.table.configs[config]
        cdef TokenStep* noted
        if c.first_token == token and not c.first_offset:
            return c.first_next
        if self.noted.empty():
            return UNKNOWN
        noted = &self.noted[slot_of(config, token) & (self.noted.size() - 1)]
        return noted.next if noted.config == config and noted.token == token else UNKNOWN
