# Finished masks, by the list of their operands. See mask_cache.pyx.
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport NO_ROW, MaskId, OperandsId, PatchedId, RowId
from stackmask.pda.masks.shared.layers cimport Layers
from stackmask.pda.masks.shared.part cimport MaskPart
from stackmask.pda.masks.shared.arena cimport MaskArena
from stackmask.pda.masks.runs.slices cimport Slices
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.masks.assembly.worklist cimport Operand
from stackmask.pda.masks.shared.mask_ref cimport MASK_PATCHED, MaskBits, MaskRef, Patch, patched_of, row_of
from stackmask.pda.memory.hash_tables cimport IdTable

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
    cdef IdTable row_index                  # rows of finished masks by content
    # scratch of one fill
    cdef vector[Patch] changes
    cdef readonly uint64_t joins            # finished masks that were remembered

    cdef int apply(self, const Operand& operand, uint32_t* words) noexcept nogil
    cdef int apply_row(self, const Operand& operand, RowId row, uint32_t* words) noexcept nogil
    cdef RowId row_for(self, MaskId mask) except? -3 nogil
    cdef int join(
        self, vector[Operand]& operands, uint32_t* words, MaskRef* made, RowId* likely_base
    ) except -1 nogil
    cdef int join_list(
        self, OperandsId number, vector[Operand]& operands, uint32_t* words, MaskRef* made, RowId* likely_base
    ) except -1 nogil
    cdef int operands_of(self, OperandsId number, vector[Operand]& operands) except -1 nogil
    cdef OperandsId list_of(self, vector[Operand]& operands) except -1 nogil
    cdef bint find_changes(self, const uint32_t* words, RowId base) except -1 nogil
    cdef int keep(self, const uint32_t* words, RowId base, MaskRef* made) except -1 nogil
    cdef RowId intern_row(self, const uint32_t* words) except -1 nogil
    cdef PatchedId intern_patched(self, RowId base) except -1 nogil
    cdef int operand_rows(self, OperandsId number, vector[RowId]& out) except -1 nogil

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
