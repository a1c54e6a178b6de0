"""Answer questions about whole strings with a vocabulary of single bytes."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from stackmask.grammar import ir
from stackmask.grammar.source.work import Work, counted
from stackmask.pda.errors import BudgetError
from stackmask.pda.limits import Limits
from stackmask.runtime.matching.compiler import CompiledGrammar, Compiler
from stackmask.runtime.strings.costs import BYTE, NEVER, Costs
from stackmask.runtime.strings.derivation import Derivation
from stackmask.runtime.strings.errors import SampleError
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    from stackmask.grammar.grammar import Grammar
    from stackmask.runtime.matching.matcher import Matcher

BYTES: Final = 256
CACHE_BYTES: Final = 32 << 20
KEPT: Final = 16  # grammars that are remembered
TRIES: Final = 20  # for one text; each aims at a shorter one
USUAL: Final = 160  # bytes beyond the shortest text: most have fewer


class ByteEngine:
    """Return whether texts are in the language of a grammar, and draw some. Safe to use from several threads."""

    def accepts(self, grammar: Grammar, text: str | bytes) -> bool:
        """Return whether a whole text is in the language. Raises: SampleError if the grammar has special tokens."""
        if isinstance(text, str):
            try:
                data = text.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError:
                return False
        else:
            data = bytes(text)
        matcher = _matcher(grammar)
        if matcher.compiled.vocabulary.size > BYTES + 1:
            raise SampleError(
                "strings hold no special tokens, and the grammar asks for some: follow token ids with a Matcher"
            )
        return (not data or matcher.accept_string(data)) and matcher.is_accepting()

    def begins(self, grammar: Grammar, text: bytes) -> bool:
        """Return whether this is how a string of the language begins. Raises: SampleError as ``sample``."""
        return not text or bool(_matcher(grammar).accept_string(text))

    def sample(self, grammar: Grammar, n: int, seed: int, max_bytes: int) -> list[str]:
        """Return ``n`` texts. Raises: SampleError if the grammar has special tokens, or nothing is found."""
        _compiled(grammar)
        limits = grammar.limits or Limits()
        rng = random.Random(seed)
        found: list[str] = []
        costs, least = _costs(grammar, limits)
        if least // BYTE > max_bytes:
            raise SampleError(
                f"the shortest texts of the grammar have about {least // BYTE:,} bytes, and max_bytes is {max_bytes:,}"
                if least < NEVER
                else "strings hold no special tokens, and every text of the grammar has some"
            )
        for _ in range(n):
            # a text is a request of its own
            with counted(Work(limits.max_work, limits.max_seconds, limits.max_input_bytes)):
                data = self._draw(grammar, costs.copy(), rng, least // BYTE, max_bytes)
            if data is None:
                raise SampleError(
                    f"no text of at most {max_bytes:,} bytes was found (max_bytes): raise it, or draw texts from a "
                    "simpler grammar"
                )
            found.append(data.decode("utf-8", "surrogateescape"))
        return found

    def _draw(
        self, grammar: Grammar, costs: Costs, rng: random.Random, least: int, max_bytes: int
    ) -> bytes | None:
        spare = rng.randint(1, max(USUAL, least))
        for number in range(TRIES):
            soft = min(least + spare, max_bytes)
            derivation = Derivation(grammar.rules, costs, _matcher(grammar), rng, soft, max_bytes)
            text = derivation.run()
            if text is None and number:
                text = derivation.completed()
            if text is not None:
                return text
            spare //= 2
        return None


def compile_for_text(grammar: Grammar) -> CompiledGrammar:
    """Compile for a vocabulary of single bytes, and of the special tokens that the grammar names."""
    return _compiler(*_special_tokens(grammar.rules)).compile(grammar)


@lru_cache(maxsize=4)
def _compiler(names: tuple[str, ...] = (), width: int = 0) -> Compiler:
    tokens: list[bytes | None] = [bytes([b]) for b in range(BYTES)]
    specials = {name: BYTES + 1 + n for n, name in enumerate(names)}
    tokens += [None] * (1 + len(specials))
    vocabulary = Vocabulary(tokens, stop_ids=[BYTES], special_names=specials, size=max(len(tokens), width))
    return Compiler(vocabulary, cache_bytes=CACHE_BYTES)


def _special_tokens(rules: ir.RuleSet) -> tuple[tuple[str, ...], int]:
    """Return the names of special tokens in a grammar, and the vocabulary size that its token ids need."""
    names: dict[str, None] = {}
    width = 0
    for rule in rules.rules.values():
        for expr in ir.walk(rule.body):
            if isinstance(expr, ir.TokenTerminal):
                names.update(dict.fromkeys(expr.names))
                width = max([width, *(high + 1 for _, high in expr.id_ranges)])
    return tuple(names), width


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
    return compile_for_text(grammar)


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
