"""The tokens of a Lark file, comments and blanks left out. Line breaks are tokens, as they end rules."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

from stackmask.grammar.source.diagnostics import Collector
from stackmask.grammar.source.work import spend

NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*(?:-[A-Za-z0-9_]+)*"
_TOKEN: Final = re.compile(
    r"[ \t\r\f\v\ufeff]*"
    r"(?:(?P<blank>//[^\n]*|\#[^\n]*|\\[ \t]*\r?\n|\Z)"
    r"|(?P<line>\n)"
    rf"|(?P<name>{NAME})"
    r"|(?P<string>\"(?:[^\"\\\n]|\\.)*\"i?)"
    r"|(?P<regex>/(?!/)(?:[^/\\\n]|\\.)+/[imslux]*)"
    r"|(?P<spaced>/(?!/)(?:[^/\\]|\\[\s\S])+/(?=[imslu]*x)[imslux]*)"
    r"|(?P<number>[+-]?[0-9]+)"
    rf"|(?P<directive>%{NAME})"
    rf"|(?P<given>@{NAME})"
    r"|(?P<ids><\[[^<\]\n]*\]>)"
    r"|(?P<special><[^<>\s\[][^<>\s]*>)"
    r"|(?P<sign>->|\.\.|::|[.:,|()\[\]{}*+?!~&=]))"
)
_BODIES: Final = frozenset({"%json", "%regex", "%llguidance"})  # JSON follows them
_SINGLE: Final = re.compile(r"'[^'\n]*('?)")
_BLANKS: Final = re.compile(r"\s*")
_NO_BLANK: Final = re.compile(r"[^ \t\r\f\v\ufeff]")
_DECODER: Final = json.JSONDecoder()


class Token(NamedTuple):
    """``kind``: the group of the pattern above, or the sign itself. ``value``: of a body, the JSON."""

    kind: str
    text: str
    start: int
    end: int
    value: Any = None


def read_tokens(text: str, problems: Collector) -> list[Token]:
    """Return the tokens of a text, and a line break at its end; what is none is reported.

    Cost: linear, about 1 µs a token.
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
        tokens.append(make(Token, (kind, written, start, at, None)))
        if kind == "directive" and written in _BODIES:
            at = _read_body(text, at, tokens, problems)
    spend(end // 4 + 20 * len(tokens))
    tokens.append(Token("line", "\n", end, end))
    return tokens


def _read_body(text: str, at: int, tokens: list[Token], problems: Collector) -> int:
    """Read the JSON that follows the last token, and return the offset after it."""
    blanks = _BLANKS.match(text, at)
    start = blanks.end() if blanks else at
    directive = tokens.pop()
    spend(20)
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        place = error.pos if isinstance(error, json.JSONDecodeError) else start
        spend(place // 8)  # such an error counts the lines before it
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "it nests too deeply"
        problems.add(
            "G020",
            f"`{directive.text}` needs JSON: {reason}",
            place,
            place + 1,
            label="here",
            help='for example `%json {"type": "integer"}`',
        )
        value = None
        end = _line_end(text, start)
    spend((end - start) // 16)
    tokens.append(Token("body", text[start:end], directive.start, end, (directive.text, value, start)))
    return end


def _report(text: str, at: int, problems: Collector) -> int:
    """Report what is no token, and return where reading goes on."""
    spend(30)
    character = text[at]
    if character in '"/':
        what = "string" if character == '"' else "regex"
        problems.add(
            "G002",
            f"the {what} is not closed on its line",
            at,
            at + 1,
            label="opened here",
            help=f"close it with `{character}`"
            + ("; only with the flag `x` may a regex have line breaks" if what == "regex" else ""),
        )
        return _line_end(text, at)
    if character == "'":
        found = _SINGLE.match(text, at)
        assert found is not None
        is_closed = found[1] == "'"
        problems.add(
            "G001",
            "strings stand in double quotes in Lark",
            at,
            found.end() if is_closed else at + 1,
            help=f'write `"{found[0][1:-1]}"`' if is_closed and len(found[0]) <= 60 else 'write `"…"`',
        )
        return found.end()
    cures = {
        ";": "a rule ends at the end of its line; leave it out",
        "^": 'a class of characters stands in a regex: `/[^"]/`',
        "$": "leave it out: a terminal is matched as a whole",
        "=": "a rule is `name: …`",
        "%": "a directive is `%ignore`, `%import`, `%declare`, `%override` or `%extend`",
    }
    problems.add("G001", f"unexpected `{character}`", at, at + 1, label="here", help=cures.get(character, ""))
    # a slash after a backslash begins no regex: each would look for its end in the rest of the text
    return at + 2 if text.startswith("\\/", at) else at + 1  # mutant: escaped-slash


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return end if end >= 0 else len(text)
