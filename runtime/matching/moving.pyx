# distutils: language = c++
"""Matchers that wait for their store, and move to another one of the compiler if that takes long."""

from stackmask.pda.memory.clock cimport seconds, sleep_a_moment
from stackmask.pda.memory.work_meter cimport PATIENCE

cdef enum:
    MOST_REPEATED = 4096        # tokens that a matcher accepts once more in another store


cdef int wait_or_move(Matcher matcher) except -1:
    """Wait until the store is free. If its waits come to PATIENCE, move to a store that is not at work."""
    cdef double begin = seconds()
    while matcher.lock.is_held():
        if matcher.account.patience + begin - seconds() < 0 and matcher.tokens.size() <= MOST_REPEATED:
            matcher.account.patience = PATIENCE
            move(matcher)
            return 0
        with nogil:
            sleep_a_moment()
    matcher.account.patience += begin - seconds()
    return 0


cdef bint move(Matcher matcher) except -1:
    """Begin anew in another store of the compiler, and accept the same tokens. Return False if none is free.

    A request moves once, with its forks counted. Cost: compiling the grammar, and a step for each token.
    """
    cdef Matcher other
    if matcher.account.moved or matcher.refused is not None or matcher.tokens.has_text():
        # once is enough: a request could work on by moving to and fro. A refusal and text cannot be repeated
        return False
    compiled = matcher.compiled._compiler._aside(matcher.compiled, matcher.automaton.store)
    if compiled is None:
        return False
    other = Matcher.__new__(Matcher, compiled)
    other.account.patience = 1e9
    for token in matcher.tokens.tokens():
        if not other.accept_token(token):
            return False
    matcher.account.restart(compiled._account)  # what it did is done once more
    matcher.compiled = compiled
    matcher.automaton = other.automaton
    matcher.classes_of_token = other.classes_of_token  # mutant: stale-numbers
    matcher.masks = other.masks
    matcher.lock = other.lock
    matcher.family = other.family
    matcher.history.swap(other.history)
    matcher.tools = None
    return True
