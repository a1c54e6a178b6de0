# distutils: language = c++
"""Alternatives that another alternative includes, as far as the structure of both shows it."""

from libc.stdint cimport uint8_t
from libcpp.algorithm cimport lower_bound
from libcpp.vector cimport vector

from stackmask.pda.memory.hash_tables cimport NO_VALUE, KeyMap, map_free, map_get, map_init, map_put
from stackmask.pda.terms.term_table cimport ANY_BYTE, EPS, K_SEQ, Term

cdef enum:
    FEW_SUFFIXES = 64      # suffixes that are visited without remembering them


cdef inline TermId suffix_of(TermTable table, TermId t) noexcept:
    """Return the rest of a sequence whose first item may be empty whatever follows; else EPS."""
    cdef Term* u = &table.terms[t]
    if u.kind == K_SEQ and table.terms[u.a].nu == ANY_BYTE:
        return u.b
    return EPS


cdef int drop_suffixes(TermTable table, vector[TermId]& items) except -1:
    """Remove alternatives that are a suffix of another one which can begin there: of a? b? c and b? c, the second.

    A sequence of n optional items has the derivatives of its n suffixes. Without this they would be n
    alternatives, and again n after each step.
    Shapes: ``items`` is sorted, without duplicates. Cost: the suffixes of all items, each once.
    """
    cdef vector[uint8_t] dropped
    cdef KeyMap seen
    cdef size_t i, at, n = 0, visited = 0
    cdef TermId s, least = items[1] if items[0] == EPS else items[0]
    cdef bint remembered = False
    for i in range(items.size()):
        # a suffix is made before what it is a suffix of, so its id is less
        if suffix_of(table, items[i]) >= least:
            break
    else:
        return 0
    try:
        for i in range(items.size()):
            s = suffix_of(table, items[i])
            while s >= least and s != EPS:
                at = lower_bound(items.begin(), items.end(), s) - items.begin()
                if at < items.size() and items[at] == s:  # its own suffixes are visited from there
                    if dropped.empty():
                        dropped.resize(items.size(), 0)
                    dropped[at] = True
                    break
                visited += 1
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
    if dropped.empty():
        return 0
    for i in range(items.size()):
        if not dropped[i]:
            items[n] = items[i]
            n += 1
    items.resize(n)
    return 0
