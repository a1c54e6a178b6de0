# Subtrees of the vocabulary that are classified as a whole. See subtree_acceptance.pyx.
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.masks.shared.part cimport MaskPart
from stackmask.pda.masks.walk.token_partition cimport TokenPartition
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.vocabulary.suffix_tries cimport Nodes


cdef struct Characters:
    uint64_t ascii[2]
    uint64_t leads  # bytes from 0xC0, each for all characters that begin with it


cdef struct SelfLoop:
    # The loop of a configuration: characters that lead back to it, or to one that differs only in a count.
    bint closed             # `length` is final; otherwise a longer search may find more
    Characters all          # the characters that lead to `next`
    int32_t next            # a configuration, perhaps the same one; DEAD: there is no loop
    int32_t length          # so many of these characters surely lead back to it, but for a count
    Characters accepted     # characters of which some member accepts every run of up to `high`
    int32_t high            # ... characters


cdef enum:
    DESCEND = 0
    SAME_STATE = 1
    ALL_ALLOWED = 2


cdef class SubtreeAcceptance(MaskPart):
    cdef TokenPartition partition
    cdef Growing[int32_t] loop_at   # configuration -> 1 + index in `loops`; 0: not known
    cdef Growing[uint8_t] queries   # configuration -> queries before its loop is computed
    cdef Growing[SelfLoop] loops    # the loops computed so far

    cdef int classify(self, int32_t config, int32_t summary) except -1
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
    cdef bint meets(self, int32_t summary, uint64_t guards) noexcept
    cdef int append_return_places(self, int32_t node, int32_t guard, vector[int32_t]& places) except -1
