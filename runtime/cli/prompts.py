"""The prompt for a model: the tables of a database, and the question."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stackmask.grammar.sql.schema.inspect_sqlite import quoted
from stackmask.grammar.sql.schema.schema import Schema, Table
from stackmask.grammar.sql.scope.rules import needs_quotes
from stackmask.runtime.cli.database import Database, Keys, TableKey

LONGEST_TYPE: Final = 40  # characters: the values of an ENUM can be pages
UNKNOWN_CONTEXT: Final = 4096  # tokens, for models that do not say how many they read

_PLAIN = {"sqlite": re.compile(r"[A-Za-z_][A-Za-z0-9_]*"), "postgres": re.compile(r"[a-z_][a-z0-9_]*")}
_WORD = re.compile(r"[^\W\d_]+|\d+")


@dataclass(frozen=True, slots=True)
class Prompt:
    """The prompt of a model: a text, or the messages of a chat. It shows ``shown`` of ``total`` tables."""

    text: Any
    shown: int
    total: int


def describe_table(table: Table, schema: Schema, keys: Keys) -> str:
    """Return a table as a one-line CREATE statement: names, types, primary and foreign keys."""
    key = (table.schema, table.name)
    primary = keys.primary.get(key, ())
    references = {
        reference.columns[0]: reference.table
        for reference in keys.foreign.get(key, ())
        if len(reference.columns) == 1
    }
    entries = []
    for column in table.columns:
        parts = [spell(column.name, schema)]
        if column.type:
            parts.append(" ".join(column.type.split())[:LONGEST_TYPE])
        if primary == (column.name,):
            parts.append("PRIMARY KEY")
        if column.name in references:
            parts.append(f"REFERENCES {_place(references[column.name], schema)}")
        entries.append(" ".join(parts))
    if len(primary) > 1:
        entries.append(f"PRIMARY KEY ({', '.join(spell(name, schema) for name in primary)})")
    for reference in keys.foreign.get(key, ()):
        if len(reference.columns) > 1:
            listed = ", ".join(spell(name, schema) for name in reference.columns)
            entries.append(f"FOREIGN KEY ({listed}) REFERENCES {_place(reference.table, schema)}")
    kind = "VIEW" if table.is_view else "TABLE"
    return f"CREATE {kind} {qualified(table, schema)} ({', '.join(entries)});"


def spell(name: str, schema: Schema) -> str:
    """Return a name, quoted if the dialect requires it."""
    dialect = schema.dialect or "sqlite"
    plain = _PLAIN[dialect].fullmatch(name) and not needs_quotes(dialect, name)
    return name if plain else quoted(name)


def qualified(table: Table, schema: Schema) -> str:
    """Return the name of a table, quoted if the dialect requires it, with its schema if necessary."""
    return _place((table.schema, table.name), schema)


def _place(key: TableKey, schema: Schema) -> str:
    place, name = key
    if place is None or place in schema.default_schemas[: 2 if schema.dialect == "sqlite" else None]:
        return spell(name, schema)
    return f"{spell(place, schema)}.{spell(name, schema)}"


def make_prompt(
    question: str, database: Database, model: Any, tokenizer: Any, max_new_tokens: int, *, chat: bool
) -> Prompt:
    """Return the prompt for a model that was not trained on the database.

    If its context cannot hold all tables, as many as fit are shown, beginning with those that share most
    words with the question.
    """
    schema, keys = database.schema, database.keys()

    def put(tables: Sequence[Table]) -> Any:
        listed = "\n".join(describe_table(table, schema, keys) for table in tables)
        task = (
            f"A {database.product} database has these tables:\n\n{listed}\n\n"
            f"Write one SELECT statement that answers this question, and nothing else: {question}"
        )
        return [{"role": "user", "content": task}] if chat else f"{task}\n\nSQL: "

    room = context_of(model, tokenizer) - max_new_tokens

    def fits(tables: Sequence[Table]) -> bool:
        prompt = put(tables)
        if chat:
            prompt = tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True)
        return len(tokenizer(prompt)["input_ids"]) <= room

    return _fitting(question, schema, put, fits)


def _fitting(
    question: str,
    schema: Schema,
    put: Callable[[Sequence[Table]], Any],
    fits: Callable[[Sequence[Table]], bool],
) -> Prompt:
    """Show as many tables as fit, the most relevant ones, in the schema's order. Cost: log(tables) attempts."""
    tables = schema.tables
    if fits(tables):
        return Prompt(put(tables), len(tables), len(tables))
    nearest = by_relevance(question, tables)
    low, high = 0, len(tables)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(_chosen(tables, nearest[:middle])) else (low, middle)
    return Prompt(put(_chosen(tables, nearest[:low])), low, len(tables))


def _chosen(tables: Sequence[Table], places: Sequence[int]) -> list[Table]:
    return [tables[place] for place in sorted(places)]


def by_relevance(question: str, tables: Sequence[Table]) -> list[int]:
    """Return the indices of tables, beginning with those that share most words with a question.

    A word in a table's name counts three times as much as one in a column's; plurals count as singulars.
    """
    asked = _stems(question)
    scores = []
    for place, table in enumerate(tables):
        columns = set().union(*(_stems(column.name) for column in table.columns)) if table.columns else set()
        scores.append((-(3 * len(asked & _stems(table.name)) + len(asked & columns)), place))
    return [place for _, place in sorted(scores)]


def _stems(text: str) -> set[str]:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return {word.lower().removesuffix("s") for word in _WORD.findall(spaced) if len(word) > 1}


def context_of(model: Any, tokenizer: Any) -> int:
    """Return the maximum number of tokens that a model reads."""
    positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    named = [n for n in (positions, getattr(tokenizer, "model_max_length", None)) if isinstance(n, int)]
    return min([n for n in named if 0 < n < 10**9], default=UNKNOWN_CONTEXT)
