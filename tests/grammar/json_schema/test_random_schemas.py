"""Random schemas and instances: the engine's verdict is that of the `jsonschema` package."""

from __future__ import annotations

import json
import random
from typing import Any

import jsonschema
import pytest
from support.campaign import SCALE
from support.json_schema_engine import COMPILER
from support.random_schemas import DOUBTFUL, SchemaMaker, walk

import stackmask as sm


def disagreements(
    seed: int, schemas: int, instances: int
) -> tuple[list[tuple[Any, Any, bool]], dict[str, int]]:
    """Return the instances on which the verdicts differ, and how many schemas ended how."""
    maker = SchemaMaker(random.Random(seed))
    found: list[tuple[Any, Any, bool]] = []
    counts = {"cases": 0, "unsupported": 0, "unsatisfiable": 0}
    for _ in range(schemas):
        schema = maker.schema(3)
        validator = jsonschema.Draft202012Validator(schema)
        values = [maker.instance(3) for _ in range(instances)]
        try:
            grammar = sm.Grammar.from_json_schema(schema, draft="2020-12", property_order="any")
        except sm.UnsupportedSchemaError:
            counts["unsupported"] += 1
            continue
        except sm.UnsatisfiableSchemaError:
            counts["unsatisfiable"] += 1
            found.extend((schema, value, False) for value in values if validator.is_valid(value))
            continue
        compiled = COMPILER.compile(grammar)
        for value in values:
            matcher = compiled.matcher()
            text = json.dumps(value, ensure_ascii=False).encode()
            accepted = matcher.accept_string(text) and matcher.is_accepting()
            counts["cases"] += 1
            if accepted != validator.is_valid(value):
                found.append((schema, value, accepted))
    return found, counts


@pytest.mark.parametrize("seed", range(4 * SCALE))
def test_verdicts_agree(seed: int) -> None:
    found, counts = disagreements(seed, 60, 12)
    assert not found, f"{len(found)} of {counts['cases']}: {json.dumps(found[0])}"
    assert counts["unsupported"] <= 6, (
        "more schemas are refused than expected, so fewer verdicts are compared"
    )


def dead_ends(seed: int, schemas: int, walks: int) -> tuple[list[Any], int]:
    """Return what goes wrong on random walks, and how many ended in an instance."""
    rng = random.Random(seed)
    maker = SchemaMaker(rng, bounded_keys=False)
    wrong: list[Any] = []
    ended = 0
    for _ in range(schemas):
        schema = maker.schema(3)
        validator = jsonschema.Draft202012Validator(schema)
        order = rng.choice(("any", "schema"))
        try:
            grammar = sm.Grammar.from_json_schema(schema, draft="2020-12", property_order=order)
        except sm.SchemaError:
            continue
        compiled = COMPILER.compile(grammar)
        for _ in range(walks):
            try:
                text = walk(compiled, rng, 300)
            except AssertionError as error:
                wrong.append((schema, order, str(error)[:300]))
                break
            if text is not None and not DOUBTFUL.search(text):
                ended += 1
                if not validator.is_valid(json.loads(text)):
                    wrong.append((schema, order, text.decode()))
                    break
    return wrong, ended


@pytest.mark.parametrize("seed", range(2 * SCALE))
def test_walks_end_in_valid_instances(seed: int) -> None:
    wrong, ended = dead_ends(seed, 40, 4)
    assert not wrong, f"{len(wrong)}: {json.dumps(wrong[0])}"
    assert ended > 50
