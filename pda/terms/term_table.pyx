# distutils: language = c++
"""The records of terms, byte sets, partitions of bytes, and guards. Equal ones have the same integer id."""

cimport cython
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcmp, memcpy

from stackmask.pda.ids cimport ALWAYS
from stackmask.pda.memory.hash_tables cimport ENTRY_BYTES, NO_VALUE, mix

from stackmask.pda.errors import BudgetError


cdef enum:
    MAX_GUARDS = 64        # guards are bits of a 64-bit word
    UNKNOWN = -1
    TERM_WORK = 30          # units of a new term


cdef MapId intern_numbered(ByteClasses classes, ClassMap* found) except ID_FAILED nogil:
    """Return the id of a partition whose classes are numbered in the order of their first bytes."""
    cdef uint64_t eight[32]
    cdef int32_t i, id
    cdef uint64_t h = 43
    memcpy(eight, found.of, 256)
    for i in range(32):
        h = mix(h, eight[i])
    cdef Probe probe = classes.map_index.probe(h)
    id = classes.map_index.next(probe)
    while id >= 0:
        if memcmp(classes.maps[id].of, found.of, 256) == 0:
            return id
        id = classes.map_index.next(probe)
    for i in range(found.count, 256):
        found.byte_of[i] = 0
    id = <int32_t>classes.maps.size()
    classes.maps.push_back(found[0])
    classes.map_index.put(probe, id)
    return id


@cython.final
cdef class ByteClasses:
    """The byte sets of terms, the partitions of bytes for steps, and guards. `TermTable` owns this object.

    Invariant: append-only; ids stay valid for the life of the table.
    """

    def __cinit__(self):
        cdef uint64_t every[4]
        cdef uint8_t classes[256]
        cdef int i
        self.meter = WorkMeter()
        for i in range(256):
            classes[i] = 0
        self.intern_map(classes)
        for i in range(256):
            classes[i] = <uint8_t>i
        self.intern_map(classes)
        every[0] = every[1] = every[2] = every[3] = ~<uint64_t>0
        self.guard_sets.push_back(self.intern_set(every))

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes."""
        cdef size_t held = sizeof(ClassMap) * self.maps.size() + 36 * self.sets.size() // 4
        return held + self.meets.nbytes() + self.set_index.nbytes()

    cdef SetId intern_set(self, uint64_t* words) except ID_FAILED nogil:
        cdef uint64_t h = mix(mix(mix(mix(29, words[0]), words[1]), words[2]), words[3])
        cdef Probe probe = self.set_index.probe(h)
        cdef int32_t id = self.set_index.next(probe)
        while id >= 0:
            if (
                self.sets[4 * id] == words[0]
                and self.sets[4 * id + 1] == words[1]
                and self.sets[4 * id + 2] == words[2]
                and self.sets[4 * id + 3] == words[3]
            ):
                return id
            id = self.set_index.next(probe)
        self.meter.hold(36 + ENTRY_BYTES)
        id = <int32_t>(self.sets.size() // 4)
        for i in range(4):
            self.sets.push_back(words[i])
        self.set_index.put(probe, id)
        self.set_map.push_back(UNKNOWN)
        return id

    # -- byte classes ------------------------------------------------------------------------------

    cdef MapId intern_map(self, uint8_t* classes) except ID_FAILED nogil:
        """Return the id of a partition, with its classes numbered in the order of their first bytes."""
        cdef ClassMap found
        cdef int32_t number[256]
        cdef int32_t i
        found.count = 0
        for i in range(256):
            number[i] = UNKNOWN
        for i in range(256):
            if number[classes[i]] < 0:
                number[classes[i]] = found.count
                found.byte_of[found.count] = <uint8_t>i
                found.count += 1
            found.of[i] = <uint8_t>number[classes[i]]
        return intern_numbered(self, &found)

    cdef MapId map_of_set(self, SetId set_id) except ID_FAILED nogil:
        cdef uint8_t classes[256]
        cdef int i
        if self.set_map[set_id] < 0:
            for i in range(256):
                classes[i] = (self.sets[4 * set_id + (i >> 6)] >> (i & 63)) & 1
            self.set_map[set_id] = self.intern_map(classes)
        return self.set_map[set_id]

    cdef MapId map_of_guard(self, GuardId guard) except ID_FAILED nogil:
        return self.map_of_set(self.guard_sets[guard])

    cdef MapId map_meet(self, MapId a, MapId b) except ID_FAILED nogil:
        """Return the coarsest partition that refines both."""
        cdef uint64_t key
        cdef int32_t found, i, width, pair
        cdef KeyMap* index = &self.meets
        cdef ClassMap* x
        cdef ClassMap* y
        cdef ClassMap both
        cdef int32_t pairs[65536]
        if a > b:
            a, b = b, a
        if a == MAP_ONE or a == b:
            return b
        if a == MAP_EACH or b == MAP_EACH:
            return MAP_EACH
        key = (<uint64_t>a << 32) | <uint64_t>b
        found = index.get(key)
        if found != NO_VALUE:
            return found
        # pairs of classes are numbered densely: where there are few, little memory is touched
        x = &self.maps[a]
        y = &self.maps[b]
        width = y.count
        if x.count * width <= 256:
            for i in range(x.count * width):
                pairs[i] = UNKNOWN
        else:
            for i in range(256):
                pairs[x.of[i] * width + y.of[i]] = UNKNOWN
        both.count = 0
        for i in range(256):
            pair = x.of[i] * width + y.of[i]
            if pairs[pair] < 0:
                pairs[pair] = both.count
                both.byte_of[both.count] = <uint8_t>i
                both.count += 1
            both.of[i] = <uint8_t>pairs[pair]
        # mostly one of them refines the other
        if both.count == x.count:
            found = a
        elif both.count == y.count:
            found = b
        else:
            found = intern_numbered(self, &both)
        index.put(key, found)
        return found

    # -- guards ------------------------------------------------------------------------------------

    cdef GuardId guard_of_set(self, SetId set_id) except ID_FAILED nogil:
        cdef size_t i
        for i in range(self.guard_sets.size()):
            if self.guard_sets[i] == set_id:
                return <int32_t>i
        if self.guard_sets.size() >= MAX_GUARDS:
            raise BudgetError(
                "max_guards",
                MAX_GUARDS,
                "distinct sets of allowed next bytes (follow restrictions)",
                fixed=True,
            )
        self.guard_sets.push_back(set_id)
        return <int32_t>(self.guard_sets.size() - 1)

    cdef GuardId guard_and(self, GuardId g, GuardId h) except ID_FAILED nogil:
        cdef uint64_t words[4]
        cdef int i
        if g == ANY_BYTE or g == h:
            return h
        if h == ANY_BYTE:
            return g
        for i in range(4):
            words[i] = self.sets[4 * self.guard_sets[g] + i] & self.sets[4 * self.guard_sets[h] + i]
        return self.guard_of_set(self.intern_set(words))

    cdef GuardId guard_or(self, GuardId g, GuardId h) except ID_FAILED nogil:
        cdef uint64_t words[4]
        cdef int i
        if g == ANY_BYTE or h == ANY_BYTE:
            return ANY_BYTE
        if g == h:
            return g
        for i in range(4):
            words[i] = self.sets[4 * self.guard_sets[g] + i] | self.sets[4 * self.guard_sets[h] + i]
        return self.guard_of_set(self.intern_set(words))


cdef class TermTable:
    """The tables of terms. Invariant: append-only; ids stay valid for the life of the table."""

    def __cinit__(self, uint64_t max_terms=20_000_000, *_args, **_kwargs):
        cdef SiteList none
        self.classes = ByteClasses()
        self.meter = self.classes.meter
        self.max_terms = max_terms
        self.token_classes = 0
        none.first = none.count = 0
        self.site_lists.push_back(none)
        self.intern(K_EMPTY, 0, 0, 0, NEVER, 0)
        self.intern(K_EPS, 0, 0, 0, ALWAYS, 0)

    def count_work(self, WorkMeter meter not None):
        """Count the work of these terms, and of everything built from them, with a meter."""
        self.meter = self.classes.meter = meter

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes of the records."""
        cdef size_t held = sizeof(Term) * self.terms.size() + 4 * self.kids.size() + self.pool.size()
        held += self.term_index.nbytes() + self.classes.nbytes()
        return held + sizeof(CallSite) * self.sites.size()

    # -- interning ---------------------------------------------------------------------------------

    cdef TermId intern(
        self, int32_t kind, int32_t key0, int32_t key1, int32_t key2, Nullability nu, int32_t flags
    ) except ID_FAILED nogil:
        cdef uint64_t h = mix(mix(mix(mix(17, kind), <uint32_t>key0), <uint32_t>key1), <uint32_t>key2)
        self.meter.spend(2)
        cdef Probe probe = self.term_index.probe(h)
        cdef int32_t id = self.term_index.next(probe)
        cdef Term* t
        while id >= 0:
            t = &self.terms[id]
            if t.kind == kind and t.key[0] == key0 and t.key[1] == key1 and t.key[2] == key2:
                return id
            id = self.term_index.next(probe)
        return self.add(kind, key0, key1, key2, nu, flags, &probe)

    cdef TermId add(
        self,
        int32_t kind,
        int32_t key0,
        int32_t key1,
        int32_t key2,
        Nullability nu,
        int32_t flags,
        Probe* probe,
    ) except ID_FAILED nogil:
        cdef Term t
        cdef int32_t id = <int32_t>self.terms.size()
        if not self.meter.may_add_term(self.terms.size() >= self.max_terms):
            raise BudgetError("max_terms", self.max_terms, "local states of the grammar")
        self.meter.hold(sizeof(Term) + ENTRY_BYTES)
        self.meter.spend(TERM_WORK)
        t.kind = <uint8_t>kind
        t.key[0] = key0
        t.key[1] = key1
        t.key[2] = key2
        t.nu = nu
        t.flags = <uint8_t>flags
        t.map = t.symbol = t.calls = UNKNOWN
        t.derivative = EMPTY
        t.live = LIVE_UNKNOWN
        self.terms.push_back(t)
        self.term_index.put(probe[0], id)
        return id

    cdef TermId intern_list(
        self, int32_t kind, vector[TermId]& items, Nullability nu, int32_t flags
    ) except ID_FAILED nogil:
        cdef uint64_t h = mix(23, kind)
        cdef size_t i, n = items.size()
        cdef int32_t id
        cdef Term* t
        self.meter.spend(2 + <int64_t>n)
        for i in range(n):
            h = mix(h, <uint32_t>items[i])
        cdef Probe probe = self.term_index.probe(h)
        id = self.term_index.next(probe)
        while id >= 0:
            t = &self.terms[id]
            if t.kind == kind and t.operands.count == <int32_t>n:
                i = 0
                while i < n and self.kids[t.operands.first + i] == items[i]:
                    i += 1
                if i == n:
                    return id
            id = self.term_index.next(probe)
        self.meter.hold(4 * n)
        cdef int32_t first = <int32_t>self.kids.size()
        for i in range(n):
            self.kids.push_back(items[i])
        return self.add(kind, first, <int32_t>n, 0, nu, flags, &probe)
