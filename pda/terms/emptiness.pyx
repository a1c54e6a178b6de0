# distutils: language = c++
"""Whether a term with `&` or `!` has any text: searches of its derivatives for one that may end."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.algorithm cimport reverse
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from stackmask.pda.memory.checked_vectors cimport priority_queue
from stackmask.pda.terms.search_effort cimport effort
from stackmask.pda.terms.term_table cimport EMPTY
from stackmask.pda.memory.hash_tables cimport NO_VALUE, KeyMap, map_free, map_get, map_init, map_put

from stackmask.pda.errors import BudgetError

cdef enum:
    MAX_WAYS = 4        # ends of texts that are remembered
    SHORT_WAY = 3       # bytes of one that a search finds as soon


cdef class TermSearches(TermMoves):
    """Terms whose emptiness is decided. Invariant: ``live`` says what is so, whatever was searched before."""

    def __cinit__(self):
        map_init(&self.efforts)

    def __dealloc__(self):
        map_free(&self.efforts)

    cdef size_t nbytes(self) noexcept:
        """Return about how many bytes the terms take, and what guides searches of them."""
        return TermMoves.nbytes(self) + 12 * self.efforts.mask

    cdef bint explore(self, int32_t t) except -1:
        """Search the derivatives of a regular term for one that may end, by turns in two orders.

        The oldest first finds the shortest way. Where texts are long, as in a pattern beside a least length,
        it would meet every state on the way; the one that seems to need the least (`effort`) gets there in
        about as many steps as the text has bytes. Before that, the ends of texts that searches found last are
        tried: a state of a walk mostly ends like the one before it. Cost: at most twice what the better of
        both orders visits, and the bytes of the remembered ends.
        """
        cdef vector[int32_t] queue      # all that were met
        cdef vector[int32_t] parent
        cdef vector[uint8_t] visited
        cdef vector[uint8_t] byte_to    # each of these
        cdef vector[uint8_t] way
        cdef priority_queue[pair[int64_t, int32_t]] promising   # minus the effort, place in the queue
        cdef pair[int64_t, int32_t] best
        cdef KeyMap seen
        cdef size_t oldest = 0
        cdef bint by_age = True
        cdef int32_t u, d, k, map, head, found = -1
        if self.terms[t].nu >= 0 or self.follow_ways(t):
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
                while oldest < queue.size() and visited[oldest]:
                    oldest += 1
                if oldest == queue.size():
                    break
                head = <int32_t>oldest
                if not by_age:
                    while visited[promising.top().second]:  # one at least is not
                        promising.pop()
                    head = promising.top().second
                    promising.pop()
                by_age = not by_age
                visited[head] = 1
                u = queue[head]
                map = self.classes_of(u)
                for k in range(self.maps[map].count):
                    d = self.derive(u, self.maps[map].byte_of[k])
                    if d == EMPTY or self.live[d] == 2 or map_get(&seen, d) != NO_VALUE:
                        continue
                    map_put(&seen, d, 1)
                    best.first = -effort(self, d, &self.efforts, 0)
                    best.second = <int32_t>queue.size()
                    promising.push(best)
                    queue.push_back(d)
                    parent.push_back(head)
                    byte_to.push_back(self.maps[map].byte_of[k])
                    visited.push_back(0)
                    if self.terms[d].nu >= 0 or self.live[d] == 1:
                        found = best.second
                        break
                if queue.size() > self.max_explored:
                    what = "states visited to decide whether `&` or `!` leaves anything"
                    raise BudgetError("max_explored", self.max_explored, what)
        finally:
            map_free(&seen)
        if found < 0:
            for u in queue:
                self.live[u] = 2
            return False
        while found >= 0:
            self.live[queue[found]] = 1
            if found:
                way.push_back(byte_to[found])
            found = parent[found]
        if way.size() >= SHORT_WAY:
            reverse(way.begin(), way.end())
            if self.ways.size() == MAX_WAYS:
                self.ways.pop_back()
            self.ways.insert(self.ways.begin(), way)
        return True

    cdef bint follow_ways(self, int32_t t) except -1:
        """Tell whether one of the remembered ends of texts is one of a term; False says nothing."""
        cdef vector[int32_t] path
        cdef size_t i, k
        cdef int32_t d
        for i in range(self.ways.size()):
            path.clear()
            path.push_back(t)
            for k in range(self.ways[i].size()):
                d = self.derive(path.back(), self.ways[i][k])
                if d == EMPTY or self.live[d] == 2:
                    break
                path.push_back(d)
                if self.terms[d].nu >= 0 or self.live[d] == 1:
                    for d in path:
                        self.live[d] = 1
                    while i:  # to the front
                        self.ways[i].swap(self.ways[i - 1])
                        i -= 1
                    return True
        return False
