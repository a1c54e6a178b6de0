# Configurations split into runs and other members. See run_splitting.pyx.
from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport (
    CodeId,
    ConfigId,
    FilterId,
    FrameId,
    PlaceId,
    RunId,
    RunMemberId,
    SemId,
    TailId,
    TermId,
)
from stackmask.pda.masks.shared.part cimport MaskPart
from stackmask.pda.masks.runs.slices cimport Slices
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.memory.hash_tables cimport KeyMap


cdef enum:
    ANYTHING = -1       # in place of a configuration after a run: any byte may follow


cdef struct RunMember:
    # a member X{low,high} continuation whose tokens come from run tables
    CodeId code             # code of X; NOT_A_CODE: the tables do not apply
    int32_t low
    int32_t high            # or UNBOUNDED
    ConfigId continuation   # the configuration after the run
    TermId state            # its local state
    FrameId frame           # its frame in the walk
    SemId sem
    uint64_t ends


cdef struct DeferredRun:
    # a run of a walk that is looked up after the walk
    RunMemberId member
    PlaceId place
    FilterId filter
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
    cdef Growing[ConfigId] split_of         # configuration -> its members that are no runs, or itself
    cdef Growing[int32_t] split_first       # configuration -> its runs are split_members[first:][:count]
    cdef Growing[int32_t] split_count
    cdef Growing[RunMemberId] split_members

    cdef int first_of(self, ConfigId config, uint64_t* words) except -1 nogil
    cdef int32_t queries(self, CodeId code) except -1 nogil
    cdef bint is_narrow(self, CodeId code) noexcept nogil
    cdef RunMemberId member_of(self, TermId state, FrameId frame, SemId sem) except -3 nogil
    cdef int split(self, ConfigId config) except -3 nogil
    cdef bint is_steady(self, SemId sem) noexcept nogil
    cdef bint is_known(self, ConfigId config) noexcept nogil
    cdef bint passes(self, RunId run, RunMember member, FilterId* filter) except -3 nogil
    cdef TailId tail_of(self, RunId run, ConfigId continuation) except -3 nogil
