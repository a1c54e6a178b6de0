# distutils: language = c++
"""Masks that are computed ahead: the states that texts can reach, and their masks."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.context.object_keys cimport EMPTY_SET, KEYS_NONE, NOT_NOW, USED_ANY, KeyState, KeyStates
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.ids cimport (
    ACTION_BACK,
    ACTION_KEYED,
    ACTION_NONE,
    FAILED,
    ID_FAILED,
    NO_FRAME,
    ConfigId,
    FrameId,
    FrameStateId,
    GuardId,
    KeysId,
    MapId,
    ReturnAction,
    SemId,
    TermId,
)
from stackmask.pda.masks.arena cimport is_whole
from stackmask.pda.masks.engine cimport MaskEngine
from stackmask.pda.masks.mask_cache cimport Worklist
from stackmask.pda.memory.hash_tables cimport NO_VALUE, KeyMap
from stackmask.pda.stack.configuration_table cimport (
    BOTTOM,
    BOTTOM_CONTINUATION,
    UNKNOWN,
    Edge,
    Member,
    leads_on,
)
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.terms.term_table cimport (
    ANY_BYTE,
    CALL_RESOLVER,
    CALL_TEST,
    EMPTY,
    EPS,
    F_CALL,
    F_KEYS,
    F_LOCAL,
    Call,
    CallSite,
    ClassMap,
    SiteList,
    token_symbol,
)

from time import monotonic


# ------------------------------------------------------------------------------------------------
# What the strings of a grammar can lead to: local states, key states and callers, each once.
#
# A string leads to members (local state, frame, semantic state), and nested rules have infinitely many frames.
# But the stack that a local state needs depends only on how its rule was entered. So here a rule has one frame
# for each *activation*: its body, the keys of the object around, and whether a return may be forbidden. This
# frame has an edge for every call of the activation, and may lead back to itself. The paths through these
# frames are the stacks that strings can lead to. Follow restrictions and actions are ignored, so there are some
# more.
#
# Key states are kept as views, without undeclared keys (``KeyStates.view``). Captured text is not kept.
#
# Source: the stacks of a pushdown automaton are a regular set (Büchi, "Regular Canonical Systems", 1964); the
# frames are its automaton (Bouajjani, Esparza and Maler, "Reachability Analysis of Pushdown Automata", 1997).
# ------------------------------------------------------------------------------------------------


cdef enum:
    WORK_OF_A_STATE = 16    # returns and edges that are visited for each state of the budget


cdef KeysId after_key(KeyStates keys, KeysId view) except ID_FAILED:
    """Return the view of an object with one more undeclared key, or NOT_NOW."""
    cdef KeyState k
    cdef KeysId found = keys.use(view, 0)
    cdef int32_t i
    if found < 0:
        return NOT_NOW
    k = keys.states[found]
    k.undeclared = USED_ANY
    k.used = EMPTY_SET
    keys.scratch.resize(keys.specs[k.spec].words)
    for i in range(keys.specs[k.spec].words):
        keys.scratch[i] = keys.words[k.taken + i]
    return keys.intern(k)


@cython.final
cdef class Reachable:
    """The local states that strings of a grammar can reach, and their frames."""

    cdef TermStore terms
    cdef Semantics semantics
    cdef readonly ConfigSpace family    # its frames are those of activations
    cdef vector[Member] members         # what was found, in the order of a search breadth first
    cdef size_t next                    # the first member that is not visited yet
    cdef KeyMap seen                    # state << 32 | place -> 1
    cdef dict places                    # (frame, semantic state) -> its number
    cdef vector[FrameId] place_frame
    cdef vector[SemId] place_sem
    cdef dict activations               # (body, semantic state, what a return may meet) -> frame
    cdef list callers                   # frame -> {(return state, place, action, whether nothing follows)}
    cdef list exits                     # frame -> {(guard, semantic state)}
    cdef readonly bint unknown          # a rule is known only once there is a text

    cdef bint over_budget               # the search has ended early
    cdef int64_t work                   # steps of the search
    cdef int64_t edges
    cdef list own                       # frame -> its edges
    cdef list heirs                     # frame -> [(frame of a tail call, state whose keys come back, or 0)]
    cdef list todo                      # (frame, edge): edges that the heirs of the frame must still get
    cdef int32_t entered                # frames whose callers were entered there
    cdef int32_t finished               # ... and whose edges are in the family

    def __cinit__(
        self, TermStore terms not None, Semantics semantics not None, TermId start, SemId start_state
    ):
        self.terms = terms
        self.semantics = semantics
        self.family = ConfigSpace(terms, semantics, False, is_summary=True)
        self.next = 0
        self.places = {}
        self.activations = {}
        self.callers = [set()]
        self.exits = [set()]
        self.own = [set()]
        self.heirs = [[]]
        self.todo = []
        self.unknown = self.over_budget = False
        self.work = self.edges = 0
        self.entered = self.finished = 0
        self.add(start, BOTTOM, start_state)

    cdef bint search(self, int steps) except FAILED:
        """Visit some more members. Return whether all members are visited, so that the frames have edges."""
        cdef ClassMap* map
        cdef Member m
        cdef SiteList calls
        cdef int32_t k
        cdef TermId d
        cdef MapId classes
        cdef uint32_t flags
        cdef int64_t until = self.work + steps
        while self.work < until and not self.over_budget and self.next < self.members.size():
            self.work += 1
            m = self.members[self.next]
            self.next += 1
            flags = self.terms.terms[m.state].flags
            if self.terms.terms[m.state].nu.possible():
                self.leave(m, self.terms.terms[m.state].nu.guard())
            if flags & F_CALL:
                self.terms.find_sites(m.state)
                calls = self.terms.site_lists[self.terms.terms[m.state].calls]
                for k in range(calls.first, calls.first + calls.count):
                    self.call(m, self.terms.sites[k])
            classes = self.terms.classes_of(m.state)
            for k in range(self.terms.classes.maps[classes].count):
                map = &self.terms.classes.maps[classes]
                d = self.terms.step(m.state, map.byte_of[k])
                if d != EMPTY:
                    self.add(d, m.frame, m.sem)
            for k in range(self.terms.token_classes):
                d = self.terms.step(m.state, token_symbol(k))
                if d != EMPTY:
                    self.add(d, m.frame, m.sem)
        if self.next < self.members.size() and not self.over_budget:
            return False
        return self.join(until)

    cdef int add(self, TermId state, FrameId frame, SemId sem) except FAILED:
        """Add a member if it is new and its key state lets it continue."""
        cdef Member m
        cdef uint64_t key
        if self.terms.terms[state].flags & F_KEYS and self.semantics.lives(sem, state) != 1:
            return 0
        key = (<uint64_t>state << 32) | <uint64_t>self.place_of(frame, sem)
        if self.seen.get(key) == NO_VALUE:
            self.seen.put(key, 1)
            m.state = state
            m.frame = frame
            m.sem = sem
            self.members.push_back(m)
        return 0

    cdef FrameStateId place_of(self, FrameId frame, SemId sem) except ID_FAILED:
        """Return the number of a semantic state above a frame."""
        key = (frame, sem)
        found = self.places.get(key)
        if found is None:
            found = self.places[key] = len(self.places)
            self.place_frame.push_back(frame)
            self.place_sem.push_back(sem)
        return found

    cdef FrameId activation(self, TermId body, SemId sem, bint keys_forbid, bint action_forbids) except ID_FAILED:
        """Return the frame for a body that is entered in a semantic state. Its edges are added at the end."""
        key = (body, sem, keys_forbid, action_forbids)
        found = self.activations.get(key)
        if found is None:
            found = self.activations[key] = self.family.graph.add_summary_frame(keys_forbid, action_forbids)
            self.callers.append(set())
            self.exits.append(set())
            self.own.append(set())
            self.heirs.append([])
        return found

    cdef int call(self, Member m, CallSite site) except FAILED:
        """Enter the calls of a member, or pass a test of the keys."""
        cdef Call call = self.terms.call_table[site.call]
        cdef ReturnAction action = call.action
        cdef TermId body
        cdef FrameId frame
        cdef TermId continuation = site.continuation
        cdef SemId sem = m.sem
        cdef bint keys_forbid = self.family.frames[m.frame].keys_forbid
        cdef bint action_forbids = self.family.frames[m.frame].action_forbids
        if call.kind == CALL_TEST:
            sem = self.semantics.test(sem, call.test)
            if site.guard != ANY_BYTE:
                continuation = self.terms.mk_seq(self.terms.mk_guard(site.guard), continuation)
            if sem >= 0 and continuation != EMPTY:
                self.add(continuation, m.frame, sem)
            return 0
        if self.terms.terms[continuation].flags & F_KEYS and self.family.returns_alive(m, site) != 1:
            return 0
        if call.kind == CALL_RESOLVER:
            self.unknown = True
            return self.add(continuation, m.frame, m.sem)
        body = self.terms.rule_body[call.rule]
        if site.guard != ANY_BYTE:
            body = self.terms.mk_seq(self.terms.mk_guard(site.guard), body)
        if body == EMPTY:
            return 0
        if action == ACTION_KEYED:
            sem = self.semantics.enter(sem, call.spec, True)
        elif action.is_capture() and self.semantics.may_forbid(action.action()):
            action_forbids = True
            self.unknown = self.unknown or not self.semantics.is_key(action.action())
        elif (
            action == ACTION_NONE
            and self.semantics.keys_at(sem) != KEYS_NONE
            and not self.terms.terms[body].flags & F_KEYS
        ):
            # a body that tests no keys is entered once for all key states; the return restores them
            sem = self.semantics.with_keys(sem, KEYS_NONE)
            action = ACTION_BACK
        if not self.semantics.keys.needs.always_lives(continuation):
            keys_forbid = True
        frame = self.activation(body, sem, keys_forbid, action_forbids)
        is_tail = continuation == EPS and call.action == ACTION_NONE
        caller = (continuation, self.place_of(m.frame, m.sem), action.code(), is_tail)
        if caller not in self.callers[frame]:
            self.callers[frame].add(caller)
            for left in list(self.exits[frame]):  # mutant: late-callers
                self.go_back(caller, left)
        return self.add(body, frame, sem)

    cdef int leave(self, Member m, GuardId guard) except FAILED:
        """Return from a member that may end here, to all callers."""
        left = (guard, m.sem)
        if m.frame == BOTTOM or left in self.exits[m.frame]:
            return 0
        self.exits[m.frame].add(left)
        for caller in list(self.callers[m.frame]):
            self.go_back(caller, left)
        return 0

    cdef int go_back(self, tuple caller, tuple left) except FAILED:
        cdef TermId continuation = caller[0]
        cdef FrameStateId place = caller[1]
        cdef ReturnAction action = ReturnAction.of_code(caller[2])
        cdef GuardId guard = left[0]
        cdef SemId sem = left[1]
        cdef KeysId keys
        self.work += 1
        if guard != ANY_BYTE:
            continuation = self.terms.mk_seq(self.terms.mk_guard(guard), continuation)
            if continuation == EMPTY:
                return 0
        if action.restores_caller():
            sem = self.place_sem[place]
        elif action.is_capture() and self.semantics.is_key(action.action()):
            keys = after_key(self.semantics.keys, self.semantics.keys_at(sem))
            if keys == NOT_NOW:
                return 0
            sem = self.semantics.with_keys(sem, keys)
        return self.add(continuation, self.place_frame[place], sem)

    cdef bint join(self, int64_t until) except FAILED:
        """Give the frames their edges. A call at the end of a rule gets the edges of the caller's frame.

        Each edge is passed on once from each frame that it reaches. Return whether all edges are there.
        """
        cdef Edge edge
        cdef vector[Edge] edges
        cdef TermId continuation
        cdef FrameStateId place
        cdef ReturnAction action
        cdef uint32_t code
        cdef FrameId frame
        while self.entered < <int32_t>len(self.callers) and self.work < until:
            frame = self.entered
            self.entered += 1
            self.work += 1 + len(self.callers[frame])
            if not frame:
                self.pass_on(frame, (BOTTOM_CONTINUATION, NO_FRAME, ACTION_NONE.code(), 0))
            for continuation, place, code, is_tail in self.callers[frame]:
                action = ReturnAction.of_code(code)
                saved = self.place_sem[place] if action.restores_caller() else 0
                if is_tail:
                    self.heirs[self.place_frame[place]].append((frame, saved))
                else:
                    self.pass_on(frame, (continuation, self.place_frame[place], code, saved))
        if self.entered < <int32_t>len(self.callers):
            return False
        while self.todo and self.work < until:
            frame, passed = self.todo.pop()
            self.work += 1 + len(self.heirs[frame])
            for heir, saved in self.heirs[frame]:
                if saved and passed[2] == ACTION_NONE.code():
                    self.pass_on(heir, (passed[0], passed[1], ACTION_BACK.code(), saved))
                else:
                    self.pass_on(heir, passed)
        if self.todo:
            return False
        while self.finished < <int32_t>len(self.own) and self.work < until:
            frame = self.finished
            self.finished += 1
            self.work += 1 + len(self.own[frame])
            if not frame:
                continue
            edges.clear()
            for edge.continuation, edge.parent, code, edge.saved in self.own[frame]:
                edge.action = ReturnAction.of_code(code)
                edges.push_back(edge)
            self.family.graph.set_summary_edges(frame, edges)
        return self.finished == <int32_t>len(self.own)

    cdef int pass_on(self, FrameId frame, tuple edge) except FAILED:
        """Give a frame an edge; if the edge is new, frames that inherit from this one also get it."""
        if edge not in self.own[frame]:
            self.own[frame].add(edge)
            self.edges += 1
            self.todo.append((frame, edge))
        return 0

    cdef bint keep_to(self, int64_t budget) except FAILED:
        """Return whether the search is within the budget; if not, end it."""
        if <int64_t>self.members.size() > budget or self.work > WORK_OF_A_STATE * budget:
            self.over_budget = True
        if self.edges > budget or self.work > 2 * WORK_OF_A_STATE * budget:
            # frames keep the edges that they have
            self.over_budget = True
            self.todo.clear()
            self.entered = <int32_t>len(self.callers)
        return not self.over_budget


# ------------------------------------------------------------------------------------------------
# Masks made ahead of time, for a server that knows its grammars.
#
# A fill visits members, and follows the edges of their frames where tokens return. Here the same code visits
# all members that strings can lead to, over frames that stand for all callers (``reachable_states``). Each
# (mask, frame, keys) is visited once. Then a second pass visits all again, since new masks can change which
# masks are needed: runs get tables, and some states are not split any more. A pass that makes no mask proves
# that none is missing.
#
# Then the real configurations of short strings are filled. Many schemas have no other configurations. From then
# on a fill there is a copy, and steps are looked up.
# ------------------------------------------------------------------------------------------------


cdef enum:
    SOME = 64           # members or visits between two readings of the clock
    FEW = 8             # ... configurations
    NODES_OF_A_WALK = 64
    STEPS_OF_A_WALK = 8
    MOST_CONFIGURATIONS = 4_000     # whose masks are assembled: 100 bytes and 5 to 10 µs each
    MOST_COST = 100_000     # ... of members, visits
    MOST_FILLS = 3          # of one configuration, after which its mask is kept
    RUN_COST = 1_000        # ... a mask that is run on its configuration


@cython.final
cdef class Precomputation:
    """Masks that are computed ahead of time, in slices of work."""

    cdef MaskEngine masks
    cdef Reachable found
    cdef int64_t budget
    cdef bint searched                  # the states are known
    cdef bint over_budget               # ... but not all of them
    cdef size_t next                    # member whose mask comes next
    cdef size_t expanded                # visits of this pass that are done with
    cdef Worklist work                  # the visits of this pass
    cdef uint64_t walks_before          # ... this pass
    cdef int32_t epoch                  # of the masks, while they hold
    cdef int64_t walks
    cdef int64_t visits_done
    cdef int64_t passes
    cdef bint reads                     # some masks depend on what was written
    cdef readonly object stopped        # why, where not all was made

    cdef bint made                      # all masks are there that could be made
    cdef ConfigSpace family             # of the matchers, or None
    cdef vector[ConfigId] queue         # its configurations, in the order of a search breadth first
    cdef vector[uint8_t] seen           # by configuration
    cdef vector[uint32_t] words         # scratch: a mask
    cdef int32_t filled                 # of the queue
    cdef int64_t cost                   # of that
    cdef uint64_t first_walk            # the counters of the engine before: walks,
    cdef uint64_t nodes_before          # ... nodes,
    cdef uint64_t steps_before          # ... steps of configurations

    def __cinit__(
        self,
        MaskEngine masks not None,
        TermId start,
        int32_t start_state,
        int64_t budget,
        ConfigSpace family=None,
    ):
        self.masks = masks
        self.found = Reachable(masks.context.terms, masks.context.semantics, start, start_state)
        self.budget = budget
        self.work = Worklist()
        self.searched = self.over_budget = self.reads = self.made = False
        self.next = self.expanded = 0
        self.walks_before = self.first_walk = masks.walker.walks
        self.nodes_before = masks.walker.visited_nodes
        self.steps_before = masks.context.space.steps_computed()
        self.epoch = masks.epoch
        self.walks = self.visits_done = self.passes = 0
        self.stopped = None
        self.filled = 0
        self.cost = 0
        self.family = None
        if family is not None and family.terms is masks.context.terms:
            self.family = family
            self.words.resize(masks.width)
            self.enter(family.closed(start, BOTTOM, start_state))

    def stop(self, reason):
        """Stop computing masks."""
        self.stopped = reason

    def counts(self):
        """Return counts of the work done: states, walks, visits, passes, configurations."""
        return {
            "states": self.found.members.size(),
            "walks": self.walks,
            "visits": self.visits_done,
            "passes": self.passes,
            "configurations": self.filled,
        }

    def advance(self, double seconds):
        """Work for some seconds; return whether the work is finished. The caller holds the store's lock."""
        cdef double until = monotonic() + seconds
        cdef uint64_t walks
        if self.stopped is not None:
            return True
        if self.epoch != self.masks.epoch:
            # another thread has filled the cache
            self.stopped = "cache_bytes"
            return True
        while not self.searched:
            self.searched = self.found.search(SOME)
            if not self.found.keep_to(self.budget):
                # the masks of the states found so far are still made
                self.over_budget = True
            if monotonic() > until:
                return False
        if self.made:
            return self.fill(until)
        walks = self.masks.walker.walks
        fills = self.masks.assembler.use(self.work)
        try:
            self.made = self.make(until)
            return self.made and (self.stopped is not None or self.family is None)
        finally:
            self.masks.assembler.use(fills)
            self.walks += <int64_t>(self.masks.walker.walks - walks)

    cdef int64_t spent(self) noexcept:
        """Return the cost of walks, counted in small walks. One walk over known stacks can cost hundreds."""
        cdef MaskEngine masks = self.masks
        cdef uint64_t nodes = masks.walker.visited_nodes - self.nodes_before
        return <int64_t>(
            masks.walker.walks - self.first_walk
            + nodes // NODES_OF_A_WALK
            + (masks.context.space.steps_computed() - self.steps_before) // STEPS_OF_A_WALK
        )

    cdef bint fits(self) except FAILED:
        """Return whether more masks may be computed; if the cache is full, the next mask would drop all."""
        cdef MaskEngine masks = self.masks
        return 4 * (masks.nbytes() + masks.context.space.nbytes()) < 3 * masks.context.max_bytes

    cdef bint make(self, double until) except FAILED:
        cdef MaskEngine masks = self.masks
        cdef size_t k = 0
        cdef uint64_t walks = masks.walker.walks
        cdef Member m
        masks.assembler.begin(True)
        while True:
            k += 1
            if not k % SOME:
                masks.assembler.found.sure.clear()
                if monotonic() > until:
                    return False
            if masks.walker.walks != walks:
                if self.spent() > self.budget:
                    self.stopped = "budget"
                    return True
                if not self.fits():
                    self.stopped = "cache_bytes"
                    return True
            if self.expanded < self.work.visits.size():
                self.visits_done += 1
                masks.assembler.expand(self.found.family, self.work.visits[self.expanded])
                self.expanded += 1
            elif self.work.calls.size():
                masks.assembler.open_call(self.found.family)
            elif self.next < self.found.members.size():
                # if the budget ends early, the states nearest to the start have all their masks
                m = self.found.members[self.next]
                self.next += 1
                if masks.context.terms.terms[m.state].flags & F_LOCAL:
                    masks.assembler.visit_member(self.found.family, m, masks.context.semantics.keys_at(m.sem))
            else:
                self.passes += 1
                if masks.walker.walks == self.walks_before:
                    if self.over_budget:
                        self.stopped = "budget"
                    elif self.reads or self.found.unknown:
                        self.stopped = "text"
                    return True
                self.walks_before = masks.walker.walks
                self.next = self.expanded = 0
                self.work.clear()
            if masks.assembler.depends_on_text():
                self.reads = True
                masks.assembler.begin(False)

    cdef bint fill(self, double until) except FAILED:
        """Fill the masks after short strings, the shortest first. Return whether all masks are filled."""
        cdef ConfigSpace family = self.family
        cdef ClassMap* map
        cdef ConfigId c
        cdef MapId classes
        cdef int32_t k
        cdef uint64_t runs
        cdef int32_t most = <int32_t>min(<int64_t>MOST_CONFIGURATIONS, self.budget)
        while self.filled < <int32_t>self.queue.size():
            if self.filled >= most or self.cost > MOST_COST or not self.fits():
                return True
            if not self.filled % FEW and monotonic() > until:
                return False
            c = self.queue[self.filled]
            self.filled += 1
            runs = self.masks.simulations
            # a mask is kept once it has cost enough
            k = 0
            while k < MOST_FILLS and not is_whole(self.masks.reference(family, c)):
                self.masks.fill(family, c, self.words.data())
                if not k:
                    self.cost += self.masks.assembler.work.visits.size()
                    self.cost += self.masks.assembler.found.sure.size()
                k += 1
            self.cost += family.configs[c].count
            self.cost += RUN_COST * <int64_t>(self.masks.simulations - runs)
            for k in range(self.masks.context.terms.token_classes):
                self.enter(family.step(c, token_symbol(k)))
            if family.configs[c].capturing:
                for k in range(256):
                    if self.is_free(c, <uint8_t>k):
                        self.enter(family.step(c, k))
                continue
            if family.configs[c].row == UNKNOWN:
                family.make_row(c)
            classes = family.configs[c].map
            for k in range(family.terms.classes.maps[classes].count):
                map = &family.terms.classes.maps[classes]
                self.enter(family.step(c, map.byte_of[k]))
        return True

    cdef bint is_free(self, ConfigId config, uint8_t byte) except FAILED:
        """Return whether a byte continues outside captures, as there are too many captured strings."""
        cdef ConfigSpace family = self.family
        cdef int32_t i, first = family.configs[config].first
        for i in range(first, first + family.configs[config].count):
            if not self.masks.context.semantics.in_capture(family.members[i].sem):
                if self.masks.context.terms.step(family.members[i].state, byte) != EMPTY:
                    return True
        return False

    cdef int enter(self, ConfigId config) except FAILED:
        """Queue a configuration if it is new."""
        if not leads_on(config):
            return 0
        if <size_t>config >= self.seen.size():
            self.seen.resize(2 * <size_t>config + 1, 0)
        if not self.seen[config]:
            self.seen[config] = 1
            self.queue.push_back(config)
        return 0
