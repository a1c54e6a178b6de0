"""``stackmask diagram``."""

from __future__ import annotations

import xml.dom.minidom
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stackmask.runtime.cli.app import app

pytest.importorskip("railroad")


def run(*arguments: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["diagram", *map(str, arguments)], env={"COLUMNS": "200"})
    return done.exit_code, done.output


@pytest.mark.parametrize("grammar", ["json", r"/\d{3}-[A-Z]+/", '{"type": "object"}', "typing:List"])
def test_a_picture_is_written(grammar: str, tmp_path: Path) -> None:
    file = tmp_path / "x.svg"
    status, shown = run(grammar, "-o", file)
    assert status == 0, shown
    assert "rule" in shown
    root = xml.dom.minidom.parse(str(file)).documentElement
    assert root is not None and root.tagName == "svg"


def test_a_page_is_written(tmp_path: Path) -> None:
    file = tmp_path / "x.html"
    assert run("json", "-o", file)[0] == 0
    assert "<title>json</title>" in file.read_text(encoding="utf-8")


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    status, shown = run("json", "-o", tmp_path / "x.png")
    assert status == 2
    assert ".svg or .html" in shown
    status, shown = run("json", "-o", tmp_path / "none" / "x.svg")
    assert status == 2
    assert "cannot be written" in shown
