# Tokens across the end of a text.
from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport (
    FAILED,
    ID_FAILED,
    ConfigId,
    ForcedPlaceId,
    ForcedRunId,
    NodeId,
    SymbolId,
    TokenClassId,
    TokenId,
)
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.vocabulary.token_trie cimport Trie


cdef class Crossings:
    cdef Trie trie                      # of the vocabulary
    cdef NodeId[256] root_child         # byte -> child of the trie's root, or NO_NODE
    cdef vector[TokenId] found          # scratch: tokens

    cdef ConfigId follow(self, ConfigId config, uint8_t byte) except ID_FAILED nogil
    cdef int set_trie(self, Trie trie) except FAILED
    cdef NodeId child_of(self, NodeId node, uint8_t byte) noexcept nogil
    cdef int collect(self, NodeId node, ConfigId config, size_t most) except FAILED nogil


# Runs of forced symbols.

cdef enum:
    RUN_BRANCH = 0      # several bytes or tokens may come, or the text may end
    RUN_TOKEN = 1       # nothing but one special token may come
    RUN_FINAL = 2       # the text is complete and cannot go on
    RUN_LONG = 3        # the limit of one run was met


cdef struct Place:
    ForcedRunId run
    int32_t offset      # bytes of the run before this place


cdef struct Run:
    size_t first        # bytes[first:first + length]; configs[first + i] is the place before byte i
    int32_t length
    ConfigId end        # the configuration after the run
    int32_t kind
    TokenId token       # RUN_TOKEN: the special token
    ConfigId after      # RUN_TOKEN: the configuration after it


cdef class ForcedRuns(Crossings):
    cdef ConfigSpace family
    cdef vector[TokenClassId] class_numbers  # token classes of the grammar
    cdef vector[TokenId] class_token    # token class -> its token if it is the only one, else NO_TOKEN
    cdef vector[Place] places
    cdef vector[Run] runs
    cdef vector[uint8_t] data
    cdef vector[ConfigId] configs
    cdef KeyMap place_of                # configuration -> index in places

    cdef int only_successor(self, ConfigId config, SymbolId* symbol, ConfigId* next) except FAILED nogil
    cdef ForcedPlaceId find(self, ConfigId config) except ID_FAILED nogil
    cdef bint inside_character(self, ConfigId config) except FAILED nogil
