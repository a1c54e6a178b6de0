# What a mask is put together from. See mask_assembly.pyx.
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.stack.configuration_table cimport Member
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.stack.frames cimport Edge
from stackmask.pda.masks.prefixes.prefix_splitting cimport Heads, Leaf
from stackmask.pda.masks.assembly.token_trials cimport Simulation
from stackmask.pda.memory.hash_tables cimport KeyMap, mix


cdef enum:
    WHOLE = -1          # the whole vocabulary, in place of a group


cdef struct Visit:
    int32_t mask
    int32_t frame
    int32_t rest        # what comes before the frame, as it was cut off a state: a state, or EPS
    int32_t action      # ... and what happens before that: the action of an undeclared key, or ACTION_NONE
    int32_t filter      # or NO_FILTER
    int32_t keys        # key state of the object that the mask is in, KEYS_NONE outside all
    bint unsure         # an action on the way may forbid
    int32_t origin      # the group of places of the vocabulary that its tokens are below, or -1


cdef inline bint same_visit(const Visit& v, const Visit& w) noexcept:
    return (
        v.mask == w.mask
        and v.frame == w.frame
        and v.rest == w.rest
        and v.action == w.action
        and v.filter == w.filter
        and v.keys == w.keys
        and v.unsure == w.unsure
    )


cdef inline uint64_t visit_hash(const Visit& v) noexcept:
    cdef uint64_t h = mix(mix(mix(59, <uint32_t>v.mask), <uint32_t>v.frame), <uint32_t>v.rest)
    h = mix(h, <uint32_t>v.action)
    return mix(mix(h, <uint32_t>v.filter), (<uint64_t>v.keys << 1) | <uint64_t>v.unsure)


cdef struct Part:
    # one thing to "or" into the result: a mask, or (mask < 0) the pending tokens -1 - mask
    int32_t mask
    int32_t filter


cdef class MaskParts(Simulation):
    # scratch of one fill
    cdef vector[Visit] visits
    cdef bint sure                          # no action can forbid the end of a capture that is open
    cdef vector[Part] parts_unsure          # what only the real configuration can confirm
    cdef vector[Part] parts_found
    cdef KeyMap visited                     # hash of a visit, or the next one that was free -> its number
    cdef bint visited_ready                 # `visited` holds the visits of this fill
    cdef Heads heads
    cdef readonly uint64_t most_visits

    cdef int visit(
        self,
        int32_t mask,
        int32_t frame,
        int32_t rest,
        int32_t filter,
        int32_t keys,
        bint unsure=*,
        int32_t origin=*,
        int32_t action=*,
    ) except -3
    cdef bint is_visited(self, Visit v) except -1
    cdef int32_t count_edges(self, ConfigSpace family, Visit at) noexcept
    cdef Edge edge_of(self, ConfigSpace family, Visit at, int32_t number) noexcept
    cdef int32_t visit_heads(
        self, ConfigSpace family, int32_t state, int32_t group, int32_t frame, Visit at
    ) except -3
    cdef int expand(self, ConfigSpace family, Visit at) except -3
    cdef int repeat(self, ConfigSpace family, Visit at, int32_t joint) except -3
    cdef bint may_forbid(self, ConfigSpace family, int32_t frame, int32_t returns) except -1
    cdef bint is_strict(self, ConfigSpace family, int32_t frame) except -1
    cdef bint visit_blanks(
        self, ConfigSpace family, Leaf leaf, int32_t group, int32_t frame, Visit at
    ) except -1
    cdef int use_part(self, int32_t mask, int32_t filter, bint unsure) except -1
    cdef int doubt_keys(self, int32_t group, int32_t keys) except -3
    cdef int walk_on(
        self, ConfigSpace family, int32_t group, int32_t state, int32_t sem, int32_t frame, Visit at
    ) except -3
    cdef bint is_way_on(self, ConfigSpace family, int32_t leaf, int32_t frame) except -1
    cdef bint any_exit(self, ConfigSpace family, Visit at, uint64_t ends) except -1
    cdef int enter(self, ConfigSpace family, int32_t group, Edge edge, Visit at) except -3
    cdef int go_on(self, int32_t mask, int32_t frame, Visit at) except -3
    cdef int32_t root_of(self, int32_t state, int32_t keys, bint strict) except -3
    cdef int visit_member(self, ConfigSpace family, Member m, int32_t keys) except -3
    cdef int collect(self, ConfigSpace family, int32_t config) except -3
    cdef int collect_below(self, ConfigSpace family, int32_t config, int32_t above) except -3
