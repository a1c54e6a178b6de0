"""Where blanks may stand in JSON text, and which."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from stackmask.grammar import ir
from stackmask.grammar.json_schema.errors import SchemaError, UnsupportedSchemaError

DEFAULT_MAX: Final = 40  # a line break and the indentation of ten levels
_NO_INDENT: Final = (
    "a fixed indentation, which grows with the depth, is not supported: indented texts are among those of "
    '"any" and of a pattern such as {"pattern": "(?:\\n *| ?)"}'
)
_BLANKS: Final = (1 << 0x20) | (1 << 0x0A) | (1 << 0x09) | (1 << 0x0D)
_BLANK: Final = ir.ByteClass(_BLANKS)
_COMMA: Final = ir.Literal(b",")
_COLON: Final = ir.Literal(b":")


@dataclass(frozen=True, slots=True)
class Whitespace:
    """Which blanks may stand between the parts of JSON text.

    ``open``: after `[` and `{`; ``close``: before `]` and `}`; ``empty``: between the brackets where there is
    nothing; ``item``: with the comma between items; ``member``: with the colon.
    """

    open: ir.Expr
    close: ir.Expr
    empty: ir.Expr
    item: ir.Expr
    member: ir.Expr
    note: str = ""

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
        for name, text, sign in (("item", item, ","), ("member", member, ":")):
            if text.strip(" \t\n\r") != sign:
                raise SchemaError("", "whitespace", f"the {name} separator must be `{sign}` and blanks")
        return cls(
            ir.EPSILON,
            ir.EPSILON,
            ir.EPSILON,
            ir.Literal(item.encode()),
            ir.Literal(member.encode()),
            note=f"exactly the separators {item!r} and {member!r}",
        )

    @classmethod
    def pattern(cls, expr: ir.Expr, source: str) -> Whitespace:
        """What the expression allows, wherever JSON allows blanks inside of the value."""
        return _around(expr, f"blanks as in {source!r}")

    @classmethod
    def of(cls, option: Any) -> Whitespace:
        """Return what the option ``whitespace=`` means.

        ``None`` or ``"any"``, ``"compact"``, ``{"max": n}``, ``{"separators": (item, member)}``,
        ``{"pattern": regex}``, or a ``Whitespace``. Raises: SchemaError for anything else, UnsupportedSchemaError
        for a fixed indentation.
        """
        if option is None or option == "any":
            return _DEFAULT
        if option == "compact":
            return _COMPACT
        if isinstance(option, Whitespace):
            return option
        if (isinstance(option, int) and not isinstance(option, bool)) or (
            isinstance(option, dict) and "indent" in option
        ):
            raise UnsupportedSchemaError("", "whitespace", _NO_INDENT)
        if isinstance(option, dict) and len(option) == 1:
            ((kind, value),) = option.items()
            if kind == "max" and isinstance(value, int) and value >= 0:
                return _any(value)
            if kind == "separators" and isinstance(value, tuple | list) and len(value) == 2:
                return cls.separators(*value)
            if kind == "pattern" and isinstance(value, str):
                return _pattern(value)
        raise SchemaError(
            "",
            "whitespace",
            f'{option!r:.60} is none of "any", "compact", {{"max": n}}, {{"separators": (item, member)}}, '
            '{"pattern": regex}',
        )


def _around(blank: ir.Expr, note: str) -> Whitespace:
    return Whitespace(
        blank,
        blank,
        blank,
        ir.Sequence((blank, _COMMA, blank)),
        ir.Sequence((blank, _COLON, blank)),
        note=note,
    )


@cache
def _any(most: int) -> Whitespace:
    return Whitespace.any(most)


@cache
def _pattern(source: str) -> Whitespace:
    from stackmask.grammar.json_schema.patterns import blank_expr

    return Whitespace.pattern(blank_expr(source), source)


_DEFAULT: Final = _any(DEFAULT_MAX)
_COMPACT: Final = Whitespace.compact()
