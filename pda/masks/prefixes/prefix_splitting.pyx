# distutils: language = c++
"""PrefixSplitter: states split into a prefix and a continuation, so that one mask serves many states.

Mostly the beginning of a state tells what it allows next: what is left of a name, or of a string up to its
quote. A state ``prefix continuation`` is treated like a rule ``prefix`` that returns to ``continuation``. So
the prefix is walked once, whatever follows it and whatever keys the object around it has. Only the tokens
that reach past the prefix need the continuation, which is walked over merged suffixes.

A state is split by these rules:

- Alternatives, such as the names that may come next in an object, are split one by one. Those that share a
  beginning are split there together once few nodes of the vocabulary are after it.
- A loop is an item and the loop again, or what follows the loop.
- An alternative whose tests of keys fail is left out.
- An undeclared key is a prefix. Its action is stored with the continuation.

Splitting pays off if few tokens reach past the prefix. So a prefix ends with a literal (bytes with an end of
their own, such as a quote) or with a rule, or few tokens begin like it, as with numbers. A prefix is never
empty and tests no keys; a test may come before it.
"""

cimport cython

from libc.stdint cimport uint32_t

from stackmask.pda.ids cimport ACTION_NONE, NO_TERM, NO_TEST
from stackmask.pda.memory.byte_sets cimport count_bits
from stackmask.pda.memory.checked_vectors cimport refill
from stackmask.pda.masks.prefixes.prefix_cost cimport MOST_LOOKS, PrefixCost, first_bytes_of_literal
from stackmask.pda.terms.term_table cimport (
    ANY_BYTE,
    CALL_RULE,
    CALL_TEST,
    EMPTY,
    EPS,
    F_IMPURE,
    F_KEYS,
    K_ALT,
    K_CALL,
    K_REP,
    K_SEQ,
    K_SET,
    Call,
    Ends,
    Repetition,
    Term,
    one_less,
)
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_free, map_get, map_init, map_nbytes, map_put
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.vocabulary.token_trie cimport Trie
from stackmask.pda.masks.prefixes.literal_table cimport literal_prefix, term_prefix

cdef enum:
    MAX_ALTERNATIVES = 128    # alternatives of one state
    MAX_STEPS = 1024   # terms that are visited for one state
    FEW_BLANKS = 8      # sets of blanks, and first bytes of loops, have at most so many


@cython.final
cdef class PrefixSplitter:
    """Splits the states of one store on demand, and remembers how."""

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
        map_init(&self.split_index)

    def __dealloc__(self):
        map_free(&self.split_index)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held here. They belong to terms, so a drop of masks keeps them."""
        cdef size_t held = sizeof(Split) * self.splits.size() + sizeof(Alternative) * self.alternatives.size()
        return held + self.cost.literal_of.size() + map_nbytes(&self.split_index)

    cdef int leave_whole(self, SplitId number) noexcept nogil:
        """Do not split this state any more."""
        self.splits[number].count = 0
        return 0

    cdef SplitId split(self, TermId state) except -1 nogil:
        """Return the index in ``splits`` for a state. Remembered."""
        cdef Split found
        cdef SplitId at = map_get(&self.split_index, <uint32_t>state)
        if at == NO_VALUE:
            self.find(state, &found)
            at = <int32_t>self.splits.size()
            self.splits.push_back(found)
            map_put(&self.split_index, <uint32_t>state, at)
        return at

    cdef int find(self, TermId state, Split* found) except -1 nogil:
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

    cdef int find_whitespace(self, TermId state, Split* found) except -1 nogil:
        """Split a state into blanks, perhaps none, and what follows them, if that can be split in turn.

        What follows must not begin with a blank. Then the run of blanks tells where it begins.
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

    cdef int follow(self, PartialSplit at) except -1 nogil:
        """Take items of a state into its prefix as far as possible; alternatives are queued one by one."""
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

    cdef bint is_loop(self, Term loop) except -1 nogil:
        """Tell whether a repetition is unfolded: it tests keys, or is more than a run of characters.

        In the second case it must begin with few bytes, as a list of items after commas does. Other loops are
        walked as a whole.
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

    cdef int unfold(self, PartialSplit at, Term loop, TermId next) except -1 nogil:
        """Take a loop as an item and the loop again, or as what follows the loop."""
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

    cdef bint is_key(self, Term call, TermId next, TermId after) except -1 nogil:
        """Tell whether a call is an undeclared key, in quotes, with something after it."""
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

    cdef int add_ready(self, PartialSplit at) except -1 nogil:
        """Store the alternative with the prefix ``path``; those with equal prefixes are joined later."""
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

    cdef int join_continuations(self) except -1 nogil:
        """Make one continuation for the alternatives with the same prefix."""
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

    cdef bint fill_path(self) except -1 nogil:
        """Replace the items of ``path`` by one item, their non-empty strings, if it pays.

        All items may be empty. It pays if few nodes of the vocabulary begin like them, as after the first
        digit of a number.
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

    cdef TermId filled(self, TermId item) except -1 nogil:
        """Return an item without the empty string; EMPTY if its structure does not show it."""
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

    cdef int add_alternative(self, PartialSplit at) except -1 nogil:
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
        alternative.unconditional = not F_IMPURE & (
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

    cdef TermId continuation_of(self, AlternativeId alternative) except -1 nogil:
        """Return the continuation of a prefix, as one state."""
        cdef Alternative* at = &self.alternatives[alternative]
        cdef TermId continuation = at.continuation
        if continuation == NO_TERM:
            continuation = self.terms.mk_seq(at.tail, at.after)
            self.alternatives[alternative].continuation = continuation
        return continuation

    cdef TermId key_of(self, AlternativeId alternative) except -1 nogil:
        """Return an undeclared key and its continuation, as one state."""
        return self.terms.mk_seq(self.alternatives[alternative].call, self.continuation_of(alternative))

    cdef bint is_unconditional(self, AlternativeId alternative) except -1 nogil:
        """Tell whether a continuation can end with no guard pending, so that every frame allows it."""
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
