# distutils: language = c++
"""How keys of objects are written: which byte quotes a key, and how its characters may be spelled.

The automaton distinguishes keys by their values, and finds their spellings in the tokens. A front end
says how keys are written (``grammar.ir.KeySyntax``); nothing else of the automaton knows.
"""

from stackmask.pda.text.json_strings cimport json_unescape


cdef bint no_key(const uint8_t* text, size_t size, vector[uint8_t]& out) except -1 nogil:
    return False


cdef KeyText key_text(syntax) except *:
    """Return a ``KeySyntax`` for the engine; ``None``: there are no keys.

    Raises: ValueError if the spelling has no reader.
    """
    cdef KeyText found
    found.known = syntax is not None
    found.quote = found.escape = found.least = 0
    found.read = no_key
    if syntax is not None:
        found.quote, found.escape, found.least = syntax.quote[0], syntax.escape[0], syntax.least
        if syntax.spelling != "json":
            raise ValueError(f"there is no reader of keys that are spelled as {syntax.spelling!r}")
        found.read = json_unescape
    return found
