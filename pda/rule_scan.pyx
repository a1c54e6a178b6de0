"""What the rules of one grammar refer to, and what is remembered of rules that were lowered before.

A rule is remembered under its body, as front ends share such objects between grammars, with the bodies of all
rules that it reaches: it is the same again only where all of these are.
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
    MAX_REACH = 64              # rules that a remembered rule may reach

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

    cdef bint recall(self, object name) except -1:
        """Take over what is known of a rule with this very body and all that it reaches."""
        cdef tuple flat
        cdef Py_ssize_t i
        found = self.tables.bodies.get(id(self.bodies[name]))
        if found is None:
            return False
        _, number, nullable, height, keyed, reach, stacked = found
        flat = <tuple>reach
        for i in range(0, len(flat), 2):
            if self.bodies.get(flat[i]) is not flat[i + 1]:
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
        cdef dict known_bodies = self.tables.bodies
        cdef dict reach = {}
        cdef list flat = []
        cdef tuple theirs
        cdef Py_ssize_t i
        cdef set inside = set(component)
        if self.token_classes:  # special tokens are noted per grammar
            return 0
        for name in component:
            if type(name) is not int:
                reach[name] = self.bodies[name]
        for name in component:
            for other in self.refs[name]:
                if other in inside:
                    continue
                known = known_bodies.get(id(self.bodies[other]))
                if known is None:
                    return 0
                if type(other) is not int:
                    reach[other] = self.bodies[other]
                theirs = (<tuple>known)[5]
                for i in range(0, len(theirs), 2):
                    reach[theirs[i]] = theirs[i + 1]
                if len(reach) > MAX_REACH:
                    return 0
        if len(reach) > MAX_REACH:
            return 0
        if len(known_bodies) > MAX_BODIES:
            known_bodies.clear()
        for name, body in reach.items():  # names and bodies by turns: pairs would be objects of their own
            flat.append(name)
            flat.append(body)
        theirs = tuple(flat)
        for name in component:
            known_bodies[id(self.bodies[name])] = (
                self.bodies[name],
                self.numbers[name],
                self.nullable.get(name),
                self.heights[name],
                name in self.keyed,
                theirs,
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
