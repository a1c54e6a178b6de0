"""Try an installed package: every extension loads, and each part of the core does something right.

    python tests/smoke.py

It needs NumPy and Lark alone, so that it can judge a wheel in an environment that holds nothing else.
"""

from __future__ import annotations

import importlib
import os
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
        f"stackmask {sm.__version__} on Python {sys.version.split()[0]}: {len(names)} extensions load, masks are right"
    )


if __name__ == "__main__":
    main()
