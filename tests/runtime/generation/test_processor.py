"""The logits processor inside ``generate``: every score of every step against a matcher that starts afresh."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from support.campaign import mostly_campaign

from stackmask.grammar.grammar import Grammar
from stackmask.runtime.generation import GrammarLogitsProcessor
from stackmask.runtime.generation import processor as processor_module
from stackmask.runtime.generation.errors import GenerationError
from stackmask.runtime.kernels.bitmask import allocate_token_bitmask
from stackmask.runtime.matching.compiler import CompiledGrammar, Compiler
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

PROMPTS = ["a", "a longer prompt", 'with {"json": 1}', ""]
GRAMMARS = {
    "json": 'root ::= value\nvalue ::= "{" (pair ("," pair)*)? "}" | "[" (value ("," value)*)? "]" | string | "1" [0-9]* | "true"\n'
    'pair ::= string ":" value\nstring ::= "\\"" [a-f]* "\\""',
    "abab": 'root ::= "ab" ("a" | "ab")* "!"?',
    "finite": 'root ::= "a" | "aba" | "12"',
    "call": "root ::= [0-9]{1,3} <call> [a-z]*",
}


@pytest.fixture(scope="module")
def compiled(compiler: Compiler) -> dict[str, CompiledGrammar]:
    return {name: compiler.compile(Grammar.from_ebnf(text)) for name, text in GRAMMARS.items()}


class Checked(GrammarLogitsProcessor):
    """Recompute what each row allows from its ids alone, and compare. ``start``: the width of the prompts."""

    def __init__(self, grammars: Any, start: int = 0) -> None:
        super().__init__(grammars)
        self.listed = list(grammars) if isinstance(grammars, list) else [grammars]
        self.start = start
        self.calls: list[int] = []

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        before = scores.clone()
        result = super().__call__(input_ids, scores)
        assert torch.equal(before, scores), "the given scores were changed"
        self.calls.append(input_ids.shape[1])
        for row, ids in enumerate(input_ids.tolist()):
            grammar = self.listed[row * len(self.listed) // len(input_ids)]
            if grammar is None:
                assert torch.equal(result[row], scores[row])
                continue
            expected = torch.from_numpy(allowed(grammar, ids[self.start :], scores.shape[1]))
            assert torch.equal(torch.isfinite(result[row]), expected & torch.isfinite(scores[row])), (
                row,
                ids,
            )
            assert torch.equal(result[row][expected], scores[row][expected])
        return result


def allowed(grammar: CompiledGrammar, ids: list[int], width: int) -> Any:
    """Return which of ``width`` tokens may follow: by a fresh matcher; after the end, or an error, the stop tokens."""
    vocab = grammar.vocabulary
    matcher = grammar.matcher()
    mask = allocate_token_bitmask(1, vocab.size)
    alive = (
        all(not matcher.is_terminated() and matcher.accept_token(i) for i in ids)
        and not matcher.is_terminated()
    )
    row = np.zeros(width, dtype=bool)
    if alive:
        matcher.fill_next_token_bitmask(mask)
        row[: vocab.size] = np.unpackbits(mask.view(np.uint8), bitorder="little")[: vocab.size]
    else:
        row[list(vocab.stop_ids)] = True
    return row


def encode(tokenizer: Any, prompts: list[str]) -> dict[str, torch.Tensor]:
    rows = [[tokenizer.bos_token_id, *tokenizer(prompt)["input_ids"]] for prompt in prompts]
    width = max(map(len, rows))
    pad = tokenizer.pad_token_id
    return {
        "input_ids": torch.tensor([[pad] * (width - len(r)) + r for r in rows]),
        "attention_mask": torch.tensor([[0] * (width - len(r)) + [1] * len(r) for r in rows]),
    }


def run(model: Any, inputs: dict[str, torch.Tensor], processor: Any, **options: Any) -> list[list[int]]:
    processor.start = inputs["input_ids"].shape[1]
    options = {"max_new_tokens": 24, **options}
    rows = model.generate(**inputs, logits_processor=[processor], **options)
    # prompt lookup of transformers 4 may go one token beyond max_new_tokens
    end = processor.start + options["max_new_tokens"]
    generated: list[list[int]] = rows[:, processor.start : end].tolist()
    return generated


def check_output(grammar: CompiledGrammar, ids: list[int], *, limit: int = 24) -> None:
    """A row is a sentence followed by stop and padding, or a prefix of one that is as long as allowed."""
    stops = [i for i, token in enumerate(ids) if token in grammar.vocabulary.stop_ids]
    text = ids[: stops[0]] if stops else ids
    matcher = grammar.matcher()
    assert all(matcher.accept_token(token) for token in text)
    assert matcher.is_accepting() if stops else len(ids) == limit


MODES: dict[str, dict[str, Any]] = {
    "greedy": {"do_sample": False},
    "sampling": {"do_sample": True, "temperature": 1.5},
    "warped": {"do_sample": True, "top_k": 5, "top_p": 0.8},
    "several": {"do_sample": True, "num_return_sequences": 3},
    "beams": {"num_beams": 4, "do_sample": False},
    "many beams": {"num_beams": 9, "do_sample": False, "num_return_sequences": 2},
    "sampled beams": {"num_beams": 4, "do_sample": True},
    "penalties": {"do_sample": False, "repetition_penalty": 1.4},
}


@pytest.mark.parametrize("mode", mostly_campaign(MODES, 3))
@pytest.mark.parametrize("name", GRAMMARS)
def test_one_grammar_for_a_ragged_batch(
    model: Any, tokenizer: Any, compiled: Any, mode: str, name: str
) -> None:
    processor = Checked(compiled[name])
    rows = run(model, encode(tokenizer, PROMPTS), processor, **MODES[mode])
    assert len(rows) == len(PROMPTS) * MODES[mode].get("num_return_sequences", 1)
    if name != "finite" or "beams" not in mode:  # more beams than sentences: the surplus is nothing
        for ids in rows:
            check_output(compiled[name], ids)


@pytest.mark.parametrize("mode", MODES)
def test_one_grammar_per_row_or_none(model: Any, tokenizer: Any, compiled: Any, mode: str) -> None:
    grammars = [compiled["json"], None, compiled["abab"], compiled["json"]]
    rows = run(model, encode(tokenizer, ["same", "same", "same", "same"]), Checked(grammars), **MODES[mode])
    each = len(rows) // 4
    for i, ids in enumerate(rows):
        grammar = grammars[i // each]
        if grammar is not None:
            check_output(grammar, ids)


def test_rows_without_any_grammar_are_left_alone(model: Any, tokenizer: Any) -> None:
    inputs = encode(tokenizer, PROMPTS)
    free = model.generate(**inputs, max_new_tokens=8, do_sample=False)
    held = model.generate(
        **inputs, max_new_tokens=8, do_sample=False, logits_processor=[GrammarLogitsProcessor([None] * 4)]
    )
    assert torch.equal(free, held)


@pytest.mark.parametrize(
    "options",
    [{"prompt_lookup_num_tokens": 4}, {"prompt_lookup_num_tokens": 12, "max_matching_ngram_size": 1}],
)
@pytest.mark.parametrize("name", GRAMMARS)
def test_prompt_lookup_gives_what_greedy_search_gives(
    model: Any, tokenizer: Any, compiled: Any, name: str, options: dict[str, Any]
) -> None:
    for prompt in ('ab ababab aba {"a": 1} 121212 [[[[[[ true', "12<call>ab 1<call>abc", "a" * 20):
        inputs = encode(tokenizer, [prompt])
        expected = run(model, inputs, Checked(compiled[name]), do_sample=False)
        processor = Checked(compiled[name])
        assert run(model, inputs, processor, do_sample=False, **options) == expected


def test_prompt_lookup_goes_back_and_forth(model: Any, tokenizer: Any, compiled: Any) -> None:
    """The tests above are about rollback only if it happens."""
    steps: list[int] = []
    for name, prompt in (("abab", "ab" * 30), ("json", '["a","ab",1,11]' * 4), ("call", "12<call>abcde" * 5)):
        processor = Checked(compiled[name])
        run(model, encode(tokenizer, [prompt]), processor, do_sample=False, prompt_lookup_num_tokens=6)
        steps += np.diff(processor.calls).tolist()
    assert min(steps) < 0 and max(steps) == 1


def test_drafts_may_hold_refused_tokens(compiled: Any, vocab: Vocabulary) -> None:
    """The calls of assisted decoding where nothing filters the drafts, as in transformers 4."""
    a, b, bad = (vocab.tokens.index(text) for text in (b"a", b"b", b"x"))
    processor = Checked(compiled["abab"], start=2)
    accepted = [7, 7]
    for drafts, corrected in (([bad, a], a), ([b, bad, bad], a), ([a, b, bad], a), ([], b), ([bad], a)):
        ids = torch.tensor([accepted + drafts])
        scores = torch.zeros(1, len(drafts) + 1, vocab.size)
        for i in range(len(drafts) + 1):
            processor(ids[:, : len(accepted) + i], scores[:, i, :])
        legal = next((i for i, token in enumerate(drafts) if token == bad), len(drafts))
        accepted += [*drafts[:legal], corrected]
    assert vocab.decode(accepted[2:]) == b"abaababa"


@pytest.mark.parametrize("sample", [False, True])
def test_assisted_decoding(model: Any, assistant: Any, tokenizer: Any, compiled: Any, sample: bool) -> None:
    for name, grammar in compiled.items():
        inputs = encode(tokenizer, ["prompt"])
        processor = Checked(grammar)
        (ids,) = run(model, inputs, processor, do_sample=sample, assistant_model=assistant)
        check_output(grammar, ids)
        if not sample:
            assert [ids] == run(model, inputs, Checked(grammar), do_sample=False), name


def test_a_processor_serves_one_call_after_another(model: Any, tokenizer: Any, compiled: Any) -> None:
    processor = Checked(compiled["json"])
    batches = [["x"], ["x"], ["xy"], ["xyz"], ["xy", "x"], ["xyz", "y"], ["another one", "y"], ["x"], ["x z"]]
    for mode in MODES.values():
        for batch in batches:
            run(model, encode(tokenizer, batch), processor, max_new_tokens=6, **mode)


def test_prompts_one_token_longer_are_a_new_call(model: Any, tokenizer: Any, compiled: Any) -> None:
    for new_tokens in (1, 2, 7):
        processor = Checked(compiled["json"])
        run(model, encode(tokenizer, ["x"]), processor, max_new_tokens=new_tokens, do_sample=False)
        run(model, encode(tokenizer, ["xy"]), processor, max_new_tokens=5, do_sample=False)


def test_a_chat_goes_on_in_new_calls(model: Any, tokenizer: Any, compiled: Any) -> None:
    processor = Checked(compiled["finite"])
    ids = encode(tokenizer, ["hello"])["input_ids"]
    for turn in range(3):
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        (new,) = run(model, inputs, processor, do_sample=False)
        check_output(compiled["finite"], new)
        said = tokenizer(f" and then {turn}")["input_ids"]
        ids = torch.cat([ids, torch.tensor([new + said])], dim=1)


def test_reset_starts_anew_after_generated_tokens(model: Any, tokenizer: Any, compiled: Any) -> None:
    processor = Checked(compiled["abab"])
    ids = encode(tokenizer, ["hello"])["input_ids"]
    for _ in range(3):
        processor.reset()
        (new,) = run(
            model,
            {"input_ids": ids, "attention_mask": torch.ones_like(ids)},
            processor,
            max_new_tokens=1,
            do_sample=False,
        )
        assert new[0] in (
            tokenizer.convert_tokens_to_ids("a"),
            tokenizer.convert_tokens_to_ids("ab"),
            tokenizer.convert_tokens_to_ids("aba"),
        )
        ids = torch.cat([ids, torch.tensor([new])], dim=1)


def test_scores_wider_than_the_vocabulary(compiled: Any, vocab: Vocabulary) -> None:
    scores = torch.zeros(1, vocab.size + 5)
    result = Checked(compiled["finite"], start=2)(torch.tensor([[1, 2]]), scores)
    assert torch.isneginf(result[0, vocab.size :]).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_dtypes(compiled: Any, vocab: Vocabulary, dtype: torch.dtype) -> None:
    result = Checked(compiled["finite"], start=1)(
        torch.tensor([[1], [2]]), torch.ones(2, vocab.size, dtype=dtype)
    )
    assert result.dtype == dtype


def test_scores_narrower_than_the_vocabulary(compiled: Any, vocab: Vocabulary) -> None:
    with pytest.raises(GenerationError, match=f"scores have 10 columns, .* vocabulary of {vocab.size}"):
        GrammarLogitsProcessor(compiled["json"])(torch.tensor([[1]]), torch.zeros(1, 10))


def test_grammars_must_fit_the_rows(compiled: Any, vocab: Vocabulary) -> None:
    with pytest.raises(GenerationError, match="grammars has 2 entries, but the batch has 3 rows"):
        GrammarLogitsProcessor([compiled["json"]] * 2)(
            torch.ones(3, 1, dtype=torch.int64), torch.zeros(3, vocab.size)
        )
    with pytest.raises(GenerationError, match="grammars is empty"):
        GrammarLogitsProcessor([])


def test_grammars_must_share_the_vocabulary_and_it_must_have_stop_tokens(compiled: Any) -> None:
    other = Compiler(Vocabulary([bytes([b]) for b in range(256)])).compile(Grammar.from_ebnf('root ::= "a"'))
    with pytest.raises(GenerationError, match="different vocabularies"):
        GrammarLogitsProcessor([compiled["json"], other])
    with pytest.raises(GenerationError, match="no stop tokens"):
        GrammarLogitsProcessor(other)


def test_other_processors_that_forbid_everything_are_an_error(
    model: Any, tokenizer: Any, compiled: Any
) -> None:
    inputs = encode(tokenizer, ["x", "y"])
    with pytest.raises(
        GenerationError, match=r"no token is left for row [01]: the grammar allows <eos>, and other"
    ):
        run(model, inputs, GrammarLogitsProcessor(compiled["finite"]), do_sample=True, min_new_tokens=8)


def test_cost_per_step_does_not_grow_with_the_context(
    compiled: Any, vocab: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step reads as many ids with 200,000 tokens of context as with 200."""
    read_ids = processor_module._read
    read: list[int] = []

    def counted(ids: torch.Tensor, columns: Any) -> Any:
        values = read_ids(ids, columns)
        read.append(values.size)
        return values

    monkeypatch.setattr(processor_module, "_read", counted)

    def ids_read(length: int, rows: int) -> int:
        ids = torch.randint(0, 256, (rows, length + 64))
        ids[:, length:] = vocab.tokens.index(b"a")
        ids[:, length] = vocab.tokens.index(b'"')
        processor = GrammarLogitsProcessor(compiled["json"])
        scores = torch.zeros(rows, vocab.size)
        processor(ids[:, :length], scores)
        read.clear()
        for step in range(1, 64):
            processor(ids[:, : length + step], scores)
        return sum(read)

    for rows in (1, 8):
        short, long = ids_read(200, rows), ids_read(200_000, rows)
        assert long == short < 200 * 63 * rows
