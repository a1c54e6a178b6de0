# What the strings of a grammar can lead to. See reachable_states.pyx.
from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.stack.configuration_table cimport Member
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.ids cimport FrameId, FrameStateId, GuardId, SemId, TermId
from stackmask.pda.terms.term_table cimport CallSite
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.terms.term_store cimport TermStore


cdef class Reachable:
    cdef TermStore terms
    cdef Semantics semantics
    cdef readonly ConfigSpace family    # its frames are those of activations
    cdef vector[Member] members         # what was found, in the order of a search breadth first
    cdef size_t next                    # the first member that is not visited yet
    cdef KeyMap seen                    # state << 32 | place -> 1
    cdef dict places                    # (frame, semantic state) -> its number
    cdef vector[FrameId] place_frame
    cdef vector[SemId] place_sem
    cdef dict activations               # (body, semantic state, what a return may meet) -> frame
    cdef list callers                   # frame -> {(return state, place, action, whether nothing follows)}
    cdef list exits                     # frame -> {(guard, semantic state)}
    cdef readonly bint unknown          # a rule is known only once there is a text

    cdef bint over_budget               # the search has ended early
    cdef int64_t work                   # steps of the search
    cdef int64_t edges
    cdef list own                       # frame -> its edges
    cdef list heirs                     # frame -> [(frame of a tail call, state whose keys come back, or 0)]
    cdef list todo                      # (frame, edge): edges that the heirs of the frame must still get
    cdef int32_t entered                # frames whose callers were entered there
    cdef int32_t finished               # ... and whose edges are in the family

    cdef bint search(self, int steps) except -1
    cdef int add(self, TermId state, FrameId frame, SemId sem) except -1
    cdef FrameStateId place_of(self, FrameId frame, SemId sem) except -1
    cdef int call(self, Member m, CallSite site) except -1
    cdef FrameId activation(self, TermId body, SemId sem, bint keys_forbid, bint action_forbids) except -1
    cdef int go_back(self, tuple caller, tuple left) except -1
    cdef int leave(self, Member m, GuardId guard) except -1
    cdef bint join(self, int64_t until) except -1
    cdef int pass_on(self, FrameId frame, tuple edge) except -1
    cdef bint keep_to(self, int64_t budget) except -1
