"""What texts of the model profile are held to, and random ones of them.

Texts are sampled with random logits. A random model never closes a string or an array, so that what closes them is
favoured, the more the longer a text gets, and each text has a budget of tokens. The judge is the package
``jsonschema``, told that an integer is digits.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import numpy as np

import stackmask as sm

DUMPS: tuple[dict[str, Any], ...] = (
    {"separators": (",", ":")},
    {},
    {"indent": 2},
    {"indent": 4},
    {"indent": "\t"},
)
"""How ``json.dumps`` is called, and each text is one of the profile."""

SHIPPED: dict[str, Any] = {
    "order": {
        "type": "object",
        "properties": {
            "id": {"type": "integer", "minimum": 1},
            "état": {"enum": ["new", 'a "b"', "c\\d", 7, 2.5, None]},
            "note": {"type": "string", "maxLength": 12},
            "day": {"type": "string", "format": "date"},
            "lines": {
                "type": "array",
                "maxItems": 3,
                "items": {
                    "type": "object",
                    "properties": {"n": {"type": "integer"}, "price": {"type": "number", "minimum": 0}},
                    "required": ["n"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["id", "lines"],
        "additionalProperties": False,
    },
    "tree": {
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "value": {"type": ["integer", "string"]},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 2},
                },
                "required": ["value"],
                "additionalProperties": False,
            }
        },
        "$ref": "#/$defs/node",
    },
    "numbers": {
        "type": "array",
        "prefixItems": [
            {"type": "integer"},
            {"type": "integer", "minimum": -5, "maximum": 120},
            {"type": "integer", "multipleOf": 7},
            {"type": "number", "multipleOf": 0.25},
            {"anyOf": [{"type": "integer"}, {"type": "number", "minimum": 0.5, "maximum": 2}]},
            {"type": "number"},
            {"enum": [0, 1, -2, 0.5, 1e-7, 10**20]},
            {"const": 1e3},
        ],
        "minItems": 8,
        "items": False,
    },
    "unique": {"type": "array", "items": {"type": ["integer", "null"]}, "uniqueItems": True, "maxItems": 5},
    "unique strings": {
        "type": "array",
        "items": {"type": "string", "pattern": '^[ab\\n"]{1,2}$'},
        "uniqueItems": True,
        "maxItems": 4,
    },
    "map": {"type": "object", "patternProperties": {"^[a-z]{1,8}$": {"type": "boolean"}}, "maxProperties": 4},
    "few keys": {
        "type": "object",
        "patternProperties": {"^x[\\u0001-\\u0003]y$": {"type": "integer"}},
        "additionalProperties": False,
    },
    "contains": {"type": "array", "contains": {"const": 5}, "items": {"type": "integer"}, "maxItems": 4},
    "anything": True,
}

INSTANCES: tuple[Any, ...] = (
    {"id": 1, "lines": []},
    {"id": 3, "état": 'a "b"', "note": 'a\n"\\\x00\x7f/é😀', "lines": [{"n": 0}, {"n": -3, "price": 1.5e-7}]},
)
"""Valid ones of the schema ``order``."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[ \t\n\r]+|[^"\s]', re.DOTALL)
_SPARE = re.compile(r"\n(?:(?:  )*|(?:    )*|\t*)|[ ]")


class _NoInteger(float):
    """A number that is not written as an integer is."""


def needless(text: str) -> list[str]:
    """Return the strings that ``json.dumps(ensure_ascii=False)`` writes otherwise, and runs of blanks, of JSON text."""
    found = []
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token.startswith('"'):
            if json.dumps(json.loads(token), ensure_ascii=False) != token:
                found.append(token)
        elif token.isspace() and not _SPARE.fullmatch(token):
            found.append(token)
    return found


def read(text: str) -> Any:
    """Return the value of JSON text in which only digits are integers. Raises: ValueError."""

    def integer(digits: str) -> Any:
        return _NoInteger(digits) if digits == "-0" else int(digits)

    return json.loads(text, parse_float=_NoInteger, parse_int=integer)


def judge_of(schema: Any) -> Any:
    """Return the validator of a schema for which an integer is digits alone."""
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    checker = kind.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    return jsonschema.validators.extend(kind, type_checker=checker)(schema)


def faults(text: str, judge: Any) -> list[str]:
    """Return what is wrong with a sampled text; nothing for a right one."""
    found = [f"written otherwise: {token[:40]!r}" for token in needless(text)]
    error = next(judge.iter_errors(read(text)), None)
    if error is not None:
        found.append(f"invalid: {error.message[:100]}")
    return found


def has_whole_floats(value: Any) -> bool:
    """Tell whether a number in a value is one that ``json.dumps`` does not write as it was: ``1.0``, ``inf``."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, float) and (item.is_integer() or not math.isfinite(item)):
            return True
        todo.extend(item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
    return False


class Sampler:
    """Writes random texts with a vocabulary."""

    def __init__(self, vocabulary: sm.Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.mask = sm.allocate_token_bitmask(1, vocabulary.size)
        closing = [
            text is not None and 0 < len(text) == sum(text.count(c) for c in b'"}]')
            for text in texts_of(vocabulary)
        ]
        self.closing = np.array(closing)

    def text(self, compiled: Any, rng: np.random.Generator, most: int, calm: int) -> str:
        """Return a text of at most ``most`` tokens, or of as many as its shortest text has; close what it can after ``calm``.

        Each mask has the budget of what is left, so that every text comes to its end.
        """
        matcher = compiled.matcher()
        ids: list[int] = []
        left = 1 + max(most, matcher.needs_at_least())  # 1: the stop token
        while not (matcher.is_accepting() and (len(ids) >= calm or rng.random() < 0.3)):
            matcher.fill_next_token_bitmask(self.mask, budget=left)
            bits = np.unpackbits(self.mask.view(np.uint8), bitorder="little")[: self.vocabulary.size]
            bits[list(self.vocabulary.stop_ids)] = 0
            allowed = np.flatnonzero(bits)
            if not len(allowed):
                break
            logits = rng.standard_normal(len(allowed), dtype=np.float32)
            logits[self.closing[allowed]] += max(0.0, 0.5 * (len(ids) - calm)) + 1
            token = int(allowed[logits.argmax()])
            assert matcher.accept_token(token)
            ids.append(token)
            left -= 1
        assert matcher.is_accepting()
        return b"".join(self.vocabulary.token_bytes[i] or b"" for i in ids).decode()


def texts_of(vocabulary: sm.Vocabulary) -> Iterator[bytes | None]:
    """Yield the text of each id; None for special ones and those that are padding."""
    texts = vocabulary.token_bytes
    special = {*vocabulary.special_ids, *vocabulary.stop_ids}
    for i in range(vocabulary.size):
        yield texts[i] if i < len(texts) and i not in special else None
