# distutils: language = c++
"""Configurations: where the grammar can be after a text, as sets of (local state, frame, semantic state).

Frames are the stack (``frames.pyx``); several callers of a rule at one position share one. A configuration is
closed: the bodies of called rules and the states after immediate returns are members too. Members that
can consume nothing by themselves are left out. A history is a list of integers.

The closure works in two passes. First all returns, from the members that consumed the last symbol. Then
the calls: callers of one rule (with equal guard and semantic state) are collected before its frame is built,
which is possible because the left-call order has no cycle; so callers come first. The body of a called
rule never returns at the position where it was called: a rule that can be empty is passed over by its
caller's local state instead. A tail call pushes nothing.
"""

cimport cython
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libcpp.algorithm cimport sort

from stackmask.pda.stack.configuration_table cimport (
    DEAD,
    NO_ROW,
    NO_TOKEN,
    READS_STATE,
    UNKNOWN,
    Config,
    Pop,
    TokenStep,
    member_less,
    pop_less,
)
from stackmask.pda.stack.frames cimport BOTTOM, BOTTOM_REST
from stackmask.pda.terms.term_table cimport (
    ACTION_KEYED,
    ACTION_NONE,
    ACTION_SCOPE,
    ANY_BYTE,
    CALL_RULE,
    CALL_TEST,
    EMPTY,
    EPS,
    F_CALL,
    F_KEYS,
    F_LOCAL,
    K_LIT,
    K_SEQ,
    MAP_EACH,
    MAP_ONE,
    NEVER,
    TOKENS,
    Call,
    ClassMap,
    SiteList,
    Term,
)
from stackmask.pda.context.semantic_states cimport FORBIDDEN, NEEDS_STATE, SEM_SYMBOL
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_clear, map_free, map_get, map_init, map_put

from stackmask.pda.errors import BudgetError

cdef enum:
    MANY_BYTES = 1 << 16     # of a token: a place behind so many remembers none
    FIRST_NOTED = 64     # steps of tokens that a family notes, and
    MOST_NOTED = 4096
    LOWEST = -1         # before every rule: what a resolver answers calls no rule


@cython.final
cdef class ConfigSpace(ConfigTable):
    """Frames and configurations of one family of matchers, or of the mask walks of one automaton."""

    def __cinit__(self):
        map_init(&self.node_seen)
        map_init(&self.tail_seen)
        self.computed = 0

    def __dealloc__(self):
        map_free(&self.node_seen)
        map_free(&self.tail_seen)

    # -- closure -----------------------------------------------------------------------------------

    cdef int return_from(self, Member m, int32_t guard) except -3:
        """Add what follows the return of a member that may end here.

        In a walk, what follows an action that must know more, or returns unsure, is left out; ``found_reads``
        says under which guards it would go on.
        """
        cdef int32_t e, rest, sem, first = self.frames[m.frame].first
        cdef Edge edge
        cdef Pop pop
        for e in range(first, first + self.frames[m.frame].count):
            edge = self.edges[e]
            if edge.rest == BOTTOM_REST:
                if self.is_walk and self.semantics.is_unsure(m.sem):
                    self.found_reads |= <uint64_t>1 << guard
                elif self.is_walk:
                    pop.guard = guard
                    pop.sem = m.sem
                    self.found_pops.push_back(pop)
                else:
                    self.found_accepting = True
                continue
            rest = edge.rest
            if guard != ANY_BYTE:
                rest = self.terms.mk_seq(self.terms.mk_guard(guard), rest)
                if rest == EMPTY:
                    continue
            sem = m.sem
            if edge.action >= 0:
                sem = self.semantics.end(sem, edge.action)
                if sem == NEEDS_STATE:
                    self.found_reads |= <uint64_t>1 << guard
                    continue
                if sem == FORBIDDEN:
                    continue
            elif edge.action <= ACTION_SCOPE:
                if self.is_walk and self.semantics.is_unsure(sem):
                    self.found_reads |= <uint64_t>1 << guard
                    continue
                sem = self.semantics.with_root(sem, edge.saved)
            if self.terms.guard_sets.size() > 1 and not self.member_ends(rest, edge.parent):
                continue
            self.add_member(rest, edge.parent, sem)
        return 0

    cdef int add_link(self, int32_t node, Edge edge) except -3:
        """Enter one more caller into a node."""
        cdef Link link
        link.edge = edge
        link.next = self.nodes[node].edge
        self.nodes[node].edge = <int32_t>self.links.size()
        self.links.push_back(link)
        return 0

    cdef int call_from(self, Member m) except -3:
        """Enter the calls in first position of a member into the nodes of this position.

        Tests of object keys are decided at once; what follows those that hold is a member too, and asked for
        its calls in turn. Return NEEDS_STATE if a test must know more.
        """
        cdef Call call
        cdef int32_t s, e, n
        cdef SiteList calls
        cdef size_t next = self.work.size()
        cdef CallSite site
        cdef Edge edge
        while True:
            self.terms.find_sites(m.state)
            calls = self.terms.site_lists[self.terms.terms[m.state].calls]
            for s in range(calls.first, calls.first + calls.count):
                site = self.terms.sites[s]
                call = self.terms.call_table[site.call]
                if call.kind == CALL_TEST:
                    if self.pass_test(m, site, call.target) == NEEDS_STATE:
                        return NEEDS_STATE
                    continue
                if self.terms.terms[site.rest].flags & F_KEYS:
                    e = self.returns_alive(m, site)
                    if e == NEEDS_STATE:
                        return NEEDS_STATE
                    if not e:
                        continue
                n = self.node_of(site, m.sem)
                edge.action = call.action
                edge.rest = site.rest
                if edge.action == ACTION_NONE and edge.rest == EPS:
                    if map_get(&self.tail_seen, (<uint64_t>n << 32) | <uint64_t>m.frame) != NO_VALUE:
                        continue
                    map_put(&self.tail_seen, (<uint64_t>n << 32) | <uint64_t>m.frame, 1)
                    for e in range(self.frames[m.frame].count):
                        self.add_link(n, self.edges[self.frames[m.frame].first + e])
                else:
                    edge.parent = m.frame
                    edge.saved = self.semantics.root(m.sem) if edge.action <= ACTION_SCOPE else 0
                    self.add_link(n, edge)
            while next < self.work.size() and not self.terms.terms[self.work[next].state].flags & F_CALL:
                next += 1
            if next == self.work.size():
                return 0
            m = self.work[next]
            next += 1

    cdef int32_t node_of(self, CallSite site, int32_t sem) except -3:
        """Return the node that collects the callers of a rule in a state at this position."""
        cdef CallNode node
        cdef pair[int32_t, int32_t] entry
        # call and guard fit in 32 bits together, so the key is exact
        cdef uint64_t key = <uint64_t>(<uint32_t>site.call * <uint32_t>64 + <uint32_t>site.guard) << 32
        cdef Call call
        cdef int32_t n
        key |= <uint32_t>sem
        n = map_get(&self.node_seen, key)
        if n == NO_VALUE:
            n = <int32_t>self.nodes.size()
            node.call = site.call
            node.guard = site.guard
            node.sem = sem
            node.edge = -1
            self.nodes.push_back(node)
            map_put(&self.node_seen, key, n)
            call = self.terms.call_table[site.call]
            entry.first = self.terms.rule_height[call.target] if call.kind == CALL_RULE else LOWEST
            entry.second = n
            self.queue.push(entry)
        return n

    cdef int pass_test(self, Member m, CallSite site, int32_t test) except -3:
        """Add what follows a test of an object key, if the test holds and the rest can go on."""
        cdef int alive
        m.sem = self.semantics.test(m.sem, test)
        if m.sem == NEEDS_STATE:
            return NEEDS_STATE
        if m.sem == FORBIDDEN:
            return 0
        m.state = site.rest
        if site.guard != ANY_BYTE:
            m.state = self.terms.mk_seq(self.terms.mk_guard(site.guard), site.rest)
        if m.state == EMPTY or (self.terms.guard_sets.size() > 1 and not self.member_ends(m.state, m.frame)):
            return 0
        alive = self.semantics.lives(m.sem, m.state)
        if alive == 1:
            self.add_member(m.state, m.frame, m.sem)
        return alive

    cdef int returns_alive(self, Member m, CallSite site) except -3:
        """Tell (1 or 0) whether what follows a call can go on, or NEEDS_STATE.

        If the rule itself tests keys of this object, its own members are asked instead.
        """
        cdef Call call = self.terms.call_table[site.call]
        if call.kind == CALL_RULE and call.action != ACTION_KEYED:
            if self.terms.terms[self.terms.rule_body[call.target]].flags & F_KEYS:
                return 1
        return self.semantics.lives(m.sem, site.rest)

    cdef int open_calls(self) except -3:
        """Build the frames of the collected calls, callers first, and add the bodies of the rules."""
        cdef CallNode node
        cdef Member m
        cdef Call call
        cdef int32_t link, body, frame, sem, alive
        while not self.queue.empty():
            node = self.nodes[self.queue.top().second]
            self.queue.pop()
            self.fresh.clear()
            link = node.edge
            while link >= 0:
                self.fresh.push_back(self.links[link].edge)
                link = self.links[link].next
            frame = self.intern_frame(self.fresh)
            if self.terms.guard_sets.size() > 1 and not self.exits(frame, ANY_BYTE):
                continue
            sem = node.sem
            call = self.terms.call_table[node.call]
            if call.kind == CALL_RULE:
                body = self.terms.rule_body[call.target]
            else:
                body = self.semantics.resolve(sem, call.target)
                if body == NEEDS_STATE:
                    body = self.semantics.bound_of(call.target)
                    if body == NEEDS_STATE:
                        self.found_reads |= <uint64_t>1 << node.guard
                        continue
                    sem = self.semantics.unsure(sem)
            if node.guard != ANY_BYTE:
                body = self.terms.mk_seq(self.terms.mk_guard(node.guard), body)
            if body == EMPTY:
                continue
            if call.action >= 0:
                if self.is_walk and self.semantics.is_key(call.action):
                    sem = self.semantics.begin_key(sem)
                elif self.is_walk and self.semantics.is_callable(call.action):
                    sem = self.semantics.begin_unknown(sem, call.action)
                else:
                    sem = self.semantics.begin(sem, call.action)
            elif call.action == ACTION_KEYED:
                sem = self.semantics.enter(sem, call.spec, self.is_walk)
            if self.terms.terms[body].flags & F_KEYS:
                alive = self.semantics.lives(sem, body)
                if alive == NEEDS_STATE:
                    return NEEDS_STATE
                if not alive:
                    continue
            if self.terms.guard_sets.size() > 1 and not self.member_ends(body, frame):
                continue
            m.state = body
            m.frame = frame
            m.sem = sem
            self.work.push_back(m)
            if self.work.size() > self.max_members:
                raise BudgetError("max_members", self.max_members, "parallel readings of the text")
            if self.terms.terms[body].flags & F_CALL and self.call_from(m) == NEEDS_STATE:
                return NEEDS_STATE
        return 0

    cdef int32_t close(self) except -3:
        """Close the members in ``work``, intern the configuration; READS_STATE if a walk can tell nothing."""
        if self.complete() == READS_STATE:
            return READS_STATE
        return self.intern_config(self.found_ends)

    cdef int complete(self) except -3:
        """Close the members in ``work``, and sort them; READS_STATE if a walk can tell nothing, else 0."""
        cdef size_t i, n
        cdef Member m
        cdef int32_t nu, alive
        cdef uint64_t ends_here, ends = 0
        self.found_accepting = False
        self.found_reads = 0
        self.found_pops.clear()
        self.nodes.clear()
        self.links.clear()
        if self.node_seen.count:
            map_clear(&self.node_seen)
        if self.tail_seen.count:
            map_clear(&self.tail_seen)
        while not self.queue.empty():
            self.queue.pop()
        if self.terms.guard_sets.size() > 1:
            n = 0
            for i in range(self.work.size()):
                m = self.work[i]
                ends_here = self.member_ends(m.state, m.frame)
                if ends_here:
                    ends |= ends_here
                    self.work[n] = m
                    n += 1
            self.work.resize(n)
        else:
            ends = 1
        self.found_ends = ends
        i = 0
        while i < self.work.size():
            m = self.work[i]
            nu = self.terms.terms[m.state].nu
            if nu >= 0:
                self.return_from(m, nu)
            i += 1
        n = 0
        for i in range(self.work.size()):
            m = self.work[i]
            if self.terms.terms[m.state].flags & F_KEYS:
                alive = self.semantics.lives(m.sem, m.state)
                if alive == NEEDS_STATE:
                    return READS_STATE
                if not alive:
                    continue
            self.work[n] = m
            n += 1
        self.work.resize(n)
        for i in range(n):
            m = self.work[i]
            if self.terms.terms[m.state].flags & F_CALL and self.call_from(m) == NEEDS_STATE:
                return READS_STATE
        if self.open_calls() == NEEDS_STATE:
            return READS_STATE
        # what can consume nothing by itself has done its part
        n = 0
        for i in range(self.work.size()):
            m = self.work[i]
            if self.terms.terms[m.state].flags & F_LOCAL:
                self.work[n] = m
                n += 1
        self.work.resize(n)
        if n > 1:
            sort(self.work.begin(), self.work.end(), member_less)
            n = 1
            for i in range(1, self.work.size()):
                if member_less(self.work[n - 1], self.work[i]):
                    self.work[n] = self.work[i]
                    n += 1
            self.work.resize(n)
        if self.found_pops.size() > 1:
            sort(self.found_pops.begin(), self.found_pops.end(), pop_less)
            n = 1
            for i in range(1, self.found_pops.size()):
                if pop_less(self.found_pops[n - 1], self.found_pops[i]):
                    self.found_pops[n] = self.found_pops[i]
                    n += 1
            self.found_pops.resize(n)
        if self.is_walk and self.found_pops.empty() and (self.found_reads or n):
            for i in range(n):
                if not self.semantics.is_unsure(self.work[i].sem):
                    return 0
            return READS_STATE
        return 0

    cdef int32_t closed(self, int32_t state, int32_t frame, int32_t sem) except -3:
        """Return the configuration of one member and all that follows from it."""
        cdef Member m
        m.state = state
        m.frame = frame
        m.sem = sem
        self.work.clear()
        self.work.push_back(m)
        return self.close()

    def is_live(self, int32_t state, int32_t sem):
        """Tell whether the text that starts in ``state`` can be completed."""
        return self.closed(state, BOTTOM, sem) != DEAD

    cdef int32_t compute_step(self, int32_t config, int32_t symbol) except -3:
        """Return the configuration after one more symbol: DEAD, READS_STATE or its id; remembered."""
        cdef Config c = self.configs[config]
        cdef int32_t i, d, next
        cdef uint64_t key = (<uint64_t>config << 32) | <uint64_t>symbol
        cdef Member m
        if symbol < TOKENS and c.row == UNKNOWN:
            c.row = self.make_row(config)
        if symbol >= TOKENS or c.row == NO_ROW:
            next = map_get(&self.single_steps, key)
            if next != NO_VALUE:
                return next
        # this is where long work spends its time, so this is where it can be interrupted
        self.computed += 1
        if not self.computed & 0x3FFF:
            self.terms.tick()
        self.work.clear()
        for i in range(c.first, c.first + c.count):
            m = self.members[i]
            d = self.terms.step(m.state, symbol)
            if d == EMPTY:
                continue
            if m.sem > SEM_SYMBOL and symbol < TOKENS and self.semantics.in_capture(m.sem):
                m.sem = self.semantics.append(m.sem, <uint8_t>symbol)
            self.add_member(d, m.frame, m.sem)
        next = DEAD if self.work.empty() else self.close()
        if symbol >= TOKENS or c.row == NO_ROW:
            map_put(&self.single_steps, key, next)
        else:
            self.rows[<size_t>c.row + self.terms.maps[self.configs[config].map].of[symbol]] = next
        return next

    cdef int32_t state_of(self, Way way) except -3:
        """Return the state that is left of a member."""
        cdef Term u = self.terms.terms[way.member.state], word
        if not way.spent:
            return way.member.state
        if u.kind == K_LIT:
            return self.terms.mk_literal(u.a + way.spent, u.b - way.spent)
        word = self.terms.terms[u.a]
        return self.terms.mk_seq(self.terms.mk_literal(word.a + way.spent, word.b - way.spent), u.b)

    cdef int32_t leap(self, int32_t config, const uint8_t* text, size_t length) except -3:
        """Return the configuration after some bytes, or DEAD. Those on the way are not entered.

        Most places within a token are never asked for again. Where no member calls, returns or may end, they
        are not even closed: what a closure would leave out leads nowhere. A literal is read where it stands.
        """
        cdef Config c = self.configs[config]
        cdef bint restricted = self.terms.guard_sets.size() > 1, calm
        cdef size_t k, i, n
        cdef int32_t d
        cdef uint8_t byte
        cdef Term u
        cdef Way way
        way.spent = 0
        self.ways.clear()
        for i in range(<size_t>c.count):
            way.member = self.members[c.first + i]
            self.ways.push_back(way)
        for k in range(length):
            self.computed += 1
            if not self.computed & 0x3FFF:
                self.terms.tick()
            byte = text[k]
            calm = k + 1 < length and not restricted
            n = 0
            for i in range(self.ways.size()):
                way = self.ways[i]
                u = self.terms.terms[way.member.state]
                if u.kind == K_SEQ:
                    u = self.terms.terms[u.a]
                if u.kind == K_LIT and way.spent + 1 < u.b:
                    if self.terms.pool[u.a + way.spent] != byte:
                        continue
                    way.spent += 1
                else:
                    d = self.terms.step(self.state_of(way), byte)
                    if d == EMPTY:
                        continue
                    way.member.state = d
                    way.spent = 0
                    u = self.terms.terms[d]
                    calm = calm and u.nu == NEVER and not u.flags & F_CALL
                if way.member.sem > SEM_SYMBOL and self.semantics.in_capture(way.member.sem):
                    way.member.sem = self.semantics.append(way.member.sem, byte)
                self.ways[n] = way
                n += 1
            self.ways.resize(n)
            if not n:
                return DEAD
            if calm:
                continue
            self.work.clear()
            for i in range(n):
                way = self.ways[i]
                self.add_member(self.state_of(way), way.member.frame, way.member.sem)
            if self.complete() == READS_STATE:
                return READS_STATE
            if k + 1 == length:
                break
            if self.work.empty():
                return DEAD
            way.spent = 0
            self.ways.clear()
            for i in range(self.work.size()):
                way.member = self.work[i]
                self.ways.push_back(way)
        return self.intern_config(self.found_ends)

    cdef int32_t step_token(
        self, int32_t config, int32_t token, const uint8_t* text, size_t length
    ) except -3:
        """Return the configuration after a token, whose text is given, or DEAD.

        A place remembers the first token that went on from it, and where that led; with the second one it
        gets a row, and where that led is noted. ``remembered`` knows both.
        Cost: three dependent loads a byte once the steps are known.
        """
        cdef int32_t next = self.step_bytes(config, token, text, length)
        if next != DEAD and length > 1 and self.configs[config].token != token:
            self.note_step(config, token, next)
        return next

    cdef int note_step(self, int32_t config, int32_t token, int32_t next) except -3:
        """Note where a token leads, in the place of another one. There are more places with more steps."""
        cdef size_t size = self.token_steps.size()
        cdef TokenStep* noted
        if self.steps_noted >= size and size < MOST_NOTED:
            # what was noted comes again
            size = 4 * size if size else FIRST_NOTED
            self.token_steps.clear()
            self.token_steps.resize(size)
            self.steps_noted = 0
        self.steps_noted += 1
        noted = &self.token_steps[step_place(config, token) & (size - 1)]
        noted.config = config
        noted.token = token
        noted.next = next
        return 0

    cdef int32_t step_bytes(
        self, int32_t config, int32_t token, const uint8_t* text, size_t length
    ) except -3:
        cdef size_t i
        cdef int32_t next, row
        cdef Config* configs = self.configs.data()
        cdef const int32_t* rows = self.rows.data()
        cdef const ClassMap* maps = self.terms.maps.data()
        for i in range(length):
            next = UNKNOWN
            if configs[config].token == token and configs[config].token_at == i:
                return configs[config].after_token
            row = configs[config].row
            if row >= 0:
                next = rows[<size_t>row + maps[configs[config].map].of[text[i]]]
            elif configs[config].token == NO_TOKEN and i < MANY_BYTES:
                next = self.leap(config, text + i, length - i)
                configs = self.configs.data()
                configs[config].token = token
                configs[config].token_at = <uint16_t>i
                configs[config].after_token = next
                return next
            if next == UNKNOWN:
                next = self.compute_step(config, text[i])
                # what grew may have moved
                configs = self.configs.data()
                rows = self.rows.data()
                maps = self.terms.maps.data()
            if next == DEAD:
                return DEAD
            config = next
        return config

    cdef int32_t make_row(self, int32_t config) except -3:
        """Find the byte classes of a configuration and make its transition row.

        A capture keeps the very byte, so what follows is seldom met twice: then NO_ROW.
        """
        cdef Config c = self.configs[config]
        cdef int32_t i, map = MAP_ONE
        for i in range(c.first, c.first + c.count):
            if self.members[i].sem > SEM_SYMBOL and self.semantics.keeps_bytes(self.members[i].sem):
                self.configs[config].row = NO_ROW
                self.configs[config].map = MAP_EACH
                return NO_ROW
            map = self.terms.map_meet(map, self.terms.classes_of(self.members[i].state))
        c.row = <int32_t>self.rows.size()
        self.configs[config].row = c.row
        self.configs[config].map = map
        self.rows.resize(self.rows.size() + self.terms.maps[map].count, UNKNOWN)
        return c.row
