# distutils: language = c++
"""How terms can end: which guards may be pending there.

A guard is pending where a term ends after it, with no symbol between: what follows the term must satisfy it.
"""

cimport cython
from libc.stdint cimport int32_t, uint64_t

from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_clear, map_free, map_get, map_init, map_put
from stackmask.pda.terms.term_table cimport (
    CALL_RESOLVER,
    CALL_TEST,
    EMPTY,
    K_ALT,
    K_AND,
    K_CALL,
    K_EPS,
    K_GUARD,
    K_LIT,
    K_NOT,
    K_REP,
    K_SEQ,
    K_SET,
    K_TOKEN,
    Call,
    Term,
)


@cython.final
cdef class Endings:
    """The ends of the terms and rules of one table; each call gets the table. Owner: the term store."""

    def __cinit__(self, Constructors make not None, Steps steps not None):
        self.make = make
        self.steps = steps
        self.solving = False
        self.final = 0
        map_init(&self.index)
        map_init(&self.rule_index)

    def __dealloc__(self):
        map_free(&self.index)
        map_free(&self.rule_index)

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes this holds; the table is not counted."""
        cdef size_t pairs = self.found.size() + self.rule_found.size()
        cdef size_t held = 12 * (self.index.mask + self.rule_index.mask) + sizeof(Ends) * pairs
        return held + 8 * self.rule_keys.size()

    cdef int ends(self, TermTable table, TermId t, GuardId guard, Ends* out) except -1 nogil:
        """Give the guards that can be pending when t ends, if the next byte must satisfy ``guard``."""
        cdef uint64_t key = (<uint64_t>t << 6) | <uint64_t>guard
        cdef int32_t at = map_get(&self.index, key)
        if at != NO_VALUE:
            out[0] = self.found[at]
            return 0
        self.ends_of(table, t, guard, out)
        map_put(&self.index, key, <int32_t>self.found.size())
        self.found.push_back(out[0])
        return 0

    cdef int ends_of(self, TermTable table, TermId t, GuardId guard, Ends* out) except -1 nogil:
        """Find the guards that can be pending at the end of a term that starts under a guard."""
        cdef Ends part
        cdef uint64_t consumed = 0, silent = <uint64_t>1 << guard, next_silent, from_consumed
        cdef GuardId g
        cdef TermId first
        # visit the items of the sequence with the two sets of guards that can be pending there
        while True:
            first = table.terms[t].seq.first if table.terms[t].kind == K_SEQ else t
            next_silent = 0
            from_consumed = 0
            for g in range(<int32_t>table.classes.guard_sets.size()):
                if not ((consumed | silent) >> g) & 1:
                    continue
                if first == t:
                    self.ends_of_item(table, first, g, &part)
                else:
                    self.ends(table, first, g, &part)
                if (consumed >> g) & 1:
                    from_consumed |= part.consumed | part.silent
                if (silent >> g) & 1:
                    from_consumed |= part.consumed
                    next_silent |= part.silent
            consumed = from_consumed
            silent = next_silent
            if first == t:
                break
            t = table.terms[t].seq.rest
        out.consumed = consumed
        out.silent = silent
        return 0

    cdef int ends_of_item(self, TermTable table, TermId t, GuardId guard, Ends* out) except -1 nogil:
        """Find the same for a term that is no sequence."""
        cdef Term u = table.terms[t]
        cdef Ends part
        cdef Call call
        cdef int32_t k
        cdef int symbol
        out.consumed = 0
        out.silent = 0
        if u.kind == K_EPS:
            out.silent = <uint64_t>1 << guard
        elif u.kind == K_GUARD:
            out.silent = <uint64_t>1 << table.classes.guard_and(guard, u.guard)
        elif u.kind == K_TOKEN:
            out.consumed = 1
        elif u.kind == K_SET or u.kind == K_LIT:
            if self.make.guard_first(table, guard, t) != EMPTY:
                out.consumed = 1
        elif u.kind == K_AND or u.kind == K_NOT:
            for symbol in range(256):
                if table.classes.guard_has(guard, symbol) and self.steps.step(table, t, symbol) != EMPTY:
                    out.consumed = 1
                    break
            if u.nu.possible():
                out.silent = <uint64_t>1 << guard
        elif u.kind == K_ALT:
            for k in range(u.operands.count):
                self.ends(table, table.kids[u.operands.first + k], guard, &part)
                out.consumed |= part.consumed
                out.silent |= part.silent
        elif u.kind == K_CALL:
            call = table.call_table[u.call.id]
            if call.kind == CALL_TEST:
                out.silent = <uint64_t>1 << guard
            elif call.kind == CALL_RESOLVER:
                out.consumed = 1
            else:
                self.rule_ends(table, call.rule, guard, out)
            if u.call.nonempty:
                out.silent = 0
        elif u.kind == K_REP:
            self.ends_of_repeat(table, u, guard, out)
        return 0

    cdef int ends_of_repeat(self, TermTable table, Term u, GuardId guard, Ends* out) except -1 nogil:
        """Find the same for a repetition; ``out`` is empty so far."""
        cdef Ends part
        cdef uint64_t current_c, current_s, before_c, before_s
        cdef int32_t count
        cdef GuardId g
        # after i iterations the pending guards are (current_c, current_s); stop when they repeat
        current_c = 0
        current_s = <uint64_t>1 << guard
        count = 0
        while True:
            if count >= u.rep.low:
                before_c = out.consumed
                before_s = out.silent
                out.consumed |= current_c
                out.silent |= current_s
                if count > u.rep.low and before_c == out.consumed and before_s == out.silent:
                    break
            if count >= u.rep.high:
                break
            before_c = current_c
            before_s = current_s
            current_c = 0
            current_s = 0
            for g in range(<int32_t>table.classes.guard_sets.size()):
                if ((before_c | before_s) >> g) & 1:
                    self.ends(table, u.rep.item, g, &part)
                    if (before_c >> g) & 1:
                        current_c |= part.consumed | part.silent
                    if (before_s >> g) & 1:
                        current_c |= part.consumed
                        current_s |= part.silent
            count += 1
            if current_c == before_c and current_s == before_s and count < u.rep.low:
                count = u.rep.low
            if not current_c and not current_s:
                break
        return 0

    cdef int rule_ends(self, TermTable table, RuleId rule, GuardId guard, Ends* out) except -1 nogil:
        """Give the same for a rule: the least fixpoint over the rules, extended for each new (rule, guard).

        The results of earlier calls are final, as they depend on nothing newer: each call visits only its own
        pairs alone.
        """
        cdef uint64_t key = (<uint64_t>rule << 6) | <uint64_t>guard
        cdef int32_t at = map_get(&self.rule_index, key)
        cdef Ends now
        cdef size_t i
        if at == NO_VALUE:
            now.consumed = 0
            now.silent = 0
            at = <int32_t>self.rule_found.size()
            map_put(&self.rule_index, key, at)
            self.rule_found.push_back(now)
            self.rule_keys.push_back(key)
            self.changed = True
        if self.solving or <size_t>at < self.final:
            out[0] = self.rule_found[at]
            return 0
        self.solving = 1
        self.changed = True
        try:
            while self.changed:
                self.changed = False
                i = self.final
                while i < self.rule_keys.size():
                    key = self.rule_keys[i]
                    self.forget()
                    self.ends(table, table.rule_body[key >> 6], key & 63, &now)
                    if (
                        now.consumed != self.rule_found[i].consumed
                        or now.silent != self.rule_found[i].silent
                    ):
                        self.rule_found[i] = now
                        self.changed = True
                    i += 1
            self.final = self.rule_keys.size()
        finally:
            # an interrupted call leaves pairs that are not final; the next call visits them again
            self.solving = 0
            self.forget()
        out[0] = self.rule_found[at]
        return 0

    cdef int forget(self) except -1 nogil:
        """Drop the results for terms, which are valid for one round. Cost: that of the round."""
        self.found.clear()
        if self.index.mask > 8 * self.index.count + 64:
            map_free(&self.index)
            map_init(&self.index)
        else:
            map_clear(&self.index)
        return 0
