# distutils: language = c++
"""The walk: one pass over a token trie from a local state, with the frame not known.

A walk classifies all tokens:

- Some are allowed with any stack. They become a list, or a row of bits if they are many.
- Some end while a follow restriction is pending. They are allowed if the frame can satisfy it.
- Some leave the frame with bytes left over. The walk notes the places (trie positions) of these returns, in
  groups by the guard and the semantic state there.
- For some the semantic state decides: a resolver or an action that may forbid. The walk notes these places.

The loop goes down the trie as long as the configuration is alive. A subtree in which all tokens behave alike
is taken as a whole (``subtree_acceptance``). Runs of one character class are left to tables
(``constrained_runs``).
"""

cimport cython
from libc.stdint cimport int8_t, uint64_t, uint8_t
from libc.string cimport memset

from stackmask.pda.context.callables cimport KEY_OF_ONE
from stackmask.pda.ids cimport (
    BITS_FAILED,
    FAILED,
    ID_FAILED,
    NO_ROW,
    NO_RUN,
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
from stackmask.pda.memory.byte_sets cimport ones
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
from stackmask.pda.terms.term_table cimport ANY_BYTE, token_symbol
from stackmask.pda.text cimport utf8_steps
from stackmask.pda.vocabulary.suffix_tries cimport INCLUSIVE, Nodes, is_inclusive, node_at, place_at, trie_of
from stackmask.pda.vocabulary.token_trie cimport SubtreeSummary


# ------------------------------------------------------------------------------------------------
# Subtrees of the vocabulary whose tokens need not be walked one by one.
#
# There are three cases. In a *self-loop* configuration, all characters of the subtree lead back to the
# configuration, or to one that differs only in a count whose bound is out of reach. Then all tokens of the
# subtree are allowed. So it is where the characters lead to several configurations that are *alike*: all of
# them go on with all of these characters, and tokens end in them alike, as in a text before a pattern that is
# searched for. Or one *member* accepts all strings of these characters, as in an alternative X* continuation.
# Then all tokens of the subtree are allowed, whatever the other members do.
# ------------------------------------------------------------------------------------------------


cdef enum:
    LOOK_AHEAD = 16         # characters that find_length reads beyond the length of the query
    QUERIES = 3           # the loop of a configuration is computed at this query
    MANY_CHARACTERS = 8     # a loop needs at least so many ASCII characters
    # the search for the characters that a configuration keeps
    UNANSWERED = 48         # queries before it
    MOST_MET = 64           # configurations that it looks at
    MOST_LEVELS = 24        # characters that it looks ahead
    WORTH_SHARING = 8       # characters for which what it found is told to the configurations that it met
    LOOK_QUERIES = 64       # what to look at a configuration costs, in unanswered queries,
    IN_VAIN = 4             # ... and so many times more if nothing was found
    LOOK_WORK = 1000        # ... and in units of work

cdef size_t TOO_MANY = <size_t>-1


cdef bint holds(const Characters& all, const Characters& some) noexcept nogil:
    # Tell whether all characters of one class are in another.
    return not (
        some.ascii[0] & ~all.ascii[0] or some.ascii[1] & ~all.ascii[1] or some.leads & ~all.leads
    )


cdef bint share(const Characters& a, const Characters& b) noexcept nogil:
    # Tell whether two classes share a character.
    return (a.ascii[0] & b.ascii[0] or a.ascii[1] & b.ascii[1] or a.leads & b.leads) != 0


cdef Characters both(const Characters& a, const Characters& b) noexcept nogil:
    # Return the characters of two classes.
    cdef Characters all
    all.ascii[0] = a.ascii[0] | b.ascii[0]
    all.ascii[1] = a.ascii[1] | b.ascii[1]
    all.leads = a.leads | b.leads
    return all


cdef int32_t size_of(const Characters& all) noexcept nogil:
    # Return about how many characters a class has.
    return ones(all.ascii[0]) + ones(all.ascii[1]) + ones(all.leads)


cdef bint contains(const vector[ConfigId]& list, ConfigId config) noexcept nogil:
    cdef size_t k
    for k in range(list.size()):
        if list[k] == config:
            return True
    return False


@cython.final
cdef class SubtreeAcceptance(MaskPart):
    """What a configuration does with whole subtrees of the vocabulary."""

    def __cinit__(self, MaskContext context not None, TokenPartition partition not None):
        self.trie = context.trie
        self.partition = partition

    cdef int drop(self) except FAILED nogil:
        """Forget the loops of configurations."""
        self.loop_at.clear()
        self.queries.clear()
        self.loops.clear()
        self.unanswered = self.paid = 0
        return MaskPart.drop(self)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held here."""
        cdef size_t held = 5 * self.loop_at.size() + sizeof(SelfLoop) * self.loops.size()
        return held + sizeof(Leads) * self.met.capacity() + sizeof(Lead) * self.leads.capacity()

    cdef int classify(self, ConfigId config, SummaryId summary) except FAILED nogil:
        """Classify a subtree, given by the index of its summary, for a configuration.

        SAME_STATE: every string of the subtree leads to configurations like this one. ALL_ALLOWED: one
        member accepts all strings of the subtree. DESCEND: neither is known. The loop is computed at the
        third query, since most configurations are queried once, and the characters kept after many that had
        no answer. A search for these must be paid by such queries, of any configurations, so that it takes
        no longer than the walks.
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
        if not self.loop_of(config).is_queried:
            self.loop_of(config).is_queried = True
            if self.context.layers.accepted_subtrees:
                self.find_accepting_member(config)
        loop_of = self.loop_of(config)
        if at.height <= loop_of.high and is_within(at, loop_of.accepted):
            return ALL_ALLOWED
        if is_within(at, loop_of.all) and (
            at.height <= loop_of.length
            or (not loop_of.closed and at.height <= self.find_length(config, at.height))
        ):
            return SAME_STATE
        if not self.loop_of(config).is_searched:
            self.unanswered += 1
            if self.queries[config] < UNANSWERED:
                self.queries[config] += 1
            elif self.unanswered >= self.paid:
                self.loop_of(config).is_searched = True
                self.find_kept(config)
        loop_of = self.loop_of(config)
        if at.height <= loop_of.kept_length and is_within(at, loop_of.kept):
            return SAME_STATE
        return DESCEND

    cdef int find_accepting_member(self, ConfigId config) except FAILED nogil:
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

    cdef int find_loop(self, ConfigId config) except FAILED nogil:
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
        cdef const int8_t* steps = utf8_steps()
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
                state = steps[b]
                target = self.space.step(config, b) if state > 0 else DEAD
                if not leads_on(target):
                    continue
                if met[state] != target:
                    met[state] = target
                    leads[state] = self.completed(config, state, target) == found.next
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

    cdef int32_t find_length(self, ConfigId config, int32_t want) except FAILED nogil:
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
                k = NO_END if holds(self.loop_of(at.next).all, loop_of.all) else k
                break
            at = self.loop_of(at.next)[0]
            if not holds(at.all, loop_of.all):
                break
        loop_of.length = k
        self.loop_of(config)[0] = loop_of
        return k

    cdef bint are_alike(self, ConfigId a, ConfigId b) noexcept nogil:
        """Tell whether tokens end in two configurations alike.

        Where they may end whatever the stack is, returns allow no more of them. Else both must return alike.
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
            ):
                return False
        return True

    cdef ConfigId completed(self, ConfigId config, int32_t state, ConfigId target) except ID_FAILED nogil:
        """Return what a character begun in ``config`` leads to, DEAD if that is not one configuration.

        ``state``: the state of UTF-8 after its first byte. ``target``: the configuration there. Tokens that
        end inside of the character must be allowed like those that end before it.
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

    cdef int find_kept(self, ConfigId config) except FAILED nogil:
        """Find characters that lead to configurations like this one, however many of them follow each other.

        What is found holds for the configurations they lead to as well, for as many characters less.
        """
        cdef Characters kept
        cdef SelfLoop* loop_of
        cdef vector[ConfigId] reached
        cdef vector[size_t] levels
        cdef int32_t length = 0, left
        cdef size_t level = 0, k, looks
        self.met.clear()
        self.leads.clear()
        memset(&kept, 0, sizeof(Characters))
        if self.are_alike(config, config):
            self.choose_kept(config, &kept)
        reached.push_back(config)
        if not holds(self.loop_of(config).all, kept):
            length = self.count_kept(config, kept, reached, levels)
        looks = LOOK_QUERIES * self.met.size()
        self.paid = self.unanswered + (looks if length >= WORTH_SHARING else IN_VAIN * looks)
        for k in range(reached.size()):
            while level < levels.size() and k >= levels[level]:
                level += 1
            left = length if length == NO_END else length - <int32_t>level
            if k and left < WORTH_SHARING:
                break
            if self.loop_of(reached[k]) == NULL:
                self.find_loop(reached[k])
            loop_of = self.loop_of(reached[k])
            if left > loop_of.kept_length:
                loop_of.kept = kept
                loop_of.kept_length = left
            loop_of.is_searched = True
        return 0

    cdef int choose_kept(self, ConfigId config, Characters* kept) except FAILED nogil:
        """Choose the characters, those that lead to the same configuration together, the most first.

        All configurations that they lead to must go on with all of them.
        """
        cdef vector[size_t] chosen, left
        cdef Characters more
        cdef Lead lead
        cdef size_t at = self.leads_of(config), k, best, target
        cdef bint fits
        for k in range(self.met[at].first, self.met[at].last):
            left.push_back(k)
        while not left.empty():
            best = 0
            for k in range(1, left.size()):
                if size_of(self.leads[left[k]].by) > size_of(self.leads[left[best]].by):
                    best = k
            lead = self.leads[left[best]]
            left[best] = left.back()
            left.pop_back()
            if not self.are_alike(config, lead.next):
                continue
            target = self.leads_of(lead.next)
            if target == TOO_MANY:
                break
            more = both(kept[0], lead.by)
            fits = holds(self.met[target].alive, more)
            for k in range(chosen.size()):
                fits = fits and holds(self.met[chosen[k]].alive, more)
            if fits:
                chosen.push_back(target)
                kept[0] = more
        return 0

    cdef int32_t count_kept(
        self, ConfigId config, const Characters& kept, vector[ConfigId]& reached, vector[size_t]& levels
    ) except FAILED nogil:
        """Return for how many characters all reached is like a configuration; NO_END: for any number.

        ``reached``: begins with the configuration, gets those that the characters lead to.
        ``levels``: how many there are after no character, after one, and so on.
        """
        cdef int32_t length = 0
        cdef size_t begin = 0, end, i, j, k
        cdef Lead lead
        while length < MOST_LEVELS:
            end = reached.size()
            levels.push_back(end)
            for i in range(begin, end):
                j = self.leads_of(reached[i])
                if j == TOO_MANY or not holds(self.met[j].alive, kept):
                    return length
                for k in range(self.met[j].first, self.met[j].last):
                    lead = self.leads[k]
                    if not share(lead.by, kept) or contains(reached, lead.next):
                        continue
                    if reached.size() == MOST_MET or not self.are_alike(config, lead.next):
                        return length
                    reached.push_back(lead.next)
            length += 1
            if reached.size() == end:
                return NO_END
            begin = end
        return length

    cdef size_t leads_of(self, ConfigId config) except? BITS_FAILED nogil:
        """Return the index in ``met`` of where a configuration leads, or TOO_MANY.

        Characters after whose bytes there is not one configuration are left out: see ``completed``.
        """
        cdef Leads found
        cdef Lead lead
        cdef ConfigId target
        cdef int32_t b, state
        cdef size_t k
        cdef ConfigId mid[8]    # by state of UTF-8: the configuration inside of a character met last,
        cdef ConfigId after[8]  # ... and what it leads to
        cdef const int8_t* steps = utf8_steps()
        for k in range(self.met.size()):
            if self.met[k].config == config:
                return k
        if self.met.size() == MOST_MET:
            return TOO_MANY
        self.terms.meter.spend(LOOK_WORK)
        memset(&found, 0, sizeof(Leads))
        found.config = config
        found.first = self.leads.size()
        if self.space.configs[config].row == NO_ROW_YET:
            self.space.make_row(config)
        if self.space.configs[config].row != NEVER_A_ROW:
            for k in range(8):
                mid[k] = DEAD
            for b in range(256):
                target = DEAD
                if b < 0x80:
                    target = self.space.step(config, b)
                elif b >= 0xC0:
                    state = steps[b]
                    if state <= 0:
                        continue
                    target = self.space.step(config, b)
                    if leads_on(target):
                        if mid[state] != target:
                            mid[state] = target
                            after[state] = self.completed(config, state, target)
                        target = after[state]
                if not leads_on(target):
                    continue
                k = found.first
                while k < self.leads.size() and self.leads[k].next != target:
                    k += 1
                if k == self.leads.size():
                    memset(&lead, 0, sizeof(Lead))
                    lead.next = target
                    self.leads.push_back(lead)
                if b < 0x80:
                    self.leads[k].by.ascii[b >> 6] |= <uint64_t>1 << (b & 63)
                else:
                    self.leads[k].by.leads |= <uint64_t>1 << (b - 0xC0)
        found.last = self.leads.size()
        for k in range(found.first, found.last):
            found.alive = both(found.alive, self.leads[k].by)
        self.met.push_back(found)
        return self.met.size() - 1

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

    cdef int note_readers(self, PlaceId place, uint64_t guards, vector[PlaceId]& readers) except FAILED nogil:
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

    cdef int append_return_places(self, NodeId node, GuardId guard, vector[PlaceId]& places) except FAILED nogil:
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


cdef enum:
    RUN_NODES = 64      # a smaller subtree is walked; its runs are not looked up
    FEWER_NODES = 8     # a walk is repeated where its groups have more than one node of so many

# what `emit` returns for a node
cdef enum:
    SKIP = 0            # its children need no walk
    WALK_BELOW = 1
    WALK_READING = 2        # ... but some members were omitted (see emit_readers), so run tables do not apply
    BEGIN_AGAIN = 3     # the walk turned out not to be repeatable: begin again without that


cdef inline int take(
    TrieWalk walk, NodeId node, NodeId stop_node, WalkState* s, WalkResult& out
) except FAILED nogil:
    """Allow the tokens of the nodes from ``node`` to before ``stop_node``, with any stack."""
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
    """Make walks, one at a time. Nothing is remembered between walks."""

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
        self.visited_nodes = 0
        self.taken = 0

    cdef bint walk(
        self, const WalkQuery& query, vector[PlaceId]& places, vector[PlaceId]& origin, WalkResult& out
    ) except FAILED nogil:
        """Walk the subtrees at some places. Put the result into ``out``, which must be new.

        Return False if the query allows to repeat the walk with the frame known, and the walk found a return
        for which that is wrong. Then ``out`` must be dropped, and the walk made with ``repeatable`` off.
        """
        cdef WalkState s
        cdef size_t r
        out.bits = NULL
        out.dense = NO_ROW
        out.suffix_nodes = 0
        out.repeats = out.reads_tokens = False
        self.walks += 1
        if query.start == READS_STATE:
            out.readers.assign(places.begin(), places.end())
        elif query.start != DEAD:
            s.most = <size_t>(self.context.width // SPARSE)
            s.most_suffix_nodes = self.trie.nodes // FEWER_NODES
            s.unconditional = s.self_loop = DEAD
            memset(&s.loop, 0, sizeof(SelfLoop))
            self.begin(query, places, origin, out)
            r = 0
            while r < self.jobs.size():
                if not self.walk_place(query, self.jobs[r], self.job_configs[r], &s, out):
                    return False
                r += 1
        if query.with_tokens:
            self.emit_special_tokens(query, out)
        for r in range(out.subtrees.size()):
            self.acceptance.append_return_places(
                out.subtrees[r],
                out.groups.guard(out.subtree_groups[r]),
                out.groups.places[out.subtree_groups[r]],
            )
        return True

    cdef int begin(
        self, const WalkQuery& query, vector[PlaceId]& places, vector[PlaceId]& origin, WalkResult& out
    ) except FAILED nogil:
        """Note what the start does before the first byte, and queue the places."""
        cdef Config first = self.space.configs[query.start]
        cdef int32_t p
        cdef WalkGroupId g
        cdef size_t r
        self.jobs.clear()
        self.job_configs.clear()
        for r in range(places.size()):
            self.acceptance.note_readers(places[r], first.reads, out.readers)
        for p in range(first.pop_first, first.pop_first + first.pop_count):
            g = out.groups.at(self.space.pops[p].guard, self.space.pops[p].sem)
            out.groups.has_run[g] = query.run != NO_RUN
            out.groups.places[g].insert(out.groups.places[g].end(), origin.begin(), origin.end())
            for r in range(origin.size()):
                out.suffix_nodes += self.context.tries.size_of(origin[r])
        for r in range(places.size()):
            self.jobs.push_back(places[r])
            self.job_configs.push_back(query.start)
        return 0

    cdef bint walk_place(
        self, const WalkQuery& query, PlaceId place, ConfigId c, WalkState* s, WalkResult& out
    ) except FAILED nogil:
        """Walk the subtree at one place from a configuration. Return False if the walk must begin again."""
        cdef ConfigId* stack = self.stack.data()
        cdef const SummaryId* summary_of = self.trie.summary_of.data()
        cdef Nodes nodes = self.context.tries.nodes(place)
        cdef NodeId i = node_at(place)
        cdef ConfigId above
        cdef int32_t k = 0, kid_end = 0, depth = 0
        cdef bint own_byte = is_inclusive(place)
        cdef uint64_t visited = 0
        cdef int verdict, then
        cdef bint subtrees = self.context.layers.subtrees
        s.nodes = nodes
        s.in_suffix_trie = trie_of(place)
        s.covered = 0
        if not own_byte:
            if nodes.end[i] - i > RUN_NODES and not self.space.configs[query.start].reads & ~<uint64_t>1:
                c = self.constrained.defer_runs(c, place, out.deferred, self.jobs, self.job_configs)
                if c == DEAD:
                    return True
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
            if not visited & 0xFFF:
                self.terms.meter.spend(0x1000)
            if c != s.unconditional and is_unconditional(&self.space.configs[c]):
                s.unconditional = c
            verdict = DESCEND
            if subtrees and not s.in_suffix_trie and summary_of[i] != NO_SUMMARY:
                verdict = self.classify(c, summary_of[i], s)
            if c == s.unconditional and out.suffix_nodes <= s.most_suffix_nodes:
                # most nodes are like this: their tokens are allowed, and nothing else happens
                take(self, i, i + 1 if verdict == DESCEND else nodes.end[i], s, out)
                if verdict != DESCEND or nodes.kid_first[i] == nodes.kid_first[i + 1]:
                    continue
                then = WALK_BELOW
            else:
                then = self.emit(query, c, i, verdict, s, out)
                if then == SKIP:
                    continue
                if then == BEGIN_AGAIN:
                    return False
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
        return self.terms.meter.spend(visited & 0xFFF) == 0

    cdef int classify(self, ConfigId c, SummaryId summary, WalkState* s) except FAILED nogil:
        """Classify a subtree for a configuration by the subtree's summary: see ``SubtreeAcceptance``."""
        cdef const Config* config
        cdef SelfLoop* loop
        cdef int verdict = DESCEND
        if c == s.self_loop:
            verdict = classify_loop(&self.trie.summaries[summary], s.loop)
            if verdict == DESCEND and not s.loop.is_searched:
                verdict = self.acceptance.classify(c, summary)
                s.loop = self.acceptance.loop_of(c)[0]
        else:
            config = &self.space.configs[c]
            if c == s.unconditional or (config.count and config.sure == config.count):
                verdict = self.acceptance.classify(c, summary)
                loop = self.acceptance.loop_of(c)
                if loop != NULL and loop.length == NO_END:
                    s.self_loop = c
                    s.loop = loop[0]
        self.taken += verdict != DESCEND
        return verdict

    cdef int emit(
        self, const WalkQuery& query, ConfigId c, NodeId node, int verdict, WalkState* s, WalkResult& out
    ) except FAILED nogil:
        """Note the tokens and the returns of a configuration at a node. Return how the walk continues."""
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
        if verdict == ALL_ALLOWED or s.nodes.kid_first[node] == s.nodes.kid_first[node + 1]:
            return SKIP
        if config.pop_count and not self.emit_returns(query, config, node, verdict, s, out):
            return BEGIN_AGAIN
        if (
            query.repeatable
            and out.suffix_nodes > s.most_suffix_nodes
            and out.groups.can_repeat(query.again.sem)
        ):
            # walking the groups costs more than walking the vocabulary again
            out.repeats = True
            out.suffix_nodes = 0
            out.groups.clear()
            out.subtrees.clear()
            out.subtree_groups.clear()
        if verdict == SAME_STATE or not config.count:
            return SKIP
        return WALK_READING if reads else WALK_BELOW

    cdef uint64_t emit_readers(
        self, const Config* config, NodeId node, int* verdict, WalkState* s, WalkResult& out
    ) except? BITS_FAILED nogil:
        """Note the places where omitted members of a configuration continue.

        The semantic state decides about these members, so their tokens are tried on the real configuration.
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

    cdef bint emit_returns(
        self,
        const WalkQuery& query,
        const Config* config,
        NodeId node,
        int verdict,
        WalkState* s,
        WalkResult& out,
    ) except FAILED nogil:
        """Note the returns of a configuration at a node, for the suffixes of the tokens there.

        Return False if the walk must be repeated with the frame known, and a repeated walk would lack this
        return.
        """
        cdef int32_t p
        cdef WalkGroupId g
        cdef GuardId guard
        cdef SummaryId summary = self.trie.summary_of[node] if verdict == SAME_STATE else NO_SUMMARY
        for p in range(config.pop_first, config.pop_first + config.pop_count):
            guard = self.space.pops[p].guard
            if verdict == SAME_STATE:
                if not self.acceptance.meets(summary, <uint64_t>1 << guard):
                    continue
            elif not self.acceptance.may_follow(s.nodes, node, guard):
                continue
            if out.repeats:
                if self.space.pops[p].sem == query.again.sem:
                    continue
                return False
            g = out.groups.at(guard, self.space.pops[p].sem)
            out.suffix_nodes += s.nodes.end[node] - node
            out.groups.places[g].push_back(place_at(node, s.in_suffix_trie))
            if verdict == SAME_STATE:
                out.suffix_nodes += self.trie.summaries[summary].nested
                out.subtrees.push_back(node)
                out.subtree_groups.push_back(g)
        return True

    cdef int emit_special_tokens(self, const WalkQuery& query, WalkResult& out) except FAILED nogil:
        """Note the special tokens that the start allows."""
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
        """Tell whether some member has just begun to capture a key."""
        cdef int32_t i
        for i in range(config.first, config.first + config.count):
            if self.context.semantics.sems[self.space.members[i].sem].text == KEY_OF_ONE:
                return True
        return False
