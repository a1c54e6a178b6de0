# Slices: masks of runs. Filters: which tokens pass after a run.
from libc.stdint cimport int32_t, uint64_t, uint8_t
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from stackmask.pda.ids cimport (
    FAILED,
    ID_FAILED,
    CodeId,
    ConfigId,
    FilterId,
    FrameId,
    MaskId,
    NodeId,
    PlaceId,
    RowId,
    RunId,
    RunMemberId,
    SemId,
    TailId,
    TermId,
    TokenId,
)
from stackmask.pda.masks.arena cimport MaskArena, MaskPart
from stackmask.pda.masks.run_tables cimport Exit
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.vocabulary.suffix_tries cimport Nodes
from stackmask.pda.vocabulary.token_trie cimport CharacterGroups


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

    cdef MaskId slice(self, RunId run, int32_t high) except ID_FAILED nogil
    cdef MaskId mask_of(self, const TokenId* tokens, int32_t count) except ID_FAILED nogil
    cdef MaskId slice_of_groups(self, RunId run, int32_t high) except ID_FAILED nogil
    cdef FilterId filter_of(self, TailId tail, int32_t low, int32_t high) except ID_FAILED nogil
    cdef FilterId make_filter(self, Tail at, int32_t low, int32_t high) except ID_FAILED nogil
    cdef FilterId filter_both(self, FilterId a, FilterId b) except ID_FAILED nogil
    cdef RowId both_rows(self, RowId a, RowId b) except? ID_FAILED nogil
    cdef FilterId add_filter(self, RowId row, vector[TokenId]& excluded) except ID_FAILED nogil
    cdef int add_all(self) except FAILED nogil


# Configurations split into runs and other members.

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

    cdef int first_of(self, ConfigId config, uint64_t* words) except FAILED nogil
    cdef int32_t queries(self, CodeId code) except FAILED nogil
    cdef bint is_narrow(self, CodeId code) noexcept nogil
    cdef RunMemberId member_of(self, TermId state, FrameId frame, SemId sem) except ID_FAILED nogil
    cdef int split(self, ConfigId config) except ID_FAILED nogil
    cdef bint is_steady(self, SemId sem) noexcept nogil
    cdef bint is_known(self, ConfigId config) noexcept nogil
    cdef bint passes(self, RunId run, RunMember member, FilterId* filter) except ID_FAILED nogil
    cdef TailId tail_of(self, RunId run, ConfigId continuation) except ID_FAILED nogil


# Runs with a constraint.

cdef struct ByteFilter:
    # the filter of the tokens under a place that do not continue with these bytes
    PlaceId place
    FilterId filter
    uint64_t words[4]


cdef enum:
    NOTHING_MORE = -1


cdef struct SpelledString:
    # scratch: a node that a prefix of an excluded string leads to, and what is left of the string
    NodeId node
    TermId term
    int32_t continuation    # what follows the term: an index in `spelled_continuations`, or NOTHING_MORE
    int32_t state           # of the automaton of X; 0 is between characters


cdef class ConstrainedRuns(MaskPart):
    cdef MaskArena arena
    cdef Slices slices
    cdef RunSplitter splitter
    cdef KeyMap byte_filter_index                               # hash -> index in byte_filters
    cdef vector[ByteFilter] byte_filters
    cdef vector[SpelledString] spelled                          # scratch
    cdef vector[pair[TermId, int32_t]] spelled_continuations   # scratch: a term, what follows it
    cdef Growing[int32_t] few_served                            # configuration -> places of few served nodes
    cdef Growing[ConfigId] unconstrained_of                     # configuration -> the same, no constraint

    cdef TermId unconstrained_state(self, TermId state) except ID_FAILED nogil
    cdef TermId whole_run(self, TermId state) except ID_FAILED nogil
    cdef ConfigId unconstrained(self, ConfigId config) except ID_FAILED nogil
    cdef bint calls(self, ConfigId config) noexcept nogil
    cdef int32_t defer_by_first_byte(
        self, ConfigId config, PlaceId place, vector[DeferredRun]& deferred, vector[NodeId]& left
    ) except ID_FAILED nogil
    cdef int defer_without(
        self, ConfigId unconstrained, PlaceId place, vector[TokenId]& tokens, vector[DeferredRun]& deferred
    ) except FAILED nogil
    cdef bint begin_spelling(self, int32_t first, int32_t count, NodeId node) except FAILED nogil
    cdef bint exclude_strings(
        self, ConfigId config, PlaceId place, vector[DeferredRun]& deferred
    ) except FAILED nogil
    cdef ConfigId defer_runs(
        self,
        ConfigId config,
        PlaceId place,
        vector[DeferredRun]& deferred,
        vector[PlaceId]& jobs,
        vector[ConfigId]& job_configs,
    ) except ID_FAILED nogil
    cdef bint defer_one_run(
        self, ConfigId config, PlaceId place, vector[DeferredRun]& deferred
    ) except FAILED nogil
    cdef FilterId filter_without(self, PlaceId place, vector[NodeId]& nodes) except ID_FAILED nogil
