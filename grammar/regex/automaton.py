"""Patterns whose assertions do not come apart: an automaton over classes of characters, and back to an expression.

A *continuation* is what is still to be matched: a list of nodes. A *condition* says what the rest of the text must
be: a disjunction of conjunctions of continuations, each plain or negated, so that lookaheads need nothing more
than `and` and `not` (an alternating automaton). A lookbehind is followed from every place of the text
on: its *threads* are the continuations of its body, each with the condition that lookaheads inside it left
behind. A state of the automaton is the condition of the pattern, the threads of all lookbehinds, and what
anchors ask about the last character. States are made by reading one character of each class, within limits.

Source: for conditions, A. K. Chandra, D. C. Kozen and L. J. Stockmeyer, Alternation, 1981.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from stackmask.grammar import ir
from stackmask.grammar.regex.assertions.assertions import Assertions
from stackmask.grammar.regex.assertions.contexts import NON_ASCII, concat
from stackmask.grammar.regex.assertions.elimination import TooLarge, expression, one_of
from stackmask.grammar.regex.assertions.flat import TooEntangled
from stackmask.grammar.regex.letters import TooManyClasses, alike, classes_of
from stackmask.grammar.regex.pattern.reader import byte_class
from stackmask.grammar.regex.pattern.tree import (
    Edge,
    Look,
    Node,
    Side,
    node_choice,
    node_repeat,
    node_sequence,
    walk_nodes,
)
from stackmask.grammar.regex.unicode import sets
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges
from stackmask.grammar.source.work import spend
from stackmask.pda.terms.character_classes import byte_sequences

MAX_STATES: Final = 1_000
MAX_STEPS: Final = 60_000  # continuations looked at
MAX_DEPTH: Final = 250  # continuations that can be passed without reading a character
MAX_CONJUNCTIONS: Final = 200  # of one condition
MAX_CLASSES: Final = 400

Literal: TypeAlias = tuple[int, bool]  # a continuation, and whether it is to match
Condition: TypeAlias = frozenset[frozenset[Literal]]
Thread: TypeAlias = tuple[Condition, int]
State: TypeAlias = tuple[Condition, int, tuple[frozenset[Thread], ...]]

TRUE: Final[Condition] = frozenset([frozenset()])
FALSE: Final[Condition] = frozenset()

# continuations of their own: the text ends here; it may go on with anything; the body of a lookbehind is over
AT_END, ANYTHING_GOES, BODY_OVER = 0, 1, 2
END_OF_TEXT: Final = -1  # in place of a class of characters
EDGE_OF_TEXT: Final = -1  # in place of the class of the last character


def automaton_expr(root: Node, search: bool, as_bytes: bool) -> ir.Expr:
    """Return the expression of all texts (``as_bytes``: of all byte strings) that the tree matches.

    Raises: TooEntangled where a limit is met.
    Cost: states times classes of characters, and then what the way back takes.
    """
    assertion = next(node for node in walk_nodes(root) if isinstance(node, Edge | Look))
    root = _with_edges(root, Assertions(as_bytes, ir.ANY_TEXT))
    if as_bytes:
        root = spelled_out(root, assertion)
    try:
        return _Automaton(root, search, as_bytes, assertion).run()
    except TooLarge:
        raise TooEntangled(assertion) from None


# recursion is as deep as groups are nested, which the reader limits
def _with_edges(node: Node, assertions: Assertions) -> Node:
    """Return the node with looks at one character as edges, which need no threads and no conditions."""
    spend(10)
    match node:
        case Look(body) if assertions.finder.assertion(body) is None:
            flats = assertions.lookarounds.split(node)
            if len(flats) == 1 and len(flats[0]) == 1 and isinstance(edge := flats[0][0], Edge):
                return edge
            return node
        case Look(body):
            return Look(_with_edges(body, assertions), node.ahead, node.negative, node.offset)
        case ir.Sequence(items) if assertions.finder.assertion(node) is not None:
            return node_sequence(_with_edges(item, assertions) for item in items)
        case ir.Choice(items) if assertions.finder.assertion(node) is not None:
            return node_choice(_with_edges(item, assertions) for item in items)
        case ir.Repeat(item, low, high) if assertions.finder.assertion(node) is not None:
            return node_repeat(_with_edges(item, assertions), low, high)
    return node


# recursion is as deep as groups are nested, which the reader limits
def spelled_out(node: Node, assertion: Edge | Look) -> Node:
    """Return the node with characters written as bytes.

    Raises: TooEntangled where an anchor tells characters apart that are more than one byte.
    """
    match node:
        case ir.CharClass(ranges):
            spend(8 * len(ranges))
            sequences = [s for low, high in ranges for s in byte_sequences(low, high)]
            return ir.Choice(tuple(ir.Sequence(tuple(byte_class((r,)) for r in s)) for s in sequences))
        case Edge(pairs):
            spelled = tuple((_side(a, assertion), _side(b, assertion)) for a, b in pairs)
            return Edge(spelled, node.offset, node.what)
        case Look(body):
            return Look(spelled_out(body, assertion), node.ahead, node.negative, node.offset)
        case ir.Sequence(items):
            return node_sequence(spelled_out(item, assertion) for item in items)
        case ir.Choice(items):
            return node_choice(spelled_out(item, assertion) for item in items)
        case ir.Repeat(item, low, high):
            return node_repeat(spelled_out(item, assertion), low, high)
    return node


def _side(side: Side, assertion: Edge | Look) -> Side:
    ranges, edge = side
    if ranges and ranges[-1][1] > 0xFF:
        beyond = sets.intersect(ranges, NON_ASCII)
        if beyond != NON_ASCII:
            raise TooEntangled(assertion)
        ranges = sets.union(sets.intersect(ranges, ((0, 0x7F),)), ((0x80, 0xFF),))
    return ranges, edge


class _Automaton:
    def __init__(self, root: Node, search: bool, as_bytes: bool, assertion: Edge | Look) -> None:
        self.assertion, self.as_bytes = assertion, as_bytes
        nodes = list(walk_nodes(root))
        spend(10 * len(nodes))
        self.classes, self.members = self._classes(nodes)
        self.nodes: list[Any] = [None, None, None]  # of a continuation, its first node ...
        self.rests: list[int] = [-1, -1, -1]  # ... and the continuation behind it
        self.numbers: dict[tuple[Any, int], int] = {}
        # equal lookbehinds share their threads
        self.behinds: dict[Look, int] = {}
        for node in nodes:
            if isinstance(node, Look) and not node.ahead:
                self.behinds.setdefault(Look(node.body, False, False), len(self.behinds))
        self.edges = [node for node in nodes if isinstance(node, Edge)]
        self.alike = alike(self.edges, len(self.classes), self.members)
        self.steps = 0
        self.search = search
        self.every = ir.Repeat(ir.ByteClass((1 << 256) - 1) if as_bytes else ir.ANY_CHAR, 0, None)
        start = self.cons(root, ANYTHING_GOES if search else AT_END)
        if search and self.behinds:
            start = self.cons(self.every, start)
        self.start = start
        self.bodies = [self.cons(look.body, BODY_OVER) for look in self.behinds]

    def _classes(self, nodes: list[Node]) -> tuple[list[Ranges], dict[Ranges, frozenset[int]]]:
        """Return classes of characters that no part of the pattern tells apart, and for each set its classes."""
        wanted: dict[Ranges, None] = {}
        for node in nodes:
            match node:
                case ir.CharClass(ranges):
                    wanted[ranges] = None
                case ir.ByteClass(mask):
                    wanted[sets.ranges_of(mask)] = None
                case ir.Literal(data):
                    for code in self.codes(data):
                        wanted[((code, code),)] = None
                case Edge(pairs):
                    for left, right in pairs:
                        wanted[left[0]] = wanted[right[0]] = None
        try:
            return classes_of(wanted, sets.BYTES if self.as_bytes else charclass.ANY, MAX_CLASSES)
        except TooManyClasses:
            raise TooEntangled(self.assertion) from None

    def codes(self, data: bytes) -> list[int]:
        """Return the characters of a literal."""
        return list(data) if self.as_bytes else [ord(c) for c in data.decode()]

    def cons(self, node: Any, rest: int) -> int:
        """Return the continuation that begins with a node; equal ones have one number."""
        if node == ir.EPSILON or node == ():
            return rest
        key = (node, rest)
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.nodes)
            self.nodes.append(node)
            self.rests.append(rest)
        return number

    def run(self) -> ir.Expr:
        nothing: tuple[frozenset[Thread], ...] = tuple(frozenset() for _ in self.bodies)
        start: Condition = frozenset([frozenset([(self.start, True)])])
        states: dict[State, int] = {(start, EDGE_OF_TEXT, nothing): 0}
        ways: dict[int, list[int]] = {}  # state → classes of the last character before a match begins there
        if self.search and not self.bodies:
            # what stands before a match matters to anchors only, by its last character
            for letter in range(len(self.classes)):
                state = (start, self.seen(letter), nothing)
                ways.setdefault(states.setdefault(state, len(states)), []).append(letter)
        order = list(states)
        rows: list[dict[int, int]] = []
        accepting: list[bool] = []
        for state in order:
            ends, _ = self.read(state, END_OF_TEXT)
            accepting.append(ends == TRUE)
            row: dict[int, int] = {}
            for letter in range(len(self.classes)):
                condition, threads = self.read(state, letter)
                spend(4)
                if condition == FALSE:
                    continue
                if condition == TRUE:
                    target: State = (TRUE, EDGE_OF_TEXT, ())
                else:
                    target = (condition, self.seen(letter), threads)
                if target not in states:
                    if len(states) >= MAX_STATES:
                        raise TooEntangled(self.assertion)
                    states[target] = len(order)
                    order.append(target)
                row[letter] = states[target]
            rows.append(row)
        entries: list[tuple[ir.Expr, int]] = [(ir.EPSILON, 0)]
        for number, letters in ways.items():
            last = charclass.normalize(r for letter in letters for r in self.classes[letter])
            entries.append((concat([self.every, one_of(last, self.as_bytes)]), number))
        return expression(rows, accepting, self.classes, entries, self.as_bytes)

    def seen(self, letter: int) -> int:
        """Return a class that stands for all those that anchors do not tell from this one, as last characters."""
        return self.alike[letter] if self.edges else 0

    def read(self, state: State, letter: int) -> tuple[Condition, tuple[frozenset[Thread], ...]]:
        """Return the condition and the threads behind one character, or whether the text may end."""
        condition, last, threads = state
        if not threads and condition == TRUE:
            return TRUE, ()
        step = _Step(self, last, letter, threads)
        return step.after(condition), step.new_threads() if letter != END_OF_TEXT else ()


class _Step:
    """One place of the text: the characters before and behind it, and the lookbehinds that are under way."""

    def __init__(
        self, automaton: _Automaton, last: int, letter: int, threads: tuple[frozenset[Thread], ...]
    ) -> None:
        self.automaton, self.last, self.letter = automaton, last, letter
        self.threads = threads
        self.results: dict[int, list[tuple[Condition, int]]] = {}
        self.conditions: dict[Condition, Condition] = {}
        self.found: dict[int, list[tuple[Condition, int]]] = {}

    def after(self, condition: Condition) -> Condition:
        """Return what a condition about the text from here on asks of the text behind the character."""
        known = self.conditions.get(condition)
        if known is not None:
            return known
        result = FALSE
        for conjunction in condition:
            part = TRUE
            for continuation, positive in conjunction:
                one = self.whole(continuation)
                part = conjoin(part, one if positive else negate(one))
                if part == FALSE:
                    break
            result = self.checked(disjoin(result, part))
        self.conditions[condition] = result
        return result

    def checked(self, condition: Condition) -> Condition:
        if len(condition) > MAX_CONJUNCTIONS:
            raise TooEntangled(self.automaton.assertion)
        return condition

    def whole(self, continuation: int) -> Condition:
        """Return the condition that a continuation leaves behind the character."""
        result = FALSE
        for condition, target in self.moves(continuation):
            if target in (ANYTHING_GOES, ~ANYTHING_GOES) or (
                target == ~AT_END and self.letter == END_OF_TEXT
            ):
                result = disjoin(result, condition)
            elif target >= 0:
                result = disjoin(result, conjoin(condition, frozenset([frozenset([(target, True)])])))
            self.checked(result)
        return result

    def moves(self, continuation: int) -> list[tuple[Condition, int]]:
        """Return where a continuation gets with the character, each under a condition on what is behind it.

        What is complete before the character is given as the complement (``~AT_END`` and so on).
        """
        known = self.results.get(continuation)
        if known is None:
            merged: dict[int, Condition] = {}
            for condition, target in self.walk(continuation):
                merged[target] = self.checked(disjoin(merged.get(target, FALSE), condition))
            known = self.results[continuation] = [(c, target) for target, c in merged.items() if c != FALSE]
        return known

    def walk(self, continuation: int) -> list[tuple[Condition, int]]:
        automaton, letter = self.automaton, self.letter
        out: list[tuple[Condition, int]] = []
        best: dict[int, Condition] = {}
        todo: list[tuple[int, Condition, int]] = [(continuation, TRUE, 0)]
        while todo:
            here, condition, depth = todo.pop()
            if condition == FALSE:
                continue
            automaton.steps += 1
            spend(6)
            if automaton.steps > MAX_STEPS or depth > MAX_DEPTH:
                raise TooEntangled(automaton.assertion)
            # reached before under a condition that this one implies: nothing new, and loops end here
            before = best.get(here, FALSE)
            both = disjoin(before, condition)
            if both == before:
                continue
            best[here] = both
            if here <= BODY_OVER:
                out.append((condition, ~here))
                continue
            node, rest = automaton.nodes[here], automaton.rests[here]
            match node:
                case tuple():  # the characters of a literal
                    if letter != END_OF_TEXT and letter in automaton.members[((node[0], node[0]),)]:
                        out.append((condition, automaton.cons(node[1:], rest)))
                case ir.Literal(data):
                    todo.append((automaton.cons(tuple(automaton.codes(data)), rest), condition, depth))
                case ir.CharClass(ranges):
                    if letter != END_OF_TEXT and (
                        ranges == charclass.ANY or letter in automaton.members[ranges]
                    ):
                        out.append((condition, rest))
                case ir.ByteClass(mask):
                    if letter != END_OF_TEXT and (
                        mask + 1 == 1 << 256 or letter in automaton.members[sets.ranges_of(mask)]
                    ):
                        out.append((condition, rest))
                case ir.Sequence(items):
                    behind = rest
                    for item in reversed(items):
                        behind = automaton.cons(item, behind)
                    todo.append((behind, condition, depth + 1))
                case ir.Choice(items):
                    todo += [(automaton.cons(item, rest), condition, depth + 1) for item in reversed(items)]
                case ir.Repeat(item, low, high):
                    if low == 0:
                        todo.append((rest, condition, depth + 1))
                    if high != 0:
                        again = ir.Repeat(item, max(low - 1, 0), None if high is None else high - 1)
                        behind = rest if again.max == 0 else automaton.cons(again, rest)
                        todo.append((automaton.cons(item, behind), condition, depth + 1))
                case Edge(pairs):
                    if any(self.on(left, self.last) and self.on(right, letter) for left, right in pairs):
                        todo.append((rest, condition, depth + 1))
                case Look():
                    todo.append((rest, conjoin(condition, self.look(node)), depth + 1))
        return out

    def on(self, side: tuple[Ranges, bool], letter: int) -> bool:
        """Return whether a character, or the edge of the text, is one that the side asks for."""
        return side[1] if letter == EDGE_OF_TEXT else letter in self.automaton.members[side[0]]

    def look(self, look: Look) -> Condition:
        """Return the condition under which a lookahead or lookbehind holds here."""
        automaton = self.automaton
        if look.ahead:
            condition = self.whole(automaton.cons(look.body, ANYTHING_GOES))
        else:
            condition = FALSE
            for under, target in self.behind(automaton.behinds[Look(look.body, False, False)]):
                if target == ~BODY_OVER:  # mutant: body-over
                    condition = disjoin(condition, under)
        return negate(condition) if look.negative else condition

    def behind(self, index: int) -> list[tuple[Condition, int]]:
        """Return where the threads of a lookbehind get, a new one from here on included."""
        known = self.found.get(index)
        if known is None:
            known = []
            for condition, continuation in (*self.threads[index], (TRUE, self.automaton.bodies[index])):
                under = self.after(condition)
                known += [(conjoin(under, more), target) for more, target in self.moves(continuation)]
            self.found[index] = known
        return known

    def new_threads(self) -> tuple[frozenset[Thread], ...]:
        """Return the threads of all lookbehinds behind the character."""
        result = []
        for index in range(len(self.threads)):
            merged: dict[int, Condition] = {}
            for condition, target in self.behind(index):
                if target >= 0:
                    merged[target] = self.checked(disjoin(merged.get(target, FALSE), condition))
            result.append(frozenset((c, target) for target, c in merged.items() if c != FALSE))
        return tuple(result)


def conjoin(left: Condition, right: Condition) -> Condition:
    """Return the condition that both hold."""
    if left in (TRUE, right):
        return right
    if right == TRUE:
        return left
    found: set[frozenset[Literal]] = set()
    spend(2 * len(left) * len(right))
    for a in left:
        for b in right:
            joined = a | b
            if not any((continuation, not positive) in joined for continuation, positive in joined):
                found.add(joined)
    return smallest(found)


def disjoin(left: Condition, right: Condition) -> Condition:
    """Return the condition that either holds."""
    if not left or left == right:
        return right
    if not right:
        return left
    return smallest({*left, *right})


def negate(condition: Condition) -> Condition:
    """Return the condition that it does not hold."""
    result = TRUE
    for conjunction in condition:
        result = conjoin(result, frozenset(frozenset([(c, not positive)]) for c, positive in conjunction))
        if len(result) > MAX_CONJUNCTIONS:
            raise TooLarge
    return result


def smallest(conjunctions: set[frozenset[Literal]]) -> Condition:
    """Return the conjunctions that no other one follows from."""
    if len(conjunctions) < 2:
        return frozenset(conjunctions)
    spend(1 + len(conjunctions) ** 2 // 16)
    return cast(
        "Condition", frozenset(c for c in conjunctions if not any(other < c for other in conjunctions))
    )
