# Tokens that may repeat an undeclared key. See undeclared_keys.pyx.
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport ConfigId, KeysId, NodeId, PlaceId, SuffixesId
from stackmask.pda.masks.shared.arena cimport MaskArena
from stackmask.pda.masks.assembly.token_trials cimport TokenTrials
from stackmask.pda.masks.shared.part cimport MaskPart
from stackmask.pda.stack.configurations cimport ConfigSpace

cdef enum:
    WHOLE = -1          # the whole vocabulary, in place of a group


cdef class UndeclaredKeys(MaskPart):
    cdef MaskArena arena
    cdef TokenTrials trials
    # scratch of one fill
    cdef vector[PlaceId] doubtful           # places of tokens that may repeat a key
    # the undeclared keys of one key state, which many fills in a row ask for
    cdef vector[vector[uint8_t]] spelled
    cdef KeysId spelled_keys                # that key state, or KEYS_NONE
    cdef uint64_t spellings                 # lists of keys spelled so far
    cdef uint64_t rechecked                 # distinct places so far

    cdef int begin(self) noexcept nogil
    cdef bint any_doubtful(self) noexcept nogil
    cdef NodeId opening(self) noexcept nogil
    cdef int doubt(self, PlaceId place, vector[vector[uint8_t]]& strings) except -3 nogil
    cdef int spell_keys(self, KeysId keys) except -3 nogil
    cdef int doubt_keys(self, SuffixesId group, KeysId keys) except -3 nogil
    cdef int recheck(self, uint32_t* words) except -3 nogil
    cdef bint any_keys(self, ConfigSpace family, ConfigId config) noexcept nogil
