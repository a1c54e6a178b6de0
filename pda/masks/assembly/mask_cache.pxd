# Finished masks, by the list of their operands. See mask_cache.pyx.
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.masks.shared.part cimport MaskPart
from stackmask.pda.masks.shared.arena cimport MaskArena
from stackmask.pda.masks.runs.slices cimport Slices
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.masks.assembly.mask_assembly cimport Operand
from stackmask.pda.masks.shared.mask_ref cimport MASK_PATCHED, MaskBits, MaskRef, Patch
from stackmask.pda.memory.hash_tables cimport IdTable

cdef struct OperandList:
    int32_t first       # list_operands[first:first + count]
    int32_t count
    MaskRef mask        # MASK_NONE until it is remembered
    int32_t spent       # what joining it has cost so far, in rows


cdef struct Patched:
    int32_t base        # a row, or -1: nothing
    int32_t first       # patches[first:first + count]: the words that differ from the base
    int32_t count


cdef class MaskCache(MaskPart):
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

    cdef int apply(self, const Operand& operand, uint32_t* words) noexcept
    cdef int apply_row(self, const Operand& operand, int32_t row, uint32_t* words) noexcept
    cdef int32_t row_for(self, int32_t mask) except? -3
    cdef int join(
        self, vector[Operand]& operands, uint32_t* words, MaskRef* made, int32_t* likely_base
    ) except -1
    cdef int join_list(
        self, int32_t number, vector[Operand]& operands, uint32_t* words, MaskRef* made, int32_t* likely_base
    ) except -1
    cdef int operands_of(self, int32_t number, vector[Operand]& operands) except -1
    cdef int32_t list_of(self, vector[Operand]& operands) except -1
    cdef bint find_changes(self, const uint32_t* words, int32_t base) except -1
    cdef int keep(self, const uint32_t* words, int32_t base, MaskRef* made) except -1
    cdef int32_t intern_row(self, const uint32_t* words) except -1
    cdef int32_t intern_patched(self, int32_t base) except -1
    cdef int operand_rows(self, int32_t number, vector[int32_t]& out) except -1

    cdef inline MaskBits bits(self, MaskRef mask) noexcept:
        # where a mask of kind MASK_ROW or MASK_PATCHED lies
        cdef MaskBits bits
        cdef Patched patched
        bits.patches = NULL
        bits.patch_count = 0
        bits.row_number = mask.index
        if mask.kind == MASK_PATCHED:
            patched = self.patched[mask.index]
            bits.row_number = patched.base
            bits.patches = self.patches.data() + patched.first
            bits.patch_count = patched.count
        bits.row = NULL
        if bits.row_number >= 0:
            bits.row = self.arena.rows[bits.row_number]
        return bits
