# distutils: language = c++
"""Subtrees of the vocabulary whose tokens need not be walked one by one.

There are three cases. In a *self-loop* configuration, all characters of the subtree lead back to the
configuration, or to one that differs only in a count whose bound is out of reach. Then all tokens of the
subtree are allowed. So it is where the characters lead to several configurations that are *alike*: all of
them go on with all of these characters, and tokens end in them alike, as in a text before a pattern that is
searched for. Or one *member* accepts all strings of these characters, as in an alternative X* continuation.
Then all tokens of the subtree are allowed, whatever the other members do.
"""

cimport cython
from libc.stdint cimport int8_t, uint8_t, uint64_t
from libc.string cimport memset

from stackmask.pda.ids cimport MapId
from stackmask.pda.memory.byte_sets cimport ones
from stackmask.pda.masks.shared.part cimport MaskContext, MaskPart
from stackmask.pda.text.utf8 cimport utf8_steps
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

    cdef int drop(self) except -1 nogil:
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

    cdef int classify(self, ConfigId config, SummaryId summary) except -1 nogil:
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

    cdef ConfigId completed(self, ConfigId config, int32_t state, ConfigId target) except -3 nogil:
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

    cdef int find_kept(self, ConfigId config) except -1 nogil:
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

    cdef int choose_kept(self, ConfigId config, Characters* kept) except -1 nogil:
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
    ) except -1 nogil:
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

    cdef size_t leads_of(self, ConfigId config) except? 0x55555555 nogil:
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
