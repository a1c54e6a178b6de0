# distutils: language = c++
"""A deterministic automaton over bytes and special tokens; every state can reach an accepting one.

States are numbered in breadth-first order from the start (state 0), edges by ascending byte, so minimal
automata of equal languages are equal arrays.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy
from libcpp.algorithm cimport upper_bound
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from stackmask.grammar.languages.partition cimport Partition, merge_states
from stackmask.pda.ids cimport FAILED, ID_FAILED
from stackmask.pda.memory.checked_vectors cimport enter, look_up, refill
from stackmask.pda.stack.configuration_table cimport BOTTOM, DEAD, NEVER_A_ROW, UNKNOWN
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.terms.term_table cimport MAP_ONE, TOKENS, ByteClasses

from time import monotonic

import numpy as np

from stackmask.pda.errors import BudgetError
from stackmask.runtime.fsm.errors import FsmBudgetError, FsmError, FsmFileError


cdef object copied(const void* data, size_t count, dtype):
    cdef uint8_t[::1] view
    array = np.empty(count, dtype)
    if count:
        view = array.view(np.uint8)
        memcpy(&view[0], data, view.shape[0])
    return array


cdef int fill_ints(vector[int32_t]& out, array) except FAILED:
    cdef const int32_t[::1] view = np.ascontiguousarray(array, np.int32)
    cdef Py_ssize_t i
    out.resize(view.shape[0])
    for i in range(view.shape[0]):
        out[i] = view[i]
    return 0


cdef int fill_bytes(vector[uint8_t]& out, array) except FAILED:
    cdef const uint8_t[::1] view = np.ascontiguousarray(array, np.uint8)
    cdef Py_ssize_t i
    out.resize(view.shape[0])
    for i in range(view.shape[0]):
        out[i] = view[i]
    return 0


@cython.final
cdef class Dfa:
    """An immutable deterministic automaton, created by ``explore`` or from the arrays of an equal one.

    ``arrays``: in the format of ``arrays()``; ``specials``: the number of symbols that represent special
    tokens.
    Raises: FsmFileError if the arrays do not form an automaton.
    """

    def __cinit__(self, arrays=None, int32_t specials=0):
        self.start = 0
        self.states = 0
        self.specials = specials
        if arrays is None:
            return
        fill_ints(self.first, arrays["first"])
        fill_bytes(self.low, arrays["low"])
        fill_bytes(self.high, arrays["high"])
        fill_ints(self.target, arrays["target"])
        fill_bytes(self.accepting, arrays["accepting"])
        fill_ints(self.special, arrays["special"])
        self.states = <int32_t>self.accepting.size()
        self.check()

    cdef int check(self) except FAILED:
        """Check that all indices are within bounds. Raises: FsmFileError."""
        cdef size_t edges = self.target.size(), n = self.accepting.size(), i
        cdef int32_t s, e
        if n == 0 or self.first.size() != n + 1 or self.low.size() != edges or self.high.size() != edges:
            raise FsmFileError("its arrays do not fit together")
        if self.specials < 0 or self.special.size() != n * <size_t>self.specials:
            raise FsmFileError("its special tokens do not fit its states")
        if self.first[0] != 0 or self.first[n] != <int32_t>edges:
            raise FsmFileError("its edges are out of order")
        for s in range(self.states):
            if self.first[s] > self.first[s + 1] or self.first[s + 1] > <int32_t>edges:
                raise FsmFileError("its edges are out of order")
            for e in range(self.first[s], self.first[s + 1]):
                if self.low[e] > self.high[e] or (e > self.first[s] and self.low[e] <= self.high[e - 1]):
                    raise FsmFileError("the edges of a state overlap")
                if not 0 <= self.target[e] < self.states:
                    raise FsmFileError("an edge leads nowhere")
        for i in range(self.special.size()):
            if not NO_STATE <= self.special[i] < self.states:
                raise FsmFileError("a special token leads nowhere")
        return 0

    def arrays(self):
        """Return the arrays by name, as copies."""
        return {
            "first": copied(self.first.data(), self.first.size(), np.int32),
            "low": copied(self.low.data(), self.low.size(), np.uint8),
            "high": copied(self.high.data(), self.high.size(), np.uint8),
            "target": copied(self.target.data(), self.target.size(), np.int32),
            "accepting": copied(self.accepting.data(), self.accepting.size(), np.uint8),
            "special": copied(self.special.data(), self.special.size(), np.int32),
        }

    @property
    def edges(self):
        """The number of edges over bytes: ranges of bytes that lead from one state to another."""
        return self.target.size()

    @property
    def nbytes(self):
        """The size of the arrays."""
        return 4 * (self.first.size() + self.target.size() + self.special.size()) + (
            self.low.size() + self.high.size() + self.accepting.size()
        )

    def matches(self, bytes data):
        """Return whether the automaton accepts exactly these bytes."""
        cdef int32_t state = self.start
        cdef uint8_t byte
        for byte in data:
            state = self.step(state, byte)
            if state == NO_STATE:
                return False
        return bool(self.accepting[state])

    def next_state(self, int32_t state, int symbol):
        """Return the state after a byte, or after special symbol ``symbol - 256``; -1 if the state has no
        such transition.

        Raises: IndexError for an unknown state or symbol.
        """
        if not 0 <= state < self.states or not 0 <= symbol < 256 + self.specials:
            raise IndexError(f"no state {state}, or no symbol {symbol}")
        if symbol >= 256:
            return self.special[<size_t>state * self.specials + symbol - 256]
        return self.step(state, <uint8_t>symbol)

    def is_accepting(self, int32_t state):
        """Return whether the text may end in a state. Raises: IndexError for an unknown state."""
        if not 0 <= state < self.states:
            raise IndexError(f"no state {state}")
        return bool(self.accepting[state])

    def dump(self):
        """Return the automaton as text, with a line for each state."""
        cdef int32_t s, e, k
        lines = []
        for s in range(self.states):
            parts = []
            for e in range(self.first[s], self.first[s + 1]):
                span = f"{self.low[e]:02x}"
                if self.low[e] != self.high[e]:
                    span += f"-{self.high[e]:02x}"
                parts.append(f"{span} → {self.target[e]}")
            for k in range(self.specials):
                if self.special[<size_t>s * self.specials + k] != NO_STATE:
                    parts.append(f"special {k} → {self.special[<size_t>s * self.specials + k]}")
            lines.append(f"{s}{' accepts' if self.accepting[s] else ''}: {', '.join(parts)}".rstrip())
        return "\n".join(lines)


# ------------------------------------------------------------------------------------------------
# The compressed automaton: paths on which every byte is forced, merged into one edge under a string.
#
# A byte is forced in a state with one byte edge under a single byte, where the text may not end and no
# special token may come. Such states form trees, since every state can reach an accepting one. A path is laid
# down as a segment up to its end or to a state that an earlier segment passes through; states inside a
# segment share its bytes.
# ------------------------------------------------------------------------------------------------


cdef enum:
    NOT_FORCED = -1


cdef bint is_forced(Dfa dfa, int32_t state) noexcept nogil:
    cdef int32_t e = dfa.first[state], k
    if dfa.accepting[state] or dfa.first[state + 1] != e + 1 or dfa.low[e] != dfa.high[e]:  # mutant: one-byte
        return False
    for k in range(dfa.specials):
        if dfa.special[<size_t>state * dfa.specials + k] != NO_STATE:
            return False
    return True


@cython.final
cdef class Paths:
    """The forced bytes of every state. Cost: linear in the states, in time and memory."""

    def __cinit__(self, Dfa dfa not None):
        cdef int32_t n = dfa.states, s
        cdef vector[uint8_t] forced, entered
        refill(self.begin, n, NOT_FORCED)
        forced.resize(n)
        refill(entered, n, 0)
        # what is neither the start nor where paths branch, end or join is merged away
        self.states = 0
        with nogil:
            for s in range(n):
                forced[s] = is_forced(dfa, s)
                self.states += s == dfa.start or not forced[s]
            for s in range(n):
                if forced[s]:
                    entered[dfa.target[dfa.first[s]]] = 1
            for s in range(n):
                if forced[s] and not entered[s]:
                    self.lay(dfa, s, forced)
        self.text.shrink_to_fit()
        self.past.shrink_to_fit()
        self.after.shrink_to_fit()

    cdef int32_t lay(self, Dfa dfa, int32_t head, const vector[uint8_t]& forced) except FAILED nogil:
        """Create the path that begins at a state that is on no other path."""
        while forced[head] and self.begin[head] == NOT_FORCED:
            self.begin[head] = <int32_t>self.text.size()
            self.text.push_back(dfa.low[dfa.first[head]])
            head = dfa.target[dfa.first[head]]
        self.past.push_back(<int32_t>self.text.size())
        self.after.push_back(head)

    cdef size_t segment_of(self, int32_t state) noexcept nogil:
        """Return the segment of a forced state."""
        return upper_bound(self.past.begin(), self.past.end(), self.begin[state]) - self.past.begin()

    cdef bytes forced(self, int32_t state):
        """Return the forced bytes of all segments together."""
        cdef bytearray out = bytearray()
        cdef size_t segment
        while self.begin[state] != NOT_FORCED:
            segment = self.segment_of(state)
            out += (<const char*>self.text.data())[self.begin[state] : self.past[segment]]
            state = self.after[segment]
        return bytes(out)

    def jump(self, int32_t state):
        """Return (the forced bytes, the state after them).

        Raises: IndexError for an unknown state.
        """
        if not 0 <= state < <int32_t>self.begin.size():
            raise IndexError(f"no state {state}")
        text = self.forced(state)
        while self.begin[state] != NOT_FORCED:
            state = self.after[self.segment_of(state)]
        return text, state

    @property
    def nbytes(self):
        """The size of the arrays."""
        return self.text.size() + 4 * (self.begin.size() + self.past.size() + self.after.size())


# ------------------------------------------------------------------------------------------------
# Which states of an automaton allow the same tokens: no string of a token's length tells them apart.
# ------------------------------------------------------------------------------------------------


cdef enum:
    SIGNATURES_PER_CHECK = 1 << 16   # signatures between two looks at time and signals


cdef int write_signature(Dfa dfa, int32_t state, const vector[int32_t]& block, string& out) except FAILED nogil:
    """Record the block of a state, and the target blocks of all ranges of bytes."""
    cdef int32_t e, b, last = NO_STATE
    cdef int32_t low = 0, high = -2
    b = block[state]
    out.assign(<char*>&b, 4)
    for e in range(dfa.first[state], dfa.first[state + 1]):
        b = block[dfa.target[e]]
        if b == last and dfa.low[e] == high + 1:
            high = dfa.high[e]
            continue
        if last != NO_STATE:
            out.append(<char*>&last, 4)
            out.push_back(<char>low)
            out.push_back(<char>high)
        last = b
        low = dfa.low[e]
        high = dfa.high[e]
    if last != NO_STATE:
        out.append(<char*>&last, 4)
        out.push_back(<char>low)
        out.push_back(<char>high)


cdef int check_time(double deadline, double seconds) except FAILED:
    PyErr_CheckSignals()
    if monotonic() > deadline:
        raise BudgetError("max_seconds", seconds, "seconds to build the token index")
    return 0


cdef int32_t find_alike(
    Dfa dfa, int32_t length, vector[int32_t]& block, double deadline, double seconds
) except FAILED nogil:
    """Put states into the same block if they have the same byte strings of up to ``length``.

    Accepting states and special tokens are ignored. Return the number of blocks.
    Cost: a signature for each state, and another one whenever the block of a target changes. Rounds are as in
    E. F. Moore's minimisation, but only states affected by a change are processed again.
    Raises: BudgetError after ``deadline``, which was computed from ``seconds``.
    """
    cdef int32_t n = dfa.states, s, e, k, b, blocks = 1, round = 0, signatures = 0
    cdef size_t i
    cdef vector[int32_t] first, into, todo, changed, size, looked, fresh
    cdef vector[uint8_t] queued, kept
    cdef unordered_map[string, int32_t] known
    cdef string signature
    refill(first, n + 1, 0)
    for i in range(dfa.target.size()):
        first[dfa.target[i] + 1] += 1
    for s in range(n):
        first[s + 1] += first[s]
    into.resize(dfa.target.size())
    for s in range(n):
        for e in range(dfa.first[s], dfa.first[s + 1]):
            into[first[dfa.target[e]]] = s
            first[dfa.target[e]] += 1
    # filling in has moved each beginning to the next one
    for s in range(n, 0, -1):
        first[s] = first[s - 1]
    first[0] = 0
    refill(block, n, 0)
    refill(queued, n, 0)
    size.push_back(n)
    looked.push_back(0)
    kept.push_back(0)
    todo.resize(n)
    fresh.resize(n)
    for s in range(n):
        todo[s] = s
    while round < length and not todo.empty():
        round += 1
        known.clear()
        changed.clear()
        for s in todo:
            looked[block[s]] += 1
            kept[block[s]] = 0
        for s in todo:
            # the states that were not looked at go on as they were; if there are none, the first group does
            b = block[s]
            write_signature(dfa, s, block, signature)
            signatures += 1
            if signatures % SIGNATURES_PER_CHECK == 0:
                with gil:
                    check_time(deadline, seconds)
            k = look_up(known, signature, 0) - 1
            if k < 0:
                if looked[b] == size[b] and not kept[b]:
                    kept[b] = 1
                    k = b
                else:
                    k = blocks
                    blocks += 1
                    size.push_back(0)
                    looked.push_back(0)
                    kept.push_back(1)
                enter(known, signature, k + 1)
            fresh[s] = k
        for s in todo:
            looked[block[s]] = 0
        for s in todo:
            if fresh[s] != block[s]:
                size[block[s]] -= 1
                size[fresh[s]] += 1
                block[s] = fresh[s]
                changed.push_back(s)
        todo.clear()
        for s in changed:
            for k in range(first[s], first[s + 1]):
                if not queued[into[k]]:
                    queued[into[k]] = 1
                    todo.push_back(into[k])
        for s in todo:
            queued[s] = 0
    return blocks


# ------------------------------------------------------------------------------------------------
# All configurations of a grammar as one automaton, and the smallest automaton of the same language.
#
# A configuration of a grammar whose rules do not nest in themselves is a state of a deterministic automaton
# already: its steps are interned, and there are finitely many. They are visited breadth first. What cannot
# reach the end of a text is left out, states of equal languages are joined, and edges become ranges of bytes.
# ------------------------------------------------------------------------------------------------


cdef enum:
    CHECK_EVERY = 256       # configurations between two looks at memory, time and signals
    BYTES_PER_TRANSITION = 44   # of the partitions and lists that joining equal states takes


cdef class Exploration:
    """The reached configurations, as states in the order of visits, and their transitions."""

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

    cdef int32_t state_of(self, int32_t config) except ID_FAILED:
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

    cdef int check(self, size_t done) except FAILED:
        """Check signals, time and memory. Raises: FsmBudgetError, BudgetError."""
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

    cdef int visit_all(self, int32_t start, list symbols) except FAILED:
        """Visit all reachable configurations. ``symbols``: the classes of tokens that contain each special
        symbol.
        """
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

    cdef int32_t shared_map(self) except FAILED:
        """Return the coarsest byte classes that distinguish all bytes that some row distinguishes."""
        cdef int32_t shared = MAP_ONE, last = UNKNOWN
        cdef size_t s
        for s in range(self.map_of.size()):
            if self.map_of[s] != last:
                last = self.map_of[s]
                shared = self.space.terms.classes.map_meet(shared, last)
        return shared

    cdef int find_useful(self, vector[uint8_t]& useful, int32_t specials) except FAILED:
        """Find the states that can reach an accepting state."""
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
        """Return the minimal automaton, or None if the language is empty."""
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
        """Write the automaton of the blocks, numbered breadth first. Transitions are sorted by source."""
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
    ) except FAILED:
        """Number the target block of a row if it is new."""
        cdef int32_t t = row[k]
        if t != NO_STATE and number[blocks.set_of[t]] == NO_STATE:
            number[blocks.set_of[t]] = <int32_t>order.size()
            order.push_back(t)


def explore(automaton, list symbols, memory, double seconds):
    """Return the minimal automaton of a grammar, and the number of its states before minimisation.

    ``symbols``: the classes of tokens that contain each special symbol. ``memory``: the maximum number of
    bytes while building. ``seconds``: the time limit. The caller holds the lock of the automaton's store.
    Returns: (Dfa, or None if the language is empty; states before minimisation).
    Raises: FsmBudgetError, BudgetError.
    Cost: a step of the pushdown engine for each state and byte class, then O(m log m) for m transitions.
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
