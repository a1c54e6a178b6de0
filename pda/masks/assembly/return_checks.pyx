# distutils: language = c++
"""What can still happen after a return: whether an action may forbid it, and whether the text can end."""

from stackmask.pda.ids cimport ACTION_COUNTED, ACTION_NONE, GuardId
from stackmask.pda.stack.frames cimport BOTTOM_CONTINUATION
from stackmask.pda.terms.term_table cimport EPS, F_LOCAL, Ends, Term


cdef Edge edge_of(ConfigSpace family, const Visit& at, int32_t number) noexcept nogil:
    """Return one of the edges that a visit returns along; a continuation counts as a single edge."""
    cdef Edge edge
    if at.continuation == EPS:
        edge = family.edges[family.frames[at.frame].first + number]
        if edge.action == ACTION_COUNTED:
            # how many tokens may still come says nothing of the next one
            edge.action = ACTION_NONE
            edge.operand = 0
        return edge
    edge.continuation = at.continuation
    edge.parent = at.frame
    edge.action = at.action
    edge.operand = 0
    return edge


cdef bint may_forbid(
    TermStore terms, Semantics semantics, ConfigSpace family, FrameId frame, int32_t returns
) except -1 nogil:
    """Tell whether an action may forbid one of the next returns, before a byte must be read.

    ``returns``: so many returns are followed; after them, any action of a lower frame counts.
    Cost: exponential in ``returns`` at worst, which is small.
    """
    cdef Edge edge
    cdef Term state
    cdef int32_t e
    if not family.frames[frame].action_forbids or not returns:
        return family.frames[frame].action_forbids
    for e in range(family.frames[frame].first, family.frames[frame].first + family.frames[frame].count):
        edge = family.edges[e]
        if edge.continuation == BOTTOM_CONTINUATION:
            continue
        if edge.action.is_capture() and semantics.may_forbid(edge.action.action()):
            return True
        state = terms.terms[edge.continuation]
        if not state.nu.possible() and state.flags & F_LOCAL:
            # here a byte must be read
            continue
        if may_forbid(terms, semantics, family, edge.parent, returns - 1):
            return True
    return False


cdef bint is_alive(TermStore terms, ConfigSpace family, const Visit& at, uint64_t ends) except -1 nogil:
    """Tell whether the text can be completed after a visit returns under one of the guards (bits)."""
    cdef Ends found
    cdef uint64_t pending = 0
    cdef GuardId g
    if ends & 1:
        return True
    if at.continuation != EPS:
        for g in range(64):
            if (ends >> g) & 1:
                terms.ends(at.continuation, g, &found)
                pending |= found.consumed | found.silent
        ends = pending
        if ends & 1:
            return True
    for g in range(64):
        if (ends >> g) & 1 and family.exits(at.frame, g):  # mutant: no-exit
            return True
    return False
