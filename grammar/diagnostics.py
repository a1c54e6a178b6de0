"""Diagnostics: what is wrong with a grammar, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stackmask.grammar.ir import SourceText, Span


class StackmaskError(ValueError):
    """The base of every error that a user of the library can cause."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem: ``code`` is stable (``G003``), ``message`` one line, ``label`` stands beside the caret."""

    code: str
    message: str
    span: Span | None = None
    label: str = ""
    help: str = ""


class GrammarError(StackmaskError):
    """A grammar that cannot be used; carries all diagnostics of the stage that refused it."""

    def __init__(self, diagnostics: Sequence[Diagnostic], sources: Sequence[SourceText] = ()) -> None:
        self.diagnostics = tuple(diagnostics)
        self.sources = tuple(sources)
        super().__init__("\n".join(f"error[{d.code}]: {d.message}" for d in self.diagnostics))
