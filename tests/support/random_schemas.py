"""Random schemas with keywords that interact, and instances near what they ask for."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import jsonschema
import jsonschema_rs

import stackmask as sm
from support.json_schema_engine import COMPILER

NAMES = ("a", "b", "c", "ab", "é")
PATTERNS = ("^a", "b$", "^[a-c]+$", ".", "a|c", "^(?!a)", "^$", "^.{1,2}$")
SCALARS: tuple[Any, ...] = (None, True, False, 0, 1, 2, -1, 1.5, 3, 10, "", "a", "b", "ab", "abc", "é")

LIKELY = frozenset(b'0123"]}:,abtfn[{')
DOUBTFUL = re.compile(rb"[0-9]{12}|[0-9.][eE]|\\")
# the oracle's floats are not exact there, and its `$` matches before a line break
ENDS = frozenset(b'"]}')


class SchemaMaker:
    """Makes schemas of draft 2020-12 and instances from one random source.

    ``bounded_keys``: whether keys may be asked to be short. Of those a beginning can run out.
    """

    def __init__(self, rng: random.Random, *, bounded_keys: bool = True) -> None:
        self.rng = rng
        self.bounded_keys = bounded_keys

    def schema(self, depth: int) -> Any:
        """Return a schema of at most ``depth`` levels."""
        rng = self.rng
        if rng.random() < 0.06:
            return rng.random() < 0.6
        result: dict[str, Any] = {}
        for _ in range(rng.choice((1, 1, 2, 3, 4))):
            result.update(self.keyword(depth))
        return result

    def keyword(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        simple = (
            self.types,
            self.scalars,
            self.numbers,
            self.strings,
            self.counts,
            self.required,
            self.types,
        )
        nested = (self.object, self.object, self.array, self.combination, self.combination, self.condition)
        return rng.choice(simple if depth <= 0 else simple + nested + nested)(depth)

    def types(self, _: int) -> dict[str, Any]:
        kinds = ["null", "boolean", "integer", "number", "string", "array", "object"]
        rng = self.rng
        return {"type": rng.choice(kinds) if rng.random() < 0.6 else rng.sample(kinds, rng.randint(1, 4))}

    def scalars(self, _: int) -> dict[str, Any]:
        rng = self.rng
        if rng.random() < 0.5:
            return {"const": self.instance(1)}
        return {"enum": [self.instance(1) for _ in range(rng.randint(1, 4))]}

    def numbers(self, _: int) -> dict[str, Any]:
        rng = self.rng
        word = rng.choice(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
        return {word: rng.choice((1, 2, 3, 0.5)) if word == "multipleOf" else rng.randint(-2, 5)}

    def strings(self, _: int) -> dict[str, Any]:
        rng = self.rng
        word = rng.choice(("minLength", "maxLength", "pattern"))
        return {word: rng.choice(PATTERNS) if word == "pattern" else rng.randint(0, 3)}

    def counts(self, _: int) -> dict[str, Any]:
        rng = self.rng
        word = rng.choice(("minItems", "maxItems", "minProperties", "maxProperties"))
        return {word: rng.randint(0, 3)}

    def required(self, _: int) -> dict[str, Any]:
        rng = self.rng
        if rng.random() < 0.3:
            return {"dependentRequired": {rng.choice(NAMES): rng.sample(NAMES, rng.randint(0, 2))}}
        return {"required": rng.sample(NAMES, rng.randint(0, 2))}

    def object(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        word = rng.choice(
            (
                *("properties", "properties", "patternProperties", "additionalProperties", "propertyNames"),
                *("unevaluatedProperties", "dependentSchemas"),
            )
        )
        if word in ("properties", "dependentSchemas"):
            return {word: {n: self.schema(depth - 1) for n in rng.sample(NAMES, rng.randint(1, 3))}}
        if word == "patternProperties":
            patterns = PATTERNS if self.bounded_keys else PATTERNS[:-1]
            return {word: {p: self.schema(depth - 1) for p in rng.sample(patterns, rng.randint(1, 2))}}
        if word == "propertyNames":
            if not self.bounded_keys:
                return {word: {"pattern": rng.choice(PATTERNS[:-1])}}
            return {word: {**self.strings(0), **(self.strings(0) if rng.random() < 0.3 else {})}}
        return {word: self.schema(depth - 1)}

    def array(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        word = rng.choice(("items", "prefixItems", "contains", "unevaluatedItems", "uniqueItems"))
        if word == "prefixItems":
            return {word: [self.schema(depth - 1) for _ in range(rng.randint(1, 2))]}
        if word == "uniqueItems":
            return {word: True}
        result: dict[str, Any] = {word: self.schema(depth - 1)}
        if word == "contains" and rng.random() < 0.5:
            result["minContains"] = rng.randint(0, 2)
        if word == "contains" and rng.random() < 0.5:
            result["maxContains"] = rng.randint(0, 2)
        return result

    def combination(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        word = rng.choice(("allOf", "anyOf", "oneOf", "not"))
        if word == "not" and rng.random() < 0.2:
            patterns = rng.sample(PATTERNS if self.bounded_keys else PATTERNS[:-1], 2)
            closed = {"patternProperties": {p: self.schema(depth - 1) for p in patterns}}
            return {word: {**closed, "additionalProperties": False}}
        if word == "not":
            return {word: self.schema(depth - 1)}
        return {word: [self.schema(depth - 1) for _ in range(rng.randint(1, 3))]}

    def condition(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        words = ["if", *rng.sample(("then", "else"), rng.randint(1, 2))]
        return {word: self.schema(depth - 1) for word in words}

    def instance(self, depth: int) -> Any:
        """Return a JSON value of at most ``depth`` levels."""
        rng = self.rng
        if depth <= 0 or rng.random() < 0.35:
            return rng.choice(SCALARS)
        if rng.random() < 0.4:
            return [self.instance(depth - 1) for _ in range(rng.randint(0, 3))]
        return {name: self.instance(depth - 1) for name in rng.sample(NAMES, rng.randint(0, 3))}


def walk(compiled: sm.CompiledGrammar, rng: random.Random, steps: int) -> bytes | None:
    """Return a text reached by random tokens under the mask, or None if it does not end in so many steps."""
    matcher = compiled.matcher()
    mask = sm.allocate_token_bitmask(1, 257)
    text = bytearray()
    for step in range(steps):
        mask[:] = -1
        matcher.fill_next_token_bitmask(mask)
        allowed = [t for t in range(257) if mask[0, t >> 5] >> (t & 31) & 1]
        assert allowed, f"dead end after {bytes(text)!r}"
        if 256 in allowed and (len(allowed) == 1 or rng.random() < 0.5):
            return bytes(text)
        allowed = [t for t in allowed if t != 256]
        # digits, quotes and closing brackets end things; blanks and escapes only make texts longer
        likely = [t for t in allowed if t in LIKELY] or allowed
        ends = [t for t in allowed if t in ENDS] if step > steps // 3 else []
        token = rng.choice(ends or (likely if rng.random() < 0.95 else allowed))
        assert matcher.accept_token(token)
        text.append(token)
    return None


def judge(
    schema: Any,
    values: Sequence[Any],
    rng: random.Random,
    *,
    walks: int = 0,
    steps: int = 300,
    write: Callable[[Any], str] | None = None,
    **options: Any,
) -> Counter[str]:
    """Compare verdicts on values with those of two validators, and walk at random to instances, which both must call valid.

    Returns: how many values were valid and invalid, how many walks ended, and whether the schema was refused, took too
        much or has no instance. Raises: AssertionError at a difference or a dead end.
    """
    shown = f"{json.dumps(schema)} {options}"
    # they share no code
    validators = (jsonschema.Draft202012Validator(schema), jsonschema_rs.Draft202012Validator(schema))
    try:
        compiled = COMPILER.compile(sm.Grammar.from_json_schema(schema, **options))
    except sm.UnsatisfiableSchemaError:
        assert not any(validator.is_valid(value) for validator in validators for value in values), shown
        return Counter(unsatisfiable=1)
    except sm.UnsupportedSchemaError:
        return Counter(refused=1)
    except sm.BudgetError:
        return Counter(limited=1)
    counts: Counter[str] = Counter()
    for value in values:
        matcher = compiled.matcher()
        text = write(value) if write else json.dumps(value, ensure_ascii=rng.random() < 0.5)
        accepted = matcher.accept_string(text) and matcher.is_accepting()
        counts["valid" if accepted else "invalid"] += 1
        for validator in validators:
            assert accepted == validator.is_valid(value), f"{shown} {json.dumps(value)}: {accepted}"
    for _ in range(walks):
        try:
            text = walk(compiled, rng, steps)
        except AssertionError as error:
            raise AssertionError(f"{shown}: {error}") from None
        if text is not None and not DOUBTFUL.search(text):
            counts["walks"] += 1
            value = json.loads(text)
            assert all(validator.is_valid(value) for validator in validators), f"{shown} {text.decode()}"
    return counts
