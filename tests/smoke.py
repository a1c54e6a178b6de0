"""Try an installed package: every extension loads, and each part of the core does something right.

    python tests/smoke.py

It needs NumPy and Lark alone, so that it can judge a wheel in an environment that holds nothing else. It ends with a
digest of 1,000 masks, which is the same on all systems.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import random
import sys
from pathlib import Path

import numpy as np

import stackmask as sm


def extensions() -> list[str]:
    """Return the names of the package's compiled modules."""
    top = Path(sm.__file__).parent
    found = [Path(folder, file) for folder, _, files in os.walk(top, followlinks=True) for file in files]
    names = [
        file.relative_to(top).with_name(file.name.partition(".")[0])
        for file in found
        if file.suffix in (".so", ".pyd")
    ]
    return sorted(".".join(("stackmask", *name.parts)) for name in names)


WALKED = 1000  # masks
SQL = {"orders": ["id", "total", "customer"], "customers": ["id", "name"]}


def grammars() -> list[sm.Grammar]:
    """Return one grammar of each front end."""
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "pattern": "^[A-Zä-ü][a-z]{2,8}$"},
            "tags": {"type": "array", "items": {"enum": ["red", "green", "blue", 7]}, "uniqueItems": True},
            "size": {"type": "integer", "minimum": -12, "maximum": 345},
        },
        "required": ["name", "size"],
    }
    lark = 'start: item ("," item)*\nitem: WORD | "(" start ")"\nWORD: /[a-z]+[0-9]?/'
    return [
        sm.Grammar.bundled("json"),
        sm.Grammar.from_json_schema(schema),
        sm.Grammar.from_regex(r"(\d{1,3}\.){3}\d{1,3}(:[1-9]\d*)?|[α-ω]+@[a-f]+"),
        sm.Grammar.from_ebnf('root ::= "[" (root | [a-z]+) ("," root)* "]"'),
        sm.Grammar.from_lark(lark),
        sm.Grammar.from_sql("sqlite", schema=SQL),
    ]


def vocabulary_of_pairs() -> sm.Vocabulary:
    """Return all bytes, all pairs of printable ASCII characters, some words, and a stop token."""
    printable = [bytes([byte]) for byte in range(32, 127)]
    words = [
        word.encode()
        for word in ("true", '": "', "SELECT ", " FROM ", "orders", "total", "name", "αβ", "red")
    ]
    pairs = [first + second for first in printable for second in printable]
    return sm.Vocabulary(
        [bytes([b]) for b in range(256)] + pairs + words + [None], stop_ids=[256 + len(pairs + words)]
    )


def digest_of_masks(count: int) -> str:
    """Return the start of a SHA-256 over the masks of random walks through all `grammars`, alternately.

    Cost: a second or two; under emulation a minute.
    """
    vocabulary = vocabulary_of_pairs()
    compiler, size = sm.Compiler(vocabulary), vocabulary.size
    matchers = [compiler.compile(grammar).matcher() for grammar in grammars()]
    found, chance = hashlib.sha256(), random.Random(0)
    mask = sm.allocate_token_bitmask(1, size)
    for number in range(count):
        matcher = matchers[number % len(matchers)]
        matcher.fill_next_token_bitmask(mask)
        bits = np.unpackbits(np.asarray(mask)[0].view(np.uint8), bitorder="little")[:size]
        found.update(bits.tobytes())
        tokens = np.flatnonzero(bits)
        # the same numbers in every version of Python, unlike those of its other methods
        token = int(tokens[int(chance.random() * len(tokens))])
        if token == size - 1:
            matcher.reset()
        else:
            assert matcher.accept_token(token), matcher.refusal
    return found.hexdigest()[:16]


def allowed(compiled: sm.CompiledGrammar, size: int, text: str) -> bytes:
    """Return the bytes that may follow a text."""
    matcher = compiled.matcher()
    assert matcher.accept_string(text), matcher.refusal
    mask = sm.allocate_token_bitmask(1, size)
    matcher.fill_next_token_bitmask(mask)
    bits = np.unpackbits(np.asarray(mask)[0].view(np.uint8), bitorder="little")
    return bytes(int(byte) for byte in np.flatnonzero(bits[:256]))


def main() -> None:
    names = extensions()
    assert names, "no compiled modules beside " + sm.__file__
    for name in names:
        importlib.import_module(name)
    vocabulary = sm.Vocabulary([bytes([byte]) for byte in range(256)] + [None], stop_ids=[256])
    compiler, size = sm.Compiler(vocabulary), vocabulary.size
    assert allowed(compiler.compile(sm.Grammar.bundled("json")), size, '{"a": tru') == b"e"
    schema = {
        "type": "object",
        "properties": {"n": {"const": 7}},
        "required": ["n"],
        "additionalProperties": False,
    }
    assert compiler.compile(sm.Grammar.from_json_schema(schema)).matcher().accept_string('{"n": 7}')
    assert allowed(compiler.compile(sm.Grammar.from_regex("[ab]{2}c")), size, "ab") == b"c"
    assert allowed(compiler.compile(sm.Grammar.from_ebnf('root ::= "x" | "yz"')), size, "y") == b"z"
    assert (
        compiler.compile(sm.Grammar.from_sql("sqlite", schema={"t": ["a"]}))
        .matcher()
        .accept_string("SELECT a FROM t")
    )
    assert "torch" not in sys.modules
    print(
        f"stackmask {sm.__version__} on Python {sys.version.split()[0]}: {len(names)} extensions load, masks are right; "
        f"digest of {WALKED:,} masks: {digest_of_masks(WALKED)}"
    )


if __name__ == "__main__":
    main()
