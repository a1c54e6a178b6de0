"""idn-hostname: host names of IDNA 2008 (RFC 5890 to 5893).

Narrowings, each of which only leaves names out:

- a label that begins with ``xn--`` is left out: whether its Punycode decodes to a valid label is not regular;
- a label beyond ASCII is at most 14 characters long if all are below U+0600, else at most 8: with so few its
  Punycode has 61 characters at most, whatever they are; a name with such a label has at most four labels
  (so that its form in ASCII stays within 253);
- a zero width non-joiner that stands after no virama needs Arabic letters that join on both sides around it;
- the joining of rarer scripts, and labels in Unicode forms other than the composed one, are not looked at
  beyond what RFC 5892 derives from the characters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from stackmask.grammar import charclass, ir
from stackmask.grammar.json_schema.formats.addresses import MAX_NAME, ascii_label
from stackmask.grammar.json_schema.formats.parts import LETTER, alt, chars, opt, rep, seq, union

MAX_LOW: Final = 14  # characters of a label below U+0600
MAX_ANY: Final = 8
MAX_LABELS: Final = 4  # of a name with a label beyond ASCII

SEPARATOR: Final = chars(".。．｡")
_HYPHEN: Final = chars("-")

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
    (0x17000, 0x187F7),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2EBE0),
    (0x30000, 0x323AF),
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
    (0x1D100, 0x1D24F),
    (0xE0100, 0xE01EF),
)
_GREEK: Final = ir.CharClass(((0x370, 0x373), (0x376, 0x377), (0x37A, 0x37D), (0x37F, 0x37F), (0x384, 0x384),
    (0x386, 0x386), (0x388, 0x38A), (0x38C, 0x38C), (0x38E, 0x3A1), (0x3A3, 0x3E1), (0x3F0, 0x3FF), (0x1F00, 0x1FFE)))  # fmt: skip
_HEBREW: Final = ir.CharClass(((0x591, 0x5C7), (0x5D0, 0x5EA), (0x5EF, 0x5F4), (0xFB1D, 0xFB4F)))
_JAPANESE: Final = ir.CharClass(((0x3005, 0x3005), (0x3007, 0x3007), (0x3041, 0x3096), (0x309D, 0x309F),
    (0x30A1, 0x30FA), (0x30FD, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0x20000, 0x2A6DF),
    (0x2A700, 0x2EBE0), (0x30000, 0x323AF)))  # fmt: skip
# Arabic letters that join on both sides
_JOINING: Final = ir.CharClass(((0x626, 0x626), (0x628, 0x628), (0x62A, 0x62E), (0x633, 0x63F), (0x641, 0x647),
    (0x649, 0x64A), (0x678, 0x687), (0x69A, 0x6BF), (0x6CC, 0x6CC)))  # fmt: skip
_ARABIC_DIGIT: Final = ir.CharClass(((0x660, 0x669),))
_EXTENDED_DIGIT: Final = ir.CharClass(((0x6F0, 0x6F9),))


def _candidates() -> Iterator[int]:
    """Yield the code points beyond ASCII that RFC 5892 needs to be looked at one by one."""
    left_out = sorted((*_STABLE, *_LEFT_OUT))
    start = 0x80
    for first, last in left_out:
        yield from range(start, first)
        start = max(start, last + 1)
    yield from range(start, 0x32400)


@cache
def valid_characters() -> ir.CharClass:
    """Return PVALID beyond ASCII. Source: RFC 5892, 3. Cost: the first call looks at 80,000 characters, 0.1 s."""
    found = []
    for code in _candidates():
        char = chr(code)
        if unicodedata.category(char) in _LETTERS:
            folded = unicodedata.normalize("NFKC", char).casefold()
            if char == unicodedata.normalize("NFKC", folded):
                found.append(code)
    kept = (set(found) | set(_VALID)) - set(_CONTEXT) - set(_INVALID)
    stable = (r for r in charclass.negate(_assigned_gaps()) if any(a <= r[0] <= b for a, b in _STABLE))
    return union(_runs(kept), ir.CharClass(charclass.normalize(stable)))


@cache
def _assigned_gaps() -> charclass.Ranges:
    """Return what is outside of the stable blocks, or in them but not assigned."""
    gaps = list(charclass.negate(_STABLE))
    for first, last in _STABLE:
        # blocks are assigned from their beginning on; the ends differ between versions of Unicode
        while last >= first and unicodedata.category(chr(last)) == "Cn":
            gaps.append((last, last))
            last -= 1
    return charclass.normalize(gaps)


def _runs(codes: Iterable[int]) -> ir.CharClass:
    return ir.CharClass(charclass.normalize((code, code) for code in codes))


def _except(item: ir.CharClass) -> ir.CharClass:
    return ir.CharClass(charclass.negate(item.ranges))


@dataclass(frozen=True, slots=True)
class _Characters:
    """Characters of labels, by what the rules ask of them."""

    marks: ir.CharClass
    viramas: ir.CharClass
    bidi: dict[str, ir.CharClass]

    def of(self, *classes: str) -> ir.CharClass:
        """Return the characters of some bidirectional classes."""
        return union(*(self.bidi[name] for name in classes if name in self.bidi))


@cache
def _characters() -> _Characters:
    """Sort what may stand in a label beyond ASCII, lower-case letters, digits and the hyphen."""
    codes = [code for first, last in valid_characters().ranges for code in range(first, last + 1)]
    codes += [*_CONTEXT, 0x200C, 0x200D, 0x2D, *range(0x30, 0x3A), *range(0x61, 0x7B)]
    bidi: dict[str, list[int]] = {}
    for code in codes:
        bidi.setdefault(unicodedata.bidirectional(chr(code)), []).append(code)
    return _Characters(
        _runs(code for code in codes if unicodedata.category(chr(code)) in {"Mn", "Mc"}),
        _runs(code for code in codes if unicodedata.combining(chr(code)) == 9),
        {name: _runs(members) for name, members in bidi.items()},
    )


@cache
def _faulty() -> ir.Expr:
    """Return texts that break a rule on hyphens, marks or characters in context. Source: RFC 5891, 4.2.3; 5892, A."""
    any_text = ir.ANY_TEXT
    known = _characters()

    def without_before(what: ir.Expr | str, wanted: ir.CharClass) -> ir.Expr:
        return seq(opt(any_text, _except(wanted)), what, any_text)

    def without_after(what: ir.Expr | str, wanted: ir.CharClass) -> ir.Expr:
        return seq(any_text, what, opt(_except(wanted), any_text))

    not_japanese = rep(_except(_JAPANESE))
    return alt(
        seq(union(known.marks, _HYPHEN), any_text),
        seq(any_text, _HYPHEN),
        seq(rep(ir.ANY_CHAR, 2, 2), "--", any_text),
        without_before("\xb7", chars("l")),
        without_after("\xb7", chars("l")),
        without_after("\u0375", _GREEK),
        without_before(chars("\u05f3\u05f4"), _HEBREW),
        without_before("\u200d", known.viramas),
        without_before("\u200c", union(known.viramas, _JOINING)),
        without_after(seq(_JOINING, "\u200c"), _JOINING),
        seq(any_text, _ARABIC_DIGIT, any_text, _EXTENDED_DIGIT, any_text),
        seq(any_text, _EXTENDED_DIGIT, any_text, _ARABIC_DIGIT, any_text),
        seq(not_japanese, "\u30fb", not_japanese),
    )


def _checked(label: ir.Expr) -> ir.Expr:
    """Return the labels of an expression that have a character beyond ASCII, keep the rules and are not too long."""
    lengths = alt(rep(ir.CharClass(((0, 0x5FF),)), 1, MAX_LOW), rep(ir.ANY_CHAR, 1, MAX_ANY))
    beyond = seq(rep(chars("a-z0-9-")), ir.CharClass(((0x80, 0xD7FF), (0xE000, 0x10FFFF))), ir.ANY_TEXT)
    return ir.Intersection((label, lengths, beyond, ir.Complement(_faulty())))


_NEUTRAL: Final = ("EN", "ES", "CS", "ET", "ON", "BN", "NSM")


@cache
def _plain_label() -> ir.Expr:
    """Return labels in which nothing is written from right to left."""
    return _checked(rep(_characters().of("L", *_NEUTRAL), 1))


@cache
def _left_to_right_label() -> ir.Expr:
    """Return labels that may stand beside those from right to left. Source: RFC 5893, 2, rules 1, 5 and 6."""
    known = _characters()
    marks = rep(known.of("NSM"))
    inner = rep(known.of("L", *_NEUTRAL))
    return _checked(seq(known.of("L"), alt(marks, seq(inner, known.of("L", "EN"), marks))))


@cache
def _right_to_left_label() -> ir.Expr:
    """Return labels that are written from right to left. Source: RFC 5893, 2, rules 1 to 4."""
    known = _characters()
    marks = rep(known.of("NSM"))

    def digits_of(kind: str) -> ir.Expr:
        inner = rep(known.of("R", "AL", kind, *(name for name in _NEUTRAL if name != "EN")))
        return seq(known.of("R", "AL"), alt(marks, seq(inner, known.of("R", "AL", kind), marks)))

    return _checked(alt(digits_of("EN"), digits_of("AN")))


@cache
def idn_hostname() -> ir.Expr:
    """Return host names with characters beyond ASCII; see the narrowings above."""
    ascii_strict = ir.Intersection((ascii_label(), seq(LETTER, ir.ANY_TEXT)))
    plain = alt(ascii_label(), _plain_label())
    mixed = alt(ascii_strict, _left_to_right_label(), _right_to_left_label())
    names = alt(
        seq(ascii_label(), rep(seq(SEPARATOR, ascii_label()))),
        seq(plain, rep(seq(SEPARATOR, plain), 0, MAX_LABELS - 1)),
        seq(mixed, rep(seq(SEPARATOR, mixed), 0, MAX_LABELS - 1)),
    )
    return ir.Intersection((names, rep(ir.ANY_CHAR, 1, MAX_NAME)))
