"""What the writers of arrays and objects ask of the writer of values: an interface, so that they need not know it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol

from stackmask.grammar import ir
from stackmask.grammar.json_schema.algebra.algebra import Algebra
from stackmask.grammar.json_schema.nodes.forms import ArrayForm, ObjectForm
from stackmask.grammar.json_schema.nodes.nodes import State
from stackmask.grammar.json_schema.nodes.state_values import Value
from stackmask.grammar.json_schema.sets.string_sets import Texts
from stackmask.grammar.json_schema.write.style import Style
from stackmask.grammar.json_schema.write.whitespace import Whitespace


class ValueWriter(Protocol):
    """Writes the values of states, and holds the rules of one schema."""

    algebra: Algebra
    style: Style
    whitespace: Whitespace
    productive: dict[State, bool]
    expressions: dict[State, ir.Expr]
    rules: dict[str, ir.Rule]
    uses_prelude: bool
    few_words: dict[int, tuple[Texts, list[str] | None]]

    def capture(self, item: ir.Expr, action: ir.Action) -> ir.Expr:
        """Return an expression with an action on what it matches, beside the depth where that counts."""

    def dynamic(self, resolver: Callable[[Hashable], ir.Expr]) -> ir.Expr:
        """Return what a resolver returns, which is asked beside the depth where that counts."""

    def is_live(self, state: State) -> bool:
        """Return whether a state has a value."""

    def fresh(self, kind: str) -> str:
        """Return a rule name that is not used yet."""

    def expression(self, state: State) -> ir.Expr:
        """Return the expression of a productive state."""

    def structured(self, state: State) -> ir.Expr:
        """Return the arrays and objects of a state."""

    def forms(self, value: Value) -> list[ArrayForm | ObjectForm]:
        """Return the arrays and objects of a value of which there are any."""

    def container(self, form: ArrayForm | ObjectForm) -> ir.Expr:
        """Return the arrays or objects of one form."""

    def choice(self, options: list[ir.Expr]) -> ir.Expr:
        """Return any of the expressions."""
