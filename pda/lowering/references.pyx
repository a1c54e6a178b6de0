# distutils: language = c++
"""References between the rules of one grammar, and a memory of rules that were lowered before.

A rule is remembered under its body, as front ends share such objects between grammars. The numbers of the
rules that it refers to are remembered, too: an equal body is the same rule only if these are equal.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t

from stackmask.grammar.ir.expressions cimport (
    BYTES,
    CAPTURE,
    CHARS,
    CHOICE,
    COMPLEMENT,
    FOLLOW,
    INTERSECTION,
    KEY_TEST,
    KEYED,
    LITERAL,
    REFERENCE,
    REPEAT,
    SCOPE,
    SEQUENCE,
    SLOT,
    Expression,
    Literal,
    NotFollowedBy,
    Repeat,
    RuleRef,
    item_of,
    items_of,
)

from stackmask.pda.lowering.rule_facts cimport MAX_DEPTH, next_number

from stackmask.pda.errors import BudgetError

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

    cdef int clear(self) except -1:
        """Forget all rules."""
        self.forgotten += <int32_t>self.rules.size()
        self.places.clear()
        self.bodies.clear()
        self.nullable.clear()
        self.ref_names.clear()
        self.rules.clear()
        self.ref_numbers.clear()
        return 0

    cdef Py_ssize_t find(self, Expression body, int64_t tag) except -2:
        """Return the place of a body, or -1."""
        cdef object found
        if not tag:  # tables of a moment remember no rules
            return -1
        if body.owner == tag:
            return max(body.term - self.forgotten, -1)
        found = self.places.get(<Py_ssize_t><void*>body) if self.places else None
        return -1 if found is None else <Py_ssize_t>found

    cdef int put(self, Expression body, int64_t tag, KnownRule rule, object nullable) except -1:
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

    cdef int add_references(self, object name) except -1:
        """Store the rules that a rule refers to. ``rules.added`` gets the names of bodies inside of it."""
        cdef dict refs = {}
        self.rules.added.clear()
        self.scan_number = next_number()
        self.scan(self.rules.bodies[name], refs)
        self.refs[name] = refs
        return 0

    cdef int scan(self, Expression expr, dict refs) except -1:
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

    cdef int remember(self, list component) except -1:
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

    cdef bint calls_keyed(self) except -1:
        """Tell whether a new rule calls one which tests keys of the same object."""
        cdef object other, same_object
        cdef dict refs
        if self.rules.keyed:
            for refs in self.refs.values():
                for other, same_object in refs.items():
                    if same_object and other in self.rules.keyed:
                        return True
        return False

    cdef int spread_keys(self) except -1:
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

    cdef int find_nullable(self, list names) except -1:
        """Find before which bytes each rule can be empty: the least fixpoint."""
        cdef dict todo = {}
        for name in reversed(names):  # callees mostly come after their callers
            self.update_nullable(name, todo)
        while todo:
            name, _ = todo.popitem()
            self.update_nullable(name, todo)
        return 0

    cdef int update_nullable(self, object name, dict todo) except -1:
        """Find before which bytes a rule can be empty. If that has changed, queue its users."""
        cdef object mask = self.empty_before(self.rules.bodies[name])
        if mask is not None and mask != self.rules.nullable.get(name):
            self.rules.nullable[name] = mask
            for user, _ in self.users_of().get(name, ()):
                todo[user] = None
        return 0

    cdef bint left_calls(self, Expression expr, dict found) except -1:
        """Add the rules that an expression can call first; tell whether the expression can be empty."""
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

    cdef int find_height(self, object name) except -1:
        """Give a rule a height, where those that it can call first have one."""
        cdef dict called = {}
        self.left_calls(self.rules.bodies[name], called)
        self.rules.heights[name] = height_above(called, self.rules.heights)
        return 0

    cdef int find_heights(self, list names) except -1:
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


cdef Py_ssize_t height_above(dict called, dict heights) except -1:
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
