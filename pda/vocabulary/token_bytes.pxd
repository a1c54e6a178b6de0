from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libcpp.vector cimport vector

cdef bytes block_owner(object block, const uint8_t** data, Py_ssize_t* size)
cdef object block_view(bytes owner, const uint8_t* data, Py_ssize_t size)


cdef class TokenBytes:
    cdef bytes owner                    # of the block, which all pointers lie in
    cdef const uint8_t* data
    cdef readonly Py_ssize_t nbytes     # the size of the block
    cdef const uint32_t* start          # token i is blob[start[i]:start[i + 1]]
    cdef const uint8_t* absent          # bit i: token i is not text (which is not the same as no bytes)
    cdef const uint8_t* blob
    cdef int32_t size                   # ids
    cdef readonly int32_t longest       # bytes of the longest token
    cdef readonly int32_t present       # ids that are text
    cdef readonly int32_t spelled       # those of at least one byte
    cdef object __weakref__

    cdef inline bint is_absent(self, int32_t i) noexcept nogil:
        return (self.absent[i >> 3] >> (i & 7)) & 1

    cdef inline uint32_t length(self, int32_t i) noexcept nogil:
        return self.start[i + 1] - self.start[i]

    cdef bytes get(self, int64_t i)


cdef class TokenBytesBuilder:
    cdef vector[uint32_t] start
    cdef vector[uint8_t] absent
    cdef vector[uint8_t] blob
    cdef int32_t count

    cdef int push(self, const uint8_t* data, size_t length) except -1
    cdef int push_absent(self) except -1
    cdef int close_token(self, bint absent, size_t end) except -1
