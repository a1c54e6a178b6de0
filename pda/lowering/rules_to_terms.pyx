# distutils: language = c++
"""Lowering of rules to terms, in the order of the passes.

Scan every rule for references. Find which rules test object keys, which can be empty, and their heights above
the rules that they call first. Then make the terms, callees before callers, so that equal rules become one.

Whole rules are remembered with all rules that they can reach, as front ends share them between grammars. This
module is compiled, since it takes most of the time for a grammar, and recursion is as deep as expressions.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t

from stackmask.grammar.ir.expressions cimport (
    CAPTURE,
    CHOICE,
    COMPLEMENT,
    DYNAMIC,
    INTERSECTION,
    KEYED,
    REFERENCE,
    REPEAT,
    SCOPE,
    SEQUENCE,
    TESTS_KEYS,
    TOKEN,
    Capture,
    Dynamic,
    Expression,
    Keyed,
    Repeat,
    RuleRef,
    item_of,
    items_of,
)
from stackmask.pda.lowering.expressions_to_terms cimport TermMaker
from stackmask.pda.lowering.references cimport RuleScan
from stackmask.pda.lowering.rule_facts cimport RuleFacts, next_number
from stackmask.pda.ids cimport ACTION_NONE, TermId
from stackmask.pda.terms.term_store cimport TermBuilder

from stackmask.grammar.ir import TokenLimit
from stackmask.grammar.ir.parts import PartedRules
from stackmask.grammar.ir.strongly_connected import components

cdef enum:
    MAX_PURE = 100_000          # remembered objects, then they are forgotten


cdef inline object shape_of_term(TermId term):
    """Return the number of a term among those of shapes."""
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
        """The sets of special tokens that the grammar has, and their numbers."""
        return self.rules.token_classes

    @property
    def stacked(self):
        """Whether it uses the built-in stack of strings."""
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

    cdef int add_part(self, object name, object part) except -1:
        """Take the start rule of a part, which is made on its own, and remembered with the part."""
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

    cdef int add_rule(self, object name) except -1:
        """Number a rule that does not call itself: by its term, so that equal rules are one."""
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
        """Number the rules that call none which has no number yet, from the last one; return the others."""
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

    cdef int record(self, Expression expr) except -1:
        """Record what an expression uses of the shared tables, without making terms: tokens, strings."""
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
        """Return a number for the expression with numbers for the names of rules: equal shapes mean the same.

        An expression without rules of the component is numbered by its term: odd, where others are even.
        Cost: each object once.
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
