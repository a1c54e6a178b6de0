"""Queries over the schema of their own database: gold queries, what models wrote, masks.

    python lab/benchmarks/sql_schema.py [--write] [--queries N] [--examples N]

*Gold*: queries of Spider and BIRD that SQLite prepares in a database with their tables, under ``from_sql("sqlite",
schema=…)``: as they are (``double_quotes="strings"``), and by default once their strings stand in single quotes. *Misspelt*: such
queries with one name that SQLite does not find, written in four ways. *Models*: what models wrote for BIRD, split by whether SQLite
prepares it, with ``double_quotes="strings"`` and ``without_from``. *Masks*: fills along gold queries with
the Llama-3 vocabulary, the first time (*cold*, processor time) and again.
"""

from __future__ import annotations

import argparse
import random
import re
import sqlite3
import time
from collections import Counter
from pathlib import Path
from typing import Any

from record import use_checkout, write_result

use_checkout()

import numpy as np
from pack import load_tokenizer
from sql import _figures, _pass, read_rows
from sql_walks import Tables, database, schemas
from support.byte_matcher import VOCABULARY
from support.datapack import datapack

import stackmask as sm
from stackmask.grammar.grammar import Grammar

GOLD = {"Spider": "spider/dev.jsonl", "BIRD": "bird/dev.jsonl.xz"}
MODELS = "bird-llm-output/sqlite.jsonl.xz"
MISSPELT = 1_000
STRINGS = {"double_quotes": "strings"}
FREE = {**STRINGS, "without_from": True}  # what the figures of models were measured with
PIECES = re.compile(r"""'(?:[^']|'')*'|"((?:[^"]|"")*)"|\w+""")
WAYS = {"bare": "{}", "double quotes": '"{}"', "brackets": "[{}]", "backticks": "`{}`"}
ERRORS = ("no such column", "ambiguous column", "no such table", "no such function", "syntax")


class Judges:
    """For each database, whether SQLite prepares a query, and whether the grammar of its schema takes it."""

    def __init__(self, everything: dict[str, Tables]) -> None:
        self.everything = everything
        self.compiler = sm.Compiler(VOCABULARY)
        self.compiled: dict[Any, Any] = {}
        self.databases: dict[str, sqlite3.Connection] = {}

    def error(self, name: str, query: str) -> str | None:
        """Return SQLite's error, None if it prepares the query."""
        if name not in self.databases:
            self.databases[name] = database(self.everything[name])
        try:
            self.databases[name].execute("EXPLAIN " + query).fetchall()
        except (sqlite3.Error, sqlite3.Warning) as error:
            return str(error)
        return None

    def accepts(self, name: str, query: str, **options: Any) -> bool:
        """Return whether the grammar takes the query."""
        key = name, *options.items()
        if key not in self.compiled:
            grammar = Grammar.from_sql("sqlite", schema=self.everything[name], **options)
            self.compiled[key] = self.compiler.compile(grammar)
        matcher = self.compiled[key].matcher()
        return bool(matcher.accept_string(query) and matcher.is_accepting())

    def requoted(self, name: str, query: str) -> str:
        """Return the query with its strings in single quotes: what SQLite does not find in brackets is one."""

        def single(piece: re.Match[str]) -> str:
            text = piece[1]
            if text is None:
                return piece[0]
            text = text.replace('""', '"')
            in_brackets = f"{query[: piece.start()]}[{text}]{query[piece.end() :]}"
            if "]" not in text and self.error(name, in_brackets) is None:
                return piece[0]
            return "'" + text.replace("'", "''") + "'"

        return PIECES.sub(single, query)


def coverage(pack: Path, judges: Judges, examples: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return how many gold queries pass, and of the same with a misspelt name."""
    result = []
    taken = []
    for title, file in GOLD.items():
        rows = [r for r in read_rows(pack, file) if judges.error(r["db_id"], r["query"]) is None]
        figures: dict[str, Any] = {"set": title, "statements": len(rows)}
        print(figures)
        requoted = [(r["db_id"], judges.requoted(r["db_id"], r["query"])) for r in rows]
        for kind, options, pairs in (
            ("as written", STRINGS, [(r["db_id"], r["query"]) for r in rows]),
            ("single quotes", {}, requoted),
        ):
            passes = [judges.accepts(*pair, **options) for pair in pairs]
            figures[kind] = {"accepted": sum(passes), "share": round(sum(passes) / len(rows), 4)}
            refused = [query for (_, query), passed in zip(pairs, passes, strict=True) if not passed]
            print(kind, figures[kind], *refused[:examples], sep="\n    ")
        taken += [pair for pair in requoted if judges.accepts(*pair)]
        result.append(figures)
    return result, misspelt(taken, judges, examples)


def misspelt(queries: list[tuple[str, str]], judges: Judges, examples: int) -> dict[str, Any]:
    """Return how many queries pass with a name of the schema misspelt, by the way in which it is written."""
    choice = random.Random(1)
    counts: Counter[str] = Counter()
    while counts["queries"] < MISSPELT:
        name, query = choice.choice(queries)
        tables = judges.everything[name]
        known = {word.lower() for word in (*tables, *(c for columns in tables.values() for c in columns))}
        places = [p for p in PIECES.finditer(query) if (p[1] or p[0]).lower() in known]
        if not places:
            continue
        place = choice.choice(places)
        text = place[1] or place[0]
        letter = choice.randrange(len(text))
        wrong = text[:letter] + choice.choice(("", text[letter] * 2, "x")) + text[letter + 1 :]
        before, after = query[: place.start()], query[place.end() :]
        # an alias is not one of the schema, and may be any word: SQLite says so of a word in brackets
        if (
            not re.fullmatch(r"[A-Za-z_]\w*", wrong)
            or judges.error(name, f"{before}[{wrong}]{after}") is None
        ):
            continue
        kind = tuple(WAYS)[counts["queries"] % len(WAYS)]
        counts["queries"] += 1
        text = before + WAYS[kind].format(wrong) + after
        if judges.accepts(name, text):
            counts[kind] += 1
            if counts[kind] <= examples:
                print("    wrongly accepted:", name, repr(text))
    result = {"queries": counts["queries"], "accepted": {kind: counts[kind] for kind in WAYS}}
    print(result)
    return result


def models(pack: Path, judges: Judges, examples: int) -> dict[str, Any]:
    """Return how much of what models wrote passes, of what SQLite prepares and of what it does not."""
    counts: Counter[tuple[str, bool]] = Counter()
    for row in read_rows(pack, MODELS):
        error = judges.error(row["db_id"], row["query"])
        passes = judges.accepts(row["db_id"], row["query"], **FREE)
        kind = "prepared" if error is None else next((e for e in ERRORS if e in error), "other")
        counts[kind, passes] += 1
        if error is not None and passes and examples:
            print("    wrongly accepted:", error, repr(row["query"][:300]))
    kinds = sorted({kind for kind, _ in counts})
    result = {kind: {"accepted": counts[kind, True], "refused": counts[kind, False]} for kind in kinds}
    print(result)
    return result


def masks(pack: Path, everything: dict[str, Tables], queries: int) -> dict[str, Any]:
    """Return times of fills and masks, in microseconds."""
    tokenizer = load_tokenizer(pack / "tokenizers" / "llama3-128k")
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    rows = [row for file in GOLD.values() for row in read_rows(pack, file)]
    random.Random(1).shuffle(rows)
    compiler = sm.Compiler(vocabulary)
    compiled: dict[str, Any] = {}
    for name in {row["db_id"]: None for row in rows[:queries]}:
        compiled[name] = compiler.compile(Grammar.from_sql("sqlite", schema=everything[name]))
    cold: list[np.ndarray] = []
    warm: list[float] = []
    for row in rows[:queries]:
        ids = tokenizer.encode(row["query"], add_special_tokens=False)
        first = _first_pass(compiled[row["db_id"]], ids, mask)
        if first is None:  # not of the grammar, see the coverage
            continue
        cold.append(first)
        passes = [_pass(compiled[row["db_id"]], [ids], mask)[0] for _ in range(3)]
        warm += list(np.minimum(passes[1], passes[2]))
    every = np.concatenate(cold)
    result = {
        "queries": len(cold),
        "tokens": len(every),
        "warm_us": _figures(np.array(warm)),
        "cold_us": {**_figures(every), "max": round(float(every.max()), 2)},
    }
    print(result)
    return result


def _first_pass(compiled: Any, ids: list[int], mask: Any) -> np.ndarray | None:
    """Return the microseconds of the processor that each mask along a query takes, None if it is refused."""
    matcher = compiled.matcher()
    times = []
    for token in ids:
        begin = time.process_time_ns()
        matcher.fill_next_token_bitmask(mask)
        times.append(time.process_time_ns() - begin)
        if not matcher.accept_token(token):
            return None
    return np.array(times) / 1e3


def main() -> None:
    """Run all of it and print or write the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write results/sql_schema.json")
    parser.add_argument("--queries", type=int, default=60, help="so many gold queries for the masks")
    parser.add_argument("--examples", type=int, default=0, help="show so many statements that differ")
    options = parser.parse_args()
    pack = datapack()
    if pack is None:
        raise SystemExit("the data pack is not there: set STACKMASK_DATA")
    everything = schemas(pack)
    judges = Judges(everything)
    gold, wrong = coverage(pack, judges, options.examples)
    result = {
        "gold": gold,
        "misspelt": wrong,
        "models": models(pack, judges, options.examples),
        "masks": masks(pack, everything, options.queries),
    }
    if options.write:
        print(
            write_result(
                "sql_schema",
                "python lab/benchmarks/sql_schema.py --write",
                result,
                sqlite=sqlite3.sqlite_version,
            )
        )


if __name__ == "__main__":
    main()
