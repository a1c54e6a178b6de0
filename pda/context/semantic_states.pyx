# distutils: language = c++
"""Semantic states: a configuration's knowledge of the captured values, beyond syntax.

A member of a configuration has a semantic state S: an immutable, hash-consed value, and the text of the open
captures. When a capturing call returns, its action gets the captured bytes: (S, bytes) -> S or "forbidden".
When a dynamic rule is called, its resolver S -> term gives its body. S belongs to the configuration, so
rollback, fork and drafts need no other data.

A stack of strings is built in (``push``, ``new``, ``top``, ``level``, ``deeper``), as
links that share their tails. Python callables work on
any hashable value. Equal values (1 and True) are one state, just as they are one key of a dict, so callables
must not distinguish them.

Inside an object with keys (``Keyed``) S also has a key state (`object_keys`), separate from the value. The
object starts with a fresh key state, and all of S is restored when the object ends.

Mask walks start over an unknown frame. SEM_SYMBOL represents the semantic state there, and the text of the
captures that are open there. Strings that the walk pushes become links above the symbol. A query that needs
more knowledge returns NEEDS_STATE: then the tokens are tried on the real configuration. An action that may
forbid leads to SEM_UNSURE, a reading that may not exist. Tokens that no other reading allows are then tried.
"""

cimport cython
from libc.stdint cimport int32_t, uint32_t

from stackmask.pda.context.callables cimport (
    ACT_CALL,
    ACT_KEY,
    ACT_NEW,
    ACT_PUSH,
    ACT_UPDATE,
    FIRST_TEXT,
    FORBIDDEN,
    KEY_OF_MORE,
    KEY_OF_NONE,
    NEEDS_STATE,
    VALUE_NEW_LINK,
    VALUE_SYMBOL,
)
from stackmask.pda.context.object_keys cimport (
    EMPTY_SET,
    KEYS_NONE,
    KEYS_UNKNOWN,
    NOT_KNOWN,
    NOT_NOW,
    is_slot,
    slot_of,
)
from stackmask.pda.ids cimport NO_PARENT, NO_SEM, NO_TEXT, UNBOUNDED
from stackmask.pda.memory.hash_tables cimport Probe, mix
from stackmask.pda.text cimport json_unescape

from stackmask.pda.errors import BudgetError


cdef enum:
    LONGEST_ESCAPE = 12     # bytes
    SEM_BYTES = 112     # of a state, with its value and the last byte of its text; Python's objects aside


cdef inline SemId in_capture_of(Semantics semantics, SemId parent, TextId text) except ID_FAILED nogil:
    """Return the state inside a capture that has read a text, without a value and keys."""
    return semantics.intern(parent, 0, KEYS_NONE, text)


cdef inline bint ends_in_half(vector[uint8_t]& value) noexcept nogil:
    """Return whether a value ends in half of a surrogate pair."""
    cdef size_t size = value.size()
    return size >= 3 and value[size - 3] == 0xED and value[size - 2] >= 0xA0


cdef bint no_key(const uint8_t* text, size_t size, vector[uint8_t]& out) except FAILED nogil:
    return False


cdef KeyText key_text(syntax) except *:
    """Convert a ``KeySyntax`` for the engine; ``None`` means that there are no keys.

    Raises: ValueError if the spelling has no reader.
    """
    cdef KeyText found
    found.known = syntax is not None
    found.quote = found.escape = found.least = 0
    found.read = no_key
    if syntax is not None:
        found.quote, found.escape, found.least = syntax.quote[0], syntax.escape[0], syntax.least
        if syntax.spelling != "json":
            raise ValueError(f"there is no reader of keys that are spelled as {syntax.spelling!r}")
        found.read = json_unescape
    return found


@cython.final
cdef class Semantics:
    """The semantic states of the grammars of one store, with their actions and resolvers.

    ``resolve_term``: converts the result of a resolver to a term. ``keys``: the key states.
    """

    def __cinit__(
        self, resolve_term, KeyStates keys not None, uint64_t max_states=2_000_000, key_syntax=None
    ):
        self.keys = keys
        self.key_text = key_text(key_syntax)
        self.texts = CaptureTexts()
        self.values = SemanticValues()
        self.callables = Callables(keys.needs.terms, self.texts, self.values, resolve_term)
        self.max_states = max_states
        self.intern(NO_SEM, self.values.value_of(()), KEYS_NONE, 0)
        self.intern(NO_SEM, self.values.add(None, VALUE_SYMBOL, NO_PARENT, 0, True), KEYS_UNKNOWN, 0)
        self.intern(NO_SEM, self.values.add(None, VALUE_SYMBOL, NO_PARENT, 0, True), KEYS_UNKNOWN, 0)
        self.values.unsure[self.values.unsure.size() - 1] = True

    def add_action(self, action):
        """Return the number of an action: ``"push"``, ``"new"``, ``"key"`` or a callable."""
        if action == "key" and not self.key_text.known:
            raise ValueError("no front end has said how keys are written: the store needs a key syntax")
        return self.callables.add_action(action)

    def add_resolver(self, resolver):
        """Return the number of a resolver: ``"top"``, ``"level"``, ``"deeper"`` or a callable."""
        return self.callables.add_resolver(resolver)

    def size(self):
        """Return the number of semantic states."""
        self.keys.needs.terms.meter.settle()
        return self.sems.size()

    def nbytes_held(self):
        """Return the approximate number of bytes of the states, estimated for Python values."""
        self.keys.needs.terms.meter.settle()
        cdef size_t held = sizeof(Sem) * self.sems.size() + self.sem_index.nbytes()
        held += self.texts.nbytes() + self.values.nbytes() + self.callables.nbytes()
        return held + self.keys.nbytes()

    def start(self, initial, bint stacked):
        """Return the initial state of a text. ``stacked``: ``initial`` is a stack of strings."""
        cdef ValueId value = self.values.value_of(() if stacked else initial)
        cdef int32_t last
        if stacked:
            for text in initial:
                last = 0
                for byte in text:
                    last = self.texts.longer(last, byte)
                value = self.values.link(value, last)
        return self.intern(NO_SEM, value, KEYS_NONE, 0)

    cdef SemId intern(self, SemId parent, ValueId value, KeysId keys, TextId text) except ID_FAILED nogil:
        cdef Sem sem
        cdef Sem* other
        cdef uint64_t h = mix(mix(mix(43, <uint32_t>parent), <uint32_t>value), <uint32_t>keys)
        h = mix(h, <uint32_t>text)
        cdef Probe probe = self.sem_index.probe(h)
        cdef SemId id = self.sem_index.next(probe)
        while id >= 0:
            other = &self.sems[id]
            if (
                other.parent == parent
                and other.value == value
                and other.keys == keys
                and other.text == text
            ):
                return id
            id = self.sem_index.next(probe)
        if not self.keys.needs.terms.meter.may_add_state(self.sems.size() >= self.max_states):
            raise BudgetError("max_semantic_states", self.max_states, "semantic states (captures and stacks)")
        self.keys.needs.terms.meter.hold(SEM_BYTES)
        sem.parent = parent
        sem.value = value
        sem.keys = keys
        sem.text = text
        id = <int32_t>self.sems.size()
        self.sems.push_back(sem)
        self.sem_index.put(probe, id)
        return id

    cdef SemId root(self, SemId sem) noexcept nogil:
        """Return the state outside all open captures."""
        while self.sems[sem].parent != NO_SEM:
            sem = self.sems[sem].parent
        return sem

    cdef bint is_unsure(self, SemId sem) noexcept nogil:
        """Return whether an action may have forbidden the parse that led a walk to a state."""
        if sem <= SEM_SYMBOL:
            return False
        return self.values.unsure[self.sems[self.root(sem)].value] != 0

    cdef bint in_capture(self, SemId sem) noexcept nogil:
        return self.sems[sem].parent != NO_SEM

    cdef SemId with_root(self, SemId sem, SemId root) except ID_FAILED nogil:
        """Return the state with ``root`` outside its open captures."""
        cdef vector[TextId] texts
        while self.sems[sem].parent != NO_SEM:
            texts.push_back(self.sems[sem].text)
            sem = self.sems[sem].parent
        sem = root
        while not texts.empty():
            sem = in_capture_of(self, sem, texts.back())
            texts.pop_back()
        return sem

    cdef SemId with_keys(self, SemId sem, KeysId keys) except ID_FAILED nogil:
        """Return the state with another key state."""
        return self.with_root(sem, self.intern(NO_SEM, self.sems[self.root(sem)].value, keys, 0))

    cdef SemId stand_in(self, SemId sem, const int32_t* tests, size_t known) except ID_FAILED nogil:
        """Return the state with the stand-in of its value.

        ``tests``: the test that distinguishes the texts of its ``known`` innermost captures, or -1.
        """
        cdef Sem root = self.sems[self.root(sem)]
        cdef ValueId value = self.callables.stand_in(root.value)
        cdef TextId text
        cdef vector[TextId] texts
        cdef vector[uint8_t] begun
        cdef size_t i, level
        cdef int32_t most
        if value == root.value:
            return sem
        while self.in_capture(sem):
            texts.push_back(self.sems[sem].text)
            sem = self.sems[sem].parent
        sem = self.intern(NO_SEM, value, root.keys, 0)
        for level in range(texts.size(), 0, -1):
            text = texts[level - 1]
            begun.clear()
            if level <= known and tests[level - 1] >= 0:
                self.texts.spell(text, begun)
                most = self.texts.left[text]
                if most != UNBOUNDED:
                    most += <int32_t>begun.size()
                text = self.callables.first_told(value, tests[level - 1], most)
            sem = in_capture_of(self, sem, text)
            for i in range(begun.size()):
                sem = self.append(sem, begun[i])
        return sem

    cdef SemId append(self, SemId sem, uint8_t byte) except ID_FAILED nogil:
        """Return the state after one more byte, which the innermost capture receives."""
        cdef Sem s = self.sems[sem]
        if s.parent == NO_SEM or s.text == KEY_OF_MORE:
            return sem
        if s.text and s.text < FIRST_TEXT:
            return in_capture_of(self, s.parent, s.text + 1)
        if self.texts.left[s.text] == 0:
            return sem
        return in_capture_of(self, s.parent, self.texts.longer(s.text, byte))

    cdef SemId begin(self, SemId sem, ActionId action) except ID_FAILED nogil:
        """Return the state with one more open capture, for an action.

        If the enclosing capture keeps all of its text, the new capture also keeps all of its text.
        """
        if self.in_capture(sem) and self.texts.left[self.sems[sem].text] == UNBOUNDED:
            return in_capture_of(self, sem, 0)
        return in_capture_of(self, sem, self.callables.first_text(self.sems[self.root(sem)].value, action))

    cdef SemId begin_key(self, SemId sem) except ID_FAILED nogil:
        """Return the state of a walk inside a key. Walks do not keep the text of a key."""
        return in_capture_of(self, sem, KEY_OF_NONE)

    cdef SemId begin_unknown(self, SemId sem, ActionId action) except ID_FAILED nogil:
        """Return the state of a walk with one more open capture, for a callable.

        If the value is unknown, the callable is not called, and the text is kept only if the enclosing
        capture keeps all of its text.
        """
        if not self.values.symbolic[self.sems[self.root(sem)].value]:
            return self.begin(sem, action)
        if self.in_capture(sem) and self.texts.left[self.sems[sem].text] == UNBOUNDED:
            return self.begin(sem, action)
        return in_capture_of(self, sem, KEY_OF_MORE)

    cdef bint keeps_bytes(self, SemId sem) noexcept nogil:
        """Return whether a capture records the exact bytes that are read."""
        return self.sems[sem].parent != NO_SEM and self.texts.left[self.sems[sem].text] != 0

    cdef SemId end(self, SemId sem, ActionId action) except ID_FAILED nogil:
        """Close the innermost capture and return the state after its action, or FORBIDDEN or NEEDS_STATE."""
        cdef Sem s = self.sems[sem]
        cdef Sem base = self.sems[self.root(sem)]
        cdef vector[uint8_t] text, value
        cdef size_t i
        cdef int32_t last
        cdef bint taken, is_key = self.callables.kinds[action] == ACT_KEY
        # a capture that may end at every byte would else cost the square of its length
        if s.text >= FIRST_TEXT and self.in_capture(s.parent):
            self.texts.spell(s.text, text)
            self.keys.needs.terms.meter.spend(text.size())
        if self.callables.kinds[action] == ACT_PUSH:
            base.value = self.values.link(base.value, s.text)
        elif is_key:
            if base.keys == KEYS_UNKNOWN:
                return NEEDS_STATE
            last = 0
            if s.text == 0 or s.text >= FIRST_TEXT:
                last = NO_TEXT
                if s.text and self.texts.last[s.text] == self.key_text.quote:
                    last = self.key_value(self.texts.parent[s.text])
                if last == NO_TEXT:
                    if text.empty():
                        self.texts.spell(s.text, text)
                    self.keys.needs.terms.meter.spend(8 * text.size())
                    if not self.key_text.read(text.data(), text.size(), value):
                        return FORBIDDEN
                    last = 0
                    for i in range(value.size()):
                        last = self.texts.longer(last, value[i])
            base.keys = self.keys.use(base.keys, last)
            if base.keys == NOT_NOW:
                return FORBIDDEN
            if base.keys == NOT_KNOWN:
                return NEEDS_STATE
        else:
            if self.values.symbolic[base.value]:
                if self.callables.kinds[action] != ACT_UPDATE or self.values.unsure[base.value]:
                    base.value = self.sems[SEM_UNSURE].value
                else:
                    base.value = self.sems[SEM_SYMBOL].value
            elif s.text == KEY_OF_MORE:
                return NEEDS_STATE
            elif self.callables.kinds[action] == ACT_NEW:
                taken = self.values.has_new(base.value, s.text)
                self.keys.needs.terms.meter.spend(self.values.walked)
                if taken:
                    return FORBIDDEN
                base.value = self.values.link(base.value, s.text, VALUE_NEW_LINK)
            else:
                base.value = self.callables.call(base.value, text, s.text, action)
                if base.value < 0:  # FORBIDDEN or NEEDS_STATE
                    return <int32_t>base.value
        sem = self.with_root(s.parent, self.intern(NO_SEM, base.value, base.keys, 0))
        if self.in_capture(sem):
            last = self.sems[sem].text
            # a bounded text is without those of the captures in it, which have had their own action
            if self.texts.left[last] == UNBOUNDED:
                for i in range(text.size()):
                    sem = self.append(sem, text[i])
        return sem

    cdef TextId key_value(self, TextId text) except ID_FAILED nogil:
        """Return the text of the characters that a key spells after its quote; NO_TEXT inside an escape or
        between the halves of a surrogate pair.

        Each prefix of a key caches its text, since very many tokens may end a long key. An escape counts when
        it ends, and half of a surrogate pair with the other half.
        Cost: linear in the bytes since the last cached prefix.
        """
        cdef vector[TextId] way
        cdef vector[uint8_t] spelled, read
        cdef TextId at = text, value = 0
        cdef size_t i, k
        cdef uint8_t byte
        if self.texts.value.size() <= <size_t>text:
            self.texts.value.resize(self.texts.parent.size(), NO_TEXT)
        while self.texts.parent[at] >= FIRST_TEXT and self.texts.value[at] == NO_TEXT:
            way.push_back(at)
            at = self.texts.parent[at]
        if self.texts.parent[at] >= FIRST_TEXT:
            value = self.texts.value[at]
        elif self.texts.parent[at] != 0 or self.texts.last[at] != self.key_text.quote:
            return NO_TEXT
        self.texts.value[at] = value
        self.keys.needs.terms.meter.spend(12 * way.size())
        for i in range(way.size(), 0, -1):
            at = way[i - 1]
            byte = self.texts.last[at]
            if spelled.empty() and is_plain(self.key_text, byte):
                value = self.texts.longer(value, byte)
                self.texts.value[at] = value
                continue
            if spelled.empty():
                spelled.push_back(self.key_text.quote)
            spelled.push_back(byte)
            if spelled.size() > 1 + LONGEST_ESCAPE:
                return NO_TEXT
            spelled.push_back(self.key_text.quote)
            read.clear()
            if self.key_text.read(spelled.data(), spelled.size(), read) and not ends_in_half(read):
                for k in range(read.size()):
                    value = self.texts.longer(value, read[k])
                self.texts.value[at] = value
                spelled.clear()
            else:
                spelled.pop_back()
        return self.texts.value[text]

    cdef TermId resolve(self, SemId sem, ResolverId resolver) except ID_FAILED nogil:
        """Return the term of a dynamic rule in this state, or NEEDS_STATE."""
        return self.callables.resolve(self.sems[self.root(sem)].value, resolver)

    cdef TermId bound_of(self, ResolverId resolver) noexcept nogil:
        """Return a term that includes every possible answer of a resolver, or NEEDS_STATE."""
        return self.callables.bounds[resolver]

    cdef SemId unsure(self, SemId sem) except ID_FAILED nogil:
        """Return the state of a walk whose reading may not exist."""
        return self.with_root(sem, self.intern(NO_SEM, self.sems[SEM_UNSURE].value, self.keys_at(sem), 0))

    cdef bint may_forbid(self, ActionId action) noexcept nogil:
        """Return whether an action may forbid, so that masks cannot be cached without the state."""
        return self.callables.kinds[action] == ACT_CALL or self.callables.kinds[action] == ACT_NEW

    cdef int is_sure(self, SemId sem) except FAILED nogil:
        """Return whether no action can forbid the end of the open capture, regardless of further text."""
        cdef ValueId value
        cdef TextId text = self.sems[sem].text
        if not self.in_capture(sem):
            return True
        if self.in_capture(self.sems[sem].parent):
            return False
        value = self.sems[self.sems[sem].parent].value
        if self.values.symbolic[value] or 0 < text < FIRST_TEXT:
            return False
        return self.callables.is_sure(value, text)

    cdef bint is_callable(self, ActionId action) noexcept nogil:
        """Return whether an action needs the value, like Python's actions and `new`."""
        return not self.is_key(action) and self.callables.kinds[action] != ACT_PUSH

    cdef bint is_key(self, ActionId action) noexcept nogil:
        """Return whether an action enters an undeclared key."""
        return self.callables.kinds[action] == ACT_KEY

    # -- object keys in mask walks --------------------------------------------------------------------

    cdef KeysId keys_at(self, SemId sem) noexcept nogil:
        """Return the key state of the enclosing object."""
        return self.sems[self.root(sem)].keys

    cdef SemId symbol_with(self, KeysId keys) except ID_FAILED nogil:
        """Return the state in which a walk begins, with a view of the keys."""
        if keys <= KEYS_UNKNOWN:
            return SEM_SYMBOL
        return self.with_keys(SEM_SYMBOL, self.keys.view(keys))

    cdef SemId symbol_after_key(self, KeysId keys) except ID_FAILED nogil:
        """Return the state of a walk after an undeclared key, or NEEDS_STATE or FORBIDDEN."""
        if keys <= KEYS_UNKNOWN:
            return NEEDS_STATE
        keys = self.keys.use(self.keys.view(keys), 0)
        if keys == NOT_NOW:
            return FORBIDDEN
        if keys == NOT_KNOWN:
            return NEEDS_STATE
        return self.with_keys(SEM_SYMBOL, keys)

    cdef bint may_be_key(self, SemId sem) noexcept nogil:
        """Return whether an open capture may be that of a key: it is still empty, or begins with a quote."""
        cdef TextId text = self.sems[sem].text
        if self.texts.parent[text] == NO_PARENT:
            return True
        return self.texts.first[text] == self.key_text.quote  # mutant: any-capture

    cdef int read_of_key(self, SemId sem, vector[uint8_t]& value) except ID_FAILED nogil:
        """Write the part of an undeclared key that was read so far, if the object has used other keys before.

        Returns: WHOLE_KEYS where no capture is open, OPENED_KEYS after the quote of a key, UNOPENED_KEYS
        before it, NO_KEYS if no key was used or no open capture is that of a key. NEEDS_STATE if the text so
        far, or a second capture that began elsewhere, does not determine the keys that continue it.
        Cost: linear in the open captures, and in the part that was read.
        """
        cdef KeysId keys = self.keys_at(sem)
        cdef SemId above
        cdef vector[uint8_t] begun
        value.clear()
        if keys <= KEYS_UNKNOWN or self.keys.states[keys].used == EMPTY_SET:
            return NO_KEYS
        if not self.in_capture(sem):
            return WHOLE_KEYS
        while not self.may_be_key(sem):  # such as of an element that must differ from the others
            sem = self.sems[sem].parent
            if not self.in_capture(sem):
                return NO_KEYS
        above = self.sems[sem].parent
        while self.in_capture(above):
            # captures that began together have the same text
            if self.sems[above].text and self.may_be_key(above):
                return NEEDS_STATE
            above = self.sems[above].parent
        self.texts.spell(self.sems[sem].text, begun)
        if begun.empty():
            return UNOPENED_KEYS
        begun.push_back(self.key_text.quote)
        if not self.key_text.read(begun.data(), begun.size(), value):
            return NEEDS_STATE
        if ends_in_half(value):
            return NEEDS_STATE
        return OPENED_KEYS

    # -- object keys ---------------------------------------------------------------------------------

    cdef SemId enter(self, SemId sem, SpecId spec, bint is_walk) except ID_FAILED nogil:
        """Return the state at the beginning of an object."""
        cdef KeysId keys = self.keys.fresh(spec)
        return self.with_keys(sem, self.keys.view(keys) if is_walk else keys)

    cdef SemId test(self, SemId sem, TestId test) except ID_FAILED nogil:
        """Return the state after a test of an object key: FORBIDDEN if it does not hold, or NEEDS_STATE."""
        cdef KeysId keys = self.sems[self.root(sem)].keys
        if keys == KEYS_UNKNOWN:
            return NEEDS_STATE
        if not self.keys.holds(keys, test):
            return FORBIDDEN
        if not is_slot(test):
            return sem
        return self.with_keys(sem, self.keys.take(keys, slot_of(test)))

    cdef int lives(self, SemId sem, TermId term) except ID_FAILED nogil:
        """Return whether (1 or 0) some possible first test of a term holds, or NEEDS_STATE."""
        cdef KeysId keys
        if self.keys.needs.always_lives(term):
            return 1
        keys = self.sems[self.root(sem)].keys
        if keys == KEYS_UNKNOWN:
            return NEEDS_STATE
        return self.keys.lives(keys, self.keys.needs.needs_at(term))


cdef int owed_at(Semantics semantics, SemId sem, Owed* out) except FAILED nogil:
    """Find the text that a state's value still requires."""
    cdef TextId text = semantics.sems[sem].text
    cdef ValueId value = semantics.sems[semantics.root(sem)].value
    # where nothing is owed without a text there is nothing to ask
    semantics.callables.owed(value, NO_TEXT, out)
    if out.bytes and semantics.in_capture(sem) and semantics.texts.left[text] == UNBOUNDED:
        semantics.callables.owed(value, text, out)
    return 0
