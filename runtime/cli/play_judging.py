"""The playground's answers about a grammar and a text: diagnostics, tokens, diagrams. They read no files."""

from __future__ import annotations

import html
import json
import re
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.json_schema.document.errors import SchemaError
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError, StackmaskError, line_and_column
from stackmask.grammar.source.visible import visible
from stackmask.pda.limits import Limits
from stackmask.runtime.cli.trace_page import record, token_class
from stackmask.runtime.cli.tracing import follow
from stackmask.runtime.matching.compiler import Compiler

if TYPE_CHECKING:
    from stackmask.grammar.source.work import Event
    from stackmask.runtime.vocabulary.vocabulary import Vocabulary

LIMITS: Final = Limits(max_seconds=5.0, max_input_bytes=2 << 20)
MAX_TOKENS: Final = 2_000  # that are followed
MAX_RULES: Final = 40  # of diagrams
MAX_DIAGNOSTICS: Final = 50
KINDS: Final = ("ebnf", "schema", "regex")


class Playground:
    """Answers the questions of pages. Threads may share it; a newer question of a page cancels its older one."""

    def __init__(self, tokenizer: Any, vocabulary: Vocabulary) -> None:
        self._tokenizer = tokenizer
        self._vocabulary = vocabulary
        self._compiler = Compiler(vocabulary, limits=LIMITS)
        self._lock = threading.Lock()
        self._asked: dict[str, threading.Event] = {}

    def judge(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Return diagnostics, and the steps of the text if the grammar is valid.

        ``question``: ``kind``, ``grammar``, ``text``, and the ``page`` that sent it.
        """
        cancel = threading.Event()
        page = str(question.get("page", ""))[:40]
        with self._lock:
            if len(self._asked) > 100:
                self._asked.clear()
            before = self._asked.get(page)
            self._asked[page] = cancel
        if before is not None:
            before.set()
        text = str(question.get("grammar", ""))
        try:
            grammar = read(str(question.get("kind", "")), text)
            found: dict[str, Any] = {"problems": _warnings(grammar, text)}
            return {**found, **self._steps(grammar, str(question.get("text", "")), cancel)}
        except StackmaskError as error:
            return {"problems": problems_of(error, text)}

    def _steps(self, grammar: Grammar, text: str, cancel: Event) -> dict[str, Any]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        compiled = self._compiler.compile(grammar, cancel=cancel)
        steps = []
        end = 0
        texts = self._vocabulary.token_bytes
        for step in follow(compiled, ids[:MAX_TOKENS]):
            if step.token is None and len(ids) > MAX_TOKENS:
                break
            spelled = texts[step.token] if step.token is not None and step.token < len(texts) else None
            end += len(spelled or b"")
            kind = "end" if step.token is None else token_class(step)
            steps.append(record(step) | {"k": kind + (" no" if step.refusal else ""), "b": end})
        data = text.encode(errors="replace")
        accepted = bool(steps) and "t" not in steps[-1] and "e" not in steps[-1]
        return {"steps": steps, "accepted": accepted, "rest": visible(data[end:].decode(errors="replace"))}

    def draw(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Return the diagrams of a grammar as HTML, or the reason for missing diagrams."""
        from stackmask.grammar.diagram.pictures import sections

        try:
            grammar = read(str(question.get("kind", "")), str(question.get("grammar", "")))
            return {"html": sections(grammar.rules, most=MAX_RULES)}
        except StackmaskError as error:
            return {"html": f"<p>{html.escape(visible(str(error).partition(chr(10))[0]))}</p>"}


def read(kind: str, text: str) -> Grammar:
    """Return the grammar for the text in the editor. Raises: StackmaskError."""
    if kind not in KINDS:
        raise StackmaskError(f"kind is {kind!r:.40}, not one of {', '.join(KINDS)}")
    if kind == "ebnf":
        grammar = Grammar.from_ebnf(text, None, limits=LIMITS)
    elif kind == "regex":
        grammar = Grammar.from_regex(text, limits=LIMITS)
    else:
        try:
            schema = json.loads(text)
        except RecursionError:
            raise StackmaskError("the schema is nested too deeply") from None
        except ValueError as error:
            raise StackmaskError(f"not JSON: {error}") from None
        grammar = Grammar.from_json_schema(schema, profile="model", limits=LIMITS)
    grammar.normalize()
    return grammar


def _warnings(grammar: Grammar, text: str) -> list[dict[str, Any]]:
    return [_problem(each, text) for each in grammar.warnings[:MAX_DIAGNOSTICS]]


def problems_of(error: StackmaskError, text: str) -> list[dict[str, Any]]:
    """Return the problems of an error, each with its position in the text, if known."""
    if isinstance(error, GrammarError):
        return [_problem(each, text) for each in error.diagnostics[:MAX_DIAGNOSTICS]]
    found: dict[str, Any] = {"severity": "error", "message": visible(str(error))}
    if isinstance(error, SchemaError):
        place = _place_in_schema(error, text)
        return [found | (_place(*place, text) if place is not None else {})]
    offset = re.search(r"\(char (\d+)\)", str(error))
    if offset is not None:
        found |= _place(int(offset[1]), int(offset[1]) + 1, text)
    return [found]


def _place_in_schema(error: SchemaError, text: str) -> tuple[int, int] | None:
    """Return the position of an error's keyword, or of the schema with it; None for schemas in EBNF."""
    path: list[str | int] = []
    where = error.where
    while not isinstance(where, str):
        where, token = where
        path.append(token)
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    return place_in_json(text, path[::-1], error.keyword)


def _problem(diagnostic: Diagnostic, text: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "severity": diagnostic.severity,
        "code": diagnostic.code,
        "message": visible(diagnostic.message),
        "help": visible(diagnostic.help),
    }
    span = diagnostic.span
    if span is not None and span.source == 0 and span.end <= len(text) + 1:
        found |= _place(span.start, span.end, text)
    return found


def _place(start: int, end: int, text: str) -> dict[str, Any]:
    """Return a position in the page's units: lines from 1, and UTF-16 code units."""
    line, column = line_and_column(text, start)

    def units(offset: int) -> int:
        return len(text[:offset].encode("utf-16-le", errors="surrogatepass")) // 2

    return {"line": line, "column": column, "start": units(start), "end": max(units(end), units(start) + 1)}


# -- Where a part of a JSON document stands in its text ----------------------------------------------------


TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


def place_in_json(text: str, path: Sequence[str | int], key: str = "") -> tuple[int, int] | None:
    """Return the start and the end of the value at a path, or of the name ``key`` in it; None if there is no
    such value.

    If the name is missing, the position of the whole value is returned.

    ``text``: well-formed JSON. ``path``: names of members and indices of elements, from the outermost on.
    Cost: linear in the text up to the end of the value.
    Example: ``place_in_json('[1, {"a": 2}]', [1], "a")`` is ``(5, 8)``.
    """
    wanted = list(path)
    here: list[str | int] = []  # the path of the value that comes next
    start: int | None = None  # of the value at the path
    is_name = False  # the next string is the name of a member
    for token in TOKEN.finditer(text):
        sign = token[0]
        if sign == ":":
            continue
        if sign == ",":
            last = here[-1]
            if isinstance(last, int):
                here[-1] = last + 1
            else:
                is_name = True
        elif sign in "}]":
            here.pop()
            is_name = False
            if start is not None and here == wanted:
                return start, token.end()
        elif is_name:
            is_name = False
            here[-1] = str(json.loads(sign, strict=False))
            if start is not None and key and here[-1] == key and len(here) == len(wanted) + 1:
                return token.span()
        else:
            if here == wanted:
                start = token.start()
                if sign not in "{[":
                    return token.span()
            if sign == "{":
                here.append("")
                is_name = True
            elif sign == "[":
                here.append(0)
    return None
