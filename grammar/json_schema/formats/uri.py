"""uri, uri-reference (RFC 3986), iri, iri-reference (RFC 3987), uri-template (RFC 6570)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.json_schema.formats.addresses import ipv6
from stackmask.grammar.json_schema.formats.parts import DIGIT, HEX, LETTER, alt, chars, opt, rep, seq, union

_UNRESERVED: Final = chars("A-Za-z0-9._~-")
_SUB_DELIMS: Final = chars("!$&'()*+,;=")
_ESCAPED: Final = seq("%", HEX, HEX)
UCS: Final = ir.CharClass(
    (
        (0xA0, 0xD7FF),
        (0xF900, 0xFDCF),
        (0xFDF0, 0xFFEF),
        *((plane << 16, (plane << 16) + 0xFFFD) for plane in range(1, 14)),
        (0xE1000, 0xEFFFD),
    )
)
"""ucschar. Source: RFC 3987, 2.2."""
PRIVATE: Final = ir.CharClass(((0xE000, 0xF8FF), (0xF0000, 0xFFFFD), (0x100000, 0x10FFFD)))
"""iprivate. Source: RFC 3987, 2.2."""


@dataclass(frozen=True, slots=True)
class _Grammar:
    """The rules of RFC 3986, for a set of characters that stand for themselves."""

    plain: ir.CharClass
    query_only: ir.CharClass | None

    def text(self, extra: str) -> ir.Expr:
        return alt(union(self.plain, _SUB_DELIMS, chars(extra)), _ESCAPED)

    def authority(self) -> ir.Expr:
        """Return ``//``, user information, a host and a port."""
        name = alt(union(self.plain, _SUB_DELIMS), _ESCAPED)
        future = seq(chars("Vv"), rep(HEX, 1), ".", rep(union(_UNRESERVED, _SUB_DELIMS, chars(":")), 1))
        literal = seq("[", alt(ipv6(), future), "]")
        return seq("//", opt(rep(self.text(":")), "@"), alt(rep(name), literal), opt(":", rep(DIGIT)))

    def after_scheme(self) -> ir.Expr:
        """Return hier-part: an authority and a path, or one of the paths."""
        part = self.text(":@")
        segments = rep(seq("/", rep(part)))
        absolute = seq("/", opt(rep(part, 1), segments))
        rootless = seq(rep(part, 1), segments)
        return alt(seq(self.authority(), segments), absolute, rootless, "")

    def relative(self) -> ir.Expr:
        """Return relative-part, whose first segment has no colon."""
        part = self.text(":@")
        segments = rep(seq("/", rep(part)))
        absolute = seq("/", opt(rep(part, 1), segments))
        return alt(seq(self.authority(), segments), absolute, seq(rep(self.text("@"), 1), segments), "")

    def ending(self) -> ir.Expr:
        """Return query and fragment."""
        part = self.text(":@/?")
        query = part if self.query_only is None else alt(part, self.query_only)
        return seq(opt("?", rep(query)), opt("#", rep(part)))

    def absolute_form(self) -> ir.Expr:
        scheme = seq(LETTER, rep(chars("A-Za-z0-9+.-")))
        return seq(scheme, ":", self.after_scheme(), self.ending())

    def reference(self) -> ir.Expr:
        scheme = seq(LETTER, rep(chars("A-Za-z0-9+.-")))
        return seq(alt(seq(scheme, ":", self.after_scheme()), self.relative()), self.ending())


_URI: Final = _Grammar(_UNRESERVED, None)
_IRI: Final = _Grammar(union(_UNRESERVED, UCS), PRIVATE)


@cache
def uri() -> ir.Expr:
    """Return URI: with a scheme. Source: RFC 3986, appendix A."""
    return _URI.absolute_form()


@cache
def uri_reference() -> ir.Expr:
    """Return URI-reference: with a scheme or without. Source: RFC 3986, appendix A."""
    return _URI.reference()


@cache
def iri() -> ir.Expr:
    """Return IRI. Source: RFC 3987, 2.2."""
    return _IRI.absolute_form()


@cache
def iri_reference() -> ir.Expr:
    """Return IRI-reference. Source: RFC 3987, 2.2."""
    return _IRI.reference()


@cache
def uri_template() -> ir.Expr:
    """Return URI-Template. Source: RFC 6570, 2, with erratum 6937 (apostrophes are literals)."""
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
