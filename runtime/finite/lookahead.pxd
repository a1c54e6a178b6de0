# Which states allow the same tokens. See lookahead.pyx.
from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from stackmask.runtime.finite.dfa cimport Dfa


cdef int32_t find_alike(Dfa dfa, int32_t length, vector[int32_t]& block) except -1 nogil
