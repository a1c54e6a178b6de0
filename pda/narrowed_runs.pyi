from stackmask.pda.run_cuts import RunCuts

class NarrowedRuns(RunCuts):
    """What run tables tell of configurations that narrow their runs; for Cython."""
