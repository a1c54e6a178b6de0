# distutils: language = c++
"""Tokens across the end of a text: they begin in the text and continue after it.

A subclass says which bytes may follow: a place is a number, and no byte may follow place 0.
"""

from stackmask.pda.ids cimport NO_NODE
from stackmask.pda.stack.configuration_table cimport DEAD


cdef class Crossings:
    """The trie of a vocabulary, read along places of a grammar. ``follow`` gives the next place."""

    cdef ConfigId follow(self, ConfigId config, uint8_t byte) except -1 nogil:
        """Return the place after a byte, or DEAD. The base class allows no byte."""
        return DEAD

    cdef int set_trie(self, Trie trie) except -1:
        """Store the trie in which tokens are looked up."""
        cdef NodeId child = 1
        cdef ConfigId c
        self.trie = trie
        for c in range(256):
            self.root_child[c] = -1
        while child < trie.nodes:
            self.root_child[trie.byte[child]] = child
            child = trie.end[child]
        return 0

    def after(self, ConfigId config, bytes text):
        """Return the place after a text; DEAD (0) if the text is not allowed."""
        cdef unsigned char byte
        for byte in text:
            config = self.follow(config, byte)
            if config == DEAD:
                break
        return config

    def leads(self, ConfigId config, size_t most):
        """Return the bytes that may come next, in ascending order: at most ``most`` of them."""
        cdef list found = []
        cdef int32_t c
        for c in range(256):
            if self.follow(config, c) != DEAD:
                found.append(c)
                if <size_t>len(found) >= most:
                    break
        return found

    cdef NodeId child_of(self, NodeId node, uint8_t byte) noexcept nogil:
        """Return the child of a trie node for a byte, or NO_NODE."""
        cdef NodeId child = node + 1
        if node == 0:
            return self.root_child[byte]
        while child < self.trie.end[node] and self.trie.byte[child] < byte:
            child = self.trie.end[child]
        if child < self.trie.end[node] and self.trie.byte[child] == byte:
            return child
        return NO_NODE

    cdef int collect(self, NodeId node, ConfigId config, size_t most) except -1 nogil:
        """Find the allowed tokens under a node, at a place that its own bytes lead to.

        ``found`` gets one token for each node, at most ``most`` + 1 of them.
        """
        cdef vector[ConfigId] path
        cdef NodeId i = node + 1
        cdef ConfigId c
        cdef int32_t depth, base = self.trie.depth[node]
        self.found.clear()
        path.push_back(config)
        while i < self.trie.end[node] and self.found.size() <= most:
            depth = self.trie.depth[i] - base
            path.resize(depth)
            c = self.follow(path[depth - 1], self.trie.byte[i])
            if c == DEAD:
                i = self.trie.end[i]
                continue
            if self.trie.token_first[i] < self.trie.token_first[i + 1]:
                self.found.push_back(self.trie.tokens[self.trie.token_first[i]])
            path.push_back(c)
            i += 1
        return 0

    def crossings(self, bytes text, ConfigId config, size_t most):
        """Return pairs (n, tokens), by ascending n: tokens that begin with the last n bytes of ``text`` and
        continue at ``config``, which is the place after the text.

        Of tokens with equal bytes, one is returned. No tokens: there are more than ``most``.
        Cost: some microseconds: one descent of the trie for each length, and the first allowed tokens there.
        """
        cdef list found = []
        cdef NodeId node
        cdef int32_t i, n, size = <int32_t>len(text)
        cdef const unsigned char* data = text
        for n in range(1, min(size, self.trie.max_depth) + 1):
            node = 0
            for i in range(size - n, size):
                node = self.child_of(node, data[i])
                if node == NO_NODE:
                    break
            if node != NO_NODE and node != 0:
                self.collect(node, config, most)
                if self.found.size():
                    found.append((n, tuple(self.found) if self.found.size() <= most else ()))
        return found

    def is_free(self, bytes text, Py_ssize_t place):
        """Tell whether no token can cross a place inside a text, whatever comes after the text.

        The two sides of such a place are tokenized separately: the right side does not change the left one.
        Cost: a descent of the trie from each byte before the place, as far as a token is long.
        """
        cdef Py_ssize_t i, start, size = len(text)
        cdef NodeId node
        cdef const unsigned char* data = text
        for start in range(place - 1, max(<Py_ssize_t>-1, place - <Py_ssize_t>self.trie.max_depth), -1):
            node = 0
            for i in range(start, size):
                node = self.child_of(node, data[i])
                if node == NO_NODE:
                    break
                if i >= place and self.trie.token_first[node] < self.trie.token_first[node + 1]:
                    return False
            if node > 0 and node + 1 < self.trie.end[node]:  # mutant: free-place
                return False
        return True
