# What lets a walk leave most of the vocabulary aside. See token_partition.pyx.
from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.masks.shared.part cimport MaskPart
from stackmask.pda.masks.shared.arena cimport MaskArena
from stackmask.pda.masks.runs.run_splitting cimport RunSplitter
from stackmask.pda.masks.runs.slices cimport Slices
from stackmask.pda.memory.hash_tables cimport KeyMap


cdef struct Length:
    # bytes, at most TOO_LONG
    int64_t least       # of the shortest text of a term
    int64_t slack       # the most that the shortest completion of any beginning, none included, takes


cdef struct Uncounted:
    # a state without the upper bound of its length, which short tokens cannot meet
    int32_t state
    int32_t bytes       # tokens of up to so many bytes; 0: there is none


cdef struct AllowedRuns:
    int32_t code        # of X, or NOT_A_CODE
    int32_t high        # as many characters of X may come
    int32_t bytes       # that X can begin with


cdef enum:
    NO_END = 1 << 30


cdef class TokenPartition(MaskPart):
    cdef MaskArena arena
    cdef Slices slices
    cdef RunSplitter splitter
    cdef KeyMap length_index                # term -> lengths
    cdef vector[Length] lengths
    cdef KeyMap follow_index                # term << 32 | code -> where its texts lead in the automaton of X
    cdef vector[uint64_t] followed
    cdef KeyMap uncounted_seen               # state without its counts -> the first state that it stands for
    cdef vector[int32_t] longer             # bytes -> tokens of as many or more; empty until asked for
    cdef KeyMap short_filters               # bytes -> filter of the tokens of at most so many
    cdef KeyMap long_places                 # bytes -> place of the trie of the longer ones
    cdef KeyMap other_tokens                # run -> place of the trie of the tokens that are no runs, or -1

    cdef size_t nbytes_of_terms(self) noexcept
    cdef Length length(self, int32_t term, int depth) except *
    cdef uint64_t follow(
        self, int32_t term, uint64_t states, int32_t code, int depth
    ) except? 0x5555555555555555
    cdef Uncounted without_upper_bound(self, int32_t state) except *
    cdef Uncounted uncounted(self, int32_t state) except *
    cdef int32_t bytes_to_a_count(self, int32_t term, int32_t* left) except -2
    cdef int32_t without_counts(self, int32_t term, int32_t bytes) except -1
    cdef int32_t count_longer(self, int32_t bytes) except -1
    cdef int32_t short_filter(self, int32_t bytes) except -1
    cdef int32_t long_place(self, int32_t bytes) except -1
    cdef int32_t allowed_run_table(self, int32_t state) except -2
    cdef AllowedRuns allowed_runs(self, int32_t state, int32_t frame) except *
    cdef int find_allowed_runs(self, int32_t term, int32_t depth, AllowedRuns* found) except -1
    cdef int32_t other_tokens_place(self, int32_t run) except -2
