"""Arithmetic by Python's own parser, limited to the node types that arithmetic has."""

from __future__ import annotations

import ast
import re
import warnings

from judges.verdict import ACCEPTED, Verdict, decoded, rejected

_NODES = (
    ast.Expression,
    ast.BinOp,
    ast.UnaryOp,
    ast.Call,
    ast.Constant,
    ast.Name,
    ast.Load,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.FloorDiv,
    ast.Mod,
    ast.Pow,
    ast.UAdd,
    ast.USub,
)
# what Python reads and the notation does not have: 1_000, 0x1F, 1j, "text", f(x,), comments, `1.`, `.5`
_FOREIGN = re.compile(
    r"_\d|\d_|0[xXoObB]|\d[jJ]|[\"'#\\;]|,\s*\)|\d\.(?!\d)|(?<!\d)\.\d|[^\x00-\x7f]|[\x0b\x0c]"
)


def judge(data: bytes) -> Verdict:
    """Judge one expression; the text is put in parentheses because line breaks are blanks here."""
    text = decoded(data)
    if text is None:
        return rejected("not UTF-8")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `1if` and the like are refused below
            tree = ast.parse(f"({text}\n)", mode="eval")
    except (SyntaxError, ValueError) as error:
        return rejected(error)
    if found := _FOREIGN.search(text):
        return rejected(f"foreign notation {found.group()!r}")
    for node in ast.walk(tree):
        if not isinstance(node, _NODES):
            return rejected(f"foreign node {type(node).__name__}")
        if isinstance(node, ast.Call) and (node.keywords or not isinstance(node.func, ast.Name)):
            return rejected("foreign call")
    return ACCEPTED
