"""The models and the tokenizer of jumping generation, in place of those of the folder above."""

from jump_setup import compiler, model, tokenizer

__all__ = ["compiler", "model", "tokenizer"]
