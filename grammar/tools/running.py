"""Call a Python function with arguments that a model has written."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from stackmask.grammar.json_schema.document.typed_dicts import readable_type
from stackmask.grammar.tools.errors import ToolError


def run_function(function: Callable[..., Any], name: str, arguments: Mapping[str, Any]) -> Any:
    """Return what the function returns for arguments from JSON; parameters with type hints get values of their types.

    Raises: ToolError, with the parameter, for arguments that are missing, unknown or refused by their type.
    """
    parameters = inspect.signature(function).parameters
    for given in arguments:
        if given not in parameters:
            raise ToolError(
                f"/{given}", f"`{name}` has no such parameter; there are {', '.join(parameters) or 'none'}"
            )
    for needed, parameter in parameters.items():
        if parameter.default is parameter.empty and needed not in arguments:
            raise ToolError(f"/{needed}", f"`{name}` needs this argument")
    hints = get_type_hints(function, include_extras=True)
    return function(**{key: _value(value, hints, key, name) for key, value in arguments.items()})


def _value(value: Any, hints: Mapping[str, Any], key: str, name: str) -> Any:
    if key not in hints:
        return value
    from pydantic import TypeAdapter, ValidationError

    from stackmask.grammar.outputs import describe_refusal

    try:
        # as JSON, of which a type may read more than of Python's values: dates, bytes, sets
        return TypeAdapter(readable_type(hints[key])).validate_json(json.dumps(value))
    except ValidationError as error:
        raise ToolError(f"/{key}", f"of `{name}`: {describe_refusal(error)}") from None
