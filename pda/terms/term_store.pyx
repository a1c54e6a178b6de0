# distutils: language = c++
"""Hash-consed terms and their derivatives: the local states of the automaton.

A term is a small integer; equal terms are one integer. The store grows and never changes what it holds.

    t ::= ∅ | ε | [bytes] | "literal" | t t | t "|" t | t{m,n} | t & t | ¬t | call | token | ≫[bytes]

``nu`` is the guard under which a term may end at the current position: a set of next bytes (the end of
input and special tokens satisfy every guard), or NEVER.

The store is the table of the records (``term_table``), and owns what works on it. Each of these gets the
table with every call, rather than holding it: a reference back to their owner would be a cycle.

    Constructors    terms made of terms
    Derivatives     the term after a symbol
    Emptiness       whether a term has a string
    Simplifier      searches about operands of intersections, for the constructors and derivatives
    Steps           derivatives without alternatives that have no string
    Endings         the guards that can be pending where a term ends
    FirstCalls      the rules that a term may call first

``TermBuilder`` is what the lowering calls.
"""

cimport cython
from libc.stdint cimport uint64_t
from libcpp.vector cimport vector

from stackmask.pda.terms.term_table cimport (
    CALL_RULE,
    EMPTY,
    EPS,
    F_CALL,
    F_IMPURE,
    F_KEYS,
    ByteClasses,
    Call,
    intern_call,
    intern_token,
)
from stackmask.pda.ids cimport NEVER, UNBOUNDED, Nullability, TokenClassId
from stackmask.pda.terms.dump cimport dump_term

from stackmask.pda.errors import BudgetError

cdef enum:
    MAX_TOKEN_CLASSES = 60_000    # they share 16 bits of a key with the bytes


cdef SetId set_of(ByteClasses classes, object mask) except -1:
    """Return the byte set of a 256-bit mask."""
    cdef uint64_t words[4]
    for i in range(4):
        words[i] = (mask >> (64 * i)) & 0xFFFFFFFFFFFFFFFF
    return classes.intern_set(words)


@cython.final
cdef class TermStore(TermTable):
    """The terms, rules and calls of one automaton.

    Invariant: append-only; ids stay valid for the life of the store.
    """

    def __cinit__(self, uint64_t max_terms=20_000_000, uint64_t max_explored=200_000):
        self.make = Constructors()
        self.derivatives = Derivatives(self.make)
        self.emptiness = Emptiness(self.derivatives, max_explored)
        self.simplifier = Simplifier(self.make, self.derivatives, self.emptiness)
        self.steps = Steps(self.make, self.derivatives, self.emptiness, self.simplifier)
        self.endings = Endings(self.make, self.steps)
        self.first_calls = FirstCalls(self.make)

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes the terms take, with all remembered results."""
        cdef size_t held = TermTable.nbytes(self) + self.make.nbytes() + self.derivatives.nbytes()
        return held + self.emptiness.nbytes() + self.simplifier.nbytes() + self.endings.nbytes()

    def matches(self, TermId t, bytes data):
        """Tell whether a regular term holds exactly these bytes."""
        cdef unsigned char byte
        for byte in data:
            t = self.steps.step(self, t, byte)
        return self.terms[t].nu.possible()

    def alive(self, TermId t):
        """Tell whether the term has a string."""
        return self.emptiness.is_live(self, t)

    def size(self):
        """Return the number of terms."""
        self.meter.settle()
        return self.terms.size()

    def nbytes_held(self):
        """Return about how many bytes the terms take."""
        self.meter.settle()
        return self.nbytes()

    def counts(self):
        """Return sizes: terms, transition rows, byte classes, guards, rules."""
        self.meter.settle()
        return {
            "terms": self.terms.size(),
            "byte_maps": self.classes.maps.size(),
            "guards": self.classes.guard_sets.size(),
            "term_bytes": self.nbytes(),
            "rules": self.rule_body.size(),
        }

    def dump(self, TermId t):
        """Return the term as text, for goldens and debugging. What it calls is named by number."""
        return dump_term(self, t)


@cython.final
cdef class TermBuilder:
    """Makes the terms, rules and calls of grammars in a store, for the lowering. It holds nothing else."""

    def __cinit__(self, TermStore terms not None):
        self.terms = terms

    def byte_set(self, mask):
        """Return the term of one byte out of ``mask`` (a 256-bit int)."""
        return self.terms.make.mk_set(self.terms, set_of(self.terms.classes, mask))

    def guard(self, mask):
        """Return the guard that requires the next byte to be in ``mask``, without consuming it."""
        return self.terms.make.mk_guard(self.terms, self.guard_id(mask))

    def guard_id(self, mask):
        """Return the id of the guard that allows the bytes in ``mask``."""
        return self.terms.classes.guard_of_set(set_of(self.terms.classes, mask))

    cpdef TermId literal(self, bytes data) except -1:
        """Return the term of exactly these bytes."""
        return self.terms.make.mk_bytes(self.terms, data)

    def sequence(self, items):
        """Return the terms one after the other."""
        cdef TermId t = EPS
        for item in reversed(items):
            t = self.terms.make.mk_seq(self.terms, item, t)
        return t

    def alternatives(self, items):
        """Return any of the terms; of none, the term of the empty language."""
        cdef vector[TermId] operands
        for item in items:
            operands.push_back(item)
        return self.terms.make.mk_alt(self.terms, operands, 0)

    def repeat(self, TermId item, int32_t low, high):
        """Return the term ``low`` to ``high`` times; None for no upper bound."""
        return self.terms.make.mk_rep(self.terms, item, low, UNBOUNDED if high is None else high)

    def token(self, TokenClassId token_class):
        """Return one special token of the class."""
        return intern_token(self.terms, token_class)

    cdef CallId add_call(self, Call call) except -1 nogil:
        """Enter a call into the call table."""
        self.terms.call_table.push_back(call)
        return <int32_t>self.terms.call_table.size() - 1

    cpdef TermId call(self, CallId call, bint nonempty=False, bint keys=False) except -1:
        """Return the term that calls; ``nonempty`` leaves out the empty string; ``keys``: it tests keys."""
        cdef Nullability nu = NEVER
        if self.terms.call_table[call].kind == CALL_RULE and not nonempty:
            nu = self.terms.rule_nu[self.terms.call_table[call].rule]
        return intern_call(self.terms, call, nonempty, nu, F_CALL | F_IMPURE | (F_KEYS if keys else 0))

    cpdef RuleId add_rule(self, object nu) except -1:
        """Declare a rule; ``nu`` is the mask of bytes before which it may be empty, or None."""
        self.terms.rule_body.push_back(EMPTY)
        self.terms.rule_nu.push_back(NEVER if nu is None else Nullability.under(self.guard_id(nu)))
        self.terms.rule_height.push_back(0)
        return <int32_t>self.terms.rule_body.size() - 1

    cpdef int set_rule(self, RuleId rule, TermId body, int32_t height) except -1:
        """Give a declared rule its body and its height, more than that of the rules it can call first."""
        self.terms.rule_body[rule] = body
        self.terms.rule_height[rule] = height
        return 0

    def add_token_class(self):
        """Add a class of special tokens and return its number."""
        if self.terms.token_classes >= MAX_TOKEN_CLASSES:
            raise BudgetError("max_token_classes", MAX_TOKEN_CLASSES, "sets of special tokens", fixed=True)
        self.terms.token_classes += 1
        return self.terms.token_classes - 1
