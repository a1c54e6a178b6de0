from libc.stdint cimport int64_t

from stackmask.grammar.ir.expressions cimport Expression

cdef enum:
    MAX_DEPTH = 5000            # nesting of one expression; each level takes some of the C stack


cdef class RuleFacts:
    cdef dict bodies            # name -> expression; an inner expression that needs a rule is named by its id
    cdef list added             # names of bodies inside of the current expression
    cdef dict nullable          # name -> mask of bytes before which the rule can be empty
    cdef dict heights           # name -> more than that of every rule that it can call first
    cdef dict numbers           # name -> number of the rule, once it has one
    cdef set keyed              # rules that test keys of the object that they are called in
    cdef dict token_classes     # the sets of special tokens that the grammar has, and their numbers
    cdef dict token_numbers     # the same numbers by what is written: names, ids, whether it is negated
    cdef bint stacked           # it uses the built-in stack of strings

    cdef object callee(self, Expression item)


cdef int64_t next_number() noexcept
