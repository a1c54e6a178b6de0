"""The cases of the matrix: golden and random grammars, JSON schemas and regexes, with small vocabularies."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exactness.random_runs import ALPHABETS, Maker
from exactness.random_runs import vocabulary as words_of_runs
from exactness.walks import random_case, word_case
from oracle.random_grammars import RandomVocabulary
from support.golden import read_cases

import stackmask as sm
from stackmask.grammar.ir import Literal, TokenTerminal, walk

GOLDENS = sorted((Path(__file__).parent.parent / "grammar" / "goldens").glob("*.txt"))
BYTES: list[bytes | None] = [bytes([b]) for b in range(256)]


@dataclass(frozen=True, eq=False)
class Case:
    """A grammar and a vocabulary. ``texts``: what paths follow besides random tokens.

    ``sample``: of how many tokens of a place the oracle is asked, None for all.
    """

    name: str
    make: Callable[[], sm.Grammar]
    words: RandomVocabulary
    texts: tuple[bytes, ...] = ()
    sample: int | None = None

    def vocabulary(self) -> sm.Vocabulary:
        v = self.words
        return sm.Vocabulary(
            v.tokens, stop_ids=v.stop_ids, special_ids=v.special_ids, special_names=v.special_names
        )


def with_stop(words: list[bytes], names: list[str] | None = None) -> RandomVocabulary:
    """Return the vocabulary of all bytes, some words, a stop token and special tokens."""
    tokens = BYTES + [word for word in dict.fromkeys(words) if len(word) > 1]
    special = {name: len(tokens) + 1 + i for i, name in enumerate(names or [])}
    return RandomVocabulary(
        [*tokens, None, *[None] * len(special)], [len(tokens)], special, list(special.values())
    )


# --- golden cases -----------------------------------------------------------------------------------


def golden_cases() -> Iterator[Case]:
    for path in GOLDENS:
        for case in read_cases(path):
            if "accepted" not in case.sections:
                continue
            grammar = sm.Grammar.from_ebnf(case.grammar, None)
            rng = random.Random(case.title)
            exprs = [e for rule in grammar.rules.rules.values() for e in walk(rule.body)]
            pieces = [e.data for e in exprs if isinstance(e, Literal) and e.data]
            for line in case.samples("accepted"):
                pieces += [json.loads(text).encode() for text in re.findall(r'"(?:\\.|[^"\\])*"', line)]
            words = [first + second for first, second in itertools.product(pieces[:12], repeat=2)]
            for piece in pieces:
                start = rng.randrange(len(piece) + 1)
                words += [piece, piece[start : start + 4], piece[:-1]]
            names = sorted({name for e in exprs if isinstance(e, TokenTerminal) for name in e.names})
            if any(isinstance(e, TokenTerminal) and e.id_ranges for e in exprs):
                continue
            yield Case(
                f"golden: {path.stem}: {case.title}", lambda g=grammar: g, with_stop(words, names), (), 120
            )


# --- random grammars --------------------------------------------------------------------------------


def random_cases() -> Iterator[Case]:
    for seed in range(40):
        case = random_case(f"matrix {seed}")
        yield Case(f"random {seed}", lambda r=case.rules: sm.Grammar(r), case.vocabulary)
    for seed in range(15):
        case = word_case(seed)
        yield Case(f"restrictions {seed}", lambda r=case.rules: sm.Grammar(r), case.vocabulary)
    for seed in range(10):
        rng = random.Random(f"matrix runs {seed}")
        alphabet = ALPHABETS[seed % len(ALPHABETS)]
        maker = Maker(rng, alphabet)
        rules = maker.rule_set()
        tokens = words_of_runs(rng, alphabet, maker.words)
        words = RandomVocabulary(tokens, [len(tokens) - 1], {}, [])
        yield Case(f"runs {seed}", lambda r=rules: sm.Grammar(r), words, (), 100)


# --- JSON schemas -----------------------------------------------------------------------------------


def json_words(more: int = 0) -> RandomVocabulary:
    """Return words in which keys, strings and numbers begin, go on and end. ``more``: plain words."""
    rng = random.Random(11)
    words = {"".join(rng.choice("nametidé1 -,.") for _ in range(rng.randint(2, 7))) for _ in range(900)}
    words |= {"".join(t) for n in (2, 3) for t in itertools.product('ab1"', repeat=n)}
    names = ["name", "id", "items", "note", "kind", "true", "false", "null"]
    words |= {before + name for name in names for before in ("", '"', ' "', ',"', '{"', '": "')}
    words |= {name + after for name in names for after in ('"', '":', '": ', '","', '"}')}
    words |= {'": ', '", "', '"}', "}}", "],", '["', "[1", "12", "1.5", "e1", '\\"', "\\u00", "  ", "\n "}
    words |= {"a" * n for n in range(4, 30, 5)}
    words |= {"".join(rng.choice("nametid1 -") for _ in range(rng.randint(3, 7))) for _ in range(more)}
    return with_stop([word.encode() for word in sorted(words)])


def schema_cases() -> Iterator[Case]:
    words = json_words()
    text = {"type": "string"}
    number = {"type": "number"}
    declared = {"name": text, "id": number, "note": {"type": "boolean"}}
    schemas: list[tuple[str, str, Any, Any]] = [
        ("undeclared keys", "schema", {"properties": declared}, {"name": "a b", "nam": 1}),
        ("undeclared keys", "any", {"properties": declared}, {"id": 1, "ni": {"name": 2}}),
        (
            "closed",
            "any",
            {
                "type": "object",
                "properties": declared,
                "required": ["id", "name"],
                "additionalProperties": False,
            },
            {"note": True, "id": 12, "name": "mé"},
        ),
        (
            "closed",
            "schema",
            {
                "type": "object",
                "properties": declared,
                "required": ["id", "name"],
                "additionalProperties": False,
            },
            {"name": "mé", "id": 1.5, "note": False},
        ),
        (
            "names of keys",
            "any",
            {"type": "object", "properties": {"id": number}, "propertyNames": {"pattern": "^[a-n]+$"}},
            {"a": 1, "id": 2},
        ),
        (
            "patterns of keys",
            "schema",
            {
                "type": "object",
                "patternProperties": {"^na": number, "e$": text},
                "additionalProperties": False,
            },
            {"nat": 1, "de": "x"},
        ),
        (
            "length",
            "schema",
            {"type": "array", "items": {"type": "string", "minLength": 2, "maxLength": 40}},
            ["a name, 1 note", "mé"],
        ),
        (
            "pattern and length",
            "schema",
            {"type": "array", "items": {"type": "string", "pattern": "^[a-z1 ]+", "maxLength": 60}},
            ["name it 1", "id -"],
        ),
        (
            "pattern that is found",
            "schema",
            {"type": "array", "items": {"type": "string", "pattern": "na|11"}},
            ["it names"],
        ),
        (
            "words and length",
            "schema",
            {
                "type": "array",
                "items": {"type": "string", "pattern": r"^(?:\S+\s+){0,5}\S+$", "maxLength": 24},
            },
            ["a name it", "m"],
        ),
        (
            "unique names",
            "schema",
            {
                "type": "array",
                "uniqueItems": True,
                "items": {"enum": ["name", "names", "id", "note", "a1", "b"]},
            },
            ["name", "id", "a1"],
        ),
        (
            "choices",
            "schema",
            {
                "anyOf": [
                    {"type": "object", "properties": declared, "required": ["name"]},
                    {"type": "array", "items": {"$ref": "#"}, "maxItems": 4},
                    text,
                ]
            },
            [{"name": "a", "x": [1]}, "it"],
        ),
        (
            "recursion",
            "any",
            {"type": "object", "properties": {"items": {"$ref": "#"}, "id": number}, "maxProperties": 3},
            {"items": {"id": 1, "a": 2}, "name": 3},
        ),
        (
            "required, undeclared",
            "any",
            {"type": "object", "required": ["id", "kind"], "minProperties": 3},
            {"a": 1, "kind": {"id": 1, "kind": 2}, "id": []},
        ),
    ]
    for name, order, schema, document in schemas:
        yield Case(
            f"schema: {name}, order {order}",
            lambda s=schema, o=order: sm.Grammar.from_json_schema(s, property_order=o),
            words,
            (json.dumps(document, ensure_ascii=False).encode(),),
            40,
        )
    many = json_words(2500)
    for pattern in ("^na|^t", "^[a-z]+(-[a-z]+)*$"):
        item = {"type": "string", "pattern": pattern, "minLength": 3}
        yield Case(
            f"schema: many words, {pattern}",
            lambda i=item: sm.Grammar.from_json_schema({"type": "array", "items": i}),
            many,
            (b'["name it", "team"]',),
            40,
        )


# --- regexes ----------------------------------------------------------------------------------------


def regex_words() -> RandomVocabulary:
    """Return all short words over a few letters, and some long ones."""
    rng = random.Random(12)
    words = {"".join(t) for n in range(2, 6) for t in itertools.product("ab1 .", repeat=n)}
    words |= {"".join(rng.choice("ab1 .,;xyzé") for _ in range(rng.randint(3, 12))) for _ in range(600)}
    return with_stop([word.encode() for word in sorted(words)])


REGEXES = (
    (r"[a-z]{1,200}", "abba"),
    (r"(\w+\s){3,40}", "ab a1 b "),
    (r"([ab1]+\s+){0,30}[ab]+", "ab a1 b"),
    (r"[.,;]+\./x", ".,./x"),
    (r"(a|ab|abc|b)*c{2,}", "abab"),
    (r"[^\n]*end", "ab 1end"),
    (r"\p{L}+(\s\p{Lu}\p{Ll}*)*", "ab"),
    (r"(?!ab|ba|11)[ab1 ]{2,40}", "a1 ab"),
    (r".*[ab]1.*", "ab1 b"),
    (r"(ab|ba|a1a|b\.b){2,6}[^a]*", "abbaab..1"),
    (r"<([ab]+|1{2,3})>( <([ab]+|1{2,3})>){0,4}", "<ab> <11>"),
)


def regex_cases() -> Iterator[Case]:
    words = regex_words()
    for pattern, text in REGEXES:
        for search in (False, True):
            yield Case(
                f"regex: {pattern}{' anywhere' * search}",
                lambda p=pattern, s=search: sm.Grammar.from_regex(p, search=s),
                words,
                (text.encode(),),
                100,
            )


def wide_case() -> Case:
    """Return a case with a vocabulary so wide that masks of some hundred tokens are sparse.

    At every place the same 163 tokens are allowed besides a literal of the place.
    """
    rng = random.Random(1)
    words = with_stop(["".join(letters).encode() for letters in itertools.product("ab1 .,", repeat=6)])
    literals = [rng.choice(".,") + "".join(rng.choice("ab1 .,") for _ in range(3)) for _ in range(60)]
    rules = [f'r{i} ::= s | "{literal}" r{i + 1}' for i, literal in enumerate(literals)]
    source = "\n".join(["root ::= r0", 's ::= "a" [ab] [ab1]{2,9} "x"', *rules, f"r{len(rules)} ::= s"])
    text = "".join(literals).encode()
    return Case("wide vocabulary", lambda: sm.Grammar.from_ebnf(source), words, (text, text), 40)


def all_cases() -> list[Case]:
    return [*golden_cases(), *random_cases(), *schema_cases(), *regex_cases(), wide_case()]
