"""Random Lark grammars and all short texts, judged by Lark itself.

The judge is Lark's Earley parser with the lexer "dynamic_complete". What it does with text that ``%ignore`` could take in
several ways is not the context-free reading, so ignored text is single blanks, or no terminal has any.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Final

import lark

LETTERS: Final = "ab"
REGEXES: Final = (
    "/a+/",
    "/b*a/",
    "/(?:a|ab)/",
    "/(ab|a)/",
    "/(a|ab)(b|ba)?/",
    "/a.*?b/",
    "/a.*b/",
    "/[ab]{2}/",
    "/[^a]/",
    "/b+?a?/",
    "/(?:ba)+/",
    "/a??b/",
    "/b{1,2}/",
    "/A/i",
    "/a b/x",
    "/./s",
    "/(a|b)*?ab/",
    "/(?:a(?=b)b|b)/",
    "/(?!ab)[ab]b/",
    "/[ab](?<=b)a?/",
    "/[ab]+?(?<!a)b/",
)
STRINGS: Final = ('"a"', '"b"', '"ab"', '"ba"', '"B"i', '"a".."b"', '"aa"')


class RandomLark:
    """Writes one grammar."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rules = [f"r{i}" for i in range(self.random.randint(0, 3))]
        self.terminals = [f"T{i}" for i in range(self.random.randint(1, 4))]
        self.templates = self.random.random() < 0.25

    def text(self) -> str:
        """Return the grammar."""
        pick = self.random
        lines = [f"start: {self.expression(3, True)}"]
        for name in self.rules:
            prefix = pick.choice(("", "", "?", "!"))
            lines.append(f"{prefix}{name}: {self.expression(2, True)}")
        own = [name for name in self.terminals if name.startswith("T")]
        for number, name in enumerate(own):
            priority = pick.choice(("", "", "", ".2"))
            lines.append(f"{name}{priority}: {self.terminal(2, self.terminals[number + 1 :])}")
        if self.templates:
            lines.append("_sep{x, y}: x (y x)*")
        if pick.random() < 0.4:
            lines.append('%ignore " "')
        return "\n".join(lines)

    def changed(self) -> str:
        """Return the grammar with imports, and with definitions that change others."""
        pick = self.random
        imports = []
        for name, own in pick.sample(
            (("INT", "I"), ("WS_INLINE", "WS_INLINE"), ("LETTER", "L"), ("DIGIT", "I")), 2
        ):
            if own not in self.terminals:
                imports.append(f"%import common.{name}" + ("" if name == own else f" -> {own}"))
                self.terminals.append(own)
        lines = [self.text()]
        for _ in range(pick.randint(1, 3)):
            how = pick.choice(("extend", "extend", "override"))
            if pick.random() < 0.7:
                number = pick.randrange(len(self.terminals))
                lines.append(
                    f"%{how} {self.terminals[number]}: {self.terminal(1, self.terminals[number + 1 :])}"
                )
            elif self.rules:
                lines.append(f"%{how} {pick.choice(self.rules)}: {self.expression(1, True)}")
        return "\n".join(imports + lines)

    def expression(self, depth: int, top: bool = False) -> str:
        """Return the body of a rule, or a part of one."""
        pick = self.random
        options = []
        for _ in range(pick.choice((1, 1, 2, 3))):
            items = [self.item(depth) for _ in range(pick.choice((1, 1, 2, 2, 3)))]
            options.append(" ".join(items) + (pick.choice(("", "", "", " -> name")) if top else ""))
        return " | ".join(options)

    def item(self, depth: int) -> str:
        pick = self.random
        kind = pick.random()
        if depth > 0 and kind < 0.15:
            return pick.choice(("({})", "[{}]", "({})?", "({})*", "({})+", "({}) ~ 2", "({}) ~ 0..2")).format(
                self.expression(depth - 1)
            )
        if kind < 0.45 and self.rules:
            return pick.choice(self.rules) + pick.choice(("", "", "", "?", "*", "+"))
        if kind < 0.5 and self.templates:
            return (
                f"_sep{{{pick.choice((*self.terminals, *STRINGS))}, {pick.choice((*self.rules, *STRINGS))}}}"
            )
        atom = pick.choice(self.terminals) if kind < 0.75 else pick.choice((*STRINGS, *STRINGS, *REGEXES))
        return atom + pick.choice(("", "", "", "", "?", "+", "*", " ~ 2"))

    def terminal(self, depth: int, others: list[str]) -> str:
        """Return the body of a terminal."""
        pick = self.random
        options = []
        for _ in range(pick.choice((1, 1, 2))):
            items = []
            for _ in range(pick.choice((1, 1, 2, 3))):
                if depth and pick.random() < 0.2:
                    item = pick.choice(("({})", "[{}]", "({})?", "({})+")).format(
                        self.terminal(depth - 1, others)
                    )
                elif others and pick.random() < 0.35:
                    item = pick.choice(others) + pick.choice(("", "", "?", "+"))
                else:
                    item = pick.choice((*STRINGS, *REGEXES, *REGEXES)) + pick.choice(
                        ("", "", "", "?", "*", "~1..2")
                    )
                items.append(item)
            options.append(" ".join(items))
        return " | ".join(options)


def all_texts(letters: str, most: int) -> Iterator[str]:
    """Yield all texts of at most so many characters."""
    for length in range(most + 1):
        yield from map("".join, product(letters, repeat=length))


class LarkJudge:
    """Lark's verdicts. Raises: lark.exceptions.LarkError for a grammar that Lark refuses."""

    def __init__(self, text: str, start: str = "start") -> None:
        self.parser = lark.Lark(
            text, start=start, parser="earley", lexer="dynamic_complete", ambiguity="forest"
        )

    def accepts(self, text: str) -> bool | None:
        """Return Lark's verdict; None where it fails ("please report this bug")."""
        try:
            self.parser.parse(text)
        except lark.exceptions.UnexpectedInput:
            return False
        except RuntimeError:
            return None
        return True
