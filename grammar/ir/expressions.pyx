"""The expression nodes; ``ir`` defines their meaning.

A schema creates thousands of nodes, and the lowering reads them. So they are extension types, which record
the properties of their parts, their hash and their term. Nodes also take most of the memory of a process with
many grammars. Since they are immutable, they cannot form cycles, so Python's cyclic garbage collector does
not track them.
"""

cimport cython
from cpython.object cimport PyObject


cdef extern from "Python.h":
    void PyObject_GC_UnTrack(void*)

MAX_HASHED_DEPTH = 10_000


@cython.no_gc
cdef class Expression:
    """An immutable node. Nodes are equal if their structure is equal, regardless of source positions."""

    def __init__(self):
        raise TypeError("an expression is one of its kinds")

    def __hash__(self):
        if self.hash_value == 0:
            if self.depth > MAX_HASHED_DEPTH:
                raise RecursionError("an expression nested too deeply to be compared")
            self.hash_value = hash(self.content())
        return self.hash_value

    def __eq__(self, other):
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        cdef Py_hash_t theirs = (<Expression>other).hash_value
        if self.hash_value and theirs and self.hash_value != theirs:
            return False
        return self.content() == (<Expression>other).content()

    def __repr__(self):
        fields = zip(self.names(), self.content(), strict=True)
        shown = ", ".join([f"{name}={value!r}" for name, value in fields])
        return f"{type(self).__name__}({shown})"

    def __reduce__(self):
        return type(self), (*self.content(), self.span)

    cdef tuple content(self):
        return ()

    cdef tuple names(self):
        cdef tuple fields = type(self).__match_args__
        return fields[: len(fields) - 1]

    cdef int take(self, object part) except FAILED:
        """Record the properties of a part. Regex readers temporarily insert their own nodes."""
        if not isinstance(part, Expression):
            self.flags |= IMPURE | FOREIGN
            self.depth = max(self.depth, 1)
            return 0
        self.flags |= (<Expression>part).flags
        if (<Expression>part).depth >= self.depth:
            self.depth = (<Expression>part).depth + 1
        return 0

    cdef int take_all(self, tuple parts) except FAILED:
        """Record the properties of all parts of a node, and so complete the node's own properties."""
        cdef Py_ssize_t i
        for i in range(len(parts)):
            self.take(parts[i])
        if not self.flags & FOREIGN:
            PyObject_GC_UnTrack(<PyObject*>parts)
            PyObject_GC_UnTrack(<PyObject*>self)
        return 0

    cdef int take_item(self, object item) except FAILED:
        """Record the properties of a node's only part; the collector need not track other objects of it."""
        self.take(item)
        if not self.flags & FOREIGN:
            PyObject_GC_UnTrack(<PyObject*>self)
        return 0


@cython.final
@cython.no_gc
cdef class Literal(Expression):
    """These exact bytes."""

    __match_args__ = ("data", "span")

    def __init__(self, bytes data not None, span=None):
        self.kind = LITERAL
        self.data = data
        self.span = span

    cdef tuple content(self):
        return (self.data,)


@cython.final
@cython.no_gc
cdef class CharClass(Expression):
    """Invariant: ranges are inclusive, sorted, disjoint, not adjacent, and contain no surrogates."""

    __match_args__ = ("ranges", "span")

    def __init__(self, tuple ranges not None, span=None):
        self.kind = CHARS
        self.ranges = ranges
        self.span = span

    cdef tuple content(self):
        return (self.ranges,)


@cython.final
@cython.no_gc
cdef class ByteClass(Expression):
    """One byte with its bit set in the 256-bit mask."""

    __match_args__ = ("mask", "span")

    def __init__(self, mask, span=None):
        self.kind = BYTES
        self.mask = mask
        self.span = span

    cdef tuple content(self):
        return (self.mask,)


@cython.final
@cython.trashcan(True)
cdef class Sequence(Expression):
    """The concatenation of the items."""

    __match_args__ = ("items", "span")

    def __init__(self, tuple items not None, span=None):
        self.kind = SEQUENCE
        self.items = items
        self.span = span
        self.take_all(items)

    cdef tuple content(self):
        return (self.items,)


@cython.final
@cython.trashcan(True)
cdef class Choice(Expression):
    """The alternatives of the items."""

    __match_args__ = ("items", "span")

    def __init__(self, tuple items not None, span=None):
        self.kind = CHOICE
        self.items = items
        self.span = span
        self.take_all(items)

    cdef tuple content(self):
        return (self.items,)


@cython.final
@cython.trashcan(True)
cdef class Repeat(Expression):
    """Invariant: 0 <= min, and min <= max if max is given."""

    __match_args__ = ("item", "min", "max", "span")

    def __init__(self, item, min, max, span=None):
        self.kind = REPEAT
        self.item = item
        self.min = min
        self.max = max
        self.span = span
        self.take_item(item)

    cdef tuple content(self):
        return (self.item, self.min, self.max,)


@cython.final
@cython.trashcan(True)
cdef class Intersection(Expression):
    """The strings in all (regular) items."""

    __match_args__ = ("items", "span")

    def __init__(self, tuple items not None, span=None):
        self.kind = INTERSECTION
        self.items = items
        self.span = span
        self.take_all(items)

    cdef tuple content(self):
        return (self.items,)


@cython.final
@cython.trashcan(True)
cdef class Complement(Expression):
    """Well-formed text that is not in the (regular) item."""

    __match_args__ = ("item", "span")

    def __init__(self, item, span=None):
        self.kind = COMPLEMENT
        self.item = item
        self.span = span
        self.take_item(item)

    cdef tuple content(self):
        return (self.item,)


@cython.final
@cython.no_gc
cdef class RuleRef(Expression):
    """The language of the rule; ``nonempty`` excludes the empty string."""

    __match_args__ = ("name", "nonempty", "span")

    def __init__(self, str name not None, bint nonempty=False, span=None):
        self.kind = REFERENCE
        self.name = name
        self.nonempty = nonempty
        self.span = span
        self.flags = IMPURE

    cdef tuple content(self):
        return (self.name, self.nonempty,)


@cython.final
@cython.no_gc
cdef class TokenTerminal(Expression):
    """Special tokens by name (``<|tool|>``) or by id range; resolved against a vocabulary at compile."""

    __match_args__ = ("names", "id_ranges", "negated", "span")

    def __init__(self, tuple names not None=(), tuple id_ranges not None=(), bint negated=False, span=None):
        self.kind = TOKEN
        self.token_names = names
        self.id_ranges = id_ranges
        self.negated = negated
        self.span = span
        self.flags = IMPURE

    @property
    def names(self):
        return self.token_names

    cdef tuple content(self):
        return (self.token_names, self.id_ranges, self.negated,)


@cython.final
@cython.no_gc
cdef class NotFollowedBy(Expression):
    """Invariant: the mask contains all or none of the bytes 0x80–0xFF."""

    __match_args__ = ("mask", "span")

    def __init__(self, mask, span=None):
        self.kind = FOLLOW
        self.mask = mask
        self.span = span
        self.flags = IMPURE | RESTRICTS | HAS_RESTRICTIONS

    cdef tuple content(self):
        return (self.mask,)


@cython.final
@cython.trashcan(True)
cdef class Capture(Expression):
    """Invariant: item is not nullable."""

    __match_args__ = ("item", "action", "span")

    def __init__(self, item, action="push", span=None):
        self.kind = CAPTURE
        self.item = item
        self.action = action
        self.span = span
        if not isinstance(action, str):
            self.flags = FOREIGN
        if action != "key" and not isinstance(action, tuple):  # a limit of tokens keeps nothing
            self.flags |= KEEPS_STATE
        self.take_item(item)
        self.flags = self.flags & LASTING | IMPURE

    cdef tuple content(self):
        return (self.item, self.action,)


@cython.final
@cython.trashcan(True)
cdef class Scope(Expression):
    """The item, after which the semantic state is restored."""

    __match_args__ = ("item", "span")

    def __init__(self, item, span=None):
        self.kind = SCOPE
        self.item = item
        self.span = span
        self.take_item(item)
        self.flags = self.flags & LASTING | IMPURE

    cdef tuple content(self):
        return (self.item,)


@cython.final
@cython.trashcan(True)
cdef class Keyed(Expression):
    """Invariant: the spec is satisfiable and matches the slots and tests of the item."""

    __match_args__ = ("item", "spec", "span")

    def __init__(self, item, spec, span=None):
        self.kind = KEYED
        self.item = item
        self.spec = spec
        self.span = span
        self.take_item(item)  # a spec holds numbers
        self.flags = self.flags & LASTING | IMPURE

    cdef tuple content(self):
        return (self.item, self.spec,)


@cython.final
@cython.no_gc
cdef class Slot(Expression):
    """Invariant: an item of a sequence whose continuation there is not nullable."""

    __match_args__ = ("index", "span")

    def __init__(self, index, span=None):
        self.kind = SLOT
        self.index = index
        self.span = span
        self.flags = IMPURE | TESTS_KEYS | HAS_TESTS

    cdef tuple content(self):
        return (self.index,)


@cython.final
@cython.no_gc
cdef class KeyTest(Expression):
    """``"close"``: the object may end. ``"continue"``: another key may follow. ``"undeclared"``: a key
    without a slot may follow.

    Invariant: an item of a sequence whose continuation there is not nullable.
    """

    __match_args__ = ("kind", "span")

    def __init__(self, str kind not None, span=None):
        self.kind = KEY_TEST
        self.test_kind = kind
        self.span = span
        self.flags = IMPURE | TESTS_KEYS | HAS_TESTS

    @property
    def kind(self):
        return self.test_kind

    cdef tuple content(self):
        return (self.test_kind,)


@cython.final
@cython.trashcan(True)
cdef class Dynamic(Expression):
    """The resolver's answer for the current semantic state."""

    __match_args__ = ("resolver", "span")

    def __init__(self, resolver="top", span=None):
        self.kind = DYNAMIC
        self.resolver = resolver
        self.span = span
        self.flags = IMPURE | HAS_TESTS | KEEPS_STATE
        if isinstance(resolver, str):
            PyObject_GC_UnTrack(<PyObject*>self)
        else:
            self.flags |= FOREIGN

    cdef tuple content(self):
        return (self.resolver,)


@cython.final
cdef class Rule:
    """A name and an expression. Source positions of equal rules are ignored."""

    __match_args__ = ("name", "body", "span")

    def __init__(self, str name not None, body, span=None):
        self.name = name
        self.body = body
        self.span = span
        if isinstance(body, Expression) and not (<Expression>body).flags & FOREIGN:
            PyObject_GC_UnTrack(<PyObject*>self)

    def __hash__(self):
        return hash((self.name, self.body))

    def __eq__(self, other):
        if type(other) is not Rule:
            return NotImplemented
        return self is other or (self.name == (<Rule>other).name and self.body == (<Rule>other).body)

    def __repr__(self):
        return f"Rule(name={self.name!r}, body={self.body!r})"

    def __reduce__(self):
        return Rule, (self.name, self.body, self.span)


def children(expression):
    """Return the direct subexpressions, in order."""
    if not isinstance(expression, Expression):
        return ()
    cdef Expression expr = <Expression>expression
    if expr.kind == SEQUENCE:
        return (<Sequence>expr).items
    if expr.kind == CHOICE:
        return (<Choice>expr).items
    if expr.kind == INTERSECTION:
        return (<Intersection>expr).items
    if expr.kind == REPEAT:
        return ((<Repeat>expr).item,)
    if expr.kind == COMPLEMENT:
        return ((<Complement>expr).item,)
    if expr.kind == CAPTURE:
        return ((<Capture>expr).item,)
    if expr.kind == SCOPE:
        return ((<Scope>expr).item,)
    if expr.kind == KEYED:
        return ((<Keyed>expr).item,)
    return ()


def is_pure(expression):
    """Return whether the expression only has characters: no reference, token, restriction or state."""
    return isinstance(expression, Expression) and not (<Expression>expression).flags


def walk(expr):
    """Yield the expression and all its subexpressions, parents first. Cost: linear, no recursion.

    An object that occurs several times is yielded once.
    """
    cdef list stack = [expr]
    cdef set seen = set()
    cdef object key, current
    while stack:
        current = stack.pop()
        key = <Py_ssize_t><void*>current
        if key not in seen:
            seen.add(key)
            yield current
            stack.extend(reversed(children(current)))
