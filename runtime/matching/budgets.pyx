# distutils: language = c++
"""Token budgets of matchers: the shortest completion of a text, and masks that keep one in reach."""

from libc.stdint cimport int32_t, uint32_t, uintptr_t
from libc.string cimport memset

from stackmask.pda.completion.completions cimport NOT_FOUND, BudgetMasks, Completions
from stackmask.pda.ids cimport FAILED, NO_TOKEN, TokenId
from stackmask.pda.memory.work_meter cimport WorkMeter
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.runtime.matching.matcher cimport Matcher

import warnings
from dataclasses import dataclass
from operator import index

from stackmask.pda.completion.completions import TermCosts
from stackmask.pda.errors import BudgetError
from stackmask.runtime.matching.mask_buffer import MatcherError


class CompletionError(MatcherError):
    """A text cannot be completed within a budget, or no completion was found.

    ``needed``: the minimal number of tokens, including the stop token; None if no completion was found.
    """

    def __init__(self, message, needed=None):
        super().__init__(message)
        self.needed = needed


@dataclass(frozen=True)
class Completion:
    """A shortest completion of a text.

    ``text``: its bytes; special tokens have none. ``tokens``: its tokens, as few as were found, without the
    stop token.
    """

    text: bytes
    tokens: tuple[int, ...]


cdef class FamilyBudgets:
    """The known completions of the texts of one family."""

    # of one family of configurations; shared by its matchers
    cdef BudgetMasks masks
    cdef object __weakref__

    def __cinit__(self, BudgetMasks masks):
        self.masks = masks

    def belongs_to(self, ConfigSpace family):
        """Return whether this belongs to a family."""
        return self.masks.completions.belongs_to(family)

    def nbytes_held(self):
        """Return the approximate number of bytes held."""
        return self.masks.nbytes() + self.masks.completions.nbytes()


cdef BudgetMasks masks_of(Matcher matcher):
    """Return the budget masks of a matcher's family. The caller holds the lock of its store."""
    cdef Completions completions
    budgets = matcher.compiled._budgets
    if budgets is None or not budgets.belongs_to(matcher.family):
        budgets = matcher.family_tools().budgets
    if budgets is None or not budgets.belongs_to(matcher.family):
        store = matcher.automaton.store
        costs = store.costs
        if costs is None:
            costs = store.costs = TermCosts(store.terms)
        completions = Completions(
            matcher.family,
            store.semantics,
            costs,
            store.info.trie,
            matcher.automaton.lowered.token_classes,
            matcher.automaton.lowered.start,
        )
        budgets = FamilyBudgets(BudgetMasks(completions, matcher.masks.width))
        store.budgets.add(budgets)
        matcher.tools.budgets = budgets
        if matcher.compiled._family is matcher.family:
            matcher.compiled._budgets = budgets
    return (<FamilyBudgets>budgets).masks


cdef int as_budget(object budget) except FAILED:
    """Return a budget as a number of tokens. Raises: MatcherError for other values."""
    try:
        tokens = index(budget)
    except TypeError:
        raise MatcherError(
            f"budget is {type(budget).__name__}: give the number of tokens that are left, stop token included"
        ) from None
    if isinstance(budget, bool) or tokens < 1:
        raise MatcherError(f"budget is {budget}: it counts the stop token, so it must be 1 or more")
    return min(tokens, NOT_FOUND - 1)


cdef int stop_tokens(Matcher matcher) noexcept:
    """Return the number of tokens that end a text: one, or none if the vocabulary has no stop token."""
    return 0 if matcher.stops.empty() else 1


def fill_within(Matcher matcher not None, budget, uintptr_t address):
    """Write a matcher's next mask under a budget to an address. The caller holds the lock of its store.

    If a limit of the request is reached, only the first token of a short completion stays allowed, with a
    RuntimeWarning.
    """
    cdef uint32_t* words = <uint32_t*>address
    cdef int32_t left = as_budget(budget)
    cdef BudgetMasks masks
    cdef WorkMeter meter
    if matcher.terminated:
        memset(words, 0, 4 * <size_t>matcher.masks.width)
        return
    masks = masks_of(matcher)
    meter = matcher.family.terms.meter
    limit = None
    try:
        if meter.keep_reserve():
            cut_row(matcher, masks, left, words)
            return
    except BudgetError as error:
        limit = error
    finally:
        meter.open_reserve()
    if allow_witness(matcher, masks, left, words):
        reason = limit or "the limits of the request are nearly met"
        warnings.warn(f"{reason}; from here on only a short end of the text is allowed", RuntimeWarning, 1)
    elif limit is not None:
        raise limit
    else:
        cut_row(matcher, masks, left, words)


cdef int cut_row(Matcher matcher, BudgetMasks masks, int32_t left, uint32_t* words) except FAILED:
    """Write a matcher's next mask under a budget of ``left`` tokens."""
    cdef int32_t config = matcher.history.back(), needed
    cdef int32_t room = left - 1 - stop_tokens(matcher)
    if masks.spares_all(config, room):
        matcher.fill_row(config, False, words)
        return 0
    if room >= 0 and masks.restore(config, room, words):
        return 0
    # its witness serves the successors, too
    if not ends_within(matcher, masks, left):
        needed = fewest_tokens(matcher, masks)
        if needed > left:
            raise CompletionError(
                f"the text needs at least {needed} more tokens, stop token included, and budget is {left}: "
                "give a larger budget from the start",
                needed,
            )
    matcher.fill_row(config, False, words)
    masks.cut(config, max(room, -1), words)
    if matcher.family.configs[config].accepting:
        allow_stops(matcher, words)
    if room >= 0:
        masks.keep_row(config, room, words)
    return 0


cdef bint ends_within(Matcher matcher, BudgetMasks masks, int32_t left) except FAILED:
    """Return whether a completion in ``left`` tokens is known, or a search for a shortest text finds one."""
    cdef int32_t steps = NOT_FOUND, config = matcher.history.back()
    left -= stop_tokens(matcher)
    return masks.completions.known(config).fewest <= left or masks.completions.few(config, &steps) <= left


cdef bint allow_witness(Matcher matcher, BudgetMasks masks, int32_t left, uint32_t* words) except FAILED:
    """Write a mask that allows only the beginning of a shortest completion. Return False if no completion in
    time is found.
    """
    cdef TokenId token
    try:
        if not ends_within(matcher, masks, left):
            return False
    except BudgetError:
        return False
    memset(words, 0, 4 * <size_t>matcher.masks.width)
    token = masks.completions.known(matcher.history.back()).token
    if token == NO_TOKEN:
        allow_stops(matcher, words)
    else:
        words[token >> 5] |= <uint32_t>1 << (token & 31)
    return True


cdef void allow_stops(Matcher matcher, uint32_t* words) noexcept:
    """Add the stop tokens to a mask."""
    cdef size_t i
    for i in range(matcher.stops.size()):
        words[matcher.stops[i] >> 5] |= <uint32_t>1 << (matcher.stops[i] & 31)


cdef int fewest_tokens(Matcher matcher, BudgetMasks masks) except FAILED:
    """Return the minimal number of tokens to the end, with the stop token. Raises: CompletionError."""
    cdef int32_t found = masks.completions.fewest(matcher.history.back())
    if found >= NOT_FOUND:
        raise CompletionError(
            "no completion of the text was found within the bounds of the search, so no budget can be kept: "
            "go on without one"
        )
    return found + stop_tokens(matcher)


def count_needed(Matcher matcher not None):
    """Return how many tokens the end takes, with the stop token; 0 after it. The caller holds the lock."""
    return 0 if matcher.terminated else fewest_tokens(matcher, masks_of(matcher))


def find_completion(Matcher matcher not None):
    """Return the shortest completion of a matcher's text. The caller holds the lock of its store."""
    if matcher.terminated:
        return Completion(b"", ())
    masks = masks_of(matcher)
    fewest_tokens(matcher, masks)
    text, tokens = masks.completions.witness(matcher.history.back())
    return Completion(text, tuple(tokens))


def can_end_within(Matcher matcher not None, budget):
    """Return whether the text can end within ``budget`` tokens, with the stop token; None if unknown."""
    cdef int32_t left = min(max(index(budget), 0), NOT_FOUND), steps = NOT_FOUND, config, found
    cdef BudgetMasks masks
    cdef bint done = False
    if matcher.terminated:
        return True
    matcher.enter()
    try:
        config = matcher.history.back()
        masks = masks_of(matcher)
        found = masks.completions.few(config, &steps)
        if found + stop_tokens(matcher) > left:
            found = masks.completions.fewest(config)
        done = True
    finally:
        matcher.lock.give(done)
    return None if found >= NOT_FOUND else found + stop_tokens(matcher) <= left
