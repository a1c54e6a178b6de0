from stackmask.pda.masks.runs.slices import Filters

class RunCuts(Filters):
    """How configurations are cut into runs, and the rows that come of it; for Cython."""
