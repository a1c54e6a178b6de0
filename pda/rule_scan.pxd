from libc.stdint cimport int64_t

from stackmask.grammar.expressions cimport Expression

cdef enum:
    MAX_DEPTH = 5000            # nesting of one expression; each level takes some of the C stack


cdef class RuleScan:
    cdef object tables
    cdef dict bodies            # name -> expression; what calls need a rule for is named by its id
    cdef list added             # names of bodies that the expression at hand brought in
    cdef dict refs              # name -> names it refers to
    cdef dict nullable          # name -> mask of bytes before which the rule can be empty
    cdef dict heights
    cdef readonly dict numbers
    cdef int64_t scan_number
    cdef set keyed              # rules that test keys of the object that they are called in
    cdef readonly dict token_classes
    cdef readonly bint stacked

    cdef int scan(self, Expression expr, dict refs) except -1
    cdef object callee(self, Expression item)
    cdef set recall(self)
    cdef int remember(self, list component) except -1
    cdef int spread_keys(self, dict users) except -1


cdef int64_t next_number() noexcept
