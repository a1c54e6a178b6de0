"""XGrammar's interface over this engine: the same program prints the same, and what differs is as the page says."""

from __future__ import annotations

import copy
import importlib.util
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from repository.tree import REPO

torch = pytest.importorskip("torch")
pytest.importorskip("pydantic")

import stackmask as sm
import stackmask.compat.xgrammar as xgr
from stackmask.runtime.compat.xgrammar.errors import XGrammarError

PROGRAM = REPO / "examples" / "from_xgrammar.py"
RECORDED = (REPO / "tests" / "runtime" / "compat" / "xgrammar-0.2.8.txt").read_text(encoding="utf-8")
BYTES = [bytes([i]) for i in range(256)]
STOP = 256


def output_of(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.fixture(scope="module")
def info() -> xgr.TokenizerInfo:
    return xgr.TokenizerInfo([*BYTES, b"</s>"])


@pytest.fixture(scope="module")
def compiler(info: xgr.TokenizerInfo) -> xgr.GrammarCompiler:
    return xgr.GrammarCompiler(info)


def accepted(compiler: xgr.GrammarCompiler, grammar: xgr.Grammar, *texts: str) -> list[str]:
    def accepts(text: str) -> bool:
        matcher = xgr.GrammarMatcher(compiler.compile_grammar(grammar))
        return matcher.accept_string(text) and matcher.is_completed()

    return [text for text in texts if accepts(text)]


def allowed(matcher: xgr.GrammarMatcher, size: int = 257) -> list[int]:
    mask = xgr.allocate_token_bitmask(1, size)
    matcher.fill_next_token_bitmask(mask)
    return [i for i in range(size) if mask[0, i // 32] >> (i % 32) & 1]


@pytest.mark.campaign
def test_the_program_prints_what_xgrammar_printed() -> None:
    assert output_of() == RECORDED


@pytest.mark.skipif(importlib.util.find_spec("xgrammar") is None, reason="XGrammar is not installed")
def test_the_record_is_what_xgrammar_prints() -> None:
    assert output_of("xgrammar") == RECORDED


def test_all_names_are_there() -> None:
    assert [name for name in xgr.__all__ if not hasattr(xgr, name)] == []
    assert xgr.contrib.hf.LogitsProcessor is xgr.hf.LogitsProcessor
    assert xgr.bitmask_dtype == torch.int32
    with pytest.raises(AttributeError, match="no attribute"):
        _ = xgr.Matcher


# -- vocabularies ---------------------------------------------------------------------------------------------


def test_stop_tokens_are_known_by_name(info: xgr.TokenizerInfo) -> None:
    assert info.stop_token_ids == [STOP]
    assert xgr.TokenizerInfo(["<eos>", "a", "<|im_end|>"]).stop_token_ids == [0]
    assert xgr.TokenizerInfo(["a", "b"], stop_token_ids=1).stop_token_ids == [1]


def test_padding_and_empty_tokens_are_special() -> None:
    padded = xgr.TokenizerInfo(["a", "", "b", "</s>"], vocab_size=6)
    assert padded.vocab_size == 6
    assert padded.special_token_ids == [1, 4, 5]
    assert padded.decoded_vocab == [b"a", b"", b"b", b"</s>"]
    with pytest.raises(RuntimeError, match="size is 3"):
        xgr.TokenizerInfo(["a", "", "b", "</s>"], vocab_size=3)


def test_vocabularies_are_decoded_by_their_type() -> None:
    level = xgr.TokenizerInfo(["Ġa", "Ċ", "▁b"], xgr.VocabType.BYTE_LEVEL)
    assert level.decoded_vocab == [b" a", b"\n", "▁b".encode()]
    fallback = xgr.TokenizerInfo(["Ġa", "<0x41>", "▁b", "<0xZZ>"], xgr.VocabType.BYTE_FALLBACK)
    assert fallback.decoded_vocab == ["Ġa".encode(), b"A", b" b", b"<0xZZ>"]
    assert fallback.vocab_type is xgr.VocabType.BYTE_FALLBACK


def test_a_tokenizer_of_transformers() -> None:
    pytest.importorskip("transformers")
    from stackmask.runtime.embedded import load_embedded

    _, tokenizer = load_embedded()
    read = xgr.TokenizerInfo.from_huggingface(tokenizer)
    assert read.stop_token_ids == [tokenizer.eos_token_id]
    assert read.vocab_size == len(tokenizer)
    assert len(read.decoded_vocab) == len(tokenizer)
    again = xgr.TokenizerInfo.deserialize_json(read.serialize_json())
    assert again.vocabulary.digest() == read.vocabulary.digest()
    assert again.decoded_vocab == read.decoded_vocab
    with pytest.raises(ValueError, match="empty"):
        xgr.TokenizerInfo.from_huggingface(tokenizer, stop_token_ids=[])


def test_metadata_go_round(info: xgr.TokenizerInfo) -> None:
    again = xgr.TokenizerInfo.from_vocab_and_metadata([*BYTES, b"</s>"], info.dump_metadata())
    assert again.vocabulary.digest() == info.vocabulary.digest()
    with pytest.raises(xgr.DeserializeFormatError):
        xgr.TokenizerInfo.from_vocab_and_metadata([b"a"], "{}")


# -- grammars -------------------------------------------------------------------------------------------------


def test_strict_mode_closes_what_the_schema_leaves_open(compiler: xgr.GrammarCompiler) -> None:
    texts = ['{"a":1}', '{"a":1,"c":2}', '{"c":2}', "{}"]
    closed = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert accepted(compiler, xgr.Grammar.from_json_schema(closed), *texts) == ['{"a":1}', "{}"]
    assert accepted(compiler, xgr.Grammar.from_json_schema(closed, strict_mode=False), *texts) == texts
    said = {**closed, "additionalProperties": True}
    assert accepted(compiler, xgr.Grammar.from_json_schema(said), *texts) == texts
    assert accepted(compiler, xgr.Grammar.from_json_schema({"type": "object"}), *texts) == texts
    pair = {"type": "array", "prefixItems": [{"type": "integer"}]}
    assert accepted(compiler, xgr.Grammar.from_json_schema(pair), "[]", "[1]", "[1,2]") == ["[]", "[1]"]


def test_strict_mode_closes_parts_of_one_object_together(compiler: xgr.GrammarCompiler) -> None:
    def has(name: str) -> dict[str, Any]:
        return {"type": "object", "properties": {name: {"type": "integer"}}}

    both = xgr.Grammar.from_json_schema({"allOf": [has("a"), has("b")]})
    assert accepted(compiler, both, '{"a":1,"b":2}', '{"a":1}', '{"c":1}') == ['{"a":1,"b":2}', '{"a":1}']
    either = xgr.Grammar.from_json_schema({"anyOf": [has("a"), has("b")]})
    assert accepted(compiler, either, '{"a":1}', '{"b":1}', '{"a":1,"b":2}') == ['{"a":1}', '{"b":1}']


def test_names_and_data_are_no_keywords(compiler: xgr.GrammarCompiler) -> None:
    schema = {"type": "object", "properties": {"properties": {"const": {"properties": 1}}}}
    grammar = xgr.Grammar.from_json_schema(schema)
    assert accepted(compiler, grammar, '{"properties":{"properties":1}}', '{"x":1}') == [
        '{"properties":{"properties":1}}'
    ]


def test_integers_are_digits_and_keys_plain(compiler: xgr.GrammarCompiler) -> None:
    grammar = xgr.Grammar.from_json_schema({"type": "object", "properties": {"a": {"type": "integer"}}})
    texts = ['{"a":-0}', '{"a":1.0}', '{"a":1e2}', '{"\\u0061":1}', '{"a": -12}']
    assert accepted(compiler, grammar, *texts) == ['{"a": -12}']


def test_schemas_of_classes(compiler: xgr.GrammarCompiler) -> None:
    from pydantic import BaseModel

    class Point(BaseModel):
        x: int

    assert accepted(compiler, xgr.Grammar.from_json_schema(Point), '{"x": 1}', "{}") == ['{"x": 1}']
    with pytest.raises(ValueError, match="pydantic"):
        xgr.Grammar.from_json_schema(3)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: xgr.Grammar.from_ebnf("root ::= x"), RuntimeError),
        (lambda: xgr.Grammar.from_ebnf('a ::= "x"'), RuntimeError),
        (lambda: xgr.Grammar.from_regex("("), RuntimeError),
        (lambda: xgr.Grammar.from_json_schema("{"), RuntimeError),
        (lambda: xgr.Grammar.from_json_schema({"type": 3}), RuntimeError),
        (lambda: xgr.Grammar.from_structural_tag("{"), xgr.InvalidJSONError),
        (lambda: xgr.Grammar.from_structural_tag("{}"), xgr.InvalidStructuralTagError),
        (lambda: xgr.Grammar.from_structural_tag(3), TypeError),
        (lambda: xgr.Grammar.from_structural_tag(), TypeError),
        (lambda: xgr.Grammar.union(3), TypeError),
        (lambda: xgr.GrammarMatcher(3), ValueError),
        (lambda: xgr.GrammarCompiler(3), ValueError),
    ],
)
def test_errors_are_of_the_types_that_code_catches(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        make()
    assert isinstance(caught.value, sm.StackmaskError | TypeError)


def test_errors_keep_their_cause() -> None:
    with pytest.raises(RuntimeError) as caught:
        xgr.Grammar.from_ebnf("root ::= other")
    assert isinstance(caught.value.__cause__, sm.GrammarError)
    assert caught.value.__cause__.diagnostics[0].code == "G003"


def test_grammars_go_round_as_json(compiler: xgr.GrammarCompiler, info: xgr.TokenizerInfo) -> None:
    item = xgr.Grammar.from_json_schema({"enum": ["b", "a"]}, max_whitespace_cnt=2)
    both = xgr.Grammar.concat(xgr.Grammar.union(item, xgr.Grammar.from_regex("x")), item)
    again = xgr.Grammar.deserialize_json(both.serialize_json())
    assert str(again) == str(both)
    assert accepted(compiler, again, '"a""b"', 'x"a"', "x") == ['"a""b"', 'x"a"']
    compiled = compiler.compile_grammar(both)
    assert xgr.CompiledGrammar.deserialize_json(compiled.serialize_json(), info).grammar.native is not None
    with pytest.raises(xgr.DeserializeFormatError, match="another vocabulary"):
        xgr.CompiledGrammar.deserialize_json(compiled.serialize_json(), xgr.TokenizerInfo(["a"]))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{", xgr.InvalidJSONError),
        ("[]", xgr.DeserializeFormatError),
        ('{"__VERSION__": "v16"}', xgr.DeserializeVersionError),
        ('{"__VERSION__": "stackmask-1", "kind": "TokenizerInfo", "value": 1}', xgr.DeserializeFormatError),
        ('{"__VERSION__": "stackmask-1", "kind": "Grammar", "value": {}}', xgr.DeserializeFormatError),
        (
            '{"__VERSION__": "stackmask-1", "kind": "Grammar", "value": {"kind": "ebnf"}}',
            xgr.DeserializeFormatError,
        ),
    ],
)
def test_foreign_json_is_refused(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        xgr.Grammar.deserialize_json(text)


def test_recipes_that_nest_too_deeply_are_refused() -> None:
    value: Any = {"kind": "regex", "pattern": "a"}
    for _ in range(200):
        value = {"kind": "union", "parts": [value]}
    from stackmask.runtime.compat.xgrammar.records import write_record

    with pytest.raises(xgr.DeserializeFormatError, match="deep"):
        xgr.Grammar.deserialize_json(write_record("Grammar", value))


def test_structural_tags_as_classes(compiler: xgr.GrammarCompiler) -> None:
    formats = xgr.structural_tag
    tag = xgr.StructuralTag(
        format=formats.SequenceFormat(
            elements=[
                formats.ConstStringFormat(value="x"),
                formats.TagFormat(begin="<a>", content=formats.RegexFormat(pattern="[0-9]+"), end="</a>"),
            ]
        )
    )
    compiled = compiler.compile_structural_tag(tag)
    assert compiled is compiler.compile_structural_tag(tag.model_dump_json())
    assert compiled is compiler.compile_structural_tag(
        structural_tag=xgr.StructuralTag.from_json(tag.model_dump())
    )
    assert accepted(compiler, compiled.grammar, "x<a>12</a>", "<a>1</a>") == ["x<a>12</a>"]
    items = [xgr.StructuralTagItem(begin="<f>", schema={"type": "boolean"}, end="</f>")]
    older = xgr.Grammar.from_structural_tag(items, ["<f>"])
    newer = xgr.Grammar.from_structural_tag(xgr.StructuralTag.from_legacy_structural_tag(items, ["<f>"]))
    for grammar in (older, newer):
        assert accepted(compiler, grammar, "a<f>true</f>b", "<f>1</f>") == ["a<f>true</f>b"]


# -- compilers and matchers -----------------------------------------------------------------------------------


def test_compiled_grammars_are_remembered(info: xgr.TokenizerInfo) -> None:
    remembers = xgr.GrammarCompiler(info, cache_limit_bytes=1 << 24)
    schema = {"type": "object", "properties": {"b": {"const": 1}, "a": {"const": 2}}, "required": ["a", "b"]}
    swapped = {**schema, "properties": {"a": {"const": 2}, "b": {"const": 1}}}
    first = remembers.compile_json_schema(schema)
    assert remembers.compile_json_schema(schema) is first
    assert (
        remembers.compile_json_schema(swapped) is not first
    )  # the order of properties is part of the language
    assert remembers.cache_limit_bytes == 1 << 24
    assert remembers.get_cache_size_bytes() > 0
    assert first.memory_size_bytes > 0
    remembers.clear_cache()
    assert remembers.compile_json_schema(schema) is not first
    forgets = xgr.GrammarCompiler(info, cache_enabled=False)
    assert forgets.compile_regex("a") is not forgets.compile_regex("a")


def test_after_the_end_there_is_no_mask(compiler: xgr.GrammarCompiler) -> None:
    matcher = xgr.GrammarMatcher(compiler.compile_regex("ab"))
    assert matcher.accept_string("ab")
    assert allowed(matcher) == [STOP]
    assert matcher.accept_token(STOP)
    assert (matcher.is_terminated(), matcher.is_completed(), matcher.accept_string("a")) == (
        True,
        True,
        False,
    )
    with pytest.raises(RuntimeError, match="has ended"):
        allowed(matcher)
    with pytest.raises(RuntimeError, match="has ended"):
        matcher.find_jump_forward_string()
    with pytest.raises(RuntimeError, match="roll back 5"):
        matcher.rollback(5)
    matcher.rollback()
    assert allowed(matcher) == [STOP]


def test_without_stop_tokens_the_last_mask_is_empty() -> None:
    matcher = xgr.GrammarMatcher(xgr.GrammarCompiler(xgr.TokenizerInfo(["a", "b"])).compile_regex("a"))
    assert matcher.accept_token(0)
    assert allowed(matcher, 2) == []
    mask = xgr.allocate_token_bitmask(1, 2)
    xgr.BatchGrammarMatcher().batch_fill_next_token_bitmask([matcher], mask)
    assert not mask.any()


def test_temperatures_are_the_matchers_own(compiler: xgr.GrammarCompiler) -> None:
    compiled = compiler.compile_regex("ab")
    warm, plain = xgr.GrammarMatcher(compiled, default_temperature=0.5), xgr.GrammarMatcher(compiled)
    found = torch.zeros(3)
    xgr.BatchGrammarMatcher.batch_fill_temperature([warm, plain], found, [2, 0])
    assert found.tolist() == [-1.0, 0.0, 0.5]
    mask = xgr.allocate_token_bitmask(2, 257)
    one = [torch.tensor(column) for column in ([1, -1], [-1, -1], [0, ord("a")])]
    warm.traverse_draft_tree(*one, mask, temperatures=found)
    assert found.tolist() == [0.5, 0.5, 0.5]
    assert warm.get_captures() == []


def test_draft_trees_in_arrays_and_in_any_order(compiler: xgr.GrammarCompiler) -> None:
    matcher = xgr.GrammarMatcher(compiler.compile_grammar('root ::= "ab" | "cd"'))
    mask = np.full((5, 9), -1, dtype=np.int32)
    # node 3 is the first child, 1 its sibling, 2 the child of 3; node 4 is not reached
    assert matcher.traverse_draft_tree([3, -1, -1, 2, -1], [-1, -1, -1, 1, -1], [0, 99, 98, 97, 0], mask)
    rows = [np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist() for row in mask]
    assert rows[:4] == [[97, 99], [100], [256], [98]]
    assert (mask[4] == -1).all()
    for links in ([1, 0], [5, -1]):
        with pytest.raises(RuntimeError, match="node"):
            matcher.traverse_draft_tree(links, [-1, -1], [0, 97], mask)
    with pytest.raises(RuntimeError, match="rows"):
        matcher.traverse_draft_tree([-1] * 9, [-1] * 9, [0] * 9, mask)


def test_batches_need_one_for_each(compiler: xgr.GrammarCompiler) -> None:
    matchers = [xgr.GrammarMatcher(compiler.compile_regex("ab")) for _ in range(2)]
    with pytest.raises(RuntimeError, match="2 matchers and 1 tokens"):
        xgr.BatchGrammarMatcher.batch_accept_token(matchers, [1])
    assert xgr.BatchGrammarMatcher.batch_accept_token(matchers, [97, 97]) == [True, True]
    xgr.BatchGrammarMatcher.batch_rollback(matchers)
    assert xgr.BatchGrammarMatcher.batch_accept_string(matchers, ["a", b"ab"]) == [True, True]


def test_debug_prints_the_states(compiler: xgr.GrammarCompiler, capsys: pytest.CaptureFixture[str]) -> None:
    xgr.GrammarMatcher(compiler.compile_regex("ab")).accept_string("a", debug_print=True)
    assert capsys.readouterr().out.strip()


# -- bitmasks -------------------------------------------------------------------------------------------------


def test_logits_past_the_mask_stay() -> None:
    mask = torch.zeros((2, 3), dtype=torch.int32)
    logits = torch.zeros(2, 80)
    xgr.apply_token_bitmask_inplace(logits, mask, vocab_size=70)
    assert torch.isinf(logits).sum(1).tolist() == [70, 70]
    logits = torch.zeros(2, 80)
    with pytest.warns(UserWarning, match="covers 64 tokens"):
        xgr.apply_token_bitmask_inplace(logits, mask[:, :2])
    assert torch.isinf(logits).sum(1).tolist() == [64, 64]


def test_rows_may_differ_where_indices_choose() -> None:
    mask = torch.zeros((2, 3), dtype=torch.int32)
    logits = torch.zeros(3, 70)
    xgr.apply_token_bitmask_inplace(logits, mask, indices=[1], backend="torch_native")
    assert torch.isinf(logits).sum(1).tolist() == [0, 70, 0]
    one = torch.zeros(70)
    xgr.apply_token_bitmask_inplace(one, mask[:1])
    assert torch.isinf(one).all()
    with pytest.raises(ValueError, match="backend"):
        xgr.apply_token_bitmask_inplace(one, mask[0], backend="cpus")  # type: ignore[arg-type]


def test_recursion_depth_is_kept_for_callers() -> None:
    with xgr.max_recursion_depth(5):
        assert xgr.get_max_recursion_depth() == 5
    assert xgr.get_max_recursion_depth() == 10_000


def test_the_logits_processor() -> None:
    pytest.importorskip("transformers")
    from stackmask.runtime.embedded import load_embedded

    model, tokenizer = load_embedded()
    info = xgr.TokenizerInfo.from_huggingface(tokenizer, vocab_size=model.config.vocab_size)
    compiled = xgr.GrammarCompiler(info).compile_regex("(yes|no)!")
    processor = xgr.contrib.hf.LogitsProcessor(compiled)
    inputs = tokenizer("open?", return_tensors="pt", add_special_tokens=False)
    for _ in range(2):
        ids = model.generate(**inputs, logits_processor=[processor], max_new_tokens=12, do_sample=False)
        written = tokenizer.decode(ids[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        assert written in ("yes!", "no!")


def test_importing_it_brings_nothing_heavy() -> None:
    script = (
        "import sys; import stackmask.compat.xgrammar; "
        "print(sorted({'torch', 'pydantic', 'transformers'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_lark_is_read(compiler: xgr.GrammarCompiler) -> None:
    assert accepted(compiler, xgr.Grammar.from_lark('start: "a"'), "a", "b") == ["a"]
    with pytest.raises(XGrammarError, match="undefined rule `b`"):
        compiler.compile_lark("start: b")
    with pytest.raises(XGrammarError, match="named_grammars"):
        xgr.Grammar.from_lark('start: "a"', named_grammars={"x": "start: 'b'"})


def test_masks_that_do_not_fit_raise_what_xgrammar_raises() -> None:
    mask = xgr.allocate_token_bitmask(2, 64)
    with pytest.raises(RuntimeError, match="row 5"):
        xgr.apply_token_bitmask_inplace(torch.zeros((2, 64)), mask, indices=[5])


def test_objects_are_shown_as_the_engine_shows_its_own(
    compiler: xgr.GrammarCompiler, info: xgr.TokenizerInfo
) -> None:
    compiled = compiler.compile_grammar('root ::= "a" "b"')
    matcher = xgr.GrammarMatcher(compiled)
    shown = [repr(each).partition(": ")[0] for each in (info, compiler, compiled, compiled.grammar, matcher)]
    names = ("TokenizerInfo", "GrammarCompiler", "CompiledGrammar", "Grammar", "GrammarMatcher")
    assert shown == [f"<compat.xgrammar.{name}" for name in names]
    other = copy.copy(matcher)
    assert other.accept_string("a") and matcher.accept_string("a")
