# distutils: language = c++
"""Runs with a constraint: X{m,n} & pattern, as of undeclared keys, and names, whose first byte is special.

If the first byte of a token leads the constrained and the unconstrained run to the same state, the tables of
the unconstrained run X{m,n} serve the token. Other tokens are walked. If the constraint excludes little, such
as a list of strings, the tables serve all tokens but a few. These are found by spelling the strings, or by
walking both runs side by side.
"""

cimport cython
from libc.stdint cimport int16_t, uint32_t
from libc.string cimport memset
from libcpp.pair cimport pair

from stackmask.pda.ids cimport NO_NODE, NO_ROW, UNBOUNDED, CodeId, RowId, RunMemberId
from stackmask.pda.masks.shared.part cimport MaskContext, MaskPart
from stackmask.pda.memory.hash_tables cimport (
    NO_VALUE,
    map_free,
    map_get,
    map_init,
    map_nbytes,
    map_put,
    map_reset,
    mix,
)
from stackmask.pda.stack.configuration_table cimport DEAD, UNKNOWN, Config, Member, leads_on
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
    Repetition,
    Term,
    one_more,
)
from stackmask.pda.masks.shared.arena cimport NO_FILTER
from stackmask.pda.vocabulary.trie_cursor cimport child_of
from stackmask.pda.vocabulary.suffix_tries cimport INCLUSIVE, Nodes, node_at, place_at, trie_of
from stackmask.pda.masks.runs.run_splitting cimport DeferredRun, RunMember
from stackmask.pda.masks.shared.run_tables cimport NOT_A_CODE

cdef enum:
    FEW_NODES = 512         # in smaller subtrees, only a configuration that is a single run uses tables
    MOST_PAIRS = 256        # nodes at which the constrained and the unconstrained run may differ
    MOST_FAILS = 2          # after so many failures, a configuration is not tried again
    MOST_SPELLED = 1 << 14  # prefixes of the excluded strings
    MOST_EXCLUDED = 1024    # tokens that a constraint may exclude


cdef int append_tokens(Nodes n, NodeId node, const uint64_t* first, vector[TokenId]& tokens) except -1 nogil:
    """Append the tokens that continue after a node with one of the bytes, given as 4 words."""
    cdef int32_t k, t, b
    cdef NodeId kid
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
        map_init(&self.byte_filter_index)

    def __dealloc__(self):
        map_free(&self.byte_filter_index)

    cdef int drop(self) except -1 nogil:
        """Forget the configurations without their constraints."""
        self.unconstrained_of.clear()
        self.fails.clear()
        self.few_served.clear()
        self.byte_filters.clear()
        map_reset(&self.byte_filter_index)
        return MaskPart.drop(self)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held here."""
        cdef size_t held = 4 * (self.fails.size() + self.few_served.size() + self.unconstrained_of.size())
        held += sizeof(ByteFilter) * self.byte_filters.size()
        held += map_nbytes(&self.byte_filter_index)
        return held

    cdef TermId unconstrained_state(self, TermId state) except -3 nogil:
        """Return a state X{m,n} & … continuation without its constraint; other states as they are.

        A state [bytes] X{m,n} continuation, as of names, is X{m+1,n+1} continuation with a constraint on its
        first character.
        """
        cdef Term t = self.terms.terms[state]
        cdef Term both = self.terms.terms[t.seq.first] if t.kind == K_SEQ else t
        cdef int32_t k
        cdef TermId kid
        if t.kind == K_SEQ and both.kind == K_SET:
            return self.whole_run(state)
        if both.kind != K_AND:
            return state
        for k in range(both.operands.count):
            kid = self.terms.kids[both.operands.first + k]
            if self.terms.terms[kid].kind != K_REP:
                continue
            if self.runs.code_of(self.terms.terms[kid].rep.item) != NOT_A_CODE:
                return self.terms.mk_seq(kid, t.seq.rest) if t.kind == K_SEQ else kid
        return state

    cdef TermId whole_run(self, TermId state) except -3 nogil:
        """Return X{m+1,n+1} continuation for [bytes] X{m,n} continuation if some of the bytes begin X.

        Return other states as they are.
        """
        cdef Term t = self.terms.terms[state]
        cdef Term next = self.terms.terms[t.seq.rest]
        cdef Term run = self.terms.terms[next.seq.first] if next.kind == K_SEQ else next
        cdef Repetition r
        cdef int32_t k
        cdef CodeId code
        cdef TermId whole
        cdef bint shared = False
        cdef const uint64_t* words
        if run.kind != K_REP:
            return state
        code = self.runs.code_of(run.rep.item)
        if code == NOT_A_CODE or self.splitter.is_narrow(code):
            return state
        words = &self.terms.classes.sets[4 * self.terms.terms[t.seq.first].set_id]
        for k in range(4):
            if words[k] & self.runs.codes[code].first[k]:
                shared = True
        if not shared:
            return state
        r = run.rep
        whole = self.terms.make.mk_rep(self.terms, r.item, r.low + 1, one_more(r.high))
        return self.terms.mk_seq(whole, next.seq.rest if next.kind == K_SEQ else EPS)

    cdef ConfigId unconstrained(self, ConfigId config) except -3 nogil:
        """Return the configuration without its constraints if it consists of runs only then; else itself.

        An unconstrained run may be empty where the constrained one is not. Then calls and returns leave it at
        once, and their members are added. With these members it does not consist of runs only, and is not
        returned. So its steps and its tables always agree. Remembered.
        """
        cdef Config c
        cdef Member m
        cdef vector[Member] members
        cdef vector[ConfigId] others
        cdef int32_t i
        cdef TermId state
        cdef ConfigId whole, found = config
        if <size_t>config >= self.unconstrained_of.size():
            self.unconstrained_of.resize(self.space.configs.size(), UNKNOWN)
        if self.unconstrained_of[config] != UNKNOWN:
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
            if not leads_on(others.back()):
                self.unconstrained_of[config] = config
                return config
        if others.size():
            whole = DEAD if members.empty() else self.space.of_members(members)
            for i in range(<int32_t>others.size()):
                whole = self.space.union_of(whole, others[i])
            self.splitter.split(whole)
            if self.splitter.split_of[whole] == DEAD and self.splitter.split_count[whole]:
                found = whole
        self.unconstrained_of[config] = found
        return found

    cdef int32_t defer_by_first_byte(
        self, ConfigId config, PlaceId place, vector[DeferredRun]& deferred, vector[NodeId]& left
    ) except -3 nogil:
        """Leave the tokens under a place to run tables by their first byte, where the constraint allows that.

        A child of the place is left to the tables if its byte begins a run and leads both configurations to
        the same state. ``left`` gets the other children. Return whether tables apply.
        """
        cdef ConfigId unconstrained = self.unconstrained(config)
        cdef int32_t first
        cdef NodeId i, stop
        cdef CodeId code
        cdef ConfigId after
        cdef int32_t t
        cdef NodeId node = node_at(place)
        cdef int32_t served = 0
        cdef Nodes n
        cdef DeferredRun deferred_run
        cdef bint runs
        if unconstrained == config or not self.context.layers.by_first_byte:
            return 0
        first = self.splitter.split_first[unconstrained]
        # with only one run, all tokens left to its table begin with a character of it
        deferred_run.least = self.splitter.split_count[unconstrained] == 1
        for t in range(self.splitter.split_count[unconstrained]):
            after = self.splitter.run_members[self.splitter.split_members[first + t]].continuation
            if not deferred_run.least and self.space.configs[after].pop_count:
                # one run would return while the next byte begins another run
                return 0
        if <size_t>config >= self.few_served.size():
            self.few_served.resize(self.space.configs.size(), 0)
        if self.few_served[config] >= MOST_FAILS:
            return 0
        n = self.context.tries.nodes(place)
        i = node + 1
        stop = n.end[node]
        while i < stop:
            runs = False
            for t in range(self.splitter.split_count[unconstrained]):
                code = self.splitter.run_members[self.splitter.split_members[first + t]].code
                if (self.runs.codes[code].first[n.byte[i] >> 6] >> (n.byte[i] & 63)) & 1:
                    runs = True
            if not runs or self.space.step(config, n.byte[i]) != self.space.step(unconstrained, n.byte[i]):
                left.push_back(i)
            else:
                served += n.end[i] - i
            i = n.end[i]
        if served < FEW_NODES:
            # walking so few nodes costs less than a filter
            self.few_served[config] += 1
            left.clear()
            return 0
        deferred_run.filter = self.filter_without(place, left) if left.size() else NO_FILTER
        deferred_run.place = place
        for t in range(self.splitter.split_count[unconstrained]):
            deferred_run.member = self.splitter.split_members[first + t]
            deferred.push_back(deferred_run)
        return 1

    cdef bint exclude_side_by_side(
        self, ConfigId config, PlaceId place, vector[DeferredRun]& deferred
    ) except -1 nogil:
        """Leave the tokens under a place to run tables, but for the tokens that only the constraint forbids.

        If a key must not be one of some names, these are the tokens that end such a name. They are found by
        walking the configurations with and without the constraint side by side, as long as they differ.
        Return whether tables apply, and few nodes and tokens differ.
        """
        cdef ConfigId unconstrained = self.unconstrained(config), c, p
        cdef int32_t k, t
        cdef NodeId kid
        cdef RunMemberId member
        cdef size_t done = 0
        cdef Nodes n
        cdef StatePair at
        cdef vector[TokenId] tokens
        cdef Config* x
        cdef Config* y
        if unconstrained == config:
            return False
        for k in range(self.splitter.split_count[unconstrained]):
            member = self.splitter.split_members[self.splitter.split_first[unconstrained] + k]
            if self.space.configs[self.splitter.run_members[member].continuation].pop_count:
                return False
        if self.exclude_strings(config, place, deferred):
            return True
        if not self.context.layers.side_by_side:
            return False
        if <size_t>config >= self.fails.size():
            self.fails.resize(self.space.configs.size(), 0)
        if self.fails[config] >= MOST_FAILS:
            return False
        # undone below if it succeeds
        self.fails[config] += 1
        n = self.context.tries.nodes(place)
        at.node = node_at(place)
        at.config = config
        at.unconstrained = unconstrained
        self.pairs.clear()
        self.pairs.push_back(at)
        while done < self.pairs.size():
            at = self.pairs[done]
            done += 1
            for k in range(n.kid_first[at.node], n.kid_first[at.node + 1]):
                p = self.space.step(at.unconstrained, n.kid_byte[k])
                c = self.space.step(at.config, n.kid_byte[k])
                if c == p:
                    continue
                kid = n.kid_node[k]
                if c == DEAD and leads_on(p):
                    for t in range(n.token_first[kid], n.token_first[n.end[kid]]):
                        tokens.push_back(n.tokens[t])
                    if tokens.size() > MOST_EXCLUDED:
                        return False
                    continue
                if not leads_on(c) or not leads_on(p):
                    return False
                x = &self.space.configs[c]
                y = &self.space.configs[p]
                if x.ends != y.ends or x.pop_count or y.pop_count or x.accepting != y.accepting:
                    return False
                if x.capturing != y.capturing:
                    return False
                if not self.splitter.is_known(c) or not self.splitter.is_known(p):
                    return False
                if n.kid_first[kid] < n.kid_first[kid + 1]:
                    if self.pairs.size() >= MOST_PAIRS:
                        return False
                    self.pairs.push_back(StatePair(kid, c, p))
        self.fails[config] -= 1
        self.defer_without(unconstrained, place, tokens, deferred)
        return True

    cdef int defer_without(
        self, ConfigId unconstrained, PlaceId place, vector[TokenId]& tokens, vector[DeferredRun]& deferred
    ) except -1 nogil:
        """Leave all tokens but some to the run tables of a configuration that consists of runs only."""
        cdef DeferredRun deferred_run
        cdef int32_t k
        deferred_run.filter = self.slices.add_filter(NO_ROW, tokens) if tokens.size() else NO_FILTER
        deferred_run.place = place
        deferred_run.least = 0
        for k in range(self.splitter.split_count[unconstrained]):
            deferred_run.member = self.splitter.split_members[self.splitter.split_first[unconstrained] + k]
            deferred.push_back(deferred_run)
        return 0

    cdef bint exclude_strings(
        self, ConfigId config, PlaceId place, vector[DeferredRun]& deferred
    ) except -1 nogil:
        """Do the same for X{m,} & !strings … continuation, by spelling the strings down the trie.

        A token is forbidden only if it spells one of the strings and goes into the continuation after it.
        Other tokens keep an alternative: X{m,} without some strings is never empty, and one byte tells a run
        from its continuation. Cost: the nodes that spell prefixes of the strings. Return whether the
        configuration is such a one.
        """
        cdef ConfigId unconstrained = self.unconstrained(config)
        cdef int32_t k, strings = 0
        cdef Config c = self.space.configs[config]
        cdef Nodes n = self.context.tries.nodes(place)
        cdef RunMember member
        cdef Term u, both
        cdef SpelledString at, on
        cdef uint64_t after_run[4]
        cdef const int16_t* table
        cdef vector[TokenId] tokens
        if c.count != 1 or self.splitter.split_count[unconstrained] != 1:
            return False
        k = self.splitter.split_first[unconstrained]
        member = self.splitter.run_members[self.splitter.split_members[k]]
        u = self.terms.terms[self.space.members[c.first].state]
        if member.high != UNBOUNDED or (u.flags & F_IMPURE and self.terms.classes.has_guards()):
            return False
        both = self.terms.terms[u.seq.first] if u.kind == K_SEQ else u
        if both.kind != K_AND:
            return False
        self.spelled.clear()
        self.spelled_continuations.clear()
        at.node = node_at(place)
        at.continuation = NOTHING_MORE
        at.state = 0
        for k in range(both.operands.first, both.operands.first + both.operands.count):
            u = self.terms.terms[self.terms.kids[k]]
            if u.kind == K_NOT:
                at.term = u.negated
                self.spelled.push_back(at)
                strings += 1
        if strings < both.operands.count - 1:
            return False
        self.splitter.first_of(member.continuation, after_run)
        n = self.context.tries.nodes(place)
        table = &self.runs.table[self.runs.codes[member.code].table_first]
        strings = 0
        while not self.spelled.empty():
            at = self.spelled.back()
            self.spelled.pop_back()
            strings += 1
            if strings > MOST_SPELLED or tokens.size() > MOST_EXCLUDED:
                return False
            if at.term == EPS:
                if at.continuation != NOTHING_MORE:
                    at.term = self.spelled_continuations[at.continuation].first
                    at.continuation = self.spelled_continuations[at.continuation].second
                    self.spelled.push_back(at)
                elif at.state == 0:
                    append_tokens(n, at.node, after_run, tokens)
                continue
            u = self.terms.terms[at.term]
            if u.kind == K_ALT:
                on = at
                for k in range(u.operands.first, u.operands.first + u.operands.count):
                    on.term = self.terms.kids[k]
                    self.spelled.push_back(on)
            elif u.kind == K_SEQ:
                self.spelled_continuations.push_back(pair[TermId, int32_t](u.seq.rest, at.continuation))
                at.term = u.seq.first
                at.continuation = <int32_t>self.spelled_continuations.size() - 1
                self.spelled.push_back(at)
            elif u.kind == K_LIT:
                for k in range(u.literal.length):
                    at.node = child_of(n, at.node, self.terms.pool[u.literal.first + k])
                    at.state = table[256 * at.state + self.terms.pool[u.literal.first + k]]
                    if at.node == NO_NODE or at.state < 0:
                        break
                if at.node != NO_NODE and at.state >= 0:
                    at.term = EPS
                    self.spelled.push_back(at)
            elif u.kind == K_SET:
                on = at
                on.term = EPS
                for k in range(n.kid_first[at.node], n.kid_first[at.node + 1]):
                    if self.terms.classes.set_has(u.set_id, n.kid_byte[k]):
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

    cdef ConfigId defer_runs(
        self,
        ConfigId config,
        PlaceId place,
        vector[DeferredRun]& deferred,
        vector[PlaceId]& jobs,
        vector[ConfigId]& job_configs,
    ) except -3 nogil:
        """Leave the tokens under a place to run tables as far as possible.

        Return the configuration to walk with, or DEAD. Single children that must be walked become jobs.
        """
        cdef DeferredRun deferred_run
        cdef vector[NodeId] left
        cdef ConfigId continuation
        cdef size_t k
        cdef Nodes n = self.context.tries.nodes(place)
        if not self.context.layers.runs:
            return config
        if self.space.configs[config].sure != self.space.configs[config].count:
            return config
        if not self.space.configs[config].count:
            return config
        if trie_of(place) and self.context.tries.twice[node_at(place)]:
            return config
        if n.end[node_at(place)] - node_at(place) <= FEW_NODES:
            return DEAD if self.defer_one_run(config, place, deferred) else config
        self.splitter.split(config)
        continuation = self.splitter.split_of[config]
        deferred_run.place = place
        deferred_run.filter = NO_FILTER
        deferred_run.least = 0
        for k in range(<size_t>self.splitter.split_count[config]):
            deferred_run.member = self.splitter.split_members[self.splitter.split_first[config] + k]
            deferred.push_back(deferred_run)
        if continuation == DEAD:
            return continuation
        if not self.context.layers.constrained:
            return continuation
        if self.exclude_side_by_side(continuation, place, deferred):
            return DEAD
        if not self.defer_by_first_byte(continuation, place, deferred, left):
            return continuation
        for k in range(left.size()):
            jobs.push_back(place_at(left[k], trie_of(place) | INCLUSIVE))
            job_configs.push_back(continuation)
        return DEAD

    cdef bint defer_one_run(
        self, ConfigId config, PlaceId place, vector[DeferredRun]& deferred
    ) except -1 nogil:
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
            t = self.terms.terms[t.seq.first]
        if t.kind == K_AND and self.context.layers.constrained:
            return self.unconstrained(config) != config and self.exclude_strings(config, place, deferred)
        if t.kind != K_REP or not trie_of(place):
            return False
        self.splitter.split(config)
        if self.splitter.split_of[config] != DEAD:
            return False
        deferred_run.place = place
        deferred_run.filter = NO_FILTER
        deferred_run.least = 0
        deferred_run.member = self.splitter.split_members[self.splitter.split_first[config]]
        deferred.push_back(deferred_run)
        return True

    cdef FilterId filter_without(self, PlaceId place, vector[NodeId]& nodes) except -1 nogil:
        """Return the filter that removes the tokens of some children of a place. Remembered."""
        cdef Nodes n = self.context.tries.nodes(place)
        cdef ByteFilter entry
        cdef uint64_t h = mix(61, <uint32_t>place)
        cdef vector[TokenId] nothing_else
        cdef int32_t known, t, b
        cdef RowId made
        cdef NodeId i
        cdef size_t k
        cdef uint32_t* row
        entry.place = place
        for k in range(4):
            entry.words[k] = 0
        for k in range(nodes.size()):
            b = n.byte[nodes[k]]
            entry.words[b >> 6] |= <uint64_t>1 << (b & 63)
        for k in range(4):
            h = mix(h, entry.words[k])
        while True:
            known = map_get(&self.byte_filter_index, h)
            if known == NO_VALUE:
                break
            if self.byte_filters[known].place == place:
                k = 0
                while k < 4 and self.byte_filters[known].words[k] == entry.words[k]:
                    k += 1
                if k == 4:
                    return self.byte_filters[known].filter
            h += 1
        made = self.arena.new_row()
        row = self.arena.rows[made]
        memset(row, 0xFF, 4 * <size_t>self.context.width)
        for k in range(nodes.size()):
            i = nodes[k]
            for t in range(n.token_first[i], n.token_first[n.end[i]]):
                row[n.tokens[t] >> 5] &= ~(<uint32_t>1 << (n.tokens[t] & 31))
        entry.filter = self.slices.add_filter(made, nothing_else)
        map_put(&self.byte_filter_index, h, <int32_t>self.byte_filters.size())
        self.byte_filters.push_back(entry)
        return entry.filter
