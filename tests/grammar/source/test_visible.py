"""Control characters are shown, not sent."""

from __future__ import annotations

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.source.visible import visible, visible_in_json

DIRECTION = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
TEXTS = st.text(st.one_of(st.characters(), st.sampled_from("\x00\x07\x1b\r\x7f\x9b\u2028\ud800" + DIRECTION)))


def is_obeyed(character: str) -> bool:
    """Say what a terminal may obey, by Unicode's categories: control, surrogate, separators; and what turns direction."""
    kind = unicodedata.category(character)
    return (kind in ("Cc", "Cs", "Zl", "Zp") and character not in "\n\t") or character in DIRECTION


def test_examples() -> None:
    assert visible("\x1b]0;title\x07 \x9b2J a\rb") == r"\x1b]0;title\x07 \x9b2J a\rb"
    assert visible("\u202eevil\u2069 \u2028 \ud800") == r"\u202eevil\u2069 \u2028 \ud800"
    assert visible("line\n\tline, é 日本 👩‍👩‍👧 \\x1b") == "line\n\tline, é 日本 👩‍👩‍👧 \\x1b"


def test_every_character() -> None:
    for code in range(0x110000):
        character = chr(code)
        if is_obeyed(character):
            shown = visible(character)
            assert shown.isascii() and shown.isprintable(), hex(code)


@given(TEXTS)
def test_nothing_else_changes(text: str) -> None:
    shown = visible(text)
    assert not any(map(is_obeyed, shown))
    assert visible(shown) == shown
    if not any(map(is_obeyed, text)) and shown != text:
        assert any(unicodedata.category(c) == "Cf" for c in text)  # deprecated format characters


@given(TEXTS)
def test_json_keeps_its_meaning(text: str) -> None:
    written = visible_in_json(json.dumps({text: [text]}, ensure_ascii=False))
    assert not any(map(is_obeyed, written))
    assert json.loads(written) == {text: [text]}
    written.encode("utf-8")


@given(TEXTS)
def test_errors_show_them_too(text: str) -> None:
    assert not any(is_obeyed(c) for c in str(StackmaskError(text)))
