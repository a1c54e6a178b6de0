"""Read a pattern of any flavour into a syntax tree; hold the tree and the interface of flavours."""
