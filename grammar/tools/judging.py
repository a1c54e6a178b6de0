"""Whether arguments that were read are those that a tool takes, and if not, which of them is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isinf
from typing import Any, Final

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.source.similar import similar

# what a schema says of the object as a whole, and not of its parts
_OF_ALL: Final = frozenset(
    (
        "required",
        "minProperties",
        "maxProperties",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "propertyNames",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "unevaluatedProperties",
    )
)


def refusal_of(grammar: Grammar, schema: Any, arguments: Mapping[str, Any]) -> str:
    """Return why a schema refuses arguments, in one line; empty if it takes them.

    ``grammar``: of the schema, with keys in any order.
    """
    try:
        if grammar.accepts(_written(arguments)):
            return ""
    except (ValueError, TypeError) as error:  # as of infinite numbers, and sets of Python
        return f"the arguments are no JSON: {error}"
    declared = _part(schema, "properties", dict)
    for name in _part(schema, "required", list):
        if name not in arguments:
            return f"the argument `{name!s:.60}` is needed"
    members = {key: value for key, value in schema.items() if key not in _OF_ALL}
    try:
        alone = Grammar.from_json_schema({**members, "type": "object"}, property_order="any")
    except StackmaskError:  # a reference leads into what was left out
        return f"the schema does not allow these arguments: {_short(arguments)}"
    for name, value in arguments.items():
        if alone.accepts(_written({name: value})):
            continue
        if name in declared:
            return f"`{name:.60}` is {_short(value)}, and its schema is {declared[name]!r:.120}"
        close = similar(name, declared)
        if "patternProperties" in schema:
            return f"the schema does not allow `{name:.60}` with {_short(value)}"
        help = f"did you mean `{close}`?" if close else f"there are {', '.join(declared) or 'none'}"
        return f"no argument `{name:.60}`; {help}"
    return f"the schema does not allow these arguments together: {_short(arguments)}"


def _written(value: Any) -> str:
    """Return a value as JSON. No recursion: parts that are not written yet are a list."""
    pieces: list[str] = []
    todo: list[tuple[bool, Any]] = [(False, value)]  # whether it is text already
    while todo:
        is_text, part = todo.pop()
        if is_text:
            pieces.append(part)
        elif isinstance(part, dict):
            pieces.append("{")
            todo.append((True, "}"))
            for index, (key, inner) in reversed(list(enumerate(part.items()))):
                if not isinstance(key, str):
                    raise TypeError(f"{key!r:.60} is no key of an object")
                todo += (False, inner), (True, f"{', ' if index else ''}{json.dumps(key)}: ")
        elif isinstance(part, list | tuple):
            pieces.append("[")
            todo.append((True, "]"))
            for index, inner in reversed(list(enumerate(part))):
                todo += (False, inner), (True, ", " if index else "")
        else:
            pieces.append(_spelled(part))
    return "".join(pieces)


def _spelled(value: Any) -> str:
    """Return a value that is no object or array as JSON. Numbers beyond those of Python's floats are large ones."""
    if isinstance(value, float) and isinf(value):
        return f"{'-' * (value < 0)}1{'0' * 309}"  # an integer, as such a number may be
    return json.dumps(value, allow_nan=False)


def _short(value: Any) -> str:
    text = _written(value)
    return text if len(text) <= 120 else f"{text[:119]}…"


def _part(schema: Any, key: str, kind: type) -> Any:
    found = schema.get(key) if isinstance(schema, dict) else None
    return found if isinstance(found, kind) else kind()
