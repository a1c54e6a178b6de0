# distutils: language = c++
"""Literals by number: prefixes that are one fixed string or a few, such as the names of an object.

As a term, a literal is a chain with a term for each letter, which few walks ever need. So it is stored as a
list of items, interned by content. Its continuation is a term of its own.
"""

cimport cython

from libc.stdint cimport uint32_t

from stackmask.pda.ids cimport NO_MASK, NO_TERM
from stackmask.pda.masks.prefixes.prefix_cost cimport first_bytes_of_literal
from stackmask.pda.terms.term_table cimport EPS
from stackmask.pda.memory.hash_tables cimport (
    Probe,
    ids_free,
    ids_init,
    ids_nbytes,
    ids_next,
    ids_probe,
    ids_put,
    mix,
)


@cython.final
cdef class LiteralTable:
    """The literals of one store."""

    def __cinit__(self, TermStore terms not None):
        self.terms = terms
        ids_init(&self.index)

    def __dealloc__(self):
        ids_free(&self.index)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held here."""
        return sizeof(Literal) * self.literals.size() + 4 * self.items.size() + ids_nbytes(&self.index)

    cdef LiteralId number_of(self, const vector[TermId]& path) except -1 nogil:
        """Return the number of the literal with these items, at least one. Cost: linear in the items."""
        cdef Literal literal
        cdef const Literal* other
        cdef Probe probe
        cdef LiteralId id
        cdef size_t k, n = path.size()
        cdef uint64_t h = 83
        for k in range(n):
            h = mix(h, <uint32_t>path[k])
        probe = ids_probe(&self.index, h)
        id = ids_next(&self.index, &probe)
        while id >= 0:
            other = &self.literals[id]
            if other.count == <int32_t>n:
                k = 0
                while k < n and self.items[other.first + k] == path[k]:
                    k += 1
                if k == n:
                    return id
            id = ids_next(&self.index, &probe)
        literal.first = <int32_t>self.items.size()
        literal.count = <int32_t>n
        literal.term = NO_TERM
        literal.mask = NO_MASK
        literal.begins[0] = literal.begins[1] = literal.begins[2] = literal.begins[3] = 0
        first_bytes_of_literal(self.terms, path[0], literal.begins)
        for k in range(n):
            self.items.push_back(path[k])
        id = <int32_t>self.literals.size()
        self.literals.push_back(literal)
        ids_put(&self.index, &probe, id)
        return id

    cdef TermId term_of(self, Prefix prefix) except -1 nogil:
        """Return a prefix as one term. Remembered."""
        cdef LiteralId literal
        cdef Literal w
        cdef int32_t k
        if not prefix.is_literal:
            return as_term(prefix)
        literal = as_literal(prefix)
        w = self.literals[literal]
        if w.term == NO_TERM:
            w.term = EPS
            for k in range(w.first + w.count - 1, w.first - 1, -1):
                w.term = self.terms.mk_seq(self.items[k], w.term)
            self.literals[literal].term = w.term
        return w.term

    cdef int forget_masks(self) noexcept nogil:
        """Forget the masks of literals, since the store drops them."""
        cdef size_t k
        for k in range(self.literals.size()):
            self.literals[k].mask = NO_MASK
        return 0
