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
from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from stackmask.pda.interning cimport EPS, F_IMPURE
from stackmask.pda.literal_trie cimport literal_trie
from stackmask.pda.semantics cimport Semantics
from stackmask.pda.terms cimport TermStore

from stackmask.grammar import ir
from stackmask.grammar.components import components
from stackmask.pda.errors import BudgetError
from stackmask.pda.utf8 import class_term

cdef enum:
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
    IMPURE = 1
    TESTS_KEYS = 2
    MAX_DEPTH = 5000            # nesting of one expression; each level takes some of the C stack
    MAX_PURE = 100_000          # remembered objects, then they are forgotten
    MAX_BODIES = 20_000
    MAX_REACH = 64              # rules that a remembered rule may reach
    NO_ACTION = -1
    SCOPE_ACTION = -2
    KEYED_ACTION = -3           # minus the number of the key spec
    TEST_RULE = -(1 << 30)      # minus the number of the test

cdef dict KINDS = {
    ir.Literal: LITERAL,
    ir.CharClass: CHARS,
    ir.ByteClass: BYTES,
    ir.Sequence: SEQUENCE,
    ir.Choice: CHOICE,
    ir.Repeat: REPEAT,
    ir.Intersection: INTERSECTION,
    ir.Complement: COMPLEMENT,
    ir.RuleRef: REFERENCE,
    ir.TokenTerminal: TOKEN,
    ir.NotFollowedBy: FOLLOW,
    ir.Capture: CAPTURE,
    ir.Scope: SCOPE,
    ir.Keyed: KEYED,
    ir.Slot: SLOT,
    ir.KeyTest: KEY_TEST,
    ir.Dynamic: DYNAMIC,
}
TEST_KINDS = ("close", "continue", "undeclared")  # then the slots
ALL_BYTES = (1 << 256) - 1


@cython.final
cdef class Lowering:
    """One grammar on its way to terms."""

    cdef object tables
    cdef TermStore terms
    cdef Semantics semantics
    cdef dict pure
    cdef dict bodies            # name -> expression; what calls need a rule for is named by its id
    cdef list added             # names of bodies that the expression at hand brought in
    cdef dict refs              # name -> names it refers to
    cdef dict impure            # id -> flags, of objects met in this grammar
    cdef dict nullable          # name -> mask of bytes before which the rule can be empty
    cdef dict heights
    cdef readonly dict numbers
    cdef dict known             # id -> term, of objects met in this grammar
    cdef set keyed              # rules that test keys of the object that they are called in
    cdef readonly dict token_classes
    cdef readonly bint stacked
    cdef int depth

    def __cinit__(self, tables):
        self.tables = tables
        self.terms = tables.terms
        self.semantics = tables.semantics
        self.pure = tables.pure
        self.bodies = {}
        self.added = []
        self.refs = {}
        self.impure = {}
        self.nullable = {}
        self.heights = {}
        self.numbers = {}
        self.known = {}
        self.keyed = set()
        self.token_classes = {}
        self.stacked = False
        self.depth = 0

    # -- scanning ------------------------------------------------------------------------------------

    cdef int scan(self, object expr, dict refs, set seen) except -1:
        """Return what an expression holds; note the rules that it refers to in ``refs``."""
        cdef int kind, flags = PURE
        cdef object key = id(expr), item
        if key in self.pure:
            return PURE
        found = self.impure.get(key)
        if found is not None and (found == PURE or key in seen):
            return found
        kind = KINDS[type(expr)]
        if kind <= BYTES:
            return PURE
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise BudgetError("max_depth", MAX_DEPTH, "nesting of an expression", fixed=True)
        if kind == SEQUENCE or kind == CHOICE or kind == INTERSECTION:
            for item in expr.items:
                flags |= self.scan(item, refs, seen)
        elif kind == REPEAT or kind == COMPLEMENT:
            flags = self.scan(expr.item, refs, seen)
        elif kind == REFERENCE:
            refs[expr.name] = True
            flags = IMPURE
        elif kind == CAPTURE or kind == SCOPE or kind == KEYED:
            refs[self.callee(expr.item)] = kind != KEYED or refs.get(self.callee(expr.item), False)
            flags = IMPURE
        elif kind == SLOT or kind == KEY_TEST:
            flags = IMPURE | TESTS_KEYS
        else:
            flags = IMPURE
        self.depth -= 1
        self.impure[key] = flags
        if flags:
            seen.add(key)
        return flags

    cdef object callee(self, object item):
        """Return the name of the rule that stands for the item of a capture, scope or object."""
        if type(item) is ir.RuleRef:
            return item.name
        name = id(item)
        if name not in self.bodies:
            self.bodies[name] = item
            self.added.append(name)
        return name

    def run(self, rules, start):
        """Number all rules and return the term that calls ``start``."""
        cdef list todo, fresh = []
        cdef dict refs
        cdef int flags
        for name, rule in rules.items():
            self.bodies[name] = rule.body
        todo = list(self.bodies)
        users = {}
        for name in todo:
            if self.recall(name):
                continue
            refs = {}
            self.added.clear()
            flags = self.scan(self.bodies[name], refs, set())
            self.refs[name] = refs
            fresh.append(name)
            if flags & TESTS_KEYS:
                self.keyed.add(name)
            for other, same_object in refs.items():
                users.setdefault(other, []).append((name, same_object))
            todo.extend(self.added)
        self.spread_keys(users)
        self.find_nullable(fresh, users)
        self.find_heights(fresh)
        graph = {name: [other for other in self.refs[name] if other in self.refs] for name in fresh}
        for component in components(graph):
            if len(component) == 1 and component[0] not in graph[component[0]]:
                self.add_rule(component[0])
            else:
                self.add_rules(component, graph)
            self.remember(component)
        if len(self.pure) > MAX_PURE:
            self.pure.clear()
        return self.reference(start, NO_ACTION, False)

    cdef bint recall(self, object name) except -1:
        """Take over what is known of a rule with this very body and all that it reaches."""
        found = self.tables.bodies.get(id(self.bodies[name]))
        if found is None:
            return False
        _, number, nullable, height, keyed, reach, _, stacked = found
        for other, body in reach:
            if self.bodies.get(other) is not body:
                return False
        self.numbers[name] = number
        if nullable is not None:
            self.nullable[name] = nullable
        self.heights[name] = height
        if keyed:
            self.keyed.add(name)
        self.stacked |= stacked
        return True

    cdef int remember(self, list component) except -1:
        """Remember the rules of a component under their bodies, with the bodies of all that they reach."""
        reach = {name: self.bodies[name] for name in component if type(name) is not int}
        inside = set(component)
        for name in component:
            for other in self.refs[name]:
                if other in inside:
                    continue
                known = self.tables.bodies.get(id(self.bodies[other]))
                if known is None or len(reach) > MAX_REACH:
                    return 0
                if type(other) is not int:
                    reach[other] = self.bodies[other]
                reach.update(known[5])
        if len(reach) > MAX_REACH or self.token_classes:
            # special tokens are noted per grammar
            return 0
        if len(self.tables.bodies) > MAX_BODIES:
            self.tables.bodies.clear()
        pairs = tuple(reach.items())
        for name in component:
            self.tables.bodies[id(self.bodies[name])] = (
                self.bodies[name],
                self.numbers[name],
                self.nullable.get(name),
                self.heights[name],
                name in self.keyed,
                pairs,
                None,
                self.stacked,
            )
        return 0

    cdef int spread_keys(self, dict users) except -1:
        """Mark the rules that call one which tests keys of the same object."""
        cdef list names = list(self.keyed)
        while names:
            for user, same_object in users.get(names.pop(), ()):
                if same_object and user not in self.keyed:
                    self.keyed.add(user)
                    names.append(user)
        return 0

    # -- what can be empty, and what is called first -------------------------------------------------

    cdef object empty_before(self, object expr):
        """Return the mask of next bytes before which an expression can be empty, or None if it never can."""
        cdef int kind = KINDS[type(expr)]
        cdef object mask, part
        if kind == LITERAL:
            return None if expr.data else ALL_BYTES
        if kind == CHARS or kind == BYTES:
            return None
        if kind != REFERENCE and self.impure.get(id(expr), PURE) == PURE:
            return None if self.terms.terms[self.term(expr)].nu < 0 else ALL_BYTES
        if kind == SEQUENCE or kind == INTERSECTION:
            mask = ALL_BYTES
            for item in expr.items:
                part = self.empty_before(item)
                if part is None:
                    return None
                mask &= part
            return mask
        if kind == CHOICE:
            mask = None
            for item in expr.items:
                part = self.empty_before(item)
                if part is not None:
                    mask = part if mask is None else mask | part
            return mask
        if kind == REPEAT:
            return ALL_BYTES if expr.min == 0 else self.empty_before(expr.item)
        if kind == COMPLEMENT:
            return ALL_BYTES if self.empty_before(expr.item) is None else None
        if kind == REFERENCE:
            return None if expr.nonempty else self.nullable.get(expr.name)
        if kind == FOLLOW:
            return ALL_BYTES & ~expr.mask
        if kind == SCOPE or kind == KEYED:
            if type(expr.item) is ir.RuleRef:
                return self.empty_before(expr.item)
            return self.nullable.get(id(expr.item))
        return None

    cdef int find_nullable(self, list names, dict users) except -1:
        """Find before which bytes each rule can be empty: the least fixpoint."""
        todo = dict.fromkeys(names)
        while todo:
            name, _ = todo.popitem()
            mask = self.empty_before(self.bodies[name])
            if mask is not None and mask != self.nullable.get(name):
                self.nullable[name] = mask
                for user, _ in users.get(name, ()):
                    todo[user] = None
        return 0

    cdef bint left_calls(self, object expr, dict found) except -1:
        """Note the rules that an expression can call first; tell if it may be passed over."""
        cdef int kind = KINDS[type(expr)]
        cdef bint passes
        if kind <= BYTES or self.impure.get(id(expr), IMPURE if kind == REFERENCE else PURE) == PURE:
            return self.empty_before(expr) is not None
        if kind == REFERENCE:
            found[expr.name] = None
        elif kind == SEQUENCE:
            for item in expr.items:
                if not self.left_calls(item, found):
                    return False
            return True
        elif kind == CHOICE:
            passes = False
            for item in expr.items:
                if self.left_calls(item, found):
                    passes = True
            return passes
        elif kind == REPEAT:
            return self.left_calls(expr.item, found) or expr.min == 0
        elif kind == CAPTURE or kind == SCOPE or kind == KEYED:
            found[self.callee(expr.item)] = None
        elif kind == SLOT or kind == KEY_TEST:
            return True
        return self.empty_before(expr) is not None

    cdef int find_heights(self, list names) except -1:
        """Give each rule a height above those of the rules that it can call first."""
        calls = {}
        for name in names:
            calls[name] = {}
            self.left_calls(self.bodies[name], calls[name])
        for start in names:
            stack = [start]
            open_rules = set()
            while stack:
                name = stack[len(stack) - 1]
                if name in self.heights:
                    stack.pop()
                    continue
                missing = [callee for callee in calls[name] if callee not in self.heights]
                if not missing:
                    self.heights[name] = 1 + max([self.heights[callee] for callee in calls[name]], default=0)
                    stack.pop()
                    open_rules.discard(name)
                    continue
                open_rules.add(name)
                if not open_rules.isdisjoint(missing):
                    names = sorted(map(str, open_rules))[:5]
                    raise AssertionError(f"left recursion after normalisation: {names}")
                stack.extend(missing)
        return 0

    # -- rules ---------------------------------------------------------------------------------------

    cdef int add_rule(self, object name) except -1:
        """Number a rule that does not call itself: by its term, so that equal rules are one."""
        cdef int32_t body = self.term(self.bodies[name])
        key = (body, self.nullable.get(name))
        known = self.tables.rules.get(key)
        if known is None:
            number = self.terms.add_rule(key[1])
            self.terms.set_rule(number, body, self.heights[name])
            known = self.tables.rules[key] = (number,)
        self.numbers[name] = known[0]
        return 0

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
        key = tuple([self.shape(self.bodies[name], order) for name in todo])
        known = self.tables.rules.get(key)
        if known is None:
            known = tuple([self.terms.add_rule(self.nullable.get(name)) for name in todo])
            self.numbers.update(zip(todo, known))
            for name in todo:
                self.terms.set_rule(self.numbers[name], self.term(self.bodies[name]), self.heights[name])
            self.tables.rules[key] = known
        else:
            self.numbers.update(zip(todo, known))
            for name in todo:
                for part in ir.walk(self.bodies[name]):
                    # what the grammar uses of the shared tables is noted where the term is made
                    if isinstance(part, ir.TokenTerminal | ir.Capture | ir.Dynamic):
                        self.term(part)
        return 0

    cdef object shape(self, object expr, dict order):
        """Return the expression with numbers for the names of rules: equal shapes mean the same."""
        cdef int kind = KINDS[type(expr)]
        if kind == REFERENCE:
            if expr.name in order:
                return (order[expr.name], expr.nonempty)
            return ("rule", self.numbers[expr.name], expr.nonempty)
        if kind <= BYTES or self.impure.get(id(expr), PURE) == PURE:
            return ("term", self.term(expr))
        if kind == SEQUENCE or kind == CHOICE:
            return (kind, *[self.shape(item, order) for item in expr.items])
        if kind == REPEAT:
            return (kind, self.shape(expr.item, order), expr.min, expr.max)
        if kind == CAPTURE or kind == SCOPE or kind == KEYED:
            name = self.callee(expr.item)
            nonempty = type(expr.item) is ir.RuleRef and expr.item.nonempty
            number = ("rule", self.numbers[name]) if name not in order else order[name]
            if kind == CAPTURE:
                return (kind, number, self.semantics.add_action(expr.action))
            return (kind, number, nonempty, expr.spec if kind == KEYED else None)
        if kind == DYNAMIC:
            return (kind, self.semantics.add_resolver(expr.resolver))
        return expr

    # -- terms ---------------------------------------------------------------------------------------

    cpdef int32_t term(self, object expr) except -1:
        """Return the term of an expression."""
        cdef int kind
        cdef int32_t made
        cdef object key
        if type(expr) is ir.Literal:
            return self.terms.literal(expr.data)
        key = id(expr)
        found = self.pure.get(key)
        if found is not None:
            return found[1]
        found = self.known.get(key)
        if found is not None:
            return found
        kind = KINDS[type(expr)]
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise BudgetError("max_depth", MAX_DEPTH, "nesting of an expression", fixed=True)
        made = self.make(kind, expr)
        self.depth -= 1
        if kind < REFERENCE:
            if self.impure.get(key, PURE) == PURE and not self.terms.terms[made].flags & F_IMPURE:
                self.pure[key] = (expr, made)
            else:
                self.known[key] = made
        return made

    cdef int32_t make(self, int kind, object expr) except -1:
        """Make the term of an expression that is not known yet."""
        cdef int32_t made = EPS
        cdef object items
        cdef Py_ssize_t i
        if kind == CHARS:
            found = self.tables.characters.get(expr.ranges)
            if found is None:
                found = self.tables.characters[expr.ranges] = class_term(self.terms, expr.ranges)
            return found
        if kind == BYTES:
            return self.terms.byte_set(expr.mask)
        if kind == SEQUENCE:
            items = expr.items
            for i in range(len(items) - 1, -1, -1):
                made = self.terms.mk_seq(self.term(items[i]), made)
            return made
        if kind == CHOICE:
            return self.choice(expr.items)
        if kind == REPEAT:
            return self.terms.repeat(self.term(expr.item), expr.min, expr.max)
        if kind == INTERSECTION:
            return self.terms.intersection([self.term(item) for item in expr.items])
        if kind == COMPLEMENT:
            self.terms.any_text = self.term(ir.ANY_TEXT)
            return self.terms.intersection([self.terms.any_text, self.terms.complement(self.term(expr.item))])
        if kind == REFERENCE:
            return self.reference(expr.name, NO_ACTION, expr.nonempty)
        if kind == TOKEN:
            ids, number = self.tables.resolve_tokens(expr)
            self.token_classes[ids] = number
            return self.terms.token(number)
        if kind == FOLLOW:
            return self.terms.guard(ALL_BYTES & ~expr.mask)
        if kind == CAPTURE:
            self.stacked |= expr.action == "push"
            return self.reference(self.callee(expr.item), self.semantics.add_action(expr.action), True)
        nonempty = (kind == SCOPE or kind == KEYED) and type(expr.item) is ir.RuleRef and expr.item.nonempty
        if kind == SCOPE:
            return self.reference(self.callee(expr.item), SCOPE_ACTION, nonempty)
        if kind == KEYED:
            spec = self.semantics.keys.add_spec(expr.spec)
            rule = self.numbers[self.callee(expr.item)]
            return self.terms.call(self.call(rule, KEYED_ACTION - spec), nonempty)
        if kind == SLOT:
            return self.test(len(TEST_KINDS) + expr.index)
        if kind == KEY_TEST:
            return self.test(TEST_KINDS.index(expr.kind))
        self.stacked |= expr.resolver == "top"
        return self.terms.call(self.call(-1 - self.semantics.add_resolver(expr.resolver), NO_ACTION))

    cdef int32_t choice(self, object items) except -1:
        """Return the term of alternatives; those that begin with text share their beginnings."""
        cdef dict words = {}
        cdef list others = []
        cdef Py_ssize_t n, size
        cdef int32_t tail
        cdef vector[int32_t] kids
        for item in items:
            if type(item) is ir.Literal:
                words.setdefault(item.data, []).append(EPS)
            elif type(item) is ir.Sequence and item.items and type(item.items[0]) is ir.Literal:
                parts = item.items
                data = parts[0].data
                n = 1
                size = len(parts)
                while n < size and type(parts[n]) is ir.Literal:
                    data += parts[n].data
                    n += 1
                tail = EPS
                while size > n:
                    size -= 1
                    tail = self.terms.mk_seq(self.term(parts[size]), tail)
                words.setdefault(data, []).append(tail)
            else:
                others.append(self.term(item))
        if words:
            kids.push_back(literal_trie(self.terms, words))
        for item in others:
            kids.push_back(item)
        return self.terms.mk_alt(kids, 0)

    cdef int32_t reference(self, object name, int32_t action, bint nonempty) except -1:
        """Return the term that calls a rule, by name."""
        return self.terms.call(self.call(self.numbers[name], action), nonempty, name in self.keyed)

    cdef int32_t test(self, int32_t number) except -1:
        """Return the term that asks the key state: a call that ends where it begins."""
        return self.terms.call(self.call(TEST_RULE - number, NO_ACTION), False, True)

    cdef object call(self, object rule, int32_t action):
        """Return the number of a call, one for all calls with this rule and action."""
        key = (rule, action)
        calls = self.tables.calls
        found = calls.get(key)
        if found is None:
            found = calls[key] = self.terms.add_call(rule, action)
        return found
