# The masks of configurations, put together from those of local states. See engine.pyx.
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.masks.assembly.mask_cache cimport Patch, WholeMasks
from stackmask.pda.memory.bitmask_ops cimport copy_words


# -- the facade that the runtime sees ----------------------------------------------------------------

cdef enum MaskKind:
    MASK_NONE           # nothing is remembered
    MASK_ROW            # index: a row
    MASK_PATCHED        # index: a patched mask: a row or nothing, and the words in which it differs
    MASK_OPERANDS       # index: a list of masks whose union is not remembered yet


cdef struct MaskRef:
    # a mask that is remembered; valid until a fill that makes something, under the lock of the store
    MaskKind kind
    int32_t index


cdef struct MaskBits:
    # the memory of a mask of kind MASK_ROW or MASK_PATCHED; valid as long as its reference
    const uint32_t* row     # or NULL: nothing is allowed but what is patched
    int32_t row_number      # the number of that row, which names it as long as `epoch` stays; or -1
    int32_t patch_count
    const Patch* patches    # words in which the mask differs from the row: a word's number and what it is


cdef inline void write_bits(const MaskBits* bits, int32_t width, uint32_t* words) noexcept nogil:
    # write a mask of `width` words
    cdef int32_t i
    copy_words(words, bits.row, width)
    for i in range(bits.patch_count):
        words[bits.patches[i].word] = bits.patches[i].bits


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
    # -- the facade that the runtime sees; with `width`, `epoch` and `fill`
    cdef MaskRef reference(self, ConfigSpace family, int32_t config) noexcept
    cdef MaskBits bits(self, MaskRef mask) noexcept
    cdef int write_mask(self, MaskRef mask, uint32_t* words) except -1
    cdef MaskRef intern_mask(self, ConfigSpace family, int32_t config, const uint32_t* words) except *
    cdef int operand_rows(self, MaskRef mask, vector[int32_t]& out) except -1
    cdef const uint32_t* row_words(self, int32_t number) noexcept
    # --
    cdef size_t nbytes(self) noexcept
    cdef int weigh_indexes(self) noexcept
