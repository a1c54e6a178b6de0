"""The models and the tokenizer of jumping generation, in place of those of the folder above."""

from support.jump_setup import compiler, model, tokenizer

__all__ = ["compiler", "model", "tokenizer"]
