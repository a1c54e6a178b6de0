from collections.abc import Iterable
from typing import final

from stackmask.pda.masks.assembly.mask_cache import WholeMasks

@final
class MaskStore(WholeMasks):
    """The masks of the grammars of one store over one vocabulary, made when they are first needed."""

    @property
    def fills(self) -> int:
        """Masks that were asked for."""

    @property
    def hits(self) -> int:
        """Those of them that were remembered whole."""

    @property
    def settled(self) -> int:
        """Places of the vocabulary that were put together on the configuration there."""

    def prepare(self, items: Iterable[int]) -> None:
        """Make the run tables of some repeated items, terms, over the whole vocabulary."""

    def counts(self) -> dict[str, int]:
        """Return sizes: masks, walks, hits, bytes held by masks."""

    def nbytes_held(self) -> int:
        """Return about how many bytes stay when masks are dropped: what is known of terms."""
