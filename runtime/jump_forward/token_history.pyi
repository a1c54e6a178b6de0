from collections.abc import Sequence
from typing import final

from stackmask.pda.vocabulary.token_bytes import TokenBytes

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
        """Tell whether nothing was accepted."""

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
