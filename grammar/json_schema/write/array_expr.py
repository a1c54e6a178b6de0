"""An array as one expression: leading items, then repeated ones."""

from __future__ import annotations

from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.json_schema.write.whitespace import Whitespace

_OPEN: Final = ir.Literal(b"[")
_CLOSE: Final = ir.Literal(b"]")


def array_expr(
    ws: Whitespace, prefix: list[ir.Expr], rest: ir.Expr | None, low: int, high: int | None
) -> ir.Expr:
    """Return an array of leading items, then ``rest`` repeated, ``low`` to ``high`` items in all."""
    empty = ir.Sequence((ws.empty, _CLOSE))
    end = ws.end(_CLOSE)
    if high == 0 or (not prefix and rest is None):
        return ir.Sequence((_OPEN, ws.empty, _CLOSE))
    comma = ws.item
    tail: ir.Expr | None = None  # what may follow the items written so far, from the last one backwards
    count = len(prefix)
    if rest is not None:
        more_high = None if high is None else high - max(count, 1)
        more_low = max(0, low - max(count, 1))
        tail = ir.Repeat(ir.Sequence((comma, rest)), more_low, more_high)
    if not prefix:
        assert rest is not None and tail is not None
        some = ir.Sequence((ws.open, rest, tail, *end))
    else:
        for i in range(count - 1, 0, -1):
            item = ir.Sequence((comma, prefix[i])) if tail is None else ir.Sequence((comma, prefix[i], tail))
            tail = item if low > i else ir.Repeat(item, 0, 1)
        parts = (prefix[0],) if tail is None else (prefix[0], tail)
        some = ir.Sequence((ws.open, *parts, *end))
    return ir.Sequence((ws.begin(_OPEN), some if low > 0 else ir.Choice((some, empty))))
