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
    """What is made for the family of a matcher when it is asked for. A fork takes it over if it is there."""

@final
class Matcher(JumpCalls):
    """Follow one text through a compiled grammar; ``CompiledGrammar.matcher()`` makes one.

    Not safe for use from several threads at once; matchers of one compiled grammar are independent of each
    other. A refused token or text changes nothing. The history is kept, so any number of accept calls can be
    taken back.
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
        """Advance by one token. Return False, and change nothing, if the token may not come next.

        A stop token ends the text where the grammar may end (unless the grammar itself asks for that token
        here). Cost: a load per byte once the states are known.
        """

    def accept_string(self, text: str | bytes) -> bool:
        """Advance by text; bytes need not end at a character.

        Return False, and change nothing, if it may not come next. Counts as one accept call.
        """

    @property
    def account(self) -> WorkAccount:
        """The work that the request may still do; ``account.grant(units)`` allows more after a BudgetError."""

    def cancel(self) -> None:
        """End the call that works for this request, forks included, within milliseconds. From any thread.

        That call, and later ones that need work, raise CancelledError; what is known already is still told.
        """

    def rollback(self, count: int = 1) -> None:
        """Take back the last ``count`` accept calls. Raises: MatcherError if there were fewer."""

    def fork(self) -> Matcher:
        """Return an independent matcher at the same place, history included."""

    def reset(self) -> None:
        """Go back to the start."""

    def is_accepting(self) -> bool:
        """Return whether the text so far is complete: the grammar may end here."""

    def is_terminated(self) -> bool:
        """Return whether a stop token was accepted."""

    @property
    def accept_calls(self) -> int:
        """The number of accept calls that can be rolled back."""

    @property
    def refusal(self) -> str | None:
        """Why the last accept call was refused and what was expected instead; None if it was not refused."""

    def expected(self) -> tuple[set[int], set[int], bool]:
        """Return (bytes, token ids, whether the text may end) for what may come next."""

    def fill_next_token_bitmask(self, mask: Bitmask, row: int = 0, *, budget: int | None = None) -> bool:
        """Write the tokens that may come next into a row of the mask.

        Shapes: mask int32 (batch, ceil(vocab / 32)) or (ceil(vocab / 32),), a NumPy array or a CPU torch
            tensor, contiguous; bit i of word w is token 32 * w + i, 1 = allowed.
        ``budget``: the tokens that are left, stop token included. Only tokens stay allowed after which the text can
            end within those that are left then: who gives one token less at each step always gets a whole text.
        Returns: False when every token is allowed, so that the mask need not be applied.
        Cost of a budget: a look-up where it is known that every token leaves enough, or what is cut; else a search for
            each successor, once.
        Raises: MatcherError if the mask does not fit, or the budget is no number of tokens; CompletionError if the
            text needs more tokens than the budget has; EmptyMaskError if the mask would allow nothing, and the
            vocabulary has no stop token.
        """

    def prepare(self, max_work: int | None = None) -> bool:
        """Work for the mask here. Return whether it is ready.

        ``max_work``: units of work, about; by default as many as it takes. A row that waits (``StepResult.waiting``) may
        be worked for beside the steps, in another thread too, while no other call uses this matcher: the lock of the
        store is given up after each slice of ``Limits(max_fill_work=…)``.
        Raises: as ``fill_next_token_bitmask`` does.
        """

    def mask_rows(self, max_rows: int = 4, max_tokens: int = 12) -> MaskRows:
        """Return the mask as rows that the engine keeps and tokens to flip: see ``runtime.mask_rows``."""

    @overload
    def fill_draft_bitmask(self, tokens: Sequence[int], mask: Bitmask) -> list[bool]: ...
    @overload
    def fill_draft_bitmask(self, tokens: Sequence[int], parents: Sequence[int], mask: Bitmask) -> list[bool]:
        """Write the masks along draft tokens, without moving: ``(tokens, mask)`` for tokens in a row.

        Of a tree, ``parents[i]`` is the index of the draft token before token i, -1 for the current place;
        parents come before their children. Row 0 is the mask here, row i + 1 the mask after draft token i
        (empty if it or one before it is refused, or if it is a stop token).
        Shapes: mask int32 (at least len(tokens) + 1, ceil(vocab / 32)).
        Returns: whether each draft token is accepted.
        """

    def describe(self) -> list[str]:
        """Return the local states of the current configuration as text, for debugging."""

    def shortest_completion(self) -> Completion:
        """Return a shortest completion of the text so far: bytes, and the fewest tokens found that end the text.

        Raises: CompletionError if the bounds of the search are met. Cost: a search, once for each place.
        """

    def needs_at_least(self) -> int:
        """Return how many tokens the shortest completion takes, stop token included; 0 after a stop token.

        A bound from above that can always be kept: for context-free grammars it is the minimum but for rare
        cases; actions, resolvers and follow restrictions may leave a gap.
        Raises: CompletionError if the bounds of the search are met.
        """

    def must_stop(self) -> bool:
        """Return whether the text is complete and cannot go on: nothing but a stop token may come."""

    def find_jump_forward_bytes(self) -> tuple[bytes, bytes]:
        """Return (the bytes that must come next, as far as they end with a character; those after that).

        Forced means: one next byte, the text may not end, and no special token may come. Inside a character,
        the first bytes are the rest of it. Cost: a lookup once the place is known.
        """

    def explain(self) -> dict[str, Any]:
        """Make the next mask, and return what it is made of: members, operands, walks and trials, by name.

        For people who look for the reason of a mask or of its cost. ``configuration``: the members as text. ``cost``: units
        of work, and what became new: walks, nodes of the vocabulary, trials, terms, configurations.
        """
