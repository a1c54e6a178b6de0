# distutils: language = c++
"""How much of a text a term still needs, as a guide for searches."""

from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport TermId
from stackmask.pda.terms.term_table cimport K_ALT, K_AND, K_LIT, K_NOT, K_REP, K_SEQ, K_SET, Term, TermTable
from stackmask.pda.memory.hash_tables cimport NO_VALUE, KeyMap, map_get, map_put

cdef enum:
    MAX_NESTED = 100        # levels of a term that are visited
    MAX_EFFORT = 1 << 30


cdef int64_t effort(TermTable terms, TermId t, KeyMap* known, int depth) except -1 nogil:
    """Return about how many bytes a text of a term needs, added up over the operands of an intersection.

    It only guides a search. Terms that are nested too deeply, or not known, count as 0.
    ``known``: the results so far, for all searches. Most states of a search share terms, so the results for
    the ends of a sequence are stored, too. A term deeper than ``MAX_NESTED`` at its first visit counts as 0.
    This may change the order of a search, but never its result.
    """
    cdef Term u = terms.terms[t]
    cdef int64_t total = 0, least
    cdef int32_t k, found
    cdef vector[int32_t] spine
    if u.kind == K_SET:
        return 1
    if u.kind == K_LIT:
        return u.literal.length
    if u.kind == K_NOT:  # what may end there may not end here, perhaps whatever follows
        return 1 if terms.terms[u.negated].nu.possible() else 0
    if u.kind != K_SEQ and u.kind != K_ALT and u.kind != K_AND and u.kind != K_REP or depth > MAX_NESTED:
        return 0
    found = map_get(known, t)
    if found != NO_VALUE:
        return found
    if u.kind == K_REP:
        total = u.rep.low * effort(terms, u.rep.item, known, depth + 1) if u.rep.low else 0
    elif u.kind == K_SEQ:
        k = t
        while terms.terms[k].kind == K_SEQ:
            found = map_get(known, k)
            if found != NO_VALUE:
                break
            spine.push_back(k)
            k = terms.terms[k].seq.rest
        total = effort(terms, k, known, depth + 1)
        while not spine.empty():
            k = spine.back()
            spine.pop_back()
            total = min(total + effort(terms, terms.terms[k].seq.first, known, depth + 1), MAX_EFFORT)
            map_put(known, k, <int32_t>total)
        return total
    else:
        terms.meter.spend(4 * u.operands.count)
        for k in range(u.operands.count):
            least = effort(terms, terms.kids[u.operands.first + k], known, depth + 1)
            if u.kind == K_AND:
                total += least
            elif k == 0 or least < total:
                total = least
    total = min(total, MAX_EFFORT)
    map_put(known, t, <int32_t>total)
    return total
