# distutils: language = c++
"""Try tokens on a real configuration, byte by byte, where masks of local states cannot decide.

That is where the semantic state decides, and where a stack has too many paths. Steps of configurations are
remembered, so each step after the first time is a look-up.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t
from libcpp.algorithm cimport sort

from stackmask.pda.ids cimport TokenClassId
from stackmask.pda.masks.shared.part cimport MaskContext, MaskPart
from stackmask.pda.stack.configuration_table cimport DEAD
from stackmask.pda.terms.term_table cimport token_symbol
from stackmask.pda.vocabulary.trie_cursor cimport child_of
from stackmask.pda.vocabulary.suffix_tries cimport Nodes, is_inclusive, node_at, trie_of

cdef enum:
    FEW_TRIED = 256     # with more tokens than this, a table of their nodes is made


@cython.final
cdef class TokenTrials(MaskPart):
    """What one fill must try on its configuration, and how it is tried."""

    def __cinit__(self, MaskContext context not None):
        self.trie = context.trie
        self.vocabulary = self.trie.character_groups.token_bytes
        self.simulations = 0
        self.tried = 0
        self.stack.resize(self.trie.max_depth + 2, 0)

    cdef size_t nbytes_of_vocabulary(self) noexcept nogil:
        """Return the bytes of the table of nodes, which holds for all masks and is kept."""
        return 4 * self.node_of.size()

    cdef int begin(self) noexcept nogil:
        """Start a new fill, with nothing to try."""
        self.places_to_try.clear()
        self.tokens_to_try.clear()
        self.tries_special_tokens = self.tries_everything = False
        return 0

    cdef bint is_needed(self) noexcept nogil:
        """Tell whether there is something to try on the real configuration."""
        return (
            self.tries_everything
            or self.tries_special_tokens
            or not self.places_to_try.empty()
            or not self.tokens_to_try.empty()
        )

    cdef int note_place(self, PlaceId place) except -3 nogil:
        """Queue the tokens of a place for a trial on the real configuration."""
        cdef Nodes n
        cdef NodeId node = node_at(place)
        cdef int32_t t, first
        if not trie_of(place):
            self.places_to_try.push_back(place)
            return 0
        # a suffix trie does not have the bytes before its suffixes, so the tokens are queued one by one
        n = self.context.tries.nodes(place)
        first = n.token_first[node] if is_inclusive(place) else n.token_first[node + 1]
        for t in range(first, n.token_first[n.end[node]]):
            self.tokens_to_try.push_back(n.tokens[t])
        return 0

    cdef bint all_set(self, NodeId node, bint inclusive, const uint32_t* words) noexcept nogil:
        """Tell whether all tokens under a node, and the node's own if ``inclusive``, are allowed already."""
        cdef int32_t t
        cdef TokenId token
        for t in range(
            self.trie.token_first[node if inclusive else node + 1], self.trie.token_first[self.trie.end[node]]
        ):
            token = self.trie.tokens[t]
            if not (words[token >> 5] >> (token & 31)) & 1:
                return False
        return True

    cdef ConfigId step_to(self, ConfigSpace family, ConfigId config, NodeId node) except -3 nogil:
        """Return the configuration after the bytes of a node of the vocabulary, or DEAD."""
        cdef vector[NodeId] path
        while node:
            path.push_back(node)
            node = self.trie.parent[node]
        while config != DEAD and not path.empty():
            config = family.step(config, self.trie.byte[path.back()])
            path.pop_back()
        return config

    cdef NodeId spelled_at(self, TokenId token) noexcept nogil:
        """Return the node of a token, found by its bytes."""
        cdef Nodes n = self.context.tries.nodes(0)
        cdef const uint8_t* text = self.vocabulary.blob + self.vocabulary.start[token]
        cdef uint32_t k
        cdef NodeId node = 0
        for k in range(self.vocabulary.length(token)):
            node = child_of(n, node, text[k])
        return node

    cdef int try_tokens(self, ConfigSpace family, ConfigId config, uint32_t* words) except -3 nogil:
        """Add the tokens of ``tokens_to_try`` that the real configuration allows."""
        cdef size_t k
        cdef TokenId token
        cdef NodeId node
        cdef int32_t t
        cdef vector[NodeId] nodes, path
        cdef vector[NodeId] at          # the path to the node that is tried,
        cdef vector[ConfigId] configs   # ... and the configurations on it
        self.terms.meter.spend(4 * self.tokens_to_try.size())
        self.tried += self.tokens_to_try.size()
        if self.tokens_to_try.size() > FEW_TRIED and self.node_of.empty():
            self.node_of.resize(32 * <size_t>self.context.width, 0)
            for node in range(self.trie.nodes):
                for t in range(self.trie.token_first[node], self.trie.token_first[node + 1]):
                    self.node_of[self.trie.tokens[t]] = node
        for k in range(self.tokens_to_try.size()):
            token = self.tokens_to_try[k]
            if not (words[token >> 5] >> (token & 31)) & 1:
                nodes.push_back(self.spelled_at(token) if self.node_of.empty() else self.node_of[token])
        # in the order of the trie, so that a common beginning of tokens is stepped once
        sort(nodes.begin(), nodes.end())
        at.push_back(0)
        configs.push_back(config)
        for k in range(nodes.size()):
            while nodes[k] >= self.trie.end[at.back()]:
                at.pop_back()
                configs.pop_back()
            node = nodes[k]
            while node != at.back() and configs.back() != DEAD:
                path.push_back(node)
                node = self.trie.parent[node]
            while not path.empty():
                if configs.back() != DEAD:
                    configs.push_back(family.step(configs.back(), self.trie.byte[path.back()]))
                    at.push_back(path.back())
                path.pop_back()
            if configs.back() != DEAD:
                for t in range(self.trie.token_first[nodes[k]], self.trie.token_first[nodes[k] + 1]):
                    token = self.trie.tokens[t]
                    words[token >> 5] |= <uint32_t>1 << (token & 31)
        return 0

    cdef int try_subtree(
        self, ConfigSpace family, ConfigId config, NodeId node, uint32_t* words
    ) except -3 nogil:
        """Add the tokens under a node that may follow ``config``, the configuration at the node."""
        cdef NodeId i = node + 1
        cdef ConfigId c
        cdef int32_t k, t, last
        cdef NodeId stop = self.trie.end[node]
        self.stack[self.trie.depth[node]] = config
        t = self.trie.token_first[i] if i < stop else 0
        while i < stop:
            # tokens that are allowed already need no trial
            if t < self.trie.token_first[i]:
                t = self.trie.token_first[i]
            last = self.trie.token_first[self.trie.end[i]]
            while t < last and (words[self.trie.tokens[t] >> 5] >> (self.trie.tokens[t] & 31)) & 1:
                t += 1
            if t >= last:
                i = self.trie.end[i]
                continue
            c = family.step(self.stack[self.trie.depth[i] - 1], self.trie.byte[i])
            if c == DEAD:
                i = self.trie.end[i]
                continue
            self.stack[self.trie.depth[i]] = c
            for k in range(self.trie.token_first[i], self.trie.token_first[i + 1]):
                words[self.trie.tokens[k] >> 5] |= <uint32_t>1 << (self.trie.tokens[k] & 31)
            i += 1
        return 0

    cdef int try_special_tokens(self, ConfigSpace family, ConfigId config, uint32_t* words) except -3 nogil:
        """Add the special tokens that may follow."""
        cdef TokenClassId symbol
        cdef TokenId n
        cdef size_t k
        for symbol in range(self.terms.token_classes):
            if family.step(config, token_symbol(symbol)) != DEAD:
                for k in range(self.context.class_tokens[symbol].size()):
                    n = self.context.class_tokens[symbol][k]
                    words[n >> 5] |= <uint32_t>1 << (n & 31)
        return 0
