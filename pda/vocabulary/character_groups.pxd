# The tokens of a vocabulary by the sorts of characters that they are made of. See character_groups.pyx.
from libc.stdint cimport int8_t, int16_t, int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport GroupId, NodeId, TokenId
from stackmask.pda.vocabulary.token_bytes cimport TokenBytes


cdef enum:
    NO_SORT = 63    # continuation bytes: the first byte of the character decides the sort


cdef struct ClassSorts:
    # Which sorts of bytes belong to a prefix code X: sets of sorts, as bits. A string of X is characters of
    # X.
    uint64_t inside     # each byte of the sort is a character of X, or X has all characters it begins
    uint64_t outside    # no byte of the sort occurs in a string of X
    uint64_t begins     # some bytes of the sort can begin a character of X
    uint64_t opens      # ... but not every character that they begin is in X


cdef inline bint may_be_run(ClassSorts sorts, uint64_t group) noexcept nogil:
    # Tell whether tokens of these sorts may be runs of X. Bytes that occur only inside of characters of X
    # need a sort that begins one.
    return not group & sorts.outside and (group & sorts.opens or not group & ~sorts.begins)


cdef class CharacterGroups:
    cdef TokenBytes token_bytes
    # The tokens of group g are tokens[first[g]:first[g + 1]], by ascending `characters`. All have the same
    # sorts.
    cdef vector[uint64_t] sorts_of      # group -> sorts, as bits
    cdef vector[int32_t] first
    cdef vector[TokenId] tokens
    cdef vector[uint16_t] characters    # of each of these tokens; an incomplete one counts
    cdef vector[int32_t] ends           # n * groups + group -> end of its tokens with at most n characters
    cdef vector[uint32_t] row           # all tokens, as a bitmask
    # The nodes with byte b are nodes[node_first[b]:node_first[b + 1]]; none are kept for frequent bytes.
    cdef int32_t[257] node_first
    cdef vector[NodeId] nodes
    cdef uint64_t[4] frequent           # the bytes whose nodes are not kept

    cdef int find(
        self,
        int32_t nodes,
        const int32_t* depth,
        const int32_t* token_first,
        const TokenId* tokens,
        const uint8_t* byte,
        int32_t max_depth,
        const uint16_t* characters,
    ) except -1 nogil
    cdef int find_ends(self) except -1 nogil
    cdef int find_nodes(self, int32_t nodes, const uint8_t* byte) except -1 nogil
    cdef int sort_tokens(
        self, const TokenId* tokens, const uint16_t* characters, vector[GroupId]& group_of
    ) except -1 nogil
    cdef int compare_sorts(
        self,
        const int16_t* table,
        int32_t states,
        const uint64_t* used,
        const uint64_t* single,
        uint64_t leads,
        ClassSorts* found,
    ) except -1 nogil
    cdef bint is_utf8(self, const int16_t* table, int32_t states) except -1 nogil
    cdef int32_t needed(self, TokenId token, const int16_t* table) noexcept nogil
    cdef int32_t up_to(self, GroupId group, int32_t high) noexcept nogil

    cdef inline bint is_frequent(self, int32_t byte) noexcept nogil:
        return (self.frequent[byte >> 6] >> (byte & 63)) & 1
