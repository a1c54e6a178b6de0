# Configurations of one family or of mask walks: the facade of the stack.
from libc.stdint cimport int32_t, uint32_t, uint64_t, uint8_t
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.ids cimport (
    BITS_FAILED,
    FAILED,
    ID_FAILED,
    CallId,
    CallNodeId,
    ConfigId,
    FrameId,
    GuardId,
    LinkId,
    RuleId,
    SemId,
    StepRowId,
    SymbolId,
    TermId,
    TestId,
    TokenId,
)
from stackmask.pda.memory.borrowed_array cimport Borrowed
from stackmask.pda.memory.checked_vectors cimport priority_queue
from stackmask.pda.memory.hash_tables cimport IdTable, KeyMap, mix
from stackmask.pda.stack.configuration_table cimport (
    DEAD,
    UNKNOWN,
    Config,
    Callee,
    ConfigDraft,
    ConfigTable,
    Edge,
    Frame,
    FrameGraph,
    Member,
    Pop,
)
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.terms.term_table cimport CallSite

# The closure of configurations: returns and calls.

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


cdef enum:
    # whether many rules can be called in first position of a rule: see `Closure.weight_of`
    UNWEIGHED = 0
    LIGHT = 1
    LEVEL = 2
    HEAVY = 3


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
    cdef int32_t levels                 # calls of levels of operators that were entered so far
    cdef vector[uint8_t] weights        # rule -> see `weight_of`; UNWEIGHED until then

    cdef bint returns_again(self, Member m) except FAILED nogil
    cdef int return_from(self, Member m, GuardId guard) except ID_FAILED nogil
    cdef int return_to_bottom(self, Member m, GuardId guard) except ID_FAILED nogil
    cdef int call_from(self, Member m) except ID_FAILED nogil
    cdef int collect_caller(self, Member m, CallSite site) except ID_FAILED nogil
    cdef bint leaves_out(self, Member m, CallSite site) except FAILED nogil
    cdef uint8_t weight_of(self, RuleId rule) except? UNWEIGHED nogil
    cdef int first_rules(
        self, RuleId rule, RuleId without, size_t most, vector[RuleId]& found
    ) except FAILED nogil
    cdef CallNodeId node_of(self, CallSite site, SemId sem) except ID_FAILED nogil
    cdef int pass_test(self, Member m, CallSite site, TestId test) except ID_FAILED nogil
    cdef int returns_alive(self, Member m, CallSite site) except ID_FAILED nogil
    cdef int add_link(self, CallNodeId node, Edge edge) except ID_FAILED nogil
    cdef TermId body_of(self, CallNode node, SemId* sem) except ID_FAILED nogil
    cdef SemId state_after_call(self, CallId number, SemId sem) except ID_FAILED nogil
    cdef bint begins_count(self, TermId state) noexcept nogil
    cdef int open_calls(self) except ID_FAILED nogil
    cdef int begin(self) except ID_FAILED nogil
    cdef int drop_dead_ends(self) except ID_FAILED nogil
    cdef int call_all(self) except ID_FAILED nogil
    cdef int drop_nonlocal(self) except ID_FAILED nogil
    cdef bint knows_nothing(self) noexcept nogil
    cdef int complete(self) except ID_FAILED nogil
    cdef ConfigId close(self) except ID_FAILED nogil
    cdef ConfigId closed(self, TermId state, FrameId frame, SemId sem) except ID_FAILED nogil
    cdef size_t nbytes(self) noexcept nogil


# Steps of configurations by bytes and by classes of special tokens.

cdef enum:
    STEP_WORK = 20          # units of a step, beside those of its members


cdef class ByteSteps:
    # owner: ConfigSpace. The only one that writes the transition rows of the table
    cdef TermStore terms
    cdef Semantics semantics
    cdef ConfigTable table
    cdef Closure closure
    cdef KeyMap single_steps            # config << 32 | symbol -> config: token classes, bytes in a capture
    cdef IdTable draft_index            # what was closed before -> its index in `closed`
    cdef vector[Member] drafted         # its members, one draft after the other
    cdef vector[size_t] first_drafted   # index in `closed` -> its first member, and where the next one begins
    cdef vector[ConfigId] closed
    cdef uint64_t computed              # steps that were computed

    cdef ConfigId close_draft(self) except ID_FAILED nogil
    cdef StepRowId make_row(self, ConfigId config) except ID_FAILED nogil
    cdef ConfigId compute_step(self, ConfigId config, SymbolId symbol) except ID_FAILED nogil
    cdef size_t nbytes(self) noexcept nogil

    cdef inline int count_step(self) except FAILED nogil:
        self.computed += 1
        return self.terms.meter.spend(STEP_WORK)


# Texts whose tokens are counted.

cdef struct CountedMember:
    # a member that has read text of the last token, once for each edge that it returns along
    Member member
    Edge edge


cdef class TokenCounts:
    # owner: ConfigSpace
    cdef TermStore terms
    cdef FrameGraph graph
    cdef ConfigTable table
    cdef Closure closure
    cdef ConfigDraft draft              # the configuration in the making
    cdef KeyMap known                   # configuration -> the one after the end of a token
    cdef vector[CountedMember] counted  # scratch
    cdef vector[Edge] edges             # scratch
    cdef TermId rest                    # what ends a character; EMPTY before it is needed

    cdef bint counts(self, const Member& member) noexcept nogil
    cdef bint is_open(self, ConfigId config) noexcept nogil
    cdef ConfigId after_token(self, ConfigId config) except ID_FAILED nogil
    cdef ConfigId charge(self, ConfigId config) except ID_FAILED nogil
    cdef int add_counted(self) except ID_FAILED nogil
    cdef TermId rest_of_character(self, TermId state) except ID_FAILED nogil
    cdef size_t nbytes(self) noexcept nogil


# Steps of configurations by whole tokens.

cdef struct PartialMember:
    # a member inside of a token: so many bytes of the literal of its state are consumed
    Member member
    int32_t consumed


cdef struct TokenStep:
    # a token that was stepped by its bytes, and where it led; all 0 if there is none
    ConfigId config
    TokenId token
    ConfigId next
    int32_t unused      # four to a line of the cache


cdef inline size_t slot_of(ConfigId config, TokenId token) noexcept nogil:
    # where a step of a token is stored, before reduction to the size of the table
    return <size_t>(mix(<uint32_t>token, <uint32_t>config) >> 16)


cdef class TokenSteps:
    # owner: ConfigSpace. The only one that writes `first_token` and what belongs to it in the records
    cdef TermStore terms
    cdef Semantics semantics
    cdef ConfigTable table
    cdef Closure closure
    cdef ByteSteps byte_steps
    cdef vector[TokenStep] noted        # by slot_of, the last one; a power of two, or empty
    cdef size_t noted_since             # steps stored since the table grew
    cdef vector[PartialMember] partial  # scratch of `leap`

    cdef TermId state_of(self, PartialMember at) except ID_FAILED nogil
    cdef bint consume(self, PartialMember* at, uint8_t byte, bint* skips_closure) except FAILED nogil
    cdef int take_members(self, const Member* members, size_t count) except FAILED nogil
    cdef ConfigId leap(self, ConfigId config, const uint8_t* text, size_t length) except ID_FAILED nogil
    cdef ConfigId step_token(
        self, ConfigId config, TokenId token, const uint8_t* text, size_t length
    ) except ID_FAILED nogil
    cdef ConfigId step_bytes(
        self, ConfigId config, TokenId token, const uint8_t* text, size_t length
    ) except ID_FAILED nogil
    cdef int note_step(self, ConfigId config, TokenId token, ConfigId next) except ID_FAILED nogil
    cdef size_t nbytes(self) noexcept nogil

    cdef inline ConfigId remembered(self, ConfigId config, TokenId token) noexcept nogil:
        # the configuration after the first token from here, or a stored one; else UNKNOWN
        cdef Config* c = &self.table.configs[config]
        cdef TokenStep* noted
        if c.first_token == token and not c.first_offset:
            return c.first_next
        if self.noted.empty():
            return UNKNOWN
        noted = &self.noted[slot_of(config, token) & (self.noted.size() - 1)]
        return noted.next if noted.config == config and noted.token == token else UNKNOWN


cdef class ConfigSpace:
    # the records, read-only; the masks write `mask_kind`, `mask` and `mask_epoch` of a configuration
    cdef Borrowed[Config] configs
    cdef Borrowed[Member] members
    cdef Borrowed[Pop] pops
    cdef Borrowed[ConfigId] rows
    cdef Borrowed[Callee] callees
    cdef Borrowed[Frame] frames
    cdef Borrowed[Edge] edges
    cdef TermStore terms
    # each component knows those above it, none knows this object
    cdef FrameGraph graph
    cdef ConfigTable table
    cdef Closure closure
    cdef ByteSteps byte_steps
    cdef TokenSteps token_steps
    cdef TokenCounts token_counts
    cdef bint is_summary
    cdef object __weakref__
    cdef uint64_t max_configurations
    cdef uint64_t max_members

    cdef uint64_t steps_computed(self) noexcept nogil
    cdef size_t nbytes(self) noexcept nogil

    cdef inline ConfigId step(self, ConfigId config, SymbolId symbol) except ID_FAILED nogil:
        # the configuration after a byte or a token class: its id, DEAD, or READS_STATE
        cdef ConfigId next = self.table.known_step(config, symbol)
        return next if next != UNKNOWN else self.byte_steps.compute_step(config, symbol)

    cdef KeyMap tests_around            # frame << 8 | level -> 1 + what tells the texts of a capture apart

    cdef int32_t test_around(self, FrameId frame, int32_t level, int32_t most) except ID_FAILED nogil
    cdef ConfigId stand_in(self, ConfigId config) except ID_FAILED nogil

    cdef uint32_t number                # of the space, in its process
    cdef KeyMap copies                  # number of another space << 32 | frame of it -> its copy
    cdef KeyMap copied_now              # scratch of `copy_of`: frames without a copy

    cdef ConfigId copy_of(self, ConfigSpace other, ConfigId config) except ID_FAILED nogil
    cdef FrameId copy_of_frame(self, ConfigSpace other, FrameId frame) noexcept nogil
    cdef int find_below(self, ConfigSpace other, FrameId frame, vector[FrameId]& below) except FAILED nogil

    cdef inline ConfigId remembered(self, ConfigId config, TokenId token) noexcept nogil:
        return self.token_steps.remembered(config, token)

    cdef inline ConfigId step_token(
        self, ConfigId config, TokenId token, const uint8_t* text, size_t length
    ) except ID_FAILED nogil:
        return self.token_steps.step_token(config, token, text, length)

    cdef inline ConfigId end_token(self, ConfigId config) except ID_FAILED nogil:
        # the configuration where a token ends whose bytes led here
        if not self.graph.counts or config <= DEAD:
            return config
        return self.token_counts.after_token(config)

    cdef inline bint counts_tokens(self, ConfigId config) noexcept nogil:
        # whether the next byte may be one of a text whose tokens are counted
        return self.graph.counts and self.token_counts.is_open(config)

    cdef inline StepRowId make_row(self, ConfigId config) except ID_FAILED nogil:
        return self.byte_steps.make_row(config)

    cdef inline ConfigId closed(self, TermId state, FrameId frame, SemId sem) except ID_FAILED nogil:
        return self.closure.closed(state, frame, sem)

    cdef inline int returns_alive(self, Member m, CallSite site) except ID_FAILED nogil:
        return self.closure.returns_alive(m, site)

    cdef inline ConfigId raw(self, TermId state, FrameId frame, SemId sem) except ID_FAILED nogil:
        return self.table.raw(state, frame, sem)

    cdef inline ConfigId of_members(self, vector[Member]& members) except ID_FAILED nogil:
        return self.table.of_members(members)

    cdef inline ConfigId union_of(self, ConfigId a, ConfigId b) except ID_FAILED nogil:
        return self.table.union_of(a, b)

    cdef inline FrameId intern_frame(self, vector[Edge]& items) except ID_FAILED nogil:
        return self.graph.intern_frame(items)

    cdef inline uint64_t exits(self, FrameId frame, GuardId guard) except? BITS_FAILED nogil:
        return self.graph.exits(frame, guard)

    cdef inline bint can_end(self, TermId state, FrameId frame) except FAILED nogil:
        return self.graph.can_end(state, frame)

    cdef inline uint64_t member_ends(self, TermId state, FrameId frame) except? BITS_FAILED nogil:
        return self.graph.member_ends(state, frame)


cdef inline uint64_t copy_key(ConfigSpace other, FrameId frame) noexcept nogil:
    return (<uint64_t>other.number << 32) | <uint32_t>frame
