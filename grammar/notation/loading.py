"""Parts of loading that both notations share: the skip rule, and hints for texts in other notations."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final, NamedTuple

from stackmask.grammar import ir
from stackmask.grammar.ir import Expr, Rule, RuleRef, RuleSet, Span
from stackmask.grammar.ir.build import choice
from stackmask.grammar.notation.tree import Part
from stackmask.grammar.source.files import bundled_names
from stackmask.grammar.source.visible import escaped
from stackmask.grammar.source.work import spend

SKIP_RULE: Final = "%skip"
START_RULE: Final = "%start"


class Loaded(NamedTuple):
    """Rules, with the parts in other languages by the rule names that refer to these parts."""

    rules: RuleSet
    parts: dict[str, Part]


def skip_rule(
    name: str, skipped: Iterable[Expr], body_of: Callable[[str], Expr | None], span: Span | None = None
) -> Rule:
    """Return the rule of the text between terminals: any number of these expressions, in any rule."""
    options: list[Expr] = []
    seen: set[str] = set()
    todo = list(skipped)[::-1]
    while todo:
        expr = todo.pop()
        spend(4)
        # (x+ | y)* is (x | y)*, with one way to read a text instead of many
        if isinstance(expr, ir.Repeat) and expr.min <= 1 and expr.max != 0:
            todo.append(expr.item)
        elif isinstance(expr, ir.Choice):
            todo.extend(reversed(expr.items))
        elif isinstance(expr, RuleRef) and (body := body_of(expr.name)) is not None:
            if expr.name not in seen:
                seen.add(expr.name)
                todo.append(body)
        elif expr != ir.EPSILON:  # mutant: skipped-nothing
            options.append(expr)
    return Rule(name, ir.Repeat(choice(options) if options else ir.NOTHING, 0, None), span)


# -- Texts of other tools, recognised by their look: what they are, and what one line of them is here. ---

MAX_SHOWN: Final = 60  # characters of a line that is written anew
MAX_LINE: Final = 200  # of lines that are looked at for that
MAX_PATTERN: Final = 2_000  # characters of what may be a regular expression

_NAME = r"[A-Za-z_][\w-]*"
_OWN_RULE = re.compile(rf"(?m)^[ \t]*-*{_NAME}(?:\.{_NAME})*\s*::=")
_PATH = re.compile(r"[\w./\\~-]{1,300}\.(?:ebnf|gbnf|bnf|lark|g4|json|txt)")
_PATTERN = re.compile(r"(?:\^|\\|\(\?|\[)[^\n]*|[^\n:=]*(?:\\[dwsb]|\$$)[^\n]*")
_ABNF_BODY = (
    r"%[xdb][0-9A-Fa-f]|(?<![\w\"'\])}])\d{0,9}\*?\d{0,9}(?:ALPHA|DIGIT|HEXDIG|CRLF|WSP|DQUOTE|OCTET|VCHAR|SP)\b"
    r"|(?<![\w\"'\])}])\d{0,9}\*\d{0,9}[A-Za-z(\"]"
)


# what `Grammar.dump` has words for, and this dialect has not
_DUMP = re.compile(r"<bytes |@keyed<|@keys<|@slot<|@<|<nonempty>")


LARK: Final = "a grammar of Lark"
_COLON = rf"[?!]?{_NAME}(?:\.\d+)?(?:\{{[^}}\n]*\}})?[ \t]*:(?![:=])"
_ANTLR: Final = "a grammar of ANTLR"
_ANTLR_CURE: Final = "write `name ::= …` for `name : … ;`, `%skip X` for `-> skip`, `[^x]` for `~[x]`"
_PEG_CURE: Final = "write `::=` for `<-` and `|` for `/`; the order of alternatives is irrelevant here"
_ISO_CURE: Final = "write `name ::= …` for `name = … ;`, blanks for `,`, `(x)*` for `{x}`, `(x)?` for `[x]`"
_ABNF_CURE: Final = (
    "write `name ::= …` for `name = …`, `|` for `/`, `x{2}` for `2x`, `x*` for `*x`, `(x)?` for `[x]`, `[0-9]` for "
    "DIGIT, `\\x41` for `%x41`, `#` before comments"
)
# what it is, what to change, its look at the beginning of a line, and what is anywhere, if that alone does not tell
_LOOKS: Final[tuple[tuple[str, str, str, str], ...]] = (
    (
        "BNF with names in angle brackets",
        "leave out `<` and `>` around the names of rules",
        r"<[A-Za-z][\w -]*>\s*::=",
        "",
    ),
    ("a parsing expression grammar", _PEG_CURE, rf"{_NAME}\s*(?:<-|←)", ""),
    (
        "a grammar of yacc or bison",
        "write `name ::= …` for `name : … ;`, and a rule for each token",
        r"%%|%(?:token|left|right|nonassoc|start|type|union)\b",
        "",
    ),
    (_ANTLR, _ANTLR_CURE, r"(?:(?:lexer|parser)\s+)?grammar\s+\w+\s*;|[^\n]*->\s*(?:skip|channel\()", ""),
    (_ANTLR, _ANTLR_CURE, rf"(?:fragment\s+)?{_NAME}\s*:(?![:=])", r"(?m);[ \t]*$"),
    (LARK, "Grammar.from_lark(text) reads it as it is", _COLON, ""),
    ("ABNF (RFC 5234)", _ABNF_CURE, rf"{_NAME}[ \t]*=/?", _ABNF_BODY),
    ("EBNF of ISO 14977", _ISO_CURE, rf"{_NAME}[ \t]*=", r"(?m)[,;.][ \t]*$|,"),
    ("another dialect of BNF", "rules are defined with `::=`", rf"{_NAME}[ \t]*(?:=|:=|->|→)", ""),
)


class Foreign(NamedTuple):
    """The actual kind of a text that is not a grammar, if it is recognised, and the remedy."""

    what: str
    start: int
    end: int
    cure: str


def foreign_dialect(text: str) -> Foreign | None:
    """Return the kind of a text that is not EBNF; None if it looks like EBNF, or its kind is unknown.

    Cost: linear; this is for texts with errors only.
    """
    spend(len(text) // 20)
    first = len(text) - len(text.lstrip())
    found = _no_grammar(text.strip())
    if found is not None:
        what, cure = found
        newline = text.find("\n", first)
        return Foreign(what, first, newline if newline >= 0 else len(text.rstrip()), cure)
    if _OWN_RULE.search(text):
        return None
    for name, cure, look, elsewhere in _LOOKS:
        match = re.search(rf"(?m)^[ \t]*(?![ \t])(?:{look})", text)
        if match and re.search(elsewhere, text):
            start = match.end() - len(match[0].lstrip())
            return Foreign(name, start, match.end(), cure + (_example(text) if name != LARK else ""))
    return None


def _no_grammar(text: str) -> tuple[str, str] | None:
    """Return the kind of a text that is not a grammar at all, and the remedy."""
    if text[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            if isinstance(json.loads(text), list):
                return (
                    "a list in JSON",
                    "choices are given as a list: Grammar.from_choices([…]), or Grammar.of",
                )
            return "JSON", "a JSON Schema is read by Grammar.from_json_schema, and as a dict by Grammar.of"
    if text.startswith("# start: ") and _DUMP.search(text):
        cure = "is for reading and comparing: keep the source of the grammar, such as its schema"
        return "the dump of a grammar", f"Grammar.dump() {cure}"
    if text in bundled_names():
        return "the name of a bundled grammar", f'Grammar.bundled("{text}") reads it'
    if _PATH.fullmatch(text):
        return "a path", "Grammar.from_file(path) reads a file, as Grammar.of(pathlib.Path(path)) does"
    if len(text) <= MAX_PATTERN and "::=" not in text and _PATTERN.fullmatch(text):
        cure = "reads it, as Grammar.of(re.compile(pattern)) does; in a grammar it is `root ::= /…/`"
        return "a regular expression", f"Grammar.from_regex(pattern) {cure}"
    return None


# a rule in one line, and what in its body would have to be changed too
_RULE = re.compile(rf"[ \t]*[?!]?<?({_NAME})>?(?:\.\d+)?[ \t]*(?:::=|:=|:|=/|=|<-|←|->|→)[ \t]*(\S.*)")
_LITERAL = re.compile(r"\"[^\"]*\"|'[^']*'")
_CHANGED = re.compile(r"[;,%~{}]|->|(?<!\S)/(?!\S)|(?:DIGIT|ALPHA)\b")


def _example(text: str) -> str:
    """Return the first rule that fits on one line as it is written; empty if there is none."""
    for line in text[: 100 * MAX_LINE].splitlines():
        match = _RULE.fullmatch(line) if len(line) <= MAX_LINE else None
        if match is None:
            continue
        body = match[2].rstrip().removesuffix(";").rstrip()
        if "<" in line[: match.end(1)]:
            body = re.sub(rf"<({_NAME})>", r"\1", body)
        rule = f"{match[1]} ::= {body}"
        if len(rule) <= MAX_SHOWN and not _CHANGED.search(_LITERAL.sub("", body)):
            return f"; for example `{''.join(c if c.isprintable() else escaped(c) for c in rule)}`"
    return ""


# -- EBNF or Lark ---------------------------------------------------------------------------------------------

_EBNF_RULE: Final = re.compile(r"(?m)^[ \t]*(-*[A-Za-z0-9_][A-Za-z0-9_.-]*)[ \t]*::=")
_LARK_RULE: Final = re.compile(
    r"(?m)^[ \t]*(?:[?!]{0,2}[A-Za-z_][A-Za-z0-9_-]*(?:\{[^}\n:]*\})?(?:\.-?[0-9]+)?(?:\[[^\]\n:]*\])?[ \t]*:(?![:=])"
    r"|%(?:ignore|import|declare|override|extend)\b)"
)
_LARK_CURES: Final = {
    "a grammar of ANTLR": "write `name: …` without `;`, `NAME: …` for tokens, `%ignore X` for `-> skip`, `/[^x]/` for `~[x]`",
    "a grammar of yacc or bison": "write `name: …` without `;`, and `NAME: …` for each token",
}
_LARK_CURE: Final = 'a rule is `name: "text" OTHER | …` on a line of its own, a terminal `OTHER: /regex/`'


def is_lark(text: str) -> bool:
    """Return whether a grammar text is Lark rather than EBNF: its rules have `:`, and none has `::=`."""
    spend(len(text) // 20)
    return _LARK_RULE.search(text) is not None and _EBNF_RULE.search(text) is None


def foreign_to_lark(text: str) -> Foreign | None:
    """Return the kind of a text that is not Lark; None if it looks like Lark, or is unknown. Cost: linear."""
    rule = _EBNF_RULE.search(text)
    if rule is not None:
        return Foreign("EBNF or GBNF", rule.start(1), rule.end(), "Grammar.from_ebnf(text) reads it as it is")
    found = foreign_dialect(text)
    if found is None or found.what == LARK:
        return None
    if found.what in ("JSON", "a list in JSON", "a path"):
        return found
    if found.what == "a regular expression":
        cure = "in a grammar it is `start: /…/`; Grammar.from_regex(pattern) reads it alone"
        return None if _LARK_RULE.search(text) else found._replace(cure=cure)
    return found._replace(cure=_LARK_CURES.get(found.what, _LARK_CURE))
