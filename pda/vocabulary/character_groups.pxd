# The tokens of a vocabulary by the kinds of characters that they are made of. See character_groups.pyx.
from libc.stdint cimport int8_t, int16_t, int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.vocabulary.token_bytes cimport TokenBytes


cdef enum:
    NO_KIND = 63                # continuation bytes say nothing that their lead does not


cdef struct Sorted:
    # the kinds of bytes by what a prefix code X does with them, as bits
    uint64_t inside             # all bytes of them are, or begin, whole characters of X
    uint64_t outside            # none of them stands anywhere in a text of X; of other kinds, some do
    uint64_t begins             # some of them may stand where a character begins
    uint64_t opens              # ... and not all of these are characters of X, whatever follows


cdef inline bint may_be(Sorted kinds, uint64_t group) noexcept:
    # whether tokens of some kinds may be runs of X: what stands inside of characters only needs a beginning
    return not group & kinds.outside and (group & kinds.opens or not group & ~kinds.begins)


cdef class CharacterGroups:
    cdef TokenBytes texts
    # the tokens of group g, all of the same kinds: tokens[first[g]:first[g + 1]], by ascending `characters`
    cdef vector[uint64_t] kinds_of          # group -> kinds, as bits
    cdef vector[int32_t] first
    cdef vector[int32_t] tokens
    cdef vector[uint16_t] characters        # of these tokens; a part of one counts
    cdef vector[int32_t] ends               # characters * groups + group -> end of those with at most so many
    cdef vector[uint32_t] row               # all tokens, as a mask
    # the nodes with a byte: nodes[node_first[b]:node_first[b + 1]], of bytes that are not too frequent
    cdef int32_t[257] node_first
    cdef vector[int32_t] nodes
    cdef uint64_t[4] frequent               # the bytes of which no nodes are kept

    cdef int find(
        self,
        int32_t nodes,
        const int32_t* depth,
        const int32_t* token_first,
        const int32_t* tokens,
        const uint8_t* byte,
        int32_t max_depth,
    ) except -1 nogil
    cdef int find_ends(self) except -1 nogil
    cdef int find_nodes(self, int32_t nodes, const uint8_t* byte) except -1 nogil
    cdef int sort_by(self, vector[int32_t]& keys, vector[int32_t]& order, int32_t most) except -1 nogil
    cdef Sorted sort_kinds(
        self, const int16_t* table, int32_t states, const uint64_t* single, uint64_t leads
    ) except *
    cdef bint is_utf8(self, const int16_t* table, int32_t states) except -1
    cdef int32_t needed(self, int32_t token, const int16_t* table) noexcept
    cdef int32_t up_to(self, int32_t group, int32_t high) noexcept

    cdef inline bint is_frequent(self, int32_t byte) noexcept:
        return (self.frequent[byte >> 6] >> (byte & 63)) & 1
