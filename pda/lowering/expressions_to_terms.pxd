from libc.stdint cimport int32_t, int64_t

from stackmask.grammar.ir.expressions cimport Expression
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.ids cimport (
    ID_FAILED,
    ActionId,
    CallId,
    ResolverId,
    ReturnAction,
    RuleId,
    SpecId,
    TermId,
    TestId,
)
from stackmask.pda.terms.term_store cimport TermBuilder, TermStore
from stackmask.pda.terms.term_table cimport Call


cdef enum:
    MAX_DEPTH = 5000            # nesting of one expression; each level takes some of the C stack


cdef class RuleFacts:
    cdef dict bodies            # name -> expression; an inner expression that needs a rule is named by its id
    cdef list added             # names of bodies inside of the current expression
    cdef dict nullable          # name -> mask of bytes before which the rule can be empty
    cdef dict heights           # name -> more than that of every rule that it can call first
    cdef dict numbers           # name -> number of the rule, once it has one
    cdef set keyed              # rules that test keys of the object that they are called in
    cdef dict token_classes     # the sets of special tokens that the grammar has, and their numbers
    cdef dict token_numbers     # the same numbers by what is written: names, ids, whether it is negated
    cdef bint stacked           # it uses the built-in stack of strings

    cdef object callee(self, Expression item)


cdef int64_t next_number() noexcept


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

    cdef TermId term(self, Expression expr) except ID_FAILED
    cdef TermId make(self, Expression expr) except ID_FAILED
    cdef object token_class(self, object terminal)
    cdef TermId regular(self, Expression expr) except ID_FAILED
    cdef TermId before(self, Expression expr, TermId continuation) except ID_FAILED
    cdef TermId joined(self, TermId made, TermId continuation) except ID_FAILED
    cdef TermId choice(self, tuple items) except ID_FAILED
    cdef TermId reference(self, object name, ReturnAction action, bint nonempty) except ID_FAILED
    cdef SpecId spec_number(self, object spec) except ID_FAILED
    cdef ActionId action_number(self, object action) except ID_FAILED
    cdef TermId test(self, TestId number) except ID_FAILED
    cdef TermId dynamic(self, ResolverId resolver) except ID_FAILED
    cdef CallId call(self, Call call, int32_t target) except ID_FAILED
