# What can still happen after a return. See return_checks.pyx.
from libc.stdint cimport int32_t, uint64_t

from stackmask.pda.ids cimport ACTION_COUNTED, ACTION_NONE, FrameId
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.masks.assembly.worklist cimport Visit
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.stack.frames cimport Edge
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.terms.term_table cimport EPS


cdef bint may_forbid(
    TermStore terms, Semantics semantics, ConfigSpace family, FrameId frame, int32_t returns
) except -1 nogil
cdef bint is_alive_under(TermStore terms, ConfigSpace family, const Visit& at, uint64_t ends) except -1 nogil


cdef inline Edge edge_of(ConfigSpace family, const Visit& at, int32_t number) noexcept nogil:
    """Return one of the edges that a visit returns along; a continuation counts as a single edge."""
    cdef Edge edge
    if at.continuation == EPS:
        edge = family.edges[family.frames[at.frame].first + number]
        if edge.action == ACTION_COUNTED:
            # how many tokens may still come says nothing of the next one
            edge.action = ACTION_NONE
            edge.saved = 0
        return edge
    edge.continuation = at.continuation
    edge.parent = at.frame
    edge.action = at.action
    edge.saved = 0
    return edge


cdef inline bint is_alive(
    TermStore terms, ConfigSpace family, const Visit& at, uint64_t ends
) except -1 nogil:
    """Tell whether the text can be completed after a visit returns under one of the guards (bits)."""
    return ends & 1 or is_alive_under(terms, family, at, ends)
