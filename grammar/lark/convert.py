"""Convert a Lark grammar to EBNF for the same language, and keep its comments.

The rules are those of ``Grammar.from_lark``, so both accept the same strings; a terminal keeps its source
text if its meaning in EBNF is the same. ``%ignore`` becomes ``%skip``, inserted at the same positions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from stackmask.grammar import ir
from stackmask.grammar.ebnf.parser import SYNTAX, parse_module
from stackmask.grammar.ir import CharClass, Expr, Literal, RuleRef, Sequence, Span
from stackmask.grammar.ir.build import choice, is_nothing, repeat
from stackmask.grammar.ir.dump import dump_expr
from stackmask.grammar.lark.frontend import BodyScope, LarkRules, LoadedLark, OnUnsupported, load_lark
from stackmask.grammar.lark.modules import LarkFile
from stackmask.grammar.lark.parser import COMMENT, read_tokens
from stackmask.grammar.notation.layout import WIDTH, lay_out
from stackmask.grammar.notation.tree import Group, Name, Node, Pattern, RuleDefinition, Terminal, Text
from stackmask.grammar.source.charclass import Ranges, negate, normalize
from stackmask.grammar.source.diagnostics import Collector, line_and_column
from stackmask.grammar.source.work import spend

ROOT: Final = "root"  # where EBNF begins
MANY: Final = 8  # ranges of a class, for which there may be a name
NAMED: Final = (r"\p{L}\p{N}_", r"\p{Nd}")  # what `\w` and `\d` are in Lark
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_SINGLE: Final = (Literal, CharClass, RuleRef, ir.TokenTerminal, ir.Intersection, ir.Complement)


class Converted(NamedTuple):
    """The EBNF text. ``notes``: constructs that have no effect in EBNF, or another effect than in Lark."""

    text: str
    notes: tuple[str, ...]


def to_ebnf(
    text: str,
    start: str | None = None,
    *,
    name: str,
    base: Path | None,
    on_unsupported: OnUnsupported,
    is_whole: bool,
) -> Converted:
    """Return a Lark grammar in EBNF; the arguments are those of ``load_lark``.

    ``is_whole``: convert all definitions, or only those reachable from the start rule, with a note for the
    others.
    Raises: GrammarError with all errors of the text and all unconvertible constructs, with their positions.
    Cost: about that of reading the grammar twice.
    """
    rules = partial(_Rules, is_whole)
    made = load_lark(text, name=name, base=base, start=start, on_unsupported=on_unsupported, rules=rules)
    _refuse(made)
    writer = _EbnfWriter(made)
    found = lay_out(writer.text(), SYNTAX, name=name)
    notes = [str(note) for note in made.report.notes]
    for one in writer.left_out:
        line, column = line_and_column(text, one.span.start)
        reason = "nothing leads to it, or it is written out where it is used"
        notes.append(f"left out: {name}:{line}:{column}: `{one.name}`: {reason}")
    return Converted(found, tuple(notes))


def _refuse(made: LoadedLark) -> None:
    """Report a construct that EBNF cannot express. Raises: GrammarError."""
    sources, entries = made.made.loader.sources, made.made.entries
    spans = [entry.span for entry in entries.values() if entry.attributes and entry.name in made.made.used]
    for name in (name for file in made.made.loader.files for name in file.module.nested):
        _, source, start = name.split(".")
        spans.append(Span(int(start), int(start) + len("%lark"), int(source)))
    for span in spans:
        message = "`[lazy]`, ends and limits, and `%lark`, are not written in EBNF"
        sources.problems[span.source].at(span, "G018", message, "keep this grammar as Lark")
    root = made.made.loader.root
    if root.module.skips and root.module.options.get("allow_initial_skip") is False:
        span = root.module.skips[0].span
        root.problems.at(
            span, "G018", "in EBNF skipped text may also come first", "keep this grammar as Lark"
        )
    sources.stop_on_problems(None)


class _Rules(LarkRules):
    """Builds the rules of all definitions, without ignored terminals.

    A terminal in a rule that is not a single EBNF terminal becomes a reference to an entry of ``compound``.
    """

    def __init__(self, is_whole: bool, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.is_whole = is_whole
        self.layout = None  # which is not converted: such terminals are declared only
        self.skips: list[Expr] = []
        self.written: dict[Expr, str] = {}  # in the words of the author
        self.words: dict[Expr, str] = {}

    def run(self, start: str, skips_first: bool = True) -> str:
        """Lower the start rule and all definitions of the first file."""
        root = self.loader.root
        self.reference(start)
        for name, entry in self.entries.items():
            if (
                self.is_whole
                and entry.bodies
                and entry.bodies[0][1] is root
                and not entry.parameters
                and not entry.counts
            ):
                self.reference(name)
        for node in root.module.skips:
            own = self.reference(root.full(node.name)) if isinstance(node, Name) else None
            self.skips.append(own or self.terminal(node, BodyScope(root)))
        self.finish()
        for name, entry in self.entries.items():
            if entry.is_terminal and name in self.rules and len(entry.bodies) == 1:
                self.keep(*entry.bodies[0], self.rules[name].body)
        return start

    def terminal(self, node: Node, scope: BodyScope) -> Expr:
        """Return the expression of a terminal in a rule."""
        made = super().terminal(node, scope)
        self.keep(node, scope.file, made)
        return made

    def followed(self, terminal: Expr) -> list[Expr]:
        """Return the terminal as a list with this single item."""
        if isinstance(terminal, _SINGLE):
            return [terminal]
        return [RuleRef(self.compound.setdefault(terminal, f"%terminal.{len(self.compound)}"))]

    def keep(self, node: Node, file: LarkFile, made: Expr) -> None:
        """Keep the source text of a terminal if it has the same meaning in EBNF."""
        if isinstance(made, _SINGLE) or made in self.words or not isinstance(node, Text | Pattern):
            return
        self.words[made] = node.value if isinstance(node, Text) else ""
        written = file.text[node.span.start : node.span.end]
        if _read(written) == made:
            self.written[made] = written


class _EbnfWriter:
    """Writes the rules in the order of the first file, followed by those of other files."""

    def __init__(self, made: LoadedLark) -> None:
        assert isinstance(made.made, _Rules)
        self.start, self.rules, self.root = made.start, made.made, made.made.loader.root
        self.parts = made.made.loader.parts
        self.skips = bool(self.root.module.skips)
        self.taken = {ROOT: 2} if made.start != ROOT else {}
        entries, own = made.made.entries, {one.name for one in self.root.module.definitions}
        self.done: set[str] = set()
        self.left_out: list[RuleDefinition] = []
        self.classes: dict[str, str] = {}
        self.joins = False
        self.names: dict[str, str] = {}
        for name in sorted(self.rules.rules, key=lambda name: name not in own):
            is_terminal = name in entries and entries[name].is_terminal
            self.names[name] = self.free(name if name in own else name.rpartition("__")[2], is_terminal)
        self.terminals: dict[str, Expr] = {}
        for expr, name in self.rules.compound.items():
            self.terminals[name] = expr
            if self.skips and expr not in self.rules.written:
                word = self.rules.words.get(expr, "")
                self.names[name] = self.free(word if _WORD.fullmatch(word) else "TERMINAL", True)

    def free(self, wanted: str, is_terminal: bool) -> str:
        """Return an unused rule name, in upper case if nothing is skipped in the rule, else in lower case."""
        name = re.sub(r"[^A-Za-z0-9_]+", "-", wanted).strip("-")
        if is_terminal:
            name = name.upper()
        elif not name or name.isupper():
            name = f"rule-{name}"
        while name in self.taken:
            count = self.taken[name]
            self.taken[name] += 1
            name = f"{name}-{count}"
        self.taken[name] = 2
        return name

    # -- lines ------------------------------------------------------------------------------------

    def text(self) -> str:
        """Return the whole text, before formatting."""
        text = self.root.text
        lines: list[str] = []
        is_closed = True  # nothing more goes on the last line
        for at, kind, piece in sorted([*self.statements(), *_comments(text)], key=lambda one: one[0]):
            spend(4)
            breaks = _breaks(text, at)
            if kind == "|" and (breaks or is_closed):
                lines.append(f"  | {piece}")
            elif kind == "|" or (kind == "#" and not breaks and not is_closed):
                lines[-1] += f" {kind} {piece}" if kind == "|" else f"  {piece}"
            elif kind:
                lines += ["", piece] if breaks > 1 and lines else [piece]
            is_closed = kind in ("#", "")
        left = [name for name in self.rules.rules if name not in self.done]
        lines.append("")
        lines += [self.rule(name) for name in left]
        named = [(self.names[name], expr) for name, expr in self.terminals.items() if name in self.names]
        lines += [f"{name} ::= {self.expr(expr, True)}" for name, expr in named]
        lines += [f"{name} ::= {written}" for written, name in self.classes.items()]
        return "\n".join(lines)

    def statements(self) -> Iterator[tuple[int, str, str]]:
        """Yield parts of the first file as (offset, kind, text): "=" a statement, "|" an alternative, "" nothing."""
        module, text = self.root.module, self.root.text
        instances: dict[str, list[str]] = {}
        for (template, _), name in self.rules.instances.items():
            instances.setdefault(template, []).append(name)
        for definition in module.definitions:
            at = text.rfind("\n", 0, definition.span.start) + 1
            names = instances.get(definition.name, [definition.name] * (not definition.parameters))
            names = [name for name in names if name in self.rules.rules and name not in self.done]
            if not names and definition.name not in self.done:
                self.left_out.append(definition)
            first, *others = self.alternatives(definition) if names else [(at, "")]
            yield at, "=" if names else "", "\n".join(self.rule(name, first[1]) for name in names)
            for offset, alternative in others:
                yield offset, "|", alternative
        for node, skip in zip(module.skips, self.rules.skips, strict=True):
            yield text.rfind("%", 0, node.span.start), "=", f"%skip {self.expr(skip, True)}"
        for declared in module.declared:
            if declared.name in self.rules.rules:
                yield declared.span.start, "=", self.rule(declared.name)
        for one in module.imports:
            yield one.span.start, "", ""

    def alternatives(self, definition: RuleDefinition) -> list[tuple[int, str]]:
        """Return a rule's alternatives with their offsets, or one empty text for a whole body."""
        bodies = self.rules.entries[definition.name].bodies
        node, body = definition.body, self.rules.rules.get(definition.name)
        if body is None or bodies != [(node, self.root)] or not (isinstance(node, Group) and node.op == "|"):
            return [(0, "")]
        if not isinstance(body.body, ir.Choice) or any(map(is_nothing, body.body.items)):
            return [(0, "")]
        if self.names[definition.name].isupper():
            return [(0, "")]  # those of a terminal are in another order
        pairs = zip(node.items, body.body.items, strict=True)
        return [(item.span.start, self.expr(expr)) for item, expr in pairs]

    def rule(self, name: str, body: str = "") -> str:
        """Return the line of a rule, preceded by a line for the start rule where EBNF needs one."""
        self.done.add(name)
        written = self.names[name]
        line = f"{written} ::= {body or self.expr(self.rules.rules[name].body, written.isupper())}"
        return f"{ROOT} ::= {written}\n{line}" if name == self.start != ROOT else line

    # -- expressions ------------------------------------------------------------------------------

    def expr(self, expr: Expr, is_terminal: bool = False) -> str:
        """Return the text of an expression. Nothing is skipped in terminals."""
        written = self.rules.written.get(expr) if is_terminal else None
        self.joins = is_terminal or not self.skips
        return written or dump_expr(expr, self.spelled)

    def spelled(self, expr: Expr) -> Expr:
        """Return the replacement of a part. A string is a reference to the rule with this name."""
        if isinstance(expr, RuleRef):
            terminal = self.terminals.get(expr.name)
            if terminal is None or expr.name in self.names:
                return RuleRef(self.part(expr.name) or self.names.get(expr.name, expr.name))
            written = self.rules.written.get(terminal)
            return RuleRef(written) if written else self.spelled(terminal)
        if isinstance(expr, CharClass) and expr != ir.ANY_CHAR:
            return RuleRef(self.char_class(expr.ranges))
        if isinstance(expr, Sequence) and self.joins:
            items = tuple(_joined(expr.items))
            return items[0] if len(items) == 1 else Sequence(items)
        if isinstance(expr, ir.Repeat) and isinstance(expr.item, ir.Repeat):
            return repeat(expr.item, expr.min, expr.max)
        return choice(expr.items) if isinstance(expr, ir.Choice) else expr  # without what matches nothing

    def char_class(self, ranges: Ranges) -> str:
        """Return a character class by its members or its complement; if it is long, the name of its rule."""
        inside, outside = _inner(ranges), _inner(negate(ranges))
        text = f"[{inside}]" if len(inside) <= len(outside) + 1 else f"[^{outside}]"
        if len(text) > WIDTH:
            if text not in self.classes:
                self.classes[text] = self.free("CLASS", True)
            return self.classes[text]
        return text

    def part(self, name: str) -> str:
        """Return the text of an embedded part; empty for rules."""
        found = self.parts.get(name)
        if found is None or found.dispatch is None:
            return f"%json {found.text}" if found is not None else ""
        chunks = ", ".join(dump_expr(Literal(chunk.encode())) for chunk in found.dispatch.triggers)
        return f"Substring({chunks})"


def _comments(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the comments with their offsets."""
    done = 0
    for token in read_tokens(text, Collector(0)):
        for found in COMMENT.finditer(text, done, token.start):
            yield found.start(), "#", found[0].rstrip()
        done = token.end


def _breaks(text: str, at: int) -> int:
    """Return the number of line breaks in the whitespace before an offset, and whether it contains a ``|``."""
    end = at
    while at and text[at - 1] in " \t\r\f\v\n|":
        at -= 1
    spend((end - at) // 8)
    return text.count("\n", at, end)


def _joined(items: tuple[Expr, ...]) -> Iterator[Expr]:
    """Yield the items of a terminal, with case-insensitive words merged."""
    run: list[Expr] = []
    letters = ""
    for item in (*items, ir.EPSILON):
        letter = _letter(item)
        if letter:
            run.append(item)
            letters += letter
            continue
        if sum(isinstance(one, CharClass) for one in run) > 1:
            yield RuleRef(dump_expr(Literal(letters.encode())) + "i")
        else:
            yield from run
        run, letters = [], ""
        if item is not ir.EPSILON or len(items) == 1:
            yield item


def _letter(item: Expr) -> str:
    """Return the text of an item if the case of letters in it is irrelevant, else an empty string."""
    if isinstance(item, Literal):
        text = item.data.decode()
        return text if text.isascii() and text.upper() == text.lower() else ""
    if not isinstance(item, CharClass) or len(item.ranges) != 2:
        return ""
    (upper, last), (lower, end) = item.ranges
    is_pair = upper == last and lower == end and lower == upper + 32 and chr(lower).isalpha() and lower < 128
    return chr(lower) if is_pair else ""


def _inner(ranges: Ranges) -> str:
    names = ""
    for name in NAMED:
        if len(ranges) > MANY and normalize((*ranges, *_named(name))) == ranges:
            names += name
            ranges = negate((*negate(ranges), *_named(name)))
    return names + (dump_expr(CharClass(ranges))[1:-1] if ranges else "")


@cache
def _named(name: str) -> Ranges:
    found = _read(f"[{name}]")
    return found.ranges if isinstance(found, CharClass) else ()


def _read(written: str) -> Expr | None:
    """Return the meaning of a terminal in EBNF; None if it is invalid there."""
    spend(100)
    problems = Collector(0)
    found = parse_module(f"x ::= {written}\n", 0, problems).rules.get("x")
    if problems.found or found is None or not isinstance(found.body, Terminal):
        return None
    return found.body.expr
