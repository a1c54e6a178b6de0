# Which tokens leave enough tokens to end the text. See budget_masks.pyx.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.completion.completions cimport Completions
from stackmask.pda.completion.token_places cimport TokenPlaces
from stackmask.pda.ids cimport ConfigId, TokenId
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.memory.hash_tables cimport KeyMap


cdef struct Successors:
    # the tokens that lead to one configuration
    ConfigId next
    bint by_shape           # `next` stands for others that differ in what was captured
    int32_t first           # tokens[first:first + count]
    int32_t count


cdef struct Fork:
    # a configuration and all that may follow it
    int32_t first           # groups[first:first + count]
    int32_t count
    int32_t most            # tokens that the worst successor needs, as far as it is known
    int32_t most_by_shape   # of those that stand for others, what the worst must leave
    bint measured           # whether `most` and `most_by_shape` are known
    bint searched           # searches have looked for ends of its successors
    bint complete           # all places are in the groups


cdef class BudgetMasks:
    cdef Completions completions
    cdef int32_t width                  # words of a row
    cdef TokenPlaces places
    cdef KeyMap fork_of                 # configuration, or OF_SHAPE or NEAR and one -> index in forks
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
    cdef ConfigId after_special(self, ConfigId config, size_t c) except -3 nogil
    cdef int32_t places_at(self, ConfigId config) except -1 nogil
    cdef int32_t near_fork_at(self, ConfigId config) except -1 nogil
    cdef int32_t keep_fork(self, uint64_t key, bint complete) except -1 nogil
    cdef uint64_t key_of(self, ConfigId config) except? 0 nogil
    cdef int32_t asked_of(self, int32_t needed, ConfigId config) noexcept nogil
    cdef bint spares_all(self, ConfigId config, int32_t room) except -1 nogil
    cdef bint restore(self, ConfigId config, int32_t room, uint32_t* words) noexcept nogil
    cdef int keep_row(self, ConfigId config, int32_t room, const uint32_t* words) except -1 nogil
    cdef int cut(self, ConfigId config, int32_t room, uint32_t* words) except -1 nogil
    cdef bint leaves_enough(self, Fork fork, ConfigId config, int32_t room) noexcept nogil
    cdef int32_t search(self, ConfigId config, int32_t room, int32_t* steps) except -1 nogil
    cdef bint measure(self, ConfigId config, int32_t at, int32_t room) except -1 nogil
    cdef int rate_places(self, ConfigId config, Fork fork, int32_t room) except -1 nogil
    cdef int mark_special(self, ConfigId config) except -1 nogil
    cdef int mark_near(self, ConfigId config, int32_t room) except -1 nogil
    cdef size_t nbytes(self) noexcept nogil
