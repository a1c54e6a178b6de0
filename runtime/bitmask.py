"""Token bitmasks: allocate them, and apply them to logits.

A bitmask is int32 of shape (batch, ceil(vocab / 32)); bit i of word w is token 32 * w + i, 1 = allowed.
NumPy arrays and torch tensors are both welcome; torch is not imported here unless it is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from stackmask.grammar.diagnostics import StackmaskError

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch

BITS = 32  # tokens a word
BFLOAT16_MINUS_INF = 0xFF80 - 0x10000  # as int16
ALL_ALLOWED = -1  # a word with all bits set, as int32


class BitmaskError(StackmaskError):
    """Logits and bitmask that do not fit together; names the argument and both values."""


def bitmask_shape(batch: int, vocab_size: int) -> tuple[int, int]:
    """Return the shape of a bitmask: ``(batch, ceil(vocab_size / 32))``.

    Raises: BitmaskError if ``batch`` is negative or ``vocab_size`` is not positive.
    """
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

    Shapes: int32 (batch, ceil(vocab_size / 32)). The bits past ``vocab_size`` in the last word are 0.
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
    """Allow every token, in place. With ``vocab_size`` the bits from there on are cleared."""
    bitmask[...] = ALL_ALLOWED
    if vocab_size is not None:
        word, used = divmod(vocab_size, BITS)
        bitmask[..., word:] = 0
        if used:
            bitmask[..., word] = (1 << used) - 1


def apply_token_bitmask_inplace(
    logits: Any, bitmask: Any, *, indices: Sequence[int] | Any | None = None, vocab_size: int | None = None
) -> None:
    """Set the logits of forbidden tokens to -inf, in place.

    Shapes: logits (batch, vocab) or (vocab,), floating point; bitmask (batch, ceil(vocab / 32)) or
        (ceil(vocab / 32),) int32. Both are NumPy arrays, or both are torch tensors on one device.
    ``indices`` names the rows to change, in logits and bitmask alike; others stay as they are. ``vocab_size``
    is the number of leading columns that the mask speaks of; the logits after it are forbidden. By default
    that is all of them.
    Cost: reads the bitmask once, writes only forbidden logits; a temporary of one byte per logit.
    Raises: BitmaskError if kinds, devices, types or widths disagree.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(logits, torch.Tensor):
        if not isinstance(bitmask, torch.Tensor):
            bitmask = torch.from_numpy(np.asarray(bitmask))
        _apply_torch(torch, logits, bitmask, indices, vocab_size)
        return
    if torch is not None and isinstance(bitmask, torch.Tensor):
        bitmask = bitmask.numpy()
    if not isinstance(logits, np.ndarray):
        raise BitmaskError(f"logits is {type(logits).__name__}, must be a NumPy array or a torch tensor")
    bitmask = np.asarray(bitmask)
    is_float = np.issubdtype(logits.dtype, np.floating)
    columns = _check(logits, bitmask, vocab_size, is_float, bitmask.dtype == np.int32)
    _forbid(logits, bitmask, indices, columns, -np.inf)


def _check(logits: Any, bitmask: Any, vocab_size: int | None, is_float: bool, is_int32: bool) -> int:
    """Return the number of columns that the mask speaks of, or raise."""
    if not is_float:
        raise BitmaskError(f"logits has dtype {logits.dtype}, must be floating point")
    if not is_int32:
        raise BitmaskError(f"bitmask has dtype {bitmask.dtype}, must be int32")
    if logits.ndim not in (1, 2) or bitmask.ndim != logits.ndim:
        raise BitmaskError(
            f"logits has {logits.ndim} dimensions and bitmask {bitmask.ndim}: both must have 1, or both 2"
        )
    if logits.ndim == 2 and logits.shape[0] != bitmask.shape[0]:
        raise BitmaskError(f"logits has {logits.shape[0]} rows, but bitmask has {bitmask.shape[0]}")
    width = logits.shape[-1]
    columns = width if vocab_size is None else int(vocab_size)
    if not 0 < columns <= width:
        raise BitmaskError(f"vocab_size is {columns}, but logits has {width} columns")
    if -(-columns // BITS) > bitmask.shape[-1]:
        raise BitmaskError(
            f"bitmask has {bitmask.shape[-1]} words ({bitmask.shape[-1] * BITS} tokens), "
            f"but {columns} tokens need {-(-columns // BITS)}"
        )
    return columns


def _check_indices(indices: Any, rows: int, ndim: int) -> npt.NDArray[np.int64]:
    if ndim == 1:
        raise BitmaskError("indices is given, but logits has 1 dimension: there are no rows to choose")
    chosen = np.asarray(
        indices.tolist() if hasattr(indices, "tolist") else list(indices), dtype=np.int64
    ).ravel()
    for index in chosen.tolist():
        if not 0 <= index < rows:
            raise BitmaskError(f"indices has row {index}, but logits has {rows} rows")
    return chosen


def _forbid(logits: Any, bitmask: Any, indices: Any, columns: int, value: float) -> None:
    """Write ``value`` over the forbidden entries, a row at a time: its booleans stay in the cache."""
    words = bitmask[..., : -(-columns // BITS)]
    rows: list[Any]
    if indices is not None:
        rows = _check_indices(indices, logits.shape[0], logits.ndim).tolist()
    else:
        rows = [...] if logits.ndim == 1 else list(range(logits.shape[0]))
    for row in rows:
        octets = (~np.ascontiguousarray(words[row], dtype="<i4")).view(np.uint8)
        forbidden = np.unpackbits(octets, bitorder="little")[:columns].view(np.bool_)
        np.copyto(logits[row][:columns], value, where=forbidden, casting="unsafe")
        logits[row][columns:] = value


def _apply_torch(torch: Any, logits: Any, bitmask: Any, indices: Any, vocab_size: int | None) -> None:
    if logits.device != bitmask.device:
        raise BitmaskError(f"logits is on {logits.device}, but bitmask is on {bitmask.device}")
    columns = _check(
        logits, bitmask, vocab_size, logits.dtype.is_floating_point, bitmask.dtype == torch.int32
    )
    if logits.device.type == "cpu":
        values = logits.detach()
        if logits.dtype == torch.bfloat16:  # NumPy has no such type; its bits will do
            _forbid(values.view(torch.int16).numpy(), bitmask.numpy(), indices, columns, BFLOAT16_MINUS_INF)
        else:
            _forbid(values.numpy(), bitmask.numpy(), indices, columns, -np.inf)
        return
    rows = None if indices is None else _check_indices(indices, logits.shape[0], logits.ndim)
    _forbid_on_device(torch, logits, bitmask, rows, columns)


def _forbid_on_device(torch: Any, logits: Any, bitmask: Any, rows: Any, columns: int) -> None:
    """Do as ``_forbid``, with torch operations alone; a temporary of five bytes per logit."""
    words = bitmask[..., : -(-columns // BITS)]
    chosen = None if rows is None else torch.from_numpy(rows).to(logits.device)
    if chosen is not None:
        words = words[chosen]
    shifts = torch.arange(BITS, device=words.device, dtype=torch.int32)
    forbidden = ((words.unsqueeze(-1) >> shifts) & 1 == 0).flatten(-2)[..., :columns]
    part = logits if chosen is None else logits[chosen]
    part[..., :columns].masked_fill_(forbidden, float("-inf"))
    part[..., columns:] = float("-inf")
    if chosen is not None:
        logits[chosen] = part
