"""How large a schema is once it is written out: asked of every schema, and linear in all of it."""

MAX_WRITTEN = 2_000_000     # parts of a schema, those in several places counted each time


cpdef bint is_larger(object value, Py_ssize_t most=2_000_000) except -1:
    """Tell whether a value, written out, has more than so many parts.

    Parts that it shares with itself count each time, and one that holds itself has no end.
    Cost: linear in the parts that there are; no recursion.
    """
    cdef dict sizes = {}        # id of a container -> its parts, or -1 while it is open
    cdef list todo = [value]
    cdef object item, part, key, known, parts
    cdef Py_ssize_t size, below
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
