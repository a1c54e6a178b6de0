# Tokens that are tried on a real configuration. See token_trials.pyx.
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport ConfigId, NodeId, PlaceId, TokenId
from stackmask.pda.vocabulary.token_trie cimport Trie
from stackmask.pda.masks.shared.part cimport MaskPart
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.vocabulary.suffix_tries cimport Nodes
from stackmask.pda.vocabulary.token_bytes cimport TokenBytes


cdef class TokenTrials(MaskPart):
    cdef Trie trie
    cdef TokenBytes vocabulary
    # scratch of one fill
    cdef vector[PlaceId] places_to_try        # nodes of the vocabulary whose subtrees are to be tried
    cdef vector[TokenId] tokens_to_try             # single tokens
    cdef bint tries_special_tokens     # all special tokens too
    cdef bint tries_everything         # the whole vocabulary
    cdef vector[NodeId] node_of             # token -> its node, made when first needed
    cdef vector[ConfigId] stack             # depth -> configuration
    cdef readonly uint64_t simulations
    cdef readonly uint64_t tried        # tokens that were tried one by one

    cdef size_t nbytes_of_vocabulary(self) noexcept nogil
    cdef int begin(self) noexcept nogil
    cdef bint is_needed(self) noexcept nogil
    cdef int note_place(self, PlaceId place) except -3 nogil
    cdef bint all_set(self, NodeId node, bint inclusive, const uint32_t* words) noexcept nogil
    cdef ConfigId step_to(self, ConfigSpace family, ConfigId config, NodeId node) except -3 nogil
    cdef NodeId spelled_at(self, TokenId token) noexcept nogil
    cdef int try_tokens(self, ConfigSpace family, ConfigId config, uint32_t* words) except -3 nogil
    cdef int try_subtree(
        self, ConfigSpace family, ConfigId config, NodeId node, uint32_t* words
    ) except -3 nogil
    cdef int try_special_tokens(self, ConfigSpace family, ConfigId config, uint32_t* words) except -3 nogil
