"""Lark callbacks: build the syntax tree while the parser reduces, and report what is wrong in terminals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from stackmask.grammar.ebnf.bodies import Body
from stackmask.grammar.ebnf.macros import macro_node
from stackmask.grammar.ebnf.syntax import (
    Definition,
    Group,
    Import,
    Leaf,
    Module,
    Name,
    Node,
    Part,
    Prefix,
    Repetition,
)
from stackmask.grammar.ir import (
    EPSILON,
    CharClass,
    Choice,
    Dynamic,
    Expr,
    Literal,
    RuleRef,
    Span,
    TokenTerminal,
)
from stackmask.grammar.ir import Sequence as SequenceExpr
from stackmask.grammar.regex.compile import regex_expr
from stackmask.grammar.regex.flavours.inline import FLAGS, character, parse_regex
from stackmask.grammar.regex.pattern.reader import MAX_COUNT, check_bounds, read_bounds, read_number
from stackmask.grammar.source import charclass
from stackmask.grammar.source.diagnostics import Collector, GrammarError, line_and_column
from stackmask.grammar.source.escapes import read_class, read_literal
from stackmask.grammar.source.work import spend

MAX_DEPTH: Final = 100  # levels of groups, operators and quantifiers in one rule
EMPTY: Final = Leaf(EPSILON, Span(-1, -1))  # an alternative with nothing in it has no place

# XGrammar prints `{2, -1}` for `{2,}`
_BOUNDS = re.compile(r"\{\s*([0-9]*)\s*(,?)\s*([0-9]*|(?<=[0-9],\s)-1|(?<=[0-9],)-1)\s*\}")
_ID_RANGE = re.compile(r"\s*([0-9]+)\s*(?:-\s*([0-9]+)\s*)?")
_QUANTIFIERS: Final[dict[str, tuple[int, int | None]]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


class Builder:
    """The callbacks of one parse, named after the rules of ``ebnf.lark``; ``children`` are tokens and nodes.

    Not thread safe: one thread has it, with its parser.
    """

    def __init__(self) -> None:
        self.begin("", 0, Module(0), Collector())

    def begin(self, text: str, offset: int, module: Module, problems: Collector) -> None:
        """Prepare for parsing the piece of ``text`` that starts at ``offset``."""
        self.text, self.offset, self.module, self.problems = text, offset, module, problems
        self.too_deep = False

    def span(self, token: Any) -> Span:
        """Return where a Lark token stands in the whole text."""
        spend(16)  # what reading a token takes, with the calls that it leads to
        return Span(token.start_pos + self.offset, token.end_pos + self.offset, self.problems.source)

    def _cover(self, items: Sequence[Node]) -> Span:
        placed = [item.span for item in items if item.span.start >= 0]
        return Span(placed[0].start, placed[-1].end, self.problems.source) if placed else EMPTY.span

    def _checked(self, node: Group | Repetition | Prefix) -> Node:
        if node.depth <= MAX_DEPTH:
            return node
        if not self.too_deep:
            self.too_deep = True
            self.problems.add(
                "G015",
                f"more than {MAX_DEPTH} levels of nesting",
                node.span.start,
                node.span.start + 1,
                help="move inner parts into rules of their own",
            )
        return Leaf(EPSILON, node.span)

    def _group_of(self, op: str, items: Sequence[Node]) -> Node:
        spend(4 + 2 * len(items))
        depth = 1 + max(item.depth for item in items)
        return self._checked(Group(op, tuple(items), self._cover(items), depth))

    # -- statements -------------------------------------------------------------------------------

    def start(self, children: list[Any]) -> None:
        """Do nothing: every statement is in the module already."""

    def rule(self, children: list[Any]) -> None:
        head, body = children[:2]
        if len(children) > 2:  # a look-ahead: its names are checked, and nothing else comes of it
            self.module.looks.append(children[3])
        self.too_deep = False
        name, span = str(head), self.span(head)
        if self.define(name, span):
            self.module.definitions[name] = Definition(name, body, span)

    def define(self, name: str, span: Span) -> bool:
        """Note that a rule of this name begins here; report it and return False if it is the second."""
        first = self.module.known.setdefault(name, span)
        if first is span:
            return True
        line, _ = line_and_column(self.text, first.start)
        self.problems.add(
            "G004",
            f"rule `{name}` is defined twice",
            span.start,
            span.end,
            label="defined again",
            help=f"first defined in line {line}; join the two with `|`",
        )
        return False

    def import_rules(self, children: list[Any]) -> None:
        target = children[0]
        quoted = target.type == "STRING"
        items = [item for item in children[1:] if isinstance(item, tuple)]
        span = self.span(target)
        text = self._path(target) if quoted else str(target)
        self.module.imports.append(Import(text, quoted, tuple(items), span))

    def _path(self, token: Any) -> str:
        text, ignore_case = self._string(token)
        if ignore_case:
            span = self.span(token)
            self.problems.add("G018", "a path cannot ignore case", span.end - 1, span.end)
        return text

    def import_item(self, children: list[Any]) -> tuple[Name, Name]:
        names = [self._name_of(child) for child in children]
        if len(names) == 1:
            return names[0], names[0]
        if names[1].name != "as":
            span = names[1].span
            self.problems.add(
                "G001", f"expected `,` or `as`, found `{names[1].name}`", span.start, span.end, label="here"
            )
        return names[0], names[2]

    def skip(self, children: list[Any]) -> None:
        self.module.skips.append(children[0])

    def lexical(self, children: list[Any]) -> None:
        self.module.lexical.extend(self._name_of(child) for child in children)

    def syntactic(self, children: list[Any]) -> None:
        self.module.syntactic.extend(self._name_of(child) for child in children)

    def initial_stack(self, children: list[Any]) -> None:
        span = self.span(children[0])
        if self.module.stack is not None:
            self.problems.add("G018", "`%stack` is given twice", span.start, span.end, label="again")
        self.module.stack = tuple(self._string(child)[0].encode() for child in children)
        self.module.stack_span = span

    # -- expressions ------------------------------------------------------------------------------

    def expression(self, children: list[Any]) -> Node:
        first: Node = children[0]
        return first if len(children) == 1 else self._group_of("|", children)

    def alternative(self, children: list[Any]) -> Node:
        if not children:
            return EMPTY
        first: Node = children[0]
        if len(children) == 1:
            return first
        elements = [c for c in children if not (isinstance(c, Prefix) and c.op == "!>>")]
        if len(elements) > 1:
            for element in elements:
                if isinstance(element, Group) and element.op == "&":
                    _report_mixed(element, self.text, self.problems)
        return self._group_of(" ", children)

    def operation(self, children: list[Any]) -> Node:
        first: Node = children[0]
        if len(children) == 1:
            return first
        operands: list[Node] = []
        for index in range(0, len(children), 2):
            operand: Node = children[index]
            if index and children[index - 1].type == "MINUS":
                operand = self._checked(Prefix("!", operand, operand.span, operand.depth + 1))
            operands.append(operand)
        return self._group_of("&", operands)

    def complement(self, children: list[Any]) -> Node:
        bang, item = children
        span = Span(self.span(bang).start, item.span.end, self.problems.source)
        if isinstance(item, Leaf) and isinstance(item.expr, TokenTerminal):
            token = item.expr
            return Leaf(TokenTerminal(token.names, token.id_ranges, not token.negated, span), span)
        return self._checked(Prefix("!", item, span, item.depth + 1))

    def repetition(self, children: list[Any]) -> Node:
        item, quantifier = children
        where = self.span(quantifier)
        low, high = _QUANTIFIERS.get(quantifier) or self._bounds(str(quantifier), where)
        span = Span(item.span.start, where.end, self.problems.source)
        return self._checked(Repetition(item, low, high, span, item.depth + 1))

    def _bounds(self, text: str, span: Span) -> tuple[int, int | None]:
        match = _BOUNDS.fullmatch(text)
        if match is None or not (match[1] or match[3]):
            self.problems.add(
                "G005",
                f"`{text}` is not a repetition",
                span.start,
                span.end,
                help="write {m}, {m,}, {,n} or {m,n} with whole numbers; for optional or repeated parts (…)? or (…)*",
            )
            return 1, 1
        low, high = read_bounds(match[1], match[2], match[3].replace("-1", ""))
        check_bounds(low, high, span.start, span.end, self.problems)
        return (low, high) if high is None or low <= high else (high, low)

    def group(self, children: list[Any]) -> Node:
        inner: Node = children[1]
        span = Span(self.span(children[0]).start, self.span(children[2]).end, self.problems.source)
        if isinstance(inner, Group) and inner.op == "&":
            return self._checked(Group("()", (inner,), span, inner.depth + 1))
        if inner is EMPTY:
            return Leaf(EPSILON, span)
        return inner

    def call(self, children: list[Any]) -> Node:
        span = Span(self.span(children[0]).start, self.span(children[3]).end, self.problems.source)
        item: Node = children[2]
        return self._checked(Prefix(str(children[0])[1:], item, span, item.depth + 1))

    def follow(self, children: list[Any]) -> Node:
        operator, operand = children
        span = Span(self.span(operator).start, operand.span.end, self.problems.source)
        return self._checked(Prefix("!>>", operand, span, operand.depth + 1))

    # -- terminals --------------------------------------------------------------------------------

    def name(self, children: list[Any]) -> Node:
        name = self._name_of(children[0])
        call = self.module.calls.get(name.span.start)
        return name if call is None else macro_node(call, self.module, self.problems)

    def _name_of(self, token: Any) -> Name:
        return Name(str(token), self.span(token))

    def top(self, children: list[Any]) -> Leaf:
        span = self.span(children[0])
        return Leaf(Dynamic("top", span), span)

    def any_char(self, children: list[Any]) -> Leaf:
        span = self.span(children[0])
        return Leaf(CharClass(charclass.ANY, span), span)

    def literal(self, children: list[Any]) -> Leaf:
        token = children[0]
        span = self.span(token)
        value, ignore_case = self._string(token)
        if not ignore_case:
            return Leaf(Literal(value.encode(), span), span)
        return Leaf(_caseless(value, span), span)

    def _string(self, token: Any) -> tuple[str, bool]:
        """Return the text that a literal means and whether it ignores case."""
        span = self.span(token)
        ignore_case = token[-1] == "i"
        end = span.end - 2 if ignore_case else span.end - 1
        return read_literal(self.text, span.start + 1, end, self.problems), ignore_case

    def char_class(self, children: list[Any]) -> Leaf:
        span = self.span(children[0])
        return Leaf(CharClass(read_class(self.text, span.start, span.end, self.problems), span), span)

    def regex(self, children: list[Any]) -> Leaf:
        token = children[0]
        span = self.span(token)
        close = span.start + token.rindex("/")
        flags = self.text[close + 1 : span.end]
        for flag in flags:
            if flag not in FLAGS:
                self.problems.add(
                    "G008",
                    f"unknown regex flag `{flag}`",
                    close + 1,
                    span.end,
                    help="the flags are i (ignore case), s (`.` matches line breaks) and x (spaced out); "
                    "a name after a regex needs a blank before it",
                )
                break
        return Leaf(parse_regex(self.text, span.start + 1, close, flags, self.problems), span, 2)

    def token(self, children: list[Any]) -> Leaf:
        token = children[0]
        span = self.span(token)
        if token.startswith("<["):
            return Leaf(_token_ids(self.text, span, self.problems), span)
        if token.startswith('<"'):
            name = read_literal(self.text, span.start + 2, span.end - 2, self.problems)
        else:
            name = str(token)
        return Leaf(TokenTerminal((name,), (), False, span), span)

    def part(self, children: list[Any]) -> Leaf:
        directive = str(children[0])[1:]
        span = self.span(children[-1])
        if directive == "choice":
            return _choice(self.module.bodies.get(span.start), span, self.problems)
        if directive == "regex":
            return _ecma_regex(self.text, span, span.start + children[1].rindex("/"), self.problems)
        if directive == "marker":
            text, ignore_case = self._string(children[1])
            if ignore_case or not text:
                problem = "a marker cannot ignore case" if text else "an empty marker"
                self.problems.add("G018", problem, span.start, span.end)
            start = span.start
        else:
            body = self.module.bodies.get(span.start)
            text, start = ("", span.start) if body is None else (body.text, body.start)
        name = f"%{directive}.{span.source}.{span.start}"
        self.module.parts[name] = Part(directive, text, span, start=start)
        return Leaf(RuleRef(name, span=span), span)


def _report_mixed(element: Group, text: str, problems: Collector) -> None:
    span = element.span
    written = text[span.start : span.end]
    help = "put the operands into parentheses, and what belongs together with them"
    if len(written) <= 40 and "\n" not in written:
        help = f"write `({written})`, or parentheses around all that belongs to an operand"
    problems.add(
        "G010",
        "`-` or `&` beside other elements",
        span.start,
        span.end,
        label="which are its operands?",
        help=help,
    )


def _choice(body: Body | None, span: Span, problems: Collector) -> Leaf:
    """Return one of the strings of a list."""
    value = None if body is None else body.value
    start = span.start if body is None else body.start
    words = value if isinstance(value, list) else []
    spend(len(words))
    strings = [word for word in words if isinstance(word, str)]
    if value is not None and (not words or len(strings) < len(words)):
        help = 'for example `%choice ["yes", "no"]`'
        problems.add("G020", "`%choice` needs a list of strings", start, start + 1, help=help)
    if any(map(_is_half, strings)):
        problems.add("G006", "a choice holds half a character (a surrogate)", start, start + 1)
    encoded = sorted({word.encode("utf-8", "surrogatepass") for word in strings})
    return Leaf(Choice(tuple(Literal(word) for word in encoded), span), span, 2)


def _ecma_regex(text: str, span: Span, close: int, problems: Collector) -> Leaf:
    """Return a pattern of ECMA-262, whose problems are said with their place in the whole text."""
    first = span.start + 1
    try:
        return Leaf(regex_expr(text[first:close], flags=text[close + 1 : span.end]), span, 2)
    except GrammarError as error:
        for found in error.diagnostics:
            where = found.span or Span(0, close - first)
            message = f"in `%regex`: {found.message}"
            start, end = first + where.start, first + where.end
            problems.add(found.code, message, start, end, label=found.label, help=found.help)
    return Leaf(EPSILON, span)


def _token_ids(text: str, span: Span, problems: Collector) -> TokenTerminal:
    first = span.start + 2
    negated = text[first] == "^"
    ranges: list[tuple[int, int]] = []
    for part in text[first + negated : span.end - 2].split(","):
        match = _ID_RANGE.fullmatch(part)
        low = read_number(match[1]) if match else -1
        high = read_number(match[2]) if match and match[2] else low
        if low < 0 or high < low or high > MAX_COUNT:
            problems.add(
                "G017",
                f"`{part.strip()}` is not a token id or a range of ids"
                if part.strip()
                else "a token id is missing",
                span.start,
                span.end,
                help="for example `<[5]>` or `<[1-5,9]>`",
            )
            continue
        ranges.append((low, high))
    return TokenTerminal((), tuple(ranges), negated, span)


def _is_half(word: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in word)


def _caseless(value: str, span: Span) -> Expr:
    spend(2 * len(value))
    items: list[Expr] = []
    plain = ""
    for char in value:
        expr = character(ord(char), True, span)
        if isinstance(expr, Literal):
            plain += char
            continue
        if plain:
            items.append(Literal(plain.encode(), span))
            plain = ""
        items.append(expr)
    if plain or not items:
        items.append(Literal(plain.encode(), span))
    return items[0] if len(items) == 1 else SequenceExpr(tuple(items), span)
