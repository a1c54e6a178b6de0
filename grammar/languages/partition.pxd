# Sets of states that are split until those of one set accept the same strings.
from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector
from stackmask.grammar.ir.failures cimport FAILED


# A partition of 0..n-1 that is refined by splitting its sets.

cdef class Partition:
    cdef vector[int32_t] elements       # members of a set stand together, the marked ones first
    cdef vector[int32_t] place          # element -> its index in elements
    cdef vector[int32_t] set_of         # element -> its set
    cdef vector[int32_t] first          # set -> where it begins in elements
    cdef vector[int32_t] past           # set -> one past its end
    cdef vector[int32_t] marked         # set -> how many of it are marked
    cdef vector[int32_t] touched        # sets with marks
    cdef int32_t sets

    cdef int begin(self, int32_t count) except FAILED nogil
    cdef int begin_by(self, const vector[int32_t]& key, int32_t keys) except FAILED nogil
    cdef int mark(self, int32_t element) except FAILED nogil
    cdef int split(self) except FAILED nogil


cdef int merge_states(
    Partition blocks,
    Partition cords,
    const vector[uint8_t]& accepting,
    const vector[int32_t]& tail,
    const vector[int32_t]& label,
    const vector[int32_t]& head,
    int32_t labels,
) except FAILED nogil
