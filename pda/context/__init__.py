"""What depends on the text written so far: captures, semantic states, keys of objects."""
