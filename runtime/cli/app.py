"""The commands and their options; what they do is in the modules beside this one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from stackmask.runtime.cli.choices import one_of
from stackmask.runtime.cli.console import reporting

if TYPE_CHECKING:
    from stackmask.runtime.cli.grammars import Reading

app = typer.Typer(
    name="stackmask",
    help="Text from language models that a grammar accepts: exactly, token by token.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

NAMES = (
    "A grammar file, the name of a bundled grammar, a JSON Schema (a .json file or the text), /a regular expression/, a "
    "type: module:Class, or the text of a grammar."
)
AsRegex = Annotated[
    bool,
    typer.Option("--regex", help="What names the grammar is a regular expression, whatever it looks like."),
]
Profile = Annotated[
    str,
    typer.Option(
        "--profile",
        help="Of schemas and types: JSON as a model should write it, or all spellings that JSON has.",
        **one_of("model", "exact"),
    ),
]
Start = Annotated[
    str | None, typer.Option("--start", help="The start rule; by default `root`, or else the first.")
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="A transformers model, by name or folder; by default the one that comes with stackmask.",
    ),
]
MaxNewTokens = Annotated[int, typer.Option("--max-new-tokens", min=1, help="Give up after so many tokens.")]


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
    """Take the options before the command."""


@app.command()
@reporting
def generate(
    prompt: Annotated[str, typer.Argument(help="What the model is to continue or answer.")],
    grammar: Annotated[str, typer.Option("--grammar", help=NAMES)],
    start: Start = None,
    regex: AsRegex = False,
    profile: Profile = "model",
    model: Model = None,
    max_new_tokens: MaxNewTokens = 256,
    temperature: Annotated[
        float | None,
        typer.Option("--temperature", min=0.0, help="Sample at this temperature; 0 or nothing: greedy."),
    ] = None,
    top_p: Annotated[
        float, typer.Option("--top-p", min=0.0, max=1.0, help="Sample from this share of the mass.")
    ] = 1.0,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, max=2**63 - 1, help="Make sampling repeatable.")
    ] = None,
    chat: Annotated[
        bool, typer.Option("--chat", help="Put the prompt into the model's chat template.")
    ] = False,
) -> None:
    """Generate a text of a grammar. It goes to standard output as it comes."""
    from stackmask.runtime.cli.generating import Sampling, run_generate

    sampling = Sampling(max_new_tokens, temperature or None, top_p, seed)
    raise typer.Exit(
        run_generate(prompt, grammar, _reading(start, regex, profile), model, sampling, chat=chat)
    )


@app.command()
@reporting
def sql(
    question: Annotated[str | None, typer.Argument(help="A question about the data, in plain words.")] = None,
    db: Annotated[
        str | None,
        typer.Option(
            "--db",
            help="A SQLite, CSV or Parquet file, a URL (postgresql://user@host/database), or the name of a bundled "
            "database; by default the bundled shop. All but the shop need --model.",
        ),
    ] = None,
    show_schema: Annotated[
        bool,
        typer.Option(
            "--show-schema", help="Show the tables as the model is shown them; no question is asked."
        ),
    ] = False,
    model: Model = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the database's plan; the query does not run.")
    ] = False,
    output_format: Annotated[
        str,
        typer.Option(
            "--format",
            help="How rows go to standard output; with csv and json the SQL goes to standard error.",
            **one_of("table", "csv", "json"),
        ),
    ] = "table",
    grammar: Annotated[
        bool,
        typer.Option(
            "--grammar/--no-grammar", help="Without: let the model write what it likes, to compare."
        ),
    ] = True,
    timeout: Annotated[
        float,
        typer.Option("--timeout", min=0.001, max=86_400, help="Stop the query after so many seconds."),
    ] = 10.0,
    rows: Annotated[
        int, typer.Option("--rows", min=1, max=1_000_000, help="Fetch at most so many rows.")
    ] = 50,
    max_size: Annotated[
        int, typer.Option("--max-size", min=1, max=1024, help="MiB that the rows may take together.")
    ] = 16,
    max_new_tokens: MaxNewTokens = 256,
) -> None:
    """Answer a question from a database. A model writes the SQL, it runs (read-only), and the rows are shown."""
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
    text: Annotated[str | None, typer.Option("--text", help="A text to judge.")] = None,
    file: Annotated[Path | None, typer.Option("--file", help="A file to judge; - is standard input.")] = None,
) -> None:
    """Check a grammar, and whether it accepts a text. If not, it says where and why.

    Exit status: 0 accepted, 1 rejected, 2 the grammar or a file cannot be used.
    """
    from stackmask.runtime.cli.checking import run_check

    if text is not None and file is not None:
        raise typer.BadParameter("give --text or --file, not both")
    raise typer.Exit(run_check(grammar, _reading(start, regex, profile), text, file))


@app.command()
@reporting
def lint(
    grammars: Annotated[
        list[str], typer.Argument(help="Grammar files, or names of bundled grammars.", metavar="GRAMMAR…")
    ],
    start: Start = None,
) -> None:
    """Show what is allowed in grammars and hardly meant. Rules that nothing uses are an example.

    Exit status: 0 nothing, 1 warnings, 2 a grammar has errors or cannot be read.
    """
    from stackmask.runtime.cli.command_lint import run_lint

    raise typer.Exit(run_lint(grammars, start))


@app.command()
@reporting
def fmt(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Grammar files in EBNF; - is standard input, to standard output.", metavar="FILE…"
        ),
    ],
    check: Annotated[bool, typer.Option("--check", help="Only tell which files would change.")] = False,
    width: Annotated[int, typer.Option("--width", min=40, max=1_000, help="Break longer lines.")] = 110,
) -> None:
    """Lay out grammar files, in place. Tokens and comments stay, so the grammar means the same.

    Exit status: 0 done, or nothing to change; 1 with --check, some would change; 2 a file has errors or cannot be read.
    """
    from stackmask.runtime.cli.command_fmt import run_fmt

    raise typer.Exit(run_fmt(files, check=check, width=width))


@app.command()
@reporting
def convert(
    file: Annotated[Path, typer.Argument(help="A grammar in Lark or GBNF; - is standard input.")],
    start: Annotated[
        str | None, typer.Option("--start", help="The start rule of a Lark grammar; by default `start`.")
    ] = None,
    made: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this file instead of standard output.")
    ] = None,
    relax: Annotated[
        bool, typer.Option("--relax", help="Let nothing stand where Lark has only a %declare.")
    ] = False,
) -> None:
    """Convert a Lark or GBNF grammar to EBNF with the same meaning. Comments are kept.

    What has no effect in EBNF, or a different one, is listed with its place on standard error.
    Exit status: 0 converted, 2 the grammar has errors, or something in it cannot be converted.
    """
    from stackmask.runtime.cli.command_convert import run_convert

    raise typer.Exit(run_convert(file, start, made, relax=relax))


@app.command()
@reporting
def sample(
    grammar: Annotated[str, typer.Argument(help=NAMES)],
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=10_000, help="How many texts.")] = 1,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Others for another number.")] = 0,
    start: Start = None,
    regex: AsRegex = False,
    profile: Profile = "model",
) -> None:
    """Show texts that a grammar accepts, drawn by chance.

    Exit status: 0 drawn, 1 no whole text was found, 2 the grammar cannot be used.
    """
    from stackmask.runtime.cli.command_sample import run_sample

    raise typer.Exit(run_sample(grammar, _reading(start, regex, profile), count, seed))


@app.command()
@reporting
def diagram(
    grammar: Annotated[str, typer.Argument(help=NAMES)],
    file: Annotated[Path, typer.Option("--output", "-o", help="Where to: a .svg picture or an .html page.")],
    start: Start = None,
    regex: AsRegex = False,
    profile: Profile = "model",
) -> None:
    """Draw railroad diagrams of a grammar, one for each rule.

    Exit status: 0 drawn, 2 the grammar cannot be used, or the file not be written.
    """
    from stackmask.runtime.cli.command_diagram import run_diagram

    raise typer.Exit(run_diagram(grammar, _reading(start, regex, profile), file))


@app.command()
@reporting
def trace(
    grammar: Annotated[str, typer.Argument(help=NAMES)],
    text: Annotated[
        list[str] | None, typer.Option("--text", help="The text to follow, token by token; repeatable.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="A file with the text; - is standard input.")
    ] = None,
    start: Start = None,
    regex: AsRegex = False,
    profile: Profile = "model",
    model: Model = None,
    likely: Annotated[
        bool,
        typer.Option("--likely", help="Run the model: what it finds likely, and how much of it is allowed."),
    ] = False,
    prompt: Annotated[str, typer.Option("--prompt", help="What stands before the text, for --likely.")] = "",
    cost: Annotated[
        bool, typer.Option("--cost", help="Show what each mask was made of, and what that cost.")
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write a self-contained .html page, or an .svg picture."),
    ] = None,
) -> None:
    """Follow a text token by token. It shows what was allowed at each, what was forced, in which rule, and why it was refused.

    Exit status: 0 accepted, 1 rejected, 2 the grammar or the model cannot be used.
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
            help="What to begin with: a file, a bundled grammar, a schema or /a regular expression/."
        ),
    ] = None,
    text: Annotated[str | None, typer.Option("--text", help="The text to begin with.")] = None,
    model: Model = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="0 is any that is free.")] = 8765,
    opens: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
) -> None:
    """Serve a page to try grammars on, for this machine only. Edit a grammar and a text, and see what is said of them.

    Exit status: 0 it was ended, 2 the port or the model cannot be used.
    """
    from stackmask.runtime.cli.command_play import run_play

    raise typer.Exit(run_play(grammar, text, model, port, opens=opens))


@app.command()
@reporting
def complete(
    grammar: Annotated[str, typer.Argument(help=NAMES)],
    text: Annotated[str, typer.Option("--text", help="The text that was cut.")],
    start: Start = None,
    model: Model = None,
) -> None:
    """Mend a text that was cut. It is printed with the shortest end that the grammar has for it, and what that takes.

    Exit status: 0 completed, 1 the text is refused or no end was found, 2 the grammar or the model cannot be used.
    """
    from stackmask.runtime.cli.command_complete import run_complete

    raise typer.Exit(run_complete(grammar, start, text, model))


@app.command()
@reporting
def compare(
    language: Annotated[
        str,
        typer.Argument(
            metavar="PATTERN|GRAMMAR|SCHEMA",
            help="A regular expression, a grammar file or the name of a bundled grammar, a JSON schema (a file or the "
            "text itself), or a type: module:Class.",
        ),
    ],
    as_regex: Annotated[
        bool, typer.Option("--regex", help="The argument is a regular expression, whatever it looks like.")
    ] = False,
    as_grammar: Annotated[
        bool, typer.Option("--grammar", help="The argument is a grammar, whatever it looks like.")
    ] = False,
    as_schema: Annotated[
        bool, typer.Option("--schema", help="The argument is a JSON schema, whatever it looks like.")
    ] = False,
    start: Start = None,
    flavor: Annotated[
        str,
        typer.Option("--flavor", help="Whose regular expressions.", **one_of("ecma", "python", "rust")),
    ] = "ecma",
    flags: Annotated[str, typer.Option("--flags", help="Flags of the regular expression, as letters.")] = "",
    search: Annotated[
        bool,
        typer.Option("--search", help="A match anywhere in the text will do for the regular expression."),
    ] = False,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            "--tokenizer",
            help="A tokenizer.json, a folder with one, a .tiktoken or .model file, a saved vocabulary, or what "
            "transformers knows by this name; by default the one that comes with stackmask.",
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option("--text", help="The text to follow; by default one is drawn from the language."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="For drawing the text.")] = 0,
    depth: Annotated[
        list[int] | None,
        typer.Option(
            "--depth", min=1, help="Also a finite-state machine with recursion to this depth; repeatable."
        ),
    ] = None,
    memory: Annotated[
        int, typer.Option("--memory", min=1, help="MiB that the tables of a finite-state machine may take.")
    ] = 512,
    limit: Annotated[
        float,
        typer.Option("--limit", min=0.1, max=86_400, help="Seconds that one engine may take for everything."),
    ] = 60.0,
    peers: Annotated[
        bool, typer.Option("--peers/--no-peers", help="Also the other libraries that are installed.")
    ] = True,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all figures to this file.")] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the figures to this file: .svg, .png or .pdf.")
    ] = None,
) -> None:
    """Compare engines on one language. They are the pushdown engine, the finite-state mode and other libraries.

    Exit status: 0 compared, 1 the masks of the two modes differ, 2 bad input. What an engine refuses is part of
    the result.
    """
    from stackmask.runtime.cli.comparing import run_compare, type_subject
    from stackmask.runtime.cli.grammars import is_type_name
    from stackmask.runtime.comparison.measuring import Limits
    from stackmask.runtime.comparison.subject import Kind, read_subject

    forced: dict[Kind, bool] = {"regex": as_regex, "grammar": as_grammar, "schema": as_schema}
    kinds = [name for name, wanted in forced.items() if wanted]
    if len(kinds) > 1:
        raise typer.BadParameter("give one of --regex, --grammar, --schema")
    kind = kinds[0] if kinds else None
    if kind is None and is_type_name(language):
        subject = type_subject(language)
    else:
        subject = read_subject(
            language, kind, start=start, flavor=cast(Any, flavor), flags=flags, search=search
        )
    raise typer.Exit(
        run_compare(
            subject,
            tokenizer,
            text=text,
            seed=seed,
            depths=depth or (),
            peers=peers,
            limits=Limits(memory << 20, seconds=limit),
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
            help="Files of cases (.jsonl, .jsonl.xz), or a schema, a grammar or a regular expression, as `compare` takes them.",
        ),
    ],
    engine: Annotated[
        list[str] | None,
        typer.Option(
            "--engine",
            help="stackmask, xgrammar, llguidance, outlines-core, module:factory, hf=module:factory; repeatable. "
            "By default stackmask.",
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            help="What an argument that is no file of cases is.",
            **one_of("schema", "regex", "grammar", "sql"),
        ),
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            "--tokenizer", help="As `compare` takes it; by default the one that comes with stackmask."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", help="A folder for the results; an audit there goes on.")
    ] = Path("audit"),
    count: Annotated[int, typer.Option("--sample", min=0, help="Audit so many of the cases; 0: all.")] = 0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the sample and of all that is drawn.")] = 0,
    budget: Annotated[
        float | None, typer.Option("--budget", min=1.0, help="Seconds; then the audit stops.")
    ] = None,
    limit: Annotated[
        float,
        typer.Option("--limit", min=0.1, help="Seconds that an engine may take for one call; then it hangs."),
    ] = 20.0,
    texts: Annotated[int, typer.Option("--texts", min=0, help="Given texts of a case.")] = 3,
    mutants: Annotated[int, typer.Option("--mutants", min=0, help="Mutants of a text.")] = 3,
    samples: Annotated[
        int, typer.Option("--samples", min=0, help="Texts that each engine draws in a case.")
    ] = 1,
) -> None:
    """Compare the masks of engines, token by token. Each difference is shown with a text that validators judge.

    Exit status: 0 no proven errors, 1 some, 2 bad input, 3 the budget is spent before all cases are done.
    """
    from stackmask.runtime.audit.auditor import Settings
    from stackmask.runtime.cli.command_audit import Asked, run

    settings = Settings(seed=seed, texts=texts, mutants=mutants, samples=samples, call_seconds=limit)
    asked = Asked(engine or ["stackmask"], tokenizer, out, count, budget, cast(Any, kind), settings)
    raise typer.Exit(run(cases, asked))


@app.command()
@reporting
def serve(
    model: Model = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65_535)] = 8000,
    name: Annotated[
        str | None, typer.Option("--name", help="What clients call the model; by default its name.")
    ] = None,
    style: Annotated[
        str | None,
        typer.Option("--style", help="How the model writes calls, where its chat template does not tell."),
    ] = None,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, max=256, help="Texts at a time.")] = 4,
) -> None:
    """Serve a model with OpenAI's protocol, to try structured outputs. It is for trying, not for many users."""
    from stackmask.runtime.cli.command_serve import run_serve

    run_serve(model, host, port, name, style, concurrency)


@app.command()
@reporting
def grammars(
    name: Annotated[str | None, typer.Argument(help="Print the source of this one.")] = None,
) -> None:
    """List the bundled grammars."""
    from stackmask.runtime.cli.command_grammars import run_grammars

    run_grammars(name)
