"""Where blanks may stand in JSON text, and which."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from stackmask.grammar import ir
from stackmask.grammar.json_schema.document.errors import SchemaError
from stackmask.grammar.json_schema.write import layout
from stackmask.grammar.json_schema.write.indentation import START, Deeper, LineBreak
from stackmask.grammar.source.work import remembering

DEFAULT_MAX: Final = 40  # a line break and the indentation of ten levels
MAX_INDENT: Final = 100  # blanks of one level
_BLANKS: Final = (1 << 0x20) | (1 << 0x0A) | (1 << 0x09) | (1 << 0x0D)
_BLANK: Final = ir.ByteClass(_BLANKS)
_COMMA: Final = ir.Literal(b",")
_COLON: Final = ir.Literal(b":")


@dataclass(frozen=True, slots=True)
class Whitespace:
    """Which blanks may stand between the parts of JSON text.

    ``open``: after `[` and `{`; ``close``: before `]` and `}`; ``empty``: between the brackets where there is
    nothing; ``item``: with the comma between items; ``member``: with the colon. ``nested``: the depth counts, so
    that every array and object is a scope; ``start``: the state that a text begins in then.
    ``bracket``: the action of an opening bracket. ``closing``: by closing bracket, what stands there in place of ``close`` and the bracket.
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

    @classmethod
    def any(cls, most: int = DEFAULT_MAX) -> Whitespace:
        """Up to ``most`` blanks wherever JSON allows them inside of the value."""
        return _around(
            ir.Repeat(_BLANK, 0, most), f"at most {most} blanks at one place, none around the value"
        )

    @classmethod
    def compact(cls) -> Whitespace:
        """No blanks at all."""
        return cls.separators(",", ":")

    @classmethod
    def separators(cls, item: str, member: str) -> Whitespace:
        """Exactly these separators, as in ``json.dumps(separators=…)``, and no other blanks."""
        _check_separators(item, member)
        return cls(
            ir.EPSILON,
            ir.EPSILON,
            ir.EPSILON,
            ir.Literal(item.encode()),
            ir.Literal(member.encode()),
            note=f"exactly the separators {item!r} and {member!r}",
        )

    @classmethod
    def indented(cls, indent: str, item: str = ",", member: str = ": ") -> Whitespace:
        """A line break before every item and member and before what closes them, and ``indent`` for each level.

        That is what ``json.dumps(indent=…, separators=…)`` writes, and nothing else; there are no blanks between
        brackets with nothing in them.
        """
        _check_separators(item, member)
        if indent.strip(" \t") or len(indent) > MAX_INDENT:
            reason = f"an indent is at most {MAX_INDENT} blanks or tabs, not {indent[:20]!r}"
            raise SchemaError("", "whitespace", reason)
        blanks = indent.encode()
        return cls(
            ir.Capture(ir.Dynamic(LineBreak(b"", blanks, 1)), Deeper()),
            ir.Dynamic(LineBreak(b"", blanks, -1)),
            ir.EPSILON,
            ir.Dynamic(LineBreak(item.encode(), blanks, 0)),
            ir.Literal(member.encode()),
            nested=True,
            note=f"exactly a line break and the indent {indent!r} for each level, {item!r} and {member!r}",
        )

    @classmethod
    def single(cls) -> Whitespace:
        """At most one blank, or a line break with its indentation, as ``layout`` says."""
        return cls(
            layout.OPEN,
            ir.EPSILON,
            ir.EPSILON,
            layout.ITEM,
            layout.MEMBER,
            nested=True,
            note="at most one blank after a comma, after a colon and inside of brackets, or a line break and the"
            " indentation of its level, 2 or 4 blanks or a tab each",
            start=layout.START,
            bracket=layout.Bracket(),
            closing=layout.CLOSE,
        )

    def begin(self, bracket: ir.Literal) -> ir.Expr:
        """Return an opening bracket before items or members."""
        return bracket if self.bracket is None else ir.Capture(bracket, self.bracket)

    def end(self, bracket: ir.Literal) -> tuple[ir.Expr, ...]:
        """Return a closing bracket after items or members, with what stands before it."""
        if self.closing is None:
            return (self.close, bracket)
        return (self.closing[bracket.data],)

    def around(self, expr: ir.Expr) -> ir.Expr:
        """Return an array or object as it stands in a value: a scope where the depth counts."""
        return ir.Scope(expr) if self.nested else expr

    @classmethod
    def pattern(cls, expr: ir.Expr, source: str) -> Whitespace:
        """What the expression allows, wherever JSON allows blanks inside of the value."""
        return _around(expr, f"blanks as in {source!r}")

    @classmethod
    def of(cls, option: Any) -> Whitespace:
        """Return what the option ``whitespace=`` means.

        ``None`` or ``"any"``, ``"compact"``, ``"single"``, ``{"max": n}``, ``{"separators": (item, member)}``,
        ``{"pattern": regex}``, ``{"indent": n or blanks}`` (with ``"separators"`` if they are others than
        ``json.dumps`` has beside an indent), or a ``Whitespace``. Raises: SchemaError for anything else.
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
            f'{option!r:.60} is none of "any", "compact", "single", {{"max": n}}, {{"separators": (item, member)}}, '
            '{"indent": n}, {"pattern": regex}',
        )


def _are_separators(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2 and all(isinstance(x, str) for x in value)


def _check_separators(item: str, member: str) -> None:
    for name, text, sign in (("item", item, ","), ("member", member, ":")):
        if text.strip(" \t\n\r") != sign:
            raise SchemaError("", "whitespace", f"the {name} separator must be `{sign}` and blanks")


def _around(blank: ir.Expr, note: str) -> Whitespace:
    return Whitespace(
        blank,
        blank,
        blank,
        ir.Sequence((blank, _COMMA, blank)),
        ir.Sequence((blank, _COLON, blank)),
        note=note,
    )


@lru_cache(64)
def _any(most: int) -> Whitespace:
    return Whitespace.any(most)


@lru_cache(64)
def _indented(indent: str, item: str, member: str) -> Whitespace:
    return Whitespace.indented(indent, item, member)


@lru_cache(64)
def _separators(item: str, member: str) -> Whitespace:
    return Whitespace.separators(item, member)


@remembering(64)
def _pattern(source: str) -> Whitespace:
    from stackmask.grammar.json_schema.algebra.patterns import blank_expr

    return Whitespace.pattern(blank_expr(source), source)


_DEFAULT: Final = _any(DEFAULT_MAX)
_COMPACT: Final = Whitespace.compact()
_SINGLE: Final = Whitespace.single()
