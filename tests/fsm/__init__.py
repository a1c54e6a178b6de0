"""The finite-state engine against oracles and against the pushdown engine."""
