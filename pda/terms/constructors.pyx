# distutils: language = c++
"""Smart constructors: they keep terms canonical, so that the set of states stays finite and small.

What obviously spells the same language becomes the same term: nested sequences and alternatives are flat and
sorted, single bytes are one set, common heads are factored out, counts of one item joined.
"""

from libc.stdint cimport uint64_t
from libcpp.algorithm cimport sort

from stackmask.pda.terms.term_table cimport (
    ANY_BYTE,
    EMPTY,
    EPS,
    F_BOOL,
    F_CALL,
    F_IMPURE,
    F_KEYS,
    F_LOCAL,
    F_TOKEN,
    K_ALT,
    K_AND,
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
    Term,
)

cdef enum:
    MAX_FACTORING = 200    # nesting of left-factored alternatives; deeper ones stay unfactored
    FEW_ITEMS = 32         # items of a sequence that are put before another one

cdef int32_t FACTS = F_BOOL | F_IMPURE | F_KEYS


cdef class TermAlgebra(TermTable):
    """Terms made of terms."""

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
        cdef int32_t few[FEW_ITEMS]
        cdef vector[int32_t] spine      # what is behind them
        cdef Term t
        cdef Term u
        cdef int32_t first, n = 0
        if a == EMPTY or b == EMPTY:
            return EMPTY
        if a == EPS:
            return b
        if b == EPS:
            return a
        if self.terms[a].kind != K_SEQ and self.terms[a].kind != K_GUARD:
            return self.intern_seq(a, b)
        # mostly there are few items: no memory is asked for
        while n < FEW_ITEMS and self.terms[a].kind == K_SEQ:
            few[n] = self.terms[a].a
            n += 1
            a = self.terms[a].b
        while self.terms[a].kind == K_SEQ:
            spine.push_back(self.terms[a].a)
            a = self.terms[a].b
        if n < FEW_ITEMS:
            few[n] = a
            n += 1
        else:
            spine.push_back(a)
        while n or not spine.empty():
            if spine.empty():
                n -= 1
                a = few[n]
            else:
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
        items.reserve(given.size() + 1)
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
        if items.size() == 2:  # mostly: nothing is made where the two begin differently
            t = self.terms[items[0]]
            head = t.a if t.kind == K_SEQ else items[0]
            t = self.terms[items[1]]
            if head != (t.a if t.kind == K_SEQ else items[1]):
                return 0
        keyed.reserve(items.size())
        out.reserve(items.size())
        tails.reserve(items.size())
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
                t = self.terms[items[<int32_t>keyed[j]]]
                tails.push_back(t.b if t.kind == K_SEQ else EPS)
                j += 1
            if j == i + 1:
                out.push_back(items[<int32_t>keyed[i]])
            else:
                rest = self.mk_alt(tails, depth + 1)
                rest = self.mk_seq(head, rest)
                t = self.terms[rest]
                if t.kind == K_ALT:
                    out.insert(out.end(), self.kids.begin() + t.a, self.kids.begin() + t.a + t.b)
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
        cdef int32_t k, nu = ANY_BYTE, sets = 0, repeats = 0
        cdef Term t
        cdef bint empty_string = False
        words[0] = words[1] = words[2] = words[3] = ~<uint64_t>0
        for i in range(given.size()):
            if given[i] == EMPTY:
                return EMPTY
        items.reserve(given.size() + 1)
        for i in range(given.size()):
            t = self.terms[given[i]]
            repeats += 2 if t.kind == K_AND else t.kind == K_REP
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
        if n > 1 and self.any_text >= 0:
            # complements bring this one along, where another item says it already
            for i in range(n):
                if items[i] == self.any_text:
                    for j in range(n):
                        if j != i and self.is_textual(items[j]):
                            items.erase(items.begin() + i)
                            n -= 1
                            break
                    break
        # two repetitions may be one; an item that is gone by now was none
        i = 0 if repeats > 1 else n
        while i + 1 < n:
            j = i + 1
            while j < n:
                k = self.both_repeats(items[i], items[j])
                if k == EMPTY:
                    return EMPTY
                if k > EMPTY:
                    items[i] = k
                    items.erase(items.begin() + j)
                    n -= 1
                    j = i
                j += 1
            i += 1
        if n > 1:
            sort(items.begin(), items.end())
        if n == 1:
            return items[0]
        return self.intern_list(K_AND, items, nu, F_BOOL | F_LOCAL)

    cdef bint is_textual(self, int32_t t) except -1:
        """Tell whether a term is known to hold well-formed texts only (decided in ``derivatives``)."""
        return False

    cdef int32_t mk_not(self, int32_t item) except -1:
        cdef Term t = self.terms[item]
        if t.kind == K_NOT:
            return t.a
        return self.intern(K_NOT, item, 0, 0, ANY_BYTE if t.nu < 0 else NEVER, F_BOOL | F_LOCAL)

    cdef int32_t both_repeats(self, int32_t a, int32_t b) except -2:
        """Return what two repetitions have in common if it is one term; else -1. See ``derivatives``."""
        return -1
