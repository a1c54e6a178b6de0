# What a prefix costs in a vocabulary.
from libc.stdint cimport int32_t, uint64_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.context.object_keys cimport KeyStates
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.ids cimport (
    FAILED,
    ID_FAILED,
    AlternativeId,
    LiteralId,
    MaskId,
    NeedsId,
    NodeId,
    PlaceId,
    ReturnAction,
    SplitId,
    SuffixesId,
    TermId,
    TestId,
    TokenId,
)
from stackmask.pda.masks.arena cimport MaskArena, MaskPart
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.memory.hash_tables cimport IdTable, KeyMap
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.terms.term_table cimport Term
from stackmask.pda.vocabulary.token_trie cimport Trie


cdef enum:
    MOST_LOOKS = 1024   # terms looked at to find the first bytes of a state


cdef class PrefixCost:
    cdef TermStore terms
    cdef Trie trie
    cdef int32_t[256] nodes_after       # byte -> nodes of the trie whose path begins with it
    cdef Growing[uint8_t] literal_of    # by term: 0 unknown, 1 no literal, 2 a literal
    # scratch
    cdef vector[TermId] path            # the items of a prefix
    cdef vector[NodeId] spots           # nodes of the trie
    cdef vector[NodeId] next_spots

    cdef bint is_literal(self, TermId term) except FAILED nogil
    cdef bint add_first(self, TermId state, uint64_t* words, int32_t* left) except FAILED nogil
    cdef bint begins_few(self) except FAILED nogil
    cdef bint few_begin(self, const uint64_t* words) noexcept nogil
    cdef bint ends_wide(self, bint words) noexcept nogil
    cdef bint few_follow(self) except FAILED nogil
    cdef int spell_byte(self, NodeId node, int32_t byte) except FAILED nogil
    cdef int spell(self, TermId string) except FAILED nogil


cdef int first_bytes_of_literal(TermStore terms, TermId term, uint64_t* words) noexcept nogil


# Literals by number.

cdef struct Literal:
    int32_t first       # items[first:first + count] are its terms
    int32_t count
    TermId term         # all of it as one term, or NO_TERM if not made
    MaskId mask         # its mask for the whole vocabulary, or NO_MASK if not made
    uint64_t begins[4]  # the bytes that it can begin with


cdef struct Prefix:
    # what a state begins with: a literal of the table, or a term that is none
    int32_t number      # see `as_literal` and `as_term`
    bint is_literal


cdef inline LiteralId as_literal(const Prefix& prefix) noexcept nogil:
    return <LiteralId>prefix.number


cdef inline TermId as_term(const Prefix& prefix) noexcept nogil:
    return <TermId>prefix.number


cdef inline Prefix literal_prefix(LiteralId literal) noexcept nogil:
    cdef Prefix prefix
    prefix.number = <int32_t>literal
    prefix.is_literal = True
    return prefix


cdef inline Prefix term_prefix(TermId term) noexcept nogil:
    cdef Prefix prefix
    prefix.number = <int32_t>term
    prefix.is_literal = False
    return prefix


cdef class LiteralTable:
    cdef TermStore terms
    cdef Growing[TermId] items
    cdef Growing[Literal] literals
    cdef IdTable index

    cdef size_t nbytes(self) noexcept nogil
    cdef LiteralId number_of(self, const vector[TermId]& path) except ID_FAILED nogil
    cdef TermId term_of(self, Prefix prefix) except ID_FAILED nogil
    cdef int forget_masks(self) noexcept nogil


# States split into prefixes and continuations.

cdef enum:
    NO_WHITESPACE = -1


cdef struct Alternative:
    # One alternative of a state: a prefix and its continuation, the sequence ``tail after``.
    Prefix prefix
    TermId tail
    TermId after
    TermId continuation     # ``tail after`` as one state, or NO_TERM if not made
    TestId test             # a test of the object's keys that comes first, or NO_TEST
    TermId live             # a term that must be able to continue with these keys; EPS: always true
    NeedsId needs           # ... as a list of tests (see key_needs.pyx)
    ReturnAction action     # the action after the prefix if it is an undeclared key, or ACTION_NONE
    TermId call             # ... and the call of the key, or EPS
    TermId run              # NO_WHITESPACE; else the prefix is a repetition of this set of blanks
    uint8_t nullable        # the continuation may be empty
    uint8_t unconditional   # the continuation surely can end with no follow restriction pending


cdef struct Split:
    int32_t first   # alternatives[first:first + count]; count is 0 if the state is not split
    int32_t count
    TermId other    # the alternatives that are not split, as one term, or EMPTY


cdef struct PartialSplit:
    # scratch: a term that must still be split, and the prefix before it
    TermId term
    TermId after        # what follows the term
    int32_t depth       # items of its prefix
    int32_t joins       # in ``same_prefix``: the index in ``ready`` of the alternative with the same prefix
    int32_t first       # where the items of its prefix begin in ``prefix_items``
    bint nullable       # all items so far can be empty
    bint ends           # the prefix has an end of its own: a literal or a rule
    bint is_literal     # all items so far are literals
    TermId test         # the test that comes before it, or EPS
    TermId key          # the call of an undeclared key that is the whole prefix, or EPS


cdef class PrefixSplitter:
    cdef TermStore terms
    cdef PrefixCost cost
    cdef KeyStates keys
    cdef Semantics semantics
    cdef LiteralTable literals
    cdef KeyMap split_index     # term -> index in ``splits``
    cdef Growing[Split] splits
    cdef Growing[Alternative] alternatives
    # scratch
    cdef vector[PartialSplit] todo          # terms that must still be split
    cdef vector[TermId] left
    cdef vector[PartialSplit] ready         # the alternatives found; ``depth``: items of the prefix
    cdef vector[TermId] prefix_items
    cdef vector[PartialSplit] same_prefix   # more alternatives; their prefix is that of ready[joins]
    cdef TermId tail

    cdef size_t nbytes(self) noexcept nogil
    cdef int leave_whole(self, SplitId number) noexcept nogil
    cdef SplitId split(self, TermId state) except ID_FAILED nogil
    cdef int find(self, TermId state, Split* found) except FAILED nogil
    cdef int follow(self, PartialSplit at) except FAILED nogil
    cdef bint is_loop(self, Term loop) except FAILED nogil
    cdef int unfold(self, PartialSplit at, Term loop, TermId next) except FAILED nogil
    cdef bint is_key(self, Term call, TermId next, TermId after) except FAILED nogil
    cdef int add_ready(self, PartialSplit at) except FAILED nogil
    cdef int join_continuations(self) except FAILED nogil
    cdef int find_whitespace(self, TermId state, Split* found) except FAILED nogil
    cdef bint fill_path(self) except FAILED nogil
    cdef TermId filled(self, TermId item) except ID_FAILED nogil
    cdef int add_alternative(self, PartialSplit at) except FAILED nogil
    cdef TermId continuation_of(self, AlternativeId alternative) except ID_FAILED nogil
    cdef TermId key_of(self, AlternativeId alternative) except ID_FAILED nogil
    cdef bint is_unconditional(self, AlternativeId alternative) except FAILED nogil


# Masks of literals.

cdef struct Spot:
    # a node to continue from, and the position in the literal there
    NodeId node
    int32_t position    # index of the item that is being spelled
    TermId item     # what is left of that item, or EPS at its beginning
    int32_t offset  # bytes of a K_LIT term that are spelled already
    bint itself     # the node's own byte is next, not that of a child


cdef class LiteralMasks(MaskPart):
    cdef MaskArena arena
    cdef LiteralTable table
    cdef KeyMap group_masks                 # group << 32 | literal -> mask
    cdef int32_t last_position                  # of the literal that is being spelled
    cdef vector[Spot] spots
    cdef vector[TokenId] tokens
    cdef vector[PlaceId] return_places
    cdef readonly uint64_t spelled_masks    # masks made by spelling literals

    cdef MaskId of_vocabulary(self, LiteralId literal) except ID_FAILED nogil
    cdef MaskId of_group(self, SuffixesId group, LiteralId literal) except ID_FAILED nogil
    cdef MaskId spell(self, LiteralId literal, vector[PlaceId]& places) except ID_FAILED nogil
    cdef int spell_next(self, Spot at, int32_t in_suffix_trie) except FAILED nogil
    cdef int take_node(self, Spot at, NodeId kid, int32_t in_suffix_trie) except FAILED nogil
