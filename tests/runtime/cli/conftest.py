"""A tiny random model, its tokenizer, and sampling that repeats itself."""

from support.tiny_model import model, seeded, tokenizer

__all__ = ["model", "seeded", "tokenizer"]
