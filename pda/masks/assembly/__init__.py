"""The mask of one configuration: collect its operands, join them, try what they cannot decide, keep it."""
