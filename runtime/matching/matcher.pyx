# distutils: language = c++
"""The matcher, which follows one text token by token and computes the tokens that may come next."""

cimport cython
from cpython.long cimport PyLong_CheckExact
from libc.stdint cimport uint8_t, uintptr_t
from libc.string cimport memset

from stackmask.pda.forced cimport RUN_FINAL
from stackmask.pda.masks.arena cimport MaskRef, is_whole
from stackmask.pda.masks.engine cimport CutFill, dump_configuration, explain_mask
from stackmask.pda.memory.checked_vectors cimport copy_items, refill
from stackmask.pda.memory.clock cimport seconds, sleep_a_moment
from stackmask.pda.memory.work_meter cimport ENDLESS, PATIENCE
from stackmask.pda.stack.configuration_table cimport BOTTOM, DEAD, UNKNOWN
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.terms.term_table cimport TOKENS
from stackmask.pda.vocabulary.token_bytes cimport TokenBytes
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
from stackmask.runtime.matching.step cimport fill_tree

from stackmask.runtime.jump_forward.drafts import EMPTY
from stackmask.runtime.jump_forward.jump_forward import NOTHING, JumpPlanner, Plan, lone_tokens
from stackmask.runtime.matching.draft_trees import parents_and_mask
from stackmask.runtime.matching.mask_buffer import EmptyMaskError, MatcherError, MatcherTypeError, as_integer
from stackmask.runtime.matching.row_references import MaskRows


cdef inline int32_t end_token_released(ConfigSpace family, int32_t config) except ID_FAILED nogil:
    """Return the configuration after the end of a token whose bytes led to this one."""
    return end_counted_released(family, config) if family.graph.counts else config


# ------------------------------------------------------------------------------------------------
# Calls of the engine that release the GIL when they take long.
#
# A call begins with the interpreter's lock, since to let go of it and to take it again costs more than most
# calls. The meter of the store lets go of it after about 200 microseconds of work: to take it
# again may need 5 milliseconds where other threads run Python. Callers hold the lock of the
# store, and change nothing of a matcher before the call is over.
# ------------------------------------------------------------------------------------------------


cdef int fill_released(
    MaskEngine masks, ConfigSpace family, int32_t config, uint32_t* words
) except FAILED nogil:
    """Write the mask of a configuration. See ``MaskEngine.fill``."""
    family.terms.meter.let_release()
    try:
        masks.fill(family, config, words)
    finally:
        family.terms.meter.reclaim()
    return 0


cdef bint slice_released(
    MaskEngine masks, ConfigSpace family, int32_t config, uint32_t* words, CutFill cut, int64_t units, bint at_once
) except FAILED nogil:
    """Do a slice of the work for a mask. See ``MaskEngine.fill_slice``.

    A slice may be too short to contain a check, so a check comes first. ``at_once``: it releases the GIL.
    """
    if not at_once:
        family.terms.meter.check()
    family.terms.meter.let_release()
    try:
        if at_once:
            family.terms.meter.check()
        return masks.fill_slice(family, config, words, cut, units)
    finally:
        family.terms.meter.reclaim()


cdef int32_t step_token_released(
    ConfigSpace family, int32_t config, int32_t token, const uint8_t* text, size_t length
) except ID_FAILED nogil:
    """Return the configuration after a token, or DEAD."""
    family.terms.meter.let_release()
    try:
        return family.step_token(config, token, text, length)
    finally:
        family.terms.meter.reclaim()


cdef int refuse_string() except FAILED with gil:
    """Refuse text where tokens are counted, since text has no tokens."""
    raise MatcherError(
        "the text may be part of one whose tokens are counted (`max_tokens`), and a string has none: "
        "give token ids to accept_token there"
    )


cdef Py_ssize_t step_bytes_released(
    ConfigSpace family, int32_t* config, const uint8_t* text, Py_ssize_t length
) except FAILED nogil:
    """Step through a text as far as it is allowed. Return the number of bytes.

    Raises: MatcherError if the next byte may belong to a text whose tokens are counted.
    """
    cdef int32_t next
    cdef Py_ssize_t taken = 0
    family.terms.meter.let_release()
    try:
        while taken < length:
            if family.counts_tokens(config[0]):
                refuse_string()
            next = family.step(config[0], text[taken])
            if next == DEAD:
                break
            config[0] = next
            taken += 1
    finally:
        family.terms.meter.reclaim()
    return taken


cdef int32_t end_counted_released(ConfigSpace family, int32_t config) except ID_FAILED nogil:
    """As ``end_token_released``, where tokens are counted."""
    family.terms.meter.let_release()
    try:
        return family.end_token(config)
    finally:
        family.terms.meter.reclaim()


cdef int32_t step_released(ConfigSpace family, int32_t config, int32_t symbol) except ID_FAILED nogil:
    """Return the configuration after a byte or a class of special tokens, or DEAD."""
    family.terms.meter.let_release()
    try:
        return family.step(config, symbol)
    finally:
        family.terms.meter.reclaim()


cdef int32_t union_released(ConfigSpace family, int32_t a, int32_t b) except ID_FAILED nogil:
    """Return the union of two configurations."""
    family.terms.meter.let_release()
    try:
        return family.union_of(a, b)
    finally:
        family.terms.meter.reclaim()


cdef int32_t start_released(ConfigSpace family, int32_t state, int32_t frame, int32_t sem) except ID_FAILED nogil:
    """Return the configuration of a local state before the first byte."""
    family.terms.meter.let_release()
    try:
        return family.closed(state, frame, sem)
    finally:
        family.terms.meter.reclaim()


cdef tuple expected_released(ConfigSpace family, int32_t config, token_classes):
    """Return the bytes and token ids that may come next at a configuration, and whether the text may end.

    ``token_classes``: the special tokens of the grammar, {ids: number of the class}.
    """
    cdef int byte
    cdef int32_t k
    allowed = set()
    tokens = set()
    for byte in range(TOKENS):
        if step_released(family, config, byte) != DEAD:
            allowed.add(byte)
    for ids, k in token_classes.items():
        if step_released(family, config, TOKENS + k) != DEAD:
            tokens.update(ids)
    return allowed, tokens, bool(family.configs[config].accepting)


cdef enum:
    # a family that holds more bytes than this, and than its share of the cache, takes no new matchers
    SHARED_BYTES = 1 << 25
    SHARE = 4
    TOKEN_WORK = 100_000        # units of work that an accepted token gives back, about a millisecond
    TOKEN_MEMORY = 1024         # bytes of states that it gives back
    MOST_REPEATED = 4096        # tokens that a matcher accepts once more in another store


cdef bint is_stop(const vector[int32_t]& stops, int32_t token) noexcept:
    cdef size_t i
    for i in range(stops.size()):
        if stops[i] == token:
            return True
    return False


@cython.final
cdef class FamilyTools:
    """Objects of a matcher's family that are created on demand. A fork inherits the existing ones."""


cdef object budgets():
    """Return the module of token budgets, imported on demand."""
    from stackmask.runtime.matching import budgets
    return budgets


@cython.final
cdef class Matcher(JumpCalls):
    """Follows one text through a compiled grammar.

    Not safe for use from several threads at once; matchers of one compiled grammar are independent of each
    other. A refused token or text changes nothing. The history is kept, so that any number of accept calls
    can be undone.
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
        self.fill_work = min(store.limits.max_fill_work or ENDLESS, ENDLESS)
        self.classes_of_token = automaton.numbers_of if automaton.lowered.token_classes else None
        if origin is not None:
            self.stops = origin.stops
        else:
            for token in store.info.stop_ids if stop_ids is None else stop_ids:
                self.stops.push_back(token)
        if origin is None:
            self.account = compiled._account.begin()
            self.begin()
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

    # -- parts of the calls below; the lock of the store is held -----------------------------------

    cdef int fill_row(self, int32_t config, bint terminated, uint32_t* words) except ID_FAILED:
        """Write the mask at a configuration; after the end of the text, nothing is allowed."""
        if terminated or config == DEAD:
            memset(words, 0, 4 * <size_t>self.masks.width)
            return 0
        return fill_with_stops(self.masks, self.family, config, self.stops, words)

    cdef bint fill_slice(self, uint32_t* words, int64_t units, bint at_once=False) except FAILED:
        """Write the mask here, or do ``units`` of work on it. Return whether it is written."""
        cdef int32_t config = self.history.back()
        if self.terminated or config == DEAD:
            self.fill_row(config, self.terminated, words)
            return True
        if self.cut is None:
            self.cut = CutFill()
        if not slice_released(self.masks, self.family, config, words, self.cut, units, at_once):
            return False
        self.cut = None
        self.allow_stops(words)
        return True

    cdef int32_t known_after(self, int32_t token) noexcept:
        """Return the configuration after a token if it is cached, else UNKNOWN.

        This needs no lock: see ``write_ready``. Refused tokens are also UNKNOWN.
        """
        cdef int32_t config = self.history.back()
        cdef int32_t next
        cdef TokenBytes texts = self.tokens.texts
        if self.terminated or self.classes_of_token is not None:
            return UNKNOWN
        if self.family.graph.counts or self.lock.spoiled or token < 0 or token >= texts.size:
            return UNKNOWN
        next = self.family.remembered(config, token)
        if next == UNKNOWN and texts.length(token) == 1:
            next = self.family.table.known_step(config, texts.blob[texts.start[token]])
        return next if next > DEAD else UNKNOWN

    cdef bint write_ready(self, uint32_t* words) except FAILED:
        """Write the mask if it is finished, without the lock.

        Either no thread is inside the store, or the thread inside has paused at a check, so that the data are
        consistent for this reader. Return False if the mask must be computed.
        """
        cdef int32_t config = self.history.back()
        cdef MaskRef mask
        if self.lock.spoiled or self.terminated or config == DEAD:
            return False
        mask = self.masks.reference(self.family, config)
        if not is_whole(mask):
            return False
        self.masks.write_mask(mask, words)
        self.allow_stops(words)
        return True

    cdef void allow_stops(self, uint32_t* words) noexcept:
        """Add the stop tokens to a mask, where the text may end."""
        cdef size_t i
        if self.family.configs[self.history.back()].accepting:
            for i in range(self.stops.size()):
                words[self.stops[i] >> 5] |= <uint32_t>1 << (self.stops[i] & 31)

    cdef int32_t after_token(self, int32_t config, int32_t token) except ID_FAILED:
        """Return the configuration after a token, as text and as a special token; DEAD if both fail."""
        cdef int32_t next = DEAD, other
        cdef size_t length = self.tokens.texts.length(token) if token < self.tokens.texts.size else 0
        cdef const uint8_t* text
        if self.classes_of_token is None:
            next = self.family.remembered(config, token)
            if next != UNKNOWN:
                return end_token_released(self.family, next)
            next = DEAD
        if length:
            text = self.tokens.texts.blob + self.tokens.texts.start[token]
            next = step_token_released(self.family, config, token, text, length)
        if self.classes_of_token is not None:
            numbers = self.classes_of_token.get(token)
            for k in self.automaton.find_numbers(token) if numbers is None else numbers:
                other = step_released(self.family, config, TOKENS + <int32_t>k)
                next = union_released(self.family, next, other)
        return end_token_released(self.family, next)

    cdef int take_step(self, int32_t next, int32_t token) except FAILED:
        """Append an accepted token to the history."""
        self.history.push_back(next)
        self.tokens.taken.push_back(token)
        self.refused = None
        if self.account.left < self.account.allowance:
            self.account.left = min(self.account.left + TOKEN_WORK, self.account.allowance)
        if self.account.memory_left < self.account.memory:
            self.account.memory_left = min(
                self.account.memory_left + TOKEN_MEMORY, self.account.memory
            )
        return 0

    cdef FamilyTools family_tools(self):
        if self.tools is None:
            self.tools = FamilyTools()
        return self.tools

    cdef ForcedRuns find_forced(self):
        """Return the forced runs of the family, which its planner holds."""
        cdef ForcedRuns forced
        cdef FamilyTools tools = self.family_tools()
        if tools.planner is None:
            planner = self.compiled._planner
            if planner is None or not planner.forced.belongs_to(self.family):
                classes = self.automaton.lowered.token_classes
                info = self.automaton.store.info
                forced = ForcedRuns(self.family, classes, info.trie)
                planner = JumpPlanner(forced, info.texts, info.strip_first_space)
                if self.compiled._family is self.family:
                    self.compiled._planner = planner
            tools.planner = planner
        return tools.planner.forced

    cdef int begin(self) except FAILED:
        """Start at the beginning of the grammar, in the family of its other matchers while this is small.

        If this raises, the matcher is unchanged.
        """
        cdef ConfigSpace family
        cdef int32_t first
        cdef bint done = False
        store = self.automaton.store
        cdef TermStore terms = store.terms
        limits = store.limits
        cdef size_t most = max(SHARED_BYTES, store.cache_bytes // SHARE)
        tokens = TokenHistory(store.info.texts)
        self.lock.take(self.account)
        try:
            family = self.compiled._family
            # None if there is none yet, or it is of another store, where the grammar was before
            if family is None or family.terms is not terms or family.nbytes() > most or (
                4 * family.configs.size() > limits.max_configurations
            ):
                family = ConfigSpace(
                    terms, store.semantics, False, limits.max_configurations, limits.max_members
                )
                store.families.add(family)
                if self.compiled._kept_automaton is self.automaton:
                    self.compiled._family = family
            first = start_released(family, self.automaton.lowered.start, BOTTOM, self.automaton.start_state)
            refill(self.history, 1, first)
            self.family = family
            self.tokens = tokens
            self.tools = None
            self.terminated = False
            done = True
        finally:
            self.lock.give(done)
        return 0

    cdef bint advance(self, int32_t id, object token) except FAILED:
        cdef int32_t config = self.history.back()
        cdef int32_t next
        if self.terminated or id < 0:
            self.refused = (config, 0, token)
            return False
        next = self.after_token(config, id)
        if next == DEAD:
            if not (is_stop(self.stops, id) and self.family.configs[config].accepting):
                self.refused = (config, 0, token)
                return False
            self.terminated = True
            next = config
        self.take_step(next, id)
        return True

    cdef bint advance_text(self, bytes data) except FAILED:
        cdef int32_t config = self.history.back()
        cdef Py_ssize_t taken
        if self.terminated:
            self.refused = (config, 0, data)
            return False
        taken = step_bytes_released(self.family, &config, <const uint8_t*><char*>data, len(data))
        if taken < len(data):
            self.refused = (config, taken, data)
            return False
        self.history.push_back(config)
        self.tokens.push_text(data)
        self.refused = None
        return True

    cdef void keep_places(self, size_t places) noexcept:
        """Truncate the history."""
        self.history.resize(places)
        self.tokens.keep(places - 1)
        self.terminated = False  # mutant: rollback-stop

    cdef tuple expected_at(self, int32_t config):
        """Return the bytes and token ids that may come next at a configuration, and whether the text may end."""
        classes = self.automaton.lowered.token_classes
        return (set(), set(), True) if self.terminated else expected_released(self.family, config, classes)

    cdef int enter(self) except FAILED:
        """Acquire the lock of the store, or of another store if this takes too long."""
        if self.lock.owner:
            self.wait_or_move()
        self.lock.take(self.account)
        return 0

    cdef int wait_or_move(self) except FAILED:
        """Wait until the store is free. If the waits add up to PATIENCE, move to a store that is not busy."""
        cdef double begin = seconds()
        while self.lock.is_held():
            if self.account.patience + begin - seconds() < 0 and self.tokens.size() <= MOST_REPEATED:
                self.account.patience = PATIENCE
                self.move()
                return 0
            with nogil:
                sleep_a_moment()
        self.account.patience += begin - seconds()
        return 0

    cdef bint move(self) except FAILED:
        """Start again in another store of the compiler, and accept the same tokens. Return False without one.

        A request, including its forks, moves only once. Cost: compiling the grammar, and a step per token.
        """
        cdef Matcher other
        if self.account.moved or self.refused is not None or self.tokens.has_text():
            # once is enough: a request could work on by moving to and fro. A refusal and text cannot be repeated
            return False
        compiled = self.compiled._compiler._aside(self.compiled, self.automaton.store)
        if compiled is None:
            return False
        other = Matcher.__new__(Matcher, compiled)
        other.account.patience = 1e9
        for token in self.tokens.tokens():
            if not other.accept_token(token):
                return False
        self.account.restart(compiled._account)  # what it did is done once more
        self.compiled = compiled
        self.automaton = other.automaton
        self.classes_of_token = other.classes_of_token  # mutant: stale-numbers
        self.masks = other.masks
        self.lock = other.lock
        self.fill_work = other.fill_work
        self.cut = None
        self.family = other.family
        self.history.swap(other.history)
        self.tools = None
        return True

    # -- following ---------------------------------------------------------------------------------

    def accept_token(self, token):
        """Advance by one token. Return False, and change nothing, if the token is not allowed.

        A stop token ends the text where the grammar may end (unless the grammar itself contains this token
        here). Cost: one load for each byte once the states are known.
        """
        cdef int32_t id = as_id(token, self.size), next
        cdef bint accepted, done = False
        if self.lock.may_read():
            next = self.known_after(id)
            if next != UNKNOWN:
                self.take_step(next, id)
                return True
        self.enter()
        try:
            accepted = self.advance(id, token)
            done = True
        finally:
            self.lock.give(done)
        return accepted

    def accept_string(self, text):
        """Advance by text (str, or bytes that need not end at a character boundary). Return False, and change
        nothing, if the text is not allowed. This counts as one accept call.
        """
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
        self.enter()
        try:
            accepted = self.advance_text(data)
            done = True
        finally:
            self.lock.give(done)
        return accepted

    def rollback(self, count=1):
        """Undo the last ``count`` accept calls.

        Raises: MatcherError if there were fewer.
        """
        if not PyLong_CheckExact(count):
            count = as_integer("the number of accept calls", count)
        if not 0 <= count < self.history.size():
            raise MatcherError(f"cannot roll back {count} accept calls: there were {self.history.size() - 1}")
        if count:
            self.keep_places(self.history.size() - <size_t>count)
        self.refused = None

    def fork(self):
        """Return an independent matcher in the same state, including the history."""
        return Matcher.__new__(Matcher, self.compiled, self)

    def reset(self):
        """Return to the start. If the family has used half of its budget, start a new family."""
        self.refused = None
        self.family.terms.meter.settle()
        if 2 * self.family.configs.size() > self.automaton.store.limits.max_configurations:
            self.begin()
            return
        self.keep_places(1)

    def is_accepting(self):
        """Return whether the text so far is complete, so that the grammar may end here."""
        self.family.terms.meter.settle()
        return bool(self.family.configs[self.history.back()].accepting)

    def is_terminated(self):
        """Return whether a stop token has been accepted."""
        return self.terminated

    @property
    def accept_calls(self):
        """The number of accept calls that can be rolled back."""
        return self.history.size() - 1

    @property
    def refusal(self):
        """The reason why the last accept call was refused, with the expected text; None if it was accepted.
        """
        cdef bint done = False
        if self.refused is None:
            return None
        config, position, what = self.refused
        self.lock.take(self.account)
        try:
            expected = self.expected_at(config)
            done = True
        finally:
            self.lock.give(done)
        from stackmask.runtime.matching.refusal import describe_refusal
        inside = self.compiled._rules_around(self.tokens.symbols(), what, position)
        return describe_refusal(what, position, self.terminated, self.automaton.store.info, *expected, inside)

    def expected(self):
        """Return the bytes and token ids that may come next, and whether the text may end."""
        cdef bint done = False
        self.lock.take(self.account)
        try:
            found = self.expected_at(self.history.back())
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
        Returns: False if every token is allowed, so that the mask need not be applied.
        Cost: the union of the masks of the current states once these are known; no copies. After a stop
        token, nothing is allowed. ``budget``: the number of remaining tokens, with the stop token: only
        tokens after which the text can end in time stay allowed. At a limit of the request, only a short
        completion stays allowed (RuntimeWarning).
        Raises: EmptyMaskError if nothing is allowed, and there is no stop token; CompletionError.
        """
        cdef Rows rows
        cdef uint32_t* words
        cdef bint done = False
        open_rows(mask, &rows)
        try:
            words = row_of(&rows, row, self.masks.width)
            if budget is not None or not (self.lock.may_read() and self.write_ready(words)):
                self.enter()
                try:
                    if budget is None and self.cut is not None:
                        self.fill_slice(words, ENDLESS)
                    elif budget is None:
                        self.fill_row(self.history.back(), self.terminated, words)
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

    def prepare(self, max_work=None):
        """Compute the mask here, in whole or in part. Return whether it is ready.

        ``max_work``: the approximate units of work; by default as many as necessary. A waiting row
        (``StepResult.waiting``) may be prepared between or during steps, also in another thread, while no
        other call uses this matcher: the lock of the store is released after each slice of
        ``Limits(max_fill_work=…)``.
        Raises: as ``fill_next_token_bitmask``, and CancelledError.
        """
        cdef vector[uint32_t] words
        cdef int64_t left = ENDLESS if max_work is None else min(as_integer("work", max_work), ENDLESS), before
        cdef bint is_ready = False, done
        words.resize(self.masks.width)
        while not is_ready and left > 0:
            done = False
            self.lock.take(self.account)
            try:
                before = self.lock.meter.units()
                is_ready = self.fill_slice(words.data(), min(left, self.fill_work), True)
                left -= self.lock.meter.units() - before
                done = True
            finally:
                self.lock.give(done)
        return is_ready

    def cancel(self):
        """Cancel the running call of this request or of its forks within milliseconds, from any thread.

        That call, and later calls that need work, raise CancelledError; known results are still returned.
        """
        self.account.cancel()

    def mask_rows(self, Py_ssize_t max_rows=4, Py_ssize_t max_tokens=12):
        """Return the mask as a limited number of rows stored in the engine, and tokens to flip: see
        ``MaskRows``.

        Cost: a look-up if the engine has the row of the whole mask; otherwise that of filling the mask, and a
        pass over each row of which it consists.
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
        """Write the masks along draft tokens, without advancing: ``(tokens, mask)`` for a chain of tokens.

        In a tree, ``parents[i]`` is the index of the draft token before token i, -1 for the current state;
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
        self.enter()
        try:
            found = budgets().find_completion(self)
            done = True
        finally:
            self.lock.give(done)
        return found

    def needs_at_least(self):
        """Return the minimal known number of tokens that complete the text, with the stop token."""
        cdef bint done = False
        self.enter()
        try:
            found = budgets().count_needed(self)
            done = True
        finally:
            self.lock.give(done)
        return found

    # -- forced text -------------------------------------------------------------------------------

    def must_stop(self):
        """Return whether the text is complete and cannot continue: only a stop token may follow."""
        cdef bint done = False
        if self.terminated or not self.is_accepting():
            return False
        self.lock.take(self.account)
        try:
            run = self.find_forced().run(self.history.back())
            done = True
        finally:
            self.lock.give(done)
        return bool(run[2] == RUN_FINAL)

    def find_jump_forward_bytes(self):
        """Return the forced bytes up to the last complete character, and the forced bytes after it.

        A byte is forced if no other may come next, the text may not end, and no special token is allowed.
        Inside a character, the first bytes complete it. Cost: a look-up once the configuration is known.
        """
        cdef bint done = False
        if self.terminated:
            return b"", b""
        self.lock.take(self.account)
        try:
            config = self.history.back()
            if self.history.size() == 1 and self.automaton.store.info.strip_first_space:
                # the blank that may come first is not part of the text
                config = self.find_forced().after(config, b" ") or config
            text, whole, _, _, _ = self.find_forced().run(config)
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
            self.find_forced()
            plan = self.tools.planner.plan(encoder, self.history.back(), self.tokens, prompt > 0)
            done = True
        finally:
            self.lock.give(done)
        return plan

    cdef object find_draft(self, object sources, object count, object batch):
        cdef bint done = False
        encoder = self.compiled.vocabulary.encoder
        if self.terminated or encoder is None:
            return EMPTY
        self.lock.take(self.account)
        try:
            self.find_forced()
            draft = self.tools.planner.draft(
                encoder, self.history.back(), self.tokens, sources, count, batch
            )
            done = True
        finally:
            self.lock.give(done)
        return draft

    # -- explanation ----------------------------------------------------------------------------------

    cdef dict counts(self):
        """Return counts of the work and the data of all users of the store, and of this family."""
        cdef MaskEngine masks = self.masks
        return {
            "work": self.lock.meter.units(),
            "walks": masks.walker.walks,
            "nodes": masks.walker.visited_nodes,
            "subtrees": masks.walker.taken,
            "places tried": masks.places.allowed_runs,
            "tokens tried": masks.trials.tried,
            "terms": self.family.terms.terms.size(),
            "semantic states": masks.context.semantics.sems.size(),
            "configurations": self.family.configs.size(),
            "members": self.family.members.size(),
            "frames": self.family.frames.size(),
            "configurations of walks": masks.context.space.configs.size(),
            "members of walks": masks.context.space.members.size(),
        }

    def explain(self):
        """Compute the next mask, and return its explanation, as in ``pda.masks.engine.explain_mask``.

        ``configuration``: the members of the configuration, as text. ``cost``: the total cost by name: units
        of work, and new data in the store.
        """
        cdef bint done = False
        cdef vector[uint32_t] words
        words.resize(self.masks.width)
        self.lock.take(self.account)
        try:
            before = self.counts()
            found = explain_mask(self.masks, self.family, self.history.back())
            self.fill_row(self.history.back(), self.terminated, words.data())
            after = self.counts()
            found["cost"] = {name: after[name] - before[name] for name in after}
            found["configuration"] = dump_configuration(self.family, self.history.back())
            done = True
        finally:
            self.lock.give(done)
        return found
