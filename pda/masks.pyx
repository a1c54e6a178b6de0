# distutils: language = c++
"""Masks: which tokens may follow a configuration, put together from the masks of its local states.

The mask of a configuration is the union over its members (``walks`` makes those). Where a token returns out
of a member's frame with bytes left over, each edge of the frame gives a return state, over which the
remainders were walked in the same way; the answer for (remainders, return state) is a mask of the same form,
remembered under that pair, and it goes deeper only where a remainder returns again. A state is
taken apart into heads and what follows them (``heads``), as if every head were a rule that returns. Tokens on
which the semantic state decides are run on the real configuration, whose steps are remembered too.

A mask of several parts is remembered under the list of its parts, since joining them costs more than looking
up; and a configuration remembers the row of its whole mask.
"""

cimport cython
from libc.stdint cimport uint8_t
from libc.string cimport memcpy, memset

from stackmask.pda.config_table cimport Member
from stackmask.pda.frames cimport BOTTOM_REST, Edge
from stackmask.pda.heads cimport Cut, Heads, Leaf
from stackmask.pda.interning cimport ACTION_NONE, ACTION_SCOPE, EMPTY, EPS, F_KEYS
from stackmask.pda.keys cimport KEYS_UNKNOWN
from stackmask.pda.mask_table cimport NO_FILTER, NO_TOKENS, Group, Include, Mask
from stackmask.pda.repeated_walks cimport NOT_JOINT
from stackmask.pda.runs cimport NOT_A_CODE
from stackmask.pda.semantics cimport NEEDS_STATE, NO_KEYS, SEM_SYMBOL, UNOPENED_KEYS
from stackmask.pda.tables cimport (
    NO_VALUE,
    ids_free,
    ids_init,
    ids_put,
    map_clear,
    map_free,
    map_get,
    map_init,
    map_put,
    mix,
)

cdef enum:
    FEW_VISITS = 32      # up to here a list is searched, not hashed
    MANY_VISITS = 1024   # beyond, the vocabulary is walked on the real stack: see `collect`
    MANY_TOKENS = 256    # sparse tokens that cost about as much as a row
    WORTH_A_ROW = 24     # rows that were or-ed for one list of parts before it gets a row of its own


@cython.final
cdef class MaskStore(Simulation):
    """The masks of the grammars of one store over one vocabulary."""

    def __cinit__(self):
        map_init(&self.visited)
        map_init(&self.joined_before)
        self.weighed = 0
        self.heads = Heads(self.terms, self.semantics.keys, self.trie)
        ids_init(&self.joined_index)
        self.epoch = 1
        self.fills = 0
        self.hits = 0
        self.joins = 0
        self.most_visits = 0

    def __dealloc__(self):
        map_free(&self.visited)
        map_free(&self.joined_before)
        ids_free(&self.joined_index)

    # -- the parts of a mask ---------------------------------------------------------------------------

    cdef int visit(
        self, int32_t mask, int32_t frame, int32_t rest, int32_t filter, int32_t keys, bint unsure=False
    ) except -3:
        """Enter a mask over a frame into the list of what the result is put together from.

        ``rest``: what comes before the frame. ``unsure``: an action on the way may forbid, so what the mask
        allows is run on the real configuration.
        """
        cdef Visit v
        if mask == NO_TOKENS:
            return 0
        v.mask = mask
        v.frame = frame
        v.rest = rest
        v.filter = filter
        v.keys = keys
        v.unsure = unsure
        # ambiguous stacks reach the same place in several ways; a mask is or-ed once
        if not self.is_visited(v):
            self.visits.push_back(v)
        return 0

    cdef bint is_visited(self, Visit v) except -1:
        """Tell whether a visit is in the list; where the list is long, it is taken to be entered now."""
        cdef size_t i, n = self.visits.size()
        cdef uint64_t h
        cdef int32_t at
        if n < FEW_VISITS:
            for i in range(n):
                if same_visit(v, self.visits[i]):
                    return True
            return False
        if not self.visited_ready:
            # what the map holds is of an earlier fill
            self.visited_ready = True
            map_clear(&self.visited)
            for i in range(n):
                h = visit_hash(self.visits[i])
                while map_get(&self.visited, h) != NO_VALUE:
                    h += 1
                map_put(&self.visited, h, <int32_t>i)
        h = visit_hash(v)
        while True:
            at = map_get(&self.visited, h)
            if at == NO_VALUE:
                break
            if same_visit(v, self.visits[at]):
                return True
            h += 1
        map_put(&self.visited, h, <int32_t>n)
        return False

    cdef bint is_strict(self, ConfigSpace family, int32_t frame) noexcept:
        """Tell whether a return from a frame, or from below it, may be forbidden."""
        return family.frames[frame].keys_forbid or (not self.sure and family.frames[frame].action_forbids)

    cdef int32_t count_edges(self, ConfigSpace family, Visit at) noexcept:
        return 1 if at.rest != EPS else family.frames[at.frame].count

    cdef Edge edge_of(self, ConfigSpace family, Visit at, int32_t number) noexcept:
        """Return one of the edges that a visit returns along: a rest stands for a frame with one."""
        cdef Edge edge
        if at.rest == EPS:
            return family.edges[family.frames[at.frame].first + number]
        edge.rest = at.rest
        edge.parent = at.frame
        edge.action = ACTION_NONE
        edge.saved = 0
        return edge

    cdef bint is_cut(self, int32_t state, int32_t keys) except -1:
        """Tell whether the heads of a state are looked at one by one.

        Under restrictions a way on may be a dead end that others hide, and the keys must be known to tell.
        """
        if self.terms.guard_sets.size() > 1:
            return False
        if keys <= KEYS_UNKNOWN and self.terms.terms[state].flags & F_KEYS:
            return False
        return self.heads.cut(state).count > 0

    cdef bint visit_heads(
        self, ConfigSpace family, int32_t state, int32_t group, int32_t frame, Visit at
    ) except -1:
        """Visit the masks of the heads of a state over a frame, and tell whether that was all that it allows.

        ``group``: what is walked, the whole vocabulary if it is WHOLE. ``at``: filter, keys and the like.
        """
        cdef Cut cut = self.heads.cut(state)
        cdef Leaf leaf
        cdef Mask* mask
        cdef Part part
        cdef int32_t i, found
        cdef bint strict
        cdef const uint64_t* first = NULL
        if group != WHOLE and cut.count > 1:
            first = self.first_of_group(group)
        for i in range(cut.first, cut.first + cut.count):
            leaf = self.heads.leaves[i]
            if first != NULL and not (
                first[0] & leaf.first[0]
                or first[1] & leaf.first[1]
                or first[2] & leaf.first[2]
                or first[3] & leaf.first[3]
            ):
                continue
            if leaf.live != EPS and not self.semantics.keys.lives(at.keys, leaf.live):
                continue
            strict = leaf.nullable and self.is_strict(family, frame)
            if group == WHOLE:
                found = self.root(leaf.head, strict, leaf.words)
            else:
                found = self.child(group, leaf.head, SEM_SYMBOL, strict, leaf.words)
            if found == NO_TOKENS:
                continue
            mask = &self.masks[found]
            if not leaf.words and not self.is_worth(found):
                self.heads.refuse(state)
                return False
            if mask.group_count or mask.include_count or mask.pending_count or mask.reader_count:
                self.visit(found, frame, self.heads.rest_of(i), at.filter, at.keys, at.unsure)
            else:
                part.mask = found
                part.filter = at.filter
                if at.unsure:
                    self.parts_unsure.push_back(part)
                else:
                    self.parts_found.push_back(part)
        return True

    cdef bint any_exit(self, ConfigSpace family, int32_t frame, uint64_t ends) except -1:
        """Tell whether the frame is alive under one of the guards."""
        cdef int32_t g
        if ends & 1:
            return True
        for g in range(64):
            if (ends >> g) & 1 and family.exits(frame, g):
                return True
        return False

    cdef int expand(self, ConfigSpace family, Visit at) except -3:
        """Add the parts of one mask, and visit what it leads to."""
        cdef Mask mask = self.masks[at.mask]
        cdef int32_t i, j, k, e
        cdef bint unsure
        cdef Edge edge
        cdef Include piece
        cdef Part part
        cdef vector[vector[uint8_t]] texts
        part.filter = at.filter
        cdef vector[Part]* found = &self.parts_unsure if at.unsure else &self.parts_found
        if mask.dense >= 0 or mask.sparse_count:
            part.mask = at.mask
            found.push_back(part)
        for i in range(mask.pending_first, mask.pending_first + mask.pending_count):
            if self.any_exit(family, at.frame, self.pendings[i].ends):
                part.mask = -1 - i
                found.push_back(part)
        for i in range(mask.reader_first, mask.reader_first + mask.reader_count):
            self.simulate_place(self.readers[i])
        if mask.reads_tokens:
            self.simulate_tokens = True
        for i in range(mask.include_first, mask.include_first + mask.include_count):
            piece = self.includes[i]
            if self.any_exit(family, at.frame, piece.ends):
                j = self.filter_both(at.filter, piece.filter)
                self.visit(piece.mask, at.frame, at.rest, j, at.keys, at.unsure)
        for i in range(mask.group_first, mask.group_first + mask.group_count):
            k = self.mask_groups[i]
            for e in range(self.count_edges(family, at)):
                edge = self.edge_of(family, at, e)
                if edge.rest == BOTTOM_REST:
                    continue
                unsure = at.unsure or (
                    not self.sure and edge.action >= 0 and self.semantics.may_forbid(edge.action)
                )
                self.enter(family, k, edge, at, unsure)
        if mask.joint >= 0:
            self.repeat(family, at, mask.joint)
        if mask.key_count and at.keys > KEYS_UNKNOWN and self.semantics.keys.states[at.keys].texts > 0:
            self.semantics.rest_of_keys(self.semantics.with_keys(SEM_SYMBOL, at.keys), texts)
            for i in range(mask.key_first, mask.key_first + mask.key_count):
                self.doubt(self.key_starts[i], texts)
        return 0

    cdef int repeat(self, ConfigSpace family, Visit at, int32_t joint) except -3:
        """Visit, for every edge, the mask of a walk that knows where it returns to."""
        cdef Edge edge
        cdef int32_t e, j
        for e in range(self.count_edges(family, at)):
            edge = self.edge_of(family, at, e)
            if edge.rest == BOTTOM_REST:
                continue
            j = NOT_JOINT
            if edge.action == ACTION_NONE and (
                at.keys <= KEYS_UNKNOWN or not self.terms.terms[edge.rest].flags & F_KEYS
            ):
                j = self.joint_mask(joint, edge.rest, self.is_strict(family, edge.parent))
            if j == NOT_JOINT and at.keys <= KEYS_UNKNOWN and self.semantics.action_kind.size():
                # merged after all: where captures keep texts, running all tokens would cost more
                j = self.grouped_mask(joint, self.is_strict(family, at.frame))
                self.visit(j, at.frame, at.rest, at.filter, at.keys, at.unsure)
                return 0
            if j == NOT_JOINT or (at.keys > KEYS_UNKNOWN and self.asks(j)):
                self.simulate_all = True
                return 0
            self.visit(j, edge.parent, EPS, at.filter, at.keys, at.unsure)
        return 0

    cdef int enter(
        self, ConfigSpace family, int32_t group, Edge edge, Visit at, bint unsure
    ) except -3:
        """Visit what a group leaves over when it returns along an edge."""
        cdef int32_t sem = self.groups[group].sem, state = edge.rest, found
        cdef int32_t known = self.semantics.keys_at(sem)
        cdef bint strict = self.is_strict(family, edge.parent)
        at.unsure = unsure
        if edge.action <= ACTION_SCOPE:
            at.keys = self.semantics.keys_at(edge.saved)
            known = KEYS_UNKNOWN
            sem = SEM_SYMBOL
        elif edge.action >= 0:
            if self.semantics.is_key(edge.action):
                sem = self.semantics.symbol_after_key(at.keys if known == KEYS_UNKNOWN else known)
                if sem < 0:
                    self.simulate_all = True
                    return 0
                found = self.child(group, state, sem, strict)
                return self.visit(found, edge.parent, EPS, at.filter, at.keys, unsure)
            sem = SEM_SYMBOL
            if known != KEYS_UNKNOWN:
                sem = self.semantics.with_keys(SEM_SYMBOL, known)
        if known != KEYS_UNKNOWN:
            found = self.child(group, state, sem, strict)
            return self.visit(found, edge.parent, EPS, at.filter, at.keys, unsure)
        if sem == SEM_SYMBOL and self.is_cut(state, at.keys):
            if self.visit_heads(family, state, group, edge.parent, at):
                state = self.heads.cut(state).other
                if state == EMPTY:
                    return 0
        found = NO_TOKENS
        if at.keys <= KEYS_UNKNOWN or not self.terms.terms[state].flags & F_KEYS:
            found = self.child(group, state, sem, strict)
        if at.keys > KEYS_UNKNOWN and (self.terms.terms[state].flags & F_KEYS or self.asks(found)):
            # the keys decide: ask again with what walks may know of them
            sem = self.semantics.with_keys(sem, self.semantics.keys.view(at.keys))
            found = self.child(group, state, sem, strict)
        return self.visit(found, edge.parent, EPS, at.filter, at.keys, unsure)

    cdef int try_unsure(self, uint32_t* words) except -3:
        """Note the tokens that some action may forbid, and nothing else allows."""
        cdef size_t k
        cdef int32_t i, n
        cdef uint32_t left
        self.unsure.assign(self.width, 0)
        for k in range(self.parts_unsure.size()):
            self.apply(self.parts_unsure[k], self.unsure.data())
        for i in range(self.width):
            left = self.unsure[i] & ~words[i]
            if left:
                for n in range(32):
                    if (left >> n) & 1:
                        self.to_try.push_back(32 * i + n)
        return 0

    cdef int32_t root_of(self, int32_t state, int32_t keys, bint strict) except -3:
        """Return the mask of a local state; the keys of the object are part of it where they decide."""
        cdef int32_t found
        if keys <= KEYS_UNKNOWN:
            return self.root(state, strict)
        if not self.terms.terms[state].flags & F_KEYS:
            found = self.root(state, strict)
            if not self.asks(found):
                return found
        return self.keyed_root(state, self.semantics.symbol_with(keys), strict)

    cdef int collect(self, ConfigSpace family, int32_t config) except -3:
        """Find the parts of the mask of a configuration, and what must be run on the configuration itself."""
        cdef int where
        cdef int32_t i, keys, mask, node, first = family.configs[config].first
        cdef size_t roots, k = 0
        cdef Member m
        cdef Visit at
        cdef vector[vector[uint8_t]] texts
        at.filter = NO_FILTER
        at.unsure = False
        self.visits.clear()
        self.visited_ready = False
        self.parts_found.clear()
        self.parts_unsure.clear()
        self.to_simulate.clear()
        self.to_try.clear()
        self.doubtful.clear()
        self.simulate_tokens = False
        self.simulate_all = False
        self.sure = True
        if family.configs[config].capturing:
            for i in range(first, first + family.configs[config].count):
                self.sure = self.sure and self.semantics.is_sure(family.members[i].sem)
        for i in range(first, first + family.configs[config].count):
            m = family.members[i]
            keys = self.semantics.keys_at(m.sem)
            at.keys = keys
            if self.is_cut(m.state, keys) and self.visit_heads(family, m.state, WHOLE, m.frame, at):
                m.state = self.heads.cut(m.state).other
            if m.state != EMPTY:
                mask = self.root_of(m.state, keys, self.is_strict(family, m.frame))
                self.visit(mask, m.frame, EPS, NO_FILTER, keys)
            if keys > KEYS_UNKNOWN and self.semantics.in_capture(m.sem):
                texts.clear()
                where = self.semantics.rest_of_keys(m.sem, texts)
                node = 0
                if where == UNOPENED_KEYS:
                    node = self.go(self.forest.nodes(0), 0, c'"')
                if where == NEEDS_STATE:
                    self.simulate_all = True
                elif where != NO_KEYS and node >= 0:
                    self.doubt(node << 2, texts)
        roots = self.visits.size()
        while k < self.visits.size():
            self.expand(family, self.visits[k])
            k += 1
            if k >= roots and self.visits.size() > MANY_VISITS:
                # in highly ambiguous grammars the paths through the stack, and so the masks per path, grow
                # exponentially; configurations join the paths, so this stays polynomial
                self.simulate_all = True
                break
        if k > self.most_visits:
            self.most_visits = k
        return 0

    # -- putting them together ---------------------------------------------------------------------------

    cdef int apply(self, Part part, uint32_t* words) noexcept:
        """Or one part into the words."""
        cdef int32_t i, n, first, count
        cdef const uint32_t* dense
        cdef const uint32_t* filter = NULL
        if part.filter != NO_FILTER:
            filter = self.rows[part.filter]
        if part.mask < 0:
            first = self.pendings[-1 - part.mask].first
            count = self.pendings[-1 - part.mask].count
        else:
            first = self.masks[part.mask].sparse_first
            count = self.masks[part.mask].sparse_count
            if self.masks[part.mask].dense >= 0:
                dense = self.rows[self.masks[part.mask].dense]
                if filter == NULL:
                    for i in range(self.width):
                        words[i] |= dense[i]
                else:
                    for i in range(self.width):
                        words[i] |= dense[i] & filter[i]
                return 0
        for i in range(first, first + count):
            n = self.sparse_tokens[i]
            if filter == NULL or (filter[n >> 5] >> (n & 31)) & 1:
                words[n >> 5] |= <uint32_t>1 << (n & 31)
        return 0

    cdef int weigh(self) except -1:
        """Drop all masks if they take more than their budget. No ids of them may be held across this."""
        self.weighed = self.walks + self.joins
        if self.nbytes() + self.space.nbytes() > self.max_bytes:
            self.drop()
            self.joined.clear()
            self.joined_parts.clear()
            ids_free(&self.joined_index)
            ids_init(&self.joined_index)
            map_free(&self.joined_before)
            map_init(&self.joined_before)
            self.epoch += 1
        return 0

    cdef int32_t join(self) except -3:
        """Return the row that holds all parts found, made or remembered; -1 if it is not worth a row."""
        cdef size_t i, n = self.parts_found.size()
        cdef int32_t heavy = 0, light = 0, spent, row, id
        cdef Part part
        cdef Joined found
        cdef uint64_t h = 53
        for i in range(n):
            part = self.parts_found[i]
            if part.mask < 0:
                light += self.pendings[-1 - part.mask].count
            elif self.masks[part.mask].dense >= 0:
                heavy += 1
            else:
                light += self.masks[part.mask].sparse_count
            h = mix(mix(h, <uint32_t>part.mask), <uint32_t>part.filter)
        if heavy == 1 and n == 1 and part.filter == NO_FILTER:
            return self.masks[part.mask].dense
        if not heavy and light < MANY_TOKENS:
            return -1
        cdef uint32_t tag = <uint32_t>(h >> 16)
        cdef uint64_t pos = tag & self.joined_index.mask
        while self.joined_index.ids[pos] >= 0:
            if self.joined_index.tags[pos] == tag:
                id = self.joined_index.ids[pos]
                found = self.joined[id]
                if found.count == <int32_t>n:
                    i = 0
                    while (
                        i < n
                        and self.joined_parts[found.first + i].mask == self.parts_found[i].mask
                        and self.joined_parts[found.first + i].filter == self.parts_found[i].filter
                    ):
                        i += 1
                    if i == n:
                        return found.row
            pos = (pos + 1) & self.joined_index.mask
        # a row is fresh memory, which costs more than or-ing many parts: most lists are met a few times only
        spent = map_get(&self.joined_before, h)
        if spent == NO_VALUE:
            spent = 0
        spent += heavy + light // MANY_TOKENS
        if spent < WORTH_A_ROW:
            map_put(&self.joined_before, h, spent + 1)
            return -1
        row = self.new_row()
        self.joins += 1
        found.first = <int32_t>self.joined_parts.size()
        found.count = <int32_t>n
        found.row = row
        for i in range(n):
            self.apply(self.parts_found[i], self.rows[row])
            self.joined_parts.push_back(self.parts_found[i])
        id = <int32_t>self.joined.size()
        self.joined.push_back(found)
        ids_put(&self.joined_index, pos, tag, id)
        return row

    cdef const uint32_t* finished(self, ConfigSpace family, int32_t config) noexcept:
        """Return the row of the whole mask of a configuration, or NULL if there is none yet.

        It stays until the next fill that makes something.
        """
        if family.configs[config].mask_row >= 0 and family.configs[config].mask_epoch == self.epoch:
            self.fills += 1
            self.hits += 1
            return self.rows[family.configs[config].mask_row]
        return NULL

    def prepare(self, items):
        """Make the run tables of some repeated items, terms, over the whole vocabulary."""
        cdef int32_t code, run
        for item in items:
            code = self.runs.code_of(item)
            if code != NOT_A_CODE:
                run = self.runs.run_of(code, 0)
                self.slice(run, -1)
                self.runs.remainders_of(run, c'"')
                self.unsettled_place(run)

    cdef int fill(self, ConfigSpace family, int32_t config, uint32_t* words) except -3:
        """Write the tokens that may follow a configuration into ``words`` (``width`` words of 32 bits)."""
        cdef int32_t row
        cdef size_t i
        self.fills += 1
        if self.walks + self.joins != self.weighed:
            self.weigh()
        if family.configs[config].mask_row >= 0 and family.configs[config].mask_epoch == self.epoch:
            self.hits += 1
            memcpy(words, self.rows[family.configs[config].mask_row], 4 * <size_t>self.width)
            return 0
        self.collect(family, config)
        if self.simulate_all:
            self.to_simulate.clear()
            self.to_simulate.push_back(0)
            row = -1
        else:
            row = self.join()
        if row >= 0:
            memcpy(words, self.rows[row], 4 * <size_t>self.width)
        else:
            memset(words, 0, 4 * <size_t>self.width)
            if not self.simulate_all:
                for i in range(self.parts_found.size()):
                    self.apply(self.parts_found[i], words)
        if not self.simulate_all:
            if self.parts_unsure.size():
                self.try_unsure(words)
            if self.doubtful.size():
                self.recheck(words)
        if self.to_simulate.empty() and self.to_try.empty() and not self.simulate_tokens:
            if row >= 0:
                family.configs[config].mask_row = row
                family.configs[config].mask_epoch = self.epoch
            return 0
        self.simulate(family, config, words)
        # what was run on the configuration holds for it alone, and the next fill there is a copy
        row = self.new_row()
        self.joins += 1
        memcpy(self.rows[row], words, 4 * <size_t>self.width)
        family.configs[config].mask_row = row
        family.configs[config].mask_epoch = self.epoch
        return 0

    def counts(self):
        """Return sizes: masks, walks, hits, bytes held by masks."""
        return {
            "masks": self.masks.size(),
            "walks": self.walks,
            "word_walks": self.word_walks,
            "visited_nodes": self.visited_nodes,
            "fills": self.fills,
            "hits": self.hits,
            "joined_masks": self.joins,
            "repeated_walks": self.joint_index.count,
            "shortened_walks": self.shortened,
            "subtrees_taken": self.taken,
            "simulations": self.simulations,
            "tried_tokens": self.tried,
            "most_visits": self.most_visits,
            "mask_bytes": self.nbytes(),
            "walk_bytes": self.space.nbytes(),
            "drops": self.drops,
            "walk_configurations": self.space.configs.size(),
        }

    cdef size_t nbytes(self) noexcept:
        """Return the bytes held by masks, remainders and runs."""
        cdef size_t held = 4 * <size_t>self.width * self.rows.size() + sizeof(Mask) * self.masks.size()
        held += 4 * (self.sparse_tokens.size() + self.places.size())
        held += 4 * (self.readers.size() + self.mask_groups.size())
        held += sizeof(Include) * self.includes.size() + sizeof(Group) * self.groups.size()
        held += sizeof(Part) * self.joined_parts.size() + sizeof(Joined) * self.joined.size()
        return held + self.runs.nbytes()
