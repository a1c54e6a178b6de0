"""The interfaces of other libraries, a room for each; users import them from ``stackmask.compat``."""
