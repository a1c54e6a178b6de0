from collections.abc import Mapping

from stackmask.grammar import ir

class Spelling:
    """Spells texts of two or more characters, out of the spellings of characters and of a quote."""

    def __init__(self, characters: Mapping[str, ir.Expr], quote: ir.Expr) -> None: ...
    def text(self, value: str) -> ir.Sequence:
        """Return every spelling of a text, without the quotes. Raises: ValueError for a lone surrogate."""

    def word(self, value: str) -> ir.Sequence:
        """Return every spelling of a text, with the quotes. Raises: ValueError for a lone surrogate."""
