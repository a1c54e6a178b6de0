"""Random queries under the masks of schema-aware grammars, prepared by the database itself.

    python lab/benchmarks/sql_walks.py [--walks N] [--seed N] [--examples N] [--write]

A walk takes random allowed tokens until the text ends. The vocabulary has the 256 bytes, words of SQL, and the names of the
schema, so that a walk is a query of some size and not a random word; from some length on it takes what closes. Schemas: all of Spider and BIRD.
What SQLite does not prepare (EXPLAIN, in a database with these tables and no rows) is counted and shown.
"""

from __future__ import annotations

import argparse
import bisect
import itertools
import json
import random
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from record import use_checkout, write_result

use_checkout()

import numpy as np
from support.datapack import datapack

import stackmask as sm
from stackmask.grammar.grammar import Grammar

Tables = dict[str, list[str]]
WALKS = 10_000
LONG = 20  # tokens from which a walk begins to close; some begin at a multiple or a part
LIMIT = 120
TRIES = 300
MASKED = 0.002  # of the steps also make the mask
OPERAND = {  # where an operand, a table or a query may begin
    "SELECT ": 6, "SELECT DISTINCT ": 1, "(SELECT ": 3, "VALUES (": 0.4, "WITH q AS (": 1.5, "WITH RECURSIVE r(c1) AS (": 0.5,
    "NOT ": 0.2, "EXISTS (": 0.5, "CASE WHEN ": 0.4, "CAST(": 0.3, "(": 0.7, "*": 3, "count(*)": 2, "count(": 1, "sum(": 1,
    "max(": 1, "group_concat(": 0.3, "lower(": 0.5, "coalesce(": 0.4, "rank() OVER (": 0.5, "row_number() OVER (": 0.3,
    "lag(": 0.2, "ORDER BY ": 1, "PARTITION BY ": 1, "DISTINCT ": 0.3, "1": 2, "2": 0.4, "7": 0.1, "'x'": 1, '"no name"': 0.2,
    "NULL": 0.2, "T1.": 4, "T2.": 2, "q": 1, "r": 1, "c1": 0.5, "total": 0.3, "-": 0.1, ")": 1, "T1.*": 0.5, "T1": 0.3, "T2": 0.3,
}  # fmt: skip
AFTER_OPERAND = {  # where an operand may end
    ", ": 4, " FROM ": 14, " WHERE ": 3, " JOIN ": 6, " LEFT JOIN ": 1, " CROSS JOIN ": 0.5, " NATURAL JOIN ": 1, " ON ": 10,
    " USING (": 3, " AS ": 1, " AS T1": 3, " AS T2": 2, " T1": 0.5, " AS c1": 1, " AS total": 1, " = ": 2, " > ": 1, " + ": 1, " || ": 0.3, " AND ": 1.5, " OR ": 0.5,
    " IS NULL": 0.4, " IS NOT ": 0.2, " IN (": 0.7, " NOT IN (": 0.3, " LIKE ": 0.3, " BETWEEN ": 0.3, " GROUP BY ": 2,
    " HAVING ": 2, " ORDER BY ": 2, " DESC": 0.5, " LIMIT ": 1, " OFFSET ": 1, " UNION ": 1, " UNION ALL ": 1, " INTERSECT ": 0.5,
    " EXCEPT ": 0.5, ")": 4, ".": 0.2, "(": 2, " OVER (": 2, " FILTER (WHERE ": 0.4, " THEN ": 6, " ELSE ": 1, " WHEN ": 0.5,
    " END": 0.03, " AS INTEGER)": 6, " ROWS 1 PRECEDING": 0.2, " COLLATE NOCASE": 0.1, " ": 0.1, " SELECT ": 6,
}  # fmt: skip
CLOSING = {
    ")": 60, " END": 0.5, " AS T1": 6, " AS T2": 6, " FROM ": 30, " THEN ": 10, "1": 4, " AS INTEGER)": 10, " ON ": 4, "SELECT ": 2, "(SELECT ": 0.3,
    " AS ": 0.1, "(": 0.5, ", ": 0.5, " JOIN ": 2, ".": 0.5, " OVER (": 9, "T1.": 1, "q": 0.1, " SELECT ": 4, "c1": 0.1, " USING (": 4,
    " AND ": 0.5, "ORDER BY ": 0.3,
}  # fmt: skip
SOURCE = re.compile(rb"(FROM|JOIN) $")
FEATURES = {
    "join": r"\bjoin\b|\bfrom\b[^()]*,",
    "subquery": r"\(\s*(select|values|with)\b",
    "set operation": r"\b(union|intersect|except)\b",
    "common table": r"\bwith\b",
    "aggregate": r"\b(count|sum|max|group_concat)\s*\(",
    "window": r"\bover\s*\(",
    "group by": r"\bgroup\s+by\b",
    "order by": r"\border\s+by\b",
    "using or natural": r"\b(using|natural)\b",
}


def schemas(pack: Path) -> dict[str, Tables]:
    """Return the tables and columns of all databases of Spider and BIRD."""
    found = {}
    for file in ("spider/all_166_schemas_compact.json", "spider/dev_schemas.json", "bird/dev_schemas.json"):
        for name, document in json.loads((pack / "sql" / file).read_text("utf-8")).items():
            tables = document["tables"] if isinstance(document, dict) else document
            found[name] = {
                table["name"]: [c if isinstance(c, str) else c["name"] for c in table["columns"]]
                for table in tables
                if not table["name"].startswith("sqlite_")
            }
    return found


def database(tables: Tables) -> sqlite3.Connection:
    """Return an empty database with these tables."""
    connection = sqlite3.connect(":memory:")
    connection.text_factory = bytes  # EXPLAIN shows the bytes of blobs as text
    for name, columns in tables.items():
        connection.execute(f"CREATE TABLE {_quoted(name)} ({', '.join(map(_quoted, columns))})")
    return connection


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def vocabulary(tables: Tables) -> tuple[sm.Vocabulary, list[str | None]]:
    """Return the vocabulary of a schema, and the texts that are no single bytes by their ids."""
    names = list(dict.fromkeys([*tables, *(column for columns in tables.values() for column in columns)]))
    pieces = [piece for some in (OPERAND, AFTER_OPERAND, CLOSING) for piece in some]
    for name in names:
        pieces += [name, f'"{name}"', f"{name}."] if re.fullmatch(r"[A-Za-z_]\w*", name) else [f"`{name}`"]
    pieces = list(dict.fromkeys(piece for piece in pieces if len(piece.encode()) > 1))
    tokens: list[bytes | None] = [bytes([byte]) for byte in range(256)]
    tokens += [piece.encode() for piece in pieces]
    return sm.Vocabulary([*tokens, None], stop_ids=[len(tokens)]), [*([None] * 256), *pieces, None]


class Walker:
    """Random texts of one grammar. Tokens are drawn by weight until one is allowed."""

    def __init__(
        self,
        tables: Tables,
        choice: random.Random,
        **options: Any,
    ) -> None:
        self.tables = set(tables)
        self.columns = tables
        self.names = {*tables, *(column for columns in tables.values() for column in columns)}
        tokens, self.pieces = vocabulary(tables)
        self.ids = {piece: token for token, piece in enumerate(self.pieces) if piece}
        self.stop = len(self.pieces) - 1
        self.compiled = sm.Compiler(tokens).compile(Grammar.from_sql("sqlite", schema=tables, **options))
        self.mask = sm.allocate_token_bitmask(1, tokens.size)
        self.choice = choice
        self.weights: dict[tuple[bool, bool], list[float]] = {}
        self.masks = 0
        self.unended = ""
        for key in [(c, b) for c in (False, True) for b in (False, True)]:
            weights = [self._weight(token, *key) for token in range(len(self.pieces))]
            self.weights[key] = list(itertools.accumulate(weights))

    def _weight(self, token: int, closing: bool, is_after_operand: bool) -> float:
        """Return how likely a token is. All names together are as likely as a few words."""
        if token == self.stop:
            return 300 if closing else 3
        piece = self.pieces[token] or chr(token)
        if closing and piece in CLOSING:
            return CLOSING[piece] if is_after_operand == (piece[0] in " ),.") or piece == ")" else 0.001
        known = (AFTER_OPERAND if is_after_operand else OPERAND).get(piece)
        if known is not None:
            return known * (0.1 if closing else 1)
        if piece.removesuffix(".") in self.tables and not is_after_operand:
            return 20 / len(self.tables)
        if piece.strip('"`') in self.names:
            return (0.005 if is_after_operand else 20) / len(self.names)
        return 0.01 if token >= 256 else 0.00003

    def _useful(self, text: str) -> dict[int, int]:
        """Return the tables, as tokens, that have columns which the text names, with how many."""
        written = set(re.findall(r"[\w$]+", text.lower()))
        useful = {}
        for table, columns in self.columns.items():
            uses = 5 * (table.lower() in written) + sum(column.lower() in written for column in columns)
            if uses and table in self.ids:
                useful[self.ids[table]] = uses
        return useful

    def walk(self) -> str | None:
        """Return a random text, or None if it does not end in time.

        Now and then the mask is made, and must say what the attempts say. Raises: AssertionError at a dead end.
        """
        matcher = self.compiled.matcher()
        text = b""
        is_after_operand = False
        long = self.choice.choice((LONG // 4, LONG // 2, LONG, LONG, 2 * LONG))
        for n in range(LIMIT):
            token = self._next(matcher, n > long, is_after_operand, text)
            if token == self.stop:
                return text.decode()
            piece = self.pieces[token] or chr(token)
            is_after_operand = piece[-1].isalnum() or piece[-1] in "_)'\"`]*"
            text += bytes([token]) if token < 256 else piece.encode()
        self.unended = text.decode("utf-8", "replace")
        return None

    def _next(self, matcher: sm.Matcher, closing: bool, is_after_operand: bool, text: bytes) -> int:
        if self.choice.random() < MASKED:
            self.masks += 1
            matcher.fill_next_token_bitmask(self.mask)
            bits = np.unpackbits(self.mask.view(np.uint8), bitorder="little")[: len(self.pieces)]
            for token in self.choice.sample(range(len(self.pieces)), 20):
                fork = matcher.fork()
                assert bool(fork.accept_token(token)) == bool(bits[token]), (text, self.pieces[token], token)
        weights = self.weights[closing, is_after_operand]
        if SOURCE.search(text) and self.choice.random() < 0.7:
            useful = self._useful(text.decode("utf-8", "replace"))
            if useful and matcher.accept_token(
                token := self.choice.choices(*zip(*useful.items(), strict=True))[0]
            ):
                return token
        for _ in range(TRIES):
            token = bisect.bisect(weights, self.choice.random() * weights[-1])
            if matcher.accept_token(token):
                return token
        for token in self.choice.sample(range(len(self.pieces)), len(self.pieces)):
            if matcher.accept_token(token):
                return token
        raise AssertionError(f"a dead end after {text!r}")


def walked(
    everything: dict[str, Tables],
    count: int,
    walker_of: Callable[[Tables], Walker],
    counts: Counter[str],
    features: Counter[str],
) -> Iterator[tuple[str, str]]:
    """Yield schemas and random texts of theirs, as many for each, and count what the texts have."""
    for k, (name, tables) in enumerate(sorted(everything.items())):
        share = count * (k + 1) // len(everything) - count * k // len(everything)
        walker = walker_of(tables) if share else None
        while share and walker:
            text = walker.walk()
            if text is None:
                counts["did not end"] += 1
                continue
            share -= 1
            counts["walks"] += 1
            counts["characters"] += len(text)
            found = {each for each, pattern in FEATURES.items() if re.search(pattern, text, re.IGNORECASE)}
            features.update(found)
            counts["with a join, subquery or set operation"] += bool(
                {"join", "subquery", "set operation"} & found
            )
            yield name, text


def main() -> None:
    """Walk, judge, and print or write the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--walks", type=int, default=WALKS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--examples", type=int, default=5, help="show so many queries that are not prepared")
    parser.add_argument("--show", type=int, default=0, help="show so many queries")
    parser.add_argument("--new-names", action="store_true", help="SELECT may name what only FROM makes")
    parser.add_argument("--write", action="store_true", help="write build/results/sql_walks.json")
    options = parser.parse_args()
    pack = datapack()
    if pack is None:
        raise SystemExit("the data pack is not there: set STACKMASK_DATA")
    choice = random.Random(options.seed)
    counts: Counter[str] = Counter()
    features: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    failures: list[dict[str, Any]] = []
    everything = schemas(pack)
    begin = time.process_time()
    connections = {name: database(tables) for name, tables in everything.items()}
    for name, text in walked(
        everything,
        options.walks,
        lambda tables: Walker(tables, choice, new_names=options.new_names),
        counts,
        features,
    ):
        if counts["walks"] <= options.show:
            print(repr(text))
        try:
            connections[name].execute("EXPLAIN " + text).fetchall()
            counts["prepared"] += 1
        except (sqlite3.Error, sqlite3.Warning) as error:
            reasons[re.sub(r"[:\"'].*|\d+", "", str(error))] += 1
            failures.append({"schema": name, "query": text, "error": str(error)})
            if len(failures) <= options.examples:
                print(name, error, repr(text), sep="\n    ")
    print(dict(counts), dict(features), dict(reasons), f"{time.process_time() - begin:.0f} s", sep="\n")
    if options.write:
        result = {
            "schemas": len(everything),
            "seed": options.seed,
            **counts,
            "share prepared": round(counts["prepared"] / counts["walks"], 5),
            "features": dict(features),
            "reasons": dict(reasons),
            "failures": failures[:20],
        }
        print(
            write_result(
                "sql_walks",
                f"python lab/benchmarks/sql_walks.py --walks {options.walks} --seed {options.seed} --write",
                result,
                sqlite=sqlite3.sqlite_version,
            )
        )


if __name__ == "__main__":
    main()
