"""What users type by mistake, and what they read: one golden each, and no error of Python's own among them.

A case is Python code, and below it, after ``--- says``, what comes of it: the message of an error, the warnings of a
grammar, why a matcher refused, or what a command printed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mistakes.setting import Commanded, Setting
from support.golden import Case, read_cases, write_cases

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.json_schema.document.report import Report
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.runtime.matching.matcher import Matcher

FILES = sorted((Path(__file__).parent / "cases").glob("*.txt"))
AT_LEAST = 150


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Setting:
    return Setting(tmp_path_factory.mktemp("mistakes"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_users_read(path: Path, setting: Setting, update_goldens: bool) -> None:
    cases = read_cases(path)
    said = [outcome(case, setting) for case in cases]
    if update_goldens:
        for case, text in zip(cases, said, strict=True):
            case.sections = {"says": f"{text}\n\n"}
        write_cases(path, cases)
    for case, text in zip(cases, said, strict=True):
        assert text == case.sections["says"].rstrip("\n"), case.title
        assert not text.startswith("raw "), case.title


def test_there_are_many() -> None:
    titles = [(path.stem, case.title) for path in FILES for case in read_cases(path)]
    assert len(titles) == len(set(titles))
    assert len(titles) >= AT_LEAST


def outcome(case: Case, setting: Setting) -> str:
    """Run a case and return what its user reads."""
    folder = str(setting.folder)
    try:
        value = run(case.grammar.replace("TMP", folder), setting.names(case.grammar))
    except StackmaskError as error:
        text = f"{type(error).__name__}: {error}"
    except Exception as error:  # noqa: BLE001  # to be shown
        text = f"raw {type(error).__name__}: {error}"
    else:
        text = shown(value)
    return re.sub(r"[ \t]+$", "", text.replace(folder, "TMP"), flags=re.MULTILINE)


def run(code: str, names: dict[str, Any]) -> Any:
    """Run statements and return the value of the last one, an expression."""
    tree = ast.parse(code)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    exec(compile(tree, "<case>", "exec"), names)  # noqa: S102  # the code of the cases
    return eval(compile(ast.Expression(last.value), "<case>", "eval"), names)


def shown(value: Any) -> str:
    readers: list[tuple[type, Callable[[Any], str]]] = [
        (Commanded, lambda command: f"exit status {command.status}\n{command.text}"),
        (Report, str),
        (Matcher, lambda matcher: f"refusal: {matcher.refusal}"),
        (Grammar, lambda grammar: str(grammar.warnings) or "raw grammar, without a warning"),
    ]
    return next((read(value) for kind, read in readers if isinstance(value, kind)), f"raw value: {value!r}")
