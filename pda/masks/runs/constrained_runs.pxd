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
    cdef vector[SpelledString] spelled                          # scratch
    cdef vector[pair[int32_t, int32_t]] spelled_continuations   # scratch: a term, what follows it
    cdef Growing[int32_t] unconstrained_of                      # configuration -> the same, no constraint

    cdef int32_t unconstrained_state(self, int32_t state) except -3
    cdef int32_t whole_run(self, int32_t state) except -3
    cdef int32_t unconstrained(self, int32_t config) except -3
    cdef int defer_without(
        self, int32_t unconstrained, int32_t place, vector[int32_t]& tokens, vector[DeferredRun]& deferred
    ) except -1
    cdef bint exclude_strings(self, int32_t config, int32_t place, vector[DeferredRun]& deferred) except -1
    cdef int32_t defer_runs(self, int32_t config, int32_t place, vector[DeferredRun]& deferred) except -3
    cdef bint defer_one_run(self, int32_t config, int32_t place, vector[DeferredRun]& deferred) except -1
