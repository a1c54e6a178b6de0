# distutils: language = c++
"""Walks that are done again with the frames below them known.

Where a name may end anywhere and another one follow, the remainders of a walk are larger than the vocabulary.
Such a walk notes how it began instead of merging them, and is repeated for every return state that it meets.
"""

cimport cython
from libc.stdint cimport uint64_t

from stackmask.pda.masks.part cimport MaskContext, MaskPart
from stackmask.pda.memory.hash_tables cimport (
    NO_VALUE,
    map_free,
    map_get,
    map_init,
    map_nbytes,
    map_put,
    map_reset,
)
from stackmask.pda.stack.frames cimport BOTTOM, Edge
from stackmask.pda.terms.term_table cimport ACTION_NONE
from stackmask.pda.masks.arena cimport NO_RUN, Include
from stackmask.pda.masks.walk.walk_result cimport Joint, WalkQuery
from stackmask.pda.context.semantic_states cimport SEM_SYMBOL

cdef enum:
    MAX_JOINT = 4       # frames that a walk is repeated with


@cython.final
cdef class KnownStackWalks(MaskPart):
    """The masks of walks over known frames, made when they are first asked for."""

    def __cinit__(self, MaskContext context not None, MaskArena arena not None, LocalMasks local not None):
        self.arena = arena
        self.local = local
        map_init(&self.joint_index)
        map_init(&self.grouped_index)

    def __dealloc__(self):
        map_free(&self.joint_index)
        map_free(&self.grouped_index)

    cdef int drop(self) except -1:
        """Forget the walks that were repeated."""
        map_reset(&self.joint_index)
        map_reset(&self.grouped_index)
        return MaskPart.drop(self)

    cdef size_t nbytes(self) noexcept:
        """Return the bytes held here."""
        cdef size_t held = map_nbytes(&self.joint_index)
        held += map_nbytes(&self.grouped_index)
        return held

    cdef int32_t joint_mask(self, int32_t number, int32_t rest, bint strict) except -3:
        """Return the mask of a walk repeated over a frame with one return state.

        NOT_JOINT if too many frames are known already.
        """
        cdef uint64_t key = (<uint64_t>number << 33) | (<uint64_t>rest << 1) | <uint64_t>strict
        cdef int32_t found = map_get(&self.joint_index, key), k, first
        cdef Joint again = self.local.joints[number]
        if found != NO_VALUE:
            return found
        if again.rest_count >= MAX_JOINT:
            return NOT_JOINT
        first = <int32_t>self.local.rests.size()
        for k in range(again.rest_count):
            self.local.rests.push_back(self.local.rests[again.rest_first + k])
        self.local.rests.push_back(rest)
        again.rest_first = first
        again.rest_count += 1
        found = self.walk_again(again, strict, True)
        map_put(&self.joint_index, key, found)
        return found

    cdef int32_t grouped_mask(self, int32_t number, bint strict) except -3:
        """Return the mask of a walk that could be repeated, its remainders merged instead."""
        cdef uint64_t key = (<uint64_t>number << 1) | <uint64_t>strict
        cdef int32_t found = map_get(&self.grouped_index, key)
        if found == NO_VALUE:
            found = self.walk_again(self.local.joints[number], strict, False)
            map_put(&self.grouped_index, key, found)
        return found

    cdef int32_t walk_again(self, Joint again, bint strict, bint repeatable) except -3:
        """Walk over the frames that are known; ``repeatable``: with one more in its turn."""
        cdef int32_t k, frame = BOTTOM
        cdef WalkQuery query
        cdef vector[int32_t] places
        cdef vector[Include] nothing_else
        cdef vector[Edge] edges
        cdef Edge edge
        edge.action = ACTION_NONE
        edge.saved = 0
        for k in range(again.rest_first + again.rest_count - 1, again.rest_first - 1, -1):
            edge.rest = self.local.rests[k]
            edge.parent = frame
            edges.clear()
            edges.push_back(edge)
            frame = self.space.intern_frame(edges)
        for k in range(again.below_first, again.below_first + again.below_count):
            places.push_back(self.local.walked_places[k])
        if again.closed:
            query.start = self.space.closed(again.state, frame, again.sem)
        else:
            query.start = self.space.raw(again.state, frame, again.sem)
        query.run = NO_RUN
        query.with_tokens = again.with_tokens
        query.strict = strict
        query.repeatable = repeatable
        query.again = again
        return self.local.make(query, places, places, nothing_else)
