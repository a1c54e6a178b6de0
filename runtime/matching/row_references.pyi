from typing import Any

class MaskRows:
    """A mask: the union of some rows of a store, with some tokens flipped; or its words, if that is too long.

    ``source`` and ``epoch`` say of what numbering the ``rows`` are; a row keeps its content in an epoch. No
    rows and no tokens is the mask that allows nothing. ``words`` is None, or the bytes of the whole mask.
    """

    @property
    def source(self) -> Any: ...
    @property
    def epoch(self) -> int: ...
    @property
    def rows(self) -> tuple[int, ...]: ...
    @property
    def tokens(self) -> tuple[int, ...]: ...
    @property
    def words(self) -> bytes | None: ...
    def __init__(
        self,
        source: Any,
        epoch: int,
        rows: tuple[int, ...],
        tokens: tuple[int, ...],
        words: bytes | None = None,
    ) -> None: ...
    def is_empty(self) -> bool:
        """Tell whether nothing is allowed."""
