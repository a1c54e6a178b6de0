"""Parse a Lark file, statement by statement.

A statement ends at the end of its line, where no bracket is open and the next line does not begin with ``|``. One that is
broken is reported once, and reading goes on where the next one begins.
"""

from __future__ import annotations

from typing import Literal

from stackmask.grammar.lark.expressions import Expressions
from stackmask.grammar.lark.stream import DIRECTIVES, Stream, SyntaxProblem
from stackmask.grammar.lark.strings import without_surrogates
from stackmask.grammar.lark.syntax import Definition, Import, Module, Name, is_terminal_name
from stackmask.grammar.lark.tokens import Token
from stackmask.grammar.source.diagnostics import Collector
from stackmask.grammar.source.similar import similar

How = Literal["define", "override", "extend"]
_CURES = {
    "%skip": "`%ignore X` is what may stand between terminals",
    "%lark": "put its rules into the same text",
    "%token": "a terminal is `NAME: …`",
    "%start": "the start rule is `start`, or named: Grammar.from_lark(text, start=…)",
}


def parse_module(text: str, source: int, problems: Collector) -> Module:
    """Parse a file; what is wrong is reported, and the statements around it kept.

    Cost: linear, about 4 µs a token.
    """
    return _Parser(without_surrogates(text, problems), Module(source), problems).run()


class _Parser:
    def __init__(self, text: str, module: Module, problems: Collector) -> None:
        self.module, self.problems = module, problems
        self.stream = Stream(text, problems)
        self.expressions = Expressions(self.stream, module)

    def run(self) -> Module:
        stream, last = self.stream, len(self.stream.tokens)
        while stream.at < last:
            if stream.token.kind == "line":
                stream.at += 1
                continue
            before = stream.at
            try:
                self.statement(stream.token)
            except SyntaxProblem:
                stream.at = max(stream.at, before + 1)
                while stream.at < last and not stream.is_beginning(stream.at):
                    stream.at += 1
        return self.module

    def statement(self, token: Token) -> None:
        """Read one statement, with the end of its line."""
        stream = self.stream
        if token.kind == "directive":
            self.directive(token)
        elif token.kind == "body" and token.value[0] == "%llguidance":
            stream.at += 1
            span = stream.span(token.start, token.end)
            self.module.notes.append((span, "%llguidance", "options of llguidance have no effect"))
        else:
            self.definition("define")
        if stream.token.kind != "line":
            raise stream.unexpected(stream.token)
        stream.at += 1

    def directive(self, token: Token) -> None:
        stream = self.stream
        stream.at += 1
        match token.text:
            case "%ignore":
                self.module.ignored.append(self.expressions.read())
            case "%import":
                self.import_names(token)
            case "%declare":
                self.module.declared.append(stream.name())
                while stream.token.kind == "name":
                    self.module.declared.append(stream.name())
            case "%override":
                self.definition("override")
            case "%extend":
                self.definition("extend")
            case _:
                close = similar(token.text, DIRECTIVES)
                help = f"did you mean `{close}`?" if close else f"there are {', '.join(DIRECTIVES)}"
                self.problems.add(
                    "G012",
                    f"unknown directive `{token.text}`",
                    token.start,
                    token.end,
                    label="no such directive",
                    help=_CURES.get(token.text, help),
                )
                raise SyntaxProblem

    def import_names(self, directive: Token) -> None:
        stream = self.stream
        relative = stream.token.kind == "."
        if relative:
            stream.at += 1
        path = [stream.name()]
        while stream.token.kind == ".":
            stream.at += 1
            path.append(stream.name())
        if stream.token.kind == "(":
            items = self.import_list()
        elif len(path) == 1:
            span, name = path[0].span, path[0].name
            help = f"for example `%import {name}.INT`, or `%import {name} (INT, WS)`"
            self.problems.add("G014", f"nothing is imported from `{name}`", span.start, span.end, help=help)
            return
        else:
            outer = local = path.pop()
            if stream.token.kind == "->":
                stream.at += 1
                local = stream.name()
            items = [(outer, local)]
        span = stream.span(directive.start, stream.tokens[stream.at - 1].end)
        self.module.imports.append(Import(tuple(name.name for name in path), relative, tuple(items), span))

    def import_list(self) -> list[tuple[Name, Name]]:
        """Read `(X, Y)`."""
        stream = self.stream
        opened = stream.token
        items: list[tuple[Name, Name]] = []
        while stream.token.kind in ("(", ","):
            stream.at += 1
            stream.skip_lines()
            if items and stream.token.kind == ")":
                break
            if stream.is_beginning(stream.at):
                raise stream.fail("`(` is never closed", opened, label="opened here", help="add a `)`")
            name = stream.name()
            items.append((name, name))
            stream.skip_lines()
        stream.take(")", "`,` or `)`", "for example `%import common (INT, WS)`")
        return items

    def definition(self, how: How) -> None:
        stream = self.stream
        begin = stream.token
        modifiers = ""
        while stream.token.kind in ("?", "!"):
            modifiers += stream.token.kind
            stream.at += 1
        if stream.token.kind != "name":
            raise stream.unexpected(stream.token, begins=True)
        name = stream.name()
        try:
            self.check_name(name, modifiers, begin)
            self.module.definitions.append(self.defined(name, how))
        except SyntaxProblem:
            self.module.broken.add(name.name)
            raise

    def defined(self, name: Name, how: How) -> Definition:
        stream = self.stream
        parameters: list[Name] = []
        priority = None
        if stream.token.kind == "{":
            while stream.token.kind in ("{", ","):
                stream.at += 1
                parameters.append(stream.name())
            stream.take("}", "`,` or `}`", "a template is `name{x, y}: …`")
        if stream.token.kind == ".":
            stream.at += 1
            token = stream.take("number", "a number after `.`", "a priority is `NAME.2: …`")
            priority = int(token.text[:12])
        if stream.token.kind == "[":
            self.attributes()
        if stream.token.kind == "::":
            raise stream.fail(
                "rules that count, of llguidance, are not supported",
                stream.token,
                help="a template is `name{x}: …`, a count `x ~ 2..5`",
            )
        stream.take(":", f"`:` after `{name.name}`", "a rule is `name: …`")
        return Definition(name.name, tuple(parameters), self.expressions.read(), name.span, priority, how)

    def check_name(self, name: Name, modifiers: str, begin: Token) -> None:
        """Report a name that is neither of a rule nor of a terminal."""
        written = name.name
        if written.upper() != written != written.lower():
            self.problems.add(
                "G001",
                f"`{written}` has capital and small letters",
                name.span.start,
                name.span.end,
                label="neither a rule nor a terminal",
                help=f"`{written.lower()}` is a rule, `{written.upper()}` a terminal",
            )
        elif modifiers and is_terminal_name(written):
            problem = f"`{modifiers}` stands before rules, not terminals"
            self.problems.add("G001", problem, begin.start, begin.end, help="leave it out")

    def attributes(self) -> None:
        """Read the attributes of llguidance, such as `[capture]`."""
        stream = self.stream
        opened = stream.token
        stream.at += 1
        is_name = True
        while stream.token.kind not in ("]", "line"):
            token = stream.token
            stream.at += 1
            if token.kind == "name" and is_name:
                span = stream.span(token.start, token.end)
                if token.text == "capture":
                    self.module.notes.append(
                        (span, token.text, "nothing is captured: parse the text afterwards")
                    )
                else:
                    self.problems.add(
                        "G018",
                        f"the attribute `{token.text}` is not supported",
                        token.start,
                        token.end,
                        help='text up to an end is `/(?s:.*?)/ "END"`; tokens are counted by max_new_tokens',
                    )
            is_name = token.kind == ","
        stream.take("]", "`]`", "") if stream.token.kind == "]" else self.never_closed(opened)

    def never_closed(self, opened: Token) -> None:
        raise self.stream.fail("`[` is never closed", opened, label="opened here", help="add a `]`")
