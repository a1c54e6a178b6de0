"""What the rules of one grammar refer to, and what is remembered of rules that were lowered before.

A rule is remembered under its body, as front ends share such objects between grammars, with the
numbers of the rules that it refers to: it is the same again only where these are.
"""

from libc.stdint cimport int64_t

from stackmask.grammar.expressions cimport (
    CAPTURE,
    CHOICE,
    COMPLEMENT,
    INTERSECTION,
    KEYED,
    REFERENCE,
    REPEAT,
    SCOPE,
    SEQUENCE,
    Expression,
    RuleRef,
    item_of,
    items_of,
)

from stackmask.pda.errors import BudgetError

cdef enum:
    MAX_BODIES = 20_000

cdef int64_t runs = 0           # lowerings and scans begun so far


cdef class RuleScan:
    """The rules of one grammar, by name."""

    def __cinit__(self, tables):
        self.tables = tables
        self.bodies = {}
        self.added = []
        self.refs = {}
        self.nullable = {}
        self.heights = {}
        self.numbers = {}
        self.scan_number = 0
        self.keyed = set()
        self.token_classes = {}
        self.stacked = False

    cdef int scan(self, Expression expr, dict refs) except -1:
        """Note in ``refs`` the rules that an expression refers to. Cost: linear in those around them."""
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
            name = self.callee(item_of(expr))
            refs[name] = expr.kind != KEYED or refs.get(name, False)
        return 0

    cdef object callee(self, Expression item):
        """Return the name of the rule that stands for the item of a capture, scope or object."""
        if item.kind == REFERENCE:
            return (<RuleRef>item).name
        name = id(item)
        if name not in self.bodies:
            self.bodies[name] = item
            self.added.append(name)
        return name

    cdef set recall(self):
        """Take over what is known of rules with these very bodies, and return their names.

        A rule is known where the rules that it refers to are, with the numbers that they had. Cost: linear in
        the references of what is remembered.
        """
        cdef dict known = self.tables.bodies, found = {}, users = {}
        cdef list todo = list(self.bodies), wrong = []
        cdef tuple entry, refs
        cdef Py_ssize_t i
        for name in todo:
            hit = known.get(<Py_ssize_t><void*>self.bodies[name])
            if hit is None:
                continue
            found[name] = hit
            refs = <tuple>(<tuple>hit)[5]
            for i in range(0, len(refs), 2):
                if isinstance(refs[i], Expression):  # what a call needs a rule for
                    self.callee(<Expression>refs[i])
            if self.added:
                todo.extend(self.added)
                self.added.clear()
        for name, hit in found.items():
            refs = <tuple>(<tuple>hit)[5]
            for i in range(0, len(refs), 2):
                other = refs[i]
                if isinstance(other, Expression):
                    other = <Py_ssize_t><void*>other
                users.setdefault(other, []).append(name)
                hit = found.get(other)
                if hit is None or (<tuple>hit)[1] != refs[i + 1]:
                    wrong.append(name)
        while wrong:
            name = wrong.pop()
            if found.pop(name, None) is not None:
                wrong.extend(users.get(name, ()))
        for name, hit in found.items():
            entry = <tuple>hit
            self.numbers[name] = entry[1]
            if entry[2] is not None:
                self.nullable[name] = entry[2]
            self.heights[name] = entry[3]
            if entry[4]:
                self.keyed.add(name)
            self.stacked |= entry[6]
        return set(found)

    cdef int remember(self, list component) except -1:
        """Remember the rules of a component under their bodies, with the numbers of what they refer to."""
        cdef dict known = self.tables.bodies
        cdef list refs
        cdef Expression body
        if self.token_classes:  # special tokens are noted per grammar
            return 0
        if len(known) > MAX_BODIES:
            known.clear()
        for name in component:
            refs = []
            for other in self.refs[name]:
                refs.append(self.bodies[other] if type(other) is int else other)
                refs.append(self.numbers[other])
            body = self.bodies[name]
            known[<Py_ssize_t><void*>body] = (
                body,
                self.numbers[name],
                self.nullable.get(name),
                self.heights[name],
                name in self.keyed,
                tuple(refs),
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


cdef int64_t next_number() noexcept:
    """Return a number that no lowering and no scan had before."""
    global runs
    runs += 1
    return runs
