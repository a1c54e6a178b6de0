"""Objects by brute force: which texts begin an object whose keys satisfy a specification.

It shares no code and no arithmetic with the engine: whether a key may come is decided by searching for a way to
finish the object, key by key. For small objects with short names only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import product

ANOTHER = "\0"  # stands for an undeclared key that was not used
Frame = tuple["Object", str, tuple[str, ...], str]  # object, phase, keys so far, what is half read
State = tuple[Frame, ...]


@dataclass(frozen=True)
class Object:
    """An object: declared names, what the keys must satisfy, and the values (texts and objects) after any key.

    ``letters``: what undeclared keys are made of, "" for none. ``escapes``: a character of a key may also be
    written as ``\\uXXXX``.
    """

    names: tuple[str, ...]
    required: frozenset[int]
    ordered: bool
    min_count: int
    max_count: int | None
    letters: str
    values: tuple[str | Object, ...]
    escapes: bool = False

    def spellings(self, char: str) -> set[str]:
        """Return the ways to write a character of a key."""
        if not self.escapes:
            return {char}
        digits = f"{ord(char):04x}"
        return {char} | {"\\u" + "".join(d) for d in product(*({d, d.upper()} for d in digits))}

    @cache  # noqa: B019
    def spelled_names(self) -> dict[str, str]:
        """Return every way to write a declared name, quotes included, with the name."""
        return {
            '"' + "".join(chars) + '"': name
            for name in self.names
            for chars in product(*(self.spellings(char) for char in name))
        }

    def can_finish(self, keys: tuple[str, ...]) -> bool:
        """Tell whether these keys, in this order, begin the keys of some whole object."""
        alike = tuple(key if key in self.names else ANOTHER + str(i) for i, key in enumerate(keys))
        if len(set(keys)) < len(keys):
            return False
        return self._can_finish(
            alike if self.ordered else tuple(sorted(alike)), self.min_count + len(self.names)
        )

    @cache  # noqa: B019
    def _can_finish(self, keys: tuple[str, ...], more: int) -> bool:
        return self.allows(keys) and (
            self.is_whole(keys)
            or (more > 0 and any(self._can_finish((*keys, key), more - 1) for key in self.candidates(keys)))
        )

    def candidates(self, keys: tuple[str, ...]) -> list[str]:
        """Return the keys that have not been used; one stands for all undeclared ones."""
        return [n for n in self.names if n not in keys] + [ANOTHER * (len(keys) + 1)] * bool(self.letters)

    def allows(self, keys: tuple[str, ...]) -> bool:
        """Tell whether nothing is wrong with the keys so far."""
        if len(set(keys)) < len(keys) or (self.max_count is not None and len(keys) > self.max_count):
            return False
        order = [self.names.index(key) if key in self.names else len(self.names) for key in keys]
        return not self.ordered or order == sorted(order)

    def is_whole(self, keys: tuple[str, ...]) -> bool:
        """Tell whether the object may end after these keys."""
        return (
            self.allows(keys)
            and len(keys) >= self.min_count
            and all(self.names[slot] in keys for slot in self.required)
        )

    def goes_on(self, keys: tuple[str, ...]) -> bool:
        """Tell whether another key may come."""
        return any(self.can_finish((*keys, key)) for key in self.candidates(keys))

    def undeclared(self, part: str) -> tuple[str, bool] | None:
        """Read a key, or the beginning of one, as an undeclared key: its text, and whether it has ended."""
        units = {s: c for c in self.letters for s in self.spellings(c)}
        text, at = "", 1
        while at < len(part):
            found = next((s for s in units if part.startswith(s, at)), None)
            if found is not None:
                text += units[found]
                at += len(found)
            elif part[at:] == '"':
                return (text, True) if text and text not in self.names else None
            else:
                return (text, False) if any(s.startswith(part[at:]) for s in units) else None
        return text, False


def start(root: Object) -> set[State]:
    """Return the state before any text."""
    return {((root, "start", (), ""),)}


def accepts(states: Iterable[State]) -> bool:
    """Tell whether the text so far is a whole object."""
    return () in states


def advance(states: Iterable[State], text: str) -> set[State]:
    """Return the states after more text; none if no whole object begins so."""
    now = set(states)
    for char in text:
        now = {after for state in now if state for after in _step(state, char)}
    return now


def _step(state: State, char: str) -> Iterable[State]:
    *below, (obj, phase, keys, part) = state
    rest: State = tuple(below)
    if phase in ("first", "key", "after") and char == " ":
        yield state
    elif phase == "start" and char == "{":
        yield (*rest, (obj, "first", keys, ""))
    elif phase in ("first", "key") and char == '"':
        if obj.goes_on(keys):
            yield (*rest, (obj, "name", keys, char))
    elif phase in ("first", "after") and char == "}":
        if obj.is_whole(keys):
            yield rest
    elif phase == "after" and char == ",":
        if obj.goes_on(keys):
            yield (*rest, (obj, "key", keys, ""))
    elif phase == "name":
        yield from ((*rest, frame) for frame in _name(obj, keys, part + char))
    elif phase == "colon" and char == ":":
        yield (*rest, (obj, "value", keys, ""))
    elif phase == "value":
        for value in obj.values:
            if isinstance(value, str) and value.startswith(part + char):
                yield (*rest, (obj, "after" if value == part + char else "value", keys, part + char))
            elif isinstance(value, Object) and not part and char == "{":
                yield (*rest, (obj, "after", keys, ""), (value, "first", (), ""))


def _name(obj: Object, keys: tuple[str, ...], part: str) -> Iterable[Frame]:
    spelled = obj.spelled_names()
    if part in spelled:
        if obj.can_finish((*keys, spelled[part])):
            yield obj, "colon", (*keys, spelled[part]), ""
        return
    other = obj.undeclared(part) if obj.letters and obj.can_finish((*keys, ANOTHER)) else None
    if other is not None and other[1]:
        if other[0] not in keys:
            yield obj, "colon", (*keys, other[0]), ""
    elif other is not None or any(
        way.startswith(part) and obj.can_finish((*keys, name)) for way, name in spelled.items()
    ):
        yield obj, "name", keys, part
