# distutils: language = c++
"""Walks that are done again with the frames below them known.

Where a name may end anywhere and another one follow, the remainders of a walk are larger than the vocabulary.
Such a walk notes how it began instead of merging them, and is repeated for every return state that it meets.
"""

from libc.stdint cimport uint64_t

from stackmask.pda.stack.frames cimport BOTTOM, Edge
from stackmask.pda.terms.term_table cimport ACTION_NONE
from stackmask.pda.masks.arena cimport NO_RUN, Include
from stackmask.pda.context.semantic_states cimport SEM_SYMBOL
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_free, map_get, map_init, map_put

cdef enum:
    MAX_JOINT = 4       # frames that a walk is repeated with


cdef class RepeatedWalks(MaskWalks):
    """The masks of walks over known frames, made when they are first asked for."""

    def __cinit__(self):
        map_init(&self.joint_index)
        map_init(&self.grouped_index)

    def __dealloc__(self):
        map_free(&self.joint_index)
        map_free(&self.grouped_index)

    cdef int drop(self) except -1:
        """As the walks, and forget what was repeated."""
        map_free(&self.joint_index)
        map_init(&self.joint_index)
        map_free(&self.grouped_index)
        map_init(&self.grouped_index)
        return MaskWalks.drop(self)

    cdef int32_t joint_mask(self, int32_t number, int32_t rest, bint strict) except -3:
        """Return the mask of a walk repeated over a frame with one return state.

        NOT_JOINT if too many frames are known already.
        """
        cdef uint64_t key = (<uint64_t>number << 33) | (<uint64_t>rest << 1) | <uint64_t>strict
        cdef int32_t found = map_get(&self.joint_index, key), k, first
        cdef Joint again = self.joints[number]
        if found != NO_VALUE:
            return found
        if again.rest_count >= MAX_JOINT:
            return NOT_JOINT
        first = <int32_t>self.rests.size()
        for k in range(again.rest_count):
            self.rests.push_back(self.rests[again.rest_first + k])
        self.rests.push_back(rest)
        again.rest_first = first
        again.rest_count += 1
        found = self.walk_again(again, strict, &again)
        map_put(&self.joint_index, key, found)
        return found

    cdef int32_t grouped_mask(self, int32_t number, bint strict) except -3:
        """Return the mask of a walk that could be repeated, its remainders merged instead."""
        cdef uint64_t key = (<uint64_t>number << 1) | <uint64_t>strict
        cdef int32_t found = map_get(&self.grouped_index, key)
        if found == NO_VALUE:
            found = self.walk_again(self.joints[number], strict, NULL)
            map_put(&self.grouped_index, key, found)
        return found

    cdef int32_t walk_again(self, Joint again, bint strict, Joint* more) except -3:
        """Walk over the frames that are known; ``more``: how it could be repeated in its turn, or NULL."""
        cdef int32_t k, frame = BOTTOM, start
        cdef vector[int32_t] below
        cdef vector[Include] nothing_else
        cdef vector[Edge] edges
        cdef Edge edge
        edge.action = ACTION_NONE
        edge.saved = 0
        for k in range(again.rest_first + again.rest_count - 1, again.rest_first - 1, -1):
            edge.rest = self.rests[k]
            edge.parent = frame
            edges.clear()
            edges.push_back(edge)
            frame = self.space.intern_frame(edges)
        for k in range(again.below_first, again.below_first + again.below_count):
            below.push_back(self.walked_places[k])
        if again.closed:
            start = self.space.closed(again.state, frame, again.sem)
        else:
            start = self.space.raw(again.state, frame, again.sem)
        return self.walk(start, below, NO_RUN, below, again.with_tokens, strict, nothing_else, more)

    cdef bint is_worth(self, int32_t mask) noexcept:
        """Tell whether few tokens go on behind a head, and no semantic state decides on others."""
        cdef int32_t i, first = self.masks[mask].include_first
        if self.asks(mask) or self.masks[mask].joint >= 0:
            return False
        for i in range(first, first + self.masks[mask].include_count):
            if self.asks(self.includes[i].mask) or self.masks[self.includes[i].mask].joint >= 0:
                return False
        return True

    cdef int32_t root_below(self, int32_t state, int32_t node, bint strict) except -3:
        """Return what of the mask of a local state, outside of objects, is below a node of the vocabulary."""
        cdef uint64_t key = (<uint64_t>state << 32) | (<uint64_t>node << 1) | <uint64_t>strict
        cdef int32_t found = map_get(&self.roots_below, key), start
        cdef Joint again
        cdef vector[int32_t] whole
        cdef vector[Include] nothing_else
        if found == NO_VALUE:
            whole.push_back(node << 2)
            self.may_repeat(&again, state, SEM_SYMBOL, whole)
            start = self.space.raw(state, BOTTOM, SEM_SYMBOL)
            found = self.walk(start, whole, NO_RUN, whole, False, strict, nothing_else, &again)
            map_put(&self.roots_below, key, found)
        return found
