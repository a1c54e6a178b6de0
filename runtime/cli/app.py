"""The commands and their options; the implementations are in the other modules of this folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from stackmask.runtime.cli.console import reporting

if TYPE_CHECKING:
    from stackmask.runtime.cli.grammars import Reading

# -- Options that take one of some words -------------------------------------------------------------------


def one_of(*words: str) -> Any:
    """Return the settings of an option that accepts one of a list of words, and names them in its errors."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in words:
            listed = ", ".join(map(repr, words))
            raise typer.BadParameter(f"{value!r} is not one of {listed}")
        return value

    checked: Callable[[str | None], str | None] = check
    return {"callback": checked, "metavar": f"[{'|'.join(words)}]"}


# -- The commands and their options; what they do is in the modules beside this one ------------------------


app = typer.Typer(
    name="stackmask",
    help="Constrain the output of a language model to a grammar, exactly, token by token.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

NAMES = (
    "A grammar file, the name of a bundled grammar, a JSON Schema (a .json file or its text), /a regular expression/, a "
    "type (module:Class), or the text of a grammar."
)
AsRegex = Annotated[
    bool,
    typer.Option("--regex", help="Treat the grammar argument as a regular expression."),
]
Profile = Annotated[
    str,
    typer.Option(
        "--profile",
        help="For schemas and types: JSON as a model should write it, or every spelling that JSON allows.",
        **one_of("model", "exact"),
    ),
]
Start = Annotated[
    str | None,
    typer.Option(
        "--start", help="The start rule (default: `root` if there is one, otherwise the first rule)."
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="A transformers model: a name or a folder (default: the embedded model).",
    ),
]
MaxNewTokens = Annotated[
    int, typer.Option("--max-new-tokens", min=1, help="Maximum number of tokens to generate.")
]


def _reading(start: str | None, as_regex: bool, profile: str) -> Reading:
    from stackmask.runtime.cli.grammars import Reading

    return Reading(start, as_regex, cast(Any, profile))


def _show_version(wanted: bool) -> None:
    if wanted:
        from stackmask import __version__

        typer.echo(f"stackmask {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Handle the options before the command."""


@app.command()
@reporting
def generate(
    prompt: Annotated[str, typer.Argument(help="The prompt for the model.")],
    grammar: Annotated[str, typer.Option("--grammar", help=NAMES)],
    start: Start = None,
    regex: AsRegex = False,
    profile: Profile = "model",
    model: Model = None,
    max_new_tokens: MaxNewTokens = 256,
    temperature: Annotated[
        float | None,
        typer.Option("--temperature", min=0.0, help="Sampling temperature (default: greedy, as with 0)."),
    ] = None,
    top_p: Annotated[
        float,
        typer.Option(
            "--top-p",
            min=0.0,
            max=1.0,
            help="Sample from the most likely tokens with this total probability.",
        ),
    ] = 1.0,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, max=2**63 - 1, help="Seed for sampling.")
    ] = None,
    chat: Annotated[
        bool, typer.Option("--chat", help="Apply the model's chat template to the prompt.")
    ] = False,
) -> None:
    """Generate text that matches a grammar. It streams to standard output."""
    from stackmask.runtime.cli.generating import Sampling, run_generate

    sampling = Sampling(max_new_tokens, temperature or None, top_p, seed)
    raise typer.Exit(
        run_generate(prompt, grammar, _reading(start, regex, profile), model, sampling, chat=chat)
    )


@app.command()
@reporting
def sql(
    question: Annotated[str | None, typer.Argument(help="A question, in plain English.")] = None,
    db: Annotated[
        str | None,
        typer.Option(
            "--db",
            help="A SQLite, CSV or Parquet file, a URL (postgresql://user@host/database), or the name of a bundled "
            "database (default: the bundled shop). Any database but the shop needs --model.",
        ),
    ] = None,
    show_schema: Annotated[
        bool,
        typer.Option(
            "--show-schema", help="Show the schema as the model sees it, without asking a question."
        ),
    ] = False,
    model: Model = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the query plan instead of running the query.")
    ] = False,
    output_format: Annotated[
        str,
        typer.Option(
            "--format",
            help="Output format of the rows; with csv and json, the SQL goes to standard error.",
            **one_of("table", "csv", "json"),
        ),
    ] = "table",
    grammar: Annotated[
        bool,
        typer.Option(
            "--grammar/--no-grammar", help="Constrain the model, or let it write freely for comparison."
        ),
    ] = True,
    timeout: Annotated[
        float,
        typer.Option("--timeout", min=0.001, max=86_400, help="Time limit for the query, in seconds."),
    ] = 10.0,
    rows: Annotated[
        int, typer.Option("--rows", min=1, max=1_000_000, help="Maximum number of rows to fetch.")
    ] = 50,
    max_size: Annotated[
        int, typer.Option("--max-size", min=1, max=1024, help="Maximum size of all rows together, in MiB.")
    ] = 16,
    max_new_tokens: MaxNewTokens = 256,
) -> None:
    """Answer a question from a database. A model writes a SQL query, which runs read-only, and the rows are shown."""
    from stackmask.runtime.cli.command_sql import Asking, run_sql, show_tables

    if show_schema:
        raise typer.Exit(show_tables(db))
    if question is None:
        raise typer.BadParameter("give a question, or --show-schema")
    how = Asking(
        max_new_tokens,
        timeout,
        rows,
        cast(Any, output_format),
        explain=explain,
        constrained=grammar,
        size=max_size << 20,
    )
    raise typer.Exit(run_sql(question, db, model, how))


@app.command()
@reporting
def check(
    grammar: Annotated[str, typer.Argument(help=NAMES)],
    start: Start = None,
    regex: AsRegex = False,
    profile: Profile = "model",
    text: Annotated[str | None, typer.Option("--text", help="The text to check.")] = None,
    file: Annotated[Path | None, typer.Option("--file", help="A file to check (- for stdin).")] = None,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", help="Show how the schema was interpreted, and which keywords affected the grammar."
        ),
    ] = False,
) -> None:
    """Check a grammar, and optionally whether it accepts a text. If not, show where and why.

    Exit status: 0 accepted, 1 rejected, 2 if the grammar or a file cannot be used.
    """
    from stackmask.runtime.cli.checking import run_check

    if text is not None and file is not None:
        raise typer.BadParameter("give --text or --file, not both")
    raise typer.Exit(run_check(grammar, _reading(start, regex, profile), text, file, verbose))


@app.command()
@reporting
def lint(
    grammars: Annotated[
        list[str], typer.Argument(help="Grammar files or names of bundled grammars.", metavar="GRAMMAR…")
    ],
    start: Start = None,
) -> None:
    """Warn about valid but probably unintended constructs. Unused rules are an example.

    Exit status: 0 no warnings, 1 warnings, 2 if a grammar has errors or cannot be read.
    """
    from stackmask.runtime.cli.command_fmt import run_lint

    raise typer.Exit(run_lint(grammars, start))


@app.command()
@reporting
def fmt(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Grammar files in EBNF or Lark (- reads standard input and writes standard output).",
            metavar="FILE…",
        ),
    ],
    check: Annotated[bool, typer.Option("--check", help="Only list the files that would change.")] = False,
    width: Annotated[int, typer.Option("--width", min=40, max=1_000, help="Maximum line length.")] = 110,
) -> None:
    """Format grammar files in place. Only whitespace changes, never the meaning.

    Exit status: 0 formatted, 1 if files would change (with --check), 2 if a file has errors or cannot be read.
    """
    from stackmask.runtime.cli.command_fmt import run_fmt

    raise typer.Exit(run_fmt(files, check=check, width=width))


@app.command()
@reporting
def convert(
    file: Annotated[Path, typer.Argument(help="A Lark or GBNF grammar (- for stdin).")],
    start: Annotated[str | None, typer.Option("--start", help="Start rule of a Lark grammar.")] = None,
    made: Annotated[
        Path | None, typer.Option("--output", "-o", help="The output file (default: stdout).")
    ] = None,
    relax: Annotated[bool, typer.Option("--relax", help="Let %declare define empty terminals.")] = False,
) -> None:
    """Convert a Lark or GBNF grammar to EBNF with the same meaning. Comments are kept.

    Constructs that have no effect, or a different one, are listed with their places on standard error.
    Exit status: 0 converted, 2 if the grammar has errors or cannot be converted.
    """
    from stackmask.runtime.cli.command_convert import run_convert

    raise typer.Exit(run_convert(file, start, made, relax=relax))


@app.command()
@reporting
def sample(
    grammar: Annotated[str, typer.Argument(help=NAMES)],
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=10_000, help="Number of strings.")] = 1,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Random seed; a different seed gives different samples.")
    ] = 0,
    start: Start = None,
    regex: AsRegex = False,
    profile: Profile = "model",
) -> None:
    """Print random texts that a grammar accepts.

    Exit status: 0 printed, 1 if no complete text was found, 2 if the grammar cannot be used.
    """
    from stackmask.runtime.cli.generating import run_sample

    raise typer.Exit(run_sample(grammar, _reading(start, regex, profile), count, seed))


@app.command()
@reporting
def diagram(
    grammar: Annotated[str, typer.Argument(help=NAMES)],
    file: Annotated[Path, typer.Option("--output", "-o", help="An .svg picture or an .html page.")],
    start: Start = None,
    regex: AsRegex = False,
    profile: Profile = "model",
) -> None:
    """Draw railroad diagrams of a grammar, one for each rule.

    Exit status: 0 drawn, 2 if the grammar cannot be used or the file cannot be written.
    """
    from stackmask.runtime.cli.command_diagram import run_diagram

    raise typer.Exit(run_diagram(grammar, _reading(start, regex, profile), file))


@app.command()
@reporting
def trace(
    grammar: Annotated[str, typer.Argument(help=NAMES)],
    text: Annotated[list[str] | None, typer.Option("--text", help="The text to trace; repeatable.")] = None,
    file: Annotated[Path | None, typer.Option("--file", help="A file with the text (- for stdin).")] = None,
    start: Start = None,
    regex: AsRegex = False,
    profile: Profile = "model",
    model: Model = None,
    likely: Annotated[
        bool,
        typer.Option(
            "--likely",
            help="Run the model, and show its likeliest tokens and the total probability of the allowed ones.",
        ),
    ] = False,
    prompt: Annotated[str, typer.Option("--prompt", help="The prompt before the text, for --likely.")] = "",
    cost: Annotated[
        bool, typer.Option("--cost", help="Show how each mask was computed, and the cost.")
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write a self-contained .html page or an .svg picture."),
    ] = None,
) -> None:
    """Trace a text token by token. Shows how many tokens were allowed, forced text, the rule, and why a token was refused.

    Exit status: 0 accepted, 1 rejected, 2 if the grammar or the model cannot be used.
    """
    from stackmask.runtime.cli.command_trace import Tracing, read_traced, run_trace

    if bool(text) == (file is not None):
        raise typer.BadParameter("give --text or --file")
    how = Tracing(cost=cost, likely=likely, prompt=prompt, page=page)
    raise typer.Exit(run_trace(grammar, _reading(start, regex, profile), read_traced(text, file), model, how))


@app.command()
@reporting
def play(
    grammar: Annotated[
        str | None,
        typer.Argument(
            help="The grammar to start with: a file, a bundled grammar, a schema or /a regular expression/."
        ),
    ] = None,
    text: Annotated[str | None, typer.Option("--text", help="The text to start with.")] = None,
    model: Model = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="0 for any free port.")] = 8765,
    opens: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
) -> None:
    """Open a playground in the browser. Edit a grammar and a text, and see diagnostics, tokens and diagrams as you type.

    The server listens on this machine only. Exit status: 0 stopped, 2 if the port or the model cannot be used.
    """
    from stackmask.runtime.cli.play_server import run_play

    raise typer.Exit(run_play(grammar, text, model, port, opens=opens))


@app.command()
@reporting
def complete(
    grammar: Annotated[str, typer.Argument(help=NAMES)],
    text: Annotated[str, typer.Option("--text", help="The truncated text.")],
    start: Start = None,
    model: Model = None,
) -> None:
    """Complete a truncated text. The ending is the shortest one that the grammar allows.

    Exit status: 0 completed, 1 if the text is rejected or no ending was found, 2 if the grammar or the model cannot be used.
    """
    from stackmask.runtime.cli.checking import run_complete

    raise typer.Exit(run_complete(grammar, start, text, model))


@app.command()
@reporting
def compare(
    language: Annotated[
        str,
        typer.Argument(
            metavar="PATTERN|GRAMMAR|SCHEMA",
            help="A regular expression, a grammar file or the name of a bundled grammar, a JSON Schema (a file or its "
            "text), or a type (module:Class).",
        ),
    ],
    as_regex: Annotated[
        bool, typer.Option("--regex", help="Treat the argument as a regular expression.")
    ] = False,
    as_grammar: Annotated[bool, typer.Option("--grammar", help="Treat the argument as a grammar.")] = False,
    as_schema: Annotated[bool, typer.Option("--schema", help="Treat the argument as a JSON Schema.")] = False,
    start: Start = None,
    profile: Profile = "model",
    tokenizer: Annotated[
        str | None,
        typer.Option(
            "--tokenizer",
            help="A tokenizer.json, a folder with one, a .tiktoken or .model file, a saved vocabulary, or the name of a "
            "tokenizer for transformers (default: the embedded one).",
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option("--text", help="The text to follow (default: a random one)."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed for the random text.")] = 0,
    depth: Annotated[
        list[int] | None,
        typer.Option(
            "--depth", min=1, help="Add a finite-state machine with recursion to this depth; repeatable."
        ),
    ] = None,
    peers: Annotated[
        bool, typer.Option("--peers/--no-peers", help="Include the other libraries that are installed.")
    ] = True,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all results to this file.")] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Plot the results to this .svg, .png or .pdf file.")
    ] = None,
) -> None:
    """Compare engines on one language. They are the pushdown engine, the finite-state mode and other libraries.

    Exit status: 0 compared, 1 if the masks of the two modes differ, 2 for bad input. An input that an engine refuses is
    part of the result.
    """
    from stackmask.runtime.cli.comparing import run_compare, type_subject
    from stackmask.runtime.cli.grammars import is_type_name
    from stackmask.runtime.comparison.subject import Kind, read_subject

    forced: dict[Kind, bool] = {"regex": as_regex, "grammar": as_grammar, "schema": as_schema}
    kinds = [name for name, wanted in forced.items() if wanted]
    if len(kinds) > 1:
        raise typer.BadParameter("give one of --regex, --grammar, --schema")
    kind = kinds[0] if kinds else None
    if kind is None and is_type_name(language):
        subject = type_subject(language)
    else:
        subject = read_subject(language, kind, start=start)
    raise typer.Exit(
        run_compare(
            replace(subject, profile=cast(Any, profile)),
            tokenizer,
            text=text,
            seed=seed,
            depths=depth or (),
            peers=peers,
            json_file=json_file,
            plot_file=plot,
        )
    )


@app.command()
@reporting
def audit(
    cases: Annotated[
        list[str],
        typer.Argument(
            metavar="CASES...",
            help="Files of cases (.jsonl, .jsonl.xz), or a schema, grammar or regular expression, as for `compare`.",
        ),
    ],
    engine: Annotated[
        list[str] | None,
        typer.Option(
            "--engine",
            help="stackmask, xgrammar, llguidance, outlines-core, module:factory or hf=module:factory; repeatable "
            "(default: stackmask).",
        ),
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option("--tokenizer", help="As for `compare` (default: the embedded one)."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", help="The folder for results; an unfinished audit there is resumed.")
    ] = Path("audit"),
    count: Annotated[int, typer.Option("--sample", min=0, help="Size of a random sample; 0: all.")] = 0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed for everything random.")] = 0,
    budget: Annotated[
        float | None, typer.Option("--budget", min=1.0, help="Stop the audit after this many seconds.")
    ] = None,
    limit: Annotated[
        float,
        typer.Option("--limit", min=0.1, help="Treat a call of an engine as hung after this many seconds."),
    ] = 20.0,
    texts: Annotated[int, typer.Option("--texts", min=0, help="Number of given strings per case.")] = 3,
    mutants: Annotated[int, typer.Option("--mutants", min=0, help="Number of mutants per text.")] = 3,
    samples: Annotated[
        int, typer.Option("--samples", min=0, help="Number of strings that each engine samples per case.")
    ] = 1,
) -> None:
    """Compare the masks of engines token by token. Independent validators judge each difference.

    Exit status: 0 no proven errors, 1 some, 2 bad input, 3 if the budget ran out before all cases were done.
    """
    from stackmask.runtime.cli.command_audit import Asked, run
    from stackmask.runtime.comparison.auditor import Settings

    settings = Settings(seed=seed, texts=texts, mutants=mutants, samples=samples, call_seconds=limit)
    asked = Asked(engine or ["stackmask"], tokenizer, out, count, budget, settings)
    raise typer.Exit(run(cases, asked))


@app.command()
@reporting
def serve(
    model: Model = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="0 for any free port.")] = 8000,
    name: Annotated[
        str | None, typer.Option("--name", help="The model name for clients (default: its own).")
    ] = None,
    style: Annotated[
        str | None,
        typer.Option("--style", help="The format of tool calls, if the chat template does not show it."),
    ] = None,
    concurrency: Annotated[
        int, typer.Option("--concurrency", min=1, max=256, help="Maximum concurrent requests.")
    ] = 4,
) -> None:
    """Serve a model over the OpenAI API to try structured outputs. Not meant for production."""
    from stackmask.runtime.cli.command_serve import run_serve

    run_serve(model, host, port, name, style, concurrency)


@app.command()
@reporting
def grammars(
    name: Annotated[str | None, typer.Argument(help="Print the source of this grammar.")] = None,
) -> None:
    """List the bundled grammars, or print one."""
    from stackmask.runtime.cli.command_grammars import run_grammars

    run_grammars(name)
