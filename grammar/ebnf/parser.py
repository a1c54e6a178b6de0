"""Parse one EBNF file into a module, finding as many of its problems as there are.

Lark parses it by the grammar in ``ebnf.lark``, and ``Builder`` makes the tree while it does. A file with a mistake is parsed
once more, rule by rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Final

from stackmask.grammar.ebnf.builder import NOTHING_CUT, Builder, Cut, JSONBody
from stackmask.grammar.ebnf.macros import NAMES
from stackmask.grammar.ebnf.malformed import Messages, report_character, report_token
from stackmask.grammar.ir import Span
from stackmask.grammar.notation.layout import Syntax
from stackmask.grammar.notation.reading import read_json, without_surrogates
from stackmask.grammar.notation.tree import Module
from stackmask.grammar.source.diagnostics import Collector
from stackmask.grammar.source.work import spend, uncounted

_FILE: Final = Path(__file__).with_name("ebnf.lark")
_JSON_EXAMPLE: Final = '`%json {"type": "integer"}` or `%choice ["yes", "no"]`'

_NAME: Final = r"-*[A-Za-z0-9_](?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9_-]))*"
# comments may stand between a name and its `::=`; written so that there is one way to match them
_DEFINES: Final = r"(?:\s|(?:#|//)[^\n]*\n|\(\*(?:[^*]|\*(?!\)))*\*\))*::="
_HEAD: Final = re.compile(rf"{_NAME}(?={_DEFINES})")
# a rule of another dialect, at the beginning of a line: nothing else in this one looks like it
_FOREIGN_HEAD: Final = re.compile(rf"(?m:^[ \t]*)({_NAME})[ \t]*(?=:=|:|=|->)")
COMMENT: Final = re.compile(r"(?:#|//)[^\n]*|\(\*[\s\S]*?\*\)")
# what a rule head or a directive cannot be inside of, and one that does not end: without it, each sign in it would be
# looked at as a beginning
_TEXT: Final = (
    rf"(?P<text>(?P<comment>{COMMENT.pattern})"
    r"|\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"
    r"|\[[^\]\\\n]*(?:\\.[^\]\\\n]*)*\]"
    r"|/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/)"
    r"|(?P<broken>[\"'\[][^\n]*|/(?![/*])[^\n]*|\(\*[\s\S]*)"
)
_CUT: Final = re.compile(
    rf"{_TEXT}|(?P<body>%(?:json|choice)(?![\w-]))|(?P<import>%import(?![\w-]))|(?P<name>{_NAME})|(?P<close>\))|-+"
)
# what a piece of a broken file may begin with
_SCAN: Final = re.compile(
    rf"{_TEXT}"
    rf"|(?P<begin>{_HEAD.pattern}|%(?!(?:json|choice|sql|regex|marker)(?![\w-]))[A-Za-z]+|{_FOREIGN_HEAD.pattern})"
    r"|-*[A-Za-z0-9_][A-Za-z0-9_.-]*|-+"
)
# a run of hyphens is taken as a whole: it would be read again from each of them otherwise
_WORD: Final = re.compile(rf"(?P<name>{_NAME})|-+")
_NEEDS_CUT: Final = re.compile(rf"%(?:json|choice)|(?:{'|'.join(NAMES)})(?![\w-])")
_AFTER_NAME: Final = re.compile(_DEFINES)
_NOT_BLANK: Final = re.compile(r"[^\n]")
_KINDS: Final = {
    kind: how
    for how, kinds in {
        "head": "HEAD",
        "directive": "_IMPORT _SKIP _LEXICAL _SYNTACTIC _STACK",
        "joint": "EQUALS",
        "suffix": "STAR PLUS QUESTION BOUNDS _COMMA",
        "prefix": "NOT CALL MACRO",
        "open": "LPAR LOOK",
        "close": "RPAR",
        "bar": "_BAR",
        "operator": "AND MINUS FOLLOW PART_REGEX PART_MARKER",
    }.items()
    for kind in kinds.split()
}


class _Parser:
    """A parser with its builder and its messages, for one thread at a time."""

    def __init__(self) -> None:
        from lark import Lark  # which takes time, and bundled grammars do without

        self.builder = Builder()
        self.lark = Lark(
            _FILE.read_text(encoding="utf-8"),
            parser="lalr",
            lexer="basic",  # that of each state would need a scanner of its own
            transformer=self.builder,  # any object with a method per rule
            maybe_placeholders=False,
            lexer_callbacks={"MACRO": self.builder.macro_name},
        )

    @cached_property
    def messages(self) -> Messages:
        """What is said in which state of this very parser: another one may number them in another way."""
        return self._find_messages()

    @uncounted
    def _find_messages(self) -> Messages:
        def parse(example: str) -> None:
            self.builder.begin(example, 0, Module(0), Collector())
            self.lark.parse(example)

        return Messages(parse)


# parsers that no thread uses: one text may take a second, and other threads are not to wait for that
_idle: list[_Parser] = []


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
    """Parse a file into a module; what is wrong is reported, and the rules around it kept.

    Cost: linear; a 12 KB grammar takes about 20 ms, the first call in a process about 100 ms more.
    """
    from lark.exceptions import UnexpectedInput

    text, cut = _without_cut(without_surrogates(text, problems), problems)
    module, found = Module(source), Collector(source)
    with _lent_parser() as parser:
        parser.builder.begin(text, 0, module, found, cut)
        try:
            parser.lark.parse(text)
        except UnexpectedInput:
            module, found = Module(source), Collector(source)
            _parse_pieces(text, module, found, cut, parser)
    problems.found += found.found
    return module


def read_tokens(text: str, problems: Collector) -> list[tuple[str, str, int, int]]:
    """Return the tokens of a file but for ``::=``: how each is laid out, its text, and where it begins and ends.

    JSON belongs to its directive. There are none if something is wrong, which is reported.
    Cost: that of parsing it, and some microseconds a token.
    """
    parse_module(text, problems.source, problems)
    if problems.found:
        return []
    text, cut = _without_cut(text, problems)
    tokens = []
    with _lent_parser() as parser:
        parser.builder.begin(text, 0, Module(0), problems, cut)
        for token in parser.lark.lex(text):
            start, end, written = token.start_pos or 0, token.end_pos or 0, str(token)
            if (value := cut.bodies.get(start)) is not None:
                written, end = f"{written} {value.text}", value.start + len(value.text)
            if token.type != "_DEFINES":
                tokens.append((_KINDS.get(token.type, "word"), written, start, end))
    return tokens


SYNTAX: Final = Syntax(read_tokens, COMMENT, " ::=", True)


def comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield the comments that begin with `#`, each with its offset."""
    for match in _SCAN.finditer(text):
        if match["comment"] and match["comment"][0] == "#":
            yield match.start(), match["comment"]


def _without_cut(text: str, problems: Collector) -> tuple[str, Cut]:
    """Return a text with blanks for JSON, whose end no regular expression can say, and what was cut out of it.

    A file that defines or imports a rule of a macro's name means that rule. Cost: linear.
    """
    if not _NEEDS_CUT.search(text):
        return text, NOTHING_CUT
    bodies: dict[int, JSONBody] = {}
    rules: set[str] = set()
    pieces: list[str] = []
    is_import = False
    done = at = 0
    while match := _CUT.search(text, at):
        spend(2)
        start, at = match.span()
        kind, word = match.lastgroup, match[0]
        if kind in ("import", "close"):
            is_import = kind == "import"
        elif kind == "body":
            value, begin, end = read_json(text, at, word, _JSON_EXAMPLE, problems)
            if end is None:
                end = _next_head(text, begin)
            bodies[start] = JSONBody(value, text[begin:end], begin)
            pieces += [text[done:at], _NOT_BLANK.sub(" ", text[at:end])]
            done = at = end
        elif kind == "name" and word in NAMES and (is_import or _AFTER_NAME.match(text, at)):
            rules.add(word)
    return "".join((*pieces, text[done:])), Cut(bodies, rules)


def _next_head(text: str, begin: int) -> int:
    """Return where the next rule begins: its name; the end of the text if there is none. Cost: linear."""
    for match in _WORD.finditer(text, begin):
        spend(1)
        if match["name"] and _AFTER_NAME.match(text, match.end()):
            return match.start()
    return len(text)


def _parse_pieces(text: str, module: Module, problems: Collector, cut: Cut, parser: _Parser) -> None:
    """Parse each rule by itself, so that one that is broken hides no other."""
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    messages = parser.messages
    starts = [match.start() for match in _SCAN.finditer(text) if match["begin"]]
    if not starts or text[: starts[0]].strip():
        starts.insert(0, 0)
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        parser.builder.begin(text, start, module, problems, cut)
        spend(100)
        try:
            parser.lark.parse(text[start:end])
            continue
        except UnexpectedToken as error:
            report_token(error, text, start, messages, problems)
        except UnexpectedCharacters as error:
            report_character(text, start + (error.pos_in_stream or 0), problems)
        # the name is known all the same, or every use of the broken rule would be undefined
        if head := _HEAD.match(text, start, end):
            parser.builder.define(head[0], Span(*head.span(), module.source))
        elif head := _FOREIGN_HEAD.match(text, start, end):
            parser.builder.define(head[1], Span(*head.span(1), module.source))
