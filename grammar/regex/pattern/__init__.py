"""Read a pattern of any flavour into a syntax tree; define the tree and the interface of flavours."""
