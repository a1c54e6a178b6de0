"""Parse one grammar file into a module, finding as many of its problems as there are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stackmask.grammar.ebnf.bodies import cut_bodies
from stackmask.grammar.ebnf.builder import Builder
from stackmask.grammar.ebnf.macros import cut_macros
from stackmask.grammar.ebnf.malformed import MessageTable, report_character, report_token
from stackmask.grammar.ebnf.syntax import Call, Module
from stackmask.grammar.ir import Span
from stackmask.grammar.source.diagnostics import Collector
from stackmask.grammar.source.work import spend, uncounted

if TYPE_CHECKING:
    from lark import Lark, Token

    from stackmask.grammar.ebnf.bodies import Body

GRAMMAR_FILE: Final = Path(__file__).with_name("ebnf.lark")
# parsers that no thread uses: one text may take a second, and nobody is to wait for that
_idle: list[_Parser] = []

_NAME = r"-*[A-Za-z0-9_](?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9_-]))*"
# comments may stand between a name and its `::=`; written so that there is one way to match them
_HEAD = re.compile(rf"{_NAME}(?=(?:\s|(?:#|//)[^\n]*\n|\(\*(?:[^*]|\*(?!\)))*\*\))*::=)")
# a rule of another dialect, at the beginning of a line: nothing else in this one looks like it
_FOREIGN_HEAD = re.compile(rf"(?m:^[ \t]*)({_NAME})[ \t]*(?=:=|:|=|->)")
_SURROGATE = re.compile("[\ud800-\udfff]")
# what a rule head or a directive cannot be inside of
_TEXT = (
    r"(?P<text>(?:#|//)[^\n]*"
    r"|\(\*[\s\S]*?\*\)"
    r"|\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"
    r"|\[[^\]\\\n]*(?:\\.[^\]\\\n]*)*\]"
    r"|/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/)"
)
# one that does not end; without it, each sign in it would be looked at as a beginning
_BROKEN = r"(?P<broken>[\"'\[][^\n]*|/(?![/*])[^\n]*|\(\*[\s\S]*)"
_BODY_SCAN = re.compile(rf"{_TEXT}|{_BROKEN}|(?P<body>%(?:json|choice)(?![\w-]))")
_MACRO_SCAN = re.compile(rf"{_TEXT}|{_BROKEN}|(?P<imports>%import[^()]*\([^()]*\))|(?P<name>{_NAME})")
_DEFINES = re.compile(r"(?:\s|(?:#|//)[^\n]*\n|\(\*(?:[^*]|\*(?!\)))*\*\))*::=")
# and what a piece of a broken file may begin with
_SCAN = re.compile(
    rf"{_TEXT}|{_BROKEN}"
    rf"|(?P<begin>{_HEAD.pattern}|%(?!(?:json|choice|sql|regex|marker)(?![\w-]))[A-Za-z]+|{_FOREIGN_HEAD.pattern})"
    r"|-*[A-Za-z0-9_][A-Za-z0-9_.-]*"
)


class _Parser:
    """A parser with its builder and its messages, for one thread at a time."""

    def __init__(self) -> None:
        from lark import Lark

        self.builder = Builder()
        self.lark: Lark = Lark(
            GRAMMAR_FILE.read_text(encoding="utf-8"),
            parser="lalr",
            lexer="basic",
            transformer=self.builder,  # any object with a method per rule
            maybe_placeholders=False,
        )

    @cached_property
    def messages(self) -> MessageTable:
        """What is said in which state of this very parser: another one may number them in another way."""
        return self._find_messages()

    @uncounted
    def _find_messages(self) -> MessageTable:
        def parse(example: str) -> None:
            self.builder.begin(example, 0, Module(0), Collector())
            self.lark.parse(example)

        return MessageTable(parse)


@contextmanager
def _lent_parser() -> Iterator[_Parser]:
    """Lend a parser to one thread."""
    try:
        parser = _idle.pop()
    except IndexError:
        parser = _Parser()
    try:
        yield parser
    finally:
        parser.builder.begin("", 0, Module(0), Collector())  # which lets go of the text
        _idle.append(parser)


def parse_module(text: str, source: int, problems: Collector) -> Module:
    """Parse a file into a module; syntax errors are reported and the rules around them kept.

    Cost: linear; a 12 KB grammar takes about 20 ms, the first call in a process about 100 ms more.
    """
    from lark.exceptions import UnexpectedInput

    for bad in _SURROGATE.finditer(text):
        problems.add("G006", "half of a surrogate pair is not a character", bad.start(), bad.end())
    text = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
    module = Module(source)
    with _lent_parser() as parser:
        found = Collector(source)
        if "%json" in text or "%choice" in text:
            text, module.bodies = cut_bodies(text, _BODY_SCAN, _HEAD, found)
        text, module.calls = cut_macros(text, _MACRO_SCAN, _DEFINES, found)
        cut = list(found.found)
        parser.builder.begin(text, 0, module, found)
        try:
            parser.lark.parse(text)
        except UnexpectedInput:
            module, found = Module(source, bodies=module.bodies, calls=module.calls), Collector(source)
            found.found += cut
            _parse_pieces(text, module, found, parser)
        problems.found.extend(found.found)
    return module


def lex_module(text: str, problems: Collector) -> tuple[list[Token], dict[int, Body], dict[int, Call]]:
    """Return the tokens of a file, without comments, the JSON values in it, and the macros by the offsets of their names.

    None if its syntax is wrong, which is reported.

    Cost: that of parsing it, and some microseconds for each token.
    """
    calls = parse_module(text, problems.source, problems).calls
    if problems.found:
        return [], {}, {}
    cut, bodies = cut_bodies(text, _BODY_SCAN, _HEAD, problems)
    cut, _ = cut_macros(cut, _MACRO_SCAN, _DEFINES, problems)
    with _lent_parser() as parser:
        return list(parser.lark.lex(cut)), bodies, calls


def _pieces(text: str) -> list[int]:
    """Return the offsets where rules and directives begin, the first always 0."""
    starts = [m.start() for m in _SCAN.finditer(text) if m["begin"]]
    return starts if starts and not text[: starts[0]].strip() else [0, *starts]


def comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield the comments that begin with `#`, each with its offset."""
    for match in _SCAN.finditer(text):
        if match["text"] and match["text"][0] == "#":
            yield match.start(), match["text"]


def _parse_pieces(text: str, module: Module, problems: Collector, parser: _Parser) -> None:
    """Parse each rule by itself, so that one broken rule hides no other."""
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    lark, builder, table = parser.lark, parser.builder, parser.messages
    starts = _pieces(text)
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        builder.begin(text, start, module, problems)
        spend(100)
        try:
            lark.parse(text[start:end])
            continue
        except UnexpectedToken as error:
            report_token(error, text, start, table, problems)
        except UnexpectedCharacters as error:
            report_character(text, start + (error.pos_in_stream or 0), problems)
        # the name is known all the same, or every use of the broken rule would be reported as undefined
        if head := _HEAD.match(text, start, end):
            builder.define(head[0], Span(*head.span(), module.source))
        elif head := _FOREIGN_HEAD.match(text, start, end):
            builder.define(head[1], Span(*head.span(1), module.source))
