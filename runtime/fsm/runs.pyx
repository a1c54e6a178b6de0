# distutils: language = c++
"""Forced runs of an automaton, in the terms of the pushdown engine's, for the same planner.

Place n is state n - 1: a planner takes place 0 for one where nothing may come.
"""

cimport cython

from stackmask.pda.forced.forced_text cimport RUN_BRANCH, RUN_FINAL, RUN_LONG, RUN_TOKEN
from stackmask.pda.vocabulary.token_trie cimport Trie
from stackmask.runtime.fsm.dfa cimport NO_STATE

cdef enum:
    MAX_RUN = 65_536        # bytes of one run, as in the pushdown engine; the rest is a run of its own


@cython.final
cdef class FsmRuns(Crossings):
    """The forced runs of an automaton. Holds nothing but a look at it."""

    def __cinit__(self, TokenIndex index not None, Paths paths not None, Trie trie not None):
        self.dfa = index.dfa
        self.paths = paths
        self.token_of = {}
        for symbol, ids in enumerate(index.special_ids()):
            if len(ids) == 1:
                self.token_of[symbol] = ids[0]
        self.set_trie(trie)

    cdef int32_t follow(self, int32_t config, uint8_t byte) except -1 nogil:
        # NO_STATE is -1
        return self.dfa.step(config - 1, byte) + 1

    def run(self, int32_t place):
        """Return (bytes, how many of them are whole characters, kind, token, next place).

        As ``ForcedRuns.run``. Cost: a look at the merged path of the state.
        """
        cdef int32_t state = place - 1, end, k, e, next, symbol = -1, symbols = 0, after = NO_STATE
        cdef Py_ssize_t whole
        cdef int kind = RUN_BRANCH
        cdef bytes text
        text, end = self.paths.jump(state)
        if len(text) > MAX_RUN:
            text = text[:MAX_RUN]
            end = <int32_t>self.after(place, text) - 1
            kind = RUN_LONG
        else:
            for k in range(self.dfa.specials):
                next = self.dfa.special[<size_t>end * self.dfa.specials + k]
                if next != NO_STATE:
                    symbol, after = k, next
                    symbols += 1
            if self.dfa.first[end] == self.dfa.first[end + 1]:
                if self.dfa.accepting[end]:
                    kind = RUN_BRANCH if symbols else RUN_FINAL
                elif symbols == 1 and symbol in self.token_of:
                    kind = RUN_TOKEN
        whole = len(text)
        if whole and text[whole - 1] >= 0x80:
            for e in range(self.dfa.first[end], self.dfa.first[end + 1]):
                if self.dfa.low[e] < 0xC0 and self.dfa.high[e] >= 0x80:
                    # the last character goes on
                    while whole and text[whole - 1] & 0xC0 == 0x80:
                        whole -= 1
                    whole = max(whole - 1, 0)
                    break
        if kind == RUN_TOKEN:
            return text, whole, kind, self.token_of[symbol], after + 1
        return text, whole, kind, -1, end + 1
