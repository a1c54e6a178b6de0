# distutils: language = c++
"""Suffix tries: the remainders of tokens after a return or a run, merged into small tries.

Many tokens have the same suffix after their place: `foo": ` and `bar": ` both leave `": `. So the subtrees at
these places are merged into one trie. Equal suffixes share one node, which has the tokens of all. Walks from
return states visit these nodes and not those of the vocabulary.
"""

cimport cython
from libc.stdint cimport uint32_t
from libc.string cimport memcpy
from libcpp.algorithm cimport sort, unique

from stackmask.pda.memory.hash_tables cimport Probe, mix


@cython.final
cdef class SuffixTries:
    """All suffix tries of one vocabulary. Append-only.

    Each trie has its own root. Tries are interned: equal ones have the same root.
    """

    def __cinit__(self, Trie trie):
        self.trie = trie
        self.token_first.push_back(0)
        self.max_depth = trie.max_depth

    cdef Nodes nodes(self, PlaceId place) noexcept nogil:
        """Return the arrays that contain the node of a place. Arrays of suffix tries move as they grow."""
        cdef Nodes n
        if trie_of(place):
            n.byte = self.byte.data()
            n.depth = self.depth.data()
            n.end = self.end.data()
            n.token_first = self.token_first.data()
            n.tokens = self.tokens.data()
            n.kid_first = self.kid_first.data()
            n.kid_node = self.kid_node.data()
            n.kid_byte = self.kid_byte.data()
        else:
            n.byte = self.trie.byte
            n.depth = self.trie.depth
            n.end = self.trie.end
            n.token_first = self.trie.token_first
            n.tokens = self.trie.tokens
            n.kid_first = self.trie.kid_first.data()
            n.kid_node = self.trie.kid_node.data()
            n.kid_byte = self.trie.kid_byte.data()
        return n

    cdef int32_t size_of(self, PlaceId place) noexcept nogil:
        """Return the number of nodes of the subtree at a place."""
        cdef NodeId node = node_at(place)
        if trie_of(place):
            return self.end[node] - node
        return self.trie.end[node] - node

    cdef int add_children(self, PlaceId place, int32_t level, vector[uint64_t]& out) except FAILED nogil:
        """Append every child as a number that sorts by byte, then by ``level``, and ends with the place."""
        cdef Nodes n = self.nodes(place)
        cdef NodeId node = node_at(place), i, stop
        cdef PlaceId child
        if is_inclusive(place):
            child = place_at(node, trie_of(place))
            out.push_back((<uint64_t>n.byte[node] << 56) | (<uint64_t>level << 32) | <uint64_t>child)
            return 0
        i = node + 1
        stop = n.end[node]
        while i < stop:
            child = place_at(i, trie_of(place))
            out.push_back((<uint64_t>n.byte[i] << 56) | (<uint64_t>level << 32) | <uint64_t>child)
            i = n.end[i]
        return 0

    cdef NodeId add_node(self, uint8_t byte, int32_t depth) except ID_FAILED nogil:
        self.byte.push_back(byte)
        self.depth.push_back(depth)
        self.end.push_back(0)
        self.token_first.push_back(<int32_t>self.tokens.size())
        return <int32_t>self.byte.size() - 1

    cdef int copy_subtree(self, PlaceId place, NodeId node) except FAILED nogil:
        """Copy the nodes under a place to under ``node``, which must be the last existing node."""
        cdef Nodes n = self.nodes(place)
        cdef NodeId source = node_at(place)
        cdef NodeId i
        cdef int32_t shift, token_shift, deeper
        cdef int32_t count = n.end[source] - source - 1
        cdef int32_t first_token = n.token_first[source + 1]
        cdef int32_t last_token = n.token_first[n.end[source]]
        cdef int32_t have = <int32_t>self.tokens.size()
        if count:
            self.byte.resize(node + 1 + count)
            self.depth.resize(node + 1 + count)
            self.end.resize(node + 1 + count)
            self.token_first.resize(node + 2 + count)
            self.tokens.resize(have + last_token - first_token)
            n = self.nodes(place)
            shift = node - source
            deeper = self.depth[node] - n.depth[source]
            token_shift = have - first_token
            memcpy(self.byte.data() + node + 1, n.byte + source + 1, count)
            if last_token > first_token:
                memcpy(
                    self.tokens.data() + have, n.tokens + first_token, 4 * <size_t>(last_token - first_token)
                )
            for i in range(source + 1, source + 1 + count):
                self.depth[i + shift] = n.depth[i] + deeper
                self.end[i + shift] = n.end[i] + shift
                self.token_first[i + shift + 1] = n.token_first[i + 1] + token_shift
        self.end[node] = node + 1 + count
        return 0

    cdef PlaceId merge(self, vector[PlaceId]& places) except ID_FAILED nogil:
        """Merge the suffixes at some places into one trie. Return the place of its root.

        Cost: linear in the nodes under the places.
        """
        cdef vector[vector[uint64_t]] levels
        cdef vector[size_t] position
        cdef vector[NodeId] on_path
        cdef vector[uint64_t] kids
        cdef Nodes n
        cdef size_t k, j, first
        cdef NodeId node, root, source
        cdef PlaceId place
        cdef TokenId i
        cdef int32_t t
        cdef uint8_t byte
        root = self.add_node(0, 0)
        for k in range(places.size()):
            self.add_children(places[k], <int32_t>k, kids)
        sort(kids.begin(), kids.end())
        levels.push_back(kids)
        position.push_back(0)
        on_path.push_back(root)
        while not levels.empty():
            first = position.back()
            if first == levels.back().size():
                self.end[on_path.back()] = <int32_t>self.byte.size()
                levels.pop_back()
                position.pop_back()
                on_path.pop_back()
                continue
            byte = <uint8_t>(levels.back()[first] >> 56)
            j = first
            while j < levels.back().size() and <uint8_t>(levels.back()[j] >> 56) == byte:
                j += 1
            position[position.size() - 1] = j
            node = self.add_node(byte, <int32_t>levels.size())
            for k in range(first, j):
                place = <int32_t><uint32_t>levels.back()[k]
                n = self.nodes(place)
                source = node_at(place)
                for t in range(n.token_first[source], n.token_first[source + 1]):
                    i = n.tokens[t]
                    self.tokens.push_back(i)
                    if trie_of(place):
                        n = self.nodes(place)
            if j > first + 1:
                # a token may have the same suffix at several places
                sort(self.tokens.begin() + self.token_first[node], self.tokens.end())
                t = self.token_first[node]
                self.tokens.resize(
                    unique(self.tokens.begin() + t, self.tokens.end()) - self.tokens.begin()
                )
            self.token_first[node + 1] = <int32_t>self.tokens.size()
            if j == first + 1:
                # only one subtree is left here: copy it
                self.copy_subtree(<int32_t><uint32_t>levels.back()[first], node)
                continue
            kids.clear()
            for k in range(first, j):
                self.add_children(<int32_t><uint32_t>levels.back()[k], <int32_t>(k - first), kids)
            sort(kids.begin(), kids.end())
            levels.push_back(kids)
            position.push_back(0)
            on_path.push_back(node)
        return place_at(self.intern(root), IN_SUFFIX_TRIE)

    cdef PlaceId subtrees(self, vector[NodeId]& nodes) except ID_FAILED nogil:
        """Return the place of a trie of the tokens at and under some nodes of the vocabulary.

        No node may be under another one. Cost: linear in the nodes of the new trie, plus sorting.
        """
        cdef vector[NodeId] open_nodes, sources, path
        cdef NodeId root, node, i
        cdef int32_t t
        cdef size_t k
        sort(nodes.begin(), nodes.end())
        root = self.add_node(0, 0)
        open_nodes.push_back(root)
        sources.push_back(0)
        for k in range(nodes.size()):
            i = nodes[k]
            while self.trie.end[sources.back()] <= i:
                self.end[open_nodes.back()] = <int32_t>self.byte.size()
                open_nodes.pop_back()
                sources.pop_back()
            path.clear()
            while i != sources.back():
                path.push_back(i)
                i = self.trie.parent[i]
            while not path.empty():
                i = path.back()
                path.pop_back()
                node = self.add_node(self.trie.byte[i], self.trie.depth[i])
                if path.empty():
                    for t in range(self.trie.token_first[i], self.trie.token_first[i + 1]):
                        self.tokens.push_back(self.trie.tokens[t])
                    self.token_first[node + 1] = <int32_t>self.tokens.size()
                    self.copy_subtree(place_at(i, 0), node)
                else:
                    open_nodes.push_back(node)
                    sources.push_back(i)
        while not open_nodes.empty():
            self.end[open_nodes.back()] = <int32_t>self.byte.size()
            open_nodes.pop_back()
        return place_at(self.intern(root), IN_SUFFIX_TRIE)

    cdef NodeId intern(self, NodeId root) except ID_FAILED nogil:
        """Return the root of the last trie, or of an older equal trie, which replaces the last one."""
        cdef uint64_t h = 59
        cdef int32_t i, t, shift
        cdef NodeId other
        cdef int32_t count = <int32_t>self.byte.size() - root
        cdef bint equal
        for i in range(root, root + count):
            h = mix(h, (<uint64_t>self.depth[i] << 8) | <uint64_t>self.byte[i])
            for t in range(self.token_first[i], self.token_first[i + 1]):
                h = mix(h, <uint64_t>self.tokens[t])
        cdef Probe probe = self.root_index.probe(h)
        other = self.root_index.next(probe)
        while other >= 0:
            if self.end[other] - other == count:
                shift = self.token_first[other] - self.token_first[root]
                equal = True
                for i in range(count):
                    if (
                        self.byte[root + i] != self.byte[other + i]
                        or self.depth[root + i] != self.depth[other + i]
                        or self.token_first[root + i + 1] + shift != self.token_first[other + i + 1]
                    ):
                        equal = False
                        break
                if equal:
                    for t in range(self.token_first[root], self.token_first[root + count]):
                        if self.tokens[t] != self.tokens[t + shift]:
                            equal = False
                            break
                if equal:
                    self.tokens.resize(self.token_first[root])
                    self.byte.resize(root)
                    self.depth.resize(root)
                    self.end.resize(root)
                    self.token_first.resize(root + 1)
                    return other
            other = self.root_index.next(probe)
        self.root_index.put(probe, root)
        self.link_kids(root)
        self.flag_repeats(root)
        return root

    cdef int link_kids(self, NodeId root) except FAILED nogil:
        """List the children of every node of a new trie."""
        cdef NodeId n, i
        cdef int32_t k = <int32_t>self.kid_node.size(), count = <int32_t>self.byte.size()
        self.kid_first.resize(count + 1)
        self.kid_node.resize(k + count - root - 1)
        self.kid_byte.resize(k + count - root - 1)
        for n in range(root, count):
            self.kid_first[n] = k
            i = n + 1
            while i < self.end[n]:
                self.kid_node[k] = i
                self.kid_byte[k] = self.byte[i]
                k += 1
                i = self.end[i]
        self.kid_first[count] = k
        return 0

    cdef int flag_repeats(self, NodeId root) except FAILED nogil:
        """Store for the nodes of a new trie whether some token has several suffixes there.

        A single suffix does not decide such a token, so no run tables are used in such a trie.
        """
        cdef int32_t t
        cdef TokenId token
        cdef int32_t count = <int32_t>self.byte.size()
        cdef uint8_t found = 0
        for t in range(self.token_first[root], self.token_first[count]):
            token = self.tokens[t]
            if <size_t>token >= self.stamp.size():
                self.stamp.resize(token + 1, -1)
            if self.stamp[token] == root:
                found = 1
                break
            self.stamp[token] = root
        self.twice.resize(count, found)
        return 0
