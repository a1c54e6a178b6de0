# distutils: language = c++
"""Key states: which keys an object has so far, and which may still come.

A key state belongs to the inside of one object (``Keyed``). It is immutable and hash-consed, so equal objects
share their states: the slots taken, the undeclared keys used, and from them the set of *tests* that hold. A
test is "the object may end", "another key may come", "an undeclared key may come", or "slot i may be taken"
(:class:`~stackmask.grammar.ir.KeySpec` says when); each is one bit.

Names share their beginnings, and slots are tested where a name ends. So that no text leads to names whose
slots are all gone, a local state is kept only while one of the tests that can come first on its ways holds
(``lives``). That is one test ahead: after a test, the object can go on or end, by the invariant of the spec.

Source: sets of texts are Patricia trees (Okasaki and Gill, "Fast Mergeable Integer Maps", 1998), which have
one form per set.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from stackmask.pda.memory.byte_sets cimport has_bit, list_bits, range_word
from stackmask.pda.memory.checked_vectors cimport copy_items, refill
from stackmask.pda.terms.term_table cimport CALL_RULE, CALL_TEST, EMPTY, F_KEYS, Term
from stackmask.pda.terms.term_table cimport K_ALT, K_CALL, K_REP, K_SEQ
from stackmask.pda.memory.hash_tables cimport Probe, ids_free, ids_init, ids_next, ids_probe, ids_put, mix

from stackmask.pda.errors import BudgetError

cdef enum:
    UNKNOWN = -1
    EMPTY_SET = 0
    FREE = 0            # needs nothing
    YES = 1
    NO = 2
    FEW_TESTS = 16      # up to here needs are a list


@cython.final
cdef class KeyStates:
    """The key states of the grammars of one store, and which tests their terms need."""

    def __cinit__(self, TermStore terms, uint64_t max_states=2_000_000):
        cdef TextNode empty
        cdef Needs free
        cdef KeyState none
        ids_init(&self.state_index)
        ids_init(&self.node_index)
        self.terms = terms
        self.max_states = max_states
        self.solving = False
        empty.prefix = empty.bit = 0
        empty.low = empty.high = UNKNOWN
        self.nodes.push_back(empty)
        free.first = free.count = free.words = 0
        self.needs.push_back(free)
        none.spec = UNKNOWN
        none.texts = none.count = none.missing = none.past = none.taken = none.holds = 0
        self.states.push_back(none)
        self.states.push_back(none)
        self.numbers = {}

    def __dealloc__(self):
        ids_free(&self.state_index)
        ids_free(&self.node_index)

    def add_spec(self, spec):
        """Return the number of a spec, which can be satisfied (see ``KeySpec``)."""
        cdef Spec s
        cdef int32_t slot
        known = self.numbers.get(spec)
        if known is not None:
            return known
        self.numbers[spec] = self.specs.size()
        s.slots = spec.slots
        s.words = (s.slots + TEST_SLOT + 63) >> 6
        s.required = <int32_t>self.words.size()
        s.missing = len(spec.required)
        s.min_count = spec.min_count
        s.max_count = -1 if spec.max_count is None else spec.max_count
        s.fresh = UNKNOWN
        s.ordered = spec.ordered
        s.open = spec.open
        self.words.resize(self.words.size() + s.words, 0)
        for slot in spec.required:
            slot += TEST_SLOT
            self.words[s.required + (slot >> 6)] |= <uint64_t>1 << (slot & 63)
        self.specs.push_back(s)
        return <int32_t>self.specs.size() - 1

    # -- states --------------------------------------------------------------------------------------

    cdef bint holds(self, KeysId state, int32_t test) noexcept:
        """Tell whether a test holds. Cost: a load."""
        return self.states[state].spec >= 0 and has_bit(&self.words[self.states[state].holds], test)

    cdef KeysId fresh(self, SpecId spec) except -3:
        """Return the state of an object without keys."""
        cdef KeyState k
        if self.specs[spec].fresh == UNKNOWN:
            k.spec = spec
            k.texts = EMPTY_SET
            k.count = k.past = 0
            k.missing = self.specs[spec].missing
            refill(self.scratch, self.specs[spec].words, 0)
            self.specs[spec].fresh = self.intern(k)
        return self.specs[spec].fresh

    cdef KeysId take(self, KeysId state, int32_t slot) except -3:
        """Return the state with a slot taken, whose test holds. Cost: linear in slots / 64."""
        cdef KeyState k = self.states[state]
        cdef int32_t i, test = slot + TEST_SLOT, size = self.specs[k.spec].words
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

    cdef KeysId use(self, KeysId state, TextId text) except -3:
        """Return the state with an undeclared key used; NOT_NOW if it has been, or no such key may come.

        A view takes the first one to be new, and answers NOT_KNOWN for the second.
        """
        cdef KeyState k = self.states[state]
        cdef int32_t i, size = self.specs[k.spec].words
        if not self.holds(state, TEST_UNDECLARED):
            return NOT_NOW
        if k.texts == MORE_TEXTS:
            return NOT_KNOWN
        if k.texts >= 0 and self.has_text(k.texts, <uint32_t>text):
            return NOT_NOW
        self.scratch.resize(size)
        for i in range(size):
            self.scratch[i] = self.words[k.taken + i]
        k.texts = MORE_TEXTS if k.texts == SOME_TEXTS else self.with_text(k.texts, <uint32_t>text)
        k.count += 1
        if self.specs[k.spec].ordered:
            k.past = self.specs[k.spec].slots
        return self.intern(k)

    cdef KeysId view(self, KeysId state) except -3:
        """Return what walks see of a state: all but the undeclared keys used, which matter to few tokens."""
        cdef KeyState k
        cdef int32_t i
        if <size_t>state >= self.view_of.size():
            self.view_of.resize(self.states.size(), UNKNOWN)
        if self.view_of[state] < 0:
            k = self.states[state]
            if k.spec < 0 or k.texts < 0:
                self.view_of[state] = state
                return state
            self.scratch.resize(self.specs[k.spec].words)
            for i in range(self.specs[k.spec].words):
                self.scratch[i] = self.words[k.taken + i]
            k.texts = SOME_TEXTS
            i = self.intern(k)
            self.view_of[state] = i
        return self.view_of[state]

    cdef int texts_of(self, int32_t node, vector[int32_t]& out) except -1:
        """Append the texts of a set."""
        cdef vector[int32_t] todo
        cdef TextNode n
        if node <= EMPTY_SET:
            return 0
        todo.push_back(node)
        while not todo.empty():
            n = self.nodes[todo.back()]
            todo.pop_back()
            if n.bit:
                todo.push_back(n.low)
                todo.push_back(n.high)
            else:
                out.push_back(<int32_t>n.prefix)
        return 0

    cdef KeysId intern(self, KeyState k) except -3:
        """Intern a state whose taken slots are in ``scratch``; what else is in it follows."""
        cdef size_t i, n = self.specs[k.spec].words
        cdef uint64_t h = mix(mix(mix(47, <uint32_t>k.spec), <uint32_t>k.texts), <uint32_t>k.past)
        cdef int32_t id
        cdef KeyState* other
        if self.specs[k.spec].max_count < 0 and k.count > self.specs[k.spec].min_count:
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
                and other.texts == k.texts
                and other.past == k.past
                and other.count == k.count
            ):
                i = 0
                while i < n and self.words[other.taken + i] == self.scratch[i]:
                    i += 1
                if i == n:
                    return id
            id = ids_next(&self.state_index, &probe)
        if self.states.size() >= self.max_states:
            raise BudgetError("max_semantic_states", self.max_states, "semantic states (object keys)")
        k.taken = <int32_t>self.words.size()
        for i in range(n):
            self.words.push_back(self.scratch[i])
        k.holds = <int32_t>self.words.size()
        self.find_holding(&k)
        id = <int32_t>self.states.size()
        self.states.push_back(k)
        ids_put(&self.state_index, &probe, id)
        return id

    cdef int find_holding(self, KeyState* k) except -1:
        """Write the set of tests that hold in a state to the end of ``words``."""
        cdef Spec s = self.specs[k.spec]
        cdef int32_t i, last
        cdef uint64_t word, any_slot = 0
        # keys that may still come, what is required among them included
        cdef bint one_more = s.max_count < 0 or k.count + 1 + k.missing <= s.max_count
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

    # -- sets of texts -------------------------------------------------------------------------------

    cdef int32_t text_node(self, uint32_t prefix, uint32_t bit, int32_t low, int32_t high) except -1:
        cdef uint64_t h = mix(mix(mix(mix(53, prefix), bit), <uint32_t>low), <uint32_t>high)
        cdef Probe probe = ids_probe(&self.node_index, h)
        cdef int32_t id = ids_next(&self.node_index, &probe)
        cdef TextNode* other
        cdef TextNode node
        while id >= 0:
            other = &self.nodes[id]
            if other.prefix == prefix and other.bit == bit and other.low == low and other.high == high:
                return id
            id = ids_next(&self.node_index, &probe)
        node.prefix = prefix
        node.bit = bit
        node.low = low
        node.high = high
        id = <int32_t>self.nodes.size()
        self.nodes.push_back(node)
        ids_put(&self.node_index, &probe, id)
        return id

    cdef bint has_text(self, int32_t node, uint32_t text) noexcept:
        cdef TextNode n
        while node != EMPTY_SET:
            n = self.nodes[node]
            if not n.bit:
                return n.prefix == text
            node = n.high if text & n.bit else n.low
        return False

    cdef int32_t with_text(self, int32_t node, uint32_t text) except -1:
        """Return the set with one more text. Cost: the depth of the tree, at most 32."""
        cdef int32_t path[33]
        cdef int32_t root, made, depth = 0
        cdef uint32_t differs
        cdef TextNode n
        if node == EMPTY_SET:
            return self.text_node(text, 0, UNKNOWN, UNKNOWN)
        root = node
        while True:
            n = self.nodes[node]
            differs = n.prefix ^ text
            if n.bit:
                differs &= n.bit - 1
            if differs or not n.bit:
                break
            path[depth] = node
            depth += 1
            node = n.high if text & n.bit else n.low
        if not differs:
            return root
        differs &= ~differs + 1
        made = self.text_node(text, 0, UNKNOWN, UNKNOWN)
        if text & differs:
            made = self.text_node(text & (differs - 1), differs, node, made)
        else:
            made = self.text_node(text & (differs - 1), differs, made, node)
        while depth:
            depth -= 1
            n = self.nodes[path[depth]]
            if text & n.bit:
                made = self.text_node(n.prefix, n.bit, n.low, made)
            else:
                made = self.text_node(n.prefix, n.bit, made, n.high)
        return made

    # -- what terms need -----------------------------------------------------------------------------

    cdef bint lives(self, KeysId state, int32_t needs) noexcept:
        """Tell whether a term with such needs can go on: it meets no test first, or one that holds."""
        cdef int32_t i
        cdef Needs n
        cdef const uint64_t* words
        if needs == FREE or self.states[state].spec < 0:
            return needs == FREE
        n = self.needs[needs]
        words = &self.words[self.states[state].holds]
        if n.words:
            for i in range(min(n.words, self.specs[self.states[state].spec].words)):
                if self.words[n.first + i] & words[i]:
                    return True
            return False
        for i in range(n.first, n.first + n.count):
            if has_bit(words, self.needed[i]):
                return True
        return False

    cdef bint always_lives(self, TermId term) except -1:
        """Tell whether a term can go on in every state: an object can always go on or end."""
        cdef int32_t i, found = self.needs_at(term)
        cdef Needs n = self.needs[found]
        if found == FREE:
            return True
        if n.words:
            return has_bit(&self.words[n.first], TEST_CLOSE) and has_bit(&self.words[n.first], TEST_CONTINUE)
        i = n.first
        return n.count > 1 and self.needed[i] == TEST_CLOSE and self.needed[i + 1] == TEST_CONTINUE

    cdef TermId tested(self, TermId term) except -3:
        """Return what of a term comes first that asks for a key, EMPTY if something asks for none."""
        cdef int32_t at = term
        # what stands before the first test asks for nothing
        while True:
            if not self.terms.terms[at].flags & F_KEYS:
                return EMPTY
            if self.terms.terms[at].kind != K_SEQ:
                return at
            if not self.terms.terms[self.terms.terms[at].a].flags & F_KEYS:
                at = self.terms.terms[at].b
            elif self.passes(self.terms.terms[at].a):
                return at
            else:
                at = self.terms.terms[at].a

    cdef int32_t needs_at(self, TermId term) except -3:
        """Return the tests that can come first on the ways of a term: FREE if some way meets none.

        Those of alternatives are put together from those of the alternatives in them: names share beginnings,
        and a walk asks at every place where they part. No recursion: names may be long.
        """
        cdef vector[int32_t] todo
        cdef int32_t k, kid, t, at
        cdef Term u
        cdef bint ready
        if not self.terms.terms[term].flags & F_KEYS:
            return FREE
        if <size_t>term >= self.needs_of.size():
            self.needs_of.resize(self.terms.terms.size(), UNKNOWN)
        if self.needs_of[term] != UNKNOWN:
            return self.needs_of[term]
        at = self.tested(term)
        if at != EMPTY and self.needs_of[at] == UNKNOWN:
            todo.push_back(at)
        while not todo.empty():
            t = todo.back()
            u = self.terms.terms[t]
            ready = True
            if u.kind == K_ALT and self.needs_of[t] == UNKNOWN and not self.passes(t):
                for k in range(u.a, u.a + u.b):
                    kid = self.tested(self.terms.kids[k])
                    if self.terms.terms[kid].kind == K_ALT and self.needs_of[kid] == UNKNOWN:
                        todo.push_back(kid)
                        ready = False
            if ready:
                todo.pop_back()
                if self.needs_of[t] == UNKNOWN:
                    self.needs_of[t] = FREE if self.passes(t) else self.find_needs(t)
        self.needs_of[term] = FREE if at == EMPTY else self.needs_of[at]
        return self.needs_of[term]

    cdef int32_t find_needs(self, TermId term) except -3:
        """Put together the tests that can come first on the ways of a term; none of these meets no test."""
        cdef vector[int32_t] found
        cdef Needs n
        cdef size_t i
        self.first_tests(term)
        n.count = n.words = 0
        for i in range(self.tests.size()):
            if self.tests[i]:
                n.words = <int32_t>i + 1
        self.tests.resize(n.words)
        list_bits(self.tests, FEW_TESTS + 1, found)
        if found.size() <= FEW_TESTS:
            n.first = <int32_t>self.needed.size()
            n.count = <int32_t>found.size()
            n.words = 0
            self.needed.insert(self.needed.end(), found.begin(), found.end())
        else:
            n.first = <int32_t>self.words.size()
            self.words.insert(self.words.end(), self.tests.begin(), self.tests.end())
        self.needs.push_back(n)
        return <int32_t>self.needs.size() - 1

    cdef uint8_t known(self, TermId term) noexcept:
        return self.passes_of[term] if self.terms.terms[term].flags & F_KEYS else YES

    cdef bint passes(self, TermId term) except -1:
        """Tell whether some way through the term meets no test. No recursion: names may be long."""
        cdef vector[int32_t] todo
        cdef int32_t t, k
        cdef uint8_t answer
        cdef Term u
        if not self.terms.terms[term].flags & F_KEYS:
            return True
        if self.rule_passes.size() < self.terms.rule_body.size():
            self.solve_rules()
        if self.passes_of.size() < self.terms.terms.size():
            self.passes_of.resize(self.terms.terms.size(), 0)
        if not self.passes_of[term]:
            todo.push_back(term)
        while not todo.empty():
            t = todo.back()
            u = self.terms.terms[t]
            answer = NO
            if u.kind == K_CALL:
                if self.terms.call_table[u.a].kind == CALL_RULE:
                    answer = self.rule_passes[self.terms.call_table[u.a].target]
            elif u.kind == K_REP:
                answer = YES if u.b == 0 else self.known(u.a)
                if not answer:
                    todo.push_back(u.a)
            elif u.kind == K_SEQ:
                answer = self.known(u.a)
                if not answer:
                    todo.push_back(u.a)
                elif answer == YES:
                    answer = self.known(u.b)
                    if not answer:
                        todo[todo.size() - 1] = -1 - t  # what follows tells: the rest of a name, mostly
                        todo.push_back(u.b)
            elif u.kind == K_ALT:
                for k in range(u.a, u.a + u.b):
                    if self.known(self.terms.kids[k]) == YES:
                        answer = YES
                        break
                if answer == NO:
                    for k in range(u.a, u.a + u.b):
                        if not self.known(self.terms.kids[k]):
                            todo.push_back(self.terms.kids[k])
                            answer = 0
            while answer and t >= 0:
                self.passes_of[t] = answer
                if self.solving:
                    self.touched.push_back(t)
                todo.pop_back()
                t = -1 if todo.empty() else -1 - todo.back()
        return self.passes_of[term] == YES

    cdef int32_t first_tests(self, TermId term) except -3:
        """Put the tests that can come first on the ways of a term into ``tests``.

        Return the newest rule whose tests are among them, or -1.
        """
        cdef int32_t t, k, rule = -1
        cdef size_t i, next = 0
        cdef Term u
        cdef Needs n
        self.tests.clear()
        self.met.clear()
        if self.seen.size() < self.terms.terms.size():
            self.seen.resize(self.terms.terms.size())
        self.meet(term)
        while next < self.met.size():
            t = self.met[next]
            next += 1
            u = self.terms.terms[t]
            if u.kind == K_CALL:
                k = self.terms.call_table[u.a].target
                if self.terms.call_table[u.a].kind == CALL_TEST:
                    self.add_test(k)
                else:
                    rule = max(rule, k)
                    for i in range(self.rule_tests[k].size()):
                        self.add_test(self.rule_tests[k][i])
            elif u.kind == K_REP:
                self.meet(u.a)
            elif u.kind == K_SEQ:
                self.meet(u.a)
                if self.passes(u.a):
                    self.meet(u.b)
            elif u.kind == K_ALT and <size_t>t < self.needs_of.size() and self.needs_of[t] > FREE:
                n = self.needs[self.needs_of[t]]
                for k in range(n.first, n.first + n.count):
                    self.add_test(self.needed[k])
                if self.tests.size() < <size_t>n.words:
                    self.tests.resize(n.words, 0)
                for k in range(n.words):
                    self.tests[k] |= self.words[n.first + k]
            elif u.kind == K_ALT:
                for k in range(u.a, u.a + u.b):
                    self.meet(self.terms.kids[k])
        for i in range(self.met.size()):
            self.seen[self.met[i]] = 0
        return rule

    cdef int meet(self, TermId term) except -1:
        """Enter a term into the list of those whose tests are to be found, once."""
        if self.terms.terms[term].flags & F_KEYS and not self.seen[term]:
            self.met.push_back(term)
            self.seen[term] = 1
        return 0

    cdef int add_test(self, int32_t test) except -1:
        if self.tests.size() <= <size_t>(test >> 6):
            self.tests.resize((test >> 6) + 1, 0)
        self.tests[test >> 6] |= <uint64_t>1 << (test & 63)
        return 0

    cdef int solve_rules(self) except -1:
        """Find what holds of the rules that are new: the least fixpoints of `passes` and `first_tests`.

        Older rules do not refer to them, so what is known of those stays.
        """
        cdef size_t rule, k, old = self.rule_passes.size(), count = self.terms.rule_body.size()
        cdef int32_t called = -1
        cdef bint changed = True
        cdef vector[int32_t] found
        self.rule_passes.resize(count)
        self.rule_tests.resize(count)
        for k in range(old, count):  # what asks for no key passes: nothing needs to be done again for it
            self.rule_passes[k] = NO if self.terms.terms[self.terms.rule_body[k]].flags & F_KEYS else YES
        self.solving = True
        self.touched.clear()
        while changed:
            changed = False
            for k in range(self.touched.size()):
                self.passes_of[self.touched[k]] = 0
            self.touched.clear()
            for rule in range(old, count):
                if self.rule_passes[rule] == NO and self.passes(self.terms.rule_body[rule]):
                    self.rule_passes[rule] = YES
                    changed = True
        self.solving = False
        changed = True
        while changed:
            changed = False
            for rule in range(old, count):
                if self.terms.terms[self.terms.rule_body[rule]].flags & F_KEYS:
                    called = max(called, self.first_tests(self.terms.rule_body[rule]))
                    found.clear()
                    list_bits(self.tests, self.tests.size() << 6, found)
                    if found.size() != self.rule_tests[rule].size():
                        copy_items(self.rule_tests[rule], found)
                        changed = True
            # where no rule begins with a new one, that was all
            changed = changed and called >= <int32_t>old
        return 0

    cdef size_t nbytes(self) noexcept:
        """Return about how many bytes the key states take."""
        cdef size_t held = sizeof(Spec) * self.specs.size() + sizeof(KeyState) * self.states.size()
        held += 8 * (self.words.size() + self.state_index.mask + self.node_index.mask)
        held += sizeof(TextNode) * self.nodes.size() + sizeof(Needs) * self.needs.size()
        return held + 4 * (self.needed.size() + self.view_of.size()) + 24 * self.rule_tests.size()

    def counts(self):
        """Return sizes: key states, sets of tests that terms need."""
        return {"key_states": self.states.size() - 2, "key_needs": self.needs.size()}
