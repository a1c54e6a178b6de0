"""Random schemas and instances: the engine's verdict is that of `jsonschema` and of `jsonschema-rs`."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from support.campaign import SCALE
from support.random_schemas import SchemaMaker, judge


@pytest.mark.parametrize("seed", range(4 * SCALE))
def test_verdicts_agree(seed: int) -> None:
    rng = random.Random(seed)
    maker = SchemaMaker(rng)
    counts: Counter[str] = Counter()
    for _ in range(60):
        schema = maker.schema(3)
        values = [maker.instance(3) for _ in range(12)]
        counts += judge(schema, values, rng, draft="2020-12", property_order="any")
    assert counts["refused"] <= 6, "more schemas are refused than expected, so fewer verdicts are compared"
    assert counts["limited"] <= 1 and counts["valid"] > 50 < counts["invalid"], counts


@pytest.mark.parametrize("seed", range(2 * SCALE))
def test_walks_end_in_valid_instances(seed: int) -> None:
    rng = random.Random(seed)
    maker = SchemaMaker(rng, bounded_keys=False)
    counts: Counter[str] = Counter()
    for _ in range(40):
        order = rng.choice(("any", "schema"))
        counts += judge(maker.schema(3), (), rng, walks=4, draft="2020-12", property_order=order)
    assert counts["walks"] > 50
