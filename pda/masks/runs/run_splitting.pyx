# distutils: language = c++
"""Cuts: configurations of walks taken apart into runs of one kind of character and what is not a run.

Where a state is X{m,n} rest, X one character, the tokens that begin with characters of X are looked up
(``runs``) instead of walked: the whole runs are a *slice*, which belongs to X alone, and ``rest`` is walked
over what the runs leave behind, once for all counts; a *filter* row takes out the tokens whose run is too
short or too long. What a state can do before the first character of its run is not the run's, so only tokens
behind such a character are taken from the tables. Runs that something narrows are in ``constrained_runs``.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t

from stackmask.pda.masks.shared.part cimport MaskContext, MaskPart
from stackmask.pda.memory.hash_tables cimport (
    NO_VALUE,
    map_free,
    map_get,
    map_init,
    map_nbytes,
    map_put,
    map_reset,
)
from stackmask.pda.memory.byte_sets cimport count_bits
from stackmask.pda.stack.configuration_table cimport DEAD, Config, Member
from stackmask.pda.masks.runs.slices cimport Tail
from stackmask.pda.stack.frames cimport BOTTOM
from stackmask.pda.terms.term_table cimport EPS, K_ALT, K_REP, K_SEQ, Term
from stackmask.pda.masks.shared.run_tables cimport NOT_A_CODE, Span
from stackmask.pda.context.semantic_states cimport KEY_OF_NONE

cdef enum:
    FEW_BYTES = 8           # first bytes of a class such as blanks, of which few tokens are made,
    NARROW_PAYS_OFF = 4     # ... and many go on behind: tables of it serve from so many states on
    ALWAYS = 1 << 20


# in keys of parts: the number of a frame and a semantic state, not a semantic state
cdef uint64_t INSIDE = <uint64_t>1 << 31


@cython.final
cdef class RunSplitter(MaskPart):
    """How configurations are cut into runs, and the rows that come of it."""

    def __cinit__(self, MaskContext context not None, Slices slices not None):
        self.slices = slices
        map_init(&self.member_index)
        map_init(&self.inside_index)
        map_init(&self.tail_index)
        map_init(&self.met_codes)

    def __dealloc__(self):
        map_free(&self.member_index)
        map_free(&self.inside_index)
        map_free(&self.tail_index)
        map_free(&self.met_codes)

    cdef int drop(self) except -1:
        """Forget how configurations are split."""
        self.parts.clear()
        self.first_bytes_at.clear()
        self.first.clear()
        self.split_of.clear()
        self.split_first.clear()
        self.split_count.clear()
        self.split_members.clear()
        map_reset(&self.member_index)
        map_reset(&self.inside_index)
        map_reset(&self.tail_index)
        map_reset(&self.met_codes)
        return MaskPart.drop(self)

    cdef size_t nbytes(self) noexcept:
        """Return the bytes held here."""
        cdef size_t held = 4 * (self.first_bytes_at.size() + self.split_of.size() + self.split_first.size())
        held += 4 * (self.split_count.size() + self.split_members.size())
        held += sizeof(ByteSet) * self.first.size() + sizeof(RunMember) * self.parts.size()
        held += map_nbytes(&self.member_index)
        held += map_nbytes(&self.inside_index)
        held += map_nbytes(&self.tail_index)
        held += map_nbytes(&self.met_codes)
        return held

    # -- configurations ------------------------------------------------------------------------------

    cdef int first_of(self, int32_t config, uint64_t* words) except -1:
        """Give the bytes that a configuration of walks can go on with."""
        cdef int32_t k, map, b
        cdef ByteSet found
        if <size_t>config >= self.first_bytes_at.size():
            self.first_bytes_at.resize(self.space.configs.size())
        if not self.first_bytes_at[config]:
            for k in range(4):
                found.words[k] = 0
            if self.space.configs[config].row < 0:
                self.space.make_row(config)
            map = self.space.configs[config].map
            for k in range(self.terms.maps[map].count):
                if self.space.step(config, self.terms.maps[map].byte_of[k]) != DEAD:
                    for b in range(256):
                        if self.terms.maps[map].of[b] == k:
                            found.words[b >> 6] |= <uint64_t>1 << (b & 63)
            self.first.push_back(found)
            self.first_bytes_at[config] = <int32_t>self.first.size()
        found = self.first[self.first_bytes_at[config] - 1]
        for k in range(4):
            words[k] = found.words[k]
        return 0

    cdef int32_t queries(self, int32_t code) except -1:
        """Return of how many states it was asked what runs of X settle, this one included.

        A trie of the other tokens pays off where many states ask, or where the runs are cut already; so do
        runs of a few bytes, since more tokens go on behind a blank than are made of blanks.
        """
        cdef int32_t met = map_get(&self.met_codes, code)
        met = 1 if met == NO_VALUE else met + 1
        if self.runs.is_made(code):
            met = ALWAYS
        map_put(&self.met_codes, code, met)
        return met

    cdef bint is_narrow(self, int32_t code) noexcept:
        """Tell whether characters of a class begin with few bytes."""
        return count_bits(self.runs.codes[code].first, 4) < FEW_BYTES

    cdef int32_t member_of(self, int32_t state, int32_t frame, int32_t sem) except -3:
        """Return how a member may be cut into a run and a rest (see RunMember), or -1.

        It may if the end of the run can be seen from the next byte: X is a prefix code, and neither the rest
        nor what follows a return can begin like X. Inside of a rule that the walk itself called, as for a
        key, it must not return below the walk before it consumes anything.
        """
        cdef uint64_t key = <uint64_t>sem
        cdef int32_t found, p, k
        cdef Term t = self.terms.terms[state]
        cdef Term r
        cdef RunMember part
        cdef Config continuation
        cdef uint64_t after[4]
        cdef const uint64_t* guard
        cdef const uint64_t* begin
        if frame != BOTTOM:
            key |= <uint64_t>frame << 32
            found = map_get(&self.inside_index, key)
            if found == NO_VALUE:
                found = self.inside_index.count
                map_put(&self.inside_index, key, found)
            key = INSIDE | <uint64_t>found
        key = (key << 32) | <uint64_t>state
        found = map_get(&self.member_index, key)
        if found != NO_VALUE:
            return found
        found = -1
        r = self.terms.terms[t.a] if t.kind == K_SEQ else t
        if r.kind == K_REP and (r.c < 0 or r.c > 1):
            part.code = self.runs.code_of(r.a)
            part.low = r.b
            part.high = r.c
            if part.code != NOT_A_CODE:
                if self.is_narrow(part.code) and self.queries(part.code) < NARROW_PAYS_OFF:
                    return -1
                part.ends = 1
                if self.terms.guard_sets.size() > 1:
                    part.ends = self.space.member_ends(state, frame)
                part.state = t.b if t.kind == K_SEQ else EPS
                part.frame = frame
                part.sem = sem
                part.continuation = self.space.closed(part.state, frame, sem)
                if part.continuation > DEAD and part.ends and self.is_known(part.continuation):
                    continuation = self.space.configs[part.continuation]
                    found = 0 if frame == BOTTOM or not continuation.pop_count else -1
                    begin = &self.runs.codes[part.code].first[0]
                    for p in range(continuation.pop_first, continuation.pop_first + continuation.pop_count):
                        k = self.space.pops[p].guard
                        guard = &self.terms.sets[4 * self.terms.guard_sets[k]]
                        for k in range(4):
                            if guard[k] & begin[k]:
                                found = -1
                        if self.space.pops[p].sem != sem:
                            found = -1
                    if found == 0:
                        self.first_of(part.continuation, after)
                        for k in range(4):
                            if after[k] & self.runs.codes[part.code].first[k]:
                                found = -1
        if found == 0:
            found = <int32_t>self.parts.size()
            self.parts.push_back(part)
        map_put(&self.member_index, key, found)
        return found

    cdef int split(self, int32_t config) except -3:
        """Find the parts of a configuration that are runs, and the configuration without them. Remembered."""
        cdef Config c
        cdef Member m
        cdef Term t
        cdef int32_t i, k, part, sem, continuation = config
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
            if not self.is_steady(m.sem):
                left.push_back(m)
                continue
            # what a walk knows of a captured key is the same from its second byte on
            sem = self.semantics.append(m.sem, c"\0")
            t = self.terms.terms[m.state]
            if t.kind == K_ALT:
                others.clear()
                for k in range(t.b):
                    part = self.member_of(self.terms.kids[t.a + k], m.frame, sem)
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
                part = self.member_of(m.state, m.frame, sem)
                if part >= 0:
                    found.push_back(part)
                else:
                    left.push_back(m)
        if found.size():
            continuation = DEAD if left.empty() else self.space.of_members(left)
        self.split_first[config] = <int32_t>self.split_members.size()
        self.split_count[config] = <int32_t>found.size()
        for i in range(<int32_t>found.size()):
            self.split_members.push_back(found[i])
        self.split_of[config] = continuation
        return 0

    cdef bint is_steady(self, int32_t sem) noexcept:
        """Tell whether a semantic state of walks stays as it is behind the next byte, whatever that is."""
        return not self.semantics.keeps_bytes(sem) and self.semantics.sems[sem].text != KEY_OF_NONE

    cdef bint is_known(self, int32_t config) noexcept:
        """Tell whether nothing of a configuration depends on the semantic state."""
        cdef Config c = self.space.configs[config]
        return not c.reads and c.sure == c.count

    cdef bint passes(self, int32_t run, RunMember part, int32_t* filter) except -3:
        """Narrow a filter to tokens whose run is as long as a part takes; tell whether there may be some."""
        cdef int32_t tail
        if part.low or part.high >= 0:
            tail = self.tail_of(run, part.continuation)
            if part.low > self.slices.tails[tail].most_before:
                return False
            filter[0] = self.slices.filter_both(filter[0], self.slices.filter_of(tail, part.low, part.high))
        return True

    cdef int32_t tail_of(self, int32_t run, int32_t continuation) except -3:
        """Return the tail of a run: where a configuration, or what it returns to, may go on behind it.

        ``rest`` -1: with any byte. Remembered.
        """
        cdef uint64_t key = (<uint64_t>run << 32) | <uint32_t>continuation
        cdef int32_t found = map_get(&self.tail_index, key), b, k
        cdef uint64_t words[4]
        cdef Tail tail
        cdef Span span
        if found != NO_VALUE:
            return found
        tail.run = run
        tail.first = <int32_t>self.slices.tail_exits.size()
        tail.most_before = 0
        if continuation < 0 or self.space.configs[continuation].pop_count:
            # any byte may follow the return
            self.runs.find_exits(run)
            words[0] = words[1] = words[2] = words[3] = ~<uint64_t>0
        else:
            self.first_of(continuation, words)
        for b in range(256):
            if (words[b >> 6] >> (b & 63)) & 1:
                span = self.runs.exits_with(run, <uint8_t>b)
                for k in range(span.first, span.first + span.count):
                    self.slices.tail_exits.push_back(self.runs.exits[k])
                    tail.most_before = max(tail.most_before, self.runs.exits[k].count)
        tail.count = <int32_t>self.slices.tail_exits.size() - tail.first
        found = <int32_t>self.slices.tails.size()
        self.slices.tails.push_back(tail)
        map_put(&self.tail_index, key, found)
        return found
