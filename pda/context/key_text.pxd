# How keys of objects are written: which byte quotes a key, and how its characters may be spelled.
#
# The automaton distinguishes keys by their values, and finds their spellings in the tokens. A front end says
# how keys are written (``grammar.ir.KeySyntax``); nothing else of the automaton knows.
from libc.stdint cimport uint8_t
from libcpp cimport bool
from libcpp.vector cimport vector

# write the value of a quoted key to the end of a vector; False if it is not one
ctypedef bint (*ReadKey)(const uint8_t*, size_t, vector[uint8_t]&) except -1 nogil


cdef struct KeyText:
    bool known              # a front end has said how keys are written
    uint8_t quote           # before and after a key
    uint8_t escape          # begins another spelling of a character
    uint8_t least           # bytes below this one are always spelled with an escape
    ReadKey read


cdef inline bint is_plain(const KeyText& syntax, uint8_t byte) noexcept nogil:
    # whether a byte of a key is spelled by itself
    return byte != syntax.quote and byte != syntax.escape and byte >= syntax.least
