# distutils: language = c++
"""The shortest text that ends a configuration: A* over the configurations of a family.

The search steps real configurations, so what it finds is a text of the grammar, with follow restrictions,
actions, resolvers and keys as they are. Steps are proposed by the estimates of local states, and taken only
when it is their turn: where the estimates are exact, one step is taken for each byte of the result. Where
they are not, the search may be large. After some steps it is repeated with places left out that look like
others: equal local states and estimates, whatever was written. Then it goes on in depth, by the step that
looks shortest, which finds a longer text soon; then in breadth, with weight on the estimates; then it gives
up.

Where a value of a semantic state says what its text needs (``grammar.ir.Owed``), that text is tried as a
whole, of each class of bytes in a name only one is tried at first, and the search ends some steps after it
has met an end.
"""

cimport cython
from libc.stdint cimport int64_t, uint32_t

from stackmask.pda.completion.estimates cimport with_owed
from stackmask.pda.completion.term_costs cimport NO_END, joined
from stackmask.pda.context.callables cimport Owed
from stackmask.pda.context.semantic_states cimport owed_at
from stackmask.pda.ids cimport KeysId, MapId
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_free, map_get, map_init, map_put, map_reset, mix
from stackmask.pda.stack.configuration_table cimport DEAD
from stackmask.pda.terms.term_table cimport EMPTY, F_TOKEN, token_symbol

cdef enum:
    ENDS = -1               # in place of a symbol: the text may end, or goes on as is known
    SAMPLES = 10            # bytes of a class that are tried inside of a capture, where each may count
    STEP_WORK = 12          # units of a step taken, beside the step itself
    VISIT_WORK = 40         # ... of a configuration: a look at every byte, before and after
    RATE_WORK = 12          # ... of a class of bytes that is rated
    SAMPLE_WORK = 16        # ... and of the search for other bytes of the class
    PROPOSAL_WORK = 8       # ... of a step that is queued
    # how what is left counts beside what was written
    EXACT = 1
    IN_DEPTH = 0            # the place that was reached last goes on first
    PROGRESS = 8            # ... or by a step after which less is left, from so many places before
    WEIGHTED = 3
    # steps that are taken at most
    MOST_ALIKE = 8          # places with equal local states and estimates, once they are left out
    STAGES = 7
    FEW_STEPS = 2_000
    MOST_OWED_STEPS = 5_000     # of a stage where values say what their texts need
    MOST_FOLLOWED = 2       # places with equal local states where the same text is tried
    BYTES_OF_A_STEP = 8     # of such a text
    HINTED_STEPS = 300      # once a text was found that a value proposed
    NOVEL_STEPS = 3_000
    EXACT_STEPS = 200       # and for each byte that seems to be left
    STEPS_FOR_A_BYTE = 4
    MOST_EXACT_STEPS = 4_000
    FEW_DEPTH_STEPS = 3_000
    DEPTH_STEPS = 20_000
    WEIGHTED_STEPS = 50_000
    MORE_SYMBOLS = 16       # in haste, a known end is taken that is so much longer than twice its estimate


cdef struct Stage:
    # one search of those that follow each other
    int32_t most            # steps; 0: as many as an exact search may take
    int32_t weight
    int32_t samples         # bytes of a class that are tried inside of a capture
    bint leaves_out         # places that are like enough others
    bint only_owed          # only where a value says what its text needs

cdef Stage[7] STAGE = [
    Stage(0, EXACT, 1, False, False),
    Stage(FEW_STEPS, EXACT, 1, True, True),
    Stage(0, EXACT, SAMPLES, False, True),
    Stage(NOVEL_STEPS, EXACT, SAMPLES, True, False),
    Stage(FEW_DEPTH_STEPS, IN_DEPTH, SAMPLES, True, False),
    Stage(DEPTH_STEPS, IN_DEPTH, SAMPLES, False, False),
    Stage(WEIGHTED_STEPS, WEIGHTED, SAMPLES, False, False),
]


@cython.final
cdef class TextSearch:
    """Searches in one family. Hold the lock of the store to use it."""

    def __cinit__(self, Estimates estimates not None):
        self.family = estimates.family
        self.terms = estimates.terms
        self.estimates = estimates
        map_init(&self.known)
        map_init(&self.seen)
        map_init(&self.alike)

    def __dealloc__(self):
        map_free(&self.known)
        map_free(&self.seen)
        map_free(&self.alike)

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes are held."""
        cdef size_t held = sizeof(Reached) * self.reached.capacity() + 12 * (self.known.mask + self.seen.mask)
        return held + sizeof(Proposal) * self.proposals.capacity()

    cdef int note_known(self, ConfigId config, int32_t length) except -1 nogil:
        """Remember that a configuration has an end of so many symbols: searches may stop there."""
        map_put(&self.known, config, length)
        return 0

    cdef ConfigId find(
        self, ConfigId config, vector[SymbolId]& out, int32_t* steps, bint hastily
    ) except -3 nogil:
        """Append the symbols from a configuration to one that may end, or whose end is known.

        ``steps``: those that may be taken; what is taken is subtracted. ``hastily``: what is left counts more
        from the first step on, so that a text is found sooner, which may be longer.
        Returns: the configuration where they lead; DEAD if none was found within the bounds.
        """
        cdef int32_t index, stage, allowed, granted, left = self.estimates.of_config(config)
        cdef size_t first = out.size()
        cdef int32_t exact
        cdef Stage now
        self.hastily = hastily
        left = min(left, <int32_t>MOST_EXACT_STEPS)
        exact = min(EXACT_STEPS + STEPS_FOR_A_BYTE * left, <int32_t>MOST_EXACT_STEPS)
        for stage in range(STAGES):
            now = STAGE[stage]
            if now.only_owed and not self.owes:
                continue
            self.weight = WEIGHTED if hastily else now.weight
            self.samples = now.samples
            self.leaves_out = now.leaves_out
            allowed = now.most or exact
            if self.owes:
                allowed = min(allowed, <int32_t>MOST_OWED_STEPS)
            granted = allowed = min(allowed, steps[0])
            index = self.run(config, &allowed)
            steps[0] -= granted - allowed
            if index >= 0:
                out.resize(first + self.reached[index].length)
                config = self.reached[index].config
                while self.reached[index].before >= 0:
                    out[first + self.reached[index].length - 1] = self.reached[index].symbol
                    index = self.reached[index].before
                return config
            if (self.queue.empty() and not self.leaves_out and not self.owes) or steps[0] <= 0:
                # all there is was visited
                break
        return DEAD

    cdef int32_t run(self, ConfigId config, int32_t* steps) except -2 nogil:
        """Search, and return the index of the place that may end; -1 if none was found in so many steps."""
        cdef int32_t index, more = HINTED_STEPS
        cdef ConfigId next
        cdef Proposal now
        cdef priority_queue[pair[uint64_t, int32_t]] nothing
        self.steps = steps
        self.reached.clear()
        self.proposals.clear()
        map_reset(&self.seen)
        map_reset(&self.alike)
        self.owes = self.hinted = False
        self.end_index = -1
        self.queue.swap(nothing)  # to take out one by one would take longer than to put in
        map_put(&self.seen, config, 1)
        self.visit(config, -1, 0, 0)
        while not self.queue.empty() and steps[0] > 0 and more > 0:
            if self.hinted and self.end_index >= 0:
                more -= 1
            now = self.proposals[self.queue.top().second]
            self.queue.pop()
            if <int32_t>now.symbol == ENDS:
                return now.index
            index = now.index
            self.terms.meter.spend(STEP_WORK)
            next = self.family.step(self.reached[index].config, now.symbol)
            steps[0] -= 1
            if next <= DEAD or map_get(&self.seen, next) != NO_VALUE:
                continue
            map_put(&self.seen, next, 1)
            if self.leaves_out and self.is_alike(next):
                continue
            self.visit(next, index, now.symbol, self.reached[index].length + 1)
        return self.end_index if self.hinted else -1

    cdef bint is_alike(self, ConfigId config) except -1 nogil:
        """Tell whether enough places with the same local states and the same estimate were visited."""
        return self.count_alike(config, mix(71, <uint32_t>self.estimates.of_config(config))) > MOST_ALIKE

    cdef int32_t count_alike(self, ConfigId config, uint64_t h) except -1 nogil:
        """Count one more place with the same local states and hash, and return how many there were."""
        cdef int32_t i, first = self.family.configs[config].first, count
        for i in range(first, first + self.family.configs[config].count):
            h = mix(h, <uint32_t>self.family.members[i].state)
        count = map_get(&self.alike, h)
        count = 1 if count == NO_VALUE else count + 1
        map_put(&self.alike, h, count)
        return count

    cdef int visit(self, ConfigId config, int32_t before, SymbolId symbol, int32_t length) except -1 nogil:
        """Enter a configuration, and propose the steps from it."""
        cdef Reached at
        cdef int32_t known, index, left
        at.config = config
        at.before = before
        at.symbol = symbol
        at.length = length
        self.reached.push_back(at)
        self.idle = joined(self.estimates.of_config(config), 1) if self.weight == IN_DEPTH else -1
        if self.family.configs[config].accepting:
            return self.propose(<int32_t>self.reached.size() - 1, <SymbolId>ENDS, 0)
        known = map_get(&self.known, config)
        if known != NO_VALUE:
            if self.hastily:
                left = self.estimates.of_config(config)
                if self.far_off or known <= <int64_t>MORE_SYMBOLS + 2 * <int64_t>left:
                    known = 0  # it is taken at once
            self.propose(<int32_t>self.reached.size() - 1, <SymbolId>ENDS, known)
        index = <int32_t>self.reached.size() - 1
        self.propose_steps(index)
        return self.propose_owed(index)

    cdef int propose(self, int32_t index, SymbolId symbol, int32_t estimate) except -1 nogil:
        """Queue a step.

        The shortest text comes first; of equal ones one that is known, then what is nearest to its end.
        """
        cdef Proposal step
        cdef pair[uint64_t, int32_t] entry
        cdef uint64_t whole = <uint64_t>self.reached[index].length
        whole += <uint64_t>self.weight * <uint64_t>estimate
        if estimate >= NO_END:
            return 0
        self.terms.meter.spend(PROPOSAL_WORK)
        if <int32_t>symbol == ENDS and (self.end_index < 0 or whole < self.end_length):
            self.end_index = index
            self.end_length = whole
        step.index = index
        step.symbol = symbol
        entry.first = ~((whole << 29) | (0 if <int32_t>symbol == ENDS else <uint64_t>estimate))
        if self.weight == IN_DEPTH:
            entry.first = <uint64_t>(index + (PROGRESS if estimate < self.idle else 0)) << 32
            # of steps after which as much is left, as after a blank, what is no blank comes first
            entry.first |= <uint32_t>symbol if estimate == self.idle else <uint64_t>(NO_END - estimate)
        entry.second = <int32_t>self.proposals.size()
        self.proposals.push_back(step)
        self.queue.push(entry)
        return 0

    cdef int propose_steps(self, int32_t index) except -1 nogil:
        """Propose the steps from a configuration: of each class of bytes one, inside of captures a few."""
        cdef ConfigId config = self.reached[index].config
        cdef int32_t i, first = self.family.configs[config].first
        cdef Member m
        self.terms.meter.spend(VISIT_WORK)
        for i in range(256):
            self.best[i] = NO_END
        for i in range(first, first + self.family.configs[config].count):
            m = self.family.members[i]
            self.rate_bytes(m, self.family.configs[config].capturing)
            if self.terms.terms[m.state].flags & F_TOKEN:
                self.propose_tokens(index, m)
        for i in range(255, -1, -1):
            if self.best[i] < NO_END:
                self.propose(index, <SymbolId>i, joined(self.best[i], 1))
        return 0

    cdef int propose_owed(self, int32_t index) except -1 nogil:
        """Propose what values say that comes next, as far as it can be read: all of it at once."""
        cdef ConfigId config = self.reached[index].config
        cdef int32_t i, first = self.family.configs[config].first, last = -1
        cdef Owed owed
        for i in range(first, first + self.family.configs[config].count):
            owed_at(self.estimates.semantics, self.family.members[i].sem, &owed)
            if owed.count and owed.first != last and self.is_new(config, owed):
                last = owed.first
                self.follow(index, owed)
        return 0

    cdef bint is_new(self, ConfigId config, Owed owed) except -1 nogil:
        """Tell whether the text was not tried yet at some places with the same local states."""
        return self.count_alike(config, mix(73, <uint32_t>owed.first)) <= MOST_FOLLOWED

    cdef int follow(self, int32_t index, Owed owed) except -1 nogil:
        """Read a text from a configuration on, and propose its last step."""
        cdef size_t before = self.reached.size()
        cdef Reached at = self.reached[index]
        cdef ConfigId config = at.config
        cdef int32_t k, place = index
        cdef SymbolId symbol = 0
        for k in range(owed.count):
            if k:
                at.before = place
                at.config = config
                at.symbol = symbol
                at.length += 1
                place = <int32_t>self.reached.size()
                self.reached.push_back(at)
            self.terms.meter.spend(STEP_WORK)
            # by its index: the texts may move while values are asked
            symbol = self.estimates.semantics.callables.owed_text[owed.first + k]
            config = self.family.step(config, symbol)
            if config <= DEAD:
                self.reached.resize(before)
                break
        self.steps[0] -= 1 + (k + 1) // BYTES_OF_A_STEP
        if config <= DEAD:
            return 0
        self.hinted = True
        return self.propose(place, symbol, joined(self.estimates.of_config(config), 1))

    cdef int rate_bytes(self, Member m, bint each) except -1 nogil:
        """Estimate what is left after the bytes that a member may read. ``each``: several of a class."""
        cdef KeysId keys = self.estimates.semantics.keys_at(m.sem)
        cdef int32_t under = self.estimates.of_frame(m.frame, keys), k, byte, left, count, most = SAMPLES
        cdef Owed owed
        cdef TermId d
        cdef MapId map
        if under >= NO_END:
            return 0
        owed_at(self.estimates.semantics, m.sem, &owed)
        if owed.bytes:
            self.owes = True
            most = self.samples
        map = self.terms.classes_of(m.state)
        count = self.terms.classes.maps[map].count
        self.terms.meter.spend(count * (RATE_WORK + SAMPLE_WORK if each else RATE_WORK))
        for k in range(self.terms.classes.maps[map].count):
            byte = self.terms.classes.maps[map].byte_of[k]
            d = self.terms.step(m.state, byte)
            if d == EMPTY:
                continue
            left = joined(self.estimates.of_state(d, keys), under)
            left = with_owed(left, owed)
            self.best[byte] = min(self.best[byte], left)
            if each and left < NO_END:
                count = 1
                while count < most and byte < 255:
                    byte += 1
                    if self.terms.classes.maps[map].of[byte] == k:
                        self.best[byte] = min(self.best[byte], left)
                        count += 1
        return 0

    cdef int propose_tokens(self, int32_t index, Member m) except -1 nogil:
        """Propose the special tokens that a member may read."""
        cdef KeysId keys = self.estimates.semantics.keys_at(m.sem)
        cdef int32_t under = self.estimates.of_frame(m.frame, keys), k
        cdef TermId d
        for k in range(self.terms.token_classes):
            d = self.terms.step(m.state, token_symbol(k))
            if d != EMPTY:
                self.propose(
                    index, token_symbol(k), joined(joined(self.estimates.of_state(d, keys), under), 1)
                )
        return 0
