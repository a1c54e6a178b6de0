# distutils: language = c++
"""Hash-consed terms and their derivatives: the local states of the automaton.

A term is a small integer; equal terms are one integer. The store grows and never changes what it holds.

    t ::= ∅ | ε | [bytes] | "literal" | t t | t "|" t | t{m,n} | t & t | ¬t | call | token | ≫[bytes]

``nu`` is the guard under which a term may end at the current position: a set of next bytes (the end of
input and special tokens satisfy every guard), or NEVER. ``derive(t, s)`` is the term after symbol s, where
a symbol is a byte class or a class of special tokens (Brzozowski 1964; Owens, Reppy and Turon 2009 for
hash-consing and byte classes). Smart constructors keep terms canonical, so that the set of states
stays finite and small.
"""

cimport cython
from libcpp.algorithm cimport sort

from stackmask.pda.tables cimport (
    NO_VALUE,
    ids_free,
    ids_init,
    ids_put,
    map_clear,
    map_free,
    map_get,
    map_init,
    map_put,
    mix,
)

from stackmask.pda.errors import BudgetError

cdef enum:
    MAX_GUARDS = 64        # guards are bits of a 64-bit word
    MAX_FACTORING = 200    # nesting of left-factored alternatives; deeper ones stay unfactored
    UNKNOWN = -1

cdef int32_t FACTS = F_BOOL | F_IMPURE


@cython.final
cdef class TermStore:
    """The terms, rules and calls of one automaton.

    Invariant: append-only; ids stay valid for the life of the store. After :meth:`freeze` byte classes
    are fixed, and only sets made of whole classes may be added.
    """

    def __cinit__(self, uint64_t max_terms=20_000_000, uint64_t max_explored=200_000):
        ids_init(&self.term_index)
        ids_init(&self.set_index)
        map_init(&self.derivatives)
        map_init(&self.ends_index)
        map_init(&self.rule_ends_index)
        self.max_terms = max_terms
        self.max_explored = max_explored
        self.literals = {}
        self.frozen = False
        self.ends_depth = 0
        cdef uint64_t every[4]
        every[0] = every[1] = every[2] = every[3] = <uint64_t>0xFFFFFFFFFFFFFFFF
        self.guard_sets.push_back(self.intern_set(every))
        self.intern(K_EMPTY, 0, 0, 0, NEVER, 0)
        self.intern(K_EPS, 0, 0, 0, ANY_BYTE, 0)

    def __dealloc__(self):
        ids_free(&self.term_index)
        ids_free(&self.set_index)
        map_free(&self.derivatives)
        map_free(&self.ends_index)
        map_free(&self.rule_ends_index)

    # -- interning ---------------------------------------------------------------------------------

    cdef int32_t intern(
        self, int32_t kind, int32_t a, int32_t b, int32_t c, int32_t nu, int32_t flags
    ) except -1:
        cdef uint64_t h = mix(mix(mix(mix(17, kind), <uint32_t>a), <uint32_t>b), <uint32_t>c)
        cdef uint32_t tag = <uint32_t>(h >> 16)
        cdef uint64_t pos = tag & self.term_index.mask
        cdef int32_t id
        cdef Term* t
        while self.term_index.ids[pos] >= 0:
            if self.term_index.tags[pos] == tag:
                id = self.term_index.ids[pos]
                t = &self.terms[id]
                if t.kind == kind and t.a == a and t.b == b and t.c == c:
                    return id
            pos = (pos + 1) & self.term_index.mask
        return self.add(kind, a, b, c, nu, flags, pos, tag)

    cdef int32_t add(
        self,
        int32_t kind,
        int32_t a,
        int32_t b,
        int32_t c,
        int32_t nu,
        int32_t flags,
        uint64_t pos,
        uint32_t tag,
    ) except -1:
        cdef Term t
        cdef int32_t id = <int32_t>self.terms.size()
        if self.terms.size() >= self.max_terms:
            raise BudgetError("max_terms", self.max_terms, "local states of the grammar")
        t.kind = kind
        t.a = a
        t.b = b
        t.c = c
        t.nu = nu
        t.flags = flags
        self.terms.push_back(t)
        self.row_of.push_back(UNKNOWN)
        self.site_of.push_back(UNKNOWN)
        self.site_count.push_back(0)
        self.live.push_back(0)
        ids_put(&self.term_index, pos, tag, id)
        return id

    cdef int32_t intern_list(self, int32_t kind, vector[int32_t]& items, int32_t nu, int32_t flags) except -1:
        cdef uint64_t h = mix(23, kind)
        cdef size_t i, n = items.size()
        cdef int32_t id
        cdef Term* t
        for i in range(n):
            h = mix(h, <uint32_t>items[i])
        cdef uint32_t tag = <uint32_t>(h >> 16)
        cdef uint64_t pos = tag & self.term_index.mask
        while self.term_index.ids[pos] >= 0:
            if self.term_index.tags[pos] == tag:
                id = self.term_index.ids[pos]
                t = &self.terms[id]
                if t.kind == kind and t.b == <int32_t>n:
                    i = 0
                    while i < n and self.kids[t.a + i] == items[i]:
                        i += 1
                    if i == n:
                        return id
            pos = (pos + 1) & self.term_index.mask
        cdef int32_t first = <int32_t>self.kids.size()
        for i in range(n):
            self.kids.push_back(items[i])
        return self.add(kind, first, <int32_t>n, 0, nu, flags, pos, tag)

    cdef int32_t intern_set(self, uint64_t* words) except -1:
        cdef uint64_t h = mix(mix(mix(mix(29, words[0]), words[1]), words[2]), words[3])
        cdef uint32_t tag = <uint32_t>(h >> 16)
        cdef uint64_t pos = tag & self.set_index.mask
        cdef int32_t id
        while self.set_index.ids[pos] >= 0:
            if self.set_index.tags[pos] == tag:
                id = self.set_index.ids[pos]
                if (
                    self.sets[4 * id] == words[0]
                    and self.sets[4 * id + 1] == words[1]
                    and self.sets[4 * id + 2] == words[2]
                    and self.sets[4 * id + 3] == words[3]
                ):
                    return id
            pos = (pos + 1) & self.set_index.mask
        id = <int32_t>(self.sets.size() // 4)
        for i in range(4):
            self.sets.push_back(words[i])
        ids_put(&self.set_index, pos, tag, id)
        return id

    # -- guards ------------------------------------------------------------------------------------

    cdef int32_t guard_of_set(self, int32_t set_id) except -1:
        cdef size_t i
        for i in range(self.guard_sets.size()):
            if self.guard_sets[i] == set_id:
                return <int32_t>i
        if self.guard_sets.size() >= MAX_GUARDS:
            what = "distinct sets of allowed next bytes (follow restrictions)"
            raise BudgetError("max_guards", MAX_GUARDS, what)
        self.guard_sets.push_back(set_id)
        return <int32_t>(self.guard_sets.size() - 1)

    cdef int32_t guard_and(self, int32_t g, int32_t h) except -1:
        cdef uint64_t words[4]
        cdef int i
        if g == ANY_BYTE or g == h:
            return h
        if h == ANY_BYTE:
            return g
        for i in range(4):
            words[i] = self.sets[4 * self.guard_sets[g] + i] & self.sets[4 * self.guard_sets[h] + i]
        return self.guard_of_set(self.intern_set(words))

    cdef int32_t guard_or(self, int32_t g, int32_t h) except -1:
        cdef uint64_t words[4]
        cdef int i
        if g == ANY_BYTE or h == ANY_BYTE:
            return ANY_BYTE
        if g == h:
            return g
        for i in range(4):
            words[i] = self.sets[4 * self.guard_sets[g] + i] | self.sets[4 * self.guard_sets[h] + i]
        return self.guard_of_set(self.intern_set(words))

    # -- constructors ------------------------------------------------------------------------------

    cdef int32_t mk_guard(self, int32_t g) except -1:
        if g == ANY_BYTE:
            return EPS
        return self.intern(K_GUARD, g, 0, 0, g, F_IMPURE)

    cdef int32_t mk_set(self, int32_t set_id) except -1:
        cdef uint64_t* w = &self.sets[4 * set_id]
        if not (w[0] | w[1] | w[2] | w[3]):
            return EMPTY
        return self.intern(K_SET, set_id, 0, 0, NEVER, F_LOCAL)

    cdef int32_t mk_literal(self, int32_t offset, int32_t length) except -1:
        cdef uint64_t words[4]
        cdef int byte
        if length == 0:
            return EPS
        if length == 1:
            byte = self.pool[offset]
            words[0] = words[1] = words[2] = words[3] = 0
            words[byte >> 6] = <uint64_t>1 << (byte & 63)
            return self.mk_set(self.intern_set(words))
        return self.intern(K_LIT, offset, length, 0, NEVER, F_LOCAL)

    cdef int32_t guard_first(self, int32_t g, int32_t t) except -3:
        # guard g before t, where t is no sequence: resolve it against the first byte where t has one
        cdef Term u = self.terms[t]
        cdef uint64_t words[4]
        cdef int i, byte
        if g == ANY_BYTE or t == EMPTY:
            return t
        if u.kind == K_EPS:
            return self.mk_guard(g)
        if u.kind == K_GUARD:
            return self.mk_guard(self.guard_and(g, u.a))
        if u.kind == K_SET:
            for i in range(4):
                words[i] = self.sets[4 * self.guard_sets[g] + i] & self.sets[4 * u.a + i]
            return self.mk_set(self.intern_set(words))
        if u.kind == K_LIT:
            byte = self.pool[u.a]
            if (self.sets[4 * self.guard_sets[g] + (byte >> 6)] >> (byte & 63)) & 1:
                return t
            return EMPTY
        if u.kind == K_TOKEN:
            return t
        return -2

    cdef int32_t mk_seq(self, int32_t a, int32_t b) except -1:
        cdef vector[int32_t] spine
        cdef Term t
        cdef Term u
        cdef int32_t first
        if a == EMPTY or b == EMPTY:
            return EMPTY
        if a == EPS:
            return b
        if b == EPS:
            return a
        while self.terms[a].kind == K_SEQ:
            spine.push_back(self.terms[a].a)
            a = self.terms[a].b
        spine.push_back(a)
        while not spine.empty():
            a = spine.back()
            spine.pop_back()
            t = self.terms[a]
            u = self.terms[b]
            if t.kind == K_GUARD:
                first = self.guard_first(t.a, u.a if u.kind == K_SEQ else b)
                if first == EMPTY:
                    return EMPTY
                if first > 0:
                    if u.kind != K_SEQ:
                        b = first
                        continue
                    if self.terms[first].kind != K_GUARD:
                        b = self.intern_seq(first, u.b)
                        continue
                    a = first
                    b = u.b
            b = self.intern_seq(a, b)
        return b

    cdef int32_t intern_seq(self, int32_t a, int32_t b) except -1:
        cdef Term t = self.terms[a]
        cdef Term u = self.terms[b]
        cdef int32_t nu = NEVER
        cdef int32_t flags = (t.flags | u.flags) & FACTS
        if b == EPS:
            return a
        flags |= t.flags & (F_LOCAL | F_CALL | F_TOKEN)
        if t.nu >= 0:
            flags |= u.flags & (F_LOCAL | F_CALL | F_TOKEN)
            if u.nu >= 0:
                nu = self.guard_and(t.nu, u.nu)
        return self.intern(K_SEQ, a, b, 0, nu, flags)

    cdef int32_t mk_alt2(self, int32_t a, int32_t b) except -1:
        cdef vector[int32_t] items
        if a == EMPTY or a == b:
            return b
        if b == EMPTY:
            return a
        items.push_back(a)
        items.push_back(b)
        return self.mk_alt(items, 0)

    cdef int32_t mk_alt(self, vector[int32_t]& given, int depth) except -1:
        cdef vector[int32_t] items
        cdef uint64_t words[4]
        cdef size_t i, j, n
        cdef int32_t k, sets = 0, nu = NEVER, flags = 0
        cdef Term t
        words[0] = words[1] = words[2] = words[3] = 0
        for i in range(given.size()):
            t = self.terms[given[i]]
            if t.kind == K_EMPTY:
                continue
            if t.kind == K_ALT:
                for k in range(t.b):
                    items.push_back(self.kids[t.a + k])
            else:
                items.push_back(given[i])
        # one byte set for all single bytes
        n = 0
        for i in range(items.size()):
            t = self.terms[items[i]]
            if t.kind == K_SET:
                for j in range(4):
                    words[j] |= self.sets[4 * t.a + j]
                sets += 1
            else:
                items[n] = items[i]
                n += 1
        items.resize(n)
        if sets:
            items.push_back(self.mk_set(self.intern_set(words)))
        if items.size() > 1:
            sort(items.begin(), items.end())
            n = 1
            for i in range(1, items.size()):
                if items[i] != items[n - 1]:
                    items[n] = items[i]
                    n += 1
            items.resize(n)
        if items.size() > 1 and depth < MAX_FACTORING:
            self.factor(items, depth)
        if items.size() > 1:
            self.merge_repeats(items, depth)
        for i in range(items.size()):
            t = self.terms[items[i]]
            flags |= t.flags
            if t.kind != K_EPS and t.nu >= 0:
                nu = t.nu if nu < 0 else self.guard_or(nu, t.nu)
        if items.size() > 1 and items[0] == EPS:
            if nu == ANY_BYTE:
                items.erase(items.begin())
            nu = ANY_BYTE
        if items.empty():
            return EMPTY
        if items.size() == 1:
            return items[0]
        return self.intern_list(K_ALT, items, nu, flags)

    cdef int factor(self, vector[int32_t]& items, int depth) except -1:
        """Join the alternatives that begin with the same term: a b | a c becomes a (b | c)."""
        cdef vector[uint64_t] keyed
        cdef vector[int32_t] tails
        cdef vector[int32_t] out
        cdef size_t i, j
        cdef int32_t head, rest
        cdef bint shared = False
        cdef Term t
        for i in range(items.size()):
            t = self.terms[items[i]]
            head = t.a if t.kind == K_SEQ else items[i]
            keyed.push_back((<uint64_t>head << 32) | <uint64_t>i)
        sort(keyed.begin(), keyed.end())
        for i in range(1, keyed.size()):
            if (keyed[i] >> 32) == (keyed[i - 1] >> 32):
                shared = True
        if not shared:
            return 0
        i = 0
        while i < keyed.size():
            head = <int32_t>(keyed[i] >> 32)
            tails.clear()
            j = i
            while j < keyed.size() and <int32_t>(keyed[j] >> 32) == head:
                t = self.terms[items[keyed[j] & 0xFFFFFFFF]]
                tails.push_back(t.b if t.kind == K_SEQ else EPS)
                j += 1
            if j == i + 1:
                out.push_back(items[keyed[i] & 0xFFFFFFFF])
            else:
                rest = self.mk_alt(tails, depth + 1)
                rest = self.mk_seq(head, rest)
                if self.terms[rest].kind == K_ALT:
                    for k in range(self.terms[rest].b):
                        out.push_back(self.kids[self.terms[rest].a + k])
                else:
                    out.push_back(rest)
            i = j
        sort(out.begin(), out.end())
        items.swap(out)
        return 0

    cdef int merge_repeats(self, vector[int32_t]& items, int depth) except -1:
        """Join repetitions of one item before one tail: x{1,3} y | x{2,5} y becomes x{1,5} y.

        Without this the derivatives of counted repetitions of ambiguous items grow with every step.
        """
        cdef size_t i, j, n
        cdef Term t
        cdef Term r
        cdef Term s
        cdef int32_t low, high, rest, other, term
        cdef bint joined = True
        cdef int found = 0
        for i in range(items.size()):
            t = self.terms[items[i]]
            if t.kind == K_REP or (t.kind == K_SEQ and self.terms[t.a].kind == K_REP):
                found += 1
        if found < 2:
            return 0
        while joined:
            joined = False
            for i in range(items.size()):
                t = self.terms[items[i]]
                rest = t.b if t.kind == K_SEQ else EPS
                r = self.terms[t.a] if t.kind == K_SEQ else t
                if r.kind != K_REP:
                    continue
                for j in range(i + 1, items.size()):
                    t = self.terms[items[j]]
                    other = t.b if t.kind == K_SEQ else EPS
                    s = self.terms[t.a] if t.kind == K_SEQ else t
                    if s.kind != K_REP or s.a != r.a or other != rest:
                        continue
                    # the ranges must overlap or touch, or counts in the gap would be let in
                    if (r.c >= 0 and s.b > r.c + 1) or (s.c >= 0 and r.b > s.c + 1):
                        continue
                    low = r.b if r.b < s.b else s.b
                    high = -1 if r.c < 0 or s.c < 0 else (r.c if r.c > s.c else s.c)
                    term = self.mk_seq(self.mk_rep(r.a, low, high), rest)
                    items[i] = term
                    items.erase(items.begin() + j)
                    joined = True
                    break
                if joined:
                    break
        sort(items.begin(), items.end())
        n = 1
        for i in range(1, items.size()):
            if items[i] != items[n - 1]:
                items[n] = items[i]
                n += 1
        items.resize(n)
        return 0

    cdef int32_t mk_rep(self, int32_t item, int32_t low, int32_t high) except -1:
        cdef Term t = self.terms[item]
        cdef vector[int32_t] rest
        cdef int32_t k, flags
        if high == 0 or item == EPS:
            return EPS
        if item == EMPTY:
            return EPS if low == 0 else EMPTY
        if t.kind == K_ALT and self.kids[t.a] == EPS:
            # (x?){m,n} is x{0,n}
            for k in range(1, t.b):
                rest.push_back(self.kids[t.a + k])
            item = self.mk_alt(rest, 0)
            return self.mk_rep(item, 0, high)
        if t.kind == K_REP and t.b == 0 and t.c < 0:
            return item
        if t.kind == K_REP and t.b == 0 and t.c == 1:
            return self.mk_rep(t.a, 0, high)
        if t.nu == ANY_BYTE:
            low = 0
        if low == 1 and high == 1:
            return item
        flags = t.flags & (FACTS | F_LOCAL | F_CALL | F_TOKEN)
        return self.intern(K_REP, item, low, high, ANY_BYTE if low == 0 else t.nu, flags)

    cdef int32_t mk_and(self, vector[int32_t]& given) except -1:
        cdef vector[int32_t] items
        cdef uint64_t words[4]
        cdef size_t i, j, n
        cdef int32_t k, nu = ANY_BYTE, sets = 0
        cdef Term t
        cdef bint empty_string = False
        words[0] = words[1] = words[2] = words[3] = <uint64_t>0xFFFFFFFFFFFFFFFF
        for i in range(given.size()):
            t = self.terms[given[i]]
            if t.kind == K_EMPTY:
                return EMPTY
            if t.kind == K_EPS:
                empty_string = True
            elif t.kind == K_AND:
                for k in range(t.b):
                    items.push_back(self.kids[t.a + k])
            elif t.kind == K_NOT and t.a == EMPTY:
                pass
            elif t.kind == K_SET:
                for j in range(4):
                    words[j] &= self.sets[4 * t.a + j]
                sets += 1
            else:
                items.push_back(given[i])
        if sets:
            k = self.mk_set(self.intern_set(words))
            if k == EMPTY:
                return EMPTY
            items.push_back(k)
        for i in range(items.size()):
            if self.terms[items[i]].nu < 0:
                nu = NEVER
        if empty_string:
            return EPS if nu == ANY_BYTE else EMPTY
        if items.empty():
            return self.mk_not(EMPTY)
        sort(items.begin(), items.end())
        n = 1
        for i in range(1, items.size()):
            if items[i] != items[n - 1]:
                items[n] = items[i]
                n += 1
        items.resize(n)
        if n == 1:
            return items[0]
        return self.intern_list(K_AND, items, nu, F_BOOL | F_LOCAL)

    cdef int32_t mk_not(self, int32_t item) except -1:
        cdef Term t = self.terms[item]
        if t.kind == K_NOT:
            return t.a
        return self.intern(K_NOT, item, 0, 0, ANY_BYTE if t.nu < 0 else NEVER, F_BOOL | F_LOCAL)

    # -- derivatives -------------------------------------------------------------------------------

    cdef int32_t derive(self, int32_t t, int32_t symbol) except -1:
        """Return the derivative; remembered for the kinds that cost more than a look."""
        cdef int32_t kind = self.terms[t].kind
        cdef uint64_t key
        cdef int32_t d
        if kind <= K_LIT or kind == K_CALL or kind == K_TOKEN:
            return self.derive_part(t, symbol)
        key = <uint64_t>t * <uint64_t>self.symbols + <uint64_t>symbol
        d = map_get(&self.derivatives, key)
        if d == NO_VALUE:
            d = self.derive_raw(t, symbol)
            map_put(&self.derivatives, key, d)
        return d

    cdef int32_t derive_raw(self, int32_t t, int32_t symbol) except -1:
        cdef vector[int32_t] parts
        cdef Term u = self.terms[t]
        cdef int32_t d
        if u.kind != K_SEQ:
            return self.derive_part(t, symbol)
        # along the spine, as far as what stands before can end here
        while True:
            d = self.derive(u.a, symbol)
            if d != EMPTY:
                d = self.mk_seq(d, u.b)
                if d != EMPTY:
                    parts.push_back(d)
            d = self.terms[u.a].nu
            if d < 0 or not self.guard_has(d, symbol):
                break
            t = u.b
            u = self.terms[t]
            if u.kind != K_SEQ:
                d = self.derive(t, symbol)
                if d != EMPTY:
                    parts.push_back(d)
                break
        if parts.empty():
            return EMPTY
        if parts.size() == 1:
            return parts[0]
        return self.mk_alt(parts, 0)

    cdef int32_t derive_part(self, int32_t t, int32_t symbol) except -1:
        cdef vector[int32_t] parts
        cdef Term u = self.terms[t]
        cdef int32_t d, k, low, high
        if u.kind == K_SET:
            return EPS if self.set_has(u.a, symbol) else EMPTY
        if u.kind == K_LIT:
            if symbol < self.classes and self.class_of[self.pool[u.a]] == symbol:
                return self.mk_literal(u.a + 1, u.b - 1)
            return EMPTY
        if u.kind == K_TOKEN:
            return EPS if symbol == self.classes + u.a else EMPTY
        if u.kind == K_ALT:
            for k in range(u.b):
                d = self.derive(self.kids[u.a + k], symbol)
                if d != EMPTY:
                    parts.push_back(d)
            if parts.empty():
                return EMPTY
            if parts.size() == 1:
                return parts[0]
            return self.mk_alt(parts, 0)
        if u.kind == K_REP:
            d = self.derive(u.a, symbol)
            if d == EMPTY:
                return EMPTY
            high = u.c if u.c < 0 else u.c - 1
            low = u.b - 1 if u.b > 0 else 0
            # iterations before this one may have been empty: then they count as done
            k = self.terms[u.a].nu
            if k >= 0 and self.guard_has(k, symbol):
                low = 0
            return self.mk_seq(d, self.mk_rep(u.a, low, high))
        if u.kind == K_AND:
            for k in range(u.b):
                d = self.derive(self.kids[u.a + k], symbol)
                if d == EMPTY:
                    return EMPTY
                parts.push_back(d)
            return self.mk_and(parts)
        if u.kind == K_NOT:
            return self.mk_not(self.derive(u.a, symbol))
        return EMPTY

    cdef int32_t step(self, int32_t t, int32_t symbol) except -1:
        """Return the live derivative of a state (EMPTY if there is none). Cost: a load once known."""
        cdef int32_t row = self.row_of[t]
        cdef int32_t d
        if self.terms[t].kind == K_LIT or self.terms[t].kind == K_SET:
            return self.derive_part(t, symbol)
        if row < 0:
            row = <int32_t>self.rows.size() // self.symbols
            self.row_of[t] = row
            self.rows.resize(self.rows.size() + self.symbols, UNKNOWN)
        d = self.rows[<size_t>row * self.symbols + symbol]
        if d < 0:
            d = self.derive_raw(t, symbol)
            if self.terms[d].flags & F_BOOL:
                d = self.prune(d)
            self.rows[<size_t>row * self.symbols + symbol] = d
        return d

    # -- emptiness ---------------------------------------------------------------------------------

    cdef bint is_live(self, int32_t t) except -1:
        """Tell whether the term has a string. Calls are taken as productive (normalisation saw to it)."""
        cdef Term u = self.terms[t]
        cdef bint answer = True
        cdef int32_t k, s
        if t == EMPTY:
            return False
        if not u.flags & F_BOOL:
            return True
        if self.live[t]:
            return self.live[t] == 1
        if u.kind == K_SEQ:
            s = t
            while answer and self.terms[s].kind == K_SEQ:
                answer = self.is_live(self.terms[s].a)
                s = self.terms[s].b
            answer = answer and self.is_live(s)
        elif u.kind == K_ALT:
            answer = False
            for k in range(u.b):
                if self.is_live(self.kids[u.a + k]):
                    answer = True
                    break
        elif u.kind == K_REP:
            answer = u.b == 0 or self.is_live(u.a)
        else:
            answer = self.explore(t)
        k = 1 if answer else 2
        self.live[t] = <uint8_t>k
        return answer

    cdef bint explore(self, int32_t t) except -1:
        """Search the derivatives of a regular term, breadth first, for one that may end."""
        cdef vector[int32_t] queue
        cdef vector[int32_t] parent
        cdef KeyMap seen
        cdef size_t head = 0
        cdef int32_t u, d, found = -1
        cdef int symbol
        map_init(&seen)
        try:
            queue.push_back(t)
            parent.push_back(-1)
            map_put(&seen, t, 1)
            while head < queue.size() and found < 0:
                u = queue[head]
                if self.terms[u].nu >= 0 or self.live[u] == 1:
                    found = <int32_t>head
                    break
                for symbol in range(self.classes):
                    d = self.derive(u, symbol)
                    if d == EMPTY or self.live[d] == 2 or map_get(&seen, d) != NO_VALUE:
                        continue
                    map_put(&seen, d, 1)
                    queue.push_back(d)
                    parent.push_back(<int32_t>head)
                    if self.terms[d].nu >= 0:
                        found = <int32_t>(queue.size() - 1)
                        break
                head += 1
                if queue.size() > self.max_explored:
                    what = "states visited to decide whether `&` or `!` leaves anything"
                    raise BudgetError("max_explored", self.max_explored, what)
        finally:
            map_free(&seen)
        if found < 0:
            for head in range(queue.size()):
                self.live[queue[head]] = 2
            return False
        while found >= 0:
            self.live[queue[found]] = 1
            found = parent[found]
        return True

    cdef int32_t prune(self, int32_t t) except -1:
        cdef Term u = self.terms[t]
        cdef vector[int32_t] items
        cdef int32_t k
        if not self.is_live(t):
            return EMPTY
        if u.kind != K_ALT:
            return t
        for k in range(u.b):
            if self.is_live(self.kids[u.a + k]):
                items.push_back(self.kids[u.a + k])
        if <int32_t>items.size() == u.b:
            return t
        return self.mk_alt(items, 0)

    # -- calls in first position -------------------------------------------------------------------

    cdef int find_sites(self, int32_t t) except -1:
        """Find the calls that may start here; afterwards sites[site_of[t]:][:site_count[t]] holds them."""
        cdef vector[CallSite] found
        cdef size_t i, first
        if self.site_of[t] >= 0:
            return 0
        if self.terms[t].flags & F_CALL:
            self.collect_sites(t, ANY_BYTE, EPS, found)
        first = self.sites.size()
        for i in range(found.size()):
            self.sites.push_back(found[i])
        self.site_of[t] = <int32_t>first
        self.site_count[t] = <int32_t>found.size()
        return 0

    cdef int collect_sites(self, int32_t t, int32_t guard, int32_t rest, vector[CallSite]& out) except -1:
        cdef Term u
        cdef CallSite site
        cdef int32_t k, nu, high, tail
        while self.terms[t].kind == K_SEQ:
            u = self.terms[t]
            if self.terms[u.a].flags & F_CALL:
                self.collect_sites(u.a, guard, self.mk_seq(u.b, rest), out)
            nu = self.terms[u.a].nu
            if nu < 0:
                return 0
            guard = self.guard_and(guard, nu)
            t = u.b
        u = self.terms[t]
        if not u.flags & F_CALL:
            return 0
        if u.kind == K_CALL:
            if rest != EMPTY:
                site.call = u.a
                site.guard = guard
                site.rest = rest
                out.push_back(site)
        elif u.kind == K_ALT:
            for k in range(u.b):
                self.collect_sites(self.kids[u.a + k], guard, rest, out)
        elif u.kind == K_REP:
            high = u.c if u.c < 0 else u.c - 1
            tail = self.mk_rep(u.a, u.b - 1 if u.b > 0 else 0, high)
            self.collect_sites(u.a, guard, self.mk_seq(tail, rest), out)
            nu = self.terms[u.a].nu
            if nu > 0 and u.b > 1:
                # earlier iterations may be empty, under their guard
                tail = self.mk_rep(u.a, 0, high)
                self.collect_sites(u.a, self.guard_and(guard, nu), self.mk_seq(tail, rest), out)
        return 0

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
            for symbol in range(self.classes):
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
            if self.call_rule[u.a] < 0:
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
        """Least fixpoint over the rules, extended whenever a new (rule, guard) is asked for."""
        cdef uint64_t key = (<uint64_t>rule << 6) | <uint64_t>guard
        cdef int32_t at = map_get(&self.rule_ends_index, key)
        cdef Ends now
        cdef size_t i
        if at != NO_VALUE:
            out[0] = self.rule_ends_value[at]
            return 0
        now.consumed = 0
        now.silent = 0
        at = <int32_t>self.rule_ends_value.size()
        map_put(&self.rule_ends_index, key, at)
        self.rule_ends_value.push_back(now)
        self.rule_ends_keys.push_back(key)
        self.ends_changed = True
        out[0] = now
        if self.ends_depth:
            return 0
        self.ends_depth = 1
        try:
            while self.ends_changed:
                self.ends_changed = False
                i = 0
                while i < self.rule_ends_keys.size():
                    key = self.rule_ends_keys[i]
                    map_clear(&self.ends_index)
                    self.ends(self.rule_body[key >> 6], key & 63, &now)
                    if (
                        now.consumed != self.rule_ends_value[i].consumed
                        or now.silent != self.rule_ends_value[i].silent
                    ):
                        self.rule_ends_value[i] = now
                        self.ends_changed = True
                    i += 1
            map_clear(&self.ends_index)
            self.ends_value.clear()
        finally:
            self.ends_depth = 0
        out[0] = self.rule_ends_value[at]
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

    def literal(self, bytes data):
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

    def add_call(self, int32_t rule, int32_t action):
        """Enter a call into the call table; ``rule`` < 0 is resolver -1 - rule."""
        self.call_rule.push_back(rule)
        self.call_action.push_back(action)
        return <int32_t>self.call_rule.size() - 1

    def call(self, int32_t call, bint nonempty=False):
        """Return the term that calls; ``nonempty`` leaves out the empty string."""
        cdef int32_t rule = self.call_rule[call]
        cdef int32_t nu = NEVER
        if rule >= 0 and not nonempty:
            nu = self.rule_nu[rule]
        return self.intern(K_CALL, call, 0, 1 if nonempty else 0, nu, F_CALL | F_IMPURE)

    def add_rule(self, nu):
        """Declare a rule; ``nu`` is the mask of bytes before which it may be empty, or None."""
        self.rule_body.push_back(EMPTY)
        self.rule_nu.push_back(NEVER if nu is None else self.guard_id(nu))
        self.rule_rank.push_back(0)
        return <int32_t>self.rule_body.size() - 1

    def set_rule(self, int32_t rule, int32_t body, int32_t rank):
        """Give a declared rule its body and its place in the left-call order (callers come first)."""
        self.rule_body[rule] = body
        self.rule_rank[rule] = rank

    def freeze(self, int token_classes, bint every_byte):
        """Fix the byte classes: bytes that no set and no literal tells apart are one class.

        ``every_byte`` makes each byte a class of its own, as literals made at run time need.
        """
        cdef int byte, number, count = 1
        cdef size_t i
        cdef int32_t split[512]
        for byte in range(256):
            self.class_size[byte] = 0
        for byte in range(256):
            self.class_of[byte] = 0
        for i in range(self.sets.size() // 4):
            for byte in range(512):
                split[byte] = UNKNOWN
            count = 0
            for byte in range(256):
                number = 2 * self.class_of[byte] + ((self.sets[4 * i + (byte >> 6)] >> (byte & 63)) & 1)
                if split[number] < 0:
                    split[number] = count
                    count += 1
                self.class_of[byte] = split[number]
        spelled = [every_byte] * 256
        for byte in self.pool:
            spelled[byte] = True
        numbers = {}
        for byte in range(256):
            key = -1 - byte if spelled[byte] else self.class_of[byte]
            number = numbers.setdefault(key, len(numbers))
            self.class_of[byte] = number
            self.byte_of[number] = byte
            self.class_size[number] += 1
        self.classes = len(numbers)
        self.token_classes = token_classes
        self.symbols = self.classes + token_classes
        self.frozen = True

    cdef bint is_single(self, int32_t symbol) noexcept:
        """Tell whether the byte class has one byte."""
        return self.class_size[symbol] == 1

    def first_bytes(self, int32_t t):
        """Return the mask of bytes that the state can consume without calling."""
        mask = 0
        for byte in range(256):
            if self.step(t, self.class_of[byte]) != EMPTY:
                mask |= 1 << byte
        return mask

    def matches(self, int32_t t, bytes data):
        """Tell whether a regular term holds exactly these bytes."""
        cdef unsigned char byte
        for byte in data:
            t = self.step(t, self.class_of[byte])
        return self.terms[t].nu >= 0

    def alive(self, int32_t t):
        """Tell whether the term has a string."""
        return self.is_live(t)

    def counts(self):
        """Return sizes: terms, transition rows, byte classes, guards, rules."""
        return {
            "terms": self.terms.size(),
            "rows": self.rows.size() // max(1, self.symbols),
            "byte_classes": self.classes,
            "guards": self.guard_sets.size(),
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
