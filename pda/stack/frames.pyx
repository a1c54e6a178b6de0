# distutils: language = c++
"""Frames: the stack under a local state, as sets of edges (return state, parent frame).

That is a graph-structured stack (Tomita 1985), hash-consed, so that equal stacks are one id. With follow
restrictions a return to a frame can be a dead end: see ``exits``.
"""

cimport cython
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport ACTION_COUNTED, ACTION_NONE, NO_FRAME
from stackmask.pda.terms.term_table cimport ANY_BYTE, Ends
from stackmask.pda.memory.byte_sets cimport lowest_bit
from stackmask.pda.memory.hash_tables cimport (
    ENTRY_BYTES,
    NO_VALUE,
    Probe,
    ids_free,
    ids_init,
    ids_next,
    ids_probe,
    ids_put,
    map_free,
    map_get,
    map_init,
    map_put,
    mix,
)


@cython.final
cdef class FrameGraph:
    """The frames of one family of matchers, or of the mask walks of one store.

    ``is_walk``: the bottom frame stands for a stack that is not known. ``is_summary``: each frame but the
    bottom stands for all activations of a rule that are alike; its edges are set once all are known.
    """

    def __cinit__(
        self, TermStore terms not None, Semantics semantics not None, bint is_walk, bint is_summary=False
    ):
        cdef Edge edge
        cdef vector[Edge] bottom
        self.terms = terms
        self.semantics = semantics
        self.is_walk = is_walk
        self.counts = False
        self.is_summary = is_summary
        ids_init(&self.frame_index)
        map_init(&self.exits_index)
        edge.continuation = BOTTOM_CONTINUATION
        edge.parent = NO_FRAME
        edge.action = ACTION_NONE
        edge.operand = 0
        bottom.push_back(edge)
        self.intern_frame(bottom)

    def __dealloc__(self):
        ids_free(&self.frame_index)
        map_free(&self.exits_index)

    cdef FrameId intern_frame(self, vector[Edge]& items) except -3 nogil:
        """Return the frame of some edges, in any order."""
        cdef uint64_t h = 31
        cdef size_t i, n
        cdef FrameId id
        cdef Frame* f
        cdef Frame frame
        cdef Edge e
        self.terms.meter.spend(4 + 4 * items.size())
        if items.size() > 1:
            sort_edges(items)
        n = items.size()
        for i in range(n):
            e = items[i]
            h = mix(mix(h, <uint32_t>e.continuation), <uint32_t>e.parent)
            h = mix(mix(h, e.action.code()), <uint32_t>e.operand)
        cdef Probe probe = ids_probe(&self.frame_index, h)
        id = ids_next(&self.frame_index, &probe)
        while id >= 0:
            f = &self.frames[id]
            if f.count == <int32_t>n:
                i = 0
                while i < n and same_edge(self.edges[f.first + i], items[i]):
                    i += 1
                if i == n:
                    return id
            id = ids_next(&self.frame_index, &probe)
        if not self.is_walk:
            self.terms.meter.hold(sizeof(Frame) + ENTRY_BYTES + sizeof(Edge) * n)
        id = <int32_t>self.frames.size()
        frame.first = <int32_t>self.edges.size()
        frame.count = <int32_t>n
        frame.keys_forbid = frame.action_forbids = False
        for i in range(n):
            e = items[i]
            self.edges.push_back(e)
            if e.action == ACTION_COUNTED:
                self.counts = True
            if e.action.is_capture() and self.semantics.may_forbid(e.action.action()):
                frame.action_forbids = True
            if e.continuation != BOTTOM_CONTINUATION:
                frame.keys_forbid |= not self.semantics.keys.needs.always_lives(e.continuation)
            if e.parent != NO_FRAME:
                frame.keys_forbid |= self.frames[e.parent].keys_forbid
                frame.action_forbids |= self.frames[e.parent].action_forbids
        self.frames.push_back(frame)
        ids_put(&self.frame_index, &probe, id)
        return id

    cdef FrameId add_summary_frame(self, bint keys_forbid, bint action_forbids) except -3 nogil:
        """Return a new frame that stands for many. It has no edges until ``set_summary_edges``."""
        cdef Frame frame
        frame.first = frame.count = 0
        frame.keys_forbid = keys_forbid
        frame.action_forbids = action_forbids
        self.frames.push_back(frame)
        return <int32_t>self.frames.size() - 1

    cdef int set_summary_edges(self, FrameId frame, vector[Edge]& items) except -3 nogil:
        """Give a frame of ``add_summary_frame`` its edges, in the order given."""
        self.frames[frame].first = <int32_t>self.edges.size()
        self.frames[frame].count = <int32_t>items.size()
        self.edges.append(items.begin(), items.end())
        return 0

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes the frames take."""
        cdef size_t held = sizeof(Edge) * self.edges.size() + sizeof(Frame) * self.frames.size()
        return held + 8 * self.frame_index.mask + 12 * self.exits_index.mask

    # -- liveness under pending restrictions ---------------------------------------------------------

    cdef uint64_t exits(self, FrameId frame, GuardId guard) except? 0x5555555555555555 nogil:
        """Return, as bits, the guards with which the bottom can be reached when ``frame`` is returned to with
        ``guard`` pending. For the end of the grammar: 1 if it can be reached, else 0."""
        cdef vector[uint64_t] todo
        cdef uint64_t key = (<uint64_t>frame << 6) | <uint64_t>guard
        cdef uint64_t bits, pending
        cdef int32_t at, e
        cdef FrameId f
        cdef GuardId g, h
        cdef bint ready
        cdef Ends out
        if self.is_summary:
            # some of the frames that it stands for may
            return 1
        if frame == BOTTOM:
            return <uint64_t>1 << guard if self.is_walk else 1
        at = map_get(&self.exits_index, key)
        if at != NO_VALUE:
            return self.exits_value[at]
        todo.push_back(key)
        while not todo.empty():
            f = <int32_t>(todo.back() >> 6)
            g = <int32_t>(todo.back() & 63)
            bits = 0
            ready = True
            for e in range(self.frames[f].first, self.frames[f].first + self.frames[f].count):
                if self.edges[e].continuation == BOTTOM_CONTINUATION:
                    bits |= <uint64_t>1 << g if self.is_walk else 1
                    continue
                self.terms.ends(self.edges[e].continuation, g, &out)
                pending = out.consumed | out.silent
                while pending:
                    h = lowest_bit(pending)
                    pending &= pending - 1
                    if self.edges[e].parent == BOTTOM:
                        bits |= <uint64_t>1 << h if self.is_walk else 1
                        continue
                    at = map_get(&self.exits_index, (<uint64_t>self.edges[e].parent << 6) | <uint64_t>h)
                    if at == NO_VALUE:
                        todo.push_back((<uint64_t>self.edges[e].parent << 6) | <uint64_t>h)
                        ready = False
                    else:
                        bits |= self.exits_value[at]
            if ready:
                todo.pop_back()
                map_put(&self.exits_index, (<uint64_t>f << 6) | <uint64_t>g, <int32_t>self.exits_value.size())
                self.exits_value.push_back(bits)
        return self.exits_value[map_get(&self.exits_index, key)]

    cdef uint64_t member_ends(self, TermId state, FrameId frame) except? 0x5555555555555555 nogil:
        """Return the guards (bits) under which the bottom is reached from here; 0 means a dead end."""
        cdef Ends out
        cdef uint64_t pending, bits = 0
        self.terms.ends(state, ANY_BYTE, &out)
        pending = out.consumed | out.silent
        while pending:
            bits |= self.exits(frame, lowest_bit(pending))  # mutant: exit-guard
            pending &= pending - 1
        return bits
