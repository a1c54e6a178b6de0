"""Workers of an audit, each in a separate process, for one engine with its walks or for the judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from stackmask.runtime.comparison.audited import make_engine
from stackmask.runtime.comparison.closing import Walker
from stackmask.runtime.comparison.engines import Unsupported
from stackmask.runtime.comparison.judges import Judge, Unjudgeable, Verdict, make_judge

if TYPE_CHECKING:
    from stackmask.runtime.comparison.closing import Closed, Followed
    from stackmask.runtime.comparison.subject import Subject
    from stackmask.runtime.comparison.tokenizer import Tokenizer

ENGINE: Final = "stackmask.runtime.comparison.workers:EngineWorker"
JUDGE: Final = "stackmask.runtime.comparison.workers:JudgeWorker"


class Asked(Protocol):
    """A worker, in this or another process."""

    def ask(self, call: str, *arguments: Any) -> Any:
        """Make a call and return its answer. Raises: WorkerFault."""

    def end(self) -> object:
        """End the worker."""


class EngineWorker:
    """A worker for one engine. All methods but ``compile`` raise the engine's own exceptions."""

    def __init__(self, name: str, tokenizer: Tokenizer) -> None:
        self.engine = make_engine(name, tokenizer)
        self.walker = Walker(self.engine, tokenizer)
        self.is_json = False

    def compile(self, language: Subject) -> str | None:
        """Compile a language; return None, or the reason why the engine refuses it."""
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
        """Walk to an end: see ``Walker.close``."""
        return self.walker.close(ids, seed, wander, vary, self.is_json)


class JudgeWorker:
    """A worker for the judge of one language at a time."""

    def __init__(self) -> None:
        self.judge_of: Judge | None = None

    def load(self, language: Subject) -> str | None:
        """Read a language; return None, or the reason why it cannot be judged."""
        self.judge_of = None
        try:
            self.judge_of = make_judge(language)
        except Unjudgeable as error:
            return str(error) or "it cannot be judged"
        return None

    def judge(self, text: bytes) -> Verdict:
        """Return the verdict on a text."""
        assert self.judge_of is not None
        try:
            return self.judge_of.judge(text)
        except Unjudgeable as error:
            return Verdict(None, str(error))

    def may_begin(self, text: bytes) -> bool | None:
        """Return whether the text is a prefix of the language, if known."""
        assert self.judge_of is not None
        return self.judge_of.may_begin(text)
