# distutils: language = c++
"""Masks: which tokens may follow a configuration, put together from the masks of its local states.

The mask of a configuration is the union over its members (``walks`` makes those). Where a token returns out
of a member's frame with bytes left over, each edge of the frame gives a return state, over which the
remainders were walked in the same way; the answer for (remainders, return state) is a mask of the same form,
remembered under that pair, and it goes deeper only where a remainder returns again. Tokens on which the
semantic state decides are run on the real configuration, whose steps are remembered too.

A mask of several parts is remembered under the list of its parts, since joining them costs more than looking
up; and a configuration remembers the row of its whole mask.
"""

cimport cython
from libc.stdint cimport uint8_t
from libc.string cimport memcpy, memset
from libcpp.algorithm cimport sort

from stackmask.pda.config_table cimport DEAD, Member
from stackmask.pda.frames cimport BOTTOM_REST, Edge
from stackmask.pda.interning cimport ACTION_NONE, ACTION_SCOPE, F_KEYS
from stackmask.pda.keys cimport KEYS_NONE, KEYS_UNKNOWN
from stackmask.pda.mask_table cimport NO_FILTER, NO_RUN, NO_TOKENS, Group, Include, Mask
from stackmask.pda.remainders cimport IN_FOREST, INCLUSIVE, Nodes
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
    FEW_PLACES = 64      # more are not settled one by one
    FEW_NODES = 8        # a smaller subtree is run, not put together
    WORTH_A_ROW = 24     # rows that were or-ed for one list of parts before it gets a row of its own


@cython.final
cdef class MaskStore(Simulation):
    """The masks of the grammars of one store over one vocabulary."""

    def __cinit__(self):
        map_init(&self.visited)
        map_init(&self.joined_before)
        self.weighed = 0
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
        self,
        int32_t mask,
        int32_t frame,
        int32_t filter,
        int32_t keys,
        bint unsure=False,
        int32_t origin=-1,
    ) except -3:
        """Enter a mask over a frame into the list of what the result is put together from.

        ``unsure``: an action on the way may forbid, so what the mask allows is run on the real configuration.
        """
        cdef Visit v
        cdef size_t i, n = self.visits.size()
        if mask == NO_TOKENS:
            return 0
        v.mask = mask
        v.frame = frame
        v.filter = filter
        v.keys = keys
        v.unsure = unsure
        v.origin = origin
        # ambiguous stacks reach the same place in several ways; a mask is or-ed once
        if n < FEW_VISITS:
            for i in range(n):
                if (
                    self.visits[i].mask == mask
                    and self.visits[i].frame == frame
                    and self.visits[i].filter == filter
                    and self.visits[i].keys == keys
                    and self.visits[i].unsure == unsure
                ):
                    return 0
        elif filter == NO_FILTER and keys == KEYS_NONE and not unsure:
            if not self.visited_ready:
                # what the map holds is of an earlier fill
                self.visited_ready = True
                map_clear(&self.visited)
                for i in range(n):
                    v = self.visits[i]
                    if v.filter == NO_FILTER and v.keys == KEYS_NONE and not v.unsure:
                        map_put(&self.visited, visit_key(v), 1)
                v.mask = mask
                v.frame = frame
                v.filter = filter
                v.keys = keys
                v.unsure = unsure
                v.origin = origin
            if map_get(&self.visited, visit_key(v)) != NO_VALUE:
                return 0
            map_put(&self.visited, visit_key(v), 1)
        self.visits.push_back(v)
        return 0

    cdef bint is_strict(self, ConfigSpace family, int32_t frame) noexcept:
        """Tell whether a return from a frame, or from below it, may be forbidden."""
        return family.frames[frame].keys_forbid or (not self.sure and family.frames[frame].action_forbids)

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
        cdef int32_t i, j, k, e, origin
        cdef bint unsure
        cdef Edge edge
        cdef Include piece
        cdef Part part
        cdef int32_t keys
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
                self.visit(piece.mask, at.frame, j, at.keys, at.unsure, at.origin)
        for i in range(mask.group_first, mask.group_first + mask.group_count):
            k = self.mask_groups[i]
            origin = at.origin
            if origin < 0 and self.is_few(k):
                origin = k
            for e in range(family.frames[at.frame].count):
                edge = family.edges[family.frames[at.frame].first + e]
                if edge.rest == BOTTOM_REST:
                    continue
                unsure = at.unsure or (
                    not self.sure and edge.action >= 0 and self.semantics.may_forbid(edge.action)
                )
                j = self.child_of(family, k, edge, at, &keys)
                if origin >= 0 and j != NO_TOKENS and (unsure or self.asks(j)):
                    # few places: what is known of the state there tells more than running tokens one by one
                    for j in range(self.groups[origin].place_first, self.groups[origin].place_first + self.groups[origin].place_count):
                        self.to_simulate.push_back(self.places[j])
                    continue
                self.visit(j, edge.parent, at.filter, keys, unsure, origin)
        if mask.joint >= 0:
            self.repeat(family, at, mask.joint)
        if mask.key_count and at.keys > KEYS_UNKNOWN and self.semantics.keys.states[at.keys].texts > 0:
            self.semantics.rest_of_keys(self.semantics.with_keys(SEM_SYMBOL, at.keys), texts)
            for i in range(mask.key_first, mask.key_first + mask.key_count):
                self.doubt(self.key_starts[i], texts)
        return 0

    cdef bint is_few(self, int32_t group) noexcept:
        """Tell whether a group is of a few places of the vocabulary."""
        cdef Group g = self.groups[group]
        cdef int32_t i
        if g.run != NO_RUN or g.place_count > FEW_PLACES:
            return False
        for i in range(g.place_first, g.place_first + g.place_count):
            if self.places[i] & IN_FOREST:
                return False
        return True

    cdef int repeat(self, ConfigSpace family, Visit at, int32_t joint) except -3:
        """Visit, for every edge, the mask of a walk that knows where it returns to."""
        cdef Edge edge
        cdef int32_t e, j
        for e in range(family.frames[at.frame].count):
            edge = family.edges[family.frames[at.frame].first + e]
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
                self.visit(j, at.frame, at.filter, at.keys, at.unsure, at.origin)
                return 0
            if j == NOT_JOINT or (at.keys > KEYS_UNKNOWN and self.asks(j)):
                self.simulate_all = True
                return 0
            self.visit(j, edge.parent, at.filter, at.keys, at.unsure, at.origin)
        return 0

    cdef int32_t child_of(
        self, ConfigSpace family, int32_t group, Edge edge, Visit at, int32_t* keys
    ) except -3:
        """Return the mask of what a group leaves over when it returns along an edge, and the keys there."""
        cdef int32_t sem = self.groups[group].sem, found
        cdef int32_t known = self.semantics.keys_at(sem)
        cdef bint strict = self.is_strict(family, edge.parent)
        keys[0] = at.keys
        if edge.action <= ACTION_SCOPE:
            keys[0] = self.semantics.keys_at(edge.saved)
            known = KEYS_UNKNOWN
            sem = SEM_SYMBOL
        elif edge.action >= 0:
            if self.semantics.is_key(edge.action):
                sem = self.semantics.symbol_after_key(at.keys if known == KEYS_UNKNOWN else known)
                if sem < 0:
                    self.simulate_all = True
                    return NO_TOKENS
                return self.child(group, edge.rest, sem, strict)
            sem = SEM_SYMBOL
            if known != KEYS_UNKNOWN:
                return self.child(group, edge.rest, self.semantics.with_keys(SEM_SYMBOL, known), strict)
        if known != KEYS_UNKNOWN:
            return self.child(group, edge.rest, sem, strict)
        found = NO_TOKENS
        if keys[0] <= KEYS_UNKNOWN or not self.terms.terms[edge.rest].flags & F_KEYS:
            found = self.child(group, edge.rest, sem, strict)
            if keys[0] <= KEYS_UNKNOWN or not self.asks(found):
                return found
        # the keys decide: ask again with what walks may know of them
        sem = self.semantics.with_keys(sem, self.semantics.keys.view(keys[0]))
        return self.child(group, edge.rest, sem, strict)

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
        self.to_simulate.clear()
        self.to_try.clear()
        self.doubtful.clear()
        self.simulate_tokens = False
        return self.collect_below(family, config, 0)

    cdef int collect_below(self, ConfigSpace family, int32_t config, int32_t above) except -3:
        """Find the parts of what a configuration allows below a node of the vocabulary."""
        cdef int where
        cdef int32_t i, keys, mask, node, first = family.configs[config].first
        cdef size_t roots, k = 0
        cdef bint strict
        cdef Member m
        cdef vector[vector[uint8_t]] texts
        self.visits.clear()
        self.visited_ready = False
        self.parts_found.clear()
        self.parts_unsure.clear()
        self.simulate_all = False
        self.sure = True
        if family.configs[config].capturing:
            for i in range(first, first + family.configs[config].count):
                self.sure = self.sure and self.semantics.is_sure(family.members[i].sem)
        for i in range(first, first + family.configs[config].count):
            m = family.members[i]
            keys = self.semantics.keys_at(m.sem)
            strict = self.is_strict(family, m.frame)
            if above:
                mask = self.root_below(m.state, above, strict)
            else:
                mask = self.root_of(m.state, keys, strict)
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
            self.visit(mask, m.frame, NO_FILTER, keys)
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

    # -- places where the semantic state decides -----------------------------------------------------

    cdef int settle(self, ConfigSpace family, int32_t config, uint32_t* words) except -3:
        """Or what may follow at the places noted: there the state is known, and masks of local states serve again.

        A place can lead to places below it. Each is settled once.
        """
        cdef vector[int32_t] wave
        cdef int32_t node, done
        cdef size_t k
        while not self.to_simulate.empty():
            wave.swap(self.to_simulate)
            self.to_simulate.clear()
            sort(wave.begin(), wave.end())
            done = 0
            for k in range(wave.size()):
                # subtrees are nested or disjoint, and an outer one comes first
                node = wave[k] >> 2
                if node < done and wave[k - 1] >> 2 != node:
                    continue
                self.settle_place(family, config, node, (wave[k] & INCLUSIVE) != 0, words)
                if self.trie.end[node] > done:
                    done = self.trie.end[node]
        return 0

    cdef int settle_place(
        self, ConfigSpace family, int32_t config, int32_t node, bint inclusive, uint32_t* words
    ) except -3:
        """Or the tokens below a node that may follow, and its own if it is ``inclusive``."""
        cdef size_t i
        cdef int32_t c, t
        if self.all_set(node, inclusive, words):
            return 0
        c = self.step_to(family, config, node)
        if c == DEAD:
            return 0
        if inclusive:
            for t in range(self.trie.token_first[node], self.trie.token_first[node + 1]):
                words[self.trie.tokens[t] >> 5] |= <uint32_t>1 << (self.trie.tokens[t] & 31)
        if self.trie.end[node] - node <= FEW_NODES or self.any_keys(family, c):
            return self.simulate_below(family, c, node, words)
        self.collect_below(family, c, node)
        if self.simulate_all:
            return self.simulate_below(family, c, node, words)
        for i in range(self.parts_found.size()):
            self.apply(self.parts_found[i], words)
        if self.parts_unsure.size():
            self.try_unsure(words)
        return 0

    cdef bint any_keys(self, ConfigSpace family, int32_t config) noexcept:
        """Tell whether a configuration is inside of an object whose keys are known."""
        cdef int32_t i, first = family.configs[config].first
        for i in range(first, first + family.configs[config].count):
            if self.semantics.keys_at(family.members[i].sem) > KEYS_UNKNOWN:
                return True
        return False

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
        row = -1
        if not self.simulate_all:
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
        if self.to_simulate.empty() and self.to_try.empty() and not (self.simulate_tokens or self.simulate_all):
            if row >= 0:
                family.configs[config].mask_row = row
                family.configs[config].mask_epoch = self.epoch
            return 0
        self.simulations += 1
        if self.simulate_tokens or self.simulate_all:
            self.simulate_special(family, config, words)
        if self.simulate_all:
            self.simulate_below(family, config, 0, words)
        else:
            self.settle(family, config, words)
            self.try_tokens(family, config, words)
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


cdef inline uint64_t visit_key(Visit v) noexcept:
    return (<uint64_t>v.mask << 32) | <uint64_t>v.frame
