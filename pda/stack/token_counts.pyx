# distutils: language = c++
"""Texts of so many tokens at most: what the end of a token means for them.

Such a text is a rule, and the edges of its frames say how many tokens it may still take. Tokens are counted
where they end: a member that has read a byte of the text gets a frame with one token less. A token that
goes on beyond the text has ended it before, so it needs no count. All of this is in the configuration, so
rollback, forks and drafts need nothing more. The local states, and so the masks, are the same for all counts.

A member with no token left goes, for what follows the text is there already. If the last token ends inside of
a character, the rest of that character may still be read. So a token never leads to a dead end.

Of two members that differ in their counts only, the one with more tokens left is kept: it allows what the
other one allows.
"""

cimport cython

from libc.stdint cimport int32_t, uint64_t

from stackmask.pda.ids cimport ACTION_COUNTED
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_free, map_get, map_init, map_put
from stackmask.pda.stack.frames cimport BOTTOM_CONTINUATION, Frame
from stackmask.pda.terms.term_table cimport EMPTY

cdef enum:
    MOST_OF_REST = 3    # bytes of a character after the first


cdef extern from "sorting.h" nogil:
    void sort_counted "stackmask::sort_counted"(vector[CountedMember]& items) noexcept nogil


@cython.final
cdef class TokenCounts:
    """Count the tokens of the texts of one family."""

    def __cinit__(self, FrameGraph graph not None, ConfigTable table not None, Closure closure not None):
        self.terms = table.terms
        self.graph = graph
        self.table = table
        self.closure = closure
        self.draft = ConfigDraft(table.draft.max_members)
        self.rest = EMPTY
        map_init(&self.known)

    def __dealloc__(self):
        map_free(&self.known)

    cdef bint counts(self, const Member& member) noexcept nogil:
        """Tell whether a member is in a text whose tokens are counted."""
        cdef Edge edge = self.graph.edges[self.graph.frames[member.frame].first]
        # a frame has the callers of one rule with one action
        return edge.continuation != BOTTOM_CONTINUATION and edge.action == ACTION_COUNTED

    cdef bint is_open(self, ConfigId config) noexcept nogil:
        """Tell whether the next byte may be one of a text whose tokens are counted."""
        cdef int32_t i, first = self.table.configs[config].first
        for i in range(first, first + self.table.configs[config].count):
            if self.counts(self.table.members[i]):
                return True
        return False

    cdef ConfigId after_token(self, ConfigId config) except -3 nogil:
        """Return the configuration where a token ends that led here. Cost: a look-up once it is known."""
        cdef ConfigId found = map_get(&self.known, config)
        if found == NO_VALUE:
            found = self.charge(config)
            map_put(&self.known, config, found)
        return found

    cdef ConfigId charge(self, ConfigId config) except -3 nogil:
        """Make the configuration where a token ends."""
        cdef int32_t i, e, first = self.table.configs[config].first
        cdef CountedMember counted
        cdef Member m
        cdef Frame frame
        self.draft.clear()
        self.counted.clear()
        for i in range(first, first + self.table.configs[config].count):
            counted.member = m = self.table.members[i]
            if not self.counts(m) or self.closure.begins_count(m.state):  # mutant: fresh-text
                self.draft.members.push_back(m)
                continue
            frame = self.graph.frames[counted.member.frame]
            self.terms.meter.spend(4 + 4 * frame.count)
            for e in range(frame.first, frame.first + frame.count):
                counted.edge = self.graph.edges[e]
                counted.edge.tokens_left = max(counted.edge.tokens_left - 1, 0)
                self.counted.push_back(counted)
        if self.counted.empty():
            return config
        sort_counted(self.counted)
        self.add_counted()
        self.draft.check_size()
        self.draft.sort_items()
        self.draft.accepting = self.table.configs[config].accepting
        self.draft.reads = self.table.configs[config].reads
        return self.table.intern(self.draft, self.table.configs[config].ends)

    cdef int add_counted(self) except -3 nogil:
        """Add the counted members: for each local state one that goes on, and one that ends a character."""
        cdef size_t i = 0, first, last
        cdef Member m
        cdef Edge edge
        cdef bint spent
        while i < self.counted.size():
            m = self.counted[i].member
            first = i
            while (
                i < self.counted.size()
                and self.counted[i].member.state == m.state
                and self.counted[i].member.sem == m.sem
            ):
                i += 1
            last = i
            for spent in (False, True):
                self.edges.clear()
                for i in range(first, last):
                    edge = self.counted[i].edge
                    if i > first and (
                        self.counted[i - 1].edge.continuation == edge.continuation
                        and self.counted[i - 1].edge.parent == edge.parent
                    ):
                        continue  # the same with fewer tokens left
                    if spent == (edge.tokens_left == 0):
                        self.edges.push_back(edge)
                i = last
                if self.edges.empty():
                    continue
                m.state = self.counted[first].member.state
                if spent:
                    m.state = self.rest_of_character(m.state)
                    if m.state == EMPTY:
                        continue
                m.frame = self.graph.intern_frame(self.edges)
                self.draft.members.push_back(m)
        return 0

    cdef TermId rest_of_character(self, TermId state) except -1 nogil:
        """Return the rest of the character that a local state is inside of; EMPTY if it is between two."""
        cdef vector[TermId] both
        cdef uint64_t words[4]
        cdef TermId found
        if self.rest == EMPTY:
            words[0] = words[1] = words[3] = 0
            words[2] = ~<uint64_t>0  # the bytes 0x80 to 0xBF, which begin no character
            self.rest = self.terms.make.mk_set(self.terms, self.terms.classes.intern_set(words))
            self.rest = self.terms.make.mk_rep(self.terms, self.rest, 1, MOST_OF_REST)
        both.push_back(state)
        both.push_back(self.rest)
        found = self.terms.make.mk_and(self.terms, both)
        return found if self.terms.emptiness.is_live(self.terms, found) else EMPTY

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes the memory of token ends and the scratch take."""
        cdef size_t held = 12 * self.known.mask + sizeof(CountedMember) * self.counted.capacity()
        return held + sizeof(Edge) * self.edges.capacity()
