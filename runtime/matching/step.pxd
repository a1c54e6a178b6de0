# The masks of a batch, and of a tree of draft tokens.
from libc.stdint cimport int32_t, uint32_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport FAILED
from stackmask.pda.masks.arena cimport MaskBits
from stackmask.runtime.matching.mask_buffer cimport Rows
from stackmask.runtime.matching.matcher cimport Matcher


cdef struct Copy:
    # a finished mask, and where it goes
    MaskBits bits
    const int32_t* stops        # tokens to be added
    int32_t stop_count
    uint32_t* words
    bint all_allowed            # found when it was written


cdef list fill_tree(Matcher matcher, tokens, parents, Rows* rows)
cdef bint find_copy(Matcher matcher, Copy* copy) noexcept
cdef bint write_all(vector[Copy]& copies, Matcher matcher, int threads) except FAILED
cdef bint make_mask(Matcher matcher, uint32_t* words, Py_ssize_t number) except FAILED
cdef int check_matchers(matchers) except FAILED
cdef bint are_distinct(rows) except FAILED
cdef int as_threads(threads) except FAILED
