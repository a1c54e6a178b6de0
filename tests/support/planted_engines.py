"""Engines with one planted fault each: the audit must find all of them. The engine underneath is this project's.

``PLANTED``: name → (kind, why it is wrong). Each is also a factory of this module, for ``stackmask audit --engine``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from stackmask.runtime.comparison.audited import Ours
from stackmask.runtime.comparison.engines import empty_mask
from stackmask.runtime.comparison.subject import Subject
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

Change = Callable[["Faulty", np.ndarray[Any, Any]], None]


class Faulty:
    """An engine whose masks are changed, or which reads another schema than it was given."""

    def __init__(
        self, vocabulary: Vocabulary, change: Change | None = None, schema: Callable[[Any], Any] | None = None
    ) -> None:
        self.ours = Ours(vocabulary, {})
        self.row = empty_mask(vocabulary)
        self.vocabulary, self.change, self.schema = vocabulary, change, schema
        self.ids: list[int] = []
        self.asked = 0
        self.bytes_of = [
            (vocabulary.tokens[i] if i < len(vocabulary.tokens) else None) or b""
            for i in range(vocabulary.size)
        ]

    @property
    def text(self) -> bytes:
        return b"".join(self.bytes_of[token] for token in self.ids)

    def compile(self, kind: str, source: str) -> None:
        if self.schema is not None and kind == "schema":
            source = json.dumps(everywhere(json.loads(source), self.schema))
        self.ours.compile(Subject(kind, source))  # type: ignore[arg-type]

    def begin(self) -> None:
        self.ids = []
        self.ours.begin()

    def mask(self) -> Any:
        self.asked += 1
        self.ours.fill(self.row)
        words = self.row[0].view(np.uint8)
        bits = np.unpackbits(words, bitorder="little")[: self.vocabulary.size].astype(np.bool_)
        if self.change is not None:
            self.change(self, bits)
        return bits

    def accept(self, token: int) -> Any:
        self.ids.append(token)
        self.ours.accept(token)  # what only the mask allows leaves the engine where it was

    def set(self, bits: np.ndarray[Any, Any], word: bytes, value: bool) -> None:
        for token, text in enumerate(self.bytes_of):
            if text == word:
                bits[token] = value


def everywhere(schema: Any, change: Callable[[Any], Any]) -> Any:
    """Return a schema with all of its objects changed."""
    if isinstance(schema, dict):
        return change({name: everywhere(value, change) for name, value in schema.items()})
    return [everywhere(item, change) for item in schema] if isinstance(schema, list) else schema


def without(*names: str) -> Callable[[Any], Any]:
    return lambda schema: {name: value for name, value in schema.items() if name not in names}


def replaced(name: str, change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda schema: {key: change(value) if key == name else value for key, value in schema.items()}


def forbids(word: bytes, when: Callable[[Faulty], bool] = lambda engine: True) -> Change:
    def change(engine: Faulty, bits: np.ndarray[Any, Any]) -> None:
        if when(engine):
            engine.set(bits, word, False)

    return change


def allows(word: bytes, when: Callable[[Faulty], bool]) -> Change:
    def change(engine: Faulty, bits: np.ndarray[Any, Any]) -> None:
        if when(engine):
            engine.set(bits, word, True)

    return change


def stops(value: bool, when: Callable[[Faulty], bool]) -> Change:
    def change(engine: Faulty, bits: np.ndarray[Any, Any]) -> None:
        if when(engine):
            bits[list(engine.vocabulary.stop_ids)] = value

    return change


def every_32nd(engine: Faulty, bits: np.ndarray[Any, Any]) -> None:
    bits[31::32] = False


def no_words(engine: Faulty, bits: np.ndarray[Any, Any]) -> None:
    bits[[len(text) > 1 for text in engine.bytes_of]] = False


def nothing(engine: Faulty, bits: np.ndarray[Any, Any]) -> None:
    if engine.text.rstrip().endswith(b'"count":'):
        bits[:] = False


def special(engine: Faulty, bits: np.ndarray[Any, Any]) -> None:
    if len(engine.ids) > 3:
        others = set(engine.vocabulary.special_ids) - set(engine.vocabulary.stop_ids)
        bits[list(others)] = True


def fails_later(engine: Faulty, bits: np.ndarray[Any, Any]) -> None:
    if len(engine.ids) == 7:
        raise RuntimeError("index out of range")


class Narrow(Faulty):
    """Its masks lack a word."""

    def mask(self) -> Any:
        return super().mask()[:-32]


class Stubborn(Faulty):
    """It refuses what its mask allows, after five tokens."""

    def accept(self, token: int) -> Any:
        super().accept(token)
        return len(self.ids) != 6


class Hanging(Faulty):
    """It does not answer after four tokens."""

    def mask(self) -> Any:
        if len(self.ids) == 4:
            time.sleep(60)
        return super().mask()


def in_order(vocabulary: Vocabulary) -> Any:
    """Return an engine that writes properties in declared order only."""
    from stackmask.grammar.grammar import Grammar

    engine = Faulty(vocabulary)

    def compile(kind: str, source: str) -> None:
        engine.ours.compiled = engine.ours.compiler.compile(Grammar.from_json_schema(source))

    engine.compile = compile  # type: ignore[method-assign]
    return engine


def mask_fault(change: Change) -> Callable[[Vocabulary], Any]:
    return lambda vocabulary: Faulty(vocabulary, change)


def schema_fault(change: Callable[[Any], Any]) -> Callable[[Vocabulary], Any]:
    return lambda vocabulary: Faulty(vocabulary, schema=change)


# name → (what the audit must call it, how it is made)
PLANTED: dict[str, tuple[str, Callable[[Vocabulary], Any]]] = {
    "forgets_required": ("under: required", schema_fault(without("required"))),
    "forgets_min_length": ("under: minLength", schema_fault(without("minLength"))),
    "forgets_max_items": ("under: maxItems", schema_fault(without("maxItems"))),
    "forgets_pattern": ("under: pattern", schema_fault(without("pattern"))),
    "forgets_enum": ("under: enum", schema_fault(without("enum"))),
    "forgets_minimum": ("under: minimum", schema_fault(without("minimum"))),
    "forgets_unique_items": ("under: uniqueItems", schema_fault(without("uniqueItems"))),
    "forgets_closed": ("under: additionalProperties", schema_fault(without("additionalProperties"))),
    "numbers_for_integers": (
        "under: type",
        schema_fault(replaced("type", lambda value: "number" if value == "integer" else value)),
    ),
    "loses_last_choice": ("over: value", schema_fault(replaced("enum", lambda value: value[:-1]))),
    "one_item_too_few": ("over: value", schema_fault(replaced("maxItems", lambda value: value - 1))),
    "no_minus": ("over: value", mask_fault(forbids(b"-"))),
    "no_bracket_late": ("over: value", mask_fault(forbids(b"]", lambda engine: len(engine.ids) > 40))),
    "newline_in_strings": (
        "under: no beginning",
        mask_fault(allows(b"\n", lambda engine: engine.text.endswith(b'"a'))),
    ),
    "two_commas": (
        "under: no beginning",
        mask_fault(allows(b",", lambda engine: engine.text.endswith(b","))),
    ),
    "ends_early": ("under: no JSON", mask_fault(stops(True, lambda engine: len(engine.ids) == 9))),
    "never_ends": ("over: value", mask_fault(stops(False, lambda engine: True))),
    "special_token": ("under: special token", mask_fault(special)),
    "dead_end": ("under: dead end", mask_fault(nothing)),
    "last_bit": ("over: value", mask_fault(every_32nd)),
    "only_bytes": ("over: tokens", mask_fault(no_words)),
    "declared_order": ("over: order", in_order),
    "raises": ("fault: raised", mask_fault(fails_later)),
    "narrow_mask": ("fault: wrong mask", Narrow),
    "stubborn": ("fault: wrong mask", Stubborn),
}

hangs = Hanging
no_formats = schema_fault(without("format"))  # a habit, no fault


def __getattr__(name: str) -> Callable[[Vocabulary], Any]:
    if name in PLANTED:
        return PLANTED[name][1]
    raise AttributeError(name)
