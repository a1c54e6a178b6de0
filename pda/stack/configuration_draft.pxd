# The configuration in the making: its members and returns before it has an id. See configuration_draft.pyx.
from libc.stdint cimport int32_t, uint64_t
from libcpp cimport bool
from libcpp.vector cimport vector

from stackmask.pda.ids cimport FrameId, GuardId, SemId, TermId
from stackmask.pda.memory.hash_tables cimport KeyMap, map_clear, map_free, map_init


cdef struct Member:
    TermId state        # the local state, a term
    FrameId frame       # the stack
    SemId sem           # the semantic state


cdef struct Pop:
    # a return to the unknown frame of a walk
    GuardId guard       # still pending
    SemId sem


cdef inline bint member_less(const Member& x, const Member& y) noexcept nogil:
    if x.state != y.state:
        return x.state < y.state
    if x.frame != y.frame:
        return x.frame < y.frame
    return x.sem < y.sem


cdef inline bint pop_less(const Pop& x, const Pop& y) noexcept nogil:
    if x.guard != y.guard:
        return x.guard < y.guard
    return x.sem < y.sem


cdef enum:
    CACHED_MEMBERS = 1024   # of more members or links, each costs more work: they outgrow the caches
    FEW_SLOTS = 1 << 12     # a table of so many slots is cheap to clear


cdef inline int map_forget(KeyMap* m) except -1 nogil:
    # forget all keys; a table that was once large, and now is nearly empty, is made anew
    cdef KeyMap fresh
    if not m.count:
        return 0
    if m.mask >= FEW_SLOTS and m.count < m.mask >> 5:
        map_init(&fresh)
        map_free(m)
        m[0] = fresh
    else:
        map_clear(m)
    return 0


cdef class ConfigDraft:
    # owner: whoever makes configurations; interning does not change it
    cdef vector[Member] members
    cdef vector[Pop] pops
    cdef bool accepting
    cdef uint64_t reads                 # as in Config
    cdef uint64_t max_members
    cdef KeyMap seen                    # members, once they are many -> index in members
    cdef size_t indexed                 # members[:indexed] are in `seen`

    cdef void clear(self) noexcept nogil
    cdef void clear_members(self) noexcept nogil
    cdef void forget_ends(self) noexcept nogil
    cdef int add_member(self, TermId state, FrameId frame, SemId sem) except -3 nogil
    cdef int index_members(self) except -3 nogil
    cdef int check_size(self) except -1 nogil
    cdef int sort_items(self) except -1 nogil
    cdef size_t nbytes(self) noexcept nogil
