# Hash-consed terms: the local states of the automaton. See term_store.pyx for the algebra.
from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport FAILED, ID_FAILED, CallId, GuardId, MapId, RuleId, SetId, SymbolId, TermId
from stackmask.pda.memory.checked_vectors cimport copy_list
from stackmask.pda.terms.constructors cimport Constructors
from stackmask.pda.terms.derivatives cimport Derivatives, Emptiness, Endings, FirstCalls, Simplifier, Steps
from stackmask.pda.terms.term_table cimport Call, Ends, TermTable


cdef str dump_term(TermTable table, TermId t)
cpdef str dump_rules(TermTable table, object rules)
cdef str dump_set(TermTable table, SetId set_id)


cdef class TermStore(TermTable):
    cdef Constructors make
    cdef Derivatives derivatives
    cdef Emptiness emptiness
    cdef Simplifier simplifier
    cdef Steps steps
    cdef Endings endings
    cdef FirstCalls first_calls

    # calls of other packages
    cdef inline TermId mk_seq(self, TermId a, TermId b) except ID_FAILED nogil:
        return self.make.mk_seq(self, a, b)

    cdef inline TermId mk_alt(self, vector[TermId]& items, int depth) except ID_FAILED nogil:
        # other packages have lists of integers
        cdef vector[TermId] operands
        copy_list(operands, items)
        return self.make.mk_alt(self, operands, depth)

    cdef inline TermId mk_guard(self, GuardId g) except ID_FAILED nogil:
        return self.make.mk_guard(self, g)

    cdef inline MapId classes_of(self, TermId t) except ID_FAILED nogil:
        return self.derivatives.classes_of(self, t)

    cdef inline TermId derive(self, TermId t, SymbolId symbol) except ID_FAILED nogil:
        return self.derivatives.derive(self, t, symbol)

    cdef inline TermId step(self, TermId t, SymbolId symbol) except ID_FAILED nogil:
        return self.steps.step(self, t, symbol)

    cdef inline int ends(self, TermId t, GuardId guard, Ends* out) except FAILED nogil:
        return self.endings.ends(self, t, guard, out)

    cdef inline int find_sites(self, TermId t) except FAILED nogil:
        return self.first_calls.find_sites(self, t)


cdef class TermBuilder:
    cdef readonly TermStore terms

    cpdef TermId literal(self, bytes data) except ID_FAILED
    cdef CallId add_call(self, Call call) except ID_FAILED nogil
    cpdef TermId call(self, CallId call, bint nonempty=*, bint keys=*) except ID_FAILED
    cpdef RuleId add_rule(self, object nu) except ID_FAILED
    cpdef int set_rule(self, RuleId rule, TermId body, int32_t height) except FAILED


# Whether every beginning of a string of a term begins infinitely many.

cpdef object is_endless(TermStore terms, TermId term, Py_ssize_t max_explored)


# Sets of literals as one term.

cpdef int32_t literal_trie(TermBuilder build, dict tails) except FAILED
