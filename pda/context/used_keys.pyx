# distutils: language = c++
"""The undeclared keys of the object that was asked for last, spelled out.

A text asks for the keys of one object again and again, and each time it has at most one more. So the list is
kept, and what a set has beyond the last one is added to it.
"""

cimport cython
from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from stackmask.pda.context.text_sets cimport EMPTY_SET, TextNode
from stackmask.pda.ids cimport TextId


@cython.final
cdef class UsedKeys:
    """The strings of one set of texts. Owner: the room of masks that asks for them."""

    def __cinit__(self, TextSets sets not None, CaptureTexts texts not None):
        self.sets = sets
        self.texts = texts
        self.spelled_set = EMPTY_SET
        self.generation = 0

    cdef int spell(self, TextNodeId used) except -3 nogil:
        """Write the texts of a set to ``spelled``, those that are there already first.

        Cost: the texts that the set has beyond the one before; all of them if that had others.
        Returns: how many texts were written.
        """
        cdef vector[TextId] added
        cdef size_t k, before
        if used == self.spelled_set:
            return 0
        if not list_added(self.sets, self.spelled_set, used, added):
            self.spelled.clear()
            self.generation += 1  # mutant: begun-anew
            added.clear()
            self.sets.list_texts(used, added)
        before = self.spelled.size()
        self.spelled.resize(before + added.size())
        for k in range(added.size()):
            self.texts.spell(added[k], self.spelled[before + k])
        self.spelled_set = used
        return <int>added.size()


cdef bint list_added(
    TextSets sets, TextNodeId old, TextNodeId new, vector[TextId]& out
) except -1 nogil:
    """Append the texts of a set that another one lacks; False if that one has texts that this one lacks.

    Then ``out`` holds some texts all the same. Cost: linear in the texts that only one of them has.
    """
    cdef vector[TextNodeId] todo    # pairs: a part of the old set, and the part of the new one to hold it
    cdef TextNode o, n
    cdef bint above
    todo.push_back(old)
    todo.push_back(new)
    while not todo.empty():
        new = todo.back()
        todo.pop_back()
        old = todo.back()
        todo.pop_back()
        if old == new:
            continue
        if new == EMPTY_SET:
            return False
        n = sets.nodes[new]
        if old == EMPTY_SET:
            if n.bit:
                add_pair(todo, EMPTY_SET, n.high)
                add_pair(todo, EMPTY_SET, n.low)
            else:
                out.push_back(<int32_t>n.prefix)
            continue
        o = sets.nodes[old]
        if not n.bit or (o.bit and o.bit < n.bit) or (o.prefix ^ n.prefix) & (n.bit - 1):
            return False
        if o.bit == n.bit:
            add_pair(todo, o.high, n.high)
            add_pair(todo, o.low, n.low)
        else:
            above = o.prefix & n.bit != 0  # all of the old part is on one side
            add_pair(todo, old if above else EMPTY_SET, n.high)
            add_pair(todo, EMPTY_SET if above else old, n.low)
    return True


cdef int add_pair(vector[TextNodeId]& todo, TextNodeId old, TextNodeId new) except -1 nogil:
    todo.push_back(old)
    todo.push_back(new)
    return 0
