# Open-addressing tables for the hot core: ids found by content, and 64-bit keys to 32-bit values.
from libc.stdint cimport int32_t, uint32_t, uint64_t

from stackmask.pda.ids cimport FAILED


cdef struct IdTable:
    # a slot is tag << 32 | id + 1, 0 if it is free; tags are 32 bits of the hash, so growing needs no content
    uint64_t* slots
    uint64_t mask
    uint64_t count
    # as in KeyMap: a large table that has grown moves a few slots with every id that is put
    uint64_t* old_slots
    uint64_t old_mask
    uint64_t moved


cdef struct Probe:
    # a search for the ids of one tag
    uint64_t pos        # in the slots; the free one once the search has ended
    uint64_t old_pos
    uint32_t tag
    bint in_old


cdef struct KeyMap:
    # vals[slot] holds value ^ NO_VALUE; 0 is a free slot, so that fresh memory is free
    uint64_t* keys
    int32_t* vals
    uint64_t mask
    uint64_t count
    # a large table that has grown moves from the old one a few slots with every key that is put:
    # slots before `moved` are here already; NULL: all are
    uint64_t* old_keys
    int32_t* old_vals
    uint64_t old_mask
    uint64_t moved


cdef enum:
    NO_VALUE = -2147483648
    ENTRY_BYTES = 16        # that a table takes for an id, as half of it is free


cdef int ids_init(IdTable* t) except FAILED nogil
cdef void ids_free(IdTable* t) noexcept nogil
cdef int ids_grow(IdTable* t) except FAILED nogil
cdef int32_t ids_next_old(IdTable* t, Probe* p) noexcept nogil
cdef int ids_move(IdTable* t) noexcept nogil
cdef int map_init(KeyMap* m) except FAILED nogil
cdef void map_free(KeyMap* m) noexcept nogil
cdef void map_clear(KeyMap* m) noexcept nogil
cdef int map_grow(KeyMap* m) except FAILED nogil
cdef int32_t map_get_old(KeyMap* m, uint64_t key) noexcept nogil
cdef int map_move(KeyMap* m) noexcept nogil


cdef inline uint64_t mix(uint64_t h, uint64_t v) noexcept nogil:
    h = (h ^ v) * <uint64_t>0x9E3779B97F4A7C15
    return h ^ (h >> 29)


cdef inline Probe ids_probe(IdTable* t, uint64_t h) noexcept nogil:
    # begin a search for what has the hash h
    cdef Probe p
    p.tag = <uint32_t>(h >> 16)
    p.pos = p.tag & t.mask
    p.old_pos = 0
    p.in_old = False
    return p


cdef inline int32_t ids_next(IdTable* t, Probe* p) noexcept nogil:
    # the next id that may be the one looked for, -1 if there is none. The same id may come twice
    cdef uint64_t slot
    if not p.in_old:
        while True:
            slot = t.slots[p.pos]
            if not slot:
                break
            p.pos = (p.pos + 1) & t.mask
            if <uint32_t>(slot >> 32) == p.tag:
                return <int32_t><uint32_t>slot - 1
        if t.old_slots == NULL:
            return -1
    return ids_next_old(t, p)


cdef inline int ids_put(IdTable* t, Probe* p, int32_t id) except FAILED nogil:
    # the search has ended without a result, and the table has not changed since
    t.slots[p.pos] = (<uint64_t>p.tag << 32) | <uint64_t>(id + 1)
    t.count += 1
    if t.old_slots != NULL:
        ids_move(t)
    elif t.count * 3 > t.mask * 2:
        ids_grow(t)
    return 0


cdef inline int32_t map_get(KeyMap* m, uint64_t key) noexcept nogil:
    cdef uint64_t pos = mix(0, key) & m.mask
    while m.vals[pos]:
        if m.keys[pos] == key:
            return m.vals[pos] ^ NO_VALUE
        pos = (pos + 1) & m.mask
    return NO_VALUE if m.old_vals == NULL else map_get_old(m, key)


cdef inline int map_put(KeyMap* m, uint64_t key, int32_t value) except FAILED nogil:
    cdef uint64_t pos = mix(0, key) & m.mask
    while m.vals[pos]:
        if m.keys[pos] == key:
            m.vals[pos] = value ^ NO_VALUE
            return 0
        pos = (pos + 1) & m.mask
    m.keys[pos] = key
    m.vals[pos] = value ^ NO_VALUE
    if m.old_vals != NULL:
        # what the old table has under the key is hidden from now on
        m.count += map_get_old(m, key) == NO_VALUE
        map_move(m)
        return 0
    m.count += 1
    if m.count * 3 > m.mask * 2:
        map_grow(m)
    return 0


cdef inline int ids_clear(IdTable* t) except FAILED nogil:
    # forget all ids, and give the memory back
    ids_free(t)
    return ids_init(t)


cdef inline int map_reset(KeyMap* m) except FAILED nogil:
    # forget all keys, and give the memory back
    map_free(m)
    return map_init(m)


cdef inline size_t ids_nbytes(const IdTable* t) noexcept nogil:
    return 8 * t.mask


cdef inline size_t map_nbytes(const KeyMap* m) noexcept nogil:
    return 12 * m.mask
