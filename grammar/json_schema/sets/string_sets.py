"""Sets of strings, as defined by keywords for strings and keys: closed under meet, join and complement."""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.json_schema.text.strings import (
    ANY,
    ANY_STRINGS,
    FOR_MODELS,
    choice,
    lift,
    string,
    word,
)
from stackmask.grammar.languages.classes import TooLarge
from stackmask.grammar.languages.forms import is_plain
from stackmask.grammar.source.work import remembering, spend
from stackmask.pda.errors import BudgetError
from stackmask.pda.lowering.questions import Recognizer, is_empty

MAX_WORDS: Final = 256  # words that a finite language is written out to
MAX_EXPLORED: Final = 20_000  # terms visited to find out whether a set of strings is empty
MAX_JOINED: Final = 8  # alternatives in each other in which formats are looked for
MAX_STATES: Final = 1_000  # ... and whether some beginnings begin finitely many


class TextsTooLarge(ValueError):
    """A question about sets of strings exceeds the budget."""


class Texts:
    """A regular set of strings (code points).

    ``words``: the members, if they are listed; the other fields are then ignored. Otherwise, members are the
    strings of ``low`` to ``high`` code points that are in each of ``parts`` and not in ``excluded``.
    """

    __slots__ = ("_empty", "_endless", "_matcher", "excluded", "high", "low", "parts", "spelled", "words")

    def __init__(
        self,
        words: dict[str, None] | None = None,
        low: int = 0,
        high: int | None = None,
        parts: tuple[ir.Expr, ...] = (),
        excluded: dict[str, None] | None = None,
        nonempty: bool = False,
        endless: bool | None = None,
    ) -> None:
        self.words = words
        self.low = low
        self.high = high
        self.parts = parts
        self.excluded = excluded or {}
        self.spelled: dict[str, ir.Expr] = {}  # as JSON writes them, by spelling, once that was asked for
        self._empty: bool | None = False if nonempty else None
        self._endless = endless
        self._matcher: Recognizer | None = None

    def contains(self, text: str) -> bool:
        """Return whether the string is a member."""
        return bool(self.among([text]))

    def among(self, texts: list[str]) -> list[str]:
        """Return the members among the given strings."""
        if self.words is not None:
            words = self.words
            return [text for text in texts if text in words]
        low, high = self.low, self.high
        texts = [
            text
            for text in texts
            if text not in self.excluded and len(text) >= low and (high is None or len(text) <= high)
        ]
        if not self.parts or not texts:
            return texts
        data = [text.encode(errors="surrogatepass") for text in texts]  # half a character is in no set
        return list(compress(texts, self._recognizer().matches(data)))

    def meets(self, expr: ir.Expr) -> bool:
        """Return whether the parts and an expression share a string. Raises: TextsTooLarge."""
        return _found_out(lambda: self._recognizer().meets(expr))

    def _recognizer(self) -> Recognizer:
        """Return an object that answers questions about the parts, and caches the answers."""
        if self._matcher is None:
            self._matcher = Recognizer(_intersection(self.parts) if self.parts else ir.ANY_TEXT, MAX_EXPLORED)
        return self._matcher

    def meet(self, other: Texts) -> Texts:
        """Return the intersection."""
        if self is ALL or self is other:
            return other
        if other is ALL:
            return self
        spend(self.size() + other.size() + len(self.parts) * len(other.parts) // 16)
        if self.words is not None:
            words = other.words
            if words is None:
                return Texts(dict.fromkeys(other.among(list(self.words))))
            if len(words) < len(self.words):  # one word against many is a look-up
                both = [word for word in words if word in self.words]
                if len(both) < 2:
                    return Texts(dict.fromkeys(both))
            return Texts({word: None for word in self.words if word in words})
        if other.words is not None:
            return Texts(dict.fromkeys(self.among(list(other.words))))
        high = self.high
        if other.high is not None:
            high = other.high if high is None else min(high, other.high)
        low = max(self.low, other.low)
        if high is not None and low > high:
            return NONE
        parts = self.parts + tuple(part for part in other.parts if part not in self.parts)
        return Texts(None, low, high, parts, {**self.excluded, **other.excluded})

    def join(self, other: Texts) -> Texts:
        """Return the union."""
        spend(self.size() + other.size())
        if self is ALL or other is ALL:
            return ALL
        if self.words is not None and other.words is not None:
            return Texts({**self.words, **other.words})
        if other.words is not None:
            return other.join(self)
        if self.words is not None:
            both = set(other.among(list(self.words)))
            words = [word for word in self.words if word not in both]
            if not words:
                return other
            if other._only_excludes() and all(word in other.excluded for word in words):
                left = {word: None for word in other.excluded if word not in self.words}
                return Texts(excluded=left) if left else ALL
        elif self._only_excludes() and other._only_excludes():
            left = {word: None for word in self.excluded if word in other.excluded}
            return Texts(excluded=left) if left else ALL
        return Texts(parts=(ir.Choice((self.expr(), other.expr())),))

    def complement(self) -> Texts:
        """Return every other string."""
        if self is ALL:
            return NONE
        if self.words is not None:
            return Texts(excluded=dict(self.words)) if self.words else ALL
        if self._only_excludes():
            return Texts(dict(self.excluded))
        if not self.parts and not self.excluded:
            sides = []
            if self.low > 0:
                sides.append(Texts(None, 0, self.low - 1))
            if self.high is not None:
                sides.append(Texts(None, self.high + 1))
            if not sides:
                return NONE
            return sides[0] if len(sides) == 1 else sides[0].join(sides[1])
        if not self.low and self.high is None and len(self.parts) == 1 and not self.excluded:
            part = self.parts[0]
            if isinstance(part, ir.Complement):
                return Texts(parts=(part.item,))
        return Texts(parts=(ir.Complement(self.expr()),))

    def size(self) -> int:
        """Return the number of words and parts that describe the set."""
        if self.words is not None:
            return 1 + len(self.words) // 4
        return 1 + (len(self.parts) + len(self.excluded)) // 8

    def _only_excludes(self) -> bool:
        return bool(self.excluded) and not (self.parts or self.low) and self.high is None

    def without(self, words: dict[str, None]) -> Texts:
        """Return the members that are not among the words."""
        return self.meet(Texts(excluded=words)) if words else self

    def expr(self) -> ir.Expr:
        """Return the set as an expression over code points."""
        if self.words is not None:
            return _any_of(list(self.words))
        parts = self.parts
        if self.low or self.high is not None or not parts:
            parts = (*parts, ir.Repeat(ir.ANY_CHAR, self.low, self.high))
        if self.excluded:
            parts = (*parts, ir.Complement(_any_of(list(self.excluded))))
        return _intersection(parts)

    def is_endless(self) -> bool:
        """Return whether all prefixes of members have infinitely many continuations, if cheap to see."""
        if self is ALL:
            return True
        if self.words is not None or self.high is not None:
            return False
        if self._endless is not None:
            return self._endless
        return not self.parts or _goes_on(_intersection(self.parts))

    def is_empty(self, questions: SharedQuestions | None = None) -> bool:
        """Return whether the set has no member. Raises: BudgetError if this cannot be determined."""
        if self._empty is None:
            if self.words is not None:
                self._empty = not self.words
            elif self.high is not None and self.low > self.high:
                self._empty = True
            elif not self.parts and (not self.excluded or self.high is None):
                self._empty = False
            elif not self.low and self.high is None and not self.excluded and len(self.parts) == 1:
                self._empty = _is_empty(self.parts[0])
            else:
                shortest = _shortest(self.parts[0]) if len(self.parts) == 1 and not self.excluded else None
                if (
                    shortest is not None
                    and self.low <= shortest
                    and (self.high is None or shortest <= self.high)
                ):
                    self._empty = False
                elif questions is not None:
                    self._empty = questions.is_empty(self.expr())
                else:
                    self._empty = _is_empty(self.expr())
        return self._empty


class SharedQuestions:
    """Questions whether sets of strings are empty: similar sets share the work."""

    __slots__ = ("_strings",)

    def __init__(self) -> None:
        self._strings: Recognizer | None = None

    def is_empty(self, expr: ir.Expr) -> bool:
        """Return whether no string matches an expression. Raises: TextsTooLarge."""
        strings = self._strings
        if strings is None:
            strings = self._strings = Recognizer(ir.ANY_TEXT, MAX_EXPLORED)
        return _found_out(lambda: not strings.meets(expr))


def text_expr(texts: Texts, spelling: str = ANY) -> ir.Expr:
    """Return the spellings of the strings, quotes included."""
    if texts is ALL:
        return ANY_STRINGS[spelling]
    if texts.words is not None:
        return choice([word(text, spelling) for text in texts.words])
    found = texts.spelled.get(spelling)
    if found is None:
        found = texts.spelled[spelling] = string(lift(texts.expr(), spelling))
    return found


def plain_texts(texts: Texts, notes: list[str], depth: int = MAX_JOINED) -> Texts:
    """Return the strings with each format narrowed to its form for models; ``notes`` receives the exclusions.

    A set that would become empty is unchanged. Raises: BudgetError.
    """
    found: list[str] = []
    parts = tuple([_plain_part(part, found, depth) for part in texts.parts])
    if not found:
        return texts
    plain = Texts(None, texts.low, texts.high, parts, texts.excluded)
    try:
        if plain.is_empty():
            return texts
    except TextsTooLarge:
        return texts
    notes += found
    return plain


def _plain_part(expr: ir.Expr, notes: list[str], depth: int) -> ir.Expr:
    plain = FOR_MODELS.get(id(expr))
    if plain is not None:
        notes.append(plain[1])
        return plain[0]
    match expr:
        case ir.Choice(items) if depth:
            return ir.Choice(tuple([_plain_part(item, notes, depth - 1) for item in items]))
        case ir.Intersection(items) if depth:
            return plain_texts(Texts(parts=items), notes, depth - 1).expr()
    return expr


def text_set(expr: ir.Expr) -> Texts:
    """Return the strings of an expression over code points, as a list of words if there are few."""
    words = finite_words(expr, MAX_WORDS)
    if words is not None:
        return Texts(dict.fromkeys(words))
    return Texts(parts=(expr,))


def _any_of(words: list[str]) -> ir.Expr:
    return choice([ir.Literal(word.encode()) for word in words])


def _intersection(parts: tuple[ir.Expr, ...]) -> ir.Expr:
    return parts[0] if len(parts) == 1 else ir.Intersection(parts)


def _shortest(expr: ir.Expr) -> int | None:
    """Return the length of a shortest member, or None if the expression does not show the length."""
    match expr:
        case ir.Literal(data):
            return len(data.decode())
        case ir.CharClass(ranges):
            return 1 if ranges else None
        case ir.Sequence(items):
            total = 0
            for item in items:
                length = _shortest(item)
                if length is None:
                    return None
                total += length
            return total
        case ir.Choice(items):
            lengths = [length for item in items if (length := _shortest(item)) is not None]
            return min(lengths, default=None)
        case ir.Repeat(item, low):
            length = _shortest(item) if low else 0
            return None if length is None else low * length
        case _:
            return None


@remembering(4096)
def _is_empty(expr: ir.Expr) -> bool:
    if not any(
        isinstance(part, ir.Intersection | ir.Complement) or part == ir.NOTHING for part in ir.walk(expr)
    ):
        return False
    return _found_out(lambda: is_empty(expr, MAX_EXPLORED))


def _found_out(question: Callable[[], bool]) -> bool:
    try:
        return question()
    except BudgetError as error:
        if error.limit != "max_explored":
            raise
        raise TextsTooLarge(
            f"whether any string meets all of its conditions takes more than {MAX_EXPLORED} steps to find out"
        ) from None


@remembering(4096)
def _goes_on(expr: ir.Expr) -> bool:
    """Return whether all prefixes of members have infinitely many continuations; False if this takes long."""
    if isinstance(expr, ir.Sequence) and expr.items[-1] == ir.ANY_TEXT and is_plain(expr):
        return True  # as of most patterns
    if isinstance(expr, ir.Choice) and all(map(_goes_on, expr.items)):
        return True  # much less work than the automaton of the union
    from stackmask.grammar.languages.automaton import automaton_of  # few schemas ask

    try:
        return automaton_of(expr, MAX_STATES).is_endless()
    except TooLarge:
        return False


def finite_words(expr: ir.Expr, limit: int) -> list[str] | None:
    """Return all members if the expression obviously has at most ``limit`` of them, else None.

    Finiteness is read off the expression: an intersection counts as finite if one of its items is.
    """
    spend(2)
    match expr:
        case ir.Literal(data):
            return [data.decode()]
        case ir.CharClass(ranges):
            if sum(high - low + 1 for low, high in ranges) > limit:
                return None
            spend(limit // 8)
            return [chr(code) for low, high in ranges for code in range(low, high + 1)]
        case ir.Choice(items):
            words: dict[str, None] = {}
            for item in items:
                more = finite_words(item, limit)
                if more is None or len(words) + len(more) > limit:
                    return None
                words.update(dict.fromkeys(more))
            return list(words)
        case ir.Sequence(items):
            found = [""]
            for item in items:
                more = finite_words(item, limit)
                if more is None or len(found) * len(more) > limit:
                    return None
                spend(1 + len(found) * len(more) // 4)
                found = list(dict.fromkeys(a + b for a in found for b in more))
            return found
        case ir.Repeat(item, low, high):
            if high is None:
                return None
            one = finite_words(item, limit)
            if one is None or (len(one) > 1 and high > limit.bit_length()) or high > limit:
                return None
            found, level = ([""] if low == 0 else []), [""]
            for count in range(1, high + 1):
                spend(1 + len(level) * len(one) // 4)
                level = [a + b for a in level for b in one]
                if len(level) + len(found) > limit:
                    return None
                if count >= low:
                    found.extend(level)
            return list(dict.fromkeys(found))
        case ir.Intersection(items):
            for i, item in enumerate(items):
                finite = finite_words(item, limit)
                if finite is not None:
                    rest = Texts(parts=items[:i] + items[i + 1 :])
                    return rest.among(finite)
            return None
        case _:
            return None


ALL: Final = Texts()
NONE: Final = Texts({})
