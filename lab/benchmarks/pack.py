"""What the benchmarks read of the data pack: tokenizers, and the schemas and documents of MaskBench."""

from __future__ import annotations

import json
import lzma
import random
from pathlib import Path
from typing import Any

DOCUMENTS = 120


def load_tokenizer(folder: Path) -> Any:
    """Return the tokenizer of transformers in a folder of the pack."""
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    config = json.loads((folder / "tokenizer_config.json").read_text())
    config.pop("tokenizer_class", None)
    with lzma.open(folder / "tokenizer.json.xz") as file:
        text = file.read().decode()
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(text), **config)


def read_lines(path: Path) -> list[Any]:
    """Return the values of a compressed file with JSON in each line."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def maskbench(data: Path, seed: int) -> list[Any]:
    """Return the records of MaskBench in a random order; each has a schema, and instances with their verdicts."""
    records = read_lines(data / "maskbench_dev.jsonl.xz")
    random.Random(seed).shuffle(records)
    return records


def patterns(data: Path) -> list[Any]:
    """Return the patterns of JSONSchemaBench, each with strings that it matches and others."""
    return read_lines(data / "regex" / "jsonschemabench_patterns.jsonl.xz")


def documents(data: Path, tokenizer: Any) -> list[list[int]]:
    """Return real JSON documents (MaskBench's valid instances), tokenized; a seeded sample of 50 to 2,000 tokens."""
    records = read_lines(data / "maskbench_dev.jsonl.xz")[:4000]
    random.Random(7).shuffle(records)
    found = []
    for record in records:
        for test in record["tests"]:
            if test["valid"] and isinstance(test["data"], dict | list):
                ids = tokenizer.encode(json.dumps(test["data"], ensure_ascii=False), add_special_tokens=False)
                if 50 <= len(ids) <= 2000:
                    found.append(ids)
                    break
        if len(found) == DOCUMENTS:
            break
    return found
