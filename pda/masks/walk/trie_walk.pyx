# distutils: language = c++
"""The walk: one pass over a token trie from a local state, with the frame not known.

A walk classifies all tokens:

- Some are allowed with any stack. They become a list, or a row of bits if they are many.
- Some end while a follow restriction is pending. They are allowed if the frame can satisfy it.
- Some leave the frame with bytes left over. The walk notes the places (trie positions) of these returns, in
  groups by the guard and the semantic state there.
- For some the semantic state decides: a resolver or an action that may forbid. The walk notes these places.

The loop goes down the trie as long as the configuration is alive. A subtree in which all tokens behave alike
is taken as a whole (``subtree_acceptance``). Runs of one character class are left to tables
(``constrained_runs``).
"""

cimport cython
from libc.string cimport memset

from stackmask.pda.ids cimport (
    NO_ROW,
    NO_RUN,
    NO_SUMMARY,
    GuardId,
    TokenClassId,
    TokenId,
    WalkGroupId,
    WalkPendingId,
)
from stackmask.pda.context.capture_texts cimport KEY_OF_ONE
from stackmask.pda.masks.shared.arena cimport SPARSE
from stackmask.pda.masks.shared.part cimport MaskContext, MaskPart
from stackmask.pda.masks.walk.subtree_acceptance cimport DESCEND, ALL_ALLOWED, SAME_STATE
from stackmask.pda.masks.walk.token_partition cimport NO_END
from stackmask.pda.masks.walk.walk_inlines cimport allow, is_unconditional, next_alive, classify_loop
from stackmask.pda.stack.configuration_table cimport DEAD, READS_STATE, UNKNOWN, Config, leads_on
from stackmask.pda.terms.term_table cimport token_symbol
from stackmask.pda.vocabulary.suffix_tries cimport INCLUSIVE, Nodes, is_inclusive, node_at, place_at, trie_of

cdef enum:
    RUN_NODES = 64      # a smaller subtree is walked; its runs are not looked up
    FEWER_NODES = 8     # a walk is repeated where its groups have more than one node of so many

# what `emit` returns for a node
cdef enum:
    SKIP = 0            # its children need no walk
    WALK_BELOW = 1
    WALK_READING = 2        # ... but some members were omitted (see emit_readers), so run tables do not apply
    BEGIN_AGAIN = 3     # the walk turned out not to be repeatable: begin again without that


cdef inline int take(
    TrieWalk walk, NodeId node, NodeId stop_node, WalkState* s, WalkResult& out
) except -1 nogil:
    """Allow the tokens of the nodes from ``node`` to before ``stop_node``, with any stack."""
    cdef int32_t t = s.nodes.token_first[node], stop = s.nodes.token_first[stop_node]
    if out.bits != NULL:
        allow(out.bits, s.nodes.tokens, t, stop)
    elif t < stop:
        out.few.insert(out.few.end(), s.nodes.tokens + t, s.nodes.tokens + stop)
        if out.few.size() > s.most:
            out.dense = walk.arena.row_of(out.few)
            out.bits = walk.arena.rows[out.dense]
    return 0


@cython.final
cdef class TrieWalk(MaskPart):
    """Make walks, one at a time. Nothing is remembered between walks."""

    def __cinit__(
        self,
        MaskContext context not None,
        MaskArena arena not None,
        ConstrainedRuns constrained not None,
        SubtreeAcceptance acceptance not None,
    ):
        self.trie = context.trie
        self.arena = arena
        self.constrained = constrained
        self.acceptance = acceptance
        self.stack.resize(self.trie.max_depth + 2, 0)
        self.next_kid.resize(self.trie.max_depth + 2, 0)
        self.last_kid.resize(self.trie.max_depth + 2, 0)
        self.walks = 0
        self.visited_nodes = 0
        self.taken = 0

    cdef bint walk(
        self, const WalkQuery& query, vector[PlaceId]& places, vector[PlaceId]& origin, WalkResult& out
    ) except -1 nogil:
        """Walk the subtrees at some places. Put the result into ``out``, which must be new.

        Return False if the query allows to repeat the walk with the frame known, and the walk found a return
        for which that is wrong. Then ``out`` must be dropped, and the walk made with ``repeatable`` off.
        """
        cdef WalkState s
        cdef size_t r
        out.bits = NULL
        out.dense = NO_ROW
        out.suffix_nodes = 0
        out.repeats = out.reads_tokens = False
        self.walks += 1
        if query.start == READS_STATE:
            out.readers.assign(places.begin(), places.end())
        elif query.start != DEAD:
            s.most = <size_t>(self.context.width // SPARSE)
            s.most_suffix_nodes = self.trie.nodes // FEWER_NODES
            s.unconditional = s.self_loop = DEAD
            memset(&s.loop, 0, sizeof(SelfLoop))
            self.begin(query, places, origin, out)
            r = 0
            while r < self.jobs.size():
                if not self.walk_place(query, self.jobs[r], self.job_configs[r], &s, out):
                    return False
                r += 1
        if query.with_tokens:
            self.emit_special_tokens(query, out)
        for r in range(out.subtrees.size()):
            self.acceptance.append_return_places(
                out.subtrees[r],
                out.groups.guard(out.subtree_groups[r]),
                out.groups.places[out.subtree_groups[r]],
            )
        return True

    cdef int begin(
        self, const WalkQuery& query, vector[PlaceId]& places, vector[PlaceId]& origin, WalkResult& out
    ) except -1 nogil:
        """Note what the start does before the first byte, and queue the places."""
        cdef Config first = self.space.configs[query.start]
        cdef int32_t p
        cdef WalkGroupId g
        cdef size_t r
        self.jobs.clear()
        self.job_configs.clear()
        for r in range(places.size()):
            self.acceptance.note_readers(places[r], first.reads, out.readers)
        for p in range(first.pop_first, first.pop_first + first.pop_count):
            g = out.groups.at(self.space.pops[p].guard, self.space.pops[p].sem)
            out.groups.has_run[g] = query.run != NO_RUN
            out.groups.places[g].insert(out.groups.places[g].end(), origin.begin(), origin.end())
            for r in range(origin.size()):
                out.suffix_nodes += self.context.tries.size_of(origin[r])
        for r in range(places.size()):
            self.jobs.push_back(places[r])
            self.job_configs.push_back(query.start)
        return 0

    cdef bint walk_place(
        self, const WalkQuery& query, PlaceId place, ConfigId c, WalkState* s, WalkResult& out
    ) except -1 nogil:
        """Walk the subtree at one place from a configuration. Return False if the walk must begin again."""
        cdef ConfigId* stack = self.stack.data()
        cdef const SummaryId* summary_of = self.trie.summary_of.data()
        cdef Nodes nodes = self.context.tries.nodes(place)
        cdef NodeId i = node_at(place)
        cdef ConfigId above
        cdef int32_t k = 0, kid_end = 0, depth = 0
        cdef bint own_byte = is_inclusive(place)
        cdef uint64_t visited = 0
        cdef int verdict, then
        cdef bint subtrees = self.context.layers.subtrees
        s.nodes = nodes
        s.in_suffix_trie = trie_of(place)
        s.covered = 0
        if not own_byte:
            if nodes.end[i] - i > RUN_NODES and not self.space.configs[query.start].reads & ~<uint64_t>1:
                c = self.constrained.defer_runs(c, place, out.deferred, self.jobs, self.job_configs)
                if c == DEAD:
                    return True
            k = nodes.kid_first[i]
            kid_end = nodes.kid_first[i + 1]
        above = c
        while True:
            if own_byte:
                own_byte = False
                c = self.space.step(above, nodes.byte[i])
            elif k < kid_end:
                k = next_alive(self.space, above, nodes, k, kid_end, &c)
                if k == kid_end:
                    continue
                if c == UNKNOWN:
                    c = self.space.step(above, nodes.kid_byte[k])
                i = nodes.kid_node[k]
                k += 1
            elif depth:
                depth -= 1
                k = self.next_kid[depth]
                kid_end = self.last_kid[depth]
                above = stack[depth]
                continue
            else:
                break
            if not leads_on(c):
                if c == READS_STATE:
                    out.readers.push_back(place_at(i, s.in_suffix_trie | INCLUSIVE))
                continue
            visited += 1
            if not visited & 0xFFF:
                self.terms.meter.spend(0x1000)
            if c != s.unconditional and is_unconditional(&self.space.configs[c]):
                s.unconditional = c
            verdict = DESCEND
            if subtrees and not s.in_suffix_trie and summary_of[i] != NO_SUMMARY:
                verdict = self.classify(c, summary_of[i], s)
            if c == s.unconditional and out.suffix_nodes <= s.most_suffix_nodes:
                # most nodes are like this: their tokens are allowed, and nothing else happens
                take(self, i, i + 1 if verdict == DESCEND else nodes.end[i], s, out)
                if verdict != DESCEND or nodes.kid_first[i] == nodes.kid_first[i + 1]:
                    continue
                then = WALK_BELOW
            else:
                then = self.emit(query, c, i, verdict, s, out)
                if then == SKIP:
                    continue
                if then == BEGIN_AGAIN:
                    return False
            if nodes.end[i] - i > RUN_NODES and then == WALK_BELOW:
                c = self.constrained.defer_runs(
                    c, place_at(i, s.in_suffix_trie), out.deferred, self.jobs, self.job_configs
                )
                if c == DEAD:
                    continue
            stack[depth] = above
            self.next_kid[depth] = k
            self.last_kid[depth] = kid_end
            depth += 1
            above = c
            k = nodes.kid_first[i]
            kid_end = nodes.kid_first[i + 1]
        self.visited_nodes += visited
        return self.terms.meter.spend(visited & 0xFFF) == 0

    cdef int classify(self, ConfigId c, SummaryId summary, WalkState* s) except -1 nogil:
        """Classify a subtree for a configuration by the subtree's summary: see ``SubtreeAcceptance``."""
        cdef const Config* config
        cdef SelfLoop* loop
        cdef int verdict = DESCEND
        if c == s.self_loop:
            verdict = classify_loop(&self.trie.summaries[summary], s.loop)
            if verdict == DESCEND and not s.loop.is_searched:
                verdict = self.acceptance.classify(c, summary)
                s.loop = self.acceptance.loop_of(c)[0]
        else:
            config = &self.space.configs[c]
            if c == s.unconditional or (config.count and config.sure == config.count):
                verdict = self.acceptance.classify(c, summary)
                loop = self.acceptance.loop_of(c)
                if loop != NULL and loop.length == NO_END:
                    s.self_loop = c
                    s.loop = loop[0]
        self.taken += verdict != DESCEND
        return verdict

    cdef int emit(
        self, const WalkQuery& query, ConfigId c, NodeId node, int verdict, WalkState* s, WalkResult& out
    ) except -1 nogil:
        """Note the tokens and the returns of a configuration at a node. Return how the walk continues."""
        cdef const Config* config = &self.space.configs[c]
        # most configurations have no such members: not even a call, for nodes are many
        cdef uint64_t reads = self.emit_readers(config, node, &verdict, s, out) if config.reads else 0
        cdef PlaceId place = place_at(node, s.in_suffix_trie)
        cdef int32_t t = s.nodes.token_first[node]
        cdef NodeId stop_node = node + 1 if verdict == DESCEND else s.nodes.end[node]
        cdef int32_t stop = s.nodes.token_first[stop_node]
        cdef WalkPendingId g
        if t < stop:
            if query.strict and not config.sure:  # mutant: strict-walk
                # only a return keeps these tokens alive, and an action may forbid it
                out.readers.push_back(place_at(node, s.in_suffix_trie | INCLUSIVE))
                return SKIP
            if not config.ends & 1:  # mutant: pending-end
                g = out.pendings.at(config.ends)
                out.pendings.tokens[g].insert(
                    out.pendings.tokens[g].end(), s.nodes.tokens + t, s.nodes.tokens + stop
                )
            else:
                take(self, node, stop_node, s, out)
        if config.capturing and self.opens_key(config):
            out.key_starts.push_back(place)
        if verdict == ALL_ALLOWED or s.nodes.kid_first[node] == s.nodes.kid_first[node + 1]:
            return SKIP
        if config.pop_count and not self.emit_returns(query, config, node, verdict, s, out):
            return BEGIN_AGAIN
        if (
            query.repeatable
            and out.suffix_nodes > s.most_suffix_nodes
            and out.groups.can_repeat(query.again.sem)
        ):
            # walking the groups costs more than walking the vocabulary again
            out.repeats = True
            out.suffix_nodes = 0
            out.groups.clear()
            out.subtrees.clear()
            out.subtree_groups.clear()
        if verdict == SAME_STATE or not config.count:
            return SKIP
        return WALK_READING if reads else WALK_BELOW

    cdef uint64_t emit_readers(
        self, const Config* config, NodeId node, int* verdict, WalkState* s, WalkResult& out
    ) except? 0x5555555555555555 nogil:
        """Note the places where omitted members of a configuration continue.

        The semantic state decides about these members, so their tokens are tried on the real configuration.
        The members that are present are valid regardless. Return the guards under which omitted members
        continue under the node.
        """
        cdef uint64_t reads = config.reads if node >= s.covered and verdict[0] != ALL_ALLOWED else 0
        if not reads:
            return 0
        if reads & 1 or not config.sure or not config.ends & 1:
            out.readers.push_back(place_at(node, s.in_suffix_trie | INCLUSIVE))
            s.covered = s.nodes.end[node]
            return 0
        if verdict[0] == SAME_STATE and not self.acceptance.meets(self.trie.summary_of[node], reads):
            return 0
        verdict[0] = DESCEND
        self.acceptance.note_readers(place_at(node, s.in_suffix_trie), reads, out.readers)
        return reads

    cdef bint emit_returns(
        self,
        const WalkQuery& query,
        const Config* config,
        NodeId node,
        int verdict,
        WalkState* s,
        WalkResult& out,
    ) except -1 nogil:
        """Note the returns of a configuration at a node, for the suffixes of the tokens there.

        Return False if the walk must be repeated with the frame known, and a repeated walk would lack this
        return.
        """
        cdef int32_t p
        cdef WalkGroupId g
        cdef GuardId guard
        cdef SummaryId summary = self.trie.summary_of[node] if verdict == SAME_STATE else NO_SUMMARY
        for p in range(config.pop_first, config.pop_first + config.pop_count):
            guard = self.space.pops[p].guard
            if verdict == SAME_STATE:
                if not self.acceptance.meets(summary, <uint64_t>1 << guard):
                    continue
            elif not self.acceptance.may_follow(s.nodes, node, guard):
                continue
            if out.repeats:
                if self.space.pops[p].sem == query.again.sem:
                    continue
                return False
            g = out.groups.at(guard, self.space.pops[p].sem)
            out.suffix_nodes += s.nodes.end[node] - node
            out.groups.places[g].push_back(place_at(node, s.in_suffix_trie))
            if verdict == SAME_STATE:
                out.suffix_nodes += self.trie.summaries[summary].nested
                out.subtrees.push_back(node)
                out.subtree_groups.push_back(g)
        return True

    cdef int emit_special_tokens(self, const WalkQuery& query, WalkResult& out) except -1 nogil:
        """Note the special tokens that the start allows."""
        cdef const Config* config
        cdef const vector[TokenId]* tokens
        cdef TokenClassId symbol
        cdef ConfigId c
        cdef WalkPendingId g
        for symbol in range(self.terms.token_classes):
            c = self.space.step(query.start, token_symbol(symbol))
            if c == DEAD:
                continue
            if c == READS_STATE or (query.strict and not self.space.configs[c].sure):
                out.reads_tokens = True
                continue
            config = &self.space.configs[c]
            if config.reads or (config.count and not config.sure):
                out.reads_tokens = True
            tokens = &self.context.class_tokens[symbol]
            if config.ends & 1:
                out.few.insert(out.few.end(), tokens.begin(), tokens.end())
            else:
                g = out.pendings.at(config.ends)
                out.pendings.tokens[g].insert(out.pendings.tokens[g].end(), tokens.begin(), tokens.end())
        return 0

    cdef bint opens_key(self, const Config* config) noexcept nogil:
        """Tell whether some member has just begun to capture a key."""
        cdef int32_t i
        for i in range(config.first, config.first + config.count):
            if self.context.semantics.sems[self.space.members[i].sem].text == KEY_OF_ONE:
                return True
        return False
