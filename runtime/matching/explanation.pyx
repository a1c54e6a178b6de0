# distutils: language = c++
"""What a matcher's next mask is made of, for people and tests."""

from stackmask.pda.masks.explanation cimport dump_configuration, explain_mask
from stackmask.runtime.matching.matcher cimport Matcher


def explain(Matcher matcher not None):
    """Return what the next mask of a matcher is made of: see ``pda.masks.explanation.explain_mask``.

    ``configuration``: the members of the configuration, as text.
    """
    cdef bint done = False
    matcher.lock.take(matcher.account)
    try:
        found = explain_mask(matcher.masks, matcher.family, matcher.history.back())
        found["configuration"] = dump_configuration(matcher.family, matcher.history.back())
        done = True
    finally:
        matcher.lock.give(done)
    return found
