# Runs with a constraint. See constrained_runs.pyx.
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from stackmask.pda.ids cimport ConfigId, FilterId, NodeId, PlaceId, TermId, TokenId
from stackmask.pda.masks.shared.part cimport MaskPart
from stackmask.pda.masks.shared.arena cimport MaskArena
from stackmask.pda.masks.runs.slices cimport Slices
from stackmask.pda.masks.runs.run_splitting cimport RunSplitter
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.vocabulary.suffix_tries cimport Nodes
from stackmask.pda.masks.runs.run_splitting cimport DeferredRun
from stackmask.pda.memory.hash_tables cimport KeyMap


cdef struct ByteFilter:
    # the filter of the tokens under a place that do not continue with these bytes
    PlaceId place
    FilterId filter
    uint64_t words[4]


cdef struct StatePair:
    # scratch: a node, and the configurations there with and without the constraint
    NodeId node
    ConfigId config
    ConfigId unconstrained


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
    cdef vector[StatePair] pairs                                # scratch
    cdef vector[SpelledString] spelled                          # scratch
    cdef vector[pair[TermId, int32_t]] spelled_continuations   # scratch: a term, what follows it
    cdef Growing[int32_t] fails                                 # configuration -> failed exclusions
    cdef Growing[int32_t] few_served                            # configuration -> places of few served nodes
    cdef Growing[ConfigId] unconstrained_of                     # configuration -> the same, no constraint

    cdef TermId unconstrained_state(self, TermId state) except -3 nogil
    cdef TermId whole_run(self, TermId state) except -3 nogil
    cdef ConfigId unconstrained(self, ConfigId config) except -3 nogil
    cdef int32_t defer_by_first_byte(
        self, ConfigId config, PlaceId place, vector[DeferredRun]& deferred, vector[NodeId]& left
    ) except -3 nogil
    cdef bint exclude_side_by_side(
        self, ConfigId config, PlaceId place, vector[DeferredRun]& deferred
    ) except -1 nogil
    cdef int defer_without(
        self, ConfigId unconstrained, PlaceId place, vector[TokenId]& tokens, vector[DeferredRun]& deferred
    ) except -1 nogil
    cdef bint exclude_strings(
        self, ConfigId config, PlaceId place, vector[DeferredRun]& deferred
    ) except -1 nogil
    cdef ConfigId defer_runs(
        self,
        ConfigId config,
        PlaceId place,
        vector[DeferredRun]& deferred,
        vector[PlaceId]& jobs,
        vector[ConfigId]& job_configs,
    ) except -3 nogil
    cdef bint defer_one_run(
        self, ConfigId config, PlaceId place, vector[DeferredRun]& deferred
    ) except -1 nogil
    cdef FilterId filter_without(self, PlaceId place, vector[NodeId]& nodes) except -1 nogil
