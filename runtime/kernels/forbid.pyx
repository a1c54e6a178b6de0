# distutils: language = c++
"""Write -inf over the logits that a bitmask forbids, on the CPU.

A word of 32 tokens costs a comparison if all of them are allowed, and plain stores if none is. Other words
are blended: with AVX2 if the processor has it (checked at run time), else by loops that compilers vectorise.
NaN and infinities of allowed tokens keep their bits.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t, uintptr_t

cdef extern from "forbid.h":
    cdef struct Shape "stackmask::Shape":
        Py_ssize_t columns
        Py_ssize_t width
        Py_ssize_t logits_stride
        Py_ssize_t words_stride
        bint stream
    Py_ssize_t STREAMED "stackmask::STREAMED"
    void forbid "stackmask::forbid" [T](
        T* logits, const uint32_t* words, const int64_t* rows, Py_ssize_t count, Shape shape, T value,
        bint plain,
    ) noexcept nogil


def forbid_at(
    uintptr_t logits,
    uintptr_t words,
    *,
    Py_ssize_t rows,
    Py_ssize_t columns,
    Py_ssize_t width,
    Py_ssize_t logits_stride,
    Py_ssize_t words_stride,
    int itemsize,
    uint64_t minus_inf,
    const int64_t[::1] chosen=None,
    bint plain=False,
):
    """Write ``minus_inf`` over the logits of forbidden tokens, in all rows or the ``chosen`` ones.

    ``logits`` and ``words`` are addresses that the caller has checked; strides count elements. Columns from
    ``columns`` to ``width`` are always forbidden. ``minus_inf`` is a bit pattern, ``itemsize`` 2, 4 or 8.
    ``plain`` disables the vector instructions. Runs without the GIL.
    """
    cdef Shape shape
    cdef const int64_t* numbers = NULL
    cdef Py_ssize_t count = rows
    shape.columns = columns
    shape.width = width
    shape.logits_stride = logits_stride
    shape.words_stride = words_stride
    if chosen is not None:
        count = chosen.shape[0]
        if not count:
            return
        numbers = &chosen[0]
    shape.stream = count * width * itemsize > STREAMED
    with nogil:
        if itemsize == 2:
            forbid[uint16_t](
                <uint16_t*>logits, <const uint32_t*>words, numbers, count, shape, <uint16_t>minus_inf, plain
            )
        elif itemsize == 4:
            forbid[uint32_t](
                <uint32_t*>logits, <const uint32_t*>words, numbers, count, shape, <uint32_t>minus_inf, plain
            )
        else:
            forbid[uint64_t](
                <uint64_t*>logits, <const uint32_t*>words, numbers, count, shape, minus_inf, plain
            )
