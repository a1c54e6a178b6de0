"""Token bitmasks: their allocation, and their application to logits.

A bitmask is int32 of shape (batch, ceil(vocab / 32)); bit i of word w is token 32 * w + i, 1 = allowed. NumPy
arrays and torch tensors are supported; torch is imported only on request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from stackmask.runtime.kernels.apply import BITS, apply_token_bitmask_inplace
from stackmask.runtime.kernels.errors import BitmaskError

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch

__all__ = [
    "BitmaskError",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "bitmask_shape",
    "reset_token_bitmask",
]

ALL_ALLOWED = -1  # a word with all bits set, as int32


def bitmask_shape(batch: int, vocab_size: int) -> tuple[int, int]:
    """Return the shape of a bitmask: ``(batch, ceil(vocab_size / 32))``.

    Raises: BitmaskError if ``batch`` is negative or ``vocab_size`` is not positive.
    """
    for name, value in (("batch", batch), ("vocab_size", vocab_size)):
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            size = getattr(value, "size", None)
            cure = f": write vocabulary.size, {size}" if isinstance(size, int) else ""
            raise BitmaskError(f"{name} is a whole number, not {type(value).__name__}{cure}")
    if batch < 0:
        raise BitmaskError(f"batch is {batch}, must be 0 or more")
    if vocab_size <= 0:
        raise BitmaskError(f"vocab_size is {vocab_size}, must be 1 or more")
    return batch, -(-vocab_size // BITS)


@overload
def allocate_token_bitmask(
    batch: int, vocab_size: int, *, like: Literal["numpy"] = "numpy"
) -> npt.NDArray[np.int32]: ...
@overload
def allocate_token_bitmask(
    batch: int, vocab_size: int, *, like: Literal["torch"], pin_memory: bool = False
) -> torch.Tensor: ...
def allocate_token_bitmask(
    batch: int, vocab_size: int, *, like: str = "numpy", pin_memory: bool = False
) -> Any:
    """Allocate a bitmask that allows every token.

    Shapes: int32 (batch, ceil(vocab_size / 32)). All bits are 1, even those past ``vocab_size`` in the last
    word, as in rows for None: kernels of other libraries read words of only ones as "no restriction".
    ``like`` is "numpy" or "torch" (a CPU tensor; ``pin_memory`` makes copies to a GPU asynchronous).
    """
    shape = bitmask_shape(batch, vocab_size)
    if like not in ("numpy", "torch"):
        raise BitmaskError(f'like is {like!r}, not "numpy" or "torch"')
    if like == "torch":
        import torch

        tensor = torch.empty(shape, dtype=torch.int32, pin_memory=pin_memory)
        reset_token_bitmask(tensor, vocab_size=vocab_size)
        return tensor
    mask = np.empty(shape, dtype=np.int32)
    reset_token_bitmask(mask, vocab_size=vocab_size)
    return mask


def reset_token_bitmask(bitmask: Any, *, vocab_size: int | None = None) -> None:
    """Allow every token, in place: all bits become 1, even those past ``vocab_size``, which is only checked.

    Raises: BitmaskError if the rows are too short for ``vocab_size``.
    """
    if vocab_size is not None and bitmask.shape[-1] * BITS < vocab_size:
        raise BitmaskError(f"a row has {bitmask.shape[-1] * BITS} bits, too few for {vocab_size} tokens")
    bitmask[...] = ALL_ALLOWED  # mutant: padding
