# distutils: language = c++
"""Subtrees of the vocabulary whose tokens need not be walked one by one.

There are two cases. In a *self-loop* configuration, all characters of the subtree lead back to the
configuration, or to one that differs only in a count whose bound is out of reach. Then all tokens of the
subtree are allowed, and every place in it returns alike. Or one *member* accepts all strings of these
characters, as in an alternative X* continuation. Then all tokens of the subtree are allowed, whatever the
other members do.
"""

cimport cython
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memset

from stackmask.pda.ids cimport MapId
from stackmask.pda.masks.shared.part cimport MaskContext, MaskPart
from stackmask.pda.text.utf8 cimport utf8_step
from stackmask.pda.vocabulary.subtree_summary cimport SubtreeSummary
from stackmask.pda.stack.configuration_table cimport DEAD, NEVER_A_ROW, NO_ROW_YET, Config, Member, leads_on
from stackmask.pda.terms.term_table cimport ANY_BYTE
from stackmask.pda.vocabulary.suffix_tries cimport INCLUSIVE, Nodes, is_inclusive, node_at, place_at, trie_of
from stackmask.pda.masks.shared.run_tables cimport NOT_A_CODE, Code
from stackmask.pda.masks.walk.token_partition cimport NO_END, AllowedRuns
from stackmask.pda.masks.walk.walk_inlines cimport is_within

cdef enum:
    LOOK_AHEAD = 16         # characters that find_length reads beyond the length of the query
    QUERIES = 3           # the loop of a configuration is computed at this query
    MANY_CHARACTERS = 8     # a loop needs at least so many ASCII characters


@cython.final
cdef class SubtreeAcceptance(MaskPart):
    """What a configuration does with whole subtrees of the vocabulary."""

    def __cinit__(self, MaskContext context not None, TokenPartition partition not None):
        self.trie = context.trie
        self.partition = partition

    cdef int drop(self) except -1 nogil:
        """Forget the loops of configurations."""
        self.loop_at.clear()
        self.queries.clear()
        self.loops.clear()
        return MaskPart.drop(self)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held here."""
        cdef size_t held = 5 * self.loop_at.size() + sizeof(SelfLoop) * self.loops.size()
        return held

    cdef int classify(self, ConfigId config, SummaryId summary) except -1 nogil:
        """Classify a subtree, given by the index of its summary, for a configuration.

        SAME_STATE: every string of the subtree leads back to this configuration, or to one that differs only
        in a count. ALL_ALLOWED: one member accepts all strings of the subtree. DESCEND: neither is known. The
        loop is computed at the third query, since most configurations are queried once.
        """
        cdef SubtreeSummary* at = &self.trie.summaries[summary]
        cdef SelfLoop* loop_of
        if <size_t>config >= self.loop_at.size():
            self.loop_at.resize(self.space.configs.size())
            self.queries.resize(self.space.configs.size())
        if not self.loop_at[config]:
            self.queries[config] += 1
            if self.queries[config] < QUERIES:
                return DESCEND
            self.find_loop(config)
            if self.context.layers.accepted_subtrees:
                self.find_accepting_member(config)
        loop_of = self.loop_of(config)
        if at.height <= loop_of.high and is_within(at, loop_of.accepted):
            return ALL_ALLOWED
        if not is_within(at, loop_of.all):
            return DESCEND
        if at.height <= loop_of.length or (
            not loop_of.closed and at.height <= self.find_length(config, at.height)
        ):
            return SAME_STATE
        return DESCEND

    cdef int find_accepting_member(self, ConfigId config) except -1 nogil:
        """Find a member of a configuration that accepts all runs of some class of characters."""
        cdef SelfLoop* loop_of = self.loop_of(config)
        cdef AllowedRuns found
        cdef Member m
        cdef Code code
        cdef int32_t i
        for i in range(self.space.configs[config].count):
            m = self.space.members[self.space.configs[config].first + i]
            if self.context.semantics.keeps_bytes(m.sem) or self.space.configs[config].capturing:
                continue
            if self.space.frames[m.frame].keys_forbid or self.space.frames[m.frame].action_forbids:
                continue
            self.partition.allowed_runs(m.state, m.frame, &found)
            if found.code != NOT_A_CODE:
                code = self.runs.codes[found.code]
                loop_of = self.loop_of(config)
                loop_of.high = found.high
                loop_of.accepted.ascii[0] = code.single[0]
                loop_of.accepted.ascii[1] = code.single[1]
                loop_of.accepted.leads = code.leads
                break
        return 0

    cdef int find_loop(self, ConfigId config) except -1 nogil:
        """Find the configuration that most characters lead to, preferably itself, and these characters."""
        cdef SelfLoop found
        cdef int32_t b, k, j, state
        cdef MapId map
        cdef ConfigId target
        cdef int32_t most = 0
        cdef int32_t sizes[256]     # by class of bytes: its ASCII characters
        cdef ConfigId targets[256]  # by class of bytes: the next configuration
        cdef ConfigId met[8]        # by state of UTF-8: the configuration compared last
        cdef bint leads[8]
        memset(&found, 0, sizeof(SelfLoop))
        found.closed = True
        found.next = DEAD
        if self.space.configs[config].row == NO_ROW_YET:
            self.space.make_row(config)
        if self.space.configs[config].row != NEVER_A_ROW and not self.space.configs[config].capturing:
            map = self.space.configs[config].map
            memset(sizes, 0, sizeof(sizes))
            for b in range(128):
                sizes[self.terms.classes.maps[map].of[b]] += 1
            for k in range(self.terms.classes.maps[map].count):
                targets[k] = DEAD
                if sizes[k]:
                    targets[k] = self.space.step(config, self.terms.classes.maps[map].byte_of[k])
            for k in range(self.terms.classes.maps[map].count):
                if targets[k] == config:
                    most = NO_END
                    found.next = config
                elif leads_on(targets[k]) and most < NO_END:
                    state = 0
                    for j in range(self.terms.classes.maps[map].count):
                        if targets[j] == targets[k]:
                            state += sizes[j]
                    if state > most:
                        most = state
                        found.next = targets[k]
            if most < MANY_CHARACTERS:
                found.next = DEAD
        if found.next != DEAD:
            found.closed = found.next == config
            found.length = NO_END if found.closed else 0
            for b in range(128):
                if targets[self.terms.classes.maps[map].of[b]] == found.next:
                    found.all.ascii[b >> 6] |= <uint64_t>1 << (b & 63)
            for k in range(8):
                met[k] = DEAD
            for b in range(0xC0, 0x100):
                state = utf8_step(0, <uint8_t>b)
                target = self.space.step(config, b) if state > 0 else DEAD
                if not leads_on(target):
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

    cdef SelfLoop* loop_of(self, ConfigId config) noexcept nogil:
        """Return the loop of a configuration, NULL if not computed. Pointers are invalid after a new loop."""
        if <size_t>config >= self.loop_at.size() or not self.loop_at[config]:
            return NULL
        return &self.loops[self.loop_at[config] - 1]

    cdef int32_t find_length(self, ConfigId config, int32_t want) except -1 nogil:
        """Return after how many characters a configuration is surely the same, but for a count.

        Search up to ``want`` characters, and a bit further for the next query.
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
        loop_of.length = k
        self.loop_of(config)[0] = loop_of
        return k

    cdef bint is_narrower(self, const SelfLoop& loop_of, const SelfLoop& other) noexcept nogil:
        """Tell whether some character of one loop is missing in another."""
        return (
            loop_of.all.ascii[0] & ~other.all.ascii[0] != 0
            or loop_of.all.ascii[1] & ~other.all.ascii[1] != 0
            or loop_of.all.leads & ~other.all.leads != 0
        )

    cdef bint are_alike(self, ConfigId a, ConfigId b) noexcept nogil:
        """Tell whether tokens end in two configurations alike, and both return alike."""
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

    cdef bint leads_to(self, ConfigId next, ConfigId config, int32_t state, ConfigId target) except -1 nogil:
        """Tell whether a character that was begun in ``config`` leads to ``next``, however it is completed.

        ``state``: the state of UTF-8 after its first byte. ``target``: the configuration there. Tokens that
        end inside of the character must be allowed like those that end before it.
        """
        cdef ConfigId partner[8]
        cdef int32_t queue[8]
        cdef int32_t head = 0, count = 1, b, s
        cdef ConfigId t
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
                if not leads_on(t):
                    return False
                if partner[s] == DEAD:
                    partner[s] = t
                    queue[count] = s
                    count += 1
                elif partner[s] != t:
                    return False
        return True

    cdef bint may_follow(self, Nodes n, NodeId node, GuardId guard) noexcept nogil:
        """Tell whether a guard allows some byte that comes after a node."""
        cdef int32_t k
        if guard == ANY_BYTE:
            return True
        for k in range(n.kid_first[node], n.kid_first[node + 1]):
            if self.terms.classes.guard_has(guard, n.kid_byte[k]):
                return True
        return False

    cdef bint allows(self, uint64_t guards, uint8_t byte) noexcept nogil:
        """Tell whether some guard of a set, given as bits, allows a byte."""
        cdef GuardId g = 0
        while guards:
            if guards & 1 and self.terms.classes.guard_has(g, byte):
                return True
            guards >>= 1
            g += 1
        return False

    cdef int note_readers(self, PlaceId place, uint64_t guards, vector[PlaceId]& readers) except -1 nogil:
        """Store where omitted members continue under some guards: at a place, or at children of it."""
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
        """Tell whether some of the guards may allow a byte of the characters in a subtree."""
        cdef SubtreeSummary* at = &self.trie.summaries[summary]
        cdef int32_t b
        for b in range(128):
            if (at.ascii[b >> 6] >> (b & 63)) & 1 and self.allows(guards, <uint8_t>b):
                return True
        if at.leads:
            for b in range(0x80, 0x100):
                if self.allows(guards, <uint8_t>b):
                    return True
        return False

    cdef int append_return_places(self, NodeId node, GuardId guard, vector[PlaceId]& places) except -1 nogil:
        """Append the nodes of a subtree where a whole character ends and the guard allows the next byte."""
        cdef NodeId i
        cdef int32_t k, j
        for i in range(node + 1, self.trie.end[node]):
            k = self.trie.kid_first[i]
            # these bytes come only inside of a character
            if k < self.trie.kid_first[i + 1] and not 0x80 <= self.trie.kid_byte[k] < 0xC0:
                for j in range(k, self.trie.kid_first[i + 1]):
                    if self.terms.classes.guard_has(guard, self.trie.kid_byte[j]):
                        places.push_back(place_at(i, 0))
                        break
        return 0
