# The values of semantic states. See semantic_values.pyx.
from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.ids cimport TextId, ValueId

cdef enum:
    VALUE_OBJECT = 0
    VALUE_LINK = 1
    VALUE_SYMBOL = 2


cdef class SemanticValues:
    cdef list objects               # value -> object; None for links and the symbol
    cdef dict index                 # object -> value
    cdef size_t indexed             # entries of it
    cdef KeyMap links               # value << 32 | text -> link
    cdef vector[int32_t] kind       # VALUE_OBJECT, VALUE_LINK or VALUE_SYMBOL
    cdef vector[ValueId] parent     # links: the value that is without the last text
    cdef vector[TextId] text        # links: the text on top
    cdef vector[uint8_t] symbolic   # rests on the unknown state
    cdef vector[uint8_t] unsure     # and comes after an action that may have forbidden it

    cdef ValueId add(
        self, object value, int32_t kind, ValueId parent, TextId text, bint symbolic
    ) except -1 nogil
    cdef ValueId link(self, ValueId parent, TextId text) except -1 nogil
    cdef ValueId value_of(self, object value) except -1
    cdef size_t nbytes(self) noexcept nogil
