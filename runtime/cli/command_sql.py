"""``stackmask sql``: a question, the SQL that answers it, and the rows."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.syntax import Syntax

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.visible import visible
from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.runtime.cli.changes import asked_change
from stackmask.runtime.cli.checking import explain, judge
from stackmask.runtime.cli.confidence import is_unsure, mean_log_probability
from stackmask.runtime.cli.console import messages, output, show, show_error
from stackmask.runtime.cli.database import ANSWER_BYTES, Database, QueryError, Rows
from stackmask.runtime.cli.loading import load_model, refuse_missing_model
from stackmask.runtime.cli.open_database import open_database
from stackmask.runtime.cli.prompts import Prompt, describe_table, make_embedded_prompt, make_prompt
from stackmask.runtime.cli.tables import Format, show_rows
from stackmask.runtime.cli.unknown_words import note_unknown_words
from stackmask.runtime.embedded import bundled_database, bundled_names, can_read, prompt_for
from stackmask.runtime.strings.engine import compile_for_text

ANSWERED, FAILED = 0, 1
LISTED = 8  # tables that a message names
_FENCED = re.compile(r"```[a-zA-Z]*[ \t]*\n(.*?)(?:\n```|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Asking:
    """How to answer. ``timeout`` in seconds, ``rows`` the most that are shown, ``size`` their bytes together."""

    max_new_tokens: int = 256
    timeout: float = 10.0
    rows: int = 50
    form: Format = "table"
    explain: bool = False
    constrained: bool = True
    size: int = ANSWER_BYTES


def run_sql(question: str, db: str | None, model_name: str | None, how: Asking) -> int:
    """Answer a question, with the notes after it, where a long answer does not push them away; return the exit status."""
    notes: list[str] = []
    change = asked_change(question)
    status = _ask(question, db, model_name, how, notes)
    if change is not None:
        other = "; if so, what is shown answers another one" if status == ANSWERED else ""
        notes.insert(
            0,
            f"only reading is possible: nothing was changed. The question seems to ask for a change ({change}){other}",
        )
    for note in notes:
        show_error(f"note: {note}")
    return status


def _ask(question: str, db: str | None, model_name: str | None, how: Asking, notes: list[str]) -> int:
    refuse_missing_model(model_name)
    source, known = find_database(db)
    with closing(open_database(source)) as database:  # errors of the database come before the model is loaded
        if model_name is None and not known and not can_read():
            raise SQLError(_ask_for_model(database))
        if model_name is None:
            prompt_for(question)  # and so do those of the question
        grammar = make_grammar(database) if how.constrained else None
        with messages().status("loading the model"):
            model, tokenizer = load_model(model_name, reading=not known)
        prompt = _prompt(question, database, model, tokenizer, how, embedded=model_name is None, known=known)
        query = _write(prompt, model, tokenizer, grammar, how, notes, embedded=model_name is None)
        if query is None:
            return FAILED
        if not how.constrained and not only_reads(query, database.dialect):
            return FAILED
        strange = None if how.explain else note_unknown_words(question, query, database)
        if strange is not None:
            notes.append(strange)
        return _answer(database, query, how)


def _ask_for_model(database: Database) -> str:
    """Say what to do where the model that comes along cannot help."""
    names = [table.name for table in database.schema.tables]
    more = ", …" if len(names) > LISTED else ""
    found = f"{len(names)} table{'s' if len(names) != 1 else ''} ({', '.join(names[:LISTED])}{more})"
    return (
        f"the database opens and has {found}, but the model that comes with stackmask knows the bundled shop only: name one "
        "with --model, a folder or a name of the hub (such as Qwen/Qwen2.5-Coder-1.5B-Instruct)"
    )


def show_tables(db: str | None) -> int:
    """Print the tables of a database as a model is shown them; return the exit status."""
    source, _ = find_database(db)
    with closing(open_database(source)) as database:
        keys = database.keys()
        for table in database.schema.tables:
            show(output(), describe_table(table, database.schema, keys))
    return ANSWERED


def find_database(db: str | None) -> tuple[str | Path, bool]:
    """Return where a database is, and whether it is the one that the embedded model was trained on."""
    if db is None:
        return bundled_database(), True
    if db in bundled_names() and not Path(db).exists():
        return bundled_database(db), db == bundled_names()[0]
    known = False
    with contextlib.suppress(OSError, ValueError):  # a name that no file can have: opening it says so
        path = Path(db)
        known = "://" not in db and path.is_file() and path.resolve() == bundled_database().resolve()
    return db, known


def make_grammar(database: Database) -> Grammar:
    """Return the grammar that queries of a database are written in: with its names, and as a model is to spell them."""
    try:
        return Grammar.from_sql(database.dialect, schema=database.schema, profile="model")
    except SQLError as error:
        show_error(f"note: names of tables and columns are not checked ({error})")
    return Grammar.from_sql(database.dialect, profile="model")


def _prompt(
    question: str, database: Database, model: Any, tokenizer: Any, how: Asking, *, embedded: bool, known: bool
) -> Any:
    if embedded and known:
        return prompt_for(question)
    if embedded:
        show_error(
            "note: the model that comes with stackmask is often wrong about other databases than the shop; see --model"
        )
        made: Prompt = make_embedded_prompt(question, database.schema, tokenizer, how.max_new_tokens)
    else:
        chat = bool(getattr(tokenizer, "chat_template", None))
        made = make_prompt(question, database, model, tokenizer, how.max_new_tokens, chat=chat)
    if made.shown < made.total:
        show_error(f"note: the model's context holds {made.shown:,} of the {made.total:,} tables")
    return made.text


def _write(
    prompt: Any,
    model: Any,
    tokenizer: Any,
    grammar: Grammar | None,
    how: Asking,
    notes: list[str],
    *,
    embedded: bool,
) -> str | None:
    """Let the model write the query, show it as it comes, and return it; None if it was cut off."""
    from stackmask.runtime.generation import generate

    console = output() if how.form == "table" else messages()
    with _streaming(console) as add:
        (result,) = generate(
            model,
            tokenizer,
            [prompt],
            grammar,
            max_new_tokens=how.max_new_tokens,
            do_sample=False,
            on_text=lambda _, text: add(text),
        )
    query = bare_query(result.text)
    if console.is_terminal:
        console.print(_highlighted(query))
    else:
        show(console, query)
    if not result.finished:
        show_error(f"error: {result.note}")
        return None
    if is_unsure(mean_log_probability(model, tokenizer, prompt, result.token_ids), embedded=embedded):
        notes.append(
            "low confidence: the model was not sure of this query; does the question fit the tables?"
        )
    return query


@contextlib.contextmanager
def _streaming(console: Console) -> Iterator[Callable[[str], None]]:
    """On a terminal, show a spinner and behind it the text so far; it is gone afterwards."""
    if not console.is_terminal:
        yield lambda text: None
        return
    written = ""
    spinner = Spinner("dots", text="writing the query")
    with Live(spinner, console=console, transient=True, refresh_per_second=12) as live:

        def add(text: str) -> None:
            nonlocal written
            written += text
            live.update(_highlighted(written + " ▌"))

        yield add


def _highlighted(query: str) -> Syntax:
    return Syntax(visible(query), "sql", background_color="default", word_wrap=True)


def bare_query(text: str) -> str:
    """Return what a model wrote, without the fence that models without a grammar like to put around SQL."""
    found = _FENCED.search(text)
    return (found[1] if found else text).strip()


def only_reads(query: str, dialect: str) -> bool:
    """Say whether a text written without a grammar is one query without side effects; if not, show why.

    The database refuses writes by itself. It does not refuse functions that stop other sessions or read files.
    """
    grammar = Grammar.from_sql(dialect, functions="any", allow_comments=True)
    data = query.encode("utf-8", "surrogateescape")
    verdict = judge(compile_for_text(grammar), data)
    if not verdict.accepted:
        _, _, place = explain(verdict, data, "<query>").partition("\n")
        show_error(f"error: refused, and not run: this is no query that only reads\n{place}")
    return verdict.accepted


def _answer(database: Database, query: str, how: Asking) -> int:
    console = output()
    try:
        if how.explain:
            lines = database.plan(query, timeout=how.timeout)
            if how.form == "table":
                console.print()
                show(console, "\n".join(lines))
            else:
                show_rows(Rows(["plan"], [[line] for line in lines], False), how.form)
            return ANSWERED
        rows = database.run(query, timeout=how.timeout, limit=how.rows, size=how.size)
    except QueryError as error:
        show_error(f"error: {error}")
        return FAILED
    if how.form == "table":
        console.print()
    show_rows(rows, how.form)
    if rows.more:
        shown = f"{how.rows} rows are" if how.rows != 1 else "row is"
        show(messages(), f"only the first {shown} shown; see --rows", "dim")
    return ANSWERED
