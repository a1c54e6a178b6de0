# distutils: language = c++
"""The vocabulary as a token trie: a tree of all tokens by their bytes.

The nodes are arrays in depth-first order. So a subtree is a range of nodes, and its tokens are a range of
``tokens``.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, int8_t
from libc.string cimport memcmp, memset
from libcpp.algorithm cimport sort
from libcpp.unordered_map cimport unordered_map

from stackmask.pda.ids cimport NO_SUMMARY
from stackmask.pda.memory.checked_vectors cimport enter, look_up
from stackmask.pda.text cimport UTF8_STATES, utf8_steps
from stackmask.pda.vocabulary.token_bytes cimport block_owner, block_view

from stackmask.pda.errors import VocabularyError

# The tokens of a vocabulary by the sorts of characters that they are made of.

cdef enum:
    NO_SORT = 63    # continuation bytes: the first byte of the character decides the sort


# ------------------------------------------------------------------------------------------------
# Which characters occur in the subtrees of a trie.
#
# Where all characters of a subtree belong to one class, its tokens need not be visited one by one: see
# ``masks.runs.run_tables`` and ``masks.walk.subtree_acceptance``.
# ------------------------------------------------------------------------------------------------


cdef enum:
    WORTH_A_LOOK = 4        # nodes; smaller subtrees get no summary
    MANY_CHARACTERS = 0xFFFF


cdef struct Open:
    # a node whose subtree is being visited
    SubtreeSummary found    # but for what follows, which may be more than it can hold
    NodeId node
    int32_t characters
    int32_t height      # from the root
    int8_t state        # of UTF-8 after the node; -1: the path is not UTF-8
    bint broken         # some path in the subtree is not UTF-8


cdef int summarize_subtrees(
    int32_t nodes,
    int32_t max_depth,
    const int32_t* depth,
    const NodeId* end,
    const int32_t* token_first,
    const uint8_t* byte,
    vector[SummaryId]& summary_of,
    vector[SubtreeSummary]& summaries,
    vector[uint16_t]& characters,
    vector[NodeId]& incomplete,
) except FAILED nogil:
    """Summarize the subtrees of a trie. Cost: a few nanoseconds per node.

    ``summary_of``: node -> index in ``summaries``, or NO_SUMMARY. ``characters``: the number of characters of
    each token, even incomplete ones, in the order of the trie. ``incomplete``: nodes whose tokens end inside
    a character.
    """
    cdef vector[Open] path          # by depth: only open nodes are kept, since most subtrees get no summary
    cdef NodeId i
    cdef int32_t d, above = 0, t, needed, state
    cdef size_t most = 0
    cdef const int8_t* steps = utf8_steps()
    cdef Open* at
    cdef Open* parent
    path.resize(<size_t>max_depth + 1)
    memset(&path[0], 0, sizeof(Open))
    characters.resize(token_first[nodes])
    summary_of.resize(nodes, NO_SUMMARY)
    for i in range(1, nodes):
        most += end[i] - i >= WORTH_A_LOOK
    summaries.reserve(most)  # growing would touch twice the memory
    for i in range(1, nodes):
        d = depth[i]
        while above >= d:
            close_subtree(&path[above], i, byte, summary_of, summaries)
            above -= 1
        above = d - 1
        parent = &path[above]
        state = steps[256 * parent.state + byte[i]] if parent.state >= 0 else -1
        needed = parent.characters + (state >= 0)
        for t in range(token_first[i], token_first[i + 1]):
            characters[t] = <uint16_t>min(needed, MANY_CHARACTERS)
        if state > 0 and token_first[i] < token_first[i + 1]:
            incomplete.push_back(i)
        if i + 1 == nodes or depth[i + 1] <= d:
            add_byte(&parent.found, byte[i])  # a leaf, as most nodes are
            parent.height = max(parent.height, needed)
            parent.broken |= state < 0
            continue
        above = d
        at = &path[d]
        memset(at, 0, sizeof(Open))
        at.node = i
        at.state = <int8_t>state
        at.broken = state < 0
        at.characters = parent.characters + (state == 0)
        at.height = needed
    while above > 0:
        close_subtree(&path[above], nodes, byte, summary_of, summaries)
        above -= 1
    return 0


cdef inline void add_byte(SubtreeSummary* summary, uint8_t byte) noexcept nogil:
    """Add the byte of a child."""
    if byte < 0x80:
        summary.ascii[byte >> 6] |= <uint64_t>1 << (byte & 63)
    elif byte >= 0xC0:
        summary.leads |= <uint64_t>1 << (byte - 0xC0)


cdef inline int close_subtree(
    Open* at,
    NodeId end,
    const uint8_t* byte,
    vector[SummaryId]& summary_of,
    vector[SubtreeSummary]& summaries,
) except FAILED nogil:
    """Store the summary of a subtree, and add it to its parent's summary, which precedes it in memory."""
    cdef SubtreeSummary* above = &(at - 1).found
    above.ascii[0] |= at.found.ascii[0]
    above.ascii[1] |= at.found.ascii[1]
    above.leads |= at.found.leads
    (at - 1).height = max((at - 1).height, at.height)
    above.nested += at.found.nested
    if at.state == 0 and end > at.node + 1:
        above.nested += end - at.node
    (at - 1).broken |= at.broken
    add_byte(above, byte[at.node])
    # `characters` cannot hold the numbers of these tokens, so the subtree gets no summary
    if at.height >= MANY_CHARACTERS:
        return 0
    if end - at.node >= WORTH_A_LOOK and not at.broken and at.state == 0:
        summary_of[at.node] = <int32_t>summaries.size()
        at.found.characters = <uint16_t>at.characters
        at.found.height = <uint16_t>(at.height - at.characters)
        summaries.push_back(at.found)
    return 0


# ------------------------------------------------------------------------------------------------
# The tokens of a vocabulary, grouped by the sorts of characters that they are made of.
#
# Which tokens are runs of a class X is a question about characters (see ``masks.runs.run_tables``). A
# vocabulary of 128,000 tokens has only some hundreds of different sets of sorts. So the tokens of a new class
# are collected from whole groups. Only groups with a sort that is partly in X are searched token by token.
# Each group is ordered by the number of characters, so the tokens of at most n characters come first.
#
# The module also lists the nodes of the trie by their byte. Where a run of X ends before a rare byte, these
# places are found from the nodes with this byte, upwards. No nodes are listed for the most frequent bytes.
# ------------------------------------------------------------------------------------------------


cdef enum:
    # the sorts of bytes; from FIRST_MARK on, each punctuation character of ASCII is a sort
    LOW_HEX = 0
    LOW = 1
    HIGH_HEX = 2
    HIGH = 3
    DIGIT = 4
    BLANK = 5
    TAB = 6
    LINE_FEED = 7
    RETURN = 8
    CONTROL = 9
    FIRST_MARK = 10
    TWO_BYTES = 50          # characters of two bytes, by their first byte
    THREE_BYTES = 51
    FOUR_BYTES = 52
    NOT_UTF8 = 53           # the token is not UTF-8
    LONG = 54               # the token has more characters than are counted
    MOST_CHARACTERS = 0xFFFE
    COUNTED = 16            # `ends` is kept for numbers of characters less than this,
    MOST_GROUPS = 4096      # ... if there are at most so many groups, as in all vocabularies in use
    FEW_NODES = 4096        # the nodes of a byte that has more are not kept

cdef uint8_t[256] SORTS


cdef int name_sorts() except FAILED nogil:
    cdef int32_t b, mark = FIRST_MARK
    for b in range(256):
        if b >= 0x80:
            SORTS[b] = NO_SORT
            if b >= 0xC0:
                SORTS[b] = TWO_BYTES if b < 0xE0 else THREE_BYTES if b < 0xF0 else FOUR_BYTES
        elif c"0" <= b <= c"9":
            SORTS[b] = DIGIT
        elif c"a" <= b <= c"z":
            SORTS[b] = LOW_HEX if b <= c"f" else LOW
        elif c"A" <= b <= c"Z":
            SORTS[b] = HIGH_HEX if b <= c"F" else HIGH
        elif b == c"\t":
            SORTS[b] = TAB
        elif b == c"\n":
            SORTS[b] = LINE_FEED
        elif b == c"\r":
            SORTS[b] = RETURN
        elif b < c" " or b == 0x7F:
            SORTS[b] = CONTROL
        elif b == c" ":
            SORTS[b] = BLANK
        else:
            SORTS[b] = <uint8_t>mark
            mark += 1
    return 0


name_sorts()


cdef struct Path:
    # the path to a node of the trie
    uint64_t sorts      # of its bytes
    int32_t state       # of UTF-8; -1: it is not UTF-8
    int32_t count       # its whole characters
    GroupId group       # of tokens that spell it, or -1


@cython.final
cdef class CharacterGroups:
    """The tokens of one vocabulary, grouped by the sorts of their characters; immutable after ``find``."""

    def __cinit__(self, TokenBytes token_bytes not None):
        self.token_bytes = token_bytes

    cdef int find(
        self,
        int32_t nodes,
        const int32_t* depth,
        const int32_t* token_first,
        const TokenId* tokens,
        const uint8_t* byte,
        int32_t max_depth,
        const uint16_t* characters,
    ) except FAILED nogil:
        """Group the tokens of a trie. Cost: a few nanoseconds per node.

        ``characters``: the number of characters of each token, even incomplete ones, in the order of the
        trie.
        """
        cdef vector[Path] path          # by depth
        cdef vector[GroupId] group_of   # by token, in the order of the trie
        cdef unordered_map[uint64_t, GroupId] known
        cdef NodeId n
        cdef int32_t t, s, k
        cdef int32_t most = 0, total = token_first[nodes]
        cdef Path* at
        cdef const Path* before
        cdef const int8_t* steps = utf8_steps()
        path.resize(<size_t>max_depth + 1)
        path[0].sorts = 0
        path[0].state = path[0].count = 0
        path[0].group = -1
        group_of.resize(total)
        for n in range(1, nodes):
            before = &path[depth[n] - 1]
            at = &path[depth[n]]
            s = steps[256 * before.state + byte[n]] if before.state >= 0 else -1
            at.state = s
            at.count = before.count + (s == 0)
            at.sorts = before.sorts | <uint64_t>1 << SORTS[byte[n]]
            if SORTS[byte[n]] == NO_SORT:
                at.sorts = before.sorts
            if s < 0:
                at.sorts |= <uint64_t>1 << NOT_UTF8
            if at.count >= MOST_CHARACTERS:
                at.sorts |= <uint64_t>1 << LONG
            at.group = before.group if at.sorts == before.sorts else -1
            if token_first[n] == token_first[n + 1]:
                continue
            if at.group < 0:
                at.group = look_up(known, at.sorts, -1)
                if at.group < 0:
                    at.group = <int32_t>self.sorts_of.size()
                    enter(known, at.sorts, at.group)
                    self.sorts_of.push_back(at.sorts)
            for t in range(token_first[n], token_first[n + 1]):
                group_of[t] = at.group
        self.sort_tokens(tokens, characters, group_of)
        most = 0
        for k in range(total):
            most = max(most, tokens[k])
        self.find_ends()
        self.row.resize((most >> 5) + 1, 0)
        for k in range(total):
            self.row[tokens[k] >> 5] |= <uint32_t>1 << (tokens[k] & 31)
        return self.find_nodes(nodes, byte)

    cdef int find_ends(self) except FAILED nogil:
        """Store the end of the tokens with few characters in each group, since bounded slices need all
        groups.
        """
        cdef int32_t n, k, groups = <int32_t>self.sorts_of.size()
        cdef GroupId g
        if groups > MOST_GROUPS:
            return 0
        self.ends.resize(groups * COUNTED)
        for g in range(groups):
            k = self.first[g]
            for n in range(COUNTED):
                while k < self.first[g + 1] and self.characters[k] <= n:
                    k += 1
                self.ends[n * groups + g] = k
        return 0

    cdef int find_nodes(self, int32_t nodes, const uint8_t* byte) except FAILED nogil:
        """List the nodes by their bytes, for bytes with few nodes."""
        cdef int32_t[256] count
        cdef NodeId n
        cdef int32_t b
        for b in range(256):
            count[b] = 0
        for b in range(4):
            self.frequent[b] = 0
        for n in range(1, nodes):
            count[byte[n]] += 1
        self.node_first[0] = 0
        for b in range(256):
            if count[b] > FEW_NODES:
                self.frequent[b >> 6] |= <uint64_t>1 << (b & 63)
                count[b] = 0
            self.node_first[b + 1] = self.node_first[b] + count[b]
            count[b] = self.node_first[b]
        self.nodes.resize(self.node_first[256])
        for n in range(1, nodes):
            b = byte[n]
            if not (self.frequent[b >> 6] >> (b & 63)) & 1:
                self.nodes[count[b]] = n
                count[b] += 1
        return 0

    cdef int sort_tokens(
        self, const TokenId* tokens, const uint16_t* characters, vector[GroupId]& group_of
    ) except FAILED nogil:
        """Sort the tokens by group, then by characters. The sort is stable.

        A group has one key more than its longest token has characters. So all groups together have few more
        keys than the tokens have bytes.
        """
        cdef vector[int32_t] key, next  # by group: its first key; by key: where its next token goes
        cdef int32_t total = <int32_t>group_of.size(), t, at
        cdef size_t k
        cdef GroupId g
        key.resize(self.sorts_of.size() + 1, 0)
        for t in range(total):
            g = group_of[t]
            key[g + 1] = max(key[g + 1], <int32_t>characters[t] + 1)
        for k in range(1, key.size()):
            key[k] += key[k - 1]
        next.resize(<size_t>key.back() + 1, 0)
        for t in range(total):
            next[key[group_of[t]] + characters[t] + 1] += 1
        for k in range(1, next.size()):
            next[k] += next[k - 1]
        self.first.resize(key.size())
        for k in range(key.size()):
            self.first[k] = next[key[k]]
        self.tokens.resize(total)
        self.characters.resize(total)
        for t in range(total):
            at = next[key[group_of[t]] + characters[t]]
            next[key[group_of[t]] + characters[t]] = at + 1
            self.tokens[at] = tokens[t]
            self.characters[at] = characters[t]
        return 0

    cdef int compare_sorts(
        self,
        const int16_t* table,
        int32_t states,
        const uint64_t* used,
        const uint64_t* single,
        uint64_t leads,
        ClassSorts* found,
    ) except FAILED nogil:
        """Compare the sorts of bytes with a class X, given by its automaton.

        ``used``: the bytes of X. ``single``: its ASCII characters. ``leads``: the bytes from 0xC0 on for
        which X has all characters that begin with them.
        """
        cdef int32_t b, kind
        cdef const int8_t* steps = utf8_steps()
        found.inside = found.outside = ~<uint64_t>0
        found.begins = found.opens = 0
        for b in range(256):
            kind = SORTS[b]
            if kind == NO_SORT:
                continue
            if (used[b >> 6] >> (b & 63)) & 1:
                found.outside &= ~(<uint64_t>1 << kind)
            if table[b] >= 0:
                found.begins |= <uint64_t>1 << kind
            if table[b] > 0:
                found.opens |= <uint64_t>1 << kind
            if b < 0x80:
                if not (single[b >> 6] >> (b & 63)) & 1:
                    found.inside &= ~(<uint64_t>1 << kind)
            # other bytes begin no character, and their tokens have the sort NOT_UTF8
            elif steps[b] > 0 and not (leads >> (b - 0xC0)) & 1:
                found.inside &= ~(<uint64_t>1 << kind)
        found.inside &= ~(<uint64_t>1 << NOT_UTF8 | <uint64_t>1 << LONG)
        found.outside &= ~(<uint64_t>1 << LONG)
        found.begins |= <uint64_t>1 << LONG
        found.opens &= ~found.inside
        # characters of ASCII alone are whole ones
        if used[2] | used[3] and not self.is_utf8(table, states):
            found.outside &= ~(<uint64_t>1 << NOT_UTF8)
            found.opens |= <uint64_t>1 << NOT_UTF8
        return 0

    cdef bint is_utf8(self, const int16_t* table, int32_t states) except FAILED nogil:
        """Return whether every character of X is one or more whole characters of UTF-8."""
        cdef vector[uint8_t] seen
        cdef vector[int32_t] queue
        cdef int32_t at, s, u, b
        cdef const int8_t* steps = utf8_steps()
        seen.resize(states * UTF8_STATES, 0)
        queue.push_back(0)
        seen[0] = 1
        while not queue.empty():
            at = queue.back()
            queue.pop_back()
            for b in range(256):
                s = table[256 * (at // UTF8_STATES) + b]
                if s < 0:
                    continue
                u = steps[256 * (at % UTF8_STATES) + b]
                if u < 0 or (s == 0 and u):
                    return False
                if not seen[s * UTF8_STATES + u]:
                    seen[s * UTF8_STATES + u] = 1
                    queue.push_back(s * UTF8_STATES + u)
        return True

    cdef int32_t needed(self, TokenId token, const int16_t* table) noexcept nogil:
        """Return the number of characters of X in a token, even incomplete ones; -1 if it is not a run of X.
        """
        cdef const uint8_t* text = self.token_bytes.blob + self.token_bytes.start[token]
        cdef uint32_t k
        cdef int32_t state = 0, count = 0
        for k in range(self.token_bytes.length(token)):
            state = table[256 * state + text[k]]
            if state < 0:
                return -1
            count += state == 0
        return count + (state > 0)

    cdef int32_t up_to(self, GroupId group, int32_t high) noexcept nogil:
        """Return the end of the tokens of a group that have at most ``high`` characters."""
        cdef int32_t low, top, middle
        if high < COUNTED and not self.ends.empty():
            return self.ends[high * <int32_t>self.sorts_of.size() + group]
        low = self.first[group]
        top = self.first[group + 1]
        if low < top and self.characters[top - 1] <= high:
            return top
        while low < top:
            middle = (low + top) // 2
            if self.characters[middle] <= high:
                low = middle + 1
            else:
                top = middle
        return low


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


cdef int sort_ids(TokenBytes token_bytes, vector[TokenId]& ids) except FAILED nogil:
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
    """Return the length of the common prefix of two texts, at most ``n``."""
    cdef uint32_t i = 0
    while i < n and x[i] == y[i]:
        i += 1
    return i


cdef int64_t count_nodes(
    TokenBytes token_bytes, const TokenId* ids, size_t count, vector[int32_t]& shared
) except FAILED nogil:
    """Return the number of nodes of the trie of some tokens; 0 if they are incomplete or unsorted.

    ``shared``: receives the length of each token's common prefix with its predecessor.
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

    ``data``: the data of an equal existing order, or the ``order`` of its trie, so that the tokens need not
    be sorted. They are checked against the tokens, so no other order is accepted.

    Raises: VocabularyError if ``data`` is not the order of these tokens.
    Cost: linear in the bytes; 128,000 tokens take about 8 ms, with their order 3 ms.
    """

    cdef TokenBytes token_bytes
    cdef bytes owner                    # the memory of `ids`, or None if they were sorted here
    cdef vector[TokenId] sorted_ids
    cdef const TokenId* ids
    cdef size_t count
    cdef vector[int32_t] shared         # the first bytes that each token has in common with the one before it
    cdef int64_t nodes                  # of the trie

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

    ``token_bytes``: empty tokens are excluded. Several ids may share a node. ``order``: the order of the
    tokens, if known. Other threads can run meanwhile.

    Raises: VocabularyError if ``order`` is the order of other tokens.
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

    cdef int lay_out(self) except FAILED:
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

    cdef int link_kids(self) except FAILED nogil:
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
        """Return the number of nodes, including the root."""
        return self.nodes

    @property
    def block(self):
        """The block of memory, read-only."""
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


cdef int fill_block(int32_t* words, TokenBytes token_bytes, TokenOrder order) except FAILED nogil:
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
