"""Patterns as automata over classes of characters, where assertions cannot be split, and where order matters.

A *condition* constrains the rest of the text. It is a disjunction of conjunctions of continuations, each
plain or negated, so that lookaheads only need `and` and `not` (an alternating automaton: A. K. Chandra, D. C.
Kozen and L. J. Stockmeyer, Alternation, 1981). A lookbehind is followed from every position of the text: its
*threads* are the continuations of its body, each with the condition of lookaheads inside it.

``automaton_expr`` returns all texts that a pattern matches: a state is the condition of the pattern, the
threads of all lookbehinds, and the relevant class of the last character. ``whole_strings`` returns the texts
that a backtracking matcher matches as a whole at first: the language of ``".*?"`` contains ``"a"b"``, but a
matcher that reads this text stops after ``"a"``. There a state is an ordered list of continuations, each with
its condition, in which a match cuts off all later ones (R. Cox, Regular Expression Matching: the Virtual
Machine Approach, 2009). Constraints of lookaheads and anchors on the text after the match become characters
that may not follow. States are created by reading one character of each class, within limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias, cast

from stackmask.grammar import ir
from stackmask.grammar.languages.automaton import Automaton, Continuations, explored
from stackmask.grammar.languages.classes import TooLarge, byte_class, intersect, one_of, union
from stackmask.grammar.languages.ends import NON_ASCII
from stackmask.grammar.languages.forms import concat
from stackmask.grammar.regex.pattern.tree import (
    ANYTHING,
    Edge,
    Look,
    Node,
    Side,
    node_children,
    rebuilt,
    walk_nodes,
    widths,
)
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges
from stackmask.grammar.source.work import spend
from stackmask.pda.terms.character_classes import byte_sequences

MAX_STATES: Final = 1_000
MAX_STEPS: Final = 60_000  # continuations looked at
MAX_ORDERED: Final = 3  # times as many states and steps where order matters
MAX_DEPTH: Final = 250  # continuations that can be passed without reading a character
MAX_CONJUNCTIONS: Final = 200  # of one condition
MAX_CLASSES: Final = 300

Literal: TypeAlias = tuple[int, bool]  # a continuation, and whether it is to match
Condition: TypeAlias = frozenset[frozenset[Literal]]
Thread: TypeAlias = tuple[int, Condition]
Threads: TypeAlias = tuple[frozenset[Thread], ...]  # of each lookbehind
State: TypeAlias = tuple[Condition, int, Threads]
Ordered: TypeAlias = tuple[tuple[Thread, ...], int, Threads]
Reading: TypeAlias = tuple[tuple[Thread, ...], bool, bool]

TRUE: Final[Condition] = frozenset([frozenset()])
FALSE: Final[Condition] = frozenset()

# continuations of their own: the text ends here; it may go on with anything; the body of a lookbehind is over; the match
# ends here; it ended before, if lookaheads hold
AT_END, ANYTHING_GOES, BODY_OVER, MATCH, MATCHED = range(5)
END_OF_TEXT: Final = -1  # in place of a class of characters, also of the last one


class Whole(NamedTuple):
    """The strings that a pattern matches as a whole, by the characters that may not follow these strings.

    ``is_narrow``: strings that depend on more than one following character were excluded.
    """

    parts: tuple[tuple[ir.Expr, Ranges], ...]
    is_narrow: bool


def automaton_expr(root: Node, search: bool, as_bytes: bool) -> ir.Expr:
    """Return the expression of all texts (``as_bytes``: of all byte strings) that the tree matches.

    Raises: TooLarge if a limit is reached.
    Cost: states times classes of characters, and the conversion to an expression.
    """
    machine = _Machine(spelled_out(root) if as_bytes else root, as_bytes)
    parts = machine.parts
    every = ir.Repeat(ir.ByteClass((1 << 256) - 1) if as_bytes else ir.ANY_CHAR, 0, None)
    begin = parts.cons(machine.root, ANYTHING_GOES if search else AT_END)
    if search and machine.bodies:
        begin = parts.cons(every, begin)  # lookbehinds see what stands before a match
    start: Condition = frozenset([frozenset([(begin, True)])])
    starts: dict[State, list[int]] = {(start, END_OF_TEXT, machine.nothing): []}
    if search and not machine.bodies:
        # what stands before a match matters to anchors only, by its last character
        for letter in machine.letters:
            starts.setdefault((start, machine.seen(letter), machine.nothing), []).append(letter)

    def read(state: State) -> tuple[bool, Iterable[tuple[int, State]]]:
        condition, last, threads = state
        if not threads and condition == TRUE:
            return True, ((letter, state) for letter in machine.letters)
        moves: list[tuple[int, State]] = []
        for letter in machine.letters:
            step = _Step(machine, last, letter, threads)
            after, following = step.after(condition), step.new_threads()
            spend(4)
            if after == TRUE:
                moves.append((letter, (TRUE, END_OF_TEXT, ())))
            elif after != FALSE:
                moves.append((letter, (after, machine.seen(letter), following)))
        return _Step(machine, last, END_OF_TEXT, threads).after(condition) == TRUE, moves

    found = explored(list(starts), read, parts.classes, as_bytes, MAX_STATES)
    entries: list[tuple[ir.Expr, int]] = [(ir.EPSILON, 0)]
    for number, letters in enumerate(starts.values()):
        if letters:
            before = one_of((r for letter in letters for r in parts.classes[letter]), as_bytes)
            entries.append((concat([every, before]), number))
    return found.expression(entries)


def whole_strings(root: Node, lazy: dict[int, ir.Repeat]) -> Whole:
    """Return the strings that the first match of a pattern covers as a whole.

    ``lazy``: the lazy repetitions, by identity. The text before the string is ignored (``looks_before``).
    Raises: TooLarge if a limit is reached.
    Cost: states times classes of characters.
    """
    machine = _Machine(root, False, lazy, MAX_ORDERED * MAX_STEPS)
    start: Ordered = (((machine.parts.cons(root, MATCH), TRUE),), END_OF_TEXT, machine.nothing)
    follows: list[frozenset[int]] = []  # of each state, what may follow if the match ends there
    is_narrow = False

    def read(state: Ordered) -> tuple[bool, Iterable[tuple[int, Ordered]]]:
        nonlocal is_narrow
        moves: list[tuple[int, Ordered]] = []
        follow: set[int] = set()
        for letter, (threads, matches, unsure), following in machine.reads(state):
            is_narrow = is_narrow or unsure
            if matches:
                follow.add(letter)
            if threads and letter != END_OF_TEXT:
                moves.append((letter, (threads, machine.seen(letter), following)))
        follows.append(frozenset(follow))
        return bool(follow), moves

    found = explored([start], read, machine.parts.classes, False, MAX_ORDERED * MAX_STATES)
    parts: list[tuple[ir.Expr, Ranges]] = []
    everything = frozenset((END_OF_TEXT, *machine.letters))
    for follow in dict.fromkeys(follows):
        if not follow:
            continue
        if END_OF_TEXT not in follow:  # something must follow, which no restriction says
            is_narrow = True
            continue
        accepting = [one == follow for one in follows]
        expr = Automaton(found.rows, accepting, found.classes).expression()
        forbidden = charclass.normalize(r for letter in everything - follow for r in found.classes[letter])
        wide, is_cut = restrictable(forbidden)
        is_narrow = is_narrow or is_cut
        parts.append((expr, wide))
    return Whole(tuple(parts), is_narrow)


# recursion is as deep as groups are nested, which the reader limits
def spelled_out(node: Node) -> Node:
    """Return the node with its characters written as bytes.

    Raises: TooLarge if an anchor distinguishes characters of several bytes.
    """
    match node:
        case ir.CharClass(ranges):
            spend(8 * len(ranges))
            sequences = [s for low, high in ranges for s in byte_sequences(low, high)]
            return ir.Choice(tuple(ir.Sequence(tuple(byte_class((r,)) for r in s)) for s in sequences))
        case Edge(pairs):
            spelled = tuple((_side(a), _side(b)) for a, b in pairs)
            return Edge(spelled, node.offset, node.what)
    return rebuilt(node, spelled_out)


def _side(side: Side) -> Side:
    ranges, edge = side
    if ranges and ranges[-1][1] > 0xFF:
        if intersect(ranges, NON_ASCII) != NON_ASCII:
            raise TooLarge
        ranges = union(intersect(ranges, ((0, 0x7F),)), ((0x80, 0xFF),))
    return ranges, edge


class _Machine:
    """The continuations and lookbehinds of a pattern, and the classes of characters for its anchors."""

    def __init__(
        self,
        root: Node,
        as_bytes: bool,
        lazy: dict[int, ir.Repeat] | None = None,
        most_steps: int = MAX_STEPS,
    ) -> None:
        nodes = list(walk_nodes(root))
        spend(10 * len(nodes))
        edges = [node for node in nodes if isinstance(node, Edge)]
        sides = [side[0] for edge in edges for pair in edge.pairs for side in pair]
        self.root = root
        self.parts = Continuations(nodes, as_bytes, MAX_CLASSES, sets=sides, lazy=lazy, ends=5)
        self.letters = range(len(self.parts.classes))
        # equal lookbehinds share their threads
        behinds = [
            Look(node.body, False, False) for node in nodes if isinstance(node, Look) and not node.ahead
        ]
        self.behinds = {look: index for index, look in enumerate(dict.fromkeys(behinds))}
        self.bodies = [self.parts.cons(look.body, BODY_OVER) for look in self.behinds]
        self.nothing: Threads = tuple(frozenset() for _ in self.bodies)
        self.is_plain = not edges and not any(isinstance(node, Look) for node in nodes)
        # of each class, the first one that anchors do not tell from it, as last characters
        lefts = list(dict.fromkeys(pair[0][0] for edge in edges for pair in edge.pairs))
        spend(len(self.letters) * (1 + len(lefts)) // 8)
        first: dict[tuple[bool, ...], int] = {}
        self.alike = [
            first.setdefault(tuple(letter in self.parts.members[left] for left in lefts), letter)
            for letter in self.letters
        ]
        self.has_edges = bool(edges)
        self.left = most_steps

    def seen(self, letter: int) -> int:
        """Return the representative of the classes that anchors do not distinguish from this one, if it is last."""
        return self.alike[letter] if self.has_edges else END_OF_TEXT

    def count_steps(self, count: int) -> None:
        """Count processed continuations. Raises: TooLarge."""
        self.left -= count
        if self.left < 0:
            raise TooLarge

    def reads(self, state: Ordered) -> Iterator[tuple[int, Reading, Threads]]:
        """Yield the result for the end of the text, and for each class of characters."""
        threads, last, behinds = state
        if not self.is_plain:
            for letter in (END_OF_TEXT, *self.letters):
                step = _Step(self, last, letter, behinds)
                yield letter, step.ordered(threads), step.new_threads() if letter != END_OF_TEXT else ()
            return
        # nothing asks for the character but what takes it: one walk serves all of them
        following: list[dict[Thread, None]] = [{} for _ in self.letters]
        todo = [continuation for continuation, _ in reversed(threads)]
        seen: set[int] = set()
        matches = False
        while todo and not matches:
            here = todo.pop()
            if here in seen:
                continue
            seen.add(here)
            matches = here == MATCH
            if not matches:
                takes, target, ways = self.parts.ways(here)
                spend(6 + len(takes) // 4)
                for letter in takes:
                    following[letter][target, TRUE] = None
                todo += reversed(ways)
        self.count_steps(len(seen) * (1 + len(self.letters)))
        yield END_OF_TEXT, ((), matches, False), ()
        for letter in self.letters:
            yield letter, (tuple(following[letter]), matches, False), ()


class _Step:
    """One position of the text: the characters before and after it, and the active lookbehinds."""

    def __init__(self, machine: _Machine, last: int, letter: int, threads: Threads) -> None:
        self.machine, self.last, self.letter = machine, last, letter
        self.threads = threads
        self.walks: dict[int, list[tuple[Condition, int]]] = {}
        self.conditions: dict[Condition, Condition] = {}
        self.found: dict[int, list[tuple[Condition, int]]] = {}

    def after(self, condition: Condition) -> Condition:
        """Return the constraint that a condition from here on puts on the text after the character."""
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
            result = checked(disjoin(result, part))
        self.conditions[condition] = result
        return result

    def whole(self, continuation: int) -> Condition:
        """Return the condition of a continuation after the character."""
        result = FALSE
        for condition, target in self.moves(continuation):
            if target in (ANYTHING_GOES, ~ANYTHING_GOES) or (
                target == ~AT_END and self.letter == END_OF_TEXT
            ):
                result = disjoin(result, condition)
            elif target >= 0:
                result = disjoin(result, conjoin(condition, frozenset([frozenset([(target, True)])])))
            checked(result)
        return result

    def moves(self, continuation: int) -> list[tuple[Condition, int]]:
        """Return a continuation's successors after the character, each once, with a condition on the rest."""
        merged: dict[int, Condition] = {}
        for condition, target in self.walk(continuation):
            known = merged.get(target)
            merged[target] = condition if known is None else checked(disjoin(known, condition))
        return [(condition, target) for target, condition in merged.items()]

    def ordered(self, threads: tuple[Thread, ...]) -> Reading:
        """Return the threads after the character, whether the match may end before it, and if this is unsure."""
        best: dict[int, Condition] = {}
        following: dict[Thread, None] = {}
        unsure = False
        for continuation, pending in threads:
            waiting = TRUE if pending == TRUE else self.after(pending)
            for more, target in self.walk(continuation) if waiting != FALSE else ():
                condition = more if waiting == TRUE else checked(conjoin(waiting, more))
                if condition == FALSE:
                    continue
                if target in (~MATCH, ~MATCHED):
                    if condition == TRUE:  # what comes after it in the order is not tried any more
                        return tuple(following), target == ~MATCH, unsure
                    unsure = unsure or target == ~MATCH
                    target = MATCHED
                # reached before under a condition that this one implies: nothing new
                before = best.get(target)
                best[target] = condition if before is None else disjoin(before, condition)
                if best[target] != before:
                    following[target, condition] = None
        return tuple(following), False, unsure

    def walk(self, continuation: int) -> list[tuple[Condition, int]]:
        """Return the successors of a continuation after the character, in order, each with a condition on the
        text after it.

        A continuation that is complete before the character is represented by its complement, as ``~AT_END``.
        """
        known = self.walks.get(continuation)
        if known is not None:
            return known
        machine, letter = self.machine, self.letter
        parts = machine.parts
        out: list[tuple[Condition, int]] = []
        best: dict[int, Condition] = {}
        todo: list[tuple[int, Condition, int]] = [(continuation, TRUE, 0)]
        steps = 0
        while todo:
            here, condition, depth = todo.pop()
            if condition == FALSE:
                continue
            steps += 1
            if depth > MAX_DEPTH or steps > machine.left:
                raise TooLarge
            before = best.get(here)
            if before is not None:
                # reached before under a condition that this one implies: nothing new, and loops end here
                both = disjoin(before, condition)
                if both == before:
                    continue
                best[here] = both
            else:
                best[here] = condition
            if here <= MATCHED:
                out.append((condition, ~here))
                continue
            node, rest = parts.nodes[here], parts.rests[here]
            if isinstance(node, Edge):
                if any(self.on(left, self.last) and self.on(right, letter) for left, right in node.pairs):
                    todo.append((rest, condition, depth + 1))
            elif isinstance(node, Look):
                todo.append((rest, conjoin(condition, self.look(node)), depth + 1))
            else:
                takes, target, ways = parts.ways(here)
                if letter in takes:
                    out.append((condition, target))
                todo += [(way, condition, depth + 1) for way in reversed(ways)]
        machine.count_steps(steps)
        spend(6 * steps)
        self.walks[continuation] = out
        return out

    def on(self, side: Side, letter: int) -> bool:
        """Return whether the side allows a character, or the edge of the text."""
        return side[1] if letter == END_OF_TEXT else letter in self.machine.parts.members[side[0]]

    def look(self, look: Look) -> Condition:
        """Return the condition under which a lookahead or lookbehind holds here."""
        if look.ahead:
            condition = self.whole(self.machine.parts.cons(look.body, ANYTHING_GOES))
        else:
            condition = FALSE
            for under, target in self.behind(self.machine.behinds[Look(look.body, False, False)]):
                if target == ~BODY_OVER:  # mutant: body-over
                    condition = disjoin(condition, under)
        return negate(condition) if look.negative else condition

    def behind(self, index: int) -> list[tuple[Condition, int]]:
        """Return the successors of a lookbehind's threads, with a new thread from here on."""
        known = self.found.get(index)
        if known is None:
            known = []
            for continuation, condition in (*self.threads[index], (self.machine.bodies[index], TRUE)):
                under = TRUE if condition == TRUE else self.after(condition)
                moves = self.moves(continuation)
                known += moves if under == TRUE else [(conjoin(under, more), to) for more, to in moves]
            self.found[index] = known
        return known

    def new_threads(self) -> Threads:
        """Return the threads of all lookbehinds after the character."""
        result = []
        for index in range(len(self.threads)):
            merged: dict[int, Condition] = {}
            for condition, target in self.behind(index):
                if target >= 0:
                    merged[target] = checked(disjoin(merged.get(target, FALSE), condition))
            result.append(frozenset((target, c) for target, c in merged.items() if c != FALSE))
        return tuple(result)


def checked(condition: Condition) -> Condition:
    """Return a condition unchanged, if it is not too large. Raises: TooLarge."""
    if len(condition) > MAX_CONJUNCTIONS:
        raise TooLarge
    return condition


def conjoin(left: Condition, right: Condition) -> Condition:
    """Return the conjunction."""
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
    """Return the disjunction."""
    if not left or left == right:
        return right
    if not right:
        return left
    return smallest({*left, *right})


def negate(condition: Condition) -> Condition:
    """Return the negation."""
    result = TRUE
    for conjunction in condition:
        result = conjoin(result, frozenset(frozenset([(c, not positive)]) for c, positive in conjunction))
        checked(result)
    return result


def smallest(conjunctions: set[frozenset[Literal]]) -> Condition:
    """Return those conjunctions that no other one implies."""
    if len(conjunctions) < 2:
        return frozenset(conjunctions)
    spend(1 + len(conjunctions) ** 2 // 16)
    return cast(
        "Condition", frozenset(c for c in conjunctions if not any(other < c for other in conjunctions))
    )


def restrictable(forbidden: Ranges) -> tuple[Ranges, bool]:
    """Return a superset of these characters that a follow restriction can forbid, and whether it is larger."""
    beyond = intersect(forbidden, ((0x80, ir.MAX_CODE_POINT),))
    if not beyond:
        return forbidden, False
    everything = intersect(charclass.ANY, ((0x80, ir.MAX_CODE_POINT),))
    return union(forbidden, everything), beyond != everything


def looks_before(root: Node) -> Edge | Look | None:
    """Return an assertion that may depend on the text before the match; None if there is none.

    Cost: linear. Recursion is as deep as the nesting of the pattern.
    """
    return _looks_before(root, 0)


def _looks_before(node: Node, before: int) -> Edge | Look | None:
    """Return such an assertion, given the minimal number of characters that the match has before the node."""
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
