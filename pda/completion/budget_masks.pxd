# Which tokens leave enough tokens to end the text. See budget_masks.pyx.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.completion.capture_shapes cimport CaptureShapes
from stackmask.pda.completion.completions cimport Completions
from stackmask.pda.ids cimport ConfigId, TokenId
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.memory.hash_tables cimport KeyMap


cdef struct Successors:
    # the tokens that lead to one configuration
    ConfigId next
    int32_t first           # tokens[first:first + count]
    int32_t count


cdef struct Fork:
    # a configuration and all that may follow it
    int32_t first           # groups[first:first + count]
    int32_t count
    int32_t most            # tokens that the worst successor needs, as far as it is known
    bint measured           # whether `most` is known
    bint complete           # all tokens are in the groups


cdef class BudgetMasks:
    cdef Completions completions
    cdef int32_t width                  # words of a row
    cdef CaptureShapes shapes
    cdef KeyMap fork_of                 # configuration, or OF_SHAPE + shape -> index in forks
    cdef vector[Fork] forks
    cdef Growing[Successors] groups
    cdef Growing[TokenId] tokens
    cdef KeyMap row_of                  # configuration << 32 | room -> index of its row
    cdef Growing[uint32_t] rows
    # scratch
    cdef vector[uint32_t] scratch
    cdef KeyMap group_of                # configuration -> index in groups, of one fork
    cdef vector[int32_t] chosen         # by successor: index in groups
    cdef vector[TokenId] placed         # tokens of one fork, by group

    cdef int forget(self) except -1 nogil
    cdef int32_t fork_at(self, ConfigId config) except -1 nogil
    cdef int32_t fork_of_shape(self, ConfigId config) except -1 nogil
    cdef int32_t keep_fork(self, uint64_t key, bint complete) except -1 nogil
    cdef bint goes_by_shape(self, ConfigId config) noexcept nogil
    cdef bint spares_all(self, ConfigId config, int32_t room) except -1 nogil
    cdef bint restore(self, ConfigId config, int32_t room, uint32_t* words) noexcept nogil
    cdef int keep_row(self, ConfigId config, int32_t room, const uint32_t* words) except -1 nogil
    cdef int cut(self, ConfigId config, int32_t room, uint32_t* words) except -1 nogil
    cdef int list_by_shape(self, ConfigId config, int32_t room) except -1 nogil
    cdef int keep_listed(self, ConfigId config, int32_t room, Fork fork, uint32_t* words) except -1 nogil
    cdef size_t nbytes(self) noexcept nogil
