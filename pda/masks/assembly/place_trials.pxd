# Trials of places where the semantic state decides. See place_trials.pyx.
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport ConfigId, NodeId, PlaceId
from stackmask.pda.masks.assembly.mask_assembly cimport MaskAssembler
from stackmask.pda.masks.assembly.mask_cache cimport MaskCache
from stackmask.pda.masks.assembly.token_trials cimport TokenTrials
from stackmask.pda.masks.assembly.undeclared_keys cimport UndeclaredKeys
from stackmask.pda.vocabulary.token_trie cimport Trie
from stackmask.pda.masks.shared.part cimport MaskPart
from stackmask.pda.stack.configurations cimport ConfigSpace


cdef class PlaceTrials(MaskPart):
    cdef Trie trie
    cdef TokenTrials trials
    cdef UndeclaredKeys keys_used
    cdef MaskAssembler assembler
    cdef MaskCache cache
    cdef vector[uint32_t] unsure            # scratch: tokens that only the real configuration can confirm
    cdef readonly uint64_t allowed_runs          # places that were tried

    cdef int try_unsure(self, uint32_t* words) except -3 nogil
    cdef int try_places(self, ConfigSpace family, ConfigId config, uint32_t* words) except -3 nogil
    cdef bint outermost_places(self, NodeId above, vector[PlaceId]& out) except -1 nogil
    cdef int try_place(
        self, ConfigSpace family, ConfigId config, NodeId node, bint inclusive, uint32_t* words
    ) except -3 nogil
