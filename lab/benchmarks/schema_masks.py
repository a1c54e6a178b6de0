"""Compare whole masks with what the matcher accepts, at random places of real JSON documents under their schemas.

    python lab/benchmarks/schema_masks.py --data PATH_TO_DATA_PACK --positions 400 --write

At each place every token of the vocabulary is offered to the matcher, which follows it byte by byte on the real
stack; the bit of the mask must say the same. Masks come from walks with the stack unknown, slices, merged
remainders and views of object keys, so the two share the states and hardly anything else. All schemas go
through one compiler, as on a server. Exits with 1 at a difference.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import sys
from pathlib import Path

import numpy as np
from json_grammar import load_tokenizer
from record import DATA, use_checkout, write_result

PLACES = 3  # per document
DOCUMENTS = 2  # per schema


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--tokenizer", default="llama3-128k")
    parser.add_argument("--positions", type=int, default=400)
    parser.add_argument("--property-order", choices=("any", "schema"), default="any")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    use_checkout()
    import stackmask as sm

    tokenizer = load_tokenizer(options.data / "tokenizers" / options.tokenizer)
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
    texts = vocabulary.tokens
    # every token that is tried inside a captured key leaves states behind
    compiler = sm.Compiler(vocabulary, limits=sm.Limits(max_semantic_states=300_000_000))
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    with lzma.open(options.data / "maskbench_dev.jsonl.xz", "rt") as lines:
        records = [json.loads(line) for line in lines]
    rng = random.Random(options.seed)
    rng.shuffle(records)
    places = bits = 0
    different: list[str] = []
    for record in records:
        if places >= options.positions or len(different) > 20:
            break
        try:
            grammar = sm.Grammar.from_json_schema(record["schema"], property_order=options.property_order)
            compiled = compiler.compile(grammar)
        except sm.StackmaskError:
            continue
        for test in record["tests"][:DOCUMENTS]:
            text = json.dumps(test["data"], ensure_ascii=False)
            ids = tokenizer.encode(text, add_special_tokens=False)
            chosen = set(rng.sample(range(len(ids)), min(PLACES, len(ids))))
            matcher = compiled.matcher()
            for i, token in enumerate(ids):
                if i in chosen:
                    matcher.fill_next_token_bitmask(mask)
                    allowed = np.unpackbits(mask.view(np.uint8), bitorder="little")
                    places += 1
                    for other, spelled in enumerate(texts):
                        if not spelled:
                            continue
                        accepted = matcher.accept_token(other)
                        if accepted:
                            matcher.rollback(1)
                        bits += 1
                        if accepted != bool(allowed[other]):
                            different.append(f"{record['id']} token {i}: {spelled!r} accepted {accepted}")
                            break
                if not matcher.accept_token(token):
                    break
    print(f"{places} masks, {bits:,} bits, {len(different)} masks differ")
    print("\n".join(different))
    if options.write:
        result = {"masks": places, "bits": bits, "different": len(different), "seed": options.seed}
        write_result(
            "schema_masks",
            f"python lab/benchmarks/schema_masks.py --data PATH --positions {options.positions} --write",
            {**result, "property_order": options.property_order},
        )
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
