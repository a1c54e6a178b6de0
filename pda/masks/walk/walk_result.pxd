# The query and the result of one walk.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport (
    ConfigId,
    GuardId,
    NodeId,
    PlaceId,
    RowId,
    RunId,
    SemId,
    TermId,
    TokenId,
    WalkGroupId,
    WalkPendingId,
)
from stackmask.pda.masks.runs.run_splitting cimport DeferredRun


cdef struct RepeatableWalk:
    # A walk that can be repeated with known frames. Merging suffixes costs more than walking again where
    # there are more of them than nodes in the vocabulary.
    TermId state
    SemId sem
    bint closed             # the start is a return state and the closure of its calls
    bint with_tokens
    int32_t return_first    # known return states, in order: return_states[return_first:][:return_count]
    int32_t return_count
    int32_t place_first     # the places to walk: walked_places[place_first:][:place_count]
    int32_t place_count


cdef struct WalkQuery:
    ConfigId start          # the first configuration; its frame is not known
    RunId run               # names, with `origin`, the same places in a group if the start returns at once
    bint with_tokens        # special tokens may come first
    bint strict             # an action may forbid the returns that come after the start
    bint repeatable         # the walk may be repeated with the frame known
    RepeatableWalk again    # how to repeat it


cdef extern from "walk_result.h" nogil:
    cdef cppclass WalkGroups "stackmask::WalkGroups":
        vector[uint64_t] keys
        vector[vector[PlaceId]] places
        vector[int32_t] has_run
        WalkGroupId at(GuardId guard, SemId sem) except +
        GuardId guard(size_t g)
        SemId sem(size_t g)
        size_t size()
        bint can_repeat(SemId sem)
        void clear()

    cdef cppclass WalkPendings "stackmask::WalkPendings":
        vector[uint64_t] ends
        vector[vector[TokenId]] tokens
        WalkPendingId at(uint64_t guards) except +
        size_t size()


cdef cppclass WalkResult:
    uint32_t* bits                  # the row of the tokens allowed with any stack; NULL while `few` has them
    RowId dense                     # number of this row, or NO_ROW
    vector[TokenId] few             # these tokens as a list, besides those of the row
    WalkPendings pendings
    WalkGroups groups
    vector[NodeId] subtrees         # nodes with a return at every place in their subtrees
    vector[WalkGroupId] subtree_groups  # groups of these returns
    vector[PlaceId] readers         # places where the semantic state decides: their tokens are tried
    vector[PlaceId] key_starts      # places where an undeclared key begins
    vector[DeferredRun] deferred    # runs whose tokens come from run tables
    int64_t suffix_nodes            # under the places of the groups; if there are too many, the walk repeats
    bint repeats                    # the walk must be repeated with the frame known; it has no groups
    int32_t visited                 # nodes that the walk visited
    bint reads_tokens               # the semantic state decides about special tokens
