# distutils: language = c++
"""Derivatives of terms, and which bytes a term distinguishes.

``derive(t, s)`` is the term after symbol s, a byte or a class of special tokens (Brzozowski 1964; Owens,
Reppy and Turon 2009 for hash-consing and byte classes), remembered per class of bytes that it does not
tell apart.
"""

cimport cython
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport Nullability
from stackmask.pda.terms.term_table cimport (
    EMPTY,
    EPS,
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
    TOKENS,
    Term,
    one_less,
    token_symbol,
)
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_free, map_get, map_init, map_put

cdef enum:
    FEW_KIDS = 4        # alternatives that are searched for a first byte,
    FEW_LEVELS = 2      # ... and alternatives in those
    FEW_ITEMS = 64      # items of a sequence that are visited for one result
    ANCHOR_BITS = 6     # one of 64 sequences is an anchor


cdef inline bint is_anchor(TermId t) noexcept nogil:
    """Tell whether a sequence is one of those whose derivatives are found for the longer ones as well.

    The sequences that end alike, with one more item each, must have the same anchors: so it is by the id.
    """
    return (<uint32_t>t * <uint32_t>0x9E3779B9) >> (32 - ANCHOR_BITS) == 0


cdef inline TermId add_operand(vector[TermId]& operands, TermId first, TermId t) except -1 nogil:
    """Add one more alternative, and return the first one.

    The list allocates memory, so the first one is stored in it only when a second one comes, which is rare.
    """
    if t == EMPTY or first == EMPTY:
        return first if t == EMPTY else t
    if operands.empty():
        operands.push_back(first)
    operands.push_back(t)
    return first


@cython.final
cdef class Derivatives:
    """The derivatives of the terms of one table; each call gets the table.

    Owner: the store of the terms. ``simplify``: applied to operands of intersections, or NULL.
    """

    def __cinit__(self, Constructors make not None):
        self.make = make
        self.simplify = NULL
        self.simplifier = NULL
        map_init(&self.known)

    def __dealloc__(self):
        map_free(&self.known)

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes this holds; the table is not counted."""
        return 12 * self.known.mask

    cdef MapId classes_of(self, TermTable table, TermId t) except -1 nogil:
        """Return the partition of the bytes that one step of the term distinguishes."""
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
                if items > FEW_ITEMS:
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

    cdef MapId classes_of_run(self, TermTable table, TermId t) except -1 nogil:
        """Return the same for a sequence of many items that may be empty.

        It is remembered for every suffix, as each of them is a state later. Cost: linear for all of them.
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

    cdef MapId classes_of_kids(self, TermTable table, Term u) except -1 nogil:
        """Return the same for alternatives. Literals, maybe thousands, are treated together."""
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

    cdef TermId derive(self, TermTable table, TermId t, SymbolId symbol) except -1 nogil:
        """Return the derivative of a term. It is remembered unless it costs no more than a look-up.

        Most terms can continue with one byte only, which needs no classes. So the first derivative is stored
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
            u.derivative = map_get(&self.known, key)
            if u.derivative != NO_VALUE:
                return u.derivative
        d = self.derive_raw(table, t, symbol)
        # the computation may have stored another derivative
        if table.terms[t].symbol < 0:
            table.terms[t].symbol = symbol
            table.terms[t].derivative = d
        elif table.terms[t].symbol != symbol:
            map_put(&self.known, (<uint64_t>t << 16) | <uint64_t>self.class_of(table, t, symbol), d)
        return d

    cdef int32_t class_of(self, TermTable table, TermId t, SymbolId symbol) except -1 nogil:
        """Return the class of a byte in the partition of a term; a token class is one by itself."""
        cdef MapId map
        if symbol >= TOKENS:
            return symbol
        map = table.terms[t].map
        return table.classes.maps[map if map >= 0 else self.classes_of(table, t)].of[symbol]

    cdef TermId after_first(self, TermTable table, Term u) except -1 nogil:
        """Return what follows the first byte of a sequence that begins with a byte set or a literal."""
        cdef Term prefix = table.terms[u.seq.first]
        cdef TermId rest
        if prefix.kind == K_SET:
            return u.seq.rest
        rest = self.make.mk_literal(table, prefix.literal.first + 1, prefix.literal.length - 1)
        return self.make.mk_seq(table, rest, u.seq.rest)

    cdef bint may_begin(self, TermTable table, TermId t, int32_t byte, int levels) noexcept nogil:
        """Tell whether a term may begin with a byte, as far as its structure shows it; else True.

        Most names of an object cannot begin with the byte at hand, and a step over all tests each one.
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

    cdef TermId derive_raw(self, TermTable table, TermId t, SymbolId symbol) except -1 nogil:
        """Find a derivative that is not remembered yet."""
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
            if items > FEW_ITEMS and is_anchor(t):
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

    cdef int derive_anchors(self, TermTable table, TermId t, SymbolId symbol) except -1 nogil:
        """Find the derivatives of the anchors in a sequence of many optional items, from the last one.

        Each suffix of such a sequence is a state later. With these at hand, its derivative takes the items up
        to its first anchor, and not all.
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

    cdef bint is_derived(self, TermTable table, TermId t, SymbolId symbol) except -1 nogil:
        """Tell whether the derivative of a sequence is remembered."""
        cdef Term u = table.terms[t]
        cdef int32_t d
        if u.symbol < 0:
            return False
        d = self.class_of(table, t, symbol)
        if d == self.class_of(table, t, u.symbol):
            return True
        return map_get(&self.known, (<uint64_t>t << 16) | <uint64_t>d) != NO_VALUE

    cdef TermId derive_part(self, TermTable table, TermId t, SymbolId symbol) except -1 nogil:
        """Find the derivative of a term that is no sequence."""
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
            return self.make.mk_not(table, self.derive(table, u.negated, symbol))
        return EMPTY
