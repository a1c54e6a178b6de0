from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport FAILED
from stackmask.pda.vocabulary.token_bytes cimport TokenBytes


cdef class TokenHistory:
    cdef TokenBytes texts
    cdef vector[int32_t] taken          # what each accept call took: a token, or TEXT
    cdef vector[size_t] text_calls      # the accept calls that took text
    cdef list pieces                    # the text that each of them took

    cdef TokenHistory copy(self)
    cdef int reserve(self) except FAILED
    cdef int push_text(self, bytes text) except FAILED
    cdef void keep(self, size_t calls) noexcept
    cdef bint has_text(self) noexcept
    cdef size_t first(self) noexcept


# The calls about forced text.

cdef class JumpCalls:
    cdef object find_plan(self, object context_ids)
    cdef object find_draft(self, object sources, object count, object batch)
