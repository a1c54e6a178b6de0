# distutils: language = c++
"""The masks to visit, each once, and the operands that visits find.

Ambiguous stacks reach the same mask over the same frame along several paths; one visit is enough.
"""

cimport cython

from stackmask.pda.ids cimport NO_PENDING
from stackmask.pda.memory.hash_tables cimport (
    NO_VALUE,
    map_clear,
    map_free,
    map_get,
    map_init,
    map_nbytes,
    map_put,
    map_reset,
    mix,
)

cdef enum:
    FEW_VISITS = 32      # up to here a list is searched, not hashed
    FEW_OPERANDS = 32    # so many of the last operands are searched for an equal one


cdef bint same_visit(const Visit& v, const Visit& w) noexcept nogil:
    return (
        v.mask == w.mask
        and v.frame == w.frame
        and v.continuation == w.continuation
        and v.action == w.action
        and v.filter == w.filter
        and v.keys == w.keys
        and v.unsure == w.unsure
    )


cdef uint64_t visit_hash(const Visit& v) noexcept nogil:
    cdef uint64_t h = mix(mix(mix(59, <uint32_t>v.mask), <uint32_t>v.frame), <uint32_t>v.continuation)
    h = mix(h, v.action.code())
    return mix(mix(h, <uint32_t>v.filter), (<uint64_t>v.keys << 1) | <uint64_t>v.unsure)


@cython.final
cdef class Worklist:
    """A list of distinct visits, in the order in which they were added."""

    def __cinit__(self):
        map_init(&self.index)
        self.indexed = False

    def __dealloc__(self):
        map_free(&self.index)

    cdef int clear(self) noexcept nogil:
        """Forget all visits."""
        self.visits.clear()
        self.indexed = False
        return 0

    cdef int drop(self) except -1 nogil:
        """Forget all visits, and give the memory back."""
        vector[Visit]().swap(self.visits)
        self.indexed = False
        return map_reset(&self.index)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held."""
        return sizeof(Visit) * self.visits.size() + map_nbytes(&self.index)

    cdef int add(self, const Visit& v) except -1 nogil:
        """Add a visit unless it is in the list. Cost: a look-up; one pass over a short list."""
        if not self.is_known(v):
            self.visits.push_back(v)
        return 0

    cdef bint is_known(self, const Visit& v) except -1 nogil:
        """Tell whether a visit is in the list.

        In a long list, a new visit is entered into the index here: the caller adds it to the list.
        """
        cdef size_t i, n = self.visits.size()
        cdef uint64_t h
        cdef int32_t at
        if n < FEW_VISITS:
            for i in range(n):
                if same_visit(v, self.visits[i]):
                    return True
            return False
        if not self.indexed:
            # the index still holds an earlier list
            self.indexed = True
            map_clear(&self.index)
            for i in range(n):
                h = visit_hash(self.visits[i])
                while map_get(&self.index, h) != NO_VALUE:
                    h += 1
                map_put(&self.index, h, <int32_t>i)
        h = visit_hash(v)
        while True:
            at = map_get(&self.index, h)
            if at == NO_VALUE:
                break
            if same_visit(v, self.visits[at]):
                return True
            h += 1
        map_put(&self.index, h, <int32_t>n)
        return False


@cython.final
cdef class Operands:
    """The operands of one fill: those whose tokens are allowed, and those that are only tried."""

    cdef int clear(self) noexcept nogil:
        """Forget all operands."""
        self.sure.clear()
        self.unsure.clear()
        return 0

    cdef int add(self, MaskId mask, FilterId filter, bint unsure) except -1 nogil:
        """Use the tokens that a mask allows whatever the stack is, unless a recent operand is equal."""
        cdef vector[Operand]* operands = &self.unsure if unsure else &self.sure
        cdef Operand operand
        cdef size_t i, n = operands.size()
        operand.mask = mask
        operand.pending = NO_PENDING
        operand.filter = filter
        for i in range(n - min(n, <size_t>FEW_OPERANDS), n):
            if same_operand(&operands[0][i], &operand):
                return 0
        operands.push_back(operand)
        return 0
