# States in which most tokens need no walk.
from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport (
    BITS_FAILED,
    FAILED,
    ID_FAILED,
    CodeId,
    FilterId,
    FrameId,
    PlaceId,
    RunId,
    TermId,
)
from stackmask.pda.masks.arena cimport MaskArena, MaskPart
from stackmask.pda.masks.runs cimport RunSplitter, Slices
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.terms.term_table cimport Term
from stackmask.pda.vocabulary.token_trie cimport CharacterGroups, Trie


cdef struct Length:
    # lengths of a term in bytes, at most TOO_LONG
    int64_t least   # of its shortest string
    int64_t slack   # after any prefix of its strings, the shortest completion is at most this


cdef struct Uncounted:
    # a state without the bounds of its counts, which short tokens cannot reach
    TermId state
    int32_t bytes   # it replaces the state for tokens of up to so many bytes; 0: for none


cdef struct AllowedRuns:
    CodeId code     # code of a class X, or NOT_A_CODE
    int32_t high    # runs of X of up to so many characters are allowed
    int32_t bytes   # how many bytes X can begin with


cdef enum:
    NO_END = 1 << 30


cdef class TokenPartition(MaskPart):
    cdef Trie trie
    cdef MaskArena arena
    cdef Slices slices
    cdef RunSplitter splitter
    cdef CharacterGroups groups
    cdef KeyMap length_index        # term -> index in lengths
    cdef vector[Length] lengths
    cdef KeyMap follow_index        # term << 32 | code -> index in followed
    cdef vector[uint64_t] followed
    cdef KeyMap uncounted_seen      # state without its counts -> the first state it was made from
    cdef vector[int32_t] longer     # bytes -> number of tokens with at least so many; empty until needed
    cdef KeyMap short_filters       # bytes -> filter of the tokens with at most so many
    cdef KeyMap long_places         # bytes -> place of the trie of the longer tokens
    cdef KeyMap other_tokens        # run table -> place of the trie of the tokens that are no runs, or -1
    # scratch of `find_allowed_runs`
    cdef vector[TermId] todo
    cdef KeyMap visited             # alternatives
    cdef uint64_t visits            # terms visited so far

    cdef size_t nbytes_of_terms(self) noexcept nogil
    cdef int length(self, TermId term, int depth, Length* found) except FAILED nogil
    cdef uint64_t follow(
        self, TermId term, uint64_t states, CodeId code, int depth, int32_t* left
    ) except? BITS_FAILED nogil
    cdef uint64_t follow_bytes(self, Term t, uint64_t states, CodeId code, int32_t* left) noexcept nogil
    cdef int without_upper_bound(self, TermId state, Uncounted* found) except FAILED nogil
    cdef int without_length(self, TermId state, Uncounted* found) except FAILED nogil
    cdef int uncounted(self, TermId state, Uncounted* found) except FAILED nogil
    cdef int32_t bytes_to_a_count(self, TermId term, int32_t* left) except ID_FAILED nogil
    cdef TermId without_counts(self, TermId term, int32_t bytes) except ID_FAILED nogil
    cdef int32_t count_longer(self, int32_t bytes) except FAILED nogil
    cdef FilterId short_filter(self, int32_t bytes) except ID_FAILED nogil
    cdef PlaceId long_place(self, int32_t bytes) except ID_FAILED nogil
    cdef RunId allowed_run_table(self, TermId state) except ID_FAILED nogil
    cdef int allowed_runs(
        self, ConfigSpace space, TermId state, FrameId frame, AllowedRuns* found
    ) except FAILED nogil
    cdef int find_allowed_runs(self, TermId state, bint alternatives, AllowedRuns* found) except FAILED nogil
    cdef int use_runs(self, Term loop, AllowedRuns* found) except FAILED nogil
    cdef PlaceId other_tokens_place(self, RunId run) except ID_FAILED nogil
