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
    int32_t dense           # row of dense_words, or -1: then sparse
    int32_t sparse_first    # tokens allowed whatever is below
    int32_t sparse_count
    int32_t pending_first   # tokens allowed if the frame below is alive under a pending guard
    int32_t pending_count
    int32_t group_first     # tokens that return with bytes left over: mask_groups[group_first:][:group_count]
    int32_t group_count
    int32_t reader_first    # where the semantic state decides: trie nodes reader_nodes[reader_first:][:count]
    int32_t reader_count
    int32_t reads_tokens    # the semantic state decides on special tokens too


cdef struct Pending:
    uint64_t ends           # alive under any of these guards (bits)
    int32_t first           # sparse_tokens[first:first + count]
    int32_t count


cdef struct Group:
    # remainders with one pending guard and semantic state: the subtrees below trie nodes
    int32_t guard
    int32_t sem
    int32_t node_first      # remainder_nodes[node_first:node_first + node_count]
    int32_t node_count


cdef struct Visit:
    int32_t mask
    int32_t frame


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
    cdef vector[int32_t] reader_nodes
    cdef vector[int32_t] roots              # state -> mask, or -1
    cdef vector[int32_t] strict_roots       # likewise, where a return below may be forbidden
    cdef KeyMap children                    # group << 34 | rest << 2 | changed << 1 | strict -> mask
    cdef vector[vector[int32_t]] class_tokens   # token class -> ids
    # scratch of one walk and one fill
    cdef vector[uint32_t] bits
    cdef vector[int32_t] stack
    cdef vector[Visit] visits
    cdef vector[int32_t] to_simulate
    cdef bint simulate_tokens
    cdef KeyMap visited
    cdef readonly uint64_t walks
    cdef readonly uint64_t hits
    cdef readonly uint64_t simulations
    cdef readonly uint64_t most_visits

    cdef int32_t intern_group(self, int32_t guard, int32_t sem, vector[int32_t]& nodes) except -1
    cdef int32_t walk(self, int32_t start, vector[int32_t]& below, bint with_tokens, bint strict) except -3
    cdef int32_t root(self, int32_t state, bint strict) except -3
    cdef int32_t child(self, int32_t group, int32_t rest, bint changed, bint strict) except -3
    cdef int visit(self, int32_t mask, int32_t frame) except -3
    cdef int fill(self, ConfigSpace family, int32_t config, uint32_t* words) except -3
    cdef int apply(self, ConfigSpace family, Visit at, uint32_t* words) except -3
    cdef int simulate(self, ConfigSpace family, int32_t config, uint32_t* words) except -3
    cdef int simulate_below(self, ConfigSpace family, int32_t config, int32_t node, uint32_t* words) except -3
    cdef int simulate_special(self, ConfigSpace family, int32_t config, uint32_t* words) except -3
