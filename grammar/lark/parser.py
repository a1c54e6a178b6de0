"""Parse a Lark file, statement by statement.

A statement ends at the end of its line, if no bracket is open and the next line does not begin with ``|``. A
broken statement is reported once, and parsing continues at the next one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from stackmask.grammar.ir import MAX_CODE_POINT, SURROGATES, RuleRef, Span, TokenTerminal
from stackmask.grammar.notation import tree
from stackmask.grammar.notation.layout import Syntax
from stackmask.grammar.notation.tree import (
    Group,
    Module,
    Name,
    Node,
    TreeMaker,
    Use,
    read_ids,
    read_json,
    without_surrogates,
)
from stackmask.grammar.regex.pattern.reader import MAX_COUNT, read_number
from stackmask.grammar.source.diagnostics import Collector
from stackmask.grammar.source.similar import advice
from stackmask.grammar.source.work import spend

How = Literal["define", "override", "extend"]
NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*(?:-[A-Za-z0-9_]+)*"
_TOKEN: Final = re.compile(
    r"[ \t\r\f\v\ufeff]*"
    r"(?:(?P<blank>//[^\n]*|\#[^\n]*|\\[ \t]*\r?\n|\Z)"
    r"|(?P<line>\n)"
    rf"|(?P<name>{NAME})"
    r"|(?P<string>\"(?:[^\"\\\n]|\\.)*\"i?)"
    r"|(?P<regex>/(?!/)(?:[^/\\\n]|\\.)+/[imslux]*)"
    r"|(?P<spaced>/(?!/)(?:[^/\\]|\\[\s\S])+/(?=[imslu]*x)[imslux]*)"
    r"|(?P<hex>0x[0-9A-Fa-f]+)"
    r"|(?P<number>[+-]?[0-9]+)"
    rf"|(?P<directive>%{NAME})"
    rf"|(?P<given>@{NAME})"
    r"|(?P<ids><\[[^<\]\n]*\]>)"
    r"|(?P<special><[^<>\s\[][^<>\s]*>)"
    r"|(?P<sign>->|\.\.|::|[.:,|()\[\]{}*+?!~&=]))"
)
COMMENT: Final = re.compile(r"(?://|#)[^\n]*")
_OPTIONS: Final = ("%llguidance", "%grammar_options")
_BODIES: Final = frozenset({"%json", "%regex", *_OPTIONS})  # JSON follows them
MAX_DIGITS: Final = 25  # of a number that counts
MAX_NESTED: Final = 20  # grammars in each other
_SINGLE: Final = re.compile(r"'[^'\n]*('?)")
_NO_BLANK: Final = re.compile(r"[^ \t\r\f\v\ufeff]")
_CLOSES: Final = {"(": ")", "[": "]", "{": "}"}
_SIGNS: Final[dict[str, tuple[int, int | None]]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_ITEMS: Final = frozenset({"name", "string", "regex", "body", "special", "ids", "given"})
_CHUNKS: Final = ("substring_chunks", "substring_words", "substring_chars")
_ESCAPE: Final = re.compile(
    r"\\(?:([ntrf\\\"])|x([0-9A-Fa-f]{0,2})|u([0-9A-Fa-f]{0,4})|U([0-9A-Fa-f]{0,8})|)"
)
_PAIR: Final = r"u[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}|"  # of surrogates
_JSON_ESCAPE: Final = re.compile(_ESCAPE.pattern.replace("(?:([ntrf", f"(?:{_PAIR}([ntrfb/"))  # of llguidance
_PLAIN: Final = {"b": "\b", "/": "/", "n": "\n", "t": "\t", "r": "\r", "f": "\f", "\\": "\\", '"': '"'}
DIRECTIVES: Final = ("%ignore", "%import", "%declare", "%override", "%extend")
_DIRECTIVE_CURES: Final = {
    "%skip": "`%ignore X` allows X between terminals",
    "%token": "a terminal is `NAME: …`",
    "%start": "the start rule is `start`, or named: Grammar.from_lark(text, start=…)",
}
# of rules: what makes a rule one terminal, and what has no effect on its texts, and why
ATTRIBUTES: Final = ("lazy", "suffix", "stop", "max_tokens", "capture", "stop_capture", "temperature")
IGNORED_ATTRIBUTES: Final = {
    "capture": "nothing is captured: parse the text afterwards",
    "stop_capture": "nothing is captured: parse the text afterwards",
    "temperature": "it is set where tokens are drawn",
}
ANY_TOKEN: Final = TokenTerminal((), (), True)
_LABEL: Final = re.compile(r"[\w-]+")
# what is not a token, and what is no item, by the character or sign
_CHARACTER_CURES: Final = {
    ";": "a rule ends at the end of its line; leave it out",
    "^": 'a character class is written in a regex: `/[^"]/`',
    "$": "leave it out: a terminal is matched as a whole",
    "=": "a rule is `name: …`",
    "%": "a directive is `%ignore`, `%import`, `%declare`, `%override` or `%extend`",
}
_UNEXPECTED: Final = {
    ":": ("unexpected `:`", "each rule begins a line of its own"),
    ",": ("unexpected `,`", 'parts follow each other without commas; write `","` for the text'),
    ".": ("unexpected `.`", "any character is `/./`; with line breaks `/(?s:.)/`"),
    "&": ("`&` needs an operand on either side", ""),
}


def is_terminal_name(name: str) -> bool:
    """Return whether a name is that of a terminal rather than of a rule."""
    return name.lstrip("_")[:1].isupper()


def parse_module(text: str, source: int, problems: Collector, as_json: bool = False) -> Module:
    """Parse a file, report errors, and keep the other statements. ``as_json``: strings have JSON's escapes.

    Cost: linear, about 4 µs per token.
    """
    text = without_surrogates(text, problems)
    return _LarkParser(text, read_tokens(text, problems), Module(source), problems, as_json=as_json).run()


# -- tokens ---------------------------------------------------------------------------------------------------


class Token(NamedTuple):
    """``kind``: for punctuation, the text itself. ``value``: the value, if it is already parsed."""

    kind: str
    text: str
    start: int
    end: int
    value: Any = None


class SyntaxProblem(Exception):
    """A broken statement that was already reported."""


@dataclass(slots=True)
class OpenGroup:
    """An open bracket, or the whole body, with its finished alternatives and the current one.

    ``name``: the template, if it contains arguments. ``operands``: of the current operator. ``negations``:
    signs before the next item. ``is_atom``: whether the last item can be repeated.
    """

    open: Token
    name: Name | None = None
    alternatives: list[Node] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)
    operands: list[Node] = field(default_factory=list)
    negations: list[Token] = field(default_factory=list)
    arguments: list[Node] = field(default_factory=list)
    is_atom: bool = False


def read_tokens(text: str, problems: Collector) -> list[Token]:
    """Return the tokens of a text, with a line break at its end; invalid characters are reported.

    Cost: linear, about 1 µs per token.
    """
    tokens: list[Token] = []
    at, end = 0, len(text)
    match, make = _TOKEN.match, tuple.__new__  # `Token(…)` takes three times as long
    while at < end:
        found = match(text, at)
        if found is None:
            wrong = _NO_BLANK.search(text, at)
            assert wrong is not None
            at = _report(text, wrong.start(), problems)
            continue
        kind = found.lastgroup or ""
        start, at = found.span(kind)
        if kind == "blank":
            continue
        written = text[start:at]
        if kind == "sign":
            kind = written
        elif kind == "spaced":
            kind = "regex"
        elif kind == "directive" and written in _BODIES:
            value, begins, stops = read_json(text, at, written, '`%json {"type": "integer"}`', problems)
            at = _line_end(text, begins) if stops is None else stops
            tokens.append(Token("body", text[begins:at], start, at, (written, value, begins)))
            continue
        tokens.append(make(Token, (kind, written, start, at, None)))
    spend(end // 4 + 20 * len(tokens))
    tokens.append(Token("line", "\n", end, end))
    return tokens


def _report(text: str, at: int, problems: Collector) -> int:
    """Report invalid characters, and return the position where parsing continues."""
    spend(30)
    character = text[at]
    if character in '"/':
        message, help = "the string is not closed on its line", f"close it with `{character}`"
        if character == "/":
            message = message.replace("string", "regex")
            help += "; only with the flag `x` may a regex have line breaks"
        problems.add("G002", message, at, at + 1, label="opened here", help=help)
        return _line_end(text, at)
    if character == "'":
        found = _SINGLE.match(text, at)
        assert found is not None
        is_closed = found[1] == "'"
        help = f'write `"{found[0][1:-1]}"`' if is_closed and len(found[0]) <= 60 else 'write `"…"`'
        end = found.end() if is_closed else at + 1
        problems.add("G001", "strings are written in double quotes in Lark", at, end, help=help)
        return found.end()
    help = _CHARACTER_CURES.get(character, "")
    problems.add("G001", f"unexpected `{character}`", at, at + 1, label="here", help=help)
    # a slash after a backslash begins no regex: each would look for its end in the rest of the text
    return at + 2 if text.startswith("\\/", at) else at + 1  # mutant: escaped-slash


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return end if end >= 0 else len(text)


def _read_string(
    text: str, start: int, end: int, problems: Collector, as_json: bool
) -> tuple[str, list[int]]:
    r"""Return the value of a string's contents, and the offsets of backslashes that do not begin an escape.

    The escapes are ``\n \t \r \f \\ \" \xHH \uHHHH \UHHHHHHHH``; any other backslash stands for itself.
    Cost: linear.
    """
    written = text[start:end]
    if "\\" not in written:
        return written, []
    plain: list[int] = []

    def meaning(match: re.Match[str]) -> str:
        if match[1]:
            return _PLAIN[match[1]]
        if len(match[0]) == 12:  # two halves of a character
            return str(json.loads(f'"{match[0]}"'))
        place = start + match.start()
        for group, digits in ((2, 2), (3, 4), (4, 8)):
            if match[group] is None:
                continue
            value = int(match[group], 16) if len(match[group]) == digits else -1
            if 0 <= value <= MAX_CODE_POINT and not SURROGATES[0] <= value <= SURROGATES[1]:
                return chr(value)
            letter = written[match.start() + 1]
            needed = f"`\\{letter}` needs {digits} hexadecimal digits"
            problem = needed if value < 0 else "this is not a character"
            problems.add("G006", problem, place, start + match.end(), help=r"write `\\` for a backslash")
            return "\N{REPLACEMENT CHARACTER}"
        plain.append(place)
        return "\\"

    return (_JSON_ESCAPE if as_json else _ESCAPE).sub(meaning, written), plain


def _shown(token: Token) -> str:
    """Return the text of a token in messages."""
    return "the end of the line" if token.kind == "line" else f"`{token.text:.60}`"


class _LarkParser(TreeMaker):
    def __init__(
        self,
        text: str,
        tokens: list[Token],
        module: Module,
        problems: Collector,
        depth: int = 0,
        *,
        as_json: bool = False,
    ) -> None:
        super().__init__(text, problems)
        self.tokens = [*tokens, tokens[-1]]  # after the last token comes the last one again
        self.last = len(tokens) - 1
        self.at = 0
        self.module, self.depth, self.as_json = module, depth, as_json
        self.beginnings: list[int] = []  # of statements
        self.nested_ends: dict[int, int] = {}  # of `%lark {…}`, by its beginning
        self.counts = False  # whether the rule that is read has a number

    def run(self) -> Module:
        last = self.last
        while self.at <= last:
            if self.token.kind == "line":
                self.at += 1
                continue
            before = self.at
            self.beginnings.append(before)
            try:
                self.statement(self.token)
            except SyntaxProblem:
                self.at = max(self.at, before + 1)
                while self.at <= last and not self.is_beginning(self.at):
                    self.at += 1
        return self.module

    # -- tokens -----------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def place(self, token: Token) -> Span:
        return Span(token.start, token.end, self.problems.source)

    def fail(
        self, message: str, token: Token, *, label: str = "", help: str = "", code: str = "G001"
    ) -> SyntaxProblem:
        """Report an error at a token."""
        end = max(token.end, token.start + 1)
        self.problems.add(code, message, token.start, end, label=label, help=help)
        return SyntaxProblem()

    def take(self, kind: str, what: str, help: str = "") -> Token:
        """Return the next token, which must be of this kind."""
        token = self.token
        if token.kind != kind:
            raise self.fail(f"expected {what}, found {_shown(token)}", token, label="here", help=help)
        self.at += 1
        return token

    def name(self) -> Name:
        token = self.take("name", "a name")
        return Name(token.text, self.place(token))

    def skip_lines(self) -> None:
        while self.token.kind == "line" and self.at < self.last:
            self.at += 1

    def is_beginning(self, index: int) -> bool:
        """Return whether a statement begins with this token, the first of its line, because of its kind."""
        if index and self.tokens[index - 1].kind != "line":
            return False
        token = self.tokens[index]
        return token.kind == "directive" or self.is_head(index)

    def is_head(self, index: int) -> bool:
        """Return whether a definition begins here. Cost: linear in its head."""
        tokens, last = self.tokens, self.last
        while tokens[index].kind in ("?", "!"):
            index += 1
        if tokens[index].kind != "name":
            return False
        index += 1
        for opens, closes in (("{", "}"), (".", ""), ("[", "]")):
            if tokens[index].kind != opens:
                continue
            index += 1
            while closes and index < last and tokens[index].kind not in (closes, "line", ":"):
                index += 1
            index += 1
            spend(1)
            if index > last:
                return False
        return tokens[index].kind == ":" or (tokens[index].kind == "::" and tokens[index + 1].text == "_")

    def unexpected(self, token: Token) -> SyntaxProblem:
        """Report an unexpected token."""
        kind = token.kind
        before = self.tokens[self.at - 2] if self.at > 1 else token
        if kind in ("*", "+", "?", "{", "~"):
            twice = before.kind in ("*", "+", "?", "}", "number")
            label = "a repetition cannot be repeated" if twice else ""
            help = f"put it into parentheses: `(…){token.text}`" if twice else ""
            return self.fail(f"nothing before `{token.text}` to repeat", token, label=label, help=help)
        if kind in _UNEXPECTED:
            message, help = _UNEXPECTED[kind]
            return self.fail(message, token, help=help)
        if kind == "directive":
            return self.fail(f"`{token.text}` begins a line of its own", token)
        return self.fail(f"unexpected {_shown(token)}", token, label="here")

    # -- statements -------------------------------------------------------------------------------

    def statement(self, token: Token) -> None:
        """Read one statement, with the end of its line."""
        if token.kind == "directive":
            self.directive(token)
        elif token.kind == "body" and token.value[0] in _OPTIONS:
            self.at += 1
            self.options(token.value[0], token.value[1], self.place(token))
        else:
            self.definition("define")
        if self.token.kind != "line":
            raise self.unexpected(self.token)
        self.at += 1

    def options(self, directive: str, value: Any, span: Span) -> None:
        """Parse llguidance's options, of which only one changes the language."""
        if not isinstance(value, dict):
            if value is not None:  # else it was no JSON, which is reported
                help = f"for example `{directive} {{}}`"
                self.problems.at(span, "G020", f"`{directive}` takes an object", help)
            return
        skip = value.pop("allow_initial_skip", None)
        if isinstance(skip, bool):
            self.module.options["allow_initial_skip"] = skip
        elif skip is not None:
            self.problems.at(span, "G020", "`allow_initial_skip` is true or false")
        if value or skip is None:
            self.module.notes.append((span, directive, "options of llguidance have no effect"))

    def nested(self, directive: Token) -> Node:
        """Parse `%lark {…}`, a grammar with separate names."""
        opened = self.take("{", "`{` after `%lark`", 'for example `%lark { start: "a" }`')
        begin, open_ = self.at, 1
        while open_ and self.at < self.last:
            spend(1)
            open_ += {"{": 1, "}": -1}.get(self.token.kind, 0)
            self.at += 1
        if open_:
            raise self.never_closed("{", opened)
        close = self.tokens[self.at - 1]
        self.nested_ends[directive.start] = close.end
        span = self.span(directive.start, close.end)
        name = f"%lark.{span.source}.{span.start}"
        if self.depth >= MAX_NESTED:
            raise self.fail(f"more than {MAX_NESTED} grammars in each other", directive, code="G015")
        tokens = [*self.tokens[begin : self.at - 1], Token("line", "\n", close.start, close.start)]
        inner = _LarkParser(
            self.text, tokens, Module(span.source), self.problems, self.depth + 1, as_json=self.as_json
        )
        self.module.nested[name] = inner.run()
        return tree.Terminal(RuleRef(name, span=span), span, 1, "`%lark`")

    def directive(self, token: Token) -> None:
        self.at += 1
        match token.text:
            case "%ignore":
                self.module.skips.append(self.expression())
            case "%import":
                self.import_names(token)
            case "%declare":
                self.module.declared.append(self.name())
                while self.token.kind == "name":
                    self.module.declared.append(self.name())
            case "%override":
                self.definition("override")
            case "%extend":
                self.definition("extend")
            case _:
                help = _DIRECTIVE_CURES.get(token.text) or advice(token.text, DIRECTIVES)
                message = f"unknown directive `{token.text}`"
                raise self.fail(message, token, label="no such directive", help=help, code="G012")

    def import_names(self, directive: Token) -> None:
        relative = self.token.kind == "."
        self.at += relative
        path = [self.name()]
        while self.token.kind == ".":
            self.at += 1
            path.append(self.name())
        if self.token.kind == "(":
            items = self.import_list()
        elif len(path) == 1:
            name = path[0].name
            help = f"for example `%import {name}.INT`, or `%import {name} (INT, WS)`"
            self.problems.at(path[0].span, "G014", f"nothing is imported from `{name}`", help)
            return
        else:
            outer = local = path.pop()
            if self.token.kind == "->":
                self.at += 1
                local = self.name()
            items = [(outer, local)]
        span = self.span(directive.start, self.tokens[self.at - 1].end)
        target = ".".join(name.name for name in path)
        self.module.imports.append(tree.Import(target, relative, tuple(items), span))

    def import_list(self) -> list[tuple[Name, Name]]:
        """Read `(X, Y)`."""
        opened = self.token
        items: list[tuple[Name, Name]] = []
        while self.token.kind in ("(", ","):
            self.at += 1
            self.skip_lines()
            if items and self.token.kind == ")":
                break
            if self.is_beginning(self.at):
                raise self.never_closed("(", opened)
            outer = local = self.name()
            self.skip_lines()
            if self.token.kind == "->":
                self.at += 1
                local = self.name()
            items.append((outer, local))
            self.skip_lines()
        self.take(")", "`,` or `)`", "for example `%import common (INT, WS)`")
        return items

    def never_closed(self, sign: str, opened: Token) -> SyntaxProblem:
        help = f"add a `{_CLOSES[sign]}`"
        return self.fail(f"`{sign}` is never closed", opened, label="opened here", help=help)

    def definition(self, how: How) -> None:
        begin = self.token
        modifiers = ""
        while self.token.kind in ("?", "!"):
            modifiers += self.token.kind
            self.at += 1
        token = self.token
        if token.kind == "|":
            raise self.fail("`|` continues no rule", token, help="a rule begins with `name:`")
        if token.kind != "name":
            help = (
                "a rule ends at the end of its line: continue with `|`, within parentheses, or after a `\\`"
            )
            message = f"expected a rule or a directive, found {_shown(token)}"
            raise self.fail(message, token, label="here", help=help)
        name = self.name()
        self.module.known.setdefault(name.name, name.span)
        self.check_name(name, modifiers, begin)
        self.module.define(self.defined(name, how))

    def defined(self, name: Name, how: How) -> tree.RuleDefinition:
        parameters: list[Name] = []
        priority = None
        if self.token.kind == "{":
            while self.token.kind in ("{", ","):
                self.at += 1
                parameters.append(self.name())
            self.take("}", "`,` or `}`", "a template is `name{x, y}: …`")
        if self.token.kind == ".":
            self.at += 1
            token = self.take("number", "a number after `.`", "a priority is `NAME.2: …`")
            priority = int(token.text[:12])
        attributes = self.attributes(name) if self.token.kind == "[" else {}
        counts = self.token.kind == "::"
        if counts:
            self.at += 1
            if self.take("name", "`_` after `::`").text != "_":
                raise self.fail(
                    "a rule that counts is defined with `_`",
                    self.tokens[self.at - 1],
                    help=f"`{name.name}::_: …`",
                )
        self.take(":", f"`:` after `{name.name}`", "a rule is `name: …`")
        if bool(attributes) + bool(parameters) + counts > 1:
            message = "attributes, parameters and `::_` do not go together"
            self.problems.at(name.span, "G018", message, "write two rules, one of which refers to the other")
        self.counts = counts
        body = self.expression()
        self.counts = False
        return tree.RuleDefinition(
            name.name, body, name.span, tuple(parameters), priority, how, attributes, counts
        )

    def check_name(self, name: Name, modifiers: str, begin: Token) -> None:
        """Report a name that is valid neither for a rule nor for a terminal."""
        written = name.name
        if written.upper() != written != written.lower():
            message = f"`{written}` has capital and small letters"
            help = f"`{written.lower()}` is a rule, `{written.upper()}` a terminal"
            self.problems.at(name.span, "G001", message, help, "neither a rule nor a terminal")
        elif modifiers and is_terminal_name(written):
            message = f"`{modifiers}` is for rules, not terminals"
            self.problems.at(self.place(begin), "G001", message, "leave it out")

    def attributes(self, name: Name) -> dict[str, tree.Attribute]:
        """Parse llguidance's attributes, as `[suffix="."]`; return those that change the language."""
        opened = self.token
        found: dict[str, tree.Attribute] = {}
        while self.token.kind in ("[", ","):
            self.at += 1
            token = self.take("name", "an attribute", f"there are {', '.join(ATTRIBUTES)}")
            word, place, value = token.text, self.place(token), None
            if self.token.kind == "=":
                self.at += 1
                value = self.take_value(word)
            if word in found:
                self.problems.at(place, "G018", f"`{word}` is given twice", "leave one out", "again")
            elif word not in ATTRIBUTES:
                problem = f"the attribute `{word}` is not supported"
                self.problems.at(place, "G018", problem, advice(word, ATTRIBUTES))
            else:
                found[word] = tree.Attribute(value, place)
        if self.token.kind != "]":
            raise self.never_closed("[", opened)
        self.at += 1
        self.check_attributes(name, found)
        for word, reason in IGNORED_ATTRIBUTES.items():
            if word in found:
                self.module.notes.append((found.pop(word).span, word, reason))
        return found

    def take_value(self, attribute: str) -> Node | int | None:
        """Read the value of an attribute."""
        self.at += 1
        token = self.tokens[self.at - 1]
        if token.kind in ("string", "regex", "name"):
            return self.atom(token)
        if token.kind != "number":
            raise self.fail(
                f"expected the value of `{attribute}`, found {_shown(token)}", token, label="here"
            )
        if self.token.kind == ".":  # of a temperature
            self.at += 1
            self.take("number", "the digits after the point")
            return 0 if attribute == "temperature" else -1
        return read_number(token.text) if token.text.isdigit() else -1

    def check_attributes(self, name: Name, found: dict[str, tree.Attribute]) -> None:
        """Report attributes that have invalid values or cannot be combined."""
        for word, (value, span) in [*found.items()]:
            problem, help = "", ""
            if is_terminal_name(name.name):
                problem, help = (
                    "a terminal has no attributes",
                    f"write a rule, `{name.name.lower()}[…]: {name.name}`",
                )
            elif word in ("suffix", "stop"):
                help = f'for example `{word}="<end>"`, `{word}=/[.!?]/` or `{word}=NAME`'
                is_rule = isinstance(value, Name) and not is_terminal_name(value.name)
                if value is None or isinstance(value, int) or is_rule:
                    problem = f"`{word}` is a string, a regex or the name of a terminal"
                elif isinstance(value, Group):
                    problem = f"the end given by `{word}` is empty"
                elif word == "stop" and "suffix" in found:
                    problem = "`stop` and `suffix` are two ends of one rule"
            elif word == "max_tokens":
                is_count = isinstance(value, int) and 0 <= value <= MAX_COUNT
                problem = "" if is_count else "`max_tokens` is a whole number"
            elif word == "temperature" and not (isinstance(value, int) and value >= 0):
                problem = "`temperature` is a number"
            elif word == "stop_capture" and not found.keys() & {"suffix", "stop"}:
                problem = "`stop_capture` needs `stop` or `suffix`"
            elif word in ("capture", "stop_capture") and not (value is None or _is_label(value)):
                problem = f"`{word}` is a name in quotes, of letters, digits, `_` and `-`"
            elif word == "lazy" and value is not None:
                problem, help = "`lazy` has no value", "leave it out"
            if problem:
                self.problems.at(span, "G018", problem, help)
                del found[word]

    # -- expressions ------------------------------------------------------------------------------

    def expression(self) -> Node:
        """Parse alternatives up to the end of the statement, with a stack of open brackets. Raises: SyntaxProblem."""
        self.too_deep = False
        frames = [OpenGroup(Token("", "", self.token.start, self.token.start))]
        tokens, source = self.tokens, self.problems.source
        frame = frames[0]
        while True:
            token = tokens[self.at]
            spend(6)
            kind = token.kind
            if kind == "line":
                if self.goes_on(frames):
                    continue
                return self.finish(frame, token.start)
            self.at += 1
            if kind == "name" and not frame.negations:  # most tokens
                frame.items.append(Name(token.text, Span(token.start, token.end, source)))
                frame.is_atom = True
            elif kind in _ITEMS:
                self.push(frame, self.atom(token))
            elif kind == "directive" and token.text == "%lark":
                self.push(frame, self.nested(token))
            elif kind == "directive" and token.text == "%if":
                self.guard(frame, token)
            elif kind == "::" and frame.is_atom and isinstance(name := frame.items[-1], Name):
                value = WHOLE if self.token.text == "_" else self.called(VALUES, "v")
                self.at += value is WHOLE
                value = NumberCall("_") if value is WHOLE else value
                if isinstance(value, NumberCall):
                    self.check_counts(token)
                frame.items[-1] = tree.CountedUse(
                    name.name, value, self.span(name.span.start, self.tokens[self.at - 1].end)
                )
            elif kind in ("(", "["):
                frames.append(OpenGroup(token))
            elif kind in (")", "]", "}"):
                if len(frames) == 1 or _CLOSES[frame.open.kind] != kind:
                    raise self.unbalanced(token, frame)
                frames.pop()
                self.close(frame, frames[-1], token)
            elif kind == "|":
                self.end_alternative(frame, token.start)
            elif kind in _SIGNS and frame.is_atom:
                self.repeat(frame, *_SIGNS[kind], token.end)
            elif kind == "->" and frame.open.kind != "{":
                self.alias(frame)
            elif kind == "~":
                self.tilde(frame, token)
            elif not self.operator(frames, token):
                raise self.unexpected(token)
            frame = frames[-1]

    def operator(self, frames: list[OpenGroup], token: Token) -> bool:
        """Parse the operator after an item; return False if there is none."""
        frame, kind = frames[-1], token.kind
        if kind == "," and frame.name is not None:
            frame.arguments.append(self.argument(frame, token))
        elif kind == "&" and frame.items and not frame.negations:
            frame.operands.append(self.sequence(frame.items, token.start))
            frame.items, frame.is_atom = [], False
        elif kind == "{" and frame.is_atom and self.token.kind in ("number", ","):
            self.bounds(frame, token)
        elif kind == "{" and frame.is_atom and isinstance(name := frame.items[-1], Name):
            frame.items.pop()
            frames.append(OpenGroup(token, name))
        else:
            return False
        return True

    def goes_on(self, frames: list[OpenGroup]) -> bool:
        """Skip a line break that does not end the statement; return False at the end of the statement."""
        index, last = self.at, self.last
        while index <= last and self.tokens[index].kind == "line":
            index += 1
        if len(frames) == 1:
            if self.tokens[index].kind == "|":
                self.at = index
                return True
            return False
        if index > last or self.is_beginning(index):
            raise self.never_closed(frames[-1].open.kind, frames[-1].open)
        self.at = index
        return True

    def atom(self, token: Token) -> Node:
        """Return the node for one token."""
        kind, text = token.kind, token.text
        span = Span(token.start, token.end, self.problems.source)
        if kind == "name":
            return Name(text, span)
        if kind == "string":
            return self.string(token)
        if kind == "regex":
            close = text.rindex("/")
            return tree.Pattern(text[1:close], text[close + 1 :], span)
        if kind == "special":
            return tree.Terminal(TokenTerminal((text,), (), False, span), span, 1, "a special token")
        if kind == "ids":
            written = text[2:-2].strip()
            # `*` is any token: all but none
            ids = read_ids(written, span, self.problems) if written != "*" else ANY_TOKEN
            return tree.Terminal(ids, span, 1, "a special token")
        if kind == "given":
            expr = RuleRef(f"%grammar.{text[1:]}", span=span)
            return tree.Terminal(expr, span, 1, "a grammar given by name")
        return self.part(token, span)

    def part(self, token: Token, span: Span) -> Node:
        """Return the node for `%json` and `%regex`."""
        directive, value, start = token.value
        if directive in _OPTIONS:
            raise self.fail(f"`{directive}` begins a line of its own", token)
        name = f"{directive}.{span.source}.{span.start}"
        part = tree.Part("json", token.text, span, start=start)
        if directive == "%regex":
            part = tree.Part("substring", "", span, tree.Dispatch(self.chunks(value, span)))
        self.module.parts[name] = part
        return tree.Terminal(RuleRef(name, span=span), span, 1, f"`{directive}`")

    def chunks(self, value: Any, span: Span) -> tuple[str, ...]:
        """Return the chunks of ``%regex {"substring_…": …}``, which means any run of them."""
        kind = next(iter(value), "") if isinstance(value, dict) and len(value) == 1 else ""
        found = value[kind] if kind in _CHUNKS else None
        if kind == "substring_chars" and isinstance(found, str):
            return tuple(found)
        if kind == "substring_words" and isinstance(found, str):
            spend(len(found) // 4)
            return tuple(re.findall(r"\w+|\W", found))
        if kind == "substring_chunks" and isinstance(found, list) and all(isinstance(c, str) for c in found):
            return tuple(found)
        if value is not None:  # else it was no JSON, which is reported
            help = 'for example `%regex {"substring_words": "some text"}`; a regular expression is written in slashes'
            self.problems.at(span, "G020", f"`%regex` takes an object with one of {', '.join(_CHUNKS)}", help)
        return ()

    def string(self, token: Token) -> Node:
        if self.token.kind == "..":
            self.at += 1
            return self.range(token, self.take("string", "a string after `..`", 'a range is `"a".."z"`'))
        flags = "i" if token.text[-1] == "i" else ""
        value, plain = _read_string(
            self.text, token.start + 1, token.end - 1 - len(flags), self.problems, self.as_json
        )
        span = self.place(token)
        for place in plain[:1]:
            reason = "a backslash and this character, as in Lark, which has no such escape"
            note = self.span(place, place + 2), self.text[place : place + 2], reason
            self.module.notes.append(note)
        return tree.Text(value, flags, span) if value else Group(" ", (), span, 1)

    def range(self, first: Token, last: Token) -> Node:
        span = self.span(first.start, last.end)
        low, high = (
            _read_string(
                self.text, token.start + 1, token.start + token.text.rindex('"'), self.problems, self.as_json
            )[0]
            for token in (first, last)
        )
        if len(low) != 1 or len(high) != 1 or "i" in (first.text[-1], last.text[-1]):
            message, help = "a range is of two characters", 'for example `"a".."z"`'
            self.problems.at(span, "G007", message, help)
            return Group(" ", (), span, 1)
        if low > high:
            self.problems.at(span, "G007", "the range is reversed", f"write `{last.text}..{first.text}`")
        length = len(f"[{first.text[1:-1]}-{last.text[1:-1]}]")
        return tree.Range(min(low, high), max(low, high), span, length)

    def push(self, frame: OpenGroup, node: Node) -> None:
        """Add an item, with the `~` before it."""
        for sign in reversed(frame.negations):
            node = self.checked(tree.Prefix("!", node, self.span(sign.start, node.span.end), node.depth + 1))
        frame.negations = []
        frame.items.append(node)
        frame.is_atom = True

    def close(self, frame: OpenGroup, outer: OpenGroup, token: Token) -> None:
        """Add the contents of brackets to the enclosing sequence."""
        span = self.span(frame.open.start, token.end)
        made: Group | tree.Repetition | Use
        if frame.name is not None:
            arguments = (*frame.arguments, self.argument(frame, token))
            depth = 1 + max(argument.depth for argument in arguments)
            where = self.span(frame.name.span.start, token.end)
            made = Use(frame.name.name, arguments, where, depth)
        else:
            node = self.finish(frame, token.start)
            if frame.open.kind == "[":
                made = tree.Repetition(node, 0, 1, span, node.depth + 1, 1)
            else:  # which counts, so that what is nested is limited whatever stands in it
                made = Group(" ", (node,), span, node.depth + 1)
        self.push(outer, self.checked(made))

    def argument(self, frame: OpenGroup, token: Token) -> Node:
        """Return the argument of a template that ends here."""
        single = len(frame.items) == 1 and not frame.alternatives and not frame.operands
        if not single or not isinstance(
            item := frame.items[0], tree.Text | tree.Pattern | tree.Range | Name | Use
        ):
            message = "an argument of a template is a name, a string, a regex or a template"
            raise self.fail(message, token, help="give a longer expression a rule of its own")
        frame.items, frame.is_atom = [], False
        return item

    # -- rules that count -------------------------------------------------------------------------

    def guard(self, frame: OpenGroup, directive: Token) -> None:
        """Read `%if` and its condition, at the end of an alternative."""
        condition = self.called(CONDITIONS, "c")
        self.check_counts(directive)
        if self.token.kind not in ("line", "|", ")", "]", "->"):
            raise self.fail(
                "`%if` comes at the end of an alternative", directive, help="put all parts before it"
            )
        item = self.sequence(frame.items, directive.start)
        span = self.span(item.span.start, self.tokens[self.at - 1].end)
        frame.items = [self.checked(tree.Guarded(item, condition, span, item.depth + 1))]
        frame.is_atom = False

    def check_counts(self, token: Token) -> None:
        """Report a use of the number of a rule that has no number."""
        if not self.counts:
            message = f"`{token.text}` asks for the number of its rule, which does not count"
            help = "a rule that counts is `name::_: …`; a number of its own is `name::0`"
            self.problems.at(self.place(token), "G018", message, help)

    def called(self, known: Mapping[str, str], kind: str, depth: int = 0) -> Argument:
        """Parse an argument of a kind: "v": number or function, "b": bit, "r": range of bits, "c": condition."""
        token = self.token
        self.at += 1
        if token.kind in ("hex", "number") and kind in "vb":
            # no number has more digits
            digits = token.text.removeprefix("0x").lstrip("+0")[:MAX_DIGITS] or "0"
            number = -1 if digits[0] == "-" else int(digits, 16 if token.kind == "hex" else 10)
            if 0 <= number < (BITS if kind == "b" else 1 << BITS):
                return number
            limit = f"{BITS - 1}" if kind == "b" else "2⁶⁴ - 1"
            raise self.fail(f"`{token.text:.40}` is not a whole number up to {limit}", token)
        if kind == "r" and token.text == "_":
            return WHOLE
        if kind == "r" and token.kind == "[":
            low = self.called({}, "b")
            self.take(":", "`:` in a range of bits", "for example `[0:3]`")
            high = self.called({}, "v")
            self.take("]", "`]` after a range of bits")
            if isinstance(low, int) and isinstance(high, int) and low < high <= BITS:
                return BitRange(low, high)
            raise self.fail(f"a range of bits ends after its beginning, at {BITS} at most", token)
        if token.kind != "name" or token.text not in known or kind in "br":
            what = {"b": "the number of a bit", "r": "a range of bits"}.get(
                kind
            ) or f"one of {', '.join(known) or 'a number'}"
            raise self.fail(f"expected {what}, found {_shown(token)}", token, label="here")
        if depth > MAX_NESTED:
            raise self.fail("conditions are nested too deeply", token, code="G015")
        arguments: list[Argument] = []
        if known[token.text] or self.token.kind == "(":
            for wanted, sign in zip(known[token.text], "(,", strict=False):
                self.take(sign, f"`{sign}` and the arguments of `{token.text}`")
                arguments.append(self.called(known if wanted == "c" else {}, wanted, depth + 1))
            if not known[token.text]:
                self.take("(", "`(`")
            self.take(")", f"`)` after the arguments of `{token.text}`")
        return NumberCall(token.text, tuple(arguments))

    # -- operators --------------------------------------------------------------------------------

    def tilde(self, frame: OpenGroup, token: Token) -> None:
        """Read `~ n`, `~ n..m`, or the `~` of a complement."""
        if self.token.kind != "number":
            frame.negations.append(token)
            frame.is_atom = False
            return
        if not frame.is_atom:
            raise self.fail("nothing before `~` to repeat", token, help="a count is `x ~ 2` or `x ~ 2..5`")
        low = high = self.count()
        length = len(f"{{{low}}}")
        if self.token.kind == "..":
            self.at += 1
            high = self.count()
            length += len(f",{high}")
        self.repeat_counted(frame, low, high, token, length)

    def bounds(self, frame: OpenGroup, token: Token) -> None:
        """Read `{m}`, `{m,}`, `{,n}` or `{m,n}`."""
        low = self.count() if self.token.kind == "number" else 0
        high: int | None = low
        length = len(f"{{{low}}}")
        if self.token.kind == ",":
            self.at += 1
            high = self.count() if self.token.kind == "number" else None
            length += len(f",{'' if high is None else high}")
        self.take("}", "`}` after a count")
        self.repeat_counted(frame, low, high, token, length)

    def count(self) -> int:
        """Parse a count; return 1 if it is refused."""
        token = self.take("number", "a whole number")
        value: int = read_number(token.text.lstrip("+-"))
        if token.text[0] == "-" and value:
            self.problems.at(self.place(token), "G005", "a count is 0 or more")
        if value > MAX_COUNT:
            message = f"a repetition count is at most {MAX_COUNT:,}"
            self.problems.at(self.place(token), "G005", message, "", "too large")
            value = 1
        return value

    def repeat_counted(self, frame: OpenGroup, low: int, high: int | None, token: Token, length: int) -> None:
        end = self.tokens[self.at - 1].end
        if high is not None and high < low:
            message = f"the repetition ends at {high} before it begins at {low}"
            help = f"did you mean `~ {high}..{low}`?"
            self.problems.at(self.span(token.start, end), "G005", message, help, "reversed bounds")
            low, high = high, low
        self.repeat(frame, low, high, end, length)

    def repeat(self, frame: OpenGroup, low: int, high: int | None, end: int, length: int = 1) -> None:
        item = frame.items[-1]
        span = self.span(item.span.start, end)
        frame.items[-1] = self.checked(tree.Repetition(item, low, high, span, item.depth + 1, length))
        frame.is_atom = False

    def alias(self, frame: OpenGroup) -> None:
        """Parse the name of an alternative, which does not affect the language."""
        token = self.token
        if token.kind != "name":
            message = f"an alias is a name, not {_shown(token)}"
            raise self.fail(message, token, help='for example `"+" -> add`')
        self.at += 1
        if is_terminal_name(token.text):
            message = f"the alias `{token.text}` is written small"
            self.problems.at(self.place(token), "G001", message, f"write `{token.text.lower()}`")
        if self.token.kind not in ("line", "|", ")", "]"):
            problem = "an alias comes at the end of an alternative"
            raise self.fail(problem, token, help="put all parts before it")
        frame.is_atom = False

    # -- sequences and alternatives ---------------------------------------------------------------

    def end_alternative(self, frame: OpenGroup, end: int) -> None:
        if frame.negations:
            last = self.tokens[self.at - 1]
            raise self.fail("nothing follows `~`", last, help="a complement is `~X`")
        node = self.sequence(frame.items, end)
        if frame.operands:
            operands = (*frame.operands, node)
            start = operands[0].span.start
            span = self.span(start, max(end, operands[0].span.end))
            node = self.group("&", operands, span)
        frame.alternatives.append(node)
        frame.items, frame.operands, frame.is_atom = [], [], False

    def finish(self, frame: OpenGroup, end: int) -> Node:
        self.end_alternative(frame, end)
        options = frame.alternatives
        if len(options) == 1:
            return options[0]
        return self.group("|", options, self.span(frame.open.start, end))

    def sequence(self, items: list[Node], end: int) -> Node:
        if len(items) == 1:
            return items[0]
        if not items:
            return Group(" ", (), self.span(end, end), 1)
        return self.group(" ", items, self.span(items[0].span.start, items[-1].span.end))

    def unbalanced(self, token: Token, frame: OpenGroup) -> SyntaxProblem:
        if not frame.open.kind:
            return self.fail(f"`{token.text}` closes nothing", token, label="no bracket is open")
        problem = f"`{token.text}` does not close `{frame.open.kind}`"
        return self.fail(problem, token, help=f"write `{_CLOSES[frame.open.kind]}`")


def _is_label(value: Node | int) -> bool:
    return isinstance(value, tree.Text) and _LABEL.fullmatch(value.value) is not None


# -- layout ---------------------------------------------------------------------------------------------------

_LAID_OUT: Final = {
    **dict.fromkeys(("*", "+", "?", ","), "suffix"),
    **dict.fromkeys((")", "]", "}"), "close"),
    **dict.fromkeys(("..", ".", "::", ":"), "joint"),
    **dict.fromkeys(("->", "&"), "operator"),
    "(": "open",
    "[": "open",
    "{": "call",
    "|": "bar",
}


def _layout_tokens(text: str, problems: Collector) -> list[tuple[str, str, int, int]]:
    """Return the tokens of a text except `:`, each with its layout, text, start and end.

    The text before `:` is a single token.
    """
    parser = _LarkParser(text, read_tokens(text, problems), Module(problems.source), problems)
    parser.run()
    if problems.found:
        return []
    tokens = parser.tokens[: parser.last + 1]
    found: list[tuple[str, str, int, int]] = []
    for begin, end in zip(parser.beginnings, [*parser.beginnings[1:], len(tokens)], strict=True):
        body = begin + 1
        if tokens[begin].kind != "body" and tokens[begin].text not in ("%ignore", "%import", "%declare"):
            while tokens[body].kind != ":":
                body += 1
            head = "".join(
                f"{token.text} " if token.kind in ("directive", ",") else token.text
                for token in tokens[begin:body]
            )
            found.append(("head", head, tokens[begin].start, tokens[body].end))
            body += 1
        elif tokens[begin].kind == "directive":
            found.append(("directive", *tokens[begin][1:4]))
        else:
            found.append(("directive", *_written(tokens[begin])[1:]))
        done = 0
        for at in range(body, end):
            kind, written, first, past = _written(tokens[at])
            if kind == "line" or first < done:
                continue
            if written == "%lark":  # which stays as it is written
                done = past = parser.nested_ends[first]
                written = text[first:past]
            if kind == "(" and tokens[at - 1].text in _CALLED and tokens[at - 1].end == first:
                how = "call"
            elif kind == "~":
                how = "operator" if tokens[at + 1].kind == "number" else "prefix"
            elif kind == "." and at == begin + 1:  # of a path
                how = "prefix"
            else:
                how = _LAID_OUT.get(kind, "word")
            found.append((how, written, first, past))
    return found


def _written(token: Token) -> tuple[str, str, int, int]:
    written = f"{token.value[0]} {token.text}" if token.kind == "body" else token.text
    return token.kind, written, token.start, token.end


SYNTAX: Final = Syntax(_layout_tokens, COMMENT, ":", False)


# -- Rules that count, of llguidance: `rule::_` has a number of 64 bits, which its uses change and its alternatives ask about.
#
# Each number that a rule is used with makes a rule of its own.

BITS: Final = 64
MASK: Final = (1 << BITS) - 1


class BitRange(NamedTuple):
    """The bits from ``low`` up to ``high``, written `[low:high]`; `_` means all bits."""

    low: int
    high: int

    def of(self, number: int) -> int:
        return number >> self.low & (1 << (self.high - self.low)) - 1

    @property
    def ones(self) -> int:
        return (1 << (self.high - self.low)) - 1


class NumberCall(NamedTuple):
    """A function with its arguments, which gives a new number or a condition on the number."""

    name: str
    arguments: tuple[Argument, ...] = ()


Argument: TypeAlias = int | BitRange | NumberCall
WHOLE: Final = BitRange(0, BITS)
_COMPARED: Final[dict[str, Callable[[int, int], bool]]] = {
    "eq": int.__eq__,
    "ne": int.__ne__,
    "lt": int.__lt__,
    "le": int.__le__,
    "gt": int.__gt__,
    "ge": int.__ge__,
}
# the kinds of arguments: "b" a bit, "v" a number, "r" a range, "c" a condition
VALUES: Final = {"set_bit": "b", "clear_bit": "b", "bit_and": "v", "bit_or": "v", "incr": "r", "decr": "r"}
CONDITIONS: Final = {
    "true": "",
    "bit_clear": "b",
    "bit_set": "b",
    "is_ones": "r",
    "is_zeros": "r",
    **dict.fromkeys(_COMPARED, "rv"),
    **{f"bit_count_{name}": "rv" for name in _COMPARED},
    "and": "cc",
    "or": "cc",
    "not": "c",
}
_CALLED: Final = VALUES.keys() | CONDITIONS.keys()


def changed(value: int | NumberCall, number: int) -> int:
    """Return the number for a rule that is used within a rule with ``number``."""
    if isinstance(value, int):
        return value
    match value:
        case NumberCall("set_bit", (int(bit),)):
            return number | 1 << bit
        case NumberCall("clear_bit", (int(bit),)):
            return number & ~(1 << bit)
        case NumberCall("bit_and", (int(other),)):
            return number & other
        case NumberCall("bit_or", (int(other),)):
            return number | other
        case NumberCall("incr", (BitRange() as bits,)):  # which stays at its ends
            return number + (bits.of(number) != bits.ones) * (1 << bits.low)
        case NumberCall("decr", (BitRange() as bits,)):
            return number - (bits.of(number) != 0) * (1 << bits.low)
    return number


# conditions nest as deep as they are written, which the parser limits
def holds(condition: NumberCall, number: int) -> bool:
    """Return whether a condition holds for a number."""
    match condition:
        case NumberCall("and", (NumberCall() as one, NumberCall() as other)):
            return holds(one, number) and holds(other, number)
        case NumberCall("or", (NumberCall() as one, NumberCall() as other)):
            return holds(one, number) or holds(other, number)
        case NumberCall("not", (NumberCall() as one,)):
            return not holds(one, number)
        case NumberCall("bit_clear" | "bit_set" as name, (int(bit),)):
            return (number >> bit & 1) == (name == "bit_set")
        case NumberCall("is_ones", (BitRange() as bits,)):
            return bits.of(number) == bits.ones
        case NumberCall("is_zeros", (BitRange() as bits,)):
            return bits.of(number) == 0
        case NumberCall(name, (BitRange() as bits, int(wanted))):
            found = bits.of(number)
            return _COMPARED[name[-2:]](found.bit_count() if name.startswith("bit_count_") else found, wanted)
    return True
