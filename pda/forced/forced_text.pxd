# Runs of forced symbols. See forced_text.pyx.
from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport ConfigId, ForcedPlaceId, ForcedRunId, SymbolId, TokenClassId, TokenId
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.forced.boundary_tokens cimport Crossings
from stackmask.pda.memory.hash_tables cimport KeyMap


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

    cdef int only_successor(self, ConfigId config, SymbolId* symbol, ConfigId* next) except -1 nogil
    cdef ForcedPlaceId find(self, ConfigId config) except -1 nogil
    cdef bint inside_character(self, ConfigId config) except -1 nogil
