"""From terminals to expressions. Terminals that Lark joins to one regular expression become one pattern.

Such a pattern has the strings that Python's ``re`` matches as a whole, so order and laziness matter. Most
terminals read each text in only one way, and refer to other terminals. The others are converted as a whole,
through an automaton.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, cast
from typing import Literal as OneOf

from stackmask.grammar import ir
from stackmask.grammar.ir import Choice, Complement, Expr, Intersection, Literal, NotFollowedBy, RuleRef, Span
from stackmask.grammar.ir.build import choice, repeat, sequence
from stackmask.grammar.languages.classes import TooLarge, char_class
from stackmask.grammar.languages.forms import (
    EMPTY,
    UNKNOWN,
    Paths,
    in_choice,
    in_sequence,
    of_words,
    paths,
    repeated,
)
from stackmask.grammar.lark.modules import Entry, LarkFile, Notes
from stackmask.grammar.notation import tree as syntax
from stackmask.grammar.notation.tree import Name, Node, names_in
from stackmask.grammar.regex.automaton import Whole, looks_before, restrictable, whole_strings
from stackmask.grammar.regex.compile import Flavor as RegexFlavor
from stackmask.grammar.regex.compile import read_tree
from stackmask.grammar.regex.pattern import tree
from stackmask.grammar.source.charclass import Ranges, follow_mask
from stackmask.grammar.source.diagnostics import GrammarError
from stackmask.grammar.source.work import remembering, spend

Flavor: TypeAlias = OneOf["python", "rust", "xgrammar"]  # whose reading of regexes
MAX_PARTS: Final = 20_000  # of a terminal that is read as a whole, all others in it written out
MAX_SHOWN: Final = 40  # characters of a terminal without a name
MAX_WIDTH: Final = 1 << 64  # as in Python's re
# what Lark replaces by a character in a regex, in a group, and other escapes
_EVALUATED: Final = re.compile(
    r"""\\(?:([nfrt"]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})|.)""", re.DOTALL
)
_PARTS: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()|]", re.DOTALL)
_PYTHON_NAME: Final = re.compile(r"(?<!\\)\(\?P<")
_FLAG_LENGTH: Final = len("(?i:)")


@dataclass(frozen=True, slots=True)
class TerminalPart:
    """A part of a terminal.

    ``tree``: the part as a pattern, with other terminals expanded; ``size``: its number of nodes. ``expr``:
    the part with references to other terminals. ``paths``: whether it reads texts in only one way.
    ``asserted``: its number of assertions. ``is_set``: built with `&` or `~`, and unordered. ``low``,
    ``high``, ``value``: Lark's keys for sorting alternatives: least and greatest width, length of the regular
    expression. ``written``: its length inside another one; ``flags``: flags that Lark adds there.
    """

    tree: tree.Node
    expr: Expr
    paths: Paths
    size: int
    low: int
    high: int
    value: int
    written: int
    flags: int = 0
    asserted: int = 0
    is_set: bool = False
    is_open: bool = False  # a regex with a `|` outside of groups
    follow: Ranges = ()  # of a look-ahead for one character alone: those that may not follow


_JOINED: Final = (
    "Lark joins the regex to its neighbours as it is, so that its `|` reaches over them; here it is a group"
)
NOTHING: Final = TerminalPart(ir.EPSILON, ir.EPSILON, EMPTY, 1, 0, 0, 0, 0)


class Terminals:
    """The terminals of a grammar."""

    def __init__(self, entries: dict[str, Entry], notes: Notes, flavor: Flavor) -> None:
        self.entries, self.notes = entries, notes
        self.flavor: RegexFlavor = "ecma" if flavor == "xgrammar" else flavor
        self.case = "ia" if flavor == "xgrammar" else "i"  # the flags of text that ignores case
        self.lazy: dict[int, ir.Repeat] = {}
        self.pieces: dict[str, TerminalPart] = {}
        self.patterns: dict[tuple[str, str], TerminalPart] = {}
        self.finished: dict[tuple[str, str, str], Expr] = {}
        self.declared: dict[str, None] = {}  # of those in terminals, the ones without a definition

    # -- named terminals --------------------------------------------------------------------------

    def body(self, name: str) -> Expr:
        """Return the expression of a terminal, in which other terminals are references to rules."""
        entry = self.entries[name]
        return self.finish(self.piece(name), entry.span, entry.bodies[0][1], name)

    def piece(self, name: str) -> TerminalPart:
        """Return the part for a terminal, after the parts to which it refers; recursion is reported."""
        todo = [(name, False)]
        active: set[str] = set()
        while todo:
            current, is_ready = todo.pop()
            if is_ready:
                active.discard(current)
                pieces = [self.build(node, file) for node, file in _options(self.entries[current])]
                self.pieces[current] = self.alternatives(pieces) if pieces else NOTHING
                continue
            if current in self.pieces or current in active:
                continue
            active.add(current)
            todo.append((current, True))
            for node, file in self.entries[current].bodies:
                for use in names_in(node):
                    spend(2)
                    other = file.full(use.name)
                    if other in active:
                        self._recursion(use, file)
                        self.pieces[other] = NOTHING
                    elif (
                        other not in self.pieces and (found := self.entries.get(other)) and found.is_terminal
                    ):
                        todo.append((other, False))
        return self.pieces[name]

    def _recursion(self, use: Name, file: LarkFile) -> None:
        message = f"the terminal `{use.name}` leads back to itself"
        help = f"only rules are recursive: write it small, `{use.name.lower()}`"
        file.problems.at(use.span, "G018", message, help, "recursion")

    # -- parts ------------------------------------------------------------------------------------

    # recursion is as deep as the syntax tree, which expressions.MAX_DEPTH limits
    def build(self, node: Node, file: LarkFile) -> TerminalPart:
        """Return the part for a node of a terminal; unsupported nodes are reported."""
        spend(8)
        match node:
            case syntax.Text(value, flags):
                return self.text(value, flags)
            case syntax.Pattern():
                return self.pattern(node, file)
            case syntax.Range(low, high, _, length):
                expr = char_class(((ord(low), ord(high)),))
                return TerminalPart(expr, expr, paths(expr, {}), 1, 1, 1, length, length)
            case Name():
                return self.name(node, file)
            case syntax.Group(" ", items):
                pieces = [self.build(item, file) for item in items]
                if len(pieces) > 1 and any(piece.is_open for piece in pieces):
                    what = file.text[node.span.start : min(node.span.end, node.span.start + MAX_SHOWN)]
                    self.notes.add("relaxed", node.span, what, _JOINED)
                return self.joined(pieces)
            case syntax.Group("|", items):
                return self.alternatives([self.build(item, file) for item in items])
            case syntax.Group(_, items):
                operands = [self.finish(self.build(item, file), item.span, file) for item in items]
                return _of_set(Intersection(tuple(operands)))
            case syntax.Terminal(RuleRef(name) as expr) if name.startswith("%regex."):
                return _of_set(expr)
            case syntax.Prefix(_, item):
                return _of_set(Complement(self.finish(self.build(item, file), item.span, file)))
            case syntax.Repetition(item, least, most, _, _, length):
                return self.repetition(self.build(item, file), least, most, length)
        kinds = {syntax.CountedUse: "a rule with a number", syntax.Guarded: "`%if`"}
        what = node.what if isinstance(node, syntax.Terminal) else kinds.get(type(node), "a template")
        help = "a terminal is text; write a rule, whose name is small"
        file.problems.at(node.span, "G018", f"{what} is not allowed in a terminal", help)
        return NOTHING

    def text(self, value: str, flags: str) -> TerminalPart:
        known = self.patterns.get((value, "i" if flags else "="))
        if known is not None:
            return known
        spend(len(value) // 4)
        if flags:
            found = read_tree(re.escape(value), flags=self.case).node
            expr = cast("Expr", found)
        else:
            expr = Literal(value.encode())
        width, added = len(value), len(flags)
        written = len(re.escape(value)) + _FLAG_LENGTH * added
        size = 1 + width if flags else 1
        piece = TerminalPart(expr, expr, paths(expr, {}), size, width, width, width, written, added)
        self.patterns[value, "i" if flags else "="] = piece
        return piece

    def pattern(self, node: syntax.Pattern, file: LarkFile) -> TerminalPart:
        key = node.value, f"/{node.flags}"
        known = self.patterns.get(key)
        if known is None:
            known = self.patterns[key] = self._read(node, file)
        return known

    def _read(self, node: syntax.Pattern, file: LarkFile) -> TerminalPart:
        flags = "".join(sorted(set(node.flags) - {"l"}))
        if "l" in node.flags:
            place = Span(node.span.end - len(node.flags), node.span.end, node.span.source)
            file.problems.at(place, "G009", "the flag `l` depends on the locale", "leave it out")
        pattern = node.value
        if self.flavor == "ecma":  # where `u` changes nothing
            flags = flags.replace("u", "").replace("i", self.case)
            pattern = _PYTHON_NAME.sub("(?<", pattern)
        try:
            found = read_tree(pattern, flavor=self.flavor, flags=flags)
        except GrammarError as error:
            start = node.span.start + 1
            file.problems.take(error, start, start + len(node.value))
            return NOTHING
        self.lazy.update(found.lazy)
        least, most = tree.widths(found.node)
        size = sum(1 for _ in tree.walk_nodes(found.node))
        spend(2 * size)
        expr = cast("Expr", found.node)
        length = len(_EVALUATED.sub(lambda match: "." if match[1] else match[0], node.value))
        added = len(set(node.flags))
        low, high = min(least, MAX_WIDTH), MAX_WIDTH if most is None else min(most, MAX_WIDTH)
        known = UNKNOWN if found.asserted else paths(found.node, self.lazy)
        written = length + _FLAG_LENGTH * added
        is_open, follow = not node.flags and _is_open(node.value), _forbidden(found.node)
        part = TerminalPart(found.node, expr, known, size, low, high, length, written, added, found.asserted)
        return replace(part, is_open=is_open, follow=follow)

    def name(self, node: Name, file: LarkFile) -> TerminalPart:
        full = file.full(node.name)
        entry = self.entries.get(full)
        if entry is None:
            return NOTHING  # which is reported where names are looked at
        if not entry.is_terminal:
            help = f"write the rule as a terminal, `{node.name.upper()}`, or this one as a rule"
            file.problems.at(node.span, "G018", f"the rule `{node.name}` is not allowed in a terminal", help)
            return NOTHING
        found = self.pieces.get(full)
        if not entry.bodies:
            self.declared[full] = None  # mutant: declared-inside
        if found is None or not entry.bodies:
            return NOTHING
        return replace(found, expr=RuleRef(full, span=node.span))

    def joined(self, pieces: list[TerminalPart]) -> TerminalPart:
        """Return the concatenation of parts."""
        if len(pieces) == 1:
            return pieces[0]
        if not pieces:
            return NOTHING
        length = sum(piece.written for piece in pieces)
        is_set = any(piece.is_set for piece in pieces)
        exprs = [piece.expr for piece in pieces]
        asserted = sum(piece.asserted for piece in pieces)
        if is_set and pieces[-1].follow:  # which goes with `&` and `~`, as it is no part of a pattern
            exprs[-1] = NotFollowedBy(follow_mask(pieces[-1].follow) or 0)
            asserted -= pieces[-1].asserted
        low = min(sum(piece.low for piece in pieces), MAX_WIDTH)
        high = min(sum(piece.high for piece in pieces), MAX_WIDTH)
        size = 1 + sum(piece.size for piece in pieces)
        node, known = tree.node_sequence(piece.tree for piece in pieces), in_sequence(p.paths for p in pieces)
        return TerminalPart(
            node, sequence(exprs), known, size, low, high, length, length, 0, asserted, is_set
        )

    def alternatives(self, pieces: list[TerminalPart]) -> TerminalPart:
        """Return a choice, with the widest part first, as in Lark."""
        if len(pieces) == 1:
            return pieces[0]
        spend(4 * len(pieces))
        ordered = sorted(pieces, key=_rank)
        words = [piece.tree.data for piece in ordered if isinstance(piece.tree, Literal) and piece.tree.data]
        if len(words) == len(ordered):
            known = of_words([word.decode() for word in words])
        else:
            known = in_choice([piece.paths for piece in ordered])
        length = len("(?:)") - 1 + sum(1 + piece.written for piece in ordered)
        low, high = min(piece.low for piece in ordered), max(piece.high for piece in ordered)
        size = 1 + sum(piece.size for piece in ordered)
        node, expr = tree.node_choice(p.tree for p in ordered), choice([p.expr for p in ordered])
        asserted, is_set = sum(p.asserted for p in ordered), any(p.is_set for p in ordered)
        return TerminalPart(node, expr, known, size, low, high, length, length, 0, asserted, is_set)

    def repetition(self, piece: TerminalPart, least: int, most: int | None, sign: int) -> TerminalPart:
        """Return a repetition, whose operator has the given length in Lark's regular expression."""
        length = len("(?:)") + piece.written + sign
        found: tree.Node
        if piece.asserted and piece.high == 0:  # assertions alone: holding once is holding always
            found = ir.EPSILON if least == 0 else piece.tree
        else:
            found = tree.node_repeat(piece.tree, least, most)
        high = MAX_WIDTH if most is None and piece.high else min(piece.high * (most or 0), MAX_WIDTH)
        low = min(piece.low * least, MAX_WIDTH)
        written = length + _FLAG_LENGTH * piece.flags  # mutant: repeated-flags
        expr, known = repeat(piece.expr, least, most), repeated(piece.paths, least, most, False)
        sizes = 1 + piece.size, low, high, length, written, piece.flags
        return TerminalPart(found, expr, known, *sizes, piece.asserted, piece.is_set)

    # -- whole terminals --------------------------------------------------------------------------

    def finish(self, piece: TerminalPart, span: Span, file: LarkFile, name: str = "") -> Expr:
        """Return the strings that a pattern matches as a whole."""
        what = name or file.text[span.start : min(span.end, span.start + MAX_SHOWN)]
        if piece.paths.is_empty and not piece.asserted and piece.expr != ir.EPSILON:
            self.notes.add("annotation", span, what, "may be empty, which Lark refuses of a terminal")
        if piece.is_set:
            if piece.asserted:
                self._refuse(file, span, "look-around beside `&` or `~`", "give it a terminal of its own")
            return piece.expr
        if piece.paths.is_single and not piece.asserted:
            return piece.expr
        return self._automaton(piece, span, file, what)

    def _automaton(self, piece: TerminalPart, span: Span, file: LarkFile, what: str) -> Expr:
        before = looks_before(piece.tree) if piece.asserted and piece.size <= MAX_PARTS else None
        if before is not None:
            problem = f"{before.what} depends on the text before the terminal"
            help = "leave it out: a terminal is matched as a whole, where it begins"
            return self._refuse(file, span, problem, help)
        nodes = enumerate(tree.walk_nodes(piece.tree)) if piece.size <= MAX_PARTS else ()
        lazy = frozenset([at for at, node in nodes if id(node) in self.lazy])
        found = _whole_strings(piece.tree, lazy) if piece.size <= MAX_PARTS else None
        if found is None and piece.asserted:
            help = "make the terminal smaller, or leave it out"
            return self._refuse(file, span, "look-around in a pattern of this size", help)
        if found is None:
            reason = "too large to tell which of its strings `re` would take: all of them may come"
            self.notes.add("relaxed", span, what, reason)
            return piece.expr
        if found.is_narrow:
            reason = (
                "look-ahead past its end is enforced for one character; strings that need more are left out"
            )
            self.notes.add("narrowed", span, what, reason)
        if not found.parts:
            problem = "the terminal matches nothing by itself: it depends on the following text"
            return self._refuse(file, span, problem, "leave the look-ahead out")
        options: list[Expr] = []
        for expr, forbidden in found.parts:
            options.append(
                expr if not forbidden else sequence([expr, NotFollowedBy(follow_mask(forbidden) or 0)])
            )
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _refuse(self, file: LarkFile, span: Span, problem: str, help: str) -> Expr:
        file.problems.at(span, "G009", problem, help)
        return ir.EPSILON


@remembering(128)
def _whole_strings(root: tree.Node, lazy: frozenset[int]) -> Whole | None:
    """Return the strings that a pattern matches as a whole; None if there are too many states. ``lazy``: the
    places of lazy repetitions.

    Many grammars have the same terminals, so the results are cached.
    """
    nodes = [node for at, node in enumerate(tree.walk_nodes(root)) if at in lazy]
    with suppress(TooLarge):
        return whole_strings(root, {id(node): node for node in nodes if isinstance(node, ir.Repeat)})
    return None


def _forbidden(node: tree.Node) -> Ranges:
    """Return the characters of `(?![…])` if a follow restriction can express it; otherwise no characters."""
    if not (
        isinstance(node, tree.Look) and node.ahead and node.negative and isinstance(node.body, ir.CharClass)
    ):
        return ()
    ranges, is_cut = restrictable(node.body.ranges)
    return () if is_cut else ranges


def _is_open(pattern: str) -> bool:
    """Return whether a pattern has a `|` outside groups. Cost: linear if there is any `|` at all."""
    if "|" not in pattern:
        return False
    depth = 0
    for part in _PARTS.findall(pattern):
        depth += (part == "(") - (part == ")")
        if part == "|" and depth == 0:
            return True
    return False


def _rank(piece: TerminalPart) -> tuple[int, int, int]:
    return -piece.high, -piece.low, -piece.value  # mutant: widest-first


def _options(entry: Entry) -> list[tuple[Node, LarkFile]]:
    """Return the alternatives of a terminal in Lark's order: first those added by `%extend`, newest first."""
    if not entry.bodies:
        return []
    (node, file), *added = entry.bodies
    own = node.items if isinstance(node, syntax.Group) and node.op == "|" else (node,)
    return [*reversed(added), *[(item, file) for item in own]]  # mutant: extended-last


def _of_set(expr: Expr) -> TerminalPart:
    return TerminalPart(expr, expr, UNKNOWN._replace(is_empty=False), 1, 0, MAX_WIDTH, 0, 0, is_set=True)
