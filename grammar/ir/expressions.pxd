# The nodes of expressions. See ir.py for what they mean.
cimport cython
from libc.stdint cimport int32_t, int64_t
from stackmask.grammar.ir.failures cimport FAILED


cdef enum NodeKind:
    LITERAL
    CHARS
    BYTES
    SEQUENCE
    CHOICE
    REPEAT
    INTERSECTION
    COMPLEMENT
    REFERENCE
    TOKEN
    FOLLOW
    CAPTURE
    SCOPE
    KEYED
    SLOT
    KEY_TEST
    DYNAMIC


cdef enum:
    PURE = 0
    IMPURE = 1          # holds a reference, a token, a restriction, or what depends on the semantic state
    TESTS_KEYS = 2      # tests keys of the object around it
    FOREIGN = 4         # holds an object of someone else's, such as a callable, that may lead back to it
    RESTRICTS = 8       # holds a restriction of what may follow
    # what also holds outside of captures, scopes and objects
    HAS_RESTRICTIONS = 16
    HAS_TESTS = 32      # of the semantic state or of keys
    KEEPS_STATE = 64    # may change the semantic state
    LASTING = FOREIGN | HAS_RESTRICTIONS | HAS_TESTS | KEEPS_STATE


@cython.no_gc
cdef class Expression:
    cdef readonly object span
    cdef Py_hash_t hash_value   # 0 while it was not asked for
    # a pure node's term, in the newest tables that asked; others look it up. Of another node that is the body
    # of a rule: where they remember the rule
    cdef int64_t owner
    cdef int32_t term
    # an impure node's term, in the lowering at hand
    cdef int32_t term_here
    cdef int64_t lowered_by
    cdef int64_t scanned_by
    cdef int32_t depth          # how deeply parts are nested, 0 for a leaf
    cdef unsigned char kind
    cdef unsigned char flags

    cdef tuple content(self)
    cdef tuple names(self)
    cdef int take(self, object part) except FAILED
    cdef int take_all(self, tuple parts) except FAILED
    cdef int take_item(self, object item) except FAILED


@cython.final
cdef class Literal(Expression):
    cdef readonly bytes data


@cython.final
cdef class CharClass(Expression):
    cdef readonly tuple ranges


@cython.final
cdef class ByteClass(Expression):
    cdef readonly object mask


@cython.final
cdef class Sequence(Expression):
    cdef readonly tuple items


@cython.final
cdef class Choice(Expression):
    cdef readonly tuple items


@cython.final
cdef class Repeat(Expression):
    cdef readonly object item
    cdef readonly object min
    cdef readonly object max


@cython.final
cdef class Intersection(Expression):
    cdef readonly tuple items


@cython.final
cdef class Complement(Expression):
    cdef readonly object item


@cython.final
cdef class RuleRef(Expression):
    cdef readonly str name
    cdef readonly bint nonempty


@cython.final
cdef class TokenTerminal(Expression):
    cdef tuple token_names
    cdef readonly tuple id_ranges
    cdef readonly bint negated


@cython.final
cdef class NotFollowedBy(Expression):
    cdef readonly object mask


@cython.final
cdef class Capture(Expression):
    cdef readonly object item
    cdef readonly object action


@cython.final
cdef class Scope(Expression):
    cdef readonly object item


@cython.final
cdef class Keyed(Expression):
    cdef readonly object item
    cdef readonly object spec


@cython.final
cdef class Slot(Expression):
    cdef readonly object index


@cython.final
cdef class KeyTest(Expression):
    cdef str test_kind


@cython.final
cdef class Dynamic(Expression):
    cdef readonly object resolver


@cython.final
cdef class Rule:
    cdef readonly str name
    cdef readonly object body
    cdef readonly object span


cdef inline tuple items_of(Expression expr):
    """Return the items of a sequence, a choice or an intersection."""
    if expr.kind == SEQUENCE:
        return (<Sequence>expr).items
    if expr.kind == CHOICE:
        return (<Choice>expr).items
    return (<Intersection>expr).items


cdef inline Expression item_of(Expression expr):
    """Return the item of an expression that has one."""
    if expr.kind == REPEAT:
        return (<Repeat>expr).item
    if expr.kind == COMPLEMENT:
        return (<Complement>expr).item
    if expr.kind == CAPTURE:
        return (<Capture>expr).item
    if expr.kind == SCOPE:
        return (<Scope>expr).item
    return (<Keyed>expr).item
