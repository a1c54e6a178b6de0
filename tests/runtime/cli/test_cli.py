"""The command line: what it prints, where, and its exit status."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.files import bundled_names
from stackmask.runtime.cli.app import app
from stackmask.runtime.cli.checking import compile_for_text
from stackmask.runtime.cli.command_grammars import describe
from stackmask.runtime.matching.refusal import explain, judge

MAIN = "from stackmask.runtime.cli import main; main()"


def call(*arguments: str, **options: Any) -> Any:
    """Run a command in this process; its result has exit_code, stdout and stderr."""
    return CliRunner().invoke(app, list(arguments), **options)


def assert_refused(result: Any, message: str) -> None:
    """One clear line, exit status 2, no traceback."""
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert "Traceback" not in result.stderr


# check -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ['{"a": [1, 2.5e-3, "\\u00e9"]}', " [] "])
def test_check_accepts(text: str) -> None:
    result = call("check", "json", "--text", text)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "accepted\n", "")


def test_check_says_where_and_why_a_text_fails() -> None:
    result = call("check", "json", "--text", '{\n  "é日": 1,}\n')
    assert result.exit_code == 1
    assert result.stderr.startswith(
        "rejected: the text is not in the language\n"
        " --> <text>:2:11\n"
        "  |\n"
        '2 |   "é日": 1,}\n'
        "  |            ^ expected "
    )
    assert "'\"'" in result.stderr


def test_check_says_what_is_missing_at_the_end() -> None:
    result = call("check", "json", "--text", "[1")
    assert result.exit_code == 1
    assert "rejected: the text ends too early\n --> <text>:1:3\n" in result.stderr
    assert "']'" in result.stderr


def test_check_judges_an_empty_text() -> None:
    assert "ends too early" in call("check", "json", "--text", "").stderr


def test_check_reads_files_and_standard_input(tmp_path: Path) -> None:
    file = tmp_path / "data.json"
    file.write_text("[1, 2\n, x]")
    result = call("check", "json", "--file", str(file))
    assert result.exit_code == 1 and f"--> {file}:2:3" in result.stderr
    assert call("check", "json", "--file", "-", input="[true]").exit_code == 0


def test_check_says_what_became_of_a_schema() -> None:
    schema = '{"type": "array", "items": {"type": "string", "maxLength": 3, "titel": "x"}, "$defs": {}}'
    shown = call("check", "--verbose", schema).stdout.splitlines()
    assert shown[0].startswith("ok: ")
    assert shown[1] == "shaped by: `type` 2, `items` 1, `maxLength` 1"
    assert (
        "unknown: #/items: `titel`: no draft has this keyword: it is without effect; did you mean" in shown[2]
    )
    assert any(line.startswith("narrowed: #: whitespace: ") for line in shown)
    assert "shaped by" not in call("check", "--verbose", "json", "--text", "1").stdout


def test_check_starts_where_it_is_told() -> None:
    assert call("check", "json", "--start", "string", "--text", '"a"').exit_code == 0
    assert call("check", "json", "--start", "string", "--text", "1").exit_code == 1


def test_check_without_a_text_checks_the_grammar(tmp_path: Path) -> None:
    file = tmp_path / "g.ebnf"
    file.write_text('root ::= "a" b\nb ::= "c"')
    result = call("check", str(file))
    assert (result.exit_code, result.stdout) == (0, "ok: 2 rules, start root\n")


def test_check_finds_the_byte_in_a_long_text() -> None:
    compiled = compile_for_text(Grammar.bundled("json"))
    data = b"[" + b'"abc",' * 50_000 + b"x]"
    verdict = judge(compiled, data)
    assert (verdict.accepted, verdict.position) == (False, len(data) - 2)
    assert judge(compiled, data[:-3] + b"]").accepted


def test_check_points_at_whole_characters() -> None:
    compiled = compile_for_text(Grammar.from_ebnf('root ::= "日本"'))
    data = "日木".encode()
    verdict = judge(compiled, data)
    assert verdict.position == 5
    assert "<text>:1:2\n" in explain(verdict, data, "<text>")
    broken = b"\xe6\x97\xe6"
    assert "<text>:1:2\n" in explain(judge(compiled, broken), broken, "<text>")


def test_check_names_special_tokens(tmp_path: Path) -> None:
    file = tmp_path / "g.ebnf"
    file.write_text('root ::= "a" <|tool|>')
    result = call("check", str(file), "--text", "a<|tool|>")
    assert result.exit_code == 1 and "<text>:1:2" in result.stderr and "expected <|tool|>" in result.stderr


# bad input ---------------------------------------------------------------------------------------


def test_grammar_files_that_cannot_be_used(tmp_path: Path) -> None:
    binary, latin = tmp_path / "binary.ebnf", tmp_path / "latin.ebnf"
    binary.write_bytes(b"root ::= \0")
    latin.write_bytes('root ::= "é"'.encode("latin-1"))
    for path, message in (
        (tmp_path / "none.ebnf", "no such grammar file"),
        (tmp_path, "a directory"),
        (binary, "binary"),
        (latin, "not UTF-8"),
    ):
        assert_refused(call("check", str(path)), message)
        assert_refused(call("generate", "prompt", "--grammar", str(path)), message)


def test_text_files_that_cannot_be_used(tmp_path: Path) -> None:
    assert_refused(call("check", "json", "--file", str(tmp_path / "none")), "cannot read")
    assert_refused(call("check", "json", "--file", str(tmp_path)), "cannot read")


def test_all_diagnostics_of_a_grammar_are_shown(tmp_path: Path) -> None:
    file = tmp_path / "g.ebnf"
    file.write_text('root ::= itme "[x]"\nitem ::= "a"\nitem ::= [z-a]\n')
    result = call("check", str(file))
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr.count("error[") >= 2
    assert f"--> {file}:1:10" in result.stderr and "^^^^" in result.stderr and "[x]" in result.stderr
    assert "Traceback" not in result.stderr


def test_text_and_file_exclude_each_other() -> None:
    result = call("check", "json", "--text", "1", "--file", "x")
    assert result.exit_code == 2 and "not both" in result.stderr


# grammars ----------------------------------------------------------------------------------------


def test_grammars_are_listed_with_a_description() -> None:
    result = call("grammars", env={"COLUMNS": "200"})
    assert result.exit_code == 0
    lines = [line.split(maxsplit=1) for line in result.stdout.splitlines()]
    assert [line[0] for line in lines] == bundled_names()
    assert all(len(line) == 2 for line in lines)


def test_a_grammar_can_be_printed() -> None:
    result = call("grammars", "json")
    assert result.exit_code == 0 and "value  ::=" in result.stdout
    assert_refused(call("grammars", "nothing"), "no bundled grammar `nothing`")


def test_descriptions() -> None:
    assert describe("#\n\n# What it is.\n# More.\nroot ::= x") == "What it is."
    assert describe("// What.\n") == "What."
    assert describe('root ::= "x" # no') == describe("") == ""


# generate ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory, model: Any, tokenizer: Any) -> str:
    folder = tmp_path_factory.mktemp("model")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def test_generate_writes_the_text_alone(tmp_path: Path, model_folder: str) -> None:
    file = tmp_path / "g.ebnf"
    file.write_text('root ::= "[" ("true" | "12") "]" "[/x]"\nother ::= "ab"')
    result = call("generate", "p", "--grammar", str(file), "--model", model_folder)
    assert result.exit_code == 0 and result.stdout in ("[true][/x]\n", "[12][/x]\n")
    assert result.stderr == ""
    sampled = call(
        "generate",
        "p",
        "--grammar",
        str(file),
        "--start",
        "other",
        "--model",
        model_folder,
        "--temperature",
        "2",
        "--seed",
        "1",
    )
    assert sampled.exit_code == 0 and sampled.stdout == "ab\n"


def test_generate_says_when_it_is_cut_short(model_folder: str, tmp_path: Path) -> None:
    file = tmp_path / "g.ebnf"
    file.write_text('root ::= "a"{40}')
    result = call("generate", "p", "--grammar", str(file), "--model", model_folder, "--max-new-tokens", "5")
    assert result.exit_code == 1 and result.stdout.strip() == "a" * 5
    assert "not finished: max_new_tokens was reached after 5 tokens" in result.stderr


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    assert_refused(
        call("generate", "p", "--grammar", "json", "--model", str(tmp_path / "nothing")),
        "cannot load the model",
    )


# the program -------------------------------------------------------------------------------------


def start_program(code: str, *arguments: str, **options: Any) -> Any:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"}, **options,
    )  # fmt: skip


@pytest.mark.campaign
def test_without_an_extra_the_program_names_it() -> None:
    block = "import sys; sys.modules[{!r}] = None; "
    for module, arguments, extra in (
        ("typer", ["grammars"], "cli"),
        ("rich", ["grammars"], "cli"),
        ("transformers", ["generate", "p", "--grammar", "json"], "hf"),
        ("torch", ["sql", "q"], "hf"),
    ):
        program = start_program(block.format(module) + MAIN, *arguments)
        out, err = program.communicate()
        assert (program.returncode, out) == (2, "")
        assert f"error: this needs {module}, which is not installed: pip install 'stackmask[{extra}]'" in err


def test_check_needs_no_torch() -> None:
    program = start_program(
        "import sys; sys.modules['torch'] = sys.modules['transformers'] = None; " + MAIN,
        "check",
        "json",
        "--text",
        "1",
    )
    assert program.communicate()[0] == "accepted\n"


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_interrupting_is_clean() -> None:
    # background jobs of a shell are started with the signal ignored, and hand that on
    code = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "import stackmask.runtime.cli.checking as c, time\n"
    code += "def judge(*_):\n    print('here', flush=True)\n    time.sleep(3600)\nc.judge = judge\n"
    program = start_program(code + MAIN, "check", "json", "--text", "1")
    assert program.stdout.readline() == "here\n"
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=600)
    assert (program.returncode, out, err) == (130, "", "interrupted\n")


def test_the_list_of_commands_has_whole_sentences() -> None:
    listed = call("--help").stdout.partition("Commands:\n")[2].rstrip().splitlines()
    assert len(listed) == len(app.registered_commands) and all(line.endswith(".") for line in listed)
    assert not any(line.endswith("...") for line in listed)
