"""Regular expressions of the three flavours: a byte of options, then the pattern."""

from __future__ import annotations

import itertools
import random
import re
import warnings
from collections.abc import Iterator

from oracle import random_regexes as made

import stackmask as sm
from fuzz.checks import (
    LIMITS,
    NAMED_ERRORS,
    Walk,
    compiler_of,
    expect,
    make_vocabulary,
    random_of,
    walk_grammar,
)
from fuzz.mutators import TextMutator, mutate_input

MAX_LENGTH = 160
FLAVORS = ("python", "python", "ecma", "rust")
FLAGS = {
    "python": ("", "i", "s", "m", "x", "a"),
    "ecma": ("", "u", "v", "i", "s", "iu"),
    "rust": ("", "i", "s", "m", "x", "U"),
}
PIECES = (
    *made.PYTHON_ATOMS,
    *made.PYTHON_ASSERTIONS,
    *made.ECMA_ATOMS,
    *made.ECMA_LENIENT_ATOMS,
    *made.ECMA_SET_ATOMS,
    *made.ECMA_ASSERTIONS,
    *(
        "*",
        "+",
        "?",
        "{2}",
        "{1,3}",
        "{0,}",
        "*?",
        "++",
        "|",
        "(?:",
        "(?P<n>",
        "(?<n>",
        ")",
        "(?i)",
        "(?=",
        "(?!",
        "(?<=",
    ),
    *(
        "(?<!",
        "(?>",
        "(?#x)",
        "[",
        "]",
        "[^",
        "&&",
        "--",
        "\\1",
        "\\k<n>",
        "(?P=n)",
        "(?(1)a|b)",
        "\\Q",
        "\\E",
        "[[:alpha:]]",
    ),
)
TEXTS = tuple("".join(letters) for count in range(4) for letters in itertools.product("ab \n", repeat=count))
COUNTED = re.compile(r"\{|\*|\+")
vocabulary = make_vocabulary()
small_vocabulary = sm.Vocabulary([bytes([i]) for i in range(256)] + [b"ab", b"a b", None], stop_ids=[258])


def fresh(source: random.Random) -> str:
    """Return a random pattern."""
    way = source.random()
    if way < 0.4:
        return made.small_pattern(source)
    return (
        made.python_pattern(source) if way < 0.7 else made.ecma_pattern(source, source.choice(("", "u", "v")))
    )


mutator = TextMutator(PIECES, fresh)


def mutate(data: bytes, source: random.Random) -> bytes:
    return mutate_input(data, source, mutator)


def seeds() -> Iterator[bytes]:
    """Yield random patterns and some of those that servers see."""
    source = random.Random(0)
    for _ in range(200):
        yield bytes([source.randrange(48, 112)]) + fresh(source).encode("utf-8", "surrogatepass")
    for pattern in (
        r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})",
        r"^[a-z0-9]+(?:-[a-z0-9]+)*$",
        r"(?=.*[A-Z])(?=.*\d)[A-Za-z\d]{8,16}",
        r"(a|b)*c+[a-z]{2,3}",
        r"\b\w+\b(?!\s*\()",
    ):
        for options in b"0248":
            yield bytes([options]) + pattern.encode()


def run(data: bytes) -> None:
    options = data[0] if data else 0
    flavor = FLAVORS[options & 3]
    flags = FLAGS[flavor][(options >> 2) % 6]
    search = options >> 5 & 1 == 0
    pattern = data[1:].decode("utf-8", "surrogateescape")
    source = random_of(data)
    try:
        grammar = sm.Grammar.from_regex(pattern, flavor=flavor, flags=flags, search=search, limits=LIMITS)
        walk_grammar(grammar, vocabulary, source)
        way = source.random()
        if flavor == "python" and way < 0.15:
            compare(grammar, pattern, flags, search)
        elif way < 0.2:
            compare_modes(grammar, source)
    except NAMED_ERRORS:
        return


def compare(grammar: sm.Grammar, pattern: str, flags: str, search: bool) -> None:
    """Compare which short texts match with Python's ``re``."""
    if len(COUNTED.findall(pattern)) > 4 or len(pattern) > 60:
        return  # `re` may take exponential time
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            number = sum(
                {"i": re.IGNORECASE, "s": re.DOTALL, "m": re.MULTILINE, "x": re.VERBOSE, "a": re.ASCII}[flag]
                for flag in flags
            )
            compiled = re.compile(pattern, number)
        except (re.error, OverflowError, RecursionError, ValueError):
            return
    matcher = compiler_of(small_vocabulary).compile(grammar).matcher()
    match = compiled.search if search else compiled.fullmatch
    for text in TEXTS:
        matches = bool(matcher.accept_string(text) and matcher.is_accepting())
        matcher.rollback(matcher.accept_calls)
        expect(matches == bool(match(text)), "Python's re", pattern, flags, search, text, matches)


def compare_modes(grammar: sm.Grammar, source: random.Random) -> None:
    """Compare masks with those of the finite-state mode, where the automaton is small."""
    finite = sm.fsm.compile(grammar, small_vocabulary, limits=LIMITS, memory=1 << 20)
    matchers = [finite.matcher(), compiler_of(small_vocabulary).compile(grammar).matcher()]
    walks = [Walk(matcher, small_vocabulary, source) for matcher in matchers]
    for _ in range(6):
        masks = [_mask(walk) for walk in walks]
        expect(masks[0] == masks[1], "another mask in the finite-state mode", walks[0].ids)
        allowed = [i for i in range(small_vocabulary.size) if masks[0][i >> 3] >> (i & 7) & 1]
        if not allowed:
            return
        token = source.choice(allowed)
        walks[0].ids.append(token)
        expect(matchers[0].accept_token(token) and matchers[1].accept_token(token), "an allowed token", token)


def _mask(walk: Walk) -> bytes:
    mask = sm.allocate_token_bitmask(1, walk.size)
    walk.matcher.fill_next_token_bitmask(mask)
    return mask.tobytes()
