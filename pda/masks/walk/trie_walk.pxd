# The walk of the trie. See trie_walk.pyx.
from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport ConfigId, NodeId, PlaceId, SummaryId
from stackmask.pda.masks.shared.arena cimport MaskArena
from stackmask.pda.vocabulary.token_trie cimport Trie
from stackmask.pda.masks.shared.part cimport MaskPart
from stackmask.pda.masks.runs.constrained_runs cimport ConstrainedRuns
from stackmask.pda.masks.walk.subtree_acceptance cimport SelfLoop, SubtreeAcceptance
from stackmask.pda.masks.walk.walk_result cimport WalkQuery, WalkResult
from stackmask.pda.stack.configuration_table cimport Config
from stackmask.pda.vocabulary.suffix_tries cimport Nodes


cdef struct WalkState:
    # state of one walk
    size_t most             # tokens in a list; with more of them, a row is made
    int64_t most_suffix_nodes
    ConfigId unconditional  # the last unconditional configuration met (see `is_unconditional`)
    ConfigId self_loop      # the last self-loop configuration met
    SelfLoop loop           # its loop
    # state of the subtree that is being walked
    Nodes nodes
    int32_t in_suffix_trie
    NodeId covered          # nodes before this one are in the subtree of a reader already


cdef class TrieWalk(MaskPart):
    cdef Trie trie
    cdef MaskArena arena
    cdef ConstrainedRuns constrained
    cdef SubtreeAcceptance acceptance
    # scratch of one walk
    cdef vector[ConfigId] stack     # depth -> configuration
    cdef vector[int32_t] next_kid   # depth -> the next child; `last_kid`: the end of the children
    cdef vector[int32_t] last_kid
    cdef vector[PlaceId] jobs       # places still to walk; `job_configs`: from which configurations
    cdef vector[ConfigId] job_configs
    cdef readonly uint64_t walks
    cdef readonly uint64_t visited_nodes
    cdef readonly uint64_t taken    # subtrees of the vocabulary that were classified as a whole

    cdef bint walk(
        self, const WalkQuery& query, vector[PlaceId]& places, vector[PlaceId]& origin, WalkResult& out
    ) except -1 nogil
    cdef int begin(
        self, const WalkQuery& query, vector[PlaceId]& places, vector[PlaceId]& origin, WalkResult& out
    ) except -1 nogil
    cdef bint walk_place(
        self, const WalkQuery& query, PlaceId place, ConfigId c, WalkState* s, WalkResult& out
    ) except -1 nogil
    cdef int classify(self, ConfigId c, SummaryId summary, WalkState* s) except -1 nogil
    cdef int emit(
        self, const WalkQuery& query, ConfigId c, NodeId node, int verdict, WalkState* s, WalkResult& out
    ) except -1 nogil
    cdef uint64_t emit_readers(
        self, const Config* config, NodeId node, int* verdict, WalkState* s, WalkResult& out
    ) except? 0x5555555555555555 nogil
    cdef bint emit_returns(
        self, const WalkQuery& query, const Config* config, NodeId node, int verdict, WalkState* s,
        WalkResult& out
    ) except -1 nogil
    cdef int emit_special_tokens(self, const WalkQuery& query, WalkResult& out) except -1 nogil
    cdef bint opens_key(self, const Config* config) noexcept nogil
