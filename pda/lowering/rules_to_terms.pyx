# distutils: language = c++
"""Lowering of rules to terms, in the order of the passes.

Scan every rule for what it refers to; find which rules test object keys, which can be empty and how high they
stand above the rules they call first; then make the terms, callees before callers, so that equal rules become
one.

What holds no reference is *pure*: its term is remembered under the object itself, as front ends share such
objects between grammars. The same goes for whole rules with all that they can reach. Python recursion would
be as deep as the expressions are nested, and slow; this is the one part of lowering whose cost counts.
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
    DYNAMIC,
    FOLLOW,
    INTERSECTION,
    KEY_TEST,
    KEYED,
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
from stackmask.pda.terms.term_table cimport EMPTY, EPS, F_IMPURE, K_GUARD, K_SEQ
from stackmask.pda.terms.ids cimport ACTION_KEYED, ACTION_NONE, ACTION_SCOPE, TEST_RULE, TermId
from stackmask.pda.terms.literal_trie cimport literal_trie
from stackmask.pda.lowering.references cimport MAX_DEPTH, RuleScan, height_above, next_number
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.terms.term_store cimport TermStore

from stackmask.grammar import ir
from stackmask.grammar.ir.strongly_connected import components
from stackmask.pda.errors import BudgetError
from stackmask.pda.terms.character_classes import class_term

cdef enum:
    MAX_PURE = 100_000          # remembered objects, then they are forgotten

TEST_KINDS = ("close", "continue", "undeclared")  # then the slots
ALL_BYTES = (1 << 256) - 1
cdef Expression ANY_TEXT = ir.ANY_TEXT


@cython.final
cdef class Lowering(RuleScan):
    """One grammar on its way to terms."""

    cdef TermStore terms
    cdef Semantics semantics
    cdef dict pure
    cdef dict calls
    cdef dict known             # id of a key spec or an action, which the rules hold -> its number
    cdef int64_t run_number     # nodes with references know their terms in this lowering

    def __cinit__(self, tables):
        self.terms = tables.terms
        self.semantics = tables.semantics
        self.pure = tables.pure
        self.calls = tables.calls
        self.known = {}
        self.run_number = next_number()

    def run(self, rules, start):
        """Number all rules and return the term that calls ``start``."""
        cdef list todo, fresh = []
        cdef dict refs
        cdef Expression body
        for name, rule in rules.items():
            self.bodies[name] = rule.body
        known = self.recall()
        todo = [name for name in self.bodies if name not in known] if known else list(self.bodies)
        for name in todo:
            refs = {}
            self.added.clear()
            body = self.bodies[name]
            self.scan_number = next_number()
            self.scan(body, refs)
            self.refs[name] = refs
            fresh.append(name)
            if body.flags & TESTS_KEYS:
                self.keyed.add(name)
            if self.added:
                todo.extend(self.added)
        self.spread_keys()
        self.find_nullable(fresh)
        fresh = self.add_plain(fresh)
        self.find_heights(fresh)
        waiting = set(fresh)
        graph = {name: [other for other in self.refs[name] if other in waiting] for name in fresh}
        for component in components(graph):
            if len(component) == 1 and component[0] not in graph[component[0]]:
                self.add_rule(component[0])
            else:
                self.add_rules(component, graph)
            self.remember(component)
        if len(self.pure) > MAX_PURE:
            self.pure.clear()
        return self.reference(start, ACTION_NONE, False)

    # -- what can be empty ---------------------------------------------------------------------------

    cdef object empty_before(self, Expression expr):
        """Return the mask of next bytes before which an expression can be empty, or None if it never can."""
        cdef object mask, part
        if expr.kind == LITERAL:
            return None if (<Literal>expr).data else ALL_BYTES
        if expr.kind == CHARS or expr.kind == BYTES:
            return None
        if not expr.flags:
            return None if self.terms.terms[self.term(expr)].nu < 0 else ALL_BYTES
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
            return None if (<RuleRef>expr).nonempty else self.nullable.get((<RuleRef>expr).name)
        if expr.kind == FOLLOW:
            return ALL_BYTES & ~(<NotFollowedBy>expr).mask
        if expr.kind == SCOPE or expr.kind == KEYED:
            if item_of(expr).kind == REFERENCE:
                return self.empty_before(item_of(expr))
            return self.nullable.get(id(item_of(expr)))
        return None

    # -- rules ---------------------------------------------------------------------------------------

    cdef object known_pure(self, Expression body):
        """Return the number of the rule that is this, which has no references, or None if it has none yet."""
        cdef object nullable
        if not self.tag or body.owner != self.tag:
            return None
        nullable = self.empty_before(body)
        return self.tables.rules.get(body.term if nullable is None else (body.term, nullable))

    cdef int add_rule(self, object name) except -1:
        """Number a rule that does not call itself: by its term, so that equal rules are one."""
        cdef int32_t body = self.term(self.bodies[name])
        cdef dict rules = self.tables.rules
        cdef object nullable = self.nullable.get(name)
        cdef object key = body if nullable is None else (body, nullable), number = rules.get(key)
        if number is None:
            number = self.terms.add_rule(nullable)
            self.terms.set_rule(number, body, self.heights[name])
            rules[key] = number
        self.numbers[name] = number
        return 0

    cdef list add_plain(self, list names):
        """Number the rules that call none which has no number yet, from the last one; return the others."""
        cdef list left
        cdef dict called, numbers = self.numbers
        cdef Py_ssize_t before = 2 * len(names)
        cdef bint ready
        while 8 * (before - len(names)) > before:  # while a round is worth it, so that the cost is linear
            before = len(names)
            left = []
            for name in reversed(names):  # callees mostly come after their callers
                ready = True
                for other in <dict>self.refs[name]:
                    if other not in numbers:
                        ready = False
                        break
                if ready:
                    called = {}
                    self.left_calls(self.bodies[name], called)
                    self.heights[name] = height_above(called, self.heights)
                    self.add_rule(name)
                    self.remember([name])
                else:
                    left.append(name)
            left.reverse()
            names = left
        return names

    cdef int add_rules(self, list component, dict graph) except -1:
        """Number rules that call each other: by their shape, seen from the first of them."""
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
        key = (None, *[self.shape(self.bodies[name], order, seen) for name in todo])
        known = self.tables.rules.get(key)
        if known is None:
            known = tuple([self.terms.add_rule(self.nullable.get(name)) for name in todo])
            self.numbers.update(zip(todo, known))
            for name in todo:
                self.terms.set_rule(self.numbers[name], self.term(self.bodies[name]), self.heights[name])
            self.tables.rules[key] = known
        else:
            self.numbers.update(zip(todo, known))
            self.scan_number = next_number()
            for name in todo:
                self.note(self.bodies[name])
        return 0

    cdef int note(self, Expression expr) except -1:
        """Note what an expression uses of the shared tables, where no terms are made: tokens, texts."""
        if not expr.flags or expr.scanned_by == self.scan_number:
            return 0
        expr.scanned_by = self.scan_number
        if expr.kind == SEQUENCE or expr.kind == CHOICE or expr.kind == INTERSECTION:
            for item in items_of(expr):
                self.note(item)
        elif expr.kind == REPEAT or expr.kind == COMPLEMENT or expr.kind == SCOPE or expr.kind == KEYED:
            self.note(item_of(expr))
        elif expr.kind == CAPTURE:
            self.term(expr)
            self.note(item_of(expr))
        elif expr.kind == TOKEN or expr.kind == DYNAMIC:
            self.term(expr)
        return 0

    cdef object shape(self, Expression expr, dict order, dict seen):
        """Return a number for the expression with numbers for the names of rules: equal shapes mean the same.

        What refers to no rule of the component is its term. Cost: each object once, however often it is met.
        """
        cdef Expression item
        cdef object known, key
        if not expr.flags:
            return -1 - self.term(expr)
        if expr.kind == REFERENCE and (<RuleRef>expr).name not in order:
            return -1 - self.reference((<RuleRef>expr).name, ACTION_NONE, (<RuleRef>expr).nonempty)
        known = <Py_ssize_t><void*>expr
        found = seen.get(known)
        if found is not None:
            return found
        if expr.kind == REFERENCE:
            key = (REFERENCE, order[(<RuleRef>expr).name], (<RuleRef>expr).nonempty)
        elif expr.kind == SEQUENCE or expr.kind == CHOICE:
            key = (expr.kind, *[self.shape(part, order, seen) for part in items_of(expr)])
        elif expr.kind == REPEAT:
            key = (REPEAT, self.shape(item_of(expr), order, seen), (<Repeat>expr).min, (<Repeat>expr).max)
        elif expr.kind == CAPTURE or expr.kind == SCOPE or expr.kind == KEYED:
            item = item_of(expr)
            name = self.callee(item)
            nonempty = item.kind == REFERENCE and (<RuleRef>item).nonempty
            number = ("rule", self.numbers[name]) if name not in order else order[name]
            if expr.kind == CAPTURE:
                key = (CAPTURE, number, self.semantics.add_action((<Capture>expr).action))
            else:
                key = (expr.kind, number, nonempty, (<Keyed>expr).spec if expr.kind == KEYED else None)
        elif expr.kind == DYNAMIC:
            key = (DYNAMIC, self.semantics.add_resolver((<Dynamic>expr).resolver))
        else:
            key = expr
        found = seen[known] = self.tables.shapes.setdefault(key, len(self.tables.shapes))
        return found

    # -- terms ---------------------------------------------------------------------------------------

    cpdef int32_t term(self, Expression expr) except -1:
        """Return the term of an expression.

        A pure node knows its term in the newest tables that asked; older tables look it up.
        """
        cdef int32_t made
        if not expr.flags:
            if self.tag and expr.owner == self.tag:
                return expr.term
            if expr.kind == LITERAL:
                made = self.terms.literal((<Literal>expr).data)
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
        if expr.kind <= REFERENCE:
            expr.term_here = made
            expr.lowered_by = self.run_number
        return made

    cdef int32_t make(self, Expression expr) except -1:
        """Make the term of an expression that is not known yet."""
        cdef int32_t made = EPS
        cdef vector[TermId] kids
        cdef tuple items
        cdef Py_ssize_t i
        cdef int kind = expr.kind
        if expr.depth > MAX_DEPTH:
            raise BudgetError("max_depth", MAX_DEPTH, "nesting of an expression", fixed=True)
        if kind == CHARS:
            found = self.tables.characters.get((<CharClass>expr).ranges)
            if found is None:
                found = class_term(self.terms, (<CharClass>expr).ranges)
                self.tables.characters[(<CharClass>expr).ranges] = found
            return found
        if kind == BYTES:
            return self.terms.byte_set((<ByteClass>expr).mask)
        if kind == SEQUENCE:
            items = (<Sequence>expr).items
            for i in range(len(items) - 1, -1, -1):
                made = self.before(<Expression?>items[i], made)
            return made
        if kind == CHOICE:
            return self.choice((<Choice>expr).items)
        if kind == REPEAT:
            found = (<Repeat>expr).max
            return self.terms.mk_rep(
                self.term(item_of(expr)), (<Repeat>expr).min, -1 if found is None else <int32_t>found
            )
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
            ids, number = self.tables.resolve_tokens(expr)
            self.token_classes[ids] = number
            return self.terms.token(number)
        if kind == FOLLOW:
            return self.terms.guard(ALL_BYTES & ~(<NotFollowedBy>expr).mask)
        if kind == CAPTURE:
            self.stacked |= (<Capture>expr).action == "push"
            action = self.action_number((<Capture>expr).action)
            return self.reference(self.callee(item_of(expr)), action, True)
        if kind == SCOPE or kind == KEYED:
            nonempty = item_of(expr).kind == REFERENCE and (<RuleRef>item_of(expr)).nonempty
            if kind == SCOPE:
                return self.reference(self.callee(item_of(expr)), ACTION_SCOPE, nonempty)
            spec = self.spec_number((<Keyed>expr).spec)
            rule = self.numbers[self.callee(item_of(expr))]
            return self.terms.call(self.call(rule, ACTION_KEYED - spec), nonempty)
        if kind == SLOT:
            return self.test(len(TEST_KINDS) + (<Slot>expr).index)
        if kind == KEY_TEST:
            return self.test(TEST_KINDS.index((<KeyTest>expr).test_kind))
        resolver = (<Dynamic?>expr).resolver
        self.stacked |= resolver == "top"
        return self.terms.call(self.call(-1 - self.semantics.add_resolver(resolver), ACTION_NONE))

    cdef int32_t regular(self, Expression expr) except -1:
        """Return the term of an operand of `&` or `!`. Raises: ValueError if it is not regular."""
        cdef int32_t made = self.term(expr)
        if self.terms.terms[made].flags & F_IMPURE:
            raise ValueError("`&` and `!` need regular terms")
        return made

    cdef int32_t before(self, Expression expr, int32_t rest) except -1:
        """Return the term of an expression and then ``rest``.

        Sequences lean to the right: what is in front of ``rest`` is made anew for it, item by item. So no
        term of a sequence alone, such as a name, is made first. Restrictions apply first to what follows
        within their sequence, so those are.
        """
        cdef tuple items
        cdef Expression item
        cdef Py_ssize_t i
        if expr.kind == SEQUENCE and not expr.flags & RESTRICTS:
            if rest == EPS:  # as it would be alone: what several sequences end with is made once
                return self.term(expr)
            items = (<Sequence>expr).items
            for i in range(len(items) - 1, -1, -1):
                item = <Expression?>items[i]
                if item.kind != SEQUENCE and not item.flags and item.owner == self.tag and self.tag:
                    rest = self.joined(item.term, rest)  # a character of a name, mostly
                else:
                    rest = self.before(item, rest)
            return rest
        return self.joined(self.term(expr), rest)

    cdef inline int32_t joined(self, int32_t made, int32_t rest) except -1:
        """Return the term ``made`` and then ``rest``."""
        cdef int32_t kind = self.terms.terms[made].kind
        if kind == K_SEQ or kind == K_GUARD or made == EMPTY or made == EPS or rest == EMPTY or rest == EPS:
            return self.terms.mk_seq(made, rest)
        return self.terms.make.intern_seq(self.terms, made, rest)

    cdef int32_t choice(self, tuple items) except -1:
        """Return the term of alternatives; those that begin with text share their beginnings."""
        cdef dict words = {}
        cdef list others = []
        cdef Py_ssize_t n, size, i
        cdef int32_t tail
        cdef vector[TermId] kids
        cdef Expression item
        cdef tuple parts
        cdef bytes data
        for i in range(len(items)):
            item = <Expression?>items[i]
            if item.kind == LITERAL:
                words.setdefault((<Literal>item).data, []).append(EPS)
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
                words.setdefault(data, []).append(tail)
            else:
                others.append(self.term(item))
        if words:
            kids.push_back(literal_trie(self.terms, words))
        for made in others:
            kids.push_back(made)
        return self.terms.make.mk_alt(self.terms, kids, 0)

    cdef int32_t reference(self, object name, int32_t action, bint nonempty) except -1:
        """Return the term that calls a rule, by name."""
        return self.terms.call(self.call(self.numbers[name], action), nonempty, name in self.keyed)

    cdef int32_t spec_number(self, object spec) except -1:
        """Return the number of what the keys of an object must satisfy. The same one is looked up once."""
        cdef object key = <Py_ssize_t><void*>spec
        cdef object found = self.known.get(key)
        if found is None:
            found = self.known[key] = self.semantics.keys.add_spec(spec)
        return found

    cdef int32_t action_number(self, object action) except -1:
        """Return the number of what a capture does. The same one is looked up once."""
        cdef object key = <Py_ssize_t><void*>action
        cdef object found = self.known.get(key)
        if found is None:
            found = self.known[key] = self.semantics.add_action(action)
        return found

    cdef int32_t test(self, int32_t number) except -1:
        """Return the term that asks the key state: a call that ends where it begins."""
        return self.terms.call(self.call(TEST_RULE - number, ACTION_NONE), False, True)

    cdef int32_t call(self, int32_t rule, int32_t action) except -1:
        """Return the number of a call, one for all calls with this rule and action."""
        cdef object key = rule * (<int64_t>1 << 32) + action
        cdef object found = self.calls.get(key)
        if found is None:
            found = self.calls[key] = self.terms.add_call(rule, action)
        return found
