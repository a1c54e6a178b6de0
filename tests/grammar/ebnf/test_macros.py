"""Macros and look-aheads of XGrammar's EBNF: what they mean, and what is said of broken ones."""

from __future__ import annotations

import random

import pytest

import stackmask as sm

RULES = '\nx ::= "1"\ny ::= "2"'


def verdicts(text: str, *texts: str) -> list[bool]:
    grammar = sm.Grammar.from_ebnf(text)
    return [grammar.accepts(text) for text in texts]


def problems(text: str) -> list[sm.Diagnostic]:
    with pytest.raises(sm.GrammarError) as caught:
        sm.Grammar.from_ebnf(text)
    return list(caught.value.diagnostics)


def test_free_text_with_triggers() -> None:
    text = 'root ::= TagDispatch(("<a>", x), ("<b>", y), excludes=("no",))' + RULES
    assert all(verdicts(text, "", "q", "<a>1", "q<a>1r<b>2<", "<a", "<<a>1", "n<a>1o"))
    assert not any(verdicts(text, "<a>", "<a>2", "q<b>1", "no", "<a>1no"))
    once = text.replace("excludes", "loop_after_dispatch=false, excludes")
    assert all(verdicts(once, "", "q", "q<a>1"))
    assert not any(verdicts(once, "<a>1q", "<a>1<b>2"))


def test_the_trigger_that_is_complete_first_counts() -> None:
    text = "root ::= TagDispatch({})" + RULES
    assert verdicts(text.format('("ab", x), ("bc", y)'), "ab1", "abc2", "bc2", "abbc") == [
        True,
        False,
        True,
        False,
    ]
    # of two that end together the longer one, and a longer one may go on where a shorter one could end
    assert verdicts(text.format('("b", x), ("ab", y)'), "ab1", "ab2", "b1", "xb1") == [
        False,
        True,
        True,
        True,
    ]
    assert verdicts(text.format('("ab", x), ("abc", y)'), "ab1", "abc2", "abc1", "abc") == [
        True,
        True,
        False,
        False,
    ]
    assert verdicts(text.format('("aa", x)'), "aa1", "aaa1") == [True, False]
    assert verdicts(text.format('("bc", x), excludes=("ab",)'), "abc1", "zbc1") == [False, True]
    assert verdicts(text.format('("abc", x), excludes=("bc",)'), "abc1", "ab") == [False, True]


def test_stop_strings() -> None:
    text = 'root ::= TagDispatch(("<a>", x), stop_eos=false, stop_str=("END", "."))' + RULES
    assert verdicts(text, "qEND", "<a>1q.", "q", "", ".", "a.b.", "<a>1") == [
        True,
        True,
        False,
        False,
        True,
        False,
        False,
    ]
    once = text.replace("stop_eos=false", "loop_after_dispatch=false")
    assert verdicts(once, "q", "q.", "<a>1", "<a>1.", "<a>1q.") == [True, True, True, True, False]


def test_triggers_are_special_tokens_where_the_vocabulary_has_them() -> None:
    grammar = sm.Grammar.from_ebnf('root ::= TagDispatch(("<a>", x), ("<b>", y)) "."' + RULES)
    vocabulary = sm.Vocabulary(
        [*(bytes([byte]) for byte in range(256)), None, None], stop_ids=[256], special_names={"<a>": 257}
    )
    matcher = sm.Compiler(vocabulary).compile(grammar).matcher()
    assert matcher.accept_string("q<b>2<a")
    assert matcher.accept_token(257)
    assert not matcher.accept_string("2")
    assert matcher.accept_string("1.")
    assert matcher.is_accepting()


def test_macros_within_expressions() -> None:
    text = (
        'root ::= "s" (TagDispatch(("<a>", inner)) "e"){2} | Regex("q+") # TagDispatch((\ninner ::= TagDispatch(("b", x))'
        + RULES
    )
    assert verdicts(text, "see", "se<a>b1e", "qq", "se") == [True, True, True, False]
    text = "root ::= x y\nx ::= Regex('a.b') (= y)\ny ::= Regex(\"[^c]+\", json_string=true)"
    assert verdicts(text, "a\nbx", 'axb"', "axb\\", "axbc") == [True, False, False, False]


def test_substrings_are_runs_of_chunks() -> None:
    assert verdicts('root ::= Substring("a", "b ", "c")', "", "a", "b c", "ab ", "ac", "b") == [
        True,
        True,
        True,
        True,
        False,
        False,
    ]
    rng = random.Random(7)
    for _ in range(20):
        chunks = [rng.choice(("a", "b", "ab", "ba", "")) for _ in range(rng.randint(0, 7))]
        runs = {"".join(chunks[i:j]) for i in range(len(chunks) + 1) for j in range(i, len(chunks) + 1)}
        grammar = sm.Grammar.from_ebnf(f"root ::= Substring({', '.join(map(repr, chunks))})")
        texts = {"".join(rng.choice("ab") for _ in range(rng.randint(0, 6))) for _ in range(30)} | runs
        assert {text for text in texts if grammar.accepts(text)} == runs


def test_long_substrings_take_linear_work() -> None:
    words = [f"w{number % 50} " for number in range(1500)]
    small = sm.Grammar.from_ebnf(f"root ::= Substring({', '.join(map(repr, words[:500]))})")
    large = sm.Grammar.from_ebnf(f"root ::= Substring({', '.join(map(repr, words))})")
    assert small.accepts("".join(words[20:90]))
    assert large.work < 4 * small.work


def test_tokens() -> None:
    vocabulary = sm.Vocabulary([*(bytes([byte]) for byte in range(256)), None], stop_ids=[256])
    compiler = sm.Compiler(vocabulary)

    def takes(text: str, *tokens: int) -> bool:
        matcher = compiler.compile(sm.Grammar.from_ebnf(text)).matcher()
        return all(matcher.accept_token(token) for token in tokens) and matcher.is_accepting()

    assert takes("root ::= Token(97, 98)+", 97, 98)
    assert not takes("root ::= Token(97, 98)+", 99)
    assert takes("root ::= ExcludeToken(97)", 98)
    assert not takes("root ::= ExcludeToken(97)", 97)
    assert takes("root ::= !Token(97)", 98)
    text = "root ::= TokenTagDispatch((97, x), excludes=(98,)){}" + RULES
    assert takes(text.format(""), 99, 97, 49, 99, 97, 49)
    assert not takes(text.format(""), 97, 50)
    assert not takes(text.format(""), 98)
    once = text.replace("excludes", "loop_after_dispatch=false, excludes").format("")
    assert takes(once, 99)
    assert takes(once, 99, 97, 49)
    assert not takes(once, 97, 49, 99)


def test_rules_of_these_names_stay_rules() -> None:
    assert verdicts('root ::= Token ("b" | "c") Regex\nToken ::= "a"\nRegex ::= "d"', "abd", "acd") == [
        True,
        True,
    ]
    given = {"Substring": sm.Grammar.from_choices(["s"])}
    assert sm.Grammar.from_ebnf('root ::= Substring "t"', grammars=given).accepts("st")


def test_look_ahead_changes_nothing() -> None:
    text = 'root ::= x "b" (= [a-z] x)\nx ::= "a" | "c"{1, -1} (="z"*)\n  (* end *)'
    assert verdicts(text, "ab", "ccb", "az") == [True, True, False]
    [problem] = problems('root ::= "a" (= nope)')
    assert problem.code == "G003"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ('root ::= "a" (= "b") "c"', 21, "a look-ahead `(= …)` comes at the end of a rule"),
        ('root ::= ("a" (= "b")) "c"', 14, "a look-ahead `(= …)` comes at the end of a rule"),
        ("root ::= Token()", 9, "`Token`: `Token` needs a token id"),
        ("root ::= Token(-1)", 15, "`Token`: a token id is needed, a whole number"),
        ("root ::= Token(1,)", 17, "a value is missing"),
        ("root ::= Token([a])", 15, "`[a]` cannot be an argument of `Token`"),
        ('root ::= Token("a" | "b")', 19, "`|` cannot be an argument of `Token`"),
        ('root ::= Substring("a"i)', 22, "an argument cannot ignore case"),
        ("root ::= Token(5", 14, "`(` is not closed"),
        ("root ::= Regex(a)", 15, "`Regex`: a text in quotes is needed"),
        ('root ::= Regex("a(")', 15, "in `Regex`: unclosed group"),
        ('root ::= Regex("a", json=true)', 20, "`Regex` has no argument `json`"),
        ('root ::= TagDispatch("a")', 21, "`TagDispatch`: a pair of a text and the name of a rule is needed"),
        ('root ::= TagDispatch(("a", nope))', 27, "undefined rule `nope`"),
        ('root ::= TagDispatch(("", root))', 22, "`TagDispatch`: the empty text is everywhere"),
        ('root ::= TagDispatch((("a", root)))', 22, "a tuple within a tuple"),
        ('root ::= TagDispatch(excludes=("a",), excludes=("b",))', 38, "`excludes` is given twice"),
        (
            'root ::= TagDispatch(("ab", root), excludes=("a",))',
            45,
            "`TagDispatch`: the excluded 'a' begins a trigger, which could never come",
        ),
        (
            "root ::= TagDispatch(stop_eos=false)",
            9,
            "`TagDispatch`: `stop_eos=false` without `stop_str` leaves no end",
        ),
        (
            "root ::= TokenTagDispatch((1, root), excludes=(1,))",
            47,
            "`TokenTagDispatch`: the token 1 is a trigger, and excluded",
        ),
    ],
)
def test_one_problem_with_its_place(text: str, place: int, message: str) -> None:
    [problem] = problems(text)
    assert problem.message == message
    assert problem.span is not None
    assert problem.span.start == place


def test_a_broken_macro_hides_no_other_rule() -> None:
    found = problems('root ::= Token(x y) z\nz ::= Regex("[")\nq ::= w')
    assert [problem.code for problem in found] == ["G020", "G008", "G003"]
