# distutils: language = c++
"""Tokens that stay: subtrees of the vocabulary that are taken whole.

Where all characters below a node lead a configuration back to itself, or to what differs by a count only that
is out of reach, everything below the node is allowed, and every place there returns alike. Where an
alternative X* rest of a configuration allows all characters below a node, everything there is allowed,
whatever else it is.
"""

cimport cython
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memset

from stackmask.pda.masks.shared.part cimport MaskContext, MaskPart
from stackmask.pda.text.utf8 cimport utf8_step
from stackmask.pda.vocabulary.subtree_summary cimport SubtreeSummary
from stackmask.pda.stack.configuration_table cimport DEAD, NO_ROW, UNKNOWN, Config, Member
from stackmask.pda.terms.term_table cimport ANY_BYTE
from stackmask.pda.vocabulary.suffix_tries cimport IN_FOREST, INCLUSIVE, Nodes
from stackmask.pda.masks.shared.run_tables cimport NOT_A_CODE, Code
from stackmask.pda.masks.walk.token_partition cimport NO_END, AllowedRuns
from stackmask.pda.masks.walk.walk_inlines cimport is_within

cdef enum:
    LOOK_AHEAD = 16         # characters
    QUERIES = 3           # from this time on it is looked where a configuration leads
    MANY_CHARACTERS = 8     # that lead to one configuration, from which on it is looked where they lead


@cython.final
cdef class SubtreeAcceptance(MaskPart):
    """What a configuration allows below nodes of the vocabulary without a walk."""

    def __cinit__(self, MaskContext context not None, TokenPartition partition not None):
        self.partition = partition

    cdef int drop(self) except -1:
        """Forget where configurations lead."""
        self.loop_at.clear()
        self.queries.clear()
        self.loops.clear()
        return MaskPart.drop(self)

    cdef size_t nbytes(self) noexcept:
        """Return the bytes held here."""
        cdef size_t held = 5 * self.loop_at.size() + sizeof(SelfLoop) * self.loops.size()
        return held

    cdef int classify(self, int32_t config, int32_t below) except -1:
        """Tell whether a configuration goes on in one way on all texts below a node of the vocabulary.

        SAME_STATE: it stays what it is. ALL_ALLOWED: a part of it does, so that everything below is
        allowed. It is looked at when it is met again, since most are met once.
        """
        cdef SubtreeSummary* at = &self.trie.below[below]
        cdef SelfLoop* loop_of
        if <size_t>config >= self.loop_at.size():
            self.loop_at.resize(self.space.configs.size())
            self.queries.resize(self.space.configs.size())
        if not self.loop_at[config]:
            self.queries[config] += 1
            if self.queries[config] < QUERIES:
                return DESCEND
            self.find_loop(config)
            if self.layers.accepted_subtrees:
                self.find_accepting_member(config)
        loop_of = self.loop_of(config)
        if at.height <= loop_of.high and is_within(at, loop_of.part):
            return ALL_ALLOWED
        if not is_within(at, loop_of.all):
            return DESCEND
        if at.height <= loop_of.room or (
            not loop_of.closed and at.height <= self.find_length(config, at.height)
        ):
            return SAME_STATE
        return DESCEND

    cdef int find_accepting_member(self, int32_t config) except -1:
        """Find a member of a configuration that allows all runs of X."""
        cdef SelfLoop* loop_of = self.loop_of(config)
        cdef AllowedRuns found
        cdef Member m
        cdef Code code
        cdef int32_t i
        for i in range(self.space.configs[config].count):
            m = self.space.members[self.space.configs[config].first + i]
            if self.semantics.keeps_bytes(m.sem) or self.space.configs[config].capturing:
                continue
            if self.space.frames[m.frame].keys_forbid or self.space.frames[m.frame].action_forbids:
                continue
            found = self.partition.allowed_runs(m.state, m.frame)
            if found.code != NOT_A_CODE:
                code = self.runs.codes[found.code]
                loop_of = self.loop_of(config)
                loop_of.high = found.high
                loop_of.part.ascii[0] = code.single[0]
                loop_of.part.ascii[1] = code.single[1]
                loop_of.part.leads = code.leads
                break
        return 0

    cdef int find_loop(self, int32_t config) except -1:
        """Find where most characters lead, which do, and whether that is the configuration itself."""
        cdef SelfLoop found
        cdef int32_t b, k, j, map, target, state, most = 0
        cdef int32_t sizes[256]     # ASCII characters, by class
        cdef int32_t targets[256]   # configurations, by class
        cdef int32_t met[8]         # by state of UTF-8
        cdef bint leads[8]
        memset(&found, 0, sizeof(SelfLoop))
        found.closed = True
        found.next = DEAD
        if self.space.configs[config].row == UNKNOWN:
            self.space.make_row(config)
        if self.space.configs[config].row != NO_ROW and not self.space.configs[config].capturing:
            map = self.space.configs[config].map
            memset(sizes, 0, sizeof(sizes))
            for b in range(128):
                sizes[self.terms.maps[map].of[b]] += 1
            for k in range(self.terms.maps[map].count):
                targets[k] = DEAD
                if sizes[k]:
                    targets[k] = self.space.step(config, self.terms.maps[map].byte_of[k])
            for k in range(self.terms.maps[map].count):
                if targets[k] == config:
                    most = NO_END
                    found.next = config
                elif targets[k] > DEAD and most < NO_END:
                    state = 0
                    for j in range(self.terms.maps[map].count):
                        if targets[j] == targets[k]:
                            state += sizes[j]
                    if state > most:
                        most = state
                        found.next = targets[k]
            if most < MANY_CHARACTERS:
                found.next = DEAD
        if found.next != DEAD:
            found.closed = found.next == config
            found.room = NO_END if found.closed else 0
            for b in range(128):
                if targets[self.terms.maps[map].of[b]] == found.next:
                    found.all.ascii[b >> 6] |= <uint64_t>1 << (b & 63)
            for k in range(8):
                met[k] = DEAD
            for b in range(0xC0, 0x100):
                state = utf8_step(0, <uint8_t>b)
                target = self.space.step(config, b) if state > 0 else DEAD
                if target <= DEAD:
                    continue
                if met[state] != target:
                    met[state] = target
                    leads[state] = self.leads_to(found.next, config, state, target)
                if leads[state]:
                    found.all.leads |= <uint64_t>1 << (b - 0xC0)
        if <size_t>config >= self.loop_at.size():
            self.loop_at.resize(self.space.configs.size())
            self.queries.resize(self.space.configs.size())
        self.loops.push_back(found)
        self.loop_at[config] = <int32_t>self.loops.size()
        return 0

    cdef SelfLoop* loop_of(self, int32_t config) noexcept:
        """Return where a configuration leads, NULL if that is not known. It moves when others are found."""
        if <size_t>config >= self.loop_at.size() or not self.loop_at[config]:
            return NULL
        return &self.loops[self.loop_at[config] - 1]

    cdef int32_t find_length(self, int32_t config, int32_t want) except -1:
        """Return after how many characters a configuration is surely what it was, but for a count.

        Looks as far as ``want``, and a bit further for the next question.
        """
        cdef SelfLoop loop_of = self.loop_of(config)[0]
        cdef SelfLoop at = loop_of
        cdef int32_t k = 0
        loop_of.closed = True
        while True:
            if at.next == DEAD or not self.are_alike(config, at.next):
                break
            k += 1
            if k >= want + LOOK_AHEAD:
                loop_of.closed = False
                break
            if self.loop_of(at.next) == NULL:
                self.find_loop(at.next)
            if self.loop_of(at.next).next == at.next:
                k = NO_END if not self.is_narrower(loop_of, self.loop_of(at.next)[0]) else k
                break
            at = self.loop_of(at.next)[0]
            if self.is_narrower(loop_of, at):
                break
        loop_of.room = k
        self.loop_of(config)[0] = loop_of
        return k

    cdef bint is_narrower(self, const SelfLoop& loop_of, const SelfLoop& other) noexcept:
        """Tell whether some characters that lead on from one configuration may not from another."""
        return (
            loop_of.all.ascii[0] & ~other.all.ascii[0] != 0
            or loop_of.all.ascii[1] & ~other.all.ascii[1] != 0
            or loop_of.all.leads & ~other.all.leads != 0
        )

    cdef bint are_alike(self, int32_t a, int32_t b) noexcept:
        """Tell whether two configurations end and return alike."""
        cdef Config x = self.space.configs[a]
        cdef Config y = self.space.configs[b]
        cdef int32_t k
        if not x.count or x.sure != x.count or not y.count or y.sure != y.count:
            return False
        if x.capturing or y.capturing or x.reads != y.reads:
            return False
        if x.ends != y.ends or x.pop_count != y.pop_count:
            return False
        for k in range(x.pop_count):
            if (
                self.space.pops[x.pop_first + k].guard != self.space.pops[y.pop_first + k].guard
                or self.space.pops[x.pop_first + k].sem != self.space.pops[y.pop_first + k].sem
            ):
                return False
        return True

    cdef bint leads_to(self, int32_t next, int32_t config, int32_t state, int32_t target) except -1:
        """Tell whether all ends of a character, begun in a configuration, lead to the next one.

        ``state``: of UTF-8; ``target``: the configuration there. In between tokens may end like before it.
        """
        cdef int32_t partner[8]
        cdef int32_t queue[8]
        cdef int32_t head = 0, count = 1, b, s, t
        for s in range(8):
            partner[s] = DEAD
        partner[0] = next
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
                return False
            for b in range(0x80, 0xC0):
                s = utf8_step(state, <uint8_t>b)
                if s < 0:
                    continue
                t = self.space.step(target, b)
                if t <= DEAD:
                    return False
                if partner[s] == DEAD:
                    partner[s] = t
                    queue[count] = s
                    count += 1
                elif partner[s] != t:
                    return False
        return True

    cdef bint may_follow(self, Nodes n, int32_t node, int32_t guard) noexcept:
        """Tell whether some text below a node begins as a guard allows."""
        cdef int32_t k
        if guard == ANY_BYTE:
            return True
        for k in range(n.kid_first[node], n.kid_first[node + 1]):
            if self.terms.guard_has(guard, n.kid_byte[k]):
                return True
        return False

    cdef bint allows(self, uint64_t guards, uint8_t byte) noexcept:
        """Tell whether some of the guards, bits, allows a byte."""
        cdef int32_t g = 0
        while guards:
            if guards & 1 and self.terms.guard_has(g, byte):
                return True
            guards >>= 1
            g += 1
        return False

    cdef int note_readers(self, int32_t place, uint64_t guards, vector[int32_t]& readers) except -1:
        """Note where what was left out goes on under some guards: at a place, or at children of it."""
        cdef Nodes n = self.forest.nodes(place)
        cdef int32_t k, node = place >> 2
        if not guards:
            return 0
        if guards & 1:
            readers.push_back(place)
        elif place & INCLUSIVE:
            if self.allows(guards, n.byte[node]):
                readers.push_back(place)
        else:
            for k in range(n.kid_first[node], n.kid_first[node + 1]):
                if self.allows(guards, n.kid_byte[k]):
                    readers.push_back((n.kid_node[k] << 2) | (place & IN_FOREST) | INCLUSIVE)
        return 0

    cdef bint meets(self, int32_t below, uint64_t guards) noexcept:
        """Tell whether some of the guards may allow a byte of the characters below a node."""
        cdef SubtreeSummary* at = &self.trie.below[below]
        cdef int32_t b
        for b in range(128):
            if (at.ascii[b >> 6] >> (b & 63)) & 1 and self.allows(guards, <uint8_t>b):
                return True
        if at.leads:
            for b in range(0x80, 0x100):
                if self.allows(guards, <uint8_t>b):
                    return True
        return False

    cdef int append_return_places(self, int32_t node, int32_t guard, vector[int32_t]& places) except -1:
        """Append the nodes below one that whole characters end at and others follow, as a guard allows."""
        cdef int32_t i, k, j
        for i in range(node + 1, self.trie.end[node]):
            k = self.trie.kid_first[i]
            # a text goes on with these bytes inside of a character only
            if k < self.trie.kid_first[i + 1] and not 0x80 <= self.trie.kid_byte[k] < 0xC0:
                for j in range(k, self.trie.kid_first[i + 1]):
                    if self.terms.guard_has(guard, self.trie.kid_byte[j]):
                        places.push_back(i << 2)
                        break
        return 0
