"""Teach a copy of the trained model to read a schema from its prompt: lessons about schemas drawn anew.

One core, for as long as ``--minutes`` says; the longer, the better. What is there is gone on from with ``--source``.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import shutil
import time
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from tqdm import tqdm
from transformers import LlamaConfig, LlamaForCausalLM

from stackmask.runtime.embedded import schema_lines_text
from training.foreign_questions import Asker
from training.foreign_schemas import draw_schema, schema_lines
from training.make_questions import SEED
from training.train import TARGET, WORK, optimizer_for, save

MINUTES = 60.0
MAX_STEPS = 20_000
SCHEMAS, QUESTIONS = (
    8,
    6,
)  # of a step: the questions of one schema share its tokens, and do not see each other
PEAK_RATE = 1.5e-3
WARMUP = 60
CHECKPOINT_SECONDS = 300
# The vocabulary has phrases of the shop's SQL, which no other schema shares. Here the SQL is spelled word by word, so
# that a name is the same tokens in the schema and in the SQL.
WORDS = re.compile(r" COUNT\(\*\)|'(?:[^']|'')*'| ORDER BY| GROUP BY| LIMIT | ?[A-Za-z_]+| ?[^A-Za-z_' ]+| ")

Lesson = tuple[list[int], list[tuple[list[int], list[int]]]]  # schema, and question and SQL of each pair


def spell(tokenizer: Tokenizer, sql: str) -> list[int]:
    """Return the tokens of SQL, word by word."""
    ids: list[int] = []
    for word in WORDS.findall(sql):
        parts = ["'", word[1:-1], "'"] if len(word) > 1 and word[0] == "'" else [word]
        for part in parts:
            ids += tokenizer.encode(part).ids
    return ids


def lesson(tokenizer: Tokenizer, rng: random.Random) -> Lesson:
    """Draw a schema and questions about it."""
    tables = draw_schema(rng)
    end = tokenizer.token_to_id("<|endoftext|>")
    pairs = []
    for question, sql in (Asker(rng, tables).ask() for _ in range(QUESTIONS)):
        pairs.append((tokenizer.encode(question + "\n").ids, [*spell(tokenizer, sql), end]))
    shown = schema_lines_text(schema_lines(tables, rng))
    return tokenizer.encode(shown).ids, pairs


def lay_out(lessons: list[Lesson]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return tokens, targets (-100: none), positions (rows, length), and which token sees which (rows, 1, length, length)."""
    width = max(len(schema) + sum(len(q) + len(s) for q, s in pairs) for schema, pairs in lessons)
    tokens = torch.zeros((len(lessons), width), dtype=torch.long)
    targets = torch.full((len(lessons), width), -100)
    positions = torch.zeros((len(lessons), width), dtype=torch.long)
    part = torch.full((len(lessons), width), -1)
    for row, (schema, pairs) in enumerate(lessons):
        at = len(schema)
        tokens[row, :at] = torch.tensor(schema)
        positions[row, :at] = torch.arange(at)
        part[row, :at] = 0
        for number, (question, sql) in enumerate(pairs, 1):
            size = len(question) + len(sql)
            tokens[row, at : at + size] = torch.tensor(question + sql)
            # the question counts too: its names are ones of the schema, and so it teaches to copy them
            targets[row, at : at + size] = torch.tensor(question + sql)
            positions[row, at : at + size] = torch.arange(len(schema), len(schema) + size)
            part[row, at : at + size] = number
            at += size
    same = (part[:, :, None] == part[:, None, :]) | (part[:, None, :] == 0)
    seen = same & torch.ones((width, width), dtype=torch.bool).tril()
    return tokens, targets, positions, seen[:, None]


def loss_of(
    model: LlamaForCausalLM, tokens: torch.Tensor, targets: torch.Tensor, **more: torch.Tensor
) -> torch.Tensor:
    """Return the summed loss over the targets."""
    hidden = model.model(input_ids=tokens, use_cache=False, **more).last_hidden_state
    wanted = targets[:, 1:] != -100
    logits = model.lm_head(hidden[:, :-1][wanted])
    return torch.nn.functional.cross_entropy(logits, targets[:, 1:][wanted], reduction="sum")


def rate(step: int, done: float) -> float:
    """Return the learning rate: linear warm-up, then a cosine to a fiftieth over the time that is there."""
    if step < WARMUP:
        return PEAK_RATE * (step + 1) / WARMUP
    return PEAK_RATE * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done)))


def train(source: Path, target: Path, minutes: float = MINUTES, seed: int = SEED) -> None:
    """Go on from the weights in ``source``, and write those that can read into ``target``."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
    model = LlamaForCausalLM(LlamaConfig(**json.loads((source / "config.json").read_text())))
    state = {name: weight.float() for name, weight in load_file(source / "model.safetensors").items()}
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model.load_state_dict(state)
    model.float().train()
    optimizer = optimizer_for(model)
    rng = random.Random(f"lessons {seed}")
    smooth = 0.0
    started = saved = time.monotonic()
    with tqdm(range(MAX_STEPS), unit="step", dynamic_ncols=True, mininterval=20) as progress:
        for step in progress:
            done = (time.monotonic() - started) / (60 * minutes)
            if done >= 1:
                break
            for group in optimizer.param_groups:
                group["lr"] = rate(step, done)
            optimizer.zero_grad(set_to_none=True)
            tokens, targets, positions, seen = lay_out([lesson(tokenizer, rng) for _ in range(SCHEMAS)])
            total = int((targets != -100).sum())
            loss = loss_of(model, tokens, targets, position_ids=positions, attention_mask=seen) / total
            loss.backward()
            smooth = 0.98 * smooth + 0.02 * loss.item() if smooth else loss.item()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            progress.set_postfix(loss=f"{smooth:.4f}", refresh=False)
            if time.monotonic() - saved > CHECKPOINT_SECONDS:
                save(model, WORK / "reading")
                saved = time.monotonic()
    save(model, WORK / "reading")
    shutil.copyfile(WORK / "reading" / "model.safetensors", target / "reader.safetensors")


def main() -> None:
    """Parse the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--source", type=Path, default=TARGET)
    parser.add_argument("--out", type=Path, default=TARGET)
    options = parser.parse_args()
    train(options.source, options.out, options.minutes)


if __name__ == "__main__":
    main()
