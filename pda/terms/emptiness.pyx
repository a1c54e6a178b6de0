# distutils: language = c++
"""Whether a term with `&` or `!` has any string: searches of its derivatives for one that may end."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.algorithm cimport reverse
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from stackmask.pda.memory.checked_vectors cimport priority_queue
from stackmask.pda.memory.hash_tables cimport NO_VALUE, KeyMap, map_free, map_get, map_init, map_put
from stackmask.pda.ids cimport MapId
from stackmask.pda.terms.search_effort cimport effort
from stackmask.pda.terms.term_table cimport (
    DEAD,
    EMPTY,
    F_BOOL,
    K_ALT,
    K_REP,
    K_SEQ,
    LIVE,
    LIVE_UNKNOWN,
    Term,
)

from stackmask.pda.errors import BudgetError

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

    cdef bint is_live(self, TermTable table, TermId t) except -1 nogil:
        """Tell whether the term has a string. Calls are taken as productive (normalisation saw to it)."""
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
        """Tell whether a term is a sequence, and whether it has a string is not known yet."""
        cdef Term* u = &table.terms[t]
        return u.kind == K_SEQ and u.flags & F_BOOL and u.live == LIVE_UNKNOWN

    cdef bint explore(self, TermTable table, TermId t) except -1 nogil:
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

    cdef bint try_endings(self, TermTable table, TermId t) except -1 nogil:
        """Tell whether one of the remembered endings is a string of a term; False: not known."""
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
