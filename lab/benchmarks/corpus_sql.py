"""Compare ``grammars/sql.ebnf`` with SQLite's verdicts on the statements of the data pack.

    python lab/benchmarks/corpus_sql.py [--write]

Only statements that begin with SELECT, WITH or VALUES are asked for. "ok" is what SQLite parses, also where a
name does not exist; "syntax" is what it refuses.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

from record import use_checkout, write_result

use_checkout()

from recognizer import recognizer
from support.datapack import datapack

from stackmask.grammar.grammar import Grammar

FILES = {
    "spider/dev.jsonl": None,
    "bird/dev.jsonl.xz": None,
    "sql-eval/sqlite.jsonl": None,
    "tpc/tpc-ds.jsonl": None,
    "tpc/tpc-h.jsonl": None,
    "text2sql-data/queries.jsonl.xz": None,
    "sqlglot/identity.jsonl": None,
    "sqllogictest/select_templates.jsonl.xz": None,
    "postgres/regress_select.jsonl.xz": None,
    "bird-llm-output/sqlite.jsonl.xz": None,
    "negatives/sqlite_accepts_mutants.jsonl": "ok",
    "negatives/sqlite_rejects_mutants.jsonl.xz": "syntax",
    "negatives/sqlite_rejects_llm.jsonl": "syntax",
}
SELECT = re.compile(r"\s*(select|with|values)\b", re.IGNORECASE)
COMMENT = re.compile(r"--|/\*")
EXAMPLES = 5


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a ``.jsonl`` file, compressed or not."""
    text = lzma.decompress(path.read_bytes()).decode() if path.suffix == ".xz" else path.read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def main() -> None:
    """Run the comparison and print or write the counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help="write build/results/corpus_sql.json")
    options = parser.parse_args()
    pack = datapack()
    if pack is None:
        raise SystemExit("the data pack is not there: set STACKMASK_DATA")
    accepts = recognizer(Grammar.bundled("sql"))
    results = {}
    for file, label in FILES.items():
        counts: Counter[str] = Counter()
        missed = []
        for row in read_rows(pack / "sql" / file):
            query = row["query"]
            if not SELECT.match(query):
                continue
            verdict = label or row["sqlite"]
            accepted = accepts(query.encode())
            if verdict == "syntax":
                counts["refused by SQLite"] += 1
                counts["of which accepted"] += accepted
            else:
                counts["parsed by SQLite"] += 1
                counts["of which refused"] += not accepted
                counts["of which refused, without a comment in it"] += not accepted and not COMMENT.search(
                    query
                )
            if accepted == (verdict == "syntax"):
                missed.append(query[:200])
        results[file] = dict(counts)
        print(file, dict(counts))
        for query in missed[:EXAMPLES]:
            print("    ", repr(query))
    if options.write:
        print(write_result("corpus_sql", "corpus_sql.py", {"files": results}, sqlite=sqlite3.sqlite_version))


if __name__ == "__main__":
    main()
