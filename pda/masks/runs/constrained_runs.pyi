from stackmask.pda.masks.runs.run_splitting import RunCuts

class NarrowedRuns(RunCuts):
    """What run tables tell of configurations that narrow their runs; for Cython."""
