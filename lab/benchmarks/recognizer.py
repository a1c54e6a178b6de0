"""Whole texts against a grammar, through the engine and a vocabulary of the 256 bytes."""

from __future__ import annotations

from collections.abc import Callable

from stackmask.grammar.grammar import Grammar
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

END = 256


def byte_vocabulary() -> Vocabulary:
    """Return the vocabulary in which every token is one byte."""
    return Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[END])


def recognizer(grammar: Grammar) -> Callable[[bytes], bool]:
    """Return a function that tells whether a whole text is in the language of the grammar."""
    compiled = Compiler(byte_vocabulary()).compile(grammar)

    def accepts(data: bytes) -> bool:
        matcher = compiled.matcher()
        return bool(matcher.accept_string(data)) and bool(matcher.is_accepting())

    return accepts
