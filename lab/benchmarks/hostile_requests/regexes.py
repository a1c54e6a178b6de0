"""Hostile regular expressions."""

from __future__ import annotations

from collections.abc import Iterator

from .request import Request, grow


def sequences() -> Iterator[Request]:
    """Long sequences of pieces that may be empty."""
    yield from grow("re-optionals", "regex", (300, 3000, 10000), lambda n: "[a-z]?" * n)
    yield from grow("re-stars", "regex", (300, 3000, 15000), lambda n: "a*b*" * n)
    yield from grow(
        "re-class-stars",
        "regex",
        (200, 2000, 9000),
        lambda n: "".join(f"[{'abcdefghij'[i % 10]}z]*" for i in range(n)),
    )
    yield from grow("re-plus-optional", "regex", (2000, 9000), lambda n: "(a+)?" * n)
    yield from grow("re-then-fixed", "regex", (25, 4000), lambda n: "a?" * n + "a" * n)
    yield from grow("re-counted-optionals", "regex", (100, 4000), lambda n: "[a-z]{0,9}" * n)
    yield from grow("re-choices-in-line", "regex", (100, 5000), lambda n: "(a|ab|b)" * n)


def counts() -> Iterator[Request]:
    """Counts that are huge or nested."""
    yield from grow("re-count", "regex", (1000, 1000000), lambda n: f"([a-z]{{1,{n}}}-){{1,{n}}}")
    yield from grow("re-count-exact", "regex", (1000, 100000), lambda n: f"(a|b[c-e]){{{n}}}")
    yield from grow("re-counts-nested", "regex", (3, 8), lambda n: "(" * n + "[a-z]" + "{1,30})" * n)
    yield from grow("re-counts-ambiguous", "regex", (100, 2000), lambda n: f"(a|aa|aaa){{1,{n}}}b")
    yield from grow(
        "re-counts-side-by-side",
        "regex",
        (20, 3000),
        lambda n: "".join(f"[a-f]{{0,{i}}}" for i in range(1, n)),
    )
    yield from grow("re-subsets", "regex", (12, 25, 200), lambda n: f"(a|b)*a(a|b){{{n}}}")
    yield from grow("re-count-unended", "regex", (500, 65000), lambda n: "a{" + "9" * n)
    yield from grow(
        "re-count-blanks", "regex", (200, 65000), lambda n: "a{" + " " * n, options={"flavor": "rust"}
    )
    yield from grow(
        "re-alternatives-counted", "regex", (40, 2000), lambda n: "|".join(f".{{0,{i}}}x" for i in range(n))
    )


def nested() -> Iterator[Request]:
    """Nested loops and groups."""
    yield from grow("re-nested-stars", "regex", (20, 95, 9000), lambda n: "(" * n + "a" + ")*" * n)
    yield from grow("re-nested-nullable", "regex", (10, 45, 3000), lambda n: "(a?" * n + ")*" * n)
    yield from grow("re-nested-groups", "regex", (95, 20000), lambda n: "(" * n + "a" + ")" * n)
    yield from grow("re-evil", "regex", (1, 30), lambda n: "(([a-z]+)+|(a|a)*|(a|aa)+)" * n + "$")


def assertions() -> Iterator[Request]:
    """Look-ahead, look-behind, anchors, word boundaries and back-references."""
    yield from grow(
        "re-anchors-python", "regex", (100, 32750), lambda n: "^$" * n, options={"flavor": "python"}
    )
    yield from grow("re-back-references", "regex", (100, 13000), lambda n: r"(a)\1" * n)
    yield from grow(
        "re-letters-behind",
        "regex",
        (50, 4500),
        lambda n: "".join(f"[a-z](?<!{chr(97 + i % 26)})" for i in range(n)),
    )
    yield from grow(
        "re-classes-before-edge",
        "regex",
        (290, 3500),
        lambda n: "".join(f"[\\x00-\\u{0x100 + 2 * i:04x}]" for i in range(n)) + r"\b",
    )
    yield from grow(
        "re-lookaheads",
        "regex",
        (20, 200, 1000),
        lambda n: "".join(f"(?=.*[{'abcdefghijkl'[i % 12]}]{{{i % 7 + 1}}})" for i in range(n)) + ".*",
    )
    yield from grow(
        "re-lookaheads-distinct",
        "regex",
        (20, 200),
        lambda n: "".join(f"(?=.*a.{{{i}}})" for i in range(n)) + ".*",
    )
    yield from grow(
        "re-neg-lookaheads",
        "regex",
        (50, 1500),
        lambda n: "".join(f"(?!.*k{i:x}z)" for i in range(n)) + "[a-z0-9]*",
    )
    yield from grow(
        "re-lookaheads-in-loop",
        "regex",
        (3, 12, 40),
        lambda n: "(?:" + "".join(f"(?!{chr(97 + i % 26)}{i})" for i in range(n)) + ".)*x?",
    )
    yield from grow(
        "re-lookbehinds",
        "regex",
        (10, 300),
        lambda n: "".join(f"[a-z]*(?<!{chr(97 + i % 26)}{i % 3})" for i in range(n)),
    )
    yield from grow(
        "re-lookbehinds-wide", "regex", (8, 60), lambda n: "".join(f".*(?<=a.{{{i}}})" for i in range(n))
    )
    yield from grow("re-boundaries", "regex", (100, 7000), lambda n: r"\b[a-z ]*" * n)
    yield from grow(
        "re-boundaries-in-loops", "regex", (5, 60), lambda n: r"(?:\b\w+|\B[ -]*\b" * n + "x" + ")*" * n
    )
    yield from grow("re-anchors", "regex", (100, 8000), lambda n: "(^a|b$)?" * n)
    yield from grow("re-look-nested", "regex", (8, 95, 200), lambda n: "(?=[a-z]*" * n + "x" + ")" * n + ".*")


def wide() -> Iterator[Request]:
    """Wide alternations and large classes."""
    yield from grow("re-words", "regex", (7000,), lambda n: "|".join(f"w{i:x}" for i in range(n)))
    yield from grow(
        "re-words-loop", "regex", (300, 7000), lambda n: "(?:" + "|".join(f"{i:x}" for i in range(n)) + ")*"
    )
    yield from grow("re-suffixes", "regex", (100, 5000), lambda n: "|".join(f"[a-z]*{i:x}" for i in range(n)))
    yield from grow(
        "re-case",
        "regex",
        (300, 6000),
        lambda n: "|".join(f"key{i:x}" for i in range(n)),
        options={"flags": "i"},
    )
    yield from grow(
        "re-properties", "regex", (100, 6000), lambda n: r"\p{L}?\P{Lu}*" * (n // 2), options={"flags": "u"}
    )
    yield from grow(
        "re-set-operations",
        "regex",
        (100, 2500),
        lambda n: r"[\p{L}--[a-c]&&\w]?" * n,
        options={"flags": "v"},
    )
    yield from grow(
        "re-search",
        "regex",
        (20, 3000),
        lambda n: "|".join(f"a.{{{i}}}b" for i in range(n)),
        options={"search": True},
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
    yield from grow(
        "re-words-and-one",
        "regex",
        (100, 9300),
        lambda n: "".join(f"[\\w{chr(0x4E00 + i)}]" for i in range(n)),
        options={"flavor": "python"},
    )


def all_regexes() -> Iterator[Request]:
    """Return all requests that are patterns or choices."""
    for family in (sequences, counts, nested, assertions, wide, wide_in_python):
        yield from family()
