"""Tools, with names and schemas of arguments, from the dicts of several APIs and from Python functions."""

from __future__ import annotations

import inspect
import json
import marshal
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy, deepcopy
from keyword import iskeyword
from threading import Lock
from typing import Any, Final, TypeAlias, get_type_hints

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.ir import RuleSet
from stackmask.grammar.json_schema.document.declared_keys import close_objects
from stackmask.grammar.json_schema.document.errors import SchemaError, UnsupportedSchemaError
from stackmask.grammar.json_schema.document.loading import load_schema
from stackmask.grammar.json_schema.document.python_types import type_schema
from stackmask.grammar.json_schema.document.report import Report
from stackmask.grammar.json_schema.document.schema_size import has_own_parts
from stackmask.grammar.json_schema.document.typed_dicts import readable_type
from stackmask.grammar.json_schema.frontend import argument_rules, python_rules, tool_rules
from stackmask.grammar.source.diagnostics import GrammarError, StackmaskError, line_and_column
from stackmask.grammar.source.similar import advice, similar
from stackmask.grammar.source.work import input_limit, spend
from stackmask.grammar.turns.arguments import ANY_ARGUMENTS, ArgumentSchema
from stackmask.grammar.turns.errors import ToolError
from stackmask.grammar.turns.formats.frontend import ANY_BLANKS, Kept, ready
from stackmask.grammar.turns.parts.merge import Markers
from stackmask.grammar.turns.styles import PYTHON, TEXT

NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-/]{0,127}")
_KEYS: Final = ("name", "description", "parameters", "input_schema", "inputSchema", "strict")
_OTHERS: Final = (
    "type",
    "title",
    "annotations",
    "outputSchema",
    "_meta",
    "icons",
    "cache_control",
    "defer_loading",
)
_SEEN: Final = frozenset((*_KEYS, *_OTHERS))  # others are looked at for a misspelt key, which takes longer
PRIMITIVES: Final = frozenset({"null", "boolean", "integer", "number", "string", "array"})
RulesKey: TypeAlias = tuple[str, str | frozenset[str], str]
_DECIDING: Final = frozenset({"name", "parameters", "strict", "function", "grammar", "input", "is_text"})
_KNOWN: Final = 16  # rule sets that a tool keeps: one for each style and vocabulary


class Tool:
    """A tool that a model may call. Its parsed schema is cached, so that later grammars cost less.

    Setting a field clears the cache. A change inside the dict ``parameters`` does not clear it: set the field
    again, or create another tool.
    """

    name: str
    """The name for the model."""

    description: str
    """The description for the model; may be empty."""

    parameters: Any
    """The JSON Schema of the arguments; None allows any object."""

    strict: bool | None
    """Whether arguments must match the schema; False also allows any object, and notes it in the report; None is up to the style."""

    function: Callable[..., Any] | None
    """The function that ``run`` calls; None if the tool has none."""

    grammar: Grammar | None
    """The grammar of the only argument, for styles with text arguments; otherwise None."""

    input: str
    """The name of the only argument."""

    is_text: bool
    """Whether the only argument is any text, as for a custom tool without a format."""

    has_pattern: bool
    """Whether the schema constrains the text like the grammar, so that JSON arguments work as well."""

    kept_calls: Kept
    """A cache of the grammars of the tool's calls."""

    _rules: dict[RulesKey, tuple[RuleSet, Report]]
    _reading: ArgumentSchema | None  # of the schema, once arguments are read
    _closed: Any  # the schema in the model profile, once it is made
    _others: dict[bool, Tool]  # by what they are in place of this one's `strict`

    def __init__(
        self,
        name: str,
        parameters: Any = None,
        *,
        description: str = "",
        strict: bool | None = None,
        grammar: Grammar | None = None,
    ) -> None:
        if not isinstance(name, str) or NAME.fullmatch(name) is None:
            problem = f"{name!r:.60} is not a tool name: up to 128 letters, digits and `_`, `.`, `-`, `/`"
            raise ToolError("/name", problem)
        if grammar is not None and not isinstance(grammar, Grammar):
            raise ToolError("/grammar", f"a Grammar, not {type(grammar).__name__}: `Grammar.of` makes one")
        vars(self).update(  # at once: none of these changes what was read before
            name=name,
            description=description,
            parameters=_of_text("input") if grammar is not None and parameters is None else parameters,
            strict=strict,
            function=None,
            grammar=grammar,
            input="input",
            is_text=False,
            has_pattern=False,
        )
        self._forget()

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a field. Drop the cached data of the tool that may depend on the field, also in a copy."""
        object.__setattr__(self, name, value)
        if name in _DECIDING:
            self._forget()

    def _forget(self) -> None:
        """Drop the cached data of this tool; copies keep theirs."""
        vars(self).update(_rules={}, _others={}, _closed=None, _reading=None, kept_calls={})

    @classmethod
    def of(cls, source: Any) -> Tool:
        """Return a tool from a ``Tool``, a dict of OpenAI, Anthropic or MCP, or a Python function.

        Raises: ToolError for anything else.
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
        if source.get("type") == "custom":
            return custom_tool(source)
        if "function" in source:
            inner = source["function"]
            place = "/function"
        else:
            inner, place = source, ""
        if not isinstance(inner, Mapping) or "name" not in inner:
            raise ToolError(place, "no `name`")
        for key in inner:
            if key not in _SEEN and (close := similar(str(key), _KEYS)) and close not in inner:
                # all else that a dict says of a tool is no concern of its grammar, but a schema must not get lost
                raise ToolError(
                    f"{place}/{key!s:.60}", f"a tool has no `{key!s:.60}`; did you mean `{close}`?"
                )
        # OpenAI, Anthropic, MCP
        schema = inner.get("parameters", inner.get("input_schema", inner.get("inputSchema")))
        strict = inner.get("strict", source.get("strict"))
        if strict is not None and not isinstance(strict, bool):
            raise ToolError(f"{place}/strict", f"true or false, not {strict!r:.40}")
        return cls(inner["name"], schema, description=inner.get("description") or "", strict=strict)

    @classmethod
    def from_function(cls, function: Callable[..., Any], *, grammar: Grammar | None = None) -> Tool:
        """Return the tool of a Python function, with its name, its docstring, and a schema of its type hints.

        ``grammar``: the grammar of the only argument, as for ``Tool``.
        Raises: ToolError for parameters that JSON cannot name, or if a grammar is given without exactly one
        parameter; SchemaError for types without a schema.
        """
        parameters = _parameters_of(function)
        properties = parameters["properties"]
        if grammar is not None and len(properties) != 1:
            raise ToolError(
                "/grammar", f"`{function.__name__}` must have one parameter, not {len(properties)}"
            )
        description = inspect.getdoc(function) or ""
        tool = cls(function.__name__, parameters, description=description, grammar=grammar)
        tool.function = function
        tool.input = next(iter(properties), tool.input)
        return tool

    def with_strict(self, strict: bool) -> Tool:
        """Return the same tool, with arguments that must match its schema or may be any object."""
        tool = self._others.get(strict)
        if tool is None:
            tool = copy(self)
            tool.strict = strict
            self._others[strict] = tool
        return tool

    def run(self, arguments: Mapping[str, Any]) -> Any:
        """Call the tool's function with JSON arguments, converted to its type hints; return its result.

        Raises: ToolError if there is no function, or the arguments do not match; otherwise the exceptions of
            the function.
        """
        if self.function is None:
            raise ToolError("", f"`{self.name}` has no function to run: it was given as a schema")
        return run_function(self.function, self.name, arguments)

    def refusal(self, arguments: Mapping[str, Any]) -> str:
        """Return why the schema refuses arguments, with the first invalid argument; empty if it accepts them.

        Unsupported parts of a schema refuse nothing.
        Raises: SchemaError if the parameters are not a schema.
        Cost: compiling the schema once, then linear in the arguments.
        """
        refused = self.argument_schema.refusal(arguments)
        if not refused and not self.argument_schema.is_whole:
            with suppress(UnsupportedSchemaError):  # a part may be judged all the same
                self.rules("json", Markers())
        return refused

    @property
    def argument_schema(self) -> ArgumentSchema:
        """The object that reads and checks arguments. Raises: as ``schema``."""
        if self._reading is None:
            self._reading = ArgumentSchema(self.schema)
        return self._reading

    def as_dict(self) -> dict[str, Any]:
        """Return the tool in OpenAI's format, as chat templates expect it.

        Raises: SchemaError if the parameters are not a schema.
        """
        parameters = (
            {**ANY_ARGUMENTS, "properties": {}} if self.parameters is None else load_schema(self.parameters)
        )
        inner = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": inner}

    @property
    def schema(self) -> Any:
        """The enforced schema. A schema without a type becomes a schema of objects, as all arguments are.

        Raises: SchemaError if it is invalid, or allows no object.
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

    def rules(
        self, style: str, markers: Markers, *, profile: str = "exact", blanks: str = ANY_BLANKS["pattern"]
    ) -> RuleSet:
        """Return the rules of the arguments in a style. ``profile``: the profile of JSON; ``blanks``: the
        whitespace in exact JSON.

        Raises: as ``read``.
        """
        return self.read(style, markers, profile=profile, blanks=blanks)[0]

    def read(
        self, style: str, markers: Markers, *, profile: str = "exact", blanks: str = ANY_BLANKS["pattern"]
    ) -> tuple[RuleSet, Report]:
        """Return the rules of the arguments, and the notes on the schema.

        Raises: SchemaError and its subclasses, about the schema; ToolError for a tool that has no calls in the style.
        """
        if style == TEXT:
            if self.grammar is None:
                raise ToolError("", "arguments are text in this style: the tool needs a `grammar`")
            return self.grammar.for_vocabulary(markers.names).normalize(), Report()
        key = style, blanks if style == "json" else markers.names, profile
        found = self._rules.get(key)
        if found is None:
            is_model = profile == "model"
            schema = self._closed_schema() if is_model or style == PYTHON else self.schema
            if style == "json":
                found = tool_rules(schema, profile, blanks)
            elif style == PYTHON:
                if not self.name.isidentifier() or iskeyword(self.name):
                    problem = f"`{self.name}` is not the name of a Python function, as this style needs"
                    raise ToolError("", problem)
                rules, is_ready, report = python_rules(schema)
                found = ready(rules, is_ready), report
            else:
                spaces = None if is_model else ANY_BLANKS
                options: dict[str, Any] = {"style": style, "whitespace": spaces, "profile": profile}
                rules, is_ready, report = argument_rules(schema, spell=markers.expr, plain=True, **options)
                found = ready(rules, is_ready), report
            if len(self._rules) >= _KNOWN:
                self._rules.clear()
            self._rules[key] = found
        return found

    @property
    def is_closed(self) -> bool:
        """Whether the model profile excludes members that the schema allows but does not declare."""
        try:
            return self._closed_schema() is not self.schema
        except StackmaskError:
            return False  # it is said when it is read

    def _closed_schema(self) -> Any:
        """Return the schema without keys that the function's types ignore or OpenAI's ``strict`` forbids."""
        if self.strict is False or (self.function is None and not self.strict):
            return self.schema
        if self._closed is None and self.function is not None:
            self._closed = _parameters_of(self.function, mark_objects=True)
            close_objects(self._closed)
        elif self._closed is None:
            try:
                schema = deepcopy(self.schema)
            except (RecursionError, TypeError):
                schema = None  # too deep, or no JSON: it is refused where it is read
            self._closed = schema if close_objects(schema, unmarked=True) else self.schema
        return self._closed


def _parameters_of(function: Callable[..., Any], *, mark_objects: bool = False) -> dict[str, Any]:
    """Return the schema of a function's parameters. ``mark_objects``: as for ``type_schema``."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    definitions: dict[str, Any] = {}
    try:
        hints = get_type_hints(function, include_extras=True)
        parameters = inspect.signature(function).parameters
    except (NameError, TypeError, ValueError) as error:
        called = getattr(function, "__name__", type(function).__name__)
        problem = f"no parameters with types can be read from `{called}`: {error}"
        raise ToolError("", f"{problem}; give a function with type hints, a dict or a Tool") from None
    for name, parameter in parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise ToolError(f"/{name}", f"a parameter of `{function.__name__}` that cannot be given by name")
        schema = dict(type_schema(hints[name], mark_objects=mark_objects)) if name in hints else {}
        definitions.update(schema.pop("$defs", {}))
        properties[name] = schema
        if parameter.default is parameter.empty:
            required.append(name)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
        **({"$defs": definitions} if definitions else {}),
    }


def _of_text(name: str) -> dict[str, Any]:
    """Return the schema of an object with a single text."""
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


def named_error(error: StackmaskError, place: str, name: str) -> StackmaskError:
    """Return an error about the schema of a tool, prefixed by the location of the tool."""
    error.args = (f"at {place}: the schema of `{name}`: {error}",)
    return error


# -- Custom tools of OpenAI's interface: their only argument is a text, free or in a grammar -------------

SYNTAXES: Final = ("regex", "lark")
FORMATS: Final = ("text", "grammar")
KEYS: Final = ("type", "name", "description", "format")


def custom_tool(source: Mapping[str, Any]) -> Tool:
    """Return the tool of ``{"type": "custom", "name": …, "format": …}``, whose fields may also be in
    ``custom``.

    A format is ``{"type": "text"}``, ``{"type": "grammar", "syntax": "regex" or "lark", "definition": …}``,
    or a Grammar. A pattern is ECMA-262 and matches the whole text; patterns in Lark are for Rust's `regex`,
    as in OpenAI's API.
    Raises: ToolError for any other format, or a format with errors.
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
        raise ToolError(f"{place}/type", f"{found!r:.60} is not one of {', '.join(FORMATS)}")
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
    """Return the syntax and the text of a grammar format, and the location of its parent."""
    inner = form
    if "grammar" in form:
        check_keys(form, ("type", "grammar"), place, "a grammar format")
        inner, place = form["grammar"], f"{place}/grammar"
    if not isinstance(inner, Mapping):
        raise ToolError(place, "an object with `syntax` and `definition` is needed")
    check_keys(inner, ("type", "syntax", "definition"), place, "a grammar format")
    syntax, definition = inner.get("syntax"), inner.get("definition")
    if syntax not in SYNTAXES:
        raise ToolError(f"{place}/syntax", f"{syntax!r:.60} is not one of {', '.join(SYNTAXES)}")
    if not isinstance(definition, str):
        raise ToolError(f"{place}/definition", f"a string is needed, not {type(definition).__name__}")
    return syntax, definition, place


def check_keys(given: Mapping[str, Any], known: Sequence[str], place: str, what: str) -> None:
    """Refuse unknown keys. Raises: ToolError, which lists the known keys."""
    for key in given:
        if key not in known:
            name = str(key)[:60]
            raise ToolError(f"{place}/{name}", f"{what} has no `{name}`; {advice(str(key), known)}")


def _of_input(schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"input": schema},
        "required": ["input"],
        "additionalProperties": False,
    }


# -- Call a Python function with arguments that a model has written --------------------------------------


def run_function(function: Callable[..., Any], name: str, arguments: Mapping[str, Any]) -> Any:
    """Return the function's result for JSON arguments. Parameters with type hints get values of these types.

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


# --------------------------------------------------------------------------------------------------------
# Tools that came before as dicts: servers are given the same ones with every request of a conversation
# --------------------------------------------------------------------------------------------------------

MAX_TOOLS: Final = 2048  # that are remembered, those met longest ago are forgotten first
MAX_BYTES: Final = (
    2_000_000  # of their dicts in all; of one, a fiftieth. The rules of a tool take about 30 times as much
)
LONGEST_ESCAPE: Final = 6  # bytes that JSON may need for one of a dict, as for a control character
PLAIN_FORMAT: Final = 0  # of `marshal`: equal values give equal bytes, and no others do


class KnownTools:
    """The most recently used tools, by the contents of their dicts. Safe to share between threads.

    A tool caches its parsed schema, so an equal dict costs a look-up. It is created from a copy of the dict,
    and so ignores later changes.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._tools: OrderedDict[bytes, Tool] = OrderedDict()
        self._bytes = 0

    def of(self, source: dict[str, Any], make: Callable[[Any], Tool]) -> Tool:
        """Return the tool for a dict; ``make`` reads a new one. Raises: the exceptions of ``make``."""
        longest = min(MAX_BYTES // 50, input_limit() // LONGEST_ESCAPE)
        # `marshal` would take all else that has a buffer, such as numbers of NumPy, for bytes
        if not has_own_parts(source, longest, longest, or_shared=True):
            return make(source)
        try:
            key = marshal.dumps(source, PLAIN_FORMAT)
        except ValueError:  # it nests too deeply
            return make(source)
        if len(key) > longest:
            return make(source)  # to be looked at as a whole
        with self._lock:
            found = self._tools.get(key)
            if found is not None:
                self._tools.move_to_end(key)
                return found
        copy = marshal.loads(key)
        found = make(copy)
        with self._lock:
            if key not in self._tools:
                self._tools[key] = found
                self._bytes += len(key)
            while len(self._tools) > MAX_TOOLS or self._bytes > MAX_BYTES:
                self._bytes -= len(self._tools.popitem(last=False)[0])
        return found


KNOWN_TOOLS: Final = KnownTools()


def read_tools(sources: Iterable[Any]) -> list[Tool]:
    """Return tools from anything that ``Tool.of`` reads. Raises: ToolError, also for duplicate names."""
    if isinstance(sources, str | bytes | Mapping) or not isinstance(sources, Iterable):
        raise ToolError("/tools", f"a list of tools is needed, not {type(sources).__name__}")
    found: list[Tool] = []
    names: dict[str, int] = {}
    for index, source in enumerate(sources):
        spend(10)
        try:
            if type(source) is Tool:
                tool = source
            else:
                tool = KNOWN_TOOLS.of(source, Tool.of) if type(source) is dict else Tool.of(source)
        except ToolError as error:
            raise ToolError(f"/tools/{index}{error.pointer}", str(error).partition(": ")[2]) from None
        first = names.setdefault(tool.name, index)
        if first != index:
            raise ToolError(f"/tools/{index}", f"`{tool.name}` is the name of /tools/{first} already")
        found.append(tool)
    return found
