from stackmask.pda.masks.assembly.mask_assembly import MaskParts

class WholeMasks(MaskParts):
    """The whole masks of the grammars of one store: rows, and rows with a few words patched."""

    @property
    def joins(self) -> int:
        """Masks of several parts that were remembered."""
