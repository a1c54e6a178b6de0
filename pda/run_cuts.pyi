from stackmask.pda.mask_table import MaskTable

class RunCuts(MaskTable):
    """How configurations are cut into runs, and the rows that come of it; for Cython."""
