# distutils: language = c++
"""What terms need: the key tests that can come first in them.

The tests of a term are found once. A term that can continue without a test needs none. Rules may refer to
each other, so their needs are a least fixpoint.
"""

cimport cython
from libc.stdint cimport uint8_t, uint64_t

from stackmask.pda.ids cimport NO_RULE
from stackmask.pda.memory.byte_sets cimport has_bit, list_bits
from stackmask.pda.memory.checked_vectors cimport copy_list
from stackmask.pda.terms.term_table cimport CALL_RULE, CALL_TEST, EMPTY, F_KEYS, Call, Term
from stackmask.pda.terms.term_table cimport K_ALT, K_CALL, K_REP, K_SEQ

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

    cdef bint always_lives(self, TermId term) except -1 nogil:
        """Tell whether a term can continue in every key state, since an object can always continue or end."""
        cdef int32_t i
        cdef NeedsId found = self.needs_at(term)
        cdef Needs n = self.sets[found]
        if found == FREE:
            return True
        if n.words:
            return has_bit(&self.words[n.first], TEST_CLOSE) and has_bit(&self.words[n.first], TEST_CONTINUE)
        i = n.first
        return n.count > 1 and self.tests_of[i] == TEST_CLOSE and self.tests_of[i + 1] == TEST_CONTINUE

    cdef TermId tested(self, TermId term) except -3 nogil:
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

    cdef NeedsId needs_at(self, TermId term) except -3 nogil:
        """Return the tests that can come first in a term: FREE if some path meets none.

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

    cdef NeedsId find_needs(self, TermId term) except -3 nogil:
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

    cdef bint passes(self, TermId term) except -1 nogil:
        """Tell whether some path through the term meets no test. No recursion: names may be long."""
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

    cdef RuleId first_tests(self, TermId term) except -3 nogil:
        """Write the tests that can come first in a term to ``tests``.

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

    cdef int meet(self, TermId term) except -1 nogil:
        """Queue a term whose tests must be found, once."""
        if self.terms.terms[term].flags & F_KEYS and not self.seen[term]:
            self.met.push_back(term)
            self.seen[term] = 1
        return 0

    cdef int add_test(self, TestId test) except -1 nogil:
        if self.tests.size() <= <size_t>(test >> 6):
            self.tests.resize((test >> 6) + 1, 0)
        self.tests[test >> 6] |= <uint64_t>1 << (test & 63)
        return 0

    cdef int solve_rules(self) except -1 nogil:
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
        """Return about how many bytes the needs take."""
        cdef size_t held = sizeof(Needs) * self.sets.size() + 8 * self.words.size()
        return held + 4 * self.tests_of.size() + 24 * self.rule_tests.size()
