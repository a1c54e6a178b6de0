"""ipv4, ipv6, hostname, uuid."""

from __future__ import annotations

from functools import cache

from stackmask.grammar import ir
from stackmask.grammar.json_schema.formats.parts import DIGIT, HEX, LETTER_DIGIT, alt, chars, opt, rep, seq

MAX_NAME = 253  # characters of a host name
MAX_LABEL = 63


@cache
def ipv4() -> ir.Expr:
    """Return four decimal numbers up to 255 without leading zeros. Source: RFC 2673, 3.2."""
    octet = alt(
        seq("25", chars("0-5")),
        seq("2", chars("0-4"), DIGIT),
        seq("1", DIGIT, DIGIT),
        seq(opt(chars("1-9")), DIGIT),
    )
    return seq(octet, rep(seq(".", octet), 3, 3))


@cache
def ipv6(most: int = 7) -> ir.Expr:
    """Return eight groups of hexadecimal digits, the last two also as ipv4; ``::`` stands for some zeros.

    ``most``: groups that may be written beside ``::`` (RFC 5321 has at most 6 for mail).
    Source: RFC 4291, 2.2.
    """
    group = rep(HEX, 1, 4)
    more = seq(":", group)
    before = seq(group, ":")

    def short(left: int, after: list[ir.Expr]) -> ir.Expr:
        """Return up to ``left`` groups, ``::``, and what may come after so many groups."""
        # from the inside out, so that the groups before `::` are read in one way
        found = seq("::", after[left])
        for count in range(left - 1, 0, -1):
            found = alt(seq("::", after[count]), seq(":", group, found))
        return alt(seq("::", after[0]), seq(group, found))

    plain = [opt(group, rep(more, 0, most - k - 1)) if k < most else ir.EPSILON for k in range(most + 1)]
    mixed = [rep(before, 0, most - 2 - k) for k in range(most - 1)]
    return alt(
        seq(group, rep(more, 7, 7)),
        short(most, plain),
        seq(alt(rep(before, 6, 6), short(most - 2, mixed)), ipv4()),
    )


def label_characters(least: int, most: int) -> ir.Expr:
    """Return letters, digits and hyphens, not a hyphen at the end; nothing where ``least`` is 0."""
    some = seq(rep(chars("A-Za-z0-9-"), max(least - 1, 0), most - 1), LETTER_DIGIT)
    return some if least else opt(some)


@cache
def ascii_label() -> ir.Expr:
    """Return a label of letters, digits and inner hyphens, at most 63, that does not begin with ``xn--``.

    Whether what follows ``xn--`` is the Punycode of a valid label is not regular.
    """
    no_x, no_n = chars("A-WYZa-wyz0-9"), chars("A-MO-Za-mo-z0-9")
    x, n = chars("Xx"), chars("Nn")
    return alt(
        seq(no_x, label_characters(0, MAX_LABEL - 1)),
        x,
        seq(x, no_n, label_characters(0, MAX_LABEL - 2)),
        seq(x, "-", label_characters(1, MAX_LABEL - 2)),
        seq(x, n, opt(LETTER_DIGIT, label_characters(0, MAX_LABEL - 3))),
        seq(x, n, "-", LETTER_DIGIT, label_characters(0, MAX_LABEL - 4)),
    )


@cache
def hostname() -> ir.Expr:
    """Return labels of letters, digits and inner hyphens, with dots between, at most 253 characters.

    Narrowing: no label begins with ``xn--``, see ``ascii_label``. Source: RFC 1123, 2.1; RFC 5890, 2.3.2.3.
    """
    names = seq(ascii_label(), rep(seq(".", ascii_label())))
    return ir.Intersection((names, rep(chars("A-Za-z0-9.-"), 1, MAX_NAME)))


@cache
def hostname_before_idna() -> ir.Expr:
    """Return host names as drafts 4 and 6 have them: whatever follows ``xn--``. Source: RFC 1034, 3.1; RFC 1123, 2.1."""
    label = seq(LETTER_DIGIT, label_characters(0, MAX_LABEL - 1))
    names = seq(label, rep(seq(".", label)))
    return ir.Intersection((names, rep(chars("A-Za-z0-9.-"), 1, MAX_NAME)))


@cache
def uuid(plain: bool = False) -> ir.Expr:
    """Return 32 hexadecimal digits in five groups, of any version; ``plain``: in lower case. Source: RFC 4122, 3."""
    digit = chars("0-9a-f") if plain else HEX
    return seq(rep(digit, 8, 8), rep(seq("-", rep(digit, 4, 4)), 3, 3), "-", rep(digit, 12, 12))
