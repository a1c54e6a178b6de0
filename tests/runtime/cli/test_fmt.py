"""``stackmask fmt``."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from stackmask.runtime.cli.app import app


def run(*arguments: str | Path, text: str | None = None) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["fmt", *map(str, arguments)], input=text, env={"COLUMNS": "200"})
    return done.exit_code, done.output


def test_files_are_laid_out_in_place(tmp_path: Path) -> None:
    file, other = tmp_path / "a.ebnf", tmp_path / "b.gbnf"
    file.write_text('root::="é"', encoding="utf-8")
    other.write_text('root ::= "b"\n', encoding="utf-8")
    status, shown = run("--check", file, other)
    assert (status, "a.ebnf would change" in shown, "b.gbnf" in shown) == (1, True, False)
    assert file.read_text(encoding="utf-8") == 'root::="é"'
    status, shown = run(file, other)
    assert (status, "a.ebnf changed" in shown, "b.gbnf" in shown) == (0, True, False)
    assert file.read_text(encoding="utf-8") == 'root ::= "é"\n'
    assert run("--check", file, other) == (0, "")


def test_standard_input_goes_to_standard_output() -> None:
    assert run("-", text='root::="a"') == (0, 'root ::= "a"\n')
    assert run("-", "--check", text='root::="a"')[0] == 1


def test_no_file_is_changed_if_one_has_errors(tmp_path: Path) -> None:
    good, bad = tmp_path / "a.ebnf", tmp_path / "b.ebnf"
    good.write_text('root::="a"', encoding="utf-8")
    bad.write_text("root ::= (", encoding="utf-8")
    status, shown = run(good, bad)
    assert status == 2
    assert "error[G002]" in shown
    assert good.read_text(encoding="utf-8") == 'root::="a"'
    assert run(tmp_path / "none.ebnf")[0] == 2
    status, shown = run(tmp_path / "x.json")
    assert (status, "is not a grammar" in shown) == (2, True)


def test_lark_by_its_name_or_its_look(tmp_path: Path) -> None:
    file = tmp_path / "a.lark"
    file.write_text('start:"a"', encoding="utf-8")
    assert run(file)[0] == 0
    assert file.read_text(encoding="utf-8") == 'start: "a"\n'
    assert run("-", text='start:"a"b\nb:"b"') == (0, 'start: "a" b\nb: "b"\n')
