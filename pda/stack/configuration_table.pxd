# Sets of (local state, frame, semantic state), interned. See configuration_table.pyx.
from libc.stdint cimport int32_t, uint16_t, uint32_t, uint64_t
from libcpp cimport bool
from libcpp.vector cimport vector

from stackmask.pda.stack.frames cimport FrameSpace
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.memory.hash_tables cimport IdTable, KeyMap
from stackmask.pda.terms.term_store cimport TermStore

cdef enum:
    DEAD = 0            # the configuration without members
    UNKNOWN = -1        # a row or a transition that is not there yet
    NO_ROW = -2         # the row of a configuration that remembers steps one by one
    NO_TOKEN = -1
    READS_STATE = -2    # a transition that needs the semantic state below, in a mask walk


cdef struct Member:
    int32_t state
    int32_t frame
    int32_t sem


cdef struct Way:
    # a member on the way of some bytes: so many of its state's literal are behind it
    Member member
    int32_t spent


cdef struct Pop:
    # a return to the unknown frame below a walk
    int32_t guard       # still pending
    int32_t sem


cdef struct Config:
    int32_t first       # members[first:first + count], sorted, distinct
    int32_t count
    int32_t sure        # so many members are sure; in walks, actions may forbid what led to the others
    int32_t pop_first
    int32_t pop_count
    int32_t row         # offset in rows, -1, or NO_ROW
    int32_t map         # the bytes that one step tells apart
    int32_t whole       # families: the whole mask or the list of its parts (see whole_masks.pxd),
    int32_t mask_epoch  # ... if this is the number of the masks that there are
    int32_t token       # families: the token that first led on from here, or NO_TOKEN,
    int32_t after_token  # ... and where to
    uint16_t token_at   # ... with so many of its bytes behind it
    bool accepting
    bool capturing      # a member has a capture open
    uint64_t reads      # walks: guards under which what the state decides on was left out; bit 0: any byte
    uint64_t ends       # walks: guards under which the frame below must be alive; else 1


cdef struct TokenStep:
    # families: a token that was stepped by its bytes, and where it led; all 0 if there is none
    int32_t config
    int32_t token
    int32_t next
    int32_t unused      # four to a line of the cache


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


cdef class ConfigTable(FrameSpace):
    cdef Growing[Member] members
    cdef vector[Pop] pops
    cdef Growing[Config] configs
    cdef Growing[int32_t] rows
    cdef vector[TokenStep] token_steps      # by a hash of both, the last one; a power of two, or empty
    cdef size_t steps_noted                 # since that grew
    cdef IdTable config_index
    cdef KeyMap single_steps            # config << 32 | symbol -> config: token classes, bytes in a capture
    cdef uint64_t max_configurations
    cdef uint64_t max_members
    # scratch: the configuration in the making
    cdef vector[Member] work
    cdef vector[Pop] found_pops
    cdef bint found_accepting
    cdef uint64_t found_reads
    cdef KeyMap seen                    # members in `work`, once they are many

    cdef int32_t intern_config(self, uint64_t ends) except -3
    cdef int add_member(self, int32_t state, int32_t frame, int32_t sem) except -3
    cdef int32_t raw(self, int32_t state, int32_t frame, int32_t sem) except -3
    cdef int32_t of_members(self, vector[Member]& members) except -3
    cdef int32_t union_of(self, int32_t a, int32_t b) except -3
    cdef size_t nbytes(self) noexcept
