"""``stackmask sql``: answer a question by a SQL query, and show the rows."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Literal

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.syntax import Syntax
from rich.table import Table as ShownTable
from rich.text import Text

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.visible import visible, visible_in_json
from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.grammar.sql.schema.schema import Schema, Table
from stackmask.runtime.cli.console import cell, messages, output, show, show_error
from stackmask.runtime.cli.database import ANSWER_BYTES, Database, QueryError, Rows
from stackmask.runtime.cli.loading import load_model, refuse_missing_model
from stackmask.runtime.cli.prompts import (
    describe_table,
    make_prompt,
    qualified,
    spell,
)
from stackmask.runtime.cli.query_process import open_database
from stackmask.runtime.embedded import bundled_database, prompt_for
from stackmask.runtime.matching.refusal import explain, judge
from stackmask.runtime.strings.engine import compile_for_text

ANSWERED, FAILED = 0, 1
LISTED = 8  # tables that a message names
_FENCED = re.compile(r"```[a-zA-Z]*[ \t]*\n(.*?)(?:\n```|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Asking:
    """How to answer. ``timeout`` in seconds, ``rows`` the maximum shown, ``size`` their total bytes."""

    max_new_tokens: int = 256
    timeout: float = 10.0
    rows: int = 50
    form: Format = "table"
    explain: bool = False
    constrained: bool = True
    size: int = ANSWER_BYTES


def run_sql(question: str, db: str | None, model_name: str | None, how: Asking) -> int:
    """Answer a question, and print notes after the answer, where they stay visible; return the exit status."""
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
        if model_name is None and not known:
            raise SQLError(_ask_for_model(database))
        if model_name is None:
            prompt_for(question)  # and so do those of the question
        grammar = make_grammar(database) if how.constrained else None
        with messages().status("loading the model"):
            model, tokenizer = load_model(model_name)
        prompt = _prompt(question, database, model, tokenizer, how, embedded=model_name is None)
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
    """Return advice for when the embedded model cannot help."""
    names = [table.name for table in database.schema.tables]
    more = ", …" if len(names) > LISTED else ""
    found = f"{len(names)} table{'s' if len(names) != 1 else ''} ({', '.join(names[:LISTED])}{more})"
    return (
        f"the database opens and has {found}, but the model that comes with stackmask knows the bundled shop only: name one "
        "with --model, a folder or a name of the hub (such as Qwen/Qwen2.5-Coder-1.5B-Instruct)"
    )


def show_tables(db: str | None) -> int:
    """Print the tables of a database as shown to a model; return the exit status."""
    source, _ = find_database(db)
    with closing(open_database(source)) as database:
        keys = database.keys()
        for table in database.schema.tables:
            show(output(), describe_table(table, database.schema, keys))
    return ANSWERED


def find_database(db: str | None) -> tuple[str | Path, bool]:
    """Return the location of a database, and whether the embedded model was trained on it."""
    if db is None or (db == "shop" and not Path(db).exists()):
        return bundled_database(), True
    known = False
    with contextlib.suppress(OSError, ValueError):  # a name that no file can have: opening it says so
        path = Path(db)
        known = "://" not in db and path.is_file() and path.resolve() == bundled_database().resolve()
    return db, known


def make_grammar(database: Database) -> Grammar:
    """Return the grammar for queries of a database, with its names and in the model's spelling."""
    try:
        return Grammar.from_sql(database.dialect, schema=database.schema, profile="model")
    except SQLError as error:
        show_error(f"note: names of tables and columns are not checked ({error})")
    return Grammar.from_sql(database.dialect, profile="model")


def _prompt(
    question: str, database: Database, model: Any, tokenizer: Any, how: Asking, *, embedded: bool
) -> Any:
    if embedded:
        return prompt_for(question)
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
    """Let the model write the query, show it while it is generated, and return it; None if it was truncated."""
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
    """On a terminal, show a spinner followed by the text so far; both disappear afterwards."""
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
    """Return the query that a model wrote, without the Markdown fence that unconstrained models often add."""
    found = _FENCED.search(text)
    return (found[1] if found else text).strip()


def only_reads(query: str, dialect: str) -> bool:
    """Return whether a text written without a grammar is one query without side effects; if not, show why.

    The database itself refuses writes, but not functions that stop other sessions or read files.
    """
    grammar = Grammar.from_sql(dialect, functions="any", allow_comments=True)
    data = query.encode("utf-8", "surrogateescape")
    verdict = judge(compile_for_text(grammar), data)
    if not verdict.accepted:
        _, _, place = explain(verdict, data, "<query>").partition("\n")
        show_error(f"error: refused, and not run: this is not a query that only reads\n{place}")
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


# How sure a model was of what it wrote: a note beside an answer that it would hardly have written by itself


# natural logarithms, the mean over the tokens of an answer. Of the 200 held-out questions about the shop 5 of 192 that are
# answered right are below, and 5 of 8 wrong ones; of 24 questions that the shop does not answer 21
LEAST_EMBEDDED: Final = -0.05
LEAST_OTHER: Final = -1.0  # other models spread their weight over more spellings; this one is not calibrated
LONGEST: Final = 8_192  # tokens that are read again


def mean_log_probability(model: Any, tokenizer: Any, prompt: Any, token_ids: Sequence[int]) -> float | None:
    """Return the mean log-probability that a model assigns to its own tokens, without the grammar.

    None if the text is empty, or too long to be read again. Cost: one pass of the model.
    """
    import torch

    if isinstance(prompt, str):
        before = tokenizer(prompt)["input_ids"]
    else:
        text = tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True)
        before = tokenizer(text, add_special_tokens=False)["input_ids"]
    if (
        not before
        or not token_ids
        or len(before) + len(token_ids) > LONGEST
        or model.config.is_encoder_decoder
    ):
        return None
    ids = torch.tensor([[*before, *token_ids]], device=model.device)
    with torch.no_grad():
        logits = model(ids).logits[0, len(before) - 1 : -1].float()
    chosen = torch.log_softmax(logits, -1).gather(1, ids[0, len(before) :, None])
    return float(chosen.mean())


def is_unsure(mean: float | None, *, embedded: bool) -> bool:
    """Return whether an answer should be marked as uncertain."""
    return mean is not None and mean < (LEAST_EMBEDDED if embedded else LEAST_OTHER)


# -- Show rows: as a table for people, as CSV or JSON for programs -----------------------------------------


LONGEST_CELL: Final = 1_000  # characters shown of one value in the table for people
LONGEST_NAME: Final = 200
LONGEST_INTEGER: Final = 4_000  # digits; Python writes and reads no longer integers without being told to

Format = Literal["table", "csv", "json"]


def show_rows(rows: Rows, form: Format) -> None:
    """Write rows to standard output. No format emits control characters: JSON escapes them, the others show them."""
    if form == "table":
        output().print(make_table(rows))
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow([visible(name) for name in rows.columns])
        writer.writerows(
            ["" if value is None else visible(text_of(value)) for value in row] for row in rows.rows
        )
    else:
        names = unique_names(rows.columns)
        found = [dict(zip(names, map(json_value, row), strict=True)) for row in rows.rows]
        sys.stdout.write(visible_in_json(json.dumps(found, ensure_ascii=False, indent=2)) + "\n")
    sys.stdout.flush()


def make_table(rows: Rows) -> ShownTable:
    """Build the table; numbers are right-aligned, and NULL differs from the text "NULL"."""
    table = ShownTable()
    for i, name in enumerate(rows.columns):
        values = [row[i] for row in rows.rows if row[i] is not None]
        numbers = bool(values) and all(isinstance(value, int | float | Decimal) for value in values)
        table.add_column(
            cell(shortened(name, LONGEST_NAME)), justify="right" if numbers else "left", overflow="fold"
        )
    for row in rows.rows:
        table.add_row(
            *(
                Text("NULL", style="dim") if value is None else cell(shortened(text_of(value), LONGEST_CELL))
                for value in row
            )
        )
    return table


def shortened(text: str, most: int) -> str:
    """Return the beginning of a text longer than ``most``, together with its length."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"


def text_of(value: Any) -> str:
    """Return a value as text; bytes in hexadecimal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.hex() if isinstance(value, bytes | bytearray | memoryview) else str(value)


def json_value(value: Any) -> Any:
    """Return a value for JSON: exact numbers as numbers, others as text; bytes in hexadecimal."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal):
        if not value.is_finite() or value.adjusted() > LONGEST_INTEGER:
            return str(value)
        if value == value.to_integral_value():
            return int(value)
        return float(value) if Decimal(repr(float(value))) == value else str(value)
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, dict):
        return {str(key): json_value(item) for key, item in value.items()}
    return text_of(value)


def unique_names(names: Sequence[str]) -> list[str]:
    """Return names for the keys of an object: a second ``n`` becomes ``n_2``."""
    found: dict[str, None] = {}
    numbers: dict[str, int] = {}
    for name in names:
        wanted = name
        while wanted in found:
            numbers[name] = numbers.get(name, 1) + 1
            wanted = f"{name}_{numbers[name]}"
        found[wanted] = None
    return list(found)


# -- Questions that ask for a change: ``stackmask sql`` only reads, and says so beside the answer ----------


LONGEST_CHANGE: Final = 2_000  # characters of a question that are looked at

_POLITE = (
    r"(?:(?:please|kindly|now|then|just|first|(?:can|could|will|would) you|you (?:must|should|have to)|go ahead and|let us|let's"
    r"|i (?:want|need|would like)(?: you)? to|i'd like(?: you)? to)[\s,]+){0,4}"
)
# a verb that hardly means anything but a change, unless it is a noun here: "drop in revenue", "update dates of orders"
_CHANGES = (
    r"(?:delete|remove|erase|drop|truncate|insert|update|alter|rename|overwrite|purge|wipe|destroy|modify|edit|cancel|undo"
    r"|replace|deactivate|revoke|upsert)"
)
_NO_NOUN = r"(?!\s+(?:in|of|off|per|by|rates?|dates?|times?|history|logs?|counts?|numbers?)\b)"
# verbs that mean one with such an object only: "add up the totals", "create a list", "set of tables", "change since 2020"
_WITH_OBJECT = (
    r"add\s+(?:an?|another|one|two|new|\d+)\b",
    r"add\s.+\s(?:to|into)\s",
    r"create\s(?!.*\b(?:lists?|tables? of|reports?|summary|overview|ranking|chart|graph|plot|view of|breakdown|histogram|query)\b)",
    r"(?:set|change)\s(?!(?:in|of|from|since|by)\b).+\sto\s",
    r"(?:raise|lower|increase|decrease|reduce)\s.+\s(?:to|by)\s+(?:\W?\d|half\b|an?\b)",
    r"(?:change|raise|lower|increase|decrease|reduce|double|halve|clear|correct)\s+(?:the|all|every|each|its|their|my|our)\b",
    r"(?:move|transfer|assign)\s.+\sto\s",
    r"(?:mark|flag)\s.+\sas\s",
    r"(?:grant|give)\s.+\s(?:access|rights?|permissions?)\b",
)
_FIRST = re.compile(rf"\W*{_POLITE}(?P<word>{_CHANGES}\b{_NO_NOUN}|{'|'.join(_WITH_OBJECT)})", re.IGNORECASE)
_LATER = re.compile(
    rf"(?:\b(?:and|then)\s+(?:then\s+|also\s+)?|[.;!?]\s*)(?P<word>{_CHANGES}\s+(?:the|all|every|each|any|them|it|him|her|this|that"
    r"|these|those)\b)",
    re.IGNORECASE,
)
_SQL = re.compile(
    r"\b(?P<word>delete\s+from|insert\s+into|truncate\s+table|update\s+\w+\s+set|(?:drop|alter|create)\s+(?:temp(?:orary)?\s+)?"
    r"(?:table|view|index|trigger|database|schema|column|user|role))\b(?!\s+of\b)",
    re.IGNORECASE,
)


def asked_change(question: str) -> str | None:
    """Return the verb of a question that seems to request a change; None without such a verb.

    This looks for English verbs and SQL, and can be wrong in both ways, so it is only used for a note.
    """
    text = " ".join(question[:LONGEST_CHANGE].split())
    found = _SQL.search(text) or _FIRST.match(text) or _LATER.search(text)
    return None if found is None else found["word"].split()[0].lower()


# --------------------------------------------------------------------------------------------------------
# Words of a question that a database does not know: an answer that passes over them looks right, and is not
# --------------------------------------------------------------------------------------------------------

SECONDS: Final = 5.0  # for all values together; a database of some thousand rows takes a tenth of one
LONGEST_WORD: Final = 2_000  # characters of a question that are looked at
MOST_WORDS: Final = 4
MOST_COLUMNS: Final = 200  # with text, of all tables
FEW: Final = 8  # values of a column that are listed
LONGEST_VALUE: Final = 40  # characters
_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_PARTS: Final = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[^\W\d_]+")  # of names such as orderItems and order_items
_NO_TEXT: Final = re.compile(
    r"int|real|floa|doub|num|dec|bool|date|time|blob|bytea|json|uuid|serial|money|\[\]", re.IGNORECASE
)
_ENDINGS: Final = (
    ("s", ""), ("es", ""), ("ies", "y"), ("d", ""), ("ed", ""), ("ied", "y"), ("ing", ""), ("ing", "e"), ("ings", ""),
    ("er", ""), ("ers", ""), ("er", "e"), ("ier", "y"), ("iers", "y"), ("est", ""), ("est", "e"), ("iest", "y"),
    ("ly", ""), ("y", ""), ("ment", ""), ("ments", ""), ("ion", ""), ("ions", ""), ("ion", "e"), ("ity", ""),
)  # fmt: skip
# what questions of any database are made of; verbs and nouns of trade, which no value needs to spell
_PLAIN: Final = frozenset(
    """
    a about above according acquire across active actual add address after afterwards again against age ago all alone along
    alphabet alphabetical already also altogether always am amid among amount an and annual another answer any anybody
    anyone anything anywhere apart appear approve apr april are around arrive article as ascend ask associate at attend aug
    august available average avg award away back bad base be bear became because become been before begin behind being
    belong below beneath beside best better between beyond big bigger bill birth birthday book born both bottom bought bring
    brought build built but buy buyer by calculate call came can case cash cause change character charge cheap choose chose
    citizen client code colleague column combine come common company compare compute consider consist contain correspond
    cost costly could count country create cumulative current customer data database date day dear dec december decrease
    delete deliver delivery demand depart depend descend describe detail determine diagnose did didn differ difference different
    display distinct distinctive diverse do doe doesn doing dollar don done down duplicate during each earlier early earn
    eight eighteen eighth eighty either elder eleven else email employ employee empty end enough entire entry equal eur euro
    even ever every everybody everyone everything exact exceed except exclude exist expect expensive expire fact fall far
    fast feb february female few fewest field fifteen fifth fifty figure final find finish first five fly follow for form
    former forty found four fourteen fourth frequency frequent friday from full further gain gave gender general generate
    get give given go goes gone good goods got great greater gross group grow grown had half handle happen hardly has hasn
    have haven having he heavy her here hers high highest him hire his hit hold host hour how however hundred i id
    identification identify ids if important in include inclusive income increase index indicate information inside instead
    into involve is isn it item its jan january job join jul july jun june just keep kept kind know known land large last
    late latter lead leaderboard least leave led left length less let letter level lexicographical light like list little
    live locate long look lose lost lot love low made main make male man manage many mar march match max maximal maximum may
    me mean median member men mention middle million min mind minimal minimum minus minute miss moment monday money month
    more most much multiple must my name nation nationality near need neither never new newest next nine nineteen ninety
    ninth no nobody non none nor normal not note nothing nov november now nowhere null number numeric observe obtain occur
    oct october of off offer often old on once one only onto onward operate or order other otherwise our out outside over
    overall own owner page paid pair paper parcel part participant participate particular pay people per percent percentage
    perform period person phone piece place play please plus point populace popular position possess possible posted
    predominant present previous price print prior produce profit proportion provide purchase put quantity quarter query
    question quick quite raise range rank rare rate ratio reach read receive recent record regard regarding region register
    relate relation release remain repeat report require respective respectively result return revenue reverse review role
    round row run said salary sale same sat saturday save say score search second see sell send sent sep sept september
    serve set seven seventeen seventh seventy several share she ship shop shopper short should show side sign similar simple
    since single sit situate six sixteen sixth sixty size small so sold some somebody someone something sometimes somewhere
    soon sort speak special specific specify spend spender spent spoke spoken staff stand star start state status stay still
    stop store substring such sum summary sunday supply sure table take taken tall team telephone tell ten tenth term test
    text than thank that the their them then there these they thing think third thirteen thirty this those though thousand
    three through throughout thursday time times title to today together told took top total toward town tuesday turnover
    twelve twenty twice two type under unique unit unless unlike until up upon ups us use usual value various vary vendor
    version versus very via wage want was wasn way we website wednesday week weekday weekend weigh weight well went were
    weren what whatever when whenever where whether which whichever while who whoever whole whom whose why wide will win
    with within without woman women won word work worker world worse worst worth would write written wrote year yearly yes
    yesterday yet you young your zero
    """.split()  # noqa: SIM905
)


Ask = Callable[[str, int], Sequence[Any]]  # a query and the most rows; the first column, or the only row


def note_unknown_words(question: str, query: str, database: Database) -> str | None:
    """Return a note about words that no table, column or value has; None if there are none, or too much data.

    It is based on a list of English words, so it can name too many words, or miss words.
    Cost: ``SECONDS`` at most; no value is read if all words occur in names of tables and columns.
    """
    schema = database.schema
    words = _strange_words(question, schema)[:MOST_WORDS]
    deadline = time.monotonic() + SECONDS

    def ask(sql: str, limit: int) -> Sequence[Any]:
        rows = database.run(sql, timeout=deadline - time.monotonic(), limit=limit).rows
        return rows[0] if limit == 1 else [row[0] for row in rows]

    texts = {table: _text_columns(table) for table in schema.tables}
    if sum(map(len, texts.values())) > MOST_COLUMNS:
        return None
    read = _read_tables(query, schema)
    try:
        for table in sorted(texts, key=lambda table: table not in read):
            if words and texts[table]:
                words = _not_in(table, texts[table], words, schema, ask)
    except QueryError:  # the time is over: a word may stand in what was not read
        return None
    if not words:
        return None
    listed: list[str] = []
    with contextlib.suppress(QueryError):
        for table in read:
            for column in texts[table]:
                listed += _listed(table, column, schema, ask)
    return _sentence(words, listed)


def _sentence(words: list[str], listed: list[str]) -> str:
    named = " or ".join(f"`{word}`" for word in words)
    if len(words) == len(listed) == 1:
        return f"{named} is not a value of {listed[0]}"
    return f"no table, column or value has the word {named}"


def _strange_words(question: str, schema: Schema) -> list[str]:
    """Return the words, as written, that are neither plain English nor part of a name."""
    known = set(_PLAIN)
    for table in schema.tables:
        for name in (table.name, *(column.name for column in table.columns)):
            for part in (*_PARTS.findall(name), name):
                known |= _forms(part)
    found: dict[str, str] = {}
    for word in _WORD.findall(question[:LONGEST_WORD]):
        plain = re.split("['\u2019]", word)[0]
        if len(plain) > 2 and not _forms(plain) & known:  # codes and remains of words
            found.setdefault(plain.lower(), plain)
    return list(found.values())


def _forms(word: str) -> set[str]:
    """Return the word in lower case, and the words of which it may be a form."""
    word = word.lower()
    found = {word}
    for ending, instead in _ENDINGS:
        stem = word.removesuffix(ending) + instead
        if word.endswith(ending) and len(stem) > 2:
            found.add(stem)
            if stem[-1] == stem[-2]:  # biggest, shipped
                found.add(stem[:-1])
    return found


def _text_columns(table: Table) -> list[str]:
    return [column.name for column in table.columns if not _NO_TEXT.search(column.type)]


def _read_tables(query: str, schema: Schema) -> list[Table]:
    """Return the tables that a query names."""
    folded = query.lower()
    return [t for t in schema.tables if re.search(rf"(?<!\w){re.escape(t.name.lower())}(?!\w)", folded)]


def _not_in(table: Table, columns: list[str], words: list[str], schema: Schema, ask: Ask) -> list[str]:
    """Return the words of which no value in a table has a form. Cost: one query."""
    tests = []
    for word in words:
        texts = [f"' ' || LOWER(CAST({spell(column, schema)} AS TEXT)) || ' '" for column in columns]
        forms = sorted(_forms(word) | {f"{word.lower()}s"})
        if schema.dialect == "postgres":
            ways = [f"{text} ~ '\\m({'|'.join(forms)})\\M'" for text in texts]
        else:  # SQLite's LOWER leaves letters beyond ASCII as they are
            forms += [form.capitalize() for form in forms if not form.isascii()]
            ways = [f"{text} GLOB '*[^a-z]{form}[^a-z]*'" for text in texts for form in forms]
        tests.append(f"EXISTS (SELECT 1 FROM {qualified(table, schema)} WHERE {' OR '.join(ways)})")
    found = ask(f"SELECT {', '.join(tests)}", 1)
    return [word for word, there in zip(words, found, strict=True) if not there]


def _listed(table: Table, column: str, schema: Schema, ask: Ask) -> list[str]:
    """Return a column with its values, if these are a few short texts with repetitions."""
    name, most = spell(column, schema), FEW + 2
    cells = f"{name} FROM {qualified(table, schema)} WHERE {name} IS NOT NULL LIMIT {most}"
    values = ask(f"SELECT DISTINCT {cells}", most)
    if len(values) > FEW or not all(isinstance(value, str) for value in values):
        return []
    if len(ask(f"SELECT {cells}", most)) <= len(values):
        return []
    if any(not value[:1].isalpha() or len(value) > LONGEST_VALUE for value in values):
        return []
    return [f"{table.name}.{column}; these are: {', '.join(sorted(values))}"]
