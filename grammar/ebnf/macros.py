"""Macros of XGrammar's EBNF: calls such as ``TagDispatch(("<a>", x))``, cut out of a text and turned into nodes.

Their arguments are no expressions, so they are read before the text is parsed: a call becomes its name and blanks, and
all offsets stay as they were. A file that defines a rule of a macro's name means that rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from stackmask.grammar.compose.free_text import any_overlap
from stackmask.grammar.ebnf.macro_arguments import CLOSES, Arguments, read_arguments
from stackmask.grammar.ebnf.syntax import (
    Call,
    Dispatch,
    Group,
    Leaf,
    Module,
    Name,
    Node,
    Part,
    Repetition,
    Value,
)
from stackmask.grammar.ir import EPSILON, CharClass, Intersection, Repeat, RuleRef, Span, TokenTerminal
from stackmask.grammar.regex.compile import regex_expr
from stackmask.grammar.source import charclass
from stackmask.grammar.source.diagnostics import Collector, GrammarError
from stackmask.grammar.source.work import spend

NAMES: Final = ("TagDispatch", "TokenTagDispatch", "Token", "ExcludeToken", "Regex", "Substring")
_HINT: Final = re.compile(rf"(?:{'|'.join(NAMES)})\s*\(")
_OPENS: Final = re.compile(r"\s*\((?![*=])")
_NOT_BLANK: Final = re.compile(r"[^\n]")
_JSON_PLAIN: Final = Repeat(CharClass(charclass.negate(((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C)))), 0, None)


def cut_macros(
    text: str, scan: re.Pattern[str], defines: re.Pattern[str], problems: Collector
) -> tuple[str, dict[int, Call]]:
    """Return the text with blanks for the arguments of macros, and the calls by the offsets of their names.

    ``scan``: what to look at from left to right: its group ``name`` is a name, ``imports`` an import. ``defines``: what
    makes the name before it the head of a rule.
    Cost: linear.
    """
    if not _HINT.search(text):
        return text, {}
    calls: dict[int, Call] = {}
    defined: set[str] = set()
    at = 0
    while match := scan.search(text, at):
        at = match.end()
        spend(2)
        if match["imports"]:
            defined.update(name for name in NAMES if name in match["imports"])
        elif match["name"] in NAMES:
            opened = _OPENS.match(text, at)
            if opened:
                call = _read_call(match["name"], text, match.start(), opened.end(), problems.source)
                if call is not None and not defines.match(text, call.span.end):
                    calls[match.start()] = call
                    at = call.span.end
            elif defines.match(text, at):
                defined.add(match["name"])
    calls = {start: call for start, call in calls.items() if call.name not in defined}
    pieces = []
    done = 0
    for start, call in calls.items():
        problems.found += call.problems
        end = start + len(call.name)
        pieces += [text[done:end], _NOT_BLANK.sub(" ", text[end : call.span.end])]
        done = call.span.end
    return "".join((*pieces, text[done:])), calls


def _read_call(name: str, text: str, start: int, inside: int, source: int) -> Call | None:
    """Return a call whose arguments begin at ``inside``; None if its parenthesis is never closed."""
    problems = Collector(source)
    values, end = read_arguments(text, inside, name, problems)
    if not text.startswith(CLOSES, end - 1):
        return None
    return Call(name, values, Span(start, end, source), problems.found)


def macro_node(call: Call, module: Module, problems: Collector) -> Node:
    """Return what a call means; what is wrong with it is reported."""
    if call.problems:  # reported where they were found
        return Leaf(EPSILON, call.span)
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


def _tokens(ids: list[int], negated: bool, span: Span) -> Leaf:
    spend(2 * len(ids))
    return Leaf(
        TokenTerminal((), tuple((number, number) for number in sorted(set(ids))), negated, span), span
    )


def _regex(arguments: Arguments, _: Module) -> Node:
    span = arguments.call.span
    in_json = arguments.flag("json_string", False)
    if len(arguments.positional) != 1:
        arguments.wrong("`Regex` takes one pattern", None, 'for example `Regex("[0-9]{5}")`')
        return Leaf(EPSILON, span)
    pattern = arguments.text(arguments.positional[0])
    try:
        expr = regex_expr(pattern, flags="s")
    except GrammarError as error:
        for found in error.diagnostics:
            arguments.problems.add(
                found.code,
                f"in `Regex`: {found.message}",
                arguments.positional[0].span.start,
                arguments.positional[0].span.end,
                label=found.label,
                help=found.help,
            )
        return Leaf(EPSILON, span)
    return Leaf(Intersection((expr, _JSON_PLAIN), span) if in_json else expr, span, 2)


def _part(module: Module, call: Call, kind: str, text: str, dispatch: Dispatch) -> Leaf:
    """Return a leaf that stands for a part of the file, whose meaning may depend on the vocabulary."""
    name = f"%{kind}{text}.{call.span.source}.{call.span.start}"
    module.parts[name] = Part(kind, text, call.span, dispatch)
    return Leaf(RuleRef(name, span=call.span), call.span)


def _substring(arguments: Arguments, module: Module) -> Node:
    chunks = tuple(arguments.text(value) for value in arguments.positional)
    return _part(module, arguments.call, "substring", "", Dispatch(chunks))


# -- free text with triggers ---------------------------------------------------------------------------------


def _group(op: str, items: list[Node], span: Span) -> Node:
    return items[0] if len(items) == 1 else Group(op, tuple(items), span, 2 + max(i.depth for i in items))


def _any_number(item: Node, span: Span) -> Node:
    return Repetition(item, 0, None, span, item.depth + 1)


def _pairs(arguments: Arguments, what: str) -> list[tuple[Value, Name]]:
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
            arguments.wrong(
                f"the excluded {text!r:.60} begins a trigger, which could never come",
                value,
                "leave it out, or choose another trigger",
            )
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
            arguments.wrong(
                f"the token {number} is a trigger, and excluded", value, "leave it out of one of them"
            )
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
