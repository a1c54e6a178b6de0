"""The whitespace allowed in JSON text, with line breaks and indents, which depend on the depth."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple

from stackmask.grammar import ir
from stackmask.grammar.json_schema.document.errors import SchemaError
from stackmask.grammar.source.work import remembering

DEFAULT_MAX: Final = 40  # a line break and the indentation of ten levels
MAX_INDENT: Final = 100  # blanks of one level
INDENTS: Final = (b"  ", b"    ", b"\t")  # that a text may choose
_BLANKS: Final = ir.ByteClass((1 << 0x20) | (1 << 0x0A) | (1 << 0x09) | (1 << 0x0D))
_BLANK: Final = ir.Literal(b" ")
_COMMA: Final = ir.Literal(b",")
_COLON: Final = ir.Literal(b":")

# -- a fixed indentation ---------------------------------------------------------------------------------
#
# As `json.dumps(indent=…)` writes it: a line break and as many indents as the depth. The depth is part of the semantic
# state: a pair of the depth and of what other actions of the grammar keep. An opening bracket makes it one deeper, and
# every array and object is a scope, which restores it. So the rules are the same at all depths, and there is no bound
# on them.

START: Final = (0, None)
"""The state at the start of a text: the depth is 0, and nothing else is known."""


class OfDepth:
    """An action or resolver that only depends on the depth, or changes it."""

    __slots__ = ()


class Deeper(OfDepth):
    """The action of an opening bracket."""

    __slots__ = ()
    never_forbids = True

    def __call__(self, state: Any, _: bytes) -> Hashable:
        """Return the state one level deeper."""
        return (state[0] + 1, state[1])


@dataclass(slots=True, eq=False)
class LineBreak(OfDepth):
    """A resolver to text, a line break and the indentation for the depth, or for another depth. ``written``:
    the text for diagrams.
    """

    written: bytes
    indent: bytes
    offset: int

    def __call__(self, state: Any) -> ir.Expr:
        """Return the text as an expression. Cost: linear in its length."""
        return ir.Literal(self.written + b"\n" + self.indent * (state[0] + self.offset))


@dataclass(slots=True, eq=False)
class BesideDepth:
    """An action on the part of the state other than the depth."""

    action: Callable[[Hashable, bytes], Hashable | None]

    def __call__(self, state: Any, text: bytes) -> Hashable | None:
        inner = self.action(state[1], text)
        return None if inner is None else (state[0], inner)


@dataclass(slots=True, eq=False)
class ResolverBesideDepth:
    """A resolver that depends on the part of the state other than the depth."""

    resolver: Callable[[Hashable], ir.Expr]

    def __call__(self, state: Any) -> ir.Expr:
        return self.resolver(state[1])


# -- a layout that the text chooses ----------------------------------------------------------------------
#
# Each array and object stands on one line, or has an item or member a line. What stands after an opening bracket decides
# for what is inside of it: nothing, one blank, or a line break and one more indent than outside. What separates items and
# what stands before the closing bracket follows from that. The first line break decides what an indent is. So a text that
# `json.dumps` writes is one of these, compact, with its own separators or indented, and so are mixtures, as people and
# models write them: short arrays on one line in an indented object.


class Layout(NamedTuple):
    """The layout of the innermost array or object; it replaces the depth in the state.

    ``indent``: the indentation of one level, None before the first line break. ``depth``: the number of
    enclosing arrays and objects with items on lines. ``inside``: the text before the closing bracket:
    nothing, a space, or a line break.
    """

    indent: bytes | None
    depth: int
    inside: bytes

    def line_break(self, depth: int) -> bytes:
        """Return a line break and the indentation for a depth."""
        assert self.indent is not None
        return b"\n" + self.indent * depth


class Bracket(OfDepth):
    """The action of an opening bracket, whose inside is empty until something follows."""

    __slots__ = ()
    never_forbids = True

    def __call__(self, state: Any, _: bytes) -> Hashable:
        """Return the state inside the bracket."""
        return (state[0]._replace(inside=b""), state[1])


class Opened(OfDepth):
    """The action of the whitespace after an opening bracket."""

    __slots__ = ()
    never_forbids = True

    def __call__(self, state: Any, text: bytes) -> Hashable:
        """Return the state inside the bracket."""
        layout = state[0]
        if text.startswith(b"\n"):
            indent = text[1:] if layout.indent is None else layout.indent
            return (Layout(indent, layout.depth + 1, b"\n"), state[1])
        return (layout._replace(inside=text), state[1])


class Opening(OfDepth):
    """A resolver to the possible whitespace after an opening bracket. ``written``: the text for diagrams."""

    __slots__ = ()
    written = b""

    def __call__(self, state: Any) -> ir.Expr:
        """Return the texts as an expression. Cost: linear in their length."""
        layout = state[0]
        if layout.indent is None:
            breaks = [ir.Literal(b"\n" + indent) for indent in INDENTS]
        else:
            breaks = [ir.Literal(layout.line_break(layout.depth + 1))]
        return ir.Choice((_BLANK, *breaks))


class Separator(OfDepth):
    """A resolver to the item comma and the whitespace after it. ``written``: the text shown in diagrams."""

    __slots__ = ()
    written = b","

    def __call__(self, state: Any) -> ir.Expr:
        """Return the text as an expression. Cost: linear in its length."""
        layout = state[0]
        if layout.inside == b"\n":
            return ir.Literal(b"," + layout.line_break(layout.depth))
        return _SPACED_COMMA


@dataclass(slots=True, eq=False)
class Closing(OfDepth):
    """A resolver to a closing bracket and the whitespace before it. ``written``: the bracket, for diagrams."""

    written: bytes

    def __call__(self, state: Any) -> ir.Expr:
        """Return the text as an expression. Cost: linear in its length."""
        layout = state[0]
        before = layout.line_break(layout.depth - 1) if layout.inside == b"\n" else layout.inside
        return ir.Literal(before + self.written)


_SPACED_COMMA: Final = ir.Sequence((_COMMA, ir.Repeat(_BLANK, 0, 1)))


# -- blanks by place -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Whitespace:
    """The whitespace allowed between the parts of JSON text.

    ``open``: after `[` and `{`; ``close``: before `]` and `}`; ``empty``: between empty brackets; ``item``:
    with the comma between items; ``member``: with the colon. ``nested``: the depth matters, so every array
    and object is a scope; ``start``: then the initial state. ``bracket``: the action of an opening bracket.
    ``closing``: the replacement of ``close`` and the bracket, by closing bracket.
    """

    open: ir.Expr
    close: ir.Expr
    empty: ir.Expr
    item: ir.Expr
    member: ir.Expr
    nested: bool = False
    note: str = ""
    start: Hashable = START
    bracket: ir.Action | None = None
    closing: Mapping[bytes, ir.Expr] | None = field(default=None, hash=False)

    def begin(self, bracket: ir.Literal) -> ir.Expr:
        """Return an opening bracket before items or members."""
        return bracket if self.bracket is None else ir.Capture(bracket, self.bracket)

    def end(self, bracket: ir.Literal) -> tuple[ir.Expr, ...]:
        """Return a closing bracket after items or members, with the whitespace before it."""
        if self.closing is None:
            return (self.close, bracket)
        return (self.closing[bracket.data],)

    def around(self, expr: ir.Expr) -> ir.Expr:
        """Return an array or object within a value: a scope if the depth matters."""
        return ir.Scope(expr) if self.nested else expr

    @classmethod
    def of(cls, option: Any) -> Whitespace:
        """Return the meaning of the option ``whitespace=``, the same object for the same option.

        ``None`` or ``"any"``, ``"compact"``, ``"single"``, ``{"max": n}``, ``{"separators": (item,
        member)}``, ``{"pattern": regex}``, ``{"indent": n or whitespace}`` (with ``"separators"`` if they
        differ from those of ``json.dumps``), or a ``Whitespace``. Raises: SchemaError for anything else.
        """
        if option is None or option == "any":
            return _DEFAULT
        if option == "compact":
            return _COMPACT
        if option == "single":
            return _SINGLE
        if isinstance(option, Whitespace):
            return option
        if isinstance(option, dict) and "indent" in option and option.keys() <= {"indent", "separators"}:
            indent, separators = option["indent"], option.get("separators", (",", ": "))
            if isinstance(indent, int) and not isinstance(indent, bool) and 0 <= indent <= MAX_INDENT:
                indent = " " * indent
            if isinstance(indent, str) and _are_separators(separators):
                return _indented(indent, *separators)
        if isinstance(option, dict) and len(option) == 1:
            ((kind, value),) = option.items()
            if kind == "max" and isinstance(value, int) and value >= 0:
                return _any(value)
            if kind == "separators" and _are_separators(value):
                return _separators(*value)
            if kind == "pattern" and isinstance(value, str):
                return _pattern(value)
        raise SchemaError(
            "",
            "whitespace",
            f'{option!r:.60} is not one of "any", "compact", "single", {{"max": n}}, {{"separators": (item, member)}}, '
            '{"indent": n}, {"pattern": regex}',
        )


def _are_separators(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2 and all(isinstance(x, str) for x in value)


def _check_separators(item: str, member: str) -> None:
    for name, text, sign in (("item", item, ","), ("member", member, ":")):
        if text.strip(" \t\n\r") != sign:
            raise SchemaError("", "whitespace", f"the {name} separator must be `{sign}` and blanks")


def _everywhere(blank: ir.Expr, note: str) -> Whitespace:
    """Return the option that allows ``blank`` wherever JSON allows whitespace inside the value."""
    item, member = ir.Sequence((blank, _COMMA, blank)), ir.Sequence((blank, _COLON, blank))
    return Whitespace(blank, blank, blank, item, member, note=note)


@lru_cache(64)
def _any(most: int) -> Whitespace:
    note = f"at most {most} blanks at one place, none around the value"
    return _everywhere(ir.Repeat(_BLANKS, 0, most), note)


@remembering(64)
def _pattern(source: str) -> Whitespace:
    from stackmask.grammar.json_schema.algebra.keywords import blank_expr

    return _everywhere(blank_expr(source), f"blanks as in {source!r}")


@lru_cache(64)
def _separators(item: str, member: str) -> Whitespace:
    """Return exactly these separators, as in ``json.dumps(separators=…)``, without other whitespace."""
    _check_separators(item, member)
    note = f"exactly the separators {item!r} and {member!r}"
    nothing = ir.EPSILON
    return Whitespace(
        nothing, nothing, nothing, ir.Literal(item.encode()), ir.Literal(member.encode()), note=note
    )


@lru_cache(64)
def _indented(indent: str, item: str, member: str) -> Whitespace:
    """Return a line break before every item, member and closing bracket, and ``indent`` for each level.

    This is exactly the output of ``json.dumps(indent=…, separators=…)``; empty brackets are closed at once.
    """
    _check_separators(item, member)
    if indent.strip(" \t") or len(indent) > MAX_INDENT:
        reason = f"an indent is at most {MAX_INDENT} blanks or tabs, not {indent[:20]!r}"
        raise SchemaError("", "whitespace", reason)
    blanks = indent.encode()
    return Whitespace(
        ir.Capture(ir.Dynamic(LineBreak(b"", blanks, 1)), Deeper()),
        ir.Dynamic(LineBreak(b"", blanks, -1)),
        ir.EPSILON,
        ir.Dynamic(LineBreak(item.encode(), blanks, 0)),
        ir.Literal(member.encode()),
        nested=True,
        note=f"exactly a line break and the indent {indent!r} for each level, {item!r} and {member!r}",
    )


_DEFAULT: Final = _any(DEFAULT_MAX)
_COMPACT: Final = _separators(",", ":")
_SINGLE: Final = Whitespace(
    ir.Repeat(ir.Capture(ir.Dynamic(Opening()), Opened()), 0, 1),
    ir.EPSILON,
    ir.EPSILON,
    ir.Dynamic(Separator()),
    ir.Sequence((_COLON, ir.Repeat(_BLANK, 0, 1))),
    nested=True,
    note="at most one blank after a comma, after a colon and inside of brackets, or a line break and the"
    " indentation of its level, 2 or 4 blanks or a tab each",
    start=(Layout(None, 0, b""), None),
    bracket=Bracket(),
    closing={bracket: ir.Dynamic(Closing(bracket)) for bracket in (b"]", b"}")},
)
