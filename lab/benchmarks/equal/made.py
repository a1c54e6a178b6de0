"""Grammars, schemas and tools that are made by rule, the same for the same seed. As text: no engine's rules are built."""

from __future__ import annotations

import random
from typing import Any

LETTERS = "abcd01"
WIDE = "éü€"
WORDS = ("city", "date", "limit", "query", "unit", "user", "path", "size", "color", "price", "owner", "range")
TYPES: tuple[dict[str, Any], ...] = (
    {"type": "string"},
    {"type": "integer", "minimum": 0, "maximum": 1000},
    {"type": "number"},
    {"type": "boolean"},
    {"enum": ["celsius", "fahrenheit", "kelvin"]},
    {"type": "array", "items": {"type": "string"}, "maxItems": 3},
    {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "null"}}, "required": ["x"]},
)


class _Rules:
    """Write one grammar in the EBNF dialect: recursion, counts, `&`, `!`, `-`, `!>>`, special tokens, stack, skip."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"grammar {seed}")
        self.letters = LETTERS + (WIDE if self.rng.random() < 0.35 else "")
        self.names = [f"r{i}" for i in range(self.rng.choice((1, 2, 3, 5)))]
        self.regular = ["k0", "k1"] if self.rng.random() < 0.35 else []
        self.restricts = self.rng.random() < 0.35
        self.marks = self.rng.random() < 0.2
        self.has_stack = self.rng.random() < 0.2

    def text(self) -> str:
        lines = [f"root ::= {self._choice(3)}"]
        lines += [
            f"{name} ::= {self._literal()} {self._choice(3)} | {self._literal()}" for name in self.names
        ]
        lines += [f"{name} ::= {self._plain(2)}" for name in self.regular]
        if self.has_stack:
            lines.append('block ::= @scope("(" @push(WORD) ":" (block | r0)* @top ")")\nWORD ::= [ab]{1,3}')
        if self.rng.random() < 0.15:
            lines.append('%skip " "+')
        return "\n".join(lines)

    def _literal(self) -> str:
        return '"' + "".join(self.rng.choices(self.letters, k=self.rng.randint(1, 3))) + '"'

    def _class(self) -> str:
        letters = "".join(sorted(set(self.rng.choices(self.letters, k=self.rng.randint(1, 4)))))
        return f"[{'^' if self.rng.random() < 0.15 else ''}{letters}]"

    def _count(self) -> str:
        return self.rng.choice(("?", "*", "+", "{2}", "{1,3}", "{0,40}", "{2,}"))

    def _plain(self, depth: int) -> str:
        """Return a regular expression without rules."""
        kind = self.rng.random()
        if depth == 0 or kind < 0.3:
            return self._literal() if kind < 0.15 else self._class()
        if kind < 0.55:
            return f"({self._plain(depth - 1)}){self._count()}"
        if kind < 0.8:
            return f"({self._plain(depth - 1)} {self._plain(depth - 1)})"
        return f"({self._plain(depth - 1)} | {self._plain(depth - 1)})"

    def _choice(self, depth: int) -> str:
        parts = [self._sequence(depth) for _ in range(self.rng.choice((1, 2, 2, 3)))]
        return " | ".join(parts + [""] * (self.rng.random() < 0.1))

    def _sequence(self, depth: int) -> str:
        return " ".join(self._part(depth) for _ in range(self.rng.choice((1, 2, 2, 3))))

    def _part(self, depth: int) -> str:
        kind = self.rng.random()
        if depth == 0 or kind < 0.2:
            return self._literal()
        if kind < 0.35:
            return self._class()
        if kind < 0.55:
            return self.rng.choice(self.names)
        if kind < 0.65 and self.regular:
            written = self.rng.choice(("(k0 & !k1)", "(k0 - k1)", "(k1 & [^a]*)", "(!k0 & [a-d]{1,5})"))
            return written
        if kind < 0.72 and self.restricts:
            return f"({self._literal()} !>> {self.rng.choice(('[ab]', '[a-d]', '[^ ]', '[01]'))})"
        if kind < 0.78 and self.marks:
            return self.rng.choice(("<|x|>", "<|y|>", "!<|x|>"))
        if kind < 0.84 and self.has_stack:
            return "block"
        return f"({self._choice(depth - 1)}){self._count() if kind < 0.95 else ''}"


def random_grammar(seed: int) -> str:
    """Return the text of a grammar; some are refused when they are read or compiled."""
    return _Rules(seed).text()


def random_schema(seed: int) -> Any:
    """Return a JSON Schema of a few levels."""
    return _schema(random.Random(f"schema {seed}"), 3)


def _schema(rng: random.Random, depth: int) -> Any:
    kind = rng.random()
    if depth == 0 or kind < 0.35:
        return _scalar(rng)
    if kind < 0.75:
        names = rng.sample(WORDS, rng.randint(1, 5))
        made: dict[str, Any] = {"type": "object", "properties": {n: _schema(rng, depth - 1) for n in names}}
        made["required"] = rng.sample(names, rng.randint(0, len(names)))
        if rng.random() < 0.6:
            made["additionalProperties"] = False if rng.random() < 0.7 else _scalar(rng)
        if rng.random() < 0.2:
            made["patternProperties"] = {rng.choice(("^x-", "_id$", "[0-9]")): _scalar(rng)}
        if rng.random() < 0.1:
            made["maxProperties"] = len(names)
        return made
    if kind < 0.88:
        low = rng.randint(0, 2)
        made = {
            "type": "array",
            "items": _schema(rng, depth - 1),
            "minItems": low,
            "maxItems": low + rng.randint(0, 4),
        }
        return {**made, "uniqueItems": True} if rng.random() < 0.2 else made
    word = rng.choice(("anyOf", "anyOf", "oneOf", "allOf"))
    return {word: [_schema(rng, depth - 1) for _ in range(rng.randint(1, 3))]}


def _scalar(rng: random.Random) -> Any:
    return rng.choice(
        (
            {"type": "string"},
            {"type": "string", "minLength": rng.randint(0, 3), "maxLength": rng.randint(3, 30)},
            {"type": "string", "pattern": rng.choice(("^[a-z]+$", "^\\d{3}-\\d{4}$", "a|b", "^(?!x)", "z$"))},
            {"type": "string", "format": rng.choice(("date", "date-time", "uuid", "ipv4", "email"))},
            {"type": "integer", "minimum": rng.randint(-50, 5), "maximum": rng.randint(6, 1000)},
            {"type": "integer", "multipleOf": rng.choice((2, 5, 7))},
            {"type": "number", "exclusiveMinimum": 0},
            {"enum": rng.sample(["red", "green", 1, 2.5, None, True, ["a"]], 3)},
            {"const": rng.choice(WORDS)},
            {"type": ["boolean", "null"]},
            True,
            {"type": "string", "not": {"enum": ["a", "b"]}},
        )
    )


def made_tools(count: int, seed: int) -> list[dict[str, Any]]:
    """Return tools in the shape of OpenAI."""
    rng = random.Random(f"tools {count} {seed}")
    found = []
    for number in range(count):
        names = rng.sample(WORDS, rng.randint(1, 5))
        parameters = {
            "type": "object",
            "properties": {name: {**rng.choice(TYPES), "description": f"The {name}."} for name in names},
            "required": names[: rng.randint(0, len(names))],
            "additionalProperties": False,
        }
        function = {"name": f"{rng.choice(WORDS)}_{number}", "parameters": parameters}
        found.append({"type": "function", "function": function})
    return found
