"""The families of configurations that a compiler keeps for grammars that come again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from stackmask.pda.stack.configurations import ConfigSpace
    from stackmask.runtime.jump_forward.jump_forward import JumpPlanner

MAX_FAMILIES = 1024
WEIGHED = 16  # weighing goes through all, so it waits for so many that are new

Key = tuple[int, int]  # of a grammar in its store: the term of its start rule, its first semantic state


class Family(NamedTuple):
    """What the matchers of one grammar have found: its configurations, and what is forced there, if asked for."""

    space: ConfigSpace
    planner: JumpPlanner | None


class RecentFamilies:
    """The families met last, within ``max_bytes``. Safe to use from several threads.

    A server compiles the schema of a request, answers, and lets go of both; when the same schema comes again,
    its matchers go on from what the last ones knew. All families are of one store, and do not keep grammars alive.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._families: OrderedDict[Key, Family] = OrderedDict()
        self._lock = threading.Lock()
        self._new = 0  # since they were weighed
        self._last: tuple[Key, ConfigSpace, JumpPlanner | None] | None = (
            None  # what was put last, if it is still there
        )

    def get(self, key: Key) -> Family | None:
        """Return the family of a grammar, or None."""
        return self._families.get(key)

    def put(self, key: Key, space: ConfigSpace, planner: JumpPlanner | None) -> None:
        """Remember a family as the one met last, and forget those met longest ago if it is too much.

        Cost: a look-up. They grow as matchers go on, so all are weighed now and then when one comes in.
        """
        last = self._last  # a server makes many matchers of one grammar after the other
        if last is not None and last[1] is space and last[2] is planner and last[0] == key:
            return
        with self._lock:
            self._last = (key, space, planner)
            known = self._families.get(key)
            if known is not None and known.space is space:
                self._families[key] = Family(space, planner)
                self._families.move_to_end(key)
                return
            self._families[key] = Family(space, planner)
            self._families.move_to_end(key)
            self._new += 1
            if self._new >= WEIGHED:
                self._new = 0
                self._weigh()

    def _weigh(self) -> None:
        self._last = None
        total = sum(family.space.nbytes_held() for family in self._families.values())
        while self._families and (len(self._families) > MAX_FAMILIES or total > self.max_bytes):
            total -= self._families.popitem(last=False)[1].space.nbytes_held()

    def weigh(self) -> None:
        """Forget those met longest ago if all take too much now. Cost: a moment for each."""
        with self._lock:
            self._weigh()

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._last = None
            self._families.clear()

    def __len__(self) -> int:
        return len(self._families)
