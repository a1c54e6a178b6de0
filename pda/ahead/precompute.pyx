# distutils: language = c++
"""Masks made ahead of time, for a server that knows its grammars.

A fill visits members, and follows the edges of their frames where tokens return. Here the same code visits
all members that strings can lead to, over frames that stand for all callers (``reachable_states``). Each
(mask, frame, keys) is visited once. Then a second pass visits all again, since new masks can change which
masks are needed: runs get tables, and some states are not split any more. A pass that makes no mask proves
that none is missing.

Then the real configurations of short strings are filled. Many schemas have no other configurations. From then
on a fill there is a copy, and steps are looked up.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from stackmask.pda.ids cimport MapId, TermId
from stackmask.pda.stack.configuration_table cimport UNKNOWN, Member, leads_on
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.stack.frames cimport BOTTOM
from stackmask.pda.terms.term_table cimport EMPTY, F_LOCAL, ClassMap, token_symbol
from stackmask.pda.masks.shared.mask_ref cimport is_whole

from time import monotonic

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
    """Masks made ahead of time, a slice of the work at a time."""

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
        """Make no more."""
        self.stopped = reason

    def counts(self):
        """Return what was done: states, walks, visits, passes, configurations."""
        return {
            "states": self.found.members.size(),
            "walks": self.walks,
            "visits": self.visits_done,
            "passes": self.passes,
            "configurations": self.filled,
        }

    def advance(self, double seconds):
        """Work for some seconds; return whether there is nothing left to do. Hold the lock of the store."""
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
        """Return the cost of walks, counted in small walks: one walk over known stacks may cost hundreds."""
        cdef MaskEngine masks = self.masks
        cdef uint64_t nodes = masks.walker.visited_nodes - self.nodes_before
        return <int64_t>(
            masks.walker.walks - self.first_walk
            + nodes // NODES_OF_A_WALK
            + (masks.context.space.steps_computed() - self.steps_before) // STEPS_OF_A_WALK
        )

    cdef bint fits(self) except -1:
        """Tell whether more masks may be made: a full cache would drop them with the next one."""
        cdef MaskEngine masks = self.masks
        return 4 * (masks.nbytes() + masks.context.space.nbytes()) < 3 * masks.context.max_bytes

    cdef bint make(self, double until) except -1:
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

    cdef bint fill(self, double until) except -1:
        """Fill the configurations of short strings, the shortest first. Return whether all are filled."""
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

    cdef bint is_free(self, ConfigId config, uint8_t byte) except -1:
        """Tell whether a byte continues outside of captures: there are too many captured strings."""
        cdef ConfigSpace family = self.family
        cdef int32_t i, first = family.configs[config].first
        for i in range(first, first + family.configs[config].count):
            if not self.masks.context.semantics.in_capture(family.members[i].sem):
                if self.masks.context.terms.step(family.members[i].state, byte) != EMPTY:
                    return True
        return False

    cdef int enter(self, ConfigId config) except -1:
        """Queue a configuration, if it is new."""
        if not leads_on(config):
            return 0
        if <size_t>config >= self.seen.size():
            self.seen.resize(2 * <size_t>config + 1, 0)
        if not self.seen[config]:
            self.seen[config] = 1
            self.queue.push_back(config)
        return 0
