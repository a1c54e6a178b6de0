# distutils: language = c++
"""Whether every beginning of a string of a term begins infinitely many strings.

The derivatives of a regular term are the states of a finite automaton. Call those that have a string live.
If each live state leads to a live one, a path through them goes on without end, so it meets a cycle, and each
has infinitely many strings. A live state that leads to none has the empty string alone.
"""

from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport MapId
from stackmask.pda.memory.hash_tables cimport NO_VALUE, KeyMap, map_free, map_get, map_init, map_put
from stackmask.pda.terms.term_table cimport EMPTY


cpdef object is_endless(TermStore terms, TermId term, Py_ssize_t max_explored):
    """Tell whether every beginning of a string of a regular term begins infinitely many.

    Returns: None if more than ``max_explored`` states would have to be visited; False if there is no string.
    Cost: linear in the states and in their byte classes.
    """
    cdef vector[TermId] states
    cdef vector[int32_t] source, target     # the steps between the states, by their places in the list
    cdef KeyMap places
    cdef size_t at = 0
    cdef TermId next
    cdef MapId classes
    cdef int32_t k, place
    if term == EMPTY:
        return False
    map_init(&places)
    try:
        states.push_back(term)
        map_put(&places, term, 0)
        while at < states.size():
            classes = terms.classes_of(states[at])
            terms.meter.spend(40 + 4 * terms.classes.maps[classes].count)
            for k in range(terms.classes.maps[classes].count):
                next = terms.derive(states[at], terms.classes.maps[classes].byte_of[k])
                if next == EMPTY:
                    continue
                place = map_get(&places, next)
                if place == NO_VALUE:
                    place = <int32_t>states.size()
                    if place >= max_explored:
                        return None
                    states.push_back(next)
                    map_put(&places, next, place)
                source.push_back(<int32_t>at)
                target.push_back(place)
            at += 1
    finally:
        map_free(&places)
    return none_runs_out(terms, states, source, target)


cdef bint none_runs_out(
    TermStore terms, vector[TermId]& states, vector[int32_t]& source, vector[int32_t]& target
) except -1:
    """Tell whether the first state is live, and each live state leads to a live one."""
    cdef vector[int32_t] first, before, steps, todo
    cdef vector[uint8_t] live
    cdef size_t i
    cdef int32_t at, k
    # the states before each one
    first.resize(states.size() + 1, 0)
    for i in range(target.size()):
        first[target[i] + 1] += 1
    for i in range(states.size()):
        first[i + 1] += first[i]
    before.resize(target.size())
    todo.assign(first.begin(), first.end())
    for i in range(target.size()):
        before[todo[target[i]]] = source[i]
        todo[target[i]] += 1
    todo.clear()
    # those that are live
    live.resize(states.size(), 0)
    for i in range(states.size()):
        if terms.terms[states[i]].nu.possible():
            live[i] = 1
            todo.push_back(<int32_t>i)
    while not todo.empty():
        at = todo.back()
        todo.pop_back()
        for k in range(first[at], first[at + 1]):
            if not live[before[k]]:
                live[before[k]] = 1
                todo.push_back(before[k])
    if not live[0]:
        return False
    steps.resize(states.size(), 0)
    for i in range(target.size()):
        steps[source[i]] += live[target[i]]  # mutant: dead-steps
    for i in range(states.size()):
        if live[i] and not steps[i]:
            return False
    return True
