"""Random patterns for comparing regexes with other engines: many assertions, few characters."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

# of Python: what every text of up to four characters tells apart, and what Unicode and flags are about
SMALL_ATOMS = ("a", "b", "ab", "ba", " ", ".", r"\w", r"\W", "[ab]", "[^a]", "[^b]", r"\n", "aa", "[a ]")
SMALL_ANCHORS = ("^", "$", r"\b", r"\B", r"\A", r"\Z")
SMALL_TEXTS = tuple("".join(t) for k in range(5) for t in itertools.product("ab \n", repeat=k))

PYTHON_ATOMS = (
    r"a b A 1 _ é \n . \d \W \w \s \S [ab] [^a1] [\w.-] [A-Z] [^\W_] \x61 K s [^\n] ss ab ba \é \u00e9 [é-ü] \-"
).split()
PYTHON_ASSERTIONS = (
    r"^ $ \b \B \A \Z (?=a) (?!b) (?<=a) (?<!\W) (?=.b) (?!a.) (?<=ab) (?<!b.) (?=a*$) (?!.*b) (?=\b) (?!\B) (?!$) "
    r"(?<!^) (?<=^a) (?=(?!b).) (?<=\ba) (?!(?<=a)b)"
).split()
PYTHON_CHARACTERS = "aabbAB1_ \n.éKsS\u212a-"

ECMA_ATOMS = (
    r"a b A 1 _ é É ß ſ K k s \n . \d \W \w \s \S [ab] [^a1] [\w.\-] [A-Z] [^\W_] \x61 \u0061 \u{1F600} [^] \p{L} \P{Lu} "
    r"\p{Lu} [^\p{L}] [\P{Ll}\d] \cJ [\b] \/ Σ ς [σ] \ud83d\ude00 [^\W] [\W] \p{Script=Greek} \p{scx=Grek}"
).split()
ECMA_LENIENT_ATOMS = (
    r"\- \_ a{ {1 } ] \8 \07 \x6 \u12 \c [\c1] [\w-a] x{,2} \a \z [a-\d] (?=a)* (?!b){2}"
).split()
ECMA_SET_ATOMS = r"[\w--[a]] [[ab]c] [\p{L}--\p{Lu}] [[a-c]&&[b-d]] [\q{a|b}]".split()
ECMA_ASSERTIONS = (
    r"^ $ \b \B (?=a) (?!b) (?<=a) (?<!\W) (?=.b) (?!a.) (?<=ab) (?<!b.*) (?=a*$) (?!.*b) (?=\b) (?!\B) (?!$) (?<!^) "
    r"(?<=^a) (?=(?!b).) (?<=\ba) (?!(?<=a)b) (?<=(?=a).)"
).split()
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
