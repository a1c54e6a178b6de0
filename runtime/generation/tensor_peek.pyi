"""What a step of one row asks of tensors on the CPU, read where it lies."""

def next_id(
    row: int, length: int, columns: list[int], values: list[int], tokens: list[int], recent: int
) -> int:
    """Return the last id of a row if it goes on as expected, else -1.

    Shapes: ``row`` is the address of ``length`` ids of 64 bits; ``values`` are the ids expected at ``columns``, and the
        last ``recent`` of ``tokens`` those before the last id.
    """

def has_choice(scores: int, mask: int, columns: int) -> bool:
    """Tell whether any token that a mask allows has a score above -inf.

    Shapes: ``scores`` is the address of ``columns`` numbers of single precision, ``mask`` that of a row of words.
    Cost: a look at the words up to the first such token.
    """
