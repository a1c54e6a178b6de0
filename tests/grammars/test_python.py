"""The grammars of Python against the interpreters of their versions: the standard library, mutants of it, and samples."""

from __future__ import annotations

import random
import re
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from campaign.sampler import Sampler
from campaign.steering import STEERING
from campaign.vocabularies import sample_vocabulary
from judges.python import NEWEST, VERSIONS, interpreter, judge
from support.campaign import campaign

from stackmask import Compiler, Grammar, GrammarError, GrammarFileError, Vocabulary
from stackmask.runtime.matching.compiler import CompiledGrammar

BYTES = Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256])
FEW_FILES = 12
FEW_MUTANTS, MANY_MUTANTS = 300, 36_000  # of which more than half are rejected
FEW_SAMPLES, MANY_SAMPLES = 10, 1000
LEAST_BYTES = 500  # of a sample
_LIBRARY = "import sysconfig; print(sysconfig.get_path('stdlib'))"
_TOKENS = re.compile(r'\s+|[^\W\d]\w*|\d[\w.]*|"""|\'\'\'|[-+*/<>=!:]=|\*\*|//|->|.', re.DOTALL)
_SIGNS = "()[]{}:,.=*'\"\\#\n \tfrbu0_1eE;@!xN{}é"


@cache
def compiled(version: str) -> CompiledGrammar:
    return Compiler(BYTES).compile(Grammar.bundled("python", version=version))


def accepts(version: str, data: bytes) -> bool:
    matcher = compiled(version).matcher()
    return bool(matcher.accept_string(data) and matcher.is_accepting())


@cache
def library(version: str) -> list[Path]:
    """Return the files of the standard library."""
    program = interpreter(version)
    if program is None:
        pytest.skip(f"there is no Python {version} here")
    answer = subprocess.run([program, "-c", _LIBRARY], check=True, capture_output=True, text=True)
    paths = sorted(Path(answer.stdout.strip()).rglob("*.py"))
    return [path for path in paths if "site-packages" not in path.parts]


def text_of(path: Path) -> str:
    """Return the text of a file, or an empty one of a file that has no characters."""
    try:
        with tokenize.open(path) as file:
            text = file.read()
        text.encode()
    except (SyntaxError, UnicodeError):
        return ""
    return text


def chunks(version: str, rng: random.Random) -> Iterator[str]:
    """Yield some lines of the standard library that are modules."""
    while True:
        lines = text_of(rng.choice(library(version))).splitlines(keepends=True)
        begin = rng.randrange(len(lines) or 1)
        while 0 < begin < len(lines) and (
            lines[begin][:1] in " \t\n)]}" or lines[begin][:4] in ("elif", "else")
        ):
            begin -= 1
        end = begin + rng.randrange(3, 40)
        while end < len(lines) and lines[end][:1] in " \t\n)]}":
            end += 1
        text = "".join(lines[begin:end])
        if text and end - begin < 80 and judge(text.encode(), version).accepted:
            yield text


def mutant(text: str, rng: random.Random) -> str:
    """Return a text with one or two of its tokens changed, or the indentation of a line."""
    tokens = _TOKENS.findall(text)
    for _ in range(rng.choice((1, 1, 1, 2))):
        at = rng.randrange(len(tokens))
        breaks = [index for index, token in enumerate(tokens) if "\n" in token and token.isspace()]
        match rng.randrange(7):
            case 0 if len(tokens) > 1:
                del tokens[at]
            case 1:
                tokens.insert(at, rng.choice(tokens))
            case 2:
                other = min(len(tokens) - 1, at + rng.randrange(1, 4))
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3 if tokens[at]:
                sign = rng.randrange(len(tokens[at]))
                tokens[at] = tokens[at][:sign] + rng.choice(_SIGNS) + tokens[at][sign + 1 :]
            case _ if breaks:
                at = rng.choice(breaks)
                line = tokens[at]
                ways = (
                    line + " ",
                    line[:-1],
                    line + "\t",
                    line.replace("    ", "\t", 1),
                    line + "    ",
                    line.rstrip(" "),
                )
                more = (
                    line.replace(" " * 8, "\t", 1),
                    line.replace("\n", "\n\f", 1),
                    "\\" + line,
                    line.replace("\n", " "),
                )
                tokens[at] = rng.choice((*ways, *more, line.replace("\n    ", "\n \t ", 1)))
    return "".join(tokens)


def check_library(version: str, count: int | None) -> None:
    files = library(version)
    for path in files if count is None else random.Random(version).sample(files, count):
        data = text_of(path).encode()
        assert accepts(version, data) or not judge(data, version).accepted, path


def check_mutants(version: str, count: int) -> None:
    rng = random.Random(f"mutants {version}")
    some = chunks(version, rng)
    for _ in range(count // 10):
        text = next(some)
        for _ in range(10):
            changed = mutant(text, rng)
            if accepts(version, changed.encode()):
                verdict = judge(changed.encode(), version)
                assert verdict.accepted, f"{verdict.note}: {changed!r}"


def check_samples(version: str, count: int) -> None:
    vocabulary = sample_vocabulary()
    grammar = Compiler(vocabulary).compile(Grammar.bundled("python", version=version))
    sampler = Sampler(grammar, vocabulary, STEERING["python"])
    for number in range(count):
        rng = random.Random(f"{version} {number}")
        text = sampler.sample(rng, rng.randrange(LEAST_BYTES, 900))
        if text is not None:
            verdict = judge(text, version)
            assert verdict.accepted and len(text) >= LEAST_BYTES, f"{verdict.note}: {text!r}"


@pytest.mark.parametrize("version", VERSIONS)
def test_files_of_the_standard_library(version: str) -> None:
    check_library(version, FEW_FILES)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_accepted_of_mutants_is_python(version: str) -> None:
    check_mutants(version, FEW_MUTANTS)


@pytest.mark.parametrize("version", VERSIONS)
def test_samples_are_python(version: str) -> None:
    check_samples(version, FEW_SAMPLES)


@campaign
@pytest.mark.parametrize("version", VERSIONS)
def test_the_whole_standard_library(version: str) -> None:
    check_library(version, None)


@campaign
@pytest.mark.parametrize("version", VERSIONS)
def test_many_mutants(version: str) -> None:
    check_mutants(version, MANY_MUTANTS)


@campaign
@pytest.mark.parametrize("version", VERSIONS)
def test_many_samples(version: str) -> None:
    check_samples(version, MANY_SAMPLES)


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("f'{a['b']}'", "3.12", NEWEST),
        ("f'{\"\\n\"}'", "3.12", NEWEST),
        ("f'{a # b\n}'", "3.12", NEWEST),
        ("f'{a for a in b}'", "3.10", "3.11"),
        ("f'{a:{b:{c}}}'", "3.12", NEWEST),
        ("type X[T] = int", "3.12", NEWEST),
        ("def f[T](): 0", "3.12", NEWEST),
        ("class A[T = int]: 0", "3.13", NEWEST),
        ("try: 0\nexcept* A: 0", "3.11", NEWEST),
        ("x[*a]", "3.11", NEWEST),
        ("def f(*a: *b): 0", "3.11", NEWEST),
        ("match x:\n case 1: 0", "3.10", NEWEST),
        ("\U0001e030 = 1", "3.12", NEWEST),  # a letter of Unicode 15
    ],
)
def test_versions(text: str, since: str, until: str) -> None:
    for version in VERSIONS:
        expected = VERSIONS.index(since) <= VERSIONS.index(version) <= VERSIONS.index(until)
        assert accepts(version, text.encode()) == expected, version
        assert judge(text.encode(), version).accepted == expected, version


@pytest.mark.parametrize("version", VERSIONS)
def test_names_of_characters(version: str) -> None:
    edges = (
        0x3400,
        0x33FF,
        0x4DBF,
        0x4DC0,
        0x9FFC,
        0x9FFF,
        0xA000,
        0x2A6DF,
        0x2A6E0,
        0x2B739,
        0x31350,
        0x323AF,
        0x323B0,
    )
    names = ["SNAKE", "BYTE ORDER MARK", "ESC", "MATHEMATICAL BOLD SMALL A", "SERPENT", "SNAK", ""]
    for name in names + [f"CJK UNIFIED IDEOGRAPH-{code:X}" for code in edges]:
        text = f'"\\N{{{name}}}"'.encode()
        assert accepts(version, text) == judge(text, version).accepted, name


def test_names_of_versions() -> None:
    newest = Grammar.bundled("python")
    assert newest.rules.rules == Grammar.bundled("python", version=NEWEST).rules.rules
    assert newest.rules.rules == Grammar.bundled(f"python-{NEWEST}").rules.rules
    with pytest.raises(GrammarFileError, match=r"no version 2\.7 .*3\.10, 3\.11, 3\.12, 3\.13"):
        Grammar.bundled("python", version="2.7")
    with pytest.raises(GrammarFileError, match=r"no version 8 .*it has no versions"):
        Grammar.bundled("json", version="8")
    with pytest.raises(GrammarError, match="G013"):
        Grammar.from_ebnf("%import python-2.7 (expression)\nroot ::= expression")


@pytest.mark.parametrize("name", ["python", "python-3.11"])
def test_parts(name: str) -> None:
    grammar = Grammar.from_ebnf(f"%import {name} (expression, function)\nroot ::= function expression")
    assert grammar.accepts("@a\ndef f(x):\n    if x:\n\treturn 1\n\nf(\n1)") is False  # a tab after blanks
    assert grammar.accepts("@a\ndef f(x):\n    if x:\n        return 1\n\nf(\n1)")
    assert not grammar.accepts("x = 1\n\nf(1)")
