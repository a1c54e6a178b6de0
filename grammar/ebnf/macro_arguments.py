"""The arguments of macros: strings, numbers, truth values, names, and tuples of them."""

from __future__ import annotations

import re
from typing import Final

from stackmask.grammar.ebnf.syntax import Call, Value
from stackmask.grammar.ir import Span
from stackmask.grammar.regex.pattern.reader import MAX_COUNT, read_number
from stackmask.grammar.source.diagnostics import Collector
from stackmask.grammar.source.escapes import read_literal
from stackmask.grammar.source.similar import similar
from stackmask.grammar.source.work import spend

CLOSES: Final = ")"
MAX_SHOWN: Final = 40  # characters of what is not understood
NAMED: Final = {
    "Regex": ("json_string",),
    "TagDispatch": ("loop_after_dispatch", "excludes", "stop_eos", "stop_str"),
    "TokenTagDispatch": ("loop_after_dispatch", "excludes"),
}
_ITEM: Final = re.compile(
    r"(?:\s|#[^\n]*(?:\n|\Z))*(?:"
    r"(?P<string>\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\"|'[^'\\\n]*(?:\\.[^'\\\n]*)*')"
    r"|(?P<number>-?[0-9]+(?![\w.]))"
    r"|(?P<name>-*[A-Za-z0-9_](?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9_-]))*)"
    r"|(?P<sign>[(),=]))"
)
_OTHER: Final = re.compile(r"\s*([^\s,()]{1,40})")


def read_arguments(text: str, at: int, macro: str, problems: Collector) -> tuple[list[Value], int]:
    """Read arguments up to the parenthesis that closes them; return them and the offset after that.

    What is wrong is reported once; reading goes on at the closing parenthesis.
    Cost: linear.
    """
    source = problems.source
    values: list[Value] = []
    named = ""  # the name before `=`
    named_at = at
    tuple_start = -1  # of the tuple that is open
    items: list[Value] = []
    wants_value = True
    while match := _ITEM.match(text, at):
        spend(4)
        kind = str(match.lastgroup)
        written = match[kind]
        span = Span(match.start(kind), match.end(kind), source)
        at = match.end()
        value: Value | None = None
        if kind == "sign" and written == ")" and tuple_start < 0:
            if (wants_value and values) or named:
                _report("a value is missing", span, problems)
            return values, at
        if kind == "sign" and written == ")":
            value = Value("tuple", "", Span(tuple_start, span.end, source), items=tuple(items))
            tuple_start, items, wants_value = -1, [], True
        elif kind == "sign" and written == "(" and wants_value and tuple_start < 0:
            tuple_start, items = span.start, []
            continue
        elif kind == "sign" and written == "," and not wants_value:
            wants_value = True
            continue
        elif kind == "sign" or not wants_value:
            shown = f"`{written:.{MAX_SHOWN}}`"
            problem = f"unexpected {shown} in the arguments of `{macro}`"
            if written == "(" and tuple_start >= 0:
                problem = "a tuple within a tuple"
            _report(problem, span, problems)
            return values, _closing(text, at, 1 + (tuple_start >= 0) + (written == "("))
        elif kind == "name":
            follows = _ITEM.match(text, at) if tuple_start < 0 and not named else None
            if follows and follows["sign"] == "=":
                named, named_at, at = written, span.start, follows.end()
                continue
            value = Value("flag" if written in ("true", "false") else "name", written, span)
        elif kind == "string":
            found = read_literal(text, span.start + 1, span.end - 1, problems)
            value = Value("string", found, span)
        else:
            value = Value("number", written, span)
        wants_value = False
        if tuple_start >= 0:
            items.append(value)
            continue
        values.append(value._replace(name=named, named_at=named_at))
        named = ""
    other = _OTHER.match(text, at)
    start = other.start(1) if other else at
    end = other.end(1) if other else min(at + 1, len(text))
    _report(f"`{text[start:end]}` cannot be an argument of `{macro}`", Span(start, end, source), problems)
    return values, _closing(text, at, 1 + (tuple_start >= 0))


def _report(problem: str, span: Span, problems: Collector) -> None:
    if not problems.found:
        help = 'arguments are "texts", numbers, `true`, `false`, names of rules, and tuples of these'
        problems.add("G020", problem, span.start, span.end, label="here", help=help)


def _closing(text: str, at: int, opened: int) -> int:
    """Return the offset after the parenthesis that closes so many; that of the end where there is none."""
    # a string may lack its end, or each quote would be looked for again
    sign = re.compile(r"\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\"?|#[^\n]*|[()]|::=")
    while opened and (match := sign.search(text, at)):
        spend(1)
        if match[0] == "::=":
            break
        opened += (match[0] == "(") - (match[0] == ")")
        at = match.end()
    return at


class Arguments:
    """The arguments of a call, by kind; what is wrong with them is reported with its place."""

    def __init__(self, call: Call, problems: Collector) -> None:
        self.call = call
        self.problems = problems
        self.positional = [value for value in call.values if not value.name]
        self._named = {value.name: value for value in call.values if value.name}

    def wrong(self, problem: str, value: Value | None, help: str = "") -> None:
        """Report what is wrong with a value, or with the call."""
        span = value.span if value is not None else self.call.span
        self.problems.add(
            "G020", f"`{self.call.name}`: {problem}", span.start, span.end, label="here", help=help
        )

    def text(self, value: Value, *, least: int = 0) -> str:
        """Return a string."""
        if value.kind != "string":
            self.wrong("a text in quotes is needed", value)
        elif len(value.text) < least:
            self.wrong("the empty text is everywhere", value)
        elif any("\ud800" <= char <= "\udfff" for char in value.text):
            return ""  # reported where it was read
        return value.text if value.kind == "string" else ""

    def token_id(self, value: Value) -> int:
        """Return the id of a token."""
        number = read_number(value.text) if value.kind == "number" and value.text[:1] != "-" else -1
        if not 0 <= number <= MAX_COUNT:
            self.wrong("a token id is needed, a whole number", value)
            return 0
        return number

    def flag(self, name: str, default: bool) -> bool:
        """Return a truth value."""
        value = self._named.get(name)
        if value is None:
            return default
        if value.kind != "flag":
            self.wrong(f"`{name}` is `true` or `false`", value)
        return value.text == "true"

    def values(self, name: str) -> tuple[Value, ...]:
        """Return the items of a tuple; a single value stands for a tuple of one."""
        value = self._named.get(name)
        if value is None:
            return ()
        return (value.items or ()) if value.kind == "tuple" else (value,)

    def finish(self) -> None:
        """Report named arguments that the macro does not have, and such as are given twice."""
        known = NAMED.get(self.call.name, ())
        seen: set[str] = set()
        for value in self.call.values:
            if not value.name:
                continue
            end = value.named_at + len(value.name)
            if value.name not in known:
                close = similar(value.name, known)
                there = ", ".join(f"`{name}`" for name in known) or "none"
                help = f"did you mean `{close}`?" if close else f"there are: {there}"
                problem = f"`{self.call.name}` has no argument `{value.name:.{MAX_SHOWN}}`"
                self.problems.add("G020", problem, value.named_at, end, label="here", help=help)
            elif value.name in seen:
                problem = f"`{value.name}` is given twice"
                self.problems.add("G020", problem, value.named_at, end, label="again", help="leave one out")
            seen.add(value.name)
