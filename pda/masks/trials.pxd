# Tokens that are tried on a real configuration.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.context.object_keys cimport UsedKeys
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.ids cimport (
    FAILED,
    ID_FAILED,
    ConfigId,
    KeysId,
    NodeId,
    PlaceId,
    SemId,
    SuffixesId,
    SymbolId,
    TokenId,
)
from stackmask.pda.masks.arena cimport MaskArena, MaskPart
from stackmask.pda.masks.trie_walk cimport SubtreeAcceptance
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.vocabulary.suffix_tries cimport Nodes
from stackmask.pda.vocabulary.token_bytes cimport TokenBytes
from stackmask.pda.vocabulary.token_trie cimport Trie


cdef struct Trial:
    bint tries_special_tokens       # all special tokens are tried too
    bint tries_everything           # the whole vocabulary is
    bint undecided                  # a stand-in did not decide the last trial
    NodeId resumed                  # where the trial of a subtree goes on that was cut; 0 if none was


cdef class TokenTrials(MaskPart):
    cdef Trie trie
    cdef TokenBytes vocabulary
    cdef SubtreeAcceptance acceptance
    # scratch of one fill
    cdef vector[PlaceId] places_to_try        # nodes of the vocabulary whose subtrees are to be tried
    cdef vector[TokenId] tokens_to_try             # single tokens
    cdef Trial trial
    cdef vector[TokenId] tokens_left        # tokens that one did not decide
    cdef vector[NodeId] node_of             # token -> its node, made when first needed
    cdef vector[ConfigId] stack             # depth -> configuration
    cdef vector[int32_t] next_kid           # depth -> the next child; `last_kid`: the end of the children
    cdef vector[int32_t] last_kid
    cdef bint spares_captures           # trials of subtrees end where a string is captured
    cdef readonly uint64_t simulations
    cdef readonly uint64_t tried        # tokens that were tried one by one

    cdef size_t nbytes_of_vocabulary(self) noexcept nogil
    cdef int begin(self) noexcept nogil
    cdef bint is_needed(self) noexcept nogil
    cdef int note_place(self, PlaceId place) except ID_FAILED nogil
    cdef bint all_set(self, NodeId node, bint inclusive, const uint32_t* words) noexcept nogil
    cdef ConfigId step(self, ConfigSpace family, ConfigId config, SymbolId symbol) except ID_FAILED nogil
    cdef ConfigId step_to(self, ConfigSpace family, ConfigId config, NodeId node) except ID_FAILED nogil
    cdef NodeId spelled_at(self, TokenId token) noexcept nogil
    cdef bint try_tokens(self, ConfigSpace family, ConfigId config, uint32_t* words) except ID_FAILED nogil
    cdef int try_last_tokens(
        self, ConfigSpace family, ConfigId config, size_t count, uint32_t* words
    ) except ID_FAILED nogil
    cdef bint try_subtree(
        self, ConfigSpace family, ConfigId config, NodeId node, uint32_t* words
    ) except ID_FAILED nogil
    cdef int try_special_tokens(self, ConfigSpace family, ConfigId config, uint32_t* words) except ID_FAILED nogil


# Tokens that may repeat an undeclared key.

cdef enum:
    WHOLE = -1          # the whole vocabulary, in place of a group


cdef struct Doubts:
    # the places under one place that repeat a key of those that are spelled out
    uint64_t generation         # of the list
    size_t keys                 # how many of it have been seen
    vector[PlaceId] places      # in order, each once


cdef class UndeclaredKeys(MaskPart):
    cdef Semantics semantics
    cdef MaskArena arena
    cdef TokenTrials trials
    cdef UsedKeys used
    # scratch of one fill
    cdef vector[PlaceId] doubtful           # places of tokens that may repeat a key
    # what the undeclared keys that are spelled out lead to
    cdef vector[Doubts] doubts
    cdef KeyMap doubts_at                   # place -> its index
    cdef uint64_t spellings                 # keys spelled so far
    cdef uint64_t rechecked                 # distinct places so far

    cdef int begin(self) noexcept nogil
    cdef bint any_doubtful(self) noexcept nogil
    cdef int doubt(
        self, PlaceId place, size_t first, vector[uint8_t]& read, vector[PlaceId]& out
    ) except ID_FAILED nogil
    cdef int doubt_rest(self, SemId sem) except ID_FAILED nogil
    cdef int doubt_whole(self, PlaceId place, KeysId keys) except ID_FAILED nogil
    cdef int doubt_used(
        self, PlaceId place, uint64_t asked, KeysId keys, vector[uint8_t]& read
    ) except ID_FAILED nogil
    cdef int forget(self) except FAILED nogil
    cdef int doubt_keys(self, SuffixesId group, KeysId keys) except ID_FAILED nogil
    cdef int recheck(self, uint32_t* words) except ID_FAILED nogil
    cdef bint any_keys(self, ConfigSpace family, ConfigId config) noexcept nogil
