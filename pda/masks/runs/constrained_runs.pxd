# Runs with a constraint. See constrained_runs.pyx.
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.pair cimport pair
from libcpp.vector cimport vector

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
    int32_t place
    int32_t filter
    uint64_t words[4]


cdef struct StatePair:
    # scratch: a node, and the configurations there with and without the constraint
    int32_t node
    int32_t config
    int32_t unconstrained


cdef struct SpelledString:
    # scratch: a node that a prefix of an excluded string leads to, and what is left of the string
    int32_t node
    int32_t term
    int32_t continuation    # what follows the term: an index in `spelled_continuations`, or -1
    int32_t state           # of the automaton of X; 0 is between characters


cdef class ConstrainedRuns(MaskPart):
    cdef MaskArena arena
    cdef Slices slices
    cdef RunSplitter splitter
    cdef KeyMap byte_filter_index                               # hash -> index in byte_filters
    cdef vector[ByteFilter] byte_filters
    cdef vector[StatePair] pairs                                # scratch
    cdef vector[SpelledString] spelled                          # scratch
    cdef vector[pair[int32_t, int32_t]] spelled_continuations   # scratch: a term, what follows it
    cdef Growing[int32_t] fails                                 # configuration -> failed exclusions
    cdef Growing[int32_t] few_served                            # configuration -> places of few served nodes
    cdef Growing[int32_t] unconstrained_of                      # configuration -> the same, no constraint

    cdef int32_t unconstrained_state(self, int32_t state) except -3
    cdef int32_t whole_run(self, int32_t state) except -3
    cdef int32_t unconstrained(self, int32_t config) except -3
    cdef int32_t defer_by_first_byte(
        self, int32_t config, int32_t place, vector[DeferredRun]& deferred, vector[int32_t]& left
    ) except -3
    cdef bint exclude_side_by_side(
        self, int32_t config, int32_t place, vector[DeferredRun]& deferred
    ) except -1
    cdef int defer_without(
        self, int32_t unconstrained, int32_t place, vector[int32_t]& tokens, vector[DeferredRun]& deferred
    ) except -1
    cdef bint exclude_strings(
        self, int32_t config, int32_t place, vector[DeferredRun]& deferred
    ) except -1
    cdef int32_t defer_runs(
        self,
        int32_t config,
        int32_t place,
        vector[DeferredRun]& deferred,
        vector[int32_t]& jobs,
        vector[int32_t]& job_configs,
    ) except -3
    cdef bint defer_one_run(
        self, int32_t config, int32_t place, vector[DeferredRun]& deferred
    ) except -1
    cdef int32_t filter_without(self, int32_t place, vector[int32_t]& nodes) except -1
