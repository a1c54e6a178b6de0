"""``stackmask sql``: a question, the SQL that answers it, and the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from stackmask.grammar.grammar import Grammar
from stackmask.runtime.cli.console import messages, output, show_error
from stackmask.runtime.cli.database import QueryError, Rows, connect, read_schema, run_query
from stackmask.runtime.cli.loading import load_model
from stackmask.runtime.extras import require

ANSWERED, FAILED = 0, 1


def run_sql(
    question: str, db: Path | None, model_name: str | None, *, max_new_tokens: int, timeout: float, shown: int
) -> int:
    """Answer a question; return the exit status."""
    path = db or _bundled()
    connect(path).close()  # a bad file is noticed before the model is loaded
    if model_name is None and path.resolve() != _bundled().resolve():
        show_error("note: the model that comes with stackmask knows the bundled database only; see --model")
    with messages().status("loading the model"):
        model, tokenizer = load_model(model_name)
    with messages().status("writing the query"):
        from stackmask.runtime.generation import generate

        prompt = make_prompt(question, path, tokenizer, embedded=model_name is None)
        grammar = Grammar.bundled("sql")
        (result,) = generate(
            model, tokenizer, [prompt], grammar, max_new_tokens=max_new_tokens, do_sample=False
        )
    query = result.text.strip()
    console = output()
    console.print(
        Syntax(query, "sql", background_color="default", word_wrap=True) if console.is_terminal else query,
        markup=False,
    )
    if not result.finished:
        show_error(f"error: {result.note}")
        return FAILED
    try:
        rows = run_query(path, query, timeout=timeout, limit=shown)
    except QueryError as error:
        show_error(f"error: {error}")
        return FAILED
    console.print()
    console.print(make_table(rows))
    if rows.more:
        messages().print(f"only the first {shown} rows are shown; see --rows", style="dim")
    return ANSWERED


def _bundled() -> Path:
    with require("hf"):
        from stackmask.runtime.embedded import bundled_database

    return bundled_database()


def make_prompt(question: str, path: Path, tokenizer: Any, *, embedded: bool) -> Any:
    """Return what the model is shown: the embedded one knows its tables, others are told."""
    if embedded:
        return f"{question}\n"
    task = (
        f"A SQLite database has these tables:\n\n{read_schema(path)}\n\n"
        f"Write one SELECT statement that answers this question, and nothing else: {question}"
    )
    if getattr(tokenizer, "chat_template", None):
        return [{"role": "user", "content": task}]
    return f"{task}\n\nSQL: "


def make_table(rows: Rows) -> Table:
    """Lay out the rows; numbers to the right, NULL set apart from the text "NULL"."""
    table = Table()
    for i, name in enumerate(rows.columns):
        values = [row[i] for row in rows.rows]
        is_number = all(isinstance(value, int | float) or value is None for value in values)
        table.add_column(Text(name), justify="right" if is_number and values else "left", overflow="fold")
    for row in rows.rows:
        table.add_row(*map(_cell, row))
    return table


def _cell(value: Any) -> Text:
    if value is None:
        return Text("NULL", style="dim")
    return Text(value.hex() if isinstance(value, bytes) else str(value))
