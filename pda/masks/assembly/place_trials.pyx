# distutils: language = c++
"""Try the places where the semantic state decides, and collect tokens that an action may forbid.

A place is a node of the token trie. The real configuration takes the bytes of the node. Then the semantic
state is known, and the tokens of the node's subtree come from masks of local states again.
"""

cimport cython
from libcpp.algorithm cimport sort

from stackmask.pda.ids cimport TokenId
from stackmask.pda.masks.shared.part cimport MaskContext, MaskPart
from stackmask.pda.memory.checked_vectors cimport refill
from stackmask.pda.stack.configuration_table cimport DEAD
from stackmask.pda.vocabulary.suffix_tries cimport INCLUSIVE, is_inclusive, node_at, place_at

cdef enum:
    MANY_BELOW = 4       # so many places in the subtree of one child are replaced by the child


@cython.final
cdef class PlaceTrials(MaskPart):
    """The trials of one fill that serve all tokens of a place at once."""

    def __cinit__(
        self,
        MaskContext context not None,
        TokenTrials trials not None,
        UndeclaredKeys keys_used not None,
        MaskAssembler assembler not None,
        MaskCache cache not None,
    ):
        self.trie = context.trie
        self.trials = trials
        self.keys_used = keys_used
        self.assembler = assembler
        self.cache = cache
        self.allowed_runs = 0

    cdef int try_places(self, ConfigSpace family, ConfigId config, uint32_t* words) except -3 nogil:
        """Add the tokens that may follow at the noted places.

        A place can lead to further places in its subtree, which are tried in the next round.
        """
        cdef vector[PlaceId] places, next_places
        cdef NodeId node
        cdef size_t k
        if not self.outermost_places(0, next_places):
            return self.trials.try_subtree(family, config, 0, words)
        while not next_places.empty():
            places.swap(next_places)
            next_places.clear()
            for k in range(places.size()):
                node = node_at(places[k])
                self.try_place(family, config, node, is_inclusive(places[k]), words)
                if not self.outermost_places(node, next_places):
                    self.trials.try_subtree(family, self.trials.step_to(family, config, node), node, words)
        return 0

    cdef bint outermost_places(self, NodeId above, vector[PlaceId]& out) except -1 nogil:
        """Move the noted places in the subtree of a node to a list, without places inside of other places.

        Many places under one child of the node are replaced by the child. Return False if the node itself is
        noted: then the caller tries the whole subtree.
        """
        cdef size_t k = 0, first, n = self.trials.places_to_try.size()
        cdef NodeId node, child
        cdef NodeId done = 0
        sort(self.trials.places_to_try.begin(), self.trials.places_to_try.end())
        if n and node_at(self.trials.places_to_try[0]) <= above:
            self.trials.places_to_try.clear()
            return False
        while k < n:
            node = node_at(self.trials.places_to_try[k])
            child = node
            while self.trie.depth[child] > self.trie.depth[above] + 1:
                child = self.trie.parent[child]
            first = out.size()
            while k < n and node_at(self.trials.places_to_try[k]) < self.trie.end[child]:
                node = node_at(self.trials.places_to_try[k])
                if node >= done:
                    out.push_back(self.trials.places_to_try[k])
                    done = self.trie.end[node]
                elif node_at(out.back()) == node:
                    # sorted: if one of them is inclusive, it comes last
                    out[out.size() - 1] = self.trials.places_to_try[k]
                k += 1
            if out.size() - first >= MANY_BELOW:
                out.resize(first)
                out.push_back(place_at(child, INCLUSIVE))
        self.trials.places_to_try.clear()
        return True

    cdef int try_place(
        self, ConfigSpace family, ConfigId config, NodeId node, bint inclusive, uint32_t* words
    ) except -3 nogil:
        """Add the tokens under a node that may follow, and the node's own tokens if ``inclusive``."""
        cdef size_t i
        cdef ConfigId c
        cdef int32_t t
        self.allowed_runs += 1
        if self.trials.all_set(node, inclusive, words):
            return 0
        c = self.trials.step_to(family, config, node)
        if c == DEAD:
            return 0
        if inclusive:
            for t in range(self.trie.token_first[node], self.trie.token_first[node + 1]):
                words[self.trie.tokens[t] >> 5] |= <uint32_t>1 << (self.trie.tokens[t] & 31)
        if not self.context.layers.settled_places:
            return self.trials.try_subtree(family, c, node, words)
        if self.trie.end[node] == node + 1:
            return 0
        if self.keys_used.any_keys(family, c):
            return self.trials.try_subtree(family, c, node, words)
        self.keys_used.begin()
        self.assembler.collect_under(family, c, node)
        # after a return, the object around may have keys that a token repeats
        if self.trials.tries_everything or self.keys_used.any_doubtful():
            self.trials.places_to_try.clear()
            return self.trials.try_subtree(family, c, node, words)
        for i in range(self.assembler.found.sure.size()):
            self.cache.apply(self.assembler.found.sure[i], words)
        if self.assembler.found.unsure.size():
            self.try_unsure(words)
        return 0

    cdef int try_unsure(self, uint32_t* words) except -3 nogil:
        """Queue the tokens that an action may forbid, and that no other operand allows."""
        cdef size_t k
        cdef int32_t i
        cdef TokenId n
        cdef uint32_t left
        refill(self.unsure, self.context.width, 0)
        for k in range(self.assembler.found.unsure.size()):
            self.cache.apply(self.assembler.found.unsure[k], self.unsure.data())
        for i in range(self.context.width):
            left = self.unsure[i] & ~words[i]
            if left:
                for n in range(32):
                    if (left >> n) & 1:
                        self.trials.tokens_to_try.push_back(32 * i + n)
        return 0
