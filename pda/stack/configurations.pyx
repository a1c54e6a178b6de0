# distutils: language = c++
"""Configurations: the positions in the grammar after a text, as sets of (local state, frame, semantic state).

A history is a list of configuration ids. There is one object for each task: frames (a graph-structured
stack), the table of configurations, their closure, steps by bytes, steps by tokens, and counts of tokens.
This module's space owns these objects.
"""

cimport cython
from libc.stdint cimport uint16_t
from libc.string cimport memcmp
from libcpp.algorithm cimport find, sort

from stackmask.pda.context.callables cimport FORBIDDEN, NEEDS_STATE
from stackmask.pda.context.semantic_states cimport Sem, Semantics, SEM_SYMBOL
from stackmask.pda.ids cimport (
    ACTION_COUNTED,
    ACTION_KEYED,
    ACTION_NONE,
    NO_CALLEE,
    NO_LINK,
    NO_TOKEN,
    MapId,
    Nullability,
    ReturnAction,
)
from stackmask.pda.memory.hash_tables cimport NO_VALUE, Probe
from stackmask.pda.stack.configuration_table cimport (
    BOTTOM,
    BOTTOM_CONTINUATION,
    CACHED_MEMBERS,
    NEVER_A_ROW,
    NO_ROW_YET,
    READS_STATE,
    has_row,
    same_edge,
)
from stackmask.pda.terms.term_table cimport (
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
    Call,
    ClassMap,
    Literal,
    SiteList,
    Term,
    is_byte,
)


# ------------------------------------------------------------------------------------------------
# The closure: all states that a configuration reaches without another byte.
#
# Frames are the stack (``frames``). The callers of a rule at one position share a frame. A configuration is
# closed: the bodies of called rules and the states after immediate returns are members, too. Members that
# consume nothing themselves are left out.
#
# The closure has two passes. The first follows all returns of the members that consumed the last symbol. The
# second follows the calls. It collects the callers of a rule (with equal guard and semantic state) before it
# builds the frame of the rule. This works because the left-call order has no cycle, so callers come first. The
# body of a called rule never returns at the position of the call: the local state of the caller skips a rule
# that can be empty. A tail call pushes nothing.
# ------------------------------------------------------------------------------------------------


cdef enum:
    FEW_RETURNS = 8     # returns of so many members are followed without asking whether they are known
    FEW_LINKS = 64      # so many callers are entered without asking whether they are known
    MANY_RULES = 8      # a rule that begins with a call of one of so many is not entered by walks
    FEW_OTHERS = 2      # ... unless all but so many of them begin another such rule
    FEW_WAYS = 32       # ... from a frame with so few edges under it: they are made again over each real stack
    MOST_LEFT_OUT = 32  # calls of one configuration that are not entered
    MOST_LEVELS = 64    # calls of levels of operators that one configuration enters
    LOWEST = -1         # lower than every rule: the term of a resolver calls no rule


cdef inline uint64_t link_hash(CallNodeId node, const Edge& edge) noexcept nogil:
    cdef uint64_t h = mix(mix(61, <uint32_t>node), <uint32_t>edge.continuation)
    return mix(mix(mix(h, <uint32_t>edge.parent), edge.action.code()), <uint32_t>edge.operand)


@cython.final
cdef class Closure:
    """Closes the members of its draft, over the frames and configurations of one space.

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
        self.returns = self.levels = 0

    # -- returns -----------------------------------------------------------------------------------

    cdef bint returns_again(self, Member m) except FAILED nogil:
        """Return whether another member has returned from the same frame in the same semantic state.

        The target of a return does not depend on the local state that ends.
        """
        cdef uint64_t key = (<uint64_t>m.frame << 32) | <uint32_t>m.sem
        if self.returned.get(key) != NO_VALUE:
            return True
        self.returned.put(key, 1)
        return False

    cdef int return_from(self, Member m, GuardId guard) except ID_FAILED nogil:
        """Add the states after the return of a member that may end here.

        In a walk, states after an action that needs the semantic state, or that may forbid, are omitted.
        ``reads`` has the guards under which such states would continue.
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
            if not self.graph.can_end(continuation, edge.parent):
                continue
            self.draft.add_member(continuation, edge.parent, sem)
        return 0

    cdef int return_to_bottom(self, Member m, GuardId guard) except ID_FAILED nogil:
        """Record a return to the bottom frame, which is the grammar's end or the unknown stack of a walk."""
        cdef Pop pop
        if not self.is_walk:
            self.draft.accepting = True
        elif self.semantics.is_unsure(m.sem):
            self.draft.reads |= <uint64_t>1 << guard
        else:
            pop.guard = guard
            pop.sem = m.sem
            pop.callee = NO_CALLEE
            self.draft.pops.push_back(pop)
        return 0

    # -- calls -------------------------------------------------------------------------------------

    cdef int call_from(self, Member m) except ID_FAILED nogil:
        """Enter a member's calls in first position into the nodes of this position.

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

    cdef int collect_caller(self, Member m, CallSite site) except ID_FAILED nogil:
        """Enter a member into the node of the rule that it calls; for a tail call, enter its own callers."""
        cdef Edge edge
        cdef int32_t e
        cdef CallNodeId n
        cdef uint64_t key
        if self.is_walk and self.leaves_out(m, site):
            return 0
        n = self.node_of(site, m.sem)
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
        if self.tail_seen.get(key) == NO_VALUE:
            self.tail_seen.put(key, 1)
            for e in range(self.graph.frames[m.frame].count):
                self.add_link(n, self.graph.edges[self.graph.frames[m.frame].first + e])
        return 0

    cdef bint leaves_out(self, Member m, CallSite site) except FAILED nogil:
        """Record a call that a walk does not enter. Return False if the walk must enter it.

        An expression of a programming language can begin with many rules. If a walk entered them, each
        position before an expression would have separate configurations for all beginnings of an expression.
        So the walk ends at such a call, as it does at a return, and the body of the rule is walked once.
        """
        cdef const Call* call = &self.terms.call_table[site.call]
        cdef Callee callee
        cdef Pop pop
        cdef uint8_t weight
        if call.kind != CALL_RULE or call.action != ACTION_NONE:
            return False
        if m.sem != SEM_SYMBOL or not self.graph.frames[m.frame].is_plain:
            return False
        if self.graph.frames[m.frame].ways > FEW_WAYS or self.draft.pops.size() >= MOST_LEFT_OUT:
            return False
        callee.body = self.terms.rule_body[call.rule]
        callee.height = self.terms.rule_height[call.rule]
        # where a rule may be empty, its caller skips it
        if self.terms.terms[callee.body].nu.possible() or self.terms.terms[callee.body].flags & F_KEYS:
            return False
        weight = self.weight_of(call.rule)
        if weight == LIGHT:
            return False
        if weight == LEVEL and self.levels < MOST_LEVELS:
            self.levels += 1
            return False
        callee.continuation = site.continuation
        callee.frame = m.frame
        pop.guard = site.guard
        pop.sem = m.sem
        pop.callee = self.table.callee_of(callee)
        self.draft.pops.push_back(pop)
        return True

    cdef uint8_t weight_of(self, RuleId rule) except? UNWEIGHED nogil:
        """Return whether many rules can be called in first position of a rule: LIGHT, LEVEL or HEAVY. Cached.

        A LEVEL only leads to another heavy rule, as levels of operators do. A walk ends only at the last of a
        few levels, not at each.
        """
        cdef vector[RuleId] found, others
        cdef uint8_t weight
        cdef size_t k
        if <size_t>rule >= self.weights.size():
            self.weights.resize(rule + 1, UNWEIGHED)
        if self.weights[rule] == UNWEIGHED:
            self.first_rules(rule, rule, MANY_RULES, found)
            weight = HEAVY if found.size() == MANY_RULES else LIGHT
            # what `rule` calls itself comes first
            for k in range(1, min(<size_t>(FEW_OTHERS + 1), found.size()) if weight == HEAVY else 1):
                self.first_rules(rule, found[k], FEW_OTHERS + 1, others)
                if others.size() <= FEW_OTHERS:
                    self.first_rules(found[k], found[k], MANY_RULES, others)
                    if others.size() == MANY_RULES:
                        weight = LEVEL
                        break
            self.weights[rule] = weight
        return self.weights[rule]

    cdef int first_rules(
        self, RuleId rule, RuleId without, size_t most, vector[RuleId]& found
    ) except FAILED nogil:
        """List a rule and the rules that can be called in its first position, up to a limit.

        ``without``: a rule that is not entered; the listed rule itself if all rules are entered.
        """
        cdef SiteList calls
        cdef TermId body
        cdef const Call* call
        cdef size_t k = 0
        cdef int32_t s
        found.clear()
        found.push_back(rule)
        while k < found.size():
            body = self.terms.rule_body[found[k]]
            k += 1
            if not self.terms.terms[body].flags & F_CALL:
                continue
            self.terms.find_sites(body)
            calls = self.terms.site_lists[self.terms.terms[body].calls]
            self.terms.meter.spend(2 + calls.count)
            for s in range(calls.first, calls.first + calls.count):
                call = &self.terms.call_table[self.terms.sites[s].call]
                if call.kind != CALL_RULE or call.rule == without:
                    continue
                if find(found.begin(), found.end(), call.rule) == found.end():
                    found.push_back(call.rule)
                    if found.size() == most:
                        return 0
        return 0

    cdef int add_link(self, CallNodeId node, Edge edge) except ID_FAILED nogil:
        """Add one more caller to a node. Among many, it is added once, except for hash collisions."""
        cdef Link link
        cdef Link* other
        cdef uint64_t key
        cdef LinkId at
        self.terms.meter.spend(2)
        if self.links.size() >= FEW_LINKS:
            if self.links.size() >= CACHED_MEMBERS:
                self.terms.meter.spend(4)  # it is looked up far from the others
            key = link_hash(node, edge)
            at = self.link_seen.get(key)
            if at == NO_VALUE:
                self.link_seen.put(key, <int32_t>self.links.size())
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

    cdef CallNodeId node_of(self, CallSite site, SemId sem) except ID_FAILED nogil:
        """Return the node that collects the callers of a rule in a state at this position."""
        cdef CallNode node
        cdef pair[int32_t, CallNodeId] entry
        # call and guard fit in 32 bits together, so the key is exact
        cdef uint64_t key = <uint64_t>(<uint32_t>site.call * <uint32_t>64 + <uint32_t>site.guard) << 32
        cdef const Call* call
        cdef CallNodeId n
        key |= <uint32_t>sem
        n = self.node_seen.get(key)
        if n == NO_VALUE:
            n = <int32_t>self.nodes.size()
            node.call = site.call
            node.guard = site.guard
            node.sem = sem
            node.last = NO_LINK
            self.nodes.push_back(node)
            self.node_seen.put(key, n)
            call = &self.terms.call_table[site.call]
            entry.first = self.terms.rule_height[call.rule] if call.kind == CALL_RULE else LOWEST
            entry.second = n
            self.queue.push(entry)
        return n

    cdef int pass_test(self, Member m, CallSite site, TestId test) except ID_FAILED nogil:
        """Add the continuation of a key test if the test holds and the continuation is alive."""
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
        if not self.graph.can_end(m.state, m.frame):
            return 0
        alive = self.semantics.lives(m.sem, m.state)
        if alive == 1:
            self.draft.add_member(m.state, m.frame, m.sem)
        return alive

    cdef int returns_alive(self, Member m, CallSite site) except ID_FAILED nogil:
        """Return whether (1 or 0) the continuation of a call is alive, or NEEDS_STATE.

        If the rule itself tests keys of this object, the members of the rule are tested instead.
        """
        cdef const Call* call = &self.terms.call_table[site.call]
        if call.kind == CALL_RULE and call.action != ACTION_KEYED:
            if self.terms.terms[self.terms.rule_body[call.rule]].flags & F_KEYS:
                return 1
        return self.semantics.lives(m.sem, site.continuation)

    cdef int open_calls(self) except ID_FAILED nogil:
        """Build the frames of the collected calls, callers first, and add the bodies of the rules.

        Return NEEDS_STATE if this requires knowing a key.
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
                self.counted_starts.put(m.state, 1)
            if self.terms.terms[m.state].flags & F_KEYS:
                alive = self.semantics.lives(m.sem, m.state)
                if alive == NEEDS_STATE:
                    return NEEDS_STATE
                if not alive:
                    continue
            if not self.graph.can_end(m.state, m.frame):
                continue
            self.draft.check_size()
            self.draft.members.push_back(m)
            if self.terms.terms[m.state].flags & F_CALL and self.call_from(m) == NEEDS_STATE:
                return NEEDS_STATE
        return 0

    cdef bint begins_count(self, TermId state) noexcept nogil:
        """Return whether a text with counted tokens begins in a local state, with none of its bytes read.

        Such a text is not empty, and no state inside it has the same strings as its beginning.
        """
        return self.counted_starts.get(state) != NO_VALUE

    cdef TermId body_of(self, CallNode node, SemId* sem) except ID_FAILED nogil:
        """Return the body of a called rule, or the term of a resolver; EMPTY if there is none.

        A walk that does not know the answer uses an upper bound of all answers, and ``sem`` becomes unsure.
        """
        cdef Call call = self.terms.call_table[node.call]
        cdef TermId body
        if call.kind == CALL_RULE:
            body = self.terms.rule_body[call.rule]
        else:
            body = self.semantics.resolve(sem[0], call.resolver)
            if body == NEEDS_STATE:
                if self.is_walk:
                    body = self.semantics.bound_of(call.resolver)
                if body == NEEDS_STATE:
                    self.draft.reads |= <uint64_t>1 << node.guard
                    return EMPTY
                sem[0] = self.semantics.unsure(sem[0])
        if node.guard != ANY_BYTE:
            body = self.terms.mk_seq(self.terms.mk_guard(node.guard), body)
        return body

    cdef SemId state_after_call(self, CallId number, SemId sem) except ID_FAILED nogil:
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

    cdef ConfigId close(self) except ID_FAILED nogil:
        """Close the draft and intern it; return READS_STATE if a walk can decide nothing."""
        if self.complete() == READS_STATE:
            return READS_STATE
        return self.table.intern(self.draft, self.ends)

    cdef ConfigId closed(self, TermId state, FrameId frame, SemId sem) except ID_FAILED nogil:
        """Return the closed configuration of one member."""
        cdef Member m
        m.state = state
        m.frame = frame
        m.sem = sem
        self.draft.clear_members()
        self.draft.members.push_back(m)
        return self.close()

    cdef int complete(self) except ID_FAILED nogil:
        """Close and sort the members of the draft. Return READS_STATE if a walk can decide nothing, or 0."""
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

    cdef int begin(self) except ID_FAILED nogil:
        """Clear the scratch data of the last closure."""
        self.draft.forget_ends()
        self.levels = 0
        self.nodes.clear()
        self.links.clear()
        self.node_seen.clear()
        self.tail_seen.clear()
        self.returned.clear()
        self.link_seen.clear()
        while not self.queue.empty():
            self.queue.pop()
        return 0

    cdef int drop_dead_ends(self) except ID_FAILED nogil:
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

    cdef int call_all(self) except ID_FAILED nogil:
        """Add the bodies that members call. Members whose object cannot have another key are dropped.

        Return NEEDS_STATE if this requires knowing a key.
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

    cdef int drop_nonlocal(self) except ID_FAILED nogil:
        """Drop members that consume nothing themselves, since their successors are already included."""
        cdef size_t i, n = 0
        for i in range(self.draft.members.size()):
            if self.terms.terms[self.draft.members[i].state].flags & F_LOCAL:
                self.draft.members[n] = self.draft.members[i]
                n += 1
        self.draft.members.resize(n)
        self.draft.indexed = 0
        return 0

    cdef bint knows_nothing(self) noexcept nogil:
        """Return whether every reading of a walk depends on the semantic state of the unknown stack."""
        cdef size_t i
        if self.draft.pops.size() or not (self.draft.reads or self.draft.members.size()):
            return False
        for i in range(self.draft.members.size()):
            if not self.semantics.is_unsure(self.draft.members[i].sem):
                return False
        return True

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes of the scratch data, which never shrink."""
        cdef size_t held = sizeof(CallNode) * self.nodes.capacity() + sizeof(Link) * self.links.capacity()
        held += sizeof(Edge) * self.callers.capacity() + self.node_seen.nbytes() + self.tail_seen.nbytes()
        held += self.returned.nbytes() + self.link_seen.nbytes() + self.counted_starts.nbytes()
        return held + self.draft.nbytes()


# ------------------------------------------------------------------------------------------------
# The configuration after one more byte, or one more token of a class of special tokens.
#
# A configuration gets a transition row with its first step: an entry for each class of bytes that it
# distinguishes. A capture keeps each byte, so inside of one, steps are remembered one by one.
# ------------------------------------------------------------------------------------------------


cdef enum:
    MOST_DRAFTED = 64       # members of a draft whose closure is remembered
    DRAFT_BYTES = 20        # of one, beside its members


@cython.final
cdef class ByteSteps:
    """Computes steps, and stores them in transition rows, which ``ConfigTable.known_step`` reads."""

    def __cinit__(self, ConfigTable table not None, Closure closure not None):
        self.terms = table.terms
        self.semantics = table.semantics
        self.table = table
        self.closure = closure
        self.computed = 0
        self.first_drafted.push_back(0)

    cdef ConfigId close_draft(self) except ID_FAILED nogil:
        """Close the draft of a step. If members call or return, the result is cached.

        The same members follow equivalent names, regardless of their spelling.
        """
        cdef const Member* mine
        cdef const Member* other
        cdef size_t i, n = self.closure.draft.members.size()
        cdef bint opens = False
        cdef uint64_t h = 71
        cdef int32_t found
        cdef ConfigId closed
        for i in range(n):
            mine = &self.closure.draft.members[i]
            opens = opens or self.terms.terms[mine.state].nu.possible()
            opens = opens or self.terms.terms[mine.state].flags & F_CALL
            h = mix(mix(mix(h, <uint32_t>mine.state), <uint32_t>mine.frame), <uint32_t>mine.sem)
        if not opens or n > MOST_DRAFTED:
            return self.closure.close()
        cdef Probe probe = self.draft_index.probe(h)
        found = self.draft_index.next(probe)
        while found >= 0:
            if self.first_drafted[found + 1] - self.first_drafted[found] == n:
                mine = self.closure.draft.members.data()
                other = self.drafted.data() + self.first_drafted[found]
                if not memcmp(mine, other, n * sizeof(Member)):
                    self.terms.meter.spend(4 + n)
                    return self.closed[found]
            found = self.draft_index.next(probe)
        # the draft is closed in place, so its members are kept first; a closure before may have failed after that
        self.drafted.resize(self.first_drafted.back())
        self.drafted.insert(
            self.drafted.end(), self.closure.draft.members.begin(), self.closure.draft.members.end()
        )
        closed = self.closure.close()
        if self.table.is_charged:
            self.terms.meter.hold(DRAFT_BYTES + n * sizeof(Member))
        self.draft_index.put(probe, <int32_t>self.closed.size())
        self.closed.push_back(closed)
        self.first_drafted.push_back(self.drafted.size())
        return closed

    cdef ConfigId compute_step(self, ConfigId config, SymbolId symbol) except ID_FAILED nogil:
        """Return the configuration after one more symbol: DEAD, READS_STATE or its id; cached."""
        cdef Config c = self.table.configs[config]
        cdef int32_t i
        cdef TermId d
        cdef MapId map
        cdef ConfigId next
        cdef uint64_t key = (<uint64_t>config << 32) | <uint64_t>symbol
        cdef Member m
        if is_byte(symbol) and c.row == NO_ROW_YET:
            c.row = self.make_row(config)
        if not is_byte(symbol) or c.row == NEVER_A_ROW:
            next = self.single_steps.get(key)
            if next != NO_VALUE:
                return next
        self.count_step()
        self.closure.draft.clear_members()
        for i in range(c.first, c.first + c.count):
            m = self.table.members[i]
            d = self.terms.step(m.state, symbol)
            if d == EMPTY:
                continue
            if m.sem > SEM_SYMBOL and is_byte(symbol) and self.semantics.in_capture(m.sem):
                m.sem = self.semantics.append(m.sem, <uint8_t>symbol)
            self.closure.draft.add_member(d, m.frame, m.sem)
        next = DEAD if self.closure.draft.members.empty() else self.close_draft()
        if not is_byte(symbol) or c.row == NEVER_A_ROW:
            self.single_steps.put(key, next)
        else:
            map = self.table.configs[config].map
            self.table.rows[<size_t>c.row + self.terms.classes.maps[map].of[symbol]] = next
        return next

    cdef StepRowId make_row(self, ConfigId config) except ID_FAILED nogil:
        """Find the byte classes of a configuration and create its transition row.

        Captures record the exact bytes, so successors are rarely reached twice. This returns NEVER_A_ROW.
        """
        cdef Config c = self.table.configs[config]
        cdef int32_t i
        cdef SemId sem
        cdef MapId map = MAP_ONE
        for i in range(c.first, c.first + c.count):
            sem = self.table.members[i].sem
            if sem > SEM_SYMBOL and self.semantics.keeps_bytes(sem):
                self.table.configs[config].row = NEVER_A_ROW
                self.table.configs[config].map = MAP_EACH
                return NEVER_A_ROW
            map = self.terms.classes.map_meet(map, self.terms.classes_of(self.table.members[i].state))
        if self.table.is_charged:
            self.terms.meter.hold(4 * self.terms.classes.maps[map].count)
        c.row = <int32_t>self.table.rows.size()
        self.table.configs[config].row = c.row
        self.table.configs[config].map = map
        self.table.rows.resize(self.table.rows.size() + self.terms.classes.maps[map].count, UNKNOWN)
        return c.row

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes of the steps outside rows, and of their closures."""
        cdef size_t held = self.single_steps.nbytes() + self.draft_index.nbytes()
        return held + sizeof(Member) * self.drafted.capacity() + DRAFT_BYTES * self.closed.size()


# ------------------------------------------------------------------------------------------------
# Texts of so many tokens at most: what the end of a token means for them.
#
# Such a text is a rule, and the edges of its frames say how many tokens it may still take. Tokens are counted
# where they end: a member that has read a byte of the text gets a frame with one token less. A token that
# goes on beyond the text has ended it before, so it needs no count. All of this is in the configuration, so
# rollback, forks and drafts need nothing more. The local states, and so the masks, are the same for all counts.
#
# A member with no token left goes, for what follows the text is there already. If the last token ends inside of
# a character, the rest of that character may still be read. So a token never leads to a dead end.
#
# Of two members that differ in their counts only, the one with more tokens left is kept: it allows what the
# other one allows.
# ------------------------------------------------------------------------------------------------


cdef enum:
    MOST_OF_REST = 3    # bytes of a character after the first


cdef extern from "sorting.h" nogil:
    void sort_counted "stackmask::sort_counted"(vector[CountedMember]& items) noexcept nogil


@cython.final
cdef class TokenCounts:
    """Count the tokens of the texts of one family."""

    def __cinit__(self, FrameGraph graph not None, ConfigTable table not None, Closure closure not None):
        self.terms = table.terms
        self.graph = graph
        self.table = table
        self.closure = closure
        self.draft = ConfigDraft(table.draft.max_members)
        self.rest = EMPTY

    cdef bint counts(self, const Member& member) noexcept nogil:
        """Return whether a member is in a text whose tokens are counted."""
        cdef Edge edge = self.graph.edges[self.graph.frames[member.frame].first]
        # a frame has the callers of one rule with one action
        return edge.continuation != BOTTOM_CONTINUATION and edge.action == ACTION_COUNTED

    cdef bint is_open(self, ConfigId config) noexcept nogil:
        """Return whether the next byte may belong to a text whose tokens are counted."""
        cdef int32_t i, first = self.table.configs[config].first
        for i in range(first, first + self.table.configs[config].count):
            if self.counts(self.table.members[i]):
                return True
        return False

    cdef ConfigId after_token(self, ConfigId config) except ID_FAILED nogil:
        """Return the configuration after the end of a token that led to this one. Cost: a cached look-up."""
        cdef ConfigId found = self.known.get(config)
        if found == NO_VALUE:
            found = self.charge(config)
            self.known.put(config, found)
        return found

    cdef ConfigId charge(self, ConfigId config) except ID_FAILED nogil:
        """Create the configuration after the end of a token."""
        cdef int32_t i, e, first = self.table.configs[config].first
        cdef CountedMember counted
        cdef Member m
        cdef Frame frame
        self.draft.clear()
        self.counted.clear()
        for i in range(first, first + self.table.configs[config].count):
            counted.member = m = self.table.members[i]
            if not self.counts(m) or self.closure.begins_count(m.state):  # mutant: fresh-text
                self.draft.members.push_back(m)
                continue
            frame = self.graph.frames[counted.member.frame]
            self.terms.meter.spend(4 + 4 * frame.count)
            for e in range(frame.first, frame.first + frame.count):
                counted.edge = self.graph.edges[e]
                counted.edge.tokens_left = max(counted.edge.tokens_left - 1, 0)
                self.counted.push_back(counted)
        if self.counted.empty():
            return config
        sort_counted(self.counted)
        self.add_counted()
        self.draft.check_size()
        self.draft.sort_items()
        self.draft.accepting = self.table.configs[config].accepting
        self.draft.reads = self.table.configs[config].reads
        return self.table.intern(self.draft, self.table.configs[config].ends)

    cdef int add_counted(self) except ID_FAILED nogil:
        """Add the counted members: one that continues and one that ends a character, for each local state."""
        cdef size_t i = 0, first, last
        cdef Member m
        cdef Edge edge
        cdef bint spent
        while i < self.counted.size():
            m = self.counted[i].member
            first = i
            while (
                i < self.counted.size()
                and self.counted[i].member.state == m.state
                and self.counted[i].member.sem == m.sem
            ):
                i += 1
            last = i
            for spent in (False, True):
                self.edges.clear()
                for i in range(first, last):
                    edge = self.counted[i].edge
                    if i > first and (
                        self.counted[i - 1].edge.continuation == edge.continuation
                        and self.counted[i - 1].edge.parent == edge.parent
                    ):
                        continue  # the same with fewer tokens left
                    if spent == (edge.tokens_left == 0):
                        self.edges.push_back(edge)
                i = last
                if self.edges.empty():
                    continue
                m.state = self.counted[first].member.state
                if spent:
                    m.state = self.rest_of_character(m.state)
                    if m.state == EMPTY:
                        continue
                m.frame = self.graph.intern_frame(self.edges)
                self.draft.members.push_back(m)
        return 0

    cdef TermId rest_of_character(self, TermId state) except ID_FAILED nogil:
        """Return the rest of the character that a local state is inside; EMPTY if between characters."""
        cdef vector[TermId] both
        cdef uint64_t words[4]
        cdef TermId found
        if self.rest == EMPTY:
            words[0] = words[1] = words[3] = 0
            words[2] = ~<uint64_t>0  # the bytes 0x80 to 0xBF, which begin no character
            self.rest = self.terms.make.mk_set(self.terms, self.terms.classes.intern_set(words))
            self.rest = self.terms.make.mk_rep(self.terms, self.rest, 1, MOST_OF_REST)
        both.push_back(state)
        both.push_back(self.rest)
        found = self.terms.make.mk_and(self.terms, both)
        return found if self.terms.emptiness.is_live(self.terms, found) else EMPTY

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes of the cached token ends and the scratch data."""
        cdef size_t held = self.known.nbytes() + sizeof(CountedMember) * self.counted.capacity()
        return held + sizeof(Edge) * self.edges.capacity()


# ------------------------------------------------------------------------------------------------
# The configuration after a whole token: read in one leap the first time, looked up after that.
#
# Most places inside of tokens are visited once. So the first token from a configuration is read in one leap,
# which makes no configurations for the places inside. Only a second token from there makes steps by bytes pay
# for their rows. The result is remembered in both cases.
# ------------------------------------------------------------------------------------------------


cdef enum:
    MAX_OFFSET = 1 << 16    # bytes of a token; after more bytes, no token is remembered
    FIRST_NOTED = 64        # steps of tokens that are stored at first, and
    MOST_NOTED = 4096


cdef TermId mk_end(TermStore terms, Literal literal, int32_t consumed) except ID_FAILED nogil:
    """Return the remainder of a literal after some bytes."""
    return terms.make.mk_literal(terms, literal.first + consumed, literal.length - consumed)


@cython.final
cdef class TokenSteps:
    """Steps by the bytes of whole tokens, cached, for one family of matchers."""

    def __cinit__(self, ConfigTable table not None, Closure closure not None, ByteSteps byte_steps not None):
        self.terms = table.terms
        self.semantics = table.semantics
        self.table = table
        self.closure = closure
        self.byte_steps = byte_steps
        self.noted_since = 0

    cdef ConfigId step_token(
        self, ConfigId config, TokenId token, const uint8_t* text, size_t length
    ) except ID_FAILED nogil:
        """Return the configuration after a token, whose text is given, or DEAD.

        A configuration stores its first token and this token's target. At the second token it gets a row, and
        the step is stored in ``noted``. ``remembered`` finds both.
        Cost: three dependent loads per byte once the steps are known.
        """
        cdef ConfigId next = self.step_bytes(config, token, text, length)
        if next != DEAD and length > 1 and self.table.configs[config].first_token != token:
            self.note_step(config, token, next)
        return next

    cdef ConfigId step_bytes(
        self, ConfigId config, TokenId token, const uint8_t* text, size_t length
    ) except ID_FAILED nogil:
        """Step by bytes as long as there are rows, then leap."""
        cdef size_t i
        cdef ConfigId next
        cdef StepRowId row
        cdef Config* configs = self.table.configs.data()
        cdef const ConfigId* rows = self.table.rows.data()
        cdef const ClassMap* maps = self.terms.classes.maps.data()
        for i in range(length):
            next = UNKNOWN
            if configs[config].first_token == token and configs[config].first_offset == i:  # mutant: offset
                return configs[config].first_next
            row = configs[config].row
            if has_row(configs[config]):
                next = rows[<size_t>row + maps[configs[config].map].of[text[i]]]
            elif configs[config].first_token == NO_TOKEN and i < MAX_OFFSET:
                next = self.leap(config, text + i, length - i)
                configs = self.table.configs.data()
                configs[config].first_token = token
                configs[config].first_offset = <uint16_t>i
                configs[config].first_next = next
                return next
            if next == UNKNOWN:
                next = self.byte_steps.compute_step(config, text[i])
                # arrays that grew may have moved
                configs = self.table.configs.data()
                rows = self.table.rows.data()
                maps = self.terms.classes.maps.data()
            if next == DEAD:
                return DEAD
            config = next
        return config

    cdef int note_step(self, ConfigId config, TokenId token, ConfigId next) except ID_FAILED nogil:
        """Store the target of a token, replacing older entries. The table grows with the number of steps."""
        cdef size_t size = self.noted.size()
        cdef TokenStep* step
        if self.noted_since >= size and size < MOST_NOTED:
            # the stored steps are used again
            size = 4 * size if size else FIRST_NOTED
            self.noted.clear()
            self.noted.resize(size)
            self.noted_since = 0
        self.noted_since += 1
        step = &self.noted[slot_of(config, token) & (size - 1)]
        step.config = config
        step.token = token
        step.next = next
        return 0

    # -- many bytes at once ------------------------------------------------------------------------

    cdef ConfigId leap(self, ConfigId config, const uint8_t* text, size_t length) except ID_FAILED nogil:
        """Return the configuration after some bytes, or DEAD. Intermediate configurations are not stored.

        If no member calls, returns or may end, the members are not even closed: a closure would drop only
        members that lead nowhere. The bytes of a literal are compared in the pool.
        """
        cdef bint restricted = self.terms.classes.has_guards(), skips_closure
        cdef size_t k, i, n
        cdef PartialMember at
        self.take_members(
            self.table.members.data() + self.table.configs[config].first, self.table.configs[config].count
        )
        for k in range(length):
            self.byte_steps.count_step()
            skips_closure = k + 1 < length and not restricted
            n = 0
            for i in range(self.partial.size()):
                at = self.partial[i]
                if self.consume(&at, text[k], &skips_closure):
                    self.partial[n] = at
                    n += 1
            self.partial.resize(n)
            if not n:
                return DEAD
            if skips_closure:
                continue
            self.closure.draft.clear_members()
            for i in range(n):
                at = self.partial[i]
                self.closure.draft.add_member(self.state_of(at), at.member.frame, at.member.sem)
            if self.closure.complete() == READS_STATE:
                return READS_STATE
            if k + 1 == length:
                break
            if self.closure.draft.members.empty():
                return DEAD
            self.take_members(self.closure.draft.members.data(), self.closure.draft.members.size())
        return self.table.intern(self.closure.draft, self.closure.ends)

    cdef int take_members(self, const Member* members, size_t count) except FAILED nogil:
        """Start at some members, of whose literals no byte is consumed."""
        cdef size_t i
        cdef PartialMember at
        at.consumed = 0
        self.partial.clear()
        for i in range(count):
            at.member = members[i]
            self.partial.push_back(at)
        return 0

    cdef bint consume(self, PartialMember* at, uint8_t byte, bint* skips_closure) except FAILED nogil:
        """Consume a byte. Return whether the member can; clear ``skips_closure`` if a closure is needed."""
        cdef TermId state
        cdef Term u = self.terms.terms[at.member.state]
        if u.kind == K_SEQ:
            u = self.terms.terms[u.seq.first]
        if u.kind == K_LIT and at.consumed + 1 < u.literal.length:
            if self.terms.pool[u.literal.first + at.consumed] != byte:
                return False
            at.consumed += 1
        else:
            state = self.terms.step(self.state_of(at[0]), byte)
            if state == EMPTY:
                return False
            at.member.state = state
            at.consumed = 0
            u = self.terms.terms[state]
            skips_closure[0] = skips_closure[0] and not u.nu.possible() and not u.flags & F_CALL
        if at.member.sem > SEM_SYMBOL and self.semantics.in_capture(at.member.sem):
            at.member.sem = self.semantics.append(at.member.sem, byte)
        return True

    cdef TermId state_of(self, PartialMember at) except ID_FAILED nogil:
        """Return the local state of a member after the consumed bytes."""
        cdef Term u = self.terms.terms[at.member.state]
        cdef TermId left
        if not at.consumed:
            return at.member.state
        if u.kind == K_LIT:
            return mk_end(self.terms, u.literal, at.consumed)
        left = mk_end(self.terms, self.terms.terms[u.seq.first].literal, at.consumed)
        return self.terms.mk_seq(left, u.seq.rest)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes of the cached steps and the scratch data."""
        return sizeof(TokenStep) * self.noted.size() + sizeof(PartialMember) * self.partial.capacity()


cdef enum:
    TOLD_LEVELS = 4     # open captures of whose texts a stand-in knows what tells them apart
    MOST_CALLERS = 24   # calls out that this is looked for


cdef bint has_stand_in(Semantics semantics, SemId sem) except FAILED nogil:
    """Return whether the value of a semantic state has a stand-in."""
    cdef Sem root = semantics.sems[semantics.root(sem)]
    return semantics.callables.stand_in(root.value) != root.value


cdef uint32_t spaces_made = 0


@cython.final
cdef class ConfigSpace:
    """Frames and configurations of one family of matchers, or of the mask walks of one automaton."""

    def __cinit__(
        self,
        TermStore terms not None,
        Semantics semantics not None,
        bint is_walk,
        uint64_t max_configurations=50_000_000,
        uint64_t max_members=200_000,
        bint is_summary=False,
    ):
        global spaces_made
        spaces_made += 1
        self.number = spaces_made
        self.terms = terms
        self.is_summary = is_summary
        self.max_configurations = max_configurations
        self.max_members = max_members
        self.graph = FrameGraph(terms, semantics, is_walk, is_summary)
        self.table = ConfigTable(terms, semantics, is_walk, max_configurations, max_members)
        self.closure = Closure(self.graph, self.table, max_members)
        self.byte_steps = ByteSteps(self.table, self.closure)
        self.token_steps = TokenSteps(self.table, self.closure, self.byte_steps)
        self.token_counts = TokenCounts(self.graph, self.table, self.closure)
        self.configs.borrow(self.table.configs)
        self.members.borrow(self.table.members)
        self.pops.borrow(self.table.pops)
        self.rows.borrow(self.table.rows)
        self.callees.borrow(self.table.callees)
        self.frames.borrow(self.graph.frames)
        self.edges.borrow(self.graph.edges)

    cdef int32_t test_around(self, FrameId frame, int32_t level, int32_t most) except ID_FAILED nogil:
        """Return the test that distinguishes the texts of a capture, or -1 if there is none or it is unknown.

        ``level``: the number of captures open inside it. ``most``: the maximum number of enclosing calls to
        search.
        Cost: linear in the edges of the frames there, once for each frame.
        """
        cdef uint64_t key = (<uint64_t>frame << 8) | <uint64_t>level
        cdef int32_t found = self.tests_around.get(key), other
        cdef int32_t e
        cdef Edge edge
        if found != NO_VALUE:
            return found - 1
        found = NO_VALUE
        for e in range(self.frames[frame].first, self.frames[frame].first + self.frames[frame].count):
            edge = self.edges[e]
            if edge.action.is_capture() and not level:
                other = self.closure.semantics.callables.tests[edge.action.action()]
            elif edge.parent <= BOTTOM or not most or edge.action.restores_caller():
                other = -1
            else:
                other = self.test_around(edge.parent, level - edge.action.is_capture(), most - 1)
            if found != NO_VALUE and found != other:
                other = -1
            found = other
            if found == -1:
                break
        self.tests_around.put(key, found + 1)
        return found

    cdef ConfigId stand_in(self, ConfigId config) except ID_FAILED nogil:
        """Return the configuration on which tokens are tried first, with stand-ins of this one's values.

        If a successor has ``reads``, some of its parses are omitted: the values themselves must decide.
        """
        cdef Member m
        cdef int32_t i, first = self.configs[config].first
        cdef bint differs = False
        cdef int32_t tests[TOLD_LEVELS]
        cdef int32_t level
        self.closure.draft.clear()
        for i in range(first, first + self.configs[config].count):
            m = self.members[i]
            if has_stand_in(self.closure.semantics, m.sem):
                for level in range(TOLD_LEVELS):
                    tests[level] = self.test_around(m.frame, level, MOST_CALLERS)
                m.sem = self.closure.semantics.stand_in(m.sem, tests, TOLD_LEVELS)
                differs = differs or m.sem != self.members[i].sem
            self.closure.draft.members.push_back(m)
        if not differs:
            return config
        self.closure.draft.sort_items()
        self.closure.draft.accepting = self.configs[config].accepting
        return self.table.intern(self.closure.draft, self.configs[config].ends)

    cdef ConfigId copy_of(self, ConfigSpace other, ConfigId config) except ID_FAILED nogil:
        """Return the copy of a configuration of another family of the same grammar.

        Cost: linear in the members, and in the frames and edges under them that were not copied before.
        """
        cdef vector[FrameId] below      # not copied before
        cdef vector[Edge] edges
        cdef Member m
        cdef Edge edge
        cdef size_t k = 0
        cdef int32_t i, first = other.configs[config].first, count = other.configs[config].count
        self.copied_now.clear()
        for i in range(first, first + count):
            self.find_below(other, other.members[i].frame, below)
        while k < below.size():
            for i in range(other.frames[below[k]].count):
                self.find_below(other, other.edges[other.frames[below[k]].first + i].parent, below)
            k += 1
        sort(below.begin(), below.end())  # parents come first
        for k in range(below.size()):
            edges.clear()
            for i in range(other.frames[below[k]].count):
                edge = other.edges[other.frames[below[k]].first + i]
                edge.parent = self.copy_of_frame(other, edge.parent)
                edges.push_back(edge)
            self.copies.put(copy_key(other, below[k]), self.intern_frame(edges))
        self.closure.draft.clear()
        for i in range(first, first + count):
            m = other.members[i]
            m.frame = self.copy_of_frame(other, m.frame)
            self.closure.draft.members.push_back(m)
        self.closure.draft.sort_items()
        self.closure.draft.accepting = other.configs[config].accepting
        return self.table.intern(self.closure.draft, other.configs[config].ends)

    cdef FrameId copy_of_frame(self, ConfigSpace other, FrameId frame) noexcept nogil:
        """Return the copy of another family's frame, which exists."""
        return self.copies.get(copy_key(other, frame)) if frame > BOTTOM else frame

    cdef int find_below(self, ConfigSpace other, FrameId frame, vector[FrameId]& below) except FAILED nogil:
        """Append a frame to a list of frames that have no copy, each once."""
        if frame <= BOTTOM or self.copies.get(copy_key(other, frame)) != NO_VALUE:
            return 0
        if self.copied_now.get(frame) == NO_VALUE:
            self.copied_now.put(frame, 1)
            below.push_back(frame)
        return 0

    def is_live(self, TermId state, SemId sem):
        """Return whether the text that starts in ``state`` can be completed."""
        return self.closed(state, BOTTOM, sem) != DEAD

    cdef uint64_t steps_computed(self) noexcept nogil:
        """Return the number of steps that were computed, not looked up."""
        return self.byte_steps.computed

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes of frames and configurations."""
        cdef size_t held = self.graph.nbytes() + self.table.nbytes() + self.closure.nbytes()
        held += self.byte_steps.nbytes() + self.token_steps.nbytes()
        return held + self.token_counts.nbytes() + self.tests_around.nbytes() + self.copies.nbytes()

    def nbytes_held(self):
        """Return the approximate number of bytes of frames and configurations."""
        self.terms.meter.settle()
        return self.nbytes()

    def counts(self):
        """Return sizes: configurations, members, frames, edges; steps computed, and returns followed."""
        self.terms.meter.settle()
        return {
            "configurations": self.configs.size(),
            "members": self.members.size(),
            "frames": self.frames.size(),
            "edges": self.edges.size(),
            "steps": self.byte_steps.computed,
            "returns": self.closure.returns,
        }
