# distutils: language = c++
"""The masks of a batch of matchers, or along a tree of draft tokens, in one call.

Where masks are finished, a batch is as many copies of rows: these need no interpreter, and may be shared with
threads. What has to be made is made in this thread, one mask after the other, under the lock of its store.
"""

from libc.stdint cimport int32_t, uint32_t
from libc.string cimport memset
from libcpp.vector cimport vector

from stackmask.pda.masks.shared.mask_ref cimport MASK_PATCHED, MASK_ROW, MaskRef, write_bits
from stackmask.pda.stack.configuration_table cimport DEAD
from stackmask.runtime.matching.mask_buffer cimport (
    Rows,
    as_id,
    close_rows,
    every_allowed,
    is_empty_row,
    open_rows,
    row_at,
    row_of,
)
from stackmask.runtime.matching.matcher cimport NO_CONFIG, Matcher, after_token, fill_row, is_stop
from stackmask.runtime.matching.row_threads cimport RowThreads, row_threads

from operator import index

from stackmask.runtime.matching.mask_buffer import EmptyMaskError, MatcherError, MatcherTypeError, as_integer

cdef enum:
    CHUNK_BYTES = 1 << 17       # that a thread takes at a time: a few microseconds
    THREAD_BYTES = 1 << 20      # that are worth a thread: to wake one takes as long as some dozen copies
    MAX_THREADS = 256


cdef struct Copies:
    Copy* items
    int32_t width
    int32_t size                # of the vocabulary


cdef void write_copies(void* context, size_t first, size_t last) noexcept nogil:
    """Write some of the masks. Threads call this, so it touches nothing but its own rows."""
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


cdef bint write_all(vector[Copy]& copies, Matcher matcher, int threads) except -1:
    """Write finished masks and forget the list. Return whether some mask leaves out a token.

    ``matcher`` is one of their store, whose lock is held: what they are copied from stays.
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
    """Note where the mask of a matcher is copied from. Return False if it is not finished."""
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


cdef bint make_mask(Matcher matcher, uint32_t* words, Py_ssize_t number) except -1:
    """Write a mask that is not finished. Return whether it leaves out a token. An error names the matcher."""
    matcher.lock.charge_to(matcher.account)
    try:
        fill_row(matcher, matcher.history.back(), matcher.terminated, words)
    except Exception as error:
        if hasattr(error, "add_note"):
            error.add_note(f"while the mask of matcher {number} of a batch was made")
        raise
    return not every_allowed(words, matcher.size)


cdef int check_matchers(matchers) except -1:
    """Refuse what is no batch, by name. Only asked where something is wrong already."""
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


cdef int as_threads(threads) except -1:
    """Return how many threads may copy, as asked for. Raises: MatcherError."""
    given = as_integer("the number of threads", threads)
    if given < 1:
        raise MatcherError(f"a batch needs a thread, not {given}")
    return min(given, MAX_THREADS)


cdef bint are_distinct(rows) except -1:
    return rows is None or len({index(row) for row in rows}) == len(rows)


def fill_next_token_bitmask(matchers, mask, rows=None, *, threads=1):
    """Write the masks of a batch of matchers in one call.

    ``rows[i]`` is the row of matcher i, by default i. A matcher that is None allows every token. ``threads``:
    how many may copy finished masks, the calling one included; more than one is used where a batch has a
    megabyte for each (65 rows of 128,000 tokens). Masks that must be made are made in the calling thread.
    Shapes: mask int32 (batch, ceil(vocab / 32)), a NumPy array or a CPU torch tensor, contiguous.
    Returns: False when every row allows every token.
    Raises: MatcherError if a row does not fit; EmptyMaskError as one matcher's call does, once all are
        written. An error in making a mask has a note with the number of its matcher; other rows may not be
        written then.
    Cost: the copy of a row for each mask that is finished; the lock of a compiler is held meanwhile.
    """
    cdef Rows view
    cdef Matcher matcher
    cdef Matcher last = None            # whose lock is held
    cdef bint needed = False, waits
    cdef Py_ssize_t i
    cdef size_t k
    cdef int32_t width
    cdef int most
    cdef Copy copy
    cdef uint32_t* words
    cdef vector[Copy] copies
    cdef vector[uint32_t*] later        # rows of masks that are not finished
    cdef list waiting = []              # their matchers, and numbers
    cdef vector[uint32_t*] endless      # rows of vocabularies without a stop token
    cdef list without_stop = []         # their matchers
    most = as_threads(threads)
    if type(matchers) is not list and type(matchers) is not tuple:
        check_matchers(matchers)
    if rows is not None and len(rows) != len(matchers):
        raise MatcherError(f"{len(matchers)} matchers, but {len(rows)} rows")
    # copies go together then; of matchers with the same row, the last one counts
    waits = most > 1 and are_distinct(rows)
    if not waits:
        most = 1
    open_rows(mask, &view)
    try:
        for i in range(len(matchers)):
            other = matchers[i]
            if copies.size() and rows is not None and not waits and not isinstance(other, Matcher):
                # what is written at once may be over one of them
                needed = write_all(copies, last, most) or needed
            if not isinstance(other, Matcher) and hasattr(other, "fill_next_token_bitmask"):
                # of another engine, which has its own rows
                needed = other.fill_next_token_bitmask(mask, i if rows is None else rows[i]) or needed
                continue
            if other is not None and not isinstance(other, Matcher):
                check_matchers(matchers)
            matcher = other
            width = <int32_t>view.width if matcher is None else matcher.masks.width
            words = row_at(&view, i, width) if rows is None else row_of(&view, rows[i], width)
            if matcher is None:
                memset(words, 0xFF, 4 * <size_t>width)
                continue
            if matcher.stops.empty():
                endless.push_back(words)
                without_stop.append(matcher)
            if last is None or matcher.lock is not last.lock:
                if last is not None:
                    needed = write_all(copies, last, most) or needed
                    for k in range(later.size()):
                        needed = make_mask(waiting[k][0], later[k], waiting[k][1]) or needed
                    later.clear()
                    waiting.clear()
                    last.lock.give(True)
                    last = None
                matcher.lock.take(matcher.account)
                last = matcher
            if find_copy(matcher, &copy):
                # copying is most of the work then, and needs no interpreter
                copy.words = words
                copies.push_back(copy)
            elif waits:
                later.push_back(words)
                waiting.append((matcher, i))
            else:
                # making masks may drop those that are to be copied
                needed = write_all(copies, last, most) or needed
                needed = make_mask(matcher, words, i) or needed
        if last is not None:
            needed = write_all(copies, last, most) or needed
            for k in range(later.size()):
                needed = make_mask(waiting[k][0], later[k], waiting[k][1]) or needed
            last.lock.give(True)
            last = None
        if endless.size():
            check_endless(endless, without_stop)
    finally:
        if last is not None:
            last.lock.give(False)
        close_rows(&view)
    return needed


cdef int check_endless(const vector[uint32_t*]& rows, list matchers) except -1:
    """Refuse rows that allow nothing, of matchers whose vocabularies have no stop token."""
    cdef size_t i
    cdef Matcher matcher
    for i in range(rows.size()):
        matcher = matchers[i]
        if is_empty_row(rows[i], matcher.masks.width):
            raise EmptyMaskError(matcher.is_accepting())
    return 0


cdef list fill_tree(Matcher matcher, tokens, parents, Rows* rows):
    """Write the masks along a tree of draft tokens. Returns: whether each token is accepted."""
    cdef list places = []
    cdef list accepted = []
    cdef int32_t config, next, token, parent, i
    cdef int32_t here = NO_CONFIG if matcher.terminated else matcher.history.back()
    fill_row(matcher, matcher.history.back(), matcher.terminated, row_of(rows, 0, matcher.masks.width))
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
            next = after_token(matcher, config, token)
            ok = next != DEAD
            if next == DEAD:
                next = NO_CONFIG
                ok = is_stop(matcher.stops, token) and matcher.family.configs[config].accepting
        places.append(next)
        accepted.append(bool(ok))
        ended = next == NO_CONFIG
        fill_row(matcher, DEAD if ended else next, ended, row_of(rows, i + 1, matcher.masks.width))
    return accepted
