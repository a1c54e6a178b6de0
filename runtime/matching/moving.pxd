# Matchers that move to another store. See moving.pyx.
from stackmask.runtime.matching.matcher cimport Matcher

cdef int enter(Matcher matcher) except -1
