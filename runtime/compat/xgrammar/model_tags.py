"""The structural tag of a turn with tools in the style of a model, built from the data of ``stackmask.tools``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

from pydantic import BaseModel, TypeAdapter

from stackmask.grammar.source.options import ArgumentError
from stackmask.grammar.turns.formats.fields import Format, any_of, const, optional, sequence_of, tag
from stackmask.grammar.turns.styles import PYTHON, TEXT, ToolStyle, call_tag, style_names, style_of
from stackmask.runtime.compat.xgrammar.errors import XGrammarError, runtime_errors
from stackmask.runtime.compat.xgrammar.structural_tag import StructuralTag

# -- Tools and choices of tools in the shapes of OpenAI's chat interface, as pydantic models -------------


class FunctionDefinition(BaseModel):
    """A function that a model may call."""

    name: str
    """The name for the model."""

    description: str | None = None
    """The description for the model."""

    parameters: dict[str, Any] | None = None
    """The JSON Schema of the arguments; None allows any arguments."""

    strict: bool | None = None
    """Whether arguments must match the schema; False allows any arguments."""


class FunctionToolParam(BaseModel):
    """A tool that is a function."""

    type: Literal["function"] = "function"
    """The type tag of a function tool."""

    function: FunctionDefinition
    """The function."""


class BuiltinToolParam(BaseModel):
    """A tool of the server, such as a search."""

    type: str
    """The type of the built-in tool."""

    name: str | None = None
    """The name for the model; None means ``type``."""

    parameters: dict[str, Any] | None = None
    """The JSON Schema of the arguments; None allows any arguments."""


class NamedToolChoiceFunction(BaseModel):
    """The name of a function."""

    name: str
    """The name for the model."""


class NamedToolChoiceParam(BaseModel):
    """The choice of one function."""

    type: Literal["function"] = "function"
    """The type tag of this choice."""

    function: NamedToolChoiceFunction
    """The function."""


class BuiltinToolChoiceParam(BaseModel):
    """The choice of one built-in tool, by its type."""

    type: str
    """The type of the tool."""

    name: str | None = None
    """Ignored: the type decides."""


class AllowedToolRef(BaseModel):
    """A tool in a list: a function by its name, or a built-in tool by its type."""

    type: str
    """"function", or the type of a built-in tool."""

    function: NamedToolChoiceFunction | None = None
    """The function, if the tool is one."""

    name: str | None = None
    """Ignored: the type decides."""


class AllowedToolsParam(BaseModel):
    """The callable tools, among all tools."""

    mode: Literal["auto", "required"]
    """Whether one of the tools must be called."""

    tools: list[AllowedToolRef]
    """The tools."""


class AllowedToolChoiceParam(BaseModel):
    """The choice of some tools."""

    type: Literal["allowed_tools"] = "allowed_tools"
    """The type tag of this choice."""

    allowed_tools: AllowedToolsParam
    """The tools."""


ToolParam: TypeAlias = FunctionToolParam | BuiltinToolParam
ToolChoiceOptionParam: TypeAlias = (
    Literal["none", "auto", "required"]
    | NamedToolChoiceParam
    | AllowedToolChoiceParam
    | BuiltinToolChoiceParam
)


SimplifiedToolChoice: TypeAlias = Literal["auto", "required", "forced"]
TagMaker: TypeAlias = Callable[..., StructuralTag]

REASONING: Final = ("enabled", "disabled", "auto")
_TOOL: Final[TypeAdapter[ToolParam]] = TypeAdapter(ToolParam)
_CHOICE: Final[TypeAdapter[ToolChoiceOptionParam]] = TypeAdapter(ToolChoiceOptionParam)
_BLANKS: Final[Format] = {"type": "regex", "pattern": r"\n{0,4}"}  # of chat templates, before calls
_OWN_BEGIN: Final = frozenset(
    {"mimo"}
)  # models that begin their reasoning themselves, as no prompt of theirs does
_CLOSES_FIRST: Final = {"minimax": "\n</think>"}  # models whose prompts always begin the reasoning
_MORE_STYLES: Final = {
    "deepseek_v4_1": ToolStyle(
        (('<｜DSML｜ invoke name="{name}">\n', "</｜DSML｜ invoke>\n"),),
        "deepseek_v4_1_xml",
        section=("<｜DSML｜ calls>\n", "</｜DSML｜ calls>"),
    )
}
_BUILTIN_CALLS: Final = (  # of harmony, the only style that has them
    ("<|channel|>commentary to={name} code<|message|>", "<|call|>"),
    (" to={name}<|channel|>commentary code<|message|>", "<|call|>"),
)
_own: dict[str, TagMaker] = {}


def get_model_structural_tag(
    model: str,
    tools: list[ToolParam | dict[str, Any]] | None = None,
    tool_choice: ToolChoiceOptionParam | dict[str, Any] | None = "auto",
    reasoning: bool | Literal["enabled", "disabled", "auto"] = "enabled",
    force_reasoning: bool = False,
    any_order: bool = False,
    exclude_special_tokens: bool = True,
    max_whitespace_cnt: int | None = None,
    parallel_tool_calls: bool = True,
) -> StructuralTag:
    """Return the structural tag of a turn in the style of a model.

    ``model``: a name in ``stackmask.tools.style_names()``, or a registered name. ``tools``, ``tool_choice``:
    in OpenAI's format. ``reasoning``: "enabled": the prompt has begun the reasoning, and the turn ends it;
    "auto": the turn may begin with reasoning; "disabled": without reasoning. ``force_reasoning`` is ignored,
    as in XGrammar. ``any_order``: arguments in any order. ``exclude_special_tokens``: free text has no
    markers of the style. ``max_whitespace_cnt``: the maximum length of whitespace in the arguments.
    ``parallel_tool_calls``: whether there may be several calls; otherwise the turn ends with the first call.
    Raises: ValueError for other arguments; XGrammarError, also a ValueError, for an unknown model.
    """
    if not isinstance(model, str):
        raise ArgumentError(f"model is {type(model).__name__}, not the name of a style")
    functions, builtins, choice = normalize_tool_choice(tools, tool_choice)
    if isinstance(reasoning, bool):
        reasoning = "enabled" if reasoning else "disabled"
    if reasoning not in REASONING:
        raise ArgumentError(f"reasoning is {reasoning!r:.60}: a bool, or one of {', '.join(REASONING)}")
    if not isinstance(parallel_tool_calls, bool):
        raise ArgumentError(f"parallel_tool_calls is {parallel_tool_calls!r:.60}: True or False")
    make = _own.get(model) or _maker(model)
    return make(
        functions,
        builtins,
        choice,
        reasoning,
        any_order=any_order,
        exclude_special_tokens=exclude_special_tokens,
        max_whitespace_cnt=max_whitespace_cnt,
        parallel_tool_calls=parallel_tool_calls,
    )


def register_model_structural_tag(name: str) -> Callable[[TagMaker], TagMaker]:
    """Register a function that builds the structural tag of a model, for ``get_model_structural_tag``.

    It is called with the lists of functions and built-in tools, the simplified choice and the mode of
    reasoning; other options are keyword arguments.
    """
    if not isinstance(name, str):
        raise ArgumentError(f"name is {type(name).__name__}, not str")

    def decorate(make: TagMaker) -> TagMaker:
        _own[name] = make
        return make

    return decorate


def normalize_tool_choice(
    tools: list[ToolParam | dict[str, Any]] | None = None,
    tool_choice: ToolChoiceOptionParam | dict[str, Any] | None = "auto",
) -> tuple[list[FunctionToolParam], list[BuiltinToolParam], SimplifiedToolChoice]:
    """Return the callable functions and built-in tools, and "auto", "required" or "forced" (one tool).

    Dicts may have the fields of a function next to its ``type``, as in OpenAI's Responses API.
    Raises: ValueError for an invalid tool or choice, and for unknown tools.
    """
    if not isinstance(tools, list | None):
        raise XGrammarError(f"tools is {type(tools).__name__}, must be a list")
    read = [_tool(tool) for tool in tools or ()]
    functions = [tool for tool in read if isinstance(tool, FunctionToolParam)]
    builtins = [tool for tool in read if isinstance(tool, BuiltinToolParam)]
    given: Any = _nested(_nested(tool_choice, "function"), "allowed_tools")
    if isinstance(given, dict) and isinstance(allowed := given.get("allowed_tools"), dict):
        listed = allowed.get("tools")
        inner = [_nested(each, "function") for each in listed] if isinstance(listed, list) else listed
        given = {**given, "allowed_tools": {**allowed, "tools": inner}}
    choice = _CHOICE.validate_python("auto" if given is None else given)
    simple: SimplifiedToolChoice = "forced"
    if choice == "none":
        return [], [], "auto"
    if isinstance(choice, str):
        simple = "required" if choice == "required" else "auto"
    elif isinstance(choice, AllowedToolChoiceParam):
        simple = choice.allowed_tools.mode
        references = choice.allowed_tools.tools
        if any(each.type == "function" and each.function is None for each in references):
            raise XGrammarError("an allowed tool of type `function` needs its `function`")
        names = {each.function.name for each in references if each.type == "function" and each.function}
        functions, builtins = _chosen(
            functions, builtins, names, {each.type for each in references} - {"function"}
        )
    elif isinstance(choice, NamedToolChoiceParam):
        functions, builtins = _chosen(functions, builtins, {choice.function.name}, set())
    elif isinstance(choice, BuiltinToolChoiceParam):
        functions, builtins = _chosen(functions, builtins, set(), {choice.type})
    count = len(functions) + len(builtins)
    if simple != "auto" and not count:
        raise XGrammarError("tool_choice requires a call, and there are no tools")
    if simple == "forced" and count != 1:
        raise XGrammarError(f"tool_choice is of one tool, and {count} fit it")
    return functions, builtins, simple


def _tool(source: Any) -> ToolParam:
    if isinstance(source, FunctionToolParam | BuiltinToolParam):
        return source
    source = _nested(source, "function")
    is_function = isinstance(source, dict) and source.get("type") == "function"
    return FunctionToolParam.model_validate(source) if is_function else _TOOL.validate_python(source)


def _nested(source: Any, kind: str) -> Any:
    """Return a dict of this type with its other fields in a field of the type's name."""
    if not isinstance(source, dict) or source.get("type") != kind or kind in source or len(source) == 1:
        return source
    return {"type": kind, kind: {key: value for key, value in source.items() if key != "type"}}


def _chosen(
    functions: list[FunctionToolParam], builtins: list[BuiltinToolParam], names: set[str], types: set[str]
) -> tuple[list[FunctionToolParam], list[BuiltinToolParam]]:
    known = {tool.function.name for tool in functions}, {tool.type for tool in builtins}
    if missing := sorted((names - known[0]) | (types - known[1])):
        there = ", ".join(sorted(known[0] | known[1])) or "none"
        raise XGrammarError(f"tool_choice names {', '.join(missing)}, and the tools are {there}")
    return (
        [tool for tool in functions if tool.function.name in names],
        [tool for tool in builtins if tool.type in types],
    )


def _maker(model: str) -> TagMaker:
    """Return a function that builds the tags of a style of ``stackmask.tools``. Raises: XGrammarError."""
    with runtime_errors():
        style = _MORE_STYLES.get(model) or style_of(model)
    if style.arguments in (PYTHON, TEXT):
        known = [name for name in style_names() if style_of(name).arguments not in (PYTHON, TEXT)]
        raise XGrammarError(f"calls of `{model}` are no structural tag; there are {', '.join(known)}")

    def make(*tools: Any, **options: Any) -> StructuralTag:
        return StructuralTag.model_validate({"format": ModelTag(model, style, *tools, **options).format()})

    return make


class ModelTag:
    """The parts of a turn in a style, as formats; the arguments are those of a registered function."""

    def __init__(
        self,
        model: str,
        style: ToolStyle,
        functions: list[FunctionToolParam],
        builtins: list[BuiltinToolParam],
        choice: SimplifiedToolChoice,
        reasoning: str,
        *,
        any_order: bool,
        exclude_special_tokens: bool,
        max_whitespace_cnt: int | None,
        parallel_tool_calls: bool,
    ) -> None:
        self._model = model
        self._style = style
        self._reasoning = reasoning if style.reasons else "disabled"
        self._is_called = choice != "auto"
        self._stops = choice == "forced" or not parallel_tool_calls
        self._markers = [*style.thinking, *style.excludes] if exclude_special_tokens else []
        self._options = {"any_order": any_order, "max_whitespace_cnt": max_whitespace_cnt}
        self._tags = self._call_tags(functions, builtins)
        if self._is_called and not self._tags:
            raise XGrammarError(f"a call is required, and `{model}` has no builtin tools")

    def format(self) -> Format:
        """Return the format of the turn."""
        style = self._style
        if style.content[0]:
            return sequence_of(*self._in_sections()) if style.section[0] else self._framed()
        thoughts = self._thoughts()
        parts = [] if thoughts is None else [thoughts]
        if self._is_called and (parts or style.section[0]):
            parts.append(_BLANKS)
        return sequence_of(*parts, self._body())

    def _call_tags(
        self, functions: list[FunctionToolParam], builtins: list[BuiltinToolParam]
    ) -> list[Format]:
        tags: list[Format] = []
        for tool in functions:
            function = tool.function
            schema = True if function.strict is False or function.parameters is None else function.parameters
            tags += [self._call_tag(spelling, function.name, schema) for spelling in self._style.calls]
        if self._style is style_of("harmony"):
            for builtin in builtins:
                schema = True if builtin.parameters is None else builtin.parameters
                name = builtin.name or builtin.type
                tags += [self._call_tag(spelling, name, schema) for spelling in _BUILTIN_CALLS]
        return tags

    def _call_tag(self, spelling: tuple[str, str], name: str, schema: Any) -> Format:
        content: Format = {"type": "json_schema", "json_schema": schema, "style": self._style.arguments}
        return call_tag(spelling, name, {"type": "regex", "pattern": "[0-9]+"}, content | self._options)

    def _joined(self, tags: list[Format], separator: str, *, stops: bool) -> Format:
        return {
            "type": "tags_with_separator",
            "tags": tags,
            "separator": separator,
            "at_least_one": True,
            "stop_after_first": stops,
        }

    def _calls(self) -> Format:
        begin, end = self._style.section
        calls = self._joined(self._tags, self._style.between, stops=self._stops)
        return tag(begin, calls, end) if begin else calls

    def _body(self) -> Format:
        style = self._style
        if not self._tags:
            return {"type": "any_text", "excludes": [*self._markers, style.begin]}
        if self._is_called and (style.section[0] or self._stops):
            return self._calls()
        return {
            "type": "triggered_tags",
            "triggers": [style.begin],
            "tags": [self._calls()] if style.section[0] else self._tags,
            "at_least_one": self._is_called,
            "stop_after_first": self._stops,
            "excludes": self._markers,
        }

    def _thoughts(self) -> Format | None:
        """Return the beginning of a turn with reasoning."""
        begin, end = self._style.thinking
        if self._reasoning == "disabled":
            first = _CLOSES_FIRST.get(self._model)
            return None if first is None else sequence_of(const(first), _BLANKS)
        is_begun = self._reasoning == "enabled" and self._model not in _OWN_BEGIN
        block = tag("" if is_begun else begin, self._text(), end)
        return block if self._reasoning == "enabled" else optional(block)

    def _text(self) -> Format:
        return {"type": "any_text", "excludes": self._markers}

    def _in_sections(self) -> list[Format]:
        """Return the blocks of a turn in which calls have a section: reasoning, text, calls."""
        style = self._style
        thoughts = self._thoughts()
        # without reasoning, the prompt has begun the text
        begin = "" if thoughts is None else style.content[0]
        blocks = [tag(begin, self._text(), list(style.content[1]))]
        if thoughts is not None:
            blocks.insert(0, thoughts)
        if self._tags:
            calls = self._calls()
            blocks.append(calls if self._is_called else optional(calls))
        return [*blocks, const(style.end)]

    def _framed(self) -> Format:
        """Return blocks with the same framing text, some of which are calls."""
        style = self._style
        said = [] if self._is_called else [tag(style.content[0], self._text(), list(style.content[1]))]
        if self._reasoning != "disabled":
            said.append(tag(style.thinking[0], self._text(), list(style.content[1])))
        if not self._tags or (not self._is_called and not self._stops):
            return self._joined([*self._tags, *said], style.glue, stops=False)
        ways = [self._joined(self._tags, style.glue, stops=self._stops)]
        if said:
            before = self._joined(said, style.glue, stops=False)
            ways.append(sequence_of(before, const(style.glue), ways[0]))
            ways += [] if self._is_called else [before]
        return any_of(*ways)
