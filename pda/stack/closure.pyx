# distutils: language = c++
"""The closure: all states that a configuration reaches without another byte.

Frames are the stack (``frames``). The callers of a rule at one position share a frame. A configuration is
closed: the bodies of called rules and the states after immediate returns are members, too. Members that
consume nothing themselves are left out.

The closure has two passes. The first follows all returns of the members that consumed the last symbol. The
second follows the calls. It collects the callers of a rule (with equal guard and semantic state) before it
builds the frame of the rule. This works because the left-call order has no cycle, so callers come first. The
body of a called rule never returns at the position of the call: the local state of the caller skips a rule
that can be empty. A tail call pushes nothing.
"""

cimport cython
from libc.stdint cimport uint32_t

from stackmask.pda.ids cimport ACTION_COUNTED, ACTION_KEYED, ACTION_NONE, NO_LINK, Nullability, ReturnAction
from stackmask.pda.stack.configuration_draft cimport CACHED_MEMBERS, Pop, map_forget
from stackmask.pda.stack.configuration_table cimport READS_STATE
from stackmask.pda.stack.frames cimport BOTTOM_CONTINUATION, same_edge
from stackmask.pda.terms.term_table cimport (
    ANY_BYTE,
    CALL_RULE,
    CALL_TEST,
    Call,
    EMPTY,
    EPS,
    F_CALL,
    F_KEYS,
    F_LOCAL,
    SiteList,
)
from stackmask.pda.context.callables cimport FORBIDDEN, NEEDS_STATE
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_free, map_get, map_init, map_put, mix

cdef enum:
    FEW_RETURNS = 8     # returns of so many members are followed without asking whether they are known
    FEW_LINKS = 64      # so many callers are entered without asking whether they are known
    LOWEST = -1         # lower than every rule: the term of a resolver calls no rule


cdef inline uint64_t link_hash(CallNodeId node, const Edge& edge) noexcept nogil:
    cdef uint64_t h = mix(mix(61, <uint32_t>node), <uint32_t>edge.continuation)
    return mix(mix(mix(h, <uint32_t>edge.parent), edge.action.code()), <uint32_t>edge.operand)


@cython.final
cdef class Closure:
    """Close the members of its draft, over the frames and configurations of one space.

    Add members to ``draft``. Then ``close`` returns the id, or ``complete`` leaves the closed draft.
    """

    def __cinit__(self, FrameGraph graph not None, ConfigTable table not None, uint64_t max_members):
        self.terms = table.terms
        self.semantics = table.semantics
        self.is_walk = table.is_walk
        self.graph = graph
        self.table = table
        self.draft = ConfigDraft(max_members)
        self.ends = 1
        map_init(&self.node_seen)
        map_init(&self.tail_seen)
        map_init(&self.returned)
        map_init(&self.link_seen)
        map_init(&self.counted_starts)
        self.returns = 0

    def __dealloc__(self):
        map_free(&self.node_seen)
        map_free(&self.tail_seen)
        map_free(&self.returned)
        map_free(&self.link_seen)
        map_free(&self.counted_starts)

    # -- returns -----------------------------------------------------------------------------------

    cdef bint returns_again(self, Member m) except -1 nogil:
        """Tell whether another member has returned from the same frame in the same semantic state.

        Where a return leads does not depend on the local state that ends.
        """
        cdef uint64_t key = (<uint64_t>m.frame << 32) | <uint32_t>m.sem
        if map_get(&self.returned, key) != NO_VALUE:
            return True
        map_put(&self.returned, key, 1)
        return False

    cdef int return_from(self, Member m, GuardId guard) except -3 nogil:
        """Add the states after the return of a member that may end here.

        In a walk, states after an action that needs the semantic state, or that may forbid, are left out.
        ``reads`` has the guards under which they would continue.
        """
        cdef int32_t e
        cdef TermId continuation
        cdef SemId sem
        cdef int32_t first = self.graph.frames[m.frame].first
        cdef Edge edge
        # each caller is looked up among the members
        self.terms.meter.spend(4 + 4 * self.graph.frames[m.frame].count)
        self.returns += self.graph.frames[m.frame].count
        for e in range(first, first + self.graph.frames[m.frame].count):
            edge = self.graph.edges[e]
            if edge.continuation == BOTTOM_CONTINUATION:
                self.return_to_bottom(m, guard)
                continue
            continuation = edge.continuation
            if guard != ANY_BYTE:
                continuation = self.terms.mk_seq(self.terms.mk_guard(guard), continuation)
                if continuation == EMPTY:
                    continue
            sem = m.sem
            if edge.action.is_capture():
                sem = self.semantics.end(sem, edge.action.action())
                if sem == NEEDS_STATE:
                    self.draft.reads |= <uint64_t>1 << guard
                    continue
                if sem == FORBIDDEN:
                    continue
            elif edge.action.restores_caller():
                if self.is_walk and self.semantics.is_unsure(sem):
                    self.draft.reads |= <uint64_t>1 << guard
                    continue
                sem = self.semantics.with_root(sem, edge.saved)
            if self.terms.classes.has_guards() and not self.graph.member_ends(continuation, edge.parent):
                continue
            self.draft.add_member(continuation, edge.parent, sem)
        return 0

    cdef int return_to_bottom(self, Member m, GuardId guard) except -3 nogil:
        """Record a return to the bottom frame: the grammar's end, or the unknown stack of a walk."""
        cdef Pop pop
        if not self.is_walk:
            self.draft.accepting = True
        elif self.semantics.is_unsure(m.sem):
            self.draft.reads |= <uint64_t>1 << guard
        else:
            pop.guard = guard
            pop.sem = m.sem
            self.draft.pops.push_back(pop)
        return 0

    # -- calls -------------------------------------------------------------------------------------

    cdef int call_from(self, Member m) except -3 nogil:
        """Enter the calls in first position of a member into the nodes of this position.

        Tests of object keys are decided at once. The continuation of a test that holds is added as a member,
        and its calls are followed in turn. Return NEEDS_STATE if a test needs the semantic state.
        """
        cdef int32_t s, alive
        cdef const Call* call
        cdef SiteList calls
        cdef size_t next = self.draft.members.size()
        cdef CallSite site
        self.terms.meter.spend(4)
        while True:
            self.terms.find_sites(m.state)
            calls = self.terms.site_lists[self.terms.terms[m.state].calls]
            for s in range(calls.first, calls.first + calls.count):
                site = self.terms.sites[s]
                call = &self.terms.call_table[site.call]
                if call.kind == CALL_TEST:
                    if self.pass_test(m, site, call.test) == NEEDS_STATE:
                        return NEEDS_STATE
                    continue
                if self.terms.terms[site.continuation].flags & F_KEYS:
                    alive = self.returns_alive(m, site)
                    if alive == NEEDS_STATE:
                        return NEEDS_STATE
                    if not alive:
                        continue
                self.collect_caller(m, site)
            while (
                next < self.draft.members.size()
                and not self.terms.terms[self.draft.members[next].state].flags & F_CALL
            ):
                next += 1
            if next == self.draft.members.size():
                return 0
            m = self.draft.members[next]
            next += 1

    cdef int collect_caller(self, Member m, CallSite site) except -3 nogil:
        """Enter a member into the node of the rule that it calls; for a tail call, its own callers."""
        cdef Edge edge
        cdef int32_t e
        cdef CallNodeId n = self.node_of(site, m.sem)
        cdef uint64_t key
        edge.action = self.terms.call_table[site.call].action
        edge.continuation = site.continuation
        if edge.action != ACTION_NONE or edge.continuation != EPS:
            edge.parent = m.frame
            edge.operand = 0
            if edge.action.restores_caller():
                edge.saved = self.semantics.root(m.sem)
            elif edge.action == ACTION_COUNTED:
                edge.tokens_left = self.terms.call_table[site.call].most_tokens
            return self.add_link(n, edge)
        key = (<uint64_t>n << 32) | <uint64_t>m.frame
        if map_get(&self.tail_seen, key) == NO_VALUE:
            map_put(&self.tail_seen, key, 1)
            for e in range(self.graph.frames[m.frame].count):
                self.add_link(n, self.graph.edges[self.graph.frames[m.frame].first + e])
        return 0

    cdef int add_link(self, CallNodeId node, Edge edge) except -3 nogil:
        """Enter one more caller into a node. Among many, it is entered once, but for collisions of hashes."""
        cdef Link link
        cdef Link* other
        cdef uint64_t key
        cdef LinkId at
        self.terms.meter.spend(2)
        if self.links.size() >= FEW_LINKS:
            if self.links.size() >= CACHED_MEMBERS:
                self.terms.meter.spend(4)  # it is looked up far from the others
            key = link_hash(node, edge)
            at = map_get(&self.link_seen, key)
            if at == NO_VALUE:
                map_put(&self.link_seen, key, <int32_t>self.links.size())
            else:
                other = &self.links[at]
                if other.node == node and same_edge(other.edge, edge):
                    return 0
        link.node = node
        link.edge = edge
        link.next = self.nodes[node].last
        self.nodes[node].last = <int32_t>self.links.size()
        self.links.push_back(link)
        return 0

    cdef CallNodeId node_of(self, CallSite site, SemId sem) except -3 nogil:
        """Return the node that collects the callers of a rule in a state at this position."""
        cdef CallNode node
        cdef pair[int32_t, CallNodeId] entry
        # call and guard fit in 32 bits together, so the key is exact
        cdef uint64_t key = <uint64_t>(<uint32_t>site.call * <uint32_t>64 + <uint32_t>site.guard) << 32
        cdef const Call* call
        cdef CallNodeId n
        key |= <uint32_t>sem
        n = map_get(&self.node_seen, key)
        if n == NO_VALUE:
            n = <int32_t>self.nodes.size()
            node.call = site.call
            node.guard = site.guard
            node.sem = sem
            node.last = NO_LINK
            self.nodes.push_back(node)
            map_put(&self.node_seen, key, n)
            call = &self.terms.call_table[site.call]
            entry.first = self.terms.rule_height[call.rule] if call.kind == CALL_RULE else LOWEST
            entry.second = n
            self.queue.push(entry)
        return n

    cdef int pass_test(self, Member m, CallSite site, TestId test) except -3 nogil:
        """Add the continuation of a key test, if the test holds and the continuation is alive."""
        cdef int alive
        m.sem = self.semantics.test(m.sem, test)
        if m.sem == NEEDS_STATE:
            return NEEDS_STATE
        if m.sem == FORBIDDEN:
            return 0
        m.state = site.continuation
        if site.guard != ANY_BYTE:
            m.state = self.terms.mk_seq(self.terms.mk_guard(site.guard), site.continuation)
        if m.state == EMPTY:
            return 0
        if self.terms.classes.has_guards() and not self.graph.member_ends(m.state, m.frame):
            return 0
        alive = self.semantics.lives(m.sem, m.state)
        if alive == 1:
            self.draft.add_member(m.state, m.frame, m.sem)
        return alive

    cdef int returns_alive(self, Member m, CallSite site) except -3 nogil:
        """Tell (1 or 0) whether the continuation of a call is alive, or NEEDS_STATE.

        If the rule itself tests keys of this object, its own members are tested instead.
        """
        cdef const Call* call = &self.terms.call_table[site.call]
        if call.kind == CALL_RULE and call.action != ACTION_KEYED:
            if self.terms.terms[self.terms.rule_body[call.rule]].flags & F_KEYS:
                return 1
        return self.semantics.lives(m.sem, site.continuation)

    cdef int open_calls(self) except -3 nogil:
        """Build the frames of the collected calls, callers first, and add the bodies of the rules.

        Return NEEDS_STATE if a key must be known for it.
        """
        cdef CallNode node
        cdef Member m
        cdef LinkId link
        cdef int32_t alive
        while not self.queue.empty():
            node = self.nodes[self.queue.top().second]
            self.queue.pop()
            self.callers.clear()
            link = node.last
            while link != NO_LINK:
                self.callers.push_back(self.links[link].edge)
                link = self.links[link].next
            m.frame = self.graph.intern_frame(self.callers)
            if self.terms.classes.has_guards() and not self.graph.exits(m.frame, ANY_BYTE):
                continue
            m.sem = node.sem
            m.state = self.body_of(node, &m.sem)
            if m.state == EMPTY:
                continue
            m.sem = self.state_after_call(node.call, m.sem)
            if self.terms.call_table[node.call].action == ACTION_COUNTED:
                map_put(&self.counted_starts, m.state, 1)
            if self.terms.terms[m.state].flags & F_KEYS:
                alive = self.semantics.lives(m.sem, m.state)
                if alive == NEEDS_STATE:
                    return NEEDS_STATE
                if not alive:
                    continue
            if self.terms.classes.has_guards() and not self.graph.member_ends(m.state, m.frame):
                continue
            self.draft.check_size()
            self.draft.members.push_back(m)
            if self.terms.terms[m.state].flags & F_CALL and self.call_from(m) == NEEDS_STATE:
                return NEEDS_STATE
        return 0

    cdef bint begins_count(self, TermId state) noexcept nogil:
        """Tell whether a text with counted tokens begins in a local state: no byte of it has been read.

        Such a text has a byte, and no place inside of it has its texts. So none is in this state.
        """
        return map_get(&self.counted_starts, state) != NO_VALUE

    cdef TermId body_of(self, CallNode node, SemId* sem) except -3 nogil:
        """Return the body of a called rule, or the term of a resolver; EMPTY if there is none.

        Where a walk does not know the answer, it goes by a bound of all answers, and ``sem`` becomes unsure.
        """
        cdef Call call = self.terms.call_table[node.call]
        cdef TermId body
        if call.kind == CALL_RULE:
            body = self.terms.rule_body[call.rule]
        else:
            body = self.semantics.resolve(sem[0], call.resolver)
            if body == NEEDS_STATE:
                body = self.semantics.bound_of(call.resolver)
                if body == NEEDS_STATE:
                    self.draft.reads |= <uint64_t>1 << node.guard
                    return EMPTY
                sem[0] = self.semantics.unsure(sem[0])
        if node.guard != ANY_BYTE:
            body = self.terms.mk_seq(self.terms.mk_guard(node.guard), body)
        return body

    cdef SemId state_after_call(self, CallId number, SemId sem) except -3 nogil:
        """Return the semantic state in which the body of a call begins."""
        cdef Call call = self.terms.call_table[number]
        cdef ReturnAction action = call.action
        if action.is_capture():
            if self.is_walk and self.semantics.is_key(action.action()):
                return self.semantics.begin_key(sem)
            if self.is_walk and self.semantics.is_callable(action.action()):
                return self.semantics.begin_unknown(sem, action.action())
            return self.semantics.begin(sem, action.action())
        if action == ACTION_KEYED:
            return self.semantics.enter(sem, call.spec, self.is_walk)
        return sem

    # -- both passes -------------------------------------------------------------------------------

    cdef ConfigId close(self) except -3 nogil:
        """Close the draft and intern it; READS_STATE if a walk can decide nothing."""
        if self.complete() == READS_STATE:
            return READS_STATE
        return self.table.intern(self.draft, self.ends)

    cdef ConfigId closed(self, TermId state, FrameId frame, SemId sem) except -3 nogil:
        """Return the closed configuration of one member."""
        cdef Member m
        m.state = state
        m.frame = frame
        m.sem = sem
        self.draft.clear_members()
        self.draft.members.push_back(m)
        return self.close()

    cdef int complete(self) except -3 nogil:
        """Close the members of the draft, and sort them; READS_STATE if a walk can decide nothing, else 0."""
        cdef size_t i = 0
        cdef Member m
        cdef Nullability nu
        self.begin()
        self.drop_dead_ends()
        # the list grows during the loop
        while i < self.draft.members.size():
            m = self.draft.members[i]
            nu = self.terms.terms[m.state].nu
            if nu.possible() and (i < FEW_RETURNS or not nu.always() or not self.returns_again(m)):
                self.return_from(m, nu.guard())
            i += 1
        if self.call_all() == NEEDS_STATE:
            return READS_STATE
        self.drop_nonlocal()
        self.draft.sort_items()
        return READS_STATE if self.is_walk and self.knows_nothing() else 0

    cdef int begin(self) except -3 nogil:
        """Clear the scratch of the last closure."""
        self.draft.forget_ends()
        self.nodes.clear()
        self.links.clear()
        map_forget(&self.node_seen)
        map_forget(&self.tail_seen)
        map_forget(&self.returned)
        map_forget(&self.link_seen)
        while not self.queue.empty():
            self.queue.pop()
        return 0

    cdef int drop_dead_ends(self) except -3 nogil:
        """Drop members that cannot reach the bottom frame under follow restrictions; find ``ends``."""
        cdef size_t i, n = 0
        cdef Member m
        cdef uint64_t ends_here
        self.ends = 1
        if not self.terms.classes.has_guards():
            return 0
        self.ends = 0
        for i in range(self.draft.members.size()):
            m = self.draft.members[i]
            ends_here = self.graph.member_ends(m.state, m.frame)
            if ends_here:
                self.ends |= ends_here
                self.draft.members[n] = m
                n += 1
        self.draft.members.resize(n)
        self.draft.indexed = 0
        return 0

    cdef int call_all(self) except -3 nogil:
        """Add the bodies that members call. Members whose object can have no further key are dropped.

        Return NEEDS_STATE if a key must be known for it.
        """
        cdef size_t i, n = 0
        cdef Member m
        cdef int32_t alive
        for i in range(self.draft.members.size()):
            m = self.draft.members[i]
            if self.terms.terms[m.state].flags & F_KEYS:
                alive = self.semantics.lives(m.sem, m.state)
                if alive == NEEDS_STATE:
                    return NEEDS_STATE
                if not alive:
                    continue
            self.draft.members[n] = m
            n += 1
        self.draft.members.resize(n)
        self.draft.indexed = 0
        for i in range(n):
            m = self.draft.members[i]
            if self.terms.terms[m.state].flags & F_CALL and self.call_from(m) == NEEDS_STATE:
                return NEEDS_STATE
        return self.open_calls()

    cdef int drop_nonlocal(self) except -3 nogil:
        """Drop members that consume nothing themselves: the members that they lead to are there."""
        cdef size_t i, n = 0
        for i in range(self.draft.members.size()):
            if self.terms.terms[self.draft.members[i].state].flags & F_LOCAL:
                self.draft.members[n] = self.draft.members[i]
                n += 1
        self.draft.members.resize(n)
        self.draft.indexed = 0
        return 0

    cdef bint knows_nothing(self) noexcept nogil:
        """Tell whether every reading of a walk depends on the semantic state of the unknown stack."""
        cdef size_t i
        if self.draft.pops.size() or not (self.draft.reads or self.draft.members.size()):
            return False
        for i in range(self.draft.members.size()):
            if not self.semantics.is_unsure(self.draft.members[i].sem):
                return False
        return True

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes of the scratch, which never shrinks."""
        cdef size_t held = sizeof(CallNode) * self.nodes.capacity() + sizeof(Link) * self.links.capacity()
        held += sizeof(Edge) * self.callers.capacity() + 12 * (self.node_seen.mask + self.tail_seen.mask)
        held += 12 * (self.returned.mask + self.link_seen.mask + self.counted_starts.mask)
        return held + self.draft.nbytes()
