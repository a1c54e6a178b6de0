# distutils: language = c++
"""The token index: the allowed tokens for every state of an automaton, each with its target state.

States that certainly allow the same tokens are found before any walk (``lookahead``); the vocabulary's trie
is walked once for each such set of states. Equal rows are shared; a row consists of bits, or of gaps between
ids. The target of a token is found by running the automaton over its bytes: this takes a few loads, and no
memory.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcmp, memcpy, memset
from libcpp.vector cimport vector

from stackmask.pda.forced cimport RUN_BRANCH, RUN_FINAL, RUN_LONG, RUN_TOKEN
from stackmask.pda.ids cimport FAILED, ID_FAILED
from stackmask.pda.memory.byte_sets cimport lowest_bit
from stackmask.pda.memory.checked_vectors cimport enter, look_up, refill
from stackmask.pda.vocabulary.token_trie cimport Trie
from stackmask.runtime.fsm.dfa cimport NO_STATE, Dfa, copied, fill_bytes, fill_ints, find_alike

from time import monotonic

import numpy as np

from stackmask.pda.errors import BudgetError
from stackmask.runtime.fsm.errors import FsmBudgetError, FsmError, FsmFileError


cdef enum:
    SLOTS = 1024        # rows of the automaton that a walk keeps at hand, a power of two
    CHECK_EVERY = 32    # walks between two looks at memory, time and signals
    DENSE_SHARE = 2     # a row is sparse if its gaps take less than a half of its bits


cdef int fill_words(vector[uint32_t]& out, array) except FAILED:
    cdef const uint32_t[::1] view = np.ascontiguousarray(array, np.uint32)
    cdef Py_ssize_t i
    out.resize(view.shape[0])
    for i in range(view.shape[0]):
        out[i] = view[i]
    return 0


cdef struct Walk:
    # rows of the automaton by byte, for the states met last: slot -> state, and 256 targets
    vector[int32_t] holds
    vector[int32_t] rows
    vector[int32_t] path


@cython.final
cdef class TokenIndex:
    """The allowed tokens of every state of an automaton. Immutable; threads may share it.

    ``special_ids``: the tokens of each special symbol of the automaton.
    Raises: FsmBudgetError if it needs more than ``memory`` bytes; BudgetError after ``seconds``; FsmError if
    a token is allowed both as text and as a special token, and leads to different places.
    Cost: one walk of the trie for each state (equivalent states share a walk). Releases the GIL.
    """

    def __cinit__(self, Dfa dfa not None, TokenBytes texts not None, int32_t size, special_ids=()):
        cdef int32_t k
        if size < 1 or len(special_ids) != dfa.specials:
            raise FsmFileError("its special tokens do not fit")
        self.dfa = dfa
        self.texts = texts
        self.size = size
        self.width = (size + 31) // 32
        self.symbol_of = {}
        for k, ids in enumerate(special_ids):
            for token in ids:
                if not 0 <= token < size or token in self.symbol_of:
                    raise FsmFileError("its special tokens do not fit")
                self.symbol_of[token] = k

    # -- building ----------------------------------------------------------------------------------

    @staticmethod
    def build(Dfa dfa, TokenBytes texts, Trie trie, int32_t size, special_ids, memory, double seconds):
        """Return the index of an automaton."""
        cdef TokenIndex index = TokenIndex(dfa, texts, size, special_ids)
        cdef vector[int32_t] block, row_of_block
        cdef vector[uint32_t] bits
        cdef Walk walk
        cdef int32_t s, blocks, count, done = 0, slots = 1
        cdef double deadline = monotonic() + seconds
        cdef bint any_special = dfa.specials > 0
        with nogil:
            blocks = find_alike(dfa, trie.max_depth, block, deadline, seconds)
        while slots < dfa.states and slots < SLOTS:
            slots *= 2
        refill(walk.holds, slots, NO_STATE)
        walk.rows.resize(256 * <size_t>slots)
        walk.path.resize(trie.max_depth + 1)
        refill(row_of_block, blocks, NO_STATE)
        index.row_of.resize(dfa.states)
        for s in range(dfa.states):
            if row_of_block[block[s]] == NO_STATE:
                if done % CHECK_EVERY == 0:
                    index.check_budget(done, blocks, memory, deadline, seconds)
                with nogil:
                    refill(bits, index.width, 0)
                    count = walk_tokens(dfa, trie, s, &walk, bits)
                    row_of_block[block[s]] = index.intern_row(bits, count)
                done += 1
            index.row_of[s] = row_of_block[block[s]]
            if any_special:
                index.add_specials(s, special_ids)
        index.check_budget(max(done, 1), blocks, memory, deadline, seconds)
        index.known.clear()
        index.same_hash = vector[int32_t]()
        index.words.shrink_to_fit()
        index.gaps.shrink_to_fit()
        return index

    cdef int check_budget(
        self, int32_t done, int32_t blocks, memory, double deadline, double seconds
    ) except FAILED:
        """Check signals, time and memory while building."""
        PyErr_CheckSignals()
        held = self.nbytes
        if held > memory or self.gaps.size() >= <size_t>0xFFFFFFFF:
            estimate = max(held, held * blocks // max(done, 1))
            raise FsmBudgetError(memory, estimate, self.dfa.states, "the token index does not fit")
        if monotonic() > deadline:
            raise BudgetError("max_seconds", seconds, "seconds to build the token index")

    cdef int add_specials(self, int32_t state, special_ids) except FAILED:
        """Give a state a row with its allowed special tokens, if any are allowed."""
        cdef vector[uint32_t] bits
        cdef int32_t k, token, next, count = self.count[self.row_of[state]]
        cdef bint changed = False
        for k in range(self.dfa.specials):
            next = self.dfa.special[<size_t>state * self.dfa.specials + k]
            if next == NO_STATE:
                continue
            if not changed:
                changed = True
                refill(bits, self.width, 0)
                self.write_row(self.row_of[state], bits.data())
            for token in special_ids[k]:
                if (bits[token >> 5] >> (token & 31)) & 1:
                    if self.after_text(state, token) != next:
                        raise FsmError(
                            f"token {token} may come next both as text and as a special token, and leads to "
                            "different places; the finite-state engine has one next state per token"
                        )
                else:
                    bits[token >> 5] |= <uint32_t>1 << (token & 31)
                    count += 1
        if changed:
            self.row_of[state] = self.intern_row(bits, count)
        return 0

    cdef int32_t intern_row(self, const vector[uint32_t]& bits, int32_t count) except FAILED nogil:
        """Return the number of the row with these tokens."""
        cdef vector[uint8_t] coded
        cdef uint64_t h = <uint64_t>0x9E3779B97F4A7C15
        cdef int32_t w, last = -1, gap, row
        cdef uint32_t word
        cdef size_t limit = 4 * <size_t>self.width // DENSE_SHARE
        cdef bint dense = <size_t>count > limit
        for w in range(self.width):
            word = bits[w]
            if not word:
                continue
            h = (h ^ (<uint64_t>w << 32 | word)) * <uint64_t>0xFF51AFD7ED558CCD
            h ^= h >> 32
            if dense:
                continue
            while word:
                gap = 32 * w + lowest_bit(word) - last
                last += gap
                while gap >= 128:
                    coded.push_back(<uint8_t>(gap & 127 | 128))
                    gap >>= 7
                coded.push_back(<uint8_t>gap)
                word &= word - 1
        dense = dense or coded.size() > limit
        row = look_up(self.known, h, 0) - 1
        while row >= 0:
            if self.count[row] == count and self.dense[row] == dense:
                if dense:
                    if memcmp(self.bits_of(row), bits.data(), 4 * <size_t>self.width) == 0:
                        return row
                elif (
                    self.offset[row] + coded.size() <= self.gaps.size()
                    and memcmp(self.gaps.data() + self.offset[row], coded.data(), coded.size()) == 0
                ):
                    # as many gaps, all equal
                    return row
            row = self.same_hash[row]
        row = <int32_t>self.count.size()
        self.same_hash.push_back(look_up(self.known, h, 0) - 1)
        enter(self.known, h, row + 1)
        self.count.push_back(count)
        self.dense.push_back(dense)
        if dense:
            self.offset.push_back(<uint32_t>(self.words.size() // <size_t>self.width))
            self.words.insert(self.words.end(), bits.begin(), bits.end())
        else:
            self.offset.push_back(<uint32_t>self.gaps.size())
            self.gaps.insert(self.gaps.end(), coded.begin(), coded.end())
        return row

    # -- asking ------------------------------------------------------------------------------------

    cdef void write_row(self, int32_t row, uint32_t* out) noexcept nogil:
        """Write a row as bits."""
        cdef const uint8_t* at
        cdef int32_t token = -1, shift
        if self.dense[row]:
            memcpy(out, self.bits_of(row), 4 * <size_t>self.width)
            return
        memset(out, 0, 4 * <size_t>self.width)
        at = self.gaps.data() + self.offset[row]
        for _ in range(self.count[row]):
            shift = 0
            while at[0] & 128:
                token += <int32_t>(at[0] & 127) << shift
                shift += 7
                at += 1
            token += <int32_t>at[0] << shift
            at += 1
            out[token >> 5] |= <uint32_t>1 << (token & 31)

    cdef int32_t after_text(self, int32_t state, int32_t token) noexcept nogil:
        """Return the state after the bytes of a token; NO_STATE if it has none, or is not allowed."""
        cdef uint32_t k
        if token >= self.texts.size or self.texts.start[token] == self.texts.start[token + 1]:
            return NO_STATE
        for k in range(self.texts.start[token], self.texts.start[token + 1]):
            state = self.dfa.step(state, self.texts.blob[k])
            if state == NO_STATE:
                break
        return state

    cdef int32_t after_token(self, int32_t state, int32_t token) except ID_FAILED:
        """Return the state after a token, as text or as a special token, or NO_STATE."""
        cdef int32_t next = self.after_text(state, token)
        if next == NO_STATE and self.dfa.specials:  # mutant: fsm-special
            symbol = self.symbol_of.get(token)
            if symbol is not None:
                next = self.dfa.special[<size_t>state * self.dfa.specials + <int32_t>symbol]
        return next

    def next_state(self, int32_t state, int32_t token):
        """Return the state after a token, or -1 if it is not allowed.

        Raises: IndexError for an unknown state or token.
        """
        if not 0 <= state < self.dfa.states or not 0 <= token < self.size:
            raise IndexError(f"no state {state}, or no token {token}")
        return self.after_token(state, token)

    def allowed_tokens(self, int32_t state):
        """Return the allowed tokens of a state in order, without stop tokens that end the text.

        Raises: IndexError for an unknown state.
        """
        if not 0 <= state < self.dfa.states:
            raise IndexError(f"no state {state}")
        words = np.zeros(self.width, np.uint32)
        cdef uint32_t[::1] view = words
        self.write_row(self.row_of[state], &view[0])
        return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))

    @property
    def rows(self):
        """The number of different rows."""
        return self.count.size()

    @property
    def dense_rows(self):
        """The number of rows stored as bits."""
        return sum(self.dense)

    @property
    def nbytes(self):
        """The size of the arrays, without those of the automaton."""
        return (
            4 * (self.row_of.size() + self.count.size() + self.words.size() + self.offset.size())
            + self.dense.size() + self.gaps.size()
        )

    @property
    def transitions(self):
        """The number of pairs of a state and an allowed token."""
        cdef int64_t total = 0
        cdef int32_t row
        for row in self.row_of:
            total += self.count[row]
        return total

    # -- files -------------------------------------------------------------------------------------

    def arrays(self):
        """Return the arrays by name, as copies."""
        return {
            "row_of": copied(self.row_of.data(), self.row_of.size(), np.int32),
            "dense": copied(self.dense.data(), self.dense.size(), np.uint8),
            "offset": copied(self.offset.data(), self.offset.size(), np.uint32),
            "count": copied(self.count.data(), self.count.size(), np.int32),
            "words": copied(self.words.data(), self.words.size(), np.uint32),
            "gaps": copied(self.gaps.data(), self.gaps.size(), np.uint8),
        }

    def special_ids(self):
        """Return the tokens of each special symbol."""
        ids = [[] for _ in range(self.dfa.specials)]
        for token, symbol in self.symbol_of.items():
            ids[symbol].append(token)
        return ids

    @staticmethod
    def from_arrays(Dfa dfa, TokenBytes texts, int32_t size, special_ids, arrays):
        """Return the index with these arrays. Raises: FsmFileError if they are invalid."""
        cdef TokenIndex index = TokenIndex(dfa, texts, size, special_ids)
        fill_ints(index.row_of, arrays["row_of"])
        fill_bytes(index.dense, arrays["dense"])
        fill_ints(index.count, arrays["count"])
        fill_bytes(index.gaps, arrays["gaps"])
        fill_words(index.words, arrays["words"])
        fill_words(index.offset, arrays["offset"])
        index.check()
        return index

    cdef int check(self) except FAILED:
        """Check that every row is within bounds and contains only tokens. Raises: FsmFileError."""
        cdef size_t rows = self.count.size(), at
        cdef int32_t row, shift, tail = self.size & 31
        cdef int64_t token, gap
        if self.row_of.size() != <size_t>self.dfa.states:
            raise FsmFileError("its rows do not fit its states")
        if self.dense.size() != rows or self.offset.size() != rows:
            raise FsmFileError("its rows do not fit its states")
        for row in self.row_of:
            if not 0 <= row < <int32_t>rows:
                raise FsmFileError("a state has no row")
        for row in range(<int32_t>rows):
            at = self.offset[row]
            if self.dense[row]:
                at *= <size_t>self.width
                if at + <size_t>self.width > self.words.size():
                    raise FsmFileError("a row lies outside")
                if tail and self.words[at + self.width - 1] >> tail:
                    raise FsmFileError("a row holds a token that there is not")
                continue
            token = -1
            for _ in range(self.count[row]):
                gap = 0
                shift = 0
                while True:
                    if at >= self.gaps.size() or shift > 28:
                        raise FsmFileError("a row lies outside")
                    gap += <int64_t>(self.gaps[at] & 127) << shift
                    shift += 7
                    at += 1
                    if not self.gaps[at - 1] & 128:
                        break
                token += gap
                if not gap or token >= self.size:
                    raise FsmFileError("a row holds a token that there is not")
        return 0


cdef int32_t walk_tokens(
    Dfa dfa, Trie trie, int32_t state, Walk* walk, vector[uint32_t]& bits
) except FAILED nogil:
    """Set the bits of the allowed tokens of a state; return their number."""
    cdef int32_t node = 1, nodes = trie.nodes, count = 0, depth, slot, k, next, token
    cdef int32_t mask = <int32_t>walk.holds.size() - 1
    cdef int32_t* path = walk.path.data()
    cdef int32_t* row
    path[0] = state
    while node < nodes:
        depth = trie.depth[node]
        state = path[depth - 1]
        slot = state & mask
        row = walk.rows.data() + 256 * <size_t>slot
        if walk.holds[slot] != state:
            write_targets(dfa, state, row)
            walk.holds[slot] = state
        next = row[trie.byte[node]]
        if next == NO_STATE:
            node = trie.end[node]
            continue
        path[depth] = next
        for k in range(trie.token_first[node], trie.token_first[node + 1]):
            token = trie.tokens[k]
            bits[token >> 5] |= <uint32_t>1 << (token & 31)
            count += 1
        node += 1
    return count


cdef void write_targets(Dfa dfa, int32_t state, int32_t* row) noexcept nogil:
    """Record the target of each byte from a state."""
    cdef int32_t e, byte
    memset(row, 0xFF, 256 * sizeof(int32_t))
    for e in range(dfa.first[state], dfa.first[state + 1]):
        for byte in range(dfa.low[e], dfa.high[e] + 1):
            row[byte] = dfa.target[e]


# ------------------------------------------------------------------------------------------------
# Forced runs of an automaton, in the terms of the pushdown engine's, for the same planner.
#
# Place n is state n - 1: a planner takes place 0 for one where nothing may come.
# ------------------------------------------------------------------------------------------------


cdef enum:
    MAX_RUN = 65_536        # bytes of one run, as in the pushdown engine; the rest is a run of its own


@cython.final
cdef class FsmRuns(Crossings):
    """The forced runs of an automaton, as a view without its own data."""

    def __cinit__(self, TokenIndex index not None, Paths paths not None, Trie trie not None):
        self.dfa = index.dfa
        self.paths = paths
        self.token_of = {}
        for symbol, ids in enumerate(index.special_ids()):
            if len(ids) == 1:
                self.token_of[symbol] = ids[0]
        self.set_trie(trie)

    cdef int32_t follow(self, int32_t config, uint8_t byte) except ID_FAILED nogil:
        # NO_STATE is -1
        return self.dfa.step(config - 1, byte) + 1

    def run(self, int32_t place):
        """Return (bytes, the length of the whole characters among them, kind, token, next state).

        This is like ``ForcedRuns.run``. Cost: a look-up of the merged path of the state.
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
