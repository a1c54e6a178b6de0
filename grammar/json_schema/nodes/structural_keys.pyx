"""Keys for the contents of parts of one schema: equal for equal JSON, at a cost linear in the schema."""

import marshal

cimport cython

from stackmask.grammar.ir.failures cimport FAILED
from stackmask.grammar.json_schema.document.drafts import MAPS

cdef enum:
    MAX_RECURSION = 300     # levels that are looked at, in calls within one another; deeper parts have no key

cdef enum:
    UNSAID = 1      # a text under such a name means nothing for validity, wherever a schema may stand
    VALUES = 2      # below are values and names of keys, which are compared as they are
    NAMED = 3       # below are names of keys, and schemas below those: a text is an error that must be seen

cdef dict ROLES = {
    "description": UNSAID,
    "title": UNSAID,
    "$comment": UNSAID,
    "enum": VALUES,
    "const": VALUES,
    "dependencies": VALUES,
    "dependentRequired": VALUES,
    **dict.fromkeys(MAPS, NAMED),
}
cdef frozenset UNSAID_NAMES = frozenset([name for name, role in ROLES.items() if role == UNSAID])
cdef object YES = b"t"
cdef object NO = b"f"


cdef bint is_exact(object name, object value) except FAILED:
    """Return whether a keyword's value must be compared as it is, because it is not a schema."""
    cdef object role = ROLES.get(name)
    if role is None:
        return False
    if <int>role == NAMED and type(value) is dict:
        for name in UNSAID_NAMES:
            if type((<dict>value).get(name)) is str:
                return True
        return False
    return <int>role == VALUES


@cython.final
cdef class Contents:
    """The keys of the parts of one schema.

    In the key of its parent, a list or object is represented by one object, which equal ones share; so the
    depth of a schema costs nothing.
    """

    def __cinit__(self):
        self.held = []
        self.known = {}
        self.known_values = {}
        self.shapes = {}

    cpdef object key(self, dict schema, frozenset keywords):
        """Return the content of the keywords, or None if a value is not JSON, or nested too deeply.

        Cost: linear in the parts, once each.
        """
        cdef list parts = []
        cdef object name, value, part
        for name, value in schema.items():
            if name in keywords:
                part = self.part(value, is_exact(name, value), 0)
                if part is None:
                    return None
                parts.append(name)
                parts.append(part)
        return tuple(parts)

    cdef object part(self, object value, bint exact, int depth):
        """Return the representation of a value in the keys of its parent, or None."""
        cdef object kind = type(value)
        if kind is str:
            return value
        if kind is dict or kind is list:
            return self.number(value, exact, depth)
        if kind is bool:
            return YES if value else NO
        if kind is int or value is None:
            return () if value is None else value
        if kind is float:
            return marshal.dumps(value)
        return None

    cdef object number(self, object value, bint exact, int depth):
        """Return the representation of a list or object, after all nested ones; None if a part has none.

        ``exact``: it is not a schema, but a value or part of one, and all of its content matters.
        """
        cdef object key = <Py_ssize_t><void*>value, name, inner, part
        cdef list parts
        cdef dict known = self.known_values if exact else self.known
        part = known.get(key)
        if part is not None:
            return None if part is NO_KEY else part
        if depth >= MAX_RECURSION:
            return None
        self.held.append(value)  # its address stays its own
        known[key] = NO_KEY
        parts = [type(value)]
        if type(value) is dict:
            for name, inner in (<dict>value).items():
                if type(name) is not str:
                    return None
                if not exact and type(inner) is str and name in UNSAID_NAMES:
                    continue
                part = self.part(inner, exact or is_exact(name, inner), depth + 1)
                if part is None:
                    return None
                parts.append(name)
                parts.append(part)
        else:
            for inner in <list>value:
                part = self.part(inner, exact, depth + 1)
                if part is None:
                    return None
                parts.append(part)
        part = self.shapes.setdefault(tuple(parts), Shape())
        known[key] = part
        return part


@cython.final
@cython.no_gc
cdef class Shape:
    """A representative of equal lists or objects, which is equal only to itself."""


cdef Shape NO_KEY = Shape()     # of what has no key
