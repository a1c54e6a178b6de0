"""The finite-state engine: a precomputed DFA over bytes, and an index of the tokens that each state allows."""
