"""Random patterns and texts against Python's ``re`` and, where it is installed, a JavaScript engine."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import warnings

import pytest
from oracle import random_regexes as randoms
from support.byte_matcher import ByteMatcher
from support.campaign import SCALE

from stackmask import Grammar, GrammarError

SCRIPT = """
const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map(([pattern, flags, search, texts]) => {
  try {
    new RegExp(pattern, flags);
    const regex = new RegExp(search ? pattern : `^(?:${pattern})$`, flags);
    return texts.map((text) => regex.test(text));
  } catch (error) { return null; }
})));
"""


def read(pattern: str, flavor: str, flags: str, search: bool) -> Grammar | None:
    """Return the grammar, or None where an atomic group or a back-reference is refused."""
    try:
        return Grammar.from_regex(pattern, flavor=flavor, flags=flags, search=search)  # type: ignore[arg-type]
    except GrammarError as error:
        assert {diagnostic.code for diagnostic in error.diagnostics} == {"G009"}, (pattern, error)
        return None


def check(grammar: Grammar, texts: list[str], answers: list[bool], what: object) -> int:
    matcher = ByteMatcher(grammar)
    assert [matcher.matches(text) for text in texts] == answers, what
    return sum(answers)


def test_python_on_every_short_text() -> None:
    rng = random.Random(11)
    texts = list(randoms.SMALL_TEXTS)
    matches = refused = 0
    for _ in range(250 * SCALE):
        pattern, search = randoms.small_pattern(rng), rng.random() < 0.5
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                regex = re.compile(pattern)
        except re.error:
            continue
        grammar = read(pattern, "python", "", search)
        if grammar is None:
            refused += 1
            continue
        find = regex.search if search else regex.fullmatch
        matches += check(grammar, texts, [find(text) is not None for text in texts], (pattern, search))
    assert matches > 5_000
    assert refused < 10 * SCALE


def test_python_with_flags_and_unicode() -> None:
    rng = random.Random(12)
    matches = refused = 0
    for _ in range(400 * SCALE):
        pattern, search = randoms.python_pattern(rng), rng.random() < 0.5
        flags = rng.choice(("", "", "i", "m", "s", "a", "im"))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                regex = re.compile(pattern, sum(getattr(re, flag.upper()) for flag in flags))
        except re.error:
            continue
        grammar = read(pattern, "python", flags, search)
        if grammar is None:
            refused += 1
            continue
        texts = ["".join(rng.choices(randoms.PYTHON_CHARACTERS, k=rng.randrange(7))) for _ in range(20)]
        find = regex.search if search else regex.fullmatch
        matches += check(grammar, texts, [find(text) is not None for text in texts], (pattern, flags, search))
    assert matches > 1_000
    assert refused < 20 * SCALE


def test_python_patterns_of_bytes() -> None:
    rng = random.Random(13)
    for _ in range(150 * SCALE):
        pattern, search = randoms.small_pattern(rng).replace("b", r"\xe9"), rng.random() < 0.5
        try:
            regex = re.compile(pattern.encode())
        except re.error:
            continue
        try:
            grammar = Grammar.from_regex(pattern.encode(), flavor="python", search=search)
        except GrammarError:
            continue
        matcher = ByteMatcher(grammar)
        for _ in range(20):
            text = bytes(rng.choices(b"a\xe9 \n\xff", k=rng.randrange(5)))
            match = regex.search(text) if search else regex.fullmatch(text)
            assert matcher.matches(text) == (match is not None), (pattern, search, text)


@pytest.mark.skipif(shutil.which("node") is None, reason="no JavaScript engine is installed")
def test_ecma() -> None:
    rng = random.Random(14)
    cases: list[tuple[str, str, bool, list[str]]] = []
    for _ in range(400 * SCALE):
        mode = rng.choice(("u", "u", "v", ""))
        # V8 contradicts itself where v and i meet: it finds "}" for [^\W_] in some alternations
        flags = mode + rng.choice(
            ("", "", "", "m", "s") if mode == "v" else ("", "", "", "i", "m", "s", "im")
        )
        search = "m" in flags or rng.random() < 0.5
        characters = randoms.ECMA_CHARACTERS + "😀" * (bool(mode) and not search)
        texts = ["".join(rng.choices(characters, k=rng.randrange(7))) for _ in range(20)]
        cases.append((randoms.ecma_pattern(rng, mode), flags, search, texts))
    run = subprocess.run(
        ["node", "-e", SCRIPT], input=json.dumps(cases), capture_output=True, text=True, check=True
    )
    matches = 0
    for (pattern, flags, search, texts), answers in zip(cases, json.loads(run.stdout), strict=True):
        if answers is None:  # the engine refuses it
            continue
        grammar = read(pattern, "ecma", flags, search)
        if grammar is not None:
            matches += check(grammar, texts, answers, (pattern, flags, search))
    assert matches > 1_000
