# distutils: language = c++
"""Masks under a budget: a token stays allowed if the text can end within the tokens that are left after it.

All tokens that lead to one configuration have one answer, so a configuration asks once for each successor.
What was found is kept: the successors, and the rows that were cut. Far from the end a bound decides.
"""

cimport cython
from libc.string cimport memcpy

from stackmask.pda.completion.completions cimport BY_HASTE, BY_TEXT, Completion, Effort
from stackmask.pda.ids cimport NO_TOKEN
from stackmask.pda.memory.checked_vectors cimport refill
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_free, map_get, map_init, map_put, map_reset
from stackmask.pda.stack.configuration_table cimport DEAD

cdef enum:
    MORE_VISITS = 20_000        # nodes visited to list successors, beside those of the trie
    MOST_IN_CAPTURES = 100      # of these in captures, where each is a new configuration
    CAPTURE_ROOM = 48           # tokens beside twice the need: away from the end, in a capture
    MOST_STEPS = 500            # of all searches of one mask
    SHAPE_STEPS = 10_000        # of those for the shapes that follow one
    MOST_SHAPE_STEPS = 1_000    # between shapes, while successors are listed
    MOST_SHAPES = 4_096
    MOST_ROW_BYTES = 1 << 25    # of rows that are kept
    MOST_TOKENS = 1 << 22       # in the groups that are kept


cdef uint64_t OF_SHAPE = <uint64_t>1 << 40  # in keys of `fork_of`


@cython.final
cdef class BudgetMasks:
    """The cut masks of one family. Hold the lock of the store to use it."""

    def __cinit__(self, Completions completions not None, int32_t width):
        self.completions = completions
        self.width = width
        self.shapes = CaptureShapes(completions.family, completions.estimates.semantics)
        map_init(&self.fork_of)
        map_init(&self.row_of)
        map_init(&self.group_of)

    def __dealloc__(self):
        map_free(&self.fork_of)
        map_free(&self.row_of)
        map_free(&self.group_of)

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes are held."""
        cdef size_t held = 4 * (self.rows.size() + self.tokens.size()) + self.shapes.nbytes()
        return held + sizeof(Successors) * self.groups.size()

    cdef int forget(self) except -1 nogil:
        """Forget the successors of all configurations."""
        map_reset(&self.fork_of)
        self.shapes.forget()
        self.forks.clear()
        self.groups.clear()
        self.tokens.clear()
        return 0

    cdef int32_t fork_at(self, ConfigId config) except -1 nogil:
        """Return the index of what may follow a configuration; listed at the first time."""
        cdef int32_t at = map_get(&self.fork_of, config)
        cdef int64_t effort = self.completions.trie.nodes + MORE_VISITS
        cdef bint complete
        if at != NO_VALUE:
            return at
        if self.tokens.size() > MOST_TOKENS:
            self.forget()
        complete = self.completions.collect(config, &effort, 1 + effort // MOST_IN_CAPTURES)
        return self.keep_fork(config, complete)

    cdef int32_t fork_of_shape(self, ConfigId config) except -1 nogil:
        """Return the same for the shape of a configuration in a capture."""
        cdef int64_t effort = self.completions.trie.nodes + MORE_VISITS
        cdef int32_t shape, at
        cdef bint complete
        if self.tokens.size() > MOST_TOKENS or self.shapes.configs.size() > MOST_SHAPES:
            self.forget()
        shape = self.shapes.shape_of(config)
        at = map_get(&self.fork_of, OF_SHAPE | <uint64_t>shape)
        if at != NO_VALUE:
            return at
        complete = self.shapes.collect(
            self.completions.trie, shape, self.completions.successors, &effort, 1 + effort // MOST_SHAPE_STEPS
        )
        if not self.completions.class_numbers.empty():
            self.completions.collect_special(self.shapes.configs[shape])
        self.completions.end_tokens()
        return self.keep_fork(OF_SHAPE | <uint64_t>shape, complete)

    cdef int32_t keep_fork(self, uint64_t key, bint complete) except -1 nogil:
        """Keep the successors that were listed, those that lead to one configuration together."""
        cdef int32_t at, g = 0
        cdef size_t i
        cdef Fork fork
        cdef Successors group
        fork.complete = complete
        fork.most = 0
        fork.measured = False
        fork.first = <int32_t>self.groups.size()
        self.completions.terms.meter.spend(1 + self.completions.successors.size() // 4)
        map_reset(&self.group_of)
        self.chosen.clear()
        group.next = DEAD
        for i in range(self.completions.successors.size()):
            if self.completions.successors[i].next != group.next:
                group.next = self.completions.successors[i].next
                g = map_get(&self.group_of, group.next)
                if g == NO_VALUE:
                    g = <int32_t>self.groups.size()
                    map_put(&self.group_of, group.next, g)
                    group.first = group.count = 0
                    self.groups.push_back(group)
            self.groups[g].count += 1
            self.chosen.push_back(g)
        fork.count = <int32_t>self.groups.size() - fork.first
        at = <int32_t>self.tokens.size()
        for g in range(fork.first, fork.first + fork.count):
            self.groups[g].first = at
            at += self.groups[g].count
            self.groups[g].count = 0
        refill(self.placed, self.completions.successors.size(), NO_TOKEN)
        for i in range(self.completions.successors.size()):
            g = self.chosen[i]
            at = self.groups[g].first + self.groups[g].count - <int32_t>self.tokens.size()
            self.placed[at] = self.completions.successors[i].token
            self.groups[g].count += 1
        self.tokens.append(self.placed.begin(), self.placed.end())
        at = <int32_t>self.forks.size()
        map_put(&self.fork_of, key, at)
        self.forks.push_back(fork)
        return at

    cdef bint goes_by_shape(self, ConfigId config) noexcept nogil:
        """Tell whether tokens lead to as many configurations as there are captured texts."""
        return self.completions.family.configs[config].capturing and not self.completions.resolves

    # -- rows --------------------------------------------------------------------------------------

    cdef bint spares_all(self, ConfigId config, int32_t room) except -1 nogil:
        """Tell whether every token leaves enough, if ``room`` tokens may follow it. Cost: a look-up.

        Inside of a capture each token leads elsewhere, and away from the end the shape decides.
        """
        cdef int32_t at
        if self.goes_by_shape(config):
            at = map_get(&self.fork_of, OF_SHAPE | <uint64_t>self.shapes.shape_of(config))
            if at != NO_VALUE and self.forks[at].complete and self.forks[at].measured:
                if CAPTURE_ROOM + 2 * self.forks[at].most <= room:
                    return True
        at = map_get(&self.fork_of, config)
        if at == NO_VALUE or not self.forks[at].complete or not self.forks[at].measured:
            return False
        return self.forks[at].most <= room

    cdef bint restore(self, ConfigId config, int32_t room, uint32_t* words) noexcept nogil:
        """Write a row that was kept. Return False if there is none."""
        cdef int32_t at = map_get(&self.row_of, (<uint64_t>config << 32) | <uint64_t>room)
        if at == NO_VALUE:
            return False
        memcpy(words, &self.rows[<size_t>at * self.width], 4 * <size_t>self.width)
        return True

    cdef int keep_row(self, ConfigId config, int32_t room, const uint32_t* words) except -1 nogil:
        """Keep a row that was cut."""
        if 4 * self.rows.size() > MOST_ROW_BYTES:
            map_reset(&self.row_of)
            self.rows.clear()
        map_put(
            &self.row_of, (<uint64_t>config << 32) | <uint64_t>room, <int32_t>(self.rows.size() // self.width)
        )
        self.rows.append(words, words + self.width)
        return 0

    cdef int cut(self, ConfigId config, int32_t room, uint32_t* words) except -1 nogil:
        """Clear tokens after which the text cannot end within ``room`` tokens, the stop token not counted.

        ``words``: the mask without a budget. Cost: an end for each successor that has none yet, once.
        """
        cdef Fork fork
        cdef int32_t at, g, t, needed, most = 0, steps = MOST_STEPS
        cdef TokenId token
        # in captures too many places are new for each to get a search for a shortest text
        cdef Effort effort = BY_HASTE if self.completions.family.configs[config].capturing else BY_TEXT
        at = self.fork_at(config)
        fork = self.forks[at]
        for g in range(fork.first, fork.first + fork.count):
            needed = self.completions.known(self.groups[g].next).fewest
            if needed > room:
                needed = self.completions.few(self.groups[g].next, &steps, effort)
            most = max(most, needed)
            if needed > room and fork.complete:  # mutant: enough-room
                self.completions.terms.meter.spend(1 + self.groups[g].count // 4)
                for t in range(self.groups[g].first, self.groups[g].first + self.groups[g].count):
                    token = self.tokens[t]
                    words[token >> 5] &= ~(<uint32_t>1 << (token & 31))
        self.forks[at].most = most
        self.forks[at].measured = True
        if not fork.complete:
            refill(self.scratch, self.width, 0)
            self.completions.terms.meter.spend(self.width // 8)
            # a successor needs at least one token less: nearer to the end, no shape has enough
            needed = self.completions.known(config).fewest
            if self.goes_by_shape(config) and CAPTURE_ROOM + 2 * (needed - 1) <= room:
                self.list_by_shape(config, room)
            self.keep_listed(config, room, self.forks[self.fork_at(config)], words)
        return 0

    cdef int list_by_shape(self, ConfigId config, int32_t room) except -1 nogil:
        """List in ``scratch`` the tokens after whose shape far more tokens are left than it needs."""
        cdef int32_t at = self.fork_of_shape(config), g, t, needed, most = 0, steps = 0
        cdef Fork fork = self.forks[at]
        cdef TokenId token
        if not fork.measured:
            steps = SHAPE_STEPS
        for g in range(fork.first, fork.first + fork.count):
            needed = self.completions.few(self.groups[g].next, &steps, BY_HASTE)
            most = max(most, needed)
            if CAPTURE_ROOM + 2 * needed > room:
                continue
            self.completions.terms.meter.spend(1 + self.groups[g].count // 4)
            for t in range(self.groups[g].first, self.groups[g].first + self.groups[g].count):
                token = self.tokens[t]
                self.scratch[token >> 5] |= <uint32_t>1 << (token & 31)
        self.forks[at].most = most
        self.forks[at].measured = True
        return 0

    cdef int keep_listed(self, ConfigId config, int32_t room, Fork fork, uint32_t* words) except -1 nogil:
        """Keep of the allowed tokens those in ``scratch``, and those that are known to end in time."""
        cdef int32_t g, t
        cdef TokenId token
        cdef Completion witness = self.completions.known(config)
        for g in range(fork.first, fork.first + fork.count):
            if self.completions.known(self.groups[g].next).fewest > room:
                continue
            for t in range(self.groups[g].first, self.groups[g].first + self.groups[g].count):
                token = self.tokens[t]
                self.scratch[token >> 5] |= <uint32_t>1 << (token & 31)
        if witness.token != NO_TOKEN and witness.fewest <= room + 1:
            self.scratch[witness.token >> 5] |= <uint32_t>1 << (witness.token & 31)
        for t in range(self.width):
            words[t] &= self.scratch[t]
        return 0
