# distutils: language = c++
"""Remove tokens from a mask that may repeat an undeclared key of an object, and leave them to a trial.

A key must not come twice. Masks of local states know nothing of the undeclared keys that were used, so they
allow tokens that repeat one. Such tokens are *doubtful*: they are tried on the real configuration.
"""

cimport cython
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp
from libcpp.algorithm cimport sort, unique

from stackmask.pda.ids cimport NO_NODE, NO_RUN, NodeId, TokenId
from stackmask.pda.context.key_text cimport KeyText, is_plain
from stackmask.pda.context.callables cimport NEEDS_STATE
from stackmask.pda.context.object_keys cimport KEYS_UNKNOWN
from stackmask.pda.context.semantic_states cimport NO_KEYS, UNOPENED_KEYS
from stackmask.pda.masks.shared.arena cimport Group
from stackmask.pda.masks.shared.part cimport MaskContext, MaskPart
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_clear, map_free, map_get, map_init, map_put
from stackmask.pda.vocabulary.suffix_tries cimport INCLUSIVE, Nodes, is_inclusive, node_at, place_at, trie_of
from stackmask.pda.vocabulary.trie_cursor cimport child_of
from stackmask.pda.masks.shared.run_tables cimport Span

cdef enum:
    MAX_PLACES = 1024           # places whose doubtful tokens are remembered
    IN_KEY = 0x100000000        # beyond all places: with the text of an open capture


@cython.final
cdef class UndeclaredKeys(MaskPart):
    """The doubtful places of one fill."""

    def __cinit__(
        self, MaskContext context not None, MaskArena arena not None, TokenTrials trials not None
    ):
        self.semantics = context.semantics
        self.arena = arena
        self.trials = trials
        self.used = UsedKeys(self.semantics.keys.key_sets, self.semantics.texts)
        self.rechecked = self.spellings = 0
        map_init(&self.doubts_at)

    def __dealloc__(self):
        map_free(&self.doubts_at)

    cdef int begin(self) noexcept nogil:
        """Begin a new fill, without doubtful tokens."""
        self.doubtful.clear()
        return 0

    cdef bint any_doubtful(self) noexcept nogil:
        """Tell whether some tokens are doubtful."""
        return not self.doubtful.empty()

    cdef int doubt(
        self, PlaceId place, size_t first, vector[uint8_t]& read, vector[PlaceId]& out
    ) except -3 nogil:
        """Append the places under a place that the keys from ``first`` on, and the closing quote, lead to.

        ``read``: what was read of the key before the place; keys that do not begin with it are left out.
        An escape can spell any character, so all tokens after an escape are doubtful.
        """
        cdef Nodes n = self.context.tries.nodes(place)
        cdef KeyText syntax = self.context.key_text
        cdef NodeId node, next
        cdef int32_t in_suffix_trie = trie_of(place)
        cdef size_t k, i
        cdef uint8_t byte
        cdef vector[uint8_t]* key
        self.terms.meter.spend(4 * (self.used.spelled.size() - first))
        for k in range(first, self.used.spelled.size()):
            key = &self.used.spelled[k]
            if key.size() < read.size() or (read.size() and memcmp(key.data(), read.data(), read.size())):
                continue
            node = node_at(place)
            for i in range(read.size(), key.size() + 1):
                byte = syntax.quote
                if i < key.size():
                    next = child_of(n, node, syntax.escape)
                    if next != NO_NODE:
                        out.push_back(place_at(next, in_suffix_trie | INCLUSIVE))
                    byte = key[0][i]
                    if not is_plain(syntax, byte):
                        break
                node = child_of(n, node, byte)
                if node == NO_NODE:
                    break
                if i == key.size():
                    out.push_back(place_at(node, in_suffix_trie | INCLUSIVE))
        return 0

    cdef int doubt_rest(self, SemId sem) except -3 nogil:
        """Doubt the tokens that complete a used key in an open capture; False if that does not decide."""
        cdef vector[uint8_t] read
        cdef int where = self.semantics.read_of_key(sem, read)
        cdef NodeId node = 0
        cdef uint64_t asked = IN_KEY | <uint64_t>self.semantics.sems[sem].text
        if where == UNOPENED_KEYS:
            node = child_of(self.context.tries.nodes(0), 0, self.context.key_text.quote)
        if where == NEEDS_STATE:
            return False
        if where != NO_KEYS and node != NO_NODE:
            self.doubt_used(place_at(node, 0), asked, self.semantics.keys_at(sem), read)
        return True

    cdef int doubt_whole(self, PlaceId place, KeysId keys) except -3 nogil:
        """Doubt the tokens under a place, where a key was opened, that complete a used one."""
        cdef vector[uint8_t] nothing
        return self.doubt_used(place, <uint64_t><uint32_t>place, keys, nothing)

    cdef int doubt_used(
        self, PlaceId place, uint64_t asked, KeysId keys, vector[uint8_t]& read
    ) except -3 nogil:
        """Doubt the tokens under a place that complete an undeclared key which was used.

        ``asked``: a number of the place and of what was read before it.
        Cost: the distinct places; and the keys that were used since the same was asked last.
        """
        cdef int32_t k
        cdef Doubts none
        cdef Doubts* known
        cdef int written = self.used.spell(self.semantics.keys.states[keys].used)
        self.terms.meter.spend(10 * written)
        self.spellings += written
        if self.doubts.size() >= MAX_PLACES:
            self.forget()
        k = map_get(&self.doubts_at, asked)
        if k == NO_VALUE:
            k = <int32_t>self.doubts.size()
            none.generation = self.used.generation
            none.keys = 0
            self.doubts.push_back(none)
            map_put(&self.doubts_at, asked, k)
        known = &self.doubts[k]
        if known.generation != self.used.generation:
            known.generation = self.used.generation
            known.keys = 0
            known.places.clear()
        # else as many were seen: the list of a generation only grows
        if known.keys < self.used.spelled.size():
            self.doubt(place, known.keys, read, known.places)  # mutant: new-doubts
            known.keys = self.used.spelled.size()
            # most keys lead to the same places, such as that of an escape
            sort(known.places.begin(), known.places.end())
            known.places.resize(unique(known.places.begin(), known.places.end()) - known.places.begin())
        self.doubtful.insert(self.doubtful.end(), known.places.begin(), known.places.end())
        return 0

    cdef int forget(self) except -1 nogil:
        """Forget what was doubted where."""
        map_clear(&self.doubts_at)
        self.doubts.clear()
        return 0

    cdef int drop(self) except -1 nogil:
        """Forget the places of keys, which are those of suffix tries that go."""
        self.forget()
        return MaskPart.drop(self)

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes the places take."""
        cdef size_t k, held = 12 * self.doubts_at.mask
        for k in range(self.doubts.size()):
            held += sizeof(Doubts) + sizeof(PlaceId) * self.doubts[k].places.capacity()
        return held

    cdef int doubt_keys(self, SuffixesId group, KeysId keys) except -3 nogil:
        """Doubt tokens that repeat a used key, where a group's suffixes begin with a quote.

        ``group``: WHOLE for the whole vocabulary.
        """
        cdef vector[PlaceId] places
        cdef Group g
        cdef Nodes n
        cdef uint8_t quote = self.context.key_text.quote
        cdef int32_t i
        cdef Span after
        cdef NodeId node
        cdef size_t k
        if group == WHOLE:
            places.push_back(0)
        else:
            g = self.arena.groups[group]
            for i in range(g.place_first, g.place_first + g.place_count):
                places.push_back(self.arena.places[i])
            if g.run != NO_RUN:
                self.runs.suffixes_of(g.run, quote, &after)
                for i in range(after.first, after.first + after.count):
                    places.push_back(self.runs.suffix_places[i])
        for k in range(places.size()):
            n = self.context.tries.nodes(places[k])
            node = node_at(places[k])
            if not is_inclusive(places[k]):
                node = child_of(n, node, quote)
            elif n.byte[node] != quote:
                node = NO_NODE
            if node != NO_NODE:
                self.doubt_whole(place_at(node, trie_of(places[k])), keys)
        return 0

    cdef int recheck(self, uint32_t* words) except -3 nogil:
        """Remove the doubtful tokens from a mask, and queue them for a trial on the real configuration.

        Used keys only forbid, so tokens that are not in the mask need no trial.
        """
        cdef size_t k, before
        cdef int32_t t
        cdef TokenId i
        cdef NodeId node
        cdef Nodes n
        # the same places come by several ways
        sort(self.doubtful.begin(), self.doubtful.end())
        self.doubtful.resize(unique(self.doubtful.begin(), self.doubtful.end()) - self.doubtful.begin())
        self.rechecked += self.doubtful.size()
        for k in range(self.doubtful.size()):
            n = self.context.tries.nodes(self.doubtful[k])
            node = node_at(self.doubtful[k])
            before = self.trials.tokens_to_try.size()
            for t in range(n.token_first[node], n.token_first[n.end[node]]):
                i = n.tokens[t]
                if (words[i >> 5] >> (i & 31)) & 1:
                    words[i >> 5] &= ~(<uint32_t>1 << (i & 31))
                    self.trials.tokens_to_try.push_back(i)
            if self.trials.tokens_to_try.size() > before and not trie_of(self.doubtful[k]):
                # a subtree of the vocabulary is tried as one place
                self.trials.tokens_to_try.resize(before)
                self.trials.places_to_try.push_back(self.doubtful[k])
        return 0

    cdef bint any_keys(self, ConfigSpace family, ConfigId config) noexcept nogil:
        """Tell whether a configuration is inside of an object whose keys are known."""
        cdef int32_t i, first = family.configs[config].first
        for i in range(first, first + family.configs[config].count):
            if self.semantics.keys_at(family.members[i].sem) > KEYS_UNKNOWN:
                return True
        return False
