# distutils: language = c++
"""Walks: how the masks of local states are made.

One walk of the vocabulary trie from a local state, with the frame below it unknown, splits the tokens:

- allowed whatever is below: kept dense or sparse, whichever is smaller;
- allowed if the frame below is alive under a follow restriction that is still pending when the token ends;
- those that return out of the frame with bytes left over: kept as the places (trie nodes) where the return
  happens, grouped by what is pending there;
- those that run into a question to the semantic state (a dynamic rule, an action that may forbid): kept as
  the places where the question comes up.

Five things keep walks short. Remainders are merged (``remainders``), so that a return state is walked over
a small trie; where they are larger than the vocabulary, the walk is repeated with the return state known
instead (``repeated_walks``). Runs of one kind of character are looked up (``run_cuts``): a mask *includes*
the masks of the run and of what follows it. And tokens that are decided without a walk are left aside
(``shortcuts``), or taken with the whole subtree (``stays``).
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memset

from stackmask.pda.stack.configuration_table cimport DEAD, READS_STATE, UNKNOWN, Config
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.stack.frames cimport BOTTOM
from stackmask.pda.terms.term_table cimport ANY_BYTE, EMPTY, F_CALL, F_KEYS, F_TOKEN, TOKENS
from stackmask.pda.masks.arena cimport (
    NO_FILTER,
    NO_RUN,
    NO_TOKENS,
    SPARSE,
    Group,
    Include,
    Mask,
    Pending,
    is_nothing,
    nothing,
)
from stackmask.pda.vocabulary.suffix_tries cimport IN_FOREST, INCLUSIVE, Nodes
from stackmask.pda.masks.runs.run_splitting cimport Later, RunPart
from stackmask.pda.context.semantic_states cimport KEY_OF_ONE, SEM_SYMBOL
from stackmask.pda.masks.walk.token_partition cimport NO_END, Loose
from stackmask.pda.masks.walk.subtree_acceptance cimport LEAVES, SETTLED, STAYS, Stay
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_free, map_get, map_init, map_put
from stackmask.pda.masks.walk.walk_inlines cimport (
    allow,
    can_repeat,
    group_number,
    is_calm,
    late_number,
    next_alive,
    stays_below,
)
from stackmask.pda.masks.prefixes.literal_masks cimport WordWalks

cdef enum:
    RUN_NODES = 64      # a smaller subtree is walked, not cut into runs
    MERGE_COST = 8      # nodes that are walked in the time that merging one takes, less what sharing saves


cdef class MaskWalks(WordWalks):
    """The masks of local states, and of remainders in return states, made when they are first asked for."""

    def __cinit__(self):
        map_init(&self.keyed_roots)
        map_init(&self.roots_below)
        map_init(&self.entry_index)
        map_init(&self.children)
        map_init(&self.rest_index)
        self.entries = 0
        self.walks = 0
        self.visited_nodes = 0
        self.shortened = 0
        self.taken = 0

    def __dealloc__(self):
        map_free(&self.keyed_roots)
        map_free(&self.roots_below)
        map_free(&self.entry_index)
        map_free(&self.children)
        map_free(&self.rest_index)

    cdef int drop(self) except -1:
        """As the table, and forget which masks are whose."""
        self.entries = 0
        map_free(&self.keyed_roots)
        map_init(&self.keyed_roots)
        map_free(&self.roots_below)
        map_init(&self.roots_below)
        map_free(&self.entry_index)
        map_init(&self.entry_index)
        map_free(&self.children)
        map_init(&self.children)
        map_free(&self.rest_index)
        map_init(&self.rest_index)
        self.joints.clear()
        self.rests.clear()
        self.walked_places.clear()
        return WordWalks.drop(self)

    # -- one walk ------------------------------------------------------------------------------------

    cdef int32_t walk(
        self,
        int32_t start,
        vector[int32_t]& below,
        int32_t run,
        vector[int32_t]& origin,
        bint with_tokens,
        bint strict,
        vector[Include]& includes,
        Joint* again,
    ) except -3:
        """Walk some remainders from a configuration over the unknown frame and return the mask.

        ``below``: the places. ``run`` and ``origin``: the same remainders, as a group is to name them if the
        start returns before it consumes anything. ``with_tokens``: special tokens may come first (the walk
        starts at a token boundary). ``strict``: a return below may be forbidden. ``includes``: what is part
        of the mask besides. ``again``: how the walk could be repeated with the frame known, or NULL.
        """
        cdef ConfigSpace space = self.space
        cdef int32_t i, k, c, n, p, t, depth, stop, kid_end, above, single, symbol, place, in_forest, covered
        cdef size_t r, g, most = <size_t>(self.width // SPARSE)
        cdef Config* config
        cdef Config first
        cdef Mask mask = nothing()
        cdef Pending pending
        cdef Nodes nodes
        cdef vector[uint64_t] group_keys
        cdef vector[vector[int32_t]] by_group
        cdef vector[int32_t] group_has_run
        cdef vector[int32_t] own_groups
        cdef vector[int32_t] all_below      # nodes below which there are returns everywhere
        cdef vector[int32_t] groups_below
        cdef vector[uint64_t] late_ends
        cdef vector[vector[int32_t]] late_tokens
        cdef vector[int32_t] readers
        cdef vector[int32_t] key_starts
        cdef vector[int32_t] jobs
        cdef vector[int32_t] job_configs
        cdef vector[Later] for_later
        cdef vector[int32_t] few
        cdef uint32_t* bits = NULL
        cdef int32_t* stack = self.stack.data()
        cdef const int32_t* below_of = self.trie.below_of.data()
        cdef uint64_t visited = 0
        cdef uint64_t reads     # guards under which what was left out at this node goes on
        cdef int64_t merged = 0     # nodes of what the groups are merged from; more is walked again instead
        cdef int64_t most_merged = self.trie.nodes // MERGE_COST
        cdef bint repeats = False   # the walk is repeated with the frame known, so nothing is merged
        cdef int stays
        cdef int32_t calm = DEAD    # the last configuration that is calm
        cdef int32_t lasting = DEAD     # the last one that stays what it is, and as what
        cdef Stay stay
        memset(&stay, 0, sizeof(Stay))
        self.walks += 1
        if start == READS_STATE:
            for r in range(below.size()):
                readers.push_back(below[r])
        elif start != DEAD:
            first = space.configs[start]
            for r in range(below.size()):
                self.note_readers(below[r], first.reads, readers)
            for p in range(first.pop_first, first.pop_first + first.pop_count):
                g = group_number(group_keys, by_group, group_has_run, space.pops[p].guard, space.pops[p].sem)
                group_has_run[g] = run != NO_RUN
                by_group[g].insert(by_group[g].end(), origin.begin(), origin.end())
                for r in range(origin.size()):
                    merged += self.forest.size_of(origin[r])
            for r in range(below.size()):
                jobs.push_back(below[r])
                job_configs.push_back(start)
            r = 0
            while r < jobs.size():
                place = jobs[r]
                c = job_configs[r]
                r += 1
                in_forest = place & IN_FOREST
                nodes = self.forest.nodes(place)
                i = place >> 2
                depth = covered = 0
                single = place & INCLUSIVE
                k = kid_end = 0
                if not single:
                    if nodes.end[i] - i > RUN_NODES and not first.reads & ~<uint64_t>1:
                        c = self.cut_here(c, place, for_later, jobs, job_configs)
                        if c == DEAD:
                            continue
                    k = nodes.kid_first[i]
                    kid_end = nodes.kid_first[i + 1]
                above = c
                while True:
                    if single:
                        single = 0
                        c = space.step(above, nodes.byte[i])
                    elif k < kid_end:
                        k = next_alive(space, above, nodes, k, kid_end, &c)
                        if k == kid_end:
                            continue
                        if c == UNKNOWN:
                            c = space.step(above, nodes.kid_byte[k])
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
                    if c <= DEAD:
                        if c == READS_STATE:
                            readers.push_back((i << 2) | in_forest | INCLUSIVE)
                        continue
                    visited += 1
                    config = &space.configs[c]
                    if c != calm and is_calm(config):
                        calm = c
                    stays = LEAVES
                    if not in_forest and below_of[i] >= 0:
                        if c == lasting:
                            stays = stays_below(&self.trie.below[below_of[i]], stay)
                        elif c == calm or (config.count and config.sure == config.count):
                            stays = self.stays(c, below_of[i])
                            config = &space.configs[c]
                            if self.stay_at[c] > 0 and self.stay(c).room == NO_END:
                                lasting = c
                                stay = self.stay(c)[0]
                        self.taken += stays != LEAVES
                    if c == calm and merged <= most_merged:
                        # most nodes are of this kind: tokens are allowed, and nothing else is to be noted
                        t = nodes.token_first[i]
                        stop = nodes.token_first[i + 1 if stays == LEAVES else nodes.end[i]]
                        if bits != NULL:
                            allow(bits, nodes.tokens, t, stop)
                        elif t < stop:
                            few.insert(few.end(), nodes.tokens + t, nodes.tokens + stop)
                            if few.size() > most:
                                bits = self.row_of(few, &mask)
                        if stays != LEAVES or nodes.kid_first[i] == nodes.kid_first[i + 1]:
                            continue
                        reads = 0
                    else:
                        reads = config.reads if i >= covered and stays != SETTLED else 0
                        if reads:
                            # what was left out runs on the real configuration; what is here holds without it
                            if reads & 1 or not config.sure or not config.ends & 1:
                                readers.push_back((i << 2) | in_forest | INCLUSIVE)
                                covered = nodes.end[i]
                                reads = 0
                            elif stays == STAYS and not self.meets(below_of[i], reads):
                                reads = 0
                            else:
                                stays = LEAVES
                                self.note_readers((i << 2) | in_forest, reads, readers)
                        t = nodes.token_first[i]
                        stop = nodes.token_first[i + 1 if stays == LEAVES else nodes.end[i]]
                        if t < stop:
                            if strict and not config.sure:
                                # tokens that only a return keeps alive: an action below may forbid it
                                readers.push_back((i << 2) | in_forest | INCLUSIVE)
                                continue
                            if not config.ends & 1:
                                g = late_number(late_ends, late_tokens, config.ends)
                                late_tokens[g].insert(
                                    late_tokens[g].end(), nodes.tokens + t, nodes.tokens + stop
                                )
                            elif bits == NULL and few.size() < most:
                                few.insert(few.end(), nodes.tokens + t, nodes.tokens + stop)
                            else:
                                if bits == NULL:
                                    bits = self.row_of(few, &mask)
                                allow(bits, nodes.tokens, t, stop)
                        if config.capturing and self.opens_key(config[0]):
                            key_starts.push_back((i << 2) | in_forest)
                        if stays == SETTLED or nodes.kid_first[i] == nodes.kid_first[i + 1]:
                            continue
                        for p in range(config.pop_first, config.pop_first + config.pop_count):
                            if stays == STAYS:
                                if not self.meets(below_of[i], <uint64_t>1 << space.pops[p].guard):
                                    continue
                            elif not self.goes_on(nodes, i, space.pops[p].guard):
                                continue
                            if repeats:
                                if space.pops[p].sem == again.sem:
                                    continue
                                # a return that a repeated walk would not make
                                return self.walk(
                                    start, below, run, origin, with_tokens, strict, includes, NULL
                                )
                            g = group_number(
                                group_keys, by_group, group_has_run, space.pops[p].guard, space.pops[p].sem
                            )
                            merged += nodes.end[i] - i
                            by_group[g].push_back((i << 2) | in_forest)
                            if stays == STAYS:
                                merged += self.trie.below[below_of[i]].nested
                                all_below.push_back(i)
                                groups_below.push_back(<int32_t>g)
                        if (
                            merged > most_merged
                            and again != NULL
                            and can_repeat(group_keys, group_has_run, again.sem)
                        ):
                            # merging costs more than walking the vocabulary again
                            repeats = True
                            merged = 0
                            group_keys.clear()
                            by_group.clear()
                            group_has_run.clear()
                            all_below.clear()
                        if stays == STAYS or not config.count:
                            continue
                    if nodes.end[i] - i > RUN_NODES and not reads:
                        c = self.cut_here(c, (i << 2) | in_forest, for_later, jobs, job_configs)
                        if c == DEAD:
                            continue
                    stack[depth] = above
                    self.next_kid[depth] = k
                    self.last_kid[depth] = kid_end
                    depth += 1
                    above = c
                    k = nodes.kid_first[i]
                    kid_end = nodes.kid_first[i + 1]
        if with_tokens:
            for symbol in range(self.terms.token_classes):
                c = space.step(start, TOKENS + symbol)
                if c == READS_STATE or (strict and c != DEAD and not space.configs[c].sure):
                    mask.reads_tokens = 1
                    continue
                if c == DEAD:
                    continue
                if space.configs[c].reads or (space.configs[c].count and not space.configs[c].sure):
                    mask.reads_tokens = 1
                for r in range(self.class_tokens[symbol].size()):
                    n = self.class_tokens[symbol][r]
                    if space.configs[c].ends & 1:
                        few.push_back(n)
                    else:
                        g = late_number(late_ends, late_tokens, space.configs[c].ends)
                        late_tokens[g].push_back(n)
        self.visited_nodes += visited
        if bits == NULL and few.size() > most:
            bits = self.row_of(few, &mask)
        if bits == NULL:
            mask.sparse_first = <int32_t>self.sparse_tokens.size()
            mask.sparse_count = <int32_t>few.size()
            self.sparse_tokens.append(few.begin(), few.end())
        else:
            for r in range(few.size()):
                bits[few[r] >> 5] |= <uint32_t>1 << (few[r] & 31)
        mask.pending_first = <int32_t>self.pendings.size()
        mask.pending_count = <int32_t>late_ends.size()
        for g in range(late_ends.size()):
            pending.ends = late_ends[g]
            pending.first = <int32_t>self.sparse_tokens.size()
            pending.count = <int32_t>late_tokens[g].size()
            self.sparse_tokens.append(late_tokens[g].begin(), late_tokens[g].end())
            self.pendings.push_back(pending)
        mask.key_first = <int32_t>self.key_starts.size()
        mask.key_count = <int32_t>key_starts.size()
        self.key_starts.insert(self.key_starts.end(), key_starts.begin(), key_starts.end())
        for r in range(all_below.size()):
            g = groups_below[r]
            self.places_below(all_below[r], <int32_t>(group_keys[g] >> 32), by_group[g])
        if repeats:
            mask.joint = <int32_t>self.joints.size()
            self.joints.push_back(again[0])
        else:
            for g in range(group_keys.size()):
                own_groups.push_back(
                    self.intern_group(
                        <int32_t>(group_keys[g] >> 32),
                        <int32_t><uint32_t>group_keys[g],
                        run if group_has_run[g] else NO_RUN,
                        by_group[g],
                    )
                )
        mask.group_first = <int32_t>self.mask_groups.size()
        mask.group_count = <int32_t>own_groups.size()
        self.mask_groups.insert(self.mask_groups.end(), own_groups.begin(), own_groups.end())
        # these walk in their turn, so the scratch must be free
        for r in range(for_later.size()):
            self.include_run(for_later[r], strict, includes, readers)
        mask.reader_first = <int32_t>self.readers.size()
        mask.reader_count = <int32_t>readers.size()
        self.readers.insert(self.readers.end(), readers.begin(), readers.end())
        mask.include_first = <int32_t>self.includes.size()
        mask.include_count = <int32_t>includes.size()
        self.includes.append(includes.begin(), includes.end())
        if is_nothing(mask):
            return NO_TOKENS
        self.masks.push_back(mask)
        return <int32_t>self.masks.size() - 1

    cdef bint opens_key(self, Config config) noexcept:
        """Tell whether a member has just begun to capture."""
        cdef int32_t i
        for i in range(config.first, config.first + config.count):
            if self.semantics.sems[self.space.members[i].sem].text == KEY_OF_ONE:
                return True
        return False

    cdef int32_t behind(self, int32_t run, RunPart part, bint strict) except -3:
        """Return the mask of what follows the runs of a run table, over what they leave behind."""
        cdef uint64_t key = (((<uint64_t>run << 31) | <uint64_t>part.rest) << 1) | <uint64_t>strict
        cdef int32_t found = map_get(&self.rest_index, key), b, k, at
        cdef vector[int32_t] below
        cdef vector[int32_t] nowhere
        cdef vector[Include] nothing_else
        cdef Joint again
        cdef Joint* repeatable = &again
        cdef uint64_t words[4]
        if found != NO_VALUE:
            return found
        self.first_of(part.rest, words)
        for b in range(256):
            if (words[b >> 6] >> (b & 63)) & 1:
                at = self.runs.remainders_of(run, <uint8_t>b)
                for k in range(self.runs.remainders[at]):
                    below.push_back(self.runs.remainders[at + 1 + k])
        self.may_repeat(&again, part.state, part.sem, below)
        again.closed = True
        if part.frame:
            # within a rule that the walk called, the state alone is not what is walked
            repeatable = NULL
        found = self.walk(part.rest, below, run, nowhere, False, strict, nothing_else, repeatable)
        map_put(&self.rest_index, key, found)
        return found

    cdef int may_repeat(
        self, Joint* again, int32_t state, int32_t sem, vector[int32_t]& below
    ) except -1:
        """Note what a walk of some places begins with, so that it can be repeated with the frame known."""
        again.state = state
        again.sem = sem
        again.closed = again.with_tokens = False
        again.rest_first = again.rest_count = 0
        again.below_first = <int32_t>self.walked_places.size()
        again.below_count = <int32_t>below.size()
        self.walked_places.insert(self.walked_places.end(), below.begin(), below.end())
        return 0

    cdef int include_run(
        self, Later later, bint strict, vector[Include]& out, vector[int32_t]& readers
    ) except -3:
        """Include what run tables tell: the run itself, and what follows a run that is long enough.

        ``readers`` gets the place if runs of all characters are kept alive by a return that may be forbidden.
        """
        cdef RunPart part = self.parts[later.part]
        cdef Include piece
        cdef int32_t run = self.runs.run_of(part.code, later.place), high = part.high
        cdef bint returns = not self.space.configs[part.rest].count
        if strict and returns and 0 <= high <= self.runs.runs[run].most_needed:
            high -= 1
            readers.push_back(later.place)
        piece.ends = part.ends
        piece.filter = later.filter
        piece.mask = self.slice(run, high)
        if piece.mask != NO_TOKENS:
            out.push_back(piece)
        piece.ends = 1
        piece.mask = self.behind(run, part, strict)
        if part.low <= later.least:
            part.low = 0
        if piece.mask != NO_TOKENS and self.passes(run, part, &piece.filter):
            out.push_back(piece)
        return 0

    # -- masks, remembered ---------------------------------------------------------------------------

    cdef bint asks(self, int32_t mask) noexcept:
        """Tell whether the semantic state decides on some tokens of a mask."""
        return self.masks[mask].reader_count > 0 or self.masks[mask].reads_tokens != 0

    cdef int32_t root(self, int32_t state, bint strict, bint words=False) except -3:
        """Return the mask of a local state, the frame and the semantic state below it unknown.

        ``words``: it is the number of a word.
        """
        if words and not strict:
            return self.word_root(state)
        if words:
            state = self.words.term_of(state)
        return self.keyed_root(state, SEM_SYMBOL, strict)

    cdef int32_t keyed_root(self, int32_t state, int32_t sem, bint strict) except -3:
        """Return the mask of a local state in an object whose keys are known as far as walks see them."""
        cdef uint64_t key = (<uint64_t>sem << 32) | (<uint64_t>state << 1) | <uint64_t>strict
        cdef int32_t found = map_get(&self.keyed_roots, key)
        cdef int32_t start, run, place = 0
        cdef Loose loose
        cdef Joint again
        cdef vector[int32_t] whole
        cdef vector[Include] includes
        cdef Include piece
        if found != NO_VALUE:
            return found
        start = self.space.raw(state, BOTTOM, sem)
        piece.ends = 1
        piece.filter = NO_FILTER
        if not self.terms.terms[state].flags & (F_TOKEN | F_CALL | F_KEYS):
            loose = self.loosened(state)
            if loose.bytes:
                piece.mask = self.keyed_root(loose.state, sem, strict)
                piece.filter = self.short_row(loose.bytes)
                includes.push_back(piece)
                place = self.long_place(loose.bytes)
        self.split(start)
        if not place and self.split_of[start] != DEAD:
            run = self.settles(state)
            if run >= 0:
                piece.mask = self.slice(run, -1)
                includes.push_back(piece)
                place = self.unsettled_place(run)
        if place:
            self.shortened += 1
        whole.push_back(place)
        self.may_repeat(&again, state, sem, whole)
        again.with_tokens = (self.terms.terms[state].flags & F_TOKEN) != 0
        found = self.walk(start, whole, NO_RUN, whole, again.with_tokens, strict, includes, &again)
        map_put(&self.keyed_roots, key, found)
        return found

    cdef int32_t child(
        self, int32_t group, int32_t rest, int32_t sem, bint strict, bint words=False
    ) except -3:
        """Return the mask of the remainders of a group in a return state, the frame below unknown.

        ``sem``: the semantic state after the return, as far as walks know it. ``strict``: as in ``walk``.
        ``words``: the return state is the number of a word.
        """
        cdef uint64_t key = (<uint64_t>group << 32) | <uint64_t>sem
        cdef Group g
        cdef vector[int32_t] below, origin
        cdef vector[Include] nothing_else
        cdef Joint again
        cdef int32_t i, b, k, at, start, entry, found
        cdef uint64_t bytes_[4]
        if words:
            if not strict and self.groups[group].guard == ANY_BYTE:
                return self.word_child(group, rest)
            rest = self.words.term_of(rest)
        # nearly always nothing is known of the semantic state
        entry = self.groups[group].entry if sem == SEM_SYMBOL else map_get(&self.entry_index, key)
        if entry < 0:
            entry = self.entries
            self.entries += 1
            if sem == SEM_SYMBOL:
                self.groups[group].entry = entry
            else:
                map_put(&self.entry_index, key, entry)
        key = (<uint64_t>entry << 33) | (<uint64_t>rest << 1) | <uint64_t>strict
        found = map_get(&self.children, key)
        if found != NO_VALUE:
            return found
        g = self.groups[group]
        if g.guard != ANY_BYTE:
            rest = self.terms.mk_seq(self.terms.mk_guard(g.guard), rest)
        found = NO_TOKENS
        start = DEAD if rest == EMPTY else self.space.closed(rest, BOTTOM, sem)
        if start != DEAD:
            self.merge_group(group)
            g = self.groups[group]
            for i in range(g.merged_first, g.merged_first + g.merged_count):
                below.push_back(self.places[i])
            for i in range(g.place_first, g.place_first + g.place_count):
                origin.push_back(self.places[i])
            if g.run != NO_RUN:
                bytes_[0] = bytes_[1] = bytes_[2] = bytes_[3] = ~<uint64_t>0
                if start != READS_STATE and not self.space.configs[start].reads:
                    self.first_of(start, bytes_)
                for b in range(256):
                    if (bytes_[b >> 6] >> (b & 63)) & 1:
                        at = self.runs.remainders_of(g.run, <uint8_t>b)
                        for k in range(self.runs.remainders[at]):
                            below.push_back(self.runs.remainders[at + 1 + k])
            self.may_repeat(&again, rest, sem, below)
            again.closed = True
            found = self.walk(start, below, g.run, origin, False, strict, nothing_else, &again)
        map_put(&self.children, key, found)
        return found
