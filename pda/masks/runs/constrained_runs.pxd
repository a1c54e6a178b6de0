# Runs that something narrows. See constrained_runs.pyx.
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
    # the filter of what begins with other bytes than these below a place
    int32_t place
    int32_t filter
    uint64_t words[4]


cdef struct StatePair:
    # scratch: a node that a configuration and the one without what narrows its runs both come to
    int32_t node
    int32_t config
    int32_t unconstrained


cdef struct SpelledString:
    # scratch: a node that a beginning of a text leads to, and what of the text is left
    int32_t node
    int32_t term
    int32_t continuation            # what follows the term: a place in `spelled_continuations`, or -1
    int32_t state           # of the automaton of X; 0 is between characters


cdef class ConstrainedRuns(MaskPart):
    cdef MaskArena arena
    cdef Slices slices
    cdef RunSplitter splitter
    cdef KeyMap byte_filter_index               # hash of a place and bytes -> entry
    cdef vector[ByteFilter] byte_filters
    cdef vector[StatePair] pairs                 # scratch
    cdef vector[SpelledString] spelled            # scratch
    # scratch: a term, and the place of what follows it
    cdef vector[pair[int32_t, int32_t]] spelled_continuations
    cdef Growing[int32_t] fails              # configuration -> places where `exclude` did not work out
    cdef Growing[int32_t] few_served         # configuration -> places where tables served few nodes
    cdef Growing[int32_t] unconstrained_of           # configuration -> itself without what narrows its runs

    cdef int32_t unconstrained_state(self, int32_t state) except -3
    cdef int32_t whole_run(self, int32_t state) except -3
    cdef int32_t unconstrained(self, int32_t config) except -3
    cdef int32_t defer_by_first_byte(
        self, int32_t config, int32_t place, vector[DeferredRun]& later, vector[int32_t]& left
    ) except -3
    cdef bint exclude_side_by_side(self, int32_t config, int32_t place, vector[DeferredRun]& later) except -1
    cdef int defer_without(
        self, int32_t unconstrained, int32_t place, vector[int32_t]& tokens, vector[DeferredRun]& later
    ) except -1
    cdef bint exclude_strings(self, int32_t config, int32_t place, vector[DeferredRun]& later) except -1
    cdef int32_t defer_runs(
        self,
        int32_t config,
        int32_t place,
        vector[DeferredRun]& later,
        vector[int32_t]& jobs,
        vector[int32_t]& job_configs,
    ) except -3
    cdef bint defer_one_run(self, int32_t config, int32_t place, vector[DeferredRun]& later) except -1
    cdef int32_t filter_without(self, int32_t place, vector[int32_t]& nodes) except -1
