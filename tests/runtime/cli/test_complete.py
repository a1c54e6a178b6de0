"""``stackmask complete``."""

from __future__ import annotations

from typer.testing import CliRunner

from stackmask.runtime.cli.app import app


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["complete", *arguments], env={"COLUMNS": "200"})
    return done.exit_code, done.output


def test_a_text_that_was_cut_is_mended() -> None:
    status, shown = run("json", "--text", '{"a": [1,')
    assert status == 0
    assert '{"a": [1,0]}' in shown
    assert "3 bytes more" in shown


def test_a_whole_text_needs_nothing() -> None:
    assert run("json", "--text", '{"a": [1]}')[1].splitlines()[1].startswith("0 bytes more, 0 tokens")


def test_a_wrong_text_says_why() -> None:
    status, shown = run("json", "--text", '{"a": oops')
    assert status == 1
    assert "refused" in shown
