# What the parts of the mask machinery borrow, and the contract that they keep. See part.pyx.
from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport TokenId
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.context.key_text cimport KeyText
from stackmask.pda.masks.shared.layers cimport Layers
from stackmask.pda.masks.shared.run_tables cimport Runs
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.vocabulary.suffix_tries cimport SuffixTries
from stackmask.pda.vocabulary.token_trie cimport Trie


cdef class MaskContext:
    cdef TermStore terms
    cdef Semantics semantics
    cdef Trie trie
    cdef int32_t width                  # words of 32 bits in a mask
    cdef uint64_t max_bytes             # all masks are dropped when more is held
    cdef Layers layers
    cdef vector[vector[TokenId]] class_tokens   # token class -> ids of special tokens
    cdef size_t class_bytes             # of these, and of the ids that the table of classes keeps
    cdef KeyText key_text               # how keys of objects are written
    # replaced by `renew`
    cdef ConfigSpace space              # configurations of walks
    cdef SuffixTries tries                   # the token trie and the suffix tries
    cdef Runs runs

    cdef int renew(self) except -1 nogil


cdef class MaskPart:
    cdef MaskContext context
    # copies of what the context has: `drop` takes the space and the runs anew, the others stay
    cdef TermStore terms
    cdef ConfigSpace space
    cdef Runs runs
    cdef MaskPart next_part             # the next one of the engine, or None

    cdef int drop(self) except -1 nogil
    cdef size_t nbytes(self) noexcept nogil


cdef int drop_from(MaskPart part) except -1 nogil
cdef size_t nbytes_from(MaskPart part) noexcept nogil
