"""Reading the tokens of one file in order, and saying what is wrong where one cannot stand."""

from __future__ import annotations

from typing import Final

from stackmask.grammar.ir import Span
from stackmask.grammar.lark.syntax import Name
from stackmask.grammar.lark.tokens import Token, read_tokens
from stackmask.grammar.source.diagnostics import Collector
from stackmask.grammar.source.work import spend

DIRECTIVES: Final = ("%ignore", "%import", "%declare", "%override", "%extend")


class SyntaxProblem(Exception):
    """A statement that is broken, and was reported."""


class Stream:
    """The tokens of a text, and the place that is read."""

    def __init__(self, text: str, problems: Collector) -> None:
        self.text, self.problems = text, problems
        self.tokens = read_tokens(text, problems)
        self.last = len(self.tokens) - 1
        self.at = 0

    @property
    def token(self) -> Token:
        return self.tokens[min(self.at, self.last)]

    def span(self, start: int, end: int) -> Span:
        return Span(start, end, self.problems.source)

    def fail(self, message: str, token: Token, *, label: str = "", help: str = "") -> SyntaxProblem:
        """Report what is wrong at a token."""
        self.problems.add(
            "G001", message, token.start, max(token.end, token.start + 1), label=label, help=help
        )
        return SyntaxProblem()

    def take(self, kind: str, what: str, help: str = "") -> Token:
        """Return the next token, which must be of this kind."""
        token = self.token
        if token.kind != kind:
            raise self.fail(f"expected {what}, found {shown(token)}", token, label="here", help=help)
        self.at += 1
        return token

    def is_beginning(self, index: int) -> bool:
        """Return whether a statement begins with this token: it is the first of its line, and looks like one."""
        if index and self.tokens[index - 1].kind != "line":
            return False
        token = self.tokens[index]
        return token.kind == "directive" or self.head_end(index) >= 0

    def head_end(self, index: int) -> int:
        """Return the index of the `:` of a definition that begins here; -1 if none does.

        Cost: linear in the head.
        """
        tokens, last = self.tokens, len(self.tokens) - 1
        while tokens[index].kind in ("?", "!"):
            index += 1
        if tokens[index].kind != "name":
            return -1
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
                return -1
        return index if tokens[index].kind in (":", "::") else -1

    def name(self) -> Name:
        token = self.take("name", "a name")
        return Name(token.text, self.span(token.start, token.end))

    def skip_lines(self) -> None:
        while self.token.kind == "line" and self.at < len(self.tokens) - 1:
            self.at += 1

    def unexpected(self, token: Token, begins: bool = False) -> SyntaxProblem:
        """Report a token that cannot stand where it does."""
        kind = token.kind
        before = self.tokens[self.at - 2] if self.at > 1 else token
        if begins:
            if kind == "|":
                return self.fail("`|` continues no rule", token, help="a rule begins with `name:`")
            return self.fail(
                f"expected a rule or a directive, found {shown(token)}",
                token,
                label="here",
                help="a rule ends at the end of its line: go on with `|`, within parentheses, or after a `\\`",
            )
        if kind in ("*", "+", "?", "{", "~"):
            twice = before.kind in ("*", "+", "?", "}", "number")
            return self.fail(
                f"nothing before `{token.text}` to repeat",
                token,
                label="a repetition cannot be repeated" if twice else "",
                help="put it into parentheses: `(…)" + f"{token.text}`" if twice else "",
            )
        if kind == ":":
            return self.fail("unexpected `:`", token, help="each rule begins a line of its own")
        if kind == ",":
            return self.fail(
                "unexpected `,`",
                token,
                help='parts follow each other without commas; write `","` for the text',
            )
        if kind == ".":
            return self.fail(
                "unexpected `.`", token, help="any character is `/./`; with line breaks `/(?s:.)/`"
            )
        if kind == "&":
            return self.fail("`&` needs an operand on either side", token)
        if kind == "directive":
            return self.fail(f"`{token.text}` begins a line of its own", token)
        return self.fail(f"unexpected {shown(token)}", token, label="here")


def shown(token: Token) -> str:
    """Return a token as messages name it."""
    if token.kind == "line":
        return "the end of the line"
    return f"`{token.text:.60}`"
