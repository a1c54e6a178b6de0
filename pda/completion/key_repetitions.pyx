# distutils: language = c++
"""The repetition of further keys in the states of an object.

A state inside of an object whose keys are tested ends in that repetition and the end of the object. What a
further key takes, with what is between keys, is what one round of it takes.
"""

cimport cython
from libc.stdint cimport int32_t, uint64_t

from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_free, map_get, map_init, map_put
from stackmask.pda.terms.term_table cimport EMPTY, F_KEYS, K_ALT, K_CALL, K_REP, K_SEQ, Term

cdef enum:
    MOST_PARTS = 1_000      # of a state that are looked at
    PART_WORK = 10          # units of one


@cython.final
cdef class KeyRepetitions:
    """The repetitions of the states of one store, found when they are first asked for."""

    def __cinit__(self, TermStore terms not None):
        self.terms = terms
        map_init(&self.index)

    def __dealloc__(self):
        map_free(&self.index)

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes are held."""
        return 12 * self.index.mask

    cdef TermId of_state(self, TermId state) except -1 nogil:
        """Return the repetition of further keys in a state of an object; EMPTY if there is none."""
        cdef int32_t found = map_get(&self.index, <uint64_t>state), k, parts = 0
        cdef TermId here
        cdef Term u
        cdef Call call
        if found != NO_VALUE:
            return <TermId>found
        found = <int32_t>EMPTY
        self.queue.clear()
        self.queue.push_back(state)
        while not self.queue.empty() and parts < MOST_PARTS:
            here = self.queue.back()
            self.queue.pop_back()
            parts += 1
            u = self.terms.terms[here]
            if not u.flags & F_KEYS:
                continue
            if u.kind == K_REP:
                found = <int32_t>here
                break
            if u.kind == K_SEQ:
                # what comes last is looked at first
                self.queue.push_back(u.seq.first)
                self.queue.push_back(u.seq.rest)
            elif u.kind == K_ALT:
                for k in range(u.operands.count):
                    self.queue.push_back(self.terms.kids[u.operands.first + k])
            elif u.kind == K_CALL:
                call = self.terms.call_table[u.call.id]
                if is_part(call):
                    self.queue.push_back(self.terms.rule_body[call.rule])
        self.terms.meter.spend(PART_WORK * parts)
        map_put(&self.index, <uint64_t>state, found)
        return <TermId>found
