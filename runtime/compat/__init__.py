"""The interfaces of other libraries, with a room for each. Users import them from ``stackmask.compat``."""
