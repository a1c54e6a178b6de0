# Tokens that are run on a real configuration. See token_trials.pyx.
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.vocabulary.suffix_tries cimport Nodes
from stackmask.pda.masks.walk.known_stack_walks cimport RepeatedWalks


cdef class Simulation(RepeatedWalks):
    # scratch of one fill
    cdef vector[int32_t] to_simulate        # places of the vocabulary
    cdef vector[int32_t] to_try             # tokens
    cdef vector[int32_t] doubtful           # places of tokens that may repeat a key
    cdef bint simulate_tokens               # special ones too
    cdef bint simulate_all                  # the whole vocabulary
    cdef vector[int32_t] node_of            # token -> its node, made when first needed
    cdef readonly uint64_t simulations
    cdef readonly uint64_t tried        # tokens that were run one by one

    cdef int simulate_place(self, int32_t place) except -3
    cdef bint all_set(self, int32_t node, bint inclusive, const uint32_t* words) noexcept
    cdef int32_t step_to(self, ConfigSpace family, int32_t config, int32_t node) except -3
    cdef int32_t spelled_at(self, int32_t token) noexcept
    cdef int try_tokens(self, ConfigSpace family, int32_t config, uint32_t* words) except -3
    cdef int simulate_below(
        self, ConfigSpace family, int32_t config, int32_t node, uint32_t* words
    ) except -3
    cdef int simulate_special(self, ConfigSpace family, int32_t config, uint32_t* words) except -3
    cdef int32_t go(self, Nodes n, int32_t node, uint8_t byte) noexcept
    cdef int doubt(self, int32_t place, vector[vector[uint8_t]]& texts) except -3
    cdef int recheck(self, uint32_t* words) except -3
