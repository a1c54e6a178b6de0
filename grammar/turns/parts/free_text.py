"""Text that may hold anything but some strings, alone or up to the first of them.

A text is a complement in the algebra of regular languages: its places are the states of the automaton that looks for
the strings, so that nearly all of it has one mask.
"""

from __future__ import annotations

from collections.abc import Sequence as Items
from typing import Final

from stackmask.grammar.ir import (
    ANY_CHAR,
    ANY_TEXT,
    EPSILON,
    Capture,
    Complement,
    Expr,
    Intersection,
    Literal,
    Repeat,
    Sequence,
    TokenLimit,
)
from stackmask.grammar.ir.build import choice, sequence
from stackmask.grammar.source.work import spend

SOME_TEXT: Final = Repeat(ANY_CHAR, 1, None)


def any_of(words: Items[str]) -> Expr:
    """Return the choice of these words."""
    return choice([Literal(word.encode()) for word in words])


def text(excludes: Items[str] = (), max_chars: int | None = None) -> Expr:
    """Return text of at most ``max_chars`` characters that holds none of the strings."""
    spend(sum(map(len, excludes)))
    if not excludes:
        return ANY_TEXT if max_chars is None else Repeat(ANY_CHAR, 0, max_chars)
    without = Complement(Sequence((ANY_TEXT, any_of(excludes), ANY_TEXT)))
    if max_chars is None:
        return without
    return Intersection((Repeat(ANY_CHAR, 0, max_chars), without))


def text_until(
    ends: Items[str], excludes: Items[str] = (), max_chars: int | None = None, *, first: Items[str] = ()
) -> Expr:
    """Return text up to the first of the ends, and that end.

    ``excludes``: strings that the text before it does not hold. ``first``: other strings that may not come in what
    is written, such as other ends.
    """
    marks = [*ends, *first]
    if not any_overlap(marks):
        # the text cannot hold the beginning of an end that the end itself completes
        return sequence((text([*excludes, *marks], max_chars), any_of(ends)))
    written = Sequence((text(excludes, max_chars), any_of(ends)))
    too_late = Sequence((ANY_TEXT, any_of(marks), SOME_TEXT))
    conditions: list[Expr] = [written, Complement(too_late)]
    others = [mark for mark in first if mark not in ends]
    if others:
        conditions.append(Complement(Sequence((ANY_TEXT, any_of(others)))))
    return Intersection(tuple(conditions))


def counted_until(
    ends: Items[str], excludes: Items[str], max_chars: int | None, max_tokens: int, *, first: Items[str] = ()
) -> Expr:
    """Return text of at most ``max_tokens`` tokens up to one of the ends, and that end; of text alone without ends.

    The same texts as those of ``text_until``, but what comes before an end is an expression of its own. ``first``:
    ends that are written otherwise, and may not come in the text either. Cost: a square of the longest ends.
    """
    if not ends:
        return counted(text([*excludes, *first], max_chars), max_tokens, max_chars)
    before = text([*excludes, *ends, *first], max_chars)
    if not any_overlap(ends):
        return sequence((counted(before, max_tokens, max_chars), any_of(ends)))
    options = []
    for end in ends:
        if any(mark in end[:-1] for mark in ends):
            continue  # another end is complete before this one
        # an end is complete too early if it begins in the text and ends in this one
        early = {
            mark[:size]
            for mark in ends
            for size in range(1, len(mark))
            if len(mark) - size < len(end) and end.startswith(mark[size:])
        }
        spend(sum(map(len, ends)) + sum(map(len, early)))
        here = before
        if early:
            here = Intersection((before, Complement(Sequence((ANY_TEXT, any_of(sorted(early)))))))
        options.append(sequence((counted(here, max_tokens, max_chars), Literal(end.encode()))))
    return choice(options)


def counted(before: Expr, max_tokens: int, max_chars: int | None = None) -> Expr:
    """Return text, which may be empty, of so many tokens at most."""
    if max_tokens == 0 or max_chars == 0:
        return EPSILON
    some = SOME_TEXT if max_chars is None else Repeat(ANY_CHAR, 1, max_chars)
    body = some if isinstance(before, Repeat) else Intersection((some, before))
    return Repeat(Capture(body, TokenLimit(max_tokens)), 0, 1)


def any_overlap(marks: Items[str]) -> bool:
    """Return whether an occurrence of one of these strings can reach into another one, or into a second one of itself.

    Each string is read by the automaton that looks for all of them (Aho and Corasick, 1975).
    Cost: linear in the characters.
    """
    spend(4 * sum(map(len, marks)))
    children: list[dict[str, int]] = [{}]
    is_end = [False]
    ends = []
    for mark in marks:
        node = 0
        for char in mark:
            found = children[node].get(char)
            if found is None:
                found = children[node][char] = len(children)
                children.append({})
                is_end.append(False)
            node = found
        is_end[node] = True
        ends.append(node)
    suffixes = [0] * len(children)  # the longest proper suffix that is a prefix of a string
    order = [0]
    for node in order:
        for char, child in children[node].items():
            order.append(child)
            suffix = suffixes[node]
            while node and char not in children[suffix] and suffix:
                suffix = suffixes[suffix]
            if node:
                suffixes[child] = children[suffix].get(char, 0)
            # a string that stands inside of another one, or begins it
            if is_end[suffixes[child]] or (is_end[child] and children[child]):
                return True
    return any(suffixes[end] for end in ends)
