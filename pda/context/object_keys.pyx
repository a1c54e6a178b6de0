# distutils: language = c++
"""Key states: the keys that an object has so far, and the keys that may still come.

A key state belongs to the inside of one object (``Keyed``). It is immutable and hash-consed, so equal objects
share their states: the taken slots, the used undeclared keys, and the set of *tests* that therefore hold. A
test is "the object may end", "another key may come", "an undeclared key may come", or "slot i may be taken"
(:class:`~stackmask.grammar.ir.KeySpec` defines them); each test is one bit.

Names share their prefixes, and slots are tested where a name ends. No string may lead to names whose slots
are all taken. So a local state is kept only while one of the tests that can come first in it holds
(``lives``). One test ahead is enough: after a test, the object can continue or end, by the invariant of the
spec.

The states own the sets of undeclared keys (``text_sets``) and the facts about terms (``key_needs``).
"""

cimport cython

from stackmask.pda.ids cimport NO_RULE, NO_SPEC, UNBOUNDED
from stackmask.pda.memory.byte_sets cimport has_bit, list_bits, range_word
from stackmask.pda.memory.checked_vectors cimport copy_list, refill
from stackmask.pda.memory.hash_tables cimport Probe, mix
from stackmask.pda.terms.term_table cimport (
    CALL_RULE,
    CALL_TEST,
    EMPTY,
    F_KEYS,
    K_ALT,
    K_CALL,
    K_REP,
    K_SEQ,
    Call,
    Term,
)

from stackmask.pda.errors import BudgetError


cdef inline TestId test_of(SlotId slot) noexcept nogil:
    return <TestId>(<int32_t>slot + TEST_SLOT)


# ------------------------------------------------------------------------------------------------
# What terms need: the key tests that can come first in them.
#
# The tests of a term are found once. A term that can continue without a test needs none. Rules may refer to
# each other, so their needs are a least fixpoint.
# ------------------------------------------------------------------------------------------------


cdef enum:
    UNKNOWN = -1
    YES = 1
    NO = 2
    FEW_TESTS = 16      # up to so many tests are a list


cdef struct AskedTerm:
    TermId term
    bint has_answer_of_continuation


@cython.final
cdef class KeyNeeds:
    """The tests that the terms of one store need."""

    def __cinit__(self, TermStore terms not None):
        cdef Needs free
        self.terms = terms
        self.solving = False
        free.first = free.count = free.words = 0
        self.sets.push_back(free)

    cdef bint always_lives(self, TermId term) except FAILED nogil:
        """Return whether a term can continue in every key state, since an object can always continue or end."""
        cdef int32_t i
        cdef NeedsId found = self.needs_at(term)
        cdef Needs n = self.sets[found]
        if found == FREE:
            return True
        if n.words:
            return has_bit(&self.words[n.first], TEST_CLOSE) and has_bit(&self.words[n.first], TEST_CONTINUE)
        i = n.first
        return n.count > 1 and self.tests_of[i] == TEST_CLOSE and self.tests_of[i + 1] == TEST_CONTINUE

    cdef TermId tested(self, TermId term) except ID_FAILED nogil:
        """Return the first part of a term that tests a key; EMPTY if some path tests none."""
        cdef TermId at = term
        # items before the first test need nothing
        while True:
            if not self.terms.terms[at].flags & F_KEYS:
                return EMPTY
            if self.terms.terms[at].kind != K_SEQ:
                return at
            if not self.terms.terms[self.terms.terms[at].seq.first].flags & F_KEYS:
                at = self.terms.terms[at].seq.rest
            elif self.passes(self.terms.terms[at].seq.first):
                return at
            else:
                at = self.terms.terms[at].seq.first

    cdef NeedsId needs_at(self, TermId term) except ID_FAILED nogil:
        """Return the tests that can come first in a term; FREE if some path meets no test.

        The tests of alternatives are the union of the tests of nested alternatives. Names share prefixes, and
        a walk needs the tests at every place where names branch. No recursion: names may be long.
        """
        cdef vector[TermId] todo
        cdef int32_t k
        cdef TermId kid, t, at
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
                for k in range(u.operands.first, u.operands.first + u.operands.count):
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

    cdef NeedsId find_needs(self, TermId term) except ID_FAILED nogil:
        """Store the tests that can come first in a term in which every path meets a test."""
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
            n.first = <int32_t>self.tests_of.size()
            n.count = <int32_t>found.size()
            n.words = 0
            self.tests_of.insert(self.tests_of.end(), found.begin(), found.end())
        else:
            n.first = <int32_t>self.words.size()
            self.words.insert(self.words.end(), self.tests.begin(), self.tests.end())
        self.sets.push_back(n)
        return <int32_t>self.sets.size() - 1

    cdef uint8_t known(self, TermId term) noexcept nogil:
        return self.passes_of[term] if self.terms.terms[term].flags & F_KEYS else YES

    cdef bint passes(self, TermId term) except FAILED nogil:
        """Return whether some path through the term meets no test. No recursion: names may be long."""
        cdef vector[AskedTerm] todo
        cdef AskedTerm asked
        cdef TermId t
        cdef int32_t k
        cdef uint8_t answer
        cdef Term u
        if not self.terms.terms[term].flags & F_KEYS:
            return True
        if self.rule_passes.size() < self.terms.rule_body.size():
            self.solve_rules()
        if self.passes_of.size() < self.terms.terms.size():
            self.passes_of.resize(self.terms.terms.size(), 0)
        asked.has_answer_of_continuation = False
        if not self.passes_of[term]:
            asked.term = term
            todo.push_back(asked)
        while not todo.empty():
            t = todo.back().term
            u = self.terms.terms[t]
            answer = NO
            if u.kind == K_CALL:
                if self.terms.call_table[u.call.id].kind == CALL_RULE:
                    answer = self.rule_passes[self.terms.call_table[u.call.id].rule]
            elif u.kind == K_REP:
                answer = YES if u.rep.low == 0 else self.known(u.rep.item)
                if not answer:
                    asked.term = u.rep.item
                    todo.push_back(asked)
            elif u.kind == K_SEQ:
                answer = self.known(u.seq.first)
                if not answer:
                    asked.term = u.seq.first
                    todo.push_back(asked)
                elif answer == YES:
                    answer = self.known(u.seq.rest)
                    if not answer:
                        # the continuation decides: mostly the end of a name
                        todo[todo.size() - 1].has_answer_of_continuation = True
                        asked.term = u.seq.rest
                        todo.push_back(asked)
            elif u.kind == K_ALT:
                for k in range(u.operands.first, u.operands.first + u.operands.count):
                    if self.known(self.terms.kids[k]) == YES:
                        answer = YES
                        break
                if answer == NO:
                    for k in range(u.operands.first, u.operands.first + u.operands.count):
                        if not self.known(self.terms.kids[k]):
                            asked.term = self.terms.kids[k]
                            todo.push_back(asked)
                            answer = 0
            while answer:
                self.passes_of[t] = answer
                if self.solving:
                    self.touched.push_back(t)
                todo.pop_back()
                if todo.empty() or not todo.back().has_answer_of_continuation:
                    break
                t = todo.back().term
        return self.passes_of[term] == YES

    cdef RuleId first_tests(self, TermId term) except ID_FAILED nogil:
        """Write to ``tests`` the tests that can come first in a term.

        Return the newest rule whose tests are among them, or NO_RULE.
        """
        cdef TermId t
        cdef int32_t k
        cdef RuleId rule = NO_RULE
        cdef size_t i, next = 0
        cdef Term u
        cdef Call call
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
                call = self.terms.call_table[u.call.id]
                if call.kind == CALL_TEST:
                    self.add_test(call.test)
                else:  # a rule: calls of resolvers test no keys
                    rule = max(rule, call.rule)
                    for i in range(self.rule_tests[call.rule].size()):
                        self.add_test(self.rule_tests[call.rule][i])
            elif u.kind == K_REP:
                self.meet(u.rep.item)
            elif u.kind == K_SEQ:
                self.meet(u.seq.first)
                if self.passes(u.seq.first):  # mutant: later-tests
                    self.meet(u.seq.rest)
            elif u.kind == K_ALT and <size_t>t < self.needs_of.size() and self.needs_of[t] > FREE:
                n = self.sets[self.needs_of[t]]
                for k in range(n.first, n.first + n.count):
                    self.add_test(self.tests_of[k])
                if self.tests.size() < <size_t>n.words:
                    self.tests.resize(n.words, 0)
                for k in range(n.words):
                    self.tests[k] |= self.words[n.first + k]
            elif u.kind == K_ALT:
                for k in range(u.operands.first, u.operands.first + u.operands.count):
                    self.meet(self.terms.kids[k])
        for i in range(self.met.size()):
            self.seen[self.met[i]] = 0
        return rule

    cdef int meet(self, TermId term) except FAILED nogil:
        """Queue a term once, if its tests must be found."""
        if self.terms.terms[term].flags & F_KEYS and not self.seen[term]:
            self.met.push_back(term)
            self.seen[term] = 1
        return 0

    cdef int add_test(self, TestId test) except FAILED nogil:
        if self.tests.size() <= <size_t>(test >> 6):
            self.tests.resize((test >> 6) + 1, 0)
        self.tests[test >> 6] |= <uint64_t>1 << (test & 63)
        return 0

    cdef int solve_rules(self) except FAILED nogil:
        """Find the facts of the new rules: the least fixpoints of `passes` and `first_tests`.

        Older rules do not refer to new ones, so their facts are final.
        """
        cdef size_t rule, k, old = self.rule_passes.size(), count = self.terms.rule_body.size()
        cdef RuleId called = NO_RULE
        cdef bint changed = True
        cdef vector[int32_t] found
        self.rule_passes.resize(count)
        self.rule_tests.resize(count)
        for k in range(old, count):  # a rule that tests no key passes, and is not visited again
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
                        copy_list(self.rule_tests[rule], found)
                        changed = True
            # if no rule begins with a new one, one round is enough
            changed = changed and called >= <int32_t>old
        return 0

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes of the needs."""
        cdef size_t held = sizeof(Needs) * self.sets.size() + 8 * self.words.size()
        return held + 4 * self.tests_of.size() + 24 * self.rule_tests.size()


# ------------------------------------------------------------------------------------------------
# Sets of texts, such as the undeclared keys that an object has: immutable and hash-consed.
#
# Source: sets are Patricia trees (Okasaki and Gill, "Fast Mergeable Integer Maps", 1998), which have one form
# per set.
# ------------------------------------------------------------------------------------------------


cdef enum:
    NO_TREE = -1


@cython.final
cdef class TextSets:
    """The sets of texts of one store, by number.

    Invariant: append-only; equal sets have one number.
    """

    def __cinit__(self):
        cdef TextNode empty
        empty.prefix = empty.bit = 0
        empty.low = empty.high = NO_TREE
        self.nodes.push_back(empty)

    cdef TextNodeId node(
        self, uint32_t prefix, uint32_t bit, TextNodeId low, TextNodeId high
    ) except ID_FAILED nogil:
        cdef uint64_t h = mix(mix(mix(mix(53, prefix), bit), <uint32_t>low), <uint32_t>high)
        cdef Probe probe = self.index.probe(h)
        cdef TextNodeId id = self.index.next(probe)
        cdef TextNode* other
        cdef TextNode node
        while id >= 0:
            other = &self.nodes[id]
            if other.prefix == prefix and other.bit == bit and other.low == low and other.high == high:
                return id
            id = self.index.next(probe)
        node.prefix = prefix
        node.bit = bit
        node.low = low
        node.high = high
        id = <int32_t>self.nodes.size()
        self.nodes.push_back(node)
        self.index.put(probe, id)
        return id

    cdef bint has(self, TextNodeId node, uint32_t text) noexcept nogil:
        cdef TextNode n
        while node != EMPTY_SET:
            n = self.nodes[node]
            if not n.bit:
                return n.prefix == text
            node = n.high if text & n.bit else n.low
        return False

    cdef TextNodeId adding(self, TextNodeId node, uint32_t text) except ID_FAILED nogil:
        """Return the set with one more text. Cost: the depth of the tree, at most 32."""
        cdef TextNodeId path[33]
        cdef TextNodeId root, made
        cdef int32_t depth = 0
        cdef uint32_t differs
        cdef TextNode n
        if node == EMPTY_SET:
            return self.node(text, 0, NO_TREE, NO_TREE)
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
        made = self.node(text, 0, NO_TREE, NO_TREE)
        if text & differs:  # mutant: set-side
            made = self.node(text & (differs - 1), differs, node, made)
        else:
            made = self.node(text & (differs - 1), differs, made, node)
        while depth:
            depth -= 1
            n = self.nodes[path[depth]]
            if text & n.bit:
                made = self.node(n.prefix, n.bit, n.low, made)
            else:
                made = self.node(n.prefix, n.bit, made, n.high)
        return made

    cdef int list_texts(self, TextNodeId node, vector[TextId]& out) except FAILED nogil:
        """Append the texts of a set."""
        cdef vector[TextNodeId] todo
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

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes of the sets."""
        return sizeof(TextNode) * self.nodes.size() + self.index.nbytes()


# ------------------------------------------------------------------------------------------------
# The undeclared keys of the object that was asked for last, spelled out.
#
# A text asks for the keys of one object again and again, and each time it has at most one more. So the list is
# kept, and what a set has beyond the last one is added to it.
# ------------------------------------------------------------------------------------------------


@cython.final
cdef class UsedKeys:
    """The strings of one set of texts. The part of the mask engine that uses them owns this."""

    def __cinit__(self, TextSets sets not None, CaptureTexts texts not None):
        self.sets = sets
        self.texts = texts
        self.spelled_set = EMPTY_SET
        self.generation = 0

    cdef int spell(self, TextNodeId used) except ID_FAILED nogil:
        """Write the texts of a set to ``spelled``, after the existing texts.

        Cost: linear in the texts that the previous set lacks, or in all texts if it had others.
        Returns: the number of texts.
        """
        cdef vector[TextId] added
        cdef size_t k, before
        if used == self.spelled_set:
            return 0
        if not list_added(self.sets, self.spelled_set, used, added):
            self.spelled.clear()
            self.generation += 1  # mutant: begun-anew
            added.clear()
            self.sets.list_texts(used, added)
        before = self.spelled.size()
        self.spelled.resize(before + added.size())
        for k in range(added.size()):
            self.texts.spell(added[k], self.spelled[before + k])
        self.spelled_set = used
        return <int>added.size()


cdef bint list_added(
    TextSets sets, TextNodeId old, TextNodeId new, vector[TextId]& out
) except FAILED nogil:
    """Append the texts of a set that another set lacks. Return False if the other one has additional texts.

    ``out`` is then partly filled. Cost: linear in the texts that only one set has.
    """
    cdef vector[TextNodeId] todo    # pairs: a part of the old set, and the part of the new one to hold it
    cdef TextNode o, n
    cdef bint above
    todo.push_back(old)
    todo.push_back(new)
    while not todo.empty():
        new = todo.back()
        todo.pop_back()
        old = todo.back()
        todo.pop_back()
        if old == new:
            continue
        if new == EMPTY_SET:
            return False
        n = sets.nodes[new]
        if old == EMPTY_SET:
            if n.bit:
                add_pair(todo, EMPTY_SET, n.high)
                add_pair(todo, EMPTY_SET, n.low)
            else:
                out.push_back(<int32_t>n.prefix)
            continue
        o = sets.nodes[old]
        if not n.bit or (o.bit and o.bit < n.bit) or (o.prefix ^ n.prefix) & (n.bit - 1):
            return False
        if o.bit == n.bit:
            add_pair(todo, o.high, n.high)
            add_pair(todo, o.low, n.low)
        else:
            above = o.prefix & n.bit != 0  # all of the old part is on one side
            add_pair(todo, old if above else EMPTY_SET, n.high)
            add_pair(todo, EMPTY_SET if above else old, n.low)
    return True


cdef int add_pair(vector[TextNodeId]& todo, TextNodeId old, TextNodeId new) except FAILED nogil:
    todo.push_back(old)
    todo.push_back(new)
    return 0


cdef enum:
    STATE_BYTES = 256   # of a key state, with the set of its undeclared keys


@cython.final
cdef class KeyStates:
    """The key states of the grammars of one store, and the tests that their terms need."""

    def __cinit__(self, TermStore terms, uint64_t max_states=2_000_000):
        cdef KeyState none
        self.key_sets = TextSets()
        self.needs = KeyNeeds(terms)
        self.max_states = max_states
        none.spec = NO_SPEC
        none.undeclared = USED_SET
        none.used = none.count = none.missing = none.past = none.taken = none.holds = 0
        self.states.push_back(none)
        self.states.push_back(none)
        self.numbers = {}

    def add_spec(self, spec):
        """Return the number of a satisfiable spec (see ``KeySpec``)."""
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
        """Return whether a test holds. Cost: a load."""
        return self.states[state].spec != NO_SPEC and has_bit(&self.words[self.states[state].holds], test)

    cdef KeysId fresh(self, SpecId spec) except ID_FAILED nogil:
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

    cdef KeysId take(self, KeysId state, SlotId slot) except ID_FAILED nogil:
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

    cdef KeysId use(self, KeysId state, TextId text) except ID_FAILED nogil:
        """Return the state after an undeclared key, or NOT_NOW if it was used before or may not come.

        A view assumes that the first such key is new, and returns NOT_KNOWN for the second.
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

    cdef KeysId view(self, KeysId state) except ID_FAILED nogil:
        """Return the view of a state in walks, without the used undeclared keys, which matter to few tokens."""
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

    cdef KeysId intern(self, KeyState k) except ID_FAILED nogil:
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
        cdef Probe probe = self.state_index.probe(h)
        id = self.state_index.next(probe)
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
            id = self.state_index.next(probe)
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
        self.state_index.put(probe, id)
        return id

    cdef int find_holding(self, KeyState* k) except FAILED nogil:
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
        """Return whether a term with these needs can continue: no test is first, or one that holds."""
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
        """Return the approximate number of bytes of the key states."""
        cdef size_t held = sizeof(Spec) * self.specs.size() + sizeof(KeyState) * self.states.size()
        held += 8 * self.words.size() + self.state_index.nbytes() + 4 * self.view_of.size()
        return held + self.key_sets.nbytes() + self.needs.nbytes()
