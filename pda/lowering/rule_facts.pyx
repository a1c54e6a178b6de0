# distutils: language = c++
"""Facts about the rules of one grammar, for its lowering."""

cimport cython
from libc.stdint cimport int64_t

from stackmask.grammar.ir.expressions cimport REFERENCE, Expression, RuleRef

cdef int64_t numbers_given = 0


cdef int64_t next_number() noexcept:
    """Return a number that no lowering and no scan had before."""
    global numbers_given
    numbers_given += 1
    return numbers_given


@cython.final
cdef class RuleFacts:
    """Facts about the rules of one grammar, by name. An inner expression with a rule is named by its id.

    Owner: the lowering. Its scan finds out; the maker of terms reads numbers, and notes what terms use.
    """

    def __cinit__(self):
        self.bodies = {}
        self.added = []
        self.nullable = {}
        self.heights = {}
        self.numbers = {}
        self.keyed = set()
        self.token_classes = {}
        self.token_numbers = {}
        self.stacked = False

    cdef object callee(self, Expression item):
        """Return the name of the rule that stands for the item of a capture, scope or object."""
        if item.kind == REFERENCE:
            return (<RuleRef>item).name
        name = id(item)
        if name not in self.bodies:
            self.bodies[name] = item
            self.added.append(name)
        return name
