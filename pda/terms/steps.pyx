# distutils: language = c++
"""Steps from state to state: derivatives without alternatives that have no string, simplified."""

cimport cython
from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from stackmask.pda.terms.term_table cimport EMPTY, F_BOOL, K_ALT, K_SEQ, Term


@cython.final
cdef class Steps:
    """The steps between the terms of one table; each call gets the table. Owner: the store of the terms."""

    def __cinit__(
        self,
        Constructors make not None,
        Derivatives derivatives not None,
        Emptiness emptiness not None,
        Simplifier simplifier not None,
    ):
        self.make = make
        self.derivatives = derivatives
        self.emptiness = emptiness
        self.simplifier = simplifier

    cdef TermId step(self, TermTable table, TermId t, SymbolId symbol) except -1 nogil:
        """Return the derivative of a state, EMPTY where no string remains. Cost: a look-up once known."""
        cdef TermId d = self.derivatives.derive(table, t, symbol), first, simple
        if table.terms[d].flags & F_BOOL:
            d = self.prune(table, d)
        # after a search has found its pattern, the term that remains is "any text"
        first = table.terms[d].seq.first if table.terms[d].kind == K_SEQ else d
        if table.terms[first].kind >= K_SEQ and table.terms[first].nu.always():
            simple = self.simplifier.simplified(table, first)
            if simple != first:
                if table.terms[d].kind == K_SEQ:
                    simple = self.make.mk_seq(table, simple, table.terms[d].seq.rest)
                d = simple
        return d

    cdef TermId prune(self, TermTable table, TermId t) except -1 nogil:
        """Remove the alternatives that have no string."""
        cdef Term u = table.terms[t]
        cdef vector[TermId] items
        cdef int32_t k
        if not self.emptiness.is_live(table, t):
            return EMPTY
        if u.kind != K_ALT:
            return t
        for k in range(u.operands.count):
            if self.emptiness.is_live(table, table.kids[u.operands.first + k]):
                items.push_back(table.kids[u.operands.first + k])
        if <int32_t>items.size() == u.operands.count:
            return t
        return self.make.mk_alt(table, items, 0)
