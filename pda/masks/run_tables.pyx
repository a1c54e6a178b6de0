# distutils: language = c++
"""Run tables: the tokens of a vocabulary by their initial run of characters of one class.

In a state X{m,n} continuation, X is one character of a string, a name or whitespace. Nearly all allowed
tokens are runs of X, and only X determines whether a token is a run. So the tokens that consist of a run are
found once, and ordered by their number of characters: see ``slices``. From the other tokens, only the
suffixes after the run must be walked, from the continuation. These suffixes are merged into suffix tries.
X must be a *prefix code*: no string of X is the beginning of another one. So a text can be split into
characters of X in only one way.
For the whole vocabulary, the runs are collected from character groups, and the places after runs are found
from the nodes with the next byte. So a new class of characters costs no pass over the trie. A subtree or a
suffix trie takes one pass.
"""

cimport cython
from libc.stdint cimport int8_t, uint16_t, uint32_t, uint8_t
from libc.string cimport memcmp, memset
from libcpp.algorithm cimport sort

from stackmask.pda.ids cimport FAILED, ID_FAILED, NO_RUN, NO_SUMMARY, SummaryId
from stackmask.pda.memory.byte_sets cimport lowest_bit
from stackmask.pda.memory.hash_tables cimport NO_VALUE, mix
from stackmask.pda.terms.term_table cimport EMPTY, EPS, F_BOOL, F_IMPURE, ClassMap
from stackmask.pda.text cimport UTF8_STATES, utf8_steps
from stackmask.pda.vocabulary.suffix_tries cimport INCLUSIVE, Nodes, node_at, place_at, trie_of
from stackmask.pda.vocabulary.token_trie cimport CharacterGroups, SubtreeSummary, may_be_run


cdef enum:
    MAX_CODE_STATES = 64    # a character needs a few states; longer items are no characters
    LARGE = 4096            # nodes; a larger subtree is not merged, but walked where it is
    MOST_MIXED = 4096       # tokens of groups that are partly in X; for more, a pass over the trie is made
    MERGE_UNITS = 4         # of work to merge a place or a node


@cython.final
cdef class Runs:
    """The run tables of one vocabulary, built on demand. Append-only."""

    def __cinit__(self, TermStore terms, SuffixTries tries):
        self.terms = terms
        self.tries = tries
        self.scanned_run = NO_RUN

    cdef CodeId code_of(self, TermId item) except ID_FAILED nogil:
        """Return the number of the automaton of an item, or NOT_A_CODE if it is not a prefix code. Cached."""
        cdef CodeId found = self.code_index.get(item)
        cdef vector[TermId] states
        cdef Code code
        cdef size_t head = 0, k
        cdef TermId d
        cdef int32_t b, c, base = <int32_t>self.table.size()
        cdef uint64_t used, last
        cdef ClassMap map
        cdef int16_t[256] targets
        cdef int16_t* row
        if found != NO_VALUE:
            return found
        self.code_index.put(item, NOT_A_CODE)
        if self.terms.terms[item].flags & (F_BOOL | F_IMPURE) or self.terms.terms[item].nu.possible():
            return NOT_A_CODE
        states.push_back(item)
        for k in range(4):
            code.first[k] = code.used[k] = code.last[k] = 0
        while head < states.size():
            self.table.resize(base + 256 * (head + 1))
            # a copy: steps make maps, and then the array of maps may move
            map = self.terms.classes.maps[self.terms.classes_of(states[head])]
            for c in range(map.count):
                targets[c] = -1
                d = self.terms.step(states[head], map.byte_of[c])
                if d == EPS:
                    targets[c] = 0
                elif d != EMPTY:
                    if self.terms.terms[d].nu.possible() or states.size() > MAX_CODE_STATES:
                        self.table.resize(base)
                        return NOT_A_CODE
                    for k in range(1, states.size()):
                        if states[k] == d:
                            targets[c] = <int16_t>k
                    if targets[c] < 0:
                        targets[c] = <int16_t>states.size()
                        states.push_back(d)
            row = &self.table[base + 256 * head]
            for k in range(4):
                used = last = 0
                for b in range(64):
                    c = targets[map.of[64 * k + b]]
                    row[64 * k + b] = <int16_t>c
                    used |= <uint64_t>(c >= 0) << b
                    last |= <uint64_t>(c == 0) << b
                code.used[k] |= used
                code.last[k] |= last
            if head == 0:
                for k in range(4):
                    code.first[k] = code.used[k]
            head += 1
        code.table_first = base
        code.states = <int32_t>states.size()
        code.single[0] = code.single[1] = 0
        row = &self.table[base]
        for k in range(2):
            for b in range(64):
                code.single[k] |= <uint64_t>(row[64 * k + b] == 0) << b
        code.leads = whole_leads(&self.table[base])
        self.tries.trie.character_groups.compare_sorts(
            &self.table[base], code.states, code.used, code.single, code.leads, &code.sorts
        )
        self.codes.push_back(code)
        found = <int32_t>self.codes.size() - 1
        self.code_index.put(item, found)
        return found

    cdef bint is_made(self, CodeId code) noexcept nogil:
        """Return whether the run table of the whole vocabulary exists."""
        return self.run_index.get(<uint64_t>code << 32) != NO_VALUE

    cdef int32_t scanned(self, CodeId code, PlaceId place) noexcept nogil:
        """Return the number of nodes to scan for a run table; 0 if it is cached, or built from groups."""
        if self.run_index.get((<uint64_t>code << 32) | <uint64_t>place) != NO_VALUE:
            return 0
        if place == 0 and self.count_mixed(self.tries.trie.character_groups, code) <= MOST_MIXED:
            return 0
        return self.tries.size_of(place)

    cdef int32_t count_mixed(self, CharacterGroups grouped, CodeId code) noexcept nogil:
        """Return the number of tokens in the groups that are partly runs of a class."""
        cdef GroupId g
        cdef int32_t count = 0
        for g in range(<int32_t>grouped.sorts_of.size()):
            if grouped.sorts_of[g] & ~self.codes[code].sorts.inside and may_be_run(
                self.codes[code].sorts, grouped.sorts_of[g]
            ):
                count += grouped.first[g + 1] - grouped.first[g]
        return count

    cdef RunId run_of(self, CodeId code, PlaceId place) except ID_FAILED nogil:
        """Return the run table of the tokens strictly under a place. Cached.

        Cost: for the whole vocabulary, nanoseconds for each group, and tens of nanoseconds for each token of
        a group that is partly in X. For other places, a few nanoseconds for each node; subtrees with only
        characters of X are processed as a whole.
        """
        cdef uint64_t key = (<uint64_t>code << 32) | <uint64_t>place
        cdef RunId found = self.run_index.get(key)
        cdef Run run
        cdef int32_t i
        if found != NO_VALUE:
            return found
        run.code = code
        run.place = place
        run.group_first = run.sorted_first = run.exit_first = NOT_MADE
        run.group_count = run.sorted_count = run.exit_count = run.token_count = 0
        run.most_needed = 0
        if place == 0:
            self.take_groups(self.tries.trie.character_groups, &run)
        self.runs.push_back(run)
        found = <int32_t>self.runs.size() - 1
        if not has_groups(run):
            self.scan(found)
            self.runs[found].token_count = <int32_t>self.found_tokens.size()
            for i in range(<int32_t>self.found_needed.size()):
                self.runs[found].most_needed = max(self.runs[found].most_needed, self.found_needed[i])
            self.find_exits(found)
        self.run_index.put(key, found)
        return found

    cdef bint take_groups(self, CharacterGroups grouped, Run* run) except FAILED nogil:
        """Build a run table from character groups; return False if this costs too much."""
        cdef Code code = self.codes[run.code]
        cdef const int16_t* table = &self.table[code.table_first]
        cdef vector[GroupId] mixed
        cdef vector[uint64_t] sorted_
        cdef GroupId g
        cdef int32_t t, needed, old = <int32_t>self.groups.size()
        cdef size_t k
        if self.count_mixed(grouped, run.code) > MOST_MIXED:
            return False
        for g in range(<int32_t>grouped.sorts_of.size()):
            if not grouped.sorts_of[g] & ~code.sorts.inside:
                self.groups.push_back(g)
                run.token_count += grouped.first[g + 1] - grouped.first[g]
                run.most_needed = max(run.most_needed, <int32_t>grouped.characters[grouped.first[g + 1] - 1])
            elif may_be_run(code.sorts, grouped.sorts_of[g]):
                mixed.push_back(g)
        for k in range(mixed.size()):
            for t in range(grouped.first[mixed[k]], grouped.first[mixed[k] + 1]):
                needed = grouped.needed(grouped.tokens[t], table)
                if needed >= 0:
                    sorted_.push_back((<uint64_t>needed << 32) | <uint64_t>grouped.tokens[t])
        sort(sorted_.begin(), sorted_.end())
        run.group_first = old
        run.group_count = <int32_t>self.groups.size() - old
        run.sorted_first = <int32_t>self.tokens.size()
        run.sorted_count = <int32_t>sorted_.size()
        run.token_count += run.sorted_count
        for k in range(sorted_.size()):
            self.tokens.push_back(<TokenId><int32_t><uint32_t>sorted_[k])
            self.needed.push_back(<int32_t>(sorted_[k] >> 32))
            run.most_needed = max(run.most_needed, <int32_t>(sorted_[k] >> 32))
        return True

    cdef int find_exits(self, RunId run) except FAILED nogil:
        """Store all exits of a run table, by byte; exits with the same byte are in the order of the trie."""
        cdef Run r
        cdef int32_t i
        cdef int32_t offset[257]
        cdef NodeExit at
        cdef Exit exit
        if has_exits(self.runs[run]):
            return 0
        self.scan(run)
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
            at = self.found_exits[i]
            exit.place = place_at(at.node, trie_of(r.place) | INCLUSIVE)
            exit.count = at.count
            exit.byte = at.byte
            self.exits[r.exit_first + offset[exit.byte]] = exit
            offset[exit.byte] += 1
        self.runs[run] = r
        return 0

    cdef int exits_with(
        self, CharacterGroups grouped, RunId run, uint8_t byte, Span* found
    ) except FAILED nogil:
        """Find the exits of a run table that have a byte. Cached.

        If not all exits are known yet and the byte is rare, they are found from the nodes with this byte.
        """
        cdef uint64_t key = (<uint64_t>run << 8) | <uint64_t>byte
        cdef Run* r = &self.runs[run]
        cdef int32_t low, high, middle, known, nodes
        found.first = found.count = 0
        if (self.codes[r.code].first[byte >> 6] >> (byte & 63)) & 1:
            return 0
        # for a table of few tokens, a pass over the trie is faster than looking at so many nodes
        nodes = grouped.node_first[byte + 1] - grouped.node_first[byte]
        if not has_exits(r[0]) and not grouped.is_frequent(byte) and nodes <= r.token_count:
            known = self.exit_index.get(key)
            if known != NO_VALUE:
                found[0] = self.exits_of_byte[known]
                return 0
            found.first = <int32_t>self.exits.size()
            for middle in range(grouped.node_first[byte], grouped.node_first[byte + 1]):
                self.climb(run, grouped.nodes[middle])
            found.count = <int32_t>self.exits.size() - found.first
            self.exit_index.put(key, <int32_t>self.exits_of_byte.size())
            self.exits_of_byte.push_back(found[0])
            return 0
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
        return 0

    cdef int climb(self, RunId run, NodeId node) except FAILED nogil:
        """Add a node of the vocabulary to ``exits`` if the path before it consists of whole characters of X."""
        cdef const int16_t* table = &self.table[self.codes[self.runs[run].code].table_first]
        cdef Code* code = &self.codes[self.runs[run].code]
        cdef NodeId at = self.tries.trie.parent[node]
        cdef int32_t state = 0
        cdef uint8_t byte = self.tries.trie.byte[at]
        cdef Exit exit
        if at and not (code.last[byte >> 6] >> (byte & 63)) & 1:
            return 0
        self.path.clear()
        while at:
            byte = self.tries.trie.byte[at]
            if not (code.used[byte >> 6] >> (byte & 63)) & 1:
                return 0
            self.path.push_back(byte)
            at = self.tries.trie.parent[at]
        exit.count = 0
        while not self.path.empty():
            state = table[256 * state + self.path.back()]
            self.path.pop_back()
            if state < 0:
                return 0
            exit.count += state == 0  # mutant: count-bytes
        if state == 0:
            exit.place = place_at(node, INCLUSIVE)
            exit.byte = self.tries.trie.byte[node]
            self.exits.push_back(exit)
        return 0

    cdef int scan(self, RunId run) except FAILED nogil:
        """Find the tokens and exits of a run table, unless the last pass found them."""
        cdef PlaceId place = self.runs[run].place
        cdef CodeId code = self.runs[run].code
        cdef NodeId node = node_at(place)
        cdef SummaryId t
        cdef const SummaryId* summary_of = NULL
        cdef int32_t before = 0     # characters before the place
        if run == self.scanned_run:
            return 0
        self.scanned_run = NO_RUN
        self.found_tokens.clear()
        self.found_needed.clear()
        self.found_exits.clear()
        self.found_others.clear()
        self.terms.meter.spend(self.tries.size_of(place))
        if not trie_of(place):
            t = self.tries.trie.summary_of[node]
            if node == 0 or t != NO_SUMMARY:
                summary_of = self.tries.trie.summary_of.data()
                before = self.tries.trie.summaries[t].characters if t != NO_SUMMARY else 0
        scan_runs(
            self.tries.nodes(place),
            node,
            &self.table[self.codes[code].table_first],
            self.steps,
            self.found_tokens,
            self.found_needed,
            self.found_exits,
            self.found_others,
            summary_of,
            self.tries.trie.summaries.data(),
            self.tries.trie.characters.data(),
            before,
            self.codes[code],
            not has_groups(self.runs[run]),
        )
        self.scanned_run = run
        return 0

    cdef int sort_tokens(self, RunId run) except FAILED nogil:
        """Store the tokens of a run table by their number of characters."""
        cdef vector[int32_t] offset
        cdef int32_t i, t, first, count = self.runs[run].token_count
        cdef size_t k
        if is_sorted(self.runs[run]):
            return 0
        self.scan(run)
        first = <int32_t>self.tokens.size()
        offset.resize(self.runs[run].most_needed + 2, 0)
        for i in range(count):
            offset[self.found_needed[i] + 1] += 1
        for k in range(1, offset.size()):
            offset[k] += offset[k - 1]
        self.tokens.resize(first + count)
        self.needed.resize(first + count)
        for i in range(count):
            t = first + offset[self.found_needed[i]]
            offset[self.found_needed[i]] += 1
            self.tokens[t] = self.found_tokens[i]
            self.needed[t] = self.found_needed[i]
        self.runs[run].sorted_first = first
        self.runs[run].sorted_count = count
        return 0

    cdef int suffixes_of(self, RunId run, uint8_t byte, Span* found) except FAILED nogil:
        """Find the suffixes after runs that begin with a byte; ``suffix_places`` has their places. Cached."""
        cdef uint64_t key = (<uint64_t>run << 8) | <uint64_t>byte
        cdef int32_t known = self.suffix_index.get(key)
        cdef vector[PlaceId] large, small
        cdef Span at
        cdef PlaceId merged
        cdef int32_t k
        if known != NO_VALUE:
            found[0] = self.suffix_lists[known]
            return 0
        self.exits_with(self.tries.trie.character_groups, run, byte, &at)
        for k in range(at.first, at.first + at.count):
            if self.tries.size_of(self.exits[k].place) > LARGE:
                large.push_back(self.exits[k].place)
            else:
                small.push_back(self.exits[k].place)
        if small.size() > 1:
            merged = self.merge(small)
            small.clear()
            small.push_back(merged)
        found.first = <int32_t>self.suffix_places.size()
        found.count = <int32_t>(large.size() + small.size())
        self.suffix_places.append(large.begin(), large.end())
        self.suffix_places.append(small.begin(), small.end())
        self.suffix_index.put(key, <int32_t>self.suffix_lists.size())
        self.suffix_lists.push_back(found[0])
        return 0

    cdef PlaceId merge(self, vector[PlaceId]& places) except ID_FAILED nogil:
        """Return the place of the suffix trie into which some places are merged.

        Cached: classes that differ in few characters have the same places after their runs.
        """
        cdef Merged entry
        cdef uint64_t h = 67
        cdef int32_t known
        cdef size_t k
        for k in range(places.size()):
            h = mix(h, <uint64_t>places[k])
        while True:
            known = self.merge_index.get(h)
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
        self.terms.meter.spend(MERGE_UNITS * places.size())
        entry.place = self.tries.merge(places)
        self.terms.meter.spend(MERGE_UNITS * self.tries.size_of(entry.place))
        self.merged_places.append(places.begin(), places.end())
        self.merge_index.put(h, <int32_t>self.merged.size())
        self.merged.push_back(entry)
        return entry.place

    cdef int append_suffixes(self, RunId run, const uint64_t* first, vector[PlaceId]& places) except FAILED nogil:
        """Append the places of the suffixes after runs that begin with one of some bytes (4 words)."""
        cdef int32_t b, k
        cdef Span at
        cdef uint64_t left
        for b in range(4):
            left = first[b]
            while left:
                self.suffixes_of(run, <uint8_t>(64 * b + lowest_bit(left)), &at)
                for k in range(at.first, at.first + at.count):
                    places.push_back(self.suffix_places[k])
                left &= left - 1
        return 0

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held, with those of the suffix tries."""
        cdef size_t held = 8 * (self.tokens.size() + self.found_tokens.size()) + 2 * self.table.size()
        held += sizeof(Exit) * self.exits.size() + sizeof(Run) * self.runs.size()
        held += sizeof(Span) * self.suffix_lists.size() + 4 * self.suffix_places.size()
        held += 4 * (self.groups.size() + self.merged_places.size())
        held += sizeof(Span) * self.exits_of_byte.size() + sizeof(Merged) * self.merged.size()
        held += 13 * self.tries.byte.size() + 4 * self.tries.tokens.size()
        return held

    cdef size_t index_nbytes(self) noexcept nogil:
        """Return the bytes held by the indexes of run tables and suffix tries."""
        cdef size_t held = 4 * (self.tries.kid_first.size() + self.tries.kid_node.size())
        held += self.tries.kid_byte.size() + self.tries.twice.size() + self.tries.root_index.nbytes()
        held += self.exit_index.nbytes() + self.merge_index.nbytes() + self.code_index.nbytes()
        held += self.suffix_index.nbytes() + self.run_index.nbytes()
        return held


cdef bint is_whole(const int8_t* steps, const int16_t* table, int32_t utf8, int32_t state) noexcept nogil:
    """Return whether X continues from ``state`` exactly as UTF-8 continues from ``utf8``."""
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


cdef uint64_t whole_leads(const int16_t* table) noexcept nogil:
    """Return the bytes, from 0xC0 on, for which X has all characters of UTF-8 that begin with them."""
    cdef const int8_t* steps = utf8_steps()
    cdef int32_t lead, s
    cdef uint64_t found = 0
    cdef bint whole
    cdef int32_t[UTF8_STATES] tried     # by state of UTF-8: the state of X compared last
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


cdef inline bint is_inside(const SubtreeSummary& summary, const Code& code, int32_t count) noexcept nogil:
    """Return whether a subtree has only characters of X, and ``count`` of them come before it, as in UTF-8."""
    return (
        not summary.ascii[0] & ~code.single[0]
        and not summary.ascii[1] & ~code.single[1]
        and not summary.leads & ~code.leads
        and summary.characters == count
    )


cdef int scan_runs(
    Nodes n,
    NodeId node,
    const int16_t* table,
    vector[ScanStep]& steps,
    vector[TokenId]& tokens,
    vector[int32_t]& needs,
    vector[NodeExit]& exits,
    vector[NodeId]& others,
    const SummaryId* summary_of,
    const SubtreeSummary* summaries,
    const uint16_t* characters,
    int32_t before,
    const Code& code,
    bint with_tokens,
) except FAILED nogil:
    """Run the automaton of X over the nodes under one node.

    Append the tokens that are runs, with their numbers of characters, and the nodes where the run ends:
    ``exits`` after whole characters, ``others`` inside a character. ``summary_of``: the summaries of
    subtrees, or NULL. The tokens of a subtree with only characters of X are added as a whole, with their
    ``characters`` minus those ``before`` the first node. ``with_tokens``: False if only nodes are needed.
    """
    cdef NodeId i
    cdef int32_t t, first, last, state
    cdef uint8_t byte
    cdef ScanStep at
    cdef NodeExit exit
    cdef SummaryId summary
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
                exit.node = i
                exit.count = at.count
                exit.byte = byte
                exits.push_back(exit)
            continue
        if at.kid < at.kid_end and n.kid_node[at.kid] == i + 1:
            # a leaf, since the next child is the next node: many are, and no more need be read
            if with_tokens:
                for t in range(n.token_first[i], n.token_first[i + 1]):
                    tokens.push_back(n.tokens[t])
                    needs.push_back(at.count + 1)
            continue
        if state == 0 and summary_of != NULL:
            summary = summary_of[i]
            if summary != NO_SUMMARY and is_inside(summaries[summary], code, before + at.count + 1):
                if not with_tokens:
                    continue
                first = n.token_first[i]
                last = n.token_first[n.end[i]]
                tokens.insert(tokens.end(), n.tokens + first, n.tokens + last)
                for t in range(first, last):
                    needs.push_back(characters[t] - before)
                continue
        # an incomplete character counts
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
