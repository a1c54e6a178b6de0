"""``GrammarCompiler`` and ``CompiledGrammar``."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from stackmask.grammar.source.options import ArgumentError
from stackmask.pda.store import DEFAULT_CACHE_BYTES
from stackmask.runtime.compat.xgrammar.errors import DeserializeFormatError, runtime_errors
from stackmask.runtime.compat.xgrammar.grammar import (
    Grammar,
    Recipe,
    lark_recipe,
    of_recipe,
    schema_recipe,
    shown,
    tag_recipe,
)
from stackmask.runtime.compat.xgrammar.records import read_record, write_record
from stackmask.runtime.compat.xgrammar.tokenizer_info import TokenizerInfo
from stackmask.runtime.matching.compiler import CompiledGrammar as NativeCompiled
from stackmask.runtime.matching.compiler import Compiler

MOST_REMEMBERED: Final = (
    1_000  # compiled grammars by what they were made from; equal rules share all else anyway
)


class CompiledGrammar:
    """A grammar compiled for a vocabulary by ``GrammarCompiler``. ``native``: the engine's own object."""

    native: NativeCompiled
    """The engine's own compiled grammar."""
    __repr__ = shown

    def __init__(self, native: NativeCompiled, grammar: Grammar, tokenizer_info: TokenizerInfo) -> None:
        self.native = native
        self._grammar = grammar
        self._tokenizer_info = tokenizer_info

    @property
    def grammar(self) -> Grammar:
        """The source grammar."""
        return self._grammar

    @property
    def tokenizer_info(self) -> TokenizerInfo:
        """The vocabulary for which it was compiled."""
        return self._tokenizer_info

    @property
    def memory_size_bytes(self) -> int:
        """The approximate memory of this grammar alone; masks are shared by all grammars of a compiler."""
        found = self.native.stats()
        return found["compile_memory"] + found["family_bytes"]

    def serialize_json(self) -> str:
        """Return the source, and the digest of the vocabulary, as JSON text."""
        value = {"grammar": self._grammar.recipe(), "vocabulary": self._tokenizer_info.vocabulary.digest()}
        return write_record("CompiledGrammar", value)

    @staticmethod
    def deserialize_json(json_str: str, tokenizer_info: TokenizerInfo) -> CompiledGrammar:
        """Compile the output of ``serialize_json``.

        Raises: InvalidJSONError, DeserializeVersionError; DeserializeFormatError also if the vocabulary
            differs.
        Cost: that of compiling, which is milliseconds.
        """
        value = read_record(json_str, "CompiledGrammar")
        if not isinstance(value, dict) or value.get("vocabulary") != tokenizer_info.vocabulary.digest():
            raise DeserializeFormatError("it was compiled for another vocabulary")
        return GrammarCompiler(tokenizer_info).compile_grammar(of_recipe(value.get("grammar")))


class GrammarCompiler:
    """Compiles grammars for one vocabulary. Threads may share it.

    ``max_threads`` is ignored, since masks are computed on demand, not in advance. ``cache_enabled``: cache
    the last 1,000 compiled grammars by their source. ``cache_limit_bytes`` bounds states and masks of all its
    grammars; -1 means the engine's default.
    """

    native: Compiler
    """The engine's own compiler."""
    __repr__ = shown

    def __init__(
        self,
        tokenizer_info: TokenizerInfo,
        *,
        max_threads: int = 8,
        cache_enabled: bool = True,
        cache_limit_bytes: int = -1,
    ) -> None:
        if not isinstance(tokenizer_info, TokenizerInfo):
            raise ArgumentError(
                f"a compiler is for a TokenizerInfo, not {type(tokenizer_info).__name__}: write "
                "TokenizerInfo.from_huggingface(tokenizer)"
            )
        self._info = tokenizer_info
        self._limit = cache_limit_bytes
        self._remembers = cache_enabled
        self._lock = threading.Lock()
        self._known: OrderedDict[str, CompiledGrammar] = OrderedDict()
        self.native = self._new()

    def _new(self) -> Compiler:
        cache_bytes = DEFAULT_CACHE_BYTES if self._limit < 0 else max(self._limit, 1)
        return Compiler(self._info.vocabulary, cache_bytes=cache_bytes)

    def compile_json_schema(
        self,
        schema: Any,
        *,
        any_whitespace: bool = True,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        strict_mode: bool = True,
        max_whitespace_cnt: int | None = None,
        any_order: bool = False,
    ) -> CompiledGrammar:
        """Compile ``Grammar.from_json_schema(schema, …)``."""
        recipe = schema_recipe(
            schema,
            any_whitespace=any_whitespace,
            indent=indent,
            separators=separators,
            strict_mode=strict_mode,
            max_whitespace_cnt=max_whitespace_cnt,
            any_order=any_order,
        )
        return self._compile(recipe)

    def compile_builtin_json_grammar(self) -> CompiledGrammar:
        """Compile ``Grammar.builtin_json_grammar()``."""
        return self._compile({"kind": "json"})

    def compile_regex(self, regex: str) -> CompiledGrammar:
        """Compile ``Grammar.from_regex(regex)``."""
        return self._compile({"kind": "regex", "pattern": regex})

    def compile_lark(
        self, lark_string: str, *, named_grammars: Mapping[str, Grammar | str] | None = None
    ) -> CompiledGrammar:
        """Compile ``Grammar.from_lark(lark_string)``."""
        return self._compile(lark_recipe(lark_string, named_grammars))

    def compile_structural_tag(self, *args: Any, **kwargs: Any) -> CompiledGrammar:
        """Compile ``Grammar.from_structural_tag(…)``."""
        return self._compile(tag_recipe(*args, **kwargs))

    def compile_grammar(self, grammar: Grammar | str, *, root_rule_name: str = "root") -> CompiledGrammar:
        """Compile a grammar, or EBNF text. Raises: XGrammarError, a RuntimeError; ValueError for anything else."""
        if isinstance(grammar, str):
            return self._compile({"kind": "ebnf", "text": grammar, "start": root_rule_name})
        if not isinstance(grammar, Grammar):
            raise ArgumentError(f"a grammar is EBNF text or a Grammar, not {type(grammar).__name__}")
        return self._compile(grammar.recipe(), grammar)

    def _compile(self, recipe: Recipe, grammar: Grammar | None = None) -> CompiledGrammar:
        # in the order that it was written in: that of properties is part of a schema
        key = json.dumps(recipe) if self._remembers else ""
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known
        grammar = grammar or of_recipe(recipe)
        with runtime_errors():
            compiled = CompiledGrammar(self.native.compile(grammar.native), grammar, self._info)
        if self._remembers:
            with self._lock:
                self._known[key] = compiled
                while len(self._known) > MOST_REMEMBERED:
                    self._known.popitem(last=False)
        return compiled

    def clear_cache(self) -> None:
        """Drop all grammars, states and masks, except those in use by matchers."""
        with self._lock:
            self._known.clear()
            self.native = self._new()

    def get_cache_size_bytes(self) -> int:
        """Return the bytes of all states and masks."""
        return int(self.native.stats()["bytes"])

    @property
    def cache_limit_bytes(self) -> int:
        """The constructor argument."""
        return self._limit
