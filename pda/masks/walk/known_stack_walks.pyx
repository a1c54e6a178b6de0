# distutils: language = c++
"""Walks that are repeated with known frames.

Where a name may end anywhere and another name may follow, a walk returns nearly everywhere. Its suffixes are
then more than the vocabulary, and merging them costs more than walking. Such a walk stores its query, and is
repeated for every return state in use.
"""

cimport cython
from libc.stdint cimport uint64_t

from stackmask.pda.ids cimport ACTION_NONE, NO_RUN, FrameId, PlaceId
from stackmask.pda.masks.shared.part cimport MaskContext, MaskPart
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
from stackmask.pda.masks.shared.arena cimport Include
from stackmask.pda.masks.walk.walk_result cimport RepeatableWalk, WalkQuery

cdef enum:
    MOST_FRAMES = 4       # known frames of one walk


@cython.final
cdef class KnownStackWalks(MaskPart):
    """The masks of walks over known frames, made on demand."""

    def __cinit__(self, MaskContext context not None, MaskArena arena not None, LocalMasks local not None):
        self.arena = arena
        self.local = local
        map_init(&self.repeat_index)
        map_init(&self.grouped_index)

    def __dealloc__(self):
        map_free(&self.repeat_index)
        map_free(&self.grouped_index)

    cdef int drop(self) except -1 nogil:
        """Forget the masks of repeated walks."""
        map_reset(&self.repeat_index)
        map_reset(&self.grouped_index)
        return MaskPart.drop(self)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held here."""
        cdef size_t held = map_nbytes(&self.repeat_index)
        held += map_nbytes(&self.grouped_index)
        return held

    cdef MaskId with_return_state(self, RepeatId number, TermId continuation, bint strict) except -3 nogil:
        """Return the mask of a walk repeated with one more known frame, which has one return state.

        NOT_REPEATED if the walk has too many known frames already.
        """
        cdef uint64_t key = (<uint64_t>number << 33) | (<uint64_t>continuation << 1) | <uint64_t>strict
        cdef MaskId found = map_get(&self.repeat_index, key)
        cdef int32_t k, first
        cdef RepeatableWalk again = self.local.repeatables[number]
        if found != NO_VALUE:
            return found
        if again.return_count >= MOST_FRAMES:
            return NOT_REPEATED
        first = <int32_t>self.local.return_states.size()
        for k in range(again.return_count):
            self.local.return_states.push_back(self.local.return_states[again.return_first + k])
        self.local.return_states.push_back(continuation)
        again.return_first = first
        again.return_count += 1
        found = self.walk_again(again, strict, True)
        map_put(&self.repeat_index, key, found)
        return found

    cdef MaskId with_groups(self, RepeatId number, bint strict) except -3 nogil:
        """Return the mask of a repeatable walk with groups of suffixes instead."""
        cdef uint64_t key = (<uint64_t>number << 1) | <uint64_t>strict
        cdef MaskId found = map_get(&self.grouped_index, key)
        if found == NO_VALUE:
            found = self.walk_again(self.local.repeatables[number], strict, False)
            map_put(&self.grouped_index, key, found)
        return found

    cdef MaskId walk_again(self, RepeatableWalk again, bint strict, bint repeatable) except -3 nogil:
        """Walk over the known frames. ``repeatable``: this walk may be repeated with one more frame."""
        cdef int32_t k
        cdef FrameId frame = BOTTOM
        cdef WalkQuery query
        cdef vector[PlaceId] places
        cdef vector[Include] nothing_else
        cdef vector[Edge] edges
        cdef Edge edge
        edge.action = ACTION_NONE
        edge.operand = 0
        for k in range(again.return_first + again.return_count - 1, again.return_first - 1, -1):
            edge.continuation = self.local.return_states[k]
            edge.parent = frame
            edges.clear()
            edges.push_back(edge)
            frame = self.space.intern_frame(edges)
        for k in range(again.place_first, again.place_first + again.place_count):
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
