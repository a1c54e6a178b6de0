# Types of ids. An id is an index of one table, and is never used as an index of another one.
#
# A debug build checks this (see ids.h): there each name is a separate type, and mixing two does not compile.
# Where a number really is both, write `<TermId><int32_t>number`. Vectors are of one id: `vector[TermId]`.
from libc.stdint cimport int32_t

cdef extern from "ids.h" nogil:
    # terms
    ctypedef int32_t TermId         # a term: a local state of the automaton
    ctypedef int32_t SetId          # a set of bytes
    ctypedef int32_t GuardId        # a set of allowed next bytes
    ctypedef int32_t MapId          # a partition of the bytes
    ctypedef int32_t CallId         # an entry of the call table
    ctypedef int32_t RuleId         # a rule
    # context
    ctypedef int32_t SemId          # a semantic state
    ctypedef int32_t ValueId        # the value of a semantic state: a Python object, or a link of a stack
    ctypedef int32_t TextId         # a captured text
    ctypedef int32_t ActionId       # what a capture does when it ends
    ctypedef int32_t ResolverId     # the callable that gives the body of a dynamic rule
    ctypedef int32_t KeysId         # a key state: which keys an object has so far
    ctypedef int32_t SpecId         # what the keys of an object must satisfy
    # stack
    ctypedef int32_t FrameId        # a frame of the graph-structured stack
    ctypedef int32_t ConfigId       # a configuration
    # vocabulary
    ctypedef int32_t TokenId        # a token
    ctypedef int32_t NodeId         # a node of the trie of tokens
    ctypedef int32_t GroupId        # a group of characters
    # masks
    ctypedef int32_t MaskId         # the tokens that a local state allows
    ctypedef int32_t RowId          # a bitmask over the vocabulary


cdef enum:
    # what happens when a call returns, where it is not an action of a capture (an ActionId)
    ACTION_NONE = -1            # nothing
    ACTION_SCOPE = -2           # the semantic state of the caller comes back
    ACTION_KEYED = -3           # the same; the call is an object with keys
    ACTION_BACK = -2147483647   # only the keys of the caller come back; in summary frames
