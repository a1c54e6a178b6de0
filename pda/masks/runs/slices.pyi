from stackmask.pda.masks.arena import MaskTable

class Filters(MaskTable):
    """The slices and filters of the masks of one store; for Cython."""
