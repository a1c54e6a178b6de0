from collections.abc import Callable, Hashable, Mapping
from typing import Any, final

from stackmask.grammar import ir
from stackmask.pda.semantics import Semantics
from stackmask.pda.terms import TermStore

ALL_BYTES: int
TEST_KINDS: tuple[str, ...]

class Tables:
    """What lowered grammars share: the terms, and the numbers of rules, calls, actions and token classes."""

    terms: TermStore
    semantics: Semantics
    rules: dict[Hashable, tuple[int, ...]]
    token_classes: dict[tuple[int, ...], int]

    def __init__(
        self,
        terms: TermStore,
        semantics: Semantics,
        resolve_tokens: Callable[[ir.TokenTerminal], tuple[tuple[int, ...], int]],
    ) -> None: ...

@final
class Lowering:
    """One grammar on its way to terms. Raises: BudgetError if an expression is nested too deeply."""

    def __new__(cls, tables: Tables) -> Lowering: ...
    @property
    def numbers(self) -> dict[Any, int]:
        """The numbers of the rules, by name."""

    @property
    def token_classes(self) -> dict[tuple[int, ...], int]:
        """The sets of special tokens that the grammar has, and their numbers."""

    @property
    def stacked(self) -> bool:
        """Whether it uses the built-in stack of texts."""

    def run(self, rules: Mapping[str, ir.Rule], start: str) -> int:
        """Number all rules and return the term that calls ``start``."""

    def term(self, expr: ir.Expr) -> int:
        """Return the term of an expression."""

def literal_trie(terms: TermStore, tails: dict[bytes, list[int]]) -> int:
    """Return any of the words, each with one of its tails behind it, as a term that shares their prefixes."""
