# distutils: language = c++
"""How many bytes are left from a configuration to an end of its text: what guides the search for one.

The local state, and the return states of the frames under it, need the fewest bytes of their terms. Inside an
object whose keys are tested, the first required key that is missing comes next, then what else the object
needs, then its end. Which order keys come in does not change how many bytes they take. What a further key
takes is told by the repetition of keys in the state itself, since objects of other keys may share key states.

For context-free grammars the estimate is exact. It is a guess where follow restrictions, actions and
resolvers decide; searches only go by it. A value of a semantic state may say how many bytes the text still
needs for its sake: its method ``owed``.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from stackmask.pda.context.callables cimport Owed
from stackmask.pda.context.object_keys cimport (
    KEYS_UNKNOWN,
    TEST_CLOSE,
    TEST_CONTINUE,
    TEST_SLOT,
    TEST_UNDECLARED,
    KeyState,
    is_slot,
    slot_of,
)
from stackmask.pda.context.semantic_states cimport Semantics, owed_at
from stackmask.pda.ids cimport ACTION_KEYED, FAILED, ID_FAILED, NO_TEST, MapId
from stackmask.pda.memory.byte_sets cimport has_bit
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_free, map_get, map_init, map_put, map_reset
from stackmask.pda.stack.configuration_table cimport BOTTOM_CONTINUATION, Edge
from stackmask.pda.terms.term_table cimport (
    CALL_RESOLVER,
    CALL_RULE,
    CALL_TEST,
    EMPTY,
    F_KEYS,
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
    Call,
)


# ------------------------------------------------------------------------------------------------
# The fewest bytes of a string of a term: a least fixpoint over (min, +), found on demand.
#
# Restrictions on what follows, tests of keys and what actions forbid are not asked here: the results are bounds
# from below, and exact for context-free grammars. Terms with ``&`` or ``!`` are searched by their derivatives.
# ------------------------------------------------------------------------------------------------


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
        """Return whether it is known for good what the required keys of an object add."""
        return <size_t>call < self.settled.size() and self.settled[call]

    cdef int begin_drafts(self) except FAILED nogil:
        """Remember the costs found from now on, until ``settle`` or ``abandon``: they go by drafts."""
        self.drafting = True
        self.unsettled_terms.clear()
        self.unsettled_rules.clear()
        return 0

    cdef bint state_object(self, CallId call, int32_t bytes) except FAILED nogil:
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

    cdef int32_t least(self, TermId t) except FAILED nogil:
        """Return the fewest bytes of a string of a term. Cost: a load once it is known."""
        if <size_t>t < self.of_term.size() and self.of_term[t].least:
            return self.of_term[t].least - 1
        self.solve(t)
        return self.of_term[t].least - 1

    cdef Cost cost_of(self, TermId t) except * nogil:
        """Return both costs of a term."""
        self.least(t)
        return self.of_term[t]

    cdef int solve(self, TermId t) except FAILED nogil:
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

    cdef bint survey(self, TermId t, vector[CallId]& objects) except FAILED nogil:
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

    cdef int collect(self, TermId t) except FAILED nogil:
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

    cdef int push(self, TermId t) except FAILED nogil:
        """Queue a term whose cost is not known."""
        if <size_t>t < self.of_term.size() and self.of_term[t].least:
            return 0
        if map_get(&self.place, t) == NO_VALUE:
            self.stack.push_back(<uint64_t>t << 1)
        return 0

    cdef int push_parts(self, TermId t) except FAILED nogil:
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

    cdef int search(self, TermId t, Cost* out) except FAILED nogil:
        """Find the costs of a term with ``&`` or ``!``."""
        cdef int32_t filled = NO_END
        self.search_filled(t, &filled)
        out[0] = cost(0 if self.terms.terms[t].nu.possible() else filled, filled)
        return 0

    cdef int search_filled(self, TermId t, int32_t* out) except FAILED nogil:
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


cdef enum:
    # how far the bytes of a term that tests keys are known
    QUEUED = 0
    BEGUN = 1
    KNOWN = 2
    UNKNOWN = -1
    PART_WORK = 10          # units of a part that is looked up: mostly it is in no cache
    PART_BYTES = 32         # of a part that is kept
    OBJECT_WORK = 32        # units of an object that is looked at: estimates may have to be forgotten for it
    MOST_PARTS = 1_000      # of a state, looked at for its repetition of keys
    ROUNDS = 5              # objects in objects whose keys are counted


cdef int32_t with_owed(int32_t left, Owed owed) noexcept nogil:
    """Return the bytes with those that a value needs; both know the rest of a name that was begun."""
    return max(left, owed.bytes) if owed.in_name else joined(left, owed.bytes)


cdef Missing* missing_of(Estimates estimates, TermId more, KeysId keys) except NULL nogil:
    """Return the record of a key state before further keys: use it before the next one is asked for."""
    cdef uint64_t key = (<uint64_t>more << 32) | <uint64_t>keys
    cdef int32_t at = map_get(&estimates.missing_index, key)
    cdef Missing nothing
    if at == NO_VALUE:
        at = <int32_t>estimates.missing_found.size()
        nothing.first = 0
        nothing.all = UNKNOWN
        # in this order: memory may run out between the two
        estimates.missing_found.push_back(nothing)
        map_put(&estimates.missing_index, key, at)
    return &estimates.missing_found[at]


@cython.final
cdef class KeyRepetitions:
    """The repetition of further keys in the states of objects, found when it is first asked for.

    A state inside of an object whose keys are tested ends in that repetition and the end of the object. What
    a further key takes, with what is between keys, is what one round of it takes.
    """

    def __cinit__(self, TermStore terms not None):
        self.terms = terms
        map_init(&self.index)

    def __dealloc__(self):
        map_free(&self.index)

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes are held."""
        return 12 * self.index.mask

    cdef TermId of_state(self, TermId state) except ID_FAILED nogil:
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


@cython.final
cdef class Estimates:
    """The estimates of one family. Hold the lock of the store to use it."""

    def __cinit__(self, ConfigSpace family not None, Semantics semantics not None, TermCosts costs not None):
        self.family = family
        self.terms = family.terms
        self.semantics = semantics
        self.costs = costs
        self.repetitions = KeyRepetitions(self.terms)
        self.relaxed = self.prepared = False
        map_init(&self.missing_index)
        map_init(&self.frame_index)
        map_init(&self.keyed_index)
        map_init(&self.representatives)

    def __dealloc__(self):
        map_free(&self.missing_index)
        map_free(&self.frame_index)
        map_free(&self.keyed_index)
        map_free(&self.representatives)

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes the results take."""
        cdef size_t held = self.frame_index.mask + self.keyed_index.mask + self.representatives.mask
        held += self.missing_index.mask
        held *= 16
        held += self.repetitions.nbytes()
        held += 4 * self.frame_found.capacity() + sizeof(Missing) * self.missing_found.capacity()
        return held + (sizeof(Tested) + 1) * self.keyed_found.capacity()

    cdef int prepare(self) except FAILED nogil:
        """Find what the objects of the grammar need, before what contains them is asked for.

        What other grammars of the store have found is taken as it is. Their other objects are not looked at:
        this request does not pay for them. If the work ends early, nothing is kept. Cost: once for a grammar.
        """
        cdef vector[CallId] unsettled
        cdef size_t i
        cdef bint done = False
        if self.prepared:
            return 0
        for i in range(self.objects.size()):
            if not self.costs.is_settled(self.objects[i]):
                unsettled.push_back(self.objects[i])
        self.costs.begin_drafts()
        try:
            self.draft(unsettled)
            self.costs.settle(unsettled)
            done = True
        finally:
            if not done:
                self.costs.abandon(unsettled)
                self.forget()
        self.prepared = True
        return 0

    cdef int draft(self, vector[CallId]& objects) except FAILED nogil:
        """State what objects need: they lie in each other, so until nothing changes, or a few times."""
        cdef size_t i
        cdef int32_t _round
        cdef CallId call
        cdef bint changed
        for _round in range(ROUNDS):
            changed = False
            self.forget()
            for i in range(objects.size(), 0, -1):
                # those found last lie in the others
                call = objects[i - 1]
                self.terms.meter.spend(OBJECT_WORK)
                changed = self.costs.state_object(call, self.of_object(call)) or changed
            if not changed:
                break
            self.costs.forget()
        self.forget()
        return 0

    cdef int32_t of_object(self, CallId call) except FAILED nogil:
        """Return what the keys that an object needs add to its body."""
        cdef KeysId keys = self.semantics.keys.fresh(self.terms.call_table[call].spec)
        cdef TermId body = self.terms.rule_body[self.terms.call_table[call].rule]
        cdef Tested found
        cdef int32_t first = 1
        if not self.needs_keys(keys):
            return 0
        self.relaxed = False
        self.keyed(body, keys, &found)
        if found.tested < NO_END:
            first = max(first, found.tested - self.costs.least(body))
        return min(joined(first, self.more_keys(body, keys)), <int32_t>NO_END - 1)

    cdef int forget(self) except FAILED nogil:
        """Forget all estimates: costs have changed."""
        map_reset(&self.keyed_index)
        map_reset(&self.frame_index)
        self.keyed_found.clear()
        self.keyed_stage.clear()
        self.frame_found.clear()
        map_reset(&self.missing_index)
        self.missing_found.clear()
        return 0

    cdef int32_t of_config(self, ConfigId config) except FAILED nogil:
        """Return the fewest bytes over the members; NO_END if there are none."""
        cdef int32_t i, first = self.family.configs[config].first, best = NO_END
        if self.family.configs[config].accepting:
            return 0
        self.terms.meter.spend(2 * self.family.configs[config].count)
        for i in range(first, first + self.family.configs[config].count):
            best = min(best, self.of_member(self.family.members[i]))
        return best

    cdef int32_t of_member(self, Member m) except FAILED nogil:
        """Return the bytes of a member: of its local state, and of the frames."""
        cdef KeysId keys = self.semantics.keys_at(m.sem)
        cdef int32_t left = joined(self.of_state(m.state, keys), self.of_frame(m.frame, keys))
        cdef Owed owed
        owed_at(self.semantics, m.sem, &owed)
        return with_owed(left, owed)

    cdef int32_t of_state(self, TermId state, KeysId keys) except FAILED nogil:
        """Return the bytes of a local state where an object has these keys."""
        cdef Tested found
        if not self.terms.terms[state].flags & F_KEYS:
            return self.costs.least(state)
        self.relaxed = False
        self.keyed(state, keys, &found)
        if found.untested >= NO_END and found.tested >= NO_END:
            # the name of a key that a shortest end would not have has begun
            self.relaxed = True
            self.keyed(state, keys, &found)
            self.relaxed = False
            return joined(found.tested, self.of_missing(self.repetitions.of_state(state), keys))
        return min(found.untested, joined(found.tested, self.more_keys(state, keys)))

    # -- frames ------------------------------------------------------------------------------------

    cdef KeysId keys_after(self, int32_t edge, KeysId keys) except ID_FAILED nogil:
        """Return the key state after the return along an edge. An undeclared key is taken to be new."""
        cdef Edge e = self.family.edges[edge]
        cdef KeysId after
        if e.action.restores_caller():
            return self.semantics.keys_at(e.saved)
        if keys > KEYS_UNKNOWN and e.action.is_capture() and self.semantics.is_key(e.action.action()):
            after = self.semantics.keys.use(self.semantics.keys.view(keys), 0)
            return keys if after < 0 else after
        return keys

    cdef uint64_t frame_key(self, FrameId frame, KeysId keys) noexcept nogil:
        """Return the key of a frame in the table."""
        return (<uint64_t>frame << 32) | <uint64_t>keys

    cdef int32_t of_frame(self, FrameId frame, KeysId keys) except FAILED nogil:
        """Return the fewest bytes from the return to a frame to the end. Cost: a look-up once it is known."""
        cdef uint64_t key = self.frame_key(frame, keys), above
        cdef int32_t at = map_get(&self.frame_index, key), e, best, first
        cdef KeysId after
        cdef bint ready
        if at != NO_VALUE:
            return self.frame_found[at]
        self.frame_stack.clear()
        self.frame_stack.push_back((<uint64_t>frame << 32) | <uint64_t>keys)
        while not self.frame_stack.empty():
            frame = <FrameId><int32_t>(self.frame_stack.back() >> 32)
            keys = <KeysId><int32_t><uint32_t>self.frame_stack.back()
            best = NO_END
            ready = True
            first = self.family.frames[frame].first
            self.terms.meter.spend(4 + 4 * self.family.frames[frame].count)
            for e in range(first, first + self.family.frames[frame].count):
                if self.family.edges[e].continuation == BOTTOM_CONTINUATION:
                    best = 0
                    continue
                after = self.keys_after(e, keys)
                above = self.frame_key(self.family.edges[e].parent, after)
                at = map_get(&self.frame_index, above)
                if at == NO_VALUE:
                    # parents are older than the frames that name them, so there is no circle
                    self.frame_stack.push_back(above)
                    ready = False
                elif ready:
                    best = min(
                        best,
                        joined(self.of_state(self.family.edges[e].continuation, after), self.frame_found[at]),
                    )
            if ready:
                self.frame_stack.pop_back()
                map_put(&self.frame_index, self.frame_key(frame, keys), <int32_t>self.frame_found.size())
                self.frame_found.push_back(best)
        return self.frame_found[map_get(&self.frame_index, key)]

    # -- keys of objects -----------------------------------------------------------------------------

    cdef bint is_wanted(self, KeysId keys, TestId test) noexcept nogil:
        """Return whether a shortest end of an object takes this test next: the first required key."""
        cdef int32_t required
        if self.relaxed or not self.semantics.keys.holds(keys, test):
            return self.semantics.keys.holds(keys, test)
        if self.semantics.keys.states[keys].missing == 0 or not is_slot(test):
            return test != TEST_UNDECLARED or self.semantics.keys.states[keys].missing == 0
        required = self.semantics.keys.specs[self.semantics.keys.states[keys].spec].required
        if not has_bit(&self.semantics.keys.words[required], test):
            return False
        if self.semantics.keys.specs[self.semantics.keys.states[keys].spec].ordered:
            return True
        return test == self.first_missing(keys)

    cdef TestId first_missing(self, KeysId keys) noexcept nogil:
        """Return the test of the first required slot that is missing, or NO_TEST; keys come in any order."""
        cdef KeyState* state = &self.semantics.keys.states[keys]
        cdef uint64_t* required = &self.semantics.keys.words[self.semantics.keys.specs[state.spec].required]
        cdef uint64_t* taken = &self.semantics.keys.words[state.taken]
        cdef uint64_t missing
        cdef int32_t i, bit
        for i in range(self.semantics.keys.specs[state.spec].words):
            missing = required[i] & ~taken[i]
            if missing:
                bit = 0
                while not missing & 1:
                    missing >>= 1
                    bit += 1
                return <TestId>(64 * i + bit)
        return NO_TEST

    cdef KeysId representative(self, KeysId keys) except ID_FAILED nogil:
        """Return one key state of all those in which terms need the same bytes.

        While required keys are missing, an end takes the first of them next, whatever else was taken. So
        what counts of the state is that key, and whether the object may go on or end.
        """
        cdef KeyState* state
        cdef uint64_t what
        cdef TestId first
        cdef int32_t found
        if self.relaxed or keys <= KEYS_UNKNOWN:
            return keys
        state = &self.semantics.keys.states[keys]
        if state.missing == 0 or self.semantics.keys.specs[state.spec].ordered:
            return keys
        first = self.first_missing(keys)
        what = (<uint64_t>state.spec << 32) | (<uint64_t>first << 3)
        what |= <uint64_t>self.semantics.keys.holds(keys, first) << 2
        what |= <uint64_t>self.semantics.keys.holds(keys, TEST_CONTINUE) << 1
        what |= <uint64_t>self.semantics.keys.holds(keys, TEST_CLOSE)
        found = map_get(&self.representatives, what)
        if found == NO_VALUE:
            map_put(&self.representatives, what, keys)
            found = keys
        return found

    cdef bint needs_keys(self, KeysId keys) noexcept nogil:
        """Return whether an object needs more keys."""
        cdef KeyState* state = &self.semantics.keys.states[keys]
        return state.missing != 0 or state.count < self.semantics.keys.specs[state.spec].min_count

    cdef int32_t more_keys(self, TermId state, KeysId keys) except FAILED nogil:
        """Return the bytes of the keys that an object still needs after the next one."""
        cdef TermId more = self.repetitions.of_state(state)
        cdef int32_t all = self.of_missing(more, keys)
        return all - missing_of(self, more, keys).first if all < NO_END else 0

    cdef int32_t of_missing(self, TermId more, KeysId keys) except FAILED nogil:
        """Return the bytes of all keys that an object still needs, with values and what is between them.

        ``more``: the repetition of further keys, or EMPTY. Cost: a look-up, once it is known.
        """
        cdef vector[KeysId] chain
        cdef KeyState* state
        cdef int32_t bytes = 0, first, left
        cdef size_t i
        cdef TestId test
        cdef Tested found
        while True:
            if missing_of(self, more, keys).all != UNKNOWN:
                bytes = missing_of(self, more, keys).all
                break
            if more == EMPTY or not self.needs_keys(keys):
                missing_of(self, more, keys).all = 0
                break
            self.relaxed = False
            self.keyed(more, keys, &found)
            first = max(found.tested, 1) if found.tested < NO_END else 1
            missing_of(self, more, keys).first = first
            state = &self.semantics.keys.states[keys]
            if not state.missing:
                left = self.semantics.keys.specs[state.spec].min_count - state.count
                bytes = <int32_t>min(<int64_t>first * left, <int64_t>NO_END - 1)
                missing_of(self, more, keys).all = bytes
                break
            chain.push_back(keys)
            test = TEST_SLOT
            while not self.is_wanted(keys, test):
                test = <TestId>(<int32_t>test + 1)
                self.terms.meter.spend(1)
                if test >= 64 * self.semantics.keys.specs[state.spec].words:
                    break
            if not self.is_wanted(keys, test):
                break
            keys = self.semantics.keys.take(keys, slot_of(test))
        for i in range(chain.size(), 0, -1):
            bytes = min(bytes + missing_of(self, more, chain[i - 1]).first, <int32_t>NO_END - 1)
            missing_of(self, more, chain[i - 1]).all = bytes
        return bytes

    cdef int keyed(self, TermId t, KeysId keys, Tested* out) except FAILED nogil:
        """Give the bytes of a term that tests keys, by those of its parts."""
        cdef int32_t at
        cdef TermId here
        cdef bint done = False
        self.term_stack.clear()
        keys = self.representative(keys)
        if self.part(t, keys, out):
            return 0
        try:
            while not self.term_stack.empty():
                here = <TermId><int32_t>self.term_stack.back()
                self.terms.meter.spend(8)
                at = map_get(&self.keyed_index, self.term_key(here, keys))
                if self.keyed_stage[at] != KNOWN:
                    self.keyed_stage[at] = BEGUN
                    if not self.ready(here, keys, out):
                        continue
                    self.keyed_found[at] = out[0]
                    self.keyed_stage[at] = KNOWN
                self.term_stack.pop_back()
            done = True
        finally:
            if not done:
                # what was begun is not known
                self.forget()
        self.part(t, keys, out)
        return 0

    cdef uint64_t term_key(self, TermId t, KeysId keys) noexcept nogil:
        """Return the key of a term in the table."""
        return (<uint64_t>t << 32) | (<uint64_t>self.relaxed << 31) | <uint64_t>keys

    cdef bint part(self, TermId t, KeysId keys, Tested* out) except FAILED nogil:
        """Give the bytes of a part; if they are not known, queue it and return False.

        A part that is met again inside of itself is taken to have no string: a shortest one does not need it.
        """
        cdef uint64_t key = self.term_key(t, keys)
        cdef int32_t at
        if not self.terms.terms[t].flags & F_KEYS:
            out.untested = self.costs.least(t)
            out.tested = NO_END
            return True
        out.untested = out.tested = NO_END
        self.terms.meter.spend(PART_WORK)
        at = map_get(&self.keyed_index, key)
        if at == NO_VALUE:
            self.terms.meter.hold(PART_BYTES)
            map_put(&self.keyed_index, key, <int32_t>self.keyed_found.size())
            self.keyed_found.push_back(out[0])
            self.keyed_stage.push_back(QUEUED)
        elif self.keyed_stage[at] != QUEUED:
            out[0] = self.keyed_found[at]
            return True
        self.term_stack.push_back(<uint64_t>t)
        return False

    cdef bint ready(self, TermId t, KeysId keys, Tested* out) except FAILED nogil:
        """Compose the bytes of a term of those of its parts; False if some had to be queued."""
        cdef Term u = self.terms.terms[t]
        cdef Tested a, b
        cdef int32_t k, next
        cdef bint known = True
        out.untested = out.tested = NO_END
        if u.kind == K_SEQ:
            known = self.part(u.seq.first, keys, &a)
            known = self.part(u.seq.rest, keys, &b) and known
            if known:
                next = self.costs.least(u.seq.rest)
                out.untested = joined(a.untested, b.untested)
                out.tested = min(joined(a.tested, next), joined(a.untested, b.tested))
        elif u.kind == K_ALT:
            for k in range(u.operands.count):
                if self.part(self.terms.kids[u.operands.first + k], keys, &a):
                    out.untested = min(out.untested, a.untested)
                    out.tested = min(out.tested, a.tested)
                else:
                    known = False
        elif u.kind == K_REP:
            known = self.part(u.rep.item, keys, &a)
            if known:
                out.untested = 0 if u.rep.low == 0 else a.untested
                next = 0 if u.rep.low <= 1 else self.costs.least(u.rep.item)
                out.tested = joined(a.tested, next)
        elif u.kind == K_CALL:
            known = self.of_keyed_call(u, keys, out)
        return known

    cdef bint of_keyed_call(self, Term u, KeysId keys, Tested* out) except FAILED nogil:
        """Give the same for a call: a test, or a rule that tests keys of this object."""
        cdef Call call = self.terms.call_table[u.call.id]
        if call.kind == CALL_TEST:
            if call.test == TEST_CONTINUE and self.semantics.keys.holds(keys, TEST_CONTINUE):
                # the key itself is tested next
                out.untested = 0
            elif self.is_wanted(keys, call.test):
                out.tested = 0
            return True
        if is_part(call):
            return self.part(self.terms.rule_body[call.rule], keys, out)
        out.untested = self.costs.least(self.terms.rule_body[call.rule]) if call.kind == CALL_RULE else 1
        return True
