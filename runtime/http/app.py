"""The application: routes, answers and streams of OpenAI's protocol."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.tools.events import ArgumentsDelta, CallStarted, TextDelta
from stackmask.pda.limits import Limits
from stackmask.runtime.embedded import prompt_for
from stackmask.runtime.generation.models import compiler_for
from stackmask.runtime.generation.prompts import lay_out
from stackmask.runtime.generation.result import GenerationResult
from stackmask.runtime.generation.streams import TextStream, agenerate, stream
from stackmask.runtime.http.bodies import Wanted, read_body
from stackmask.runtime.http.metrics import Metrics
from stackmask.runtime.serving.requests import RequestError, parsed_json

DEFAULT_TOKENS: Final = 256
EMBEDDED_STYLE: Final = "hermes"  # of calls, for a model whose template tells none


@dataclass
class Service:
    """A model that answers requests. ``embedded``: it has no chat template, and answers the last question alone.

    ``style``: of calls of tools, where the chat template does not tell it. ``concurrency``: generations at a time.
    """

    model: Any
    tokenizer: Any
    name: str = "stackmask"
    embedded: bool = False
    style: str | None = None
    concurrency: int = 4
    metrics: Metrics = field(default_factory=Metrics)

    def __post_init__(self) -> None:
        if self.embedded and self.style is None:
            self.style = EMBEDDED_STYLE
        self.compiler = compiler_for(self.model, self.tokenizer)
        self.slots = asyncio.Semaphore(self.concurrency)

    def prompt_of(self, wanted: Wanted) -> Any:
        """Return the prompt as ``generate`` takes it."""
        if not self.embedded:
            return wanted.prompt
        if isinstance(wanted.prompt, str):
            return prompt_for(wanted.prompt)
        asked = [m["content"] for m in wanted.prompt if m["role"] == "user"]
        if not asked:
            raise RequestError("messages has no message of the user")
        return prompt_for(asked[-1])

    def room_for(self, prompt: Any, wanted: Wanted) -> tuple[int, int]:
        """Return (tokens of the prompt, how many may be written). Raises: RequestError if they do not fit."""
        (text,) = lay_out(self.tokenizer, [prompt], {})
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
        """Return (prompt, grammar, tokens of the prompt, options) for ``generate``; what is wrong is found here."""
        if wanted.model is not None and wanted.model != self.name:
            raise RequestError(f"model is {wanted.model!r:.80}; this server has {self.name!r}")
        prompt = self.prompt_of(wanted)
        used, most = self.room_for(prompt, wanted)
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
        ]
    )


def _error(message: str, status: int = 400) -> dict[str, Any]:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


async def _body_of(request: Request) -> Any:
    """Read the body, at most as long as a grammar may be. Raises: RequestError."""
    limit, read = Limits().max_input_bytes, bytearray()
    async for piece in request.stream():
        read += piece
        if len(read) > limit:
            raise RequestError(f"the body has more than {limit} bytes")
    try:
        return parsed_json(read.decode(), "the body")
    except UnicodeDecodeError as error:
        raise RequestError(f"the body is no UTF-8 at byte {error.start}") from None


async def _answer(service: Service, request: Request, *, chat: bool) -> Response | _Stream:
    """Answer a request; what it did wrong is 400 with the place and the reason."""
    status = 200
    try:
        body = await _body_of(request)
        wanted = await asyncio.to_thread(read_body, body, chat=chat)
        if wanted.stream:
            return await _streamed(service, wanted, chat=chat)
        return JSONResponse(await _whole(service, wanted, chat=chat))
    except StackmaskError as error:
        status = 400
        return JSONResponse(_error(str(error)), status)
    except Exception as error:  # noqa: BLE001 - one request fails, the server goes on
        status = 500
        return JSONResponse(_error(f"{type(error).__name__}: {error}", 500), status)
    finally:
        service.metrics.add(f'requests_total{{status="{status}"}}')


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
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if result.reasoning:
        message["reasoning_content"] = result.reasoning
    if result.calls:
        message["content"] = text or None
        message["tool_calls"] = [
            _call(call.name, call.written or json.dumps(call.arguments, ensure_ascii=False))
            for call in result.calls
        ]
    return {"index": index, "message": message, "finish_reason": reason, "logprobs": None}


def _reason(result: GenerationResult, *, stopped: bool = False) -> str:
    if result.reason == "length" and not stopped:
        return "length"
    return "tool_calls" if result.calls else "stop"


def _call(name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": f"call_{uuid.uuid4().hex[:24]}", "type": "function", "function": function}


async def _streamed(service: Service, wanted: Wanted, *, chat: bool) -> _Stream:
    """Begin a stream. Its first piece is awaited, so that what is wrong is an answer with its own status."""
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

    async def events() -> AsyncIterator[str]:
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
            yield "data: [DONE]\n\n"
        except Exception as error:  # noqa: BLE001 - the status is sent: the stream says what failed
            yield f"data: {json.dumps(_error(f'{type(error).__name__}: {error}', 500))}\n\n"

    async def close() -> None:
        service.slots.release()
        await pieces.aclose()

    return _Stream(events(), close)


class _Stream:
    """A response of events; ``close`` is called at its end, also where the client has gone before its begin."""

    def __init__(self, events: AsyncIterator[str], close: Callable[[], Awaitable[None]]) -> None:
        self._response = StreamingResponse(events, media_type="text/event-stream")
        self._close = close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._response(scope, receive, send)
        finally:
            await self._close()


def _delta(event: Any) -> dict[str, Any]:
    """Return what an event of a turn adds to the message; nothing for what the protocol has no place for."""
    match event:
        case TextDelta(text):
            return {"content": text}
        case CallStarted(index, name):
            return {"tool_calls": [{"index": index, **_call(name, "")}]}
        case ArgumentsDelta(index, text):
            return {"tool_calls": [{"index": index, "function": {"arguments": text}}]}
    return {}


def _event(head: dict[str, Any], delta: dict[str, Any], reason: str | None, *, chat: bool) -> str:
    choice: dict[str, Any] = {"index": 0, "finish_reason": reason, "logprobs": None}
    choice |= {"delta": delta} if chat else {"text": delta.get("content", "")}
    return f"data: {json.dumps({**head, 'choices': [choice]}, ensure_ascii=False)}\n\n"
