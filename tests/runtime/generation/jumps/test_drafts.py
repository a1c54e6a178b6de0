"""Drafts change no output: the law of all texts, enumerated; the texts of a search; columns that are hidden again."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import pytest
import torch
from support.jump_setup import LIST, PROMPTS, SHEET, reference
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.modeling_outputs import CausalLMOutputWithPast

from stackmask.grammar.grammar import Grammar
from stackmask.runtime.generation import JumpDecoding, generate, jumping
from stackmask.runtime.jump_forward.drafts import Draft
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

TEXTS = (b"a", b"b", b"ab")
STOP = 3
LANGUAGES = {  # a grammar, and its texts
    "root ::= ('ab' | 'ba') ('a' | 'bab')": {x + y for x in ("ab", "ba") for y in ("a", "bab")},
    "root ::= 'a' [ab]{0,2} 'b'": {
        "a" + "".join(m) + "b" for n in range(3) for m in itertools.product("ab", repeat=n)
    },
    "root ::= 'abab' | 'abba'": {"abab", "abba"},
}


def scores_after(context: tuple[int, ...]) -> list[float]:
    """Return logits that depend on all of a context, and that any float has exactly."""
    rng = random.Random(repr(context))
    return [rng.randrange(-16, 17) / 8 for _ in range(STOP + 1)]


class TableModel(LlamaForCausalLM):  # type: ignore[misc]
    """A model whose cache holds the tokens, so that its logits show which of them a row can see, and where."""

    def __init__(self) -> None:
        super().__init__(
            LlamaConfig(
                vocab_size=STOP + 1, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, num_key_value_heads=1,
                intermediate_size=8, max_position_embeddings=64, bos_token_id=None, eos_token_id=STOP, pad_token_id=STOP,
            )
        )  # fmt: skip

    def forward(self, input_ids: Any, attention_mask: Any, position_ids: Any, **options: Any) -> Any:
        keyword = jumping.cache_keyword(self)
        cache = options[keyword]
        held = torch.stack([input_ids, position_ids], dim=-1).unsqueeze(1).to(torch.float32)
        held, _ = cache.update(held, held, 0)
        held = held.squeeze(1).long()
        batch, total = held.shape[:2]
        first = total - input_ids.shape[1]
        logits = torch.zeros(batch, total - first, STOP + 1)
        for i in range(batch):
            for column in range(first, total):
                seen = [held[i, k].tolist() for k in range(column + 1) if attention_mask[i, k]]
                if attention_mask[i, column]:
                    assert [place for _, place in seen] == list(range(len(seen)))
                    logits[i, column - first] = torch.tensor(scores_after(tuple(token for token, _ in seen)))
        return CausalLMOutputWithPast(logits=logits, **{keyword: cache})


def masked_law(prompt: tuple[int, ...], language: set[str]) -> dict[tuple[int, ...], float]:
    """Return the probability of each text as tokens, each token drawn among those that begin some text; by hand."""
    law: dict[tuple[int, ...], float] = {}
    open_texts: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    while open_texts:
        ids, chance = open_texts.pop()
        text = b"".join(TEXTS[i] for i in ids).decode()
        allowed = [i for i, t in enumerate(TEXTS) if any(w.startswith(text + t.decode()) for w in language)]
        allowed += [STOP] if text in language else []
        weights = {i: math.exp(scores_after((*prompt, *ids))[i]) for i in allowed}
        for i, weight in weights.items():
            after = chance * weight / math.fsum(weights.values())
            if i == STOP:
                law[(*ids, STOP)] = law.get((*ids, STOP), 0) + after
            else:
                open_texts.append(((*ids, i), after))
    return law


class Draws:
    """Draws that follow a script, and then take what is possible first; the other ways are scripts to follow."""

    def __init__(self, script: list[int], scripts: list[list[int]]) -> None:
        self.script, self.scripts = script, scripts
        self.place, self.chance = 0, 1.0

    def __call__(self, _: Any, scores: torch.Tensor) -> list[int]:
        chosen = []
        for row in torch.softmax(scores.double(), dim=-1).tolist():
            possible = [i for i, p in enumerate(row) if p > 0]
            if self.place == len(self.script):
                self.scripts.extend([*self.script, i] for i in possible[1:])
                self.script.append(possible[0])
            chosen.append(self.script[self.place])
            self.chance *= row[chosen[-1]]
            self.place += 1
        return chosen


def enumerated_law(
    monkeypatch: pytest.MonkeyPatch, grammars: list[Any], prompts: torch.Tensor, jump: str
) -> tuple[dict[Any, float], int]:
    """Run the loop once for every way in which its draws can come out; return the law of what the rows write.

    Also return how many drafted tokens were accepted.
    """
    model = TableModel().eval()
    law: dict[Any, float] = {}
    accepted = 0
    scripts: list[list[int]] = [[]]
    while scripts:
        draws = Draws(scripts.pop(), scripts)
        monkeypatch.setattr(
            jumping.TokenChoice, "_draw", lambda choice, scores, draws=draws: draws(choice, scores)
        )
        decoding = JumpDecoding(grammars, jump=jump)
        mask = (prompts != STOP).long()
        model.generate(
            prompts, attention_mask=mask, do_sample=True, max_new_tokens=12, custom_generate=decoding
        )
        key = tuple(tuple(ids) for ids in decoding.written)
        law[key] = law.get(key, 0) + draws.chance
        accepted += sum(report.accepted_tokens for report in decoding.reports)
    return law, accepted


def encode(text: str) -> list[int]:
    ids = []
    while text:
        size = 2 if text.startswith("ab") else 1
        ids.append(TEXTS.index(text[:size].encode()))
        text = text[size:]
    return ids


@pytest.fixture(scope="module")
def few() -> Compiler:
    """A compiler for three tokens and a stop token."""
    return Compiler(Vocabulary([*TEXTS, None], stop_ids=[STOP]).with_encoder(encode))


def draft_at_random(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Draft tokens at random, also those that the grammar forbids; the same ones at the same place."""

    def draft(row: Any, batch: int) -> None:
        rng = random.Random(repr((seed, row.prompt, row.ids)))
        count = min(rng.randrange(5), row.room - len(row.ids) - 1)
        row.ahead = tuple(rng.randrange(STOP) for _ in range(count))
        row.proposed = Draft(row.ahead, (0,) * count)

    monkeypatch.setattr(jumping.JumpRow, "draft", draft)


@pytest.mark.parametrize("drafts", ["own", "random"])
@pytest.mark.parametrize("grammar", LANGUAGES)
def test_the_law_of_drafts_is_the_masked_law(
    few: Compiler, monkeypatch: pytest.MonkeyPatch, grammar: str, drafts: str
) -> None:
    if drafts == "random":
        draft_at_random(monkeypatch, 5)
    prompt = (0, 1, 2, 2, 1, 0)
    compiled = few.compile(Grammar.from_ebnf(grammar))
    law, accepted = enumerated_law(monkeypatch, [compiled], torch.tensor([prompt]), "draft")
    wanted = masked_law(prompt, LANGUAGES[grammar])
    assert {key[0] for key in law} == wanted.keys()
    assert max(abs(chance - wanted[key[0]]) for key, chance in law.items()) < 1e-12
    assert accepted > 0


def test_the_law_of_two_rows_is_that_of_each(few: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    draft_at_random(monkeypatch, 6)
    (one, texts), (other, others) = list(LANGUAGES.items())[::2]
    prompts = torch.tensor([[STOP, STOP, 0, 1], [2, 1, 1, 0]])
    compiled = [few.compile(Grammar.from_ebnf(grammar)) for grammar in (one, other)]
    law, _ = enumerated_law(monkeypatch, compiled, prompts, "draft")
    first, second = masked_law((0, 1), texts), masked_law((2, 1, 1, 0), others)
    assert len(law) == len(first) * len(second)
    assert max(abs(chance - first[a] * second[b]) for (a, b), chance in law.items()) < 1e-12


@pytest.mark.parametrize("grammar", LANGUAGES)
def test_the_law_of_jumps_stays_as_it_is_without_drafts(
    few: Compiler, monkeypatch: pytest.MonkeyPatch, grammar: str
) -> None:
    compiled, prompts = [few.compile(Grammar.from_ebnf(grammar))], torch.tensor([[0, 1, 2]])
    draft_at_random(monkeypatch, 7)
    law, _ = enumerated_law(monkeypatch, compiled, prompts, "canonical")
    monkeypatch.setattr(jumping.JumpRow, "draft", lambda row, batch: None)
    wanted, accepted = enumerated_law(monkeypatch, compiled, prompts, "canonical")
    assert accepted == 0 and law.keys() == wanted.keys()
    assert max(abs(chance - wanted[key]) for key, chance in law.items()) < 1e-12


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_search_finds_the_same_text_in_fewer_steps(
    model: Any, tokenizer: Any, compiler: Compiler, prompt: str
) -> None:
    """With "draft" it is that of transformers' own loop, token by token."""
    for grammar in (SHEET, LIST):
        (slow,) = generate(
            model, tokenizer, prompt, grammar, compiler=compiler, jump="off", max_new_tokens=60
        )
        (fast,) = generate(
            model, tokenizer, prompt, grammar, compiler=compiler, jump="draft", max_new_tokens=60
        )
        assert fast.token_ids == slow.token_ids and fast.jumps is not None
        report = fast.jumps
        assert report.forced_tokens <= 1 and report.avoided_calls <= report.accepted_tokens + 1
        assert 0 < report.accepted_tokens <= report.drafted_tokens


def test_rows_of_a_batch_are_those_alone(model: Any, tokenizer: Any, compiler: Compiler) -> None:
    grammars = [SHEET, LIST, None, SHEET]
    prompts = [*PROMPTS, '{"name": "Ann", "kind": "cat"}']
    for jump in ("draft", "canonical"):
        options: dict[str, Any] = {"compiler": compiler, "jump": jump, "max_new_tokens": 50}
        together = generate(model, tokenizer, prompts, grammars, **options)
        for prompt, grammar, result in zip(prompts, grammars, together, strict=True):
            (alone,) = generate(model, tokenizer, prompt, grammar, **options)
            assert result.token_ids == alone.token_ids
            if grammar is not None and jump == "canonical":
                assert list(result.token_ids) == reference(model, tokenizer, compiler, prompt, grammar, 50)


def test_a_seed_draws_the_same_text(
    model: Any, tokenizer: Any, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"compiler": compiler, "seed": 3, "do_sample": True, "max_new_tokens": 50}
    fast = [generate(model, tokenizer, p, SHEET, **options)[0].token_ids for p in PROMPTS]
    monkeypatch.setattr(jumping.JumpRow, "draft", lambda row, batch: None)
    assert fast == [generate(model, tokenizer, p, SHEET, **options)[0].token_ids for p in PROMPTS]


def test_stop_strings_and_streams_see_one_token_at_a_time(
    model: Any, tokenizer: Any, compiler: Compiler
) -> None:
    pieces: list[str] = []
    (whole,) = generate(model, tokenizer, "{", SHEET, compiler=compiler, jump="draft")
    (cut,) = generate(
        model, tokenizer, "{", SHEET, compiler=compiler, jump="draft", stop_strings=['"kind"'],
        on_text=lambda _, text: pieces.append(text),
    )  # fmt: skip
    assert whole.text.startswith(cut.text) and '"kind"' in cut.text and len(cut.text) < len(whole.text)
    assert "".join(pieces) == cut.text
