"""Parse one EBNF file into a module, and find as many of its problems as possible.

Lark parses it with the grammar in ``ebnf.lark``, while ``Builder`` builds the tree. A file with an error is
parsed again, rule by rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stackmask.grammar.ebnf.builder import NAMES, NOTHING_CUT, Builder, Cut, JSONBody
from stackmask.grammar.ir import Span
from stackmask.grammar.notation.layout import Syntax
from stackmask.grammar.notation.tree import Module, read_json, without_surrogates
from stackmask.grammar.source.diagnostics import Collector
from stackmask.grammar.source.similar import advice
from stackmask.grammar.source.work import spend, uncounted

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedToken

# -- Say what is wrong where Lark stopped. ----------------------------------------------------------------
#
# Examples pick the message: each is parsed once, and the state and token where it fails stand for all texts that fail there
# (as in Lark's ``match_examples``). A failure that no example describes names what was expected.

_REPEAT: Final = "nothing before `{0}` to repeat"
_SIDES: Final = "`{0}` needs an operand on either side"
_NO_DEFINES: Final = "expected `::=` after the name of a rule"
_A_RULE: Final = "a rule is a name, `::=` and an expression"
# message, help, and texts that fail in this way; {0} is what is found there
EXAMPLES: Final[tuple[tuple[str, str, tuple[str, ...]], ...]] = (
    (
        _REPEAT,
        'put it into quotes for the character: `"{0}"`',
        ("a ::= *", "a ::= +", "a ::= ?", "a ::= b | *"),
    ),
    (
        _REPEAT,
        "braces contain a repetition count, as in `x{{2}}`; for repeated parts write `(…)*`",
        ("a ::= {2}",),
    ),
    (
        _REPEAT,
        "a follow restriction matches nothing and cannot be repeated",
        ('a ::= !>> "b" *', 'a ::= !>> "b" {2}'),
    ),
    ("`)` closes nothing", 'write `")"` for the character', ("a ::= )", "a ::= b )")),
    (_SIDES, 'write `"{0}"` for the character', ("a ::= - b", "a ::= & b")),
    (
        "nothing comes after `-` or `&`",
        'write `"-"` or `"&"` for the character',
        ("a ::= b -", "a ::= b &", "a ::= b - | c", "a ::= (b - )", "a ::= b - !>> c"),
    ),
    ("`!` needs an operand", "`!x` is any text but x", ("a ::= !", "a ::= ! | b")),
    (
        "`!>>` needs a class or a character",
        "for example `!>> [A-Za-z0-9_]`",
        ("a ::= b !>>", "a ::= b !>> | c"),
    ),
    (
        "unexpected `,`",
        'elements follow each other without commas; write `","` for the text',
        ("a ::= b , c", "a ::= , c", "a ::= (b , c)"),
    ),
    (
        "a look-ahead `(= …)` comes at the end of a rule",
        "move it after the last element of the rule, or leave it out: it changes no text",
        (
            "a ::= (b (= c))",
            "a ::= b (= (c (= d)))",
            *[f"a ::= b (= c) {more}" for more in ("d", '"d"', "[d]", "(d)", "(= d)", "| d")],
        ),
    ),
    ("unexpected `=`", "rules are defined with `::=`", ("a ::= b = c", "a ::= = c")),
    ("unexpected `::=`", _A_RULE, ("a ::= ::= b",)),
    ("a rule without a name", _A_RULE, ("::= b",)),
    (_NO_DEFINES, _A_RULE, ("a", "a (")),
    ("a rule or directive begins with a name or `%`", _A_RULE, ('"a"', "(")),
    (
        "`@push`, `@new` and `@scope` need an argument in parentheses",
        "for example `@push(name)`",
        ("a ::= @push", "a ::= @push b"),
    ),
    ("expected the name of a bundled grammar, or a path in quotes", "`%import json (value)`", ("%import",)),
    (
        "expected `(` and the names of rules to import",
        "`%import json (value)`",
        ("%import json", "%import json value"),
    ),
    (
        "expected the name of a rule to import",
        "`%import json (value)`",
        ("%import json (", "%import json ()"),
    ),
    ("expected a name after `as`", "`%import json (value as json_value)`", ("%import json (a as)",)),
    ("expected the names of rules", "`%lexical word number`", ("%lexical",)),
    ("expected the names of rules", "`%syntactic ROW`", ("%syntactic",)),
    (
        "expected a regex after `%regex`",
        "for example `%regex /[a-z]+(?!x)/i`",
        ("a ::= %regex", 'a ::= %regex "b"', "a ::= %regex b"),
    ),
    (
        "expected a text in quotes after `%marker`",
        '`%marker "<tool_call>"`',
        ("a ::= %marker", "a ::= %marker b"),
    ),
    ("expected a text in quotes", '`%stack "\\n"`', ("%stack", "%stack a")),
)
# tokens that mean the same mistake wherever they are not expected
_ALIKE: Final = frozenset(
    {"STAR", "PLUS", "QUESTION", "BOUNDS", "AND", "MINUS", "RPAR", "_COMMA", "LOOK", "EQUALS"}
)
_WORDS: Final = {
    "HEAD": "a rule",
    "NAME": "a name",
    "STRING": "a literal",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "_BAR": "`|`",
    "_COMMA": "`,`",
    "_DEFINES": "`::=`",
    "$END": "the end",
}
_DIRECTIVES: Final = ("%import", "%skip", "%lexical", "%syntactic", "%stack")
_PARTS: Final = ("%json", "%choice", "%regex", "%sql", "%marker")
_KNOWN: Final = {
    "%": ("directive", _DIRECTIVES + _PARTS),
    "@": ("construct", ("@push", "@new", "@scope", "@top", "@level", "@deeper")),
}
_ELSEWHERE: Final = {"%ignore": "%skip", "%whitespace": "%skip", "%declare": "%lexical"}
_ARGUMENTS: Final = {"RPAR": "a value is missing", "LPAR": "a tuple within a tuple"}  # of macros
_OTHER_DEFINES: Final = re.compile(r"[ \t]*(:=|:|=|->|<-)")
_SIGNED_WORD: Final = re.compile(r"[%@]?[\w-]+")
_ESCAPE: Final = re.compile(r"\\(?:[pP]\{\w*\}|\w)")
# how a character at which no token begins is reported: code, message, label, and help
_CHARACTERS: Final[dict[str, tuple[str, str, str, str]]] = {
    '"': ("G002", "the literal is not closed on its line", "opened here", "add a `{0}`, or write `\\n` for a line break in it"),
    "[": ("G002", "the class is not closed on its line", "opened here", "add a `]`"),
    "/": ("G002", "the regex is not closed on its line", "opened here", "add a `/`; between alternatives write `|`"),
    "{": ("G002", "the repetition is not closed", "opened here", "write {{m}}, {{m,}}, {{,n}} or {{m,n}}"),
    "<": (
        "G017",
        "`<` begins a special token that does not end",
        "opened here",
        'write `<|name|>`, `<"any text">` or `<[1,2-5]>`; or `"<"` for the character',
    ),
    ":": ("G001", "unexpected `{0}`", "", "rules are defined with `::=`"),
    ";": ("G001", "unexpected `;`", "", "remove it: a rule ends where the next begins"),
    "/*": ("G001", "`/*` does not start a comment", "", "comments are #, // and (* … *)"),
}  # fmt: skip
_CHARACTERS["'"], _CHARACTERS["="] = _CHARACTERS['"'], _CHARACTERS[":"]


class Messages:
    """Messages by parser state and token type, from the errors that ``parse`` raises for examples."""

    def __init__(self, parse: Callable[[str], object]) -> None:
        from lark.exceptions import UnexpectedToken

        self.exact: dict[tuple[int, str], tuple[str, str]] = {}
        self.by_type: dict[str, tuple[str, str]] = {}
        for message, help, examples in EXAMPLES:
            for example in examples:
                try:
                    parse(example)
                except UnexpectedToken as error:
                    self.exact.setdefault(_key(error), (message, help))
                    if error.token.type in _ALIKE:
                        self.by_type.setdefault(error.token.type, (message, help))

    def of(self, error: UnexpectedToken) -> tuple[str, str] | None:
        """Return the message and the help for a failure."""
        return self.exact.get(_key(error)) or self.by_type.get(error.token.type)


def _key(error: UnexpectedToken) -> tuple[int, str]:
    return error.state.position, error.token.type


def report_token(
    error: UnexpectedToken, text: str, offset: int, messages: Messages, problems: Collector
) -> None:
    """Report an unexpected token; ``offset`` is the start of the parsed piece in the text."""
    token = error.token
    at_end = token.type == "$END"
    # Lark gives the end the place of the last token
    start = (token.end_pos or 0 if at_end else token.start_pos) + offset
    end = start + 1 if at_end else token.end_pos + offset
    found = "the end" if at_end else str(token)
    if token.type == "STAR" and text[start - 1 : start + 1] == "(*":
        message = "the comment `(*` is not closed"
        problems.add("G002", message, start - 1, end, label="opened here", help="add a `*)`")
        return
    label = "unexpected end" if at_end else "unexpected"
    values = error.state.value_stack
    macro = next((value for value in reversed(values) if getattr(value, "type", None) == "MACRO"), None)
    if macro is not None and not at_end:
        help = 'arguments are "texts", numbers, `true`, `false`, names of rules, and tuples of these'
        message = _ARGUMENTS.get(token.type, f"`{found:.40}` cannot be an argument of `{macro}`")
        problems.add("G020", message, start, end, label="here", help=help)
        return
    known = messages.of(error)
    if known:
        message, help = (part.format(found) for part in known)
        other = _OTHER_DEFINES.match(text, end) if message == _NO_DEFINES else None
        if other:
            help = f"write `{found} ::=` for `{found}{other[1]}`"
        problems.add("G001", message, start, end, label=label, help=help)
        return
    opened = next((value for value in reversed(values) if getattr(value, "type", None) == "LPAR"), None)
    expected = set(error.expected)
    if at_end and opened is not None and "RPAR" in expected:
        begin = opened.start_pos + offset
        problems.add("G002", "`(` is not closed", begin, begin + 1, label="opened here", help="add a `)`")
        return
    shown = "the end of the rule" if at_end else f"`{found}`"
    problems.add("G001", f"expected {_in_words(expected)}, found {shown}", start, end, label="unexpected")


def _in_words(names: set[str]) -> str:
    """Return the possible next terminals in words."""
    words = []
    if {"NAME", "STRING", "CLASS"} <= names:
        words.append("an expression")
        names = names - {"NAME", "STRING", "LPAR"}
    words += [word for name, word in _WORDS.items() if name in names]
    if not words:
        words = ["something else"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def report_character(text: str, start: int, problems: Collector) -> None:
    """Report a character that does not begin any token."""
    char = text[start]
    key = "/*" if text.startswith("/*", start) else char
    shown = ":=" if text.startswith(":=", start) else char
    code, label, end = "G001", "", start + 1
    if key in _CHARACTERS:
        code, message, label, help = _CHARACTERS[key]
        message, help, end = message.format(shown), help.format(shown), start + max(len(shown), len(key))
    elif char in _KNOWN:
        word = match[0] if (match := _SIGNED_WORD.match(text, start)) else char
        what, known = _KNOWN[char]
        code, message, end = "G012", f"unknown {what} `{word}`", start + len(word)
        help = advice(_ELSEWHERE.get(word, word), known)
    elif char == "\\" and (escape := _ESCAPE.match(text, start)):
        message, end = f"unexpected `{escape[0]}`", escape.end()
        help = f"write it as a class, `[{escape[0]}]`, or in a pattern, `/{escape[0]}+/`"
    else:
        message = f"unexpected character {f'`{char}`' if char.isprintable() else f'U+{ord(char):04X}'}"
        help = 'text to be matched is written in quotes, as in `"text"`'
    problems.add(code, message, start, end, label=label, help=help)


# -- The file -----------------------------------------------------------------------------------------------

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
    """A parser with its builder and its messages, used by one thread at a time."""

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
        """The messages for the states of this parser. Other parsers may number their states differently."""
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
    """Parse a file into a module; errors are reported, and the other rules are kept.

    Cost: linear; a 12 KB grammar takes about 20 ms, and the first call in a process about 100 ms more.
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
    """Return the tokens of a file except ``::=``: for each its layout, text, start and end.

    JSON belongs to its directive. If there are errors, they are reported, and the result is empty.
    Cost: that of parsing the text, and a few microseconds per token.
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
    """Return a text whose JSON is replaced by spaces, since no regex can find its end, and the JSON.

    If a file defines or imports a rule with a macro's name, the name refers to that rule. Cost: linear.
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
    """Return the position of the next rule's name, or the end of the text. Cost: linear."""
    for match in _WORD.finditer(text, begin):
        spend(1)
        if match["name"] and _AFTER_NAME.match(text, match.end()):
            return match.start()
    return len(text)


def _parse_pieces(text: str, module: Module, problems: Collector, cut: Cut, parser: _Parser) -> None:
    """Parse each rule separately, so that an error in one rule does not hide errors in others."""
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
