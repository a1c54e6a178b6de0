# Configurations: sets of (local state, frame, semantic state), closed and interned. See configurations.pyx.
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.pair cimport pair
from libcpp.queue cimport priority_queue
from libcpp.vector cimport vector

from stackmask.pda.frames cimport Edge, FrameSpace
from stackmask.pda.interning cimport CallSite
from stackmask.pda.tables cimport IdTable, KeyMap

cdef enum:
    DEAD = 0            # the configuration without members
    READS_STATE = -2    # a transition that needs the semantic state below, in a mask walk


cdef struct Member:
    int32_t state
    int32_t frame
    int32_t sem


cdef struct Pop:
    # a return to the unknown frame below a walk
    int32_t guard       # still pending
    int32_t sem


cdef struct Config:
    int32_t first       # members[first:first + count], sorted, distinct
    int32_t count
    int32_t pop_first
    int32_t pop_count
    int32_t accepting
    int32_t row         # offset in rows, -1, or NO_ROW
    int32_t map         # the bytes that one step tells apart
    int32_t mask_row    # families: the row that holds the whole mask, of masks number `mask_epoch`; or -1
    int32_t mask_epoch
    bint capturing      # a member has a capture open
    uint64_t ends       # walks: guards under which the frame below must be alive; else 1


cdef struct CallNode:
    int32_t call
    int32_t guard
    int32_t sem
    int32_t edge        # head of its list in `links`


cdef struct Link:
    Edge edge
    int32_t next


cdef class ConfigSpace(FrameSpace):
    cdef vector[Member] members
    cdef vector[Pop] pops
    cdef vector[Config] configs
    cdef vector[int32_t] rows
    cdef IdTable config_index
    cdef KeyMap single_steps            # config << 32 | symbol -> config: token classes, bytes in a capture
    cdef uint64_t max_configurations
    cdef uint64_t max_members
    cdef uint64_t computed              # steps that were not remembered
    # scratch of one closure
    cdef vector[Member] work
    cdef vector[Pop] found_pops
    cdef vector[CallNode] nodes
    cdef vector[Link] links
    cdef vector[Edge] fresh
    cdef KeyMap seen
    cdef KeyMap node_seen
    cdef KeyMap tail_seen               # node << 32 | frame: edges already taken over by a tail call
    cdef priority_queue[pair[int32_t, int32_t]] queue
    cdef bint found_accepting

    cdef int32_t intern_config(self, uint64_t ends) except -3
    cdef int add_member(self, int32_t state, int32_t frame, int32_t sem) except -3
    cdef int return_from(self, Member m, int32_t guard) except -3
    cdef int call_from(self, Member m) except -3
    cdef int32_t node_of(self, CallSite site, int32_t sem) except -3
    cdef int pass_test(self, Member m, CallSite site, int32_t test) except -3
    cdef int returns_alive(self, Member m, CallSite site) except -3
    cdef int add_link(self, int32_t node, Edge edge) except -3
    cdef int open_calls(self) except -3
    cdef int32_t close(self) except -3
    cdef int32_t closed(self, int32_t state, int32_t frame, int32_t sem) except -3
    cdef int32_t raw(self, int32_t state, int32_t sem) except -3
    cdef int32_t of_members(self, vector[Member]& members) except -3
    cdef int32_t union_of(self, int32_t a, int32_t b) except -3
    cdef size_t nbytes(self) noexcept
    cdef int32_t make_row(self, int32_t config) except -3
    cdef int32_t compute_step(self, int32_t config, int32_t symbol) except -3

    cdef inline int32_t step(self, int32_t config, int32_t symbol) except -3:
        cdef Config* c = &self.configs[config]
        cdef int32_t next
        if c.row >= 0 and symbol < 256:
            next = self.rows[<size_t>c.row + self.terms.maps[c.map].of[symbol]]
            if next != -1:
                return next
        return self.compute_step(config, symbol)
