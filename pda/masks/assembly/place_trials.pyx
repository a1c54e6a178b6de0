# distutils: language = c++
"""Places of the vocabulary where the semantic state decides, and tokens that an action may forbid.

At such a place the real configuration takes the bytes up to there. Then the state is known, and what may follow
is put together from masks of local states again, cut down to what is below the place.
"""

cimport cython
from libcpp.algorithm cimport sort

from stackmask.pda.masks.shared.part cimport MaskContext, MaskPart
from stackmask.pda.memory.checked_vectors cimport refill
from stackmask.pda.stack.configuration_table cimport DEAD
from stackmask.pda.vocabulary.suffix_tries cimport INCLUSIVE

cdef enum:
    MANY_BELOW = 4       # places below a node for which it stands
    FEW_NODES = 8        # a smaller subtree is run, not put together


@cython.final
cdef class PlaceTrials(MaskPart):
    """What one fill tries on its configuration, a place at a time."""

    def __cinit__(
        self,
        MaskContext context not None,
        TokenTrials trials not None,
        UndeclaredKeys keys_used not None,
        MaskAssembler assembler not None,
        MaskCache cache not None,
    ):
        self.trials = trials
        self.keys_used = keys_used
        self.assembler = assembler
        self.cache = cache
        self.allowed_runs = 0

    cdef int try_places(self, ConfigSpace family, int32_t config, uint32_t* words) except -3:
        """Or what may follow at the places noted.

        There the state is known, and masks of local states serve again. A place can lead to places below it,
        which are settled in the next round.
        """
        cdef vector[int32_t] now, later
        cdef int32_t node
        cdef size_t k
        if not self.outermost_places(0, later):
            return self.trials.try_below(family, config, 0, words)
        while not later.empty():
            now.swap(later)
            later.clear()
            for k in range(now.size()):
                node = now[k] >> 2
                self.try_place(family, config, node, (now[k] & INCLUSIVE) != 0, words)
                if not self.outermost_places(node, later):
                    self.trials.try_below(family, self.trials.step_to(family, config, node), node, words)
        return 0

    cdef bint outermost_places(self, int32_t above, vector[int32_t]& out) except -1:
        """Move the places noted below a node to a list, each once, and their outermost only.

        Where there are many below one child of the node, the child stands for them: there more is known, and
        fewer are left. Return whether the node itself is not among them.
        """
        cdef size_t k = 0, first, n = self.trials.places_to_try.size()
        cdef int32_t node, child, bits, done = 0
        sort(self.trials.places_to_try.begin(), self.trials.places_to_try.end())
        if n and self.trials.places_to_try[0] >> 2 <= above:
            self.trials.places_to_try.clear()
            return False
        while k < n:
            node = self.trials.places_to_try[k] >> 2
            child = node
            while self.trie.depth[child] > self.trie.depth[above] + 1:
                child = self.trie.parent[child]
            first = out.size()
            while k < n and self.trials.places_to_try[k] >> 2 < self.trie.end[child]:
                node = self.trials.places_to_try[k] >> 2
                bits = self.trials.places_to_try[k] & INCLUSIVE
                if node >= done:
                    out.push_back((node << 2) | bits)
                    done = self.trie.end[node]
                elif out.back() >> 2 == node:
                    out[out.size() - 1] |= bits
                k += 1
            if out.size() - first >= MANY_BELOW:
                out.resize(first)
                out.push_back((child << 2) | INCLUSIVE)
        self.trials.places_to_try.clear()
        return True

    cdef int try_place(
        self, ConfigSpace family, int32_t config, int32_t node, bint inclusive, uint32_t* words
    ) except -3:
        """Or the tokens below a node that may follow, and its own if it is ``inclusive``."""
        cdef size_t i
        cdef int32_t c, t
        self.allowed_runs += 1
        if self.trials.all_set(node, inclusive, words):
            return 0
        c = self.trials.step_to(family, config, node)
        if c == DEAD:
            return 0
        if inclusive:
            for t in range(self.trie.token_first[node], self.trie.token_first[node + 1]):
                words[self.trie.tokens[t] >> 5] |= <uint32_t>1 << (self.trie.tokens[t] & 31)
        if not self.layers.settled_places:
            return self.trials.try_below(family, c, node, words)
        if self.trie.end[node] - node <= FEW_NODES or self.keys_used.any_keys(family, c):
            return self.trials.try_below(family, c, node, words)
        self.keys_used.begin()
        self.assembler.collect_below(family, c, node)
        # an object around, behind a return, may know keys that a token repeats
        if self.trials.tries_everything or self.keys_used.any_doubtful():
            self.trials.places_to_try.clear()
            return self.trials.try_below(family, c, node, words)
        for i in range(self.assembler.operands.size()):
            self.cache.apply(self.assembler.operands[i], words)
        if self.assembler.unsure_operands.size():
            self.try_unsure(words)
        return 0

    cdef int try_unsure(self, uint32_t* words) except -3:
        """Note the tokens that some action may forbid, and nothing else allows."""
        cdef size_t k
        cdef int32_t i, n
        cdef uint32_t left
        refill(self.unsure, self.width, 0)
        for k in range(self.assembler.unsure_operands.size()):
            self.cache.apply(self.assembler.unsure_operands[k], self.unsure.data())
        for i in range(self.width):
            left = self.unsure[i] & ~words[i]
            if left:
                for n in range(32):
                    if (left >> n) & 1:
                        self.trials.tokens_to_try.push_back(32 * i + n)
        return 0
