"""The size of a schema when written out: computed for every schema, in linear time."""

from cpython.dict cimport PyDict_CheckExact, PyDict_Next
from cpython.list cimport PyList_CheckExact
from cpython.object cimport PyObject
from cpython.pyport cimport PY_SSIZE_T_MAX
from cpython.unicode cimport PyUnicode_CheckExact, PyUnicode_GET_LENGTH
from libcpp.vector cimport vector
from stackmask.grammar.ir.failures cimport FAILED, ID_FAILED

MAX_WRITTEN = 2_000_000     # parts of a schema, those in several places counted each time

cdef enum:
    MAX_COUNTED = 200_000       # parts that are counted one by one


cdef inline Py_ssize_t length_of(object scalar) except ID_FAILED:
    """Return the approximate number of bytes of a scalar; -1 if JSON has no such value."""
    cdef object kind
    if PyUnicode_CheckExact(scalar):
        return PyUnicode_GET_LENGTH(scalar)
    if scalar is None:
        return 1
    kind = type(scalar)
    if kind is int:
        return 1 + (<Py_ssize_t>scalar.bit_length() >> 3)
    return 1 if kind is bool or kind is float else -1


cpdef bint has_own_parts(
    object value, Py_ssize_t most, Py_ssize_t most_text, bint or_shared=False
) except FAILED:
    """Return whether a value is plain JSON without shared parts, with at most ``most`` parts and
    ``most_text`` bytes of text.

    ``or_shared``: parts may be shared, and count at each occurrence.

    Cost: linear in the parts, up to these bounds.
    """
    cdef set seen = None if or_shared else set()
    cdef Py_ssize_t length
    cdef vector[PyObject*] todo
    cdef PyObject* item
    cdef PyObject* name
    cdef PyObject* part
    cdef Py_ssize_t at, i
    cdef object held, address
    todo.push_back(<PyObject*>value)
    while not todo.empty():
        item = todo.back()
        todo.pop_back()
        held = <object>item
        if not (PyDict_CheckExact(held) or PyList_CheckExact(held)):
            length = length_of(held)
            if length < 0:
                return False
            most_text -= length
        else:
            most -= len(held)
            if most < 0:
                return False
            if seen is not None:
                address = <Py_ssize_t>item
                if address in seen:
                    return False
                seen.add(address)
            if PyDict_CheckExact(held):
                at = 0
                while PyDict_Next(held, &at, &name, &part):
                    if not PyUnicode_CheckExact(<object>name):
                        return False
                    most_text -= PyUnicode_GET_LENGTH(<object>name)
                    todo.push_back(part)
            else:
                for i in range(len(<list>held)):
                    todo.push_back(<PyObject*>(<list>held)[i])
        if most_text < 0:
            return False
    return True


cpdef bint is_larger(object value, Py_ssize_t most=2_000_000) except FAILED:
    """Return whether a value, written out, has more than ``most`` parts.

    A shared part counts at each occurrence, and a part that contains itself is infinite. Shared parts are
    only detected once the count shows that the value is not small.
    Cost: linear in the existing parts; no recursion.
    """
    cdef dict sizes = {}        # id of a container -> its parts, or -1 while it is open
    cdef list todo = [value]
    cdef object item, part, key, known, parts
    cdef Py_ssize_t size, below
    if has_own_parts(value, min(most, MAX_COUNTED) - 1, PY_SSIZE_T_MAX, True):  # nearly always
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


cpdef Py_ssize_t written_bytes(object value, Py_ssize_t most) except FAILED:
    """Return the approximate size of a value as JSON text in bytes; any number above ``most`` if larger.

    A shared part counts at each occurrence, up to a limit.
    Cost: linear in the existing parts, or in ``most``; no recursion.
    """
    cdef Py_ssize_t size = count_bytes(value, most, None)
    if size > most:
        size = count_bytes(value, most, set())
    return size


cdef Py_ssize_t count_bytes(object value, Py_ssize_t most, set seen) except FAILED:
    cdef list todo = [value]
    cdef object item, key, part
    cdef Py_ssize_t size = 0
    while todo and size <= most:
        item = todo.pop()
        if isinstance(item, str):
            size += 2 + len(<str>item)
        elif isinstance(item, (dict, list, tuple)):
            size += 2
            if seen is not None:
                key = <Py_ssize_t><void*>item
                if key in seen:
                    continue
                seen.add(key)
            if isinstance(item, dict):
                for name, part in item.items():
                    size += 4
                    if isinstance(name, str):
                        size += len(<str>name)
                    todo.append(part)
            else:
                size += len(item)
                todo.extend(item)
        else:
            size += 4
    return size
