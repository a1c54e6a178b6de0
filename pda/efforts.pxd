from libc.stdint cimport int32_t, int64_t

from stackmask.pda.interning cimport TermTable
from stackmask.pda.tables cimport KeyMap


cdef int64_t effort(TermTable terms, int32_t t, KeyMap* known, int depth) except -1
