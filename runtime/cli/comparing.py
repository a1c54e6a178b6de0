"""``stackmask compare``: compare all engines on one language."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.table import Table

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.runtime.cli.command_diagram import write_file
from stackmask.runtime.cli.console import cell, messages, output, show_error
from stackmask.runtime.cli.console import show as show_text
from stackmask.runtime.cli.grammars import import_type
from stackmask.runtime.comparison.engines import PUSHDOWN
from stackmask.runtime.comparison.measuring import Column
from stackmask.runtime.comparison.result import Comparison, compare, figures
from stackmask.runtime.comparison.subject import Subject
from stackmask.runtime.comparison.tokenizer import load_tokenizer

EQUAL, DIFFERENT = 0, 1
SHOWN = 200  # characters of the text


def type_subject(name: str) -> Subject:
    """Return the subject of a comparison for ``module:Class``: the type's JSON Schema from pydantic.

    Raises: StackmaskError for other objects, or a type without a schema.
    """
    found = import_type(name)
    Grammar.of(found)  # says what is wrong with it
    from pydantic import TypeAdapter

    from stackmask.grammar.json_schema.document.typed_dicts import readable_type

    adapter = found if isinstance(found, TypeAdapter) else TypeAdapter(readable_type(found))
    return Subject("schema", json.dumps(adapter.json_schema()), origin=name)


def run_compare(
    subject: Subject,
    tokenizer_name: str | None,
    *,
    text: str | None,
    seed: int,
    depths: Sequence[int],
    peers: bool,
    json_file: Path | None,
    plot_file: Path | None,
) -> int:
    """Compare, print the table, write the requested files; return the exit status."""
    for file in (json_file, plot_file):
        if file is not None and not file.resolve().parent.is_dir():
            raise StackmaskError(f"cannot write {file}: no such folder")
    if plot_file is not None:
        from stackmask.runtime.comparison.result import check_plot

        check_plot(plot_file)  # what is missing is noticed before the measurement
    with messages().status("loading the tokenizer") as status:
        tokenizer = load_tokenizer(tokenizer_name)
        result = compare(
            subject,
            tokenizer,
            text=text,
            seed=seed,
            depths=depths,
            peers=peers,
            progress=lambda name: status.update(f"measuring {name}"),
        )
    show(result)
    if json_file is not None:
        write_file(json_file, json.dumps(result.document(), indent=1, ensure_ascii=False) + "\n")
    if plot_file is not None:
        from stackmask.runtime.comparison.result import draw

        draw(result.document(), plot_file)
    if not result.is_equal:
        show_error("error: the masks of the two modes differ; one of them is wrong")
        return DIFFERENT
    return EQUAL


def show(result: Comparison) -> None:
    """Print the subject, the text and the table, and all failures with their reasons."""
    console = output()
    profile = f", profile {result.subject.profile}" if result.subject.kind == "schema" else ""
    show_text(console, f"{result.subject.kind}: {result.subject.title}{profile}")
    show_text(console, f"tokenizer: {result.tokenizer}, {result.vocabulary_size:,} tokens")
    shown = result.text.shown
    shown = repr(shown if len(shown) <= SHOWN else shown[:SHOWN] + "…")
    how = "" if result.text.seed is None else f", drawn with seed {result.text.seed}"
    whole = "" if result.text.complete else ", unfinished"
    show_text(console, f"text: {result.tokens} tokens{how}{whole}: {shown}")
    console.print()
    console.print(make_table(result))
    notes = list(make_notes(result))
    if notes:
        console.print()
    for note in notes:
        show_text(console, note)


def make_table(result: Comparison) -> Table:
    """Build the table of figures, with a row for each figure and a column for each engine."""
    table = Table()
    table.add_column("", no_wrap=True)
    for column in result.columns:
        table.add_column(cell(column.name), justify="right")
    for label, figure in ROWS:
        table.add_row(label, *(cell(figure(column, result)) for column in result.columns))
    return table


def make_notes(result: Comparison) -> list[str]:
    """Return a line for each unsupported feature of an engine, and for the first difference of masks."""
    notes = []
    for column in result.columns:
        if column.refusal is not None:
            notes.append(f"{column.name}: {column.refusal}")
        if column.stopped_at is not None:
            notes.append(f"{column.name}: refuses token {column.stopped_at + 1} of the text")
        difference = result.differences.get(column.name)
        if difference is not None and difference.places:
            who, other = (column.name, PUSHDOWN) if difference.allowed else (PUSHDOWN, column.name)
            more = f" and {difference.tokens - 1:,} more" if difference.tokens > 1 else ""
            notes.append(
                f"{column.name}: {difference.places} of {difference.compared} masks differ, first after "
                f"{difference.position} tokens ({difference.offset} bytes): token {difference.token} "
                f"{difference.text!r}{more}; {who} allows it, {other} does not: {difference.why}"
            )
    return notes


def _time(microseconds: float | None) -> str:
    if microseconds is None:
        return "–"
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:,.2f} s"
    if microseconds >= 1e3:
        return f"{microseconds / 1e3:,.{1 if microseconds >= 1e4 else 2}f} ms"
    return f"{microseconds:,.{1 if microseconds >= 10 else 2}f} µs"


def _size(size: int | None) -> str:
    if size is None:
        return "–"
    if size >= 1 << 20:
        return f"{size / (1 << 20):,.1f} MiB"
    return f"{size / 1024:,.1f} KiB"


def _memory(column: Column, result: Comparison) -> str:
    if column.memory_bytes is None and column.growth_bytes is not None:
        return f"≈ {_size(column.growth_bytes)}"
    return _size(column.memory_bytes)


def _milliseconds(value: float | None) -> str:
    return _time(None if value is None else value * 1e3)


def _figure(name: str) -> Callable[[Column, Comparison], str]:
    return lambda column, result: _time(figures(column)[name])


def _forced(column: Column, result: Comparison) -> str:
    if column.forced_tokens is None or not result.tokens or not column.again:
        return "–"
    return f"{column.forced_tokens / result.tokens:.0%}"


def _equality(column: Column, result: Comparison) -> str:
    difference = result.differences.get(column.name)
    if column.engine == PUSHDOWN or difference is None:
        return "–"
    if difference.places:
        return f"{difference.places} of {difference.compared} differ"
    return "yes" if column.stopped_at is None else f"yes, up to token {column.stopped_at + 1}"


def _verdict(column: Column, result: Comparison) -> str:
    if column.refusal is not None:
        return "refused"
    return "yes" if column.stopped_at is None else "the text not"


ROWS: list[tuple[str, Callable[[Column, Comparison], str]]] = [
    ("takes it", _verdict),
    ("once per vocabulary", lambda column, result: _milliseconds(column.setup_ms)),
    ("compile", lambda column, result: _milliseconds(column.compile_ms)),
    ("first mask", _figure("first_mask_us")),
    ("masks, first visit: mean", _figure("first_pass_mean_us")),
    ("  p99", _figure("first_pass_p99_us")),
    ("  worst", _figure("first_pass_worst_us")),
    ("masks, again: mean", _figure("again_mean_us")),
    ("  p99", _figure("again_p99_us")),
    ("accept, mean", lambda column, result: _time(column.accept_us)),
    ("states", lambda column, result: "–" if column.states is None else f"{column.states:,}"),
    ("memory (≈: growth of the process)", _memory),
    ("forced tokens", _forced),
    ("masks equal to pushdown", _equality),
]
