# distutils: language = c++
"""The configuration after a whole token: read in one leap the first time, looked up after that.

Most places within a token are never asked for again. So the first token that goes on from a configuration
is read in one leap, which makes no configuration on the way; only where a second token goes on are steps
by bytes worth their rows. Where either led is remembered.
"""

cimport cython
from libc.stdint cimport uint16_t

from stackmask.pda.stack.configuration_table cimport DEAD, NO_TOKEN, READS_STATE
from stackmask.pda.terms.term_table cimport EMPTY, F_CALL, K_LIT, K_SEQ, NEVER, ClassMap, Term
from stackmask.pda.context.semantic_states cimport SEM_SYMBOL

cdef enum:
    MAX_OFFSET = 1 << 16    # bytes of a token; a place after more remembers no token
    FIRST_NOTED = 64        # steps of tokens that are noted at first, and
    MOST_NOTED = 4096


@cython.final
cdef class TokenSteps:
    """Steps by the bytes of whole tokens, and what is remembered of them, for one family of matchers."""

    def __cinit__(self, ConfigTable table not None, Closure closure not None, ByteSteps byte_steps not None):
        self.terms = table.terms
        self.semantics = table.semantics
        self.table = table
        self.closure = closure
        self.byte_steps = byte_steps
        self.noted_since = 0

    cdef int32_t step_token(
        self, int32_t config, int32_t token, const uint8_t* text, size_t length
    ) except -3:
        """Return the configuration after a token, whose text is given, or DEAD.

        A place remembers the first token that went on from it, and where that led; with the second one it
        gets a row, and where that led is noted. ``remembered`` knows both.
        Cost: three dependent loads a byte once the steps are known.
        """
        cdef int32_t next = self.step_bytes(config, token, text, length)
        if next != DEAD and length > 1 and self.table.configs[config].first_token != token:
            self.note_step(config, token, next)
        return next

    cdef int32_t step_bytes(
        self, int32_t config, int32_t token, const uint8_t* text, size_t length
    ) except -3:
        """Step by bytes as far as there are rows, then leap."""
        cdef size_t i
        cdef int32_t next, row
        cdef ConfigTable table = self.table
        cdef Config* configs = table.configs.data()
        cdef const int32_t* rows = table.rows.data()
        cdef const ClassMap* maps = self.terms.maps.data()
        for i in range(length):
            next = UNKNOWN
            if configs[config].first_token == token and configs[config].first_offset == i:  # mutant: offset
                return configs[config].first_next
            row = configs[config].row
            if row >= 0:
                next = rows[<size_t>row + maps[configs[config].map].of[text[i]]]
            elif configs[config].first_token == NO_TOKEN and i < MAX_OFFSET:
                next = self.leap(config, text + i, length - i)
                configs = table.configs.data()
                configs[config].first_token = token
                configs[config].first_offset = <uint16_t>i
                configs[config].first_next = next
                return next
            if next == UNKNOWN:
                next = self.byte_steps.compute_step(config, text[i])
                # what grew may have moved
                configs = table.configs.data()
                rows = table.rows.data()
                maps = self.terms.maps.data()
            if next == DEAD:
                return DEAD
            config = next
        return config

    cdef int note_step(self, int32_t config, int32_t token, int32_t next) except -3:
        """Note where a token leads, in the place of another one. There are more places with more steps."""
        cdef size_t size = self.noted.size()
        cdef TokenStep* step
        if self.noted_since >= size and size < MOST_NOTED:
            # what was noted comes again
            size = 4 * size if size else FIRST_NOTED
            self.noted.clear()
            self.noted.resize(size)
            self.noted_since = 0
        self.noted_since += 1
        step = &self.noted[slot_of(config, token) & (size - 1)]
        step.config = config
        step.token = token
        step.next = next
        return 0

    # -- many bytes at once ------------------------------------------------------------------------

    cdef int32_t leap(self, int32_t config, const uint8_t* text, size_t length) except -3:
        """Return the configuration after some bytes, or DEAD. Those on the way are not entered.

        Where no member calls, returns or may end, they are not even closed: what a closure would leave out
        leads nowhere. A literal is read where it stands.
        """
        cdef bint restricted = self.terms.guard_sets.size() > 1, is_plain
        cdef size_t k, i, n
        cdef PartialMember at
        self.take_members(
            self.table.members.data() + self.table.configs[config].first, self.table.configs[config].count
        )
        for k in range(length):
            self.byte_steps.count_step()
            is_plain = k + 1 < length and not restricted
            n = 0
            for i in range(self.partial.size()):
                at = self.partial[i]
                if self.consume(&at, text[k], &is_plain):
                    self.partial[n] = at
                    n += 1
            self.partial.resize(n)
            if not n:
                return DEAD
            if is_plain:
                continue
            self.closure.draft.members.clear()
            for i in range(n):
                at = self.partial[i]
                self.closure.draft.add_member(self.state_of(at), at.member.frame, at.member.sem)
            if self.closure.complete() == READS_STATE:
                return READS_STATE
            if k + 1 == length:
                break
            if self.closure.draft.members.empty():
                return DEAD
            self.take_members(self.closure.draft.members.data(), self.closure.draft.members.size())
        return self.table.intern(self.closure.draft, self.closure.ends)

    cdef int take_members(self, const Member* members, size_t count) except -1:
        """Begin at some members, none of whose literals is consumed in part."""
        cdef size_t i
        cdef PartialMember at
        at.consumed = 0
        self.partial.clear()
        for i in range(count):
            at.member = members[i]
            self.partial.push_back(at)
        return 0

    cdef bint consume(self, PartialMember* at, uint8_t byte, bint* is_plain) except -1:
        """Take one more byte. Return whether the member does; clear ``is_plain`` if it must be closed."""
        cdef int32_t state
        cdef Term u = self.terms.terms[at.member.state]
        if u.kind == K_SEQ:
            u = self.terms.terms[u.a]
        if u.kind == K_LIT and at.consumed + 1 < u.b:
            if self.terms.pool[u.a + at.consumed] != byte:
                return False
            at.consumed += 1
        else:
            state = self.terms.step(self.state_of(at[0]), byte)
            if state == EMPTY:
                return False
            at.member.state = state
            at.consumed = 0
            u = self.terms.terms[state]
            is_plain[0] = is_plain[0] and u.nu == NEVER and not u.flags & F_CALL
        if at.member.sem > SEM_SYMBOL and self.semantics.in_capture(at.member.sem):
            at.member.sem = self.semantics.append(at.member.sem, byte)
        return True

    cdef int32_t state_of(self, PartialMember at) except -3:
        """Return the state that is left of a member."""
        cdef Term u = self.terms.terms[at.member.state], literal
        if not at.consumed:
            return at.member.state
        if u.kind == K_LIT:
            return self.terms.mk_literal(u.a + at.consumed, u.b - at.consumed)
        literal = self.terms.terms[u.a]
        return self.terms.mk_seq(
            self.terms.mk_literal(literal.a + at.consumed, literal.b - at.consumed), u.b
        )

    cdef size_t nbytes(self) noexcept:
        """Return the bytes of the steps noted, and of the scratch."""
        return sizeof(TokenStep) * self.noted.size() + sizeof(PartialMember) * self.partial.capacity()
