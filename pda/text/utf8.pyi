def step(state: int, byte: int) -> int:
    """Return the state after a byte, or -1 where the bytes are not well-formed UTF-8. State 0: between characters."""
