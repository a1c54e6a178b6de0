"""The formats of the specifications, as expressions over code points (before :func:`..strings.lift`).

``FORMATS`` maps a name to a function that creates the expression once; ``formats_of`` returns the names of a
draft. Each function documents the strings that it excludes; ``NARROWINGS`` collects them for reports. No
string that the format forbids is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.json_schema.formats import syntax
from stackmask.grammar.json_schema.text import strings

Format = Callable[[], ir.Expr]

PLAIN: Final = {
    "date-time": "`T` and `Z` in upper case, nanoseconds at most",
    "time": "`Z` in upper case, nanoseconds at most",
    "duration": "numbers of nine digits at most",
    "uuid": "lower case",
}
"""Formats for which models get a narrower one, with a description of it."""


def _kept(make: Callable[..., ir.Expr]) -> Format:
    """Return a function that creates the format once, and also caches its lift."""

    @cache
    def make_once() -> ir.Expr:
        if (note := PLAIN.get(make.__name__.replace("_", "-"))) is not None:
            return strings.keep(make(), make(plain=True), note)
        return strings.keep(make())

    return make_once


def _idn_hostname() -> ir.Expr:
    from stackmask.grammar.json_schema.formats import idn  # its tables take time, and few need them

    return idn.idn_hostname()


def _idn_email() -> ir.Expr:
    from stackmask.grammar.json_schema.formats import idn

    return idn.idn_email()


FORMATS: Final[Mapping[str, Format]] = MappingProxyType(
    {
        "date-time": _kept(syntax.date_time),
        "date": _kept(syntax.date),
        "time": _kept(syntax.time),
        "duration": _kept(syntax.duration),
        "email": _kept(syntax.email),
        "idn-email": _kept(_idn_email),
        "hostname": _kept(syntax.hostname),
        "idn-hostname": _kept(_idn_hostname),  # reads Unicode's tables
        "ipv4": _kept(syntax.ipv4),
        "ipv6": _kept(syntax.ipv6),
        "uri": _kept(syntax.uri),
        "uri-reference": _kept(syntax.uri_reference),
        "iri": _kept(syntax.iri),
        "iri-reference": _kept(syntax.iri_reference),
        "uuid": _kept(syntax.uuid),
        "uri-template": _kept(syntax.uri_template),
        "json-pointer": _kept(syntax.json_pointer),
        "relative-json-pointer": _kept(syntax.relative_json_pointer),
        "regex": _kept(syntax.regex),
    }
)
"""All formats of all drafts."""

ENDLESS: Final = frozenset(("uri", "uri-reference", "iri", "iri-reference", "uri-template", "json-pointer"))
"""The formats in which all prefixes are known to have infinitely many continuations."""

NARROWINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "time": "leap seconds only with an offset of whole or half hours",
        "date-time": "leap seconds only with an offset of whole or half hours",
        "hostname": "from draft 7 on no label begins with xn--",
        "idn-hostname": "no label begins with xn--; a label beyond ASCII has at most 14 characters below U+0600 or 10 up to"
        " U+FFFF, no two hyphens in a row, and its name at most four labels; labels from right to left keep below"
        " U+0900 and only ASCII labels are allowed beside them; a katakana middle dot is adjacent to a Japanese character; a"
        " non-joiner without a virama is between common Arabic letters",
        "idn-email": "a domain beyond ASCII is narrowed as idn-hostname is, but may be decomposed",
        "regex": "groups at most eight deep, at most one named group, back-references only to one that a letter names,"
        " no quantified groups beside names or look-around, common ranges and bounds only",
    }
)
"""The strings that the expression of a format excludes, for formats that exclude any."""

_IN_4: Final = ("date-time", "email", "hostname", "ipv4", "ipv6", "uri")
_IN_6: Final = (*_IN_4, "uri-reference", "uri-template", "json-pointer")
_IN_7: Final = (
    *(*_IN_6, "date", "time", "idn-email", "idn-hostname", "iri", "iri-reference"),
    *("relative-json-pointer", "regex"),
)


def _select(names: tuple[str, ...], /, **others: Format) -> Mapping[str, Format]:
    found = {name: FORMATS[name] for name in names}
    found.update((name.replace("_", "-"), make) for name, make in others.items())
    return MappingProxyType(found)


_LATER: Final = _select(
    (*_IN_7, "duration", "uuid"), relative_json_pointer=_kept(syntax.relative_json_pointer_with_index)
)
_OLD_HOSTNAME: Final = _kept(syntax.hostname_before_idna)
_BY_DRAFT: Final = {
    "4": _select(_IN_4, hostname=_OLD_HOSTNAME),
    "6": _select(_IN_6, hostname=_OLD_HOSTNAME),
    "7": _select(_IN_7),
    "2019-09": _LATER,
    "2020-12": _LATER,
}


def formats_of(draft: str) -> Mapping[str, Format]:
    """Return the formats that a draft ("4", "6", "7", "2019-09", "2020-12") defines.

    Raises: KeyError for another draft.
    """
    return _BY_DRAFT[draft]
