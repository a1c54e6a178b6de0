# Slices: masks of runs. Filters: which tokens pass after a run. See slices.pyx.
from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport FilterId, MaskId, RowId, RunId, TailId, TokenId
from stackmask.pda.masks.shared.part cimport MaskPart
from stackmask.pda.masks.shared.arena cimport MaskArena
from stackmask.pda.masks.shared.run_tables cimport Exit
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.vocabulary.character_groups cimport CharacterGroups


cdef struct Filter:
    # The tokens that pass: those of a row (NO_ROW: all) without excluded_tokens[first:][:count].
    RowId row
    int32_t first
    int32_t count


cdef struct Tail:
    # the exits of a run table after which a continuation is alive: tail_exits[first:][:count]
    RunId run
    int32_t first
    int32_t count
    int32_t most_before     # the most characters before one of these exits


cdef class Slices(MaskPart):
    cdef int32_t width                  # words of 32 bits in a mask
    cdef CharacterGroups groups
    cdef MaskArena arena
    cdef KeyMap slice_index         # run << 32 | characters -> mask
    cdef KeyMap filter_index        # tail << 40 | low << 20 | high -> filter
    cdef vector[Tail] tails
    cdef vector[Exit] tail_exits
    cdef KeyMap both_index          # filter << 32 | filter -> filter
    cdef KeyMap row_index           # row << 32 | row -> row
    cdef vector[Filter] filters     # the first is NO_FILTER
    cdef vector[TokenId] excluded_tokens
    cdef vector[uint8_t] spared     # scratch: which excluded tokens a mask had before

    cdef MaskId slice(self, RunId run, int32_t high) except -3 nogil
    cdef MaskId mask_of(self, const TokenId* tokens, int32_t count) except -3 nogil
    cdef MaskId slice_of_groups(self, RunId run, int32_t high) except -3 nogil
    cdef FilterId filter_of(self, TailId tail, int32_t low, int32_t high) except -1 nogil
    cdef FilterId make_filter(self, Tail at, int32_t low, int32_t high) except -1 nogil
    cdef FilterId filter_both(self, FilterId a, FilterId b) except -1 nogil
    cdef RowId both_rows(self, RowId a, RowId b) except? -1 nogil
    cdef FilterId add_filter(self, RowId row, vector[TokenId]& excluded) except -1 nogil
    cdef int add_all(self) except -1 nogil
