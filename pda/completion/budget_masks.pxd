# Which tokens leave enough tokens to end the text.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.completion.completions cimport Completions, Successor, Visit
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.ids cimport FAILED, ID_FAILED, ConfigId, MapId, NodeId, TokenId
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.vocabulary.token_trie cimport Trie


# Where tokens lead, with configurations that differ only in captured texts as one.

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
    cdef int32_t shape_of(self, ConfigId config) except ID_FAILED nogil
    cdef int32_t after(self, int32_t shape, uint8_t byte, int32_t* steps) except ID_FAILED nogil
    cdef int forget(self) except FAILED nogil
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
    cdef int place_of(self, ConfigId config, PlaceVisit* out) except FAILED nogil
    cdef int follow(self, PlaceVisit at, uint8_t byte, int32_t* steps, PlaceVisit* out) except FAILED nogil
    cdef int32_t advance_at(self, PlaceVisit at, int32_t* steps) except FAILED nogil
    cdef bint leads_there(
        self, PlaceVisit at, int32_t left, PlaceVisit there, int32_t* steps
    ) except FAILED nogil
    cdef int ask_lead(self, int32_t index, PlaceVisit at, uint8_t lead, int32_t* steps) except FAILED nogil
    cdef int add_place(self, PlaceVisit at, vector[Successor]& out) except FAILED nogil
    cdef bint chain_under(self, PlaceVisit at, int32_t* steps) except FAILED nogil
    cdef int add_chain(self, NodeId under, vector[Successor]& out) except FAILED nogil
    cdef int list_entry(self, NodeId node, ConfigId config) except FAILED nogil
    cdef int begin_walk(self, ConfigId config) except FAILED nogil
    cdef bint list_places(self, ConfigId config, vector[Successor]& out, int32_t* steps) except FAILED nogil
    cdef int rate(self, ConfigId config, bint by_shape, bint keep) except FAILED nogil
    cdef bint keeps(self, ConfigId config, bint by_shape, bint others) noexcept nogil
    cdef bint keeps_token(self, PlaceVisit at, bint others) except FAILED nogil
    cdef int mark_range(self, NodeId first, NodeId end, uint32_t* words, bint keep) except FAILED nogil
    cdef int mark_incomplete(self, NodeId under, bint others, uint32_t* words) except FAILED nogil
    cdef int mark_chain(self, NodeId under, bint others, uint32_t* words) except FAILED nogil
    cdef int mark_tokens(self, ConfigId config, bint others, uint32_t* words) except FAILED nogil
    cdef int forget(self) except FAILED nogil
    cdef size_t nbytes(self) noexcept nogil


cdef struct Successors:
    # the tokens that lead to one configuration
    ConfigId next
    bint by_shape           # `next` stands for others that differ in what was captured
    int32_t first           # tokens[first:first + count]
    int32_t count


cdef struct Fork:
    # a configuration and all that may follow it
    int32_t first           # groups[first:first + count]
    int32_t count
    int32_t most            # tokens that the worst successor needs, as far as it is known
    int32_t most_by_shape   # of those that stand for others, what the worst must leave
    bint measured           # whether `most` and `most_by_shape` are known
    bint searched           # searches have looked for ends of its successors
    bint complete           # all places are in the groups


cdef class BudgetMasks:
    cdef Completions completions
    cdef int32_t width                  # words of a row
    cdef TokenPlaces places
    cdef KeyMap fork_of                 # configuration, or OF_SHAPE or NEAR and one -> index in forks
    cdef vector[Fork] forks
    cdef Growing[Successors] groups
    cdef Growing[TokenId] tokens
    cdef KeyMap row_of                  # configuration << 32 | room -> index of its row
    cdef Growing[uint32_t] rows
    # scratch
    cdef vector[uint32_t] scratch
    cdef KeyMap group_of                # configuration -> index in groups, of one fork
    cdef vector[int32_t] chosen         # by successor: index in groups
    cdef vector[TokenId] placed         # tokens of one fork, by group

    cdef int forget(self) except FAILED nogil
    cdef ConfigId after_special(self, ConfigId config, size_t c) except ID_FAILED nogil
    cdef int32_t places_at(self, ConfigId config) except FAILED nogil
    cdef int32_t near_fork_at(self, ConfigId config) except FAILED nogil
    cdef int32_t keep_fork(self, uint64_t key, bint complete) except FAILED nogil
    cdef uint64_t key_of(self, ConfigId config) except? 0 nogil
    cdef int32_t asked_of(self, int32_t needed, ConfigId config) noexcept nogil
    cdef bint spares_all(self, ConfigId config, int32_t room) except FAILED nogil
    cdef bint restore(self, ConfigId config, int32_t room, uint32_t* words) noexcept nogil
    cdef int keep_row(self, ConfigId config, int32_t room, const uint32_t* words) except FAILED nogil
    cdef int cut(self, ConfigId config, int32_t room, uint32_t* words) except FAILED nogil
    cdef bint leaves_enough(self, Fork fork, ConfigId config, int32_t room) noexcept nogil
    cdef int32_t search(self, ConfigId config, int32_t room, int32_t* steps) except FAILED nogil
    cdef bint measure(self, ConfigId config, int32_t at, int32_t room) except FAILED nogil
    cdef int rate_places(self, ConfigId config, Fork fork, int32_t room) except FAILED nogil
    cdef int mark_special(self, ConfigId config) except FAILED nogil
    cdef int mark_near(self, ConfigId config, int32_t room) except FAILED nogil
    cdef size_t nbytes(self) noexcept nogil
