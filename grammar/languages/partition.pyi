def merged(accepting: list[bool], transitions: list[tuple[int, int, int]], labels: int) -> list[int]:
    """Return for each state its block; blocks are numbered by their first states, and accept the same strings.

    ``transitions``: (state, label, state), deterministic. Every state can be reached and can reach an accepting one.
    """
