# The operands of a configuration's mask. See mask_assembly.pyx.
from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport (
    AlternativeId,
    ConfigId,
    FilterId,
    FrameId,
    KeysId,
    MaskId,
    NodeId,
    RepeatId,
    ReturnAction,
    SemId,
    SuffixesId,
    TermId,
)
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.masks.shared.part cimport MaskPart
from stackmask.pda.masks.shared.arena cimport MaskArena
from stackmask.pda.masks.runs.slices cimport Slices
from stackmask.pda.masks.runs.run_splitting cimport RunSplitter
from stackmask.pda.masks.prefixes.literal_masks cimport LiteralMasks
from stackmask.pda.masks.walk.local_masks cimport LocalMasks
from stackmask.pda.masks.walk.known_stack_walks cimport KnownStackWalks
from stackmask.pda.masks.assembly.token_trials cimport TokenTrials
from stackmask.pda.masks.assembly.undeclared_keys cimport WHOLE, UndeclaredKeys
from stackmask.pda.stack.configuration_table cimport Member
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.stack.frames cimport Edge
from stackmask.pda.masks.prefixes.prefix_splitting cimport PrefixSplitter, Alternative
from stackmask.pda.masks.assembly.worklist cimport Operands, Visit, Worklist


cdef class MaskAssembler(MaskPart):
    cdef Semantics semantics
    cdef MaskArena arena
    cdef Slices slices
    cdef RunSplitter splitter
    cdef LiteralMasks literals
    cdef LocalMasks local
    cdef KnownStackWalks known
    cdef TokenTrials trials
    cdef UndeclaredKeys keys_used
    # scratch of one fill
    cdef Worklist work                      # masks to visit
    cdef bint sure                          # no action can forbid the end of an open capture
    cdef Operands found
    cdef PrefixSplitter prefixes
    cdef readonly uint64_t most_visits
    cdef uint64_t entered                   # edges that visits returned along
    cdef uint64_t most_entered              # with more, `collect_under` gives up; 0: no limit

    cdef Worklist use(self, Worklist work)
    cdef int begin(self, bint sure) noexcept nogil
    cdef bint depends_on_text(self) noexcept nogil
    cdef int visit(
        self,
        MaskId mask,
        FrameId frame,
        TermId continuation,
        FilterId filter,
        KeysId keys,
        bint unsure=*,
        SuffixesId origin=*,
        ReturnAction action=*,
    ) except -3 nogil
    cdef int32_t count_entered(self, ConfigSpace family, Visit at) noexcept nogil
    cdef TermId visit_prefixes(
        self, ConfigSpace family, TermId state, SuffixesId group, FrameId frame, Visit at
    ) except -3 nogil
    cdef int expand(self, ConfigSpace family, Visit at) except -3 nogil
    cdef int repeat(self, ConfigSpace family, Visit at, RepeatId repeat) except -3 nogil
    cdef bint is_strict(self, ConfigSpace family, FrameId frame) except -1 nogil
    cdef bint visit_whitespace(
        self, ConfigSpace family, Alternative alternative, SuffixesId group, FrameId frame, Visit at
    ) except -1 nogil
    cdef int visit_unsplit(
        self, ConfigSpace family, SuffixesId group, TermId state, SemId sem, FrameId frame, Visit at
    ) except -3 nogil
    cdef bint can_continue(self, ConfigSpace family, AlternativeId alternative, FrameId frame) except -1 nogil
    cdef int enter(self, ConfigSpace family, SuffixesId group, Edge edge, Visit at) except -3 nogil
    cdef int visit_after_return(self, MaskId mask, FrameId frame, Visit at) except -3 nogil
    cdef int visit_member(self, ConfigSpace family, Member m, KeysId keys) except -3 nogil
    cdef int collect(self, ConfigSpace family, ConfigId config) except -3 nogil
    cdef int collect_under(self, ConfigSpace family, ConfigId config, NodeId above) except -3 nogil
