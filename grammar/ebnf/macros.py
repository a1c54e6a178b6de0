"""Macros of XGrammar's EBNF: calls such as ``TagDispatch(("<a>", x))``, turned into nodes.

Their arguments are no expressions: strings, numbers, truth values, names, and tuples of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from stackmask.grammar.ir import EPSILON, CharClass, Intersection, Repeat, RuleRef, Span, TokenTerminal
from stackmask.grammar.notation.tree import Dispatch, Group, Module, Name, Node, Part, Repetition, Terminal
from stackmask.grammar.regex.compile import regex_expr
from stackmask.grammar.regex.pattern.reader import MAX_COUNT, read_number
from stackmask.grammar.source import charclass
from stackmask.grammar.source.diagnostics import Collector, GrammarError
from stackmask.grammar.source.similar import similar
from stackmask.grammar.source.work import spend
from stackmask.grammar.turns.parts.free_text import any_overlap

NAMES: Final = ("TagDispatch", "TokenTagDispatch", "Token", "ExcludeToken", "Regex", "Substring")
MAX_SHOWN: Final = 40  # characters of what is not understood
NAMED: Final = {
    "Regex": ("json_string",),
    "TagDispatch": ("loop_after_dispatch", "excludes", "stop_eos", "stop_str"),
    "TokenTagDispatch": ("loop_after_dispatch", "excludes"),
}
_JSON_PLAIN: Final = Repeat(CharClass(charclass.negate(((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C)))), 0, None)


class MacroValue(NamedTuple):
    """An argument: a string, number, flag, name or tuple; ``name``: of a named one, ``""`` for others."""

    kind: str
    text: str
    span: Span
    name: str = ""
    named_at: int = 0
    items: tuple[MacroValue, ...] | None = None


class MacroCall(NamedTuple):
    """A macro with its arguments."""

    name: str
    values: list[MacroValue]
    span: Span


class Arguments:
    """The arguments of a call, by kind; what is wrong with them is reported with its place."""

    def __init__(self, call: MacroCall, problems: Collector) -> None:
        self.call = call
        self.problems = problems
        self.positional = [value for value in call.values if not value.name]
        self._named = {value.name: value for value in call.values if value.name}

    def wrong(self, problem: str, value: MacroValue | None, help: str = "") -> None:
        """Report what is wrong with a value, or with the call."""
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
        """Return a truth value."""
        value = self._named.get(name)
        if value is None:
            return default
        if value.kind != "flag":
            self.wrong(f"`{name}` is `true` or `false`", value)
        return value.text == "true"

    def values(self, name: str) -> tuple[MacroValue, ...]:
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
            name = value.name
            place = Span(value.named_at, value.named_at + len(name), self.call.span.source)
            if name and name not in known:
                close = similar(name, known)
                there = ", ".join(f"`{one}`" for one in known) or "none"
                help = f"did you mean `{close}`?" if close else f"there are: {there}"
                message = f"`{self.call.name}` has no argument `{name:.{MAX_SHOWN}}`"
                self.problems.at(place, "G020", message, help, "here")
            elif name and name in seen:
                self.problems.at(place, "G020", f"`{name}` is given twice", "leave one out", "again")
            seen.add(name)


def macro_node(call: MacroCall, module: Module, problems: Collector) -> Node:
    """Return what a call means; what is wrong with it is reported."""
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


def _tokens(ids: list[int], negated: bool, span: Span) -> Terminal:
    spend(2 * len(ids))
    ranges = tuple([(number, number) for number in sorted(set(ids))])
    return Terminal(TokenTerminal((), ranges, negated, span), span)


def _regex(arguments: Arguments, _: Module) -> Node:
    span = arguments.call.span
    in_json = arguments.flag("json_string", False)
    if len(arguments.positional) != 1:
        arguments.wrong("`Regex` takes one pattern", None, 'for example `Regex("[0-9]{5}")`')
        return Terminal(EPSILON, span)
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
        return Terminal(EPSILON, span)
    return Terminal(Intersection((expr, _JSON_PLAIN), span) if in_json else expr, span, 2)


def _part(module: Module, call: MacroCall, kind: str, text: str, dispatch: Dispatch) -> Terminal:
    """Return a leaf that stands for a part of the file, whose meaning may depend on the vocabulary."""
    name = f"%{kind}{text}.{call.span.source}.{call.span.start}"
    module.parts[name] = Part(kind, text, call.span, dispatch)
    return Terminal(RuleRef(name, span=call.span), call.span)


def _substring(arguments: Arguments, module: Module) -> Node:
    chunks = tuple(arguments.text(value) for value in arguments.positional)
    return _part(module, arguments.call, "substring", "", Dispatch(chunks))


# -- free text with triggers ---------------------------------------------------------------------------------


def _group(op: Literal[" ", "|"], items: list[Node], span: Span) -> Node:
    return items[0] if len(items) == 1 else Group(op, tuple(items), span, 2 + max(i.depth for i in items))


def _any_number(item: Node, span: Span) -> Node:
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
    """Return what triggers begin with, of so many characters each."""
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
