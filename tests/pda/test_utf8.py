"""The automaton of well-formed UTF-8, beside Python's decoder."""

from __future__ import annotations

import itertools

from stackmask.pda.text import step


def is_wellformed(data: bytes) -> bool:
    state = 0
    for byte in data:
        state = step(state, byte)
        if state < 0:
            return False
    return state == 0


def decodes(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


EDGES = (0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED)
EDGES += (0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF)


def test_it_accepts_what_python_decodes() -> None:
    for size in (1, 2, 3, 4):
        for data in map(bytes, itertools.product(EDGES if size > 2 else range(256), repeat=size)):
            assert is_wellformed(data) == decodes(data), data


def test_every_character_is_wellformed() -> None:
    text = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    assert is_wellformed(text.encode())
