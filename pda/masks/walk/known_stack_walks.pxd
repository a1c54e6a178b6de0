# Walks repeated with known frames. See known_stack_walks.pyx.
from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport MaskId, RepeatId, TermId
from stackmask.pda.masks.shared.part cimport MaskPart
from stackmask.pda.masks.shared.arena cimport MaskArena
from stackmask.pda.masks.walk.local_masks cimport LocalMasks
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.masks.walk.walk_result cimport RepeatableWalk

cdef enum:
    NOT_REPEATED = -2   # no mask: the walk has too many known frames


cdef class KnownStackWalks(MaskPart):
    cdef MaskArena arena
    cdef LocalMasks local
    cdef KeyMap repeat_index    # (walk << 32 | return state) << 1 | strict -> mask
    cdef KeyMap grouped_index   # walk << 1 | strict -> mask

    cdef MaskId with_return_state(self, RepeatId number, TermId continuation, bint strict) except -3 nogil
    cdef MaskId with_groups(self, RepeatId number, bint strict) except -3 nogil
    cdef MaskId walk_again(self, RepeatableWalk again, bint strict, bint repeatable) except -3 nogil
