"""The automaton of one grammar: its entry in a store that grammars share. Users cannot modify it."""

from __future__ import annotations

from bisect import bisect_left

from stackmask.grammar import ir
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError
from stackmask.pda.lowering.entry import Lowered, check_bytes, lower
from stackmask.pda.lowering.rules_to_terms import ALL_BYTES
from stackmask.pda.store import Store

MAX_NUMBERED = 4096  # special tokens whose sets are remembered
SEARCH_WORK = 40  # units of looking a token up in a set


class Automaton:
    """One grammar in a store, with its start, its rules and its special tokens.

    ``numbers_of``: for the special tokens queried so far, the numbers of the sets with this token.

    Raises: GrammarError, VocabularyError, BudgetError, as ``Compiler.compile``. The caller holds the store's
        lock.
    """

    __slots__ = ("lowered", "numbers_of", "start_state", "store")

    def __init__(self, rules: ir.RuleSet, store: Store) -> None:
        self.store = store
        info = store.info
        if info.single_bytes != ALL_BYTES:  # else there is nothing to look for in the rules
            check_bytes(
                {rule.name: rule.body for rule in rules.rules.values()}, info.single_bytes, info.silent
            )
        self.lowered: Lowered = lower(rules, store.tables, strip_first_space=info.strip_first_space)
        # rules that were lowered beside ones with a stack are remembered as such, also where the state is another one
        is_stack = isinstance(rules.initial, tuple) and all(isinstance(text, bytes) for text in rules.initial)
        self.start_state: int = store.semantics.start(rules.initial, self.lowered.stacked and is_stack)
        if not store.space.is_live(self.lowered.start, self.start_state):  # mutant: no-text
            raise GrammarError([_empty_language(rules)], rules.sources)
        self.numbers_of: dict[int, tuple[int, ...]] = {}

    def find_numbers(self, token: int) -> tuple[int, ...]:
        """Return the numbers of the sets of special tokens that contain a token.

        A set may contain the whole vocabulary, so sets are searched on demand. Cached. Cost: a binary search
        in each set.
        """
        sets = self.lowered.token_classes
        self.store.meter.charge(SEARCH_WORK * len(sets))
        if len(self.numbers_of) >= MAX_NUMBERED:
            self.numbers_of.clear()
        found = self.numbers_of[token] = tuple([number for ids, number in sets.items() if _holds(ids, token)])
        return found


def _holds(ids: tuple[int, ...], token: int) -> bool:
    at = bisect_left(ids, token)
    return at < len(ids) and ids[at] == token  # mutant: next-token


def _empty_language(rules: ir.RuleSet) -> Diagnostic:
    # everything else that leaves a rule empty is found by normalisation; this is about restrictions
    return Diagnostic(
        "G103",
        "the grammar has no text at all",
        rules.rules[rules.start].span,
        "follow restrictions (`!>>`) forbid every continuation",
        "check what may follow each `!>>`",
    )
