"""What an action of a place is, and how it is entered for the rules that it belongs to.

An action maps the state and the text that was read to the state after it, or to None where the text may not end
like this. It then can always go on another way: an expression with an operator, a name with a letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, Final, TypeAlias

from stackmask.grammar.ir import never_forbids, reads_at_most, tells_apart
from stackmask.grammar.sql.scope.relations import QUOTES, fold

Action: TypeAlias = Callable[[Any, bytes], Hashable | None]  # of a Query, and to one
Places: TypeAlias = dict[str, Action]
KEPT: Final = (
    200  # bytes of an expression, without the names in it, that tell whether it is a name or a number
)
# what is left of an expression that is a name, which has had an action of its own
NAMED: Final = re.compile(r"[(\s]*\.?[)\s]*(?:collate\s*\w+[)\s]*)*(?:as\s*)?", re.IGNORECASE)
# the beginnings of that
TO_BE_NAMED: Final = re.compile(
    r"[(\s]*\.?[)\s]*(?:collate\s*\w+[)\s]*)*(?:as?\s*|c(?:o(?:l(?:l(?:a(?:te?)?)?)?)?)?|collate\s*\w*)?",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def _beginnings(names: frozenset[str]) -> frozenset[str]:
    return frozenset(name[:size] for name in names for size in range(len(name) + 1))


def tells_names_apart(names: Callable[[Any], frozenset[str] | None]) -> Callable[[Action], Action]:
    """Mark an action to which all names are one that ``names`` of the query does not hold; none are if it is None."""
    return tells_apart(names, _may_be_one_of)


def _may_be_one_of(names: frozenset[str] | None, begun: bytes) -> bool:
    text = fold(begun.decode("utf-8", "ignore"))
    if text[:1] in QUOTES:
        text = text[1:].partition(QUOTES[text[0]])[0]
    return names is None or text in _beginnings(names)


PLACES: Final[dict[str, Places]] = {"sqlite": {}, "postgres": {}}


def place(*names: str, of: str = "") -> Callable[[Action], Action]:
    """Return the decorator that enters an action for the rules that it names. ``of``: the only dialect that has it."""

    def enter(action: Action) -> Action:
        for dialect, places in PLACES.items():
            if of in ("", dialect):
                places.update(dict.fromkeys(names, action))
        return action

    return enter


def sets(*names: str, of: str = "", **changes: Any) -> None:
    """Enter the action that changes fields of the query, and never forbids, for the rules that it names."""

    @place(*names, of=of)
    @never_forbids
    @reads_at_most(0)
    def change(query: Any, _text: bytes) -> Any:
        return query._replace(**changes)


def forbids(*names: str, of: str = "") -> Callable[[Callable[[Any], bool]], Callable[[Any], bool]]:
    """Return the decorator that enters the action that a test of the query forbids, and that changes nothing."""

    def enter(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
        @place(*names, of=of)
        @reads_at_most(0)
        def check(query: Any, _text: bytes) -> Hashable | None:
            return None if test(query) else query

        return test

    return enter
