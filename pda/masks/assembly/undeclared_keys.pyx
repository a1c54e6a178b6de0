# distutils: language = c++
"""Remove tokens from a mask that may repeat an undeclared key of an object, and leave them to a trial.

A key must not come twice. Masks of local states know nothing of the undeclared keys that were used, so they
allow tokens that repeat one. Such tokens are *doubtful*: they are tried on the real configuration.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t
from libcpp.algorithm cimport sort, unique

from stackmask.pda.ids cimport NO_NODE, NO_RUN, TokenId
from stackmask.pda.context.key_text cimport KeyText, is_plain
from stackmask.pda.context.object_keys cimport KEYS_NONE, KEYS_UNKNOWN
from stackmask.pda.context.semantic_states cimport SEM_SYMBOL
from stackmask.pda.masks.shared.arena cimport Group
from stackmask.pda.masks.shared.part cimport MaskContext, MaskPart
from stackmask.pda.vocabulary.suffix_tries cimport INCLUSIVE, Nodes, is_inclusive, node_at, place_at, trie_of
from stackmask.pda.vocabulary.trie_cursor cimport child_of
from stackmask.pda.masks.shared.run_tables cimport Span


@cython.final
cdef class UndeclaredKeys(MaskPart):
    """The doubtful places of one fill."""

    def __cinit__(
        self, MaskContext context not None, MaskArena arena not None, TokenTrials trials not None
    ):
        self.arena = arena
        self.trials = trials
        self.rechecked = self.spellings = 0
        self.spelled_keys = KEYS_NONE

    cdef int begin(self) noexcept nogil:
        """Begin a new fill, without doubtful tokens."""
        self.doubtful.clear()
        return 0

    cdef bint any_doubtful(self) noexcept nogil:
        """Tell whether some tokens are doubtful."""
        return not self.doubtful.empty()

    cdef NodeId opening(self) noexcept nogil:
        """Return the node of the vocabulary that opens a key, or NO_NODE."""
        return child_of(self.tries.nodes(0), 0, self.context.key_text.quote)

    cdef int doubt(self, PlaceId place, vector[vector[uint8_t]]& strings) except -3 nogil:
        """Collect the places under a place that one of the strings and the closing quote lead to.

        An escape can spell any character, so all tokens after an escape are doubtful.
        """
        cdef Nodes n = self.tries.nodes(place)
        cdef KeyText syntax = self.context.key_text
        cdef NodeId node, next
        cdef int32_t in_suffix_trie = trie_of(place)
        cdef size_t k, i
        cdef uint8_t byte
        for k in range(strings.size()):
            node = node_at(place)
            for i in range(strings[k].size() + 1):
                byte = syntax.quote
                if i < strings[k].size():
                    next = child_of(n, node, syntax.escape)
                    if next != NO_NODE:
                        self.doubtful.push_back(place_at(next, in_suffix_trie | INCLUSIVE))
                    byte = strings[k][i]
                    if not is_plain(syntax, byte):
                        break
                node = child_of(n, node, byte)
                if node == NO_NODE:
                    break
                if i == strings[k].size():
                    self.doubtful.push_back(place_at(node, in_suffix_trie | INCLUSIVE))
        return 0

    cdef int spell_keys(self, KeysId keys) except -3 nogil:
        """Write the undeclared keys of a key state to ``spelled``, unless they are there."""
        if keys != self.spelled_keys:
            self.spelled_keys = KEYS_NONE
            self.spelled.clear()
            self.semantics.key_suffixes(self.semantics.with_keys(SEM_SYMBOL, keys), self.spelled)
            self.spelled_keys = keys
            self.spellings += 1
        return 0

    cdef int drop(self) except -1 nogil:
        """Forget the keys that were spelled."""
        self.spelled_keys = KEYS_NONE
        self.spelled.clear()
        return MaskPart.drop(self)

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
        self.spell_keys(keys)
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
            n = self.tries.nodes(places[k])
            node = node_at(places[k])
            if not is_inclusive(places[k]):
                node = child_of(n, node, quote)
            elif n.byte[node] != quote:
                node = NO_NODE
            if node != NO_NODE:
                self.doubt(place_at(node, trie_of(places[k])), self.spelled)
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
        # most keys lead to the same places, such as that of an escape
        sort(self.doubtful.begin(), self.doubtful.end())
        self.doubtful.resize(unique(self.doubtful.begin(), self.doubtful.end()) - self.doubtful.begin())
        self.rechecked += self.doubtful.size()
        for k in range(self.doubtful.size()):
            n = self.tries.nodes(self.doubtful[k])
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
