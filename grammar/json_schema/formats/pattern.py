"""regex: patterns of ECMA-262, as far as a regular language reaches.

Parentheses nest without bound, so the set of all patterns is not regular; this is a part of it, of patterns
that are valid with and without the ``u`` flag. Narrowings, each of which only leaves patterns out:

- groups nest at most ``MAX_NESTING`` deep;
- at most one named group; back-references (which need a group that is there) only to it, after it, and if its
  name is one letter;
- in a pattern with a named group or look-around no group has a quantifier (look-around must not have one);
- ranges in classes, and the bounds of ``{m,n}``, whose order a few digits or letters decide;
- properties by their short names.
"""

from __future__ import annotations

from functools import cache
from string import ascii_letters
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.json_schema.formats.parts import DIGIT, HEX, LETTER, alt, chars, opt, rep, seq
from stackmask.grammar.source import charclass

MAX_NESTING: Final = 8
_SYNTAX: Final = "^$\\.*+?()[]{}|/"
_SYNTAX_CLASS: Final = ir.CharClass(charclass.normalize((ord(c), ord(c)) for c in _SYNTAX))
_PLAIN: Final = ir.CharClass(charclass.negate((ord(c), ord(c)) for c in _SYNTAX if c != "/"))
_IN_CLASS: Final = ir.CharClass(charclass.negate((ord(c), ord(c)) for c in "\\]-"))
_PROPERTY: Final = alt(
    seq("L", opt(chars("ultmo"))),
    seq("M", opt(chars("nce"))),
    seq("N", opt(chars("dlo"))),
    seq("P", opt(chars("cdseifo"))),
    seq("S", opt(chars("mcko"))),
    seq("Z", opt(chars("slp"))),
    seq("C", opt(chars("cfon"))),
    "Letter",
    "Script=Latin",
)


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
            seq(chars("pP"), "{", _PROPERTY, "}"),
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
    item = alt(seq(single, rep(quantifier, 0, 1)), assertion, "|")
    # groups with quantifiers; or names and looks, whose closing parentheses are not told apart from the others
    quantified = rep(alt(item, seq("(", opt("?:")), seq(")", rep(quantifier, 0, 1))))
    brackets = alt(seq("(", opt("?", alt(":", seq(opt("<"), chars("=!"))))), ")")
    looking = rep(alt(item, brackets))
    named = [seq("(?<", chars("A-Za-z_$"), rep(chars("A-Za-z0-9_$")), ">", looking)]
    for letter in ascii_letters:
        reference = seq(f"\\k<{letter}>", rep(quantifier, 0, 1))
        named.append(seq(f"(?<{letter}>", rep(alt(item, brackets, reference))))
    # parentheses in pairs: escapes and classes hide theirs
    other = alt(
        ir.CharClass(charclass.negate((ord(c), ord(c)) for c in "()[\\")),
        seq("\\", ir.ANY_CHAR),
        seq(
            "[",
            rep(alt(ir.CharClass(charclass.negate((ord(c), ord(c)) for c in "\\]")), seq("\\", ir.ANY_CHAR))),
            "]",
        ),
    )
    paired = rep(other)
    for _ in range(MAX_NESTING):
        paired = rep(alt(other, seq("(", paired, ")")))
    return ir.Intersection((alt(quantified, seq(looking, opt(alt(*named)))), paired))
