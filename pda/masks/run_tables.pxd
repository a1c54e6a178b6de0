# Run tables: runs of one character class at the beginning of tokens.
from libc.stdint cimport int16_t, int32_t, uint64_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport FAILED, ID_FAILED, CodeId, GroupId, NodeId, PlaceId, RunId, TermId, TokenId
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.vocabulary.suffix_tries cimport SuffixTries
from stackmask.pda.vocabulary.token_trie cimport CharacterGroups, ClassSorts


cdef enum:
    NOT_A_CODE = -1     # not a prefix code: where the next item begins needs lookahead
    NOT_MADE = -1       # in place of where a list begins


cdef struct Code:
    # The automaton of a prefix code X: table[table_first + 256 * state + byte]. State 0: between characters.
    int32_t table_first
    int32_t states
    ClassSorts sorts       # the sorts of bytes, by whether they belong to X
    uint64_t first[4]   # the bytes that a character of X can begin with
    uint64_t used[4]    # the bytes that occur in X
    uint64_t last[4]    # the bytes that a character of X can end with
    uint64_t single[2]  # ASCII characters of X
    uint64_t leads      # bytes from 0xC0 such that X has all characters that begin with them


cdef struct Exit:
    # where a run of whole characters ends in a trie: a child with a byte that does not continue the run
    PlaceId place
    int32_t count   # whole characters before it
    uint8_t byte


cdef struct NodeExit:
    # the same in a trie that is known
    NodeId node
    int32_t count
    uint8_t byte


cdef struct Span:
    # some items of a list, one after the other
    int32_t first
    int32_t count


cdef struct Run:
    # The run table of X at one place: the tokens under the place, by the run of X that they begin with.
    CodeId code
    PlaceId place
    int32_t token_count     # tokens that are runs; the last character may be incomplete
    # Character groups of such tokens: groups[first:][:count]. NOT_MADE if one pass over the trie has found
    # the tokens instead: see `has_groups`.
    int32_t group_first
    int32_t group_count
    # The other such tokens, by ascending number of characters: tokens[first:][:count]. After a pass over the
    # trie, first is NOT_MADE until a bounded slice needs them: see `is_sorted`.
    int32_t sorted_first
    int32_t sorted_count
    int32_t exit_first      # exits[first:][:count], sorted by byte; NOT_MADE until all are needed
    int32_t exit_count
    int32_t most_needed     # the most characters that one of the tokens takes


cdef inline bint has_groups(const Run& run) noexcept nogil:
    return run.group_first != NOT_MADE


cdef inline bint is_sorted(const Run& run) noexcept nogil:
    return run.sorted_first != NOT_MADE


cdef inline bint has_exits(const Run& run) noexcept nogil:
    return run.exit_first != NOT_MADE


cdef struct Merged:
    # a suffix trie that some places were merged into: merged_places[first:][:count]
    int32_t first
    int32_t count
    PlaceId place


cdef struct ScanStep:
    # a node whose children are visited: the next child, the end of the children, and the run so far
    int32_t kid
    int32_t kid_end
    int32_t count
    int32_t state


cdef class Runs:
    cdef TermStore terms
    cdef SuffixTries tries
    cdef KeyMap code_index              # term -> code or NOT_A_CODE
    cdef vector[Code] codes
    cdef vector[int16_t] table          # next state, or -1
    cdef KeyMap run_index               # code << 32 | place -> run
    cdef vector[Run] runs
    cdef Growing[TokenId] tokens
    cdef Growing[int32_t] needed        # characters that tokens[i] takes
    cdef Growing[GroupId] groups
    cdef Growing[Exit] exits
    cdef KeyMap exit_index              # run << 8 | byte -> index in exits_of_byte
    cdef vector[Span] exits_of_byte
    cdef KeyMap merge_index             # hash of places -> index in merged
    cdef vector[Merged] merged
    cdef Growing[PlaceId] merged_places
    cdef KeyMap suffix_index            # run << 8 | byte -> index in suffix_lists
    cdef vector[Span] suffix_lists      # lists of places, in suffix_places
    cdef Growing[PlaceId] suffix_places

    # the result of the last pass over a trie, and its run table
    cdef RunId scanned_run
    cdef vector[TokenId] found_tokens   # tokens that are runs, in the order of the trie
    cdef vector[int32_t] found_needed
    cdef vector[NodeExit] found_exits
    cdef vector[NodeId] found_others    # nodes with a byte that does not continue a character of X
    cdef vector[ScanStep] steps
    cdef vector[uint8_t] path           # scratch: the bytes of the path to a node, the last one first

    cdef CodeId code_of(self, TermId item) except ID_FAILED nogil
    cdef bint is_made(self, CodeId code) noexcept nogil
    cdef int32_t scanned(self, CodeId code, PlaceId place) noexcept nogil
    cdef int32_t count_mixed(self, CharacterGroups grouped, CodeId code) noexcept nogil
    cdef RunId run_of(self, CodeId code, PlaceId place) except ID_FAILED nogil
    cdef bint take_groups(self, CharacterGroups grouped, Run* run) except FAILED nogil
    cdef int find_exits(self, RunId run) except FAILED nogil
    cdef int exits_with(
        self, CharacterGroups grouped, RunId run, uint8_t byte, Span* found
    ) except FAILED nogil
    cdef int climb(self, RunId run, NodeId node) except FAILED nogil
    cdef PlaceId merge(self, vector[PlaceId]& places) except ID_FAILED nogil
    cdef int scan(self, RunId run) except FAILED nogil
    cdef int sort_tokens(self, RunId run) except FAILED nogil
    cdef int suffixes_of(self, RunId run, uint8_t byte, Span* found) except FAILED nogil
    cdef int append_suffixes(self, RunId run, const uint64_t* first, vector[PlaceId]& places) except FAILED nogil
    cdef size_t nbytes(self) noexcept nogil
    cdef size_t index_nbytes(self) noexcept nogil
