# What can still happen after a return. See return_checks.pyx.
from libc.stdint cimport int32_t, uint64_t

from stackmask.pda.ids cimport FrameId
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.masks.assembly.worklist cimport Visit
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.stack.frames cimport Edge
from stackmask.pda.terms.term_store cimport TermStore


cdef Edge edge_of(ConfigSpace family, const Visit& at, int32_t number) noexcept nogil
cdef bint may_forbid(
    TermStore terms, Semantics semantics, ConfigSpace family, FrameId frame, int32_t returns
) except -1 nogil
cdef bint is_alive(TermStore terms, ConfigSpace family, const Visit& at, uint64_t ends) except -1 nogil
