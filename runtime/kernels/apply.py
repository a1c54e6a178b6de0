"""``apply_token_bitmask_inplace``: one check of the arguments, then the kernel of the device."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stackmask.runtime.kernels.errors import BitmaskError
from stackmask.runtime.kernels.forbid import forbid_at

if TYPE_CHECKING:
    import numpy.typing as npt

BITS = 32  # tokens a word
# the bits of -inf in the types of logits, by the last part of their names
MINUS_INF = {
    "float16": 0xFC00,
    "bfloat16": 0xFF80,
    "float32": 0xFF80_0000,
    "float64": 0xFFF0_0000_0000_0000,
}


def apply_token_bitmask_inplace(
    logits: Any, bitmask: Any, *, indices: Sequence[int] | Any | None = None, vocab_size: int | None = None
) -> None:
    """Set the logits of forbidden tokens to -inf, in place; other logits keep their bits, even NaN and
    infinities.

    Shapes: logits (rows, vocab), (vocab,) or, for draft tokens, (batch, positions, vocab), of float16,
        bfloat16, float32 or float64; bitmask the same with ceil(vocab / 32) int32 words for the last. Rows
        may have any stride, but the logits of a row must be contiguous. Both are NumPy arrays, or both torch
        tensors on one device. ``indices`` are the rows to change, in both logits and bitmask (with three
        dimensions, rows are numbered consecutively); other rows are unchanged. ``vocab_size`` is the number of
        leading columns that the mask covers, by default all; the logits after them are forbidden. A row without
        an allowed token becomes -inf throughout, as for a refused draft token; the samplers refuse such a row.
    Cost: reads the bitmask once and writes forbidden logits; on CUDA, groups of 16 bytes with both allowed and
        forbidden logits are read and written back. With triton, it takes one launch without allocation or
        synchronisation if ``indices`` is None or a tensor on the device (row numbers out of range are then
        ignored, since they cannot be checked); a list is copied. Otherwise torch operations are used.
        ``torch.compile`` and ``torch.export`` include it in their graphs as an operator; ``torch.jit.trace`` does not.
    Raises: BitmaskError (a ValueError) naming the argument and both values, before anything is changed.
    """
    torch = sys.modules.get("torch")
    if torch is not None and _is_traced(torch, logits):
        from stackmask.runtime.kernels.operators import apply_operator

        places = None if indices is None else torch.as_tensor(indices)
        apply_operator(logits, bitmask, places, vocab_size)
    else:
        apply_now(logits, bitmask, indices, vocab_size)


def _is_traced(torch: Any, logits: Any) -> bool:
    """Return whether this call is being compiled or exported, whatever other threads do."""
    compiler = getattr(torch, "compiler", None)  # another thread may be importing torch just now
    if compiler is not None and compiler.is_dynamo_compiling():
        return True
    return type(logits).__name__ in ("FakeTensor", "FunctionalTensor")


def apply_now(logits: Any, bitmask: Any, indices: Any, vocab_size: int | None) -> None:
    """Check the arguments and run the kernel: ``apply_token_bitmask_inplace`` without compilation."""
    torch = sys.modules.get("torch")
    tensor = () if torch is None else torch.Tensor
    if not isinstance(logits, np.ndarray) and not isinstance(logits, tensor):
        raise BitmaskError(f"logits is {type(logits).__name__}, must be a NumPy array or a torch tensor")
    if not isinstance(bitmask, tensor):
        bitmask = np.asarray(bitmask)
    if device_of(logits) != device_of(bitmask):
        raise BitmaskError(f"logits is on {device_of(logits)}, but bitmask is on {device_of(bitmask)}")
    columns = check_masked(logits, bitmask, vocab_size)
    check_apart(logits)
    rows = int(np.prod(logits.shape[:-1]))
    chosen = None if indices is None else _chosen_rows(indices, rows, logits)
    for part, words, numbers in _flat_parts(logits, bitmask, chosen):
        if device_of(part) == "cpu":
            _apply_on_cpu(part, words, numbers, columns)
        elif part.is_cuda and has_triton():
            from stackmask.runtime.kernels.gpu.apply import launch_apply

            launch_apply(part, words, columns=columns, chosen=numbers)
        else:
            from stackmask.runtime.kernels.reference import apply_reference

            apply_reference(part, words, chosen=numbers, columns=columns)


def device_of(array: Any) -> str:
    """Return the name of an array's device; NumPy's arrays are on the CPU."""
    return "cpu" if isinstance(array, np.ndarray) else str(array.device)


def has_triton() -> bool:
    """Return whether triton can be imported, without importing it."""
    return importlib.util.find_spec("triton") is not None


def check_masked(logits: Any, bitmask: Any, vocab_size: int | None) -> int:
    """Check types, shapes and widths; return the number of columns that the mask covers.

    Raises: BitmaskError that names the argument and both values.
    """
    if str(logits.dtype).rpartition(".")[2] not in MINUS_INF:
        raise BitmaskError(f"logits has dtype {logits.dtype}, must be one of {', '.join(MINUS_INF)}")
    if str(bitmask.dtype).rpartition(".")[2] != "int32":
        raise BitmaskError(f"bitmask has dtype {bitmask.dtype}, must be int32")
    if logits.ndim not in (1, 2, 3) or bitmask.ndim != logits.ndim:
        raise BitmaskError(
            f"logits has {logits.ndim} dimensions and bitmask {bitmask.ndim}: both must have the same, 1, 2 or 3"
        )
    if tuple(logits.shape[:-1]) != tuple(bitmask.shape[:-1]):
        have, want = (" x ".join(map(str, a.shape[:-1])) for a in (logits, bitmask))
        raise BitmaskError(f"logits has {have} rows, but bitmask has {want}")
    for name, array in (("logits", logits), ("bitmask", bitmask)):
        if not isinstance(array, np.ndarray) and str(array.layout) != "torch.strided":
            raise BitmaskError(f"{name} has layout {array.layout}, must be a dense tensor")
        step = _strides(array)[-1]
        if step != 1 and array.shape[-1] > 1:
            raise BitmaskError(
                f"{name} has stride {step} in its last dimension, must have 1: rows side by side"
            )
    width = logits.shape[-1]
    columns = width if vocab_size is None else int(vocab_size)
    if not 0 < columns <= width:
        raise BitmaskError(f"vocab_size is {columns}, but logits has {width} columns")
    if -(-columns // BITS) > bitmask.shape[-1]:
        raise BitmaskError(
            f"bitmask has {bitmask.shape[-1]} words ({bitmask.shape[-1] * BITS} tokens), "
            f"but {columns} tokens need {-(-columns // BITS)}"
        )
    if isinstance(logits, np.ndarray) and not (logits.flags.writeable and logits.flags.aligned):
        state = "read-only" if not logits.flags.writeable else "not aligned"
        raise BitmaskError(f"logits is {state}: it must be a writable, aligned array")
    if isinstance(bitmask, np.ndarray) and not bitmask.flags.aligned:
        raise BitmaskError("bitmask is not aligned: it must be an aligned array")
    return columns


def check_apart(logits: Any) -> None:
    """Refuse logits whose rows share memory, since the mask of one row would affect another.

    Raises: BitmaskError with the strides and the shape.
    """
    strides, shape = _strides(logits), tuple(logits.shape)
    reach = shape[-1]  # elements from the first to the last of what the dimensions so far span, and one
    for step, count in sorted((abs(s), n) for s, n in zip(strides[:-1], shape[:-1], strict=True)):
        if count > 1:
            if step < reach:  # mutant: shared-rows
                raise BitmaskError(
                    f"logits has strides {strides} for the shape {shape}: its rows must not share memory"
                )
            reach += step * (count - 1)


def _strides(array: Any) -> tuple[int, ...]:
    """Return the steps between elements, in elements."""
    if isinstance(array, np.ndarray):
        size = array.dtype.itemsize
        # a step that is no whole number of elements is no step of 1 either
        return tuple(s // size if s % size == 0 else -s for s in array.strides)
    return tuple(array.stride())


def _chosen_rows(indices: Any, rows: int, logits: Any) -> Any:
    """Return the rows to change as int64 on the CPU, or as a tensor on the device of the logits.

    Raises: BitmaskError if they are not valid row numbers.
    """
    if logits.ndim == 1:
        raise BitmaskError("indices is given, but logits has 1 dimension: there are no rows to choose")
    if hasattr(indices, "is_cuda") and indices.device.type != "cpu":
        if indices.device != logits.device:
            raise BitmaskError(f"indices is on {indices.device}, but logits is on {logits.device}")
        if str(indices.dtype) not in ("torch.int32", "torch.int64"):
            raise BitmaskError(f"indices has dtype {indices.dtype}, must be torch.int32 or torch.int64")
        return indices.reshape(-1).contiguous()
    found = np.asarray(indices.numpy() if hasattr(indices, "numpy") else list(indices))
    if found.size and found.dtype.kind not in "iu":
        raise BitmaskError(f"indices has dtype {found.dtype}, must contain integers: numbers of rows")
    chosen = np.ascontiguousarray(found.ravel(), dtype=np.int64)
    if chosen.size and (chosen.min() < 0 or chosen.max() >= rows):
        wrong = next(index for index in chosen.tolist() if not 0 <= index < rows)
        raise BitmaskError(f"indices has row {wrong}, but logits has {rows} rows")
    return chosen


def _flat_parts(logits: Any, bitmask: Any, chosen: Any) -> list[tuple[Any, Any, Any]]:
    """Split logits and mask into two-dimensional parts: one, unless the positions are unevenly spaced."""
    if logits.ndim == 1:
        return [(logits[None], bitmask[None], chosen)]
    if logits.ndim == 2:
        return [(logits, bitmask, chosen)]
    batch, each = logits.shape[:2]
    if each == 1:
        return [(logits[:, 0], bitmask[:, 0], chosen)]
    if all(_is_even(array) for array in (logits, bitmask)):
        return [(_flattened(logits), _flattened(bitmask), chosen)]
    if chosen is None:
        return [(logits[i], bitmask[i], None) for i in range(batch)]
    if not isinstance(chosen, np.ndarray):
        raise BitmaskError(
            f"logits has strides {_strides(logits)} for the shape {tuple(logits.shape)}: with indices on the device "
            "rows must lie evenly apart"
        )
    return [(logits[i], bitmask[i], chosen[chosen // each == i] % each) for i in range(batch)]


def _is_even(array: Any) -> bool:
    strides = _strides(array)
    return bool(array.shape[0] <= 1 or array.shape[1] == 0 or strides[0] == strides[1] * array.shape[1])


def _flattened(array: Any) -> Any:
    """View (batch, positions, n) as (rows, n); rows are evenly spaced."""
    rows = array.shape[0] * array.shape[1]
    if not isinstance(array, np.ndarray):
        return array.as_strided((rows, array.shape[2]), array.stride()[1:], array.storage_offset())
    return np.lib.stride_tricks.as_strided(array, (rows, array.shape[2]), array.strides[1:])


def _apply_on_cpu(
    logits: Any, bitmask: Any, chosen: npt.NDArray[np.int64] | None, columns: int, *, plain: bool = False
) -> None:
    rows, width = logits.shape
    if not rows:
        return
    forbid_at(
        _address(logits),
        _address(bitmask),
        rows=rows,
        columns=columns,
        width=width,
        logits_stride=_strides(logits)[0],
        words_stride=_strides(bitmask)[0],
        itemsize=logits.itemsize,
        minus_inf=MINUS_INF[str(logits.dtype).rpartition(".")[2]],
        chosen=chosen,
        plain=plain,
    )


def _address(array: Any) -> int:
    if isinstance(array, np.ndarray):
        return int(array.__array_interface__["data"][0])
    return int(array.data_ptr())
