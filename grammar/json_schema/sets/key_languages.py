"""Unnamed keys that an object can use up, after some prefix or altogether.

No two keys of an object are equal. If every prefix of a key has infinitely many continuations, this is
checked at the end of a key, which can always be made longer. Otherwise the used keys are removed from the
next key's language, so that no prefix is allowed that only used keys complete.
"""

from __future__ import annotations

import json
import string as string_constants
from collections.abc import Callable, Hashable, Iterable
from itertools import product
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.json_schema.sets.string_sets import MAX_WORDS, Texts, TextsTooLarge, finite_words
from stackmask.grammar.json_schema.text.strings import lift, literal, string
from stackmask.grammar.languages.forms import MANY, at_least, is_plain
from stackmask.grammar.source.work import remembering

MAX_LENGTHS: Final = 32  # lengths of keys that are tried where they cannot be counted
_TRIED: Final = "abxAB01/._-"
_LETTERS: Final = string_constants.ascii_letters[:36] + string_constants.digits + "_-./: é"
MAX_LEVELS: Final = 100  # of a trie of keys, since expressions may not nest without end


def simplified(texts: Texts) -> Texts:
    """Return the same set, without complements that obviously remove nothing from the other parts."""
    if len(texts.parts) < 2:
        return texts
    parts = _without_idle(texts.parts)
    if len(parts) == len(texts.parts):
        return texts
    return Texts(None, texts.low, texts.high, parts, texts.excluded)


@remembering(1024)
def _without_idle(parts: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
    positive = tuple(part for part in parts if not isinstance(part, ir.Complement))
    if not positive:
        return parts
    return positive + tuple(
        part
        for part in parts
        if isinstance(part, ir.Complement) and _may_hold(Texts(parts=(*positive, part.item)))
    )


def _may_hold(texts: Texts) -> bool:
    """Return whether the set has a member, or this cannot be determined."""
    try:
        return not texts.is_empty()
    except TextsTooLarge:
        return True


def few_keys(texts: Texts) -> list[str] | None:
    """Return all members if there are obviously few, else None."""
    if texts.words is not None:
        return list(texts.words)
    words = finite_words(texts.expr(), MAX_WORDS)
    if words is None and any(isinstance(part, ir.Complement) for part in texts.parts):
        longer = Texts(None, max(1, texts.low), texts.high, texts.parts, texts.excluded)
        if not _may_hold(longer):  # such as all keys that begin neither with `/` nor with another character
            return [""] if texts.contains("") else []
    return words


def count_keys(texts: Texts, enough: int = MANY) -> int:
    """Return a lower bound on the number of members, up to ``enough``, that is cheap to determine.

    Raises: TextsTooLarge if nothing can be determined.
    """
    count = _visible_count(texts)
    if count is not None and count >= MANY:
        return count
    known = 0 if count is None else max(0, count - len(texts.excluded))
    # texts that are easily asked for; and members of different lengths, or first characters, are different
    easy = _easily_found(texts) if known < enough else []
    known = max(known, len(easy))
    if known < min(enough, MAX_LENGTHS):
        most = texts.low + MAX_LENGTHS
        lengths = range(texts.low, 1 + (most if texts.high is None else min(most, texts.high)))
        low, high = texts.low, texts.high
        others = len(texts.excluded)
        ends = set(map(len, easy))
        has_length = (n in ends or texts.meets(ir.Repeat(ir.ANY_CHAR, n, n)) for n in lengths)
        known = max(known, _how_many(has_length, enough + others) - others)
        if known < min(enough, len(_LETTERS) - others):
            begins = {text[:1] for text in easy}
            sized = (ir.Repeat(ir.ANY_CHAR, low, high),) if low or high is not None else ()
            asked = (ir.Intersection((*sized, _beginning(char))) for char in _LETTERS if char not in begins)
            begun = len(begins.intersection(_LETTERS))
            known = max(known, begun + _how_many(map(texts.meets, asked), enough + others - begun) - others)
    return known


def _how_many(answers: Iterable[bool], enough: int) -> int:
    """Return the number of positive answers, stopping at ``enough``."""
    found = 0
    for answer in answers:
        found += answer
        if found >= enough:
            break
    return found


def _easily_found(texts: Texts) -> list[str]:
    """Return the members among a few thousand short strings."""
    tried = [char * n for char in _TRIED for n in range(3, MAX_LENGTHS + 1)]
    if texts.low <= 2:
        tried += ["", *_LETTERS, *map("".join, product(_LETTERS, repeat=2))]
    return texts.among(tried)


def hidden_words(texts: Texts) -> list[str] | None:
    """Return all members of a set whose form does not show that they are few, if they can be found cheaply."""
    found = _easily_found(texts)
    if len(found) > MAX_WORDS or not texts.without(dict.fromkeys(found)).is_empty():
        return None
    return found


def _beginning(char: str) -> ir.Expr:
    return ir.Sequence((ir.CharClass(((ord(char), ord(char)),)), ir.Repeat(ir.ANY_CHAR, 0, None)))


def _visible_count(texts: Texts) -> int | None:
    parts, low, high = texts.parts, texts.low, texts.high
    if len(parts) > 1:
        return None
    if not parts:
        expr: ir.Expr = ir.Repeat(ir.ANY_CHAR, low, high)
    elif not low and high is None:
        expr = parts[0]
    else:
        match parts[0]:
            case ir.Repeat(ir.CharClass() as item, least, most):
                least = max(least, low)
                most = high if most is None else most if high is None else min(most, high)
                expr = ir.Repeat(item, least, most)
            case _:
                return None
    return at_least(expr) if is_plain(expr) else None


class KeyTrie:
    """A persistent trie of used keys: adding a key rebuilds only its path.

    Labels of branches are strings. Below ``MAX_LEVELS`` branches, the remainders of keys are a plain list.
    ``spelled``: every spelling of the keys, without the quotes, None without keys; ``write``: spells one key.
    Tries are compared by identity.
    """

    __slots__ = ("branches", "ends", "listed", "spelled", "write")

    def __init__(
        self,
        branches: dict[str, tuple[str, KeyTrie]],
        ends: bool,
        listed: tuple[str, ...] = (),
        write: Callable[[str], ir.Expr] = literal,
    ) -> None:
        self.branches = branches  # by their first characters
        self.ends = ends
        self.listed = listed
        self.write = write
        options = [*map(write, listed), *(_then(label, node) for label, node in branches.values())]
        if ends:
            options.append(ir.EPSILON)
        self.spelled = ir.Choice(tuple(options)) if len(options) > 1 else options[0] if options else None

    def adding(self, key: str) -> KeyTrie:
        """Return the set with one more key. Cost: linear in the branches on its path."""
        way: list[tuple[KeyTrie, str]] = []  # the nodes that are made anew, and the labels from them
        node, left, write = self, key, self.write
        end = _END if write is literal else KeyTrie({}, True, (), write)
        while True:
            if len(way) >= MAX_LEVELS:
                made = KeyTrie(node.branches, node.ends, (*node.listed, left), write)
                break
            if not left:
                made = KeyTrie(node.branches, True, node.listed, write)
                break
            label, below = node.branches.get(left[0], ("", end))
            shared = _shared(label, left)
            if not label:
                way.append((node, left))
                made = end
                break
            if shared == len(label):
                way.append((node, label))
                node, left = below, left[shared:]
                continue
            way.append((node, label[:shared]))
            branches = {label[shared]: (label[shared:], below)}
            if shared < len(left):
                branches[left[shared]] = (left[shared:], end)
            made = KeyTrie(branches, shared == len(left), (), write)
            break
        for node, label in reversed(way):
            made = KeyTrie({**node.branches, label[0]: (label, made)}, node.ends, node.listed, write)
        return made


def _then(label: str, node: KeyTrie) -> ir.Expr:
    """Return the spellings of a label, followed by those of its subtree's keys."""
    if node.spelled is ir.EPSILON or node.spelled is None:
        return node.write(label)
    return ir.Sequence((node.write(label), node.spelled))


def _shared(a: str, b: str) -> int:
    """Return the length of the common prefix of two strings."""
    if b.startswith(a):
        return len(a)
    count = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        count += 1
    return count


_END: Final = KeyTrie({}, True)
_NO_KEYS: Final = KeyTrie({}, False)


@ir.never_forbids
def no_keys(_: Hashable, __: bytes) -> Hashable:
    """Return the state of an object without used keys."""
    return _NO_KEYS


@ir.never_forbids
def use_key(used: Hashable, text: bytes) -> Hashable | None:
    """Add a key, as JSON text, to the used keys. It is new, since ``LeftOverKeys`` excludes used ones."""
    assert isinstance(used, KeyTrie)
    return used.adding(json.loads(text))


class LeftOverKeys:
    """A resolver that allows the unused keys in a given spelling."""

    __slots__ = ("body",)

    def __init__(self, expr: ir.Expr, spelling: str) -> None:
        self.body = lift(expr, spelling)

    def __call__(self, used: Hashable) -> ir.Expr:
        """Return the expression for the unused keys. It shares nearly all parts with the previous one."""
        assert isinstance(used, KeyTrie)
        if used.spelled is None:
            return string(self.body)
        return string(ir.Intersection((self.body, ir.Complement(used.spelled))))


# -- Names that are written as they are, such as those of arguments between markers ----------------------


def plain_name(name: str) -> ir.Expr:
    """Return the expression of a name written unchanged."""
    return ir.Literal(name.encode())


@ir.never_forbids
def first_name(_: Hashable, text: bytes) -> Hashable:
    """Begin an object with its first name. Return the used names and the last name."""
    name = text.decode()
    return KeyTrie({}, False, (), plain_name).adding(name), name


@ir.never_forbids
def next_name(used: Hashable, text: bytes) -> Hashable:
    """Add a name to the used names. It is new, since ``LeftOverNames`` excludes used ones."""
    assert isinstance(used, tuple)
    name = text.decode()
    return used[0].adding(name), name


def last_name(used: Hashable) -> ir.Expr:
    """Return the expression of the last name."""
    assert isinstance(used, tuple)
    return plain_name(used[1])


class LeftOverNames:
    """A resolver that allows the unused names."""

    __slots__ = ("body",)

    def __init__(self, body: ir.Expr) -> None:
        self.body = body

    def __call__(self, used: Hashable) -> ir.Expr:
        """Return the expression for the unused names."""
        assert isinstance(used, tuple)
        return ir.Intersection((self.body, ir.Complement(used[0].spelled)))
