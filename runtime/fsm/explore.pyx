# distutils: language = c++
"""All configurations of a grammar as one automaton, and the smallest automaton of the same language.

A configuration of a grammar whose rules do not nest in themselves is a state of a deterministic automaton
already: its steps are interned, and there are finitely many. They are visited breadth first. What cannot
reach the end of a text is left out, states of equal languages are joined, and edges become ranges of bytes.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.stack.configuration_table cimport DEAD, NEVER_A_ROW, UNKNOWN
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.memory.checked_vectors cimport refill
from stackmask.pda.stack.frames cimport BOTTOM
from stackmask.pda.terms.term_table cimport MAP_ONE, TOKENS, ByteClasses
from stackmask.runtime.fsm.dfa cimport NO_STATE, Dfa
from stackmask.runtime.fsm.partition cimport Partition, merge_states

from time import monotonic

from stackmask.pda.errors import BudgetError
from stackmask.runtime.fsm.errors import FsmBudgetError, FsmError

cdef enum:
    CHECK_EVERY = 256       # configurations between two looks at memory, time and signals
    BYTES_PER_TRANSITION = 44   # of the partitions and lists that joining equal states takes


cdef class Exploration:
    """The configurations that were reached, as states by the order of visits, and what leads where."""

    cdef ConfigSpace space
    cdef vector[int32_t] number         # configuration -> state, or NO_STATE
    cdef vector[int32_t] configs        # state -> configuration
    cdef vector[int32_t] map_of         # state -> the byte classes of its row
    cdef vector[size_t] row             # state -> its row in targets, byte classes first; and the end
    cdef vector[int32_t] targets
    cdef object memory
    cdef double deadline
    cdef double seconds

    def __cinit__(self, ConfigSpace space, memory, double seconds):
        self.space = space
        self.memory = memory
        self.seconds = seconds
        self.deadline = monotonic() + seconds

    cdef int32_t state_of(self, int32_t config) except -2:
        if config == DEAD:
            return NO_STATE
        if <size_t>config >= self.number.size():
            self.number.resize(<size_t>config + 1 + self.number.size(), NO_STATE)
        if self.number[config] == NO_STATE:
            self.number[config] = <int32_t>self.configs.size()
            self.configs.push_back(config)
        return self.number[config]

    cdef size_t nbytes(self) noexcept:
        cdef size_t held = 4 * (self.number.size() + self.configs.size() + self.map_of.size())
        held += 4 * self.targets.size() + 8 * self.row.size()
        return held + self.space.nbytes() + self.space.terms.nbytes()

    cdef int check(self, size_t done) except -1:
        """Look at signals, time and memory. Raises: FsmBudgetError, BudgetError."""
        cdef size_t held = self.nbytes(), states = self.configs.size()
        PyErr_CheckSignals()
        with nogil:
            pass    # other threads may run
        if held > self.memory:
            raise FsmBudgetError(
                self.memory, held * states // max(done, 1), states, "the finite automaton does not fit"
            )
        if monotonic() > self.deadline:
            raise BudgetError("max_seconds", self.seconds, "seconds to build the finite automaton")
        return 0

    cdef int visit_all(self, int32_t start, list symbols) except -1:
        """Visit what can be reached. ``symbols``: the classes of tokens that each special symbol is in."""
        cdef size_t done = 0
        cdef int32_t config, next, other, k, map, count
        self.state_of(start)
        while done < self.configs.size():
            if done % CHECK_EVERY == 0:
                self.check(done)
            config = self.configs[done]
            self.row.push_back(self.targets.size())
            self.space.step(config, 0)
            if self.space.configs[config].row == NEVER_A_ROW:
                raise FsmError("a text that is captured must be kept, which no finite automaton does")
            map = self.space.configs[config].map
            count = self.space.terms.classes.maps[map].count
            self.map_of.push_back(map)
            for k in range(count):
                next = self.space.step(config, self.space.terms.classes.maps[map].byte_of[k])
                self.targets.push_back(self.state_of(next))
            for classes in symbols:
                next = DEAD
                for k in classes:
                    other = self.space.step(config, TOKENS + k)
                    next = self.space.union_of(next, other)
                self.targets.push_back(self.state_of(next))
            done += 1
        self.row.push_back(self.targets.size())
        self.check(done)
        return 0

    cdef int32_t shared_map(self) except -1:
        """Return the coarsest byte classes that tell apart all that any row tells apart."""
        cdef int32_t shared = MAP_ONE, last = UNKNOWN
        cdef size_t s
        for s in range(self.map_of.size()):
            if self.map_of[s] != last:
                last = self.map_of[s]
                shared = self.space.terms.classes.map_meet(shared, last)
        return shared

    cdef int find_useful(self, vector[uint8_t]& useful, int32_t specials) except -1:
        """Find the states from which an accepting one can be reached."""
        cdef size_t n = self.configs.size(), s, i
        cdef vector[size_t] first
        cdef vector[int32_t] into, todo
        cdef int32_t t
        refill(first, n + 1, 0)
        for i in range(self.targets.size()):
            if self.targets[i] != NO_STATE:
                first[self.targets[i] + 1] += 1
        for s in range(n):
            first[s + 1] += first[s]
        into.resize(first[n])
        for s in range(n):
            for i in range(self.row[s], self.row[s + 1]):
                t = self.targets[i]
                if t != NO_STATE:
                    into[first[t]] = <int32_t>s
                    first[t] += 1
        # filling in has moved each beginning to the next one
        for s in range(n, 0, -1):
            first[s] = first[s - 1]
        first[0] = 0
        refill(useful, n, 0)
        for s in range(n):
            if self.space.configs[self.configs[s]].accepting:
                useful[s] = 1
                todo.push_back(<int32_t>s)
        while not todo.empty():
            t = todo.back()
            todo.pop_back()
            for i in range(first[t], first[t + 1]):
                if not useful[into[i]]:
                    useful[into[i]] = 1
                    todo.push_back(into[i])
        return 0

    cdef Dfa minimal(self, int32_t specials):
        """Return the minimal automaton, or None if there is no text at all."""
        cdef size_t n = self.configs.size(), s, i, transitions = 0
        cdef int32_t shared = self.shared_map()
        cdef ByteClasses classes = self.space.terms.classes
        cdef int32_t count = classes.maps[shared].count
        cdef int32_t k, t, own, useful_count = 0
        cdef vector[uint8_t] useful, accepting
        cdef vector[int32_t] renamed, tail, label, head
        cdef Partition blocks = Partition(), cords = Partition()
        self.find_useful(useful, specials)
        if not useful[0]:
            return None
        refill(renamed, n, NO_STATE)
        for s in range(n):
            if useful[s]:
                renamed[s] = useful_count
                useful_count += 1
                accepting.push_back(self.space.configs[self.configs[s]].accepting)
        for s in range(n):
            if not useful[s]:
                continue
            if s % CHECK_EVERY == 0 and self.nbytes() + BYTES_PER_TRANSITION * tail.size() > self.memory:
                transitions = (self.nbytes() + BYTES_PER_TRANSITION * tail.size()) * n // max(s, 1)
                raise FsmBudgetError(self.memory, transitions, n, "the finite automaton does not fit")
            own = self.map_of[s]
            for k in range(count + specials):
                if k < count:
                    i = self.row[s] + classes.maps[own].of[classes.maps[shared].byte_of[k]]
                else:
                    i = self.row[s] + classes.maps[own].count + (k - count)
                t = self.targets[i]
                if t != NO_STATE and useful[t]:
                    tail.push_back(renamed[s])
                    label.push_back(k)
                    head.push_back(renamed[t])
        with nogil:
            merge_states(blocks, cords, accepting, tail, label, head, count + specials)
        return self.quotient(blocks, accepting, tail, label, head, shared, specials)

    cdef Dfa quotient(
        self,
        Partition blocks,
        const vector[uint8_t]& accepting,
        const vector[int32_t]& tail,
        const vector[int32_t]& label,
        const vector[int32_t]& head,
        int32_t shared,
        int32_t specials,
    ):
        """Write down the automaton of the blocks, numbered breadth first. Transitions are sorted by tail."""
        cdef Dfa dfa = Dfa.__new__(Dfa)
        cdef ByteClasses classes = self.space.terms.classes
        cdef int32_t n = blocks.sets, s, t, k, byte, count = classes.maps[shared].count
        cdef size_t i
        cdef vector[int32_t] first, number, order, row
        refill(first, accepting.size() + 1, 0)
        for i in range(tail.size()):
            first[tail[i] + 1] += 1
        for i in range(accepting.size()):
            first[i + 1] += first[i]
        refill(number, n, NO_STATE)
        number[blocks.set_of[0]] = 0
        order.push_back(0)
        dfa.specials = specials
        dfa.states = n
        dfa.first.push_back(0)
        s = 0
        while s < <int32_t>order.size():
            t = order[s]        # any state of the block will do
            dfa.accepting.push_back(accepting[t])
            refill(row, count + specials, NO_STATE)
            for i in range(first[t], first[t + 1]):
                row[label[i]] = head[i]
            for byte in range(TOKENS):
                self.name_target(row, classes.maps[shared].of[byte], blocks, number, order)
                t = row[classes.maps[shared].of[byte]]
                if t == NO_STATE:
                    continue
                t = number[blocks.set_of[t]]
                k = <int32_t>dfa.target.size() - 1
                if k >= dfa.first[s] and dfa.high[k] == byte - 1 and dfa.target[k] == t:
                    dfa.high[k] = <uint8_t>byte
                else:
                    dfa.low.push_back(<uint8_t>byte)
                    dfa.high.push_back(<uint8_t>byte)
                    dfa.target.push_back(t)
            for k in range(specials):
                self.name_target(row, count + k, blocks, number, order)
                t = row[count + k]
                if t != NO_STATE:
                    t = number[blocks.set_of[t]]
                dfa.special.push_back(t)
            dfa.first.push_back(<int32_t>dfa.target.size())
            s += 1
        return dfa

    cdef int name_target(
        self,
        vector[int32_t]& row,
        int32_t k,
        Partition blocks,
        vector[int32_t]& number,
        vector[int32_t]& order,
    ) except -1:
        """Number the block that a row leads to, if it is met for the first time."""
        cdef int32_t t = row[k]
        if t != NO_STATE and number[blocks.set_of[t]] == NO_STATE:
            number[blocks.set_of[t]] = <int32_t>order.size()
            order.push_back(t)


def explore(automaton, list symbols, memory, double seconds):
    """Return the minimal automaton of a grammar, and how many states it had before equal ones were joined.

    ``symbols``: the classes of tokens that each special symbol is in. ``memory``: bytes that building may
    take. ``seconds``: after which it is given up. Hold the lock of the automaton's store.
    Returns: (Dfa, or None if there is no text; states before).
    Raises: FsmBudgetError, BudgetError.
    Cost: a step of the pushdown engine per state and byte class, then O(m log m) for m transitions.
    """
    cdef ConfigSpace space
    cdef Exploration found
    limits = automaton.store.limits
    space = ConfigSpace(
        automaton.store.terms, automaton.store.semantics, False, limits.max_configurations, limits.max_members
    )
    found = Exploration(space, memory, seconds)
    found.visit_all(space.closed(automaton.lowered.start, BOTTOM, automaton.start_state), symbols)
    return found.minimal(<int32_t>len(symbols)), found.configs.size()
