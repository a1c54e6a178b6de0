"""Read the expression of a rule, a terminal or `%ignore`, with a stack of open brackets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from stackmask.grammar.ebnf.syntax import Dispatch, Part
from stackmask.grammar.ir import RuleRef, Span, TokenTerminal
from stackmask.grammar.lark.stream import Stream, SyntaxProblem, shown
from stackmask.grammar.lark.strings import read_string
from stackmask.grammar.lark.syntax import (
    Group,
    Leaf,
    Module,
    Name,
    Negation,
    Node,
    Pattern,
    Range,
    Repetition,
    Text,
    Use,
    is_terminal_name,
)
from stackmask.grammar.lark.tokens import Token
from stackmask.grammar.regex.pattern.reader import MAX_COUNT, read_number
from stackmask.grammar.source.work import spend

MAX_DEPTH: Final = 100  # levels of groups and operators in one rule
_CLOSES: Final = {"(": ")", "[": "]", "{": "}"}
_SIGNS: Final[dict[str, tuple[int, int | None]]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_CHUNKS: Final = ("substring_chunks", "substring_words", "substring_chars")


@dataclass(slots=True)
class _Frame:
    """An open bracket, or the whole body: its finished alternatives, and the sequence being read."""

    sign: str
    start: int
    name: Name | None = None  # of the template that the arguments in these braces are for
    alternatives: list[Node] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)
    operands: list[Node] = field(default_factory=list)  # of `&`, before the items
    negations: list[int] = field(default_factory=list)  # offsets of `~` before the next item
    arguments: list[Node] = field(default_factory=list)
    is_atom: bool = False  # whether the last item can be repeated


class Expressions:
    """Reads the expressions of one file."""

    def __init__(self, stream: Stream, module: Module) -> None:
        self.stream, self.module, self.problems = stream, module, stream.problems
        self.too_deep = False

    def read(self) -> Node:
        """Read alternatives up to the end of the statement. Raises: SyntaxProblem."""
        stream = self.stream
        self.too_deep = False
        frames = [_Frame("", stream.token.start)]
        while True:
            token = stream.token
            spend(6)
            frame, kind = frames[-1], token.kind
            if kind == "line":
                if self.goes_on(frames):
                    continue
                return self.finish(frame, token.start)
            stream.at += 1
            if kind in ("name", "string", "regex", "body", "special", "ids", "given"):
                self.push(frame, self.atom(token))
            elif kind in ("(", "["):
                frames.append(_Frame(kind, token.start))
            elif kind in (")", "]", "}"):
                if len(frames) == 1 or _CLOSES[frame.sign] != kind:
                    raise self.unbalanced(token, frame)
                frames.pop()
                self.close(frame, frames[-1], token)
            elif kind == "|":
                self.end_alternative(frame, token.start)
            elif kind == "->" and frame.sign != "{":
                self.alias(frame)
            elif kind == "~":
                self.tilde(frame, token)
            elif not self.operator(frames, token):
                raise stream.unexpected(token)

    def operator(self, frames: list[_Frame], token: Token) -> bool:
        """Read what stands behind an item; False if it cannot."""
        frame, kind = frames[-1], token.kind
        if kind == "," and frame.name is not None:
            frame.arguments.append(self.argument(frame, token))
        elif kind in _SIGNS and frame.is_atom:
            self.repeat(frame, *_SIGNS[kind], token.end)
        elif kind == "&" and frame.items and not frame.negations:
            frame.operands.append(self.sequence(frame.items, token.start))
            frame.items, frame.is_atom = [], False
        elif kind == "{" and frame.is_atom and self.stream.token.kind in ("number", ","):
            self.bounds(frame, token)
        elif kind == "{" and frame.is_atom and isinstance(name := frame.items[-1], Name):
            frame.items.pop()
            frames.append(_Frame("{", token.start, name))
        else:
            return False
        return True

    def goes_on(self, frames: list[_Frame]) -> bool:
        """Pass a line break that ends nothing; False at the end of the statement."""
        stream = self.stream
        index, last = stream.at, len(stream.tokens)
        while index < last and stream.tokens[index].kind == "line":
            index += 1
        if len(frames) == 1:
            if index < last and stream.tokens[index].kind == "|":
                stream.at = index
                return True
            return False
        if index == last or stream.is_beginning(index):
            opened = frames[-1]
            self.problems.add(
                "G001",
                f"`{opened.sign}` is never closed",
                opened.start,
                opened.start + 1,
                label="opened here",
                help=f"add a `{_CLOSES[opened.sign]}`",
            )
            raise SyntaxProblem
        stream.at = index
        return True

    # -- items ------------------------------------------------------------------------------------

    def atom(self, token: Token) -> Node:
        """Return what one token means."""
        span = self.stream.span(token.start, token.end)
        if token.kind == "name":
            return Name(token.text, span)
        if token.kind == "string":
            return self.string(token)
        if token.kind == "regex":
            close = token.text.rindex("/")
            return Pattern(token.text[1:close], token.text[close + 1 :], span)
        if token.kind == "special":
            return Leaf(TokenTerminal((token.text,), (), False, span), span, "a special token")
        if token.kind == "ids":
            return self.ids(token)
        if token.kind == "given":
            return Leaf(RuleRef(f"%grammar.{token.text[1:]}", span=span), span, "a grammar given by name")
        return self.part(token, span)

    def part(self, token: Token, span: Span) -> Node:
        """Return what stands for `%json` and `%regex`."""
        directive, value, start = token.value
        if directive == "%llguidance":
            raise self.stream.fail("`%llguidance` begins a line of its own", token)
        name = f"{directive}.{span.source}.{span.start}"
        if directive == "%json":
            self.module.parts[name] = Part("json", token.text, span, start=start)
        else:
            self.module.parts[name] = Part("substring", "", span, Dispatch(self.chunks(value, span)))
        return Leaf(RuleRef(name, span=span), span, f"`{directive}`")

    def chunks(self, value: Any, span: Span) -> tuple[str, ...]:
        """Return the chunks of ``%regex {"substring_…": …}``: any run of them is meant."""
        kind = next(iter(value), "") if isinstance(value, dict) and len(value) == 1 else ""
        found = value[kind] if kind in _CHUNKS else None
        if kind == "substring_chars" and isinstance(found, str):
            return tuple(found)
        if kind == "substring_words" and isinstance(found, str):
            return tuple(_words(found))
        if kind == "substring_chunks" and isinstance(found, list) and all(isinstance(c, str) for c in found):
            return tuple(found)
        if value is not None:  # else it was no JSON, which is reported
            self.problems.add(
                "G020",
                "`%regex` takes an object with one of " + ", ".join(_CHUNKS),
                span.start,
                span.end,
                help='for example `%regex {"substring_words": "some text"}`; a regular expression stands in slashes',
            )
        return ()

    def string(self, token: Token) -> Node:
        stream = self.stream
        if stream.token.kind == "..":
            stream.at += 1
            return self.range(token, stream.take("string", "a string after `..`", 'a range is `"a".."z"`'))
        flags = "i" if token.text[-1] == "i" else ""
        value, plain = read_string(stream.text, token.start + 1, token.end - 1 - len(flags), self.problems)
        span = stream.span(token.start, token.end)
        for place in plain[:1]:
            self.module.notes.append(
                (
                    stream.span(place, place + 2),
                    stream.text[place : place + 2],
                    "a backslash and this character, as in Lark, which has no such escape",
                )
            )
        return Text(value, flags, span) if value else Group(" ", (), span, 1)

    def range(self, first: Token, last: Token) -> Node:
        stream = self.stream
        span = stream.span(first.start, last.end)
        ends = [
            read_string(stream.text, token.start + 1, token.start + token.text.rindex('"'), self.problems)[0]
            for token in (first, last)
        ]
        if any(len(end) != 1 for end in ends) or "i" in (first.text[-1], last.text[-1]):
            self.problems.add(
                "G007", "a range is of two characters", span.start, span.end, help='for example `"a".."z"`'
            )
            return Group(" ", (), span, 1)
        if ends[0] > ends[1]:
            self.problems.add(
                "G007",
                "the range is reversed",
                span.start,
                span.end,
                help=f"write `{last.text}..{first.text}`",
            )
        return Range(min(ends), max(ends), span, len(f"[{first.text[1:-1]}-{last.text[1:-1]}]"))

    def ids(self, token: Token) -> Node:
        span = self.stream.span(token.start, token.end)
        written = token.text[2:-2].strip()
        ranges: list[tuple[int, int]] = []
        for piece in written.removeprefix("^").split(","):
            low, dash, high = (part.strip() for part in piece.partition("-"))
            spend(2)
            if not _is_number(low) or (dash and not _is_number(high)):
                self.problems.add(
                    "G017",
                    f"`{piece.strip():.40}` is no token id",
                    span.start,
                    span.end,
                    help="for example `<[5]>`, `<[5-9,12]>` or `<[^5]>`",
                )
                continue
            first, last = read_number(low), read_number(high if dash else low)
            ranges.append((min(first, last), max(first, last)))
        tokens = TokenTerminal((), tuple(sorted(ranges)), written.startswith("^"), span)
        return Leaf(tokens, span, "a special token")

    def push(self, frame: _Frame, node: Node) -> None:
        """Add an item, with the `~` before it."""
        for start in reversed(frame.negations):
            node = self.checked(Negation(node, self.stream.span(start, node.span.end), node.depth + 1))
        frame.negations = []
        frame.items.append(node)
        frame.is_atom = True

    def close(self, frame: _Frame, outer: _Frame, token: Token) -> None:
        """Add what stands in brackets to the sequence around it."""
        span = self.stream.span(frame.start, token.end)
        node: Node
        if frame.name is not None:
            arguments = (*frame.arguments, self.argument(frame, token))
            depth = 1 + max(argument.depth for argument in arguments)
            where = self.stream.span(frame.name.span.start, token.end)
            node = Use(frame.name.name, arguments, where, depth)
        else:
            node = self.finish(frame, token.start)
            if frame.sign == "[":
                node = Repetition(node, 0, 1, span, 1, node.depth + 1)
            else:  # which counts, so that what is nested is limited whatever stands in it
                node = Group(" ", (node,), span, node.depth + 1)
        self.push(outer, self.checked(node))

    def argument(self, frame: _Frame, token: Token) -> Node:
        """Return an argument of a template, which ends here."""
        single = len(frame.items) == 1 and not frame.alternatives and not frame.operands
        if not single or not isinstance(item := frame.items[0], Text | Pattern | Range | Name | Use):
            raise self.stream.fail(
                "an argument of a template is a name, a string, a regex or a template",
                token,
                help="give a longer expression a rule of its own",
            )
        frame.items, frame.is_atom = [], False
        return item

    # -- operators --------------------------------------------------------------------------------

    def tilde(self, frame: _Frame, token: Token) -> None:
        """Read `~ n`, `~ n..m`, or the `~` of a complement."""
        stream = self.stream
        if stream.token.kind != "number":
            frame.negations.append(token.start)
            frame.is_atom = False
            return
        if not frame.is_atom:
            raise stream.fail("nothing before `~` to repeat", token, help="a count is `x ~ 2` or `x ~ 2..5`")
        low = high = self.count()
        length = len(f"{{{low}}}")
        if stream.token.kind == "..":
            stream.at += 1
            high = self.count()
            length += len(f",{high}")
        self.repeat_counted(frame, low, high, token, length)

    def bounds(self, frame: _Frame, token: Token) -> None:
        """Read `{m}`, `{m,}`, `{,n}` or `{m,n}`."""
        stream = self.stream
        low = self.count() if stream.token.kind == "number" else 0
        high: int | None = low
        length = len(f"{{{low}}}")
        if stream.token.kind == ",":
            stream.at += 1
            high = self.count() if stream.token.kind == "number" else None
            length += len(f",{'' if high is None else high}")
        stream.take("}", "`}` after a count")
        self.repeat_counted(frame, low, high, token, length)

    def count(self) -> int:
        """Read a count; 1 in place of one that is refused."""
        token = self.stream.take("number", "a whole number")
        value: int = read_number(token.text.lstrip("+-"))
        if token.text[0] == "-" and value:
            self.problems.add("G005", "a count is 0 or more", token.start, token.end)
        if value > MAX_COUNT:
            problem = f"a repetition count is at most {MAX_COUNT:,}"
            self.problems.add("G005", problem, token.start, token.end, label="too large")
            value = 1
        return value

    def repeat_counted(self, frame: _Frame, low: int, high: int | None, token: Token, length: int) -> None:
        end = self.stream.tokens[self.stream.at - 1].end
        if high is not None and high < low:
            self.problems.add(
                "G005",
                f"the repetition ends at {high} before it begins at {low}",
                token.start,
                end,
                label="reversed bounds",
                help=f"did you mean `~ {high}..{low}`?",
            )
            low, high = high, low
        self.repeat(frame, low, high, end, length)

    def repeat(self, frame: _Frame, low: int, high: int | None, end: int, length: int = 1) -> None:
        item = frame.items[-1]
        span = self.stream.span(item.span.start, end)
        frame.items[-1] = self.checked(Repetition(item, low, high, span, length, item.depth + 1))
        frame.is_atom = False

    def alias(self, frame: _Frame) -> None:
        """Read the name of an alternative, which changes no text."""
        stream = self.stream
        token = stream.token
        if token.kind != "name":
            raise stream.fail(
                f"an alias is a name, not {shown(token)}", token, help='for example `"+" -> add`'
            )
        stream.at += 1
        if is_terminal_name(token.text):
            help = f"write `{token.text.lower()}`"
            self.problems.add(
                "G001", f"the alias `{token.text}` is written small", token.start, token.end, help=help
            )
        if stream.token.kind not in ("line", "|", ")", "]"):
            problem = "an alias stands at the end of an alternative"
            raise stream.fail(problem, token, help="put all parts before it")
        frame.is_atom = False

    # -- sequences and alternatives ---------------------------------------------------------------

    def end_alternative(self, frame: _Frame, end: int) -> None:
        if frame.negations:
            raise self.stream.fail(
                "nothing stands behind `~`",
                self.stream.tokens[self.stream.at - 1],
                help="a complement is `~X`",
            )
        node = self.sequence(frame.items, end)
        if frame.operands:
            operands = (*frame.operands, node)
            depth = 1 + max(operand.depth for operand in operands)
            span = self.stream.span(operands[0].span.start, max(end, operands[0].span.end))
            node = self.checked(Group("&", operands, span, depth))
        frame.alternatives.append(node)
        frame.items, frame.operands, frame.is_atom = [], [], False

    def finish(self, frame: _Frame, end: int) -> Node:
        self.end_alternative(frame, end)
        options = frame.alternatives
        if len(options) == 1:
            return options[0]
        depth = 1 + max(option.depth for option in options)
        return self.checked(Group("|", tuple(options), self.stream.span(frame.start, end), depth))

    def sequence(self, items: list[Node], end: int) -> Node:
        if len(items) == 1:
            return items[0]
        if not items:
            return Group(" ", (), self.stream.span(end, end), 1)
        span = self.stream.span(items[0].span.start, items[-1].span.end)
        return self.checked(Group(" ", tuple(items), span, 1 + max(item.depth for item in items)))

    def checked(self, node: Node) -> Node:
        """Return the node, or something empty if too much is nested in it, which is reported."""
        if node.depth <= MAX_DEPTH:
            return node
        if not self.too_deep:
            self.too_deep = True
            start = node.span.start
            self.problems.add(
                "G015",
                f"more than {MAX_DEPTH} levels of nesting",
                start,
                start + 1,
                help="move inner parts into rules of their own",
            )
        return Group(" ", (), node.span, 1)

    def unbalanced(self, token: Token, frame: _Frame) -> SyntaxProblem:
        if not frame.sign:
            return self.stream.fail(f"`{token.text}` closes nothing", token, label="no bracket is open")
        problem = f"`{token.text}` does not close `{frame.sign}`"
        return self.stream.fail(problem, token, help=f"write `{_CLOSES[frame.sign]}`")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _words(text: str) -> list[str]:
    """Return the words of a text, each with the blanks behind it as chunks of their own."""
    found: list[str] = []
    for character in text:
        kind = character.isalnum() or character == "_"
        if found and kind and (found[-1][-1].isalnum() or found[-1][-1] == "_"):
            found[-1] += character
        else:
            found.append(character)
    spend(len(text) // 4)
    return found
