# distutils: language = c++
"""Masks: the tokens that may follow a configuration. The engine owns the parts for them; ``fill`` is the
pipeline.

The mask of a configuration is the union of the masks of its members' local states (``walk``). A token may
return into a member's frame with bytes left over, its suffix. Then each edge of the frame gives a return
state. The result for (suffixes, return state) is a mask of the same form, cached under that pair
(``mask_assembly``). A state is split into prefixes and continuations (``prefixes``), as if every prefix were
a rule that returns.

If the semantic state decides at a node of the vocabulary, the actual configuration is stepped to that node.
The mask there is assembled again from the masks of its members, limited to the subtree of the node
(``mask_assembly``). A mask of several operands is cached under the list of its operands, since computing the
union costs more than a look-up. A configuration caches this list, and later its finished mask
(``mask_cache``).
"""

cimport cython
from libc.stdint cimport uint64_t

from stackmask.pda.context.object_keys cimport KEYS_UNKNOWN
from stackmask.pda.ids cimport FAILED, NO_PENDING, NO_ROW, UNBOUNDED, CodeId, FrameId, RunId
from stackmask.pda.masks.arena cimport (
    MASK_NONE,
    MASK_OPERANDS,
    MASK_ROW,
    NO_FILTER,
    Mask,
    MaskArena,
    MaskContext,
    MaskPart,
    drop_from,
    is_whole,
    mask_of,
    mask_ref,
    nbytes_from,
    operands_of,
    remember,
    write_bits,
)
from stackmask.pda.masks.mask_cache cimport Operand
from stackmask.pda.masks.run_tables cimport NOT_A_CODE, Span
from stackmask.pda.memory.bitmask_ops cimport copy_words
from stackmask.pda.memory.byte_sets cimport count_bits
from stackmask.pda.memory.work_meter cimport ENDLESS
from stackmask.pda.stack.configuration_table cimport BOTTOM, DEAD, Edge, Member

from itertools import pairwise


cdef enum:
    FEW_LISTS = 16       # so many new lists of operands count as one change: a list is small
    WEIGHED = 32         # walks after which the bytes of the parts are counted again
    WALK_UNITS = 30_000     # of work on walks for a mask, at first, before all tokens are tried
    MOST_TRIED = 80_000     # ... with so much work
    SAVING = 8              # what a trial takes beyond that of walks, walks may save in part: others share them
    IN_VAIN = 4             # after a trial in vain, walks may take so many times more
    MOST_BEGUN = 4          # a fill that began anew so often goes on to its end
    FILL_BYTES = 1 << 23    # of a family, before fills work on copies; of these copies, before they are dropped

cdef enum:
    # what comes next in a fill: walks, as long as they take little; trials of all tokens; all walks, ...
    WALKING, TRYING, WALKING_ON
    FINISHING           # ... and trials of what they left undecided


@cython.final
cdef class CutFill:
    """An interrupted fill, with its scratch data from the engine.

    It is valid for one family, configuration and epoch of masks.
    """

    def __cinit__(self):
        self.config = DEAD
        self.work = Worklist()
        self.found = Operands()

    cdef int swap(self, MaskEngine e) except FAILED nogil:
        """Swap the saved data with the scratch data of an engine."""
        with gil:
            self.work, e.assembler.work = e.assembler.work, self.work
            self.found, e.assembler.found = e.assembler.found, self.found
            self.fill_space, e.fill_space = e.fill_space, self.fill_space
        self.walks.swap(e.walker.cut)
        self.places_to_try.swap(e.trials.places_to_try)
        self.tokens_to_try.swap(e.trials.tokens_to_try)
        self.tokens_left.swap(e.trials.tokens_left)
        self.doubtful.swap(e.keys_used.doubtful)
        self.left.swap(e.places.left)
        self.places.swap(e.places.places)
        self.next_places.swap(e.places.next_places)
        self.progress, e.assembler.progress = e.assembler.progress, self.progress
        self.trial, e.trials.trial = e.trials.trial, self.trial
        self.tried, e.places.tried = e.places.tried, self.tried
        self.on_itself, e.places.on_itself = e.places.on_itself, self.on_itself
        self.phase, e.phase = e.phase, self.phase
        self.spent, e.spent = e.spent, self.spent
        self.likely_base, e.likely_base = e.likely_base, self.likely_base
        self.fill_config, e.fill_config = e.fill_config, self.fill_config
        self.fill_limit, e.fill_limit = e.fill_limit, self.fill_limit
        self.is_copied, e.is_copied = e.is_copied, self.is_copied
        return 0


@cython.final
cdef class MaskParts:
    """The parts of one engine, in order of creation, which are dropped and measured together.

    A part uses earlier parts, so each part refers to its predecessor. An engine thus has no reference cycles,
    and its memory is freed as soon as it is unused.
    """

    def __cinit__(
        self, MaskContext context not None, TrieWalk walker not None, MaskPart cache not None, tuple parts
    ):
        self.context = context
        self.walker = walker
        self.cache = cache
        self.last = parts[len(parts) - 1]
        for before, part in pairwise(parts):
            (<MaskPart>part).next_part = before
        self.weight = self.weighed = 0

    cdef int drop(self) except FAILED nogil:
        """Drop all parts. The context has already been renewed, and the arena is empty."""
        drop_from(self.last)
        self.weigh()
        return 0

    cdef size_t nbytes(self) noexcept nogil:
        """Return the number of bytes held, without the cache of masks, as measured a few walks ago."""
        if self.walker.walks - self.weighed >= WEIGHED or self.walker.walks < self.weighed:
            self.weigh()
        return self.weight

    cdef int weigh(self) noexcept nogil:
        """Count the bytes of the parts. Since parts are spread in memory, this happens every few walks."""
        # the cache is weighed with every mask
        self.weight = self.context.runs.index_nbytes() + nbytes_from(self.last) - self.cache.nbytes()
        self.weighed = self.walker.walks
        return 0


@cython.final
cdef class MaskEngine:
    """The masks of the grammars of one store over one vocabulary. It owns their parts."""

    def __cinit__(
        self,
        TermStore terms not None,
        Semantics semantics not None,
        ConfigSpace space not None,
        Trie trie not None,
        int32_t vocab_size,
        uint64_t max_bytes=1 << 28,
    ):
        cdef MaskContext c = MaskContext(terms, semantics, space, trie, vocab_size, max_bytes)
        cdef Slices slices
        cdef RunSplitter splitter
        cdef ConstrainedRuns constrained
        cdef SubtreeAcceptance acceptance, tried
        self.context = c
        self.terms = terms
        self.width = c.width
        self.arena = MaskArena(c)
        slices = Slices(c, self.arena)
        splitter = RunSplitter(c, slices)
        constrained = ConstrainedRuns(c, self.arena, slices, splitter)
        self.partition = TokenPartition(c, self.arena, slices, splitter)
        acceptance = SubtreeAcceptance(c, self.partition)
        self.literals = LiteralMasks(c, self.arena)
        self.walker = TrieWalk(c, self.arena, constrained, acceptance)
        self.local = LocalMasks(c, self.arena, slices, splitter, self.partition, self.literals, self.walker)
        tried = SubtreeAcceptance(c, self.partition)
        self.trials = TokenTrials(c, tried)
        self.keys_used = UndeclaredKeys(c, self.arena, self.trials)
        self.assembler = MaskAssembler(
            c,
            self.arena,
            slices,
            splitter,
            self.literals,
            self.local,
            self.trials,
            self.keys_used,
        )
        self.cache = MaskCache(c, self.arena, slices)
        self.places = PlaceTrials(c, self.trials, self.keys_used, self.assembler, self.cache)
        self.parts = MaskParts(
            c,
            self.walker,
            self.cache,
            (
                slices,
                splitter,
                constrained,
                self.partition,
                acceptance,
                self.literals,
                self.walker,
                self.local,
                tried,
                self.trials,
                self.keys_used,
                self.assembler,
                self.cache,
                self.places,
            ),
        )
        self.slices = slices
        self.epoch = 1
        self.weighed = self.fills = self.hits = self.simulations = 0
        self.walk_units = WALK_UNITS
        self.fill_bytes = FILL_BYTES

    @property
    def space(self):
        """The configurations that the walks use."""
        return self.context.space

    def add_token_class(self, tokens):
        """Add the token ids of the next class of special tokens."""
        self.context.add_token_class(tokens)

    def prepare(self, items):
        """Build the run tables of some repeated items over the whole vocabulary. ``items``: terms."""
        cdef CodeId code
        cdef RunId run
        cdef Span after
        for item in items:
            code = self.context.runs.code_of(item)
            if code != NOT_A_CODE:
                run = self.context.runs.run_of(code, 0)
                self.slices.slice(run, UNBOUNDED)
                self.partition.other_tokens_place(run)
                self.context.runs.sort_tokens(run)
                self.context.runs.suffixes_of(run, self.context.key_text.quote, &after)

    # -- one mask --------------------------------------------------------------------------------------

    cdef int fill(self, ConfigSpace family, ConfigId config, uint32_t* words) except FAILED nogil:
        """Write the mask of a configuration to ``words`` (``width`` words of 32 bits).

        A cached mask is used if there is one. Otherwise the steps are: collect the operands of the members,
        compute their union, try the undecided tokens on the configuration itself, and cache the result.
        """
        cdef MaskRef mask
        self.fills += 1
        if self.changes_made() != self.weighed:
            self.weigh()
        mask = mask_of(family.configs[config], self.epoch)
        if mask.kind != MASK_NONE:
            return self.fill_again(family, config, mask, words)
        self.begin(family, config)
        self.advance(family, config, words, ENDLESS)
        return 0

    cdef bint fill_slice(
        self, ConfigSpace family, ConfigId config, uint32_t* words, CutFill cut, int64_t units
    ) except FAILED nogil:
        """Do ``units`` of work on a fill, and a little more. Return whether the mask is written.

        ``cut``: the progress of earlier calls, to which this one adds. Each call makes progress.
        """
        cdef bint is_done
        if mask_of(family.configs[config], self.epoch).kind != MASK_NONE:
            self.fill(family, config, words)
            return True
        if cut.epoch == self.epoch and cut.config == config and cut.family is family:
            cut.swap(self)
            with gil:
                cut.fill_space = None
            copy_words(words, cut.words.data(), self.width)
        else:
            # rows of these walks may be others by now: masks were dropped since
            cut.walks.clear()
            cut.begun = cut.begun + 1 if cut.config == config else 1
            if cut.begun > MOST_BEGUN:
                # masks are dropped again and again
                units = ENDLESS
            self.fills += 1
            if self.changes_made() != self.weighed:
                self.weigh()
            self.begin(family, config)
            cut.config = config
            with gil:
                cut.family = family
        # an error leaves nothing to go on with
        cut.epoch = 0
        is_done = self.advance(family, config, words, units)
        self.terms.meter.set_limit(ENDLESS, True)
        if is_done:
            cut.config = DEAD
        else:
            cut.words.assign(words, words + self.width)
            cut.swap(self)
            cut.epoch = self.epoch
            self.terms.meter.slices += 1
        return is_done

    cdef int begin(self, ConfigSpace family, ConfigId config) except FAILED nogil:
        """Begin to compute a mask.

        Fills make frames and configurations to which no matcher comes, above all in trials. The steps between
        them save work at the next tokens, so a small family keeps them. If a family is large, fills work on
        copies of its configurations in a space of their own, which is dropped from time to time.
        """
        cdef size_t held = 0
        self.terms.meter.set_limit(ENDLESS, True)
        self.walker.forget_cut()
        self.phase = WALKING
        self.spent = 0
        self.likely_base = NO_ROW
        self.is_copied = family.nbytes() > self.fill_bytes
        if not self.is_copied:
            return self.begin_on(family, config)
        if (
            self.fill_space is None
            or self.fill_space.nbytes() > self.fill_limit
            or 2 * self.fill_space.configs.size() > family.max_configurations
        ):
            self.fill_limit = self.fill_bytes
            with gil:
                self.fill_space = self.context.new_space(False, family)
        else:
            held = self.fill_space.nbytes()
        self.fill_config = self.fill_space.copy_of(family, config)
        if self.fill_space.nbytes() >= held + held // 2:
            # a deep stack, of whichever matcher, is copied again only when fills have made as much
            self.fill_limit = max(self.fill_limit, 2 * self.fill_space.nbytes())
        return self.begin_on(self.fill_space, self.fill_config)

    cdef int begin_on(self, ConfigSpace space, ConfigId config) except FAILED nogil:
        """Begin to compute the mask of a configuration or of its copy."""
        self.assembler.begin_fill(space, config)
        if not self.may_try(space, config):
            self.phase = WALKING_ON
        elif not self.context.layers.walks:
            self.phase = TRYING
        return 0

    cdef bint advance(
        self, ConfigSpace family, ConfigId config, uint32_t* words, int64_t units
    ) except FAILED nogil:
        """Continue computing the mask, and cache it. Return False if this takes more work than ``units``.

        The progress is then in the scratch of the parts and in ``words``, and another call continues.
        """
        cdef MaskRef mask
        if not (
            self.advance_on(self.fill_space, self.fill_config, words, units, &mask)
            if self.is_copied
            else self.advance_on(family, config, words, units, &mask)
        ):
            return False
        remember(&family.configs[config], mask, self.epoch)
        return True

    cdef bint advance_on(
        self, ConfigSpace space, ConfigId config, uint32_t* words, int64_t units, MaskRef* mask
    ) except FAILED nogil:
        """Continue computing the mask of a configuration or of its copy. Return False as `advance` does."""
        cdef int64_t until = min(self.terms.meter.units() + units, ENDLESS)
        cdef bint is_tried = False
        # an error may have ended the trial of another fill
        self.trials.spares_captures = False
        if self.phase != FINISHING:
            if not self.find_operands(space, config, words, until, &is_tried):
                return False
            if not is_tried:
                self.join(words, mask, &self.likely_base)
                if not self.trials.is_needed():  # mutant: no-trials
                    return True
                self.begin_undecided(space, config, words)
                self.phase = FINISHING
        if self.phase == FINISHING:
            self.terms.meter.set_limit(self.terms.meter.units_until(until), False)
            if not self.places.try_all(space, config, words):
                return False
            self.terms.meter.set_limit(ENDLESS, True)
        # rows are given back in the order in which they were made
        self.walker.forget_cut()
        # trials hold for this configuration alone: it keeps a mask of its own
        self.cache.keep(words, self.likely_base, mask)
        return True

    cdef bint find_operands(
        self, ConfigSpace space, ConfigId config, uint32_t* words, int64_t until, bint* is_tried
    ) except FAILED nogil:
        """Find the operands of a mask, or write the mask by trying all tokens, whichever takes less work.

        Return False if the meter exceeds ``until`` before the end. Walks come first, since all configurations
        share them. When they have taken ``walk_units`` of work, all tokens are tried. If this fails, or takes
        more work, walks may take more work from then on: so grammars with useless trials stop trying.
        """
        cdef int64_t most = self.walk_units - self.spent, begun = self.terms.meter.units()
        cdef int64_t left = self.terms.meter.units_until(until)
        if self.phase == WALKING:
            self.terms.meter.set_limit(min(most, left), left >= most)
            if self.assembler.collect(space, config, 0):
                self.terms.meter.set_limit(ENDLESS, True)
                return True
            self.spent += self.terms.meter.units() - begun
            if left < most:
                return False
            self.phase = TRYING
            self.spent = 0
        if self.phase == TRYING:
            is_tried[0] = self.is_tried(space, config, words, until)
            if is_tried[0] or self.phase == TRYING:
                return is_tried[0]
        self.terms.meter.set_limit(self.terms.meter.units_until(until), False)
        if not self.assembler.collect(space, config, 0):
            return False
        self.terms.meter.set_limit(ENDLESS, True)
        return True

    cdef bint is_tried(
        self, ConfigSpace space, ConfigId config, uint32_t* words, int64_t until
    ) except FAILED nogil:
        """Write the mask of a configuration by trying all tokens on it. Return whether it is written.

        Otherwise, either the trial failed and the phase changes, or another call continues.
        """
        cdef int64_t begun = self.terms.meter.units(), left = self.terms.meter.units_until(until)
        cdef int64_t most = MOST_TRIED - self.spent if self.context.layers.walks else ENDLESS
        cdef bint is_written
        if not self.trials.trial.resumed:
            copy_words(words, NULL, self.width)
            self.trials.try_special_tokens(space, config, words)
        self.terms.meter.set_limit(min(most, left), left >= most)
        self.trials.spares_captures = self.context.layers.walks
        is_written = self.trials.try_subtree(space, config, 0, words)
        self.trials.spares_captures = False
        self.spent += self.terms.meter.units() - begun
        if not is_written and self.terms.meter.is_over and left < most:
            return False
        self.terms.meter.set_limit(ENDLESS, True)
        self.trials.trial.resumed = 0
        self.simulations += is_written
        if not is_written:
            self.phase = WALKING_ON
            self.walk_units = min(IN_VAIN * self.walk_units, ENDLESS // IN_VAIN)
        elif self.spent > self.walk_units:
            self.walk_units += MOST_TRIED // SAVING
        return is_written

    cdef bint may_try(self, ConfigSpace space, ConfigId config) except FAILED nogil:
        """Return whether all tokens may be tried on a configuration.

        Not if trials would store each possible name or key: see also `TokenTrials.try_subtree`.
        """
        cdef int32_t i
        if space.stand_in(config) != config or space.configs[config].capturing:
            return False
        for i in range(space.configs[config].first, space.configs[config].first + space.configs[config].count):
            if self.context.semantics.keys_at(space.members[i].sem) > KEYS_UNKNOWN:
                return False
        return True

    cdef int fill_again(
        self, ConfigSpace family, ConfigId config, MaskRef mask, uint32_t* words
    ) except FAILED nogil:
        """Write the mask of a configuration with a cached mask or list of operands."""
        cdef RowId likely_base
        if is_whole(mask):
            self.hits += 1
            return self.write_mask(mask, words)
        self.cache.operands_of(operands_of(mask), self.assembler.found.sure)
        self.cache.join_list(operands_of(mask), self.assembler.found.sure, words, &mask, &likely_base)
        remember(&family.configs[config], mask, self.epoch)
        return 0

    cdef int join(self, uint32_t* words, MaskRef* made, RowId* likely_base) except FAILED nogil:
        """Write the union of the operands, and collect the tokens that only trials can confirm."""
        if self.trials.trial.tries_everything:
            copy_words(words, NULL, self.width)
            return 0
        self.cache.join(self.assembler.found.sure, words, made, likely_base)
        if self.assembler.found.unsure.size():
            self.places.try_unsure(words)
        if self.keys_used.any_doubtful():
            self.keys_used.recheck(words)
        return 0

    cdef int begin_undecided(self, ConfigSpace space, ConfigId config, uint32_t* words) except FAILED nogil:
        """Begin to try undecided tokens on the actual configuration, and to add the allowed ones."""
        self.simulations += 1
        if self.trials.trial.tries_special_tokens or self.trials.trial.tries_everything:
            self.trials.try_special_tokens(space, config, words)
        if self.trials.trial.tries_everything:
            self.trials.places_to_try.clear()
            self.trials.tokens_to_try.clear()
            self.trials.places_to_try.push_back(0)
        return self.places.begin()

    # -- the facade that the runtime sees, with `fill`, `width` and `epoch` ----------------------------

    cdef MaskRef reference(self, ConfigSpace family, ConfigId config) noexcept nogil:
        """Return the reference to the cached mask of a configuration, without stop tokens."""
        cdef MaskRef mask = mask_of(family.configs[config], self.epoch)
        if mask.kind == MASK_OPERANDS and self.cache.lists[operands_of(mask)].mask.kind != MASK_NONE:
            mask = self.cache.lists[operands_of(mask)].mask
        if is_whole(mask):
            self.fills += 1
            self.hits += 1
        return mask

    cdef MaskBits bits(self, MaskRef mask) noexcept nogil:
        """Return the words of a mask of kind MASK_ROW or MASK_PATCHED."""
        return self.cache.bits(mask)

    cdef int write_mask(self, MaskRef mask, uint32_t* words) except FAILED nogil:
        """Write a mask of kind MASK_ROW or MASK_PATCHED."""
        cdef MaskBits bits = self.cache.bits(mask)
        write_bits(&bits, self.width, words)
        return 0

    cdef MaskRef intern_mask(self, ConfigSpace family, ConfigId config, const uint32_t* words) except *:
        """Cache the complete mask of a configuration, without stop tokens, as a row."""
        cdef MaskRef mask = mask_ref(MASK_ROW, self.arena.intern_row(words))
        remember(&family.configs[config], mask, self.epoch)
        return mask

    cdef int operand_rows(self, MaskRef mask, vector[RowId]& out) except FAILED nogil:
        """List the rows among the operands of a mask of kind MASK_OPERANDS, each once, in order."""
        return self.cache.operand_rows(operands_of(mask), out)

    cdef const uint32_t* row_words(self, RowId number) noexcept nogil:
        """Return the words of a row of this epoch."""
        return self.arena.rows[number]

    # -- memory ----------------------------------------------------------------------------------------

    cdef uint64_t changes_made(self) noexcept nogil:
        """Return a number that changes when masks may take more memory than before.

        The number ignores rows of sparse masks, which are rare, and only created with new lists.
        """
        return self.walker.walks + self.cache.joins + self.cache.lists.size() // FEW_LISTS

    cdef int weigh(self) except FAILED nogil:
        """Drop all masks if they exceed their budget, or walks have half of their configurations.

        No caller may hold ids of masks at this point.
        """
        self.weighed = self.changes_made()
        if (
            self.nbytes() + self.context.space.nbytes() > self.context.max_bytes
            or 2 * self.context.space.configs.size() > self.context.space.max_configurations
        ):
            self.drop()
        return 0

    cdef int drop(self) except FAILED nogil:
        """Drop all masks, and all objects that refer to masks; they are recomputed on demand."""
        self.context.renew()
        with gil:
            self.fill_space = None
        self.arena.drop()
        self.parts.drop()
        self.walker.cut.clear()
        self.epoch += 1
        self.walk_units = WALK_UNITS
        return 0

    cdef size_t nbytes(self) noexcept nogil:
        """Return the number of bytes in the masks, their indexes, and the configurations of fills."""
        cdef size_t held = 0 if self.fill_space is None else self.fill_space.nbytes()
        held += self.arena.nbytes() + self.context.runs.nbytes()
        return held + self.cache.nbytes() + self.parts.nbytes()

    def counts(self):
        """Return sizes: numbers of masks, walks and hits, and bytes held by masks."""
        self.context.terms.meter.settle()
        return {
            "masks": self.arena.masks.size(),
            "walks": self.walker.walks,
            "word_walks": self.literals.spelled_masks,
            "visited_nodes": self.walker.visited_nodes,
            "fills": self.fills,
            "hits": self.hits,
            "joined_masks": self.cache.joins,
            "walks_with_many_suffixes": self.local.ungrouped.size(),
            "shortened_walks": self.local.shortened,
            "subtrees_taken": self.walker.taken,
            "simulations": self.simulations,
            "tried_tokens": self.trials.tried,
            "settled_places": self.places.allowed_runs,
            "most_visits": self.assembler.most_visits,
            "mask_bytes": self.nbytes(),
            "walk_bytes": self.context.space.nbytes(),
            "drops": self.arena.drops,
            "walk_configurations": self.context.space.configs.size(),
            "walk_members": self.context.space.members.size(),
            "walk_edges": self.context.space.edges.size(),
            "spelled_keys": self.assembler.keys_used.spellings,
            "doubtful_places": self.assembler.keys_used.rechecked,
            "run_looks": self.partition.visits,
        }

    def set_budget(self, max_bytes):
        """Change the memory limit of masks in bytes. The next mask checks this limit."""
        self.context.terms.meter.settle()
        self.context.max_bytes = max_bytes

    def nbytes_held(self):
        """Return the approximate number of bytes that remain after a drop: facts about terms and tokens."""
        self.context.terms.meter.settle()
        return (
            self.assembler.prefixes.nbytes()
            + self.literals.table.nbytes()
            + self.partition.nbytes_of_terms()
            + self.trials.nbytes_of_vocabulary()
            + self.walker.nbytes_of_vocabulary()
            + self.context.class_bytes
        )


# ------------------------------------------------------------------------------------------------
# Why a mask is what it is, and what it cost: for people, tests and ``stackmask trace``.
#
# The operands of a mask are collected as a fill collects them. What a fill would have to make is made and
# remembered, so the fill after it is quicker.
# ------------------------------------------------------------------------------------------------


MOST_SHOWN = 8     # return states that a dump shows of a frame


cpdef dict explain_mask(MaskEngine engine, ConfigSpace family, ConfigId config):
    """Return the operands of a mask, its trials, and the cost of computing it.

    The explanation uses walks, even if a fill would try all tokens. Cost: that of these walks. The caller
    holds the lock of the store.
    """
    cdef uint64_t walks = engine.walker.walks, nodes = engine.walker.visited_nodes
    cdef uint64_t spelled = engine.literals.spelled_masks
    cdef size_t i
    engine.begin(family, config)
    if engine.is_copied:
        engine.assembler.collect(engine.fill_space, engine.fill_config, 0)
    else:
        engine.assembler.collect(family, config, 0)
    cdef list operands = [describe(engine, engine.assembler.found.sure[i], True)
                          for i in range(engine.assembler.found.sure.size())]
    for i in range(engine.assembler.found.unsure.size()):
        operands.append(describe(engine, engine.assembler.found.unsure[i], False))
    return {
        "operands": operands,
        "places_to_try": engine.trials.places_to_try.size(),
        "tokens_to_try": engine.trials.tokens_to_try.size(),
        "tries_everything": bool(engine.trials.trial.tries_everything),
        "walks": engine.walker.walks - walks,
        "visited_nodes": engine.walker.visited_nodes - nodes,
        "spelled_masks": engine.literals.spelled_masks - spelled,
    }


cdef dict describe(MaskEngine engine, Operand operand, bint sure):
    """Return an operand's representation, number of tokens, number of tokens after its filter, and cost."""
    cdef Mask mask
    cdef int32_t excluded = 0
    cdef bint narrowed = False
    if operand.filter != NO_FILTER:
        excluded = engine.slices.filters[operand.filter].count
        narrowed = engine.slices.filters[operand.filter].row != NO_ROW
    found = {"sure": bool(sure), "narrowed": bool(narrowed), "excluded": excluded}
    if operand.pending != NO_PENDING:
        found["kind"] = "pending"
        found["tokens"] = engine.arena.pendings[operand.pending].count
        found["visited_nodes"] = 0
        return found
    mask = engine.arena.masks[operand.mask]
    found["kind"] = "row" if mask.dense != NO_ROW else "list"
    found["tokens"] = mask.sparse_count
    if mask.dense != NO_ROW:
        found["tokens"] = count_bits(<uint64_t*>engine.arena.rows[mask.dense], engine.width // 2)
        if engine.width & 1:
            found["tokens"] += bin(engine.arena.rows[mask.dense][engine.width - 1]).count("1")
    found["visited_nodes"] = mask.cost
    return found


cpdef list dump_configuration(ConfigSpace family, ConfigId config):
    """Return the members of a configuration as sorted text: the local state, then its return states."""
    cdef int32_t i, first = family.configs[config].first
    cdef Member m
    cdef Edge edge
    cdef FrameId frame
    lines = []
    for i in range(first, first + family.configs[config].count):
        m = family.members[i]
        line = family.terms.dump(m.state)
        frame = m.frame
        shown = 0
        while frame != BOTTOM and shown < MOST_SHOWN:
            edge = family.edges[family.frames[frame].first]
            line += f" · {family.terms.dump(edge.continuation)}"
            if family.frames[frame].count > 1:
                line += f" (and {family.frames[frame].count - 1} more)"
            frame = edge.parent
            shown += 1
        lines.append(line + (" · …" if frame != BOTTOM else ""))
    return sorted(lines)
