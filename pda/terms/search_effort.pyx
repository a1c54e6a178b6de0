# distutils: language = c++
"""How much of a text a term still needs, as a guide for searches."""

from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from stackmask.pda.terms.ids cimport TermId
from stackmask.pda.terms.term_table cimport K_ALT, K_AND, K_LIT, K_NOT, K_REP, K_SEQ, K_SET, Term, TermTable
from stackmask.pda.memory.hash_tables cimport NO_VALUE, KeyMap, map_get, map_put

cdef enum:
    MAX_NESTED = 100        # levels of a term that are looked at
    MAX_EFFORT = 1 << 30


cdef int64_t effort(TermTable terms, TermId t, KeyMap* known, int depth) except -1:
    """Return about how many bytes a text of a term needs, those of all parts of an intersection together.

    It guides a search and decides nothing: what is nested too deeply, or not known, counts as nothing.
    ``known``: what was found before, and is kept for all searches. Most states that a search meets are made
    of parts of others, so the ends of a sequence are kept as well. What lies deeper than ``MAX_NESTED``, from
    wherever it was first asked for, counts as nothing: the order of a search may change, no answer does.
    """
    cdef Term u = terms.terms[t]
    cdef int64_t total = 0, least
    cdef int32_t k, found
    cdef vector[int32_t] spine
    if u.kind == K_SET:
        return 1
    if u.kind == K_LIT:
        return u.b
    if u.kind == K_NOT:  # what may end there may not end here, perhaps whatever follows
        return 1 if terms.terms[u.a].nu >= 0 else 0
    if u.kind != K_SEQ and u.kind != K_ALT and u.kind != K_AND and u.kind != K_REP or depth > MAX_NESTED:
        return 0
    found = map_get(known, t)
    if found != NO_VALUE:
        return found
    if u.kind == K_REP:
        total = u.b * effort(terms, u.a, known, depth + 1) if u.b else 0
    elif u.kind == K_SEQ:
        k = t
        while terms.terms[k].kind == K_SEQ:
            found = map_get(known, k)
            if found != NO_VALUE:
                break
            spine.push_back(k)
            k = terms.terms[k].b
        total = effort(terms, k, known, depth + 1)
        while not spine.empty():
            k = spine.back()
            spine.pop_back()
            total = min(total + effort(terms, terms.terms[k].a, known, depth + 1), MAX_EFFORT)
            map_put(known, k, <int32_t>total)
        return total
    else:
        for k in range(u.b):
            least = effort(terms, terms.kids[u.a + k], known, depth + 1)
            if u.kind == K_AND:
                total += least
            elif k == 0 or least < total:
                total = least
    total = min(total, MAX_EFFORT)
    map_put(known, t, <int32_t>total)
    return total
