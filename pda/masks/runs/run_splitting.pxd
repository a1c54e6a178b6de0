# Configurations split into runs and other members. See run_splitting.pyx.
from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.masks.shared.part cimport MaskPart
from stackmask.pda.masks.runs.slices cimport Slices
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.memory.hash_tables cimport KeyMap


cdef struct RunMember:
    # a member X{low,high} continuation whose tokens come from run tables
    int32_t code            # code of X; NOT_A_CODE: the tables do not apply
    int32_t low
    int32_t high            # -1: without bound
    int32_t continuation    # the configuration after the run
    int32_t state           # its local state
    int32_t frame           # its frame in the walk
    int32_t sem
    uint64_t ends


cdef struct DeferredRun:
    # a run of a walk that is looked up after the walk
    int32_t member
    int32_t place
    int32_t filter
    int32_t least   # all tokens that pass the filter have at least so many characters of X first


cdef struct ByteSet:
    uint64_t words[4]


cdef class RunSplitter(MaskPart):
    cdef Slices slices
    cdef KeyMap member_index                # (semantic state, or INSIDE | number) << 32 | state -> member
    cdef KeyMap inside_index                # frame << 32 | semantic state -> number
    cdef vector[RunMember] run_members
    cdef KeyMap tail_index                  # run << 32 | configuration after it -> tail
    cdef KeyMap met_codes                   # code -> queries by states that allow its runs
    cdef Growing[int32_t] first_bytes_at    # configuration -> 1 + index in first, or 0
    cdef Growing[ByteSet] first             # the bytes that a configuration can continue with
    cdef Growing[int32_t] split_of          # configuration -> its members that are no runs, or itself
    cdef Growing[int32_t] split_first       # configuration -> its runs are split_members[first:][:count]
    cdef Growing[int32_t] split_count
    cdef Growing[int32_t] split_members

    cdef int first_of(self, int32_t config, uint64_t* words) except -1
    cdef int32_t queries(self, int32_t code) except -1
    cdef bint is_narrow(self, int32_t code) noexcept
    cdef int32_t member_of(self, int32_t state, int32_t frame, int32_t sem) except -3
    cdef int split(self, int32_t config) except -3
    cdef bint is_steady(self, int32_t sem) noexcept
    cdef bint is_known(self, int32_t config) noexcept
    cdef bint passes(self, int32_t run, RunMember member, int32_t* filter) except -3
    cdef int32_t tail_of(self, int32_t run, int32_t continuation) except -3
