"""Lua 5.4's own compiler (through lupa), which refuses a chunk for its syntax or for its meaning.

``load`` stops at the first error, and some errors are no syntax: a ``goto`` without its label, ``break``
outside a loop, an assignment to a constant, more than 200 locals. A chunk refused for such a reason is
judged once more with the offending statements taken out at the level of its tokens, so that the rest of
it is still read by Lua itself.
"""

from __future__ import annotations

import functools
import re
from typing import Any

from judges.verdict import ACCEPTED, Verdict, rejected

_SEMANTIC = re.compile(
    rb"no visible label|break outside (?:a )?loop|label '.*' already defined|attempt to assign to const variable"
    rb"|jumps into the scope of local"
)
_LIMIT = re.compile(
    rb"too many|C stack overflow|registers|control structure too long|not enough memory|overflow \(message"
)
_TOKEN = re.compile(
    rb"""
    (?P<skip>\s+ | --\[(?P<c>=*)\[ .*? \](?P=c)\] | --[^\r\n]* )
  | (?P<long>\[(?P<s>=*)\[ .*? \](?P=s)\])
  | (?P<short>"(?:\\z\s*|\\\r\n|\\\n\r|\\.|[^\\"])*" | '(?:\\z\s*|\\\r\n|\\\n\r|\\.|[^\\'])*')
  | (?P<number>\.?[0-9](?:[eEpP][+-]|[0-9A-Za-z_.])*)
  | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<sign>\.\.\.|\.\.|::|==|~=|<=|>=|<<|>>|//|.)
    """,
    re.VERBOSE | re.DOTALL,
)


@functools.cache
def _load() -> Any:
    from lupa import lua54

    return lua54.LuaRuntime(encoding=None, register_eval=False).globals()[b"load"]


def _error_of(chunk: bytes) -> bytes | None:
    """Return Lua's message about the chunk, or None when it loads. The first line may be a ``#!`` line."""
    if chunk.startswith(b"#"):  # what luaL_loadfile does and load does not
        chunk = re.sub(rb"\A[^\n]*", b"", chunk)
    answer = _load()(chunk, b"=text", b"t")
    if isinstance(answer, tuple):
        return bytes(answer[1])
    return None


def token_spans(chunk: bytes) -> list[tuple[int, int]]:
    """Return where the tokens of a chunk are, without blanks, comments and the ``#!`` line."""
    shebang = re.match(rb"#[^\n]*", chunk)
    found = _TOKEN.finditer(chunk, shebang.end() if shebang else 0)
    return [m.span() for m in found if m.group("skip") is None]


def without_labels_and_attributes(chunk: bytes) -> bytes:
    """Return the chunk with ``goto x``, ``::x::``, ``break`` and ``<const>`` replaced by nothing or ``;``."""
    tokens = [chunk[a:b] for a, b in token_spans(chunk)]
    kept: list[bytes] = []
    position = 0
    in_local = False
    while position < len(tokens):
        token, after = tokens[position], tokens[position + 1 : position + 3]
        if token == b"goto" and after:
            kept.append(b";")
            position += 2
        elif token == b"break":
            kept.append(b";")
            position += 1
        elif token == b"::" and after[1:] == [b"::"]:
            kept.append(b";")
            position += 3
        elif in_local and token == b"<" and after[1:] == [b">"] and after[0] in (b"const", b"close"):
            position += 3
        else:
            in_local = token == b"local" or (in_local and (token == b"," or token.isalnum() or b"_" in token))
            kept.append(token)
            position += 1
    return b" ".join(kept)


def judge(data: bytes) -> Verdict:
    """Judge one chunk; ``kind`` tells a refusal for meaning or for a limit from one for syntax."""
    error = _error_of(data)
    if error is None:
        return ACCEPTED
    note = error.decode("utf-8", "replace")
    if _LIMIT.search(error):
        return Verdict(True, note, "limit")
    if not _SEMANTIC.search(error):
        return rejected(note)
    second = _error_of(without_labels_and_attributes(data))
    if second is None:
        return Verdict(True, note, "semantic")
    if _LIMIT.search(second):
        return Verdict(True, second.decode("utf-8", "replace"), "limit")
    return rejected(second.decode("utf-8", "replace"))
