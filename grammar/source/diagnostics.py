"""Diagnostics: the problems of a grammar, their positions, and the remedies."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from stackmask.grammar.ir import SourceText, Span
from stackmask.grammar.source.visible import escaped

MAX_RENDERED = 50  # a file with more problems than this is usually not a grammar at all
MAX_LINE_COLUMNS = 120  # longer source lines are shown around the problem only
TAB_COLUMNS = 4
MAX_RUN = 200  # characters without a blank, of a line of a message
MAX_LINE = 1_000
MAX_MESSAGE = 9_000

_LONG_RUN = re.compile(rf"(\S{{{MAX_RUN}}})\S+")


def presentable(message: str) -> str:
    """Return a message that is safe to log and show, with truncated quotations and escaped control
    characters.

    Line breaks are kept. All other unprintable characters, as those that change the text direction, are
    escaped. Cost: linear in the result.
    """
    if message.isascii() and message.isprintable() and len(message) <= MAX_RUN:
        return message
    cut = message[: 20 * MAX_MESSAGE]
    shown = "".join([c if c.isprintable() or c == "\n" else _escaped(c) for c in cut])
    lines = [_cut(_LONG_RUN.sub(r"\1…", line), MAX_LINE) for line in shown.split("\n")]
    text = "\n".join(lines)
    if len(text) <= MAX_MESSAGE or len(lines) == 1:
        return _cut(text, MAX_MESSAGE)
    # the last line says how many problems there are besides
    return f"{text[: MAX_MESSAGE - len(lines[-1])]}…\n{lines[-1]}"


def _escaped(character: str) -> str:
    return escaped(character) if character != "\t" else " "


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[:length] + "…"


class StackmaskError(ValueError):
    """The base class of all errors that users can cause; messages are ``presentable``."""

    def __init__(self, *args: object) -> None:
        super().__init__(*[presentable(arg) if isinstance(arg, str) else arg for arg in args])


class BudgetError(StackmaskError):
    """A limit was reached. The message has the limit, its value and, unless it is ``fixed``, the option that
    raises it, or ``advice``.
    """

    limit: str
    """The name of the limit: a field of ``Limits``, or an argument of the call."""

    value: float
    """The value of the limit, in bytes, seconds or a count."""

    def __init__(
        self, limit: str, value: float, what: str, *, fixed: bool = False, advice: str | None = None
    ) -> None:
        self.limit = limit
        self.value = value
        if advice is None:
            advice = "this limit is fixed" if fixed else f"raise it with Limits({limit}=…)"  # mutant: advice
        super().__init__(f"{what}: more than {value:,} ({limit}); {advice}")


class CancelledError(StackmaskError):
    """A call was cancelled from another thread. The matcher is unchanged."""

    def __init__(self) -> None:
        super().__init__("the request was cancelled, by Matcher.cancel() or the event given to compile()")


class GrammarFileError(StackmaskError):
    """A grammar file cannot be read: missing, a directory, binary, or not UTF-8."""


class MissingFileError(StackmaskError, FileNotFoundError):
    """The file to be loaded does not exist."""


class NotAFileError(StackmaskError, IsADirectoryError):
    """The path of a file to be loaded is a folder."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A problem of a grammar, with its position."""

    code: str
    """The stable code, such as ``G003`` (``grammar/source/diagnostic_codes.py`` lists all)."""

    message: str
    """The problem, in one line."""

    span: Span | None = None
    """The characters of the problem, with the number of the source; None without a specific place."""

    label: str = ""
    """The text next to the caret."""

    help: str = ""
    """The remedy, if known."""

    severity: Literal["error", "warning"] = "error"
    """"error" makes a grammar invalid; ``Grammar.warnings`` and ``stackmask lint`` report "warning"."""


class Warnings(tuple[Diagnostic, ...]):
    """Diagnostics of valid but probably unintended constructs. As text, they have positions."""

    sources: Sequence[SourceText] = ()

    def __str__(self) -> str:
        return presentable(render(self, self.sources))


class Collector:
    """Collects the diagnostics of one source, so that all of them are reported at once."""

    __slots__ = ("found", "source")

    def __init__(self, source: int = 0) -> None:
        self.source = source
        self.found: list[Diagnostic] = []

    def add(self, code: str, message: str, start: int, end: int, *, label: str = "", help: str = "") -> None:
        """Record a problem in the characters from ``start`` up to ``end``."""
        self.found.append(Diagnostic(code, message, Span(start, end, self.source), label, help))

    def at(self, span: Span | None, code: str, message: str, help: str = "", label: str = "") -> None:
        """Record a problem at a span."""
        self.found.append(Diagnostic(code, message, span, label, help))

    def take(self, error: GrammarError, start: int, end: int, prefix: str = "") -> None:
        """Record the problems of a separately parsed part with this start and end."""
        for found in error.diagnostics:
            where = found.span or Span(0, end - start)
            message = f"{prefix}{found.message}"
            place = Span(start + where.start, start + where.end, self.source)
            self.at(place, found.code, message, found.help, found.label)


class GrammarError(StackmaskError):
    """A grammar cannot be used; the error has all diagnostics of the stage that refused the grammar."""

    diagnostics: tuple[Diagnostic, ...]
    """The problems, by place; at least one."""

    sources: tuple[SourceText, ...]
    """The source texts; a diagnostic refers to one by number."""

    def __init__(self, diagnostics: Sequence[Diagnostic], sources: Sequence[SourceText] = ()) -> None:
        self.diagnostics = tuple(sorted(diagnostics, key=_position))
        self.sources = tuple(sources)
        super().__init__(render(self.diagnostics, self.sources))


def _position(diagnostic: Diagnostic) -> tuple[int, int]:
    span = diagnostic.span
    return (span.source, span.start) if span else (-1, -1)


def render(diagnostics: Iterable[Diagnostic], sources: Sequence[SourceText]) -> str:
    """Render diagnostics with source line, caret and help, separated by blank lines."""
    found = list(diagnostics)
    blocks = [render_one(d, sources) for d in found[:MAX_RENDERED]]
    if len(found) > MAX_RENDERED:
        blocks.append(f"and {len(found) - MAX_RENDERED} more")
    return "\n\n".join(blocks)


def render_one(diagnostic: Diagnostic, sources: Sequence[SourceText]) -> str:
    """Render one diagnostic; without a span or source, render only the headline and the help."""
    headline = f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}"
    span = diagnostic.span
    if span is None or not 0 <= span.source < len(sources):
        return f"{headline}\n  = help: {diagnostic.help}" if diagnostic.help else headline
    source = sources[span.source]
    line, column = line_and_column(source.text, span.start)
    shown, start, end = _excerpt(source.text, span)
    gutter = " " * len(str(line))
    carets = " " * start + "^" * max(1, end - start)
    lines = [
        headline,
        f"{gutter}--> {source.name}:{line}:{column}",
        f"{gutter} |",
        f"{line} | {shown}",
        f"{gutter} | {carets} {diagnostic.label}".rstrip(),
    ]
    if diagnostic.help:
        lines += [f"{gutter} |", f"{gutter} = help: {diagnostic.help}"]
    return "\n".join(lines)


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return the 1-based line and column (in characters) of an offset."""
    return text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1


def _excerpt(text: str, span: Span) -> tuple[str, int, int]:
    """Return the displayed first line of the span, and the columns of the caret."""
    begin = text.rfind("\n", 0, span.start) + 1
    newline = text.find("\n", span.start)
    end = len(text) if newline < 0 else newline
    if text[begin:end].endswith("\r"):
        end -= 1
    stop = min(max(span.end, span.start + 1), max(end, span.start + 1))
    left, right = begin, end
    if end - begin > MAX_LINE_COLUMNS:
        left = max(begin, min(span.start - MAX_LINE_COLUMNS // 3, end - MAX_LINE_COLUMNS))
        right = min(end, left + MAX_LINE_COLUMNS)
        stop = min(stop, max(right, span.start + 1))
    prefix = "…" if left > begin else ""
    suffix = "…" if right < end else ""
    before = prefix + _printable(text[left : span.start])
    under = _printable(text[span.start : min(stop, right)])
    after = _printable(text[min(stop, right) : right]) + suffix
    start = _width(before)
    return before + under + after, start, start + max(1, _width(under))


def _printable(text: str) -> str:
    return "".join(
        c if c.isprintable() else " " * TAB_COLUMNS if c == "\t" else "\N{REPLACEMENT CHARACTER}"
        for c in text
    )


def _width(text: str) -> int:
    """Return the terminal columns of a text: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )
