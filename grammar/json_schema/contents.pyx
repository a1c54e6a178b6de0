"""What parts of one schema say, as keys: equal keys for equal JSON, at a cost linear in the schema."""

import marshal

cimport cython

cdef object YES = b"t"
cdef object NO = b"f"
cdef object LIST = b"["


@cython.final
cdef class Contents:
    """The keys of the parts of one schema.

    A list or object stands in the key of what holds it as one object, the same for all equal ones; so the
    depth of a schema costs nothing. Only lists of scalar values are written out, as keys of leaves are
    kept for other schemas too.
    """

    def __cinit__(self):
        self.held = []
        self.known = {}
        self.shapes = {}
        self.size = 0
        self.portable = False

    cpdef object key(self, dict schema, frozenset keywords):
        """Return what the keywords say, or None for what no JSON text says.

        ``size`` is then about how many characters that has, and ``portable`` says whether the key holds
        nothing that belongs to this schema alone. Cost: its parts, once each; no recursion.
        """
        cdef list parts = []
        cdef object name, value, part
        self.size = 0
        self.portable = True
        for name, value in schema.items():
            if name in keywords:
                part = self.part(value)
                if part is None:
                    return None
                parts.append(name)
                parts.append(part)
        return tuple(parts)

    cdef object part(self, object value):
        """Return what stands for a value in the keys of what holds it, or None."""
        cdef object kind = type(value), found
        if kind is str:
            self.size += len(<str>value) + 1
            return value
        if kind is dict or kind is list:
            found = self.list_of_scalars(<list>value) if kind is list else None
            if found is None:
                self.portable = False
                found = self.number(value)
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

    cdef object number(self, object value):
        """Return what stands for a list or an object, after all inside; None if some of it is no JSON."""
        cdef list todo = [value], parts
        cdef object item, inner, kind, name, part, key
        cdef Py_ssize_t waiting
        while todo:
            item = todo[len(todo) - 1]
            key = <Py_ssize_t><void*>item
            if key in self.known:
                todo.pop()
                continue
            kind = type(item)
            waiting = len(todo)
            parts = [kind]
            for name in item:
                inner = name
                if kind is dict:
                    if type(name) is not str:
                        return None
                    parts.append(name)
                    inner = (<dict>item)[name]
                if type(inner) is dict or type(inner) is list:
                    part = self.known.get(<Py_ssize_t><void*>inner)
                    if part is None:
                        todo.append(inner)
                        continue
                else:
                    part = self.part(inner)
                    if part is None:
                        return None
                parts.append(part)
            if len(todo) > waiting:
                continue
            todo.pop()
            self.held.append(item)  # its address stays its own
            self.known[key] = self.shapes.setdefault(tuple(parts), Shape())
        return self.known[<Py_ssize_t><void*>value]


@cython.final
@cython.no_gc
cdef class Shape:
    """Stands for equal lists or objects: equal to itself alone."""
