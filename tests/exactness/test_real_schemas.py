"""Whole masks along real documents of real schemas, with a real vocabulary: each token is tried."""

from __future__ import annotations

import json
import lzma
import random

import pytest
from support.campaign import SCALE
from support.datapack import datapack, needs_datapack

import stackmask as sm
from exactness.documents import load_tokenizer
from exactness.walks import engine_mask

SCHEMAS = 12
PLACES = 2  # of a document


@pytest.mark.campaign
@needs_datapack
@pytest.mark.parametrize("profile", ["exact", "model"])
def test_masks_are_what_tokens_do(profile: str) -> None:
    folder = datapack()
    assert folder is not None
    tokenizer, vocabulary = load_tokenizer("llama3-128k")
    with lzma.open(folder / "maskbench_dev.jsonl.xz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    rng = random.Random(SCALE)
    compiler = sm.Compiler(vocabulary, cache_bytes=128 << 20)
    judged = 0
    for record in rng.sample(records, 3 * SCHEMAS * SCALE):
        values = [test["data"] for test in record["tests"] if test["valid"]]
        try:
            grammar = sm.Grammar.from_json_schema(record["schema"], profile=profile, property_order="any")
        except sm.SchemaError:
            continue
        compiled = compiler.compile(grammar)
        for value in values[:1]:
            ids = tokenizer.encode(json.dumps(value, ensure_ascii=False), add_special_tokens=False)
            for length in rng.choices(range(len(ids) + 1), k=PLACES):
                matcher = compiled.matcher()
                if not all(map(matcher.accept_token, ids[:length])):
                    continue
                wanted = {token for token in range(vocabulary.size) if matcher.fork().accept_token(token)}
                assert engine_mask(matcher, vocabulary.size) == wanted, (record.get("id"), ids[:length])
                judged += 1
        if judged >= SCHEMAS * PLACES * SCALE:
            return
    raise AssertionError(f"only {judged} masks were compared")
