"""Compare `Grammar.from_sql` with what SQLite and PostgreSQL say, and measure its masks.

    python lab/benchmarks/sql.py [--write] [--no-masks] [--examples N]

*Coverage*: statements that a database takes, under ``from_sql(dialect, functions="any", allow_comments=True)``; beside it
how many of them pass with the listed functions alone. *Rejection*: statements that must not pass, under plain
``from_sql(dialect)``. SQLite is asked itself (EXPLAIN in an empty database: "no such table" has been parsed); for PostgreSQL
the verdicts of the data pack count (PostgreSQL 18's parser), and a server is asked for a second opinion where Debian's packages
have one. *Mutants*: statements with tokens left out, doubled, swapped or put in, judged by both databases themselves.
*Masks*: fills along gold queries with the Llama-3 vocabulary, the first pass from a new compiler and a later one.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from record import use_checkout, write_result

use_checkout()

import numpy as np
from campaign.sql_mutants import mutants
from judges import postgres as postgres_judge
from judges import sql as sqlite_judge
from pack import load_tokenizer
from support.byte_matcher import ByteMatcher
from support.datapack import datapack
from support.postgres_server import NoServer

import stackmask as sm
from stackmask.grammar.grammar import Grammar

Row = dict[str, Any]

# of `negatives/pg_select_side_effects`: one query that writes nothing, with SQL in its text, or without SELECT
HARMLESS = {
    "SELECT $$;DROP TABLE t$$",
    "SELECT 'a''; DROP TABLE t --'",
    "SELECT E'\\'; DROP TABLE t --'",
    "TABLE t",
    "VALUES (1)",
}
QUERY = re.compile(r"\W*(select|with|values|table)\b", re.IGNORECASE)
OTHER = re.compile(r"^\s*with\b.*\)\s*(update|insert|delete)\b", re.IGNORECASE | re.DOTALL)
COVERAGE = (
    ("sqlite", "Spider gold", "spider/dev.jsonl", 1.0),
    ("sqlite", "BIRD gold", "bird/dev.jsonl.xz", 0.995),
    ("sqlite", "sql-eval gold", "sql-eval/sqlite.jsonl", 0.99),
    ("sqlite", "sqlglot identities", "sqlglot/identity.jsonl", 0.95),
    ("sqlite", "sqllogictest", "sqllogictest/select_templates.jsonl.xz", 0.95),
    ("sqlite", "text2sql-data", "text2sql-data/queries.jsonl.xz", None),
    ("sqlite", "TPC-H, TPC-DS", "tpc/*.jsonl", None),
    ("sqlite", "PostgreSQL's regression tests", "postgres/regress_select.jsonl.xz", None),
    ("sqlite", "what models wrote for BIRD", "bird-llm-output/sqlite.jsonl.xz", 0.995),
    ("sqlite", "mutants that stay valid", "negatives/sqlite_accepts_mutants.jsonl", None),
    ("postgres", "sql-eval gold", "sql-eval/postgres.jsonl", 0.98),
    ("postgres", "TPC-H, TPC-DS", "tpc/*.jsonl", 0.97),
    ("postgres", "PostgreSQL's regression tests", "postgres/regress_select.jsonl.xz", 0.9),
    ("postgres", "Spider gold", "spider/dev.jsonl", None),
    ("postgres", "BIRD gold", "bird/dev.jsonl.xz", None),
    ("postgres", "sqlglot identities", "sqlglot/identity.jsonl", None),
    ("postgres", "sqllogictest", "sqllogictest/select_templates.jsonl.xz", None),
    ("postgres", "text2sql-data", "text2sql-data/queries.jsonl.xz", None),
    ("postgres", "what models wrote for BIRD", "bird-llm-output/postgresql.jsonl.xz", None),
)
REJECTION = (
    ("sqlite", "mutants that SQLite rejects", "negatives/sqlite_rejects_mutants.jsonl.xz", 0.005),
    ("sqlite", "models' syntax errors", "negatives/sqlite_rejects_llm.jsonl", 0.005),
    ("sqlite", "side effects, other statements", "negatives/sqlite_side_effects.jsonl", 0.0),
    ("sqlite", "statements that are no queries", "postgres/regress_nonselect.jsonl.xz", 0.0),
    ("postgres", "mutants that PostgreSQL rejects", "negatives/sqlite_rejects_mutants.jsonl.xz", 0.005),
    ("postgres", "PostgreSQL's syntax errors", "postgres/regress_syntax_errors.jsonl", 0.0),
    ("postgres", "side effects", "negatives/pg_select_side_effects.jsonl", 0.0),
    ("postgres", "statements that are no queries", "postgres/regress_nonselect.jsonl.xz", 0.0),
)
MUTANTS = 20_000
MASK_QUERIES = 300
GOLD = {
    "sqlite": ("spider/dev.jsonl", "bird/dev.jsonl.xz", "sql-eval/sqlite.jsonl"),
    "postgres": ("sql-eval/postgres.jsonl", "tpc/tpc-h.jsonl"),
}


def read_rows(pack: Path, pattern: str) -> list[Row]:
    """Return the objects of the ``.jsonl`` files that match, compressed or not."""
    rows: list[Row] = []
    for path in sorted((pack / "sql").glob(pattern)):
        text = (
            lzma.decompress(path.read_bytes()).decode() if path.suffix == ".xz" else path.read_text("utf-8")
        )
        rows += [json.loads(line) for line in text.splitlines()]
    return rows


def taken(dialect: str, row: Row) -> bool:
    """Say whether the database takes the statement: as one, and as a query."""
    if dialect == "postgres":
        return bool(row.get("pg")) and row.get("select", True)
    query = row["query"]
    if not QUERY.match(query) or OTHER.search(query) or row.get("sqlite") == "syntax":
        return False
    verdict = sqlite_judge.judge(query.encode())
    return verdict.accepted and not one_of_several(query)


def one_of_several(query: str) -> bool:
    """Say whether more than blanks and comments stands behind the first statement: EXPLAIN does not look there."""
    behind = query.find(";")
    while behind >= 0:
        if sqlite3.complete_statement(query[: behind + 1]):
            rest = re.sub(r"--[^\n]*|/\*.*?\*/", " ", query[behind + 1 :], flags=re.DOTALL)
            return bool(rest.strip())
        behind = query.find(";", behind + 1)
    return False


def coverage(pack: Path, examples: int) -> list[Row]:
    """Return a row for each set: how many statements the database takes, and how many of these the grammars."""
    whole = {
        d: ByteMatcher(Grammar.from_sql(d, functions="any", allow_comments=True)).matches
        for d in ("sqlite", "postgres")
    }
    listed = {
        d: ByteMatcher(Grammar.from_sql(d, allow_comments=True)).matches for d in ("sqlite", "postgres")
    }
    negative = {row["query"] for pattern in {r[2] for r in REJECTION} for row in read_rows(pack, pattern)}
    result = []
    for dialect, title, pattern, target in COVERAGE:
        queries = [
            r["query"] for r in read_rows(pack, pattern) if r["query"] not in negative and taken(dialect, r)
        ]
        refused = [query for query in queries if not whole[dialect](query.encode())]
        with_listed = sum(listed[dialect](query.encode()) for query in queries)
        accepted = len(queries) - len(refused)
        result.append(
            {
                "dialect": dialect, "set": title, "statements": len(queries), "accepted": accepted,
                "share": round(accepted / len(queries), 4), "target": target,
                "accepted with listed functions": with_listed,
            }
        )  # fmt: skip
        print(
            f"{dialect:9} {title:32} {accepted}/{len(queries)} {100 * accepted / len(queries):.2f}%; ", end=""
        )
        print(f"listed functions {with_listed}", *(repr(q[:200]) for q in refused[:examples]), sep="\n    ")
    return result


def rejection(pack: Path, examples: int) -> list[Row]:
    """Return a row for each set of what must be refused."""
    plain = {dialect: ByteMatcher(Grammar.from_sql(dialect)).matches for dialect in ("sqlite", "postgres")}
    result = []
    for dialect, title, pattern, target in REJECTION:
        rows = read_rows(pack, pattern)
        if pattern.startswith("negatives/sqlite_rejects") and dialect == "postgres":
            rows = [row for row in rows if row["pg_rejects"]]
        queries = [row["query"] for row in rows if row["query"] not in HARMLESS]
        accepted = [query for query in queries if plain[dialect](query.encode())]
        row: Row = {"dialect": dialect, "set": title, "statements": len(queries), "accepted": len(accepted)}
        if len(queries) < len(rows):
            row["harmless, left out"] = len(rows) - len(queries)
        result.append({**row, "target": target})
        print(f"{dialect:9} {title:32} wrongly accepted {len(accepted)}/{len(queries)}", end="")
        print("", *(repr(query[:200]) for query in accepted[:examples]), sep="\n    ")
    return result


def random_mutants(pack: Path, examples: int) -> list[Row]:
    """Return how grammar and database agree about mutants of queries; they are made anew, from a seed."""
    result = []
    for dialect, judge in (("sqlite", sqlite_judge.judge), ("postgres", postgres_judge.judge)):
        patterns = {pattern for d, _, pattern, _ in COVERAGE if d == dialect}
        rows = [row for pattern in sorted(patterns) for row in read_rows(pack, pattern) if "query" in row]
        queries = [
            row["query"]
            for row in rows
            if row.get("pg" if dialect == "postgres" else "sqlite") not in (False, "syntax")
        ]
        accepts = ByteMatcher(
            Grammar.from_sql(dialect, functions="any", allow_comments=True, read_only=False)
        ).matches
        counts: Counter[str] = Counter()
        try:
            if dialect == "postgres":
                postgres_judge.running_server()
        except NoServer as reason:
            result.append({"dialect": dialect, "left out": str(reason)})
            continue
        for query in mutants(
            queries, MUTANTS if dialect == "sqlite" else MUTANTS // 4, random.Random(dialect)
        ):
            verdict = judge(query.encode())
            accepted = accepts(query.encode())
            if accepted:
                counts["both" if verdict.accepted else "only the grammar"] += 1
            else:  # another statement is none of the grammar's
                counts["only the database" if verdict.accepted and QUERY.match(query) else "neither"] += 1
            if accepted and not verdict.accepted and examples:
                print("    only the grammar:", repr(query[:300]), verdict.note)
        print(dialect, "mutants", dict(counts))
        result.append({"dialect": dialect, **counts})
    return result


def mask_times(pack: Path) -> list[Row]:
    """Return times of fills and of accepting a token, in microseconds, of the plain grammars along gold queries."""
    tokenizer = load_tokenizer(pack / "tokenizers" / "llama3-128k")
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    result = []
    for dialect, patterns in GOLD.items():
        accepts = ByteMatcher(Grammar.from_sql(dialect)).matches
        queries = [row["query"] for pattern in patterns for row in read_rows(pack, pattern)]
        queries = [query for query in queries if accepts(query.encode())]
        random.Random(1).shuffle(queries)
        texts = [tokenizer.encode(query, add_special_tokens=False) for query in queries[:MASK_QUERIES]]
        begin = time.process_time()
        compiled = sm.Compiler(vocabulary).compile(Grammar.from_sql(dialect))
        row: Row = {
            "dialect": dialect,
            "queries": len(texts),
            "compile_ms": round((time.process_time() - begin) * 1e3, 1),
        }
        passes = [_pass(compiled, texts, mask) for _ in range(4)]
        row["tokens"] = len(passes[0][0])
        for name, (fills, accepts) in (
            ("cold", passes[0]),
            ("warm", tuple(np.minimum(*x) for x in zip(*passes[2:], strict=True))),
        ):
            row[f"{name}_mask_us"] = _figures(fills)
            row[f"{name}_accept_us"] = _figures(accepts)
        print(row)
        result.append(row)
    return result


def _pass(compiled: Any, texts: Iterable[list[int]], mask: Any) -> tuple[np.ndarray, np.ndarray]:
    fills, accepts = [], []
    for ids in texts:
        matcher = compiled.matcher()
        for token in ids:
            begin = time.perf_counter_ns()
            matcher.fill_next_token_bitmask(mask)
            between = time.perf_counter_ns()
            accepted = matcher.accept_token(token)
            fills.append(between - begin)
            accepts.append(time.perf_counter_ns() - between)
            assert accepted, matcher.refusal
    return np.array(fills) / 1e3, np.array(accepts) / 1e3


def _figures(times: np.ndarray) -> dict[str, float]:
    return {
        "mean": round(float(times.mean()), 2),
        **{f"p{p}": round(float(np.percentile(times, p)), 2) for p in (50, 90, 99)},
    }


def main() -> None:
    """Run the comparison and print or write the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write results/sql.json")
    parser.add_argument("--no-masks", action="store_true", help="leave out the times")
    parser.add_argument(
        "--examples", type=int, default=0, help="show so many statements of each set that differ"
    )
    options = parser.parse_args()
    pack = datapack()
    if pack is None:
        raise SystemExit("the data pack is not there: set STACKMASK_DATA")
    result: dict[str, Any] = {
        "coverage": coverage(pack, options.examples),
        "rejection": rejection(pack, options.examples),
        "mutants": random_mutants(pack, options.examples),
    }
    if not options.no_masks:
        result["masks"] = mask_times(pack)
    if options.write:
        print(
            write_result("sql", "python lab/benchmarks/sql.py --write", result, sqlite=sqlite3.sqlite_version)
        )


if __name__ == "__main__":
    main()
