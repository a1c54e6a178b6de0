from collections.abc import Callable, Iterable, Mapping
from typing import final

from typing_extensions import Self

from stackmask.grammar.ir import Expr, Rule, RuleRef, RuleSet, Span

MAX_COUNT: int

def is_nothing(expr: Expr) -> bool:
    """Return whether the expression is plainly the empty language (``&`` is not looked into)."""

def sequence(items: Iterable[Expr], span: Span | None = None) -> Expr:
    """Return one item after the other."""

def choice(items: Iterable[Expr], span: Span | None = None) -> Expr:
    """Return any of the items, equal ones once."""

def repeat(item: Expr, low: int, high: int | None, span: Span | None = None) -> Expr:
    """Return low to high times the item; a repetition of a repetition becomes one where it leaves no gaps."""

def rebuild(expr: Expr, items: tuple[Expr, ...]) -> Expr:
    """Return the expression with other subexpressions; the same object where they are the same."""

def rewrite(expr: Expr, leaf: Callable[[Expr], Expr]) -> Expr:
    """Return the expression with ``leaf`` applied to everything that has no subexpressions.

    What occurs several times as the same object is rewritten once, and stays one object.
    Cost: linear; recursion as deep as the expression, which ``check_wellformed`` limits.
    """

def referred(body: Expr) -> list[str]:
    """Return the names of the rules that an expression refers to, in order. Cost: linear, no recursion."""

def survey(
    body: Expr,
) -> tuple[tuple[RuleRef, ...], tuple[str, ...], frozenset[type], int, int, int, int, bool]:
    """Return what an expression is made of: references, their names, types of nodes, counts."""

def derives(expr: Expr, productive: Mapping[str, bool]) -> bool:
    """Return whether an expression derives any string, given which rules do."""

def without_nothing(expr: Expr) -> Expr:
    """Return an expression without the alternatives that plainly derive nothing, but for those of operators."""

def effects_of(rules: Mapping[str, Rule]) -> tuple[bool, bool, bool]:
    """Return whether some rule restricts what may follow, tests the semantic state or keys, may change that state."""

def with_bodies(ruleset: RuleSet, bodies: Mapping[str, Expr]) -> RuleSet:
    """Return the RuleSet with these bodies (of old and of new rules) and no other rules."""

@final
class Renaming:
    """Other names for the rules that expressions refer to."""

    @property
    def count(self) -> int:
        """Parts that were looked at."""

    def __new__(cls, names: dict[str, str]) -> Self: ...
    def renamed(self, body: Expr) -> Expr:
        """Return an expression with the other names; the same object where no name changes.

        What occurs several times as the same object stays one object. Cost: linear in the parts that are not pure;
        recursion as deep as the expression, up to Python's limit.
        """

def components(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the strongly connected components, each after those that it refers to.

    Source: R. E. Tarjan, Depth-first search and linear graph algorithms, 1972; with an explicit stack.
    """
