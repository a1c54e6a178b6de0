cimport cython
from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from stackmask.grammar.ir.expressions cimport Expression
from stackmask.pda.ids cimport FAILED, ID_FAILED
from stackmask.pda.lowering.expressions_to_terms cimport RuleFacts, TermMaker


cdef struct KnownRule:
    Py_ssize_t refs             # where the rules that it refers to begin, and where they end
    Py_ssize_t refs_end
    int32_t number
    int32_t height
    bint keyed
    bint stacked


@cython.final
cdef class KnownRules:
    cdef dict places            # id of a body that newer tables have -> its place in the columns
    cdef list bodies            # these bodies, held, so that no other object gets their ids
    cdef int32_t forgotten      # rows before the first one
    cdef list nullable          # mask of bytes before which the rule can be empty, or None
    cdef vector[KnownRule] rules
    cdef list ref_names         # names, and ids of inner expressions that calls need a rule for
    cdef vector[int32_t] ref_numbers

    cdef int clear(self) except FAILED
    cdef Py_ssize_t find(self, Expression body, int64_t tag) except ID_FAILED
    cdef int put(self, Expression body, int64_t tag, KnownRule rule, object nullable) except FAILED


@cython.final
cdef class RuleScan:
    cdef object tables
    cdef int64_t tag            # of the tables: nodes know their terms there, and their rows
    cdef RuleFacts rules
    cdef TermMaker maker        # makes the terms of expressions without references
    cdef dict refs              # name -> names it refers to, and whether within the same object
    cdef dict users             # the inverse of refs, once it is needed; else None
    cdef int64_t scan_number

    cdef int add_references(self, object name) except FAILED
    cdef int scan(self, Expression expr, dict refs) except FAILED
    cdef set recall(self)
    cdef object known_pure(self, Expression body)
    cdef object empty_before(self, Expression expr)
    cdef int remember(self, list component) except FAILED
    cdef dict users_of(self)
    cdef bint calls_keyed(self) except FAILED
    cdef int spread_keys(self) except FAILED
    cdef int find_nullable(self, list names) except FAILED
    cdef int update_nullable(self, object name, dict todo) except FAILED
    cdef bint left_calls(self, Expression expr, dict found) except FAILED
    cdef int find_height(self, object name) except FAILED
    cdef int find_heights(self, list names) except FAILED


cdef Py_ssize_t height_above(dict called, dict heights) except FAILED
