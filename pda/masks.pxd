# Masks of local states and what is remembered of them. See masks.pyx.
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.configurations cimport ConfigSpace, Edge
from stackmask.pda.semantics cimport Semantics
from stackmask.pda.tables cimport KeyMap
from stackmask.pda.terms cimport TermStore
from stackmask.pda.trie cimport Trie

cdef enum:
    NO_TOKENS = 0       # the mask that allows nothing


cdef struct Mask:
    int32_t dense           # offset in dense_words, or -1: then sparse
    int32_t sparse_first    # tokens allowed whatever is below
    int32_t sparse_count
    int32_t pending_first   # tokens allowed if the frame below is alive under a pending guard
    int32_t pending_count
    int32_t group_first     # tokens that return with bytes left over: mask_groups[group_first:][:group_count]
    int32_t group_count
    int32_t reads_state     # nothing is known without the semantic state: ask the concrete mask


cdef struct Pending:
    uint64_t ends           # alive under any of these guards (bits)
    int32_t first           # sparse_tokens[first:first + count]
    int32_t count


cdef struct Group:
    # remainders with one pending guard, semantic state and captured text: the subtrees below trie nodes
    int32_t guard
    int32_t sem
    int32_t text
    int32_t node_first      # remainder_nodes[node_first:node_first + node_count]
    int32_t node_count


cdef struct Visit:
    int32_t mask
    int32_t frame
    int32_t sem


cdef class MaskStore:
    cdef TermStore terms
    cdef Semantics semantics
    cdef ConfigSpace space
    cdef Trie trie
    cdef readonly int32_t width             # words of 32 bits in a mask
    cdef vector[Mask] masks
    cdef vector[uint32_t] dense_words
    cdef vector[int32_t] sparse_tokens
    cdef vector[Pending] pendings
    cdef vector[Group] groups               # interned by content: equal remainders are one id
    cdef dict group_index
    cdef vector[int32_t] mask_groups
    cdef vector[int32_t] remainder_nodes
    cdef vector[int32_t] roots              # state -> mask of the state outside captures, or -1
    cdef KeyMap open_roots                  # state -> mask of the state inside a capture
    cdef KeyMap children                    # group << 32 | rest -> mask
    cdef KeyMap open_children
    cdef KeyMap concrete                    # mask << 32 | sem -> mask for that semantic state
    cdef vector[vector[int32_t]] class_tokens   # token class -> ids
    # scratch
    cdef vector[uint32_t] bits
    cdef vector[int32_t] stack
    cdef vector[Visit] visits
    cdef KeyMap visited
    cdef readonly uint64_t walks
    cdef readonly uint64_t hits
    cdef readonly uint64_t simulations
    cdef readonly uint64_t most_visits

    cdef int32_t walk(self, int32_t start, vector[int32_t]& below, bint is_open, bint with_tokens) except -3
    cdef int32_t intern_group(self, int32_t guard, int32_t sem, int32_t text, vector[int32_t]& nodes) except -1
    cdef int32_t add_reader(self) except -3
    cdef int32_t root(self, int32_t state, bint is_open) except -3
    cdef int32_t root_for(self, int32_t state, int32_t sem) except -3
    cdef int32_t child(self, int32_t group, int32_t rest, bint is_open) except -3
    cdef int32_t child_for(self, int32_t group, int32_t rest, int32_t sem) except -3
    cdef int32_t walk_child(self, int32_t group, int32_t rest, int32_t sem, bint is_open) except -3
    cdef int visit(self, int32_t mask, int32_t frame, int32_t sem) except -3
    cdef int fill(self, ConfigSpace family, int32_t config, uint32_t* words) except -3
    cdef int simulate(self, ConfigSpace family, int32_t config, uint32_t* words) except -3
    cdef int32_t semantics_at(self, int32_t group, int32_t sem) except -3
    cdef int32_t semantics_after(self, Edge edge, int32_t sem) except -3
    cdef int apply(self, ConfigSpace family, Visit at, uint32_t* words) except -3
