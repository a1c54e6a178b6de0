"""``stackmask trace``."""

from __future__ import annotations

from typer.testing import CliRunner

from stackmask.runtime.cli.app import app


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["trace", *arguments], env={"COLUMNS": "200"})
    return done.exit_code, done.output


def test_a_text_is_followed_to_its_end() -> None:
    status, shown = run("json", "--text", '{"a": [1]}')
    assert status == 0
    assert "(end)" in shown
    assert "made of" not in shown


def test_costs_tell_operands_and_walks() -> None:
    status, shown = run("json", "--text", '{"a": 1}', "--cost")
    assert status == 0
    assert "made of" in shown
    assert "walks" in shown
    assert "list of" in shown or "row of" in shown


def test_a_refused_text_says_why() -> None:
    status, shown = run("json", "--text", '{"a": oops}')
    assert status == 1
    assert "refused" in shown


def test_a_text_that_ends_too_early() -> None:
    status, shown = run("json", "--text", '{"a"')
    assert status == 1
    assert "ends too early" in shown
