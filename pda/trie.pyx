# distutils: language = c++
"""The vocabulary as a prefix trie, flattened in depth-first order so that a walk is one pass over arrays."""

cimport cython


@cython.final
cdef class Trie:
    """A trie of byte strings with the token ids that spell them.

    ``entries``: (bytes, token id) pairs, sorted by bytes, no empty strings. Several ids may share a node.
    Cost: linear in the bytes.
    """

    def __cinit__(self, entries):
        cdef bytes text
        cdef bytes last = b""
        cdef int32_t i, shared, token, length, node
        cdef vector[int32_t] path
        self.max_depth = 0
        self.byte.push_back(0)
        self.depth.push_back(0)
        self.parent.push_back(0)
        self.end.push_back(0)
        self.token_first.push_back(0)
        path.push_back(0)
        for text, token in entries:
            length = <int32_t>len(text)
            shared = 0
            while shared < length and shared < len(last) and text[shared] == last[shared]:
                shared += 1
            while <int32_t>path.size() > shared + 1:
                self.end[path.back()] = <int32_t>self.byte.size()
                path.pop_back()
            for i in range(shared, length):
                node = <int32_t>self.byte.size()
                self.byte.push_back(text[i])
                self.depth.push_back(i + 1)
                self.parent.push_back(path.back())
                self.end.push_back(0)
                self.token_first.push_back(<int32_t>self.tokens.size())
                path.push_back(node)
            self.tokens.push_back(token)
            if length > self.max_depth:
                self.max_depth = length
            last = text
        while not path.empty():
            self.end[path.back()] = <int32_t>self.byte.size()
            path.pop_back()
        self.token_first.push_back(<int32_t>self.tokens.size())

    def __len__(self):
        """Return the number of nodes, the root included."""
        return self.byte.size()
