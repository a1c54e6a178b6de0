"""The formats of the specifications, as expressions over code points (before :func:`..strings.lift`).

``FORMATS`` maps a name to a function that makes the expression, once; ``formats_of`` says which names a draft
has. Each function says what it leaves out; ``NARROWINGS`` collects that for reports. Nothing is let in that the
format forbids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, wraps
from types import MappingProxyType
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.json_schema.formats.addresses import hostname, hostname_before_idna, ipv4, ipv6, uuid
from stackmask.grammar.json_schema.formats.calendar import date, date_time, duration, time
from stackmask.grammar.json_schema.formats.mail import email, idn_email
from stackmask.grammar.json_schema.formats.pattern import regex
from stackmask.grammar.json_schema.formats.pointers import (
    json_pointer,
    relative_json_pointer,
    relative_json_pointer_with_index,
)
from stackmask.grammar.json_schema.formats.uri import iri, iri_reference, uri, uri_reference, uri_template
from stackmask.grammar.json_schema.text import strings


def idn_hostname() -> ir.Expr:
    """Return idn-hostname; see ``formats.idn``. Cost: the first call in a process reads Unicode's tables."""
    from stackmask.grammar.json_schema.formats import idn

    return idn.idn_hostname()


Format = Callable[[], ir.Expr]


def _kept(make: Format) -> Format:
    """Return the function with its result remembered, and the lift of it too."""

    @cache
    @wraps(make)
    def make_once() -> ir.Expr:
        return strings.keep(make())

    return make_once


FORMATS: Final[Mapping[str, Format]] = MappingProxyType(
    {
        "date-time": _kept(date_time),
        "date": _kept(date),
        "time": _kept(time),
        "duration": _kept(duration),
        "email": _kept(email),
        "idn-email": _kept(idn_email),
        "hostname": _kept(hostname),
        "idn-hostname": _kept(idn_hostname),
        "ipv4": _kept(ipv4),
        "ipv6": _kept(ipv6),
        "uri": _kept(uri),
        "uri-reference": _kept(uri_reference),
        "iri": _kept(iri),
        "iri-reference": _kept(iri_reference),
        "uuid": _kept(uuid),
        "uri-template": _kept(uri_template),
        "json-pointer": _kept(json_pointer),
        "relative-json-pointer": _kept(relative_json_pointer),
        "regex": _kept(regex),
    }
)
"""Every format of any draft."""

NARROWINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "time": "leap seconds only with an offset of whole or half hours",
        "date-time": "leap seconds only with an offset of whole or half hours",
        "hostname": "from draft 7 on no label begins with xn--",
        "idn-hostname": "no label begins with xn--; a label beyond ASCII has at most 14 characters below U+0600 or 10 up to"
        " U+FFFF, no two hyphens in a row, and its name at most four labels; labels from right to left keep below"
        " U+0900 and stand beside labels of ASCII only; a katakana middle dot stands beside a Japanese character; a"
        " non-joiner without a virama stands between common Arabic letters",
        "idn-email": "a domain beyond ASCII is narrowed as idn-hostname is",
        "regex": "groups at most eight deep, no back-references, at most one named group, no quantified groups beside names or"
        " look-around, common ranges and bounds only",
    }
)
"""What the expression of a format leaves out, where it leaves out anything."""

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
    (*_IN_7, "duration", "uuid"), relative_json_pointer=_kept(relative_json_pointer_with_index)
)
_OLD_HOSTNAME: Final = _kept(hostname_before_idna)
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
