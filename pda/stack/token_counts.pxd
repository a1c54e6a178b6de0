# Texts whose tokens are counted. See token_counts.pyx.
from libcpp.vector cimport vector

from stackmask.pda.ids cimport ConfigId, TermId
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.stack.closure cimport Closure
from stackmask.pda.stack.configuration_draft cimport ConfigDraft, Member
from stackmask.pda.stack.configuration_table cimport ConfigTable
from stackmask.pda.stack.frames cimport Edge, FrameGraph
from stackmask.pda.terms.term_store cimport TermStore


cdef struct CountedMember:
    # a member that has read text of the last token, once for each edge that it returns along
    Member member
    Edge edge


cdef class TokenCounts:
    # owner: ConfigSpace
    cdef TermStore terms
    cdef FrameGraph graph
    cdef ConfigTable table
    cdef Closure closure
    cdef ConfigDraft draft              # the configuration in the making
    cdef KeyMap known                   # configuration -> the one after the end of a token
    cdef vector[CountedMember] counted  # scratch
    cdef vector[Edge] edges             # scratch
    cdef TermId rest                    # what ends a character; EMPTY before it is needed

    cdef bint counts(self, const Member& member) noexcept nogil
    cdef bint is_open(self, ConfigId config) noexcept nogil
    cdef ConfigId after_token(self, ConfigId config) except -3 nogil
    cdef ConfigId charge(self, ConfigId config) except -3 nogil
    cdef int add_counted(self) except -3 nogil
    cdef TermId rest_of_character(self, TermId state) except -1 nogil
    cdef size_t nbytes(self) noexcept nogil
