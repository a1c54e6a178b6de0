"""The finite-state engine: an eager DFA over bytes, and an index of the tokens that each state allows."""
