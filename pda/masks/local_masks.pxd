# The masks of local states, remembered.
from libc.stdint cimport int32_t, uint64_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport (
    FAILED,
    ID_FAILED,
    ConfigId,
    EntryId,
    KeysId,
    MaskId,
    NodeId,
    PlaceId,
    RepeatId,
    RunId,
    SemId,
    SuffixesId,
    TermId,
)
from stackmask.pda.masks.arena cimport Include, Mask, MaskArena, MaskPart
from stackmask.pda.masks.prefixes cimport LiteralMasks, Prefix
from stackmask.pda.masks.runs cimport DeferredRun, RunMember, RunSplitter, Slices
from stackmask.pda.masks.token_partition cimport TokenPartition
from stackmask.pda.masks.trie_walk cimport RepeatableWalk, TrieWalk, WalkQuery, WalkResult
from stackmask.pda.memory.hash_tables cimport KeyMap


cdef class LocalMasks(MaskPart):
    cdef MaskArena arena
    cdef Slices slices
    cdef RunSplitter splitter
    cdef TokenPartition partition
    cdef LiteralMasks literals
    cdef TrieWalk walker
    cdef KeyMap state_masks             # semantic state << 32 | state << 1 | strict -> mask
    cdef KeyMap subtree_masks           # state << 32 | node << 1 | strict -> mask of the node's subtree
    cdef KeyMap entry_index             # group << 32 | semantic state -> entry
    cdef EntryId entries
    cdef KeyMap children                # entry << 33 | return state << 1 | strict -> mask
    cdef KeyMap after_run_index         # (run << 31 | configuration) << 1 | strict -> mask
    cdef vector[RepeatableWalk] repeatables
    cdef vector[TermId] return_states
    cdef vector[PlaceId] walked_places
    cdef readonly uint64_t shortened    # walks that left tokens to the token partition

    cdef MaskId make(
        self, WalkQuery query, vector[PlaceId]& places, vector[PlaceId]& origin, vector[Include]& includes
    ) except ID_FAILED nogil
    cdef MaskId keep(
        self, const WalkQuery& query, WalkResult& found, vector[Include]& includes
    ) except ID_FAILED nogil
    cdef int keep_tokens(self, WalkResult& found, Mask* mask) except FAILED nogil
    cdef int keep_groups(self, const WalkQuery& query, WalkResult& found, Mask* mask) except FAILED nogil
    cdef MaskId after_run(self, RunId run, RunMember member, bint strict) except ID_FAILED nogil
    cdef int may_repeat(
        self,
        WalkQuery* query,
        TermId state,
        SemId sem,
        vector[PlaceId]& places,
        bint closed,
        bint with_tokens,
    ) except FAILED nogil
    cdef int include_run(
        self, DeferredRun deferred, bint strict, vector[Include]& out, vector[PlaceId]& readers
    ) except ID_FAILED nogil
    cdef bint asks_state(self, MaskId mask) noexcept nogil
    cdef bint is_worth_splitting(self, MaskId mask) noexcept nogil
    cdef MaskId root(self, TermId state, bint strict) except ID_FAILED nogil
    cdef MaskId of_prefix(self, Prefix prefix, bint strict) except ID_FAILED nogil
    cdef MaskId of_state(self, TermId state, KeysId keys, bint strict) except ID_FAILED nogil
    cdef MaskId of_keyed_state(self, TermId state, SemId sem, bint strict) except ID_FAILED nogil
    cdef PlaceId partition_of(
        self, TermId state, SemId sem, bint strict, ConfigId start, vector[Include]& includes
    ) except ID_FAILED nogil
    cdef MaskId of_state_under(self, TermId state, NodeId node, bint strict) except ID_FAILED nogil
    cdef MaskId child_of_prefix(self, SuffixesId group, Prefix prefix, bint strict) except ID_FAILED nogil
    cdef MaskId child(self, SuffixesId group, TermId continuation, SemId sem, bint strict) except ID_FAILED nogil


# Walks repeated with known frames.

cdef enum:
    NOT_REPEATED = -2   # no mask: the walk has too many known frames


cdef class KnownStackWalks(MaskPart):
    cdef MaskArena arena
    cdef LocalMasks local
    cdef KeyMap repeat_index    # (walk << 32 | return state) << 1 | strict -> mask
    cdef KeyMap grouped_index   # walk << 1 | strict -> mask

    cdef MaskId with_return_state(self, RepeatId number, TermId continuation, bint strict) except ID_FAILED nogil
    cdef MaskId with_groups(self, RepeatId number, bint strict) except ID_FAILED nogil
    cdef MaskId walk_again(self, RepeatableWalk again, bint strict, bint repeatable) except ID_FAILED nogil
