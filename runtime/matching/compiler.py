"""The compiler, which converts grammars to matchers for one vocabulary."""

from __future__ import annotations

import gc
import os
import threading
import time
import weakref
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet, WeakValueDictionary, ref

from stackmask.grammar.front_ends import classes_worth_preparing, key_syntax
from stackmask.grammar.grammar import Grammar
from stackmask.grammar.ir.dump import summary
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.source.options import ELSEWHERE, ArgumentError, explains_options, whole_number
from stackmask.pda.ahead import Precomputation
from stackmask.pda.automaton import Automaton
from stackmask.pda.errors import BudgetError
from stackmask.pda.limits import Limits, check_limits
from stackmask.pda.memory.work_meter import WorkAccount
from stackmask.pda.stack.configurations import ConfigSpace
from stackmask.pda.store import DEFAULT_CACHE_BYTES, Store, TokenInfo
from stackmask.runtime.matching.copies import fork_for_copies
from stackmask.runtime.matching.matcher import Matcher
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stackmask.grammar.outputs import Output
    from stackmask.grammar.source.work import Event
    from stackmask.pda.stack.configurations import ConfigSpace
    from stackmask.runtime.jump_forward.jump_forward import JumpPlanner
    from stackmask.runtime.matching.budgets import FamilyBudgets

SLICE_SECONDS = 0.005  # for which masks made ahead of time hold the lock of their store
MOST_BUDGET = 1 << 40  # more than can be counted to; multiples of it are whole numbers of the processor
WORTH_A_THREAD = 50_000  # tokens; the trie of fewer takes some milliseconds
WORTH_PREPARING = 20_000  # tokens, as models have; fewer are made for a test
LEAST_CACHE_BYTES = 1 << 24  # of a cache in which the some 50 KB that any JSON value takes do not matter
LEAST_LIMIT = 1 << 16  # likewise: of terms, configurations, semantic states
MOST_STOPS = 4  # sets of stop tokens that have a compiler of their own
PAUSE_SECONDS = 0.0001  # so that who waits for the lock is woken

fork_for_copies(Matcher)


class CompiledGrammar:
    """A grammar compiled for one vocabulary; users cannot modify it, and its matchers share it.

    States and masks are computed on demand and cached for all matchers. ``grammar`` and ``vocabulary`` are
    its sources.
    """

    __slots__ = (
        "__weakref__",
        "_account",
        "_budgets",
        "_compiler",
        "_elsewhere",
        "_family",
        "_kept_automaton",
        "_names_differ",
        "_planner",
        "grammar",
        "vocabulary",
    )

    grammar: Grammar
    """The source grammar, in which markers are special tokens of the vocabulary."""

    vocabulary: Vocabulary
    """The vocabulary of its masks."""

    def __init__(
        self, grammar: Grammar, compiler: Compiler, automaton: Automaton, account: WorkAccount
    ) -> None:
        self.grammar = grammar
        self.vocabulary = compiler.vocabulary
        # None if its store was put aside, until it is needed
        self._kept_automaton: Automaton | None = automaton
        self._family: ConfigSpace | None = None  # of the matchers that were made last
        self._planner: JumpPlanner | None = None  # of that family
        self._budgets: FamilyBudgets | None = None  # likewise
        self._account = (
            account  # charged for reading and compiling; those of its matchers begin with what is left
        )
        self._compiler = compiler
        self._names_differ = False  # equal rules came under other names too
        self._elsewhere: dict[Store, CompiledGrammar] = {}  # the same grammar in other stores

    @property
    def _automaton(self) -> Automaton:
        """The automaton of the grammar, in a store that is in use."""
        found = self._kept_automaton
        while found is None:
            self._compiler._renew(self)
            found = self._kept_automaton  # which another thread may have let go of again
        return found

    def _forget(self, automaton: bool) -> None:
        """Drop data that can be recomputed: the family of the next matchers and, on request, the automaton."""
        self._family = None
        self._planner = None
        self._budgets = None
        if automaton:
            self._kept_automaton = None
            self._elsewhere = {}

    def matcher(self, *, stop_ids: Iterable[int] | None = None) -> Matcher:
        """Return a new matcher at the start of the grammar.

        If another thread is computing masks of this grammar, the matcher belongs to another store.
        ``stop_ids``: the tokens that end this text, instead of those of the vocabulary; servers get them with
        each request. Masks are exactly those of a vocabulary with these stop tokens.
        Raises: VocabularyError if one is out of range.
        Cost: none if all of them are special tokens and the grammar names none; otherwise a compiler is kept
            for each of the last four such sets, with an eighth of ``cache_bytes``.
        """
        stops = None if stop_ids is None else _stops_of(stop_ids)
        if stops is not None and set(stops) == set(self.vocabulary.stop_ids):
            stops = None
        if stops is not None and not self._is_plain_stop(stops):
            other = self._compiler._with_stops(stops)
            return other.compile(self.grammar).matcher()
        compiled = self._compiler._not_at_work(self)
        matcher = Matcher(compiled, None, stops)
        self._compiler._remember(compiled)
        return matcher

    def _is_plain_stop(self, stops: tuple[int, ...]) -> bool:
        """Return whether the matcher alone can handle the stop tokens: they are not text, and no rule names a token."""
        return not self._automaton.lowered.token_classes and self.vocabulary.special_ids.issuperset(stops)

    def __repr__(self) -> str:
        return f"<CompiledGrammar: {summary(self.grammar.rules)}, for {self.vocabulary.size} tokens>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _compiled_again, (self._compiler, self.grammar)

    def _repr_html_(self) -> str:
        from stackmask.grammar.source.notebook import table, words

        stops = ", ".join(map(str, self.vocabulary.stop_ids[:8]))
        return table(
            "CompiledGrammar",
            [
                ("grammar", words(summary(self.grammar.rules))),
                (
                    "vocabulary",
                    words(f"{self.vocabulary.size:,} tokens, of which {stops or 'none'} end a text"),
                ),
            ],
        )

    def precompute(self, budget: int = 1_000_000) -> dict[str, Any]:
        """Compute the masks that texts can need ahead of time, for a server that knows its grammars at start.

        They equal masks computed on demand. Other threads may use the compiler meanwhile. Ctrl-C ends the
        call; finished masks are kept, and the next call computes the missing ones.

        ``budget`` bounds the states (a local state, the keys of its object, and the return of its rule) and
        the walks of the vocabulary, where a large walk counts as many; states after short texts come first.
        The call never drops masks: it stops when masks fill three quarters of their memory, or states a third
        of ``cache_bytes``.
        Returns: ``states`` found, ``walks`` done, ``visits`` of their continuations, ``passes`` (the last
        found nothing new), ``configurations`` of short texts whose masks are assembled, 4,000 at most, and
        whether it is ``complete``, so that no text needs a further walk. Otherwise ``stopped`` gives the
        reason: "budget"; "cache_bytes"; the name of a limit of the compiler; or "text" if some masks depend
        on earlier text (captures, callables, stacks that a walk would have to know too deeply): all other
        masks were computed.
        Cost: about a second for 100,000 states, and 1 KB for each. A JSON grammar has 50, a schema usually
            hundreds to 50,000: each count of a ``maxLength`` or ``maxItems`` adds some, as does each set of
            optional properties with ``property_order="any"``. ``sql.ebnf`` takes 4 seconds.
        """
        self._compiler._renew(self)
        Matcher(self)  # makes the family
        self._compiler._remember(self)
        automaton = self._automaton
        store = automaton.store
        budget = min(whole_number("budget", budget), MOST_BUDGET)
        with store.lock:
            work = Precomputation(
                store.masks, automaton.lowered.start, automaton.start_state, budget, self._family
            )
        try:
            done = False
            while not done:
                with store.lock:
                    done = work.advance(SLICE_SECONDS)
                    if not done and store.is_spent(3):
                        work.stop("cache_bytes")
                # others go on in between
                time.sleep(PAUSE_SECONDS)
        except BudgetError as error:
            work.stop(error.limit)
        return {**work.counts(), "complete": work.stopped is None, "stopped": work.stopped}

    def _rules_around(
        self, symbols: Sequence[int | bytes], what: int | bytes = b"", position: int = 0
    ) -> str:
        """Name the rules that contain the position where ``what`` is refused; empty if they cannot be determined.

        ``symbols``: the accepted token ids and text. The schema options that accept ``what`` are also named.
        Cost: about 10 µs per byte, 0.2 s at most, and that of ``wider``.
        """
        from stackmask.runtime.matching.refusal import describe_place, describe_wider

        info = self._automaton.store.info
        read = [*symbols, what[:position]] if isinstance(what, bytes) else list(symbols)
        place = "" if self._names_differ else describe_place(self.grammar.rules, read, info)
        return place + (describe_wider(self.grammar, [*symbols, what], info) if what != b"" else "")

    def stats(self) -> dict[str, int]:
        """Return sizes and counters of its store: terms, states, masks, walks, bytes.

        ``family_bytes``: size of the configurations of its matchers. ``compile_work``, ``compile_memory``:
        the part of ``max_work`` and ``max_memory`` used to read and compile the grammar; `Matcher.account`
        has the figures of a matcher.
        """
        account = self._account
        return {
            **self._automaton.store.counts(),
            "family_bytes": 0 if self._family is None else self._family.nbytes_held(),
            "compile_work": account.allowance - account.left,
            "compile_memory": account.memory - account.memory_left,
        }


class Compiler:
    """Compiles grammars for one vocabulary. Threads may share it.

    Equal grammars are compiled once, and equal rules of different grammars share their states and masks.
    ``cache_bytes`` bounds the caches. Half of this is for masks, which are dropped and recomputed beyond it,
    and half for states. When states exceed their half, new matchers get a new store, and the old store is
    freed with its last matcher. Threads that would block each other get separate stores, four at most, which
    share ``cache_bytes``. Masks never change. If memory runs out in the middle of a call, matchers of the
    damaged store raise SpoiledError, and new matchers get a new store.

    ``cache_dir``: a folder for data that the first compiler of a vocabulary computes, for later processes.
    The folder takes at most 256 MB and may be shared. If it cannot be used, a warning is issued once, and the
    compiler works without it; files are checked against the tokens, so that no file changes a mask.
    Cost: the first compiler of a vocabulary builds its trie, about 25 ms for 128,000 tokens, while the schema
        reader is imported; compiling takes milliseconds, since states are built on demand. If memory allows,
        each compiler computes the first mask of an arbitrary JSON value for its first store, in half a
        millisecond.
    """

    vocabulary: Vocabulary
    """The vocabulary of the compiled grammars."""

    limits: Limits
    """The limits of grammars without their own limits."""

    cache_bytes: int
    """The maximum number of bytes of states and masks."""

    @explains_options(ELSEWHERE["compiler"])
    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        limits: Limits | None = None,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
        cache_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        if not isinstance(vocabulary, Vocabulary):
            raise ArgumentError(
                f"a compiler is for a Vocabulary, not {type(vocabulary).__name__}: make one with "
                "Vocabulary.from_huggingface(tokenizer), from_tiktoken(…), from_sentencepiece(…) or Vocabulary(tokens)"
            )
        check_limits(limits)
        self.vocabulary = vocabulary
        self.limits = limits or Limits()
        self.cache_bytes = whole_number("cache_bytes", cache_bytes)
        self._lock = threading.RLock()
        _make_ready(vocabulary, cache_dir)
        self._info = token_info(vocabulary)
        # a method would hold the compiler, whose memory would be free at the next collection only
        self._lanes = Lanes(partial(_new_store, self._info, self.limits), cache_bytes)
        self._by_stops: dict[tuple[int, ...], Compiler] = {}  # the one used last comes last
        if len(vocabulary.token_bytes) >= WORTH_PREPARING and self._has_room():
            self._prepare()

    def __repr__(self) -> str:
        return f"<Compiler: for {self.vocabulary.size} tokens, keeps {self.cache_bytes >> 20} MB>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _compiler_again, (self.vocabulary, self.limits, self.cache_bytes)

    def _has_room(self) -> bool:
        """Return whether the states of an arbitrary JSON value leave enough memory for the first requests."""
        shared = (self.limits.max_terms, self.limits.max_configurations, self.limits.max_semantic_states)
        return self.cache_bytes >= LEAST_CACHE_BYTES and min(shared) >= LEAST_LIMIT

    def _prepare(self) -> None:
        """Compute the first mask of an arbitrary JSON value.

        Requests often need this mask, or the mask of an arbitrary object; unconstrained values in schemas
        share part of it.
        """
        mask: Any = array("i", bytes(4 * -(-self.vocabulary.size // 32)))
        with suppress(StackmaskError):  # raised again where the mask is requested
            self.compile(Grammar.json()).matcher().fill_next_token_bitmask(mask)

    def _with_stops(self, stop_ids: tuple[int, ...]) -> Compiler:
        """Return a compiler for the same vocabulary with other stop tokens; the last four are cached.

        Raises: VocabularyError if an id is out of range.
        """
        with self._lock:
            known = self._by_stops.pop(stop_ids, None)
            if known is None:
                vocabulary = self.vocabulary.with_stop_ids(stop_ids)
                known = Compiler(vocabulary, limits=self.limits, cache_bytes=self.cache_bytes // 8)
            self._by_stops[stop_ids] = known
            while len(self._by_stops) > MOST_STOPS:
                del self._by_stops[next(iter(self._by_stops))]
            return known

    def compile(self, grammar: Any, *, cancel: Event | None = None) -> CompiledGrammar:
        """Compile a grammar, or anything that ``Grammar.of`` accepts, within its own limits or else the
        compiler's.

        ``cancel``: a ``threading.Event``, or another object with ``is_set()``. Once another thread sets it,
        the call ends within milliseconds, and the compiler and the grammar are unchanged.
        Raises: CancelledError; GrammarError if the grammar has errors; VocabularyError if the vocabulary
        cannot spell the grammar's texts, or lacks a special token that the grammar names; BudgetError if a
        limit is reached.
        """
        if not isinstance(grammar, Grammar):
            grammar = Grammar.of(grammar, limits=self.limits)
        grammar = grammar.for_vocabulary(self.vocabulary.special_names)
        with self._lock:
            lane = self._lanes.open()
        return self._compile_in(lane, grammar, cancel)

    def _compile_in(self, lane: Lane, grammar: Grammar, cancel: Event | None = None) -> CompiledGrammar:
        automaton, account = self._lowered(grammar, lane.store, cancel)
        # equal rules have been given equal terms; their texts may become values of other types
        states = (automaton.lowered.start, automaton.start_state)
        key = (*states, _own_output(grammar))
        with self._lock:
            compiled = lane.grammars.get(key)
            if compiled is None:
                compiled = CompiledGrammar(grammar, self, automaton, account)
                lane.grammars[key] = compiled
                known = lane.families.get(states)
                if known is not None:
                    compiled._family, compiled._planner = known
            else:  # a costlier text of the same grammar leaves no less for this request
                compiled._account.ease(account)
                if (
                    grammar is not compiled.grammar
                    and grammar.normalized.sources != compiled.grammar.normalized.sources
                ):
                    compiled._names_differ = True  # messages have the names of this request's grammar
        return compiled

    def _lowered(
        self, grammar: Grammar, store: Store, cancel: Event | None = None
    ) -> tuple[Automaton, WorkAccount]:
        """Create the automaton of a grammar in a store. Return it with the account of the request."""
        rules = grammar.normalize(self.limits, cancel)  # made on first use: in Python, so without the lock
        allowance = self.limits.max_work
        if grammar.limits is not None:
            allowance = max(allowance, grammar.limits.max_work)
        account = WorkAccount(allowance, grammar.work, cancel, self.limits)
        known = store.nbytes_of_rules()
        done = False
        store.lock.enter(account)
        try:
            automaton = Automaton(rules, store)
            done = True
        finally:
            store.lock.leave(done)
        account.hold(store.nbytes_of_rules() - known)
        return automaton, account

    def stats(self) -> dict[str, Any]:
        """Return the memory use of each store: bytes by type of data, and numbers of grammars and families of
        matchers.

        A store that is ``full`` accepts no new matchers, and is freed with its last one. Cost: a constant for
        each family.
        """
        with self._lock:
            stores: list[dict[str, Any]] = [
                {
                    "bytes": store.holders(),
                    "families": len(store.families),
                    "grammars": self._lanes.grammars_in(store),
                    "full": store.is_spent(),
                }
                for store in self._lanes.stores()
            ]
        total = sum(sum(store["bytes"].values()) for store in stores)
        return {"cache_bytes": self.cache_bytes, "bytes": total, "stores": stores}

    @property
    def _generation(self) -> int:
        """The number of stores that were the first store so far, including replacements of full ones."""
        return self._lanes.generation

    def _remember(self, compiled: CompiledGrammar) -> None:
        """Keep the findings of a grammar's matchers, in case the grammar is dropped and compiled again."""
        automaton = compiled._automaton
        lane = self._lanes.holding(automaton.store)
        if lane is not None and compiled._family is not None:
            key = (automaton.lowered.start, automaton.start_state)
            lane.families.put(key, compiled._family, compiled._planner)

    def _not_at_work(self, compiled: CompiledGrammar) -> CompiledGrammar:
        """Return a compiled grammar, or its equal in another store if its own store is busy."""
        self._renew(compiled)
        store = compiled._automaton.store
        return (store.lock.is_taken() and self._aside(compiled, store)) or compiled

    def _renew(self, compiled: CompiledGrammar) -> None:
        """Move a compiled grammar to a usable store, if its own is full or spoiled; its matchers stay."""
        known = compiled._kept_automaton
        if known is not None and self._lanes.of(known.store) is not None:
            if self._lanes.count():
                with self._lock:
                    self._lanes.admit()
            return
        with self._lock:
            lane = self._lanes.open()
        automaton, account = self._lowered(compiled.grammar, lane.store)
        with self._lock:
            compiled._kept_automaton, compiled._account = automaton, account
            compiled._family = None
            compiled._planner = None
            compiled._budgets = None
            key = (automaton.lowered.start, automaton.start_state, _own_output(compiled.grammar))
            lane.grammars.setdefault(key, compiled)

    def _aside(self, compiled: CompiledGrammar, store: Store) -> CompiledGrammar | None:
        """Return a grammar compiled in another store, since this one is busy.

        None if all stores are busy, if the grammar reaches a limit there, or if live requests, including this
        one, hold all memory.
        """
        try:
            with self._lock:
                lane = self._lanes.aside(store)
                elsewhere = compiled._elsewhere.items()
                others = {other: known for other, known in elsewhere if self._lanes.of(other) is not None}
            if lane is None:
                return None
            if lane.store not in others:
                others[lane.store] = self._compile_in(lane, compiled.grammar)
        except BudgetError:
            return None
        found = others[lane.store]
        found._names_differ |= compiled._names_differ
        compiled._elsewhere = others
        return found


def _new_store(info: TokenInfo, limits: Limits, cache_bytes: int) -> Store:
    store = Store(info, limits, cache_bytes, key_syntax())
    store.prepare(classes_worth_preparing())
    return store


def _make_ready(vocabulary: Vocabulary, cache_dir: str | os.PathLike[str] | None) -> None:
    """Build the trie of a vocabulary in a separate thread, while this thread imports the grammar readers."""
    folder = None
    if cache_dir is not None:
        if not isinstance(cache_dir, str | os.PathLike) or not os.fspath(cache_dir):
            raise ArgumentError(
                f"`cache_dir` is the path of a folder, not {cache_dir!r:.60} ({type(cache_dir).__name__})"
            )
        from stackmask.runtime.vocabulary.container import CacheFolder

        folder = CacheFolder(cache_dir)

    def build() -> None:
        with suppress(Exception):  # the caller meets it again
            vocabulary._trie(folder)

    if len(vocabulary.token_bytes) >= WORTH_A_THREAD and not vocabulary._has_trie():
        thread = threading.Thread(target=build, name="stackmask-trie", daemon=True)
        with suppress(RuntimeError):  # no more threads can be started
            thread.start()
            try:
                classes_worth_preparing()
            finally:
                thread.join()
    vocabulary._trie(folder)
    if folder is not None:
        folder.warn(stacklevel=4)


def _own_output(grammar: Grammar) -> Output | None:
    """Return the conversion of texts to values of a type; None if it is the same for all grammars with equal rules."""
    output = grammar.output
    return None if output is None or output.type is None else output


def _stops_of(stop_ids: Iterable[int]) -> tuple[int, ...]:
    """Return the ids of stop tokens, each once. Raises: ArgumentError for other values."""
    try:
        return tuple(dict.fromkeys(index(i) for i in stop_ids))
    except TypeError:
        raise ArgumentError(f"`stop_ids` is a list of token ids, not {stop_ids!r:.60}") from None


# compilers that were pickled, by the digest of their vocabulary and what else they are made of
_known_compilers: weakref.WeakValueDictionary[tuple[Any, ...], Compiler] = weakref.WeakValueDictionary()
_known_lock = threading.Lock()


def _compiler_again(vocabulary: Vocabulary, limits: Limits, cache_bytes: int) -> Compiler:
    """Return this process's compiler for the parameters of a pickled one, so that unpickled grammars share it."""
    key = (
        vocabulary.digest(),
        vocabulary.size,
        vocabulary.stop_ids,
        vocabulary.special_ids,
        tuple(sorted(vocabulary.special_names.items())),
        vocabulary.strip_first_space,
        limits,
        cache_bytes,
    )
    with _known_lock:
        known = _known_compilers.get(key)
        if known is None:
            known = Compiler(vocabulary, limits=limits, cache_bytes=cache_bytes)
            _known_compilers[key] = known
        return known


def _compiled_again(compiler: Compiler, grammar: Grammar) -> CompiledGrammar:
    return compiler.compile(grammar)


def token_info(vocabulary: Vocabulary) -> TokenInfo:
    """Return the engine's view of a vocabulary."""
    texts = vocabulary.token_bytes
    return TokenInfo(
        size=vocabulary.size,
        texts=texts,
        trie=vocabulary._trie(),
        names=vocabulary.special_names,
        stop_ids=vocabulary.stop_ids,
        single_bytes=texts.single_bytes(),
        strip_first_space=vocabulary.strip_first_space,
        silent=vocabulary._silent_texts,
    )


# -- The stores of one compiler: one, and more while threads ask for masks at once -------------------------
# A store makes one mask at a time. While a call on it takes long, other threads of the server would wait. So a
# thread that meets a store at work goes to another one, and stays there: its grammars are compiled in that store, and
# its masks are made on another core. Stores share nothing, so what several of them need is made in each. A program of
# one thread has one store.


MAX_LANES = 4  # stores that share ``cache_bytes``
FAMILIES_SHARE = 8  # of a store's bytes go to the families of grammars that may come again
RETIRED_SHARE = 8  # of ``cache_bytes`` are left to the masks of a store that was put aside
MASKS_SHARE = 8  # of ``cache_bytes`` are left to masks, however much live requests hold
SECONDS_BETWEEN_COLLECTIONS = 1.0  # while requests are refused
LEAST_HELD = 32 << 20  # bytes that live requests may hold, however small ``cache_bytes`` is
WEIGHED = 32  # weighing goes through all families, so it waits for so many new matchers


class Lane:
    """A store, with the grammars compiled in it."""

    __slots__ = ("__weakref__", "families", "grammars", "store")

    def __init__(self, store: Store, cache_bytes: int) -> None:
        self.store = store
        # by the term of the start rule, the first semantic state, and the type of its values
        self.grammars: WeakValueDictionary[tuple[int, int, Output | None], CompiledGrammar]
        self.grammars = WeakValueDictionary()
        self.families = RecentFamilies(cache_bytes // FAMILIES_SHARE)

    def forget(self, automata: bool) -> None:
        """Drop data that no live matcher uses: families and, if the store was retired, the automata of grammars."""
        self.families.clear()
        for compiled in list(self.grammars.values()):
            compiled._forget(automata)

    def set_budget(self, cache_bytes: int) -> None:
        """Change the size of the cache in bytes."""
        self.store.set_budget(cache_bytes)
        self.families.max_bytes = cache_bytes // FAMILIES_SHARE


class Lanes:
    """The lanes of one compiler. The caller holds the compiler's lock.

    ``make`` creates a store with a given cache size in bytes. All lanes share ``cache_bytes`` evenly.
    Invariant: there is always a first lane; other lanes are removed when none of their grammars is in use.
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
        """Return the lane of a store, unless the store is full or retired."""
        lane = self.holding(store)
        return None if lane is None or store.is_spent() else lane

    def holding(self, store: Store) -> Lane | None:
        """Return the lane of a store, full or not, unless the store is retired."""
        for lane in self._lanes:
            if lane.store is store:
                return lane
        return None

    def open(self) -> Lane:
        """Return this thread's lane for a new grammar: a different one if its store is busy."""
        self._tidy()
        lane = self._usual() or self._lanes[0]
        if lane.store.lock.is_taken():
            lane = self._idle(lane.store) or lane
        self._thread.lane = ref(lane)
        return lane

    def aside(self, store: Store) -> Lane | None:
        """Return a lane whose store is not busy, or None if all stores are. The thread keeps using it."""
        self._tidy()
        lane = self._usual()
        if lane is None or lane.store is store or lane.store.lock.is_taken():
            lane = self._idle(store)
        if lane is not None:
            self._thread.lane = ref(lane)
        return lane

    def _usual(self) -> Lane | None:
        """Return the lane that this thread used last, unless it was retired."""
        known: ref[Lane] | None = getattr(self._thread, "lane", None)
        lane = None if known is None else known()
        return lane if lane in self._lanes else None

    def count(self) -> bool:
        """Count a new matcher; return whether it is time to call ``admit``. Needs no lock: a lost count is harmless."""
        self._until_weighed -= 1
        return self._until_weighed <= 0

    def admit(self) -> None:
        """Check the memory held by live requests.

        Raises: BudgetError if requests hold all of ``cache_bytes``.
        """
        self._refuse_if_full()
        self._until_weighed = max(WEIGHED, sum(len(store.families) for store in self.stores()))

    def grammars_in(self, store: Store) -> int:
        """Return the number of compiled grammars that use a store; 0 for a retired store."""
        return sum(len(lane.grammars) for lane in self._lanes if lane.store is store)

    def stores(self) -> list[Store]:
        """Return the stores in use, including retired ones."""
        return list(self._stores)

    def _refuse_if_full(self) -> None:
        """Give masks the memory that live requests leave; refuse new requests if none is left."""
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
        """Return the approximate number of bytes that cannot be dropped, which are all except masks."""
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
        """Replace a store by a new one. The old store is freed with the last matcher that uses it."""
        self._lanes[k].forget(True)
        self._lanes[k].store.set_budget(self._cache_bytes // RETIRED_SHARE)
        self._lanes[k] = self._lane(self._cache_bytes // len(self._lanes))
        self.generation += 1

    def _share_out(self) -> None:
        for lane in self._lanes:
            lane.set_budget(self._cache_bytes // len(self._lanes))

    def __len__(self) -> int:
        return len(self._lanes)


# -- The families of configurations that a compiler keeps for grammars that come again ---------------------


MAX_FAMILIES = 1024
WEIGHED_GRAMMARS = 16  # weighing goes through all, so it waits for so many that are new

Key = tuple[int, int]  # of a grammar in its store: the term of its start rule, its first semantic state


class Family(NamedTuple):
    """The data that the matchers of one grammar share: its configurations, and forced text, if requested."""

    space: ConfigSpace
    planner: JumpPlanner | None


class RecentFamilies:
    """The most recently used families, within ``max_bytes``. Safe to use from several threads.

    A server compiles the schema of a request, answers, and drops both; if the same schema comes again, its
    matchers reuse these results. All families belong to one store. They do not keep grammars alive.
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
        """Store a family as the most recently used one, and drop the least recently used ones if necessary.

        Cost: a look-up. Families grow as matchers advance, so their sizes are checked occasionally when one
            is added.
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
            if self._new >= WEIGHED_GRAMMARS:
                self._new = 0
                self._weigh()

    def _weigh(self) -> None:
        self._last = None
        total = sum(family.space.nbytes_held() for family in self._families.values())
        while self._families and (len(self._families) > MAX_FAMILIES or total > self.max_bytes):
            total -= self._families.popitem(last=False)[1].space.nbytes_held()

    def weigh(self) -> None:
        """Drop the least recently used families if together they exceed the limit. Cost: constant for each."""
        with self._lock:
            self._weigh()

    def clear(self) -> None:
        """Drop all families."""
        with self._lock:
            self._last = None
            self._families.clear()

    def __len__(self) -> int:
        return len(self._families)
