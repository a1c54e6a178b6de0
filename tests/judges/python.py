"""Python by its own interpreters: a child process of each version parses and compiles."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

from judges.verdict import ACCEPTED, Verdict, decoded, rejected

NEWEST = "3.13"
VERSIONS = ("3.10", "3.11", "3.12", NEWEST)
_COMPILED_LATER = ("duplicate argument", "duplicate type parameter", "'return' outside function")
_CHILD = r"""
import ast, json, sys, warnings
warnings.simplefilter("ignore")
sys.setrecursionlimit(10_000)
for line in sys.stdin:
    text = json.loads(line)
    answer = ["", ""]
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        answer[0] = repr(error)
    else:
        try:
            compile(tree, "<text>", "exec")
        except (SyntaxError, ValueError, RecursionError) as error:
            answer[1] = repr(error)
    print(json.dumps(answer), flush=True)
"""


@cache
def interpreter(version: str) -> str | None:
    """Return the program of a version, where pyenv has it or on the path; None if there is none."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    paths = [*sorted(root.glob(f"versions/{version}.*/bin/python{version}")), f"python{version}"]
    for path in map(str, paths):
        if (
            shutil.which(path)
            and not subprocess.run([path, "-V"], check=False, capture_output=True).returncode
        ):
            return path
    return None


@cache
def _child(version: str) -> subprocess.Popen[str]:
    program = interpreter(version)
    if program is None:
        import pytest

        pytest.skip(f"there is no Python {version} here")
    return subprocess.Popen([program, "-c", _CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def judge(data: bytes, version: str = NEWEST) -> Verdict:
    """Judge one module: it must parse; of what is found when it is compiled, some errors count too.

    The others, such as `break` outside of a loop, are semantic.
    """
    text = decoded(data)
    if text is None:
        return rejected("not UTF-8")
    child = _child(version)
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write(json.dumps(text) + "\n")
    child.stdin.flush()
    parsed, compiled = json.loads(child.stdout.readline())
    if parsed or any(part in compiled for part in _COMPILED_LATER):
        return rejected(parsed or compiled)
    return Verdict(True, compiled, "semantic") if compiled else ACCEPTED
