"""The automaton of one grammar: its place in the store that it shares, immutable to its users."""

from __future__ import annotations

from stackmask.grammar import ir
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError
from stackmask.pda.lowering.entry import Lowered, check_bytes, lower
from stackmask.pda.store import Store


class Automaton:
    """One grammar in a store: where it starts, and which rules and special tokens it has.

    Raises: GrammarError, VocabularyError, BudgetError, as ``Compiler.compile``. Hold the store's lock.
    """

    __slots__ = ("classes_of_token", "lowered", "start_state", "store")

    def __init__(self, rules: ir.RuleSet, store: Store) -> None:
        self.store = store
        info = store.info
        check_bytes({rule.name: rule.body for rule in rules.rules.values()}, info.single_bytes, info.silent)
        self.lowered: Lowered = lower(rules, store.tables, strip_first_space=info.strip_first_space)
        self.start_state: int = store.semantics.start(rules.initial, self.lowered.stacked)
        if not store.space.is_live(self.lowered.start, self.start_state):  # mutant: no-text
            raise GrammarError([_empty_language(rules)], rules.sources)
        classes: dict[int, list[int]] = {}
        for ids, number in self.lowered.token_classes.items():
            for token in ids:
                classes.setdefault(token, []).append(number)
        self.classes_of_token = {token: tuple(numbers) for token, numbers in classes.items()}


def _empty_language(rules: ir.RuleSet) -> Diagnostic:
    # everything else that leaves a rule empty is found by normalisation; this is about restrictions
    return Diagnostic(
        "G103",
        "the grammar has no text at all",
        rules.rules[rules.start].span,
        "follow restrictions (`!>>`) forbid every continuation",
        "check what may stand behind each `!>>`",
    )
