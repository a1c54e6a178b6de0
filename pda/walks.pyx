# distutils: language = c++
"""Walks: how the masks of local states are made.

One walk of the vocabulary trie from a local state, with the frame below it unknown, splits the tokens:

- allowed whatever is below: kept dense or sparse, whichever is smaller;
- allowed if the frame below is alive under a follow restriction that is still pending when the token ends;
- those that return out of the frame with bytes left over: kept as the places (trie nodes) where the return
  happens, grouped by what is pending there;
- those that run into a question to the semantic state (a dynamic rule, an action that may forbid): kept as
  the places where the question comes up.

Two things keep walks short. Remainders are merged (``remainders``), so that a return state is walked over a
small trie. And where a state is X{m,n} rest, X one character, the tokens that begin with characters of X are
looked up (``runs``): the whole runs are a slice that belongs to X alone, and ``rest`` is walked over what the runs
leave behind, once for all counts; a filter row then takes out the tokens whose run is too short or too long.
"""

cimport cython
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset
from libcpp.algorithm cimport sort, unique

from stackmask.pda.configurations cimport DEAD, READS_STATE, Config, Member
from stackmask.pda.frames cimport BOTTOM
from stackmask.pda.interning cimport ANY_BYTE, EMPTY, EPS, F_TOKEN, K_ALT, K_AND, K_REP, K_SEQ, TOKENS, Term
from stackmask.pda.remainders cimport IN_FOREST, INCLUSIVE, Nodes
from stackmask.pda.runs cimport NOT_A_CODE, Run
from stackmask.pda.semantics cimport KEY_OF_ONE, SEM_SYMBOL
from stackmask.pda.tables cimport (
    NO_VALUE,
    ids_free,
    ids_init,
    ids_put,
    map_free,
    map_get,
    map_init,
    map_put,
    mix,
)

cdef enum:
    RUN_NODES = 512     # a smaller subtree is walked, not cut into runs
    MERGE_NODES = 4096  # a larger subtree is walked where it is, not merged
    SPARSE = 8          # a mask is dense when it has more than width / SPARSE tokens


cdef class MaskWalks:
    """The masks of the grammars of one store, and how they are made."""

    def __cinit__(
        self,
        TermStore terms,
        Semantics semantics,
        ConfigSpace space,
        Trie trie,
        int32_t vocab_size,
        uint64_t max_bytes=1 << 28,
    ):
        self.max_bytes = max_bytes
        self.terms = terms
        self.semantics = semantics
        self.space = space
        self.trie = trie
        self.width = (vocab_size + 31) // 32
        self.bits.resize(self.width, 0)
        self.forest = Forest(trie)
        self.runs = Runs(terms, self.forest)
        self.stack.resize(trie.max_depth + 2, 0)
        ids_init(&self.group_index)
        map_init(&self.keyed_roots)
        map_init(&self.entry_index)
        map_init(&self.children)
        map_init(&self.part_index)
        map_init(&self.slice_index)
        map_init(&self.filter_index)
        map_init(&self.both_index)
        map_init(&self.rest_index)
        self.walks = 0
        self.visited_nodes = 0
        self.entries = 0
        self.drops = 0
        self.masks.push_back(nothing())

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.rows.size()):
            free(self.rows[i])
        ids_free(&self.group_index)
        map_free(&self.keyed_roots)
        map_free(&self.entry_index)
        map_free(&self.children)
        map_free(&self.part_index)
        map_free(&self.slice_index)
        map_free(&self.filter_index)
        map_free(&self.both_index)
        map_free(&self.rest_index)

    def add_token_class(self, tokens):
        """Enter the ids of the next class of special tokens."""
        cdef vector[int32_t] ids
        for token in tokens:
            ids.push_back(token)
        self.class_tokens.push_back(ids)

    cdef int drop(self) except -1:
        """Forget all masks, remainders, runs and configurations of walks: they come back equal when they are needed."""
        cdef size_t i
        cdef int index
        cdef ConfigSpace old = self.space
        for i in range(self.rows.size()):
            free(self.rows[i])
        self.rows.clear()
        self.masks.clear()
        self.sparse_tokens.clear()
        self.pendings.clear()
        self.includes.clear()
        self.groups.clear()
        self.mask_groups.clear()
        self.places.clear()
        self.readers.clear()
        self.key_starts.clear()
        self.roots.clear()
        self.strict_roots.clear()
        self.parts.clear()
        self.first.clear()
        self.split_of.clear()
        self.split_first.clear()
        self.split_count.clear()
        self.split_parts.clear()
        self.plain_of.clear()
        ids_free(&self.group_index)
        ids_init(&self.group_index)
        for index in range(8):
            map_free(self.index_number(index))
            map_init(self.index_number(index))
        self.entries = 0
        self.space = ConfigSpace(
            self.terms, self.semantics, True, old.max_configurations, old.max_members
        )
        self.forest = Forest(self.trie)
        self.runs = Runs(self.terms, self.forest)
        self.masks.push_back(nothing())
        self.drops += 1
        return 0

    cdef KeyMap* index_number(self, int number) noexcept:
        if number == 0:
            return &self.children
        if number == 1:
            return &self.part_index
        if number == 2:
            return &self.slice_index
        if number == 3:
            return &self.filter_index
        if number == 4:
            return &self.both_index
        if number == 5:
            return &self.rest_index
        if number == 6:
            return &self.keyed_roots
        if number == 7:
            return &self.entry_index
        return NULL

    cdef int32_t new_row(self) except -1:
        """Make a row of zeros. Rows have addresses of their own, so that growing never copies them."""
        cdef uint32_t* row = <uint32_t*>malloc(4 * <size_t>self.width + 64)
        if row == NULL:
            raise MemoryError()
        memset(row, 0, 4 * <size_t>self.width)
        self.rows.push_back(row)
        return <int32_t>self.rows.size() - 1

    cdef int32_t intern_group(
        self, int32_t guard, int32_t sem, int32_t run, vector[int32_t]& places
    ) except -1:
        # equal remainders must be one id: else every path through an ambiguous stack makes masks of its own
        cdef Group group
        cdef size_t k
        cdef int32_t id
        cdef uint64_t h = mix(mix(mix(47, <uint32_t>guard), <uint32_t>sem), <uint32_t>run)
        if places.size() > 1:
            # one subtree may lie in another, and both return at one node
            sort(places.begin(), places.end())
            places.erase(unique(places.begin(), places.end()), places.end())
        for k in range(places.size()):
            if places[k] & IN_FOREST:
                # what is merged already has many names: the merged trie of all has one
                self.merge_places(places)
                sort(places.begin(), places.end())
                break
        for k in range(places.size()):
            h = mix(h, <uint32_t>places[k])
        cdef uint32_t tag = <uint32_t>(h >> 16)
        cdef uint64_t pos = tag & self.group_index.mask
        while self.group_index.ids[pos] >= 0:
            if self.group_index.tags[pos] == tag:
                id = self.group_index.ids[pos]
                group = self.groups[id]
                if (
                    group.guard == guard
                    and group.sem == sem
                    and group.run == run
                    and group.place_count == <int32_t>places.size()
                ):
                    k = 0
                    while k < places.size() and self.places[group.place_first + k] == places[k]:
                        k += 1
                    if k == places.size():
                        return id
            pos = (pos + 1) & self.group_index.mask
        group.guard = guard
        group.sem = sem
        group.run = run
        group.place_first = <int32_t>self.places.size()
        group.place_count = <int32_t>places.size()
        group.merged_first = -1
        group.merged_count = 0
        for k in range(places.size()):
            self.places.push_back(places[k])
        id = <int32_t>self.groups.size()
        self.groups.push_back(group)
        ids_put(&self.group_index, pos, tag, id)
        return id

    cdef int merge_places(self, vector[int32_t]& places) except -3:
        """Merge remainders; large ones stay where they are."""
        cdef vector[int32_t] small
        cdef size_t k, n = 0
        for k in range(places.size()):
            if self.forest.size_of(places[k]) > MERGE_NODES:
                places[n] = places[k]
                n += 1
            else:
                small.push_back(places[k])
        places.resize(n)
        if small.size() > 1:
            places.push_back(self.forest.merge(small))
        elif small.size():
            places.push_back(small[0])
        return 0

    cdef int merge_group(self, int32_t group) except -3:
        """Merge the remainders of a group, for walks."""
        cdef Group g = self.groups[group]
        cdef vector[int32_t] places
        cdef int32_t i
        if g.merged_first >= 0:
            return 0
        for i in range(g.place_first, g.place_first + g.place_count):
            places.push_back(self.places[i])
        self.merge_places(places)
        self.groups[group].merged_first = <int32_t>self.places.size()
        self.groups[group].merged_count = <int32_t>places.size()
        for i in range(<int32_t>places.size()):
            self.places.push_back(places[i])
        return 0

    # -- runs ----------------------------------------------------------------------------------------

    cdef int first_of(self, int32_t config, uint64_t* words) except -1:
        """Give the bytes that a configuration of walks can go on with."""
        cdef int32_t k, map, b
        cdef uint64_t found[4]
        if <size_t>config >= self.first.size():
            self.first.resize(self.space.configs.size())
        if not self.first[config].known:
            for k in range(4):
                found[k] = 0
            if self.space.configs[config].row < 0:
                self.space.make_row(config)
            map = self.space.configs[config].map
            for k in range(self.terms.maps[map].count):
                if self.space.step(config, self.terms.maps[map].byte_of[k]) != DEAD:
                    for b in range(256):
                        if self.terms.maps[map].of[b] == k:
                            found[b >> 6] |= <uint64_t>1 << (b & 63)
            if <size_t>config >= self.first.size():
                self.first.resize(self.space.configs.size())
            for k in range(4):
                self.first[config].words[k] = found[k]
            self.first[config].known = True
        for k in range(4):
            words[k] = self.first[config].words[k]
        return 0

    cdef int32_t part_of(self, int32_t state, int32_t sem) except -3:
        """Return how a state may be cut into a run and a rest (see RunPart), or -1. Remembered.

        It may if the end of the run can be seen from the next byte: X is a prefix code, and neither the rest nor
        what follows a return can begin like X.
        """
        cdef uint64_t key = (<uint64_t>sem << 32) | <uint64_t>state
        cdef int32_t found = map_get(&self.part_index, key), p, k
        cdef Term t = self.terms.terms[state]
        cdef Term r
        cdef RunPart part
        cdef Config rest
        cdef uint64_t after[4]
        cdef const uint64_t* guard
        cdef const uint64_t* begin
        if found != NO_VALUE:
            return found
        found = -1
        r = self.terms.terms[t.a] if t.kind == K_SEQ else t
        if r.kind == K_REP and (r.c < 0 or r.c > 1):
            part.code = self.runs.code_of(r.a)
            part.low = r.b
            part.high = r.c
            if part.code != NOT_A_CODE:
                part.ends = 1
                if self.terms.guard_sets.size() > 1:
                    part.ends = self.space.member_ends(state, BOTTOM)
                part.rest = self.space.closed(t.b if t.kind == K_SEQ else EPS, BOTTOM, sem)
                if part.rest > DEAD and part.ends:
                    found = 0
                    rest = self.space.configs[part.rest]
                    begin = &self.runs.codes[part.code].first[0]
                    for p in range(rest.pop_first, rest.pop_first + rest.pop_count):
                        k = self.space.pops[p].guard
                        guard = &self.terms.sets[4 * self.terms.guard_sets[k]]
                        for k in range(4):
                            if guard[k] & begin[k]:
                                found = -1
                        if self.space.pops[p].sem != sem:
                            found = -1
                    if found == 0:
                        self.first_of(part.rest, after)
                        for k in range(4):
                            if after[k] & self.runs.codes[part.code].first[k]:
                                found = -1
        if found == 0:
            found = <int32_t>self.parts.size()
            self.parts.push_back(part)
        map_put(&self.part_index, key, found)
        return found

    cdef int split(self, int32_t config) except -3:
        """Find the members of a configuration that may be cut into runs, and the configuration without them."""
        cdef Config c
        cdef Member m
        cdef Term t
        cdef int32_t i, k, part, rest = config
        cdef size_t old = self.split_of.size()
        cdef vector[int32_t] found
        cdef vector[int32_t] others
        cdef vector[Member] left
        if <size_t>config >= old:
            self.split_of.resize(self.space.configs.size(), -1)
            self.split_first.resize(self.space.configs.size(), 0)
            self.split_count.resize(self.space.configs.size(), 0)
        if self.split_of[config] >= 0:
            return 0
        c = self.space.configs[config]
        for i in range(c.first, c.first + c.count):
            m = self.space.members[i]
            if m.frame != BOTTOM or self.semantics.keeps_bytes(m.sem):
                left.push_back(m)
                continue
            t = self.terms.terms[m.state]
            if t.kind == K_ALT:
                others.clear()
                for k in range(t.b):
                    part = self.part_of(self.terms.kids[t.a + k], m.sem)
                    if part >= 0:
                        found.push_back(part)
                    else:
                        others.push_back(self.terms.kids[t.a + k])
                if <int32_t>others.size() < t.b:
                    if others.empty():
                        continue
                    m.state = self.terms.mk_alt(others, 0)
                left.push_back(m)
            else:
                part = self.part_of(m.state, m.sem)
                if part >= 0:
                    found.push_back(part)
                else:
                    left.push_back(m)
        if found.size():
            rest = DEAD if left.empty() else self.space.of_members(left)
        self.split_first[config] = <int32_t>self.split_parts.size()
        self.split_count[config] = <int32_t>found.size()
        for i in range(<int32_t>found.size()):
            self.split_parts.push_back(found[i])
        self.split_of[config] = rest
        return 0

    cdef int32_t plain_state(self, int32_t state) except -3:
        """Return a state X{m,n} & … rest without what narrows its run; the state itself if it is no such one."""
        cdef Term t = self.terms.terms[state]
        cdef Term both = self.terms.terms[t.a] if t.kind == K_SEQ else t
        cdef int32_t k, kid
        if both.kind != K_AND:
            return state
        for k in range(both.b):
            kid = self.terms.kids[both.a + k]
            if self.terms.terms[kid].kind == K_REP and self.runs.code_of(self.terms.terms[kid].a) != NOT_A_CODE:
                if t.kind == K_SEQ:
                    return self.terms.mk_seq(kid, t.b)
                return kid
        return state

    cdef int32_t plain(self, int32_t config) except -3:
        """Return the configuration without what narrows its runs, if it is all runs then; else itself. Remembered."""
        cdef Config c
        cdef Member m
        cdef vector[Member] members
        cdef int32_t i, state, found = config
        cdef bint changed = False
        if <size_t>config >= self.plain_of.size():
            self.plain_of.resize(self.space.configs.size(), -1)
        if self.plain_of[config] >= 0:
            return self.plain_of[config]
        c = self.space.configs[config]
        for i in range(c.first, c.first + c.count):
            m = self.space.members[i]
            state = m.state
            if m.frame == BOTTOM and not self.semantics.keeps_bytes(m.sem):
                state = self.plain_state(state)
            changed = changed or state != m.state
            m.state = state
            members.push_back(m)
        if changed:
            state = self.space.of_members(members)
            self.split(state)
            if self.split_of[state] == DEAD and self.split_count[state]:
                found = state
        self.plain_of[config] = found
        return found

    cdef int32_t narrow(self, int32_t config, int32_t place, vector[Later]& later, vector[int32_t]& left) except -3:
        """Take from run tables what a configuration allows below a place, as far as that does not narrow its runs.

        The children of the place that begin a run and lead where the plain run leads are left to the tables;
        ``left`` gets the others. Return whether there are tables for it.
        """
        cdef int32_t plain = self.plain(config), i, stop, row, t, node = place >> 2
        cdef size_t k
        cdef Nodes n
        cdef Later piece
        cdef bint runs
        if plain == config:
            return 0
        n = self.forest.nodes(place)
        i = node + 1
        stop = n.end[node]
        while i < stop:
            runs = False
            for t in range(self.split_count[plain]):
                row = self.parts[self.split_parts[self.split_first[plain] + t]].code
                if (self.runs.codes[row].first[n.byte[i] >> 6] >> (n.byte[i] & 63)) & 1:
                    runs = True
            if not runs or self.space.step(config, n.byte[i]) != self.space.step(plain, n.byte[i]):
                left.push_back(i)
            i = n.end[i]
        piece.filter = NO_FILTER
        if left.size():
            piece.filter = self.new_row()
            memset(self.rows[piece.filter], 0xFF, 4 * <size_t>self.width)
            for k in range(left.size()):
                i = left[k]
                for t in range(n.token_first[i], n.token_first[n.end[i]]):
                    self.rows[piece.filter][n.tokens[t] >> 5] &= ~(<uint32_t>1 << (n.tokens[t] & 31))
        piece.place = place
        piece.least = 1
        for t in range(self.split_count[plain]):
            piece.part = self.split_parts[self.split_first[plain] + t]
            later.push_back(piece)
        return 1

    cdef int32_t slice(self, int32_t run, int32_t high) except -3:
        """Return the mask of the tokens that are a run of at most ``high`` characters (the last may be cut)."""
        cdef Run r = self.runs.runs[run]
        cdef uint64_t key
        cdef int32_t found, k, t, low, top, count, whole
        cdef Mask mask = nothing()
        cdef uint32_t* row
        if high < 0 or high > r.most_needed:
            high = r.most_needed
        key = (<uint64_t>run << 16) | <uint64_t>high
        found = map_get(&self.slice_index, key)
        if found != NO_VALUE:
            return found
        low = r.token_first
        top = r.token_first + r.token_count
        while low < top:
            k = (low + top) // 2
            if self.runs.needed[k] <= high:
                low = k + 1
            else:
                top = k
        count = low - r.token_first
        if count == 0:
            found = NO_TOKENS
        else:
            if SPARSE * count > self.width:
                if 2 * count > r.token_count and count < r.token_count:
                    # most of it: take out the rest
                    whole = self.slice(run, -1)
                    mask.dense = self.new_row()
                    row = self.rows[mask.dense]
                    memcpy(row, self.rows[self.masks[whole].dense], 4 * <size_t>self.width)
                    for k in range(low, r.token_first + r.token_count):
                        t = self.runs.tokens[k]
                        row[t >> 5] &= ~(<uint32_t>1 << (t & 31))
                else:
                    mask.dense = self.new_row()
                    row = self.rows[mask.dense]
                    for k in range(r.token_first, low):
                        t = self.runs.tokens[k]
                        row[t >> 5] |= <uint32_t>1 << (t & 31)
            else:
                mask.sparse_first = <int32_t>self.sparse_tokens.size()
                mask.sparse_count = count
                for k in range(r.token_first, low):
                    self.sparse_tokens.push_back(self.runs.tokens[k])
            found = <int32_t>self.masks.size()
            self.masks.push_back(mask)
        map_put(&self.slice_index, key, found)
        return found

    cdef int32_t filter_of(self, int32_t run, int32_t low, int32_t high) except -3:
        """Return the row of the tokens that go on behind a run of ``low`` to ``high`` characters, or NO_FILTER."""
        cdef Run r = self.runs.runs[run]
        cdef uint64_t key
        cdef int32_t found, k, t, i
        cdef Nodes n
        cdef uint32_t* row
        if high < 0 or high > r.most_before:
            high = r.most_before
        if low > r.most_before:
            low = r.most_before + 1
        if low == 0 and high == r.most_before:
            return NO_FILTER
        key = (<uint64_t>run << 32) | (<uint64_t>low << 16) | <uint64_t>high
        found = map_get(&self.filter_index, key)
        if found != NO_VALUE:
            return found
        found = self.new_row()
        row = self.rows[found]
        n = self.forest.nodes(r.place)
        for k in range(r.exit_first, r.exit_first + r.exit_count):
            if low <= self.runs.exits[k].count <= high:
                i = self.runs.exits[k].place >> 2
                for t in range(n.token_first[i], n.token_first[n.end[i]]):
                    row[n.tokens[t] >> 5] |= <uint32_t>1 << (n.tokens[t] & 31)
        map_put(&self.filter_index, key, found)
        return found

    cdef int32_t filter_both(self, int32_t a, int32_t b) except -3:
        """Return the row of the tokens in both filters."""
        cdef uint64_t key
        cdef int32_t found, k
        if a == NO_FILTER or a == b:
            return b
        if b == NO_FILTER:
            return a
        key = (<uint64_t>a << 32) | <uint64_t>b
        found = map_get(&self.both_index, key)
        if found == NO_VALUE:
            found = self.new_row()
            for k in range(self.width):
                self.rows[found][k] = self.rows[a][k] & self.rows[b][k]
            map_put(&self.both_index, key, found)
        return found

    cdef int32_t behind(self, int32_t run, int32_t config, bint strict) except -3:
        """Return the mask of a configuration over what the runs of a run table leave behind."""
        cdef uint64_t key = (((<uint64_t>run << 31) | <uint64_t>config) << 1) | <uint64_t>strict
        cdef int32_t found = map_get(&self.rest_index, key), b, k, at
        cdef vector[int32_t] below
        cdef vector[int32_t] nowhere
        cdef uint64_t words[4]
        if found != NO_VALUE:
            return found
        self.first_of(config, words)
        for b in range(256):
            if (words[b >> 6] >> (b & 63)) & 1:
                at = self.runs.remainders_of(run, <uint8_t>b)
                for k in range(self.runs.remainders[at]):
                    below.push_back(self.runs.remainders[at + 1 + k])
        found = self.walk(config, below, run, nowhere, False, strict)
        map_put(&self.rest_index, key, found)
        return found

    cdef int include_run(self, Later later, bint strict, vector[Include]& out) except -3:
        cdef RunPart part = self.parts[later.part]
        cdef Include piece
        cdef int32_t run = self.runs.run_of(part.code, later.place)
        piece.ends = part.ends
        piece.filter = later.filter
        piece.mask = self.slice(run, part.high)
        if piece.mask != NO_TOKENS:
            out.push_back(piece)
        piece.ends = 1
        piece.mask = self.behind(run, part.rest, strict)
        if part.low < later.least:
            part.low = later.least
        piece.filter = self.filter_both(later.filter, self.filter_of(run, part.low, part.high))
        if piece.mask != NO_TOKENS and part.low <= self.runs.runs[run].most_before:
            out.push_back(piece)
        return 0

    # -- walks ---------------------------------------------------------------------------------------

    cdef int32_t cut_here(
        self, int32_t config, int32_t place, vector[Later]& later, vector[int32_t]& jobs, vector[int32_t]& job_configs
    ) except -3:
        """Leave to run tables what they can tell of the tokens below a place; return the configuration to walk on
        with, or DEAD. Single children that must be walked become jobs."""
        cdef Later piece
        cdef vector[int32_t] left
        cdef int32_t rest
        cdef size_t k
        if not self.space.configs[config].count or (place & IN_FOREST and self.forest.twice[place >> 2]):
            return config
        self.split(config)
        rest = self.split_of[config]
        piece.place = place
        piece.filter = NO_FILTER
        piece.least = 0
        for k in range(<size_t>self.split_count[config]):
            piece.part = self.split_parts[self.split_first[config] + k]
            later.push_back(piece)
        if rest == DEAD or not self.narrow(rest, place, later, left):
            return rest
        for k in range(left.size()):
            jobs.push_back((left[k] << 2) | (place & IN_FOREST) | INCLUSIVE)
            job_configs.push_back(rest)
        return DEAD

    cdef int32_t store_bits(self, int32_t count, Mask* mask) except -3:
        """Keep the tokens in ``bits`` as part of a mask."""
        cdef int32_t k, n
        mask.sparse_first = <int32_t>self.sparse_tokens.size()
        if SPARSE * count > self.width:
            mask.dense = self.new_row()
            memcpy(self.rows[mask.dense], self.bits.data(), 4 * <size_t>self.width)
        elif count:
            for k in range(self.width):
                if self.bits[k]:
                    for n in range(32):
                        if (self.bits[k] >> n) & 1:
                            self.sparse_tokens.push_back(32 * k + n)
            mask.sparse_count = <int32_t>self.sparse_tokens.size() - mask.sparse_first
        return 0

    cdef int32_t walk(
        self,
        int32_t start,
        vector[int32_t]& below,
        int32_t run,
        vector[int32_t]& origin,
        bint with_tokens,
        bint strict,
    ) except -3:
        """Walk some remainders from a configuration over the unknown frame and return the mask.

        ``below``: the places. ``run`` and ``origin``: the same remainders, as a group is to name them if the start
        returns before it consumes anything. ``with_tokens``: special tokens may come first (the walk starts at a token
        boundary). ``strict``: a return below may be forbidden by an action.
        """
        cdef ConfigSpace space = self.space
        cdef int32_t i, c, n, p, t, depth, base, stop, stop_here, node, symbol, place, in_forest, count = 0
        cdef size_t r, k, g
        cdef Config* config
        cdef Config first
        cdef Mask mask = nothing()
        cdef Pending pending
        cdef Nodes nodes
        cdef vector[uint64_t] group_keys
        cdef vector[vector[int32_t]] by_group
        cdef vector[int32_t] group_has_run
        cdef vector[int32_t] own_groups
        cdef vector[uint64_t] late_ends
        cdef vector[vector[int32_t]] late_tokens
        cdef vector[int32_t] readers
        cdef vector[int32_t] key_starts
        cdef vector[int32_t] jobs
        cdef vector[int32_t] job_configs
        cdef vector[Later] for_later
        cdef vector[Include] includes
        cdef uint32_t* bits
        cdef int32_t* stack
        cdef uint64_t visited = 0
        self.walks += 1
        bits = self.bits.data()
        stack = self.stack.data()
        memset(bits, 0, 4 * <size_t>self.width)
        if start == READS_STATE:
            for r in range(below.size()):
                readers.push_back(below[r])
        elif start != DEAD:
            first = space.configs[start]
            for p in range(first.pop_first, first.pop_first + first.pop_count):
                g = group_number(group_keys, by_group, group_has_run, space.pops[p].guard, space.pops[p].sem)
                group_has_run[g] = run != NO_RUN
                for k in range(origin.size()):
                    by_group[g].push_back(origin[k])
            for r in range(below.size()):
                jobs.push_back(below[r])
                job_configs.push_back(start)
            r = 0
            while r < jobs.size():
                place = jobs[r]
                c = job_configs[r]
                r += 1
                in_forest = place & IN_FOREST
                nodes = self.forest.nodes(place)
                node = place >> 2
                stop = nodes.end[node]
                if place & INCLUSIVE:
                    i = node
                    base = nodes.depth[node] - 1
                else:
                    i = node + 1
                    base = nodes.depth[node]
                    if stop - node > RUN_NODES:
                        c = self.cut_here(c, place, for_later, jobs, job_configs)
                        if c == DEAD:
                            continue
                stack[0] = c
                while i < stop:
                    depth = nodes.depth[i] - base
                    c = space.step(stack[depth - 1], nodes.byte[i])
                    if c <= DEAD:
                        if c == READS_STATE:
                            readers.push_back((i << 2) | in_forest | INCLUSIVE)
                        i = nodes.end[i]
                        continue
                    visited += 1
                    config = &space.configs[c]
                    n = nodes.token_first[i + 1] - nodes.token_first[i]
                    if strict and n and not config.count:
                        # tokens that only a return keeps alive: an action below may forbid that return
                        readers.push_back((i << 2) | in_forest | INCLUSIVE)
                        i = nodes.end[i]
                        continue
                    if n:
                        if config.ends & 1:
                            for t in range(nodes.token_first[i], nodes.token_first[i + 1]):
                                n = nodes.tokens[t]
                                bits[n >> 5] |= <uint32_t>1 << (n & 31)
                                count += 1
                        else:
                            k = late_number(late_ends, late_tokens, config.ends)
                            for t in range(nodes.token_first[i], nodes.token_first[i + 1]):
                                late_tokens[k].push_back(nodes.tokens[t])
                    if config.capturing and self.opens_key(config[0]):
                        key_starts.push_back((i << 2) | in_forest)
                    stop_here = nodes.end[i]
                    if stop_here == i + 1:
                        i += 1
                        continue
                    for p in range(config.pop_first, config.pop_first + config.pop_count):
                        g = group_number(
                            group_keys, by_group, group_has_run, space.pops[p].guard, space.pops[p].sem
                        )
                        by_group[g].push_back((i << 2) | in_forest)
                    if not config.count:
                        i = stop_here
                        continue
                    if stop_here - i > RUN_NODES:
                        c = self.cut_here(c, (i << 2) | in_forest, for_later, jobs, job_configs)
                        if c == DEAD:
                            i = stop_here
                            continue
                    stack[depth] = c
                    i += 1
        if with_tokens:
            for symbol in range(self.terms.token_classes):
                c = space.step(start, TOKENS + symbol)
                if c == READS_STATE or (strict and c != DEAD and not space.configs[c].count):
                    mask.reads_tokens = 1
                    continue
                if c == DEAD:
                    continue
                for k in range(self.class_tokens[symbol].size()):
                    n = self.class_tokens[symbol][k]
                    if space.configs[c].ends & 1:
                        bits[n >> 5] |= <uint32_t>1 << (n & 31)
                        count += 1
                    else:
                        g = late_number(late_ends, late_tokens, space.configs[c].ends)
                        late_tokens[g].push_back(n)
        self.visited_nodes += visited
        self.store_bits(count, &mask)
        mask.pending_first = <int32_t>self.pendings.size()
        mask.pending_count = <int32_t>late_ends.size()
        for g in range(late_ends.size()):
            pending.ends = late_ends[g]
            pending.first = <int32_t>self.sparse_tokens.size()
            pending.count = <int32_t>late_tokens[g].size()
            for k in range(late_tokens[g].size()):
                self.sparse_tokens.push_back(late_tokens[g][k])
            self.pendings.push_back(pending)
        mask.reader_first = <int32_t>self.readers.size()
        mask.reader_count = <int32_t>readers.size()
        for k in range(readers.size()):
            self.readers.push_back(readers[k])
        mask.key_first = <int32_t>self.key_starts.size()
        mask.key_count = <int32_t>key_starts.size()
        for k in range(key_starts.size()):
            self.key_starts.push_back(key_starts[k])
        for g in range(group_keys.size()):
            own_groups.push_back(
                self.intern_group(
                    <int32_t>(group_keys[g] >> 32),
                    <int32_t>(group_keys[g] & 0xFFFFFFFF),
                    run if group_has_run[g] else NO_RUN,
                    by_group[g],
                )
            )
        mask.group_first = <int32_t>self.mask_groups.size()
        mask.group_count = <int32_t>own_groups.size()
        for g in range(own_groups.size()):
            self.mask_groups.push_back(own_groups[g])
        # these walk in their turn, so the scratch must be free
        for k in range(for_later.size()):
            self.include_run(for_later[k], strict, includes)
        mask.include_first = <int32_t>self.includes.size()
        mask.include_count = <int32_t>includes.size()
        for k in range(includes.size()):
            self.includes.push_back(includes[k])
        if is_nothing(mask):
            return NO_TOKENS
        self.masks.push_back(mask)
        return <int32_t>self.masks.size() - 1

    cdef bint opens_key(self, Config config) noexcept:
        """Tell whether a member has just begun to capture."""
        cdef int32_t i
        for i in range(config.first, config.first + config.count):
            if self.semantics.sems[self.space.members[i].sem].text == KEY_OF_ONE:
                return True
        return False

    cdef bint asks(self, int32_t mask) noexcept:
        """Tell whether the semantic state decides on some tokens of a mask."""
        return self.masks[mask].reader_count > 0 or self.masks[mask].reads_tokens != 0

    cdef int32_t root(self, int32_t state, bint strict) except -3:
        """Return the mask of a local state, the frame and the semantic state below it unknown."""
        cdef vector[int32_t]* roots = &self.strict_roots if strict else &self.roots
        cdef int32_t found
        if <size_t>state < roots.size() and roots[0][state] >= 0:
            return roots[0][state]
        found = self.keyed_root(state, SEM_SYMBOL, strict)
        if <size_t>state >= roots.size():
            roots.resize(self.terms.terms.size(), -1)
        roots[0][state] = found
        return found

    cdef int32_t keyed_root(self, int32_t state, int32_t sem, bint strict) except -3:
        """Return the mask of a local state in an object whose keys are known as far as walks see them."""
        cdef uint64_t key = (<uint64_t>sem << 32) | (<uint64_t>state << 1) | <uint64_t>strict
        cdef int32_t found = map_get(&self.keyed_roots, key)
        cdef vector[int32_t] whole
        if found != NO_VALUE:
            return found
        whole.push_back(0)
        found = self.walk(
            self.space.raw(state, sem), whole, NO_RUN, whole, (self.terms.terms[state].flags & F_TOKEN) != 0, strict
        )
        map_put(&self.keyed_roots, key, found)
        return found

    cdef int32_t child(self, int32_t group, int32_t rest, int32_t sem, bint strict) except -3:
        """Return the mask of the remainders of a group in a return state, the frame below unknown.

        ``sem``: the semantic state after the return, as far as walks know it. ``strict``: as in ``walk``.
        """
        cdef uint64_t key = (<uint64_t>group << 32) | <uint64_t>sem
        cdef int32_t entry = map_get(&self.entry_index, key)
        cdef int32_t found
        cdef Group g
        cdef vector[int32_t] below
        cdef vector[int32_t] origin
        cdef int32_t i, b, k, at, start
        cdef uint64_t words[4]
        if entry == NO_VALUE:
            entry = self.entries
            self.entries += 1
            map_put(&self.entry_index, key, entry)
        key = (<uint64_t>entry << 33) | (<uint64_t>rest << 1) | <uint64_t>strict
        found = map_get(&self.children, key)
        if found != NO_VALUE:
            return found
        g = self.groups[group]
        if g.guard != ANY_BYTE:
            rest = self.terms.mk_seq(self.terms.mk_guard(g.guard), rest)
        found = NO_TOKENS
        if rest != EMPTY:
            start = self.space.closed(rest, BOTTOM, sem)
            if start != DEAD:
                self.merge_group(group)
                g = self.groups[group]
                for i in range(g.merged_first, g.merged_first + g.merged_count):
                    below.push_back(self.places[i])
                for i in range(g.place_first, g.place_first + g.place_count):
                    origin.push_back(self.places[i])
                if g.run != NO_RUN:
                    words[0] = words[1] = words[2] = words[3] = <uint64_t>0xFFFFFFFFFFFFFFFF
                    if start != READS_STATE:
                        self.first_of(start, words)
                    for b in range(256):
                        if (words[b >> 6] >> (b & 63)) & 1:
                            at = self.runs.remainders_of(g.run, <uint8_t>b)
                            for k in range(self.runs.remainders[at]):
                                below.push_back(self.runs.remainders[at + 1 + k])
                found = self.walk(start, below, g.run, origin, False, strict)
        map_put(&self.children, key, found)
        return found


cdef inline Mask nothing() noexcept:
    cdef Mask mask
    memset(&mask, 0, sizeof(Mask))
    mask.dense = -1
    return mask


cdef bint is_nothing(Mask mask) noexcept:
    return (
        mask.dense < 0
        and not mask.sparse_count
        and not mask.pending_count
        and not mask.group_count
        and not mask.include_count
        and not mask.reader_count
        and not mask.key_count
        and not mask.reads_tokens
    )


cdef size_t group_number(
    vector[uint64_t]& keys, vector[vector[int32_t]]& by_group, vector[int32_t]& has_run, int32_t guard, int32_t sem
) noexcept:
    cdef uint64_t key = (<uint64_t>guard << 32) | <uint64_t>sem
    cdef size_t g
    for g in range(keys.size()):
        if keys[g] == key:
            return g
    keys.push_back(key)
    by_group.resize(keys.size())
    has_run.push_back(False)
    return keys.size() - 1


cdef size_t late_number(
    vector[uint64_t]& keys, vector[vector[int32_t]]& tokens, uint64_t ends
) noexcept:
    cdef size_t g
    for g in range(keys.size()):
        if keys[g] == ends:
            return g
    keys.push_back(ends)
    tokens.resize(keys.size())
    return keys.size() - 1
