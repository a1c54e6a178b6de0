"""Random patterns against Python's ``re`` and, where Node is installed, against a JavaScript engine.

    python lab/benchmarks/regex_random.py [--count N] [--seed N] [--write]

A case is a pattern and a text; both full match and search. Some of Python's patterns are over four characters and
tried on every text of up to four of them. Every case is put to both engines, the pushdown engine and the
finite-state mode. Of every pattern whose automaton has at most ``WALKED`` states the two engines' masks are also
compared bit for bit, over a vocabulary of single bytes and random strings, in every state that its tokens lead to.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import subprocess
import time
import warnings
from collections import Counter
from typing import Any

from record import use_checkout, write_result

use_checkout()

from oracle import random_regexes as randoms
from support.both_engines import walk_all
from support.byte_matcher import ByteMatcher

import stackmask as sm

TEXTS = 40  # of a pattern over many characters
WALKED = 2_000  # states of an automaton that is walked over
CASES_AT_ONCE = 400  # patterns of one JavaScript process

SCRIPT = """
const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map(([pattern, flags, search, texts]) => {
  try {
    new RegExp(pattern, flags);
    const regex = new RegExp(search ? pattern : `^(?:${pattern})$`, flags);
    return texts.map((text) => regex.test(text));
  } catch (error) { return String(error); }
})));
"""


def walked_vocabulary() -> sm.Vocabulary:
    """Return all single bytes, and 800 random strings of characters and of halves of characters."""
    rng = random.Random(0)
    characters = randoms.PYTHON_CHARACTERS + randoms.ECMA_CHARACTERS + "😀"
    texts = [bytes([b]) for b in range(256)]
    for _ in range(800):
        text = "".join(rng.choices(characters, k=rng.randint(2, 6))).encode()
        texts.append(text[rng.randrange(2) * (rng.random() < 0.2) :])
    return sm.Vocabulary([*texts, None], stop_ids=[len(texts)])


COMPILER = sm.Compiler(walked_vocabulary())


def compare(
    counts: Counter[str], wrong: list[Any], case: tuple[Any, ...], answers: list[bool], **how: Any
) -> None:
    """Compile a pattern and compare its answers with those of another engine."""
    pattern, flags, search, texts = case
    try:
        grammar = sm.Grammar.from_regex(pattern, flags=flags, search=search, **how)
    except sm.GrammarError as error:
        counts[f"refused: {error.diagnostics[0].message[:60]}"] += 1
        return
    counts["patterns"] += 1
    matcher = ByteMatcher(grammar)
    finite = None
    if matcher.matcher is not None:
        finite = sm.fsm.compile(grammar, COMPILER.vocabulary)
        counts["states"] += finite.dfa.states
    for text, answer in zip(texts, answers, strict=True):
        counts["cases"] += 1
        counts["matches"] += answer
        data = text.encode("utf-8", "surrogatepass")
        by_automaton = finite is not None and finite.dfa.matches(data)
        if matcher.matches(data) != answer or by_automaton != answer:
            counts["wrong"] += 1
            wrong.append([pattern, flags, search, text, answer, by_automaton])
            return
    if finite is None or finite.dfa.states > WALKED:
        counts["not walked"] += 1
        return
    counts["walked"] += 1
    try:
        masks = walk_all(COMPILER.compile(grammar), finite, random.Random(counts["walked"]))
        counts["masks compared"] += masks
    except AssertionError as error:
        counts["wrong"] += 1
        wrong.append([pattern, flags, search, str(error)[:200]])


def python(rng: random.Random, count: int) -> dict[str, Any]:
    """Compare with Python's ``re``."""
    counts: Counter[str] = Counter(wrong=0)
    wrong: list[Any] = []
    while counts["cases"] < count:
        small = rng.random() < 0.05  # these have many texts
        pattern = randoms.small_pattern(rng) if small else randoms.python_pattern(rng)
        flags = (
            rng.choice(("", "", "s", "m")) if small else rng.choice(("", "", "", "i", "m", "s", "a", "im"))
        )
        try:
            regex = re.compile(pattern, sum(getattr(re, flag.upper()) for flag in flags))
        except (re.error, OverflowError):
            counts["patterns that re refuses"] += 1
            continue
        search = rng.random() < 0.5
        texts = (
            randoms.SMALL_TEXTS
            if small
            else ["".join(rng.choices(randoms.PYTHON_CHARACTERS, k=rng.randrange(7))) for _ in range(TEXTS)]
        )
        answers = [(regex.search(t) if search else regex.fullmatch(t)) is not None for t in texts]
        compare(counts, wrong, (pattern, flags, search, texts), answers, flavor="python")
    return {**counts, "wrong cases": wrong}


def javascript(rng: random.Random, count: int) -> dict[str, Any]:
    """Compare with Node."""
    counts: Counter[str] = Counter(wrong=0)
    wrong: list[Any] = []
    while counts["cases"] < count:
        cases = []
        for _ in range(CASES_AT_ONCE):
            mode = rng.choice(("u", "u", "v", ""))
            # V8 contradicts itself where v and i meet: it finds "}" for [^\W_] in some alternations
            flags = mode + rng.choice(
                ("", "", "", "m", "s") if mode == "v" else ("", "", "", "i", "m", "s", "im")
            )
            # with the flag m, `^(?:…)$` is no full match
            search = "m" in flags or rng.random() < 0.5
            # V8 also begins to search between the halves of a character
            characters = randoms.ECMA_CHARACTERS + "😀" * (bool(mode) and not search)
            texts = ["".join(rng.choices(characters, k=rng.randrange(7))) for _ in range(TEXTS)]
            cases.append((randoms.ecma_pattern(rng, mode), flags, search, texts))
        run = subprocess.run(
            ["node", "-e", SCRIPT], input=json.dumps(cases), capture_output=True, text=True, check=True
        )
        for case, answers in zip(cases, json.loads(run.stdout), strict=True):
            if isinstance(answers, str):
                counts["patterns that Node refuses"] += 1
            else:
                compare(counts, wrong, case, answers)
    return {**counts, "wrong cases": wrong}


def main() -> None:
    """Run the comparison, print it, and write it if asked."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = random.Random(options.seed)
    started = time.perf_counter()
    result: dict[str, Any] = {"seed": options.seed, "python": python(rng, options.count)}
    versions = {}
    if shutil.which("node"):
        result["javascript"] = javascript(rng, options.count)
        versions["node"] = subprocess.run(
            ["node", "--version"], capture_output=True, text=True, check=True
        ).stdout.strip()
    result["seconds"] = round(time.perf_counter() - started)
    print(json.dumps(result, indent=2, ensure_ascii=False))
    if options.write:
        print(
            "written:",
            write_result("regex_random", "python lab/benchmarks/regex_random.py --write", result, **versions),
        )


if __name__ == "__main__":
    main()
