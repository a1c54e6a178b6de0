"""Valid but probably unintended constructs of a grammar: diagnostics that never change its meaning.

They are computed on request (``Grammar.warnings``) from the text, which is parsed again, so that reading a
grammar costs no more.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from itertools import islice
from typing import Final

from stackmask.grammar.ir import EPSILON, CharClass, Literal, RuleRef, RuleSet, Sequence, Span, TokenTerminal
from stackmask.grammar.languages.classes import intersect
from stackmask.grammar.notation import tree
from stackmask.grammar.notation.loading import SKIP_RULE, START_RULE
from stackmask.grammar.notation.tree import Group, Module, Name, Node, Terminal, Use
from stackmask.grammar.source import charclass
from stackmask.grammar.source.diagnostics import Diagnostic
from stackmask.grammar.source.work import spend

MAX_WARNINGS: Final = 200
MAX_GENERAL: Final = 20  # alternatives that others are compared with
MAX_QUOTED: Final = 40

_QUOTES_IN_CLASS = re.compile(r"""\[\s*(["'])[^"'\\]*\1""")
_BARS_IN_CLASS = re.compile(r"\[\w(?:\|\w)+\]")
_DEDENT = re.compile(r"(?i)[_-]*(?:de|out|un)[_-]?(?:in)?dent[_-]*")
_HEXADECIMAL = re.compile(r"#x[0-9A-Fa-f]{1,6}(?![\w])")


def grammar_warnings(
    rules: RuleSet, module: Module, comments: Iterable[tuple[int, str]] | None = None
) -> list[Diagnostic]:
    """Return the warnings of the first file of a grammar, by position, ``MAX_WARNINGS`` at most.

    ``module``: the file's tree. ``comments``: EBNF comments that begin with `#`, with offsets; None for Lark.
    """
    text = rules.sources[0].text
    found = [*islice(_unused(module, rules), MAX_WARNINGS)]
    if comments is not None:
        found += islice(_hexadecimal(comments), MAX_WARNINGS)
        found += islice(_indentation(module), MAX_WARNINGS)
    for node in module.nodes():
        spend(8)
        found += islice(_of_node(node, module, text), MAX_WARNINGS)
        if len(found) >= MAX_WARNINGS:
            break
    found.sort(key=lambda warning: warning.span.start if warning.span else -1)
    return found[:MAX_WARNINGS]


def _warning(code: str, message: str, span: Span, label: str = "", help: str = "") -> Diagnostic:
    return Diagnostic(code, message, span, label, help, "warning")


# -- the whole file ------------------------------------------------------------------------------------------


def _unused(module: Module, rules: RuleSet) -> Iterator[Diagnostic]:
    """Warn of rules that the start rule does not need."""
    start = rules.start
    if start == START_RULE:
        body = rules.rules[start].body
        assert isinstance(body, Sequence)
        names = [item.name for item in body.items if isinstance(item, RuleRef)]
        start = next(name for name in names if not name.endswith(SKIP_RULE))
    uses: dict[str, set[str]] = {"": {start}}
    for skip in module.skips:
        uses[""] |= _uses(skip)
    for one in module.definitions:
        name = one.name if one.how == "define" else ""  # what changes an imported rule is used there
        ends = [
            value for value, _ in one.attributes.values() if value is not None and not isinstance(value, int)
        ]
        found = {use for node in (one.body, *ends) for use in _uses(node)}
        uses.setdefault(name, set()).update(found - {parameter.name for parameter in one.parameters})
    seen, todo = {""}, [""]
    while todo:
        found = uses.get(todo.pop(), set()) - seen
        spend(2 + len(found))
        seen |= found
        todo += found
    for name, one in module.rules.items():
        if name not in seen and one.how == "define":
            kind = "terminal" if name.lstrip("_")[:1].isupper() else "rule"
            help = "use it, or remove it"
            if kind == "rule" and not one.parameters:
                help = "use it, remove it, or begin with it: start=…"
            yield _warning(
                "G201", f"{kind} `{name}` is not used", one.span, f"`{start}` does not lead here", help
            )


def _uses(node: Node) -> set[str]:
    return {part.name for part in tree.walk_nodes(node) if isinstance(part, Name | Use | tree.CountedUse)}


def _hexadecimal(comments: Iterable[tuple[int, str]]) -> Iterator[Diagnostic]:
    for start, comment in comments:
        match = _HEXADECIMAL.match(comment)
        if match:
            yield _hexadecimal_warning(Span(start, start + match.end(), 0), match[0], "a comment begins here")


def _hexadecimal_warning(span: Span, written: str, label: str) -> Diagnostic:
    digits = written[2:]
    sign, width = next((s, w) for s, w in (("x", 2), ("u", 4), ("U", 8)) if len(digits) <= w)
    escape = f"\\{sign}{digits:0>{width}}"
    help = f'write `"{escape}"`, in a class `{escape}`'
    return _warning("G208", f"`{written}` is not a character", span, label, help)


def _indentation(module: Module) -> Iterator[Diagnostic]:
    """Warn of a rule for the end of a block if the grammar does not track the indentation of lines."""
    found = [one for one in module.definitions if _DEDENT.fullmatch(one.name)]
    if found and not any(isinstance(node, tree.Prefix) and node.op == "push" for node in module.nodes()):
        block = '`%stack "\\n"`, `block ::= @scope(@push(@top " "+) line (@top line)*)`'
        help = f"keep the indentation on the stack: {block}"
        label = "its text is the same wherever a block ends"
        for one in found:
            message = f"`{one.name}` cannot end a block: nothing here knows how far lines are indented"
            yield _warning("G211", message, one.span, label, help)


# -- single nodes --------------------------------------------------------------------------------------------


def _of_node(node: Node, module: Module, text: str) -> Iterator[Diagnostic]:
    match node:
        case Group("&"):
            yield from _subtractions(node, text)
        case Group("|"):
            yield from _hidden(node, text)
        case Group(" "):
            yield from _dots(node, text)
        case tree.Repetition(tree.Repetition()):
            yield from _repeated_twice(node, text)
        case Terminal(CharClass()):
            yield from _classes(node, text)
        case Terminal(TokenTerminal(names)) if len(names) == 1 and names[0][1:-1] in module.known:
            name = names[0][1:-1]
            if names[0] == f"<{name}>":
                message = f"`<{name}>` is a special token, not the rule `{name}`"
                yield _warning("G206", message, node.span, help=f"write `{name}` for the rule")


def _subtractions(node: Group, text: str) -> Iterator[Diagnostic]:
    """Warn of `-` where a hyphen was probably meant: next to counts, or where nothing is removed."""
    left = node.items[0]
    for item in node.items[1:]:
        # what `!` negates has another place than its operand
        if not (isinstance(item, tree.Prefix) and item.op == "!" and item.span == item.item.span):
            continue
        right = item.item
        reason = None
        if isinstance(right, tree.Repetition) and text[right.span.end - 1] == "}":
            reason = "it is next to a count"
        elif _are_apart(left, right):
            reason = "nothing that it takes away is there"
        if reason:
            operator = text.rfind("-", left.span.end, right.span.start)
            span = Span(operator, operator + 1, 0) if operator >= 0 else node.span
            help = 'write `"-"` for the character'
            yield _warning("G202", "`-` removes strings; it is not a hyphen", span, reason, help)


def _are_apart(left: Node, right: Node) -> bool:
    """Return whether two nodes obviously have no common string."""
    one, other = _lengths(left), _lengths(right)
    if one is None or other is None:
        return False
    if one[0] > other[1] or other[0] > one[1]:
        return True
    ones, others = _single(left), _single(right)
    return ones is not None and others is not None and not intersect(ones, others)


def _lengths(node: Node) -> tuple[float, float] | None:
    """Return the least and the greatest length of a node in characters; None if they are not obvious."""
    if isinstance(node, tree.Repetition):
        inner, high = _lengths(node.item), node.max
        if inner is None:
            return None
        most = 0 if high == 0 else float("inf") if high is None else inner[1] * high
        return inner[0] * node.min, most
    found = _characters(node)
    return None if found is None else found[1:]


def _single(node: Node) -> charclass.Ranges | None:
    """Return the characters of a node that is always one character, else None."""
    found = _characters(node) if isinstance(node, Terminal) else None
    return found[0] if found is not None and found[1:] == (1, 1) else None


def _hidden(node: Group, text: str) -> Iterator[Diagnostic]:
    """Warn of alternatives that others cover: equal ones, and characters of a class."""
    seen: dict[Hashable, Node] = {}
    runs = [item for item in node.items if _characters(item) is not None]
    general = [r for r in runs if not (isinstance(r, Terminal) and isinstance(r.expr, Literal))][:MAX_GENERAL]
    for item in node.items:
        if isinstance(item, Terminal) and item.expr == EPSILON:
            continue
        key = _shape(item)
        first = seen.setdefault(key, item)
        if first is not item:
            yield _hidden_warning(item, first, text)
            continue
        for other in general:
            if other is not item and _covers(other, item):
                yield _hidden_warning(item, other, text)
                break


def _hidden_warning(item: Node, other: Node, text: str) -> Diagnostic:
    start = other.span.start
    if text.count(")", start, other.span.end) > text.count("(", start, other.span.end):
        start = text.rfind("(", 0, start)  # which the place of a quantified group leaves out
    written = text[start : other.span.end]
    named = f"`{written}`" if len(written) <= MAX_QUOTED and "\n" not in written else "another alternative"
    help = "remove it, or change the other one; the order of alternatives is irrelevant"
    return _warning("G203", f"the alternative is hidden by {named}", item.span, "adds nothing", help)


def _characters(node: Node) -> tuple[charclass.Ranges, float, float] | None:
    """Return (characters, least number, greatest number) for a literal or a run of one class, else None."""
    match node:
        case Terminal(CharClass(ranges)):
            return ranges, 1, 1
        case tree.Repetition(Terminal(CharClass(ranges)), low, high):
            return ranges, low, float("inf") if high is None else high
        case tree.Range(low, high):
            return ((ord(low), ord(high)),), 1, 1
        case Terminal(Literal(data)):
            value = data.decode(errors="replace")
        case tree.Text(value, ""):
            pass
        case _:
            return None
    return tuple((ord(c), ord(c)) for c in sorted(set(value))), len(value), len(value)


def _covers(one: Node, other: Node) -> bool:
    """Return whether every string of ``other`` is a string of ``one``. Both are runs of characters."""
    outer, inner = _characters(one), _characters(other)
    if outer is None or inner is None or inner[1] < outer[1] or inner[2] > outer[2]:
        return False
    spend(len(inner[0]))
    common = charclass.normalize(intersect(inner[0], outer[0]))
    return inner[0] != outer[0] and common == charclass.normalize(inner[0])


# recursion is as deep as the syntax tree, which builder.MAX_DEPTH limits
def _shape(node: Node) -> Hashable:
    """Return a key that is equal for nodes with literally the same meaning."""
    spend(1)
    match node:
        case Terminal(expr):
            return expr
        case Name(name):
            return ("name", name)
        case Group(op, items):
            return (op, *map(_shape, items))
        case tree.Repetition(item, low, high):
            return ("{}", low, high, _shape(item))
        case tree.Prefix(op, item):
            return (op, _shape(item))
        case tree.Text(value, flags) | tree.Pattern(value, flags):
            return (type(node), value, flags)
        case tree.Range(low, high):
            return (low, high)
        case tree.CountedUse(name, value):
            return ("::", name, value)
        case tree.Guarded(item, condition):
            return ("%if", condition, _shape(item))
        case Use(name, arguments):
            return ("call", name, *map(_shape, arguments))
    raise TypeError(f"not a node: {node!r}")


def _dots(node: Group, text: str) -> Iterator[Diagnostic]:
    """Warn of dots that were meant as a range, such as `"a".."z"`."""
    items = node.items
    for index in range(1, len(items) - 2):
        if not _is_dot(items[index]) or _is_dot(items[index - 1]):
            continue
        end = index
        while (
            end < len(items)
            and _is_dot(items[end])
            and items[end].span.start == items[index].span.start + end - index
        ):
            end += 1
        before, after = _single(items[index - 1]), _single(items[end]) if end < len(items) else None
        if end - index in (2, 3) and before and after:
            low, high = text[items[index - 1].span.start + 1], text[items[end].span.start + 1]
            is_range = low < high and (low + high).isalnum()
            help = f"write `[{low}-{high}]`" if is_range else "write a class, such as `[a-z]`"
            size = end - index
            message = f"`{'.' * size}` is {size} characters of any kind, not a range"
            place = Span(items[index].span.start, items[end - 1].span.end, 0)
            yield _warning("G205", message, place, help=help)


def _is_dot(node: Node) -> bool:
    is_any = isinstance(node, Terminal) and node.expr == CharClass(charclass.ANY)
    return is_any and node.span.end - node.span.start == 1


def _repeated_twice(node: tree.Repetition, text: str) -> Iterator[Diagnostic]:
    inner = node.item
    written = text[inner.span.end : node.span.end].strip()
    before = text[inner.span.end - 1]
    if written in ("*", "+", "?") and before in "*+?":
        help = f"write `{before if before == written else '*'}`"
        place = Span(inner.span.end - 1, node.span.end, 0)
        yield _warning("G207", f"`{before}{written}` repeats twice", place, help=help)


def _classes(node: Terminal, text: str) -> Iterator[Diagnostic]:
    written = text[node.span.start : node.span.end]
    if not written.startswith("["):
        return
    shown = written if len(written) <= MAX_QUOTED else written[:MAX_QUOTED] + "…"
    hexadecimal = _HEXADECIMAL.search(written)
    if hexadecimal:
        start = node.span.start + hexadecimal.start()
        place = Span(start, start + len(hexadecimal[0]), 0)
        yield _hexadecimal_warning(place, hexadecimal[0], "in a class it is these characters")
    elif _QUOTES_IN_CLASS.match(written):
        message = f"`{shown}` is a class: one of its characters, quotes among them"
        help = 'write `("a")?` for an optional part, `[a]` for the character'
        yield _warning("G204", message, node.span, help=help)
    elif _BARS_IN_CLASS.fullmatch(written):
        help = f"write `{written.replace('|', '')}`"
        yield _warning("G204", f"`{shown}` is a class, and `|` one of its characters", node.span, help=help)
