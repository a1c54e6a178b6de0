# distutils: language = c++
"""Semantic states: the part of a configuration that depends on what was written, not on its shape.

A member of a configuration carries a semantic state S: an immutable, hash-consed value, plus the text of
the captures that are open. A capturing call hands the captured bytes to an action when it returns
(S, bytes) -> S or "forbidden"; a dynamic rule asks a resolver S -> term when it is called. Since S is part
of the configuration, rollback, fork and drafts need nothing more.

Built in: a stack of texts (``push``, ``top``), as links that share their tails. Python callables work on any
hashable value; values that are equal (1 and True) are one state, as they are one key of a dict, so callables
must not tell them apart.

Inside an object with keys (``Keyed``) S also holds a key state (`object_keys`), which has nothing to do with
the value: the object starts with a fresh one, and all of S is restored when it ends.

Mask walks start with a frame below that is not known; SEM_SYMBOL stands for the state there, and for the
text of captures that are open there. What the walk pushes on it becomes links that rest on the symbol. A
question that needs more answers NEEDS_STATE: those tokens are run on the real configuration. An action that
may forbid leads to SEM_UNSURE, a reading that may exist: only tokens that no other one allows are run.
"""

cimport cython
from libc.stdint cimport uint32_t, uint64_t
from libcpp.algorithm cimport reverse

from stackmask.pda.context.key_text cimport key_text
from stackmask.pda.context.key_needs cimport TEST_SLOT
from stackmask.pda.context.object_keys cimport KEYS_NONE, KEYS_UNKNOWN, NOT_KNOWN, NOT_NOW
from stackmask.pda.memory.hash_tables cimport (
    NO_VALUE,
    Probe,
    ids_free,
    ids_init,
    ids_next,
    ids_probe,
    ids_put,
    map_clear,
    map_free,
    map_get,
    map_init,
    map_put,
    mix,
)

from stackmask.pda.errors import BudgetError, ResolverError

cdef enum:
    VALUE_OBJECT = 0
    VALUE_LINK = 1
    VALUE_SYMBOL = 2
    ACT_CALL = 0    # may forbid
    ACT_PUSH = 1
    ACT_KEY = 2
    ACT_UPDATE = 3  # a callable that never forbids
    VALUE_BYTES = 400   # a small Python object and its place in a dict


@cython.final
cdef class Semantics:
    """The semantic states of the grammars of one store, with their actions and resolvers.

    ``resolve_term`` turns what a resolver callable answers into a term; ``keys`` are the key states.
    """

    def __cinit__(
        self, resolve_term, KeyStates keys not None, uint64_t max_states=2_000_000, key_syntax=None
    ):
        ids_init(&self.sem_index)
        map_init(&self.link_index)
        map_init(&self.text_index)
        map_init(&self.resolved)
        map_init(&self.known_sure)
        map_init(&self.pairs)
        map_init(&self.ended)
        self.keys = keys
        self.key_text = key_text(key_syntax)
        self.values = []
        self.value_index = {}
        for _i in range(FIRST_TEXT):
            # 0 is the empty text; then the stand-ins of walks
            self.text_parent.push_back(-1)
            self.text_byte.push_back(0)
            self.text_left.push_back(0)
        self.text_left[0] = -1
        self.max_states = max_states
        self.bounded = {}
        self.actions = []
        self.resolvers = []
        self.numbers = {}
        self.resolve_term = resolve_term
        self.intern(-1, self.value_of(()), KEYS_NONE, 0)
        self.intern(-1, self.add_value(None, VALUE_SYMBOL, -1, 0, True), KEYS_UNKNOWN, 0)
        self.intern(-1, self.add_value(None, VALUE_SYMBOL, -1, 0, True), KEYS_UNKNOWN, 0)
        self.value_unsure[self.value_unsure.size() - 1] = True

    def __dealloc__(self):
        ids_free(&self.sem_index)
        map_free(&self.link_index)
        map_free(&self.text_index)
        map_free(&self.resolved)
        map_free(&self.known_sure)
        map_free(&self.pairs)
        map_free(&self.ended)

    def add_action(self, action):
        """Return the number of an action: ``"push"``, ``"key"`` or a callable."""
        kind = ACT_PUSH if action == "push" else ACT_KEY if action == "key" else ACT_CALL
        if getattr(action, "never_forbids", False):
            kind = ACT_UPDATE
        if kind == ACT_KEY and not self.key_text.known:
            raise ValueError("no front end has said how keys are written: the store needs a key syntax")
        number = self.number_of(self.actions, "action", action)
        if number == <int32_t>self.action_kind.size():
            if kind == ACT_CALL:
                # it may forbid what the actions before it did not
                map_clear(&self.known_sure)
            self.action_kind.push_back(kind)
            self.action_text.push_back(self.bounded_text(getattr(action, "reads_at_most", None)))
        return number

    cdef TextId bounded_text(self, object most) except -1:
        """Return the empty text of captures that keep so many bytes, or all if ``most`` is None."""
        if most is None:
            return 0
        if most not in self.bounded:
            self.bounded[most] = <int32_t>self.text_parent.size()
            self.text_parent.push_back(-1)
            self.text_byte.push_back(0)
            self.text_left.push_back(most)
        return self.bounded[most]

    def add_resolver(self, resolver):
        """Return the number of a resolver: ``"top"`` or a callable."""
        cdef int32_t bound, number
        key = ("resolver", resolver if isinstance(resolver, str) else id(resolver))
        if key in self.numbers:
            return self.numbers[key]
        # a bound may be refused: then nothing is known of the resolver
        at_most = getattr(resolver, "answers_at_most", None)
        bound = NEEDS_STATE if at_most is None else self.resolve_term(at_most)
        number = self.number_of(self.resolvers, "resolver", resolver)
        self.bounds.push_back(bound)
        return number

    cdef int32_t number_of(self, list table, str what, object entry) except -1:
        # callables are one if they are the same object; the table keeps them alive, so their ids are theirs
        key = (what, entry if isinstance(entry, str) else id(entry))
        if key not in self.numbers:
            self.numbers[key] = len(table)
            table.append(entry)
        return self.numbers[key]

    def size(self):
        """Return the number of semantic states."""
        return self.sems.size()

    def nbytes_held(self):
        """Return about how many bytes the states take; those of Python's values are guessed."""
        cdef size_t maps = self.link_index.mask + self.pairs.mask + self.ended.mask + self.text_index.mask
        maps += self.resolved.mask + self.known_sure.mask
        return (
            sizeof(Sem) * self.sems.size() + 8 * self.sem_index.mask + 12 * maps + 9 * self.text_parent.size()
            + 22 * self.value_kind.size() + VALUE_BYTES * len(self.value_index) + self.keys.nbytes()
        )

    def start(self, initial, bint stacked):
        """Return the state that a text starts in. ``stacked``: ``initial`` is a stack of texts."""
        cdef int32_t value = self.value_of(() if stacked else initial)
        cdef int32_t last
        if stacked:
            for text in initial:
                last = 0
                for byte in text:
                    last = self.longer(last, byte)
                value = self.link(value, last)
        return self.intern(-1, value, KEYS_NONE, 0)

    cdef SemId intern(self, SemId parent, ValueId value, KeysId keys, TextId text) except -3:
        cdef Sem sem
        cdef Sem* other
        cdef uint64_t h = mix(mix(mix(43, <uint32_t>parent), <uint32_t>value), <uint32_t>keys)
        h = mix(h, <uint32_t>text)
        cdef Probe probe = ids_probe(&self.sem_index, h)
        cdef int32_t id = ids_next(&self.sem_index, &probe)
        while id >= 0:
            other = &self.sems[id]
            if (
                other.parent == parent
                and other.value == value
                and other.keys == keys
                and other.text == text
            ):
                return id
            id = ids_next(&self.sem_index, &probe)
        if self.sems.size() >= self.max_states:
            raise BudgetError("max_semantic_states", self.max_states, "semantic states (captures and stacks)")
        sem.parent = parent
        sem.value = value
        sem.keys = keys
        sem.text = text
        id = <int32_t>self.sems.size()
        self.sems.push_back(sem)
        ids_put(&self.sem_index, &probe, id)
        return id

    cdef TextId longer(self, TextId text, uint8_t byte) except -1:
        # texts share their beginnings, so a long capture costs its length, not the square of it
        cdef uint64_t key = (<uint64_t>text << 8) | byte
        cdef int32_t found = map_get(&self.text_index, key), left
        if found == NO_VALUE:
            found = <int32_t>self.text_parent.size()
            self.text_parent.push_back(text)
            self.text_byte.push_back(byte)
            left = self.text_left[text]
            if left > 0:
                left -= 1
            self.text_left.push_back(left)
            map_put(&self.text_index, key, found)
        return found

    cdef int spell(self, TextId text, vector[uint8_t]& out) except -1:
        """Write out a captured text, which is kept as a chain of bytes."""
        while self.text_parent[text] >= 0:
            out.push_back(self.text_byte[text])
            text = self.text_parent[text]
        reverse(out.begin(), out.end())
        return 0

    cdef bytes text_of(self, TextId text):
        cdef vector[uint8_t] out
        self.spell(text, out)
        return (<char*>out.data())[: out.size()]

    cdef ValueId add_value(
        self, object value, int32_t kind, ValueId parent, TextId text, bint symbolic
    ) except -1:
        self.values.append(value)
        self.value_kind.push_back(kind)
        self.value_parent.push_back(parent)
        self.value_text.push_back(text)
        self.value_symbolic.push_back(symbolic)
        self.value_unsure.push_back(0)
        if parent >= 0:
            self.value_unsure[self.value_unsure.size() - 1] = self.value_unsure[parent]
        return <int32_t>self.value_kind.size() - 1

    cdef ValueId value_of(self, object value) except -1:
        found = self.value_index.get(value)
        if found is None:
            found = self.add_value(value, VALUE_OBJECT, -1, 0, False)
            self.value_index[value] = found
        return found

    cdef ValueId link(self, ValueId parent, TextId text) except -1:
        """Return the stack of texts with one more text on it."""
        cdef uint64_t key = (<uint64_t>parent << 32) | <uint64_t>text
        cdef int32_t found = map_get(&self.link_index, key)
        if found == NO_VALUE:
            found = self.add_value(None, VALUE_LINK, parent, text, self.value_symbolic[parent])
            map_put(&self.link_index, key, found)
        return found

    cdef SemId root(self, SemId sem) noexcept:
        """Return the state below all open captures."""
        while self.sems[sem].parent >= 0:
            sem = self.sems[sem].parent
        return sem

    cdef bint is_unsure(self, SemId sem) noexcept:
        """Tell whether an action may have forbidden what led a walk to a state."""
        if sem <= SEM_SYMBOL:
            return False
        return self.value_unsure[self.sems[self.root(sem)].value] != 0

    cdef bint in_capture(self, SemId sem) noexcept:
        return self.sems[sem].parent >= 0

    cdef SemId with_root(self, SemId sem, SemId root) except -3:
        """Return the state with another one below its open captures."""
        cdef vector[int32_t] texts
        while self.sems[sem].parent >= 0:
            texts.push_back(self.sems[sem].text)
            sem = self.sems[sem].parent
        sem = root
        while not texts.empty():
            sem = self.intern(sem, -1, -1, texts.back())
            texts.pop_back()
        return sem

    cdef SemId with_keys(self, SemId sem, KeysId keys) except -3:
        """Return the state with another key state."""
        return self.with_root(sem, self.intern(-1, self.sems[self.root(sem)].value, keys, 0))

    cdef SemId append(self, SemId sem, uint8_t byte) except -3:
        """Return the state after a byte was read: the innermost capture takes it."""
        cdef Sem s = self.sems[sem]
        if s.parent < 0 or s.text == KEY_OF_MORE:
            return sem
        if s.text and s.text < FIRST_TEXT:
            return self.intern(s.parent, -1, -1, s.text + 1)
        if self.text_left[s.text] == 0:
            return sem
        return self.intern(s.parent, -1, -1, self.longer(s.text, byte))

    cdef SemId begin(self, SemId sem, ActionId action) except -3:
        """Return the state with one more open capture, for an action.

        Where the capture around it keeps all of its text, this one keeps all for it.
        """
        if self.in_capture(sem) and self.text_left[self.sems[sem].text] < 0:
            return self.intern(sem, -1, -1, 0)
        return self.intern(sem, -1, -1, self.action_text[action])

    cdef SemId begin_key(self, SemId sem) except -3:
        """Return the state of a walk with a key begun; its text does not matter to walks, and is not kept."""
        return self.intern(sem, -1, -1, KEY_OF_NONE)

    cdef SemId begin_unknown(self, SemId sem, ActionId action) except -3:
        """Return the state of a walk with one more open capture, for a callable.

        Where the value is not known, the callable is not asked, and the text is kept only if the capture
        around keeps all of its own.
        """
        if not self.value_symbolic[self.sems[self.root(sem)].value]:
            return self.begin(sem, action)
        if self.in_capture(sem) and self.text_left[self.sems[sem].text] < 0:
            return self.begin(sem, action)
        return self.intern(sem, -1, -1, KEY_OF_MORE)

    cdef bint keeps_bytes(self, SemId sem) noexcept:
        """Tell whether a capture takes the very bytes that are read."""
        return self.sems[sem].parent >= 0 and self.text_left[self.sems[sem].text] != 0

    cdef SemId end(self, SemId sem, ActionId action) except -3:
        """Close the innermost capture and return the state after its action, or FORBIDDEN or NEEDS_STATE."""
        cdef Sem s = self.sems[sem]
        cdef Sem base = self.sems[self.root(sem)]
        cdef vector[uint8_t] text, value
        cdef size_t i
        cdef int32_t last
        # a capture that may end at every byte would else cost the square of its length
        if s.text >= FIRST_TEXT and (self.action_kind[action] == ACT_KEY or self.in_capture(s.parent)):
            self.spell(s.text, text)
        if self.action_kind[action] == ACT_PUSH:
            base.value = self.link(base.value, s.text)
        elif self.action_kind[action] == ACT_KEY:
            if base.keys == KEYS_UNKNOWN:
                return NEEDS_STATE
            if s.text == 0 or s.text >= FIRST_TEXT:
                if not self.key_text.read(text.data(), text.size(), value):
                    return FORBIDDEN
            last = 0
            for i in range(value.size()):
                last = self.longer(last, value[i])
            base.keys = self.keys.use(base.keys, last)
            if base.keys == NOT_NOW:
                return FORBIDDEN
            if base.keys == NOT_KNOWN:
                return NEEDS_STATE
        else:
            if self.value_symbolic[base.value]:
                if self.action_kind[action] != ACT_UPDATE or self.value_unsure[base.value]:
                    base.value = self.sems[SEM_UNSURE].value
                else:
                    base.value = self.sems[SEM_SYMBOL].value
            elif s.text == KEY_OF_MORE:
                return NEEDS_STATE
            else:
                base.value = self.call(base.value, text, s.text, action)
                if base.value == FORBIDDEN:
                    return FORBIDDEN
        sem = self.with_root(s.parent, self.intern(-1, base.value, base.keys, 0))
        if self.in_capture(sem):
            last = self.sems[sem].text
            # a bounded text is without those of the captures in it, which have had their own action
            if self.text_left[last] < 0:
                for i in range(text.size()):
                    sem = self.append(sem, text[i])
        return sem

    cdef ValueId call(
        self, ValueId value, vector[uint8_t]& text, TextId text_id, ActionId action
    ) except -3:
        """Return the value after a callable, or FORBIDDEN. It is asked once for a value and a text."""
        cdef uint64_t key = (<uint64_t>value << 32) | <uint64_t>text_id  # mutant: pair-key
        cdef int32_t pair = map_get(&self.pairs, key), found
        if pair == NO_VALUE:
            pair = <int32_t>self.pairs.count
            map_put(&self.pairs, key, pair)
        key = (<uint64_t>pair << 32) | <uint64_t>action
        found = map_get(&self.ended, key)
        if found != NO_VALUE:
            return found
        if text.empty() and text_id >= FIRST_TEXT:
            self.spell(text_id, text)
        answer = self.actions[action](self.values[value], self.first_of(text, action))
        if answer is not None:
            found = self.value_of(answer)
        elif self.action_kind[action] == ACT_UPDATE:
            raise ResolverError(f"{self.actions[action]!r} says that it never forbids, and did")
        else:
            found = FORBIDDEN
        map_put(&self.ended, key, found)
        return found

    cdef bytes first_of(self, vector[uint8_t]& text, ActionId action):
        """Return what an action reads of a text, which may have been kept whole for a capture around it."""
        cdef size_t size = text.size()
        cdef int32_t most = self.text_left[self.action_text[action]]
        if most >= 0 and size > <size_t>most:
            size = most
        return (<char*>text.data())[:size]

    cdef TermId resolve(self, SemId sem, ResolverId resolver) except -3:
        """Return the term that a dynamic rule means in this state, or NEEDS_STATE."""
        cdef int32_t value = self.sems[self.root(sem)].value
        cdef uint64_t key = (<uint64_t>resolver << 32) | <uint64_t>value
        cdef int32_t term = map_get(&self.resolved, key)
        if term != NO_VALUE:
            return term
        rule = self.resolvers[resolver]
        if rule == "top":
            if self.value_kind[value] == VALUE_SYMBOL:
                return NEEDS_STATE
            answer = self.text_of(self.value_text[value]) if self.value_kind[value] == VALUE_LINK else None
        else:
            if self.value_symbolic[value]:
                return NEEDS_STATE
            answer = rule(self.values[value])
        term = self.resolve_term(answer)
        map_put(&self.resolved, key, term)
        return term

    cdef TermId bound_of(self, ResolverId resolver) noexcept:
        """Return a term that holds all that a resolver may answer, or NEEDS_STATE."""
        return self.bounds[resolver]

    cdef SemId unsure(self, SemId sem) except -3:
        """Return the state of a walk that may not exist."""
        return self.with_root(sem, self.intern(-1, self.sems[SEM_UNSURE].value, self.keys_at(sem), 0))

    cdef bint may_forbid(self, ActionId action):
        """Tell whether an action may forbid: then a mask cannot be remembered without the state."""
        return self.action_kind[action] == ACT_CALL

    cdef int is_sure(self, SemId sem) except -1:
        """Tell whether no action can forbid the end of the open capture, whatever is still read of it."""
        cdef int32_t value, text = self.sems[sem].text, k
        cdef uint64_t key
        if not self.in_capture(sem):
            return True
        if self.in_capture(self.sems[sem].parent):
            return False
        value = self.sems[self.sems[sem].parent].value
        if self.value_symbolic[value] or 0 < text < FIRST_TEXT:
            return False
        key = (<uint64_t>value << 32) | <uint64_t>text
        k = map_get(&self.known_sure, key)
        if k == NO_VALUE:
            k = True
            for number, action in enumerate(self.actions):
                if self.action_kind[number] != ACT_CALL:
                    continue
                test = getattr(action, "may_forbid", None)
                if test is None or test(self.values[value], self.text_of(text)):
                    k = False
                    break
            map_put(&self.known_sure, key, k)
        return k

    cdef bint is_callable(self, ActionId action):
        """Tell whether an action is a Python callable."""
        return self.action_kind[action] == ACT_CALL or self.action_kind[action] == ACT_UPDATE

    cdef bint is_key(self, ActionId action):
        """Tell whether an action enters an undeclared key."""
        return self.action_kind[action] == ACT_KEY

    # -- what mask walks know of object keys -----------------------------------------------------------

    cdef KeysId keys_at(self, SemId sem) noexcept:
        """Return the key state of the object around."""
        return self.sems[self.root(sem)].keys

    cdef SemId symbol_with(self, KeysId keys) except -3:
        """Return the state that a walk begins in, with a view of the keys."""
        if keys <= KEYS_UNKNOWN:
            return SEM_SYMBOL
        return self.with_keys(SEM_SYMBOL, self.keys.view(keys))

    cdef SemId symbol_after_key(self, KeysId keys) except -3:
        """Return the state of a walk behind an undeclared key, or NEEDS_STATE or FORBIDDEN."""
        if keys <= KEYS_UNKNOWN:
            return NEEDS_STATE
        keys = self.keys.use(self.keys.view(keys), 0)
        if keys == NOT_NOW:
            return FORBIDDEN
        if keys == NOT_KNOWN:
            return NEEDS_STATE
        return self.with_keys(SEM_SYMBOL, keys)

    cdef int rest_of_keys(self, SemId sem, vector[vector[uint8_t]]& out) except -3:
        """Append what is left to write of every undeclared key that the object around has used before.

        Returns: WHOLE_KEYS where no capture is open, OPENED_KEYS behind the quote of one, UNOPENED_KEYS
        before it, NO_KEYS if there are none. NEEDS_STATE if the text so far, or a second capture that began
        elsewhere, leaves it open.
        """
        cdef int32_t keys = self.keys_at(sem), above
        cdef vector[int32_t] texts
        cdef vector[uint8_t] begun, value, text
        cdef size_t i, k
        cdef int where = WHOLE_KEYS
        if keys <= KEYS_UNKNOWN or self.keys.states[keys].texts <= 0:
            return NO_KEYS
        if self.in_capture(sem):
            above = self.sems[sem].parent
            while self.in_capture(above):
                # captures that began together have the same text
                if self.sems[above].text:
                    return NEEDS_STATE
                above = self.sems[above].parent
            self.spell(self.sems[sem].text, begun)
            where = OPENED_KEYS if begun.size() else UNOPENED_KEYS
            if begun.size():
                begun.push_back(self.key_text.quote)
                if not self.key_text.read(begun.data(), begun.size(), value):
                    return NEEDS_STATE
                if value.size() >= 3 and value[value.size() - 3] == 0xED and value[value.size() - 2] >= 0xA0:
                    # half of a surrogate pair
                    return NEEDS_STATE
        self.keys.texts.list_texts(self.keys.states[keys].texts, texts)
        for k in range(texts.size()):
            text.clear()
            self.spell(texts[k], text)
            if value.size() > text.size():
                continue
            i = 0
            while i < value.size() and value[i] == text[i]:
                i += 1
            if i < value.size():
                continue
            text.erase(text.begin(), text.begin() + value.size())
            out.push_back(text)
        return where

    # -- object keys ---------------------------------------------------------------------------------

    cdef SemId enter(self, SemId sem, SpecId spec, bint is_walk) except -3:
        """Return the state at the beginning of an object."""
        cdef int32_t keys = self.keys.fresh(spec)
        return self.with_keys(sem, self.keys.view(keys) if is_walk else keys)

    cdef SemId test(self, SemId sem, int32_t test) except -3:
        """Return the state after a test of an object key: FORBIDDEN if it does not hold, or NEEDS_STATE."""
        cdef int32_t keys = self.sems[self.root(sem)].keys
        if keys == KEYS_UNKNOWN:
            return NEEDS_STATE
        if not self.keys.holds(keys, test):
            return FORBIDDEN
        if test < TEST_SLOT:
            return sem
        return self.with_keys(sem, self.keys.take(keys, test - TEST_SLOT))

    cdef int lives(self, SemId sem, TermId term) except -3:
        """Tell (1 or 0) whether some test that can come first on the ways of a term holds, or NEEDS_STATE."""
        cdef int32_t keys
        if self.keys.needs.always_lives(term):
            return 1
        keys = self.sems[self.root(sem)].keys
        if keys == KEYS_UNKNOWN:
            return NEEDS_STATE
        return self.keys.lives(keys, self.keys.needs.needs_at(term))
