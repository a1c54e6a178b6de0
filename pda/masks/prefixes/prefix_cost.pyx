# distutils: language = c++
"""What a prefix costs: how many tokens of the vocabulary begin like it, and how many continue after it.

A prefix pays off if few tokens continue after it, or if few tokens begin like it.
"""

cimport cython
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memchr

from stackmask.pda.ids cimport MapId
from stackmask.pda.memory.byte_sets cimport count_bits, lowest_bit
from stackmask.pda.memory.checked_vectors cimport copy_items, refill
from stackmask.pda.terms.term_table cimport (
    CALL_RESOLVER,
    CALL_TEST,
    EMPTY,
    EPS,
    F_IMPURE,
    K_ALT,
    K_CALL,
    K_LIT,
    K_REP,
    K_SEQ,
    K_SET,
    K_TOKEN,
    Call,
    Term,
)
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.vocabulary.token_trie cimport Trie

cdef enum:
    NO = 1
    YES = 2
    MAX_KIDS = 16       # alternatives of a literal
    FEW_FOLLOWING = 16      # alternatives share a literal if more nodes of the trie than these follow it
    FEW_KIDS = 16       # up to so many children, all are visited
    FEW_PLACES = 16     # nodes at which a literal may end; with more, it is not followed
    FEW = 8             # less than one node of eight may begin like a prefix without a literal at its end
    MANY_BYTES = 8      # a set of so many bytes alone is no good literal


cdef bint add_all(uint64_t* words) noexcept nogil:
    words[0] = words[1] = words[2] = words[3] = ~<uint64_t>0
    return True


@cython.final
cdef class PrefixCost:
    """Estimates about the terms of one store and one vocabulary; ``path`` is the prefix in question."""

    def __cinit__(self, TermStore terms not None, Trie trie not None):
        cdef int32_t k
        cdef NodeId kid
        self.terms = terms
        self.trie = trie
        for k in range(256):
            self.nodes_after[k] = 0
        for k in range(trie.kid_first[0], trie.kid_first[1]):
            kid = trie.kid_node[k]
            self.nodes_after[trie.kid_byte[k]] = trie.end[kid] - kid

    cdef bint is_literal(self, TermId term) except -1 nogil:
        """Tell whether a term is a fixed string, or one of a few. Cost: one load, once known."""
        cdef Term u = self.terms.terms[term]
        cdef Term kid
        cdef int32_t k
        cdef bint found
        if u.kind == K_SET or u.kind == K_LIT:
            return True
        if u.kind != K_ALT or u.operands.count > MAX_KIDS:
            return False
        if <size_t>term >= self.literal_of.size():
            self.literal_of.resize(self.terms.terms.size(), 0)
        if not self.literal_of[term]:
            found = True
            for k in range(u.operands.first, u.operands.first + u.operands.count):
                kid = self.terms.terms[self.terms.kids[k]]
                while kid.kind == K_SEQ and (
                    self.terms.terms[kid.seq.first].kind == K_SET
                    or self.terms.terms[kid.seq.first].kind == K_LIT
                ):
                    kid = self.terms.terms[kid.seq.rest]
                found = found and (kid.kind == K_SET or kid.kind == K_LIT)
            self.literal_of[term] = NO
            if found:
                self.literal_of[term] = YES
        return self.literal_of[term] == YES

    cdef bint add_first(self, TermId state, uint64_t* words, int32_t* left) except -1 nogil:
        """Add the bytes that a state can begin with; all, if unknown. Return whether it may be empty.

        ``left``: how many more terms may be visited.
        """
        cdef Term u, v
        cdef int32_t k
        cdef TermId item
        cdef const Call* call
        cdef bint on
        while True:
            left[0] -= 1
            if left[0] < 0:
                return add_all(words)
            u = self.terms.terms[state]
            item = u.seq.first if u.kind == K_SEQ else state
            v = self.terms.terms[item]
            on = v.nu.possible()
            if v.kind == K_SET or v.kind == K_LIT:
                first_bytes_of_literal(self.terms, item, words)
            elif v.kind == K_ALT:
                for k in range(v.operands.first, v.operands.first + v.operands.count):
                    if self.add_first(self.terms.kids[k], words, left):
                        on = True
            elif v.kind == K_REP:
                if self.add_first(v.rep.item, words, left):
                    on = True
            elif v.kind == K_CALL:
                call = &self.terms.call_table[v.call.id]
                if call.kind == CALL_TEST:
                    on = True
                elif call.kind == CALL_RESOLVER:
                    return add_all(words)
                elif self.add_first(self.terms.rule_body[call.rule], words, left) and not v.call.nonempty:
                    on = True
            elif v.kind != K_TOKEN:
                return add_all(words)
            if not on:
                return False
            if u.kind != K_SEQ:
                return True
            state = u.seq.rest

    cdef bint few_begin(self, const uint64_t* words) noexcept nogil:
        """Tell whether few nodes of the vocabulary begin with these bytes."""
        cdef int64_t nodes = 0
        cdef int32_t b
        cdef uint64_t left
        for b in range(4):
            left = words[b]
            while left:
                nodes += self.nodes_after[64 * b + lowest_bit(left)]
                left &= left - 1
        return nodes * FEW < self.trie.nodes

    cdef bint begins_few(self) except -1 nogil:
        """Tell whether few nodes of the vocabulary begin like ``path``, as with numbers."""
        cdef TermId prefix = EPS
        cdef MapId map
        cdef int32_t b, left = MOST_LOOKS
        cdef int32_t k = <int32_t>self.path.size()
        cdef size_t i
        cdef uint64_t words[4]
        cdef bint alive[256]
        for i in range(self.path.size()):
            if self.terms.terms[self.path[i]].flags & F_IMPURE:
                return False
        words[0] = words[1] = words[2] = words[3] = 0
        for i in range(self.path.size()):
            if not self.add_first(self.path[i], words, &left):
                break
        if ~(words[0] & words[1] & words[2] & words[3]):
            return self.few_begin(words)
        # add_first found every byte possible: derive by each class of bytes to exclude some
        while k:
            k -= 1
            prefix = self.terms.mk_seq(self.path[k], prefix)
        map = self.terms.classes_of(prefix)
        for k in range(self.terms.classes.maps[map].count):
            alive[k] = self.terms.derive(prefix, self.terms.classes.maps[map].byte_of[k]) != EMPTY
        words[0] = words[1] = words[2] = words[3] = 0
        for b in range(256):
            if alive[self.terms.classes.maps[map].of[b]]:
                words[b >> 6] |= <uint64_t>1 << (b & 63)
        return self.few_begin(words)

    cdef bint ends_wide(self, bint words) noexcept nogil:
        """Tell whether ``path`` is one byte out of many: then nearly all tokens continue after it."""
        cdef Term last = self.terms.terms[self.path.back()]
        if not words or self.path.size() > 1 or last.kind != K_SET:
            return False
        return count_bits(&self.terms.classes.sets[4 * last.set_id], 4) >= MANY_BYTES

    cdef bint few_follow(self) except -1 nogil:
        """Tell whether few nodes of the vocabulary are after the literals in ``path``.

        Cost: the bytes of the literals, as far as the vocabulary has them.
        """
        cdef int32_t k, following = 0
        cdef NodeId n
        cdef size_t i
        cdef Term u
        cdef vector[NodeId] before
        cdef vector[NodeId] after_run
        refill(self.spots, 1, 0)
        for i in range(self.path.size()):
            u = self.terms.terms[self.path[i]]
            if u.kind == K_ALT:
                # a letter or one of its escapes
                copy_items(before, self.spots)
                after_run.clear()
                for k in range(u.operands.first, u.operands.first + u.operands.count):
                    copy_items(self.spots, before)
                    self.spell(self.terms.kids[k])
                    after_run.insert(after_run.end(), self.spots.begin(), self.spots.end())
                copy_items(self.spots, after_run)
            else:
                self.spell(self.path[i])
            if self.spots.size() > FEW_PLACES:
                return False
        for i in range(self.spots.size()):
            n = self.spots[i]
            following += self.trie.end[n] - n - 1
        return following <= FEW_FOLLOWING

    cdef int spell_byte(self, NodeId node, int32_t byte) except -1 nogil:
        """Append the child of a node with a byte, if there is one."""
        cdef int32_t first = self.trie.kid_first[node]
        cdef const uint8_t* bytes_of = self.trie.kid_byte.data() + first
        cdef const uint8_t* found = <const uint8_t*>memchr(
            bytes_of, byte, self.trie.kid_first[node + 1] - first
        )
        if found != NULL:
            self.next_spots.push_back(self.trie.kid_node[first + (found - bytes_of)])
        return 0

    cdef int spell(self, TermId string) except -1 nogil:
        """Continue from the nodes in ``spots`` along one string of a literal."""
        cdef Term u = self.terms.terms[string]
        cdef Term v
        cdef int32_t k, b
        cdef NodeId node
        cdef int32_t offset = 0
        cdef size_t i
        cdef uint64_t left
        while not self.spots.empty():
            v = self.terms.terms[u.seq.first] if u.kind == K_SEQ else u
            self.next_spots.clear()
            for i in range(self.spots.size()):
                node = self.spots[i]
                if v.kind == K_LIT:
                    self.spell_byte(node, self.terms.pool[v.literal.first + offset])
                elif self.trie.kid_first[node + 1] - self.trie.kid_first[node] <= FEW_KIDS:
                    for k in range(self.trie.kid_first[node], self.trie.kid_first[node + 1]):
                        if self.terms.classes.set_has(v.set_id, self.trie.kid_byte[k]):
                            self.next_spots.push_back(self.trie.kid_node[k])
                else:
                    for b in range(4):
                        left = self.terms.classes.sets[4 * v.set_id + b]
                        while left:
                            self.spell_byte(node, 64 * b + lowest_bit(left))
                            left &= left - 1
            self.spots.swap(self.next_spots)
            offset += 1
            if v.kind == K_SET or offset == v.literal.length:
                if u.kind != K_SEQ:
                    return 0
                u = self.terms.terms[u.seq.rest]
                offset = 0
        return 0


cdef int first_bytes_of_literal(TermStore terms, TermId term, uint64_t* words) noexcept nogil:
    """Add the bytes that a literal, or a sequence of literals, can begin with."""
    cdef Term u = terms.terms[term]
    cdef int32_t k, byte
    if u.kind == K_SEQ:
        u = terms.terms[u.seq.first]
    if u.kind == K_ALT:
        for k in range(u.operands.first, u.operands.first + u.operands.count):
            first_bytes_of_literal(terms, terms.kids[k], words)
    elif u.kind == K_LIT:
        byte = terms.pool[u.literal.first]
        words[byte >> 6] |= <uint64_t>1 << (byte & 63)
    else:
        for k in range(4):
            words[k] |= terms.classes.sets[4 * u.set_id + k]
    return 0
