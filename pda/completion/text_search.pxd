# The shortest text from a configuration to an end. See text_search.pyx.
from libc.stdint cimport int32_t, uint64_t
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from stackmask.pda.completion.estimates cimport Estimates
from stackmask.pda.context.callables cimport Owed
from stackmask.pda.ids cimport ConfigId, SymbolId, TermId
from stackmask.pda.memory.checked_vectors cimport priority_queue
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.stack.configuration_draft cimport Member
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.terms.term_store cimport TermStore


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

    cdef int note_known(self, ConfigId config, int32_t length) except -1 nogil
    cdef ConfigId find(
        self, ConfigId config, vector[SymbolId]& out, int32_t* steps, bint hastily
    ) except -3 nogil
    cdef int32_t run(self, ConfigId config, int32_t* steps) except -2 nogil
    cdef bint is_alike(self, ConfigId config) except -1 nogil
    cdef int32_t count_alike(self, ConfigId config, uint64_t h) except -1 nogil
    cdef bint is_new(self, ConfigId config, Owed owed) except -1 nogil
    cdef int visit(self, ConfigId config, int32_t before, SymbolId symbol, int32_t length) except -1 nogil
    cdef int propose(self, int32_t index, SymbolId symbol, int32_t estimate) except -1 nogil
    cdef int propose_steps(self, int32_t index) except -1 nogil
    cdef int propose_owed(self, int32_t index) except -1 nogil
    cdef int follow(self, int32_t index, Owed owed) except -1 nogil
    cdef int rate_bytes(self, Member m, bint each) except -1 nogil
    cdef int propose_tokens(self, int32_t index, Member m) except -1 nogil
    cdef size_t nbytes(self) noexcept nogil
