# The memory of the masks of local states.
from libc.stdint cimport int32_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memset
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from stackmask.pda.context.semantic_states cimport KeyText, Semantics
from stackmask.pda.ids cimport (
    FAILED,
    ID_FAILED,
    NO_REPEAT,
    NO_ROW,
    CalleeId,
    EntryId,
    FilterId,
    GuardId,
    MaskId,
    OperandsId,
    PatchedId,
    PlaceId,
    RepeatId,
    RowId,
    RunId,
    SemId,
    SuffixesId,
    TokenId,
)
from stackmask.pda.masks.layers cimport Layers
from stackmask.pda.masks.run_tables cimport Runs
from stackmask.pda.memory.bitmask_ops cimport copy_words
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.memory.hash_tables cimport IdTable
from stackmask.pda.stack.configuration_table cimport Config
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.vocabulary.suffix_tries cimport SuffixTries
from stackmask.pda.vocabulary.token_trie cimport Trie


# References to finished masks, as values that other rooms may hold.

cdef enum MaskKind:
    MASK_NONE           # nothing is remembered
    MASK_ROW            # index: a row; see `row_of`
    MASK_PATCHED        # index: a patched mask: a row or nothing, and the words that differ; see `patched_of`
    MASK_OPERANDS       # index: a list of operands whose union is not remembered yet; see `operands_of`


cdef struct MaskRef:
    # valid under the lock of the store, until a fill that makes something
    MaskKind kind
    int32_t index


cdef struct Patch:
    int32_t word        # number of a word of 32 bits
    uint32_t bits       # its value


cdef struct MaskBits:
    # the memory of a mask of kind MASK_ROW or MASK_PATCHED; valid as long as its reference
    const uint32_t* row     # or NULL: only patched words allow tokens
    RowId row_number        # number of that row, valid in one epoch; or NO_ROW
    int32_t patch_count
    const Patch* patches    # words in which the mask differs from the row


cdef inline MaskRef mask_ref(MaskKind kind, int32_t index) noexcept nogil:
    cdef MaskRef mask
    mask.kind = kind
    mask.index = index
    return mask


cdef inline RowId row_of(MaskRef mask) noexcept nogil:
    return <RowId>mask.index


cdef inline PatchedId patched_of(MaskRef mask) noexcept nogil:
    return <PatchedId>mask.index


cdef inline OperandsId operands_of(MaskRef mask) noexcept nogil:
    return <OperandsId>mask.index


cdef inline bint is_whole(MaskRef mask) noexcept nogil:
    # whether the mask is finished: its bits are in memory
    return mask.kind == MASK_ROW or mask.kind == MASK_PATCHED


cdef inline MaskRef mask_of(const Config& config, int32_t epoch) noexcept nogil:
    # the mask that a configuration remembers
    if config.mask_epoch != epoch:
        return mask_ref(MASK_NONE, 0)
    return mask_ref(<MaskKind>config.mask_kind, config.mask_index)


cdef inline void remember(Config* config, MaskRef mask, int32_t epoch) noexcept nogil:
    config.mask_kind = <uint8_t>mask.kind
    config.mask_index = mask.index
    config.mask_epoch = epoch


cdef inline void write_bits(const MaskBits* bits, int32_t width, uint32_t* words) noexcept nogil:
    # write a mask of `width` words
    cdef int32_t i
    copy_words(words, bits.row, width)
    for i in range(bits.patch_count):
        words[bits.patches[i].word] = bits.patches[i].bits


# What the parts of the mask machinery borrow, and the contract that they keep.

cdef class MaskContext:
    cdef TermStore terms
    cdef Semantics semantics
    cdef Trie trie
    cdef int32_t width                  # words of 32 bits in a mask
    cdef uint64_t max_bytes             # all masks are dropped when more is held
    cdef Layers layers
    cdef vector[vector[TokenId]] class_tokens   # token class -> ids of special tokens
    cdef size_t class_bytes             # of these, and of the ids that the table of classes keeps
    cdef KeyText key_text               # how keys of objects are written
    # replaced by `renew`
    cdef ConfigSpace space              # configurations of walks
    cdef SuffixTries tries                   # the token trie and the suffix tries
    cdef Runs runs

    cdef int renew(self) except FAILED nogil
    cdef ConfigSpace new_space(self, bint is_walk, ConfigSpace other)


cdef class MaskPart:
    cdef MaskContext context
    # copies of what the context has: `drop` takes the space and the runs anew, the others stay
    cdef TermStore terms
    cdef ConfigSpace space
    cdef Runs runs
    cdef MaskPart next_part             # the next one of the engine, or None

    cdef int drop(self) except FAILED nogil
    cdef size_t nbytes(self) noexcept nogil


cdef int drop_from(MaskPart part) except FAILED nogil
cdef size_t nbytes_from(MaskPart part) noexcept nogil


cdef enum:
    NO_TOKENS = 0       # the mask that allows nothing
    NO_FILTER = 0       # all tokens pass: the first filter
    NOT_INDEXED = -1
    NOT_DEEP = -1
    SPARSE = 8          # a mask is dense when it has more than width / SPARSE tokens


cdef struct Mask:
    RowId dense             # number in rows, or NO_ROW: then sparse
    int32_t sparse_first    # tokens allowed whatever the stack is
    int32_t sparse_count
    int32_t pending_first   # tokens allowed if the frame is alive under a pending guard
    int32_t pending_count
    int32_t group_first     # tokens that return with bytes left over: mask_groups[group_first:][:group_count]
    int32_t group_count
    int32_t include_first   # masks included in this one: includes[include_first:][:include_count]
    int32_t include_count
    int32_t reader_first    # where the semantic state decides: readers[reader_first:][:reader_count], places
    int32_t reader_count
    int32_t key_first       # where an undeclared key begins: key_starts[key_first:][:key_count], places
    int32_t key_count
    int32_t cost            # nodes of tries that were visited to make it
    bint reads_tokens       # the semantic state decides on special tokens too
    RepeatId repeat          # the walk that groups its suffixes, in place of groups; or NO_REPEAT
    RowId sparse_row        # the number of a row with the sparse tokens, or NO_ROW
    int32_t entered         # how many sparse tokens were written one by one so far: see `MaskCache.row_for`


cdef struct Pending:
    uint64_t ends           # the frame must be alive under one of these guards (bits)
    RowId dense             # a row with the tokens, or NO_ROW: then sparse_tokens[first:first + count]
    int32_t first
    int32_t count


cdef struct Include:
    uint64_t ends           # as in Pending; bit 0: whatever the stack is
    MaskId mask
    FilterId filter         # only tokens that pass this filter count


cdef struct MaskGroup:
    SuffixesId group
    CalleeId callee     # these suffixes follow a call, not a return; or NO_CALLEE


cdef struct Group:
    # suffixes with one pending guard and semantic state: those at some places, and those after a run
    GuardId guard
    SemId sem
    RunId run               # or NO_RUN
    int32_t place_first     # places[place_first:place_first + place_count]
    int32_t place_count
    EntryId entry           # entry of its suffixes, where the semantic state is unknown; NO_ENTRY until then
    int32_t by_byte         # byte_first[by_byte:][:257], or NOT_INDEXED: see `places_by_byte`
    int32_t under           # index of what is under its deep places, or NOT_DEEP


cdef struct Under:
    # the suffixes under the deep places of a group
    uint64_t first[4]       # bytes that they can begin with, and perhaps others


cdef struct Loop:
    uint64_t bytes[4]       # bytes that lead to one configuration,
    uint64_t keeps[4]       # ... and first bytes of characters that lead from there back to it


cdef inline Mask nothing() noexcept nogil:
    """Return the mask that has no tokens."""
    cdef Mask mask
    memset(&mask, 0, sizeof(Mask))
    mask.dense = NO_ROW
    mask.repeat = NO_REPEAT
    mask.sparse_row = NO_ROW
    return mask


cdef inline bint leads_nowhere(const Mask& mask) noexcept nogil:
    """Return whether a mask has only tokens that are allowed with any stack."""
    return (
        not mask.pending_count
        and not mask.group_count
        and not mask.include_count
        and not mask.reader_count
        and not mask.key_count
        and not mask.reads_tokens
        and mask.repeat == NO_REPEAT
    )


cdef inline bint is_nothing(const Mask& mask) noexcept nogil:
    """Return whether a mask has no tokens with any stack."""
    return mask.dense == NO_ROW and not mask.sparse_count and leads_nowhere(mask)


cdef extern from "places.h" nogil:
    # sort places, each once
    void sort_unique "stackmask::sort_unique"(vector[PlaceId]& places) except +


ctypedef void* voidp


cdef class MaskArena:
    cdef MaskContext context
    cdef SuffixTries tries
    cdef int32_t width                      # words of 32 bits in a mask
    cdef Growing[Mask] masks
    cdef vector[uint32_t*] rows             # dense masks, joined masks and filters
    cdef vector[pair[voidp, size_t]] blocks     # the memory of the rows: address and bytes
    cdef size_t block_bytes                 # of all
    cdef IdTable row_index                  # of the rows that do not change any more, by content
    cdef char* fresh                        # of the last block: the rows that are not taken yet
    cdef size_t fresh_rows
    cdef Growing[TokenId] sparse_tokens
    cdef vector[Pending] pendings
    cdef Growing[Include] includes
    cdef vector[Group] groups               # interned by content: equal suffixes are one id
    cdef IdTable group_index
    cdef vector[uint64_t] group_first       # group -> bytes that its suffixes can begin with, 4 words
    cdef vector[MaskGroup] mask_groups
    cdef Growing[PlaceId] places
    cdef vector[Under] unders               # of groups
    cdef vector[uint32_t] words             # of the row that is being made
    cdef vector[int32_t] byte_first         # of groups, see `places_by_byte`
    cdef vector[PlaceId] byte_places
    cdef vector[PlaceId] readers
    cdef vector[PlaceId] key_starts
    cdef readonly uint64_t drops            # how often all masks were dropped

    cdef int drop(self) except FAILED nogil
    cdef size_t nbytes(self) noexcept nogil
    cdef int free_rows(self) noexcept nogil
    cdef size_t row_bytes(self) noexcept nogil
    cdef RowId new_row(self) except ID_FAILED nogil
    cdef int give_back_row(self, RowId row) noexcept nogil
    cdef RowId row_of(self, vector[TokenId]& tokens) except ID_FAILED nogil
    cdef RowId intern_row(self, const uint32_t* words) except ID_FAILED nogil
    cdef int keep_tokens(self, vector[TokenId]& tokens, RowId dense, Mask* mask) except FAILED nogil
    cdef int keep_pending(self, vector[TokenId]& tokens, uint64_t ends) except FAILED nogil
    cdef MaskId add(self, const Mask& mask) except ID_FAILED nogil
    cdef SuffixesId intern_group(
        self, GuardId guard, SemId sem, RunId run, vector[PlaceId]& places
    ) except ID_FAILED nogil
    cdef SuffixesId regrouped(self, SuffixesId group, GuardId guard, SemId sem) except ID_FAILED nogil
    cdef const uint64_t* first_of_group(self, SuffixesId group) except NULL nogil
    cdef int append_places(self, SuffixesId group, vector[PlaceId]& out) except FAILED nogil
    cdef bint is_indexed(self, SuffixesId group) noexcept nogil
    cdef const int32_t* places_by_byte(self, SuffixesId group) except NULL nogil
    cdef int first_bytes(self, SuffixesId group, uint64_t* words) except FAILED nogil
    cdef int append_starting(
        self, SuffixesId group, const uint64_t* first, const Loop* loop, vector[PlaceId]& out
    ) except FAILED nogil
    cdef int append_under(
        self, PlaceId place, const uint64_t* first, const Loop* loop, vector[PlaceId]& out
    ) except FAILED nogil
    cdef bint is_few(self, SuffixesId group) noexcept nogil
