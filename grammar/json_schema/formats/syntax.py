"""The formats that need no Unicode tables, and small builders that all formats use."""

from __future__ import annotations

from functools import cache
from string import ascii_letters
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.source import charclass


def chars(spec: str) -> ir.CharClass:
    """Return the class of the characters of a spec such as ``a-zA-Z0-9_-`` (with a hyphen at the end)."""
    ranges: list[tuple[int, int]] = []
    i = 0
    while i < len(spec):
        if i + 2 < len(spec) and spec[i + 1] == "-":
            ranges.append((ord(spec[i]), ord(spec[i + 2])))
            i += 3
        else:
            ranges.append((ord(spec[i]), ord(spec[i])))
            i += 1
    return ir.CharClass(charclass.normalize(ranges))


def union(*classes: ir.CharClass) -> ir.CharClass:
    """Return the characters that are in any of the classes."""
    return ir.CharClass(charclass.normalize(pair for item in classes for pair in item.ranges))


def expr(item: ir.Expr | str) -> ir.Expr:
    """Return the expression for a string; an expression is returned unchanged."""
    return ir.Literal(item.encode()) if isinstance(item, str) else item


def seq(*items: ir.Expr | str) -> ir.Expr:
    """Return the concatenation of the items."""
    parts = tuple(part for item in map(expr, items) for part in _items(item))
    return parts[0] if len(parts) == 1 else ir.Sequence(parts)


def _items(item: ir.Expr) -> tuple[ir.Expr, ...]:
    return item.items if isinstance(item, ir.Sequence) else (item,)


def alt(*items: ir.Expr | str) -> ir.Expr:
    """Return the alternatives of the items."""
    return ir.Choice(tuple(map(expr, items)))


def opt(*items: ir.Expr | str) -> ir.Expr:
    """Return the concatenation of the items, or nothing."""
    return ir.Repeat(seq(*items), 0, 1)


def rep(item: ir.Expr | str, low: int = 0, high: int | None = None) -> ir.Expr:
    """Return between low and high repetitions of the item."""
    return expr(item) if low == high == 1 else ir.Repeat(expr(item), low, high)


DIGIT: Final = chars("0-9")
HEX: Final = chars("0-9A-Fa-f")
LETTER: Final = chars("A-Za-z")
LETTER_DIGIT: Final = chars("A-Za-z0-9")


# -- ipv4, ipv6, hostname, uuid.

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
    """Return eight groups of hexadecimal digits, the last two also as ipv4; ``::`` represents some zeros.

    ``most``: groups that may be written beside ``::`` (RFC 5321 has at most 6 for mail).
    Source: RFC 4291, 2.2.
    """
    group = rep(HEX, 1, 4)
    more = seq(":", group)
    before = seq(group, ":")

    def short(left: int, after: list[ir.Expr]) -> ir.Expr:
        """Return up to ``left`` groups, ``::``, and the possible continuations after that many groups."""
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
    """Return letters, digits and hyphens without a hyphen at the end; possibly empty if ``least`` is 0."""
    some = seq(rep(chars("A-Za-z0-9-"), max(least - 1, 0), most - 1), LETTER_DIGIT)
    return some if least else opt(some)


@cache
def ascii_label() -> ir.Expr:
    """Return a label of letters, digits and inner hyphens, at most 63, that does not begin with ``xn--``.

    The rests after ``xn--`` that are Punycode of valid labels are not a regular language.
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
    """Return labels of letters, digits and inner hyphens, separated by dots, with at most 253 characters.

    Narrowing: no label begins with ``xn--``, see ``ascii_label``. Source: RFC 1123, 2.1; RFC 5890, 2.3.2.3.
    """
    names = seq(ascii_label(), rep(seq(".", ascii_label())))
    return ir.Intersection((names, rep(chars("A-Za-z0-9.-"), 1, MAX_NAME)))


@cache
def hostname_before_idna() -> ir.Expr:
    """Return host names as in drafts 4 and 6: anything may follow ``xn--``. Source: RFC 1034, 3.1; RFC 1123, 2.1."""
    label = seq(LETTER_DIGIT, label_characters(0, MAX_LABEL - 1))
    names = seq(label, rep(seq(".", label)))
    return ir.Intersection((names, rep(chars("A-Za-z0-9.-"), 1, MAX_NAME)))


@cache
def uuid(plain: bool = False) -> ir.Expr:
    """Return 32 hexadecimal digits in five groups, of any version; ``plain``: lower case. Source: RFC 4122, 3."""
    digit = chars("0-9a-f") if plain else HEX
    return seq(rep(digit, 8, 8), rep(seq("-", rep(digit, 4, 4)), 3, 3), "-", rep(digit, 12, 12))


# -- date, time, date-time (RFC 3339) and duration (RFC 3339, appendix A).

MOST_DECIMALS: Final = 9  # of seconds that a model writes: nanoseconds


@cache
def date() -> ir.Expr:
    """Return full-date: days of the Gregorian calendar, years 0000 to 9999. Source: RFC 3339, 5.6."""
    two = rep(DIGIT, 2, 2)
    to_28 = alt(seq("0", chars("1-9")), seq("1", DIGIT), seq("2", chars("0-8")))
    to_30 = alt(seq("0", chars("1-9")), seq(chars("12"), DIGIT), "30")
    day = alt(
        seq(alt("01", "03", "05", "07", "08", "10", "12"), "-", alt(to_30, "31")),
        seq(alt("04", "06", "09", "11"), "-", to_30),
        seq("02-", to_28),
    )
    # a multiple of 4 in two digits, and of 400 in four
    fourth = alt(seq("0", chars("48")), seq(chars("2468"), chars("048")), seq(chars("13579"), chars("26")))
    leap_year = alt(seq(two, fourth), seq(alt("00", fourth), "00"))  # mutant: centuries
    return alt(seq(rep(DIGIT, 4, 4), "-", day), seq(leap_year, "-02-29"))


@cache
def time(plain: bool = False) -> ir.Expr:
    """Return full-time: a time of day with its offset from UTC. ``plain``: only ``Z``, at most nanoseconds.

    A leap second is the last second of a UTC day, so its hour and minute depend on the offset. Narrowing:
    leap seconds with an offset that is not a multiple of half an hour (1,440 for each sign) are excluded.
    """
    hour = alt(seq(chars("01"), DIGIT), seq("2", chars("0-3")))
    minute = seq(chars("0-5"), DIGIT)
    fraction = opt(".", rep(DIGIT, 1, MOST_DECIMALS if plain else None))
    utc = chars("Z" if plain else "Zz")
    offset = alt(utc, seq(chars("+-"), hour, ":", minute))
    usual = seq(hour, ":", minute, ":", minute, fraction, offset)
    leap: list[ir.Expr] = []
    for local in range(24):
        zones = [f"-{23 - local:02}:00", f"+{(local + 1) % 24:02}:00"]
        zone = alt(*zones, utc) if local == 23 else alt(*zones)
        leap.append(seq(f"{local:02}:59:60", fraction, zone))
        leap.append(seq(f"{local:02}:29:60", fraction, alt(f"-{23 - local:02}:30", f"+{local:02}:30")))
    return alt(usual, *leap)


@cache
def date_time(plain: bool = False) -> ir.Expr:
    """Return the rule date-time: a date, ``T`` and a time. ``plain``: excludes ``t``; else as for ``time``."""
    return seq(date(), chars("T" if plain else "Tt"), time(plain))


@cache
def duration(plain: bool = False) -> ir.Expr:
    """Return the rule duration; units may only be omitted at the ends. Source: RFC 3339, appendix A.

    ``plain``: the maximum number of consecutive digits.
    """
    digits = rep(DIGIT, 1, MOST_DECIMALS if plain else None)
    minutes = seq("M", opt(digits, "S"))
    hours = seq("H", opt(digits, minutes))
    clock = seq("T", digits, alt(hours, minutes, "S"))
    months = seq("M", opt(digits, "D"))
    years = seq("Y", opt(digits, months))
    return seq("P", alt(seq(digits, alt("W", seq(alt(years, months, "D"), opt(clock)))), clock))


# -- email (RFC 5321) and idn-email (RFC 6531).

ATOM = chars("A-Za-z0-9!#$%&'*+/=?^_`{|}~-")
QUOTED = ir.CharClass(((0x20, 0x21), (0x23, 0x5B), (0x5D, 0x7E)))
_PRINTABLE = ir.CharClass(((0x20, 0x7E),))


def mailbox(atom: ir.CharClass, quoted: ir.CharClass, domain: ir.Expr) -> ir.Expr:
    dot_string = seq(rep(atom, 1), rep(seq(".", rep(atom, 1))))
    quoted_string = seq('"', rep(alt(quoted, seq("\\", _PRINTABLE))), '"')
    literal = seq("[", alt(ipv4(), seq(chars("Ii"), chars("Pp"), chars("Vv"), "6:", ipv6(6))), "]")
    return seq(alt(dot_string, quoted_string), "@", alt(domain, literal))


def ascii_domain() -> ir.Expr:
    label = seq(LETTER_DIGIT, opt(rep(chars("A-Za-z0-9-")), LETTER_DIGIT))
    return seq(label, rep(seq(".", label)))


@cache
def email() -> ir.Expr:
    """Return the rule Mailbox: a local part of atoms or in quotes, and a domain or an address in brackets.

    Lengths are unlimited and labels may begin with ``xn--``, as in the RFC. Source: RFC 5321, 4.1.2.
    """
    return mailbox(ATOM, QUOTED, ascii_domain())


# -- json-pointer (RFC 6901) and relative-json-pointer.

_UNESCAPED = ir.CharClass(((0x00, 0x2E), (0x30, 0x7D), (0x7F, 0xD7FF), (0xE000, 0x10FFFF)))


@cache
def json_pointer() -> ir.Expr:
    """Return the rule json-pointer. Source: RFC 6901, 3."""
    return rep(seq("/", rep(alt(_UNESCAPED, seq("~", chars("01"))))))


def _relative(*manipulation: ir.Expr) -> ir.Expr:
    number = alt("0", seq(chars("1-9"), rep(DIGIT)))
    return seq(number, *manipulation, alt("#", json_pointer()))


@cache
def relative_json_pointer() -> ir.Expr:
    """Return a number of steps up, then ``#`` or a json-pointer. Source: draft-handrews-relative-json-pointer-01."""
    return _relative()


@cache
def relative_json_pointer_with_index() -> ir.Expr:
    """Return the same with an array offset, as in ``0+1``. Source: draft-handrews-relative-json-pointer-02."""
    return _relative(opt(chars("+-"), chars("1-9"), rep(DIGIT)))


# -- uri, uri-reference (RFC 3986), iri, iri-reference (RFC 3987), uri-template (RFC 6570).

_UNRESERVED: Final = chars("A-Za-z0-9._~-")
_SUB_DELIMS: Final = chars("!$&'()*+,;=")
_ESCAPED: Final = seq("%", HEX, HEX)
_SCHEME: Final = seq(LETTER, rep(chars("A-Za-z0-9+.-")))
UCS: Final = ir.CharClass(
    (
        (0xA0, 0xD7FF),
        (0xF900, 0xFDCF),
        (0xFDF0, 0xFFEF),
        *((plane << 16, (plane << 16) + 0xFFFD) for plane in range(1, 14)),
        (0xE1000, 0xEFFFD),
    )
)
"""The rule ucschar. Source: RFC 3987, 2.2."""
PRIVATE: Final = ir.CharClass(((0xE000, 0xF8FF), (0xF0000, 0xFFFFD), (0x100000, 0x10FFFD)))
"""The rule iprivate. Source: RFC 3987, 2.2."""


class _Grammar:
    """The rules of RFC 3986, for a set of unreserved characters."""

    # no dataclass: Python would compile one in each process that reads a format
    def __init__(self, plain: ir.CharClass, query_only: ir.CharClass | None) -> None:
        self.plain = plain
        self.query_only = query_only

    def text(self, extra: str) -> ir.Expr:
        return alt(union(self.plain, _SUB_DELIMS, chars(extra)), _ESCAPED)

    def authority(self) -> ir.Expr:
        """Return ``//``, user information, a host and a port."""
        name = alt(union(self.plain, _SUB_DELIMS), _ESCAPED)
        future = seq(chars("Vv"), rep(HEX, 1), ".", rep(union(_UNRESERVED, _SUB_DELIMS, chars(":")), 1))
        literal = seq("[", alt(ipv6(), future), "]")
        return seq("//", opt(rep(self.text(":")), "@"), alt(rep(name), literal), opt(":", rep(DIGIT)))

    def after_scheme(self) -> ir.Expr:
        """Return the rule hier-part: an authority and a path, or one of the paths."""
        part = self.text(":@")
        segments = rep(seq("/", rep(part)))
        absolute = seq("/", opt(rep(part, 1), segments))
        rootless = seq(rep(part, 1), segments)
        return alt(seq(self.authority(), segments), absolute, rootless, "")

    def relative(self) -> ir.Expr:
        """Return the rule relative-part, whose first segment has no colon."""
        part = self.text(":@")
        segments = rep(seq("/", rep(part)))
        absolute = seq("/", opt(rep(part, 1), segments))
        return alt(seq(self.authority(), segments), absolute, seq(rep(self.text("@"), 1), segments), "")

    def ending(self) -> ir.Expr:
        """Return an optional query and an optional fragment."""
        part = self.text(":@/?")
        query = part if self.query_only is None else alt(part, self.query_only)
        return seq(opt("?", rep(query)), opt("#", rep(part)))

    def absolute_form(self) -> ir.Expr:
        return seq(_SCHEME, ":", self.after_scheme(), self.ending())

    def reference(self) -> ir.Expr:
        return seq(alt(seq(_SCHEME, ":", self.after_scheme()), self.relative()), self.ending())


_URI: Final = _Grammar(_UNRESERVED, None)
_IRI: Final = _Grammar(union(_UNRESERVED, UCS), PRIVATE)


@cache
def uri() -> ir.Expr:
    """Return the rule URI, which has a scheme. Source: RFC 3986, appendix A."""
    return _URI.absolute_form()


@cache
def uri_reference() -> ir.Expr:
    """Return the rule URI-reference, with or without a scheme. Source: RFC 3986, appendix A."""
    return _URI.reference()


@cache
def iri() -> ir.Expr:
    """Return the rule IRI. Source: RFC 3987, 2.2."""
    return _IRI.absolute_form()


@cache
def iri_reference() -> ir.Expr:
    """Return the rule IRI-reference. Source: RFC 3987, 2.2."""
    return _IRI.reference()


@cache
def uri_template() -> ir.Expr:
    """Return the rule URI-Template. Source: RFC 6570, 2, with erratum 6937 (apostrophes are literals)."""
    literal = ir.CharClass(
        (
            *((0x21, 0x21), (0x23, 0x24), (0x26, 0x3B), (0x3D, 0x3D), (0x3F, 0x5B), (0x5D, 0x5D)),
            *((0x5F, 0x5F), (0x61, 0x7A), (0x7E, 0x7E)),
        )
    )
    letter = alt(chars("A-Za-z0-9_"), _ESCAPED)
    name = seq(letter, rep(seq(opt("."), letter)))
    limit = seq(":", chars("1-9"), rep(DIGIT, 0, 3))
    variable = seq(name, rep(alt("*", limit), 0, 1))
    expression = seq("{", opt(chars("+#./;?&=,!@|")), variable, rep(seq(",", variable)), "}")
    return rep(alt(union(literal, UCS, PRIVATE), _ESCAPED, expression))


# -- regex: patterns of ECMA-262, as far as a regular language reaches
#
# Parentheses nest without bound, so the set of all patterns is not regular; this is a part of it, of patterns
# that are valid with and without the `u` flag. Narrowings, each of which only leaves patterns out:
#
# - groups nest at most `MAX_NESTING` deep;
# - at most one named group; back-references (which need a group that is there) only to it, after it, and if its
#   name is one letter;
# - in a pattern with a named group or look-around no group has a quantifier (look-around must not have one);
# - ranges in classes, and the bounds of `{m,n}`, whose order a few digits or letters decide;
# - properties by their short names.

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
    """Return the escapes that are common to characters and classes, together with ``more``."""
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
    """Return a class in brackets: characters, escapes, ranges, and a hyphen at either end."""
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
