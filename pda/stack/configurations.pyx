# distutils: language = c++
"""Configurations: where the grammar can be after a text, as sets of (local state, frame, semantic state).

A history is a list of their ids. One object for each task: the frames (a graph-structured stack), the table
of configurations, their closure, steps by bytes, steps by tokens, and counts of tokens. This one
owns them all.
"""

cimport cython

from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.stack.configuration_table cimport DEAD
from stackmask.pda.stack.frames cimport BOTTOM


@cython.final
cdef class ConfigSpace:
    """Frames and configurations of one family of matchers, or of the mask walks of one automaton."""

    def __cinit__(
        self,
        TermStore terms not None,
        Semantics semantics not None,
        bint is_walk,
        uint64_t max_configurations=50_000_000,
        uint64_t max_members=200_000,
        bint is_summary=False,
    ):
        self.terms = terms
        self.is_summary = is_summary
        self.max_configurations = max_configurations
        self.max_members = max_members
        self.graph = FrameGraph(terms, semantics, is_walk, is_summary)
        self.table = ConfigTable(terms, semantics, is_walk, max_configurations, max_members)
        self.closure = Closure(self.graph, self.table, max_members)
        self.byte_steps = ByteSteps(self.table, self.closure)
        self.token_steps = TokenSteps(self.table, self.closure, self.byte_steps)
        self.token_counts = TokenCounts(self.graph, self.table, self.closure)
        self.configs.borrow(self.table.configs)
        self.members.borrow(self.table.members)
        self.pops.borrow(self.table.pops)
        self.rows.borrow(self.table.rows)
        self.frames.borrow(self.graph.frames)
        self.edges.borrow(self.graph.edges)

    def is_live(self, TermId state, SemId sem):
        """Tell whether the text that starts in ``state`` can be completed."""
        return self.closed(state, BOTTOM, sem) != DEAD

    cdef uint64_t steps_computed(self) noexcept nogil:
        """Return the number of steps that were computed, not looked up."""
        return self.byte_steps.computed

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes frames and configurations take."""
        cdef size_t held = self.graph.nbytes() + self.table.nbytes() + self.closure.nbytes()
        held += self.byte_steps.nbytes() + self.token_steps.nbytes()
        return held + self.token_counts.nbytes()

    def nbytes_held(self):
        """Return about how many bytes frames and configurations take."""
        self.terms.meter.settle()
        return self.nbytes()

    def counts(self):
        """Return sizes: configurations, members, frames, edges; steps computed, and returns followed."""
        self.terms.meter.settle()
        return {
            "configurations": self.configs.size(),
            "members": self.members.size(),
            "frames": self.frames.size(),
            "edges": self.edges.size(),
            "steps": self.byte_steps.computed,
            "returns": self.closure.returns,
        }
