# The walk of the trie.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport (
    BITS_FAILED,
    FAILED,
    ID_FAILED,
    CalleeId,
    ConfigId,
    GuardId,
    MaskId,
    NodeId,
    PlaceId,
    RowId,
    SemId,
    SuffixesId,
    SummaryId,
    TermId,
    TokenId,
    WalkGroupId,
    WalkPendingId,
)
from stackmask.pda.masks.arena cimport MaskArena, MaskPart
from stackmask.pda.masks.runs cimport ConstrainedRuns, DeferredRun
from stackmask.pda.masks.token_partition cimport TokenPartition
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.stack.configuration_table cimport DEAD, UNKNOWN, Config, has_row
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.vocabulary.suffix_tries cimport Nodes
from stackmask.pda.vocabulary.token_trie cimport SubtreeSummary, Trie


# The query and the result of one walk.

cdef struct UngroupedWalk:
    # A walk whose suffixes are many. Without a caller they are not grouped, but by another walk once there is one.
    MaskId grouped          # the mask of the grouped suffixes, or NO_MASK
    ConfigId start
    bint with_tokens
    bint strict
    bint has_calls          # some suffixes follow a call, so even a walk at the end of a text needs them
    int32_t place_first     # the places to walk: walked_places[place_first:][:place_count]
    int32_t place_count


cdef struct WalkQuery:
    ConfigId start          # the first configuration; its frame is not known
    SuffixesId group        # the suffixes that are walked, or NO_SUFFIXES: all tokens at the places
    bint with_tokens        # special tokens may come first
    bint strict             # an action may forbid the returns that come after the start
    bint must_group         # suffixes are grouped, however many they are
    bint has_callers        # ... since the stack that the mask is made for returns
    bint after_run          # the places follow runs, and are not all suffixes of the group


cdef extern from "walk_result.h" nogil:
    cdef cppclass WalkGroups "stackmask::WalkGroups":
        vector[uint64_t] keys
        vector[vector[PlaceId]] places
        vector[CalleeId] callees
        vector[SuffixesId] ids
        WalkGroupId at(GuardId guard, SemId sem, CalleeId callee) except +
        GuardId guard(size_t g)
        SemId sem(size_t g)
        size_t size()
        void clear()

    cdef cppclass WalkPendings "stackmask::WalkPendings":
        vector[uint64_t] ends
        vector[vector[TokenId]] tokens
        WalkPendingId at(uint64_t guards) except +
        size_t size()


cdef cppclass WalkResult:
    uint32_t* bits                  # the row of the tokens allowed with any stack; NULL while `few` has them
    RowId dense                     # number of this row, or NO_ROW
    vector[TokenId] few             # these tokens as a list, besides those of the row
    WalkPendings pendings
    WalkGroups groups
    vector[PlaceId] readers         # places where the semantic state decides: their tokens are tried
    vector[PlaceId] key_starts      # places where an undeclared key begins
    vector[DeferredRun] deferred    # runs whose tokens come from run tables
    int64_t suffix_nodes            # under the places of the groups
    bint has_calls                  # some suffixes follow a call, not a return
    bint are_many                   # the suffixes: they belong in a mask of their own
    bint is_ungrouped               # these are too many to be grouped now: there are no groups
    int32_t visited                 # nodes that the walk visited
    bint reads_tokens               # the semantic state decides about special tokens


# Subtrees of the vocabulary that are classified as a whole.

cdef struct Characters:
    uint64_t ascii[2]
    uint64_t leads  # bytes from 0xC0, each for all characters that begin with it


cdef struct KnownCharacters:
    # What a configuration does with strings of some characters.
    bint is_searchable      # strings may lead to configurations like it
    bint is_loop            # `itself` has characters
    Characters itself       # characters that lead back to it
    Characters alike        # characters that lead to configurations like it,
    int32_t length          # ... if there are at most so many;
    bint is_final           # ... after more of them, some are not like it
    uint8_t vain            # searches without an answer, one after the other
    Characters stops        # characters that lead to others, or to none
    Characters accepted     # characters of which some member accepts every run of up to `high`
    int32_t high            # ... characters


cdef enum:
    DESCEND = 0
    SAME_STATE = 1
    ALL_ALLOWED = 2


cdef class SubtreeAcceptance(MaskPart):
    cdef Trie trie
    cdef TokenPartition partition
    cdef Growing[int32_t] known_at      # configuration -> 1 + index in `known`; 0: nothing is known
    cdef Growing[uint8_t] queries       # configuration -> its queries before that
    cdef Growing[KnownCharacters] known
    # scratch of one search
    cdef vector[ConfigId] reached       # the first one is that which the others are compared with
    cdef vector[int32_t] levels         # ... after how many characters
    cdef int32_t steps_left

    cdef int use(self, ConfigSpace space) except FAILED nogil
    cdef int classify(self, ConfigId config, SummaryId summary, int32_t nodes) except FAILED nogil
    cdef KnownCharacters* known_of(self, ConfigId config) noexcept nogil
    cdef int begin(self, ConfigId config) except FAILED nogil
    cdef bint are_alike(self, ConfigId a, ConfigId b) noexcept nogil
    cdef int search(
        self, ConfigId config, const Characters& characters, int32_t height, int32_t steps
    ) except FAILED nogil
    cdef bint reach_level(self, size_t begin, const Characters& characters) except FAILED nogil
    cdef bint reach_from(self, size_t number, const Characters& characters) except FAILED nogil
    cdef bint is_cheap(self, ConfigId config, int32_t byte) except FAILED nogil
    cdef bint reach(self, size_t number, ConfigId target) except FAILED nogil
    cdef Characters alike_bytes(self, const Characters& characters) noexcept nogil
    cdef ConfigId completed(self, ConfigId config, int32_t state, ConfigId target) except ID_FAILED nogil
    cdef bint may_follow(self, Nodes n, NodeId node, GuardId guard) noexcept nogil
    cdef bint allows(self, uint64_t guards, uint8_t byte) noexcept nogil
    cdef int note_readers(self, PlaceId place, uint64_t guards, vector[PlaceId]& readers) except FAILED nogil
    cdef bint meets(self, SummaryId summary, uint64_t guards) noexcept nogil


# What a walk does at every node. The functions are inline, since the loop of the walk is hot.

cdef inline bint is_within(const SubtreeSummary* summary, const Characters& all) noexcept nogil:
    # Return whether all characters in a subtree belong to a class.
    return (
        not summary.ascii[0] & ~all.ascii[0]
        and not summary.ascii[1] & ~all.ascii[1]
        and not summary.leads & ~all.leads
    )


cdef inline int classify_known(const SubtreeSummary* summary, const KnownCharacters& known) noexcept nogil:
    # ``SubtreeAcceptance.classify`` by what is known already.
    if summary.height <= known.high and is_within(summary, known.accepted):
        return ALL_ALLOWED
    if is_within(summary, known.itself):
        return SAME_STATE
    if summary.height <= known.length and is_within(summary, known.alike):
        return SAME_STATE
    return DESCEND


cdef inline bint is_unconditional(const Config* c) noexcept nogil:
    # Return whether tokens that end in a configuration are allowed with any stack, and nothing else happens in
    # it: no return, no member that the semantic state decides, no capture.
    return (
        c.ends & 1
        and c.count
        and c.sure == c.count
        and not c.reads
        and not c.pop_count
        and not c.capturing
    )


cdef inline int32_t next_alive(
    ConfigSpace space, ConfigId config, const Nodes& n, int32_t k, int32_t stop, ConfigId* next
) noexcept nogil:
    # Return the first child from k on that may be alive, or stop. ``next`` gets its configuration, or UNKNOWN
    # if a step must find it. Most children fail, at two loads each.
    cdef const Config* c = &space.configs[config]
    cdef const ConfigId* row
    cdef const uint8_t* of
    next[0] = UNKNOWN
    if has_row(c[0]):
        row = space.rows.data() + c.row
        of = space.terms.classes.maps[c.map].of
        while k < stop:
            next[0] = row[of[n.kid_byte[k]]]
            if next[0] != DEAD:
                break
            k += 1
    return k


cdef inline void allow(uint32_t* bits, const TokenId* tokens, int32_t t, int32_t stop) noexcept nogil:
    # Set the bits of tokens[t:stop].
    cdef uint32_t n
    while t < stop:
        n = <uint32_t>tokens[t]
        bits[n >> 5] |= <uint32_t>1 << (n & 31)
        t += 1


cdef struct WalkState:
    # state of one walk
    size_t most             # tokens in a list; with more of them, a row is made
    int64_t most_suffix_nodes
    ConfigId unconditional  # the last unconditional configuration met (see `is_unconditional`)
    ConfigId self_loop      # the last self-loop configuration met
    KnownCharacters loop    # ... and what is known of it
    uint64_t* met           # `TrieWalk.met` if the walk uses it, else NULL
    uint64_t mark           # ... with this number << 32
    # state of the subtree that is being walked
    Nodes nodes
    int32_t in_suffix_trie
    NodeId covered          # nodes before this one are in the subtree of a reader already
    # where the loop was, if the walk was cut in it
    bint is_inside
    ConfigId above
    int32_t k
    int32_t kid_end
    int32_t depth


cdef cppclass CutWalk:
    # a walk that goes on later, or one that is done while what it includes is not
    WalkQuery query
    vector[PlaceId] places
    WalkResult out
    bint is_done
    WalkState state
    size_t job                  # the number of the one under way
    vector[PlaceId] jobs
    vector[ConfigId] job_configs
    vector[ConfigId] stack      # of the loop, as in `TrieWalk`
    vector[int32_t] next_kid
    vector[int32_t] last_kid


cdef class TrieWalk(MaskPart):
    cdef Trie trie
    cdef MaskArena arena
    cdef ConstrainedRuns constrained
    cdef SubtreeAcceptance acceptance
    # scratch of one walk
    cdef vector[ConfigId] stack     # depth -> configuration
    cdef vector[int32_t] next_kid   # depth -> the next child; `last_kid`: the end of the children
    cdef vector[int32_t] last_kid
    cdef vector[PlaceId] jobs       # places still to walk; `job_configs`: from which configurations
    cdef vector[ConfigId] job_configs
    cdef vector[uint64_t] met       # node of the vocabulary -> number of a walk << 32 | its configuration there
    cdef uint32_t marks             # the last of these numbers
    cdef vector[CutWalk] cut        # walks of the fill under way that go on later
    cdef readonly uint64_t walks
    cdef readonly uint64_t visited_nodes
    cdef readonly uint64_t taken    # subtrees of the vocabulary that were classified as a whole

    cdef int walk(
        self, const WalkQuery& query, vector[PlaceId]& places, WalkResult& out, CutWalk* cut
    ) except FAILED nogil
    cdef int keep_cut(
        self, const WalkQuery& query, vector[PlaceId]& places, WalkResult& out, const WalkState* s, size_t job
    ) except FAILED nogil
    cdef int walk_jobs(
        self, const WalkQuery& query, vector[PlaceId]& places, size_t job, WalkState* s, WalkResult& out
    ) except FAILED nogil
    cdef size_t nbytes_of_vocabulary(self) noexcept nogil
    cdef ConfigId defer_at(
        self, const WalkQuery& query, PlaceId place, const Nodes& n, ConfigId c, WalkResult& out
    ) except ID_FAILED nogil
    cdef int begin_met(self, size_t places, WalkState* s) except FAILED nogil
    cdef int forget_cut(self) except FAILED nogil
    cdef bint copy_cut_places(self, const WalkQuery& query, vector[PlaceId]& places) except FAILED nogil
    cdef bint take_cut(self, const WalkQuery& query, vector[PlaceId]& places, CutWalk* cut) except FAILED nogil
    cdef int walk_place(
        self, const WalkQuery& query, PlaceId place, ConfigId c, WalkState* s, WalkResult& out
    ) except FAILED nogil
    cdef int classify(self, ConfigId c, SummaryId summary, int32_t nodes, WalkState* s) except FAILED nogil
    cdef int emit(
        self, const WalkQuery& query, ConfigId c, NodeId node, int verdict, WalkState* s, WalkResult& out
    ) except FAILED nogil
    cdef uint64_t emit_readers(
        self, const Config* config, NodeId node, int* verdict, WalkState* s, WalkResult& out
    ) except? BITS_FAILED nogil
    cdef int emit_returns(
        self, const Config* config, NodeId node, int verdict, WalkState* s, WalkResult& out
    ) except FAILED nogil
    cdef int emit_special_tokens(self, const WalkQuery& query, WalkResult& out) except FAILED nogil
    cdef bint opens_key(self, const Config* config) noexcept nogil
