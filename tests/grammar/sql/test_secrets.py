"""A password is in no message, however odd the URL that holds it."""

from __future__ import annotations

import re
import traceback
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from stackmask.grammar.sql.schema import inspect_server
from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.grammar.sql.schema.read import read_schema
from stackmask.grammar.sql.schema.secrets import hide, possible_secrets, shown_file, shown_url, with_spellings

sqlalchemy = pytest.importorskip("sqlalchemy")
pytest.importorskip("psycopg")

# nobody listens there: what is tested is what is said of it
SHAPES = [
    "postgresql://u:{}@127.0.0.1:1/d",
    "postgresql+psycopg://u:{}@127.0.0.1:1/d",
    "postgres://u:{}@127.0.0.1:1/d",
    "postgresql://:{}@127.0.0.1:1/d",
    "postgresql://u:{}@",
    "postgresql://u:{}@/d?host=127.0.0.1&port=1",
    "postgresql://u:{}@127.0.0.1:port/d",
    "postgresql://u:{}@127.0.0.1:1,127.0.0.1:2/d",
    "postgresql://u:{}@127.0.0.1:1/d?host=127.0.0.1:1&host=127.0.0.1:2",
    "postgresql://u:{}@[::1]:1/d",
    "postgresql://u:{}@[::1/d",
    "postgresql://u:{}",
    "postgresql:///u:{}@127.0.0.1:1/d",
    "postgresql://u%3A{}@127.0.0.1:1/d",
    "postgresql://127.0.0.1:1/d?user=u&password={}",
    "postgresql://127.0.0.1:1/d?PASSWORD={}",
    "postgresql://127.0.0.1:1/d?pass%77ord={}",
    "postgresql://127.0.0.1:1/d?sslpassword={}&sslmode=disable",
    "postgresql://127.0.0.1:1/d?passwort={}",
    "postgresql://127.0.0.1:1/d?password={}&password={}",
    "postgresql://127.0.0.1:1/d;password={}",
    "postgresql://127.0.0.1:1/d password={}",
    "postgresql://u:x@127.0.0.1:1/d?sslkey=/nowhere&sslpassword={}&connect_timeout=no",
    "postgresql://u:x@127.0.0.1:1/d?sslmode=wrong&password={}",
    "postgresql:/u:{}@127.0.0.1:1/d",
    "postgresql:u:{}@127.0.0.1/d",
    " postgresql://u:{}@127.0.0.1:1/d",
    '"postgresql://u:{}@127.0.0.1:1/d"',
    "jdbc:postgresql://127.0.0.1:1/d?user=u&password={}",
    "u:{}@127.0.0.1/d",
    "host=127.0.0.1 port=1 user=u password={} dbname=d",
    "host=127.0.0.1 port=1 password = '{}'",
    "password={}",
    "foo://u:{}@h/d",
    "mysql+mysqldb://u:{}@h/d",
    "oracle://u:{}@h/d?x=y",
    "sqlite://u:{}@h/d",
    "sqlite:///none.db?password={}",
    "sqlite+pysqlcipher://:{}@/none.db",
]
PIECE = (
    "S3cr3tW0rd"  # in front of and after every odd character, so that no part of the password may be shown
)
ODD = [
    "@",
    ":",
    "/",
    "?",
    "#",
    "%",
    "&",
    "=",
    " ",
    "'",
    '"',
    "\\",
    "[",
    "]",
    ";",
    ",",
    "+",
    "*",
    "é",
    "%40",
    "%zz",
    "\x1b",
    "://",
]
PASSWORDS = st.lists(st.sampled_from(ODD), max_size=3).map(
    lambda odd: PIECE + "".join(c + PIECE for c in odd)
)


def everything(error: BaseException) -> str:
    """Return all that is kept of an error: its text, its causes, its traceback's lines."""
    kept = [*traceback.format_exception(error), repr(error), repr(error.args)]
    for other in (error.__cause__, error.__context__):
        if other is not None:
            kept.append(everything(other))
    return "".join(kept)


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of hosts are not looked up, and files are looked for in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(inspect_server, "CONNECT_SECONDS", 2)


@pytest.mark.parametrize("shape", SHAPES)
@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(PIECE)
@example(f"{PIECE}?{PIECE}={PIECE}")
@example(f"{PIECE}&{PIECE}={PIECE}")
@example(f"{PIECE}:{PIECE}&{PIECE}={PIECE}")
@example(f"{PIECE}@{PIECE}")
@example(quote(f"{PIECE}@{PIECE}", safe=""))
@given(PASSWORDS)
def test_no_message_shows_a_password(shape: str, password: str) -> None:
    source = shape.replace("{}", password)
    if "@@" in source or not _is_local(source):
        return
    with pytest.raises(SQLError) as found:
        read_schema(source, "postgres")
    assert PIECE not in everything(found.value), everything(found.value)


def _is_local(source: str) -> bool:
    """Say whether a URL, as it is read, leads to this machine only; a test asks no other."""
    try:
        url = sqlalchemy.make_url(source)
    except (sqlalchemy.exc.ArgumentError, ValueError):
        return True
    return (
        not url.drivername.startswith("postgres")
        or url.host in (None, "", "127.0.0.1", "::1")
        or "@" in (url.host or "")
    )


def test_what_a_driver_says_is_searched() -> None:
    secrets = possible_secrets("postgresql://u:a%40bcd@h/d?sslpassword=e+f%20gh")
    said = "bad: a%40bcd, a@bcd, e+f%20gh, e f gh, e+f gh; all else stays"
    assert hide(said, secrets) == "bad: ***, ***, ***, ***, ***; all else stays"
    assert "ab" not in with_spellings(["ab"])  # it would be found in other words


def test_ambiguous_urls_are_refused() -> None:
    for url in (
        "postgresql://u:SE@CRET@h/d",
        "postgresql://h:5432/d?password=SE@CRET",
        "postgresql:///u:SECRET@h/d",
        "postgresql://u:pw@h/d@SECRET",
    ):
        with pytest.raises(SQLError, match="write @ as %40") as found:
            read_schema(url, "postgres")
        assert "CRET" not in everything(found.value)


@pytest.mark.parametrize(
    "url", ["postgresql://u:p%40w@h/d", "postgresql://u@h/d", "postgresql://u:a/b@h/d", "postgresql:///d"]
)
def test_urls_that_are_clear_pass(url: str) -> None:
    engine = inspect_server.make_engine(url)
    shown = shown_url(engine.url)
    assert re.fullmatch(r"postgresql\+psycopg://(u@)?(h)?/d", shown), shown


def test_names_of_files_are_shown(tmp_path: Path) -> None:
    for name in ("shop.db", "/data/my shop (2).sqlite", r"C:\data\shop.db", "a@b.db"):
        assert shown_file(name) == name
    wrong: Any = tmp_path / "x" / ("y" * 5000)
    with pytest.raises(SQLError, match="no such database"):
        read_schema(wrong, "sqlite")
