r"""The names in `\p{…}`: general categories, scripts and properties, from a precomputed table.

The table determines the Unicode version, regardless of Python's. The table is unpacked at the first use.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from functools import cache
from pathlib import Path
from typing import Final

from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import CATEGORY_NAMES, Ranges
from stackmask.grammar.source.similar import advice, similar

# long names, short names and the other spellings of the general categories
_CATEGORIES: Final[dict[str, str]] = {
    **{name: short for name, short in CATEGORY_NAMES.items() if short},
    **{short: short for short in CATEGORY_NAMES.values() if short},
    "Combining_Mark": "M",
    "punct": "P",
    "digit": "Nd",
    "cntrl": "Cc",
    "Surrogate": "Cs",
    "Cs": "Cs",
}
_GROUPS: Final = {"LC": ("Lu", "Ll", "Lt")}
_PROPERTY_NAMES: Final = {
    "gc": "gc",
    "generalcategory": "gc",
    "sc": "sc",
    "script": "sc",
    "scx": "scx",
    "scriptextensions": "scx",
    "gcb": "gcb",
    "graphemeclusterbreak": "gcb",
    "wb": "wb",
    "wordbreak": "wb",
    "sb": "sb",
    "sentencebreak": "sb",
}
_BREAK_NAMES: Final = {
    "gcb": "control=cn extend=ex prepend=pp regionalindicator=ri spacingmark=sm",
    "wb": "aletter=le doublequote=dq extendnumlet=ex format=fo hebrewletter=hl katakana=ka midletter=ml midnum=mn "
    "midnumlet=mb newline=nl numeric=nu regionalindicator=ri singlequote=sq",
    "sb": "aterm=at close=cl extend=ex format=fo lower=lo numeric=nu oletter=le scontinue=sc sterm=st sep=se "
    "upper=up",
}
_OF_STRINGS: Final = re.compile(
    r"Basic_Emoji|Emoji_Keycap_Sequence|RGI_Emoji(?:_(?:Modifier|Flag|Tag|ZWJ)_Sequence)?|RGI_(?:Modifier|Flag)_Sequence"
)


class UnknownProperty(Exception):
    """The name in `\\p{…}` is unknown; ``help`` suggests a similar one."""

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.help = help


@cache
def _table() -> tuple[bytes, dict[str, dict[str, tuple[int, int]]], dict[str, dict[str, str]]]:
    """Return the unpacked data, the positions of sets by kind, and the names of sets by kind and exact name.

    Cost: about 2 ms, once.
    """
    made = json.loads(Path(__file__).with_name("unicode_data.json").read_bytes())
    data = zlib.decompress(base64.b85decode(made["packed"]))
    head = data.index(b"\n\n")
    places: dict[str, dict[str, tuple[int, int]]] = {}
    names: dict[str, dict[str, str]] = {}
    start = head + 2
    for line in data[:head].decode().split("\n"):
        length, kind, name, *others = line.split(" ")
        places.setdefault(kind, {})[name] = (start, start + int(length))
        for spelled in (name, *others):
            names.setdefault(kind, {})[spelled] = name
        start += int(length)
    return data, places, names


def _numbers(kind: str, name: str) -> list[int]:
    data, places, _ = _table()
    first, last = places[kind][name]
    values, value, shift = [], 0, 0
    for byte in data[first:last]:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            values.append(value)
            value = shift = 0
    return values


@cache
def table_set(kind: str, name: str) -> Ranges:
    """Return a set of the table by its exact name."""
    values = _numbers(kind, name)
    ranges, last = [], 0
    for i in range(0, len(values), 2):
        low = last + values[i]
        last = low + values[i + 1]
        ranges.append((low, last))
    return charclass.normalize(ranges)


@cache
def folding_classes() -> dict[int, tuple[int, ...]]:
    """Map each character to all characters that equal it under simple case folding, including itself."""
    values = _numbers("fold", "simple")
    result: dict[int, tuple[int, ...]] = {}
    at = 0
    while at < len(values):
        count = values[at]
        code = 0
        codes = []
        for step in values[at + 1 : at + 1 + count]:
            code += step
            codes.append(code)
        group = tuple(codes)
        result.update(dict.fromkeys(group, group))
        at += 1 + count
    return result


@cache
def category(short: str) -> Ranges:
    """Return the characters of a general category, or of a group such as L, by short name."""
    names = _GROUPS.get(short) or [name for name in _table()[1]["gc"] if name.startswith(short)]
    return charclass.normalize(r for name in names for r in table_set("gc", name))


@cache
def script(name: str, extended: bool) -> Ranges:
    """Return the characters of a script by its full name; ``extended``: including shared characters."""
    kind = "scx" if extended and name in _table()[1]["scx"] else "sc"
    return table_set(kind, name)


def _special(name: str) -> Ranges | None:
    match name.lower():
        case "any":
            return charclass.ANY
        case "assigned":
            return charclass.negate(category("Cn"))
        case "ascii":
            return ((0, 0x7F),)
    return None


@cache
def ecma_property(written: str) -> Ranges:
    r"""Return the characters of ECMA's `\p{written}`; ECMA requires exact names.

    Raises: UnknownProperty.
    """
    name, equals, value = written.partition("=")
    names = _table()[2]
    if equals:
        if name in ("General_Category", "gc") and value in _CATEGORIES:
            return category(_CATEGORIES[value])
        if name in ("Script", "sc", "Script_Extensions", "scx") and value in names["sc"]:
            return script(names["sc"][value], name in ("Script_Extensions", "scx"))
        known: list[str] = [*names["sc"]] if name in ("Script", "sc", "Script_Extensions", "scx") else []
        close = similar(value, known or _CATEGORIES)
        hint = f"did you mean `{name}={close}`?" if close else "General_Category, Script or Script_Extensions"
        raise UnknownProperty(f"unknown Unicode property `{written}`", hint)
    if written in ("Any", "ASCII", "Assigned"):
        found = _special(written)
        if found is not None:
            return found
    if written in _CATEGORIES:
        return category(_CATEGORIES[written])
    if written in names["bin"]:
        return table_set("bin", names["bin"][written])
    if _OF_STRINGS.fullmatch(written):
        raise UnknownProperty(f"the property of strings `{written}` is not supported")
    if written in names["sc"]:
        raise UnknownProperty(f"unknown Unicode property `{written}`", f"did you mean `Script={written}`?")
    hint = advice(written, [*_CATEGORIES, *names["bin"]], "")
    raise UnknownProperty(f"unknown Unicode property `{written}`", hint)


def _loose(name: str) -> str:
    """Return a name without case, spaces, hyphens, underscores, and a leading "is" (UAX 44, LM3)."""
    bare = name.lower().replace("_", "").replace("-", "").replace(" ", "")
    return bare[2:] if bare.startswith("is") and len(bare) > 2 else bare


@cache
def _loose_names() -> dict[str, dict[str, str]]:
    """Map the loose names of each kind to the exact ones."""
    result = {
        kind: {_loose(s): exact for s, exact in spelled.items()} for kind, spelled in _table()[2].items()
    }
    result["gc"] = {_loose(s): short for s, short in _CATEGORIES.items()}
    for kind, pairs in _BREAK_NAMES.items():
        for pair in pairs.split():
            long, _, short = pair.partition("=")
            result[kind][short] = result[kind][long]
    result["sc"] |= {"qaac": result["sc"]["coptic"], "qaai": result["sc"]["inherited"]}
    return result


@cache
def rust_property(written: str) -> Ranges:
    r"""Return the characters of Rust's `\p{written}`; Rust accepts loose names, and scripts need no prefix.

    Raises: UnknownProperty.
    """
    negated = False
    for sign in ("!=", "=", ":"):
        name, found, value = written.partition(sign)
        if found:
            negated = sign == "!="
            ranges = _valued(_loose(name), _loose(value))
            break
    else:
        ranges = _plain(_loose(written))
    if ranges is None:
        known = [*_loose_names()["gc"], *_loose_names()["sc"], *_loose_names()["bin"]]
        raise UnknownProperty(f"unknown Unicode property `{written}`", advice(_loose(written), known, ""))
    return charclass.negate(ranges) if negated else ranges


def _plain(name: str) -> Ranges | None:
    names = _loose_names()
    special = _special(name)
    if special is not None:
        return special
    # LC and Lower are also names of other properties; the order is that of UTS 18's examples
    if name in names["gc"]:
        return category(names["gc"][name])
    if name in names["bin"]:
        return table_set("bin", names["bin"][name])
    if name in names["sc"]:
        return script(names["sc"][name], False)
    return None


def _valued(name: str, value: str) -> Ranges | None:
    names = _loose_names()
    kind = _PROPERTY_NAMES.get(name)
    if kind is None:
        return None
    if kind == "gc":
        short = names["gc"].get(value)
        return _special(value) or (category(short) if short else None)
    if kind in ("sc", "scx"):
        exact = names["sc"].get(value)
        return script(exact, kind == "scx") if exact else None
    exact = names[kind].get(value)
    return table_set(kind, exact) if exact else None
