"""The judge of grammars: Lark's Earley parser, character by character, over the rules as they are written.

It shares the reader of the notation with the engine, and nothing of what comes after: no normal form, no automaton, no stack.
"""

from __future__ import annotations

import codecs
from typing import Any

from stackmask.grammar import ir
from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.runtime.audit.judges import Unjudgeable, Verdict

MAX_REPEAT = 200  # times that a bounded repetition is written out
MAX_TEXT = 4_000  # characters; Earley is slow


class GrammarJudge:
    """Whole texts and beginnings of an EBNF grammar. Raises: Unjudgeable for what has no plain context-free meaning."""

    def __init__(self, source: str, start: str | None) -> None:
        import lark

        try:
            rules = Grammar.from_ebnf(source, start).rules
            written = _Writer(rules).text()
            self.parser = lark.Lark(written, parser="earley", lexer="dynamic", ambiguity="resolve")
        except (StackmaskError, lark.exceptions.LarkError) as error:
            raise Unjudgeable(str(error).splitlines()[0][:200]) from None
        self.errors = lark.exceptions
        self.accepts_empty = self._parses("") is True

    def _parses(self, text: str) -> bool | None:
        """Return whether a text parses; None where it is only a beginning."""
        try:
            self.parser.parse(text)
        except self.errors.UnexpectedEOF:
            return None
        except self.errors.UnexpectedInput:
            return False
        return True

    def judge(self, text: bytes) -> Verdict:
        """Say whether a text is of the grammar."""
        try:
            characters = text.decode()
        except UnicodeDecodeError:
            return Verdict(False, "no UTF-8", {"utf-8": "cannot decode"})
        if len(characters) > MAX_TEXT:
            return Verdict(None, "too long for Earley")
        parses = self._parses(characters) is True
        return Verdict(
            parses, "" if parses else "no derivation", {"lark": "parses" if parses else "no derivation"}
        )

    def may_begin(self, text: bytes) -> bool | None:
        """Say whether a text begins so, up to the last whole character: the rules that can be written all end."""
        try:
            characters = codecs.getincrementaldecoder("utf-8")().decode(text)
        except UnicodeDecodeError:
            return False
        if len(characters) > MAX_TEXT:
            return None
        return None if self._parses(characters) is not False else False


class _Writer:
    """Rules as a grammar of Lark in which each terminal is one character."""

    def __init__(self, rules: ir.RuleSet) -> None:
        self.rules = rules
        self.numbers = {name: f"r{number}" for number, name in enumerate(rules.rules)}
        self.terminals: dict[str, str] = {}

    def text(self) -> str:
        lines = [f"start: {self.numbers[self.rules.start]}"]
        for name, rule in self.rules.rules.items():
            lines.append(f"{self.numbers[name]}: {self._of(rule.body, 0)}")
        lines += [f"{name}: /{pattern}/" for pattern, name in self.terminals.items()]
        return "\n".join(lines) + "\n"

    def _of(self, node: Any, depth: int) -> str:
        if depth > 200:
            raise Unjudgeable("nested too deeply")
        match node:
            case ir.Literal():
                try:
                    return " ".join(self._terminal(((ord(c), ord(c)),)) for c in node.data.decode())
                except UnicodeDecodeError:
                    raise Unjudgeable("bytes that are no text") from None
            case ir.CharClass():
                return self._terminal(node.ranges)
            case ir.Sequence():
                return " ".join(self._of(item, depth + 1) for item in node.items)
            case ir.Choice() if node.items:
                return "(" + " | ".join(self._of(item, depth + 1) for item in node.items) + ")"
            case ir.Repeat():
                return self._repeat(node, depth)
            case ir.RuleRef(nonempty=False):
                return self.numbers[node.name]
        raise Unjudgeable(f"{type(node).__name__} has no plain context-free meaning")

    def _repeat(self, node: Any, depth: int) -> str:
        inner = f"({self._of(node.item, depth + 1)})"
        if node.max is None:
            if node.min > MAX_REPEAT:
                raise Unjudgeable("a long repetition")
            return " ".join([inner] * node.min) + f" {inner}*"
        if node.max > MAX_REPEAT:
            raise Unjudgeable("a long repetition")
        optional = ""
        for _ in range(node.max - node.min):
            optional = f"({inner} {optional})?"
        return " ".join([*[inner] * node.min, optional])

    def _terminal(self, ranges: tuple[tuple[int, int], ...]) -> str:
        if not ranges:
            raise Unjudgeable("an empty class")
        pattern = "[" + "".join(f"{_escape(low)}-{_escape(high)}" for low, high in ranges) + "]"
        return self.terminals.setdefault(pattern, f"T{len(self.terminals)}")


def _escape(point: int) -> str:
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
