# Sets of literals as one term. See literal_trie.pyx.
from libc.stdint cimport int32_t

from stackmask.pda.terms.term_store cimport TermBuilder

cpdef int32_t literal_trie(TermBuilder build, dict tails) except -1
