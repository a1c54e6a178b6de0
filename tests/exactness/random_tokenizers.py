"""Seeded random tokenizers of the kinds that models have, trained on a few lines of made-up text."""

from __future__ import annotations

import json
import random

from oracle.random_grammars import CHARACTERS, LETTERS, SPECIAL_NAMES
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
KINDS = ("bytes", "gpt2", "llama3", "spm", "spm-plain", "unigram")
# what trained vocabularies are made of, beside the letters of random grammars
TEXTURE = [
    '{"',
    '": ',
    '", "',
    "  ",
    "    ",
    "\n",
    "12",
    "345",
    "'s",
    "'t ",
    "ab cd",
    "[1, 2]",
    "aab",
    "é€",
    "ü",
]


def corpus(rng: random.Random) -> list[str]:
    """Return lines in which pieces repeat, so that there is something to merge."""
    words = ["".join(rng.choices(LETTERS, k=rng.randint(1, 4))) for _ in range(12)]
    words += [*rng.sample(TEXTURE, 8), "".join(rng.choices(CHARACTERS, k=3))]
    return ["".join(rng.choices([*words, " "], k=30)) for _ in range(40)]


def random_tokenizer(kind: str, seed: int | str) -> Tokenizer:
    """Return a trained tokenizer with all bytes, the special tokens of random grammars, and `<stop>`."""
    rng = random.Random(f"tokenizer {kind} {seed}")
    lines = corpus(rng)
    size = rng.choice([300, 330, 380])
    specials = [AddedToken(name, special=True) for name in (*SPECIAL_NAMES, "<stop>")]
    if kind in ("bytes", "gpt2", "llama3"):
        tokenizer = Tokenizer(models.BPE(ignore_merges=kind == "llama3"))
        level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        pattern = {"bytes": None, "gpt2": GPT2, "llama3": LLAMA3}[kind]
        tokenizer.pre_tokenizer = (
            level
            if pattern is None
            else pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), level])
        )
        tokenizer.decoder = decoders.ByteLevel()
        trainer: trainers.Trainer = trainers.BpeTrainer(
            vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
        )
        tokenizer.train_from_iterator(lines, trainer)
    else:
        tokenizer = sentencepiece_like(kind, lines, size)
    tokenizer.add_special_tokens(specials)
    return tokenizer


def sentencepiece_like(kind: str, lines: list[str], size: int) -> Tokenizer:
    """Return a tokenizer of pieces with `▁` for a blank, and bytes for all that has no piece."""
    blanks = [line.replace(" ", "▁") for line in lines]
    byte_pieces = [f"<0x{byte:02X}>" for byte in range(256)]
    if kind == "unigram":
        trained = Tokenizer(models.Unigram())
        trained.train_from_iterator(
            blanks,
            trainers.UnigramTrainer(
                vocab_size=size, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False
            ),
        )
        pieces = [(piece, -5.0 - 0.01 * i) for i, piece in enumerate(sorted(trained.get_vocab()))]
        found = [("<unk>", 0.0), *((piece, -20.0) for piece in byte_pieces)]
        found += [(piece, score) for piece, score in pieces if piece != "<unk>"]
        tokenizer = Tokenizer(models.Unigram(found, unk_id=0, byte_fallback=True))
    else:
        trained = Tokenizer(models.BPE())
        trained.train_from_iterator(blanks, trainers.BpeTrainer(vocab_size=size - 256, show_progress=False))
        state = json.loads(trained.to_str())["model"]
        vocab = {piece: i for i, piece in enumerate(["<unk>", *byte_pieces])}
        for piece in state["vocab"]:
            vocab.setdefault(piece, len(vocab))
        merges = [tuple(merge) for merge in state["merges"]]
        tokenizer = Tokenizer(
            models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
        )
    steps = [normalizers.Replace(" ", "▁")]
    undo = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    if kind != "spm-plain":
        steps.insert(0, normalizers.Prepend("▁"))
        undo.append(decoders.Strip(" ", 1, 0))
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.decoder = decoders.Sequence(undo)
    return tokenizer
