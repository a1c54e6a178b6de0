# Steps of configurations by bytes and by classes of special tokens. See byte_steps.pyx.
from libc.stdint cimport int32_t, uint64_t

from stackmask.pda.ids cimport ConfigId, StepRowId, SymbolId
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

    cdef StepRowId make_row(self, ConfigId config) except -3 nogil
    cdef ConfigId compute_step(self, ConfigId config, SymbolId symbol) except -3 nogil
    cdef size_t nbytes(self) noexcept nogil

    cdef inline int count_step(self) except -1 nogil:
        self.computed += 1
        return self.terms.meter.spend(STEP_WORK)
