"""Callbacks of Lark: make the tree of a file while the parser reduces, and report what is wrong in terminals."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from stackmask.grammar import ir
from stackmask.grammar.ebnf.macros import MacroCall, MacroValue, macro_node
from stackmask.grammar.ir import EPSILON, CharClass, Choice, Expr, RuleRef, Span, TokenTerminal
from stackmask.grammar.notation import tree
from stackmask.grammar.notation.reading import TreeMaker, read_ids
from stackmask.grammar.notation.tree import EMPTY, Group, Module, Name, Node, Prefix
from stackmask.grammar.regex.compile import regex_expr
from stackmask.grammar.regex.flavours.inline import FLAGS, character, parse_regex
from stackmask.grammar.regex.pattern.reader import check_bounds, read_bounds
from stackmask.grammar.source import charclass
from stackmask.grammar.source.diagnostics import Collector, GrammarError, line_and_column
from stackmask.grammar.source.escapes import read_class, read_literal
from stackmask.grammar.source.work import spend

# XGrammar prints `{2, -1}` for `{2,}`
_BOUNDS: Final = re.compile(r"\{\s*([0-9]*)\s*(,?)\s*([0-9]*|(?<=[0-9],\s)-1|(?<=[0-9],)-1)\s*\}")
_NUMBER: Final = re.compile("-?[0-9]+")
_QUANTIFIERS: Final[dict[str, tuple[int, int | None]]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


class JSONBody(NamedTuple):
    """The JSON after a directive, and where it begins."""

    value: Any
    text: str
    start: int


class Cut(NamedTuple):
    """JSON by the offset of its directive, and the names of macros that are those of rules in this file."""

    bodies: Mapping[int, JSONBody]
    rules: Collection[str]


NOTHING_CUT: Final = Cut({}, frozenset())


class Builder(TreeMaker):
    """The callbacks of one parse, named after the rules of ``ebnf.lark``; ``children`` are tokens and nodes.

    Not thread safe: one thread has it, with its parser.
    """

    def __init__(self) -> None:
        self.begin("", 0, Module(0), Collector())

    def begin(
        self, text: str, offset: int, module: Module, problems: Collector, cut: Cut = NOTHING_CUT
    ) -> None:
        """Prepare for parsing the piece of ``text`` that starts at ``offset``; ``cut``: what was cut out of it."""
        super().__init__(text, problems)
        self.offset, self.module, self.cut = offset, module, cut

    def _place(self, token: Any) -> Span:
        """Return where a token of Lark stands in the whole text."""
        spend(16)  # what reading a token takes, with the calls that it leads to
        return self.span(token.start_pos + self.offset, token.end_pos + self.offset)

    def _cover(self, op: Literal[" ", "|", "&"], items: Sequence[Node]) -> Node:
        spend(4 + 2 * len(items))
        placed = [item.span for item in items if item.span.start >= 0]
        return self.group(op, items, self.span(placed[0].start, placed[-1].end) if placed else EMPTY.span)

    # -- statements -------------------------------------------------------------------------------

    def start(self, children: list[Any]) -> None:
        """Do nothing: every statement is in the module already."""

    def rule(self, children: list[Any]) -> None:
        head, body = children[:2]
        if len(children) > 2:  # a look-ahead: its names are checked, and nothing else comes of it
            self.module.looks.append(children[3])
        self.too_deep = False
        name, span = str(head), self._place(head)
        if self.define(name, span):
            self.module.define(tree.RuleDefinition(name, body, span))

    def define(self, name: str, span: Span) -> bool:
        """Note that a rule of this name begins here; report it and return False if it is the second."""
        first = self.module.known.setdefault(name, span)
        if first is span:
            return True
        spend(first.start // 512)
        line, _ = line_and_column(self.text, first.start)
        help = f"first defined in line {line}; join the two with `|`"
        self.problems.at(span, "G004", f"rule `{name}` is defined twice", help, "defined again")
        return False

    def import_rules(self, children: list[Any]) -> None:
        target, place = children[0], self._place(children[0])
        text, is_path = str(target), target.type == "STRING"
        if is_path:
            text, ignores_case = self._string(target)
            if ignores_case:
                self.problems.add("G018", "a path cannot ignore case", place.end - 1, place.end)
        items = tuple(item for item in children[1:] if isinstance(item, tuple))
        self.module.imports.append(tree.Import(text, is_path, items, place))

    def import_item(self, children: list[Any]) -> tuple[Name, Name]:
        names = [self._name(child) for child in children]
        if len(names) > 1 and names[1].name != "as":
            message = f"expected `,` or `as`, found `{names[1].name}`"
            self.problems.at(names[1].span, "G001", message, "", "here")
        return names[0], names[-1]

    def skip(self, children: list[Any]) -> None:
        self.module.skips.append(children[0])

    def lexical(self, children: list[Any]) -> None:
        self.module.lexical.extend(map(self._name, children))

    def syntactic(self, children: list[Any]) -> None:
        self.module.syntactic.extend(map(self._name, children))

    def initial_stack(self, children: list[Any]) -> None:
        module, span = self.module, self._place(children[0])
        if module.stack is not None:
            self.problems.at(span, "G018", "`%stack` is given twice", "", "again")
        module.stack = tuple(self._string(child)[0].encode() for child in children)
        module.stack_span = span

    # -- expressions ------------------------------------------------------------------------------

    def expression(self, children: list[Any]) -> Node:
        first: Node = children[0]
        return first if len(children) == 1 else self._cover("|", children)

    def alternative(self, children: list[Any]) -> Node:
        if len(children) < 2:
            return children[0] if children else EMPTY
        elements = [c for c in children if not (isinstance(c, Prefix) and c.op == "!>>")]
        for element in elements if len(elements) > 1 else ():
            if isinstance(element, Group) and element.op == "&":
                self._report_mixed(element)
        return self._cover(" ", children)

    def _report_mixed(self, element: Group) -> None:
        span = element.span
        written = self.text[span.start : span.end]
        help = "put the operands into parentheses, and what belongs together with them"
        if len(written) <= 40 and "\n" not in written:
            help = f"write `({written})`, or parentheses around all that belongs to an operand"
        self.problems.at(span, "G010", "`-` or `&` beside other elements", help, "which are its operands?")

    def operation(self, children: list[Any]) -> Node:
        operands: list[Node] = children[::2]
        if len(operands) == 1:
            return operands[0]
        for index, operator in enumerate(children[1::2], 1):
            if operator.type == "MINUS":
                operand = operands[index]
                operands[index] = self.checked(Prefix("!", operand, operand.span, operand.depth + 1))
        return self._cover("&", operands)

    def complement(self, children: list[Any]) -> Node:
        bang, item = children
        span = self.span(self._place(bang).start, item.span.end)
        if isinstance(item, tree.Terminal) and isinstance(item.expr, TokenTerminal):
            token = item.expr
            return tree.Terminal(TokenTerminal(token.names, token.id_ranges, not token.negated, span), span)
        return self.checked(Prefix("!", item, span, item.depth + 1))

    def repetition(self, children: list[Any]) -> Node:
        item, quantifier = children
        where = self._place(quantifier)
        low, high = _QUANTIFIERS.get(quantifier) or self._bounds(str(quantifier), where)
        span = self.span(item.span.start, where.end)
        return self.checked(tree.Repetition(item, low, high, span, item.depth + 1))

    def _bounds(self, text: str, span: Span) -> tuple[int, int | None]:
        match = _BOUNDS.fullmatch(text)
        if match is None or not (match[1] or match[3]):
            help = "write {m}, {m,}, {,n} or {m,n} with whole numbers; for optional or repeated parts (…)? or (…)*"
            self.problems.at(span, "G005", f"`{text}` is not a repetition", help)
            return 1, 1
        low, high = read_bounds(match[1], match[2], match[3].replace("-1", ""))
        check_bounds(low, high, span.start, span.end, self.problems)
        return (low, high) if high is None or low <= high else (high, low)

    def parentheses(self, children: list[Any]) -> Node:
        opened, inner, closed = children
        span = self.span(self._place(opened).start, self._place(closed).end)
        if isinstance(inner, Group) and inner.op == "&":
            return self.checked(Group("()", (inner,), span, inner.depth + 1))
        return tree.Terminal(EPSILON, span) if inner is EMPTY else inner

    def call(self, children: list[Any]) -> Node:
        span = self.span(self._place(children[0]).start, self._place(children[3]).end)
        item: Node = children[2]
        return self.checked(Prefix(str(children[0])[1:], item, span, item.depth + 1))

    def follow(self, children: list[Any]) -> Node:
        operator, operand = children
        span = self.span(self._place(operator).start, operand.span.end)
        return self.checked(Prefix("!>>", operand, span, operand.depth + 1))

    # -- terminals --------------------------------------------------------------------------------

    def name(self, children: list[Any]) -> Node:
        return self._name(children[0])

    def macro_name(self, token: Any) -> Any:
        """Return the token of a macro, or of a name where a rule has that name; the lexer calls it."""
        return token.update(type="NAME") if token in self.cut.rules else token

    def macro(self, children: list[Any]) -> Node:
        name, _, *values, closed = children
        span = self.span(self._place(name).start, self._place(closed).end)
        return macro_node(MacroCall(str(name), values, span), self.module, self.problems)

    def named(self, children: list[Any]) -> MacroValue:
        name, _, value = children
        found: MacroValue = value._replace(name=str(name), named_at=self._place(name).start)
        return found

    def argument(self, children: list[Any]) -> MacroValue:
        token, span = children[0], self._place(children[0])
        if token.type == "STRING":
            value, ignores_case = self._string(token)
            if ignores_case:
                self.problems.add("G020", "an argument cannot ignore case", span.end - 1, span.end)
            return MacroValue("string", value, span)
        kind = "flag" if token in ("true", "false") else "number" if _NUMBER.fullmatch(token) else "name"
        return MacroValue(kind, str(token), span)

    def together(self, children: list[Any]) -> MacroValue:
        opened, *items, closed = children
        span = self.span(self._place(opened).start, self._place(closed).end)
        return MacroValue("tuple", "", span, items=tuple(items))

    def _name(self, token: Any) -> Name:
        return Name(str(token), self._place(token))

    def top(self, children: list[Any]) -> Node:
        span = self._place(children[0])
        return tree.Terminal(ir.Dynamic("top", span), span)

    def any_char(self, children: list[Any]) -> Node:
        span = self._place(children[0])
        return tree.Terminal(CharClass(charclass.ANY, span), span)

    def literal(self, children: list[Any]) -> Node:
        span = self._place(children[0])
        value, ignores_case = self._string(children[0])
        expr = _caseless(value, span) if ignores_case else ir.Literal(value.encode(), span)
        return tree.Terminal(expr, span)

    def _string(self, token: Any) -> tuple[str, bool]:
        """Return the text that a literal means and whether it ignores case."""
        span = self._place(token)
        ignores_case = token[-1] == "i"
        return read_literal(
            self.text, span.start + 1, span.end - 1 - ignores_case, self.problems
        ), ignores_case

    def char_class(self, children: list[Any]) -> Node:
        span = self._place(children[0])
        return tree.Terminal(
            CharClass(read_class(self.text, span.start, span.end, self.problems), span), span
        )

    def regex(self, children: list[Any]) -> Node:
        span = self._place(children[0])
        close = span.start + children[0].rindex("/")
        flags = self.text[close + 1 : span.end]
        unknown = next((flag for flag in flags if flag not in FLAGS), "")
        if unknown:
            help = (
                "the flags are i (ignore case), s (`.` matches line breaks) and x (spaced out); a name after a regex "
                "needs a blank before it"
            )
            self.problems.add("G008", f"unknown regex flag `{unknown}`", close + 1, span.end, help=help)
        return tree.Terminal(parse_regex(self.text, span.start + 1, close, flags, self.problems), span, 2)

    def token(self, children: list[Any]) -> Node:
        name, span = str(children[0]), self._place(children[0])
        if name.startswith("<["):
            return tree.Terminal(read_ids(name[2:-2], span, self.problems), span)
        if name.startswith('<"'):
            name = read_literal(self.text, span.start + 2, span.end - 2, self.problems)
        return tree.Terminal(TokenTerminal((name,), (), False, span), span)

    def part(self, children: list[Any]) -> Node:
        directive, span = str(children[0])[1:], self._place(children[-1])
        value, text, start = self.cut.bodies.get(span.start) or (None, "", span.start)
        if directive == "choice":
            return self._choice(value, start, span)
        if directive == "regex":
            return self._ecma_regex(span, span.start + children[1].rindex("/"))
        if directive == "marker":
            text, ignores_case = self._string(children[1])
            if ignores_case or not text:
                problem = "a marker cannot ignore case" if text else "an empty marker"
                self.problems.at(span, "G018", problem)
        name = f"%{directive}.{span.source}.{span.start}"
        self.module.parts[name] = tree.Part(directive, text, span, start=start)
        return tree.Terminal(RuleRef(name, span=span), span)

    def _ecma_regex(self, span: Span, close: int) -> Node:
        """Return a pattern of ECMA-262, whose problems are said with their place in the whole text."""
        first = span.start + 1
        try:
            return tree.Terminal(
                regex_expr(self.text[first:close], flags=self.text[close + 1 : span.end]), span, 2
            )
        except GrammarError as error:
            self.problems.take(error, first, close, "in `%regex`: ")
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
