"""PostgreSQL queries over a schema, judged by a server of one's own: gold queries, and what models wrote.

    python lab/benchmarks/sql_postgres.py [--examples N] [--new-names] [--write]

The schemas are those of Spider and BIRD with their names in lower case. *Gold*: the SQLite queries of both that PostgreSQL
prepares (EXPLAIN) too, with all columns as text. *Models*: what models wrote for BIRD in PostgreSQL. What the server refuses is sorted by its code (SQLSTATE): errors of *types*, which the grammar does not
know, and all others, which it should not let through: *names*, grouping, columns counted, syntax.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from record import use_checkout, write_result

use_checkout()
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import psycopg
from sql import read_rows
from sql_schema import GOLD
from sql_walks import Tables, schemas
from support.byte_matcher import VOCABULARY
from support.datapack import datapack
from support.postgres_server import postgres_server

import stackmask as sm
from stackmask.grammar.grammar import Grammar

MODELS = "bird-llm-output/postgresql.jsonl.xz"
# no operator or function for these types, types that do not match or convert, texts that no value of a type has
TYPES = frozenset(
    {
        "42883",
        "42804",
        "42846",
        "42725",
        "42P18",
        "42P21",
        "42P22",
        "42P38",
        "42809",
        "22P02",
        "22007",
        "22008",
    }
    | {
        "22012",
        "22003",
        "22023",
        "22P03",
        "22030",
        "22032",
        "2201B",
        "22025",
        "2201E",
        "2201F",
        "22005",
        "22019",
    }
    | {"22015", "22011", "2202E", "22026", "54000", "22021", "2201G"}
)


class Judge:
    """A server with all schemas; queries are prepared and never run."""

    def __init__(
        self, connection: psycopg.Connection[Any], everything: dict[str, Tables], new_names: bool
    ) -> None:
        self.connection = connection
        self.options = {"new_names": new_names}
        self.everything = {name: _lower(tables) for name, tables in everything.items()}
        self.made: set[str] = set()
        self.compiler = sm.Compiler(VOCABULARY)
        self.compiled: dict[str, Any] = {}

    def error(self, name: str, query: str) -> psycopg.Error | None:
        """Return why the server does not prepare a query, None if it does."""
        if name not in self.made:
            self.made.add(name)
            self.connection.execute(f'CREATE SCHEMA "{name}"')
            for table, columns in self.everything[name].items():
                listed = ", ".join(f"{_quoted(column)} text" for column in columns)
                self.connection.execute(f'CREATE TABLE "{name}".{_quoted(table)} ({listed})')
        self.connection.execute(f'SET search_path = "{name}"')
        try:
            self.connection.execute("EXPLAIN " + query)
        except psycopg.Error as error:
            return error
        return None

    def accepts(self, name: str, query: str) -> bool:
        """Tell whether the grammar takes the query."""
        if name not in self.compiled:
            self.compiled[name] = self.compiler.compile(
                Grammar.from_sql("postgres", schema=self.everything[name], **self.options)
            )
        matcher = self.compiled[name].matcher()
        return bool(matcher.accept_string(query) and matcher.is_accepting())


def _lower(tables: Tables) -> Tables:
    return {
        table.lower(): list(dict.fromkeys(c.lower() for c in columns)) for table, columns in tables.items()
    }


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def kind(error: psycopg.Error | None) -> str:
    """Return what a query is: prepared, or refused for its types, names or syntax."""
    if error is None:
        return "prepared"
    if error.sqlstate == "42883" and "operator" not in str(error) and _no_such_function(error):
        return "names"
    if error.sqlstate in TYPES:
        return "types"
    return "syntax" if error.sqlstate == "42601" else "names"


def _no_such_function(error: psycopg.Error) -> bool:
    name = str(error).removeprefix("function ").partition("(")[0].rpartition(".")[2].strip(chr(34))
    with psycopg.connect(SERVER[0], autocommit=True) as connection:
        found = connection.execute("SELECT 1 FROM pg_proc WHERE proname = %s", (name,)).fetchone()
    return found is None


SERVER: list[str] = []


def coverage(title: str, rows: list[dict[str, Any]], judge: Judge, examples: int) -> dict[str, Any]:
    """Return how many queries pass, by what the server says to them."""
    counts: Counter[tuple[str, bool]] = Counter()
    shown: Counter[tuple[str, bool]] = Counter()
    for row in rows:
        error = judge.error(row["db_id"], row["query"])
        passes = judge.accepts(row["db_id"], row["query"])
        key = kind(error), passes
        counts[key] += 1
        if (error is None) != passes and key[0] != "types" and shown[key] < examples:
            shown[key] += 1
            print("   ", key, row["db_id"], str(error).split("\n")[0], repr(row["query"][:400]))
    kinds = sorted({k for k, _ in counts})
    result = {"set": title} | {k: {"accepted": counts[k, True], "refused": counts[k, False]} for k in kinds}
    print(result, flush=True)
    return result


def main() -> None:
    """Run all of it and print or write the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--examples", type=int, default=0, help="show so many statements that differ")
    parser.add_argument("--only", choices=["gold", "models"], help="a part alone")
    parser.add_argument("--new-names", action="store_true", help="SELECT may name what only FROM makes")
    parser.add_argument("--write", action="store_true", help="write results/sql_postgres.json")
    options = parser.parse_args()
    pack = datapack()
    if pack is None:
        raise SystemExit("the data pack is not there: set STACKMASK_DATA")
    begin = time.process_time()
    with postgres_server() as server, psycopg.connect(server.conninfo, autocommit=True) as connection:
        SERVER[:] = [server.conninfo]
        judge = Judge(connection, schemas(pack), options.new_names)
        result: dict[str, Any] = {"server": server.version}
        if options.only in (None, "gold"):
            result["gold"] = [
                coverage(t, list(read_rows(pack, f)), judge, options.examples) for t, f in GOLD.items()
            ]
        if options.only in (None, "models"):
            result["models"] = coverage("models", list(read_rows(pack, MODELS)), judge, options.examples)
    print(f"{time.process_time() - begin:.0f} s")
    if options.write:
        print(write_result("sql_postgres", "python lab/benchmarks/sql_postgres.py --write", result))


if __name__ == "__main__":
    main()
