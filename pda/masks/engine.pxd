# The masks of configurations, put together from those of local states. See engine.pyx.
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport ConfigId, RowId
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.masks.shared.arena cimport MaskArena
from stackmask.pda.masks.assembly.mask_assembly cimport MaskAssembler
from stackmask.pda.masks.assembly.mask_cache cimport MaskCache
from stackmask.pda.masks.assembly.place_trials cimport PlaceTrials
from stackmask.pda.masks.assembly.token_trials cimport TokenTrials
from stackmask.pda.masks.assembly.undeclared_keys cimport UndeclaredKeys
from stackmask.pda.masks.shared.mask_ref cimport MaskBits, MaskRef
from stackmask.pda.masks.shared.part cimport MaskContext, MaskPart
from stackmask.pda.masks.prefixes.literal_masks cimport LiteralMasks
from stackmask.pda.masks.runs.constrained_runs cimport ConstrainedRuns
from stackmask.pda.masks.runs.run_splitting cimport RunSplitter
from stackmask.pda.masks.runs.slices cimport Slices
from stackmask.pda.masks.walk.known_stack_walks cimport KnownStackWalks
from stackmask.pda.masks.walk.local_masks cimport LocalMasks
from stackmask.pda.masks.walk.subtree_acceptance cimport SubtreeAcceptance
from stackmask.pda.masks.walk.token_partition cimport TokenPartition
from stackmask.pda.masks.walk.trie_walk cimport TrieWalk
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

    cdef int drop(self) except -1 nogil
    cdef size_t nbytes(self) noexcept nogil
    cdef int weigh(self) noexcept nogil


cdef class MaskEngine:
    cdef MaskContext context
    cdef readonly int32_t width             # words of 32 bits in a mask
    cdef MaskParts parts                    # all parts, also those that are named here:
    cdef MaskArena arena
    cdef Slices slices
    cdef TokenPartition partition
    cdef LiteralMasks literals
    cdef TrieWalk walker
    cdef LocalMasks local
    cdef KnownStackWalks known
    cdef TokenTrials trials
    cdef UndeclaredKeys keys_used
    cdef MaskAssembler assembler
    cdef MaskCache cache
    cdef PlaceTrials places
    cdef uint64_t weighed                   # changes when the budget was looked at last
    cdef int32_t epoch                      # counts how often the masks were dropped
    cdef readonly uint64_t fills
    cdef readonly uint64_t hits
    cdef readonly uint64_t simulations      # fills that tried tokens on the configuration

    cdef int fill_again(
        self, ConfigSpace family, ConfigId config, MaskRef mask, uint32_t* words
    ) except -1 nogil
    cdef int join(self, uint32_t* words, MaskRef* made, RowId* likely_base) except -1 nogil
    cdef int try_undecided(self, ConfigSpace family, ConfigId config, uint32_t* words) except -1 nogil
    cdef uint64_t changes_made(self) noexcept nogil
    cdef int weigh(self) except -1 nogil
    cdef int drop(self) except -1 nogil
    cdef size_t nbytes(self) noexcept nogil
    # -- the facade that the runtime sees
    cdef int fill(self, ConfigSpace family, ConfigId config, uint32_t* words) except -1 nogil
    cdef MaskRef reference(self, ConfigSpace family, ConfigId config) noexcept nogil
    cdef MaskBits bits(self, MaskRef mask) noexcept nogil
    cdef int write_mask(self, MaskRef mask, uint32_t* words) except -1 nogil
    cdef MaskRef intern_mask(self, ConfigSpace family, ConfigId config, const uint32_t* words) except *
    cdef int operand_rows(self, MaskRef mask, vector[RowId]& out) except -1 nogil
    cdef const uint32_t* row_words(self, RowId number) noexcept nogil
