# distutils: language = c++
"""Derivatives of terms, which of them are empty, and which rules they call first.

``derive(t, s)`` is the term after symbol s, a byte or a class of special tokens (Brzozowski 1964; Owens,
Reppy and Turon 2009 for hash-consing and byte classes), remembered per class of bytes that it does not
tell apart.
``step`` is the same for states: EMPTY where nothing can be written any more.
"""

from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.terms.term_table cimport (
    ANY_BYTE,
    EMPTY,
    EPS,
    F_BOOL,
    F_CALL,
    F_IMPURE,
    K_ALT,
    K_AND,
    K_CALL,
    K_GUARD,
    K_LIT,
    K_NOT,
    K_REP,
    K_SEQ,
    K_SET,
    K_TOKEN,
    MAP_EACH,
    MAP_ONE,
    NEVER,
    TOKENS,
    SiteList,
    Term,
)
from stackmask.pda.memory.hash_tables cimport NO_VALUE, KeyMap, map_free, map_get, map_init, map_put
from stackmask.pda.terms.utf8_languages cimport is_wellformed

cdef enum:
    FEW_KIDS = 4        # alternatives that are looked through for a first byte,
    FEW_LEVELS = 2      # ... and alternatives in those
    MAX_SIMPLE = 600    # derivatives looked at to see that a term means no more than a repetition


cdef inline int32_t beside(vector[int32_t]& parts, int32_t first, int32_t t) except -1:
    """Add one more alternative, and return the first, which is in the list only where there are others.

    Mostly there is one, and no memory is asked for.
    """
    if t == EMPTY or first == EMPTY:
        return first if t == EMPTY else t
    if parts.empty():
        parts.push_back(first)
    parts.push_back(t)
    return first


cdef class TermMoves(TermAlgebra):
    """Where terms lead."""

    cdef int32_t classes_of(self, int32_t t) except -1:
        """Return the map of the bytes that one step of the term tells apart."""
        cdef Term u
        cdef int32_t found, k, nu, first = t
        cdef uint64_t words[4]
        if self.terms[t].map >= 0:
            return self.terms[t].map
        found = MAP_ONE
        while True:
            u = self.terms[t]
            if u.kind == K_SEQ:
                found = self.map_meet(found, self.classes_of(u.a))
                nu = self.terms[u.a].nu
                if nu < 0:
                    break
                if nu != ANY_BYTE:
                    found = self.map_meet(found, self.map_of_set(self.guard_sets[nu]))
                t = u.b
                continue
            if u.kind == K_SET:
                found = self.map_meet(found, self.map_of_set(u.a))
            elif u.kind == K_GUARD:
                found = self.map_meet(found, self.map_of_set(self.guard_sets[u.a]))
            elif u.kind == K_LIT:
                words[0] = words[1] = words[2] = words[3] = 0
                k = self.pool[u.a]
                words[k >> 6] = <uint64_t>1 << (k & 63)
                found = self.map_meet(found, self.map_of_set(self.intern_set(words)))
            elif u.kind == K_ALT:
                found = self.map_meet(found, self.classes_of_kids(u))
            elif u.kind == K_AND:
                for k in range(u.b):
                    found = self.map_meet(found, self.classes_of(self.kids[u.a + k]))
            elif u.kind == K_REP or u.kind == K_NOT:
                found = self.map_meet(found, self.classes_of(u.a))
                nu = self.terms[u.a].nu
                if u.kind == K_REP and nu > ANY_BYTE:
                    found = self.map_meet(found, self.map_of_set(self.guard_sets[nu]))
            break
        self.terms[first].map = found
        return found

    cdef int32_t classes_of_kids(self, Term u) except -1:
        # alternatives may be thousands of literals: their first bytes are split off at once
        cdef int32_t found = MAP_ONE, k, kid, count
        cdef Term v
        cdef uint8_t classes[256]
        cdef bint singled[256]
        cdef bint any_single = False
        for k in range(256):
            singled[k] = False
        for k in range(u.b):
            kid = self.kids[u.a + k]
            v = self.terms[kid]
            if v.kind == K_SEQ:
                v = self.terms[v.a]
            if v.kind == K_LIT:
                singled[self.pool[v.a]] = True
                any_single = True
            else:
                found = self.map_meet(found, self.classes_of(kid))
        if any_single and found != MAP_EACH:
            count = self.maps[found].count
            for k in range(256):
                classes[k] = self.maps[found].of[k]
                if singled[k] and count < 256:
                    classes[k] = <uint8_t>count
                    count += 1
                elif singled[k]:
                    return MAP_EACH
            found = self.intern_map(classes)
        return found

    # -- derivatives -------------------------------------------------------------------------------

    cdef int32_t derive(self, int32_t t, int32_t symbol) except -1:
        """Return the derivative; remembered for the kinds that cost more than a look.

        Most terms are left by one byte only, and that byte needs no classes: the first one asked for stands
        in the term, and the table is for the others.
        """
        cdef Term u = self.terms[t]
        cdef const uint8_t* classes
        cdef uint64_t key
        cdef int32_t d
        if u.kind <= K_LIT or u.kind == K_CALL or u.kind == K_TOKEN:
            return self.derive_part(t, symbol)
        if u.symbol == symbol:
            return u.derivative
        if u.kind <= K_ALT and symbol < TOKENS and not self.may_begin(t, symbol, FEW_LEVELS):
            return EMPTY
        if u.kind == K_SEQ and K_SET <= self.terms[u.a].kind <= K_LIT:
            # every byte that it may begin with leads to the same
            if symbol >= TOKENS:
                return EMPTY
            if u.symbol < 0:
                u.derivative = self.behind_first(u)
                self.terms[t].symbol = symbol
                self.terms[t].derivative = u.derivative
            return u.derivative
        if u.symbol >= 0:
            d = symbol
            if symbol < TOKENS:
                classes = self.maps[u.map if u.map >= 0 else self.classes_of(t)].of
                d = classes[symbol]
                if u.symbol < TOKENS and classes[u.symbol] == d:
                    return u.derivative
            key = (<uint64_t>t << 16) | <uint64_t>d
            u.derivative = map_get(&self.derivatives, key)
            if u.derivative != NO_VALUE:
                return u.derivative
        d = self.derive_raw(t, symbol)
        # another one may have been found on the way
        if self.terms[t].symbol < 0:
            self.terms[t].symbol = symbol
            self.terms[t].derivative = d
        elif self.terms[t].symbol != symbol:
            map_put(&self.derivatives, (<uint64_t>t << 16) | <uint64_t>self.class_of(t, symbol), d)
        return d

    cdef int32_t class_of(self, int32_t t, int32_t symbol) except -1:
        """Return the class of a byte in the map of a term; a token class is one by itself."""
        cdef int32_t map
        if symbol >= TOKENS:
            return symbol
        map = self.terms[t].map
        return self.maps[map if map >= 0 else self.classes_of(t)].of[symbol]

    cdef int32_t behind_first(self, Term u) except -1:
        """Return what follows the first byte of a sequence that begins with a byte set or a literal."""
        cdef Term head = self.terms[u.a]
        if head.kind == K_SET:
            return u.b
        return self.mk_seq(self.mk_literal(head.a + 1, head.b - 1), u.b)

    cdef bint may_begin(self, int32_t t, int32_t byte, int levels) noexcept:
        """Tell whether a term may begin with a byte, as far as that is seen without looking anything up.

        Most names of an object do not, and a step of all of them asks each.
        """
        cdef Term u = self.terms[t]
        cdef int32_t k
        if u.kind == K_SEQ:
            u = self.terms[u.a]
        if u.kind == K_SET:
            return self.set_has(u.a, byte)
        if u.kind == K_LIT:
            return self.pool[u.a] == byte
        if u.kind != K_ALT or not levels or u.b > FEW_KIDS or u.nu != NEVER:
            return True
        for k in range(u.a, u.a + u.b):
            if self.may_begin(self.kids[k], byte, levels - 1):
                return True
        return False

    cdef int32_t derive_raw(self, int32_t t, int32_t symbol) except -1:
        """Find a derivative that is not remembered yet."""
        cdef vector[int32_t] parts
        cdef Term u = self.terms[t]
        cdef int32_t d, first = EMPTY
        if u.kind != K_SEQ:
            return self.derive_part(t, symbol)
        # along the spine, as far as what stands before can end here
        while True:
            d = self.derive(u.a, symbol)
            if d != EMPTY:
                first = beside(parts, first, self.mk_seq(d, u.b))
            d = self.terms[u.a].nu
            if d < 0 or not self.guard_has(d, symbol):
                break
            t = u.b
            u = self.terms[t]
            if u.kind != K_SEQ:
                first = beside(parts, first, self.derive(t, symbol))
                break
        return first if parts.empty() else self.mk_alt(parts, 0)

    cdef int32_t derive_part(self, int32_t t, int32_t symbol) except -1:
        """Find the derivative of a term that is no sequence."""
        cdef vector[int32_t] parts
        cdef Term u = self.terms[t]
        cdef int32_t d, k, low, high
        if u.kind == K_SET:
            return EPS if self.set_has(u.a, symbol) else EMPTY
        if u.kind == K_LIT:
            if self.pool[u.a] == symbol:
                return self.mk_literal(u.a + 1, u.b - 1)
            return EMPTY
        if u.kind == K_TOKEN:
            return EPS if symbol == TOKENS + u.a else EMPTY
        if u.kind == K_ALT:
            d = EMPTY
            for k in range(u.b):
                d = beside(parts, d, self.derive(self.kids[u.a + k], symbol))
            return d if parts.empty() else self.mk_alt(parts, 0)
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
            parts.reserve(u.b)
            for k in range(u.b):
                d = self.derive(self.kids[u.a + k], symbol)
                if d == EMPTY:
                    return EMPTY
                if self.terms[d].nu == ANY_BYTE and self.terms[d].kind >= K_SEQ:
                    d = self.simplified(d)
                parts.push_back(d)
            return self.mk_and(parts)
        if u.kind == K_NOT:
            return self.mk_not(self.derive(u.a, symbol))
        return EMPTY

    cdef int32_t step(self, int32_t t, int32_t symbol) except -1:
        """Return the live derivative of a state (EMPTY if there is none). Cost: a lookup once known."""
        cdef int32_t d = self.derive(t, symbol)
        cdef int32_t first, simple
        if self.terms[d].flags & F_BOOL:
            d = self.prune(d)
        # where a search has found what it wanted, all that is left to say is "any text"
        first = self.terms[d].a if self.terms[d].kind == K_SEQ else d
        if self.terms[first].kind >= K_SEQ and self.terms[first].nu == ANY_BYTE:
            simple = self.simplified(first)
            if simple != first:
                d = self.mk_seq(simple, self.terms[d].b) if self.terms[d].kind == K_SEQ else simple
        return d

    cdef int32_t simplified(self, int32_t t) except -1:
        """Return x* for a regular term that means x* and says it in more words; else the term. Remembered.

        Cost: a search of at most MAX_SIMPLE derivatives.
        """
        cdef vector[int32_t] items
        cdef int32_t found, x
        if self.terms[t].kind == K_REP or self.terms[t].flags & F_IMPURE:
            return t
        found = map_get(&self.simple, t)
        if found != NO_VALUE:
            return found
        if self.searching:
            # its derivatives would begin others, without end
            return t
        map_put(&self.simple, t, t)
        x = self.star_in(t)
        if x < 0:
            return t
        items.push_back(t)
        items.push_back(self.mk_not(x))
        self.searching = True
        try:
            if self.is_empty_soon(self.mk_and(items)):
                map_put(&self.simple, t, x)
                return x
        finally:
            self.searching = False
        return t

    cdef int32_t star_in(self, int32_t t) except -2:
        """Return the unbounded repetition that is one of the alternatives of a term, -1 if there is none."""
        cdef Term u = self.terms[t]
        cdef Term r
        cdef int32_t k, count = 1, s
        if u.kind == K_ALT:
            count = u.b
        for k in range(count):
            s = self.kids[u.a + k] if u.kind == K_ALT else t
            r = self.terms[s]
            if r.kind == K_SEQ and self.terms[r.b].nu == ANY_BYTE:
                s = r.a
                r = self.terms[s]
            if r.kind == K_REP and r.b == 0 and r.c < 0:
                return s
        return -1

    cdef bint is_empty_soon(self, int32_t t) except -1:
        """Tell whether a term is seen to be empty within MAX_SIMPLE derivatives."""
        cdef vector[int32_t] queue
        cdef KeyMap seen
        cdef size_t head = 0
        cdef int32_t u, d, k, map
        if t == EMPTY:
            return True
        map_init(&seen)
        try:
            queue.push_back(t)
            map_put(&seen, t, 1)
            while head < queue.size():
                u = queue[head]
                if self.terms[u].nu >= 0 or self.live[u] == 1:
                    return False
                map = self.classes_of(u)
                for k in range(self.maps[map].count):
                    d = self.derive(u, self.maps[map].byte_of[k])
                    if d == EMPTY or self.live[d] == 2 or map_get(&seen, d) != NO_VALUE:
                        continue
                    if self.terms[d].nu >= 0:
                        return False
                    map_put(&seen, d, 1)
                    queue.push_back(d)
                head += 1
                if queue.size() > MAX_SIMPLE:
                    return False
        finally:
            map_free(&seen)
        return True

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
            while answer and self.is_open(s):
                answer = self.is_live(self.terms[s].a)
                s = self.terms[s].b
            answer = answer and self.is_live(s)
            # the states that follow this one mostly end like it
            s = self.terms[t].b
            while answer and self.is_open(s):
                self.live[s] = 1
                s = self.terms[s].b
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

    cdef bint is_open(self, int32_t t) noexcept:
        """Tell whether a term is a sequence of which is not known yet whether it has a string."""
        return self.terms[t].kind == K_SEQ and self.terms[t].flags & F_BOOL and not self.live[t]

    cdef bint explore(self, int32_t t) except -1:
        """Tell whether some derivative of a regular term may end (searched in ``searches``)."""
        return False

    cdef bint is_textual(self, int32_t t) except -1:
        """Tell whether a term is a repetition that holds well-formed texts only. Remembered."""
        cdef vector[int32_t] items
        cdef int32_t known
        if self.terms[t].kind != K_REP or self.terms[t].flags & (F_BOOL | F_IMPURE):
            return False
        known = map_get(&self.textual, t)
        if known == NO_VALUE:
            map_put(&self.textual, t, 0)
            if is_wellformed(self, t):
                map_put(&self.textual, t, 1)
                return True
            items.push_back(t)
            items.push_back(self.mk_not(self.any_text))
            known = not self.is_live(self.mk_and(items))
            map_put(&self.textual, t, known)
        return known == 1

    cdef int32_t both_repeats(self, int32_t a, int32_t b) except -2:
        """Return x{m,n} for x{…} & y{…} where every x is a y and texts are cut into y in one way; else -1.

        A pattern of one class beside a length is of this kind, and is then a counter again. x* & x{m,n} is
        x{m,n} for every x.
        """
        cdef Term s = self.terms[a]
        cdef Term t = self.terms[b]
        cdef int32_t low, high
        if s.kind != K_REP or t.kind != K_REP or (s.flags | t.flags) & (F_BOOL | F_IMPURE):
            return -1
        if s.a == t.a:
            if s.b == 0 and s.c < 0:
                return b
            if t.b == 0 and t.c < 0:
                return a
            if not self.is_code(s.a):
                return -1
        elif self.is_code(t.a) and self.is_part(s.a, t.a):
            pass
        elif self.is_code(s.a) and self.is_part(t.a, s.a):
            s.a = t.a
        else:
            return -1
        low = s.b if s.b > t.b else t.b
        high = s.c
        if high < 0 or 0 <= t.c < high:
            high = t.c
        if 0 <= high < low:
            return EMPTY
        return self.mk_rep(s.a, low, high)

    cdef bint is_part(self, int32_t a, int32_t b) except -1:
        """Tell whether a is seen to hold no text that b does not hold. Remembered."""
        cdef uint64_t key = (<uint64_t>a << 32) | <uint64_t>b
        cdef int32_t found = map_get(&self.parts_known, key)
        cdef vector[int32_t] items
        if found == NO_VALUE:
            items.push_back(a)
            items.push_back(self.mk_not(b))
            found = self.is_empty_soon(self.mk_and(items))
            map_put(&self.parts_known, key, found)
        return found == 1

    cdef bint is_code(self, int32_t item) except -1:
        """Tell whether a term is seen to be a prefix code: no text of it begins another one. Remembered."""
        cdef int32_t found = map_get(&self.codes_known, item), map, k, d
        cdef vector[int32_t] queue
        cdef KeyMap seen
        cdef size_t head = 0
        if found != NO_VALUE:
            return found == 1
        found = self.terms[item].nu < 0
        map_init(&seen)
        try:
            queue.push_back(item)
            while found and head < queue.size():
                map = self.classes_of(queue[head])
                for k in range(self.maps[map].count):
                    d = self.derive(queue[head], self.maps[map].byte_of[k])
                    if d == EMPTY or d == EPS or map_get(&seen, d) != NO_VALUE:
                        continue
                    map_put(&seen, d, 1)
                    queue.push_back(d)
                    if self.terms[d].nu >= 0 or queue.size() > MAX_SIMPLE:
                        found = 0
                head += 1
        finally:
            map_free(&seen)
        map_put(&self.codes_known, item, found)
        return found == 1

    cdef int32_t prune(self, int32_t t) except -1:
        """Leave out the alternatives that hold nothing."""
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
        """Find the calls that may start here; afterwards site_lists[terms[t].calls] tells them."""
        cdef vector[CallSite] found
        cdef SiteList entry
        cdef size_t i
        if self.terms[t].calls >= 0:
            return 0
        if self.terms[t].flags & F_CALL:
            self.collect_sites(t, ANY_BYTE, EPS, found)
        if found.empty():
            self.terms[t].calls = 0
            return 0
        entry.first = <int32_t>self.sites.size()
        entry.count = <int32_t>found.size()
        for i in range(found.size()):
            self.sites.push_back(found[i])
        self.terms[t].calls = <int32_t>self.site_lists.size()
        self.site_lists.push_back(entry)
        return 0

    cdef int collect_sites(self, int32_t t, int32_t guard, int32_t rest, vector[CallSite]& out) except -1:
        """Append the calls in first position of a term, with the guard before and what follows each."""
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
