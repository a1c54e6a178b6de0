"""Other libraries' interfaces over this engine, a room for each; users import them from ``stackmask.compat``."""
