"""State that depends on the text so far: captures, semantic states, and keys of objects."""
