# distutils: language = c++
"""A deterministic automaton over bytes and special tokens; every state can reach an accepting one.

States are numbered in breadth-first order from the start (state 0), edges by ascending byte, so minimal
automata of equal languages are equal arrays.
"""

cimport cython
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy

import numpy as np

from stackmask.runtime.fsm.errors import FsmFileError

cdef object copied(const void* data, size_t count, dtype):
    cdef uint8_t[::1] view
    array = np.empty(count, dtype)
    if count:
        view = array.view(np.uint8)
        memcpy(&view[0], data, view.shape[0])
    return array


cdef int fill_ints(vector[int32_t]& out, array) except -1:
    cdef const int32_t[::1] view = np.ascontiguousarray(array, np.int32)
    cdef Py_ssize_t i
    out.resize(view.shape[0])
    for i in range(view.shape[0]):
        out[i] = view[i]
    return 0


cdef int fill_bytes(vector[uint8_t]& out, array) except -1:
    cdef const uint8_t[::1] view = np.ascontiguousarray(array, np.uint8)
    cdef Py_ssize_t i
    out.resize(view.shape[0])
    for i in range(view.shape[0]):
        out[i] = view[i]
    return 0


@cython.final
cdef class Dfa:
    """A deterministic automaton, immutable. Made by ``explore`` or from the arrays of an equal one.

    ``arrays``: those that ``arrays()`` gives; ``specials``: how many symbols stand for special tokens.
    Raises: FsmFileError if they are no automaton.
    """

    def __cinit__(self, arrays=None, int32_t specials=0):
        self.start = 0
        self.states = 0
        self.specials = specials
        if arrays is None:
            return
        fill_ints(self.first, arrays["first"])
        fill_bytes(self.low, arrays["low"])
        fill_bytes(self.high, arrays["high"])
        fill_ints(self.target, arrays["target"])
        fill_bytes(self.accepting, arrays["accepting"])
        fill_ints(self.special, arrays["special"])
        self.states = <int32_t>self.accepting.size()
        self.check()

    cdef int check(self) except -1:
        """Check that no array leads outside of another. Raises: FsmFileError."""
        cdef size_t edges = self.target.size(), n = self.accepting.size(), i
        cdef int32_t s, e
        if n == 0 or self.first.size() != n + 1 or self.low.size() != edges or self.high.size() != edges:
            raise FsmFileError("its arrays do not fit together")
        if self.specials < 0 or self.special.size() != n * <size_t>self.specials:
            raise FsmFileError("its special tokens do not fit its states")
        if self.first[0] != 0 or self.first[n] != <int32_t>edges:
            raise FsmFileError("its edges are out of order")
        for s in range(self.states):
            if self.first[s] > self.first[s + 1] or self.first[s + 1] > <int32_t>edges:
                raise FsmFileError("its edges are out of order")
            for e in range(self.first[s], self.first[s + 1]):
                if self.low[e] > self.high[e] or (e > self.first[s] and self.low[e] <= self.high[e - 1]):
                    raise FsmFileError("the edges of a state overlap")
                if not 0 <= self.target[e] < self.states:
                    raise FsmFileError("an edge leads nowhere")
        for i in range(self.special.size()):
            if not NO_STATE <= self.special[i] < self.states:
                raise FsmFileError("a special token leads nowhere")
        return 0

    def arrays(self):
        """Return the arrays by name, as copies."""
        return {
            "first": copied(self.first.data(), self.first.size(), np.int32),
            "low": copied(self.low.data(), self.low.size(), np.uint8),
            "high": copied(self.high.data(), self.high.size(), np.uint8),
            "target": copied(self.target.data(), self.target.size(), np.int32),
            "accepting": copied(self.accepting.data(), self.accepting.size(), np.uint8),
            "special": copied(self.special.data(), self.special.size(), np.int32),
        }

    @property
    def edges(self):
        """The number of edges over bytes: ranges of bytes that lead from one state to one other."""
        return self.target.size()

    @property
    def nbytes(self):
        """The size of the arrays."""
        return 4 * (self.first.size() + self.target.size() + self.special.size()) + (
            self.low.size() + self.high.size() + self.accepting.size()
        )

    def matches(self, bytes data):
        """Tell whether the automaton accepts exactly these bytes."""
        cdef int32_t state = self.start
        cdef uint8_t byte
        for byte in data:
            state = self.step(state, byte)
            if state == NO_STATE:
                return False
        return bool(self.accepting[state])

    def next_state(self, int32_t state, int symbol):
        """Return the state after a byte, or after special symbol ``symbol - 256``; -1 if there is none.

        Raises: IndexError if there is no such state or symbol.
        """
        if not 0 <= state < self.states or not 0 <= symbol < 256 + self.specials:
            raise IndexError(f"no state {state}, or no symbol {symbol}")
        if symbol >= 256:
            return self.special[<size_t>state * self.specials + symbol - 256]
        return self.step(state, <uint8_t>symbol)

    def is_accepting(self, int32_t state):
        """Tell whether the text may end in a state. Raises: IndexError if there is no such state."""
        if not 0 <= state < self.states:
            raise IndexError(f"no state {state}")
        return bool(self.accepting[state])

    def dump(self):
        """Return the automaton as text, a line for each state."""
        cdef int32_t s, e, k
        lines = []
        for s in range(self.states):
            parts = []
            for e in range(self.first[s], self.first[s + 1]):
                span = f"{self.low[e]:02x}"
                if self.low[e] != self.high[e]:
                    span += f"-{self.high[e]:02x}"
                parts.append(f"{span} → {self.target[e]}")
            for k in range(self.specials):
                if self.special[<size_t>s * self.specials + k] != NO_STATE:
                    parts.append(f"special {k} → {self.special[<size_t>s * self.specials + k]}")
            lines.append(f"{s}{' accepts' if self.accepting[s] else ''}: {', '.join(parts)}".rstrip())
        return "\n".join(lines)
