# distutils: language = c++
"""Where tokens lead, with configurations that differ only in captured texts as one shape.

Inside of a capture each byte leads to another configuration, since what was captured is a part of it. What
is left to write hardly depends on it. A shape has the local states, the frames and the semantic state
without the captured texts and the undeclared keys of the object, and stands for all configurations that have
these. The first one that was met says where bytes lead and what is needed: bytes that its states do not tell
apart lead to one shape. That is no proof for the others, whose text may be one that is forbidden.

A *place* is a configuration, or in captures a shape.
"""

cimport cython
from cython.operator cimport dereference, preincrement
from libc.stdint cimport uint32_t
from libcpp.algorithm cimport lower_bound

from stackmask.pda.context.object_keys cimport KEYS_UNKNOWN
from stackmask.pda.ids cimport NO_SUMMARY, NO_TOKEN, KeysId, SemId
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_free, map_get, map_init, map_put, map_reset, mix
from stackmask.pda.stack.configuration_draft cimport Member
from stackmask.pda.stack.configuration_table cimport DEAD
from stackmask.pda.terms.term_table cimport MAP_ONE
from stackmask.pda.vocabulary.subtree_summary cimport SubtreeSummary

cdef enum:
    NOT_STEPPED = -2
    LOOP_WORK = 512         # units of a place that is asked which characters lead back
    MOST_MARK_STEPS = 4_000  # between shapes, while tokens are marked; most were taken before
    MOST_INSIDE = 24        # places inside of the characters that begin with one byte
    MOST_SHAPES = 1 << 16   # that are kept, as well as the others below
    MOST_LOOPS = 1 << 16
    MOST_INNER_PLACES = 1 << 20


cdef inline uint64_t key_of(ConfigId config, bint by_shape) noexcept nogil:
    return (<uint64_t>config << 1) | <uint64_t>by_shape


cdef inline uint64_t place_key(const PlaceVisit& at) noexcept nogil:
    return key_of(at.config, at.shape != NO_SHAPE)


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

    cdef int forget(self) except -1 nogil:
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

    cdef int32_t shape_of(self, ConfigId config) except -3 nogil:
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

    cdef int32_t after(self, int32_t shape, uint8_t byte, int32_t* steps) except -3 nogil:
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
        map_init(&self.loop_index)
        map_init(&self.met)
        map_init(&self.kept)

    def __dealloc__(self):
        map_free(&self.loop_index)
        map_free(&self.met)
        map_free(&self.kept)

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes are held."""
        cdef size_t held = sizeof(Loop) * self.loops.capacity() + sizeof(PlaceVisit) * self.inside.capacity()
        return held + self.shapes.nbytes() + 12 * (self.loop_index.mask + self.met.mask + self.kept.mask + 3)

    cdef bint is_full(self) noexcept nogil:
        """Tell whether so much is kept that all should be forgotten."""
        return (
            self.shapes.shapes.size() > MOST_SHAPES
            or self.loops.size() > MOST_LOOPS
            or self.inside.size() > MOST_INNER_PLACES
        )

    cdef int forget(self) except -1 nogil:
        """Forget all shapes, and which characters lead back."""
        self.shapes.forget()
        map_reset(&self.loop_index)
        self.loops.clear()
        self.inside.clear()
        return 0

    cdef int place_of(self, ConfigId config, PlaceVisit* out) except -1 nogil:
        """Give a configuration as a place: in captures, that of its shape."""
        out.config = config
        out.shape = NO_SHAPE
        if config > DEAD and self.family.configs[config].capturing:
            out.shape = self.shapes.shape_of(config)
            out.config = self.shapes.shapes[out.shape].config
        return 0

    cdef int follow(self, PlaceVisit at, uint8_t byte, int32_t* steps, PlaceVisit* out) except -1 nogil:
        """Give the place after a byte; its configuration is DEAD if there is none."""
        if at.shape == NO_SHAPE:
            return self.place_of(self.family.step(at.config, byte), out)
        out.shape = self.shapes.after(at.shape, byte, steps)
        out.config = <int32_t>DEAD if out.shape == NO_SHAPE else self.shapes.shapes[out.shape].config
        return 0

    # -- subtrees in which all characters lead back --------------------------------------------------

    cdef int32_t loop_at(self, PlaceVisit at, int32_t* steps) except -1 nogil:
        """Return the index of the characters that lead a place back to itself; found at the first time."""
        cdef uint64_t key = place_key(at)
        cdef int32_t found = map_get(&self.loop_index, key), byte
        cdef PlaceVisit next
        cdef Loop loop
        if found != NO_VALUE:
            return found
        self.family.terms.meter.spend(LOOP_WORK)
        loop.ascii[0] = loop.ascii[1] = loop.leads = loop.walk = 0
        self.partial.clear()
        for byte in range(0x80):
            self.follow(at, <uint8_t>byte, steps, &next)
            if next.config == at.config and next.shape == at.shape:
                loop.ascii[byte >> 6] |= <uint64_t>1 << (byte & 63)
        if loop.ascii[0] | loop.ascii[1]:
            for byte in range(0xC2, 0xF5):
                if self.returns(at, <uint8_t>byte, steps):
                    loop.leads |= <uint64_t>1 << (byte - 0xC0)
        loop.first = <int32_t>self.inside.size()
        loop.count = <int32_t>self.partial.size()
        for byte in range(loop.count):
            self.inside.push_back(self.partial[byte])
        found = <int32_t>self.loops.size()
        self.loops.push_back(loop)
        map_put(&self.loop_index, key, found)
        return found

    cdef bint returns(self, PlaceVisit at, uint8_t lead, int32_t* steps) except -1 nogil:
        """Tell whether each character that begins so leads back or nowhere.

        Adds the places inside of such characters to ``partial``.
        """
        cdef size_t next = self.partial.size(), first = next, last, i
        cdef int32_t byte, left = 3 if lead >= 0xF0 else (2 if lead >= 0xE0 else 1)
        cdef PlaceVisit inner
        self.follow(at, lead, steps, &inner)
        if inner.config <= DEAD:
            return True
        self.partial.push_back(inner)
        while left:
            left -= 1
            last = self.partial.size()
            while next < last:
                self.family.terms.meter.spend(64)
                for byte in range(0x80, 0xC0):
                    self.follow(self.partial[next], <uint8_t>byte, steps, &inner)
                    if inner.config <= DEAD or (inner.config == at.config and inner.shape == at.shape):
                        continue
                    if not left or self.partial.size() - first >= MOST_INSIDE:
                        while self.partial.size() > first:
                            self.partial.pop_back()
                        return False
                    i = last
                    while i < self.partial.size() and (
                        self.partial[i].config != inner.config or self.partial[i].shape != inner.shape
                    ):
                        i += 1
                    if i == self.partial.size():
                        self.partial.push_back(inner)
                next += 1
        return True

    cdef int add_place(self, PlaceVisit at, vector[Successor]& out) except -1 nogil:
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

    cdef Loop* loop_under(self, PlaceVisit at, int32_t* steps) except? NULL nogil:
        """Return the loop of a place if all characters under its node lead it back to itself, else NULL."""
        cdef SubtreeSummary* under
        cdef Loop* loop
        if self.trie.summary_of[at.node] == NO_SUMMARY:
            return NULL
        loop = &self.loops[self.loop_at(at, steps)]
        under = &self.trie.summaries[self.trie.summary_of[at.node]]
        if under.ascii[0] & ~loop.ascii[0] | under.ascii[1] & ~loop.ascii[1] | under.leads & ~loop.leads:
            return NULL
        return loop

    cdef bint has_longer(self, NodeId node) noexcept nogil:
        """Tell whether characters of several bytes are under a node: then tokens may end inside of one."""
        return self.trie.summaries[self.trie.summary_of[node]].leads != 0

    cdef int list_entry(self, NodeId node, ConfigId config) except -1 nogil:
        """Note where tokens enter a capture, with the configuration itself."""
        cdef Visit entry
        entry.node = node
        entry.config = config
        self.entries.push_back(entry)
        return 0

    cdef int begin_walk(self, ConfigId config) except -1 nogil:
        """Begin with the place of a configuration, at the root of the self.trie."""
        cdef PlaceVisit at
        self.entries.clear()
        self.visits.clear()
        at.node = 0
        self.place_of(config, &at)
        if at.shape != NO_SHAPE:
            self.list_entry(0, config)
        self.visits.push_back(at)
        return 0

    cdef bint list_places(self, ConfigId config, vector[Successor]& out, int32_t* steps) except -1 nogil:
        """List the places to which tokens lead, and perhaps some more that are on their way.

        ``steps``: those between shapes that may be taken. Returns False if they ran out: then places of
        tokens that go through a capture are missing. Cost: a step for each node of the trie that is alive,
        but for subtrees in which all characters lead back.
        """
        cdef PlaceVisit at, below
        cdef size_t next = 0
        cdef int32_t kid, i
        cdef Loop* loop
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
                loop = self.loop_under(below, steps)
                if loop == NULL:
                    self.visits.push_back(below)
                    continue
                self.add_place(below, out)
                if loop.walk != self.walk and self.has_longer(below.node):
                    loop.walk = self.walk
                    for i in range(loop.first, loop.first + loop.count):
                        self.add_place(self.inside[i], out)
        return complete

    # -- which tokens are kept -------------------------------------------------------------------------

    cdef int rate(self, ConfigId config, bint by_shape, bint keep) except -1 nogil:
        """Say whether tokens that lead to a place are kept."""
        map_put(&self.kept, key_of(config, by_shape), 1 if keep else 0)
        return 0

    cdef bint keeps(self, ConfigId config, bint by_shape, bint others) noexcept nogil:
        """Tell whether tokens that lead to a place are kept; ``others``: by a shape that was not rated."""
        cdef int32_t found = map_get(&self.kept, key_of(config, by_shape))
        return found == 1 or (found == NO_VALUE and by_shape and others)

    cdef bint keeps_token(self, PlaceVisit at, bint others) except -1 nogil:
        """Tell whether a token that ends at a place is kept."""
        return self.keeps(self.family.end_token(at.config), at.shape != NO_SHAPE, others)

    cdef int mark_range(self, NodeId first, NodeId end, uint32_t* words, bint keep) except -1 nogil:
        """Add the tokens of some nodes to a mask, or take them out."""
        cdef int32_t t, last = self.trie.token_first[end]
        cdef uint32_t bit
        self.family.terms.meter.spend((last - self.trie.token_first[first]) // 4)
        for t in range(self.trie.token_first[first], last):
            bit = <uint32_t>1 << (self.trie.tokens[t] & 31)
            words[self.trie.tokens[t] >> 5] = (words[self.trie.tokens[t] >> 5] & ~bit) | (bit if keep else 0)
        return 0

    cdef int mark_incomplete(self, PlaceVisit at, bint others, uint32_t* words) except -1 nogil:
        """Mark the tokens under the node of a place that end inside of a character; whole ones lead back."""
        cdef vector[NodeId].iterator next
        cdef NodeId node
        cdef PlaceVisit place
        cdef int32_t depth, steps = MOST_MARK_STEPS
        cdef bint keep
        next = lower_bound(self.trie.incomplete.begin(), self.trie.incomplete.end(), at.node)
        while next != self.trie.incomplete.end() and dereference(next) < self.trie.end[at.node]:
            node = dereference(next)
            preincrement(next)
            self.path.clear()
            self.path.push_back(node)
            self.family.terms.meter.spend(4)
            while self.trie.byte[self.path.back()] < 0xC0:
                self.path.push_back(self.trie.parent[self.path.back()])
            place = at
            for depth in range(<int32_t>self.path.size() - 1, -1, -1):
                if place.config > DEAD:
                    self.follow(place, self.trie.byte[self.path[depth]], &steps, &place)
            keep = place.config > DEAD and self.keeps_token(place, others)
            self.mark_range(node, node + 1, words, keep)
        return 0

    cdef int mark_tokens(self, ConfigId config, bint others, uint32_t* words) except -1 nogil:
        """Add to ``words`` the tokens that are kept, and list where tokens enter a capture.

        ``others``: those by a shape that was not rated are kept. Cost: a step for each node of the trie that
        is alive, but for subtrees in which all characters lead back, and for each token that is kept.
        """
        cdef PlaceVisit at, below
        cdef size_t next = 0
        cdef int32_t kid, steps = MOST_MARK_STEPS
        cdef Loop* loop
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
                loop = self.loop_under(below, &steps)
                if loop == NULL:
                    self.visits.push_back(below)
                    continue
                if keep:
                    self.mark_range(below.node, self.trie.end[below.node], words, True)
                if self.has_longer(below.node):
                    self.mark_incomplete(below, others, words)
        return 0
