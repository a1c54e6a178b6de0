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

from stackmask.pda.completion.term_costs cimport NO_END, joined
from stackmask.pda.context.callables cimport Owed
from stackmask.pda.context.semantic_states cimport Semantics, owed_at
from stackmask.pda.context.key_needs cimport (
    TEST_CLOSE,
    TEST_CONTINUE,
    TEST_SLOT,
    TEST_UNDECLARED,
    is_slot,
    slot_of,
)
from stackmask.pda.context.object_keys cimport KEYS_UNKNOWN, KeyState
from stackmask.pda.ids cimport NO_TEST
from stackmask.pda.memory.byte_sets cimport has_bit
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_free, map_get, map_init, map_put, map_reset
from stackmask.pda.stack.frames cimport BOTTOM_CONTINUATION, Edge
from stackmask.pda.terms.term_table cimport (
    CALL_RULE,
    CALL_TEST,
    Call,
    EMPTY,
    F_KEYS,
    K_ALT,
    K_CALL,
    K_REP,
    K_SEQ,
)

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

    cdef int prepare(self) except -1 nogil:
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

    cdef int draft(self, vector[CallId]& objects) except -1 nogil:
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

    cdef int32_t of_object(self, CallId call) except -1 nogil:
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

    cdef int forget(self) except -1 nogil:
        """Forget all estimates: costs have changed."""
        map_reset(&self.keyed_index)
        map_reset(&self.frame_index)
        self.keyed_found.clear()
        self.keyed_stage.clear()
        self.frame_found.clear()
        map_reset(&self.missing_index)
        self.missing_found.clear()
        return 0

    cdef int32_t of_config(self, ConfigId config) except -1 nogil:
        """Return the fewest bytes over the members; NO_END if there are none."""
        cdef int32_t i, first = self.family.configs[config].first, best = NO_END
        if self.family.configs[config].accepting:
            return 0
        self.terms.meter.spend(2 * self.family.configs[config].count)
        for i in range(first, first + self.family.configs[config].count):
            best = min(best, self.of_member(self.family.members[i]))
        return best

    cdef int32_t of_member(self, Member m) except -1 nogil:
        """Return the bytes of a member: of its local state, and of the frames."""
        cdef KeysId keys = self.semantics.keys_at(m.sem)
        cdef int32_t left = joined(self.of_state(m.state, keys), self.of_frame(m.frame, keys))
        cdef Owed owed
        owed_at(self.semantics, m.sem, &owed)
        return with_owed(left, owed)

    cdef int32_t of_state(self, TermId state, KeysId keys) except -1 nogil:
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

    cdef KeysId keys_after(self, int32_t edge, KeysId keys) except -1 nogil:
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

    cdef int32_t of_frame(self, FrameId frame, KeysId keys) except -1 nogil:
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
        """Tell whether a shortest end of an object takes this test next: the first required key."""
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

    cdef KeysId representative(self, KeysId keys) except -1 nogil:
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
        """Tell whether an object needs more keys."""
        cdef KeyState* state = &self.semantics.keys.states[keys]
        return state.missing != 0 or state.count < self.semantics.keys.specs[state.spec].min_count

    cdef int32_t more_keys(self, TermId state, KeysId keys) except -1 nogil:
        """Return the bytes of the keys that an object still needs after the next one."""
        cdef TermId more = self.repetitions.of_state(state)
        cdef int32_t all = self.of_missing(more, keys)
        return all - missing_of(self, more, keys).first if all < NO_END else 0

    cdef int32_t of_missing(self, TermId more, KeysId keys) except -1 nogil:
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

    cdef int keyed(self, TermId t, KeysId keys, Tested* out) except -1 nogil:
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

    cdef bint part(self, TermId t, KeysId keys, Tested* out) except -1 nogil:
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

    cdef bint ready(self, TermId t, KeysId keys, Tested* out) except -1 nogil:
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

    cdef bint of_keyed_call(self, Term u, KeysId keys, Tested* out) except -1 nogil:
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
