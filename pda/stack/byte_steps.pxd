# Steps of configurations by bytes and by classes of special tokens. See byte_steps.pyx.
from libc.stdint cimport int32_t, uint64_t

from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.stack.closure cimport Closure
from stackmask.pda.stack.configuration_table cimport ConfigTable
from stackmask.pda.terms.term_store cimport TermStore


cdef enum:
    STEP_WORK = 20          # units of a step, beside those of its members


cdef class ByteSteps:
    # owner: ConfigSpace. The only one that writes the transition rows of the table
    cdef TermStore terms
    cdef Semantics semantics
    cdef ConfigTable table
    cdef Closure closure
    cdef KeyMap single_steps            # config << 32 | symbol -> config: token classes, bytes in a capture
    cdef uint64_t computed              # steps that were computed

    cdef int32_t make_row(self, int32_t config) except -3
    cdef int32_t compute_step(self, int32_t config, int32_t symbol) except -3
    cdef size_t nbytes(self) noexcept

    cdef inline int count_step(self) except -1:
        self.computed += 1
        return self.terms.meter.spend(STEP_WORK)
