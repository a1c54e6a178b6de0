"""The stores of one compiler: one, and more while threads ask for masks at once.

A store makes one mask at a time. While a call on it takes long, other threads of the server would wait. So a
thread that meets a store at work goes to another one, and stays there: its grammars are compiled in that store, and
its masks are made on another core. Stores share nothing, so what several of them need is made in each. A program of
one thread has one store.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakSet, WeakValueDictionary, ref

from stackmask.pda.errors import BudgetError
from stackmask.pda.store import Store
from stackmask.runtime.matching.recent_grammars import RecentFamilies

if TYPE_CHECKING:
    from stackmask.grammar.outputs import Output
    from stackmask.runtime.matching.compiler import CompiledGrammar

MAX_LANES = 4  # stores that share ``cache_bytes``
FAMILIES_SHARE = 8  # of a store's bytes go to the families of grammars that may come again
RETIRED_SHARE = 8  # of ``cache_bytes`` are left to the masks of a store that was put aside
MASKS_SHARE = 8  # of ``cache_bytes`` are left to masks, however much live requests hold
SECONDS_BETWEEN_COLLECTIONS = 1.0  # while requests are refused
LEAST_HELD = 32 << 20  # bytes that live requests may hold, however small ``cache_bytes`` is
WEIGHED = 32  # weighing goes through all families, so it waits for so many new matchers


class Lane:
    """One store, and the grammars that are compiled in it."""

    __slots__ = ("__weakref__", "families", "grammars", "store")

    def __init__(self, store: Store, cache_bytes: int) -> None:
        self.store = store
        # by the term of the start rule, the first semantic state, and the type of its values
        self.grammars: WeakValueDictionary[tuple[int, int, Output | None], CompiledGrammar]
        self.grammars = WeakValueDictionary()
        self.families = RecentFamilies(cache_bytes // FAMILIES_SHARE)

    def forget(self, automata: bool) -> None:
        """Let go of what no live matcher uses: families and, where the store is put aside, the automata of grammars."""
        self.families.clear()
        for compiled in list(self.grammars.values()):
            compiled._forget(automata)

    def set_budget(self, cache_bytes: int) -> None:
        """Change how many bytes may be remembered."""
        self.store.set_budget(cache_bytes)
        self.families.max_bytes = cache_bytes // FAMILIES_SHARE


class Lanes:
    """The lanes of one compiler. Hold the lock of the compiler.

    ``make`` makes a store with so many bytes for its cache. All lanes share ``cache_bytes`` evenly.
    Invariant: there is always a first lane; the others go when nobody uses a grammar of theirs.
    """

    def __init__(self, make: Callable[[int], Store], cache_bytes: int) -> None:
        self._make = make
        self._cache_bytes = cache_bytes
        self._stores: WeakSet[Store] = WeakSet()  # also those that were put aside, while a matcher uses them
        self._lanes = [self._lane(cache_bytes)]
        # its ``lane`` is a weak reference to the one that the thread goes to: threads at rest keep no store alive
        self._thread = threading.local()
        self._until_weighed = WEIGHED
        self._collected = float("-inf")  # when garbage was collected last
        self.generation = 1

    def of(self, store: Store) -> Lane | None:
        """Return the lane of a store, unless the store is full, or was given up."""
        lane = self.holding(store)
        return None if lane is None or store.is_spent() else lane

    def holding(self, store: Store) -> Lane | None:
        """Return the lane of a store, full or not, unless it was put aside."""
        for lane in self._lanes:
            if lane.store is store:
                return lane
        return None

    def open(self) -> Lane:
        """Return the lane of this thread for a new grammar: another one if its store is at work just now."""
        self._tidy()
        lane = self._usual() or self._lanes[0]
        if lane.store.lock.is_taken():
            lane = self._idle(lane.store) or lane
        self._thread.lane = ref(lane)
        return lane

    def aside(self, store: Store) -> Lane | None:
        """Return a lane with another store, which is not at work; None if all are. The thread stays there."""
        self._tidy()
        lane = self._usual()
        if lane is None or lane.store is store or lane.store.lock.is_taken():
            lane = self._idle(store)
        if lane is not None:
            self._thread.lane = ref(lane)
        return lane

    def _usual(self) -> Lane | None:
        """Return the lane that this thread went to last, unless it was given up."""
        known: ref[Lane] | None = getattr(self._thread, "lane", None)
        lane = None if known is None else known()
        return lane if lane in self._lanes else None

    def count(self) -> bool:
        """Count a new matcher; return whether it is time to ``admit`` it. Needs no lock: a lost count does no harm."""
        self._until_weighed -= 1
        return self._until_weighed <= 0

    def admit(self) -> None:
        """Weigh what live requests hold.

        Raises: BudgetError if that takes all of ``cache_bytes``.
        """
        self._refuse_if_full()
        self._until_weighed = max(WEIGHED, sum(len(store.families) for store in self.stores()))

    def grammars_in(self, store: Store) -> int:
        """Return how many compiled grammars use a store in use; 0 for one that was put aside."""
        return sum(len(lane.grammars) for lane in self._lanes if lane.store is store)

    def stores(self) -> list[Store]:
        """Return the stores in use, those that were put aside included."""
        return list(self._stores)

    def _refuse_if_full(self) -> None:
        """Leave to masks what live requests leave; refuse new requests where those hold all of it."""
        most = max(self._cache_bytes, LEAST_HELD)
        pinned = self._pinned()
        if pinned > most:
            for lane in self._lanes:
                lane.families.weigh()
            pinned = self._pinned()
        if pinned > most:
            for lane in self._lanes:
                lane.forget(False)
            now = time.monotonic()
            if now - self._collected > SECONDS_BETWEEN_COLLECTIONS:
                self._collected = now
                gc.collect()  # matchers of a refused request may be in its traceback
            pinned = self._pinned()
        stores = self.stores()
        for store in stores:
            store.limit_masks(max(most - pinned, most // MASKS_SHARE) // len(stores))
        if pinned > most:
            self._until_weighed = 0  # the next request weighs again
            raise BudgetError(
                "cache_bytes",
                most,
                "bytes that live requests of this compiler hold",
                advice="let some end, or raise it with Compiler(cache_bytes=…)",
            )

    def _pinned(self) -> int:
        """Return about how many bytes cannot be dropped: all but masks."""
        return sum(store.nbytes_held() + store.nbytes_of_families() for store in self.stores())

    def _lane(self, share: int) -> Lane:
        store = self._make(share)
        self._stores.add(store)
        return Lane(store, share)

    def _idle(self, other_than: Store) -> Lane | None:
        for lane in self._lanes:
            if lane.store is not other_than and not lane.store.lock.is_taken():
                return lane
        return self._add() if len(self._lanes) < MAX_LANES else None

    def _add(self) -> Lane:
        share = self._cache_bytes // (len(self._lanes) + 1)
        lane = self._lane(share)
        self._lanes.append(lane)
        self._share_out()
        return lane

    def _tidy(self) -> None:
        spent = [k for k, lane in enumerate(self._lanes) if lane.store.is_spent()]
        for k in spent:
            self._replace(k)
        used = [
            lane
            for k, lane in enumerate(self._lanes)
            if k == 0 or lane.grammars or lane.store.lock.is_taken()
        ]
        if len(used) < len(self._lanes):
            self._lanes = used
            self._share_out()
        if spent or self._until_weighed <= 0:
            self.admit()

    def _replace(self, k: int) -> None:
        """Put a new store in the place of one; the old one goes with the last matcher that uses it."""
        self._lanes[k].forget(True)
        self._lanes[k].store.set_budget(self._cache_bytes // RETIRED_SHARE)
        self._lanes[k] = self._lane(self._cache_bytes // len(self._lanes))
        self.generation += 1

    def _share_out(self) -> None:
        for lane in self._lanes:
            lane.set_budget(self._cache_bytes // len(self._lanes))

    def __len__(self) -> int:
        return len(self._lanes)
