# distutils: language = c++
"""Open-addressing hash tables that the hot core's stores share; see ``tables.pxd``."""

from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

cdef enum:
    FIRST_SLOTS = 64


cdef int ids_init(IdTable* t) except -1:
    cdef uint64_t n = FIRST_SLOTS
    t.ids = <int32_t*> malloc(n * sizeof(int32_t))
    t.tags = <uint32_t*> malloc(n * sizeof(uint32_t))
    if t.ids == NULL or t.tags == NULL:
        raise MemoryError()
    memset(t.ids, 0xFF, n * sizeof(int32_t))
    t.mask = n - 1
    t.count = 0
    return 0


cdef void ids_free(IdTable* t) noexcept:
    free(t.ids)
    free(t.tags)
    t.ids = NULL
    t.tags = NULL


cdef int ids_grow(IdTable* t) except -1:
    cdef uint64_t old = t.mask + 1
    cdef uint64_t n = old * 2
    cdef int32_t* ids = <int32_t*> malloc(n * sizeof(int32_t))
    cdef uint32_t* tags = <uint32_t*> malloc(n * sizeof(uint32_t))
    cdef uint64_t i, pos
    if ids == NULL or tags == NULL:
        free(ids)
        free(tags)
        raise MemoryError()
    memset(ids, 0xFF, n * sizeof(int32_t))
    for i in range(old):
        if t.ids[i] >= 0:
            pos = t.tags[i] & (n - 1)
            while ids[pos] >= 0:
                pos = (pos + 1) & (n - 1)
            ids[pos] = t.ids[i]
            tags[pos] = t.tags[i]
    free(t.ids)
    free(t.tags)
    t.ids = ids
    t.tags = tags
    t.mask = n - 1
    return 0


cdef int map_init(KeyMap* m) except -1:
    cdef uint64_t i, n = FIRST_SLOTS
    m.keys = <uint64_t*> calloc(n, sizeof(uint64_t))
    m.vals = <int32_t*> malloc(n * sizeof(int32_t))
    if m.keys == NULL or m.vals == NULL:
        raise MemoryError()
    for i in range(n):
        m.vals[i] = NO_VALUE
    m.mask = n - 1
    m.count = 0
    return 0


cdef void map_free(KeyMap* m) noexcept:
    free(m.keys)
    free(m.vals)
    m.keys = NULL
    m.vals = NULL


cdef void map_clear(KeyMap* m) noexcept:
    cdef uint64_t i
    for i in range(m.mask + 1):
        m.vals[i] = NO_VALUE
    m.count = 0


cdef int map_grow(KeyMap* m) except -1:
    cdef uint64_t old = m.mask + 1
    cdef uint64_t n = old * 2
    cdef uint64_t* keys = <uint64_t*> malloc(n * sizeof(uint64_t))
    cdef int32_t* vals = <int32_t*> malloc(n * sizeof(int32_t))
    cdef uint64_t i, pos
    if keys == NULL or vals == NULL:
        free(keys)
        free(vals)
        raise MemoryError()
    for i in range(n):
        vals[i] = NO_VALUE
    for i in range(old):
        if m.vals[i] != NO_VALUE:
            pos = mix(0, m.keys[i]) & (n - 1)
            while vals[pos] != NO_VALUE:
                pos = (pos + 1) & (n - 1)
            keys[pos] = m.keys[i]
            vals[pos] = m.vals[i]
    free(m.keys)
    free(m.vals)
    m.keys = keys
    m.vals = vals
    m.mask = n - 1
    return 0
