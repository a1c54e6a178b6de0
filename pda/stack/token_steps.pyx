# distutils: language = c++
"""The configuration after a whole token: read in one leap the first time, looked up after that.

Most places inside of tokens are visited once. So the first token from a configuration is read in one leap,
which makes no configurations for the places inside. Only a second token from there makes steps by bytes pay
for their rows. The result is remembered in both cases.
"""

cimport cython
from libc.stdint cimport uint16_t

from stackmask.pda.ids cimport NO_TOKEN, StepRowId
from stackmask.pda.stack.configuration_table cimport DEAD, READS_STATE, has_row
from stackmask.pda.terms.term_table cimport EMPTY, F_CALL, K_LIT, K_SEQ, ClassMap, Literal, Term
from stackmask.pda.context.semantic_states cimport SEM_SYMBOL

cdef enum:
    MAX_OFFSET = 1 << 16    # bytes of a token; after more bytes, no token is remembered
    FIRST_NOTED = 64        # steps of tokens that are stored at first, and
    MOST_NOTED = 4096


cdef TermId mk_end(TermStore terms, Literal literal, int32_t consumed) except -1 nogil:
    """Return what is left of a literal after some bytes."""
    return terms.make.mk_literal(terms, literal.first + consumed, literal.length - consumed)


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

    cdef ConfigId step_token(
        self, ConfigId config, TokenId token, const uint8_t* text, size_t length
    ) except -3 nogil:
        """Return the configuration after a token, whose text is given, or DEAD.

        A configuration stores the first token from it, and where that led. At the second token it gets a row,
        and the step is stored in ``noted``. ``remembered`` finds both.
        Cost: three dependent loads a byte once the steps are known.
        """
        cdef ConfigId next = self.step_bytes(config, token, text, length)
        if next != DEAD and length > 1 and self.table.configs[config].first_token != token:
            self.note_step(config, token, next)
        return next

    cdef ConfigId step_bytes(
        self, ConfigId config, TokenId token, const uint8_t* text, size_t length
    ) except -3 nogil:
        """Step by bytes as far as there are rows, then leap."""
        cdef size_t i
        cdef ConfigId next
        cdef StepRowId row
        cdef Config* configs = self.table.configs.data()
        cdef const ConfigId* rows = self.table.rows.data()
        cdef const ClassMap* maps = self.terms.classes.maps.data()
        for i in range(length):
            next = UNKNOWN
            if configs[config].first_token == token and configs[config].first_offset == i:  # mutant: offset
                return configs[config].first_next
            row = configs[config].row
            if has_row(configs[config]):
                next = rows[<size_t>row + maps[configs[config].map].of[text[i]]]
            elif configs[config].first_token == NO_TOKEN and i < MAX_OFFSET:
                next = self.leap(config, text + i, length - i)
                configs = self.table.configs.data()
                configs[config].first_token = token
                configs[config].first_offset = <uint16_t>i
                configs[config].first_next = next
                return next
            if next == UNKNOWN:
                next = self.byte_steps.compute_step(config, text[i])
                # arrays that grew may have moved
                configs = self.table.configs.data()
                rows = self.table.rows.data()
                maps = self.terms.classes.maps.data()
            if next == DEAD:
                return DEAD
            config = next
        return config

    cdef int note_step(self, ConfigId config, TokenId token, ConfigId next) except -3 nogil:
        """Store where a token leads, over an older entry. The table grows with the number of steps."""
        cdef size_t size = self.noted.size()
        cdef TokenStep* step
        if self.noted_since >= size and size < MOST_NOTED:
            # the stored steps are used again
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

    cdef ConfigId leap(self, ConfigId config, const uint8_t* text, size_t length) except -3 nogil:
        """Return the configuration after some bytes, or DEAD. Configurations between are not stored.

        If no member calls, returns or may end, the members are not even closed: a closure would drop only
        members that lead nowhere. The bytes of a literal are compared in the pool.
        """
        cdef bint restricted = self.terms.classes.has_guards(), skips_closure
        cdef size_t k, i, n
        cdef PartialMember at
        self.take_members(
            self.table.members.data() + self.table.configs[config].first, self.table.configs[config].count
        )
        for k in range(length):
            self.byte_steps.count_step()
            skips_closure = k + 1 < length and not restricted
            n = 0
            for i in range(self.partial.size()):
                at = self.partial[i]
                if self.consume(&at, text[k], &skips_closure):
                    self.partial[n] = at
                    n += 1
            self.partial.resize(n)
            if not n:
                return DEAD
            if skips_closure:
                continue
            self.closure.draft.clear_members()
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

    cdef int take_members(self, const Member* members, size_t count) except -1 nogil:
        """Begin at some members, with no byte of their literals consumed."""
        cdef size_t i
        cdef PartialMember at
        at.consumed = 0
        self.partial.clear()
        for i in range(count):
            at.member = members[i]
            self.partial.push_back(at)
        return 0

    cdef bint consume(self, PartialMember* at, uint8_t byte, bint* skips_closure) except -1 nogil:
        """Consume a byte. Return whether the member can; clear ``skips_closure`` if it must be closed."""
        cdef TermId state
        cdef Term u = self.terms.terms[at.member.state]
        if u.kind == K_SEQ:
            u = self.terms.terms[u.seq.first]
        if u.kind == K_LIT and at.consumed + 1 < u.literal.length:
            if self.terms.pool[u.literal.first + at.consumed] != byte:
                return False
            at.consumed += 1
        else:
            state = self.terms.step(self.state_of(at[0]), byte)
            if state == EMPTY:
                return False
            at.member.state = state
            at.consumed = 0
            u = self.terms.terms[state]
            skips_closure[0] = skips_closure[0] and not u.nu.possible() and not u.flags & F_CALL
        if at.member.sem > SEM_SYMBOL and self.semantics.in_capture(at.member.sem):
            at.member.sem = self.semantics.append(at.member.sem, byte)
        return True

    cdef TermId state_of(self, PartialMember at) except -3 nogil:
        """Return the local state of a member after the bytes consumed."""
        cdef Term u = self.terms.terms[at.member.state]
        cdef TermId left
        if not at.consumed:
            return at.member.state
        if u.kind == K_LIT:
            return mk_end(self.terms, u.literal, at.consumed)
        left = mk_end(self.terms, self.terms.terms[u.seq.first].literal, at.consumed)
        return self.terms.mk_seq(left, u.seq.rest)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes of the steps noted, and of the scratch."""
        return sizeof(TokenStep) * self.noted.size() + sizeof(PartialMember) * self.partial.capacity()
