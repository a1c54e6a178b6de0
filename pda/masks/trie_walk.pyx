# distutils: language = c++
"""The walk: one pass over a token trie from a local state, with the frame unknown.

A walk classifies all tokens:

- Some are allowed with any stack. They become a list, or a row of bits if there are many.
- Some end while a follow restriction is pending. They are allowed if the frame can satisfy it.
- Some return into the frame with bytes left over. The walk records the places (trie positions) of these
  returns, in groups by the guard and the semantic state there.
- Some depend on the semantic state: a resolver, or an action that may forbid. The walk records these places.

The loop descends the trie as long as the configuration is alive. A subtree in which all tokens behave alike
is processed as a whole (``subtree_acceptance``). Runs of one character class are left to tables
(``constrained_runs``).
"""

cimport cython
from libc.stdint cimport int8_t, int64_t, uint64_t, uint8_t
from libc.string cimport memset
from libcpp.algorithm cimport copy, fill, find
from libcpp.utility cimport move
from libcpp.vector cimport vector

from stackmask.pda.context.callables cimport KEY_OF_ONE
from stackmask.pda.ids cimport (
    BITS_FAILED,
    FAILED,
    ID_FAILED,
    NO_CALLEE,
    NO_ROW,
    NO_SUMMARY,
    GuardId,
    MapId,
    TokenClassId,
    TokenId,
    WalkGroupId,
    WalkPendingId,
)
from stackmask.pda.masks.arena cimport SPARSE, MaskContext, MaskPart
from stackmask.pda.masks.run_tables cimport NOT_A_CODE, Code
from stackmask.pda.masks.token_partition cimport NO_END, AllowedRuns
from stackmask.pda.memory.byte_sets cimport count_bits, lowest_bit
from stackmask.pda.stack.configuration_table cimport (
    DEAD,
    NEVER_A_ROW,
    NO_ROW_YET,
    READS_STATE,
    UNKNOWN,
    Config,
    Member,
    leads_on,
)
from stackmask.pda.terms.term_table cimport ANY_BYTE, EMPTY, F_CALL, token_symbol
from stackmask.pda.text cimport utf8_steps
from stackmask.pda.vocabulary.suffix_tries cimport ALL_UNDER, INCLUSIVE, Nodes, is_inclusive, node_at, place_at, trie_of
from stackmask.pda.vocabulary.token_trie cimport SubtreeSummary


# ------------------------------------------------------------------------------------------------
# Subtrees of the vocabulary whose tokens need not be walked one by one.
#
# There are two cases. One *member* accepts all strings of the characters in the subtree, as an alternative X*
# does. Then all tokens of the subtree are allowed, whatever the other members do. Or all strings of these
# characters lead to configurations that are *alike*: tokens end in all of them alike, as inside of a string, of
# a counted string whose bound is out of reach, or of a text before a pattern that is searched for.
#
# Only characters of the subtree are tried: steps by others could make large configurations that no token needs.
# ------------------------------------------------------------------------------------------------


cdef enum:
    QUERIES = 3             # a configuration is looked at from this query on
    MOST_REACHED = 64       # configurations that a search reaches
    FEW_STEPS = 16          # a search takes at most so many steps more than a walk of the subtree
    LOOK_AHEAD = 8          # characters that a search goes on beyond the height of the subtree
    MOST_VAIN = 8           # searches of one configuration without an answer, one after the other
    WORTH_SHARING = 8       # characters for which what it found is told to the configurations reached


cdef inline bint holds(const Characters& all, const Characters& some) noexcept nogil:
    # Return whether all characters of one class are in another.
    return not (
        some.ascii[0] & ~all.ascii[0] or some.ascii[1] & ~all.ascii[1] or some.leads & ~all.leads
    )


cdef inline bint share(const Characters& a, const Characters& b) noexcept nogil:
    # Return whether two classes share a character.
    return (a.ascii[0] & b.ascii[0] or a.ascii[1] & b.ascii[1] or a.leads & b.leads) != 0


cdef inline void add_characters(Characters* all, const Characters& more) noexcept nogil:
    all.ascii[0] |= more.ascii[0]
    all.ascii[1] |= more.ascii[1]
    all.leads |= more.leads


cdef inline bint has_byte(const uint64_t* words, int32_t byte) noexcept nogil:
    return (words[byte >> 6] >> (byte & 63)) & 1


@cython.final
cdef class SubtreeAcceptance(MaskPart):
    """The behaviour of a configuration on whole subtrees of the vocabulary."""

    def __cinit__(self, MaskContext context not None, TokenPartition partition not None):
        self.trie = context.trie
        self.partition = partition

    cdef int drop(self) except FAILED nogil:
        """Drop the facts about configurations."""
        self.known_at.clear()
        self.queries.clear()
        self.known.clear()
        return MaskPart.drop(self)

    cdef int use(self, ConfigSpace space) except FAILED nogil:
        """Classify configurations of another space from now on. Facts about other spaces are dropped."""
        with gil:
            self.space = space
        self.terms.meter.spend(space.configs.size() // 64)
        self.known_at.clear()
        self.queries.clear()
        self.known.clear()
        return 0

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held here."""
        return 5 * self.known_at.size() + sizeof(KnownCharacters) * self.known.size()

    cdef int classify(self, ConfigId config, SummaryId summary, int32_t nodes) except FAILED nogil:
        """Classify a subtree with ``nodes`` nodes for a configuration, by the index of the subtree's summary.

        SAME_STATE: every string of the subtree leads to configurations like this one. ALL_ALLOWED: one member
        accepts all strings of the subtree. DESCEND: neither is known. Most configurations are queried once,
        so the first queries are not answered.
        """
        cdef const SubtreeSummary* at = &self.trie.summaries[summary]
        cdef KnownCharacters* known
        cdef Characters characters
        cdef int verdict
        if <size_t>config >= self.known_at.size():
            self.known_at.resize(self.space.configs.size())
            self.queries.resize(self.space.configs.size())
        if not self.known_at[config]:
            self.queries[config] += 1
            if self.queries[config] < QUERIES:
                return DESCEND
            self.begin(config)
        known = self.known_of(config)
        verdict = classify_known(at, known[0])
        if verdict != DESCEND or not known.is_searchable:
            return verdict
        characters.ascii[0] = at.ascii[0]
        characters.ascii[1] = at.ascii[1]
        characters.leads = at.leads
        if share(characters, known.stops) or (known.is_final and holds(known.alike, characters)):
            return DESCEND
        self.search(config, characters, at.height, nodes + FEW_STEPS)
        known = self.known_of(config)
        verdict = classify_known(at, known[0])
        known.vain = known.vain + 1 if verdict == DESCEND else 0
        if known.vain == MOST_VAIN:
            known.is_searchable = False
        return verdict

    cdef KnownCharacters* known_of(self, ConfigId config) noexcept nogil:
        """Return the facts about a configuration, or NULL. They are invalid after the next `begin`."""
        if <size_t>config >= self.known_at.size() or not self.known_at[config]:
            return NULL
        return &self.known[self.known_at[config] - 1]

    cdef int begin(self, ConfigId config) except FAILED nogil:
        """Find the member of a configuration that accepts all runs of the largest class of characters."""
        cdef KnownCharacters known
        cdef AllowedRuns found
        cdef Member m
        cdef Code code
        cdef int32_t i, size, largest = 0
        if <size_t>config >= self.known_at.size():
            self.known_at.resize(self.space.configs.size())
            self.queries.resize(self.space.configs.size())
        memset(&known, 0, sizeof(KnownCharacters))
        # new configurations of families may be large
        known.is_searchable = self.space.table.is_walk and self.are_alike(config, config)
        for i in range(self.space.configs[config].count if self.context.layers.accepted else 0):
            m = self.space.members[self.space.configs[config].first + i]
            if self.context.semantics.keeps_bytes(m.sem) or self.space.configs[config].capturing:
                continue
            if self.space.frames[m.frame].keys_forbid or self.space.frames[m.frame].action_forbids:
                continue
            self.partition.allowed_runs(self.space, m.state, m.frame, &found)
            if found.code == NOT_A_CODE:
                continue
            code = self.runs.codes[found.code]
            size = count_bits(code.single, 2) + count_bits(&code.leads, 1)
            if size > largest:
                # letters of a name, and not the blanks after it
                largest = size
                known.high = found.high
                known.accepted.ascii[0] = code.single[0]
                known.accepted.ascii[1] = code.single[1]
                known.accepted.leads = code.leads
        self.known.push_back(known)
        self.known_at[config] = <int32_t>self.known.size()
        return 0

    cdef bint are_alike(self, ConfigId a, ConfigId b) noexcept nogil:
        """Return whether tokens end alike in two configurations.

        If they may end with any stack, returns allow no further tokens. Otherwise both must return alike.
        """
        cdef Config x = self.space.configs[a]
        cdef Config y = self.space.configs[b]
        cdef int32_t k
        if not x.count or x.sure != x.count or not y.count or y.sure != y.count:
            return False
        if x.capturing or y.capturing or x.reads != y.reads or x.ends != y.ends:
            return False
        if x.ends & 1:
            return True
        if x.pop_count != y.pop_count:
            return False
        for k in range(x.pop_count):
            if (
                self.space.pops[x.pop_first + k].guard != self.space.pops[y.pop_first + k].guard
                or self.space.pops[x.pop_first + k].sem != self.space.pops[y.pop_first + k].sem
                or self.space.pops[x.pop_first + k].callee != self.space.pops[y.pop_first + k].callee
            ):
                return False
        return True

    cdef int search(
        self, ConfigId config, const Characters& characters, int32_t height, int32_t steps
    ) except FAILED nogil:
        """Find the length up to which all strings of some characters lead to configurations like this one.

        ``height``: the required length; the search continues a bit further. ``steps``: the maximum number of
        steps. The result also holds for the configurations on the path, up to a length that is shorter by the
        characters before them.
        """
        cdef size_t begin = 0, end = 0, k
        cdef int32_t length = 0, left
        cdef Characters all
        cdef KnownCharacters* known
        self.reached.clear()
        self.levels.clear()
        self.reached.push_back(config)
        self.levels.push_back(0)
        self.steps_left = steps
        while length < height + LOOK_AHEAD:
            end = self.reached.size()
            if not self.reach_level(begin, characters):
                break
            begin = end
            length = length + 1 if begin < self.reached.size() else NO_END
        self.terms.meter.spend(8 * (steps - self.steps_left))
        if not length:
            return 0
        # keep those from which a step by each of the characters was taken
        self.reached.resize(begin)
        all = self.alike_bytes(characters) if length >= height else characters
        known = self.known_of(config)
        if length == NO_END and self.reached.size() == 1:
            known.is_loop = True
            add_characters(&known.itself, all)
            return 0
        for k in range(self.reached.size()):
            left = length if length == NO_END else length - self.levels[k]
            if k and left < WORTH_SHARING:
                break
            if self.known_of(self.reached[k]) == NULL:
                self.begin(self.reached[k])
            known = self.known_of(self.reached[k])
            if not k or left > known.length:
                known.alike = all
                known.length = left
                known.is_final = length < height + LOOK_AHEAD and self.steps_left >= 0
        return 0

    cdef bint reach_level(self, size_t begin, const Characters& characters) except FAILED nogil:
        """Add the last configurations' successors after some characters. Return whether all are alike."""
        cdef size_t k, end = self.reached.size()
        for k in range(begin, end):
            if not self.reach_from(k, characters):
                return False
        return True

    cdef bint reach_from(self, size_t number, const Characters& characters) except FAILED nogil:
        """As ``reach_level``, for one configuration. Characters with one class of bytes are equivalent."""
        cdef ConfigId config = self.reached[number], target
        cdef int32_t b, state, of, word
        cdef MapId map
        cdef uint64_t left, seen[4]     # seen: classes of bytes
        cdef ConfigId mid[8]    # by state of UTF-8: the configuration inside of a character met last
        cdef const int8_t* steps = utf8_steps()
        if self.space.configs[config].row == NO_ROW_YET:
            self.space.make_row(config)
        if self.space.configs[config].row == NEVER_A_ROW:
            return False
        map = self.space.configs[config].map
        memset(seen, 0, sizeof(seen))
        for word in range(2):
            left = characters.ascii[word]
            while left:
                b = 64 * word + lowest_bit(left)
                left &= left - 1
                of = self.terms.classes.maps[map].of[b]
                if has_byte(seen, of):
                    continue
                seen[of >> 6] |= <uint64_t>1 << (of & 63)
                target = self.space.step(config, b) if self.is_cheap(config, b) else DEAD
                if not self.reach(number, target):
                    if not number and self.steps_left >= 0:
                        self.known_of(config).stops.ascii[word] |= <uint64_t>1 << (b & 63)
                    return False
        left = characters.leads
        if left:
            for state in range(8):
                mid[state] = DEAD
        while left:
            b = 0xC0 + lowest_bit(left)
            left &= left - 1
            state = steps[b]
            target = self.space.step(config, b) if state > 0 and self.is_cheap(config, b) else DEAD
            if leads_on(target):
                if mid[state] == target:
                    continue
                mid[state] = target
                target = self.completed(config, state, target)
            if not self.reach(number, target):
                if not number and self.steps_left >= 0:
                    self.known_of(config).stops.leads |= <uint64_t>1 << (b - 0xC0)
                return False
        return True

    cdef bint is_cheap(self, ConfigId config, int32_t byte) except FAILED nogil:
        """Return whether a step is known, or is new but without calls and returns.

        A step with calls or returns nearly always leads to different and large configurations.
        """
        cdef int32_t i
        cdef Member m
        cdef TermId after
        if self.space.table.known_step(config, byte) != UNKNOWN:
            return True
        for i in range(self.space.configs[config].count):
            m = self.space.members[self.space.configs[config].first + i]
            after = self.terms.step(m.state, byte)
            if after == EMPTY or after == m.state:
                continue
            if self.terms.terms[after].flags & F_CALL:
                return False
            if self.terms.terms[after].nu.possible() and not self.terms.terms[m.state].nu.possible():
                return False
        return True

    cdef bint reach(self, size_t number, ConfigId target) except FAILED nogil:
        """Add a successor of a configuration. Return whether it is alike, so that the search may continue.

        If a limit ends the search, ``steps_left`` is negative.
        """
        self.steps_left -= 1
        if self.steps_left < 0:
            return False
        if not leads_on(target) or not self.are_alike(self.reached[0], target):
            return False
        if find(self.reached.begin(), self.reached.end(), target) == self.reached.end():
            if self.reached.size() == MOST_REACHED:
                self.steps_left = -1
                return False
            self.reached.push_back(target)
            self.levels.push_back(self.levels[number] + 1)
        return True

    cdef Characters alike_bytes(self, const Characters& characters) noexcept nogil:
        """Return the characters with the same successors as the given ones, from all configurations reached."""
        cdef Characters all
        cdef uint64_t of_given[8][4]    # by state of UTF-8 after a byte: the classes of the given bytes
        cdef int32_t b
        cdef size_t k
        cdef MapId map
        cdef vector[MapId] done
        cdef const uint8_t* of
        cdef const int8_t* steps = utf8_steps()
        memset(&all, 0xFF, sizeof(Characters))
        if not characters.leads:
            all.leads = 0
        for k in range(self.reached.size()):
            map = self.space.configs[self.reached[k]].map
            if find(done.begin(), done.end(), map) != done.end():
                continue
            done.push_back(map)
            of = self.terms.classes.maps[map].of
            memset(of_given, 0, sizeof(of_given))
            for b in range(128):
                if has_byte(characters.ascii, b):
                    of_given[0][of[b] >> 6] |= <uint64_t>1 << (of[b] & 63)
            for b in range(128):
                if not has_byte(of_given[0], of[b]):
                    all.ascii[b >> 6] &= ~(<uint64_t>1 << (b & 63))
            if not all.leads:
                continue
            for b in range(0xC0, 0x100):
                if (characters.leads >> (b - 0xC0)) & 1:
                    of_given[steps[b]][of[b] >> 6] |= <uint64_t>1 << (of[b] & 63)
            for b in range(0xC0, 0x100):
                if steps[b] <= 0 or not has_byte(of_given[steps[b]], of[b]):
                    all.leads &= ~(<uint64_t>1 << (b - 0xC0))
        return all

    cdef ConfigId completed(self, ConfigId config, int32_t state, ConfigId target) except ID_FAILED nogil:
        """Return the successor after a character begun in ``config``, or DEAD if there are several.

        ``state``: the state of UTF-8 after its first byte. ``target``: the configuration there. Tokens that
        end inside the character must be allowed like tokens that end before it.
        """
        cdef ConfigId partner[8]
        cdef int32_t queue[8]
        cdef int32_t head = 0, count = 1, b, s, of, last_state, last_of
        cdef ConfigId t
        cdef MapId map
        cdef const int8_t* steps = utf8_steps()
        for s in range(8):
            partner[s] = DEAD
        partner[state] = target
        queue[0] = state
        while head < count:
            state = queue[head]
            target = partner[state]
            head += 1
            if (
                not self.space.configs[target].count
                or self.space.configs[target].sure != self.space.configs[target].count
                or self.space.configs[target].pop_count
                or self.space.configs[target].capturing
                or self.space.configs[target].ends != self.space.configs[config].ends
                or self.space.configs[target].reads != self.space.configs[config].reads
            ):
                return DEAD
            if self.space.configs[target].row == NO_ROW_YET:
                self.space.make_row(target)
            map = self.space.configs[target].map
            last_state = last_of = -1
            for b in range(0x80, 0xC0):
                s = steps[256 * state + b]
                of = self.terms.classes.maps[map].of[b]
                if s < 0 or (s == last_state and of == last_of):
                    continue
                last_state = s
                last_of = of
                t = self.space.step(target, b)
                if not leads_on(t):
                    return DEAD
                if partner[s] == DEAD:
                    partner[s] = t
                    if s:
                        queue[count] = s
                        count += 1
                elif partner[s] != t:
                    return DEAD
        return partner[0]

    cdef bint may_follow(self, Nodes n, NodeId node, GuardId guard) noexcept nogil:
        """Return whether a guard allows some byte that comes after a node."""
        cdef int32_t k
        if guard == ANY_BYTE:
            return True
        for k in range(n.kid_first[node], n.kid_first[node + 1]):
            if self.terms.classes.guard_has(guard, n.kid_byte[k]):
                return True
        return False

    cdef bint allows(self, uint64_t guards, uint8_t byte) noexcept nogil:
        """Return whether some guard of a set, given as bits, allows a byte."""
        cdef GuardId g = 0
        while guards:
            if guards & 1 and self.terms.classes.guard_has(g, byte):
                return True
            guards >>= 1
            g += 1
        return False

    cdef int note_readers(self, PlaceId place, uint64_t guards, vector[PlaceId]& readers) except FAILED nogil:
        """Record the places where omitted members continue under some guards: a place, or its children."""
        cdef Nodes n = self.context.tries.nodes(place)
        cdef int32_t k
        cdef NodeId node = node_at(place)
        if not guards:
            return 0
        if guards & 1:
            readers.push_back(place)
        elif is_inclusive(place):
            if self.allows(guards, n.byte[node]):
                readers.push_back(place)
        else:
            for k in range(n.kid_first[node], n.kid_first[node + 1]):
                if self.allows(guards, n.kid_byte[k]):
                    readers.push_back(place_at(n.kid_node[k], trie_of(place) | INCLUSIVE))
        return 0

    cdef bint meets(self, SummaryId summary, uint64_t guards) noexcept nogil:
        """Return whether any of the guards may allow a byte of the characters in a subtree."""
        cdef const SubtreeSummary* at = &self.trie.summaries[summary]
        cdef const uint64_t* words
        cdef GuardId guard
        while guards:
            guard = lowest_bit(guards)
            guards &= guards - 1
            if guard == ANY_BYTE:
                return (at.ascii[0] | at.ascii[1] | at.leads) != 0
            words = &self.terms.classes.sets[4 * self.terms.classes.guard_sets[guard]]
            if words[0] & at.ascii[0] or words[1] & at.ascii[1] or (at.leads and words[2] | words[3]):
                return True
        return False


cdef enum:
    MANY_PLACES = 128   # of so many, some may be under others
    RUN_NODES = 64      # a smaller subtree is walked; its runs are not looked up
    FEWER_NODES = 8     # suffixes of more than one node of so many are not grouped at once

# what `emit` returns for a node
cdef enum:
    SKIP = 0            # its children need no walk
    WALK_BELOW = 1
    WALK_READING = 2        # ... but some members were omitted (see emit_readers), so run tables do not apply


cdef inline bint is_inside_character(const Nodes& n, NodeId node) noexcept nogil:
    # Return whether the bytes after a node come only inside of a character.
    cdef int32_t k = n.kid_first[node]
    return k < n.kid_first[node + 1] and 0x80 <= n.kid_byte[k] < 0xC0


cdef inline bint meets_again(const WalkState* s, const Nodes& n, NodeId node, ConfigId c) noexcept nogil:
    # Note a configuration at a node. Return whether the walk continued from it there before; inside of a
    # character this is not known, since `meet_all` notes one configuration for a whole subtree.
    cdef uint64_t here = s.mark | <uint64_t>c
    if s.met[node] == here and not is_inside_character(n, node):
        return True
    s.met[node] = here
    return False


cdef inline int64_t meet_all(const WalkState* s, NodeId first, NodeId stop, ConfigId c) noexcept nogil:
    # Note a configuration at all nodes of a subtree; return the units of work.
    fill(s.met + first, s.met + stop, s.mark | <uint64_t>c)
    return (stop - first) >> 4


cdef inline void interrupt(WalkState* s, ConfigId above, int32_t k, int32_t kid_end, int32_t depth) noexcept nogil:
    # Store where the walk of a place is interrupted.
    s.is_inside = True
    s.above = above
    s.k = k
    s.kid_end = kid_end
    s.depth = depth


cdef inline int take(
    TrieWalk walk, NodeId node, NodeId stop_node, WalkState* s, WalkResult& out
) except FAILED nogil:
    """Allow the tokens of the nodes from ``node`` to before ``stop_node`` with any stack."""
    cdef int32_t t = s.nodes.token_first[node], stop = s.nodes.token_first[stop_node]
    if out.bits != NULL:
        allow(out.bits, s.nodes.tokens, t, stop)
    elif t < stop:
        out.few.insert(out.few.end(), s.nodes.tokens + t, s.nodes.tokens + stop)
        if out.few.size() > s.most:
            out.dense = walk.arena.row_of(out.few)
            out.bits = walk.arena.rows[out.dense]
    return 0


@cython.final
cdef class TrieWalk(MaskPart):
    """Performs walks, one at a time. No data are kept between walks."""

    def __cinit__(
        self,
        MaskContext context not None,
        MaskArena arena not None,
        ConstrainedRuns constrained not None,
        SubtreeAcceptance acceptance not None,
    ):
        self.trie = context.trie
        self.arena = arena
        self.constrained = constrained
        self.acceptance = acceptance
        self.stack.resize(self.trie.max_depth + 2, 0)
        self.next_kid.resize(self.trie.max_depth + 2, 0)
        self.last_kid.resize(self.trie.max_depth + 2, 0)
        self.walks = 0
        self.marks = 0
        self.visited_nodes = 0
        self.taken = 0

    cdef int walk(
        self, const WalkQuery& query, vector[PlaceId]& places, WalkResult& out, CutWalk* cut
    ) except FAILED nogil:
        """Walk the subtrees at some places. Write the result to ``out``, which must be new.

        ``cut``: the state of an interrupted walk whose result is ``out``, or NULL. If the work limit is
        reached, this walk is interrupted, and the result is incomplete. Returns of the start itself, before
        any byte, are not recorded: see ``LocalMasks.keep_groups``.
        """
        cdef WalkState s
        cdef size_t r
        if cut != NULL:
            s = cut.state
            self.jobs.swap(cut.jobs)
            self.job_configs.swap(cut.job_configs)
            copy(cut.stack.begin(), cut.stack.end(), self.stack.begin())
            copy(cut.next_kid.begin(), cut.next_kid.end(), self.next_kid.begin())
            copy(cut.last_kid.begin(), cut.last_kid.end(), self.last_kid.begin())
            self.begin_met(places.size(), &s)
            return self.walk_jobs(query, places, cut.job, &s, out)
        out.bits = NULL
        out.dense = NO_ROW
        out.suffix_nodes = 0
        out.has_calls = out.are_many = out.is_ungrouped = out.reads_tokens = False
        self.walks += 1
        if query.start == READS_STATE:
            out.readers.assign(places.begin(), places.end())
        elif query.start != DEAD:
            s.most = <size_t>(self.context.width // SPARSE)
            s.most_suffix_nodes = self.trie.nodes // FEWER_NODES
            s.is_inside = False
            s.nodes = self.context.tries.nodes(0)
            s.in_suffix_trie = 0
            self.begin_met(places.size(), &s)
            s.unconditional = s.self_loop = DEAD
            memset(&s.loop, 0, sizeof(KnownCharacters))
            self.jobs.assign(places.begin(), places.end())
            self.job_configs.assign(places.size(), query.start)
            for r in range(places.size() if self.space.configs[query.start].reads else 0):
                self.acceptance.note_readers(places[r], self.space.configs[query.start].reads, out.readers)
            return self.walk_jobs(query, places, 0, &s, out)
        if query.with_tokens:
            self.emit_special_tokens(query, out)
        return 0

    cdef size_t nbytes_of_vocabulary(self) noexcept nogil:
        """Return the bytes of the table of nodes, which is kept."""
        return 8 * self.met.size()

    cdef int begin_met(self, size_t places, WalkState* s) except FAILED nogil:
        """Let a walk of many places note which configuration it met at a node.

        Places may be under each other, as where a name may end anywhere. What follows a node is the same each time.
        """
        s.met = NULL
        if places < MANY_PLACES:
            return 0
        self.marks += 1
        if self.met.empty() or not self.marks:
            self.marks = 1
            self.met.assign(self.trie.nodes, 0)
        s.met = self.met.data()
        s.mark = <uint64_t>self.marks << 32
        return 0

    cdef int walk_jobs(
        self, const WalkQuery& query, vector[PlaceId]& places, size_t job, WalkState* s, WalkResult& out
    ) except FAILED nogil:
        """Walk the remaining places, from a given one on."""
        while job < self.jobs.size():
            self.walk_place(query, self.jobs[job], self.job_configs[job], s, out)
            job += not s.is_inside
            if s.is_inside or (job < self.jobs.size() and self.terms.meter.is_spent()):
                return self.keep_cut(query, places, out, s, job)
            self.terms.meter.has_moved = True
        if query.with_tokens:
            self.emit_special_tokens(query, out)
        return 0

    cdef int keep_cut(
        self, const WalkQuery& query, vector[PlaceId]& places, WalkResult& out, const WalkState* s, size_t job
    ) except FAILED nogil:
        """Save an interrupted walk. ``s``: NULL if the walk itself is complete."""
        cdef CutWalk* cut
        self.cut.resize(self.cut.size() + 1)
        cut = &self.cut.back()
        cut.query = query
        cut.places = places
        cut.out = move(out)
        cut.is_done = s == NULL
        if s != NULL:
            cut.state = s[0]
            cut.job = job
            cut.jobs.swap(self.jobs)
            cut.job_configs.swap(self.job_configs)
            cut.stack = self.stack
            cut.next_kid = self.next_kid
            cut.last_kid = self.last_kid
        return 0

    cdef bint take_cut(self, const WalkQuery& query, vector[PlaceId]& places, CutWalk* cut) except FAILED nogil:
        """Restore an interrupted walk, and return True, if there is one."""
        cdef size_t k
        cdef WalkQuery other
        for k in range(self.cut.size()):
            other = self.cut[k].query
            if (
                other.start == query.start
                and other.group == query.group
                and other.strict == query.strict
                and other.must_group == query.must_group
                and other.has_callers == query.has_callers
                and other.with_tokens == query.with_tokens
                and self.cut[k].places == places
            ):
                cut[0] = move(self.cut[k])
                self.cut.erase(self.cut.begin() + k)
                return True
        return False

    cdef bint copy_cut_places(self, const WalkQuery& query, vector[PlaceId]& places) except FAILED nogil:
        """Copy the places of an interrupted walk from a group's suffixes; return whether there is one."""
        cdef size_t k
        for k in range(self.cut.size()):
            if (
                self.cut[k].query.start == query.start
                and self.cut[k].query.group == query.group
                and self.cut[k].query.strict == query.strict
                and self.cut[k].query.after_run == query.after_run
            ):
                places = self.cut[k].places
                return True
        return False

    cdef int forget_cut(self) except FAILED nogil:
        """Drop the interrupted walks: a new fill begins."""
        while not self.cut.empty():
            self.arena.give_back_row(self.cut.back().out.dense)
            self.cut.pop_back()
        return 0

    cdef int walk_place(
        self, const WalkQuery& query, PlaceId place, ConfigId c, WalkState* s, WalkResult& out
    ) except FAILED nogil:
        """Walk the subtree at one place from a configuration."""
        cdef ConfigId* stack = self.stack.data()
        cdef const SummaryId* summary_of = self.trie.summary_of.data()
        cdef Nodes nodes
        cdef NodeId i = node_at(place)
        cdef ConfigId above
        cdef int32_t k = 0, kid_end = 0, depth = 0
        cdef bint own_byte = is_inclusive(place)
        cdef uint64_t visited = 0
        cdef int verdict, then
        cdef bint meets, subtrees = self.context.layers.subtrees
        if trie_of(place) or s.in_suffix_trie:
            s.nodes = self.context.tries.nodes(place)  # suffix tries move as they grow
            s.in_suffix_trie = trie_of(place)
        nodes = s.nodes
        meets = s.met != NULL and not s.in_suffix_trie
        if s.is_inside:
            s.is_inside = own_byte = False
            k = s.k
            kid_end = s.kid_end
            depth = s.depth
            c = s.above
        else:
            s.covered = 0
            if not own_byte:
                c = self.defer_at(query, place, nodes, c, out)
                if c == DEAD:
                    return 0
                k = nodes.kid_first[i]
                kid_end = nodes.kid_first[i + 1]
        above = c
        while True:
            if own_byte:
                own_byte = False
                c = self.space.step(above, nodes.byte[i])
            elif k < kid_end:
                k = next_alive(self.space, above, nodes, k, kid_end, &c)
                if k == kid_end:
                    continue
                if c == UNKNOWN:
                    c = self.space.step(above, nodes.kid_byte[k])
                i = nodes.kid_node[k]
                k += 1
            elif depth:
                depth -= 1
                k = self.next_kid[depth]
                kid_end = self.last_kid[depth]
                above = stack[depth]
                continue
            else:
                break
            if not leads_on(c):
                if c == READS_STATE:
                    out.readers.push_back(place_at(i, s.in_suffix_trie | INCLUSIVE))
                continue
            visited += 1
            if not visited & 0x3F:
                self.terms.meter.spend(0x40)
                if self.terms.meter.is_spent():
                    # this node comes first then
                    interrupt(s, above, k - 1, kid_end, depth)
                    break
                self.terms.meter.has_moved = True
            if meets and meets_again(s, nodes, i, c):
                continue
            if c != s.unconditional and is_unconditional(&self.space.configs[c]):
                s.unconditional = c
            verdict = DESCEND
            if subtrees and not s.in_suffix_trie and summary_of[i] != NO_SUMMARY and nodes.end[i] > i + 1:
                verdict = self.classify(c, summary_of[i], nodes.end[i] - i, s)
            if c == s.unconditional:
                # most nodes are like this: their tokens are allowed, and nothing else happens
                take(self, i, i + 1 if verdict == DESCEND else nodes.end[i], s, out)
                if meets and verdict != DESCEND:
                    self.terms.meter.spend(meet_all(s, i, nodes.end[i], c))
                if verdict != DESCEND or nodes.kid_first[i] == nodes.kid_first[i + 1]:
                    continue
                then = WALK_BELOW
            else:
                then = self.emit(query, c, i, verdict, s, out)
                if then == SKIP:
                    continue
            if nodes.end[i] - i > RUN_NODES and then == WALK_BELOW:
                c = self.constrained.defer_runs(
                    c, place_at(i, s.in_suffix_trie), out.deferred, self.jobs, self.job_configs
                )
                if c == DEAD:
                    continue
            stack[depth] = above
            self.next_kid[depth] = k
            self.last_kid[depth] = kid_end
            depth += 1
            above = c
            k = nodes.kid_first[i]
            kid_end = nodes.kid_first[i + 1]
        self.visited_nodes += visited
        return self.terms.meter.spend(visited & 0x3F)

    cdef ConfigId defer_at(
        self, const WalkQuery& query, PlaceId place, const Nodes& n, ConfigId c, WalkResult& out
    ) except ID_FAILED nogil:
        """Leave the tokens under a place to run tables as far as possible; return the configuration to walk with."""
        cdef NodeId node = node_at(place)
        if n.end[node] - node > RUN_NODES and not self.space.configs[query.start].reads & ~<uint64_t>1:
            return self.constrained.defer_runs(c, place, out.deferred, self.jobs, self.job_configs)
        return c

    cdef int classify(self, ConfigId c, SummaryId summary, int32_t nodes, WalkState* s) except FAILED nogil:
        """Classify a subtree for a configuration by the subtree's summary: see ``SubtreeAcceptance``."""
        cdef const Config* config
        cdef KnownCharacters* known
        cdef int verdict = DESCEND
        if c == s.self_loop:
            verdict = classify_known(&self.trie.summaries[summary], s.loop)
        if verdict == DESCEND:
            config = &self.space.configs[c]
            if c == s.unconditional or (config.count and config.sure == config.count):
                verdict = self.acceptance.classify(c, summary, nodes)
                known = self.acceptance.known_of(c)
                if known != NULL and known.is_loop:
                    s.self_loop = c
                    s.loop = known[0]
        self.taken += verdict != DESCEND
        return verdict

    cdef int emit(
        self, const WalkQuery& query, ConfigId c, NodeId node, int verdict, WalkState* s, WalkResult& out
    ) except FAILED nogil:
        """Record the tokens and returns of a configuration at a node. Return how the walk must continue."""
        cdef const Config* config = &self.space.configs[c]
        # most configurations have no such members: not even a call, for nodes are many
        cdef uint64_t reads = self.emit_readers(config, node, &verdict, s, out) if config.reads else 0
        cdef PlaceId place = place_at(node, s.in_suffix_trie)
        cdef int32_t t = s.nodes.token_first[node]
        cdef NodeId stop_node = node + 1 if verdict == DESCEND else s.nodes.end[node]
        cdef int32_t stop = s.nodes.token_first[stop_node]
        cdef WalkPendingId g
        if t < stop:
            if query.strict and not config.sure:  # mutant: strict-walk
                # only a return keeps these tokens alive, and an action may forbid it
                out.readers.push_back(place_at(node, s.in_suffix_trie | INCLUSIVE))
                return SKIP
            if not config.ends & 1:  # mutant: pending-end
                g = out.pendings.at(config.ends)
                out.pendings.tokens[g].insert(
                    out.pendings.tokens[g].end(), s.nodes.tokens + t, s.nodes.tokens + stop
                )
            else:
                take(self, node, stop_node, s, out)
        if config.capturing and self.opens_key(config):
            out.key_starts.push_back(place)
        if s.met != NULL and verdict != DESCEND and not s.in_suffix_trie:
            self.terms.meter.spend(meet_all(s, node, stop_node, c))
        if verdict == ALL_ALLOWED or s.nodes.kid_first[node] == s.nodes.kid_first[node + 1]:
            return SKIP
        if config.pop_count:
            self.emit_returns(config, node, verdict, s, out)
            if out.suffix_nodes > s.most_suffix_nodes and not query.must_group:
                out.are_many = True
                if not query.has_callers and not out.has_calls:
                    # at the end of a text none is needed: see `LocalMasks.with_groups`
                    out.is_ungrouped = True
                    out.groups.clear()
        if verdict == SAME_STATE or not config.count:
            return SKIP
        return WALK_READING if reads else WALK_BELOW

    cdef uint64_t emit_readers(
        self, const Config* config, NodeId node, int* verdict, WalkState* s, WalkResult& out
    ) except? BITS_FAILED nogil:
        """Record the places where omitted members of a configuration continue.

        The semantic state decides on these members, so their tokens are tried on the actual configuration.
        The members that are present are valid regardless. Return the guards under which omitted members
        continue under the node.
        """
        cdef uint64_t reads = config.reads if node >= s.covered and verdict[0] != ALL_ALLOWED else 0
        if not reads:
            return 0
        if reads & 1 or not config.sure or not config.ends & 1:
            out.readers.push_back(place_at(node, s.in_suffix_trie | INCLUSIVE))
            s.covered = s.nodes.end[node]
            return 0
        if verdict[0] == SAME_STATE and not self.acceptance.meets(self.trie.summary_of[node], reads):
            return 0
        verdict[0] = DESCEND
        self.acceptance.note_readers(place_at(node, s.in_suffix_trie), reads, out.readers)
        return reads

    cdef int emit_returns(
        self, const Config* config, NodeId node, int verdict, WalkState* s, WalkResult& out
    ) except FAILED nogil:
        """Record the returns of a configuration at a node, for the suffixes of the tokens there."""
        cdef int32_t p
        cdef WalkGroupId g
        cdef GuardId guard
        cdef SummaryId summary = self.trie.summary_of[node] if verdict == SAME_STATE else NO_SUMMARY
        for p in range(config.pop_first, config.pop_first + config.pop_count):
            out.has_calls = out.has_calls or self.space.pops[p].callee != NO_CALLEE
        if out.is_ungrouped:
            return 0
        for p in range(config.pop_first, config.pop_first + config.pop_count):
            guard = self.space.pops[p].guard
            if verdict == SAME_STATE:
                if not self.acceptance.meets(summary, <uint64_t>1 << guard):
                    continue
            elif not self.acceptance.may_follow(s.nodes, node, guard):
                continue
            g = out.groups.at(guard, self.space.pops[p].sem, self.space.pops[p].callee)
            out.suffix_nodes += s.nodes.end[node] - node
            if verdict == SAME_STATE:
                out.suffix_nodes += self.trie.summaries[summary].nested
                out.groups.places[g].push_back(place_at(node, ALL_UNDER))
            else:
                out.groups.places[g].push_back(place_at(node, s.in_suffix_trie))
        return 0

    cdef int emit_special_tokens(self, const WalkQuery& query, WalkResult& out) except FAILED nogil:
        """Record the special tokens that the start allows."""
        cdef const Config* config
        cdef const vector[TokenId]* tokens
        cdef TokenClassId symbol
        cdef ConfigId c
        cdef WalkPendingId g
        for symbol in range(self.terms.token_classes):
            c = self.space.step(query.start, token_symbol(symbol))
            if c == DEAD:
                continue
            if c == READS_STATE or (query.strict and not self.space.configs[c].sure):
                out.reads_tokens = True
                continue
            config = &self.space.configs[c]
            if config.reads or (config.count and not config.sure):
                out.reads_tokens = True
            tokens = &self.context.class_tokens[symbol]
            if config.ends & 1:
                out.few.insert(out.few.end(), tokens.begin(), tokens.end())
            else:
                g = out.pendings.at(config.ends)
                out.pendings.tokens[g].insert(out.pendings.tokens[g].end(), tokens.begin(), tokens.end())
        return 0

    cdef bint opens_key(self, const Config* config) noexcept nogil:
        """Return whether some member has just begun to capture a key."""
        cdef int32_t i
        for i in range(config.first, config.first + config.count):
            if self.context.semantics.sems[self.space.members[i].sem].text == KEY_OF_ONE:
                return True
        return False
