from libc.stdint cimport int32_t, int64_t

from stackmask.grammar.ir.expressions cimport Expression
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.lowering.rule_facts cimport RuleFacts
from stackmask.pda.ids cimport ActionId, CallId, ResolverId, ReturnAction, RuleId, SpecId, TermId, TestId
from stackmask.pda.terms.term_store cimport TermBuilder, TermStore
from stackmask.pda.terms.term_table cimport Call


cdef class TermMaker:
    cdef object tables
    cdef int64_t tag            # of the tables: nodes know their terms there
    cdef TermStore terms
    cdef TermBuilder build
    cdef Semantics semantics
    cdef RuleFacts rules
    cdef dict pure              # id of a pure object -> the object and its term, where newer tables have it
    cdef dict calls             # kind, target, action and spec, packed -> call
    cdef dict known             # id of a key spec or an action, which the rules hold -> its number
    cdef Py_ssize_t spread      # items of sequences made anew within the current one
    cdef int64_t run_number     # nodes with references know their terms in this lowering

    cdef TermId term(self, Expression expr) except -1
    cdef TermId make(self, Expression expr) except -1
    cdef object token_class(self, object terminal)
    cdef TermId regular(self, Expression expr) except -1
    cdef TermId before(self, Expression expr, TermId continuation) except -1
    cdef TermId joined(self, TermId made, TermId continuation) except -1
    cdef TermId choice(self, tuple items) except -1
    cdef TermId reference(self, object name, ReturnAction action, bint nonempty) except -1
    cdef SpecId spec_number(self, object spec) except -1
    cdef ActionId action_number(self, object action) except -1
    cdef TermId test(self, TestId number) except -1
    cdef TermId dynamic(self, ResolverId resolver) except -1
    cdef CallId call(self, Call call, int32_t target) except -1
