"""The application: routes, responses and streams of the OpenAI API."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.turns.parser import ArgumentsDelta, CallStarted, TextDelta
from stackmask.pda.limits import Limits
from stackmask.runtime.embedded import prompt_for
from stackmask.runtime.generation.models import compiler_for
from stackmask.runtime.generation.prompts import lay_out
from stackmask.runtime.generation.result import GenerationResult
from stackmask.runtime.generation.streams import TextStream, agenerate, stream
from stackmask.runtime.serving.metrics import Metrics
from stackmask.runtime.serving.requests import KINDS, Options, RequestError, grammar_of, parsed_json

DEFAULT_TOKENS: Final = 256
GONE: Final = 499  # in the metrics: the client has gone before the end
EMBEDDED_STYLE: Final = "hermes"  # of calls, for a model whose template tells none


@dataclass
class Service:
    """A model that answers requests. ``embedded``: it has no chat template, and only answers the last
    question.

    ``style``: the style of tool calls, if it cannot be detected from the chat template. ``concurrency``: the
    number of parallel generations; ``max_waiting`` other requests may wait, and more are refused with a retry
    hint. ``body_seconds``: the time limit for receiving a body. ``hosts``: the accepted names in ``Host``;
    None for all.
    """

    model: Any
    tokenizer: Any
    name: str = "stackmask"
    embedded: bool = False
    style: str | None = None
    concurrency: int = 4
    max_waiting: int = 64
    body_seconds: float = 30.0
    hosts: frozenset[str] | None = None
    metrics: Metrics = field(default_factory=Metrics)

    def __post_init__(self) -> None:
        if self.embedded and self.style is None:
            self.style = EMBEDDED_STYLE
        self.compiler = compiler_for(self.model, self.tokenizer)
        self.slots = asyncio.Semaphore(self.concurrency)
        self.active = 0  # requests that were begun and are not answered yet

    def prompt_of(self, wanted: Wanted) -> Any:
        """Return the prompt for ``generate``."""
        if not self.embedded:
            return wanted.prompt
        if isinstance(wanted.prompt, str):
            return prompt_for(wanted.prompt)
        asked = [m["content"] for m in wanted.prompt if m["role"] == "user"]
        if not asked:
            raise RequestError("messages has no message of the user")
        return prompt_for(asked[-1])

    def room_for(self, prompt: Any, wanted: Wanted) -> tuple[int, int]:
        """Return (tokens of the prompt, maximum new tokens). Raises: RequestError if there is no room."""
        try:
            (text,) = lay_out(self.tokenizer, [prompt], {})
        except StackmaskError:
            raise
        except Exception as error:  # templates raise what they like
            raise RequestError(
                f"the chat template cannot write these messages: {type(error).__name__}: {error}"
            ) from error
        used = len(self.tokenizer(text)["input_ids"])
        context = getattr(self.model.config.get_text_config(), "max_position_embeddings", None) or 2**20
        left = int(context) - used
        if left < 1 or (wanted.max_tokens or 1) > left:
            raise RequestError(
                f"the prompt has {used} tokens and the model reads and writes {context}: at most {max(left, 0)} are left, "
                f"max_tokens is {wanted.max_tokens or 1}"
            )
        return used, wanted.max_tokens or min(DEFAULT_TOKENS, left)

    async def arguments(self, wanted: Wanted) -> tuple[Any, Any, int, dict[str, Any]]:
        """Return (prompt, grammar, tokens of the prompt, options) for ``generate``. This finds errors of the
        request.
        """
        if wanted.model is not None and wanted.model != self.name:
            raise RequestError(f"model is {wanted.model!r:.80}; this server has {self.name!r}")
        # in a thread: a long prompt would keep the others waiting
        prompt = await asyncio.to_thread(self.prompt_of, wanted)
        used, most = await asyncio.to_thread(self.room_for, prompt, wanted)
        options = {**wanted.options, "max_new_tokens": most, "compiler": self.compiler}
        grammar: Any = wanted.grammar
        if wanted.tools is not None:
            options |= wanted.tools
            if self.style is not None:
                options["style"] = self.style
        elif grammar is not None:
            with self.metrics.timed("compile"):
                grammar = await asyncio.to_thread(self.compiler.compile, grammar)
        if wanted.stops:
            options["stop_strings"] = list(wanted.stops)
        return prompt, grammar, used, options


def make_app(service: Service) -> Starlette:
    """Return the application: ``/v1/chat/completions``, ``/v1/completions``, ``/v1/models``, ``/metrics``, ``/health``."""

    async def chat(request: Request) -> Response | _Stream:
        return await _answer(service, request, chat=True)

    async def completions(request: Request) -> Response | _Stream:
        return await _answer(service, request, chat=False)

    async def models(_: Request) -> Response:
        entry = {"id": service.name, "object": "model", "created": 0, "owned_by": "stackmask"}
        return JSONResponse({"object": "list", "data": [entry]})

    async def metrics(_: Request) -> Response:
        return PlainTextResponse(service.metrics.text(), media_type="text/plain; version=0.0.4")

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    return Starlette(
        routes=[
            Route("/v1/chat/completions", chat, methods=["POST"]),
            Route("/v1/completions", completions, methods=["POST"]),
            Route("/v1/models", models),
            Route("/metrics", metrics),
            Route("/health", health),
        ],
        middleware=[Middleware(_Guard, hosts=service.hosts)],
    )


def _error(message: str, status: int = 400) -> dict[str, Any]:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


class _Refused(Exception):
    """A request that is refused with a specific status."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.headers = status, headers


async def _body_of(service: Service, request: Request) -> bytearray:
    """Read the body, whose length is limited like that of grammars. Raises: RequestError, _Refused."""
    limit, read = Limits().max_input_bytes, bytearray()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # what a page of another site sends without being asked is of other types
        raise _Refused(415, f"Content-Type is {kind!r:.60}, must be 'application/json'")
    try:
        async with asyncio.timeout(service.body_seconds):
            async for piece in request.stream():
                read += piece
                if len(read) > limit:
                    raise RequestError(f"the body has more than {limit} bytes")
    except TimeoutError:
        raise _Refused(408, f"the body has not arrived within {service.body_seconds:g} seconds") from None
    return read


async def _answer(service: Service, request: Request, *, chat: bool) -> Response | _Stream:
    """Answer a request; an invalid one gets status 400 with the place and the reason."""
    status, handed_on = 200, False
    most = service.concurrency + service.max_waiting
    if service.active >= most:
        service.metrics.add('requests_total{status="503"}')
        answer = _error(f"{most} requests are running or waiting: try again later", 503)
        return JSONResponse(answer, 503, {"Retry-After": "1"})
    service.active += 1
    try:
        read = await _body_of(service, request)
        wanted = await asyncio.to_thread(lambda: read_body(parsed_body(read), chat=chat))
        if wanted.stream:
            streamed = await _streamed(service, wanted, chat=chat)
            handed_on = True
            return streamed
        return JSONResponse(await _whole(service, wanted, chat=chat))
    except StackmaskError as error:
        status = 400
        return JSONResponse(_error(str(error)), status)
    except _Refused as error:
        status = error.status
        return JSONResponse(_error(str(error), status), status, error.headers)
    except ClientDisconnect:
        status = GONE
        return Response(status_code=status)  # not read by anyone
    except Exception as error:  # noqa: BLE001 - one request fails, the server goes on
        status = 500
        return JSONResponse(_error(f"{type(error).__name__}: {error}", 500), status)
    finally:
        if not handed_on:  # a stream ends later
            _end(service, status)


def _end(service: Service, status: int) -> None:
    """Count an answered request."""
    service.active -= 1
    service.metrics.add(f'requests_total{{status="{status}"}}')


class _Guard:
    """Refuses requests from pages of other sites, or with another host name."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str] | None) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        message = self._fault(Headers(scope=scope)) if scope["type"] == "http" else None
        app: ASGIApp = self._app if message is None else JSONResponse(_error(message, 403), 403)
        await app(scope, receive, send)

    def _fault(self, headers: Headers) -> str | None:
        host = headers.get("host", "")
        name = urlsplit(f"//{host}").hostname if "@" not in host else None
        if self._hosts is not None and name not in self._hosts:  # mutant: other-hosts
            return f"Host is {host!r:.80}: this server is {', '.join(sorted(self._hosts))}"
        origin = headers.get("origin")
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            return f"Origin is {origin!r:.80}: pages of other sites are not answered"
        return None


async def _whole(service: Service, wanted: Wanted, *, chat: bool) -> dict[str, Any]:
    prompt, grammar, used, options = await service.arguments(wanted)
    with service.metrics.timed("wait"):
        await service.slots.acquire()
    try:
        with service.metrics.timed("generation"):
            results = await agenerate(
                service.model, service.tokenizer, [prompt] * wanted.count, [grammar] * wanted.count, **options
            )
    finally:
        service.slots.release()
    written = sum(len(result.token_ids) for result in results)
    service.metrics.add("generated_tokens_total", written)
    choices = [_choice(i, result, wanted, chat=chat) for i, result in enumerate(results)]
    return {**_head(service, chat=chat, part=False), "choices": choices, "usage": _usage(used, written)}


def _head(service: Service, *, chat: bool, part: bool) -> dict[str, Any]:
    kind = ("chat.completion.chunk" if part else "chat.completion") if chat else "text_completion"
    name = ("chatcmpl-" if chat else "cmpl-") + uuid.uuid4().hex
    return {"id": name, "object": kind, "created": int(time.time()), "model": service.name}


def _usage(prompt: int, written: int) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}


def _choice(index: int, result: GenerationResult, wanted: Wanted, *, chat: bool) -> dict[str, Any]:
    text = result.content if wanted.tools is not None else result.text
    at = min((p for p in map(text.find, wanted.stops) if p >= 0), default=None)
    text, reason = text[:at], _reason(result, stopped=at is not None)
    if not chat:
        return {"index": index, "text": text, "finish_reason": reason, "logprobs": None}
    message = {**result.message(as_json=True), "content": text or (None if result.calls else "")}
    return {"index": index, "message": message, "finish_reason": reason, "logprobs": None}


def _reason(result: GenerationResult, *, stopped: bool = False) -> str:
    if result.reason == "length" and not stopped:
        return "length"
    return "tool_calls" if result.calls else "stop"


async def _streamed(service: Service, wanted: Wanted, *, chat: bool) -> _Stream:
    """Begin a stream, and wait for its first piece, so that early errors get their own status."""
    prompt, grammar, used, options = await service.arguments(wanted)
    with service.metrics.timed("wait"):
        await service.slots.acquire()
    pieces: Any = None
    try:
        start: Any = partial(stream, service.model, service.tokenizer, prompt, grammar, **options)
        pieces = await asyncio.to_thread(start)
        first = await anext(pieces, None)
    except BaseException:
        if pieces is not None:
            await pieces.aclose()
        service.slots.release()
        raise
    head = _head(service, chat=chat, part=True)
    status = GONE  # unless it comes to its end

    async def events() -> AsyncIterator[str]:
        nonlocal status
        try:
            with service.metrics.timed("generation"):
                if chat:
                    yield _event(head, {"role": "assistant", "content": ""}, None, chat=chat)
                piece = first
                while piece is not None:
                    delta = {"content": piece} if isinstance(pieces, TextStream) else _delta(piece)
                    if delta:
                        yield _event(head, delta, None, chat=chat)
                    piece = await anext(pieces, None)
            result = pieces.result
            service.metrics.add("generated_tokens_total", len(result.token_ids))
            yield _event(head, {}, _reason(result), chat=chat)
            if wanted.usage_at_end:
                end = {**head, "choices": [], "usage": _usage(used, len(result.token_ids))}
                yield f"data: {json.dumps(end)}\n\n"
            status = 200
            yield "data: [DONE]\n\n"
        except Exception as error:  # noqa: BLE001 - the status is sent: the stream says what failed
            status = 500
            yield f"data: {json.dumps(_error(f'{type(error).__name__}: {error}', 500))}\n\n"

    async def close() -> None:
        service.slots.release()
        _end(service, status)
        await pieces.aclose()

    return _Stream(events(), close)


class _Stream:
    """A response of events. ``close`` is called at its end, even if the client disconnects before the start."""

    def __init__(self, events: AsyncIterator[str], close: Callable[[], Awaitable[None]]) -> None:
        self._response = StreamingResponse(events, media_type="text/event-stream")
        self._close = close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._response(scope, receive, send)
        finally:
            await self._close()


def _delta(event: Any) -> dict[str, Any]:
    """Return the delta that an event of a turn adds to the message; empty for events without a counterpart in
    the API.
    """
    match event:
        case TextDelta(text):
            return {"content": text}
        case CallStarted(index, name, call_id):
            call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
            return {"tool_calls": [{"index": index, **call}]}
        case ArgumentsDelta(index, text):
            return {"tool_calls": [{"index": index, "function": {"arguments": text}}]}
    return {}


def _event(head: dict[str, Any], delta: dict[str, Any], reason: str | None, *, chat: bool) -> str:
    choice: dict[str, Any] = {"index": 0, "finish_reason": reason, "logprobs": None}
    choice |= {"delta": delta} if chat else {"text": delta.get("content", "")}
    return f"data: {json.dumps({**head, 'choices': [choice]}, ensure_ascii=False)}\n\n"


# -- What a request asks for: a body of OpenAI's protocol, read into the arguments of a generation ---------
# What is not understood is refused by name; nothing is ignored that would change the text.


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
    """The content of a request: the prompt, the grammar (None for free text), and options for ``generate``.

    ``tools``: None without tools. ``count``: the number of texts. ``stops``: strings that end the text.
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
    """Return the JSON value of a body. Raises: RequestError if the body is not JSON, or not text."""
    try:
        text = read.decode()
    except UnicodeDecodeError as error:
        raise RequestError(f"the body is not UTF-8 at byte {error.start}") from None
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

    Raises: StackmaskError with the field and the reason, or the place in the grammar.
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
    seed = _whole_value(body, "seed", 0, 2**63 - 1)
    options: dict[str, Any] = {"do_sample": bool(temperature)}
    if temperature:
        top_p = _number(body, "top_p", 0, 1)
        top_p = 1.0 if top_p is None else top_p
        options |= {"temperature": temperature, "top_p": top_p, "seed": seed}
    stream = _flag(body, "stream")
    stops = _stops(body.get("stop"))
    count = _whole_value(body, "n", 1, MOST_CHOICES) or 1
    if stream and (stops or count > 1):
        raise RequestError("a stream has one choice and no `stop` strings here: leave out `n` and `stop`")
    most = _whole_value(body, "max_completion_tokens", 1, 2**20) or _whole_value(body, "max_tokens", 1, 2**20)
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
                raise RequestError(f"messages[{i}].content has a part that is not text")
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


def _whole_value(body: Mapping[str, Any], name: str, least: int, most: int) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise RequestError(f"{name} must be a whole number from {least} to {most}")
    return value
