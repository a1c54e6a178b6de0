# distutils: language = c++
"""Terms of expressions.

An expression without references is *pure*. Its term is remembered under the object itself, as front ends
share such objects between grammars.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from stackmask.grammar.ir.expressions cimport (
    BYTES,
    CAPTURE,
    CHARS,
    CHOICE,
    COMPLEMENT,
    FOLLOW,
    INTERSECTION,
    KEYED,
    KEY_TEST,
    LITERAL,
    REFERENCE,
    REPEAT,
    RESTRICTS,
    SCOPE,
    SEQUENCE,
    SLOT,
    TOKEN,
    ByteClass,
    Capture,
    CharClass,
    Choice,
    Dynamic,
    Expression,
    KeyTest,
    Keyed,
    Literal,
    NotFollowedBy,
    Repeat,
    RuleRef,
    Sequence,
    Slot,
    item_of,
    items_of,
)
from stackmask.pda.ids cimport ACTION_COUNTED, ACTION_KEYED, ACTION_NONE, ACTION_SCOPE, ID_FAILED, UNBOUNDED
from stackmask.pda.terms.term_store cimport literal_trie
from stackmask.pda.terms.term_table cimport (
    CALL_RESOLVER,
    CALL_RULE,
    CALL_TEST,
    EMPTY,
    EPS,
    F_IMPURE,
    K_GUARD,
    K_SEQ,
    Call,
)

from stackmask.grammar import ir
from stackmask.pda.errors import BudgetError
from stackmask.pda.terms.character_classes import class_term


# ------------------------------------------------------------------------------------------------
# Facts about the rules of one grammar, for its lowering.
# ------------------------------------------------------------------------------------------------


cdef int64_t numbers_given = 0


cdef int64_t next_number() noexcept:
    """Return a number that no lowering and no scan had before."""
    global numbers_given
    numbers_given += 1
    return numbers_given


@cython.final
cdef class RuleFacts:
    """Facts about the rules of one grammar, by name. An inner expression with a rule is named by its id.

    Owner: the lowering. Its scan finds out; the maker of terms reads numbers, and notes what terms use.
    """

    def __cinit__(self):
        self.bodies = {}
        self.added = []
        self.nullable = {}
        self.heights = {}
        self.numbers = {}
        self.keyed = set()
        self.token_classes = {}
        self.token_numbers = {}
        self.stacked = False

    cdef object callee(self, Expression item):
        """Return the name of the rule that stands for the item of a capture, scope or object."""
        if item.kind == REFERENCE:
            return (<RuleRef>item).name
        name = id(item)
        if name not in self.bodies:
            self.bodies[name] = item
            self.added.append(name)
        return name


cdef object TokenLimit = ir.TokenLimit

cdef enum:
    MAX_SPREAD = 2000           # items of sequences that are made anew within one other
    CLASS_RANGE = 200           # units of work for a range of characters, whose terms are made in Python
    CLASS_PART = 400            # ... and for each part of a class that is new

TEST_KINDS = ("close", "continue", "undeclared")  # then the slots
cdef object ALL_BYTES = (1 << 256) - 1
cdef Expression ANY_TEXT = ir.ANY_TEXT


cdef Call call_of(RuleId rule, ReturnAction action) noexcept nogil:
    """Return the call of a rule with an action. If the action has an operand, it is still to be set."""
    cdef Call call
    call.kind = CALL_RULE
    call.rule = rule
    call.action = action
    call.operand = 0
    return call


@cython.final
cdef class TermMaker:
    """Makes the terms of the expressions of one grammar. Owner: its lowering.

    The rules that expressions refer to must have numbers in the facts. Used entries of the shared tables are
    recorded there.
    """

    def __cinit__(self, tables, RuleFacts rules not None):
        self.tables = tables
        self.tag = tables.tag
        self.terms = tables.terms
        self.build = TermBuilder(self.terms)
        self.semantics = tables.semantics
        self.pure = tables.pure
        self.calls = tables.calls
        self.rules = rules
        self.known = {}
        self.spread = 0
        self.run_number = next_number()

    cdef TermId term(self, Expression expr) except ID_FAILED:
        """Return the term of an expression.

        A pure node stores its term for the newest tables. Older tables look it up.
        """
        cdef TermId made
        if not expr.flags:
            if self.tag and expr.owner == self.tag:
                return expr.term
            if expr.kind == LITERAL:
                made = self.build.literal((<Literal>expr).data)
            elif self.tag <= expr.owner or not self.tag:
                found = self.pure.get(id(expr))
                if found is not None:
                    return found[1]
                made = self.make(expr)
                if self.terms.terms[made].flags & F_IMPURE:
                    return made
                self.pure[id(expr)] = (expr, made)
                return made
            else:
                made = self.make(expr)
                if self.terms.terms[made].flags & F_IMPURE:
                    return made
            if self.tag > expr.owner:
                expr.term = made
                expr.owner = self.tag
            return made
        if expr.lowered_by == self.run_number:
            return expr.term_here
        made = self.make(expr)
        if expr.kind <= TOKEN:
            expr.term_here = made
            expr.lowered_by = self.run_number
        return made

    cdef TermId make(self, Expression expr) except ID_FAILED:
        """Make the term of an expression that is not known yet."""
        cdef TermId made = EPS
        cdef vector[TermId] kids
        cdef tuple items
        cdef Py_ssize_t i, spread, known
        cdef Call called
        cdef int32_t most
        cdef int kind = expr.kind
        if expr.depth > MAX_DEPTH:
            raise BudgetError("max_depth", MAX_DEPTH, "nesting of an expression", fixed=True)
        if kind == CHARS:
            found = self.tables.characters.get((<CharClass>expr).ranges)
            if found is None:
                known = len(self.tables.class_parts)
                found = class_term(self.build, (<CharClass>expr).ranges, self.tables.class_parts)
                # they are made in Python
                known = CLASS_PART * (len(self.tables.class_parts) - known)
                self.terms.meter.spend(known + CLASS_RANGE * len((<CharClass>expr).ranges))
                self.tables.characters[(<CharClass>expr).ranges] = found
            return found
        if kind == BYTES:
            return self.build.byte_set((<ByteClass>expr).mask)
        if kind == SEQUENCE:
            items = (<Sequence>expr).items
            spread = self.spread
            self.spread = 0
            for i in range(len(items) - 1, -1, -1):
                made = self.before(<Expression?>items[i], made)
            self.spread = spread
            return made
        if kind == CHOICE:
            return self.choice((<Choice>expr).items)
        if kind == REPEAT:
            found = (<Repeat>expr).max
            most = UNBOUNDED if found is None else <int32_t>found
            return self.terms.make.mk_rep(self.terms, self.term(item_of(expr)), (<Repeat>expr).min, most)
        if kind == INTERSECTION:
            for item in items_of(expr):
                kids.push_back(self.regular(item))
            return self.terms.make.mk_and(self.terms, kids)
        if kind == COMPLEMENT:
            self.terms.make.any_text = self.term(ANY_TEXT)
            kids.push_back(self.terms.make.any_text)
            kids.push_back(self.terms.make.mk_not(self.terms, self.regular(item_of(expr))))
            return self.terms.make.mk_and(self.terms, kids)
        if kind == REFERENCE:
            return self.reference((<RuleRef>expr).name, ACTION_NONE, (<RuleRef>expr).nonempty)
        if kind == TOKEN:
            return self.build.token(self.token_class(expr))
        if kind == FOLLOW:
            return self.build.guard(ALL_BYTES & ~(<NotFollowedBy>expr).mask)
        if kind == CAPTURE:
            if isinstance((<Capture>expr).action, TokenLimit):
                rule = self.rules.numbers[self.rules.callee(item_of(expr))]
                called = call_of(rule, ACTION_COUNTED)
                called.most_tokens = (<Capture>expr).action.tokens
                return self.build.call(self.call(called, rule), True)
            self.rules.stacked |= (<Capture>expr).action == "push"
            action = self.action_number((<Capture>expr).action)
            return self.reference(self.rules.callee(item_of(expr)), ReturnAction.end_of(action), True)
        if kind == SCOPE or kind == KEYED:
            nonempty = item_of(expr).kind == REFERENCE and (<RuleRef>item_of(expr)).nonempty
            if kind == SCOPE:
                return self.reference(self.rules.callee(item_of(expr)), ACTION_SCOPE, nonempty)
            rule = self.rules.numbers[self.rules.callee(item_of(expr))]
            called = call_of(rule, ACTION_KEYED)
            called.spec = self.spec_number((<Keyed>expr).spec)
            return self.build.call(self.call(called, rule), nonempty)
        if kind == SLOT:
            return self.test(len(TEST_KINDS) + (<Slot>expr).index)
        if kind == KEY_TEST:
            return self.test(TEST_KINDS.index((<KeyTest>expr).test_kind))
        resolver = (<Dynamic?>expr).resolver
        self.rules.stacked |= resolver == "top"
        return self.dynamic(self.semantics.add_resolver(resolver))

    cdef object token_class(self, object terminal):
        """Return the number of a set of special tokens, which is looked up once for each that is written."""
        key = (terminal.names, terminal.id_ranges, terminal.negated)
        number = self.rules.token_numbers.get(key)
        if number is None:
            ids, number = self.tables.resolve_tokens(terminal)
            self.rules.token_classes[ids] = self.rules.token_numbers[key] = number
        return number

    cdef TermId regular(self, Expression expr) except ID_FAILED:
        """Return the term of an operand of `&` or `!`. Raises: ValueError if it is not regular."""
        cdef TermId made = self.term(expr)
        if self.terms.terms[made].flags & F_IMPURE:
            raise ValueError("`&` and `!` need regular terms")
        return made

    cdef TermId before(self, Expression expr, TermId after) except ID_FAILED:
        """Return the term of an expression and then ``after``.

        Sequences lean to the right: what is in front of ``after`` is made anew for it, item by item. So no
        term of a sequence alone, such as a name, is made first. Restrictions apply first to what follows
        within their sequence, so those are.
        """
        cdef tuple items
        cdef Expression item
        cdef Py_ssize_t i
        if expr.kind == SEQUENCE and not expr.flags & RESTRICTS:
            if after == EPS:  # made as if alone, so that equal ends of sequences are made once
                return self.term(expr)
            items = (<Sequence>expr).items
            self.spread += len(items)
            if self.spread > MAX_SPREAD:  # a sequence may stand twice in each of those that it is in
                return self.joined(self.term(expr), after)
            for i in range(len(items) - 1, -1, -1):
                item = <Expression?>items[i]
                if item.kind != SEQUENCE and not item.flags and item.owner == self.tag and self.tag:
                    after = self.joined(item.term, after)  # mostly a character of a name
                else:
                    after = self.before(item, after)
            return after
        return self.joined(self.term(expr), after)

    cdef inline TermId joined(self, TermId made, TermId after) except ID_FAILED:
        """Return the term ``made`` and then ``after``."""
        cdef int32_t kind = self.terms.terms[made].kind
        if kind == K_SEQ or kind == K_GUARD or made == EMPTY or made == EPS or after == EMPTY or after == EPS:
            return self.terms.mk_seq(made, after)
        return self.terms.make.intern_seq(self.terms, made, after)

    cdef TermId choice(self, tuple items) except ID_FAILED:
        """Return the term of alternatives; those that begin with literals share their prefixes."""
        cdef dict literals = {}
        cdef list others = []
        cdef Py_ssize_t n, size, i
        cdef TermId tail
        cdef vector[TermId] kids
        cdef Expression item
        cdef tuple parts
        cdef bytes data
        for i in range(len(items)):
            item = <Expression?>items[i]
            if item.kind == LITERAL:
                literals.setdefault((<Literal>item).data, []).append(EPS)
                continue
            parts = (<Sequence>item).items if item.kind == SEQUENCE else ()
            if parts and (<Expression>parts[0]).kind == LITERAL:
                data = (<Literal>parts[0]).data
                n = 1
                size = len(parts)
                while n < size and (<Expression>parts[n]).kind == LITERAL:
                    data += (<Literal>parts[n]).data
                    n += 1
                tail = EPS
                while size > n:
                    size -= 1
                    tail = self.before(<Expression>parts[size], tail)
                literals.setdefault(data, []).append(tail)
            else:
                others.append(self.term(item))
        if literals:
            kids.push_back(literal_trie(self.build, literals))
        for made in others:
            kids.push_back(made)
        return self.terms.make.mk_alt(self.terms, kids, 0)

    cdef TermId reference(self, object name, ReturnAction action, bint nonempty) except ID_FAILED:
        """Return the term that calls a rule, by name."""
        cdef CallId call = self.call(call_of(self.rules.numbers[name], action), self.rules.numbers[name])
        return self.build.call(call, nonempty, name in self.rules.keyed)

    cdef SpecId spec_number(self, object spec) except ID_FAILED:
        """Return the number of a key spec. The same object is looked up once."""
        cdef object key = <Py_ssize_t><void*>spec
        cdef object found = self.known.get(key)
        if found is None:
            found = self.known[key] = self.semantics.keys.add_spec(spec)
        return found

    cdef ActionId action_number(self, object action) except ID_FAILED:
        """Return the number of an action. The same object is looked up once."""
        cdef object key = <Py_ssize_t><void*>action
        cdef object found = self.known.get(key)
        if found is None:
            found = self.known[key] = self.semantics.add_action(action)
        return found

    cdef TermId test(self, TestId number) except ID_FAILED:
        """Return the term that tests the key state: a call that consumes nothing."""
        cdef Call call
        call.kind = CALL_TEST
        call.test = number
        call.action = ACTION_NONE
        call.operand = 0
        return self.build.call(self.call(call, number), False, True)

    cdef TermId dynamic(self, ResolverId resolver) except ID_FAILED:
        """Return the term that calls what a resolver gives."""
        cdef Call call
        call.kind = CALL_RESOLVER
        call.resolver = resolver
        call.action = ACTION_NONE
        call.operand = 0
        return self.build.call(self.call(call, resolver))

    cdef CallId call(self, Call call, int32_t target) except ID_FAILED:
        """Return the number of a call, one for all calls of this target with this action."""
        # packed, as a tuple would be one more object for the collector to count
        cdef object key = (<int64_t>call.action.code() << 2) + call.kind
        key += (<object>call.operand << 66) + (<object>target << 34)
        cdef object found = self.calls.get(key)
        if found is None:
            found = self.calls[key] = self.build.add_call(call)
        return found
