# Configurations by content: sets of (local state, frame, semantic state).
from libc.stdint cimport int32_t, uint16_t, uint64_t, uint8_t
from libcpp cimport bool
from libcpp.vector cimport vector

from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.ids cimport (
    BITS_FAILED,
    FAILED,
    ID_FAILED,
    CalleeId,
    ConfigId,
    FrameId,
    GuardId,
    MapId,
    ReturnAction,
    SemId,
    StepRowId,
    SymbolId,
    TermId,
    TokenId,
)
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.memory.hash_tables cimport IdTable, KeyMap
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.terms.term_table cimport is_byte


# Frames: the graph-structured stack.

cdef enum:
    MANY_WAYS = 1000    # more edges on the ways to the bottom are not counted
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
    int32_t ways        # to the bottom, as edges: MANY_WAYS if there are more
    bool keys_forbid    # the keys of an object may forbid a return from here or from a frame further down
    bool action_forbids     # ... or an action may
    bool is_plain       # no return from here or from a frame further down has an action
    uint64_t exits_known    # in families: the guards (bits) whose exits are known,
    uint64_t exits          # ... and those with which the bottom can be reached


cdef class FrameGraph:
    # owner: the configurations whose members stand on these frames
    cdef TermStore terms
    cdef Semantics semantics
    cdef bint is_walk
    cdef bint is_charged        # requests pay for the memory: it is kept, and not dropped like that of walks
    cdef bint counts                    # some frame is that of a text whose tokens are counted
    cdef bint is_summary                # a frame stands for many, and may lead back to itself
    cdef Growing[Edge] edges
    cdef Growing[Frame] frames
    cdef IdTable frame_index
    cdef KeyMap exits_index             # frame << 6 | guard -> index in exits_value
    cdef vector[uint64_t] exits_value

    cdef FrameId intern_frame(self, vector[Edge]& items) except ID_FAILED nogil
    cdef FrameId add_summary_frame(self, bint keys_forbid, bint action_forbids) except ID_FAILED nogil
    cdef int set_summary_edges(self, FrameId frame, vector[Edge]& items) except ID_FAILED nogil
    cdef bint knows_exits(self, FrameId frame, GuardId guard, uint64_t* found) noexcept nogil
    cdef int keep_exits(self, FrameId frame, GuardId guard, uint64_t found) except FAILED nogil
    cdef uint64_t exits(self, FrameId frame, GuardId guard) except? BITS_FAILED nogil
    cdef bint can_end(self, TermId state, FrameId frame) except FAILED nogil
    cdef uint64_t member_ends(self, TermId state, FrameId frame) except? BITS_FAILED nogil
    cdef size_t nbytes(self) noexcept nogil


# The configuration in the making: its members and returns before it has an id.

cdef struct Member:
    TermId state        # the local state, a term
    FrameId frame       # the stack
    SemId sem           # the semantic state


cdef struct Pop:
    # a return to the unknown frame of a walk, or the call of a rule that it does not enter
    GuardId guard       # still pending
    SemId sem
    CalleeId callee     # the call; NO_CALLEE: a return


cdef struct Callee:
    # a call in a walk, of a rule that is not entered: see `Closure.leaves_out`
    TermId body
    int32_t height          # of the rule: callers have more
    TermId continuation     # the state after it
    FrameId frame           # ... and the frame, in the graph of the walk


cdef enum:
    CACHED_MEMBERS = 1024   # of more members or links, each costs more work: they outgrow the caches


cdef class ConfigDraft:
    # owner: the maker of configurations; interning does not change it
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
    cdef int add_member(self, TermId state, FrameId frame, SemId sem) except ID_FAILED nogil
    cdef int index_members(self) except ID_FAILED nogil
    cdef int check_size(self) except FAILED nogil
    cdef int sort_items(self) except FAILED nogil
    cdef size_t nbytes(self) noexcept nogil


cdef enum:
    # a step leads to the id of a configuration, or to one of these:
    DEAD = 0            # the configuration without members
    UNKNOWN = -1        # not computed yet
    READS_STATE = -2    # in a mask walk: the semantic state of the unknown stack decides
    # where a transition row begins, or:
    NO_ROW_YET = -1     # it is made at the first step
    NEVER_A_ROW = -2    # steps are remembered one by one


cdef extern from "configuration_table.h" nogil:
    ctypedef struct Config "stackmask::Config":
        # What the configuration is; never changed.
        int32_t first       # members[first:first + count], sorted, distinct
        int32_t count
        # sure: the number of members that were reached without an action that may forbid. In families
        # that is `count`, since actions have run. In walks, 0 to `count`: the others may not exist
        int32_t sure
        int32_t pop_first   # pops[pop_first:pop_first + pop_count]
        int32_t pop_count
        bool accepting
        bool capturing      # a member has a capture open
        # reads: in walks, the guards (bits) under which the semantic state decides; these readings are
        # left out. Bit 0: whatever the next byte is
        uint64_t reads
        uint64_t ends       # walks: guards under which the unknown frame must be alive; else 1
        # Its transition row, which ByteSteps makes.
        StepRowId row       # offset in rows, NO_ROW_YET, or NEVER_A_ROW; see `has_row`
        MapId map           # the partition of the bytes that a step distinguishes
        # Of the masks, which alone write it; in families. See masks/mask_ref.pxd.
        uint8_t mask_kind   # the remembered mask: its form,
        int32_t mask_index  # ... and its number, if mask_epoch
        int32_t mask_epoch  # ... is the current epoch of the masks
        # Of TokenSteps, which alone writes it; in families: the first token that continued from here
        TokenId first_token     # or NO_TOKEN,
        ConfigId first_next     # ... where it led
        uint16_t first_offset   # ... and how many of its bytes were consumed before this configuration


cdef inline bint has_row(const Config& config) noexcept nogil:
    # whether its transition row is made
    return config.row >= 0


cdef inline bint leads_on(ConfigId next) noexcept nogil:
    # whether a step leads to a configuration with members: neither DEAD nor a code
    return next > DEAD


cdef class ConfigTable:
    # owner: ConfigSpace. Append-only; ids are never reused
    cdef TermStore terms
    cdef Semantics semantics
    cdef bint is_walk
    cdef bint is_charged        # as for frames
    cdef Growing[Config] configs
    cdef Growing[Member] members
    cdef Growing[Pop] pops
    cdef Growing[ConfigId] rows         # transition rows: byte class -> configuration, or a code of a step
    cdef IdTable config_index
    cdef Growing[Callee] callees
    cdef KeyMap callee_index
    cdef uint64_t max_configurations
    cdef ConfigDraft draft              # of raw, of_members and union_of

    cdef ConfigId intern(self, ConfigDraft draft, uint64_t ends) except ID_FAILED nogil
    cdef bint is_same(self, ConfigId config, ConfigDraft draft, uint64_t ends) noexcept nogil
    cdef ConfigId append(self, ConfigDraft draft, uint64_t ends) except ID_FAILED nogil
    cdef CalleeId callee_of(self, const Callee& callee) except ID_FAILED nogil
    cdef ConfigId raw(self, TermId state, FrameId frame, SemId sem) except ID_FAILED nogil
    cdef ConfigId of_members(self, vector[Member]& members) except ID_FAILED nogil
    cdef ConfigId union_of(self, ConfigId a, ConfigId b) except ID_FAILED nogil
    cdef int copy_members(self, ConfigId config) except FAILED nogil
    cdef size_t nbytes(self) noexcept nogil

    cdef inline ConfigId known_step(self, ConfigId config, SymbolId symbol) noexcept nogil:
        # the configuration after one more byte, or UNKNOWN; `symbol` may be a token class, which is in no row
        cdef Config* c = &self.configs[config]
        if has_row(c[0]) and is_byte(symbol):
            return self.rows[<size_t>c.row + self.terms.classes.maps[c.map].of[symbol]]
        return UNKNOWN
