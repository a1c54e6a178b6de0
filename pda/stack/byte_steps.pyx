# distutils: language = c++
"""The configuration after one more byte, or one more token of a class of special tokens.

A configuration gets a transition row with its first step: an entry for each class of bytes that it
distinguishes. A capture keeps each byte, so inside of one, steps are remembered one by one.
"""

cimport cython
from libc.stdint cimport uint8_t

from stackmask.pda.ids cimport MapId, SemId, TermId
from stackmask.pda.stack.configuration_draft cimport Member
from stackmask.pda.stack.configuration_table cimport DEAD, NEVER_A_ROW, NO_ROW_YET, UNKNOWN, Config
from stackmask.pda.terms.term_table cimport EMPTY, MAP_EACH, MAP_ONE, is_byte
from stackmask.pda.context.semantic_states cimport SEM_SYMBOL
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_free, map_get, map_init, map_put


@cython.final
cdef class ByteSteps:
    """Compute steps, and remember them in transition rows. ``ConfigTable.known_step`` reads those."""

    def __cinit__(self, ConfigTable table not None, Closure closure not None):
        self.terms = table.terms
        self.semantics = table.semantics
        self.table = table
        self.closure = closure
        self.computed = 0
        map_init(&self.single_steps)

    def __dealloc__(self):
        map_free(&self.single_steps)

    cdef ConfigId compute_step(self, ConfigId config, SymbolId symbol) except -3 nogil:
        """Return the configuration after one more symbol: DEAD, READS_STATE or its id; remembered."""
        cdef Config c = self.table.configs[config]
        cdef int32_t i
        cdef TermId d
        cdef MapId map
        cdef ConfigId next
        cdef uint64_t key = (<uint64_t>config << 32) | <uint64_t>symbol
        cdef Member m
        if is_byte(symbol) and c.row == NO_ROW_YET:
            c.row = self.make_row(config)
        if not is_byte(symbol) or c.row == NEVER_A_ROW:
            next = map_get(&self.single_steps, key)
            if next != NO_VALUE:
                return next
        self.count_step()
        self.closure.draft.clear_members()
        for i in range(c.first, c.first + c.count):
            m = self.table.members[i]
            d = self.terms.step(m.state, symbol)
            if d == EMPTY:
                continue
            if m.sem > SEM_SYMBOL and is_byte(symbol) and self.semantics.in_capture(m.sem):
                m.sem = self.semantics.append(m.sem, <uint8_t>symbol)
            self.closure.draft.add_member(d, m.frame, m.sem)
        next = DEAD if self.closure.draft.members.empty() else self.closure.close()
        if not is_byte(symbol) or c.row == NEVER_A_ROW:
            map_put(&self.single_steps, key, next)
        else:
            map = self.table.configs[config].map
            self.table.rows[<size_t>c.row + self.terms.classes.maps[map].of[symbol]] = next
        return next

    cdef StepRowId make_row(self, ConfigId config) except -3 nogil:
        """Find the byte classes of a configuration and make its transition row.

        A capture keeps the very byte, so what follows is seldom met twice: then NEVER_A_ROW.
        """
        cdef Config c = self.table.configs[config]
        cdef int32_t i
        cdef SemId sem
        cdef MapId map = MAP_ONE
        for i in range(c.first, c.first + c.count):
            sem = self.table.members[i].sem
            if sem > SEM_SYMBOL and self.semantics.keeps_bytes(sem):
                self.table.configs[config].row = NEVER_A_ROW
                self.table.configs[config].map = MAP_EACH
                return NEVER_A_ROW
            map = self.terms.classes.map_meet(map, self.terms.classes_of(self.table.members[i].state))
        if not self.table.is_walk:
            self.terms.meter.hold(4 * self.terms.classes.maps[map].count)
        c.row = <int32_t>self.table.rows.size()
        self.table.configs[config].row = c.row
        self.table.configs[config].map = map
        self.table.rows.resize(self.table.rows.size() + self.terms.classes.maps[map].count, UNKNOWN)
        return c.row

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes the steps outside of rows take."""
        return 12 * self.single_steps.mask
