from typing import Any

from stackmask.grammar import ir
from stackmask.grammar.json_schema.nodes.interfaces import States, StateWriter
from stackmask.grammar.json_schema.nodes.nodes import KeySet, State

class Member:
    """A key with a name: its value's state, whether it must be there, whether `properties` declares it."""

    def __init__(self, name: str, state: State, required: bool, declared: bool) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def state(self) -> State: ...
    @property
    def required(self) -> bool: ...
    @required.setter
    def required(self, value: bool) -> None: ...
    @property
    def declared(self) -> bool: ...

def sort_out(
    atoms: tuple[tuple[Any, ...], ...],
) -> tuple[
    dict[str, int | list[int]],
    dict[str, None],
    list[tuple[KeySet, int]],
    list[tuple[KeySet, int]],
    list[tuple[KeySet, int]],
    int,
    int | None,
    dict[str, None],
]:
    """Return what atoms of objects say, by kind.

    (the literal, or a list of them, by declared name; required names; rules for many keys; keys that must be
    found; those that have no name; the least and the greatest count; all names). Cost: linear.
    """

def find_members(
    algebra: States,
    declared: dict[str, int | list[int]],
    required: dict[str, None],
    rules: list[tuple[KeySet, int]],
    names: dict[str, Any],
) -> list[Member] | None:
    """Return the keys with a name that may be there; None if one that must be may not.

    Cost: for a name, the rules for many keys.
    """

def live_members(members: list[Member], productive: dict[State, bool]) -> list[Member]:
    """Return the members whose values there are."""

def count_live(members: list[Member], productive: dict[State, bool]) -> int:
    """Return how many members have values; -1 if one that must be there has none."""

def add_states(members: list[Member], seen: set[State], states: list[State]) -> int:
    """Add the states of the members that were not seen yet."""

def count_required(members: list[Member]) -> int:
    """Return how many members must be there."""

def by_declaration(members: list[Member]) -> tuple[list[Member], list[Member]]:
    """Return the members that `properties` declares, and the others."""

def chain_size(members: list[Member]) -> int:
    """Return how many members a chain writes: each place where it may start has its own tail."""

def write_members(
    members: list[Member], known: dict[tuple[str, State], ir.Expr], lowering: StateWriter, colon: ir.Expr
) -> list[ir.Expr]:
    """Return the members as expressions: key, colon, value. Equal ones are one, out of ``known``."""

def write_slots(
    members: list[Member], known: dict[tuple[str, State, int], ir.Expr], lowering: StateWriter, colon: ir.Expr
) -> list[ir.Expr]:
    """Return the members as expressions, each with its slot. Equal ones are one, out of ``known``."""

def write_item(member: Member, expr: ir.Expr, known: dict[int, ir.Expr], comma: ir.Expr) -> ir.Expr:
    """Return a member behind another one, which may be left out if it is not required.

    ``known`` holds it by the address of its expression, which lives in what is known.
    """

def write_chain(
    members: list[Member],
    written: list[ir.Expr],
    known: dict[int, ir.Expr],
    blank: ir.Expr,
    comma: ir.Expr,
    rest: list[ir.Expr],
    alone: list[ir.Expr],
) -> list[ir.Expr]:
    """Return the ways to write members in order, one for each that may come first.

    ``rest``: what comes behind them all; ``alone``: the ways on with no member. What may follow a member
    is one expression, part of that of the member before it, so that it is lowered once. Cost: linear.
    """
