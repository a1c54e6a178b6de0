"""The strings that a pattern takes whole: those of which a backtracking matcher's first match is all of the string.

Patterns mean more than a set of strings: alternatives have an order, and lazy quantifiers stop early. ``".*?"`` has
the string ``"a"b"``, but a matcher that reads it stops after ``"a"``. The strings that remain are a regular language too:
an automaton whose states are ordered lists of continuations, in which a match ends all that stands behind it (R. Cox,
Regular Expression Matching: the Virtual Machine Approach, 2009). Lookbehinds are followed from every place on, lookaheads
are kept with the continuation that asks for them. What lookaheads and anchors ask about the text behind the match comes
out as characters that may not follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from stackmask.grammar import ir
from stackmask.grammar.regex.assertions.elimination import TooLarge, expression
from stackmask.grammar.regex.letters import TooManyClasses, alike, classes_of
from stackmask.grammar.regex.pattern.tree import ANYTHING, Edge, Look, Node, node_children, walk_nodes
from stackmask.grammar.regex.unicode import sets
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges
from stackmask.grammar.source.work import spend

MAX_STATES: Final = 2_000
MAX_STEPS: Final = 200_000  # continuations looked at
MAX_CLASSES: Final = 300
MAX_PENDING: Final = 8  # lookaheads that one continuation waits for

MATCH, MATCHED, FOUND = 0, 1, 2  # the match ends here; it ended before, if lookaheads hold; a body is found
END: Final = -1  # of the text, in place of a class of characters

Pending: TypeAlias = tuple[bool, frozenset[int]]  # a lookahead: whether it is negative, and where its body is
Thread: TypeAlias = tuple[int, frozenset[Pending]]
Reading: TypeAlias = tuple[tuple[Thread, ...], bool, bool]
Ways: TypeAlias = tuple[frozenset[int], int, list[int]]
NOTHING: Final[frozenset[int]] = frozenset()
State: TypeAlias = tuple[tuple[Thread, ...], int, tuple[frozenset[int], ...]]


class TooManyStates(Exception):
    """A pattern whose automaton is larger than the limits, or that nests lookarounds."""


class Whole(NamedTuple):
    """The strings that a pattern takes whole, by the characters that may not follow them.

    ``is_narrow``: strings were left out that depend on more of the text behind them than one character says.
    """

    parts: tuple[tuple[ir.Expr, Ranges], ...]
    is_narrow: bool


def whole_strings(root: Node, lazy: dict[int, ir.Repeat]) -> Whole:
    """Return the strings of which the first match of a pattern is all.

    ``lazy``: the lazy repetitions, by identity. What stands before the string is not looked at (``looks_before``).
    Raises: TooManyStates.
    Cost: states times classes of characters.
    """
    try:
        return _Automaton(root, lazy).run()
    except TooLarge:
        raise TooManyStates from None


class _Automaton:
    def __init__(self, root: Node, lazy: dict[int, ir.Repeat]) -> None:
        self.lazy = lazy
        nodes = list(walk_nodes(root))
        spend(10 * len(nodes))
        self.classes, self.members = _classes(nodes)
        self.nodes: list[Any] = [None, None, None]  # of a continuation, its first node …
        self.rests: list[int] = [-1, -1, -1]  # … and the continuation behind it
        self.numbers: dict[tuple[int, int], int] = {}
        self.repeats: dict[tuple[int, int, int | None, bool], ir.Repeat] = {}
        self.chains: dict[int, tuple[Any, ...]] = {}  # the characters of literals
        self.kept: list[Any] = []  # what identities are taken of
        self.known_ways: dict[int, Ways] = {}
        self.behinds: dict[int, int] = {}
        bodies: list[Node] = []
        for node in nodes:
            if isinstance(node, Look):
                if any(isinstance(inner, Look) for inner in walk_nodes(node.body)):
                    raise TooManyStates
                if not node.ahead:
                    self.behinds[id(node)] = len(bodies)
                    bodies.append(node.body)
        self.start = self.cons(root, MATCH)
        self.bodies = [self.cons(body, FOUND) for body in bodies]
        self.has_looks = any(isinstance(node, Look) for node in nodes)
        self.edges = [node for node in nodes if isinstance(node, Edge)]
        self.alike = alike(self.edges, len(self.classes), self.members)
        self.steps = 0

    def cons(self, node: Any, rest: int) -> int:
        """Return the continuation that begins with a node."""
        key = (id(node), rest)
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.nodes)
            self.nodes.append(node)
            self.rests.append(rest)
            self.kept.append(node)
        return number

    def run(self) -> Whole:
        first: State = (((self.start, frozenset()),), END, tuple(frozenset() for _ in self.bodies))
        states: dict[State, int] = {first: 0}
        order = [first]
        rows: list[dict[int, int]] = []
        follows: list[frozenset[int]] = []  # of each state, what may follow if the match ends there
        is_narrow = False
        for state in order:
            row: dict[int, int] = {}
            follow: set[int] = set()
            for letter, (threads, matches, unsure) in self.reads(state):
                is_narrow = is_narrow or unsure
                if matches:
                    follow.add(letter)
                if not threads or letter == END:
                    continue
                target: State = (threads, self.seen(letter), self.behind_after(state, letter))
                if target not in states:
                    if len(states) >= MAX_STATES:
                        raise TooManyStates
                    states[target] = len(order)
                    order.append(target)
                row[letter] = states[target]
            rows.append(row)
            follows.append(frozenset(follow))
        return self.parts(rows, follows, is_narrow)

    def parts(self, rows: list[dict[int, int]], follows: list[frozenset[int]], is_narrow: bool) -> Whole:
        """Return the strings that lead to each set of characters that may follow."""
        found: list[tuple[ir.Expr, Ranges]] = []
        everything = frozenset((END, *range(len(self.classes))))
        for follow in dict.fromkeys(follows):
            if not follow:
                continue
            if END not in follow:  # something must follow, which no restriction says
                is_narrow = True
                continue
            expr = expression(
                rows, [one == follow for one in follows], self.classes, [(ir.EPSILON, 0)], False
            )
            forbidden = charclass.normalize(
                piece for letter in everything - follow for piece in self.classes[letter]
            )
            wide, is_cut = restrictable(forbidden)
            is_narrow = is_narrow or is_cut
            found.append((expr, wide))
        return Whole(tuple(found), is_narrow)

    def seen(self, letter: int) -> int:
        """Return a class that stands for all those that anchors do not tell from this one, as last characters."""
        return self.alike[letter] if self.edges else END

    def reads(self, state: State) -> Iterator[tuple[int, Reading]]:
        """Yield what ``read`` returns for the end of the text and for each class of characters."""
        letters = range(len(self.classes))
        if self.edges or self.has_looks:
            for letter in (END, *letters):
                yield letter, self.read(state, letter)
            return
        # nothing asks for the character but what takes it: one walk serves all of them
        following: list[dict[Thread, None]] = [{} for _ in letters]
        todo = [continuation for continuation, _ in reversed(state[0])]
        seen: set[int] = set()
        matches = False
        while todo and not matches:
            here = todo.pop()
            if here in seen:
                continue
            seen.add(here)
            matches = here == MATCH
            if not matches:
                takes, target, ways = self.ways(here)
                spend(6 + len(takes) // 4)
                for letter in takes:
                    following[letter][target, frozenset()] = None
                todo += reversed(ways)
        self.count_steps(len(seen) * (1 + len(letters)))
        yield END, ((), matches, False)
        for letter in letters:
            yield letter, (tuple(following[letter]), matches, False)

    def count_steps(self, count: int) -> None:
        self.steps += count
        if self.steps > MAX_STEPS:
            raise TooManyStates

    def read(self, state: State, letter: int) -> Reading:
        """Return the threads behind one character, whether the match may end before it, and whether that is unsure."""
        threads, last, behinds = state
        found = self.found_behind(behinds, last, letter)
        following: dict[Thread, None] = {}
        unsure = False
        seen: set[Thread] = set()
        for continuation, pending in threads:
            for target, wanted in self.closure(continuation, pending, last, letter, found, seen):
                waiting = self.advance(wanted, last, letter, found)
                if waiting is None:
                    continue
                if target in (~MATCH, ~MATCHED):
                    if waiting:
                        unsure = unsure or target == ~MATCH
                        following[MATCHED, waiting] = None
                        continue
                    # what stands behind it in the order is not tried any more
                    return tuple(following), target == ~MATCH, unsure
                following[target, waiting] = None
        return tuple(following), False, unsure

    def closure(
        self,
        start: int,
        pending: frozenset[Pending],
        last: int,
        letter: int,
        found: list[bool],
        seen: set[Thread],
    ) -> list[Thread]:
        """Return where a continuation gets with a character, in order.

        What is complete before the character is given as the complement (``~MATCH`` and so on).
        """
        out: list[Thread] = []
        todo: list[Thread] = [(start, pending)]
        while todo:
            thread = todo.pop()
            if thread in seen or (thread[0], frozenset()) in seen:
                continue
            seen.add(thread)
            here, wanted = thread
            self.count_steps(1)
            spend(6)
            if here <= FOUND:
                out.append((~here, wanted))
                continue
            node, rest = self.nodes[here], self.rests[here]
            if isinstance(node, Look) and node.ahead:
                body = frozenset([self.cons(node.body, FOUND)])
                more = wanted | {(node.negative, body)}
                if len(more) > MAX_PENDING:
                    raise TooManyStates
                todo.append((rest, more))
            elif isinstance(node, Look):
                if found[self.behinds[id(node)]] != node.negative:
                    todo.append((rest, wanted))
            elif isinstance(node, Edge):
                if any(self.on(left, last) and self.on(right, letter) for left, right in node.pairs):
                    todo.append((rest, wanted))
            else:
                takes, target, ways = self.ways(here)
                if letter in takes:
                    out.append((target, wanted))
                todo += [(way, wanted) for way in reversed(ways)]
        return out

    def ways(self, here: int) -> Ways:
        """Return what a continuation that asks for nothing else takes and where that leads, and what it stands for, in order."""
        known = self.known_ways.get(here)
        if known is None:
            known = self.known_ways[here] = self.find_ways(self.nodes[here], self.rests[here])
        return known

    def find_ways(self, node: Any, rest: int) -> Ways:
        match node:
            case tuple():  # the rest of a literal
                target = self.cons(node[1], rest) if node[1] else rest
                return self.members[((ord(node[0]), ord(node[0])),)], target, []
            case ir.Literal(data):
                return NOTHING, -1, [self.cons(self.spelled(node, data.decode()), rest) if data else rest]
            case ir.CharClass(ranges):
                return self.members[ranges], rest, []
            case ir.Sequence(items):
                for item in reversed(items):
                    rest = self.cons(item, rest)
                return NOTHING, -1, [rest]
            case ir.Choice(items):
                return NOTHING, -1, [self.cons(item, rest) for item in items]
            case ir.Repeat(item, low, high):
                if high == 0:
                    return NOTHING, -1, [rest]
                is_lazy = id(node) in self.lazy
                again = self.repeated(item, max(low - 1, 0), None if high is None else high - 1, is_lazy)
                more = self.cons(item, rest if again.max == 0 else self.cons(again, rest))
                if low:
                    return NOTHING, -1, [more]
                return NOTHING, -1, [rest, more] if is_lazy else [more, rest]
        raise TooManyStates  # `&` and `~` have no order

    def spelled(self, node: Any, text: str) -> tuple[Any, ...]:
        """Return the characters of a literal as a chain, the same for the same literal."""
        known = self.chains.get(id(node))
        if known is None:
            chain: Any = ()
            for character in reversed(text):
                chain = (character, chain)
            known = self.chains[id(node)] = chain
        return known

    def repeated(self, item: Any, low: int, high: int | None, is_lazy: bool) -> ir.Repeat:
        """Return a repetition; the same object for the same one."""
        key = (id(item), low, high, is_lazy)
        known = self.repeats.get(key)
        if known is None:
            known = self.repeats[key] = ir.Repeat(item, low, high)
            self.kept.append(item)
            if is_lazy:
                self.lazy[id(known)] = known
        return known

    def on(self, side: tuple[Ranges, bool], letter: int) -> bool:
        """Return whether a character, or the edge of the text, is one that the side asks for."""
        return side[1] if letter == END else letter in self.members[side[0]]

    def advance(
        self, pending: frozenset[Pending], last: int, letter: int, found: list[bool]
    ) -> frozenset[Pending] | None:
        """Return the lookaheads that are open behind the character; None if one does not hold."""
        if not pending:
            return pending
        left: set[Pending] = set()
        for negative, places in pending:
            seen: set[Thread] = set()
            moved: set[int] = set()
            is_found = False
            for place in places:
                for target, _ in self.closure(place, frozenset(), last, letter, found, seen):
                    if target in (FOUND, ~FOUND):  # with the character, or before it
                        is_found = True
                    else:
                        moved.add(target)
            if is_found or not moved or letter == END:
                if is_found == negative:
                    return None
                continue
            left.add((negative, frozenset(moved)))
        return frozenset(left)

    def found_behind(self, behinds: tuple[frozenset[int], ...], last: int, letter: int) -> list[bool]:
        """Return which lookbehinds are found here."""
        result: list[bool] = []
        for index, places in enumerate(behinds):
            seen: set[Thread] = set()
            result.append(
                any(
                    target == ~FOUND
                    for place in (*places, self.bodies[index])
                    for target, _ in self.closure(place, frozenset(), last, letter, result, seen)
                )
            )
        return result

    def behind_after(self, state: State, letter: int) -> tuple[frozenset[int], ...]:
        """Return where the bodies of lookbehinds are behind a character."""
        _, last, behinds = state
        result = []
        for index, places in enumerate(behinds):
            seen: set[Thread] = set()
            result.append(
                frozenset(
                    target
                    for place in (*places, self.bodies[index])
                    for target, _ in self.closure(place, frozenset(), last, letter, [], seen)
                    if target >= 0
                )
            )
        return tuple(result)


def _classes(nodes: Iterable[Node]) -> tuple[list[Ranges], dict[Ranges, frozenset[int]]]:
    """Return classes of characters that no part of the pattern tells apart, and for each set its classes."""
    wanted: dict[Ranges, None] = {}
    for node in nodes:
        match node:
            case ir.CharClass(ranges):
                wanted[ranges] = None
            case ir.Literal(data):
                for character in data.decode():
                    wanted[((ord(character), ord(character)),)] = None
            case Edge(pairs):
                for left, right in pairs:
                    wanted[left[0]] = wanted[right[0]] = None
    try:
        return classes_of(wanted, charclass.ANY, MAX_CLASSES)
    except TooManyClasses:
        raise TooManyStates from None


def restrictable(forbidden: Ranges) -> tuple[Ranges, bool]:
    """Return characters that a follow restriction can forbid, with these among them, and whether there are more."""
    beyond = sets.intersect(forbidden, ((0x80, ir.MAX_CODE_POINT),))
    if not beyond:
        return forbidden, False
    everything = sets.intersect(charclass.ANY, ((0x80, ir.MAX_CODE_POINT),))
    return sets.union(forbidden, everything), beyond != everything


def looks_before(root: Node) -> Edge | Look | None:
    """Return an assertion that may ask about the text before the match; None if there is none.

    Cost: linear. Recursion: as deep as the pattern nests.
    """
    return _looks_before(root, 0)


def _looks_before(node: Node, before: int) -> Edge | Look | None:
    """Return one, where at least so many characters of the match stand before the node."""
    spend(2)
    if isinstance(node, Edge):
        asks = any(left != ANYTHING for left, _ in node.pairs)
        return node if asks and before == 0 else None
    if isinstance(node, Look):
        if node.ahead:
            return _looks_before(node.body, before)
        longest = widths(node.body)[1]
        if longest is None or longest > before:
            return node
        return _looks_before(node.body, before - longest)
    if isinstance(node, ir.Sequence):
        for item in node.items:
            found = _looks_before(item, before)
            if found is not None:
                return found
            before += widths(item)[0]
        return None
    for child in node_children(node):
        found = _looks_before(child, before)
        if found is not None:
            return found
    return None


def widths(node: Node) -> tuple[int, int | None]:
    """Return the least and the greatest number of characters of a node; None for no bound."""
    match node:
        case ir.Literal(data):
            count = len(data.decode(errors="replace"))
            return count, count
        case ir.CharClass():
            return 1, 1
        case ir.Sequence(items):
            parts = [widths(item) for item in items]
            highs = [high for _, high in parts]
            return sum(low for low, _ in parts), None if None in highs else sum(h or 0 for h in highs)
        case ir.Choice(items) if items:
            parts = [widths(item) for item in items]
            highs = [high for _, high in parts]
            return min(low for low, _ in parts), None if None in highs else max(h or 0 for h in highs)
        case ir.Repeat(item, low, high):
            least, most = widths(item)
            if most == 0 or high == 0:
                return 0, 0
            return least * low, None if most is None or high is None else most * high
    return 0, 0
