# Types of ids. An id is an index of one table, and is never used as an index of another one.
#
# A debug build checks this (see ids.h): there each name is a separate type, and mixing two does not compile.
# Where a number really is both, write `<TermId><int32_t>number`. Vectors are of one id: `vector[TermId]`.
from libc.stdint cimport int32_t, uint32_t

from stackmask.grammar.ir.failures cimport FAILED, ID_FAILED

cdef extern from "ids.h" nogil:
    # terms
    ctypedef int32_t TermId         # a term: a local state of the automaton
    ctypedef int32_t SetId          # a set of bytes
    ctypedef int32_t GuardId        # a set of allowed next bytes
    ctypedef int32_t MapId          # a partition of the bytes
    ctypedef int32_t CallId         # an entry of the call table
    ctypedef int32_t SitesId        # the calls in first position of a term
    ctypedef int32_t RuleId         # a rule
    ctypedef int32_t TestId         # a test of the keys of an object
    ctypedef int32_t TokenClassId   # a class of special tokens
    ctypedef int32_t SymbolId       # what a step reads: a byte, or TOKENS + a class of special tokens
    # context
    ctypedef int32_t SemId          # a semantic state
    ctypedef int32_t ValueId        # the value of a semantic state: a Python object, or a link of a stack
    ctypedef int32_t TextId         # a captured text
    ctypedef int32_t ActionId       # what a capture does when it ends
    ctypedef int32_t ResolverId     # the callable that gives the body of a dynamic rule
    ctypedef int32_t TextNodeId     # a set of captured texts, which is a node of a tree
    ctypedef int32_t SlotId         # a declared key of an object
    ctypedef int32_t KeysId         # a key state: which keys an object has so far
    ctypedef int32_t SpecId         # what the keys of an object must satisfy
    ctypedef int32_t NeedsId        # what the keys of an object must satisfy for a term to go on
    # stack
    ctypedef int32_t FrameId        # a frame of the graph-structured stack
    ctypedef int32_t ConfigId       # a configuration, or what a step leads to instead (see DEAD)
    ctypedef int32_t StepRowId      # where the transition row of a configuration begins
    ctypedef int32_t CallNodeId     # the callers of one rule in a closure
    ctypedef int32_t LinkId         # one of these callers
    # vocabulary
    ctypedef int32_t TokenId        # a token
    ctypedef int32_t NodeId         # a node of the trie of tokens, or of a suffix trie
    ctypedef int32_t PlaceId        # a place in a trie: a node and how suffixes begin there, see `place_at`
    ctypedef int32_t SummaryId      # what is known of the subtree of a node
    ctypedef int32_t GroupId        # a group of characters
    # masks
    ctypedef int32_t MaskId         # the tokens that a local state allows
    ctypedef int32_t RowId          # a bitmask over the vocabulary
    ctypedef int32_t SuffixesId     # a group of suffixes: those of tokens that return with bytes left over
    ctypedef int32_t EntryId        # a group of suffixes, and what walks know of the semantic state there
    ctypedef int32_t PendingId      # tokens under a guard
    ctypedef int32_t WalkGroupId    # returns of one walk with one guard and semantic state
    ctypedef int32_t WalkPendingId  # tokens of one walk under a guard
    ctypedef int32_t CalleeId       # a rule that a walk does not enter, and where it returns to
    ctypedef int32_t RepeatId       # a walk that can be repeated with frames known
    ctypedef int32_t CodeId         # a prefix code: a class of characters
    ctypedef int32_t RunId          # a run table
    ctypedef int32_t RunMemberId    # a member whose tokens come from run tables
    ctypedef int32_t TailId         # the exits of a run table after which something is alive
    ctypedef int32_t FilterId       # which tokens pass after a run
    ctypedef int32_t LiteralId      # a literal that masks are made for
    ctypedef int32_t SplitId        # a state that was split into prefixes and continuations
    ctypedef int32_t AlternativeId  # a prefix and its continuation
    ctypedef int32_t OperandsId     # a list of operands
    ctypedef int32_t PatchedId      # a mask kept as its difference from a row
    # forced
    ctypedef int32_t ForcedRunId    # a run of forced symbols
    ctypedef int32_t ForcedPlaceId  # where a configuration is in a run
    # ahead
    ctypedef int32_t FrameStateId   # a semantic state above a frame


cdef enum: BITS_FAILED = 0x55555555     # bits; Cython compares with it as an int

cdef enum:
    # in place of an id where there is none
    NO_TERM = -1
    NO_RULE = -1
    NO_TEST = -1
    NO_SEM = -1
    NO_TEXT = -1
    NO_PARENT = -1
    NO_SPEC = -1
    NO_FRAME = -1
    NO_TOKEN = -1
    NO_NODE = -1
    NO_SUMMARY = -1
    NO_MASK = -1
    NO_ROW = -1
    NO_SUFFIXES = -1
    NO_ENTRY = -1
    NO_PENDING = -1
    NO_REPEAT = -1
    NO_CALLEE = -1      # a return
    NO_RUN = -1
    NO_MEMBER = -1
    NO_LINK = -1


# Variants: small values that are one of several things and say which. Unlike ids, they are types of their
# own in every build, so no sign and no range can be asked for.
cdef extern from "ids.h" namespace "stackmask" nogil:
    const int32_t UNBOUNDED     # how often at most, where there is no bound: more than every count

    cppclass Nullability:
        # whether a term may end here: never, or where the next byte is in a guard
        bint possible() noexcept
        bint always() noexcept          # whatever the next byte is
        GuardId guard() noexcept        # where it is possible

        @staticmethod
        Nullability under(GuardId guard) noexcept

    const Nullability NEVER
    const Nullability ALWAYS

    cppclass ReturnAction:
        # what happens when a call returns: the action of a capture that ends there, or a constant below
        bint is_capture() noexcept
        ActionId action() noexcept      # of a capture
        bint restores_caller() noexcept     # the semantic state of the caller comes back, or its keys
        uint32_t code() noexcept        # all of it as one integer
        bint operator==(ReturnAction) noexcept
        bint operator!=(ReturnAction) noexcept

        @staticmethod
        ReturnAction end_of(ActionId action) noexcept

        @staticmethod
        ReturnAction of_code(uint32_t code) noexcept

    const ReturnAction ACTION_NONE      # nothing
    const ReturnAction ACTION_SCOPE     # the semantic state of the caller comes back
    const ReturnAction ACTION_KEYED     # the same; the call is an object with keys
    const ReturnAction ACTION_COUNTED   # nothing; the call is a text of so many tokens at most
    const ReturnAction ACTION_BACK      # only the keys of the caller come back; in summary frames
