# distutils: language = c++
"""Trials of tokens that masks cannot decide, on the actual configuration."""

cimport cython
from libc.stdint cimport int32_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcmp
from libcpp.algorithm cimport sort, unique

from stackmask.pda.context.callables cimport NEEDS_STATE
from stackmask.pda.context.object_keys cimport KEYS_UNKNOWN
from stackmask.pda.context.semantic_states cimport NO_KEYS, UNOPENED_KEYS, KeyText, is_plain
from stackmask.pda.ids cimport FAILED, ID_FAILED, NO_NODE, NO_RUN, NO_SUMMARY, NodeId, TokenClassId, TokenId
from stackmask.pda.masks.arena cimport Group, MaskContext, MaskPart
from stackmask.pda.masks.run_tables cimport Span
from stackmask.pda.masks.trie_walk cimport DESCEND, SubtreeAcceptance, allow, next_alive
from stackmask.pda.memory.hash_tables cimport NO_VALUE
from stackmask.pda.memory.work_meter cimport ENDLESS
from stackmask.pda.stack.configuration_table cimport DEAD, UNKNOWN
from stackmask.pda.terms.term_table cimport token_symbol
from stackmask.pda.vocabulary.suffix_tries cimport (
    INCLUSIVE,
    Nodes,
    child_of,
    is_inclusive,
    node_at,
    place_at,
    trie_of,
)


# ------------------------------------------------------------------------------------------------
# Try tokens on a real configuration, byte by byte, where masks of local states cannot decide.
#
# That is where the semantic state decides, and where a stack has too many paths. Steps of configurations are
# remembered, so each step after the first time is a look-up.
# ------------------------------------------------------------------------------------------------


cdef enum:
    FEW_TRIED = 256     # with more tokens than this, a table of their nodes is made
    LARGE = 4096        # nodes: in a larger subtree, what configurations accept is worth finding


cdef inline bint has_token(const uint32_t* words, TokenId token) noexcept nogil:
    return (words[token >> 5] >> (token & 31)) & 1


@cython.final
cdef class TokenTrials(MaskPart):
    """The trials of one fill on its configuration."""

    def __cinit__(self, MaskContext context not None, SubtreeAcceptance acceptance not None):
        self.trie = context.trie
        self.acceptance = acceptance
        self.vocabulary = self.trie.character_groups.token_bytes
        self.simulations = 0
        self.tried = 0
        self.stack.resize(self.trie.max_depth + 2, 0)
        self.next_kid.resize(self.trie.max_depth + 2, 0)
        self.last_kid.resize(self.trie.max_depth + 2, 0)
        self.begin()

    cdef size_t nbytes_of_vocabulary(self) noexcept nogil:
        """Return the bytes of the table of nodes, which is valid for all masks and is kept."""
        return 4 * self.node_of.size()

    cdef int begin(self) noexcept nogil:
        """Start a new fill without trials."""
        self.places_to_try.clear()
        self.tokens_to_try.clear()
        self.tokens_left.clear()
        self.trial.tries_special_tokens = self.trial.tries_everything = self.spares_captures = False
        self.trial.resumed = 0
        return 0

    cdef bint is_needed(self) noexcept nogil:
        """Return whether any tokens must be tried on the actual configuration."""
        return (
            self.trial.tries_everything
            or self.trial.tries_special_tokens
            or not self.places_to_try.empty()
            or not self.tokens_to_try.empty()
        )

    cdef int note_place(self, PlaceId place) except ID_FAILED nogil:
        """Queue the tokens of a place for a trial on the actual configuration."""
        cdef Nodes n
        cdef NodeId node = node_at(place)
        cdef int32_t t, first
        if not trie_of(place):
            self.places_to_try.push_back(place)
            return 0
        # a suffix trie does not have the bytes before its suffixes, so the tokens are queued one by one
        n = self.context.tries.nodes(place)
        first = n.token_first[node] if is_inclusive(place) else n.token_first[node + 1]
        for t in range(first, n.token_first[n.end[node]]):
            self.tokens_to_try.push_back(n.tokens[t])
        return 0

    cdef bint all_set(self, NodeId node, bint inclusive, const uint32_t* words) noexcept nogil:
        """Return whether all tokens under a node (``inclusive``: and the node's own) are already allowed."""
        cdef int32_t t
        cdef TokenId token
        for t in range(
            self.trie.token_first[node if inclusive else node + 1], self.trie.token_first[self.trie.end[node]]
        ):
            token = self.trie.tokens[t]
            if not has_token(words, token):
                return False
        return True

    cdef ConfigId step(self, ConfigSpace family, ConfigId config, SymbolId symbol) except ID_FAILED nogil:
        """Return the configuration after a symbol, or DEAD; record whether a stand-in left tokens undecided.
        """
        config = family.step(config, symbol)
        if family.configs[config].reads:
            self.trial.undecided = True
            if not family.configs[config].count and not family.configs[config].accepting:
                return DEAD
        return config

    cdef ConfigId step_to(self, ConfigSpace family, ConfigId config, NodeId node) except ID_FAILED nogil:
        """Return the configuration after the bytes of a node of the vocabulary, or DEAD."""
        cdef vector[NodeId] path
        while node:
            path.push_back(node)
            node = self.trie.parent[node]
        while config != DEAD and not path.empty():
            config = self.step(family, config, self.trie.byte[path.back()])
            path.pop_back()
        return config

    cdef NodeId spelled_at(self, TokenId token) noexcept nogil:
        """Return the node of a token, found by its bytes."""
        cdef Nodes n = self.context.tries.nodes(0)
        cdef const uint8_t* text = self.vocabulary.blob + self.vocabulary.start[token]
        cdef uint32_t k
        cdef NodeId node = 0
        for k in range(self.vocabulary.length(token)):
            node = child_of(n, node, text[k])
        return node

    cdef bint try_tokens(self, ConfigSpace family, ConfigId config, uint32_t* words) except ID_FAILED nogil:
        """Add the tokens of ``tokens_to_try`` that the actual configuration allows. Return False if the work
        limit is reached before the last token: the others stay in the list.
        """
        cdef size_t few = self.tokens_to_try.size() if self.terms.meter.most_units == ENDLESS else FEW_TRIED
        while not self.tokens_to_try.empty():
            if self.terms.meter.is_spent():
                return False
            self.try_last_tokens(family, config, min(few, self.tokens_to_try.size()), words)
            self.terms.meter.has_moved = True
        return True

    cdef int try_last_tokens(
        self, ConfigSpace family, ConfigId config, size_t count, uint32_t* words
    ) except ID_FAILED nogil:
        """Try the last tokens of the list, in the given number, and remove them."""
        cdef size_t k, first = self.tokens_to_try.size() - count
        cdef TokenId token
        cdef NodeId node
        cdef int32_t t
        cdef vector[NodeId] nodes, path
        cdef vector[NodeId] at          # the path to the node that is tried,
        cdef vector[ConfigId] configs   # ... and the configurations on it
        cdef vector[bint] undecided     # ... whether a stand-in left some of their readings out
        self.terms.meter.spend(4 * count)
        self.tried += count
        if self.tokens_to_try.size() > FEW_TRIED and self.node_of.empty():
            self.node_of.resize(32 * <size_t>self.context.width, 0)
            for node in range(self.trie.nodes):
                for t in range(self.trie.token_first[node], self.trie.token_first[node + 1]):
                    self.node_of[self.trie.tokens[t]] = node
        for k in range(first, self.tokens_to_try.size()):
            token = self.tokens_to_try[k]
            if not has_token(words, token):
                nodes.push_back(self.spelled_at(token) if self.node_of.empty() else self.node_of[token])
        # in the order of the trie, so that a common beginning of tokens is stepped once
        sort(nodes.begin(), nodes.end())
        at.push_back(0)
        configs.push_back(config)
        undecided.push_back(False)
        for k in range(nodes.size()):
            while nodes[k] >= self.trie.end[at.back()]:
                at.pop_back()
                configs.pop_back()
                undecided.pop_back()
            node = nodes[k]
            while node != at.back() and configs.back() != DEAD:
                path.push_back(node)
                node = self.trie.parent[node]
            while not path.empty():
                if configs.back() != DEAD:
                    self.trial.undecided = undecided.back()
                    configs.push_back(self.step(family, configs.back(), self.trie.byte[path.back()]))
                    at.push_back(path.back())
                    undecided.push_back(self.trial.undecided)
                path.pop_back()
            if configs.back() == DEAD and not undecided.back():
                continue
            for t in range(self.trie.token_first[nodes[k]], self.trie.token_first[nodes[k] + 1]):
                token = self.trie.tokens[t]
                if configs.back() == DEAD:
                    self.tokens_left.push_back(token)
                else:
                    words[token >> 5] |= <uint32_t>1 << (token & 31)
        self.tokens_to_try.resize(first)
        return 0

    cdef bint try_subtree(
        self, ConfigSpace family, ConfigId config, NodeId node, uint32_t* words
    ) except ID_FAILED nogil:
        """Add the tokens under a node allowed at ``config``, the configuration at the node.

        Subtrees that a member accepts as a whole are added as a whole. If the work limit is then reached,
        some tokens may be missing, and another call continues.
        """
        cdef Nodes n = self.context.tries.nodes(0)
        cdef ConfigId above = config, c
        cdef NodeId i, next
        cdef int32_t t = n.token_first[node + 1], last
        cdef int32_t k = n.kid_first[node], kid_end = n.kid_first[node + 1], depth = 0
        cdef uint64_t visited = 0
        cdef bint subtrees = self.context.layers.subtrees and n.end[node] - node > LARGE
        if subtrees:
            self.acceptance.use(family)
        while True:
            if k == kid_end:
                if not depth:
                    self.terms.meter.spend(visited & 0xFF)
                    return True
                depth -= 1
                above = self.stack[depth]
                k = self.next_kid[depth]
                kid_end = self.last_kid[depth]
                continue
            k = next_alive(family, above, n, k, kid_end, &c)
            if k == kid_end:
                continue
            i = n.kid_node[k]
            k += 1
            # tokens that are allowed already need no trial
            t = max(t, n.token_first[i])
            last = n.token_first[n.end[i]]
            while t < last and has_token(words, n.tokens[t]):
                t += 1
            if t >= last:
                continue
            if n.end[i] <= self.trial.resumed:
                continue
            visited += 1
            if not visited & 0xFF:
                self.terms.meter.spend(0x100)
            if c == UNKNOWN or family.configs[c].reads:
                c = self.step(family, above, n.byte[i])
                if c == DEAD:
                    continue
            if self.spares_captures and family.configs[c].capturing:
                # each string that is captured would be kept
                return False
            next = i + 1
            if i >= self.trial.resumed:
                if self.terms.meter.is_spent():
                    self.trial.resumed = i
                    return False
                self.terms.meter.has_moved = True
                if subtrees and n.end[i] > next and self.trie.summary_of[i] != NO_SUMMARY:
                    if self.acceptance.classify(c, self.trie.summary_of[i], n.end[i] - i) != DESCEND:
                        next = n.end[i]
                allow(words, n.tokens, n.token_first[i], n.token_first[next])
                if next == n.end[i]:
                    continue
            self.stack[depth] = above
            self.next_kid[depth] = k
            self.last_kid[depth] = kid_end
            depth += 1
            above = c
            k = n.kid_first[i]
            kid_end = n.kid_first[i + 1]

    cdef int try_special_tokens(self, ConfigSpace family, ConfigId config, uint32_t* words) except ID_FAILED nogil:
        """Add the allowed special tokens."""
        cdef TokenClassId symbol
        cdef TokenId n
        cdef size_t k
        for symbol in range(self.terms.token_classes):
            if family.step(config, token_symbol(symbol)) != DEAD:
                for k in range(self.context.class_tokens[symbol].size()):
                    n = self.context.class_tokens[symbol][k]
                    words[n >> 5] |= <uint32_t>1 << (n & 31)
        return 0


# ------------------------------------------------------------------------------------------------
# Remove tokens from a mask that may repeat an undeclared key of an object, and leave them to a trial.
#
# A key must not come twice. Masks of local states know nothing of the undeclared keys that were used, so they
# allow tokens that repeat one. Such tokens are *doubtful*: they are tried on the real configuration.
# ------------------------------------------------------------------------------------------------


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

    cdef int begin(self) noexcept nogil:
        """Start a new fill without doubtful tokens."""
        self.doubtful.clear()
        return 0

    cdef bint any_doubtful(self) noexcept nogil:
        """Return whether some tokens are doubtful."""
        return not self.doubtful.empty()

    cdef int doubt(
        self, PlaceId place, size_t first, vector[uint8_t]& read, vector[PlaceId]& out
    ) except ID_FAILED nogil:
        """Append the places under a place to which the keys from ``first`` on, with the closing quote, lead.

        ``read``: the part of the key before the place; keys with another beginning are excluded. An escape
        can spell any character, so all tokens after an escape are doubtful.
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

    cdef int doubt_rest(self, SemId sem) except ID_FAILED nogil:
        """Doubt the tokens that complete a used key in an open capture; return False if this decides nothing."""
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

    cdef int doubt_whole(self, PlaceId place, KeysId keys) except ID_FAILED nogil:
        """Doubt the tokens under a place, where a key was opened, that complete a used key."""
        cdef vector[uint8_t] nothing
        return self.doubt_used(place, <uint64_t><uint32_t>place, keys, nothing)

    cdef int doubt_used(
        self, PlaceId place, uint64_t asked, KeysId keys, vector[uint8_t]& read
    ) except ID_FAILED nogil:
        """Doubt the tokens under a place that complete a used undeclared key.

        ``asked``: a number for the place and the preceding text.
        Cost: linear in the distinct places, and in the keys used since the last such query.
        """
        cdef int32_t k
        cdef Doubts none
        cdef Doubts* known
        cdef int written = self.used.spell(self.semantics.keys.states[keys].used)
        self.terms.meter.spend(10 * written)
        self.spellings += written
        if self.doubts.size() >= MAX_PLACES:
            self.forget()
        k = self.doubts_at.get(asked)
        if k == NO_VALUE:
            k = <int32_t>self.doubts.size()
            none.generation = self.used.generation
            none.keys = 0
            self.doubts.push_back(none)
            self.doubts_at.put(asked, k)
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

    cdef int forget(self) except FAILED nogil:
        """Clear all doubts."""
        self.doubts_at.clear()
        self.doubts.clear()
        return 0

    cdef int drop(self) except FAILED nogil:
        """Drop the places of keys in dropped suffix tries."""
        self.forget()
        return MaskPart.drop(self)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes of the places."""
        cdef size_t k, held = self.doubts_at.nbytes()
        for k in range(self.doubts.size()):
            held += sizeof(Doubts) + sizeof(PlaceId) * self.doubts[k].places.capacity()
        return held

    cdef int doubt_keys(self, SuffixesId group, KeysId keys) except ID_FAILED nogil:
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
            self.arena.append_places(group, places)
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

    cdef int recheck(self, uint32_t* words) except ID_FAILED nogil:
        """Remove the doubtful tokens from a mask, and queue them for a trial on the actual configuration.

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
        """Return whether a configuration is inside an object whose keys are known."""
        cdef int32_t i, first = family.configs[config].first
        for i in range(first, first + family.configs[config].count):
            if self.semantics.keys_at(family.members[i].sem) > KEYS_UNKNOWN:
                return True
        return False
