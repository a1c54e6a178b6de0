# distutils: language = c++
"""Terms: their constructors, their derivatives, and the object that owns terms."""

cimport cython
from libc.stdint cimport int64_t, uint32_t
from libcpp.algorithm cimport binary_search, lower_bound, reverse, sort
from libcpp.pair cimport pair

from stackmask.pda.ids cimport (
    ACTION_COUNTED,
    ACTION_KEYED,
    ACTION_NONE,
    ACTION_SCOPE,
    ALWAYS,
    NEVER,
    NO_TERM,
    UNBOUNDED,
    Nullability,
    TokenClassId,
)
from stackmask.pda.memory.byte_sets cimport lowest_bit
from stackmask.pda.memory.hash_tables cimport NO_VALUE
from stackmask.pda.terms.term_table cimport (
    ANY_BYTE,
    CALL_RESOLVER,
    CALL_RULE,
    CALL_TEST,
    DEAD,
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
    LIVE,
    LIVE_UNKNOWN,
    MAP_EACH,
    MAP_ONE,
    TOKENS,
    ByteClasses,
    Repetition,
    SiteList,
    intern_byte,
    intern_call,
    intern_guard,
    intern_literal,
    intern_negation,
    intern_repetition,
    intern_sequence,
    intern_token,
    one_less,
    token_symbol,
)
from stackmask.pda.text cimport NOT_UTF8, UTF8_BETWEEN, UTF8_STATES, utf8_step

from stackmask.pda.errors import BudgetError


# ------------------------------------------------------------------------------------------------
# Smart constructors: they keep terms canonical, so that the number of states is finite and small.
#
# What obviously spells the same language becomes the same term: nested sequences and alternatives are flat and
# sorted, single bytes are one set, common prefixes are factored out, counts of one item joined.
# ------------------------------------------------------------------------------------------------


# ------------------------------------------------------------------------------------------------
# Alternatives that another alternative includes, as far as the structure of both shows it.
# ------------------------------------------------------------------------------------------------


cdef enum:
    FEW_SUFFIXES = 64      # suffixes that are visited without remembering them


cdef inline TermId suffix_of(TermTable table, TermId t) noexcept nogil:
    """Return the rest of a sequence whose first item may be empty in any context; for other terms, EPS."""
    cdef Term* u = &table.terms[t]
    if u.kind == K_SEQ and table.terms[u.seq.first].nu.always():
        return u.seq.rest
    return EPS


cdef int drop_included(TermTable table, vector[TermId]& items) except FAILED nogil:
    """Remove alternatives that another one includes, such as b? c beside a? b? c, or b beside (a | b) c?.

    A sequence of n optional items has the derivatives of its n suffixes. Without this, there would be n
    alternatives, and again n after each step.
    Shapes: ``items`` is sorted, without duplicates. Cost: linear in the suffixes of all items, each once, and
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
    """Mark a term as dropped if it is one of the items. Return whether it is one."""
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
    """Mark the items that are a suffix of another one, in which all previous items may be empty."""
    cdef KeyMap seen
    cdef size_t i, visited = 0
    cdef TermId s
    for i in range(items.size()):
        s = suffix_of(table, items[i])
        # the suffixes of an item are visited from there
        while s >= least and s != EPS and not mark(items, s, dropped):
            visited += 1
            table.meter.spend(4)
            if visited > FEW_SUFFIXES:
                if seen.get(s) != NO_VALUE:
                    break
                seen.put(s, 1)
            s = suffix_of(table, s)
    return 0


cdef int mark_prefixes(TermTable table, vector[TermId]& items, vector[uint8_t]& dropped) except FAILED nogil:
    """Mark the items with which another one begins, alone or as an alternative, if its rest may be empty."""
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
    """Return a superset of the states after the strings of a term, as bits, or NOT_SEEN."""
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
    out = known.get(key)
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
    known.put(key, out)
    return out


cdef bint is_wellformed(TermTable terms, TermId t) except FAILED nogil:
    """Return whether a term obviously contains only well-formed UTF-8. Cost: linear in its operands."""
    cdef KeyMap known
    return after(terms, t, 1 << UTF8_BETWEEN, &known, 0) == 1 << UTF8_BETWEEN


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
    """Return whether the alternatives ``u`` are the empty string and those of ``item``. Cost: linear."""
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


cdef bint is_within(TermTable table, vector[TermId]& items, TermId t) except FAILED nogil:
    """Return whether the intersection of sorted terms is a subset of another term, as far as the operands show it."""
    cdef Term u = table.terms[t]
    cdef int32_t k
    if binary_search(items.begin(), items.end(), t):
        return True
    if u.kind != K_ALT and u.kind != K_AND:
        return False
    table.meter.spend(u.operands.count)
    for k in range(u.operands.count):
        if binary_search(items.begin(), items.end(), table.kids[u.operands.first + k]) != (u.kind == K_AND):
            return u.kind == K_ALT
    return u.kind == K_AND


cdef enum:
    MAX_NESTED_OPERANDS = 30    # alternatives of intersections of alternatives … within one another
    MAX_OPERANDS = 300          # terms within one operand that `is_in_star` visits


cdef inline bint is_star(TermTable table, TermId t) noexcept nogil:
    """Return whether a term is an unbounded repetition that may be empty."""
    cdef Term* u = &table.terms[t]
    return u.kind == K_REP and u.rep.low == 0 and u.rep.high == UNBOUNDED


cdef bint ends_in(TermTable table, TermId t, TermId end, int* left) except FAILED nogil:
    """Return whether the first alternative of a term ends in another term.

    ``left``: terms that may still be visited.
    """
    while t != end:
        left[0] -= 1
        if left[0] < 0:
            return False
        if table.terms[t].kind == K_SEQ:
            t = table.terms[t].seq.rest
        elif table.terms[t].kind == K_ALT:
            t = table.kids[table.terms[t].operands.first]
        else:
            return False
        table.meter.spend(1)
    return True


@cython.final
cdef class Constructors:
    """Builds terms from terms; each call receives the table.

    Owner: the store of the terms. ``rules``: the searches used by intersections.
    """

    def __cinit__(self):
        self.rules.simplifier = NULL
        self.rules.is_textual = NULL
        self.rules.both_repeats = NULL
        self.rules.is_subset = NULL
        self.any_text = NO_TERM
        self.literals = {}
        self.literal_count = 0

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes, without the table."""
        return LITERAL_BYTES * self.literal_count

    cdef TermId mk_guard(self, TermTable table, GuardId g) except ID_FAILED nogil:
        """Return the empty string, restricted to next bytes in a guard."""
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
        """Return a term for bytes of the pool."""
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
        """Return the term of exactly these bytes. Equal bytes are written to the pool once."""
        offset = self.literals.get(data)
        if offset is None:
            offset = table.pool.size()
            for byte in data:
                table.pool.push_back(byte)
            self.literals[data] = offset
            self.literal_count += 1
        return self.mk_literal(table, offset, len(data))

    cdef TermId guard_first(self, TermTable table, GuardId g, TermId t) except ID_FAILED nogil:
        """Return guard g followed by t, which is not a sequence, as one term; UNDECIDED if it takes two.

        If t has a first byte, this byte decides the guard.
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
        """Return a followed by b. Sequences are right-associative; guards are decided as far as b allows."""
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
        """Return a followed by b, where a is neither a sequence nor a guard that b decides, and neither is
        EMPTY.
        """
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
        """Return two adjacent items of a sequence as one, as x{1,3} x{2,5} is x{3,8}; else NO_TERM.

        So n equal optional items are one counter instead of n states with n alternatives each.
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
        """Return the union of a and b."""
        cdef vector[TermId] items
        if a == EMPTY or a == b:
            return b
        if b == EMPTY:
            return a
        items.push_back(a)
        items.push_back(b)
        return self.mk_alt(table, items, 0)

    cdef TermId mk_alt(self, TermTable table, vector[TermId]& given, int depth) except ID_FAILED nogil:
        """Return the union of the terms. ``depth``: the number of enclosing alternatives under factoring."""
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
        """Factor alternatives that begin with the same term: a b | a c becomes a (b | c)."""
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
        """Merge repetitions of one item before one tail: x{1,3} y | x{2,5} y becomes x{1,5} y.

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
        """Return ``low`` to ``high`` repetitions of a term; ``high`` is UNBOUNDED without a bound."""
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
        if is_star(table, item):
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
        """Return the intersection of regular terms."""
        cdef vector[TermId] items
        cdef uint64_t words[4]
        cdef size_t i, j
        cdef int32_t k, sets = 0, repeats = 0
        cdef int left
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
        for i in range(items.size()):
            t = table.terms[items[i]]
            if t.kind == K_NOT and is_within(table, items, t.negated):
                return EMPTY
            if t.kind == K_NOT and is_star(table, t.negated) and self.rules.simplifier != NULL:
                for j in range(items.size()):
                    left = MAX_OPERANDS
                    if self.is_in_star(table, items[j], t.negated, 0, &left):
                        return EMPTY
        if items.size() > 1:
            self.drop_any_text(table, items)
        # items removed before were no repetitions
        if repeats > 1 and not self.join_repeats(table, items):
            return EMPTY
        if items.size() == 1:
            return items[0]
        sort(items.begin(), items.end())
        return table.intern_list(K_AND, items, nu, F_BOOL | F_LOCAL)

    cdef bint is_in_star(self, TermTable table, TermId t, TermId star, int depth, int* left) except FAILED nogil:
        """Return whether a term is found to be a subset of x*: what a search leaves, which ends in x*.

        ``depth``: operands that it is nested in. ``left``: terms that may still be visited, since shared ones are
        visited again. Cost: a search for each operand that ends in x*, cached.
        """
        cdef Term u = table.terms[t]
        cdef int32_t k
        left[0] -= 1
        if u.kind == K_NOT or depth > MAX_NESTED_OPERANDS or left[0] < 0:
            return False
        if u.kind == K_AND or u.kind == K_ALT and u.flags & F_BOOL:
            table.meter.spend(u.operands.count)
            for k in range(u.operands.count):
                if self.is_in_star(table, table.kids[u.operands.first + k], star, depth + 1, left) != (u.kind == K_ALT):
                    return u.kind == K_AND
            return u.kind == K_ALT
        return ends_in(table, t, star, left) and self.rules.is_subset(self.rules.simplifier, table, t, star)

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
        """Merge repetitions whose intersection is one term; return False if it is the empty language."""
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
        """Return the complement of a regular term among all byte strings."""
        cdef Term t = table.terms[item]
        if t.kind == K_NOT:
            return t.negated
        return intern_negation(table, item, NEVER if t.nu.possible() else ALWAYS)


# ------------------------------------------------------------------------------------------------
# Derivatives of terms, and which bytes a term distinguishes.
#
# ``derive(t, s)`` is the term after symbol s, a byte or a class of special tokens (Brzozowski 1964; Owens,
# Reppy and Turon 2009 for hash-consing and byte classes), remembered per class of bytes that it does not
# tell apart.
# ------------------------------------------------------------------------------------------------


cdef enum:
    FEW_KIDS = 4        # alternatives that are searched for a first byte,
    FEW_LEVELS = 2      # ... and alternatives in those
    ITEMS_OF_A_RESULT = 64      # items of a sequence that are visited for one result
    ANCHOR_BITS = 6     # one of 64 sequences is an anchor


cdef inline bint is_anchor(TermId t) noexcept nogil:
    """Return whether a sequence is an anchor, whose derivatives are also stored for longer sequences.

    Sequences with the same end, each with one more item, must have the same anchors, so the id decides.
    """
    return (<uint32_t>t * <uint32_t>0x9E3779B9) >> (32 - ANCHOR_BITS) == 0


cdef inline TermId add_operand(vector[TermId]& operands, TermId first, TermId t) except ID_FAILED nogil:
    """Add another alternative, and return the first one.

    The list allocates memory, so the first alternative is stored in it only with a second one, which is rare.
    """
    if t == EMPTY or first == EMPTY:
        return first if t == EMPTY else t
    if operands.empty():
        operands.push_back(first)
    operands.push_back(t)
    return first


@cython.final
cdef class Derivatives:
    """The derivatives of the terms of one table; each call receives the table.

    Owner: the store of the terms. ``simplify``: for operands of intersections, or NULL.
    """

    def __cinit__(self, Constructors make not None):
        self.make = make
        self.simplify = NULL
        self.simplifier = NULL

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes, without the table."""
        return self.known.nbytes()

    cdef MapId classes_of(self, TermTable table, TermId t) except ID_FAILED nogil:
        """Return the partition of the bytes that a step of the term distinguishes."""
        cdef Term u
        cdef TermId first = t, item
        cdef MapId found, other
        cdef int32_t k, items = 0
        cdef Nullability nu
        cdef uint64_t words[4]
        if table.terms[t].map >= 0:
            return table.terms[t].map
        found = MAP_ONE
        while True:
            u = table.terms[t]
            if u.kind == K_SEQ:
                items += 1
                if items > ITEMS_OF_A_RESULT:
                    found = table.classes.map_meet(found, self.classes_of_run(table, t))
                    break
                found = table.classes.map_meet(found, self.classes_of(table, u.seq.first))
                nu = table.terms[u.seq.first].nu
                if not nu.possible():
                    break
                if not nu.always():
                    found = table.classes.map_meet(found, table.classes.map_of_guard(nu.guard()))
                t = u.seq.rest
                continue
            if u.kind == K_SET:
                found = table.classes.map_meet(found, table.classes.map_of_set(u.set_id))
            elif u.kind == K_GUARD:
                found = table.classes.map_meet(found, table.classes.map_of_guard(u.guard))
            elif u.kind == K_LIT:
                words[0] = words[1] = words[2] = words[3] = 0
                k = table.pool[u.literal.first]
                words[k >> 6] = <uint64_t>1 << (k & 63)
                other = table.classes.map_of_set(table.classes.intern_set(words))
                found = table.classes.map_meet(found, other)
            elif u.kind == K_ALT:
                found = table.classes.map_meet(found, self.classes_of_kids(table, u))
            elif u.kind == K_AND:
                for k in range(u.operands.count):
                    other = self.classes_of(table, table.kids[u.operands.first + k])
                    found = table.classes.map_meet(found, other)
            elif u.kind == K_REP or u.kind == K_NOT:
                item = u.rep.item if u.kind == K_REP else u.negated
                found = table.classes.map_meet(found, self.classes_of(table, item))
                nu = table.terms[item].nu
                if u.kind == K_REP and nu.possible() and not nu.always():
                    found = table.classes.map_meet(found, table.classes.map_of_guard(nu.guard()))
            break
        table.terms[first].map = found
        return found

    cdef MapId classes_of_run(self, TermTable table, TermId t) except ID_FAILED nogil:
        """Return the result of ``classes_of`` for a sequence of many items that may be empty.

        It is stored for every suffix, since each suffix is a later state. Cost: linear for all suffixes.
        """
        cdef vector[TermId] run
        cdef MapId found, item
        cdef Nullability nu
        while table.terms[t].kind == K_SEQ and table.terms[t].map < 0:
            run.push_back(t)
            if not table.terms[table.terms[t].seq.first].nu.possible():
                break
            t = table.terms[t].seq.rest
        if not run.empty() and run.back() == t:
            found = MAP_ONE
        else:
            found = self.classes_of(table, t)
        while not run.empty():
            t = run.back()
            run.pop_back()
            nu = table.terms[table.terms[t].seq.first].nu
            item = self.classes_of(table, table.terms[t].seq.first)
            if nu.possible() and not nu.always():
                item = table.classes.map_meet(item, table.classes.map_of_guard(nu.guard()))
            found = table.classes.map_meet(item, found)
            table.terms[t].map = found
        return found

    cdef MapId classes_of_kids(self, TermTable table, Term u) except ID_FAILED nogil:
        """Return ``classes_of`` for alternatives. Literals, which may be thousands, are treated together."""
        cdef MapId found = MAP_ONE
        cdef TermId kid
        cdef int32_t k, count
        cdef Term v
        cdef uint8_t classes[256]
        cdef bint singled[256]
        cdef bint any_single = False
        table.meter.spend(32 + 2 * u.operands.count)
        for k in range(256):
            singled[k] = False
        for k in range(u.operands.count):
            kid = table.kids[u.operands.first + k]
            v = table.terms[kid]
            if v.kind == K_SEQ:
                v = table.terms[v.seq.first]
            if v.kind == K_LIT:
                singled[table.pool[v.literal.first]] = True
                any_single = True
            else:
                found = table.classes.map_meet(found, self.classes_of(table, kid))
        if any_single and found != MAP_EACH:
            count = table.classes.maps[found].count
            for k in range(256):
                classes[k] = table.classes.maps[found].of[k]
                if singled[k] and count < 256:
                    classes[k] = <uint8_t>count
                    count += 1
                elif singled[k]:
                    return MAP_EACH
            found = table.classes.intern_map(classes)
        return found

    # -- derivatives -------------------------------------------------------------------------------

    cdef TermId derive(self, TermTable table, TermId t, SymbolId symbol) except ID_FAILED nogil:
        """Return the derivative of a term. It is cached unless it costs no more than a look-up.

        Most terms can continue with only one byte, which needs no classes. So the first derivative is stored
        in the term, the others in ``known``.
        """
        cdef Term u = table.terms[t]
        cdef const uint8_t* classes
        cdef uint64_t key
        cdef int32_t d
        if u.kind <= K_LIT or u.kind == K_CALL or u.kind == K_TOKEN:
            return self.derive_part(table, t, symbol)
        if u.symbol == symbol:
            return u.derivative
        if u.kind <= K_ALT and symbol < TOKENS and not self.may_begin(table, t, symbol, FEW_LEVELS):
            return EMPTY
        if u.kind == K_SEQ and K_SET <= table.terms[u.seq.first].kind <= K_LIT:
            # every byte that it may begin with leads to one term
            if symbol >= TOKENS:
                return EMPTY
            if u.symbol < 0:
                u.derivative = self.after_first(table, u)
                table.terms[t].symbol = symbol
                table.terms[t].derivative = u.derivative
            return u.derivative
        if u.symbol >= 0:
            d = symbol
            if symbol < TOKENS:
                classes = table.classes.maps[u.map if u.map >= 0 else self.classes_of(table, t)].of
                d = classes[symbol]
                if u.symbol < TOKENS and classes[u.symbol] == d:  # mutant: stale-step
                    return u.derivative
            key = (<uint64_t>t << 16) | <uint64_t>d
            u.derivative = self.known.get(key)
            if u.derivative != NO_VALUE:
                return u.derivative
        d = self.derive_raw(table, t, symbol)
        # the computation may have stored another derivative
        if table.terms[t].symbol < 0:
            table.terms[t].symbol = symbol
            table.terms[t].derivative = d
        elif table.terms[t].symbol != symbol:
            self.known.put((<uint64_t>t << 16) | <uint64_t>self.class_of(table, t, symbol), d)
        return d

    cdef int32_t class_of(self, TermTable table, TermId t, SymbolId symbol) except FAILED nogil:
        """Return the class of a byte in the partition of a term. Each token class has a separate class."""
        cdef MapId map
        if symbol >= TOKENS:
            return symbol
        map = table.terms[t].map
        return table.classes.maps[map if map >= 0 else self.classes_of(table, t)].of[symbol]

    cdef TermId after_first(self, TermTable table, Term u) except ID_FAILED nogil:
        """Return the rest after the first byte of a sequence that begins with a byte set or a literal."""
        cdef Term prefix = table.terms[u.seq.first]
        cdef TermId rest
        if prefix.kind == K_SET:
            return u.seq.rest
        rest = self.make.mk_literal(table, prefix.literal.first + 1, prefix.literal.length - 1)
        return self.make.mk_seq(table, rest, u.seq.rest)

    cdef bint may_begin(self, TermTable table, TermId t, int32_t byte, int levels) noexcept nogil:
        """Return whether a term may begin with a byte, as far as its structure shows this; else True.

        Most names of an object cannot begin with the current byte, and a step tests each one.
        """
        cdef Term u = table.terms[t]
        cdef int32_t k
        if u.kind == K_SEQ:
            u = table.terms[u.seq.first]
        if u.kind == K_SET:
            return table.classes.set_has(u.set_id, byte)
        if u.kind == K_LIT:
            return table.pool[u.literal.first] == byte
        if u.kind != K_ALT or not levels or u.operands.count > FEW_KIDS or u.nu.possible():
            return True
        for k in range(u.operands.first, u.operands.first + u.operands.count):
            if self.may_begin(table, table.kids[k], byte, levels - 1):
                return True
        return False

    cdef TermId derive_raw(self, TermTable table, TermId t, SymbolId symbol) except ID_FAILED nogil:
        """Compute a derivative that is not cached."""
        cdef vector[TermId] operands
        cdef Term u = table.terms[t]
        cdef TermId first = EMPTY, d
        cdef int32_t items = 0
        cdef Nullability nu
        table.meter.spend(4)
        if u.kind != K_SEQ:
            return self.derive_part(table, t, symbol)
        # visit the items of the sequence while all items before can be empty
        while True:
            items += 1
            if items > ITEMS_OF_A_RESULT and is_anchor(t):
                self.derive_anchors(table, t, symbol)
                first = add_operand(operands, first, self.derive(table, t, symbol))
                break
            d = self.derive(table, u.seq.first, symbol)
            if d != EMPTY:
                first = add_operand(operands, first, self.make.mk_seq(table, d, u.seq.rest))
            nu = table.terms[u.seq.first].nu
            if not nu.possible() or not table.classes.guard_has(nu.guard(), symbol):
                break
            t = u.seq.rest
            u = table.terms[t]
            if u.kind != K_SEQ:
                first = add_operand(operands, first, self.derive(table, t, symbol))
                break
        return first if operands.empty() else self.make.mk_alt(table, operands, 0)

    cdef int derive_anchors(self, TermTable table, TermId t, SymbolId symbol) except FAILED nogil:
        """Compute the derivatives of the anchors in a sequence of many optional items, from the last one.

        Each suffix of such a sequence is a later state. With anchors, a derivative processes only the items
        up to the first anchor.
        """
        cdef vector[TermId] anchors
        cdef Nullability nu
        while table.terms[t].kind == K_SEQ:
            table.meter.spend(1)
            if is_anchor(t):
                if self.is_derived(table, t, symbol):
                    break
                anchors.push_back(t)
            nu = table.terms[table.terms[t].seq.first].nu
            if not nu.possible() or not table.classes.guard_has(nu.guard(), symbol):
                break
            t = table.terms[t].seq.rest
        while not anchors.empty():
            t = anchors.back()
            anchors.pop_back()
            self.derive(table, t, symbol)
        return 0

    cdef bint is_derived(self, TermTable table, TermId t, SymbolId symbol) except FAILED nogil:
        """Return whether the derivative of a sequence is cached."""
        cdef Term u = table.terms[t]
        cdef int32_t d
        if u.symbol < 0:
            return False
        d = self.class_of(table, t, symbol)
        if d == self.class_of(table, t, u.symbol):
            return True
        return self.known.get((<uint64_t>t << 16) | <uint64_t>d) != NO_VALUE

    cdef TermId derive_part(self, TermTable table, TermId t, SymbolId symbol) except ID_FAILED nogil:
        """Compute the derivative of a term that is not a sequence."""
        cdef vector[TermId] operands
        cdef Term u = table.terms[t]
        cdef TermId d
        cdef int32_t k, low, high
        cdef Nullability nu
        table.meter.spend(4)
        if u.kind == K_SET:
            return EPS if table.classes.set_has(u.set_id, symbol) else EMPTY
        if u.kind == K_LIT:
            if table.pool[u.literal.first] == symbol:
                return self.make.mk_literal(table, u.literal.first + 1, u.literal.length - 1)
            return EMPTY
        if u.kind == K_TOKEN:
            return EPS if symbol == token_symbol(u.token_class) else EMPTY
        if u.kind == K_ALT:
            d = EMPTY
            table.meter.spend(3 * u.operands.count)
            for k in range(u.operands.count):
                d = add_operand(operands, d, self.derive(table, table.kids[u.operands.first + k], symbol))
            return d if operands.empty() else self.make.mk_alt(table, operands, 0)
        if u.kind == K_REP:
            d = self.derive(table, u.rep.item, symbol)
            if d == EMPTY:
                return EMPTY
            high = one_less(u.rep.high)
            low = u.rep.low - 1 if u.rep.low > 0 else 0
            # iterations before this one may have been empty: then they count as done
            nu = table.terms[u.rep.item].nu
            if nu.possible() and table.classes.guard_has(nu.guard(), symbol):
                low = 0
            return self.make.mk_seq(table, d, self.make.mk_rep(table, u.rep.item, low, high))
        if u.kind == K_AND:
            operands.reserve(u.operands.count)
            table.meter.spend(4 * u.operands.count)
            for k in range(u.operands.count):
                d = self.derive(table, table.kids[u.operands.first + k], symbol)
                if d == EMPTY:
                    return EMPTY
                if self.simplify != NULL and table.terms[d].nu.always() and table.terms[d].kind >= K_SEQ:
                    d = self.simplify(self.simplifier, table, d)
                operands.push_back(d)
            return self.make.mk_and(table, operands)
        if u.kind == K_NOT:
            d = self.derive(table, u.negated, symbol)
            if self.simplify != NULL and table.terms[d].nu.always() and table.terms[d].kind >= K_SEQ:
                d = self.simplify(self.simplifier, table, d)
            return self.make.mk_not(table, d)
        return EMPTY


# ------------------------------------------------------------------------------------------------
# How much of a text a term still needs, as a guide for searches.
# ------------------------------------------------------------------------------------------------


cdef enum:
    MAX_EFFORT = 1 << 30


cdef int64_t effort(TermTable terms, TermId t, KeyMap* known, int depth) except FAILED nogil:
    """Return the approximate number of bytes that a text of a term needs, added up over intersections.

    This only guides a search. Terms that are nested too deeply, or unknown, count as 0.
    ``known``: the results so far, for all searches. Most states of a search share terms, so the results for
    the ends of a sequence are also stored. A term deeper than ``MAX_NESTED`` at its first visit counts as 0.
    This may change the order of a search, but never its result.
    """
    cdef Term u = terms.terms[t]
    cdef int64_t total = 0, least
    cdef int32_t k, found
    cdef vector[int32_t] spine
    if u.kind == K_SET:
        return 1
    if u.kind == K_LIT:
        return u.literal.length
    if u.kind == K_NOT:  # what may end there may not end here, perhaps whatever follows
        return 1 if terms.terms[u.negated].nu.possible() else 0
    if u.kind != K_SEQ and u.kind != K_ALT and u.kind != K_AND and u.kind != K_REP or depth > MAX_NESTED:
        return 0
    found = known.get(t)
    if found != NO_VALUE:
        return found
    if u.kind == K_REP:
        total = u.rep.low * effort(terms, u.rep.item, known, depth + 1) if u.rep.low else 0
    elif u.kind == K_SEQ:
        k = t
        while terms.terms[k].kind == K_SEQ:
            found = known.get(k)
            if found != NO_VALUE:
                break
            spine.push_back(k)
            k = terms.terms[k].seq.rest
        total = effort(terms, k, known, depth + 1)
        while not spine.empty():
            k = spine.back()
            spine.pop_back()
            total = min(total + effort(terms, terms.terms[k].seq.first, known, depth + 1), MAX_EFFORT)
            known.put(k, <int32_t>total)
        return total
    else:
        terms.meter.spend(4 * u.operands.count)
        for k in range(u.operands.count):
            least = effort(terms, terms.kids[u.operands.first + k], known, depth + 1)
            if u.kind == K_AND:
                total += least
            elif k == 0 or least < total:
                total = least
    total = min(total, MAX_EFFORT)
    known.put(t, <int32_t>total)
    return total


# ------------------------------------------------------------------------------------------------
# Whether a term with `&` or `!` has any string: searches of its derivatives for one that may end.
# ------------------------------------------------------------------------------------------------


cdef enum:
    MAX_ENDINGS = 4     # endings that are remembered
    BY_AGE = 8          # of so many visits of a search one goes to the oldest state
    SHORT_ENDING = 3    # bytes; a search finds shorter endings as fast


@cython.final
cdef class Emptiness:
    """Decides whether terms of one table are non-empty; each call receives the table.

    Owner: the store of the terms. Invariant: the answer (``Term.live``) does not depend on earlier searches.
    """

    def __cinit__(self, Derivatives derivatives not None, uint64_t max_explored=200_000):
        self.derivatives = derivatives
        self.max_explored = max_explored

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes, without the table."""
        return self.efforts.nbytes()

    cdef bint is_live(self, TermTable table, TermId t) except FAILED nogil:
        """Return whether the term has a string. Normalisation ensures that calls are productive."""
        cdef Term u = table.terms[t]
        cdef bint answer = True
        cdef TermId s
        cdef int32_t k
        if t == EMPTY:
            return False
        if not u.flags & F_BOOL:
            return True
        if u.live != LIVE_UNKNOWN:
            return u.live == LIVE
        if u.kind == K_SEQ:
            s = t
            while answer and self.is_open(table, s):
                answer = self.is_live(table, table.terms[s].seq.first)
                s = table.terms[s].seq.rest
            answer = answer and self.is_live(table, s)
            # most states that follow this one have the same tail
            s = table.terms[t].seq.rest
            while answer and self.is_open(table, s):
                table.terms[s].live = LIVE
                s = table.terms[s].seq.rest
        elif u.kind == K_ALT:
            answer = False
            for k in range(u.operands.count):
                if self.is_live(table, table.kids[u.operands.first + k]):
                    answer = True
                    break
        elif u.kind == K_REP:
            answer = u.rep.low == 0 or self.is_live(table, u.rep.item)
        else:
            answer = self.explore(table, t)
        table.terms[t].live = LIVE if answer else DEAD
        return answer

    cdef bint is_open(self, TermTable table, TermId t) noexcept nogil:
        """Return whether a term is a sequence whose emptiness is not yet known."""
        cdef Term* u = &table.terms[t]
        return u.kind == K_SEQ and u.flags & F_BOOL and u.live == LIVE_UNKNOWN

    cdef bint explore(self, TermTable table, TermId t) except FAILED nogil:
        """Search the derivatives of a regular term for a nullable one, in two orders by turns.

        Most visits go to the state that seems to need the fewest bytes (`effort`), with the bytes to it added,
        and find a string in about as many steps as it has bytes. The estimate can mislead, so every
        ``BY_AGE``-th visit goes to the oldest state. More of them would cost more than they find: with a minimal
        length, the oldest states lead nowhere, and their successors mislead the other order. First of all, the
        latest endings that searches found are tried, since most states of a walk end alike.
        Cost: at most ``BY_AGE`` times the visits of a search by age, and linear in the bytes of the cached endings.
        """
        cdef vector[TermId] queue       # every state that was met
        cdef vector[int32_t] parent     # of each of these, in the queue
        cdef vector[int32_t] depth      # bytes from the term
        cdef vector[uint8_t] visited
        cdef vector[uint8_t] byte_to    # the byte from its parent to it
        cdef vector[uint8_t] ending
        cdef priority_queue[pair[int64_t, int32_t]] promising   # minus the estimate, index in the queue
        cdef pair[int64_t, int32_t] best
        cdef KeyMap seen
        cdef size_t oldest = 0
        cdef int64_t visits = 0, least
        cdef TermId u, d
        cdef MapId map
        cdef int32_t k, at, found = -1
        if table.terms[t].nu.possible() or self.try_endings(table, t):
            return True
        queue.push_back(t)
        parent.push_back(-1)
        byte_to.push_back(0)
        depth.push_back(0)
        visited.push_back(0)
        best.first = best.second = 0
        promising.push(best)
        seen.put(t, 1)
        while found < 0:
            table.meter.spend(40)
            while oldest < queue.size() and visited[oldest]:
                oldest += 1
            if oldest == queue.size():
                break
            at = <int32_t>oldest
            visits += 1
            if visits % BY_AGE:
                while visited[promising.top().second]:  # one at least is not
                    promising.pop()
                at = promising.top().second
                promising.pop()
            visited[at] = 1
            u = queue[at]
            map = self.derivatives.classes_of(table, u)
            for k in range(table.classes.maps[map].count):
                d = self.derivatives.derive(table, u, table.classes.maps[map].byte_of[k])
                if d == EMPTY or table.terms[d].live == DEAD or seen.get(d) != NO_VALUE:
                    continue
                seen.put(d, 1)
                depth.push_back(depth[at] + 1)
                least = effort(table, d, &self.efforts, 0)
                best.first = -((2 * least + depth.back()) * 2 * MAX_EFFORT + least)
                best.second = <int32_t>queue.size()
                promising.push(best)
                queue.push_back(d)
                parent.push_back(at)
                byte_to.push_back(table.classes.maps[map].byte_of[k])
                visited.push_back(0)
                if table.terms[d].nu.possible() or table.terms[d].live == LIVE:
                    found = best.second
                    break
            if queue.size() > self.max_explored:
                raise BudgetError(
                    "max_explored",
                    self.max_explored,
                    "states visited to decide whether `&` or `!` leaves anything",
                )
        if found < 0:
            for u in queue:
                table.terms[u].live = DEAD
            return False
        while found >= 0:
            table.terms[queue[found]].live = LIVE
            if found:
                ending.push_back(byte_to[found])
            found = parent[found]
        if ending.size() >= SHORT_ENDING:
            reverse(ending.begin(), ending.end())
            if self.endings.size() == MAX_ENDINGS:
                self.endings.pop_back()
            self.endings.insert(self.endings.begin(), ending)
        return True

    cdef bint try_endings(self, TermTable table, TermId t) except FAILED nogil:
        """Return whether a cached ending is a string of a term; False means unknown."""
        cdef vector[TermId] path
        cdef size_t i, k
        cdef TermId d
        for i in range(self.endings.size()):
            path.clear()
            path.push_back(t)
            for k in range(self.endings[i].size()):
                d = self.derivatives.derive(table, path.back(), self.endings[i][k])
                if d == EMPTY or table.terms[d].live == DEAD:
                    break
                path.push_back(d)
                if table.terms[d].nu.possible() or table.terms[d].live == LIVE:
                    for d in path:
                        table.terms[d].live = LIVE
                    while i:  # to the front
                        self.endings[i].swap(self.endings[i - 1])
                        i -= 1
                    return True
        return False


# ------------------------------------------------------------------------------------------------
# Terms that are equal to a shorter term, as far as a short search of their derivatives shows it.
#
# Without this, operands of intersections pile up. The intersection of a pattern and a length becomes a counter
# again, and a pattern that has been found becomes "any text" again.
# ------------------------------------------------------------------------------------------------


cdef enum:
    MAX_SIMPLE = 600    # derivatives visited to see that a term is equal to a repetition


cdef bint ask_is_textual(void* simplifier, TermTable table, TermId t) except FAILED nogil:
    return (<Simplifier>simplifier).is_textual(table, t)


cdef TermId ask_both_repeats(void* simplifier, TermTable table, TermId a, TermId b) except ID_FAILED nogil:
    return (<Simplifier>simplifier).both_repeats(table, a, b)


cdef bint ask_is_subset(void* simplifier, TermTable table, TermId a, TermId b) except FAILED nogil:
    return (<Simplifier>simplifier).is_subset(table, a, b)


cdef TermId ask_simplified(void* simplifier, TermTable table, TermId t) except ID_FAILED nogil:
    return (<Simplifier>simplifier).simplified(table, t)


@cython.final
cdef class Simplifier:
    """Searches for operands of intersections; each call receives the table of the terms.

    Owner: the store of the terms. While it lives, the constructors and derivatives that it received call it.
    They borrow this reference, so that there is no reference cycle.
    """

    def __cinit__(
        self, Constructors make not None, Derivatives derivatives not None, Emptiness emptiness not None
    ):
        self.make = make
        self.derivatives = derivatives
        self.emptiness = emptiness
        self.searching = self.including = False
        make.rules.simplifier = <void*>self
        make.rules.is_textual = ask_is_textual
        make.rules.both_repeats = ask_both_repeats
        make.rules.is_subset = ask_is_subset
        derivatives.simplifier = <void*>self
        derivatives.simplify = ask_simplified

    def __dealloc__(self):
        if self.make is not None:
            self.make.rules.simplifier = NULL
        if self.derivatives is not None:
            self.derivatives.simplify = NULL

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes, without the table."""
        cdef size_t held = self.simple.nbytes() + self.textual.nbytes()
        return held + self.known_subsets.nbytes() + self.known_codes.nbytes()

    cdef TermId simplified(self, TermTable table, TermId t) except ID_FAILED nogil:
        """Return x* for a regular term that is equivalent to x*; else the term itself. Cached.

        Cost: a search of at most MAX_SIMPLE derivatives.
        """
        cdef vector[TermId] items
        cdef TermId x
        cdef int32_t found
        if table.terms[t].kind == K_REP or table.terms[t].flags & F_IMPURE:
            return t
        found = self.simple.get(t)
        if found != NO_VALUE:
            return found
        if self.searching:
            # a search would start searches without end
            return t
        self.simple.put(t, t)
        x = self.star_in(table, t)
        if x == NO_TERM:
            return t
        items.push_back(t)
        items.push_back(self.make.mk_not(table, x))
        self.searching = True
        try:
            if self.is_empty_soon(table, self.make.mk_and(table, items)):
                self.simple.put(t, x)
                return x
        finally:
            self.searching = False
        return t

    cdef TermId star_in(self, TermTable table, TermId t) except ID_FAILED nogil:
        """Return the unbounded repetition that is one of the alternatives of a term, or NO_TERM."""
        cdef Term u = table.terms[t]
        cdef Term r
        cdef TermId s
        cdef int32_t k, count = 1
        if u.kind == K_ALT:
            count = u.operands.count
        table.meter.spend(2 * count)
        for k in range(count):
            s = table.kids[u.operands.first + k] if u.kind == K_ALT else t
            r = table.terms[s]
            if r.kind == K_SEQ and table.terms[r.seq.rest].nu.always():
                s = r.seq.first
                r = table.terms[s]
            if is_star(table, s):
                return s
        return NO_TERM

    cdef bint is_empty_soon(self, TermTable table, TermId t) except FAILED nogil:
        """Return whether a term is found to be empty within MAX_SIMPLE derivatives."""
        cdef vector[TermId] queue
        cdef KeyMap seen
        cdef size_t next = 0
        cdef TermId u, d
        cdef MapId map
        cdef int32_t k
        if t == EMPTY or table.terms[t].live == DEAD:
            return True
        queue.push_back(t)
        seen.put(t, 1)
        while next < queue.size():
            u = queue[next]
            if table.terms[u].nu.possible() or table.terms[u].live == LIVE:
                return False
            map = self.derivatives.classes_of(table, u)
            table.meter.spend(8 + 6 * table.classes.maps[map].count)
            for k in range(table.classes.maps[map].count):
                d = self.derivatives.derive(table, u, table.classes.maps[map].byte_of[k])
                if d == EMPTY or table.terms[d].live == DEAD or seen.get(d) != NO_VALUE:
                    continue
                if table.terms[d].nu.possible():
                    return False
                seen.put(d, 1)
                queue.push_back(d)
            next += 1
            if queue.size() > MAX_SIMPLE:
                return False
        for u in queue:
            table.terms[u].live = DEAD
        return True

    cdef bint is_textual(self, TermTable table, TermId t) except FAILED nogil:
        """Return whether a term is a repetition of well-formed UTF-8, or one after a first character. Cached."""
        cdef vector[TermId] items
        cdef int32_t known
        cdef bint begun = table.terms[t].kind == K_SEQ and table.terms[table.terms[t].seq.rest].kind == K_REP
        if (table.terms[t].kind != K_REP and not begun) or table.terms[t].flags & (F_BOOL | F_IMPURE):
            return False
        known = self.textual.get(t)
        if known == NO_VALUE:
            self.textual.put(t, 0)
            if is_wellformed(table, t):
                self.textual.put(t, 1)
                return True
            if begun:
                return False
            items.push_back(t)
            items.push_back(self.make.mk_not(table, self.make.any_text))
            known = not self.emptiness.is_live(table, self.make.mk_and(table, items))
            self.textual.put(t, known)
        return known == 1

    cdef TermId both_repeats(self, TermTable table, TermId a, TermId b) except ID_FAILED nogil:
        """Return the intersection of two repetitions if this is one repetition, else NO_TERM.

        x{…} & y{…} is x{m,n} if every x is a y and y is a prefix code, so that strings split into y in one
        way. A pattern of one character class with a length is such a case, and becomes a counter again. For
        every x, x* & x{m,n} is x{m,n}.
        """
        cdef Term s = table.terms[a]
        cdef Term t = table.terms[b]
        cdef int32_t low, high
        if s.kind != K_REP or t.kind != K_REP or (s.flags | t.flags) & (F_BOOL | F_IMPURE):
            return NO_TERM
        if s.rep.item == t.rep.item:
            if is_star(table, a):
                return b
            if is_star(table, b):
                return a
            if not self.is_code(table, s.rep.item):
                return NO_TERM
        elif self.is_code(table, t.rep.item) and self.is_subset(table, s.rep.item, t.rep.item):
            pass
        elif self.is_code(table, s.rep.item) and self.is_subset(table, t.rep.item, s.rep.item):
            s.rep.item = t.rep.item
        else:
            return NO_TERM
        low = s.rep.low if s.rep.low > t.rep.low else t.rep.low
        high = min(s.rep.high, t.rep.high)
        if high < low:
            return EMPTY
        return self.make.mk_rep(table, s.rep.item, low, high)

    cdef bint is_subset(self, TermTable table, TermId a, TermId b) except FAILED nogil:
        """Return whether b is found to include every string of a. Cached."""
        cdef uint64_t key = (<uint64_t>a << 32) | <uint64_t>b
        cdef int32_t found = self.known_subsets.get(key)
        cdef vector[TermId] items
        if found == NO_VALUE:
            if self.searching or self.including:
                return False
            self.including = True
            try:
                items.push_back(a)
                items.push_back(self.make.mk_not(table, b))
                found = self.is_empty_soon(table, self.make.mk_and(table, items))
            finally:
                self.including = False
            self.known_subsets.put(key, found)
        return found == 1

    cdef bint is_code(self, TermTable table, TermId item) except FAILED nogil:
        """Return whether a term is found to be a prefix code: no string of it is a prefix of another. Cached."""
        cdef TermId d
        cdef MapId map
        cdef int32_t found = self.known_codes.get(item), k
        cdef vector[TermId] queue
        cdef KeyMap seen
        cdef size_t next = 0
        if found != NO_VALUE:
            return found == 1
        found = not table.terms[item].nu.possible()
        queue.push_back(item)
        while found and next < queue.size():
            map = self.derivatives.classes_of(table, queue[next])
            table.meter.spend(8 + 6 * table.classes.maps[map].count)
            for k in range(table.classes.maps[map].count):
                d = self.derivatives.derive(table, queue[next], table.classes.maps[map].byte_of[k])
                if d == EMPTY or d == EPS or seen.get(d) != NO_VALUE:
                    continue
                seen.put(d, 1)
                queue.push_back(d)
                if table.terms[d].nu.possible() or queue.size() > MAX_SIMPLE:
                    found = 0
            next += 1
        self.known_codes.put(item, found)
        return found == 1


# ------------------------------------------------------------------------------------------------
# Steps from state to state: derivatives without alternatives that have no string, simplified.
# ------------------------------------------------------------------------------------------------


@cython.final
cdef class Steps:
    """The steps between the terms of one table; each call gets the table. Owner: the store of the terms."""

    def __cinit__(
        self,
        Constructors make not None,
        Derivatives derivatives not None,
        Emptiness emptiness not None,
        Simplifier simplifier not None,
    ):
        self.make = make
        self.derivatives = derivatives
        self.emptiness = emptiness
        self.simplifier = simplifier

    cdef TermId step(self, TermTable table, TermId t, SymbolId symbol) except ID_FAILED nogil:
        """Return the derivative of a state, EMPTY if no string remains. Cost: a look-up once it is known."""
        cdef TermId d = self.derivatives.derive(table, t, symbol), first, simple
        if table.terms[d].flags & F_BOOL:
            d = self.prune(table, d)
        # after a search has found its pattern, the term that remains is "any text"
        first = table.terms[d].seq.first if table.terms[d].kind == K_SEQ else d
        if table.terms[first].kind >= K_SEQ and table.terms[first].nu.always():
            simple = self.simplifier.simplified(table, first)
            if simple != first:
                if table.terms[d].kind == K_SEQ:
                    simple = self.make.mk_seq(table, simple, table.terms[d].seq.rest)
                d = simple
        return d

    cdef TermId prune(self, TermTable table, TermId t) except ID_FAILED nogil:
        """Remove the empty alternatives."""
        cdef Term u = table.terms[t]
        cdef vector[TermId] items
        cdef int32_t k
        if not self.emptiness.is_live(table, t):
            return EMPTY
        if u.kind != K_ALT:
            return t
        for k in range(u.operands.count):
            if self.emptiness.is_live(table, table.kids[u.operands.first + k]):
                items.push_back(table.kids[u.operands.first + k])
        if <int32_t>items.size() == u.operands.count:
            return t
        return self.make.mk_alt(table, items, 0)


# ------------------------------------------------------------------------------------------------
# How terms can end: which guards may be pending there.
#
# A guard is pending where a term ends after it, with no symbol between: what follows the term must satisfy it.
# ------------------------------------------------------------------------------------------------


cdef enum:
    MAX_ENDS_NESTED = 500   # sequences within which a rule is visited where it is met; others wait


@cython.final
cdef class Endings:
    """The ends of the terms and rules of one table; each call gets the table. Owner: the term store."""

    def __cinit__(self, Constructors make not None, Steps steps not None):
        self.make = make
        self.steps = steps
        self.solving = False
        self.final = 0

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes, without the table."""
        cdef size_t pairs = self.found.size() + self.rule_found.size()
        cdef size_t held = self.index.nbytes() + self.rule_index.nbytes() + sizeof(Ends) * pairs
        return held + 8 * self.rule_keys.size()

    cdef int ends(self, TermTable table, TermId t, GuardId guard, Ends* out) except FAILED nogil:
        """Find the guards that can be pending when t ends, if the next byte must satisfy ``guard``."""
        cdef uint64_t key = (<uint64_t>t << 6) | <uint64_t>guard
        cdef int32_t at = self.index.get(key)
        if at != NO_VALUE:
            out[0] = self.found[at]
            return 0
        self.ends_of(table, t, guard, out)
        self.index.put(key, <int32_t>self.found.size())
        self.found.push_back(out[0])
        return 0

    cdef int ends_of(self, TermTable table, TermId t, GuardId guard, Ends* out) except FAILED nogil:
        """Find the guards that can be pending at the end of a term that starts under a guard."""
        cdef Ends part
        cdef uint64_t consumed = 0, silent = <uint64_t>1 << guard, next_silent, from_consumed, left
        cdef GuardId g
        cdef TermId first
        # visit the items of the sequence with the two sets of guards that can be pending there
        self.nesting += 1
        while True:
            first = table.terms[t].seq.first if table.terms[t].kind == K_SEQ else t
            next_silent = 0
            from_consumed = 0
            left = consumed | silent
            while left:
                g = lowest_bit(left)
                left &= left - 1
                if first == t:
                    self.ends_of_item(table, first, g, &part)
                else:
                    self.ends(table, first, g, &part)
                if (consumed >> g) & 1:
                    from_consumed |= part.consumed | part.silent
                if (silent >> g) & 1:
                    from_consumed |= part.consumed
                    next_silent |= part.silent
            consumed = from_consumed
            silent = next_silent
            if first == t:
                break
            t = table.terms[t].seq.rest
        self.nesting -= 1
        out.consumed = consumed
        out.silent = silent
        return 0

    cdef int ends_of_item(self, TermTable table, TermId t, GuardId guard, Ends* out) except FAILED nogil:
        """As ``ends_of``, for a term that is not a sequence."""
        cdef Term u = table.terms[t]
        cdef Ends part
        cdef Call call
        cdef int32_t k
        cdef int symbol
        out.consumed = 0
        out.silent = 0
        if u.kind == K_EPS:
            out.silent = <uint64_t>1 << guard
        elif u.kind == K_GUARD:
            out.silent = <uint64_t>1 << table.classes.guard_and(guard, u.guard)
        elif u.kind == K_TOKEN:
            out.consumed = 1
        elif u.kind == K_SET or u.kind == K_LIT:
            if self.make.guard_first(table, guard, t) != EMPTY:
                out.consumed = 1
        elif u.kind == K_AND or u.kind == K_NOT:
            for symbol in range(256):
                if table.classes.guard_has(guard, symbol) and self.steps.step(table, t, symbol) != EMPTY:
                    out.consumed = 1
                    break
            if u.nu.possible():
                out.silent = <uint64_t>1 << guard
        elif u.kind == K_ALT:
            for k in range(u.operands.count):
                self.ends(table, table.kids[u.operands.first + k], guard, &part)
                out.consumed |= part.consumed
                out.silent |= part.silent
        elif u.kind == K_CALL:
            call = table.call_table[u.call.id]
            if call.kind == CALL_TEST:
                out.silent = <uint64_t>1 << guard
            elif call.kind == CALL_RESOLVER:
                out.consumed = 1
            else:
                self.rule_ends(table, call.rule, guard, out)
            if u.call.nonempty:
                out.silent = 0
        elif u.kind == K_REP:
            self.ends_of_repeat(table, u, guard, out)
        return 0

    cdef int ends_of_repeat(self, TermTable table, Term u, GuardId guard, Ends* out) except FAILED nogil:
        """As ``ends_of``, for a repetition; ``out`` is still empty."""
        cdef Ends part
        cdef uint64_t current_c, current_s, before_c, before_s, left
        cdef int32_t count
        cdef GuardId g
        # after i iterations the pending guards are (current_c, current_s); stop when they repeat
        current_c = 0
        current_s = <uint64_t>1 << guard
        count = 0
        while True:
            if count >= u.rep.low:
                before_c = out.consumed
                before_s = out.silent
                out.consumed |= current_c
                out.silent |= current_s
                if count > u.rep.low and before_c == out.consumed and before_s == out.silent:
                    break
            if count >= u.rep.high:
                break
            before_c = current_c
            before_s = current_s
            current_c = 0
            current_s = 0
            left = before_c | before_s
            while left:
                g = lowest_bit(left)
                left &= left - 1
                self.ends(table, u.rep.item, g, &part)
                if (before_c >> g) & 1:
                    current_c |= part.consumed | part.silent
                if (before_s >> g) & 1:
                    current_c |= part.consumed
                    current_s |= part.silent
            count += 1
            if current_c == before_c and current_s == before_s and count < u.rep.low:
                count = u.rep.low
            if not current_c and not current_s:
                break
        return 0

    cdef int rule_ends(self, TermTable table, RuleId rule, GuardId guard, Ends* out) except FAILED nogil:
        """As ``ends``, for a rule: the least fixpoint over rules, extended for each new pair (rule, guard).

        The results of earlier calls are final, since they do not depend on newer pairs. A new pair is visited
        when it is reached, and again after a change of a pair that it used, newest first.
        """
        cdef uint64_t key = (<uint64_t>rule << 6) | <uint64_t>guard
        cdef int32_t at = self.rule_index.get(key), user = self.current
        cdef bint is_new = at == NO_VALUE
        cdef Ends none
        cdef size_t k
        if is_new:
            none.consumed = 0
            none.silent = 0
            at = <int32_t>self.rule_found.size()
            self.rule_index.put(key, at)
            self.rule_found.push_back(none)
            self.rule_keys.push_back(key)
        if <size_t>at >= self.final and self.solving:
            if is_new:
                self.queue(at)
                if self.nesting < MAX_ENDS_NESTED:
                    self.visit(table, at)
                    self.current = user
                    self.forget()
            self.add_user(at, user)
        elif <size_t>at >= self.final:
            self.solving = True
            self.nesting = 0
            try:
                for k in range(self.final, self.rule_keys.size()):  # those of an interrupted call too
                    self.queue(<int32_t>k)
                while not self.waiting.empty():
                    self.visit(table, self.waiting.top())
                self.final = self.rule_keys.size()
            finally:
                # an interrupted call leaves pairs that are not final; the next call visits them again
                self.solving = False
                while not self.waiting.empty():
                    self.waiting.pop()
                self.is_waiting.clear()
                self.users.clear()
                self.forget()
        out[0] = self.rule_found[at]
        return 0

    cdef int visit(self, TermTable table, int32_t at) except FAILED nogil:
        """Find the ends of a waiting pair from the current ends of other pairs."""
        cdef Ends now
        cdef size_t k
        cdef uint64_t key = self.rule_keys[at]
        if not self.waiting.empty() and self.waiting.top() == at:
            self.waiting.pop()
        if not self.is_waiting[at - self.final]:
            return 0
        self.is_waiting[at - self.final] = False
        self.current = at
        self.forget()
        self.ends(table, table.rule_body[key >> 6], key & 63, &now)
        if now.consumed != self.rule_found[at].consumed or now.silent != self.rule_found[at].silent:
            self.rule_found[at] = now
            for k in range(self.users[at - self.final].size()):
                self.queue(self.users[at - self.final][k])
        return 0

    cdef int queue(self, int32_t at) except FAILED nogil:
        """Queue a pair that is not final, unless it is already queued."""
        cdef size_t place = <size_t>at - self.final
        if place >= self.is_waiting.size():
            self.is_waiting.resize(place + 1, False)
            self.users.resize(place + 1)
        if not self.is_waiting[place]:
            self.is_waiting[place] = True
            self.waiting.push(at)
        return 0

    cdef int add_user(self, int32_t at, int32_t user) except FAILED nogil:
        """Record that a pair uses another one. Repeated records are mostly avoided."""
        cdef vector[int32_t]* users = &self.users[<size_t>at - self.final]
        if users.empty() or users.back() != user:
            users.push_back(user)
        return 0

    cdef int forget(self) except FAILED nogil:
        """Drop the results for terms, which are valid for one round. Cost: linear in the results."""
        self.found.clear()
        self.index.clear()
        return 0


# ------------------------------------------------------------------------------------------------
# The rules that a state may call before it reads anything.
# ------------------------------------------------------------------------------------------------


@cython.final
cdef class FirstCalls:
    """Finds the calls in first position of the terms of one table; each call receives the table.

    Owner: the store of the terms.
    """

    def __cinit__(self, Constructors make not None):
        self.make = make

    cdef int find_sites(self, TermTable table, TermId t) except FAILED nogil:
        """Find the possible first calls, once, and store them in site_lists[terms[t].calls]."""
        cdef vector[CallSite] found
        cdef SiteList entry
        cdef size_t i
        if table.terms[t].calls >= 0:
            return 0
        if table.terms[t].flags & F_CALL:
            self.collect_sites(table, t, ANY_BYTE, EPS, found)
        if found.empty():
            table.terms[t].calls = 0
            return 0
        entry.first = <int32_t>table.sites.size()
        entry.count = <int32_t>found.size()
        for i in range(found.size()):
            table.sites.push_back(found[i])
        table.terms[t].calls = <int32_t>table.site_lists.size()
        table.site_lists.push_back(entry)
        return 0

    cdef int collect_sites(
        self, TermTable table, TermId t, GuardId guard, TermId continuation, vector[CallSite]& out
    ) except FAILED nogil:
        """Append the calls in first position of a term, each with the guard before it and its continuation."""
        cdef Term u
        cdef CallSite site
        cdef TermId tail
        cdef int32_t k, high
        cdef Nullability nu
        while table.terms[t].kind == K_SEQ:
            u = table.terms[t]
            if table.terms[u.seq.first].flags & F_CALL:
                tail = self.make.mk_seq(table, u.seq.rest, continuation)
                self.collect_sites(table, u.seq.first, guard, tail, out)
            nu = table.terms[u.seq.first].nu
            if not nu.possible():
                return 0
            guard = table.classes.guard_and(guard, nu.guard())
            t = u.seq.rest
        u = table.terms[t]
        if not u.flags & F_CALL:
            return 0
        if u.kind == K_CALL:
            if continuation != EMPTY:
                site.call = u.call.id
                site.guard = guard
                site.continuation = continuation
                out.push_back(site)
        elif u.kind == K_ALT:
            for k in range(u.operands.count):
                self.collect_sites(table, table.kids[u.operands.first + k], guard, continuation, out)
        elif u.kind == K_REP:
            high = one_less(u.rep.high)
            tail = self.make.mk_rep(table, u.rep.item, u.rep.low - 1 if u.rep.low > 0 else 0, high)
            self.collect_sites(table, u.rep.item, guard, self.make.mk_seq(table, tail, continuation), out)
            nu = table.terms[u.rep.item].nu
            if nu.possible() and not nu.always() and u.rep.low > 1:
                # earlier iterations may be empty, under their guard
                tail = self.make.mk_rep(table, u.rep.item, 0, high)
                guard = table.classes.guard_and(guard, nu.guard())
                self.collect_sites(table, u.rep.item, guard, self.make.mk_seq(table, tail, continuation), out)
        return 0


# ------------------------------------------------------------------------------------------------
# Hash-consed terms and their derivatives: the local states of the automaton.
#
# A term is a small integer; equal terms are one integer. The store grows and never changes what it holds.
#
#     t ::= ∅ | ε | [bytes] | "literal" | t t | t "|" t | t{m,n} | t & t | ¬t | call | token | ≫[bytes]
#
# ``nu`` is the guard under which a term may end at the current position: a set of next bytes (the end of
# input and special tokens satisfy every guard), or NEVER.
#
# The store is the table of the records (``term_table``), and owns what works on it. Each of these gets the
# table with every call, rather than holding it: a reference back to their owner would be a cycle.
#
#     Constructors    terms made of terms
#     Derivatives     the term after a symbol
#     Emptiness       whether a term has a string
#     Simplifier      searches about operands of intersections, for the constructors and derivatives
#     Steps           derivatives without alternatives that have no string
#     Endings         the guards that can be pending where a term ends
#     FirstCalls      the rules that a term may call first
#
# ``TermBuilder`` is what the lowering calls.
# ------------------------------------------------------------------------------------------------


# ------------------------------------------------------------------------------------------------
# Terms as text, for goldens and debugging.
#
#     ε  ∅  b'text'  [61-7a]  a b  (a | b)  (a & b)  ¬(a)  (a){2,}    as in regular expressions, over bytes
#     ≫[61]           the next byte must be in the set, or the input ends
#     token0          a special token of a class
#     rule1           a call; rule1⁺ without the empty string
#     resolver0       a call of a dynamic rule
#     close, slot2    a test of an object key
#     action0(rule1), scope(rule1), keys0(rule1)      calls with what happens at their return
# ------------------------------------------------------------------------------------------------


# tests of object keys, by number; then the slots
TESTS = ("close", "continue", "undeclared")


cdef str dump_term(TermTable table, TermId t):
    """Return a term as text. Each subterm is written once; no recursion, since terms may be deep."""
    cdef dict known = {}
    cdef list todo = [t], operands, missing
    while todo:
        u = todo[len(todo) - 1]
        operands = operands_of(table, u)
        missing = [] if u in known else [operand for operand in operands if operand not in known]
        if missing:
            todo.extend(missing)
            continue
        todo.pop()
        if u not in known:
            known[u] = spell(table, u, [known[operand] for operand in operands])
    return known[t]


cpdef str dump_rules(TermTable table, object rules):
    """Return rules as text, one per line: bytes before which they may be empty, height and body."""
    cdef list lines = []
    cdef int32_t rule
    cdef Nullability nu
    for rule in rules:
        nu = table.rule_nu[rule]
        empty = ""
        if nu.always():
            empty = ", may be empty"
        elif nu.possible():
            empty = f", may be empty before {dump_set(table, table.classes.guard_sets[nu.guard()])}"
        body = dump_term(table, table.rule_body[rule])
        lines.append(f"rule{rule} (height {table.rule_height[rule]}{empty}) = {body}\n")
    return "".join(lines)


cdef list operands_of(TermTable table, TermId t):
    """Return the subterms of a term; for a sequence, return all its items."""
    cdef Term u = table.terms[t]
    cdef list items = []
    if u.kind == K_ALT or u.kind == K_AND:
        return [table.kids[u.operands.first + k] for k in range(u.operands.count)]
    if u.kind == K_REP:
        return [u.rep.item]
    if u.kind == K_NOT:
        return [u.negated]
    while u.kind == K_SEQ:
        items.append(u.seq.first)
        t = u.seq.rest
        u = table.terms[t]
    if items:
        items.append(t)
    return items


cdef str spell(TermTable table, TermId t, list operands):
    """Return a term as text, given the texts of its operands."""
    cdef Term u = table.terms[t]
    if u.kind == K_EMPTY:
        return "∅"
    if u.kind == K_EPS:
        return "ε"
    if u.kind == K_GUARD:
        return f"≫{dump_set(table, table.classes.guard_sets[u.guard])}"
    if u.kind == K_SET:
        return dump_set(table, u.set_id)
    if u.kind == K_LIT:
        return repr(bytes([table.pool[u.literal.first + i] for i in range(u.literal.length)]))
    if u.kind == K_SEQ:
        return " ".join(operands)
    if u.kind == K_ALT:
        return "(" + " | ".join(operands) + ")"
    if u.kind == K_AND:
        return "(" + " & ".join(operands) + ")"
    if u.kind == K_NOT:
        return f"¬({operands[0]})"
    if u.kind == K_REP:
        return f"({operands[0]}){{{u.rep.low},{'' if u.rep.high == UNBOUNDED else u.rep.high}}}"
    if u.kind == K_TOKEN:
        return f"token{u.token_class}"
    return dump_call(table.call_table[u.call.id]) + ("⁺" if u.call.nonempty else "")


cdef str dump_call(Call call):
    """Return an entry of the call table as text."""
    if call.kind == CALL_TEST:
        return TESTS[call.test] if call.test < len(TESTS) else f"slot{call.test - len(TESTS)}"
    called = f"resolver{call.resolver}" if call.kind == CALL_RESOLVER else f"rule{call.rule}"
    if call.action == ACTION_NONE:
        return called
    if call.action == ACTION_SCOPE:
        return f"scope({called})"
    if call.action == ACTION_KEYED:
        return f"keys{call.spec}({called})"
    if call.action == ACTION_COUNTED:
        return f"tokens{call.most_tokens}({called})"
    return f"action{call.action.action()}({called})"


cdef str dump_set(TermTable table, SetId set_id):
    """Return a byte set as text."""
    members = [b for b in range(256) if table.classes.set_has(set_id, b)]
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


cdef enum:
    MAX_TOKEN_CLASSES = 60_000    # they share 16 bits of a key with the bytes


cdef SetId set_of(ByteClasses classes, object mask) except ID_FAILED:
    """Return the byte set of a 256-bit mask."""
    cdef uint64_t words[4]
    for i in range(4):
        words[i] = (mask >> (64 * i)) & 0xFFFFFFFFFFFFFFFF
    return classes.intern_set(words)


@cython.final
cdef class TermStore(TermTable):
    """The terms, rules and calls of one automaton.

    Invariant: append-only; ids stay valid for the life of the store.
    """

    def __cinit__(self, uint64_t max_terms=20_000_000, uint64_t max_explored=200_000):
        self.make = Constructors()
        self.derivatives = Derivatives(self.make)
        self.emptiness = Emptiness(self.derivatives, max_explored)
        self.simplifier = Simplifier(self.make, self.derivatives, self.emptiness)
        self.steps = Steps(self.make, self.derivatives, self.emptiness, self.simplifier)
        self.endings = Endings(self.make, self.steps)
        self.first_calls = FirstCalls(self.make)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the approximate number of bytes of the terms, including all cached results."""
        cdef size_t held = TermTable.nbytes(self) + self.make.nbytes() + self.derivatives.nbytes()
        return held + self.emptiness.nbytes() + self.simplifier.nbytes() + self.endings.nbytes()

    def matches(self, TermId t, bytes data):
        """Return whether a regular term matches exactly these bytes."""
        cdef unsigned char byte
        for byte in data:
            t = self.steps.step(self, t, byte)
        return self.terms[t].nu.possible()

    def alive(self, TermId t):
        """Return whether the term has a string."""
        return self.emptiness.is_live(self, t)

    def size(self):
        """Return the number of terms."""
        self.meter.settle()
        return self.terms.size()

    def nbytes_held(self):
        """Return the approximate number of bytes of the terms."""
        self.meter.settle()
        return self.nbytes()

    def counts(self):
        """Return sizes: terms, transition rows, byte classes, guards, rules."""
        self.meter.settle()
        return {
            "terms": self.terms.size(),
            "byte_maps": self.classes.maps.size(),
            "guards": self.classes.guard_sets.size(),
            "term_bytes": self.nbytes(),
            "rules": self.rule_body.size(),
        }

    def dump(self, TermId t):
        """Return the term as text, for goldens and debugging. Callees are named by number."""
        return dump_term(self, t)


@cython.final
cdef class TermBuilder:
    """Creates the terms, rules and calls of grammars in a store, for the lowering. It has no other state."""

    def __cinit__(self, TermStore terms not None):
        self.terms = terms

    def byte_set(self, mask):
        """Return the term of one byte in ``mask`` (a 256-bit int)."""
        return self.terms.make.mk_set(self.terms, set_of(self.terms.classes, mask))

    def guard(self, mask):
        """Return the guard that requires the next byte to be in ``mask``, without consuming it."""
        return self.terms.make.mk_guard(self.terms, self.guard_id(mask))

    def guard_id(self, mask):
        """Return the id of the guard that allows the bytes in ``mask``."""
        return self.terms.classes.guard_of_set(set_of(self.terms.classes, mask))

    cpdef TermId literal(self, bytes data) except ID_FAILED:
        """Return the term of exactly these bytes."""
        return self.terms.make.mk_bytes(self.terms, data)

    def sequence(self, items):
        """Return the concatenation of the terms."""
        cdef TermId t = EPS
        for item in reversed(items):
            t = self.terms.make.mk_seq(self.terms, item, t)
        return t

    def alternatives(self, items):
        """Return the union of the terms; without terms, the empty language."""
        cdef vector[TermId] operands
        for item in items:
            operands.push_back(item)
        return self.terms.make.mk_alt(self.terms, operands, 0)

    def repeat(self, TermId item, int32_t low, high):
        """Return ``low`` to ``high`` repetitions of the term; None for no upper bound."""
        return self.terms.make.mk_rep(self.terms, item, low, UNBOUNDED if high is None else high)

    def token(self, TokenClassId token_class):
        """Return the term of one special token of the class."""
        return intern_token(self.terms, token_class)

    cdef CallId add_call(self, Call call) except ID_FAILED nogil:
        """Add a call to the call table."""
        self.terms.call_table.push_back(call)
        return <int32_t>self.terms.call_table.size() - 1

    cpdef TermId call(self, CallId call, bint nonempty=False, bint keys=False) except ID_FAILED:
        """Return the term of a call; ``nonempty`` excludes the empty string; ``keys``: it tests keys."""
        cdef Nullability nu = NEVER
        if self.terms.call_table[call].kind == CALL_RULE and not nonempty:
            nu = self.terms.rule_nu[self.terms.call_table[call].rule]
        return intern_call(self.terms, call, nonempty, nu, F_CALL | F_IMPURE | (F_KEYS if keys else 0))

    cpdef RuleId add_rule(self, object nu) except ID_FAILED:
        """Declare a rule; ``nu`` is the mask of bytes before which it may be empty, or None."""
        self.terms.rule_body.push_back(EMPTY)
        self.terms.rule_nu.push_back(NEVER if nu is None else Nullability.under(self.guard_id(nu)))
        self.terms.rule_height.push_back(0)
        return <int32_t>self.terms.rule_body.size() - 1

    cpdef int set_rule(self, RuleId rule, TermId body, int32_t height) except FAILED:
        """Set the body and the height of a declared rule, which is higher than its possible first calls."""
        self.terms.rule_body[rule] = body
        self.terms.rule_height[rule] = height
        return 0

    def add_token_class(self):
        """Add a class of special tokens and return its number."""
        if self.terms.token_classes >= MAX_TOKEN_CLASSES:
            raise BudgetError("max_token_classes", MAX_TOKEN_CLASSES, "sets of special tokens", fixed=True)
        self.terms.token_classes += 1
        return self.terms.token_classes - 1


# ------------------------------------------------------------------------------------------------
# Sets of literals, each with what may follow it, as one term that shares their prefixes.
# ------------------------------------------------------------------------------------------------


cpdef int32_t literal_trie(TermBuilder build, dict tails) except FAILED:
    """Return the alternatives of the words, each followed by one of its tails. Words share their prefixes.

    Cost: linear in the bytes, after sorting.
    """
    cdef list words = sorted(tails), stack
    cdef bytes word, following
    cdef Py_ssize_t i, after, depth, top, outer, n
    if not words:
        return EMPTY
    if len(words) == 1:
        return ending(build, tails, words[0], 0)
    # a stack of open branch points: (length of the prefix, alternatives so far)
    stack = [(0, [])]
    for i in range(len(words)):
        word = words[i]
        after = 0
        if i + 1 < len(words):
            following = words[i + 1]
            n = min(len(word), len(following))
            while after < n and word[after] == following[after]:
                after += 1
        depth = stack[len(stack) - 1][0]
        if after > depth:
            # the next word branches off closer to the root
            stack.append((after, []))
            depth = after
        stack[len(stack) - 1][1].append(ending(build, tails, word, depth))
        while stack[len(stack) - 1][0] > after:
            top, kids = stack.pop()
            joined = build.alternatives(kids)
            outer = max(after, stack[len(stack) - 1][0])
            if outer > stack[len(stack) - 1][0]:
                stack.append((outer, []))
            stack[len(stack) - 1][1].append(build.terms.mk_seq(build.literal(word[outer:top]), joined))
    return build.alternatives(stack[0][1])


cdef int32_t ending(TermBuilder build, dict tails, bytes word, Py_ssize_t depth) except FAILED:
    cdef list ends = tails[word]
    cdef int32_t tail = ends[0] if len(ends) == 1 else build.alternatives(ends)
    return build.terms.mk_seq(build.literal(word[depth:]), tail)
