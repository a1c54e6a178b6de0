"""Hostile regular expressions."""

from __future__ import annotations

from collections.abc import Iterator

from .request import Request, grow_regex


def sequences() -> Iterator[Request]:
    """Long sequences of pieces that may be empty."""
    yield from grow_regex("re-optionals", (300, 3000, 10000), lambda n: "[a-z]?" * n)
    yield from grow_regex("re-stars", (300, 3000, 15000), lambda n: "a*b*" * n)
    yield from grow_regex(
        "re-class-stars",
        (200, 2000, 9000),
        lambda n: "".join(f"[{'abcdefghij'[i % 10]}z]*" for i in range(n)),
    )
    yield from grow_regex("re-plus-optional", (2000, 9000), lambda n: "(a+)?" * n)
    yield from grow_regex("re-then-fixed", (25, 4000), lambda n: "a?" * n + "a" * n)
    yield from grow_regex("re-counted-optionals", (100, 4000), lambda n: "[a-z]{0,9}" * n)
    yield from grow_regex("re-choices-in-line", (100, 5000), lambda n: "(a|ab|b)" * n)


def counts() -> Iterator[Request]:
    """Counts that are huge or nested."""
    yield from grow_regex("re-count", (1000, 1000000), lambda n: f"([a-z]{{1,{n}}}-){{1,{n}}}")
    yield from grow_regex("re-count-exact", (1000, 100000), lambda n: f"(a|b[c-e]){{{n}}}")
    yield from grow_regex("re-counts-nested", (3, 8), lambda n: "(" * n + "[a-z]" + "{1,30})" * n)
    yield from grow_regex("re-counts-ambiguous", (100, 2000), lambda n: f"(a|aa|aaa){{1,{n}}}b")
    yield from grow_regex(
        "re-counts-side-by-side", (20, 3000), lambda n: "".join(f"[a-f]{{0,{i}}}" for i in range(1, n))
    )
    yield from grow_regex("re-subsets", (12, 25, 200), lambda n: f"(a|b)*a(a|b){{{n}}}")
    yield from grow_regex("re-count-unended", (500, 65000), lambda n: "a{" + "9" * n)
    yield from grow_regex(
        "re-count-blanks", (200, 65000), lambda n: "a{" + " " * n, options={"flavor": "rust"}
    )
    yield from grow_regex(
        "re-alternatives-counted", (40, 2000), lambda n: "|".join(f".{{0,{i}}}x" for i in range(n))
    )


def nested() -> Iterator[Request]:
    """Nested loops and groups."""
    yield from grow_regex("re-nested-stars", (20, 95, 9000), lambda n: "(" * n + "a" + ")*" * n)
    yield from grow_regex("re-nested-nullable", (10, 45, 3000), lambda n: "(a?" * n + ")*" * n)
    yield from grow_regex("re-nested-groups", (95, 20000), lambda n: "(" * n + "a" + ")" * n)
    yield from grow_regex("re-evil", (1, 30), lambda n: "(([a-z]+)+|(a|a)*|(a|aa)+)" * n + "$")


def assertions() -> Iterator[Request]:
    """Look-ahead, look-behind, anchors, word boundaries and back-references."""
    yield from grow_regex("re-anchors-python", (100, 32750), lambda n: "^$" * n, options={"flavor": "python"})
    yield from grow_regex("re-back-references", (100, 13000), lambda n: r"(a)\1" * n)
    yield from grow_regex(
        "re-letters-behind", (50, 4500), lambda n: "".join(f"[a-z](?<!{chr(97 + i % 26)})" for i in range(n))
    )
    yield from grow_regex(
        "re-classes-before-edge",
        (290, 3500),
        lambda n: "".join(f"[\\x00-\\u{0x100 + 2 * i:04x}]" for i in range(n)) + r"\b",
    )
    yield from grow_regex(
        "re-lookaheads",
        (20, 200, 1000),
        lambda n: "".join(f"(?=.*[{'abcdefghijkl'[i % 12]}]{{{i % 7 + 1}}})" for i in range(n)) + ".*",
    )
    yield from grow_regex(
        "re-lookaheads-distinct", (20, 200), lambda n: "".join(f"(?=.*a.{{{i}}})" for i in range(n)) + ".*"
    )
    yield from grow_regex(
        "re-neg-lookaheads", (50, 1500), lambda n: "".join(f"(?!.*k{i:x}z)" for i in range(n)) + "[a-z0-9]*"
    )
    yield from grow_regex(
        "re-lookaheads-in-loop",
        (3, 12, 40),
        lambda n: "(?:" + "".join(f"(?!{chr(97 + i % 26)}{i})" for i in range(n)) + ".)*x?",
    )
    yield from grow_regex(
        "re-lookbehinds",
        (10, 300),
        lambda n: "".join(f"[a-z]*(?<!{chr(97 + i % 26)}{i % 3})" for i in range(n)),
    )
    yield from grow_regex(
        "re-lookbehinds-wide", (8, 60), lambda n: "".join(f".*(?<=a.{{{i}}})" for i in range(n))
    )
    yield from grow_regex("re-boundaries", (100, 7000), lambda n: r"\b[a-z ]*" * n)
    yield from grow_regex(
        "re-boundaries-in-loops", (5, 60), lambda n: r"(?:\b\w+|\B[ -]*\b" * n + "x" + ")*" * n
    )
    yield from grow_regex("re-anchors", (100, 8000), lambda n: "(^a|b$)?" * n)
    yield from grow_regex("re-look-nested", (8, 95, 200), lambda n: "(?=[a-z]*" * n + "x" + ")" * n + ".*")


def wide() -> Iterator[Request]:
    """Wide alternations and large classes."""
    yield from grow_regex("re-words", (7000,), lambda n: "|".join(f"w{i:x}" for i in range(n)))
    yield from grow_regex(
        "re-words-loop", (300, 7000), lambda n: "(?:" + "|".join(f"{i:x}" for i in range(n)) + ")*"
    )
    yield from grow_regex("re-suffixes", (100, 5000), lambda n: "|".join(f"[a-z]*{i:x}" for i in range(n)))
    yield from grow_regex(
        "re-case", (300, 6000), lambda n: "|".join(f"key{i:x}" for i in range(n)), options={"flags": "i"}
    )
    yield from grow_regex(
        "re-properties", (100, 6000), lambda n: r"\p{L}?\P{Lu}*" * (n // 2), options={"flags": "u"}
    )
    yield from grow_regex(
        "re-set-operations", (100, 2500), lambda n: r"[\p{L}--[a-c]&&\w]?" * n, options={"flags": "v"}
    )
    yield from grow_regex(
        "re-search", (20, 3000), lambda n: "|".join(f"a.{{{i}}}b" for i in range(n)), options={"search": True}
    )
    yield Request(
        "choices-5000",
        "choices",
        "choices",
        '["' + '","'.join(f"{i * 7919 % 100003:x}" for i in range(5000)) + '"]',
    )
    yield Request(
        "choices-long", "choices", "choices", '["' + "a" * 30000 + '","' + "a" * 29999 + 'b"]', driver="long"
    )


def wide_in_python() -> Iterator[Request]:
    """Classes that hold most letters of the world."""
    yield from grow_regex(
        "re-words-and-one",
        (100, 9300),
        lambda n: "".join(f"[\\w{chr(0x4E00 + i)}]" for i in range(n)),
        options={"flavor": "python"},
    )


def all_regexes() -> Iterator[Request]:
    """Return all requests that are patterns or choices."""
    for family in (sequences, counts, nested, assertions, wide, wide_in_python):
        yield from family()
