"""What llguidance and XGrammar add to Lark: lazy rules, ends, limits, grammars in grammars, and rules that count."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain, permutations, product
from typing import Any

import pytest

import stackmask as sm
from stackmask.runtime.cli.command_convert import lark_as_ebnf

# grammars over "abc", and their languages; `DIFFERENT` lists where llguidance has others
LAZY = {
    "the shortest": ('start: r "a"\nr[lazy]: /[ab]+c/', "[ab]+ca"),
    "of one letter": ('start: r "a"\nr[lazy]: /[bc]+/', "[bc]a"),
    "of alternatives": ('start: r "c"\nr[lazy]: "ab" | "abc" | "a" "b"? "c"', "(ab|ac)c"),
    "a suffix": ('start: r "c"\nr[suffix="b"]: /[ab]*/', "a*bc"),
    "a stop": ('start: r "c"\nr[stop=/[bc]+/]: A*\nA: "a"', "a*[bc]c"),
    "a named end": ("start: r\nr[suffix=END]: /[ab]*/\nEND: /c/ | \"bb\"", "(?:(?!bb)[ab])*(c|bb)"),
    "after a fixed length": ('start: r /[ab]*/\nr[suffix="b"]: /[ab]{2}/', "[ab]{2}b[ab]*"),
    "tools": ('start: tool* tail\ntail: T\nT: /[abc]*/\nhd[lazy]: T "b"\ntool: hd "c"+ "a"', "([ac]*bc+a)*[ac]*"),
    "two tools": (
        'start: (f | g)* e\ne: T\nT: /[abc]*/\nf_hd[lazy]: T "b"\nf: f_hd "a"\ng_hd[suffix="c"]: T\ng: g_hd "b"',
        "(a*ba|a*cb)*a*",
    ),
    "one begin for two": (
        'start: (f | g)* e\ne: T\nT: /[abc]*/\nf_hd[lazy]: T "b"\nf: f_hd "a"\ng_hd[lazy]: T "b"\ng: g_hd "c"',
        "([ac]*b[ac])*[ac]*",
    ),
    "one or more": ('start: tool+ T\nT: /[abc]*/\nhd[suffix="b"]: T\ntool: hd "c"', "([ac]*bc)+[ac]*"),
    "at most one": ('start: tool? T\nT: /[abc]*/\nhd[suffix="b"]: T\ntool: hd "c"', "[ac]*(bc[abc]*)?"),
    "two or three": (
        'start: tool{2,3} T\nT: /[abc]*/\nhd[suffix="b"]: T\ntool: hd "c"',
        "([ac]*bc){2}[ac]*(bc[abc]*)?",
    ),
    "in rules": ('start: x T\nx: tools\ntools: tool*\nT: /[abc]*/\nhd[suffix="b"]: T\ntool: hd "c"', "([ac]*bc)*[ac]*"),
    "an alternative": ('start: r | T "c"\nT: /[ab]+/\nr[lazy]: /[ab]*b/', "a*b|a+c"),
    "one after another": ("start: r s\nr[lazy]: /[ab]*b/\ns[lazy]: /[abc]*c/", "a*b[ab]*c"),
    "in a template": ('start: _twice{r} "a"\nr[lazy]: /[ab]*b/\n_twice{x}: x x', "a*ba*ba"),
    "of a terminal that may be empty": ('start: "a" r "b"\nr[lazy]: /[ab]*/', "ab"),
    "with what is ignored": ('start: "a" r "b"\nr[suffix="c"]: /[ab]*/\n%ignore "c"', "c*ac*[ab]*cc*bc*"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "language"), LAZY.values(), ids=LAZY)
def test_lazy_rules(text: str, language: str) -> None:
    grammar = sm.Grammar.from_lark(text, flavor="rust")
    pattern = re.compile(language)
    for length in range(7):
        for letters in product("abc", repeat=length):
            word = "".join(letters)
            assert grammar.accepts(word) == (pattern.fullmatch(word) is not None), word


def test_where_a_lazy_rule_takes_too_much_is_reported() -> None:
    text = 'start: tools T\ntools: tool?\nT: /[abc]*/\nhd[suffix="b"]: T\ntool: hd "c"'
    grammar = sm.Grammar.from_lark(text)
    assert grammar.accepts("bca")
    assert not grammar.accepts("bcb")  # though no tool can begin there
    assert [note.what for note in grammar.report.narrowed] == ["lazy"]
    assert not sm.Grammar.from_lark(text.replace("?", "*")).report.narrowed


def test_tool_calls_of_the_documentation() -> None:
    text = r"""
    start: ( f_foo | f_bar )* f_end
    f_end: TEXT
    TEXT: /(.|\n)*/
    f_foo_hd[lazy]: TEXT "<function"
    f_foo: f_foo_hd "=foo>" %json { "type": "object" } "</function>"
    f_bar_hd[lazy]: TEXT "<function"
    f_bar: f_bar_hd "=bar>" /[0-9]+/ "</function>"
    """
    grammar = sm.Grammar.from_lark(text, flavor="rust")
    for text in ("", "no call <func", 'a<function=foo>{"x": 1}</function>b\n<function=bar>12</function>'):
        assert grammar.accepts(text)
    for text in (
        "<function",
        "<function=baz>1</function>",
        "<function=bar>x</function>",
        "<function=foo>{}</function><function",
    ):
        assert not grammar.accepts(text)  # fmt: skip


def test_at_most_so_many_tokens() -> None:
    vocabulary = sm.Vocabulary([*(bytes([byte]) for byte in range(256)), b"aaa", None], stop_ids=[257])
    compiler = sm.Compiler(vocabulary)
    text = 'start: "<" r ">"\nr[max_tokens=2{}]: /[a-z]*/'
    matcher = compiler.compile(sm.Grammar.from_lark(text.format(""))).matcher()
    assert all(matcher.accept_token(token) for token in (60, 256, 97))
    assert not matcher.accept_token(97)
    assert matcher.accept_token(62)
    matcher = compiler.compile(sm.Grammar.from_lark(text.format(', suffix="!"'))).matcher()
    assert all(matcher.accept_token(token) for token in (60, 256, 33, 62))
    assert matcher.is_accepting()


def test_lazy_rules_beside_special_tokens() -> None:
    text = 'start: (f | g)* t\nt: T\nf_hd[lazy]: T "b"\nf: f_hd "a"\ng: T <|g|> "a"\nT: /[abc]*/\n'
    vocabulary = sm.Vocabulary([b"a", b"b", b"c", None, None], stop_ids=[4], special_names={"<|g|>": 3})
    compiled = sm.Compiler(vocabulary).compile(sm.Grammar.from_lark(text))

    def takes(*tokens: int) -> bool:
        matcher = compiled.matcher()
        return all(map(matcher.accept_token, tokens)) and matcher.is_accepting()

    assert takes(0, 2, 3, 0, 1, 0)
    assert takes(3, 0)
    assert not takes(1, 3, 0)
    assert not takes(3, 1)


def test_numbers_may_begin_with_zeros() -> None:
    for number in ("0" * 31 + "5", "0x" + "0" * 31 + "5"):
        grammar = sm.Grammar.from_lark(f'start: p::{number}\np::_: "a" %if eq(_, 5) | "b" %if eq(_, 0)')
        assert grammar.accepts("a")
        assert not grammar.accepts("b")


def test_parts_in_other_languages_beside_lazy_rules() -> None:
    text = 'start: (r "z")* {} T\nr[lazy]: /[abc]*b/\nT: /[abc]*/'
    made = sm.Grammar.from_lark(text.format('%lark { start: "x"? }'))
    assert [note.what for note in made.report.relaxed] == ["a part in another language"]
    made = sm.Grammar.from_lark(text.format('%regex {"substring_chars": "xy"}'))
    assert made.accepts("xya")
    assert not made.accepts("cbc")
    made = sm.Grammar.from_lark("start: T | %lark { start: r\nr[lazy]: /a*b/\n}\nT: /[abc]*/")
    assert [note.what for note in made.report.relaxed] == ["r"]


def test_alternatives_that_begin_alike() -> None:
    rules = "r[lazy]: /[abc]*b/\nT: /[abc]+/\n"
    grammar = sm.Grammar.from_lark('start: "a" r "c" | "a" T\n' + rules)
    assert [word for word in ("abc", "aac", "ab", "aabcb") if grammar.accepts(word)] == ["abc", "aac"]
    assert not grammar.report.relaxed
    for text in ('start: x | y\nx: "a" r "c"\ny: "a" T\n', 'start: ("a" r "c")? "a" T\n'):
        (note,) = sm.Grammar.from_lark(text + rules).report.relaxed
        assert note.reason.endswith("write the beginning once")


def test_alternatives_that_begin_with_the_same_text_in_other_words() -> None:
    rules = 'r[lazy]: /[abc]*b/\nT: /[abc]+/\nA: "a"\nB: /a|x/\nC: "d"\n'
    for text in ('start: "a" r "c" | A T\n', 'start: B r "c" | A T\n', 'start: (B r "c")? "a" T\n'):
        (note,) = sm.Grammar.from_lark(text + rules).report.relaxed
        assert note.reason.endswith("write the beginning once")
    assert not sm.Grammar.from_lark('start: B r "c" | C T\n' + rules).report.relaxed


def test_a_lazy_rule_of_which_another_takes_all() -> None:
    text = 'start: (f | g)* T\nT: /[abc]*/\nf_hd[lazy]: T "b"\nf: f_hd "a"\ng_hd[lazy]: T "bc"\ng: g_hd "a"\n'
    grammar = sm.Grammar.from_lark(text)
    assert grammar.accepts("cbac")
    assert not grammar.accepts("cbca")
    assert ("g_hd", "`f_hd` takes its text where both may begin") in [
        (note.what, note.reason) for note in grammar.report.narrowed
    ]


def test_a_lazy_rule_that_is_always_empty_is_reported() -> None:
    notes = sm.Grammar.from_lark('start: r "c"\nr[suffix=/b*/]: /[ab]*/').report.narrowed
    assert [note.reason for note in notes] == ["it may end at once, so that it is always the empty text"]


def test_what_has_no_effect_is_reported() -> None:
    text = 'start[capture="all"]: a b\na[temperature=0.7, capture]: "a"\nb[suffix=".", stop_capture="end"]: /b*/\n'
    report = sm.Grammar.from_lark(text).report
    assert [(note.what, note.place) for note in report.annotations] == [
        ("capture", "<grammar>:1:7"),
        ("temperature", "<grammar>:2:3"),
        ("capture", "<grammar>:2:20"),
        ("stop_capture", "<grammar>:3:15"),
    ]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ('start[budget=10]: "a"', 6, "the attribute `budget` is not supported"),
        ('start[lasy]: "a"', 6, "the attribute `lasy` is not supported"),
        ('start[lazy, lazy]: "a"', 12, "`lazy` is given twice"),
        ('start[lazy=1]: "a"', 6, "`lazy` has no value"),
        ('start[suffix=""]: "a"', 6, "the end given by `suffix` is empty"),
        ('start[suffix=end]: "a"', 6, "`suffix` is a string, a regex or the name of a terminal"),
        ('start[stop="a", suffix="b"]: "a"', 6, "`stop` and `suffix` are two ends of one rule"),
        ('start[suffix=END]: "a"', 13, "undefined terminal `END`"),
        ('start[stop_capture="x"]: "a"', 6, "`stop_capture` needs `stop` or `suffix`"),
        ('start[capture=""]: "a"', 6, "`capture` is a name in quotes, of letters, digits, `_` and `-`"),
        ('start[max_tokens="3"]: "a"', 6, "`max_tokens` is a whole number"),
        ('start: A\nA[lazy]: "a"', 11, "a terminal has no attributes"),
        ('start: b{"c"}\nb{x}[lazy]: "a"', 14, "attributes, parameters and `::_` do not go together"),
        ('start: r\nr[lazy]: b\nb: "b"', 18, "the rule `b` is not allowed in a terminal"),
        ("start: r\nr[lazy]: <|x|>", 18, "a special token is not allowed in a terminal"),
        ("start: r\nr[lazy]: /a(?!b)/", 9, "look-around in the lazy rule `r`"),
        ("start: %lark { item: \"a\" }", None, "no rule `start` to begin with"),
        ("start: %lark { start: b }", 22, "undefined rule `b`"),
        ("start: %lark { start: \"a\"", 13, "`{` is never closed"),
        ("start: %lark \"a\"", 13, "expected `{` after `%lark`, found `\"a\"`"),
        ("start: A\nA: %lark { start: \"a\" }", 12, "`%lark` is not allowed in a terminal"),
        ("%llguidance 1\nstart: \"a\"", 0, "`%llguidance` takes an object"),
        ('%grammar_options {"allow_initial_skip": 1}\nstart: "a"', 0, "`allow_initial_skip` is true or false"),
        ("start: <[^*]>", 7, "`*` is not a token id or a range of ids"),
        ("start: p::0\np: \"a\"", 7, "`p` is not a rule that counts"),
        ("start: p\np::_: \"a\"", 7, "`p` counts, and is used without a number"),
        ("start: p::0\np::x: \"a\"", 15, "a rule that counts is defined with `_`"),
        ("start: p::64x\np::_: \"a\"", 12, "undefined rule `x`"),
        ("start: p::set_bit(64)\np::_: \"a\"", 18, "`64` is not a whole number up to 63"),
        ("start: p::18446744073709551616\np::_: \"a\"", 10, "`18446744073709551616` is not a whole number up to 2⁶⁴ - 1"),
        ("start: p::0\np::_: \"a\" %if lt([3:1], 1)", 29, "a range of bits ends after its beginning, at 64 at most"),
        ("start: p::0\np::_: \"a\" %if lt(_)", 30, "expected `,` and the arguments of `lt`, found `)`"),
        ("start: p::0\np::_: \"a\" %if true \"b\"", 22, "`%if` comes at the end of an alternative"),
        ('start: t{"b"}\nt{x}: "a" x::0', 24, "`x` is a parameter, which has no number"),
        ('start: r\nr: "a"\n%extend r[lazy]: "b"', 24, "`r` is extended with another head, or was declared only"),
        ('start: p\np: "a"\n%extend p::_: "b"', 24, "`p` is extended with another head, or was declared only"),
        ('start: "a" %if bit_set(0)', 11, "`%if` asks for the number of its rule, which does not count"),
        ('start: p::_\np::_: "a"', 8, "`::` asks for the number of its rule, which does not count"),
        ('start: p::incr(_)\np::_: "a"', 8, "`::` asks for the number of its rule, which does not count"),
        ('start[max_tokens=5.5]: "a"', 6, "`max_tokens` is a whole number"),
        ('start[temperature="hot"]: "a"', 6, "`temperature` is a number"),
        ('start: "a"\n%ignore p::0\np::_: "b"', 19, "a rule with a number is not allowed in a terminal"),
        ('start: A\nA: "a" %if true', 16, "`%if` asks for the number of its rule, which does not count"),
        ('start::_: "a"', None, "no rule `start` to begin with"),
        ("start: p::0\np::_: \"a\" p::incr(_)", 22, "more than 20,000 rules of templates, or of rules that count"),
    ],
)  # fmt: skip
def test_one_problem_with_its_place(text: str, place: int | None, message: str) -> None:
    with pytest.raises(sm.GrammarError) as caught:
        sm.Grammar.from_lark(text)
    found = [
        (problem.message, problem.span.start if problem.span else None)
        for problem in caught.value.diagnostics
    ]
    assert found == [(message, place)]


def test_a_grammar_in_a_grammar_has_names_of_its_own() -> None:
    grammar = sm.Grammar.from_lark('start: item %lark {\n  start: item\n  item: "b" // }\n} item\nitem: "a"')
    assert [word for word in ("aba", "aaa", "bbb") if grammar.accepts(word)] == ["aba"]
    text = """
    start: "[" %lark {
      %import common.WS
      %ignore WS
      start: item ":" %json {"type": "integer"} %lark { start: "}" | "{" }?
      item: "x" | "(" item ")"
    } "]"
    """
    grammar = sm.Grammar.from_lark(text)
    assert all(map(grammar.accepts, ("[x:1]", "[ ((x)) : -2 ]", "[x:1}]", "[x:1{]")))
    assert not any(map(grammar.accepts, ("[():1]", '[x:"1"]', "[x 1]", "[x:1}{]", " [x:1]")))


def test_blocks_of_two_grammars_are_refused() -> None:
    blocks = 'start: "b" _NEWLINE _INDENT {}"a" _NEWLINE _DEDENT\n%declare _INDENT _DEDENT\n_NEWLINE: /\\n/\n'
    inner = "%lark {\n" + blocks.format("") + "} "
    with pytest.raises(sm.GrammarError, match="blocks in two grammars of one text"):
        sm.Grammar.from_lark(blocks.format(inner))
    assert sm.Grammar.from_lark(f'start: "x" {inner}').accepts("xb\n a\n")


def test_grammars_nest_to_a_limit() -> None:
    text = "start: " + "%lark { start: " * 20 + '"a"' + " }" * 20
    assert sm.Grammar.from_lark(text).accepts("a")
    with pytest.raises(sm.GrammarError, match="more than 20 grammars in each other"):
        sm.Grammar.from_lark("start: " + "%lark { start: " * 21 + '"a"' + " }" * 21)


def test_whether_what_is_ignored_may_stand_first() -> None:
    text = '{}%ignore " "\nstart: "a" "b"'
    off, on = ('%llguidance {"allow_initial_skip": ' + value + "}\n" for value in ("false", "true"))
    assert sm.Grammar.from_lark(text.format("")).accepts(" ab")
    assert not sm.Grammar.from_lark(text.format(off)).accepts(" ab")
    assert sm.Grammar.from_lark(text.format(off)).accepts("a b ")
    assert not sm.Grammar.from_lark(text.format(""), flavor="xgrammar").accepts(" ab")
    assert sm.Grammar.from_lark(text.format(on), flavor="xgrammar").accepts(" ab")


def test_any_token_and_runs_of_chunks_in_terminals() -> None:
    vocabulary = sm.Vocabulary([b"a", b"b", None], stop_ids=[2])
    matcher = sm.Compiler(vocabulary).compile(sm.Grammar.from_lark("start: <[*]> <[*]>")).matcher()
    assert matcher.accept_token(0)
    assert matcher.accept_token(1)
    assert matcher.is_accepting()
    text = 'start: A S A\nS: %regex {"substring_chunks": ["abc", "de", "fg"]}\nA: "!"'
    grammar = sm.Grammar.from_lark(text)
    assert [w for w in ("!!", "!abcde!", "!de!", "!b!", "!abcfg!") if grammar.accepts(w)] == [
        "!!",
        "!abcde!",
        "!de!",
    ]


def test_strings_of_llguidance_have_the_escapes_of_json() -> None:
    assert sm.Grammar.from_lark('start: "\\ud83d\\uDE00"', flavor="rust").accepts("\N{GRINNING FACE}")
    assert sm.Grammar.from_lark(r'start: "\b\/"', flavor="rust").accepts("\b/")
    assert sm.Grammar.from_lark(r'start: "\b"').accepts(r"\b")


PERMUTATIONS = [*map("".join, permutations("abc"))]
COUNTED: dict[str, tuple[str, Callable[[str], bool]]] = {
    "permutations": (
        (
            'start: perm::0x0\nperm::_: "" %if is_ones([0:3])\n  | "a" perm::set_bit(0) %if bit_clear(0)\n'
            '  | "b" perm::set_bit(1) %if bit_clear(1)\n  | "c" perm::set_bit(2) %if bit_clear(2)\n'
        ),
        lambda word: word in PERMUTATIONS,
    ),
    "each at least once": (
        (
            'start: p::0\np::_: "" %if is_ones([0:3])\n | "a" p::set_bit(0) | "b" p::set_bit(1) | "c" p::set_bit(2)\n'
        ),
        lambda word: set(word) == set("abc"),
    ),
    "some of each": (
        (
            'start: l::0\nl::_: "a" l::incr([0:3]) %if lt([0:3], 2)\n | "b" l::incr([3:6]) %if lt([3:6], 1)\n'
            ' | "c" l::_ | "" %if and(ge([0:3], 1), not(eq([3:6], 0)))\n'
        ),
        lambda word: 1 <= word.count("a") <= 2 and word.count("b") == 1,
    ),
    "some elements": (
        (
            'start: p::0\np::_: "" %if bit_count_ge(_, 1)\n | "a" p::set_bit(0) %if and(bit_clear(0), bit_count_lt(_, 2))\n'
            ' | "b" p::set_bit(1) %if and(bit_clear(1), bit_count_lt(_, 2))\n'
            ' | "c" p::set_bit(2) %if and(bit_clear(2), bit_count_lt(_, 2))\n'
        ),
        lambda word: 1 <= len(word) <= 2 and len(set(word)) == len(word),
    ),
    "down again": (
        (
            'start: p::3\np::_: "a" p::decr(_) %if gt(_, 0)\n | "b" p::clear_bit(0) %if bit_set(0)\n'
            ' | "c" p::bit_and(0x2) %if or(ne(_, 0), true)\n | "" %if is_zeros(_)'
        ),
        lambda word: _ends_at_zero(word),
    ),
    "numbers that lead nowhere": (
        (
            'start: p::0\np::_: "a" p::bit_or(1) %if is_zeros(_)\n | "b" %if le(_, 0)'
        ),
        lambda word: word == "b",
    ),
}  # fmt: skip


def _ends_at_zero(word: str) -> bool:
    number = 3
    for letter in word:
        if letter == "a" and number:
            number -= 1
        elif letter == "b" and number & 1:
            number &= ~1
        elif letter == "c":
            number &= 2
        else:
            return False
    return number == 0


@pytest.mark.parametrize(("text", "is_in"), COUNTED.values(), ids=COUNTED)
def test_rules_that_count(text: str, is_in: Callable[[str], bool]) -> None:
    grammar = sm.Grammar.from_lark(text)
    for length in range(6):
        for letters in product("abc", repeat=length):
            word = "".join(letters)
            assert grammar.accepts(word) == is_in(word), word


@pytest.mark.parametrize(
    "text",
    [
        'start: r\nr[lazy]: "a"',
        'start: %lark { start: "a" }',
        '%llguidance {"allow_initial_skip": false}\n%ignore " "\nstart: "a"',
    ],
)
def test_what_has_no_words_in_ebnf_is_refused_there(text: str) -> None:
    with pytest.raises(sm.GrammarError, match="EBNF"):
        lark_as_ebnf(text, name="g.lark", base=None)


def test_rules_that_count_are_converted() -> None:
    text = COUNTED["permutations"][0]
    made = sm.Grammar.from_ebnf(lark_as_ebnf(text, name="g.lark", base=None).text)
    words = ["".join(letters) for length in range(5) for letters in product("abc", repeat=length)]
    assert [word for word in words if made.accepts(word)] == PERMUTATIONS


# further grammars of what llguidance adds, and the symbols of their strings: bytes and ids of special tokens
OTHERS: dict[str, tuple[str, tuple[bytes | int, ...]]] = {
    "a schema": ('start: "a" %json {"enum": ["b", 1]}', (b"a", b"b", b'"', b"1")),
    "an object": (
        'start: %json {"properties": {"a": {"enum": [1]}}, "required": ["a"], "additionalProperties": false, "type": "object"}',
        (b'{"', b"a", b'":', b"1", b"}", b" "),
    ),
    "words": ('start: S\nS: %regex {"substring_words": "a b c"}', (b"a", b"b", b"c", b" ")),
    "characters": ('start: "a" S\nS: %regex {"substring_chars": "abca"}', (b"a", b"b", b"c")),
    "chunks": ('start: S "c"\nS: %regex {"substring_chunks": ["ab", "c", "a"]}', (b"a", b"b", b"c")),
    "an intersection": ("start: X\nX: A & B\nA: /[ab]+/\nB: /(..)*/", (b"a", b"b", b"c")),
    "a complement": ("start: X\nX: /[abc]*/ & ~/.*b.*/", (b"a", b"b", b"c")),
    "excluded words": ('start: X "c"?\nX: /[ab]{1,3}/ & ~("ab" | "ba")', (b"a", b"b", b"c")),
    "special tokens": ('start: "a" <|x|> "b" | <|y|>+', (b"a", b"b", 256, 257)),
    "a range of tokens": ('start: <[97-98,256]> "c"', (b"a", b"b", b"c", 256)),
    "all tokens but a range": ('start: <[^0-96,100-255,257-258]> "c"', (b"a", b"b", b"c", 256)),
    "any token": ('start: <[*]> "a"', (b"a", b"b", 256)),
    "a capture": ('start: r "c"\nr[capture="x"]: /[ab]+/', (b"a", b"b", b"c")),
    "a captured stop": ('start: r "a"\nr[stop="c", stop_capture="e"]: /[ab]*/', (b"a", b"b", b"c")),
    "a limit of tokens": ('start: r "c"\nr[max_tokens=2]: /[ab]+/', (b"a", b"b", b"c")),
    "a limit of tokens inside": ('start: "c" r "c"\nr[max_tokens=2]: ("a" | "b")+', (b"a", b"b", b"c")),
    "a temperature": ('start: r "c"\nr[temperature=0.5]: /[ab]+/', (b"a", b"b", b"c")),
    "ignored text": ('%ignore "c"\nstart: "a" "b"', (b"a", b"b", b"c")),
}  # fmt: skip
DIFFERENT = {  # a string that only stackmask accepts
    "a stop": "cc",  # a stop string is hidden, and the following terminal may take it instead
    "of a terminal that may be empty": "ab",  # a terminal is not empty
    "with what is ignored": "acbc",  # nothing is ignored at the beginning and the end
    "ignored text": "abc",
    "chunks": "abc",  # the longest match of a terminal is its only one
    "a limit of tokens inside": "caac",  # the token before the rule counts too
}


class BytesTokenizer:
    """The vocabulary of bytes and two special tokens, as llguidance reads it."""

    eos_token_id, bos_token_id = 258, None
    tokens = (*(bytes([byte]) for byte in range(256)), b"\xff<|x|>", b"\xff<|y|>", b"\xff</s>")
    special_token_ids = (256, 257, 258)

    def __call__(self, text: bytes | str) -> list[int]:
        return list(text if isinstance(text, bytes) else text.encode())


@pytest.mark.campaign
def test_same_verdicts_as_llguidance() -> None:
    peer: Any = pytest.importorskip("llguidance")
    tokenizer = peer.LLTokenizer(peer.TokenizerWrapper(BytesTokenizer()))
    names = {"<|x|>": 256, "<|y|>": 257}
    pieces = [*(bytes([byte]) for byte in range(256)), None, None, None]
    compiler = sm.Compiler(sm.Vocabulary(pieces, stop_ids=[258], special_names=names))
    letters = (b"a", b"b", b"c")
    cases = {name: (text, letters) for name, (text, _) in {**LAZY, **COUNTED}.items()} | OTHERS
    compared = 0
    for name, (text, symbols) in cases.items():
        grammar = peer.LLMatcher.grammar_from_lark(text)
        if peer.LLMatcher.validate_grammar(grammar, tokenizer):
            assert name == "in a template"  # which llguidance does not read
            continue
        theirs = peer.LLMatcher(tokenizer, grammar, log_level=0)
        compiled = compiler.compile(sm.Grammar.from_lark(text, flavor="rust"))
        strings = chain.from_iterable(product(symbols, repeat=length) for length in range(6))
        for string in strings:
            ids = [id for symbol in string for id in ([symbol] if isinstance(symbol, int) else symbol)]
            matcher, peers = compiled.matcher(), theirs.deep_copy()
            ours = all(map(matcher.accept_token, ids)) and matcher.is_accepting()
            same = ours == (all(map(peers.consume_token, ids)) and peers.is_accepting())
            assert same or name in DIFFERENT, (name, string)
            if DIFFERENT.get(name) == "".join(map(chr, ids)):
                assert not same, name
        compared += 1
    assert compared >= 40
