# Whole masks: what a fill writes, remembered. See whole_masks.pyx.
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.parts cimport MaskParts, Part
from stackmask.pda.row_words cimport copy_words
from stackmask.pda.tables cimport IdTable, KeyMap, Probe

cdef enum:
    NO_MASK = -1        # in place of a mask id: not remembered yet
    PATCHED = -2        # mask ids from here down are patched masks: PATCHED - number


cdef struct Joined:
    int32_t first       # joined_parts[first:first + count]
    int32_t count
    int32_t whole       # its mask id


cdef struct Patch:
    int32_t word        # number of a word of 32 bits
    uint32_t bits       # what it is


cdef struct Patched:
    int32_t base        # a row, or -1: nothing
    int32_t first       # patches[first:first + count]: the words in which it is not the base
    int32_t count


cdef class WholeMasks(MaskParts):
    cdef vector[Part] joined_parts
    cdef vector[Joined] joined              # lists of parts whose mask is remembered
    cdef IdTable joined_index
    cdef KeyMap joined_before               # hash of a list of parts -> rows that it has cost so far
    cdef vector[Patch] patches
    cdef vector[Patched] patched
    cdef IdTable patched_index
    cdef IdTable row_index                  # rows of whole masks by content
    # scratch of one fill
    cdef vector[Patch] changes
    cdef int32_t likely_base                # a row that the mask may be much like, or -1
    cdef readonly uint64_t joins            # lists of parts, and configurations, that got a mask id

    cdef int apply(self, Part part, uint32_t* words) noexcept
    cdef int32_t put_together(self, uint32_t* words) except? -3
    cdef int32_t find_joined(self, uint64_t h, Probe* probe) noexcept
    cdef bint find_changes(self, const uint32_t* words, int32_t base) except -1
    cdef int32_t keep_mask(self, const uint32_t* words, int32_t base) except? -3
    cdef int32_t intern_row(self, const uint32_t* words) except -3
    cdef int32_t intern_patched(self, int32_t base) except? -3
    cdef int forget_whole(self) except -1
    cdef size_t whole_nbytes(self) noexcept

    cdef inline void write(self, int32_t whole, uint32_t* words) noexcept nogil:
        """Write a remembered mask."""
        cdef Patched p
        cdef int32_t i
        if whole >= 0:
            copy_words(words, self.rows[whole], self.width)
            return
        p = self.patched[PATCHED - whole]
        copy_words(words, self.rows[p.base] if p.base >= 0 else NULL, self.width)
        for i in range(p.first, p.first + p.count):
            words[self.patches[i].word] = self.patches[i].bits
