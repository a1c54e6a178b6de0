"""email (RFC 5321) and idn-email (RFC 6531)."""

from __future__ import annotations

from functools import cache

from stackmask.grammar import ir
from stackmask.grammar.json_schema.formats.addresses import ipv4, ipv6
from stackmask.grammar.json_schema.formats.parts import LETTER_DIGIT, alt, chars, opt, rep, seq, union

_ATOM = chars("A-Za-z0-9!#$%&'*+/=?^_`{|}~-")
_QUOTED = ir.CharClass(((0x20, 0x21), (0x23, 0x5B), (0x5D, 0x7E)))
_PRINTABLE = ir.CharClass(((0x20, 0x7E),))
_BEYOND_ASCII = ir.CharClass(((0x80, 0xD7FF), (0xE000, 0x10FFFF)))


def _mailbox(atom: ir.CharClass, quoted: ir.CharClass, domain: ir.Expr) -> ir.Expr:
    dot_string = seq(rep(atom, 1), rep(seq(".", rep(atom, 1))))
    quoted_string = seq('"', rep(alt(quoted, seq("\\", _PRINTABLE))), '"')
    literal = seq("[", alt(ipv4(), seq(chars("Ii"), chars("Pp"), chars("Vv"), "6:", ipv6(6))), "]")
    return seq(alt(dot_string, quoted_string), "@", alt(domain, literal))


def _ascii_domain() -> ir.Expr:
    label = seq(LETTER_DIGIT, opt(rep(chars("A-Za-z0-9-")), LETTER_DIGIT))
    return seq(label, rep(seq(".", label)))


@cache
def email() -> ir.Expr:
    """Return Mailbox: a local part of atoms or quoted, and a domain or an address in brackets.

    No limits on lengths, and labels may begin with ``xn--``: the grammar has none. Source: RFC 5321, 4.1.2.
    """
    return _mailbox(_ATOM, _QUOTED, _ascii_domain())


@cache
def idn_email() -> ir.Expr:
    """Return Mailbox with characters beyond ASCII in the local part and in the labels of the domain.

    A domain with such characters is an idn-hostname, but may be in a form that is not composed (NFC): the official
    suite calls such a domain valid. Source: RFC 6531, 3.3.
    """
    from stackmask.grammar.json_schema.formats.idn import (
        idn_hostname,
    )  # its tables take time, and few need them

    domain = alt(_ascii_domain(), idn_hostname(composed=False))
    return _mailbox(union(_ATOM, _BEYOND_ASCII), union(_QUOTED, _BEYOND_ASCII), domain)
