"""``Grammar.of``: grammars of types, schemas, patterns, choices, texts and files."""

from __future__ import annotations

import dataclasses
import enum
import json
import pickle
import re
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any, Literal, NewType

import pytest
from pydantic import BaseModel, TypeAdapter
from support.byte_matcher import ByteMatcher
from typing_extensions import TypeAliasType, TypedDict

import stackmask as sm
from stackmask.grammar.outputs import Output


class Item(BaseModel):
    name: str
    count: int


@dataclasses.dataclass
class Point:
    x: int
    y: float


class Size(TypedDict):
    width: int


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


Metres = NewType("Metres", int)
Counts = TypeAliasType("Counts", list[int])
MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
CASES: list[tuple[Any, str, Any, str]] = [
    (Item, '{"name": "a", "count": 3}', Item(name="a", count=3), '{"name": "a"}'),
    (Point, '{"x": 1, "y": 2.5}', Point(1, 2.5), '{"x": 1}'),
    (Size, '{"width": 4}', {"width": 4}, "{}"),
    (Literal["a", 1], "1", 1, "2"),
    (Colour, '"red"', Colour.RED, '"green"'),
    (list[Item], '[{"name": "b", "count": 0}]', [Item(name="b", count=0)], "[1]"),
    (int, "12", 12, "1.0"),
    (datetime, '"2026-01-02T03:04:05Z"', MOMENT, '"today"'),
    (int | Colour, '"blue"', Colour.BLUE, "null"),
    (int | None, "null", None, "true"),
    (str | None, '"é"', "é", "1"),
    ({"type": "array", "items": {"type": "integer"}}, "[1, 2]", [1, 2], '["a"]'),
    (Metres, "7", 7, '"7"'),
    (Counts, "[1, 2]", [1, 2], '["1"]'),
    (TypeAdapter(dict[str, int]), '{"a": 1}', {"a": 1}, '{"a": "b"}'),
    (True, '{"any": 1}', {"any": 1}, "}"),
    (["yes", "no"], "yes", "yes", "maybe"),
    (re.compile("[a-c]+", re.IGNORECASE), "aB", "aB", "d"),
]


@pytest.mark.parametrize(
    ("source", "text", "value", "wrong"), CASES, ids=[repr(case[0])[:40] for case in CASES]
)
def test_values_of_texts(source: Any, text: str, value: Any, wrong: str) -> None:
    grammar = sm.Grammar.of(source)
    matcher = ByteMatcher(grammar)
    assert matcher.matches(text)
    assert not matcher.matches(wrong)
    assert grammar.output is not None
    assert grammar.output.value(text) == value


def test_a_grammar_is_itself_and_text_is_ebnf() -> None:
    grammar = sm.Grammar.of('root ::= "a"')
    assert sm.Grammar.of(grammar) is grammar
    assert grammar.output is None
    assert ByteMatcher(grammar).matches("a")


def test_files_are_opened_by_their_suffix(tmp_path: Path) -> None:
    (tmp_path / "g.EBNF").write_text('start ::= "x"', encoding="utf-8")
    (tmp_path / "s.json").write_text(json.dumps({"const": 5}), encoding="utf-8")
    assert ByteMatcher(sm.Grammar.of(tmp_path / "g.EBNF")).matches("x")
    assert ByteMatcher(sm.Grammar.of(tmp_path / "s.json")).matches("5")
    with pytest.raises(sm.StackmaskError, match=r"the suffixes are .ebnf, .gbnf, .lark, .json"):
        sm.Grammar.of(tmp_path / "notes.txt")


def test_structural_tags_are_told_by_their_type() -> None:
    tag = {"type": "structural_tag", "format": {"type": "const_string", "value": "hello"}}
    assert ByteMatcher(sm.Grammar.of(tag)).matches("hello")


def test_the_profile_is_for_models_unless_exact_is_asked_for() -> None:
    spelled = '{"\\u006eame": "a", "count": 3}'
    assert not ByteMatcher(sm.Grammar.of(Item)).matches(spelled)
    assert ByteMatcher(sm.Grammar.of(Item, profile="exact")).matches(spelled)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (3.5, r"no grammar can be created from 3.5 \(float\); give a Grammar; a type"),
        (None, r"no grammar can be created from None \(NoneType\)"),
        (Item(name="a", count=1), r"of an object give its type, Item"),
        ([1, 2], r"1 is int: for values of other types give typing.Literal"),
        (re.compile(b"a", re.LOCALE), r"re.LOCALE"),
    ],
)
def test_what_no_grammar_is_made_of(source: Any, message: str) -> None:
    with pytest.raises(sm.StackmaskError, match=message):
        sm.Grammar.of(source)


def test_compilers_take_what_grammars_are_made_of() -> None:
    vocabulary = sm.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256])
    compiler = sm.Compiler(vocabulary)
    matcher = compiler.compile(["yes", "no"]).matcher()
    assert matcher.accept_string("no")
    assert matcher.is_accepting()
    with pytest.raises(sm.StackmaskError, match=r"no grammar can be created from 3\.5"):
        compiler.compile(3.5)
    with pytest.raises(sm.StackmaskError, match="a compiler is for a Vocabulary, not str"):
        sm.Compiler("tokenizer")  # type: ignore[arg-type]


def test_partial_values() -> None:
    output = Output("json", Item)
    assert output.partial('{"name": "Wi') == {"name": "Wi"}
    assert output.partial("") is None
    assert Output("text").partial("ye") == "ye"


def test_equal_rules_may_mean_other_types() -> None:
    class Same(BaseModel):
        name: str
        count: int

    compiler = sm.Compiler(sm.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256]))
    one, other, again = (compiler.compile(source) for source in (Item, Same, Item))
    assert one is again
    assert one.grammar.output == Output("json", Item)
    assert other.grammar.output == Output("json", Same)
    assert compiler.compile(list[int]) is compiler.compile(list[int])
    annotated = Annotated[int, ["a note without a hash"]]
    assert compiler.compile(annotated) is compiler.compile(annotated)


def test_grammars_of_types_are_pickled() -> None:
    class Local(BaseModel):
        x: int

    for source, copied in ((Item, Output("json", Item)), (Local, Output("json")), (["a"], Output("text"))):
        assert pickle.loads(pickle.dumps(sm.Grammar.of(source))).output == copied


class Number(enum.IntEnum):
    ONE = 1
    TWO = 2


class Shade(str, enum.Enum):
    RED = "red"
    BLUE = "blue"


def test_members_as_choices() -> None:
    grammar = sm.Grammar.from_choices(Literal[1, True, None, "é"])  # noqa: PYI061
    assert grammar.output is not None
    for text, value in (("1", 1), ("true", True), ("null", None), ("é", "é")):
        assert grammar.accepts(text)
        assert grammar.output.value(text) is value
    assert not grammar.accepts('"é"')
    colours = sm.Grammar.from_choices(Colour).output
    assert colours is not None
    assert colours.value("red") is Colour.RED
    assert [colours.partial(text) for text in ("", "r", "red", "x")] == [None, Colour.RED, Colour.RED, None]
    assert colours != sm.Grammar.from_choices(Shade).output
    assert sm.Grammar.from_choices(Number).accepts("2")
    assert pickle.loads(pickle.dumps(sm.Grammar.from_choices(Colour))).output == colours


def test_choices_that_are_none() -> None:
    class Values(enum.Enum):
        A = (1, 2)

    class Nothing(enum.Enum):
        pass

    wrong: list[tuple[Any, str]] = [
        (Literal["1", 1], "'1' and 1 are both written '1'"),
        (Values, r"Values: <Values.A: \(1, 2\)> is tuple, and has no text"),
        (Nothing, "Nothing has no members"),
        ({"a": 1}, "not a dict: pass a list of its keys"),
        (["a", 3], r"not int: 3 \(number 2 of the list\)"),
    ]
    for source, problem in wrong:
        with pytest.raises(sm.StackmaskError, match=problem):
            sm.Grammar.from_choices(source)


def test_patterns_come_with_their_flags() -> None:
    grammar = sm.Grammar.from_regex(re.compile("a.b  # a comment", re.IGNORECASE | re.DOTALL | re.VERBOSE))
    assert grammar.accepts("A\nB")
    assert not grammar.accepts("A\nB  # a comment")
    assert sm.Grammar.from_regex(re.compile("b"), search=True).accepts("abc")
    assert sm.Grammar.from_regex(re.compile(rb"\xff+")).accepts(b"\xff\xff")


def test_names_that_are_not_defined_are_said() -> None:
    with pytest.raises(sm.SchemaError, match="pydantic has no schema for list"):
        sm.Grammar.of(list["Unknown"])  # type: ignore[name-defined]  # noqa: F821


def test_without_pydantic_only_whole_json_has_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_core", None)
    output = Output("json")
    assert [output.partial(text) for text in ("", "[1", "[1]", "[" * 100_000)] == [None, None, [1], None]


@pytest.mark.parametrize(
    ("source", "described"),
    [
        (Item, json.dumps(Item.model_json_schema()["properties"]["name"])),
        ({"type": "string", "description": "ein Wort über Tee"}, "ein Wort über Tee"),
        (' {"minimum": 1e400} ', '\n{"minimum": 1e400}\n'),
        (["tea", b"coffee"], '"tea", "coffee"'),
    ],
)
def test_prompts_describe_what_to_write(source: Any, described: str) -> None:
    prompt = sm.prompt_for(source)
    assert described in prompt
    assert prompt.endswith("\n") and not prompt.endswith("\n\n")


@pytest.mark.parametrize("source", ['root ::= "a"', re.compile("a+"), sm.Grammar.from_regex("a")])
def test_prompts_of_other_grammars_are_refused(source: Any) -> None:
    with pytest.raises(sm.OutputError, match=r"your own words|no grammar can be created"):
        sm.prompt_for(source)


def test_prompts_of_wrong_text_say_where() -> None:
    with pytest.raises(sm.StackmaskError, match="not JSON"):
        sm.prompt_for("{")
