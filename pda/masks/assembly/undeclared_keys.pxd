# Tokens that may repeat an undeclared key. See undeclared_keys.pyx.
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.context.used_keys cimport UsedKeys
from stackmask.pda.ids cimport ConfigId, KeysId, PlaceId, SemId, SuffixesId
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.masks.shared.arena cimport MaskArena
from stackmask.pda.masks.assembly.token_trials cimport TokenTrials
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.masks.shared.part cimport MaskPart
from stackmask.pda.stack.configurations cimport ConfigSpace

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
    ) except -3 nogil
    cdef int doubt_rest(self, SemId sem) except -3 nogil
    cdef int doubt_whole(self, PlaceId place, KeysId keys) except -3 nogil
    cdef int doubt_used(
        self, PlaceId place, uint64_t asked, KeysId keys, vector[uint8_t]& read
    ) except -3 nogil
    cdef int forget(self) except -1 nogil
    cdef int doubt_keys(self, SuffixesId group, KeysId keys) except -3 nogil
    cdef int recheck(self, uint32_t* words) except -3 nogil
    cdef bint any_keys(self, ConfigSpace family, ConfigId config) noexcept nogil
