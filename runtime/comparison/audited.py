"""The engines of an audit: this project's, other libraries, logits processors, and custom ones.

A custom engine is a class, or a function that returns an object. It receives the vocabulary, and has

    compile(kind, source)   make the language ready; raise ``Unsupported`` where it cannot be enforced
    begin()                 go to the beginning of a text
    mask()                  what may come next: bits as int32 words (ceil(vocab / 32)), or booleans (vocab)
    accept(token)           go on by a token that the mask allows

The bits of the stop tokens indicate whether a text may end. Other exceptions are recorded, and the audit
continues.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.runtime.comparison.cases import AuditError
from stackmask.runtime.comparison.engines import PEERS, Pushdown, Unsupported, empty_mask, first_line
from stackmask.runtime.matching.matcher import MatcherError

if TYPE_CHECKING:
    from stackmask.runtime.comparison.engines import Engine
    from stackmask.runtime.comparison.subject import Subject
    from stackmask.runtime.comparison.tokenizer import Tokenizer
    from stackmask.runtime.vocabulary.vocabulary import Vocabulary

Words = npt.NDArray[np.uint32]
OURS: Final = "stackmask"
PEER_NAMES: Final = {"xgrammar": "XGrammar", "llguidance": "llguidance", "outlines-core": "outlines-core"}
PROCESSOR: Final = "hf="


class EngineFault(Exception):
    """An engine reported an internal error."""


class WrongMask(EngineFault):
    """A mask has the wrong width or type, or the engine refuses a token that its own mask allows."""


class OwnEngine(Protocol):
    """The four methods of an audited engine, which the module docstring explains."""

    def compile(self, kind: str, source: str) -> None:
        """Compile a language."""

    def begin(self) -> None:
        """Go to the start of a text."""

    def mask(self) -> Any:
        """Return the allowed tokens."""

    def accept(self, token: int) -> Any:
        """Advance by a token."""


class Audited:
    """An engine in the form for audits, with masks as words of a known width."""

    def __init__(self, own: OwnEngine | Engine, size: int) -> None:
        self.own: Any = own
        self.size = size

    def compile(self, language: Subject) -> None:
        """Compile a language. Raises: Unsupported."""
        self.own.compile(language.kind, language.source)

    def begin(self) -> None:
        """Go to the start of a text."""
        self.own.begin()

    def mask(self) -> Words:
        """Return the allowed tokens. Shapes: uint32 (ceil(vocab / 32)). Raises: WrongMask for a wrong width."""
        return words_of(self.own.mask(), self.size)

    def accept(self, token: int) -> bool:
        """Advance by a token. Only the result False itself is a refusal."""
        return self.own.accept(token) is not False

    def shortest_end(self) -> list[int] | None:
        """Return the tokens of a shortest completion, if the engine can compute it."""
        find = getattr(self.own, "shortest_end", None)
        return None if find is None else find()


class _Known(Audited):
    """An engine from ``stackmask compare``."""

    def __init__(self, engine: Engine, vocabulary: Vocabulary) -> None:
        super().__init__(engine, vocabulary.size)
        self.row = empty_mask(vocabulary)

    def compile(self, language: Subject) -> None:
        if language.kind == "sql" and not isinstance(self.own, Ours):
            raise Unsupported("it has no notation for this language")
        self.own.compile(language)

    def mask(self) -> Words:
        self.own.fill(self.row)
        is_error = getattr(self.own.matcher, "is_error", None)
        if is_error is not None and is_error():
            raise EngineFault(first_line(self.own.matcher.get_error()))
        return words_of(self.row, self.size)


def words_of(mask: Any, size: int) -> Words:
    """Return a mask as words, without bits past the vocabulary. Raises: WrongMask for a wrong width or type."""
    numpy_of = getattr(mask, "detach", None)
    row = np.asarray(mask.detach().cpu() if numpy_of is not None else mask)
    if row.ndim == 2 and len(row) == 1:
        row = row[0]
    words = (size + 31) // 32
    if row.dtype == np.bool_:
        if row.shape != (size,):
            raise WrongMask(f"a mask of shape {row.shape} for {size} tokens")
        padded = np.zeros(words * 32, np.bool_)
        padded[:size] = row
        return np.packbits(padded, bitorder="little").view(np.uint32)
    if row.dtype not in (np.int32, np.uint32):
        raise WrongMask(f"a mask of {row.dtype}")
    if row.shape != (words,):
        raise WrongMask(f"a mask of {row.shape} words for {size} tokens, which take {words}")
    found = row.astype(np.uint32, copy=True)
    if size % 32:
        found[-1] &= np.uint32((1 << size % 32) - 1)
    return found


class Ours(Pushdown):
    """This project's engine, with any order of properties and any spelling: exactly the language of the schema."""

    def compile(self, subject: Subject) -> None:
        """Compile a language. Raises: Unsupported if the engine refuses it explicitly."""
        try:
            self.compiled = self.compiler.compile(subject.grammar(property_order="any"))
        except StackmaskError as error:
            raise Unsupported(first_line(error)) from None

    def shortest_end(self) -> list[int] | None:
        """Return the tokens of a shortest completion; None if none was found within the bounds."""
        try:
            return list(self.matcher.shortest_completion().tokens)
        except MatcherError:
            return None


class Processor:
    """A logits processor of transformers, which allows the tokens that it does not set to minus infinity.

    ``make(kind, source, vocabulary)`` returns a fresh processor, a callable of input ids (1, n) and scores (1, vocab).
    """

    def __init__(self, make: Callable[[str, str, Vocabulary], Any], vocabulary: Vocabulary) -> None:
        self.make, self.vocabulary = make, vocabulary
        self.language = ("", "")
        self.processor: Any = None
        self.ids: list[int] = []

    def compile(self, kind: str, source: str) -> None:
        """Store the language, and create a processor once, so that refusals are reported immediately."""
        self.language = (kind, source)
        self.processor = self.make(kind, source, self.vocabulary)

    def begin(self) -> None:
        """Create a new processor, since most of them follow a single text."""
        self.processor = self.make(*self.language, self.vocabulary)
        self.ids = []

    def mask(self) -> Any:
        """Return the entries of a row of zeros that stay finite."""
        import torch

        scores = torch.zeros((1, self.vocabulary.size))
        found = self.processor(torch.tensor([self.ids], dtype=torch.long), scores)
        return (found > float("-inf")).numpy()

    def accept(self, token: int) -> None:
        """Append the token, since processors receive the whole text each time."""
        self.ids.append(token)


def make_engine(name: str, tokenizer: Tokenizer) -> Audited:
    """Return an engine by name: ``stackmask``, a library, ``module:factory``, or ``hf=module:factory``.

    Raises: AuditError for an unknown name.
    """
    vocabulary = tokenizer.vocabulary
    if name == OURS or name in PEER_NAMES:
        kind: type[Any] = Ours if name == OURS else PEERS[PEER_NAMES[name]][0]
        return _Known(kind(vocabulary, {"encode": tokenizer.encode}), vocabulary)
    factory = factory_of(name.removeprefix(PROCESSOR))
    own = Processor(factory, vocabulary) if name.startswith(PROCESSOR) else factory(vocabulary)
    return Audited(own, vocabulary.size)


def factory_of(path: str) -> Callable[..., Any]:
    """Return the object named by ``module:name``. Raises: AuditError if it does not exist."""
    module, colon, attribute = path.partition(":")
    known = ", ".join((OURS, *PEER_NAMES))
    if not colon or not module or not attribute:
        raise AuditError(f"no engine {path!r}: there are {known}, and module:factory for others")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise AuditError(f"no engine {path!r}: {error}") from None
    if not callable(found):
        raise AuditError(f"no engine {path!r}: it is not callable")
    return found


def version_of(name: str) -> str:
    """Return the version of an engine; empty if unknown. Raises: AuditError if a library is not installed."""
    if name == OURS:
        from stackmask import __version__

        return __version__
    if name not in PEER_NAMES:
        return ""
    _, module, distribution = PEERS[PEER_NAMES[name]]
    if find_spec(module) is None:
        raise AuditError(f"{name} is not installed")
    return metadata.version(distribution)
