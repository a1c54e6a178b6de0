"""What the passes found out about bodies of rules that they met before.

A pass works body by body, and what it makes of one follows from the body and from few things about the rules that it
refers to. Grammars are often made from the same bodies again: a dialect with the tables of another database. So
answers are kept for the process, under the body as an object: passes give back the very objects of the last time,
and what one pass remembers is found by the next.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, NamedTuple, TypeVar

from stackmask.grammar.ir import Expr, RuleRef, children
from stackmask.grammar.ir.build import survey
from stackmask.grammar.source.work import ENDLESS, Work, counted, spend, spend_units
from stackmask.grammar.source.work_account import CURRENT

MAX_NODES: Final = 400_000  # of all bodies that are remembered; then all are forgotten
MAX_ANSWERS: Final = 100_000
MAX_COMPARED: Final = 100  # levels of expressions that are compared by structure, which is recursive

Answer = TypeVar("Answer")


class Facts(NamedTuple):
    """What a body is made of. References, and nodes in ``size``, count once if they are one object.

    ``written``: the places for subexpressions, in which one object may stand often. ``text``: bytes of the literals,
    counted at each place. ``depth``: levels below the body. ``counts``: its repetitions make sense.
    """

    references: tuple[RuleRef, ...]
    names: tuple[str, ...]
    kinds: frozenset[type]
    size: int
    written: int
    text: int
    depth: int
    counts: bool


_facts: dict[int, tuple[Expr, Facts]] = {}
# (pass, id of the body) → the body, and by what the answer depends on: the answer, objects known by their ids, units of work
_answers: dict[tuple[Any, int], tuple[Expr, dict[Hashable, tuple[Any, Any, int]]]] = {}
_equal: dict[Expr, Expr] = {}  # bodies that programs made, by structure
_held = [0, 0]  # nodes, answers


def facts(body: Expr) -> Facts:
    """Return what a body is made of. Cost: linear, once."""
    known = _facts.get(id(body))
    if known is not None:
        return known[1]
    found = Facts(*survey(body))
    written = found.written
    _held[0] += written
    if _held[0] > MAX_NODES:
        forget()
        _held[0] = written
    _facts[id(body)] = (body, found)
    return found


def the_same(body: Expr) -> Expr:
    """Return the object that stands for all bodies equal to this one, if it comes from no text.

    Bodies from a text stay themselves: equal ones have their own places, which diagnostics show.
    Cost: linear for a body that is new.
    """
    if id(body) in _facts or not _can_be_compared(body):
        return body
    found = _equal.setdefault(body, body)
    facts(found)  # from now on it is known
    return found


def _can_be_compared(body: Expr) -> bool:
    """Return whether no part has a place in a text, and comparing does not go too deep. Cost: linear, by levels."""
    level: dict[int, Expr] = {id(body): body}
    for _ in range(MAX_COMPARED):
        below: dict[int, Expr] = {}
        for expr in level.values():
            if expr.span is not None:
                return False
            for item in children(expr):
                below[id(item)] = item
        if not below:
            return True
        level = below
    return False


def remembered(
    task: Hashable,
    body: Expr,
    depends_on: Hashable,
    answer: Callable[[], Answer],
    held: Any = None,
) -> Answer:
    """Return what ``answer`` says, or said before for the same task, body (as an object) and dependencies.

    ``task`` names the question. ``held``: objects that ``depends_on`` knows by their ids, which must stay theirs.
    Work: what the answer took is charged whenever it is asked for, so that no outcome depends on what came before.
    """
    work: Work | None = CURRENT.get()
    if work is None:  # requests to come are charged
        with counted(Work(ENDLESS, ENDLESS, ENDLESS)):
            return remembered(task, body, depends_on, answer, held)
    key = (task, id(body))
    known = _answers.get(key)
    if known is None:
        known = _answers[key] = (body, {})
    by_dependency = known[1]
    found = by_dependency.get(depends_on)
    if found is not None:
        spend_units(found[2])
        said: Answer = found[0]
        return said
    made = _facts.get(id(body))
    size = made[1].size if made is not None else 0
    before = work.done
    spend(4 + 3 * size)
    result = answer()
    units = work.done - before
    _held[1] += 1
    if _held[1] > MAX_ANSWERS:
        forget()
    by_dependency[depends_on] = (result, held, units)
    return result


def forget() -> None:
    """Let go of everything."""
    _facts.clear()
    _answers.clear()
    _equal.clear()
    _held[:] = [0, 0]
