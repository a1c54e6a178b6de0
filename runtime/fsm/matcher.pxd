# A place in an automaton. See matcher.pyx.
from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport FAILED
from stackmask.runtime.fsm.dfa cimport Dfa
from stackmask.runtime.fsm.index cimport FsmRuns, TokenIndex
from stackmask.runtime.jump_forward.token_history cimport JumpCalls, TokenHistory


cdef class FsmMatcher(JumpCalls):
    cdef readonly object compiled
    cdef Dfa dfa
    cdef TokenIndex index
    cdef FsmRuns runs
    cdef tuple stop_ids
    cdef vector[int32_t] history        # states after each accept call; history[0] is the start
    cdef TokenHistory tokens            # what each accept call took
    cdef bint terminated
    cdef object refused                 # the last refusal: (state, bytes accepted, token or text)

    cdef int reserve(self) except FAILED
    cdef int32_t here(self) noexcept
    cdef void keep(self, size_t places) noexcept
