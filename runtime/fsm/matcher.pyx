# distutils: language = c++
"""The matcher over an automaton and its token index, with the interface of the pushdown matcher."""

cimport cython
from libc.stdint cimport int32_t, uint32_t, uint8_t
from libc.string cimport memset
from libcpp.vector cimport vector

from stackmask.pda.ids cimport FAILED
from stackmask.pda.memory.checked_vectors cimport copy_items, make_room
from stackmask.runtime.fsm.dfa cimport NO_STATE, Dfa
from stackmask.runtime.fsm.index cimport FsmRuns, TokenIndex
from stackmask.runtime.jump_forward.token_history cimport JumpCalls, TokenHistory
from stackmask.runtime.matching.mask_buffer cimport (
    Rows,
    as_id,
    close_rows,
    every_allowed,
    is_empty_row,
    open_rows,
    row_of,
)

import numpy as np

from stackmask.runtime.jump_forward.drafts import EMPTY
from stackmask.runtime.jump_forward.jump_forward import FINAL, NOTHING, Plan, lone_tokens
from stackmask.runtime.matching.draft_trees import parents_and_mask
from stackmask.runtime.matching.mask_buffer import EmptyMaskError, MatcherError, MatcherTypeError, as_integer
from stackmask.runtime.matching.refusal import describe_refusal
from stackmask.runtime.matching.row_references import MaskRows


NO_BUDGET = "a finite automaton keeps no token budget: compile the grammar with Compiler"


@cython.final
cdef class FsmMatcher(JumpCalls):
    """Follows one text through a finite automaton.

    Not safe for use from several threads at once; matchers of one compiled grammar are independent of each
    other. A refused token or text changes nothing. The history is kept, so that any number of accept calls
    can be undone.
    """

    cdef readonly object compiled
    cdef Dfa dfa
    cdef TokenIndex index
    cdef FsmRuns runs
    cdef tuple stop_ids
    cdef vector[int32_t] history        # states after each accept call; history[0] is the start
    cdef TokenHistory tokens            # what each accept call took
    cdef bint terminated
    cdef object refused                 # the last refusal: (state, bytes accepted, token or text)

    def __cinit__(self, compiled, FsmMatcher origin=None):
        if origin is not None and origin.compiled is not compiled:
            raise MatcherError("a matcher can only be copied from one of the same compiled grammar")
        self.compiled = compiled
        self.index = compiled.index
        self.runs = compiled._runs
        self.dfa = self.index.dfa
        self.stop_ids = compiled._info.stop_ids
        if origin is None:
            self.history.push_back(self.dfa.start)
            self.tokens = TokenHistory(self.index.texts)
            self.terminated = False
        else:
            copy_items(self.history, origin.history)
            self.tokens = origin.tokens.copy()
            self.terminated = origin.terminated

    def __repr__(self):
        from stackmask.runtime.matching.refusal import describe_matcher
        return describe_matcher(self, self.tokens.symbols(), self.index.texts)

    # -- following ---------------------------------------------------------------------------------

    def accept_token(self, token):
        """Advance by one token. Return False, and change nothing, if the token is not allowed.

        A stop token ends the text where the grammar may end (unless the grammar itself contains this token
        here). Cost: a few loads for each byte.
        """
        cdef int32_t id = as_id(token, self.index.size)
        cdef int32_t state = self.history.back(), next
        if self.terminated or id < 0:
            self.refused = (state, 0, token)
            return False
        self.reserve()
        next = self.index.after_token(state, id)
        if next == NO_STATE:
            if not (id in self.stop_ids and self.dfa.accepting[state]):
                self.refused = (state, 0, token)
                return False
            self.terminated = True
            next = state
        self.history.push_back(next)
        self.tokens.taken.push_back(id)
        self.refused = None
        return True

    def accept_string(self, text):
        """Advance by text (str, or bytes that need not end at a character boundary). Return False, and change
        nothing, if the text is not allowed. This counts as one accept call.
        """
        cdef bytes data
        cdef int32_t state = self.history.back(), next
        cdef Py_ssize_t i
        if isinstance(text, str):
            # a lone surrogate has no UTF-8; its three bytes are refused like any other wrong text
            data = text.encode(errors="surrogatepass")
        elif isinstance(text, (bytes, bytearray, memoryview)):
            data = bytes(text)
        else:
            raise MatcherTypeError(
                f"text must be str or bytes, not {type(text).__name__}: ids go to accept_token"
            )
        if self.terminated:
            self.refused = (state, 0, data)
            return False
        for i in range(len(data)):
            next = self.dfa.step(state, <uint8_t>data[i])
            if next == NO_STATE:
                self.refused = (state, i, data)
                return False
            state = next
        self.reserve()
        self.history.push_back(state)
        self.tokens.push_text(data)
        self.refused = None
        return True

    cdef int reserve(self) except FAILED:
        """Reserve memory for one accept call, so that nothing has changed if memory runs out."""
        make_room(self.history)
        self.tokens.reserve()
        return 0

    def rollback(self, count=1):
        """Undo the last ``count`` accept calls.

        Raises: MatcherError if there were fewer.
        """
        count = as_integer("the number of accept calls", count)
        if not 0 <= count < self.history.size():
            raise MatcherError(f"cannot roll back {count} accept calls: there were {self.history.size() - 1}")
        if count:
            self.keep(self.history.size() - <size_t>count)
        self.refused = None

    def fork(self):
        """Return an independent matcher in the same state, including the history."""
        return FsmMatcher.__new__(FsmMatcher, self.compiled, self)

    @property
    def account(self):
        """None: all states were found at compile time, so the matchers do no work."""
        return None

    def cancel(self):
        """Do nothing, since no call of this matcher takes long."""

    def reset(self):
        """Return to the start."""
        self.refused = None
        self.keep(1)

    cdef void keep(self, size_t places) noexcept:
        """Truncate the history."""
        self.history.resize(places)
        self.tokens.keep(places - 1)
        self.terminated = False

    def is_accepting(self):
        """Return whether the text so far is complete, so that the grammar may end here."""
        return bool(self.dfa.accepting[self.history.back()])

    def is_terminated(self):
        """Return whether a stop token has been accepted."""
        return self.terminated

    @property
    def accept_calls(self):
        """The number of accept calls that can be rolled back."""
        return self.history.size() - 1

    @property
    def state(self):
        """The state of the automaton after the text so far."""
        return self.history.back()

    @property
    def refusal(self):
        """The reason why the last accept call was refused and what was expected instead; None if it was not
        refused.
        """
        if self.refused is None:
            return None
        state, position, what = self.refused
        inside = self.compiled._rules_around(self.tokens.symbols(), what, position)
        info = self.compiled._info
        return describe_refusal(what, position, self.terminated, info, *expected_at(self, state), inside)

    def expected(self):
        """Return the bytes and token ids that may come next, and whether the text may end."""
        return expected_at(self, self.history.back())

    def describe(self):
        """Return the current state as text, for debugging."""
        return [f"state {self.history.back()}"]

    # -- masks -------------------------------------------------------------------------------------

    cdef int32_t here(self) noexcept:
        """Return the state after the text so far, or NO_STATE after a stop token."""
        if self.terminated:
            return NO_STATE
        return self.history.back()

    def shortest_completion(self):
        """Raise an error, since finite automata do not count the tokens to the end."""
        raise MatcherError(NO_BUDGET)

    def needs_at_least(self):
        """Raise an error, since finite automata do not count the tokens to the end."""
        raise MatcherError(NO_BUDGET)

    def fill_next_token_bitmask(self, mask, row=0, *, budget=None):
        """Write the tokens that may come next into a row of the mask.

        Shapes: mask int32 (batch, ceil(vocab / 32)) or one row of it, a NumPy array or a CPU torch tensor,
            contiguous; bit i of word w is token 32 * w + i, 1 = allowed.
        Returns: False if every token is allowed, so that the mask need not be applied.
        Cost: a copy of the row, or a few nanoseconds per token if there are few. After a stop token nothing
        is allowed.
        """
        cdef Rows rows
        cdef uint32_t* words
        if budget is not None:
            raise MatcherError(NO_BUDGET)
        open_rows(mask, &rows)
        try:
            words = row_of(&rows, row, self.index.width)
            fill_row(self, self.here(), words)
            if not self.stop_ids and is_empty_row(words, self.index.width):
                raise EmptyMaskError(self.is_accepting())
            return not every_allowed(words, self.index.size)
        finally:
            close_rows(&rows)

    def fill_draft_bitmask(self, tokens, parents=None, mask=None):
        """Write the masks along draft tokens, without advancing: ``(tokens, mask)`` for a chain of tokens.

        In a tree, ``parents[i]`` is the index of the draft token before token i, -1 for the current state;
        parents come before their children. Row 0 is the mask here, row i + 1 the mask after draft token i
        (empty if it or one before it is refused, or if it is a stop token).
        Shapes: mask int32 (at least len(tokens) + 1, ceil(vocab / 32)).
        Returns: a list of bools, whether each draft token is accepted.
        """
        cdef Rows rows
        parents, mask = parents_and_mask(len(tokens), parents, mask)
        open_rows(mask, &rows)
        try:
            if rows.rows < <Py_ssize_t>len(tokens) + 1:
                raise MatcherError(
                    f"the bitmask has {rows.rows} rows; {len(tokens)} draft tokens need {len(tokens) + 1}"
                )
            return fill_tree(self, tokens, parents, &rows)
        finally:
            close_rows(&rows)

    def mask_rows(self, max_rows=4, max_tokens=12):
        """Return the whole mask: the rows of an index are not stored as bits. See ``MaskRows``."""
        row = np.zeros(self.index.width, dtype=np.int32)
        cdef Rows rows
        open_rows(row, &rows)
        fill_row(self, self.here(), row_of(&rows, 0, self.index.width))
        close_rows(&rows)
        return MaskRows(self.index, 0, (), (), row.tobytes() if row.any() else None)

    # -- forced text -------------------------------------------------------------------------------

    def must_stop(self):
        """Return whether the text is complete and cannot continue: only a stop token may follow."""
        if self.terminated or not self.is_accepting():
            return False
        return bool(self.runs.run(self.history.back() + 1)[2] == FINAL)

    def find_jump_forward_bytes(self):
        """Return the forced bytes up to the last complete character, and the forced bytes after it.

        A byte is forced if no other may come next, the text may not end, and no special token is allowed.
        Inside a character, the first bytes complete it. Cost: a look-up of the merged path of the state.
        """
        cdef Py_ssize_t whole
        cdef int32_t state = self.history.back(), after
        if self.terminated:
            return b"", b""
        if self.history.size() == 1 and self.compiled._info.strip_first_space:
            # the blank that may come first is not part of the text
            after = self.dfa.step(state, 0x20)
            if after != NO_STATE:
                state = after
        text, whole, _, _, _ = self.runs.run(state + 1)
        return text[:whole], text[whole:]

    cdef object find_plan(self, object context_ids):
        if self.terminated:
            return NOTHING
        prompt = self.tokens.count_before(context_ids) if len(context_ids) else 0
        if prompt is None:
            raise MatcherError("the context does not end with the tokens that were accepted last")
        encoder = self.compiled.vocabulary.encoder
        if encoder is None:
            return Plan(0, tuple(lone_tokens(self.fork(), self.index.size)))
        with self.compiled._jumping:
            return self.compiled._planner.plan(encoder, self.history.back() + 1, self.tokens, prompt > 0)

    cdef object find_draft(self, object sources, object count, object batch):
        encoder = self.compiled.vocabulary.encoder
        if self.terminated or encoder is None:
            return EMPTY
        with self.compiled._jumping:
            return self.compiled._planner.draft(
                encoder, self.history.back() + 1, self.tokens, sources, count, batch
            )


cdef int fill_row(FsmMatcher matcher, int32_t state, uint32_t* words) except FAILED:
    """Write the mask of a state; NO_STATE allows nothing."""
    cdef int32_t token
    if state == NO_STATE:
        memset(words, 0, 4 * <size_t>matcher.index.width)
        return 0
    matcher.index.write_row(matcher.index.row_of[state], words)
    if matcher.dfa.accepting[state]:
        for token in matcher.stop_ids:
            words[token >> 5] |= <uint32_t>1 << (token & 31)
    return 0


cdef tuple expected_at(FsmMatcher matcher, int32_t state):
    cdef int32_t e, symbol
    allowed = set()
    tokens = set()
    if not matcher.terminated:
        for e in range(matcher.dfa.first[state], matcher.dfa.first[state + 1]):
            allowed.update(range(matcher.dfa.low[e], matcher.dfa.high[e] + 1))
        for token, symbol in matcher.index.symbol_of.items():
            if matcher.dfa.special[<size_t>state * matcher.dfa.specials + symbol] != NO_STATE:
                tokens.add(token)
    return allowed, tokens, bool(matcher.dfa.accepting[state])


cdef list fill_tree(FsmMatcher matcher, tokens, parents, Rows* rows):
    cdef list places = []
    cdef list accepted = []
    cdef int32_t state, next, token, i
    cdef int32_t here = matcher.here()
    fill_row(matcher, here, row_of(rows, 0, matcher.index.width))
    for i in range(<int32_t>len(tokens)):
        token = as_id(tokens[i], matcher.index.size)
        parent = as_integer("a parent", parents[i])
        if not -1 <= parent < i:
            raise MatcherError(f"parent {parent} of draft token {i} does not come before it")
        state = here if parent < 0 else places[parent]
        next = NO_STATE
        ok = False
        if state != NO_STATE and token >= 0:
            next = matcher.index.after_token(state, token)
            ok = next != NO_STATE or (token in matcher.stop_ids and matcher.dfa.accepting[state])
        places.append(next)
        accepted.append(bool(ok))
        fill_row(matcher, next, row_of(rows, i + 1, matcher.index.width))
    return accepted
