# distutils: language = c++
"""Open-addressing hash tables that the hot core's stores share; see ``hash_tables.pxd``."""

from libc.string cimport memset

from stackmask.pda.memory.growing_array cimport give_back, zeroed


cdef enum:
    FIRST_SLOTS = 64
    MOVED_AT_ONCE = 1 << 14     # slots of a table that is small
    # slots that move at a time, so that they cost their bandwidth and not the latency of each; and after how
    # many keys, a power of two. Two slots a key would be enough to be done in time
    MOVED_TOGETHER = 1024
    MOVED_AFTER = 32


cdef int ids_init(IdTable* t) except FAILED nogil:
    t.slots = <uint64_t*> zeroed(FIRST_SLOTS * sizeof(uint64_t))
    if t.slots == NULL:
        raise MemoryError()
    t.mask = FIRST_SLOTS - 1
    t.count = 0
    t.old_slots = NULL
    t.old_mask = t.moved = 0
    return 0


cdef void ids_free(IdTable* t) noexcept nogil:
    if t.old_slots != NULL:
        give_back(t.old_slots, (t.old_mask + 1) * sizeof(uint64_t))
    if t.slots != NULL:
        give_back(t.slots, (t.mask + 1) * sizeof(uint64_t))
    t.slots = t.old_slots = NULL


cdef int ids_grow(IdTable* t) except FAILED nogil:
    """Double a table. A small table moves at once, a large one with the ids that are put."""
    cdef uint64_t n = 2 * (t.mask + 1)
    cdef uint64_t* slots = <uint64_t*> zeroed(n * sizeof(uint64_t))
    if slots == NULL:
        raise MemoryError()
    t.old_slots = t.slots
    t.old_mask = t.mask
    t.moved = 0
    t.slots = slots
    t.mask = n - 1
    while n <= MOVED_AT_ONCE and t.old_slots != NULL:
        ids_move_some(t)
    return 0


cdef int32_t ids_next_old(IdTable* t, Probe* p) noexcept nogil:
    """Continue a search in the old table, which is unchanged until all slots are moved."""
    cdef uint64_t slot
    if not p.in_old:
        p.in_old = True
        p.old_pos = p.tag & t.old_mask
    while True:
        slot = t.old_slots[p.old_pos]
        if not slot:
            return -1
        p.old_pos = (p.old_pos + 1) & t.old_mask
        if <uint32_t>(slot >> 32) == p.tag:
            return <int32_t><uint32_t>slot - 1


cdef int ids_move(IdTable* t) noexcept nogil:
    """Move some slots of the old table now and then. All are moved long before the new one is full."""
    if not t.count & (MOVED_AFTER - 1):
        ids_move_some(t)
    return 0


cdef int ids_move_some(IdTable* t) noexcept nogil:
    """Move some slots. New ids were not in the old table, so no id is there twice."""
    cdef uint64_t stop = min(t.moved + MOVED_TOGETHER, t.old_mask + 1), i, pos, slot
    for i in range(t.moved, stop):
        slot = t.old_slots[i]
        if not slot:
            continue
        pos = (slot >> 32) & t.mask
        while t.slots[pos]:  # mutant: collision
            pos = (pos + 1) & t.mask
        t.slots[pos] = slot
    t.moved = stop
    if stop > t.old_mask:
        give_back(t.old_slots, (t.old_mask + 1) * sizeof(uint64_t))
        t.old_slots = NULL
    return 0


cdef int map_init(KeyMap* m) except FAILED nogil:
    cdef uint64_t n = FIRST_SLOTS
    m.old_keys = NULL
    m.old_vals = NULL
    m.old_mask = m.moved = 0
    m.keys = <uint64_t*> zeroed(n * sizeof(uint64_t))
    m.vals = <int32_t*> zeroed(n * sizeof(int32_t))
    m.mask = n - 1      # of what there is, also where the other array could not be made
    m.count = 0
    if m.keys == NULL or m.vals == NULL:
        raise MemoryError()
    return 0


cdef void free_old(KeyMap* m) noexcept nogil:
    give_back(m.old_keys, (m.old_mask + 1) * sizeof(uint64_t))
    give_back(m.old_vals, (m.old_mask + 1) * sizeof(int32_t))
    m.old_keys = NULL
    m.old_vals = NULL


cdef void map_free(KeyMap* m) noexcept nogil:
    if m.old_vals != NULL:
        free_old(m)
    give_back(m.keys, (m.mask + 1) * sizeof(uint64_t))
    give_back(m.vals, (m.mask + 1) * sizeof(int32_t))
    m.keys = NULL
    m.vals = NULL


cdef void map_clear(KeyMap* m) noexcept nogil:
    if m.old_vals != NULL:
        free_old(m)
    memset(m.vals, 0, (m.mask + 1) * sizeof(int32_t))
    m.count = 0


cdef int map_grow(KeyMap* m) except FAILED nogil:
    """Double a table. A small table moves at once, a large one with the keys that are put."""
    cdef uint64_t n = 2 * (m.mask + 1)
    cdef uint64_t* keys = <uint64_t*> zeroed(n * sizeof(uint64_t))
    cdef int32_t* vals = <int32_t*> zeroed(n * sizeof(int32_t))
    if keys == NULL or vals == NULL:
        give_back(keys, n * sizeof(uint64_t))
        give_back(vals, n * sizeof(int32_t))
        raise MemoryError()
    m.old_keys = m.keys
    m.old_vals = m.vals
    m.old_mask = m.mask
    m.moved = 0
    m.keys = keys
    m.vals = vals
    m.mask = n - 1
    while n <= MOVED_AT_ONCE and m.old_vals != NULL:
        move_some(m)
    return 0


cdef int32_t map_get_old(KeyMap* m, uint64_t key) noexcept nogil:
    """Look a key up in the old table."""
    cdef uint64_t pos = mix(0, key) & m.old_mask
    while m.old_vals[pos]:
        if m.old_keys[pos] == key:
            return m.old_vals[pos] ^ NO_VALUE
        pos = (pos + 1) & m.old_mask
    return NO_VALUE


cdef int map_move(KeyMap* m) noexcept nogil:
    """Move some slots of the old table now and then. All are moved long before the new one is full."""
    if not m.count & (MOVED_AFTER - 1):
        move_some(m)
    return 0


cdef int move_some(KeyMap* m) noexcept nogil:
    """Move some slots. The old table is unchanged until all are moved, since its keys are found by probing.

    If a key has been put again, the newer value counts.
    """
    cdef uint64_t stop = min(m.moved + MOVED_TOGETHER, m.old_mask + 1), i, pos, key
    for i in range(m.moved, stop):
        if not m.old_vals[i]:
            continue
        key = m.old_keys[i]
        pos = mix(0, key) & m.mask
        while m.vals[pos] and m.keys[pos] != key:
            pos = (pos + 1) & m.mask
        if not m.vals[pos]:
            m.keys[pos] = key
            m.vals[pos] = m.old_vals[i]
    m.moved = stop
    if stop > m.old_mask:
        free_old(m)
    return 0
