"""Answers about whole strings, with a vocabulary of single bytes."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

from stackmask.grammar import ir
from stackmask.grammar.ir.stacked import ANSWERS, NewText, is_taken
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.source.work import Work, counted, spend
from stackmask.pda.errors import BudgetError
from stackmask.pda.limits import Limits
from stackmask.runtime.matching.budgets import CompletionError
from stackmask.runtime.matching.compiler import CompiledGrammar, Compiler
from stackmask.runtime.matching.matcher import Matcher
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    from stackmask.grammar.grammar import Grammar
    from stackmask.runtime.matching.matcher import Matcher


BYTES: Final = 256
CACHE_BYTES: Final = 32 << 20
KEPT: Final = 16  # grammars that are remembered
TRIES: Final = 20  # for one text; each aims at a shorter one
USUAL: Final = 160  # bytes beyond the shortest text: most have fewer


class ByteEngine:
    """Tests membership of strings in the language of a grammar, and samples the language. Threads may share it."""

    def accepts(self, grammar: Grammar, text: str | bytes) -> bool:
        """Return whether a whole string is in the language. Raises: SampleError if the grammar has special tokens."""
        if isinstance(text, str):
            try:
                data = text.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError:
                return False
        else:
            data = bytes(text)
        matcher = _matcher(grammar)
        if matcher.compiled.vocabulary.size > BYTES + 1:
            raise SampleError(
                "strings have no special tokens, and the grammar requires some: follow token ids with a Matcher"
            )
        return (not data or matcher.accept_string(data)) and matcher.is_accepting()

    def begins(self, grammar: Grammar, text: bytes) -> bool:
        """Return whether a string is a prefix of the language. Raises: SampleError as ``sample``."""
        return not text or bool(_matcher(grammar).accept_string(text))

    def sample(self, grammar: Grammar, n: int, seed: int, max_bytes: int) -> list[str]:
        """Return ``n`` random strings. Raises: SampleError if the grammar has special tokens, or none is found."""
        _compiled(grammar)
        limits = grammar.limits or Limits()
        rng = random.Random(seed)
        found: list[str] = []
        costs, least = _costs(grammar, limits)
        if least // BYTE > max_bytes:
            raise SampleError(
                f"the shortest strings of the grammar have about {least // BYTE:,} bytes, and max_bytes is {max_bytes:,}"
                if least < NEVER
                else "strings have no special tokens, and every output of the grammar has some"
            )
        for _ in range(n):
            # a text is a request of its own
            with counted(Work(limits.max_work, limits.max_seconds, limits.max_input_bytes)):
                data = self._draw(grammar, costs.copy(), rng, least // BYTE, max_bytes)
            if data is None:
                raise SampleError(
                    f"no string of at most {max_bytes:,} bytes was found (max_bytes): raise it, or sample from a "
                    "simpler grammar"
                )
            found.append(data.decode("utf-8", "surrogateescape"))
        return found

    def _draw(
        self, grammar: Grammar, costs: Costs, rng: random.Random, least: int, max_bytes: int
    ) -> bytes | None:
        spare = rng.randint(1, max(USUAL, least))
        for number in range(TRIES):
            soft = min(least + spare, max_bytes)
            derivation = Derivation(grammar.rules, costs, _matcher(grammar), rng, soft, max_bytes)
            text = derivation.run()
            if text is None and number:
                text = derivation.completed()
            if text is not None:
                return text
            spare //= 2
        return None


def compile_for_text(grammar: Grammar) -> CompiledGrammar:
    """Compile for a vocabulary of single bytes and the special tokens that the grammar names."""
    return _compiler(*_special_tokens(grammar.rules)).compile(grammar)


@lru_cache(maxsize=4)
def _compiler(names: tuple[str, ...] = (), width: int = 0) -> Compiler:
    tokens: list[bytes | None] = [bytes([b]) for b in range(BYTES)]
    specials = {name: BYTES + 1 + n for n, name in enumerate(names)}
    tokens += [None] * (1 + len(specials))
    vocabulary = Vocabulary(tokens, stop_ids=[BYTES], special_names=specials, size=max(len(tokens), width))
    return Compiler(vocabulary, cache_bytes=CACHE_BYTES)


def _special_tokens(rules: ir.RuleSet) -> tuple[tuple[str, ...], int]:
    """Return the names of special tokens in a grammar, and the vocabulary size that its token ids need."""
    names: dict[str, None] = {}
    width = 0
    for rule in rules.rules.values():
        for expr in ir.walk(rule.body):
            if isinstance(expr, ir.TokenTerminal):
                names.update(dict.fromkeys(expr.names))
                width = max([width, *(high + 1 for _, high in expr.id_ranges)])
    return tuple(names), width


@lru_cache(maxsize=KEPT)
def _compiled(grammar: Grammar) -> CompiledGrammar:
    for rule in grammar.rules.rules.values():
        if any(
            isinstance(part, ir.Capture) and isinstance(part.action, ir.TokenLimit)
            for part in ir.walk(rule.body)
        ):
            raise SampleError(
                "the grammar counts the tokens of a text (max_tokens), and strings have none: "
                "follow token ids with a Matcher"
            )
    return compile_for_text(grammar)


def _matcher(grammar: Grammar) -> Matcher:
    try:
        return _compiled(grammar).matcher()
    except BudgetError as error:
        if error.limit != "cache_bytes":
            raise
        # others ask about strings in this process just now: theirs go on with the old compiler, and it goes with them
        _compiler.cache_clear()
        _compiled.cache_clear()
        return _compiled(grammar).matcher()


@lru_cache(maxsize=KEPT)
def _known_costs(grammar: Grammar) -> tuple[Costs, int]:
    rules = grammar.rules
    costs = Costs(rules.rules)
    return costs, costs.of(rules.rules[rules.start].body)


def _costs(grammar: Grammar, limits: Limits) -> tuple[Costs, int]:
    """Return the costs of a grammar's rules, and of its cheapest string."""
    with counted(Work(limits.max_work, limits.max_seconds, limits.max_input_bytes)):
        return _known_costs(grammar)


# Draw one text by deriving it from the rules, with a matcher beside that refuses what the rules alone do not tell
# What is still to be derived is a list with its least cost. The length that a text aims at is shared among the parts of a
# sequence by how many rules, choices and repetitions each has, and by chance. Alternatives within the share of a part are
# taken at random; beyond it the cheapest comes first, so that it ends. Where the matcher refuses (a keyword that is not a name,
# a second key of one name), the last choice is made otherwise. Semantic states are followed as the automaton does: actions
# get what was captured, and what resolvers answer is derived from.


GO_ON: Final = 0.8  # how often a repetition goes on while it is short
GO_ON_BLANK: Final = 0.1  # … one of blanks
MOST_STEPS: Final = 50_000  # of one text
MOST_RETURNS: Final = 400  # to earlier choices
CHARACTERS: Final = 6  # that are tried in one place
PLAIN: Final = 0.9  # how often a character is a printable one of ASCII where others may stand as well


class Rounds(NamedTuple):
    """The rounds of a repetition that may still follow."""

    item: ir.Expr
    least: int
    most: int | None


class Restore(NamedTuple):
    """The end of a scope, where the previous value is restored."""

    value: Hashable


class RestoreKeys(NamedTuple):
    """The end of an object, where the keys of the enclosing object are restored."""

    keys: Keys | None


class CaptureEnd(NamedTuple):
    """The end of a capture that began at a position of the text."""

    action: Any
    start: int


Item: TypeAlias = "ir.Expr | Rounds | Restore | RestoreKeys | CaptureEnd"


class Keys(NamedTuple):
    """The declared keys of an object, required and present. ``ordered``: other keys come after them."""

    required: frozenset[int]
    taken: frozenset[int]
    ordered: bool

    @property
    def missing(self) -> frozenset[int]:
        """The keys that are still required."""
        return self.required - self.taken


class Pending(NamedTuple):
    """The items to derive: first ``item``, then the others. ``cost``: the cost of all items; ``goal``: the
    position where the item should end.
    """

    item: Item
    others: Pending | None
    cost: int
    goal: int


class State(NamedTuple):
    """A position in a derivation. ``spans``: the spans of finished captures, the last one first."""

    pending: Pending | None
    value: Hashable
    spans: tuple[Any, ...] | None
    keys: Keys | None = None


class Choice(NamedTuple):
    """A choice point: the untried alternatives, and the number of pieces of the text at that point."""

    states: Iterator[State | tuple[State, bytes]]
    pieces: int


class Derivation:
    """One attempt to derive a string of about ``soft`` bytes, and at most ``most``."""

    def __init__(
        self, rules: ir.RuleSet, costs: Costs, matcher: Matcher, rng: random.Random, soft: int, most: int
    ) -> None:
        self._rules = rules.rules
        self._costs = costs
        self._matcher = matcher
        self._rng = rng
        self._most = BYTE * most
        self._pieces: list[bytes] = []
        self._choices: list[Choice] = []
        self._length = 0  # of the text, in costs
        start = ir.RuleRef(rules.start)
        self._state = State(Pending(start, None, costs.of(start), BYTE * soft), rules.initial, None)

    def run(self) -> bytes | None:
        """Return a string, or None if none was found within the step limit."""
        returns = 0
        for _ in range(MOST_STEPS):
            spend(2)
            if self._state.pending is None:
                if self._matcher.is_accepting():
                    return b"".join(self._pieces)
                done = False
            else:
                done = self._step(self._state, self._state.pending)
            if not done:
                returns += 1
                if returns > MOST_RETURNS or not self._return():
                    return None
        return None

    def completed(self) -> bytes | None:
        """Return the text at the end of the attempts, with a shortest completion; None if there is none.

        An action may refuse the end of a string because of a much earlier choice, as SQL over a schema does
        if no table was read. The search for a completion knows the missing part.
        """
        try:
            end = self._matcher.shortest_completion().text
        except CompletionError:
            return None
        text = b"".join(self._pieces) + end
        return text if BYTE * len(text) <= self._most else None

    def _step(self, state: State, pending: Pending) -> bool:
        """Derive the first item; return False if this is impossible."""
        item = pending.item
        match item:
            case ir.Literal():
                return self._write(item.data, state._replace(pending=pending.others))
            case ir.CharClass() | ir.ByteClass():
                after = state._replace(pending=pending.others)
                return self._choose((after, piece) for piece in self._characters(item))
            case ir.Choice():
                return self._choose(
                    state._replace(pending=p) for p in self._alternatives(item.items, pending, state.keys)
                )
            case Rounds():
                return self._repeat(state, item, pending)
            case CaptureEnd():
                return self._capture(state, item, pending.others)
            case Restore():
                self._state = state._replace(pending=pending.others, value=item.value)
                return True
            case RestoreKeys():
                self._state = state._replace(pending=pending.others, keys=item.keys)
                return True
            case ir.Slot() | ir.KeyTest():
                return self._key(state, item, pending.others)
            case ir.Keyed():
                after_keys = self._push([item.item, RestoreKeys(state.keys)], pending)
                self._state = state._replace(
                    pending=after_keys, keys=Keys(item.spec.required, frozenset(), item.spec.ordered)
                )
                return True
            case ir.Dynamic():
                answer = self._answer(item.resolver, state.value)
                items: list[Item] = [] if answer is None else [answer]
                if answer is None:
                    return False
            case _:
                items = self._inside(state, item)
        self._state = state._replace(pending=self._push(items, pending))
        return True

    def _inside(self, state: State, item: Item) -> list[Item]:
        """Return the components of an item, in order."""
        match item:
            case ir.Sequence():
                return list(item.items)
            case ir.Repeat():
                return [Rounds(item.item, item.min, item.max)]
            case ir.RuleRef():
                return [self._rules[item.name].body]
            case ir.Intersection():
                return [source_of(item)]
            case ir.Complement():
                return [Rounds(ir.ANY_CHAR, 0, None)]
            case ir.Scope():
                return [item.item, Restore(state.value)]
            case ir.Capture():
                return [item.item, CaptureEnd(item.action, self._length // BYTE)]
        return []  # conditions, which the matcher knows

    def _push(self, items: list[Item], whole: Pending) -> Pending | None:
        """Return the items to derive, with the first item replaced by its components, which share its length."""
        others, goal = whole.others, whole.goal
        costs = [self._cost(item) for item in items]
        spare = goal - self._length - sum(costs)
        shares = [0.0] * len(items)
        if len(items) > 1 and spare > 0:
            shares = [self._rng.random() * self._weight(item) for item in items]
        unit = spare / (sum(shares) or 1)
        for item, cost, share in zip(reversed(items), reversed(costs), reversed(shares), strict=True):
            waiting = 0 if others is None else others.cost
            others = Pending(item, others, min(cost + waiting, NEVER), goal if spare > 0 else 0)
            goal -= cost + int(share * unit)
        return others

    def _cost(self, item: Item) -> int:
        if isinstance(item, Rounds):
            return item.least * self._costs.of(item.item) if item.least else 0
        return 0 if isinstance(item, Restore | RestoreKeys | CaptureEnd) else self._costs.of(item)

    def _weight(self, item: Item) -> int:
        """Return the number of parts of an item that may become longer."""
        if isinstance(item, Rounds):
            return max(1, item.least) * (1 + self._weight(item.item))
        return self._cost(item) % BYTE

    # -- choices -----------------------------------------------------------------------------------

    def _choose(self, states: Iterator[Any]) -> bool:
        self._choices.append(Choice(states, len(self._pieces)))
        return self._next()

    def _next(self) -> bool:
        """Try the next alternative of the last choice point; return False if none is left."""
        choice = self._choices[-1]
        for state in choice.states:
            if isinstance(state, State):
                self._state = state
                return True
            after, piece = state
            if self._write(piece, after):
                return True
        self._choices.pop()
        return False

    def _return(self) -> bool:
        """Backtrack to the last choice point with another alternative; return False without one."""
        while self._choices:
            surplus = len(self._pieces) - self._choices[-1].pieces
            if surplus:
                self._matcher.rollback(surplus)
                self._length -= BYTE * sum(map(len, self._pieces[-surplus:]))
                del self._pieces[-surplus:]
            if self._next():
                return True
        return False

    def _write(self, piece: bytes, after: State) -> bool:
        if piece:
            if self._length + BYTE * len(piece) > self._most or not self._matcher.accept_string(piece):
                return False
            self._pieces.append(piece)
            self._length += BYTE * len(piece)
        self._state = after
        return True

    def _alternatives(
        self, items: tuple[ir.Expr, ...], pending: Pending, keys: Keys | None
    ) -> Iterator[Pending]:
        others = pending.others
        room = self._most - self._length - (0 if others is None else others.cost)
        spend(len(items) // 4)
        fitting = [item for item in items if self._costs.of(item) <= room]
        self._rng.shuffle(fitting)
        share = pending.goal - self._length
        fitting.sort(key=lambda item: max(share, self._costs.of(item)))  # those within the share are equal
        if keys is not None and keys.missing and self._is_long(pending):  # what must come anyway
            missing = frozenset(keys.missing)
            fitting.sort(key=lambda item: _slot_of(item) not in missing)
        for item in fitting:
            yield cast("Pending", self._push([item], pending))

    def _is_long(self, pending: Pending) -> bool:
        return self._length + self._cost(pending.item) >= pending.goal  # mutant: soft-end

    def _repeat(self, state: State, rounds: Rounds, pending: Pending) -> bool:
        """Derive another round, or no further one."""
        most = None if rounds.most is None else rounds.most - 1
        after = Rounds(rounds.item, max(0, rounds.least - 1), most)
        going = state._replace(pending=self._push([rounds.item, after], pending))
        if rounds.least:
            self._state = going
            return True
        ended = state._replace(pending=pending.others)
        if rounds.most == 0 or self._costs.of(rounds.item) >= NEVER:
            self._state = ended
            return True
        chance = GO_ON_BLANK if _is_blank(rounds.item) else GO_ON
        goes_on = self._rng.random() < chance and not self._is_long(pending)
        if not goes_on and state.keys is not None and state.keys.missing:
            goes_on = self._costs.has_slot(rounds.item)
        return self._choose(iter((going, ended) if goes_on else (ended, going)))

    def _characters(self, item: ir.CharClass | ir.ByteClass) -> Iterator[bytes]:
        """Yield some allowed characters of a class, each once."""
        expected = self._matcher.expected_bytes()
        if isinstance(item, ir.ByteClass):
            found = [bytes([b]) for b in sorted(expected) if item.mask >> b & 1]
            yield from self._rng.sample(found, min(CHARACTERS, len(found)))
            return
        spend(len(item.ranges) // 8)
        ascii_ones = [
            c for low, high in item.ranges for c in range(low, min(high, 0x7F) + 1) if c in expected
        ]
        plain = [c for c in ascii_ones if c > 0x20] or ascii_ones
        codes = self._rng.sample(plain, min(CHARACTERS, len(plain)))
        others = [span for span in item.ranges if span[1] > 0x7F]
        if others and max(expected, default=0) > 0x7F:
            wide = [self._wide(others, expected) for _ in range(CHARACTERS)]
            codes = [*codes, *wide] if self._rng.random() < PLAIN else [*wide, *codes]
        codes.extend(c for c in ascii_ones if c not in codes)
        for code in dict.fromkeys(codes):
            if code >= 0:
                yield chr(code).encode()

    def _wide(self, spans: list[tuple[int, int]], expected: set[int]) -> int:
        """Return an allowed character beyond ASCII, or -1 if none was found."""
        for _ in range(CHARACTERS):
            low, high = self._rng.choice(spans)
            code = self._rng.randint(max(low, 0x80), high)
            if chr(code).encode()[0] in expected:
                return code
        return -1

    # -- keys --------------------------------------------------------------------------------------

    def _key(self, state: State, item: ir.Slot | ir.KeyTest, others: Pending | None) -> bool:
        """Add a declared key, or test whether the object may end; the matcher checks all other conditions."""
        keys = state.keys
        if keys is not None and isinstance(item, ir.Slot):
            if item.index in keys.taken:
                return False
            keys = keys._replace(taken=keys.taken | {item.index})
        elif keys is not None and isinstance(item, ir.KeyTest) and keys.missing:
            too_early = item.kind == "close" or (item.kind == "undeclared" and keys.ordered)
            if too_early:
                return False
        self._state = state._replace(pending=others, keys=keys)
        return True

    # -- semantic states ---------------------------------------------------------------------------

    def _capture(self, state: State, end: CaptureEnd, others: Pending | None) -> bool:
        """End a capture; return False if its action forbids this."""
        here = self._length // BYTE
        inner: list[tuple[int, int]] = []
        spans = state.spans
        while spans is not None and spans[0][0] >= end.start:
            inner.append(spans[0])
            spans = spans[1]
        spans = ((end.start, here), spans)
        value = state.value
        if end.action == "push":
            value = (*cast("tuple[bytes, ...]", value), self._text(end.start, here, []))
        elif end.action == "new":
            stack, text = cast("tuple[bytes, ...]", value), self._text(end.start, here, [])
            if is_taken(stack, text):
                return False
            value = (*stack, NewText(text))
        elif callable(end.action):
            most = getattr(end.action, "reads_at_most", None)
            if most is None:
                text = self._text(end.start, here, [])
            else:
                text = self._text(end.start, here, inner)[:most] if most else b""
            value = end.action(value, text)
            if value is None:
                return False
        self._state = state._replace(pending=others, value=value, spans=spans)
        return True

    def _text(self, start: int, end: int, without: list[tuple[int, int]]) -> bytes:
        text = b"".join(self._pieces)
        kept = []
        for low, high in reversed(without):
            kept.append(text[start:low])
            start = high
        return b"".join([*kept, text[start:end]])

    def _answer(self, resolver: Any, value: Hashable) -> ir.Expr | None:
        if isinstance(resolver, str):
            stack = cast("tuple[bytes, ...]", value)
            return ANSWERS[resolver](stack[-1]) if stack else None
        return cast("Callable[[Hashable], ir.Expr]", resolver)(value)


def _is_blank(expr: ir.Expr) -> bool:
    """Return whether an expression is a class of whitespace, or a single whitespace character."""
    match expr:
        case ir.Literal(data):
            return data.isspace()
        case ir.CharClass(ranges):
            return all(high <= 0x20 for _, high in ranges)
    return False


def _slot_of(expr: ir.Expr) -> int:
    """Return the declared key that an alternative adds, or -1."""
    if isinstance(expr, ir.Sequence):
        return next((item.index for item in expr.items if isinstance(item, ir.Slot)), -1)
    return -1


# The least that expressions can become: bytes, and on the way to them rules, choices and repetitions that may go on
# Conditions (``&``, ``!``, follow restrictions, keys, what resolvers answer) are left out, so a real text may be longer.


BYTE: Final = (
    1 << 20
)  # a rule counts 1, so that of two ways of one length the one through fewer rules costs less
NEVER: Final = 1 << 60  # special tokens have no text


class Costs:
    """The minimal costs of the expressions of some rules, and of expressions built from these. Cost: mostly
    linear in the rules.
    """

    def __init__(self, rules: Mapping[str, ir.Rule]) -> None:
        self._rules = dict.fromkeys(rules, NEVER)
        self._known: dict[int, int] = {}
        self._slots: dict[int, bool] = {}
        self._kept: list[ir.Expr] = []  # so that no other expression gets the place of one that is known
        users: defaultdict[str, set[str]] = defaultdict(set)
        for name, rule in rules.items():
            for part in ir.walk(rule.body):
                spend(1)
                if isinstance(part, ir.RuleRef):
                    users[part.name].add(name)
        waiting = dict.fromkeys(rules)
        while waiting:
            name = next(iter(waiting))
            del waiting[name]
            cost = self._cost(rules[name].body, {})
            if cost < self._rules[name]:
                self._rules[name] = cost
                waiting.update(dict.fromkeys(users[name]))
        for rule in rules.values():
            self._cost(rule.body, self._known)

    def copy(self) -> Costs:
        """Return a copy that can learn about further expressions."""
        made = Costs.__new__(Costs)
        made._rules, made._known, made._kept = self._rules, dict(self._known), []
        made._slots = {}
        return made

    def of(self, expr: ir.Expr) -> int:
        """Return the minimal cost of an expression."""
        found = self._known.get(id(expr))
        if found is None:
            self._kept.append(expr)
            found = self._cost(expr, self._known)
        return found

    def has_slot(self, expr: ir.Expr) -> bool:
        """Return whether an expression adds declared keys, including those of inner objects."""
        found = self._slots.get(id(expr))
        if found is None:
            self._kept.append(expr)
            found = self._slots[id(expr)] = any(isinstance(part, ir.Slot) for part in ir.walk(expr))
        return found

    def _cost(self, root: ir.Expr, known: dict[int, int]) -> int:
        stack = [root]
        while stack:
            expr = stack[-1]
            if id(expr) in known:
                stack.pop()
                continue
            parts = _parts(expr)
            missing = [part for part in parts if id(part) not in known]
            if missing:
                stack.extend(missing)
                continue
            spend(1)
            known[id(expr)] = min(NEVER, self._joined(expr, [known[id(part)] for part in parts]))
            stack.pop()
        return known[id(root)]

    def _joined(self, expr: ir.Expr, costs: list[int]) -> int:
        match expr:
            case ir.Literal():
                return BYTE * len(expr.data)
            case ir.CharClass():
                first = expr.ranges[0][0] if expr.ranges else 0
                return BYTE * len(chr(first).encode()) if expr.ranges else NEVER
            case ir.ByteClass():
                return BYTE if expr.mask else NEVER
            case ir.Sequence():
                return sum(costs)
            case ir.Choice():
                return 1 + min(costs, default=NEVER)
            case ir.Repeat():
                return (expr.min * costs[0] if expr.min else 0) + (expr.min != expr.max)
            case ir.RuleRef():
                return 1 + self._rules[expr.name]
            case ir.TokenTerminal():
                return NEVER
            case ir.Dynamic():
                return BYTE
        return costs[0] if costs else 0


def source_of(expr: ir.Intersection) -> ir.Expr:
    """Return the operand of an intersection from which strings are sampled; the others are conditions."""
    return next((item for item in expr.items if not isinstance(item, ir.Complement)), expr.items[0])


def _parts(expr: ir.Expr) -> tuple[ir.Expr, ...]:
    if isinstance(expr, ir.Intersection):
        return (source_of(expr),)
    return () if isinstance(expr, ir.Complement) else ir.children(expr)


# -- Errors of questions about whole strings -------------------------------------------------------------


class SampleError(StackmaskError):
    """No string could be sampled, or the request does not apply to strings."""
