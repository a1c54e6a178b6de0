# distutils: language = c++
"""Derivatives of terms, and which bytes a term distinguishes.

``derive(t, s)`` is the term after symbol s, a byte or a class of special tokens (Brzozowski 1964; Owens,
Reppy and Turon 2009 for hash-consing and byte classes), remembered per class of bytes that it does not
tell apart.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libcpp.algorithm cimport reverse
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from stackmask.pda.ids cimport FAILED, ID_FAILED, UNBOUNDED, MapId, Nullability, TermId
from stackmask.pda.memory.byte_sets cimport lowest_bit
from stackmask.pda.memory.checked_vectors cimport priority_queue
from stackmask.pda.memory.hash_tables cimport (
    NO_VALUE,
    KeyMap,
    map_clear,
    map_free,
    map_get,
    map_init,
    map_put,
)
from stackmask.pda.terms.constructors cimport NO_TERM, is_wellformed
from stackmask.pda.terms.term_table cimport (
    ANY_BYTE,
    CALL_RESOLVER,
    CALL_TEST,
    DEAD,
    EMPTY,
    EPS,
    F_BOOL,
    F_CALL,
    F_IMPURE,
    K_ALT,
    K_AND,
    K_CALL,
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
    Call,
    SiteList,
    Term,
    TermTable,
    one_less,
    token_symbol,
)

from stackmask.pda.errors import BudgetError


cdef enum:
    FEW_KIDS = 4        # alternatives that are searched for a first byte,
    FEW_LEVELS = 2      # ... and alternatives in those
    FEW_ITEMS = 64      # items of a sequence that are visited for one result
    ANCHOR_BITS = 6     # one of 64 sequences is an anchor


cdef inline bint is_anchor(TermId t) noexcept nogil:
    """Return whether a sequence is one of those whose derivatives are found for the longer ones as well.

    The sequences that end alike, with one more item each, must have the same anchors: so it is by the id.
    """
    return (<uint32_t>t * <uint32_t>0x9E3779B9) >> (32 - ANCHOR_BITS) == 0


cdef inline TermId add_operand(vector[TermId]& operands, TermId first, TermId t) except ID_FAILED nogil:
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

    cdef MapId classes_of(self, TermTable table, TermId t) except ID_FAILED nogil:
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

    cdef MapId classes_of_run(self, TermTable table, TermId t) except ID_FAILED nogil:
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

    cdef MapId classes_of_kids(self, TermTable table, Term u) except ID_FAILED nogil:
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

    cdef TermId derive(self, TermTable table, TermId t, SymbolId symbol) except ID_FAILED nogil:
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

    cdef int32_t class_of(self, TermTable table, TermId t, SymbolId symbol) except FAILED nogil:
        """Return the class of a byte in the partition of a term; a token class is one by itself."""
        cdef MapId map
        if symbol >= TOKENS:
            return symbol
        map = table.terms[t].map
        return table.classes.maps[map if map >= 0 else self.classes_of(table, t)].of[symbol]

    cdef TermId after_first(self, TermTable table, Term u) except ID_FAILED nogil:
        """Return what follows the first byte of a sequence that begins with a byte set or a literal."""
        cdef Term prefix = table.terms[u.seq.first]
        cdef TermId rest
        if prefix.kind == K_SET:
            return u.seq.rest
        rest = self.make.mk_literal(table, prefix.literal.first + 1, prefix.literal.length - 1)
        return self.make.mk_seq(table, rest, u.seq.rest)

    cdef bint may_begin(self, TermTable table, TermId t, int32_t byte, int levels) noexcept nogil:
        """Return whether a term may begin with a byte, as far as its structure shows it; else True.

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

    cdef TermId derive_raw(self, TermTable table, TermId t, SymbolId symbol) except ID_FAILED nogil:
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

    cdef int derive_anchors(self, TermTable table, TermId t, SymbolId symbol) except FAILED nogil:
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

    cdef bint is_derived(self, TermTable table, TermId t, SymbolId symbol) except FAILED nogil:
        """Return whether the derivative of a sequence is remembered."""
        cdef Term u = table.terms[t]
        cdef int32_t d
        if u.symbol < 0:
            return False
        d = self.class_of(table, t, symbol)
        if d == self.class_of(table, t, u.symbol):
            return True
        return map_get(&self.known, (<uint64_t>t << 16) | <uint64_t>d) != NO_VALUE

    cdef TermId derive_part(self, TermTable table, TermId t, SymbolId symbol) except ID_FAILED nogil:
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


# ------------------------------------------------------------------------------------------------
# How much of a text a term still needs, as a guide for searches.
# ------------------------------------------------------------------------------------------------


cdef enum:
    MAX_NESTED = 100        # levels of a term that are visited
    MAX_EFFORT = 1 << 30


cdef int64_t effort(TermTable terms, TermId t, KeyMap* known, int depth) except FAILED nogil:
    """Return about how many bytes a text of a term needs, added up over the operands of an intersection.

    It only guides a search. Terms that are nested too deeply, or not known, count as 0.
    ``known``: the results so far, for all searches. Most states of a search share terms, so the results for
    the ends of a sequence are stored, too. A term deeper than ``MAX_NESTED`` at its first visit counts as 0.
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
    found = map_get(known, t)
    if found != NO_VALUE:
        return found
    if u.kind == K_REP:
        total = u.rep.low * effort(terms, u.rep.item, known, depth + 1) if u.rep.low else 0
    elif u.kind == K_SEQ:
        k = t
        while terms.terms[k].kind == K_SEQ:
            found = map_get(known, k)
            if found != NO_VALUE:
                break
            spine.push_back(k)
            k = terms.terms[k].seq.rest
        total = effort(terms, k, known, depth + 1)
        while not spine.empty():
            k = spine.back()
            spine.pop_back()
            total = min(total + effort(terms, terms.terms[k].seq.first, known, depth + 1), MAX_EFFORT)
            map_put(known, k, <int32_t>total)
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
    map_put(known, t, <int32_t>total)
    return total


# ------------------------------------------------------------------------------------------------
# Whether a term with `&` or `!` has any string: searches of its derivatives for one that may end.
# ------------------------------------------------------------------------------------------------


cdef enum:
    MAX_ENDINGS = 4     # endings that are remembered
    SHORT_ENDING = 3    # bytes; a search finds shorter endings as fast


@cython.final
cdef class Emptiness:
    """Decides whether terms of one table have a string; each call gets the table.

    Owner: the store of the terms. Invariant: the answer (``Term.live``) does not depend on what was searched
    before.
    """

    def __cinit__(self, Derivatives derivatives not None, uint64_t max_explored=200_000):
        self.derivatives = derivatives
        self.max_explored = max_explored
        map_init(&self.efforts)

    def __dealloc__(self):
        map_free(&self.efforts)

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes this holds; the table is not counted."""
        return 12 * self.efforts.mask

    cdef bint is_live(self, TermTable table, TermId t) except FAILED nogil:
        """Return whether the term has a string. Calls are taken as productive (normalisation saw to it)."""
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
        """Return whether a term is a sequence, and whether it has a string is not known yet."""
        cdef Term* u = &table.terms[t]
        return u.kind == K_SEQ and u.flags & F_BOOL and u.live == LIVE_UNKNOWN

    cdef bint explore(self, TermTable table, TermId t) except FAILED nogil:
        """Search the derivatives of a regular term for one that may end, by turns in two orders.

        The oldest first finds a shortest string. If all strings are long, as in a pattern with a
        minimal length, it would visit every state first. The other order takes the state that seems to need
        the fewest bytes (`effort`). It needs about as many steps as the string has bytes. Before both, the
        last endings that searches found are tried, since most states of a walk end alike.
        Cost: at most twice what the better of both orders visits, and the bytes of the remembered endings.
        """
        cdef vector[TermId] queue       # every state that was met
        cdef vector[int32_t] parent     # of each of these, in the queue
        cdef vector[uint8_t] visited
        cdef vector[uint8_t] byte_to    # the byte from its parent to it
        cdef vector[uint8_t] ending
        cdef priority_queue[pair[int64_t, int32_t]] promising   # minus the effort, index in the queue
        cdef pair[int64_t, int32_t] best
        cdef KeyMap seen
        cdef size_t oldest = 0
        cdef bint by_age = True
        cdef TermId u, d
        cdef MapId map
        cdef int32_t k, at, found = -1
        if table.terms[t].nu.possible() or self.try_endings(table, t):
            return True
        map_init(&seen)
        try:
            queue.push_back(t)
            parent.push_back(-1)
            byte_to.push_back(0)
            visited.push_back(0)
            best.first = best.second = 0
            promising.push(best)
            map_put(&seen, t, 1)
            while found < 0:
                table.meter.spend(40)
                while oldest < queue.size() and visited[oldest]:
                    oldest += 1
                if oldest == queue.size():
                    break
                at = <int32_t>oldest
                if not by_age:
                    while visited[promising.top().second]:  # one at least is not
                        promising.pop()
                    at = promising.top().second
                    promising.pop()
                by_age = not by_age
                visited[at] = 1
                u = queue[at]
                map = self.derivatives.classes_of(table, u)
                for k in range(table.classes.maps[map].count):
                    d = self.derivatives.derive(table, u, table.classes.maps[map].byte_of[k])
                    if d == EMPTY or table.terms[d].live == DEAD or map_get(&seen, d) != NO_VALUE:
                        continue
                    map_put(&seen, d, 1)
                    best.first = -effort(table, d, &self.efforts, 0)
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
        finally:
            map_free(&seen)
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
        """Return whether one of the remembered endings is a string of a term; False: not known."""
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


cdef TermId ask_simplified(void* simplifier, TermTable table, TermId t) except ID_FAILED nogil:
    return (<Simplifier>simplifier).simplified(table, t)


@cython.final
cdef class Simplifier:
    """Searches about operands of intersections; each call gets the table of the terms.

    Owner: the store of the terms. While it lives, the constructors and derivatives that it was given call it.
    They borrow this reference, so that the four are no cycle.
    """

    def __cinit__(
        self, Constructors make not None, Derivatives derivatives not None, Emptiness emptiness not None
    ):
        self.make = make
        self.derivatives = derivatives
        self.emptiness = emptiness
        self.searching = False
        map_init(&self.simple)
        map_init(&self.textual)
        map_init(&self.known_subsets)
        map_init(&self.known_codes)
        make.rules.simplifier = <void*>self
        make.rules.is_textual = ask_is_textual
        make.rules.both_repeats = ask_both_repeats
        derivatives.simplifier = <void*>self
        derivatives.simplify = ask_simplified

    def __dealloc__(self):
        if self.make is not None:
            self.make.rules.simplifier = NULL
        if self.derivatives is not None:
            self.derivatives.simplify = NULL
        map_free(&self.simple)
        map_free(&self.textual)
        map_free(&self.known_subsets)
        map_free(&self.known_codes)

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes this holds; the table is not counted."""
        return 12 * (self.simple.mask + self.textual.mask + self.known_subsets.mask + self.known_codes.mask)

    cdef TermId simplified(self, TermTable table, TermId t) except ID_FAILED nogil:
        """Return x* for a regular term that means x* but is not written so; else the term. Remembered.

        Cost: a search of at most MAX_SIMPLE derivatives.
        """
        cdef vector[TermId] items
        cdef TermId x
        cdef int32_t found
        if table.terms[t].kind == K_REP or table.terms[t].flags & F_IMPURE:
            return t
        found = map_get(&self.simple, t)
        if found != NO_VALUE:
            return found
        if self.searching:
            # a search would start searches without end
            return t
        map_put(&self.simple, t, t)
        x = self.star_in(table, t)
        if x == NO_TERM:
            return t
        items.push_back(t)
        items.push_back(self.make.mk_not(table, x))
        self.searching = True
        try:
            if self.is_empty_soon(table, self.make.mk_and(table, items)):
                map_put(&self.simple, t, x)
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
            if r.kind == K_REP and r.rep.low == 0 and r.rep.high == UNBOUNDED:
                return s
        return NO_TERM

    cdef bint is_empty_soon(self, TermTable table, TermId t) except FAILED nogil:
        """Return whether a term is seen to be empty within MAX_SIMPLE derivatives."""
        cdef vector[TermId] queue
        cdef KeyMap seen
        cdef size_t next = 0
        cdef TermId u, d
        cdef MapId map
        cdef int32_t k
        if t == EMPTY:
            return True
        map_init(&seen)
        try:
            queue.push_back(t)
            map_put(&seen, t, 1)
            while next < queue.size():
                u = queue[next]
                if table.terms[u].nu.possible() or table.terms[u].live == LIVE:
                    return False
                map = self.derivatives.classes_of(table, u)
                table.meter.spend(8 + 6 * table.classes.maps[map].count)
                for k in range(table.classes.maps[map].count):
                    d = self.derivatives.derive(table, u, table.classes.maps[map].byte_of[k])
                    if d == EMPTY or table.terms[d].live == DEAD or map_get(&seen, d) != NO_VALUE:
                        continue
                    if table.terms[d].nu.possible():
                        return False
                    map_put(&seen, d, 1)
                    queue.push_back(d)
                next += 1
                if queue.size() > MAX_SIMPLE:
                    return False
        finally:
            map_free(&seen)
        return True

    cdef bint is_textual(self, TermTable table, TermId t) except FAILED nogil:
        """Return whether a term is a repetition that holds well-formed UTF-8 only. Remembered."""
        cdef vector[TermId] items
        cdef int32_t known
        if table.terms[t].kind != K_REP or table.terms[t].flags & (F_BOOL | F_IMPURE):
            return False
        known = map_get(&self.textual, t)
        if known == NO_VALUE:
            map_put(&self.textual, t, 0)
            if is_wellformed(table, t):
                map_put(&self.textual, t, 1)
                return True
            items.push_back(t)
            items.push_back(self.make.mk_not(table, self.make.any_text))
            known = not self.emptiness.is_live(table, self.make.mk_and(table, items))
            map_put(&self.textual, t, known)
        return known == 1

    cdef TermId both_repeats(self, TermTable table, TermId a, TermId b) except ID_FAILED nogil:
        """Return the intersection of two repetitions if it is one repetition, else NO_TERM.

        x{…} & y{…} is x{m,n} where every x is a y and y is a prefix code, so that strings split into y in
        one way. A pattern of one character class with a length is such a case, and is a counter again. For
        every x, x* & x{m,n} is x{m,n}.
        """
        cdef Term s = table.terms[a]
        cdef Term t = table.terms[b]
        cdef int32_t low, high
        if s.kind != K_REP or t.kind != K_REP or (s.flags | t.flags) & (F_BOOL | F_IMPURE):
            return NO_TERM
        if s.rep.item == t.rep.item:
            if s.rep.low == 0 and s.rep.high == UNBOUNDED:
                return b
            if t.rep.low == 0 and t.rep.high == UNBOUNDED:
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
        """Return whether b is seen to hold every string of a. Remembered."""
        cdef uint64_t key = (<uint64_t>a << 32) | <uint64_t>b
        cdef int32_t found = map_get(&self.known_subsets, key)
        cdef vector[TermId] items
        if found == NO_VALUE:
            items.push_back(a)
            items.push_back(self.make.mk_not(table, b))
            found = self.is_empty_soon(table, self.make.mk_and(table, items))
            map_put(&self.known_subsets, key, found)
        return found == 1

    cdef bint is_code(self, TermTable table, TermId item) except FAILED nogil:
        """Return whether a term is seen to be a prefix code: no string of it begins another one. Remembered."""
        cdef TermId d
        cdef MapId map
        cdef int32_t found = map_get(&self.known_codes, item), k
        cdef vector[TermId] queue
        cdef KeyMap seen
        cdef size_t next = 0
        if found != NO_VALUE:
            return found == 1
        found = not table.terms[item].nu.possible()
        map_init(&seen)
        try:
            queue.push_back(item)
            while found and next < queue.size():
                map = self.derivatives.classes_of(table, queue[next])
                table.meter.spend(8 + 6 * table.classes.maps[map].count)
                for k in range(table.classes.maps[map].count):
                    d = self.derivatives.derive(table, queue[next], table.classes.maps[map].byte_of[k])
                    if d == EMPTY or d == EPS or map_get(&seen, d) != NO_VALUE:
                        continue
                    map_put(&seen, d, 1)
                    queue.push_back(d)
                    if table.terms[d].nu.possible() or queue.size() > MAX_SIMPLE:
                        found = 0
                next += 1
        finally:
            map_free(&seen)
        map_put(&self.known_codes, item, found)
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
        """Return the derivative of a state, EMPTY where no string remains. Cost: a look-up once known."""
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
        """Remove the alternatives that have no string."""
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
        map_init(&self.index)
        map_init(&self.rule_index)

    def __dealloc__(self):
        map_free(&self.index)
        map_free(&self.rule_index)

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes this holds; the table is not counted."""
        cdef size_t pairs = self.found.size() + self.rule_found.size()
        cdef size_t held = 12 * (self.index.mask + self.rule_index.mask) + sizeof(Ends) * pairs
        return held + 8 * self.rule_keys.size()

    cdef int ends(self, TermTable table, TermId t, GuardId guard, Ends* out) except FAILED nogil:
        """Give the guards that can be pending when t ends, if the next byte must satisfy ``guard``."""
        cdef uint64_t key = (<uint64_t>t << 6) | <uint64_t>guard
        cdef int32_t at = map_get(&self.index, key)
        if at != NO_VALUE:
            out[0] = self.found[at]
            return 0
        self.ends_of(table, t, guard, out)
        map_put(&self.index, key, <int32_t>self.found.size())
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
        """Find the same for a term that is no sequence."""
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
        """Find the same for a repetition; ``out`` is empty so far."""
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
        """Give the same for a rule: the least fixpoint over the rules, extended for each new (rule, guard).

        The results of earlier calls are final, as they depend on nothing newer. A new pair is visited where it is met,
        and again where a pair that it used has changed, the newest first.
        """
        cdef uint64_t key = (<uint64_t>rule << 6) | <uint64_t>guard
        cdef int32_t at = map_get(&self.rule_index, key), user = self.current
        cdef bint is_new = at == NO_VALUE
        cdef Ends none
        cdef size_t k
        if is_new:
            none.consumed = 0
            none.silent = 0
            at = <int32_t>self.rule_found.size()
            map_put(&self.rule_index, key, at)
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
        """Find the ends of a pair that waits, from those of others so far."""
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
        """Have a pair that is not final visited, if it does not wait for it yet."""
        cdef size_t place = <size_t>at - self.final
        if place >= self.is_waiting.size():
            self.is_waiting.resize(place + 1, False)
            self.users.resize(place + 1)
        if not self.is_waiting[place]:
            self.is_waiting[place] = True
            self.waiting.push(at)
        return 0

    cdef int add_user(self, int32_t at, int32_t user) except FAILED nogil:
        """Note that a pair uses another one, mostly once."""
        cdef vector[int32_t]* users = &self.users[<size_t>at - self.final]
        if users.empty() or users.back() != user:
            users.push_back(user)
        return 0

    cdef int forget(self) except FAILED nogil:
        """Drop the results for terms, which are valid for one round. Cost: that of the round."""
        self.found.clear()
        if self.index.mask > 8 * self.index.count + 64:
            map_free(&self.index)
            map_init(&self.index)
        else:
            map_clear(&self.index)
        return 0


# ------------------------------------------------------------------------------------------------
# The rules that a state may call before it reads anything.
# ------------------------------------------------------------------------------------------------


@cython.final
cdef class FirstCalls:
    """Finds the calls in first position of the terms of one table; each call gets the table.

    Owner: the store of the terms.
    """

    def __cinit__(self, Constructors make not None):
        self.make = make

    cdef int find_sites(self, TermTable table, TermId t) except FAILED nogil:
        """Find the calls that may start here, once: they are then in site_lists[terms[t].calls]."""
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
        """Append the calls in first position of a term, with the guard before and what follows each."""
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
