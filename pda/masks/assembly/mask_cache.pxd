# Whole masks: what a fill writes, remembered. See mask_cache.pyx.
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.masks.part cimport MaskPart
from stackmask.pda.masks.arena cimport MaskArena
from stackmask.pda.masks.runs.slices cimport Slices
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.masks.assembly.mask_assembly cimport Part
from stackmask.pda.memory.bitmask_ops cimport copy_words
from stackmask.pda.memory.hash_tables cimport IdTable

cdef enum:
    NO_MASK = -1        # in place of a mask id: not remembered yet
    PATCHED = -2        # mask ids from here down are patched masks: PATCHED - number
    WORTH_A_MASK = 4    # what a list of parts costs before its mask is remembered: each time 2 and its rows
    LISTED = -(1 << 30)     # from here down: no mask id yet, but a list of parts: LISTED - number


cdef struct Joined:
    int32_t first       # joined_parts[first:first + count]
    int32_t count
    int32_t whole       # its mask id, or NO_MASK
    int32_t spent       # what putting it together has cost so far, in rows


cdef struct Patch:
    int32_t word        # number of a word of 32 bits
    uint32_t bits       # what it is


cdef struct Patched:
    int32_t base        # a row, or -1: nothing
    int32_t first       # patches[first:first + count]: the words in which it is not the base
    int32_t count


cdef class MaskCache(MaskPart):
    cdef MaskArena arena
    cdef Slices slices
    cdef Growing[Part] joined_parts
    cdef Growing[Joined] joined             # lists of parts, interned
    cdef IdTable joined_index
    cdef Growing[Patch] patches
    cdef Growing[Patched] patched
    cdef IdTable patched_index
    cdef IdTable row_index                  # rows of whole masks by content
    # scratch of one fill
    cdef vector[Patch] changes
    cdef readonly uint64_t joins            # lists of parts, and configurations, that got a mask id

    cdef int apply(self, const Part& part, uint32_t* words) noexcept
    cdef int apply_row(self, const Part& part, int32_t row, uint32_t* words) noexcept
    cdef int32_t row_for(self, int32_t mask) except? -3
    cdef int32_t put_together(
        self, vector[Part]& operands, uint32_t* words, int32_t* likely_base
    ) except? -3
    cdef int32_t put_list(
        self, int32_t number, vector[Part]& operands, uint32_t* words, int32_t* likely_base
    ) except? -3
    cdef int take_list(self, int32_t number, vector[Part]& operands) except -1
    cdef int32_t list_of(self, vector[Part]& operands) except -1
    cdef bint find_changes(self, const uint32_t* words, int32_t base) except -1
    cdef int32_t keep_mask(self, const uint32_t* words, int32_t base) except? -3
    cdef int32_t intern_row(self, const uint32_t* words) except -3
    cdef int32_t intern_patched(self, int32_t base) except? -3

    cdef inline void write(self, int32_t whole, uint32_t* words) noexcept nogil:
        """Write a remembered mask."""
        cdef Patched p
        cdef int32_t i
        if whole >= 0:
            copy_words(words, self.arena.rows[whole], self.width)
            return
        p = self.patched[PATCHED - whole]
        copy_words(words, self.arena.rows[p.base] if p.base >= 0 else NULL, self.width)
        for i in range(p.first, p.first + p.count):
            words[self.patches[i].word] = self.patches[i].bits
