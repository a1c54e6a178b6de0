# The texts of captures, as chains of bytes. See capture_texts.pyx.
from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.ids cimport TextId

cdef enum:
    # texts of undeclared keys in walks, which do not keep them: by the bytes read so far, none, one, more
    KEY_OF_NONE = 1
    KEY_OF_ONE = 2
    KEY_OF_MORE = 3
    FIRST_TEXT = 4


cdef class CaptureTexts:
    cdef KeyMap index               # text without its last byte << 8 | byte -> text; text 0 is empty
    cdef vector[TextId] parent      # the text without its last byte, or NO_PARENT
    cdef vector[uint8_t] last       # that byte
    cdef vector[int32_t] left       # bytes that the capture still keeps, or UNBOUNDED
    # of beginnings of keys: the text that they spell; NO_TEXT within an escape, and where nobody asked
    cdef vector[TextId] value
    cdef dict bounded               # most bytes kept -> the empty text of such captures

    cdef TextId bounded_text(self, object most) except -1
    cdef TextId longer(self, TextId text, uint8_t byte) except -1 nogil
    cdef int spell(self, TextId text, vector[uint8_t]& out) except -1 nogil
    cdef bytes text_of(self, TextId text)
    cdef size_t nbytes(self) noexcept nogil
