"""The calls about what may and must come next that the matchers of both engines have."""

from collections.abc import Sequence
from typing import final

from stackmask.pda.vocabulary.token_bytes import TokenBytes
from stackmask.runtime.jump_forward.jump_forward import Plan

class JumpCalls:
    """What a matcher says of the next bytes and of forced text, made of ``expected``, ``find_jump_forward_bytes`` and its plans."""

    def expected_bytes(self) -> set[int]:
        """Return the bytes that may come next."""

    def find_jump_forward_string(self) -> str:
        """Return the text that must come next, up to the next branch or end, in whole characters.

        Empty inside a character; ``find_jump_forward_bytes`` has those bytes, and what is cut off.
        """

    def find_jump_forward_tokens(
        self, context_ids: Sequence[int] = (), *, max_rollback: int | None = None
    ) -> tuple[int, list[int]]:
        """Return (how many tokens to take back, tokens to append then), such as the tokenizer would write the
        forced text; (0, []) where nothing is forced, or nothing is sure.

        A token is proposed only if its right edge stays where it is whatever may follow. ``context_ids``: the
        prompt, if there is one, and the tokens so far; tokens of the prompt are never taken back. With
        ``max_rollback``, no proposal that takes back more. The vocabulary must know its tokenizer
        (``Vocabulary.with_encoder``); else only tokens are proposed that are the single one allowed.
        Raises: MatcherError if the context does not end with the tokens accepted.
        Cost: a lookup for a place met before, else tens of microseconds, whatever the length of the context.
        """

    def plan_jump(self, context_ids: Sequence[int] = (), max_rollback: int | None = None) -> Plan:
        """Do as ``find_jump_forward_tokens``, and say why where nothing is proposed."""

    def _repr_html_(self) -> str: ...

@final
class TokenHistory:
    """What each accept call of a matcher took: a token, or text."""

    def __new__(cls, texts: TokenBytes) -> TokenHistory: ...
    def tokens(self) -> list[int]:
        """Return what was accepted, with -1 for text."""

    def symbols(self) -> list[int | bytes]:
        """Return what was accepted: the ids of tokens, and text as bytes."""

    def size(self) -> int:
        """Return the number of accept calls."""

    def is_empty(self) -> bool:
        """Return whether nothing was accepted."""

    def window(self, size: int) -> tuple[tuple[int, ...], bool]:
        """Return (the last tokens, whether a text begins there), ``size`` bytes if there are so many.

        A text begins with the first token, after text that was accepted as such, and after a special token.
        Otherwise the window begins at a character, and at a blank after something else unless that takes
        twice the size.
        """

    def count_before(self, context: Sequence[int]) -> int | None:
        """Return how many tokens of a context stand before those accepted; None if it does not end with them.

        The last few tokens are compared.
        """
