# distutils: language = c++
"""Masks under a budget: a token stays allowed if the text can end within the tokens that are left after it.

All tokens that lead to one configuration have one answer, so a configuration asks once for each successor.
What was found is kept: the successors, and the rows that were cut. Away from the end only the places are
listed to which tokens lead; tokens are looked at where some of them are cut.
"""

cimport cython
from cython.operator cimport dereference, preincrement
from libc.stdint cimport uint32_t
from libc.string cimport memcpy, memset
from libcpp.algorithm cimport lower_bound

from stackmask.pda.completion.completions cimport BY_HASTE, NOT_FOUND, Completion, Successor, Visit
from stackmask.pda.context.object_keys cimport KEYS_UNKNOWN
from stackmask.pda.ids cimport FAILED, ID_FAILED, NO_SUMMARY, NO_TOKEN, KeysId, SemId
from stackmask.pda.memory.checked_vectors cimport refill
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_free, map_get, map_init, map_put, map_reset, mix
from stackmask.pda.stack.configuration_table cimport DEAD, Member
from stackmask.pda.terms.term_table cimport MAP_ONE, token_symbol
from stackmask.pda.vocabulary.token_trie cimport SubtreeSummary


# ------------------------------------------------------------------------------------------------
# Where tokens lead, with configurations that differ only in captured texts as one shape.
#
# Inside of a capture each byte leads to another configuration, since what was captured is a part of it. What
# is left to write hardly depends on it. A shape has the local states, the frames and the semantic state
# without the captured texts and the undeclared keys of the object, and stands for all configurations that have
# these. The first one that was met says where bytes lead and what is needed: bytes that its states do not tell
# apart lead to one shape. That is no proof for the others, whose text may be one that is forbidden.
#
# A *place* is a configuration, or in captures a shape.
# ------------------------------------------------------------------------------------------------


cdef enum:
    NOT_STEPPED = -2
    ADVANCE_WORK = 256      # units of a place that is asked where most characters lead
    MOST_MARK_STEPS = 4_000  # between shapes, while tokens are marked; most were taken before
    MOST_INSIDE = 24        # places inside of the characters that begin with one byte
    MOST_SHAPES = 1 << 16   # that are kept, as well as the others below
    MOST_ADVANCES = 1 << 16
    MOST_INNER_PLACES = 1 << 20


cdef inline uint64_t fork_key(ConfigId config, bint by_shape) noexcept nogil:
    return (<uint64_t>config << 1) | <uint64_t>by_shape


cdef inline uint64_t place_key(const PlaceVisit& at) noexcept nogil:
    return fork_key(at.config, at.shape != NO_SHAPE)


cdef inline bint is_same(const PlaceVisit& a, const PlaceVisit& b) noexcept nogil:
    return a.config == b.config and a.shape == b.shape


cdef inline bint is_within(const uint64_t* some, const uint64_t* all) noexcept nogil:
    return not (some[0] & ~all[0] or some[1] & ~all[1])


@cython.final
cdef class CaptureShapes:
    """The shapes of one family. Hold the lock of the store to use it."""

    def __cinit__(self, ConfigSpace family not None, Semantics semantics not None):
        self.family = family
        self.semantics = semantics
        map_init(&self.index)

    def __dealloc__(self):
        map_free(&self.index)

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes are held."""
        return 4 * self.steps.capacity() + sizeof(Shape) * self.shapes.capacity() + 12 * (self.index.mask + 1)

    cdef int forget(self) except FAILED nogil:
        """Forget all shapes."""
        map_reset(&self.index)
        self.shapes.clear()
        self.steps.clear()
        return 0

    cdef uint64_t hash_of(self, ConfigId config) except? 0 nogil:
        """Return a hash of all that a shape has."""
        cdef int32_t i, first = self.family.configs[config].first, count = self.family.configs[config].count
        cdef uint64_t h = mix(73, <uint32_t>self.family.configs[config].accepting)
        cdef Member m
        cdef SemId sem
        cdef KeysId keys
        self.family.terms.meter.spend(2 * count)
        for i in range(first, first + count):
            m = self.family.members[i]
            h = mix(mix(h, <uint32_t>m.state), <uint32_t>m.frame)
            sem = m.sem
            while self.semantics.in_capture(sem):
                sem = self.semantics.sems[sem].parent
                h = mix(h, 1)
            keys = self.semantics.sems[sem].keys
            if keys > KEYS_UNKNOWN:
                keys = self.semantics.keys.view(keys)
            h = mix(mix(h, <uint32_t>self.semantics.sems[sem].value), <uint32_t>keys)
        return h

    cdef int32_t shape_of(self, ConfigId config) except ID_FAILED nogil:
        """Return the shape of a configuration, a new one if it has none."""
        cdef uint64_t h = self.hash_of(config)
        cdef int32_t i, first, found = map_get(&self.index, h)
        cdef Shape shape
        if found == NO_VALUE:
            found = <int32_t>self.shapes.size()
            shape.config = config
            shape.map = MAP_ONE
            first = self.family.configs[config].first
            for i in range(first, first + self.family.configs[config].count):
                shape.map = self.family.terms.classes.map_meet(
                    shape.map, self.family.terms.classes_of(self.family.members[i].state)
                )
            shape.first = <int32_t>self.steps.size()
            i = self.family.terms.classes.maps[shape.map].count
            self.steps.resize(self.steps.size() + i, NOT_STEPPED)
            self.shapes.push_back(shape)
            map_put(&self.index, h, found)
        return found

    cdef int32_t after(self, int32_t shape, uint8_t byte, int32_t* steps) except ID_FAILED nogil:
        """Return the shape after a byte, or NO_SHAPE. ``steps`` counts down those not taken before."""
        cdef size_t at = self.shapes[shape].first
        cdef ConfigId next
        at += self.family.terms.classes.maps[self.shapes[shape].map].of[byte]
        if self.steps[at] == NOT_STEPPED:
            steps[0] -= 1
            next = self.family.step(self.shapes[shape].config, byte)
            shape = NO_SHAPE if next <= DEAD else self.shape_of(next)
            self.steps[at] = shape
        return self.steps[at]


@cython.final
cdef class TokenPlaces:
    """The places of one family. Hold the lock of the store to use it."""

    def __cinit__(self, ConfigSpace family not None, Semantics semantics not None, Trie trie not None):
        self.family = family
        self.trie = trie
        self.shapes = CaptureShapes(family, semantics)
        map_init(&self.advance_index)
        map_init(&self.met)
        map_init(&self.kept)

    def __dealloc__(self):
        map_free(&self.advance_index)
        map_free(&self.met)
        map_free(&self.kept)

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes are held."""
        cdef size_t slots = self.advance_index.mask + self.met.mask + self.kept.mask + 3
        cdef size_t held = self.shapes.nbytes() + 12 * slots
        return held + sizeof(Advance) * self.advances.capacity() + sizeof(InnerPlace) * self.inside.capacity()

    cdef bint is_full(self) noexcept nogil:
        """Return whether so much is kept that all should be forgotten."""
        return (
            self.shapes.shapes.size() > MOST_SHAPES
            or self.advances.size() > MOST_ADVANCES
            or self.inside.size() > MOST_INNER_PLACES
        )

    cdef int forget(self) except FAILED nogil:
        """Forget all shapes, and where characters lead."""
        self.shapes.forget()
        map_reset(&self.advance_index)
        self.advances.clear()
        self.inside.clear()
        return 0

    cdef int place_of(self, ConfigId config, PlaceVisit* out) except FAILED nogil:
        """Give a configuration as a place: in captures, that of its shape."""
        out.config = config
        out.shape = NO_SHAPE
        if config > DEAD and self.family.configs[config].capturing:
            out.shape = self.shapes.shape_of(config)
            out.config = self.shapes.shapes[out.shape].config
        return 0

    cdef int follow(self, PlaceVisit at, uint8_t byte, int32_t* steps, PlaceVisit* out) except FAILED nogil:
        """Give the place after a byte; its configuration is DEAD if there is none."""
        if at.shape == NO_SHAPE:
            return self.place_of(self.family.step(at.config, byte), out)
        out.shape = self.shapes.after(at.shape, byte, steps)
        out.config = <int32_t>DEAD if out.shape == NO_SHAPE else self.shapes.shapes[out.shape].config
        return 0

    # -- subtrees in which the number of characters decides -------------------------------------------

    cdef int32_t advance_at(self, PlaceVisit at, int32_t* steps) except FAILED nogil:
        """Return the index of where most characters lead from a place; found at the first time."""
        cdef uint64_t key = place_key(at)
        cdef int32_t found = map_get(&self.advance_index, key), byte, most = 0
        cdef PlaceVisit[0x80] after
        cdef int32_t[0x80] count
        cdef int32_t first
        cdef Advance advance
        if found != NO_VALUE:
            return found
        self.family.terms.meter.spend(ADVANCE_WORK)
        for byte in range(0x80):
            self.follow(at, <uint8_t>byte, steps, &after[byte])
            count[byte] = 0
            if after[byte].config <= DEAD:
                continue
            first = most if is_same(after[byte], after[most]) else 0
            while not is_same(after[byte], after[first]):
                first += 1
            count[first] += 1
            if count[first] > count[most]:
                most = first
        memset(&advance, 0, sizeof(Advance))
        advance.next = after[most]
        advance.inner_left = advance.inside = -1
        for byte in range(0x80):
            if after[byte].config <= DEAD:
                advance.dead[byte >> 6] |= <uint64_t>1 << (byte & 63)
            elif is_same(after[byte], advance.next):
                advance.ascii[byte >> 6] |= <uint64_t>1 << (byte & 63)
        found = <int32_t>self.advances.size()
        self.advances.push_back(advance)
        map_put(&self.advance_index, key, found)
        return found

    cdef bint leads_there(
        self, PlaceVisit at, int32_t left, PlaceVisit there, int32_t* steps
    ) except FAILED nogil:
        """Return whether each character leads there or nowhere, of whose bytes ``left`` come after a place.

        Lists it and the other places inside of such characters in ``partial``.
        """
        cdef size_t next = 0, last, i
        cdef int32_t byte
        cdef PlaceVisit inner
        self.partial.clear()
        self.partial.push_back(at)
        while left:
            left -= 1
            last = self.partial.size()
            while next < last:
                self.family.terms.meter.spend(64)
                for byte in range(0x80, 0xC0):
                    self.follow(self.partial[next], <uint8_t>byte, steps, &inner)
                    if inner.config <= DEAD or is_same(inner, there):
                        continue
                    if not left or self.partial.size() >= MOST_INSIDE:
                        return False
                    i = last
                    while i < self.partial.size() and not is_same(self.partial[i], inner):
                        i += 1
                    if i == self.partial.size():
                        self.partial.push_back(inner)
                next += 1
        return True

    cdef int ask_lead(self, int32_t index, PlaceVisit at, uint8_t lead, int32_t* steps) except FAILED nogil:
        """Find whether characters that begin so lead where most do; keeps the places inside of them."""
        cdef Advance advance = self.advances[index]
        cdef uint64_t bit = <uint64_t>1 << (lead - 0xC0)
        cdef int32_t left = 3 if lead >= 0xF0 else (2 if lead >= 0xE0 else 1)
        cdef size_t i
        cdef PlaceVisit inner
        cdef InnerPlace inside
        self.follow(at, lead, steps, &inner)
        if inner.config <= DEAD:
            advance.leads |= bit
            advance.dead_leads |= bit
        elif advance.inner_left == left and is_same(inner, advance.inner):
            if advance.inner_leads:  # as the one before it
                advance.leads |= bit
        else:
            advance.inner = inner
            advance.inner_left = left
            advance.inner_leads = self.leads_there(inner, left, advance.next, steps)
            if advance.inner_leads:
                advance.leads |= bit
                advance.walk = 0
                for i in range(self.partial.size()):
                    inside.at = self.partial[i]
                    inside.after = advance.inside
                    advance.inside = <int32_t>self.inside.size()
                    self.inside.push_back(inside)
        advance.asked |= bit
        self.advances[index] = advance
        return 0

    cdef bint chain_under(self, PlaceVisit at, int32_t* steps) except FAILED nogil:
        """Return whether the number of characters under the node of a place decides where they lead.

        If so, ``chain`` has the places. Cost: a step for each, and some more where a place is new.
        """
        cdef SubtreeSummary under
        cdef Advance* advance
        cdef uint64_t ask
        cdef int32_t index, lead
        cdef bint ends, goes_on
        if self.trie.summary_of[at.node] == NO_SUMMARY:
            return False
        under = self.trie.summaries[self.trie.summary_of[at.node]]
        self.chain.clear()
        self.chain.push_back(at)
        while self.chain.size() <= under.height:
            self.family.terms.meter.spend(4)
            index = self.advance_at(self.chain.back(), steps)
            advance = &self.advances[index]
            ends = is_within(under.ascii, advance.dead)
            goes_on = is_within(under.ascii, advance.ascii)
            if not (ends or goes_on):
                return False
            ask = under.leads & ~advance.asked
            lead = 0xC0
            while ask:
                if ask & 1:
                    self.ask_lead(index, self.chain.back(), <uint8_t>lead, steps)
                ask >>= 1
                lead += 1
            if ends and not under.leads & ~advance.dead_leads:
                self.chain.push_back(advance.next)
                self.chain.back().config = <int32_t>DEAD
                break
            if not goes_on or under.leads & ~advance.leads:
                return False
            if is_same(advance.next, self.chain.back()):
                break
            if at.shape == NO_SHAPE and advance.next.shape != NO_SHAPE:
                return False  # entries to captures are listed
            self.chain.push_back(advance.next)
        return True

    cdef int add_place(self, PlaceVisit at, vector[Successor]& out) except FAILED nogil:
        """List a place, if it is not listed yet."""
        cdef Successor found
        if place_key(at) == self.last_key or map_get(&self.met, place_key(at)) != NO_VALUE:
            return 0
        self.last_key = place_key(at)
        map_put(&self.met, self.last_key, 1)
        found.token = NO_TOKEN
        found.next = at.config
        found.by_shape = at.shape != NO_SHAPE
        out.push_back(found)
        return 0

    cdef int add_chain(self, NodeId under, vector[Successor]& out) except FAILED nogil:
        """List the places of ``chain``, and those inside of longer characters."""
        cdef bint longer = self.trie.summaries[self.trie.summary_of[under]].leads != 0
        cdef size_t i
        cdef int32_t index, inner
        for i in range(self.chain.size()):
            if self.chain[i].config <= DEAD:
                continue
            self.add_place(self.chain[i], out)
            index = map_get(&self.advance_index, place_key(self.chain[i])) if longer else NO_VALUE
            if index != NO_VALUE and self.advances[index].walk != self.walk:
                self.advances[index].walk = self.walk
                inner = self.advances[index].inside
                while inner >= 0:
                    self.add_place(self.inside[inner].at, out)
                    inner = self.inside[inner].after
        return 0

    cdef int list_entry(self, NodeId node, ConfigId config) except FAILED nogil:
        """Note where tokens enter a capture, with the configuration itself."""
        cdef Visit entry
        entry.node = node
        entry.config = config
        self.entries.push_back(entry)
        return 0

    cdef int begin_walk(self, ConfigId config) except FAILED nogil:
        """Begin with the place of a configuration, at the root of the trie."""
        cdef PlaceVisit at
        self.entries.clear()
        self.visits.clear()
        at.node = 0
        self.place_of(config, &at)
        if at.shape != NO_SHAPE:
            self.list_entry(0, config)
        self.visits.push_back(at)
        return 0

    cdef bint list_places(self, ConfigId config, vector[Successor]& out, int32_t* steps) except FAILED nogil:
        """List the places to which tokens lead, and perhaps some more that are on their way.

        ``steps``: those between shapes that may be taken. Returns False if they ran out: then places of
        tokens that go through a capture are missing. Cost: a step for each node of the trie that is alive,
        but for subtrees in which the number of characters decides.
        """
        cdef PlaceVisit at, below
        cdef size_t next = 0
        cdef int32_t kid
        cdef bint complete = True
        out.clear()
        map_reset(&self.met)
        self.last_key = ~<uint64_t>0
        self.walk += 1
        self.begin_walk(config)
        while next < self.visits.size():
            at = self.visits[next]
            next += 1
            self.family.terms.meter.spend(2 + self.trie.kid_first[at.node + 1] - self.trie.kid_first[at.node])
            if steps[0] <= 0 and at.shape != NO_SHAPE:
                complete = False
                continue
            for kid in range(self.trie.kid_first[at.node], self.trie.kid_first[at.node + 1]):
                self.follow(at, self.trie.kid_byte[kid], steps, &below)
                if below.config <= DEAD:
                    continue
                below.node = self.trie.kid_node[kid]
                if self.trie.token_first[below.node] < self.trie.token_first[below.node + 1]:
                    self.add_place(below, out)
                if self.trie.kid_first[below.node] == self.trie.kid_first[below.node + 1]:
                    continue
                if self.chain_under(below, steps):
                    self.add_chain(below.node, out)
                else:
                    self.visits.push_back(below)
        return complete

    # -- which tokens are kept -------------------------------------------------------------------------

    cdef int rate(self, ConfigId config, bint by_shape, bint keep) except FAILED nogil:
        """Say whether tokens that lead to a place are kept."""
        map_put(&self.kept, fork_key(config, by_shape), 1 if keep else 0)
        return 0

    cdef bint keeps(self, ConfigId config, bint by_shape, bint others) noexcept nogil:
        """Return whether tokens that lead to a place are kept; ``others``: by a shape that was not rated."""
        cdef int32_t found = map_get(&self.kept, fork_key(config, by_shape))
        return found == 1 or (found == NO_VALUE and by_shape and others)

    cdef bint keeps_token(self, PlaceVisit at, bint others) except FAILED nogil:
        """Return whether a token that ends at a place is kept."""
        return self.keeps(self.family.end_token(at.config), at.shape != NO_SHAPE, others)

    cdef int mark_range(self, NodeId first, NodeId end, uint32_t* words, bint keep) except FAILED nogil:
        """Add the tokens of some nodes to a mask, or take them out."""
        cdef int32_t t, last = self.trie.token_first[end]
        cdef uint32_t bit
        self.family.terms.meter.spend((last - self.trie.token_first[first]) // 8)
        for t in range(self.trie.token_first[first], last):
            bit = <uint32_t>1 << (self.trie.tokens[t] & 31)
            words[self.trie.tokens[t] >> 5] = (words[self.trie.tokens[t] >> 5] & ~bit) | (bit if keep else 0)
        return 0

    cdef int mark_incomplete(self, NodeId under, bint others, uint32_t* words) except FAILED nogil:
        """Mark the tokens under the node of ``chain`` that end inside of a character."""
        cdef int32_t before = self.trie.summaries[self.trie.summary_of[under]].characters
        cdef vector[NodeId].iterator next
        cdef NodeId node
        cdef PlaceVisit place
        cdef int32_t depth, steps = MOST_MARK_STEPS
        cdef bint keep
        next = lower_bound(self.trie.incomplete.begin(), self.trie.incomplete.end(), under)
        while next != self.trie.incomplete.end() and dereference(next) < self.trie.end[under]:
            node = dereference(next)
            preincrement(next)
            self.path.clear()
            self.path.push_back(node)
            self.family.terms.meter.spend(4)
            while self.trie.byte[self.path.back()] < 0xC0:
                self.path.push_back(self.trie.parent[self.path.back()])
            depth = self.trie.characters[self.trie.token_first[node]] - before - 1
            place = self.chain[min(<size_t>depth, self.chain.size() - 1)]
            for depth in range(<int32_t>self.path.size() - 1, -1, -1):
                if place.config > DEAD:
                    self.follow(place, self.trie.byte[self.path[depth]], &steps, &place)
            keep = place.config > DEAD and self.keeps_token(place, others)
            self.mark_range(node, node + 1, words, keep)
        return 0

    cdef int mark_chain(self, NodeId under, bint others, uint32_t* words) except FAILED nogil:
        """Mark the tokens under the node of ``chain``; how many characters they have says where they lead."""
        cdef int32_t before = self.trie.summaries[self.trie.summary_of[under]].characters
        cdef int32_t t, last = self.trie.token_first[self.trie.end[under]]
        cdef size_t i, kept = 0
        # a place of the chain has no node of its own: the field holds whether its tokens are kept
        for i in range(self.chain.size()):
            self.chain[i].node = self.chain[i].config > DEAD and self.keeps_token(self.chain[i], others)
            kept += self.chain[i].node
        if kept == self.chain.size():
            self.mark_range(under + 1, self.trie.end[under], words, True)
        elif kept:
            self.family.terms.meter.spend((last - self.trie.token_first[under + 1]) // 8)
            for t in range(self.trie.token_first[under + 1], last):
                i = <size_t>(self.trie.characters[t] - before)  # mutant: counted-characters
                i = min(i, self.chain.size() - 1)
                if self.chain[i].node:
                    words[self.trie.tokens[t] >> 5] |= <uint32_t>1 << (self.trie.tokens[t] & 31)
        if self.trie.summaries[self.trie.summary_of[under]].leads:
            self.mark_incomplete(under, others, words)
        return 0

    cdef int mark_tokens(self, ConfigId config, bint others, uint32_t* words) except FAILED nogil:
        """Add to ``words`` the tokens that are kept, and list where tokens enter a capture.

        ``others``: those by a shape that was not rated are kept. Cost: a step for each node of the trie that
        is alive, but for subtrees in which the number of characters decides, and for each token that is kept.
        """
        cdef PlaceVisit at, below
        cdef size_t next = 0
        cdef int32_t kid, steps = MOST_MARK_STEPS
        cdef bint keep
        self.begin_walk(config)
        while next < self.visits.size():
            at = self.visits[next]
            next += 1
            self.family.terms.meter.spend(2 + self.trie.kid_first[at.node + 1] - self.trie.kid_first[at.node])
            if steps <= 0 and at.shape != NO_SHAPE:
                continue
            for kid in range(self.trie.kid_first[at.node], self.trie.kid_first[at.node + 1]):
                self.follow(at, self.trie.kid_byte[kid], &steps, &below)
                if below.config <= DEAD:
                    continue
                below.node = self.trie.kid_node[kid]
                if at.shape == NO_SHAPE and below.shape != NO_SHAPE:
                    self.list_entry(below.node, self.family.step(at.config, self.trie.kid_byte[kid]))
                keep = self.keeps_token(below, others)
                self.mark_range(below.node, below.node + 1, words, keep)
                if self.trie.kid_first[below.node] == self.trie.kid_first[below.node + 1]:
                    continue
                if self.chain_under(below, &steps):
                    self.mark_chain(below.node, others, words)
                else:
                    self.visits.push_back(below)
        return 0


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

    cdef int forget(self) except FAILED nogil:
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

    cdef int32_t places_at(self, ConfigId config) except FAILED nogil:
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

    cdef ConfigId after_special(self, ConfigId config, size_t c) except ID_FAILED nogil:
        """Return the configuration after the special tokens of a class, before the token ends."""
        return self.completions.family.step(config, token_symbol(self.completions.classes[c].number))

    cdef int32_t near_fork_at(self, ConfigId config) except FAILED nogil:
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

    cdef int32_t keep_fork(self, uint64_t key, bint complete) except FAILED nogil:
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
        """Return whether all tokens that go through a capture leave enough.

        Those that are missing in the list are taken to need no more than twice what is asked of the others.
        """
        cdef int64_t asked
        if fork.complete and fork.most_by_shape < 0:
            return True
        asked = self.asked_of(max(fork.most_by_shape, 0), config)
        return (asked if fork.complete else 2 * asked) <= room

    cdef bint spares_all(self, ConfigId config, int32_t room) except FAILED nogil:
        """Return whether every token leaves enough, if ``room`` tokens may follow it. Cost: a look-up."""
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

    cdef int keep_row(self, ConfigId config, int32_t room, const uint32_t* words) except FAILED nogil:
        """Keep a row that was cut."""
        if 4 * self.rows.size() > MOST_ROW_BYTES:
            map_reset(&self.row_of)
            self.rows.clear()
        map_put(
            &self.row_of, (<uint64_t>config << 32) | <uint64_t>room, <int32_t>(self.rows.size() // self.width)
        )
        self.rows.append(words, words + self.width)
        return 0

    cdef int cut(self, ConfigId config, int32_t room, uint32_t* words) except FAILED nogil:
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

    cdef int rate_places(self, ConfigId config, Fork fork, int32_t room) except FAILED nogil:
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

    cdef int mark_special(self, ConfigId config) except FAILED nogil:
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

    cdef int mark_near(self, ConfigId config, int32_t room) except FAILED nogil:
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

    cdef int32_t search(self, ConfigId config, int32_t room, int32_t* steps) except FAILED nogil:
        """Return how many tokens a successor needs, by a short text, or else by the shortest."""
        cdef int32_t needed, given, left
        given = left = min(steps[0], <int32_t>SEARCH_STEPS)
        needed = self.completions.few(config, &left, BY_HASTE)
        if needed > room:
            needed = self.completions.few(config, &left)
        steps[0] -= given - left
        return needed

    cdef bint measure(self, ConfigId config, int32_t at, int32_t room) except FAILED nogil:
        """Find what successors need. Return whether all that go through a capture leave enough."""
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
