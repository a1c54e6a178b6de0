# distutils: language = c++
"""Terms that are equal to a shorter term, as far as a short search of their derivatives shows it.

Without this, operands of intersections pile up. The intersection of a pattern and a length becomes a counter
again, and a pattern that has been found becomes "any text" again.
"""

cimport cython
from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport UNBOUNDED
from stackmask.pda.memory.hash_tables cimport NO_VALUE, KeyMap, map_free, map_get, map_init, map_put
from stackmask.pda.terms.constructors cimport NO_TERM
from stackmask.pda.terms.term_table cimport (
    DEAD,
    EMPTY,
    EPS,
    F_BOOL,
    F_IMPURE,
    K_ALT,
    K_REP,
    K_SEQ,
    LIVE,
    Term,
)
from stackmask.pda.terms.utf8_languages cimport is_wellformed

cdef enum:
    MAX_SIMPLE = 600    # derivatives visited to see that a term is equal to a repetition


cdef bint ask_is_textual(void* simplifier, TermTable table, TermId t) except -1 nogil:
    return (<Simplifier>simplifier).is_textual(table, t)


cdef TermId ask_both_repeats(void* simplifier, TermTable table, TermId a, TermId b) except -2 nogil:
    return (<Simplifier>simplifier).both_repeats(table, a, b)


cdef TermId ask_simplified(void* simplifier, TermTable table, TermId t) except -1 nogil:
    return (<Simplifier>simplifier).simplified(table, t)


@cython.final
cdef class Simplifier:
    """Searches about operands of intersections; each call gets the table of the terms.

    Owner: the store of the terms. While it lives, the constructors and derivatives that it was given call it.
    They borrow this reference, so that the four are no cycle.
    """

    def __cinit__(
        self, Constructors make not None, Derivatives derivatives not None, Emptiness emptiness not None
    ):
        self.make = make
        self.derivatives = derivatives
        self.emptiness = emptiness
        self.searching = False
        map_init(&self.simple)
        map_init(&self.textual)
        map_init(&self.known_subsets)
        map_init(&self.known_codes)
        make.rules.simplifier = <void*>self
        make.rules.is_textual = ask_is_textual
        make.rules.both_repeats = ask_both_repeats
        derivatives.simplifier = <void*>self
        derivatives.simplify = ask_simplified

    def __dealloc__(self):
        if self.make is not None:
            self.make.rules.simplifier = NULL
        if self.derivatives is not None:
            self.derivatives.simplify = NULL
        map_free(&self.simple)
        map_free(&self.textual)
        map_free(&self.known_subsets)
        map_free(&self.known_codes)

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes this holds; the table is not counted."""
        return 12 * (self.simple.mask + self.textual.mask + self.known_subsets.mask + self.known_codes.mask)

    cdef TermId simplified(self, TermTable table, TermId t) except -1 nogil:
        """Return x* for a regular term that means x* but is not written so; else the term. Remembered.

        Cost: a search of at most MAX_SIMPLE derivatives.
        """
        cdef vector[TermId] items
        cdef TermId x
        cdef int32_t found
        if table.terms[t].kind == K_REP or table.terms[t].flags & F_IMPURE:
            return t
        found = map_get(&self.simple, t)
        if found != NO_VALUE:
            return found
        if self.searching:
            # a search would start searches without end
            return t
        map_put(&self.simple, t, t)
        x = self.star_in(table, t)
        if x == NO_TERM:
            return t
        items.push_back(t)
        items.push_back(self.make.mk_not(table, x))
        self.searching = True
        try:
            if self.is_empty_soon(table, self.make.mk_and(table, items)):
                map_put(&self.simple, t, x)
                return x
        finally:
            self.searching = False
        return t

    cdef TermId star_in(self, TermTable table, TermId t) except -2 nogil:
        """Return the unbounded repetition that is one of the alternatives of a term, or NO_TERM."""
        cdef Term u = table.terms[t]
        cdef Term r
        cdef TermId s
        cdef int32_t k, count = 1
        if u.kind == K_ALT:
            count = u.operands.count
        table.meter.spend(2 * count)
        for k in range(count):
            s = table.kids[u.operands.first + k] if u.kind == K_ALT else t
            r = table.terms[s]
            if r.kind == K_SEQ and table.terms[r.seq.rest].nu.always():
                s = r.seq.first
                r = table.terms[s]
            if r.kind == K_REP and r.rep.low == 0 and r.rep.high == UNBOUNDED:
                return s
        return NO_TERM

    cdef bint is_empty_soon(self, TermTable table, TermId t) except -1 nogil:
        """Tell whether a term is seen to be empty within MAX_SIMPLE derivatives."""
        cdef vector[TermId] queue
        cdef KeyMap seen
        cdef size_t next = 0
        cdef TermId u, d
        cdef MapId map
        cdef int32_t k
        if t == EMPTY:
            return True
        map_init(&seen)
        try:
            queue.push_back(t)
            map_put(&seen, t, 1)
            while next < queue.size():
                u = queue[next]
                if table.terms[u].nu.possible() or table.terms[u].live == LIVE:
                    return False
                map = self.derivatives.classes_of(table, u)
                table.meter.spend(8 + 6 * table.classes.maps[map].count)
                for k in range(table.classes.maps[map].count):
                    d = self.derivatives.derive(table, u, table.classes.maps[map].byte_of[k])
                    if d == EMPTY or table.terms[d].live == DEAD or map_get(&seen, d) != NO_VALUE:
                        continue
                    if table.terms[d].nu.possible():
                        return False
                    map_put(&seen, d, 1)
                    queue.push_back(d)
                next += 1
                if queue.size() > MAX_SIMPLE:
                    return False
        finally:
            map_free(&seen)
        return True

    cdef bint is_textual(self, TermTable table, TermId t) except -1 nogil:
        """Tell whether a term is a repetition that holds well-formed UTF-8 only. Remembered."""
        cdef vector[TermId] items
        cdef int32_t known
        if table.terms[t].kind != K_REP or table.terms[t].flags & (F_BOOL | F_IMPURE):
            return False
        known = map_get(&self.textual, t)
        if known == NO_VALUE:
            map_put(&self.textual, t, 0)
            if is_wellformed(table, t):
                map_put(&self.textual, t, 1)
                return True
            items.push_back(t)
            items.push_back(self.make.mk_not(table, self.make.any_text))
            known = not self.emptiness.is_live(table, self.make.mk_and(table, items))
            map_put(&self.textual, t, known)
        return known == 1

    cdef TermId both_repeats(self, TermTable table, TermId a, TermId b) except -2 nogil:
        """Return the intersection of two repetitions if it is one repetition, else NO_TERM.

        x{…} & y{…} is x{m,n} where every x is a y and y is a prefix code, so that strings split into y in
        one way. A pattern of one character class with a length is such a case, and is a counter again. For
        every x, x* & x{m,n} is x{m,n}.
        """
        cdef Term s = table.terms[a]
        cdef Term t = table.terms[b]
        cdef int32_t low, high
        if s.kind != K_REP or t.kind != K_REP or (s.flags | t.flags) & (F_BOOL | F_IMPURE):
            return NO_TERM
        if s.rep.item == t.rep.item:
            if s.rep.low == 0 and s.rep.high == UNBOUNDED:
                return b
            if t.rep.low == 0 and t.rep.high == UNBOUNDED:
                return a
            if not self.is_code(table, s.rep.item):
                return NO_TERM
        elif self.is_code(table, t.rep.item) and self.is_subset(table, s.rep.item, t.rep.item):
            pass
        elif self.is_code(table, s.rep.item) and self.is_subset(table, t.rep.item, s.rep.item):
            s.rep.item = t.rep.item
        else:
            return NO_TERM
        low = s.rep.low if s.rep.low > t.rep.low else t.rep.low
        high = min(s.rep.high, t.rep.high)
        if high < low:
            return EMPTY
        return self.make.mk_rep(table, s.rep.item, low, high)

    cdef bint is_subset(self, TermTable table, TermId a, TermId b) except -1 nogil:
        """Tell whether b is seen to hold every string of a. Remembered."""
        cdef uint64_t key = (<uint64_t>a << 32) | <uint64_t>b
        cdef int32_t found = map_get(&self.known_subsets, key)
        cdef vector[TermId] items
        if found == NO_VALUE:
            items.push_back(a)
            items.push_back(self.make.mk_not(table, b))
            found = self.is_empty_soon(table, self.make.mk_and(table, items))
            map_put(&self.known_subsets, key, found)
        return found == 1

    cdef bint is_code(self, TermTable table, TermId item) except -1 nogil:
        """Tell whether a term is seen to be a prefix code: no string of it begins another one. Remembered."""
        cdef TermId d
        cdef MapId map
        cdef int32_t found = map_get(&self.known_codes, item), k
        cdef vector[TermId] queue
        cdef KeyMap seen
        cdef size_t next = 0
        if found != NO_VALUE:
            return found == 1
        found = not table.terms[item].nu.possible()
        map_init(&seen)
        try:
            queue.push_back(item)
            while found and next < queue.size():
                map = self.derivatives.classes_of(table, queue[next])
                table.meter.spend(8 + 6 * table.classes.maps[map].count)
                for k in range(table.classes.maps[map].count):
                    d = self.derivatives.derive(table, queue[next], table.classes.maps[map].byte_of[k])
                    if d == EMPTY or d == EPS or map_get(&seen, d) != NO_VALUE:
                        continue
                    map_put(&seen, d, 1)
                    queue.push_back(d)
                    if table.terms[d].nu.possible() or queue.size() > MAX_SIMPLE:
                        found = 0
                next += 1
        finally:
            map_free(&seen)
        map_put(&self.known_codes, item, found)
        return found == 1
