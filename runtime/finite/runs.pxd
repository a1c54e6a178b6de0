# Forced runs of an automaton. See runs.pyx.
from libc.stdint cimport int32_t, uint8_t

from stackmask.pda.crossings cimport Crossings
from stackmask.runtime.finite.dfa cimport Dfa
from stackmask.runtime.finite.index cimport TokenIndex
from stackmask.runtime.finite.paths cimport Paths


cdef class FsmRuns(Crossings):
    cdef Dfa dfa
    cdef Paths paths
    cdef dict token_of                  # special symbol -> its token if that is the only one
