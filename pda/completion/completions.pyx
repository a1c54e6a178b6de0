# distutils: language = c++
"""Ends of texts: minimal lengths, shortest ends as tokens, and masks that keep an end within a budget."""

cimport cython
from cython.operator cimport dereference, preincrement
from libc.string cimport memcpy, memset
from libcpp.algorithm cimport lower_bound, reverse

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
from stackmask.pda.context.semantic_states cimport owed_at
from stackmask.pda.ids cimport ACTION_KEYED, NO_SUMMARY, NO_TEST, NO_TOKEN, SemId
from stackmask.pda.memory.byte_sets cimport has_bit
from stackmask.pda.memory.checked_vectors cimport refill
from stackmask.pda.memory.hash_tables cimport NO_VALUE, mix
from stackmask.pda.stack.configuration_table cimport BOTTOM_CONTINUATION, DEAD, Edge
from stackmask.pda.terms.term_table cimport (
    CALL_RESOLVER,
    CALL_RULE,
    CALL_TEST,
    EMPTY,
    F_KEYS,
    F_TOKEN,
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
    MAP_ONE,
    Call,
    is_byte,
    token_class_of,
    token_symbol,
)
from stackmask.pda.vocabulary.token_trie cimport SubtreeSummary

# How many bytes are left to the end of a configuration.


# The fewest bytes of terms and rules.

cdef enum:
    NO_END = 1 << 28        # more bytes than any string that is looked for: there is none

cdef inline int32_t joined(int32_t a, int32_t b) noexcept nogil:
    # the bytes of two strings, one after the other
    return min(a + b, <int32_t>NO_END)


cdef inline bint is_part(const Call& call) noexcept nogil:
    # Return whether a call is of a rule that tests keys of the same object.
    return call.kind == CALL_RULE and call.action != ACTION_KEYED


# Which tokens leave enough tokens to end the text.


# Where tokens lead, with configurations that differ only in captured texts as one.

cdef enum:
    NO_SHAPE = -1           # nothing comes after a byte


# ------------------------------------------------------------------------------------------------
# How many bytes are left from a configuration to an end of its text: what guides the search for one.
#
# The local state, and the return states of the frames under it, need the fewest bytes of their terms. Inside an
# object whose keys are tested, the first required key that is missing comes next, then what else the object
# needs, then its end. Which order keys come in does not change how many bytes they take. What a further key
# takes is told by the repetition of keys in the state itself, since objects of other keys may share key states.
#
# For context-free grammars the estimate is exact. It is a guess where follow restrictions, actions and
# resolvers decide; searches only go by it. A value of a semantic state may say how many bytes the text still
# needs for its sake: its method ``owed``.
# ------------------------------------------------------------------------------------------------


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
    """The minimal lengths in bytes of the terms of one store. The caller holds the lock of the store."""

    def __cinit__(self, TermStore terms not None):
        self.terms = terms
        self.drafting = False

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes of the results."""
        return sizeof(Cost) * (self.of_term.size() + self.of_rule.size() + self.found.capacity())

    def nbytes_held(self):
        """Return the approximate number of bytes of the results."""
        self.terms.meter.settle()
        return self.nbytes()

    # -- what objects need -------------------------------------------------------------------------

    cdef bint is_settled(self, CallId call) noexcept nogil:
        """Return whether it is final how many bytes the required keys of an object add."""
        return <size_t>call < self.settled.size() and self.settled[call]

    cdef int begin_drafts(self) except FAILED nogil:
        """Record the costs that are found until ``settle`` or ``abandon``, since they depend on drafts."""
        self.drafting = True
        self.unsettled_terms.clear()
        self.unsettled_rules.clear()
        return 0

    cdef bint state_object(self, CallId call, int32_t bytes) except FAILED nogil:
        """Set the number of bytes that the required keys of an object add. Return whether it is new."""
        if self.drafted.size() <= <size_t>call:
            self.drafted.resize(<size_t>call + 1, 0)
            self.settled.resize(<size_t>call + 1, False)
        if self.drafted[call] == bytes:
            return False
        self.drafted[call] = bytes
        return True

    cdef int forget(self) noexcept nogil:
        """Drop the costs that depend on drafts, since the requirements of objects have changed."""
        cdef size_t i
        for i in range(self.unsettled_terms.size()):
            self.of_term[self.unsettled_terms[i]].least = 0
        for i in range(self.unsettled_rules.size()):
            self.of_rule[self.unsettled_rules[i]].least = 0
        self.unsettled_terms.clear()
        self.unsettled_rules.clear()
        return 0

    cdef int settle(self, vector[CallId]& objects) noexcept nogil:
        """Make the statements about these objects final, with the costs that depend on them."""
        cdef size_t i
        for i in range(objects.size()):
            self.settled[objects[i]] = True
        self.drafting = False
        return 0

    cdef int abandon(self, vector[CallId]& objects) noexcept nogil:
        """Drop the statements about these objects, and the costs that depended on them."""
        cdef size_t i
        self.forget()
        for i in range(objects.size()):
            if <size_t>objects[i] < self.drafted.size():
                self.drafted[objects[i]] = 0
        self.drafting = False
        return 0

    cdef int32_t least(self, TermId t) except FAILED nogil:
        """Return the minimal length in bytes of the strings of a term. Cost: a load once it is known."""
        if <size_t>t < self.of_term.size() and self.of_term[t].least:
            return self.of_term[t].least - 1
        self.solve(t)
        return self.of_term[t].least - 1

    cdef int solve(self, TermId t) except FAILED nogil:
        """Find the costs of a term and of all its parts and callees.

        Rules begin without a string. Rounds over all terms, parts first, find shorter strings until there are
        no more. Results are kept only when all are found, so that an interrupted call has no effect.
        """
        cdef size_t i
        cdef TermId body
        cdef bint changed = True
        cdef Cost now
        self.place.reset()
        self.rule_place.reset()
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
        """List the calls of objects in a term and in its callees. Return whether a resolver is called."""
        cdef KeyMap seen, listed
        cdef vector[TermId] todo
        cdef Term u
        cdef Call call
        cdef int32_t k
        cdef bint resolves = False
        todo.push_back(t)
        while not todo.empty():
            t = todo.back()
            todo.pop_back()
            if seen.get(t) != NO_VALUE:
                continue
            seen.put(t, 1)
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
                    if call.action == ACTION_KEYED and listed.get(u.call.id) == NO_VALUE:
                        listed.put(u.call.id, 1)
                        objects.push_back(u.call.id)
        return resolves

    cdef int collect(self, TermId t) except FAILED nogil:
        """List the parts of a term in dependency order; bodies of rules come before their calls if possible."""
        cdef uint64_t top
        self.stack.clear()
        self.push(t)
        while not self.stack.empty():
            top = self.stack.back()
            self.stack.pop_back()
            t = <TermId><int32_t>(top >> 1)
            if top & DONE:
                if self.place.get(t) == NO_VALUE:
                    self.place.put(t, <int32_t>self.order.size())
                    self.order.push_back(t)
                continue
            self.terms.meter.spend(4)
            self.stack.push_back(top | DONE)
            self.push_parts(t)
        return 0

    cdef int push(self, TermId t) except FAILED nogil:
        """Queue a term whose cost is unknown."""
        if <size_t>t < self.of_term.size() and self.of_term[t].least:
            return 0
        if self.place.get(t) == NO_VALUE:
            self.stack.push_back(<uint64_t>t << 1)
        return 0

    cdef int push_parts(self, TermId t) except FAILED nogil:
        """Queue the parts of a term, and the body of the rule that it calls."""
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
                if self.rule_place.get(call.rule) != NO_VALUE:
                    return 0
                self.rule_place.put(call.rule, <int32_t>self.open_rules.size())
                self.open_rules.push_back(call.rule)
                self.rule_found.push_back(cost(NO_END, NO_END))
                self.push(self.terms.rule_body[call.rule])
        return 0

    cdef Cost known(self, TermId t) noexcept nogil:
        """Return the cost of a term, as far as the cost is known."""
        cdef int32_t at
        if <size_t>t < self.of_term.size() and self.of_term[t].least:
            return self.of_term[t]
        at = self.place.get(t)
        return cost(NO_END, NO_END) if at == NO_VALUE else self.found[at]

    cdef Cost composed(self, TermId t) except * nogil:
        """Return the cost of a term from the costs of its parts."""
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
        """Return the cost of a call: that of a rule's body, one byte for a resolver, nothing for a test."""
        cdef Call call = self.terms.call_table[u.call.id]
        cdef Cost found
        cdef int32_t at
        if call.kind == CALL_TEST:
            return cost(0, NO_END)
        if call.kind == CALL_RESOLVER:
            return cost(1, 1)
        at = self.rule_place.get(call.rule)
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
        """Find the minimal length of a non-empty string, by a breadth-first search of the derivatives."""
        cdef KeyMap seen
        cdef vector[TermId] level, next_level
        cdef size_t i
        cdef int32_t k, depth = 0, best = NO_END, visited = 0
        cdef MapId map
        cdef TermId d
        level.push_back(t)
        while not level.empty() and depth + 1 < best:
            depth += 1
            next_level.clear()
            for i in range(level.size()):
                map = self.terms.classes_of(level[i])
                self.terms.meter.spend(4 * self.terms.classes.maps[map].count)
                for k in range(self.terms.classes.maps[map].count):
                    d = self.terms.step(level[i], self.terms.classes.maps[map].byte_of[k])
                    if d == EMPTY or seen.get(d) != NO_VALUE:
                        continue
                    seen.put(d, 1)
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
    """Return the bytes combined with those that a value needs. Both include the rest of a begun name."""
    return max(left, owed.bytes) if owed.in_name else joined(left, owed.bytes)


cdef Missing* missing_of(Estimates estimates, TermId more, KeysId keys) except NULL nogil:
    """Return the record of a key state before further keys. It is invalid after the next request."""
    cdef uint64_t key = (<uint64_t>more << 32) | <uint64_t>keys
    cdef int32_t at = estimates.missing_index.get(key)
    cdef Missing nothing
    if at == NO_VALUE:
        at = <int32_t>estimates.missing_found.size()
        nothing.first = 0
        nothing.all = UNKNOWN
        # in this order: memory may run out between the two
        estimates.missing_found.push_back(nothing)
        estimates.missing_index.put(key, at)
    return &estimates.missing_found[at]


@cython.final
cdef class KeyRepetitions:
    """The repetitions of further keys in the states of objects, which are found on demand.

    A state inside an object whose keys are tested ends with this repetition and the end of the object. The
    length of a further key, with its separator, is the length of one round.
    """

    def __cinit__(self, TermStore terms not None):
        self.terms = terms

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes held."""
        return self.index.nbytes()

    cdef TermId of_state(self, TermId state) except ID_FAILED nogil:
        """Return the repetition of further keys in a state of an object; EMPTY if there is none."""
        cdef int32_t found = self.index.get(<uint64_t>state), k, parts = 0
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
        self.index.put(<uint64_t>state, found)
        return <TermId>found


@cython.final
cdef class Estimates:
    """The estimates of one family. The caller holds the lock of the store."""

    def __cinit__(self, ConfigSpace family not None, Semantics semantics not None, TermCosts costs not None):
        self.family = family
        self.terms = family.terms
        self.semantics = semantics
        self.costs = costs
        self.repetitions = KeyRepetitions(self.terms)
        self.relaxed = self.prepared = False

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes of the results."""
        cdef size_t held = self.frame_index.nbytes() + self.keyed_index.nbytes() + self.representatives.nbytes()
        held += self.missing_index.nbytes() + self.repetitions.nbytes()
        held += 4 * self.frame_found.capacity() + sizeof(Missing) * self.missing_found.capacity()
        return held + (sizeof(Tested) + 1) * self.keyed_found.capacity()

    cdef int prepare(self) except FAILED nogil:
        """Find the requirements of the grammar's objects, before the terms that contain them.

        Results of other grammars in the store are reused. Other objects of these grammars are ignored, so
        that this request does not pay for them. If the work ends early, nothing is kept. Cost: once per
        grammar.
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
        """Set the requirements of objects, which may be nested: repeat until nothing changes, or a few times."""
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
        """Return the number of bytes that the required keys of an object add to its body."""
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
        """Drop all estimates, since costs have changed."""
        self.keyed_index.reset()
        self.frame_index.reset()
        self.keyed_found.clear()
        self.keyed_stage.clear()
        self.frame_found.clear()
        self.missing_index.reset()
        self.missing_found.clear()
        return 0

    cdef int32_t of_config(self, ConfigId config) except FAILED nogil:
        """Return the minimal length over the members; NO_END if there are none."""
        cdef int32_t i, first = self.family.configs[config].first, best = NO_END
        if self.family.configs[config].accepting:
            return 0
        self.terms.meter.spend(2 * self.family.configs[config].count)
        for i in range(first, first + self.family.configs[config].count):
            best = min(best, self.of_member(self.family.members[i]))
        return best

    cdef int32_t of_member(self, Member m) except FAILED nogil:
        """Return the bytes that a member needs for its local state and its frames."""
        cdef KeysId keys = self.semantics.keys_at(m.sem)
        cdef int32_t left = joined(self.of_state(m.state, keys), self.of_frame(m.frame, keys))
        cdef Owed owed
        owed_at(self.semantics, m.sem, &owed)
        return with_owed(left, owed)

    cdef int32_t of_state(self, TermId state, KeysId keys) except FAILED nogil:
        """Return the bytes that a local state needs inside an object with these keys."""
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
        """Return the key state after the return along an edge. An undeclared key is assumed to be new."""
        cdef Edge e = self.family.edges[edge]
        cdef KeysId after
        if e.action.restores_caller():
            return self.semantics.keys_at(e.saved)
        if keys > KEYS_UNKNOWN and e.action.is_capture() and self.semantics.is_key(e.action.action()):
            after = self.semantics.keys.use(self.semantics.keys.view(keys), 0)
            return keys if after < 0 else after
        return keys

    cdef uint64_t frame_key(self, FrameId frame, KeysId keys) noexcept nogil:
        """Return the key for a frame in the table."""
        return (<uint64_t>frame << 32) | <uint64_t>keys

    cdef int32_t of_frame(self, FrameId frame, KeysId keys) except FAILED nogil:
        """Return the minimal length from the return to a frame to the end. Cost: a look-up once it is known."""
        cdef uint64_t key = self.frame_key(frame, keys), above
        cdef int32_t at = self.frame_index.get(key), e, best, first
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
                at = self.frame_index.get(above)
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
                self.frame_index.put(self.frame_key(frame, keys), <int32_t>self.frame_found.size())
                self.frame_found.push_back(best)
        return self.frame_found[self.frame_index.get(key)]

    # -- keys of objects -----------------------------------------------------------------------------

    cdef bint is_wanted(self, KeysId keys, TestId test) noexcept nogil:
        """Return whether a shortest end of an object takes this test next, for the first required key."""
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
        """Return the test of the first missing required slot, or NO_TEST; keys come in any order."""
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
        """Return a representative of all key states in which terms need equally many bytes.

        While required keys are missing, a completion takes the first of them next, regardless of the others.
        So only this key matters, and whether the object may continue or end.
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
        found = self.representatives.get(what)
        if found == NO_VALUE:
            self.representatives.put(what, keys)
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
        """Return the bytes of all keys that an object still needs, with values and separators.

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
        """Set the bytes of a term that tests keys, given those of its parts."""
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
                at = self.keyed_index.get(self.term_key(here, keys))
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
        """Return the key for a term in the table."""
        return (<uint64_t>t << 32) | (<uint64_t>self.relaxed << 31) | <uint64_t>keys

    cdef bint part(self, TermId t, KeysId keys, Tested* out) except FAILED nogil:
        """Find the bytes of a part; if they are unknown, queue the part and return False.

        A recursive part is assumed to have no string, since a shortest string does not need it.
        """
        cdef uint64_t key = self.term_key(t, keys)
        cdef int32_t at
        if not self.terms.terms[t].flags & F_KEYS:
            out.untested = self.costs.least(t)
            out.tested = NO_END
            return True
        out.untested = out.tested = NO_END
        self.terms.meter.spend(PART_WORK)
        at = self.keyed_index.get(key)
        if at == NO_VALUE:
            self.terms.meter.hold(PART_BYTES)
            self.keyed_index.put(key, <int32_t>self.keyed_found.size())
            self.keyed_found.push_back(out[0])
            self.keyed_stage.push_back(QUEUED)
        elif self.keyed_stage[at] != QUEUED:
            out[0] = self.keyed_found[at]
            return True
        self.term_stack.push_back(<uint64_t>t)
        return False

    cdef bint ready(self, TermId t, KeysId keys, Tested* out) except FAILED nogil:
        """Compute the bytes of a term from those of its parts. Return False if parts had to be queued."""
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
        """As ``ready``, for a call: a test, or a rule that tests keys of this object."""
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


# ------------------------------------------------------------------------------------------------
# The shortest ends of configurations, as tokens.
#
# The shortest text is cut into the fewest tokens: a dynamic program over the token trie. A search in breadth
# over tokens, bounded in work, then looks for a longer text of fewer tokens. The result is a witness: each
# configuration on its way is noted with the next token and the number of tokens that are left, which only
# falls. So a text that follows its witness ends in time, whatever it was before.
# ------------------------------------------------------------------------------------------------


# ------------------------------------------------------------------------------------------------
# The shortest text that ends a configuration: A* over the configurations of a family.
#
# The search steps real configurations, so what it finds is a text of the grammar, with follow restrictions,
# actions, resolvers and keys as they are. Steps are proposed by the estimates of local states, and taken only
# when it is their turn: where the estimates are exact, one step is taken for each byte of the result. Where
# they are not, the search may be large. After some steps it is repeated with places left out that look like
# others: equal local states and estimates, whatever was written. Then it goes on in depth, by the step that
# looks shortest, which finds a longer text soon; then in breadth, with weight on the estimates; then it gives
# up.
#
# Where a value of a semantic state says what its text needs (``grammar.ir.Owed``), that text is tried as a
# whole, of each class of bytes in a name only one is tried at first, and the search ends some steps after it
# has met an end.
# ------------------------------------------------------------------------------------------------


cdef enum:
    ENDS = -1               # in place of a symbol: the text may end, or goes on as is known
    SAMPLES = 10            # bytes of a class that are tried inside of a capture, where each may count
    STEP_WORK = 12          # units of a step taken, beside the step itself
    VISIT_WORK = 40         # ... of a configuration: a look at every byte, before and after
    RATE_WORK = 12          # ... of a class of bytes that is rated
    SAMPLE_WORK = 16        # ... and of the search for other bytes of the class
    PROPOSAL_WORK = 8       # ... of a step that is queued
    # how what is left counts beside what was written
    EXACT = 1
    IN_DEPTH = 0            # the place that was reached last goes on first
    PROGRESS = 8            # ... or by a step after which less is left, from so many places before
    WEIGHTED = 3
    # steps that are taken at most
    MOST_ALIKE = 8          # places with equal local states and estimates, once they are left out
    STAGES = 7
    FEW_STEPS = 2_000
    MOST_OWED_STEPS = 5_000     # of a stage where values say what their texts need
    MOST_FOLLOWED = 2       # places with equal local states where the same text is tried
    BYTES_OF_A_STEP = 8     # of such a text
    HINTED_STEPS = 300      # once a text was found that a value proposed
    NOVEL_STEPS = 3_000
    EXACT_STEPS = 200       # and for each byte that seems to be left
    STEPS_FOR_A_BYTE = 4
    MOST_EXACT_STEPS = 4_000
    FEW_DEPTH_STEPS = 3_000
    DEPTH_STEPS = 20_000
    WEIGHTED_STEPS = 50_000
    MORE_SYMBOLS = 16       # in haste, a known end is taken that is so much longer than twice its estimate


cdef struct Stage:
    # one search of those that follow each other
    int32_t most            # steps; 0: as many as an exact search may take
    int32_t weight
    int32_t samples         # bytes of a class that are tried inside of a capture
    bint leaves_out         # places that are like enough others
    bint only_owed          # only where a value says what its text needs

cdef Stage[7] STAGE = [
    Stage(0, EXACT, 1, False, False),
    Stage(FEW_STEPS, EXACT, 1, True, True),
    Stage(0, EXACT, SAMPLES, False, True),
    Stage(NOVEL_STEPS, EXACT, SAMPLES, True, False),
    Stage(FEW_DEPTH_STEPS, IN_DEPTH, SAMPLES, True, False),
    Stage(DEPTH_STEPS, IN_DEPTH, SAMPLES, False, False),
    Stage(WEIGHTED_STEPS, WEIGHTED, SAMPLES, False, False),
]


@cython.final
cdef class TextSearch:
    """Searches in one family. The caller holds the lock of the store."""

    def __cinit__(self, Estimates estimates not None):
        self.family = estimates.family
        self.terms = estimates.terms
        self.estimates = estimates

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes held."""
        cdef size_t held = sizeof(Reached) * self.reached.capacity() + self.known.nbytes() + self.seen.nbytes()
        return held + sizeof(Proposal) * self.proposals.capacity()

    cdef int note_known(self, ConfigId config, int32_t length) except FAILED nogil:
        """Record that a configuration can end with ``length`` symbols, so that searches may stop there."""
        self.known.put(config, length)
        return 0

    cdef ConfigId find(
        self, ConfigId config, vector[SymbolId]& out, int32_t* steps, bint hastily
    ) except ID_FAILED nogil:
        """Append the symbols from a configuration to another one that may end, or whose end is known.

        ``steps``: the maximum number of steps, which is decremented. ``hastily``: give the estimate of the
        rest more weight, to find a text sooner that may be longer.
        Returns: the configuration after these symbols; DEAD if none was found within the bounds.
        """
        cdef int32_t index, stage, allowed, granted, left = self.estimates.of_config(config)
        cdef size_t first = out.size()
        cdef int32_t exact
        cdef Stage now
        self.hastily = hastily
        left = min(left, <int32_t>MOST_EXACT_STEPS)
        exact = min(EXACT_STEPS + STEPS_FOR_A_BYTE * left, <int32_t>MOST_EXACT_STEPS)
        for stage in range(STAGES):
            now = STAGE[stage]
            if now.only_owed and not self.owes:
                continue
            self.weight = WEIGHTED if hastily else now.weight
            self.samples = now.samples
            self.leaves_out = now.leaves_out
            allowed = now.most or exact
            if self.owes:
                allowed = min(allowed, <int32_t>MOST_OWED_STEPS)
            granted = allowed = min(allowed, steps[0])
            index = self.run(config, &allowed)
            steps[0] -= granted - allowed
            if index >= 0:
                out.resize(first + self.reached[index].length)
                config = self.reached[index].config
                while self.reached[index].before >= 0:
                    out[first + self.reached[index].length - 1] = self.reached[index].symbol
                    index = self.reached[index].before
                return config
            if (self.queue.empty() and not self.leaves_out and not self.owes) or steps[0] <= 0:
                # all there is was visited
                break
        return DEAD

    cdef int32_t run(self, ConfigId config, int32_t* steps) except ID_FAILED nogil:
        """Search, and return the index of an entry that may end; -1 if the steps do not suffice."""
        cdef int32_t index, more = HINTED_STEPS
        cdef ConfigId next
        cdef Proposal now
        cdef priority_queue[pair[uint64_t, int32_t]] nothing
        self.steps = steps
        self.reached.clear()
        self.proposals.clear()
        self.seen.reset()
        self.alike.reset()
        self.owes = self.hinted = False
        self.end_index = -1
        self.queue.swap(nothing)  # to take out one by one would take longer than to put in
        self.seen.put(config, 1)
        self.visit(config, -1, 0, 0)
        while not self.queue.empty() and steps[0] > 0 and more > 0:
            if self.hinted and self.end_index >= 0:
                more -= 1
            now = self.proposals[self.queue.top().second]
            self.queue.pop()
            if <int32_t>now.symbol == ENDS:
                return now.index
            index = now.index
            self.terms.meter.spend(STEP_WORK)
            next = self.family.step(self.reached[index].config, now.symbol)
            steps[0] -= 1
            if next <= DEAD or self.seen.get(next) != NO_VALUE:
                continue
            self.seen.put(next, 1)
            if self.leaves_out and self.is_alike(next):
                continue
            self.visit(next, index, now.symbol, self.reached[index].length + 1)
        return self.end_index if self.hinted else -1

    cdef bint is_alike(self, ConfigId config) except FAILED nogil:
        """Return whether enough entries with the same local states and the same estimate were visited."""
        return self.count_alike(config, mix(71, <uint32_t>self.estimates.of_config(config))) > MOST_ALIKE

    cdef int32_t count_alike(self, ConfigId config, uint64_t h) except FAILED nogil:
        """Count another entry with the same local states and hash, and return the number of such entries."""
        cdef int32_t i, first = self.family.configs[config].first, count
        for i in range(first, first + self.family.configs[config].count):
            h = mix(h, <uint32_t>self.family.members[i].state)
        count = self.alike.get(h)
        count = 1 if count == NO_VALUE else count + 1
        self.alike.put(h, count)
        return count

    cdef int visit(self, ConfigId config, int32_t before, SymbolId symbol, int32_t length) except FAILED nogil:
        """Enter a configuration, and propose its steps."""
        cdef Reached at
        cdef int32_t known, index, left
        at.config = config
        at.before = before
        at.symbol = symbol
        at.length = length
        self.reached.push_back(at)
        self.idle = joined(self.estimates.of_config(config), 1) if self.weight == IN_DEPTH else -1
        if self.family.configs[config].accepting:
            return self.propose(<int32_t>self.reached.size() - 1, <SymbolId>ENDS, 0)
        known = self.known.get(config)
        if known != NO_VALUE:
            if self.hastily:
                left = self.estimates.of_config(config)
                if self.far_off or known <= <int64_t>MORE_SYMBOLS + 2 * <int64_t>left:
                    known = 0  # it is taken at once
            self.propose(<int32_t>self.reached.size() - 1, <SymbolId>ENDS, known)
        index = <int32_t>self.reached.size() - 1
        self.propose_steps(index)
        return self.propose_owed(index)

    cdef int propose(self, int32_t index, SymbolId symbol, int32_t estimate) except FAILED nogil:
        """Queue a step.

        Shorter texts come first. Among equally long ones, known ones come first, then those nearest to an
        end.
        """
        cdef Proposal step
        cdef pair[uint64_t, int32_t] entry
        cdef uint64_t whole = <uint64_t>self.reached[index].length
        whole += <uint64_t>self.weight * <uint64_t>estimate
        if estimate >= NO_END:
            return 0
        self.terms.meter.spend(PROPOSAL_WORK)
        if <int32_t>symbol == ENDS and (self.end_index < 0 or whole < self.end_length):
            self.end_index = index
            self.end_length = whole
        step.index = index
        step.symbol = symbol
        entry.first = ~((whole << 29) | (0 if <int32_t>symbol == ENDS else <uint64_t>estimate))
        if self.weight == IN_DEPTH:
            entry.first = <uint64_t>(index + (PROGRESS if estimate < self.idle else 0)) << 32
            # of steps after which as much is left, as after a blank, what is no blank comes first
            entry.first |= <uint32_t>symbol if estimate == self.idle else <uint64_t>(NO_END - estimate)
        entry.second = <int32_t>self.proposals.size()
        self.proposals.push_back(step)
        self.queue.push(entry)
        return 0

    cdef int propose_steps(self, int32_t index) except FAILED nogil:
        """Propose the steps from a configuration: one for each class of bytes, a few inside captures."""
        cdef ConfigId config = self.reached[index].config
        cdef int32_t i, first = self.family.configs[config].first
        cdef Member m
        self.terms.meter.spend(VISIT_WORK)
        for i in range(256):
            self.best[i] = NO_END
        for i in range(first, first + self.family.configs[config].count):
            m = self.family.members[i]
            self.rate_bytes(m, self.family.configs[config].capturing)
            if self.terms.terms[m.state].flags & F_TOKEN:
                self.propose_tokens(index, m)
        for i in range(255, -1, -1):
            if self.best[i] < NO_END:
                self.propose(index, <SymbolId>i, joined(self.best[i], 1))
        return 0

    cdef int propose_owed(self, int32_t index) except FAILED nogil:
        """Propose the text that values require next, all at once, as far as it can be read."""
        cdef ConfigId config = self.reached[index].config
        cdef int32_t i, first = self.family.configs[config].first, last = -1
        cdef Owed owed
        for i in range(first, first + self.family.configs[config].count):
            owed_at(self.estimates.semantics, self.family.members[i].sem, &owed)
            if owed.count and owed.first != last and self.is_new(config, owed):
                last = owed.first
                self.follow(index, owed)
        return 0

    cdef bint is_new(self, ConfigId config, Owed owed) except FAILED nogil:
        """Return whether the text was not yet tried at some entries with the same local states."""
        return self.count_alike(config, mix(73, <uint32_t>owed.first)) <= MOST_FOLLOWED

    cdef int follow(self, int32_t index, Owed owed) except FAILED nogil:
        """Read a text from a configuration, and propose the last step."""
        cdef size_t before = self.reached.size()
        cdef Reached at = self.reached[index]
        cdef ConfigId config = at.config
        cdef int32_t k, place = index
        cdef SymbolId symbol = 0
        for k in range(owed.count):
            if k:
                at.before = place
                at.config = config
                at.symbol = symbol
                at.length += 1
                place = <int32_t>self.reached.size()
                self.reached.push_back(at)
            self.terms.meter.spend(STEP_WORK)
            # by its index: the texts may move while values are asked
            symbol = self.estimates.semantics.callables.owed_text[owed.first + k]
            config = self.family.step(config, symbol)
            if config <= DEAD:
                self.reached.resize(before)
                break
        self.steps[0] -= 1 + (k + 1) // BYTES_OF_A_STEP
        if config <= DEAD:
            return 0
        self.hinted = True
        return self.propose(place, symbol, joined(self.estimates.of_config(config), 1))

    cdef int rate_bytes(self, Member m, bint each) except FAILED nogil:
        """Estimate the rest after the bytes that a member may read. ``each``: several bytes of a class."""
        cdef KeysId keys = self.estimates.semantics.keys_at(m.sem)
        cdef int32_t under = self.estimates.of_frame(m.frame, keys), k, byte, left, count, most = SAMPLES
        cdef Owed owed
        cdef TermId d
        cdef MapId map
        if under >= NO_END:
            return 0
        owed_at(self.estimates.semantics, m.sem, &owed)
        if owed.bytes:
            self.owes = True
            most = self.samples
        map = self.terms.classes_of(m.state)
        count = self.terms.classes.maps[map].count
        self.terms.meter.spend(count * (RATE_WORK + SAMPLE_WORK if each else RATE_WORK))
        for k in range(self.terms.classes.maps[map].count):
            byte = self.terms.classes.maps[map].byte_of[k]
            d = self.terms.step(m.state, byte)
            if d == EMPTY:
                continue
            left = joined(self.estimates.of_state(d, keys), under)
            left = with_owed(left, owed)
            self.best[byte] = min(self.best[byte], left)
            if each and left < NO_END:
                count = 1
                while count < most and byte < 255:
                    byte += 1
                    if self.terms.classes.maps[map].of[byte] == k:
                        self.best[byte] = min(self.best[byte], left)
                        count += 1
        return 0

    cdef int propose_tokens(self, int32_t index, Member m) except FAILED nogil:
        """Propose the special tokens that a member may read."""
        cdef KeysId keys = self.estimates.semantics.keys_at(m.sem)
        cdef int32_t under = self.estimates.of_frame(m.frame, keys), k
        cdef TermId d
        for k in range(self.terms.token_classes):
            d = self.terms.step(m.state, token_symbol(k))
            if d != EMPTY:
                self.propose(
                    index, token_symbol(k), joined(joined(self.estimates.of_state(d, keys), under), 1)
                )
        return 0


cdef enum:
    SMALL_TRIE = 2_000      # nodes: of such vocabularies, most minima are found exactly
    # nodes that the search by tokens visits at most
    FEW_VISITS = 20_000
    MANY_VISITS = 400_000
    # units of work that it takes at most: most are new configurations
    FEW_UNITS = 200_000
    MANY_UNITS = 3_000_000
    MOST_IN_CAPTURES = 250  # of these inside of captures, where each is a new configuration
    MOST_SYMBOLS = 1 << 20  # of a shortest text
    MOST_PLACES = 1 << 12   # of one whose places are all noted


cdef int64_t spent(TermStore terms) noexcept nogil:
    """Return the total units of work of a store so far."""
    return terms.meter.done + terms.meter.granted - terms.meter.credit


cdef int64_t allowance(Trie trie) noexcept nogil:
    """Return the number of nodes that a search by tokens may visit."""
    return MANY_VISITS if trie.nodes < SMALL_TRIE else FEW_VISITS


@cython.final
cdef class Completions:
    """The shortest completions in one family. The caller holds the lock of the store.

    ``token_classes``: the special tokens of the grammar, {ids: number of the class}.
    ``start``: its first term.
    """

    def __cinit__(
        self,
        ConfigSpace family not None,
        Semantics semantics not None,
        TermCosts costs not None,
        Trie trie not None,
        token_classes,
        TermId start,
    ):
        cdef vector[TokenId] ids
        cdef SpecialClass special
        self.family = family
        self.terms = family.terms
        self.trie = trie
        self.texts = trie.character_groups.token_bytes
        self.estimates = Estimates(family, semantics, costs)
        self.search = TextSearch(self.estimates)
        self.resolves = self.search.far_off = costs.survey(start, self.estimates.objects)
        for listed, number in token_classes.items():
            ids.clear()
            for token in sorted(listed):
                ids.push_back(token)
            special.number = number
            special.tokens = ids
            self.classes.push_back(special)

    def belongs_to(self, ConfigSpace family):
        """Return whether the completions are those of this family."""
        return self.family is family

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes held."""
        cdef size_t held = sizeof(Completion) * self.found.size() + self.index.nbytes() + self.met.nbytes()
        return held + self.estimates.nbytes() + self.search.nbytes()

    # -- results -----------------------------------------------------------------------------------

    cdef int32_t fewest(self, ConfigId config) except FAILED nogil:
        """Return the fewest tokens known to end a configuration, without the stop token, or NOT_FOUND."""
        cdef Completion found
        cdef int32_t steps = NOT_FOUND
        self.few(config, &steps)
        found = self.known(config)
        if found.token != NO_TOKEN and found.searched != BY_TOKENS:
            self.shorten(config)
            found = self.known(config)
            found.searched = BY_TOKENS
            self.enter(config, found)
        return found.fewest

    cdef int32_t few(self, ConfigId config, int32_t* steps, Effort effort=BY_TEXT) except FAILED nogil:
        """Return the number of tokens of a shortest text of a configuration, or fewer if known.

        ``steps``: the maximum number of search steps, which is decremented. ``effort``: BY_HASTE accepts a
        text that is found in fewer steps, and may not be a shortest one.
        """
        cdef Completion found = self.known(config)
        cdef bint enough
        if self.family.configs[config].accepting or found.searched >= effort or steps[0] <= 0:
            return found.fewest
        self.estimates.prepare()
        self.find_text(config, steps, effort == BY_HASTE)
        enough = steps[0] > 0
        found = self.known(config)
        if found.fewest < NOT_FOUND or enough:
            found.searched = effort
            self.enter(config, found)
        return found.fewest

    cdef Completion known(self, ConfigId config) noexcept nogil:
        """Return the known completion of a configuration."""
        cdef Completion nothing
        cdef int32_t at
        if not self.family.configs[config].accepting:
            at = self.index.get(config)
            if at != NO_VALUE:
                return self.found[at]
        nothing.fewest = 0 if self.family.configs[config].accepting else NOT_FOUND
        nothing.length = 0
        nothing.token = NO_TOKEN
        nothing.next = DEAD
        nothing.searched = BY_OTHERS
        return nothing

    cdef int enter(self, ConfigId config, Completion found) except FAILED nogil:
        """Record the completion of a configuration."""
        cdef int32_t at = self.index.get(config)
        if at == NO_VALUE:
            self.index.put(config, <int32_t>self.found.size())
            self.found.push_back(found)
        else:
            self.found[at] = found
        if found.fewest < NOT_FOUND:
            self.search.note_known(config, found.length)
        return 0

    def witness(self, ConfigId config):
        """Return (bytes, tokens) of the shortest end of a configuration that is known, or None."""
        cdef Completion at
        cdef list tokens = []
        if self.fewest(config) >= NOT_FOUND:
            return None
        at = self.known(config)
        while at.token != NO_TOKEN:
            self.terms.meter.spend(4)
            tokens.append(int(at.token))
            at = self.known(at.next)
        return b"".join(self.texts.get(token) or b"" for token in tokens), tokens

    # -- the shortest text -------------------------------------------------------------------------

    cdef int find_text(self, ConfigId config, int32_t* steps, bint hastily) except FAILED nogil:
        """Find a text of a configuration, a shortest one unless ``hastily``; keep its tokens as a witness."""
        cdef ConfigId end
        self.symbols.clear()
        self.tail.clear()
        end = self.search.find(config, self.symbols, steps, hastily)
        if end == DEAD:
            return 0
        self.append_known(end)
        if self.symbols.size() <= MOST_SYMBOLS and self.cut_text():
            self.keep_witness(config)
            if (
                self.symbols.size() <= MOST_PLACES
                and self.classes.empty()
                and not self.family.graph.counts
            ):
                self.keep_places(config)
        return 0

    cdef int append_known(self, ConfigId config) except FAILED nogil:
        """Append the symbols of the witness of a configuration.

        Special tokens and their successors stay tokens, since those with a text may be read in two ways.
        """
        cdef Completion at = self.known(config)
        cdef const uint8_t* text
        cdef uint32_t k
        while at.token != NO_TOKEN:
            self.terms.meter.spend(1 + self.texts.length(at.token) // 8 + 2 * self.classes.size())
            if self.tail.empty() and not self.is_special(config, at.token):
                text = self.texts.blob + self.texts.start[at.token]
                for k in range(self.texts.length(at.token)):
                    self.symbols.push_back(<SymbolId>text[k])
            else:
                self.tail.push_back(at.token)
            config = at.next
            at = self.known(config)
        return 0

    cdef TokenId token_of(self, SymbolId symbol) noexcept nogil:
        """Return a token of a class of special tokens; NO_TOKEN if the grammar lacks this class."""
        cdef size_t k
        for k in range(self.classes.size()):
            if self.classes[k].number == token_class_of(symbol):
                return self.classes[k].tokens[0]
        return NO_TOKEN

    cdef bint is_special(self, ConfigId config, TokenId token) except FAILED nogil:
        """Return whether a token may be read as a special one after a configuration."""
        cdef size_t c
        for c in range(self.classes.size()):
            if self.classes[c].holds(token):
                if self.family.step(config, token_symbol(self.classes[c].number)) > DEAD:
                    return True
        return False

    cdef bint cut_text(self) except FAILED nogil:
        """Split the symbols into the fewest tokens; return False if the vocabulary cannot spell them.

        Cost: a step down the trie for each symbol and each length of a token that begins with it.
        """
        cdef size_t n = self.symbols.size(), i, k
        cdef NodeId node
        cdef int32_t kid, stop
        cdef int64_t looked_at
        self.terms.meter.spend(16 + 8 * <int64_t>n)
        refill(self.least, n + 1, NOT_FOUND)
        refill(self.choice, n + 1, NO_TOKEN)
        self.least[n] = 0
        for i in range(n, 0, -1):
            k = i - 1
            if not is_byte(self.symbols[k]):
                self.choice[k] = self.token_of(self.symbols[k])
                if self.choice[k] != NO_TOKEN:
                    self.least[k] = self.least[k + 1] + 1
                continue
            node = 0
            looked_at = 0
            while k < n and is_byte(self.symbols[k]):
                kid = self.trie.kid_first[node]
                looked_at -= kid
                stop = self.trie.kid_first[node + 1]
                while kid < stop and self.trie.kid_byte[kid] != <uint8_t>self.symbols[k]:
                    kid += 1
                looked_at += kid
                if kid == stop:
                    break
                node = self.trie.kid_node[kid]
                k += 1
                if self.trie.token_first[node] < self.trie.token_first[node + 1]:
                    if self.least[k] + 1 < self.least[i - 1]:
                        self.least[i - 1] = self.least[k] + 1
                        self.choice[i - 1] = self.trie.tokens[self.trie.token_first[node]]
            self.terms.meter.spend((<int64_t>(k + 1 - i) + looked_at // 16) // 2)
        self.cut.clear()
        i = 0
        while i < n and self.choice[i] != NO_TOKEN:
            self.cut.push_back(self.choice[i])
            i += self.texts.length(self.choice[i]) if is_byte(self.symbols[i]) else 1
        self.cut.insert(self.cut.end(), self.tail.begin(), self.tail.end())
        return i == n

    cdef int keep_witness(self, ConfigId config) except FAILED nogil:
        """Record the tokens of ``cut`` for the configurations on their path, unless fewer are known."""
        cdef vector[ConfigId] places
        cdef Completion now, old
        cdef size_t i, n = self.cut.size()
        cdef int32_t tokens, length
        self.terms.meter.spend((16 + 2 * <int64_t>self.classes.size()) * n)
        for i in range(n):
            places.push_back(config)
            config = self.after(config, self.cut[i])
            if config == DEAD:
                return 0
        if not self.family.configs[config].accepting:
            return 0
        tokens = length = 0
        now.next = config
        for i in range(n, 0, -1):
            config = places[i - 1]
            now.token = self.cut[i - 1]
            old = self.known(now.next)
            if old.fewest < tokens:
                tokens = old.fewest
                length = old.length
            tokens += 1
            length += max(<int32_t>self.texts.length(now.token), 1)
            now.fewest = tokens
            now.length = length
            old = self.known(config)
            if tokens < old.fewest:
                now.searched = old.searched
                self.enter(config, now)
            now.next = config
        return 0

    cdef int keep_places(self, ConfigId config) except FAILED nogil:
        """Record the rest of ``symbols`` for each configuration on its path.

        A search that reaches one of them may stop. Captures are excluded, since no other text reaches the
        same configuration.
        """
        cdef vector[ConfigId] places
        cdef Completion now, old
        cdef size_t i, n = self.symbols.size()
        cdef int32_t length
        self.terms.meter.spend(4 * <int64_t>n)
        for i in range(n + 1):
            if config <= DEAD:
                return 0
            places.push_back(config)
            if i < n:
                config = self.family.step(config, self.symbols[i])
        for i in range(n, 0, -1):
            config = places[i - 1]
            now.token = self.choice[i - 1]
            if now.token == NO_TOKEN or self.family.configs[config].capturing:
                continue
            length = <int32_t>self.texts.length(now.token)
            now.next = places[i - 1 + length]
            old = self.known(now.next)
            now.fewest = old.fewest + 1
            now.length = old.length + length
            old = self.known(config)
            if now.fewest < old.fewest:
                now.searched = old.searched
                self.enter(config, now)
        return 0

    cdef ConfigId after(self, ConfigId config, TokenId token) except ID_FAILED nogil:
        """Return the configuration after a token, as text and as a special token; DEAD if it is neither."""
        cdef ConfigId next = DEAD, other
        cdef const uint8_t* text = self.texts.blob + self.texts.start[token]
        cdef uint32_t k
        cdef size_t c
        if token < self.texts.size and self.texts.length(token):
            next = config
            for k in range(self.texts.length(token)):
                next = self.family.step(next, text[k])
                if next == DEAD:
                    break
        for c in range(self.classes.size()):
            if self.classes[c].holds(token):
                other = self.family.step(config, token_symbol(self.classes[c].number))
                next = self.family.union_of(next, other)
        return self.family.end_token(next)

    # -- fewer tokens ------------------------------------------------------------------------------

    cdef bint collect(self, ConfigId config, int64_t* effort, int64_t price) except FAILED nogil:
        """List allowed tokens and their targets, shortest first. Return False if ``effort`` ran out.

        ``effort``: nodes to visit; in captures, where each creates a configuration, a node counts ``price``.
        Cost: a step for each node of the trie that is alive.
        """
        cdef Visit root
        cdef bint done
        self.visits.clear()
        root.node = 0
        root.config = config
        self.visits.push_back(root)
        self.successors.clear()
        done = self.collect_visits(effort, price)
        if not self.classes.empty():
            self.collect_special(config)
        self.end_tokens()
        return done

    cdef bint collect_visits(self, int64_t* effort, int64_t price) except FAILED nogil:
        """List the tokens below the nodes in ``visits``, which begin at their configurations."""
        cdef Visit at, below
        cdef size_t next = 0
        cdef int32_t kid
        cdef NodeId node
        while next < self.visits.size():
            at = self.visits[next]
            next += 1
            self.terms.meter.spend(2 + self.trie.kid_first[at.node + 1] - self.trie.kid_first[at.node])
            if effort[0] <= 0:
                return False
            for kid in range(self.trie.kid_first[at.node], self.trie.kid_first[at.node + 1]):
                below.config = self.family.step(at.config, self.trie.kid_byte[kid])
                if below.config <= DEAD:
                    continue
                effort[0] -= price if self.family.configs[below.config].capturing else 1
                node = self.trie.kid_node[kid]
                self.add_tokens(node, below.config)
                if self.trie.kid_first[node] < self.trie.kid_first[node + 1]:
                    below.node = node
                    self.visits.push_back(below)
        return True

    cdef int add_tokens(self, NodeId node, ConfigId next) except FAILED nogil:
        """List the tokens that end at a node."""
        cdef int32_t t
        cdef Successor found
        found.next = next
        found.by_shape = False
        for t in range(self.trie.token_first[node], self.trie.token_first[node + 1]):
            found.token = self.trie.tokens[t]
            self.successors.push_back(found)
        return 0

    cdef int collect_special(self, ConfigId config) except FAILED nogil:
        """Add the allowed special tokens to the list; those that are also text lead to both targets."""
        cdef size_t c, i, before = self.successors.size()
        cdef ConfigId next
        cdef Successor found
        cdef KeyMap listed
        cdef int32_t at
        for c in range(self.classes.size()):
            next = self.family.step(config, token_symbol(self.classes[c].number))
            if next <= DEAD:
                continue
            if not listed.count:
                for i in range(before):
                    listed.put(self.successors[i].token, <int32_t>i)
            self.terms.meter.spend(4 * self.classes[c].tokens.size())
            for i in range(self.classes[c].tokens.size()):
                found.token = self.classes[c].tokens[i]
                found.next = next
                found.by_shape = False
                at = listed.get(found.token)
                if at != NO_VALUE:
                    self.successors[at].next = self.family.union_of(self.successors[at].next, next)
                    continue
                listed.put(found.token, <int32_t>self.successors.size())
                self.successors.push_back(found)
        return 0

    cdef int end_tokens(self) except FAILED nogil:
        """End the listed tokens where their bytes lead, and remove tokens that may not end there."""
        cdef size_t i, kept = 0
        if not self.family.graph.counts:
            return 0
        for i in range(self.successors.size()):
            self.successors[kept] = self.successors[i]
            self.successors[kept].next = self.family.end_token(self.successors[i].next)
            kept += self.successors[kept].next > DEAD
        self.successors.resize(kept)
        return 0

    cdef int shorten(self, ConfigId config) except FAILED nogil:
        """Search breadth-first for a completion with fewer tokens than the known one, and keep its witness."""
        cdef int32_t bound = self.known(config).fewest, depth = 0, place = -1, left
        cdef int32_t longest = self.trie.max_depth
        cdef size_t level_end, i, k
        cdef int64_t last_unit
        cdef int64_t effort = allowance(self.trie), price = effort // MOST_IN_CAPTURES
        cdef Way way
        cdef Successor step
        cdef Completion known
        cdef TokenId last = NO_TOKEN
        cdef bint complete = True
        left = self.estimates.of_config(config)
        if bound <= 1 or left < NO_END and bound <= (left + longest - 1) // longest:
            return 0
        self.ways.clear()
        self.met.reset()
        self.met.put(config, 1)
        way.config = config
        way.before = -1
        way.token = NO_TOKEN
        self.ways.push_back(way)
        i = 0
        last_unit = spent(self.terms) + (MANY_UNITS if self.trie.nodes < SMALL_TRIE else FEW_UNITS)
        while complete and i < self.ways.size() and depth + 1 < bound:
            level_end = self.ways.size()
            depth += 1
            while complete and i < level_end and depth < bound:
                complete = self.collect(self.ways[i].config, &effort, price) and spent(self.terms) < last_unit
                for k in range(self.successors.size()):
                    step = self.successors[k]
                    if self.met.get(step.next) != NO_VALUE:
                        continue
                    self.met.put(step.next, 1)
                    left = self.known(step.next).fewest
                    if depth + left < bound:
                        bound = depth + left
                        place = <int32_t>i
                        last = step.token
                    left = self.estimates.of_config(step.next)
                    if left < NO_END and depth + (left + longest - 1) // longest < bound:
                        way.config = step.next
                        way.before = <int32_t>i
                        way.token = step.token
                        self.ways.push_back(way)
                i += 1
        if place < 0:
            return 0
        # the tokens of the way, and what is known from there
        self.cut.clear()
        way = self.ways[place]
        while way.before >= 0:
            self.cut.push_back(way.token)
            way = self.ways[way.before]
        reverse(self.cut.begin(), self.cut.end())
        self.cut.push_back(last)
        known = self.known(self.after(self.ways[place].config, last))
        while known.token != NO_TOKEN:
            self.cut.push_back(known.token)
            known = self.known(known.next)
        return self.keep_witness(config)


# ------------------------------------------------------------------------------------------------
# Masks under a budget: a token stays allowed if the text can end within the tokens that are left after it.
#
# All tokens that lead to one configuration have one answer, so a configuration asks once for each successor.
# What was found is kept: the successors, and the rows that were cut. Away from the end only the places are
# listed to which tokens lead; tokens are looked at where some of them are cut.
# ------------------------------------------------------------------------------------------------


# ------------------------------------------------------------------------------------------------
# Where tokens lead, with configurations that differ only in captured texts as one shape.
#
# Inside of a capture each byte leads to another configuration, since what was captured is a part of it. What
# is left to write hardly depends on it. A shape has the local states, the frames and the semantic state
# without the captured texts and the undeclared keys of the object, and stands for all configurations that have
# these. The first one that was met says where bytes lead and what is needed: bytes that its states do not tell
# apart lead to one shape. That is no proof for the others, whose text may be one that is forbidden.
#
# A *place* is a configuration, or in captures a shape.
# ------------------------------------------------------------------------------------------------


cdef enum:
    NOT_STEPPED = -2
    ADVANCE_WORK = 256      # units of a place that is asked where most characters lead
    MOST_MARK_STEPS = 4_000  # between shapes, while tokens are marked; most were taken before
    MOST_INSIDE = 24        # places inside of the characters that begin with one byte
    MOST_SHAPES = 1 << 16   # that are kept, as well as the others below
    MOST_ADVANCES = 1 << 16
    MOST_INNER_PLACES = 1 << 20


cdef inline uint64_t fork_key(ConfigId config, bint by_shape) noexcept nogil:
    return (<uint64_t>config << 1) | <uint64_t>by_shape


cdef inline uint64_t place_key(const PlaceVisit& at) noexcept nogil:
    return fork_key(at.config, at.shape != NO_SHAPE)


cdef inline bint is_same(const PlaceVisit& a, const PlaceVisit& b) noexcept nogil:
    return a.config == b.config and a.shape == b.shape


cdef inline bint is_within(const uint64_t* some, const uint64_t* all) noexcept nogil:
    return not (some[0] & ~all[0] or some[1] & ~all[1])


@cython.final
cdef class CaptureShapes:
    """The shapes of one family. The caller holds the lock of the store."""

    def __cinit__(self, ConfigSpace family not None, Semantics semantics not None):
        self.family = family
        self.semantics = semantics

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes held."""
        return 4 * self.steps.capacity() + sizeof(Shape) * self.shapes.capacity() + self.index.nbytes()

    cdef int forget(self) except FAILED nogil:
        """Drop all shapes."""
        self.index.reset()
        self.shapes.clear()
        self.steps.clear()
        return 0

    cdef uint64_t hash_of(self, ConfigId config) except? 0 nogil:
        """Return a hash of the contents of a shape."""
        cdef int32_t i, first = self.family.configs[config].first, count = self.family.configs[config].count
        cdef uint64_t h = mix(73, <uint32_t>self.family.configs[config].accepting)
        cdef Member m
        cdef SemId sem
        cdef KeysId keys
        self.family.terms.meter.spend(2 * count)
        for i in range(first, first + count):
            m = self.family.members[i]
            h = mix(mix(h, <uint32_t>m.state), <uint32_t>m.frame)
            sem = m.sem
            while self.semantics.in_capture(sem):
                sem = self.semantics.sems[sem].parent
                h = mix(h, 1)
            keys = self.semantics.sems[sem].keys
            if keys > KEYS_UNKNOWN:
                keys = self.semantics.keys.view(keys)
            h = mix(mix(h, <uint32_t>self.semantics.sems[sem].value), <uint32_t>keys)
        return h

    cdef int32_t shape_of(self, ConfigId config) except ID_FAILED nogil:
        """Return the shape of a configuration, creating it if necessary."""
        cdef uint64_t h = self.hash_of(config)
        cdef int32_t i, first, found = self.index.get(h)
        cdef Shape shape
        if found == NO_VALUE:
            found = <int32_t>self.shapes.size()
            shape.config = config
            shape.map = MAP_ONE
            first = self.family.configs[config].first
            for i in range(first, first + self.family.configs[config].count):
                shape.map = self.family.terms.classes.map_meet(
                    shape.map, self.family.terms.classes_of(self.family.members[i].state)
                )
            shape.first = <int32_t>self.steps.size()
            i = self.family.terms.classes.maps[shape.map].count
            self.steps.resize(self.steps.size() + i, NOT_STEPPED)
            self.shapes.push_back(shape)
            self.index.put(h, found)
        return found

    cdef int32_t after(self, int32_t shape, uint8_t byte, int32_t* steps) except ID_FAILED nogil:
        """Return the shape after a byte, or NO_SHAPE. ``steps`` counts down new steps."""
        cdef size_t at = self.shapes[shape].first
        cdef ConfigId next
        at += self.family.terms.classes.maps[self.shapes[shape].map].of[byte]
        if self.steps[at] == NOT_STEPPED:
            steps[0] -= 1
            next = self.family.step(self.shapes[shape].config, byte)
            shape = NO_SHAPE if next <= DEAD else self.shape_of(next)
            self.steps[at] = shape
        return self.steps[at]


@cython.final
cdef class TokenPlaces:
    """The places of one family. The caller holds the lock of the store."""

    def __cinit__(self, ConfigSpace family not None, Semantics semantics not None, Trie trie not None):
        self.family = family
        self.trie = trie
        self.shapes = CaptureShapes(family, semantics)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes held."""
        cdef size_t held = self.shapes.nbytes() + self.advance_index.nbytes() + self.met.nbytes()
        held += self.kept.nbytes()
        return held + sizeof(Advance) * self.advances.capacity() + sizeof(InnerPlace) * self.inside.capacity()

    cdef bint is_full(self) noexcept nogil:
        """Return whether the memory limit is exceeded, so that all results should be dropped."""
        return (
            self.shapes.shapes.size() > MOST_SHAPES
            or self.advances.size() > MOST_ADVANCES
            or self.inside.size() > MOST_INNER_PLACES
        )

    cdef int forget(self) except FAILED nogil:
        """Drop all shapes, and the targets of characters."""
        self.shapes.forget()
        self.advance_index.reset()
        self.advances.clear()
        self.inside.clear()
        return 0

    cdef int place_of(self, ConfigId config, PlaceVisit* out) except FAILED nogil:
        """Find the place of a configuration; inside captures, this is the place of its shape."""
        out.config = config
        out.shape = NO_SHAPE
        if config > DEAD and self.family.configs[config].capturing:
            out.shape = self.shapes.shape_of(config)
            out.config = self.shapes.shapes[out.shape].config
        return 0

    cdef int follow(self, PlaceVisit at, uint8_t byte, int32_t* steps, PlaceVisit* out) except FAILED nogil:
        """Find the place after a byte; its configuration is DEAD if there is none."""
        if at.shape == NO_SHAPE:
            return self.place_of(self.family.step(at.config, byte), out)
        out.shape = self.shapes.after(at.shape, byte, steps)
        out.config = <int32_t>DEAD if out.shape == NO_SHAPE else self.shapes.shapes[out.shape].config
        return 0

    # -- subtrees in which the number of characters decides -------------------------------------------

    cdef int32_t advance_at(self, PlaceVisit at, int32_t* steps) except FAILED nogil:
        """Return the index of the target of most characters from a place, computed at the first use."""
        cdef uint64_t key = place_key(at)
        cdef int32_t found = self.advance_index.get(key), byte, most = 0
        cdef PlaceVisit[0x80] after
        cdef int32_t[0x80] count
        cdef int32_t first
        cdef Advance advance
        if found != NO_VALUE:
            return found
        self.family.terms.meter.spend(ADVANCE_WORK)
        for byte in range(0x80):
            self.follow(at, <uint8_t>byte, steps, &after[byte])
            count[byte] = 0
            if after[byte].config <= DEAD:
                continue
            first = most if is_same(after[byte], after[most]) else 0
            while not is_same(after[byte], after[first]):
                first += 1
            count[first] += 1
            if count[first] > count[most]:
                most = first
        memset(&advance, 0, sizeof(Advance))
        advance.next = after[most]
        advance.inner_left = advance.inside = -1
        for byte in range(0x80):
            if after[byte].config <= DEAD:
                advance.dead[byte >> 6] |= <uint64_t>1 << (byte & 63)
            elif is_same(after[byte], advance.next):
                advance.ascii[byte >> 6] |= <uint64_t>1 << (byte & 63)
        found = <int32_t>self.advances.size()
        self.advances.push_back(advance)
        self.advance_index.put(key, found)
        return found

    cdef bint leads_there(
        self, PlaceVisit at, int32_t left, PlaceVisit there, int32_t* steps
    ) except FAILED nogil:
        """Return whether each character leads to the target or nowhere, with ``left`` bytes after a place.

        ``partial`` lists this place and the other places inside such characters.
        """
        cdef size_t next = 0, last, i
        cdef int32_t byte
        cdef PlaceVisit inner
        self.partial.clear()
        self.partial.push_back(at)
        while left:
            left -= 1
            last = self.partial.size()
            while next < last:
                self.family.terms.meter.spend(64)
                for byte in range(0x80, 0xC0):
                    self.follow(self.partial[next], <uint8_t>byte, steps, &inner)
                    if inner.config <= DEAD or is_same(inner, there):
                        continue
                    if not left or self.partial.size() >= MOST_INSIDE:
                        return False
                    i = last
                    while i < self.partial.size() and not is_same(self.partial[i], inner):
                        i += 1
                    if i == self.partial.size():
                        self.partial.push_back(inner)
                next += 1
        return True

    cdef int ask_lead(self, int32_t index, PlaceVisit at, uint8_t lead, int32_t* steps) except FAILED nogil:
        """Determine whether characters with this lead lead to the common target; store places inside."""
        cdef Advance advance = self.advances[index]
        cdef uint64_t bit = <uint64_t>1 << (lead - 0xC0)
        cdef int32_t left = 3 if lead >= 0xF0 else (2 if lead >= 0xE0 else 1)
        cdef size_t i
        cdef PlaceVisit inner
        cdef InnerPlace inside
        self.follow(at, lead, steps, &inner)
        if inner.config <= DEAD:
            advance.leads |= bit
            advance.dead_leads |= bit
        elif advance.inner_left == left and is_same(inner, advance.inner):
            if advance.inner_leads:  # as the one before it
                advance.leads |= bit
        else:
            advance.inner = inner
            advance.inner_left = left
            advance.inner_leads = self.leads_there(inner, left, advance.next, steps)
            if advance.inner_leads:
                advance.leads |= bit
                advance.walk = 0
                for i in range(self.partial.size()):
                    inside.at = self.partial[i]
                    inside.after = advance.inside
                    advance.inside = <int32_t>self.inside.size()
                    self.inside.push_back(inside)
        advance.asked |= bit
        self.advances[index] = advance
        return 0

    cdef bint chain_under(self, PlaceVisit at, int32_t* steps) except FAILED nogil:
        """Return whether the number of characters under a place's node determines their targets.

        If so, ``chain`` has the places. Cost: one step for each place, and a few more for a new place.
        """
        cdef SubtreeSummary under
        cdef Advance* advance
        cdef uint64_t ask
        cdef int32_t index, lead
        cdef bint ends, goes_on
        if self.trie.summary_of[at.node] == NO_SUMMARY:
            return False
        under = self.trie.summaries[self.trie.summary_of[at.node]]
        self.chain.clear()
        self.chain.push_back(at)
        while self.chain.size() <= under.height:
            self.family.terms.meter.spend(4)
            index = self.advance_at(self.chain.back(), steps)
            advance = &self.advances[index]
            ends = is_within(under.ascii, advance.dead)
            goes_on = is_within(under.ascii, advance.ascii)
            if not (ends or goes_on):
                return False
            ask = under.leads & ~advance.asked
            lead = 0xC0
            while ask:
                if ask & 1:
                    self.ask_lead(index, self.chain.back(), <uint8_t>lead, steps)
                ask >>= 1
                lead += 1
            if ends and not under.leads & ~advance.dead_leads:
                self.chain.push_back(advance.next)
                self.chain.back().config = <int32_t>DEAD
                break
            if not goes_on or under.leads & ~advance.leads:
                return False
            if is_same(advance.next, self.chain.back()):
                break
            if at.shape == NO_SHAPE and advance.next.shape != NO_SHAPE:
                return False  # entries to captures are listed
            self.chain.push_back(advance.next)
        return True

    cdef int add_place(self, PlaceVisit at, vector[Successor]& out) except FAILED nogil:
        """List a place if it is not yet listed."""
        cdef Successor found
        if place_key(at) == self.last_key or self.met.get(place_key(at)) != NO_VALUE:
            return 0
        self.last_key = place_key(at)
        self.met.put(self.last_key, 1)
        found.token = NO_TOKEN
        found.next = at.config
        found.by_shape = at.shape != NO_SHAPE
        out.push_back(found)
        return 0

    cdef int add_chain(self, NodeId under, vector[Successor]& out) except FAILED nogil:
        """List the places of ``chain``, and the places inside longer characters."""
        cdef bint longer = self.trie.summaries[self.trie.summary_of[under]].leads != 0
        cdef size_t i
        cdef int32_t index, inner
        for i in range(self.chain.size()):
            if self.chain[i].config <= DEAD:
                continue
            self.add_place(self.chain[i], out)
            index = self.advance_index.get(place_key(self.chain[i])) if longer else NO_VALUE
            if index != NO_VALUE and self.advances[index].walk != self.walk:
                self.advances[index].walk = self.walk
                inner = self.advances[index].inside
                while inner >= 0:
                    self.add_place(self.inside[inner].at, out)
                    inner = self.inside[inner].after
        return 0

    cdef int list_entry(self, NodeId node, ConfigId config) except FAILED nogil:
        """Record that tokens enter a capture here, with the configuration itself."""
        cdef Visit entry
        entry.node = node
        entry.config = config
        self.entries.push_back(entry)
        return 0

    cdef int begin_walk(self, ConfigId config) except FAILED nogil:
        """Begin with the place of a configuration, at the root of the trie."""
        cdef PlaceVisit at
        self.entries.clear()
        self.visits.clear()
        at.node = 0
        self.place_of(config, &at)
        if at.shape != NO_SHAPE:
            self.list_entry(0, config)
        self.visits.push_back(at)
        return 0

    cdef bint list_places(self, ConfigId config, vector[Successor]& out, int32_t* steps) except FAILED nogil:
        """List the places to which tokens lead, and perhaps some on their paths.

        ``steps``: the allowed number of steps between shapes. Returns False if they ran out: then places of
        tokens that go through a capture are missing. Cost: a step for each live node of the trie, except in
        subtrees in which the number of characters decides.
        """
        cdef PlaceVisit at, below
        cdef size_t next = 0
        cdef int32_t kid
        cdef bint complete = True
        out.clear()
        self.met.reset()
        self.last_key = ~<uint64_t>0
        self.walk += 1
        self.begin_walk(config)
        while next < self.visits.size():
            at = self.visits[next]
            next += 1
            self.family.terms.meter.spend(2 + self.trie.kid_first[at.node + 1] - self.trie.kid_first[at.node])
            if steps[0] <= 0 and at.shape != NO_SHAPE:
                complete = False
                continue
            for kid in range(self.trie.kid_first[at.node], self.trie.kid_first[at.node + 1]):
                self.follow(at, self.trie.kid_byte[kid], steps, &below)
                if below.config <= DEAD:
                    continue
                below.node = self.trie.kid_node[kid]
                if self.trie.token_first[below.node] < self.trie.token_first[below.node + 1]:
                    self.add_place(below, out)
                if self.trie.kid_first[below.node] == self.trie.kid_first[below.node + 1]:
                    continue
                if self.chain_under(below, steps):
                    self.add_chain(below.node, out)
                else:
                    self.visits.push_back(below)
        return complete

    # -- which tokens are kept -------------------------------------------------------------------------

    cdef int rate(self, ConfigId config, bint by_shape, bint keep) except FAILED nogil:
        """Set whether tokens that lead to a place are kept."""
        self.kept.put(fork_key(config, by_shape), 1 if keep else 0)
        return 0

    cdef bint keeps(self, ConfigId config, bint by_shape, bint others) noexcept nogil:
        """Return whether tokens that lead to a place are kept; ``others``: the answer for unrated shapes."""
        cdef int32_t found = self.kept.get(fork_key(config, by_shape))
        return found == 1 or (found == NO_VALUE and by_shape and others)

    cdef bint keeps_token(self, PlaceVisit at, bint others) except FAILED nogil:
        """Return whether a token that ends at a place is kept."""
        return self.keeps(self.family.end_token(at.config), at.shape != NO_SHAPE, others)

    cdef int mark_range(self, NodeId first, NodeId end, uint32_t* words, bint keep) except FAILED nogil:
        """Add the tokens of some nodes to a mask, or remove them."""
        cdef int32_t t, last = self.trie.token_first[end]
        cdef uint32_t bit
        self.family.terms.meter.spend((last - self.trie.token_first[first]) // 8)
        for t in range(self.trie.token_first[first], last):
            bit = <uint32_t>1 << (self.trie.tokens[t] & 31)
            words[self.trie.tokens[t] >> 5] = (words[self.trie.tokens[t] >> 5] & ~bit) | (bit if keep else 0)
        return 0

    cdef int mark_incomplete(self, NodeId under, bint others, uint32_t* words) except FAILED nogil:
        """Mark the tokens under the node of ``chain`` that end inside a character."""
        cdef int32_t before = self.trie.summaries[self.trie.summary_of[under]].characters
        cdef vector[NodeId].iterator next
        cdef NodeId node
        cdef PlaceVisit place
        cdef int32_t depth, steps = MOST_MARK_STEPS
        cdef bint keep
        next = lower_bound(self.trie.incomplete.begin(), self.trie.incomplete.end(), under)
        while next != self.trie.incomplete.end() and dereference(next) < self.trie.end[under]:
            node = dereference(next)
            preincrement(next)
            self.path.clear()
            self.path.push_back(node)
            self.family.terms.meter.spend(4)
            while self.trie.byte[self.path.back()] < 0xC0:
                self.path.push_back(self.trie.parent[self.path.back()])
            depth = self.trie.characters[self.trie.token_first[node]] - before - 1
            place = self.chain[min(<size_t>depth, self.chain.size() - 1)]
            for depth in range(<int32_t>self.path.size() - 1, -1, -1):
                if place.config > DEAD:
                    self.follow(place, self.trie.byte[self.path[depth]], &steps, &place)
            keep = place.config > DEAD and self.keeps_token(place, others)
            self.mark_range(node, node + 1, words, keep)
        return 0

    cdef int mark_chain(self, NodeId under, bint others, uint32_t* words) except FAILED nogil:
        """Mark the tokens under the node of ``chain``, whose number of characters determines their targets."""
        cdef int32_t before = self.trie.summaries[self.trie.summary_of[under]].characters
        cdef int32_t t, last = self.trie.token_first[self.trie.end[under]]
        cdef size_t i, kept = 0
        # a place of the chain has no node of its own: the field holds whether its tokens are kept
        for i in range(self.chain.size()):
            self.chain[i].node = self.chain[i].config > DEAD and self.keeps_token(self.chain[i], others)
            kept += self.chain[i].node
        if kept == self.chain.size():
            self.mark_range(under + 1, self.trie.end[under], words, True)
        elif kept:
            self.family.terms.meter.spend((last - self.trie.token_first[under + 1]) // 8)
            for t in range(self.trie.token_first[under + 1], last):
                i = <size_t>(self.trie.characters[t] - before)  # mutant: counted-characters
                i = min(i, self.chain.size() - 1)
                if self.chain[i].node:
                    words[self.trie.tokens[t] >> 5] |= <uint32_t>1 << (self.trie.tokens[t] & 31)
        if self.trie.summaries[self.trie.summary_of[under]].leads:
            self.mark_incomplete(under, others, words)
        return 0

    cdef int mark_tokens(self, ConfigId config, bint others, uint32_t* words) except FAILED nogil:
        """Add the kept tokens to ``words``, and list the places where tokens enter a capture.

        ``others``: tokens with an unrated shape are kept. Cost: a step for each live node of the trie, except
        in subtrees in which the number of characters decides, and for each kept token.
        """
        cdef PlaceVisit at, below
        cdef size_t next = 0
        cdef int32_t kid, steps = MOST_MARK_STEPS
        cdef bint keep
        self.begin_walk(config)
        while next < self.visits.size():
            at = self.visits[next]
            next += 1
            self.family.terms.meter.spend(2 + self.trie.kid_first[at.node + 1] - self.trie.kid_first[at.node])
            if steps <= 0 and at.shape != NO_SHAPE:
                continue
            for kid in range(self.trie.kid_first[at.node], self.trie.kid_first[at.node + 1]):
                self.follow(at, self.trie.kid_byte[kid], &steps, &below)
                if below.config <= DEAD:
                    continue
                below.node = self.trie.kid_node[kid]
                if at.shape == NO_SHAPE and below.shape != NO_SHAPE:
                    self.list_entry(below.node, self.family.step(at.config, self.trie.kid_byte[kid]))
                keep = self.keeps_token(below, others)
                self.mark_range(below.node, below.node + 1, words, keep)
                if self.trie.kid_first[below.node] == self.trie.kid_first[below.node + 1]:
                    continue
                if self.chain_under(below, &steps):
                    self.mark_chain(below.node, others, words)
                else:
                    self.visits.push_back(below)
        return 0


cdef enum:
    MORE_VISITS = 20_000        # nodes visited to list successors in captures, beside those of the trie
    MOST_SUCCESSORS_IN_CAPTURES = 100      # of these in captures, where each is a new configuration
    CAPTURE_ROOM = 48           # tokens beside twice the need: away from the end, in a capture
    MOST_STEPS = 500            # of all searches of one mask
    FIRST_STEPS = 3_000         # of those of the first mask at a place
    FIRST_SHAPE_STEPS = 10_000  # of those for shapes
    SEARCH_STEPS = 1_000        # of one search
    MOST_SHAPE_STEPS = 4_000    # between shapes, while successors are listed
    MOST_ROW_BYTES = 1 << 25    # of rows that are kept
    MOST_GROUPS = 1 << 18       # of successors that are kept
    MOST_TOKENS = 1 << 22       # ... of their tokens


# in keys of `fork_of`
cdef uint64_t OF_SHAPE = <uint64_t>1 << 40
cdef uint64_t NEAR = <uint64_t>1 << 41


@cython.final
cdef class BudgetMasks:
    """The budget masks of one family. The caller holds the lock of the store."""

    def __cinit__(self, Completions completions not None, int32_t width):
        self.completions = completions
        self.width = width
        self.places = TokenPlaces(completions.family, completions.estimates.semantics, completions.trie)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes held."""
        cdef size_t held = 4 * (self.rows.size() + self.tokens.size()) + self.places.nbytes()
        held += sizeof(Successors) * self.groups.size() + sizeof(Fork) * self.forks.capacity()
        return held + self.fork_of.nbytes() + self.row_of.nbytes() + self.group_of.nbytes()

    cdef int forget(self) except FAILED nogil:
        """Drop the successors of all configurations."""
        self.fork_of.reset()
        self.places.forget()
        self.forks.clear()
        self.groups.clear()
        self.tokens.clear()
        return 0

    cdef uint64_t key_of(self, ConfigId config) except? 0 nogil:
        """Return the key of a configuration in ``fork_of``: equal for equal shapes."""
        if self.completions.family.configs[config].capturing:
            return OF_SHAPE | <uint64_t>self.places.shapes.shape_of(config)
        return <uint64_t>config

    cdef int32_t places_at(self, ConfigId config) except FAILED nogil:
        """Return the index of the places after the allowed tokens, which are listed at the first use.

        Cost of the first use: a step for each live node of the trie, except in subtrees in which all
        characters lead back.
        """
        cdef int32_t at, steps = MOST_SHAPE_STEPS
        cdef bint complete
        cdef size_t c
        cdef Successor found
        if (
            self.groups.size() > MOST_GROUPS
            or self.tokens.size() > MOST_TOKENS
            or self.places.is_full()
        ):
            self.forget()
        at = self.fork_of.get(self.key_of(config))
        if at != NO_VALUE:
            return at
        complete = self.places.list_places(config, self.completions.successors, &steps)
        found.token = NO_TOKEN
        found.by_shape = self.completions.family.configs[config].capturing
        for c in range(self.completions.classes.size()):
            found.next = self.after_special(config, c)
            if found.next > DEAD:
                self.completions.successors.push_back(found)
        self.completions.end_tokens()
        return self.keep_fork(self.key_of(config), complete)

    cdef ConfigId after_special(self, ConfigId config, size_t c) except ID_FAILED nogil:
        """Return the configuration after the special tokens of a class, before the token ends."""
        return self.completions.family.step(config, token_symbol(self.completions.classes[c].number))

    cdef int32_t near_fork_at(self, ConfigId config) except FAILED nogil:
        """Return the index of a few dozen of the shortest tokens that enter a capture, each with its place.

        Call this after ``TokenPlaces.mark_tokens``, which finds where tokens enter captures.
        """
        cdef int32_t at = self.fork_of.get(NEAR | <uint64_t>config)
        cdef int64_t effort = self.completions.trie.nodes + MORE_VISITS
        cdef size_t e
        cdef Visit entry
        if at != NO_VALUE:
            return at
        self.completions.visits.clear()
        self.completions.successors.clear()
        for e in range(self.places.entries.size()):
            entry = self.places.entries[e]
            self.completions.visits.push_back(entry)
            if entry.node:
                self.completions.add_tokens(entry.node, entry.config)
        self.completions.collect_visits(&effort, 1 + effort // MOST_SUCCESSORS_IN_CAPTURES)
        self.completions.end_tokens()
        return self.keep_fork(NEAR | <uint64_t>config, False)

    cdef int32_t keep_fork(self, uint64_t key, bint complete) except FAILED nogil:
        """Store the listed successors, with all that lead to one configuration together."""
        cdef int32_t at, g = 0
        cdef size_t i
        cdef Fork fork
        cdef Successors group
        cdef Successor found
        fork.complete = complete
        fork.most = fork.most_by_shape = 0
        fork.measured = fork.searched = False
        fork.first = <int32_t>self.groups.size()
        self.completions.terms.meter.spend(1 + self.completions.successors.size() // 4)
        self.group_of.reset()
        self.chosen.clear()
        group.next = DEAD
        group.by_shape = False
        for i in range(self.completions.successors.size()):
            found = self.completions.successors[i]
            if found.next != group.next or found.by_shape != group.by_shape:
                group.next = found.next
                group.by_shape = found.by_shape
                g = self.group_of.get((<uint64_t>group.next << 1) | group.by_shape)
                if g == NO_VALUE:
                    g = <int32_t>self.groups.size()
                    self.group_of.put((<uint64_t>group.next << 1) | group.by_shape, g)
                    group.first = group.count = 0
                    self.groups.push_back(group)
            self.groups[g].count += 1
            self.chosen.push_back(g)
        fork.count = <int32_t>self.groups.size() - fork.first
        at = <int32_t>self.tokens.size()
        for g in range(fork.first, fork.first + fork.count):
            self.groups[g].first = at
            at += self.groups[g].count
            self.groups[g].count = 0
        refill(self.placed, self.completions.successors.size(), NO_TOKEN)
        for i in range(self.completions.successors.size()):
            g = self.chosen[i]
            at = self.groups[g].first + self.groups[g].count - <int32_t>self.tokens.size()
            self.placed[at] = self.completions.successors[i].token
            self.groups[g].count += 1
        self.tokens.append(self.placed.begin(), self.placed.end())
        at = <int32_t>self.forks.size()
        self.fork_of.put(key, at)
        self.forks.push_back(fork)
        return at

    # -- rows --------------------------------------------------------------------------------------

    cdef int32_t asked_of(self, int32_t needed, ConfigId config) noexcept nogil:
        """Return the number of tokens that must remain after a token whose shape needs ``needed`` tokens.

        If resolvers read captured text, the needs of ``config`` count as well: long tags have long ends.
        """
        if self.completions.resolves:
            needed = max(needed, self.completions.known(config).fewest)
        return min(CAPTURE_ROOM + 2 * <int64_t>needed, NOT_FOUND)

    cdef bint leaves_enough(self, Fork fork, ConfigId config, int32_t room) noexcept nogil:
        """Return whether all tokens that pass through a capture leave enough.

        Tokens that are not listed are assumed to need at most twice as much as the listed ones.
        """
        cdef int64_t asked
        if fork.complete and fork.most_by_shape < 0:
            return True
        asked = self.asked_of(max(fork.most_by_shape, 0), config)
        return (asked if fork.complete else 2 * asked) <= room

    cdef bint spares_all(self, ConfigId config, int32_t room) except FAILED nogil:
        """Return whether every token leaves enough, if ``room`` tokens may follow it. Cost: a look-up."""
        cdef int32_t at = self.fork_of.get(self.key_of(config))
        if at == NO_VALUE or not self.forks[at].measured or self.forks[at].most > room:
            return False
        return self.leaves_enough(self.forks[at], config, room)

    cdef bint restore(self, ConfigId config, int32_t room, uint32_t* words) noexcept nogil:
        """Write a cached row. Return False if there is none."""
        cdef int32_t at = self.row_of.get((<uint64_t>config << 32) | <uint64_t>room)
        if at == NO_VALUE:
            return False
        memcpy(words, &self.rows[<size_t>at * self.width], 4 * <size_t>self.width)
        return True

    cdef int keep_row(self, ConfigId config, int32_t room, const uint32_t* words) except FAILED nogil:
        """Cache a row under a budget."""
        if 4 * self.rows.size() > MOST_ROW_BYTES:
            self.row_of.reset()
            self.rows.clear()
        self.row_of.put(
            (<uint64_t>config << 32) | <uint64_t>room, <int32_t>(self.rows.size() // self.width)
        )
        self.rows.append(words, words + self.width)
        return 0

    cdef int cut(self, ConfigId config, int32_t room, uint32_t* words) except FAILED nogil:
        """Clear tokens after which the text cannot end within ``room`` tokens, without the stop token.

        ``words``: the mask without a budget. An end of ``config`` must be known. Cost: the search of an end
        for each new successor; where tokens are cut, a step for each live node of the trie, except in
        subtrees in which all characters lead back.
        """
        cdef int32_t at = self.places_at(config)
        cdef bint enough = self.measure(config, at, room)
        cdef size_t w
        if enough and self.forks[at].most <= room:
            return 0
        refill(self.scratch, self.width, 0)
        self.completions.terms.meter.spend(self.width // 8)
        self.rate_places(config, self.forks[at], room)
        self.places.mark_tokens(config, enough, &self.scratch[0])
        self.mark_special(config)
        if not enough:
            self.mark_near(config, room)
        for w in range(<size_t>self.width):
            words[w] &= self.scratch[w]
        return 0

    cdef int rate_places(self, ConfigId config, Fork fork, int32_t room) except FAILED nogil:
        """Determine for each place of a fork whether it leaves enough."""
        cdef int32_t g, needed
        cdef bint keep
        self.places.kept.reset()
        for g in range(fork.first, fork.first + fork.count):
            needed = self.completions.known(self.groups[g].next).fewest
            if self.groups[g].by_shape:
                if needed >= NOT_FOUND:
                    needed = self.completions.estimates.of_config(self.groups[g].next)
                needed = self.asked_of(needed, config)
            keep = needed <= room  # mutant: enough-room
            self.places.rate(self.groups[g].next, self.groups[g].by_shape, keep)
        return 0

    cdef int mark_special(self, ConfigId config) except FAILED nogil:
        """Mark the kept special tokens."""
        cdef size_t c, i
        cdef ConfigId next
        cdef TokenId token
        for c in range(self.completions.classes.size()):
            next = self.after_special(config, c)
            if next <= DEAD:
                continue
            next = self.completions.family.end_token(next)
            if self.places.keeps(next, self.completions.family.configs[config].capturing, False):
                self.completions.terms.meter.spend(1 + self.completions.classes[c].tokens.size() // 4)
                for i in range(self.completions.classes[c].tokens.size()):
                    token = self.completions.classes[c].tokens[i]
                    self.scratch[token >> 5] |= <uint32_t>1 << (token & 31)
        return 0

    cdef int mark_near(self, ConfigId config, int32_t room) except FAILED nogil:
        """Mark the token of the witness, and some tokens through captures, which are checked one by one."""
        cdef int32_t g, t, needed, steps = MOST_STEPS
        cdef TokenId token
        cdef Fork fork
        cdef Completion witness = self.completions.known(config)
        if witness.fewest > room + 1:  # a successor needs at least one token less
            return 0
        fork = self.forks[self.near_fork_at(config)]
        for g in range(fork.first, fork.first + fork.count):
            needed = self.completions.known(self.groups[g].next).fewest
            if needed > room:
                needed = self.completions.few(self.groups[g].next, &steps, BY_HASTE)
            if needed <= room:
                self.completions.terms.meter.spend(1 + self.groups[g].count // 4)
                for t in range(self.groups[g].first, self.groups[g].first + self.groups[g].count):
                    token = self.tokens[t]
                    self.scratch[token >> 5] |= <uint32_t>1 << (token & 31)
        if witness.token != NO_TOKEN:
            self.scratch[witness.token >> 5] |= <uint32_t>1 << (witness.token & 31)
        return 0

    cdef int32_t search(self, ConfigId config, int32_t room, int32_t* steps) except FAILED nogil:
        """Return the number of tokens that a successor needs, by a short text, or else by the shortest."""
        cdef int32_t needed, given, left
        given = left = min(steps[0], <int32_t>SEARCH_STEPS)
        needed = self.completions.few(config, &left, BY_HASTE)
        if needed > room:
            needed = self.completions.few(config, &left)
        steps[0] -= given - left
        return needed

    cdef bint measure(self, ConfigId config, int32_t at, int32_t room) except FAILED nogil:
        """Find the needs of successors. Return whether all tokens through captures leave enough."""
        cdef Fork fork = self.forks[at]
        cdef int32_t g, needed
        cdef int32_t steps = MOST_STEPS if fork.searched else FIRST_STEPS
        cdef int32_t shape_steps = MOST_STEPS if fork.searched else FIRST_SHAPE_STEPS
        self.completions.estimates.prepare()
        fork.most = 0
        fork.most_by_shape = -1
        for g in range(fork.first, fork.first + fork.count):
            needed = self.completions.known(self.groups[g].next).fewest
            if self.groups[g].by_shape:
                if needed >= NOT_FOUND:
                    # a byte takes at most a token
                    needed = self.completions.estimates.of_config(self.groups[g].next)
                    if self.asked_of(needed, config) > room:
                        needed = self.search(self.groups[g].next, room, &shape_steps)
                        fork.searched = True
                fork.most_by_shape = max(fork.most_by_shape, needed)
            else:
                if needed > room:
                    needed = self.search(self.groups[g].next, room, &steps)
                    fork.searched = True
                fork.most = max(fork.most, needed)
        fork.measured = True
        self.forks[at] = fork
        return self.leaves_enough(fork, config, room)
