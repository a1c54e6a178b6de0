"""States split into a prefix and a continuation, so that masks of prefixes are shared."""
