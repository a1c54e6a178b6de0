"""The syntax tree of a regex and the reader that all flavours share."""
