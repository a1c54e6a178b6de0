# distutils: language = c++
"""A step of a server in one call: accept the token of each request, then write the masks of what comes next.

All tokens are accepted before the first mask is written. What fails is noted for its request, whose row then
allows nothing; the other requests go on.
"""

cimport cython
from libc.stdint cimport int32_t, uint32_t
from libc.string cimport memset
from libcpp.vector cimport vector

from stackmask.pda.masks.engine cimport MaskEngine
from stackmask.pda.masks.shared.mask_ref cimport write_bits
from stackmask.pda.memory.store_lock cimport StoreLock
from stackmask.runtime.matching.batch cimport (
    Copy,
    are_distinct,
    as_threads,
    check_matchers,
    find_copy,
    make_mask,
    write_all,
)
from stackmask.runtime.matching.mask_buffer cimport (
    Rows,
    as_id,
    close_rows,
    every_allowed,
    is_empty_row,
    open_rows,
    row_of,
)
from stackmask.runtime.matching.matcher cimport Matcher

from operator import index

import numpy as np

from stackmask.runtime.matching.mask_buffer import EmptyMaskError, MatcherError

cdef enum:
    NO_TOKEN = -1
    BLOCK = 64              # words that are looked at together
    MOST_TOUCHED = 128      # words that a row may differ in from what it is known to hold
    EVERYTHING = -1         # in place of the number of an engine's row: all tokens are allowed
    NOTHING = -2            # none is
    UNKNOWN_BITS = -3


@cython.final
cdef class StepMask:
    """The masks of steps: remembers what its rows hold, so that a step writes what has changed.

    Most masks differ in a few words from a row that the engine keeps, or allow a few tokens alone; where the
    mask before was like that, only those words are written. Used by one thread at a time.
    """

    cdef readonly object array      # int32 (batch, ceil(vocab / 32)), read-only
    cdef object rows                # the same memory, to be written
    cdef Py_ssize_t width
    cdef MaskEngine engine          # whose rows are known, in one epoch
    cdef int32_t epoch
    cdef vector[int32_t] bases      # what each row holds but for some words: of the engine, or EVERYTHING …
    cdef vector[int32_t] touched    # MOST_TOUCHED places for each row: the words that differ
    cdef vector[int32_t] counts     # how many there are

    def __cinit__(self, Py_ssize_t batch, Py_ssize_t vocab_size):
        if batch < 0 or vocab_size < 1:
            raise MatcherError(f"no masks of {batch} rows for {vocab_size} tokens")
        self.width = (vocab_size + 31) // 32
        self.rows = np.full((batch, self.width), -1, dtype=np.int32)
        self.array = self.rows.view()
        self.array.flags.writeable = False
        self.bases.assign(batch, EVERYTHING)
        self.counts.assign(batch, 0)
        self.touched.assign(batch * MOST_TOUCHED, 0)

    def row_to_write(self, row):
        """Return a row to be written by the caller; what was known of it is forgotten."""
        words = self.rows[row]
        self.bases[index(row)] = UNKNOWN_BITS
        return words

    cdef void allow_all(self, size_t row, uint32_t* words) noexcept:
        if self.bases[row] != EVERYTHING:
            memset(words, 0xFF, 4 * <size_t>self.width)
            self.bases[row] = EVERYTHING

    cdef void write(self, Matcher matcher, Copy* copy, size_t row) noexcept:
        """Write a finished mask: the words that differ from those before, if they are known to be few."""
        cdef MaskEngine masks = matcher.masks
        cdef const uint32_t* base = copy.bits.row
        cdef int32_t* touched = &self.touched[row * MOST_TOUCHED]
        cdef int32_t wanted = NOTHING if base == NULL else <int32_t>copy.bits.row_number
        cdef int32_t i, word, count = copy.bits.patch_count + copy.stop_count
        if base != NULL and (masks is not self.engine or masks.epoch != self.epoch):
            self.forget_rows()
            self.engine = masks
            self.epoch = masks.epoch
        if count > MOST_TOUCHED or (base != NULL and wanted < 0):
            wanted = UNKNOWN_BITS
        if wanted != UNKNOWN_BITS and self.bases[row] == wanted:  # mutant: kept-row
            for i in range(self.counts[row]):
                word = touched[i]
                copy.words[word] = 0 if base == NULL else base[word]
            for i in range(copy.bits.patch_count):
                copy.words[copy.bits.patches[i].word] = copy.bits.patches[i].bits
        else:
            write_bits(&copy.bits, <int32_t>self.width, copy.words)
        for i in range(copy.stop_count):
            copy.words[copy.stops[i] >> 5] |= <uint32_t>1 << (copy.stops[i] & 31)
        self.bases[row] = wanted
        if wanted == UNKNOWN_BITS:
            return
        for i in range(copy.bits.patch_count):
            touched[i] = copy.bits.patches[i].word
        for i in range(copy.stop_count):
            touched[copy.bits.patch_count + i] = copy.stops[i] >> 5
        self.counts[row] = count

    cdef void forget_rows(self) noexcept:
        """Forget rows of another engine, or of another epoch: their numbers mean nothing any more."""
        cdef size_t i
        for i in range(self.bases.size()):
            if self.bases[i] >= 0:
                self.bases[i] = UNKNOWN_BITS


@cython.final
cdef class StepResult:
    """What became of the requests of a step, a list entry for each matcher. See ``step``."""

    cdef readonly list accepted
    cdef readonly list ended
    cdef readonly list only_tokens
    cdef readonly list forced_bytes
    cdef readonly dict errors
    cdef readonly bint needed
    cdef StepMask kept              # of the call under way; None if its mask is an array
    cdef const uint32_t* base       # where its rows begin

    def __repr__(self):
        return (
            f"StepResult(accepted={self.accepted}, ended={self.ended}, only_tokens={self.only_tokens}, "
            f"forced_bytes={self.forced_bytes}, errors={self.errors}, needed={self.needed})"
        )


def step(matchers, tokens, mask, rows=None, *, forced=False, threads=1):
    """Do a step of many requests in one call: accept a token for each, then write the masks of the next ones.

    ``tokens[i]`` is the token of matcher i, or None where there is none to accept. ``rows[i]`` is its row, by
    default i; no row twice. A matcher that is None allows every token, and its token is not looked at.
    ``forced``: also find what must come next. ``threads``: as in ``fill_next_token_bitmask``.
    Shapes: mask int32 (batch, ceil(vocab / 32)), a NumPy array or a CPU torch tensor, contiguous; or a
        ``StepMask``, in whose rows only what has changed is written.
    Returns: a ``StepResult``; its masks and values are those of one call after the other.
    Raises: MatcherError where the arguments do not fit; then no matcher has moved and no row is written.
        What fails for one matcher alone (a limit, its cancellation, an action) is in ``errors``.
    Cost: that of accepting and of ``fill_next_token_bitmask``; ``forced`` reads the masks once more.
    """
    cdef Rows view
    cdef vector[uint32_t*] words
    cdef StepResult result = StepResult.__new__(StepResult)
    cdef int most = as_threads(threads)
    if not hasattr(matchers, "__len__") or hasattr(matchers, "fill_next_token_bitmask"):
        check_matchers(matchers)
    batch = list(matchers)      # which a callable of a grammar may change
    given = list(tokens)
    if len(batch) != len(given):
        raise MatcherError(f"{len(batch)} matchers, but {len(given)} tokens: None where there is none")
    if rows is not None:
        rows = list(rows)
        if len(rows) != len(batch):
            raise MatcherError(f"{len(batch)} matchers, but {len(rows)} rows")
        if not are_distinct(rows):
            raise MatcherError("a row is given twice: a step has a row for each matcher")
    result.kept = mask if type(mask) is StepMask else None
    if result.kept is not None:
        mask = result.kept.rows
    open_rows(mask, &view)
    result.base = view.base
    try:
        find_rows(batch, given, rows, &view, words)
        result.errors = {}
        accept_all(batch, given, result)
        fill_all(batch, rows, mask, &view, words, result, most)
        find_ended(batch, result)
        if forced:
            find_forced(batch, words, &view, result)
        for number in result.errors:
            i = <size_t>number
            memset(words[i], 0, 4 * <size_t>view.width)
            forget(result, words[i])
            result.needed = True
    finally:
        close_rows(&view)
        result.kept = None
    return result


cdef inline size_t row_number(StepResult result, const uint32_t* words) noexcept:
    return <size_t>(words - result.base) // <size_t>result.kept.width


cdef inline void forget(StepResult result, const uint32_t* words) noexcept:
    """Note that a row holds what is not known."""
    if result.kept is not None:
        result.kept.bases[row_number(result, words)] = UNKNOWN_BITS


cdef inline int32_t width_of(object matcher, Rows* view) noexcept:
    return (<Matcher>matcher).masks.width if isinstance(matcher, Matcher) else <int32_t>view.width


cdef int find_rows(
    list batch, list tokens, list rows, Rows* view, vector[uint32_t*]& words
) except -1:
    """Find where each mask goes, and check all that can be wrong before anything moves."""
    cdef Py_ssize_t i
    for i in range(len(batch)):
        matcher = batch[i]
        if matcher is not None and not isinstance(matcher, Matcher):
            if not hasattr(matcher, "fill_next_token_bitmask"):
                check_matchers(batch)
        elif matcher is not None and tokens[i] is not None:
            as_id(tokens[i], (<Matcher>matcher).size)
        words.push_back(row_of(view, i if rows is None else rows[i], width_of(matcher, view)))
    return 0


cdef int accept_all(list batch, list tokens, StepResult result) except -1:
    """Accept a token for each matcher. An error is noted, and that matcher has not moved."""
    cdef Py_ssize_t i
    cdef list accepted = []
    for i in range(len(batch)):
        matcher = batch[i]
        token = tokens[i]
        if matcher is None or token is None:
            accepted.append(True)
            continue
        try:
            taken = matcher.accept_token(token)
        except Exception as error:
            taken = False
            note(result, i, error)
        accepted.append(taken)
    result.accepted = accepted
    return 0


cdef int note(StepResult result, Py_ssize_t number, object error) except -1:
    """Note why a request cannot go on."""
    if hasattr(error, "add_note"):
        error.add_note(f"in a step, for matcher {number}")
    result.errors[number] = error
    return 0


cdef int fill_all(
    list batch,
    list rows,
    object mask,
    Rows* view,
    vector[uint32_t*]& words,
    StepResult result,
    int most,
) except -1:
    """Write the masks; those of one store that follow each other in one go, under its lock."""
    cdef Py_ssize_t i
    cdef Matcher matcher
    cdef StoreLock lock = None
    cdef list group = []                # numbers of matchers of that store
    for i in range(len(batch)):
        other = batch[i]
        if i in result.errors:
            continue
        if not isinstance(other, Matcher):
            if other is None and result.kept is not None:
                result.kept.allow_all(row_number(result, words[i]), words[i])
            elif other is None:
                memset(words[i], 0xFF, 4 * <size_t>view.width)
            else:
                forget(result, words[i])
                fill_other(other, i if rows is None else rows[i], mask, i, result)
            continue
        matcher = other
        if matcher.lock is not lock:
            if group:
                fill_group(batch, group, words, result, most)
            lock = matcher.lock
            group = []
        group.append(i)
    if group:
        fill_group(batch, group, words, result, most)
    for i in range(len(batch)):
        if isinstance(batch[i], Matcher) and i not in result.errors:
            matcher = batch[i]
            if matcher.stops.empty() and is_empty_row(words[i], matcher.masks.width):
                note(result, i, EmptyMaskError(matcher.is_accepting()))
    return 0


cdef int fill_other(object other, object row, object mask, Py_ssize_t number, StepResult result) except -1:
    """Write the mask of a matcher of another engine."""
    try:
        needed = other.fill_next_token_bitmask(mask, row)
        result.needed = result.needed or bool(needed)
    except Exception as error:
        note(result, number, error)
    return 0


cdef int fill_group(
    list batch, list group, vector[uint32_t*]& words, StepResult result, int most
) except -1:
    """Write the masks of matchers of one store: the finished ones first, then those that have to be made."""
    cdef Matcher matcher = batch[group[0]]
    cdef StoreLock lock = matcher.lock
    cdef Py_ssize_t i
    cdef Copy copy
    cdef vector[Copy] copies
    cdef list later = []
    cdef bint held = False, done = False
    try:
        lock.take(matcher.account)
    except Exception as error:
        for i in group:
            note(result, i, error)
        return 0
    held = True
    try:
        for i in group:
            matcher = batch[i]
            if find_copy(matcher, &copy):
                copy.words = words[i]
                if result.kept is None:
                    copies.push_back(copy)
                else:
                    result.kept.write(matcher, &copy, row_number(result, words[i]))
                    result.needed = result.needed or not every_allowed(words[i], matcher.size)
            else:
                forget(result, words[i])
                later.append(i)
        result.needed = write_all(copies, matcher, most) or result.needed
        for i in later:
            matcher = batch[i]
            try:
                if not held:
                    lock.take(matcher.account)
                    held = True
                result.needed = make_mask(matcher, words[i], i) or result.needed
            except Exception as error:
                if held:
                    # while the error is known: it tells the lock whether memory ran out
                    lock.give(False)
                    held = False
                note(result, i, error)
        done = True
    finally:
        if held:
            lock.give(done)
    return 0


cdef int find_ended(list batch, StepResult result) except -1:
    """Tell which texts have ended with a stop token."""
    cdef Py_ssize_t i
    cdef list ended = []
    for i in range(len(batch)):
        other, over = batch[i], False
        if isinstance(other, Matcher):
            over = bool((<Matcher>other).terminated)
        elif other is not None and i not in result.errors:
            try:
                over = bool(other.is_terminated())
            except Exception as error:
                note(result, i, error)
        ended.append(over)
    result.ended = ended
    return 0


cdef int find_forced(list batch, vector[uint32_t*]& words, Rows* view, StepResult result) except -1:
    """Find the tokens that alone are allowed, and the text that must come."""
    cdef Py_ssize_t i
    cdef list tokens = [], texts = []
    for i in range(len(batch)):
        other, token, text = batch[i], NO_TOKEN, b""
        if other is not None and i not in result.errors:
            token = only_token(words[i], width_of(other, view))
            try:
                text = b"".join(other.find_jump_forward_bytes())
            except Exception as error:
                note(result, i, error)
                token = NO_TOKEN
        tokens.append(token)
        texts.append(text)
    result.only_tokens = tokens
    result.forced_bytes = texts
    return 0


cdef int32_t only_token(const uint32_t* words, int32_t width) noexcept nogil:
    """Return the one token of a mask; NO_TOKEN if it has none, or more."""
    cdef int32_t i = 0, k, found = NO_TOKEN
    cdef uint32_t any_bit
    while i < width:
        any_bit = 0
        for k in range(i, min(i + BLOCK, width)):
            any_bit |= words[k]
        if any_bit:
            for k in range(i, min(i + BLOCK, width)):
                if not words[k]:
                    continue
                if found != NO_TOKEN or words[k] & (words[k] - 1):  # mutant: only-token
                    return NO_TOKEN
                found = 32 * k + lowest_bit(words[k])
        i += BLOCK
    return found


cdef inline int32_t lowest_bit(uint32_t word) noexcept nogil:
    cdef int32_t bit = 0
    while not word >> bit & 1:
        bit += 1
    return bit
