# distutils: language = c++
"""TokenPartition: states in which most tokens are classified without a walk.

- *Allowed runs.* A state with an alternative X* continuation allows every run of X, regardless of its other
  alternatives, as before a pattern that is searched in a string. Only the other tokens are walked, over a
  separate trie.
- *Short tokens.* In pattern & X{m,n}, tokens of up to n - s bytes cannot reach the bound n, where s is the
  slack: the number of characters that the pattern may need to end. So the pattern alone classifies these
  tokens, and a pattern has few states. The state with its count, which is new after every character, is
  walked only over the longer tokens. So (\\S+\\s+){0,48} is (\\S+\\s+)* for tokens that cannot hold 48 words.
"""

cimport cython
from libc.stdint cimport int16_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from stackmask.pda.ids cimport BITS_FAILED, FAILED, ID_FAILED, NO_RUN, UNBOUNDED, NodeId, RowId, TokenId
from stackmask.pda.masks.arena cimport MaskContext, MaskPart
from stackmask.pda.masks.run_tables cimport NOT_A_CODE
from stackmask.pda.memory.byte_sets cimport lowest_bit
from stackmask.pda.memory.hash_tables cimport NO_VALUE
from stackmask.pda.stack.configuration_table cimport BOTTOM
from stackmask.pda.terms.term_table cimport (
    EPS,
    F_BOOL,
    F_IMPURE,
    F_KEYS,
    K_ALT,
    K_AND,
    K_EPS,
    K_LIT,
    K_REP,
    K_SEQ,
    K_SET,
    Term,
)
from stackmask.pda.vocabulary.suffix_tries cimport Nodes, node_at


cdef uint64_t DEAD_END = <uint64_t>1 << 63

cdef enum:
    TOO_LONG = 1 << 20
    MAX_NESTING = 100       # depth of terms that `length` and `follow` visit
    MANY_BYTES = 128        # X needs so many first bytes, else its runs are not most of a vocabulary
    PAYS_OFF = 5            # a trie of the other tokens is made for the fifth state that uses X
    MOST = 8                # at least 7 of 8 tokens must be runs
    LEAST_BYTES = 4         # nearly all tokens are longer
    FEW_LONG = 128          # at most 1 of 128 tokens may be too long for the state without its counts
    MAX_VISITED = 256       # terms of a state that `bytes_to_a_count` visits
    MAX_FOLLOWED = 1 << 14      # terms, and bytes of literals, that `follow` visits for a state


@cython.final
cdef class TokenPartition(MaskPart):
    """Finds the tokens of a state that need no walk, and builds tries of the remaining tokens."""

    def __cinit__(
        self,
        MaskContext context not None,
        MaskArena arena not None,
        Slices slices not None,
        RunSplitter splitter not None,
    ):
        self.trie = context.trie
        self.arena = arena
        self.slices = slices
        self.splitter = splitter
        self.groups = self.trie.character_groups
        self.visits = 0

    cdef int drop(self) except FAILED nogil:
        """Drop the tries. The facts about terms are kept."""
        self.followed.clear()
        self.follow_index.reset()
        self.short_filters.reset()
        self.long_places.reset()
        self.other_tokens.reset()
        return MaskPart.drop(self)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held here."""
        cdef size_t held = 8 * self.followed.size()
        held += self.follow_index.nbytes()
        held += self.short_filters.nbytes()
        held += self.long_places.nbytes()
        held += self.other_tokens.nbytes()
        return held

    cdef size_t nbytes_of_terms(self) noexcept nogil:
        """Return the bytes of the facts about terms, which ``drop`` keeps."""
        cdef size_t held = sizeof(Length) * self.lengths.size() + self.length_index.nbytes()
        return held + self.uncounted_seen.nbytes() + 4 * self.longer.size()

    # -- short tokens ----------------------------------------------------------------------------------

    cdef int length(self, TermId term, int depth, Length* found) except FAILED nogil:
        """Find the lengths of a term; TOO_LONG if its structure does not show them. Cached."""
        cdef Term t = self.terms.terms[term]
        cdef Length a, b
        cdef int32_t known = self.length_index.get(term), k
        if known != NO_VALUE:
            found[0] = self.lengths[known]
            return 0
        found.least = found.slack = TOO_LONG
        if t.kind == K_EPS:
            found.least = found.slack = 0
        elif t.kind == K_SET:
            found.least = found.slack = 1
        elif t.kind == K_LIT:
            found.least = found.slack = t.literal.length
        elif depth < MAX_NESTING:
            if t.kind == K_SEQ:
                self.length(t.seq.first, depth + 1, &a)
                self.length(t.seq.rest, depth + 1, &b)
                found.least = a.least + b.least
                found.slack = max(a.slack + b.least, b.slack)
            elif t.kind == K_ALT:
                found.slack = 0
                for k in range(t.operands.count):
                    self.length(self.terms.kids[t.operands.first + k], depth + 1, &a)
                    found.least = min(found.least, a.least)
                    found.slack = max(found.slack, a.slack)
            elif t.kind == K_REP:
                self.length(t.rep.item, depth + 1, &a)
                found.least = t.rep.low * a.least
                found.slack = max(found.least, a.slack + max(t.rep.low - 1, 0) * a.least)
        found.least = min(found.least, TOO_LONG)
        found.slack = min(found.slack, TOO_LONG)
        if found.slack == TOO_LONG:
            found.least = TOO_LONG  # also where some term in it is too deep
        self.length_index.put(term, <int32_t>self.lengths.size())
        self.lengths.push_back(found[0])
        return 0

    cdef uint64_t follow(
        self, TermId term, uint64_t states, CodeId code, int depth, int32_t* left
    ) except? BITS_FAILED nogil:
        """Return the states of the automaton of X after the strings of a term, or DEAD_END outside it.

        ``states``: the states before the term, as bits. ``left``: the remaining number of visits; DEAD_END if
        this does not suffice, since the same term may be visited with many sets of states.
        """
        cdef Term t = self.terms.terms[term]
        cdef uint64_t out = 0, more, key = (<uint64_t>term << 32) | <uint64_t>code
        cdef int32_t k, known
        if states == 1:
            known = self.follow_index.get(key)
            if known != NO_VALUE:
                return self.followed[known]
        left[0] -= 1
        if left[0] < 0:
            return DEAD_END
        if t.kind == K_EPS:
            out = states
        elif t.kind == K_SET or t.kind == K_LIT:
            out = self.follow_bytes(t, states, code, left)
        elif depth >= MAX_NESTING:
            out = DEAD_END
        elif t.kind == K_SEQ:
            out = self.follow(t.seq.first, states, code, depth + 1, left)
            if out != DEAD_END:
                out = self.follow(t.seq.rest, out, code, depth + 1, left)
        elif t.kind == K_ALT:
            for k in range(t.operands.count):
                more = self.follow(self.terms.kids[t.operands.first + k], states, code, depth + 1, left)
                if more == DEAD_END:
                    return DEAD_END
                out |= more
        elif t.kind == K_REP:
            out = states
            more = states
            while True:
                more = self.follow(t.rep.item, more, code, depth + 1, left)
                if more == DEAD_END:
                    return DEAD_END
                if not more & ~out:
                    break
                out |= more
                more = out
        else:
            out = DEAD_END
        if states == 1 and left[0] >= 0:
            self.follow_index.put(key, <int32_t>self.followed.size())
            self.followed.push_back(out)
        return out

    cdef uint64_t follow_bytes(self, Term t, uint64_t states, CodeId code, int32_t* left) noexcept nogil:
        """Return the states after a set of bytes or a literal; DEAD_END if a byte leaves the automaton."""
        cdef const int16_t* table = &self.runs.table[self.runs.codes[code].table_first]
        cdef uint64_t from_here, more
        cdef int32_t k, b, last, next
        for k in range(1 if t.kind == K_SET else t.literal.length):
            more = 0
            b = 0 if t.kind == K_SET else self.terms.pool[t.literal.first + k]
            last = 255 if t.kind == K_SET else b
            left[0] -= 1
            while b <= last:
                from_here = states if t.kind == K_LIT or self.terms.classes.set_has(t.set_id, b) else 0
                while from_here:
                    next = table[256 * lowest_bit(from_here) + b]
                    if next < 0 or next > 62:
                        return DEAD_END
                    more |= <uint64_t>1 << next
                    from_here &= from_here - 1
                b += 1
            states = more
        return states

    cdef int without_upper_bound(self, TermId state, Uncounted* found) except FAILED nogil:
        """Find the state without its count, and the length of tokens up to which both are equivalent, or 0.

        All states that differ only in a count share its mask, which pays off from the second such state on.
        """
        cdef TermId met
        found.state = found.bytes = 0
        self.without_length(state, found)
        if not found.bytes:
            self.uncounted(state, found)
        if found.bytes:
            met = self.uncounted_seen.get(found.state)
            if met == NO_VALUE:
                self.uncounted_seen.put(found.state, state)
            if met == NO_VALUE or met == state:
                found.bytes = 0
        return 0

    cdef int without_length(self, TermId state, Uncounted* found) except FAILED nogil:
        """Find the state without the bound on its length.

        In pattern & X{0,n}, let all strings of the pattern be runs of X. After k characters, any continuation
        is allowed if n - k is at least the slack of the pattern, and a token of b bytes has at most b
        characters. One more character is kept in reserve: then the state itself continues where the pattern
        does, and needs no return, which may be forbidden. A minimum of one character has no effect if the
        pattern is never empty.
        """
        cdef Term t = self.terms.terms[state]
        cdef Term both = self.terms.terms[t.seq.first] if t.kind == K_SEQ else t
        cdef Term count
        cdef Length lengths
        cdef int32_t k, left, looks
        cdef TermId pattern
        cdef CodeId code
        if both.kind != K_AND or both.operands.count != 2:
            return 0
        for k in range(2):
            count = self.terms.terms[self.terms.kids[both.operands.first + k]]
            pattern = self.terms.kids[both.operands.first + 1 - k]
            if count.kind != K_REP or count.rep.high == UNBOUNDED or count.rep.high <= LEAST_BYTES:
                continue
            code = self.runs.code_of(count.rep.item)
            looks = MAX_FOLLOWED
            if code == NOT_A_CODE or self.follow(pattern, 1, code, 0, &looks) != 1:
                continue
            if count.rep.low > 1 or (count.rep.low == 1 and self.terms.terms[pattern].nu.possible()):
                continue
            self.length(pattern, 0, &lengths)
            left = count.rep.high - 1 - <int32_t>lengths.slack
            if left < LEAST_BYTES:
                continue
            # round down to a few lengths, since each has its own trie
            found.bytes = LEAST_BYTES
            while found.bytes + found.bytes // 2 <= left and found.bytes < self.trie.max_depth:
                found.bytes += found.bytes // 2
            if left >= self.trie.max_depth:
                found.bytes = self.trie.max_depth
            found.state = self.terms.mk_seq(pattern, t.seq.rest if t.kind == K_SEQ else EPS)
            return 0
        return 0

    cdef int uncounted(self, TermId state, Uncounted* found) except FAILED nogil:
        """Find the state without the bounds of its counters, and the token length for which both agree.

        Let Y{m,n} be in a sequence, as (\\S+\\s+){0,48}. A token with at most n - 1 of Y has the same effect
        on Y{m,n} and Y{m,}: both or none can be completed, both end alike, and one continues where the other
        does. So states that differ only in a count share a mask. This pays off if few tokens are longer. Runs
        of characters are excluded, since they have their own tables.
        """
        cdef int32_t left = MAX_VISITED, most = self.bytes_to_a_count(state, &left)
        if most < LEAST_BYTES:
            return 0
        if most < self.trie.max_depth:
            found.bytes = LEAST_BYTES
            while found.bytes + found.bytes // 2 <= most:
                found.bytes += found.bytes // 2
            if FEW_LONG * self.count_longer(found.bytes) > self.trie.token_count:
                found.bytes = 0
                return 0
        else:
            found.bytes = self.trie.max_depth
        found.state = self.without_counts(state, found.bytes)
        return 0

    cdef int32_t bytes_to_a_count(self, TermId term, int32_t* left) except ID_FAILED nogil:
        """Return the minimal number of bytes that may reach a count in a term; 0: no count, -1: unknown.

        ``left``: how many more terms may be visited.
        """
        cdef Term t = self.terms.terms[term]
        cdef Length lengths
        cdef int32_t k, least, found = 0, of_kid
        left[0] -= 1
        if left[0] < 0:
            return -1
        if t.kind == K_EPS or t.kind == K_SET or t.kind == K_LIT:
            return 0
        if t.kind == K_REP:
            if t.flags & (F_BOOL | F_IMPURE):
                return -1
            if t.rep.high == UNBOUNDED or t.rep.high <= 1 or self.runs.code_of(t.rep.item) != NOT_A_CODE:
                return 0
            self.length(t.rep.item, 0, &lengths)
            least = <int32_t>lengths.least
            return <int32_t>min(<int64_t>(t.rep.high - 1) * least, TOO_LONG) if 0 < least < TOO_LONG else 0
        if t.kind == K_SEQ:
            found = self.bytes_to_a_count(t.seq.first, left)
            of_kid = self.bytes_to_a_count(t.seq.rest, left) if found >= 0 else -1
            return max(found, of_kid) if of_kid >= 0 else -1
        if t.kind != K_ALT:
            return -1
        for k in range(t.operands.first, t.operands.first + t.operands.count):
            of_kid = self.bytes_to_a_count(self.terms.kids[k], left)
            if of_kid < 0:
                return -1
            found = max(found, of_kid)
        return found

    cdef TermId without_counts(self, TermId term, int32_t bytes) except ID_FAILED nogil:
        """Return a term without the bounds of counts that tokens of the given length cannot reach."""
        cdef Term t = self.terms.terms[term]
        cdef vector[TermId] kids
        cdef TermId more
        cdef int32_t k, left = MAX_VISITED
        if t.kind == K_SEQ:
            more = self.without_counts(t.seq.rest, bytes)
            return self.terms.mk_seq(self.without_counts(t.seq.first, bytes), more)
        if t.kind == K_ALT:
            for k in range(t.operands.count):
                kids.push_back(self.without_counts(self.terms.kids[t.operands.first + k], bytes))
            return self.terms.mk_alt(kids, 0)
        if t.kind == K_REP and self.bytes_to_a_count(term, &left) >= bytes:
            return self.terms.make.mk_rep(self.terms, t.rep.item, t.rep.low, UNBOUNDED)
        return term

    cdef int32_t count_longer(self, int32_t bytes) except FAILED nogil:
        """Return the number of tokens longer than the given number of bytes."""
        cdef size_t k
        if self.longer.empty():
            self.longer.resize(self.trie.max_depth + 1, 0)
            for k in range(self.groups.tokens.size()):
                self.longer[self.groups.token_bytes.length(self.groups.tokens[k])] += 1
            for k in range(self.longer.size() - 1, 0, -1):
                self.longer[k - 1] += self.longer[k]
        return self.longer[bytes + 1] if <size_t>bytes + 1 < self.longer.size() else 0

    cdef FilterId short_filter(self, int32_t bytes) except ID_FAILED nogil:
        """Return the filter of the tokens with at most the given number of bytes."""
        cdef FilterId found = self.short_filters.get(bytes)
        cdef PlaceId place
        cdef NodeId node
        cdef RowId made
        cdef int32_t t
        cdef uint32_t* row
        cdef Nodes n
        cdef vector[TokenId] nothing_else
        if found != NO_VALUE:
            return found
        place = self.long_place(bytes)
        made = self.arena.new_row()
        row = self.arena.rows[made]
        memcpy(row, self.groups.row.data(), 4 * self.groups.row.size())
        n = self.context.tries.nodes(place)
        node = node_at(place)
        for t in range(n.token_first[node], n.token_first[n.end[node]]):
            row[n.tokens[t] >> 5] &= ~(<uint32_t>1 << (n.tokens[t] & 31))
        found = self.slices.add_filter(made, nothing_else)
        self.short_filters.put(bytes, found)
        return found

    cdef PlaceId long_place(self, int32_t bytes) except ID_FAILED nogil:
        """Return the place of the trie of the tokens with more than the given number of bytes."""
        cdef PlaceId found = self.long_places.get(bytes)
        cdef NodeId i = 1
        cdef int32_t nodes = self.trie.nodes if bytes < self.trie.max_depth else 0
        cdef const int32_t* depth = self.trie.depth
        cdef vector[NodeId] left
        if found != NO_VALUE:
            return found
        while i < nodes:
            if depth[i] > bytes:
                left.push_back(i)
                i = self.trie.end[i]
            else:
                i += 1
        found = self.context.tries.subtrees(left)
        self.long_places.put(bytes, found)
        return found

    # -- allowed runs ----------------------------------------------------------------------------------

    cdef RunId allowed_run_table(self, TermId state) except ID_FAILED nogil:
        """Return a run table whose runs are all allowed in a state with any stack, or NO_RUN."""
        cdef AllowedRuns found
        cdef RunId run
        self.allowed_runs(self.space, state, BOTTOM, &found)
        if found.bytes < MANY_BYTES or self.splitter.queries(found.code) < PAYS_OFF:
            return NO_RUN
        run = self.runs.run_of(found.code, 0)
        if found.high < self.runs.runs[run].most_needed:
            return NO_RUN
        # the trie of the other tokens has no summaries of subtrees, so it must be small
        if MOST * (self.trie.token_count - self.runs.runs[run].token_count) > self.trie.token_count:
            return NO_RUN
        return run

    cdef int allowed_runs(
        self, ConfigSpace space, TermId state, FrameId frame, AllowedRuns* found
    ) except FAILED nogil:
        """Find X{0,high} such that a state allows all its runs, regardless of the stack below the frame.

        More of X may follow the runs. The state, or an alternative of it, must begin with X* or X{m,n}. Among
        several X, the one with the most first bytes is used.
        """
        cdef Term t = self.terms.terms[state]
        cdef int32_t k
        found.code = NOT_A_CODE
        found.high = found.bytes = 0
        if not self.terms.classes.has_guards():
            self.find_allowed_runs(state, True, found)
        elif t.kind == K_ALT:
            for k in range(t.operands.count):
                if space.member_ends(self.terms.kids[t.operands.first + k], frame) & 1:
                    self.find_allowed_runs(self.terms.kids[t.operands.first + k], False, found)
        elif space.member_ends(state, frame) & 1:
            self.find_allowed_runs(state, False, found)
        return 0

    cdef int find_allowed_runs(self, TermId state, bint alternatives, AllowedRuns* found) except FAILED nogil:
        """Find X{m,n} at the beginning of a state, or also of its alternatives if ``alternatives`` is set.

        Cost: linear in the terms, although alternatives may share terms and so reach a term in many ways.
        """
        cdef Term t
        cdef int32_t k
        cdef TermId term, rest
        cdef bint keyed
        self.todo.clear()
        self.todo.push_back(state)
        if self.visited.count:
            self.visited.clear()
        while not self.todo.empty():
            term = self.todo.back()
            self.todo.pop_back()
            t = self.terms.terms[term]
            self.visits += 1
            while t.kind == K_SEQ:
                # the keys of an object may forbid what follows, while other alternatives keep the state alive
                rest = t.seq.rest
                keyed = self.terms.terms[rest].flags & F_KEYS
                if keyed and not self.context.semantics.keys.needs.always_lives(rest):
                    break
                term = t.seq.first
                t = self.terms.terms[term]
            if t.kind == K_ALT and alternatives:
                if self.visited.get(term) == NO_VALUE:
                    self.visited.put(term, 1)
                    for k in range(t.operands.first + t.operands.count - 1, t.operands.first - 1, -1):
                        self.todo.push_back(self.terms.kids[k])
            elif t.kind == K_REP and not t.flags & F_KEYS and t.rep.high >= LEAST_BYTES:
                self.use_runs(t, found)
        return 0

    cdef int use_runs(self, Term loop, AllowedRuns* found) except FAILED nogil:
        """Use X{m,n} if more bytes begin X than begin the X found before."""
        cdef CodeId code = self.runs.code_of(loop.rep.item)
        cdef int32_t k, bytes = 0
        if code == NOT_A_CODE:
            return 0
        for k in range(256):
            bytes += (self.runs.codes[code].first[k >> 6] >> (k & 63)) & 1
        if bytes > found.bytes:
            found.code = code
            found.bytes = bytes
            # after the last of them only a return may be left, which an action may forbid
            found.high = NO_END if loop.rep.high == UNBOUNDED else loop.rep.high - 1
        return 0

    cdef PlaceId other_tokens_place(self, RunId run) except ID_FAILED nogil:
        """Return the place of the trie of the tokens that are not runs of a run table."""
        cdef PlaceId found = self.other_tokens.get(run)
        cdef vector[NodeId] left
        cdef size_t k
        if found != NO_VALUE:
            return found
        self.runs.scan(run)
        left.insert(left.end(), self.runs.found_others.begin(), self.runs.found_others.end())
        for k in range(self.runs.found_exits.size()):
            left.push_back(self.runs.found_exits[k].node)
        found = self.context.tries.subtrees(left)
        self.other_tokens.put(run, found)
        return found
