# The masks of a batch, and of a tree of draft tokens.
from stackmask.runtime.matching.mask_buffer cimport Rows
from stackmask.runtime.matching.matcher cimport Matcher


cdef list fill_tree(Matcher matcher, tokens, parents, Rows* rows)
