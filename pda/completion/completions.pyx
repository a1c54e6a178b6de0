# distutils: language = c++
"""The shortest ends of configurations, as tokens.

The shortest text is cut into the fewest tokens: a dynamic program over the token trie. A search in breadth
over tokens, bounded in work, then looks for a longer text of fewer tokens. The result is a witness: each
configuration on its way is noted with the next token and the number of tokens that are left, which only
falls. So a text that follows its witness ends in time, whatever it was before.
"""

cimport cython
from libc.stdint cimport int64_t, uint32_t, uint8_t
from libcpp.algorithm cimport reverse

from stackmask.pda.completion.estimates cimport NO_END, TermCosts, joined, with_owed
from stackmask.pda.context.callables cimport Owed
from stackmask.pda.context.semantic_states cimport Semantics, owed_at
from stackmask.pda.ids cimport FAILED, ID_FAILED, NO_TOKEN, KeysId, MapId
from stackmask.pda.memory.checked_vectors cimport refill
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_free, map_get, map_init, map_put, map_reset, mix
from stackmask.pda.stack.configuration_table cimport DEAD
from stackmask.pda.terms.term_table cimport EMPTY, F_TOKEN, is_byte, token_class_of, token_symbol


# ------------------------------------------------------------------------------------------------
# The shortest text that ends a configuration: A* over the configurations of a family.
#
# The search steps real configurations, so what it finds is a text of the grammar, with follow restrictions,
# actions, resolvers and keys as they are. Steps are proposed by the estimates of local states, and taken only
# when it is their turn: where the estimates are exact, one step is taken for each byte of the result. Where
# they are not, the search may be large. After some steps it is repeated with places left out that look like
# others: equal local states and estimates, whatever was written. Then it goes on in depth, by the step that
# looks shortest, which finds a longer text soon; then in breadth, with weight on the estimates; then it gives
# up.
#
# Where a value of a semantic state says what its text needs (``grammar.ir.Owed``), that text is tried as a
# whole, of each class of bytes in a name only one is tried at first, and the search ends some steps after it
# has met an end.
# ------------------------------------------------------------------------------------------------


cdef enum:
    ENDS = -1               # in place of a symbol: the text may end, or goes on as is known
    SAMPLES = 10            # bytes of a class that are tried inside of a capture, where each may count
    STEP_WORK = 12          # units of a step taken, beside the step itself
    VISIT_WORK = 40         # ... of a configuration: a look at every byte, before and after
    RATE_WORK = 12          # ... of a class of bytes that is rated
    SAMPLE_WORK = 16        # ... and of the search for other bytes of the class
    PROPOSAL_WORK = 8       # ... of a step that is queued
    # how what is left counts beside what was written
    EXACT = 1
    IN_DEPTH = 0            # the place that was reached last goes on first
    PROGRESS = 8            # ... or by a step after which less is left, from so many places before
    WEIGHTED = 3
    # steps that are taken at most
    MOST_ALIKE = 8          # places with equal local states and estimates, once they are left out
    STAGES = 7
    FEW_STEPS = 2_000
    MOST_OWED_STEPS = 5_000     # of a stage where values say what their texts need
    MOST_FOLLOWED = 2       # places with equal local states where the same text is tried
    BYTES_OF_A_STEP = 8     # of such a text
    HINTED_STEPS = 300      # once a text was found that a value proposed
    NOVEL_STEPS = 3_000
    EXACT_STEPS = 200       # and for each byte that seems to be left
    STEPS_FOR_A_BYTE = 4
    MOST_EXACT_STEPS = 4_000
    FEW_DEPTH_STEPS = 3_000
    DEPTH_STEPS = 20_000
    WEIGHTED_STEPS = 50_000
    MORE_SYMBOLS = 16       # in haste, a known end is taken that is so much longer than twice its estimate


cdef struct Stage:
    # one search of those that follow each other
    int32_t most            # steps; 0: as many as an exact search may take
    int32_t weight
    int32_t samples         # bytes of a class that are tried inside of a capture
    bint leaves_out         # places that are like enough others
    bint only_owed          # only where a value says what its text needs

cdef Stage[7] STAGE = [
    Stage(0, EXACT, 1, False, False),
    Stage(FEW_STEPS, EXACT, 1, True, True),
    Stage(0, EXACT, SAMPLES, False, True),
    Stage(NOVEL_STEPS, EXACT, SAMPLES, True, False),
    Stage(FEW_DEPTH_STEPS, IN_DEPTH, SAMPLES, True, False),
    Stage(DEPTH_STEPS, IN_DEPTH, SAMPLES, False, False),
    Stage(WEIGHTED_STEPS, WEIGHTED, SAMPLES, False, False),
]


@cython.final
cdef class TextSearch:
    """Searches in one family. Hold the lock of the store to use it."""

    def __cinit__(self, Estimates estimates not None):
        self.family = estimates.family
        self.terms = estimates.terms
        self.estimates = estimates
        map_init(&self.known)
        map_init(&self.seen)
        map_init(&self.alike)

    def __dealloc__(self):
        map_free(&self.known)
        map_free(&self.seen)
        map_free(&self.alike)

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes are held."""
        cdef size_t held = sizeof(Reached) * self.reached.capacity() + 12 * (self.known.mask + self.seen.mask)
        return held + sizeof(Proposal) * self.proposals.capacity()

    cdef int note_known(self, ConfigId config, int32_t length) except FAILED nogil:
        """Remember that a configuration has an end of so many symbols: searches may stop there."""
        map_put(&self.known, config, length)
        return 0

    cdef ConfigId find(
        self, ConfigId config, vector[SymbolId]& out, int32_t* steps, bint hastily
    ) except ID_FAILED nogil:
        """Append the symbols from a configuration to one that may end, or whose end is known.

        ``steps``: those that may be taken; what is taken is subtracted. ``hastily``: what is left counts more
        from the first step on, so that a text is found sooner, which may be longer.
        Returns: the configuration where they lead; DEAD if none was found within the bounds.
        """
        cdef int32_t index, stage, allowed, granted, left = self.estimates.of_config(config)
        cdef size_t first = out.size()
        cdef int32_t exact
        cdef Stage now
        self.hastily = hastily
        left = min(left, <int32_t>MOST_EXACT_STEPS)
        exact = min(EXACT_STEPS + STEPS_FOR_A_BYTE * left, <int32_t>MOST_EXACT_STEPS)
        for stage in range(STAGES):
            now = STAGE[stage]
            if now.only_owed and not self.owes:
                continue
            self.weight = WEIGHTED if hastily else now.weight
            self.samples = now.samples
            self.leaves_out = now.leaves_out
            allowed = now.most or exact
            if self.owes:
                allowed = min(allowed, <int32_t>MOST_OWED_STEPS)
            granted = allowed = min(allowed, steps[0])
            index = self.run(config, &allowed)
            steps[0] -= granted - allowed
            if index >= 0:
                out.resize(first + self.reached[index].length)
                config = self.reached[index].config
                while self.reached[index].before >= 0:
                    out[first + self.reached[index].length - 1] = self.reached[index].symbol
                    index = self.reached[index].before
                return config
            if (self.queue.empty() and not self.leaves_out and not self.owes) or steps[0] <= 0:
                # all there is was visited
                break
        return DEAD

    cdef int32_t run(self, ConfigId config, int32_t* steps) except ID_FAILED nogil:
        """Search, and return the index of the place that may end; -1 if none was found in so many steps."""
        cdef int32_t index, more = HINTED_STEPS
        cdef ConfigId next
        cdef Proposal now
        cdef priority_queue[pair[uint64_t, int32_t]] nothing
        self.steps = steps
        self.reached.clear()
        self.proposals.clear()
        map_reset(&self.seen)
        map_reset(&self.alike)
        self.owes = self.hinted = False
        self.end_index = -1
        self.queue.swap(nothing)  # to take out one by one would take longer than to put in
        map_put(&self.seen, config, 1)
        self.visit(config, -1, 0, 0)
        while not self.queue.empty() and steps[0] > 0 and more > 0:
            if self.hinted and self.end_index >= 0:
                more -= 1
            now = self.proposals[self.queue.top().second]
            self.queue.pop()
            if <int32_t>now.symbol == ENDS:
                return now.index
            index = now.index
            self.terms.meter.spend(STEP_WORK)
            next = self.family.step(self.reached[index].config, now.symbol)
            steps[0] -= 1
            if next <= DEAD or map_get(&self.seen, next) != NO_VALUE:
                continue
            map_put(&self.seen, next, 1)
            if self.leaves_out and self.is_alike(next):
                continue
            self.visit(next, index, now.symbol, self.reached[index].length + 1)
        return self.end_index if self.hinted else -1

    cdef bint is_alike(self, ConfigId config) except FAILED nogil:
        """Return whether enough places with the same local states and the same estimate were visited."""
        return self.count_alike(config, mix(71, <uint32_t>self.estimates.of_config(config))) > MOST_ALIKE

    cdef int32_t count_alike(self, ConfigId config, uint64_t h) except FAILED nogil:
        """Count one more place with the same local states and hash, and return how many there were."""
        cdef int32_t i, first = self.family.configs[config].first, count
        for i in range(first, first + self.family.configs[config].count):
            h = mix(h, <uint32_t>self.family.members[i].state)
        count = map_get(&self.alike, h)
        count = 1 if count == NO_VALUE else count + 1
        map_put(&self.alike, h, count)
        return count

    cdef int visit(self, ConfigId config, int32_t before, SymbolId symbol, int32_t length) except FAILED nogil:
        """Enter a configuration, and propose the steps from it."""
        cdef Reached at
        cdef int32_t known, index, left
        at.config = config
        at.before = before
        at.symbol = symbol
        at.length = length
        self.reached.push_back(at)
        self.idle = joined(self.estimates.of_config(config), 1) if self.weight == IN_DEPTH else -1
        if self.family.configs[config].accepting:
            return self.propose(<int32_t>self.reached.size() - 1, <SymbolId>ENDS, 0)
        known = map_get(&self.known, config)
        if known != NO_VALUE:
            if self.hastily:
                left = self.estimates.of_config(config)
                if self.far_off or known <= <int64_t>MORE_SYMBOLS + 2 * <int64_t>left:
                    known = 0  # it is taken at once
            self.propose(<int32_t>self.reached.size() - 1, <SymbolId>ENDS, known)
        index = <int32_t>self.reached.size() - 1
        self.propose_steps(index)
        return self.propose_owed(index)

    cdef int propose(self, int32_t index, SymbolId symbol, int32_t estimate) except FAILED nogil:
        """Queue a step.

        The shortest text comes first; of equal ones one that is known, then what is nearest to its end.
        """
        cdef Proposal step
        cdef pair[uint64_t, int32_t] entry
        cdef uint64_t whole = <uint64_t>self.reached[index].length
        whole += <uint64_t>self.weight * <uint64_t>estimate
        if estimate >= NO_END:
            return 0
        self.terms.meter.spend(PROPOSAL_WORK)
        if <int32_t>symbol == ENDS and (self.end_index < 0 or whole < self.end_length):
            self.end_index = index
            self.end_length = whole
        step.index = index
        step.symbol = symbol
        entry.first = ~((whole << 29) | (0 if <int32_t>symbol == ENDS else <uint64_t>estimate))
        if self.weight == IN_DEPTH:
            entry.first = <uint64_t>(index + (PROGRESS if estimate < self.idle else 0)) << 32
            # of steps after which as much is left, as after a blank, what is no blank comes first
            entry.first |= <uint32_t>symbol if estimate == self.idle else <uint64_t>(NO_END - estimate)
        entry.second = <int32_t>self.proposals.size()
        self.proposals.push_back(step)
        self.queue.push(entry)
        return 0

    cdef int propose_steps(self, int32_t index) except FAILED nogil:
        """Propose the steps from a configuration: of each class of bytes one, inside of captures a few."""
        cdef ConfigId config = self.reached[index].config
        cdef int32_t i, first = self.family.configs[config].first
        cdef Member m
        self.terms.meter.spend(VISIT_WORK)
        for i in range(256):
            self.best[i] = NO_END
        for i in range(first, first + self.family.configs[config].count):
            m = self.family.members[i]
            self.rate_bytes(m, self.family.configs[config].capturing)
            if self.terms.terms[m.state].flags & F_TOKEN:
                self.propose_tokens(index, m)
        for i in range(255, -1, -1):
            if self.best[i] < NO_END:
                self.propose(index, <SymbolId>i, joined(self.best[i], 1))
        return 0

    cdef int propose_owed(self, int32_t index) except FAILED nogil:
        """Propose what values say that comes next, as far as it can be read: all of it at once."""
        cdef ConfigId config = self.reached[index].config
        cdef int32_t i, first = self.family.configs[config].first, last = -1
        cdef Owed owed
        for i in range(first, first + self.family.configs[config].count):
            owed_at(self.estimates.semantics, self.family.members[i].sem, &owed)
            if owed.count and owed.first != last and self.is_new(config, owed):
                last = owed.first
                self.follow(index, owed)
        return 0

    cdef bint is_new(self, ConfigId config, Owed owed) except FAILED nogil:
        """Return whether the text was not tried yet at some places with the same local states."""
        return self.count_alike(config, mix(73, <uint32_t>owed.first)) <= MOST_FOLLOWED

    cdef int follow(self, int32_t index, Owed owed) except FAILED nogil:
        """Read a text from a configuration on, and propose its last step."""
        cdef size_t before = self.reached.size()
        cdef Reached at = self.reached[index]
        cdef ConfigId config = at.config
        cdef int32_t k, place = index
        cdef SymbolId symbol = 0
        for k in range(owed.count):
            if k:
                at.before = place
                at.config = config
                at.symbol = symbol
                at.length += 1
                place = <int32_t>self.reached.size()
                self.reached.push_back(at)
            self.terms.meter.spend(STEP_WORK)
            # by its index: the texts may move while values are asked
            symbol = self.estimates.semantics.callables.owed_text[owed.first + k]
            config = self.family.step(config, symbol)
            if config <= DEAD:
                self.reached.resize(before)
                break
        self.steps[0] -= 1 + (k + 1) // BYTES_OF_A_STEP
        if config <= DEAD:
            return 0
        self.hinted = True
        return self.propose(place, symbol, joined(self.estimates.of_config(config), 1))

    cdef int rate_bytes(self, Member m, bint each) except FAILED nogil:
        """Estimate what is left after the bytes that a member may read. ``each``: several of a class."""
        cdef KeysId keys = self.estimates.semantics.keys_at(m.sem)
        cdef int32_t under = self.estimates.of_frame(m.frame, keys), k, byte, left, count, most = SAMPLES
        cdef Owed owed
        cdef TermId d
        cdef MapId map
        if under >= NO_END:
            return 0
        owed_at(self.estimates.semantics, m.sem, &owed)
        if owed.bytes:
            self.owes = True
            most = self.samples
        map = self.terms.classes_of(m.state)
        count = self.terms.classes.maps[map].count
        self.terms.meter.spend(count * (RATE_WORK + SAMPLE_WORK if each else RATE_WORK))
        for k in range(self.terms.classes.maps[map].count):
            byte = self.terms.classes.maps[map].byte_of[k]
            d = self.terms.step(m.state, byte)
            if d == EMPTY:
                continue
            left = joined(self.estimates.of_state(d, keys), under)
            left = with_owed(left, owed)
            self.best[byte] = min(self.best[byte], left)
            if each and left < NO_END:
                count = 1
                while count < most and byte < 255:
                    byte += 1
                    if self.terms.classes.maps[map].of[byte] == k:
                        self.best[byte] = min(self.best[byte], left)
                        count += 1
        return 0

    cdef int propose_tokens(self, int32_t index, Member m) except FAILED nogil:
        """Propose the special tokens that a member may read."""
        cdef KeysId keys = self.estimates.semantics.keys_at(m.sem)
        cdef int32_t under = self.estimates.of_frame(m.frame, keys), k
        cdef TermId d
        for k in range(self.terms.token_classes):
            d = self.terms.step(m.state, token_symbol(k))
            if d != EMPTY:
                self.propose(
                    index, token_symbol(k), joined(joined(self.estimates.of_state(d, keys), under), 1)
                )
        return 0


cdef enum:
    SMALL_TRIE = 2_000      # nodes: of such vocabularies, most minima are found exactly
    # nodes that the search by tokens visits at most
    FEW_VISITS = 20_000
    MANY_VISITS = 400_000
    # units of work that it takes at most: most are new configurations
    FEW_UNITS = 200_000
    MANY_UNITS = 3_000_000
    MOST_IN_CAPTURES = 250  # of these inside of captures, where each is a new configuration
    MOST_SYMBOLS = 1 << 20  # of a shortest text
    MOST_PLACES = 1 << 12   # of one whose places are all noted


cdef int64_t spent(TermStore terms) noexcept nogil:
    """Return the units of work of a store so far."""
    return terms.meter.done + terms.meter.granted - terms.meter.credit


cdef int64_t allowance(Trie trie) noexcept nogil:
    """Return how many nodes a search by tokens may visit."""
    return MANY_VISITS if trie.nodes < SMALL_TRIE else FEW_VISITS


@cython.final
cdef class Completions:
    """The shortest ends in one family. Hold the lock of the store to use it.

    ``token_classes``: the special tokens of the grammar, {ids: number of the class}.
    ``start``: its first term.
    """

    def __cinit__(
        self,
        ConfigSpace family not None,
        Semantics semantics not None,
        TermCosts costs not None,
        Trie trie not None,
        token_classes,
        TermId start,
    ):
        cdef vector[TokenId] ids
        cdef SpecialClass special
        self.family = family
        self.terms = family.terms
        self.trie = trie
        self.texts = trie.character_groups.token_bytes
        self.estimates = Estimates(family, semantics, costs)
        self.search = TextSearch(self.estimates)
        self.resolves = self.search.far_off = costs.survey(start, self.estimates.objects)
        map_init(&self.index)
        map_init(&self.met)
        for listed, number in token_classes.items():
            ids.clear()
            for token in sorted(listed):
                ids.push_back(token)
            special.number = number
            special.tokens = ids
            self.classes.push_back(special)

    def __dealloc__(self):
        map_free(&self.index)
        map_free(&self.met)

    def belongs_to(self, ConfigSpace family):
        """Return whether the completions are those of this family."""
        return self.family is family

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes are held."""
        cdef size_t held = sizeof(Completion) * self.found.size() + 12 * (self.index.mask + self.met.mask)
        return held + self.estimates.nbytes() + self.search.nbytes()

    # -- results -----------------------------------------------------------------------------------

    cdef int32_t fewest(self, ConfigId config) except FAILED nogil:
        """Return the fewest tokens known to end a configuration, the stop token not counted, or NOT_FOUND."""
        cdef Completion found
        cdef int32_t steps = NOT_FOUND
        self.few(config, &steps)
        found = self.known(config)
        if found.token != NO_TOKEN and found.searched != BY_TOKENS:
            self.shorten(config)
            found = self.known(config)
            found.searched = BY_TOKENS
            self.enter(config, found)
        return found.fewest

    cdef int32_t few(self, ConfigId config, int32_t* steps, Effort effort=BY_TEXT) except FAILED nogil:
        """Return the tokens of a shortest text of a configuration, or fewer where they are known.

        ``steps``: those that the search may take; what it takes is subtracted. ``effort``: BY_HASTE takes a
        text that is found in fewer steps, and may not be a shortest one.
        """
        cdef Completion found = self.known(config)
        cdef bint enough
        if self.family.configs[config].accepting or found.searched >= effort or steps[0] <= 0:
            return found.fewest
        self.estimates.prepare()
        self.find_text(config, steps, effort == BY_HASTE)
        enough = steps[0] > 0
        found = self.known(config)
        if found.fewest < NOT_FOUND or enough:
            found.searched = effort
            self.enter(config, found)
        return found.fewest

    cdef Completion known(self, ConfigId config) noexcept nogil:
        """Return what is known of a configuration."""
        cdef Completion nothing
        cdef int32_t at
        if not self.family.configs[config].accepting:
            at = map_get(&self.index, config)
            if at != NO_VALUE:
                return self.found[at]
        nothing.fewest = 0 if self.family.configs[config].accepting else NOT_FOUND
        nothing.length = 0
        nothing.token = NO_TOKEN
        nothing.next = DEAD
        nothing.searched = BY_OTHERS
        return nothing

    cdef int enter(self, ConfigId config, Completion found) except FAILED nogil:
        """Note the end of a configuration."""
        cdef int32_t at = map_get(&self.index, config)
        if at == NO_VALUE:
            map_put(&self.index, config, <int32_t>self.found.size())
            self.found.push_back(found)
        else:
            self.found[at] = found
        if found.fewest < NOT_FOUND:
            self.search.note_known(config, found.length)
        return 0

    def witness(self, ConfigId config):
        """Return (bytes, tokens) of the shortest end of a configuration that is known, or None."""
        cdef Completion at
        cdef list tokens = []
        if self.fewest(config) >= NOT_FOUND:
            return None
        at = self.known(config)
        while at.token != NO_TOKEN:
            self.terms.meter.spend(4)
            tokens.append(int(at.token))
            at = self.known(at.next)
        return b"".join(self.texts.get(token) or b"" for token in tokens), tokens

    # -- the shortest text -------------------------------------------------------------------------

    cdef int find_text(self, ConfigId config, int32_t* steps, bint hastily) except FAILED nogil:
        """Find a text of a configuration, a shortest one if not ``hastily``; keep its cut as a witness."""
        cdef ConfigId end
        self.symbols.clear()
        self.tail.clear()
        end = self.search.find(config, self.symbols, steps, hastily)
        if end == DEAD:
            return 0
        self.append_known(end)
        if self.symbols.size() <= MOST_SYMBOLS and self.cut_text():
            self.keep_witness(config)
            if (
                self.symbols.size() <= MOST_PLACES
                and self.classes.empty()
                and not self.family.graph.counts
            ):
                self.keep_places(config)
        return 0

    cdef int append_known(self, ConfigId config) except FAILED nogil:
        """Append the symbols of the witness of a configuration.

        Special tokens and what follows them stay tokens: one that has a text may have been read as either.
        """
        cdef Completion at = self.known(config)
        cdef const uint8_t* text
        cdef uint32_t k
        while at.token != NO_TOKEN:
            self.terms.meter.spend(1 + self.texts.length(at.token) // 8 + 2 * self.classes.size())
            if self.tail.empty() and not self.is_special(config, at.token):
                text = self.texts.blob + self.texts.start[at.token]
                for k in range(self.texts.length(at.token)):
                    self.symbols.push_back(<SymbolId>text[k])
            else:
                self.tail.push_back(at.token)
            config = at.next
            at = self.known(config)
        return 0

    cdef TokenId token_of(self, SymbolId symbol) noexcept nogil:
        """Return a token of a class of special tokens; NO_TOKEN if the grammar does not have the class."""
        cdef size_t k
        for k in range(self.classes.size()):
            if self.classes[k].number == token_class_of(symbol):
                return self.classes[k].tokens[0]
        return NO_TOKEN

    cdef bint is_special(self, ConfigId config, TokenId token) except FAILED nogil:
        """Return whether a token may be read as a special one after a configuration."""
        cdef size_t c
        for c in range(self.classes.size()):
            if self.classes[c].holds(token):
                if self.family.step(config, token_symbol(self.classes[c].number)) > DEAD:
                    return True
        return False

    cdef bint cut_text(self) except FAILED nogil:
        """Cut the symbols into the fewest tokens; False if the vocabulary cannot spell them.

        Cost: a step down the trie for each symbol and each length of a token that begins there.
        """
        cdef size_t n = self.symbols.size(), i, k
        cdef NodeId node
        cdef int32_t kid, stop
        cdef int64_t looked_at
        self.terms.meter.spend(16 + 8 * <int64_t>n)
        refill(self.least, n + 1, NOT_FOUND)
        refill(self.choice, n + 1, NO_TOKEN)
        self.least[n] = 0
        for i in range(n, 0, -1):
            k = i - 1
            if not is_byte(self.symbols[k]):
                self.choice[k] = self.token_of(self.symbols[k])
                if self.choice[k] != NO_TOKEN:
                    self.least[k] = self.least[k + 1] + 1
                continue
            node = 0
            looked_at = 0
            while k < n and is_byte(self.symbols[k]):
                kid = self.trie.kid_first[node]
                looked_at -= kid
                stop = self.trie.kid_first[node + 1]
                while kid < stop and self.trie.kid_byte[kid] != <uint8_t>self.symbols[k]:
                    kid += 1
                looked_at += kid
                if kid == stop:
                    break
                node = self.trie.kid_node[kid]
                k += 1
                if self.trie.token_first[node] < self.trie.token_first[node + 1]:
                    if self.least[k] + 1 < self.least[i - 1]:
                        self.least[i - 1] = self.least[k] + 1
                        self.choice[i - 1] = self.trie.tokens[self.trie.token_first[node]]
            self.terms.meter.spend((<int64_t>(k + 1 - i) + looked_at // 16) // 2)
        self.cut.clear()
        i = 0
        while i < n and self.choice[i] != NO_TOKEN:
            self.cut.push_back(self.choice[i])
            i += self.texts.length(self.choice[i]) if is_byte(self.symbols[i]) else 1
        self.cut.insert(self.cut.end(), self.tail.begin(), self.tail.end())
        return i == n

    cdef int keep_witness(self, ConfigId config) except FAILED nogil:
        """Note the tokens of ``cut`` for the configurations on their way, where fewer are not known."""
        cdef vector[ConfigId] places
        cdef Completion now, old
        cdef size_t i, n = self.cut.size()
        cdef int32_t tokens, length
        self.terms.meter.spend((16 + 2 * <int64_t>self.classes.size()) * n)
        for i in range(n):
            places.push_back(config)
            config = self.after(config, self.cut[i])
            if config == DEAD:
                return 0
        if not self.family.configs[config].accepting:
            return 0
        tokens = length = 0
        now.next = config
        for i in range(n, 0, -1):
            config = places[i - 1]
            now.token = self.cut[i - 1]
            old = self.known(now.next)
            if old.fewest < tokens:
                tokens = old.fewest
                length = old.length
            tokens += 1
            length += max(<int32_t>self.texts.length(now.token), 1)
            now.fewest = tokens
            now.length = length
            old = self.known(config)
            if tokens < old.fewest:
                now.searched = old.searched
                self.enter(config, now)
            now.next = config
        return 0

    cdef int keep_places(self, ConfigId config) except FAILED nogil:
        """Note the rest of ``symbols`` for each place on their way.

        Where another text meets it, a search may stop. Not in captures, where no other text comes to the same
        place.
        """
        cdef vector[ConfigId] places
        cdef Completion now, old
        cdef size_t i, n = self.symbols.size()
        cdef int32_t length
        self.terms.meter.spend(4 * <int64_t>n)
        for i in range(n + 1):
            if config <= DEAD:
                return 0
            places.push_back(config)
            if i < n:
                config = self.family.step(config, self.symbols[i])
        for i in range(n, 0, -1):
            config = places[i - 1]
            now.token = self.choice[i - 1]
            if now.token == NO_TOKEN or self.family.configs[config].capturing:
                continue
            length = <int32_t>self.texts.length(now.token)
            now.next = places[i - 1 + length]
            old = self.known(now.next)
            now.fewest = old.fewest + 1
            now.length = old.length + length
            old = self.known(config)
            if now.fewest < old.fewest:
                now.searched = old.searched
                self.enter(config, now)
        return 0

    cdef ConfigId after(self, ConfigId config, TokenId token) except ID_FAILED nogil:
        """Return the configuration after a token, as text and as a special token; DEAD if it is neither."""
        cdef ConfigId next = DEAD, other
        cdef const uint8_t* text = self.texts.blob + self.texts.start[token]
        cdef uint32_t k
        cdef size_t c
        if token < self.texts.size and self.texts.length(token):
            next = config
            for k in range(self.texts.length(token)):
                next = self.family.step(next, text[k])
                if next == DEAD:
                    break
        for c in range(self.classes.size()):
            if self.classes[c].holds(token):
                other = self.family.step(config, token_symbol(self.classes[c].number))
                next = self.family.union_of(next, other)
        return self.family.end_token(next)

    # -- fewer tokens ------------------------------------------------------------------------------

    cdef bint collect(self, ConfigId config, int64_t* effort, int64_t price) except FAILED nogil:
        """List tokens that may come next and where they lead, shortest first. False if ``effort`` ran out.

        ``effort``: nodes to visit; in captures, where each makes a configuration, one counts ``price``.
        Cost: a step for each node of the trie that is alive.
        """
        cdef Visit root
        cdef bint done
        self.visits.clear()
        root.node = 0
        root.config = config
        self.visits.push_back(root)
        self.successors.clear()
        done = self.collect_visits(effort, price)
        if not self.classes.empty():
            self.collect_special(config)
        self.end_tokens()
        return done

    cdef bint collect_visits(self, int64_t* effort, int64_t price) except FAILED nogil:
        """List the tokens below the nodes in ``visits``, which begin at their configurations."""
        cdef Visit at, below
        cdef size_t next = 0
        cdef int32_t kid
        cdef NodeId node
        while next < self.visits.size():
            at = self.visits[next]
            next += 1
            self.terms.meter.spend(2 + self.trie.kid_first[at.node + 1] - self.trie.kid_first[at.node])
            if effort[0] <= 0:
                return False
            for kid in range(self.trie.kid_first[at.node], self.trie.kid_first[at.node + 1]):
                below.config = self.family.step(at.config, self.trie.kid_byte[kid])
                if below.config <= DEAD:
                    continue
                effort[0] -= price if self.family.configs[below.config].capturing else 1
                node = self.trie.kid_node[kid]
                self.add_tokens(node, below.config)
                if self.trie.kid_first[node] < self.trie.kid_first[node + 1]:
                    below.node = node
                    self.visits.push_back(below)
        return True

    cdef int add_tokens(self, NodeId node, ConfigId next) except FAILED nogil:
        """List the tokens that end at a node."""
        cdef int32_t t
        cdef Successor found
        found.next = next
        found.by_shape = False
        for t in range(self.trie.token_first[node], self.trie.token_first[node + 1]):
            found.token = self.trie.tokens[t]
            self.successors.push_back(found)
        return 0

    cdef int collect_special(self, ConfigId config) except FAILED nogil:
        """Add the special tokens that may come next to the list; those that are text too lead to both."""
        cdef size_t c, i, before = self.successors.size()
        cdef ConfigId next
        cdef Successor found
        cdef KeyMap listed
        cdef int32_t at
        map_init(&listed)
        try:
            for c in range(self.classes.size()):
                next = self.family.step(config, token_symbol(self.classes[c].number))
                if next <= DEAD:
                    continue
                if not listed.count:
                    for i in range(before):
                        map_put(&listed, self.successors[i].token, <int32_t>i)
                self.terms.meter.spend(4 * self.classes[c].tokens.size())
                for i in range(self.classes[c].tokens.size()):
                    found.token = self.classes[c].tokens[i]
                    found.next = next
                    found.by_shape = False
                    at = map_get(&listed, found.token)
                    if at != NO_VALUE:
                        self.successors[at].next = self.family.union_of(self.successors[at].next, next)
                        continue
                    map_put(&listed, found.token, <int32_t>self.successors.size())
                    self.successors.push_back(found)
        finally:
            map_free(&listed)
        return 0

    cdef int end_tokens(self) except FAILED nogil:
        """Let the listed tokens end where their bytes led, and take out those that may not end there."""
        cdef size_t i, kept = 0
        if not self.family.graph.counts:
            return 0
        for i in range(self.successors.size()):
            self.successors[kept] = self.successors[i]
            self.successors[kept].next = self.family.end_token(self.successors[i].next)
            kept += self.successors[kept].next > DEAD
        self.successors.resize(kept)
        return 0

    cdef int shorten(self, ConfigId config) except FAILED nogil:
        """Look in breadth for an end of fewer tokens than the one that is known, and keep its witness."""
        cdef int32_t bound = self.known(config).fewest, depth = 0, place = -1, left
        cdef int32_t longest = self.trie.max_depth
        cdef size_t level_end, i, k
        cdef int64_t last_unit
        cdef int64_t effort = allowance(self.trie), price = effort // MOST_IN_CAPTURES
        cdef Way way
        cdef Successor step
        cdef Completion known
        cdef TokenId last = NO_TOKEN
        cdef bint complete = True
        left = self.estimates.of_config(config)
        if bound <= 1 or left < NO_END and bound <= (left + longest - 1) // longest:
            return 0
        self.ways.clear()
        map_reset(&self.met)
        map_put(&self.met, config, 1)
        way.config = config
        way.before = -1
        way.token = NO_TOKEN
        self.ways.push_back(way)
        i = 0
        last_unit = spent(self.terms) + (MANY_UNITS if self.trie.nodes < SMALL_TRIE else FEW_UNITS)
        while complete and i < self.ways.size() and depth + 1 < bound:
            level_end = self.ways.size()
            depth += 1
            while complete and i < level_end and depth < bound:
                complete = self.collect(self.ways[i].config, &effort, price) and spent(self.terms) < last_unit
                for k in range(self.successors.size()):
                    step = self.successors[k]
                    if map_get(&self.met, step.next) != NO_VALUE:
                        continue
                    map_put(&self.met, step.next, 1)
                    left = self.known(step.next).fewest
                    if depth + left < bound:
                        bound = depth + left
                        place = <int32_t>i
                        last = step.token
                    left = self.estimates.of_config(step.next)
                    if left < NO_END and depth + (left + longest - 1) // longest < bound:
                        way.config = step.next
                        way.before = <int32_t>i
                        way.token = step.token
                        self.ways.push_back(way)
                i += 1
        if place < 0:
            return 0
        # the tokens of the way, and what is known from there
        self.cut.clear()
        way = self.ways[place]
        while way.before >= 0:
            self.cut.push_back(way.token)
            way = self.ways[way.before]
        reverse(self.cut.begin(), self.cut.end())
        self.cut.push_back(last)
        known = self.known(self.after(self.ways[place].config, last))
        while known.token != NO_TOKEN:
            self.cut.push_back(known.token)
            known = self.known(known.next)
        return self.keep_witness(config)
