"""Regular expressions by Python's ``re``, and by a JavaScript engine where one is installed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import warnings
from collections.abc import Sequence

from judges.verdict import ACCEPTED, Verdict, decoded, rejected

_SCRIPT = """
const patterns = JSON.parse(require("fs").readFileSync(0, "utf8"));
const bad = (p) => { for (const f of ["", "u"]) { try { new RegExp(p, f); } catch (e) { return String(e); } } };
console.log(JSON.stringify(patterns.map((p) => bad(p) ?? null)));
"""


def judge(data: bytes) -> Verdict:
    """Judge one pattern by Python's ``re``, whose warnings about doubtful syntax count as errors."""
    text = decoded(data)
    if text is None:
        return rejected("not UTF-8")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(text)
    except (re.error, Warning, OverflowError, RecursionError) as error:
        return rejected(error)
    return ACCEPTED


def node_available() -> bool:
    """Return whether a JavaScript engine is installed."""
    return shutil.which("node") is not None


def judge_all_with_node(patterns: Sequence[str]) -> list[str | None]:
    """Return per pattern what ``RegExp`` refuses (plain or with the ``u`` flag), or None. One process for all."""
    run = subprocess.run(
        ["node", "-e", _SCRIPT], input=json.dumps(list(patterns)), capture_output=True, text=True, check=True
    )
    answers: list[str | None] = json.loads(run.stdout)
    return answers
