"""Say what is wrong where the parser stopped.

The examples are the table that picks the message: each is parsed once, and the parser state and token where
it fails stand for all texts that fail there (the idea is Lark's ``match_examples``). A failure that no
example describes names what was expected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from stackmask.grammar.source.diagnostics import Collector
from stackmask.grammar.source.similar import similar


class Malformed(NamedTuple):
    example: str
    message: str
    help: str = ""


NOTHING_TO_REPEAT = "nothing before `{found}` to repeat"
NO_RIGHT_OPERAND = "nothing stands behind `-` or `&`"
QUOTE_OPERATOR = 'write `"-"` or `"&"` for the character'
NO_OPERAND = "`{found}` needs an operand on either side"
UNBALANCED = "`)` closes nothing"
LATE_LOOK = "a look-ahead `(= …)` stands at the end of a rule"
LATE_LOOK_HELP = "move it behind the last element of the rule, or leave it out: it changes no text"
NO_DEFINES = "expected `::=` after the name of a rule"
OTHER_DEFINES: Final = re.compile(r"[ \t]*(:=|:|=|->|<-)")

EXAMPLES: Final = (
    Malformed("a ::= *", NOTHING_TO_REPEAT, 'put it into quotes for the character: `"{found}"`'),
    Malformed("a ::= +", NOTHING_TO_REPEAT, 'put it into quotes for the character: `"{found}"`'),
    Malformed("a ::= ?", NOTHING_TO_REPEAT, 'put it into quotes for the character: `"{found}"`'),
    Malformed("a ::= b | *", NOTHING_TO_REPEAT, 'put it into quotes for the character: `"{found}"`'),
    Malformed(
        "a ::= {2}",
        NOTHING_TO_REPEAT,
        "braces hold a repetition count, as in `x{{2}}`; for repeated parts write `(…)*`",
    ),
    Malformed(
        'a ::= !>> "b" *', NOTHING_TO_REPEAT, "a follow restriction matches nothing and cannot be repeated"
    ),
    Malformed(
        'a ::= !>> "b" {2}', NOTHING_TO_REPEAT, "a follow restriction matches nothing and cannot be repeated"
    ),
    Malformed("a ::= )", UNBALANCED, 'write `")"` for the character'),
    Malformed("a ::= b )", UNBALANCED, 'write `")"` for the character'),
    Malformed("a ::= - b", NO_OPERAND, 'write `"-"` for the character'),
    Malformed("a ::= & b", NO_OPERAND, 'write `"&"` for the character'),
    Malformed("a ::= b -", NO_RIGHT_OPERAND, QUOTE_OPERATOR),
    Malformed("a ::= b &", NO_RIGHT_OPERAND, QUOTE_OPERATOR),
    Malformed("a ::= b - | c", NO_RIGHT_OPERAND, QUOTE_OPERATOR),
    Malformed("a ::= (b - )", NO_RIGHT_OPERAND, QUOTE_OPERATOR),
    Malformed("a ::= b - !>> c", NO_RIGHT_OPERAND, QUOTE_OPERATOR),
    Malformed("a ::= !", "`!` needs an operand", "`!x` is any text but x"),
    Malformed("a ::= ! | b", "`!` needs an operand", "`!x` is any text but x"),
    Malformed("a ::= b !>>", "`!>>` needs a class or a character", "for example `!>> [A-Za-z0-9_]`"),
    Malformed("a ::= b !>> | c", "`!>>` needs a class or a character", "for example `!>> [A-Za-z0-9_]`"),
    Malformed(
        "a ::= b , c", "unexpected `,`", 'elements follow each other without commas; write `","` for the text'
    ),
    Malformed(
        "a ::= , c", "unexpected `,`", 'elements follow each other without commas; write `","` for the text'
    ),
    Malformed(
        "a ::= (b , c)",
        "unexpected `,`",
        'elements follow each other without commas; write `","` for the text',
    ),
    Malformed("a ::= (b (= c))", LATE_LOOK, LATE_LOOK_HELP),
    Malformed("a ::= b (= (c (= d)))", LATE_LOOK, LATE_LOOK_HELP),
    Malformed("a ::= b (= c) d", LATE_LOOK, LATE_LOOK_HELP),
    Malformed('a ::= b (= c) "d"', LATE_LOOK, LATE_LOOK_HELP),
    Malformed("a ::= b (= c) [d]", LATE_LOOK, LATE_LOOK_HELP),
    Malformed("a ::= b (= c) (d)", LATE_LOOK, LATE_LOOK_HELP),
    Malformed("a ::= b (= c) (= d)", LATE_LOOK, LATE_LOOK_HELP),
    Malformed("a ::= b (= c) | d", LATE_LOOK, LATE_LOOK_HELP),
    Malformed("a ::= ::= b", "unexpected `::=`", "a rule is a name, `::=` and an expression"),
    Malformed("::= b", "a rule without a name", "a rule is a name, `::=` and an expression"),
    Malformed("a", NO_DEFINES, "a rule is a name, `::=` and an expression"),
    Malformed("a (", NO_DEFINES, "a rule is a name, `::=` and an expression"),
    Malformed(
        '"a"', "a rule or directive begins with a name or `%`", "a rule is a name, `::=` and an expression"
    ),
    Malformed(
        "(", "a rule or directive begins with a name or `%`", "a rule is a name, `::=` and an expression"
    ),
    Malformed(
        "a ::= @push", "`@push` and `@scope` need an argument in parentheses", "for example `@push(name)`"
    ),
    Malformed(
        "a ::= @push b", "`@push` and `@scope` need an argument in parentheses", "for example `@push(name)`"
    ),
    Malformed(
        "%import", "expected the name of a bundled grammar, or a path in quotes", "`%import json (value)`"
    ),
    Malformed("%import json", "expected `(` and the names of rules to import", "`%import json (value)`"),
    Malformed(
        "%import json value", "expected `(` and the names of rules to import", "`%import json (value)`"
    ),
    Malformed("%import json (", "expected the name of a rule to import", "`%import json (value)`"),
    Malformed("%import json ()", "expected the name of a rule to import", "`%import json (value)`"),
    Malformed("%import json (a as)", "expected a name after `as`", "`%import json (value as json_value)`"),
    Malformed("%lexical", "expected the names of rules", "`%lexical word number`"),
    Malformed("%syntactic", "expected the names of rules", "`%syntactic ROW`"),
    Malformed("a ::= %regex", "expected a regex after `%regex`", "for example `%regex /[a-z]+(?!x)/i`"),
    Malformed('a ::= %regex "b"', "expected a regex after `%regex`", "for example `%regex /[a-z]+(?!x)/i`"),
    Malformed("a ::= %regex b", "expected a regex after `%regex`", "for example `%regex /[a-z]+(?!x)/i`"),
    Malformed("a ::= %marker", "expected a text in quotes after `%marker`", '`%marker "<tool_call>"`'),
    Malformed("a ::= %marker b", "expected a text in quotes after `%marker`", '`%marker "<tool_call>"`'),
    Malformed("%stack", "expected a text in quotes", '`%stack "\\n"`'),
    Malformed("%stack a", "expected a text in quotes", '`%stack "\\n"`'),
)

# tokens that mean the same mistake wherever they are not expected
ALIKE_EVERYWHERE: Final = frozenset(
    {"STAR", "PLUS", "QUESTION", "BOUNDS", "AND", "MINUS", "RPAR", "_COMMA", "LOOK"}
)

WORDS: Final = {
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
DIRECTIVES: Final = ("%import", "%skip", "%lexical", "%syntactic", "%stack")
ELSEWHERE: Final = {"%ignore": "%skip", "%whitespace": "%skip", "%declare": "%lexical"}
PARTS: Final = ("%json", "%choice", "%regex", "%sql", "%marker")
CONSTRUCTS: Final = ("@push", "@scope", "@top")


class MessageTable:
    """Messages by parser state and token type, made from the examples by ``parse``, which raises."""

    def __init__(self, parse: Callable[[str], object]) -> None:
        from lark.exceptions import UnexpectedToken

        self.exact: dict[tuple[int, str], Malformed] = {}
        self.by_type: dict[str, Malformed] = {}
        for malformed in EXAMPLES:
            try:
                parse(malformed.example)
            except UnexpectedToken as error:
                self.exact.setdefault(key_of(error), malformed)
                if error.token.type in ALIKE_EVERYWHERE:
                    self.by_type.setdefault(error.token.type, malformed)


def key_of(error: Any) -> tuple[int, str]:
    """Return the LALR state and the token type of a failure."""
    return error.state.position, error.token.type


def report_token(error: Any, text: str, offset: int, table: MessageTable, problems: Collector) -> None:
    """Report a token that cannot stand where it does; ``offset`` is where the parsed piece begins in text."""
    token = error.token
    at_end = token.type == "$END"
    if at_end:
        # Lark gives the end the place of the last token
        start = (token.end_pos or 0) + offset
        end = start + 1
    else:
        start, end = token.start_pos + offset, token.end_pos + offset
    found = "the end" if at_end else str(token)
    if token.type == "STAR" and text[start - 1 : start + 1] == "(*":
        problems.add(
            "G002", "the comment `(*` is not closed", start - 1, end, label="opened here", help="add a `*)`"
        )
        return
    malformed = table.exact.get(key_of(error)) or table.by_type.get(token.type)
    if malformed:
        foreign = OTHER_DEFINES.match(text, end) if malformed.message == NO_DEFINES else None
        if foreign:
            malformed = malformed._replace(help=f"write `{found} ::=` for `{found}{foreign[1]}`")
        problems.add(
            "G001",
            malformed.message.format(found=found),
            start,
            end,
            label="unexpected end" if at_end else "unexpected",
            help=malformed.help if foreign else malformed.help.format(found=found),
        )
        return
    opened = _open_group(error.state.value_stack)
    if at_end and opened is not None and "RPAR" in error.expected:
        begin = opened.start_pos + offset
        problems.add("G002", "`(` is not closed", begin, begin + 1, label="opened here", help="add a `)`")
        return
    shown = "the end of the rule" if at_end else f"`{found}`"
    expected = expected_words(error.expected)
    problems.add("G001", f"expected {expected}, found {shown}", start, end, label="unexpected")


def expected_words(expected: Iterable[str]) -> str:
    """Say in words which terminals may come next."""
    names = set(expected)
    words = []
    if {"NAME", "STRING", "CLASS"} <= names:
        words.append("an expression")
        names -= {"NAME", "STRING", "LPAR"}
    words += [word for name, word in WORDS.items() if name in names]
    if not words:
        words = ["something else"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _open_group(values: list[Any]) -> Any | None:
    """Return the innermost parenthesis that the parser has not closed."""
    return next((v for v in reversed(values) if getattr(v, "type", None) == "LPAR"), None)


def report_character(text: str, start: int, problems: Collector) -> None:
    """Report a character at which no terminal begins."""
    char = text[start]
    word_match = re.compile(r"[%@]?[\w-]+").match(text, start)
    word = word_match[0] if word_match else char
    end = start + len(word)
    if char in "\"'":
        problems.add(
            "G002",
            "the literal is not closed on its line",
            start,
            start + 1,
            label="opened here",
            help=f"add a `{char}`, or write `\\n` for a line break in it",
        )
    elif char == "[":
        problems.add(
            "G002",
            "the class is not closed on its line",
            start,
            start + 1,
            label="opened here",
            help=r"add a `]`",
        )
    elif text.startswith("/*", start):
        problems.add(
            "G001", "`/*` does not start a comment", start, start + 2, help="comments are #, // and (* … *)"
        )
    elif char == "/":
        problems.add(
            "G002",
            "the regex is not closed on its line",
            start,
            start + 1,
            label="opened here",
            help="add a `/`; between alternatives write `|`",
        )
    elif char == "{":
        problems.add(
            "G002",
            "the repetition is not closed",
            start,
            start + 1,
            label="opened here",
            help="write {m}, {m,}, {,n} or {m,n}",
        )
    elif char in "%@":
        kind, known = ("directive", DIRECTIVES + PARTS) if char == "%" else ("construct", CONSTRUCTS)
        close = ELSEWHERE.get(word) or similar(word, known)
        help = f"did you mean `{close}`?" if close else f"there are {', '.join(known)}"
        problems.add("G012", f"unknown {kind} `{word}`", start, end, help=help)
    elif char == "<":
        problems.add(
            "G017",
            "`<` begins a special token that does not end",
            start,
            start + 1,
            label="opened here",
            help='write `<|name|>`, `<"any text">` or `<[1,2-5]>`; or `"<"` for the character',
        )
    elif char in ":=":
        operator = text[start : start + 2] if text.startswith(":=", start) else char
        problems.add(
            "G001",
            f"unexpected `{operator}`",
            start,
            start + len(operator),
            help="rules are defined with `::=`",
        )
    elif char == "\\" and (escape := re.compile(r"\\(?:[pP]\{\w*\}|\w)").match(text, start)):
        problems.add(
            "G001",
            f"unexpected `{escape[0]}`",
            start,
            escape.end(),
            help=f"write it as a class, `[{escape[0]}]`, or in a pattern, `/{escape[0]}+/`",
        )
    elif char == ";":
        problems.add(
            "G001", "unexpected `;`", start, start + 1, help="remove it: a rule ends where the next begins"
        )
    else:
        problems.add(
            "G001",
            f"unexpected character `{char}`"
            if char.isprintable()
            else f"unexpected character U+{ord(char):04X}",
            start,
            start + 1,
            help='text to be matched stands in quotes, as in `"text"`',
        )
