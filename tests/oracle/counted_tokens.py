"""Texts of so many tokens at most, by definition: every way to read the tokens is followed one by one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias


class Text(NamedTuple):
    """Text of at most so many tokens and characters, then one of the ends, the first that is complete."""

    tokens: int
    ends: tuple[bytes, ...] = ()
    excludes: tuple[bytes, ...] = ()
    chars: int | None = None


Part: TypeAlias = bytes | Text
Way: TypeAlias = tuple[Part, ...]


class Place(NamedTuple):
    """A place in one way: in a part, or in the end of a text. ``used``: tokens of the text, with the present one."""

    way: int
    part: int
    text: bytes = b""
    used: int = 0
    is_touched: bool = False  # the present token has a byte of the text
    end: bytes | None = None
    at: int = 0


Places: TypeAlias = frozenset[Place]


class CountedTokens:
    """The ways of a grammar, each a sequence of literals and texts."""

    def __init__(self, ways: Iterable[Way]) -> None:
        self.ways = tuple(ways)

    def start(self) -> Places:
        """Return the places before the first token."""
        return self._closed({Place(way, 0) for way in range(len(self.ways))})

    def accepts(self, places: Places) -> bool:
        """Tell whether the text may end."""
        return any(place.part == len(self.ways[place.way]) for place in places)

    def after(self, places: Places, token: bytes) -> Places:
        """Return the places after a token, none if it may not come."""
        for byte in token:
            places = self._closed({new for place in places for new in self._step(place, byte)})
        kept = set()
        for place in places:
            part = self._part(place)
            if isinstance(part, Text) and place.end is None and place.is_touched:
                if place.used >= part.tokens and is_whole(place.text):
                    continue
                place = place._replace(is_touched=False)
            if self._lives(place):
                kept.add(place)
        return frozenset(kept)

    def _part(self, place: Place) -> Part | None:
        way = self.ways[place.way]
        return way[place.part] if place.part < len(way) else None

    def _step(self, place: Place, byte: int) -> list[Place]:
        part = self._part(place)
        if part is None:
            return []
        if isinstance(part, bytes):
            return [place._replace(at=place.at + 1)] if part[place.at : place.at + 1] == bytes([byte]) else []
        if place.end is not None:
            return (
                [place._replace(at=place.at + 1)]
                if place.end[place.at : place.at + 1] == bytes([byte])
                else []
            )
        text = place.text + bytes([byte])
        if not begins_text(text) or any(word in text for word in (*part.excludes, *part.ends)):
            return []
        if part.chars is not None and len(text.decode("utf-8", "replace")) > part.chars:
            return []
        used = place.used
        if not place.is_touched:
            used += 1
        if used > part.tokens and is_whole(place.text):  # a character that has begun is finished
            return []
        return [place._replace(text=text, used=used, is_touched=True)]

    def _closed(self, places: set[Place]) -> Places:
        todo = list(places)
        while todo:
            place = todo.pop()
            part = self._part(place)
            following = Place(place.way, place.part + 1)
            new: list[Place] = []
            if isinstance(part, bytes):
                new = [following] if place.at == len(part) else []
            elif part is not None and place.end is not None:
                new = [following] if place.at == len(place.end) else []
            elif part is not None and is_whole(place.text):
                if not part.ends:
                    new = [following]
                new += [
                    place._replace(end=end, at=0)
                    for end in part.ends
                    if ends_first(place.text, end, part.ends)
                ]
            for found in new:
                if found not in places:
                    places.add(found)
                    todo.append(found)
        return frozenset(places)

    def _lives(self, place: Place) -> bool:
        """Tell whether something can follow that ends the text."""
        part = self._part(place)
        if not isinstance(part, Text) or place.end is not None:
            return True
        if is_whole(place.text):
            if place.used < part.tokens and self._step(place, ord("z")):
                return True
            return not part.ends or any(ends_first(place.text, end, part.ends) for end in part.ends)
        longer = [new for byte in range(0x80, 0xC0) for new in self._step(place, byte)]
        return any(self._lives(new) for new in longer)


def is_whole(text: bytes) -> bool:
    """Tell whether a text ends with a whole character."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def begins_text(text: bytes) -> bool:
    """Tell whether some well-formed text begins so."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True


def ends_first(text: bytes, end: bytes, ends: tuple[bytes, ...]) -> bool:
    """Tell whether no end is complete in a text and its end before that one is."""
    whole = text + end
    return not any(mark in whole[:-1] for mark in ends)
