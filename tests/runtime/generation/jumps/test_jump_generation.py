"""Generation that jumps over forced text: the loop against one that reads everything anew, caches, limits, stops."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from support.jump_setup import LIST, PROMPTS, SHEET, TAKES_BACK, WIDTH, Prefer, StopAt, reference, tiny

from stackmask.grammar.grammar import Grammar
from stackmask.runtime.generation import JumpDecoding, generate, jumping, stream
from stackmask.runtime.generation.errors import GenerationError
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.vocabulary.vocabulary import Vocabulary


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("cache", ["dynamic", "static", "none"])
def test_one_row_is_what_reading_everything_anew_gives(
    model: Any, tokenizer: Any, compiler: Compiler, prompt: str, cache: str
) -> None:
    options: dict[str, Any] = {"dynamic": {}, "static": {"cache_implementation": "static"}, "none": {"use_cache": False}}[cache]  # fmt: skip
    for grammar in (SHEET, LIST):
        (result,) = generate(model, tokenizer, prompt, grammar, compiler=compiler, **options)
        assert list(result.token_ids) == reference(model, tokenizer, compiler, prompt, grammar, 256)
        assert result.finished and result.reason == "stop" and result.jumps is not None
        report = result.jumps
        assert report.avoided_calls == len(result.token_ids) + 1 - report.model_calls > 5
        assert report.forced_tokens + report.accepted_tokens >= report.avoided_calls


@pytest.mark.parametrize("cache", ["dynamic", "static", "none"])
def test_rows_jump_by_different_lengths(model: Any, tokenizer: Any, compiler: Compiler, cache: str) -> None:
    options: dict[str, Any] = {"dynamic": {}, "static": {"cache_implementation": "static"}, "none": {"use_cache": False}}[cache]  # fmt: skip
    grammars = [SHEET, LIST, None, SHEET]
    prompts = [*PROMPTS, "name"]
    together = generate(model, tokenizer, prompts, grammars, compiler=compiler, max_new_tokens=40, **options)
    for prompt, grammar, result in zip(prompts, grammars, together, strict=True):
        (alone,) = generate(model, tokenizer, prompt, grammar, compiler=compiler, max_new_tokens=40)
        assert result.text == alone.text
        if grammar is not None:
            assert list(result.token_ids) == reference(model, tokenizer, compiler, prompt, grammar, 40)
        assert result.jumps is not None
        assert (result.jumps.forced_tokens > 0) == (grammar is not None)


def test_a_text_without_choices_needs_no_model(tokenizer: Any, compiler: Compiler) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the model was called")

    model = tiny("llama")
    model.forward = refuse
    text = '{"name": "Ann", "kind": "cat"}'
    (result,) = generate(model, tokenizer, "p", f"root ::= {text!r}".replace("'", "'"), compiler=compiler)
    assert result.text == text and result.finished and result.reason == "stop"
    assert list(result.token_ids) == tokenizer(text)["input_ids"]
    assert result.jumps is not None and result.jumps.model_calls == 0
    assert result.jumps.avoided_calls == len(result.token_ids) + 1


@pytest.mark.parametrize("cache", ["dynamic", "static", "none"])
@pytest.mark.parametrize("rows", [1, 3])
def test_tokens_are_taken_back(model: Any, tokenizer: Any, compiler: Compiler, cache: str, rows: int) -> None:
    options: dict[str, Any] = {"dynamic": {}, "static": {"cache_implementation": "static"}, "none": {"use_cache": False}}[cache]  # fmt: skip
    n, a = tokenizer.convert_tokens_to_ids(["n", "a"])
    grammars = [TAKES_BACK, SHEET, None][:rows]
    results = generate(
        model, tokenizer, PROMPTS[:rows], grammars, compiler=compiler, logits_processor=[Prefer(n, a)], max_new_tokens=30, **options
    )  # fmt: skip
    report = results[0].jumps
    assert report is not None and results[0].text in ("name;", "name,")
    name = tokenizer("name")["input_ids"]
    assert len(name) == 1
    if cache == "static" and rows > 1:
        assert report.taken_back == 0 and list(results[0].token_ids[:2]) == [n, a]
        assert "cropped" in report.note
    else:
        assert report.taken_back == 2 and list(results[0].token_ids[:1]) == name


@pytest.mark.parametrize("kind", ["mistral", "mamba"])
def test_caches_that_cannot_be_cropped(tokenizer: Any, compiler: Compiler, kind: str) -> None:
    model = tiny(kind)
    n, a = tokenizer.convert_tokens_to_ids(["n", "a"])
    for prompts in (PROMPTS[:1], ["name", "size"]):
        results = generate(model, tokenizer, prompts, SHEET, compiler=compiler, max_new_tokens=60)
        for prompt, result in zip(prompts, results, strict=True):
            assert result.finished and result.jumps is not None and "cropped" in result.jumps.note
            assert list(result.token_ids) == reference(model, tokenizer, compiler, prompt, SHEET, 60, 0)
    (result,) = generate(
        model, tokenizer, "a", TAKES_BACK, compiler=compiler, logits_processor=[Prefer(n, a)]
    )
    assert result.text in ("name;", "name,") and list(result.token_ids[:2]) == [n, a]
    assert result.jumps is not None and result.jumps.taken_back == 0


def test_a_cache_that_the_model_makes_itself(
    model: Any, tokenizer: Any, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As transformers 5.0 does it: what was said before there was a cache holds no longer."""
    call = JumpDecoding.__call__

    def without_cache(self: Any, *arguments: Any, **options: Any) -> Any:
        return call(self, *arguments, **{**options, "cache": None, "past_key_values": None})

    monkeypatch.setattr(JumpDecoding, "__call__", without_cache)
    (result,) = generate(model, tokenizer, PROMPTS[1], SHEET, compiler=compiler)
    assert list(result.token_ids) == reference(model, tokenizer, compiler, PROMPTS[1], SHEET, 256)
    assert result.jumps is not None and result.jumps.forced_tokens > 5 and "cropped" not in result.jumps.note


def test_static_caches_that_count_what_holds_anything() -> None:
    """As those of transformers before 5.4: their length is the number of columns that are not zero."""

    class StaticLayer:
        is_compileable, is_sliding = True, False
        keys = torch.ones(1, 2, 8, 4)

        def get_seq_length(self) -> Any:
            return self.keys[0, 0].any(dim=-1).sum()

    layers = [StaticLayer(), StaticLayer()]
    layers[1].keys = torch.ones(1, 2, 8, 4)
    for layer in layers:
        layer.keys[:, :, 6:] = 0
    view = jumping.CacheView(SimpleNamespace(layers=layers, get_seq_length=layers[0].get_seq_length))
    assert view.crops and view.fixed and not view.gaps and view.length == 6
    view.crop(2)
    assert view.length == 4 and [int(layer.get_seq_length()) for layer in layers] == [4, 4]


def test_static_caches_that_cannot_step_back(
    model: Any, tokenizer: Any, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is taken back, the report says so, and the text is that of such a search."""
    monkeypatch.setattr(jumping, "_can_step_back", lambda layer: False)
    for prompt in PROMPTS:
        (result,) = generate(
            model, tokenizer, prompt, SHEET, compiler=compiler, cache_implementation="static"
        )
        assert list(result.token_ids) == reference(model, tokenizer, compiler, prompt, SHEET, 256, 0)
        assert result.jumps is not None and result.jumps.taken_back == 0 and "cropped" in result.jumps.note


def test_forced_tokens_count(model: Any, tokenizer: Any, compiler: Compiler) -> None:
    (whole,) = generate(model, tokenizer, "a", SHEET, compiler=compiler)
    for limit in range(1, len(whole.token_ids) + 1):
        (cut,) = generate(model, tokenizer, "a", SHEET, compiler=compiler, max_new_tokens=limit, finish="cut")
        assert cut.token_ids == whole.token_ids[:limit] and cut.reason == "length"


def test_a_jump_ends_at_the_context_length(tokenizer: Any, compiler: Compiler) -> None:
    short = tiny("llama", max_position_embeddings=8)
    (result,) = generate(short, tokenizer, "a", SHEET, compiler=compiler, max_new_tokens=30)
    # the rest comes token by token, as without jumps, and nothing is lost
    assert result.text.startswith('{"name": "') and result.jumps is not None
    assert result.jumps.forced_tokens <= 8 and "length" in result.jumps.note


@pytest.mark.parametrize("stop", ['"kind', "me", '": "ca'])
def test_a_stop_string_inside_forced_text(model: Any, tokenizer: Any, compiler: Compiler, stop: str) -> None:
    (whole,) = generate(model, tokenizer, "a", SHEET, compiler=compiler)
    (result,) = generate(model, tokenizer, "a", SHEET, compiler=compiler, stop_strings=stop)
    if stop not in whole.text:
        assert result.text == whole.text
        return
    assert whole.token_ids[: len(result.token_ids)] == result.token_ids
    assert stop in result.text and result.reason == "interrupted" and not result.finished
    assert stop not in tokenizer.decode(result.token_ids[:-1])


def test_other_stopping_criteria_see_every_token(model: Any, tokenizer: Any, compiler: Compiler) -> None:
    start = len(tokenizer("a")["input_ids"])
    for more in range(1, 12):
        (result,) = generate(
            model, tokenizer, "a", SHEET, compiler=compiler, stopping_criteria=[StopAt(start + more)]
        )
        assert len(result.token_ids) == more and result.reason == "interrupted"


@pytest.mark.parametrize(
    "options", [{"do_sample": True, "seed": 4}, {"do_sample": True, "top_k": 2, "seed": 1}]
)
def test_sampling_and_streaming(
    model: Any, tokenizer: Any, compiler: Compiler, options: dict[str, Any]
) -> None:
    pieces: dict[int, str] = {}
    add: Callable[[int, str], None] = lambda i, text: pieces.update({i: pieces.get(i, "") + text})
    results = generate(
        model, tokenizer, PROMPTS, [SHEET, TAKES_BACK, None], compiler=compiler, on_text=add, max_new_tokens=40, **options
    )  # fmt: skip
    assert [pieces.get(i, "") for i in range(3)] == [result.text for result in results]
    assert results[0].finished and results[1].finished
    again = generate(model, tokenizer, PROMPTS, [SHEET, TAKES_BACK, None], compiler=compiler, max_new_tokens=40, **options)  # fmt: skip
    assert [r.token_ids for r in again] == [r.token_ids for r in results]
    with stream(model, tokenizer, "a", SHEET, compiler=compiler) as text:
        assert "".join(text) == text.result.text


class Tokens:
    """A streamer of tokens, as transformers' own are."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.ended = False

    def put(self, value: torch.Tensor) -> None:
        self.ids += value.flatten().tolist()

    def end(self) -> None:
        self.ended = True


def test_as_a_custom_generate(model: Any, tokenizer: Any, compiler: Compiler) -> None:
    compiled = compiler.compile(Grammar.from_ebnf(TAKES_BACK))
    n, a = tokenizer.convert_tokens_to_ids(["n", "a"])
    ids = tokenizer("a", return_tensors="pt")["input_ids"]
    streamer = Tokens()
    decoding = JumpDecoding(compiled, streamer=streamer)
    output = model.generate(
        ids, custom_generate=decoding, max_new_tokens=20, logits_processor=[Prefer(n, a)], do_sample=False
    )
    written = output[0, ids.shape[1] :].tolist()
    assert tokenizer.decode(written, skip_special_tokens=True) in ("name;", "name,")
    assert streamer.ids == output[0].tolist() and streamer.ended
    # what was given away is not taken back; the last token waits for the next, so these two were still here
    assert decoding.reports[0].taken_back == 2
    rows = model.generate(
        ids, custom_generate=JumpDecoding(compiled), max_new_tokens=20, do_sample=True, num_return_sequences=3, return_dict_in_generate=True,
    ).sequences  # fmt: skip
    assert len(rows) == 3 and all(row[-1] in (0, 1) for row in rows.tolist())


def test_what_a_custom_generate_cannot_do(model: Any, tokenizer: Any, compiler: Compiler) -> None:
    compiled = compiler.compile(Grammar.from_ebnf(LIST))
    ids = tokenizer(["a", "a"], return_tensors="pt")["input_ids"]
    with pytest.raises(GenerationError, match="num_beams=2"):
        model.generate(ids, custom_generate=JumpDecoding(compiled), num_beams=2, max_new_tokens=5)
    with pytest.raises(GenerationError, match="takes one row, but the batch has 2"):
        model.generate(ids, custom_generate=JumpDecoding(compiled, streamer=Tokens()), max_new_tokens=5)
    with pytest.raises(GenerationError, match="grammars has 3 entries, but the batch has 2 rows"):
        model.generate(ids, custom_generate=JumpDecoding([compiled, None, None]), max_new_tokens=5)


def test_off_and_what_is_never_jumped_over(model: Any, tokenizer: Any, compiler: Compiler) -> None:
    for options in ({"jump": "off"}, {"num_beams": 2}, {"prompt_lookup_num_tokens": 3}):
        (result,) = generate(model, tokenizer, "a", LIST, compiler=compiler, **options)  # type: ignore[arg-type]
        assert result.finished and result.jumps is None
    (free,) = generate(model, tokenizer, "a", None, compiler=compiler, max_new_tokens=4)
    assert free.jumps is None
    for call in (
        lambda: generate(model, tokenizer, "a", LIST, compiler=compiler, jump="sometimes"),
        lambda: JumpDecoding(compiler.compile(Grammar.from_ebnf(LIST)), jump="sometimes"),
    ):
        with pytest.raises(GenerationError, match='not "canonical", "draft" or "off"'):
            call()


def test_without_a_tokenizer_only_single_tokens_are_forced(model: Any, tokenizer: Any) -> None:
    plain = Vocabulary(
        Vocabulary.from_huggingface(tokenizer).tokens, stop_ids=[tokenizer.eos_token_id], size=WIDTH
    )
    (result,) = generate(model, tokenizer, "a", SHEET, compiler=Compiler(plain))
    assert result.finished and result.jumps is not None and result.jumps.taken_back == 0


def test_a_processor_that_forbids_all_is_an_error(model: Any, tokenizer: Any, compiler: Compiler) -> None:
    with pytest.raises(GenerationError, match="no token is left for row 0: the grammar allows"):
        generate(model, tokenizer, "a", "root ::= [;,]", compiler=compiler, bad_words_ids=[[i] for i in tokenizer.convert_tokens_to_ids([";", ","])])  # fmt: skip
