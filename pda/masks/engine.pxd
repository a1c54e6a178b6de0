# The masks of configurations, put together from those of local states.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.ids cimport FAILED, ConfigId, PlaceId, RowId, TokenId
from stackmask.pda.masks.arena cimport MaskArena, MaskBits, MaskContext, MaskPart, MaskRef
from stackmask.pda.masks.local_masks cimport LocalMasks
from stackmask.pda.masks.mask_assembly cimport MaskAssembler, PlaceTrials, Progress
from stackmask.pda.masks.mask_cache cimport MaskCache, Operands, Worklist
from stackmask.pda.masks.prefixes cimport LiteralMasks
from stackmask.pda.masks.runs cimport ConstrainedRuns, RunSplitter, Slices
from stackmask.pda.masks.token_partition cimport TokenPartition
from stackmask.pda.masks.trials cimport TokenTrials, Trial, UndeclaredKeys
from stackmask.pda.masks.trie_walk cimport CutWalk, SubtreeAcceptance, TrieWalk
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.vocabulary.token_trie cimport Trie


cdef class MaskParts:
    cdef MaskContext context
    cdef TrieWalk walker
    cdef MaskPart cache
    cdef MaskPart last                      # each part knows the one made before it
    cdef size_t weight                      # bytes held, when there were so many walks:
    cdef uint64_t weighed

    cdef int drop(self) except FAILED nogil
    cdef size_t nbytes(self) noexcept nogil
    cdef int weigh(self) noexcept nogil


cdef class CutFill:
    cdef ConfigSpace family                 # of which it is
    cdef ConfigId config                    # DEAD: of none
    cdef int32_t epoch                      # 0: there is nothing to go on with
    cdef int begun                          # how often it began anew
    cdef public int64_t waited              # steps that left it waiting
    # the mask so far, and the scratch of the parts of an engine
    cdef vector[uint32_t] words
    cdef Worklist work
    cdef Operands found
    cdef vector[CutWalk] walks
    cdef vector[PlaceId] places_to_try
    cdef vector[TokenId] tokens_to_try
    cdef vector[TokenId] tokens_left
    cdef vector[PlaceId] doubtful
    cdef vector[PlaceId] left
    cdef vector[PlaceId] places
    cdef vector[PlaceId] next_places
    cdef Progress progress
    cdef Trial trial
    cdef size_t tried
    cdef bint on_itself
    cdef int phase
    cdef int64_t spent
    cdef RowId likely_base
    cdef ConfigSpace fill_space
    cdef ConfigId fill_config
    cdef size_t fill_limit
    cdef bint is_copied

    cdef int swap(self, MaskEngine e) except FAILED nogil


cdef class MaskEngine:
    cdef MaskContext context
    cdef TermStore terms
    cdef readonly int32_t width             # words of 32 bits in a mask
    cdef MaskParts parts                    # all parts, also those that are named here:
    cdef MaskArena arena
    cdef Slices slices
    cdef TokenPartition partition
    cdef LiteralMasks literals
    cdef TrieWalk walker
    cdef LocalMasks local
    cdef TokenTrials trials
    cdef UndeclaredKeys keys_used
    cdef MaskAssembler assembler
    cdef MaskCache cache
    cdef PlaceTrials places
    cdef uint64_t weighed                   # changes when the budget was looked at last
    cdef int32_t epoch                      # counts how often the masks were dropped
    cdef public int64_t walk_units          # of work on walks for a mask, before all tokens are tried
    cdef public size_t fill_bytes           # of a family, before fills work on copies of its configurations
    # scratch of one fill
    cdef int phase                          # what comes next
    cdef int64_t spent                      # units that it took so far, where they are limited
    cdef RowId likely_base                  # a row that the mask may be like
    cdef bint is_copied                     # the fill works on a copy of its configuration,
    cdef readonly ConfigSpace fill_space    # ... in this space, or None,
    cdef ConfigId fill_config               # ... with this number
    cdef size_t fill_limit                  # bytes of the space before it is dropped
    cdef readonly uint64_t fills
    cdef readonly uint64_t hits
    cdef readonly uint64_t simulations      # fills that tried tokens on the configuration

    cdef int begin(self, ConfigSpace family, ConfigId config) except FAILED nogil
    cdef bint advance(
        self, ConfigSpace family, ConfigId config, uint32_t* words, int64_t units
    ) except FAILED nogil
    cdef int begin_on(self, ConfigSpace space, ConfigId config) except FAILED nogil
    cdef bint advance_on(
        self, ConfigSpace space, ConfigId config, uint32_t* words, int64_t units, MaskRef* mask
    ) except FAILED nogil
    cdef bint find_operands(
        self, ConfigSpace space, ConfigId config, uint32_t* words, int64_t until, bint* is_tried
    ) except FAILED nogil
    cdef bint is_tried(
        self, ConfigSpace space, ConfigId config, uint32_t* words, int64_t until
    ) except FAILED nogil
    cdef bint may_try(self, ConfigSpace space, ConfigId config) except FAILED nogil
    cdef int fill_again(
        self, ConfigSpace family, ConfigId config, MaskRef mask, uint32_t* words
    ) except FAILED nogil
    cdef int join(self, uint32_t* words, MaskRef* made, RowId* likely_base) except FAILED nogil
    cdef int begin_undecided(self, ConfigSpace space, ConfigId config, uint32_t* words) except FAILED nogil
    cdef uint64_t changes_made(self) noexcept nogil
    cdef int weigh(self) except FAILED nogil
    cdef int drop(self) except FAILED nogil
    cdef size_t nbytes(self) noexcept nogil
    # -- the facade that the runtime sees
    cdef int fill(self, ConfigSpace family, ConfigId config, uint32_t* words) except FAILED nogil
    cdef bint fill_slice(
        self, ConfigSpace family, ConfigId config, uint32_t* words, CutFill cut, int64_t units
    ) except FAILED nogil
    cdef MaskRef reference(self, ConfigSpace family, ConfigId config) noexcept nogil
    cdef MaskBits bits(self, MaskRef mask) noexcept nogil
    cdef int write_mask(self, MaskRef mask, uint32_t* words) except FAILED nogil
    cdef MaskRef intern_mask(self, ConfigSpace family, ConfigId config, const uint32_t* words) except *
    cdef int operand_rows(self, MaskRef mask, vector[RowId]& out) except FAILED nogil
    cdef const uint32_t* row_words(self, RowId number) noexcept nogil


# Why a mask is what it is, and what it cost.

cpdef dict explain_mask(MaskEngine engine, ConfigSpace family, ConfigId config)
cpdef list dump_configuration(ConfigSpace family, ConfigId config)
