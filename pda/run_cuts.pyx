# distutils: language = c++
"""Cuts: configurations of walks taken apart into runs of one kind of character and what is not a run.

Where a state is X{m,n} rest, X one character, the tokens that begin with characters of X are looked up
(``runs``) instead of walked: the whole runs are a *slice*, which belongs to X alone, and ``rest`` is walked
over what the runs leave behind, once for all counts; a *filter* row takes out the tokens whose run is too
short or too long.

Where something narrows the run, as in X{m,n} & pattern, the tables of the plain run serve the tokens that
begin with a byte after which both are the same state; the others are walked. What a state can do before the
first character of its run is not the run's, so only tokens behind such a character are taken from the tables.
"""

from libc.stdint cimport uint32_t
from libc.string cimport memset

from stackmask.pda.config_table cimport DEAD, Config, Member
from stackmask.pda.frames cimport BOTTOM
from stackmask.pda.interning cimport EPS, K_ALT, K_AND, K_REP, K_SEQ, Term
from stackmask.pda.mask_table cimport NO_FILTER
from stackmask.pda.remainders cimport IN_FOREST, INCLUSIVE, Nodes
from stackmask.pda.runs cimport NOT_A_CODE
from stackmask.pda.tables cimport NO_VALUE, map_free, map_get, map_init, map_put, mix

cdef enum:
    ALWAYS = 1 << 20
    MOST_TWINS = 256        # nodes to which a narrowed run and the plain one come in different states
    MOST_EXCLUDED = 1024    # tokens that narrowing takes out; more are a filter row


cdef class RunCuts(Filters):
    """How configurations are cut into runs, and the rows that come of it."""

    def __cinit__(self):
        map_init(&self.part_index)
        map_init(&self.met_codes)
        map_init(&self.without_index)

    def __dealloc__(self):
        map_free(&self.part_index)
        map_free(&self.met_codes)
        map_free(&self.without_index)

    cdef int drop(self) except -1:
        """As the table, and forget how configurations are cut."""
        self.parts.clear()
        self.first.clear()
        self.split_of.clear()
        self.split_first.clear()
        self.split_count.clear()
        self.split_parts.clear()
        self.plain_of.clear()
        map_free(&self.part_index)
        map_init(&self.part_index)
        map_free(&self.met_codes)
        map_init(&self.met_codes)
        map_free(&self.without_index)
        map_init(&self.without_index)
        self.withouts.clear()
        return Filters.drop(self)

    # -- configurations ------------------------------------------------------------------------------

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

    cdef int32_t times_met(self, int32_t code) except -1:
        """Return of how many states it was asked what runs of X settle, this one included.

        A trie of the other tokens pays off where many states ask, or where the runs are cut already.
        """
        cdef int32_t met = map_get(&self.met_codes, code)
        met = 1 if met == NO_VALUE else met + 1
        if self.runs.is_made(code):
            met = ALWAYS
        map_put(&self.met_codes, code, met)
        return met

    cdef int32_t part_of(self, int32_t state, int32_t sem) except -3:
        """Return how a state may be cut into a run and a rest (see RunPart), or -1.

        It may if the end of the run can be seen from the next byte: X is a prefix code, and neither the rest
        nor what follows a return can begin like X.
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
                part.state = t.b if t.kind == K_SEQ else EPS
                part.sem = sem
                part.rest = self.space.closed(part.state, BOTTOM, sem)
                if part.rest > DEAD and part.ends and self.is_known(part.rest):
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
        """Find the parts of a configuration that are runs, and the configuration without them. Remembered."""
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
        """Return a state X{m,n} & … rest without what narrows its run; other states as they are."""
        cdef Term t = self.terms.terms[state]
        cdef Term both = self.terms.terms[t.a] if t.kind == K_SEQ else t
        cdef int32_t k, kid
        if both.kind != K_AND:
            return state
        for k in range(both.b):
            kid = self.terms.kids[both.a + k]
            if self.terms.terms[kid].kind != K_REP:
                continue
            if self.runs.code_of(self.terms.terms[kid].a) != NOT_A_CODE:
                return self.terms.mk_seq(kid, t.b) if t.kind == K_SEQ else kid
        return state

    cdef int32_t plain(self, int32_t config) except -3:
        """Return the configuration without what narrows its runs, if it is all runs then; else itself.

        Remembered.
        """
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

    cdef int32_t narrow(
        self, int32_t config, int32_t place, vector[Later]& later, vector[int32_t]& left
    ) except -3:
        """Take from run tables what a configuration allows below a place where it does not narrow its runs.

        The children of the place that begin a run and lead where the plain run leads are left to the tables;
        ``left`` gets the others. Return whether there are tables for it.
        """
        cdef int32_t plain = self.plain(config), i, stop, row, t, node = place >> 2
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
        piece.filter = self.without(place, left) if left.size() else NO_FILTER
        piece.place = place
        # with one kind of run, all that is left to the tables begins with a character of it
        piece.least = self.split_count[plain] == 1
        for t in range(self.split_count[plain]):
            piece.part = self.split_parts[self.split_first[plain] + t]
            later.push_back(piece)
        return 1

    cdef bint exclude(self, int32_t config, int32_t place, vector[Later]& later) except -1:
        """Take from run tables what a configuration allows below a place, but for what it alone forbids.

        Where a key must not be one of some names, these are the tokens that end such a name. They are found
        by walking the configuration and the one that does not narrow its runs side by side, as long as both
        differ. Return whether there are tables, and few such nodes and tokens.
        """
        cdef int32_t plain = self.plain(config), k, t, kid, c, p
        cdef size_t done = 0
        cdef Nodes n
        cdef Twin at
        cdef Later piece
        cdef vector[int32_t] tokens
        cdef Config* x
        cdef Config* y
        if plain == config:
            return False
        for k in range(self.split_count[plain]):
            t = self.split_parts[self.split_first[plain] + k]
            if self.space.configs[self.parts[t].rest].pop_count:
                return False
        n = self.forest.nodes(place)
        at.node = place >> 2
        at.config = config
        at.plain = plain
        self.twins.clear()
        self.twins.push_back(at)
        while done < self.twins.size():
            at = self.twins[done]
            done += 1
            for k in range(n.kid_first[at.node], n.kid_first[at.node + 1]):
                p = self.space.step(at.plain, n.kid_byte[k])
                c = self.space.step(at.config, n.kid_byte[k])
                if c == p:
                    continue
                kid = n.kid_node[k]
                if c == DEAD and p > DEAD:
                    for t in range(n.token_first[kid], n.token_first[n.end[kid]]):
                        tokens.push_back(n.tokens[t])
                    if tokens.size() > MOST_EXCLUDED:
                        return False
                    continue
                if c <= DEAD or p <= DEAD:
                    return False
                x = &self.space.configs[c]
                y = &self.space.configs[p]
                if x.ends != y.ends or x.pop_count or y.pop_count or x.accepting != y.accepting:
                    return False
                if not self.is_known(c) or not self.is_known(p) or x.capturing != y.capturing:
                    return False
                if n.kid_first[kid] < n.kid_first[kid + 1]:
                    if self.twins.size() >= MOST_TWINS:
                        return False
                    self.twins.push_back(Twin(kid, c, p))
        piece.filter = self.new_exclusion(NO_FILTER, tokens) if tokens.size() else NO_FILTER
        piece.place = place
        piece.least = 0
        for k in range(self.split_count[plain]):
            piece.part = self.split_parts[self.split_first[plain] + k]
            later.push_back(piece)
        return True

    cdef bint is_known(self, int32_t config) noexcept:
        """Tell whether nothing of a configuration depends on the semantic state."""
        cdef Config c = self.space.configs[config]
        return not c.reads and c.sure == c.count

    cdef int32_t cut_here(
        self,
        int32_t config,
        int32_t place,
        vector[Later]& later,
        vector[int32_t]& jobs,
        vector[int32_t]& job_configs,
    ) except -3:
        """Leave to run tables what they can tell of the tokens below a place.

        Return the configuration to walk on with, or DEAD. Single children that must be walked become jobs.
        """
        cdef Later piece
        cdef vector[int32_t] left
        cdef int32_t rest
        cdef size_t k
        if self.space.configs[config].sure != self.space.configs[config].count:
            return config
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
        if rest == DEAD:
            return rest
        if self.exclude(rest, place, later):
            return DEAD
        if not self.narrow(rest, place, later, left):
            return rest
        for k in range(left.size()):
            jobs.push_back((left[k] << 2) | (place & IN_FOREST) | INCLUSIVE)
            job_configs.push_back(rest)
        return DEAD

    cdef int32_t without(self, int32_t place, vector[int32_t]& nodes) except -1:
        """Return the filter that takes out the tokens at some children of a place. Remembered."""
        cdef Nodes n = self.forest.nodes(place)
        cdef Without entry
        cdef uint64_t h = mix(61, <uint32_t>place)
        cdef int32_t known, t, i, b
        cdef size_t k
        cdef uint32_t* row
        entry.place = place
        for k in range(4):
            entry.words[k] = 0
        for k in range(nodes.size()):
            b = n.byte[nodes[k]]
            entry.words[b >> 6] |= <uint64_t>1 << (b & 63)
        for k in range(4):
            h = mix(h, entry.words[k])
        while True:
            known = map_get(&self.without_index, h)
            if known == NO_VALUE:
                break
            if self.withouts[known].place == place:
                k = 0
                while k < 4 and self.withouts[known].words[k] == entry.words[k]:
                    k += 1
                if k == 4:
                    return self.withouts[known].row
            h += 1
        entry.row = self.new_row()
        row = self.rows[entry.row]
        memset(row, 0xFF, 4 * <size_t>self.width)
        for k in range(nodes.size()):
            i = nodes[k]
            for t in range(n.token_first[i], n.token_first[n.end[i]]):
                row[n.tokens[t] >> 5] &= ~(<uint32_t>1 << (n.tokens[t] & 31))
        map_put(&self.without_index, h, <int32_t>self.withouts.size())
        self.withouts.push_back(entry)
        return entry.row

    # -- rows ----------------------------------------------------------------------------------------
