from libc.stdint cimport int32_t, int64_t, uint32_t
from libcpp.vector cimport vector

from stackmask.pda.forced cimport ForcedRuns
from stackmask.pda.ids cimport FAILED, ID_FAILED
from stackmask.pda.masks.engine cimport CutFill, MaskEngine
from stackmask.pda.memory.work_meter cimport StoreLock, WorkAccount
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.runtime.jump_forward.token_history cimport JumpCalls, TokenHistory

# Calls of the engine that release the GIL when they take long. The caller holds the lock of the store.

cdef int fill_released(
    MaskEngine masks, ConfigSpace family, int32_t config, uint32_t* words
) except FAILED nogil


cdef enum:
    NO_CONFIG = -1          # in place of a configuration


cdef class FamilyTools:
    cdef object planner                 # with the forced runs of the family; None until asked
    cdef object budgets                 # likewise, with the ends of its texts


cdef class Matcher(JumpCalls):
    # what every call reads stands together: a row that is copied takes all else out of the nearest cache
    cdef StoreLock lock                 # held whenever states or masks may be made
    cdef ConfigSpace family             # shared with forks
    cdef vector[int32_t] history        # configurations after each accept call; history[0] is the start
    cdef bint terminated
    cdef int32_t size                   # width of the logits
    cdef MaskEngine masks
    cdef object refused                 # the last refusal: (configuration, bytes accepted, token or text)
    cdef TokenHistory tokens            # what each accept call took
    cdef vector[int32_t] stops          # the stop tokens
    cdef readonly object compiled
    cdef object automaton
    cdef readonly WorkAccount account   # what the request may still do; forks share it
    cdef dict classes_of_token          # special token that came -> its classes; None if there are none
    cdef FamilyTools tools              # None until asked
    cdef int64_t fill_work     # units of a slice of a mask's work
    cdef CutFill cut                    # the mask here, if it is not ready; else of no use, or None

    cdef bint fill_slice(self, uint32_t* words, int64_t units, bint at_once=*) except FAILED
    cdef int fill_row(self, int32_t config, bint terminated, uint32_t* words) except ID_FAILED
    cdef int32_t known_after(self, int32_t token) noexcept
    cdef bint write_ready(self, uint32_t* words) except FAILED
    cdef void allow_stops(self, uint32_t* words) noexcept
    cdef int32_t after_token(self, int32_t config, int32_t token) except ID_FAILED
    cdef int take_step(self, int32_t next, int32_t token) except FAILED
    cdef FamilyTools family_tools(self)
    cdef ForcedRuns find_forced(self)
    cdef int begin(self) except FAILED
    cdef bint advance(self, int32_t id, object token) except FAILED
    cdef bint advance_text(self, bytes data) except FAILED
    cdef void keep_places(self, size_t places) noexcept
    cdef dict counts(self)
    cdef tuple expected_at(self, int32_t config)
    cdef int enter(self) except FAILED
    cdef int wait_or_move(self) except FAILED
    cdef bint move(self) except FAILED


cdef bint is_stop(const vector[int32_t]& stops, int32_t token) noexcept
