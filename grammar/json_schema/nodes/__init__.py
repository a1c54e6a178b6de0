"""The nodes of a schema after reading: sets of values by type, and what is remembered of them."""
