"""Regex corpora: which patterns compile, which are right on every labelled string, and how fast they are read.

    python lab/benchmarks/regex_corpora.py [data folder]

Needs the data pack (``STACKMASK_DATA``). Strings are judged by a matcher over the 256 single bytes; patterns of
the JSON corpora match anywhere in the text, as JSON Schema's ``pattern`` does.
"""

from __future__ import annotations

import json
import lzma
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from record import use_checkout, write_result

use_checkout()

from support.datapack import datapack

import stackmask as sm
from stackmask.grammar.regex import is_valid_regex, regex_expr

COMPILER = sm.Compiler(sm.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256]))


class Judge:
    """Tells of byte strings whether a pattern matches them."""

    def __init__(self, grammar: sm.Grammar) -> None:
        try:
            self.matcher: sm.Matcher | None = COMPILER.compile(grammar).matcher()
        except sm.GrammarError as error:
            if {d.code for d in error.diagnostics} > {"G102", "G103"}:
                raise
            self.matcher = None  # a pattern that matches nothing at all

    def matches(self, text: bytes) -> bool:
        if self.matcher is None:
            return False
        self.matcher.reset()
        return (not text or self.matcher.accept_string(text)) and self.matcher.is_accepting()


def read_seconds(pattern: str) -> float:
    """Return how long it takes to make the expression of a pattern."""
    started = time.perf_counter()
    regex_expr(pattern, search=True)
    return time.perf_counter() - started


def schema_patterns(path: Path) -> dict[str, Any]:
    """Judge the patterns of JSON schemas on their labelled strings."""
    counts: Counter[str] = Counter()
    refused: dict[str, str] = {}
    wrong: list[str] = []
    microseconds = []
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            pattern = case["pattern"]
            counts["patterns"] += 1
            try:
                microseconds.append(min(read_seconds(pattern) for _ in range(3)) * 1e6)
                judge = Judge(sm.Grammar.from_regex(pattern, search=True))
            except sm.StackmaskError as error:
                refused[pattern] = str(error).split("\n", 1)[0]
                continue
            if judge.matcher is None:
                counts["matches nothing"] += 1
            counts["compiled"] += 1
            labelled = [(s, True) for s in case["accept"]] + [(s, False) for s in case["reject"]]
            counts["strings"] += len(labelled)
            mistakes = sum(judge.matches(s.encode("utf-8", "surrogatepass")) != want for s, want in labelled)
            counts["strings judged wrong"] += mistakes
            if mistakes:
                wrong.append(pattern)
            else:
                counts["right on all strings"] += 1
    microseconds.sort()
    return {
        **counts,
        "compiled share": round(counts["compiled"] / counts["patterns"], 5),
        "right share": round(counts["right on all strings"] / counts["patterns"], 5),
        "read microseconds, best of three": {
            "p50": round(statistics.median(microseconds)),
            "p99": round(microseconds[int(len(microseconds) * 0.99)]),
        },
        "refused": refused,
        "wrong": wrong,
    }


def unescaped(text: str) -> bytes:
    """Return the bytes that a haystack with escapes stands for."""
    simple = {"n": b"\n", "r": b"\r", "t": b"\t", "0": b"\0", "\\": b"\\"}
    out = b""
    position = 0
    while position < len(text):
        if text[position] != "\\":
            out += text[position].encode()
            position += 1
        elif text[position + 1] == "x":
            out += bytes([int(text[position + 2 : position + 4], 16)])
            position += 4
        else:
            out += simple[text[position + 1]]
            position += 2
    return out


def rust_pattern(case: dict[str, Any], text: bytes) -> Iterator[tuple[str | bytes, str]]:
    """Yield the pattern and flags of a case: of text where that can be, and of bytes."""
    pattern = case["regex"]
    if case.get("anchored"):
        pattern = rf"\A(?:{pattern}" + ("\n)" if "(?x" in pattern else ")")
    flags = "i" * bool(case.get("case-insensitive")) + ("" if case.get("unicode", True) else "-u")
    try:
        text.decode()
    except UnicodeDecodeError:
        pass
    else:
        yield pattern, flags
    yield pattern.encode(), flags


def rust_cases(path: Path) -> dict[str, Any]:
    """Judge the cases of the crate regex: does the pattern match anywhere?"""
    counts: Counter[str] = Counter()
    wrong, refused = [], {}
    for line in path.read_text(encoding="utf-8").rstrip("\n").split("\n"):
        case = json.loads(line)
        name = f"{case['file']}/{case['name']}"
        counts["cases"] += 1
        # the engine regex-lite gives \d and \w other meanings; bounds and line terminators are no part of a pattern
        if case["file"] == "regex-lite" or "bounds" in case or "line-terminator" in case:
            counts["of another engine or setting"] += 1
            continue
        text = unescaped(case["haystack"]) if case.get("unescape") else case["haystack"].encode()
        reason = ""
        for pattern, flags in rust_pattern(case, text):
            try:
                grammar = sm.Grammar.from_regex(pattern, flavor="rust", flags=flags, search=True)
            except sm.GrammarError as error:
                reason = str(error).split("\n", 1)[0]
                continue
            right = case.get("compiles") is not False and Judge(grammar).matches(text) == bool(
                case["matches"]
            )
            counts["right" if right else "wrong"] += 1
            if not right:
                wrong.append(name)
            break
        else:
            if case.get("compiles") is False:
                counts["right"] += 1
            else:
                counts["refused"] += 1
                refused[name] = reason
    return {**counts, "refused cases": refused, "wrong cases": wrong}


def suite(path: Path) -> dict[str, Any]:
    """Judge the groups of the JSON Schema test suite that are about patterns."""
    counts: Counter[str] = Counter()
    wrong = []
    for line in path.read_text(encoding="utf-8").rstrip("\n").split("\n"):
        group = json.loads(line)
        schema = group["schema"]
        counts["groups"] += 1
        for test in group["tests"]:
            counts["tests"] += 1
            if valid(schema, test["data"]) == test["valid"]:
                counts["right"] += 1
            else:
                wrong.append(f"{group['draft']}: {group['description']}: {test['description']}")
    return {**counts, "wrong tests": wrong}


def found(pattern: str, text: str) -> bool:
    """Tell whether a pattern matches somewhere in a text."""
    return Judge(sm.Grammar.from_regex(pattern, search=True)).matches(text.encode())


def valid(schema: Any, data: Any) -> bool:
    """Validate with the few keywords that these groups use; all but the patterns is by hand."""
    if isinstance(schema, bool):
        return schema
    kinds = {
        "string": str,
        "object": dict,
        "boolean": bool,
        "null": type(None),
        "integer": int,
        "number": (int, float),
    }
    kind = schema.get("type")
    if kind and (
        not isinstance(data, kinds[kind]) or (isinstance(data, bool) and kind in ("integer", "number"))
    ):
        return False
    if isinstance(data, str):
        if "pattern" in schema and not found(schema["pattern"], data):
            return False
        if schema.get("format") == "regex" and not is_valid_regex(data, flags="u"):
            return False
    if isinstance(data, int | float) and data > schema.get("maximum", data):
        return False
    if isinstance(data, dict):
        for name, value in data.items():
            described = [s for p, s in schema.get("patternProperties", {}).items() if found(p, name)]
            if not described and schema.get("additionalProperties", True) is False:
                return False
            if not all(valid(s, value) for s in described):
                return False
    return True


def many_choices(count: int) -> dict[str, Any]:
    """Time a grammar of many strings, up to its first mask."""
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz ", k=rng.randint(4, 20))) for _ in range(count)]
    started = time.perf_counter()
    grammar = sm.Grammar.from_choices(words)
    made = time.perf_counter()
    judge = Judge(grammar)
    compiled = time.perf_counter()
    assert judge.matches(words[0].encode())
    return {
        "strings": count,
        "grammar seconds": round(made - started, 2),
        "compile seconds": round(compiled - made, 2),
    }


def main() -> None:
    """Run all corpora, print what came out, and write the result."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else datapack()
    if folder is None:
        raise SystemExit("no data pack: set STACKMASK_DATA to its folder")
    result = {
        "JSON schema patterns": schema_patterns(folder / "regex" / "jsonschemabench_patterns.jsonl.xz"),
        "rust-regex test data": rust_cases(folder / "regex" / "rust_regex_testdata.jsonl"),
        "JSON Schema test suite": suite(folder / "regex" / "json_schema_test_suite_regex.jsonl"),
        "choices": many_choices(100_000),
    }
    print(json.dumps(result, indent=2, ensure_ascii=False))
    print("written:", write_result("regex_corpora", "python lab/benchmarks/regex_corpora.py", result))


if __name__ == "__main__":
    main()
