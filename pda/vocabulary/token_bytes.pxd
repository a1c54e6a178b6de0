from libc.stdint cimport int32_t, int64_t, uint32_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport FAILED, TokenId


cdef bytes block_owner(object block, const uint8_t** data, Py_ssize_t* size)
cdef object block_view(bytes owner, const uint8_t* data, Py_ssize_t size)


cdef class TokenBytes:
    cdef bytes owner                    # the memory that all pointers point into
    cdef const uint8_t* data
    cdef readonly Py_ssize_t nbytes     # bytes of the block
    cdef const uint32_t* start          # token i is blob[start[i]:start[i + 1]]
    cdef const uint8_t* absent          # bit i: token i is not text; an empty token is text
    cdef const uint8_t* blob
    cdef int32_t size                   # number of ids
    cdef readonly int32_t longest       # bytes of the longest token
    cdef readonly int32_t present       # number of ids that are text
    cdef readonly int32_t spelled       # number of ids with at least one byte
    cdef object known_single            # the answer of single_bytes, once it was asked
    cdef object __weakref__

    cdef inline bint is_absent(self, TokenId i) noexcept nogil:
        return (self.absent[i >> 3] >> (i & 7)) & 1

    cdef inline uint32_t length(self, TokenId i) noexcept nogil:
        return self.start[i + 1] - self.start[i]

    cdef bytes get(self, int64_t i)


cdef class TokenBytesBuilder:
    cdef vector[uint32_t] start
    cdef vector[uint8_t] absent
    cdef vector[uint8_t] blob
    cdef int32_t count

    cdef int push(self, const uint8_t* data, size_t length) except FAILED nogil
    cdef int push_absent(self) except FAILED nogil
    cdef int close_token(self, bint absent, size_t end) except FAILED nogil
