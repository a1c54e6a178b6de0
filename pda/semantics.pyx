# distutils: language = c++
"""Semantic states: the part of a configuration that depends on what was written, not on its shape.

A member of a configuration carries a semantic state S: an immutable, hash-consed value, plus the text of
the captures that are open. A capturing call hands the captured bytes to an action when it returns
(S, bytes) -> S or "forbidden"; a dynamic rule asks a resolver S -> term when it is called. Since S is part
of the configuration, rollback, fork and drafts need nothing more.

Built in: a stack of texts (``push``, ``top``), as links that share their tails. Python callables work on any
hashable value.

Mask walks start with a frame below that is not known; SEM_SYMBOL stands for the state there, and for the
text of captures that are open there. What the walk pushes on it becomes links that rest on the symbol. A
question that needs more answers NEEDS_STATE: those tokens are run on the real configuration.
"""

cimport cython
from libc.stdint cimport uint64_t

from stackmask.pda.errors import BudgetError

cdef enum:
    VALUE_OBJECT = 0
    VALUE_LINK = 1
    VALUE_SYMBOL = 2


@cython.final
cdef class Semantics:
    """The semantic states of the grammars of one store, with their actions and resolvers.

    ``resolve_term`` turns what a resolver callable answers into a term.
    """

    def __cinit__(self, resolve_term, uint64_t max_states=2_000_000):
        self.sem_index = {}
        self.values = []
        self.value_index = {}
        self.text_index = {}
        self.text_parent.push_back(-1)
        self.text_byte.push_back(0)
        self.max_states = max_states
        self.actions = []
        self.resolvers = []
        self.numbers = {}
        self.resolve_term = resolve_term
        self.resolved = {}
        self.intern(-1, self.value_of(()), 0)
        self.intern(-1, self.add_value(None, VALUE_SYMBOL, -1, 0, True), 0)

    def add_action(self, action):
        """Return the number of an action: ``"push"`` or a callable."""
        return self.number_of(self.actions, "action", action)

    def add_resolver(self, resolver):
        """Return the number of a resolver: ``"top"`` or a callable."""
        return self.number_of(self.resolvers, "resolver", resolver)

    cdef int32_t number_of(self, list table, str what, object entry) except -1:
        # callables are one if they are the same object; the table keeps them alive, so their ids are theirs
        key = (what, entry if isinstance(entry, str) else id(entry))
        if key not in self.numbers:
            self.numbers[key] = len(table)
            table.append(entry)
        return self.numbers[key]

    def start(self, initial, bint stacked):
        """Return the state that a text starts in. ``stacked``: ``initial`` is a stack of texts, bottom first."""
        cdef int32_t value = self.value_of(() if stacked else initial)
        cdef int32_t last
        if stacked:
            for text in initial:
                last = 0
                for byte in text:
                    last = self.longer(last, byte)
                value = self.link(value, last)
        return self.intern(-1, value, 0)

    cdef int32_t intern(self, int32_t parent, int32_t value, int32_t text) except -3:
        cdef Sem sem
        key = (parent, value, text)
        found = self.sem_index.get(key)
        if found is not None:
            return found
        if self.sems.size() >= self.max_states:
            raise BudgetError("max_semantic_states", self.max_states, "semantic states (captures and stacks)")
        sem.parent = parent
        sem.value = value
        sem.text = text
        self.sems.push_back(sem)
        self.sem_index[key] = <int32_t>self.sems.size() - 1
        return <int32_t>self.sems.size() - 1

    cdef int32_t longer(self, int32_t text, uint8_t byte) except -1:
        # texts share their beginnings, so a long capture costs its length, not the square of it
        key = (<uint64_t>text << 8) | byte
        found = self.text_index.get(key)
        if found is None:
            found = <int32_t>self.text_parent.size()
            self.text_parent.push_back(text)
            self.text_byte.push_back(byte)
            self.text_index[key] = found
        return found

    cdef bytes text_of(self, int32_t text):
        out = bytearray()
        while text:
            out.append(self.text_byte[text])
            text = self.text_parent[text]
        out.reverse()
        return bytes(out)

    cdef int32_t add_value(
        self, object value, int32_t kind, int32_t parent, int32_t text, bint symbolic
    ) except -1:
        self.values.append(value)
        self.value_kind.push_back(kind)
        self.value_parent.push_back(parent)
        self.value_text.push_back(text)
        self.value_symbolic.push_back(symbolic)
        return <int32_t>self.value_kind.size() - 1

    cdef int32_t value_of(self, object value) except -1:
        key = ("value", value)
        found = self.value_index.get(key)
        if found is None:
            found = self.add_value(value, VALUE_OBJECT, -1, 0, False)
            self.value_index[key] = found
        return found

    cdef int32_t link(self, int32_t parent, int32_t text) except -1:
        key = (parent, text)
        found = self.value_index.get(key)
        if found is None:
            found = self.add_value(None, VALUE_LINK, parent, text, self.value_symbolic[parent])
            self.value_index[key] = found
        return found

    cdef int32_t root(self, int32_t sem) noexcept:
        """Return the value below all open captures."""
        while self.sems[sem].parent >= 0:
            sem = self.sems[sem].parent
        return self.sems[sem].value

    cdef bint in_capture(self, int32_t sem) noexcept:
        return self.sems[sem].parent >= 0

    cdef int32_t with_root(self, int32_t sem, int32_t value) except -3:
        """Return the state with another value below its open captures."""
        cdef vector[int32_t] texts
        while self.sems[sem].parent >= 0:
            texts.push_back(self.sems[sem].text)
            sem = self.sems[sem].parent
        sem = self.intern(-1, value, 0)
        while not texts.empty():
            sem = self.intern(sem, -1, texts.back())
            texts.pop_back()
        return sem

    cdef int32_t append(self, int32_t sem, uint8_t byte) except -3:
        """Return the state after a byte was read: the innermost capture takes it."""
        cdef Sem s = self.sems[sem]
        if s.parent < 0:
            return sem
        return self.intern(s.parent, -1, self.longer(s.text, byte))

    cdef int32_t begin(self, int32_t sem) except -3:
        """Return the state with one more open capture."""
        return self.intern(sem, -1, 0)

    cdef int32_t end(self, int32_t sem, int32_t action) except -3:
        """Close the innermost capture and return the state after its action, or FORBIDDEN or NEEDS_STATE."""
        cdef Sem s = self.sems[sem]
        cdef int32_t value = self.root(sem)
        cdef int32_t after
        cdef uint8_t byte
        act = self.actions[action]
        if act == "push":
            after = self.link(value, s.text)
        else:
            if self.value_symbolic[value]:
                return NEEDS_STATE
            answer = act(self.values[value], self.text_of(s.text))
            if answer is None:
                return FORBIDDEN
            after = self.value_of(answer)
        sem = self.with_root(s.parent, after)
        if self.in_capture(sem):
            for byte in self.text_of(s.text):
                sem = self.append(sem, byte)
        return sem

    cdef int32_t resolve(self, int32_t sem, int32_t resolver) except -3:
        """Return the term that a dynamic rule means in this state, or NEEDS_STATE."""
        cdef int32_t value = self.root(sem)
        found = self.resolved.get((resolver, value))
        if found is not None:
            return found
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
        self.resolved[(resolver, value)] = term
        return term

    cdef bint may_forbid(self, int32_t action):
        """Tell whether an action looks at the state: then a mask cannot be remembered without it."""
        return self.actions[action] != "push"
