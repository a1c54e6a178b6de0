# distutils: language = c++
"""The compressed automaton: paths on which every byte is forced, merged into one edge under a string.

A byte is forced in a state with one byte edge under a single byte, where the text may not end and no
special token may come. Such states form trees, since every state can reach an accepting one. A path is laid
down as a segment up to its end or to a state that an earlier segment passes through; states inside a
segment share its bytes.
"""

cimport cython
from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from stackmask.runtime.finite.dfa cimport NO_STATE, Dfa


cdef bint is_forced(Dfa dfa, int32_t state) noexcept nogil:
    cdef int32_t e = dfa.first[state], k
    if dfa.accepting[state] or dfa.first[state + 1] != e + 1 or dfa.low[e] != dfa.high[e]:
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
        self.begin.assign(n, 0)
        self.length.assign(n, 0)
        self.after.resize(n)
        forced.resize(n)
        entered.assign(n, 0)
        self.segments = 0
        with nogil:
            for s in range(n):
                self.after[s] = s
                forced[s] = is_forced(dfa, s)
            for s in range(n):
                if forced[s]:
                    entered[dfa.target[dfa.first[s]]] = 1
            for s in range(n):
                if forced[s] and not entered[s]:
                    self.lay(dfa, s, forced)
        # what is neither the start nor where paths branch, end or join is merged away
        self.states = 0
        for s in range(n):
            if s == dfa.start or not forced[s]:
                self.states += 1

    cdef void lay(self, Dfa dfa, int32_t head, const vector[uint8_t]& forced) noexcept nogil:
        cdef int32_t s = head, end
        while forced[s] and not self.length[s]:
            self.begin[s] = <int32_t>self.text.size()
            self.length[s] = 1      # of this segment; the rest is known at its end
            self.text.push_back(dfa.low[dfa.first[s]])
            s = dfa.target[dfa.first[s]]
        end = s
        s = head
        while s != end:
            self.length[s] = <int32_t>self.text.size() - self.begin[s]
            self.after[s] = end
            s = dfa.target[dfa.first[s]]
        self.segments += 1

    cdef bytes forced(self, int32_t state):
        """Return the bytes that must come next, all segments together."""
        cdef bytearray out = bytearray()
        while self.length[state]:
            out += (<const char*>self.text.data())[self.begin[state] : self.begin[state] + self.length[state]]
            state = self.after[state]
        return bytes(out)

    def jump(self, int32_t state):
        """Return (the bytes that must come next, the state after them).

        Raises: IndexError if there is no such state.
        """
        if not 0 <= state < <int32_t>self.length.size():
            raise IndexError(f"no state {state}")
        text = self.forced(state)
        while self.length[state]:
            state = self.after[state]
        return text, state

    @property
    def nbytes(self):
        """The size of the arrays."""
        return self.text.size() + 4 * (self.begin.size() + self.length.size() + self.after.size())
