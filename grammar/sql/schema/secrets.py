"""Passwords in database names: their possible positions, and their removal from messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, quote_plus, unquote, unquote_plus

from stackmask.grammar.sql.schema.errors import SQLError

if TYPE_CHECKING:
    from sqlalchemy import URL

HIDDEN: Final = "***"
SHORTEST: Final = 3  # characters; shorter passwords are found in every other word
# all linear: a key is tried at its first character alone, and what it is called is looked at apart
_KEY: Final = re.compile(r"(?<![\w\-])([\w\-]+)\s*[=:]\s*")
_VALUE: Final = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^&;\s,]+")
_SECRET_KEY: Final = re.compile(r"pass|pwd|pw|secret|token|key|credential", re.IGNORECASE)
# what PostgreSQL's library and SQLite name their options, so that no part of a password looks like one
_KNOWN_OPTIONS: Final = frozenset(
    """
    application_name cache channel_binding check_same_thread client_encoding connect_timeout dbname
    fallback_application_name gssdelegation gssencmode gsslib host hostaddr immutable isolation_level
    keepalives keepalives_count keepalives_idle keepalives_interval krbsrvname load_balance_hosts
    max_protocol_version min_protocol_version mode nolock oauth_client_id oauth_client_secret oauth_issuer
    oauth_scope options passfile password port replication require_auth requirepeer scram_client_key
    scram_server_key service ssl_max_protocol_version ssl_min_protocol_version sslcert sslcertmode
    sslcompression sslcrl sslcrldir sslkey sslkeylogfile sslmode sslnegotiation sslpassword sslrootcert
    sslsni target_session_attrs tcp_user_timeout timeout uri user vfs
    """.split()  # noqa: SIM905
)
_PLAIN_HOST: Final = re.compile(r"[\w.\-:]*")
_PLAIN_NAME: Final = re.compile(r"[\w.\-]*")


def possible_secrets(source: str) -> list[str]:
    """Return all possible passwords in a URL, in a string of ``key=value``, or in a faulty form of these.

    Each password is listed as written and decoded. The longest come first.
    """
    found: set[str] = set()
    for text in (source, unquote(source), unquote_plus(source)):
        after_scheme = text.partition("://")[2] or text
        begin, end = after_scheme.find(":"), after_scheme.rfind("@")
        if 0 <= begin < end:
            found.add(after_scheme[begin + 1 : end])
        found.update(_secret_values(text))
    return with_spellings(found)


def _secret_values(text: str) -> Iterator[str]:
    """Yield the values of keys with names of secrets."""
    place = 0
    while (key := _KEY.search(text, place)) is not None:
        place = key.end()
        value = _VALUE.match(text, place) if _SECRET_KEY.search(key[1]) else None
        if value is not None:
            yield value[0].strip("'\"")
            place = value.end()


def with_spellings(secrets: Iterable[str]) -> list[str]:
    """Return secrets in all spellings that a message may use, longest first."""
    found: set[str] = set()
    for secret in secrets:
        for text in (secret, unquote(secret), unquote_plus(secret)):
            escaped = text.encode("unicode_escape").decode("ascii")
            found.update((text, repr(text)[1:-1], escaped, quote(text, safe="", errors="replace")))
            found.add(quote_plus(text, errors="replace"))
    return sorted((text for text in found if len(text) >= SHORTEST), key=len, reverse=True)


def hide(text: str, secrets: Sequence[str]) -> str:
    """Return a message with secrets replaced by stars."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def shown_file(path: object) -> str:
    """Return the name of a file for messages, hidden if it could be a URL or settings with a password."""
    text = str(path)
    if possible_secrets(text) or -1 < text.find(":") < text.rfind("@") or re.search(r"\w\s*=", text):
        return "(the name is not shown, since it may hold a password; a URL begins with its scheme, as postgresql://)"
    return text


def shown_url(url: URL) -> str:
    """Return those parts of a parsed URL that can only contain names."""
    host, database = url.host or "", url.database or ""
    if not _is_plain(url):
        return f"{url.drivername}://…"
    user = f"{url.username}@" if url.username and _PLAIN_NAME.fullmatch(url.username) else ""
    port = f":{url.port}" if url.port else ""
    return hide(f"{url.drivername}://{user}{host}{port}/{database}", url_secrets(url))


def _is_plain(url: URL) -> bool:
    return bool(_PLAIN_HOST.fullmatch(url.host or "") and _PLAIN_NAME.fullmatch(url.database or ""))


def driver_words(said: str, url: URL) -> str:
    """Return a driver's message about a URL, without secrets; empty if secrets could be anywhere."""
    if _may_be_cut(url) or (not _is_plain(url) and not url.drivername.startswith("sqlite")):
        return "the driver refuses it, in words that could show parts of this unusual URL; check its host, database and options"
    return hide(said, url_secrets(url))


def _may_be_cut(url: URL) -> bool:
    """Return whether the query has a secret next to unknown names, as when a password contains a bare &."""
    names = set(url.query)
    return len(names) > 1 and any(map(_SECRET_KEY.search, names)) and not names <= _KNOWN_OPTIONS


def url_secrets(url: URL) -> list[str]:
    """Return the secrets of a parsed URL: its password, and the values of secret names in its query."""
    found = [] if url.password is None else [str(url.password)]
    query: Mapping[str, Any] = url.query
    for key, value in query.items():
        if _SECRET_KEY.search(key):
            found += [value] if isinstance(value, str) else list(value)
    return with_spellings(found)


def check_unambiguous(source: str, url: URL) -> None:
    """Refuse a URL in which part of the password could be parsed as something else, and be shown or sent.

    Raises: SQLError, which shows no part of the URL.
    """
    scheme, _, after = source.partition("://")
    stray = "@" in f"{url.host or ''}{url.database or ''}"
    if after.count("@") > 1 or stray or "?" in after.partition("@")[0] * ("@" in after):
        raise SQLError(
            f"the URL {scheme}://… has an @ that can be read in two ways: write @ as %40, and : / ? # of a password "
            f"as %3A %2F %3F %23"
        )
    if ":" in (url.username or ""):
        raise SQLError(f"the URL {scheme}://… has the name of a user with a colon: write user:password@host")
