"""Hostile grammars in the EBNF dialect."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import chain as joined

from .request import Request, chain, grow


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
            yield from grow(family, "ebnf", (size,), chained(line, last))


def doubling() -> Iterator[Request]:
    """Rules whose text doubles with each line if it is written out."""
    yield from grow(
        "doubling", "ebnf", (18, 24, 28, 40), lambda n: chain(n, "r{i} ::= r{j} r{j}", 'r{i} ::= "ab"')
    )
    yield from grow(
        "doubling-optional", "ebnf", (24, 40), lambda n: chain(n, "r{i} ::= r{j} r{j}?", 'r{i} ::= "ab"')
    )
    yield from grow(
        "doubling-literals",
        "ebnf",
        (14, 22),
        lambda n: chain(n, 'r{i} ::= r{j} "," r{j}', 'r{i} ::= "' + "q" * 2000 + '"'),
    )
    yield from grow(
        "tenfold-counts",
        "ebnf",
        (5, 9),
        lambda n: chain(n, "r{i} ::= r{j}{10}", 'r{i} ::= "ab"'),
    )
    yield from grow(
        "counts-of-counts", "ebnf", (4, 8), lambda n: chain(n, "r{i} ::= r{j}{0,1000}", "r{i} ::= [a-z]")
    )
    yield from grow(
        "doubling-intersections",
        "ebnf",
        (8, 16),
        lambda n: chain(n, "R{i} ::= (R{j} R{j}) & (R{j}+)", "R{i} ::= [a-z]", "root ::= R0"),
    )


def term_bombs() -> Iterator[Request]:
    """Rules that are recursive and nullable: each token leaves new local states behind."""
    yield from grow(
        "terms", "ebnf", (20, 40, 200), lambda n: chain(n, "r{i} ::= r{j} r{j} | ", "r{i} ::= [a-z]")
    )
    yield from grow(
        "terms-recursive",
        "ebnf",
        (10, 30),
        lambda n: chain(n, "r{i} ::= [a-z] r{j} r{j} | r0 | ", 'r{i} ::= "x" | r0 "y"'),
    )
    yield from grow(
        "terms-counted",
        "ebnf",
        (12, 40),
        lambda n: "root ::= " + " ".join(f"([a-z]{{0,{50 + i}}} [0-9a-f]?)" for i in range(n)),
    )
    yield from grow(
        "terms-choices",
        "ebnf",
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

    yield from grow("left-net", "ebnf", (30, 150, 300), lambda n: left(n, 5, ' | "a"'))
    yield from grow("left-net-nullable", "ebnf", (30, 90, 150), lambda n: left(n, 4, " |"))
    yield from grow("nullable-net", "ebnf", (20, 60, 200), lambda n: nullable(n, 4))
    yield from grow("between-net", "ebnf", (20, 100, 300), lambda n: between(n, 4))
    yield from grow("between-one", "ebnf", (1, 2, 5), lambda n: between(n, n))


def hidden_left_recursion() -> Iterator[Request]:
    """Rules that begin with a nullable rule and then with one another."""
    hidden = 'r{i} ::= e r{j} "x" | e r0 "y" | "z"'
    yield from grow(
        "hidden-left",
        "ebnf",
        (60, 300, 700, 1500),
        lambda n: chain(n, hidden, "r{i} ::= e r0 [0-9]\ne ::= [ab]?"),
    )
    yield from grow(
        "hidden-left-ring",
        "ebnf",
        (60, 400),
        lambda n: chain(n, 'r{i} ::= e{i} r{j} | "z" r{j}\ne{i} ::= "e{i}"?', 'r{i} ::= r0 "x" | "q"'),
    )
    yield from grow(
        "left-ladder", "ebnf", (100, 1000), lambda n: chain(n, 'r{i} ::= r{i} "{i}" | r{j}', 'r{i} ::= "a"')
    )
    yield from grow(
        "mutual-left",
        "ebnf",
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
    yield from grow("literal", "ebnf", (1000, 60000), lambda n: 'root ::= "' + "ab" * (n // 2) + '"')
    yield from grow(
        "literals", "ebnf", (6000,), lambda n: "root ::= " + " ".join(f'"{i:x}"' for i in range(n))
    )
    yield from grow("parentheses", "ebnf", (500, 30000), lambda n: "root ::= " + "(" * n + '"a"' + ")" * n)
    yield from grow(
        "parentheses-stars", "ebnf", (95, 20000), lambda n: "root ::= " + "(" * n + "[a-z]" + ")*" * n
    )
    yield from grow(
        "parentheses-choices", "ebnf", (95, 6000), lambda n: "root ::= " + '("a" | ' * n + '"b"' + ")" * n
    )
    yield from grow(
        "rules", "ebnf", (500, 2600), lambda n: chain(n, 'r{i} ::= "a" r{j} "b"?', 'r{i} ::= "c"')
    )
    yield from grow("rules-unit", "ebnf", (4000,), lambda n: chain(n, "r{i} ::= r{j}", 'r{i} ::= "c"'))
    yield from grow(
        "rules-wide",
        "ebnf",
        (2100,),
        lambda n: (
            "root ::= ("
            + " | ".join(f"r{i}" for i in range(n))
            + ")*\n"
            + "\n".join(f'r{i} ::= "{i:x}" [a-z]*' for i in range(n))
        ),
    )
    yield from grow(
        "counts", "ebnf", (1000, 100000), lambda n: f"root ::= [a-z]{{1,{n}}} ([0-9]{{{n}}} [a-z]){{2,{n}}}"
    )
    yield from grow(
        "counts-in-counts",
        "ebnf",
        (50, 5000),
        lambda n: f"root ::= (([a-z]{{1,{n}}} [a-c]?){{1,{n}}} [0-9]?){{{n}}}",
    )
    yield from grow(
        "counts-many", "ebnf", (200, 4000), lambda n: "root ::= " + " ".join("[a-z]{0,99}" for _ in range(n))
    )
    yield from grow(
        "alternatives",
        "ebnf",
        (6000,),
        lambda n: "root ::= (" + " | ".join(f'"k{i:x}"' for i in range(n)) + ")+",
    )
    yield from grow("optionals", "ebnf", (300, 8000), lambda n: "root ::= " + "[a-z]? " * n)
    yield from grow(
        "optional-rules",
        "ebnf",
        (300, 4000),
        lambda n: "root ::= " + "A? B? " * n + "\nA ::= [a-z]+\nB ::= [a-f0-9]+",
    )
    yield from grow(
        "ignoring-case",
        "ebnf",
        (200, 2000),
        lambda n: "root ::= (" + " | ".join(f'"select{i:x}"i' for i in range(n)) + ")*",
    )
    classes = ("\\p{L}", "\\p{Lu}", "[^\\p{Ll}]", "\\P{N}")
    yield from grow(
        "unicode-classes",
        "ebnf",
        (100, 3000),
        lambda n: "root ::= " + " ".join(f"[{classes[i % 2]}\\u{{{0x100 + i:x}}}]?" for i in range(n)),
    )
    yield from grow(
        "class-of-characters",
        "ebnf",
        (12000,),
        lambda n: "root ::= [" + "".join(chr(0x4E00 + 2 * i % 20000) for i in range(n)) + "]+",
    )
    yield from grow(
        "skips",
        "ebnf",
        (50, 1000),
        lambda n: "root ::= " + '"a"? [a-z]* ' * n + "\n%skip [ \\n]+\n%skip [ \\t]*",
    )


def operators() -> Iterator[Request]:
    """Products: intersection, subtraction, complement, restrictions of what follows."""

    def mod(n: int) -> str:
        return " & ".join(f"(([a-z]{{{p}}})*)" for p in (2, 3, 5, 7, 11, 13, 17, 19, 23)[:n])

    yield from grow("intersection-lengths", "ebnf", (4, 6, 9), lambda n: "root ::= " + mod(n))
    yield from grow(
        "intersection-positions",
        "ebnf",
        (8, 14, 30),
        lambda n: "root ::= " + " & ".join(f'(.* "{chr(97 + i % 26)}" .{{{i}}})' for i in range(n)),
    )
    yield from grow(
        "subtraction",
        "ebnf",
        (8, 200),
        lambda n: "root ::= ([a-z]*)" + "".join(f' - (.* "{chr(97 + i % 26)}" .{{{i}}})' for i in range(n)),
    )
    yield from grow(
        "complement-nested",
        "ebnf",
        (6, 90, 200),
        lambda n: "root ::= " + "!(" * n + '[a-z]* "a"' + ' "b" .*)' * n,
    )
    yield from grow("complement-subsets", "ebnf", (12, 24), lambda n: f'root ::= !(.* "a" .{{{n}}})')
    yield from grow(
        "complements-all",
        "ebnf",
        (20, 1000),
        lambda n: "root ::= " + " & ".join(f'!(.* "{i:x}" .*)' for i in range(n)),
    )
    yield from grow("restrictions", "ebnf", (100, 2000), lambda n: "root ::= " + "([a-z]+ !>> [a-z])? " * n)
    yield from grow(
        "keywords",
        "ebnf",
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
