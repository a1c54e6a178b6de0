# distutils: language = c++
"""Smart constructors: they keep terms canonical, so that the number of states is finite and small.

What obviously spells the same language becomes the same term: nested sequences and alternatives are flat and
sorted, single bytes are one set, common prefixes are factored out, counts of one item joined.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libcpp.algorithm cimport lower_bound, sort
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from stackmask.pda.ids cimport (
    ALWAYS,
    FAILED,
    ID_FAILED,
    NEVER,
    UNBOUNDED,
    GuardId,
    Nullability,
    SetId,
    SymbolId,
    TermId,
)
from stackmask.pda.memory.hash_tables cimport NO_VALUE, KeyMap, map_free, map_get, map_init, map_put
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
    Repetition,
    Term,
    TermTable,
    intern_byte,
    intern_guard,
    intern_literal,
    intern_negation,
    intern_repetition,
    intern_sequence,
)
from stackmask.pda.text cimport NOT_UTF8, UTF8_BETWEEN, UTF8_STATES, utf8_step


# ------------------------------------------------------------------------------------------------
# Alternatives that another alternative includes, as far as the structure of both shows it.
# ------------------------------------------------------------------------------------------------


cdef enum:
    FEW_SUFFIXES = 64      # suffixes that are visited without remembering them


cdef inline TermId suffix_of(TermTable table, TermId t) noexcept nogil:
    """Return the rest of a sequence whose first item may be empty whatever follows; else EPS."""
    cdef Term* u = &table.terms[t]
    if u.kind == K_SEQ and table.terms[u.seq.first].nu.always():
        return u.seq.rest
    return EPS


cdef int drop_included(TermTable table, vector[TermId]& items) except FAILED nogil:
    """Remove alternatives that another one includes: of a? b? c and b? c, or of (a | b) c? and b, the second.

    A sequence of n optional items has the derivatives of its n suffixes. Without this they would be n
    alternatives, and again n after each step.
    Shapes: ``items`` is sorted, without duplicates. Cost: the suffixes of all items, each once, and
    their first alternatives.
    """
    cdef vector[uint8_t] dropped
    cdef size_t i, n = 0
    cdef Term u
    cdef TermId least = items[1] if items[0] == EPS else items[0]
    cdef bint suffixes = False, prefixes = False
    table.meter.spend(3 * items.size())
    for i in range(items.size()):
        u = table.terms[items[i]]
        if u.kind != K_SEQ:
            continue
        # a term is made after its operands, so that their ids are less
        suffixes = suffixes or (u.seq.rest >= least and table.terms[u.seq.first].nu.always())
        prefixes = prefixes or (
            u.seq.first > least
            and table.terms[u.seq.rest].nu.always()
            and K_ALT <= table.terms[u.seq.first].kind <= K_REP
        )
    if suffixes:
        mark_suffixes(table, items, least, dropped)
    if prefixes:
        mark_prefixes(table, items, dropped)
    if dropped.empty():
        return 0
    for i in range(items.size()):
        if not dropped[i]:
            items[n] = items[i]
            n += 1
    items.resize(n)
    return 0


cdef bint mark(vector[TermId]& items, TermId t, vector[uint8_t]& dropped) except FAILED nogil:
    """Mark a term as dropped if it is one of the items, and return whether it is."""
    cdef size_t at = lower_bound(items.begin(), items.end(), t) - items.begin()
    if at == items.size() or items[at] != t:
        return False
    if dropped.empty():
        dropped.resize(items.size(), 0)
    dropped[at] = True
    return True


cdef int mark_suffixes(
    TermTable table, vector[TermId]& items, TermId least, vector[uint8_t]& dropped
) except FAILED nogil:
    """Mark the items that are a suffix of another one, which may be empty before it."""
    cdef KeyMap seen
    cdef size_t i, visited = 0
    cdef TermId s
    cdef bint remembered = False
    try:
        for i in range(items.size()):
            s = suffix_of(table, items[i])
            # the suffixes of an item are visited from there
            while s >= least and s != EPS and not mark(items, s, dropped):
                visited += 1
                table.meter.spend(4)
                if visited > FEW_SUFFIXES:
                    if not remembered:
                        map_init(&seen)
                        remembered = True
                    if map_get(&seen, s) != NO_VALUE:
                        break
                    map_put(&seen, s, 1)
                s = suffix_of(table, s)
    finally:
        if remembered:
            map_free(&seen)
    return 0


cdef int mark_prefixes(TermTable table, vector[TermId]& items, vector[uint8_t]& dropped) except FAILED nogil:
    """Mark the items that another one begins with, alone or as an alternative, before what may be empty."""
    cdef size_t i
    cdef Term u
    cdef Term v
    cdef int32_t k
    for i in range(items.size()):
        u = table.terms[items[i]]
        if u.kind != K_SEQ or not table.terms[u.seq.rest].nu.always():
            continue
        v = table.terms[u.seq.first]
        if v.kind == K_ALT:
            table.meter.spend(2 + 4 * v.operands.count)
            for k in range(v.operands.first, v.operands.first + v.operands.count):
                if table.kids[k] != EPS:
                    mark(items, table.kids[k], dropped)
        elif v.kind == K_REP and v.rep.low <= 1 and v.rep.high >= 1:
            mark(items, v.rep.item, dropped)
    return 0


# ------------------------------------------------------------------------------------------------
# Which terms have only strings of well-formed UTF-8, as far as their structure shows it.
# ------------------------------------------------------------------------------------------------


cdef enum:
    MAX_NESTED = 100        # levels of a term that are visited
    NOT_SEEN = -1           # nothing is known, or the bytes are not well-formed


cdef int after_set(TermTable terms, SetId set_id, int states) noexcept nogil:
    """Return the states after any byte of a set, as bits, or NOT_SEEN."""
    cdef int byte, state, next, out = 0
    cdef uint64_t word
    for byte in range(256):
        word = terms.classes.sets[4 * set_id + (byte >> 6)]
        if not (word >> (byte & 63)) & 1:
            continue
        for state in range(UTF8_STATES):
            if (states >> state) & 1:
                next = utf8_step(state, <uint8_t>byte)
                if next == NOT_UTF8:
                    return NOT_SEEN
                out |= 1 << next
    return out


cdef int after(TermTable terms, TermId t, int states, KeyMap* known, int depth) except ID_FAILED nogil:
    """Return states among which are all those after the strings of a term, as bits, or NOT_SEEN."""
    cdef Term u = terms.terms[t]
    cdef uint64_t key = (<uint64_t>t << 8) | <uint64_t>states
    cdef int32_t k
    cdef int out = states, more, state, next
    if u.kind == K_EPS:
        return states
    if u.kind == K_LIT:
        for k in range(u.literal.length):
            more = 0
            for state in range(UTF8_STATES):
                if (out >> state) & 1:
                    next = utf8_step(state, terms.pool[u.literal.first + k])
                    if next == NOT_UTF8:
                        return NOT_SEEN
                    more |= 1 << next
            out = more
        return out
    if depth > MAX_NESTED:
        return NOT_SEEN
    out = map_get(known, key)
    if out != NO_VALUE:
        return out
    out = NOT_SEEN
    if u.kind == K_SET:
        out = after_set(terms, u.set_id, states)
    elif u.kind == K_SEQ:
        out = states
        while out != NOT_SEEN and terms.terms[t].kind == K_SEQ:
            out = after(terms, terms.terms[t].seq.first, out, known, depth + 1)
            t = terms.terms[t].seq.rest
        if out != NOT_SEEN:
            out = after(terms, t, out, known, depth + 1)
    elif u.kind == K_ALT:
        out = 0
        for k in range(u.operands.count):
            more = after(terms, terms.kids[u.operands.first + k], states, known, depth + 1)
            if more == NOT_SEEN:
                out = NOT_SEEN
                break
            out |= more
    elif u.kind == K_AND:  # one operand is enough
        for k in range(u.operands.count):
            more = after(terms, terms.kids[u.operands.first + k], states, known, depth + 1)
            if more != NOT_SEEN:
                out = more if out == NOT_SEEN else out & more
    elif u.kind == K_REP:
        out = states
        while True:  # at most one round for each state
            more = after(terms, u.rep.item, out, known, depth + 1)
            if more == NOT_SEEN:
                out = NOT_SEEN
                break
            if out | more == out:
                break
            out |= more
    map_put(known, key, out)
    return out


cdef bint is_wellformed(TermTable terms, TermId t) except FAILED nogil:
    """Return whether the structure of a term shows that it holds well-formed UTF-8 only. Cost: its operands."""
    cdef KeyMap known
    map_init(&known)
    try:
        return after(terms, t, 1 << UTF8_BETWEEN, &known, 0) == 1 << UTF8_BETWEEN
    finally:
        map_free(&known)


cdef enum:
    MAX_FACTORING = 200    # nesting of left-factored alternatives; deeper ones are not factored
    FEW_ITEMS = 32         # items of a sequence that are collected without allocating memory
    UNDECIDED = -2
    MAX_ITEMS = 1000       # items of a sequence that are copied in front of another
    MAX_COUNT = 1 << 30    # counts of neighbours are added up to here
    LITERAL_BYTES = 100    # a small bytes object and its place in a dict

cdef int32_t FACTS = F_BOOL | F_IMPURE | F_KEYS


cdef int sort_distinct(vector[TermId]& items) except FAILED nogil:
    """Sort terms and remove duplicates."""
    cdef size_t i, n = 1
    if items.size() < 2:
        return 0
    sort(items.begin(), items.end())
    for i in range(1, items.size()):
        if items[i] != items[n - 1]:
            items[n] = items[i]
            n += 1
    items.resize(n)
    return 0


cdef TermId mk_group(TermTable table, TermId item) except ID_FAILED nogil:
    """Return a sequence as one item: a repetition of exactly one."""
    cdef Term t = table.terms[item]
    return intern_repetition(table, item, 1, 1, t.nu, t.flags & (FACTS | F_LOCAL | F_CALL | F_TOKEN))


cdef bint is_option_of(TermTable table, Term u, TermId item) noexcept nogil:
    """Return whether the alternatives ``u`` are the empty string and those of ``item``. Cost: their number."""
    cdef Term t = table.terms[item]
    cdef int32_t k
    if table.kids[u.operands.first] != EPS:
        return False
    if t.kind != K_ALT:
        return u.operands.count == 2 and table.kids[u.operands.first + 1] == item
    if t.operands.count + 1 != u.operands.count:
        return False
    for k in range(t.operands.count):
        if table.kids[u.operands.first + 1 + k] != table.kids[t.operands.first + k]:
            return False
    return True


@cython.final
cdef class Constructors:
    """Builds terms from terms; each call gets the table.

    Owner: the store of the terms. ``rules``: the searches that intersections use.
    """

    def __cinit__(self):
        self.rules.simplifier = NULL
        self.rules.is_textual = NULL
        self.rules.both_repeats = NULL
        self.any_text = NO_TERM
        self.literals = {}
        self.literal_count = 0

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes this holds; the table is not counted."""
        return LITERAL_BYTES * self.literal_count

    cdef TermId mk_guard(self, TermTable table, GuardId g) except ID_FAILED nogil:
        """Return the empty string where the next byte is in a guard."""
        if g == ANY_BYTE:
            return EPS
        return intern_guard(table, g)

    cdef TermId mk_set(self, TermTable table, SetId set_id) except ID_FAILED nogil:
        """Return one byte of a set."""
        cdef uint64_t* w = &table.classes.sets[4 * set_id]
        if not (w[0] | w[1] | w[2] | w[3]):
            return EMPTY
        return intern_byte(table, set_id)

    cdef TermId mk_literal(self, TermTable table, int32_t offset, int32_t length) except ID_FAILED nogil:
        """Return some bytes of the pool as one term."""
        cdef uint64_t words[4]
        cdef int byte
        if length == 0:
            return EPS
        if length == 1:
            byte = table.pool[offset]
            words[0] = words[1] = words[2] = words[3] = 0
            words[byte >> 6] = <uint64_t>1 << (byte & 63)
            return self.mk_set(table, table.classes.intern_set(words))
        return intern_literal(table, offset, length)

    cdef TermId mk_bytes(self, TermTable table, bytes data) except ID_FAILED:
        """Return the term of exactly these bytes. Equal ones are written to the pool once."""
        offset = self.literals.get(data)
        if offset is None:
            offset = table.pool.size()
            for byte in data:
                table.pool.push_back(byte)
            self.literals[data] = offset
            self.literal_count += 1
        return self.mk_literal(table, offset, len(data))

    cdef TermId guard_first(self, TermTable table, GuardId g, TermId t) except ID_FAILED nogil:
        """Return guard g and then t, which is no sequence, as one term; UNDECIDED if that needs two terms.

        If t has a first byte, it decides the guard.
        """
        cdef Term u = table.terms[t]
        cdef uint64_t words[4]
        cdef int i, byte
        if g == ANY_BYTE or t == EMPTY:
            return t
        if u.kind == K_EPS:
            return self.mk_guard(table, g)
        if u.kind == K_GUARD:
            return self.mk_guard(table, table.classes.guard_and(g, u.guard))
        if u.kind == K_SET:
            for i in range(4):
                words[i] = table.classes.sets[4 * table.classes.guard_sets[g] + i]
                words[i] &= table.classes.sets[4 * u.set_id + i]
            return self.mk_set(table, table.classes.intern_set(words))
        if u.kind == K_LIT:
            byte = table.pool[u.literal.first]
            return t if table.classes.guard_has(g, <SymbolId>byte) else EMPTY
        if u.kind == K_TOKEN:
            return t
        return UNDECIDED

    cdef TermId mk_seq(self, TermTable table, TermId a, TermId b) except ID_FAILED nogil:
        """Return a and then b. Sequences lean to the right; guards are decided as far as b allows."""
        cdef TermId[FEW_ITEMS] few
        cdef vector[TermId] spine       # the items after those
        cdef Term t
        cdef Term u
        cdef TermId first, whole = a
        cdef int32_t n = 0
        if a == EMPTY or b == EMPTY:
            return EMPTY
        if a == EPS:
            return b
        if b == EPS:
            return a
        if table.terms[a].kind != K_SEQ and table.terms[a].kind != K_GUARD:
            return self.intern_seq(table, a, b)
        # the usual case of few items allocates no memory
        while n < FEW_ITEMS and table.terms[a].kind == K_SEQ:
            few[n] = table.terms[a].seq.first
            n += 1
            a = table.terms[a].seq.rest
        while table.terms[a].kind == K_SEQ:
            if spine.size() > MAX_ITEMS:
                # one item, shared by all that it begins: the items of n rules that double are 2 to the n
                return self.intern_seq(table, mk_group(table, whole), b)
            spine.push_back(table.terms[a].seq.first)
            a = table.terms[a].seq.rest
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
            t = table.terms[a]
            u = table.terms[b]
            if t.kind == K_GUARD:
                first = self.guard_first(table, t.guard, u.seq.first if u.kind == K_SEQ else b)
                if first == EMPTY:
                    return EMPTY
                if first != UNDECIDED:
                    if u.kind != K_SEQ:
                        b = first
                        continue
                    if table.terms[first].kind != K_GUARD:
                        b = self.intern_seq(table, first, u.seq.rest)
                        continue
                    a = first
                    b = u.seq.rest
            b = self.intern_seq(table, a, b)
        return b

    cdef TermId intern_seq(self, TermTable table, TermId a, TermId b) except ID_FAILED nogil:
        """Return a and then b, where a is no sequence and no guard that b decides, and neither is EMPTY."""
        cdef Term t = table.terms[a]
        cdef Term u = table.terms[b]
        cdef Nullability nu = NEVER
        cdef int32_t flags = (t.flags | u.flags) & FACTS
        cdef TermId both
        cdef GuardId guard
        if b == EPS:
            return a
        if t.kind == K_REP or t.kind == K_ALT:
            both = self.join_counts(table, a, u.seq.first if u.kind == K_SEQ else b)
            if both != NO_TERM:
                return self.intern_seq(table, both, u.seq.rest if u.kind == K_SEQ else EPS)
        flags |= t.flags & (F_LOCAL | F_CALL | F_TOKEN)
        if t.nu.possible():
            flags |= u.flags & (F_LOCAL | F_CALL | F_TOKEN)
            if u.nu.possible():
                guard = table.classes.guard_and(t.nu.guard(), u.nu.guard())  # mutant: guard-and
                nu = Nullability.under(guard)
        return intern_sequence(table, a, b, nu, flags)

    cdef TermId join_counts(self, TermTable table, TermId a, TermId b) except ID_FAILED nogil:
        """Return two neighbours of a sequence as one repetition: x{1,3} x{2,5} is x{3,8}; else NO_TERM.

        So n optional items that are equal are one counter, and not n states with n alternatives each.
        """
        cdef Term t = table.terms[a]
        cdef Term u = table.terms[b]
        cdef Repetition x, y
        cdef int32_t low, high
        x = t.rep  # of alternatives it means nothing, and is written below
        y = u.rep
        if t.kind != K_REP:  # an alternative that may be empty is 0 or 1 of what else it is
            if not t.nu.always():
                return NO_TERM
            if a == b:
                return self.mk_rep(table, a, 0, 2)
            if u.kind != K_REP or not (y.item == a or is_option_of(table, t, y.item)):
                return NO_TERM
            x.item = y.item
            x.low = 0
            x.high = 1
        elif u.kind == K_ALT and u.nu.always() and (x.item == b or is_option_of(table, u, x.item)):
            y.item = x.item
            y.low = 0
            y.high = 1
        elif u.kind != K_REP or y.item != x.item:
            return NO_TERM
        if x.low > MAX_COUNT - y.low or (
            x.high > MAX_COUNT - y.high and UNBOUNDED not in (x.high, y.high)
        ):
            return NO_TERM
        low = x.low + y.low
        high = UNBOUNDED if UNBOUNDED in (x.high, y.high) else x.high + y.high
        return self.mk_rep(table, x.item, low, high)

    cdef TermId mk_alt2(self, TermTable table, TermId a, TermId b) except ID_FAILED nogil:
        """Return a or b."""
        cdef vector[TermId] items
        if a == EMPTY or a == b:
            return b
        if b == EMPTY:
            return a
        items.push_back(a)
        items.push_back(b)
        return self.mk_alt(table, items, 0)

    cdef TermId mk_alt(self, TermTable table, vector[TermId]& given, int depth) except ID_FAILED nogil:
        """Return any of the terms. ``depth``: how many alternatives are being factored around this one."""
        cdef vector[TermId] items
        cdef uint64_t words[4]
        cdef size_t i, j, n
        cdef int32_t k, sets = 0, flags = 0
        cdef Nullability nu = NEVER
        cdef Term t
        words[0] = words[1] = words[2] = words[3] = 0
        table.meter.spend(8 + 4 * given.size())
        items.reserve(given.size() + 1)
        for i in range(given.size()):
            t = table.terms[given[i]]
            if t.kind == K_EMPTY:
                continue
            if t.kind == K_ALT:
                for k in range(t.operands.count):
                    items.push_back(table.kids[t.operands.first + k])
            else:
                items.push_back(given[i])
        table.meter.spend(6 * items.size())  # they are sorted some times
        # one byte set for all single bytes
        n = 0
        for i in range(items.size()):
            t = table.terms[items[i]]
            if t.kind == K_SET:
                for j in range(4):
                    words[j] |= table.classes.sets[4 * t.set_id + j]
                sets += 1
            else:
                items[n] = items[i]
                n += 1
        items.resize(n)
        if sets:
            items.push_back(self.mk_set(table, table.classes.intern_set(words)))
        sort_distinct(items)
        if items.size() > 1:
            drop_included(table, items)
        if items.size() > 1 and depth < MAX_FACTORING:
            self.factor(table, items, depth)
        if items.size() > 1:
            self.merge_repeats(table, items, depth)
        for i in range(items.size()):
            t = table.terms[items[i]]
            flags |= t.flags
            if t.kind != K_EPS and t.nu.possible():
                if nu.possible():
                    nu = Nullability.under(table.classes.guard_or(nu.guard(), t.nu.guard()))
                else:
                    nu = t.nu
        if items.size() > 1 and items[0] == EPS:
            if nu.always():
                items.erase(items.begin())
            nu = ALWAYS
        if items.empty():
            return EMPTY
        if items.size() == 1:
            return items[0]
        return table.intern_list(K_ALT, items, nu, flags)

    cdef int factor(self, TermTable table, vector[TermId]& items, int depth) except FAILED nogil:
        """Join the alternatives that begin with the same term: a b | a c becomes a (b | c)."""
        cdef vector[uint64_t] keyed
        cdef vector[TermId] tails
        cdef vector[TermId] out
        cdef size_t i, j
        cdef TermId prefix, factored
        cdef bint shared = False
        cdef Term t
        cdef TermId* kids
        if items.size() == 2:  # the usual case: two items that begin differently are left as they are
            t = table.terms[items[0]]
            prefix = t.seq.first if t.kind == K_SEQ else items[0]
            t = table.terms[items[1]]
            if prefix != (t.seq.first if t.kind == K_SEQ else items[1]):
                return 0
        keyed.reserve(items.size())
        out.reserve(items.size())
        tails.reserve(items.size())
        for i in range(items.size()):
            t = table.terms[items[i]]
            prefix = t.seq.first if t.kind == K_SEQ else items[i]
            keyed.push_back((<uint64_t>prefix << 32) | <uint64_t>i)
        sort(keyed.begin(), keyed.end())
        for i in range(1, keyed.size()):
            if (keyed[i] >> 32) == (keyed[i - 1] >> 32):
                shared = True
        if not shared:
            return 0
        i = 0
        while i < keyed.size():
            prefix = <int32_t>(keyed[i] >> 32)
            tails.clear()
            j = i
            while j < keyed.size() and <int32_t>(keyed[j] >> 32) == prefix:
                t = table.terms[items[<int32_t>keyed[j]]]
                tails.push_back(t.seq.rest if t.kind == K_SEQ else EPS)
                j += 1
            if j == i + 1:
                out.push_back(items[<int32_t>keyed[i]])
            else:
                factored = self.mk_alt(table, tails, depth + 1)
                factored = self.mk_seq(table, prefix, factored)
                t = table.terms[factored]
                if t.kind == K_ALT:
                    kids = table.kids.begin() + t.operands.first
                    out.insert(out.end(), kids, kids + t.operands.count)
                else:
                    out.push_back(factored)
            i = j
        sort(out.begin(), out.end())
        items.swap(out)
        return 0

    cdef int merge_repeats(self, TermTable table, vector[TermId]& items, int depth) except FAILED nogil:
        """Join repetitions of one item before one tail: x{1,3} y | x{2,5} y becomes x{1,5} y.

        Without this, the derivatives of counted repetitions of ambiguous items grow with every step.
        """
        # by item and tail, in the order of the lower bounds: (item, tail), (lower bound, index)
        cdef vector[pair[uint64_t, uint64_t]] repeats
        cdef pair[uint64_t, uint64_t] entry
        cdef size_t i, n = 0, start = 0
        cdef Term t
        cdef Term r
        cdef TermId tail
        cdef int64_t low, high, other
        cdef int found = 0
        for i in range(items.size()):
            t = table.terms[items[i]]
            if t.kind == K_REP or (t.kind == K_SEQ and table.terms[t.seq.first].kind == K_REP):
                found += 1
        if found < 2:
            return 0
        repeats.reserve(found)
        for i in range(items.size()):
            t = table.terms[items[i]]
            r = table.terms[t.seq.first] if t.kind == K_SEQ else t
            if r.kind == K_REP:
                tail = t.seq.rest if t.kind == K_SEQ else EPS
                entry.first = (<uint64_t>r.rep.item << 32) | <uint64_t>tail
                entry.second = (<uint64_t>r.rep.low << 32) | <uint64_t>i
                repeats.push_back(entry)
        sort(repeats.begin(), repeats.end())
        low = high = 0
        for i in range(repeats.size() + 1):
            t = table.terms[items[<uint32_t>repeats[i].second]] if i < repeats.size() else t
            r = table.terms[t.seq.first] if t.kind == K_SEQ else t
            other = r.rep.high
            # the ranges must overlap or touch, or counts in the gap would be let in
            if (
                0 < i < repeats.size()
                and repeats[i].first == repeats[i - 1].first
                and r.rep.low <= high + 1  # mutant: count-gap
            ):
                high = max(high, other)
                items[<uint32_t>repeats[i].second] = EMPTY
                continue
            if i > start + 1:
                tail = <TermId><uint32_t>repeats[start].first
                items[<uint32_t>repeats[start].second] = self.mk_seq(
                    table, self.mk_rep(table, <TermId>(repeats[start].first >> 32), low, high), tail
                )
            start = i
            low = r.rep.low
            high = other
        for i in range(items.size()):
            if items[i] != EMPTY:
                items[n] = items[i]
                n += 1
        items.resize(n)
        sort_distinct(items)
        return 0

    cdef TermId mk_rep(self, TermTable table, TermId item, int32_t low, int32_t high) except ID_FAILED nogil:
        """Return a term, ``low`` to ``high`` times; ``high`` is UNBOUNDED without a bound."""
        cdef Term t = table.terms[item]
        cdef vector[TermId] others
        cdef int32_t k, flags
        if high == 0 or item == EPS:
            return EPS
        if item == EMPTY:
            return EPS if low == 0 else EMPTY
        if t.kind == K_ALT and table.kids[t.operands.first] == EPS:
            # (x?){m,n} is x{0,n}
            for k in range(1, t.operands.count):
                others.push_back(table.kids[t.operands.first + k])
            item = self.mk_alt(table, others, 0)
            return self.mk_rep(table, item, 0, high)
        if t.kind == K_REP and t.rep.low == 0 and t.rep.high == UNBOUNDED:
            return item
        if t.kind == K_REP and t.rep.low == 0 and t.rep.high == 1:
            return self.mk_rep(table, t.rep.item, 0, high)
        if t.nu.always():
            low = 0
        if low == 1 and high == 1:
            return item
        flags = t.flags & (FACTS | F_LOCAL | F_CALL | F_TOKEN)
        return intern_repetition(table, item, low, high, ALWAYS if low == 0 else t.nu, flags)

    cdef TermId mk_and(self, TermTable table, vector[TermId]& given) except ID_FAILED nogil:
        """Return what regular terms have in common."""
        cdef vector[TermId] items
        cdef uint64_t words[4]
        cdef size_t i, j
        cdef int32_t k, sets = 0, repeats = 0
        cdef Nullability nu = ALWAYS
        cdef Term t
        cdef bint empty_string = False
        words[0] = words[1] = words[2] = words[3] = ~<uint64_t>0
        for i in range(given.size()):
            if given[i] == EMPTY:
                return EMPTY
        items.reserve(given.size() + 1)
        for i in range(given.size()):
            t = table.terms[given[i]]
            repeats += 2 if t.kind == K_AND else <int>(t.kind == K_REP)
            if t.kind == K_EPS:
                empty_string = True
            elif t.kind == K_AND:
                for k in range(t.operands.count):
                    items.push_back(table.kids[t.operands.first + k])
            elif t.kind == K_NOT and t.negated == EMPTY:
                pass
            elif t.kind == K_SET:
                for j in range(4):
                    words[j] &= table.classes.sets[4 * t.set_id + j]
                sets += 1
            else:
                items.push_back(given[i])
        table.meter.spend(8 + 6 * items.size())
        if sets:
            k = self.mk_set(table, table.classes.intern_set(words))
            if k == EMPTY:
                return EMPTY
            items.push_back(k)
        for i in range(items.size()):
            if not table.terms[items[i]].nu.possible():
                nu = NEVER
        if empty_string:
            return EPS if nu.always() else EMPTY
        if items.empty():
            return self.mk_not(table, EMPTY)
        sort_distinct(items)
        if items.size() > 1:
            self.drop_any_text(table, items)
        # items removed before were no repetitions
        if repeats > 1 and not self.join_repeats(table, items):
            return EMPTY
        if items.size() == 1:
            return items[0]
        sort(items.begin(), items.end())
        return table.intern_list(K_AND, items, nu, F_BOOL | F_LOCAL)

    cdef int drop_any_text(self, TermTable table, vector[TermId]& items) except FAILED nogil:
        """Remove "any well-formed text", which complements add, if another operand implies it."""
        cdef size_t i, j
        if self.any_text == NO_TERM or self.rules.simplifier == NULL:
            return 0
        for i in range(items.size()):
            if items[i] == self.any_text:
                for j in range(items.size()):
                    if j != i and self.rules.is_textual(self.rules.simplifier, table, items[j]):
                        items.erase(items.begin() + i)
                        return 0
                return 0
        return 0

    cdef bint join_repeats(self, TermTable table, vector[TermId]& items) except FAILED nogil:
        """Join repetitions whose intersection is one term; False if that is the empty language."""
        cdef size_t i = 0, j
        cdef TermId joined
        if self.rules.simplifier == NULL:
            return True
        while i + 1 < items.size():
            if table.terms[items[i]].kind != K_REP:
                i += 1
                continue
            table.meter.spend(items.size() - i)
            j = i + 1
            while j < items.size():
                joined = self.rules.both_repeats(self.rules.simplifier, table, items[i], items[j])
                if joined == EMPTY:
                    return False
                if joined > EMPTY:
                    items[i] = joined
                    items.erase(items.begin() + j)
                    j = i
                j += 1
            i += 1
        return True

    cdef TermId mk_not(self, TermTable table, TermId item) except ID_FAILED nogil:
        """Return every byte string that a regular term does not hold."""
        cdef Term t = table.terms[item]
        if t.kind == K_NOT:
            return t.negated
        return intern_negation(table, item, NEVER if t.nu.possible() else ALWAYS)
