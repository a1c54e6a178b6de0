class Crossings:
    """A vocabulary's trie beside places of a grammar: ``ForcedRuns`` and ``FsmRuns`` are made of it."""

    def after(self, config: int, text: bytes) -> int:
        """Return the place after a text; 0 if it may not come."""

    def leads(self, config: int, most: int) -> list[int]:
        """Return the first bytes of what may come, in ascending order: at most ``most`` of them."""

    def crossings(self, text: bytes, config: int, most: int) -> list[tuple[int, tuple[int, ...]]]:
        """Return pairs (n, tokens), by ascending n: tokens that begin with the last n bytes of ``text`` and
        go on with what may come at ``config``, which is the place after the text.

        Of tokens with one text one is returned; no tokens mean that there are more than ``most``.
        Cost: some microseconds: a descent of the trie per length, and the first tokens below that may come.
        """

    def is_free(self, text: bytes, place: int) -> bool:
        """Tell whether no token can stand across a place inside a text, whatever comes behind the text.

        Both sides of such a place are encoded by themselves: what is on the right moves nothing on the left.
        Cost: a descent of the trie from each byte before the place, as far as a token is long.
        """
