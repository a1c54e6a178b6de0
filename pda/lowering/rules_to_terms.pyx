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
    SCOPE,
    SEQUENCE,
    SLOT,
    TESTS_KEYS,
    TOKEN,
    Capture,
    Dynamic,
    Expression,
    Keyed,
    Literal,
    NotFollowedBy,
    Repeat,
    RuleRef,
    item_of,
    items_of,
)
from stackmask.pda.ids cimport ACTION_NONE, FAILED, ID_FAILED, TermId
from stackmask.pda.lowering.expressions_to_terms cimport MAX_DEPTH, RuleFacts, TermMaker, next_number
from stackmask.pda.terms.term_store cimport TermBuilder

from stackmask.grammar.ir import TokenLimit
from stackmask.grammar.ir.build import components
from stackmask.grammar.ir.parts import PartedRules
from stackmask.pda.errors import BudgetError


# ------------------------------------------------------------------------------------------------
# References between the rules of one grammar, and a memory of rules that were lowered before.
#
# A rule is remembered under its body, as front ends share such objects between grammars. The numbers of the
# rules that it refers to are remembered, too: an equal body is the same rule only if these are equal.
# ------------------------------------------------------------------------------------------------


cdef enum:
    MAX_BODIES = 20_000

ALL_BYTES = (1 << 256) - 1


@cython.final
cdef class KnownRules:
    """What lowering found out about rules, by their bodies.

    A body stores its own place for the newest tables that it was lowered into, so nothing keeps a deleted
    grammar alive. Older tables look the body up, and hold it. The facts are kept in columns, since there are
    thousands of rules, and more objects would make the garbage collector run more often.
    """

    def __cinit__(self):
        self.places = {}
        self.bodies = []
        self.nullable = []
        self.ref_names = []
        self.forgotten = 0

    def __len__(self):
        return len(self.nullable)

    cdef int clear(self) except FAILED:
        """Forget all rules."""
        self.forgotten += <int32_t>self.rules.size()
        self.places.clear()
        self.bodies.clear()
        self.nullable.clear()
        self.ref_names.clear()
        self.rules.clear()
        self.ref_numbers.clear()
        return 0

    cdef Py_ssize_t find(self, Expression body, int64_t tag) except ID_FAILED:
        """Return the place of a body, or -1."""
        cdef object found
        if not tag:  # tables of a moment remember no rules
            return -1
        if body.owner == tag:
            return max(body.term - self.forgotten, -1)
        found = self.places.get(<Py_ssize_t><void*>body) if self.places else None
        return -1 if found is None else <Py_ssize_t>found

    cdef int put(self, Expression body, int64_t tag, KnownRule rule, object nullable) except FAILED:
        """Remember a body, newly."""
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
    """Finds what rules refer to, which test keys, which can be empty, and how high they stand.

    Owner: the lowering. It writes to the facts that it is given.
    """

    def __cinit__(self, tables, RuleFacts rules not None, TermMaker maker not None):
        self.tables = tables
        self.tag = tables.tag
        self.rules = rules
        self.maker = maker
        self.refs = {}
        self.users = None
        self.scan_number = 0

    cdef int add_references(self, object name) except FAILED:
        """Store the rules that a rule refers to. ``rules.added`` gets the names of bodies inside of it."""
        cdef dict refs = {}
        self.rules.added.clear()
        self.scan_number = next_number()
        self.scan(self.rules.bodies[name], refs)
        self.refs[name] = refs
        return 0

    cdef int scan(self, Expression expr, dict refs) except FAILED:
        """Add the rules that an expression refers to to ``refs``. Cost: linear in its size."""
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
        """Use the remembered facts of rules with the same bodies, and return the names of these rules.

        A rule is known if the rules that it refers to are known, with the numbers that they had. Cost: linear
        in the references of remembered rules.
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
        """Return the number of the rule with this body, which has no references; None if it has none yet."""
        cdef object nullable
        if not self.tag or body.owner != self.tag:
            return None
        nullable = self.empty_before(body)
        return self.tables.rules.get(body.term if nullable is None else (body.term, nullable))

    cdef int remember(self, list component) except FAILED:
        """Remember the rules of a component under their bodies, with the numbers of what they refer to."""
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
        """Return who refers to a rule, and whether within the same object, by the rule's name.

        Of the rules that are new; the same dict from the first time on. Few grammars need it.
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
        """Return whether a new rule calls one which tests keys of the same object."""
        cdef object other, same_object
        cdef dict refs
        if self.rules.keyed:
            for refs in self.refs.values():
                for other, same_object in refs.items():
                    if same_object and other in self.rules.keyed:
                        return True
        return False

    cdef int spread_keys(self) except FAILED:
        """Mark the rules that call one which tests keys of the same object."""
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
        """Find before which bytes each rule can be empty: the least fixpoint."""
        cdef dict todo = {}
        for name in reversed(names):  # callees mostly come after their callers
            self.update_nullable(name, todo)
        while todo:
            name, _ = todo.popitem()
            self.update_nullable(name, todo)
        return 0

    cdef int update_nullable(self, object name, dict todo) except FAILED:
        """Find before which bytes a rule can be empty. If that has changed, queue its users."""
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
        """Give a rule a height, where those that it can call first have one."""
        cdef dict called = {}
        self.left_calls(self.rules.bodies[name], called)
        self.rules.heights[name] = height_above(called, self.rules.heights)
        return 0

    cdef int find_heights(self, list names) except FAILED:
        """Give each rule a height above those of the rules that it can call first."""
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
    """Return the height of a rule that calls these first; 0 if that of one of them is not known."""
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

    cdef int add_part(self, object name, object part) except FAILED:
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

    cdef int add_rule(self, object name) except FAILED:
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

    cdef int add_rules(self, list component, dict graph) except FAILED:
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

    cdef int record(self, Expression expr) except FAILED:
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
