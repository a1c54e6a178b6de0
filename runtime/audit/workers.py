"""What runs in a process of its own: an engine with its walks, and the judge. Each is asked by the name of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stackmask.runtime.audit.cases import Language
from stackmask.runtime.audit.engines import Unsupported, make_engine

if TYPE_CHECKING:
    from stackmask.runtime.audit.closing import Closed, Followed
    from stackmask.runtime.audit.judges import Judge, Verdict
    from stackmask.runtime.comparison.tokenizer import Tokenizer


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
