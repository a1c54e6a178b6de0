# distutils: language = c++
"""Find the operands of a configuration's mask, which is the union of these masks of local states.

The members of the configuration give the first masks. A token may return into a member's frame with bytes
left over, its *suffix*. Then each edge of the frame gives a return state, and the mask of the suffixes in
that state is visited next. If the semantic state decides, nodes of the vocabulary or single tokens are
queued, and tried later on the actual configuration.
"""

cimport cython
from libc.stdint cimport uint64_t, uint8_t
from libcpp.algorithm cimport lower_bound, sort, unique

from stackmask.pda.context.callables cimport FORBIDDEN, NEEDS_STATE
from stackmask.pda.context.object_keys cimport EMPTY_SET, KEYS_UNKNOWN, USED_ANY_AND_ONE, is_slot, slot_of
from stackmask.pda.context.semantic_states cimport SEM_SYMBOL
from stackmask.pda.ids cimport (
    ACTION_BACK,
    ACTION_COUNTED,
    ACTION_NONE,
    FAILED,
    ID_FAILED,
    NO_CALLEE,
    NO_PENDING,
    NO_REPEAT,
    NO_ROW,
    NO_SUFFIXES,
    NO_TEST,
    CalleeId,
    CodeId,
    GuardId,
    LiteralId,
    PendingId,
    PlaceId,
    ReturnAction,
    RunId,
    SplitId,
    TailId,
    TokenId,
)
from stackmask.pda.masks.arena cimport (
    NO_FILTER,
    NO_TOKENS,
    Group,
    Include,
    Mask,
    MaskContext,
    MaskPart,
    leads_nowhere,
)
from stackmask.pda.masks.mask_cache cimport Operand, PendingCall
from stackmask.pda.masks.prefixes cimport (
    NO_WHITESPACE,
    Alternative,
    PrefixSplitter,
    Split,
    as_literal,
    as_term,
)
from stackmask.pda.masks.run_tables cimport NOT_A_CODE
from stackmask.pda.masks.runs cimport ANYTHING
from stackmask.pda.memory.byte_sets cimport share_byte
from stackmask.pda.memory.checked_vectors cimport refill
from stackmask.pda.stack.configuration_table cimport BOTTOM, BOTTOM_CONTINUATION, DEAD, Callee, Edge, Frame, Member
from stackmask.pda.terms.term_table cimport ANY_BYTE, EMPTY, EPS, F_KEYS, F_LOCAL, Ends, Term
from stackmask.pda.vocabulary.suffix_tries cimport INCLUSIVE, is_inclusive, node_at, place_at


# ------------------------------------------------------------------------------------------------
# What can still happen after a return: whether an action may forbid it, and whether the text can end.
# ------------------------------------------------------------------------------------------------


cdef Edge edge_of(ConfigSpace family, const Visit& at, int32_t number) noexcept nogil:
    """Return one of the edges along which a visit returns; a continuation counts as a single edge."""
    cdef Edge edge
    if at.continuation == EPS:
        edge = family.edges[family.frames[at.frame].first + number]
        if edge.action == ACTION_COUNTED:
            # how many tokens may still come says nothing of the next one
            edge.action = ACTION_NONE
            edge.operand = 0
        return edge
    edge.continuation = at.continuation
    edge.parent = at.frame
    edge.action = at.action
    edge.operand = 0
    return edge


cdef bint has_callers(ConfigSpace family, FrameId number) noexcept nogil:
    """Return whether a frame can return to anything but the end of the grammar."""
    cdef Frame frame = family.frames[number]
    return frame.count > 1 or (
        frame.count == 1 and family.edges[frame.first].continuation != BOTTOM_CONTINUATION
    )


cdef bint may_forbid(
    TermStore terms, Semantics semantics, ConfigSpace family, FrameId frame, int32_t returns
) except FAILED nogil:
    """Return whether an action may forbid one of the next returns before the next byte is read.

    ``returns``: the number of returns to follow; after these, any action of a lower frame counts.
    Cost: at worst exponential in ``returns``, which is small.
    """
    cdef Edge edge
    cdef Term state
    cdef int32_t e
    if not family.frames[frame].action_forbids or not returns:
        return family.frames[frame].action_forbids
    for e in range(family.frames[frame].first, family.frames[frame].first + family.frames[frame].count):
        edge = family.edges[e]
        if edge.continuation == BOTTOM_CONTINUATION:
            continue
        if edge.action.is_capture() and semantics.may_forbid(edge.action.action()):
            return True
        state = terms.terms[edge.continuation]
        if not state.nu.possible() and state.flags & F_LOCAL:
            # here a byte must be read
            continue
        if may_forbid(terms, semantics, family, edge.parent, returns - 1):
            return True
    return False


cdef bint is_alive(TermStore terms, ConfigSpace family, const Visit& at, uint64_t ends) except FAILED nogil:
    """Return whether the text can be completed after a visit returns under one of the guards (as bits)."""
    cdef Ends found
    cdef uint64_t pending = 0
    cdef GuardId g
    if ends & 1:
        return True
    if at.continuation != EPS:
        for g in range(64):
            if (ends >> g) & 1:
                terms.ends(at.continuation, g, &found)
                pending |= found.consumed | found.silent
        ends = pending
        if ends & 1:
            return True
    for g in range(64):
        if (ends >> g) & 1 and family.exits(at.frame, g):  # mutant: no-exit
            return True
    return False


cdef enum:
    FEW_VISITS = 32      # up to so many, a mask without returns becomes an operand at once
    MANY_VISITS = 4096   # with more, all tokens are tried on the real stack: see `collect`
    EDGES_PER_VISIT = 8     # the same for so many times more edges
    MANY_KEYED = 16384   # the same where keys are known: such trials keep every string that may be a key
    MANY_RETURNS = 4     # `may_forbid` follows so many in a row
    FEW_ALTERNATIVES = 8    # most alternatives after whitespace in suffixes, where no keys are tested


@cython.final
cdef class MaskAssembler(MaskPart):
    """The operands of one fill, and the trials on the actual configuration that it needs."""

    def __cinit__(
        self,
        MaskContext context not None,
        MaskArena arena not None,
        Slices slices not None,
        RunSplitter splitter not None,
        LiteralMasks literals not None,
        LocalMasks local not None,
        TokenTrials trials not None,
        UndeclaredKeys keys_used not None,
    ):
        self.semantics = context.semantics
        self.arena = arena
        self.slices = slices
        self.splitter = splitter
        self.literals = literals
        self.local = local
        self.trials = trials
        self.keys_used = keys_used
        self.prefixes = PrefixSplitter(self.terms, self.semantics, self.context.trie, literals.table)
        self.most_visits = self.progress.entered = self.progress.most_entered = 0
        self.work = Worklist()
        self.found = Operands()

    cdef int drop(self) except FAILED nogil:
        """Clear the visits of the last fill."""
        self.work.drop()
        return MaskPart.drop(self)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held here."""
        return self.work.nbytes()

    cdef Worklist use(self, Worklist work):
        """Collect visits in another worklist from now on, and return the previous worklist."""
        cdef Worklist before = self.work
        self.work = work
        return before

    cdef int begin(self, bint sure) noexcept nogil:
        """Clear the trials. ``sure``: no action can forbid the end of an open capture."""
        self.trials.begin()
        self.keys_used.begin()
        self.found.unsure.clear()
        self.progress.sure = self.progress.sure or sure
        self.progress.most_entered = 0
        return 0

    cdef bint depends_on_text(self) noexcept nogil:
        """Return whether some tokens can only be decided on the actual configuration."""
        return (
            not self.trials.places_to_try.empty()
            or not self.found.unsure.empty()
            or self.trials.trial.tries_everything
        )

    cdef int visit(
        self,
        MaskId mask,
        FrameId frame,
        TermId continuation,
        FilterId filter,
        KeysId keys,
        bint unsure=False,
        SuffixesId origin=NO_SUFFIXES,
        ReturnAction action=ACTION_NONE,
    ) except ID_FAILED nogil:
        """Add a mask over a frame to the worklist. A mask without returns becomes an operand at once.

        ``continuation``: the state between the mask and the frame, entered by ``action``; EPS if there is
        none. ``unsure``: a previous action may forbid tokens, so they are tried on the actual configuration.
        """
        cdef Visit v
        if mask == NO_TOKENS:
            return 0
        v.mask = mask
        v.frame = frame
        v.continuation = continuation
        v.filter = filter
        v.keys = keys
        v.unsure = unsure
        v.origin = origin
        v.action = action
        if leads_nowhere(self.arena.masks[mask]):
            if self.work.visits.size() < FEW_VISITS:
                # in a long list they count as visits too: too many visits end in trials of all tokens
                return self.found.add(mask, filter, unsure)
            # the stack does not matter
            v.frame = 0
            v.keys = 0
            v.continuation = EPS
            v.action = ACTION_NONE
            v.origin = NO_SUFFIXES
        return self.work.add(v)

    cdef bint is_strict(self, ConfigSpace family, FrameId frame) except FAILED nogil:
        """Return whether keys or an action may forbid a return from a frame or from a lower one."""
        if family.frames[frame].keys_forbid:
            return True
        return not self.progress.sure and may_forbid(self.terms, self.semantics, family, frame, MANY_RETURNS)

    cdef int32_t count_entered(self, ConfigSpace family, Visit at) noexcept nogil:
        """Count the edges along which a visit returns, and return their number; 0 beyond the limit."""
        cdef int32_t count = 1 if at.continuation != EPS else family.frames[at.frame].count
        self.progress.entered += count
        return 0 if 0 < self.progress.most_entered < self.progress.entered else count

    cdef TermId visit_prefixes(
        self, ConfigSpace family, TermId state, SuffixesId group, FrameId frame, Visit at
    ) except ID_FAILED nogil:
        """Visit the masks of a state's prefixes over a frame; return the remaining state to visit.

        This is EMPTY if the prefixes cover the state, and the state itself if it is not split.
        ``group``: the suffixes to walk; WHOLE: all tokens. ``at``: filter, keys and trials of the visits.
        """
        cdef SplitId number
        cdef LiteralId literal
        cdef Split split
        cdef Alternative alternative
        cdef Visit on = at
        cdef AlternativeId i
        cdef MaskId found
        cdef SemId sem
        cdef bint strict, restricted = self.terms.classes.has_guards()
        cdef const uint64_t* first = NULL
        cdef uint8_t quote = self.context.key_text.quote
        if not self.context.layers.prefixes or (
            at.keys <= KEYS_UNKNOWN and self.terms.terms[state].flags & F_KEYS
        ):
            # an alternative of an object depends on its keys, and they are not known
            return state
        number = self.prefixes.split(state)
        split = self.prefixes.splits[number]
        if not split.count:
            return state
        if group != WHOLE and split.count > 1:
            first = self.arena.first_of_group(group)
        for i in range(split.first, split.first + split.count):
            alternative = self.prefixes.alternatives[i]
            if first != NULL:
                if alternative.prefix.is_literal:
                    literal = as_literal(alternative.prefix)
                    if not share_byte(first, self.literals.table.literals[literal].begins):
                        continue
                elif alternative.action != ACTION_NONE and not (first[quote >> 6] >> (quote & 63)) & 1:
                    continue
            on.keys = at.keys
            if alternative.test != NO_TEST:
                if not self.semantics.keys.holds(at.keys, alternative.test):
                    continue
                if is_slot(alternative.test):
                    on.keys = self.semantics.keys.take(at.keys, slot_of(alternative.test))
            if alternative.live != EPS and not self.semantics.keys.lives(on.keys, alternative.needs):
                continue
            if restricted and not alternative.unconditional and not self.can_continue(family, i, frame):
                continue
            if alternative.run != NO_WHITESPACE:
                return split.other if self.visit_whitespace(family, alternative, group, frame, on) else state
            if alternative.action != ACTION_NONE:
                sem = self.semantics.symbol_after_key(on.keys)
                if sem == NEEDS_STATE:
                    # a second undeclared key: walks find the places where the keys decide
                    self.visit_unsplit(family, group, self.prefixes.key_of(i), SEM_SYMBOL, frame, on)
                    continue
                if sem == FORBIDDEN:
                    continue
                if alternative.live != EPS and not self.semantics.keys.lives(
                    self.semantics.keys_at(sem), alternative.needs
                ):
                    continue
            strict = alternative.nullable and self.is_strict(family, frame)
            self.local.has_callers = False
            if group == WHOLE:
                found = self.local.of_prefix(alternative.prefix, strict)
            else:
                found = self.local.child_of_prefix(group, alternative.prefix, strict)
            if found == NO_TOKENS:
                continue
            if not alternative.prefix.is_literal and not self.local.is_worth_splitting(found):
                # from now on the state is not split
                self.prefixes.leave_whole(number)
                return state
            if alternative.action != ACTION_NONE and self.semantics.keys.states[on.keys].used != EMPTY_SET:
                self.keys_used.doubt_keys(group, on.keys)
            if leads_nowhere(self.arena.masks[found]):
                self.found.add(found, on.filter, on.unsure)
            else:
                self.visit(
                    found,
                    frame,
                    self.prefixes.continuation_of(i),
                    on.filter,
                    on.keys,
                    on.unsure,
                    on.origin,
                    alternative.action,
                )
        return split.other

    cdef bint visit_whitespace(
        self, ConfigSpace family, Alternative alternative, SuffixesId group, FrameId frame, Visit at
    ) except FAILED nogil:
        """Visit the continuations of optional whitespace. Return False if there is no such split.

        For the whole vocabulary the run table of whitespace is used, which is built once enough states have
        used it. In suffixes whitespace is walked, once for all continuations.
        """
        cdef RunId run
        cdef TailId tail
        cdef MaskId found
        cdef CodeId code
        cdef SplitId number
        cdef Term blanks = self.terms.terms[as_term(alternative.prefix)]
        cdef vector[PlaceId] nowhere
        cdef Edge edge
        cdef FilterId lengths
        if group != WHOLE:
            number = self.prefixes.split(alternative.continuation)
            if (
                self.prefixes.splits[number].count > FEW_ALTERNATIVES
                and not self.terms.terms[alternative.continuation].flags & F_KEYS
            ):
                # one walk of all alternatives is faster
                return False
            self.local.has_callers = False
            found = self.local.child_of_prefix(group, alternative.prefix, False)
            if not self.local.is_worth_splitting(found):
                return False
            self.visit(found, frame, alternative.continuation, at.filter, at.keys, at.unsure, at.origin)
            return True
        code = self.runs.code_of(alternative.run)
        if code == NOT_A_CODE or not self.runs.is_made(code):
            return False
        run = self.runs.run_of(code, 0)
        found = self.slices.slice(run, blanks.rep.high)
        if found != NO_TOKENS:
            self.found.add(found, at.filter, at.unsure)
        tail = self.splitter.tail_of(run, ANYTHING)
        if blanks.rep.low <= self.slices.tails[tail].most_before:
            lengths = self.slices.filter_of(tail, blanks.rep.low, blanks.rep.high)
            at.filter = self.slices.filter_both(at.filter, lengths)
            edge.continuation = alternative.continuation
            edge.parent = frame
            edge.action = ACTION_NONE
            edge.operand = 0
            self.enter(family, self.arena.intern_group(ANY_BYTE, SEM_SYMBOL, run, nowhere), edge, at)
        return True

    cdef bint can_continue(
        self, ConfigSpace family, AlternativeId alternative, FrameId frame
    ) except FAILED nogil:
        """Return whether the continuation of an alternative can reach the end of the text over a frame.

        Follow restrictions of lower frames may forbid this while another alternative keeps the state alive.
        """
        if self.prefixes.is_unconditional(alternative):
            return True
        return family.can_end(self.prefixes.continuation_of(alternative), frame)  # mutant: no-end

    cdef int expand(self, ConfigSpace family, Visit at) except ID_FAILED nogil:
        """Add the operands of one visit, and visit the masks to which it leads.

        The order is: tokens allowed with any stack; tokens under a guard; places where the semantic state
        decides; included masks; suffixes, along each edge, grouped only now if they are many; places where an
        undeclared key begins.
        """
        cdef Mask mask = self.arena.masks[at.mask]
        cdef MaskId grouped
        cdef PendingId pending
        cdef int32_t i, e
        cdef FilterId j
        cdef SuffixesId k, origin
        cdef Visit back
        cdef Edge edge
        cdef Include included
        cdef Operand operand
        operand.filter = at.filter
        cdef vector[Operand]* operands = &self.found.unsure if at.unsure else &self.found.sure
        if mask.dense != NO_ROW or mask.sparse_count:
            operand.mask = at.mask
            operand.pending = NO_PENDING
            operands.push_back(operand)
        for pending in range(mask.pending_first, mask.pending_first + mask.pending_count):
            if is_alive(self.terms, family, at, self.arena.pendings[pending].ends):
                operand.mask = NO_TOKENS
                operand.pending = pending
                operands.push_back(operand)
        for i in range(mask.reader_first, mask.reader_first + mask.reader_count):
            self.trials.note_place(self.arena.readers[i])
        if mask.reads_tokens:
            self.trials.trial.tries_special_tokens = True
        for i in range(mask.include_first, mask.include_first + mask.include_count):
            included = self.arena.includes[i]
            if is_alive(self.terms, family, at, included.ends):
                j = self.slices.filter_both(at.filter, included.filter)
                self.visit(
                    included.mask, at.frame, at.continuation, j, at.keys, at.unsure, at.origin, at.action
                )
        for i in range(mask.group_first, mask.group_first + mask.group_count):
            k = self.arena.mask_groups[i].group
            origin = at.origin
            if origin == NO_SUFFIXES and self.arena.is_few(k):
                origin = k
            if self.arena.mask_groups[i].callee != NO_CALLEE:
                back = at
                back.origin = origin
                self.add_call(family, k, self.arena.mask_groups[i].callee, back)
                continue
            for e in range(self.count_entered(family, at)):
                edge = edge_of(family, at, e)
                if edge.continuation == BOTTOM_CONTINUATION:
                    continue
                back = at
                back.origin = origin
                back.unsure = at.unsure or (
                    not self.progress.sure
                    and edge.action.is_capture()
                    and self.semantics.may_forbid(edge.action.action())
                )
                self.enter(family, k, edge, back)
        if mask.repeat != NO_REPEAT and (
            self.local.ungrouped[mask.repeat].has_calls
            or at.continuation != EPS
            or has_callers(family, at.frame)
        ):
            grouped = self.local.with_groups(mask.repeat)
            self.visit(grouped, at.frame, at.continuation, at.filter, at.keys, at.unsure, at.origin, at.action)
        if (
            mask.key_count
            and at.keys > KEYS_UNKNOWN
            and self.semantics.keys.states[at.keys].used != EMPTY_SET
        ):
            for i in range(mask.key_first, mask.key_first + mask.key_count):
                self.keys_used.doubt_whole(self.arena.key_starts[i], at.keys)
        return 0

    cdef int add_callers(self, ConfigSpace family, Visit at, vector[Edge]& edges) except FAILED nogil:
        """Append the edges along which a visit returns."""
        cdef int32_t e
        if at.continuation != EPS:
            edges.push_back(edge_of(family, at, 0))
            return 0
        for e in range(family.frames[at.frame].count):
            edges.push_back(family.edges[family.frames[at.frame].first + e])
        return 0

    cdef FrameId frame_over(self, ConfigSpace family, FrameId frame, Visit at) except ID_FAILED nogil:
        """Return the family's frame for a walk's frame, whose unknown bottom becomes the visit's frame.

        Cost: linear in the few frames below: see `Closure.leaves_out`.
        """
        cdef vector[FrameId] walked, made
        cdef vector[Edge] edges
        cdef Edge edge
        cdef Frame f
        cdef size_t k = 0
        cdef int32_t e
        if frame == BOTTOM and at.continuation == EPS:
            return at.frame
        walked.push_back(frame)
        while k < walked.size():
            f = self.space.frames[walked[k]]
            k += 1
            for e in range(f.first, f.first + f.count):
                if self.space.edges[e].continuation != BOTTOM_CONTINUATION:
                    walked.push_back(self.space.edges[e].parent)
        # callers were made first, so their numbers are lower
        sort(walked.begin(), walked.end())
        walked.erase(unique(walked.begin(), walked.end()), walked.end())
        for k in range(walked.size()):
            edges.clear()
            f = self.space.frames[walked[k]]
            if walked[k] == BOTTOM:
                if at.continuation == EPS:
                    made.push_back(at.frame)
                    continue
                edges.push_back(edge_of(family, at, 0))
            else:
                for e in range(f.first, f.first + f.count):
                    edge = self.space.edges[e]
                    if edge.continuation == BOTTOM_CONTINUATION:
                        # a tail call of a start whose frame is the bottom, among other callers
                        self.add_callers(family, at, edges)
                        continue
                    edge.parent = made[lower_bound(walked.begin(), walked.end(), edge.parent) - walked.begin()]
                    edges.push_back(edge)
            made.push_back(family.intern_frame(edges))
        return made.back()

    cdef int add_call(
        self, ConfigSpace family, SuffixesId group, CalleeId callee, Visit at
    ) except FAILED nogil:
        """Record the caller of a rule that walks do not enter."""
        cdef Callee call = self.space.callees[callee]
        cdef FrameId frame = self.frame_over(family, call.frame, at)
        cdef Edge edge
        cdef PendingCall pending
        cdef PendingCall* other
        cdef size_t n = 0
        cdef int32_t e
        self.terms.meter.spend(8 + self.work.calls.size() + family.frames[frame].count)
        while n < self.work.calls.size():
            other = &self.work.calls[n]
            if (
                other.group == group
                and other.body == call.body
                and other.at.filter == at.filter
                and other.at.keys == at.keys
                and other.at.unsure == at.unsure
                and other.at.origin == at.origin
            ):
                break
            n += 1
        if n == self.work.calls.size():
            pending.group = group
            pending.body = call.body
            pending.height = call.height
            pending.at = at
            self.work.calls.push_back(pending)
            self.work.callers.resize(n + 1)
            self.work.callers[n].clear()
        if call.continuation == EPS:
            # a tail call: the callers are those of the caller
            self.progress.entered += family.frames[frame].count
            for e in range(family.frames[frame].first, family.frames[frame].first + family.frames[frame].count):
                self.work.callers[n].push_back(family.edges[e])
            return 0
        edge.continuation = call.continuation
        edge.parent = frame
        edge.action = ACTION_NONE
        edge.operand = 0
        self.work.callers[n].push_back(edge)
        return 0

    cdef int open_call(self, ConfigSpace family) except ID_FAILED nogil:
        """Visit the rule that calls the others, over a frame of all its callers."""
        cdef size_t n, first = 0
        cdef PendingCall call
        cdef Edge body
        self.terms.meter.spend(4 + self.work.calls.size())
        for n in range(1, self.work.calls.size()):
            if self.work.calls[n].height > self.work.calls[first].height:
                first = n
        call = self.work.calls[first]
        body.continuation = call.body
        body.parent = family.intern_frame(self.work.callers[first])
        body.action = ACTION_NONE
        body.operand = 0
        if family.can_end(call.body, body.parent):
            self.enter(family, call.group, body, call.at)
        if self.terms.meter.is_over:
            return 0
        self.work.calls[first] = self.work.calls.back()
        self.work.callers[first].swap(self.work.callers.back())
        self.work.calls.pop_back()
        self.work.callers.pop_back()
        return 0

    cdef int enter(self, ConfigSpace family, SuffixesId group, Edge edge, Visit at) except ID_FAILED nogil:
        """Visit the masks of a group's suffixes in the return state of an edge.

        The action of the edge gives the semantic state after the return. Then the return state is split, if
        possible. ``at``: the filter, keys and trials of the visits.
        """
        cdef SemId sem = self.arena.groups[group].sem
        cdef TermId state = edge.continuation, left
        cdef MaskId found
        cdef KeysId known = self.semantics.keys_at(sem)
        cdef bint strict = self.is_strict(family, edge.parent)
        cdef Visit on
        if edge.action == ACTION_BACK:
            at.keys = self.semantics.keys_at(edge.saved)
        elif edge.action.restores_caller():
            at.keys = self.semantics.keys_at(edge.saved)
            known = KEYS_UNKNOWN
            sem = SEM_SYMBOL
        elif edge.action.is_capture():
            if self.semantics.is_key(edge.action.action()):
                sem = self.semantics.symbol_after_key(at.keys if known == KEYS_UNKNOWN else known)
                if sem < 0:
                    self.trials.trial.tries_everything = True
                    return 0
                known = self.semantics.keys_at(sem)
                if (
                    self.semantics.keys.states[known].undeclared == USED_ANY_AND_ONE
                    and not (at.unsure and at.origin != NO_SUFFIXES)
                ):
                    # walks know nothing of one more key, so tokens need not be doubted after this one
                    on = at
                    on.keys = known
                    left = self.visit_prefixes(family, state, group, edge.parent, on)
                    if left == EMPTY:
                        return 0
                    if left != state:
                        at.keys = known
                        state = left
                self.local.has_callers = has_callers(family, edge.parent)
                found = self.local.child(group, state, sem, strict)
                return self.visit_after_return(found, edge.parent, at)
            sem = SEM_SYMBOL
            if known != KEYS_UNKNOWN:
                sem = self.semantics.with_keys(SEM_SYMBOL, known)
        if known != KEYS_UNKNOWN:
            self.local.has_callers = has_callers(family, edge.parent)
            found = self.local.child(group, state, sem, strict)
            return self.visit_after_return(found, edge.parent, at)
        if sem == SEM_SYMBOL and not (at.unsure and at.origin != NO_SUFFIXES):
            state = self.visit_prefixes(family, state, group, edge.parent, at)
            if state == EMPTY:
                return 0
        return self.visit_unsplit(family, group, state, sem, edge.parent, at)

    cdef int visit_unsplit(
        self, ConfigSpace family, SuffixesId group, TermId state, SemId sem, FrameId frame, Visit at
    ) except ID_FAILED nogil:
        """Visit the mask of an unsplit state, for the suffixes of a group or for all tokens."""
        cdef MaskId found = NO_TOKENS
        cdef bint strict = self.is_strict(family, frame)
        self.local.has_callers = has_callers(family, frame)
        if group == WHOLE:
            found = self.local.of_state(state, at.keys, strict)
            return self.visit(found, frame, EPS, at.filter, at.keys, at.unsure, at.origin)
        if at.keys <= KEYS_UNKNOWN or not self.terms.terms[state].flags & F_KEYS:
            found = self.local.child(group, state, sem, strict)
        if at.keys > KEYS_UNKNOWN and (
            self.terms.terms[state].flags & F_KEYS or self.local.asks_state(found)
        ):
            # the keys decide: walk with what walks may know of them
            sem = self.semantics.with_keys(sem, self.semantics.keys.view(at.keys))
            found = self.local.child(group, state, sem, strict)
        return self.visit_after_return(found, frame, at)

    cdef int visit_after_return(self, MaskId mask, FrameId frame, Visit at) except ID_FAILED nogil:
        """Visit the mask of suffixes after a return.

        If the semantic state decides there, and the suffixes are the subtrees of few nodes, these nodes are
        queued for a trial instead, which steps to each node once, not for each token.
        """
        cdef Group g
        cdef int32_t i
        if at.origin == NO_SUFFIXES or mask == NO_TOKENS or not (at.unsure or self.local.asks_state(mask)):
            return self.visit(mask, frame, EPS, at.filter, at.keys, at.unsure, at.origin)
        g = self.arena.groups[at.origin]
        for i in range(g.place_first, g.place_first + g.place_count):
            self.trials.places_to_try.push_back(self.arena.places[i])
        return 0

    cdef int visit_member(self, ConfigSpace family, Member m, KeysId keys) except ID_FAILED nogil:
        """Visit the masks of a member, or of its prefixes if it is split. ``keys``: of the object."""
        cdef Visit at
        at.filter = NO_FILTER
        at.unsure = False
        at.origin = NO_SUFFIXES
        at.keys = keys
        m.state = self.visit_prefixes(family, m.state, WHOLE, m.frame, at)
        if m.state != EMPTY:
            self.local.has_callers = has_callers(family, m.frame)
            at.mask = self.local.of_state(m.state, keys, self.is_strict(family, m.frame))
            self.visit(at.mask, m.frame, EPS, NO_FILTER, keys)
        return 0

    cdef int visit_root(self, ConfigSpace family, Member m, NodeId above) except ID_FAILED nogil:
        """Visit the masks of a configuration's member in the subtree of a node; 0: the whole vocabulary."""
        cdef KeysId keys = self.semantics.keys_at(m.sem)
        cdef bint strict
        if keys > KEYS_UNKNOWN:
            self.progress.most = MANY_KEYED
        if above:
            strict = self.is_strict(family, m.frame)
            self.local.has_callers = has_callers(family, m.frame)
            self.visit(self.local.of_state_under(m.state, above, strict), m.frame, EPS, NO_FILTER, keys)
        else:
            self.visit_member(family, m, keys)
        if keys > KEYS_UNKNOWN and self.semantics.in_capture(m.sem):
            if not self.keys_used.doubt_rest(m.sem):
                self.trials.trial.tries_everything = True
        return 0

    cdef int begin_fill(self, ConfigSpace family, ConfigId config) except ID_FAILED nogil:
        """Begin to find the operands of a configuration's mask, without any trials."""
        self.trials.begin()
        self.keys_used.begin()
        return self.begin_under(family, config)

    cdef int begin_under(self, ConfigSpace family, ConfigId config) except ID_FAILED nogil:
        """Begin to find the operands for a subtree of the vocabulary, which ``collect`` receives."""
        cdef int32_t i, first = family.configs[config].first
        self.work.clear()
        self.found.clear()
        self.trials.trial.tries_everything = False
        self.progress.sure = True
        if family.configs[config].capturing:
            for i in range(first, first + family.configs[config].count):
                self.progress.sure = self.progress.sure and self.semantics.is_sure(family.members[i].sem)
        self.progress.rooted = self.progress.expanded = 0
        self.progress.most = MANY_VISITS
        self.progress.most_entered = 0
        return 0

    cdef bint collect(self, ConfigSpace family, ConfigId config, NodeId above) except ID_FAILED nogil:
        """Find the operands of a mask after a begin, and the trials on the configuration itself.

        ``above``: the node of a subtree of the vocabulary; 0: all of it. Return False if the work limit is
        reached first: another call then continues.
        """
        cdef int32_t count = family.configs[config].count
        cdef size_t sure, unsure, places, tokens, doubtful
        cdef uint64_t entered
        cdef bint is_visit
        while (
            self.progress.rooted < count
            or self.progress.expanded < self.work.visits.size()
            or self.work.calls.size()
        ):
            sure, unsure, entered = self.found.sure.size(), self.found.unsure.size(), self.progress.entered
            places, tokens = self.trials.places_to_try.size(), self.trials.tokens_to_try.size()
            doubtful = self.keys_used.doubtful.size()
            is_visit = self.progress.rooted == count and self.progress.expanded < self.work.visits.size()
            if self.progress.rooted < count:
                self.visit_root(family, family.members[family.configs[config].first + self.progress.rooted], above)
            elif is_visit:
                self.terms.meter.spend(8)
                self.expand(family, self.work.visits[self.progress.expanded])
            else:
                self.terms.meter.spend(8)
                self.open_call(family)
            if self.terms.meter.is_over:
                # it is done again, and adds the same; visits are in the list only once
                self.found.sure.resize(sure)
                self.found.unsure.resize(unsure)
                self.trials.places_to_try.resize(places)
                self.trials.tokens_to_try.resize(tokens)
                self.keys_used.doubtful.resize(doubtful)
                self.progress.entered = entered
                return False
            if self.progress.rooted < count:
                self.progress.rooted += 1
                self.progress.roots = self.work.visits.size()
                self.progress.entered = 0
                if self.progress.rooted == count:
                    self.progress.most_entered = EDGES_PER_VISIT * self.progress.most
            elif is_visit:
                self.progress.expanded += 1
                if (
                    (self.progress.expanded >= self.progress.roots and self.work.visits.size() > self.progress.most)
                    or self.work.calls.size() > self.progress.most
                    or self.progress.entered > self.progress.most_entered
                ):
                    # in highly ambiguous grammars the paths through the stack, and so the masks per path, grow
                    # exponentially; configurations join the paths, so this stays polynomial
                    self.trials.trial.tries_everything = True
                    break
            if not above:
                # in a subtree all begins anew, and only the walks stay
                self.terms.meter.has_moved = True
                if self.terms.meter.is_spent():
                    return False
        self.progress.most_entered = 0
        self.most_visits = max(self.most_visits, self.progress.expanded)
        return True


# ------------------------------------------------------------------------------------------------
# Try the places where the semantic state decides, and collect tokens that an action may forbid.
#
# A place is a node of the token trie. The real configuration takes the bytes of the node. Then the semantic
# state is known, and the tokens of the node's subtree come from masks of local states again.
# ------------------------------------------------------------------------------------------------


cdef enum:
    MANY_BELOW = 4       # so many places in the subtree of one child are replaced by the child


@cython.final
cdef class PlaceTrials(MaskPart):
    """The trials of one fill that decide all tokens of a place at once."""

    def __cinit__(
        self,
        MaskContext context not None,
        TokenTrials trials not None,
        UndeclaredKeys keys_used not None,
        MaskAssembler assembler not None,
        MaskCache cache not None,
    ):
        self.trie = context.trie
        self.trials = trials
        self.keys_used = keys_used
        self.assembler = assembler
        self.cache = cache
        self.allowed_runs = 0

    cdef int begin(self) except FAILED nogil:
        """Begin to try the recorded places and tokens."""
        self.on_itself = False
        self.left.clear()
        return self.begin_places()

    cdef int begin_places(self) except FAILED nogil:
        self.places.clear()
        self.next_places.clear()
        self.tried = 0
        self.trials.trial.undecided = False
        if not self.outermost_places(0, self.places):
            self.places.assign(1, 0)
        return 0

    cdef bint try_all(self, ConfigSpace family, ConfigId config, uint32_t* words) except ID_FAILED nogil:
        """Add the allowed tokens found by trials. Return False if the work limit is reached before the end.

        The stand-in is tried first. Tokens that it leaves undecided are tried on the configuration itself.
        """
        cdef ConfigId on = config if self.on_itself else family.stand_in(config)
        if not self.try_places(family, on, words) or not self.trials.try_tokens(family, on, words):
            return False
        if self.on_itself or (self.left.empty() and self.trials.tokens_left.empty()):
            return True
        self.on_itself = True
        self.trials.places_to_try.swap(self.left)
        self.trials.tokens_to_try.swap(self.trials.tokens_left)
        self.begin_places()
        return self.try_all(family, config, words)

    cdef bint try_places(self, ConfigSpace family, ConfigId config, uint32_t* words) except ID_FAILED nogil:
        """Add the allowed tokens at the places. Return False if the work limit is reached first.

        A place can lead to further places in its subtree, which are tried in the next round.
        """
        cdef PlaceId place
        cdef NodeId node
        while self.tried < self.places.size() or not self.next_places.empty():
            if self.tried == self.places.size():
                self.places.swap(self.next_places)
                self.next_places.clear()
                self.tried = 0
            if self.terms.meter.is_spent():
                return False
            place = self.places[self.tried]
            node = node_at(place)
            if node:
                self.try_place(family, config, node, is_inclusive(place), words)
            if not node or (not self.terms.meter.is_over and not self.outermost_places(node, self.next_places)):
                self.trials.try_subtree(family, self.trials.step_to(family, config, node), node, words)
            if self.terms.meter.is_over:
                return False
            self.tried += 1
            self.trials.trial.resumed = 0
            self.terms.meter.has_moved = True
            if self.trials.trial.undecided:
                self.left.push_back(place)
                self.trials.trial.undecided = False
        return True

    cdef bint outermost_places(self, NodeId above, vector[PlaceId]& out) except FAILED nogil:
        """Move the recorded places in the subtree of a node to a list, except for places inside other places.

        Many places under one child of the node are replaced by the child. Return False if the node itself is
        recorded: then the caller tries the whole subtree.
        """
        cdef size_t k = 0, first, n = self.trials.places_to_try.size()
        cdef NodeId node, child
        cdef NodeId done = 0
        sort(self.trials.places_to_try.begin(), self.trials.places_to_try.end())
        if n and node_at(self.trials.places_to_try[0]) <= above:
            self.trials.places_to_try.clear()
            return False
        while k < n:
            node = node_at(self.trials.places_to_try[k])
            child = node
            while self.trie.depth[child] > self.trie.depth[above] + 1:
                child = self.trie.parent[child]
            first = out.size()
            while k < n and node_at(self.trials.places_to_try[k]) < self.trie.end[child]:
                node = node_at(self.trials.places_to_try[k])
                if node >= done:
                    out.push_back(self.trials.places_to_try[k])
                    done = self.trie.end[node]
                elif node_at(out.back()) == node:
                    # sorted: if one of them is inclusive, it comes last
                    out[out.size() - 1] = self.trials.places_to_try[k]
                k += 1
            if out.size() - first >= MANY_BELOW:
                out.resize(first)
                out.push_back(place_at(child, INCLUSIVE))
        self.trials.places_to_try.clear()
        return True

    cdef int try_place(
        self, ConfigSpace family, ConfigId config, NodeId node, bint inclusive, uint32_t* words
    ) except ID_FAILED nogil:
        """Add the allowed tokens under a node, and the node's own tokens if ``inclusive``."""
        cdef size_t i
        cdef ConfigId c
        cdef int32_t t
        self.allowed_runs += 1
        if self.trials.all_set(node, inclusive, words):
            return 0
        c = self.trials.step_to(family, config, node)
        if c == DEAD:
            return 0
        if inclusive:
            for t in range(self.trie.token_first[node], self.trie.token_first[node + 1]):
                words[self.trie.tokens[t] >> 5] |= <uint32_t>1 << (self.trie.tokens[t] & 31)
        if not self.context.layers.settled_places:
            return self.trials.try_subtree(family, c, node, words)
        if self.trie.end[node] == node + 1:
            return 0
        if self.keys_used.any_keys(family, c):
            return self.trials.try_subtree(family, c, node, words)
        self.keys_used.begin()
        self.assembler.begin_under(family, c)
        if not self.assembler.collect(family, c, node):
            return 0
        # after a return, the object around may have keys that a token repeats
        if self.trials.trial.tries_everything or self.keys_used.any_doubtful():
            self.trials.places_to_try.clear()
            return self.trials.try_subtree(family, c, node, words)
        for i in range(self.assembler.found.sure.size()):
            self.cache.apply(self.assembler.found.sure[i], words)
        if self.assembler.found.unsure.size():
            self.try_unsure(words)
        return 0

    cdef int try_unsure(self, uint32_t* words) except ID_FAILED nogil:
        """Queue the tokens that an action may forbid and that no other operand allows."""
        cdef size_t k
        cdef int32_t i
        cdef TokenId n
        cdef uint32_t left
        refill(self.unsure, self.context.width, 0)
        for k in range(self.assembler.found.unsure.size()):
            self.cache.apply(self.assembler.found.unsure[k], self.unsure.data())
        for i in range(self.context.width):
            left = self.unsure[i] & ~words[i]
            if left:
                for n in range(32):
                    if (left >> n) & 1:
                        self.trials.tokens_to_try.push_back(32 * i + n)
        return 0
