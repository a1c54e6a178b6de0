"""Shortest completions at places of real queries, in SQL with the names of a schema.

    python lab/benchmarks/completion_sql.py --data PATH_TO_DATA_PACK --queries 150 [--write]

Cuts seeded gold queries of Spider and BIRD at eight random bytes each, and asks for the shortest completion there, under
``from_sql(dialect, schema=…)`` with a 128,000-token vocabulary. *whole*: how many of the completed queries SQLite prepares
in a database with the tables (of the dialect ``sqlite``). Times are processor time, the first time at a place.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path
from typing import Any

from record import DATA, cpu_model, use_checkout, write_result

use_checkout()

import numpy as np
from json_grammar import load_tokenizer
from sql import read_rows
from sql_schema import GOLD, Judges
from sql_walks import Tables, schemas

import stackmask as sm
from stackmask.grammar.grammar import Grammar

PLACES = 8  # of a query
SEED = 5


def measure(
    dialect: str, rows: list[dict[str, Any]], everything: dict[str, Tables], compiler: sm.Compiler, count: int
) -> dict[str, Any]:
    """Measure at places of so many queries, and return what to record."""
    rng = random.Random(SEED)
    judges = Judges(everything)
    times: list[float] = []
    missing = whole = queries = 0
    lengths: list[int] = []
    for row in rows:
        if queries == count:
            break
        compiled = compiler.compile(Grammar.from_sql(dialect, schema=everything[row["db_id"]]))
        query = row["query"].encode()
        if not compiled.matcher().accept_string(query):
            continue
        queries += 1
        for place in sorted(rng.sample(range(1, len(query)), min(PLACES, len(query) - 1))):
            matcher = compiled.matcher()
            assert matcher.accept_string(query[:place])
            start = time.process_time()
            try:
                text = matcher.shortest_completion().text
            except sm.MatcherError:
                missing += 1
                print(f"no end found: {query[:place]!r}")
                continue
            times.append(time.process_time() - start)
            lengths.append(len(text))
            assert matcher.accept_string(text) and matcher.is_accepting()
            whole += (
                dialect == "sqlite" and judges.error(row["db_id"], (query[:place] + text).decode()) is None
            )
    result: dict[str, Any] = {
        "queries": queries,
        "places": len(times) + missing,
        "without_completion": missing,
    }
    if dialect == "sqlite":
        result["whole"] = whole
    for name, values, factor in (("ms", times, 1e3), ("bytes", lengths, 1)):
        p50, p90, p99 = np.percentile(values, (50, 90, 99)) * factor
        result |= {
            f"p50_{name}": round(float(p50), 2),
            f"p90_{name}": round(float(p90), 2),
            f"p99_{name}": round(float(p99), 2),
            f"worst_{name}": round(max(values) * factor, 1),
        }
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--queries", type=int, default=150)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    everything = schemas(args.data)
    rows = [row for file in GOLD.values() for row in read_rows(args.data, file) if row["db_id"] in everything]
    random.Random(SEED).shuffle(rows)
    compiler = sm.Compiler(
        sm.Vocabulary.from_huggingface(load_tokenizer(args.data / "tokenizers" / "llama3-128k"))
    )
    result: dict[str, Any] = {"cpu": cpu_model()}
    for dialect in ("sqlite", "postgres"):
        result[dialect] = measure(dialect, rows, everything, compiler, args.queries)
        print(dialect, result[dialect])
    if args.write:
        command = f"python lab/benchmarks/completion_sql.py --queries {args.queries} --write"
        write_result("completion_sql", command, result)


if __name__ == "__main__":
    main()
