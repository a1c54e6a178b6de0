"""The logits processor for ``model.generate`` of transformers."""

from __future__ import annotations

from collections.abc import Sequence

from stackmask.runtime.compat.xgrammar.compiler import CompiledGrammar
from stackmask.runtime.generation.processor import GrammarLogitsProcessor


class LogitsProcessor(GrammarLogitsProcessor):
    """Constrains the output of ``model.generate`` to compiled grammars, one for all rows or one for each.

    One object can serve any number of calls.
    """

    def __init__(self, compiled_grammar: CompiledGrammar | Sequence[CompiledGrammar]) -> None:
        if isinstance(compiled_grammar, CompiledGrammar):
            super().__init__(compiled_grammar.native)
        else:
            super().__init__([grammar.native for grammar in compiled_grammar])
