# Matchers that move to another store. See moving.pyx.
from stackmask.runtime.matching.matcher cimport Matcher

cdef int wait_or_move(Matcher matcher) except -1

cdef inline int enter(Matcher matcher) except -1:
    """Take the lock of the store, of another one if this one lets the matcher wait too long."""
    if matcher.lock.owner:
        wait_or_move(matcher)
    matcher.lock.take(matcher.account)
    return 0
