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
from stackmask.runtime.embedded import bundled_database, prompt_for

ANSWERED, FAILED = 0, 1


def run_sql(
    question: str, db: Path | None, model_name: str | None, *, max_new_tokens: int, timeout: float, shown: int
) -> int:
    """Answer a question; return the exit status."""
    path = db or bundled_database()
    connect(path).close()  # what is wrong with the file or the question is noticed before the model is loaded
    embedded = model_name is None
    if embedded and path.resolve() != bundled_database().resolve():
        show_error("note: the model that comes with stackmask knows the bundled database only; see --model")
    asked = prompt_for(question) if embedded else question
    with messages().status("loading the model"):
        model, tokenizer = load_model(model_name)
    with messages().status("writing the query"):
        from stackmask.runtime.generation import generate

        prompt = asked if embedded else make_prompt(asked, path, tokenizer)
        grammar = Grammar.bundled("sql")
        (result,) = generate(
            model, tokenizer, [prompt], grammar, max_new_tokens=max_new_tokens, do_sample=False
        )
    query = result.text.strip()
    console = output()
    if console.is_terminal:
        console.print(Syntax(query, "sql", background_color="default", word_wrap=True))
    else:
        console.print(query, markup=False, soft_wrap=True)
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


def make_prompt(question: str, path: Path, tokenizer: Any) -> Any:
    """Return what a model is shown that knows nothing of the database: its tables, and the question."""
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
