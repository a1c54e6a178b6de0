# distutils: language = c++
"""Configurations as values: sets of members (local state, frame, semantic state), sorted and interned.

The closure (``closure``) creates configurations; byte steps and token steps lead from one to the next.
"""

cimport cython
from libc.stdint cimport uint32_t

from stackmask.pda.context.semantic_states cimport SEM_SYMBOL
from stackmask.pda.ids cimport ACTION_COUNTED, ACTION_NONE, NO_FRAME, NO_TOKEN
from stackmask.pda.memory.byte_sets cimport lowest_bit
from stackmask.pda.memory.checked_vectors cimport copy_items
from stackmask.pda.memory.hash_tables cimport ENTRY_BYTES, NO_VALUE, Probe, mix
from stackmask.pda.terms.term_table cimport ANY_BYTE, MAP_ONE, Ends

from stackmask.pda.errors import BudgetError


# ------------------------------------------------------------------------------------------------
# Frames: the stack under a local state, as sets of edges (return state, parent frame).
#
# That is a graph-structured stack (Tomita 1985), hash-consed, so that equal stacks are one id. With follow
# restrictions a return to a frame can be a dead end: see ``exits``.
# ------------------------------------------------------------------------------------------------


@cython.final
cdef class FrameGraph:
    """The frames of one family of matchers, or of the mask walks of one store.

    ``is_walk``: the bottom frame represents an unknown stack. ``is_summary``: each frame except the bottom
    represents all equivalent activations of a rule; its edges are set once all of them are known.
    """

    def __cinit__(
        self, TermStore terms not None, Semantics semantics not None, bint is_walk, bint is_summary=False
    ):
        cdef Edge edge
        cdef vector[Edge] bottom
        self.terms = terms
        self.semantics = semantics
        self.is_walk = is_walk
        self.is_charged = not is_walk
        self.counts = False
        self.is_summary = is_summary
        edge.continuation = BOTTOM_CONTINUATION
        edge.parent = NO_FRAME
        edge.action = ACTION_NONE
        edge.operand = 0
        bottom.push_back(edge)
        self.intern_frame(bottom)

    cdef FrameId intern_frame(self, vector[Edge]& items) except ID_FAILED nogil:
        """Return the frame with these edges, which are in any order."""
        cdef uint64_t h = 31
        cdef size_t i, n
        cdef FrameId id
        cdef Frame* f
        cdef Frame frame
        cdef Edge e
        self.terms.meter.spend(4 + 4 * items.size())
        if items.size() > 1:
            sort_edges(items)
        n = items.size()
        for i in range(n):
            e = items[i]
            h = mix(mix(h, <uint32_t>e.continuation), <uint32_t>e.parent)
            h = mix(mix(h, e.action.code()), <uint32_t>e.operand)
        cdef Probe probe = self.frame_index.probe(h)
        id = self.frame_index.next(probe)
        while id >= 0:
            f = &self.frames[id]
            if f.count == <int32_t>n:
                i = 0
                while i < n and same_edge(self.edges[f.first + i], items[i]):
                    i += 1
                if i == n:
                    return id
            id = self.frame_index.next(probe)
        if self.is_charged:
            self.terms.meter.hold(sizeof(Frame) + ENTRY_BYTES + sizeof(Edge) * n)
        id = <int32_t>self.frames.size()
        frame.first = <int32_t>self.edges.size()
        frame.count = <int32_t>n
        frame.keys_forbid = frame.action_forbids = False
        frame.is_plain = True
        frame.ways = 0
        frame.exits_known = frame.exits = 0
        for i in range(n):
            e = items[i]
            self.edges.push_back(e)
            frame.is_plain = frame.is_plain and e.action == ACTION_NONE
            if e.action == ACTION_COUNTED:
                self.counts = True
            if e.action.is_capture() and self.semantics.may_forbid(e.action.action()):
                frame.action_forbids = True
            if e.continuation != BOTTOM_CONTINUATION:
                frame.keys_forbid |= not self.semantics.keys.needs.always_lives(e.continuation)
            if e.parent != NO_FRAME:
                frame.keys_forbid |= self.frames[e.parent].keys_forbid
                frame.action_forbids |= self.frames[e.parent].action_forbids
                frame.is_plain = frame.is_plain and self.frames[e.parent].is_plain
                frame.ways = min(frame.ways + 1 + self.frames[e.parent].ways, <int32_t>MANY_WAYS)
        self.frames.push_back(frame)
        self.frame_index.put(probe, id)
        return id

    cdef FrameId add_summary_frame(self, bint keys_forbid, bint action_forbids) except ID_FAILED nogil:
        """Return a new frame that represents many. It has no edges until ``set_summary_edges``."""
        cdef Frame frame
        frame.first = frame.count = 0
        frame.keys_forbid = keys_forbid
        frame.action_forbids = action_forbids
        frame.is_plain = False
        frame.ways = 0
        frame.exits_known = frame.exits = 0
        self.frames.push_back(frame)
        return <int32_t>self.frames.size() - 1

    cdef int set_summary_edges(self, FrameId frame, vector[Edge]& items) except ID_FAILED nogil:
        """Give a frame from ``add_summary_frame`` its edges, in the given order."""
        self.frames[frame].first = <int32_t>self.edges.size()
        self.frames[frame].count = <int32_t>items.size()
        self.edges.append(items.begin(), items.end())
        return 0

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes of the frames."""
        cdef size_t held = sizeof(Edge) * self.edges.size() + sizeof(Frame) * self.frames.size()
        return held + self.frame_index.nbytes() + self.exits_index.nbytes()

    # -- liveness under pending restrictions ---------------------------------------------------------

    cdef bint knows_exits(self, FrameId frame, GuardId guard, uint64_t* found) noexcept nogil:
        """Find what `exits` returned before, if it did. Return whether it did."""
        cdef int32_t at
        if not self.is_walk:
            found[0] = (self.frames[frame].exits >> guard) & 1
            return (self.frames[frame].exits_known >> guard) & 1
        at = self.exits_index.get((<uint64_t>frame << 6) | <uint64_t>guard)
        if at != NO_VALUE:
            found[0] = self.exits_value[at]
        return at != NO_VALUE

    cdef int keep_exits(self, FrameId frame, GuardId guard, uint64_t found) except FAILED nogil:
        if self.is_walk:
            self.exits_index.put((<uint64_t>frame << 6) | <uint64_t>guard, <int32_t>self.exits_value.size())
            self.exits_value.push_back(found)
        else:
            self.frames[frame].exits_known |= <uint64_t>1 << guard
            self.frames[frame].exits |= found << guard
        return 0

    cdef uint64_t exits(self, FrameId frame, GuardId guard) except? BITS_FAILED nogil:
        """Return, as bits, the guards with which the bottom can be reached after a return to ``frame`` with
        ``guard`` pending. For the end of the grammar: 1 if it can be reached, else 0."""
        cdef vector[uint64_t] todo
        cdef uint64_t bits, pending, further
        cdef int32_t e
        cdef FrameId f
        cdef GuardId g, h
        cdef bint ready
        cdef size_t waiting
        cdef Ends out
        if self.is_summary:
            # some of the frames that it stands for may
            return 1
        if frame == BOTTOM:
            return <uint64_t>1 << guard if self.is_walk else 1
        if self.knows_exits(frame, guard, &bits):
            return bits
        todo.push_back((<uint64_t>frame << 6) | <uint64_t>guard)
        while not todo.empty():
            f = <int32_t>(todo.back() >> 6)
            g = <int32_t>(todo.back() & 63)
            bits = 0
            ready = True
            waiting = todo.size()
            for e in range(self.frames[f].first, self.frames[f].first + self.frames[f].count):
                if bits and not self.is_walk:
                    break
                if self.edges[e].continuation == BOTTOM_CONTINUATION:
                    bits |= <uint64_t>1 << g if self.is_walk else 1
                    continue
                self.terms.ends(self.edges[e].continuation, g, &out)
                pending = out.consumed | out.silent
                while pending:
                    h = lowest_bit(pending)
                    pending &= pending - 1
                    if self.edges[e].parent == BOTTOM:
                        bits |= <uint64_t>1 << h if self.is_walk else 1
                        continue
                    if self.knows_exits(self.edges[e].parent, h, &further):
                        bits |= further
                    else:
                        todo.push_back((<uint64_t>self.edges[e].parent << 6) | <uint64_t>h)
                        ready = False
            if bits and not self.is_walk:
                # one way out is enough
                todo.resize(waiting)
                ready = True
            if ready:
                todo.pop_back()
                self.keep_exits(f, g, bits)
        self.knows_exits(frame, guard, &bits)
        return bits

    cdef bint can_end(self, TermId state, FrameId frame) except FAILED nogil:
        """Return whether the bottom can be reached from here, under any guard."""
        cdef Ends out
        cdef uint64_t pending
        if not self.terms.classes.has_guards():
            return True
        self.terms.ends(state, ANY_BYTE, &out)
        pending = out.consumed | out.silent
        while pending:
            if self.exits(frame, lowest_bit(pending)):
                return True
            pending &= pending - 1
        return False

    cdef uint64_t member_ends(self, TermId state, FrameId frame) except? BITS_FAILED nogil:
        """Return the guards (as bits) under which the bottom can be reached from here; 0 means a dead end."""
        cdef Ends out
        cdef uint64_t pending, bits = 0
        self.terms.ends(state, ANY_BYTE, &out)
        pending = out.consumed | out.silent
        while pending:
            bits |= self.exits(frame, lowest_bit(pending))  # mutant: exit-guard
            pending &= pending - 1
        return bits


# ------------------------------------------------------------------------------------------------
# A configuration that is being built: its members are collected, then sorted and interned.
# ------------------------------------------------------------------------------------------------


cdef enum:
    FEW = 24             # up to so many members are searched, not hashed


cdef extern from "sorting.h" nogil:
    void sort_members "stackmask::sort_members"(vector[Member]& items) noexcept nogil
    void sort_pops "stackmask::sort_pops"(vector[Pop]& items) noexcept nogil


@cython.final
cdef class ConfigDraft:
    """The members and returns of a configuration without an id. The object is reused."""

    def __cinit__(self, uint64_t max_members):
        self.max_members = max_members
        self.indexed = 0
        self.accepting = False
        self.reads = 0

    cdef void clear(self) noexcept nogil:
        """Begin another configuration."""
        self.clear_members()
        self.forget_ends()

    cdef void clear_members(self) noexcept nogil:
        """Drop all members."""
        self.members.clear()
        self.indexed = 0

    cdef void forget_ends(self) noexcept nogil:
        """Clear everything except the members. A closure computes the rest again."""
        self.pops.clear()
        self.accepting = False
        self.reads = 0

    cdef int add_member(self, TermId state, FrameId frame, SemId sem) except ID_FAILED nogil:
        """Add a member, if it is new. Raises: BudgetError if there are too many.

        Cost: a look-up, or one pass over a short list.
        """
        cdef Member m
        cdef size_t i, n = self.members.size()
        cdef uint64_t key
        cdef int32_t at
        m.state = state
        m.frame = frame
        m.sem = sem
        if n <= FEW:
            for i in range(n):
                if is_same_member(self.members[i], m):
                    return 0
        else:
            if self.indexed != n:
                self.index_members()
            key = key_of(m)
            at = self.seen.get(key)
            while at != NO_VALUE:
                if is_same_member(self.members[at], m):
                    return 0
                key += 1
                at = self.seen.get(key)
            self.check_size()
            self.seen.put(key, <int32_t>n)
            self.indexed = n + 1
        self.members.push_back(m)
        return 0

    cdef int index_members(self) except ID_FAILED nogil:
        """Add the members that are not yet in the index. Others may have been added meanwhile."""
        cdef uint64_t key
        if not self.indexed or self.indexed > self.members.size():
            self.seen.clear()
            self.indexed = 0
        while self.indexed < self.members.size():
            key = key_of(self.members[self.indexed])
            while self.seen.get(key) != NO_VALUE:
                key += 1
            self.seen.put(key, <int32_t>self.indexed)
            self.indexed += 1
        return 0

    cdef int check_size(self) except FAILED nogil:
        """Raise BudgetError if there is no room for one more member."""
        if self.members.size() >= self.max_members:
            raise BudgetError("max_members", self.max_members, "parallel readings of the text")
        return 0

    cdef int sort_items(self) except FAILED nogil:
        """Sort members and returns, and remove duplicates."""
        if self.members.size() > 1:
            sort_members(self.members)
        if self.pops.size() > 1:
            sort_pops(self.pops)
        self.indexed = 0
        return 0

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes of the scratch data, which never shrink."""
        cdef size_t held = sizeof(Member) * self.members.capacity() + sizeof(Pop) * self.pops.capacity()
        return held + self.seen.nbytes()


cdef inline uint64_t key_of(Member m) noexcept nogil:
    return mix(mix(mix(41, <uint32_t>m.state), <uint32_t>m.frame), <uint32_t>m.sem)


cdef inline bint is_same_member(Member x, Member y) noexcept nogil:
    return x.state == y.state and x.frame == y.frame and x.sem == y.sem


@cython.final
cdef class ConfigTable:
    """The configurations over the frames of one space, each stored once, with their transition rows."""

    def __cinit__(
        self,
        TermStore terms not None,
        Semantics semantics not None,
        bint is_walk,
        uint64_t max_configurations,
        uint64_t max_members,
    ):
        self.terms = terms
        self.semantics = semantics
        self.is_walk = is_walk
        self.is_charged = not is_walk
        self.max_configurations = max_configurations
        self.draft = ConfigDraft(max_members)
        self.intern(self.draft, 0)      # DEAD

    cdef CalleeId callee_of(self, const Callee& callee) except ID_FAILED nogil:
        """Return the id of a call that walks do not enter."""
        cdef uint64_t key = mix(mix(71, <uint32_t>callee.body), <uint32_t>callee.continuation)
        cdef CalleeId at
        key = mix(key, <uint32_t>callee.frame)
        at = self.callee_index.get(key)
        while at != NO_VALUE:
            if (
                self.callees[at].body == callee.body
                and self.callees[at].continuation == callee.continuation
                and self.callees[at].frame == callee.frame
            ):
                return at
            key += 1
            at = self.callee_index.get(key)
        at = <int32_t>self.callees.size()
        self.callees.push_back(callee)
        self.callee_index.put(key, at)
        return at

    cdef ConfigId intern(self, ConfigDraft draft, uint64_t ends) except ID_FAILED nogil:
        """Return the id of a configuration whose members are sorted and distinct.

        Raises: BudgetError if the configuration is new and exceeds the limit.
        """
        cdef uint64_t h
        cdef size_t i
        cdef ConfigId id
        cdef Member m
        # many members, each hashed and sorted, do not fit into the caches
        cdef size_t n = draft.members.size()
        self.terms.meter.spend(4 + (4 if n <= CACHED_MEMBERS else 8) * n)
        if draft.members.empty() and draft.pops.empty():
            # there is one dead configuration, whatever is alive on the stack
            ends = 1 if draft.accepting else 0
        h = mix(mix(mix(37, draft.accepting), draft.reads), ends)
        for i in range(draft.members.size()):
            m = draft.members[i]
            h = mix(mix(mix(h, <uint32_t>m.state), <uint32_t>m.frame), <uint32_t>m.sem)
        for i in range(draft.pops.size()):
            h = mix(mix(h, <uint32_t>draft.pops[i].guard), <uint32_t>draft.pops[i].sem)
            h = mix(h, <uint32_t>draft.pops[i].callee)
        cdef Probe probe = self.config_index.probe(h)
        id = self.config_index.next(probe)
        while id >= 0:
            if self.is_same(id, draft, ends):
                return id
            id = self.config_index.next(probe)
        id = self.append(draft, ends)
        self.config_index.put(probe, id)
        return id

    cdef bint is_same(self, ConfigId config, ConfigDraft draft, uint64_t ends) noexcept nogil:
        """Return whether a configuration has the same content as a draft."""
        cdef Config* c = &self.configs[config]
        cdef size_t i, n = draft.members.size(), p = draft.pops.size()
        cdef const Member* mine = self.members.data() + c.first
        cdef const Pop* returns = self.pops.data() + c.pop_first
        if not (
            c.count == <int32_t>n
            and c.pop_count == <int32_t>p
            and c.accepting == draft.accepting
            and c.reads == draft.reads
            and c.ends == ends
        ):
            return False
        for i in range(n):
            if not (
                mine[i].state == draft.members[i].state
                and mine[i].frame == draft.members[i].frame
                and mine[i].sem == draft.members[i].sem
            ):
                return False
        for i in range(p):
            if not (
                returns[i].guard == draft.pops[i].guard
                and returns[i].sem == draft.pops[i].sem
                and returns[i].callee == draft.pops[i].callee
            ):
                return False
        return True

    cdef ConfigId append(self, ConfigDraft draft, uint64_t ends) except ID_FAILED nogil:
        """Add a new configuration."""
        cdef Config config
        cdef size_t i, n = draft.members.size()
        cdef SemId sem
        if self.configs.size() >= self.max_configurations:
            raise BudgetError("max_configurations", self.max_configurations, "configurations visited")
        if self.is_charged:
            self.terms.meter.hold(
                sizeof(Config) + ENTRY_BYTES + sizeof(Member) * n + sizeof(Pop) * draft.pops.size()
            )
        config.first = <int32_t>self.members.size()
        config.count = config.sure = <int32_t>n
        config.pop_first = <int32_t>self.pops.size()
        config.pop_count = <int32_t>draft.pops.size()
        config.accepting = draft.accepting
        config.row = NO_ROW_YET
        config.map = MAP_ONE
        config.mask_index = UNKNOWN
        config.mask_epoch = 0
        config.first_token = NO_TOKEN
        config.first_next = DEAD
        config.first_offset = 0
        config.capturing = False
        config.reads = draft.reads
        config.ends = ends
        for i in range(n):
            sem = draft.members[i].sem
            if sem > SEM_SYMBOL and self.semantics.in_capture(sem):
                config.capturing = True
            if self.is_walk and self.semantics.is_unsure(sem):
                config.sure -= 1
        self.members.append(draft.members.begin(), draft.members.end())
        self.pops.append(draft.pops.begin(), draft.pops.end())
        self.configs.push_back(config)
        return <int32_t>self.configs.size() - 1

    cdef ConfigId raw(self, TermId state, FrameId frame, SemId sem) except ID_FAILED nogil:
        """Return the configuration of a single member, without the closure of its calls."""
        cdef Member m
        m.state = state
        m.frame = frame
        m.sem = sem
        self.draft.clear()
        self.draft.members.push_back(m)
        return self.intern(self.draft, 1)

    cdef ConfigId of_members(self, vector[Member]& members) except ID_FAILED nogil:
        """Return the configuration of some distinct members, in any order."""
        self.draft.clear()
        copy_items(self.draft.members, members)
        self.draft.sort_items()
        return self.intern(self.draft, 1)

    cdef ConfigId union_of(self, ConfigId a, ConfigId b) except ID_FAILED nogil:
        """Return the union of two configurations. Both belong to families, so they have no returns."""
        if a == DEAD or a == b:
            return b
        if b == DEAD:
            return a
        self.draft.clear()
        self.copy_members(a)
        self.copy_members(b)
        self.draft.sort_items()
        self.draft.accepting = self.configs[a].accepting or self.configs[b].accepting
        self.draft.reads = self.configs[a].reads | self.configs[b].reads
        return self.intern(self.draft, 1)

    cdef int copy_members(self, ConfigId config) except FAILED nogil:
        """Add the members of a configuration to the draft."""
        cdef Member* first = self.members.data() + self.configs[config].first
        self.draft.members.insert(self.draft.members.end(), first, first + self.configs[config].count)
        return 0

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes of the configurations."""
        cdef size_t held = sizeof(Config) * self.configs.size() + sizeof(Member) * self.members.size()
        held += sizeof(Pop) * self.pops.size() + 4 * self.rows.size()
        return held + self.config_index.nbytes() + self.draft.nbytes()
