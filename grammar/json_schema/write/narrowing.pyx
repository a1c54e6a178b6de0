"""Parts of expressions replaced by narrower ones, in rules and in what their resolvers return."""

cimport cython

from stackmask.grammar.ir.build cimport rebuilt
from stackmask.grammar.ir.expressions cimport (
    BYTES,
    CHARS,
    CHOICE,
    COMPLEMENT,
    DYNAMIC,
    FOLLOW,
    FOREIGN,
    INTERSECTION,
    KEY_TEST,
    LITERAL,
    REFERENCE,
    SEQUENCE,
    SLOT,
    TOKEN,
    CharClass,
    Choice,
    Dynamic,
    Expression,
    Literal,
    Repeat,
    Sequence,
    item_of,
    items_of,
)

from functools import lru_cache

from stackmask.grammar.ir.build import with_bodies
from stackmask.grammar.json_schema.nodes.leaf_cache import LASTING
from stackmask.grammar.json_schema.write.indentation import OfDepth
from stackmask.grammar.source.work import spend

cdef enum:
    MOST_KEPT = 16_384      # words, classes of characters and leaves whose narrower ones are remembered
    MOST_LETTERS = 66       # of a word that is remembered, quotes included
    BETWEEN_CHECKS = 256    # parts that are looked at before they are charged

MAX_KEPT = MOST_KEPT
MAX_LETTERS = MOST_LETTERS


def with_narrower(rules, *, choices=None, sequences=None, repeats=None, bint resolved):
    """Return the rules with all parts replaced that are written narrower, but not under a complement.

    ``choices``, ``sequences``, ``repeats``: what is asked about each choice that begins with characters,
    sequence and repetition. It returns what is written in its place, or None to look into it; a sequence in
    place of another one is looked into too. ``resolved``: also what resolvers return, whenever they do.
    Cost: linear in the expressions, which are visited once per object; no recursion. Words are remembered.
    """
    cdef _Narrowing narrowing = _Narrowing((choices, sequences, repeats), resolved)
    cdef dict done = {}, bodies = {}
    cdef object name, rule
    for name, rule in rules.rules.items():
        bodies[name] = narrowing.narrowed(rule.body, done)
    return with_bodies(rules, bodies)


@cython.final
cdef class _Narrowed:
    """A resolver: what another one returns, made narrower."""

    cdef object resolver
    cdef _Narrowing narrowing

    def __cinit__(self, resolver, _Narrowing narrowing):
        self.resolver = resolver
        self.narrowing = narrowing

    def __call__(self, state):
        return self.narrowing.narrowed(self.resolver(state), {})

    def __reduce__(self):
        return _Narrowed, (self.resolver, self.narrowing)


@cython.final
cdef class _Narrowing:
    """One way to make expressions narrower, and the resolvers of one grammar that were wrapped for it."""

    cdef tuple narrowers
    cdef object choices, sequences, repeats     # what is asked about each
    cdef dict kept
    cdef dict wrapped
    cdef bint resolved

    def __cinit__(self, tuple narrowers, bint resolved):
        self.narrowers = narrowers
        self.choices, self.sequences, self.repeats = narrowers
        self.kept = _kept_words(narrowers)
        self.resolved = resolved
        self.wrapped = {}

    def __reduce__(self):
        return _Narrowing, (self.narrowers, self.resolved)

    cdef object narrowed(self, object whole, dict done):
        """Return the expression with narrower parts; ``done`` is what was visited before, by address."""
        cdef dict kept = self.kept, lasting = LASTING
        cdef list made = []     # what has an address in `done` must live
        # expressions, and what is rebuilt in their place
        cdef list stack = [whole], inside_of = [None], inner
        cdef object current, inside, key, known, found, item
        cdef Expression expr
        cdef Py_ssize_t unpaid = 0
        while stack:
            current = stack.pop()
            inside = inside_of.pop()
            key = <Py_ssize_t><void*>current
            if inside is not None:
                expr = inside
                inner = []
                for item in parts_of(expr):
                    inner.append(item if is_bare(item) else done[<Py_ssize_t><void*>item])
                found = rebuilt(expr, inner)
                if type(current) is Sequence and is_word(<Sequence>current):
                    found = joined(found)
                    self.keep(current, found)
                elif key in lasting and not (<Expression>current).flags & FOREIGN:
                    self.keep(current, found)
                done[key] = found
                continue
            if key in done:
                continue
            known = kept.get(key)
            if known is not None:
                done[key] = (<tuple>known)[1]
                continue
            unpaid += 1
            if unpaid == BETWEEN_CHECKS:
                unpaid = 0
                spend(BETWEEN_CHECKS)
            found = self.in_place_of(current)
            if found is not None and type(found) is not Sequence:
                done[key] = found
                if type(current) is Choice:
                    self.keep(current, found)
                continue
            if found is None:
                inside = current
            else:
                made.append(found)
                inside = found
            if is_bare(inside):
                done[key] = inside
                continue
            expr = inside
            if expr.kind == DYNAMIC:
                done[key] = self.dynamic(inside)
            elif expr.kind == COMPLEMENT:
                done[key] = inside
            else:
                stack.append(current)
                inside_of.append(inside)
                for item in parts_of(expr):
                    if not is_bare(item):
                        stack.append(item)
                        inside_of.append(None)
        if unpaid:
            spend(unpaid)
        return done[<Py_ssize_t><void*>whole]

    cdef object in_place_of(self, object expr):
        """Return what is written in place of an expression; None to look into it."""
        cdef object narrower = None, first
        if type(expr) is Choice:
            if not (<Choice>expr).items:
                return None
            first = (<Choice>expr).items[0]
            if type(first) is Literal or type(first) is CharClass:
                narrower = self.choices
        elif type(expr) is Sequence:
            narrower = self.sequences
        elif type(expr) is Repeat:
            narrower = self.repeats
        return None if narrower is None else narrower(expr)

    cdef int keep(self, object expr, object narrower) except -1:
        """Remember what is written in place of an expression, which lives on with it."""
        if len(self.kept) >= MOST_KEPT:
            self.kept.clear()
        self.kept[<Py_ssize_t><void*>expr] = (expr, narrower)
        return 0

    cdef object dynamic(self, Dynamic expr):
        """Return a dynamic rule whose resolver returns what is narrower; one for each resolver."""
        cdef object resolver = expr.resolver, key = <Py_ssize_t><void*>resolver
        if not self.resolved or isinstance(resolver, str | OfDepth):
            return expr
        found = self.wrapped.get(key)
        if found is None:
            found = self.wrapped[key] = Dynamic(_Narrowed(resolver, self))
        return found


@lru_cache(8)
def _kept_words(narrowers):
    """Return what was narrowed before: by address, the expression and what is written in its place."""
    return {}


cdef inline tuple parts_of(Expression expr):
    if expr.kind == SEQUENCE or expr.kind == CHOICE or expr.kind == INTERSECTION:
        return items_of(expr)
    return (item_of(expr),)


cdef inline bint is_bare(object expr):
    """Return whether an expression has no parts, and no resolver."""
    if not isinstance(expr, Expression):
        return True
    cdef unsigned char kind = (<Expression>expr).kind
    return (
        kind == LITERAL
        or kind == CHARS
        or kind == BYTES
        or kind == REFERENCE
        or kind == TOKEN
        or kind == FOLLOW
        or kind == SLOT
        or kind == KEY_TEST
    )


cdef bint is_word(Sequence sequence) except -1:
    """Return whether a sequence is of characters alone, in all their spellings, and not many."""
    cdef object item, spelling
    if len(sequence.items) > MOST_LETTERS:
        return False
    for item in sequence.items:
        if type(item) is Literal:
            continue
        if type(item) is not Choice:
            return False
        for spelling in (<Choice>item).items:
            if type(spelling) is not Literal:
                return False
    return True


cdef object joined(object word):
    """Return one literal for a sequence of them."""
    cdef object item
    cdef list pieces = []
    if type(word) is not Sequence:
        return word
    for item in (<Sequence>word).items:
        if type(item) is not Literal:
            return word
        pieces.append((<Literal>item).data)
    return Literal(b"".join(pieces)) if pieces else word
