# distutils: language = c++
"""Lowering of expressions and rules to terms."""

cimport cython
from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from stackmask.grammar.ir.expressions cimport (
    BYTES,
    CAPTURE,
    CHARS,
    CHOICE,
    COMPLEMENT,
    DYNAMIC,
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
    TESTS_KEYS,
    TOKEN,
    ByteClass,
    Capture,
    CharClass,
    Choice,
    Dynamic,
    Expression,
    Keyed,
    KeyTest,
    Literal,
    NotFollowedBy,
    Repeat,
    RuleRef,
    Sequence,
    Slot,
    item_of,
    items_of,
)
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.ids cimport (
    ACTION_COUNTED,
    ACTION_KEYED,
    ACTION_NONE,
    ACTION_SCOPE,
    FAILED,
    ID_FAILED,
    UNBOUNDED,
    ActionId,
    CallId,
    ResolverId,
    ReturnAction,
    RuleId,
    SpecId,
    TermId,
    TestId,
)
from stackmask.pda.terms.term_store cimport TermBuilder, TermStore, literal_trie
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
from stackmask.grammar.ir import TokenLimit
from stackmask.grammar.ir.build import components
from stackmask.grammar.ir.parts import PartedRules
from stackmask.pda.errors import BudgetError
from stackmask.pda.terms.character_classes import class_term


cdef enum:
    MAX_DEPTH = 5000            # nesting of one expression; each level takes some of the C stack

cdef struct KnownRule:
    Py_ssize_t refs             # where the rules that it refers to begin, and where they end
    Py_ssize_t refs_end
    int32_t number
    int32_t height
    bint keyed
    bint stacked


# ------------------------------------------------------------------------------------------------
# Terms of expressions.
#
# An expression without references is *pure*. Its term is remembered under the object itself, as front ends
# share such objects between grammars.
# ------------------------------------------------------------------------------------------------


# ------------------------------------------------------------------------------------------------
# Facts about the rules of one grammar, for its lowering.
# ------------------------------------------------------------------------------------------------


cdef int64_t numbers_given = 0


cdef int64_t next_number() noexcept:
    """Return a number that no lowering and no scan has used before."""
    global numbers_given
    numbers_given += 1
    return numbers_given


@cython.final
cdef class RuleFacts:
    """Facts about the rules of one grammar, by name. An inner expression with a rule is named by its id.

    Owner: the lowering. Its scan collects the facts; the maker of terms reads numbers, and records the
    entries that terms use.
    """

    cdef dict bodies            # name -> expression; an inner expression that needs a rule is named by its id
    cdef list added             # names of bodies inside of the current expression
    cdef dict nullable          # name -> mask of bytes before which the rule can be empty
    cdef dict heights           # name -> more than that of every rule that it can call first
    cdef dict numbers           # name -> number of the rule, once it has one
    cdef set keyed              # rules that test keys of the object that they are called in
    cdef dict token_classes     # the sets of special tokens that the grammar has, and their numbers
    cdef dict token_numbers     # the same numbers by what is written: names, ids, whether it is negated
    cdef bint stacked           # it uses the built-in stack of strings

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
        """Return the name of the rule for the item of a capture, scope or object."""
        if item.kind == REFERENCE:
            return (<RuleRef>item).name
        name = id(item)
        if name not in self.bodies:
            self.bodies[name] = item
            self.added.append(name)
        return name


cdef enum:
    MAX_SPREAD = 2000           # items of sequences that are made anew within one other
    CLASS_RANGE = 200           # units of work for a range of characters, whose terms are made in Python
    CLASS_PART = 400            # ... and for each part of a class that is new

TEST_KINDS = ("close", "continue", "undeclared")  # then the slots
ALL_BYTES = (1 << 256) - 1
cdef Expression ANY_TEXT = ir.ANY_TEXT


cdef Call call_of(RuleId rule, ReturnAction action) noexcept nogil:
    """Return the call of a rule with an action. The operand of the action, if any, is set later."""
    cdef Call call
    call.kind = CALL_RULE
    call.rule = rule
    call.action = action
    call.operand = 0
    return call


@cython.final
cdef class TermMaker:
    """Creates the terms for the expressions of one grammar. The grammar's lowering owns this object.

    The rules that expressions refer to must have numbers in the facts. Used entries of the shared tables are
    recorded there.
    """

    cdef object tables
    cdef int64_t tag            # of the tables: nodes know their terms there
    cdef TermStore terms
    cdef TermBuilder build
    cdef Semantics semantics
    cdef RuleFacts rules
    cdef dict pure              # id of a pure object -> the object and its term, where newer tables have it
    cdef dict calls             # kind, target, action and spec, packed -> call
    cdef dict known             # id of a key spec or an action, which the rules hold -> its number
    cdef Py_ssize_t spread      # items of sequences made anew within the current one
    cdef int64_t run_number     # nodes with references know their terms in this lowering

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

        A pure node stores its term for the newest tables. Older tables use a look-up.
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
        """Build the term of a new expression."""
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
            self.rules.stacked |= (<Capture>expr).action in ("push", "new")
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
        self.rules.stacked |= isinstance(resolver, str)
        return self.dynamic(self.semantics.add_resolver(resolver))

    cdef object token_class(self, object terminal):
        """Return the number of a set of special tokens, looked up once for each occurrence."""
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
        """Return the term of an expression followed by ``after``.

        Sequences are right-associative: the items before ``after`` are added to it one by one. So the
        sequence alone, such as a name, is not built first. It is built first if it has restrictions, which
        apply to their continuation inside the sequence.
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
        """Return the term ``made`` followed by ``after``."""
        cdef int32_t kind = self.terms.terms[made].kind
        if kind == K_SEQ or kind == K_GUARD or made == EMPTY or made == EPS or after == EMPTY or after == EPS:
            return self.terms.mk_seq(made, after)
        return self.terms.make.intern_seq(self.terms, made, after)

    cdef TermId choice(self, tuple items) except ID_FAILED:
        """Return the term of alternatives. Those that begin with literals share prefixes."""
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
        """Return the term that calls a rule, given the rule's name."""
        cdef CallId call = self.call(call_of(self.rules.numbers[name], action), self.rules.numbers[name])
        return self.build.call(call, nonempty, name in self.rules.keyed)

    cdef SpecId spec_number(self, object spec) except ID_FAILED:
        """Return the number of a key spec, looked up once for each object."""
        cdef object key = <Py_ssize_t><void*>spec
        cdef object found = self.known.get(key)
        if found is None:
            found = self.known[key] = self.semantics.keys.add_spec(spec)
        return found

    cdef ActionId action_number(self, object action) except ID_FAILED:
        """Return the number of an action, looked up once for each object."""
        cdef object key = <Py_ssize_t><void*>action
        cdef object found = self.known.get(key)
        if found is None:
            found = self.known[key] = self.semantics.add_action(action)
        return found

    cdef TermId test(self, TestId number) except ID_FAILED:
        """Return the term that tests the key state, which is a call that consumes nothing."""
        cdef Call call
        call.kind = CALL_TEST
        call.test = number
        call.action = ACTION_NONE
        call.operand = 0
        return self.build.call(self.call(call, number), False, True)

    cdef TermId dynamic(self, ResolverId resolver) except ID_FAILED:
        """Return the term that calls the result of a resolver."""
        cdef Call call
        call.kind = CALL_RESOLVER
        call.resolver = resolver
        call.action = ACTION_NONE
        call.operand = 0
        return self.build.call(self.call(call, resolver))

    cdef CallId call(self, Call call, int32_t target) except ID_FAILED:
        """Return the number of a call, which is the same for all calls of this target with this action."""
        # packed, as a tuple would be one more object for the collector to count
        cdef object key = (<int64_t>call.action.code() << 2) + call.kind
        key += (<object>call.operand << 66) + (<object>target << 34)
        cdef object found = self.calls.get(key)
        if found is None:
            found = self.calls[key] = self.build.add_call(call)
        return found


# ------------------------------------------------------------------------------------------------
# Lowering of rules to terms, in the order of the passes.
#
# Scan every rule for references. Find which rules test object keys, which can be empty, and their heights above
# the rules that they call first. Then make the terms, callees before callers, so that equal rules become one.
#
# Whole rules are remembered with all rules that they can reach, as front ends share them between grammars. This
# module is compiled, since it takes most of the time for a grammar, and recursion is as deep as expressions.
# ------------------------------------------------------------------------------------------------


# ------------------------------------------------------------------------------------------------
# References between the rules of one grammar, and a memory of rules that were lowered before.
#
# A rule is remembered under its body, as front ends share such objects between grammars. The numbers of the
# rules that it refers to are remembered, too: an equal body is the same rule only if these are equal.
# ------------------------------------------------------------------------------------------------


cdef enum:
    MAX_BODIES = 20_000


@cython.final
cdef class KnownRules:
    """The results of lowering for rules, by their bodies.

    A body stores its index for the newest tables into which it was lowered, so nothing keeps a deleted
    grammar alive. Older tables look up the body, and keep it alive. The facts are kept in columns, since
    there are thousands of rules, and more objects would make the garbage collector run more often.
    """

    cdef dict places            # id of a body that newer tables have -> its place in the columns
    cdef list bodies            # these bodies, held, so that no other object gets their ids
    cdef int32_t forgotten      # rows before the first one
    cdef list nullable          # mask of bytes before which the rule can be empty, or None
    cdef vector[KnownRule] rules
    cdef list ref_names         # names, and ids of inner expressions that calls need a rule for
    cdef vector[int32_t] ref_numbers

    def __cinit__(self):
        self.places = {}
        self.bodies = []
        self.nullable = []
        self.ref_names = []
        self.forgotten = 0

    def __len__(self):
        return len(self.nullable)

    cdef int clear(self) except FAILED:
        """Drop all rules."""
        self.forgotten += <int32_t>self.rules.size()
        self.places.clear()
        self.bodies.clear()
        self.nullable.clear()
        self.ref_names.clear()
        self.rules.clear()
        self.ref_numbers.clear()
        return 0

    cdef Py_ssize_t find(self, Expression body, int64_t tag) except ID_FAILED:
        """Return the index of a body, or -1."""
        cdef object found
        if not tag:  # tables of a moment remember no rules
            return -1
        if body.owner == tag:
            return max(body.term - self.forgotten, -1)
        found = self.places.get(<Py_ssize_t><void*>body) if self.places else None
        return -1 if found is None else <Py_ssize_t>found

    cdef int put(self, Expression body, int64_t tag, KnownRule rule, object nullable) except FAILED:
        """Add a new body."""
        cdef int32_t place = <int32_t>self.rules.size()
        if tag >= body.owner:
            body.owner = tag
            body.term = self.forgotten + place
        else:
            self.places[<Py_ssize_t><void*>body] = place
            self.bodies.append(body)
        self.rules.push_back(rule)
        self.nullable.append(nullable)
        return 0


@cython.final
cdef class RuleScan:
    """Finds references, key tests, nullability and heights of rules.

    Owner: the lowering. It writes to the given facts.
    """

    cdef object tables
    cdef int64_t tag            # of the tables: nodes know their terms there, and their rows
    cdef RuleFacts rules
    cdef TermMaker maker        # makes the terms of expressions without references
    cdef dict refs              # name -> names it refers to, and whether within the same object
    cdef dict users             # the inverse of refs, once it is needed; else None
    cdef int64_t scan_number

    def __cinit__(self, tables, RuleFacts rules not None, TermMaker maker not None):
        self.tables = tables
        self.tag = tables.tag
        self.rules = rules
        self.maker = maker
        self.refs = {}
        self.users = None
        self.scan_number = 0

    cdef int add_references(self, object name) except FAILED:
        """Store the rules that a rule refers to. ``rules.added`` receives the names of bodies inside."""
        cdef dict refs = {}
        self.rules.added.clear()
        self.scan_number = next_number()
        self.scan(self.rules.bodies[name], refs)
        self.refs[name] = refs
        return 0

    cdef int scan(self, Expression expr, dict refs) except FAILED:
        """Add to ``refs`` the rules to which an expression refers. Cost: linear in the expression."""
        cdef tuple items
        cdef object name
        cdef Py_ssize_t i
        if not expr.flags or expr.scanned_by == self.scan_number:
            return 0
        expr.scanned_by = self.scan_number
        if expr.depth > MAX_DEPTH:
            raise BudgetError("max_depth", MAX_DEPTH, "nesting of an expression", fixed=True)
        if expr.kind == SEQUENCE or expr.kind == CHOICE or expr.kind == INTERSECTION:
            items = items_of(expr)
            for i in range(len(items)):
                self.scan(<Expression?>items[i], refs)
        elif expr.kind == REPEAT or expr.kind == COMPLEMENT:
            self.scan(item_of(expr), refs)
        elif expr.kind == REFERENCE:
            refs[(<RuleRef>expr).name] = True
        elif expr.kind == CAPTURE or expr.kind == SCOPE or expr.kind == KEYED:
            name = self.rules.callee(item_of(expr))
            refs[name] = expr.kind != KEYED or refs.get(name, False)
        return 0

    cdef set recall(self):
        """Reuse the cached facts of rules with the same bodies, and return the names of these rules.

        A rule is known if the rules to which it refers are known, with the same numbers. Cost: linear in the
        references of cached rules.
        """
        cdef KnownRules known = self.tables.bodies
        cdef dict found = {}, places = {}, users = {}   # numbers of rules; places of those with references
        cdef list todo = list(self.rules.bodies), wrong = []
        cdef object name, hit, other
        cdef Expression body
        cdef Py_ssize_t i, place
        for name in todo:
            body = self.rules.bodies[name]
            if not body.flags:
                hit = self.known_pure(body)
                if hit is not None:
                    found[name] = hit
                continue
            place = known.find(body, self.tag)
            if place < 0:
                continue
            found[name] = known.rules[place].number
            places[name] = place
            for i in range(known.rules[place].refs, known.rules[place].refs_end):
                other = known.ref_names[i]
                if type(other) is int:  # an inner expression that a call needs a rule for
                    self.rules.callee(<Expression><void*><Py_ssize_t>other)
            if self.rules.added:
                todo.extend(self.rules.added)
                self.rules.added.clear()
        for name, hit in places.items():
            place = hit
            for i in range(known.rules[place].refs, known.rules[place].refs_end):
                other = known.ref_names[i]
                users.setdefault(other, []).append(name)
                hit = found.get(other)
                if hit is None:
                    hit = self.rules.numbers.get(other)  # of a part, which has its number already
                if hit is None or <int32_t>hit != known.ref_numbers[i]:
                    wrong.append(name)
        while wrong:
            name = wrong.pop()
            if found.pop(name, None) is not None:
                wrong.extend(users.get(name, ()))
        for name, hit in found.items():
            self.rules.numbers[name] = hit
            hit = places.get(name)
            if hit is None:
                self.rules.heights[name] = 1
                other = self.empty_before(self.rules.bodies[name])
            else:
                place = hit
                self.rules.heights[name] = known.rules[place].height
                other = known.nullable[place]
                if known.rules[place].keyed:
                    self.rules.keyed.add(name)
                self.rules.stacked |= known.rules[place].stacked
            if other is not None:
                self.rules.nullable[name] = other
        return set(found)

    cdef object known_pure(self, Expression body):
        """Return the number of the rule with this body, which has no references; None if it is new."""
        cdef object nullable
        if not self.tag or body.owner != self.tag:
            return None
        nullable = self.empty_before(body)
        return self.tables.rules.get(body.term if nullable is None else (body.term, nullable))

    cdef int remember(self, list component) except FAILED:
        """Store the rules of a component under their bodies, with the numbers of their references."""
        cdef KnownRules known = self.tables.bodies
        cdef KnownRule rule
        cdef Expression body
        cdef object name, other
        if self.rules.token_classes or not self.tag:  # special tokens belong to one grammar
            return 0
        if known.rules.size() > MAX_BODIES:
            known.clear()
        for name in component:
            body = self.rules.bodies[name]
            if not body.flags:  # known by its term
                continue
            rule.number = self.rules.numbers[name]
            rule.height = self.rules.heights[name]
            rule.keyed = name in self.rules.keyed
            rule.stacked = self.rules.stacked
            rule.refs = <Py_ssize_t>known.ref_numbers.size()
            for other in <dict>self.refs[name]:
                known.ref_names.append(other)
                known.ref_numbers.push_back(self.rules.numbers[other])
            rule.refs_end = <Py_ssize_t>known.ref_numbers.size()
            known.put(body, self.tag, rule, self.rules.nullable.get(name))
        return 0

    cdef dict users_of(self):
        """Return the callers of each rule, and whether they are in the same object, by the rule's name.

        The result is only for new rules, and computed once. Few grammars need it.
        """
        cdef object name, other, same_object
        cdef dict refs
        if self.users is None:
            self.users = {}
            for name, refs in self.refs.items():
                for other, same_object in refs.items():
                    self.users.setdefault(other, []).append((name, same_object))
        return self.users

    cdef bint calls_keyed(self) except FAILED:
        """Return whether a new rule calls a rule that tests keys of the same object."""
        cdef object other, same_object
        cdef dict refs
        if self.rules.keyed:
            for refs in self.refs.values():
                for other, same_object in refs.items():
                    if same_object and other in self.rules.keyed:
                        return True
        return False

    cdef int spread_keys(self) except FAILED:
        """Mark the rules that call a rule that tests keys of the same object."""
        cdef list names
        if not self.calls_keyed():  # nearly always: an object tests its own keys
            return 0
        names = list(self.rules.keyed)
        while names:
            for user, same_object in self.users_of().get(names.pop(), ()):
                if same_object and user not in self.rules.keyed:
                    self.rules.keyed.add(user)
                    names.append(user)
        return 0

    # -- what can be empty, and what is called first -------------------------------------------------

    cdef object empty_before(self, Expression expr):
        """Return the mask of next bytes before which an expression can be empty, or None if it never can."""
        cdef object mask, part
        if expr.kind == LITERAL:
            return None if (<Literal>expr).data else ALL_BYTES
        if expr.kind == CHARS or expr.kind == BYTES:
            return None
        if not expr.flags:
            return None if not self.maker.terms.terms[self.maker.term(expr)].nu.possible() else ALL_BYTES
        if expr.kind == SEQUENCE or expr.kind == INTERSECTION:
            mask = ALL_BYTES
            for item in items_of(expr):
                part = self.empty_before(item)
                if part is None:
                    return None
                mask &= part
            return mask
        if expr.kind == CHOICE:
            mask = None
            for item in items_of(expr):
                part = self.empty_before(item)
                if part is not None:
                    mask = part if mask is None else mask | part
            return mask
        if expr.kind == REPEAT:
            return ALL_BYTES if (<Repeat>expr).min == 0 else self.empty_before(item_of(expr))
        if expr.kind == COMPLEMENT:
            return ALL_BYTES if self.empty_before(item_of(expr)) is None else None
        if expr.kind == REFERENCE:
            return None if (<RuleRef>expr).nonempty else self.rules.nullable.get((<RuleRef>expr).name)
        if expr.kind == FOLLOW:
            return ALL_BYTES & ~(<NotFollowedBy>expr).mask
        if expr.kind == SCOPE or expr.kind == KEYED:
            if item_of(expr).kind == REFERENCE:
                return self.empty_before(item_of(expr))
            return self.rules.nullable.get(id(item_of(expr)))
        return None

    cdef int find_nullable(self, list names) except FAILED:
        """Find the bytes before which each rule can be empty: the least fixpoint."""
        cdef dict todo = {}
        for name in reversed(names):  # callees mostly come after their callers
            self.update_nullable(name, todo)
        while todo:
            name, _ = todo.popitem()
            self.update_nullable(name, todo)
        return 0

    cdef int update_nullable(self, object name, dict todo) except FAILED:
        """Find the bytes before which a rule can be empty. If they have changed, queue the rule's users."""
        cdef object mask = self.empty_before(self.rules.bodies[name])
        if mask is not None and mask != self.rules.nullable.get(name):
            self.rules.nullable[name] = mask
            for user, _ in self.users_of().get(name, ()):
                todo[user] = None
        return 0

    cdef bint left_calls(self, Expression expr, dict found) except FAILED:
        """Add the rules that an expression can call first; return whether the expression can be empty."""
        cdef bint passes
        if not expr.flags:
            return self.empty_before(expr) is not None
        if expr.kind == REFERENCE:
            found[(<RuleRef>expr).name] = None
        elif expr.kind == SEQUENCE:
            for item in items_of(expr):
                if not self.left_calls(item, found):
                    return False
            return True
        elif expr.kind == CHOICE:
            passes = False
            for item in items_of(expr):
                if self.left_calls(item, found):
                    passes = True
            return passes
        elif expr.kind == REPEAT:
            return self.left_calls(item_of(expr), found) or (<Repeat>expr).min == 0
        elif expr.kind == CAPTURE or expr.kind == SCOPE or expr.kind == KEYED:
            found[self.rules.callee(item_of(expr))] = None
        elif expr.kind == SLOT or expr.kind == KEY_TEST:
            return True
        return self.empty_before(expr) is not None

    cdef int find_height(self, object name) except FAILED:
        """Give a rule a height if its possible first calls have heights."""
        cdef dict called = {}
        self.left_calls(self.rules.bodies[name], called)
        self.rules.heights[name] = height_above(called, self.rules.heights)
        return 0

    cdef int find_heights(self, list names) except FAILED:
        """Give each rule a height above those of its possible first calls."""
        cdef dict calls = {}, called, heights = self.rules.heights
        cdef list stack, missing
        cdef Py_ssize_t height
        for name in names:
            called = calls[name] = {}
            self.left_calls(self.rules.bodies[name], called)
        for start in reversed(names):  # callees mostly come after their callers
            height = height_above(<dict>calls[start], heights)
            if height:
                heights[start] = height
                continue
            stack = [start]
            open_rules = set()
            while stack:
                name = stack[len(stack) - 1]
                if name in heights:
                    stack.pop()
                    continue
                height = height_above(<dict>calls[name], heights)
                if height:
                    heights[name] = height
                    stack.pop()
                    open_rules.discard(name)
                    continue
                missing = [callee for callee in calls[name] if callee not in heights]
                open_rules.add(name)
                if not open_rules.isdisjoint(missing):
                    names = sorted(map(str, open_rules))[:5]
                    raise AssertionError(f"left recursion after normalisation: {names}")
                stack.extend(missing)
        return 0


cdef Py_ssize_t height_above(dict called, dict heights) except FAILED:
    """Return the height of a rule with these first calls; 0 if the height of any of them is unknown."""
    cdef Py_ssize_t height = 0, other
    cdef object name, found
    for name in called:
        found = heights.get(name)
        if found is None:
            return 0
        other = found
        if other > height:
            height = other
    return height + 1


cdef enum:
    MAX_PURE = 100_000          # remembered objects, then they are forgotten


cdef inline object shape_of_term(TermId term):
    """Return the number of a term among the numbers of shapes."""
    return 2 * <int32_t>term + 1


@cython.final
cdef class Lowering:
    """The lowering of one grammar. It owns the facts, the scan and the maker of terms."""

    cdef object tables
    cdef object tag             # of the tables
    cdef TermBuilder build
    cdef RuleFacts rules
    cdef TermMaker maker
    cdef RuleScan scan
    cdef int64_t note_number

    def __cinit__(self, tables):
        self.tables = tables
        self.tag = tables.tag
        self.build = TermBuilder(tables.terms)
        self.rules = RuleFacts()
        self.maker = TermMaker(tables, self.rules)
        self.scan = RuleScan(tables, self.rules, self.maker)

    @property
    def numbers(self):
        """The numbers of the rules, by name."""
        return self.rules.numbers

    @property
    def token_classes(self):
        """The grammar's sets of special tokens, and their numbers."""
        return self.rules.token_classes

    @property
    def stacked(self):
        """Whether the grammar uses the built-in stack of strings."""
        return self.rules.stacked

    def term(self, Expression expr not None):
        """Return the term of an expression."""
        return self.maker.term(expr)

    def run(self, rules, start):
        """Number all rules and return the term that calls ``start``."""
        cdef list todo, fresh = []
        cdef Expression body
        if type(rules) is PartedRules:  # `isinstance` asks an abstract class, in Python
            for name, part in rules.parts.items():
                self.add_part(name, part)
            rules = rules.own
        for name, rule in rules.items():
            self.rules.bodies[name] = rule.body
        known = self.scan.recall()
        todo = [name for name in self.rules.bodies if name not in known] if known else list(self.rules.bodies)
        for name in todo:
            self.scan.add_references(name)
            body = self.rules.bodies[name]
            fresh.append(name)
            if body.flags & TESTS_KEYS:
                self.rules.keyed.add(name)
            if self.rules.added:
                todo.extend(self.rules.added)
        self.scan.spread_keys()
        self.scan.find_nullable(fresh)
        fresh = self.add_plain(fresh)
        self.scan.find_heights(fresh)
        waiting = set(fresh)
        graph = {name: [other for other in self.scan.refs[name] if other in waiting] for name in fresh}
        for component in components(graph):
            if len(component) == 1 and component[0] not in graph[component[0]]:
                self.add_rule(component[0])
            else:
                self.add_rules(component, graph)
            self.scan.remember(component)
        if len(self.maker.pure) > MAX_PURE:
            self.maker.pure.clear()
        return self.maker.reference(start, ACTION_NONE, False)

    cdef int add_part(self, object name, object part) except FAILED:
        """Lower the start rule of a part separately, and cache it with the part."""
        cdef tuple known = part.lowered
        cdef RuleFacts made
        cdef object start = part.start
        if known is None or known[0] != self.tag:
            lowering = Lowering(self.tables)
            lowering.run(part.rules, start)
            made = (<Lowering>lowering).rules
            known = (
                self.tag,
                made.numbers[start],
                made.heights[start],
                made.nullable.get(start),
                start in made.keyed,
                made.stacked,
            )
            if made.token_classes:  # they belong to one grammar
                self.rules.token_classes.update(made.token_classes)
            elif self.tag:
                part.lowered = known
        self.rules.numbers[name] = known[1]
        self.rules.heights[name] = known[2]
        if known[3] is not None:
            self.rules.nullable[name] = known[3]
        if known[4]:
            self.rules.keyed.add(name)
        self.rules.stacked |= <bint>known[5]
        return 0

    cdef int add_rule(self, object name) except FAILED:
        """Number a non-recursive rule by its term, so that equal rules are shared."""
        cdef int32_t body = self.maker.term(self.rules.bodies[name])
        cdef dict rules = self.tables.rules
        cdef object nullable = self.rules.nullable.get(name)
        cdef object key = body if nullable is None else (body, nullable), number = rules.get(key)
        if number is None:
            number = self.build.add_rule(nullable)
            self.build.set_rule(number, body, self.rules.heights[name])
            rules[key] = number
        self.rules.numbers[name] = number
        return 0

    cdef list add_plain(self, list names):
        """Number the rules whose callees all have numbers, from the last one; return the others."""
        cdef list left
        cdef dict numbers = self.rules.numbers
        cdef Py_ssize_t before = 2 * len(names)
        cdef bint ready
        while 8 * (before - len(names)) > before:  # while a round is worth it, so that the cost is linear
            before = len(names)
            left = []
            for name in reversed(names):  # callees mostly come after their callers
                ready = True
                for other in <dict>self.scan.refs[name]:
                    if other not in numbers:
                        ready = False
                        break
                if ready:
                    self.scan.find_height(name)
                    self.add_rule(name)
                    self.scan.remember([name])
                else:
                    left.append(name)
            left.reverse()
            names = left
        return names

    cdef int add_rules(self, list component, dict graph) except FAILED:
        """Number mutually recursive rules by their shape, seen from the first of them."""
        inside = set(component)
        order = {component[0]: 0}
        todo = [component[0]]
        for name in todo:
            for other in graph[name]:
                if other in inside and other not in order:
                    order[other] = len(order)
                    todo.append(other)
        seen = {}
        # marked, as one rule is known by a number or a pair
        key = (None, *[self.shape(self.rules.bodies[name], order, seen) for name in todo])
        known = self.tables.rules.get(key)
        if known is None:
            known = tuple([self.build.add_rule(self.rules.nullable.get(name)) for name in todo])
            self.rules.numbers.update(zip(todo, known))
            for name in todo:
                body = self.maker.term(self.rules.bodies[name])
                self.build.set_rule(self.rules.numbers[name], body, self.rules.heights[name])
            self.tables.rules[key] = known
        else:
            self.rules.numbers.update(zip(todo, known))
            self.note_number = next_number()
            for name in todo:
                self.record(self.rules.bodies[name])
        return 0

    cdef int record(self, Expression expr) except FAILED:
        """Record an expression's tokens and strings in the shared tables, without building terms."""
        if not expr.flags or expr.scanned_by == self.note_number:
            return 0
        expr.scanned_by = self.note_number
        if expr.kind == SEQUENCE or expr.kind == CHOICE or expr.kind == INTERSECTION:
            for item in items_of(expr):
                self.record(item)
        elif expr.kind == REPEAT or expr.kind == COMPLEMENT or expr.kind == SCOPE or expr.kind == KEYED:
            self.record(item_of(expr))
        elif expr.kind == CAPTURE:
            self.maker.term(expr)
            self.record(item_of(expr))
        elif expr.kind == TOKEN or expr.kind == DYNAMIC:
            self.maker.term(expr)
        return 0

    cdef object shape(self, Expression expr, dict order, dict seen):
        """Return a number for the expression with rule names replaced by numbers: equal shapes have the same
        meaning.

        An expression without rules of the component is numbered by its term, as an odd number; other numbers
        are even.
        Cost: linear in the objects.
        """
        cdef Expression item
        cdef object known, key
        if not expr.flags:
            return shape_of_term(self.maker.term(expr))
        if expr.kind == REFERENCE and (<RuleRef>expr).name not in order:
            return shape_of_term(
                self.maker.reference((<RuleRef>expr).name, ACTION_NONE, (<RuleRef>expr).nonempty)
            )
        known = <Py_ssize_t><void*>expr
        found = seen.get(known)
        if found is not None:
            return found
        if expr.kind == REFERENCE:
            key = (REFERENCE, order[(<RuleRef>expr).name], (<RuleRef>expr).nonempty)  # mutant: callee
        elif expr.kind == SEQUENCE or expr.kind == CHOICE:
            key = (expr.kind, *[self.shape(part, order, seen) for part in items_of(expr)])
        elif expr.kind == REPEAT:
            key = (REPEAT, self.shape(item_of(expr), order, seen), (<Repeat>expr).min, (<Repeat>expr).max)
        elif expr.kind == CAPTURE or expr.kind == SCOPE or expr.kind == KEYED:
            item = item_of(expr)
            name = self.rules.callee(item)
            nonempty = item.kind == REFERENCE and (<RuleRef>item).nonempty
            number = ("rule", self.rules.numbers[name]) if name not in order else order[name]
            if expr.kind == CAPTURE:
                key = (<Capture>expr).action
                if not isinstance(key, TokenLimit):
                    key = self.maker.semantics.add_action(key)
                key = (CAPTURE, number, key)
            else:
                key = (expr.kind, number, nonempty, (<Keyed>expr).spec if expr.kind == KEYED else None)
        elif expr.kind == DYNAMIC:
            key = (DYNAMIC, self.maker.semantics.add_resolver((<Dynamic>expr).resolver))
        else:
            key = expr
        found = seen[known] = 2 * self.tables.shapes.setdefault(key, len(self.tables.shapes))
        return found
