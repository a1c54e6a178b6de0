"""The notation of turns: one row of data for each style, from which the grammar and the parser are derived."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from stackmask.grammar.json_schema.write.argument_styles import ARGUMENT_STYLES
from stackmask.grammar.source.similar import advice
from stackmask.grammar.turns.errors import ToolError
from stackmask.grammar.turns.formats.fields import Format, const, sequence_of, tag

NAME: Final = "{name}"
NUMBER: Final = "{id}"
TEXT: Final = "text"  # arguments that are a text of the tool's own grammar
PYTHON: Final = "python"  # arguments that are those of a call in Python


@dataclass(frozen=True, slots=True)
class ToolStyle:
    """The markers of a turn.

    If all text is between markers, ``content`` has its begin and end markers, ``glue`` is the text between
    such blocks, and ``end`` the text after the last one.
    """

    calls: tuple[tuple[str, str], ...]
    """The text before and after the arguments of a call, in one or several spellings.

    ``{name}`` represents the name of the tool, ``{id}`` a number.
    """

    arguments: str = "json"
    """The notation of arguments: "json", or a style of ``Grammar.from_structural_tag``.

    "text": a string of the tool's grammar, for tools with a grammar; "python": ``a=1, b="x"``.
    """

    section: tuple[str, str] = ("", "")
    """The text before and after all calls of a turn; both may be empty."""

    between: str = ""
    """The text between two calls of a section."""

    trigger: str = ""
    """The beginning of each call in free text; empty if a section encloses all calls."""

    thinking: tuple[str, str] = ("<think>", "</think>")
    """The text before and after the reasoning."""

    excludes: tuple[str, ...] = ()
    """Markers that are excluded from free text, since servers would parse text with them as a call."""

    content: tuple[str, tuple[str, ...]] = ("", ())
    """The beginning of a block of text, and its possible ends; empty if text has no markers."""

    glue: str = ""
    """The text between two such blocks."""

    end: str = ""
    """The text after the last block."""

    is_alone: bool = False
    """Whether a turn with calls has nothing else; text in other turns does not begin like a section or trigger."""

    ends_with_calls: bool = False
    """Whether only calls may follow a call, since parsers would read other text as part of it; always in "model"."""

    blanks: str = r"[ \n\t\r]*"
    """An ECMA-262 pattern for the whitespace between parts of JSON arguments, in the exact profile."""

    reasons: bool = True
    """Whether ``reasoning="auto"`` lets a turn begin with reasoning."""

    call_id: str = ""
    """The id of a call in messages, with ``{name}`` and ``{id}``; empty for nine letters and digits, which all templates accept."""

    json_messages: bool = False
    """Whether chat templates expect OpenAI's format of calls: arguments as JSON text, and content that may be None."""

    @property
    def begin(self) -> str:
        """The text that separates free text from calls."""
        return self.section[0] or self.trigger


_JSON_CALL: Final = '{"name": "{name}", "arguments": '
_ONE_LINE: Final = r"[ \t]*"  # parsers of servers look for the arguments on one line
_DSML_MARKERS: Final = ("<｜DSML｜invoke", "</｜DSML｜invoke", "<｜DSML｜parameter", "</｜DSML｜parameter")
_DEEPSEEK_MARKERS: Final = ("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>")
_DSML_CALL: Final = (('<｜DSML｜invoke name="{name}">\n', "</｜DSML｜invoke>\n"),)
_TOOL_CALL: Final = "<tool_call>"

_QWEN_3: Final = ToolStyle(
    ((f"<tool_call>\n{_JSON_CALL}", "}\n</tool_call>"),), between="\n", trigger=_TOOL_CALL
)
_QWEN_3_5: Final = ToolStyle(
    (("<tool_call>\n<function={name}>\n", "</function>\n</tool_call>"),),
    "qwen_xml",
    between="\n",
    trigger=_TOOL_CALL,
)

STYLES: Final[dict[str, ToolStyle]] = {
    "llama": ToolStyle(
        (('{"name": "{name}", "parameters": ', "}"),),
        between="; ",
        trigger='{"name": ',
        is_alone=True,
        reasons=False,
    ),
    "qwen_3": _QWEN_3,
    "hermes": _QWEN_3,
    "pythonic": ToolStyle((("{name}(", ")"),), PYTHON, section=("[", "]"), between=", ", is_alone=True),
    "exaone": ToolStyle(((f"<tool_call>{_JSON_CALL}", "}</tool_call>"),), trigger=_TOOL_CALL),
    "qwen_3_5": _QWEN_3_5,
    "qwen_3_coder": _QWEN_3_5,
    "mimo": ToolStyle(
        (("<tool_call><function={name}>", "</function></tool_call>"),), "qwen_xml", trigger=_TOOL_CALL
    ),
    "glm_4_7": ToolStyle((("<tool_call>{name}", "</tool_call>"),), "glm_xml", trigger=_TOOL_CALL),
    "mistral": ToolStyle(
        (("[TOOL_CALLS]{name}[ARGS]", ""),),
        trigger="[TOOL_CALLS]",
        thinking=("[THINK]", "[/THINK]"),
        ends_with_calls=True,
    ),
    "kimi": ToolStyle(
        (("<|tool_call_begin|>functions.{name}:{id}<|tool_call_argument_begin|>", "<|tool_call_end|>"),),
        section=("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
        excludes=("<|tool_call_begin|>",),
        call_id="functions.{name}:{id}",
    ),
    "kimi_k3": ToolStyle(
        (('<|open|>call tool="{name}" index="{id}"<|sep|>', "<|close|>call<|sep|>"),),
        "kimi_k3_xml",
        section=("<|open|>tools<|sep|>", "<|close|>tools<|sep|>"),
        thinking=("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
        content=("<|open|>response<|sep|>", ("<|close|>response<|sep|>",)),
        end="<|close|>message<|sep|>",
        excludes=("<|open|>", "<|sep|>", "<|close|>"),
    ),
    "deepseek_r1": ToolStyle(
        (("<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n", "\n```<｜tool▁call▁end｜>"),),
        section=("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
        between="\n",
        excludes=_DEEPSEEK_MARKERS,
        blanks=_ONE_LINE,
        json_messages=True,
    ),
    "deepseek_v3_1": ToolStyle(
        (("<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),),
        section=("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
        excludes=_DEEPSEEK_MARKERS,
        blanks=_ONE_LINE,
        json_messages=True,
    ),
    "deepseek_v3_2": ToolStyle(
        _DSML_CALL,
        "deepseek_xml",
        section=("<｜DSML｜function_calls>\n", "</｜DSML｜function_calls>"),
        excludes=_DSML_MARKERS,
    ),
    "deepseek_v4": ToolStyle(
        _DSML_CALL,
        "deepseek_xml",
        section=("<｜DSML｜tool_calls>\n", "</｜DSML｜tool_calls>"),
        excludes=_DSML_MARKERS,
    ),
    "minimax": ToolStyle(
        (('<invoke name="{name}">\n', "</invoke>\n"),),
        "minimax_xml",
        section=("<minimax:tool_call>\n", "</minimax:tool_call>"),
        excludes=("<invoke name=", "</invoke>"),
    ),
    "minimax_m3": ToolStyle(
        ((']<]minimax[>[<invoke name="{name}">', "]<]minimax[>[</invoke>\n"),),
        "minimax_m3_xml",
        section=("]<]minimax[>[<tool_call>\n", "]<]minimax[>[</tool_call>"),
        thinking=("<mm:think>", "</mm:think>"),
        excludes=("]<]minimax[>[<invoke", "]<]minimax[>[</invoke"),
    ),
    "cohere": ToolStyle(
        (('<cofl:tool_call id="{id}" name="{name}">', "</cofl:tool_call>"),),
        "cohere_xml",
        section=("<cofl:tool_calls>", "</cofl:tool_calls>"),
        excludes=("<cofl:tool_call ", "</cofl:tool_call>"),
        thinking=("<|START_THINKING|>", "<|END_THINKING|>"),
        call_id="{id}",
    ),
    "harmony": ToolStyle(
        (
            ("<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>", "<|call|>"),
            ("<|channel|>commentary to=functions.{name}<|constrain|>json<|message|>", "<|call|>"),
            (" to=functions.{name}<|channel|>commentary <|constrain|>json<|message|>", "<|call|>"),
            (" to=functions.{name}<|channel|>commentary json<|message|>", "<|call|>"),
        ),
        thinking=("<|channel|>analysis<|message|>", "<|end|>"),
        content=("<|channel|>final<|message|>", ("<|return|>", "<|end|>")),
        glue="<|start|>assistant",
    ),
}

ALIASES: Final = {"gpt_oss": "harmony", "openai": "harmony"}
_BUILT_IN: Final = frozenset(map(id, STYLES.values()))
_own: dict[str, ToolStyle] = {}


def call_tag(spelling: tuple[str, str], name: str, digits: Format, content: Format) -> Format:
    """Return the format of a call in one spelling. ``digits``: the digits of its number, if it has one."""
    begin, number, after = spelling[0].partition(NUMBER)
    if number:
        content = sequence_of(digits, const(after.replace(NAME, name)), content)
    return tag(begin.replace(NAME, name), content, spelling[1])


def is_built_in(style: ToolStyle) -> bool:
    """Return whether a style is built in, so that its turns are known to be unambiguous."""
    return id(style) in _BUILT_IN


def style_names() -> list[str]:
    """Return the names of all styles, including registered ones."""
    return sorted({**STYLES, **_own})


def style_of(style: Any) -> ToolStyle:
    """Return a style by name (`gpt-oss` is `gpt_oss`), or the style of a tokenizer's chat template.

    Raises: ToolError for an unknown name, or if no style is detected.
    """
    if isinstance(style, ToolStyle):
        return style
    if hasattr(style, "chat_template"):
        return _style_of_tokenizer(style)
    if not isinstance(style, str):
        problem = f"a style is a name, a ToolStyle or a tokenizer, not {type(style).__name__}: the style comes first"
        raise ToolError("/style", problem)
    plain = style.lower().replace("-", "_")
    name = style if style in _own else ALIASES.get(plain, plain)
    found = _own.get(name) or STYLES.get(name)
    if found is None:
        names = style_names()
        of_name = [each for each in names if plain and each.startswith(plain)] or names
        help = advice(style if of_name is names else None, of_name)
        raise ToolError("/style", f"no style `{style!s:.60}`; {help}")
    return found


def _style_of_tokenizer(tokenizer: Any) -> ToolStyle:

    template = template_of(tokenizer)
    name = None if template is None else template_style(template)
    if name is None:
        problem = "the tokenizer has no chat template" if template is None else "the chat template tells none"
        raise ToolError("/style", f"{problem}; give the style by name, one of {', '.join(style_names())}")
    return STYLES[name]


def register(name: str, style: ToolStyle) -> None:
    """Register a style by name.

    Raises: ToolError if the name is taken, or if its markers do not distinguish calls from text.
    """
    if not isinstance(name, str) or not name or name in STYLES or name in ALIASES:
        raise ToolError("/style", f"`{name!s:.60}` is a style of the package, or no name")
    if not style.calls or any(begin.count(NAME) != 1 for begin, _ in style.calls):
        raise ToolError("/style/calls", "each call begins with a marker that contains `{name}` once")
    if not style.begin and not style.content[0]:
        raise ToolError("/style/trigger", "calls in free text need a `trigger` or a `section`")
    if style.trigger and not all(begin.startswith(style.trigger) for begin, _ in style.calls):
        raise ToolError("/style/trigger", "each call begins with the trigger")
    if style.arguments not in ("json", TEXT, PYTHON) and style.arguments not in ARGUMENT_STYLES:
        raise ToolError("/style/arguments", f"none of json, {TEXT}, {PYTHON}, {', '.join(ARGUMENT_STYLES)}")
    if style.is_alone and not style.begin:
        raise ToolError("/style/section", "calls that are all of a turn need a `section` or a `trigger`")
    if style.arguments == TEXT and not all(end for _, end in style.calls):
        raise ToolError("/style/calls", "arguments that are text need a marker at their end")
    _own[name] = style


# --------------------------------------------------------------------------------------------------------
# Which style a chat template writes, from what it says; nothing is rendered.
#
# A row is a style with the markers that its templates hold, and those that the templates of like styles hold. Rows with more
# markers come before those with fewer. A template that says nothing of these has no style: a wrong guess would
# force calls on a model that it has never seen.
# --------------------------------------------------------------------------------------------------------


class Signs(NamedTuple):
    """Strings that a style's chat templates contain, and strings that they do not contain."""

    style: str
    markers: tuple[str, ...]
    others: tuple[str, ...] = ()


_CALL: Final = "<tool_call>"
_NAMED: Final = (_CALL, '"name', '"arguments')

SIGNS: Final = (
    Signs("kimi_k3", ("<|open|>", "<|close|>", "<|sep|>")),
    Signs("kimi", ("<|tool_calls_section_begin|>", "<|tool_call_argument_begin|>")),
    Signs("minimax_m3", ("]<]minimax[>[",)),
    Signs("minimax", ("<minimax:tool_call>", "<invoke name=")),
    Signs("deepseek_v3_2", ("｜DSML｜", "function_calls")),
    Signs("deepseek_v4", ("｜DSML｜", "tool_calls")),
    Signs("deepseek_r1", ("<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>", "```json")),
    Signs("deepseek_v3_1", ("<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>")),
    Signs("harmony", ("<|channel|>", "commentary", "<|call|>")),
    Signs("cohere", ("<cofl:tool_call ",)),
    Signs("mistral", ("[TOOL_CALLS]", "[ARGS]"), ("[CALL_ID]",)),
    Signs("glm_4_7", (_CALL, "<arg_key>", "<arg_value>")),
    Signs("mimo", ("<tool_call><function=",)),
    Signs("qwen_3_5", (_CALL, "<function=", "<parameter=", "<think>")),
    Signs("qwen_3_coder", (_CALL, "<function=", "<parameter=")),
    Signs("exaone", ("[|assistant|]", *_NAMED)),
    Signs("hermes", ("You are a function calling AI model", *_NAMED)),
    Signs("qwen_3", ("<|im_start|>", "You may call one or more functions", *_NAMED), ("<tool_calls>",)),
    Signs("hermes", _NAMED, ("<tool_calls>",)),
    Signs("pythonic", ("[func_name1(params_name1=",)),
    Signs(
        "llama", ("<|start_header_id|>", '{"name": ', '"parameters": '), (_CALL, "functools", "<function=")
    ),
)
PREFERRED: Final = ("tool_use", "default")  # of templates with names


def template_style(template: str) -> str | None:
    """Return the name of the style in which a chat template writes calls, or None if it writes none."""
    for signs in SIGNS:
        has_all = all(marker in template for marker in signs.markers)
        if has_all and not any(marker in template for marker in signs.others):
            return signs.style
    return None


def template_of(tokenizer: Any) -> str | None:
    """Return the chat template of a tokenizer: the template for tools if there are several; None without one."""
    found = getattr(tokenizer, "chat_template", None)
    if isinstance(found, Iterable) and not isinstance(found, str | Mapping):
        found = {item.get("name"): item.get("template") for item in found if isinstance(item, Mapping)}
    if isinstance(found, Mapping):
        named = [found[name] for name in PREFERRED if name in found]
        found = named[0] if named else next(iter(found.values()), None)
    return found if isinstance(found, str) else None
