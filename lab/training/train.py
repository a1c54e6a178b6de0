"""Train the tokenizer and the model on freshly drawn questions; two CPU cores, well under 90 minutes."""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import distributed, multiprocessing
from tqdm import tqdm
from transformers import LlamaConfig, LlamaForCausalLM

from training.make_questions import SEED, Pair, training_pairs

TARGET = Path(__file__).resolve().parents[2] / "runtime" / "embedded"
WORK = Path(__file__).resolve().parents[2] / "build" / "training"
END, PAD = "<|endoftext|>", "<|pad|>"
VOCABULARY = 2048
TOKENIZER_PAIRS = 40_000
# Frequent phrases of SQL are single pieces, so that an answer is about fifteen tokens. Words keep their
# leading blank, but names and digits do not: a value is the same tokens in the question and inside
# quotes, which is what makes it easy to copy.
PERIOD = r"strftime\('%Y(?:-%m)?', [a-z_.]+\)"
PIECES = "|".join(
    (
        r"SELECT(?: DISTINCT)? [a-z_.]+",
        r" (?:AS|FROM|GROUP BY) [a-z_.]+",
        r" ORDER BY [a-z_.]+(?: DESC)?",
        r" LIMIT ",
        r" JOIN [a-z_]+ ON [a-z_.]+ = [a-z_.]+",
        r" ?ROUND\(AVG\([a-z_.]+\), 2\)| ?ROUND\(AVG\(julianday\([a-z_.]+\) - julianday\([a-z_.]+\)\), 2\)",
        r" ?(?:SUM|AVG|MIN|MAX|COUNT)\((?:DISTINCT )?[a-z_.*]+(?: \* [a-z_.]+)?\)",
        rf" (?:WHERE|AND) (?:[a-z_.]+|{PERIOD}) (?:=|[<>]=?|LIKE|BETWEEN) '?%?",
        r" (?:WHERE|AND) [a-z_.]+ (?:NOT )?IN \(SELECT [a-z_]+",
        rf"{PERIOD}|' AND '| AND (?=[0-9])| [<>=]+ | BETWEEN ",
        r" ?[A-Z]{2,}(?: BY)?(?![a-z])",
        r" ?[a-z_]+\.[a-z_]+| ?[a-z_]+|[A-Z][a-z]*|[0-9]|'|\n| ?[^\sA-Za-z0-9_']+|\s+",
    )
)
WORKERS = 2  # processes of one thread: they meet once a step, where threads would meet in every operation
BATCH = 80
STEPS = 4000
WARMUP = 300
PEAK_RATE = 2e-3
POOL = 64  # batches drawn together and bucketed by length
CHECKPOINT_SECONDS = 300


def train_tokenizer(path: Path, seed: int = SEED) -> Tokenizer:
    """Train a byte-level BPE that can spell every byte."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[END, PAD],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    texts = (f"{pair.question}\n{pair.sql}" for pair in training_pairs(TOKENIZER_PAIRS, seed))
    tokenizer.train_from_iterator(texts, trainer)
    path.parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(path))
    return tokenizer


def configuration(tokenizer: Tokenizer) -> LlamaConfig:
    """Return the shape of the model: about two million weights."""
    return LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=192,
        intermediate_size=512,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.token_to_id(END),
        eos_token_id=tokenizer.token_to_id(END),
        pad_token_id=tokenizer.token_to_id(PAD),
    )


def encode(tokenizer: Tokenizer, pair: Pair) -> tuple[list[int], int]:
    """Return the tokens of question, SQL and end, and how many of them are the question."""
    question = tokenizer.encode(pair.question + "\n").ids
    return [*question, *tokenizer.encode(pair.sql).ids, tokenizer.token_to_id(END)], len(question)


def batches(
    tokenizer: Tokenizer, steps: int, seed: int, rank: int = 0, workers: int = 1
) -> Iterator[tuple[torch.Tensor, torch.Tensor, int]]:
    """Draw this worker's share of batches of similar length: tokens and targets (rows, length), -100 for
    no target; and the number of targets in the whole batch."""
    pairs = training_pairs(steps * BATCH, seed)
    rng = random.Random(seed)
    pad = tokenizer.token_to_id(PAD)
    for start in range(0, steps, POOL):
        size = min(POOL, steps - start) * BATCH
        pool = sorted((encode(tokenizer, next(pairs)) for _ in range(size)), key=lambda item: len(item[0]))
        groups = [pool[i : i + BATCH] for i in range(0, size, BATCH)]
        rng.shuffle(groups)
        for group in groups:
            share = group[rank::workers]
            width = max(len(tokens) for tokens, _ in share)
            tokens = torch.full((len(share), width), pad)
            targets = torch.full((len(share), width), -100)
            for row, (ids, asked) in enumerate(share):
                tokens[row, : len(ids)] = torch.tensor(ids)
                targets[row, asked : len(ids)] = torch.tensor(ids[asked:])
            yield tokens, targets, sum(len(ids) - asked for ids, asked in group)


def rate(step: int, steps: int) -> float:
    """Return the learning rate: linear warm-up, then a cosine to a fiftieth."""
    if step < WARMUP:
        return PEAK_RATE * (step + 1) / WARMUP
    done = (step - WARMUP) / max(1, steps - WARMUP)
    return PEAK_RATE * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done)))


def save(model: LlamaForCausalLM, folder: Path) -> None:
    """Write the weights in half precision and the configuration; tied weights are written once."""
    folder.mkdir(parents=True, exist_ok=True)
    state = {
        k: v.to(torch.float16).contiguous() for k, v in model.state_dict().items() if k != "lm_head.weight"
    }
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)  # package data is for everyone to read
    kept = model.config.to_diff_dict()
    kept.pop("transformers_version", None)
    (folder / "config.json").write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n")


def optimizer_for(model: LlamaForCausalLM) -> torch.optim.Optimizer:
    """Return AdamW with weight decay on matrices alone."""
    decay = [p for p in model.parameters() if p.dim() > 1]
    other = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": decay, "weight_decay": 0.05}, {"params": other, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, betas=(0.9, 0.98))


def add_gradients(model: LlamaForCausalLM) -> None:
    """Sum the gradients of all workers."""
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    distributed.all_reduce(flat)
    for gradient, part in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
        gradient.copy_(part.view_as(gradient))


def work_on(rank: int, workers: int, meeting: str, target: Path, work: Path, steps: int, seed: int) -> None:
    """Run one worker; the first one reports, and writes the weights."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=workers)
    tokenizer = Tokenizer.from_file(str(target / "tokenizer.json"))
    model = LlamaForCausalLM(configuration(tokenizer))
    optimizer = optimizer_for(model)
    if rank == 0:
        print(
            f"{sum(p.numel() for p in model.parameters()):,} weights, {steps:,} steps of {BATCH} pairs",
            flush=True,
        )
    model.train()
    smooth = 0.0
    saved = time.monotonic()
    with tqdm(total=steps, unit="step", dynamic_ncols=True, mininterval=5, disable=rank > 0) as progress:
        for step, (tokens, targets, total) in enumerate(batches(tokenizer, steps, seed + 1, rank, workers)):
            for group in optimizer.param_groups:
                group["lr"] = rate(step, steps)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                hidden = model.model(input_ids=tokens, use_cache=False).last_hidden_state
                wanted = targets[:, 1:] != -100
                logits = model.lm_head(hidden[:, :-1][wanted])  # only where there is a target
            loss = (
                torch.nn.functional.cross_entropy(logits.float(), targets[:, 1:][wanted], reduction="sum")
                / total
            )
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            add_gradients(model)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            here = loss.item() * workers
            smooth = here if not smooth else 0.98 * smooth + 0.02 * here
            progress.update()
            progress.set_postfix(loss=f"{smooth:.4f}", refresh=False)
            if rank == 0 and time.monotonic() - saved > CHECKPOINT_SECONDS:
                save(model, work)
                saved = time.monotonic()
    if rank == 0:
        save(model, target)
    distributed.destroy_process_group()


def train(target: Path = TARGET, work: Path = WORK, steps: int = STEPS, seed: int = SEED) -> Path:
    """Train and write ``tokenizer.json``, ``config.json`` and ``model.safetensors`` into ``target``."""
    work.mkdir(parents=True, exist_ok=True)
    train_tokenizer(target / "tokenizer.json", seed)
    meeting = work.resolve() / f"meeting-{os.getpid()}"
    arguments = (WORKERS, str(meeting), target, work, steps, seed)
    try:
        multiprocessing.spawn(work_on, arguments, nprocs=WORKERS)
    finally:
        meeting.unlink(missing_ok=True)
    return target / "model.safetensors"


def main() -> None:
    """Parse the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--out", type=Path, default=TARGET)
    parser.add_argument("--work", type=Path, default=WORK)
    options = parser.parse_args()
    print(train(options.out, options.work, options.steps))


if __name__ == "__main__":
    main()
