"""The nodes of expressions; see ``ir`` for what they mean.

They are made by the thousand for a schema, and read by the lowering: so they are extension types, which know
from the start what their parts hold, and keep their hash and their term.

They are also most of what a process with many grammars holds. What is made of nodes alone cannot lead back to
itself, since nodes do not change; so Python's collector of cycles is told to pass by.
"""

cimport cython
from cpython.object cimport PyObject


cdef extern from "Python.h":
    void PyObject_GC_UnTrack(void*)

MAX_HASHED_DEPTH = 10_000


@cython.no_gc
cdef class Expression:
    """An immutable node. Equal nodes are equal in structure; where they come from does not count."""

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
        """Note what a part holds. Readers of regexes put nodes of their own among them at first."""
        if not isinstance(part, Expression):
            self.flags |= IMPURE | FOREIGN
            self.depth = max(self.depth, 1)
            return 0
        self.flags |= (<Expression>part).flags
        if (<Expression>part).depth >= self.depth:
            self.depth = (<Expression>part).depth + 1
        return 0

    cdef int take_all(self, tuple parts) except FAILED:
        """Note what the parts of a node hold; its own are complete with them."""
        cdef Py_ssize_t i
        for i in range(len(parts)):
            self.take(parts[i])
        if not self.flags & FOREIGN:
            PyObject_GC_UnTrack(<PyObject*>parts)
            PyObject_GC_UnTrack(<PyObject*>self)
        return 0

    cdef int take_item(self, object item) except FAILED:
        """Note what the one part of a node holds, which beside it has nothing that the collector must see."""
        self.take(item)
        if not self.flags & FOREIGN:
            PyObject_GC_UnTrack(<PyObject*>self)
        return 0


@cython.final
@cython.no_gc
cdef class Literal(Expression):
    """Exactly these bytes."""

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
    """Invariant: ranges are inclusive, sorted, disjoint, not adjacent, and hold no surrogates."""

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
    """One item after the other."""

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
    """Any of the items."""

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
    """Invariant: 0 <= min, and min <= max where max is given."""

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
    """What all (regular) items hold."""

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
    """Well-formed text that the (regular) item does not hold."""

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
    """What the rule means; ``nonempty`` leaves out the empty string."""

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
    """Invariant: of the bytes 0x80–0xFF the mask holds all or none."""

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
    """What the item means; the semantic state afterwards is what it was before."""

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
    """Invariant: a satisfiable spec that the slots and tests of the item fit."""

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
    """Invariant: an item of a sequence, and what follows in the sequence is not nullable."""

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
    """``"close"``: the object may end. ``"continue"``: another key may. ``"undeclared"``: one with no slot.

    Invariant: an item of a sequence, and what follows in the sequence is not nullable.
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
    """What the resolver answers for the semantic state at this point."""

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
    """A name and what it means. Where equal rules come from does not count."""

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
    """Return whether it holds characters alone: no reference, token, restriction or semantic state."""
    return isinstance(expression, Expression) and not (<Expression>expression).flags


def walk(expr):
    """Yield the expression and all its subexpressions, parents first. Cost: linear, no recursion.

    What occurs several times as the same object is yielded once.
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
