"""Unicode word boundaries in patterns of bytes, where the text need not be UTF-8, against a judge that decodes it."""

from __future__ import annotations

import random
from functools import cache

import pytest
from support.byte_matcher import ByteMatcher

import stackmask as sm
from stackmask import Grammar
from stackmask.grammar.regex.flavours.rust import rust_reader
from stackmask.grammar.regex.pattern.reader import U

KINDS = {
    r"\b": "boundary",
    r"\B": "no boundary",
    r"\b{start}": "start",
    r"\b{end}": "end",
    r"\b{start-half}": "start-half",
    r"\b{end-half}": "end-half",
}
PIECES = ("a", "é", "-", "x?", "‑", ".", r"\w", r"\w+", r"(?-u:\b)")
UNITS = (
    *(b"a", b"-", b"x", b"\n", "é".encode(), "‑".encode(), "😀".encode(), b"\xf0\x90\x8c\xb0", "अ".encode()),
    *(
        b"\xff",
        b"\x80",
        b"\xa9",
        b"\xc3",
        b"\xe2",
        b"\xe2\x80",
        b"\xed\xa0\x80",
        b"\xe0\x80",
        b"\xf4\x90",
        b"\xf0\x9f",
    ),
    *(b"\xc0", b"\xed\x9f\xbf"),
)


@cache
def is_word(code: int) -> bool:
    return any(low <= code <= high for low, high in rust_reader("", U, True).flavour.named_set("w", U))


def behind(text: bytes, at: int) -> int | None:
    """The character that begins at a place, None if there is none."""
    for length in range(1, 5):
        piece = text[at : at + length]
        if len(piece) == length:
            try:
                return ord(piece.decode())
            except (UnicodeDecodeError, TypeError):
                continue
    return None


def before(text: bytes, at: int) -> int | None:
    """The character that begins at the last byte that can begin one, at most four before a place."""
    start = at - 1
    while start > max(0, at - 4) and text[start] & 0xC0 == 0x80:
        start -= 1
    return behind(text[:at], start)


def holds(kind: str, text: bytes, at: int) -> bool:
    left, right = before(text, at) if at else -1, behind(text, at) if at < len(text) else -1
    left_word = left is not None and left >= 0 and is_word(left)
    right_word = right is not None and right >= 0 and is_word(right)
    match kind:
        case "boundary":
            return left_word != right_word
        case "no boundary":
            return left is not None and right is not None and left_word == right_word
        case "start":
            return right_word and not left_word
        case "end":
            return left_word and not right_word
        case "start-half":
            return left is not None and not left_word
    return right is not None and not right_word


def is_ascii_word(text: bytes, at: int) -> bool:
    return 0 <= at < len(text) and text[at] < 0x80 and (chr(text[at]).isalnum() or text[at] == ord("_"))


def after(piece: str, text: bytes, at: int) -> set[int]:
    """The places where a piece of a pattern can end that begins here."""
    if piece in KINDS:
        return {at} if holds(KINDS[piece], text, at) else set()
    if piece == r"(?-u:\b)":
        return {at} if is_ascii_word(text, at - 1) != is_ascii_word(text, at) else set()
    if piece == "x?":
        return {at, at + 1} if text[at : at + 1] == b"x" else {at}
    if piece in (".", r"\w", r"\w+"):
        code = behind(text, at)
        if code is None or (code == 10 if piece == "." else not is_word(code)):
            return set()
        end = at + len(chr(code).encode())
        return {end} | (after(piece, text, end) if piece == r"\w+" else set())
    return {at + len(piece.encode())} if text.startswith(piece.encode(), at) else set()


def found(pieces: list[str], text: bytes) -> bool:
    places = set(range(len(text) + 1))
    for piece in pieces:
        places = {end for at in places for end in after(piece, text, at)}
    return bool(places)


def test_random_patterns_on_broken_text() -> None:
    rng = random.Random(7)
    matches = refused = 0
    for _ in range(25):
        pieces = [
            rng.choice(PIECES if rng.random() < 0.6 else tuple(KINDS)) for _ in range(rng.randrange(1, 5))
        ]
        try:
            grammar = Grammar.from_regex("".join(pieces).encode(), flavor="rust", search=True)
        except sm.GrammarError as error:
            assert "G009" in str(error)
            refused += 1
            continue
        matcher = ByteMatcher(grammar)
        for _ in range(40):
            text = b"".join(rng.choices(UNITS, k=rng.randrange(6)))
            want = found(pieces, text)
            assert matcher.matches(text) == want, (pieces, text)
            matches += want
    assert matches > 100
    assert refused < 4


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        (r"\bs(?:[ab])", b"s\xe4", False),
        (r"\bs(?:[ab])", b"\xe4sa", True),
        (r"\bs(?:[ab])", b"\xc3\xa4sa", False),
        (r"\b", b"0\xff\xff\xff\xff", True),
        (r"\B", b"0\xff\xff\xff\xff", False),
        # more continuation bytes than belong to the character: it is found all the same, up to four bytes back
        (r"\b-", "é".encode() + b"\x80\x80-", True),
        (r"\b-", "é".encode() + b"\x80\x80\x80-", False),
    ],
)
def test_boundaries_beside_what_is_no_character(pattern: str, text: bytes, matches: bool) -> None:
    assert (
        ByteMatcher(Grammar.from_regex(pattern.encode(), flavor="rust", search=True)).matches(text) == matches
    )


def test_line_ends_and_unicode_boundaries_together() -> None:
    matcher = ByteMatcher(Grammar.from_regex(rb"(?mR)^\ba", flavor="rust", search=True))
    assert matcher.matches(b"\xff\ra") and matcher.matches(b"\xff\na") and not matcher.matches(b"\xffa")


def test_what_depends_on_bytes_further_off_is_refused_by_name() -> None:
    with pytest.raises(sm.GrammarError, match=r"word boundary `\\b` is not supported in this place"):
        Grammar.from_regex(rb"(?-u:[\x80-\xff])\b", flavor="rust", search=True)
