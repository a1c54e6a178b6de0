from stackmask.pda.filters import Filters

class RunCuts(Filters):
    """How configurations are cut into runs, and the rows that come of it; for Cython."""
