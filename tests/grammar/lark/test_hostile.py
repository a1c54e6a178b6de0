"""Texts that are large in one way are read in time that their size decides, or refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.campaign import mostly_campaign

import stackmask as sm

LARGE = 64_000


def doubling(count: int, last: str) -> str:
    return "start: T0\n" + "".join(f"T{i}: T{i + 1} T{i + 1}\n" for i in range(count)) + f"T{count}: {last}\n"


REFUSED: dict[str, tuple[str, str]] = {
    "parentheses": ("start: " + "(" * 32_000 + '"a"' + ")" * 32_000, "G015"),
    "open parentheses": ("start: " + "(" * LARGE, "G001"),
    "brackets": ("start: " + "[" * 32_000 + '"a"' + "]" * 32_000, "G015"),
    "closing parentheses": ("start: " + ")" * LARGE, "G001"),
    "complements": ("start: " + "~" * LARGE + '"a"', "G015"),
    "braces": ("start: " + "a{" * 20_000, "G001"),
    "JSON": ("start: %json " + "[" * 30_000, "G020"),
    "undefined names": ("start: " + " ".join(f"u{i}" for i in range(5_000)), "G003"),
    "percent signs": ("% " * 32_000, "G001"),
    "quotes": ('"' * LARGE, "G001"),
    "unclosed regexes": ("/\\/\n" * 16_000, "G002"),
    "escaped slashes": ("\\/\n" * 21_000, "G001"),
    "unclosed ids": ("<[" * 32_000, "G001"),
    "question marks": ("?" * LARGE, "G001"),
    "templates that grow": ('start: t{"a"}\nt{x}: x | t{p{x}}\np{x}: x x\n', "G018"),
    "terminals in a circle": (
        "start: A0\n" + "".join(f"A{i}: A{(i + 1) % 3_000}\n" for i in range(3_000)),
        "G018",
    ),
    "look-ahead, doubled": (doubling(60, "/a(?!b)/"), "G009"),
    "look-ahead, doubled and repeated": (doubling(60, "/(?!b)/") + "%override start: R\nR: T0+\n", "G009"),
}

READ: dict[str, str] = {
    "counts": 'start: (("a" ~ 0..100000) ~ 0..100000) ~ 0..100000',
    "a count of a terminal": 'start: A\nA: ("a" | "ab") ~ 0..100000',
    "rules": "start: "
    + " | ".join(f"r{i}" for i in range(5_000))
    + "\n"
    + "".join(f'r{i}: "x{i}" r{(i + 1) % 5_000}?\n' for i in range(5_000)),
    "keywords": "start: K\nK: " + " | ".join(f'"key{i}"' for i in range(5_000)),
    "imports": "start: A0\n" + "".join(f"%import common.INT -> A{i}\n" for i in range(5_000)),
    "ignored": 'start: "a"\n' + "".join(f'%ignore "i{i}"\n' for i in range(5_000)),
    "extensions": 'start: "a"\n' + '%extend start: "b"\n' * 5_000,
    "alternatives": "start: " + "| " * 30_000,
    "terminals, doubled": doubling(60, '"a"'),
    "templates, doubled": 'start: t0{"a"}\n'
    + "".join(f"t{i}{{x}}: t{i + 1}{{x}} t{i + 1}{{x}}\n" for i in range(40))
    + "t40{x}: x\n",
    "arguments, doubled": 'start: t0{"a"}\n'
    + "".join(f"t{i}{{x}}: t{i + 1}{{p{{x}}}}\n" for i in range(300))
    + "t300{x}: x\np{x}: x x\n",
    "a word": 'start: %regex {"substring_words": "' + "a" * 1_000_000 + '"}',
}


@pytest.mark.parametrize("name", mostly_campaign(REFUSED, 8))
def test_refused(name: str) -> None:
    text, code = REFUSED[name]
    with pytest.raises(sm.GrammarError) as caught:
        sm.Grammar.from_lark(text)
    assert code in {problem.code for problem in caught.value.diagnostics}
    assert len(str(caught.value)) <= 10_000


@pytest.mark.parametrize("name", READ)
def test_read(name: str) -> None:
    grammar = sm.Grammar.from_lark(READ[name])
    _ = grammar.normalized
    assert grammar.work <= sm.Limits().max_work


@pytest.mark.parametrize(
    "make",
    [
        lambda: sm.Grammar.from_lark('start: "a"' + " " * 1_000, limits=sm.Limits(max_input_bytes=999)),
        lambda: sm.Grammar.from_lark(doubling(60, "/a|ab/"), limits=sm.Limits(max_work=100_000_000)),
    ],
)
def test_limits(make: Callable[[], sm.Grammar]) -> None:
    with pytest.raises(sm.BudgetError):
        make()


def test_work_grows_with_the_text() -> None:
    def work(count: int) -> int:
        text = "start: r0\n" + "".join(f'r{i}: "a" r{i + 1} | T{i}\nT{i}: /b+c?/\n' for i in range(count))
        return sm.Grammar.from_lark(text + f'r{count}: "d"').work

    assert work(2_000) <= 2.5 * work(1_000)


def test_work_is_the_same_when_terminals_come_again() -> None:
    text = 'start: "work" T ESCAPED_STRING\nT: /[ab]*?a(?!b)/ | /(b|ba)+?/\n%import common.ESCAPED_STRING\n'
    first, again = (sm.Grammar.from_lark(text) for _ in range(2))
    assert first.work == again.work > 0
    assert first.dump() == again.dump()


@pytest.mark.parametrize(
    "rules", ['{n}::0\n{n}::_: "a" {n}::incr(_) %if lt(_, 100) | "b"\n', '{n}{{"a"}}\n{n}{{x}}: x {n}{{"{n}"}}?\n']
)  # fmt: skip
def test_rules_of_long_names_have_short_ones(rules: str) -> None:
    grammar = sm.Grammar.from_lark("start: " + rules.format(n="p" * 10_000))
    assert max(map(len, grammar.rules.rules)) < 100


def test_grammars_of_files_that_lead_to_each_other(tmp_path: Path) -> None:
    nested = "%lark {{\n%import .{}.start\n}}"
    (tmp_path / "a.lark").write_text(f'start: "x" {nested.format("b")} | "y"\n')
    (tmp_path / "b.lark").write_text(f'start: "z" {nested.format("a")} | "w"\n')
    grammar = sm.Grammar.from_file(tmp_path / "a.lark")
    accepted = [text for text in ("y", "xw", "xzxzy", "xx") if grammar.accepts(text)]
    assert accepted == ["y", "xw", "xzxzy"]
    for at in range(40):
        once = nested.format(f"f{at + 1}")
        (tmp_path / f"f{at}.lark").write_text(f"start: {once} {once}\n")
    (tmp_path / "f40.lark").write_text('start: "a"?\n')
    assert sm.Grammar.from_file(tmp_path / "f0.lark").accepts("aaa")
