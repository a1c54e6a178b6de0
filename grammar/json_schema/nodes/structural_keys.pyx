"""Keys for the contents of parts of one schema: equal for equal JSON, at a cost linear in the schema."""

import marshal

cimport cython

from stackmask.grammar.ir.failures cimport FAILED
from stackmask.grammar.json_schema.document.drafts import MAPS

cdef enum:
    MAX_RECURSION = 300     # levels that are looked at in calls within one another, 200 bytes each

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
cdef object LIST = b"["


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
    depth of a schema costs nothing. Only lists of scalar values are written out, since keys of leaves are
    shared with other schemas.
    """

    def __cinit__(self):
        self.held = []
        self.known = {}
        self.known_values = {}
        self.shapes = {}
        self.words = {}
        self.size = 0
        self.portable = False

    cpdef object key(self, dict schema, frozenset keywords):
        """Return the content of the keywords, or None if a value is not JSON.

        This sets ``size`` to the approximate number of its characters, and ``portable`` to whether the key is
        also valid for other schemas. Cost: linear in the parts, once each; little recursion.
        """
        cdef list parts = []
        cdef object name, value, part
        self.size = 0
        self.portable = True
        for name, value in schema.items():
            if name in keywords:
                part = self.part(value, is_exact(name, value))
                if part is None:
                    return None
                parts.append(name)
                parts.append(part)
        return tuple(parts)

    cpdef object sketch(self, dict schema, frozenset keywords):
        """Return the key if it is ``portable``; else a part common to equal keys, without nested parts."""
        cdef list parts = []
        cdef object name, value, part
        self.size = 0
        self.portable = True
        for name, value in schema.items():
            if name not in keywords:
                continue
            if type(value) is dict:
                self.portable = False
                part = tuple([inner for inner in <dict>value if inner not in UNSAID_NAMES])
            elif type(value) is list:
                part = self.list_of_scalars(<list>value)
                if part is None:
                    self.portable = False
                    part = len(<list>value)
            else:
                part = self.part(value)
                if part is None:
                    return None
            parts.append(name)
            parts.append(part)
        return tuple(parts)

    cdef object part(self, object value, bint exact=False):
        """Return the representation of a value in the keys of its parent, or None."""
        cdef object kind = type(value), found
        if kind is str:
            self.size += len(<str>value) + 1
            return value
        if kind is dict or kind is list:
            found = self.list_of_scalars(<list>value) if kind is list else None
            if found is None:
                self.portable = False
                found = self.number(value, exact)
            return found
        self.size += 1
        if kind is bool:
            return YES if value else NO
        if kind is int or value is None:
            return () if value is None else value
        if kind is float:
            return marshal.dumps(value)
        return None

    cdef tuple list_of_scalars(self, list items):
        cdef list parts = [LIST]
        cdef object item, kind
        for item in items:
            kind = type(item)
            if kind is dict or kind is list:
                return None
            item = self.part(item)
            if item is None:
                return None
            parts.append(item)
        return tuple(parts)

    cdef object number(self, object value, bint exact, int depth=0):
        """Return the representation of a list or object, after all nested ones; None if a part is not JSON.

        ``exact``: it is not a schema, but a value or part of one, and all of its content matters.
        """
        cdef object key = <Py_ssize_t><void*>value, name, inner, part, role, words
        cdef list parts
        cdef tuple said
        cdef dict known = self.known_values if exact else self.known
        part = known.get(key)
        if part is not None:
            return part
        if depth >= MAX_RECURSION:
            if self.number_deep(value, exact) is None:
                return None
            return known[key]
        if type(value) is dict:
            parts = [dict]
            for name, inner in (<dict>value).items():
                if type(name) is not str:
                    return None
                if type(inner) is str:
                    role = None if exact else ROLES.get(name)
                    if role is not None and <int>role == UNSAID:
                        continue
                    self.size += len(<str>inner) + 1
                    part = inner
                elif type(inner) is dict or type(inner) is list:
                    part = self.number(inner, exact or is_exact(name, inner), depth + 1)
                else:
                    part = self.part(inner)
                if part is None:
                    return None
                parts.append(name)
                parts.append(part)
        else:
            parts = [list]
            for inner in <list>value:
                if type(inner) is dict or type(inner) is list:
                    part = self.number(inner, exact, depth + 1)
                else:
                    part = self.part(inner)
                if part is None:
                    return None
                parts.append(part)
        self.held.append(value)  # its address stays its own
        if len(parts) == 3 and parts[0] is dict and type(parts[2]) is str:  # it says one word: a type, mostly
            words = self.words.get(parts[1])
            if words is None:
                words = self.words[parts[1]] = {}
            part = (<dict>words).get(parts[2])
            if part is None:
                part = (<dict>words)[parts[2]] = Shape()
        else:
            said = tuple(parts)
            part = self.shapes.get(said)
            if part is None:
                part = self.shapes[said] = Shape()
        known[key] = part
        return part

    cdef object number_deep(self, object value, bint exact):
        """Return the result of ``number`` without recursion: nested parts come first, from a stack."""
        cdef list todo = [(value, exact)], waiting
        cdef object item, inner, name
        cdef bint mode
        while todo:
            item, mode = todo[len(todo) - 1]
            if (<Py_ssize_t><void*>item) in (self.known_values if mode else self.known):
                todo.pop()
                continue
            waiting = []
            for name in item:
                inner = name
                exact = mode
                if type(item) is dict:
                    inner = (<dict>item)[name]
                    exact = mode or is_exact(name, inner)
                if type(inner) is dict or type(inner) is list:
                    if (<Py_ssize_t><void*>inner) not in (self.known_values if exact else self.known):
                        waiting.append((inner, exact))
            if waiting:
                todo.extend(waiting)
            elif self.number(item, mode) is None:
                return None
        return value


@cython.final
@cython.no_gc
cdef class Shape:
    """A representative of equal lists or objects, which is equal only to itself."""
