# Token budgets of matchers. See budgets.pyx.
from stackmask.pda.completion.budget_masks cimport BudgetMasks


cdef class FamilyBudgets:
    # of one family of configurations; shared by its matchers
    cdef BudgetMasks masks
    cdef object __weakref__
