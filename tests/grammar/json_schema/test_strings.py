"""Lifting to JSON spellings, against Python's json and a matcher of expressions on code points."""

from __future__ import annotations

import json
import random

import pytest
from support.json_schema_engine import recognizer

from stackmask.grammar import ir
from stackmask.grammar.json_schema.text import strings
from stackmask.grammar.source import charclass

ALPHABET = 'abA0 "\\/\b\n\x00\x1f\x7fé߿ࠀ퟿￿\U00010000😀\U0010ffff'
SHORT = {
    '"': '\\"',
    "\\": "\\\\",
    "/": "\\/",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}


def spellings(char: str) -> list[str]:
    """Return all spellings of a character but for the case of the hexadecimal digits."""
    found = [SHORT[char]] if char in SHORT else []
    if char >= " " and char not in '"\\':
        found.append(char)
    units = char.encode("utf-16-be")
    found.append("".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2)))
    return found


def spell(text: str, rng: random.Random) -> str:
    parts = []
    for char in text:
        part = rng.choice(spellings(char))
        if part.startswith("\\u"):
            part = "".join(c if c == "u" else rng.choice((c, c.upper())) for c in part)
        parts.append(part)
    return "".join(parts)


def ends(expr: ir.Expr, text: str, start: int) -> set[int]:
    """Return where a match from start may end: the meaning of expressions, straight from their definition."""
    match expr:
        case ir.Literal(data):
            return {start + len(data.decode())} if text.startswith(data.decode(), start) else set()
        case ir.CharClass(ranges):
            inside = start < len(text) and any(a <= ord(text[start]) <= b for a, b in ranges)
            return {start + 1} if inside else set()
        case ir.Sequence(items):
            current = {start}
            for item in items:
                current = {end for at in current for end in ends(item, text, at)}
            return current
        case ir.Choice(items):
            return {end for item in items for end in ends(item, text, start)}
        case ir.Repeat(item, low, high):
            current, found = {start}, set()
            for count in range(len(text) + low + 2):
                if count >= low and (high is None or count <= high):
                    found |= current
                current = {end for at in current for end in ends(item, text, at)}
            return found
        case ir.Intersection(items):
            return set.intersection(*(ends(item, text, start) for item in items))
        case ir.Complement(item):
            return set(range(start, len(text) + 1)) - ends(item, text, start)
        case _:
            raise TypeError(expr)


def random_expr(rng: random.Random, depth: int) -> ir.Expr:
    kind = rng.randrange(8 if depth else 2)
    if kind == 0:
        return ir.Literal("".join(rng.choices(ALPHABET, k=rng.randrange(3))).encode())
    if kind == 1:
        picks = [ord(c) for c in rng.choices(ALPHABET, k=4)]
        ranges = charclass.normalize((min(pair), max(pair)) for pair in (picks[:2], picks[2:]))
        return rng.choice((ir.CharClass(ranges), ir.ANY_CHAR))
    if kind < 4:
        return ir.Sequence(tuple(random_expr(rng, depth - 1) for _ in range(rng.randrange(1, 3))))
    if kind == 4:
        return ir.Choice(tuple(random_expr(rng, depth - 1) for _ in range(rng.randrange(1, 3))))
    if kind == 5:
        low = rng.randrange(3)
        return ir.Repeat(random_expr(rng, depth - 1), low, rng.choice((None, low + rng.randrange(3))))
    if kind == 6:
        return ir.Intersection(tuple(random_expr(rng, depth - 1) for _ in range(rng.randrange(1, 4))))
    return ir.Complement(random_expr(rng, depth - 1))


def test_any_string_is_what_json_reads_without_lone_surrogates():
    accepts = recognizer(strings.ANY_STRINGS[strings.ANY])
    pieces = [
        "a", "é", "😀", "/", '"', "\\", "\n", "\x00", "\x7f", '\\"', "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r",
        "\\t", "\\v", "\\'", "\\0", "\\u", "\\u00e9", "\\u00E9", "\\u00g9", "\\U00e9", "\\ud83d", "\\uDE00",
        "\\ud83d\\ude00", "0",
    ]  # fmt: skip
    rng = random.Random(1)
    for _ in range(5000):
        text = '"' + "".join(rng.choices(pieces, k=rng.randrange(5))) + '"'
        try:
            value = json.loads(text)
            expected = not any("\ud800" <= c <= "\udfff" for c in value)
        except ValueError:
            expected = False
        assert accepts(text) == expected, text


def test_every_spelling_of_a_code_point():
    rng = random.Random(2)
    for char in [*map(chr, range(0x120)), *rng.sample([*map(chr, range(0x120, 0xD800))], 20), *ALPHABET]:
        accepts = recognizer(strings.literal(char))
        for spelling in spellings(char):
            assert accepts(spelling)
            if spelling.startswith("\\u"):
                assert accepts(spelling.upper().replace("U", "u"))
        assert not accepts(chr(ord(char) ^ 1)) and not accepts(f"\\u{ord(char) ^ 1:04x}")
        assert accepts(char) == (char >= " " and char not in '"\\')


def test_literal_reads_back_as_the_text():
    rng = random.Random(3)
    for _ in range(60):
        text = "".join(rng.choices(ALPHABET, k=rng.randrange(8)))
        accepts = recognizer(strings.string(strings.literal(text)))
        assert accepts(json.dumps(text)) and accepts(json.dumps(text, ensure_ascii=False))
        for _ in range(10):
            assert accepts(f'"{spell(text, rng)}"')
        other = "".join(rng.choices(ALPHABET, k=len(text)))
        assert accepts(json.dumps(other)) == (other == text)


@pytest.mark.parametrize("seed", range(150))
def test_lift_of_random_expressions(seed):
    rng = random.Random(seed)
    expr = random_expr(rng, 3)
    accepts = recognizer(strings.string(strings.lift(expr)))
    for _ in range(40):
        text = "".join(rng.choices(ALPHABET, k=rng.randrange(5)))
        assert accepts(f'"{spell(text, rng)}"') == (len(text) in ends(expr, text, 0)), (expr, text)


@pytest.mark.parametrize("seed", range(60))
def test_lift_of_random_expressions_into_narrower_spellings(seed):
    rng = random.Random(1000 + seed)
    expr = random_expr(rng, 3)
    dumps = recognizer(strings.string(strings.lift(expr, strings.DUMPS)))
    plain = recognizer(strings.string(strings.lift(expr, strings.PLAIN)))
    for _ in range(40):
        text = "".join(rng.choices(ALPHABET, k=rng.randrange(5)))
        written, other = json.dumps(text, ensure_ascii=False), f'"{spell(text, rng)}"'
        inside = len(text) in ends(expr, text, 0)
        assert dumps(written) == plain(written) == inside, (expr, text)
        assert dumps(other) == (inside and other == written), (expr, other)
        assert inside or not plain(other), (expr, other)


@pytest.mark.parametrize("spelling", [strings.PLAIN, strings.DUMPS])
def test_fixed_texts_have_one_narrower_spelling(spelling):
    for char in map(chr, range(0x100)):
        assert strings.word(char, spelling) == ir.Literal(json.dumps(char, ensure_ascii=False).encode())


def test_complement_stays_within_the_spellings():
    accepts = recognizer(strings.lift(ir.Complement(ir.Literal(b"a"))))
    assert accepts("") and accepts("b") and accepts("aa") and accepts("\\u0062")
    for bad in ("a", "\\u0061", '"', "\\", "\n", "\\x", "\\ud800", "\\u006"):
        assert not accepts(bad), bad


def test_counts_are_of_code_points_and_stay_counters():
    lifted = strings.lift(ir.Repeat(ir.ANY_CHAR, 2, 40_000))
    assert lifted == ir.Repeat(strings.ANY_CHARS[strings.ANY], 2, 40_000)
    accepts = recognizer(strings.lift(ir.Repeat(ir.ANY_CHAR, 2, 3)))
    assert [accepts("\\ud83d\\ude00" * n) for n in range(5)] == [False, False, True, True, False]


def test_shared_objects():
    assert strings.lift(ir.ANY_CHAR) is strings.ANY_CHARS[strings.ANY]
    assert strings.lift(ir.ANY_TEXT) is strings.ANY_BODIES[strings.ANY]
    digit = ir.CharClass(((0x30, 0x39),))
    assert strings.lift(digit) is strings.lift(ir.CharClass(((0x30, 0x39),)))


def test_what_is_no_regular_text_is_refused():
    for expr in (ir.RuleRef("x"), ir.Capture(ir.Literal(b"a")), ir.ByteClass(1 << 200), ir.Literal(b"\xff")):
        with pytest.raises(ValueError):
            strings.lift(expr)
    with pytest.raises(ValueError):
        strings.literal("\ud800")


def test_deep_expressions_need_no_recursion():
    expr: ir.Expr = ir.Literal(b"a")
    for _ in range(20_000):
        expr = ir.Repeat(expr, 1, 1)
    assert isinstance(strings.lift(expr), ir.Repeat)
