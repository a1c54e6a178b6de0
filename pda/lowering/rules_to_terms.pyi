from collections.abc import Mapping
from typing import Any, final

from stackmask.grammar import ir
from stackmask.pda.lowering.entry import Tables

@final
class Lowering:
    """The lowering of one grammar. Raises: BudgetError if an expression is nested too deeply."""

    def __new__(cls, tables: Tables) -> Lowering: ...
    @property
    def numbers(self) -> dict[Any, int]:
        """The numbers of the rules, by name."""

    @property
    def token_classes(self) -> dict[tuple[int, ...], int]:
        """The sets of special tokens that the grammar has, and their numbers."""

    @property
    def stacked(self) -> bool:
        """Whether it uses the built-in stack of strings."""

    def run(self, rules: Mapping[str, ir.Rule], start: str) -> int:
        """Number all rules and return the term that calls ``start``."""

    def term(self, expr: ir.Expr) -> int:
        """Return the term of an expression."""
