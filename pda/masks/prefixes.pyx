# distutils: language = c++
"""Prefixes of local states: the cost of splits, literals, splits of states, masks of literals."""

cimport cython
from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memchr

from stackmask.pda.context.semantic_states cimport SEM_SYMBOL, Semantics
from stackmask.pda.ids cimport (
    ACTION_NONE,
    FAILED,
    ID_FAILED,
    NO_CALLEE,
    NO_MASK,
    NO_ROW,
    NO_RUN,
    NO_TERM,
    NO_TEST,
    MapId,
)
from stackmask.pda.masks.arena cimport NO_TOKENS, Group, Mask, MaskContext, MaskGroup, MaskPart, is_nothing, nothing
from stackmask.pda.memory.byte_sets cimport count_bits, lowest_bit
from stackmask.pda.memory.checked_vectors cimport copy_items, refill
from stackmask.pda.memory.hash_tables cimport NO_VALUE, Probe, mix
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.terms.term_table cimport (
    ANY_BYTE,
    CALL_RESOLVER,
    CALL_RULE,
    CALL_TEST,
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
    Call,
    Ends,
    Repetition,
    Term,
    one_less,
)
from stackmask.pda.vocabulary.suffix_tries cimport Nodes, is_inclusive, node_at, place_at, trie_of
from stackmask.pda.vocabulary.token_trie cimport Trie


# ------------------------------------------------------------------------------------------------
# What a prefix costs: how many tokens of the vocabulary begin like it, and how many continue after it.
#
# A prefix pays off if few tokens continue after it, or if few tokens begin like it.
# ------------------------------------------------------------------------------------------------


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
    """Estimates about the terms of one store and one vocabulary. ``path``: the prefix to be estimated."""

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

    cdef bint is_literal(self, TermId term) except FAILED nogil:
        """Return whether a term is a fixed string, or one of a few strings. Cost: a load once it is known."""
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

    cdef bint add_first(self, TermId state, uint64_t* words, int32_t* left) except FAILED nogil:
        """Add the bytes with which a state can begin (all if unknown). Return whether the state may be empty.

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
        """Return whether few nodes of the vocabulary begin with these bytes."""
        cdef int64_t nodes = 0
        cdef int32_t b
        cdef uint64_t left
        for b in range(4):
            left = words[b]
            while left:
                nodes += self.nodes_after[64 * b + lowest_bit(left)]
                left &= left - 1
        return nodes * FEW < self.trie.nodes

    cdef bint begins_few(self) except FAILED nogil:
        """Return whether few nodes of the vocabulary begin like ``path``, as with numbers."""
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
        """Return whether ``path`` is one of many bytes: then nearly all tokens continue after it."""
        cdef Term last = self.terms.terms[self.path.back()]
        if not words or self.path.size() > 1 or last.kind != K_SET:
            return False
        return count_bits(&self.terms.classes.sets[4 * last.set_id], 4) >= MANY_BYTES

    cdef bint few_follow(self) except FAILED nogil:
        """Return whether few nodes of the vocabulary are after the literals in ``path``.

        Cost: linear in the bytes of the literals that the vocabulary has.
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

    cdef int spell_byte(self, NodeId node, int32_t byte) except FAILED nogil:
        """Append the child of a node for a byte, if there is one."""
        cdef int32_t first = self.trie.kid_first[node]
        cdef const uint8_t* bytes_of = self.trie.kid_byte.data() + first
        cdef const uint8_t* found = <const uint8_t*>memchr(
            bytes_of, byte, self.trie.kid_first[node + 1] - first
        )
        if found != NULL:
            self.next_spots.push_back(self.trie.kid_node[first + (found - bytes_of)])
        return 0

    cdef int spell(self, TermId string) except FAILED nogil:
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
    """Add the bytes with which a literal, or a sequence of literals, can begin."""
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


# ------------------------------------------------------------------------------------------------
# Literals by number: prefixes that are one fixed string or a few, such as the names of an object.
#
# As a term, a literal is a chain with a term for each letter, which few walks ever need. So it is stored as a
# list of items, interned by content. Its continuation is a term of its own.
# ------------------------------------------------------------------------------------------------


@cython.final
cdef class LiteralTable:
    """The literals of one store."""

    def __cinit__(self, TermStore terms not None):
        self.terms = terms

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held here."""
        return sizeof(Literal) * self.literals.size() + 4 * self.items.size() + self.index.nbytes()

    cdef LiteralId number_of(self, const vector[TermId]& path) except ID_FAILED nogil:
        """Return the number of the literal with these items, at least one. Cost: linear in the items."""
        cdef Literal literal
        cdef const Literal* other
        cdef Probe probe
        cdef LiteralId id
        cdef size_t k, n = path.size()
        cdef uint64_t h = 83
        for k in range(n):
            h = mix(h, <uint32_t>path[k])
        probe = self.index.probe(h)
        id = self.index.next(probe)
        while id >= 0:
            other = &self.literals[id]
            if other.count == <int32_t>n:
                k = 0
                while k < n and self.items[other.first + k] == path[k]:
                    k += 1
                if k == n:
                    return id
            id = self.index.next(probe)
        literal.first = <int32_t>self.items.size()
        literal.count = <int32_t>n
        literal.term = NO_TERM
        literal.mask = NO_MASK
        literal.begins[0] = literal.begins[1] = literal.begins[2] = literal.begins[3] = 0
        first_bytes_of_literal(self.terms, path[0], literal.begins)
        for k in range(n):
            self.items.push_back(path[k])
        id = <int32_t>self.literals.size()
        self.literals.push_back(literal)
        self.index.put(probe, id)
        return id

    cdef TermId term_of(self, Prefix prefix) except ID_FAILED nogil:
        """Return a prefix as one term. Cached."""
        cdef LiteralId literal
        cdef Literal w
        cdef int32_t k
        if not prefix.is_literal:
            return as_term(prefix)
        literal = as_literal(prefix)
        w = self.literals[literal]
        if w.term == NO_TERM:
            w.term = EPS
            for k in range(w.first + w.count - 1, w.first - 1, -1):
                w.term = self.terms.mk_seq(self.items[k], w.term)
            self.literals[literal].term = w.term
        return w.term

    cdef int forget_masks(self) noexcept nogil:
        """Drop the masks of literals, when the store drops masks."""
        cdef size_t k
        for k in range(self.literals.size()):
            self.literals[k].mask = NO_MASK
        return 0


# ------------------------------------------------------------------------------------------------
# PrefixSplitter: states split into a prefix and a continuation, so that one mask serves many states.
#
# Mostly the beginning of a state tells what it allows next: what is left of a name, or of a string up to its
# quote. A state ``prefix continuation`` is treated like a rule ``prefix`` that returns to ``continuation``. So
# the prefix is walked once, whatever follows it and whatever keys the object around it has. Only the tokens
# that reach past the prefix need the continuation, which is walked over merged suffixes.
#
# A state is split by these rules:
#
# - Alternatives, such as the names that may come next in an object, are split one by one. Those that share a
#   beginning are split there together once few nodes of the vocabulary are after it.
# - A loop is an item and the loop again, or what follows the loop.
# - An alternative whose tests of keys fail is left out.
# - An undeclared key is a prefix. Its action is stored with the continuation.
#
# Splitting pays off if few tokens reach past the prefix. So a prefix ends with a literal (bytes with an end of
# their own, such as a quote) or with a rule, or few tokens begin like it, as with numbers. A prefix is never
# empty and tests no keys; a test may come before it.
# ------------------------------------------------------------------------------------------------


cdef enum:
    MAX_ALTERNATIVES = 128    # alternatives of one state
    MAX_STEPS = 1024   # terms that are visited for one state
    FEW_BLANKS = 8      # sets of blanks, and first bytes of loops, have at most so many


@cython.final
cdef class PrefixSplitter:
    """Splits the states of one store into prefixes and continuations on demand, and caches the splits."""

    def __cinit__(
        self,
        TermStore terms not None,
        Semantics semantics not None,
        Trie trie not None,
        LiteralTable literals,
    ):
        self.terms = terms
        self.cost = PrefixCost(terms, trie)
        self.semantics = semantics
        self.keys = semantics.keys
        self.literals = literals

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held here. Splits depend only on terms, so a drop of masks keeps them."""
        cdef size_t held = sizeof(Split) * self.splits.size() + sizeof(Alternative) * self.alternatives.size()
        return held + self.cost.literal_of.size() + self.split_index.nbytes()

    cdef int leave_whole(self, SplitId number) noexcept nogil:
        """Never split this state again."""
        self.splits[number].count = 0
        return 0

    cdef SplitId split(self, TermId state) except ID_FAILED nogil:
        """Return the index in ``splits`` for a state. Cached."""
        cdef Split found
        cdef SplitId at = self.split_index.get(<uint32_t>state)
        if at == NO_VALUE:
            self.find(state, &found)
            at = <int32_t>self.splits.size()
            self.splits.push_back(found)
            self.split_index.put(<uint32_t>state, at)
        return at

    cdef int find(self, TermId state, Split* found) except FAILED nogil:
        cdef PartialSplit at
        cdef Term u
        cdef size_t i, count = 0
        found.first = <int32_t>self.alternatives.size()
        self.left.clear()
        self.todo.clear()
        self.ready.clear()
        self.prefix_items.clear()
        self.same_prefix.clear()
        at.term = state
        at.after = at.test = at.key = EPS
        at.first = at.depth = at.joins = 0
        at.nullable = at.is_literal = True
        at.ends = False
        self.todo.push_back(at)
        # terms are made only after the alternatives are counted, and are not too many
        while not self.todo.empty() and self.ready.size() <= MAX_ALTERNATIVES and count < MAX_STEPS:
            count += 1
            at = self.todo.back()
            self.todo.pop_back()
            self.cost.path.resize(at.depth)
            self.follow(at)
        if self.ready.size() > MAX_ALTERNATIVES or not self.todo.empty():
            self.ready.clear()
            self.same_prefix.clear()
        self.join_continuations()
        for i in range(self.ready.size()):
            at = self.ready[i]
            self.cost.path.assign(
                self.prefix_items.begin() + at.first, self.prefix_items.begin() + at.first + at.depth
            )
            self.add_alternative(at)
        found.count = <int32_t>self.ready.size()
        found.other = EMPTY
        if found.count and self.left.size():
            found.other = self.left[0] if self.left.size() == 1 else self.terms.mk_alt(self.left, 0)
            u = self.terms.terms[state]
            if not u.flags & F_KEYS and self.is_loop(self.terms.terms[u.seq.first] if u.kind == K_SEQ else u):
                # a loop that is not split completely is walked as a whole
                found.count = 0
                found.other = EMPTY
        if not found.count:
            self.find_whitespace(state, found)
        return 0

    cdef int find_whitespace(self, TermId state, Split* found) except FAILED nogil:
        """Split a state into optional whitespace and its continuation, if the latter can be split in turn.

        The continuation must not begin with whitespace, so that the run of whitespace determines its start.
        """
        cdef Term u = self.terms.terms[state]
        cdef Term blanks
        cdef Alternative alternative
        cdef int32_t k, count = 0, left = MOST_LOOKS
        cdef uint64_t words[4]
        cdef const uint64_t* own
        alternative.test = NO_TEST
        if u.kind == K_SEQ and self.terms.terms[u.seq.first].kind == K_CALL:
            # the test before the blanks is made when the alternative is used
            if self.terms.call_table[self.terms.terms[u.seq.first].call.id].kind != CALL_TEST:
                return 0
            alternative.test = self.terms.call_table[self.terms.terms[u.seq.first].call.id].test
            u = self.terms.terms[u.seq.rest]
        if u.kind != K_SEQ or self.terms.terms[u.seq.first].kind != K_REP:
            return 0
        if self.terms.terms[u.seq.rest].nu.possible():
            return 0
        blanks = self.terms.terms[self.terms.terms[u.seq.first].rep.item]
        if blanks.kind != K_SET or not self.terms.terms[u.seq.rest].flags & F_IMPURE:
            return 0
        for k in range(256):
            count += self.terms.classes.set_has(blanks.set_id, k)
        words[0] = words[1] = words[2] = words[3] = 0
        if count > FEW_BLANKS or self.cost.add_first(u.seq.rest, words, &left):
            return 0
        own = &self.terms.classes.sets[4 * blanks.set_id]
        for k in range(4):
            if own[k] & words[k]:
                return 0
        if not self.splits[self.split(u.seq.rest)].count:
            return 0
        alternative.prefix = term_prefix(u.seq.first)
        alternative.tail = alternative.continuation = u.seq.rest
        alternative.after = alternative.call = EPS
        alternative.action = ACTION_NONE
        alternative.run = self.terms.terms[u.seq.first].rep.item
        alternative.nullable = alternative.unconditional = False
        alternative.live = EPS
        if self.terms.terms[u.seq.rest].flags & F_KEYS and not self.keys.needs.always_lives(u.seq.rest):
            alternative.live = u.seq.rest
        alternative.needs = self.keys.needs.needs_at(alternative.live)
        found.first = <int32_t>self.alternatives.size()
        found.count = 1
        self.alternatives.push_back(alternative)
        return 0

    cdef int follow(self, PartialSplit at) except FAILED nogil:
        """Move items of a state into its prefix as far as possible; alternatives are queued one by one."""
        cdef Term u, v
        cdef PartialSplit queued
        cdef TermId item, next
        cdef int32_t k, keyed
        cdef bint begins, pays
        cdef bint inside = True     # still in ``term``, not yet in ``after``
        while True:
            if at.term == EPS:
                at.term = at.after
                at.after = EPS
                inside = False
            if at.term == EPS:
                break
            u = self.terms.terms[at.term]
            item = u.seq.first if u.kind == K_SEQ else at.term
            next = u.seq.rest if u.kind == K_SEQ else EPS
            v = self.terms.terms[item]
            keyed = (self.terms.terms[next].flags | self.terms.terms[at.after].flags) & F_KEYS
            begins = self.cost.path.empty() and v.kind == K_CALL
            if begins and self.terms.call_table[v.call.id].kind == CALL_TEST:
                if at.test != EPS:
                    break
                at.test = item
                at.term = next
                continue
            if begins and self.is_key(v, next, at.after):
                at.key = item
                at.term = next
                at.ends = True
                at.nullable = at.is_literal = False
                self.cost.path.push_back(self.terms.rule_body[self.terms.call_table[v.call.id].rule])
                break
            if inside and self.is_loop(v):
                if self.cost.path.empty():
                    return self.unfold(at, v, next)
                if not v.flags & F_IMPURE:
                    break
            if self.cost.is_literal(item):
                at.ends = True
                at.nullable = False
            elif v.flags & F_IMPURE and keyed and not v.flags & F_KEYS and at.nullable:
                # the language of a rule does not depend on the keys around it
                at.is_literal = False
                at.ends = True
                at.nullable = v.nu.possible()
            elif v.kind == K_ALT and v.flags & F_IMPURE and at.is_literal and inside:
                if at.ends and self.cost.few_follow():
                    break
                queued = at
                queued.depth = <int32_t>self.cost.path.size()
                if next != EPS:
                    queued.after = next if at.after == EPS else self.terms.mk_seq(next, at.after)
                    if queued.after == EMPTY:
                        # a follow restriction leaves nothing that could follow
                        return 0
                for k in range(v.operands.first, v.operands.first + v.operands.count):
                    queued.term = self.terms.kids[k]
                    self.todo.push_back(queued)
                return 0
            elif v.flags & F_IMPURE or (at.ends and not at.nullable):
                break
            else:
                at.is_literal = at.ends = False
                at.nullable = at.nullable and v.nu.possible()
            self.cost.path.push_back(item)
            at.term = next
        pays = at.ends and not self.cost.ends_wide(at.is_literal)
        if not at.nullable and (pays or self.cost.begins_few()):
            return self.add_ready(at)
        if at.nullable and at.term != EPS and self.fill_path():
            # two alternatives: the non-empty strings of the items as a prefix, and what follows them
            queued = at
            self.add_ready(at)
            queued.depth = 0
            queued.nullable = queued.is_literal = True
            queued.ends = False
            self.todo.push_back(queued)
            return 0
        item = at.term if at.after == EPS else self.terms.mk_seq(at.term, at.after)
        # not split: put the items back before what is left
        for k in range(<int32_t>self.cost.path.size() - 1, -1, -1):
            item = self.terms.mk_seq(self.cost.path[k], item)
        self.left.push_back(self.terms.mk_seq(at.test, item))
        return 0

    cdef bint is_loop(self, Term loop) except FAILED nogil:
        """Return whether a repetition is unfolded, because it tests keys or is more than a run of characters.

        In the second case it must begin with few bytes, as a list of items after commas does. Walks treat
        other loops as a whole.
        """
        cdef uint64_t words[4]
        cdef int32_t left = MOST_LOOKS
        if loop.kind != K_REP or self.terms.terms[loop.rep.item].nu.possible():
            return False
        if loop.flags & F_KEYS:
            return True
        if not loop.flags & F_IMPURE and self.terms.terms[loop.rep.item].kind != K_SEQ:
            return False
        words[0] = words[1] = words[2] = words[3] = 0
        self.cost.add_first(loop.rep.item, words, &left)
        if count_bits(words, 4) > FEW_BLANKS:
            return False
        return loop.flags & F_IMPURE or not self.cost.few_begin(words)

    cdef int unfold(self, PartialSplit at, Term loop, TermId next) except FAILED nogil:
        """Use a loop as an item followed by the loop, or as the continuation of the loop."""
        cdef PartialSplit queued = at
        cdef TermId continuation = next if at.after == EPS else self.terms.mk_seq(next, at.after)
        cdef Repetition r = loop.rep
        cdef TermId more = self.terms.make.mk_rep(self.terms, r.item, max(r.low - 1, 0), one_less(r.high))
        queued.depth = 0
        queued.term = r.item
        queued.after = self.terms.mk_seq(more, continuation)
        if queued.after != EMPTY:
            self.todo.push_back(queued)
        if r.low == 0:
            queued.term = continuation if next == EPS else next
            queued.after = EPS if next == EPS else at.after
            self.todo.push_back(queued)
        return 0

    cdef bint is_key(self, Term call, TermId next, TermId after) except FAILED nogil:
        """Return whether a call is an undeclared key in quotes that is followed by more text."""
        cdef Call called = self.terms.call_table[call.call.id]
        cdef uint8_t quote
        cdef uint64_t words[4]
        cdef Term body
        if called.kind != CALL_RULE:
            return False
        if not called.action.is_capture() or not self.semantics.is_key(called.action.action()):
            return False
        if self.terms.terms[next].nu.possible() and self.terms.terms[after].nu.possible():
            return False
        body = self.terms.terms[self.terms.rule_body[called.rule]]
        if body.kind != K_SEQ or body.flags & F_IMPURE or self.terms.terms[body.seq.first].kind != K_SET:
            return False
        words[0] = words[1] = words[2] = words[3] = 0
        first_bytes_of_literal(self.terms, body.seq.first, words)
        quote = self.semantics.key_text.quote
        words[quote >> 6] ^= <uint64_t>1 << (quote & 63)
        return not words[0] | words[1] | words[2] | words[3]

    cdef int add_ready(self, PartialSplit at) except FAILED nogil:
        """Store the alternative with the prefix ``path``. Equal prefixes are merged later."""
        cdef size_t i, k, n = self.cost.path.size()
        cdef PartialSplit other
        for i in range(self.ready.size()):
            other = self.ready[i]
            if other.depth != <int32_t>n or other.test != at.test or other.key != at.key:
                continue
            k = 0
            while k < n and self.prefix_items[other.first + k] == self.cost.path[k]:
                k += 1
            if k == n:
                at.joins = <int32_t>i
                self.same_prefix.push_back(at)
                return 0
        at.depth = <int32_t>n
        at.first = <int32_t>self.prefix_items.size()
        self.ready.push_back(at)
        self.prefix_items.insert(self.prefix_items.end(), self.cost.path.begin(), self.cost.path.end())
        return 0

    cdef int join_continuations(self) except FAILED nogil:
        """Create one continuation for the alternatives with the same prefix."""
        cdef vector[TermId] return_states
        cdef PartialSplit* at
        cdef size_t i, k
        for i in range(self.ready.size()):
            return_states.clear()
            for k in range(self.same_prefix.size()):
                at = &self.same_prefix[k]
                if at.joins == <int32_t>i:
                    return_states.push_back(self.terms.mk_seq(at.term, at.after))
            if return_states.size():
                at = &self.ready[i]
                return_states.push_back(self.terms.mk_seq(at.term, at.after))
                at.term = self.terms.mk_alt(return_states, 0)
                at.after = EPS
        return 0

    cdef bint fill_path(self) except FAILED nogil:
        """Replace the items of ``path`` by one item for their non-empty strings, if this pays off.

        All these items may be empty. The replacement pays off if few nodes of the vocabulary begin like the
        items, as after the first digit of a number.
        """
        cdef TermId first, found = EMPTY
        cdef int32_t k
        cdef bint few
        if self.cost.path.empty():
            return False
        few = self.cost.begins_few()
        k = <int32_t>self.cost.path.size()
        while few and k:
            # either item k is the first that is not empty, or a later one is
            k -= 1
            first = self.filled(self.cost.path[k])
            if first == EMPTY:
                return False
            if k + 1 < <int32_t>self.cost.path.size():
                found = self.terms.make.mk_alt2(self.terms, self.terms.mk_seq(first, self.tail), found)
                self.tail = self.terms.mk_seq(self.cost.path[k], self.tail)
            else:
                found = first
                self.tail = self.cost.path[k]
        if few:
            refill(self.cost.path, 1, found)
        return few

    cdef TermId filled(self, TermId item) except ID_FAILED nogil:
        """Return an item without the empty string; EMPTY if its structure does not show how."""
        cdef Term u = self.terms.terms[item]
        cdef vector[TermId] kids
        cdef int32_t k
        cdef TermId kid
        if u.flags & F_IMPURE:
            return EMPTY
        if not u.nu.possible():
            return item
        if u.kind == K_REP and not self.terms.terms[u.rep.item].nu.possible():
            return self.terms.make.mk_rep(self.terms, u.rep.item, 1, u.rep.high)
        if u.kind != K_ALT:
            return EMPTY
        for k in range(u.operands.first, u.operands.first + u.operands.count):
            kid = self.terms.kids[k]
            if kid == EPS:
                continue
            kid = self.filled(kid)
            if kid == EMPTY:
                return EMPTY
            kids.push_back(kid)
        return self.terms.mk_alt(kids, 0)

    cdef int add_alternative(self, PartialSplit at) except FAILED nogil:
        """Add the alternative with the prefix ``path``."""
        cdef Alternative alternative
        cdef TermId prefix = EPS
        cdef int32_t k = <int32_t>self.cost.path.size()
        alternative.tail = at.term
        alternative.after = at.after
        alternative.continuation = at.term if at.after == EPS else NO_TERM
        alternative.run = NO_WHITESPACE
        alternative.test = NO_TEST
        if at.test != EPS:
            alternative.test = self.terms.call_table[self.terms.terms[at.test].call.id].test
        alternative.action = ACTION_NONE
        alternative.call = at.key
        if at.key != EPS:
            alternative.action = self.terms.call_table[self.terms.terms[at.key].call.id].action
        # a guard may forbid all that comes after it
        alternative.unconditional = EMPTY not in (at.term, at.after) and not F_IMPURE & (  # mutant: dead-tail
            self.terms.terms[at.term].flags | self.terms.terms[at.after].flags
        )
        alternative.nullable = (
            self.terms.terms[at.term].nu.possible() and self.terms.terms[at.after].nu.possible()
        )
        if at.is_literal:
            alternative.prefix = literal_prefix(self.literals.number_of(self.cost.path))
        else:
            while k:
                k -= 1
                prefix = self.terms.mk_seq(self.cost.path[k], prefix)
            alternative.prefix = term_prefix(prefix)
        self.alternatives.push_back(alternative)
        k = <int32_t>self.alternatives.size() - 1
        alternative.live = EPS
        if self.terms.terms[at.term].flags & F_KEYS:
            alternative.live = self.continuation_of(k) if self.keys.needs.passes(at.term) else at.term
        elif self.terms.terms[at.after].flags & F_KEYS:
            alternative.live = at.after
        if alternative.live != EPS and self.keys.needs.always_lives(alternative.live):
            alternative.live = EPS
        self.alternatives[k].live = alternative.live
        self.alternatives[k].needs = self.keys.needs.needs_at(alternative.live)
        return 0

    cdef TermId continuation_of(self, AlternativeId alternative) except ID_FAILED nogil:
        """Return the continuation of a prefix, as one state."""
        cdef Alternative* at = &self.alternatives[alternative]
        cdef TermId continuation = at.continuation
        if continuation == NO_TERM:
            continuation = self.terms.mk_seq(at.tail, at.after)
            self.alternatives[alternative].continuation = continuation
        return continuation

    cdef TermId key_of(self, AlternativeId alternative) except ID_FAILED nogil:
        """Return an undeclared key and its continuation, as one state."""
        return self.terms.mk_seq(self.alternatives[alternative].call, self.continuation_of(alternative))

    cdef bint is_unconditional(self, AlternativeId alternative) except FAILED nogil:
        """Return whether a continuation can end without a pending guard, so that every frame allows it."""
        cdef Alternative at
        cdef Ends first, after_run
        if self.terms.classes.has_guards():
            at = self.alternatives[alternative]
            self.terms.ends(at.tail, ANY_BYTE, &first)
            self.terms.ends(at.after, ANY_BYTE, &after_run)
            if not (first.consumed | first.silent) & (after_run.consumed | after_run.silent) & 1:
                return False
            self.alternatives[alternative].unconditional = True
        return True


# ------------------------------------------------------------------------------------------------
# The masks of literals: prefixes that are sequences of fixed bytes or byte sets.
#
# A name that is spelled byte by byte needs no configurations: its tokens are on the paths of its bytes in the
# trie. The mask is the one that a walk of the same state would make.
# ------------------------------------------------------------------------------------------------


@cython.final
cdef class LiteralMasks(MaskPart):
    """The masks of literal prefixes, which are computed on demand."""

    def __cinit__(self, MaskContext context not None, MaskArena arena not None):
        self.arena = arena
        self.table = LiteralTable(self.terms)
        self.spelled_masks = 0

    cdef int drop(self) except FAILED nogil:
        """Drop all masks."""
        self.table.forget_masks()
        self.group_masks.reset()
        return MaskPart.drop(self)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held here."""
        cdef size_t held = self.group_masks.nbytes()
        return held

    cdef MaskId of_vocabulary(self, LiteralId literal) except ID_FAILED nogil:
        """Return the mask of a literal for the whole vocabulary."""
        cdef vector[PlaceId] whole
        cdef MaskId found = self.table.literals[literal].mask
        if found == NO_MASK:
            whole.push_back(0)
            found = self.spell(literal, whole)
            self.table.literals[literal].mask = found
        return found

    cdef MaskId of_group(self, SuffixesId group, LiteralId literal) except ID_FAILED nogil:
        """Return the mask of a literal for the suffixes of a group, after which no guard is pending."""
        cdef uint64_t key = (<uint64_t>group << 32) | <uint64_t>literal  # mutant: literal-key
        cdef MaskId found = self.group_masks.get(key)
        cdef vector[PlaceId] places
        cdef Group g
        cdef Literal w
        if found != NO_VALUE:
            return found
        if self.terms.meter.is_spent():
            return NO_TOKENS
        g = self.arena.groups[group]
        w = self.table.literals[literal]
        if self.arena.is_indexed(group):
            self.arena.append_starting(group, w.begins, NULL, places)
        else:
            self.arena.append_places(group, places)
        if g.run != NO_RUN:
            self.runs.append_suffixes(g.run, w.begins, places)
        found = self.spell(literal, places)
        self.group_masks.put(key, found)
        self.terms.meter.has_moved = True
        return found

    cdef MaskId spell(self, LiteralId literal, vector[PlaceId]& places) except ID_FAILED nogil:
        """Spell a literal from some places and return the mask.

        Cost: linear in the nodes that spell a prefix of the literal. No term or configuration is created.
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
            self.arena.mask_groups.push_back(MaskGroup(group, NO_CALLEE))
        if is_nothing(mask):
            return NO_TOKENS
        return self.arena.add(mask)

    cdef int spell_next(self, Spot at, int32_t in_suffix_trie) except FAILED nogil:
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

    cdef int take_node(self, Spot at, NodeId kid, int32_t in_suffix_trie) except FAILED nogil:
        """Process the tokens of a node reached by the next byte, and store the continuation from it."""
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
