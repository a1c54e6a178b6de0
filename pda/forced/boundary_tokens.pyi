class Crossings:
    """Tokens across the end of a text. The base of ``ForcedRuns`` and ``FsmRuns``."""

    def after(self, config: int, text: bytes) -> int:
        """Return the place after a text; 0 if the text is not allowed."""

    def leads(self, config: int, most: int) -> list[int]:
        """Return the bytes that may come next, in ascending order: at most ``most`` of them."""

    def crossings(self, text: bytes, config: int, most: int) -> list[tuple[int, tuple[int, ...]]]:
        """Return pairs (n, tokens), by ascending n: tokens that begin with the last n bytes of ``text`` and
        continue at ``config``, which is the place after the text.

        Of tokens with equal bytes, one is returned. No tokens: there are more than ``most``.
        Cost: some microseconds: one descent of the trie for each length, and the first allowed tokens there.
        """

    def is_free(self, text: bytes, place: int) -> bool:
        """Tell whether no token can cross a place inside a text, whatever comes after the text.

        The two sides of such a place are tokenized separately: the right side does not change the left one.
        Cost: a descent of the trie from each byte before the place, as far as a token is long.
        """
