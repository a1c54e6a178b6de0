# distutils: language = c++
"""The masks of local states, and of suffixes in return states, which are computed on demand and cached.

The frame of a local state is unknown. So its mask separates tokens that are allowed with any stack from
tokens that depend on the stack. Three methods keep walks short:

- The suffixes of tokens that return are kept as groups of places in the trie, and a return state is walked
  over such a group. Groups with more than an eighth of the nodes of the vocabulary, as where a name may end
  anywhere, are built on demand. At the end of a text, none of them is needed.
- Runs of one character class are looked up. A mask *includes* the masks of the run and of its continuation.
- Some tokens are classified without a walk (``token_partition``).
"""

cimport cython
from libc.stdint cimport uint64_t
from libc.string cimport memset
from libcpp.utility cimport move

from stackmask.pda.context.object_keys cimport KEYS_UNKNOWN
from stackmask.pda.context.semantic_states cimport SEM_SYMBOL
from stackmask.pda.ids cimport (
    FAILED,
    ID_FAILED,
    NO_ENTRY,
    NO_MASK,
    NO_REPEAT,
    NO_RUN,
    NO_SUFFIXES,
    UNBOUNDED,
    PlaceId,
    SuffixesId,
)
from stackmask.pda.masks.arena cimport (
    NO_FILTER,
    NO_TOKENS,
    NOT_DEEP,
    Group,
    Include,
    Loop,
    Mask,
    MaskContext,
    MaskGroup,
    MaskPart,
    is_nothing,
    nothing,
    sort_unique,
)
from stackmask.pda.masks.prefixes cimport as_literal
from stackmask.pda.masks.token_partition cimport Uncounted
from stackmask.pda.masks.trie_walk cimport CutWalk, KnownCharacters, UngroupedWalk, WalkQuery
from stackmask.pda.memory.byte_sets cimport has_bit, lowest_bit
from stackmask.pda.memory.hash_tables cimport NO_VALUE
from stackmask.pda.stack.configuration_table cimport BOTTOM, DEAD, READS_STATE, leads_on
from stackmask.pda.terms.term_table cimport ANY_BYTE, EMPTY, F_CALL, F_KEYS, F_TOKEN
from stackmask.pda.vocabulary.suffix_tries cimport is_deep, node_at, place_at


cdef enum:
    MOST_QUERIES = 8    # to find out whether a configuration is a loop
    NODE_UNITS = 4      # that a new run table, and what follows its runs, cost for each node that it scans


cdef WalkQuery walk_query(ConfigId start, SuffixesId group, bint with_tokens, bint strict) noexcept nogil:
    cdef WalkQuery query
    query.start = start
    query.group = group
    query.with_tokens = with_tokens
    query.strict = strict
    query.must_group = query.has_callers = query.after_run = False
    return query


cdef bint resume(
    LocalMasks masks, const WalkQuery& query, vector[PlaceId]& places, WalkResult& found
) except FAILED nogil:
    """Continue a walk that was interrupted before. Return whether there was one."""
    cdef CutWalk cut
    if not masks.walker.take_cut(query, places, &cut):
        return False
    found = move(cut.out)
    if not cut.is_done:
        masks.walker.walk(query, places, found, &cut)
    return True


@cython.final
cdef class LocalMasks(MaskPart):
    """The masks of local states, cached by the queries of walks."""

    def __cinit__(
        self,
        MaskContext context not None,
        MaskArena arena not None,
        Slices slices not None,
        RunSplitter splitter not None,
        TokenPartition partition not None,
        LiteralMasks literals not None,
        TrieWalk walker not None,
    ):
        self.arena = arena
        self.slices = slices
        self.splitter = splitter
        self.partition = partition
        self.literals = literals
        self.walker = walker
        self.entries = 0
        self.shortened = 0

    cdef int drop(self) except FAILED nogil:
        """Drop all masks."""
        self.entries = 0
        self.state_masks.reset()
        self.subtree_masks.reset()
        self.entry_index.reset()
        self.children.reset()
        self.after_run_index.reset()
        self.ungrouped.clear()
        self.walked_places.clear()
        return MaskPart.drop(self)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held here."""
        cdef size_t held = self.state_masks.nbytes() + self.subtree_masks.nbytes()
        held += self.entry_index.nbytes() + self.children.nbytes() + self.after_run_index.nbytes()
        return held + sizeof(UngroupedWalk) * self.ungrouped.size() + 4 * self.walked_places.size()

    # -- a new mask ------------------------------------------------------------------------------------

    cdef MaskId make(
        self, WalkQuery query, vector[PlaceId]& places, vector[Include]& includes
    ) except ID_FAILED nogil:
        """Walk some places and return the mask. ``includes``: further masks to include."""
        cdef WalkResult found
        cdef uint64_t before = self.walker.visited_nodes
        cdef MaskId made
        if self.terms.meter.is_spent():
            return NO_TOKENS
        query.has_callers = self.has_callers and not query.must_group
        found.visited = 0
        if not self.walker.cut.size() or not resume(self, query, places, found):
            self.walker.walk(query, places, found, NULL)
        if self.terms.meter.is_over:
            return NO_TOKENS
        found.visited += <int32_t>(self.walker.visited_nodes - before)
        made = self.keep(query, places, found, includes)
        self.terms.meter.has_moved = True
        return made

    cdef int remember(self, KeyMap* masks, uint64_t key, MaskId mask) except FAILED nogil:
        """Cache a mask if it is complete."""
        if not self.terms.meter.is_over:
            masks.put(key, mask)
        return 0

    cdef MaskId keep(
        self,
        const WalkQuery& query,
        vector[PlaceId]& places,
        WalkResult& found,
        vector[Include]& includes,
    ) except ID_FAILED nogil:
        """Create a mask from the result of a walk, and include the masks of run tables."""
        cdef Mask mask = nothing()
        cdef size_t r
        cdef size_t readers = found.readers.size()
        self.intern_groups(found)
        # what follows a run is walked in turn
        for r in range(found.deferred.size()):
            self.include_run(found.deferred[r], query.strict, includes, found.readers)
        if self.terms.meter.is_over:
            found.readers.resize(readers)
            self.walker.keep_cut(query, places, found, NULL, 0)
            return NO_TOKENS
        mask.cost = found.visited
        self.keep_tokens(found, &mask)
        if found.are_many:
            mask.repeat = self.keep_ungrouped(query, places, found)
        self.keep_groups(query, places, found, &mask)
        mask.reader_first = <int32_t>self.arena.readers.size()
        mask.reader_count = <int32_t>found.readers.size()
        self.arena.readers.insert(self.arena.readers.end(), found.readers.begin(), found.readers.end())
        mask.include_first = <int32_t>self.arena.includes.size()
        mask.include_count = <int32_t>includes.size()
        self.arena.includes.append(includes.begin(), includes.end())
        if is_nothing(mask):
            return NO_TOKENS
        return self.arena.add(mask)

    cdef int intern_groups(self, WalkResult& found) except FAILED nogil:
        """Store the groups of a walk, as far as the work limit allows. Groups may be large."""
        cdef size_t g
        for g in range(found.groups.size()):
            if found.groups.ids[g] != NO_SUFFIXES:
                continue
            if self.terms.meter.is_spent():
                return 0
            found.groups.ids[g] = self.arena.intern_group(
                found.groups.guard(g), found.groups.sem(g), NO_RUN, found.groups.places[g]
            )
            self.terms.meter.has_moved = True
        return 0

    cdef int keep_tokens(self, WalkResult& found, Mask* mask) except FAILED nogil:
        """Store the tokens that are allowed with any stack, and tokens that a follow restriction decides."""
        cdef size_t g
        self.arena.keep_tokens(found.few, found.dense, mask)
        mask.pending_first = <int32_t>self.arena.pendings.size()
        mask.pending_count = <int32_t>found.pendings.size()
        for g in range(found.pendings.size()):
            self.arena.keep_pending(found.pendings.tokens[g], found.pendings.ends[g])
        return 0

    cdef int keep_groups(
        self, const WalkQuery& query, vector[PlaceId]& places, WalkResult& found, Mask* mask
    ) except FAILED nogil:
        """Store the places where the walk returns, and where undeclared keys begin.

        If the start returns before any byte, all walked places form one group.
        """
        cdef size_t g
        cdef int32_t p, first = 0, pops = 0
        cdef SuffixesId whole = query.group
        mask.reads_tokens = found.reads_tokens
        mask.key_first = <int32_t>self.arena.key_starts.size()
        mask.key_count = <int32_t>found.key_starts.size()
        self.arena.key_starts.insert(
            self.arena.key_starts.end(), found.key_starts.begin(), found.key_starts.end()
        )
        mask.group_first = <int32_t>self.arena.mask_groups.size()
        if query.start != DEAD and query.start != READS_STATE and not query.must_group:
            first = self.space.configs[query.start].pop_first
            pops = self.space.configs[query.start].pop_count
        mask.group_count = pops + <int32_t>found.groups.size()
        if pops and whole == NO_SUFFIXES:
            whole = self.arena.intern_group(ANY_BYTE, SEM_SYMBOL, NO_RUN, places)
        for p in range(first, first + pops):
            self.arena.mask_groups.push_back(
                MaskGroup(
                    self.arena.regrouped(whole, self.space.pops[p].guard, self.space.pops[p].sem),
                    self.space.pops[p].callee,
                )
            )
        for g in range(found.groups.size()):
            self.arena.mask_groups.push_back(
                MaskGroup(
                    found.groups.ids[g],
                    found.groups.callees[g],
                )
            )
        return 0

    cdef RepeatId keep_ungrouped(
        self, const WalkQuery& query, vector[PlaceId]& places, WalkResult& found
    ) except ID_FAILED nogil:
        """Store the mask of many grouped suffixes, or the data needed to group them in another walk."""
        cdef UngroupedWalk walk
        cdef Mask grouped = nothing()
        cdef WalkQuery again = query
        walk.start = query.start
        walk.with_tokens = query.with_tokens
        walk.strict = query.strict
        walk.has_calls = found.has_calls
        walk.grouped = NO_MASK
        walk.place_first = <int32_t>self.walked_places.size()
        if found.is_ungrouped:
            self.walked_places.insert(self.walked_places.end(), places.begin(), places.end())
        else:
            again.must_group = True
            self.keep_groups(again, places, found, &grouped)
            found.groups.clear()
            walk.grouped = self.arena.add(grouped)
        walk.place_count = <int32_t>self.walked_places.size() - walk.place_first
        self.ungrouped.push_back(walk)
        return <int32_t>self.ungrouped.size() - 1

    cdef MaskId with_groups(self, RepeatId number) except ID_FAILED nogil:
        """Return the mask of the many suffixes of a walk."""
        cdef MaskId found = self.ungrouped[number].grouped
        cdef vector[PlaceId] places
        cdef vector[Include] nothing_else
        cdef UngroupedWalk walk
        cdef WalkQuery query
        cdef int32_t k
        if found == NO_MASK:
            walk = self.ungrouped[number]
            for k in range(walk.place_first, walk.place_first + walk.place_count):
                places.push_back(self.walked_places[k])
            query = walk_query(walk.start, NO_SUFFIXES, walk.with_tokens, walk.strict)
            query.must_group = True
            found = self.make(query, places, nothing_else)
            if not self.terms.meter.is_over:
                self.ungrouped[number].grouped = found
        return found

    # -- runs of one character class -------------------------------------------------------------------

    cdef int include_run(
        self, DeferredRun deferred, bint strict, vector[Include]& out, vector[PlaceId]& readers
    ) except ID_FAILED nogil:
        """Include the slice of a run from its table, and the mask of the continuation of suitable runs.

        ``readers``: receives the place if a strict walk may reach the maximum of the run, where only a return
        remains, which an action may forbid.
        """
        cdef RunMember member = self.splitter.run_members[deferred.member]
        cdef Include included
        cdef RunId run
        cdef int32_t high = member.high, nodes = self.runs.scanned(member.code, deferred.place)
        cdef bint returns = not self.space.configs[member.continuation].count
        if nodes and self.terms.meter.is_spent(NODE_UNITS * nodes):
            return 0
        run = self.runs.run_of(member.code, deferred.place)
        self.terms.meter.has_moved = self.terms.meter.has_moved or nodes > 0
        if strict and returns and high <= self.runs.runs[run].most_needed:
            high -= 1
            readers.push_back(deferred.place)
        included.ends = member.ends
        included.filter = deferred.filter
        included.mask = self.slices.slice(run, high)
        if included.mask != NO_TOKENS:
            out.push_back(included)
        included.ends = 1
        included.mask = self.after_run(run, member, strict)
        if member.low <= deferred.least:
            member.low = 0
        if included.mask != NO_TOKENS and self.splitter.passes(run, member, &included.filter):
            out.push_back(included)
        return 0

    cdef MaskId after_run(self, RunId run, RunMember member, bint strict) except ID_FAILED nogil:
        """Return the mask of the continuation after a run table's runs, for the suffixes after these runs."""
        cdef uint64_t key = (((<uint64_t>run << 31) | <uint64_t>member.continuation) << 1) | <uint64_t>strict
        cdef MaskId found = self.after_run_index.get(key)
        cdef vector[PlaceId] places, nowhere
        cdef vector[Include] nothing_else
        cdef WalkQuery query
        cdef uint64_t words[4]
        cdef uint64_t first[4]
        cdef int32_t k
        cdef size_t lists = self.runs.suffix_lists.size()
        if found != NO_VALUE:
            return found
        self.splitter.first_of(member.continuation, words)
        for k in range(4):
            # what follows runs may be much, and is merged by its first byte
            first[0] = first[1] = first[2] = first[3] = 0
            while words[k]:
                first[k] = words[k] & (~words[k] + 1)
                words[k] ^= first[k]
                if self.terms.meter.is_spent():
                    return NO_TOKENS
                self.runs.append_suffixes(run, first, places)
                self.terms.meter.has_moved = self.terms.meter.has_moved or self.runs.suffix_lists.size() > lists
        query = walk_query(
            member.continuation, self.arena.intern_group(ANY_BYTE, SEM_SYMBOL, run, nowhere), False, strict
        )
        query.after_run = True
        found = self.make(query, places, nothing_else)
        self.remember(&self.after_run_index, key, found)
        return found

    # -- masks, remembered -----------------------------------------------------------------------------

    cdef bint asks_state(self, MaskId mask) noexcept nogil:
        """Return whether the semantic state decides on some tokens of a mask."""
        return self.arena.masks[mask].reader_count > 0 or self.arena.masks[mask].reads_tokens != 0

    cdef bint is_worth_splitting(self, MaskId mask) noexcept nogil:
        """Return whether a prefix with this mask may be split off.

        It may if the semantic state decides on no token, and the suffixes are few enough for groups.
        """
        cdef int32_t i
        cdef MaskId included
        cdef int32_t first = self.arena.masks[mask].include_first
        if self.asks_state(mask) or self.arena.masks[mask].repeat != NO_REPEAT:
            return False
        for i in range(first, first + self.arena.masks[mask].include_count):
            included = self.arena.includes[i].mask
            if self.asks_state(included) or self.arena.masks[included].repeat != NO_REPEAT:
                return False
        return True

    cdef MaskId root(self, TermId state, bint strict) except ID_FAILED nogil:
        """Return the mask of a local state, with the frame and the semantic state unknown."""
        return self.of_keyed_state(state, SEM_SYMBOL, strict)

    cdef MaskId of_prefix(self, Prefix prefix, bint strict) except ID_FAILED nogil:
        """Return the mask of a prefix for the whole vocabulary."""
        if prefix.is_literal and not strict and self.context.layers.literals:
            return self.literals.of_vocabulary(as_literal(prefix))
        return self.root(self.literals.table.term_of(prefix), strict)

    cdef MaskId of_state(self, TermId state, KeysId keys, bint strict) except ID_FAILED nogil:
        """Return the mask of a local state; if keys decide, return the mask for these keys."""
        cdef MaskId found
        if keys <= KEYS_UNKNOWN:
            return self.root(state, strict)
        if not self.terms.terms[state].flags & F_KEYS:
            found = self.root(state, strict)
            if not self.asks_state(found):
                return found
        return self.of_keyed_state(state, self.context.semantics.symbol_with(keys), strict)

    cdef MaskId of_keyed_state(self, TermId state, SemId sem, bint strict) except ID_FAILED nogil:
        """Return the mask of a local state in an object. ``sem``: the object's keys, as known to walks."""
        cdef uint64_t key = (<uint64_t>sem << 32) | (<uint64_t>state << 1) | <uint64_t>strict
        cdef MaskId found = self.state_masks.get(key)
        cdef vector[PlaceId] whole
        cdef vector[Include] includes
        cdef WalkQuery query
        if found != NO_VALUE:
            return found
        query = walk_query(
            self.space.raw(state, BOTTOM, sem), NO_SUFFIXES, (self.terms.terms[state].flags & F_TOKEN) != 0, strict
        )
        whole.push_back(self.partition_of(state, sem, strict, query.start, includes))
        found = self.make(query, whole, includes)
        self.remember(&self.state_masks, key, found)
        return found

    cdef PlaceId partition_of(
        self, TermId state, SemId sem, bint strict, ConfigId start, vector[Include]& includes
    ) except ID_FAILED nogil:
        """Return the place of the tokens that must be walked. ``includes`` receives masks of the others."""
        cdef Uncounted loose
        cdef Include included
        cdef RunId run
        cdef PlaceId place = 0
        cdef uint8_t flags = self.terms.terms[state].flags
        included.ends = 1
        included.filter = NO_FILTER
        if self.context.layers.counts and not flags & (F_TOKEN | F_CALL | F_KEYS):
            self.partition.without_upper_bound(state, &loose)
            if loose.bytes:
                included.mask = self.of_keyed_state(loose.state, sem, strict)
                included.filter = self.partition.short_filter(loose.bytes)
                includes.push_back(included)
                place = self.partition.long_place(loose.bytes)
        self.splitter.split(start)
        if self.context.layers.accepted and not place and self.splitter.split_of[start] != DEAD:
            run = self.partition.allowed_run_table(state)
            if run != NO_RUN:
                included.mask = self.slices.slice(run, UNBOUNDED)
                includes.push_back(included)
                place = self.partition.other_tokens_place(run)
        if place:
            self.shortened += 1
        return place

    cdef MaskId of_state_under(self, TermId state, NodeId node, bint strict) except ID_FAILED nogil:
        """Return the mask of a local state, outside objects, for only the tokens of one subtree."""
        cdef uint64_t key = (<uint64_t>state << 32) | (<uint64_t>node << 1) | <uint64_t>strict
        cdef MaskId found = self.subtree_masks.get(key)
        cdef vector[PlaceId] whole
        cdef vector[Include] nothing_else
        cdef WalkQuery query
        if found == NO_VALUE:
            whole.push_back(place_at(node, 0))
            query = walk_query(self.space.raw(state, BOTTOM, SEM_SYMBOL), NO_SUFFIXES, False, strict)
            found = self.make(query, whole, nothing_else)
            self.remember(&self.subtree_masks, key, found)
        return found

    cdef MaskId child_of_prefix(self, SuffixesId group, Prefix prefix, bint strict) except ID_FAILED nogil:
        """Return the mask of a prefix for the suffixes of a group."""
        if prefix.is_literal and self.context.layers.literals and not strict:
            if self.arena.groups[group].guard == ANY_BYTE:
                return self.literals.of_group(group, as_literal(prefix))
        return self.child(group, self.literals.table.term_of(prefix), SEM_SYMBOL, strict)

    cdef MaskId child(self, SuffixesId group, TermId continuation, SemId sem, bint strict) except ID_FAILED nogil:
        """Return the mask of a return state for the suffixes of a group, with the frame unknown.

        ``sem``: the semantic state after the return, as known to walks. ``strict``: as in ``WalkQuery``.
        """
        cdef uint64_t key = (<uint64_t>group << 32) | <uint64_t>sem
        cdef Group g
        cdef vector[PlaceId] places
        cdef vector[Include] nothing_else
        cdef WalkQuery query
        cdef ConfigId start
        cdef EntryId entry
        cdef MaskId found
        # nearly always nothing is known about the semantic state
        entry = self.arena.groups[group].entry if sem == SEM_SYMBOL else self.entry_index.get(key)
        if entry == NO_ENTRY or entry == NO_VALUE:
            entry = self.entries
            self.entries += 1
            if sem == SEM_SYMBOL:
                self.arena.groups[group].entry = entry
            else:
                self.entry_index.put(key, entry)
        key = (<uint64_t>entry << 33) | (<uint64_t>continuation << 1) | <uint64_t>strict  # mutant: child-key
        found = self.children.get(key)
        if found != NO_VALUE:
            return found
        g = self.arena.groups[group]
        if g.guard != ANY_BYTE:
            continuation = self.terms.mk_seq(self.terms.mk_guard(g.guard), continuation)
        found = NO_TOKENS
        start = DEAD if continuation == EMPTY else self.space.closed(continuation, BOTTOM, sem)
        if start != DEAD:
            query = walk_query(start, group, False, strict)
            # a slice of a fill may be too short to collect the places of a walk again
            if not self.walker.copy_cut_places(query, places):
                self.append_suffixes(group, start, places)
            found = self.make(query, places, nothing_else)
        self.remember(&self.children, key, found)
        return found

    cdef int append_suffixes(
        self, SuffixesId group, ConfigId start, vector[PlaceId]& places
    ) except FAILED nogil:
        """Append the places of a group's suffixes with which a configuration can begin."""
        cdef Group g = self.arena.groups[group]
        cdef bint reads_state = start == READS_STATE or self.space.configs[start].reads
        cdef uint64_t first[4]
        if reads_state:
            self.arena.append_places(group, places)
        else:
            self.append_alive_places(group, start, places)
        if g.run != NO_RUN:
            memset(first, 0xFF, sizeof(first))
            if not reads_state:
                self.splitter.first_of(start, first)
            self.runs.append_suffixes(g.run, first, places)
        return 0

    cdef bint find_loop(
        self, SuffixesId group, ConfigId start, const uint64_t* alive, Loop* loop
    ) except FAILED nogil:
        """Find a loop that most ASCII bytes lead to, as letters do where a name begins. Return whether there is one.

        ``alive``: the bytes that the start can read.
        """
        cdef Group g = self.arena.groups[group]
        cdef ConfigId target = DEAD, c
        cdef int32_t b, i, votes = 0, queries = 0
        cdef NodeId node
        cdef KnownCharacters* known = NULL
        for b in range(128):
            if has_bit(alive, b) and has_bit(self.arena.unders[g.under].first, b):
                # the one that most of them lead to, if more than half do
                c = self.space.step(start, b)
                if not votes:
                    target = c
                votes += 1 if c == target else -1
        if not leads_on(target) or self.space.configs[target].sure != self.space.configs[target].count:
            return False
        for i in range(g.place_first, g.place_first + g.place_count):
            known = self.walker.acceptance.known_of(target)
            if (known != NULL and known.is_loop) or queries == MOST_QUERIES:
                break
            if is_deep(self.arena.places[i]):
                queries += 1
                node = node_at(self.arena.places[i])
                self.walker.acceptance.classify(
                    target, self.context.trie.summary_of[node], self.context.trie.end[node] - node
                )
        known = self.walker.acceptance.known_of(target)
        if known == NULL or not known.is_loop:
            return False
        memset(loop, 0, sizeof(Loop))
        for b in range(128):
            if has_bit(alive, b) and self.space.step(start, b) == target:
                loop.bytes[b >> 6] |= <uint64_t>1 << (b & 63)
        loop.keeps[0] = known.itself.ascii[0]
        loop.keeps[1] = known.itself.ascii[1]
        loop.keeps[3] = known.itself.leads
        return True

    cdef int append_alive_places(
        self, SuffixesId group, ConfigId start, vector[PlaceId]& places
    ) except FAILED nogil:
        """Append the places of a group, restricted to suffixes with which a configuration can begin.

        If there are many places, most suffixes cannot follow, such as letters after the end of a name.
        """
        cdef uint64_t words[4]
        cdef uint64_t alive[4]
        cdef Loop loop
        cdef bint loops
        cdef int32_t k, b
        if not self.arena.is_indexed(group):
            return self.arena.append_places(group, places)
        self.arena.first_bytes(group, words)
        for k in range(4):
            alive[k] = 0
            while words[k]:
                b = lowest_bit(words[k])
                words[k] &= words[k] - 1
                if self.space.step(start, 64 * k + b) != DEAD:
                    alive[k] |= <uint64_t>1 << b
        loops = self.arena.groups[group].under != NOT_DEEP and self.find_loop(group, start, alive, &loop)
        self.arena.append_starting(group, alive, &loop if loops else NULL, places)
        # a place comes before those under it, so a walk meets what follows them only once
        if places.size() > 1:
            sort_unique(places)
        return 0
