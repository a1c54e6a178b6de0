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
from stackmask.pda.masks.arena cimport Include, Loop, Mask, MaskArena, MaskPart
from stackmask.pda.masks.prefixes cimport LiteralMasks, Prefix
from stackmask.pda.masks.runs cimport DeferredRun, RunMember, RunSplitter, Slices
from stackmask.pda.masks.token_partition cimport TokenPartition
from stackmask.pda.masks.trie_walk cimport TrieWalk, UngroupedWalk, WalkQuery, WalkResult
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
    cdef vector[UngroupedWalk] ungrouped
    cdef bint has_callers               # the next mask is made for a stack that returns
    cdef vector[PlaceId] walked_places
    cdef readonly uint64_t shortened    # walks that left tokens to the token partition

    cdef MaskId make(
        self, WalkQuery query, vector[PlaceId]& places, vector[Include]& includes
    ) except ID_FAILED nogil
    cdef int remember(self, KeyMap* masks, uint64_t key, MaskId mask) except FAILED nogil
    cdef MaskId keep(
        self,
        const WalkQuery& query,
        vector[PlaceId]& places,
        WalkResult& found,
        vector[Include]& includes,
    ) except ID_FAILED nogil
    cdef int intern_groups(self, WalkResult& found) except FAILED nogil
    cdef int keep_tokens(self, WalkResult& found, Mask* mask) except FAILED nogil
    cdef int keep_groups(
        self, const WalkQuery& query, vector[PlaceId]& places, WalkResult& found, Mask* mask
    ) except FAILED nogil
    cdef MaskId after_run(self, RunId run, RunMember member, bint strict) except ID_FAILED nogil
    cdef RepeatId keep_ungrouped(
        self, const WalkQuery& query, vector[PlaceId]& places, WalkResult& found
    ) except ID_FAILED nogil
    cdef MaskId with_groups(self, RepeatId number) except ID_FAILED nogil
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
    cdef int append_suffixes(
        self, SuffixesId group, ConfigId start, vector[PlaceId]& places
    ) except FAILED nogil
    cdef bint find_loop(
        self, SuffixesId group, ConfigId start, const uint64_t* alive, Loop* loop
    ) except FAILED nogil
    cdef int append_alive_places(
        self, SuffixesId group, ConfigId start, vector[PlaceId]& places
    ) except FAILED nogil
