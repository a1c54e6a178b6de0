# distutils: language = c++
"""The tokens of a vocabulary, grouped by the sorts of characters that they are made of.

Which tokens are runs of a class X is a question about characters (see ``masks.runs.run_tables``). A
vocabulary of 128,000 tokens has only some hundreds of different sets of sorts. So the tokens of a new class
are collected from whole groups. Only groups with a sort that is partly in X are searched token by token.
Each group is ordered by the number of characters, so the tokens of at most n characters come first.

The module also lists the nodes of the trie by their byte. Where a run of X ends before a rare byte, these
places are found from the nodes with this byte, upwards. No nodes are listed for the most frequent bytes.
"""

cimport cython
from libcpp.unordered_map cimport unordered_map

from stackmask.pda.text.utf8 cimport UTF8_STATES, utf8_steps
from stackmask.pda.memory.checked_vectors cimport enter, look_up

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


cdef int name_sorts() except -1 nogil:
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
    """The tokens of one vocabulary by the sorts of their characters; immutable after ``find``."""

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
    ) except -1 nogil:
        """Group the tokens of a trie. Cost: some nanoseconds a node.

        ``characters``: of each token, in the order of the trie; an incomplete one counts.
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

    cdef int find_ends(self) except -1 nogil:
        """Store where the tokens of few characters end in each group, as bounded slices need all groups."""
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

    cdef int find_nodes(self, int32_t nodes, const uint8_t* byte) except -1 nogil:
        """List the nodes by their byte, for bytes with few nodes."""
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
    ) except -1 nogil:
        """Sort the tokens by group, then by characters. The sort is stable.

        A group has as many keys as its longest token has characters, and one more. So all groups together
        have not many more than the tokens have bytes.
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
    ) except -1 nogil:
        """Compare the sorts of bytes with a class X, given by its automaton.

        ``used``: the bytes of X. ``single``: its ASCII characters. ``leads``: the bytes from 0xC0 such that X
        has all characters that begin with them.
        """
        cdef int32_t b, sort
        cdef const int8_t* steps = utf8_steps()
        found.inside = found.outside = ~<uint64_t>0
        found.begins = found.opens = 0
        for b in range(256):
            sort = SORTS[b]
            if sort == NO_SORT:
                continue
            if (used[b >> 6] >> (b & 63)) & 1:
                found.outside &= ~(<uint64_t>1 << sort)
            if table[b] >= 0:
                found.begins |= <uint64_t>1 << sort
            if table[b] > 0:
                found.opens |= <uint64_t>1 << sort
            if b < 0x80:
                if not (single[b >> 6] >> (b & 63)) & 1:
                    found.inside &= ~(<uint64_t>1 << sort)
            # other bytes begin no character, and their tokens have the sort NOT_UTF8
            elif steps[b] > 0 and not (leads >> (b - 0xC0)) & 1:
                found.inside &= ~(<uint64_t>1 << sort)
        found.inside &= ~(<uint64_t>1 << NOT_UTF8 | <uint64_t>1 << LONG)
        found.outside &= ~(<uint64_t>1 << LONG)
        found.begins |= <uint64_t>1 << LONG
        found.opens &= ~found.inside
        # characters of ASCII alone are whole ones
        if used[2] | used[3] and not self.is_utf8(table, states):
            found.outside &= ~(<uint64_t>1 << NOT_UTF8)
            found.opens |= <uint64_t>1 << NOT_UTF8
        return 0

    cdef bint is_utf8(self, const int16_t* table, int32_t states) except -1 nogil:
        """Tell whether every character of X is one or more whole characters of UTF-8."""
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
        """Return how many characters of X a token takes, incomplete ones included; -1: it is no run of X."""
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
