# The masks of configurations, put together from those of local states. See engine.pyx.
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.masks.assembly.mask_cache cimport WholeMasks


cdef class MaskStore(WholeMasks):
    cdef size_t index_bytes                 # when there were so many walks:
    cdef uint64_t indexes_weighed
    cdef uint64_t weighed                   # walks when that was looked at last
    # scratch of one fill
    cdef vector[uint32_t] unsure            # tokens that only the real configuration can confirm
    cdef int32_t epoch                      # counts how often the masks were dropped
    cdef readonly uint64_t fills
    cdef readonly uint64_t hits
    cdef readonly uint64_t settled          # places that were put together on the configuration there

    cdef int try_unsure(self, uint32_t* words) except -3
    cdef int settle(self, ConfigSpace family, int32_t config, uint32_t* words) except -3
    cdef bint gather(self, int32_t above, vector[int32_t]& out) except -1
    cdef int settle_place(
        self, ConfigSpace family, int32_t config, int32_t node, bint inclusive, uint32_t* words
    ) except -3
    cdef bint any_keys(self, ConfigSpace family, int32_t config) noexcept
    cdef uint64_t changes_made(self) noexcept
    cdef int weigh(self) except -1
    cdef int32_t finished(self, ConfigSpace family, int32_t config) noexcept
    cdef int fill(self, ConfigSpace family, int32_t config, uint32_t* words) except -3
    cdef size_t nbytes(self) noexcept
    cdef int weigh_indexes(self) noexcept
