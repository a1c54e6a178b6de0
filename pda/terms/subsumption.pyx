# distutils: language = c++
"""Alternatives that another alternative includes, as far as the structure of both shows it."""

from libc.stdint cimport int32_t, uint8_t
from libcpp.algorithm cimport lower_bound
from libcpp.vector cimport vector

from stackmask.pda.memory.hash_tables cimport NO_VALUE, KeyMap, map_free, map_get, map_init, map_put
from stackmask.pda.terms.term_table cimport EPS, K_ALT, K_REP, K_SEQ, Term

cdef enum:
    FEW_SUFFIXES = 64      # suffixes that are visited without remembering them


cdef inline TermId suffix_of(TermTable table, TermId t) noexcept nogil:
    """Return the rest of a sequence whose first item may be empty whatever follows; else EPS."""
    cdef Term* u = &table.terms[t]
    if u.kind == K_SEQ and table.terms[u.seq.first].nu.always():
        return u.seq.rest
    return EPS


cdef int drop_included(TermTable table, vector[TermId]& items) except -1 nogil:
    """Remove alternatives that another one includes: of a? b? c and b? c, or of (a | b) c? and b, the second.

    A sequence of n optional items has the derivatives of its n suffixes. Without this they would be n
    alternatives, and again n after each step.
    Shapes: ``items`` is sorted, without duplicates. Cost: the suffixes of all items, each once, and
    their first alternatives.
    """
    cdef vector[uint8_t] dropped
    cdef size_t i, n = 0
    cdef Term u
    cdef TermId least = items[1] if items[0] == EPS else items[0]
    cdef bint suffixes = False, prefixes = False
    table.meter.spend(3 * items.size())
    for i in range(items.size()):
        u = table.terms[items[i]]
        if u.kind != K_SEQ:
            continue
        # a term is made after its operands, so that their ids are less
        suffixes = suffixes or (u.seq.rest >= least and table.terms[u.seq.first].nu.always())
        prefixes = prefixes or (
            u.seq.first > least
            and table.terms[u.seq.rest].nu.always()
            and K_ALT <= table.terms[u.seq.first].kind <= K_REP
        )
    if suffixes:
        mark_suffixes(table, items, least, dropped)
    if prefixes:
        mark_prefixes(table, items, dropped)
    if dropped.empty():
        return 0
    for i in range(items.size()):
        if not dropped[i]:
            items[n] = items[i]
            n += 1
    items.resize(n)
    return 0


cdef bint mark(vector[TermId]& items, TermId t, vector[uint8_t]& dropped) except -1 nogil:
    """Mark a term as dropped if it is one of the items, and tell whether it is."""
    cdef size_t at = lower_bound(items.begin(), items.end(), t) - items.begin()
    if at == items.size() or items[at] != t:
        return False
    if dropped.empty():
        dropped.resize(items.size(), 0)
    dropped[at] = True
    return True


cdef int mark_suffixes(
    TermTable table, vector[TermId]& items, TermId least, vector[uint8_t]& dropped
) except -1 nogil:
    """Mark the items that are a suffix of another one, which may be empty before it."""
    cdef KeyMap seen
    cdef size_t i, visited = 0
    cdef TermId s
    cdef bint remembered = False
    try:
        for i in range(items.size()):
            s = suffix_of(table, items[i])
            # the suffixes of an item are visited from there
            while s >= least and s != EPS and not mark(items, s, dropped):
                visited += 1
                table.meter.spend(4)
                if visited > FEW_SUFFIXES:
                    if not remembered:
                        map_init(&seen)
                        remembered = True
                    if map_get(&seen, s) != NO_VALUE:
                        break
                    map_put(&seen, s, 1)
                s = suffix_of(table, s)
    finally:
        if remembered:
            map_free(&seen)
    return 0


cdef int mark_prefixes(TermTable table, vector[TermId]& items, vector[uint8_t]& dropped) except -1 nogil:
    """Mark the items that another one begins with, alone or as an alternative, before what may be empty."""
    cdef size_t i
    cdef Term u
    cdef Term v
    cdef int32_t k
    for i in range(items.size()):
        u = table.terms[items[i]]
        if u.kind != K_SEQ or not table.terms[u.seq.rest].nu.always():
            continue
        v = table.terms[u.seq.first]
        if v.kind == K_ALT:
            table.meter.spend(2 + 4 * v.operands.count)
            for k in range(v.operands.first, v.operands.first + v.operands.count):
                if table.kids[k] != EPS:
                    mark(items, table.kids[k], dropped)
        elif v.kind == K_REP and v.rep.low <= 1 and v.rep.high >= 1:
            mark(items, v.rep.item, dropped)
    return 0
