# The operands of a configuration's mask.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.ids cimport (
    CalleeId,
    FAILED,
    ID_FAILED,
    AlternativeId,
    ConfigId,
    FilterId,
    FrameId,
    KeysId,
    MaskId,
    NodeId,
    PlaceId,
    ReturnAction,
    SemId,
    SuffixesId,
    TermId,
)
from stackmask.pda.masks.arena cimport MaskArena, MaskPart
from stackmask.pda.masks.local_masks cimport LocalMasks
from stackmask.pda.masks.mask_cache cimport MaskCache, Operands, Visit, Worklist
from stackmask.pda.masks.prefixes cimport Alternative, LiteralMasks, PrefixSplitter
from stackmask.pda.masks.runs cimport RunSplitter, Slices
from stackmask.pda.masks.trials cimport WHOLE, TokenTrials, UndeclaredKeys
from stackmask.pda.stack.configuration_table cimport Edge, Member
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.vocabulary.token_trie cimport Trie


# What can still happen after a return.

cdef Edge edge_of(ConfigSpace family, const Visit& at, int32_t number) noexcept nogil
cdef bint may_forbid(
    TermStore terms, Semantics semantics, ConfigSpace family, FrameId frame, int32_t returns
) except FAILED nogil
cdef bint is_alive(TermStore terms, ConfigSpace family, const Visit& at, uint64_t ends) except FAILED nogil


cdef struct Progress:
    # how far the operands of a mask were collected
    bint sure               # no action can forbid the end of an open capture
    int32_t rooted          # members of the configuration that were visited
    size_t roots            # visits then
    size_t expanded         # visits that are done with
    size_t most             # with more visits, or pending calls, trials of all tokens take over
    uint64_t entered        # edges that visits returned along
    uint64_t most_entered   # the same for these; 0: no limit


cdef class MaskAssembler(MaskPart):
    cdef Semantics semantics
    cdef MaskArena arena
    cdef Slices slices
    cdef RunSplitter splitter
    cdef LiteralMasks literals
    cdef LocalMasks local
    cdef TokenTrials trials
    cdef UndeclaredKeys keys_used
    # scratch of one fill
    cdef Worklist work                      # masks to visit
    cdef Operands found
    cdef Progress progress
    cdef PrefixSplitter prefixes
    cdef readonly uint64_t most_visits

    cdef Worklist use(self, Worklist work)
    cdef int begin(self, bint sure) noexcept nogil
    cdef bint depends_on_text(self) noexcept nogil
    cdef int visit(
        self,
        MaskId mask,
        FrameId frame,
        TermId continuation,
        FilterId filter,
        KeysId keys,
        bint unsure=*,
        SuffixesId origin=*,
        ReturnAction action=*,
    ) except ID_FAILED nogil
    cdef int32_t count_entered(self, ConfigSpace family, Visit at) noexcept nogil
    cdef TermId visit_prefixes(
        self, ConfigSpace family, TermId state, SuffixesId group, FrameId frame, Visit at
    ) except ID_FAILED nogil
    cdef int expand(self, ConfigSpace family, Visit at) except ID_FAILED nogil
    cdef bint is_strict(self, ConfigSpace family, FrameId frame) except FAILED nogil
    cdef bint visit_whitespace(
        self, ConfigSpace family, Alternative alternative, SuffixesId group, FrameId frame, Visit at
    ) except FAILED nogil
    cdef int visit_unsplit(
        self, ConfigSpace family, SuffixesId group, TermId state, SemId sem, FrameId frame, Visit at
    ) except ID_FAILED nogil
    cdef bint can_continue(self, ConfigSpace family, AlternativeId alternative, FrameId frame) except FAILED nogil
    cdef int add_call(
        self, ConfigSpace family, SuffixesId group, CalleeId callee, Visit at
    ) except FAILED nogil
    cdef int open_call(self, ConfigSpace family) except ID_FAILED nogil
    cdef int add_callers(self, ConfigSpace family, Visit at, vector[Edge]& edges) except FAILED nogil
    cdef FrameId frame_over(self, ConfigSpace family, FrameId frame, Visit at) except ID_FAILED nogil
    cdef int enter(self, ConfigSpace family, SuffixesId group, Edge edge, Visit at) except ID_FAILED nogil
    cdef int visit_after_return(self, MaskId mask, FrameId frame, Visit at) except ID_FAILED nogil
    cdef int visit_member(self, ConfigSpace family, Member m, KeysId keys) except ID_FAILED nogil
    cdef int visit_root(self, ConfigSpace family, Member m, NodeId above) except ID_FAILED nogil
    cdef int begin_fill(self, ConfigSpace family, ConfigId config) except ID_FAILED nogil
    cdef int begin_under(self, ConfigSpace family, ConfigId config) except ID_FAILED nogil
    cdef bint collect(self, ConfigSpace family, ConfigId config, NodeId above) except ID_FAILED nogil


# Trials of places where the semantic state decides.

cdef class PlaceTrials(MaskPart):
    cdef Trie trie
    cdef TokenTrials trials
    cdef UndeclaredKeys keys_used
    cdef MaskAssembler assembler
    cdef MaskCache cache
    cdef vector[uint32_t] unsure            # scratch: tokens that only the real configuration can confirm
    cdef readonly uint64_t allowed_runs          # places that were tried
    cdef vector[PlaceId] left               # places that a stand-in did not decide
    cdef vector[PlaceId] places             # those of this round,
    cdef vector[PlaceId] next_places        # ... and of the next
    cdef size_t tried                       # so many are done
    cdef bint on_itself                     # the configuration itself is tried, not its stand-in

    cdef int begin(self) except FAILED nogil
    cdef int begin_places(self) except FAILED nogil
    cdef bint try_all(self, ConfigSpace family, ConfigId config, uint32_t* words) except ID_FAILED nogil
    cdef int try_unsure(self, uint32_t* words) except ID_FAILED nogil
    cdef bint try_places(self, ConfigSpace family, ConfigId config, uint32_t* words) except ID_FAILED nogil
    cdef bint outermost_places(self, NodeId above, vector[PlaceId]& out) except FAILED nogil
    cdef int try_place(
        self, ConfigSpace family, ConfigId config, NodeId node, bint inclusive, uint32_t* words
    ) except ID_FAILED nogil
