"""SQL over a schema: a byte of options, then the statements that make the tables."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import stackmask as sm
from fuzz.checks import NAMED_ERRORS, make_vocabulary, random_of, walk_grammar
from fuzz.mutators import TextMutator, mutate_input

MAX_LENGTH = 800
# a grammar of SQL has some thousand terms before its first mask
LIMITS = sm.Limits(
    max_terms=1_000_000,
    max_configurations=1_000_000,
    max_members=5_000,
    max_semantic_states=50_000,
    max_explored=20_000,
    max_work=40_000_000,
)
# the engine remembers the rules of the latest ways to call it only; a new one takes a second
CALLS: tuple[dict[str, Any], ...] = (
    {"dialect": "sqlite"},
    {"dialect": "postgres"},
    {"dialect": "sqlite", "allow_comments": True, "max_limit": 10},
    {"dialect": "postgres", "escape": "-- no", "blanks": "single"},
    {"dialect": "sqlite", "escape": "-- no", "blanks": "single"},
    {"dialect": "postgres", "allow_comments": True, "max_limit": 10},
)
TYPES = (
    "INTEGER",
    "TEXT",
    "REAL",
    "BLOB",
    "NUMERIC",
    "VARCHAR(20)",
    "DECIMAL(10, 2)",
    "timestamp with time zone",
    "int[]",
    "bool",
)
NAMES = ("t", "u", "Order", "select", "a", "b", "id", "naïve", "x y", "A", "tab_1")
QUOTED = ("[x y]", '"x ""y"', "`z`", "'w'", '""', "main.t", "public.t")
PIECES = (
    *(
        "CREATE TABLE ",
        "CREATE VIEW v AS SELECT a FROM t;",
        "IF NOT EXISTS ",
        "PRIMARY KEY",
        "NOT NULL",
        "UNIQUE",
        "CHECK (a > 0)",
    ),
    *(
        "REFERENCES u(id)",
        "FOREIGN KEY (a) REFERENCES u (b)",
        "DEFAULT 'x'",
        "DEFAULT (1 + 2)",
        "COLLATE NOCASE",
        "WITHOUT ROWID",
    ),
    *(
        "GENERATED ALWAYS AS (a + 1)",
        "TEMP ",
        "STRICT",
        "AUTOINCREMENT",
        "-- x\n",
        "/* x */",
        ";",
        ",",
        "(",
        ")",
        "AS SELECT 1",
        "\n",
    ),
    *(
        "CONSTRAINT c ",
        "ALTER TABLE t ADD COLUMN z INT;",
        "CREATE TYPE mood AS ENUM ('a', 'b');",
        "CREATE INDEX i ON t(a);",
        "\x00",
    ),
    *(*TYPES, *NAMES, *QUOTED),
)
ALONE = 0.002  # a compiler of its own takes fifty times as long
vocabulary = make_vocabulary()


def fresh(source: random.Random) -> str:
    """Return a random table."""
    name = source.choice((*NAMES, *QUOTED))
    columns = [
        f"{source.choice((*NAMES, *QUOTED))} {source.choice(TYPES)} {source.choice(('', '', 'NOT NULL', 'PRIMARY KEY', 'UNIQUE'))}"
        for _ in range(source.randint(1, 4))
    ]
    return f"CREATE TABLE {name} ({', '.join(columns)});\n"


mutator = TextMutator(PIECES, fresh)


def mutate(data: bytes, source: random.Random) -> bytes:
    return mutate_input(data, source, mutator)


def seeds() -> Iterator[bytes]:
    """Yield random schemas."""
    source = random.Random(0)
    for _ in range(60):
        text = "".join(fresh(source) for _ in range(source.randint(1, 3)))
        yield bytes([source.randrange(48, 112)]) + text.encode()


def run(data: bytes) -> None:
    options = data[0] if data else 0
    text = data[1:].decode("utf-8", "surrogateescape")
    source = random_of(data)
    try:
        grammar = sm.Grammar.from_sql(
            schema=text, new_names=options % 7 == 0, limits=LIMITS, **CALLS[options % len(CALLS)]
        )
        walk_grammar(grammar, vocabulary, source, 10, LIMITS, ALONE)
    except NAMED_ERRORS:
        return
