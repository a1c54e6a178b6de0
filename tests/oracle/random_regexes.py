"""Random patterns for comparing regexes with other engines: many assertions, few characters."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

# of Python: what every text of up to four characters tells apart, and what Unicode and flags are about
SMALL_ATOMS = ("a", "b", "ab", "ba", " ", ".", r"\w", r"\W", "[ab]", "[^a]", "[^b]", r"\n", "aa", "[a ]")
SMALL_ANCHORS = ("^", "$", r"\b", r"\B", r"\A", r"\Z")
SMALL_TEXTS = tuple("".join(t) for k in range(5) for t in itertools.product("ab \n", repeat=k))

PYTHON_ATOMS = [
    r"a",
    r"b",
    r"A",
    r"1",
    r"_",
    r"é",
    r"\n",
    r".",
    r"\d",
    r"\W",
    r"\w",
    r"\s",
    r"\S",
    r"[ab]",
    r"[^a1]",
    r"[\w.-]",
    r"[A-Z]",
    r"[^\W_]",
    r"\x61",
    r"K",
    r"s",
    r"[^\n]",
    r"ss",
    r"ab",
    r"ba",
    r"\é",
    r"\u00e9",
    r"[é-ü]",
    r"\-",
]
PYTHON_ASSERTIONS = [
    r"^",
    r"$",
    r"\b",
    r"\B",
    r"\A",
    r"\Z",
    r"(?=a)",
    r"(?!b)",
    r"(?<=a)",
    r"(?<!\W)",
    r"(?=.b)",
    r"(?!a.)",
    r"(?<=ab)",
    r"(?<!b.)",
    r"(?=a*$)",
    r"(?!.*b)",
    r"(?=\b)",
    r"(?!\B)",
    r"(?!$)",
    r"(?<!^)",
    r"(?<=^a)",
    r"(?=(?!b).)",
    r"(?<=\ba)",
    r"(?!(?<=a)b)",
]
PYTHON_CHARACTERS = "aabbAB1_ \n.éKsS\u212a-"

ECMA_ATOMS = [
    r"a",
    r"b",
    r"A",
    r"1",
    r"_",
    r"é",
    r"É",
    r"ß",
    r"ſ",
    r"K",
    r"k",
    r"s",
    r"\n",
    r".",
    r"\d",
    r"\W",
    r"\w",
    r"\s",
    r"\S",
    r"[ab]",
    r"[^a1]",
    r"[\w.\-]",
    r"[A-Z]",
    r"[^\W_]",
    r"\x61",
    r"\u0061",
    r"\u{1F600}",
    r"[^]",
    r"\p{L}",
    r"\P{Lu}",
    r"\p{Lu}",
    r"[^\p{L}]",
    r"[\P{Ll}\d]",
    r"\cJ",
    r"[\b]",
    r"\/",
    r"Σ",
    r"ς",
    r"[σ]",
    r"\ud83d\ude00",
    r"[^\W]",
    r"[\W]",
    r"\p{Script=Greek}",
    r"\p{scx=Grek}",
]
ECMA_LENIENT_ATOMS = [
    r"\-",
    r"\_",
    r"a{",
    r"{1",
    r"}",
    r"]",
    r"\8",
    r"\07",
    r"\x6",
    r"\u12",
    r"\c",
    r"[\c1]",
    r"[\w-a]",
    r"x{,2}",
    r"\a",
    r"\z",
    r"[a-\d]",
    r"(?=a)*",
    r"(?!b){2}",
]
ECMA_SET_ATOMS = [r"[\w--[a]]", r"[[ab]c]", r"[\p{L}--\p{Lu}]", r"[[a-c]&&[b-d]]", r"[\q{a|b}]"]
ECMA_ASSERTIONS = [
    r"^",
    r"$",
    r"\b",
    r"\B",
    r"(?=a)",
    r"(?!b)",
    r"(?<=a)",
    r"(?<!\W)",
    r"(?=.b)",
    r"(?!a.)",
    r"(?<=ab)",
    r"(?<!b.*)",
    r"(?=a*$)",
    r"(?!.*b)",
    r"(?=\b)",
    r"(?!\B)",
    r"(?!$)",
    r"(?<!^)",
    r"(?<=^a)",
    r"(?=(?!b).)",
    r"(?<=\ba)",
    r"(?!(?<=a)b)",
    r"(?<=(?=a).)",
]
ECMA_CHARACTERS = "aabbAB1_ \n.éÉKksSſßσςΣ\u212a-\u2028\r{}"

_LOOKS = ("(?=", "(?!", "(?=", "(?!", "(?<=", "(?<!")
_QUANTIFIERS = ("*", "+", "?", "{2}", "{1,2}", "{0,}", "*?", "+?", "??", "{1,2}?", "{0,3}", "{3,}", "{2,5}")


def random_pattern(
    rng: random.Random,
    depth: int,
    atoms: Sequence[str],
    assertions: Sequence[str],
    groups: Sequence[str] = ("(?:", "("),
    quantifiers: Sequence[str] = _QUANTIFIERS,
) -> str:
    """Return a random pattern, nested up to ``depth`` deep."""

    def deeper() -> str:
        return random_pattern(rng, depth - 1, atoms, assertions, groups, quantifiers)

    kind = rng.random()
    if depth == 0 or kind < 0.2:
        return rng.choice(atoms)
    if kind < 0.34:
        return rng.choice(assertions)
    if kind < 0.6:
        return "".join(deeper() for _ in range(rng.randint(2, 3)))
    if kind < 0.72:
        options = [deeper() for _ in range(rng.randint(1, 3))] + [""] * (rng.random() < 0.15)
        return rng.choice(groups) + "|".join(options) + ")"
    if kind < 0.84:
        return rng.choice(_LOOKS) + deeper() + ")"
    return f"(?:{deeper()}){rng.choice(quantifiers)}"


def small_pattern(rng: random.Random) -> str:
    """Return a pattern of Python over two letters, a blank and a line break."""
    groups = ("(?:", "(?:", "(?s:", "(?m:", "(?:", "(?>")
    return random_pattern(rng, rng.choice((2, 3, 3, 4)), SMALL_ATOMS, SMALL_ANCHORS, groups)


def python_pattern(rng: random.Random) -> str:
    """Return a pattern of Python with classes, flags, cases and characters beyond ASCII."""
    groups = ("(?:", "(", "(?i:", "(?s:", "(?m:", "(?:", "(?a:", "(?>")
    quantifiers = (*_QUANTIFIERS, *_QUANTIFIERS, "{,2}", "*+", "++", "?+")
    return random_pattern(rng, 3, PYTHON_ATOMS, PYTHON_ASSERTIONS, groups, quantifiers)


def ecma_pattern(rng: random.Random, mode: str) -> str:
    """Return a pattern of ECMA-262 for the mode ``u``, ``v``, or none."""
    atoms = ECMA_ATOMS
    if mode == "v":
        # V8 reads [^] wrongly with v: /^[^]+$/v does not match "É"
        atoms = [*(atom for atom in ECMA_ATOMS if atom != "[^]"), *ECMA_SET_ATOMS * 3]
    elif not mode:
        # without u, browsers read \p{…}, \u{…} and characters beyond the BMP differently
        plain = [atom for atom in ECMA_ATOMS if not any(s in atom for s in (r"\p", r"\P", r"\u"))]
        atoms = [*plain, *ECMA_LENIENT_ATOMS]
    return random_pattern(rng, 3, atoms, ECMA_ASSERTIONS)
