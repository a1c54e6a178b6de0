"""Tools: a name and a schema of arguments, from the dicts of several interfaces and from Python functions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, get_type_hints

from stackmask.grammar.compose.markers import Markers
from stackmask.grammar.ir import RuleSet
from stackmask.grammar.json_schema.document.errors import SchemaError
from stackmask.grammar.json_schema.document.loading import load_schema
from stackmask.grammar.json_schema.document.python_types import type_schema
from stackmask.grammar.json_schema.frontend import schema_rules
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.source.work import spend
from stackmask.grammar.structural.frontend import ANY_BLANKS, argument_rules
from stackmask.grammar.tools.errors import ToolError

NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-/]{0,127}")
ANY_ARGUMENTS: Final[dict[str, Any]] = {"type": "object"}
PRIMITIVES: Final = frozenset({"null", "boolean", "integer", "number", "string", "array"})
_KNOWN: Final = 16  # rule sets that a tool keeps: one for each style and vocabulary


class Tool:
    """A tool that a model may call. What was read of its schema is kept, so that later grammars cost less.

    ``parameters``: the JSON Schema of the arguments, which are an object; None allows any. ``strict=False``: any object
    is allowed too, and the report of the grammar says so.
    """

    def __init__(
        self, name: str, parameters: Any = None, *, description: str = "", strict: bool | None = None
    ) -> None:
        if not isinstance(name, str) or NAME.fullmatch(name) is None:
            problem = f"{name!r:.60} is no name of a tool: up to 128 letters, digits and `_`, `.`, `-`, `/`"
            raise ToolError("/name", problem)
        self.name = name
        self.description = description
        self.parameters = parameters
        self.strict = strict
        self._rules: dict[tuple[Any, ...], RuleSet] = {}

    @classmethod
    def of(cls, source: Any) -> Tool:
        """Return a tool from a ``Tool``, a dict of OpenAI, Anthropic or MCP, or a Python function.

        Raises: ToolError if it is none of these.
        """
        if isinstance(source, Tool):
            return source
        if isinstance(source, Mapping):
            return cls._of_dict(source)
        if callable(source):
            return cls.from_function(source)
        dump = getattr(source, "model_dump", None)
        if callable(dump):
            return cls._of_dict(dump(by_alias=True, exclude_none=True))
        raise ToolError("", f"a tool is a dict, a function or a Tool, not {type(source).__name__}")

    @classmethod
    def _of_dict(cls, source: Mapping[str, Any]) -> Tool:
        if "function" in source:
            inner = source["function"]
            place = "/function"
        else:
            inner, place = source, ""
        if not isinstance(inner, Mapping) or "name" not in inner:
            raise ToolError(place, "no `name`")
        # OpenAI, Anthropic, MCP
        schema = inner.get("parameters", inner.get("input_schema", inner.get("inputSchema")))
        strict = inner.get("strict", source.get("strict"))
        if strict is not None and not isinstance(strict, bool):
            raise ToolError(f"{place}/strict", f"true or false, not {strict!r:.40}")
        return cls(inner["name"], schema, description=inner.get("description") or "", strict=strict)

    @classmethod
    def from_function(cls, function: Callable[..., Any]) -> Tool:
        """Return the tool of a Python function: its name, its docstring, and a schema of its type hints.

        Raises: ToolError for parameters that no JSON can name; SchemaError for types without a schema.
        """
        properties: dict[str, Any] = {}
        required: list[str] = []
        definitions: dict[str, Any] = {}
        try:
            hints = get_type_hints(function, include_extras=True)
        except (NameError, TypeError) as error:
            raise ToolError(
                "", f"the type hints of `{function.__name__}` mean nothing here: {error}"
            ) from None
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
                raise ToolError(
                    f"/{name}", f"a parameter of `{function.__name__}` that cannot be given by name"
                )
            schema = dict(type_schema(hints[name])) if name in hints else {}
            definitions.update(schema.pop("$defs", {}))
            properties[name] = schema
            if parameter.default is parameter.empty:
                required.append(name)
        parameters = {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
            **({"$defs": definitions} if definitions else {}),
        }
        return cls(function.__name__, parameters, description=inspect.getdoc(function) or "")

    @property
    def schema(self) -> Any:
        """The schema that is enforced. Where it says no type, it is of objects: arguments are nothing else.

        Raises: SchemaError if it is none, or allows no object.
        """
        if self.parameters is None or self.strict is False:
            return ANY_ARGUMENTS
        schema = load_schema(self.parameters)
        if schema is True:
            return ANY_ARGUMENTS
        types = schema.get("type", ["object"]) if isinstance(schema, dict) else "object"
        if types == "object":
            return schema
        if isinstance(types, list) and "object" in types:
            return {**schema, "type": "object"}
        if isinstance(types, str) and types in PRIMITIVES:
            raise SchemaError("", "type", f"arguments are an object, and the schema allows {types}s only")
        return schema  # what is wrong with it is said when it is read

    def rules(self, style: str, markers: Markers, whitespace: Any = None) -> RuleSet:
        """Return the rules of the arguments in a style.

        Raises: SchemaError and its subclasses, about the schema.
        """
        key = (style, frozenset() if style == "json" else markers.names, repr(whitespace))
        found = self._rules.get(key)
        if found is None:
            blanks = ANY_BLANKS if whitespace is None else whitespace
            if style == "json":
                found = schema_rules(self.schema, spelling="plain", whitespace=blanks)[0]
            else:
                found = argument_rules(self.schema, style=style, spell=markers.expr, whitespace=blanks)
            if len(self._rules) >= _KNOWN:
                self._rules.clear()
            self._rules[key] = found
        return found


def read_tools(sources: Iterable[Any]) -> list[Tool]:
    """Return tools from what ``Tool.of`` reads. Raises: ToolError, for names that come twice too."""
    if isinstance(sources, str | bytes | Mapping) or not isinstance(sources, Iterable):
        raise ToolError("/tools", f"a list of tools is needed, not {type(sources).__name__}")
    found: list[Tool] = []
    names: dict[str, int] = {}
    for index, source in enumerate(sources):
        spend(10)
        try:
            tool = Tool.of(source)
        except ToolError as error:
            raise ToolError(f"/tools/{index}{error.pointer}", str(error).partition(": ")[2]) from None
        first = names.setdefault(tool.name, index)
        if first != index:
            raise ToolError(f"/tools/{index}", f"`{tool.name}` is the name of /tools/{first} already")
        found.append(tool)
    return found


def named_error(error: StackmaskError, place: str, name: str) -> StackmaskError:
    """Return an error about the schema of a tool, with the place of the tool in front."""
    error.args = (f"at {place}: the schema of `{name}`: {error}",)
    return error
