from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from stackmask.pda.context.callables cimport Owed
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.ids cimport (
    FAILED,
    ID_FAILED,
    CallId,
    ConfigId,
    FrameId,
    KeysId,
    MapId,
    NodeId,
    RuleId,
    SymbolId,
    TermId,
    TestId,
    TokenClassId,
    TokenId,
)
from stackmask.pda.memory.checked_vectors cimport priority_queue
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.stack.configuration_table cimport Member
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.terms.term_table cimport Term
from stackmask.pda.vocabulary.token_bytes cimport TokenBytes
from stackmask.pda.vocabulary.token_trie cimport Trie


cdef struct Cost:
    # in bytes, where a special token counts as one. NO_END where there is no such string
    int32_t least           # of the shortest string; 1 more than that, so that 0 means not known yet
    int32_t least_filled    # of the shortest string that is not empty; likewise


cdef class TermCosts:
    cdef TermStore terms
    cdef Growing[Cost] of_term          # by term; 0 where it is not known
    cdef vector[Cost] of_rule           # by rule; likewise
    cdef vector[int32_t] drafted        # by call of an object: bytes that its required keys add
    cdef vector[uint8_t] settled        # by call: whether that is known for good
    cdef bint drafting                  # costs that are found go by what may still change
    cdef vector[TermId] unsettled_terms  # whose costs do
    cdef vector[RuleId] unsettled_rules
    # one solution
    cdef vector[TermId] order           # terms to solve, what they consist of first
    cdef vector[RuleId] open_rules      # rules to solve
    cdef vector[Cost] found             # of `order`
    cdef KeyMap place                   # term -> index in `order`
    cdef KeyMap rule_place              # rule -> index in `open_rules`
    cdef vector[Cost] rule_found        # of `open_rules`
    cdef vector[uint64_t] stack

    cdef bint is_settled(self, CallId call) noexcept nogil
    cdef int begin_drafts(self) except FAILED nogil
    cdef bint state_object(self, CallId call, int32_t bytes) except FAILED nogil
    cdef int forget(self) noexcept nogil
    cdef int settle(self, vector[CallId]& objects) noexcept nogil
    cdef int abandon(self, vector[CallId]& objects) noexcept nogil
    cdef int32_t least(self, TermId t) except FAILED nogil
    cdef int solve(self, TermId t) except FAILED nogil
    cdef bint survey(self, TermId t, vector[CallId]& objects) except FAILED nogil
    cdef int collect(self, TermId t) except FAILED nogil
    cdef int push_parts(self, TermId t) except FAILED nogil
    cdef int push(self, TermId t) except FAILED nogil
    cdef Cost known(self, TermId t) noexcept nogil
    cdef Cost composed(self, TermId t) except * nogil
    cdef Cost of_call(self, Term u) except * nogil
    cdef int search(self, TermId t, Cost* out) except FAILED nogil
    cdef int search_filled(self, TermId t, int32_t* out) except FAILED nogil
    cdef size_t nbytes(self) noexcept nogil


cdef struct Tested:
    # in bytes, over the strings of a term
    int32_t untested        # the fewest without a test of keys
    int32_t tested          # the fewest whose first test holds; tests after that are not looked at


cdef struct Missing:
    # of a key state where further keys come, in bytes, with what is before them
    int32_t first           # the next key that the object needs
    int32_t all             # all of them; UNKNOWN where it was not asked


cdef class KeyRepetitions:
    # owner: Estimates
    cdef TermStore terms
    cdef KeyMap index                   # state of an object -> its repetition, or EMPTY
    cdef vector[TermId] queue           # scratch

    cdef TermId of_state(self, TermId state) except ID_FAILED nogil
    cdef size_t nbytes(self) noexcept nogil


cdef class Estimates:
    # owner: Completions, of one family
    cdef ConfigSpace family
    cdef TermStore terms
    cdef Semantics semantics
    cdef TermCosts costs
    cdef bint prepared                  # what the objects of the grammar need is known
    cdef vector[CallId] objects         # calls of the objects of the grammar, given by the owner
    cdef KeyRepetitions repetitions
    cdef KeyMap frame_index             # frame << 32 | key state -> index in frame_found
    cdef vector[int32_t] frame_found    # bytes
    cdef KeyMap keyed_index             # term << 32 | key state -> index in keyed_found
    cdef vector[Tested] keyed_found
    cdef vector[uint8_t] keyed_stage    # of keyed_found
    cdef KeyMap missing_index           # repetition << 32 | key state -> index in missing_found
    cdef vector[Missing] missing_found
    cdef bint relaxed                   # any key that may come is taken
    cdef vector[uint64_t] frame_stack
    cdef vector[uint64_t] term_stack
    cdef KeyMap representatives         # what terms need to know of a key state -> one of these states

    cdef int prepare(self) except FAILED nogil
    cdef int draft(self, vector[CallId]& objects) except FAILED nogil
    cdef int32_t of_object(self, CallId call) except FAILED nogil
    cdef int forget(self) except FAILED nogil
    cdef int32_t of_config(self, ConfigId config) except FAILED nogil
    cdef int32_t of_member(self, Member m) except FAILED nogil
    cdef int32_t of_state(self, TermId state, KeysId keys) except FAILED nogil
    cdef int32_t of_frame(self, FrameId frame, KeysId keys) except FAILED nogil
    cdef KeysId keys_after(self, int32_t edge, KeysId keys) except ID_FAILED nogil
    cdef uint64_t frame_key(self, FrameId frame, KeysId keys) noexcept nogil
    cdef bint is_wanted(self, KeysId keys, TestId test) noexcept nogil
    cdef bint needs_keys(self, KeysId keys) noexcept nogil
    cdef int32_t more_keys(self, TermId state, KeysId keys) except FAILED nogil
    cdef int32_t of_missing(self, TermId more, KeysId keys) except FAILED nogil
    cdef int keyed(self, TermId t, KeysId keys, Tested* out) except FAILED nogil
    cdef bint ready(self, TermId t, KeysId keys, Tested* out) except FAILED nogil
    cdef uint64_t term_key(self, TermId t, KeysId keys) noexcept nogil
    cdef bint part(self, TermId t, KeysId keys, Tested* out) except FAILED nogil
    cdef bint of_keyed_call(self, Term u, KeysId keys, Tested* out) except FAILED nogil
    cdef size_t nbytes(self) noexcept nogil
    cdef TestId first_missing(self, KeysId keys) noexcept nogil
    cdef KeysId representative(self, KeysId keys) except ID_FAILED nogil


# The shortest ends of configurations, as tokens.


# The shortest text from a configuration to an end.

cdef struct Reached:
    # a configuration that the search has visited
    ConfigId config
    int32_t before          # index of the one before it, or -1
    SymbolId symbol         # that led here
    int32_t length          # symbols so far


cdef struct Proposal:
    # a step that is not taken yet
    int32_t index           # index of the configuration that it leaves
    SymbolId symbol         # or ENDS


cdef class TextSearch:
    # owner: Completions
    cdef ConfigSpace family
    cdef TermStore terms
    cdef Estimates estimates
    cdef KeyMap known                   # configuration -> length of an end that is known
    # one search
    cdef vector[Reached] reached
    cdef vector[Proposal] proposals
    cdef priority_queue[pair[uint64_t, int32_t]] queue
    cdef KeyMap seen                    # configuration -> 1
    cdef int32_t[256] best              # estimates by byte, of one configuration
    cdef KeyMap alike                   # hash of local states and an estimate -> places visited with them
    cdef bint owes                      # a value that was met says what its text needs
    cdef int32_t samples                # bytes of a class that are tried inside of a capture, of such values
    cdef int32_t end_index              # of the best end that was proposed, or -1
    cdef uint64_t end_length            # its bytes, with what is left of it by the weight
    cdef bint hinted                    # a text that a value proposed could be read, wherever it leads
    cdef int32_t* steps                 # that are left
    cdef bint leaves_out                # places that are like enough others
    cdef int32_t weight                 # of the estimate
    cdef int32_t idle                   # the estimate of a step after which as much is left as before
    cdef bint hastily                   # a short text is enough
    cdef bint far_off                   # estimates may be, since resolvers decide

    cdef int note_known(self, ConfigId config, int32_t length) except FAILED nogil
    cdef ConfigId find(
        self, ConfigId config, vector[SymbolId]& out, int32_t* steps, bint hastily
    ) except ID_FAILED nogil
    cdef int32_t run(self, ConfigId config, int32_t* steps) except ID_FAILED nogil
    cdef bint is_alike(self, ConfigId config) except FAILED nogil
    cdef int32_t count_alike(self, ConfigId config, uint64_t h) except FAILED nogil
    cdef bint is_new(self, ConfigId config, Owed owed) except FAILED nogil
    cdef int visit(self, ConfigId config, int32_t before, SymbolId symbol, int32_t length) except FAILED nogil
    cdef int propose(self, int32_t index, SymbolId symbol, int32_t estimate) except FAILED nogil
    cdef int propose_steps(self, int32_t index) except FAILED nogil
    cdef int propose_owed(self, int32_t index) except FAILED nogil
    cdef int follow(self, int32_t index, Owed owed) except FAILED nogil
    cdef int rate_bytes(self, Member m, bint each) except FAILED nogil
    cdef int propose_tokens(self, int32_t index, Member m) except FAILED nogil
    cdef size_t nbytes(self) noexcept nogil


cdef extern from "completions.h" nogil:
    # a class of special tokens of the grammar
    cppclass SpecialClass "stackmask::SpecialClass":
        TokenClassId number
        vector[TokenId] tokens  # ascending
        bint holds(TokenId token)


cdef enum:
    NOT_FOUND = 1 << 28     # in place of a number of tokens: no end was found


cdef enum Effort:
    BY_OTHERS = 0           # as the end of another witness, or of another text
    BY_HASTE = 1            # by a search for some short text
    BY_TEXT = 2             # by one for the shortest text
    BY_TOKENS = 3           # and one for fewer tokens


cdef struct Completion:
    # an end of a configuration: its witness is the token, then that of `next`
    int32_t fewest          # tokens, the stop token not counted; NOT_FOUND if none was found
    int32_t length          # symbols
    TokenId token           # NO_TOKEN where the text may end
    ConfigId next
    int32_t searched        # how it was found, see `Effort`


cdef struct Successor:
    TokenId token
    ConfigId next
    bint by_shape           # `next` stands for the place that the token leads to, see `CaptureShapes`


cdef struct Way:
    # a configuration that a search by tokens has met
    ConfigId config
    int32_t before          # index of the one before it, or -1
    TokenId token           # that led here


cdef struct Visit:
    NodeId node
    ConfigId config


cdef class Completions:
    cdef ConfigSpace family
    cdef TermStore terms
    cdef Estimates estimates
    cdef TextSearch search
    cdef Trie trie
    cdef TokenBytes texts
    cdef bint resolves                  # the grammar calls resolvers, so estimates may be far off
    cdef KeyMap index                   # configuration -> index in `found`
    cdef vector[Completion] found
    # special tokens of the grammar
    cdef vector[SpecialClass] classes
    # scratch
    cdef vector[SymbolId] symbols
    cdef vector[TokenId] tail           # the tokens after them
    cdef vector[TokenId] cut
    cdef vector[int32_t] least          # tokens to the end of the text, by where they begin
    cdef vector[TokenId] choice         # the first of them
    cdef vector[Visit] visits
    cdef vector[Successor] successors
    cdef vector[Way] ways
    cdef KeyMap met                     # configuration -> 1

    cdef int32_t fewest(self, ConfigId config) except FAILED nogil
    cdef int32_t few(self, ConfigId config, int32_t* steps, Effort effort=*) except FAILED nogil
    cdef Completion known(self, ConfigId config) noexcept nogil
    cdef int enter(self, ConfigId config, Completion found) except FAILED nogil
    cdef int find_text(self, ConfigId config, int32_t* steps, bint hastily) except FAILED nogil
    cdef int append_known(self, ConfigId config) except FAILED nogil
    cdef TokenId token_of(self, SymbolId symbol) noexcept nogil
    cdef bint is_special(self, ConfigId config, TokenId token) except FAILED nogil
    cdef bint cut_text(self) except FAILED nogil
    cdef int keep_witness(self, ConfigId config) except FAILED nogil
    cdef int keep_places(self, ConfigId config) except FAILED nogil
    cdef ConfigId after(self, ConfigId config, TokenId token) except ID_FAILED nogil
    cdef bint collect(self, ConfigId config, int64_t* effort, int64_t price) except FAILED nogil
    cdef bint collect_visits(self, int64_t* effort, int64_t price) except FAILED nogil
    cdef int add_tokens(self, NodeId node, ConfigId next) except FAILED nogil
    cdef int collect_special(self, ConfigId config) except FAILED nogil
    cdef int shorten(self, ConfigId config) except FAILED nogil
    cdef int end_tokens(self) except FAILED nogil
    cdef size_t nbytes(self) noexcept nogil


cdef struct Shape:
    ConfigId config         # the first one that was met
    MapId map               # the classes of bytes that it distinguishes
    int32_t first           # steps[first:first + classes of the map]


cdef struct PlaceVisit:
    NodeId node
    ConfigId config         # outside of captures, or that of the shape
    int32_t shape           # NO_SHAPE outside of captures


cdef struct Advance:
    # where most characters lead from a place, of those that lead anywhere
    PlaceVisit next         # DEAD if none does
    uint64_t ascii[2]       # those that lead there
    uint64_t dead[2]        # those that lead nowhere
    uint64_t asked          # first bytes from 0xC0 on of longer ones, which were asked
    uint64_t leads          # ... of these: those whose characters lead there or nowhere
    uint64_t dead_leads     # ... those that lead nowhere themselves
    PlaceVisit inner        # the place after the last one that was asked
    int32_t inner_left      # ... how many bytes may come after it
    bint inner_leads        # ... and whether its characters lead there or nowhere
    int32_t inside          # index of one of the places inside of longer characters, or -1
    uint64_t walk           # the last one that listed these


cdef struct InnerPlace:
    PlaceVisit at
    int32_t after           # index of the next one of its place, or -1


cdef class CaptureShapes:
    # owner: TokenPlaces
    cdef ConfigSpace family
    cdef Semantics semantics
    cdef KeyMap index                   # hash of what a shape has -> shape
    cdef vector[Shape] shapes
    # by shape and class of bytes: the shape after it, NO_SHAPE or NOT_STEPPED
    cdef vector[int32_t] steps

    cdef uint64_t hash_of(self, ConfigId config) except? 0 nogil
    cdef int32_t shape_of(self, ConfigId config) except ID_FAILED nogil
    cdef int32_t after(self, int32_t shape, uint8_t byte, int32_t* steps) except ID_FAILED nogil
    cdef int forget(self) except FAILED nogil
    cdef size_t nbytes(self) noexcept nogil


cdef class TokenPlaces:
    # owner: BudgetMasks
    cdef ConfigSpace family
    cdef Trie trie
    cdef CaptureShapes shapes
    cdef KeyMap advance_index           # place -> index in `advances`
    cdef vector[Advance] advances
    cdef vector[InnerPlace] inside
    cdef KeyMap kept                    # place -> whether tokens that lead there are kept
    cdef vector[Visit] entries          # where tokens enter a capture, of the last walk that marked tokens
    # scratch
    cdef vector[PlaceVisit] visits
    cdef vector[PlaceVisit] partial
    cdef vector[PlaceVisit] chain       # by number of characters: the place after them, or after the last
    cdef vector[NodeId] path
    cdef KeyMap met                     # places that are listed -> 1
    cdef uint64_t last_key              # of the place that was listed last
    cdef uint64_t walk                  # the number of the list

    cdef bint is_full(self) noexcept nogil
    cdef int place_of(self, ConfigId config, PlaceVisit* out) except FAILED nogil
    cdef int follow(self, PlaceVisit at, uint8_t byte, int32_t* steps, PlaceVisit* out) except FAILED nogil
    cdef int32_t advance_at(self, PlaceVisit at, int32_t* steps) except FAILED nogil
    cdef bint leads_there(
        self, PlaceVisit at, int32_t left, PlaceVisit there, int32_t* steps
    ) except FAILED nogil
    cdef int ask_lead(self, int32_t index, PlaceVisit at, uint8_t lead, int32_t* steps) except FAILED nogil
    cdef int add_place(self, PlaceVisit at, vector[Successor]& out) except FAILED nogil
    cdef bint chain_under(self, PlaceVisit at, int32_t* steps) except FAILED nogil
    cdef int add_chain(self, NodeId under, vector[Successor]& out) except FAILED nogil
    cdef int list_entry(self, NodeId node, ConfigId config) except FAILED nogil
    cdef int begin_walk(self, ConfigId config) except FAILED nogil
    cdef bint list_places(self, ConfigId config, vector[Successor]& out, int32_t* steps) except FAILED nogil
    cdef int rate(self, ConfigId config, bint by_shape, bint keep) except FAILED nogil
    cdef bint keeps(self, ConfigId config, bint by_shape, bint others) noexcept nogil
    cdef bint keeps_token(self, PlaceVisit at, bint others) except FAILED nogil
    cdef int mark_range(self, NodeId first, NodeId end, uint32_t* words, bint keep) except FAILED nogil
    cdef int mark_incomplete(self, NodeId under, bint others, uint32_t* words) except FAILED nogil
    cdef int mark_chain(self, NodeId under, bint others, uint32_t* words) except FAILED nogil
    cdef int mark_tokens(self, ConfigId config, bint others, uint32_t* words) except FAILED nogil
    cdef int forget(self) except FAILED nogil
    cdef size_t nbytes(self) noexcept nogil


cdef struct Successors:
    # the tokens that lead to one configuration
    ConfigId next
    bint by_shape           # `next` stands for others that differ in what was captured
    int32_t first           # tokens[first:first + count]
    int32_t count


cdef struct Fork:
    # a configuration and all that may follow it
    int32_t first           # groups[first:first + count]
    int32_t count
    int32_t most            # tokens that the worst successor needs, as far as it is known
    int32_t most_by_shape   # of those that stand for others, what the worst must leave
    bint measured           # whether `most` and `most_by_shape` are known
    bint searched           # searches have looked for ends of its successors
    bint complete           # all places are in the groups


cdef class BudgetMasks:
    cdef Completions completions
    cdef int32_t width                  # words of a row
    cdef TokenPlaces places
    cdef KeyMap fork_of                 # configuration, or OF_SHAPE or NEAR and one -> index in forks
    cdef vector[Fork] forks
    cdef Growing[Successors] groups
    cdef Growing[TokenId] tokens
    cdef KeyMap row_of                  # configuration << 32 | room -> index of its row
    cdef Growing[uint32_t] rows
    # scratch
    cdef vector[uint32_t] scratch
    cdef KeyMap group_of                # configuration -> index in groups, of one fork
    cdef vector[int32_t] chosen         # by successor: index in groups
    cdef vector[TokenId] placed         # tokens of one fork, by group

    cdef int forget(self) except FAILED nogil
    cdef ConfigId after_special(self, ConfigId config, size_t c) except ID_FAILED nogil
    cdef int32_t places_at(self, ConfigId config) except FAILED nogil
    cdef int32_t near_fork_at(self, ConfigId config) except FAILED nogil
    cdef int32_t keep_fork(self, uint64_t key, bint complete) except FAILED nogil
    cdef uint64_t key_of(self, ConfigId config) except? 0 nogil
    cdef int32_t asked_of(self, int32_t needed, ConfigId config) noexcept nogil
    cdef bint spares_all(self, ConfigId config, int32_t room) except FAILED nogil
    cdef bint restore(self, ConfigId config, int32_t room, uint32_t* words) noexcept nogil
    cdef int keep_row(self, ConfigId config, int32_t room, const uint32_t* words) except FAILED nogil
    cdef int cut(self, ConfigId config, int32_t room, uint32_t* words) except FAILED nogil
    cdef bint leaves_enough(self, Fork fork, ConfigId config, int32_t room) noexcept nogil
    cdef int32_t search(self, ConfigId config, int32_t room, int32_t* steps) except FAILED nogil
    cdef bint measure(self, ConfigId config, int32_t at, int32_t room) except FAILED nogil
    cdef int rate_places(self, ConfigId config, Fork fork, int32_t room) except FAILED nogil
    cdef int mark_special(self, ConfigId config) except FAILED nogil
    cdef int mark_near(self, ConfigId config, int32_t room) except FAILED nogil
    cdef size_t nbytes(self) noexcept nogil
