# Sets of literals as one term. See literal_trie.pyx.
from libc.stdint cimport int32_t

from stackmask.pda.terms.term_store cimport TermStore

cpdef int32_t literal_trie(TermStore terms, dict tails) except -1
