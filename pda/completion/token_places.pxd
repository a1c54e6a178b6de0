# Where tokens lead, with configurations that differ only in captured texts as one. See token_places.pyx.
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.completion.completions cimport Successor, Visit
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.ids cimport ConfigId, MapId, NodeId
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.vocabulary.token_trie cimport Trie

cdef enum:
    NO_SHAPE = -1           # nothing comes after a byte


cdef struct Shape:
    ConfigId config         # the first one that was met
    MapId map               # the classes of bytes that it distinguishes
    int32_t first           # steps[first:first + classes of the map]


cdef struct PlaceVisit:
    NodeId node
    ConfigId config         # outside of captures, or that of the shape
    int32_t shape           # NO_SHAPE outside of captures


cdef struct Advance:
    # where most characters lead from a place, of those that lead anywhere
    PlaceVisit next         # DEAD if none does
    uint64_t ascii[2]       # those that lead there
    uint64_t dead[2]        # those that lead nowhere
    uint64_t asked          # first bytes from 0xC0 on of longer ones, which were asked
    uint64_t leads          # ... of these: those whose characters lead there or nowhere
    uint64_t dead_leads     # ... those that lead nowhere themselves
    PlaceVisit inner        # the place after the last one that was asked
    int32_t inner_left      # ... how many bytes may come after it
    bint inner_leads        # ... and whether its characters lead there or nowhere
    int32_t inside          # index of one of the places inside of longer characters, or -1
    uint64_t walk           # the last one that listed these


cdef struct InnerPlace:
    PlaceVisit at
    int32_t after           # index of the next one of its place, or -1


cdef class CaptureShapes:
    # owner: TokenPlaces
    cdef ConfigSpace family
    cdef Semantics semantics
    cdef KeyMap index                   # hash of what a shape has -> shape
    cdef vector[Shape] shapes
    # by shape and class of bytes: the shape after it, NO_SHAPE or NOT_STEPPED
    cdef vector[int32_t] steps

    cdef uint64_t hash_of(self, ConfigId config) except? 0 nogil
    cdef int32_t shape_of(self, ConfigId config) except -3 nogil
    cdef int32_t after(self, int32_t shape, uint8_t byte, int32_t* steps) except -3 nogil
    cdef int forget(self) except -1 nogil
    cdef size_t nbytes(self) noexcept nogil


cdef class TokenPlaces:
    # owner: BudgetMasks
    cdef ConfigSpace family
    cdef Trie trie
    cdef CaptureShapes shapes
    cdef KeyMap advance_index           # place -> index in `advances`
    cdef vector[Advance] advances
    cdef vector[InnerPlace] inside
    cdef KeyMap kept                    # place -> whether tokens that lead there are kept
    cdef vector[Visit] entries          # where tokens enter a capture, of the last walk that marked tokens
    # scratch
    cdef vector[PlaceVisit] visits
    cdef vector[PlaceVisit] partial
    cdef vector[PlaceVisit] chain       # by number of characters: the place after them, or after the last
    cdef vector[NodeId] path
    cdef KeyMap met                     # places that are listed -> 1
    cdef uint64_t last_key              # of the place that was listed last
    cdef uint64_t walk                  # the number of the list

    cdef bint is_full(self) noexcept nogil
    cdef int place_of(self, ConfigId config, PlaceVisit* out) except -1 nogil
    cdef int follow(self, PlaceVisit at, uint8_t byte, int32_t* steps, PlaceVisit* out) except -1 nogil
    cdef int32_t advance_at(self, PlaceVisit at, int32_t* steps) except -1 nogil
    cdef bint leads_there(
        self, PlaceVisit at, int32_t left, PlaceVisit there, int32_t* steps
    ) except -1 nogil
    cdef int ask_lead(self, int32_t index, PlaceVisit at, uint8_t lead, int32_t* steps) except -1 nogil
    cdef int add_place(self, PlaceVisit at, vector[Successor]& out) except -1 nogil
    cdef bint chain_under(self, PlaceVisit at, int32_t* steps) except -1 nogil
    cdef int add_chain(self, NodeId under, vector[Successor]& out) except -1 nogil
    cdef int list_entry(self, NodeId node, ConfigId config) except -1 nogil
    cdef int begin_walk(self, ConfigId config) except -1 nogil
    cdef bint list_places(self, ConfigId config, vector[Successor]& out, int32_t* steps) except -1 nogil
    cdef int rate(self, ConfigId config, bint by_shape, bint keep) except -1 nogil
    cdef bint keeps(self, ConfigId config, bint by_shape, bint others) noexcept nogil
    cdef bint keeps_token(self, PlaceVisit at, bint others) except -1 nogil
    cdef int mark_range(self, NodeId first, NodeId end, uint32_t* words, bint keep) except -1 nogil
    cdef int mark_incomplete(self, NodeId under, bint others, uint32_t* words) except -1 nogil
    cdef int mark_chain(self, NodeId under, bint others, uint32_t* words) except -1 nogil
    cdef int mark_tokens(self, ConfigId config, bint others, uint32_t* words) except -1 nogil
    cdef int forget(self) except -1 nogil
    cdef size_t nbytes(self) noexcept nogil
