"""Shortcuts of walks: allowed runs, short tokens without a count, self-loops, repeated walks.

They need a vocabulary of natural words, in which most tokens are runs; the embedded model's is one. At every place of
a text, every bit of the mask is compared with whether the matcher accepts the token, and the text is then read again
with a compiler whose masks are there already.
"""

from __future__ import annotations

import numpy as np
import pytest

import stackmask as sm
from stackmask.runtime.embedded import load_embedded

WORDS = r"""
char ::= [A-Za-z_]
word ::= char+
name ::= word - reserved
reserved ::= "select"i | "from"i | "where"i | "as"i
blank ::= [ \n]*
"""


@pytest.fixture(scope="module")
def vocabulary() -> sm.Vocabulary:
    return sm.Vocabulary.from_huggingface(load_embedded()[1])


def regex(pattern: str, *, search: bool = False) -> sm.Grammar:
    return sm.Grammar.from_regex(pattern, search=search)


CASES = {
    "search": (regex("[A-Z]{2}", search=True), "the quick Brown fox, an OX and é more"),
    "search twice": (regex("fox.*dog", search=True), 'a fox "and" a do dog there'),
    "settled by a class": (
        regex("(some words are 9)?[^qé]*!"),  # every letter of them makes a state
        "some words are 8",
    ),
    "stays": (regex("[a-z ]+"), "some words"),
    "stays in all scripts": (regex("[^q\u4e00-\u9fff]*"), "words 9, and é"),
    "stays for a while": (regex("[a-z ]{3,7}"), "words x"),
    "stays for a while, then other letters": (regex("[A-Za-zé]{0,26}[0-9]?"), "wordsXab"),
    "stays before something": (regex("[a-z]{0,30}[0-9]{0,3}"), "wordsa12"),
    "stays in two ways": (regex("(a[a-z ]*|[b-z][a-m ]*n?)[!]?"), "bee a"),
    "stays and returns": (
        sm.Grammar.from_ebnf('root ::= item ("." item)* end?\nitem ::= [a-z]{1,40}\nend ::= [a-z0-9]+ "!"'),
        "one.two3!",
    ),
    "stays and returns twice as a name": (
        sm.Grammar.from_ebnf(
            'root ::= "<" name ("/" name)* ">"\nname ::= part ("-" part)*\npart ::= [a-zé]+ | "(" name ")"'
        ),
        "<one-(two)/three>",
    ),
    "stays before what is searched for": (
        regex("[a-z, ._-]*(no-image)?[.]_S[0-9]+"),
        "words, no-imag no-image._S7",
    ),
    "stays, of some length, with a letter": (
        sm.Grammar.from_json_schema(
            {"type": "string", "pattern": "[a-zA-Z_.-]+", "minLength": 3, "maxLength": 60}
        ),
        '" 12, é Words"',
    ),
    "stays in a URI with an end": (
        sm.Grammar.from_json_schema(
            {
                "type": "string",
                "format": "uri",
                "pattern": r"^https://a[.]b/.*?(no-image)?[.]_SL[0-9]_[.]jpg$",
            }
        ),
        '"https://a.b/words%20/no-im/no-image._SL7_.jpg"',
    ),
    "stays, and returns once a word has come": (
        sm.Grammar.from_ebnf(
            'root ::= item (";" item)* end?\nitem ::= [a-z; ]* "key" [a-z ]* | [0-9]+\nend ::= [a-z;0-9]+ "!"'
        ),
        "some; keys here;12;a keya1!",
    ),
    "stays, and returns before its own letters": (
        sm.Grammar.from_ebnf('root ::= item (" x" item)* [a-z. ]*\nitem ::= [a-z ]* "key" ([a-z ]* "fox")?'),
        "some words key x words keys.",
    ),
    "bounded search": (regex("(.{0,400}x)?.*"), "letters and x again"),
    "words within a length": (
        sm.Grammar.from_json_schema(
            {"type": "string", "pattern": r"^(?:\S+\s+){0,5}\S+$", "maxLength": 40, "minLength": 1}
        ),
        '"some words that\\nstand here"',
    ),
    "search within a length": (
        sm.Grammar.from_json_schema({"type": "string", "pattern": "@.+[.]", "maxLength": 30}),
        '"someone@example.org"',
    ),
    "almost full": (
        sm.Grammar.from_json_schema({"type": "string", "pattern": "^[a-z]+( [a-z]+)*$", "maxLength": 16}),
        '"two words abcdef"',
    ),
    "two names": (
        sm.Grammar.from_ebnf(WORDS + 'root ::= "select" blank name blank name? (blank "from" blank name)?'),
        "select customer_name from orders",
    ),
    "names that meet": (
        sm.Grammar.from_ebnf(
            WORDS + 'root ::= expr name? ("," expr name?)*\nexpr ::= name | expr "+" name | "(" expr ")"'
        ),
        "(alpha+beta)gamma,delta",
    ),
    "names in rules in rules": (
        sm.Grammar.from_ebnf(WORDS + 'root ::= a a "."\na ::= b b | "(" a ")"\nb ::= c c?\nc ::= word'),
        "one(two).",
    ),
    "names and types that meet": (
        sm.Grammar.from_ebnf(
            WORDS
            + 'root ::= "var" name type ("=" name)? "."\n'
            + 'type ::= name | "func" type | "map" name type | "[" type "]"'
        ),
        "varalphafuncbeta=gamma.",
    ),
    "names after a keyword and many rules": (
        sm.Grammar.from_ebnf(
            WORDS
            + 'root ::= name (" not" !>> [a-z_] expr)* "."\nexpr ::= "" (r1 | r2 | r3 | r4 | r5 | r6 | r7 | r8 | r9) name?\n'
            + "".join(f'r{k} ::= " {k}" | "({k}" expr expr? ")"\n' for k in range(1, 10))
        ),
        "alpha not 3beta not(2 4 5).",
    ),
    "behind a name": (
        sm.Grammar.from_ebnf(
            WORDS
            + 'root ::= key value "."\nkey ::= word !>> [e_] | "(" key ")"\n'
            + 'value ::= key blank (key blank)* | "[" value "]"'
        ),
        "alphabeta gamma.",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_bit(vocabulary: sm.Vocabulary, name: str) -> None:
    grammar, text = CASES[name]
    compiled = sm.Compiler(vocabulary).compile(grammar)
    matcher = compiled.matcher()
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    first: list[np.ndarray[tuple[int, ...], np.dtype[np.int32]]] = []
    for byte in text.encode():
        matcher.fill_next_token_bitmask(mask)
        first.append(mask.copy())
        allowed = np.unpackbits(mask.view(np.uint8), bitorder="little")
        for token, spelled in enumerate(vocabulary.tokens):
            if spelled:
                accepted = matcher.accept_token(token)
                if accepted:
                    matcher.rollback(1)
                assert accepted == bool(allowed[token]), (spelled, matcher.describe())
        assert matcher.accept_string(bytes([byte]))
    stats = compiled.stats()
    kind = "subtrees_taken" if "stays" in name else "shortened_walks"
    if "name" in name:
        kind = "walks_with_many_suffixes"
    assert stats[kind], "the case does not test what it is for"
    again = compiled.matcher()
    for byte, row in zip(text.encode(), first, strict=True):
        again.fill_next_token_bitmask(mask)
        assert (mask == row).all()
        again.accept_string(bytes([byte]))


def test_items_that_end_inside_of_characters() -> None:
    """Bytes: an item may be a letter and the first half of a character, though a token has the other half too."""
    halves = [b"a\xc3" + bytes([byte]) for byte in range(0x80, 0xC0)]  # all below one node are characters
    others = [bytes([letter, byte]) for letter in b"xyz" for byte in range(256)]  # enough for runs to be cut
    tokens = [*(bytes([byte]) for byte in range(256)), *halves, *others]
    vocabulary = sm.Vocabulary([*tokens, None], stop_ids=[len(tokens)])
    grammar = sm.Grammar.from_regex(rb"(?:[a-z]\xC3)*;", flavor="python")
    matcher = sm.Compiler(vocabulary).compile(grammar).matcher()
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    for text, expected in (
        (b"", [*(bytes([byte]) for byte in b";abcdefghijklmnopqrstuvwxyz"), b"x\xc3", b"y\xc3", b"z\xc3"]),
        (b"a", [b"\xc3"]),
    ):
        assert matcher.accept_string(text)
        matcher.fill_next_token_bitmask(mask)
        allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
        assert sorted(tokens[token] for token in allowed) == sorted(expected)


def test_searches_for_bounded_runs(vocabulary: sm.Vocabulary) -> None:
    """What such a search simplifies to is looked for once, not again inside of itself."""
    matcher = sm.Compiler(vocabulary).compile(regex(".{1,256}[a-z]{3}|bb", search=True)).matcher()
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    matcher.fill_next_token_bitmask(mask)
    assert matcher.accept_string("1abb") and matcher.is_accepting()
    matcher.fill_next_token_bitmask(mask)
