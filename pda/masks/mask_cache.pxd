# Finished masks, by the list of their operands.
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport (
    FAILED,
    ID_FAILED,
    NO_ROW,
    FilterId,
    FrameId,
    KeysId,
    MaskId,
    OperandsId,
    PatchedId,
    PendingId,
    ReturnAction,
    RowId,
    SuffixesId,
    TermId,
)
from stackmask.pda.masks.arena cimport (
    MASK_PATCHED,
    MaskArena,
    MaskBits,
    MaskPart,
    MaskRef,
    Patch,
    patched_of,
    row_of,
)
from stackmask.pda.masks.layers cimport Layers
from stackmask.pda.masks.runs cimport Slices
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.memory.hash_tables cimport IdTable, KeyMap
from stackmask.pda.stack.configuration_table cimport Edge


# The masks to visit, each once, and the operands that visits find.

cdef struct Visit:
    MaskId mask
    FrameId frame
    TermId continuation         # the state that follows the mask, before the frame; EPS: none
    ReturnAction action     # between mask and continuation: of an undeclared key, or ACTION_NONE
    FilterId filter     # or NO_FILTER
    KeysId keys         # key state of the object around, KEYS_NONE outside every object
    bint unsure         # an action before the mask may forbid
    SuffixesId origin   # the group of places in whose subtrees its tokens are, or NO_SUFFIXES


cdef struct PendingCall:
    # a rule that walks do not enter, over the suffixes of a group; its callers are collected first
    SuffixesId group
    TermId body
    int32_t height
    Visit at


cdef class Worklist:
    cdef vector[Visit] visits
    cdef vector[PendingCall] calls
    cdef vector[vector[Edge]] callers       # of each
    cdef KeyMap index                       # hash of a visit, or the next free number -> index in `visits`
    cdef bint indexed                       # `index` holds the visits

    cdef int clear(self) noexcept nogil
    cdef int drop(self) except FAILED nogil
    cdef size_t nbytes(self) noexcept nogil
    cdef int add(self, const Visit& v) except FAILED nogil
    cdef bint is_known(self, const Visit& v) except FAILED nogil


cdef struct Operand:
    # one operand of the union: the tokens that a mask allows whatever the stack is, or tokens under a guard
    MaskId mask             # NO_TOKENS if they are tokens under a guard
    PendingId pending       # number of such tokens in `arena.pendings`, or NO_PENDING
    FilterId filter         # only tokens that pass this filter count


cdef inline bint same_operand(const Operand* a, const Operand* b) noexcept nogil:
    return a.mask == b.mask and a.pending == b.pending and a.filter == b.filter


cdef class Operands:
    cdef vector[Operand] sure
    cdef vector[Operand] unsure         # tokens that only the real configuration can confirm

    cdef int clear(self) noexcept nogil
    cdef int add(self, MaskId mask, FilterId filter, bint unsure) except FAILED nogil


cdef struct OperandList:
    int32_t first       # list_operands[first:first + count]
    int32_t count
    MaskRef mask        # MASK_NONE until it is remembered
    int32_t spent       # what joining it has cost so far, in rows


cdef struct Patched:
    RowId base          # a row, or NO_ROW: nothing
    int32_t first       # patches[first:first + count]: the words that differ from the base
    int32_t count


cdef class MaskCache(MaskPart):
    cdef int32_t width                  # words of 32 bits in a mask
    cdef Layers layers
    cdef MaskArena arena
    cdef Slices slices
    cdef Growing[Operand] list_operands
    cdef Growing[OperandList] lists             # lists of operands, interned
    cdef IdTable list_index
    cdef Growing[Patch] patches
    cdef Growing[Patched] patched
    cdef IdTable patched_index
    cdef KeyMap sampled                     # hash of a sample of words -> the first finished row with it
    # scratch of one fill
    cdef vector[Patch] changes
    cdef readonly uint64_t joins            # finished masks that were remembered

    cdef int apply(self, const Operand& operand, uint32_t* words) noexcept nogil
    cdef int apply_row(self, const Operand& operand, RowId row, uint32_t* words) noexcept nogil
    cdef RowId row_for(self, MaskId mask) except? ID_FAILED nogil
    cdef int join(
        self, vector[Operand]& operands, uint32_t* words, MaskRef* made, RowId* likely_base
    ) except FAILED nogil
    cdef int join_list(
        self, OperandsId number, vector[Operand]& operands, uint32_t* words, MaskRef* made, RowId* likely_base
    ) except FAILED nogil
    cdef int operands_of(self, OperandsId number, vector[Operand]& operands) except FAILED nogil
    cdef OperandsId list_of(self, vector[Operand]& operands) except ID_FAILED nogil
    cdef bint find_changes(self, const uint32_t* words, RowId base) except FAILED nogil
    cdef int keep(self, const uint32_t* words, RowId base, MaskRef* made) except FAILED nogil
    cdef int keep_row(self, const uint32_t* words, MaskRef* made) except FAILED nogil
    cdef PatchedId intern_patched(self, RowId base) except ID_FAILED nogil
    cdef int operand_rows(self, OperandsId number, vector[RowId]& out) except FAILED nogil

    cdef inline MaskBits bits(self, MaskRef mask) noexcept nogil:
        # where a mask of kind MASK_ROW or MASK_PATCHED lies
        cdef MaskBits bits
        cdef Patched patched
        bits.patches = NULL
        bits.patch_count = 0
        if mask.kind == MASK_PATCHED:
            patched = self.patched[patched_of(mask)]
            bits.row_number = patched.base
            bits.patches = self.patches.data() + patched.first
            bits.patch_count = patched.count
        else:
            bits.row_number = row_of(mask)
        bits.row = NULL
        if bits.row_number != NO_ROW:
            bits.row = self.arena.rows[bits.row_number]
        return bits
