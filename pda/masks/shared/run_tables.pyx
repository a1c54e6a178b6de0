# distutils: language = c++
"""Runs: the tokens of a vocabulary by the characters of one kind that they begin with.

In a state X{m,n} rest, where X is one character (of a string, of a name, a blank), nearly all tokens that may
come are runs of X, and which they are depends on X alone. One pass over the trie finds, for every token, the
whole characters of X it begins with: tokens that are nothing else are a *slice*, by their length in
characters; of the others, what is left behind the run (merged: see ``remainders``) is all that ``rest`` has
to be walked over.

X must be a *prefix code*: no string of X begins another one, so that a text is cut into characters in one
way.

Of the whole vocabulary, tokens that are runs are put together from groups of tokens of the same kinds of
characters (``kinds``), and the places behind runs are found from the byte that follows, so that a new class
of characters costs what it is made of and not a pass.
"""

cimport cython
from libc.stdint cimport int8_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcmp, memset
from libcpp.algorithm cimport sort

from stackmask.pda.text.utf8 cimport UTF8_STATES, utf8_steps
from stackmask.pda.vocabulary.subtree_summary cimport SubtreeSummary
from stackmask.pda.terms.term_table cimport EMPTY, EPS, F_BOOL, F_IMPURE, ClassMap
from stackmask.pda.vocabulary.character_groups cimport CharacterGroups, may_be
from stackmask.pda.vocabulary.suffix_tries cimport IN_FOREST, INCLUSIVE, Nodes
from stackmask.pda.memory.hash_tables cimport (
    NO_VALUE,
    ids_nbytes,
    map_free,
    map_get,
    map_init,
    map_nbytes,
    map_put,
    mix,
)
from stackmask.pda.memory.byte_sets cimport lowest_bit
from stackmask.pda.vocabulary.token_trie cimport Trie

cdef enum:
    MAX_CODE_STATES = 64    # characters have a few; longer items are no characters
    LARGE = 4096            # nodes; a larger subtree is walked where it is instead of being merged
    MOST_MIXED = 4096       # tokens of kinds that X has in part; with more the trie is cut


@cython.final
cdef class Runs:
    """The runs of one vocabulary, made when they are first asked for. Append-only."""

    def __cinit__(self, TermStore terms, SuffixTries forest):
        self.terms = terms
        self.forest = forest
        self.cut_run = -1
        map_init(&self.code_index)
        map_init(&self.run_index)
        map_init(&self.remainder_index)
        map_init(&self.exit_index)
        map_init(&self.merge_index)

    def __dealloc__(self):
        map_free(&self.code_index)
        map_free(&self.run_index)
        map_free(&self.remainder_index)
        map_free(&self.exit_index)
        map_free(&self.merge_index)

    cdef int32_t code_of(self, int32_t item) except -2:
        """Return the automaton of an item that is a prefix code, or NOT_A_CODE. Remembered."""
        cdef int32_t found = map_get(&self.code_index, item)
        cdef vector[int32_t] states
        cdef Code code
        cdef size_t head = 0, k
        cdef int32_t d, b, c, base = <int32_t>self.table.size()
        cdef ClassMap map
        cdef int16_t[256] targets
        cdef int16_t* row
        if found != NO_VALUE:
            return found
        map_put(&self.code_index, item, NOT_A_CODE)
        if self.terms.terms[item].flags & (F_BOOL | F_IMPURE) or self.terms.terms[item].nu >= 0:
            return NOT_A_CODE
        states.push_back(item)
        for k in range(4):
            code.first[k] = code.used[k] = code.last[k] = 0
        while head < states.size():
            self.table.resize(base + 256 * (head + 1))
            # steps make maps, and these move
            map = self.terms.maps[self.terms.classes_of(states[head])]
            for c in range(map.count):
                targets[c] = -1
                d = self.terms.step(states[head], map.byte_of[c])
                if d == EPS:
                    targets[c] = 0
                elif d != EMPTY:
                    if self.terms.terms[d].nu >= 0 or states.size() > MAX_CODE_STATES:
                        self.table.resize(base)
                        return NOT_A_CODE
                    for k in range(1, states.size()):
                        if states[k] == d:
                            targets[c] = <int16_t>k
                    if targets[c] < 0:
                        targets[c] = <int16_t>states.size()
                        states.push_back(d)
            row = &self.table[base + 256 * head]
            for b in range(256):
                row[b] = targets[map.of[b]]
                code.used[b >> 6] |= <uint64_t>(row[b] >= 0) << (b & 63)
                code.last[b >> 6] |= <uint64_t>(row[b] == 0) << (b & 63)
            if head == 0:
                for k in range(4):
                    code.first[k] = code.used[k]
            head += 1
        code.first_row = base
        code.states = <int32_t>states.size()
        code.single[0] = code.single[1] = 0
        for b in range(128):
            if self.table[base + b] == 0:
                code.single[b >> 6] |= <uint64_t>1 << (b & 63)
        code.leads = self.whole_leads(&self.table[base])
        code.kinds = self.forest.trie.kinds.sort_kinds(
            &self.table[base], code.states, code.single, code.leads
        )
        self.codes.push_back(code)
        found = <int32_t>self.codes.size() - 1
        map_put(&self.code_index, item, found)
        return found

    cdef uint64_t whole_leads(self, const int16_t* table):
        """Return the bytes, from 0xC0, such that X has all the characters of UTF-8 that begin with them."""
        cdef const int8_t* steps = utf8_steps()
        cdef int32_t lead, s
        cdef uint64_t found = 0
        cdef bint whole
        cdef int32_t[UTF8_STATES] tried     # by state of UTF-8: the state of X that was looked at last
        cdef bint[UTF8_STATES] result
        for s in range(UTF8_STATES):
            tried[s] = -1
        for lead in range(0xC0, 0x100):
            s = steps[lead]
            if s < 0 or table[lead] < 0:
                continue
            if tried[s] != table[lead]:
                tried[s] = table[lead]
                result[s] = is_whole(steps, table, s, table[lead])
            whole = result[s]
            if whole:
                found |= <uint64_t>1 << (lead - 0xC0)
        return found

    cdef bint is_made(self, int32_t code) noexcept:
        """Tell whether there is the run table of the whole vocabulary."""
        return map_get(&self.run_index, <uint64_t>code << 32) != NO_VALUE

    cdef int32_t run_of(self, int32_t code, int32_t place) except -1:
        """Return the run table of the tokens strictly below a place. Remembered.

        Cost: of the whole vocabulary, nanoseconds a group, and tens of them a token of a kind that X has in
        part. Else a few nanoseconds a node; subtrees of the vocabulary that are all X are taken whole.
        """
        cdef uint64_t key = (<uint64_t>code << 32) | <uint64_t>place
        cdef int32_t found = map_get(&self.run_index, key)
        cdef Run run
        cdef int32_t i
        if found != NO_VALUE:
            return found
        run.code = code
        run.place = place
        run.group_count = run.sorted_first = run.exit_first = -1
        run.group_first = run.sorted_count = run.exit_count = run.token_count = 0
        run.most_needed = 0
        if place == 0:
            self.take_groups(&run)
        self.runs.push_back(run)
        found = <int32_t>self.runs.size() - 1
        if run.group_count < 0:
            self.cut_again(found)
            self.runs[found].token_count = <int32_t>self.found_tokens.size()
            for i in range(<int32_t>self.found_needs.size()):
                self.runs[found].most_needed = max(self.runs[found].most_needed, self.found_needs[i])
            self.find_exits(found)
        map_put(&self.run_index, key, found)
        return found

    cdef bint take_groups(self, Run* run) except -1:
        """Put the tokens of a run together from groups of the vocabulary; return whether that is cheap."""
        cdef CharacterGroups kinds = self.forest.trie.kinds
        cdef Code code = self.codes[run.code]
        cdef const int16_t* table = &self.table[code.first_row]
        cdef vector[int32_t] mixed
        cdef vector[uint64_t] sorted_
        cdef int32_t g, t, needed, count = 0, old = <int32_t>self.groups.size()
        cdef size_t k
        for g in range(<int32_t>kinds.kinds_of.size()):
            if not kinds.kinds_of[g] & ~code.kinds.inside:
                self.groups.push_back(g)
                run.token_count += kinds.first[g + 1] - kinds.first[g]
                run.most_needed = max(run.most_needed, <int32_t>kinds.characters[kinds.first[g + 1] - 1])
            elif may_be(code.kinds, kinds.kinds_of[g]):
                mixed.push_back(g)
                count += kinds.first[g + 1] - kinds.first[g]
        if count > MOST_MIXED:
            self.groups.resize(old)
            run.token_count = run.most_needed = 0
            return False
        for k in range(mixed.size()):
            for t in range(kinds.first[mixed[k]], kinds.first[mixed[k] + 1]):
                needed = kinds.needed(kinds.tokens[t], table)
                if needed >= 0:
                    sorted_.push_back((<uint64_t>needed << 32) | <uint64_t>kinds.tokens[t])
        sort(sorted_.begin(), sorted_.end())
        run.group_first = old
        run.group_count = <int32_t>self.groups.size() - old
        run.sorted_first = <int32_t>self.tokens.size()
        run.sorted_count = <int32_t>sorted_.size()
        run.token_count += run.sorted_count
        for k in range(sorted_.size()):
            self.tokens.push_back(<int32_t><uint32_t>sorted_[k])
            self.needed.push_back(<int32_t>(sorted_[k] >> 32))
            run.most_needed = max(run.most_needed, <int32_t>(sorted_[k] >> 32))
        return True

    cdef int find_exits(self, int32_t run) except -1:
        """Keep all exits of a run, by byte; those of one byte stay in the order of the trie."""
        cdef Run r
        cdef int32_t i
        cdef int32_t offset[257]
        cdef Exit exit
        if self.runs[run].exit_first >= 0:
            return 0
        self.cut_again(run)
        r = self.runs[run]
        r.exit_count = <int32_t>self.found_exits.size()
        r.exit_first = <int32_t>self.exits.size()
        memset(offset, 0, sizeof(offset))
        for i in range(r.exit_count):
            offset[self.found_exits[i].byte + 1] += 1
        for i in range(256):
            offset[i + 1] += offset[i]
        self.exits.resize(r.exit_first + r.exit_count)
        for i in range(r.exit_count):
            exit = self.found_exits[i]
            exit.place = (exit.place << 2) | (r.place & IN_FOREST) | INCLUSIVE
            self.exits[r.exit_first + offset[exit.byte]] = exit
            offset[exit.byte] += 1
        self.runs[run] = r
        return 0

    cdef Span exits_with(self, int32_t run, uint8_t byte) except *:
        """Return the exits of a run where a byte follows. Remembered.

        Where all are not known yet, those of a byte that few nodes have are found from these nodes.
        """
        cdef CharacterGroups kinds = self.forest.trie.kinds
        cdef uint64_t key = (<uint64_t>run << 8) | <uint64_t>byte
        cdef Run* r = &self.runs[run]
        cdef Span found
        cdef int32_t low, high, middle, known, nodes
        found.first = found.count = 0
        if (self.codes[r.code].first[byte >> 6] >> (byte & 63)) & 1:
            return found
        # a run of few tokens is cut in less time than as many nodes are looked at
        nodes = kinds.node_first[byte + 1] - kinds.node_first[byte]
        if r.exit_first < 0 and not kinds.is_frequent(byte) and nodes <= r.token_count:
            known = map_get(&self.exit_index, key)
            if known != NO_VALUE:
                return self.exits_of_byte[known]
            found.first = <int32_t>self.exits.size()
            for middle in range(kinds.node_first[byte], kinds.node_first[byte + 1]):
                self.climb(run, kinds.nodes[middle])
            found.count = <int32_t>self.exits.size() - found.first
            map_put(&self.exit_index, key, <int32_t>self.exits_of_byte.size())
            self.exits_of_byte.push_back(found)
            return found
        self.find_exits(run)
        r = &self.runs[run]
        low = r.exit_first
        high = r.exit_first + r.exit_count
        while low < high:
            middle = (low + high) // 2
            if self.exits[middle].byte < byte:
                low = middle + 1
            else:
                high = middle
        found.first = low
        while low < r.exit_first + r.exit_count and self.exits[low].byte == byte:
            low += 1
        found.count = low - found.first
        return found

    cdef int climb(self, int32_t run, int32_t node) except -1:
        """Add a node of the vocabulary to ``exits`` if nothing but whole characters of X stands before it."""
        cdef Trie trie = self.forest.trie
        cdef const int16_t* table = &self.table[self.codes[self.runs[run].code].first_row]
        cdef Code* code = &self.codes[self.runs[run].code]
        cdef int32_t at = trie.parent[node], state = 0
        cdef uint8_t byte = trie.byte[at]
        cdef Exit exit
        if at and not (code.last[byte >> 6] >> (byte & 63)) & 1:
            return 0
        self.path.clear()
        while at:
            byte = trie.byte[at]
            if not (code.used[byte >> 6] >> (byte & 63)) & 1:
                return 0
            self.path.push_back(byte)
            at = trie.parent[at]
        exit.count = 0
        while not self.path.empty():
            state = table[256 * state + self.path.back()]
            self.path.pop_back()
            if state < 0:
                return 0
            exit.count += state == 0  # mutant: count-bytes
        if state == 0:
            exit.place = (node << 2) | INCLUSIVE
            exit.byte = trie.byte[node]
            self.exits.push_back(exit)
        return 0

    cdef int cut_again(self, int32_t run) except -1:
        """Find the tokens and exits of a run, unless they are what was found last."""
        cdef int32_t place = self.runs[run].place, code = self.runs[run].code, node = place >> 2, t
        cdef Trie trie = self.forest.trie
        cdef const int32_t* summary_of = NULL
        cdef int32_t before = 0     # characters before the place
        if run == self.cut_run:
            return 0
        self.cut_run = -1
        self.found_tokens.clear()
        self.found_needs.clear()
        self.found_exits.clear()
        self.found_others.clear()
        if not place & IN_FOREST:
            t = trie.summary_of[node]
            if node == 0 or t >= 0:
                summary_of = trie.summary_of.data()
                before = trie.below[t].characters if t >= 0 else 0
        cut(
            self.forest.nodes(place),
            node,
            &self.table[self.codes[code].first_row],
            self.steps,
            self.found_tokens,
            self.found_needs,
            self.found_exits,
            self.found_others,
            summary_of,
            trie.below.data(),
            trie.characters.data(),
            before,
            self.codes[code],
            self.runs[run].group_count < 0,
        )
        self.cut_run = run
        return 0

    cdef int sort_tokens(self, int32_t run) except -1:
        """Keep the tokens of a run by the number of characters that they need."""
        cdef vector[int32_t] offset
        cdef int32_t i, t, first, count = self.runs[run].token_count
        cdef size_t k
        if self.runs[run].sorted_first >= 0:
            return 0
        self.cut_again(run)
        first = <int32_t>self.tokens.size()
        offset.resize(self.runs[run].most_needed + 2, 0)
        for i in range(count):
            offset[self.found_needs[i] + 1] += 1
        for k in range(1, offset.size()):
            offset[k] += offset[k - 1]
        self.tokens.resize(first + count)
        self.needed.resize(first + count)
        for i in range(count):
            t = first + offset[self.found_needs[i]]
            offset[self.found_needs[i]] += 1
            self.tokens[t] = self.found_tokens[i]
            self.needed[t] = self.found_needs[i]
        self.runs[run].sorted_first = first
        self.runs[run].sorted_count = count
        return 0

    cdef int32_t remainders_of(self, int32_t run, uint8_t byte) except -1:
        """Return where ``remainders`` lists the places behind the runs that begin with a byte.

        At the offset stands how many places follow.
        """
        cdef uint64_t key = (<uint64_t>run << 8) | <uint64_t>byte
        cdef int32_t found = map_get(&self.remainder_index, key)
        cdef vector[int32_t] large
        cdef vector[int32_t] small
        cdef Span at
        cdef int32_t k
        if found != NO_VALUE:
            return found
        at = self.exits_with(run, byte)
        for k in range(at.first, at.first + at.count):
            if self.forest.size_of(self.exits[k].place) > LARGE:
                large.push_back(self.exits[k].place)
            else:
                small.push_back(self.exits[k].place)
        if small.size() > 1:
            k = self.merge(small)
            small.clear()
            small.push_back(k)
        found = <int32_t>self.remainders.size()
        self.remainders.push_back(<int32_t>(large.size() + small.size()))
        for k in range(<int32_t>large.size()):
            self.remainders.push_back(large[k])
        for k in range(<int32_t>small.size()):
            self.remainders.push_back(small[k])
        map_put(&self.remainder_index, key, found)
        return found

    cdef int32_t merge(self, vector[int32_t]& places) except -1:
        """Return the place of the remainders at some places laid over each other.

        Remembered: classes that differ in few characters leave the same places behind their runs.
        """
        cdef Merged entry
        cdef uint64_t h = 67
        cdef int32_t known
        cdef size_t k
        for k in range(places.size()):
            h = mix(h, <uint64_t>places[k])
        while True:
            known = map_get(&self.merge_index, h)
            if known == NO_VALUE:
                break
            entry = self.merged[known]
            if entry.count == <int32_t>places.size() and not memcmp(
                self.merged_places.data() + entry.first, places.data(), 4 * places.size()
            ):
                return entry.place
            h += 1
        entry.first = <int32_t>self.merged_places.size()
        entry.count = <int32_t>places.size()
        entry.place = self.forest.merge(places)
        self.merged_places.append(places.begin(), places.end())
        map_put(&self.merge_index, h, <int32_t>self.merged.size())
        self.merged.push_back(entry)
        return entry.place

    cdef int append_remainders(self, int32_t run, const uint64_t* first, vector[int32_t]& places) except -1:
        """Append what is left over after the runs of a run table, where it begins with some bytes (4
        words)."""
        cdef int32_t b, k, at
        cdef uint64_t left
        for b in range(4):
            left = first[b]
            while left:
                at = self.remainders_of(run, <uint8_t>(64 * b + lowest_bit(left)))
                for k in range(self.remainders[at]):
                    places.push_back(self.remainders[at + 1 + k])
                left &= left - 1
        return 0

    cdef size_t nbytes(self) noexcept:
        """Return the bytes held, those of the forest included."""
        cdef size_t held = 8 * (self.tokens.size() + self.found_tokens.size()) + 2 * self.table.size()
        held += sizeof(Exit) * self.exits.size() + 4 * self.remainders.size() + sizeof(Run) * self.runs.size()
        held += 4 * (self.groups.size() + self.merged_places.size())
        held += sizeof(Span) * self.exits_of_byte.size() + sizeof(Merged) * self.merged.size()
        held += 13 * self.forest.byte.size() + 4 * self.forest.tokens.size()
        return held

    cdef size_t index_nbytes(self) noexcept:
        """Return the bytes held by what finds runs and merged remainders."""
        cdef size_t held = 4 * (self.forest.kid_first.size() + self.forest.kid_node.size())
        held += self.forest.kid_byte.size() + self.forest.twice.size() + ids_nbytes(&self.forest.root_index)
        held += map_nbytes(&self.exit_index) + map_nbytes(&self.merge_index) + map_nbytes(&self.code_index)
        held += map_nbytes(&self.remainder_index) + map_nbytes(&self.run_index)
        return held


cdef bint is_whole(const int8_t* steps, const int16_t* table, int32_t utf8, int32_t state) noexcept:
    """Tell whether X goes on from a state as characters of UTF-8 do from another."""
    cdef int32_t[UTF8_STATES] partner   # state of UTF-8 -> state of X
    cdef int32_t[UTF8_STATES] queue
    cdef int32_t b, s, t, at, head = 0, count = 1
    for s in range(UTF8_STATES):
        partner[s] = -1
    partner[0] = 0
    partner[utf8] = state
    queue[0] = utf8
    while head < count:
        at = queue[head]
        head += 1
        for b in range(256):
            s = steps[256 * at + b]
            t = table[256 * partner[at] + b]
            if s < 0 or t < 0:
                if s >= 0 or t >= 0:
                    return False
            elif partner[s] < 0:
                partner[s] = t
                queue[count] = s
                count += 1
            elif partner[s] != t:
                return False
    return True


cdef inline bint is_inside(const SubtreeSummary& below, const Code& code, int32_t count) noexcept:
    """Tell whether all that is below a node behind ``count`` characters of X is X, and counted alike."""
    return (
        not below.ascii[0] & ~code.single[0]
        and not below.ascii[1] & ~code.single[1]
        and not below.leads & ~code.leads
        and below.characters == count
    )


cdef int cut(
    Nodes n,
    int32_t node,
    const int16_t* table,
    vector[CutStep]& steps,
    vector[int32_t]& tokens,
    vector[int32_t]& needs,
    vector[Exit]& exits,
    vector[int32_t]& others,
    const int32_t* summary_of,
    const SubtreeSummary* below,
    const uint16_t* characters,
    int32_t before,
    const Code& code,
    bint with_tokens,
) except -1:
    """Follow the automaton of X over the nodes below one.

    Append the tokens that are runs, with the characters that they need, and the nodes where another byte
    follows: ``exits`` behind whole characters, with how many, ``others`` inside of one. ``summary_of``:
    what is below the nodes, or NULL; where all of that is X, tokens are taken as they stand, with their
    ``characters``, less those ``before`` the first node. ``with_tokens``: else only nodes are looked for.
    """
    cdef int32_t i, t, first, last, state
    cdef uint8_t byte
    cdef CutStep at
    cdef Exit exit
    at.kid = n.kid_first[node]
    at.kid_end = n.kid_first[node + 1]
    at.count = at.state = 0
    steps.clear()
    while True:
        if at.kid == at.kid_end:
            if steps.empty():
                return 0
            at = steps.back()
            steps.pop_back()
            continue
        byte = n.kid_byte[at.kid]
        state = table[256 * at.state + byte]
        i = n.kid_node[at.kid]
        at.kid += 1
        if state < 0:
            if at.state:
                others.push_back(i)
            else:
                exit.place = i
                exit.count = at.count
                exit.byte = byte
                exits.push_back(exit)
            continue
        if at.kid < at.kid_end and n.kid_node[at.kid] == i + 1:
            # a leaf, since the next child follows it: many are, and nothing more need be read of them
            if with_tokens:
                for t in range(n.token_first[i], n.token_first[i + 1]):
                    tokens.push_back(n.tokens[t])
                    needs.push_back(at.count + 1)
            continue
        if state == 0 and summary_of != NULL:
            t = summary_of[i]
            if t >= 0 and is_inside(below[t], code, before + at.count + 1):
                if not with_tokens:
                    continue
                first = n.token_first[i]
                last = n.token_first[n.end[i]]
                tokens.insert(tokens.end(), n.tokens + first, n.tokens + last)
                for t in range(first, last):
                    needs.push_back(characters[t] - before)
                continue
        # a part of a character counts
        if with_tokens:
            for t in range(n.token_first[i], n.token_first[i + 1]):
                tokens.push_back(n.tokens[t])
                needs.push_back(at.count + 1)
        if n.kid_first[i] < n.kid_first[i + 1]:
            steps.push_back(at)
            at.kid = n.kid_first[i]
            at.kid_end = n.kid_first[i + 1]
            at.count += state == 0
            at.state = state
