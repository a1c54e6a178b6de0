"""Answer questions about whole strings with a vocabulary of single bytes."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from stackmask.grammar import ir
from stackmask.grammar.source.work import Work, counted
from stackmask.pda.errors import BudgetError, VocabularyError
from stackmask.pda.limits import Limits
from stackmask.runtime.matching.compiler import CompiledGrammar, Compiler
from stackmask.runtime.strings.costs import BYTE, NEVER, Costs
from stackmask.runtime.strings.derivation import Derivation
from stackmask.runtime.strings.errors import SampleError
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    from stackmask.grammar.grammar import Grammar
    from stackmask.runtime.matching.matcher import Matcher

CACHE_BYTES: Final = 32 << 20
KEPT: Final = 16  # grammars that are remembered
TRIES: Final = 20  # for one text; each aims at a shorter one
USUAL: Final = 160  # bytes: texts are mostly shorter


class ByteEngine:
    """Tell whether texts are in the language of a grammar, and draw some. Safe to use from several threads."""

    def accepts(self, grammar: Grammar, text: str | bytes) -> bool:
        """Tell whether a whole text is in the language. Raises: SampleError if the grammar has special tokens."""
        if isinstance(text, str):
            try:
                data = text.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError:
                return False
        else:
            data = bytes(text)
        matcher = _matcher(grammar)
        return (not data or matcher.accept_string(data)) and matcher.is_accepting()

    def sample(self, grammar: Grammar, n: int, seed: int, max_bytes: int) -> list[str]:
        """Return ``n`` texts. Raises: SampleError if the grammar has special tokens, or nothing is found."""
        _compiled(grammar)
        limits = grammar.limits or Limits()
        rng = random.Random(seed)
        found: list[str] = []
        costs, least = _costs(grammar, limits)
        if least > BYTE * max_bytes:
            raise SampleError(
                f"the shortest texts of the grammar have about {least // BYTE:,} bytes, and max_bytes is {max_bytes:,}"
                if least < NEVER
                else "every text of the grammar has special tokens, which no string holds"
            )
        for _ in range(n):
            # a text is a request of its own
            with counted(Work(limits.max_work, limits.max_seconds, limits.max_input_bytes)):
                data = self._draw(grammar, costs.copy(), rng, max_bytes)
            if data is None:
                raise SampleError(
                    f"no text of at most {max_bytes:,} bytes was found (max_bytes): raise it, or draw texts from a "
                    "simpler grammar"
                )
            found.append(data.decode("utf-8", "surrogateescape"))
        return found

    def _draw(self, grammar: Grammar, costs: Costs, rng: random.Random, max_bytes: int) -> bytes | None:
        soft = rng.randint(1, max(1, min(USUAL, max_bytes)))
        for _ in range(TRIES):
            text = Derivation(grammar.rules, costs, _matcher(grammar), rng, soft, max_bytes).run()
            if text is not None:
                return text
            soft //= 2
        return None


@lru_cache(maxsize=1)
def _compiler() -> Compiler:
    vocabulary = Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256])
    return Compiler(vocabulary, cache_bytes=CACHE_BYTES)


@lru_cache(maxsize=KEPT)
def _compiled(grammar: Grammar) -> CompiledGrammar:
    for rule in grammar.rules.rules.values():
        if any(
            isinstance(part, ir.Capture) and isinstance(part.action, ir.TokenLimit)
            for part in ir.walk(rule.body)
        ):
            raise SampleError(
                "the grammar counts the tokens of a text (max_tokens), and strings have none: "
                "follow token ids with a Matcher"
            )
    try:
        return _compiler().compile(grammar)
    except VocabularyError as error:
        raise SampleError(
            f"strings hold no special tokens, and the grammar asks for some ({error}): follow token ids with a Matcher"
        ) from None


def _matcher(grammar: Grammar) -> Matcher:
    try:
        return _compiled(grammar).matcher()
    except BudgetError as error:
        if error.limit != "cache_bytes":
            raise
        # others ask about strings in this process just now: theirs go on with the old compiler, and it goes with them
        _compiler.cache_clear()
        _compiled.cache_clear()
        return _compiled(grammar).matcher()


@lru_cache(maxsize=KEPT)
def _known_costs(grammar: Grammar) -> tuple[Costs, int]:
    rules = grammar.rules
    costs = Costs(rules.rules)
    return costs, costs.of(rules.rules[rules.start].body)


def _costs(grammar: Grammar, limits: Limits) -> tuple[Costs, int]:
    """Return the costs of a grammar's rules, and of its cheapest text."""
    with counted(Work(limits.max_work, limits.max_seconds, limits.max_input_bytes)):
        return _known_costs(grammar)
