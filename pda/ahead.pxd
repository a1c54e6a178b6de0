# What the strings of a grammar can lead to.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.ids cimport FAILED, ID_FAILED, ConfigId, FrameId, FrameStateId, GuardId, SemId, TermId
from stackmask.pda.masks.engine cimport MaskEngine
from stackmask.pda.masks.mask_cache cimport Worklist
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.stack.configuration_table cimport Member
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.terms.term_table cimport CallSite


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

    cdef bint search(self, int steps) except FAILED
    cdef int add(self, TermId state, FrameId frame, SemId sem) except FAILED
    cdef FrameStateId place_of(self, FrameId frame, SemId sem) except ID_FAILED
    cdef int call(self, Member m, CallSite site) except FAILED
    cdef FrameId activation(self, TermId body, SemId sem, bint keys_forbid, bint action_forbids) except ID_FAILED
    cdef int go_back(self, tuple caller, tuple left) except FAILED
    cdef int leave(self, Member m, GuardId guard) except FAILED
    cdef bint join(self, int64_t until) except FAILED
    cdef int pass_on(self, FrameId frame, tuple edge) except FAILED
    cdef bint keep_to(self, int64_t budget) except FAILED


# Masks made ahead of time.

cdef class Precomputation:
    cdef MaskEngine masks
    cdef Reachable found
    cdef int64_t budget
    cdef bint searched                  # the states are known
    cdef bint over_budget               # ... but not all of them
    cdef size_t next                    # member whose mask comes next
    cdef size_t expanded                # visits of this pass that are done with
    cdef Worklist work                  # the visits of this pass
    cdef uint64_t walks_before          # ... this pass
    cdef int32_t epoch                  # of the masks, while they hold
    cdef int64_t walks
    cdef int64_t visits_done
    cdef int64_t passes
    cdef bint reads                     # some masks depend on what was written
    cdef readonly object stopped        # why, where not all was made

    cdef bint made                      # all masks are there that could be made
    cdef ConfigSpace family             # of the matchers, or None
    cdef vector[ConfigId] queue         # its configurations, in the order of a search breadth first
    cdef vector[uint8_t] seen           # by configuration
    cdef vector[uint32_t] words         # scratch: a mask
    cdef int32_t filled                 # of the queue
    cdef int64_t cost                   # of that
    cdef uint64_t first_walk            # the counters of the engine before: walks,
    cdef uint64_t nodes_before          # ... nodes,
    cdef uint64_t steps_before          # ... steps of configurations

    cdef bint make(self, double until) except FAILED
    cdef int64_t spent(self) noexcept
    cdef bint fits(self) except FAILED
    cdef bint fill(self, double until) except FAILED
    cdef bint is_free(self, ConfigId config, uint8_t byte) except FAILED
    cdef int enter(self, ConfigId config) except FAILED
