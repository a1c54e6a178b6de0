# Which states allow the same tokens. See lookahead.pyx.
from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from stackmask.runtime.fsm.dfa cimport Dfa


cdef int32_t find_alike(
    Dfa dfa, int32_t length, vector[int32_t]& block, double deadline, double seconds
) except -1 nogil
