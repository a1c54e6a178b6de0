# distutils: language = c++
"""Masks under a budget: a token stays allowed if the text can end within the tokens that are left after it.

All tokens that lead to one configuration have one answer, so a configuration asks once for each successor.
What was found is kept: the successors, and the rows that were cut. Away from the end only the places are
listed to which tokens lead; tokens are looked at where some of them are cut.
"""

cimport cython
from libc.string cimport memcpy

from stackmask.pda.completion.completions cimport BY_HASTE, NOT_FOUND, Completion, Successor, Visit
from stackmask.pda.ids cimport NO_TOKEN
from stackmask.pda.memory.checked_vectors cimport refill
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_free, map_get, map_init, map_put, map_reset
from stackmask.pda.stack.configuration_table cimport DEAD
from stackmask.pda.terms.term_table cimport token_symbol

cdef enum:
    MORE_VISITS = 20_000        # nodes visited to list successors in captures, beside those of the trie
    MOST_IN_CAPTURES = 100      # of these in captures, where each is a new configuration
    CAPTURE_ROOM = 48           # tokens beside twice the need: away from the end, in a capture
    MOST_STEPS = 500            # of all searches of one mask
    FIRST_STEPS = 3_000         # of those of the first mask at a place
    FIRST_SHAPE_STEPS = 10_000  # of those for shapes
    SEARCH_STEPS = 1_000        # of one search
    MOST_SHAPE_STEPS = 4_000    # between shapes, while successors are listed
    MOST_ROW_BYTES = 1 << 25    # of rows that are kept
    MOST_GROUPS = 1 << 18       # of successors that are kept
    MOST_TOKENS = 1 << 22       # ... of their tokens


# in keys of `fork_of`
cdef uint64_t OF_SHAPE = <uint64_t>1 << 40
cdef uint64_t NEAR = <uint64_t>1 << 41


@cython.final
cdef class BudgetMasks:
    """The cut masks of one family. Hold the lock of the store to use it."""

    def __cinit__(self, Completions completions not None, int32_t width):
        self.completions = completions
        self.width = width
        self.places = TokenPlaces(completions.family, completions.estimates.semantics, completions.trie)
        map_init(&self.fork_of)
        map_init(&self.row_of)
        map_init(&self.group_of)

    def __dealloc__(self):
        map_free(&self.fork_of)
        map_free(&self.row_of)
        map_free(&self.group_of)

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes are held."""
        cdef size_t held = 4 * (self.rows.size() + self.tokens.size()) + self.places.nbytes()
        held += sizeof(Successors) * self.groups.size() + sizeof(Fork) * self.forks.capacity()
        return held + 12 * (self.fork_of.mask + self.row_of.mask + self.group_of.mask + 3)

    cdef int forget(self) except -1 nogil:
        """Forget the successors of all configurations."""
        map_reset(&self.fork_of)
        self.places.forget()
        self.forks.clear()
        self.groups.clear()
        self.tokens.clear()
        return 0

    cdef uint64_t key_of(self, ConfigId config) except? 0 nogil:
        """Return the key of a configuration in ``fork_of``: those of one shape have one."""
        if self.completions.family.configs[config].capturing:
            return OF_SHAPE | <uint64_t>self.places.shapes.shape_of(config)
        return <uint64_t>config

    cdef int32_t places_at(self, ConfigId config) except -1 nogil:
        """Return the index of the places after the tokens that may come next; listed at the first time.

        Cost of the first time: a step for each node of the trie that is alive, but for subtrees in which all
        characters lead back.
        """
        cdef int32_t at, steps = MOST_SHAPE_STEPS
        cdef bint complete
        cdef size_t c
        cdef Successor found
        if (
            self.groups.size() > MOST_GROUPS
            or self.tokens.size() > MOST_TOKENS
            or self.places.is_full()
        ):
            self.forget()
        at = map_get(&self.fork_of, self.key_of(config))
        if at != NO_VALUE:
            return at
        complete = self.places.list_places(config, self.completions.successors, &steps)
        found.token = NO_TOKEN
        found.by_shape = self.completions.family.configs[config].capturing
        for c in range(self.completions.classes.size()):
            found.next = self.after_special(config, c)
            if found.next > DEAD:
                self.completions.successors.push_back(found)
        self.completions.end_tokens()
        return self.keep_fork(self.key_of(config), complete)

    cdef ConfigId after_special(self, ConfigId config, size_t c) except -3 nogil:
        """Return the configuration after the special tokens of a class, before the token ends."""
        return self.completions.family.step(config, token_symbol(self.completions.classes[c].number))

    cdef int32_t near_fork_at(self, ConfigId config) except -1 nogil:
        """Return the index of some tens of the shortest tokens that enter a capture, each with its place.

        Call it after ``TokenPlaces.mark_tokens``, which finds where they enter.
        """
        cdef int32_t at = map_get(&self.fork_of, NEAR | <uint64_t>config)
        cdef int64_t effort = self.completions.trie.nodes + MORE_VISITS
        cdef size_t e
        cdef Visit entry
        if at != NO_VALUE:
            return at
        self.completions.visits.clear()
        self.completions.successors.clear()
        for e in range(self.places.entries.size()):
            entry = self.places.entries[e]
            self.completions.visits.push_back(entry)
            if entry.node:
                self.completions.add_tokens(entry.node, entry.config)
        self.completions.collect_visits(&effort, 1 + effort // MOST_IN_CAPTURES)
        self.completions.end_tokens()
        return self.keep_fork(NEAR | <uint64_t>config, False)

    cdef int32_t keep_fork(self, uint64_t key, bint complete) except -1 nogil:
        """Keep the successors that were listed, those that lead to one configuration together."""
        cdef int32_t at, g = 0
        cdef size_t i
        cdef Fork fork
        cdef Successors group
        cdef Successor found
        fork.complete = complete
        fork.most = fork.most_by_shape = 0
        fork.measured = fork.searched = False
        fork.first = <int32_t>self.groups.size()
        self.completions.terms.meter.spend(1 + self.completions.successors.size() // 4)
        map_reset(&self.group_of)
        self.chosen.clear()
        group.next = DEAD
        group.by_shape = False
        for i in range(self.completions.successors.size()):
            found = self.completions.successors[i]
            if found.next != group.next or found.by_shape != group.by_shape:
                group.next = found.next
                group.by_shape = found.by_shape
                g = map_get(&self.group_of, (<uint64_t>group.next << 1) | group.by_shape)
                if g == NO_VALUE:
                    g = <int32_t>self.groups.size()
                    map_put(&self.group_of, (<uint64_t>group.next << 1) | group.by_shape, g)
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

    # -- rows --------------------------------------------------------------------------------------

    cdef int32_t asked_of(self, int32_t needed, ConfigId config) noexcept nogil:
        """Return how many tokens must be left after a token whose shape needs so many.

        Where resolvers read captured texts, what ``config`` needs counts as well: a tag that is long is long
        when it is closed.
        """
        if self.completions.resolves:
            needed = max(needed, self.completions.known(config).fewest)
        return min(CAPTURE_ROOM + 2 * <int64_t>needed, NOT_FOUND)

    cdef bint leaves_enough(self, Fork fork, ConfigId config, int32_t room) noexcept nogil:
        """Tell whether all tokens that go through a capture leave enough.

        Those that are missing in the list are taken to need no more than twice what is asked of the others.
        """
        cdef int64_t asked
        if fork.complete and fork.most_by_shape < 0:
            return True
        asked = self.asked_of(max(fork.most_by_shape, 0), config)
        return (asked if fork.complete else 2 * asked) <= room

    cdef bint spares_all(self, ConfigId config, int32_t room) except -1 nogil:
        """Tell whether every token leaves enough, if ``room`` tokens may follow it. Cost: a look-up."""
        cdef int32_t at = map_get(&self.fork_of, self.key_of(config))
        if at == NO_VALUE or not self.forks[at].measured or self.forks[at].most > room:
            return False
        return self.leaves_enough(self.forks[at], config, room)

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

        ``words``: the mask without a budget. An end of ``config`` must be known. Cost: an end for each
        successor that has none yet, once; where tokens are cut, a step for each node of the trie that is
        alive, but for subtrees in which all characters lead back.
        """
        cdef int32_t at = self.places_at(config)
        cdef bint enough = self.measure(config, at, room)
        cdef size_t w
        if enough and self.forks[at].most <= room:
            return 0
        refill(self.scratch, self.width, 0)
        self.completions.terms.meter.spend(self.width // 8)
        self.rate_places(config, self.forks[at], room)
        self.places.mark_tokens(config, enough, &self.scratch[0])
        self.mark_special(config)
        if not enough:
            self.mark_near(config, room)
        for w in range(<size_t>self.width):
            words[w] &= self.scratch[w]
        return 0

    cdef int rate_places(self, ConfigId config, Fork fork, int32_t room) except -1 nogil:
        """Say of each place of a fork whether it leaves enough."""
        cdef int32_t g, needed
        cdef bint keep
        map_reset(&self.places.kept)
        for g in range(fork.first, fork.first + fork.count):
            needed = self.completions.known(self.groups[g].next).fewest
            if self.groups[g].by_shape:
                if needed >= NOT_FOUND:
                    needed = self.completions.estimates.of_config(self.groups[g].next)
                needed = self.asked_of(needed, config)
            keep = needed <= room  # mutant: enough-room
            self.places.rate(self.groups[g].next, self.groups[g].by_shape, keep)
        return 0

    cdef int mark_special(self, ConfigId config) except -1 nogil:
        """Mark the special tokens that are kept."""
        cdef size_t c, i
        cdef ConfigId next
        cdef TokenId token
        for c in range(self.completions.classes.size()):
            next = self.after_special(config, c)
            if next <= DEAD:
                continue
            next = self.completions.family.end_token(next)
            if self.places.keeps(next, self.completions.family.configs[config].capturing, False):
                self.completions.terms.meter.spend(1 + self.completions.classes[c].tokens.size() // 4)
                for i in range(self.completions.classes[c].tokens.size()):
                    token = self.completions.classes[c].tokens[i]
                    self.scratch[token >> 5] |= <uint32_t>1 << (token & 31)
        return 0

    cdef int mark_near(self, ConfigId config, int32_t room) except -1 nogil:
        """Mark some of the tokens that go through a capture, asked one by one, and that of the witness."""
        cdef int32_t g, t, needed, steps = MOST_STEPS
        cdef TokenId token
        cdef Fork fork
        cdef Completion witness = self.completions.known(config)
        if witness.fewest > room + 1:  # a successor needs at least one token less
            return 0
        fork = self.forks[self.near_fork_at(config)]
        for g in range(fork.first, fork.first + fork.count):
            needed = self.completions.known(self.groups[g].next).fewest
            if needed > room:
                needed = self.completions.few(self.groups[g].next, &steps, BY_HASTE)
            if needed <= room:
                self.completions.terms.meter.spend(1 + self.groups[g].count // 4)
                for t in range(self.groups[g].first, self.groups[g].first + self.groups[g].count):
                    token = self.tokens[t]
                    self.scratch[token >> 5] |= <uint32_t>1 << (token & 31)
        if witness.token != NO_TOKEN:
            self.scratch[witness.token >> 5] |= <uint32_t>1 << (witness.token & 31)
        return 0

    cdef int32_t search(self, ConfigId config, int32_t room, int32_t* steps) except -1 nogil:
        """Return how many tokens a successor needs, by a short text, or else by the shortest."""
        cdef int32_t needed, given, left
        given = left = min(steps[0], <int32_t>SEARCH_STEPS)
        needed = self.completions.few(config, &left, BY_HASTE)
        if needed > room:
            needed = self.completions.few(config, &left)
        steps[0] -= given - left
        return needed

    cdef bint measure(self, ConfigId config, int32_t at, int32_t room) except -1 nogil:
        """Find what successors need. Tell whether all that go through a capture leave enough."""
        cdef Fork fork = self.forks[at]
        cdef int32_t g, needed
        cdef int32_t steps = MOST_STEPS if fork.searched else FIRST_STEPS
        cdef int32_t shape_steps = MOST_STEPS if fork.searched else FIRST_SHAPE_STEPS
        self.completions.estimates.prepare()
        fork.most = 0
        fork.most_by_shape = -1
        for g in range(fork.first, fork.first + fork.count):
            needed = self.completions.known(self.groups[g].next).fewest
            if self.groups[g].by_shape:
                if needed >= NOT_FOUND:
                    # a byte takes at most a token
                    needed = self.completions.estimates.of_config(self.groups[g].next)
                    if self.asked_of(needed, config) > room:
                        needed = self.search(self.groups[g].next, room, &shape_steps)
                        fork.searched = True
                fork.most_by_shape = max(fork.most_by_shape, needed)
            else:
                if needed > room:
                    needed = self.search(self.groups[g].next, room, &steps)
                    fork.searched = True
                fork.most = max(fork.most, needed)
        fork.measured = True
        self.forks[at] = fork
        return self.leaves_enough(fork, config, room)
