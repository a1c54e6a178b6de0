"""Hostile grammars in the EBNF dialect."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import chain as joined

from .request import Request, chain, grow_ebnf


def chained(line: str, last: str) -> Callable[[int], str]:
    """Return what makes a chain of a number of rules."""
    return lambda n: chain(n, line, last)


def shared_alternatives() -> Iterator[Request]:
    """Few rules that each name the next one twice: as many readings as 2 to their number, in a small graph."""
    forms = {
        "nested-shared": ('r{i} ::= r{j} r{j} | "b" r{j}', 'r{i} ::= "a" |'),
        "nested-nullable": ("r{i} ::= r{j} r{j} |", 'r{i} ::= "a" |'),
        "nested-stars": ('r{i} ::= (r{j} | "b" r{j})* "c"?', 'r{i} ::= "a"?'),
        "nested-suffixes": ('r{i} ::= r{j} | r{j} "x" | r{j} "y"', 'r{i} ::= "a"'),
        "nested-classes": ("r{i} ::= [a-m] r{j} | [g-z] r{j} | r{j} r{j}", "r{i} ::= [0-9]?"),
    }
    for family, (line, last) in forms.items():
        for size in (22, 30, 60) if family == "nested-shared" else (20, 40):
            yield from grow_ebnf(family, (size,), chained(line, last))


def doubling() -> Iterator[Request]:
    """Rules whose text doubles with each line if it is written out."""
    yield from grow_ebnf(
        "doubling", (18, 24, 28, 40), lambda n: chain(n, "r{i} ::= r{j} r{j}", 'r{i} ::= "ab"')
    )
    yield from grow_ebnf(
        "doubling-optional", (24, 40), lambda n: chain(n, "r{i} ::= r{j} r{j}?", 'r{i} ::= "ab"')
    )
    yield from grow_ebnf(
        "doubling-literals",
        (14, 22),
        lambda n: chain(n, 'r{i} ::= r{j} "," r{j}', 'r{i} ::= "' + "q" * 2000 + '"'),
    )
    yield from grow_ebnf("tenfold-counts", (5, 9), lambda n: chain(n, "r{i} ::= r{j}{10}", 'r{i} ::= "ab"'))
    yield from grow_ebnf(
        "counts-of-counts", (4, 8), lambda n: chain(n, "r{i} ::= r{j}{0,1000}", "r{i} ::= [a-z]")
    )
    yield from grow_ebnf(
        "doubling-intersections",
        (8, 16),
        lambda n: chain(n, "R{i} ::= (R{j} R{j}) & (R{j}+)", "R{i} ::= [a-z]", "root ::= R0"),
    )


def term_bombs() -> Iterator[Request]:
    """Rules that are recursive and nullable: each token leaves new local states behind."""
    yield from grow_ebnf(
        "terms", (20, 40, 200), lambda n: chain(n, "r{i} ::= r{j} r{j} | ", "r{i} ::= [a-z]")
    )
    yield from grow_ebnf(
        "terms-recursive",
        (10, 30),
        lambda n: chain(n, "r{i} ::= [a-z] r{j} r{j} | r0 | ", 'r{i} ::= "x" | r0 "y"'),
    )
    yield from grow_ebnf(
        "terms-counted",
        (12, 40),
        lambda n: "root ::= " + " ".join(f"([a-z]{{0,{50 + i}}} [0-9a-f]?)" for i in range(n)),
    )
    yield from grow_ebnf(
        "terms-choices",
        (30, 300),
        lambda n: "root ::= (" + " | ".join(f"[a-z]{{{i}}} [0-9]" for i in range(1, n)) + ")*",
    )


def nets() -> Iterator[Request]:
    """Nets of rules that begin with, or consist of, many others."""

    def left(n: int, width: int, last: str = "") -> str:
        rules = [
            f"r{i} ::= " + " | ".join(f"r{(i * 7 + k * k + 1) % n} [a-z]" for k in range(width)) + last
            for i in range(n)
        ]
        return "\n".join(["root ::= r0", *rules, ""])

    def nullable(n: int, width: int) -> str:
        rules = [
            f"r{i} ::= "
            + " | ".join(f"r{(i + k + 1) % n} r{(i * 3 + k) % n}" for k in range(width))
            + ' | "a" |'
            for i in range(n)
        ]
        return "\n".join(["root ::= r0", *rules, ""])

    def between(n: int, width: int) -> str:
        rules = [
            f"r{i} ::= "
            + " | ".join(f"[a-z] r{(i * 5 + k) % n} [a-z] r{(i + k) % n} [a-z]" for k in range(width))
            + " |"
            for i in range(n)
        ]
        return "\n".join(["root ::= r0", *rules, ""])

    yield from grow_ebnf("left-net", (30, 150, 300), lambda n: left(n, 5, ' | "a"'))
    yield from grow_ebnf("left-net-nullable", (30, 90, 150), lambda n: left(n, 4, " |"))
    yield from grow_ebnf("nullable-net", (20, 60, 200), lambda n: nullable(n, 4))
    yield from grow_ebnf("between-net", (20, 100, 300), lambda n: between(n, 4))
    yield from grow_ebnf("between-one", (1, 2, 5), lambda n: between(n, n))


def hidden_left_recursion() -> Iterator[Request]:
    """Rules that begin with a nullable rule and then with one another."""
    hidden = 'r{i} ::= e r{j} "x" | e r0 "y" | "z"'
    yield from grow_ebnf(
        "hidden-left", (60, 300, 700, 1500), lambda n: chain(n, hidden, "r{i} ::= e r0 [0-9]\ne ::= [ab]?")
    )
    yield from grow_ebnf(
        "hidden-left-ring",
        (60, 400),
        lambda n: chain(n, 'r{i} ::= e{i} r{j} | "z" r{j}\ne{i} ::= "e{i}"?', 'r{i} ::= r0 "x" | "q"'),
    )
    yield from grow_ebnf(
        "left-ladder", (100, 1000), lambda n: chain(n, 'r{i} ::= r{i} "{i}" | r{j}', 'r{i} ::= "a"')
    )
    yield from grow_ebnf(
        "mutual-left",
        (20, 68),
        lambda n: (
            "root ::= r0\n"
            + "\n".join(
                f"r{i} ::= " + " | ".join(f'r{j} "{i}-{j}"' for j in range(n)) + ' | "a"' for i in range(n)
            )
        ),
    )


def ambiguity() -> Iterator[Request]:
    """Grammars in which a text has very many readings."""
    forms = {
        "ambiguous-pairs": 's ::= s s | "(" s ")" | s "-" s | [a-z]* | s s s s',
        "ambiguous-triples": "s ::= s s s | s s | [a-z] |",
        "ambiguous-middle": "s ::= [a-z] s [a-z] | [a-z] s | s [a-z] | [a-z]",
        "ambiguous-palindrome": "s ::= " + " | ".join(f'"{c}" s "{c}"' for c in "abcdefgh") + " | [a-h] |",
        "ambiguous-operators": "s ::= "
        + " | ".join(f's "{o}" s' for o in "+-*/<>=&")
        + ' | s s | [a-z]+ | "(" s ")"',
        "ambiguous-words": "s ::= (w w* | w)* w\nw ::= [a-z]+ [a-z]* | [a-z]{1,9}",
        "ambiguous-brackets": 's ::= (s | "[" s "]" | "[" s | s "]")* [a-z]?',
        "ambiguous-spread": "s ::= a s b | a s | s b |\na ::= [a-m]+\nb ::= [f-z]+",
    }
    letters = "".join(random.Random(7).choices("abcdefgh", k=1200))
    for family, rules in forms.items():
        text = f"root ::= s\n{rules}\n"
        yield Request(f"{family}-long", family, "ebnf", text, driver="long", steps=100)
        yield Request(f"{family}-text", family, "ebnf", text, driver="text", text=letters, steps=900)


def written_large() -> Iterator[Request]:
    """Grammars that are large as text: literals, parentheses, rules, alternatives, classes."""
    yield from grow_ebnf("literal", (1000, 60000), lambda n: 'root ::= "' + "ab" * (n // 2) + '"')
    yield from grow_ebnf("literals", (6000,), lambda n: "root ::= " + " ".join(f'"{i:x}"' for i in range(n)))
    yield from grow_ebnf("parentheses", (500, 30000), lambda n: "root ::= " + "(" * n + '"a"' + ")" * n)
    yield from grow_ebnf(
        "parentheses-stars", (95, 20000), lambda n: "root ::= " + "(" * n + "[a-z]" + ")*" * n
    )
    yield from grow_ebnf(
        "parentheses-choices", (95, 6000), lambda n: "root ::= " + '("a" | ' * n + '"b"' + ")" * n
    )
    yield from grow_ebnf("rules", (500, 2600), lambda n: chain(n, 'r{i} ::= "a" r{j} "b"?', 'r{i} ::= "c"'))
    yield from grow_ebnf("rules-unit", (4000,), lambda n: chain(n, "r{i} ::= r{j}", 'r{i} ::= "c"'))
    yield from grow_ebnf(
        "rules-wide",
        (2100,),
        lambda n: (
            "root ::= ("
            + " | ".join(f"r{i}" for i in range(n))
            + ")*\n"
            + "\n".join(f'r{i} ::= "{i:x}" [a-z]*' for i in range(n))
        ),
    )
    yield from grow_ebnf(
        "counts", (1000, 100000), lambda n: f"root ::= [a-z]{{1,{n}}} ([0-9]{{{n}}} [a-z]){{2,{n}}}"
    )
    yield from grow_ebnf(
        "counts-in-counts", (50, 5000), lambda n: f"root ::= (([a-z]{{1,{n}}} [a-c]?){{1,{n}}} [0-9]?){{{n}}}"
    )
    yield from grow_ebnf(
        "counts-many", (200, 4000), lambda n: "root ::= " + " ".join("[a-z]{0,99}" for _ in range(n))
    )
    yield from grow_ebnf(
        "alternatives", (6000,), lambda n: "root ::= (" + " | ".join(f'"k{i:x}"' for i in range(n)) + ")+"
    )
    yield from grow_ebnf("optionals", (300, 8000), lambda n: "root ::= " + "[a-z]? " * n)
    yield from grow_ebnf(
        "optional-rules",
        (300, 4000),
        lambda n: "root ::= " + "A? B? " * n + "\nA ::= [a-z]+\nB ::= [a-f0-9]+",
    )
    yield from grow_ebnf(
        "ignoring-case",
        (200, 2000),
        lambda n: "root ::= (" + " | ".join(f'"select{i:x}"i' for i in range(n)) + ")*",
    )
    classes = ("\\p{L}", "\\p{Lu}", "[^\\p{Ll}]", "\\P{N}")
    yield from grow_ebnf(
        "unicode-classes",
        (100, 3000),
        lambda n: "root ::= " + " ".join(f"[{classes[i % 2]}\\u{{{0x100 + i:x}}}]?" for i in range(n)),
    )
    yield from grow_ebnf(
        "class-of-characters",
        (12000,),
        lambda n: "root ::= [" + "".join(chr(0x4E00 + 2 * i % 20000) for i in range(n)) + "]+",
    )
    yield from grow_ebnf(
        "skips", (50, 1000), lambda n: "root ::= " + '"a"? [a-z]* ' * n + "\n%skip [ \\n]+\n%skip [ \\t]*"
    )


def operators() -> Iterator[Request]:
    """Products: intersection, subtraction, complement, restrictions of what follows."""

    def mod(n: int) -> str:
        return " & ".join(f"(([a-z]{{{p}}})*)" for p in (2, 3, 5, 7, 11, 13, 17, 19, 23)[:n])

    yield from grow_ebnf("intersection-lengths", (4, 6, 9), lambda n: "root ::= " + mod(n))
    yield from grow_ebnf(
        "intersection-positions",
        (8, 14, 30),
        lambda n: "root ::= " + " & ".join(f'(.* "{chr(97 + i % 26)}" .{{{i}}})' for i in range(n)),
    )
    yield from grow_ebnf(
        "subtraction",
        (8, 200),
        lambda n: "root ::= ([a-z]*)" + "".join(f' - (.* "{chr(97 + i % 26)}" .{{{i}}})' for i in range(n)),
    )
    yield from grow_ebnf(
        "complement-nested", (6, 90, 200), lambda n: "root ::= " + "!(" * n + '[a-z]* "a"' + ' "b" .*)' * n
    )
    yield from grow_ebnf("complement-subsets", (12, 24), lambda n: f'root ::= !(.* "a" .{{{n}}})')
    yield from grow_ebnf(
        "complements-all",
        (20, 1000),
        lambda n: "root ::= " + " & ".join(f'!(.* "{i:x}" .*)' for i in range(n)),
    )
    yield from grow_ebnf("restrictions", (100, 2000), lambda n: "root ::= " + "([a-z]+ !>> [a-z])? " * n)
    yield from grow_ebnf(
        "keywords",
        (300, 4000),
        lambda n: (
            "root ::= (/[a-z]+/ - K)*\nK ::= " + " | ".join(f'"k{chr(97 + i % 26)}{i:x}"' for i in range(n))
        ),
    )


def all_grammars() -> Iterator[Request]:
    """Return all requests of the dialect."""
    families = (
        shared_alternatives, doubling, term_bombs, nets, hidden_left_recursion, ambiguity, written_large, operators,
    )  # fmt: skip
    return joined.from_iterable(family() for family in families)
