"""How large a schema is once it is written out: asked of every schema, and linear in all of it."""

MAX_WRITTEN = 2_000_000     # parts of a schema, those in several places counted each time


cdef enum:
    MAX_COUNTED = 200_000       # parts that are counted one by one
    MAX_RECURSION = 200


cdef Py_ssize_t left_of(object value, Py_ssize_t left, int depth) except -2:
    """Return how many parts are left of so many behind those of a value; -1 if none, or it is too deep."""
    cdef object part
    left -= 1
    if isinstance(value, dict):
        if depth > MAX_RECURSION:
            return -1
        for part in (<dict>value).values():
            if left < 0:
                return -1
            if isinstance(part, (dict, list, tuple)):
                left = left_of(part, left, depth + 1)
            else:
                left -= 1
    elif isinstance(value, (list, tuple)):
        if depth > MAX_RECURSION:
            return -1
        for part in value:
            if left < 0:
                return -1
            if isinstance(part, (dict, list, tuple)):
                left = left_of(part, left, depth + 1)
            else:
                left -= 1
    return left if left >= 0 else -1


cpdef bint is_larger(object value, Py_ssize_t most=2_000_000) except -1:
    """Tell whether a value, written out, has more than so many parts.

    Parts that it shares with itself count each time, and one that holds itself has no end. Few are counted as
    they are written out; only then are shared ones told apart.
    Cost: linear in the parts that there are; no recursion.
    """
    cdef dict sizes = {}        # id of a container -> its parts, or -1 while it is open
    cdef list todo = [value]
    cdef object item, part, key, known, parts
    cdef Py_ssize_t size, below
    if left_of(value, min(most, MAX_COUNTED), 0) >= 0:  # nearly always
        return False
    while todo:
        item = todo[len(todo) - 1]
        if isinstance(item, dict):
            parts = item.values()
        elif isinstance(item, (list, tuple)):
            parts = item
        else:
            parts = ()
        key = <Py_ssize_t><void*>item
        known = sizes.get(key)
        if known is None:
            sizes[key] = -1
            below = len(todo)
            for part in parts:
                if isinstance(part, (dict, list, tuple)):
                    known = sizes.get(<Py_ssize_t><void*>part)
                    if known is None:
                        todo.append(part)
                    elif known < 0:
                        return True
            if len(todo) > below:
                continue
        elif known >= 0:
            todo.pop()
            continue
        size = 1
        for part in parts:
            if isinstance(part, (dict, list, tuple)):
                size += sizes[<Py_ssize_t><void*>part]
            else:
                size += 1
            if size > most:
                return True
        sizes[key] = size
        todo.pop()
    return False
