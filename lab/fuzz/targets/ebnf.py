"""Grammars in the EBNF dialect: a byte of options, then the text."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from oracle.earley import Recognizer
from oracle.masks import advance_token, brute_force_mask
from oracle.regular import NotRegular, TooLarge

import stackmask as sm
from fuzz.checks import (
    LIMITS,
    NAMED_ERRORS,
    Walk,
    expect,
    make_vocabulary,
    random_of,
    tokens_of,
    walk_grammar,
)
from fuzz.mutators import TextMutator, mutate_input
from stackmask.grammar import ir

MAX_LENGTH = 1200
REPO = Path(__file__).resolve().parents[3]
MOST_NODES = 60  # of a grammar that is compared with the oracle
MOST_COUNT = 12  # in `{m,n}` of such a grammar
MOST_ITEMS = 4000  # of the oracle at one place
NAMES = ("root", "a", "b", "c", "WORD", "list")
ATOMS = (
    *('"a"', '"b"', '"ab"', '""', "[a-c]", "[^a]", ".", '"é"', "[à-ü€]", "\\xc3", '"x"i', "<|x|>", "<!|x|>"),
    *("[\\x00-\\x7f]", '"\\n"', "/a+b?/", "/(a|b)*c/", "/[^\\n]{2,3}/", "a", "b", "c", "root", '"abababab"'),
)
SUFFIXES = ("*", "+", "?", "{2}", "{1,3}", "{3,}", "{0,2}")
PIECES = (
    *ATOMS,
    *(
        "*",
        "+",
        "?",
        "{2}",
        "{1,3}",
        "{0,}",
        "{,2}",
        " | ",
        " & ",
        "!",
        " !>> ",
        " !<< ",
        " ::= ",
        "\n",
        "# x\n",
    ),
    *(
        "%skip [ ]+\n",
        "%import json\n",
        "%start a\n",
        "%stack\n",
        "push",
        "pop",
        "(",
        ")",
        "[",
        "]",
        ":=",
        "@",
        "\\",
    ),
)
vocabulary = make_vocabulary()
# what a negated token terminal ranges over
KNOWN = {i for i, token in enumerate(vocabulary.tokens) if token} | set(vocabulary.special_names.values())


# literals, classes, patterns, special tokens and names of a text, but not names that are defined
ATOM = re.compile(
    r'"(?:[^"\\\n]|\\.)*"i?|\[(?:[^\]\\\n]|\\.)*\]|/(?:[^/\\\n]|\\.)+/|<!?\|[xy]\|>|\b[A-Za-z_]\w*\b(?!\s*::=)'
)
DEFINED = re.compile(r"^(\w+)\s*::=", re.MULTILINE)
OF_OPERATORS = 0.65  # share of the mutations after which a text mostly is a grammar still


def expression(source: random.Random, depth: int, names: Sequence[str]) -> str:
    """Return a random expression over rules."""
    way = source.random()
    if depth == 0 or way < 0.25:
        return source.choice(ATOMS) if source.random() < 0.7 else source.choice(names)
    parts = [expression(source, depth - 1, names) for _ in range(source.randint(2, 3))]
    if way < 0.5:
        return " ".join(parts)
    if way < 0.7:
        return f"({' | '.join(parts)})"
    if way < 0.85:
        return f"({parts[0]}){source.choice(SUFFIXES)}"
    if way < 0.92:
        return f"({parts[0]} & {parts[1]})"
    return f"({parts[0]} !>> {source.choice(ATOMS[:10])})"


def fresh(source: random.Random) -> str:
    """Return a random expression, or a rule."""
    body = expression(source, source.choice((1, 2, 2, 3)), NAMES)
    return body if source.random() < 0.5 else f"\n{source.choice(NAMES)} ::= {body}\n"


def with_other_operand(text: str, source: random.Random) -> str:
    """Return a text in which an operand is another one, or is part of another expression."""
    names = DEFINED.findall(text) or ["root"]
    places = [match.span() for match in ATOM.finditer(text)]
    other = expression(source, source.choice((0, 0, 1, 2)), names)
    if not places:
        return f"{text}\nroot ::= {other}"
    begin, end = source.choice(places)
    operand = text[begin:end]
    way = source.random()
    if way < 0.45:
        made = f"({other})" if " " in other else other
    elif way < 0.6:
        made = operand + source.choice(SUFFIXES)
    elif way < 0.75:
        made = f"({operand} | {other})" if source.random() < 0.5 else f"({other} {operand})"
    elif way < 0.85:
        made = source.choice(
            (f"({operand} & {other})", f"!({operand})", f"({operand} !>> {source.choice(ATOMS[:10])})")
        )
    else:
        made = source.choice([name for name in NAMES if name not in names] or ["other"])
        return f"{text[:begin]}{made}{text[end:]}\n{made} ::= {other} | {operand}"
    return text[:begin] + made + text[end:]


mutator = TextMutator(PIECES, fresh)


def mutate(data: bytes, source: random.Random) -> bytes:
    if source.random() < OF_OPERATORS:
        text = data[1:].decode("utf-8", "surrogateescape")
        for _ in range(source.choice((1, 1, 2, 3))):
            text = with_other_operand(text, source)
        return (data[:1] or b"0") + text.encode("utf-8", "surrogatepass")
    return mutate_input(data, source, mutator)


def seeds() -> Iterator[bytes]:
    """Yield small grammars of the tests and of the package."""
    for path in sorted((REPO / "tests" / "grammar" / "goldens").glob("*.txt")):
        for case in path.read_text(encoding="utf-8").split("=== ")[1:]:
            yield b"0" + case.partition("\n")[2].partition("\n---")[0].encode()
    for path in sorted((REPO / "grammars").glob("*.ebnf")):
        if path.stat().st_size < 2500:
            yield b"0" + path.read_bytes()
    source = random.Random(0)
    for _ in range(100):
        yield b"0root ::= " + fresh(source).replace("\n", " ").replace("::=", "").encode()
    for text in (
        'root ::= root root | "(" root ")" | [a-z]*',
        'root ::= a b c\na ::= b | "a"\nb ::= c* | a "b"\nc ::= root? "c"',
    ):
        yield b"0" + text.encode()


def run(data: bytes) -> None:
    text = data[1:].decode("utf-8", "surrogateescape")
    source = random_of(data)
    try:
        grammar = sm.Grammar.from_ebnf(text, None if data[:1] in b"13" else "root", limits=LIMITS)
        walk = walk_grammar(grammar, vocabulary, source)
    except NAMED_ERRORS:
        return
    if source.random() < 0.06 and is_small(grammar.rules):
        compare(grammar, walk, source)


def is_small(rules: ir.RuleSet) -> bool:
    """Tell whether the oracle can judge a grammar in milliseconds."""
    nodes = 0
    for rule in rules.rules.values():
        for node in ir.walk(rule.body):
            nodes += 1
            if isinstance(node, ir.Repeat) and max(node.min, node.max or 0) > MOST_COUNT:
                return False
            if isinstance(node, ir.Capture | ir.Scope | ir.Dynamic | ir.Complement | ir.Intersection):
                return False
            if isinstance(node, ir.Literal) and len(node.data) > 40:
                return False
    return nodes <= MOST_NODES


def compare(grammar: sm.Grammar, walk: Walk, source: random.Random) -> None:
    """Compare sampled bits of the masks of a walk with a recogniser that shares no code with the engine."""
    try:
        recognizer = Recognizer(grammar.rules, vocabulary.special_names, KNOWN)
        place = [recognizer.start()]
    except (NotRegular, TooLarge, KeyError):
        return
    for mask, token in zip(walk.masks[:4], [*walk.ids[:3], None], strict=False):
        if sum(len(items) for column in place for items in column.kernel.values()) > MOST_ITEMS:
            return
        allowed = tokens_of(mask)
        only = {*source.sample(range(vocabulary.size), 6), *source.sample(allowed, min(4, len(allowed)))}
        if token is not None and token in vocabulary.stop_ids:
            return
        wanted = brute_force_mask(
            recognizer, place, _padded(), vocabulary.stop_ids, [i for i in only if i < len(_padded())]
        )
        expect(wanted == only & set(allowed), "the oracle's mask", wanted, only & set(allowed), walk.ids)
        if token is None:
            return
        place = advance_token(recognizer, place, token, _padded()[token])


_tokens: list[bytes | None] = []


def _padded() -> list[bytes | None]:
    if not _tokens:
        _tokens.extend(vocabulary.tokens)
        _tokens.extend([None] * (vocabulary.size - len(_tokens)))
    return _tokens
