"""Seeded random tokenizers whose splits depend on what follows: blanks, digits from the right, whole words, `▁`."""

from __future__ import annotations

import json
import random
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from exactness.random_tokenizers import GPT2, LLAMA3

SIGNS = (
    r"[!-/:-@\[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\p{N}+|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
FROM_THE_RIGHT = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))")
CASES = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lo}\p{M}]*[\p{Ll}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PATTERNS = {"gpt2": GPT2, "llama3": LLAMA3, "right": FROM_THE_RIGHT, "cases": CASES, "signs": SIGNS}
KINDS = (*PATTERNS, "added", "metaspace", "metaspace-first")
WORDS = [
    *("name", "kind", "cat", "catfish", "size", "Name", "aB", "_id", "don't", "we'll", "'s"),
    *("12", "345", "1234", "0", "00", '{"', '": ', '", "', "},", "[", "--", "...", "=> "),
    *("  ", "    ", "\n", "\n  ", "\r\n", "\t", "é", "€", "中"),
]
# runs of these are split by what stands behind them
RUNS = [" ", "  ", "   ", "    ", "\n", "0", "12", "345", "1234", "'", "s", "x", "€"]
MORE = [" ", "  ", "   ", "x", "7", "s", "ll", "e"]
CLASSES = ["[a-z]", "[0-9]", "[ ]", r"[ \n]", "[a-z0-9]", "[^<]", "[\"'}]", "[A-Za-z ]"]


def lookahead_tokenizer(kind: str, seed: int) -> Tokenizer:
    """Return a trained tokenizer with all bytes and `<stop>`."""
    rng = random.Random(f"lookahead {kind} {seed}")
    words = rng.sample(WORDS, 16)
    lines = ["".join(rng.choices([*words, " ", " "], k=30)) for _ in range(60)]
    if kind.startswith("metaspace"):
        tokenizer = _metaspace("first" if kind.endswith("first") else "always", lines)
    else:
        tokenizer = _byte_level(PATTERNS.get(kind, LLAMA3), kind == "llama3", lines, rng)
    tokenizer.add_special_tokens([AddedToken("<stop>", special=True)])
    if kind == "added":
        tokenizer.add_tokens(
            [AddedToken("    "), AddedToken('": "'), AddedToken("cat", single_word=True), AddedToken('me"')]
        )
    return tokenizer


def _byte_level(pattern: str, whole_words: bool, lines: list[str], rng: random.Random) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(ignore_merges=whole_words))
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), level]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=rng.choice([300, 340, 400]), initial_alphabet=level.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(lines, trainer)
    if not whole_words:
        return tokenizer
    # words that no merge makes
    state: dict[str, Any] = json.loads(tokenizer.to_str())
    for word in [*rng.sample(WORDS, 8), "catf", "nam", " name", " si"]:
        ((piece, _), *_) = level.pre_tokenize_str(word)
        state["model"]["vocab"].setdefault(piece, len(state["model"]["vocab"]))
    return Tokenizer.from_str(json.dumps(state))


def _metaspace(scheme: str, lines: list[str]) -> Tokenizer:
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    trained.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=120, show_progress=False))
    state = json.loads(trained.to_str())["model"]
    vocab = {piece: i for i, piece in enumerate(["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))])}
    for piece in state["vocab"]:
        vocab.setdefault(piece, len(vocab))
    merges = [tuple(merge) for merge in state["merges"]]
    tokenizer = Tokenizer(
        models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return tokenizer


def random_grammar(rng: random.Random) -> str:
    """Return EBNF text: runs of such words, classes and choices, one after the other."""
    words = RUNS if rng.random() < 0.7 else [*WORDS, *MORE]

    def literal(pieces: int) -> str:
        return json.dumps("".join(rng.choices(words, k=pieces)), ensure_ascii=False)

    parts = []
    for _ in range(rng.randint(2, 5)):
        chance = rng.random()
        if chance < 0.55:
            parts.append(literal(rng.randint(1, 5)))
        elif chance < 0.75:
            least = rng.randint(0, 2)
            parts.append(f"{rng.choice(CLASSES)}{{{least},{least + rng.randint(0, 4)}}}")
        else:
            options = [literal(rng.randint(1, 3)) for _ in range(rng.randint(2, 3))]
            parts.append(f"({' | '.join(options)}){rng.choice(['', '', '?', '*'])}")
    return "root ::= " + " ".join(parts)
