"""``stackmask compare``: what the argument is, which text is followed, what the table, the JSON and the plot say."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import stackmask as sm
from stackmask.runtime.cli.app import app
from stackmask.runtime.cli.comparing import type_subject
from stackmask.runtime.comparison import ComparisonError, Limits, Subject, compare, read_subject
from stackmask.runtime.comparison.engines import FSM, PUSHDOWN, ascii_classes, bare_pattern, installed_peers
from stackmask.runtime.comparison.measuring import _how_it_ended
from stackmask.runtime.comparison.result import Comparison, Difference, _difference, _explained, running_total
from stackmask.runtime.comparison.tokenizer import (
    Greedy,
    Tokenizer,
    draw_text,
    given_text,
    load_tokenizer,
    longest_matches,
)

LETTERS = sm.Vocabulary([b"a", b"b", b"ab", b"(", b")", b"((", b"1", None], stop_ids=[7])
TOKENS = Tokenizer("letters", LETTERS, Greedy(LETTERS))
NESTED = Subject("grammar", 'root ::= "a" | "(" root ")"')


def call(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["compare", *arguments])


def assert_refused(result: Any, message: str) -> None:
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr
    assert "Traceback" not in result.stderr


# what the argument is ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "kind"),
    [
        (r"\d{3}-\d{4}", "regex"),
        ("a.json|b", "regex"),
        (r"[a-z]+\.json", "regex"),
        ("{3}", "regex"),
        ("/a+/", "regex"),
        ('{"type": "string"}', "schema"),
        ('root ::= "a"', "grammar"),
        ("json", "grammar"),
    ],
)
def test_argument_is_told_apart(argument: str, kind: str) -> None:
    assert read_subject(argument).kind == kind


def test_files_are_told_apart_by_their_ending(tmp_path: Path) -> None:
    schema, grammar, other = tmp_path / "s.json", tmp_path / "g.EBNF", tmp_path / "x.txt"
    schema.write_text('{"type": "integer"}')
    grammar.write_text('root ::= "b"')
    other.write_text('root ::= "c"')
    assert read_subject(str(schema)) == Subject("schema", '{"type": "integer"}', origin=str(schema))
    assert read_subject(str(grammar)).source == 'root ::= "b"'
    with pytest.raises(ComparisonError, match="say what it is with --grammar or --schema"):
        read_subject(str(other))
    assert read_subject(str(other), "grammar").source == 'root ::= "c"'


def test_a_pattern_may_stand_between_slashes() -> None:
    assert read_subject("/a/b/") == Subject("regex", "a/b")
    assert read_subject("//") == Subject("regex", "//")
    assert read_subject("/a/", "regex") == Subject("regex", "/a/")


def test_a_type_is_its_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shapes_to_compare.py").write_text(
        "import typing\nclass Point(typing.TypedDict):\n    x: int\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    subject = type_subject("shapes_to_compare:Point")
    assert subject.title == "shapes_to_compare:Point" and subject.schema()["required"] == ["x"]
    refused = call("shapes_to_compare:Line", "--no-peers")
    assert refused.exit_code == 2 and "has no Line; its classes: Point" in refused.stderr


def test_kind_can_be_forced() -> None:
    assert read_subject("json", "regex") == Subject("regex", "json")
    assert read_subject("true", "schema").schema() is True
    assert call("a", "--regex", "--schema").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.json"], "no such schema file: missing.json"),
        (["missing.ebnf"], "no such grammar file: missing.ebnf"),
        (["{", "--schema"], "is not JSON"),
        ([""], "nothing to compare"),
        (["x("], "unclosed group"),
        (["root ::= item"], "undefined rule `item`"),
        (['{"type": "strin"}'], "strin"),
        (["a", "--tokenizer", "no/such/tokenizer.json"], "no such tokenizer: no/such/tokenizer.json"),
        (["a", "--json", "no/such/folder/x.json"], "no such folder"),
        (["ab*", "--text", "aXb"], "the text is not in the language"),
        (["é+", "--text", "é\udcc3"], "the text is not UTF-8"),
    ],
)
def test_bad_input_is_one_clear_error(arguments: list[str], message: str) -> None:
    assert_refused(call(*arguments), message)


def test_text_outside_the_language_is_shown_with_a_caret() -> None:
    result = call("ab*", "--text", "abXb")
    assert "<text>:1:3" in result.stderr and "expected" in result.stderr and "^" in result.stderr


# the text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["json", "arithmetic", "xml"])
def test_drawn_texts_are_in_the_language_and_repeatable(name: str) -> None:
    tokenizer = load_tokenizer(None)
    compiled = sm.Compiler(tokenizer.vocabulary).compile(sm.Grammar.bundled(name))
    texts = [draw_text(compiled.grammar, seed) for seed in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]
    for text in texts:
        matcher = compiled.matcher()
        assert matcher.accept_string(text.data)
        assert matcher.is_accepting() == text.complete
        assert given_text(compiled, text.shown).data == text.data


def test_only_text_of_a_language_is_drawn() -> None:
    assert draw_text(sm.Grammar.from_regex("yes"), 5).data == b"yes"


def test_longest_tokens_first() -> None:
    assert longest_matches(LETTERS, b"abb((a") == [2, 1, 5, 0]
    with pytest.raises(ComparisonError, match="spells the byte 0x7A"):
        longest_matches(LETTERS, b"z")


# the tokenizer -----------------------------------------------------------------------------------


def test_embedded_tokenizer_works_offline_and_can_be_sent_to_processes() -> None:
    tokenizer = pickle.loads(pickle.dumps(load_tokenizer(None)))
    assert tokenizer.vocabulary.decode(tokenizer.encode(b"SELECT 1")) == b"SELECT 1"
    assert tokenizer.vocabulary.stop_ids


def test_saved_vocabulary_is_a_tokenizer(tmp_path: Path) -> None:
    file = tmp_path / "letters.vocabulary"
    LETTERS.save(file)
    tokenizer = load_tokenizer(str(file))
    assert tokenizer.encode(b"ab") == [2]


def test_ranks_are_a_tokenizer(tmp_path: Path) -> None:
    pytest.importorskip("tiktoken")
    file = tmp_path / "x.tiktoken"
    file.write_text("YQ== 0\nYg== 1\nYWI= 2\n")
    tokenizer = load_tokenizer(str(file))
    assert tokenizer.encode(b"aba") == [2, 0]
    assert tokenizer.vocabulary.stop_ids == (3,)


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    for name, content in (("tokenizer.json", "{}"), ("x.vocabulary", "nonsense")):
        file = tmp_path / name
        file.write_text(content)
        with pytest.raises(ComparisonError, match="cannot load the tokenizer"):
            load_tokenizer(str(file))
    (tmp_path / "tokenizer.json.xz").write_bytes(b"nonsense")
    with pytest.raises(ComparisonError, match="cannot load the tokenizer"):
        load_tokenizer(str(tmp_path / "tokenizer.json.xz"))
    LETTERS.__class__([b"a"]).save(tmp_path / "endless.vocabulary")
    with pytest.raises(ComparisonError, match="does not say which token ends a text"):
        load_tokenizer(str(tmp_path / "endless.vocabulary"))


# the measurement ---------------------------------------------------------------------------------


def column(result: Comparison, name: str) -> Any:
    return next(c for c in result.columns if c.name == name)


def test_pattern_is_measured_on_both_engines() -> None:
    result = compare(Subject("regex", "a(b|1)*b"), TOKENS, text="abb1b", peers=False)
    ours, fsm = column(result, PUSHDOWN), column(result, FSM)
    assert ours.refusal is None and fsm.refusal is None
    assert result.tokens == 4 and len(ours.first_pass) == len(fsm.again) == 5
    assert result.differences[FSM].places == 0 and result.differences[FSM].compared == 5
    assert result.is_equal
    assert fsm.states == 3 and fsm.memory_bytes > 0 and ours.memory_bytes > 0
    assert ours.forced_tokens == fsm.forced_tokens == 0  # `ab` is more than the forced `a`
    assert json.loads(json.dumps(result.document()))["engines"][FSM]["states"] == 3


@pytest.mark.campaign
def test_recursion_is_refused_without_a_depth_and_differs_beyond_it() -> None:
    result = compare(NESTED, TOKENS, text="(((a)))", depths=[1, 4], peers=False)
    assert "recursive" in column(result, FSM).refusal
    shallow, deep = column(result, "FSM, depth 1"), column(result, "FSM, depth 4")
    assert shallow.stopped_at == 0 or result.differences["FSM, depth 1"].places > 0
    found = result.differences["FSM, depth 1"]
    assert not found.allowed and found.text in ("(", "((")
    assert deep.stopped_at is None and deep.states > shallow.states
    assert result.is_equal  # a bound on recursion is another language


def test_forced_text_is_counted_in_tokens() -> None:
    result = compare(Subject("regex", "(1ab){2}a?"), TOKENS, text="1ab1ab", peers=False)
    assert result.tokens == 4
    assert column(result, PUSHDOWN).forced_tokens == column(result, FSM).forced_tokens == 4


def test_what_takes_too_long_is_a_result() -> None:
    result = compare(Subject("regex", "a"), TOKENS, text="a", peers=False, limits=Limits(seconds=0.01))
    assert [c.refusal for c in result.columns] == ["not ready after 0.01 s"] * 2
    assert "signal 9" in _how_it_ended(-9, Limits()) and "status 3" in _how_it_ended(3, Limits())


def test_tables_that_do_not_fit_are_refused_with_the_estimate() -> None:
    result = compare(Subject("regex", "[ab]*a[ab]{14}"), TOKENS, peers=False, limits=Limits(memory=1 << 16))
    assert column(result, PUSHDOWN).refusal is None
    assert "memory" in column(result, FSM).refusal


def test_differences_name_the_first_token() -> None:
    ours = np.zeros((3, 2), np.int32)
    theirs = ours.copy()
    theirs[1, 1] = 1 << 4 | 1 << 9
    ours[2, 0] = 1
    found = _difference(ours, theirs, [3, 2], [b"x"] * 64)
    assert (found.compared, found.places, found.position, found.offset) == (3, 2, 1, 3)
    assert (found.token, found.text, found.tokens, found.allowed) == (36, "x", 2, True)
    assert _difference(ours, ours[:2], [3, 2], [b"x"] * 64).places == 0


def test_a_difference_has_its_reason() -> None:
    subject = Subject("schema", '{"type": "integer"}', profile="model")
    for text, allowed, why in (
        (".", True, "--profile exact"),
        ("x", True, "no string"),
        ("1", False, "begin so"),
    ):
        found = Difference(1, 1, 1, 1, 0, text, 1, allowed)
        assert why in _explained(found, subject.grammar(), b"1").why


# peers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "bare"),
    [
        ("^a$", "a"),
        (r"a\$", r"a\$"),
        ("^a|b$", "^a|b$"),
        (r"\d[\w\]d]\D[^\w]", r"[0-9][0-9A-Za-z_\]d][^0-9][^0-9A-Za-z_]"),
    ],
)
def test_patterns_are_handed_over_without_anchors(pattern: str, bare: str) -> None:
    assert bare_pattern(Subject("regex", pattern)) == bare


def test_escaped_backslashes_are_no_classes() -> None:
    assert ascii_classes(r"\\d\d") == r"\\d[0-9]"


def test_installed_libraries_agree_on_a_plain_pattern() -> None:
    if not (names := installed_peers()):
        pytest.skip("none of the libraries is installed")
    result = compare(Subject("regex", r"\d{3}-[a-z]{2}"), load_tokenizer(None), text="123-ab")
    for name in names:
        assert column(result, name).refusal is None
        assert result.differences[name].places == 0


# the command -------------------------------------------------------------------------------------


def test_command_prints_a_table_and_writes_json(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    result = call(r"\d{3}-\d{4}", "--no-peers", "--seed", "3", "--json", str(file))
    assert result.exit_code == 0, result.stderr
    assert "regex: \\d{3}-\\d{4}" in result.stdout and "masks equal to pushdown" in result.stdout
    assert "drawn with seed 3" in result.stdout
    document = json.loads(file.read_text())
    assert document["subject"]["kind"] == "regex" and document["masks equal"]
    assert set(document["engines"]) == {PUSHDOWN, FSM}
    assert document["date"] and document["cpu"] and document["text"]["complete"]


def test_refusals_stand_below_the_table() -> None:
    result = call("json", "--no-peers", "--text", "[1]")
    assert result.exit_code == 0
    assert "refused" in result.stdout and "FSM: rule `value` is recursive" in result.stdout


def test_plot_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "out.svg"
    result = call("a+b", "--no-peers", "--plot", str(file))
    assert result.exit_code == 0, result.stderr
    assert file.read_text().startswith("<?xml")
    assert_refused(call("a", "--plot", str(tmp_path / "out.bmp")), "a plot is written to .svg, .png, .pdf")


def test_plot_without_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = call("a", "--plot", str(tmp_path / "out.svg"))
    assert_refused(result, "needs matplotlib, which is not installed: pip install 'stackmask[bench]'")


def test_running_total_goes_on_with_known_masks() -> None:
    counts, sums = running_total(10.0, [1000.0, 3000.0], [10.0, 30.0], limit=102)
    assert counts[:2] == [1, 2] and sums[:2] == [11.0, 14.0]
    assert counts[-1] >= 102
    assert sums[-1] == pytest.approx(14.0 + (counts[-1] - 2) * 0.02)
