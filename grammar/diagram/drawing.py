"""Convert a rule to a diagram, in which expressions become boxes, branches and loops.

Sizes are bounded: parts that are nested too deeply or exceed the limit become a box with their text, and long
choices show only their first alternatives. JSON strings and whitespace are named rather than drawn.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence as Items
from typing import TYPE_CHECKING, Any, Final

from stackmask.grammar import ir
from stackmask.grammar.ir.dump import dump_expr
from stackmask.grammar.source.charclass import negate
from stackmask.grammar.source.diagnostics import StackmaskError

if TYPE_CHECKING:
    from collections.abc import Mapping


_REMEMBERED: Final = {
    "top": "the last captured text",
    "level": "indented as far as the last captured text",
    "deeper": "indented further than the last captured text",
}
MAX_DEPTH: Final = 24  # expressions in each other
MAX_BOXES: Final = 4_000  # of one picture
MAX_ALTERNATIVES: Final = 40
MAX_ITEMS: Final = 200  # of a sequence
LINE: Final = 760  # pixels; longer sequences go on in the next line
CHAR_WIDTH: Final = 8.5


class DiagramError(StackmaskError):
    """A diagram cannot be drawn."""


def library() -> Any:
    """Return the drawing library. Raises: DiagramError if it is not installed."""
    try:
        import railroad
    except ModuleNotFoundError:
        raise DiagramError(
            "diagrams need railroad-diagrams, which is not installed: pip install 'stackmask[look]'"
        ) from None
    return railroad


class Drawer:
    """Draws the rules of one grammar. ``places``: the link target of each rule's diagram."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._railroad = library()
        self._places = places
        self._left = MAX_BOXES

    def diagram(self, body: ir.Expr) -> Any:
        """Return the diagram of a rule's body, with its layout."""
        made = self._railroad.Diagram(self._item(body, 0), type="complex")
        made.format(16)
        _without_doubles(made)
        return made

    # -- expressions ---------------------------------------------------------------------------------

    def _item(self, expr: ir.Expr, depth: int) -> Any:
        """Return an expression as an item of the library. The depth of calls is bounded by MAX_DEPTH."""
        self._left -= 1
        if self._left < 0:
            return self._railroad.Comment("…")
        if depth > MAX_DEPTH:
            return self._box(expr_label(expr))
        match expr:
            case (
                ir.Literal()
                | ir.CharClass()
                | ir.ByteClass()
                | ir.TokenTerminal()
                | ir.RuleRef()
                | ir.NotFollowedBy()
            ):
                return self._leaf(expr)
            case ir.Sequence(items):
                return self._sequence(_flat(items), depth)
            case ir.Choice(items):
                return self._choice(items, depth)
            case ir.Repeat(item, low, high):
                return self._repeat(item, None, low, high, depth)
            case ir.Intersection(items):
                return self._intersection(items, depth)
            case ir.Complement(item):
                return self._box(f"anything but {expr_label(item)}")
            case ir.Capture(item, action):
                return self._capture(item, action, depth)
            case ir.Scope(item) | ir.Keyed(item, _):
                return self._item(item, depth + 1)
            case ir.Dynamic(resolver):
                return self._dynamic(resolver)
            case ir.Slot() | ir.KeyTest():
                return self._railroad.Skip()

    def _leaf(self, expr: ir.Expr) -> Any:
        match expr:
            case ir.Literal(b""):
                return self._railroad.Skip()
            case ir.Literal(data):
                return self._terminal(literal_label(data))
            case ir.TokenTerminal():
                return self._terminal(shown(expr_label(expr)), "token")
            case ir.RuleRef(name, _):
                return self._reference(name)
            case ir.NotFollowedBy():
                return self._railroad.Comment(cut(follow_label(expr)))
            case _:
                return self._terminal(class_label(expr), "class")

    def _sequence(self, items: list[ir.Expr], depth: int) -> Any:
        more = len(items) - MAX_ITEMS
        drawn = []
        at = 0
        while at < min(len(items), MAX_ITEMS):
            word = _word(items, at)
            if len(word) > 1:
                drawn.append(self._terminal(f"{word} (any case)"))
                at += len(word)
                continue
            loop = _separated(items, at)
            if loop is not None:
                item, separator = loop
                drawn.append(self._repeat(item, separator, 1, None, depth))
                at += len(_flat((item,))) + 1
                continue
            drawn.append(self._item(items[at], depth + 1))
            at += 1
        if more > 0:
            drawn.append(self._railroad.Comment(f"and {more:,} more"))
        drawn = [item for item in drawn if not isinstance(item, self._railroad.Skip)]
        if not drawn:
            return self._railroad.Skip()
        return self._lines(drawn)

    def _lines(self, drawn: list[Any]) -> Any:
        """Return items in one row, or in several if one row would be too long."""
        lines: list[list[Any]] = [[]]
        width = 0.0
        for item in drawn:
            if lines[-1] and width + item.width > LINE:
                lines.append([])
                width = 0.0
            lines[-1].append(item)
            width += item.width + 20
        rows = [line[0] if len(line) == 1 else self._railroad.Sequence(*line) for line in lines]
        return rows[0] if len(rows) == 1 else self._railroad.Stack(*rows)

    def _choice(self, items: Items[ir.Expr], depth: int) -> Any:
        if not items:
            return self._railroad.Comment("nothing")
        if _is_string_character(items):
            return self._terminal("character of a string", "class")
        optional = ir.EPSILON in items
        others = [item for item in items if item != ir.EPSILON]
        drawn = [self._item(item, depth + 1) for item in others[:MAX_ALTERNATIVES]]
        if len(others) > MAX_ALTERNATIVES:
            drawn.append(self._railroad.Comment(f"and {len(others) - MAX_ALTERNATIVES:,} more"))
        if optional:
            drawn.insert(0, self._railroad.Skip())
        if len(drawn) == 1:
            return drawn[0]
        return self._railroad.Choice(1 if optional else 0, *drawn)

    def _repeat(
        self, item: ir.Expr, separator: ir.Expr | None, low: int, high: int | None, depth: int
    ) -> Any:
        if is_blank(item):
            return self._railroad.Skip()
        inner = self._item(item, depth + 1)
        if isinstance(inner, self._railroad.Skip):
            return inner
        if high == 1:
            return inner if low == 1 else self._railroad.Optional(inner)
        between = None if separator is None else self._item(separator, depth + 1)
        if low > 1 or high is not None:
            between = self._railroad.Comment(_times(max(low, 1), high))
        loop = self._railroad.OneOrMore(inner, between)
        return self._railroad.Optional(loop) if low == 0 else loop

    def _intersection(self, items: Items[ir.Expr], depth: int) -> Any:
        first, *others = items
        if isinstance(first, ir.Complement) and others:
            # what a text is reads better before what it is not
            first, others = others[0], [first, *others[1:]]
        notes = [
            f"but not {expr_label(other.item)}"
            if isinstance(other, ir.Complement)
            else f"and {expr_label(other)}"
            for other in others
        ]
        return self._railroad.Group(self._item(first, depth + 1), cut(", ".join(notes)))

    def _capture(self, item: ir.Expr, action: object, depth: int) -> Any:
        if action == "key":
            return self._box("another key")
        inner = self._item(item, depth + 1)
        if isinstance(action, ir.TokenLimit):
            return self._railroad.Group(inner, f"at most {action.tokens:,} tokens")
        return self._railroad.Group(inner, "remembered") if action in ("push", "new") else inner

    def _dynamic(self, resolver: object) -> Any:
        if isinstance(resolver, str):
            return self._box(_REMEMBERED[resolver])
        written = getattr(resolver, "written", None)
        if isinstance(written, bytes):
            return self._leaf(ir.Literal(written))
        return self._box(shown(getattr(resolver, "__qualname__", type(resolver).__name__)))

    # -- boxes ---------------------------------------------------------------------------------------

    def _terminal(self, label: str, kind: str = "") -> Any:
        return self._sized(self._railroad.Terminal(cut(label), title=_title(label), cls=kind), label)

    def _box(self, label: str) -> Any:
        return self._sized(self._railroad.NonTerminal(cut(label), title=_title(label), cls="text"), label)

    def _reference(self, name: str) -> Any:
        if name.startswith("%"):
            return self._railroad.Skip()  # what may be skipped
        label = shown(name)
        box = self._railroad.NonTerminal(cut(label), href=self._places.get(name), title=_title(label))
        return self._sized(box, label)

    def _sized(self, box: Any, label: str) -> Any:
        box.width += extra_columns(cut(label)) * CHAR_WIDTH
        return box


def _without_doubles(diagram: Any) -> None:
    """Remove the second copy of the text that the library writes into links."""
    stack = [diagram]
    while stack:
        item = stack.pop()
        children: list[Any] = getattr(item, "children", [])
        if getattr(item, "name", "") == "a":
            del children[1:]
        stack.extend(child for child in children if not isinstance(child, str))


def _title(label: str) -> str | None:
    return None if cut(label) == label else label[:MAX_TITLE]


def _times(low: int, high: int | None) -> str:
    if high is None:
        return f"{low:,} or more"
    return f"{high:,} times" if low == high else f"{low:,} to {high:,} times"


def _flat(items: Items[ir.Expr]) -> list[ir.Expr]:
    """Return the items of a sequence with nested sequences flattened, and adjacent literals merged."""
    found: list[ir.Expr] = []
    stack = list(reversed(items))
    while stack:
        item = stack.pop()
        match item:
            case ir.Sequence(inner):
                stack.extend(reversed(inner))
            case ir.Literal(data) if found and isinstance(found[-1], ir.Literal):
                found[-1] = ir.Literal(found[-1].data + data)
            case ir.Literal(b"") | ir.Slot() | ir.KeyTest():
                pass
            case ir.Repeat(inner, _, _) if is_blank(inner):
                pass  # where blanks may stand, as in JSON
            case _:
                found.append(item)
    return found


def _word(items: list[ir.Expr], at: int) -> str:
    """Return the letters from an index on that may be upper or lower case."""
    found = ""
    for item in items[at:]:
        if not isinstance(item, ir.CharClass) or len(item.ranges) != 2:
            break
        (capital, last), (small, end) = item.ranges
        if capital != last or small != end or not 0x41 <= capital <= 0x5A or small != capital + 0x20:
            break
        found += chr(capital)
    return found


def _separated(items: list[ir.Expr], at: int) -> tuple[ir.Expr, ir.Expr] | None:
    """Return item and separator of ``item (separator item)*`` at an index of a sequence, if it is there."""
    for size in range(1, 4):
        if at + size >= len(items):
            return None
        loop = items[at + size]
        if not isinstance(loop, ir.Repeat) or loop.min or loop.max is not None:
            continue
        inner = _flat((loop.item,))
        head = items[at : at + size]
        if len(inner) > size and inner[-size:] == head:
            return ir.Sequence(tuple(head)), ir.Sequence(tuple(inner[:-size]))
    return None


def _is_string_character(items: Items[ir.Expr]) -> bool:
    """Return whether alternatives are a character of a JSON string: one that needs no escape, or an escape."""
    if len(items) != 2 or not isinstance(items[0], ir.CharClass) or not isinstance(items[1], ir.Sequence):
        return False
    ranges, escape = items[0].ranges, items[1].items[0]
    quoted = any(low <= code <= high for code in (0x22, 0x5C) for low, high in ranges)
    return (
        not quoted
        and ranges[-1][1] == 0x10FFFF
        and isinstance(escape, ir.Literal)
        and escape.data[:1] == b"\\"
    )


# -- What stands in the boxes of a diagram: short, printable, and with blanks that can be seen -----------

MAX_LABEL: Final = 44  # characters; longer ones end with three dots, and the whole is in the box's title
MAX_TITLE: Final = 2_000
MOST_ALLOWED: Final = 6  # characters that may follow, of those that are listed
_SEEN: Final = {" ": "␣", "\n": "↵", "\t": "⇥"}
_BLANKS: Final = frozenset(b" \t\r\n")


def shown(text: str) -> str:
    """Return text without characters that a picture cannot show or that XML does not have."""
    return "".join(
        _SEEN.get(character) or (character if character.isprintable() else ascii(character)[1:-1])
        for character in text
    )


def literal_label(data: bytes) -> str:
    """Return the label of a literal; bytes that are not UTF-8 are escaped."""
    return shown(data.decode(errors="backslashreplace"))


def class_label(expr: ir.Expr) -> str:
    """Return the label of one character or byte."""
    if isinstance(expr, ir.CharClass) and expr.ranges == ir.ANY_CHAR.ranges:
        return "any character"
    if isinstance(expr, ir.ByteClass) and is_blank(expr):
        return "blank"
    if isinstance(expr, ir.CharClass):
        missing = negate(expr.ranges)
        if expr.ranges[-1:] == ir.ANY_CHAR.ranges[-1:] and len(missing) <= len(expr.ranges) + 1:
            return shown("[^" + dump_expr(ir.CharClass(missing))[1:])
    return shown(dump_expr(expr))


def is_blank(expr: ir.Expr) -> bool:
    """Return whether a byte class contains only JSON's blanks."""
    return isinstance(expr, ir.ByteClass) and all(
        byte in _BLANKS for byte in range(256) if expr.mask >> byte & 1
    )


def follow_label(expr: ir.NotFollowedBy) -> str:
    """Return the label of a follow restriction."""
    allowed = bytes(byte for byte in range(0x80) if not expr.mask >> byte & 1)
    if expr.mask >> 0xFF and len(allowed) <= MOST_ALLOWED:
        return f"only before {literal_label(allowed)} or the end" if allowed else "only at the end"
    return f"not before {expr_label(expr).removeprefix('!>> ')}"


def expr_label(expr: ir.Expr) -> str:
    """Return an expression in the syntax of the dialect."""
    return shown(dump_expr(expr)).replace("␣", " ")


def cut(label: str) -> str:
    """Return a label truncated to fit a box."""
    return label if len(label) <= MAX_LABEL else label[: MAX_LABEL - 1] + "…"


def extra_columns(label: str) -> int:
    """Return the number of columns that a label needs beyond one for each character, for East Asian characters."""
    return sum(unicodedata.east_asian_width(character) in "WF" for character in label)
