"""``pattern`` and ``format``: names and regular expressions of the schema to sets of strings."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from stackmask.grammar import ir
from stackmask.grammar.json_schema.document.errors import SchemaError, Where
from stackmask.grammar.json_schema.document.python_types import UNKNOWABLE, format_pattern
from stackmask.grammar.json_schema.nodes.interfaces import NodeReader
from stackmask.grammar.json_schema.nodes.nodes import Node
from stackmask.grammar.json_schema.sets.string_sets import ALL, Texts, text_set
from stackmask.grammar.json_schema.sets.values import shown
from stackmask.grammar.source.diagnostics import GrammarError
from stackmask.grammar.source.work import remembering

# regular expressions and formats are imported where a schema has them: most have none, and a new process would wait
if TYPE_CHECKING:
    from stackmask.grammar.json_schema.formats import Format

_CACHED: Final = 2048


def pattern_texts(reader: NodeReader, pattern: Any, where: Where, keyword: str) -> Texts | None:
    """Return the strings in which the pattern is found; None where that is relaxed, so that it is not known.

    Raises: SchemaError if it is no regular expression; UnsupportedSchemaError if it is more than regular.
    """
    if not isinstance(pattern, str):
        raise SchemaError(where, keyword, f"must be a string, not {shown(pattern)}")
    found = _pattern(pattern)
    if isinstance(found, Texts):
        return found
    kind, reason = found
    if kind == "unsupported":
        reader.unsupported(where, keyword, reason)
        return None
    raise SchemaError(where, keyword, f"no regular expression of ECMA-262: {reason}")


_INVALID: Final = ("G007", "G008")  # bad character class, bad regex


@remembering(_CACHED)
def _pattern(pattern: str) -> Texts | tuple[str, str]:
    from stackmask.grammar.regex.compile import regex_expr

    try:
        expr = regex_expr(pattern, flavor="ecma", search=True)
    except GrammarError as error:
        invalid = any(diagnostic.code in _INVALID for diagnostic in error.diagnostics)
        return "invalid" if invalid else "unsupported", error.diagnostics[0].message
    except UnicodeEncodeError:
        return "unsupported", "a lone surrogate is no character"
    return ALL if expr == ir.ANY_TEXT else text_set(expr)


def blank_expr(source: str) -> ir.Expr:
    """Return a user's pattern of whitespace as an expression.

    Raises: SchemaError if it is no regular expression, or allows more than JSON's blanks.
    """
    from stackmask.grammar.regex.compile import regex_expr

    try:
        expr = regex_expr(source, flavor="ecma", search=False)
    except GrammarError as error:
        raise SchemaError("", "whitespace", str(error)) from None
    blanks = ir.Repeat(ir.CharClass(((0x09, 0x0A), (0x0D, 0x0D), (0x20, 0x20))), 0, None)
    if not Texts(parts=(expr, ir.Complement(blanks))).is_empty():
        raise SchemaError("", "whitespace", f"{source!r} matches more than blanks, tabs and line breaks")
    return expr


def format_texts(reader: NodeReader, name: str, node: Node) -> Texts:
    """Return the strings of a format: all of them where it is an annotation, which the report then says."""
    of_version = ALL
    if reader.formats == "annotate":
        node.content = None
        reader.report.add("annotation", node.where, "format", f"`{name}` is not asserted, on request")
        return ALL
    if reader.of_type:
        if name in UNKNOWABLE:
            reader.unsupported(node.where, "format", f"`{name}`: {UNKNOWABLE[name]}")
            node.loose = True
            return ALL
        pattern = format_pattern(name, node.schema)
        if pattern is not None:
            of_version = pattern_texts(reader, pattern, node.where, "format") or ALL
            if not name.startswith("uuid"):
                return of_version
            name = "uuid"
    from stackmask.grammar.json_schema.formats import FORMATS, NARROWINGS, PLAIN, formats_of

    # a format that a later draft defines means the same in an earlier one, which leaves others open
    known = formats_of(node.resource.draft.name)
    make = known.get(name) or FORMATS.get(name)
    if make is None:
        node.content = None
        reader.report.add("annotation", node.where, "format", f"`{name}` is no format of the specification")
        return ALL
    if name in PLAIN and reader.formats == "plain":
        node.content = None  # the writer says it with the place
    if name in NARROWINGS:
        node.content = None
        reader.report.add("narrowed", node.where, "format", f"`{name}`: {NARROWINGS[name]}")
    return _format(make).meet(of_version)


@lru_cache(_CACHED)
def _format(make: Format) -> Texts:
    return Texts(parts=(make(),), nonempty=True)
