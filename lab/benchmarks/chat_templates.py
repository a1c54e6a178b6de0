"""Check that what chat templates write of a turn is in the grammar of their style, and is read back as the same calls.

    python lab/benchmarks/chat_templates.py FOLDER [FOLDER ...] --write

A folder holds templates as ``*.jinja`` files, such as ``vendor/llama.cpp/models/templates`` in the source archive of
llama-cpp-python. Where cohere-melody and openai-harmony are installed, what they write is checked too; the latter wants its
vocabulary where ``TIKTOKEN_ENCODINGS_BASE`` says. Several conversations are rendered: text, one call, several calls,
reasoning, and values that need care. The assistant's part is what comes after the beginning that the template gives a
generation; without the end of turn, which is written after plain text too. The style is the one that the template tells. Printed: a line for
each template, and the styles that no template told.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import metadata
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from record import use_checkout, write_result

WEATHER: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "The city."}, "days": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}
ORDER: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "note": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {
            "type": "object",
            "properties": {"x": {"type": "number"}, "name": {"type": "string"}},
            "required": ["x"],
            "additionalProperties": False,
        },
        "quick": {"type": "boolean"},
        "price": {"type": "number"},
    },
    "additionalProperties": False,
}
TOOLS: Final[list[dict[str, Any]]] = [
    {"type": "function", "function": {"name": name, "description": f"A {name}.", "parameters": parameters}}
    for name, parameters in (("get_weather", WEATHER), ("order", ORDER))
]
ROME: Final = ("get_weather", {"city": "Rome", "days": 2})
CARE: Final = ("order", {"note": 'a "b" é 日本 <c> & {d}', "quick": True, "price": 2.5})
NESTED: Final = ("order", {"tags": ["a", "b c"], "place": {"x": 1.5, "name": "home"}})
TURNS: Final[dict[str, dict[str, Any]]] = {
    "text": {"content": "It rains."},
    "call": {"calls": [ROME]},
    "text and call": {"content": "Let me look.", "calls": [ROME]},
    "two calls": {"calls": [ROME, CARE]},
    "care": {"calls": [CARE]},
    "nested": {"calls": [NESTED]},
    "no arguments": {"calls": [("order", {})]},
    "reasoning": {"reasoning": "It may rain.", "calls": [ROME]},
}
USER: Final = {"role": "user", "content": "Do I need an umbrella?"}
SIGN: Final = "Qzqz."


class Rendered(NamedTuple):
    """What a package wrote of the assistant: the turn, and whether its prompt had begun the reasoning."""

    text: str
    opened: bool


class NotWritten(Exception):
    """The template does not write such a turn, as some that write one call only."""


def message(turn: dict[str, Any], as_text: bool, empty: Any) -> dict[str, Any]:
    """Return a turn as a message of the assistant. ``as_text``: arguments are JSON text; ``empty``: the content of none."""
    calls = [
        {
            "id": f"call{number:05}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": json.dumps(values, ensure_ascii=False) if as_text else values,
            },
        }
        for number, (name, values) in enumerate(turn.get("calls", ()))
    ]
    found = {"role": "assistant", "content": turn.get("content", empty)}
    if calls:
        found["tool_calls"] = calls
    if "reasoning" in turn:
        found |= dict.fromkeys(("reasoning_content", "reasoning", "thinking"), turn["reasoning"])
    return found


class JinjaTemplate:
    """A chat template, rendered as transformers does it."""

    def __init__(self, source: str) -> None:
        from jinja2 import TemplateError
        from jinja2.ext import loopcontrols
        from jinja2.sandbox import SandboxedEnvironment

        def refuse(problem: str) -> None:
            raise TemplateError(problem)

        def as_json(value: Any, **options: Any) -> str:
            options.setdefault("ensure_ascii", False)
            return json.dumps(value, **options, default=list)

        environment = SandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
        environment.filters["tojson"] = as_json
        environment.globals |= {"raise_exception": refuse, "strftime_now": lambda form: "2026-01-01"}
        # these tags of transformers write nothing: they mark what a model is trained on
        source = re.sub(r"\{%-?\s*(?:end)?generation\s*-?%\}", "", source)
        self._template = environment.from_string(source)

    def _render(self, messages: list[dict[str, Any]], *, generation: bool = False) -> str:
        tokens = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
        return self._template.render(
            messages=messages, tools=TOOLS, add_generation_prompt=generation, **tokens
        )

    def rendered(self, turn: dict[str, Any], style: Any) -> Rendered:
        """Return the assistant's part. Raises: NotWritten if the template refuses the turn, or leaves a part of it out."""
        whole = self._whole(turn)
        prompt = self._render([USER], generation=True)
        plain = self._render([USER, {"role": "assistant", "content": SIGN}])
        end = plain[plain.rindex(SIGN) + len(SIGN) :]
        for marker in (style.end or None, *style.content[1]):  # these are of the turn, and not what ends it
            if marker and marker in end:
                end = end.partition(marker)[2]
        at = _common(whole, prompt)
        if at < len(prompt):
            marker = prompt.rfind("<", 0, at)
            at = marker if prompt.find(">", marker, at) < 0 else at  # a marker was cut
        text = whole[at:]
        text = text.partition(end)[0] if end.strip() else text
        begin, close = style.thinking
        # some templates open the reasoning for the model, and leave it out of what was said before, but for its end
        opened = at == len(prompt) and prompt.rstrip().endswith(begin)
        opened = opened or text.lstrip().startswith(close)
        thought = f"{begin}{close}"
        if not opened and at == len(prompt) and "".join(prompt.split()).endswith(thought):
            text = thought + text
        return Rendered(text, opened)

    def _whole(self, turn: dict[str, Any]) -> str:
        """Return the conversation with the turn, in the first of the shapes of messages that the template writes in full."""
        problem = ""
        for as_text, empty in ((False, ""), (False, None), (True, ""), (True, None)):
            try:
                whole = self._render([USER, message(turn, as_text, empty)])
            except Exception as error:  # noqa: BLE001 templates raise what they like
                problem = problem or f"{type(error).__name__}: {error}"
                continue
            last = whole[whole.rindex(USER["content"]) :]
            if all(last.count(name) for name, _ in turn.get("calls", ())) and turn.get("content", "") in last:
                return whole
            problem = problem or "it leaves a part of the turn out"
        raise NotWritten(problem)


def check(style: str, rendered: Rendered, turn: dict[str, Any]) -> str:
    """Return what is wrong with what was written of a turn; "" if it is in the grammar and reads as the same calls."""
    from support.byte_matcher import ByteMatcher

    import stackmask as sm

    for profile in ("exact", "model"):
        reasoning = "on" if rendered.opened else "auto"
        grammar = sm.tools.grammar(style, TOOLS, opened=rendered.opened, reasoning=reasoning, profile=profile)
        matcher = ByteMatcher(grammar)
        text = next((text for text in _readings(style, rendered.text) if matcher.matches(text)), None)
        if text is None:
            return f"not in the grammar of the {profile} profile: {rendered.text!r}"
    read = sm.tools.parse(style, text, tools=TOOLS, opened=rendered.opened)
    calls = [(call.name, call.arguments) for call in read.calls]
    if calls != turn.get("calls", []):
        return f"read as {calls}: {rendered.text!r}"
    return ""


def _common(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _readings(style: str, text: str) -> Iterator[str]:
    """Return a text, and what a server's parser would see of it: without blanks around it."""
    yield text
    yield text.strip()


def cohere(turn: dict[str, Any], _: Any) -> Rendered:
    """Return what Cohere's own package writes of a turn; text before calls is written as reasoning there."""
    import cohere_melody

    calls = [
        {"id": str(number), "name": name, "parameters": json.dumps(values, ensure_ascii=False)}
        for number, (name, values) in enumerate(turn.get("calls", ()))
    ]
    said = turn.get("content", turn.get("reasoning", ""))
    spoken = {"role": "chatbot", "content": [{"type": "text", "text": said}] if said else []}
    user = {"role": "user", "content": [{"type": "text", "text": "Hello"}]}
    whole = cohere_melody.render_cmd5({"messages": [user, {**spoken, "tool_calls": calls}]})
    part = whole.split("<|CHATBOT_TOKEN|>")[1].partition("<|END_OF_TURN_TOKEN|>")[0]
    if not calls:
        raise NotWritten("text stands between markers of its own, which are no part of the style")
    return Rendered(part, False)


def harmony(turn: dict[str, Any], _: Any) -> Rendered:
    """Return what OpenAI's own package writes of a turn."""
    import openai_harmony as oh

    encoding = oh.load_harmony_encoding(oh.HarmonyEncodingName.HARMONY_GPT_OSS)
    messages = []
    if "reasoning" in turn:
        messages.append(_said(oh, turn["reasoning"], "analysis"))
    if "content" in turn:
        if "calls" in turn:
            raise NotWritten("text beside calls is a preamble, which the style does not have")
        messages.append(_said(oh, turn["content"], "final"))
    for name, values in turn.get("calls", ()):
        call = _said(oh, json.dumps(values, ensure_ascii=False), "commentary")
        messages.append(call.with_recipient(f"functions.{name}").with_content_type("<|constrain|>json"))
    text = "".join(encoding.decode(encoding.render(message)) for message in messages)
    return Rendered(text.removeprefix("<|start|>assistant"), False)


def _said(package: Any, text: str, channel: str) -> Any:
    message = package.Message.from_role_and_content(package.Role.ASSISTANT, text)
    return message.with_channel(channel)


def packages() -> Iterator[tuple[str, str, Callable[..., Rendered]]]:
    """Return the packages that are installed and write turns themselves: their names, styles, and what renders a turn."""
    if find_spec("cohere_melody") is not None:
        yield "cohere-melody", "cohere", cohere
    if find_spec("openai_harmony") is not None and "TIKTOKEN_ENCODINGS_BASE" in os.environ:
        yield "openai-harmony", "harmony", harmony


def jinja_templates(folders: list[Path]) -> Iterator[tuple[str, str, Callable[..., Rendered]]]:
    """Return each template that tells a style: its name, its style, and what renders a turn."""
    from stackmask.grammar.turns.styles import template_style

    for folder in folders:
        for path in sorted(folder.glob("*.jinja")):
            source = path.read_text("utf-8")
            style = template_style(source)
            if style is not None:
                yield path.stem, style, JinjaTemplate(source).rendered


def judge(folders: list[Path]) -> dict[str, Any]:
    """Return a row for each template with a style, and the styles without one."""
    import stackmask as sm

    rows: list[dict[str, Any]] = []
    for name, style, render in chain(jinja_templates(folders), packages()):
        row: dict[str, Any] = {"template": name, "style": style, "turns": 0, "not_written": {}, "wrong": {}}
        for label, turn in TURNS.items():
            try:
                rendered = render(turn, sm.tools.style_of(style))
            except NotWritten as error:
                row["not_written"][label] = str(error)[:120]
                continue
            row["turns"] += 1
            problem = check(style, rendered, turn)
            if problem:
                row["wrong"][label] = problem
        rows.append(row)
    told = {row["style"] for row in rows}
    return {"templates": rows, "styles_without": sorted(set(sm.tools.style_names()) - told)}


def _is_installed(name: str) -> bool:
    with suppress(metadata.PackageNotFoundError):
        return bool(metadata.version(name))
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    use_checkout()
    result = judge(arguments.folders)
    for row in result["templates"]:
        print(
            f"{row['template']}: {row['style']}, {row['turns'] - len(row['wrong'])} of {row['turns']} turns"
        )
        for label, problem in row["wrong"].items():
            print(f"    {label}: {problem}")
        for label, problem in row["not_written"].items():
            print(f"    {label} not written: {problem}")
    print("styles without a template:", ", ".join(result["styles_without"]) or "none")
    if arguments.write:
        names = ("jinja2", "cohere_melody", "openai_harmony", "oss_harmony")
        versions = {name: metadata.version(name) for name in names if _is_installed(name)}
        write_result(
            "chat_templates", "python lab/benchmarks/chat_templates.py FOLDERS --write", result, **versions
        )


if __name__ == "__main__":
    main()
