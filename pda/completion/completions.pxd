# The shortest ends of configurations, as tokens. See completions.pyx.
from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from stackmask.pda.completion.estimates cimport Estimates
from stackmask.pda.completion.text_search cimport TextSearch
from stackmask.pda.ids cimport ConfigId, NodeId, SymbolId, TermId, TokenClassId, TokenId
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.vocabulary.token_bytes cimport TokenBytes
from stackmask.pda.vocabulary.token_trie cimport Trie

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

    cdef int32_t fewest(self, ConfigId config) except -1 nogil
    cdef int32_t few(self, ConfigId config, int32_t* steps, Effort effort=*) except -1 nogil
    cdef Completion known(self, ConfigId config) noexcept nogil
    cdef int enter(self, ConfigId config, Completion found) except -1 nogil
    cdef int find_text(self, ConfigId config, int32_t* steps, bint hastily) except -1 nogil
    cdef int append_known(self, ConfigId config) except -1 nogil
    cdef TokenId token_of(self, SymbolId symbol) noexcept nogil
    cdef bint is_special(self, ConfigId config, TokenId token) except -1 nogil
    cdef bint cut_text(self) except -1 nogil
    cdef int keep_witness(self, ConfigId config) except -1 nogil
    cdef int keep_places(self, ConfigId config) except -1 nogil
    cdef ConfigId after(self, ConfigId config, TokenId token) except -3 nogil
    cdef bint collect(self, ConfigId config, int64_t* effort, int64_t price) except -1 nogil
    cdef bint collect_visits(self, int64_t* effort, int64_t price) except -1 nogil
    cdef int add_tokens(self, NodeId node, ConfigId next) except -1 nogil
    cdef int collect_special(self, ConfigId config) except -1 nogil
    cdef int shorten(self, ConfigId config) except -1 nogil
    cdef int end_tokens(self) except -1 nogil
    cdef size_t nbytes(self) noexcept nogil
