# distutils: language = c++
"""A server's step in one call: accepting the token of each request, then writing the next masks.

All tokens are accepted before the first mask is written. An error is recorded for its request, whose row then
allows nothing; the other requests continue.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memset
from libcpp.vector cimport vector

from stackmask.pda.ids cimport FAILED
from stackmask.pda.masks.arena cimport MASK_NONE, MASK_PATCHED, MASK_ROW, MaskBits, MaskRef, write_bits
from stackmask.pda.masks.engine cimport CutFill, MaskEngine
from stackmask.pda.memory.byte_sets cimport lowest_bit
from stackmask.pda.memory.work_meter cimport ENDLESS, StoreLock
from stackmask.pda.stack.configuration_table cimport DEAD
from stackmask.runtime.matching.mask_buffer cimport (
    as_id,
    close_rows,
    every_allowed,
    is_empty_row,
    open_rows,
    row_at,
    row_of,
)
from stackmask.runtime.matching.matcher cimport NO_CONFIG, is_stop
from stackmask.runtime.matching.row_threads cimport RowThreads, row_threads

from operator import index

import numpy as np

from stackmask.runtime.matching.mask_buffer import EmptyMaskError, MatcherError, MatcherTypeError, as_integer


cdef struct Copy:
    # a finished mask, and where it goes
    MaskBits bits
    const int32_t* stops        # tokens to be added
    int32_t stop_count
    uint32_t* words
    bint all_allowed            # found when it was written


# ------------------------------------------------------------------------------------------------
# The masks of a batch of matchers, or along a tree of draft tokens, in one call.
#
# Where masks are finished, a batch is as many copies of rows: these need no interpreter, and may be shared with
# threads. What has to be made is made in this thread, one mask after the other, under the lock of its store.
# ------------------------------------------------------------------------------------------------


cdef enum:
    CHUNK_BYTES = 1 << 17       # that a thread takes at a time: a few microseconds
    THREAD_BYTES = 1 << 20      # that are worth a thread: to wake one takes as long as some dozen copies
    MAX_THREADS = 256


cdef struct Copies:
    Copy* items
    int32_t width
    int32_t size                # of the vocabulary


cdef void write_copies(void* context, size_t first, size_t last) noexcept nogil:
    """Write some of the masks. Several threads call this, each for its own rows."""
    cdef Copies* copies = <Copies*>context
    cdef Copy* copy
    cdef int32_t k, token
    cdef size_t i
    for i in range(first, last):
        copy = &copies.items[i]
        write_bits(&copy.bits, copies.width, copy.words)
        for k in range(copy.stop_count):
            token = copy.stops[k]
            copy.words[token >> 5] |= <uint32_t>1 << (token & 31)
        copy.all_allowed = every_allowed(copy.words, copies.size)


cdef bint write_all(vector[Copy]& copies, Matcher matcher, int threads) except FAILED:
    """Write finished masks and clear the list. Return whether some mask forbids a token.

    ``matcher``: a matcher of their store, whose lock is held, so that the source rows stay valid.
    """
    cdef Copies all
    cdef RowThreads* helpers = NULL
    cdef size_t i, row_bytes = 4 * <size_t>matcher.masks.width + 1
    cdef size_t worth = copies.size() * row_bytes // THREAD_BYTES
    cdef bint needed = False
    all.items = copies.data()
    all.width = matcher.masks.width
    all.size = matcher.size
    if worth < <size_t>threads:
        threads = <int>worth
    if threads > 1:
        helpers = row_threads()
    with nogil:
        if helpers != NULL:
            helpers.run(write_copies, &all, copies.size(), CHUNK_BYTES // row_bytes + 1, threads - 1)
        else:
            write_copies(&all, 0, copies.size())
    for i in range(copies.size()):
        needed = needed or not copies[i].all_allowed
    copies.clear()
    return needed


cdef bint find_copy(Matcher matcher, Copy* copy) noexcept:
    """Record the source row of a matcher's mask. Return False if the mask is not finished."""
    cdef int32_t config = matcher.history.back()
    cdef MaskRef mask
    if matcher.terminated:
        return False
    mask = matcher.masks.reference(matcher.family, config)
    if mask.kind != MASK_ROW and mask.kind != MASK_PATCHED:
        return False
    copy.bits = matcher.masks.bits(mask)
    copy.stop_count = 0
    copy.stops = matcher.stops.data()
    if matcher.family.configs[config].accepting:  # mutant: stop-anywhere
        copy.stop_count = <int32_t>matcher.stops.size()
    return True


cdef bint make_mask(Matcher matcher, uint32_t* words, Py_ssize_t number, int64_t units) except FAILED:
    """Write an unfinished mask, or do ``units`` of work on it. Return whether it is written.

    An error names the matcher.
    """
    matcher.lock.charge_to(matcher.account)
    try:
        if units != ENDLESS or matcher.cut is not None:
            return matcher.fill_slice(words, units)
        matcher.fill_row(matcher.history.back(), matcher.terminated, words)
    except Exception as error:
        if hasattr(error, "add_note"):
            error.add_note(f"while the mask of matcher {number} of a batch was made")
        raise
    return True


cdef int check_matchers(matchers) except FAILED:
    """Raise an error that names the invalid argument of a batch. Only called if something is wrong."""
    if hasattr(matchers, "fill_next_token_bitmask"):
        raise MatcherTypeError(
            f"a batch is a list of matchers, not one {type(matchers).__name__}: write [matcher]"
        )
    if not hasattr(matchers, "__len__") or not hasattr(matchers, "__getitem__"):
        raise MatcherTypeError(f"a batch is a list of matchers, not {type(matchers).__name__}")
    for i, other in enumerate(matchers):
        if other is not None and not hasattr(other, "fill_next_token_bitmask"):
            cure = ": compiled.matcher() makes one" if hasattr(other, "matcher") else ""
            raise MatcherTypeError(f"matcher {i} of the batch is {type(other).__name__}{cure}")
    return 0


cdef int as_threads(threads) except FAILED:
    """Return the number of threads that may copy. Raises: MatcherError."""
    given = as_integer("the number of threads", threads)
    if given < 1:
        raise MatcherError(f"a batch needs a thread, not {given}")
    return min(given, MAX_THREADS)


cdef bint are_distinct(rows) except FAILED:
    return rows is None or len({index(row) for row in rows}) == len(rows)


def fill_next_token_bitmask(matchers, mask, rows=None, *, threads=1):
    """Write the masks of a batch of matchers in one call.

    ``rows[i]`` is the row of matcher i, by default i. A matcher that is None allows every token. ``threads``:
    the number of threads that may copy finished masks, including the caller; several are used if a batch has
    a megabyte for each (65 rows of 128,000 tokens). Unfinished masks are computed in the calling thread.
    Shapes: mask int32 (batch, ceil(vocab / 32)), a NumPy array or a CPU torch tensor, contiguous.
    Returns: False if every row allows every token.
    Raises: MatcherError if a row does not fit; EmptyMaskError like the method of a single matcher, after all
        rows are written. An error in computing a mask has a note with the number of its matcher.
    Cost: a copy of the row for each finished mask, while the lock of the compiler is held.
    """
    cdef Rows view
    cdef vector[uint32_t*] words
    cdef StepResult result = StepResult.__new__(StepResult)
    cdef int most = as_threads(threads)
    if type(matchers) is not list and type(matchers) is not tuple:
        check_matchers(matchers)
    batch = list(matchers)
    if rows is not None:
        rows = list(rows)
        if len(rows) != len(batch):
            raise MatcherError(f"{len(batch)} matchers, but {len(rows)} rows")
    result.errors = {}
    result.waiting = []
    open_rows(mask, &view)
    try:
        find_rows(batch, None, rows, &view, words)
        if not are_distinct(rows):
            # of matchers with the same row, the last one counts
            last = {index(row): i for i, row in enumerate(rows)}
            batch = [matcher if last[index(rows[i])] == i else None for i, matcher in enumerate(batch)]
        fill_all(batch, rows, mask, &view, words, result, most, False)
    finally:
        close_rows(&view)
    for error in result.errors.values():
        raise error
    return result.needed


cdef list fill_tree(Matcher matcher, tokens, parents, Rows* rows):
    """Write the masks along a tree of draft tokens. Returns: whether each token is accepted."""
    cdef list places = []
    cdef list accepted = []
    cdef int32_t config, next, token, parent, i
    cdef int32_t here = NO_CONFIG if matcher.terminated else matcher.history.back()
    matcher.fill_row(matcher.history.back(), matcher.terminated, row_of(rows, 0, matcher.masks.width))
    for i in range(<int32_t>len(tokens)):
        token = as_id(tokens[i], matcher.size)
        given = as_integer("a parent", parents[i])
        if not -1 <= given < i:
            raise MatcherError(f"parent {given} of draft token {i} does not come before it")
        parent = given
        config = here if parent < 0 else places[parent]  # mutant: draft-parent
        next = NO_CONFIG
        ok = False
        if config != NO_CONFIG and token >= 0:
            next = matcher.after_token(config, token)
            ok = next != DEAD
            if next == DEAD:
                next = NO_CONFIG
                ok = is_stop(matcher.stops, token) and matcher.family.configs[config].accepting
        places.append(next)
        accepted.append(bool(ok))
        ended = next == NO_CONFIG
        matcher.fill_row(DEAD if ended else next, ended, row_of(rows, i + 1, matcher.masks.width))
    return accepted


cdef enum:
    NO_TOKEN = -1
    SLOW_WORK = 100_000     # units, about a millisecond
    BLOCK = 64              # words that are looked at together
    MOST_TOUCHED = 128      # words that a row may differ in from what it is known to hold
    EVERYTHING = -1         # in place of the number of an engine's row: all tokens are allowed
    NOTHING = -2            # none is
    UNKNOWN_BITS = -3


@cython.final
cdef class StepMask:
    """The masks of steps. The content of rows is recorded, so that a step only writes changed words.

    Most masks differ in a few words from a row of the engine, or allow only a few tokens; if the previous
    mask was similar, only the differing words are written. One thread at a time may use it.
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
        """Return a row for the caller to write; its recorded content is discarded."""
        words = self.rows[row]
        self.bases[index(row)] = UNKNOWN_BITS
        return words

    cdef void allow_all(self, size_t row, uint32_t* words) noexcept:
        if self.bases[row] != EVERYTHING:
            memset(words, 0xFF, 4 * <size_t>self.width)
            self.bases[row] = EVERYTHING

    cdef void write(self, Matcher matcher, Copy* copy, size_t row) noexcept:
        """Write a finished mask; if few words differ from the previous ones, only these words."""
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
        """Forget rows of another engine or epoch, whose numbers are no longer valid."""
        cdef size_t i
        for i in range(self.bases.size()):
            if self.bases[i] >= 0:
                self.bases[i] = UNKNOWN_BITS


@cython.final
cdef class StepResult:
    """The results of a step for its requests, as lists with an entry for each matcher. See ``step``."""

    cdef readonly list accepted
    cdef readonly list ended
    cdef readonly list only_tokens
    cdef readonly list forced_bytes
    cdef readonly dict errors
    cdef readonly list waiting
    cdef readonly bint needed
    cdef readonly int slow
    cdef StepMask kept              # of the call under way; None if its mask is an array
    cdef const uint32_t* base       # where its rows begin

    def __repr__(self):
        return (
            f"StepResult(accepted={self.accepted}, ended={self.ended}, only_tokens={self.only_tokens}, "
            f"forced_bytes={self.forced_bytes}, errors={self.errors}, waiting={self.waiting}, "
            f"needed={self.needed}, slow={self.slow})"
        )


def step(matchers, tokens, mask, rows=None, *, forced=False, threads=1):
    """Do one step for many requests in one call: accept a token for each, then write the next masks.

    ``tokens[i]`` is the token that matcher i accepts, or None. ``rows[i]`` is its row, by default i; no row
    may occur twice. A matcher that is None allows every token, and its token is ignored. ``forced``: also
    find forced tokens and text. ``threads``: as in ``fill_next_token_bitmask``.
    Shapes: mask int32 (batch, ceil(vocab / 32)), a NumPy array or a CPU torch tensor, contiguous; or a
        ``StepMask``, in whose rows only changed words are written.
    Returns: a ``StepResult``; its masks and values equal those of separate calls.
    Raises: MatcherError if the arguments do not fit; then no matcher has advanced and no row is written.
    Errors of single matchers (a limit, its cancellation, an action) are in ``errors``. If masks take more
    work than ``Limits(max_fill_work=…)``, rows that are not ready are in ``waiting``: such a row allows
    nothing yet. The next step continues, with the longest waiting row first; pass None as its token.
    Cost: that of accepting and of ``fill_next_token_bitmask``; ``forced`` reads the masks again.
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
        result.waiting = []
        accept_all(batch, given, result)
        fill_all(batch, rows, mask, &view, words, result, most, True)
        find_ended(batch, result)
        if forced:
            find_forced(batch, words, &view, result)
        for number, error in result.errors.items():
            if hasattr(error, "add_note"):
                error.add_note(f"in a step, for matcher {number}")
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
    """Record that the content of a row is unknown."""
    if result.kept is not None:
        result.kept.bases[row_number(result, words)] = UNKNOWN_BITS


cdef inline int32_t width_of(object matcher, Rows* view) noexcept:
    return (<Matcher>matcher).masks.width if isinstance(matcher, Matcher) else <int32_t>view.width


cdef int find_rows(
    list batch, list tokens, list rows, Rows* view, vector[uint32_t*]& words
) except FAILED:
    """Find the row of each mask, and check all arguments before any matcher advances.

    ``tokens``: what the matchers shall accept; None if they stay.
    """
    cdef Py_ssize_t i
    cdef int32_t width
    for i in range(len(batch)):
        matcher = batch[i]
        if matcher is not None and not isinstance(matcher, Matcher):
            if not hasattr(matcher, "fill_next_token_bitmask"):
                check_matchers(batch)
        elif tokens is not None and matcher is not None and tokens[i] is not None:
            as_id(tokens[i], (<Matcher>matcher).size)
        width = width_of(matcher, view)
        words.push_back(row_at(view, i, width) if rows is None else row_of(view, rows[i], width))
    return 0


cdef int accept_all(list batch, list tokens, StepResult result) except FAILED:
    """Accept a token for each matcher. An error is recorded, and that matcher has not advanced."""
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
            result.errors[i] = error
        accepted.append(taken)
    result.accepted = accepted
    return 0


cdef int fill_all(
    list batch,
    list rows,
    object mask,
    Rows* view,
    vector[uint32_t*]& words,
    StepResult result,
    int most,
    bint may_wait,
) except FAILED:
    """Write the masks, together for each store, under its lock.

    ``may_wait``: whether a mask that takes much work may wait for the next step.
    """
    cdef Py_ssize_t i
    cdef int64_t spent = 0              # on masks that were not ready
    cdef Matcher matcher
    cdef StoreLock lock = None
    cdef list groups = []               # numbers of matchers, a list for each store
    cdef list group
    cdef bint bounded = False, endless = False
    for i in range(len(batch)):
        other = batch[i]
        if result.errors and i in result.errors:
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
        bounded = bounded or (may_wait and matcher.fill_work != ENDLESS)
        endless = endless or matcher.stops.empty()
        if matcher.lock is not lock:
            lock = matcher.lock
            for group in groups:
                if (<Matcher>batch[group[0]]).lock is lock:
                    break
            else:
                group = []
                groups.append(group)
        group.append(i)
    if bounded and len(groups) > 1:
        # the one with the row that has waited longest first
        groups.sort(key=lambda group: min([_steps_waited(batch[number]) for number in group]))
    for group in groups:
        fill_group(batch, group, words, result, most, bounded, &spent)
    for group in groups if endless else ():
        for i in group:
            matcher = batch[i]
            if not matcher.stops.empty() or i in result.errors or i in result.waiting:
                continue
            if is_empty_row(words[i], matcher.masks.width):
                result.errors[i] = EmptyMaskError(matcher.is_accepting())
    return 0


cdef int fill_other(object other, object row, object mask, Py_ssize_t number, StepResult result) except FAILED:
    """Write the mask of a matcher of another engine."""
    try:
        needed = other.fill_next_token_bitmask(mask, row)
        result.needed = result.needed or bool(needed)
    except Exception as error:
        result.errors[number] = error
    return 0


cdef int fill_group(
    list batch, list group, vector[uint32_t*]& words, StepResult result, int most, bint bounded, int64_t* spent
) except FAILED:
    """Write the masks of one store's matchers, first the finished ones, then the others.

    ``bounded``: whether some may wait. ``spent``: the units of work of this step on masks that were not ready.
    """
    cdef Matcher matcher = batch[group[0]]
    cdef StoreLock lock = matcher.lock
    cdef Py_ssize_t i
    cdef Copy copy
    cdef vector[Copy] copies
    cdef list later = []
    cdef bint held = False, done = False
    cdef int64_t left, begun, before
    try:
        lock.take(matcher.account)
    except Exception as error:
        for i in group:
            result.errors[i] = error
        return 0
    held, begun = True, lock.meter.units()
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
        if bounded:
            # longest waiting first; sorting keeps the order of the others
            later.sort(key=lambda number: _steps_waited(batch[number]))
        begun = lock.meter.units()
        for i in later:
            matcher = batch[i]
            try:
                if not held:
                    lock.take(matcher.account)
                    held = True
                    begun = lock.meter.units()
                left = ENDLESS
                before = lock.meter.units()
                if bounded and matcher.fill_work != ENDLESS:
                    left = matcher.fill_work - spent[0] - (before - begun)
                if (left > 0 or is_known(matcher)) and make_mask(matcher, words[i], i, left):
                    result.needed = result.needed or not every_allowed(words[i], matcher.size)
                else:
                    memset(words[i], 0, 4 * <size_t>matcher.masks.width)
                    result.waiting.append(i)
                    result.needed = True
                    if matcher.cut is None:
                        matcher.cut = CutFill()
                    matcher.cut.waited += 1
                if lock.meter.units() - before >= SLOW_WORK:
                    result.slow += 1
            except Exception as error:
                if held:
                    spent[0] += lock.meter.units() - begun
                    # while the error is known: it tells the lock whether memory ran out
                    lock.give(False)
                    held = False
                result.errors[i] = error
        done = True
    finally:
        if held:
            spent[0] += lock.meter.units() - begun
            lock.give(done)
    return 0


cdef bint is_known(Matcher matcher) noexcept:
    """Return whether a mask is cheap, since only the union is missing, or nothing is allowed."""
    return matcher.terminated or matcher.masks.reference(matcher.family, matcher.history.back()).kind != MASK_NONE


def _steps_waited(Matcher matcher):
    """Return minus the number of steps that a row has waited for its mask."""
    return 0 if matcher.cut is None else -matcher.cut.waited


cdef int find_ended(list batch, StepResult result) except FAILED:
    """Find the texts that have ended with a stop token."""
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
                result.errors[i] = error
        ended.append(over)
    result.ended = ended
    return 0


cdef int find_forced(list batch, vector[uint32_t*]& words, Rows* view, StepResult result) except FAILED:
    """Find the rows with a single allowed token, and the forced text."""
    cdef Py_ssize_t i
    cdef list tokens = [], texts = []
    for i in range(len(batch)):
        other, token, text = batch[i], NO_TOKEN, b""
        if other is not None and i not in result.errors:
            token = only_token(words[i], width_of(other, view))
            try:
                text = b"".join(other.find_jump_forward_bytes())
            except Exception as error:
                result.errors[i] = error
                token = NO_TOKEN
        tokens.append(token)
        texts.append(text)
    result.only_tokens = tokens
    result.forced_bytes = texts
    return 0


cdef int32_t only_token(const uint32_t* words, int32_t width) noexcept nogil:
    """Return the only token of a mask; NO_TOKEN if the mask has none, or several."""
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
