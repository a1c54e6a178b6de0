# distutils: language = c++
"""Masks: which tokens may follow a configuration, put together from the masks of its local states.

The mask of a configuration is the union over its members (``walks`` makes those). Where a token returns out
of a member's frame with bytes left over, each edge of the frame gives a return state, over which the
remainders were walked in the same way; the answer for (remainders, return state) is a mask of the same form,
remembered under that pair, and it goes deeper only where a remainder returns again (``parts``). A state is
taken apart into heads and what follows them (``heads``), as if every head were a rule that returns. Where the
semantic state decides, at a place of the vocabulary, the real configuration takes the bytes up to there, and
what may follow is put together likewise from masks of its members, cut down to what is below the place.

A mask of several parts is remembered under the list of its parts, since joining them costs more than looking
up; and a configuration remembers the row of its whole mask.
"""

cimport cython
from libc.string cimport memcpy, memset
from libcpp.algorithm cimport sort

from stackmask.pda.config_table cimport DEAD
from stackmask.pda.keys cimport KEYS_UNKNOWN
from stackmask.pda.mask_table cimport NO_FILTER, Group, Include, Mask
from stackmask.pda.remainders cimport INCLUSIVE
from stackmask.pda.runs cimport NOT_A_CODE
from stackmask.pda.tables cimport (
    NO_VALUE,
    ids_free,
    ids_init,
    ids_put,
    map_free,
    map_get,
    map_init,
    map_put,
    mix,
)

cdef enum:
    MANY_TOKENS = 256    # sparse tokens that cost about as much as a row
    MANY_BELOW = 4       # places below a node for which it stands
    FEW_NODES = 8        # a smaller subtree is run, not put together
    WORTH_A_ROW = 24     # rows that were or-ed for one list of parts before it gets a row of its own


@cython.final
cdef class MaskStore(MaskParts):
    """The masks of the grammars of one store over one vocabulary."""

    def __cinit__(self):
        map_init(&self.joined_before)
        self.weighed = 0
        ids_init(&self.joined_index)
        self.epoch = 1
        self.fills = 0
        self.hits = 0
        self.joins = 0
        self.settled = 0

    def __dealloc__(self):
        map_free(&self.joined_before)
        ids_free(&self.joined_index)

    # -- places where the semantic state decides -----------------------------------------------------

    cdef int settle(self, ConfigSpace family, int32_t config, uint32_t* words) except -3:
        """Or what may follow at the places noted.

        There the state is known, and masks of local states serve again. A place can lead to places below it,
        which are settled in the next round.
        """
        cdef vector[int32_t] now, later
        cdef int32_t node
        cdef size_t k
        if not self.gather(0, later):
            return self.simulate_below(family, config, 0, words)
        while not later.empty():
            now.swap(later)
            later.clear()
            for k in range(now.size()):
                node = now[k] >> 2
                self.settle_place(family, config, node, (now[k] & INCLUSIVE) != 0, words)
                if not self.gather(node, later):
                    self.simulate_below(family, self.step_to(family, config, node), node, words)
        return 0

    cdef bint gather(self, int32_t above, vector[int32_t]& out) except -1:
        """Move the places noted below a node to a list, each once, and their outermost only.

        Where there are many below one child of the node, the child stands for them: there more is known, and
        fewer are left. Return whether the node itself is not among them.
        """
        cdef size_t k = 0, first, n = self.to_simulate.size()
        cdef int32_t node, child, bits, done = 0
        sort(self.to_simulate.begin(), self.to_simulate.end())
        if n and self.to_simulate[0] >> 2 <= above:
            self.to_simulate.clear()
            return False
        while k < n:
            node = self.to_simulate[k] >> 2
            child = node
            while self.trie.depth[child] > self.trie.depth[above] + 1:
                child = self.trie.parent[child]
            first = out.size()
            while k < n and self.to_simulate[k] >> 2 < self.trie.end[child]:
                node = self.to_simulate[k] >> 2
                bits = self.to_simulate[k] & INCLUSIVE
                if node >= done:
                    out.push_back((node << 2) | bits)
                    done = self.trie.end[node]
                elif out.back() >> 2 == node:
                    out[out.size() - 1] |= bits
                k += 1
            if out.size() - first >= MANY_BELOW:
                out.resize(first)
                out.push_back((child << 2) | INCLUSIVE)
        self.to_simulate.clear()
        return True

    cdef int settle_place(
        self, ConfigSpace family, int32_t config, int32_t node, bint inclusive, uint32_t* words
    ) except -3:
        """Or the tokens below a node that may follow, and its own if it is ``inclusive``."""
        cdef size_t i
        cdef int32_t c, t
        self.settled += 1
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
        self.doubtful.clear()
        self.collect_below(family, c, node)
        # an object around, behind a return, may know keys that a token repeats
        if self.simulate_all or self.doubtful.size():
            self.to_simulate.clear()
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
        if not (
            self.to_simulate.size() or self.to_try.size() or self.simulate_tokens or self.simulate_all
        ):
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
            "settled_places": self.settled,
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
