# distutils: language = c++
"""Runs with a constraint: X{m,n} & pattern, as of undeclared keys, and names, whose first byte is special.

If the constraint excludes a list of strings, the tables of the unconstrained run X{m,n} serve all tokens but
a few, which are found by spelling the strings down the trie. Under other constraints, tokens are walked.
"""

cimport cython
from libc.stdint cimport int16_t
from libcpp.pair cimport pair

from stackmask.pda.masks.shared.part cimport MaskContext, MaskPart
from stackmask.pda.stack.configuration_table cimport DEAD, Config, Member
from stackmask.pda.terms.term_table cimport (
    EPS,
    F_IMPURE,
    K_ALT,
    K_AND,
    K_LIT,
    K_NOT,
    K_REP,
    K_SEQ,
    K_SET,
    Term,
)
from stackmask.pda.masks.shared.arena cimport NO_FILTER, NO_ROW
from stackmask.pda.vocabulary.trie_cursor cimport child_of
from stackmask.pda.vocabulary.suffix_tries cimport IN_SUFFIX_TRIE, Nodes
from stackmask.pda.masks.runs.run_splitting cimport DeferredRun, RunMember
from stackmask.pda.masks.shared.run_tables cimport NOT_A_CODE

cdef enum:
    FEW_NODES = 512         # in smaller subtrees, only a configuration that is a single run uses tables
    MOST_SPELLED = 1 << 14  # prefixes of the excluded strings
    MOST_EXCLUDED = 1024    # tokens that a constraint may exclude


cdef int append_tokens(Nodes n, int32_t node, const uint64_t* first, vector[int32_t]& tokens) except -1:
    """Append the tokens that continue after a node with one of the bytes, given as 4 words."""
    cdef int32_t k, t, kid, b
    for k in range(n.kid_first[node], n.kid_first[node + 1]):
        b = n.kid_byte[k]
        if (first[b >> 6] >> (b & 63)) & 1:
            kid = n.kid_node[k]
            for t in range(n.token_first[kid], n.token_first[n.end[kid]]):
                tokens.push_back(n.tokens[t])
    return 0


@cython.final
cdef class ConstrainedRuns(MaskPart):
    """Takes tokens of configurations with constrained runs from run tables."""

    def __cinit__(
        self,
        MaskContext context not None,
        MaskArena arena not None,
        Slices slices not None,
        RunSplitter splitter not None,
    ):
        self.arena = arena
        self.slices = slices
        self.splitter = splitter

    cdef int drop(self) except -1:
        """Forget the configurations without their constraints."""
        self.unconstrained_of.clear()
        return MaskPart.drop(self)

    cdef size_t nbytes(self) noexcept:
        """Return the bytes held here."""
        return 4 * self.unconstrained_of.size()

    cdef int32_t unconstrained_state(self, int32_t state) except -3:
        """Return a state X{m,n} & … continuation without its constraint; other states as they are.

        A state [bytes] X{m,n} continuation, as of names, is X{m+1,n+1} continuation with a constraint on its
        first character.
        """
        cdef Term t = self.terms.terms[state]
        cdef Term both = self.terms.terms[t.a] if t.kind == K_SEQ else t
        cdef int32_t k, kid
        if t.kind == K_SEQ and both.kind == K_SET:
            return self.whole_run(state)
        if both.kind != K_AND:
            return state
        for k in range(both.b):
            kid = self.terms.kids[both.a + k]
            if self.terms.terms[kid].kind != K_REP:
                continue
            if self.runs.code_of(self.terms.terms[kid].a) != NOT_A_CODE:
                return self.terms.mk_seq(kid, t.b) if t.kind == K_SEQ else kid
        return state

    cdef int32_t whole_run(self, int32_t state) except -3:
        """Return X{m+1,n+1} continuation for [bytes] X{m,n} continuation if some of the bytes begin X.

        Return other states as they are.
        """
        cdef Term t = self.terms.terms[state]
        cdef Term next = self.terms.terms[t.b]
        cdef Term run = self.terms.terms[next.a] if next.kind == K_SEQ else next
        cdef int32_t k, code
        cdef bint shared = False
        if run.kind != K_REP:
            return state
        code = self.runs.code_of(run.a)
        if code == NOT_A_CODE or self.splitter.is_narrow(code):
            return state
        for k in range(4):
            if self.terms.sets[4 * self.terms.terms[t.a].a + k] & self.runs.codes[code].first[k]:
                shared = True
        if not shared:
            return state
        k = self.terms.mk_rep(run.a, run.b + 1, run.c + 1 if run.c >= 0 else run.c)
        return self.terms.mk_seq(k, next.b if next.kind == K_SEQ else EPS)

    cdef int32_t unconstrained(self, int32_t config) except -3:
        """Return the configuration without its constraints if it consists of runs only then; else itself.

        An unconstrained run may be empty where the constrained one is not. Then calls and returns leave it at
        once, and their members are added. With these members it does not consist of runs only, and is not
        returned. So its steps and its tables always agree. Remembered.
        """
        cdef Config c
        cdef Member m
        cdef vector[Member] members
        cdef vector[int32_t] others
        cdef int32_t i, state, found = config
        if <size_t>config >= self.unconstrained_of.size():
            self.unconstrained_of.resize(self.space.configs.size(), -1)
        if self.unconstrained_of[config] >= 0:
            return self.unconstrained_of[config]
        c = self.space.configs[config]
        for i in range(c.first, c.first + c.count):
            m = self.space.members[i]
            state = m.state
            if self.splitter.is_steady(m.sem):
                state = self.unconstrained_state(state)
            if state == m.state:
                members.push_back(m)
                continue
            others.push_back(self.space.closed(state, m.frame, m.sem))
            if others.back() <= DEAD:
                self.unconstrained_of[config] = config
                return config
        if others.size():
            state = DEAD if members.empty() else self.space.of_members(members)
            for i in range(<int32_t>others.size()):
                state = self.space.union_of(state, others[i])
            self.splitter.split(state)
            if self.splitter.split_of[state] == DEAD and self.splitter.split_count[state]:
                found = state
        self.unconstrained_of[config] = found
        return found

    cdef int defer_without(
        self, int32_t unconstrained, int32_t place, vector[int32_t]& tokens, vector[DeferredRun]& deferred
    ) except -1:
        """Leave all tokens but some to the run tables of a configuration that consists of runs only."""
        cdef DeferredRun deferred_run
        cdef int32_t k
        deferred_run.filter = self.slices.add_filter(NO_ROW, tokens) if tokens.size() else NO_FILTER
        deferred_run.place = place
        for k in range(self.splitter.split_count[unconstrained]):
            deferred_run.member = self.splitter.split_members[self.splitter.split_first[unconstrained] + k]
            deferred.push_back(deferred_run)
        return 0

    cdef bint exclude_strings(self, int32_t config, int32_t place, vector[DeferredRun]& deferred) except -1:
        """Leave the tokens under a place to run tables where a run only excludes strings: X{m,} & !strings …

        They serve all but a few tokens, which are found by spelling the strings down the trie. A token is
        forbidden only if it spells one of the strings and goes into the continuation after it. Others keep an
        alternative: X{m,} without some strings is not empty, and one byte tells a run from its continuation.
        Return whether the configuration is such a one, and excludes few. Cost: nodes that spell prefixes.
        """
        cdef int32_t unconstrained = self.unconstrained(config), k, strings = 0
        cdef Config c = self.space.configs[config]
        cdef Nodes n = self.tries.nodes(place)
        cdef RunMember member
        cdef Term u, both
        cdef SpelledString at, on
        cdef uint64_t after_run[4]
        cdef const int16_t* table
        cdef vector[int32_t] tokens
        if unconstrained == config or c.count != 1 or self.splitter.split_count[unconstrained] != 1:
            return False
        k = self.splitter.split_first[unconstrained]
        member = self.splitter.run_members[self.splitter.split_members[k]]
        u = self.terms.terms[self.space.members[c.first].state]
        if self.space.configs[member.continuation].pop_count:
            return False
        if member.high >= 0 or (u.flags & F_IMPURE and self.terms.guard_sets.size() > 1):
            return False
        both = self.terms.terms[u.a] if u.kind == K_SEQ else u
        if both.kind != K_AND:
            return False
        self.spelled.clear()
        self.spelled_continuations.clear()
        at.node = place >> 2
        at.continuation = -1
        at.state = 0
        for k in range(both.a, both.a + both.b):
            u = self.terms.terms[self.terms.kids[k]]
            if u.kind == K_NOT:
                at.term = u.a
                self.spelled.push_back(at)
                strings += 1
        if strings < both.b - 1:
            return False
        self.splitter.first_of(member.continuation, after_run)
        n = self.tries.nodes(place)
        table = &self.runs.table[self.runs.codes[member.code].first_row]
        strings = 0
        while not self.spelled.empty():
            at = self.spelled.back()
            self.spelled.pop_back()
            strings += 1
            if strings > MOST_SPELLED or tokens.size() > MOST_EXCLUDED:
                return False
            if at.term == EPS:
                if at.continuation >= 0:
                    at.term = self.spelled_continuations[at.continuation].first
                    at.continuation = self.spelled_continuations[at.continuation].second
                    self.spelled.push_back(at)
                elif at.state == 0:
                    append_tokens(n, at.node, after_run, tokens)
                continue
            u = self.terms.terms[at.term]
            if u.kind == K_ALT:
                on = at
                for k in range(u.a, u.a + u.b):
                    on.term = self.terms.kids[k]
                    self.spelled.push_back(on)
            elif u.kind == K_SEQ:
                self.spelled_continuations.push_back(pair[int32_t, int32_t](u.b, at.continuation))
                at.term = u.a
                at.continuation = <int32_t>self.spelled_continuations.size() - 1
                self.spelled.push_back(at)
            elif u.kind == K_LIT:
                for k in range(u.b):
                    at.node = child_of(n, at.node, self.terms.pool[u.a + k])
                    at.state = table[256 * at.state + self.terms.pool[u.a + k]]
                    if at.node < 0 or at.state < 0:
                        break
                if at.node >= 0 and at.state >= 0:
                    at.term = EPS
                    self.spelled.push_back(at)
            elif u.kind == K_SET:
                on = at
                on.term = EPS
                for k in range(n.kid_first[at.node], n.kid_first[at.node + 1]):
                    if self.terms.set_has(u.a, n.kid_byte[k]):
                        on.node = n.kid_node[k]
                        on.state = table[256 * at.state + n.kid_byte[k]]
                        if on.state >= 0:
                            self.spelled.push_back(on)
            else:
                return False
        if tokens.size() > MOST_EXCLUDED:
            return False
        self.defer_without(unconstrained, place, tokens, deferred)
        return True

    cdef int32_t defer_runs(self, int32_t config, int32_t place, vector[DeferredRun]& deferred) except -3:
        """Leave the tokens under a place to run tables as far as possible.

        Return the configuration to walk with, or DEAD.
        """
        cdef DeferredRun deferred_run
        cdef int32_t continuation
        cdef size_t k
        cdef Nodes n = self.tries.nodes(place)
        if not self.layers.runs:
            return config
        if self.space.configs[config].sure != self.space.configs[config].count:
            return config
        if not self.space.configs[config].count or (place & IN_SUFFIX_TRIE and self.tries.twice[place >> 2]):
            return config
        if n.end[place >> 2] - (place >> 2) <= FEW_NODES:
            return DEAD if self.defer_one_run(config, place, deferred) else config
        self.splitter.split(config)
        continuation = self.splitter.split_of[config]
        deferred_run.place = place
        deferred_run.filter = NO_FILTER
        for k in range(<size_t>self.splitter.split_count[config]):
            deferred_run.member = self.splitter.split_members[self.splitter.split_first[config] + k]
            deferred.push_back(deferred_run)
        if continuation == DEAD:
            return continuation
        if not self.layers.constrained:
            return continuation
        return DEAD if self.exclude_strings(continuation, place, deferred) else continuation

    cdef bint defer_one_run(self, int32_t config, int32_t place, vector[DeferredRun]& deferred) except -1:
        """Leave all tokens of a small subtree to run tables. Return whether the tables apply.

        They apply to a single run with excluded strings, as after the quote of an undeclared key, which would
        need configurations of its own. They also apply to a single run over a suffix trie, which has no
        summaries of subtrees.
        """
        cdef Config c = self.space.configs[config]
        cdef Term t
        cdef DeferredRun deferred_run
        if c.count != 1:
            return False
        t = self.terms.terms[self.space.members[c.first].state]
        if t.kind == K_SEQ:
            t = self.terms.terms[t.a]
        if t.kind == K_AND and self.layers.constrained:
            return self.exclude_strings(config, place, deferred)
        if t.kind != K_REP or not place & IN_SUFFIX_TRIE:
            return False
        self.splitter.split(config)
        if self.splitter.split_of[config] != DEAD:
            return False
        deferred_run.place = place
        deferred_run.filter = NO_FILTER
        deferred_run.member = self.splitter.split_members[self.splitter.split_first[config]]
        deferred.push_back(deferred_run)
        return True
