from libc.stdint cimport int32_t, uint32_t
from libcpp.vector cimport vector

from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.memory.store_lock cimport StoreLock
from stackmask.pda.memory.work_meter cimport WorkAccount
from stackmask.pda.masks.engine cimport MaskEngine
from stackmask.runtime.jump_forward.jump_forward_calls cimport JumpCalls
from stackmask.runtime.jump_forward.token_history cimport TokenHistory


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


cdef int fill_row(Matcher matcher, int32_t config, bint terminated, uint32_t* words) except -3
cdef int32_t after_token(Matcher matcher, int32_t config, int32_t token) except -3
cdef bint advance(Matcher matcher, int32_t id, object token) except -1
cdef FamilyTools tools_of(Matcher matcher)
cdef bint is_stop(const vector[int32_t]& stops, int32_t token) noexcept
