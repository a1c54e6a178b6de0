"""Callbacks of Lark that build a file's tree while the parser reduces, and report errors in terminals."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from stackmask.grammar import ir
from stackmask.grammar.languages.forms import concat
from stackmask.grammar.notation import tree
from stackmask.grammar.notation.tree import (
    EMPTY,
    Dispatch,
    Group,
    Module,
    Name,
    Node,
    Part,
    Prefix,
    Repetition,
    Terminal,
    TreeMaker,
    read_ids,
)
from stackmask.grammar.regex.compile import regex_expr
from stackmask.grammar.regex.flavours.inline import FLAGS, at_place, character, parse_regex
from stackmask.grammar.regex.pattern.reader import MAX_COUNT, check_bounds, read_bounds, read_number
from stackmask.grammar.source import charclass
from stackmask.grammar.source.diagnostics import Collector, GrammarError, line_and_column
from stackmask.grammar.source.escapes import read_class, read_literal
from stackmask.grammar.source.similar import advice
from stackmask.grammar.source.work import spend
from stackmask.grammar.turns.parts.merge import any_overlap

# -- Macros of XGrammar's EBNF: calls such as ``TagDispatch(("<a>", x))``, turned into nodes ------------
#
# Their arguments are no expressions: strings, numbers, truth values, names, and tuples of them.

NAMES: Final = ("TagDispatch", "TokenTagDispatch", "Token", "ExcludeToken", "Regex", "Substring")
MAX_SHOWN: Final = 40  # characters of what is not understood
NAMED: Final = {
    "Regex": ("json_string",),
    "TagDispatch": ("loop_after_dispatch", "excludes", "stop_eos", "stop_str"),
    "TokenTagDispatch": ("loop_after_dispatch", "excludes"),
}
_JSON_PLAIN: Final = ir.Repeat(
    ir.CharClass(charclass.negate(((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C)))), 0, None
)


class MacroValue(NamedTuple):
    """An argument: a string, number, flag, name or tuple. ``name``: its name, ``""`` if it has none."""

    kind: str
    text: str
    span: ir.Span
    name: str = ""
    named_at: int = 0
    items: tuple[MacroValue, ...] | None = None


class MacroCall(NamedTuple):
    """A macro call with its arguments."""

    name: str
    values: list[MacroValue]
    span: ir.Span


class Arguments:
    """The arguments of a call, by kind; errors are reported with their positions."""

    def __init__(self, call: MacroCall, problems: Collector) -> None:
        self.call = call
        self.problems = problems
        self.positional = [value for value in call.values if not value.name]
        self._named = {value.name: value for value in call.values if value.name}

    def wrong(self, problem: str, value: MacroValue | None, help: str = "") -> None:
        """Report an error in a value, or in the whole call."""
        span = value.span if value is not None else self.call.span
        self.problems.at(span, "G020", f"`{self.call.name}`: {problem}", help, "here")

    def text(self, value: MacroValue, *, least: int = 0) -> str:
        """Return a string."""
        if value.kind != "string":
            self.wrong("a text in quotes is needed", value)
        elif len(value.text) < least:
            self.wrong("the empty text is everywhere", value)
        elif any("\ud800" <= char <= "\udfff" for char in value.text):
            return ""  # reported where it was read
        return value.text if value.kind == "string" else ""

    def token_id(self, value: MacroValue) -> int:
        """Return the id of a token."""
        number = read_number(value.text) if value.kind == "number" and value.text[:1] != "-" else -1
        if not 0 <= number <= MAX_COUNT:
            self.wrong("a token id is needed, a whole number", value)
            return 0
        return number

    def flag(self, name: str, default: bool) -> bool:
        """Return a boolean."""
        value = self._named.get(name)
        if value is None:
            return default
        if value.kind != "flag":
            self.wrong(f"`{name}` is `true` or `false`", value)
        return value.text == "true"

    def values(self, name: str) -> tuple[MacroValue, ...]:
        """Return the items of a tuple; a single value counts as a tuple of one."""
        value = self._named.get(name)
        if value is None:
            return ()
        return (value.items or ()) if value.kind == "tuple" else (value,)

    def finish(self) -> None:
        """Report duplicate arguments, and named arguments that the macro does not have."""
        known = NAMED.get(self.call.name, ())
        seen: set[str] = set()
        for value in self.call.values:
            name = value.name
            place = ir.Span(value.named_at, value.named_at + len(name), self.call.span.source)
            if name and name not in known:
                there = ", ".join(f"`{one}`" for one in known) or "none"
                help = advice(name, known, f"there are: {there}")
                message = f"`{self.call.name}` has no argument `{name:.{MAX_SHOWN}}`"
                self.problems.at(place, "G020", message, help, "here")
            elif name and name in seen:
                self.problems.at(place, "G020", f"`{name}` is given twice", "leave one out", "again")
            seen.add(name)


def macro_node(call: MacroCall, module: Module, problems: Collector) -> Node:
    """Return the node for a call; errors are reported."""
    make: dict[str, Callable[[Arguments, Module], Node]] = {
        "Token": _token,
        "ExcludeToken": _token,
        "Regex": _regex,
        "Substring": _substring,
        "TagDispatch": _tag_dispatch,
        "TokenTagDispatch": _token_dispatch,
    }
    arguments = Arguments(call, problems)
    node = make[call.name](arguments, module)
    arguments.finish()
    return node


def _token(arguments: Arguments, _: Module) -> Node:
    span = arguments.call.span
    ids = [arguments.token_id(value) for value in arguments.positional]
    if not ids:
        arguments.wrong(f"`{arguments.call.name}` needs a token id", None, "for example `Token(5, 9)`")
    return _tokens(ids, arguments.call.name == "ExcludeToken", span)


def _tokens(ids: list[int], negated: bool, span: ir.Span) -> Terminal:
    spend(2 * len(ids))
    ranges = tuple([(number, number) for number in sorted(set(ids))])
    return Terminal(ir.TokenTerminal((), ranges, negated, span), span)


def _regex(arguments: Arguments, _: Module) -> Node:
    span = arguments.call.span
    in_json = arguments.flag("json_string", False)
    if len(arguments.positional) != 1:
        arguments.wrong("`Regex` takes one pattern", None, 'for example `Regex("[0-9]{5}")`')
        return Terminal(ir.EPSILON, span)
    pattern = arguments.text(arguments.positional[0])
    flags = "s"
    if pattern.startswith("(?i)"):  # as XGrammar prints it, for letters of ASCII
        pattern, flags = pattern[4:], "sia"
    try:
        expr = regex_expr(pattern, flags=flags)
    except GrammarError as error:
        place = arguments.positional[0].span
        for found in error.diagnostics:
            message = f"in `Regex`: {found.message}"
            arguments.problems.at(place, found.code, message, found.help, found.label)
        return Terminal(ir.EPSILON, span)
    return Terminal(ir.Intersection((expr, _JSON_PLAIN), span) if in_json else expr, span, 2)


def _part(module: Module, call: MacroCall, kind: str, text: str, dispatch: Dispatch) -> Terminal:
    """Return a leaf for a part of the file whose meaning can depend on the vocabulary."""
    name = f"%{kind}{text}.{call.span.source}.{call.span.start}"
    module.parts[name] = Part(kind, text, call.span, dispatch)
    return Terminal(ir.RuleRef(name, span=call.span), call.span)


def _substring(arguments: Arguments, module: Module) -> Node:
    chunks = tuple(arguments.text(value) for value in arguments.positional)
    return _part(module, arguments.call, "substring", "", Dispatch(chunks))


# -- free text with triggers ---------------------------------------------------------------------------------


def _group(op: Literal[" ", "|"], items: list[Node], span: ir.Span) -> Node:
    return items[0] if len(items) == 1 else Group(op, tuple(items), span, 2 + max(i.depth for i in items))


def _any_number(item: Node, span: ir.Span) -> Node:
    return Repetition(item, 0, None, span, item.depth + 1)


def _pairs(arguments: Arguments, what: str) -> list[tuple[MacroValue, Name]]:
    """Return the triggers and their rules."""
    found = []
    for value in arguments.positional:
        pair = value.items or ()
        if value.kind != "tuple" or len(pair) != 2 or pair[1].kind != "name":
            example = '("<tool>", tool)' if what == "a text" else "(128010, tool)"
            help = f"for example `{arguments.call.name}({example})`"
            arguments.wrong(f"a pair of {what} and the name of a rule is needed", value, help)
            continue
        found.append((pair[0], Name(pair[1].text, pair[1].span)))
    return found


def _tag_dispatch(arguments: Arguments, module: Module) -> Node:
    call = arguments.call
    span = call.span
    loops = arguments.flag("loop_after_dispatch", True)
    may_end = arguments.flag("stop_eos", True)
    pairs = _pairs(arguments, "a text")
    triggers = tuple(arguments.text(value, least=1) for value, _ in pairs)
    excluded = arguments.values("excludes")
    excludes = tuple(arguments.text(value, least=1) for value in excluded)
    stops = tuple(arguments.text(value, least=1) for value in arguments.values("stop_str"))
    begins = _beginnings(triggers, set(map(len, excludes)))
    for value, text in zip(excluded, excludes, strict=True):
        if text in begins:
            message = f"the excluded {text!r:.60} begins a trigger, which could never come"
            arguments.wrong(message, value, "leave it out, or choose another trigger")
    if not may_end and not stops:
        arguments.wrong("`stop_eos=false` without `stop_str` leaves no end", None, 'add `stop_str=("…",)`')
    dispatch = Dispatch(triggers, excludes, stops, may_end)
    last = _part(module, call, "last", "", dispatch)
    if not pairs:
        return last
    # where no two marks overlap, the same text may come before each trigger
    shares = not any_overlap([*triggers, *excludes, *stops])
    branches: list[Node] = []
    for index, (_, rule) in enumerate(pairs):
        trigger = _part(module, call, "mark" if shares else "until", str(index), dispatch)
        branches.append(_group(" ", [trigger, rule], span))
    dispatched = _group("|", branches, span)
    if shares:
        dispatched = _group(" ", [_part(module, call, "text", "", dispatch), dispatched], span)
    if loops:
        return _group(" ", [_any_number(dispatched, span), last], span)
    if stops:
        dispatched = _group(" ", [dispatched, _part(module, call, "stop", "", dispatch)], span)
    return _group("|", [last, dispatched], span)


def _beginnings(triggers: tuple[str, ...], sizes: set[int]) -> set[str]:
    """Return the prefixes of triggers that have one of the given numbers of characters."""
    found: set[str] = set()
    for trigger in triggers:
        spend(len(sizes) * (1 + len(trigger) // 16))
        found.update(trigger[:size] for size in sizes if size <= len(trigger))
    return found


def _token_dispatch(arguments: Arguments, _: Module) -> Node:
    span = arguments.call.span
    loops = arguments.flag("loop_after_dispatch", True)
    pairs = _pairs(arguments, "a token id")
    ids = [arguments.token_id(value) for value, _ in pairs]
    excluded = arguments.values("excludes")
    excludes = [arguments.token_id(value) for value in excluded]
    for value, number in zip(excluded, excludes, strict=True):
        if number in ids:
            message = f"the token {number} is a trigger, and excluded"
            arguments.wrong(message, value, "leave it out of one of them")
    between = _any_number(_tokens([*ids, *excludes], True, span), span)
    if not pairs:
        return between
    branches: list[Node] = [
        _group(" ", [_tokens([number], False, span), rule], span)
        for number, (_, rule) in zip(ids, pairs, strict=True)
    ]
    dispatched = _group("|", branches, span)
    if loops:
        again = _any_number(_group(" ", [between, dispatched], span), span)
        return _group(" ", [again, between], span)
    return _group(" ", [between, Repetition(dispatched, 0, 1, span, dispatched.depth + 1)], span)


# -- The callbacks of the parser ---------------------------------------------------------------------------

# XGrammar prints `{2, -1}` for `{2,}`
_BOUNDS: Final = re.compile(r"\{\s*([0-9]*)\s*(,?)\s*([0-9]*|(?<=[0-9],\s)-1|(?<=[0-9],)-1)\s*\}")
_NUMBER: Final = re.compile("-?[0-9]+")
_QUANTIFIERS: Final[dict[str, tuple[int, int | None]]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


class JSONBody(NamedTuple):
    """The JSON after a directive, and its position."""

    value: Any
    text: str
    start: int


class Cut(NamedTuple):
    """The JSON blocks by the offsets of their directives, and macro names that also name rules here."""

    bodies: Mapping[int, JSONBody]
    rules: Collection[str]


NOTHING_CUT: Final = Cut({}, frozenset())


class Builder(TreeMaker):
    """The callbacks of one parse, named after the rules of ``ebnf.lark``; ``children`` are tokens and nodes.

    Not thread-safe: one thread at a time uses it, together with its parser.
    """

    def __init__(self) -> None:
        self.begin("", 0, Module(0), Collector())

    def begin(
        self, text: str, offset: int, module: Module, problems: Collector, cut: Cut = NOTHING_CUT
    ) -> None:
        """Prepare to parse the piece of ``text`` that starts at ``offset``. ``cut``: the removed blocks."""
        super().__init__(text, problems)
        self.offset, self.module, self.cut = offset, module, cut

    def _place(self, token: Any) -> ir.Span:
        """Return the position of a Lark token in the whole text."""
        spend(16)  # what reading a token takes, with the calls that it leads to
        return self.span(token.start_pos + self.offset, token.end_pos + self.offset)

    def _cover(self, op: Literal[" ", "|", "&"], items: Sequence[Node]) -> Node:
        spend(4 + 2 * len(items))
        placed = [item.span for item in items if item.span.start >= 0]
        return self.group(op, items, self.span(placed[0].start, placed[-1].end) if placed else EMPTY.span)

    # -- statements -------------------------------------------------------------------------------

    def start(self, children: list[Any]) -> None:
        """Do nothing: every statement is already in the module."""

    def rule(self, children: list[Any]) -> None:
        head, body = children[:2]
        if len(children) > 2:  # a look-ahead: its names are checked, and nothing else comes of it
            self.module.looks.append(children[3])
        self.too_deep = False
        name, span = str(head), self._place(head)
        if self.define(name, span):
            self.module.define(tree.RuleDefinition(name, body, span))

    def define(self, name: str, span: ir.Span) -> bool:
        """Record the start of a rule with this name; report a duplicate and return False."""
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
        help = "put each operand into parentheses"
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
        if isinstance(item, tree.Terminal) and isinstance(item.expr, ir.TokenTerminal):
            token = item.expr
            return tree.Terminal(
                ir.TokenTerminal(token.names, token.id_ranges, not token.negated, span), span
            )
        return self.checked(Prefix("!", item, span, item.depth + 1))

    def repetition(self, children: list[Any]) -> Node:
        item, quantifier = children
        where = self._place(quantifier)
        low, high = _QUANTIFIERS.get(quantifier) or self._bounds(str(quantifier), where)
        span = self.span(item.span.start, where.end)
        return self.checked(tree.Repetition(item, low, high, span, item.depth + 1))

    def _bounds(self, text: str, span: ir.Span) -> tuple[int, int | None]:
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
        return tree.Terminal(ir.EPSILON, span) if inner is EMPTY else inner

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
        """Return a macro's token, or a name's token if a rule has that name; called by the lexer."""
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
        resolver: Any = str(children[0])[1:]
        return tree.Terminal(ir.Dynamic(resolver, span), span)

    def any_char(self, children: list[Any]) -> Node:
        span = self._place(children[0])
        return tree.Terminal(ir.CharClass(charclass.ANY, span), span)

    def literal(self, children: list[Any]) -> Node:
        span = self._place(children[0])
        value, ignores_case = self._string(children[0])
        expr: ir.Expr = ir.Literal(value.encode(), span)
        if ignores_case:
            spend(2 * len(value))
            expr = at_place(concat(character(ord(char), True, span) for char in value), span)
        return tree.Terminal(expr, span)

    def _string(self, token: Any) -> tuple[str, bool]:
        """Return the text of a literal and whether it ignores case."""
        span = self._place(token)
        ignores_case = token[-1] == "i"
        return read_literal(
            self.text, span.start + 1, span.end - 1 - ignores_case, self.problems
        ), ignores_case

    def char_class(self, children: list[Any]) -> Node:
        span = self._place(children[0])
        return tree.Terminal(
            ir.CharClass(read_class(self.text, span.start, span.end, self.problems), span), span
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
        return tree.Terminal(ir.TokenTerminal((name,), (), False, span), span)

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
        return tree.Terminal(ir.RuleRef(name, span=span), span)

    def _ecma_regex(self, span: ir.Span, close: int) -> Node:
        """Return an ECMA-262 pattern, whose problems are reported with their positions in the whole text."""
        first = span.start + 1
        try:
            return tree.Terminal(
                regex_expr(self.text[first:close], flags=self.text[close + 1 : span.end]), span, 2
            )
        except GrammarError as error:
            self.problems.take(error, first, close, "in `%regex`: ")
        return tree.Terminal(ir.EPSILON, span)

    def _choice(self, value: Any, start: int, span: ir.Span) -> tree.Terminal:
        """Return one of the strings of a list."""
        words = value if isinstance(value, list) else []
        spend(len(words))
        strings = [word for word in words if isinstance(word, str)]
        if value is not None and (not words or len(strings) < len(words)):
            help = 'for example `%choice ["yes", "no"]`'
            self.problems.add("G020", "`%choice` needs a list of strings", start, start + 1, help=help)
        if any("\ud800" <= char <= "\udfff" for word in strings for char in word):
            message = "a choice contains half a character (a surrogate)"
            self.problems.add("G006", message, start, start + 1)
        encoded = sorted({word.encode("utf-8", "surrogatepass") for word in strings})
        return tree.Terminal(ir.Choice(tuple(ir.Literal(word) for word in encoded), span), span, 2)
