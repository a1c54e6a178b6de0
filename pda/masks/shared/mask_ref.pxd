# References to finished masks, as values that other rooms may hold.
from libc.stdint cimport int32_t, uint8_t, uint32_t

from stackmask.pda.ids cimport OperandsId, PatchedId, RowId
from stackmask.pda.memory.bitmask_ops cimport copy_words
from stackmask.pda.stack.configuration_table cimport Config


cdef enum MaskKind:
    MASK_NONE           # nothing is remembered
    MASK_ROW            # index: a row; see `row_of`
    MASK_PATCHED        # index: a patched mask: a row or nothing, and the words that differ; see `patched_of`
    MASK_OPERANDS       # index: a list of operands whose union is not remembered yet; see `operands_of`


cdef struct MaskRef:
    # valid under the lock of the store, until a fill that makes something
    MaskKind kind
    int32_t index


cdef struct Patch:
    int32_t word        # number of a word of 32 bits
    uint32_t bits       # its value


cdef struct MaskBits:
    # the memory of a mask of kind MASK_ROW or MASK_PATCHED; valid as long as its reference
    const uint32_t* row     # or NULL: only patched words allow tokens
    RowId row_number        # number of that row, valid in one epoch; or NO_ROW
    int32_t patch_count
    const Patch* patches    # words in which the mask differs from the row


cdef inline MaskRef mask_ref(MaskKind kind, int32_t index) noexcept nogil:
    cdef MaskRef mask
    mask.kind = kind
    mask.index = index
    return mask


cdef inline RowId row_of(MaskRef mask) noexcept nogil:
    return <RowId>mask.index


cdef inline PatchedId patched_of(MaskRef mask) noexcept nogil:
    return <PatchedId>mask.index


cdef inline OperandsId operands_of(MaskRef mask) noexcept nogil:
    return <OperandsId>mask.index


cdef inline bint is_whole(MaskRef mask) noexcept nogil:
    # whether the mask is finished: its bits are in memory
    return mask.kind == MASK_ROW or mask.kind == MASK_PATCHED


cdef inline MaskRef mask_of(const Config& config, int32_t epoch) noexcept nogil:
    # the mask that a configuration remembers
    if config.mask_epoch != epoch:
        return mask_ref(MASK_NONE, 0)
    return mask_ref(<MaskKind>config.mask_kind, config.mask_index)


cdef inline void remember(Config* config, MaskRef mask, int32_t epoch) noexcept nogil:
    config.mask_kind = <uint8_t>mask.kind
    config.mask_index = mask.index
    config.mask_epoch = epoch


cdef inline void write_bits(const MaskBits* bits, int32_t width, uint32_t* words) noexcept nogil:
    # write a mask of `width` words
    cdef int32_t i
    copy_words(words, bits.row, width)
    for i in range(bits.patch_count):
        words[bits.patches[i].word] = bits.patches[i].bits
