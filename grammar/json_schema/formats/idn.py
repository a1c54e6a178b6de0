"""idn-hostname: host names of IDNA 2008 (RFC 5890 to 5893); and idn-email, which contains them.

Narrowings, each of which only excludes names:

- a label that begins with ``xn--`` is excluded, because the Punycode of valid labels is not a regular
  language (IDNA has no other labels with hyphens in third and fourth place), and beyond ASCII a label has no
  two hyphens in a row;
- a label beyond ASCII is at most 14 characters long if all are below U+0600, else at most 10, so that its
  Punycode has at most 60 characters in any case; a name with such a label has at most four labels (so that
  its form in ASCII stays within 253);
- right-to-left labels only contain characters below U+0900, and all other labels of the name are ASCII;
- characters beyond U+FFFF are excluded; a katakana middle dot is adjacent to a Japanese character or another
  dot;
- a zero width non-joiner that does not follow a virama needs Arabic letters that join on both sides around
  it;
- at most one combining mark follows a character (and a virama may follow a nukta), and none that composes
  with the character before it. So labels are in composed form (NFC), which is required except in idn-email.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.json_schema.formats.syntax import (
    ATOM,
    LETTER,
    LETTER_DIGIT,
    MAX_LABEL,
    MAX_NAME,
    QUOTED,
    alt,
    ascii_domain,
    chars,
    label_characters,
    mailbox,
    opt,
    rep,
    seq,
    union,
)
from stackmask.grammar.languages.classes import common
from stackmask.grammar.source import charclass

# A number d takes at most as many digits of Punycode as decimal ones, and the numbers of a label of L characters
# below M add up to at most M * (L + 1) (RFC 3492, 6.3): at most 56 digits, and with `xn--` 60 characters.
LOW_END: Final = 0x600
MAX_LOW: Final = 14  # characters of a label below LOW_END
MAX_ANY: Final = 10
RIGHT_TO_LEFT_END: Final = 0x900
MAX_LABELS: Final = 4  # of a name with a label beyond ASCII

SEPARATOR: Final = chars(".。．｡")

# RFC 5892, 2.6: exceptions by hand, valid and not
_VALID: Final = (0xDF, 0x3C2, 0x6FD, 0x6FE, 0xF0B, 0x3007)
_CONTEXT: Final = (0xB7, 0x375, 0x5F3, 0x5F4, 0x30FB)
_INVALID: Final = (0x640, 0x7FA, 0x302E, 0x302F, 0x3031, 0x3032, 0x3033, 0x3034, 0x3035, 0x303B)
_LETTERS: Final = frozenset({"Ll", "Lu", "Lo", "Nd", "Lm", "Mn", "Mc"})
# blocks of letters that normalisation leaves alone: looking at each would take longer than at all others
_STABLE: Final = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),
)
# ignorable characters that are letters or marks, ignorable blocks, old Hangul jamo (RFC 5892, 2.3, 2.4, 2.9)
_LEFT_OUT: Final = (
    (0x34F, 0x34F),
    (0x1100, 0x11FF),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x20D0, 0x20FF),
    (0x3164, 0x3164),
    (0xA960, 0xA97F),
    (0xD7B0, 0xD7FF),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
)
_GREEK: Final = ir.CharClass(((0x370, 0x373), (0x376, 0x377), (0x37A, 0x37D), (0x37F, 0x37F), (0x384, 0x384),
    (0x386, 0x386), (0x388, 0x38A), (0x38C, 0x38C), (0x38E, 0x3A1), (0x3A3, 0x3E1), (0x3F0, 0x3FF), (0x1F00, 0x1FFE)))  # fmt: skip
_HEBREW: Final = ir.CharClass(((0x591, 0x5C7), (0x5D0, 0x5EA), (0x5EF, 0x5F4), (0xFB1D, 0xFB4F)))
_JAPANESE: Final = ir.CharClass(((0x3005, 0x3005), (0x3007, 0x3007), (0x3041, 0x3096), (0x309D, 0x309F),
    (0x30A1, 0x30FA), (0x30FD, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF)))  # fmt: skip
# Arabic letters that join on both sides
_JOINING: Final = ir.CharClass(((0x626, 0x626), (0x628, 0x628), (0x62A, 0x62E), (0x633, 0x63F), (0x641, 0x647),
    (0x649, 0x64A), (0x678, 0x687), (0x69A, 0x6BF), (0x6CC, 0x6CC)))  # fmt: skip


def _candidates() -> Iterator[int]:
    """Yield the non-ASCII code points that RFC 5892 classifies individually."""
    left_out = sorted((*_STABLE, *_LEFT_OUT))
    start = 0x80
    for first, last in left_out:
        yield from range(start, first)
        start = max(start, last + 1)
    yield from range(start, 0x10000)


@cache
def valid_characters(*, composed: bool = True) -> ir.CharClass:
    """Return the characters with the property PVALID beyond ASCII. ``composed``: without those that compose
    with a preceding one.

    Source: RFC 5892, 3. Cost: the first call examines 80,000 characters, 0.1 s.
    """
    found = []
    for code in _candidates():
        char = chr(code)
        if unicodedata.category(char) in _LETTERS:
            folded = unicodedata.normalize("NFKC", char).casefold()
            if char == unicodedata.normalize("NFKC", folded):
                found.append(code)
    # the second halves of composed characters: without them, and with marks in order, a text is composed (NFC)
    halves = {
        int(parts[1], 16)
        for code in found
        if composed and len(parts := unicodedata.decomposition(chr(code)).split()) == 2
    }
    kept = (set(found) | set(_VALID)) - set(_CONTEXT) - set(_INVALID) - halves
    stable = (r for r in charclass.negate(_assigned_gaps()) if any(a <= r[0] <= b for a, b in _STABLE))
    return union(_runs(kept), ir.CharClass(charclass.normalize(stable)))


@cache
def _assigned_gaps() -> charclass.Ranges:
    """Return the code points outside the stable blocks, and the unassigned ones inside them."""
    gaps = list(charclass.negate(_STABLE))
    for first, last in _STABLE:
        # blocks are assigned from their beginning on; the ends differ between versions of Unicode
        while last >= first and unicodedata.category(chr(last)) == "Cn":
            gaps.append((last, last))
            last -= 1
    return charclass.normalize(gaps)


def _runs(codes: Iterable[int]) -> ir.CharClass:
    return ir.CharClass(charclass.normalize((code, code) for code in codes))


def _without(item: ir.CharClass, *others: ir.CharClass) -> ir.CharClass:
    return ir.CharClass(common(item.ranges, charclass.negate(union(*others).ranges)))


def _common(item: ir.CharClass, other: ir.CharClass) -> ir.CharClass:
    return ir.CharClass(common(item.ranges, other.ranges))


@dataclass(frozen=True, slots=True)
class _IdnCharacters:
    """The valid characters beyond ASCII, grouped by the rules that apply to them."""

    marks: ir.CharClass  # may not begin a label
    combining: ir.CharClass  # marks whose order matters
    nuktas: ir.CharClass
    viramas: ir.CharClass
    bidi: dict[str, ir.CharClass]


@cache
def _characters(*, composed: bool = True) -> _IdnCharacters:
    ranges = valid_characters(composed=composed).ranges
    codes = [code for first, last in ranges for code in range(first, last + 1)]
    bidi: dict[str, list[int]] = {}
    for code in codes:
        bidi.setdefault(unicodedata.bidirectional(chr(code)), []).append(code)
    combining = [code for code in codes if unicodedata.combining(chr(code))]
    return _IdnCharacters(
        _runs(code for code in codes if unicodedata.category(chr(code)) in {"Mn", "Mc"}),
        _runs(combining),
        _runs(code for code in combining if unicodedata.combining(chr(code)) == 7),
        _runs(code for code in combining if unicodedata.combining(chr(code)) == 9),
        {name: _runs(members) for name, members in bidi.items()},
    )


def _left_to_right_label(*, composed: bool) -> ir.Expr:
    """Return labels without right-to-left characters.

    A label is a row of units, each a character with its required context (RFC 5892, A), and single hyphens.
    """
    known = _characters(composed=composed)
    right_to_left = [known.bidi[name] for name in ("R", "AL", "AN") if name in known.bidi]
    valid = _without(union(valid_characters(composed=composed), chars("a-z0-9")), *right_to_left)
    greek = _common(valid, _GREEK)
    plain = _without(valid, greek, chars("l"), known.combining, _JAPANESE)
    joined = seq(_common(known.viramas, valid), opt(chars("\u200c\u200d")))
    mark = _without(_common(known.combining, valid), known.nuktas, known.viramas)
    marks = opt(alt(mark, joined, seq(_common(known.nuktas, valid), opt(joined))))
    # the letters around a middle dot must stay `l`, so no mark may compose with them
    dotted = seq("l", rep(seq("\xb7", "l"), 1), rep(_common(mark, valid_characters()), 0, 1))
    numeral = seq(rep("\u0375"), greek)
    japanese = _common(valid, _JAPANESE)
    # a katakana middle dot needs a Japanese character; here beside it
    dots = rep("\u30fb")
    kana = alt(seq(japanese, dots), seq("\u30fb", dots, japanese, dots))
    start = alt(_without(plain, known.marks), "l", numeral, kana)
    unit = seq(opt("-"), alt(dotted, seq(alt(plain, "l", numeral, kana), marks)))
    lengths = alt(rep(ir.CharClass(((0, LOW_END - 1),)), 1, MAX_LOW), rep(ir.ANY_CHAR, 1, MAX_ANY))
    return ir.Intersection((seq(alt(dotted, seq(start, marks)), rep(unit)), lengths))


def _right_to_left_label() -> ir.Expr:
    """Return right-to-left labels, below U+0900. Source: RFC 5893, 2, rules 1 to 4."""
    known = _characters()

    def of(*classes: str) -> ir.CharClass:
        found = union(*(known.bidi[name] for name in classes))
        return _common(found, ir.CharClass(((0, RIGHT_TO_LEFT_END - 1),)))

    letters = of("R", "AL")
    hebrew = _common(letters, _HEBREW)
    joining = _common(letters, _JOINING)
    letter = alt(
        _without(letters, hebrew, joining),
        seq(hebrew, rep(chars("\u05f3\u05f4"))),
        seq(joining, rep(seq("\u200c", joining))),
    )
    marks = opt(of("NSM"))
    # Arabic-Indic digits (AN) never stand beside the others (EN), which the rule on digits of one kind asks too
    found = [
        seq(letter, marks, rep(seq(opt("-"), alt(letter, digits), marks)))
        for digits in (union(of("EN"), chars("0-9")), of("AN"))
    ]
    return ir.Intersection((alt(*found), rep(ir.ANY_CHAR, 1, MAX_ANY)))


def _ascii_label(first: ir.CharClass) -> ir.Expr:
    """Return ASCII labels without hyphens at the ends or in both third and fourth place."""
    any_letter = chars("A-Za-z0-9-")
    return alt(
        seq(first, opt(LETTER_DIGIT)),
        seq(first, any_letter, LETTER_DIGIT, label_characters(0, MAX_LABEL - 3)),
        seq(first, any_letter, "-", LETTER_DIGIT, label_characters(0, MAX_LABEL - 4)),
    )


@cache
def idn_hostname(*, composed: bool = True) -> ir.Expr:
    """Return host names with characters beyond ASCII; see the narrowings above.

    ``composed``: left-to-right labels are in composed form (NFC), as host names require. Composing shortens a
    label, so that the bound on its Punycode holds for others too.
    """
    basic = _ascii_label(LETTER_DIGIT)
    plain = alt(basic, _left_to_right_label(composed=composed))
    mixed = alt(_ascii_label(LETTER), _right_to_left_label())
    names = alt(
        seq(basic, rep(seq(SEPARATOR, basic))),
        seq(plain, rep(seq(SEPARATOR, plain), 0, MAX_LABELS - 1)),
        seq(mixed, rep(seq(SEPARATOR, mixed), 0, MAX_LABELS - 1)),
    )
    return ir.Intersection((names, rep(ir.ANY_CHAR, 1, MAX_NAME)))


@cache
def idn_email() -> ir.Expr:
    """Return the rule Mailbox with characters beyond ASCII in the local part and in the labels of the domain.

    A domain with such characters is an idn-hostname, but need not be in composed form (NFC): the official
    test suite accepts other forms. Source: RFC 6531, 3.3.
    """
    beyond = ir.CharClass(((0x80, 0xD7FF), (0xE000, 0x10FFFF)))
    domain = alt(ascii_domain(), idn_hostname(composed=False))
    return mailbox(union(ATOM, beyond), union(QUOTED, beyond), domain)
