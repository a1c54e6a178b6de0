"""``generate`` and ``stream``: the calls around ``model.generate``."""

from __future__ import annotations

import json
import threading
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, normalizers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    LogitsProcessor,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

import stackmask
from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.diagnostics import GrammarError
from stackmask.runtime.generation import generate, stream
from stackmask.runtime.generation.errors import GenerationError
from stackmask.runtime.generation.models import compiler_for, logit_width
from stackmask.runtime.generation.text import TextDecoder, TokenStreamer
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

FINITE = 'root ::= "true" | "12" "," [a-c]{3} | "é🎉"'
SENTENCES = {"true", "é🎉"} | {f"12,{a}{b}{c}" for a in "abc" for b in "abc" for c in "abc"}
LIST = 'root ::= "[" ([0-9]+ ("," [0-9]+)*)? "]"'


def test_every_text_is_a_sentence(model: Any, tokenizer: Any) -> None:
    results = generate(model, tokenizer, ["a", "some prompt", ""], FINITE, do_sample=True, seed=3)
    assert [r.prompt for r in results] == ["a", "some prompt", ""]
    for result in results:
        assert result.text in SENTENCES
        assert result.finished and result.reason == "stop" and result.note == ""
        assert tokenizer.decode(result.token_ids) == result.text
        assert tokenizer.eos_token_id not in result.token_ids


def test_it_is_in_the_facade(model: Any, tokenizer: Any) -> None:
    (result,) = stackmask.generate(model, tokenizer, "x", stackmask.Grammar.bundled("json"), max_new_tokens=4)
    assert len(result.token_ids) <= 4


def test_one_grammar_per_prompt(model: Any, tokenizer: Any, compiler: Compiler) -> None:
    grammars = [FINITE, Grammar.from_ebnf(LIST), None, compiler.compile(Grammar.from_ebnf('root ::= "ab"'))]
    results = generate(model, tokenizer, ["p"] * 4, grammars, max_new_tokens=40, compiler=compiler)
    assert results[0].text in SENTENCES
    assert results[1].text.startswith("[")
    assert results[3].text == "ab" and results[3].finished


def test_a_compiled_grammar_must_be_of_the_models_vocabulary(model: Any, tokenizer: Any) -> None:
    grammar = Grammar.from_ebnf(FINITE)
    # narrower than the logits is fine: the rest is padding
    own = Vocabulary.from_huggingface(tokenizer)
    assert own.size < logit_width(model)
    (result,) = generate(model, tokenizer, "p", Compiler(own).compile(grammar))
    assert result.text in SENTENCES and result.finished
    # other texts, or a stop token that does not stop the model, are not
    foreign = Vocabulary([bytes([b]) for b in range(256)] + [None], stop_ids=[256])
    stops = Vocabulary.from_huggingface(tokenizer, stop_ids=[tokenizer.convert_tokens_to_ids("<call>")])
    for vocabulary in (foreign, stops):
        with pytest.raises(GenerationError, match="pass the Grammar itself"):
            generate(model, tokenizer, "p", Compiler(vocabulary).compile(grammar))


def test_a_text_cut_short_says_so(model: Any, tokenizer: Any) -> None:
    (result,) = generate(model, tokenizer, "p", 'root ::= "a"{50}', max_new_tokens=7, finish="cut")
    assert not result.finished and result.reason == "length" and len(result.token_ids) == 7
    assert "max_new_tokens was reached after 7 tokens" in result.note
    (whole,) = generate(
        model, tokenizer, "p", 'root ::= "1"+', max_new_tokens=3, repetition_penalty=0.01, finish="cut"
    )
    assert whole.finished and whole.reason == "length" and whole.note == ""


def test_several_sequences_lie_side_by_side(model: Any, tokenizer: Any) -> None:
    for options in ({"do_sample": True, "seed": 1}, {"num_beams": 4}):
        results = generate(model, tokenizer, ["a", "b"], FINITE, num_return_sequences=2, **options)  # type: ignore[arg-type]
        assert [r.prompt for r in results] == ["a", "a", "b", "b"]
        assert all(r.text in SENTENCES for r in results)


def test_seed_makes_sampling_repeatable_and_leaves_the_generator(model: Any, tokenizer: Any) -> None:
    before = torch.random.get_rng_state()
    texts = [
        [
            r.text
            for r in generate(model, tokenizer, ["a"] * 8, FINITE, do_sample=True, temperature=3.0, seed=s)
        ]
        for s in (5, 5, 6)
    ]
    assert texts[0] == texts[1] != texts[2]
    assert torch.equal(before, torch.random.get_rng_state())


def test_on_text_gives_each_row_its_text(model: Any, tokenizer: Any) -> None:
    pieces: dict[int, str] = {}
    results = generate(
        model,
        tokenizer,
        ["a", "b", "c"],
        LIST,
        do_sample=True,
        seed=0,
        max_new_tokens=12,
        on_text=lambda i, text: pieces.update({i: pieces.get(i, "") + text}),
    )
    assert [pieces[i] for i in range(3)] == [r.text for r in results]


def test_on_text_with_prompt_lookup(model: Any, tokenizer: Any) -> None:
    got: list[str] = []
    (result,) = generate(
        model,
        tokenizer,
        "[1,12,12,1,1,1",
        LIST,
        max_new_tokens=30,
        prompt_lookup_num_tokens=5,
        on_text=lambda _, t: got.append(t),
    )
    assert "".join(got) == result.text


def test_stream_yields_the_text(model: Any, tokenizer: Any) -> None:
    text = stream(model, tokenizer, "p", LIST, max_new_tokens=15)
    with pytest.raises(GenerationError, match="no result yet"):
        assert text.result.text or threading.Event().wait(1)
    pieces = list(text)
    assert len(pieces) > 1 and "".join(pieces) == text.result.text


def test_stream_can_be_left_early(model: Any, tokenizer: Any) -> None:
    class Pause(LogitsProcessor):
        """Let some tokens be written, and the others once the stream is being closed."""

        def __call__(self, ids: Any, scores: Any) -> Any:
            if ids.shape[1] > 50:
                assert made.wait(60) and text._stop._event.wait(60)
            return scores

    made = threading.Event()
    text = stream(
        model, tokenizer, "p", "root ::= [ab]{1500}", max_new_tokens=1500, logits_processor=[Pause()]
    )
    made.set()
    with text:
        assert set(next(text)) <= {"a", "b"}
    assert text.result.reason == "interrupted" and not text.result.finished
    assert "interrupted" in text.result.note
    assert not [t for t in threading.enumerate() if t.name == "stackmask-stream"]


def test_stream_hands_errors_over(model: Any, tokenizer: Any) -> None:
    with pytest.raises(GrammarError):
        list(stream(model, tokenizer, "p", "root ::= nothing"))
    with pytest.raises(GenerationError, match="on_text cannot be given to stream"):
        stream(model, tokenizer, "p", LIST, on_text=print)


def test_progress_bar(model: Any, tokenizer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    generate(model, tokenizer, "p", 'root ::= "a"{50}', max_new_tokens=5, progress=True)
    assert "5/5" in capsys.readouterr().err


def test_chat_messages_go_through_the_template(
    model: Any, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        tokenizer, "chat_template", "{% for m in messages %}{{ m.role }}:{{ m.content }}\n{% endfor %}a:"
    )
    messages = [{"role": "user", "content": "hi"}]
    seen: list[Any] = []
    real = model.generate
    monkeypatch.setattr(model, "generate", lambda **kw: seen.append(kw["input_ids"]) or real(**kw))
    (result,) = generate(model, tokenizer, messages, FINITE)
    assert result.prompt == messages and result.text in SENTENCES
    assert tokenizer.decode(seen[0][0]) == "user:hi\na:"


def test_encoder_decoder_models(tokenizer: Any) -> None:
    config = T5Config(
        vocab_size=320, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, decoder_start_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    model = T5ForConditionalGeneration(config).eval()
    for options in ({}, {"num_beams": 3}):
        results = generate(model, tokenizer, ["a", "a longer one"], FINITE, **options)
        assert all(r.text in SENTENCES and r.finished for r in results)


def test_compiler_is_kept_with_the_tokenizer(model: Any, tokenizer: Any) -> None:
    assert compiler_for(model, tokenizer) is compiler_for(model, tokenizer)
    assert compiler_for(model, tokenizer).vocabulary.size == logit_width(model) == 320


def test_no_prompts_no_results(model: Any, tokenizer: Any) -> None:
    assert generate(model, tokenizer, [], FINITE) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens is 0"),
        ({"grammar": [FINITE]}, "grammar has 1 entries, but there are 2 prompts"),
        ({"grammar": 3}, "grammar is int"),
        ({"prompts": [1]}, "a prompt is int"),
        ({"num_beams": 2, "on_text": print}, "on_text cannot be used with num_beams=2"),
        (
            {"prompt_lookup_num_tokens": 2},
            "prompt_lookup_num_tokens works for one prompt at a time, but there are 2",
        ),
        ({"eos_token_id": 2}, "eos_token_id cannot be given"),
    ],
)
def test_arguments_that_make_no_sense(
    model: Any, tokenizer: Any, arguments: dict[str, Any], message: str
) -> None:
    arguments = {"prompts": ["a", "b"], "grammar": FINITE, **arguments}
    with pytest.raises(GenerationError, match=message):
        generate(model, tokenizer, arguments.pop("prompts"), arguments.pop("grammar"), **arguments)


def test_text_decoder_waits_for_whole_characters() -> None:
    vocab = Vocabulary(
        [b"\xf0\x9f", b"\x8e\x89!", b"\xff", b" x", None], stop_ids=[4], strip_first_space=True
    )
    decoder = TextDecoder(vocab)
    assert [decoder.push(i) for i in (3, 3, 0, 1, 2, 0, 4, 3)] == [
        "x",
        " x",
        "",
        "🎉!",
        "\ufffd",
        "",
        "\ufffd",
        "",
    ]
    assert decoder.ended and decoder.finish() == ""


def test_streamer_ignores_padding_after_the_end() -> None:
    vocab = Vocabulary([b"a", b"b", None], stop_ids=[2])
    got: list[tuple[int, str]] = []
    streamer = TokenStreamer(vocab, lambda row, text: got.append((row, text)))
    streamer.put(torch.zeros(2, 5))
    for tokens in ([0, 1], [1, 2], [0, 0], [2, 0]):
        streamer.put(torch.tensor(tokens))
    streamer.end()
    assert got == [(0, "a"), (1, "b"), (0, "b"), (0, "a")]


def test_bundled_json_parses(model: Any, tokenizer: Any) -> None:
    results = generate(
        model, tokenizer, ["a"] * 16, Grammar.bundled("json"), do_sample=True, seed=0, max_new_tokens=60
    )
    finished = [r for r in results if r.finished]
    assert finished
    for result in finished:
        json.loads(result.text)


def test_stop_tokens_of_the_generation_config(model: Any, tokenizer: Any) -> None:
    call = tokenizer.convert_tokens_to_ids("<call>")
    other = SimpleNamespace(
        get_output_embeddings=model.get_output_embeddings,
        generation_config=SimpleNamespace(eos_token_id=[tokenizer.eos_token_id, call]),
    )
    assert compiler_for(other, tokenizer).vocabulary.stop_ids == (tokenizer.eos_token_id, call)


def test_the_leading_space_of_sentencepiece(tokenizer: Any) -> None:
    """With strip_first_space the text is what the tokenizer decodes, space or not."""
    words = ["<pad>", "<eos>", "▁ab", "ab", "▁", "c", "▁▁ab", *(f"<0x{b:02X}>" for b in range(256))]
    backend = Tokenizer(models.BPE(vocab={w: i for i, w in enumerate(words)}, merges=[], byte_fallback=True))
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    backend.decoder = decoders.Sequence(steps)
    fast = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<eos>", pad_token="<pad>")
    config = LlamaConfig(vocab_size=len(words), hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, eos_token_id=1)  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    for grammar, sentences in (('root ::= "ab" "c"?', {"ab", "abc"}), ('root ::= " ab"', {" ab"})):
        pieces: dict[int, str] = {}
        results = generate(
            model,
            fast,
            ["c"] * 40,
            grammar,
            do_sample=True,
            seed=0,
            on_text=lambda i, text, pieces=pieces: pieces.update({i: pieces.get(i, "") + text}),  # type: ignore[misc]
        )
        first = {words[r.token_ids[0]] for r in results}
        assert {"▁", "▁▁ab"} <= first if " ab" in sentences else {"▁ab", "ab", "▁"} <= first
        for i, result in enumerate(results):
            assert result.finished and result.text in sentences
            assert fast.decode(result.token_ids) == result.text == pieces[i]
