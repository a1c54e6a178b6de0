"""Observe generations while they run: streams of text, events of a turn, and coroutines."""

from __future__ import annotations

import asyncio
import atexit
import queue
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import suppress
from enum import Enum
from functools import partial
from types import GenericAlias
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeAlias, final, overload
from weakref import WeakSet

from transformers import StoppingCriteria, StoppingCriteriaList

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.outputs import Output, R, T
from stackmask.grammar.turns.errors import TurnError
from stackmask.grammar.turns.parser import Event, EventReader, ParsedTurn, Value
from stackmask.runtime.fsm.compiling import CompiledFsm
from stackmask.runtime.generation.errors import GenerationError
from stackmask.runtime.generation.prompts import as_prompts, lay_out
from stackmask.runtime.generation.result import GenerationResult, Prompt, Prompts, Tools
from stackmask.runtime.generation.run import StopFlag, generate, plan_of
from stackmask.runtime.generation.wanted import MISSING
from stackmask.runtime.matching.compiler import CompiledGrammar

if TYPE_CHECKING:
    from typing_extensions import Self

SECONDS_AT_EXIT: Final = 10.0  # for the steps that streams are in when the program ends
Partial: TypeAlias = dict[str, Any] | list[Any] | str | float | Enum | None
"""The value of an incomplete text, as plain Python values; a member of an Enum once it is unambiguous."""

_running: Final[WeakSet[TextStream]] = WeakSet()


@atexit.register
def _end_all() -> None:
    """End abandoned streams, since a thread that the interpreter stops during a step aborts the process."""
    for stream in list(_running):
        stream._stop.set()
    for stream in list(_running):
        stream._thread.join(SECONDS_AT_EXIT)


class _Closing(ABC):
    """The base of objects that are closed when their ``with`` or ``async with`` block ends."""

    @abstractmethod
    def close(self) -> None:
        """End the generation after its current step, and wait for the end."""

    async def aclose(self) -> None:
        """End the generation like ``close``, without blocking the event loop."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


@final
class TextStream(_Closing, Iterator[str], AsyncIterator[str], Generic[T]):
    """The text of one generation, piece by piece, with ``for`` or ``async for``; ``result`` is available at the end.

    Its value is a T. Early closing (or the end of its ``with`` or ``async with`` block) ends the generation
    at the next token, as does cancelling the iterating task.
    """

    def __init__(
        self,
        run: Callable[[Callable[[int, str], None], StoppingCriteria], list[GenerationResult]],
        output: Output | None = None,
    ) -> None:
        self._output = output
        self._text: list[str] = []
        self._pieces: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._stop = StopFlag()
        self._error: BaseException | None = None
        self._results: list[GenerationResult[T]] = []
        self._wake: Callable[[], object] | None = None  # the coroutine that waits
        self._thread = threading.Thread(target=self._work, args=(run,), name="stackmask-stream", daemon=True)
        _running.add(self)
        self._thread.start()

    def _work(self, run: Callable[..., list[GenerationResult]]) -> None:
        try:
            self._results = run(lambda _, text: self._put(text), self._stop)
        except BaseException as error:  # noqa: BLE001  # handed to the thread that iterates
            self._error = error
        finally:
            self._put(None)

    def _put(self, piece: str | None) -> None:
        self._pieces.put(piece)
        wake = self._wake  # set before the coroutine looks at the queue: no piece is missed
        if wake is not None:
            with suppress(RuntimeError):  # its loop is closed
                wake()

    def __repr__(self) -> str:
        return f"<TextStream: {self.text!r}, {'running' if self._thread.is_alive() else 'ended'}>"

    def __next__(self) -> str:
        piece = self._pieces.get() if self._thread.is_alive() or not self._pieces.empty() else None
        if piece is not None:
            self._text.append(piece)
            return piece
        self._thread.join()
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        raise StopIteration

    async def __anext__(self) -> str:
        # no thread waits for a coroutine, or many streams would hold all threads of the loop
        while True:
            ready = asyncio.Event()
            self._wake = partial(asyncio.get_running_loop().call_soon_threadsafe, ready.set)
            if not self._pieces.empty() or not self._thread.is_alive():
                break
            try:
                await ready.wait()
            except asyncio.CancelledError:
                self._stop.set()
                raise
        piece = next(self, None)  # nothing that takes long: a piece is there, or the thread is at its end
        if piece is None:
            raise StopAsyncIteration
        return piece

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._text)

    @property
    def partial(self) -> Partial:
        """The value of the text so far, as plain Python values; None if there is no value yet, or no type.

        Cost: linear in the text. Without pydantic, only complete JSON has a value.
        """
        return None if self._output is None else self._output.partial(self.text)

    @property
    def result(self) -> GenerationResult[T]:
        """The complete result. Raises: GenerationError while the generation is running, or if it failed."""
        if self._thread.is_alive() or not self._results:
            raise GenerationError("the stream has no result yet: iterate over it to its end")
        return self._results[0]

    def close(self) -> None:
        """End the generation after its current step, and wait for the end."""
        self._stop.set()
        self._thread.join()


@final
class TurnStream(_Closing, Iterator[Event], AsyncIterator[Event], Generic[T, R]):
    """The events of one turn with tools or reasoning, with ``for`` or ``async for``; ``result`` is available
    at the end.

    Its value is a T, and running its calls returns an R.

    Reasoning, text and arguments arrive while they are generated, each call also when it is complete, and
    finally the value of the answer, if any. Closing ends the generation, as for a ``TextStream``.
    """

    def __init__(self, pieces: TextStream, reader: EventReader, output: Output | None = None) -> None:
        self._pieces = pieces
        self._reader = reader
        self._output = output
        self._events: deque[Event] = deque()
        self._closed = False

    __class_getitem__: ClassVar[Any] = classmethod(GenericAlias)  # one parameter will do

    def __repr__(self) -> str:
        return f"<TurnStream of {self._pieces!r}>"

    def __next__(self) -> Event:
        while not self._events:
            piece = next(self._pieces, None)
            if piece is None and self._closed:
                raise StopIteration
            self._take(piece)
        return self._events.popleft()

    async def __anext__(self) -> Event:
        while not self._events:
            piece = await anext(self._pieces, None)
            if piece is None and self._closed:
                raise StopAsyncIteration
            self._take(piece)
        return self._events.popleft()

    def _take(self, piece: str | None) -> None:
        """Process a piece; None marks the end of the text."""
        if piece is not None:
            self._events += self._reader.feed(piece)
            return
        self._closed = True
        with suppress(TurnError):  # one that was cut: the result says so
            self._events += self._reader.close()
        result = self.result
        if result.finished and not result.parse_error:
            self._events.append(Value(result.parsed))

    @property
    def text(self) -> str:
        """The text so far, with its markers."""
        return self._pieces.text

    @property
    def turn(self) -> ParsedTurn:
        """The reasoning, the content and the complete calls so far. Cost: linear in their text."""
        return self._reader.turn

    @property
    def partial(self) -> Partial:
        """The value of the answer so far, as plain Python values; None if there is no value yet, or no type."""
        content = self.turn.content
        return None if self._output is None or not content else self._output.partial(content)

    @property
    def result(self) -> GenerationResult[T, R]:
        """The complete result. Raises: GenerationError while the generation is running, or if it failed."""
        return self._pieces.result

    def close(self) -> None:
        """End the generation after its current step, and wait for the end."""
        self._pieces.close()


@overload
def stream(
    model: Any, tokenizer: Any, prompt: Prompt, grammar: type[T] = ..., *, tools: Tools[R], **options: Any
) -> TurnStream[T, R]: ...


@overload
def stream(
    model: Any, tokenizer: Any, prompt: Prompt, grammar: Any = ..., *, tools: Iterable[Any], **options: Any
) -> TurnStream: ...


@overload
def stream(
    model: Any, tokenizer: Any, prompt: Prompt, grammar: type[T] = ..., *, reasoning: str, **options: Any
) -> TurnStream[T]: ...


@overload
def stream(
    model: Any, tokenizer: Any, prompt: Prompt, grammar: Any, *, reasoning: str, **options: Any
) -> TurnStream: ...


@overload
def stream(model: Any, tokenizer: Any, prompt: Prompt, grammar: type[T], **options: Any) -> TextStream[T]: ...


@overload
def stream(model: Any, tokenizer: Any, prompt: Prompt, grammar: Any, **options: Any) -> TextStream: ...


def stream(
    model: Any,
    tokenizer: Any,
    prompt: Prompt,
    grammar: Any = MISSING,
    *,
    tools: Iterable[Any] | None = None,
    tool_choice: Any = "auto",
    reasoning: str | None = None,
    parallel: bool = True,
    style: Any = None,
    **options: Any,
) -> TextStream | TurnStream:
    """Generate for one prompt and yield the text as it is generated; arguments as for ``generate``.

    With ``tools``, ``reasoning`` or ``style`` it yields events of the turn, such as ``tools.TextDelta``.
    Example: ``for piece in stream(model, tokenizer, "Say hello in JSON:", grammar): print(piece, end="")``
    """
    if isinstance(prompt, list | tuple) and prompt and all(isinstance(item, str) for item in prompt):
        raise GenerationError(
            "a stream is of one prompt, not a list of them: use generate, or a stream for each"
        )
    for name in ("on_text", "stopping_criteria"):
        if name in options:
            raise GenerationError(f"{name} cannot be given to stream: use generate")
    as_prompts(prompt)  # an order that is mixed up is told before what the grammar is
    parallel = options.pop("parallel_tool_calls", parallel)
    plan = plan_of(tokenizer, tools, tool_choice, reasoning, parallel, style)
    if plan is not None:
        options |= {"tools": plan.tools, "tool_choice": tool_choice, "reasoning": plan.reasoning}
        options |= {"parallel": parallel, "style": plan.style}

    def run(on_text: Callable[[int, str], None], stop: StoppingCriteria) -> list[GenerationResult]:
        criteria = StoppingCriteriaList([stop])
        return generate(
            model, tokenizer, [prompt], given, on_text=on_text, stopping_criteria=criteria, **options
        )

    if (
        grammar is not None
        and grammar is not MISSING
        and not isinstance(grammar, CompiledGrammar | CompiledFsm)
    ):
        grammar = Grammar.of(grammar, profile=options.get("profile", "model"))
    given = grammar if grammar is MISSING else [grammar]
    source = getattr(grammar, "grammar", grammar)
    output = getattr(source, "output", None)
    if plan is None:
        return TextStream(run, output)
    chat_options = {} if isinstance(prompt, str) else plan.chat_options(options.get("chat_options") or {})
    began = plan.began(*lay_out(tokenizer, [prompt], chat_options))
    return TurnStream(TextStream(run), plan.events(began), output)


@overload
async def agenerate(
    model: Any, tokenizer: Any, prompts: Prompts, grammar: type[T] = ..., *, tools: Tools[R] = ..., **kw: Any
) -> list[GenerationResult[T, R]]: ...


@overload
async def agenerate(
    model: Any, tokenizer: Any, prompts: Prompts, grammar: Any = ..., **kw: Any
) -> list[GenerationResult]: ...


async def agenerate(
    model: Any, tokenizer: Any, prompts: Prompts, grammar: Any = MISSING, **options: Any
) -> list[GenerationResult]:
    """Run ``generate`` in a thread, without blocking the event loop; same arguments, results and errors.

    If the task is cancelled, generation ends after its current step, and compilation within milliseconds;
    then the task ends.
    """
    stop = StopFlag()
    criteria = StoppingCriteriaList([*options.pop("stopping_criteria", ()), stop])
    work = asyncio.ensure_future(
        asyncio.to_thread(
            lambda: generate(model, tokenizer, prompts, grammar, stopping_criteria=criteria, **options)
        )
    )
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([work])
        with suppress(BaseException):
            work.result()  # its error is nobody's: the task was cancelled
        raise
