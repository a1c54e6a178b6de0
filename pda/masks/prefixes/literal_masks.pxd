# Masks of literals. See literal_masks.pyx.
from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport LiteralId, MaskId, NodeId, PlaceId, SuffixesId, TermId, TokenId
from stackmask.pda.masks.shared.part cimport MaskPart
from stackmask.pda.masks.shared.arena cimport MaskArena
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.masks.prefixes.literal_table cimport LiteralTable


cdef struct Spot:
    # a node to continue from, and the position in the literal there
    NodeId node
    int32_t position    # index of the item that is being spelled
    TermId item     # what is left of that item, or EPS at its beginning
    int32_t offset  # bytes of a K_LIT term that are spelled already
    bint itself     # the node's own byte is next, not that of a child


cdef class LiteralMasks(MaskPart):
    cdef MaskArena arena
    cdef LiteralTable table
    cdef KeyMap group_masks                 # group << 32 | literal -> mask
    cdef int32_t last_position                  # of the literal that is being spelled
    cdef vector[Spot] spots
    cdef vector[TokenId] tokens
    cdef vector[PlaceId] return_places
    cdef readonly uint64_t spelled_masks    # masks made by spelling literals

    cdef MaskId of_vocabulary(self, LiteralId literal) except -3 nogil
    cdef MaskId of_group(self, SuffixesId group, LiteralId literal) except -3 nogil
    cdef MaskId spell(self, LiteralId literal, vector[PlaceId]& places) except -3 nogil
    cdef int spell_next(self, Spot at, int32_t in_suffix_trie) except -1 nogil
    cdef int take_node(self, Spot at, NodeId kid, int32_t in_suffix_trie) except -1 nogil
