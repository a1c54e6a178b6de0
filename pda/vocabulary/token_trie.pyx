# distutils: language = c++
"""The vocabulary as a token trie: a tree of all tokens by their bytes.

The nodes are arrays in depth-first order. So a subtree is a range of nodes, and its tokens are a range of
``tokens``.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcmp, memset
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from stackmask.pda.ids cimport NO_TOKEN
from stackmask.pda.vocabulary.subtree_summary cimport summarize_subtrees
from stackmask.pda.vocabulary.character_groups cimport CharacterGroups
from stackmask.pda.vocabulary.token_bytes cimport block_owner, block_view

from stackmask.pda.errors import VocabularyError

cdef enum:
    HEADER = 16     # bytes: numbers of nodes and tokens, longest token, and one word for alignment
    KEY_BYTES = 8

cdef struct Entry:
    uint64_t key        # the first eight bytes, the first one highest; a shorter token is padded with zeros
    TokenId id

cdef struct Tied:       # a token with the same key as its neighbour
    const uint8_t* text
    uint32_t length
    TokenId id


cdef bint comes_before(const Tied& a, const Tied& b) noexcept nogil:
    cdef int order = memcmp(a.text, b.text, min(a.length, b.length))
    if order:
        return order < 0
    return a.length < b.length or (a.length == b.length and a.id < b.id)  # mutant: shorter-first


cdef int sort_ids(TokenBytes token_bytes, vector[TokenId]& ids) except -1 nogil:
    """List the ids with at least one byte, by their bytes, then by id.

    This is a radix sort by the first eight bytes, the least significant first. It is stable, so equal keys
    keep the order of ids. Tokens with equal keys are then sorted by comparison.
    """
    cdef vector[Entry] entries, other
    cdef vector[Tied] tied
    cdef size_t[8][256] counts
    cdef size_t n = <size_t>token_bytes.spelled, k, first, total, count
    cdef TokenId i
    cdef int32_t p
    cdef uint32_t length, j
    cdef uint64_t key
    cdef Entry entry
    cdef const uint8_t* text
    cdef bint is_tied
    memset(counts, 0, sizeof(counts))
    entries.reserve(n)
    for i in range(token_bytes.size):
        length = token_bytes.length(i)
        if length:
            text = token_bytes.blob + token_bytes.start[i]
            key = 0
            for j in range(<uint32_t>KEY_BYTES):
                key = (key << 8) | (text[j] if j < length else 0)
            for p in range(KEY_BYTES):
                counts[p][(key >> (8 * p)) & 0xFF] += 1
            entry.key = key
            entry.id = i
            entries.push_back(entry)
    other.resize(n)
    for p in range(KEY_BYTES):
        total = 0
        for k in range(256):
            count = counts[p][k]
            counts[p][k] = total
            total += count
        for k in range(n):
            first = (entries[k].key >> (8 * p)) & 0xFF
            other[counts[p][first]] = entries[k]
            counts[p][first] += 1
        entries.swap(other)
    ids.resize(n)
    first = 0
    while first < n:
        k = first
        is_tied = False
        while k < n and entries[k].key == entries[first].key:
            ids[k] = entries[k].id
            # a shorter token has the key of one that continues with zero bytes
            length = token_bytes.length(ids[k])
            is_tied |= length > KEY_BYTES or length != token_bytes.length(ids[first])
            k += 1
        if k > first + 1 and is_tied:
            tied.resize(k - first)
            for count in range(first, k):
                i = ids[count]
                tied[count - first].text = token_bytes.blob + token_bytes.start[i]
                tied[count - first].length = token_bytes.length(i)
                tied[count - first].id = i
            sort(tied.begin(), tied.end(), &comes_before)
            for count in range(first, k):
                ids[count] = tied[count - first].id
        first = k
    return 0


cdef inline int32_t shared_length(TokenBytes token_bytes, TokenId a, TokenId b) noexcept nogil:
    cdef const uint8_t* x = token_bytes.blob + token_bytes.start[a]
    cdef const uint8_t* y = token_bytes.blob + token_bytes.start[b]
    cdef uint32_t n = min(token_bytes.length(a), token_bytes.length(b)), i = 0
    while i < n and x[i] == y[i]:
        i += 1
    return <int32_t>i


@cython.final
cdef class Trie:
    """A trie of the tokens of a vocabulary; immutable.

    ``token_bytes``: those without bytes are left out. Several ids may share a node. ``block``: memory
    of an equal trie made before (its ``block``). It is checked against the tokens and then used without a
    copy.

    Raises: VocabularyError if the block is not the trie of these tokens.
    Cost: linear in the bytes; 128,000 tokens take about 10 ms, checking a block about 2 ms.
    """

    def __cinit__(self, TokenBytes token_bytes not None, block=None):
        cdef int good = True
        made = trie_block(token_bytes) if block is None else block
        self.owner = block_owner(made, &self.data, &self.nbytes)
        self.lay_out()
        if block is not None:
            with nogil:
                good = self.is_trie_of(token_bytes)
        if not good:
            raise VocabularyError("not the trie of this vocabulary")
        with nogil:
            self.link_kids()
            summarize_subtrees(
                self.nodes,
                self.parent,
                self.end,
                self.token_first,
                self.byte,
                self.summary_of,
                self.summaries,
                self.characters,
            )
        self.character_groups = CharacterGroups(token_bytes)
        with nogil:
            self.character_groups.find(
                self.nodes, self.depth, self.token_first, self.tokens, self.byte, self.max_depth
            )

    cdef int lay_out(self) except -1 nogil:
        """Set the pointers to the arrays in the block, without reading the arrays."""
        cdef const int32_t* words = <const int32_t*>self.data
        cdef int64_t n, t
        if self.nbytes < HEADER:
            raise VocabularyError("not the trie of this vocabulary")
        n, t, self.max_depth = words[0], words[1], words[2]
        if n < 1 or t < 0 or words[3] or self.nbytes != <Py_ssize_t>block_size(n, t):
            raise VocabularyError("not the trie of this vocabulary")
        self.nodes, self.token_count = <int32_t>n, <int32_t>t
        words += HEADER // 4
        self.end = <const NodeId*>words
        self.parent = <const NodeId*>(words + n)
        self.token_first = words + 2 * n
        self.tokens = <const TokenId*>(words + 3 * n + 1)
        self.depth = words + 3 * n + 1 + t
        self.byte = <const uint8_t*>(self.depth + n)
        return 0

    cdef int link_kids(self) except -1 nogil:
        """List the children of every node."""
        cdef NodeId n
        cdef int32_t k
        self.kid_first.resize(<size_t>self.nodes + 1, 0)
        self.kid_node.resize(<size_t>self.nodes - 1)
        self.kid_byte.resize(<size_t>self.nodes - 1)
        for n in range(1, self.nodes):
            self.kid_first[self.parent[n] + 1] += 1
        for n in range(self.nodes):
            self.kid_first[n + 1] += self.kid_first[n]
        for n in range(1, self.nodes):
            # kid_first[p] serves as the next free place, and is set right after the loop
            k = self.kid_first[self.parent[n]]
            self.kid_first[self.parent[n]] = k + 1
            self.kid_node[k] = n
            self.kid_byte[k] = self.byte[n]
        for n in range(self.nodes, 0, -1):
            self.kid_first[n] = self.kid_first[n - 1]
        self.kid_first[0] = 0
        return 0

    cdef int is_trie_of(self, TokenBytes token_bytes) except -1 nogil:
        """Tell whether every array is as building from these tokens would make it.

        A trie in depth-first order is determined by its tokens. So it is enough to check that each node
        extends the path to its parent, that siblings ascend, that leaves have tokens, and that the path to a
        node spells its tokens.
        """
        cdef vector[NodeId] path        # the node at each depth
        cdef vector[uint8_t] text       # its bytes
        cdef NodeId n
        cdef int32_t d, above = 0, t
        cdef TokenId id, last
        if self.token_count != token_bytes.spelled or self.max_depth != token_bytes.longest:  # mutant: depth
            return False
        if self.byte[0] or self.depth[0] or self.parent[0] or self.token_first[0] or self.token_first[1]:
            return False
        path.resize(<size_t>self.max_depth + 2, 0)
        text.resize(<size_t>self.max_depth + 1, 0)
        for n in range(1, self.nodes):
            d = self.depth[n]
            if d < 1 or d > above + 1 or d > self.max_depth or self.parent[n] != path[d - 1]:
                return False
            if d <= above and self.byte[n] <= self.byte[path[d]]:
                return False
            while above >= d:
                if self.end[path[above]] != n:
                    return False
                above -= 1
            above = d
            path[d] = n
            text[d - 1] = self.byte[n]
            t = self.token_first[n]
            if self.token_first[n + 1] < t or self.token_first[n + 1] > self.token_count:
                return False
            if t == self.token_first[n + 1] and (n + 1 == self.nodes or self.depth[n + 1] <= d):
                return False
            last = NO_TOKEN
            while t < self.token_first[n + 1]:
                id = self.tokens[t]
                if id <= last or id >= token_bytes.size or token_bytes.length(id) != <uint32_t>d:
                    return False
                if memcmp(token_bytes.blob + token_bytes.start[id], text.data(), d):
                    return False
                last = id
                t += 1
        while above >= 0:
            if self.end[path[above]] != self.nodes:
                return False
            above -= 1
        return self.token_first[self.nodes] == self.token_count

    def __len__(self):
        """Return the number of nodes, the root included."""
        return self.nodes

    @property
    def block(self):
        """The memory, read-only."""
        return block_view(self.owner, self.data, self.nbytes)


cdef inline size_t block_size(int64_t nodes, int64_t tokens) noexcept nogil:
    return HEADER + 4 * (4 * nodes + 1 + tokens) + nodes


cdef bytes trie_block(TokenBytes token_bytes):
    """Build the arrays with one pass over the sorted tokens."""
    cdef int32_t* words
    cdef vector[TokenId] ids
    cdef vector[int32_t] shared
    cdef int64_t nodes = 1
    cdef size_t k, n
    with nogil:
        sort_ids(token_bytes, ids)
        n = ids.size()
        shared.resize(n, 0)
        for k in range(n):
            if k:
                shared[k] = shared_length(token_bytes, ids[k - 1], ids[k])
            nodes += token_bytes.length(ids[k]) - shared[k]
    block = PyBytes_FromStringAndSize(NULL, block_size(nodes, n))
    words = <int32_t*>PyBytes_AS_STRING(block)
    memset(words, 0, block_size(nodes, n))
    with nogil:
        fill_block(words, <int32_t>nodes, token_bytes, ids, shared)
    return block


cdef int fill_block(
    int32_t* words, int32_t nodes, TokenBytes token_bytes, vector[TokenId]& ids, vector[int32_t]& shared
) except -1 nogil:
    cdef int32_t* arrays = words + HEADER // 4
    cdef NodeId* end = <NodeId*>arrays
    cdef NodeId* parent = <NodeId*>(arrays + nodes)
    cdef int32_t* token_first = arrays + 2 * <size_t>nodes
    cdef TokenId* tokens = <TokenId*>(arrays + 3 * <size_t>nodes + 1)
    cdef int32_t* depth = arrays + 3 * <size_t>nodes + 1 + ids.size()
    cdef uint8_t* byte = <uint8_t*>(depth + nodes)
    cdef const uint8_t* text
    cdef NodeId node = 1
    cdef int32_t above = 0, length
    cdef vector[NodeId] path
    cdef size_t k
    path.resize(<size_t>token_bytes.longest + 1, 0)
    words[0], words[1], words[2] = nodes, <int32_t>ids.size(), token_bytes.longest
    for k in range(ids.size()):
        text = token_bytes.blob + token_bytes.start[ids[k]]
        length = <int32_t>token_bytes.length(ids[k])
        while above > shared[k]:
            end[path[above]] = node
            above -= 1
        while above < length:
            byte[node] = text[above]
            parent[node] = path[above]
            above += 1
            depth[node] = above
            token_first[node] = <int32_t>k
            path[above] = node
            node += 1
        tokens[k] = ids[k]
    while above >= 0:
        end[path[above]] = node
        above -= 1
    token_first[nodes] = <int32_t>ids.size()
    return 0
