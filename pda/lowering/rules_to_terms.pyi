from collections.abc import Mapping
from typing import final

from stackmask.grammar import ir
from stackmask.pda.lowering.entry import Tables
from stackmask.pda.lowering.references import RuleScan

ALL_BYTES: int
TEST_KINDS: tuple[str, ...]

@final
class Lowering(RuleScan):
    """One grammar on its way to terms. Raises: BudgetError if an expression is nested too deeply."""

    def __new__(cls, tables: Tables) -> Lowering: ...
    def run(self, rules: Mapping[str, ir.Rule], start: str) -> int:
        """Number all rules and return the term that calls ``start``."""

    def term(self, expr: ir.Expr) -> int:
        """Return the term of an expression."""
