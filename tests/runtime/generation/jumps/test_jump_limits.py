"""Generation that jumps, at its edges: stops inside jumps, lengths that differ, errors, the distribution, both engines."""

from __future__ import annotations

import math
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from support.jump_setup import LIST, PROMPTS, SHEET, TAKES_BACK, WIDTH, Prefer, StopAt, reference, tiny
from transformers import EosTokenCriteria, LogitsProcessor, MaxLengthCriteria

import stackmask
from stackmask.grammar.grammar import Grammar
from stackmask.pda.errors import BudgetError
from stackmask.runtime.generation import JumpDecoding, generate, stream
from stackmask.runtime.generation.errors import GenerationError
from stackmask.runtime.generation.jumping import JumpRow
from stackmask.runtime.matching.compiler import Compiler


@pytest.mark.parametrize("stop", ["na", "nam", "name"])
def test_a_stop_string_in_what_is_taken_back(
    model: Any, tokenizer: Any, compiler: Compiler, stop: str
) -> None:
    n, a = tokenizer.convert_tokens_to_ids(["n", "a"])
    pieces: list[str] = []
    (result,) = generate(
        model, tokenizer, "a", TAKES_BACK, compiler=compiler, logits_processor=[Prefer(n, a)], stop_strings=stop,
        on_text=lambda _, text: pieces.append(text),
    )  # fmt: skip
    # the first two letters are the model's, and the rest is forced and written as one token
    assert result.reason == "interrupted" and result.text == ("na" if stop == "na" else "name")
    assert "".join(pieces) == result.text


def test_stop_strings_without_jumps(model: Any, tokenizer: Any, compiler: Compiler) -> None:
    (result,) = generate(model, tokenizer, "a", LIST, compiler=compiler, jump="off", stop_strings="ld")
    assert result.text.endswith("ld") or '"old' in result.text
    assert result.reason == "interrupted" and not result.finished


@pytest.mark.parametrize("jump", ["canonical", "off"])
def test_a_stop_token_inside_forced_text_ends_it(
    model: Any, tokenizer: Any, compiler: Compiler, jump: str
) -> None:
    grammar = 'root ::= "name" <eos> "kind" [;,]'
    (result,) = generate(model, tokenizer, "a", grammar, compiler=compiler, jump=jump)
    assert result.text == "name" and result.reason == "stop" and not result.finished
    if result.jumps is not None:
        assert result.jumps.model_calls == 0 and result.jumps.avoided_calls == len(result.token_ids) + 1


@pytest.mark.parametrize("kind", ["llama", "mistral"])
def test_processors_and_criteria_see_each_row_by_its_own_length(
    tokenizer: Any, compiler: Compiler, kind: str
) -> None:
    model = tiny(kind)
    free = r"root ::= [a-z]*"
    seen: list[tuple[int, int]] = []

    class Look(LogitsProcessor):  # type: ignore[misc]
        def __call__(self, input_ids: Any, scores: torch.Tensor) -> torch.Tensor:
            seen.append(tuple(input_ids.shape))
            # everything that is asked for would like to stop
            scores[:, tokenizer.eos_token_id] += 1000.0
            return scores

    grammars = [r'root ::= "{\"name\": \"old\", \"kind\": \"cat\"}" [a-z]*', free]
    results = generate(
        model, tokenizer, ["a", "a"], grammars, compiler=compiler, min_new_tokens=5, max_new_tokens=60,
        logits_processor=[Look()],
    )  # fmt: skip
    # a long jump of the first row is no reason for the second to stop early
    assert len(results[0].token_ids) > 5 and len(results[1].token_ids) == 5
    assert all(rows == 2 for rows, _ in seen)
    start = len(tokenizer("a")["input_ids"])
    results = generate(
        model, tokenizer, ["a", "a"], [grammars[0], "root ::= [a-z]{30}"], compiler=compiler, max_new_tokens=60,
        stopping_criteria=[StopAt(start + 7)],
    )  # fmt: skip
    assert [len(result.token_ids) for result in results] == [7, 7]


def test_criteria_that_narrow_those_of_generate(model: Any, tokenizer: Any, compiler: Compiler) -> None:
    start = len(tokenizer("a")["input_ids"])
    for criterion in (MaxLengthCriteria(start + 4), EosTokenCriteria([tokenizer("kind")["input_ids"][-1]])):
        (whole,) = generate(model, tokenizer, "a", SHEET, compiler=compiler)
        (cut,) = generate(model, tokenizer, "a", SHEET, compiler=compiler, stopping_criteria=[criterion])
        assert cut.token_ids == whole.token_ids[: len(cut.token_ids)] and cut.reason == "interrupted"
        assert len(cut.token_ids) < len(whole.token_ids)


def test_what_scores_would_be_needed_for(model: Any, tokenizer: Any, compiler: Compiler) -> None:
    compiled = compiler.compile(Grammar.from_ebnf(LIST))
    ids = tokenizer("a", return_tensors="pt")["input_ids"]
    with pytest.raises(GenerationError, match=r"output_scores, output_logits: not available"):
        model.generate(
            ids, custom_generate=JumpDecoding(compiled), max_new_tokens=5, return_dict_in_generate=True,
            output_scores=True, output_logits=True,
        )  # fmt: skip
    with pytest.raises(GenerationError, match="ids of the prompt"):
        embedded = model.get_input_embeddings()(ids)
        model.generate(inputs_embeds=embedded, custom_generate=JumpDecoding(compiled), max_new_tokens=5)


class Broken(LogitsProcessor):  # type: ignore[misc]
    """Fail, as if interrupted, when it is asked for the second time."""

    def __init__(self, error: BaseException) -> None:
        self.error, self.calls = error, 0

    def __call__(self, input_ids: Any, scores: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        if self.calls == 2:
            raise self.error
        return scores


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("no memory")])
def test_what_was_written_before_an_error(
    model: Any, tokenizer: Any, compiler: Compiler, error: BaseException
) -> None:
    compiled = compiler.compile(Grammar.from_ebnf(SHEET))
    ids = tokenizer("a", return_tensors="pt")["input_ids"]
    decoding = JumpDecoding(compiled)
    with pytest.raises(type(error)):
        model.generate(ids, custom_generate=decoding, max_new_tokens=60, logits_processor=[Broken(error)])
    (whole,) = generate(model, tokenizer, "a", SHEET, compiler=compiler)
    written = decoding.written[0]
    assert written and written == list(whole.token_ids[: len(written)])
    assert decoding.reports[0].forced_tokens > 0
    # and everything still works
    (again,) = generate(model, tokenizer, "a", SHEET, compiler=compiler)
    assert again.token_ids == whole.token_ids


def test_types_of_tokens_are_handed_on(model: Any, tokenizer: Any, compiler: Compiler) -> None:
    compiled = compiler.compile(Grammar.from_ebnf(SHEET))
    inputs = tokenizer(PROMPTS[1], return_tensors="pt")
    shapes: list[tuple[Any, Any]] = []

    class Typed(type(model)):  # type: ignore[misc]
        def forward(self, input_ids: Any = None, token_type_ids: Any = None, **kwargs: Any) -> Any:
            shapes.append((tuple(input_ids.shape), tuple(token_type_ids.shape)))
            return super().forward(input_ids=input_ids, **kwargs)

    typed = Typed(model.config).eval()
    typed.load_state_dict(model.state_dict())
    types = torch.zeros_like(inputs["input_ids"])
    output = typed.generate(
        inputs["input_ids"], token_type_ids=types, custom_generate=JumpDecoding(compiled), max_new_tokens=60
    )
    assert all(ids == types for ids, types in shapes)
    (plain,) = generate(model, tokenizer, PROMPTS[1], SHEET, compiler=compiler, max_new_tokens=60)
    width = inputs["input_ids"].shape[1]
    assert output[0, width:].tolist()[: len(plain.token_ids)] == list(plain.token_ids)


@pytest.mark.parametrize("kind", ["llama", "mistral"])
@pytest.mark.parametrize("rows", [1, 2])
def test_static_caches_beyond_a_window(tokenizer: Any, compiler: Compiler, kind: str, rows: int) -> None:
    model = tiny(kind)
    grammars = [SHEET, LIST][:rows]
    prompts = ["name", PROMPTS[1]][:rows]
    results = generate(
        model,
        tokenizer,
        prompts,
        grammars,
        compiler=compiler,
        cache_implementation="static",
        max_new_tokens=60,
    )
    for prompt, grammar, result in zip(prompts, grammars, results, strict=True):
        most = None if kind == "llama" and rows == 1 else 0
        assert list(result.token_ids) == reference(model, tokenizer, compiler, prompt, grammar, 60, most)


def test_sampling_follows_the_model_where_it_is_asked(model: Any, tokenizer: Any, compiler: Compiler) -> None:
    """Each choice is drawn from the model's distribution behind the canonical tokens of the text, over what may come."""
    grammar = r'root ::= "{\"name\": " ("12" | "7") ", \"size\": " [;,] "}"'
    start = tokenizer("a")["input_ids"]
    texts = [f'{{"name": {n}, "size": {m}}}' for n in ("12", "7") for m in ";,"]
    encoded = {text: tokenizer(text)["input_ids"] for text in texts}

    def chance(ids: list[int], token: int, others: set[int]) -> float:
        with torch.no_grad():
            logits = model(torch.tensor([[*start, *ids]])).logits[0, -1]
        weights = {i: math.exp(float(logits[i]) - float(logits.max())) for i in others}
        return weights[token] / sum(weights.values())

    expected: dict[str, float] = {}
    for text, ids in encoded.items():
        matcher = compiler.compile(Grammar.from_ebnf(grammar)).matcher()
        likely = 1.0
        at = 0
        while at < len(ids):
            back, forced = matcher.find_jump_forward_tokens([*start, *ids[:at]])
            assert back == 0
            if forced:
                assert ids[at : at + len(forced)] == forced
                at += len(forced)
            else:
                mask = torch.zeros(1, -(-WIDTH // 32), dtype=torch.int32)
                matcher.fill_next_token_bitmask(mask)
                allowed = {i for i in range(WIDTH) if (int(mask[0, i // 32]) >> (i % 32)) & 1}
                likely *= chance(ids[:at], ids[at], allowed)
                forced = [ids[at]]
                at += 1
            assert all(matcher.accept_token(token) for token in forced)
        expected[text] = likely
    # other splits of a text are possible for the tokens that the model chooses: these are few
    assert 0.5 < sum(expected.values()) <= 1.0001
    draws = 600
    results = generate(
        model,
        tokenizer,
        ["a"] * draws,
        grammar,
        compiler=compiler,
        do_sample=True,
        seed=3,
        top_k=0,
        max_new_tokens=40,
    )
    found = Counter(tuple(result.token_ids) for result in results)
    for text, likely in expected.items():
        share = found[tuple(encoded[text])] / draws
        assert abs(share - likely) < 4 * math.sqrt(likely * (1 - likely) / draws) + 1e-9, (
            text,
            share,
            likely,
        )


class Tired:
    """A matcher that meets a limit in one call; everything else is up to a real one."""

    def __init__(self, matcher: Any, call: str, after: int = 0) -> None:
        self.matcher, self.call, self.left = matcher, call, after

    def __getattr__(self, name: str) -> Any:
        def limited(*arguments: Any) -> Any:
            if name == self.call:
                self.left -= 1
                if self.left == -1:
                    raise BudgetError("max_configurations", 10, "too many configurations")
            return getattr(self.matcher, name)(*arguments)

        return limited


@pytest.mark.parametrize(("call", "after"), [("plan_jump", 0), ("accept_token", 1), ("must_stop", 0)])
def test_a_limit_met_while_jumping_changes_nothing(
    tokenizer: Any, compiler: Compiler, call: str, after: int
) -> None:
    real = compiler.compile(Grammar.from_ebnf(TAKES_BACK)).matcher()
    ids = list(tokenizer.convert_tokens_to_ids(["n", "a"]))
    assert all(real.accept_token(token) for token in ids)
    if call == "accept_token":
        # two tokens are taken back, and a longer run is written in their place
        real = compiler.compile(Grammar.from_ebnf('root ::= ("nb" | "name;;name") [;,]')).matcher()
        assert all(real.accept_token(token) for token in ids)
    row = JumpRow([5], Tired(real, call, after), 50, 50, (1,), list(ids), [3, 4])  # type: ignore[arg-type]
    same, dropped = row.jump(None)
    assert "max_configurations" in row.note and not row.done
    if call == "must_stop":
        assert (same, dropped, row.taken_back) == (0, [3, 4], 2)
    else:
        assert (same, dropped, row.ids, row.columns) == (2, [], ids, [3, 4])
        assert real.accept_calls == 2 and row.jump(None)[0] == 0  # and the next time it works


def test_both_engines_jump_alike(model: Any, tokenizer: Any, compiler: Compiler) -> None:
    n, a = tokenizer.convert_tokens_to_ids(["n", "a"])
    for grammar in (SHEET, LIST, TAKES_BACK):
        made = Grammar.from_ebnf(grammar)
        finite = stackmask.fsm.compile(made, compiler.vocabulary)
        how: dict[str, Any] = {"compiler": compiler, "logits_processor": [Prefer(n, a)]}
        (ours,) = generate(model, tokenizer, "a", finite, **how)
        (theirs,) = generate(model, tokenizer, "a", compiler.compile(made), **how)
        assert ours == theirs and ours.jumps is not None and ours.jumps.forced_tokens > 0
    assert ours.jumps.taken_back == 2


def test_several_threads(model: Any, tokenizer: Any, compiler: Compiler) -> None:
    grammars = [SHEET, LIST, TAKES_BACK, stackmask.fsm.compile(Grammar.from_ebnf(SHEET), compiler.vocabulary)]
    alone = [generate(model, tokenizer, "a", grammar, compiler=compiler)[0] for grammar in grammars]
    with ThreadPoolExecutor(4) as pool:
        calls = [
            pool.submit(generate, model, tokenizer, "a", grammar, compiler=compiler)
            for _ in range(3)
            for grammar in grammars
        ]
        assert [call.result()[0] for call in calls] == 3 * alone


def test_a_stream_that_is_left(model: Any, tokenizer: Any, compiler: Compiler) -> None:
    with stream(
        model, tokenizer, "a", r'root ::= "name" [a-z]*', compiler=compiler, max_new_tokens=400
    ) as pieces:
        first = next(pieces)
    assert first.startswith("name") and pieces.result.reason == "interrupted"
    assert pieces.result.text.startswith(first) and len(pieces.result.token_ids) < 400
