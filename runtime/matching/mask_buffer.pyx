# distutils: language = c++
"""Find the rows of a bitmask in a NumPy array, a tensor, or a buffer."""

cimport numpy as cnumpy
from cpython.buffer cimport (
    PyBUF_CONTIG,
    PyBUF_FORMAT,
    PyBuffer_Release,
    PyObject_CheckBuffer,
    PyObject_GetBuffer,
)
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.object cimport PyObject
from libc.stdint cimport uintptr_t
from libc.string cimport memcpy

from operator import index

import numpy as np

from stackmask.grammar.source.diagnostics import StackmaskError


cdef enum:
    WRITABLE_ROWS = cnumpy.NPY_ARRAY_C_CONTIGUOUS | cnumpy.NPY_ARRAY_ALIGNED | cnumpy.NPY_ARRAY_WRITEABLE
    WARN_ON_WRITE = -2147483648         # NumPy has a warning for who writes; a flag in no public header


class MatcherError(StackmaskError):
    """A call that is invalid for the matcher: a rollback too far, a mask of the wrong type or shape."""


class EmptyMaskError(MatcherError):
    """A mask allows no token, and the vocabulary has no stop token that could end the text."""

    def __init__(self, bint accepting):
        reason = "the text is complete and nothing may follow" if accepting else "nothing may come here"
        super().__init__(
            f"the mask allows no token: {reason}, and the vocabulary has no stop token to end with; give the "
            "Vocabulary its stop_ids, or ask is_accepting() and expected() before the mask"
        )


class MatcherTypeError(MatcherError, TypeError):
    """An argument of a matcher's method has the wrong type."""


def as_integer(what, value):
    """Return an integer as a Python int. Raises: MatcherTypeError if it is not an integer."""
    try:
        return index(value)
    except TypeError:
        found = f"{value!r:.60} ({type(value).__name__})"
        raise MatcherTypeError(f"{what} is a whole number, not {found}") from None


cdef object as_token(object token):
    """Return a token as an integer. Raises: MatcherTypeError with the expected type."""
    kind = type(token).__name__
    if isinstance(token, (str, bytes)):
        raise MatcherTypeError(f"a token is its id, not {kind}: text goes to accept_string({token!r:.40})")
    if isinstance(token, (list, tuple)):
        raise MatcherTypeError(f"a token is its id, not {kind}: accept them one after the other")
    return as_integer("a token", token)


cdef object ndarray = np.ndarray
cdef object INT32 = np.dtype(np.int32)
cdef uint32_t no_words = 0              # where the rows of an empty tensor are, which has no address
cdef object torch_int32 = None          # the one object of that type, once a tensor of it was seen


cdef inline bint open_array(object mask, Rows* out) noexcept:
    """Look up the address of a plain array's rows. Return False for other or invalid objects.

    Requesting a buffer from an array takes longer than looking up a finished mask.
    """
    cdef cnumpy.ndarray array
    cdef int flags, dimensions
    if type(mask) is not ndarray:
        return False
    array = <cnumpy.ndarray>mask
    flags = cnumpy.PyArray_FLAGS(array)
    dimensions = cnumpy.PyArray_NDIM(array)
    if (
        <PyObject*>cnumpy.PyArray_DESCR(array) != <PyObject*>INT32
        or flags & WRITABLE_ROWS != WRITABLE_ROWS
        or flags & WARN_ON_WRITE
        or not 1 <= dimensions <= 2
    ):
        return False
    out.base = <uint32_t*>cnumpy.PyArray_DATA(array)
    out.rows = cnumpy.PyArray_DIM(array, 0) if dimensions == 2 else 1
    out.width = cnumpy.PyArray_DIM(array, dimensions - 1)
    return True


cdef int open_rows(object mask, Rows* out) except FAILED:
    """Look up the address of a mask's rows. Close with ``close_rows``.

    Raises: MatcherError for other objects.
    """
    cdef int flags = PyBUF_CONTIG
    out.has_view = False
    out.aligned = NULL
    if open_array(mask, out):
        return 0
    if type(mask) is not ndarray and not PyObject_CheckBuffer(mask) and hasattr(mask, "data_ptr"):
        return open_tensor(mask, out)
    # NumPy creates a new format string for each view
    if type(mask) is not ndarray or mask.dtype is not INT32:
        flags |= PyBUF_FORMAT
    try:
        PyObject_GetBuffer(mask, &out.view, flags)
    except (BufferError, TypeError, ValueError) as error:
        raise MatcherError(
            "the bitmask must be a writable, contiguous int32 array, as allocate_token_bitmask makes it: "
            f"{error}"
        ) from None
    out.has_view = True
    if flags & PyBUF_FORMAT and (out.view.itemsize != 4 or out.view.format[0] not in (c"i", c"l")):
        found = (<bytes>out.view.format).decode()
        close_rows(out)
        held = getattr(mask, "dtype", f"format {found!r}")
        raise MatcherError(f"the bitmask must hold int32, not {held}: allocate_token_bitmask makes it")
    if not 1 <= out.view.ndim <= 2:
        dimensions = out.view.ndim
        close_rows(out)
        raise MatcherError(f"the bitmask must have one or two dimensions, not {dimensions}")
    out.base = <uint32_t*>out.view.buf
    if <uintptr_t>out.view.buf % sizeof(uint32_t):
        # words are only written where they are aligned
        out.aligned = <uint32_t*>PyMem_RawMalloc(out.view.len)
        if out.aligned == NULL:
            close_rows(out)
            raise MemoryError()
        memcpy(out.aligned, out.view.buf, out.view.len)
        out.base = out.aligned
    out.rows = out.view.shape[0] if out.view.ndim == 2 else 1
    out.width = out.view.shape[out.view.ndim - 1]
    return 0


cdef int open_tensor(object mask, Rows* out) except FAILED:
    """Look up the address of a torch tensor's rows. Torch calls are slow, so few are made."""
    global torch_int32
    cdef uintptr_t address
    dtype = mask.dtype
    if torch_int32 is None and str(dtype) == "torch.int32":
        torch_int32 = dtype
    if dtype is not torch_int32 or not mask.is_cpu or not mask.is_contiguous():
        raise MatcherError(
            f"the bitmask must be a contiguous int32 tensor on the CPU, not {dtype} on {mask.device}"
        )
    shape = mask.shape
    if not 1 <= len(shape) <= 2:
        raise MatcherError(f"the bitmask must have one or two dimensions, not {len(shape)}")
    address = mask.data_ptr()
    if not address:
        if 0 not in shape:
            raise MatcherError("the bitmask is a tensor without memory")
        address = <uintptr_t>&no_words  # `row_at` returns NULL for errors only
    if address % sizeof(uint32_t):
        raise MatcherError("the bitmask must be aligned: its address is not a multiple of 4")
    out.base = <uint32_t*>address
    out.rows = shape[0] if len(shape) == 2 else 1
    out.width = shape[len(shape) - 1]
    # the memory of a tensor can be made smaller than the tensor
    if 4 * (mask.storage_offset() + out.rows * out.width) > mask.untyped_storage().nbytes():
        raise MatcherError("the bitmask is a tensor that reaches past its memory")
    return 0


cdef void close_rows(Rows* rows) noexcept:
    if rows.has_view:
        if rows.aligned != NULL:
            memcpy(rows.view.buf, rows.aligned, rows.view.len)
            PyMem_RawFree(rows.aligned)
            rows.aligned = NULL
        PyBuffer_Release(&rows.view)
        rows.has_view = False


cdef uint32_t* row_of(Rows* rows, object number, int32_t width) except NULL:
    """Return the address of a row. Raises: MatcherError if it does not exist, or rows have another width."""
    cdef int overflow = 0
    cdef long row
    number = number if PyLong_CheckExact(number) else as_integer("a row of the bitmask", number)
    row = PyLong_AsLongAndOverflow(number, &overflow)
    if overflow:
        raise MatcherError(f"row {number} is out of range: the bitmask has {rows.rows} rows")
    return row_at(rows, row, width)


cdef uint32_t* row_at(Rows* rows, Py_ssize_t number, int32_t width) except NULL:
    """As ``row_of``, for a C integer."""
    if rows.width != width:
        raise MatcherError(
            f"the bitmask is {rows.width} words wide; this vocabulary needs {width}: "
            "allocate_token_bitmask(batch, vocabulary.size) makes it"
        )
    if not 0 <= number < rows.rows:
        raise MatcherError(f"row {number} is out of range: the bitmask has {rows.rows} rows")
    return rows.base + number * rows.width
