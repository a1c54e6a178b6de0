"""The entry point, which creates the grammar of a turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.ir import ANY_TEXT, Complement, Intersection, Literal, Rule, RuleSet, Sequence
from stackmask.grammar.json_schema.document.report import Report
from stackmask.grammar.json_schema.frontend import schema_rules
from stackmask.grammar.json_schema.write.argument_styles import ARGUMENT_STYLES
from stackmask.grammar.json_schema.write.python_arguments import NARROWING as PYTHON_NARROWING
from stackmask.grammar.normalize import normalize
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.source.gc_pause import without_collection
from stackmask.grammar.source.similar import advice, similar
from stackmask.grammar.turns.errors import ToolError
from stackmask.grammar.turns.formats.fields import (
    Format,
    StructuralTagError,
    any_of,
    const,
    optional,
    sequence_of,
    tag,
)
from stackmask.grammar.turns.formats.frontend import ANY_BLANKS, Calls, format_rules
from stackmask.grammar.turns.parts.merge import Markers, Merged, text
from stackmask.grammar.turns.styles import (
    NAME,
    NUMBER,
    PYTHON,
    TEXT,
    ToolStyle,
    call_tag,
    is_built_in,
    style_of,
)
from stackmask.grammar.turns.tool import Tool, named_error, read_tools


def grammar(
    style: str | ToolStyle,
    tools: Iterable[Any] = (),
    *,
    tool_choice: Any = "auto",
    reasoning: str = "auto",
    response_format: Any = None,
    parallel: bool = True,
    parallel_tool_calls: bool | None = None,
    strict: bool | None = None,
    opened: bool = False,
    profile: str = "exact",
    limits: Any = None,
) -> Grammar:
    """Create the grammar of a whole turn: reasoning, then text and calls, or an answer in a schema (``docs/tools.md``).

    ``style``: the notation of calls, by name. ``tools``: anything that ``Tool.of`` reads. ``tool_choice``:
    "auto", "none", "required" or "any", the name of a tool, or a dict of OpenAI or Anthropic that names one
    or lists ``allowed_tools``. ``reasoning``: "on", "off", "auto" (optional; none in `llama`).
    ``response_format``: a JSON Schema, OpenAI's dict or a Grammar for the answer; calls are still possible.
    ``parallel``: allow several calls in a turn; OpenAI calls it ``parallel_tool_calls``. ``strict``: applies
    to all tools; False allows any object as arguments, which the grammar's ``report`` notes. ``opened``: the
    prompt has begun the reasoning. ``profile``: the profile of JSON in arguments and answers, as for
    ``Grammar.from_json_schema``; "exact" allows any whitespace here, "model" at most ``MAX_CALLS`` calls,
    which end the turn. ``limits``: a ``Limits``.
    Raises: ToolError with the place in the request; SchemaError for the schema of a tool or of the answer,
    with the location.
    """

    def read() -> Grammar:
        with without_collection():  # all that is made is kept, and none of it leads back to itself
            several = parallel if parallel_tool_calls is None else parallel_tool_calls
            turn = Turn(
                style, tools, tool_choice, reasoning, response_format, several, strict, opened, profile
            )
            later = turn.check()
        made = Grammar._with_markers(lambda names: Grammar._merged(turn.rules(names)), later=later)
        made.report = turn.report
        return made

    return Grammar._read(limits, read)


TURN: Final = "stackmask_turn"  # a format of structural tags, besides those that servers share
OPTIONS: Final = (
    "style",
    "tools",
    "tool_choice",
    "reasoning",
    "response_format",
    "parallel",
    "strict",
    "opened",
    "profile",
)


def structural_tag(
    style: str, tools: Iterable[Any] = (), *, profile: str = "model", **options: Any
) -> dict[str, Any]:
    """Return a whole turn as a structural tag, for a request to a server with stackmask as its backend.

    The arguments are those of ``grammar``, with a style by name; the answer is a JSON Schema or OpenAI's
    dict. Its JSON is sent as a grammar (``docs/serving/vllm.md``), since servers check the formats of
    structural tags themselves. ``limits`` only apply to the check here: the server has its own.
    Raises: as ``grammar``; ToolError for arguments that JSON cannot represent.
    """
    if not isinstance(style, str):
        raise ToolError("/style", f"a server knows styles by name, not {type(style).__name__}")
    if isinstance(options.get("response_format"), Grammar):
        raise ToolError("/response_format", "give a JSON Schema: a Grammar cannot be sent to a server")
    read = read_tools(tools)
    for index, tool in enumerate(read):
        if tool.grammar is not None or tool.is_text:
            raise ToolError(
                f"/tools/{index}", "its argument is text, and a request describes arguments in JSON"
            )
    grammar(style, read, profile=profile, **options)  # what is wrong is found here
    several = options.pop("parallel_tool_calls", None)
    sent = {name: value for name, value in options.items() if name in OPTIONS}
    if several is not None:
        sent["parallel"] = several
    listed = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        | ({} if tool.strict is None else {"strict": tool.strict})
        for tool in read
    ]
    return {
        "type": "structural_tag",
        "format": {"type": TURN, "style": style, "tools": listed, "profile": profile, **sent},
    }


def turn_of_tag(sent: Any, limits: Any = None) -> Grammar:
    """Return the grammar for the result of ``structural_tag``, or for another tag. Raises:
    StructuralTagError, as ``grammar``.
    """
    said = sent.get("format") if isinstance(sent, Mapping) else None
    if not isinstance(said, Mapping) or said.get("type") != TURN:
        return Grammar.from_structural_tag(sent, limits=limits)
    options = {key: value for key, value in said.items() if key != "type"}
    for key in options:
        if key not in OPTIONS:
            raise StructuralTagError(f"/format/{key!s:.60}", f"a turn has none; {advice(str(key), OPTIONS)}")
    if "style" not in options:
        raise StructuralTagError("/format", "no `style`")
    return grammar(**options, limits=limits)


# -- The grammar of a turn: reasoning, then text with calls, or an answer in a schema ----------------------


REASONING: Final = ("on", "off", "auto")
_BLANKS: Final[Format] = {"type": "regex", "pattern": r"[ \n]*"}
_FEW_BLANKS: Final[Format] = {"type": "regex", "pattern": r"[ \n]{0,3}"}  # as chat templates write them
_NUMBER: Final[Format] = {"type": "regex", "pattern": "[0-9]+"}
_SHORT_NUMBER: Final[Format] = {"type": "regex", "pattern": "0|[1-9][0-9]{0,5}"}
MAX_CALLS: Final = 32  # of a turn in the model profile: a model that repeats itself must stop somewhere


class Turn:
    """The contents of a turn, which are read once and expanded for each vocabulary."""

    def __init__(
        self,
        style: str | ToolStyle,
        tools: Iterable[Any],
        tool_choice: Any,
        reasoning: str,
        response_format: Any,
        parallel: bool,
        strict: bool | None,
        opened: bool,
        profile: str = "exact",
    ) -> None:
        self.style = style_of(style)
        self.tools = read_tools(tools)
        if reasoning not in REASONING:
            raise ToolError("/reasoning", f"{reasoning!r:.60} is not one of {', '.join(REASONING)}")
        for name, flag in (
            ("strict", False if strict is None else strict),
            ("parallel", parallel),
            ("opened", opened),
        ):
            if not isinstance(flag, bool):
                raise ToolError(f"/{name}", f"true or false, not {flag!r:.40}")
        self.reasoning = "off" if reasoning == "auto" and not (self.style.reasons or opened) else reasoning
        self.opened = opened
        if profile not in ("exact", "model"):
            raise ToolError("/profile", f"{profile!r:.60} is not one of exact, model")
        self.profile = profile
        self.report = Report()
        for index, tool in enumerate(self.tools):
            if tool.grammar is not None and self.style.arguments != TEXT and not tool.has_pattern:
                problem = "its argument is text of a grammar, and calls of this style have none: use a style of one's own"
                raise ToolError(f"/tools/{index}/grammar", problem)
        self.names = {tool.name: index for index, tool in enumerate(self.tools)}
        if strict is not None:
            self.tools = [tool.with_strict(strict) for tool in self.tools]
        self.mode, self.allowed = self._choice(tool_choice)
        self.most_calls = None if profile == "exact" else MAX_CALLS
        if self.mode == "one" or not parallel:
            self.most_calls = 1
        self.ends_with_calls = self.style.ends_with_calls or profile == "model"
        self._note_narrowings()
        self.answer = self._answer(response_format)

    def _note_narrowings(self) -> None:
        """Report texts that calls exclude, and texts that they allow beyond the schemas."""
        is_model, arguments = self.profile == "model", self.style.arguments
        for tool in self.allowed:
            place = ("", "tools"), self.names[tool.name]
            if tool.strict is False:
                self.report.add("relaxed", place, "strict", "not strict: any object is allowed as arguments")
            elif tool.strict and is_model and tool.is_closed:
                self.report.add("narrowed", place, "strict", "objects have no members but the declared ones")
        at_most = "one" if self.most_calls == 1 else f"at most {self.most_calls}"
        written = "JSON is" if arguments == "json" else "values are"
        in_profile = f"{written} written in the model profile, without keys that types ignore"
        for is_so, keyword, reason in (
            (is_model and (arguments == "json" or arguments in ARGUMENT_STYLES), "arguments", in_profile),
            (arguments == PYTHON, "arguments", PYTHON_NARROWING),
            (is_model, "calls", f"{at_most}, with no text between them or after the last one"),
        ):
            if is_so and self.allowed:
                self.report.add("narrowed", "", keyword, reason)

    def rules(self, special_names: frozenset[str]) -> Merged:
        """Return the rules of the turn for a vocabulary. Raises: ToolError, SchemaError, GrammarError."""
        with without_collection():  # all that is made is kept, and none of it leads back to itself
            return format_rules(self._framed() if self.style.content[0] else self._marked(), special_names)

    def check(self) -> bool:
        """Read the tools, and return whether only their parameters could be invalid. Raises: ToolError, SchemaError."""
        for tool in self.allowed:
            if not (tool.is_text and self.style.arguments == TEXT):
                place = ("", "tools"), self.names[tool.name]
                self.report.parts.append((place, self._read(tool, Markers())[1]))
        has_grammars = any(tool.grammar is not None for tool in self.allowed)
        return self.answer is None and is_built_in(self.style) and not has_grammars

    # -- options -------------------------------------------------------------------------------------

    def _choice(self, choice: Any) -> tuple[str, list[Tool]]:
        """Return "auto", "none", "required" or "one", and the callable tools."""
        if choice is None:
            choice = "auto"
        if isinstance(choice, str):
            if choice in ("auto", "none", "required", "any"):
                return self._mode(choice, self.tools)
            if choice not in self.names:
                close = similar(choice, [*self.names, "auto", "none", "required", "any"])
                help = advice(None, self.names) if close is None else f"did you mean `{close}`?"
                problem = f"{choice!r:.60} is not one of auto, none, required, any, and no tool; {help}"
                raise ToolError("/tool_choice", problem)
            return "one", [self._named(choice, "/tool_choice")]
        if not isinstance(choice, Mapping):
            raise ToolError("/tool_choice", f"a string or an object, not {type(choice).__name__}")
        kind = choice.get("type")
        if kind in ("auto", "none", "any"):
            return self._mode(kind, self.tools)
        if kind == "allowed_tools":
            inner = choice.get("allowed_tools", choice)
            listed = inner.get("tools") if isinstance(inner, Mapping) else None
            if not isinstance(listed, list | tuple):
                raise ToolError("/tool_choice/tools", "a list of tools is needed")
            names = [self._named(item, f"/tool_choice/tools/{i}") for i, item in enumerate(listed)]
            mode = inner.get("mode", "auto")
            if mode not in ("auto", "required"):
                raise ToolError("/tool_choice/mode", f"{mode!r:.60} is not one of auto, required")
            return self._mode(mode, names)
        if kind in ("function", "tool"):
            return "one", [self._named(choice, "/tool_choice")]
        raise ToolError(
            "/tool_choice/type", f"{kind!r:.60} is not one of function, tool, any, auto, none, allowed_tools"
        )

    def _mode(self, mode: str, tools: list[Tool]) -> tuple[str, list[Tool]]:
        mode = "required" if mode == "any" else mode
        if mode == "required" and not tools:
            raise ToolError("/tool_choice", "a call is required, and there are no tools")
        return ("none", []) if mode == "none" or not tools else (mode, tools)

    def _named(self, item: Any, place: str) -> Tool:
        inner = item.get("function", item) if isinstance(item, Mapping) else item
        name = inner.get("name") if isinstance(inner, Mapping) else inner
        for tool in self.tools:
            if tool.name == name:
                return tool
        raise ToolError(place, f"no tool `{name!s:.60}`; {advice(name, self.names)}")

    def _answer(self, wanted: Any) -> Format | None:
        """Return the format of an answer with a schema; None for free text."""
        if wanted is None or wanted == {"type": "text"}:
            return None
        if isinstance(wanted, Grammar):
            return _rules("answer", partial(_rules_of, wanted))
        if isinstance(wanted, Mapping) and wanted.get("type") == "structural_tag":
            if not isinstance(wanted.get("format"), Mapping):
                raise ToolError("/response_format", "a structural tag has a `format`, an object")
            return dict(wanted["format"])
        schema = wanted
        if isinstance(wanted, Mapping) and wanted.get("type") == "json_object":
            schema = {"type": "object"}
        elif isinstance(wanted, Mapping) and wanted.get("type") == "json_schema":
            inner = wanted.get("json_schema", wanted)
            if not isinstance(inner, Mapping) or "schema" not in inner:
                place = "/response_format/json_schema" if "json_schema" in wanted else "/response_format"
                raise ToolError(place, "no `schema`")
            schema = inner["schema"]
        return _rules("answer", partial(_answer_rules, schema, self.profile))

    # -- parts of a turn -----------------------------------------------------------------------------

    def _call_tags(self) -> list[Format | Calls]:
        """Return a tag for each tool and each spelling of a call."""
        style = self.style
        arguments = style.arguments
        if arguments != TEXT and all(_is_plain(begin, end) for begin, end in style.calls):
            spellings = tuple([(*_parted(begin), end) for begin, end in style.calls])
            return [Calls(self.allowed, spellings, self._arguments, (arguments, self.profile, style.blanks))]
        digits = _SHORT_NUMBER if self.profile == "model" else _NUMBER
        found: list[Format | Calls] = []
        for tool in self.allowed:
            content = _rules(tool.name, partial(self._arguments, tool))
            if tool.is_text and arguments == TEXT:
                content = {"type": "any_text"}
            found += [call_tag(spelling, tool.name, digits, content) for spelling in style.calls]
        return found

    def _arguments(self, tool: Tool, markers: Markers) -> RuleSet:
        """Return the rules of a tool's arguments. Raises: SchemaError, with the location of the tool."""
        return self._read(tool, markers)[0]

    def _read(self, tool: Tool, markers: Markers) -> tuple[RuleSet, Report]:
        style = self.style
        try:
            return tool.read(style.arguments, markers, profile=self.profile, blanks=style.blanks)
        except StackmaskError as error:
            raise named_error(error, f"/tools/{self.names[tool.name]}", tool.name) from None

    def _calls(self) -> Format:
        """Return one call, or several in their section."""
        tags = self._joined(**self._between())
        begin, end = self.style.section
        return tag(begin, tags, end) if begin else tags

    def _between(self) -> Format:
        """Return the text between calls. In the model profile, a line break may replace "", and end it."""
        between = self.style.between
        is_loose = self.profile == "model" and not (self.style.section[0] or self.style.ends_with_calls)
        if not is_loose or between.strip():
            return {"separators": [between]}
        return {"separators": list(dict.fromkeys((between, "\n"))), "trailing": "\n"}

    def _joined(self, **between: Any) -> Format:
        """Return calls in the allowed number."""
        return {"type": "tags_joined", "tags": self._call_tags(), "max": self.most_calls, **between}

    @property
    def _may_skip_thoughts(self) -> bool:
        # what the prompt has begun must end: the parser reads all that comes before the end as reasoning
        return self.reasoning == "auto" and not self.opened

    def _thoughts(self) -> Format | None:
        begin, end = self.style.thinking
        if self.reasoning == "off":
            return None
        block = tag("" if self.opened else begin, {"type": "any_text"}, end)
        return optional(block) if self._may_skip_thoughts else block

    def _marked(self) -> Format:
        """Return a turn whose text has no markers."""
        thoughts = self._thoughts()
        body = self._body()
        if thoughts is None:
            return body
        between = _FEW_BLANKS if self.profile == "model" else _BLANKS
        blanks = [between] if self.answer is not None or self.mode in ("required", "one") else []
        return sequence_of(thoughts, *blanks, body)

    def _body(self) -> Format:
        style = self.style
        excludes = [*style.thinking, *style.excludes]
        if style.is_alone and style.trigger:
            excludes.append(style.trigger)
        if style.section[1] and not style.is_alone:
            excludes.append(style.section[1])
        if self.mode == "none":
            if self.answer is not None:
                return self.answer
            if style.is_alone:
                return self._other_text(excludes)
            return {"type": "any_text", "excludes": [*excludes, style.begin]}
        is_called = self.mode != "auto"
        if self.mode == "one" or (is_called and (self.answer is not None or self.ends_with_calls)):
            return self._calls()
        if self.answer is not None:
            return any_of(self._calls(), self.answer)
        if style.is_alone:
            return self._calls() if is_called else any_of(self._calls(), self._other_text(excludes))
        found: Format = {"type": "triggered_tags", "triggers": [style.begin], "excludes": excludes}
        if style.section[0]:
            return {**found, "tags": [self._calls()], "at_least_one": is_called, "stop_after_first": True}
        found["tags"] = self._call_tags()
        if self.ends_with_calls:
            return {**found, "max": self.most_calls, **self._between()}
        return {**found, "at_least_one": is_called, "stop_after_first": self.most_calls == 1}

    def _other_text(self, excludes: list[str]) -> Format:
        """Return text that does not begin like a call, for styles in which turns are only calls."""
        return _rules("text", partial(_text_rules, self.style.begin, tuple(excludes)))

    def _framed(self) -> Format:
        """Return a turn of blocks, each between markers."""
        style = self.style
        begin, ends = style.content
        spoken: Format = {"type": "any_text", "excludes": list(style.excludes)}
        answer = self.answer or spoken
        content = tag(begin, answer, list(ends))
        if style.section[0]:
            return self._framed_in_sections(content)
        thoughts = self._thoughts()
        blocks: list[Format] = []
        if self.mode == "auto":
            blocks.append(any_of(content, self._joined(separators=[style.glue])))
        else:
            blocks.append(content if self.mode == "none" else self._joined(separators=[style.glue]))
        if thoughts is not None:
            thoughts = thoughts["content"] if self._may_skip_thoughts else thoughts
            led = sequence_of(thoughts, const(style.glue))
            blocks.insert(0, optional(led) if self._may_skip_thoughts else led)
        return sequence_of(*blocks)

    def _framed_in_sections(self, content: Format) -> Format:
        style = self.style
        blocks: list[Format] = []
        thoughts = self._thoughts()
        if thoughts is not None:
            blocks.append(thoughts)
        if self.mode == "none":
            blocks.append(content)
        elif self.mode == "auto" and self.answer is not None:
            blocks.append(any_of(content, self._calls()))
        elif self.mode == "auto":
            blocks.append(content)
            blocks.append(optional(self._calls()))
        else:
            free: Format = {"type": "any_text", "excludes": list(style.excludes)}
            if self.profile == "model":  # as in the other styles, nothing is said
                free = const("")
            spoken = tag(style.content[0], free, list(style.content[1]))
            blocks.append(optional(spoken))
            blocks.append(self._calls())
        return sequence_of(*blocks, const(style.end))


def _rules_of(answer: Grammar, markers: Markers) -> RuleSet:
    return answer.for_vocabulary(markers.names).normalize()


def _text_rules(begin: str, excludes: tuple[str, ...], markers: Markers) -> RuleSet:
    plain = [word for word in excludes if not markers.holds(word)]
    calls = Sequence((Literal(begin.encode()), ANY_TEXT))
    body = Intersection((text(plain), Complement(calls)))
    return normalize(RuleSet({"root": Rule("root", body)}, "root", (), ()))


def _answer_rules(schema: Any, profile: str, _: Markers) -> RuleSet:
    try:
        if profile == "model":
            return schema_rules(schema, profile=profile)[0]
        return schema_rules(schema, spelling="plain", whitespace=ANY_BLANKS)[0]
    except StackmaskError as error:
        error.args = (f"at /response_format: {error}",)
        raise


def _is_plain(begin: Any, end: Any) -> bool:
    """Return whether the markers of a call need no further check: they contain a name and no number."""
    return _is_text(begin) and _is_text(end) and NUMBER not in begin and begin.count(NAME) == 1


def _is_text(marker: Any) -> bool:
    return isinstance(marker, str) and not any("\ud800" <= char <= "\udfff" for char in marker)


def _parted(begin: str) -> tuple[str, str]:
    """Return the text before the name of a tool, and the text after it."""
    before, _, after = begin.partition(NAME)
    return before, after


def _rules(name: str, make: Callable[[Markers], RuleSet]) -> Format:
    return {"type": "rules", "name": name, "rules": make}
