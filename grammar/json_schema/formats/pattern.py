"""regex: patterns of ECMA-262, as far as a regular language reaches.

Parentheses nest without bound, so the set of all patterns is not regular; this is a part of it, of patterns
that are valid with and without the ``u`` flag. Narrowings, each of which only leaves patterns out:

- groups nest at most ``MAX_NESTING`` deep;
- at most one named group, not inside of another; no back-references (they need a group that is there);
- ranges in classes, and the bounds of ``{m,n}``, whose order a few digits or letters decide;
- no look-around with a quantifier (an error with the ``u`` flag), no escapes that mean nothing.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from stackmask.grammar import charclass, ir
from stackmask.grammar.json_schema.formats.parts import DIGIT, HEX, LETTER, alt, chars, opt, rep, seq

MAX_NESTING: Final = 3
_SYNTAX: Final = "^$\\.*+?()[]{}|/"
_SYNTAX_CLASS: Final = ir.CharClass(charclass.normalize((ord(c), ord(c)) for c in _SYNTAX))
_PLAIN: Final = ir.CharClass(charclass.negate((ord(c), ord(c)) for c in _SYNTAX if c != "/"))
_IN_CLASS: Final = ir.CharClass(charclass.negate((ord(c), ord(c)) for c in "\\]-"))
_CATEGORIES: Final = (
    "L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Ps", "Pe",
    "Pi", "Pf", "Po", "S", "Sm", "Sc", "Sk", "So", "Z", "Zs", "Zl", "Zp", "C", "Cc", "Cf", "Co", "Cn", "Letter",
    "Uppercase_Letter", "Lowercase_Letter", "Mark", "Number", "Punctuation", "Symbol", "Separator", "Alphabetic",
    "Any", "ASCII", "Lowercase", "Uppercase", "White_Space", "Script=Latin", "Script=Greek", "Script=Cyrillic",
    "Script=Han", "Script=Hiragana", "Script=Katakana", "Script=Hangul", "Script=Arabic", "Script=Hebrew",
)  # fmt: skip


def _escape(more: ir.Expr | str) -> ir.Expr:
    """Return the escapes that characters and classes share, and more."""
    braced = seq("{", alt(rep(HEX, 1, 5), seq("10", rep(HEX, 4, 4))), "}")
    return seq(
        "\\",
        alt(
            chars("dDsSwWtnvfr"),
            seq("c", LETTER),
            seq("x", HEX, HEX),
            seq("u", alt(rep(HEX, 4, 4), braced)),
            seq(chars("pP"), "{", alt(*_CATEGORIES), "}"),
            _SYNTAX_CLASS,
            more,
        ),
    )


def _character_class() -> ir.Expr:
    """Return ``[…]``: characters, escapes, ranges, a hyphen at either end."""
    ranges = alt(
        seq("0-", DIGIT),
        seq("1-", chars("1-9")),
        seq("2-", chars("2-9")),
        seq(chars("3-8"), "-9"),
        seq("a-", chars("a-z")),
        seq("A-", chars("A-Z")),
        seq(chars("b-y"), "-z"),
        seq(chars("B-Y"), "-Z"),
        "\\u0000-\\uFFFF",
        "\\u4e00-\\u9fa5",
        "\\u4e00-\\u9fff",
        "\\x00-\\x1F",
        "\\x00-\\x7F",
        "\\x20-\\x7E",
        "\\x21-\\x7E",
        "!-~",
        " -~",
    )
    item = alt(_IN_CLASS, _escape(chars("b-")), ranges)
    return seq("[", opt("^"), opt("-"), rep(item), opt("-"), "]")


@cache
def regex() -> ir.Expr:
    """Return patterns that ECMA-262 accepts; see the narrowings above. Source: ECMA-262, 22.2.1."""
    digits = seq(chars("1-9"), rep(DIGIT, 0, 2))
    two, three, four = (seq(chars("1-9"), rep(DIGIT, n, n)) for n in (1, 2, 3))
    rising = [seq(f"{low},", chars(f"{low}-9")) for low in range(1, 10)]
    tens = [seq(f"{low}", DIGIT, ",", chars(f"{low + 1}-9"), DIGIT) for low in range(1, 9)]
    counts = alt(
        seq(alt("0", digits), opt(",")),
        seq("0,", alt("0", digits)),
        *rising,
        *tens,
        seq(chars("1-9"), ",", alt(two, three, four)),
        seq(two, ",", alt(three, four)),
        seq(three, ",", four),
    )
    quantifier = seq(alt(chars("*+?"), seq("{", counts, "}")), opt("?"))
    single = alt(_PLAIN, ".", _escape(chars("/")), _character_class())
    assertion = alt(chars("^$"), "\\b", "\\B")
    body: ir.Expr = rep(alt(seq(single, rep(quantifier, 0, 1)), assertion, "|"))
    for _ in range(MAX_NESTING):
        group = seq("(", opt("?:"), body, ")", rep(quantifier, 0, 1))
        look = seq("(?", alt("=", "!", "<=", "<!"), body, ")")
        body = rep(alt(seq(single, rep(quantifier, 0, 1)), assertion, "|", group, look))
    name = seq(chars("A-Za-z_$"), rep(chars("A-Za-z0-9_$")))
    named = seq("(?<", name, ">", rep(alt(seq(single, rep(quantifier, 0, 1)), assertion, "|")), ")")
    return seq(body, opt(named, rep(quantifier, 0, 1), body))
