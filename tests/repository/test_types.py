"""The programs of the README pass ``mypy --strict``, and the types that it finds there help."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from repository.tree import REPO
from support.pages import blocks

# torch and transformers would take minutes to read, and are Any here
SETTINGS = f"""
[mypy]
strict = True
mypy_path = {REPO / "build" / "view"}
follow_imports = silent
[mypy-stackmask.*]
ignore_missing_imports = True
[mypy-torch.*,transformers.*]
follow_imports = skip
"""
SHOWN = """
reveal_type(result.parsed)
reveal_type(turn.calls[0].run())
reveal_type(answer)
reveal_type(sm.stream(model, tokenizer, "p", Order).result.parsed)
reveal_type(sm.stream(model, tokenizer, "p", Order).partial)
reveal_type(sm.stream(model, tokenizer, "p", list[Order], tools=[find_price]).result)
reveal_type(sm.stream(model, tokenizer, "p", Order, reasoning="on").result.parsed)

async def later(given: sm.GenerationResult) -> sm.GenerationResult[Order]:
    reveal_type(await sm.agenerate(model, tokenizer, ["p", "q"], Order))
    reveal_type(await sm.agenerate(model, tokenizer, "p", {"type": "integer"}, tools=[{"name": "f"}]))
    return given
"""
ORDER = "program.Order"
RESULT = "stackmask.runtime.generation.result.GenerationResult"
TYPES = [
    f"{ORDER} | None",
    "float",
    f"{RESULT}[Any, Any]",
    f"{ORDER} | None",
    "dict[str, Any] | list[Any] | str | float | enum.Enum | None",
    f"{RESULT}[list[{ORDER}], float]",
    f"{ORDER} | None",
    f"list[{RESULT}[{ORDER}, Any]]",
    f"list[{RESULT}[Any, Any]]",
]
MISTAKES = """
if result.parsed is not None:
    print(result.parsed.itm)
sm.generate(model, tokenizer, "p", Order).parsed
grammar.matcher()
"""


def check(program: str, folder: Path) -> list[str]:
    """Return what mypy says of a program, a line each."""
    (folder / "program.py").write_text(program, encoding="utf-8")
    (folder / "mypy.ini").write_text(SETTINGS, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--no-error-summary", "program.py"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder)
    assert not done.stderr
    return done.stdout.splitlines()


@pytest.mark.campaign
def test_programs_of_the_readme_have_types_that_help(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    pytest.importorskip("pydantic")
    program = "\n".join(blocks("README.md", "python"))
    assert check(program, tmp_path) == []
    notes = check(program + SHOWN, tmp_path)
    assert [re.findall('"(.*)"', note)[0] for note in notes] == TYPES
    found = check(program + MISTAKES, tmp_path)
    assert [tuple(re.findall('"([^"]*)"', line))[:2] for line in found] == [
        ("Order", "itm"),
        ("list[GenerationResult[Order, Any]]", "parsed"),
        ("Grammar", "matcher"),
    ]
