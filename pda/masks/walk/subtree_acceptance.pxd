# Subtrees of the vocabulary that are taken whole. See subtree_acceptance.pyx.
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.masks.shared.part cimport MaskPart
from stackmask.pda.masks.walk.token_partition cimport TokenPartition
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.vocabulary.suffix_tries cimport Nodes


cdef struct Characters:
    uint64_t ascii[2]
    uint64_t leads      # bytes from 0xC0, for all characters that begin with them


cdef struct SelfLoop:
    # where characters lead from a configuration that stays what it is, but for a count
    bint closed         # there is no more room
    Characters all      # those that lead to the next
    int32_t next        # a configuration, perhaps the same
    int32_t room        # as many of these characters may follow each other
    Characters part     # those that may come by one member, whatever else there is
    int32_t high        # as many of them


cdef enum:
    DESCEND = 0
    SAME_STATE = 1
    ALL_ALLOWED = 2


cdef class SubtreeAcceptance(MaskPart):
    cdef TokenPartition partition
    cdef Growing[int32_t] loop_at    # configuration -> 1 + its place below; 0: not known
    cdef Growing[uint8_t] queries  # configuration -> how often it was asked for before that is known
    cdef Growing[SelfLoop] loops       # what leads back to a configuration; most are never asked for

    cdef int classify(self, int32_t config, int32_t below) except -1
    cdef SelfLoop* loop_of(self, int32_t config) noexcept
    cdef int find_accepting_member(self, int32_t config) except -1
    cdef int find_loop(self, int32_t config) except -1
    cdef int32_t find_length(self, int32_t config, int32_t want) except -1
    cdef bint is_narrower(self, const SelfLoop& loop_of, const SelfLoop& other) noexcept
    cdef bint are_alike(self, int32_t a, int32_t b) noexcept
    cdef bint leads_to(self, int32_t next, int32_t config, int32_t state, int32_t target) except -1
    cdef bint may_follow(self, Nodes n, int32_t node, int32_t guard) noexcept
    cdef bint allows(self, uint64_t guards, uint8_t byte) noexcept
    cdef int note_readers(self, int32_t place, uint64_t guards, vector[int32_t]& readers) except -1
    cdef bint meets(self, int32_t below, uint64_t guards) noexcept
    cdef int append_return_places(self, int32_t node, int32_t guard, vector[int32_t]& places) except -1
