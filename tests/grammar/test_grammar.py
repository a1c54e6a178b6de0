"""The public class, limits, speed, and that nothing a user writes ends in another error than GrammarError."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from support.campaign import mostly_campaign
from support.golden import read_cases
from support.work import calls_of

from stackmask.grammar.ebnf.parser import EXAMPLES
from stackmask.grammar.grammar import Grammar
from stackmask.grammar.ir import Choice, Literal, Repeat, RuleSet, walk
from stackmask.grammar.ir.dump import dump
from stackmask.grammar.source.diagnostics import GrammarError

GOLDENS = sorted((Path(__file__).parent / "goldens").glob("*.txt"))
PIECES = [
    "",
    '"',
    "'",
    "[",
    "]",
    "(",
    ")",
    "(*",
    "*)",
    "/",
    "//",
    "#",
    "{",
    "}",
    "{2,1}",
    "*",
    "+",
    "?",
    "|",
    "-",
    "&",
    "!",
    "!>>",
    "::=",
    "\n",
    "a::=",
    "%skip",
    "%import\\",
    "json\\",
    "(value)",
    "%stack\\",
    '"x"\n%lexical\\',
    "a",
    "@push(",
    "@top",
    "<",
    "<[1]>",
    "\\q",
    ";",
    ",",
    ".",
    "i",
    ":=",
    "=",
    "�",
    "é",
    "\x00",
    "\t",
    "/a(/",
    "[z-a]",
    "[^]",
    "[]",
    "\\p{X}",
    "%foo",
    "@bar",
    "^",
    ">",
]


def test_start_rule() -> None:
    text = 'a ::= "a"\nb ::= "b"\n'
    assert Grammar.from_ebnf(text, None).rules.start == "a"
    assert Grammar.from_ebnf(text, "b").rules.start == "b"
    assert Grammar.from_ebnf(text + 'root ::= "r"', None).rules.start == "root"
    with pytest.raises(GrammarError, match="start rule `root` is not defined"):
        Grammar.from_ebnf(text)


def test_repr_dump_and_normalized() -> None:
    grammar = Grammar.from_ebnf('root ::= "a" x\nx ::= "x"')
    assert repr(grammar) == "<Grammar: 2 rules, start root>"
    assert grammar.dump() == '# start: root\nroot ::= "a" x\nx ::= "x"\n'
    assert isinstance(grammar.normalized, RuleSet)
    assert grammar.normalized is grammar.normalized


def test_large_repetitions_are_not_unrolled() -> None:
    body = Grammar.from_ebnf('root ::= "a"{3,1000000000}').rules.rules["root"].body
    assert body == Repeat(Literal(b"a"), 3, 1_000_000_000)


def test_everything_has_its_place() -> None:
    text = 'root ::= "é" (x | [a-z]+)\n  x ::= /b/'
    rules = Grammar.from_ebnf(text).rules
    for rule in rules.rules.values():
        for expr in walk(rule.body):
            assert expr.span is not None
    places = [text[e.span.start : e.span.end] for e in walk(rules.rules["root"].body) if e.span]
    assert places == ['"é" (x | [a-z]+', '"é"', "x | [a-z]+", "x", "[a-z]+", "[a-z]"]
    span = rules.rules["x"].span
    assert span and text[span.start : span.end] == "x"


@pytest.mark.parametrize(
    ("message", "help", "example"),
    [(message, help, example) for message, help, examples in EXAMPLES for example in examples],
)
def test_malformed_rules_get_their_own_message(message: str, help: str, example: str) -> None:
    with pytest.raises(GrammarError) as refused:
        Grammar.from_ebnf(example, None)
    found = next(d for d in refused.value.diagnostics if d.code == "G001")
    assert (found.message, found.help) in {
        (message.format(piece), help.format(piece)) for piece in (*"*+?)-&,", "{2}", "the end")
    }


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ('a ::= "x\nroot ::= a b', ["G002", "G003"]),
        ('a = "x"\nroot ::= a | %foo\nb ::= [c', ["G001", "G012", "G002"]),
        ("%lexical a,,b\nroot ::= (a\na ::= * b\nb ::= @push", ["G001", "G002", "G001", "G001"]),
        ('root ::= "a" (* open\nb ::= c', ["G002"]),
        ('root ::= "a" ;\nroot ::= %json {"a": }\nb ::= @top', ["G001", "G004", "G020"]),
    ],
)
def test_a_broken_rule_hides_no_other(text: str, problems: list[str]) -> None:
    with pytest.raises(GrammarError) as refused:
        Grammar.from_ebnf(text)
    assert [problem.code for problem in refused.value.diagnostics] == problems


@pytest.mark.campaign
def test_huge_grammars_do_not_recurse() -> None:
    wide = " | ".join(f'"{i}"' for i in range(20_000))
    body = Grammar.from_ebnf(f"root ::= {wide}").rules.rules["root"].body
    assert isinstance(body, Choice)
    assert len(body.items) == 20_000
    Grammar.from_ebnf("root ::= " + "(" * 20_000 + '"a"' + ")" * 20_000)
    Grammar.from_ebnf("root ::= " + '"a" ' * 20_000)
    Grammar.from_ebnf(
        "root ::= r0\n" + "".join(f"r{i} ::= r{i + 1}\n" for i in range(5_000)) + 'r5000 ::= "x"'
    )
    for text in (
        "root ::= " + '("a" ' * 20_000,
        "root ::= " + '("a" ' * 5_000 + ")*" * 5_000,
        'root ::= "a"' + "?*" * 20_000,
        "root ::= " + "!" * 20_000 + '"a"',
        "root ::= " + "@scope(" * 5_000 + '"a"' + ")" * 5_000,
        "(*" * 20_000,
        "root ::= " + " ".join(f"undefined{i}" for i in range(5_000)),
        "".join('a ::= "a\n' for _ in range(2_000)),
    ):
        with pytest.raises(GrammarError):
            Grammar.from_ebnf(text)


@pytest.mark.parametrize(
    "text",
    mostly_campaign(
        [
            lambda n: "root ::= " + " | ".join(f'"{i}"' for i in range(n)),
            lambda n: "root ::= " + "(" * n + '"a"' + ")" * n,
            lambda n: "root ::= " + '"a" ' * n,
            lambda n: "root ::= r0\n" + "".join(f"r{i} ::= r{i + 1}\n" for i in range(n)) + f'r{n} ::= "x"',
            lambda n: "root ::= " + '("a" ' * n,
            lambda n: "root ::= " + '("a" ' * n + ")*" * n,
            lambda n: 'root ::= "a"' + "?*" * n,
            lambda n: "root ::= " + "!" * n + '"a"',
            lambda n: "root ::= " + "@scope(" * n + '"a"' + ")" * n,
            lambda n: "(*" * n,
            lambda n: "root ::= " + " ".join(f"undefined{i}" for i in range(n)),
            lambda n: "".join('a ::= "a\n' for _ in range(n)),
        ],
        5,
    ),
)
def test_reading_takes_work_in_proportion(text: Callable[[int], str]) -> None:
    def read(size: int) -> None:
        with contextlib.suppress(GrammarError):
            Grammar.from_ebnf(text(size))

    read(10)  # what is imported and built once
    few, many = (calls_of(partial(read, size)) for size in (1000, 2000))
    assert many < 2.5 * few + 1000  # the square would be four times as much


def test_only_ebnf_loads_its_parser() -> None:
    code = (
        "import sys; from stackmask.grammar.grammar import Grammar as G; import stackmask.grammar.ebnf.modules; "
        "G.bundled('json'); G.from_json_schema({}); G.from_lark('start: /a/ INT\\n%import common.INT'); "
        "assert 'lark' not in sys.modules; G.from_ebnf('root ::= [a-z]+'); sys.exit('lark' not in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_threads_parse_independently() -> None:
    texts = [f'root ::= "{i}" x{i}\nx{i} ::= [{i}-9]' for i in range(8)]
    wanted = [Grammar.from_ebnf(text).dump() for text in texts]
    results: list[str | None] = [None] * len(texts)

    def parse(index: int) -> None:
        for _ in range(20):
            results[index] = Grammar.from_ebnf(texts[index]).dump()

    threads = [threading.Thread(target=parse, args=(i,)) for i in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == wanted


@pytest.mark.campaign
def test_no_text_ends_in_another_error() -> None:
    rng = random.Random(3)
    texts = [case.grammar for path in GOLDENS for case in read_cases(path)]
    pieces = [piece.replace("\\ ", " ") for piece in PIECES]
    loaded = 0
    for _ in range(2_000):
        text = rng.choice(texts)
        for _ in range(rng.randrange(4)):
            start = rng.randrange(len(text) + 1)
            text = text[:start] + rng.choice(pieces) + text[start + rng.choice([0, 0, 1, 5]) :]
        try:
            rules = Grammar.from_ebnf(text, None).rules
        except GrammarError as error:
            assert error.diagnostics
            for diagnostic in error.diagnostics:
                span = diagnostic.span
                assert diagnostic.code == "G016" if span is None else 0 <= span.start <= span.end
                assert span is None or span.source or span.start <= len(text)
                assert diagnostic.message and "\n" not in diagnostic.help
        else:
            loaded += 1
            assert dump(rules)
    assert loaded > 200


@pytest.mark.parametrize(
    ("grammar", "shown"),
    [
        (Grammar.from_ebnf('%skip " "\nroot ::= "a" "b"'), "1 rule, start root"),
        (Grammar.from_lark('%ignore " "\nstart: "a" b\nb: "b"'), "2 rules, start start"),
        (Grammar.from_ebnf('a ::= "a" b\nb ::= "b"', start="a"), "2 rules, start a"),
    ],
)
def test_a_grammar_shows_the_rules_that_somebody_wrote(grammar: Grammar, shown: str) -> None:
    assert repr(grammar) == f"<Grammar: {shown}>"
