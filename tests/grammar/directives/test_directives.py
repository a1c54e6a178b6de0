"""Parts of other languages inside of EBNF."""

from __future__ import annotations

import pytest

import stackmask as sm

STOP = 256
VOCABULARY = sm.Vocabulary([*(bytes([byte]) for byte in range(256)), None], stop_ids=[STOP])


def accepts(grammar: sm.Grammar, text: str) -> bool:
    matcher = sm.Compiler(VOCABULARY).compile(grammar).matcher()
    return matcher.accept_string(text) and matcher.is_accepting()


def problems(text: str, **options: object) -> list[sm.Diagnostic]:
    with pytest.raises(sm.GrammarError) as caught:
        sm.Grammar.from_ebnf(text, **options)  # type: ignore[arg-type]
    return list(caught.value.diagnostics)


def test_json_ends_where_its_value_ends() -> None:
    grammar = sm.Grammar.from_ebnf(
        """root ::= "<" %json {"enum": ["}", "%json"],
          "description": "a ::= b"} ">" | other # %json {
        other ::= %json true"""
    )
    assert accepts(grammar, '<"}">')
    assert accepts(grammar, '{"a": [1]}')
    assert not accepts(grammar, '<"]">')


def test_names_never_clash() -> None:
    inner = sm.Grammar.from_ebnf('root ::= "i" json  json ::= "j"')
    text = 'root ::= order %json {"type": "null"} json  json ::= "k" part  part ::= "p" order'
    grammar = sm.Grammar.from_ebnf(text, grammars={"order": inner})
    assert accepts(grammar, "ijnullkpij")
    assert not accepts(grammar, "iknullkpij")


def test_skip_follows_parts() -> None:
    grammar = sm.Grammar.from_ebnf(
        'root ::= %choice ["a", "b c"] %regex /x+/ order %skip " "', grammars=GIVEN
    )
    assert accepts(grammar, " b c xx  o ")
    assert not accepts(grammar, "b  c xx o")
    assert not accepts(grammar, "a x x o")


GIVEN = {"order": sm.Grammar.from_choices(["o"])}


def test_sql_is_the_bundled_one_or_one_given() -> None:
    assert accepts(sm.Grammar.from_ebnf('root ::= "q: " %sql'), "q: SELECT a FROM t")
    schema = {"t": ["a"]}
    given = {"sql": sm.Grammar.from_sql("sqlite", schema=schema)}
    grammar = sm.Grammar.from_ebnf('root ::= "q: " %sql', grammars=given)
    assert accepts(grammar, "q: SELECT a FROM t")
    assert not accepts(grammar, "q: SELECT b FROM t")


def test_stateful_parts_keep_their_state_to_themselves() -> None:
    tags = sm.Grammar.from_ebnf('root ::= "<" @push([a-z]+) ">" @top')
    grammar = sm.Grammar.from_ebnf("root ::= @push([0-9]) tags tags @top", grammars={"tags": tags})
    assert accepts(grammar, "1<a>a<b>b1")
    assert not accepts(grammar, "1<a>a<b>bb")
    with pytest.raises(sm.GrammarError, match="G120"):
        sm.Grammar.from_ebnf('%stack "x" root ::= @top tags', grammars={"tags": tags})


@pytest.mark.parametrize(
    ("schema", "marked", "message"),
    [
        ('{"properties": {"a/b": {"type": "objct"}}}', '"objct"', "#/properties/a~1b: `type`"),
        ('{"x": [",", {"items": 1}], "items": {"minItems": -1}}', "-1", "#/items: `minItems`"),
        ('{"anyOf": [true, {"type": "string"}, {"maxLength": "1"}]}', '"1"', "#/anyOf/2: `maxLength`"),
        ('{"properties": {"a": {"$ref": "#/$defs/x"}}}', '"#/$defs/x"', "#/properties/a: `$ref`"),
        ('{"not": {}}', "{", "no value is valid"),
        ('{"a": [[]], "required": 1, "b": {}}', "1", "`required`"),
    ],
)
def test_problems_of_a_schema_have_their_place_in_it(schema: str, marked: str, message: str) -> None:
    text = f'root ::= "é" x\nx ::= %json\n  {schema} # end'
    [problem] = problems(text)
    assert problem.code == "G020"
    assert message in problem.message
    assert problem.span is not None
    assert text[problem.span.start : problem.span.end] == marked
    key = problem.message.partition(": `")[2].partition("`")[0]
    if key:
        assert text[: problem.span.start].rstrip().endswith(f'"{key}":')


def test_names_are_written_without_a_sign() -> None:
    [problem] = problems("root ::= %order", grammars=GIVEN)
    assert problem.help == "`order` is a rule or a grammar given by name: write it without `%`"
    found = problems('root ::= @word\nword ::= "a"')
    assert found[0].help == "`word` is a rule or a grammar given by name: write it without `@`"
    assert problems("root ::= %regx /a/")[0].help == "did you mean `%regex`?"


def test_markers_are_tokens_where_the_vocabulary_has_them() -> None:
    inner = sm.Grammar.from_ebnf('root ::= %marker "<t>"')
    grammar = sm.Grammar.from_ebnf('root ::= inner [a-z] %marker "</t>"', grammars={"inner": inner})
    assert accepts(grammar, "<t>a</t>")
    dump = grammar.for_vocabulary(["<t>"]).dump()
    assert "<t>" in dump
    assert '"<t>"' not in dump
    assert '"</t>"' in dump


def test_a_structural_tag_may_hold_parts() -> None:
    format = {"type": "grammar", "grammar": 'root ::= "n=" %json {"type": "integer"}'}
    grammar = sm.Grammar.from_structural_tag({"type": "structural_tag", "format": format})
    assert accepts(grammar, "n=12")


def test_problems_name_the_part_and_its_place() -> None:
    [found] = problems('root ::= "a"\n  %json {"properties": {"a": {"type": "intger"}}}')
    assert found.code == "G020"
    assert "/properties/a" in found.message
    assert found.span is not None
    assert found.span.start == 51  # `"intger"`
    [found] = problems("root ::= %regex /ab(/")
    assert found.span is not None
    assert (found.code, found.span.start) == ("G008", 19)
    [found] = problems("root ::= a | %choice [1]  a ::= 'x'")
    assert found.code == "G020"
    codes = [found.code for found in problems('root ::= %json {"a": } b ::= c  d ::= %json [')]
    assert codes == ["G020", "G003", "G020"]


def test_grammars_given_are_checked() -> None:
    [found] = problems('root ::= "a" order  order ::= "b"', grammars=GIVEN)
    assert found.code == "G004"
    with pytest.raises(sm.StackmaskError, match="not the name of a rule"):
        sm.Grammar.from_ebnf('root ::= "a"', grammars={"a b": GIVEN["order"]})
    with pytest.raises(sm.StackmaskError, match="is a Grammar, not str"):
        sm.Grammar.from_ebnf('root ::= "a"', grammars={"a": "b"})  # type: ignore[dict-item]
