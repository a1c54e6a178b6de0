"""What each flavour means, case by case: pattern, flags, texts that match whole, texts that do not."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.byte_matcher import ByteMatcher

from stackmask import Grammar, GrammarError
from stackmask.grammar.ir import ANY_CHAR, CharClass, Literal
from stackmask.grammar.regex.compile import regex_expr

CASES: list[tuple[str, str, str, list[str], list[str]]] = [
    # ECMA: ASCII \d and \w, its own white space and line ends
    ("ecma", r"\d", "", ["5"], ["٣", "a"]),
    ("ecma", r"\w", "", ["a", "_"], ["é"]),
    ("ecma", r"\s", "", ["\ufeff", "\u2028", "\xa0"], ["\x1c", "\x85"]),
    ("ecma", ".", "", ["a", "\x85", "😀"], ["\n", "\r", "\u2028", "\u2029", ""]),
    ("ecma", ".", "s", ["\n"], []),
    ("ecma", r"\_\-\:\@\a", "", ["_-:@a"], []),
    ("ecma", r"\x41\u0042\u{43}\cJ\0\t", "", ["ABC\n\0\t"], []),
    ("ecma", r"\ud83d\ude00", "", ["😀"], []),
    ("ecma", r"[\ud83d\ude00-\ud83d\ude02]", "", ["😁"], ["a"]),
    ("ecma", r"a\ud83d?", "", ["a"], []),
    ("ecma", r"\101[\101]\8", "", ["AA8"], []),
    ("ecma", r"a{,2}]}{", "", ["a{,2}]}{"], ["a"]),
    ("ecma", r"[\w-a]", "", ["-", "z"], ["+"]),
    ("ecma", "[^]", "", ["\n", "é"], [""]),
    ("ecma", "[]|a", "", ["a"], [""]),
    ("ecma", r"\p{L}\P{L}\p{Script=Greek}\p{scx=Grek}\p{Emoji}", "", ["a1αβ😀"], ["11αβ😀"]),
    ("ecma", r"\p{Lu}", "iu", ["a", "A"], ["1"]),
    ("ecma", "k", "i", ["k", "K"], ["\u212a"]),
    ("ecma", "k", "iu", ["k", "K", "\u212a"], []),
    ("ecma", "σ", "i", ["σ", "ς", "Σ"], ["s"]),
    ("ecma", "[^k]", "iu", ["a"], ["K", "\u212a"]),
    ("ecma", r"\W", "iu", ["é"], ["ſ", "\u212a", "s"]),
    ("ecma", r"[\w--[aeiou]]+", "v", ["bcd"], ["bad"]),
    ("ecma", r"[[a-z]&&[^aeiou]]", "v", ["b"], ["a", "B"]),
    ("ecma", r"[\q{a|b}c]", "v", ["a", "c"], ["q"]),
    ("ecma", "(?<name>a)(?:b)(c)", "", ["abc"], []),
    ("ecma", "(?i:a)b", "", ["Ab"], ["AB"]),
    ("ecma", "a+?b*?c??d{2,3}?", "", ["aadd", "abcddd"], ["add d"]),
    ("ecma", "(?=a)*b", "", ["b"], []),
    ("ecma", "^a$|^b$", "m", ["a", "b"], ["a\n"]),
    ("ecma", r"a\nb", "", ["a\nb"], []),
    # Python: Unicode \d and \w, `$` before a last line break, its own escapes
    ("python", r"\d", "", ["5", "٣"], ["a"]),
    ("python", r"\d", "a", ["5"], ["٣"]),
    ("python", r"\w+", "", ["é٣_", "½"], ["-"]),
    ("python", r"\s", "", ["\x1c", "\x85", "\u3000"], ["\ufeff"]),
    ("python", ".", "", ["\r", "\u2028"], ["\n"]),
    ("python", r"a$\n?", "", ["a", "a\n"], []),
    ("python", r"a\Z\n?", "", ["a"], ["a\n"]),
    ("python", r"\N{GREEK SMALL LETTER ALPHA}\x61\u0061\U00000061\a\012\0", "", ["αaaa\a\n\0"], []),
    ("python", r"[]a][^]a]", "", ["]b", "ab"], ["]]"]),
    ("python", "(?i)[a-z]", "", ["K", "\u212a", "ı"], ["1"]),
    ("python", "(?P<x>a)(?#comment)b", "", ["ab"], []),
    ("python", "(?x) a b # comment\n c", "", ["abc"], ["a b"]),
    ("python", "a{,2}b{,}", "", ["", "aab", "bbb"], ["aaa"]),
    ("python", "a{b}", "", ["a{b}"], []),
    ("rust", "a{,2}b{0,}", "", ["", "aab", "bbb"], ["aaa"]),
    ("ecma", "(?:^a|b){3}", "", ["abb", "bbb"], ["ab", "bb", "abbb"]),
    ("ecma", "(?:a|b$){3,}", "", ["aaa", "aab", "aaaab"], ["aa", "ab", "aba"]),
    ("python", "(?>a|ab)c", "", ["ac"], ["abc"]),
    ("python", "a*+a|b", "", ["b"], ["a", "aa"]),
    ("python", "a{1,2}+a", "", ["aaa"], ["aa"]),
    ("python", "(?>(?:ab)+)c", "", ["abc", "ababc"], ["c"]),
    ("python", r"\B", "", [], [""]),
    ("python", "(?:(?=a)|(?=b)){1000}.", "", ["a", "b"], ["c"]),
    ("python", "(?:^|$){0,5}.", "", ["a"], []),
    # Rust: Unicode \d \w \s, set operations, (?-u), no look-around
    ("rust", r"\d\w\s", "", ["٣é\u2003"], []),
    ("rust", r"(?-u)\d\w\s", "", ["3e "], ["٣é\u2003"]),
    ("rust", "[a-z&&[^aeiou]]", "", ["b"], ["a", "B"]),
    ("rust", "[a-z--aeiou]", "", ["b"], ["a"]),
    ("rust", "[a-c~~b-d]", "", ["a", "d"], ["b", "c"]),
    ("rust", "[[:alpha:]&&[:^lower:]]", "", ["B"], ["b", "1"]),
    ("rust", "[]a][-a][a-]", "", ["]-a", "aa-"], []),
    ("rust", r"\pL\p{Greek}\P{greek}\p{sc=Grek}\p{gc!=Nd}", "", ["aαbβc"], ["aαbβ1"]),
    ("rust", r"(?i)k\p{Lu}", "", ["Ka", "\u212aA"], []),
    ("rust", r"\x61\x{62}\u0063\U{64}\a\z", "", ["abcd\a"], []),
    ("rust", "(?x) a b # comment\n [c d]", "", ["abc", "abd"], ["ab "]),
    ("rust", "(?x)[a b]", "", ["a", "b"], [" "]),
    ("rust", "[a b]", "", ["a", "b", " "], []),
    ("rust", "a**{2}", "", ["", "aaa"], ["b"]),
    ("rust", "(?m)^a$", "", ["a"], ["a\n"]),
    ("rust", "a$", "", ["a"], ["a\n"]),
    ("rust", "(?P<x>a)(?<y>b)", "", ["ab"], []),
    ("rust", "(?U)a+b", "", ["aab"], []),
    ("rust", r"(?R).", "", ["a"], ["\n", "\r"]),
]


@pytest.mark.parametrize(("flavor", "pattern", "flags", "yes", "no"), CASES, ids=lambda c: str(c)[:40])
def test_meaning(flavor: str, pattern: str, flags: str, yes: list[str], no: list[str]) -> None:
    matcher = ByteMatcher(Grammar.from_regex(pattern, flavor=flavor, flags=flags))  # type: ignore[arg-type]
    assert [text for text in yes if not matcher.matches(text)] == []
    assert [text for text in no if matcher.matches(text)] == []


SEARCHES: list[tuple[str, str, str, list[str], list[str]]] = [
    ("ecma", "b", "", ["b", "abc", "\nb"], ["", "ac"]),
    ("ecma", "a|^b", "", ["xa", "bx"], ["xb"]),
    ("ecma", "(^a|b)c$", "", ["ac", "xbc"], ["xac", "bcx"]),
    ("ecma", "^([^,]+(,|$)){3,}$", "", ["a,b,c", "a,b,c,"], ["a,b", "a,,b", "a,b,"]),
    ("ecma", r"\bfoo\b", "", ["foo", "a foo b", "foo-"], ["food", "éfoo1"]),
    ("ecma", r"\Boo\B", "", ["foot"], ["foo", "too"]),
    ("ecma", r"^(?!.*--)[a-z-]+$", "", ["a-b"], ["a--b", "a--"]),
    ("ecma", "^((?!mode)(?!Mode).)*$", "", ["", "mod", "xod"], ["mode", "xModey"]),
    ("ecma", "^(?:(?!--)[a-z-]){1,63}$", "", ["a-b", "a" * 63], ["a--b", "a" * 64, ""]),
    ("ecma", "^(?=.{3,5}$)a+$", "", ["aaa", "aaaaa"], ["aa", "aaaaaa"]),
    ("ecma", r"(?<=\$)\d+", "", ["$5", "a$5"], ["5", "5$"]),
    ("ecma", r"(?<!\$)\b\d+", "", ["5", "a 5"], ["$5"]),
    ("ecma", "a(?=b)b(?<=ab)c", "", ["abc"], ["bc"]),
    ("ecma", "a.*(?=c).(?<=b.*)d", "", ["abcd"], ["acd"]),
    ("ecma", "(?:a(?=b)|b(?=a))+c", "", [], ["abac"]),
    ("ecma", "^(?:a(?=b)|b(?=a|$))+$", "", ["ab", "abab", "bab"], ["aa", "aba"]),
    ("ecma", "^a$", "m", ["a", "x\na", "a\nx"], ["ax"]),
    ("python", "a$", "", ["a", "a\n", "ba"], ["a\n\n", "ab"]),
    ("python", r"\bé\b", "", ["é", "-é-"], ["éa"]),
    ("rust", r"\bé\b", "", ["é"], ["éa"]),
    ("rust", r"(?-u:\b)a", "", ["éa"], ["ba"]),
    ("rust", r"\b{start}a|b\>", "", ["a", "cb "], ["ca", "bc"]),
    ("rust", "(?Rm)^a$", "", ["x\r\na\r\n", "a"], ["xa"]),
]


@pytest.mark.parametrize(("flavor", "pattern", "flags", "yes", "no"), SEARCHES, ids=lambda c: str(c)[:40])
def test_matches_somewhere(flavor: str, pattern: str, flags: str, yes: list[str], no: list[str]) -> None:
    grammar = Grammar.from_regex(pattern, flavor=flavor, flags=flags, search=True)  # type: ignore[arg-type]
    matcher = ByteMatcher(grammar)
    assert [text for text in yes if not matcher.matches(text)] == []
    assert [text for text in no if matcher.matches(text)] == []


def test_patterns_of_bytes() -> None:
    matcher = ByteMatcher(Grammar.from_regex(rb"(?-u)\xff[^a](?-u:.)", flavor="rust"))
    assert matcher.matches(b"\xffb\xfe")
    assert not matcher.matches(b"\xffa\xfe")
    assert not matcher.matches(b"\xffb\n")
    matcher = ByteMatcher(Grammar.from_regex(rb"\W\xe9.", flavor="python"))
    assert matcher.matches(b"\xe9\xe9\xff")
    assert not matcher.matches("é".encode())
    matcher = ByteMatcher(Grammar.from_regex(r"é(?-u:\xff)".encode(), flavor="rust", search=True))
    assert matcher.matches(b"\x80" + "é".encode() + b"\xff")
    assert not matcher.matches("é".encode())


def test_surrogates_match_nothing() -> None:
    assert regex_expr(r"[\ud800-\udfff]") == CharClass(())
    assert regex_expr("[^]") == ANY_CHAR
    with pytest.raises(GrammarError, match="G103"):
        _ = Grammar.from_regex(r"\ud800").normalized


def test_what_is_refused_is_unsupported_or_no_pattern() -> None:
    def codes(pattern: str, **options: Any) -> set[str]:
        with pytest.raises(GrammarError) as raised:
            regex_expr(pattern, **options)
        return {problem.code for problem in raised.value.diagnostics}

    assert codes(r"(a)\1") == {"G009"}
    assert regex_expr(r"\a") == Literal(b"a")
    for pattern, options in (
        (r"\a", {"flags": "u"}),
        ("(?i)abc", {}),
        ("(?=a)", {"flavor": "rust"}),
        ("a**", {}),
    ):
        assert "G009" not in codes(pattern, **options), pattern


def test_an_atomic_group_of_bytes_counts_bytes() -> None:
    pattern = rb"(?>\xc3\xa9|\xc3)\xa9"  # as text, both alternatives would be one character
    matcher = ByteMatcher(Grammar.from_regex(pattern, flavor="python"))
    for text in (b"\xc3\xa9\xa9", b"\xc3\xa9", b"\xa9"):
        assert matcher.matches(text) == (re.fullmatch(pattern, text) is not None), text
