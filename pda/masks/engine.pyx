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
up; and a configuration remembers its list, later its whole mask (``whole_masks``).
"""

cimport cython
from libcpp.algorithm cimport sort

from stackmask.pda.stack.configuration_table cimport DEAD
from stackmask.pda.memory.checked_vectors cimport refill
from stackmask.pda.masks.runs.slices cimport Excluded, Tail
from stackmask.pda.masks.prefixes.prefix_splitting cimport Cut, Leaf
from stackmask.pda.context.object_keys cimport KEYS_UNKNOWN
from stackmask.pda.masks.arena cimport NO_FILTER, Group, Include, Mask, Pending
from stackmask.pda.masks.runs.constrained_runs cimport Without
from stackmask.pda.vocabulary.suffix_tries cimport INCLUSIVE
from stackmask.pda.memory.bitmask_ops cimport copy_words
from stackmask.pda.masks.runs.run_splitting cimport ByteSet, RunPart
from stackmask.pda.masks.runs.run_tables cimport NOT_A_CODE, Exit
from stackmask.pda.masks.walk.token_partition cimport Length
from stackmask.pda.masks.walk.subtree_acceptance cimport Stay
from stackmask.pda.masks.walk.trie_walk cimport Joint
from stackmask.pda.masks.assembly.mask_assembly cimport Part
from stackmask.pda.masks.assembly.mask_cache cimport LISTED, NO_MASK, PATCHED, Patched
from stackmask.pda.masks.prefixes.literal_table cimport Word

cdef enum:
    MANY_BELOW = 4       # places below a node for which it stands
    FEW_NODES = 8        # a smaller subtree is run, not put together
    FEW_LISTS = 16       # lists of parts, which take little each
    WEIGHED = 32         # walks, after which indexes are weighed again


@cython.final
cdef class MaskStore(WholeMasks):
    """The masks of the grammars of one store over one vocabulary."""

    def __cinit__(self):
        self.weighed = 0
        self.epoch = 1
        self.fills = 0
        self.hits = 0
        self.settled = 0
        self.index_bytes = self.indexes_weighed = 0

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

    cdef int try_unsure(self, uint32_t* words) except -3:
        """Note the tokens that some action may forbid, and nothing else allows."""
        cdef size_t k
        cdef int32_t i, n
        cdef uint32_t left
        refill(self.unsure, self.width, 0)
        for k in range(self.parts_unsure.size()):
            self.apply(self.parts_unsure[k], self.unsure.data())
        for i in range(self.width):
            left = self.unsure[i] & ~words[i]
            if left:
                for n in range(32):
                    if (left >> n) & 1:
                        self.to_try.push_back(32 * i + n)
        return 0

    cdef uint64_t changes_made(self) noexcept:
        """Return a number that has changed when masks may have come to take more memory.

        Rows of sparse masks are not in it: one comes for thousands of tokens, and lists with it.
        """
        return self.walks + self.joins + self.joined.size() // FEW_LISTS

    cdef int weigh(self) except -1:
        """Drop all masks if they take more than their budget. No ids of them may be held across this."""
        self.weighed = self.changes_made()
        if self.nbytes() + self.space.nbytes() > self.max_bytes:
            self.drop()
            self.forget_whole()
            self.weigh_indexes()
            self.epoch += 1
        return 0

    cdef int32_t finished(self, ConfigSpace family, int32_t config) noexcept:
        """Return the id of the whole mask of a configuration, or NO_MASK if there is none yet.

        It stays until the next fill that makes something.
        """
        cdef int32_t whole = family.configs[config].whole
        if family.configs[config].mask_epoch != self.epoch:
            return NO_MASK
        if whole <= LISTED:
            whole = self.joined[LISTED - whole].whole
        if whole != NO_MASK:
            self.fills += 1
            self.hits += 1
        return whole

    def prepare(self, items):
        """Make the run tables of some repeated items, terms, over the whole vocabulary."""
        cdef int32_t code, run
        for item in items:
            code = self.runs.code_of(item)
            if code != NOT_A_CODE:
                run = self.runs.run_of(code, 0)
                self.slice(run, -1)
                self.unsettled_place(run)
                self.runs.sort_tokens(run)
                self.runs.remainders_of(run, c'"')

    cdef int fill(self, ConfigSpace family, int32_t config, uint32_t* words) except -3:
        """Write the tokens that may follow a configuration into ``words`` (``width`` words of 32 bits)."""
        cdef int32_t whole
        self.fills += 1
        if self.changes_made() != self.weighed:
            self.weigh()
        if family.configs[config].mask_epoch == self.epoch:
            whole = family.configs[config].whole
            if whole > LISTED:
                self.hits += 1
                self.write(whole, words)
                return 0
            # the parts are known
            self.take_list(LISTED - whole)
            family.configs[config].whole = self.put_list(LISTED - whole, words)
            return 0
        self.likely_base = -1
        self.collect(family, config)
        if self.simulate_all:
            copy_words(words, NULL, self.width)
        else:
            whole = self.put_together(words)
            if self.parts_unsure.size():
                self.try_unsure(words)
            if self.doubtful.size():
                self.recheck(words)
        if (
            self.to_simulate.size() or self.to_try.size() or self.simulate_tokens or self.simulate_all
        ):
            self.simulations += 1
            if self.simulate_tokens or self.simulate_all:
                self.simulate_special(family, config, words)
            if self.simulate_all:
                self.simulate_below(family, config, 0, words)
            else:
                self.settle(family, config, words)
                self.try_tokens(family, config, words)
            # what was run on the configuration holds for it alone, and the next fill there is a copy
            whole = self.keep_mask(words, self.likely_base)
        family.configs[config].whole = whole
        family.configs[config].mask_epoch = self.epoch
        return 0

    # -- the facade that the runtime sees ----------------------------------------------------------------

    cdef MaskRef reference(self, ConfigSpace family, int32_t config) noexcept:
        """Return what is remembered of the mask of a configuration, stop tokens aside."""
        cdef MaskRef mask
        cdef int32_t whole = self.finished(family, config)
        if whole >= 0:
            mask.kind = MASK_ROW
            mask.index = whole
        elif whole != NO_MASK:
            mask.kind = MASK_PATCHED
            mask.index = PATCHED - whole
        elif family.configs[config].mask_epoch == self.epoch:
            mask.kind = MASK_OPERANDS
            mask.index = LISTED - family.configs[config].whole
        else:
            mask.kind = MASK_NONE
            mask.index = 0
        return mask

    cdef MaskBits bits(self, MaskRef mask) noexcept:
        """Return where a mask of kind MASK_ROW or MASK_PATCHED lies."""
        cdef MaskBits bits
        cdef Patched patched
        bits.patches = NULL
        bits.patch_count = 0
        bits.row_number = mask.index
        if mask.kind == MASK_PATCHED:
            patched = self.patched[mask.index]
            bits.row_number = patched.base
            bits.patches = self.patches.data() + patched.first
            bits.patch_count = patched.count
        bits.row = self.rows[bits.row_number] if bits.row_number >= 0 else NULL
        return bits

    cdef int write_mask(self, MaskRef mask, uint32_t* words) except -1:
        """Write a mask of kind MASK_ROW or MASK_PATCHED."""
        cdef MaskBits bits = self.bits(mask)
        write_bits(&bits, self.width, words)
        return 0

    cdef MaskRef intern_mask(self, ConfigSpace family, int32_t config, const uint32_t* words) except *:
        """Remember the mask of a configuration, given in full and without stop tokens, as a row."""
        cdef MaskRef mask
        mask.kind = MASK_ROW
        mask.index = self.intern_row(words)
        family.configs[config].whole = mask.index
        family.configs[config].mask_epoch = self.epoch
        return mask

    cdef int operand_rows(self, MaskRef mask, vector[int32_t]& out) except -1:
        """List the rows among the operands of a mask of kind MASK_OPERANDS, each once, in their order.

        Operands that are no row, or are cut down to some tokens, are left out.
        """
        cdef Part* operand
        cdef int32_t k, row
        cdef size_t i
        cdef bint is_new
        out.clear()
        for k in range(self.joined[mask.index].count):
            operand = &self.joined_parts[self.joined[mask.index].first + k]
            if operand.mask < 0 or operand.filter != NO_FILTER:
                continue
            row = self.masks[operand.mask].dense
            is_new = row >= 0
            for i in range(out.size()):
                is_new = is_new and out[i] != row
            if is_new:
                out.push_back(row)
        return 0

    cdef const uint32_t* row_words(self, int32_t number) noexcept:
        """Return the words of a row of this epoch."""
        return self.rows[number]

    # ----------------------------------------------------------------------------------------------------

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
        # rows that are not taken yet count: a block of large pages is there as a whole
        cdef size_t held = self.block_bytes + 8 * self.rows.size() + sizeof(Mask) * self.masks.size()
        held += 4 * (self.sparse_tokens.size() + self.places.size())
        held += 4 * (self.readers.size() + self.mask_groups.size())
        held += sizeof(Include) * self.includes.size() + sizeof(Group) * self.groups.size()
        held += 4 * self.excluded_tokens.size() + sizeof(Excluded) * self.exclusions.size()
        held += sizeof(Tail) * self.tails.size() + sizeof(Exit) * self.tail_exits.size()
        if self.walks - self.indexes_weighed >= WEIGHED or self.walks < self.indexes_weighed:
            self.weigh_indexes()
        return held + self.whole_nbytes() + self.runs.nbytes() + self.index_bytes

    cdef int weigh_indexes(self) noexcept:
        """Count the bytes of what finds masks, and of what is known of configurations of walks.

        They lie far apart, so they are counted with every few walks only.
        """
        cdef uint64_t maps, ints
        maps = self.keyed_roots.mask + self.roots_below.mask + self.entry_index.mask + self.children.mask
        maps += self.rest_index.mask + self.joint_index.mask + self.grouped_index.mask + self.slice_index.mask
        maps += self.filter_index.mask + self.both_index.mask + self.without_index.mask + self.part_index.mask
        maps += self.inside_index.mask + self.tail_index.mask + self.met_codes.mask + self.follow_index.mask
        maps += self.word_children.mask + self.visited.mask + self.runs.exit_index.mask
        maps += self.runs.merge_index.mask + self.runs.remainder_index.mask + self.runs.run_index.mask
        maps += self.runs.code_index.mask
        ints = self.fails.size() + self.few_served.size() + self.plain_of.size() + self.first_at.size()
        ints += self.split_of.size() + self.split_first.size()
        ints += self.split_count.size() + self.split_parts.size() + self.stay_at.size() + self.rests.size()
        ints += self.key_starts.size() + self.forest.kid_first.size() + self.forest.kid_node.size()
        self.index_bytes = 12 * maps + 4 * ints + sizeof(ByteSet) * self.first.size()
        self.index_bytes += sizeof(Stay) * self.stay_of.size() + sizeof(Pending) * self.pendings.size()
        self.index_bytes += sizeof(RunPart) * self.parts.size() + sizeof(Without) * self.withouts.size()
        self.index_bytes += sizeof(Joint) * self.joints.size() + 8 * self.group_first.size()
        self.index_bytes += 8 * (self.group_index.mask + self.forest.root_index.mask + self.followed.size())
        self.index_bytes += self.forest.kid_byte.size() + self.forest.twice.size()
        self.indexes_weighed = self.walks
        return 0

    def nbytes_held(self):
        """Return about how many bytes stay when masks are dropped: what is known of terms."""
        cdef size_t held = sizeof(Cut) * self.heads.cuts.size() + sizeof(Leaf) * self.heads.leaves.size()
        held += self.heads.word_of.size() + 12 * self.heads.cut_index.mask
        held += sizeof(Word) * self.words.words.size() + 4 * self.words.items.size()
        held += 8 * self.words.index.mask
        return held + sizeof(Length) * self.lengths.size() + 12 * self.length_index.mask
