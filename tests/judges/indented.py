"""The indented language by Python's own parser: it is a subset of Python."""

from __future__ import annotations

import ast
import warnings

from judges.verdict import ACCEPTED, Verdict, decoded, rejected


def judge(data: bytes) -> Verdict:
    """Judge one program: it must parse, and compile (no stray break or return).

    That two parameters of a function have one name is a semantic error: ``ast.parse`` takes it.
    """
    text = decoded(data)
    if text is None:
        return rejected("not UTF-8")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `1(2)` is odd, and still Python
            compile(ast.parse(text), "<text>", "exec")
    except (SyntaxError, ValueError) as error:
        if "duplicate argument" in str(error):
            return Verdict(True, str(error), "semantic")
        return rejected(error)
    return ACCEPTED
