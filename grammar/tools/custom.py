"""Custom tools of OpenAI's interface: their only argument is a text, free or in a grammar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.diagnostics import GrammarError, line_and_column
from stackmask.grammar.source.similar import similar
from stackmask.grammar.tools.errors import ToolError
from stackmask.grammar.tools.tool import Tool

SYNTAXES: Final = ("regex", "lark")
FORMATS: Final = ("text", "grammar")
KEYS: Final = ("type", "name", "description", "format")


def custom_tool(source: Mapping[str, Any]) -> Tool:
    """Return the tool of ``{"type": "custom", "name": …, "format": …}``, whose parts may stand in ``custom`` too.

    A format is ``{"type": "text"}``, ``{"type": "grammar", "syntax": "regex" or "lark", "definition": …}``, or a Grammar. A
    pattern is of ECMA-262, and the whole text matches it; those within Lark are of Rust's `regex`, as OpenAI has it.
    Raises: ToolError for what is none of these, or has errors.
    """
    inner, place = (source["custom"], "/custom") if "custom" in source else (source, "")
    if not isinstance(inner, Mapping) or "name" not in inner:
        raise ToolError(place, "no `name`")
    if inner is not source:
        check_keys(source, ("type", "custom"), "", "a custom tool")
    check_keys(inner, KEYS, place, "a custom tool")
    name, description = inner["name"], inner.get("description") or ""
    form = inner.get("format")
    place += "/format"
    if isinstance(form, Grammar):
        return Tool(name, description=description, grammar=form)
    if form is None:
        form = {"type": "text"}
    if not isinstance(form, Mapping) or form.get("type") not in FORMATS:
        found = form.get("type") if isinstance(form, Mapping) else form
        raise ToolError(f"{place}/type", f"{found!r:.60} is none of {', '.join(FORMATS)}")
    if form["type"] == "text":
        check_keys(form, ("type",), place, "a text format")
        tool = Tool(name, _of_input({"type": "string"}), description=description)
        tool.is_text = True
        return tool
    syntax, pattern, place = _definition(form, place)
    try:
        if syntax == "lark":
            return Tool(name, description=description, grammar=Grammar.from_lark(pattern, flavor="rust"))
        grammar = Grammar.from_regex(pattern)
    except GrammarError as error:
        found = error.diagnostics[0]
        where = "" if found.span is None else _where(pattern, found.span.start, syntax)
        help = f"; {found.help or found.label}" if found.help or found.label else ""
        raise ToolError(f"{place}/definition", f"{found.message}{where} ({found.code}){help}") from None
    schema = _of_input({"type": "string", "pattern": f"^(?:{pattern})$"})
    tool = Tool(name, schema, description=description, grammar=grammar)
    tool.has_pattern = True
    return tool


def _where(text: str, start: int, syntax: str) -> str:
    if syntax == "regex":
        return f" at character {start + 1}"
    line, column = line_and_column(text, start)
    return f" in line {line}, column {column}"


def _definition(form: Mapping[str, Any], place: str) -> tuple[str, str, str]:
    """Return the syntax and the text of a grammar format, and the place of what holds them."""
    inner = form
    if "grammar" in form:
        check_keys(form, ("type", "grammar"), place, "a grammar format")
        inner, place = form["grammar"], f"{place}/grammar"
    if not isinstance(inner, Mapping):
        raise ToolError(place, "an object with `syntax` and `definition` is needed")
    check_keys(inner, ("type", "syntax", "definition"), place, "a grammar format")
    syntax, definition = inner.get("syntax"), inner.get("definition")
    if syntax not in SYNTAXES:
        raise ToolError(f"{place}/syntax", f"{syntax!r:.60} is none of {', '.join(SYNTAXES)}")
    if not isinstance(definition, str):
        raise ToolError(f"{place}/definition", f"a string is needed, not {type(definition).__name__}")
    return syntax, definition, place


def check_keys(given: Mapping[str, Any], known: Sequence[str], place: str, what: str) -> None:
    """Refuse keys that mean nothing. Raises: ToolError, with what there is."""
    for key in given:
        if key not in known:
            close = similar(str(key), known)
            help = f"did you mean `{close}`?" if close else f"there are {', '.join(known)}"
            name = str(key)[:60]
            raise ToolError(f"{place}/{name}", f"{what} has no `{name}`; {help}")


def _of_input(schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"input": schema},
        "required": ["input"],
        "additionalProperties": False,
    }
