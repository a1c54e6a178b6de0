"""Escapes and character classes, with the same syntax in literals, classes and regexes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from stackmask.grammar.ir import MAX_CODE_POINT, SURROGATES
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges
from stackmask.grammar.source.diagnostics import Collector
from stackmask.grammar.source.work import spend

CONTROLS: Final = {
    "n": 0x0A,
    "t": 0x09,
    "r": 0x0D,
    "f": 0x0C,
    "v": 0x0B,
    "a": 0x07,
    "b": 0x08,
    "e": 0x1B,
    "0": 0x00,
}
HEX_DIGITS: Final = {"x": 2, "u": 4, "U": 8}
SETS: Final[dict[str, Ranges]] = {
    "d": charclass.DIGIT,
    "w": charclass.WORD,
    "s": charclass.SPACE,
    "D": charclass.negate(charclass.DIGIT),
    "W": charclass.negate(charclass.WORD),
    "S": charclass.negate(charclass.SPACE),
}
_POSIX = re.compile(r"\[?:\^?[a-z]+:")
HEX: Final = frozenset("0123456789abcdefABCDEF")
REPLACEMENT: Final = 0xFFFD  # stands for what a bad escape meant, so that checking can go on
ESCAPE_HELP: Final = r"escapes are \n \t \r \f \v \b \a \e \0 \xHH \uHHHH \UHHHHHHHH and \ before punctuation"


def read_escape(text: str, start: int, end: int, problems: Collector) -> tuple[int | Ranges, int]:
    r"""Read the escape whose backslash is at ``start``.

    Returns a code point, or the ranges of a set such as ``\d``, and the offset after the escape. An invalid
    escape is reported and read as U+FFFD.
    """
    if start + 1 >= end:
        problems.add("G006", r"`\` escapes nothing", start, end, help=r"write `\\` for a backslash")
        return REPLACEMENT, end
    letter = text[start + 1]
    after = start + 2
    if letter in HEX_DIGITS:
        return _read_hex(text, start, end, problems)
    if letter in SETS:
        return SETS[letter], after
    if letter in "pP":
        return _read_category(text, start, end, problems)
    if letter == "0" and after < end and text[after].isdigit():
        problems.add("G006", "octal escapes are not supported", start, after + 1, help=r"write `\xHH`")
        return REPLACEMENT, after + 1
    if letter in CONTROLS:
        return CONTROLS[letter], after
    if letter.isascii() and not letter.isalnum() and letter.isprintable():
        return ord(letter), after
    problems.add(
        "G006",
        f"unknown escape `{text[start:after]}`",
        start,
        after,
        label="no such escape",
        help=ESCAPE_HELP,
    )
    return REPLACEMENT, after


def _read_hex(text: str, start: int, end: int, problems: Collector) -> tuple[int, int]:
    digits = HEX_DIGITS[text[start + 1]]
    first = start + 2
    if first < end and text[first] == "{" and text[start + 1] == "u":
        close = text.find("}", first, end)
        stop = close if close >= 0 else end
        value, after = text[first + 1 : stop], stop + 1 if close >= 0 else end
        complete = 1 <= len(value) <= 8 and close >= 0
    else:
        stop = first
        while stop < end and stop < first + digits and text[stop] in HEX:
            stop += 1
        value, after = text[first:stop], stop
        complete = len(value) == digits
    if not complete or not HEX.issuperset(value):
        problems.add(
            "G006",
            f"`\\{text[start + 1]}` needs {digits} hexadecimal digits",
            start,
            after,
            label="digits missing",
            help=ESCAPE_HELP,
        )
        return REPLACEMENT, after
    code = int(value, 16)
    if code > MAX_CODE_POINT:
        problems.add("G006", "beyond the last code point, U+10FFFF", start, after)
        return REPLACEMENT, after
    if SURROGATES[0] <= code <= SURROGATES[1]:
        problems.add(
            "G006",
            f"U+{code:04X} is a surrogate, not a character",
            start,
            after,
            help=r"write the whole character as \UHHHHHHHH",
        )
        return REPLACEMENT, after
    return code, after


def _read_category(text: str, start: int, end: int, problems: Collector) -> tuple[Ranges, int]:
    first = start + 2
    close = text.find("}", first, end) if first < end and text[first] == "{" else -1
    if close < 0:
        problems.add(
            "G007",
            f"`{text[start:first]}` needs a category in braces",
            start,
            first,
            help=r"for example `\p{L}`",
        )
        return charclass.ANY, first
    name = text[first + 1 : close]
    ranges = charclass.category(name)
    if ranges is None:
        problems.add(
            "G007",
            f"unknown Unicode category `{name}`",
            start,
            close + 1,
            label="no general category of this name",
            help=r"general categories only, such as L, Lu, Nd, P, Zs, or Letter",
        )
        return charclass.ANY, close + 1
    return (charclass.negate(ranges) if text[start + 1] == "P" else ranges), close + 1


def read_literal(text: str, start: int, end: int, problems: Collector) -> str:
    """Return the characters of the inside of a literal."""
    if "\\" not in text[start:end]:
        return text[start:end]
    parts: list[str] = []
    position = start
    while position < end:
        spend(4)
        backslash = text.find("\\", position, end)
        if backslash < 0:
            parts.append(text[position:end])
            break
        parts.append(text[position:backslash])
        value, position = read_escape(text, backslash, end, problems)
        if isinstance(value, tuple):
            problems.add(
                "G006",
                f"`{text[backslash:position]}` is a set of characters, not one",
                backslash,
                position,
                help="put it into a class: `[" + text[backslash:position] + "]`",
            )
        else:
            parts.append(chr(value))
    return "".join(parts)


def _class_items(
    text: str, start: int, end: int, problems: Collector
) -> Iterator[tuple[int | Ranges | None, int, int]]:
    """Yield (code point or ranges or None for a bare hyphen, start, end) for each member."""
    position = start
    while position < end:
        if text[position] == "\\":
            value, after = read_escape(text, position, end, problems)
            yield value, position, after
        else:
            after = position + 1
            yield (None if text[position] == "-" else ord(text[position])), position, after
        position = after


def read_class(text: str, start: int, end: int, problems: Collector, *, ignore_case: bool = False) -> Ranges:
    """Return the characters of a class; ``start`` and ``end`` are the offsets of ``[`` and after ``]``.

    A hyphen between two characters is a range; at either end it is literal. With ``ignore_case``, the
    variants are added before a leading ``^`` negates the class.
    """
    inside = start + 1
    negated = text[inside] == "^"
    if negated:
        inside += 1
    if inside == end - 1:
        if negated:
            return charclass.ANY
        problems.add(
            "G007", "an empty class matches nothing", start, end, help=r"escape `]` as `\]`, `[^]` is any"
        )
        return charclass.ANY
    if _POSIX.match(text, inside):
        problems.add(
            "G007",
            "POSIX classes are not supported",
            start,
            end,
            help=r"write `[a-zA-Z]`, `[\d]`, `[\s]` or `[\p{L}]`",
        )
    spend(2 + 2 * (end - inside))
    items = list(_class_items(text, inside, end - 1, problems))
    ranges: list[tuple[int, int]] = []
    index = 0
    while index < len(items):
        value, first, after = items[index]
        if isinstance(value, tuple):
            ranges.extend(value)
            index += 1
            continue
        low = 0x2D if value is None else value
        if index + 2 < len(items) and items[index + 1][0] is None:
            upper, _, last = items[index + 2]
            if isinstance(upper, tuple):
                problems.add(
                    "G007",
                    f"`{text[first:last]}`: a set cannot end a range",
                    first,
                    last,
                    help=r"write the hyphen as `\-`",
                )
            else:
                high = 0x2D if upper is None else upper
                if high < low:
                    problems.add(
                        "G007",
                        f"reversed range `{text[first:last]}`",
                        first,
                        last,
                        label=f"U+{low:04X} is after U+{high:04X}",
                        help="`#x…` is not a character here: write `\\x41`, `\\u1234`"
                        if "#x" in text[max(0, first - 2) : last + 2]
                        else f"did you mean `{text[items[index + 2][1] : last]}-{text[first:after]}`?",
                    )
                else:
                    ranges.append((low, high))
            index += 3
            continue
        ranges.append((low, low))
        index += 1
    result = charclass.fold_case(ranges) if ignore_case else charclass.normalize(ranges)
    return charclass.negate(result) if negated else result
