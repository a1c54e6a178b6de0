"""What the parts of macros mean for a vocabulary: free text up to triggers, and runs of chunks."""

from __future__ import annotations

from typing import Final

from stackmask.grammar.compose.free_text import any_of, any_overlap, text
from stackmask.grammar.compose.markers import Markers
from stackmask.grammar.ir import (
    ANY_CHAR,
    ANY_TEXT,
    EPSILON,
    Complement,
    Expr,
    Intersection,
    Literal,
    Repeat,
    Rule,
    RuleRef,
    RuleSet,
    Sequence,
)
from stackmask.grammar.ir.build import choice, sequence
from stackmask.grammar.notation.tree import Dispatch, Part
from stackmask.grammar.source.work import spend

KINDS: Final = frozenset({"text", "mark", "until", "last", "stop"})  # parts of free text with triggers
_MORE_TEXT: Final = Repeat(ANY_CHAR, 1, None)


class FreeText:
    """Free text with triggers, for one vocabulary; what its parts share is made once.

    The trigger that is complete first counts, of several the longest; a longer one may go on where a shorter one could
    end. An excluded string ends nothing: it never comes.
    """

    def __init__(self, dispatch: Dispatch, markers: Markers) -> None:
        self.dispatch = dispatch
        self.markers = markers
        self.marks = self._plain([*dispatch.triggers, *dispatch.stops])
        self.excludes = self._plain([*dispatch.excludes])
        others = [*self.marks, *self.excludes]
        self.overlaps = any_overlap(others)
        self.before = text(others)
        self.too_late = (
            Complement(Sequence((ANY_TEXT, any_of(others), _MORE_TEXT))) if self.overlaps else EPSILON
        )

    def part(self, part: Part) -> Expr:
        """Return a part.

        ``text`` is what comes before any trigger, ``mark`` a trigger, ``until`` both in one, ``last`` the text after the
        last trigger, and ``stop`` what may end it.
        """
        dispatch = self.dispatch
        if part.kind == "mark":
            return self.markers.expr(dispatch.triggers[int(part.text)])
        if part.kind == "until":
            return self._until(dispatch.triggers[int(part.text)])
        if part.kind == "stop":
            stops = [self.markers.expr(stop) for stop in dispatch.stops]
            return choice([EPSILON, *stops] if dispatch.may_end else stops)
        if part.kind == "text" or not dispatch.stops:
            return self.before
        stopped = [self._until(stop) for stop in dispatch.stops]
        return choice([self.before, *stopped] if dispatch.may_end else stopped)

    def _plain(self, words: list[str]) -> list[str]:
        """Return the words that are text, each once."""
        spend(4 * len(words))
        return [word for word in dict.fromkeys(words) if not self.markers.holds(word)]

    def _until(self, mark: str) -> Expr:
        """Return free text up to a trigger or stop, and that."""
        spend(10 + (len(self.marks) + len(self.excludes)) // 8)
        if self.markers.holds(mark):
            return sequence((self.before, self.markers.expr(mark)))
        # what goes on where a shorter one could end begins as that one does
        first = min((other for other in self.marks if mark.startswith(other)), key=len)
        ends = [Literal(mark[len(first) :].encode())] if len(mark) > len(first) else []
        if not self.overlaps:
            return sequence((self.before, any_of((first,)), *ends))
        conditions: list[Expr] = [Sequence((ANY_TEXT, any_of((first,)))), self.too_late]
        longer = [*self.excludes, *(mark for mark in self.marks if mark != first and mark.endswith(first))]
        if longer:
            conditions.append(Complement(Sequence((ANY_TEXT, any_of(longer)))))
        return sequence((Intersection(tuple(conditions)), *ends))


def substring_rules(chunks: tuple[str, ...]) -> RuleSet:
    """Return the rules of any run of chunks that follow each other, the empty one included.

    They are the suffix automaton of the chunks (Blumer et al., 1985): a rule for each state, at most two for a chunk.
    Cost: linear in the chunks.
    """
    following: list[dict[str, int]] = [{}]
    lengths = [0]
    suffixes = [-1]
    last = 0
    for chunk in chunks:
        if not chunk:
            continue
        spend(10 + len(chunk))
        state = len(following)
        following.append({})
        lengths.append(lengths[last] + 1)
        suffixes.append(0)
        at = last
        while at >= 0 and chunk not in following[at]:
            following[at][chunk] = state
            at = suffixes[at]
        if at >= 0:
            old = following[at][chunk]
            if lengths[old] == lengths[at] + 1:
                suffixes[state] = old
            else:
                copy = len(following)
                following.append(dict(following[old]))
                spend(len(following[old]))
                lengths.append(lengths[at] + 1)
                suffixes.append(suffixes[old])
                suffixes[old] = suffixes[state] = copy
                while at >= 0 and following[at].get(chunk) == old:
                    following[at][chunk] = copy
                    at = suffixes[at]
        last = state
    rules = {}
    for number, leads in enumerate(following):
        spend(2 + 4 * len(leads))
        name = str(number) if number else "root"
        options = [sequence((Literal(chunk.encode()), RuleRef(str(to)))) for chunk, to in leads.items()]
        rules[name] = Rule(name, choice([EPSILON, *options]))
    return RuleSet(rules, "root", (), ())
