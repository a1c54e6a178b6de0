# Open-addressing tables for the hot core. See hash_tables.h.
from libc.stdint cimport int32_t, uint64_t


cdef enum:
    ENTRY_BYTES = 16        # that a table takes for an id, as half of it is free


cdef extern from "hash_tables.h" nogil:
    enum: NO_VALUE "stackmask::NO_VALUE"

    uint64_t mix "stackmask::mix"(uint64_t h, uint64_t v) noexcept nogil

    # a search for the ids with one hash
    cdef struct Probe "stackmask::Probe":
        pass

    cdef cppclass IdTable "stackmask::IdTable":
        Probe probe(uint64_t h)
        # the next id that may be the one looked for, -1 if there is none. The same id may come twice
        int32_t next(Probe& p)
        # the search has ended without a result, and the table has not changed since
        void put(Probe& p, int32_t id) except +
        void reset()
        size_t nbytes()

    cdef cppclass KeyMap "stackmask::KeyMap":
        uint64_t count
        int32_t get(uint64_t key)
        void put(uint64_t key, int32_t value) except +
        # forget all keys; `reset` gives the memory back, too
        void clear()
        void reset()
        size_t nbytes()
