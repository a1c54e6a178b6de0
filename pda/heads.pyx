# distutils: language = c++
"""Heads: states cut in two, so that one mask serves many of them.

What a state can do next is mostly decided by its beginning: the rest of a name, of a string with its quote,
of a word. A state ``head rest`` is taken as if it stood at the end of a rule ``head`` that returns to
``rest``. Then the mask of the head is walked once, whatever follows it and whatever keys the object around
it has, and only the tokens that go on behind the head ask for the rest, over merged remainders. Alternatives,
such as the names that an object may go on with, are cut one by one, those that share a beginning together
once few texts of the vocabulary go on behind it; a way on whose tests of keys do not hold is left out.

This pays off where few tokens go on behind the head. So a head ends with a *word*, which is bytes with an
end of their own, such as a quote; or with a rule; or it begins like few tokens, as numbers do. A head is
never empty, and asks for no key state.
"""

cimport cython
from libc.stdint cimport int64_t

from stackmask.pda.bit_sets cimport count_bits
from stackmask.pda.interning cimport (
    ANY_BYTE,
    EMPTY,
    EPS,
    F_IMPURE,
    F_KEYS,
    K_ALT,
    K_CALL,
    K_LIT,
    K_REP,
    K_SEQ,
    K_SET,
    K_TOKEN,
    NEVER,
    TEST_RULE,
    Ends,
    Term,
)
from stackmask.pda.keys cimport KeyStates
from stackmask.pda.terms cimport TermStore
from stackmask.pda.trie cimport Trie

cdef enum:
    UNSEEN = -1
    NO = 1
    YES = 2
    MAX_KIDS = 16       # alternatives of a word
    MAX_LEAVES = 64     # ways on of one state
    FEW_BELOW = 16      # nodes of the vocabulary below words behind which names part
    FEW_PLACES = 16     # where words that are looked for may end in it
    FEW_BLANKS = 8      # bytes of which blanks are made
    MOST_LOOKS = 1024   # terms that are looked at for a first byte
    FEW = 8             # of so many texts, at most one begins like a head that ends anywhere
    MANY_BYTES = 8      # one of so many is no word unless few texts begin with it


cdef bint add_all(uint64_t* words) noexcept:
    words[0] = words[1] = words[2] = words[3] = ~<uint64_t>0
    return True


@cython.final
cdef class Heads:
    """The cuts of the states of one store, found when they are first asked for."""

    def __cinit__(self, TermStore terms not None, KeyStates keys not None, Trie trie not None):
        cdef int32_t k, kid
        self.terms = terms
        self.keys = keys
        self.trie = trie
        for k in range(256):
            self.nodes_below[k] = 0
        for k in range(trie.kid_first[0], trie.kid_first[1]):
            kid = trie.kid_node[k]
            self.nodes_below[trie.kid_byte[k]] = trie.end[kid] - kid

    cdef bint is_word(self, int32_t term) noexcept:
        """Tell whether a term is some bytes, or one of a few such texts. Cost: a load, once known."""
        cdef Term u = self.terms.terms[term]
        cdef Term kid
        cdef int32_t k
        cdef bint found
        if u.kind == K_SET or u.kind == K_LIT:
            return True
        if u.kind != K_ALT or u.b > MAX_KIDS:
            return False
        if <size_t>term >= self.word_of.size():
            self.word_of.resize(self.terms.terms.size(), 0)
        if not self.word_of[term]:
            found = True
            for k in range(u.a, u.a + u.b):
                kid = self.terms.terms[self.terms.kids[k]]
                while kid.kind == K_SEQ and (
                    self.terms.terms[kid.a].kind == K_SET or self.terms.terms[kid.a].kind == K_LIT
                ):
                    kid = self.terms.terms[kid.b]
                found = found and (kid.kind == K_SET or kid.kind == K_LIT)
            self.word_of[term] = NO
            if found:
                self.word_of[term] = YES
        return self.word_of[term] == YES

    cdef Cut cut(self, int32_t state) except *:
        """Return the ways on of a state. Remembered."""
        cdef Cut found
        if <size_t>state >= self.cuts.size():
            found.first = 0
            found.count = UNSEEN
            found.other = EMPTY
            self.cuts.resize(self.terms.terms.size(), found)
        found = self.cuts[state]
        if found.count == UNSEEN:
            self.find(state, &found)
            self.cuts[state] = found
        return found

    cdef int find(self, int32_t state, Cut* found) except -1:
        cdef Piece at
        cdef size_t i, first = 0
        found.first = <int32_t>self.leaves.size()
        self.left.clear()
        self.parts.clear()
        self.ready.clear()
        self.texts.clear()
        at.term = state
        at.after = EPS
        at.depth = 0
        at.nullable = at.words = True
        at.ends = False
        self.parts.push_back(at)
        # terms are made once it is known that the ways on are not too many
        while not self.parts.empty() and self.ready.size() <= MAX_LEAVES:
            at = self.parts.back()
            self.parts.pop_back()
            self.path.resize(at.depth)
            self.follow(at)
        if self.ready.size() > MAX_LEAVES:
            self.ready.clear()
        for i in range(self.ready.size()):
            at = self.ready[i]
            self.path.assign(self.texts.begin() + first, self.texts.begin() + first + at.depth)
            first += at.depth
            self.add_leaf(at)
        found.count = <int32_t>self.ready.size()
        found.other = EMPTY
        if found.count and self.left.size():
            found.other = self.left[0] if self.left.size() == 1 else self.terms.mk_alt(self.left, 0)
        if not found.count:
            self.find_blanks(state, found)
        return 0

    cdef int find_blanks(self, int32_t state, Cut* found) except -1:
        """Cut a state into blanks, which may be none, and what follows them, if that is cut in turn.

        What follows must not begin like a blank: then the runs of blanks tell where it begins.
        """
        cdef Term u = self.terms.terms[state]
        cdef Term blanks
        cdef Leaf leaf
        cdef int32_t k, count = 0, left = MOST_LOOKS
        cdef uint64_t words[4]
        cdef const uint64_t* own
        if u.kind != K_SEQ or self.terms.terms[u.a].kind != K_REP or self.terms.terms[u.b].nu != NEVER:
            return 0
        blanks = self.terms.terms[self.terms.terms[u.a].a]
        if blanks.kind != K_SET or not self.terms.terms[u.b].flags & F_IMPURE:
            return 0
        for k in range(256):
            count += self.terms.set_has(blanks.a, k)
        words[0] = words[1] = words[2] = words[3] = 0
        if count > FEW_BLANKS or self.add_first(u.b, words, &left):
            return 0
        own = &self.terms.sets[4 * blanks.a]
        for k in range(4):
            if own[k] & words[k]:
                return 0
        if not self.cut(u.b).count:
            return 0
        leaf.head = state
        leaf.tail = leaf.rest = u.b
        leaf.after = EPS
        leaf.run = self.terms.terms[u.a].a
        leaf.low = self.terms.terms[u.a].b
        leaf.high = self.terms.terms[u.a].c
        leaf.words = leaf.nullable = leaf.calm = False
        leaf.first[0] = leaf.first[1] = leaf.first[2] = leaf.first[3] = ~<uint64_t>0
        leaf.live = EPS
        if self.terms.terms[u.b].flags & F_KEYS and not self.keys.always_lives(u.b):
            leaf.live = u.b
        found.first = <int32_t>self.leaves.size()
        found.count = 1
        self.leaves.push_back(leaf)
        return 0

    cdef bint add_first(self, int32_t state, uint64_t* words, int32_t* left) except -1:
        """Add the bytes that a state can begin with, all if unknown. Return whether it may be empty.

        ``left``: how many terms may be looked at.
        """
        cdef Term u, v
        cdef int32_t k, item, rule
        cdef bint on
        while True:
            left[0] -= 1
            if left[0] < 0:
                return add_all(words)
            u = self.terms.terms[state]
            item = u.a if u.kind == K_SEQ else state
            v = self.terms.terms[item]
            on = v.nu >= 0
            if v.kind == K_SET or v.kind == K_LIT:
                first_of_word(self.terms, item, words)
            elif v.kind == K_ALT:
                for k in range(v.a, v.a + v.b):
                    if self.add_first(self.terms.kids[k], words, left):
                        on = True
            elif v.kind == K_REP:
                if self.add_first(v.a, words, left):
                    on = True
            elif v.kind == K_CALL:
                rule = self.terms.call_rule[v.a]
                if rule <= TEST_RULE:
                    on = True
                elif rule < 0:
                    return add_all(words)
                elif self.add_first(self.terms.rule_body[rule], words, left) and v.c == 0:
                    on = True
            elif v.kind != K_TOKEN:
                return add_all(words)
            if not on:
                return False
            if u.kind != K_SEQ:
                return True
            state = u.b

    cdef int follow(self, Piece at) except -1:
        """Take items of a state into its head, as far as they go; alternatives go on by themselves."""
        cdef Term u, v
        cdef Piece part
        cdef int32_t item, next, k, keyed
        cdef bint inside = True     # not yet behind the alternative that this is
        while True:
            if at.term == EPS:
                at.term = at.after
                at.after = EPS
                inside = False
            if at.term == EPS:
                break
            u = self.terms.terms[at.term]
            item = u.a if u.kind == K_SEQ else at.term
            next = u.b if u.kind == K_SEQ else EPS
            v = self.terms.terms[item]
            keyed = (self.terms.terms[next].flags | self.terms.terms[at.after].flags) & F_KEYS
            if self.is_word(item):
                at.ends = True
                at.nullable = False
            elif v.flags & F_IMPURE and keyed and not v.flags & F_KEYS and at.nullable:
                # what a rule means does not depend on the keys around it
                at.words = False
                at.ends = True
                at.nullable = v.nu >= 0
            elif v.kind == K_ALT and v.flags & F_IMPURE and at.words and inside:
                if at.ends and self.few_below():
                    break
                part = at
                part.depth = <int32_t>self.path.size()
                if next != EPS:
                    part.after = next if at.after == EPS else self.terms.mk_seq(next, at.after)
                    if part.after == EMPTY:
                        # a restriction leaves nothing that could follow
                        return 0
                for k in range(v.a, v.a + v.b):
                    part.term = self.terms.kids[k]
                    self.parts.push_back(part)
                return 0
            elif v.flags & F_IMPURE or (at.ends and not at.nullable):
                break
            else:
                at.words = at.ends = False
                at.nullable = at.nullable and v.nu >= 0
            self.path.push_back(item)
            at.term = next
        if not at.nullable and (self.begins_few() if not at.ends or self.ends_wide(at.words) else True):
            at.depth = <int32_t>self.path.size()
            self.ready.push_back(at)
            self.texts.insert(self.texts.end(), self.path.begin(), self.path.end())
            return 0
        if at.nullable and at.term != EPS and self.fill_path():
            # what comes first, if anything does; and what follows it, by itself
            part = at
            at.depth = 1
            self.ready.push_back(at)
            self.texts.push_back(self.path[0])
            part.depth = 0
            part.nullable = part.words = True
            part.ends = False
            self.parts.push_back(part)
            return 0
        item = at.term if at.after == EPS else self.terms.mk_seq(at.term, at.after)
        # other alternatives may begin with the same items
        for k in range(<int32_t>self.path.size() - 1, -1, -1):
            item = self.terms.mk_seq(self.path[k], item)
        self.left.push_back(item)
        return 0

    cdef bint fill_path(self) except -1:
        """Make one item of those in ``path``, which may all be empty, without the empty text, if it pays.

        It is where few texts begin like that, as behind the first digit of a number.
        """
        cdef int32_t found = EMPTY, first, k
        cdef bint few
        if self.path.empty():
            return False
        few = self.begins_few()
        k = <int32_t>self.path.size()
        while few and k:
            # the first of the items that is there, and those behind it
            k -= 1
            first = self.filled(self.path[k])
            if first == EMPTY:
                return False
            if k + 1 < <int32_t>self.path.size():
                found = self.terms.mk_alt2(self.terms.mk_seq(first, self.tail), found)
                self.tail = self.terms.mk_seq(self.path[k], self.tail)
            else:
                found = first
                self.tail = self.path[k]
        if few:
            self.path.assign(1, found)
        return few

    cdef int32_t filled(self, int32_t item) except -1:
        """Return an item without the empty text; EMPTY where that takes more than a look."""
        cdef Term u = self.terms.terms[item]
        cdef vector[int32_t] kids
        cdef int32_t k, kid
        if u.flags & F_IMPURE:
            return EMPTY
        if u.nu == NEVER:
            return item
        if u.kind == K_REP and self.terms.terms[u.a].nu == NEVER:
            return self.terms.mk_rep(u.a, 1, u.c)
        if u.kind != K_ALT:
            return EMPTY
        for k in range(u.a, u.a + u.b):
            kid = self.terms.kids[k]
            if kid == EPS:
                continue
            kid = self.filled(kid)
            if kid == EMPTY:
                return EMPTY
            kids.push_back(kid)
        return self.terms.mk_alt(kids, 0)

    cdef bint begins_few(self) except -1:
        """Tell whether few texts of the vocabulary begin like what is in ``path``, as with numbers."""
        cdef int32_t head = EPS, map, b
        cdef int32_t k = <int32_t>self.path.size()
        cdef int64_t nodes = 0
        while k:
            k -= 1
            if self.terms.terms[self.path[k]].flags & F_IMPURE:
                return False
            head = self.terms.mk_seq(self.path[k], head)
        map = self.terms.classes_of(head)
        for k in range(self.terms.maps[map].count):
            if self.terms.derive(head, self.terms.maps[map].byte_of[k]) == EMPTY:
                continue
            for b in range(256):
                if self.terms.maps[map].of[b] == k:
                    nodes += self.nodes_below[b]
        return nodes * FEW < self.trie.nodes

    cdef bint ends_wide(self, bint words) noexcept:
        """Tell whether ``path`` is one byte of many: nearly all texts that begin so go on behind it."""
        cdef Term last = self.terms.terms[self.path.back()]
        if not words or self.path.size() > 1 or last.kind != K_SET:
            return False
        return count_bits(&self.terms.sets[4 * last.a], 4) >= MANY_BYTES

    cdef bint few_below(self) except -1:
        """Tell whether few texts of the vocabulary go on behind the words in ``path``.

        Cost: the bytes of the words, as far as the vocabulary has them.
        """
        cdef int32_t k, n, below = 0
        cdef size_t i
        cdef Term u
        cdef vector[int32_t] before
        cdef vector[int32_t] behind
        self.spots.assign(1, 0)
        for i in range(self.path.size()):
            u = self.terms.terms[self.path[i]]
            if u.kind == K_ALT:
                # a letter and its escapes
                before = self.spots
                behind.clear()
                for k in range(u.a, u.a + u.b):
                    self.spots = before
                    self.spell(self.terms.kids[k])
                    behind.insert(behind.end(), self.spots.begin(), self.spots.end())
                self.spots = behind
            else:
                self.spell(self.path[i])
            if self.spots.size() > FEW_PLACES:
                return False
        for i in range(self.spots.size()):
            n = self.spots[i]
            below += self.trie.end[n] - n - 1
        return below <= FEW_BELOW

    cdef int spell(self, int32_t text) except -1:
        """Go on from the nodes of the vocabulary in ``spots`` along one text of a word."""
        cdef Term u = self.terms.terms[text]
        cdef Term v
        cdef int32_t k, node, offset = 0
        cdef size_t i
        while not self.spots.empty():
            v = self.terms.terms[u.a] if u.kind == K_SEQ else u
            self.next_spots.clear()
            for i in range(self.spots.size()):
                node = self.spots[i]
                for k in range(self.trie.kid_first[node], self.trie.kid_first[node + 1]):
                    if (
                        self.terms.pool[v.a + offset] == self.trie.kid_byte[k]
                        if v.kind == K_LIT
                        else self.terms.set_has(v.a, self.trie.kid_byte[k])
                    ):
                        self.next_spots.push_back(self.trie.kid_node[k])
            self.spots.swap(self.next_spots)
            offset += 1
            if v.kind == K_SET or offset == v.b:
                if u.kind != K_SEQ:
                    return 0
                u = self.terms.terms[u.b]
                offset = 0
        return 0

    cdef int add_leaf(self, Piece at) except -1:
        """Add the way on whose head is ``path``."""
        cdef Leaf leaf
        cdef int32_t head = EPS
        cdef int32_t k = <int32_t>self.path.size()
        leaf.tail = at.term
        leaf.after = at.after
        leaf.rest = at.term if at.after == EPS else UNSEEN
        leaf.words = at.words
        leaf.run = NO_RUN_ITEM
        leaf.calm = not (self.terms.terms[at.term].flags | self.terms.terms[at.after].flags) & F_IMPURE
        leaf.nullable = self.terms.terms[at.term].nu >= 0 and self.terms.terms[at.after].nu >= 0
        leaf.first[0] = leaf.first[1] = leaf.first[2] = leaf.first[3] = 0
        if at.words:
            first_of_word(self.terms, self.path[0], leaf.first)
        else:
            leaf.first[0] = leaf.first[1] = leaf.first[2] = leaf.first[3] = ~<uint64_t>0
        while k:
            k -= 1
            head = self.terms.mk_seq(self.path[k], head)
        leaf.head = head
        self.leaves.push_back(leaf)
        k = <int32_t>self.leaves.size() - 1
        leaf.live = EPS
        if self.terms.terms[at.term].flags & F_KEYS:
            leaf.live = self.rest_of(k) if self.keys.passes(at.term) else at.term
        elif self.terms.terms[at.after].flags & F_KEYS:
            leaf.live = at.after
        if leaf.live != EPS and self.keys.always_lives(leaf.live):
            leaf.live = EPS
        self.leaves[k].live = leaf.live
        return 0

    cdef int32_t rest_of(self, int32_t leaf) except -1:
        """Return what follows a head, as one state."""
        cdef Leaf* at = &self.leaves[leaf]
        cdef int32_t rest = at.rest
        if rest == UNSEEN:
            rest = self.terms.mk_seq(at.tail, at.after)
            self.leaves[leaf].rest = rest
        return rest

    cdef bint is_calm(self, int32_t leaf) except -1:
        """Tell whether what follows a head can end with no restriction pending: then every frame goes on."""
        cdef Leaf at = self.leaves[leaf]
        cdef Ends first, behind
        if self.terms.guard_sets.size() > 1:
            self.terms.ends(at.tail, ANY_BYTE, &first)
            self.terms.ends(at.after, ANY_BYTE, &behind)
            if not (first.consumed | first.silent) & (behind.consumed | behind.silent) & 1:
                return False
            self.leaves[leaf].calm = True
        return True

    cdef int refuse(self, int32_t state) except -1:
        """Leave a state uncut from now on."""
        self.cuts[state].count = 0
        return 0


cdef int first_of_word(TermStore terms, int32_t term, uint64_t* words) noexcept:
    """Add the bytes that a word, or a sequence of words, can begin with."""
    cdef Term u = terms.terms[term]
    cdef int32_t k, byte
    if u.kind == K_SEQ:
        u = terms.terms[u.a]
    if u.kind == K_ALT:
        for k in range(u.a, u.a + u.b):
            first_of_word(terms, terms.kids[k], words)
    elif u.kind == K_LIT:
        byte = terms.pool[u.a]
        words[byte >> 6] |= <uint64_t>1 << (byte & 63)
    else:
        for k in range(4):
            words[k] |= terms.sets[4 * u.a + k]
    return 0
