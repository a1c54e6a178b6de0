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


cdef inline uint32_t shared_length(const uint8_t* x, const uint8_t* y, uint32_t n) noexcept nogil:
    """Return how many first bytes two texts have in common, at most ``n``."""
    cdef uint32_t i = 0
    while i < n and x[i] == y[i]:
        i += 1
    return i


cdef int64_t count_nodes(
    TokenBytes token_bytes, const TokenId* ids, size_t count, vector[int32_t]& shared
) except -1 nogil:
    """Return the number of nodes of the trie of some tokens; 0 if they are not all, in order.

    ``shared``: set to how many first bytes each token has in common with the one before it.
    """
    cdef int64_t nodes = 1
    cdef size_t k
    cdef uint32_t length, length_before = 0, common
    cdef const uint8_t* text
    cdef const uint8_t* text_before = NULL
    cdef bint ascends
    if count != <size_t>token_bytes.spelled:
        return 0
    shared.resize(count, 0)
    for k in range(count):
        if not 0 <= ids[k] < token_bytes.size:
            return 0
        length = token_bytes.length(ids[k])
        if not length:
            return 0
        text = token_bytes.blob + token_bytes.start[ids[k]]
        common = shared_length(text_before, text, min(length_before, length))
        # ascending ids and texts are there once each, so as many as there are tokens are all of them
        if common < length_before:
            ascends = common < length and text_before[common] < text[common]
        else:
            ascends = common < length or ids[k - 1] < ids[k]
        if not ascends:  # mutant: token-order
            return 0
        shared[k] = <int32_t>common
        nodes += length - common
        text_before = text
        length_before = length
    return nodes


@cython.final
cdef class TokenOrder:
    """The ids of the tokens with text, by their bytes, then by id; immutable.

    ``data``: that of an equal order made before, or the ``order`` of its trie, so that the tokens need not be
    sorted. It is checked against the tokens, so no other order is taken.

    Raises: VocabularyError if it is not the order of these tokens.
    Cost: linear in the bytes; 128,000 tokens take about 8 ms, with their order 3 ms.
    """

    def __cinit__(self, TokenBytes token_bytes not None, data=None):
        cdef const uint8_t* found
        cdef Py_ssize_t size
        self.token_bytes = token_bytes
        if data is None:
            with nogil:
                sort_ids(token_bytes, self.sorted_ids)
            self.ids, self.count = self.sorted_ids.data(), self.sorted_ids.size()
        else:
            self.owner = block_owner(data, &found, &size)
            if size % 4:
                raise VocabularyError("not the trie of this vocabulary")
            self.ids, self.count = <const TokenId*>found, <size_t>size // 4
        with nogil:
            self.nodes = count_nodes(token_bytes, self.ids, self.count, self.shared)
        if not self.nodes:
            raise VocabularyError("not the trie of this vocabulary")

    @property
    def data(self):
        """The ids as int32."""
        return PyBytes_FromStringAndSize(<const char*>self.ids, 4 * self.count)


@cython.final
cdef class Trie:
    """A trie of the tokens of a vocabulary; immutable.

    ``token_bytes``: those without bytes are left out. Several ids may share a node. ``order``:
    theirs, if it is known. Other threads run meanwhile.

    Raises: VocabularyError if it is the order of other tokens.
    Cost: linear in the bytes; 128,000 tokens take about 25 ms, with their order about 15 ms.
    """

    def __cinit__(self, TokenBytes token_bytes not None, TokenOrder order=None):
        if order is None:
            order = TokenOrder(token_bytes)
        if order.token_bytes is not token_bytes:
            raise VocabularyError("not the order of these tokens")
        self.owner = trie_block(order)
        self.lay_out()
        with nogil:
            self.link_kids()
            summarize_subtrees(
                self.nodes,
                self.max_depth,
                self.depth,
                self.end,
                self.token_first,
                self.byte,
                self.summary_of,
                self.summaries,
                self.characters,
                self.incomplete,
            )
        self.character_groups = CharacterGroups(token_bytes)
        with nogil:
            self.character_groups.find(
                self.nodes,
                self.depth,
                self.token_first,
                self.tokens,
                self.byte,
                self.max_depth,
                self.characters.data(),
            )

    cdef int lay_out(self) except -1:
        """Set the pointers to the arrays in the block."""
        cdef const int32_t* words
        cdef int64_t n, t
        self.data = <const uint8_t*>PyBytes_AS_STRING(self.owner)
        self.nbytes = len(self.owner)
        words = <const int32_t*>self.data
        n, t, self.max_depth = words[0], words[1], words[2]
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

    def __len__(self):
        """Return the number of nodes, the root included."""
        return self.nodes

    @property
    def block(self):
        """The memory, read-only."""
        return block_view(self.owner, self.data, self.nbytes)

    @property
    def order(self):
        """The ids of the tokens by their bytes, then by id, as int32; read-only."""
        return block_view(self.owner, <const uint8_t*>self.tokens, 4 * <Py_ssize_t>self.token_count)


cdef inline size_t block_size(int64_t nodes, int64_t tokens) noexcept nogil:
    return HEADER + 4 * (4 * nodes + 1 + tokens) + nodes


cdef bytes trie_block(TokenOrder order):
    """Build the arrays with one pass over the sorted tokens."""
    block = PyBytes_FromStringAndSize(NULL, block_size(order.nodes, order.count))
    cdef int32_t* words = <int32_t*>PyBytes_AS_STRING(block)
    memset(words, 0, HEADER)
    with nogil:
        fill_block(words, order.token_bytes, order)
    return block


cdef int fill_block(int32_t* words, TokenBytes token_bytes, TokenOrder order) except -1 nogil:
    """Write all words of the arrays."""
    cdef const TokenId* ids = order.ids
    cdef const int32_t* shared = order.shared.data()
    cdef int32_t nodes = <int32_t>order.nodes
    cdef size_t count = order.count
    cdef int32_t* arrays = words + HEADER // 4
    cdef NodeId* end = <NodeId*>arrays
    cdef NodeId* parent = <NodeId*>(arrays + nodes)
    cdef int32_t* token_first = arrays + 2 * <size_t>nodes
    cdef TokenId* tokens = <TokenId*>(arrays + 3 * <size_t>nodes + 1)
    cdef int32_t* depth = arrays + 3 * <size_t>nodes + 1 + count
    cdef uint8_t* byte = <uint8_t*>(depth + nodes)
    cdef const uint8_t* text
    cdef NodeId node = 1
    cdef int32_t above = 0, length
    cdef vector[NodeId] path
    cdef size_t k
    path.resize(<size_t>token_bytes.longest + 1, 0)
    words[0], words[1], words[2] = nodes, <int32_t>count, token_bytes.longest
    byte[0] = 0
    depth[0] = parent[0] = token_first[0] = 0
    for k in range(count):
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
    token_first[nodes] = <int32_t>count
    return 0
