# Forced runs of an automaton. See runs.pyx.
from libc.stdint cimport int32_t, uint8_t

from stackmask.pda.forced.boundary_tokens cimport Crossings
from stackmask.runtime.fsm.dfa cimport Dfa
from stackmask.runtime.fsm.index cimport TokenIndex
from stackmask.runtime.fsm.paths cimport Paths


cdef class FsmRuns(Crossings):
    cdef Dfa dfa
    cdef Paths paths
    cdef dict token_of                  # special symbol -> its token if that is the only one
