"""A tiny random model, its tokenizer, and sampling that repeats itself."""

from tiny_model import assistant, compiler, model, seeded, tokenizer, vocab

__all__ = ["assistant", "compiler", "model", "seeded", "tokenizer", "vocab"]
