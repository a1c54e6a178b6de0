import numpy as np
import numpy.typing as npt

def forbid_at(
    logits: int,
    words: int,
    *,
    rows: int,
    columns: int,
    width: int,
    logits_stride: int,
    words_stride: int,
    itemsize: int,
    minus_inf: int,
    chosen: npt.NDArray[np.int64] | None = None,
    plain: bool = False,
) -> None:
    """Write ``minus_inf`` over the logits of forbidden tokens, in all rows or the ``chosen`` ones.

    ``logits`` and ``words`` are addresses that the caller has checked; strides count elements. Columns from
    ``columns`` to ``width`` are forbidden whatever the mask says. ``minus_inf`` is a pattern of bits,
    ``itemsize`` 2, 4 or 8. ``plain`` leaves out the vector instructions. Runs without the interpreter's lock.
    """
