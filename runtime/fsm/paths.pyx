# distutils: language = c++
"""The compressed automaton: paths on which every byte is forced, merged into one edge under a string.

A byte is forced in a state with one byte edge under a single byte, where the text may not end and no
special token may come. Such states form trees, since every state can reach an accepting one. A path is laid
down as a segment up to its end or to a state that an earlier segment passes through; states inside a
segment share its bytes.
"""

cimport cython
from libc.stdint cimport int32_t, uint8_t
from libcpp.algorithm cimport upper_bound
from libcpp.vector cimport vector

from stackmask.pda.memory.checked_vectors cimport refill
from stackmask.runtime.fsm.dfa cimport NO_STATE, Dfa


cdef enum:
    NOT_FORCED = -1


cdef bint is_forced(Dfa dfa, int32_t state) noexcept nogil:
    cdef int32_t e = dfa.first[state], k
    if dfa.accepting[state] or dfa.first[state + 1] != e + 1 or dfa.low[e] != dfa.high[e]:  # mutant: one-byte
        return False
    for k in range(dfa.specials):
        if dfa.special[<size_t>state * dfa.specials + k] != NO_STATE:
            return False
    return True


@cython.final
cdef class Paths:
    """The forced bytes of every state. Cost: linear in the states, in time and memory."""

    def __cinit__(self, Dfa dfa not None):
        cdef int32_t n = dfa.states, s
        cdef vector[uint8_t] forced, entered
        refill(self.begin, n, NOT_FORCED)
        forced.resize(n)
        refill(entered, n, 0)
        # what is neither the start nor where paths branch, end or join is merged away
        self.states = 0
        with nogil:
            for s in range(n):
                forced[s] = is_forced(dfa, s)
                self.states += s == dfa.start or not forced[s]
            for s in range(n):
                if forced[s]:
                    entered[dfa.target[dfa.first[s]]] = 1
            for s in range(n):
                if forced[s] and not entered[s]:
                    self.lay(dfa, s, forced)
        self.text.shrink_to_fit()
        self.past.shrink_to_fit()
        self.after.shrink_to_fit()

    cdef int32_t lay(self, Dfa dfa, int32_t head, const vector[uint8_t]& forced) except -1 nogil:
        """Lay down the path from a state that no path leads to."""
        while forced[head] and self.begin[head] == NOT_FORCED:
            self.begin[head] = <int32_t>self.text.size()
            self.text.push_back(dfa.low[dfa.first[head]])
            head = dfa.target[dfa.first[head]]
        self.past.push_back(<int32_t>self.text.size())
        self.after.push_back(head)

    cdef size_t segment_of(self, int32_t state) noexcept nogil:
        """Return the segment that a forced state lies in."""
        return upper_bound(self.past.begin(), self.past.end(), self.begin[state]) - self.past.begin()

    cdef bytes forced(self, int32_t state):
        """Return the bytes that must come next, all segments together."""
        cdef bytearray out = bytearray()
        cdef size_t segment
        while self.begin[state] != NOT_FORCED:
            segment = self.segment_of(state)
            out += (<const char*>self.text.data())[self.begin[state] : self.past[segment]]
            state = self.after[segment]
        return bytes(out)

    def jump(self, int32_t state):
        """Return (the bytes that must come next, the state after them).

        Raises: IndexError if there is no such state.
        """
        if not 0 <= state < <int32_t>self.begin.size():
            raise IndexError(f"no state {state}")
        text = self.forced(state)
        while self.begin[state] != NOT_FORCED:
            state = self.after[self.segment_of(state)]
        return text, state

    @property
    def nbytes(self):
        """The size of the arrays."""
        return self.text.size() + 4 * (self.begin.size() + self.past.size() + self.after.size())
