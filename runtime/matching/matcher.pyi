from collections.abc import Sequence
from typing import Any, TypeAlias, final, overload

import numpy as np
import numpy.typing as npt
import torch

from stackmask.pda.memory.work_meter import WorkAccount
from stackmask.runtime.jump_forward.token_history import JumpCalls
from stackmask.runtime.matching.budgets import Completion
from stackmask.runtime.matching.compiler import CompiledGrammar
from stackmask.runtime.matching.mask_buffer import MatcherError as MatcherError
from stackmask.runtime.matching.row_references import MaskRows

Bitmask: TypeAlias = npt.NDArray[np.int32] | torch.Tensor

@final
class FamilyTools:
    """Objects of a matcher's family that are created on demand. A fork inherits the existing ones."""

@final
class Matcher(JumpCalls):
    """Follows one text through a compiled grammar; created by ``CompiledGrammar.matcher()``.

    Not safe for use from several threads at once; matchers of one compiled grammar are independent of each
    other. A refused token or text changes nothing. The history is kept, so any number of accept calls can be
    rolled back.
    """

    def __new__(
        cls,
        compiled: CompiledGrammar,
        origin: Matcher | None = None,
        stop_ids: Sequence[int] | None = None,
    ) -> Matcher: ...
    @property
    def compiled(self) -> CompiledGrammar:
        """The compiled grammar that this matcher follows."""

    def accept_token(self, token: int) -> bool:
        """Advance by one token. Return False, and change nothing, if the token is not allowed.

        A stop token ends the text where the grammar may end (unless the grammar itself contains this token
        here). Cost: one load for each byte once the states are known.
        """

    def accept_string(self, text: str | bytes) -> bool:
        """Advance by text; bytes need not end at a character boundary.

        Return False, and change nothing, if it is not allowed. Counts as one accept call.
        """

    @property
    def account(self) -> WorkAccount:
        """The remaining work of the request; ``account.grant(units)`` allows more after a BudgetError."""

    def cancel(self) -> None:
        """Cancel the running call of this request or of its forks within milliseconds, from any thread.

        That call, and later calls that need work, raise CancelledError; known results are still returned.
        """

    def rollback(self, count: int = 1) -> None:
        """Undo the last ``count`` accept calls. Raises: MatcherError if there were fewer."""

    def fork(self) -> Matcher:
        """Return an independent matcher in the same state, including the history."""

    def reset(self) -> None:
        """Return to the start."""

    def is_accepting(self) -> bool:
        """Return whether the text so far is complete, so that the grammar may end here."""

    def is_terminated(self) -> bool:
        """Return whether a stop token has been accepted."""

    @property
    def accept_calls(self) -> int:
        """The number of accept calls that can be rolled back."""

    @property
    def refusal(self) -> str | None:
        """The reason why the last accept call was refused, with the expected text; None if it was accepted."""

    def expected(self) -> tuple[set[int], set[int], bool]:
        """Return the bytes and token ids that may come next, and whether the text may end."""

    def fill_next_token_bitmask(self, mask: Bitmask, row: int = 0, *, budget: int | None = None) -> bool:
        """Write the tokens that may come next into a row of the mask.

        Shapes: mask int32 (batch, ceil(vocab / 32)) or (ceil(vocab / 32),), a NumPy array or a CPU torch
            tensor, contiguous; bit i of word w is token 32 * w + i, 1 = allowed. ``budget``: the remaining
            tokens, stop token included. A token stays allowed only if the text can end within the tokens
            remaining after it: if the caller decreases the budget by one at each step, the text is always
            completed.
        Returns: False if every token is allowed, so that the mask need not be applied.
        Cost of a budget: a look-up if the tokens to forbid are known; otherwise one search for each
        successor.
        Raises: MatcherError if the mask does not fit, or the budget is not a number of tokens;
            CompletionError if the text needs more tokens than the budget has; EmptyMaskError if the mask
            would allow nothing, and the vocabulary has no stop token.
        """

    def prepare(self, max_work: int | None = None) -> bool:
        """Compute the mask here, in whole or in part. Return whether it is ready.

        ``max_work``: the approximate units of work; by default as many as necessary. A waiting row
        (``StepResult.waiting``) may be prepared between or during steps, also in another thread, while no
        other call uses this matcher: the lock of the store is released after each slice of
        ``Limits(max_fill_work=…)``.
        Raises: as ``fill_next_token_bitmask`` does.
        """

    def mask_rows(self, max_rows: int = 4, max_tokens: int = 12) -> MaskRows:
        """Return the mask as rows stored in the engine and tokens to flip: see ``runtime.mask_rows``."""

    @overload
    def fill_draft_bitmask(self, tokens: Sequence[int], mask: Bitmask) -> list[bool]: ...
    @overload
    def fill_draft_bitmask(self, tokens: Sequence[int], parents: Sequence[int], mask: Bitmask) -> list[bool]:
        """Write the masks along draft tokens, without advancing: ``(tokens, mask)`` for a chain of tokens.

        In a tree, ``parents[i]`` is the index of the draft token before token i, -1 for the current state;
        parents come before their children. Row 0 is the mask here, row i + 1 the mask after draft token i
        (empty if it or one before it is refused, or if it is a stop token).
        Shapes: mask int32 (at least len(tokens) + 1, ceil(vocab / 32)).
        Returns: whether each draft token is accepted.
        """

    def describe(self) -> list[str]:
        """Return the local states of the current configuration as text, for debugging."""

    def shortest_completion(self) -> Completion:
        """Return a shortest completion of the text so far: its bytes, and the fewest tokens found that end
        the text.

        Raises: CompletionError if the bounds of the search are reached. Cost: one search for each
            configuration.
        """

    def needs_at_least(self) -> int:
        """Return the number of tokens of the shortest completion, stop token included; 0 after a stop token.

        An upper bound that can always be achieved: for context-free grammars it is the minimum except in rare
        cases; actions, resolvers and follow restrictions may leave a gap.
        Raises: CompletionError if the bounds of the search are reached.
        """

    def must_stop(self) -> bool:
        """Return whether the text is complete and cannot continue: only a stop token may follow."""

    def find_jump_forward_bytes(self) -> tuple[bytes, bytes]:
        """Return the forced bytes up to the last complete character, and the forced bytes after it.

        A byte is forced if no other may come next, the text may not end, and no special token is allowed.
        Inside a character, the first bytes complete it. Cost: a look-up once the configuration is known.
        """

    def explain(self) -> dict[str, Any]:
        """Compute the next mask, and return its explanation by name: members, operands, walks and trials.

        For debugging a mask or its cost. ``configuration``: the members as text. ``cost``: units of work, and
        the numbers of new walks, trie nodes, trials, terms and configurations.
        """
