"""What the keywords of one schema say, where each of them is plain."""

cimport cython

from stackmask.grammar.source.work import spend

cdef enum:
    MOST = 1_000_000_000    # of what is counted

cdef enum Part:
    NAMES_TYPE = 1
    OF_SCALARS
    VALUES
    PROPERTIES
    REQUIRED
    OTHERS
    ITEMS
    LEAST_ITEMS
    MOST_ITEMS
    WITHOUT_EFFECT

cdef dict PARTS = {
    "type": NAMES_TYPE,
    "enum": VALUES,
    "const": VALUES,
    "properties": PROPERTIES,
    "required": REQUIRED,
    "additionalProperties": OTHERS,
    "items": ITEMS,
    "minItems": LEAST_ITEMS,
    "maxItems": MOST_ITEMS,
    "$defs": WITHOUT_EFFECT,
    "definitions": WITHOUT_EFFECT,
    "additionalItems": WITHOUT_EFFECT,  # without a list of items
    "minimum": OF_SCALARS,
    "maximum": OF_SCALARS,
    "exclusiveMinimum": OF_SCALARS,
    "exclusiveMaximum": OF_SCALARS,
    "multipleOf": OF_SCALARS,
    "minLength": OF_SCALARS,
    "maxLength": OF_SCALARS,
    "pattern": OF_SCALARS,
    "format": OF_SCALARS,
}
cdef dict TYPE_BITS = {
    "null": NULL_BIT,
    "boolean": TRUE_BIT | FALSE_BIT,
    "number": NUMBER_BIT,
    "integer": NUMBER_BIT,
    "string": STRING_BIT,
    "array": ARRAY_BIT,
    "object": OBJECT_BIT,
}


@cython.final
cdef class PlainShape:
    """What a schema says of arrays, of objects, and of other values. ``kinds``: types as bits."""


cdef PlainShape shape_of(dict schema, frozenset keywords):
    """Return what the keywords say, or None where one of them is not plain."""
    cdef PlainShape shape = PlainShape.__new__(PlainShape)
    cdef object name, value, part, kind
    cdef int bits
    cdef bint numbers = False, integers = False
    shape.kinds = ANY_BITS
    shape.others = True
    shape.items = True
    shape.high = -1
    for name, value in schema.items():
        if name not in keywords:
            continue
        part = PARTS.get(name)
        if part is None:
            return None
        if part == NAMES_TYPE:
            bits = 0
            if type(value) is list:
                spend(len(<list>value) // 8)
            for kind in ((value,) if type(value) is str else value if type(value) is list else ()):
                if type(kind) is not str or kind not in TYPE_BITS:
                    return None
                bits |= <int>TYPE_BITS[kind]
                integers |= kind == "integer"
                numbers |= kind == "number"
            if not bits:
                return None
            shape.kinds = bits
        elif part == OF_SCALARS:
            shape.of_scalars = True
        elif part == VALUES:
            shape.of_values = True
        elif part == PROPERTIES or part == REQUIRED:
            if value is None:  # as if it were not there
                return None
            shape.of_objects = True
            if part == PROPERTIES:
                shape.properties = value
            else:
                shape.required = value
        elif part == OTHERS:
            shape.of_objects = True
            shape.others = value
        elif part == ITEMS:
            shape.of_arrays = True
            shape.items = value
        elif part != WITHOUT_EFFECT:
            if type(value) is not int or not 0 <= value <= MOST:  # mutant: no-count
                return None
            shape.of_arrays = True
            if part == LEAST_ITEMS:
                shape.low = value
            else:
                shape.high = value
    shape.whole = integers and not numbers
    return shape
