# distutils: language = c++
"""The masks of literals: prefixes that are sequences of fixed bytes or byte sets.

A name that is spelled byte by byte needs no configurations: its tokens are on the paths of its bytes in the
trie. The mask is the one that a walk of the same state would make.
"""

cimport cython
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memchr

from stackmask.pda.ids cimport NO_MASK, NO_ROW, NO_RUN
from stackmask.pda.masks.shared.part cimport MaskContext, MaskPart
from stackmask.pda.memory.hash_tables cimport (
    NO_VALUE,
    map_free,
    map_get,
    map_init,
    map_nbytes,
    map_put,
    map_reset,
)
from stackmask.pda.memory.byte_sets cimport lowest_bit
from stackmask.pda.terms.term_table cimport ANY_BYTE, EPS, K_ALT, K_LIT, K_SEQ, Term
from stackmask.pda.masks.shared.arena cimport NO_TOKENS, Group, Mask, is_nothing, nothing
from stackmask.pda.vocabulary.suffix_tries cimport Nodes, is_inclusive, node_at, place_at, trie_of
from stackmask.pda.context.semantic_states cimport SEM_SYMBOL
from stackmask.pda.masks.prefixes.literal_table cimport Literal

cdef enum:
    FEW_KIDS = 16       # up to so many children, all are visited


@cython.final
cdef class LiteralMasks(MaskPart):
    """The masks of prefixes that are literals, made on demand."""

    def __cinit__(self, MaskContext context not None, MaskArena arena not None):
        self.arena = arena
        map_init(&self.group_masks)
        self.table = LiteralTable(self.terms)
        self.spelled_masks = 0

    def __dealloc__(self):
        map_free(&self.group_masks)

    cdef int drop(self) except -1 nogil:
        """Forget all masks."""
        self.table.forget_masks()
        map_reset(&self.group_masks)
        return MaskPart.drop(self)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held here."""
        cdef size_t held = map_nbytes(&self.group_masks)
        return held

    cdef MaskId of_vocabulary(self, LiteralId literal) except -3 nogil:
        """Return the mask of a literal for the whole vocabulary."""
        cdef vector[PlaceId] whole
        cdef MaskId found = self.table.literals[literal].mask
        if found == NO_MASK:
            whole.push_back(0)
            found = self.spell(literal, whole)
            self.table.literals[literal].mask = found
        return found

    cdef MaskId of_group(self, SuffixesId group, LiteralId literal) except -3 nogil:
        """Return the mask of a literal for the suffixes of a group, after which no guard is pending."""
        cdef uint64_t key = (<uint64_t>group << 32) | <uint64_t>literal  # mutant: literal-key
        cdef MaskId found = map_get(&self.group_masks, key)
        cdef vector[PlaceId] places
        cdef int32_t i
        cdef Group g
        cdef Literal w
        if found != NO_VALUE:
            return found
        g = self.arena.groups[group]
        w = self.table.literals[literal]
        for i in range(g.place_first, g.place_first + g.place_count):
            places.push_back(self.arena.places[i])
        if g.run != NO_RUN:
            self.runs.append_suffixes(g.run, w.begins, places)
        found = self.spell(literal, places)
        map_put(&self.group_masks, key, found)
        return found

    cdef MaskId spell(self, LiteralId literal, vector[PlaceId]& places) except -3 nogil:
        """Spell a literal from some places and return the mask.

        Cost: linear in the nodes that spell a prefix of it. No term or configuration is made.
        """
        cdef Mask mask = nothing()
        cdef Literal w = self.table.literals[literal]
        cdef Spot at
        cdef size_t r
        cdef int32_t in_suffix_trie
        cdef SuffixesId group
        self.spelled_masks += 1
        self.last_position = w.first + w.count - 1
        self.tokens.clear()
        self.return_places.clear()
        for r in range(places.size()):
            in_suffix_trie = trie_of(places[r])
            at.node = node_at(places[r])
            at.position = w.first
            at.item = EPS
            at.offset = 0
            at.itself = is_inclusive(places[r])
            self.spots.clear()
            self.spots.push_back(at)
            while not self.spots.empty():
                at = self.spots.back()
                self.spots.pop_back()
                self.spell_next(at, in_suffix_trie)
        self.arena.keep_tokens(self.tokens, NO_ROW, &mask)
        if self.return_places.size():
            group = self.arena.intern_group(ANY_BYTE, SEM_SYMBOL, NO_RUN, self.return_places)
            mask.group_first = <int32_t>self.arena.mask_groups.size()
            mask.group_count = 1
            self.arena.mask_groups.push_back(group)
        if is_nothing(mask):
            return NO_TOKENS
        return self.arena.add(mask)

    cdef int spell_next(self, Spot at, int32_t in_suffix_trie) except -1 nogil:
        """Continue at the children of a node that have the next byte of the literal."""
        cdef Nodes nodes = self.context.tries.nodes(place_at(at.node, in_suffix_trie))
        cdef Term t
        cdef int32_t k, first, count, byte
        cdef uint64_t word
        cdef const uint64_t* words
        cdef const uint8_t* bytes_of
        cdef const uint8_t* found
        if at.item == EPS:
            at.item = self.table.items[at.position]
            t = self.terms.terms[at.item]
            if t.kind == K_ALT:
                for k in range(t.operands.first, t.operands.first + t.operands.count):
                    at.item = self.terms.kids[k]
                    self.spots.push_back(at)
                return 0
        t = self.terms.terms[at.item]
        if t.kind == K_SEQ:
            t = self.terms.terms[t.seq.first]
        if at.itself:
            at.itself = False
            byte = nodes.byte[at.node]
            if t.kind == K_LIT:
                if self.terms.pool[t.literal.first + at.offset] == byte:
                    self.take_node(at, at.node, in_suffix_trie)
            elif self.terms.classes.set_has(t.set_id, byte):
                self.take_node(at, at.node, in_suffix_trie)
            return 0
        first = nodes.kid_first[at.node]
        count = nodes.kid_first[at.node + 1] - first
        bytes_of = nodes.kid_byte + first
        if t.kind == K_LIT:
            found = <const uint8_t*>memchr(bytes_of, self.terms.pool[t.literal.first + at.offset], count)
            if found != NULL:
                self.take_node(at, nodes.kid_node[first + (found - bytes_of)], in_suffix_trie)
        elif count <= FEW_KIDS:
            for k in range(count):
                if self.terms.classes.set_has(t.set_id, bytes_of[k]):
                    self.take_node(at, nodes.kid_node[first + k], in_suffix_trie)
        else:
            words = &self.terms.classes.sets[4 * t.set_id]
            for k in range(4):
                word = words[k]
                while word:
                    found = <const uint8_t*>memchr(bytes_of, 64 * k + lowest_bit(word), count)
                    if found != NULL:
                        self.take_node(at, nodes.kid_node[first + (found - bytes_of)], in_suffix_trie)
                    word &= word - 1
        return 0

    cdef int take_node(self, Spot at, NodeId kid, int32_t in_suffix_trie) except -1 nogil:
        """Take the tokens of a node that the next byte leads to, and store how to continue from it."""
        cdef Nodes nodes = self.context.tries.nodes(place_at(kid, in_suffix_trie))
        cdef Term t = self.terms.terms[at.item]
        cdef Term u
        cdef int32_t k
        for k in range(nodes.token_first[kid], nodes.token_first[kid + 1]):
            self.tokens.push_back(nodes.tokens[k])
        if nodes.kid_first[kid] == nodes.kid_first[kid + 1]:
            return 0
        at.node = kid
        u = self.terms.terms[t.seq.first] if t.kind == K_SEQ else t
        at.offset += 1
        if u.kind != K_LIT or at.offset == u.literal.length:
            at.offset = 0
            at.item = t.seq.rest if t.kind == K_SEQ else EPS
            if at.item == EPS:
                if at.position == self.last_position:
                    self.return_places.push_back(place_at(kid, in_suffix_trie))
                    return 0
                at.position += 1
        self.spots.push_back(at)
        return 0
