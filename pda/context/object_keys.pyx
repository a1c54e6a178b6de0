# distutils: language = c++
"""Key states: which keys an object has so far, and which may still come.

A key state belongs to the inside of one object (``Keyed``). It is immutable and hash-consed, so equal objects
share their states: the slots taken, the undeclared keys used, and from them the set of *tests* that hold. A
test is "the object may end", "another key may come", "an undeclared key may come", or "slot i may be taken"
(:class:`~stackmask.grammar.ir.KeySpec` says when); each is one bit.

Names share their prefixes, and slots are tested where a name ends. No string may lead to names whose slots
are all taken. So a local state is kept only while one of the tests that can come first in it holds
(``lives``). One test ahead is enough: after a test, the object can continue or end, by the invariant of the
spec.

The states own the sets of undeclared keys (``text_sets``) and the facts about terms (``key_needs``).
"""

cimport cython
from libc.stdint cimport uint32_t, uint64_t

from stackmask.pda.context.key_needs cimport (
    FREE,
    TEST_CLOSE,
    TEST_CONTINUE,
    TEST_SLOT,
    TEST_UNDECLARED,
    KeyNeeds,
    Needs,
    test_of,
)
from stackmask.pda.context.text_sets cimport EMPTY_SET, TextSets
from stackmask.pda.memory.byte_sets cimport has_bit, range_word
from stackmask.pda.memory.checked_vectors cimport refill
from stackmask.pda.memory.hash_tables cimport Probe, ids_free, ids_init, ids_next, ids_probe, ids_put, mix
from stackmask.pda.ids cimport NO_SPEC, UNBOUNDED
from stackmask.pda.terms.term_store cimport TermStore

from stackmask.pda.errors import BudgetError

cdef enum:
    UNKNOWN = -1
    STATE_BYTES = 256   # of a key state, with the set of its undeclared keys


@cython.final
cdef class KeyStates:
    """The key states of the grammars of one store, and which tests their terms need."""

    def __cinit__(self, TermStore terms, uint64_t max_states=2_000_000):
        cdef KeyState none
        ids_init(&self.state_index)
        self.key_sets = TextSets()
        self.needs = KeyNeeds(terms)
        self.max_states = max_states
        none.spec = NO_SPEC
        none.undeclared = USED_SET
        none.used = none.count = none.missing = none.past = none.taken = none.holds = 0
        self.states.push_back(none)
        self.states.push_back(none)
        self.numbers = {}

    def __dealloc__(self):
        ids_free(&self.state_index)

    def add_spec(self, spec):
        """Return the number of a spec, which can be satisfied (see ``KeySpec``)."""
        cdef Spec s
        cdef TestId test
        known = self.numbers.get(spec)
        if known is not None:
            return known
        self.numbers[spec] = self.specs.size()
        s.slots = spec.slots
        s.words = (s.slots + TEST_SLOT + 63) >> 6
        s.required = <int32_t>self.words.size()
        s.missing = len(spec.required)
        s.min_count = spec.min_count
        s.max_count = UNBOUNDED if spec.max_count is None else spec.max_count
        s.fresh = UNKNOWN
        s.ordered = spec.ordered
        s.open = spec.open
        self.words.resize(self.words.size() + s.words, 0)
        for slot in spec.required:
            test = test_of(slot)
            self.words[s.required + (test >> 6)] |= <uint64_t>1 << (test & 63)
        self.specs.push_back(s)
        return <int32_t>self.specs.size() - 1

    # -- states --------------------------------------------------------------------------------------

    cdef bint holds(self, KeysId state, TestId test) noexcept nogil:
        """Tell whether a test holds. Cost: a load."""
        return self.states[state].spec != NO_SPEC and has_bit(&self.words[self.states[state].holds], test)

    cdef KeysId fresh(self, SpecId spec) except -3 nogil:
        """Return the state of an object without keys."""
        cdef KeyState k
        if self.specs[spec].fresh == UNKNOWN:
            k.spec = spec
            k.undeclared = USED_SET
            k.used = EMPTY_SET
            k.count = k.past = 0
            k.missing = self.specs[spec].missing
            refill(self.scratch, self.specs[spec].words, 0)
            self.specs[spec].fresh = self.intern(k)
        return self.specs[spec].fresh

    cdef KeysId take(self, KeysId state, SlotId slot) except -3 nogil:
        """Return the state with a slot taken, whose test holds. Cost: linear in slots / 64."""
        cdef KeyState k = self.states[state]
        cdef int32_t i
        cdef TestId test = test_of(slot)
        cdef int32_t size = self.specs[k.spec].words
        self.scratch.resize(size)
        for i in range(size):
            self.scratch[i] = self.words[k.taken + i]
        k.count += 1
        if has_bit(&self.words[self.specs[k.spec].required], test):
            k.missing -= 1
        if self.specs[k.spec].ordered:
            # what is past cannot come, taken or not
            k.past = slot + 1
        else:
            self.scratch[test >> 6] |= <uint64_t>1 << (test & 63)
        return self.intern(k)

    cdef KeysId use(self, KeysId state, TextId text) except -3 nogil:
        """Return the state with an undeclared key used; NOT_NOW if it has been, or no such key may come.

        A view takes the first one to be new, and answers NOT_KNOWN for the second.
        """
        cdef KeyState k = self.states[state]
        cdef int32_t i, size = self.specs[k.spec].words
        if not self.holds(state, TEST_UNDECLARED):
            return NOT_NOW
        if k.undeclared == USED_ANY_AND_ONE:
            return NOT_KNOWN
        if k.undeclared == USED_SET and self.key_sets.has(k.used, <uint32_t>text):
            return NOT_NOW
        self.scratch.resize(size)
        for i in range(size):
            self.scratch[i] = self.words[k.taken + i]
        if k.undeclared == USED_ANY:
            k.undeclared = USED_ANY_AND_ONE
        else:
            k.used = self.key_sets.adding(k.used, <uint32_t>text)
        k.count += 1
        if self.specs[k.spec].ordered:
            k.past = self.specs[k.spec].slots
        return self.intern(k)

    cdef KeysId view(self, KeysId state) except -3 nogil:
        """Return what walks see of a state: all but the undeclared keys used, which matter to few tokens."""
        cdef KeyState k
        cdef int32_t i
        if <size_t>state >= self.view_of.size():
            self.view_of.resize(self.states.size(), UNKNOWN)
        if self.view_of[state] == UNKNOWN:
            k = self.states[state]
            if k.spec == NO_SPEC or k.undeclared != USED_SET:
                self.view_of[state] = state
                return state
            self.scratch.resize(self.specs[k.spec].words)
            for i in range(self.specs[k.spec].words):
                self.scratch[i] = self.words[k.taken + i]
            k.undeclared = USED_ANY
            k.used = EMPTY_SET
            i = self.intern(k)
            self.view_of[state] = i
        return self.view_of[state]

    cdef KeysId intern(self, KeyState k) except -3 nogil:
        """Intern a state whose taken slots are in ``scratch``; the other fields follow from them."""
        cdef size_t i, n = self.specs[k.spec].words
        cdef uint64_t h = mix(mix(mix(47, <uint32_t>k.spec), <uint32_t>k.used), <uint32_t>k.past)
        h = mix(h, k.undeclared)
        cdef KeysId id
        cdef KeyState* other
        if self.specs[k.spec].max_count == UNBOUNDED and k.count > self.specs[k.spec].min_count:
            # beyond, the count decides nothing
            k.count = self.specs[k.spec].min_count
        h = mix(h, <uint32_t>k.count)
        for i in range(n):
            h = mix(h, self.scratch[i])
        cdef Probe probe = ids_probe(&self.state_index, h)
        id = ids_next(&self.state_index, &probe)
        while id >= 0:
            other = &self.states[id]
            if (
                other.spec == k.spec
                and other.undeclared == k.undeclared
                and other.used == k.used
                and other.past == k.past
                and other.count == k.count
            ):
                i = 0
                while i < n and self.words[other.taken + i] == self.scratch[i]:
                    i += 1
                if i == n:
                    return id
            id = ids_next(&self.state_index, &probe)
        if not self.needs.terms.meter.may_add_state(self.states.size() >= self.max_states):
            raise BudgetError("max_semantic_states", self.max_states, "semantic states (object keys)")
        self.needs.terms.meter.hold(STATE_BYTES + 16 * n)
        k.taken = <int32_t>self.words.size()
        for i in range(n):
            self.words.push_back(self.scratch[i])
        k.holds = <int32_t>self.words.size()
        self.find_holding(&k)
        id = <int32_t>self.states.size()
        self.states.push_back(k)
        ids_put(&self.state_index, &probe, id)
        return id

    cdef int find_holding(self, KeyState* k) except -1 nogil:
        """Write the set of tests that hold in a state to the end of ``words``."""
        cdef Spec s = self.specs[k.spec]
        cdef int32_t i
        cdef SlotId last
        cdef uint64_t word, any_slot = 0
        # keys that may still come, what is required among them included
        cdef bint one_more = k.count + 1 + k.missing <= s.max_count
        cdef bint required_only = not one_more and k.missing > 0
        cdef bint undeclared = s.open and one_more and (not s.ordered or k.missing == 0)
        last = s.slots
        if s.ordered and not s.open and s.slots - s.min_count + k.count + 1 < last:
            # beyond, too few names would be left
            last = s.slots - s.min_count + k.count + 1
        if s.ordered and k.missing:
            i = k.past
            while not has_bit(&self.words[s.required], i + TEST_SLOT):
                i += 1
            if i + 1 < last:
                last = i + 1
        for i in range(s.words):
            word = 0
            if one_more:
                word = ~self.words[k.taken + i]
            elif required_only:
                word = ~self.words[k.taken + i] & self.words[s.required + i]
            if i == 0:
                word &= ~<uint64_t>((1 << TEST_SLOT) - 1)
            word &= range_word(i, (k.past if s.ordered else 0) + TEST_SLOT, last + TEST_SLOT)
            any_slot |= word
            self.words.push_back(word)
        word = 0
        if k.missing == 0 and k.count >= s.min_count:
            word |= 1 << TEST_CLOSE
        if any_slot or undeclared:
            word |= 1 << TEST_CONTINUE
        if undeclared:
            word |= 1 << TEST_UNDECLARED
        self.words[k.holds] |= word
        return 0

    cdef bint lives(self, KeysId state, NeedsId needs) noexcept nogil:
        """Tell whether a term with such needs can continue: it meets no test first, or a test that holds."""
        cdef int32_t i
        cdef Needs n
        cdef const uint64_t* words
        if needs == FREE or self.states[state].spec == NO_SPEC:
            return needs == FREE
        n = self.needs.sets[needs]
        words = &self.words[self.states[state].holds]
        if n.words:
            for i in range(min(n.words, self.specs[self.states[state].spec].words)):
                if self.needs.words[n.first + i] & words[i]:
                    return True
            return False
        for i in range(n.first, n.first + n.count):
            if has_bit(words, self.needs.tests_of[i]):
                return True
        return False

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes the key states take."""
        cdef size_t held = sizeof(Spec) * self.specs.size() + sizeof(KeyState) * self.states.size()
        held += 8 * (self.words.size() + self.state_index.mask) + 4 * self.view_of.size()
        return held + self.key_sets.nbytes() + self.needs.nbytes()
