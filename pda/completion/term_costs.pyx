# distutils: language = c++
"""The fewest bytes of a string of a term: a least fixpoint over (min, +), found on demand.

Restrictions on what follows, tests of keys and what actions forbid are not asked here: the results are bounds
from below, and exact for context-free grammars. Terms with ``&`` or ``!`` are searched by their derivatives.
"""

cimport cython

from stackmask.pda.ids cimport ACTION_KEYED, MapId
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_free, map_get, map_init, map_put, map_reset
from stackmask.pda.terms.term_table cimport (
    CALL_RESOLVER,
    CALL_RULE,
    CALL_TEST,
    Call,
    EMPTY,
    K_ALT,
    K_CALL,
    K_EMPTY,
    K_EPS,
    K_GUARD,
    K_LIT,
    K_REP,
    K_SEQ,
    K_SET,
    K_TOKEN,
)

cdef enum:
    MOST_SEARCHED = 20_000  # derivatives of one term with `&` or `!`
    DONE = 1                # on the stack: what the term consists of has been visited


cdef Cost cost(int32_t least, int32_t least_filled) noexcept nogil:
    cdef Cost found
    found.least = min(least, <int32_t>NO_END) + 1
    found.least_filled = min(least_filled, <int32_t>NO_END) + 1
    return found


@cython.final
cdef class TermCosts:
    """The fewest bytes of the terms of one store. Hold the lock of the store to use it."""

    def __cinit__(self, TermStore terms not None):
        self.terms = terms
        self.drafting = False
        map_init(&self.place)
        map_init(&self.rule_place)

    def __dealloc__(self):
        map_free(&self.place)
        map_free(&self.rule_place)

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes the results take."""
        return sizeof(Cost) * (self.of_term.size() + self.of_rule.size() + self.found.capacity())

    def nbytes_held(self):
        """Return about how many bytes the results take."""
        self.terms.meter.settle()
        return self.nbytes()

    # -- what objects need -------------------------------------------------------------------------

    cdef bint is_settled(self, CallId call) noexcept nogil:
        """Tell whether it is known for good what the required keys of an object add."""
        return <size_t>call < self.settled.size() and self.settled[call]

    cdef int begin_drafts(self) except -1 nogil:
        """Remember the costs found from now on, until ``settle`` or ``abandon``: they go by drafts."""
        self.drafting = True
        self.unsettled_terms.clear()
        self.unsettled_rules.clear()
        return 0

    cdef bint state_object(self, CallId call, int32_t bytes) except -1 nogil:
        """Say what the required keys of an object add. Return whether that is new."""
        if self.drafted.size() <= <size_t>call:
            self.drafted.resize(<size_t>call + 1, 0)
            self.settled.resize(<size_t>call + 1, False)
        if self.drafted[call] == bytes:
            return False
        self.drafted[call] = bytes
        return True

    cdef int forget(self) noexcept nogil:
        """Forget the costs that go by drafts: what objects need has changed."""
        cdef size_t i
        for i in range(self.unsettled_terms.size()):
            self.of_term[self.unsettled_terms[i]].least = 0
        for i in range(self.unsettled_rules.size()):
            self.of_rule[self.unsettled_rules[i]].least = 0
        self.unsettled_terms.clear()
        self.unsettled_rules.clear()
        return 0

    cdef int settle(self, vector[CallId]& objects) noexcept nogil:
        """Say that what was stated of these objects holds for good, and the costs that go by it."""
        cdef size_t i
        for i in range(objects.size()):
            self.settled[objects[i]] = True
        self.drafting = False
        return 0

    cdef int abandon(self, vector[CallId]& objects) noexcept nogil:
        """Forget what was stated of these objects, and the costs that went by it."""
        cdef size_t i
        self.forget()
        for i in range(objects.size()):
            if <size_t>objects[i] < self.drafted.size():
                self.drafted[objects[i]] = 0
        self.drafting = False
        return 0

    cdef int32_t least(self, TermId t) except -1 nogil:
        """Return the fewest bytes of a string of a term. Cost: a load once it is known."""
        if <size_t>t < self.of_term.size() and self.of_term[t].least:
            return self.of_term[t].least - 1
        self.solve(t)
        return self.of_term[t].least - 1

    cdef Cost cost_of(self, TermId t) except * nogil:
        """Return both costs of a term."""
        self.least(t)
        return self.of_term[t]

    cdef int solve(self, TermId t) except -1 nogil:
        """Find the costs of a term and of all that it consists of and calls.

        Rules begin without a string. Rounds over all terms, parts first, find shorter strings until there are
        no more. Results are kept when all are found, so that an interrupted call leaves nothing behind.
        """
        cdef size_t i
        cdef TermId body
        cdef bint changed = True
        cdef Cost now
        map_reset(&self.place)
        map_reset(&self.rule_place)
        self.order.clear()
        self.open_rules.clear()
        self.rule_found.clear()
        self.collect(t)
        self.found.resize(self.order.size())
        if self.of_term.size() < self.terms.terms.size():
            self.of_term.resize(self.terms.terms.size())
        if self.of_rule.size() < self.terms.rule_body.size():
            self.of_rule.resize(self.terms.rule_body.size())
        for i in range(self.found.size()):
            self.found[i] = cost(NO_END, NO_END)
        while changed:
            changed = False
            self.terms.meter.spend(4 + 2 * self.order.size())
            for i in range(self.order.size()):
                self.found[i] = self.composed(self.order[i])
            for i in range(self.open_rules.size()):
                body = self.terms.rule_body[self.open_rules[i]]
                now = self.known(body)
                if (
                    now.least != self.rule_found[i].least
                    or now.least_filled != self.rule_found[i].least_filled
                ):
                    self.rule_found[i] = now
                    changed = True
        if self.of_term.size() < self.terms.terms.size():
            # searches have made new terms
            self.of_term.resize(self.terms.terms.size())
        if self.drafting:
            # before they are kept: what is kept is in the lists
            for i in range(self.order.size()):
                self.unsettled_terms.push_back(self.order[i])
            for i in range(self.open_rules.size()):
                self.unsettled_rules.push_back(self.open_rules[i])
        for i in range(self.order.size()):
            self.of_term[self.order[i]] = self.found[i]
        for i in range(self.open_rules.size()):
            self.of_rule[self.open_rules[i]] = self.rule_found[i]
        return 0

    cdef bint survey(self, TermId t, vector[CallId]& objects) except -1 nogil:
        """List the calls of objects in a term and what it calls. Return whether it calls a resolver."""
        cdef KeyMap seen, listed
        cdef vector[TermId] todo
        cdef Term u
        cdef Call call
        cdef int32_t k
        cdef bint resolves = False
        map_init(&seen)
        map_init(&listed)
        try:
            todo.push_back(t)
            while not todo.empty():
                t = todo.back()
                todo.pop_back()
                if map_get(&seen, t) != NO_VALUE:
                    continue
                map_put(&seen, t, 1)
                self.terms.meter.spend(4)
                u = self.terms.terms[t]
                if u.kind == K_SEQ:
                    todo.push_back(u.seq.rest)
                    todo.push_back(u.seq.first)
                elif u.kind == K_ALT:
                    for k in range(u.operands.count):
                        todo.push_back(self.terms.kids[u.operands.first + k])
                elif u.kind == K_REP:
                    todo.push_back(u.rep.item)
                elif u.kind == K_CALL:
                    call = self.terms.call_table[u.call.id]
                    if call.kind == CALL_RESOLVER:
                        resolves = True
                    if call.kind == CALL_RULE:
                        todo.push_back(self.terms.rule_body[call.rule])
                        if call.action == ACTION_KEYED and map_get(&listed, u.call.id) == NO_VALUE:
                            map_put(&listed, u.call.id, 1)
                            objects.push_back(u.call.id)
        finally:
            map_free(&seen)
            map_free(&listed)
        return resolves

    cdef int collect(self, TermId t) except -1 nogil:
        """List what a term consists of, parts first; bodies of rules come before their calls if they can."""
        cdef uint64_t top
        self.stack.clear()
        self.push(t)
        while not self.stack.empty():
            top = self.stack.back()
            self.stack.pop_back()
            t = <TermId><int32_t>(top >> 1)
            if top & DONE:
                if map_get(&self.place, t) == NO_VALUE:
                    map_put(&self.place, t, <int32_t>self.order.size())
                    self.order.push_back(t)
                continue
            self.terms.meter.spend(4)
            self.stack.push_back(top | DONE)
            self.push_parts(t)
        return 0

    cdef int push(self, TermId t) except -1 nogil:
        """Queue a term whose cost is not known."""
        if <size_t>t < self.of_term.size() and self.of_term[t].least:
            return 0
        if map_get(&self.place, t) == NO_VALUE:
            self.stack.push_back(<uint64_t>t << 1)
        return 0

    cdef int push_parts(self, TermId t) except -1 nogil:
        """Queue what a term consists of, and the body of the rule that it calls."""
        cdef Term u = self.terms.terms[t]
        cdef Call call
        cdef int32_t k
        if u.kind == K_SEQ:
            self.push(u.seq.rest)
            self.push(u.seq.first)
        elif u.kind == K_ALT:
            for k in range(u.operands.count):
                self.push(self.terms.kids[u.operands.first + k])
        elif u.kind == K_REP:
            self.push(u.rep.item)
        elif u.kind == K_CALL:
            call = self.terms.call_table[u.call.id]
            if call.kind == CALL_RULE:
                if <size_t>call.rule < self.of_rule.size() and self.of_rule[call.rule].least:
                    return 0
                if map_get(&self.rule_place, call.rule) != NO_VALUE:
                    return 0
                map_put(&self.rule_place, call.rule, <int32_t>self.open_rules.size())
                self.open_rules.push_back(call.rule)
                self.rule_found.push_back(cost(NO_END, NO_END))
                self.push(self.terms.rule_body[call.rule])
        return 0

    cdef Cost known(self, TermId t) noexcept nogil:
        """Return the cost of a term as far as it is found."""
        cdef int32_t at
        if <size_t>t < self.of_term.size() and self.of_term[t].least:
            return self.of_term[t]
        at = map_get(&self.place, t)
        return cost(NO_END, NO_END) if at == NO_VALUE else self.found[at]

    cdef Cost composed(self, TermId t) except * nogil:
        """Return the cost of a term by those of its parts."""
        cdef Term u = self.terms.terms[t]
        cdef Cost a, b
        cdef int32_t k, times, least, filled
        if u.kind == K_EMPTY:
            return cost(NO_END, NO_END)
        if u.kind == K_EPS or u.kind == K_GUARD:
            return cost(0, NO_END)
        if u.kind == K_SET or u.kind == K_TOKEN:
            return cost(1, 1)
        if u.kind == K_LIT:
            return cost(u.literal.length, u.literal.length)
        if u.kind == K_CALL:
            return self.of_call(u)
        if u.kind == K_SEQ:
            a = self.known(u.seq.first)
            b = self.known(u.seq.rest)
            least = joined(a.least - 1, b.least - 1)
            filled = min(joined(a.least_filled - 1, b.least - 1), joined(a.least - 1, b.least_filled - 1))
            return cost(least, filled)
        if u.kind == K_ALT:
            self.terms.meter.spend(u.operands.count // 2)
            least = filled = NO_END
            for k in range(u.operands.count):
                a = self.known(self.terms.kids[u.operands.first + k])
                least = min(least, a.least - 1)
                filled = min(filled, a.least_filled - 1)
            return cost(least, filled)
        if u.kind == K_REP:
            a = self.known(u.rep.item)
            times = max(u.rep.low, 1)
            least = 0
            if u.rep.low > 0 and a.least > 1:
                least = NO_END if (a.least - 1) > NO_END // times else (a.least - 1) * times
            filled = least if least else a.least_filled - 1
            return cost(least, filled)
        a = self.known(t)
        if a.least > NO_END and a.least_filled > NO_END:
            # the first round: later ones would find the same
            self.search(t, &a)
        return a

    cdef Cost of_call(self, Term u) except * nogil:
        """Return the cost of a call: of the rule's body, one byte for a resolver, nothing for a test."""
        cdef Call call = self.terms.call_table[u.call.id]
        cdef Cost found
        cdef int32_t at
        if call.kind == CALL_TEST:
            return cost(0, NO_END)
        if call.kind == CALL_RESOLVER:
            return cost(1, 1)
        at = map_get(&self.rule_place, call.rule)
        found = self.of_rule[call.rule] if at == NO_VALUE else self.rule_found[at]
        if u.call.nonempty:
            found.least = found.least_filled
        if call.action == ACTION_KEYED and <size_t>u.call.id < self.drafted.size():
            return cost(
                joined(found.least - 1, self.drafted[u.call.id]),
                joined(found.least_filled - 1, self.drafted[u.call.id]),
            )
        return found

    cdef int search(self, TermId t, Cost* out) except -1 nogil:
        """Find the costs of a term with ``&`` or ``!``."""
        cdef int32_t filled = NO_END
        self.search_filled(t, &filled)
        out[0] = cost(0 if self.terms.terms[t].nu.possible() else filled, filled)
        return 0

    cdef int search_filled(self, TermId t, int32_t* out) except -1 nogil:
        """Find the fewest bytes of a string that is not empty, by a search of the derivatives in breadth."""
        cdef KeyMap seen
        cdef vector[TermId] level, next_level
        cdef size_t i
        cdef int32_t k, depth = 0, best = NO_END, visited = 0
        cdef MapId map
        cdef TermId d
        map_init(&seen)
        try:
            level.push_back(t)
            while not level.empty() and depth + 1 < best:
                depth += 1
                next_level.clear()
                for i in range(level.size()):
                    map = self.terms.classes_of(level[i])
                    self.terms.meter.spend(4 * self.terms.classes.maps[map].count)
                    for k in range(self.terms.classes.maps[map].count):
                        d = self.terms.step(level[i], self.terms.classes.maps[map].byte_of[k])
                        if d == EMPTY or map_get(&seen, d) != NO_VALUE:
                            continue
                        map_put(&seen, d, 1)
                        if self.terms.terms[d].nu.possible():
                            best = min(best, depth)
                        elif <size_t>d < self.of_term.size() and self.of_term[d].least:
                            best = min(best, joined(depth, self.of_term[d].least - 1))
                        next_level.push_back(d)
                        visited += 1
                level.swap(next_level)
                if visited > MOST_SEARCHED:
                    # a bound from below
                    best = min(best, depth)
                    break
        finally:
            map_free(&seen)
        out[0] = best
        return 0
