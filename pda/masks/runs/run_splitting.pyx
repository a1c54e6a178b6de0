# distutils: language = c++
"""Configurations of walks, split into runs of one character class and other members.

Take a state X{m,n} continuation, where X is one character. The tokens that begin with characters of X are
looked up (``run_tables``), not walked. Tokens that are runs form a *slice*, which depends on X alone. The
continuation is walked over the suffixes after the runs, once for all counts. A *filter* removes the tokens
whose run is too short or too long. What the state can do before the first character of X does not belong to
the run, so the tables give only tokens that begin with such a character. ``constrained_runs`` treats runs
with a constraint.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t

from stackmask.pda.ids cimport NO_MEMBER, UNBOUNDED, MapId, SetId
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
from stackmask.pda.stack.configuration_table cimport DEAD, UNKNOWN, Config, Member, has_row, leads_on
from stackmask.pda.masks.runs.slices cimport Tail
from stackmask.pda.stack.frames cimport BOTTOM
from stackmask.pda.terms.term_table cimport EPS, K_ALT, K_REP, K_SEQ, Term
from stackmask.pda.masks.shared.run_tables cimport NOT_A_CODE, Span
from stackmask.pda.context.capture_texts cimport KEY_OF_NONE

cdef enum:
    FEW_BYTES = 8           # a class with fewer first bytes is narrow: few tokens are runs of it,
    NARROW_PAYS_OFF = 4     # ... but many continue after one; its tables are used from the fourth state on
    ALWAYS = 1 << 20


# in keys of member_index: the number of a frame and a semantic state follows, not a semantic state
cdef uint64_t INSIDE = <uint64_t>1 << 31


@cython.final
cdef class RunSplitter(MaskPart):
    """Finds the runs in configurations of walks, and remembers them."""

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

    cdef int drop(self) except -1 nogil:
        """Forget how configurations are split."""
        self.run_members.clear()
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

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held here."""
        cdef size_t held = 4 * (self.first_bytes_at.size() + self.split_of.size() + self.split_first.size())
        held += 4 * (self.split_count.size() + self.split_members.size())
        held += sizeof(ByteSet) * self.first.size() + sizeof(RunMember) * self.run_members.size()
        held += map_nbytes(&self.member_index)
        held += map_nbytes(&self.inside_index)
        held += map_nbytes(&self.tail_index)
        held += map_nbytes(&self.met_codes)
        return held

    # -- configurations ------------------------------------------------------------------------------

    cdef int first_of(self, ConfigId config, uint64_t* words) except -1 nogil:
        """Give the bytes that a configuration can continue with."""
        cdef int32_t k, b
        cdef MapId map
        cdef ByteSet found
        if <size_t>config >= self.first_bytes_at.size():
            self.first_bytes_at.resize(self.space.configs.size())
        if not self.first_bytes_at[config]:
            for k in range(4):
                found.words[k] = 0
            if not has_row(self.space.configs[config]):
                self.space.make_row(config)
            map = self.space.configs[config].map
            for k in range(self.terms.classes.maps[map].count):
                if self.space.step(config, self.terms.classes.maps[map].byte_of[k]) != DEAD:
                    for b in range(256):
                        if self.terms.classes.maps[map].of[b] == k:
                            found.words[b >> 6] |= <uint64_t>1 << (b & 63)
            self.first.push_back(found)
            self.first_bytes_at[config] = <int32_t>self.first.size()
        found = self.first[self.first_bytes_at[config] - 1]
        for k in range(4):
            words[k] = found.words[k]
        return 0

    cdef int32_t queries(self, CodeId code) except -1 nogil:
        """Return how many states have used the runs of X, with this one. ALWAYS if a table exists.

        A trie of other tokens pays off if many states use it, or if the run table exists. The same holds for
        narrow classes, since more tokens continue after a blank than are made of blanks.
        """
        cdef int32_t met = map_get(&self.met_codes, code)
        met = 1 if met == NO_VALUE else met + 1
        if self.runs.is_made(code):
            met = ALWAYS
        map_put(&self.met_codes, code, met)
        return met

    cdef bint is_narrow(self, CodeId code) noexcept nogil:
        """Tell whether characters of a class begin with few different bytes."""
        return count_bits(self.runs.codes[code].first, 4) < FEW_BYTES

    cdef RunMemberId member_of(self, TermId state, FrameId frame, SemId sem) except -3 nogil:
        """Return the RunMember of a member, or NO_MEMBER if the tables do not apply to it.

        They apply if the next byte tells where the run ends: X is a prefix code, and neither the continuation
        nor what follows a return can begin like X. In a rule that the walk itself has called, such as a key,
        the continuation must not return before it reads a byte.
        """
        cdef uint64_t key = <uint64_t>sem
        cdef RunMemberId known
        cdef int32_t found, p, k
        cdef bint applies = False
        cdef Term t = self.terms.terms[state]
        cdef Term r
        cdef RunMember member
        cdef Config continuation
        cdef uint64_t after[4]
        cdef const uint64_t* guard
        cdef SetId set_id
        cdef const uint64_t* begin
        if frame != BOTTOM:
            key |= <uint64_t>frame << 32
            found = map_get(&self.inside_index, key)
            if found == NO_VALUE:
                found = self.inside_index.count
                map_put(&self.inside_index, key, found)
            key = INSIDE | <uint64_t>found
        key = (key << 32) | <uint64_t>state
        known = map_get(&self.member_index, key)
        if known != NO_VALUE:
            return known
        r = self.terms.terms[t.seq.first] if t.kind == K_SEQ else t
        if r.kind == K_REP and r.rep.high > 1:
            member.code = self.runs.code_of(r.rep.item)
            member.low = r.rep.low
            member.high = r.rep.high
            if member.code != NOT_A_CODE:
                if self.is_narrow(member.code) and self.queries(member.code) < NARROW_PAYS_OFF:
                    return NO_MEMBER
                member.ends = 1
                if self.terms.classes.has_guards():
                    member.ends = self.space.member_ends(state, frame)
                member.state = t.seq.rest if t.kind == K_SEQ else EPS
                member.frame = frame
                member.sem = sem
                member.continuation = self.space.closed(member.state, frame, sem)
                if leads_on(member.continuation) and member.ends and self.is_known(member.continuation):
                    continuation = self.space.configs[member.continuation]
                    applies = frame == BOTTOM or not continuation.pop_count
                    begin = &self.runs.codes[member.code].first[0]
                    for p in range(continuation.pop_first, continuation.pop_first + continuation.pop_count):
                        set_id = self.terms.classes.guard_sets[self.space.pops[p].guard]
                        guard = &self.terms.classes.sets[4 * set_id]
                        for k in range(4):
                            if guard[k] & begin[k]:
                                applies = False
                        if self.space.pops[p].sem != sem:
                            applies = False
                    if applies:
                        self.first_of(member.continuation, after)
                        for k in range(4):
                            if after[k] & self.runs.codes[member.code].first[k]:
                                applies = False
        known = NO_MEMBER
        if applies:
            known = <int32_t>self.run_members.size()
            self.run_members.push_back(member)
        map_put(&self.member_index, key, known)
        return known

    cdef int split(self, ConfigId config) except -3 nogil:
        """Find the runs in a configuration, and the configuration without them. Remembered."""
        cdef Config c
        cdef Member m
        cdef Term t
        cdef int32_t i, k
        cdef RunMemberId member
        cdef SemId sem
        cdef ConfigId continuation = config
        cdef size_t old = self.split_of.size()
        cdef vector[RunMemberId] found
        cdef vector[TermId] others
        cdef vector[Member] left
        if <size_t>config >= old:
            self.split_of.resize(self.space.configs.size(), UNKNOWN)
            self.split_first.resize(self.space.configs.size(), 0)
            self.split_count.resize(self.space.configs.size(), 0)
        if self.split_of[config] != UNKNOWN:
            return 0
        c = self.space.configs[config]
        for i in range(c.first, c.first + c.count):
            m = self.space.members[i]
            if not self.is_steady(m.sem):
                left.push_back(m)
                continue
            # what a walk knows about a captured key does not change after its first byte
            sem = self.context.semantics.append(m.sem, c"\0")
            t = self.terms.terms[m.state]
            if t.kind == K_ALT:
                others.clear()
                for k in range(t.operands.count):
                    member = self.member_of(self.terms.kids[t.operands.first + k], m.frame, sem)
                    if member != NO_MEMBER:
                        found.push_back(member)
                    else:
                        others.push_back(self.terms.kids[t.operands.first + k])
                if <int32_t>others.size() < t.operands.count:
                    if others.empty():
                        continue
                    m.state = self.terms.mk_alt(others, 0)
                left.push_back(m)
            else:
                member = self.member_of(m.state, m.frame, sem)
                if member != NO_MEMBER:
                    found.push_back(member)
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

    cdef bint is_steady(self, SemId sem) noexcept nogil:
        """Tell whether a semantic state of a walk stays the same after the next byte, whatever it is."""
        if self.context.semantics.keeps_bytes(sem):
            return False
        return self.context.semantics.sems[sem].text != KEY_OF_NONE

    cdef bint is_known(self, ConfigId config) noexcept nogil:
        """Tell whether no member of a configuration depends on the semantic state."""
        cdef Config c = self.space.configs[config]
        return not c.reads and c.sure == c.count

    cdef bint passes(self, RunId run, RunMember member, FilterId* filter) except -3 nogil:
        """Narrow a filter to the tokens with a run of the right length. Return False if there are none."""
        cdef TailId tail
        cdef FilterId fitting
        if member.low or member.high != UNBOUNDED:
            tail = self.tail_of(run, member.continuation)
            if member.low > self.slices.tails[tail].most_before:
                return False
            fitting = self.slices.filter_of(tail, member.low, member.high)
            filter[0] = self.slices.filter_both(filter[0], fitting)
        return True

    cdef TailId tail_of(self, RunId run, ConfigId continuation) except -3 nogil:
        """Return the tail of a run table: the exits after which a configuration may continue.

        Its returns may continue too. ``continuation``: may be ANYTHING. Remembered.
        """
        cdef uint64_t key = (<uint64_t>run << 32) | <uint32_t>continuation
        cdef TailId found = map_get(&self.tail_index, key)
        cdef int32_t b, k
        cdef uint64_t words[4]
        cdef Tail tail
        cdef Span span
        if found != NO_VALUE:
            return found
        tail.run = run
        tail.first = <int32_t>self.slices.tail_exits.size()
        tail.most_before = 0
        if continuation == ANYTHING or self.space.configs[continuation].pop_count:
            # any byte may follow the return
            self.runs.find_exits(run)
            words[0] = words[1] = words[2] = words[3] = ~<uint64_t>0
        else:
            self.first_of(continuation, words)
        for b in range(256):
            if (words[b >> 6] >> (b & 63)) & 1:
                self.runs.exits_with(self.context.trie.character_groups, run, <uint8_t>b, &span)
                for k in range(span.first, span.first + span.count):
                    self.slices.tail_exits.push_back(self.runs.exits[k])
                    tail.most_before = max(tail.most_before, self.runs.exits[k].count)
        tail.count = <int32_t>self.slices.tail_exits.size() - tail.first
        found = <int32_t>self.slices.tails.size()
        self.slices.tails.push_back(tail)
        map_put(&self.tail_index, key, found)
        return found
