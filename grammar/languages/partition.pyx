# distutils: language = c++
"""Find equivalent states of an automaton by partition refinement.

Source: A. Valmari, Fast brief practical DFA minimization, Information Processing Letters 112 (2012):
Hopcroft's algorithm with two partitions, of states and of transitions. Cost: O(m log m) for m transitions.
"""

cimport cython
from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector


cdef int zeros(vector[int32_t]& items, int32_t count) except FAILED nogil:
    items.clear()
    items.resize(count)


@cython.final
cdef class Partition:
    """Sets of the integers from 0 on. ``mark`` some, then ``split`` each set by its marks."""

    cdef int begin(self, int32_t count) except FAILED nogil:
        """Put all elements into one set, or create no set if there are no elements."""
        cdef int32_t i
        self.elements.resize(count)
        self.place.resize(count)
        zeros(self.set_of, count)
        self.first.clear()
        self.past.clear()
        self.marked.clear()
        self.touched.clear()
        self.sets = 1 if count else 0
        for i in range(count):
            self.elements[i] = i
            self.place[i] = i
        if count:
            self.first.push_back(0)
            self.past.push_back(count)
            self.marked.push_back(0)

    cdef int begin_by(self, const vector[int32_t]& key, int32_t keys) except FAILED nogil:
        """Group elements by key. Cost: a counting sort."""
        cdef int32_t n = <int32_t>key.size(), i, k
        cdef vector[int32_t] at
        self.begin(n)
        self.first.clear()
        self.past.clear()
        self.marked.clear()
        self.sets = 0
        zeros(at, keys + 1)
        for i in range(n):
            at[key[i] + 1] += 1
        for k in range(keys):
            at[k + 1] += at[k]
            if at[k + 1] > at[k]:
                self.first.push_back(at[k])
                self.past.push_back(at[k + 1])
                self.marked.push_back(0)
        for i in range(n):
            k = at[key[i]]
            at[key[i]] += 1
            self.elements[k] = i
            self.place[i] = k
        self.sets = <int32_t>self.first.size()
        for k in range(self.sets):
            for i in range(self.first[k], self.past[k]):
                self.set_of[self.elements[i]] = k

    cdef int mark(self, int32_t element) except FAILED nogil:
        cdef int32_t s = self.set_of[element], i = self.place[element], j = self.first[s] + self.marked[s]
        if i < j:
            return 0
        self.elements[i] = self.elements[j]
        self.place[self.elements[i]] = i
        self.elements[j] = element
        self.place[element] = j
        if not self.marked[s]:
            self.touched.push_back(s)
        self.marked[s] += 1

    cdef int split(self) except FAILED nogil:
        """Split each set with marks: the smaller part becomes a new set; remove the marks."""
        cdef int32_t s, j, i, new
        while not self.touched.empty():
            s = self.touched.back()
            self.touched.pop_back()
            j = self.first[s] + self.marked[s]
            if j == self.past[s]:
                self.marked[s] = 0
                continue
            new = self.sets
            if self.marked[s] <= self.past[s] - j:
                self.first.push_back(self.first[s])
                self.past.push_back(j)
                self.first[s] = j
            else:
                self.first.push_back(j)
                self.past.push_back(self.past[s])
                self.past[s] = j
            for i in range(self.first[new], self.past[new]):
                self.set_of[self.elements[i]] = new
            self.marked[s] = 0
            self.marked.push_back(0)
            self.sets += 1


cdef int merge_states(
    Partition blocks,
    Partition cords,
    const vector[uint8_t]& accepting,
    const vector[int32_t]& tail,
    const vector[int32_t]& label,
    const vector[int32_t]& head,
    int32_t labels,
) except FAILED nogil:
    """Partition the states of an automaton into classes of equal languages.

    Transition i leads from ``tail[i]`` under ``label[i]`` to ``head[i]``. Every state can be reached, and can
    reach an accepting state. ``blocks`` receives the result; ``cords`` is working space for the transitions.
    """
    cdef vector[int32_t] into_first, into
    cdef int32_t n = <int32_t>accepting.size(), m = <int32_t>tail.size(), i, k, b, c
    blocks.begin(n)
    for i in range(n):
        if accepting[i]:
            blocks.mark(i)
    blocks.split()
    cords.begin_by(label, labels)
    zeros(into_first, n + 1)
    into.resize(m)
    for i in range(m):
        into_first[head[i] + 1] += 1
    for i in range(n):
        into_first[i + 1] += into_first[i]
    for i in range(m):
        into[into_first[head[i]]] = i
        into_first[head[i]] += 1
    for i in range(n, 0, -1):
        into_first[i] = into_first[i - 1]
    into_first[0] = 0
    b = 1
    c = 0
    while c < cords.sets:
        for i in range(cords.first[c], cords.past[c]):
            blocks.mark(tail[cords.elements[i]])
        blocks.split()
        c += 1
        while b < blocks.sets:
            for i in range(blocks.first[b], blocks.past[b]):
                for k in range(into_first[blocks.elements[i]], into_first[blocks.elements[i] + 1]):
                    cords.mark(into[k])
            cords.split()
            b += 1
    return 0


def merged(list accepting, list transitions, int32_t labels):
    """Return the block of each state. Blocks are numbered by their first states; their states are equivalent.

    ``transitions``: (state, label, state), deterministic. Every state can be reached and can reach an accepting one.
    """
    cdef Partition blocks = Partition(), cords = Partition()
    cdef vector[int32_t] tails, labelled, heads
    cdef vector[uint8_t] ends
    cdef int32_t tail, label, head, i
    for is_end in accepting:
        ends.push_back(bool(is_end))
    for tail, label, head in transitions:
        tails.push_back(tail)
        labelled.push_back(label)
        heads.push_back(head)
    with nogil:
        merge_states(blocks, cords, ends, tails, labelled, heads, labels)
    numbers = {}
    return [numbers.setdefault(blocks.set_of[i], len(numbers)) for i in range(<int32_t>ends.size())]
