"""Make random tools, and random turns that call them, out of the grammars of the styles.

A turn is a walk: at each byte one of those that the mask allows is chosen, with a taste for what closes strings, objects
and markers, so that turns come to an end; now and then a marker or another piece of text is tried whole.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

MAX_BYTES: Final = 4000  # of a turn; longer ones are dropped
SOON: Final = 400  # bytes after which a turn seeks its end
NAMES: Final = ("city", "date", "limit", "query", "unit", "user_id", "path", "size")
VERBS: Final = ("find", "get_weather", "add_item", "run2", "send")
PIECES: Final = (
    *("null", "true", "None", "False", "-1", "2.50", "1e3", "007", "[1]", "{}", "[]", '{"a": 1}', '"x"', "Rome"),
    *("<b>", "</", "<", ">", "&amp;", "&", "\\n", "\\u00e9", '\\"', "\n", "\n\n", "\t", "  ", " a ", "'", "`", "```"),
    *("é", "日本", "😀", "a=b", "f(x, y)", "{{", "}}", "%s", "$1", "\\\\", "//", "=>", "<x y='z'>", ": ", ", "),
)  # fmt: skip
CLOSING: Final = b"\"<>}])|/'"
BLANKS: Final = b" \n\t\r"
LETTERS: Final = b"abcxyz 0123"

VALUES: Final[tuple[dict[str, Any], ...]] = (
    {"type": "string"},
    {"type": "string"},
    {"type": "string", "minLength": 1, "maxLength": 8},
    {"type": "string", "pattern": "^[a-z]{1,4}-[0-9]$"},
    {"enum": ["celsius", "fahrenheit", "kelvin"]},
    {"type": "string", "enum": ["a", "b c"]},
    {"type": "integer"},
    {"type": "integer", "minimum": 0, "maximum": 1000},
    {"type": "number", "minimum": -1000, "maximum": 1000},
    {"type": "boolean"},
    {"type": ["integer", "null"]},
    {"type": "array", "items": {"type": "string"}, "maxItems": 3},
    {"type": "array", "items": {"type": "integer"}},
    {
        "type": "object",
        "properties": {"x": {"type": "number"}, "name": {"type": "string"}},
        "required": ["x"],
        "additionalProperties": False,
    },
    {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"id": {"type": "integer"}, "label": {"type": "string"}},
            "required": ["id", "label"],
            "additionalProperties": False,
        },
        "maxItems": 2,
    },
)


class Made(NamedTuple):
    """A turn: its style, the tools that it may call, and what was written."""

    style: str
    tools: list[dict[str, Any]]
    text: str


def random_tools(rng: random.Random) -> list[dict[str, Any]]:
    """Return a few tools in the shape of OpenAI."""
    found = []
    for name in rng.sample(VERBS, rng.randint(1, 3)):
        keys = rng.sample(NAMES, rng.randint(0, 4))
        parameters = {
            "type": "object",
            "properties": {key: rng.choice(VALUES) for key in keys},
            "required": keys[: rng.randint(0, len(keys))],
            "additionalProperties": False,
        }
        found.append({"type": "function", "function": {"name": name, "parameters": parameters}})
    return found


class Walker:
    """Walks through grammars over single bytes."""

    def __init__(self) -> None:
        import numpy

        import stackmask as sm

        self._unpack = numpy.unpackbits
        self._compiler = sm.Compiler(sm.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256]))
        self._mask = sm.allocate_token_bitmask(1, 257)

    def turns(self, style: str, count: int, seed: int) -> Iterator[Made]:
        """Make so many turns of a style; the same ones for the same seed."""
        import stackmask as sm

        rng = random.Random(f"{style} {seed}")
        markers = _markers(sm.tools.style_of(style))
        made = 0
        while made < count:
            tools = random_tools(rng)
            choice = rng.choice(("auto", "required"))
            grammar = sm.tools.grammar(style, tools, tool_choice=choice, reasoning="off")
            compiled = self._compiler.compile(grammar)
            for _ in range(min(10, count - made)):
                text = self.walk(compiled.matcher(), markers, rng)
                if text is not None:
                    made += 1
                    yield Made(style, tools, text)

    def walk(self, matcher: Any, markers: list[str], rng: random.Random) -> str | None:
        """Return one text of a grammar; None if it gets long."""
        written = bytearray()
        while len(written) < MAX_BYTES:
            late = len(written) > SOON
            if matcher.is_accepting() and rng.random() < (0.9 if late else 0.05):
                break
            roll = rng.random()
            piece = rng.choice(markers if roll < 0.2 or late else PIECES).encode() if roll < 0.3 else b""
            if piece and matcher.accept_string(piece):
                written += piece
                continue
            matcher.fill_next_token_bitmask(self._mask)
            bits = self._unpack(self._mask.view("uint8"), bitorder="little")[:256]
            allowed = bits.nonzero()[0].tolist()
            if not allowed:
                break
            solid = [byte for byte in allowed if byte not in BLANKS]
            if solid and rng.random() < 0.9:
                allowed = solid
            closing = [byte for byte in allowed if byte in CLOSING]
            letters = [byte for byte in allowed if byte in LETTERS]
            if closing and rng.random() < (0.9 if late else 0.35):
                chosen = rng.choice(closing)
            else:
                chosen = rng.choice(letters if letters and rng.random() < 0.9 else allowed)
            if not matcher.accept_token(chosen):
                raise RuntimeError(f"a token of the mask was refused: {chosen}")
            written.append(chosen)
        return written.decode() if matcher.is_accepting() else None


def _markers(style: Any) -> list[str]:
    """Return what blocks of a turn begin and end with."""
    found = [style.begin, style.section[1], *style.content[:1], *style.content[1], style.end]
    for begin, end in style.calls:
        before, _, after = begin.partition("{name}")
        found += [before.partition("{id}")[0], after.partition("{id}")[2] or after, end]
    return [marker for marker in found if marker]
