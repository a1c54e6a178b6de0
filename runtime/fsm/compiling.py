"""Compile a grammar to a finite automaton and its token index."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stackmask.grammar.front_ends import key_syntax
from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError, MissingFileError
from stackmask.pda.automaton import Automaton
from stackmask.pda.limits import Limits
from stackmask.pda.store import Store, TokenInfo
from stackmask.runtime.fsm.bounds import states_at_least
from stackmask.runtime.fsm.dfa import Paths, explore
from stackmask.runtime.fsm.errors import FsmBudgetError, FsmError
from stackmask.runtime.fsm.features import check_features, forget_keys
from stackmask.runtime.fsm.files import read_index, write_index
from stackmask.runtime.fsm.index import FsmRuns, TokenIndex
from stackmask.runtime.fsm.matcher import FsmMatcher
from stackmask.runtime.fsm.recursion import write_out
from stackmask.runtime.jump_forward.jump_forward import JumpPlanner
from stackmask.runtime.matching.compiler import token_info
from stackmask.runtime.matching.copies import fork_for_copies
from stackmask.runtime.matching.refusal import describe_place, describe_wider
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stackmask.grammar.ir import RuleSet
    from stackmask.runtime.fsm.dfa import Dfa

DEFAULT_MEMORY = 32 << 20  # a schema of twenty fields takes a quarter of it
BYTES_PER_STATE = 300  # that a state takes while the automaton is built: term, configuration, row, step

fork_for_copies(FsmMatcher)


class CompiledFsm:
    """A grammar as a finite automaton with a token index; immutable, and shared by its matchers.

    It has the interface of ``CompiledGrammar``. ``dfa``: the minimal automaton over bytes. ``index``: the
    tokens that each state allows. ``paths``: the compressed automaton. ``grammar`` is None if it was loaded
    from a file.
    """

    __slots__ = (
        "__weakref__", "_counts", "_info", "_jumping", "_planner", "_runs", "dfa", "grammar", "index", "paths", "vocabulary",
    )  # fmt: skip

    grammar: Grammar | None
    """The source grammar; None if it was loaded from a file."""

    vocabulary: Vocabulary
    """The vocabulary of its masks."""

    dfa: Dfa
    """The minimal automaton over bytes."""

    index: TokenIndex
    """The allowed tokens of each state, and the states after them."""

    paths: Paths
    """The compressed automaton: a path of forced bytes is one edge."""

    def __init__(
        self,
        grammar: Grammar | None,
        vocabulary: Vocabulary,
        info: TokenInfo,
        index: TokenIndex,
        counts: dict[str, int],
    ) -> None:
        self.grammar = grammar
        self.vocabulary = vocabulary
        self._info = info
        self.index = index
        self.dfa = index.dfa
        self.paths = Paths(index.dfa)
        self._runs = FsmRuns(index, self.paths, info.trie)
        # makes the proposals of all matchers, one after the other
        self._planner = JumpPlanner(self._runs, vocabulary.token_bytes, info.strip_first_space)
        self._jumping = threading.RLock()
        self._counts = counts

    def __repr__(self) -> str:
        return f"<CompiledFsm: {self.dfa.states} states, for {self.vocabulary.size} tokens>"

    def matcher(self) -> FsmMatcher:
        """Return a new matcher at the start of the grammar."""
        return FsmMatcher(self)

    def precompute(self, budget: int = 0) -> dict[str, Any]:
        """Return the result of ``CompiledGrammar.precompute``; all masks are already computed."""
        return {"states": self.dfa.states, "walks": 0, "complete": True}

    def _rules_around(
        self, symbols: Sequence[int | bytes], what: int | bytes = b"", position: int = 0
    ) -> str:
        """Name the rules that contain the position where ``what`` is refused, as
        ``CompiledGrammar._rules_around`` does.
        """
        if self.grammar is None:
            return ""
        read = [*symbols, what[:position]] if isinstance(what, bytes) else list(symbols)
        place = describe_place(self.grammar.rules, read, self._info)
        return place + (describe_wider(self.grammar, [*symbols, what], self._info) if what != b"" else "")

    @property
    def nbytes(self) -> int:
        """The size of the automaton, the index and the paths, in bytes."""
        return self.dfa.nbytes + self.index.nbytes + self.paths.nbytes

    def stats(self) -> dict[str, int]:
        """Return sizes: states (minimal, as found, and with merged singular paths), edges, rows, bytes."""
        return {
            "states": self.dfa.states,
            **self._counts,
            "compressed_states": self.paths.states,
            "edges": self.dfa.edges,
            "rows": self.index.rows,
            "dense_rows": self.index.dense_rows,
            "transitions": self.index.transitions,
            "dfa_bytes": self.dfa.nbytes,
            "index_bytes": self.index.nbytes,
            "path_bytes": self.paths.nbytes,
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write automaton and index to a file that ``load`` reads. The file is written atomically.

        Raises: OSError if the file cannot be written.
        """
        write_index(Path(path), self.index, self.vocabulary, self._counts)


def compile(
    grammar: Grammar,
    vocabulary: Vocabulary,
    *,
    memory: int = DEFAULT_MEMORY,
    depth: int | None = None,
    repeated_keys: bool = False,
    limits: Limits | None = None,
) -> CompiledFsm:
    """Compile a grammar to a finite automaton and the index of the tokens that each of its states allows.

    All masks are computed now: they are exactly those of the pushdown engine, and no later call computes any.
    ``depth`` and ``repeated_keys`` change the language as described below, and masks are exact for the
    changed language.

    ``memory``: the maximum number of bytes while building, and for automaton and index afterwards. ``depth``:
    how often a recursive rule may be nested inside itself; without it such a grammar is refused.
    ``repeated_keys``: undeclared keys of an open object may repeat; without it such objects are refused.
    ``limits``: those of the pushdown engine, which finds the states; ``max_seconds`` applies to each of the
    two steps.

    Raises: FsmError for recursion without ``depth``, captures and dynamic rules; FsmBudgetError, with the
    estimate, if ``memory`` does not suffice; GrammarError, VocabularyError and BudgetError as
    ``Compiler.compile``.
    Cost: about a microsecond per state and byte class, and one walk of the vocabulary per state.
    """
    _check_arguments(memory, depth)
    if not isinstance(grammar, Grammar):
        raise FsmError(f"the grammar is {grammar!r:.100}: it must be a Grammar")
    if not isinstance(limits, Limits | None):
        raise FsmError(f"limits is {limits!r:.100}: it must be a Limits, or None")
    _check_vocabulary(vocabulary)
    info = token_info(vocabulary)
    limits = limits or Limits()
    rules = grammar.for_vocabulary(vocabulary.special_names).normalized
    if repeated_keys:
        rules = forget_keys(rules)
    check_features(rules)
    rules = write_out(rules, depth)
    least = states_at_least(rules)
    if least * BYTES_PER_STATE > memory:
        raise FsmBudgetError(memory, least * BYTES_PER_STATE, least, "the finite automaton does not fit")
    dfa, visited, special_ids = _automaton(rules, info, memory, limits)
    texts = vocabulary.token_bytes
    index = TokenIndex.build(dfa, texts, info.trie, info.size, special_ids, memory, limits.max_seconds)
    return CompiledFsm(grammar, vocabulary, info, index, {"states_found": visited})


def load(path: str | os.PathLike[str], vocabulary: Vocabulary) -> CompiledFsm:
    """Load a file written by ``CompiledFsm.save``, for the same vocabulary.

    Raises: FsmFileError if the file is damaged, or of another version, vocabulary or kind; OSError if it
        cannot be read.
    """
    _check_vocabulary(vocabulary)
    info = token_info(vocabulary)
    try:
        index, counts = read_index(Path(path), vocabulary)
    except FileNotFoundError:
        raise MissingFileError(f"no such file: {path}; CompiledFsm.save(path) writes one") from None
    return CompiledFsm(None, vocabulary, info, index, counts)


def _check_vocabulary(vocabulary: Vocabulary) -> None:
    if not isinstance(vocabulary, Vocabulary):
        raise FsmError(f"the vocabulary is {vocabulary!r:.100}: it must be a Vocabulary")


def _check_arguments(memory: int, depth: int | None) -> None:
    if not isinstance(memory, int) or isinstance(memory, bool) or memory <= 0:
        raise FsmError(f"memory is {memory!r}: it must be a positive number of bytes")
    if depth is not None and (not isinstance(depth, int) or depth < 0):
        raise FsmError(f"depth is {depth!r}: it must be 0 or more, or None")


def _automaton(
    rules: RuleSet, info: TokenInfo, memory: int, limits: Limits
) -> tuple[Dfa, int, list[tuple[int, ...]]]:
    """Return the minimal automaton, the number of states found, and the tokens of each special symbol.

    The pushdown engine's store is temporary.
    """
    store = Store(info, limits, key_syntax=key_syntax())
    with store.lock:
        automaton = Automaton(rules, store)
        classes_of: dict[int, list[int]] = {}
        for ids, number in automaton.lowered.token_classes.items():
            for token in ids:
                classes_of.setdefault(token, []).append(number)
        alike: dict[tuple[int, ...], list[int]] = {}
        for token, numbers in classes_of.items():
            alike.setdefault(tuple(numbers), []).append(token)
        dfa, visited = explore(automaton, [list(classes) for classes in alike], memory, limits.max_seconds)
    if dfa is None:
        span = rules.rules[rules.start].span
        problem = "the grammar has no text within this depth"
        raise GrammarError([Diagnostic("G103", problem, span, "every text nests deeper")], rules.sources)
    return dfa, visited, [tuple(sorted(tokens)) for tokens in alike.values()]
