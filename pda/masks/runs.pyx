# distutils: language = c++
"""Tokens of one class of characters: slices, runs in configurations, and constrained runs."""

cimport cython
from libc.stdint cimport int16_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy, memset
from libcpp.pair cimport pair

from stackmask.pda.context.callables cimport KEY_OF_NONE
from stackmask.pda.ids cimport (
    FAILED,
    ID_FAILED,
    NO_CALLEE,
    NO_MEMBER,
    NO_NODE,
    NO_ROW,
    UNBOUNDED,
    CodeId,
    GroupId,
    MapId,
    NodeId,
    RowId,
    RunMemberId,
    SetId,
)
from stackmask.pda.masks.arena cimport NO_FILTER, NO_TOKENS, SPARSE, Mask, MaskContext, MaskPart, nothing
from stackmask.pda.masks.run_tables cimport NOT_A_CODE, Run, Span, has_groups, is_sorted
from stackmask.pda.memory.byte_sets cimport count_bits, has_bit
from stackmask.pda.memory.hash_tables cimport NO_VALUE, mix
from stackmask.pda.stack.configuration_table cimport BOTTOM, DEAD, UNKNOWN, Config, Member, has_row, leads_on
from stackmask.pda.terms.term_table cimport (
    EPS,
    F_IMPURE,
    K_ALT,
    K_AND,
    K_LIT,
    K_NOT,
    K_REP,
    K_SEQ,
    K_SET,
    Repetition,
    Term,
    one_more,
)
from stackmask.pda.vocabulary.suffix_tries cimport INCLUSIVE, Nodes, child_of, node_at, place_at, trie_of


# ------------------------------------------------------------------------------------------------
# Slices and filters: which tokens are runs of one character class, and which continue after such a run.
#
# A *slice* is the mask of the tokens that are runs, all or only the short ones. A *filter* says which tokens
# continue after a run of the right length. It is a row of tokens, or all tokens, without a short list.
# ------------------------------------------------------------------------------------------------


cdef enum:
    FEW_OUTSIDE = 256       # tokens in the list of a filter; for more, a row is made
    COUNT_BITS = 20         # bits of a number of characters in keys


cdef void enter(uint32_t* row, const TokenId* tokens, const TokenId* stop) noexcept nogil:
    """Set the bits of tokens in a row."""
    while tokens < stop:
        row[tokens[0] >> 5] |= <uint32_t>1 << (tokens[0] & 31)
        tokens += 1


cdef void take_out(uint32_t* row, const TokenId* tokens, const TokenId* stop) noexcept nogil:
    """Clear the bits of tokens in a row."""
    while tokens < stop:
        row[tokens[0] >> 5] &= ~(<uint32_t>1 << (tokens[0] & 31))
        tokens += 1


@cython.final
cdef class Slices(MaskPart):
    """The slices and filters of one store."""

    def __cinit__(self, MaskContext context not None, MaskArena arena not None):
        self.width = context.width
        self.arena = arena
        self.groups = self.context.trie.character_groups
        self.add_all()

    cdef int drop(self) except FAILED nogil:
        """Drop slices and filters."""
        self.tails.clear()
        self.tail_exits.clear()
        self.filters.clear()
        self.excluded_tokens.clear()
        self.slice_index.reset()
        self.filter_index.reset()
        self.both_index.reset()
        self.row_index.reset()
        self.add_all()
        return MaskPart.drop(self)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held here."""
        cdef size_t held = 4 * self.excluded_tokens.size() + sizeof(Filter) * self.filters.size()
        held += sizeof(Tail) * self.tails.size() + sizeof(Exit) * self.tail_exits.size()
        held += self.slice_index.nbytes()
        held += self.filter_index.nbytes()
        held += self.both_index.nbytes()
        held += self.row_index.nbytes()
        return held

    cdef MaskId slice(self, RunId run, int32_t high) except ID_FAILED nogil:
        """Return the mask of the runs of at most ``high`` characters, the last of which may be incomplete."""
        cdef Run r = self.runs.runs[run]
        cdef uint64_t key
        cdef MaskId found, whole
        cdef int32_t k, low, top, count
        cdef const TokenId* tokens
        cdef Mask mask = nothing()
        cdef uint32_t* row
        high = min(high, r.most_needed)
        key = (<uint64_t>run << 32) | <uint64_t>high
        found = self.slice_index.get(key)
        if found != NO_VALUE:
            return found
        if has_groups(r):
            found = self.slice_of_groups(run, high)
            self.slice_index.put(key, found)
            return found
        if high == r.most_needed and not is_sorted(r):
            self.runs.scan(run)
            found = self.mask_of(self.runs.found_tokens.data(), r.token_count)
            self.slice_index.put(key, found)
            return found
        self.runs.sort_tokens(run)
        r = self.runs.runs[run]
        low = r.sorted_first
        top = r.sorted_first + r.token_count
        while low < top:
            k = (low + top) // 2
            if self.runs.needed[k] <= high:
                low = k + 1
            else:
                top = k
        count = low - r.sorted_first
        tokens = self.runs.tokens.data() + r.sorted_first
        if SPARSE * count > self.width and 2 * count > r.token_count and count < r.token_count:
            # most of the runs: clear the bits of the others
            whole = self.slice(run, UNBOUNDED)
            mask.dense = self.arena.new_row()
            row = self.arena.rows[mask.dense]
            memcpy(row, self.arena.rows[self.arena.masks[whole].dense], 4 * <size_t>self.width)
            tokens = self.runs.tokens.data() + r.sorted_first
            take_out(row, tokens + count, tokens + r.token_count)
            found = self.arena.add(mask)
        else:
            found = self.mask_of(tokens, count)
        self.slice_index.put(key, found)
        return found

    cdef MaskId mask_of(self, const TokenId* tokens, int32_t count) except ID_FAILED nogil:
        """Return the mask of a list of tokens, as a list or as a row."""
        cdef Mask mask = nothing()
        if count == 0:
            return NO_TOKENS
        if SPARSE * count > self.width:
            mask.dense = self.arena.new_row()
            enter(self.arena.rows[mask.dense], tokens, tokens + count)
        else:
            mask.sparse_first = <int32_t>self.arena.sparse_tokens.size()
            mask.sparse_count = count
            self.arena.sparse_tokens.append(tokens, tokens + count)
        return self.arena.add(mask)

    cdef MaskId slice_of_groups(self, RunId run, int32_t high) except ID_FAILED nogil:
        """Return the mask of the runs of at most ``high`` characters, built from character groups."""
        cdef Run r = self.runs.runs[run]
        cdef Mask mask = nothing()
        cdef int32_t k, t, next
        cdef GroupId g
        cdef MaskId whole
        cdef int32_t count = 0, odd = 0
        cdef const TokenId* tokens = self.groups.tokens.data()
        # the tokens of groups that are partly in X
        cdef const TokenId* others = self.runs.tokens.data() + r.sorted_first
        cdef uint32_t* row = NULL
        for k in range(r.group_first, r.group_first + r.group_count):
            g = self.runs.groups[k]
            count += self.groups.up_to(g, high) - self.groups.first[g]
        while odd < r.sorted_count and self.runs.needed[r.sorted_first + odd] <= high:
            odd += 1
        count += odd
        if count == 0:
            return NO_TOKENS
        if SPARSE * count <= self.width:
            mask.sparse_first = <int32_t>self.arena.sparse_tokens.size()
            mask.sparse_count = count
            for k in range(r.group_first, r.group_first + r.group_count):
                g = self.runs.groups[k]
                t = self.groups.first[g]
                self.arena.sparse_tokens.append(tokens + t, tokens + self.groups.up_to(g, high))
            self.arena.sparse_tokens.append(others, others + odd)
            return self.arena.add(mask)
        mask.dense = self.arena.new_row()
        row = self.arena.rows[mask.dense]
        if 2 * count > r.token_count and count < r.token_count:
            # most of the runs: clear the bits of the others
            whole = self.slice(run, UNBOUNDED)
            memcpy(row, self.arena.rows[self.arena.masks[whole].dense], 4 * <size_t>self.width)
            for k in range(r.group_first, r.group_first + r.group_count):
                g = self.runs.groups[k]
                take_out(row, tokens + self.groups.up_to(g, high), tokens + self.groups.first[g + 1])
            others = self.runs.tokens.data() + r.sorted_first
            take_out(row, others + odd, others + r.sorted_count)
        elif count == r.token_count and 2 * count > <int32_t>self.groups.tokens.size():
            # most of the vocabulary: take out the other groups
            memcpy(row, self.groups.row.data(), 4 * self.groups.row.size())
            next = r.group_first
            for g in range(<int32_t>self.groups.sorts_of.size()):
                if next < r.group_first + r.group_count and self.runs.groups[next] == g:
                    next += 1
                else:
                    take_out(row, tokens + self.groups.first[g], tokens + self.groups.first[g + 1])
            enter(row, others, others + odd)
        else:
            for k in range(r.group_first, r.group_first + r.group_count):
                g = self.runs.groups[k]
                enter(row, tokens + self.groups.first[g], tokens + self.groups.up_to(g, high))
            enter(row, others, others + odd)
        return self.arena.add(mask)

    cdef FilterId filter_of(self, TailId tail, int32_t low, int32_t high) except ID_FAILED nogil:
        """Return the filter of the tokens that continue after a run of ``low`` to ``high`` characters.

        ``tail``: the exits where they continue. Returns NO_FILTER if all tokens that continue pass the
        filter. Tokens with other exits may pass or not.
        """
        cdef Tail at = self.tails[tail]
        cdef uint64_t key
        cdef FilterId found
        high = min(high, at.most_before)
        if low > at.most_before:
            low = at.most_before + 1
        if low == 0 and high == at.most_before:
            return NO_FILTER
        if (at.most_before + 1) >> COUNT_BITS:
            # too many characters for a key: such tokens are as long as books
            return self.make_filter(at, low, high)
        key = (<uint64_t>tail << 2 * COUNT_BITS) | (<uint64_t>low << COUNT_BITS) | <uint64_t>high
        found = self.filter_index.get(key)
        if found == NO_VALUE:
            found = self.make_filter(at, low, high)
            self.filter_index.put(key, found)
        return found

    cdef FilterId make_filter(self, Tail at, int32_t low, int32_t high) except ID_FAILED nogil:
        """Create the filter that removes the tokens after longer and shorter runs."""
        cdef RowId found
        cdef int32_t k, t
        cdef NodeId i
        cdef int32_t inside = 0, outside = 0
        cdef bint fits, most
        cdef Nodes n
        cdef uint32_t* row
        cdef vector[TokenId] left_out
        n = self.context.tries.nodes(self.runs.runs[at.run].place)
        for k in range(at.first, at.first + at.count):
            i = node_at(self.tail_exits[k].place)
            t = n.token_first[n.end[i]] - n.token_first[i]
            if low <= self.tail_exits[k].count <= high:
                inside += t
            else:
                outside += t
        if outside <= FEW_OUTSIDE:
            for k in range(at.first, at.first + at.count):
                if not low <= self.tail_exits[k].count <= high:
                    i = node_at(self.tail_exits[k].place)
                    left_out.insert(
                        left_out.end(), n.tokens + n.token_first[i], n.tokens + n.token_first[n.end[i]]
                    )
            return self.add_filter(NO_ROW, left_out)
        found = self.arena.new_row()
        row = self.arena.rows[found]
        # begin with an empty or a full row, whichever needs fewer changes
        most = inside > outside
        if most:
            memset(row, 0xFF, 4 * <size_t>self.width)
        for k in range(at.first, at.first + at.count):
            fits = low <= self.tail_exits[k].count <= high
            if fits == most:
                continue
            i = node_at(self.tail_exits[k].place)
            if most:
                take_out(row, n.tokens + n.token_first[i], n.tokens + n.token_first[n.end[i]])
            else:
                enter(row, n.tokens + n.token_first[i], n.tokens + n.token_first[n.end[i]])
        return self.add_filter(found, left_out)

    cdef FilterId filter_both(self, FilterId a, FilterId b) except ID_FAILED nogil:
        """Return the filter of the tokens that pass both filters. Cached."""
        cdef uint64_t key
        cdef FilterId found
        cdef int32_t i, side
        cdef vector[TokenId] tokens
        cdef Filter one
        if a == NO_FILTER or a == b:
            return b
        if b == NO_FILTER:
            return a
        key = (<uint64_t>a << 32) | <uint64_t>b
        found = self.both_index.get(key)
        if found == NO_VALUE:
            for side in range(2):
                one = self.filters[b if side else a]  # mutant: both-filters
                for i in range(one.first, one.first + one.count):
                    tokens.push_back(self.excluded_tokens[i])
            found = self.add_filter(self.both_rows(self.filters[a].row, one.row), tokens)
            self.both_index.put(key, found)
        return found

    cdef RowId both_rows(self, RowId a, RowId b) except? ID_FAILED nogil:
        """Return the row of the tokens in both rows; NO_ROW is all tokens. Cached."""
        cdef uint64_t key
        cdef RowId found
        cdef int32_t k
        if a == NO_ROW or a == b:
            return b
        if b == NO_ROW:
            return a
        key = (<uint64_t>a << 32) | <uint64_t>b
        found = self.row_index.get(key)
        if found == NO_VALUE:
            found = self.arena.new_row()
            for k in range(self.width):
                self.arena.rows[found][k] = self.arena.rows[a][k] & self.arena.rows[b][k]
            self.row_index.put(key, found)
        return found

    cdef FilterId add_filter(self, RowId row, vector[TokenId]& excluded) except ID_FAILED nogil:
        """Return a new filter: the tokens of a row (NO_ROW: all tokens) except for the excluded ones."""
        cdef Filter entry
        entry.row = row
        entry.first = <int32_t>self.excluded_tokens.size()
        entry.count = <int32_t>excluded.size()
        self.excluded_tokens.insert(self.excluded_tokens.end(), excluded.begin(), excluded.end())
        if self.spared.size() < excluded.size():
            self.spared.resize(excluded.size())
        self.filters.push_back(entry)
        return <int32_t>self.filters.size() - 1

    cdef int add_all(self) except FAILED nogil:
        """Create the first filter: NO_FILTER, which all tokens pass."""
        cdef vector[TokenId] nothing_else
        self.add_filter(NO_ROW, nothing_else)
        return 0


# ------------------------------------------------------------------------------------------------
# Configurations of walks, split into runs of one character class and other members.
#
# Take a state X{m,n} continuation, where X is one character. The tokens that begin with characters of X are
# looked up (``run_tables``), not walked. Tokens that are runs form a *slice*, which depends on X alone. The
# continuation is walked over the suffixes after the runs, once for all counts. A *filter* removes the tokens
# whose run is too short or too long. What the state can do before the first character of X does not belong to
# the run, so the tables give only tokens that begin with such a character. ``constrained_runs`` treats runs
# with a constraint.
# ------------------------------------------------------------------------------------------------


cdef enum:
    FEW_BYTES = 8           # a class with fewer first bytes is narrow: few tokens are runs of it,
    NARROW_PAYS_OFF = 4     # ... but many continue after one; its tables are used from the fourth state on
    ALWAYS = 1 << 20


# in keys of member_index: the number of a frame and a semantic state follows, not a semantic state
cdef uint64_t INSIDE = <uint64_t>1 << 31


@cython.final
cdef class RunSplitter(MaskPart):
    """Finds the runs in configurations of walks, and caches the results."""

    def __cinit__(self, MaskContext context not None, Slices slices not None):
        self.slices = slices

    cdef int drop(self) except FAILED nogil:
        """Drop the splits of configurations."""
        self.run_members.clear()
        self.first_bytes_at.clear()
        self.first.clear()
        self.split_of.clear()
        self.split_first.clear()
        self.split_count.clear()
        self.split_members.clear()
        self.member_index.reset()
        self.inside_index.reset()
        self.tail_index.reset()
        self.met_codes.reset()
        return MaskPart.drop(self)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held here."""
        cdef size_t held = 4 * (self.first_bytes_at.size() + self.split_of.size() + self.split_first.size())
        held += 4 * (self.split_count.size() + self.split_members.size())
        held += sizeof(ByteSet) * self.first.size() + sizeof(RunMember) * self.run_members.size()
        held += self.member_index.nbytes()
        held += self.inside_index.nbytes()
        held += self.tail_index.nbytes()
        held += self.met_codes.nbytes()
        return held

    # -- configurations ------------------------------------------------------------------------------

    cdef int first_of(self, ConfigId config, uint64_t* words) except FAILED nogil:
        """Find the bytes with which a configuration can continue."""
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

    cdef int32_t queries(self, CodeId code) except FAILED nogil:
        """Return the number of states that have used the runs of X, with this one; ALWAYS if a table exists.

        A trie of other tokens pays off if many states use it, or if the run table exists. It also pays off
        for narrow classes, since more tokens continue after whitespace than consist of whitespace.
        """
        cdef int32_t met = self.met_codes.get(code)
        met = 1 if met == NO_VALUE else met + 1
        if self.runs.is_made(code):
            met = ALWAYS
        self.met_codes.put(code, met)
        return met

    cdef bint is_narrow(self, CodeId code) noexcept nogil:
        """Return whether characters of a class begin with few different bytes."""
        return count_bits(self.runs.codes[code].first, 4) < FEW_BYTES

    cdef RunMemberId member_of(self, TermId state, FrameId frame, SemId sem) except ID_FAILED nogil:
        """Return the RunMember of a member, or NO_MEMBER if tables do not apply to the member.

        They apply if the next byte determines the end of the run: X is a prefix code, and neither the
        continuation nor the text after a return can begin like X. In a rule that the walk itself has called,
        such as a key, the continuation must not return before it reads a byte.
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
            found = self.inside_index.get(key)
            if found == NO_VALUE:
                found = self.inside_index.count
                self.inside_index.put(key, found)
            key = INSIDE | <uint64_t>found
        key = (key << 32) | <uint64_t>state
        known = self.member_index.get(key)
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
        self.member_index.put(key, known)
        return known

    cdef int split(self, ConfigId config) except ID_FAILED nogil:
        """Find the runs in a configuration, and the configuration without these runs. Cached."""
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
        """Return whether a walk's semantic state is the same after the next byte, whatever the byte is."""
        if self.context.semantics.keeps_bytes(sem):
            return False
        return self.context.semantics.sems[sem].text != KEY_OF_NONE

    cdef bint is_known(self, ConfigId config) noexcept nogil:
        """Return whether no member of a configuration depends on the semantic state."""
        cdef Config c = self.space.configs[config]
        return not c.reads and c.sure == c.count

    cdef bint passes(self, RunId run, RunMember member, FilterId* filter) except ID_FAILED nogil:
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

    cdef TailId tail_of(self, RunId run, ConfigId continuation) except ID_FAILED nogil:
        """Return the tail of a run table: the exits after which a configuration may continue.

        Returns of the configuration may also continue. ``continuation``: may be ANYTHING. Cached.
        """
        cdef uint64_t key = (<uint64_t>run << 32) | <uint32_t>continuation
        cdef TailId found = self.tail_index.get(key)
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
        self.tail_index.put(key, found)
        return found


# ------------------------------------------------------------------------------------------------
# Runs with a constraint: X{m,n} & pattern, as of undeclared keys, and names, whose first byte is special.
#
# If the first byte of a token leads the constrained and the unconstrained run to the same state, the tables of
# the unconstrained run X{m,n} serve the token. Other tokens are walked. If the constraint excludes little, such
# as a list of strings, the tables serve all tokens but a few. These are found by spelling the strings.
# ------------------------------------------------------------------------------------------------


cdef enum:
    FEW_NODES = 512         # in smaller subtrees, only a configuration that is a single run uses tables
    MOST_FAILS = 2          # after so many failures, a configuration is not tried again
    MOST_SPELLED = 1 << 14  # prefixes of the excluded strings
    MOST_EXCLUDED = 1024    # tokens that a constraint may exclude


cdef int append_tokens(Nodes n, NodeId node, const uint64_t* first, vector[TokenId]& tokens) except FAILED nogil:
    """Append the tokens that continue after a node with one of some bytes (4 words)."""
    cdef int32_t k, t, b
    cdef NodeId kid
    for k in range(n.kid_first[node], n.kid_first[node + 1]):
        b = n.kid_byte[k]
        if (first[b >> 6] >> (b & 63)) & 1:
            kid = n.kid_node[k]
            for t in range(n.token_first[kid], n.token_first[n.end[kid]]):
                tokens.push_back(n.tokens[t])
    return 0


@cython.final
cdef class ConstrainedRuns(MaskPart):
    """Finds the tokens of configurations with constrained runs in run tables."""

    def __cinit__(
        self,
        MaskContext context not None,
        MaskArena arena not None,
        Slices slices not None,
        RunSplitter splitter not None,
    ):
        self.arena = arena
        self.slices = slices
        self.splitter = splitter

    cdef int drop(self) except FAILED nogil:
        """Drop the configurations without constraints."""
        self.unconstrained_of.clear()
        self.few_served.clear()
        self.byte_filters.clear()
        self.byte_filter_index.reset()
        return MaskPart.drop(self)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held here."""
        cdef size_t held = 4 * (self.few_served.size() + self.unconstrained_of.size())
        held += sizeof(ByteFilter) * self.byte_filters.size()
        held += self.byte_filter_index.nbytes()
        return held

    cdef TermId unconstrained_state(self, TermId state) except ID_FAILED nogil:
        """Return a state X{m,n} & … continuation without its constraint; other states are unchanged.

        A state [bytes] X{m,n} continuation, as of names, is X{m+1,n+1} continuation with a constraint on its
        first character.
        """
        cdef Term t = self.terms.terms[state]
        cdef Term both = self.terms.terms[t.seq.first] if t.kind == K_SEQ else t
        cdef int32_t k
        cdef TermId kid
        if t.kind == K_SEQ and both.kind == K_SET:
            return self.whole_run(state)
        if both.kind != K_AND:
            return state
        for k in range(both.operands.count):
            kid = self.terms.kids[both.operands.first + k]
            if self.terms.terms[kid].kind != K_REP:
                continue
            if self.runs.code_of(self.terms.terms[kid].rep.item) != NOT_A_CODE:
                return self.terms.mk_seq(kid, t.seq.rest) if t.kind == K_SEQ else kid
        return state

    cdef TermId whole_run(self, TermId state) except ID_FAILED nogil:
        """Return X{m+1,n+1} continuation for [bytes] X{m,n} continuation if some of the bytes begin X.

        Return other states as they are.
        """
        cdef Term t = self.terms.terms[state]
        cdef Term next = self.terms.terms[t.seq.rest]
        cdef Term run = self.terms.terms[next.seq.first] if next.kind == K_SEQ else next
        cdef Repetition r
        cdef int32_t k
        cdef CodeId code
        cdef TermId whole
        cdef bint shared = False
        cdef const uint64_t* words
        if run.kind != K_REP:
            return state
        code = self.runs.code_of(run.rep.item)
        if code == NOT_A_CODE or self.splitter.is_narrow(code):
            return state
        words = &self.terms.classes.sets[4 * self.terms.terms[t.seq.first].set_id]
        for k in range(4):
            if words[k] & self.runs.codes[code].first[k]:
                shared = True
        if not shared:
            return state
        r = run.rep
        whole = self.terms.make.mk_rep(self.terms, r.item, r.low + 1, one_more(r.high))
        return self.terms.mk_seq(whole, next.seq.rest if next.kind == K_SEQ else EPS)

    cdef ConfigId unconstrained(self, ConfigId config) except ID_FAILED nogil:
        """Return the configuration without its constraints if it then consists only of runs; else unchanged.

        An unconstrained run may be empty although the constrained one is not. Then calls and returns leave it
        immediately, and their members are added. A configuration with such members does not consist only of
        runs, and is not returned. So the steps and tables of the result always agree. Cached.
        """
        cdef Config c
        cdef Member m
        cdef vector[Member] members
        cdef vector[ConfigId] others
        cdef int32_t i
        cdef TermId state
        cdef ConfigId whole, found = config
        if <size_t>config >= self.unconstrained_of.size():
            self.unconstrained_of.resize(self.space.configs.size(), UNKNOWN)
        if self.unconstrained_of[config] != UNKNOWN:
            return self.unconstrained_of[config]
        c = self.space.configs[config]
        for i in range(c.first, c.first + c.count):
            m = self.space.members[i]
            state = m.state
            if self.splitter.is_steady(m.sem):
                state = self.unconstrained_state(state)
            if state == m.state:
                members.push_back(m)
                continue
            others.push_back(self.space.closed(state, m.frame, m.sem))
            if not leads_on(others.back()) or self.calls(others.back()):
                self.unconstrained_of[config] = config
                return config
        if others.size():
            whole = DEAD if members.empty() else self.space.of_members(members)
            for i in range(<int32_t>others.size()):
                whole = self.space.union_of(whole, others[i])
            self.splitter.split(whole)
            if self.splitter.split_of[whole] == DEAD and self.splitter.split_count[whole]:
                found = whole
        self.unconstrained_of[config] = found
        return found

    cdef bint calls(self, ConfigId config) noexcept nogil:
        """Return whether a configuration has calls of rules that walks do not enter."""
        cdef int32_t p, first = self.space.configs[config].pop_first
        for p in range(first, first + self.space.configs[config].pop_count):
            if self.space.pops[p].callee != NO_CALLEE:
                return True
        return False

    cdef int32_t defer_by_first_byte(
        self, ConfigId config, PlaceId place, vector[DeferredRun]& deferred, vector[NodeId]& left
    ) except ID_FAILED nogil:
        """Leave the tokens under a place to run tables by their first byte, where the constraint allows this.

        A child of the place is left to the tables if its byte begins a run and leads both configurations to
        the same state. ``left`` receives the other children. Return whether tables apply.
        """
        cdef ConfigId unconstrained = self.unconstrained(config)
        cdef int32_t first
        cdef NodeId i, stop
        cdef CodeId code
        cdef ConfigId after
        cdef int32_t t
        cdef NodeId node = node_at(place)
        cdef int32_t served = 0
        cdef Nodes n
        cdef DeferredRun deferred_run
        cdef bint runs
        if unconstrained == config:
            return 0
        first = self.splitter.split_first[unconstrained]
        # with only one run, all tokens left to its table begin with a character of it
        deferred_run.least = self.splitter.split_count[unconstrained] == 1
        for t in range(self.splitter.split_count[unconstrained]):
            after = self.splitter.run_members[self.splitter.split_members[first + t]].continuation
            if not deferred_run.least and self.space.configs[after].pop_count:
                # one run would return while the next byte begins another run
                return 0
        if <size_t>config >= self.few_served.size():
            self.few_served.resize(self.space.configs.size(), 0)
        if self.few_served[config] >= MOST_FAILS:
            return 0
        n = self.context.tries.nodes(place)
        i = node + 1
        stop = n.end[node]
        while i < stop:
            runs = False
            for t in range(self.splitter.split_count[unconstrained]):
                code = self.splitter.run_members[self.splitter.split_members[first + t]].code
                if (self.runs.codes[code].first[n.byte[i] >> 6] >> (n.byte[i] & 63)) & 1:
                    runs = True
            if not runs or self.space.step(config, n.byte[i]) != self.space.step(unconstrained, n.byte[i]):
                left.push_back(i)
            else:
                served += n.end[i] - i
            i = n.end[i]
        if served < FEW_NODES:
            # walking so few nodes costs less than a filter
            self.few_served[config] += 1
            left.clear()
            return 0
        deferred_run.filter = self.filter_without(place, left) if left.size() else NO_FILTER
        deferred_run.place = place
        for t in range(self.splitter.split_count[unconstrained]):
            deferred_run.member = self.splitter.split_members[first + t]
            deferred.push_back(deferred_run)
        return 1

    cdef int defer_without(
        self, ConfigId unconstrained, PlaceId place, vector[TokenId]& tokens, vector[DeferredRun]& deferred
    ) except FAILED nogil:
        """Leave all but some tokens to the run tables of a configuration that consists only of runs."""
        cdef DeferredRun deferred_run
        cdef int32_t k
        deferred_run.filter = self.slices.add_filter(NO_ROW, tokens) if tokens.size() else NO_FILTER
        deferred_run.place = place
        deferred_run.least = 0
        for k in range(self.splitter.split_count[unconstrained]):
            deferred_run.member = self.splitter.split_members[self.splitter.split_first[unconstrained] + k]
            deferred.push_back(deferred_run)
        return 0

    cdef bint begin_spelling(self, int32_t first, int32_t count, NodeId node) except FAILED nogil:
        """Queue the strings that an intersection excludes; return whether all operands but one exclude some.

        ``first``, ``count``: its operands.
        """
        cdef SpelledString at
        cdef Term u
        cdef int32_t k
        self.spelled.clear()
        self.spelled_continuations.clear()
        at.node = node
        at.continuation = NOTHING_MORE
        at.state = 0
        for k in range(first, first + count):
            u = self.terms.terms[self.terms.kids[k]]
            if u.kind == K_NOT:
                at.term = u.negated
                self.spelled.push_back(at)
        return <int32_t>self.spelled.size() >= count - 1

    cdef bint exclude_strings(
        self, ConfigId config, PlaceId place, vector[DeferredRun]& deferred
    ) except FAILED nogil:
        """Leave nearly all tokens under a place to run tables for X{m,} & !strings … continuation.

        If a key must not be one of some names, the exceptions are the tokens that end such a name. They are
        found by spelling the strings down the trie. A token is forbidden only if it spells one of the strings
        and goes into the continuation after it. Other tokens keep an alternative: X{m,} without some strings
        is never empty, and the continuation begins with no byte of X, so a text has one reading.
        Cost: the nodes that spell prefixes of the strings. Return whether the configuration has this form.
        """
        cdef ConfigId unconstrained = self.unconstrained(config)
        cdef TermId rest = EPS
        cdef int32_t k, strings = 0
        cdef Config c = self.space.configs[config]
        cdef Nodes n
        cdef RunMember member
        cdef Term u, both
        cdef SpelledString at, on
        cdef uint64_t after_run[4]
        cdef const int16_t* table
        cdef vector[TokenId] tokens
        if unconstrained == config or c.count != 1 or self.splitter.split_count[unconstrained] != 1:
            return False
        k = self.splitter.split_first[unconstrained]
        member = self.splitter.run_members[self.splitter.split_members[k]]
        if self.space.configs[member.continuation].pop_count:
            return False
        u = self.terms.terms[self.space.members[c.first].state]
        if member.high != UNBOUNDED or (u.flags & F_IMPURE and self.terms.classes.has_guards()):
            return False
        both = u
        if u.kind == K_SEQ:
            both, rest = self.terms.terms[u.seq.first], u.seq.rest
        # the run may include one that comes after the strings
        if both.kind != K_AND or member.state != rest:  # mutant: longer-run
            return False
        if not self.begin_spelling(both.operands.first, both.operands.count, node_at(place)):
            return False
        self.splitter.first_of(member.continuation, after_run)
        n = self.context.tries.nodes(place)
        table = &self.runs.table[self.runs.codes[member.code].table_first]
        for k in range(256):
            if has_bit(after_run, k) and table[k] >= 0:
                return False
        strings = 0
        while not self.spelled.empty():
            at = self.spelled.back()
            self.spelled.pop_back()
            strings += 1
            if strings > MOST_SPELLED or tokens.size() > MOST_EXCLUDED:
                return False
            if at.term == EPS:
                if at.continuation != NOTHING_MORE:
                    at.term = self.spelled_continuations[at.continuation].first
                    at.continuation = self.spelled_continuations[at.continuation].second
                    self.spelled.push_back(at)
                elif at.state == 0:
                    append_tokens(n, at.node, after_run, tokens)
                continue
            u = self.terms.terms[at.term]
            if u.kind == K_ALT:
                on = at
                for k in range(u.operands.first, u.operands.first + u.operands.count):
                    on.term = self.terms.kids[k]
                    self.spelled.push_back(on)
            elif u.kind == K_SEQ:
                self.spelled_continuations.push_back(pair[TermId, int32_t](u.seq.rest, at.continuation))
                at.term = u.seq.first
                at.continuation = <int32_t>self.spelled_continuations.size() - 1
                self.spelled.push_back(at)
            elif u.kind == K_LIT:
                for k in range(u.literal.length):
                    at.node = child_of(n, at.node, self.terms.pool[u.literal.first + k])
                    at.state = table[256 * at.state + self.terms.pool[u.literal.first + k]]
                    if at.node == NO_NODE or at.state < 0:
                        break
                if at.node != NO_NODE and at.state >= 0:
                    at.term = EPS
                    self.spelled.push_back(at)
            elif u.kind == K_SET:
                on = at
                on.term = EPS
                for k in range(n.kid_first[at.node], n.kid_first[at.node + 1]):
                    if self.terms.classes.set_has(u.set_id, n.kid_byte[k]):
                        on.node = n.kid_node[k]
                        on.state = table[256 * at.state + n.kid_byte[k]]
                        if on.state >= 0:
                            self.spelled.push_back(on)
            else:
                return False
        if tokens.size() > MOST_EXCLUDED:
            return False
        self.defer_without(unconstrained, place, tokens, deferred)
        return True

    cdef ConfigId defer_runs(
        self,
        ConfigId config,
        PlaceId place,
        vector[DeferredRun]& deferred,
        vector[PlaceId]& jobs,
        vector[ConfigId]& job_configs,
    ) except ID_FAILED nogil:
        """Leave the tokens under a place to run tables as far as possible.

        Return the configuration to walk with, or DEAD. Single children that must be walked become jobs.
        """
        cdef DeferredRun deferred_run
        cdef vector[NodeId] left
        cdef ConfigId continuation
        cdef size_t k
        cdef Nodes n = self.context.tries.nodes(place)
        if not self.context.layers.runs:
            return config
        if self.space.configs[config].sure != self.space.configs[config].count:
            return config
        if not self.space.configs[config].count:
            return config
        if trie_of(place) and self.context.tries.twice[node_at(place)]:
            return config
        if n.end[node_at(place)] - node_at(place) <= FEW_NODES:
            return DEAD if self.defer_one_run(config, place, deferred) else config
        self.splitter.split(config)
        continuation = self.splitter.split_of[config]
        deferred_run.place = place
        deferred_run.filter = NO_FILTER
        deferred_run.least = 0
        for k in range(<size_t>self.splitter.split_count[config]):
            deferred_run.member = self.splitter.split_members[self.splitter.split_first[config] + k]
            deferred.push_back(deferred_run)
        if continuation == DEAD:
            return continuation
        if self.exclude_strings(continuation, place, deferred):
            return DEAD
        if not self.defer_by_first_byte(continuation, place, deferred, left):
            return continuation
        for k in range(left.size()):
            jobs.push_back(place_at(left[k], trie_of(place) | INCLUSIVE))
            job_configs.push_back(continuation)
        return DEAD

    cdef bint defer_one_run(
        self, ConfigId config, PlaceId place, vector[DeferredRun]& deferred
    ) except FAILED nogil:
        """Leave all tokens of a small subtree to run tables. Return whether the tables apply.

        They apply to a single run with excluded strings, as after the quote of an undeclared key, which would
        need separate configurations. They also apply to a single run over a suffix trie, which has no
        summaries of subtrees.
        """
        cdef Config c = self.space.configs[config]
        cdef Term t
        cdef DeferredRun deferred_run
        if c.count != 1:
            return False
        t = self.terms.terms[self.space.members[c.first].state]
        if t.kind == K_SEQ:
            t = self.terms.terms[t.seq.first]
        if t.kind == K_AND:
            return self.exclude_strings(config, place, deferred)
        if t.kind != K_REP or not trie_of(place):
            return False
        self.splitter.split(config)
        if self.splitter.split_of[config] != DEAD:
            return False
        deferred_run.place = place
        deferred_run.filter = NO_FILTER
        deferred_run.least = 0
        deferred_run.member = self.splitter.split_members[self.splitter.split_first[config]]
        deferred.push_back(deferred_run)
        return True

    cdef FilterId filter_without(self, PlaceId place, vector[NodeId]& nodes) except ID_FAILED nogil:
        """Return the filter that removes the tokens of some children of a place. Cached."""
        cdef Nodes n = self.context.tries.nodes(place)
        cdef ByteFilter entry
        cdef uint64_t h = mix(61, <uint32_t>place)
        cdef vector[TokenId] nothing_else
        cdef int32_t known, t, b
        cdef RowId made
        cdef NodeId i
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
            known = self.byte_filter_index.get(h)
            if known == NO_VALUE:
                break
            if self.byte_filters[known].place == place:
                k = 0
                while k < 4 and self.byte_filters[known].words[k] == entry.words[k]:
                    k += 1
                if k == 4:
                    return self.byte_filters[known].filter
            h += 1
        made = self.arena.new_row()
        row = self.arena.rows[made]
        memset(row, 0xFF, 4 * <size_t>self.context.width)
        for k in range(nodes.size()):
            i = nodes[k]
            for t in range(n.token_first[i], n.token_first[n.end[i]]):
                row[n.tokens[t] >> 5] &= ~(<uint32_t>1 << (n.tokens[t] & 31))
        entry.filter = self.slices.add_filter(made, nothing_else)
        self.byte_filter_index.put(h, <int32_t>self.byte_filters.size())
        self.byte_filters.push_back(entry)
        return entry.filter
