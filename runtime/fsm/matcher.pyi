from collections.abc import Sequence
from typing import NoReturn, final, overload

from stackmask.runtime.fsm.compiling import CompiledFsm
from stackmask.runtime.jump_forward.token_history import JumpCalls
from stackmask.runtime.matching.matcher import Bitmask
from stackmask.runtime.matching.row_references import MaskRows

@final
class FsmMatcher(JumpCalls):
    """Follows one text through a finite automaton; created by ``CompiledFsm.matcher()``.

    Not safe for use from several threads at once; matchers of one compiled grammar are independent of each
    other. A refused token or text changes nothing. The history is kept, so any number of accept calls can be
    rolled back.
    """

    def __new__(cls, compiled: CompiledFsm, origin: FsmMatcher | None = None) -> FsmMatcher: ...
    @property
    def compiled(self) -> CompiledFsm:
        """The compiled grammar that this matcher follows."""

    @property
    def state(self) -> int:
        """The state of the automaton after the text so far."""

    def accept_token(self, token: int) -> bool:
        """Advance by one token. Return False, and change nothing, if the token is not allowed.

        A stop token ends the text where the grammar may end (unless the grammar itself contains this token
        here). Cost: a few loads for each byte.
        """

    def accept_string(self, text: str | bytes) -> bool:
        """Advance by text; bytes need not end at a character boundary.

        Return False, and change nothing, if it is not allowed. Counts as one accept call.
        """

    def rollback(self, count: int = 1) -> None:
        """Undo the last ``count`` accept calls. Raises: MatcherError if there were fewer."""

    def fork(self) -> FsmMatcher:
        """Return an independent matcher in the same state, including the history."""

    @property
    def account(self) -> None:
        """None: all states were found at compile time, so the matchers do no work."""

    def cancel(self) -> None:
        """Do nothing, since no call of this matcher takes long."""

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
        """The reason why the last accept call was refused and what was expected instead; None if it was not
        refused.
        """

    def expected(self) -> tuple[set[int], set[int], bool]:
        """Return the bytes and token ids that may come next, and whether the text may end."""

    def shortest_completion(self) -> NoReturn:
        """Raise an error, since finite automata do not count the tokens to the end."""

    def needs_at_least(self) -> NoReturn:
        """Raise an error, since finite automata do not count the tokens to the end."""

    def fill_next_token_bitmask(self, mask: Bitmask, row: int = 0, *, budget: None = None) -> bool:
        """Write the tokens that may come next into a row of the mask.

        Shapes: mask int32 (batch, ceil(vocab / 32)) or (ceil(vocab / 32),), a NumPy array or a CPU torch
            tensor, contiguous; bit i of word w is token 32 * w + i, 1 = allowed.
        Returns: False if every token is allowed, so that the mask need not be applied.
        Raises: MatcherError if the mask does not fit, or if a token budget is given, which automata do not
            support.
        """

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
        """Return the current state as text, for debugging."""

    def mask_rows(self, max_rows: int = 4, max_tokens: int = 12) -> MaskRows:
        """Return the whole mask: the rows of an index are not stored as bits. See ``MaskRows``."""

    def must_stop(self) -> bool:
        """Return whether the text is complete and cannot continue: only a stop token may follow."""

    def find_jump_forward_bytes(self) -> tuple[bytes, bytes]:
        """Return the forced bytes up to the last complete character, and the forced bytes after it.

        A byte is forced if no other may come next, the text may not end, and no special token is allowed.
        Inside a character, the first bytes complete it. Cost: a look-up of the merged path of the state.
        """
