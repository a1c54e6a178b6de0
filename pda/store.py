"""The data shared by all grammars of one compiler: terms, rules, semantic states, mask walks, masks."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from stackmask.grammar import ir
from stackmask.pda.context.object_keys import KeyStates
from stackmask.pda.context.semantic_states import Semantics
from stackmask.pda.errors import ResolverError, VocabularyError
from stackmask.pda.limits import Limits
from stackmask.pda.lowering.entry import Tables, check_bytes, regular_tables
from stackmask.pda.lowering.rules_to_terms import Lowering
from stackmask.pda.masks.engine import MaskEngine
from stackmask.pda.memory.work_meter import StoreLock, WorkMeter
from stackmask.pda.stack.configurations import ConfigSpace
from stackmask.pda.terms.term_store import TermBuilder, TermStore
from stackmask.pda.vocabulary.token_trie import Trie

if TYPE_CHECKING:
    from stackmask.pda.completion.completions import TermCosts


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """The automaton's view of a vocabulary.

    ``size``: the width of the logits. ``texts``: id → bytes, None for ids that are not text. ``trie``: the
    trie of the texts. ``names``: special tokens by name. ``stop_ids``: the ids that end a text.
    ``single_bytes``: a mask of the bytes that are tokens. ``silent``: the bytes that special and stop tokens
    would spell if they were text.
    """

    size: int
    texts: Sequence[bytes | None]
    trie: Trie
    names: Mapping[str, int]
    stop_ids: tuple[int, ...]
    single_bytes: int
    strip_first_space: bool = False
    silent: Mapping[int, bytes] = field(default_factory=dict)


_NOT_REGULAR = (
    ir.RuleRef
    | ir.TokenTerminal
    | ir.NotFollowedBy
    | ir.Capture
    | ir.Scope
    | ir.Dynamic
    | ir.Keyed
    | ir.Slot
    | ir.KeyTest
)


DEFAULT_CACHE_BYTES = 1 << 29
RULE_BYTES = 700  # of Python objects for a rule, on average over real schemas: its facts and its shape
MAX_ANSWERS = 65536  # results of resolvers that are remembered with their terms
MAX_CHECKED = 262_144  # expressions in results of resolvers that are checked once
MAX_PARTS = 50_000  # ... and whose terms are remembered
TOKEN_WORK = 16  # units for each id of a set of special tokens
FEW_IDS = 1000  # in a set of special tokens whose numbers are made anew
_tags = count(1)  # newer stores have larger ones


class TokenClasses:
    """The numbered sets of special tokens that grammars name.

    ``number``: returns the next number; ``tell``: passes its ids to the masks; ``charge``: counts work.
    """

    __slots__ = ("_charge", "_every", "_info", "_known", "_number", "_tell", "_text")

    def __init__(
        self,
        info: TokenInfo,
        number: Callable[[], int],
        tell: Callable[[tuple[int, ...]], object],
        charge: Callable[[int], object],
    ) -> None:
        self._info = info
        self._number = number
        self._tell = tell
        self._charge = charge
        self._known: dict[tuple[int, ...], int] = {}
        # all ids, and those that negated terminals are about: made once, so that large classes share their numbers
        self._every: Sequence[int] = ()
        self._text: Sequence[int] = ()

    def of(self, terminal: ir.TokenTerminal) -> tuple[tuple[int, ...], int]:
        """Return the ids of a terminal, and the number of their class.

        Cost: linear in the ids.
        Raises: VocabularyError if the vocabulary lacks one of the ids, or has none that matches; BudgetError.
        """
        ids = self._ids(terminal)
        self._charge(TOKEN_WORK * len(ids))
        if ids not in self._known:
            # a set that is refused, for want of memory, must not have a number
            self._tell(ids)
            self._known[ids] = self._number()  # mutant: class-number
        return ids, self._known[ids]

    def _ids(self, terminal: ir.TokenTerminal) -> tuple[int, ...]:
        info = self._info
        ranges: list[tuple[int, int]] = []
        for name in terminal.names:
            if name not in info.names:
                known = ", ".join(sorted(info.names)[:20]) or "none"
                from stackmask.grammar.source.similar import similar

                close = similar(name, info.names)
                meant = f"; did you mean {close}?" if close else ""
                raise VocabularyError(
                    f"the vocabulary has no special token {name}; it has: {known}{meant} (special_ids=[…] makes an added "
                    f'token special; as text it is written "{name}", and a rule is named without `<` and `>`)'
                )
            ranges.append((info.names[name], info.names[name]))
        for low, high in terminal.id_ranges:
            if high >= info.size:
                raise VocabularyError(f"token id {high} is out of range: the vocabulary has {info.size} ids")
            ranges.append((low, high))
        self._charge(TOKEN_WORK * len(ranges))
        if terminal.negated and not self._text:
            self._charge(info.size)
            known_ids = {i for i, text in enumerate(info.texts) if text} | set(info.names.values())
            self._text = tuple(sorted(known_ids - set(info.stop_ids)))  # mutant: negated-stop
        ids = _without(self._text, ranges) if terminal.negated else _within(self._all(ranges), ranges)
        if not ids:
            raise VocabularyError("a token terminal that no token of the vocabulary matches")
        return ids

    def _all(self, ranges: list[tuple[int, int]]) -> Sequence[int]:
        """Return all ids, to be split into ranges; if the ranges are wide, always the same objects."""
        if self._every or sum(high + 1 - low for low, high in ranges) <= FEW_IDS:
            return self._every or range(self._info.size)
        self._charge(self._info.size)
        self._every = tuple(range(self._info.size))
        return self._every


def _within(every: Sequence[int], ranges: list[tuple[int, int]]) -> tuple[int, ...]:
    """Return the ids in some ranges, without duplicates and in order. ``every``: all ids."""
    found: list[Sequence[int]] = []
    at = 0
    for low, high in sorted(ranges):
        found.append(every[max(at, low) : high + 1])
        at = max(at, high + 1)  # mutant: ids-overlap
    return tuple(chain.from_iterable(found))


def _without(ids: Sequence[int], ranges: list[tuple[int, int]]) -> tuple[int, ...]:
    """Return the sorted ids without those in some ranges."""
    found: list[Sequence[int]] = []
    at = 0
    for low, high in sorted(ranges):
        found.append(ids[at : bisect_left(ids, low, at)])
        at = bisect_right(ids, high, at)
    return tuple(chain.from_iterable((*found, ids[at:])))


class ResolverAnswers:
    """The terms of resolvers' answers, which are cached, since resolvers repeatedly return the same objects.

    The parts of answers are also cached: an answer only costs the work for its new parts.
    """

    __slots__ = ("_answers", "_checked", "_lowering", "_single_bytes", "_tables", "_terms")

    def __init__(self, terms: TermStore, single_bytes: int) -> None:
        self._terms = terms
        self._single_bytes = single_bytes
        self._answers: dict[int, tuple[Any, int]] = {}  # by the id of the answer, which is kept too
        self._checked: dict[int, ir.Expr] = {}
        self._tables = regular_tables(terms)
        self._lowering = Lowering(self._tables)

    def term(self, answer: Any) -> int:
        """Return the term of an answer: None (nothing), bytes, or a regular expression.

        Raises: ResolverError if the answer is another object, can be empty, or needs a byte that is not a
        token, since each would lead to a dead end.
        """
        known = self._answers.get(id(answer))
        if known is not None:
            return known[1]
        term = self._checked_term(answer)
        if len(self._answers) >= MAX_ANSWERS:
            self._answers.clear()
        self._answers[id(answer)] = (answer, term)
        return term

    def _checked_term(self, answer: Any) -> int:
        if answer is None:
            return TermBuilder(self._terms).alternatives(())
        expr = ir.Literal(answer) if isinstance(answer, bytes) else answer
        self._check(expr)
        if len(self._checked) >= MAX_CHECKED:
            self._checked.clear()
        if len(self._tables.pure) >= MAX_PARTS:
            self._tables.pure.clear()
            self._tables.characters.clear()
            self._tables.class_parts.clear()
        term = self._lowering.term(expr)
        if self._terms.matches(term, b""):
            raise ResolverError("a resolver must not answer an expression that can be empty")
        return term

    def _check(self, expr: ir.Expr) -> None:
        """Check the parts of an expression that were not checked before. Raises: ResolverError."""
        todo, fresh = [expr], {}
        while todo:
            part = todo.pop()
            if id(part) in self._checked or id(part) in fresh:
                continue
            if isinstance(part, _NOT_REGULAR):
                raise ResolverError(
                    f"a resolver must answer a regular expression, not one with {type(part).__name__}"
                )
            fresh[id(part)] = part
            todo.extend(ir.children(part))
        check_bytes({"the answer of a resolver": expr}, self._single_bytes)
        self._checked.update(fresh)


class Store:
    """The states and masks of the grammars of one compiler, built on demand.

    Equal rules of different grammars are one rule, so that grammars share their results.
    Invariant: append-only, except for masks, which can be dropped and recomputed. The caller holds ``lock``.
    """

    __slots__ = (
        "__weakref__",
        "budgets",
        "cache_bytes",
        "costs",
        "families",
        "info",
        "limits",
        "lock",
        "masks",
        "meter",
        "semantics",
        "tables",
        "terms",
    )

    def __init__(
        self,
        info: TokenInfo,
        limits: Limits,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
        key_syntax: ir.KeySyntax | None = None,
    ) -> None:
        self.info = info
        self.limits = limits
        self.cache_bytes = cache_bytes
        self.meter = WorkMeter(limits.max_work * 3 // 4, limits.max_seconds)
        self.lock = StoreLock(self.meter)
        self.families: WeakSet[ConfigSpace] = WeakSet()  # those of matchers, while somebody uses them
        self.budgets: WeakSet[Any] = WeakSet()  # likewise: what is known of the ends of their texts
        self.terms = TermStore(limits.max_terms, limits.max_explored)
        self.costs: TermCosts | None = None  # made where completions are asked for
        keys = KeyStates(self.terms, limits.max_semantic_states)
        # nothing in a store refers to the store: its memory is freed as soon as it is unused, not at the next collection
        answers = ResolverAnswers(self.terms, info.single_bytes)
        self.semantics = Semantics(answers.term, keys, limits.max_semantic_states, key_syntax)
        space = ConfigSpace(self.terms, self.semantics, True, limits.max_configurations, limits.max_members)
        self.masks = MaskEngine(
            self.terms, self.semantics, space, info.trie, info.size, max_bytes=cache_bytes // 2
        )
        self.terms.count_work(self.meter)
        classes = TokenClasses(
            info, TermBuilder(self.terms).add_token_class, self.masks.add_token_class, self.meter.charge
        )
        self.tables = Tables(self.terms, self.semantics, classes.of, tag=next(_tags))

    def prepare(self, items: Sequence[ir.Expr]) -> None:
        """Build the run tables of some characters before the first mask that needs them."""
        with self.lock:
            self.masks.prepare([Lowering(self.tables).term(item) for item in items])

    @property
    def space(self) -> ConfigSpace:
        """The configurations that mask walks use."""
        return self.masks.space

    def set_budget(self, cache_bytes: int) -> None:
        """Change the size of the caches in bytes. Neither this nor dropping masks changes a mask."""
        self.cache_bytes = cache_bytes
        self.masks.set_budget(cache_bytes // 2)

    def limit_masks(self, most: int) -> None:
        """Limit masks to ``most`` bytes, but at most to their usual half of the budget."""
        self.masks.set_budget(min(self.cache_bytes // 2, most))

    def nbytes_held(self) -> int:
        """Return the approximate number of bytes that cannot be dropped: terms, semantic states, rules."""
        held = self.terms.nbytes_held() + self.semantics.nbytes_held() + self.masks.nbytes_held()
        return held + self.nbytes_of_rules() + (0 if self.costs is None else self.costs.nbytes_held())

    def nbytes_of_families(self) -> int:
        """Return the approximate number of bytes of the matchers' configurations and completions.

        Cost: constant for each family.
        """
        return sum(holder.nbytes_held() for holder in (*self.families, *self.budgets))

    def _nbytes_of_masks(self) -> int:
        sizes = self.masks.counts()
        return sizes["mask_bytes"] + sizes["walk_bytes"]

    def nbytes_of_rules(self) -> int:
        """Return the approximate number of bytes of the rules."""
        return RULE_BYTES * len(self.tables.bodies)

    def is_spent(self, parts: int = 2) -> bool:
        """Return whether new matchers must use a new store: the permanent data take half of a budget, or
        memory ran out in the middle of a change.

        ``parts``: 2 for half of a budget, 3 for a third.
        """
        return (
            self.lock.spoiled
            or parts * self.nbytes_held() > self.cache_bytes
            or parts * self.semantics.size() > self.limits.max_semantic_states
            or parts * self.terms.size() > self.limits.max_terms
        )

    def holders(self) -> dict[str, int]:
        """Return the memory use by type of data, in bytes."""
        return {
            "terms": self.terms.nbytes_held(),
            "semantic_states": self.semantics.nbytes_held(),
            "rules": self.nbytes_of_rules(),
            "tokens": self.masks.nbytes_held(),
            "masks": self._nbytes_of_masks(),
            "families": self.nbytes_of_families(),
        }

    def counts(self) -> dict[str, int]:
        """Return the sizes of all stores."""
        return {**self.terms.counts(), **self.masks.counts(), "slices": self.lock.meter.slices}
