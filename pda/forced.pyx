# distutils: language = c++
"""Forced text, and the tokens that cross its end."""

cimport cython

from stackmask.pda.ids cimport NO_NODE, NO_TOKEN, MapId
from stackmask.pda.memory.hash_tables cimport NO_VALUE
from stackmask.pda.stack.configuration_table cimport DEAD, has_row
from stackmask.pda.terms.term_table cimport EMPTY, F_TOKEN, is_byte, token_class_of, token_symbol


# ------------------------------------------------------------------------------------------------
# Tokens across the end of a text: they begin in the text and continue after it.
#
# A subclass says which bytes may follow: a place is a number, and no byte may follow place 0.
# ------------------------------------------------------------------------------------------------


cdef class Crossings:
    """The trie of a vocabulary, traversed along a grammar. ``follow`` returns the next configuration."""

    cdef ConfigId follow(self, ConfigId config, uint8_t byte) except ID_FAILED nogil:
        """Return the configuration after a byte, or DEAD. The base class allows no byte."""
        return DEAD

    cdef int set_trie(self, Trie trie) except FAILED:
        """Set the trie for looking up tokens."""
        cdef NodeId child = 1
        cdef ConfigId c
        self.trie = trie
        for c in range(256):
            self.root_child[c] = -1
        while child < trie.nodes:
            self.root_child[trie.byte[child]] = child
            child = trie.end[child]
        return 0

    def after(self, ConfigId config, bytes text):
        """Return the configuration after a text; DEAD (0) if the text is not allowed."""
        cdef unsigned char byte
        for byte in text:
            config = self.follow(config, byte)
            if config == DEAD:
                break
        return config

    def taken(self, ConfigId config, bytes text):
        """Return the number of leading bytes of a text that are allowed, and the configuration after them."""
        cdef ConfigId next
        cdef Py_ssize_t count = 0
        cdef unsigned char byte
        for byte in text:
            next = self.follow(config, byte)
            if next == DEAD:
                break
            config = next
            count += 1
        return count, config

    def leads(self, ConfigId config, size_t most):
        """Return at most ``most`` of the bytes that may come next, in ascending order."""
        cdef list found = []
        cdef int32_t c
        for c in range(256):
            if self.follow(config, c) != DEAD:
                found.append(c)
                if <size_t>len(found) >= most:
                    break
        return found

    cdef NodeId child_of(self, NodeId node, uint8_t byte) noexcept nogil:
        """Return the child of a trie node for a byte, or NO_NODE."""
        cdef NodeId child = node + 1
        if node == 0:
            return self.root_child[byte]
        while child < self.trie.end[node] and self.trie.byte[child] < byte:
            child = self.trie.end[child]
        if child < self.trie.end[node] and self.trie.byte[child] == byte:
            return child
        return NO_NODE

    cdef int collect(self, NodeId node, ConfigId config, size_t most) except FAILED nogil:
        """Find the allowed tokens under a node, at the configuration after its bytes.

        ``found`` receives one token for each node, at most ``most`` + 1 tokens.
        """
        cdef vector[ConfigId] path
        cdef NodeId i = node + 1
        cdef ConfigId c
        cdef int32_t depth, base = self.trie.depth[node]
        self.found.clear()
        path.push_back(config)
        while i < self.trie.end[node] and self.found.size() <= most:
            depth = self.trie.depth[i] - base
            path.resize(depth)
            c = self.follow(path[depth - 1], self.trie.byte[i])
            if c == DEAD:
                i = self.trie.end[i]
                continue
            if self.trie.token_first[i] < self.trie.token_first[i + 1]:
                self.found.push_back(self.trie.tokens[self.trie.token_first[i]])
            path.push_back(c)
            i += 1
        return 0

    def crossings(self, bytes text, ConfigId config, size_t most):
        """Return pairs (n, tokens), by ascending n: tokens that begin with the last n bytes of ``text`` and
        continue at ``config``, the configuration after the text.

        Among tokens with equal bytes, one is returned. An empty list means more than ``most`` tokens.
        Cost: a few microseconds: one descent of the trie for each length, and the first allowed tokens there.
        """
        cdef list found = []
        cdef NodeId node
        cdef int32_t i, n, size = <int32_t>len(text)
        cdef const unsigned char* data = text
        for n in range(1, min(size, self.trie.max_depth) + 1):
            node = 0
            for i in range(size - n, size):
                node = self.child_of(node, data[i])
                if node == NO_NODE:
                    break
            if node != NO_NODE and node != 0:
                self.collect(node, config, most)
                if self.found.size():
                    found.append((n, tuple(self.found) if self.found.size() <= most else ()))
        return found

    def is_free(self, bytes text, Py_ssize_t place):
        """Return whether no token can cross a position inside a text, regardless of the following text.

        The two sides of such a position are tokenized independently.
        Cost: a descent of the trie from each byte before the position, up to the length of a token.
        """
        cdef Py_ssize_t i, start, size = len(text)
        cdef NodeId node
        cdef const unsigned char* data = text
        for start in range(place - 1, max(<Py_ssize_t>-1, place - <Py_ssize_t>self.trie.max_depth), -1):
            node = 0
            for i in range(start, size):
                node = self.child_of(node, data[i])
                if node == NO_NODE:
                    break
                if i >= place and self.trie.token_first[node] < self.trie.token_first[node + 1]:
                    return False
            if node > 0 and node + 1 < self.trie.end[node]:  # mutant: free-place
                return False
        return True


# ------------------------------------------------------------------------------------------------
# Forced text: from a configuration with one continuation, the bytes up to the next branch.
#
# A byte is forced where it is the only one that may come, the text may not end, and no special token may
# come. Where only one special token may come, that token is forced. Runs are remembered: every place in a run
# has the run and its offset in it. So a chain of forced states costs one lookup, at any place where it is
# entered.
# ------------------------------------------------------------------------------------------------


cdef enum:
    MAX_RUN = 65_536        # bytes of one run; a longer run is split
    MAX_KEPT = 1 << 20      # bytes of all runs that are remembered, about 17 bytes of memory each

cdef enum:
    NOTHING = 0
    ONE = 1
    SEVERAL = 2


@cython.final
cdef class ForcedRuns(Crossings):
    """The forced runs of one family of configurations. The caller holds the store's lock."""

    def __cinit__(self, ConfigSpace family, token_classes, Trie trie):
        self.family = family
        self.set_trie(trie)
        for ids, number in token_classes.items():
            self.class_numbers.push_back(number)
            if <size_t>number >= self.class_token.size():
                self.class_token.resize(<size_t>number + 1, NO_TOKEN)
            if len(ids) == 1:
                self.class_token[number] = ids[0]

    cdef ConfigId follow(self, ConfigId config, uint8_t byte) except ID_FAILED nogil:
        return self.family.step(config, byte)

    def belongs_to(self, ConfigSpace family):
        """Return whether the runs are those of this family."""
        return self.family is family

    cdef int only_successor(self, ConfigId config, SymbolId* symbol, ConfigId* next) except FAILED nogil:
        """Find the only possible next symbol. Return NOTHING, ONE or SEVERAL, after the second symbol."""
        cdef int32_t c, k, m, first
        cdef ConfigId after
        cdef TokenClassId number
        cdef int32_t found = NOTHING
        cdef MapId map_id
        cdef bint tokens = False, is_row
        if self.family.counts_tokens(config):
            # how it is cut into tokens matters here
            return SEVERAL
        # a step gives the configuration its row
        self.family.step(config, 0)
        is_row = has_row(self.family.configs[config])
        first = self.family.configs[config].first
        for m in range(first, first + self.family.configs[config].count):
            if self.family.terms.terms[self.family.members[m].state].flags & F_TOKEN:
                tokens = True
        if is_row:
            map_id = self.family.configs[config].map
            for k in range(self.family.terms.classes.maps[map_id].count):
                c = self.family.terms.classes.maps[map_id].byte_of[k]
                after = self.family.step(config, c)
                if after == DEAD:
                    continue
                if found:
                    return SEVERAL
                found = ONE
                symbol[0] = c
                next[0] = after
                for m in range(c + 1, 256):
                    if self.family.terms.classes.maps[map_id].of[m] == k:
                        return SEVERAL
        else:
            for c in range(256):
                after = DEAD
                for m in range(first, first + self.family.configs[config].count):
                    # steps of terms are remembered for all configurations, steps of this one are not
                    if self.family.terms.step(self.family.members[m].state, c) != EMPTY:
                        after = self.family.step(config, c)
                        break
                if after == DEAD:
                    continue
                if found:
                    return SEVERAL
                found = ONE
                symbol[0] = c
                next[0] = after
        if tokens:
            for m in range(<int32_t>self.class_numbers.size()):
                number = self.class_numbers[m]
                after = self.family.step(config, token_symbol(number))
                if after == DEAD:
                    continue
                if found or self.class_token[number] == NO_TOKEN:  # mutant: lone-token
                    return SEVERAL
                found = ONE
                symbol[0] = token_symbol(number)
                next[0] = after
        return found

    cdef ForcedPlaceId find(self, ConfigId config) except ID_FAILED nogil:
        """Return the position of a configuration: its run and its offset there."""
        cdef ForcedPlaceId known = self.place_of.get(config)
        cdef ConfigId here = config, next = DEAD
        cdef ForcedRunId number
        cdef SymbolId symbol = 0
        cdef ForcedPlaceId joined = NO_VALUE
        cdef size_t i, first, stop
        cdef int found
        cdef Run run
        cdef Place place
        if known != NO_VALUE:
            return known
        if self.data.size() > MAX_KEPT or self.places.size() > MAX_KEPT:
            self.places.clear()
            self.runs.clear()
            self.data.clear()
            self.configs.clear()
            self.place_of.clear()
        first = self.data.size()
        run.first = first
        run.kind = RUN_BRANCH
        run.token = NO_TOKEN
        run.after = DEAD
        while True:
            joined = self.place_of.get(here)
            if joined != NO_VALUE:
                break
            if self.family.configs[here].accepting:
                if self.only_successor(here, &symbol, &next) == NOTHING:
                    run.kind = RUN_FINAL
                break
            found = self.only_successor(here, &symbol, &next)
            if found != ONE:
                break
            if not is_byte(symbol):
                run.kind = RUN_TOKEN
                run.token = self.class_token[token_class_of(symbol)]
                run.after = next
                break
            if self.data.size() - first >= MAX_RUN:
                run.kind = RUN_LONG
                break
            self.data.push_back(<uint8_t>symbol)
            self.configs.push_back(here)
            here = next
        number = <int32_t>self.runs.size()
        place.run = number
        if joined != NO_VALUE:
            # the end is known: copy it, so that this run is complete, too
            place = self.places[joined]
            run.kind = self.runs[place.run].kind
            run.token = self.runs[place.run].token
            run.after = self.runs[place.run].after
            here = self.runs[place.run].end
            i = self.runs[place.run].first + place.offset
            stop = self.runs[place.run].first + self.runs[place.run].length
            while i < stop:
                self.data.push_back(self.data[i])
                self.configs.push_back(self.configs[i])
                i += 1
            place.run = number
        run.length = <int32_t>(self.data.size() - first)
        run.end = here
        self.runs.push_back(run)
        for place.offset in range(run.length + 1):
            here = run.end if place.offset == run.length else self.configs[first + place.offset]
            if self.place_of.get(here) != NO_VALUE:
                break
            self.place_of.put(here, <int32_t>self.places.size())
            self.places.push_back(place)
        return self.place_of.get(config)

    cdef bint inside_character(self, ConfigId config) except FAILED nogil:
        """Return whether the next byte may continue a character."""
        cdef int32_t c
        for c in range(0x80, 0xC0):
            if self.family.step(config, c) != DEAD:
                return True
        return False

    def run(self, ConfigId config):
        """Return (bytes, number of bytes in whole characters, kind, token, next configuration) at a position.

        The last three items describe the end of the run. RUN_TOKEN: the special token, and the configuration
        after it. Other kinds: -1, and the configuration at the end of the run. At most three bytes at the end
        belong to an incomplete character. If the position is inside a character that the run does not
        complete, no byte is in a whole character.
        Cost: one look-up once the position is known.
        """
        cdef Place place = self.places[self.find(config)]
        cdef Run run = self.runs[place.run]
        cdef int32_t length = run.length - place.offset
        cdef int32_t whole
        cdef size_t start = run.first + place.offset
        cdef bytes text = (<char*>self.data.data())[start:start + length] if length else b""
        whole = length
        if length and text[length - 1] >= 0x80 and self.inside_character(run.end):
            while whole and text[whole - 1] & 0xC0 == 0x80:
                whole -= 1
            whole = max(whole - 1, 0)
        if run.kind == RUN_TOKEN:
            return text, whole, run.kind, run.token, run.after
        return text, whole, run.kind, -1, run.end
