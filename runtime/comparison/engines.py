"""One face for the engines of a comparison, and the two of this project behind it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from stackmask.pda.limits import Limits
from stackmask.runtime.comparison.subject import Subject
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

Mask = npt.NDArray[np.int32]

PUSHDOWN: Final = "pushdown"
FSM: Final = "FSM"


class Refused(Exception):
    """An engine does not take the language, or not within its budget; the message says why, in one line."""


@dataclass(slots=True)
class Facts:
    """What an engine tells of itself after a walk: states, bytes held, and the entries of its own statistics."""

    states: int | None = None
    memory_bytes: int | None = None
    details: dict[str, Any] = field(default_factory=dict)


class Engine(Protocol):
    """What is asked of every engine. One object serves one vocabulary and follows one text at a time."""

    def __init__(self, vocabulary: Vocabulary, options: dict[str, Any]) -> None:
        """Do what is done once for a vocabulary."""

    def compile(self, subject: Subject) -> None:
        """Make the language ready. Raises: Refused."""

    def begin(self) -> None:
        """Go to the beginning of a text."""

    def fill(self, mask: Mask) -> None:
        """Write the tokens that may come next."""

    def accept(self, token: int) -> bool:
        """Advance by a token; False if it may not come next."""

    def forced(self) -> bytes | None:
        """Return the text that must come next, or None where the engine does not tell."""

    def facts(self) -> Facts:
        """Return what the engine tells of itself."""


class Pushdown:
    """The lazily determinised pushdown automaton."""

    def __init__(self, vocabulary: Vocabulary, options: dict[str, Any]) -> None:
        from stackmask.runtime.matching.compiler import Compiler

        self.compiler = Compiler(vocabulary)
        self.compiled: Any = None
        self.matcher: Any = None

    def compile(self, subject: Subject) -> None:
        """Make the grammar and compile it; states and masks come when they are first visited."""
        self.compiled = self.compiler.compile(subject.grammar())

    def begin(self) -> None:
        """Take a new matcher."""
        self.matcher = self.compiled.matcher()

    def fill(self, mask: Mask) -> None:
        """Write the tokens that may come next."""
        self.matcher.fill_next_token_bitmask(mask)

    def accept(self, token: int) -> bool:
        """Advance by a token."""
        return bool(self.matcher.accept_token(token))

    def forced(self) -> bytes | None:
        """Return the text that must come next."""
        return str(self.matcher.find_jump_forward_string()).encode()

    def facts(self) -> Facts:
        """Return the local states that were visited and what the store holds."""
        details = self.compiled.stats()
        held = sum(value for key, value in details.items() if key.endswith("_bytes"))
        return Facts(details.get("terms"), held, details)


class Fsm(Pushdown):
    """The finite-state mode: DFA, token index and compressed DFA, all made beforehand."""

    def __init__(self, vocabulary: Vocabulary, options: dict[str, Any]) -> None:
        self.vocabulary = vocabulary
        self.memory: int | None = options.get("memory")
        self.depth: int | None = options.get("depth")
        self.limits = Limits(max_seconds=options["seconds"]) if "seconds" in options else Limits()

    def compile(self, subject: Subject) -> None:
        """Make the grammar, the DFA and the token index. Raises: StackmaskError where that is refused."""
        from stackmask.runtime.fsm.compiling import DEFAULT_MEMORY
        from stackmask.runtime.fsm.compiling import compile as compile_fsm

        memory = DEFAULT_MEMORY if self.memory is None else self.memory
        self.compiled = compile_fsm(
            subject.grammar(), self.vocabulary, memory=memory, depth=self.depth, limits=self.limits
        )

    def facts(self) -> Facts:
        """Return the states of the DFA and the bytes of the token index."""
        details = self.compiled.stats()
        return Facts(details["states"], self.compiled.nbytes, details)


WARM: Final[dict[str, Subject]] = {
    "regex": Subject("regex", "[a-z]{2}"),
    "grammar": Subject("grammar", 'root ::= "a" [b-z]'),
    "schema": Subject("schema", '{"type": "object", "properties": {"a": {"type": "string"}}}'),
}


def empty_mask(vocabulary: Vocabulary) -> Mask:
    """Return a mask of one row. Shapes: int32 (1, ceil(vocab / 32))."""
    return np.zeros((1, (vocabulary.size + 31) // 32), np.int32)
