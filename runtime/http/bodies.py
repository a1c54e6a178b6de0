"""What a request asks for: a body of OpenAI's protocol, read into the arguments of a generation.

What is not understood is refused by name; nothing is ignored that would change the text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from stackmask.grammar.grammar import Grammar
from stackmask.runtime.serving.requests import KINDS, Options, RequestError, grammar_of, parsed_json

SAMPLING: Final = frozenset(
    {"max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "n", "stop"}
)
CARRIED: Final = frozenset({"model", "stream", "stream_options", "user", "metadata", "store", "service_tier"})
FORMATS: Final = frozenset({"response_format", "structured_outputs"})
TOOLS: Final = frozenset({"tools", "tool_choice", "parallel_tool_calls"})
CHAT: Final = SAMPLING | CARRIED | FORMATS | TOOLS | {"messages"}
COMPLETION: Final = SAMPLING | CARRIED | FORMATS | {"prompt"}
# may stand in a body with a value that changes nothing
NEUTRAL: Final[Mapping[str, tuple[Any, ...]]] = {
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "logit_bias": ({},),
    "echo": (False,),
    "best_of": (1,),
    "suffix": ("",),
}
MOST_CHOICES: Final = 16


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one request wants: the prompt, the grammar (None for free text), and options of ``generate``.

    ``tools``: None without a turn of tools. ``count``: how many texts. ``stops``: strings that end the text.
    """

    prompt: Any
    grammar: Grammar | None
    model: str | None
    max_tokens: int | None
    count: int = 1
    stops: tuple[str, ...] = ()
    stream: bool = False
    usage_at_end: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    tools: dict[str, Any] | None = None


def parsed_body(read: bytes | bytearray) -> Any:
    """Return the JSON value of a body. Raises: RequestError if it is none, or not text."""
    try:
        text = read.decode()
    except UnicodeDecodeError as error:
        raise RequestError(f"the body is no UTF-8 at byte {error.start}") from None
    body = parsed_json(text, "the body")
    if "\\ud" in text or "\\uD" in text:
        try:
            json.dumps(body, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            code = ord(error.object[error.start])
            raise RequestError(f"the body has half of a surrogate pair, \\u{code:04x}: not text") from None
    return body


def read_body(body: Any, *, chat: bool) -> Wanted:
    """Read the body of ``/v1/chat/completions`` (``chat``) or ``/v1/completions``.

    Raises: StackmaskError with the field and the reason, or the place in its grammar.
    """
    if not isinstance(body, Mapping):
        raise RequestError(f"the body is {type(body).__name__}, must be an object")
    known = CHAT if chat else COMPLETION
    for name, value in body.items():
        if value is None or value in NEUTRAL.get(name, ()):
            continue
        if name not in known:  # mutant: ignored-fields
            raise RequestError(f"{name!r:.60} is not supported here")
    temperature = _number(body, "temperature", 0, 2)
    seed = _whole(body, "seed", 0, 2**63 - 1)
    options: dict[str, Any] = {"do_sample": bool(temperature)}
    if temperature:
        top_p = _number(body, "top_p", 0, 1)
        top_p = 1.0 if top_p is None else top_p
        options |= {"temperature": temperature, "top_p": top_p, "seed": seed}
    stream = _flag(body, "stream")
    stops = _stops(body.get("stop"))
    count = _whole(body, "n", 1, MOST_CHOICES) or 1
    if stream and (stops or count > 1):
        raise RequestError("a stream has one choice and no `stop` strings here: leave out `n` and `stop`")
    most = _whole(body, "max_completion_tokens", 1, 2**20) or _whole(body, "max_tokens", 1, 2**20)
    extra = body.get("stream_options") or {}
    if not isinstance(extra, Mapping):
        raise RequestError("stream_options must be an object")
    model = body.get("model")
    if model is not None and not isinstance(model, str):
        raise RequestError("model must be a string")
    return Wanted(
        prompt=_messages(body.get("messages")) if chat else _prompt(body.get("prompt")),
        grammar=_grammar(body),
        model=model,
        max_tokens=most,
        count=count,
        stops=stops,
        stream=stream,
        usage_at_end=_flag(extra, "include_usage"),
        options=options,
        tools=_tools(body) if chat else None,
    )


def _grammar(body: Mapping[str, Any]) -> Grammar | None:
    """Return the grammar of ``response_format``, or of vLLM's ``structured_outputs``."""
    wanted, extra = body.get("response_format"), body.get("structured_outputs")
    if wanted is not None and extra is not None:
        raise RequestError("give response_format or structured_outputs, not both")
    if extra is not None:
        if not isinstance(extra, Mapping) or len(extra) != 1 or next(iter(extra)) not in KINDS:
            raise RequestError(f"structured_outputs has one key, of {', '.join(KINDS)}")
        ((kind, text),) = extra.items()
        return grammar_of(kind, text, Options())
    if wanted is None:
        return None
    kind = wanted.get("type") if isinstance(wanted, Mapping) else None
    known = {"json_schema": ("json_schema",), "json_object": ("schema",), "text": ()}.get(str(kind))
    unknown = [key for key in wanted if key not in ("type", *known)] if known is not None else []
    if unknown:
        raise RequestError(f"response_format has {unknown[0]!r:.60}, which {kind} has not")
    if kind == "text":
        return None
    if kind == "json_object":
        schema = wanted.get("schema")  # as some clients and servers write it
        if schema is not None:
            return grammar_of("json", schema, Options())
        return grammar_of("json_object", None, Options())
    if kind == "json_schema":
        named = wanted.get("json_schema")
        if not isinstance(named, Mapping) or "schema" not in named:
            raise RequestError("response_format.json_schema must be an object with `schema`")
        return grammar_of("json", named["schema"], Options())
    if kind == "structural_tag":
        return grammar_of("structural_tag", dict(wanted), Options())
    raise RequestError(
        f"response_format.type must be text, json_object, json_schema or structural_tag, not {kind!r:.60}"
    )


def _tools(body: Mapping[str, Any]) -> dict[str, Any] | None:
    tools = body.get("tools")
    _flag(body, "parallel_tool_calls")
    if not tools:
        if body.get("tool_choice") not in (None, "none", "auto"):
            raise RequestError("tool_choice chooses among tools: give tools")
        return None
    if not isinstance(tools, list):
        raise RequestError("tools must be a list")
    parallel = _flag(body, "parallel_tool_calls", default=True)
    choice = body.get("tool_choice")
    return {
        "tools": tools,
        "tool_choice": "auto" if choice is None else choice,
        "parallel": parallel,
    }


def _messages(given: Any) -> list[dict[str, Any]]:
    if not isinstance(given, list) or not given:
        raise RequestError("messages must be a list of one message or more")
    messages = []
    for i, message in enumerate(given):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise RequestError(f"messages[{i}] must be an object with a role")
        content = message.get("content")
        if isinstance(content, list):
            parts = [part.get("text") if isinstance(part, Mapping) else None for part in content]
            if not all(isinstance(part, str) for part in parts):
                raise RequestError(f"messages[{i}].content has a part that is no text")
            content = "".join(map(str, parts))
        if content is not None and not isinstance(content, str):
            raise RequestError(f"messages[{i}].content must be text")
        messages.append({**message, "content": content or ""})
    return messages


def _prompt(given: Any) -> str:
    if isinstance(given, list) and len(given) == 1:
        given = given[0]
    if not isinstance(given, str):
        raise RequestError("prompt must be one text")
    return given


def _stops(given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    stops = [given] if isinstance(given, str) else given
    if not isinstance(stops, list) or len(stops) > 4 or not all(isinstance(s, str) and s for s in stops):
        raise RequestError("stop must be a text, or a list of at most four")
    return tuple(stops)


def _flag(body: Mapping[str, Any], name: str, *, default: bool = False) -> bool:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise RequestError(f"{name} must be true or false")
    return value


def _number(body: Mapping[str, Any], name: str, least: float, most: float) -> float | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise RequestError(f"{name} must be a number from {least} to {most}")
    return float(value)


def _whole(body: Mapping[str, Any], name: str, least: int, most: int) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise RequestError(f"{name} must be a whole number from {least} to {most}")
    return value
