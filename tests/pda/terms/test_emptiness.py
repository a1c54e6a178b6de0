"""Whether `&` and `!` leave anything, and that without end: searches against automata by the textbook, and what they may cost."""

from __future__ import annotations

import random

import pytest
from oracle import regular as textbook

from stackmask.grammar import ir
from stackmask.pda.lowering.entry import regular_term
from stackmask.pda.lowering.questions import is_empty
from stackmask.pda.terms.term_store import TermStore

LETTERS = ir.CharClass(((0x61, 0x63),))
# the characters of UTF-8 by their first bytes (RFC 3629), as ranges of bytes
CHARACTERS = (
    ((0x00, 0x7F),),
    ((0xC2, 0xDF), (0x80, 0xBF)),
    ((0xE0, 0xE0), (0xA0, 0xBF), (0x80, 0xBF)),
    ((0xE1, 0xEC), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xED, 0xED), (0x80, 0x9F), (0x80, 0xBF)),
    ((0xEE, 0xEF), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xF0, 0xF0), (0x90, 0xBF), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xF1, 0xF3), (0x80, 0xBF), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xF4, 0xF4), (0x80, 0x8F), (0x80, 0xBF), (0x80, 0xBF)),
)


def some_expr(rng: random.Random, depth: int) -> ir.Expr:
    """Return a small expression of letters, with counts."""
    kind = rng.randrange(5 if depth else 2)
    if kind == 0:
        return ir.Literal("".join(rng.choices("abc", k=rng.randint(1, 3))).encode())
    if kind == 1:
        low = rng.randint(0x61, 0x63)
        return ir.CharClass(((low, rng.randint(low, 0x63)),))
    parts = tuple(some_expr(rng, depth - 1) for _ in range(rng.randint(2, 3)))
    if kind == 2:
        return ir.Sequence(parts)
    if kind == 3:
        return ir.Choice(parts)
    low = rng.randint(0, 4)
    return ir.Repeat(parts[0], low, rng.choice((None, low + rng.randint(0, 3))))


@pytest.mark.parametrize("seed", range(150))
def test_what_is_left_is_what_automata_say(seed: int) -> None:
    rng = random.Random(seed)
    low = rng.randint(0, 9)
    items: list[ir.Expr] = [some_expr(rng, 3) for _ in range(rng.randint(1, 2))]
    items.append(ir.Repeat(LETTERS, low, rng.choice((None, low, low + 3))))
    items += [ir.Complement(some_expr(rng, 2)) for _ in range(rng.randint(0, 2))]
    both = ir.Intersection(tuple(items))
    try:
        dfa = textbook.compile_dfa(both, {})
    except textbook.TooLarge:
        pytest.skip("too large for the textbook")
    assert is_empty(both) == (not dfa.accepting)


def found_anywhere(text: str) -> ir.Expr:
    """Return the texts in which one is found."""
    return ir.Sequence((ir.ANY_TEXT, ir.Literal(text.encode()), ir.ANY_TEXT))


def test_a_long_text_is_found_in_few_steps() -> None:
    # beside the least length are patterns and their negations: breadth first meets every mixture of them
    wanted = [found_anywhere(text) for text in ("a1", "b2", "c3")]
    unwanted = [ir.Complement(found_anywhere(text)) for text in ("ab", "1b", "2c", "zz", "d4")]
    items = (*wanted, ir.Repeat(ir.ANY_CHAR, 60, 70), *unwanted)
    assert not is_empty(ir.Intersection(items), 2_000)
    impossible = ir.Complement(found_anywhere("1"))
    assert is_empty(ir.Intersection((wanted[0], impossible, ir.Repeat(ir.ANY_CHAR, 5, 6))))


@pytest.mark.parametrize("seed", range(60))
def test_what_other_searches_found_changes_no_answer(seed: int) -> None:
    # a store tries the ends of texts that it found for other terms first; a store of its own has none
    rng = random.Random(seed)
    terms = TermStore()
    found = set()
    for _ in range(25):
        items: list[ir.Expr] = [found_anywhere("".join(rng.choices("abc", k=2))) for _ in range(2)]
        items += [ir.Complement(some_expr(rng, 2)) for _ in range(rng.randint(1, 2))]
        items += [ir.Complement(found_anywhere(rng.choice("abc")))] * rng.randint(0, 1)
        low = rng.randint(0, 9)
        items.append(ir.Repeat(LETTERS, low, low + rng.randint(0, 3)))
        both = ir.Intersection(tuple(items))
        alive = bool(terms.alive(regular_term(terms, both)))
        assert alive == (not is_empty(both))
        found.add(alive)
    assert found == {True, False}


def test_an_end_that_was_found_is_tried_first() -> None:
    wanted = [found_anywhere(text) for text in ("a1", "b2", "c3")]
    unwanted = [ir.Complement(found_anywhere(text)) for text in ("zz", "1b")]
    terms = TermStore()
    made = []
    for high in range(60, 65):
        before = terms.size()
        assert terms.alive(
            regular_term(terms, ir.Intersection((*wanted, ir.Repeat(ir.ANY_CHAR, 60, high), *unwanted)))
        )
        made.append(terms.size() - before)
    assert max(made[1:]) < made[0] / 5, made


def byte_class(low: int, high: int) -> ir.Expr:
    """Return one byte of a range."""
    return ir.ByteClass((1 << (high + 1)) - (1 << low))


@pytest.mark.parametrize("seed", range(600))
def test_a_complement_leaves_whole_texts_alone(seed: int) -> None:
    # `!x` is relative to well-formed texts; where the other side is seen to hold nothing else, that is left out
    rng = random.Random(seed)
    choices: list[list[tuple[int, int]]] = []
    for _ in range(rng.randint(1, 2)):
        character = [list(ends) for ends in rng.choice(CHARACTERS)]
        if rng.random() < 0.7:  # a little too wide, at one end of one byte
            ends, side = rng.choice(character), rng.randrange(2)
            ends[side] = min(max(ends[side] + rng.choice((-1, 1, -0x10, 0x10)), 0), 0xFF)
            ends.sort()
        if rng.random() < 0.1:
            character.pop()
        choices.append([(low, high) for low, high in character])
    if rng.random() < 0.2:
        choices.append([])
    body = ir.Choice(tuple(ir.Sequence(tuple(byte_class(*ends) for ends in one)) for one in choices))
    item = ir.Repeat(body, rng.randint(0, 1), rng.choice((None, 3)))
    without = ir.Intersection((item, ir.Complement(ir.Literal(b"ab"))))
    terms = TermStore()
    plain, term = regular_term(terms, item), regular_term(terms, without)
    for _ in range(300):
        data = b"".join(
            bytes(rng.choice((*ends, rng.randint(*ends))) for ends in rng.choice(choices))
            for _ in range(rng.randint(0, 3))
        )
        try:
            data.decode()
        except UnicodeDecodeError:
            expected = False
        else:
            expected = bool(terms.matches(plain, data)) and data != b"ab"
        assert bool(terms.matches(term, data)) == expected, data
