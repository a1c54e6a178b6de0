"""State that depends on the text so far: captures, semantic states, keys of objects."""
