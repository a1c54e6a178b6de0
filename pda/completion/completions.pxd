# The shortest ends of configurations, as tokens.
from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from stackmask.pda.completion.estimates cimport Estimates
from stackmask.pda.context.callables cimport Owed
from stackmask.pda.ids cimport FAILED, ID_FAILED, ConfigId, NodeId, SymbolId, TermId, TokenClassId, TokenId
from stackmask.pda.memory.checked_vectors cimport priority_queue
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.stack.configuration_table cimport Member
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.vocabulary.token_bytes cimport TokenBytes
from stackmask.pda.vocabulary.token_trie cimport Trie


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
