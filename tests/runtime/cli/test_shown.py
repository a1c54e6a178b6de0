"""No command sends control characters to a terminal: they are shown."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

import stackmask
from stackmask.grammar.grammar import Grammar
from stackmask.runtime.cli import command_sql, console, generating
from stackmask.runtime.cli.app import app
from stackmask.runtime.cli.command_sql import LONGEST_CELL, json_value, make_table, show_rows
from stackmask.runtime.cli.database import QueryError, Rows
from stackmask.runtime.cli.query_process import ProcessDatabase

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b2J\r\x08\x00\u202egpj\u2066\u200f\u2028\x7f"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
SHOWN = r"\x1b]0;owned\x07\x1b[2J\x9b2J\r\x08\x00\u202egpj\u2066\u200f\u2028\x7f"


def assert_clean(result: Any) -> None:
    """Nothing that a terminal obeys is in what a command wrote."""
    assert not OBEYED.search(result.stdout) and not OBEYED.search(result.stderr), repr(result.output)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "evil.db"
    with closing(sqlite3.connect(path)) as connection:
        name = EVIL.replace("\x00", "")
        connection.execute(f'CREATE TABLE "t{name}" ("c{name}" TEXT, plain TEXT)')
        connection.execute(f'INSERT INTO "t{name}" VALUES (?, ?)', (EVIL, "a\tb\nc"))
        connection.execute(f'CREATE VIEW v AS SELECT "c{name}" AS "w{name}", plain FROM "t{name}"')
        connection.commit()
    return path


@pytest.fixture
def ask(file: Path, monkeypatch: pytest.MonkeyPatch, model: Any, tokenizer: Any) -> Any:
    """Return a function that has a query written and run, whatever is asked."""
    monkeypatch.setattr(command_sql, "refuse_missing_model", lambda name: None)
    monkeypatch.setattr(command_sql, "load_model", lambda name, **_: (model, tokenizer))
    generate = stackmask.generate

    def run(query: str, *options: str) -> Any:
        sentence = "".join(f"\\u{{{ord(c):x}}}" for c in query)

        def narrowed(*arguments: Any, **how: Any) -> Any:
            rules = Grammar.from_ebnf(f'root ::= "{sentence}"')
            return generate(*arguments[:3], rules, *arguments[4:], **how)

        monkeypatch.setattr("stackmask.runtime.generation.generate", narrowed)
        result = CliRunner().invoke(app, ["sql", "q", "--db", str(file), "--model", "any", *options])
        assert_clean(result)
        return result

    return run


def test_cells_and_names_in_the_table(ask: Any) -> None:
    result = ask("SELECT * FROM v")
    shown = "".join(result.stdout.split())
    assert result.exit_code == 0, result.output
    for part in (r"\x1b]0;owned", r"\x9b2J", r"\u202egpj", r"\u2028"):
        assert shown.count(part) >= 2, part  # in the name and in the cell


def test_csv_shows_them_in_the_same_way(ask: Any) -> None:
    result = ask("SELECT * FROM v", "--format", "csv")
    names, values = list(csv.reader(io.StringIO(result.stdout)))
    assert names[0].startswith(r"w\x1b]0;owned") and values == [SHOWN, "a\tb\nc"]


def test_json_has_escapes_of_its_own(ask: Any) -> None:
    result = ask("SELECT * FROM v", "--format", "json")
    ((name, value), _) = json.loads(result.stdout)[0].items()
    assert (name, value) == ("w" + EVIL.replace("\x00", ""), EVIL)  # nothing is lost


def test_queries_and_errors_of_the_database(ask: Any) -> None:
    query = 'SELECT "\x1b]0;owned\x07\u202e" FROM nowhere'
    result = ask(query)
    assert result.exit_code == 1 and r'SELECT "\x1b]0;owned\x07\u202e" FROM nowhere' in result.stdout
    assert "no such table: nowhere" in result.stderr
    result = ask('SELECT * FROM "\x1b[2J\u202e"')
    assert r"no such table: \x1b[2J\u202e" in result.stderr
    assert r"\x1b]0;owned" in ask("SELECT * FROM v", "--explain").stdout


def test_names_of_tables_reach_the_model_only(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = ProcessDatabase(file)
    assert any(
        "\x1b" in table.name for table in database.schema.tables
    )  # as they are: queries must name them
    database.close()


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", EVIL.replace("\x00", "")],
        ["check", "json", "--text", EVIL.replace("\x00", "")],
        ["check", "json", "--file", EVIL.replace("\x00", "")],
        ["grammars", EVIL.replace("\x00", "")],
        ["trace", "json", "--text", '"\u202e\x1b'],
        ["generate", "p", "--grammar", EVIL],
        ["sql", "q", "--db", EVIL],
        ["sql", "q", "--db", f"{EVIL}://h/d"],
        ["sql", "q", "--db", f"sqlite:///{EVIL}"],
        ["compare", f'root ::= "{EVIL}" undefined', "--grammar"],
    ],
)
def test_other_commands(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code in (1, 2), result.output
    assert_clean(result)


def test_a_grammar_file_with_control_characters(tmp_path: Path) -> None:
    file = tmp_path / "evil\x1b[2J\u202e.ebnf"
    file.write_text(f'root ::= nowhere\x1b[2J "{EVIL}"', "utf-8", errors="surrogatepass")
    assert_clean(CliRunner().invoke(app, ["check", str(file)]))
    file.write_text('root ::= "\\x1b[2J\\u202e"', "utf-8")
    result = CliRunner().invoke(app, ["check", str(file), "--text", "x"])
    assert result.exit_code == 1
    assert_clean(result)


def test_show_error_and_tables_on_a_terminal() -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=400)
    console.show(terminal, EVIL)
    terminal.print(make_table(Rows([EVIL], [(EVIL,), (["\x1b", {"\u202e": "\x9b"}],), (b"\x1b",)], False)))
    shown = terminal.file.getvalue()  # type: ignore[attr-defined]
    assert shown.startswith(SHOWN) and not OBEYED.search(shown)


def test_the_streamed_query_is_shown_too() -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True, width=60)
    with command_sql._streaming(terminal) as add:
        add("SELECT '\x1b]0;owned\x07\u202e'")
    shown = terminal.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b]0;" not in shown and "\u202e" not in shown and "\x07" not in shown


def test_generated_text_on_a_terminal_and_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, model: Any, tokenizer: Any
) -> None:
    monkeypatch.setattr(generating, "load_model", lambda name, **_: (model, tokenizer))
    grammar = tmp_path / "g.ebnf"
    grammar.write_text('root ::= "a\\x1b[2Jb"', "utf-8")

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, wanted in ((Terminal(), "a\\x1b[2Jb\n"), (io.StringIO(), "a\x1b[2Jb\n")):
        monkeypatch.setattr("sys.stdout", stream)
        sampling = generating.Sampling(64)
        assert generating.run_generate("p", str(grammar), None, "any", sampling, chat=False) == 0
        assert stream.getvalue() == wanted


def test_long_values_are_cut_for_people_only(capsys: pytest.CaptureFixture[str]) -> None:
    long = "x" * (LONGEST_CELL + 1)
    rows = Rows(["n" * 300], [(long,)], False)
    show_rows(rows, "table")
    shown = "".join(re.findall(r"[^\s│┃]", capsys.readouterr().out))
    assert "x…(1,001characters)" in shown and "n…(300characters)" in shown
    for form in ("csv", "json"):
        show_rows(rows, form)  # type: ignore[arg-type]
        assert long in capsys.readouterr().out


def test_numbers_that_are_too_long_for_python(capsys: pytest.CaptureFixture[str]) -> None:
    digits = "9" * 5000
    assert json_value(Decimal(digits)) == digits and json_value(Decimal("1e999999999")) == "1E+999999999"
    show_rows(Rows(["n"], [(Decimal(digits),)], False), "json")
    assert json.loads(capsys.readouterr().out) == [{"n": digits}]


def test_errors_are_shown_by_one_function() -> None:
    """All that a command writes goes through ``console.show``, ``console.cell`` or the forms of ``tables``."""
    folder = Path(command_sql.__file__).parent
    found = []
    for path in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            arguments = [ast.unparse(argument) for argument in node.args]
            if called.endswith((".print", "stdout.write", "echo")) or called == "print":
                found.append((path.name, called, *arguments))
    allowed = {
        ("__init__.py", "print", "f'error: {error}'"),  # names a library of this project
        ("__init__.py", "print", "'interrupted'"),
        ("app.py", "typer.echo", "f'stackmask {__version__}'"),
        ("command_convert.py", "sys.stdout.write", "visible(found) if sys.stdout.isatty() else found"),
        ("command_fmt.py", "sys.stdout.write", "shown(made)"),  # escapes on a terminal
        ("command_grammars.py", "output().print", "table"),  # of cells
        (
            "command_grammars.py",
            "typer.echo",
            "read_text(find_bundled(name)).rstrip('\\n')",
        ),  # a file of this package
        ("generating.py", "sys.stdout.write", "shown(text) + '\\n'"),  # escapes on a terminal
        (
            "command_sql.py",
            "console.print",
        ),
        ("command_sql.py", "console.print", "_highlighted(query)"),
        ("command_audit.py", "output().print", "table"),  # of cells
        ("command_audit.py", "self.console.print", "line"),  # of numbers
        ("command_trace.py", "output().print", "trace_table(steps, how)"),
        ("comparing.py", "console.print"),
        ("comparing.py", "console.print", "make_table(result)"),
        ("console.py", "console.print", "visible(text)"),
        ("generating.py", "sys.stdout.write", "'\\n'"),
        ("generating.py", "sys.stdout.write", "shown(text)"),
        ("command_sql.py", "output().print", "make_table(rows)"),
    }
    written = "visible_in_json(json.dumps(found, ensure_ascii=False, indent=2)) + '\\n'"
    assert set(found) - allowed == {("command_sql.py", "sys.stdout.write", written)}


def test_query_errors_are_presentable() -> None:
    assert not OBEYED.search(str(QueryError(EVIL)))
