# The tokens that each state of an automaton allows.
from libc.stdint cimport int32_t, uint32_t, uint64_t, uint8_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from stackmask.pda.forced cimport Crossings
from stackmask.pda.ids cimport FAILED, ID_FAILED
from stackmask.pda.vocabulary.token_bytes cimport TokenBytes
from stackmask.runtime.fsm.dfa cimport Dfa, Paths


cdef class TokenIndex:
    cdef readonly Dfa dfa
    cdef TokenBytes texts
    cdef readonly int32_t size          # width of the logits
    cdef readonly int32_t width         # words of a mask row
    cdef dict symbol_of                 # special token -> symbol, counted from 0
    cdef vector[int32_t] row_of         # state -> row
    # a row is dense (a bit per token, at words[offset * width]) or sparse (gaps between ids, at gaps[offset])
    cdef vector[uint8_t] dense
    cdef vector[uint32_t] offset
    cdef vector[int32_t] count          # tokens in the row
    cdef vector[uint32_t] words
    cdef vector[uint8_t] gaps
    cdef unordered_map[uint64_t, int32_t] known     # hash of a row -> 1 + the last row; to build
    cdef vector[int32_t] same_hash      # row -> the one before it of the same hash, or -1

    cdef int32_t intern_row(self, const vector[uint32_t]& bits, int32_t count) except FAILED nogil
    cdef void write_row(self, int32_t row, uint32_t* out) noexcept nogil
    cdef inline const uint32_t* bits_of(self, int32_t row) noexcept nogil:
        return self.words.data() + <size_t>self.offset[row] * <size_t>self.width

    cdef int check_budget(
        self, int32_t done, int32_t blocks, memory, double deadline, double seconds
    ) except FAILED
    cdef int add_specials(self, int32_t state, special_ids) except FAILED
    cdef int32_t after_text(self, int32_t state, int32_t token) noexcept nogil
    cdef int32_t after_token(self, int32_t state, int32_t token) except ID_FAILED
    cdef int check(self) except FAILED


# Forced runs of an automaton.

cdef class FsmRuns(Crossings):
    cdef Dfa dfa
    cdef Paths paths
    cdef dict token_of                  # special symbol -> its token if that is the only one
