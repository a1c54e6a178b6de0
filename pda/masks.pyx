# distutils: language = c++
"""Masks: which tokens may follow, for every local state, split by what they depend on.

One walk of the vocabulary trie from a local state, with the frame below it unknown, splits the tokens:

- allowed whatever is below: kept dense or sparse, whichever is smaller;
- allowed if the frame below is alive under a follow restriction that is still pending when the token ends;
- those that return out of the frame with bytes left over: kept as the trie nodes where the return
  happens, grouped by what is pending there;
- those that run into a question to the semantic state (a dynamic rule, an action that may forbid): kept as
  the trie nodes where the question comes up.

The mask of a configuration is the union over its members. For the third part each edge of the member's frame
gives a return state, from which the subtrees below those nodes are walked in the same way, again with the
frame below unknown. So the answer for (state, return state) is a mask of the same form, remembered under that
pair, and it goes deeper only where a remainder returns again. The fourth part is run on the real
configuration, whose steps are remembered too.
"""

cimport cython
from libcpp.algorithm cimport sort, unique

from stackmask.pda.configurations cimport BOTTOM, BOTTOM_REST, DEAD, READS_STATE, Config
from stackmask.pda.interning cimport ACTION_NONE, ANY_BYTE, EMPTY, F_TOKEN, TOKENS
from stackmask.pda.semantics cimport SEM_SYMBOL
from stackmask.pda.tables cimport NO_VALUE, map_clear, map_free, map_get, map_init, map_put

cdef enum:
    FEW_VISITS = 32      # up to here a list is searched, not hashed
    MANY_VISITS = 1024   # beyond, the vocabulary is walked on the real stack: see `simulate_below`


cdef inline uint64_t visit_key(Visit v) noexcept:
    return (<uint64_t>v.mask << 32) | <uint64_t>v.frame


@cython.final
cdef class MaskStore:
    """The masks of the grammars of one store over one vocabulary. Append-only."""

    def __cinit__(
        self,
        TermStore terms,
        Semantics semantics,
        ConfigSpace space,
        Trie trie,
        int32_t vocab_size,
    ):
        cdef vector[int32_t] nowhere
        self.terms = terms
        self.semantics = semantics
        self.space = space
        self.trie = trie
        self.width = (vocab_size + 31) // 32
        self.bits.resize(self.width, 0)
        self.stack.resize(trie.max_depth + 1, 0)
        self.group_index = {}
        map_init(&self.visited)
        map_init(&self.children)
        self.walks = 0
        self.hits = 0
        self.simulations = 0
        self.most_visits = 0
        self.walk(DEAD, nowhere, False, False)

    def __dealloc__(self):
        map_free(&self.visited)
        map_free(&self.children)

    def add_token_class(self, tokens):
        """Enter the ids of the next class of special tokens."""
        cdef vector[int32_t] ids
        for token in tokens:
            ids.push_back(token)
        self.class_tokens.push_back(ids)

    # -- making masks --------------------------------------------------------------------------------

    cdef int32_t intern_group(self, int32_t guard, int32_t sem, vector[int32_t]& nodes) except -1:
        # equal remainders must be one id: else every path through an ambiguous stack makes masks of its own
        cdef Group group
        cdef size_t k
        key = (guard, sem, (<char*>nodes.data())[: nodes.size() * sizeof(int32_t)])
        found = self.group_index.get(key)
        if found is not None:
            return found
        group.guard = guard
        group.sem = sem
        group.node_first = <int32_t>self.remainder_nodes.size()
        group.node_count = <int32_t>nodes.size()
        for k in range(nodes.size()):
            self.remainder_nodes.push_back(nodes[k])
        self.groups.push_back(group)
        self.group_index[key] = <int32_t>self.groups.size() - 1
        return <int32_t>self.groups.size() - 1

    cdef int32_t walk(self, int32_t start, vector[int32_t]& below, bint with_tokens, bint strict) except -3:
        """Walk the subtrees strictly below the given trie nodes from a configuration over the unknown frame.

        ``with_tokens``: special tokens may come first (the walk starts at a token boundary). ``strict``: a
        return below may be forbidden by an action.
        """
        cdef Trie trie = self.trie
        cdef ConfigSpace space = self.space
        cdef int32_t i, c, n, p, t, depth, stop, group, symbol, count = 0
        cdef size_t r, k
        cdef Config config
        cdef Mask mask
        cdef Pending pending
        cdef vector[vector[int32_t]] by_group
        cdef vector[uint64_t] late_ends
        cdef vector[int32_t] late_token
        cdef vector[int32_t] readers
        group_index = {}
        self.walks += 1
        for k in range(self.bits.size()):
            self.bits[k] = 0
        for r in range(below.size()):
            if start == READS_STATE:
                readers.push_back(below[r])
                continue
            config = space.configs[start]
            for p in range(config.pop_first, config.pop_first + config.pop_count):
                group = group_index.setdefault((space.pops[p].guard, space.pops[p].sem), len(group_index))
                if <size_t>group == by_group.size():
                    by_group.resize(group + 1)
                by_group[group].push_back(below[r])
            self.stack[trie.depth[below[r]]] = start
            i = below[r] + 1
            stop = trie.end[below[r]]
            while i < stop:
                depth = trie.depth[i]
                c = space.step(self.stack[depth - 1], trie.byte[i])
                if c <= DEAD:
                    if c == READS_STATE:
                        readers.push_back(i)
                    i = trie.end[i]
                    continue
                self.stack[depth] = c
                config = space.configs[c]
                n = trie.token_first[i + 1] - trie.token_first[i]
                if strict and n and not config.count:
                    # tokens that only a return keeps alive: an action below may forbid that return
                    readers.push_back(i)
                    i = trie.end[i]
                    continue
                for t in range(trie.token_first[i], trie.token_first[i + 1]):
                    n = trie.tokens[t]
                    if config.ends & 1:
                        self.bits[n >> 5] |= <uint32_t>1 << (n & 31)
                        count += 1
                    else:
                        late_ends.push_back(config.ends)
                        late_token.push_back(n)
                if config.pop_count and trie.end[i] > i + 1:
                    for p in range(config.pop_first, config.pop_first + config.pop_count):
                        key = (space.pops[p].guard, space.pops[p].sem)
                        group = group_index.setdefault(key, len(group_index))
                        if <size_t>group == by_group.size():
                            by_group.resize(group + 1)
                        by_group[group].push_back(i)
                if config.count:
                    i += 1
                else:
                    i = trie.end[i]
        mask.reads_tokens = 0
        if with_tokens:
            for symbol in range(self.terms.token_classes):
                c = space.step(start, TOKENS + symbol)
                if c == READS_STATE:
                    mask.reads_tokens = 1
                if c <= DEAD:
                    continue
                for k in range(self.class_tokens[symbol].size()):
                    n = self.class_tokens[symbol][k]
                    if space.configs[c].ends & 1:
                        self.bits[n >> 5] |= <uint32_t>1 << (n & 31)
                        count += 1
                    else:
                        late_ends.push_back(space.configs[c].ends)
                        late_token.push_back(n)
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
        for guard, sem in group_index:
            # one subtree may lie in another, and both return at one node
            k = self.mask_groups.size() - mask.group_first
            sort(by_group[k].begin(), by_group[k].end())
            by_group[k].erase(unique(by_group[k].begin(), by_group[k].end()), by_group[k].end())
            self.mask_groups.push_back(self.intern_group(guard, sem, by_group[k]))
        mask.reader_first = <int32_t>self.reader_nodes.size()
        mask.reader_count = <int32_t>readers.size()
        for k in range(readers.size()):
            self.reader_nodes.push_back(readers[k])
        self.masks.push_back(mask)
        return <int32_t>self.masks.size() - 1

    cdef int32_t root(self, int32_t state, bint strict) except -3:
        """Return the mask of a local state, the frame and the semantic state below it unknown."""
        cdef vector[int32_t]* roots = &self.strict_roots if strict else &self.roots
        cdef vector[int32_t] whole
        cdef int32_t found
        if <size_t>state < roots.size() and roots[0][state] >= 0:
            self.hits += 1
            return roots[0][state]
        whole.push_back(0)
        found = self.walk(
            self.space.raw(state, SEM_SYMBOL), whole, (self.terms.terms[state].flags & F_TOKEN) != 0, strict
        )
        if <size_t>state >= roots.size():
            roots.resize(self.terms.terms.size(), -1)
        roots[0][state] = found
        return found

    cdef int32_t child(self, int32_t group, int32_t rest, bint changed, bint strict) except -3:
        """Return the mask of the remainders of a group in a return state, the frame below unknown.

        ``changed``: the return runs an action or ends a scope, so what the token itself put into the semantic
        state is not what holds afterwards.
        """
        cdef KeyMap* index = &self.children
        cdef uint64_t key = (<uint64_t>group << 34) | (<uint64_t>rest << 2)
        key |= (<uint64_t>changed << 1) | <uint64_t>strict
        cdef int32_t found = map_get(index, key)
        cdef Group g = self.groups[group]
        cdef vector[int32_t] below
        cdef int32_t i
        if found != NO_VALUE:
            return found
        if g.guard != ANY_BYTE:
            rest = self.terms.mk_seq(self.terms.mk_guard(g.guard), rest)
        found = NO_TOKENS
        if rest != EMPTY:
            for i in range(g.node_first, g.node_first + g.node_count):
                below.push_back(self.remainder_nodes[i])
            found = self.walk(self.space.closed(rest, BOTTOM, SEM_SYMBOL if changed else g.sem), below, False, strict)
        map_put(index, key, found)
        return found

    # -- using them ----------------------------------------------------------------------------------

    cdef int visit(self, int32_t mask, int32_t frame) except -3:
        cdef Visit v
        cdef size_t i, n = self.visits.size()
        v.mask = mask
        v.frame = frame
        # ambiguous stacks reach the same place in several ways; a mask is or-ed once
        if n < FEW_VISITS:
            for i in range(n):
                if self.visits[i].mask == mask and self.visits[i].frame == frame:
                    return 0
        else:
            if n == FEW_VISITS:
                map_clear(&self.visited)
                for i in range(n):
                    map_put(&self.visited, visit_key(self.visits[i]), 1)
            if map_get(&self.visited, visit_key(v)) != NO_VALUE:
                return 0
            map_put(&self.visited, visit_key(v), 1)
        self.visits.push_back(v)
        return 0

    cdef int fill(self, ConfigSpace family, int32_t config, uint32_t* words) except -3:
        """Or the tokens that may follow a configuration into ``words`` (``width`` words of 32 bits)."""
        cdef int32_t i, first = family.configs[config].first
        cdef size_t roots, k = 0
        self.visits.clear()
        self.to_simulate.clear()
        self.simulate_tokens = False
        for i in range(first, first + family.configs[config].count):
            k = family.members[i].frame
            self.visit(self.root(family.members[i].state, family.frames[k].forbids), <int32_t>k)
        roots = self.visits.size()
        k = 0
        while k < self.visits.size():
            self.apply(family, self.visits[k], words)
            k += 1
            if k >= roots and self.visits.size() > MANY_VISITS:
                # in highly ambiguous grammars the paths through the stack, and so the masks per path, grow
                # exponentially; configurations join the paths, so this stays polynomial
                self.to_simulate.clear()
                self.to_simulate.push_back(0)
                break
        if k > self.most_visits:
            self.most_visits = k
        if not self.to_simulate.empty():
            self.simulate(family, config, words)
        if self.simulate_tokens:
            self.simulate_special(family, config, words)
        return 0

    cdef int apply(self, ConfigSpace family, Visit at, uint32_t* words) except -3:
        cdef Mask mask = self.masks[at.mask]
        cdef uint32_t* dense
        cdef int32_t i, j, k, n, e, g
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
        for i in range(mask.reader_first, mask.reader_first + mask.reader_count):
            self.to_simulate.push_back(self.reader_nodes[i])
        if mask.reads_tokens:
            self.simulate_tokens = True
        for i in range(mask.group_first, mask.group_first + mask.group_count):
            k = self.mask_groups[i]
            for e in range(family.frames[at.frame].count):
                edge = family.edges[family.frames[at.frame].first + e]
                if edge.rest == BOTTOM_REST:
                    continue
                if edge.action >= 0 and self.semantics.may_forbid(edge.action):
                    for j in range(self.groups[k].node_count):
                        self.to_simulate.push_back(self.remainder_nodes[self.groups[k].node_first + j])
                    continue
                self.visit(
                    self.child(k, edge.rest, edge.action != ACTION_NONE, family.frames[edge.parent].forbids),
                    edge.parent,
                )
        return 0

    cdef int simulate(self, ConfigSpace family, int32_t config, uint32_t* words) except -3:
        """Or the text tokens in the subtrees of ``to_simulate`` that may follow on the real stack."""
        cdef size_t k
        cdef int32_t done = 0
        self.simulations += 1
        sort(self.to_simulate.begin(), self.to_simulate.end())
        for k in range(self.to_simulate.size()):
            # subtrees are nested or disjoint, and an outer one comes first
            if self.to_simulate[k] >= done:
                self.simulate_below(family, config, self.to_simulate[k], words)
                done = self.trie.end[self.to_simulate[k]]
        return 0

    cdef int simulate_below(
        self, ConfigSpace family, int32_t config, int32_t node, uint32_t* words
    ) except -3:
        cdef Trie trie = self.trie
        cdef int32_t i, c, t, stop = trie.end[node]
        cdef vector[int32_t] path
        while node:
            path.push_back(node)
            node = trie.parent[node]
        self.stack[0] = config
        while not path.empty():
            i = path.back()
            path.pop_back()
            c = family.step(self.stack[trie.depth[i] - 1], trie.byte[i])
            if c == DEAD:
                return 0
            self.stack[trie.depth[i]] = c
            node = i
        i = node
        while i < stop:
            if i:
                c = family.step(self.stack[trie.depth[i] - 1], trie.byte[i])
                if c == DEAD:
                    i = trie.end[i]
                    continue
                self.stack[trie.depth[i]] = c
                for t in range(trie.token_first[i], trie.token_first[i + 1]):
                    words[trie.tokens[t] >> 5] |= <uint32_t>1 << (trie.tokens[t] & 31)
            i += 1
        return 0

    cdef int simulate_special(self, ConfigSpace family, int32_t config, uint32_t* words) except -3:
        cdef int32_t symbol, n
        cdef size_t k
        for symbol in range(self.terms.token_classes):
            if family.step(config, TOKENS + symbol) != DEAD:
                for k in range(self.class_tokens[symbol].size()):
                    n = self.class_tokens[symbol][k]
                    words[n >> 5] |= <uint32_t>1 << (n & 31)
        return 0

    # -- eager ---------------------------------------------------------------------------------------

    def precompute(self, rules, long long budget):
        """Make the masks of every reachable local state of the rules, and of every (state, return state) pair.

        Stops after ``budget`` walks. Returns (states seen, walks done, complete).
        """
        cdef int32_t rule, state, d, s, symbol, g, mask
        cdef uint64_t before = self.walks
        calls = []      # (caller rule, callee rule, return state)
        reach = {}
        for rule in rules:
            seen = {self.terms.rule_body[rule]}
            todo = list(seen)
            while todo:
                state = todo.pop()
                self.terms.find_sites(state)
                s = self.terms.site_of[state]
                for s in range(s, s + self.terms.site_count[state]):
                    callee = self.terms.call_rule[self.terms.sites[s].call]
                    rest = self.terms.sites[s].rest
                    if callee >= 0:
                        calls.append((rule, callee, rest))
                    if rest not in seen:
                        seen.add(rest)
                        todo.append(rest)
                for d in range(256 + self.terms.token_classes):
                    d = self.terms.step(state, d)
                    if d != EMPTY and d not in seen:
                        seen.add(d)
                        todo.append(d)
                if len(seen) > budget:
                    return len(seen), 0, False
            reach[rule] = seen
        returns = {rule: set() for rule in rules}
        for _, callee, rest in calls:
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
        total = sum(map(len, reach.values()))
        for rule in rules:
            for state in reach[rule]:
                if <long long>(self.walks - before) > budget:
                    return total, self.walks - before, False
                mask = self.root(state, False)
                g = self.masks[mask].group_first
                for g in range(g, g + self.masks[mask].group_count):
                    for rest in returns[rule]:
                        self.child(self.mask_groups[g], rest, False, False)
        return total, self.walks - before, True

    def counts(self):
        """Return sizes: masks, walks, hits, bytes held by masks."""
        return {
            "masks": self.masks.size(),
            "walks": self.walks,
            "hits": self.hits,
            "simulations": self.simulations,
            "most_visits": self.most_visits,
            "mask_bytes": 4
            * (self.dense_words.size() + self.sparse_tokens.size() + self.remainder_nodes.size()),
            "walk_configurations": self.space.configs.size(),
        }
