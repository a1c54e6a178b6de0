"""A worker in a process of its own, so that an engine that crashes or hangs ends neither the audit nor the others."""

from __future__ import annotations

import multiprocessing as mp
import os
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Final, Protocol

from stackmask.runtime.audit.cases import Language
from stackmask.runtime.audit.engines import Unsupported, make_engine

if TYPE_CHECKING:
    from stackmask.runtime.audit.closing import Closed, Followed
    from stackmask.runtime.audit.judges import Judge, Verdict
    from stackmask.runtime.comparison.tokenizer import Tokenizer


START_S: Final = 120.0  # to load a vocabulary and the libraries
MAX_SAID: Final = 300


class WorkerFault(Exception):
    """A worker did not answer. ``kind``: ``raised``, ``crashed`` or ``hung``."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Asked(Protocol):
    """A worker, here or in another process."""

    def ask(self, call: str, *arguments: Any) -> Any:
        """Make a call and return its answer. Raises: WorkerFault."""

    def close(self) -> None:
        """End the worker."""


class Here:
    """A worker in this process: for engines that are trusted not to hang, and for tests."""

    def __init__(self, kind: str, *arguments: Any) -> None:
        self.worker = make_worker(kind, arguments)

    def ask(self, call: str, *arguments: Any) -> Any:
        """Make a call and return its answer. Raises: WorkerFault for whatever it raises."""
        try:
            return getattr(self.worker, call)(*arguments)
        except Exception as error:  # noqa: BLE001  # an engine's error is a result
            raise WorkerFault("raised", _said(error)) from None

    def close(self) -> None:
        """Nothing is to be ended."""


class Child:
    """A worker in a process that is started when first asked, and again after it was ended.

    ``seconds``: that one call may take; then the process is killed. Not safe for use from several threads.
    """

    def __init__(self, kind: str, *arguments: Any, seconds: float = 30.0) -> None:
        self.kind, self.arguments, self.seconds = kind, arguments, seconds
        self._process: Any = None
        self._pipe: Connection | None = None

    def ask(self, call: str, *arguments: Any) -> Any:
        """Make a call and return its answer. Raises: WorkerFault if it raises, crashes or takes too long."""
        if self._pipe is None:
            self._start()
        pipe = self._pipe
        assert pipe is not None
        try:
            pipe.send((call, arguments))
            return self._answer(self.seconds)
        except (EOFError, OSError):
            status = self._end()
            raise WorkerFault("crashed", f"its process ended with status {status}") from None

    def _start(self) -> None:
        context = mp.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self.kind, self.arguments), daemon=True)
        self._process.start()
        theirs.close()
        try:
            self._answer(START_S)
        except EOFError:
            status = self._end()
            raise WorkerFault("crashed", f"its process ended with status {status} when it started") from None
        except WorkerFault:
            self._end()
            raise

    def _answer(self, seconds: float) -> Any:
        pipe = self._pipe
        assert pipe is not None
        if not pipe.poll(seconds):
            self._end()
            raise WorkerFault("hung", f"no answer after {seconds:g} s")
        is_answer, value = pipe.recv()
        if is_answer:
            return value
        raise WorkerFault("raised", value)

    def _end(self) -> int | None:
        """Kill the process and return its status."""
        process, self._process = self._process, None
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        if process is None:
            return None
        process.join(0.2)
        if process.exitcode is None:
            process.kill()
            process.join()
        status: int | None = process.exitcode
        process.close()
        return status

    def close(self) -> None:
        """End the process."""
        self._end()


def _serve(pipe: Connection, kind: str, arguments: tuple[Any, ...]) -> None:
    """Answer calls until the other end is closed."""
    nowhere = os.open(os.devnull, os.O_WRONLY)  # what libraries print is not for users
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    try:
        worker = make_worker(kind, arguments)
    except BaseException as error:  # noqa: BLE001  # pyo3's panics are no Exception
        pipe.send((False, _said(error)))
        return
    pipe.send((True, None))
    while True:
        try:
            call, given = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            answer = (True, getattr(worker, call)(*given))
        except BaseException as error:  # noqa: BLE001  # an engine's error is a result
            answer = (False, _said(error))
        pipe.send(answer)


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:MAX_SAID]


# --------------------------------------------------------------------------------------------------------
# What runs in a process of its own: an engine with its walks, and the judge. Each is asked by the name of a call
# --------------------------------------------------------------------------------------------------------


class EngineWorker:
    """One engine. Raises from all calls but ``compile``: whatever the engine does."""

    def __init__(self, name: str, tokenizer: Tokenizer) -> None:
        from stackmask.runtime.audit.closing import Walker

        self.engine = make_engine(name, tokenizer)
        self.walker = Walker(self.engine, tokenizer)
        self.is_json = False

    def compile(self, language: Language) -> str | None:
        """Make a language ready; return None, or why the engine refuses it."""
        self.is_json = language.kind == "schema"
        try:
            self.engine.compile(language)
        except Unsupported as error:
            return str(error) or "refused"
        return None

    def follow(self, ids: list[int], keep: int) -> Followed:
        """Follow tokens: see ``Walker.follow``."""
        return self.walker.follow(ids, keep)

    def close(self, ids: list[int], seed: int, wander: int, vary: bool = False) -> Closed:
        """Go to an end: see ``Walker.close``."""
        return self.walker.close(ids, seed, wander, vary, self.is_json)


class JudgeWorker:
    """The judge of one language at a time."""

    def __init__(self) -> None:
        self.judge_of: Judge | None = None

    def load(self, language: Language) -> str | None:
        """Read a language; return None, or why it cannot be judged."""
        from stackmask.runtime.audit.judges import Unjudgeable, make_judge

        self.judge_of = None
        try:
            self.judge_of = make_judge(language)
        except Unjudgeable as error:
            return str(error) or "it cannot be judged"
        return None

    def judge(self, text: bytes) -> Verdict:
        """Say whether a text is of the language."""
        from stackmask.runtime.audit.judges import Unjudgeable, Verdict

        assert self.judge_of is not None
        try:
            return self.judge_of.judge(text)
        except Unjudgeable as error:
            return Verdict(None, str(error))

    def may_begin(self, text: bytes) -> bool | None:
        """Say whether a text of the language begins so, where that is known."""
        assert self.judge_of is not None
        return self.judge_of.may_begin(text)


def make_worker(kind: str, arguments: tuple[Any, ...]) -> Any:
    """Return a worker: ``engine`` of (name, tokenizer), or ``judge``."""
    return EngineWorker(*arguments) if kind == "engine" else JudgeWorker()
