# Subtrees of the vocabulary that are classified as a whole. See subtree_acceptance.pyx.
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport ConfigId, GuardId, NodeId, PlaceId, SummaryId
from stackmask.pda.vocabulary.token_trie cimport Trie
from stackmask.pda.masks.shared.part cimport MaskPart
from stackmask.pda.masks.walk.token_partition cimport TokenPartition
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.vocabulary.suffix_tries cimport Nodes


cdef struct Characters:
    uint64_t ascii[2]
    uint64_t leads  # bytes from 0xC0, each for all characters that begin with it


cdef struct SelfLoop:
    # What is known of the characters that a configuration goes on with.
    bint closed             # `length` is final; otherwise a longer search may find more
    Characters all          # the characters that lead to `next`
    ConfigId next           # a configuration, perhaps the same one; DEAD: there is no loop
    int32_t length          # so many of these characters surely lead back to it, but for a count
    bint is_queried         # `accepted` is known
    Characters accepted     # characters of which some member accepts every run of up to `high`
    int32_t high            # ... characters
    bint is_searched        # `kept` is final
    Characters kept         # characters that lead to configurations like this one, but not to one alone,
    int32_t kept_length     # ... for so many characters


cdef struct Lead:
    # where a configuration leads
    ConfigId next
    Characters by           # ... by these characters


cdef struct Leads:
    # all that a configuration leads to
    ConfigId config
    size_t first            # in a list of `Lead`
    size_t last
    Characters alive        # all these characters


cdef enum:
    DESCEND = 0
    SAME_STATE = 1
    ALL_ALLOWED = 2


cdef class SubtreeAcceptance(MaskPart):
    cdef Trie trie
    cdef TokenPartition partition
    cdef Growing[int32_t] loop_at   # configuration -> 1 + index in `loops`; 0: not known
    cdef Growing[uint8_t] queries   # configuration -> its queries, as far as they matter
    cdef Growing[SelfLoop] loops    # the loops computed so far
    cdef uint64_t unanswered        # queries of configurations whose `kept` is not searched for
    cdef uint64_t paid              # so many must there be before the next search
    # scratch of one search
    cdef vector[Leads] met
    cdef vector[Lead] leads

    cdef int classify(self, ConfigId config, SummaryId summary) except -1 nogil
    cdef SelfLoop* loop_of(self, ConfigId config) noexcept nogil
    cdef int find_accepting_member(self, ConfigId config) except -1 nogil
    cdef int find_loop(self, ConfigId config) except -1 nogil
    cdef int32_t find_length(self, ConfigId config, int32_t want) except -1 nogil
    cdef bint are_alike(self, ConfigId a, ConfigId b) noexcept nogil
    cdef ConfigId completed(self, ConfigId config, int32_t state, ConfigId target) except -3 nogil
    cdef int find_kept(self, ConfigId config) except -1 nogil
    cdef int choose_kept(self, ConfigId config, Characters* kept) except -1 nogil
    cdef int32_t count_kept(
        self, ConfigId config, const Characters& kept, vector[ConfigId]& reached, vector[size_t]& levels
    ) except -1 nogil
    cdef size_t leads_of(self, ConfigId config) except? 0x55555555 nogil
    cdef bint may_follow(self, Nodes n, NodeId node, GuardId guard) noexcept nogil
    cdef bint allows(self, uint64_t guards, uint8_t byte) noexcept nogil
    cdef int note_readers(self, PlaceId place, uint64_t guards, vector[PlaceId]& readers) except -1 nogil
    cdef bint meets(self, SummaryId summary, uint64_t guards) noexcept nogil
    cdef int append_return_places(self, NodeId node, GuardId guard, vector[PlaceId]& places) except -1 nogil
