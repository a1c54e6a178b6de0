"""Structural tags: every format and option, where free text ends, special tokens, and what is wrong with a tag."""

from __future__ import annotations

import json
import lzma
from typing import Any

import pytest
from support.byte_matcher import ByteMatcher
from support.datapack import datapack, needs_datapack

import stackmask as sm


def grammar_of(form: Any) -> sm.Grammar:
    return sm.Grammar.from_structural_tag({"type": "structural_tag", "format": form})


def check(form: Any, accepted: list[str], rejected: list[str]) -> None:
    matcher = ByteMatcher(grammar_of(form))
    assert [text for text in accepted if not matcher.matches(text)] == []
    assert [text for text in rejected if matcher.matches(text)] == []


def const(value: str) -> dict[str, Any]:
    return {"type": "const_string", "value": value}


def tag(begin: str, content: Any, end: Any) -> dict[str, Any]:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


ANY: dict[str, Any] = {"type": "any_text"}


def tag_of(case: dict[str, Any]) -> dict[str, Any]:
    """Return the tag of a recorded case; a schema without a tag is the content of one."""
    if "structural_tag" in case:
        recorded: dict[str, Any] = case["structural_tag"]
        return recorded
    schema = case["json_schema"]
    written = json.loads(schema) if isinstance(schema, str) else schema
    style = case["options"].get("json_format", "json")
    content = {"type": "json_schema", "json_schema": written, "style": style}
    return {"type": "structural_tag", "format": content}


@needs_datapack
def test_recorded_verdicts() -> None:
    """The verdicts are those of XGrammar's own tests."""
    data = datapack()
    assert data is not None
    if not (data / "structural_tags").is_dir():
        pytest.skip("the data pack has no structural tags")
    with lzma.open(data / "structural_tags" / "cases_dev.jsonl.xz", "rt", encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]
    matchers: dict[str, ByteMatcher] = {}
    for case in cases:
        key = json.dumps(tag_of(case))
        if key not in matchers:
            matchers[key] = ByteMatcher(sm.Grammar.from_structural_tag(tag_of(case)))
        assert matchers[key].matches(case["text"]) == case["accept"], (case["test"], case["text"])
    assert len(cases) > 500


def test_text_ends_with_the_first_end() -> None:
    check(tag("<", ANY, "aa"), ["<aa", "<baa", "<abaa"], ["<aaa", "<a", "<aaaa"])
    check(tag("", ANY, ["ab", "abc"]), ["ab", "xab"], ["abc", "xabab"])
    check(tag("[", {"type": "any_text", "max_chars": 2}, "]"), ["[]", "[ab]"], ["[abc]", "[a]]"])
    nested = {"type": "sequence", "elements": [const("x"), {"type": "or", "elements": [ANY, const("y")]}]}
    check(tag("<", nested, ">"), ["<x>", "<xy>", "<xabc>"], ["<x>>", "<y>"])
    check(tag("<", tag("(", ANY, ""), ">"), ["<(a>", "<(>"], ["<(>>", "<(a"])


def test_triggers() -> None:
    tags = [tag("<a>", const("1"), "</a>"), tag("<b>", const("2"), "</b>")]
    form = {"type": "triggered_tags", "triggers": ["<a", "<b"], "tags": tags}
    check(form, ["", "x", "x<a>1</a>y<b>2</b>", "<a>1</a><a>1</a>", "<c"], ["<a>2</a>", "x<a", "<b>1</b>"])
    check({**form, "excludes": ["no"]}, ["n<a>1</a>o"], ["no", "<a>1</a>no"])
    check(tag("(", form, ")"), ["()", "(x<a>1</a>)"], ["(x)<a>1</a>)", "(<a)"])
    check({**form, "at_least_one": True}, ["<a>1</a>", "<b>2</b>x"], ["", "x<a>1</a>"])
    check({**form, "stop_after_first": True}, ["", "x<a>1</a>"], ["<a>1</a>x"])


def test_a_trigger_that_overlaps_itself() -> None:
    form = {"type": "triggered_tags", "triggers": ["aab"], "tags": [tag("aab!", ANY, ".")]}
    check(form, ["aaab!x.", "aa", "ab"], ["aab", "aaab", "aab?"])


def test_dispatch() -> None:
    form = {"type": "dispatch", "rules": [["a:", const("1")], ["b:", const("2")]]}
    check(form, ["", "xa:1yb:2z", "a:1a:1"], ["a:2", "a:"])
    check({**form, "loop": False}, ["xa:1", "x"], ["xa:1y"])
    check({**form, "excludes": ["q"]}, ["xa:1"], ["q", "a:1q"])


def test_json_in_tags() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]}
    form = {"type": "json_schema", "json_schema": schema}
    check(
        tag("<", form, ">"),
        ['<{"a" : 1}>', '<{"a":1,    "b":[ ]}>'],
        ["<{}>", '<{"b":1,"a":1}>', '<{"\\u0061":1}>'],
    )
    check({**form, "any_order": True}, ['{"b":1,"a":1}'], ['{"b":1}'])
    check({**form, "max_whitespace_cnt": 1}, ['{"a": 1}'], ['{"a":  1}'])


def test_tokens() -> None:
    texts = [bytes([byte]) for byte in range(256)]
    names = {"<s>": 256, "<e>": 257, "<x>": 258}
    vocabulary = sm.Vocabulary([*texts, None, None, None, None], stop_ids=[259], special_names=names)

    def accepts(form: Any, tokens: list[int]) -> bool:
        matcher = sm.Compiler(vocabulary).compile(grammar_of(form)).matcher()
        return all(matcher.accept_token(token) for token in tokens) and matcher.is_accepting()

    token = {"type": "token", "token": "<s>"}
    assert accepts(token, [256])
    assert not accepts(token, [60])
    assert accepts({"type": "token", "token": 65}, [65])
    other = {"type": "exclude_token", "exclude_tokens": ["<s>", 65]}
    assert [accepts(other, [each]) for each in (256, 65, 66, 258)] == [False, False, True, True]
    few = {"type": "any_tokens", "exclude_tokens": ["<e>"], "max_tokens": 2}
    assert [accepts(few, each) for each in ([], [65, 256], [65, 65, 65], [257])] == [True, True, False, False]
    framed = {"type": "tag", "begin": token, "content": few, "end": {"type": "token", "token": "<e>"}}
    assert accepts(framed, [256, 65, 257])
    triggered = {
        "type": "token_triggered_tags",
        "trigger_tokens": ["<s>"],
        "tags": [framed],
        "exclude_tokens": ["<x>"],
    }
    assert accepts(triggered, [65, 256, 65, 257, 66])
    assert not accepts(triggered, [65, 256, 65])
    assert not accepts(triggered, [258])
    assert not accepts({**triggered, "at_least_one": True}, [65, 256, 257])
    assert not accepts({**triggered, "stop_after_first": True}, [256, 257, 65])
    rules = {"type": "token_dispatch", "rules": [["<s>", const("a")]], "loop": False}
    assert accepts(rules, [66, 256, 97])
    assert not accepts(rules, [256, 98])


def test_tokens_of_text_before_a_special_token() -> None:
    texts = [*(bytes([byte]) for byte in range(256)), b"ab"]
    names = {"<think>": 257, "</think>": 258, "<call>": 259}
    vocabulary = sm.Vocabulary([*texts, None, None, None, None], stop_ids=[260], special_names=names)
    counted = {"type": "any_text", "max_tokens": 2}

    def tag(end: Any, content: Any = counted) -> Any:
        return grammar_of({"type": "tag", "begin": "<think>", "content": content, "end": end})

    def accepts(tokens: list[int]) -> bool:
        matcher = sm.Compiler(vocabulary).compile(tag(["</think>", "</think>\n"])).matcher()
        return all(matcher.accept_token(token) for token in tokens) and matcher.is_accepting()

    assert accepts([257, 258])
    assert accepts([257, 256, 256, 258, 10])
    assert not accepts([257, 97, 98, 97, 258])
    assert not accepts([257, 259, 258])
    assert not accepts([257, 97])
    mixed = sm.Compiler(vocabulary).compile(tag(["</done>", "</think>", "x"]))
    for end in ([*b"</done>"], [258], [ord("x")]):
        matcher = mixed.matcher()
        assert all(matcher.accept_token(token) for token in [257, 97, 98, *end])
        assert matcher.is_accepting()
    assert not accepts([257, 0xC3, 0xC3, 258])
    few = tag("</think>", {**counted, "max_chars": 3, "excludes": ["b"]})
    matcher = sm.Compiler(vocabulary).compile(few).matcher()
    assert [matcher.accept_token(token) for token in (257, 98, 97, 97, 97, 258)] == [
        True,
        False,
        True,
        True,
        False,
        True,
    ]


def test_strings_that_are_special_tokens() -> None:
    texts = [bytes([byte]) for byte in range(256)]
    names = {"<call>": 257, "</call>": 258}
    vocabulary = sm.Vocabulary([*texts, b"<call>", None, None, None], stop_ids=[259], special_names=names)
    form = {
        "type": "triggered_tags",
        "triggers": ["<ca"],
        "tags": [tag("<call>f", const("1"), "</call>")],
        "excludes": ["</call>"],
    }
    compiled = sm.Compiler(vocabulary).compile(grammar_of(form))
    matcher = compiled.matcher()
    assert all(matcher.accept_token(token) for token in (65, 257, ord("f"), ord("1"), 258))
    assert matcher.is_accepting()
    matcher = compiled.matcher()
    assert not matcher.accept_token(258)
    assert matcher.accept_string("<call>")  # as text it triggers nothing
    assert matcher.is_accepting()


def test_the_older_shape() -> None:
    shape = {
        "structures": [{"begin": "<f>", "schema": {"type": "integer"}, "end": "</f>"}],
        "triggers": ["<f"],
    }
    matcher = ByteMatcher(sm.Grammar.from_structural_tag(shape))
    assert matcher.matches("a<f>1</f>b")
    assert not matcher.matches("a<f>x</f>b")
    for required in (False, True):
        matcher = ByteMatcher(sm.Grammar.from_structural_tag({**shape, "at_least_one": required}))
        assert matcher.matches("<f>1</f>b")
        assert matcher.matches("b") is not required
    with pytest.raises(sm.StructuralTagError, match="at_least_one"):
        sm.Grammar.from_structural_tag({**shape, "at_least_one": 1}).normalize()


@pytest.mark.parametrize(
    ("form", "pointer", "message"),
    [
        ({"type": "any_texts"}, "/format/type", "did you mean `any_text`"),
        ({"type": "any_text", "exclude": []}, "/format/exclude", "did you mean `excludes`"),
        ({"type": "any_text", "max_tokens": -1}, "/format/max_tokens", "a whole number from 0"),
        ({"type": "sequence", "elements": [const("a"), 3]}, "/format/elements/1", "a format is an object"),
        ({"type": "sequence", "elements": []}, "/format/elements", "of nothing"),
        ({"type": "regex", "pattern": 3}, "/format/pattern", "a string is needed"),
        ({"type": "repeat", "min": 3, "max": 2, "content": ANY}, "/format/max", "at least 3"),
        ({"type": "tag", "begin": "a", "content": ANY}, "/format", "needs `end`"),
        ({"type": "triggered_tags", "triggers": ["a"], "tags": []}, "/format/tags", "no tags"),
        (
            {"type": "triggered_tags", "triggers": ["a", "ab"], "tags": [tag("a", ANY, "b")]},
            "/format/triggers/1",
            "begin each other",
        ),
        (
            {"type": "triggered_tags", "triggers": ["a"], "tags": [tag("b", ANY, "b")]},
            "/format/tags/0/begin",
            "begins with no trigger",
        ),
        ({"type": "dispatch", "rules": [["a"]]}, "/format/rules/0", "a list of two"),
        ({"type": "dispatch", "rules": [["a\udc80", ANY]]}, "/format/rules/0/0", "a lone surrogate"),
        ({"type": "token_dispatch", "rules": [["\udc80", ANY]]}, "/format/rules/0/0", "a lone surrogate"),
        ({"type": "token", "token": "\udc80"}, "/format/token", "a lone surrogate"),
        (tag("a", const("b"), "\udc80"), "/format/end/0", "a lone surrogate"),
        ({**tag("a", const("b"), ""), "end": ["c", "\udc80"]}, "/format/end/1", "a lone surrogate"),
        ({**tag("a", const("b"), ""), "end": [3]}, "/format/end/0", "a string is needed"),
        ({"type": {"type": "any_text"}}, "/format/type", "no format"),
        ({"type": "json_schema", "json_schema": True, "excludes": ["a"]}, "/format/excludes", "pattern"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(form: Any, pointer: str, message: str) -> None:
    with pytest.raises(sm.StructuralTagError) as caught:
        grammar_of(form)
    assert caught.value.pointer == pointer
    assert message in str(caught.value)


def test_schemas_and_grammars_within_are_named() -> None:
    schema = {"type": "json_schema", "json_schema": {"type": "strin"}}
    with pytest.raises(sm.SchemaError, match="/format/elements/0/json_schema"):
        grammar_of({"type": "sequence", "elements": [schema]})
    with pytest.raises(sm.GrammarError, match="/format/content/grammar"):
        grammar_of(tag("a", {"type": "grammar", "grammar": "root ::= itme"}, "b"))
    with pytest.raises(sm.SchemaError, match="style"):
        grammar_of({"type": "json_schema", "json_schema": True, "style": "yaml"})


def test_deep_nesting_is_refused() -> None:
    form: Any = ANY
    for _ in range(500):
        form = {"type": "optional", "content": form}
    with pytest.raises(sm.StructuralTagError, match="nest more than"):
        grammar_of(form)


@pytest.mark.parametrize("tag", [3, [], {}, "{", {"type": "other"}])
def test_what_is_no_tag(tag: Any) -> None:
    with pytest.raises(sm.StructuralTagError):
        sm.Grammar.from_structural_tag(tag)


@pytest.mark.parametrize(
    ("tag", "place"),
    [
        ({"structures": 1, "triggers": []}, "/structures"),
        (
            {"structures": [{"begin": "a", "end": "b", "schema": "{"}], "triggers": ["a"]},
            "/structures/0/schema",
        ),
        (
            {"structures": [{"begin": "a", "end": "b", "schema": "[" * 100_000}], "triggers": ["a"]},
            "/structures/0",
        ),
    ],
)
def test_older_tags_of_the_wrong_shape(tag: Any, place: str) -> None:
    with pytest.raises(sm.StructuralTagError) as caught:
        sm.Grammar.from_structural_tag(tag)
    assert caught.value.pointer.startswith(place)


def test_many_triggers_take_little_work() -> None:
    names = [f"<{number}>" for number in range(2000)]
    tags = [{"begin": name, "content": {"type": "any_text"}, "end": "</>"} for name in names]
    grammar = sm.Grammar.from_structural_tag(
        {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": names, "tags": tags}}
    )
    assert grammar.work < 30_000_000
    matcher = ByteMatcher(grammar)
    assert matcher.matches("a<17>b</>c<1999></>")
    assert not matcher.matches("<17>")
    assert matcher.matches("<17")


def test_tags_are_as_long_as_texts_may_be() -> None:
    content = {"type": "const_string", "value": "a" * 2000}
    tag = {"type": "structural_tag", "format": {"type": "sequence", "elements": [content, {**content}]}}
    with pytest.raises(sm.BudgetError, match="max_input_bytes"):
        sm.Grammar.from_structural_tag(tag, limits=sm.Limits(max_input_bytes=3000))


@pytest.mark.parametrize(
    "content",
    [
        {"type": "any_tokens"},
        {"type": "any_tokens", "max_tokens": 4},
        {"type": "star", "content": {"type": "exclude_token"}},
        {"type": "sequence", "elements": [{"type": "any_tokens"}, {"type": "any_tokens"}]},
        {"type": "or", "elements": [{"type": "any_tokens"}, const("w")]},
        {
            "type": "token_triggered_tags",
            "trigger_tokens": ["<c>"],
            "tags": [tag({"type": "token", "token": "<c>"}, const("x"), "y")],
        },
    ],
)
def test_tokens_in_a_tag_are_not_the_token_that_ends_it(content: Any) -> None:
    names = {"<b>": 256, "<e>": 257, "<c>": 258}
    texts = [*(bytes([byte]) for byte in range(256)), *[None] * 4]
    compiler = sm.Compiler(sm.Vocabulary(texts, stop_ids=[259], special_names=names))
    form = tag({"type": "token", "token": "<b>"}, content, {"type": "token", "token": "<e>"})
    mask = sm.allocate_token_bitmask(1, 260)
    matcher = compiler.compile(
        sm.Grammar.from_structural_tag({"type": "structural_tag", "format": form})
    ).matcher()
    assert all(map(matcher.accept_token, (256, ord("w"), 257)))
    matcher.fill_next_token_bitmask(mask)
    assert [token for token in range(260) if int(mask[0, token // 32]) >> token % 32 & 1] == [259]


def test_tokens_after_a_tag_may_be_the_token_that_ended_it() -> None:
    names = {"<b>": 256, "<e>": 257}
    texts = [*(bytes([byte]) for byte in range(256)), *[None] * 3]
    compiler = sm.Compiler(sm.Vocabulary(texts, stop_ids=[258], special_names=names))
    inner = tag({"type": "token", "token": "<b>"}, {"type": "any_tokens"}, {"type": "token", "token": "<e>"})
    form = {"type": "sequence", "elements": [inner, {"type": "any_tokens"}]}
    matcher = compiler.compile(
        sm.Grammar.from_structural_tag({"type": "structural_tag", "format": form})
    ).matcher()
    assert all(map(matcher.accept_token, (256, 257, 257, 256))) and matcher.is_accepting()


@pytest.mark.parametrize(
    "content",
    [
        ANY,
        {"type": "sequence", "elements": [const("a"), ANY]},
        {"type": "triggered_tags", "triggers": ["<"], "tags": [tag("<a>", const("b"), "</a>")]},
        {"type": "dispatch", "rules": [["<", const("b")]]},
    ],
)
def test_a_tag_that_nothing_ends(content: Any) -> None:
    with pytest.raises(sm.StructuralTagError, match=r"/format/end: .*nothing ends the tag; give it an `end`"):
        grammar_of(tag("<f>", content, ""))
    with pytest.raises(sm.StructuralTagError, match="/format/tags/0/end"):
        grammar_of({"type": "triggered_tags", "triggers": ["<f"], "tags": [tag("<f>", content, "")]})


def test_a_tag_of_limited_text_needs_no_end() -> None:
    check(tag("<f>", {"type": "any_text", "max_chars": 2}, ""), ["<f>", "<f>ab"], ["<f>abc"])
    check(tag("<f>", {"type": "regex", "pattern": "a*"}, ""), ["<f>", "<f>aa"], ["<f>b"])
