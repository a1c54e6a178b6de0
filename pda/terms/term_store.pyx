# distutils: language = c++
"""Hash-consed terms and their derivatives: the local states of the automaton.

A term is a small integer; equal terms are one integer. The store grows and never changes what it holds.

    t ::= ∅ | ε | [bytes] | "literal" | t t | t "|" t | t{m,n} | t & t | ¬t | call | token | ≫[bytes]

``nu`` is the guard under which a term may end at the current position: a set of next bytes (the end of
input and special tokens satisfy every guard), or NEVER.

The store is a chain of classes: ``interning`` (tables), ``constructors`` (terms made of terms),
``derivatives`` (steps); here follows how terms end, and what the lowering calls.
"""

cimport cython
from libc.stdint cimport uint64_t
from libcpp.vector cimport vector

from stackmask.pda.terms.term_table cimport (
    EMPTY,
    EPS,
    F_CALL,
    F_IMPURE,
    F_KEYS,
    F_LOCAL,
    F_TOKEN,
    K_ALT,
    K_AND,
    K_CALL,
    K_EMPTY,
    K_EPS,
    K_GUARD,
    K_LIT,
    K_NOT,
    K_REP,
    K_SEQ,
    K_SET,
    K_TOKEN,
    NEVER,
    TEST_RULE,
    Term,
)
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_clear, map_free, map_get, map_init, map_put

from stackmask.pda.errors import BudgetError

cdef enum:
    MAX_TOKEN_CLASSES = 60_000    # they share 16 bits of a key with the bytes


@cython.final
cdef class TermStore(TermSearches):
    """The terms, rules and calls of one automaton.

    Invariant: append-only; ids stay valid for the life of the store.
    """

    # -- how a term can end: the guards that may be pending ------------------------------------------

    cdef int ends(self, int32_t t, int32_t guard, Ends* out) except -1:
        """Give the guards that can be pending when t ends, if the next byte must satisfy ``guard``."""
        cdef uint64_t key = (<uint64_t>t << 6) | <uint64_t>guard
        cdef int32_t at = map_get(&self.ends_index, key)
        if at != NO_VALUE:
            out[0] = self.ends_value[at]
            return 0
        self.ends_of(t, guard, out)
        map_put(&self.ends_index, key, <int32_t>self.ends_value.size())
        self.ends_value.push_back(out[0])
        return 0

    cdef int ends_of(self, int32_t t, int32_t guard, Ends* out) except -1:
        """Find the guards that can be pending at the end of a term that starts under a guard."""
        cdef Ends part
        cdef uint64_t consumed = 0, silent = <uint64_t>1 << guard, next_silent, from_consumed
        cdef int32_t g
        cdef int32_t first
        # a spine is walked with the two sets of guards that can be pending so far
        while True:
            first = self.terms[t].a if self.terms[t].kind == K_SEQ else t
            next_silent = 0
            from_consumed = 0
            for g in range(<int32_t>self.guard_sets.size()):
                if not ((consumed | silent) >> g) & 1:
                    continue
                if first == t:
                    self.ends_part(first, g, &part)
                else:
                    self.ends(first, g, &part)
                if (consumed >> g) & 1:
                    from_consumed |= part.consumed | part.silent
                if (silent >> g) & 1:
                    from_consumed |= part.consumed
                    next_silent |= part.silent
            consumed = from_consumed
            silent = next_silent
            if first == t:
                break
            t = self.terms[t].b
        out.consumed = consumed
        out.silent = silent
        return 0

    cdef int ends_part(self, int32_t t, int32_t guard, Ends* out) except -1:
        """Find the same for a term that is no sequence."""
        cdef Term u = self.terms[t]
        cdef Ends part
        cdef uint64_t current_c, current_s, before_c, before_s
        cdef int32_t k, g, count
        cdef int symbol
        out.consumed = 0
        out.silent = 0
        if u.kind == K_EPS:
            out.silent = <uint64_t>1 << guard
        elif u.kind == K_GUARD:
            out.silent = <uint64_t>1 << self.guard_and(guard, u.a)
        elif u.kind == K_TOKEN:
            out.consumed = 1
        elif u.kind == K_SET or u.kind == K_LIT:
            if self.guard_first(guard, t) != EMPTY:
                out.consumed = 1
        elif u.kind == K_AND or u.kind == K_NOT:
            for symbol in range(256):
                if self.guard_has(guard, symbol) and self.step(t, symbol) != EMPTY:
                    out.consumed = 1
                    break
            if u.nu >= 0:
                out.silent = <uint64_t>1 << guard
        elif u.kind == K_ALT:
            for k in range(u.b):
                self.ends(self.kids[u.a + k], guard, &part)
                out.consumed |= part.consumed
                out.silent |= part.silent
        elif u.kind == K_CALL:
            if self.call_rule[u.a] <= TEST_RULE:
                out.silent = <uint64_t>1 << guard
            elif self.call_rule[u.a] < 0:
                out.consumed = 1
            else:
                self.rule_ends(self.call_rule[u.a], guard, out)
            if u.c:
                out.silent = 0
        elif u.kind == K_REP:
            # after i iterations the pending guards are (current_c, current_s); stop when they repeat
            current_c = 0
            current_s = <uint64_t>1 << guard
            count = 0
            while True:
                if count >= u.b:
                    before_c = out.consumed
                    before_s = out.silent
                    out.consumed |= current_c
                    out.silent |= current_s
                    if count > u.b and before_c == out.consumed and before_s == out.silent:
                        break
                if u.c >= 0 and count >= u.c:
                    break
                before_c = current_c
                before_s = current_s
                current_c = 0
                current_s = 0
                for g in range(<int32_t>self.guard_sets.size()):
                    if ((before_c | before_s) >> g) & 1:
                        self.ends(u.a, g, &part)
                        if (before_c >> g) & 1:
                            current_c |= part.consumed | part.silent
                        if (before_s >> g) & 1:
                            current_c |= part.consumed
                            current_s |= part.silent
                count += 1
                if current_c == before_c and current_s == before_s and count < u.b:
                    count = u.b
                if not current_c and not current_s:
                    break
        return 0

    cdef int rule_ends(self, int32_t rule, int32_t guard, Ends* out) except -1:
        """Least fixpoint over the rules, extended whenever a new (rule, guard) is asked for.

        What an earlier call has settled depends on nothing newer, so each call goes over its own pairs alone.
        """
        cdef uint64_t key = (<uint64_t>rule << 6) | <uint64_t>guard
        cdef int32_t at = map_get(&self.rule_ends_index, key)
        cdef Ends now
        cdef size_t i
        if at == NO_VALUE:
            now.consumed = 0
            now.silent = 0
            at = <int32_t>self.rule_ends_value.size()
            map_put(&self.rule_ends_index, key, at)
            self.rule_ends_value.push_back(now)
            self.rule_ends_keys.push_back(key)
            self.ends_changed = True
        if self.ends_depth or <size_t>at < self.ends_settled:
            out[0] = self.rule_ends_value[at]
            return 0
        self.ends_depth = 1
        self.ends_changed = True
        try:
            while self.ends_changed:
                self.ends_changed = False
                i = self.ends_settled
                while i < self.rule_ends_keys.size():
                    key = self.rule_ends_keys[i]
                    self.forget_ends()
                    self.ends(self.rule_body[key >> 6], key & 63, &now)
                    if (
                        now.consumed != self.rule_ends_value[i].consumed
                        or now.silent != self.rule_ends_value[i].silent
                    ):
                        self.rule_ends_value[i] = now
                        self.ends_changed = True
                    i += 1
            self.ends_settled = self.rule_ends_keys.size()
        finally:
            # an interrupted call leaves pairs that are not settled; the next one goes over them again
            self.ends_depth = 0
            self.forget_ends()
        out[0] = self.rule_ends_value[at]
        return 0

    cdef int forget_ends(self) except -1:
        """Drop what is remembered of terms, which holds for one round only. Cost: that of the round."""
        self.ends_value.clear()
        if self.ends_index.mask > 8 * self.ends_index.count + 64:
            map_free(&self.ends_index)
            map_init(&self.ends_index)
        else:
            map_clear(&self.ends_index)
        return 0

    # -- for the lowering (Python) -------------------------------------------------------------------

    def empty(self):
        """Return the term of the empty language."""
        return EMPTY

    def byte_set(self, mask):
        """Return the term of one byte out of ``mask`` (a 256-bit int)."""
        cdef uint64_t words[4]
        for i in range(4):
            words[i] = (mask >> (64 * i)) & 0xFFFFFFFFFFFFFFFF
        return self.mk_set(self.intern_set(words))

    def guard(self, mask):
        """Return the term that asks the next byte to be in ``mask``, without consuming it."""
        return self.mk_guard(self.guard_id(mask))

    def guard_id(self, mask):
        """Return the id of the guard that allows the bytes in ``mask``."""
        cdef uint64_t words[4]
        for i in range(4):
            words[i] = (mask >> (64 * i)) & 0xFFFFFFFFFFFFFFFF
        return self.guard_of_set(self.intern_set(words))

    cpdef int32_t literal(self, bytes data) except -1:
        """Return the term of exactly these bytes."""
        offset = self.literals.get(data)
        if offset is None:
            offset = self.pool.size()
            for byte in data:
                self.pool.push_back(byte)
            self.literals[data] = offset
        return self.mk_literal(offset, len(data))

    def sequence(self, items):
        """Return the terms one after the other."""
        cdef int32_t t = EPS
        for item in reversed(items):
            t = self.mk_seq(item, t)
        return t

    def alternatives(self, items):
        """Return any of the terms."""
        cdef vector[int32_t] kids
        for item in items:
            kids.push_back(item)
        return self.mk_alt(kids, 0)

    def repeat(self, int32_t item, int32_t low, high):
        """Return the term ``low`` to ``high`` times; None for no upper bound."""
        return self.mk_rep(item, low, -1 if high is None else high)

    def intersection(self, items):
        """Return what all terms hold; the terms are regular."""
        cdef vector[int32_t] kids
        for item in items:
            if self.terms[<int32_t>item].flags & F_IMPURE:
                raise ValueError("`&` needs regular terms")
            kids.push_back(item)
        return self.mk_and(kids)

    def complement(self, int32_t item):
        """Return every byte string that the regular term does not hold."""
        if self.terms[item].flags & F_IMPURE:
            raise ValueError("`!` needs a regular term")
        return self.mk_not(item)

    def token(self, int32_t token_class):
        """Return one special token of the class."""
        return self.intern(K_TOKEN, token_class, 0, 0, NEVER, F_TOKEN | F_LOCAL | F_IMPURE)

    cpdef int32_t add_call(self, int32_t rule, int32_t action) except -1:
        """Enter a call into the call table; ``rule`` < 0 is resolver -1 - rule, or a test of a key."""
        self.call_rule.push_back(rule)
        self.call_action.push_back(action)
        return <int32_t>self.call_rule.size() - 1

    cpdef int32_t call(self, int32_t call, bint nonempty=False, bint keys=False) except -1:
        """Return the term that calls; ``nonempty`` leaves out the empty string; ``keys``: it tests keys."""
        cdef int32_t rule = self.call_rule[call]
        cdef int32_t nu = NEVER
        if rule >= 0 and not nonempty:
            nu = self.rule_nu[rule]
        return self.intern(
            K_CALL, call, 0, 1 if nonempty else 0, nu, F_CALL | F_IMPURE | (F_KEYS if keys else 0)
        )

    cpdef int32_t add_rule(self, object nu) except -1:
        """Declare a rule; ``nu`` is the mask of bytes before which it may be empty, or None."""
        self.rule_body.push_back(EMPTY)
        self.rule_nu.push_back(NEVER if nu is None else self.guard_id(nu))
        self.rule_height.push_back(0)
        return <int32_t>self.rule_body.size() - 1

    cpdef int set_rule(self, int32_t rule, int32_t body, int32_t height) except -1:
        """Give a declared rule its body and its height, more than that of the rules it can call first."""
        self.rule_body[rule] = body
        self.rule_height[rule] = height
        return 0

    def add_token_class(self):
        """Make room for one more class of special tokens and return its number."""
        if self.token_classes >= MAX_TOKEN_CLASSES:
            raise BudgetError("max_token_classes", MAX_TOKEN_CLASSES, "sets of special tokens", fixed=True)
        self.token_classes += 1
        return self.token_classes - 1

    def first_bytes(self, int32_t t):
        """Return the mask of bytes that the state can consume without calling."""
        mask = 0
        for byte in range(256):
            if self.step(t, byte) != EMPTY:
                mask |= 1 << byte
        return mask

    def matches(self, int32_t t, bytes data):
        """Tell whether a regular term holds exactly these bytes."""
        cdef unsigned char byte
        for byte in data:
            t = self.step(t, byte)
        return self.terms[t].nu >= 0

    def alive(self, int32_t t):
        """Tell whether the term has a string."""
        return self.is_live(t)

    def size(self):
        """Return the number of terms."""
        return self.terms.size()

    def nbytes_held(self):
        """Return about how many bytes the terms take."""
        return self.nbytes()

    def counts(self):
        """Return sizes: terms, transition rows, byte classes, guards, rules."""
        return {
            "terms": self.terms.size(),
            "byte_maps": self.maps.size(),
            "guards": self.guard_sets.size(),
            "term_bytes": self.nbytes(),
            "rules": self.rule_body.size(),
        }

    def dump(self, int32_t t):
        """Return the term as text, for goldens and debugging."""
        cdef Term u = self.terms[t]
        kids = [self.dump(self.kids[u.a + k]) for k in range(u.b)] if u.kind in (K_ALT, K_AND) else []
        if u.kind == K_EMPTY:
            return "∅"
        if u.kind == K_EPS:
            return "ε"
        if u.kind == K_GUARD:
            return f"≫{self.dump_set(self.guard_sets[u.a])}"
        if u.kind == K_SET:
            return self.dump_set(u.a)
        if u.kind == K_LIT:
            return repr(bytes([self.pool[u.a + i] for i in range(u.b)]))[1:]
        if u.kind == K_SEQ:
            return f"{self.dump(u.a)} {self.dump(u.b)}"
        if u.kind == K_ALT:
            return "(" + " | ".join(kids) + ")"
        if u.kind == K_AND:
            return "(" + " & ".join(kids) + ")"
        if u.kind == K_NOT:
            return f"¬({self.dump(u.a)})"
        if u.kind == K_REP:
            return f"({self.dump(u.a)}){{{u.b},{'' if u.c < 0 else u.c}}}"
        if u.kind == K_TOKEN:
            return f"token{u.a}"
        return f"call{u.a}{'⁺' if u.c else ''}"

    def dump_set(self, int32_t set_id):
        """Return a byte set as text."""
        members = [b for b in range(256) if (self.sets[4 * set_id + (b >> 6)] >> (b & 63)) & 1]
        runs = []
        start = previous = None
        for b in [*members, None]:
            if start is not None and b != previous + 1:
                runs.append((start, previous))
                start = None
            if start is None:
                start = b
            previous = b
        return "[" + " ".join(f"{a:02x}" if a == b else f"{a:02x}-{b:02x}" for a, b in runs) + "]"
