"""Resolve a flat sequence of parts and assertions: first and last characters, and lookarounds.

What an assertion asks of the characters beside it restricts the first or last character of the parts there. A part
that can be empty counts twice, once not empty and once left out, when the places on both sides of it are one. What
is left then are lookaheads, each an intersection with all that follows, and lookbehinds, each one with all that
stands before.
"""

from __future__ import annotations

from typing import Final, TypeAlias, final

from stackmask.grammar import ir
from stackmask.grammar.ir.build import choice, is_nothing
from stackmask.grammar.regex.assertions.contexts import Contexts, concat, nullable
from stackmask.grammar.regex.assertions.flat import TRIVIAL, Flat, LookStrings, TooEntangled, both, restricted
from stackmask.grammar.regex.assertions.tempered import TemperedLoops
from stackmask.grammar.regex.pattern.tree import ANYTHING, Edge, Look, Pairs, Side

MAX_SPLITS: Final = 512  # restrictions of one flat sequence

Joint: TypeAlias = "tuple[Pairs, tuple[Look, ...]]"
Parts: TypeAlias = "list[ir.Expr | None]"  # None: the edge of the text, in place of the first or last part


@final
class JointSolver:
    """Resolves flat sequences."""

    def __init__(
        self, contexts: Contexts, any_text: ir.Expr, tempered: TemperedLoops, look_strings: LookStrings
    ) -> None:
        self.contexts = contexts
        self.any_text = any_text
        self.tempered = tempered
        self.look_strings = look_strings

    def solve(self, flat: Flat, left_open: bool, right_open: bool) -> ir.Expr:
        """Return the strings of a flat sequence; an open side is not the edge of the text.

        Raises: TooEntangled.
        """
        flat = self.tempered.written_out(flat, right_open)
        parts: Parts = []
        joints: list[Joint] = []
        pending: list[ir.Expr] = []
        pairs: Pairs = TRIVIAL
        looks: list[Look] = []
        asserted = False
        some: Edge | Look | None = None
        for item in (*flat, None):
            if isinstance(item, Edge):
                pairs, asserted, some = both(pairs, item.pairs), True, item
            elif isinstance(item, Look):
                looks.append(item)
                asserted, some = True, item
            else:
                if asserted:
                    parts.append(concat(pending))
                    joints.append((pairs, tuple(looks)))
                    pending, pairs, looks, asserted = [], TRIVIAL, [], False
                if item is not None:
                    pending.append(item)
        parts.append(concat(pending))
        todo = [(parts, joints)]
        results: list[ir.Expr] = []
        steps = 0
        while todo:
            steps += 1
            if steps > MAX_SPLITS:
                raise TooEntangled(some)
            split = self.split(*todo.pop(), left_open, right_open, some)
            if isinstance(split, list):
                todo += reversed(split)
            elif not is_nothing(split):
                results.append(split)
        return choice(results)

    def split(
        self,
        parts: Parts,
        joints: list[Joint],
        left_open: bool,
        right_open: bool,
        some: Edge | Look | None,
    ) -> ir.Expr | list[tuple[Parts, list[Joint]]]:
        """Take one step: the cases that the first open question comes down to, or the result."""
        last = len(parts) - 1
        for i, (pairs, looks) in enumerate(joints):
            if pairs == TRIVIAL:
                continue
            if not pairs:
                return []
            left, right = parts[i], parts[i + 1]
            if i == 0 and (left is None or left == ir.EPSILON):
                reduced = self.at_edge(pairs, 0, left_open, some)
                if reduced != pairs or left is not None:
                    return [([None, *parts[1:]], [(reduced, looks), *joints[1:]])]
            if i + 1 == last and (right is None or right == ir.EPSILON):
                reduced = self.at_edge(pairs, 1, right_open, some)
                if reduced != pairs or right is not None:
                    return [([*parts[:-1], None], [*joints[:-1], (reduced, looks)])]
            if pairs == TRIVIAL:
                continue
            for at, part in ((i, left), (i + 1, right)):
                if part == ir.EPSILON:  # the places on both sides of an empty part are one
                    (a, more), (b, others) = joints[at - 1], joints[at]
                    joint = (both(a, b), (*more, *others))
                    return [([*parts[:at], *parts[at + 1 :]], [*joints[: at - 1], joint, *joints[at + 1 :]])]
            cases = []
            for side, (at, part) in enumerate(((i, left), (i + 1, right))):
                if part is not None and nullable(part) and any(pair[side] != ANYTHING for pair in pairs):
                    cases.append(([*parts[:at], ir.EPSILON, *parts[at + 1 :]], joints))
            for before, after in pairs:
                # restricting leaves the empty string out
                new_left, new_right = left, right
                if left is not None and before != ANYTHING:
                    new_left = restricted(
                        self.contexts, left, before[0], False, some, i == 0 and not left_open
                    )
                if right is not None and after != ANYTHING:
                    outer = i + 1 == last and not right_open
                    new_right = restricted(self.contexts, right, after[0], True, some, outer)
                if any(part is not None and is_nothing(part) for part in (new_left, new_right)):
                    continue
                case = (
                    [*parts[:i], new_left, new_right, *parts[i + 2 :]],
                    [*joints[:i], (TRIVIAL, looks), *joints[i + 1 :]],
                )
                if new_left is left and new_right is right:
                    return [case]
                cases.append(case)
            return cases
        for _, looks in joints:
            for look in looks:
                if right_open if look.ahead else left_open:
                    raise TooEntangled(look)  # it sees more than this sequence
        return self.nested([part or ir.EPSILON for part in parts], [looks for _, looks in joints])

    def at_edge(self, pairs: Pairs, side: int, is_open: bool, some: Edge | Look | None) -> Pairs:
        """Return the pairs that hold at the edge of the text."""
        if is_open:
            if any(pair[side] != ANYTHING for pair in pairs):
                raise TooEntangled(some)
            return pairs
        kept: dict[tuple[Side, Side], None] = {}
        for pair in pairs:
            if pair[side][1]:
                kept[(ANYTHING, pair[1]) if side == 0 else (pair[0], ANYTHING)] = None
        return TRIVIAL if TRIVIAL[0] in kept else tuple(kept)

    def nested(self, parts: list[ir.Expr], joints: list[tuple[Look, ...]]) -> ir.Expr:
        """Return the parts in order, lookaheads as intersections with what follows, lookbehinds with what precedes."""
        last_behind = max((i for i, looks in enumerate(joints) for k in looks if not k.ahead), default=-1)
        ahead = min((i for i, looks in enumerate(joints) for k in looks if k.ahead), default=len(joints))
        if last_behind > ahead:
            raise TooEntangled(next(k for k in joints[ahead] if k.ahead))
        suffix = parts[-1]
        for i in range(len(joints) - 1, ahead - 1, -1):
            suffix = self.looked(suffix, [look for look in joints[i] if look.ahead])
            if i > ahead:
                suffix = concat([parts[i], suffix])
        prefix = parts[0]
        for i, looks in enumerate(joints[: ahead + 1]):
            prefix = self.looked(prefix, [look for look in looks if not look.ahead])
            prefix = concat([prefix, parts[i + 1] if i < ahead else suffix])
        return prefix

    def looked(self, expr: ir.Expr, looks: list[Look]) -> ir.Expr:
        """Return the strings of an expression that the looks allow."""
        operands: list[ir.Expr] = [expr] if expr != self.any_text else []
        for look in looks:
            strings = self.look_strings(look)
            if look.negative:
                if self.any_text != ir.ANY_TEXT:  # `!` is about text
                    raise TooEntangled(look)
                strings = ir.Complement(strings)
            operands.append(strings)
        if not operands:
            return expr
        return operands[0] if len(operands) == 1 else ir.Intersection(tuple(operands))
