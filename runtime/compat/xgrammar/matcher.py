"""``GrammarMatcher`` and ``BatchGrammarMatcher``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal

from stackmask.grammar.source.options import ArgumentError
from stackmask.runtime.compat.xgrammar.compiler import CompiledGrammar
from stackmask.runtime.compat.xgrammar.errors import XGrammarError, runtime_errors
from stackmask.runtime.compat.xgrammar.grammar import shown
from stackmask.runtime.kernels.bitmask import allocate_token_bitmask
from stackmask.runtime.matching.draft_trees import parents_first
from stackmask.runtime.matching.mask_buffer import EmptyMaskError
from stackmask.runtime.matching.matcher import Matcher
from stackmask.runtime.matching.step import fill_next_token_bitmask

NO_TEMPERATURE = -1.0


class GrammarMatcher:
    """Follows one text. ``native``: the engine's own matcher, with ``refusal`` and its other members.

    ``override_stop_tokens``: the stop tokens of this text, instead of the vocabulary's.
    ``terminate_without_stop_token``: the text ends as soon as the grammar may end; a stop token is then
    refused. ``default_temperature``: the value of ``temperature``.
    Raises: ValueError if ``compiled_grammar`` is not compiled.
    """

    def __init__(
        self,
        compiled_grammar: CompiledGrammar,
        *,
        override_stop_tokens: int | Sequence[int] | None = None,
        terminate_without_stop_token: bool = False,
        max_rollback_tokens: int = -1,
        default_temperature: float | None = None,
    ) -> None:
        if not isinstance(compiled_grammar, CompiledGrammar):
            raise ArgumentError(
                f"a matcher is of a CompiledGrammar, not {type(compiled_grammar).__name__}: write "
                "GrammarCompiler(tokenizer_info).compile_grammar(grammar)"
            )
        stops = override_stop_tokens
        if isinstance(stops, int):
            stops = [stops]
        with runtime_errors():
            native = compiled_grammar.native.matcher(stop_ids=stops)
        self._set(
            native,
            list(compiled_grammar.tokenizer_info.stop_token_ids if stops is None else stops),
            terminate_without_stop_token,
            None if default_temperature is None else float(default_temperature),
        )

    def _set(self, native: Matcher, stops: list[int], ends_early: bool, temperature: float | None) -> None:
        self.native = native
        self._stops = stops
        self._ends_early = ends_early
        self._temperature = temperature

    def accept_token(self, token_id: int, *, debug_print: bool = False) -> bool:
        """Advance by a token. Return False, and change nothing, if the token is not allowed."""
        if self._ends_early and token_id in self._stops:  # mutant: early-stop
            return False
        with runtime_errors():
            accepted = self.native.accept_token(token_id)
        self._show(debug_print)
        return accepted

    def accept_string(self, input_str: str | bytes, *, debug_print: bool = False) -> bool:
        """Advance by text, as one step. Return False, and change nothing, if the text is not allowed."""
        with runtime_errors():
            accepted = self.native.accept_string(input_str)
        self._show(debug_print)
        return accepted

    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0, *, debug_print: bool = False) -> bool:
        """Write the allowed tokens into a row. Return False if every token is allowed.

        Shapes: bitmask int32 (batch, ceil(vocab / 32)), a torch tensor on the CPU or a NumPy array.
        Raises: XGrammarError after the end of the text, or if the bitmask does not fit.
        """
        self._check_not_ended()
        self._show(debug_print)
        with runtime_errors():
            try:
                return self.native.fill_next_token_bitmask(bitmask, index)
            except EmptyMaskError:
                return True  # written, and nothing is allowed: the vocabulary has no stop token

    def traverse_draft_tree(
        self,
        retrieve_next_token: Any,
        retrieve_next_sibling: Any,
        draft_tokens: Any,
        token_bitmask: Any,
        time_threshold: float = -1.0,
        temperatures: Any = None,
    ) -> bool:
        """Write the mask at each node of a tree of draft tokens; the matcher does not advance.

        Node 0 is the current position, and its token is ignored. The first two arguments have the number of
        the first child and of the next sibling of each node, or -1. The row of a refused token allows
        nothing. ``time_threshold`` is ignored, and the result is True, since the work of a request has other
        limits.
        Shapes: (nodes,), int64; token_bitmask int32 (nodes, ceil(vocab / 32)); temperatures (nodes,) float32.
        """
        children, siblings, tokens = (
            [int(i) for i in given] for given in (retrieve_next_token, retrieve_next_sibling, draft_tokens)
        )
        if not len(children) == len(siblings) == len(tokens) <= token_bitmask.shape[0]:
            raise XGrammarError(
                f"the tree has {len(children)}, {len(siblings)} and {len(tokens)} nodes, and the bitmask "
                f"{token_bitmask.shape[0]} rows: one row for each node is needed"
            )
        with runtime_errors():
            order, parents = parents_first(children, siblings)
        size = self.native.compiled.vocabulary.size
        rows = allocate_token_bitmask(len(order), size)
        with runtime_errors():
            accepted = self.native.fill_draft_bitmask([tokens[node] for node in order[1:]], parents[1:], rows)
        if temperatures is not None:
            temperatures[: len(tokens)] = NO_TEMPERATURE
        is_tensor = hasattr(token_bitmask, "new_tensor")
        for row, node in enumerate(order):
            # tensors cannot be written from arrays
            token_bitmask[node] = token_bitmask.new_tensor(rows[row]) if is_tensor else rows[row]
            if temperatures is not None and self._temperature is not None and (not row or accepted[row - 1]):
                temperatures[node] = self._temperature
        return True

    def find_jump_forward_string(self) -> str:
        """Return the forced text, up to the last whole character. Raises: XGrammarError after the end."""
        self._check_not_ended()
        with runtime_errors():
            text, _ = self.native.find_jump_forward_bytes()
        return text.decode(errors="replace")

    def rollback(self, num_tokens: int = 1) -> None:
        """Undo the last accept calls. Raises: XGrammarError if there were fewer."""
        with runtime_errors():
            self.native.rollback(num_tokens)

    def get_captures(self, *, deduplicate: bool = True) -> list[tuple[str, bytes]]:
        """Return an empty list, since rules have no names for captures."""
        return []

    def is_terminated(self) -> bool:
        """Return whether the text has ended: with a stop token, or without one if requested."""
        return self.native.is_terminated() or (self._ends_early and self.is_completed())

    def is_completed(self) -> bool:
        """Return whether the grammar may end here."""
        return self.native.is_accepting()

    def reset(self) -> None:
        """Return to the start."""
        self.native.reset()

    def fork(self) -> GrammarMatcher:
        """Return an independent matcher in the same state."""
        other = GrammarMatcher.__new__(GrammarMatcher)
        other._set(self.native.fork(), self._stops, self._ends_early, self._temperature)
        return other

    __repr__ = shown
    __copy__ = fork

    @property
    def max_rollback_tokens(self) -> int:
        """Return -1, which means all tokens."""
        return -1

    @property
    def temperature(self) -> float | None:
        """The ``default_temperature``, since rules have no temperatures."""
        return self._temperature

    @property
    def stop_token_ids(self) -> list[int]:
        """The ids that end this text."""
        return list(self._stops)

    def _debug_print_internal_state(self) -> str:
        return "\n".join(self.native.describe())

    def _show(self, wanted: bool) -> None:
        if wanted:
            print(self._debug_print_internal_state())

    def _check_not_ended(self) -> None:
        if self.native.is_terminated():
            raise XGrammarError(
                "the output has ended with a stop token, so there is no next token; reset() or rollback() first"
            )


class BatchGrammarMatcher:
    """Fills the masks of a batch. ``max_threads``: the number of threads that may copy finished masks, "auto"
    for half of the processors.
    """

    def __init__(self, max_threads: int | Literal["auto"] = "auto") -> None:
        found = (os.cpu_count() or 2) // 2 if max_threads == "auto" else max_threads
        self._threads = max(1, found)

    def batch_fill_next_token_bitmask(
        self,
        matchers: Sequence[GrammarMatcher],
        bitmask: Any,
        indices: Sequence[int] | None = None,
        debug_print: bool = False,
    ) -> None:
        """Write the mask of matcher i into row ``indices[i]``, by default i. Raises: as for one matcher."""
        for matcher in matchers:
            matcher._check_not_ended()
            matcher._show(debug_print)
        with runtime_errors(), suppress(EmptyMaskError):  # all are written then
            fill_next_token_bitmask([m.native for m in matchers], bitmask, indices, threads=self._threads)

    @staticmethod
    def batch_fill_temperature(
        matchers: Sequence[GrammarMatcher], temperatures: Any, indices: Sequence[int] | None = None
    ) -> None:
        """Write the ``temperature`` of each matcher, or -1 without a temperature."""
        rows = range(len(matchers)) if indices is None else indices
        _check_counts("matchers", len(matchers), "indices", len(rows))
        for matcher, row in zip(matchers, rows, strict=True):
            found = matcher.temperature
            temperatures[row] = NO_TEMPERATURE if found is None else found

    @staticmethod
    def batch_accept_token(
        matchers: Sequence[GrammarMatcher], tokens: Sequence[int], debug_print: bool = False
    ) -> list[bool]:
        """Advance each matcher by its token; return which tokens were accepted."""
        _check_counts("matchers", len(matchers), "tokens", len(tokens))
        return [
            matcher.accept_token(token, debug_print=debug_print)
            for matcher, token in zip(matchers, tokens, strict=True)
        ]

    @staticmethod
    def batch_accept_string(
        matchers: Sequence[GrammarMatcher], strings: Sequence[str | bytes], debug_print: bool = False
    ) -> list[bool]:
        """Advance each matcher by its text; return which texts were accepted."""
        _check_counts("matchers", len(matchers), "strings", len(strings))
        return [
            matcher.accept_string(text, debug_print=debug_print)
            for matcher, text in zip(matchers, strings, strict=True)
        ]

    @staticmethod
    def batch_rollback(matchers: Sequence[GrammarMatcher], num_tokens: Sequence[int] | int = 1) -> None:
        """Undo accept calls of each matcher, with one number for all or a number for each."""
        counts = [num_tokens] * len(matchers) if isinstance(num_tokens, int) else num_tokens
        _check_counts("matchers", len(matchers), "num_tokens", len(counts))
        for matcher, count in zip(matchers, counts, strict=True):
            matcher.rollback(count)


def _check_counts(name: str, count: int, other: str, others: int) -> None:
    if count != others:
        raise XGrammarError(f"there are {count} {name} and {others} {other}: one for each is needed")
