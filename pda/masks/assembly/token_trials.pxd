# Tokens that are tried on a real configuration. See token_trials.pyx.
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.masks.shared.part cimport MaskPart
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.vocabulary.suffix_tries cimport Nodes
from stackmask.pda.vocabulary.token_bytes cimport TokenBytes


cdef class TokenTrials(MaskPart):
    cdef TokenBytes vocabulary
    # scratch of one fill
    cdef vector[int32_t] places_to_try        # nodes of the vocabulary whose subtrees are to be tried
    cdef vector[int32_t] tokens_to_try             # single tokens
    cdef bint tries_special_tokens     # all special tokens too
    cdef bint tries_everything         # the whole vocabulary
    cdef vector[int32_t] node_of            # token -> its node, made when first needed
    cdef vector[int32_t] stack              # depth -> configuration
    cdef readonly uint64_t simulations
    cdef readonly uint64_t tried        # tokens that were tried one by one

    cdef size_t nbytes_of_vocabulary(self) noexcept
    cdef int begin(self) noexcept
    cdef bint is_needed(self) noexcept
    cdef int note_place(self, int32_t place) except -3
    cdef bint all_set(self, int32_t node, bint inclusive, const uint32_t* words) noexcept
    cdef int32_t step_to(self, ConfigSpace family, int32_t config, int32_t node) except -3
    cdef int32_t spelled_at(self, int32_t token) noexcept
    cdef int try_tokens(self, ConfigSpace family, int32_t config, uint32_t* words) except -3
    cdef int try_subtree(
        self, ConfigSpace family, int32_t config, int32_t node, uint32_t* words
    ) except -3
    cdef int try_special_tokens(self, ConfigSpace family, int32_t config, uint32_t* words) except -3
