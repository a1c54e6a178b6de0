# distutils: language = c++
"""The parts of a mask: of which masks of local states, and of remainders in return states, it is made.

A configuration's members give the first; where a token returns out of a member's frame with bytes left over,
each edge of the frame leads to another. What the semantic state decides on is noted: places of the
vocabulary, or tokens.
"""

from libc.stdint cimport uint8_t, uint64_t

from stackmask.pda.config_table cimport Member
from stackmask.pda.frames cimport BOTTOM_REST, Edge
from stackmask.pda.interning cimport ACTION_NONE, ACTION_SCOPE, F_KEYS, F_LOCAL
from stackmask.pda.keys cimport KEYS_NONE, KEYS_UNKNOWN
from stackmask.pda.mask_table cimport NO_FILTER, NO_RUN, NO_TOKENS, Group, Include, Mask
from stackmask.pda.remainders cimport IN_FOREST
from stackmask.pda.repeated_walks cimport NOT_JOINT
from stackmask.pda.semantics cimport NEEDS_STATE, NO_KEYS, SEM_SYMBOL, UNOPENED_KEYS
from stackmask.pda.tables cimport NO_VALUE, map_clear, map_free, map_get, map_init, map_put

cdef enum:
    FEW_VISITS = 32      # up to here a list is searched, not hashed
    MANY_VISITS = 1024   # beyond, the vocabulary is walked on the real stack: see `collect`
    MANY_RETURNS = 4     # are not looked through
    FEW_PLACES = 64      # more are not settled one by one


cdef class MaskParts(Simulation):
    """What one fill puts together, and what it must run besides."""

    def __cinit__(self):
        map_init(&self.visited)
        self.most_visits = 0

    def __dealloc__(self):
        map_free(&self.visited)

    cdef int visit(
        self,
        int32_t mask,
        int32_t frame,
        int32_t filter,
        int32_t keys,
        bint unsure=False,
        int32_t origin=-1,
    ) except -3:
        """Enter a mask over a frame into the list of what the result is put together from.

        ``unsure``: an action on the way may forbid, so what the mask allows is run on the real configuration.
        """
        cdef Visit v
        cdef size_t i, n = self.visits.size()
        if mask == NO_TOKENS:
            return 0
        v.mask = mask
        v.frame = frame
        v.filter = filter
        v.keys = keys
        v.unsure = unsure
        v.origin = origin
        # ambiguous stacks reach the same place in several ways; a mask is or-ed once
        if n < FEW_VISITS:
            for i in range(n):
                if (
                    self.visits[i].mask == mask
                    and self.visits[i].frame == frame
                    and self.visits[i].filter == filter
                    and self.visits[i].keys == keys
                    and self.visits[i].unsure == unsure
                ):
                    return 0
        elif filter == NO_FILTER and keys == KEYS_NONE and not unsure:
            if not self.visited_ready:
                # what the map holds is of an earlier fill
                self.visited_ready = True
                map_clear(&self.visited)
                for i in range(n):
                    v = self.visits[i]
                    if v.filter == NO_FILTER and v.keys == KEYS_NONE and not v.unsure:
                        map_put(&self.visited, visit_key(v), 1)
                v.mask = mask
                v.frame = frame
                v.filter = filter
                v.keys = keys
                v.unsure = unsure
                v.origin = origin
            if map_get(&self.visited, visit_key(v)) != NO_VALUE:
                return 0
            map_put(&self.visited, visit_key(v), 1)
        self.visits.push_back(v)
        return 0

    cdef bint is_strict(self, ConfigSpace family, int32_t frame) noexcept:
        """Tell whether a return from a frame, or from below it, may be forbidden."""
        if family.frames[frame].keys_forbid:
            return True
        return not self.sure and self.may_forbid(family, frame, MANY_RETURNS)

    cdef bint may_forbid(self, ConfigSpace family, int32_t frame, int32_t returns) noexcept:
        """Tell whether an action may forbid a return, or one behind it before anything must be read."""
        cdef Edge edge
        cdef int32_t e
        if not family.frames[frame].action_forbids or not returns:
            return family.frames[frame].action_forbids
        for e in range(family.frames[frame].first, family.frames[frame].first + family.frames[frame].count):
            edge = family.edges[e]
            if edge.rest == BOTTOM_REST:
                continue
            if edge.action >= 0 and self.semantics.may_forbid(edge.action):
                return True
            if self.terms.terms[edge.rest].nu < 0 and self.terms.terms[edge.rest].flags & F_LOCAL:
                continue
            if self.may_forbid(family, edge.parent, returns - 1):
                return True
        return False

    cdef bint any_exit(self, ConfigSpace family, int32_t frame, uint64_t ends) except -1:
        """Tell whether the frame is alive under one of the guards."""
        cdef int32_t g
        if ends & 1:
            return True
        for g in range(64):
            if (ends >> g) & 1 and family.exits(frame, g):
                return True
        return False

    cdef int expand(self, ConfigSpace family, Visit at) except -3:
        """Add the parts of one mask, and visit what it leads to."""
        cdef Mask mask = self.masks[at.mask]
        cdef int32_t i, j, k, e, origin
        cdef bint unsure
        cdef Edge edge
        cdef Include piece
        cdef Part part
        cdef int32_t keys
        cdef vector[vector[uint8_t]] texts
        part.filter = at.filter
        cdef vector[Part]* found = &self.parts_unsure if at.unsure else &self.parts_found
        if mask.dense >= 0 or mask.sparse_count:
            part.mask = at.mask
            found.push_back(part)
        for i in range(mask.pending_first, mask.pending_first + mask.pending_count):
            if self.any_exit(family, at.frame, self.pendings[i].ends):
                part.mask = -1 - i
                found.push_back(part)
        for i in range(mask.reader_first, mask.reader_first + mask.reader_count):
            self.simulate_place(self.readers[i])
        if mask.reads_tokens:
            self.simulate_tokens = True
        for i in range(mask.include_first, mask.include_first + mask.include_count):
            piece = self.includes[i]
            if self.any_exit(family, at.frame, piece.ends):
                j = self.filter_both(at.filter, piece.filter)
                self.visit(piece.mask, at.frame, j, at.keys, at.unsure, at.origin)
        for i in range(mask.group_first, mask.group_first + mask.group_count):
            k = self.mask_groups[i]
            origin = at.origin
            if origin < 0 and self.is_few(k):
                origin = k
            for e in range(family.frames[at.frame].count):
                edge = family.edges[family.frames[at.frame].first + e]
                if edge.rest == BOTTOM_REST:
                    continue
                unsure = at.unsure or (
                    not self.sure and edge.action >= 0 and self.semantics.may_forbid(edge.action)
                )
                j = self.child_of(family, k, edge, at, &keys)
                if origin >= 0 and j != NO_TOKENS and (unsure or self.asks(j)):
                    # few places: what is known of the state there tells more than running tokens one by one
                    for j in range(self.groups[origin].place_count):
                        self.to_simulate.push_back(self.places[self.groups[origin].place_first + j])
                    continue
                self.visit(j, edge.parent, at.filter, keys, unsure, origin)
        if mask.joint >= 0:
            self.repeat(family, at, mask.joint)
        if mask.key_count and at.keys > KEYS_UNKNOWN and self.semantics.keys.states[at.keys].texts > 0:
            self.semantics.rest_of_keys(self.semantics.with_keys(SEM_SYMBOL, at.keys), texts)
            for i in range(mask.key_first, mask.key_first + mask.key_count):
                self.doubt(self.key_starts[i], texts)
        return 0

    cdef bint is_few(self, int32_t group) noexcept:
        """Tell whether a group is of a few places of the vocabulary."""
        cdef Group g = self.groups[group]
        cdef int32_t i
        if g.run != NO_RUN or g.place_count > FEW_PLACES:
            return False
        for i in range(g.place_first, g.place_first + g.place_count):
            if self.places[i] & IN_FOREST:
                return False
        return True

    cdef int repeat(self, ConfigSpace family, Visit at, int32_t joint) except -3:
        """Visit, for every edge, the mask of a walk that knows where it returns to."""
        cdef Edge edge
        cdef int32_t e, j
        for e in range(family.frames[at.frame].count):
            edge = family.edges[family.frames[at.frame].first + e]
            if edge.rest == BOTTOM_REST:
                continue
            j = NOT_JOINT
            if edge.action == ACTION_NONE and (
                at.keys <= KEYS_UNKNOWN or not self.terms.terms[edge.rest].flags & F_KEYS
            ):
                j = self.joint_mask(joint, edge.rest, self.is_strict(family, edge.parent))
            if j == NOT_JOINT and at.keys <= KEYS_UNKNOWN and self.semantics.action_kind.size():
                # merged after all: where captures keep texts, running all tokens would cost more
                j = self.grouped_mask(joint, self.is_strict(family, at.frame))
                self.visit(j, at.frame, at.filter, at.keys, at.unsure, at.origin)
                return 0
            if j == NOT_JOINT or (at.keys > KEYS_UNKNOWN and self.asks(j)):
                self.simulate_all = True
                return 0
            self.visit(j, edge.parent, at.filter, at.keys, at.unsure, at.origin)
        return 0

    cdef int32_t child_of(
        self, ConfigSpace family, int32_t group, Edge edge, Visit at, int32_t* keys
    ) except -3:
        """Return the mask of what a group leaves over when it returns along an edge, and the keys there."""
        cdef int32_t sem = self.groups[group].sem, found
        cdef int32_t known = self.semantics.keys_at(sem)
        cdef bint strict = self.is_strict(family, edge.parent)
        keys[0] = at.keys
        if edge.action <= ACTION_SCOPE:
            keys[0] = self.semantics.keys_at(edge.saved)
            known = KEYS_UNKNOWN
            sem = SEM_SYMBOL
        elif edge.action >= 0:
            if self.semantics.is_key(edge.action):
                sem = self.semantics.symbol_after_key(at.keys if known == KEYS_UNKNOWN else known)
                if sem < 0:
                    self.simulate_all = True
                    return NO_TOKENS
                return self.child(group, edge.rest, sem, strict)
            sem = SEM_SYMBOL
            if known != KEYS_UNKNOWN:
                return self.child(group, edge.rest, self.semantics.with_keys(SEM_SYMBOL, known), strict)
        if known != KEYS_UNKNOWN:
            return self.child(group, edge.rest, sem, strict)
        found = NO_TOKENS
        if keys[0] <= KEYS_UNKNOWN or not self.terms.terms[edge.rest].flags & F_KEYS:
            found = self.child(group, edge.rest, sem, strict)
            if keys[0] <= KEYS_UNKNOWN or not self.asks(found):
                return found
        # the keys decide: ask again with what walks may know of them
        sem = self.semantics.with_keys(sem, self.semantics.keys.view(keys[0]))
        return self.child(group, edge.rest, sem, strict)

    cdef int32_t root_of(self, int32_t state, int32_t keys, bint strict) except -3:
        """Return the mask of a local state; the keys of the object are part of it where they decide."""
        cdef int32_t found
        if keys <= KEYS_UNKNOWN:
            return self.root(state, strict)
        if not self.terms.terms[state].flags & F_KEYS:
            found = self.root(state, strict)
            if not self.asks(found):
                return found
        return self.keyed_root(state, self.semantics.symbol_with(keys), strict)

    cdef int collect(self, ConfigSpace family, int32_t config) except -3:
        """Find the parts of the mask of a configuration, and what must be run on the configuration itself."""
        self.to_simulate.clear()
        self.to_try.clear()
        self.doubtful.clear()
        self.simulate_tokens = False
        return self.collect_below(family, config, 0)

    cdef int collect_below(self, ConfigSpace family, int32_t config, int32_t above) except -3:
        """Find the parts of what a configuration allows below a node of the vocabulary."""
        cdef int where
        cdef int32_t i, keys, mask, node, first = family.configs[config].first
        cdef size_t roots, k = 0
        cdef bint strict
        cdef Member m
        cdef vector[vector[uint8_t]] texts
        self.visits.clear()
        self.visited_ready = False
        self.parts_found.clear()
        self.parts_unsure.clear()
        self.simulate_all = False
        self.sure = True
        if family.configs[config].capturing:
            for i in range(first, first + family.configs[config].count):
                self.sure = self.sure and self.semantics.is_sure(family.members[i].sem)
        for i in range(first, first + family.configs[config].count):
            m = family.members[i]
            keys = self.semantics.keys_at(m.sem)
            strict = self.is_strict(family, m.frame)
            if above:
                mask = self.root_below(m.state, above, strict)
            else:
                mask = self.root_of(m.state, keys, strict)
            if keys > KEYS_UNKNOWN and self.semantics.in_capture(m.sem):
                texts.clear()
                where = self.semantics.rest_of_keys(m.sem, texts)
                node = 0
                if where == UNOPENED_KEYS:
                    node = self.go(self.forest.nodes(0), 0, c'"')
                if where == NEEDS_STATE:
                    self.simulate_all = True
                elif where != NO_KEYS and node >= 0:
                    self.doubt(node << 2, texts)
            self.visit(mask, m.frame, NO_FILTER, keys)
        roots = self.visits.size()
        while k < self.visits.size():
            self.expand(family, self.visits[k])
            k += 1
            if k >= roots and self.visits.size() > MANY_VISITS:
                # in highly ambiguous grammars the paths through the stack, and so the masks per path, grow
                # exponentially; configurations join the paths, so this stays polynomial
                self.simulate_all = True
                break
        if k > self.most_visits:
            self.most_visits = k
        return 0


cdef inline uint64_t visit_key(Visit v) noexcept:
    return (<uint64_t>v.mask << 32) | <uint64_t>v.frame
