# distutils: language = c++
"""The matcher: follows one text token by token and tells which tokens may come next."""

cimport cython
from cpython.long cimport PyLong_CheckExact
from libc.stdint cimport int32_t, uint8_t, uint32_t, uintptr_t
from libc.string cimport memset
from libcpp.vector cimport vector

from stackmask.pda.stack.configuration_table cimport DEAD, UNKNOWN
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.memory.checked_vectors cimport copy_items, refill
from stackmask.pda.forced.forced_text cimport RUN_FINAL, ForcedRuns
from stackmask.pda.masks.shared.mask_ref cimport MaskRef, is_whole
from stackmask.pda.stack.frames cimport BOTTOM
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.terms.term_table cimport TOKENS
from stackmask.pda.vocabulary.token_bytes cimport TokenBytes
from stackmask.runtime.jump_forward.jump_forward_calls cimport JumpCalls
from stackmask.runtime.matching.batch cimport fill_tree
from stackmask.runtime.matching.mask_buffer cimport (
    Rows,
    as_id,
    close_rows,
    every_allowed,
    is_empty_row,
    open_rows,
    row_of,
)
from stackmask.runtime.matching.row_references cimport fill_with_stops, name_rows
from stackmask.runtime.jump_forward.token_history cimport TokenHistory
from stackmask.runtime.matching.moving cimport enter
from stackmask.runtime.matching.released cimport (
    end_token_released,
    expected_released,
    start_released,
    step_bytes_released,
    step_released,
    step_token_released,
    union_released,
)

from stackmask.runtime.jump_forward.jump_forward import NOTHING, JumpPlanner, Plan, lone_tokens
from stackmask.runtime.matching.draft_trees import parents_and_mask
from stackmask.runtime.matching.mask_buffer import EmptyMaskError, MatcherError, MatcherTypeError, as_integer
from stackmask.runtime.matching.row_references import MaskRows

cdef enum:
    # a family that holds more bytes than this, and than its share of the cache, takes no new matchers
    SHARED_BYTES = 1 << 25
    SHARE = 4
    TOKEN_WORK = 100_000        # units of work that an accepted token gives back, about a millisecond
    TOKEN_MEMORY = 1024         # bytes of states that it gives back


cdef bint is_stop(const vector[int32_t]& stops, int32_t token) noexcept:
    cdef size_t i
    for i in range(stops.size()):
        if stops[i] == token:
            return True
    return False


cdef int fill_row(Matcher matcher, int32_t config, bint terminated, uint32_t* words) except -3:
    """Write the mask at a configuration; nothing is allowed after the end of the text."""
    if terminated or config == DEAD:
        memset(words, 0, 4 * <size_t>matcher.masks.width)
        return 0
    return fill_with_stops(matcher.masks, matcher.family, config, matcher.stops, words)


cdef int32_t known_after(Matcher matcher, int32_t token) noexcept:
    """Return the configuration after a token if it is remembered, else UNKNOWN.

    Needs no lock: see ``write_ready``. A token that is refused is UNKNOWN too.
    """
    cdef int32_t config = matcher.history.back()
    cdef int32_t next
    cdef TokenBytes texts = matcher.tokens.texts
    if matcher.terminated or matcher.classes_of_token is not None:
        return UNKNOWN
    if matcher.family.graph.counts or matcher.lock.spoiled or token < 0 or token >= texts.size:
        return UNKNOWN
    next = matcher.family.remembered(config, token)
    if next == UNKNOWN and texts.length(token) == 1:
        next = matcher.family.table.known_step(config, texts.blob[texts.start[token]])
    return next if next > DEAD else UNKNOWN


cdef bint write_ready(Matcher matcher, uint32_t* words) except -1:
    """Write the mask if it is finished, without the lock.

    Nobody is inside, or another thread that let this one run: nothing is half changed then, and this only
    reads. Return False if the mask must be made.
    """
    cdef int32_t config = matcher.history.back()
    cdef MaskRef mask
    cdef size_t i
    if matcher.lock.spoiled or matcher.terminated or config == DEAD:
        return False
    mask = matcher.masks.reference(matcher.family, config)
    if not is_whole(mask):
        return False
    matcher.masks.write_mask(mask, words)
    if matcher.family.configs[config].accepting:
        for i in range(matcher.stops.size()):
            words[matcher.stops[i] >> 5] |= <uint32_t>1 << (matcher.stops[i] & 31)
    return True


cdef int32_t after_token(Matcher matcher, int32_t config, int32_t token) except -3:
    """Return the configuration after a token, as text and as a special token; DEAD if it is neither."""
    cdef int32_t next = DEAD, other
    cdef size_t length = matcher.tokens.texts.length(token) if token < matcher.tokens.texts.size else 0
    cdef const uint8_t* text
    if matcher.classes_of_token is None:
        next = matcher.family.remembered(config, token)
        if next != UNKNOWN:
            return end_token_released(matcher.family, next)
        next = DEAD
    if length:
        text = matcher.tokens.texts.blob + matcher.tokens.texts.start[token]
        next = step_token_released(matcher.family, config, token, text, length)
    if matcher.classes_of_token is not None:
        numbers = matcher.classes_of_token.get(token)
        for k in matcher.automaton.find_numbers(token) if numbers is None else numbers:
            other = step_released(matcher.family, config, TOKENS + <int32_t>k)
            next = union_released(matcher.family, next, other)
    return end_token_released(matcher.family, next)


cdef int take_step(Matcher matcher, int32_t next, int32_t token) except -1:
    """Enter an accepted token into the history."""
    matcher.history.push_back(next)
    matcher.tokens.taken.push_back(token)
    matcher.refused = None
    if matcher.account.left < matcher.account.allowance:
        matcher.account.left = min(matcher.account.left + TOKEN_WORK, matcher.account.allowance)
    if matcher.account.memory_left < matcher.account.memory:
        matcher.account.memory_left = min(
            matcher.account.memory_left + TOKEN_MEMORY, matcher.account.memory
        )
    return 0


@cython.final
cdef class FamilyTools:
    """What is made for the family of a matcher when it is asked for. A fork takes it over if it is there."""


cdef FamilyTools tools_of(Matcher matcher):
    if matcher.tools is None:
        matcher.tools = FamilyTools()
    return matcher.tools


cdef ForcedRuns find_forced(Matcher matcher):
    """Return the forced runs of the family, which its planner holds."""
    cdef ForcedRuns forced
    cdef FamilyTools tools = tools_of(matcher)
    if tools.planner is None:
        planner = matcher.compiled._planner
        if planner is None or not planner.forced.belongs_to(matcher.family):
            classes = matcher.automaton.lowered.token_classes
            info = matcher.automaton.store.info
            forced = ForcedRuns(matcher.family, classes, info.trie)
            planner = JumpPlanner(forced, info.texts, info.strip_first_space)
            if matcher.compiled._family is matcher.family:
                matcher.compiled._planner = planner
        tools.planner = planner
    return tools.planner.forced


cdef int start(Matcher matcher) except -1:
    """Begin at the start of the grammar, in the family of its other matchers as long as that is small.

    If this raises, the matcher is as before.
    """
    cdef ConfigSpace family
    cdef int32_t first
    cdef bint done = False
    store = matcher.automaton.store
    cdef TermStore terms = store.terms
    limits = store.limits
    cdef size_t most = max(SHARED_BYTES, store.cache_bytes // SHARE)
    tokens = TokenHistory(store.info.texts)
    matcher.lock.take(matcher.account)
    try:
        family = matcher.compiled._family
        # None if there is none yet, or it is of another store, where the grammar was before
        if family is None or family.terms is not terms or family.nbytes() > most or (
            4 * family.configs.size() > limits.max_configurations
        ):
            family = ConfigSpace(
                terms, store.semantics, False, limits.max_configurations, limits.max_members
            )
            store.families.add(family)
            if matcher.compiled._kept_automaton is matcher.automaton:
                matcher.compiled._family = family
        first = start_released(family, matcher.automaton.lowered.start, BOTTOM, matcher.automaton.start_state)
        refill(matcher.history, 1, first)
        matcher.family = family
        matcher.tokens = tokens
        matcher.tools = None
        matcher.terminated = False
        done = True
    finally:
        matcher.lock.give(done)
    return 0


cdef bint advance(Matcher matcher, int32_t id, object token) except -1:
    cdef int32_t config = matcher.history.back()
    cdef int32_t next
    if matcher.terminated or id < 0:
        matcher.refused = (config, 0, token)
        return False
    next = after_token(matcher, config, id)
    if next == DEAD:
        if not (is_stop(matcher.stops, id) and matcher.family.configs[config].accepting):
            matcher.refused = (config, 0, token)
            return False
        matcher.terminated = True
        next = config
    take_step(matcher, next, id)
    return True


cdef bint advance_text(Matcher matcher, bytes data) except -1:
    cdef int32_t config = matcher.history.back()
    cdef Py_ssize_t taken
    if matcher.terminated:
        matcher.refused = (config, 0, data)
        return False
    taken = step_bytes_released(matcher.family, &config, <const uint8_t*><char*>data, len(data))
    if taken < len(data):
        matcher.refused = (config, taken, data)
        return False
    matcher.history.push_back(config)
    matcher.tokens.push_text(data)
    matcher.refused = None
    return True


cdef void keep(Matcher matcher, size_t places) noexcept:
    """Go back to the first places of the history."""
    matcher.history.resize(places)
    matcher.tokens.keep(places - 1)
    matcher.terminated = False  # mutant: rollback-stop


cdef object budgets():
    """Return the module of token budgets, which most programs do not need."""
    from stackmask.runtime.matching import budgets
    return budgets


@cython.final
cdef class Matcher(JumpCalls):
    """Follow one text through a compiled grammar.

    Not safe for use from several threads at once; matchers of one compiled grammar are independent of each
    other. A refused token or text changes nothing. The history is kept, so any number of accept calls can be
    taken back.
    """

    def __cinit__(self, compiled, Matcher origin=None, stop_ids=None):
        automaton = getattr(compiled, "_automaton", None)
        if automaton is None:
            from stackmask.runtime.matching.refusal import describe_wrong_origin
            raise MatcherTypeError(describe_wrong_origin(compiled))
        if origin is not None:
            if origin.compiled is not compiled:
                raise MatcherError("a matcher can only be copied from one of the same compiled grammar")
            automaton = origin.automaton
        self.compiled = compiled
        self.automaton = automaton
        store = automaton.store
        self.masks = store.masks
        self.lock = store.lock
        self.size = store.info.size
        self.classes_of_token = automaton.numbers_of if automaton.lowered.token_classes else None
        if origin is not None:
            self.stops = origin.stops
        else:
            for token in store.info.stop_ids if stop_ids is None else stop_ids:
                self.stops.push_back(token)
        if origin is None:
            self.account = compiled._account.begin()
            start(self)
        else:
            self.account = origin.account
            self.family = origin.family
            copy_items(self.history, origin.history)
            self.tokens = origin.tokens.copy()
            self.tools = origin.tools
            self.terminated = origin.terminated

    def __repr__(self):
        from stackmask.runtime.matching.refusal import describe_matcher
        return describe_matcher(self, self.tokens.symbols(), self.tokens.texts)

    # -- following ---------------------------------------------------------------------------------

    def accept_token(self, token):
        """Advance by one token. Return False, and change nothing, if the token may not come next.

        A stop token ends the text where the grammar may end (unless the grammar itself asks for that token
        here). Cost: a load per byte once the states are known.
        """
        cdef int32_t id = as_id(token, self.size), next
        cdef bint accepted, done = False
        if self.lock.may_read():
            next = known_after(self, id)
            if next != UNKNOWN:
                take_step(self, next, id)
                return True
        enter(self)
        try:
            accepted = advance(self, id, token)
            done = True
        finally:
            self.lock.give(done)
        return accepted

    def accept_string(self, text):
        """Advance by text (str, or bytes that need not end at a character). Return False, and change nothing,
        if it may not come next. Counts as one accept call."""
        cdef bytes data
        cdef bint accepted, done = False
        if isinstance(text, str):
            # a lone surrogate has no UTF-8; its three bytes are refused like any other wrong text
            data = text.encode(errors="surrogatepass")
        elif isinstance(text, (bytes, bytearray, memoryview)):
            data = bytes(text)
        else:
            raise MatcherTypeError(
                f"text must be str or bytes, not {type(text).__name__}: ids go to accept_token"
            )
        enter(self)
        try:
            accepted = advance_text(self, data)
            done = True
        finally:
            self.lock.give(done)
        return accepted

    def rollback(self, count=1):
        """Take back the last ``count`` accept calls.

        Raises: MatcherError if there were fewer.
        """
        if not PyLong_CheckExact(count):
            count = as_integer("the number of accept calls", count)
        if not 0 <= count < self.history.size():
            raise MatcherError(f"cannot roll back {count} accept calls: there were {self.history.size() - 1}")
        if count:
            keep(self, self.history.size() - <size_t>count)
        self.refused = None

    def fork(self):
        """Return an independent matcher at the same place, history included."""
        return Matcher.__new__(Matcher, self.compiled, self)

    def reset(self):
        """Go back to the start. A matcher whose family has met half of its budget starts a new family."""
        self.refused = None
        self.family.terms.meter.settle()
        if 2 * self.family.configs.size() > self.automaton.store.limits.max_configurations:
            start(self)
            return
        keep(self, 1)

    def is_accepting(self):
        """Tell whether the text so far is complete: the grammar may end here."""
        self.family.terms.meter.settle()
        return bool(self.family.configs[self.history.back()].accepting)

    def is_terminated(self):
        """Tell whether a stop token was accepted."""
        return self.terminated

    @property
    def accept_calls(self):
        """The number of accept calls that can be rolled back."""
        return self.history.size() - 1

    @property
    def refusal(self):
        """Why the last accept call was refused and what was expected instead; None if it was not refused."""
        cdef bint done = False
        if self.refused is None:
            return None
        config, position, what = self.refused
        self.lock.take(self.account)
        try:
            expected = expected_at(self, config)
            done = True
        finally:
            self.lock.give(done)
        from stackmask.runtime.matching.refusal import describe_refusal
        inside = self.compiled._rules_around(self.tokens.symbols(), what, position)
        return describe_refusal(what, position, self.terminated, self.automaton.store.info, *expected, inside)

    def expected(self):
        """Return (bytes, token ids, whether the text may end) for what may come next."""
        cdef bint done = False
        self.lock.take(self.account)
        try:
            found = expected_at(self, self.history.back())
            done = True
        finally:
            self.lock.give(done)
        return found

    def describe(self):
        """Return the local states of the current configuration as text, for debugging."""
        cdef int32_t i, config = self.history.back(), first
        self.family.terms.meter.settle()
        first = self.family.configs[config].first
        return [
            self.family.terms.dump(self.family.members[i].state)
            for i in range(first, first + self.family.configs[config].count)
        ]

    # -- masks -------------------------------------------------------------------------------------

    def fill_next_token_bitmask(self, mask, row=0, *, budget=None):
        """Write the tokens that may come next into a row of the mask.

        Shapes: mask int32 (batch, ceil(vocab / 32)) or one row of it, a NumPy array or a CPU torch tensor,
            contiguous; bit i of word w is token 32 * w + i, 1 = allowed.
        Returns: False when every token is allowed, so that the mask need not be applied.
        Cost: an or of the masks of the current states once they are known; no copies.
        After a stop token nothing is allowed.
        ``budget``: the tokens that are left, stop token included: those after which the text can end in time
            stay allowed. Where a limit of the request is met, only a short end does (RuntimeWarning).
        Raises: EmptyMaskError where nothing is allowed, and no stop token is known; CompletionError.
        """
        cdef Rows rows
        cdef uint32_t* words
        cdef bint done = False
        open_rows(mask, &rows)
        try:
            words = row_of(&rows, row, self.masks.width)
            if budget is not None or not (self.lock.may_read() and write_ready(self, words)):
                enter(self)
                try:
                    if budget is None:
                        fill_row(self, self.history.back(), self.terminated, words)
                    else:
                        budgets().fill_within(self, budget, <uintptr_t>words)
                    done = True
                finally:
                    self.lock.give(done)
            if self.stops.empty() and is_empty_row(words, self.masks.width):
                raise EmptyMaskError(self.is_accepting())
            return not every_allowed(words, self.size)
        finally:
            close_rows(&rows)

    def cancel(self):
        """End the call that works for this request, forks included, within milliseconds. From any thread.

        That call, and later ones that need work, raise CancelledError; what is known already is still told.
        """
        self.account.cancel()

    def mask_rows(self, Py_ssize_t max_rows=4, Py_ssize_t max_tokens=12):
        """Return the mask as at most so many rows that the engine keeps and tokens to flip: see ``MaskRows``.

        Cost: where the engine has the row of the whole mask, a look-up; else that of filling it, and a pass
        over each row that it is put together from.
        """
        cdef bint done = False
        self.lock.take(self.account)
        try:
            if self.terminated:
                found = MaskRows(self.masks, self.masks.epoch, (), ())
            else:
                found = name_rows(
                    self.masks, self.family, self.history.back(), self.stops, max_rows, max_tokens
                )
            done = True
        finally:
            self.lock.give(done)
        return found

    def fill_draft_bitmask(self, tokens, parents=None, mask=None):
        """Write the masks along draft tokens, without moving: ``(tokens, mask)`` for tokens in a row.

        Of a tree, ``parents[i]`` is the index of the draft token before token i, -1 for the current place;
        parents come before their children. Row 0 is the mask here, row i + 1 the mask after draft token i
        (empty if it or one before it is refused, or if it is a stop token).
        Shapes: mask int32 (at least len(tokens) + 1, ceil(vocab / 32)).
        Returns: a list of bools, whether each draft token is accepted.
        """
        cdef Rows rows
        cdef bint done = False
        parents, mask = parents_and_mask(len(tokens), parents, mask)
        open_rows(mask, &rows)
        try:
            if rows.rows < <Py_ssize_t>len(tokens) + 1:
                raise MatcherError(
                    f"the bitmask has {rows.rows} rows; {len(tokens)} draft tokens need {len(tokens) + 1}"
                )
            self.lock.take(self.account)
            try:
                accepted = fill_tree(self, tokens, parents, &rows)
                done = True
            finally:
                self.lock.give(done)
            return accepted
        finally:
            close_rows(&rows)

    # -- completions -------------------------------------------------------------------------------

    def shortest_completion(self):
        """Return a shortest ``Completion`` of the text so far. Raises: CompletionError if none is found."""
        cdef bint done = False
        enter(self)
        try:
            found = budgets().find_completion(self)
            done = True
        finally:
            self.lock.give(done)
        return found

    def needs_at_least(self):
        """Return the fewest tokens to the end of the text that are known to do, stop token included."""
        cdef bint done = False
        enter(self)
        try:
            found = budgets().count_needed(self)
            done = True
        finally:
            self.lock.give(done)
        return found

    # -- forced text -------------------------------------------------------------------------------

    def must_stop(self):
        """Tell whether the text is complete and cannot go on: nothing but a stop token may come."""
        cdef bint done = False
        if self.terminated or not self.is_accepting():
            return False
        self.lock.take(self.account)
        try:
            run = find_forced(self).run(self.history.back())
            done = True
        finally:
            self.lock.give(done)
        return bool(run[2] == RUN_FINAL)

    def find_jump_forward_bytes(self):
        """Return (the bytes that must come next, as far as they end with a character; those after that).

        Forced means: one next byte, the text may not end, and no special token may come. Inside a character,
        the first bytes are the rest of it. Cost: a lookup once the place is known.
        """
        cdef bint done = False
        if self.terminated:
            return b"", b""
        self.lock.take(self.account)
        try:
            config = self.history.back()
            if self.history.size() == 1 and self.automaton.store.info.strip_first_space:
                # the blank that may come first is not part of the text
                config = find_forced(self).after(config, b" ") or config
            text, whole, _, _, _ = find_forced(self).run(config)
            done = True
        finally:
            self.lock.give(done)
        return text[:whole], text[whole:]

    cdef object find_plan(self, object context_ids):
        cdef bint done = False
        if self.terminated:
            return NOTHING
        prompt = self.tokens.count_before(context_ids) if len(context_ids) else 0
        if prompt is None:
            raise MatcherError("the context does not end with the tokens that were accepted last")
        encoder = self.compiled.vocabulary.encoder
        if encoder is None:
            return Plan(0, tuple(lone_tokens(self.fork(), self.size)))
        self.lock.take(self.account)
        try:
            find_forced(self)
            plan = self.tools.planner.plan(encoder, self.history.back(), self.tokens, prompt > 0)
            done = True
        finally:
            self.lock.give(done)
        return plan


cdef tuple expected_at(Matcher matcher, int32_t config):
    """Return (bytes, token ids, whether the text may end) for what may come next at a configuration."""
    classes = matcher.automaton.lowered.token_classes
    return (set(), set(), True) if matcher.terminated else expected_released(matcher.family, config, classes)
