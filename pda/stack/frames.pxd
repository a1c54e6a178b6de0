# Frames: the graph-structured stack. See frames.pyx.
from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport FrameId, GuardId, ReturnAction, SemId, TermId
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.memory.hash_tables cimport IdTable, KeyMap
from stackmask.pda.terms.term_store cimport TermStore

cdef enum:
    BOTTOM = 0          # the bottom frame: the end of the grammar, or the unknown stack of a walk
    BOTTOM_CONTINUATION = -1    # `continuation` of the only edge of the bottom frame


cdef extern from "frames.h" nogil:
    struct Edge "stackmask::Edge":
        TermId continuation     # the local state after the return
        FrameId parent          # the frame after the return
        # What happens at the return. ACTION_SCOPE, ACTION_KEYED: a scope or an object ends, and `saved`
        # replaces the semantic state outside of the open captures. ACTION_BACK: `saved` gives only its keys;
        # in summary frames.
        ReturnAction action
        # the next three share their place: one is read, by the action
        int32_t operand         # all of it, which tells edges apart; 0 if nothing is read
        SemId saved             # the semantic state of the caller, where `action.restores_caller()`
        int32_t tokens_left     # of ACTION_COUNTED: how many tokens the text may still take

    bint same_edge "operator=="(const Edge& x, const Edge& y) noexcept
    void sort_edges "stackmask::sort_edges"(vector[Edge]& items) noexcept nogil


cdef struct Frame:
    int32_t first       # edges[first:first + count], sorted, distinct
    int32_t count
    bint keys_forbid    # the keys of an object may forbid a return from here or from a frame further down
    bint action_forbids     # ... or an action may


cdef class FrameGraph:
    # owner: the configurations whose members stand on these frames
    cdef TermStore terms
    cdef Semantics semantics
    cdef bint is_walk
    cdef bint counts                    # some frame is that of a text whose tokens are counted
    cdef bint is_summary                # a frame stands for many, and may lead back to itself
    cdef Growing[Edge] edges
    cdef Growing[Frame] frames
    cdef IdTable frame_index
    cdef KeyMap exits_index             # frame << 6 | guard -> index in exits_value
    cdef vector[uint64_t] exits_value

    cdef FrameId intern_frame(self, vector[Edge]& items) except -3 nogil
    cdef FrameId add_summary_frame(self, bint keys_forbid, bint action_forbids) except -3 nogil
    cdef int set_summary_edges(self, FrameId frame, vector[Edge]& items) except -3 nogil
    cdef uint64_t exits(self, FrameId frame, GuardId guard) except? 0x5555555555555555 nogil
    cdef uint64_t member_ends(self, TermId state, FrameId frame) except? 0x5555555555555555 nogil
    cdef size_t nbytes(self) noexcept nogil
