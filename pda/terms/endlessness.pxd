# Whether every beginning of a string of a term begins infinitely many. See endlessness.pyx.
from stackmask.pda.ids cimport TermId
from stackmask.pda.terms.term_store cimport TermStore


cpdef object is_endless(TermStore terms, TermId term, Py_ssize_t max_explored)
