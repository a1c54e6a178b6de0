# Constructors of expressions for compiled passes.
from stackmask.grammar.ir.expressions cimport Expression


cdef object rebuilt(Expression expr, list items)
