"""Parse one EBNF file into a module, finding as many of its problems as there are.

A rule ends where the next ``name ::=`` begins, so neither separators nor lines matter. One that is broken is reported
once, and reading goes on where the next one begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final, Literal

from stackmask.grammar import ir
from stackmask.grammar.ebnf.macros import NAMES, macro_node, read_call
from stackmask.grammar.ir import EPSILON, CharClass, Choice, Expr, RuleRef, Span, TokenTerminal
from stackmask.grammar.notation import tree
from stackmask.grammar.notation.reading import (
    OpenGroup,
    Stream,
    SyntaxProblem,
    Token,
    comments_in,
    read_ids,
    read_json,
    without_surrogates,
)
from stackmask.grammar.notation.tree import EMPTY, Group, Module, Name, Node, Prefix
from stackmask.grammar.regex.compile import regex_expr
from stackmask.grammar.regex.inline_regex import FLAGS, character, check_bounds, parse_regex, read_bounds
from stackmask.grammar.source import charclass
from stackmask.grammar.source.diagnostics import Collector, GrammarError, line_and_column
from stackmask.grammar.source.escapes import read_class, read_literal
from stackmask.grammar.source.similar import similar
from stackmask.grammar.source.work import spend

# a hyphen or dot that touches a name is part of it
_NAME: Final = r"-*[A-Za-z0-9_](?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9_-]))*"
# comments may stand between a name and its `::=`; written so that there is one way to match them
_DEFINES: Final = r"(?:\s|(?:#|//)[^\n]*\n|\(\*(?:[^*]|\*(?!\)))*\*\))*::="
_TOKEN: Final = re.compile(
    r"[\s\ufeff]*(?:(?P<blank>(?:#|//)[^\n]*|\(\*[\s\S]*?\*\)|\Z)"
    rf"|(?P<name>{_NAME})(?:(?={_DEFINES})(?P<head>)|(?=[ \t]*(?:[:=]|->))(?P<foreign>))?"
    # the flag is part of the literal only where it is not the beginning of a name
    r"|(?P<string>(?:\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\"|'[^'\\\n]*(?:\\.[^'\\\n]*)*')(?:i(?![\w-]))?)"
    # a POSIX class at its beginning is read to its end, to be refused as one
    r"|(?P<chars>\[(?:\^?\[:\^?[a-z]+:\](?:\[:\^?[a-z]+:\]|\\.|[^\]\\\n])*|[^\]\\\n]*(?:\\.[^\]\\\n]*)*)\])"
    r"|(?P<regex>/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[A-Za-z]*)"
    r"|(?P<token><\[[^\]\n]*\]>|<\"(?:\\.|[^\"\\\n])*\">|<[^<>\s\"\[][^<>\s]*>)"
    r"|(?P<directive>%(?:import|skip|lexical|syntactic|stack|json|choice|sql|regex|marker)(?![\w-]))"
    r"|(?P<call>@(?:push|scope)(?![\w-]))|(?P<top>@top(?![\w-]))|(?P<bounds>\{[^{}\n]*\})"
    r"|(?P<sign>::=|!>>|\(=|\((?!\*)|[!&\-.*+?)|,]))"
)
# what no token begins with, to where reading can go on
_WRONG: Final = re.compile(r"\(\*[\s\S]*|[\"'\[][^\n]*|/(?![/*])[^\n]*|%[A-Za-z]+|[\s\S]")
COMMENT: Final = re.compile(r"(?:#|//)[^\n]*|\(\*[\s\S]*?\*\)")
_MACRO: Final = re.compile(rf"(?:{'|'.join(NAMES)})\s*\(")
_HEAD: Final = re.compile(rf"{_NAME}(?={_DEFINES})")
_OPENS: Final = re.compile(r"\s*\((?![*=])")
_AFTER_CALL: Final = re.compile(_DEFINES)
_OTHER_DEFINES: Final = re.compile(r"[ \t]*(:=|:|=|->|<-)")
_WORD: Final = re.compile(r"[%@]?[\w-]+")
_ESCAPE: Final = re.compile(r"\\(?:[pP]\{\w*\}|\w)")
# XGrammar prints `{2, -1}` for `{2,}`
_BOUNDS: Final = re.compile(r"\{\s*([0-9]*)\s*(,?)\s*([0-9]*|(?<=[0-9],\s)-1|(?<=[0-9],)-1)\s*\}")
_QUANTIFIERS: Final[dict[str, tuple[int, int | None]]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_JSON_EXAMPLE: Final = '`%json {"type": "integer"}` or `%choice ["yes", "no"]`'

DIRECTIVES: Final = ("%import", "%skip", "%lexical", "%syntactic", "%stack")
_PARTS: Final = ("%json", "%choice", "%regex", "%sql", "%marker")
_KNOWN: Final = {"%": ("directive", DIRECTIVES + _PARTS), "@": ("construct", ("@push", "@scope", "@top"))}
_ELSEWHERE: Final = {"%ignore": "%skip", "%whitespace": "%skip", "%declare": "%lexical"}
_ENDS: Final = frozenset(
    {"head", "foreign", "unknown", "end", *DIRECTIVES}
)  # which statements begin with, too
_REPEATS: Final = frozenset({"*", "+", "?", "bounds"})

A_RULE: Final = "a rule is a name, `::=` and an expression"
_REPEAT: Final = "nothing before `{0}` to repeat"
_QUOTED: Final = 'write `"{0}"` for the character'
# what no element can begin with, by the kind of its token: message and help, with the token in place of {0}
_MESSAGES: Final[dict[str, tuple[str, str]]] = {
    "*": (_REPEAT, 'put it into quotes for the character: `"{0}"`'),
    "bounds": (_REPEAT, "braces hold a repetition count, as in `x{{2}}`; for repeated parts write `(…)*`"),
    "follow": (_REPEAT, "a follow restriction matches nothing and cannot be repeated"),
    ")": ("`)` closes nothing", _QUOTED),
    "-": ("`{0}` needs an operand on either side", _QUOTED),
    ",": ("unexpected `,`", 'elements follow each other without commas; write `","` for the text'),
    "(=": (
        "a look-ahead `(= …)` stands at the end of a rule",
        "move it behind the last element of the rule, or leave it out: it changes no text",
    ),
    "::=": ("unexpected `::=`", A_RULE),
}
_MESSAGES["+"] = _MESSAGES["?"] = _MESSAGES["*"]
_MESSAGES["&"] = _MESSAGES["-"]
# the same where an operand is still to come, by what it is for
_UNFINISHED: Final[dict[str, tuple[str, str]]] = {
    "-": ("nothing stands behind `-` or `&`", 'write `"-"` or `"&"` for the character'),
    "!": ("`!` needs an operand", "`!x` is any text but x"),
    "!>>": ("`!>>` needs a class or a character", "for example `!>> [A-Za-z0-9_]`"),
}
# how what no token begins with is reported: code, message, label, and help
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
    "(": ("G002", "the comment `(*` is not closed", "opened here", "add a `*)`"),
    "/*": ("G001", "`/*` does not start a comment", "", "comments are #, // and (* … *)"),
}  # fmt: skip
_CHARACTERS["'"], _CHARACTERS["="] = _CHARACTERS['"'], _CHARACTERS[":"]


def parse_module(text: str, source: int, problems: Collector) -> Module:
    """Parse a file into a module; what is wrong is reported, and the rules around it kept.

    Cost: linear, about 5 µs a token.
    """
    return Parser(text, source, problems).module


def comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield the comments that begin with `#`, each with its offset."""
    for match in comments_in(text, _read_tokens(text, Collector()), COMMENT):
        if match[0][0] == "#":
            yield match.start(), match[0]


def _read_tokens(text: str, problems: Collector) -> list[Token]:
    """Return the tokens of a text. A file that defines a rule of a macro's name means that rule."""
    macros = NAMES if _MACRO.search(text) else ()
    found = Collector(problems.source)
    tokens = _tokens(text, found, macros)
    if macros:
        defined = {token.text for token in tokens if token.kind == "head"}
        for at, token in enumerate(tokens):
            if token.kind == "%import":
                while tokens[at].kind not in (")", "end"):
                    defined.add(tokens[at].text)
                    at += 1
        if any(token.kind == "macro" and token.value.name in defined for token in tokens):
            found = Collector(problems.source)
            tokens = _tokens(text, found, [name for name in NAMES if name not in defined])
    problems.found += found.found
    return tokens


def _tokens(text: str, problems: Collector, macros: Collection[str]) -> list[Token]:
    tokens: list[Token] = []
    at, end = 0, len(text)
    match, make = _TOKEN.match, tuple.__new__  # `Token(…)` takes three times as long
    while at < end:
        done = at
        found = match(text, at)
        if found is None:
            while text[at].isspace() or text[at] == "\ufeff":
                at += 1
            wrong = _WRONG.match(text, at)
            assert wrong is not None
            kind = "unknown" if wrong[0][0] == "%" and len(wrong[0]) > 1 else "wrong"
            tokens.append(Token(kind, wrong[0], at, wrong.end()))
            at = wrong.end()
            continue
        kind = found.lastgroup or ""
        if kind == "blank":
            at = found.end()
            continue
        start, at = found.span("name" if kind in ("head", "foreign") else kind)
        written = text[start:at]
        value: Any = None
        if kind == "sign":
            kind = written
        elif kind == "directive":
            kind = written
            if written in ("%json", "%choice", "%sql"):
                kind, value = "part", (written, None, start)
                if written != "%sql":
                    body, begins, stops = read_json(text, at, written, _JSON_EXAMPLE, problems)
                    following = _HEAD.search(text, begins) if stops is None else None
                    at = stops or (following.start() if following else end)
                    value = (written, body, begins)
                    written = f"{written} {text[begins:at]}"
        elif kind == "foreign" and done and "\n" not in text[done:start]:  # not the first of its line
            kind = "name"
        if written in macros and kind in ("name", "foreign") and (opened := _OPENS.match(text, at)):
            call = read_call(written, text, start, opened.end(), problems.source)
            if call is not None and not _AFTER_CALL.match(text, call.span.end):
                problems.found += call.problems
                kind, at, value = "macro", call.span.end, call
                written = text[start:at]
        tokens.append(make(Token, (kind, written, start, at, value)))
    spend(end // 16 + 4 * len(tokens))
    tokens.append(Token("end", "", end, end))
    return tokens


class Parser(Stream):
    """Reads one text."""

    def __init__(self, text: str, source: int, problems: Collector) -> None:
        text = without_surrogates(text, problems)
        super().__init__(text, _read_tokens(text, problems), problems)
        self.module = Module(source)
        while self.at < self.last:
            before = self.token
            self.too_deep = False
            try:
                self._statement(before)
            except SyntaxProblem:
                self.at += self.token is before
                while self.token.kind not in _ENDS:
                    self.at += 1
                # the name is known all the same, or every use of the broken rule would be undefined
                if before.kind in ("head", "foreign"):
                    self._define(before.text, self.place(before))

    # -- statements -------------------------------------------------------------------------------

    def _statement(self, token: Token) -> None:
        module, expected = self.module, "a rule or the end"
        self.at += 1
        match token.kind:
            case "head":
                self._rule(token)
            case "%skip":
                module.skips.append(self._expression())
            case "%lexical" | "%syntactic":
                names = module.lexical if token.kind == "%lexical" else module.syntactic
                names.extend(self._rule_names(token))
                expected = "a rule, a name, `,` or the end"
            case "%import":
                self._import()
            case "%stack":
                self._stack()
                expected = "a rule, a literal or the end"
            case "name" | "foreign":
                other = _OTHER_DEFINES.match(self.text, token.end)
                help = f"write `{token.text} ::=` for `{token.text}{other[1]}`" if other else A_RULE
                message = "expected `::=` after the name of a rule"
                raise self.fail(message, token, label="unexpected", help=help)
            case "::=":
                raise self.fail("a rule without a name", token, label="unexpected", help=A_RULE)
            case _:
                self.at -= 1
                if token.kind in _MESSAGES or token.kind in ("wrong", "unknown"):
                    raise self._unexpected(token)
                problem = "a rule or directive begins with a name or `%`"
                raise self.fail(problem, token, label="unexpected", help=A_RULE)
        token = self.token
        if token.kind in _MESSAGES or token.kind == "wrong":
            raise self._unexpected(token)
        if token.kind not in _ENDS:
            raise self._stopped(f"expected {expected}, found `{token.text}`")

    def _rule(self, head: Token) -> None:
        self.at += 1  # `::=`, which makes it a head
        body = self._expression()
        if self.token.kind == "(=":  # its names are checked, and nothing else comes of it
            self.at += 1
            look = self._expression(self.tokens[self.at - 1])
            if self.token.kind not in _ENDS:
                kind = self.token.kind
                raise self._unexpected(self.token, "(=" if kind not in (*_REPEATS, *"&-,)") else kind)
            self.module.looks.append(look)
        if self._define(head.text, self.place(head)):
            self.module.define(tree.RuleDefinition(head.text, body, self.place(head)))

    def _define(self, name: str, span: Span) -> bool:
        """Note that a rule of this name begins here; report it and return False if it is the second."""
        first = self.module.known.setdefault(name, span)
        if first is span:
            return True
        line, _ = line_and_column(self.text, first.start)
        help = f"first defined in line {line}; join the two with `|`"
        self.problems.at(span, "G004", f"rule `{name}` is defined twice", help, "defined again")
        return False

    def _expected(self, what: str, kinds: Sequence[str], help: str, short: str = "") -> Token:
        """Return the next token, which must be of one of these kinds."""
        token = self.token
        if token.kind in kinds:
            self.at += 1
            return token
        if token.kind in ("wrong", "unknown") or (token.kind in _MESSAGES and token.kind != ")"):
            raise self._unexpected(token)
        if token.kind not in _ENDS and short:
            what, help = f"{short}, found `{token.text}`", ""
        raise self._stopped(f"expected {what}", help)

    def _stopped(self, message: str, help: str = "") -> SyntaxProblem:
        """Report the next token; a statement ends after its last token."""
        token = self.token
        if token.kind not in _ENDS:
            return self.fail(message, token, label="unexpected", help=help)
        end = self.tokens[self.at - 1].end
        place = Token("end", "", end, end + 1)
        return self.fail(message, place, label="unexpected end", help=help)

    def _import(self) -> None:
        help = "`%import json (value)`"
        what = "the name of a bundled grammar, or a path in quotes"
        target = self._expected(what, ("name", "string"), help)
        text = target.text
        if target.kind == "string":
            text, ignores_case = self._string(target)
            if ignores_case:
                self.problems.add("G018", "a path cannot ignore case", target.end - 1, target.end)
        opened = self._expected("`(` and the names of rules to import", ("(",), help)
        items: list[tuple[Name, Name]] = []
        while not items or self.token.kind == ",":
            self.at += bool(items)
            outer = local = self._name(self._expected("the name of a rule to import", ("name",), help))
            if self.token.kind == "name":
                word = self._name(self.token)
                self.at += 1
                example = "`%import json (value as json_value)`"
                local = self._name(self._expected("a name after `as`", ("name",), example))
                if word.name != "as":
                    message = f"expected `,` or `as`, found `{word.name}`"
                    self.problems.at(word.span, "G001", message, "", "here")
            items.append((outer, local))
        if self.token.kind in _ENDS:
            raise self._unclosed(opened)
        self._expected("`,` or `)`", (")",), "", "`)` or `,`")
        place = self.place(target)
        self.module.imports.append(tree.Import(text, target.kind == "string", tuple(items), place))

    def _rule_names(self, directive: Token) -> list[Name]:
        example = "`%lexical word number`" if directive.kind == "%lexical" else "`%syntactic ROW`"
        found = [self._name(self._expected("the names of rules", ("name",), example, "a name"))]
        while True:
            self.at += self.token.kind == ","
            if self.token.kind != "name":
                return found
            found.append(self._name(self.token))
            self.at += 1

    def _stack(self) -> None:
        module = self.module
        tokens = [self._expected("a text in quotes", ("string",), '`%stack "\\n"`')]
        while self.token.kind == "string":
            tokens.append(self.token)
            self.at += 1
        span = self.place(tokens[0])
        if module.stack is not None:
            self.problems.at(span, "G018", "`%stack` is given twice", "", "again")
        module.stack = tuple(self._string(token)[0].encode() for token in tokens)
        module.stack_span = span

    # -- expressions ------------------------------------------------------------------------------

    def _expression(self, opened: Token | None = None) -> Node:
        """Read alternatives up to the end of the statement, or of a look-ahead."""
        frames = [OpenGroup(opened or self.token)]
        while True:
            token, frame = self.token, frames[-1]
            kind = token.kind
            spend(6)
            if kind in _ATOMS:
                self.at += 1
                self._add(frame, _ATOMS[kind](self, token))
            elif kind == "(" or kind == "call":
                self.at += 1
                if kind == "call":
                    help = "for example `@push(name)`"
                    problem = "`@push` and `@scope` need an argument in parentheses"
                    if self.token.kind != "(":
                        raise self._stopped(problem, help)
                    self.at += 1
                frames.append(OpenGroup(token))
            elif frame.wants is not None and not (kind == "!" and frame.wants.kind != "!>>"):
                raise self._unexpected(token, unfinished=frame.wants)
            elif kind in _REPEATS and frame.is_atom:
                self.at += 1
                frame.items[-1] = self._repeated(frame.items[-1], token)
            elif kind in ("&", "-") and frame.is_atom:
                self.at += 1
                self._end_operand(frame)
                frame.wants, frame.is_taken_away = token, kind == "-"
            elif kind in ("!", "!>>"):
                self.at += 1
                if frame.wants is None:
                    self._end_operation(frame)
                frame.wants = token
                if kind == "!":
                    frame.negations.append(token)
            elif kind == "|":
                self.at += 1
                self._end_alternative(frame)
            elif kind == ")" and (len(frames) > 1 or opened):
                self.at += 1
                self._end_alternative(frame)
                frames.pop()
                if not frames:
                    return self._alternatives(frame)
                self._add(frames[-1], self._closed(frame, token))
            elif (kind in _ENDS or kind == "(=") and len(frames) == 1 and not opened:
                self._end_alternative(frame)
                return self._alternatives(frame)
            elif kind in _ENDS:
                raise self._unclosed(frame.open)
            else:
                problem = "follow" if frame.is_after_follow and kind in ("*", "bounds") else kind
                raise self._unexpected(token, problem)

    def _add(self, frame: OpenGroup, node: Node) -> None:
        """Take a node for the operand that is wanted, or for the next element."""
        wants, frame.wants = frame.wants, None
        if wants is None:
            self._end_operation(frame)
        elif wants.kind == "!>>":
            span = self.span(wants.start, node.span.end)
            node = self.checked(Prefix("!>>", node, span, node.depth + 1))
        frame.is_after_follow = wants is not None and wants.kind == "!>>"
        frame.is_atom = not frame.is_after_follow
        frame.items.append(node)

    def _end_operand(self, frame: OpenGroup) -> None:
        if not frame.is_atom:
            return
        node = frame.items.pop()
        for bang in reversed(frame.negations):
            node = self._complement(bang, node)
        if frame.is_taken_away:
            node = self.checked(Prefix("!", node, node.span, node.depth + 1))
        frame.operands.append(node)
        frame.negations, frame.is_atom, frame.is_taken_away = [], False, False

    def _end_operation(self, frame: OpenGroup) -> None:
        self._end_operand(frame)
        frame.is_after_follow = False
        operands, frame.operands = frame.operands, []
        if operands:
            frame.items.append(operands[0] if len(operands) == 1 else self._covered("&", operands))

    def _end_alternative(self, frame: OpenGroup) -> None:
        self._end_operation(frame)
        items, frame.items = frame.items, []
        if len(items) < 2:
            frame.alternatives.append(items[0] if items else EMPTY)
            return
        elements = [item for item in items if not (isinstance(item, Prefix) and item.op == "!>>")]
        for element in elements if len(elements) > 1 else ():
            if isinstance(element, Group) and element.op == "&":
                self._report_mixed(element)
        frame.alternatives.append(self._covered(" ", items))

    def _alternatives(self, frame: OpenGroup) -> Node:
        found = frame.alternatives
        return found[0] if len(found) == 1 else self._covered("|", found)

    def _closed(self, frame: OpenGroup, token: Token) -> Node:
        """Return what parentheses mean, or a call with them."""
        inner = self._alternatives(frame)
        span = self.span(frame.open.start, token.end)
        if frame.open.kind == "call":
            return self.checked(Prefix(frame.open.text[1:], inner, span, inner.depth + 1))
        if isinstance(inner, Group) and inner.op == "&":
            return self.checked(Group("()", (inner,), span, inner.depth + 1))
        return tree.Terminal(EPSILON, span) if inner is EMPTY else inner

    def _covered(self, op: Literal[" ", "|", "&"], items: Sequence[Node]) -> Node:
        spend(4 + 2 * len(items))
        placed = [item.span for item in items if item.span.start >= 0]
        return self.group(op, items, self.span(placed[0].start, placed[-1].end) if placed else EMPTY.span)

    def _complement(self, bang: Token, item: Node) -> Node:
        span = self.span(bang.start, item.span.end)
        if isinstance(item, tree.Terminal) and isinstance(item.expr, TokenTerminal):
            token = item.expr
            return tree.Terminal(TokenTerminal(token.names, token.id_ranges, not token.negated, span), span)
        return self.checked(Prefix("!", item, span, item.depth + 1))

    def _repeated(self, item: Node, token: Token) -> Node:
        low, high = _QUANTIFIERS.get(token.text) or self._bounds(token)
        span = self.span(item.span.start, token.end)
        return self.checked(tree.Repetition(item, low, high, span, item.depth + 1))

    def _bounds(self, token: Token) -> tuple[int, int | None]:
        match = _BOUNDS.fullmatch(token.text)
        if match is None or not (match[1] or match[3]):
            help = "write {m}, {m,}, {,n} or {m,n} with whole numbers; for optional or repeated parts (…)? or (…)*"
            message = f"`{token.text}` is not a repetition"
            self.problems.at(self.place(token), "G005", message, help)
            return 1, 1
        low, high = read_bounds(match[1], match[2], match[3].replace("-1", ""))
        check_bounds(low, high, token.start, token.end, self.problems)
        return (low, high) if high is None or low <= high else (high, low)

    def _report_mixed(self, element: Group) -> None:
        span = element.span
        written = self.text[span.start : span.end]
        help = "put the operands into parentheses, and what belongs together with them"
        if len(written) <= 40 and "\n" not in written:
            help = f"write `({written})`, or parentheses around all that belongs to an operand"
        self.problems.at(span, "G010", "`-` or `&` beside other elements", help, "which are its operands?")

    # -- terminals --------------------------------------------------------------------------------

    def _name(self, token: Token) -> Name:
        return Name(token.text, self.place(token))

    def _macro(self, token: Token) -> Node:
        return macro_node(token.value, self.module, self.problems)

    def _top(self, token: Token) -> tree.Terminal:
        span = self.place(token)
        return tree.Terminal(ir.Dynamic("top", span), span)

    def _any(self, token: Token) -> tree.Terminal:
        span = self.place(token)
        return tree.Terminal(CharClass(charclass.ANY, span), span)

    def _literal(self, token: Token) -> tree.Terminal:
        span = self.place(token)
        value, ignores_case = self._string(token)
        if not ignores_case:
            return tree.Terminal(ir.Literal(value.encode(), span), span)
        return tree.Terminal(_caseless(value, span), span)

    def _string(self, token: Token) -> tuple[str, bool]:
        """Return the text that a literal means and whether it ignores case."""
        ignores_case = token.text[-1] == "i"
        end = token.end - 2 if ignores_case else token.end - 1
        return read_literal(self.text, token.start + 1, end, self.problems), ignores_case

    def _class(self, token: Token) -> tree.Terminal:
        span = self.place(token)
        return tree.Terminal(
            CharClass(read_class(self.text, token.start, token.end, self.problems), span), span
        )

    def _regex(self, token: Token) -> tree.Terminal:
        close = token.start + token.text.rindex("/")
        flags = self.text[close + 1 : token.end]
        unknown = next((flag for flag in flags if flag not in FLAGS), "")
        if unknown:
            help = (
                "the flags are i (ignore case), s (`.` matches line breaks) and x (spaced out); a name after a regex "
                "needs a blank before it"
            )
            self.problems.add("G008", f"unknown regex flag `{unknown}`", close + 1, token.end, help=help)
        expr = parse_regex(self.text, token.start + 1, close, flags, self.problems)
        return tree.Terminal(expr, self.place(token), 2)

    def _token(self, token: Token) -> tree.Terminal:
        span = self.place(token)
        if token.text.startswith("<["):
            return tree.Terminal(self._token_ids(token.text[2:-2], span), span)
        name = token.text
        if name.startswith('<"'):
            name = read_literal(self.text, token.start + 2, token.end - 2, self.problems)
        return tree.Terminal(TokenTerminal((name,), (), False, span), span)

    def _token_ids(self, written: str, span: Span) -> TokenTerminal:
        ranges: list[tuple[int, int]] = []
        for piece, low, high in read_ids(written.removeprefix("^")):
            if 0 <= low <= high:
                ranges.append((low, high))
                continue
            message = f"`{piece}` is not a token id or a range of ids" if piece else "a token id is missing"
            self.problems.at(span, "G017", message, "for example `<[5]>` or `<[1-5,9]>`")
        return TokenTerminal((), tuple(ranges), written.startswith("^"), span)

    def _part(self, token: Token) -> tree.Terminal:
        directive, value, start = token.value
        place = self.span(token.start, token.start + len(directive))
        if directive == "%choice":
            return self._choice(value, start, place)
        return self._reference(directive, token.text[len(directive) + 1 :], place, start)

    def _reference(self, directive: str, text: str, span: Span, start: int) -> tree.Terminal:
        name = f"{directive}.{span.source}.{span.start}"
        self.module.parts[name] = tree.Part(directive[1:], text, span, start=start)
        return tree.Terminal(RuleRef(name, span=span), span)

    def _marker(self, directive: Token) -> tree.Terminal:
        token = self._expected("a text in quotes after `%marker`", ("string",), '`%marker "<tool_call>"`')
        text, ignores_case = self._string(token)
        span = self.place(token)
        if ignores_case or not text:
            problem = "a marker cannot ignore case" if text else "an empty marker"
            self.problems.at(span, "G018", problem)
        return self._reference("%marker", text, span, span.start)

    def _ecma_regex(self, directive: Token) -> tree.Terminal:
        """Return a pattern of ECMA-262, whose problems are said with their place in the whole text."""
        help = "for example `%regex /[a-z]+(?!x)/i`"
        token = self._expected("a regex after `%regex`", ("regex",), help)
        span, close = self.place(token), token.text.rindex("/")
        try:
            return tree.Terminal(regex_expr(token.text[1:close], flags=token.text[close + 1 :]), span, 2)
        except GrammarError as error:
            self.problems.take(error, span.start + 1, span.start + close, "in `%regex`: ")
        return tree.Terminal(EPSILON, span)

    def _choice(self, value: Any, start: int, span: Span) -> tree.Terminal:
        """Return one of the strings of a list."""
        words = value if isinstance(value, list) else []
        spend(len(words))
        strings = [word for word in words if isinstance(word, str)]
        if value is not None and (not words or len(strings) < len(words)):
            help = 'for example `%choice ["yes", "no"]`'
            self.problems.add("G020", "`%choice` needs a list of strings", start, start + 1, help=help)
        if any("\ud800" <= char <= "\udfff" for word in strings for char in word):
            message = "a choice holds half a character (a surrogate)"
            self.problems.add("G006", message, start, start + 1)
        encoded = sorted({word.encode("utf-8", "surrogatepass") for word in strings})
        return tree.Terminal(Choice(tuple(ir.Literal(word) for word in encoded), span), span, 2)

    # -- problems ---------------------------------------------------------------------------------

    def _unclosed(self, opened: Token) -> SyntaxProblem:
        sign = opened.text if opened.kind != "call" else "("
        start = opened.start if opened.kind != "call" else self.text.index("(", opened.end)
        place = Token(sign, sign, start, start + 1)
        return self.fail(f"`{sign}` is not closed", place, label="opened here", help="add a `)`", code="G002")

    def _unexpected(
        self, token: Token, problem: str = "", *, unfinished: Token | None = None
    ) -> SyntaxProblem:
        """Report a token that cannot stand where it does."""
        kind = token.kind
        if kind == "wrong" or (kind == "unknown" and unfinished is None):
            return self._wrong(token)
        found = token.text if kind not in _ENDS else "the end"
        message = help = ""
        if unfinished is not None:
            sign = "-" if unfinished.kind == "&" else unfinished.kind
            if kind in _ENDS or kind == "|" or (sign == "-" and kind in (")", "!>>")):
                message, help = _UNFINISHED[sign]
        known = _MESSAGES.get(problem or kind)
        if (
            not message
            and known is not None
            and (problem or kind in (*_REPEATS, *"&-,)", "(=") or not unfinished)
        ):
            message, help = known[0].format(found), known[1].format(found)
        if not message:
            message = f"expected an expression, found `{found}`"
        return self._stopped(message, help)

    def _wrong(self, token: Token) -> SyntaxProblem:
        """Report a character at which no token begins."""
        text, start, char = self.text, token.start, token.text[0]
        key = "/*" if text.startswith("/*", start) else char
        shown = ":=" if text.startswith(":=", start) else char
        if key == "(":
            shown = "(*"
        if key in _CHARACTERS:
            code, message, label, help = _CHARACTERS[key]
            place = Token("", "", start, start + max(len(shown), len(key)))
            return self.fail(message.format(shown), place, label=label, help=help.format(shown), code=code)
        code, end = "G001", start + 1
        if char in _KNOWN:
            word = match[0] if (match := _WORD.match(text, start)) else char
            what, known = _KNOWN[char]
            close = _ELSEWHERE.get(word) or similar(word, known)
            code, message, end = "G012", f"unknown {what} `{word}`", start + len(word)
            help = f"did you mean `{close}`?" if close else f"there are {', '.join(known)}"
        elif char == "\\" and (escape := _ESCAPE.match(text, start)):
            message, end = f"unexpected `{escape[0]}`", escape.end()
            help = f"write it as a class, `[{escape[0]}]`, or in a pattern, `/{escape[0]}+/`"
        else:
            message = f"unexpected character {f'`{char}`' if char.isprintable() else f'U+{ord(char):04X}'}"
            help = 'text to be matched stands in quotes, as in `"text"`'
        return self.fail(message, Token("", "", start, end), help=help, code=code)


_ATOMS: Final[dict[str, Callable[[Parser, Token], Node]]] = {
    "name": Parser._name,
    "macro": Parser._macro,
    "string": Parser._literal,
    "chars": Parser._class,
    ".": Parser._any,
    "regex": Parser._regex,
    "token": Parser._token,
    "top": Parser._top,
    "part": Parser._part,
    "%regex": Parser._ecma_regex,
    "%marker": Parser._marker,
}


def _caseless(value: str, span: Span) -> Expr:
    spend(2 * len(value))
    items: list[Expr] = []
    plain = ""
    for char in value:
        expr = character(ord(char), True, span)
        if isinstance(expr, ir.Literal):
            plain += char
            continue
        if plain:
            items.append(ir.Literal(plain.encode(), span))
            plain = ""
        items.append(expr)
    if plain or not items:
        items.append(ir.Literal(plain.encode(), span))
    return items[0] if len(items) == 1 else ir.Sequence(tuple(items), span)
