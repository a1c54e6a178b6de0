# distutils: language = c++
"""Masks: which tokens may follow, for every local state, split by what they depend on.

One walk of the vocabulary trie from a local state, with the frame below it unknown, splits the tokens:

- allowed whatever is below: kept dense or sparse, whichever is smaller;
- allowed if the frame below is alive under a follow restriction that is still pending when the token ends;
- those that return out of the frame with bytes left over: kept as the trie nodes where the return
  happens, grouped by what is pending there.

The mask of a configuration is the union over its members; for the third part each edge of the member's frame
gives a return state, from which the subtrees below those nodes are walked in the same way, again with the
frame below unknown. So the answer for (state, return state) is a mask of the same form, remembered under that
pair, and it goes deeper only where a remainder returns again.
"""

cimport cython
from libcpp.algorithm cimport sort, unique

from stackmask.pda.configurations cimport BOTTOM, BOTTOM_REST, DEAD, READS_STATE, Config
from stackmask.pda.semantics cimport FORBIDDEN, SEM_SYMBOL, SEM_SYMBOL_OPEN
from stackmask.pda.tables cimport NO_VALUE, map_clear, map_free, map_get, map_init, map_put, mix
from stackmask.pda.terms cimport ACTION_SCOPE, ANY_BYTE, EMPTY, F_TOKEN


cdef enum:
    FEW_VISITS = 32      # up to here a list is searched, not hashed
    MANY_VISITS = 1024   # beyond, the vocabulary is walked on the real stack: see `simulate`


cdef inline uint64_t visit_key(Visit v) noexcept:
    return mix(mix(mix(43, <uint32_t>v.mask), <uint32_t>v.frame), <uint32_t>v.sem)


@cython.final
cdef class MaskStore:
    """The masks of one automaton over one vocabulary. Append-only."""

    def __cinit__(
        self, TermStore terms, Semantics semantics, ConfigSpace space, Trie trie, int32_t vocab_size, class_tokens
    ):
        cdef vector[int32_t] ids
        self.terms = terms
        self.semantics = semantics
        self.space = space
        self.trie = trie
        self.width = (vocab_size + 31) // 32
        self.bits.resize(self.width, 0)
        self.stack.resize(trie.max_depth + 1, 0)
        self.group_index = {}
        map_init(&self.visited)
        map_init(&self.open_roots)
        map_init(&self.children)
        map_init(&self.open_children)
        map_init(&self.concrete)
        for tokens in class_tokens:
            ids.clear()
            for token in tokens:
                ids.push_back(token)
            self.class_tokens.push_back(ids)
        self.walks = 0
        self.hits = 0
        self.simulations = 0
        self.most_visits = 0
        cdef vector[int32_t] nowhere
        self.walk(DEAD, nowhere, False, False)

    def __dealloc__(self):
        map_free(&self.visited)
        map_free(&self.open_roots)
        map_free(&self.children)
        map_free(&self.open_children)
        map_free(&self.concrete)

    # -- making masks --------------------------------------------------------------------------------

    cdef int32_t add_reader(self) except -3:
        cdef Mask mask
        mask.dense = -1
        mask.sparse_first = mask.sparse_count = 0
        mask.pending_first = mask.pending_count = 0
        mask.group_first = mask.group_count = 0
        mask.reads_state = 1
        self.masks.push_back(mask)
        return <int32_t>self.masks.size() - 1

    cdef int32_t intern_group(self, int32_t guard, int32_t sem, int32_t text, vector[int32_t]& nodes) except -1:
        # equal remainders must be one id: else every path through an ambiguous stack makes masks of its own
        cdef Group group
        cdef size_t k
        key = (guard, sem, text, (<char*>nodes.data())[: nodes.size() * sizeof(int32_t)])
        found = self.group_index.get(key)
        if found is not None:
            return found
        group.guard = guard
        group.sem = sem
        group.text = text
        group.node_first = <int32_t>self.remainder_nodes.size()
        group.node_count = <int32_t>nodes.size()
        for k in range(nodes.size()):
            self.remainder_nodes.push_back(nodes[k])
        self.groups.push_back(group)
        self.group_index[key] = <int32_t>self.groups.size() - 1
        return <int32_t>self.groups.size() - 1

    cdef int32_t walk(self, int32_t start, vector[int32_t]& below, bint is_open, bint with_tokens) except -3:
        """Walk the subtrees strictly below the given trie nodes from a configuration over the unknown frame.

        ``is_open``: the walk runs inside a capture, so returns are grouped by the text read so far.
        ``with_tokens``: special tokens may come first (the walk starts at a token boundary).
        """
        cdef Trie trie = self.trie
        cdef ConfigSpace space = self.space
        cdef int32_t i, c, n, p, t, depth, base, stop, group, text, symbol, count = 0
        cdef size_t r, k
        cdef Config config
        cdef Mask mask
        cdef Pending pending
        cdef vector[vector[int32_t]] by_group
        cdef vector[int32_t] group_of
        cdef vector[int32_t] node_of
        cdef vector[uint64_t] late_ends
        cdef vector[int32_t] late_token
        cdef bint reads = start == READS_STATE
        group_index = {}
        path = bytearray(trie.max_depth)
        self.walks += 1
        for k in range(self.bits.size()):
            self.bits[k] = 0
        if not reads and space.configs[start].pop_count:
            for r in range(below.size()):
                for p in range(space.configs[start].pop_first, space.configs[start].pop_first + space.configs[start].pop_count):
                    key = (space.pops[p].guard, space.pops[p].sem, 0)
                    group = group_index.setdefault(key, len(group_index))
                    group_of.push_back(group)
                    node_of.push_back(below[r])
        for r in range(below.size()):
            if reads:
                break
            base = trie.depth[below[r]]
            self.stack[base] = start
            i = below[r] + 1
            stop = trie.end[below[r]]
            while i < stop:
                depth = trie.depth[i]
                c = space.step(self.stack[depth - 1], self.terms.class_of[trie.byte[i]])
                if c == DEAD:
                    i = trie.end[i]
                    continue
                if c == READS_STATE:
                    reads = True
                    break
                self.stack[depth] = c
                config = space.configs[c]
                if is_open:
                    path[depth - 1] = trie.byte[i]
                for t in range(trie.token_first[i], trie.token_first[i + 1]):
                    n = trie.tokens[t]
                    if config.ends & 1:
                        self.bits[n >> 5] |= <uint32_t>1 << (n & 31)
                        count += 1
                    else:
                        late_ends.push_back(config.ends)
                        late_token.push_back(n)
                if config.pop_count and trie.end[i] > i + 1:
                    text = 0
                    if is_open:
                        text = self.semantics.intern_text(bytes(path[base:depth]))
                    for p in range(config.pop_first, config.pop_first + config.pop_count):
                        key = (space.pops[p].guard, space.pops[p].sem, text)
                        group = group_index.setdefault(key, len(group_index))
                        group_of.push_back(group)
                        node_of.push_back(i)
                if config.count:
                    i += 1
                else:
                    i = trie.end[i]
        if with_tokens and not reads:
            for symbol in range(self.terms.token_classes):
                c = space.step(start, self.terms.classes + symbol)
                if c == READS_STATE:
                    reads = True
                    break
                if c == DEAD:
                    continue
                for k in range(self.class_tokens[symbol].size()):
                    n = self.class_tokens[symbol][k]
                    if space.configs[c].ends & 1:
                        self.bits[n >> 5] |= <uint32_t>1 << (n & 31)
                        count += 1
                    else:
                        late_ends.push_back(space.configs[c].ends)
                        late_token.push_back(n)
        if reads:
            return self.add_reader()
        mask.reads_state = 0
        mask.dense = -1
        mask.sparse_first = <int32_t>self.sparse_tokens.size()
        mask.sparse_count = 0
        if count > self.width:
            mask.dense = <int32_t>(self.dense_words.size() // self.width)
            for k in range(self.bits.size()):
                self.dense_words.push_back(self.bits[k])
        elif count:
            for k in range(self.bits.size()):
                if self.bits[k]:
                    for n in range(32):
                        if (self.bits[k] >> n) & 1:
                            self.sparse_tokens.push_back(<int32_t>(32 * k + n))
                            mask.sparse_count += 1
        mask.pending_first = <int32_t>self.pendings.size()
        by_ends = {}
        for k in range(late_token.size()):
            by_ends.setdefault(late_ends[k], []).append(late_token[k])
        for ends, tokens in by_ends.items():
            pending.ends = ends
            pending.first = <int32_t>self.sparse_tokens.size()
            pending.count = len(tokens)
            for token in tokens:
                self.sparse_tokens.push_back(token)
            self.pendings.push_back(pending)
        mask.pending_count = len(by_ends)
        mask.group_first = <int32_t>self.mask_groups.size()
        mask.group_count = len(group_index)
        by_group.resize(mask.group_count)
        for k in range(group_of.size()):
            by_group[group_of[k]].push_back(node_of[k])
        i = 0
        for guard, sem, captured in group_index:
            # one subtree may lie in another, and both return at one node
            sort(by_group[i].begin(), by_group[i].end())
            by_group[i].erase(unique(by_group[i].begin(), by_group[i].end()), by_group[i].end())
            self.mask_groups.push_back(self.intern_group(guard, sem, captured, by_group[i]))
            i += 1
        self.masks.push_back(mask)
        return <int32_t>self.masks.size() - 1

    cdef int32_t root(self, int32_t state, bint is_open) except -3:
        """Return the mask of a local state, the frame and the semantic state below it unknown."""
        cdef vector[int32_t] whole
        cdef int32_t found
        if is_open:
            found = map_get(&self.open_roots, state)
            if found != NO_VALUE:
                return found
        elif <size_t>state < self.roots.size() and self.roots[state] >= 0:
            self.hits += 1
            return self.roots[state]
        whole.push_back(0)
        found = self.walk(
            self.space.raw(state, SEM_SYMBOL_OPEN if is_open else (SEM_SYMBOL if self.semantics.active else 0)),
            whole,
            is_open,
            (self.terms.terms[state].flags & F_TOKEN) != 0,
        )
        if is_open:
            map_put(&self.open_roots, state, found)
        else:
            if <size_t>state >= self.roots.size():
                self.roots.resize(self.terms.terms.size(), -1)
            self.roots[state] = found
        return found

    cdef int32_t root_for(self, int32_t state, int32_t sem) except -3:
        """Return the mask of a local state in this semantic state."""
        cdef vector[int32_t] whole
        cdef int32_t mask, concrete, found
        cdef uint64_t key
        cdef bint is_open
        if not self.semantics.active:
            return self.root(state, False)
        is_open = self.semantics.in_capture(sem)
        mask = self.root(state, is_open)
        if not self.masks[mask].reads_state:
            return mask
        concrete = self.semantics.concrete_start(sem)
        key = (<uint64_t>mask << 32) | <uint64_t>concrete
        found = map_get(&self.concrete, key)
        if found == NO_VALUE:
            whole.push_back(0)
            found = self.walk(self.space.raw(state, concrete), whole, is_open, (self.terms.terms[state].flags & F_TOKEN) != 0)
            map_put(&self.concrete, key, found)
        return found

    cdef int32_t walk_child(self, int32_t group, int32_t rest, int32_t sem, bint is_open) except -3:
        cdef vector[int32_t] below
        cdef Group g = self.groups[group]
        cdef int32_t i
        if g.guard != ANY_BYTE:
            rest = self.terms.mk_seq(self.terms.mk_guard(g.guard), rest)
        if rest == EMPTY:
            return NO_TOKENS
        for i in range(g.node_first, g.node_first + g.node_count):
            below.push_back(self.remainder_nodes[i])
        return self.walk(self.space.closed(rest, BOTTOM, sem), below, is_open, False)

    cdef int32_t child(self, int32_t group, int32_t rest, bint is_open) except -3:
        """Return the mask of the remainders of a group in a return state, the frame below unknown."""
        cdef uint64_t key = (<uint64_t>group << 32) | <uint64_t>rest
        cdef int32_t found = map_get(&self.open_children if is_open else &self.children, key)
        if found != NO_VALUE:
            return found
        found = self.walk_child(
            group, rest, SEM_SYMBOL_OPEN if is_open else (SEM_SYMBOL if self.semantics.active else 0), is_open
        )
        map_put(&self.open_children if is_open else &self.children, key, found)
        return found

    cdef int32_t child_for(self, int32_t group, int32_t rest, int32_t sem) except -3:
        cdef int32_t mask, concrete, found
        cdef uint64_t key
        cdef bint is_open
        if not self.semantics.active:
            return self.child(group, rest, False)
        is_open = self.semantics.in_capture(sem)
        mask = self.child(group, rest, is_open)
        if not self.masks[mask].reads_state:
            return mask
        concrete = self.semantics.concrete_start(sem)
        key = (<uint64_t>mask << 32) | <uint64_t>concrete
        found = map_get(&self.concrete, key)
        if found == NO_VALUE:
            found = self.walk_child(group, rest, concrete, is_open)
            map_put(&self.concrete, key, found)
        return found

    # -- using them ----------------------------------------------------------------------------------

    cdef int visit(self, int32_t mask, int32_t frame, int32_t sem) except -3:
        cdef Visit v
        cdef size_t i, n
        cdef uint64_t key
        cdef int32_t at
        v.mask = mask
        v.frame = frame
        v.sem = sem
        # ambiguous stacks reach the same place in several ways; a mask is or-ed once
        n = self.visits.size()
        if n <= FEW_VISITS:
            for i in range(n):
                if self.visits[i].mask == mask and self.visits[i].frame == frame and self.visits[i].sem == sem:
                    return 0
            if n == FEW_VISITS:
                map_clear(&self.visited)
                for i in range(n):
                    map_put(&self.visited, visit_key(self.visits[i]), <int32_t>i)
        if n >= FEW_VISITS:
            key = visit_key(v)
            at = map_get(&self.visited, key)
            if at == NO_VALUE:
                map_put(&self.visited, key, <int32_t>n)
            elif self.visits[at].mask == mask and self.visits[at].frame == frame and self.visits[at].sem == sem:
                return 0
        self.visits.push_back(v)
        return 0

    cdef int fill(self, ConfigSpace family, int32_t config, uint32_t* words) except -3:
        """Or the tokens that may follow a configuration into ``words`` (``width`` words of 32 bits)."""
        cdef int32_t i, first = family.configs[config].first
        cdef size_t roots, k = 0
        self.visits.clear()
        for i in range(first, first + family.configs[config].count):
            self.visit(
                self.root_for(family.members[i].state, family.members[i].sem),
                family.members[i].frame,
                family.members[i].sem,
            )
        roots = self.visits.size()
        while k < self.visits.size():
            self.apply(family, self.visits[k], words)
            k += 1
            if k >= roots and self.visits.size() > MANY_VISITS:
                return self.simulate(family, config, words)
        if k > self.most_visits:
            self.most_visits = k
        return 0

    cdef int apply(self, ConfigSpace family, Visit at, uint32_t* words) except -3:
        cdef Mask mask = self.masks[at.mask]
        cdef uint32_t* dense
        cdef int32_t i, k, n, e, g, sem, after
        cdef Edge edge
        cdef bint allowed
        if mask.dense >= 0:
            dense = &self.dense_words[<size_t>mask.dense * self.width]
            for i in range(self.width):
                words[i] |= dense[i]
        for i in range(mask.sparse_first, mask.sparse_first + mask.sparse_count):
            n = self.sparse_tokens[i]
            words[n >> 5] |= <uint32_t>1 << (n & 31)
        for i in range(mask.pending_first, mask.pending_first + mask.pending_count):
            allowed = False
            for g in range(64):
                if (self.pendings[i].ends >> g) & 1 and family.exits(at.frame, g):
                    allowed = True
                    break
            if allowed:
                for k in range(self.pendings[i].first, self.pendings[i].first + self.pendings[i].count):
                    n = self.sparse_tokens[k]
                    words[n >> 5] |= <uint32_t>1 << (n & 31)
        for i in range(mask.group_first, mask.group_first + mask.group_count):
            k = self.mask_groups[i]
            sem = self.semantics_at(k, at.sem)
            for e in range(family.frames[at.frame].first, family.frames[at.frame].first + family.frames[at.frame].count):
                edge = family.edges[e]
                if edge.rest != BOTTOM_REST:
                    after = self.semantics_after(edge, sem)
                    if after != FORBIDDEN:
                        self.visit(self.child_for(k, edge.rest, after), edge.parent, after)
        return 0

    cdef int32_t semantics_at(self, int32_t group, int32_t sem) except -3:
        """Return the semantic state when the tokens of a group return, from the one before the token."""
        cdef Group g = self.groups[group]
        cdef int32_t before = self.semantics.root(sem)
        if not self.semantics.active:
            return sem
        if g.text:
            sem = self.semantics.append(sem, <bytes>self.semantics.texts[g.text])
        return self.semantics.with_root(sem, self.semantics.graft(self.semantics.root(g.sem), before))

    cdef int32_t semantics_after(self, Edge edge, int32_t sem) except -3:
        """Return the semantic state after a return through an edge, or FORBIDDEN."""
        if edge.action >= 0:
            return self.semantics.end(sem, edge.action)
        if edge.action == ACTION_SCOPE:
            return self.semantics.with_root(sem, self.semantics.root(edge.saved))
        return sem

    cdef int simulate(self, ConfigSpace family, int32_t config, uint32_t* words) except -3:
        """Or the text tokens that may follow a configuration into ``words`` by walking all of the vocabulary.

        In highly ambiguous grammars the paths through the stack, and so the masks per path, grow
        exponentially; configurations join the paths, so this stays polynomial.
        """
        cdef Trie trie = self.trie
        cdef int32_t i = 1, c, t, stop = trie.end[0]
        self.simulations += 1
        self.stack[0] = config
        while i < stop:
            c = family.step(self.stack[trie.depth[i] - 1], self.terms.class_of[trie.byte[i]])
            if c == DEAD:
                i = trie.end[i]
                continue
            self.stack[trie.depth[i]] = c
            for t in range(trie.token_first[i], trie.token_first[i + 1]):
                words[trie.tokens[t] >> 5] |= <uint32_t>1 << (trie.tokens[t] & 31)
            i += 1
        return 0

    # -- eager ---------------------------------------------------------------------------------------

    def precompute(self, long long budget):
        """Make the masks of every reachable local state, and of every (state, return state) pair.

        Stops after ``budget`` walks. Returns (states seen, walks done, complete).
        """
        cdef int32_t rule, state, d, s, symbol, g, mask
        cdef uint64_t before = self.walks
        calls = []      # (caller rule, callee rule, return state)
        reach = []
        for rule in range(<int32_t>self.terms.rule_body.size()):
            seen = {self.terms.rule_body[rule]}
            todo = list(seen)
            while todo:
                state = todo.pop()
                self.terms.find_sites(state)
                for s in range(self.terms.site_of[state], self.terms.site_of[state] + self.terms.site_count[state]):
                    callee = self.terms.call_rule[self.terms.sites[s].call]
                    rest = self.terms.sites[s].rest
                    if callee >= 0:
                        calls.append((rule, callee, rest))
                    if rest not in seen:
                        seen.add(rest)
                        todo.append(rest)
                for symbol in range(self.terms.symbols):
                    d = self.terms.step(state, symbol)
                    if d != EMPTY and d not in seen:
                        seen.add(d)
                        todo.append(d)
                if len(seen) > budget:
                    return len(seen), 0, False
            reach.append(seen)
        returns = [set() for _ in reach]
        for caller, callee, rest in calls:
            if rest != 1:
                returns[callee].add(rest)
        changed = True
        while changed:
            # a tail call returns to where its caller returns
            changed = False
            for caller, callee, rest in calls:
                if rest == 1 and not returns[caller] <= returns[callee]:
                    returns[callee] |= returns[caller]
                    changed = True
        for rule in range(<int32_t>self.terms.rule_body.size()):
            for state in reach[rule]:
                if <long long>(self.walks - before) > budget:
                    return sum(map(len, reach)), self.walks - before, False
                mask = self.root(state, False)
                for g in range(self.masks[mask].group_first, self.masks[mask].group_first + self.masks[mask].group_count):
                    for rest in returns[rule]:
                        self.child(self.mask_groups[g], rest, False)
        return sum(map(len, reach)), self.walks - before, True

    def counts(self):
        """Return sizes: masks, walks, hits, bytes held by masks."""
        return {
            "masks": self.masks.size(),
            "walks": self.walks,
            "hits": self.hits,
            "simulations": self.simulations,
            "most_visits": self.most_visits,
            "mask_bytes": 4 * (self.dense_words.size() + self.sparse_tokens.size() + self.remainder_nodes.size()),
            "walk_configurations": self.space.configs.size(),
        }
