"""URIs of identifiers: what is resolved without the library gives what the library says."""

from __future__ import annotations

from urllib.parse import urldefrag

import pytest

from stackmask.grammar.json_schema.document.references import _join, _resolved

BASES = (
    "",
    "http://a.b/c/d",
    "https://x.y",
    "http://x.y/a;b?q",
    "HTTP://A.b?",
    "urn:x:y",
    "file:///a/b",
    "rel/x.json",
    "/abs",
    "http://a/../b/./c",
    "http://[::1]/x",
    "http://[::1",
    " http://sp",
    "a\tb",
)
REFERENCES = (
    "http://a.b/c",
    "https://x.y/z/../q",
    "http://A.b",
    "http://a.b/",
    "https://a.b//c",
    "http://a.b/c#f",
    "#",
    "#/x/y",
    "#a#b",
    "#[",
    "#\t",
    "x.json",
    "../y",
    "?q",
    "urn:z",
    "http://a.b/c?",
    "http://a.b/c;p",
    "http://a.b:80/",
    "http://a.b/c\n",
    "http://x.y/a/./b",
    "https://",
    "http://.",
    "http://-/..",
    "http://ä.b/c",
)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("ref", REFERENCES)
def test_an_identifier_is_resolved_as_the_library_does(base: str, ref: str) -> None:
    def outcome(resolve: object) -> object:
        try:
            return resolve(base, ref)  # type: ignore[operator]
        except ValueError as error:
            return str(error)

    assert outcome(_resolved) == outcome(lambda base, ref: urldefrag(_join(base, ref))[0])
