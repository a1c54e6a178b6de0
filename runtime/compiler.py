"""The compiler: grammars to matchers, for one vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from stackmask.pda.automaton import Automaton
from stackmask.pda.configurations import ConfigSpace
from stackmask.pda.limits import Limits
from stackmask.pda.store import DEFAULT_CACHE_BYTES, Store, TokenInfo
from stackmask.runtime.matcher import Matcher

if TYPE_CHECKING:
    from stackmask.grammar.grammar import Grammar
    from stackmask.runtime.vocabulary import Vocabulary


class CompiledGrammar:
    """A grammar made ready for one vocabulary; immutable to its users, and shared by its matchers.

    States and masks are made when they are first needed and remembered for all matchers.
    """

    __slots__ = ("__weakref__", "automaton", "family", "grammar", "vocabulary")

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, automaton: Automaton) -> None:
        self.grammar = grammar
        self.vocabulary = vocabulary
        self.automaton = automaton
        self.family: ConfigSpace | None = None  # of the matchers that were made last

    def matcher(self) -> Matcher:
        """Return a new matcher at the start of the grammar."""
        return Matcher(self)

    def precompute(self, budget: int = 1_000_000) -> dict[str, Any]:
        """Make the masks of every reachable local state ahead of time, for a server that knows its grammars.

        ``budget`` bounds the states visited and the walks of the vocabulary. The masks are the same as those
        made lazily. Returns: ``states``, ``walks``, and whether it is ``complete`` within the budget.
        """
        store = self.automaton.store
        with store.lock:
            states, walks, complete = store.masks.precompute(self.automaton.lowered.rules, budget)
        return {"states": states, "walks": walks, "complete": complete}

    def stats(self) -> dict[str, int]:
        """Return sizes and counters: terms, states, masks, walks, bytes."""
        return self.automaton.store.counts()


class Compiler:
    """Compile grammars for one vocabulary. Safe to share between threads.

    Equal grammars are compiled once, and equal rules of different grammars share their states and masks.
    ``cache_bytes`` bounds what is remembered: half of it masks, which are dropped and made anew when they
    take more, and half of it states; when those take more, grammars compiled from then on begin a new store, and the old
    one goes with the last grammar in it. Neither changes a mask. Cost: the first compiler of a vocabulary builds its trie, about 10 ms for
    128,000 tokens; compiling takes milliseconds, since states are built when first visited.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        limits: Limits | None = None,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
    ) -> None:
        self.vocabulary = vocabulary
        self.limits = limits or Limits()
        self.cache_bytes = cache_bytes
        self.generation = 0
        self._compiled: WeakValueDictionary[tuple[int, int], CompiledGrammar] = WeakValueDictionary()
        self._info = _token_info(vocabulary)
        self._store = Store(self._info, self.limits, cache_bytes)

    def compile(self, grammar: Grammar) -> CompiledGrammar:
        """Compile a grammar.

        Raises: GrammarError if the grammar has errors; VocabularyError if the vocabulary cannot spell what the
            grammar needs, or lacks a special token that it names; BudgetError if a limit is met.
        """
        rules = grammar.normalized
        store = self._store
        if 2 * store.terms.counts()["term_bytes"] > self.cache_bytes:
            # grammars that are in use keep their store; it goes with the last of them
            store = self._store = Store(self._info, self.limits, self.cache_bytes)
            self._compiled = WeakValueDictionary()
            self.generation += 1
        with store.lock:
            automaton = Automaton(rules, store)
            # equal rules have been given equal terms
            key = (automaton.lowered.start, automaton.start_state)
            compiled = self._compiled.get(key)
            if compiled is None:
                compiled = self._compiled[key] = CompiledGrammar(grammar, self.vocabulary, automaton)
            return compiled


def _token_info(vocabulary: Vocabulary) -> TokenInfo:
    texts = vocabulary.token_bytes
    return TokenInfo(
        size=vocabulary.size,
        texts=texts,
        trie=vocabulary.trie(),
        names=vocabulary.special_names,
        stop_ids=vocabulary.stop_ids,
        single_bytes=texts.single_bytes(),
        strip_first_space=vocabulary.strip_first_space,
    )
