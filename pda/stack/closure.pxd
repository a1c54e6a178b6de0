# The closure of configurations: returns and calls. See closure.pyx.
from libc.stdint cimport int32_t, uint64_t
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from stackmask.pda.ids cimport CallId, CallNodeId, ConfigId, FrameId, GuardId, LinkId, SemId, TermId, TestId
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.memory.checked_vectors cimport priority_queue
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.stack.configuration_draft cimport ConfigDraft, Member
from stackmask.pda.stack.configuration_table cimport ConfigTable
from stackmask.pda.stack.frames cimport Edge, FrameGraph
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.terms.term_table cimport CallSite


cdef struct CallNode:
    # the callers of one rule at this position, with equal guard and semantic state
    CallId call
    GuardId guard
    SemId sem
    LinkId last         # the first of its list in `links`, which was entered last; or NO_LINK


cdef struct Link:
    Edge edge
    CallNodeId node
    LinkId next


cdef class Closure:
    # owner: ConfigSpace
    cdef TermStore terms
    cdef Semantics semantics
    cdef FrameGraph graph
    cdef ConfigTable table
    cdef ConfigDraft draft              # the members to close, then the closed members
    cdef bint is_walk
    cdef uint64_t ends                  # of the draft, as in Config
    # scratch of one closure
    cdef vector[CallNode] nodes
    cdef vector[Link] links
    cdef vector[Edge] callers
    cdef KeyMap node_seen
    cdef KeyMap returned                # frame << 32 | semantic state: returns that were followed
    cdef KeyMap counted_starts          # local states in which texts with counted tokens begin
    cdef KeyMap link_seen               # hash of a node and an edge -> index in links
    cdef uint64_t returns               # edges that returns were followed along so far
    cdef KeyMap tail_seen               # node << 32 | frame: edges already copied by a tail call
    cdef priority_queue[pair[int32_t, CallNodeId]] queue

    cdef bint returns_again(self, Member m) except -1 nogil
    cdef int return_from(self, Member m, GuardId guard) except -3 nogil
    cdef int return_to_bottom(self, Member m, GuardId guard) except -3 nogil
    cdef int call_from(self, Member m) except -3 nogil
    cdef int collect_caller(self, Member m, CallSite site) except -3 nogil
    cdef CallNodeId node_of(self, CallSite site, SemId sem) except -3 nogil
    cdef int pass_test(self, Member m, CallSite site, TestId test) except -3 nogil
    cdef int returns_alive(self, Member m, CallSite site) except -3 nogil
    cdef int add_link(self, CallNodeId node, Edge edge) except -3 nogil
    cdef TermId body_of(self, CallNode node, SemId* sem) except -3 nogil
    cdef SemId state_after_call(self, CallId number, SemId sem) except -3 nogil
    cdef bint begins_count(self, TermId state) noexcept nogil
    cdef int open_calls(self) except -3 nogil
    cdef int begin(self) except -3 nogil
    cdef int drop_dead_ends(self) except -3 nogil
    cdef int call_all(self) except -3 nogil
    cdef int drop_nonlocal(self) except -3 nogil
    cdef bint knows_nothing(self) noexcept nogil
    cdef int complete(self) except -3 nogil
    cdef ConfigId close(self) except -3 nogil
    cdef ConfigId closed(self, TermId state, FrameId frame, SemId sem) except -3 nogil
    cdef size_t nbytes(self) noexcept nogil
