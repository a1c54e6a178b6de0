# distutils: language = c++
"""Which states of an automaton allow the same tokens: no string of a token's length tells them apart."""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, uint8_t
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from stackmask.pda.memory.checked_vectors cimport enter, look_up, refill
from stackmask.runtime.fsm.dfa cimport NO_STATE, Dfa


from time import monotonic

from stackmask.pda.errors import BudgetError

cdef enum:
    CHECK_EVERY = 1 << 16   # signatures between two looks at time and signals


cdef int write_signature(Dfa dfa, int32_t state, const vector[int32_t]& block, string& out) except -1 nogil:
    """Write down the block of a state, and to which block each range of bytes leads."""
    cdef int32_t e, b, last = NO_STATE
    cdef int32_t low = 0, high = -2
    b = block[state]
    out.assign(<char*>&b, 4)
    for e in range(dfa.first[state], dfa.first[state + 1]):
        b = block[dfa.target[e]]
        if b == last and dfa.low[e] == high + 1:
            high = dfa.high[e]
            continue
        if last != NO_STATE:
            out.append(<char*>&last, 4)
            out.push_back(<char>low)
            out.push_back(<char>high)
        last = b
        low = dfa.low[e]
        high = dfa.high[e]
    if last != NO_STATE:
        out.append(<char*>&last, 4)
        out.push_back(<char>low)
        out.push_back(<char>high)


cdef int check_time(double deadline, double seconds) except -1:
    PyErr_CheckSignals()
    if monotonic() > deadline:
        raise BudgetError("max_seconds", seconds, "seconds to build the token index")
    return 0


cdef int32_t find_alike(
    Dfa dfa, int32_t length, vector[int32_t]& block, double deadline, double seconds
) except -1 nogil:
    """Give states the same block if the same byte strings of up to ``length`` can be written from them.

    Whether a text may end does not count, nor do special tokens. Return the number of blocks.
    Cost: a signature per state, and another one whenever one of its targets changes its block. Rounds as in
    E. F. Moore's minimisation, but only what a change can have touched is looked at again.
    Raises: BudgetError when the clock is past ``deadline``, which ``seconds`` have led to.
    """
    cdef int32_t n = dfa.states, s, e, k, b, blocks = 1, round = 0, signatures = 0
    cdef size_t i
    cdef vector[int32_t] first, into, todo, changed, size, looked, fresh
    cdef vector[uint8_t] queued, kept
    cdef unordered_map[string, int32_t] known
    cdef string signature
    refill(first, n + 1, 0)
    for i in range(dfa.target.size()):
        first[dfa.target[i] + 1] += 1
    for s in range(n):
        first[s + 1] += first[s]
    into.resize(dfa.target.size())
    for s in range(n):
        for e in range(dfa.first[s], dfa.first[s + 1]):
            into[first[dfa.target[e]]] = s
            first[dfa.target[e]] += 1
    # filling in has moved each beginning to the next one
    for s in range(n, 0, -1):
        first[s] = first[s - 1]
    first[0] = 0
    refill(block, n, 0)
    refill(queued, n, 0)
    size.push_back(n)
    looked.push_back(0)
    kept.push_back(0)
    todo.resize(n)
    fresh.resize(n)
    for s in range(n):
        todo[s] = s
    while round < length and not todo.empty():
        round += 1
        known.clear()
        changed.clear()
        for s in todo:
            looked[block[s]] += 1
            kept[block[s]] = 0
        for s in todo:
            # the states that were not looked at go on as they were; if there are none, the first group does
            b = block[s]
            write_signature(dfa, s, block, signature)
            signatures += 1
            if signatures % CHECK_EVERY == 0:
                with gil:
                    check_time(deadline, seconds)
            k = look_up(known, signature, 0) - 1
            if k < 0:
                if looked[b] == size[b] and not kept[b]:
                    kept[b] = 1
                    k = b
                else:
                    k = blocks
                    blocks += 1
                    size.push_back(0)
                    looked.push_back(0)
                    kept.push_back(1)
                enter(known, signature, k + 1)
            fresh[s] = k
        for s in todo:
            looked[block[s]] = 0
        for s in todo:
            if fresh[s] != block[s]:
                size[block[s]] -= 1
                size[fresh[s]] += 1
                block[s] = fresh[s]
                changed.push_back(s)
        todo.clear()
        for s in changed:
            for k in range(first[s], first[s + 1]):
                if not queued[into[k]]:
                    queued[into[k]] = 1
                    todo.push_back(into[k])
        for s in todo:
            queued[s] = 0
    return blocks
