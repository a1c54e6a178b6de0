# distutils: language = c++
"""Constructors that keep expressions small: no nested sequences, no ε in them, no ∅ among alternatives."""

from stackmask.grammar.ir.expressions cimport (
    BYTES,
    CAPTURE,
    CHARS,
    CHOICE,
    COMPLEMENT,
    DYNAMIC,
    FOLLOW,
    HAS_RESTRICTIONS,
    HAS_TESTS,
    INTERSECTION,
    KEEPS_STATE,
    KEY_TEST,
    REFERENCE,
    REPEAT,
    SCOPE,
    SEQUENCE,
    SLOT,
    TOKEN,
    ByteClass,
    Capture,
    CharClass,
    Choice,
    Complement,
    Expression,
    Intersection,
    Keyed,
    Literal,
    Repeat,
    Rule,
    RuleRef,
    Scope,
    Sequence,
    TokenTerminal,
    item_of,
    items_of,
)
from stackmask.grammar.ir.failures cimport FAILED


# ------------------------------------------------------------------------------------------------
# Strongly connected components of a graph of names.
# ------------------------------------------------------------------------------------------------


def components(graph):
    """Return the strongly connected components, dependencies first.

    Source: R. E. Tarjan, Depth-first search and linear graph algorithms, 1972; with an explicit stack.
    """
    # a name's number is its place in the order of discovery; `low` leads to the first name of its component,
    # and is -1 once that is complete
    cdef dict number = {}
    cdef list low = [], open_names = [], path = [], result = [], component
    cdef object root, name, target, targets, at
    cdef Py_ssize_t here, there, depth
    cdef bint deeper
    for root in graph:
        if root in number:
            continue
        number[root] = len(low)
        low.append(len(low))
        open_names.append(root)
        path.append((root, iter(graph[root])))
        while path:
            depth = len(path) - 1
            name, targets = <tuple>path[depth]
            here = number[name]
            deeper = False
            for target in targets:
                at = number.get(target)
                if at is None:
                    number[target] = len(low)
                    low.append(len(low))
                    open_names.append(target)
                    path.append((target, iter(graph[target])))
                    deeper = True
                    break
                there = at
                if low[there] >= 0 and there < <Py_ssize_t>low[here]:
                    low[here] = there
            if deeper:
                continue
            path.pop()
            if path:
                there = number[(<tuple>path[depth - 1])[0]]
                if <Py_ssize_t>low[here] < <Py_ssize_t>low[there]:
                    low[there] = low[here]
            if <Py_ssize_t>low[here] == here:
                component = []
                while True:
                    target = open_names.pop()
                    low[number[target]] = -1
                    component.append(target)
                    if target == name:
                        break
                component.reverse()
                result.append(component)
    return result


cdef extern from "Python.h":
    int Py_EnterRecursiveCall(const char* where) except -1
    void Py_LeaveRecursiveCall()

from stackmask.grammar.ir import EPSILON, NOTHING, RuleSet, children

MAX_COUNT = 1_000_000_000  # what the front ends allow in a repetition


def is_nothing(expr):
    """Return whether the expression is syntactically the empty language, except for operands of ``&``."""
    return means_nothing(expr)


cdef bint means_nothing(object expr) except FAILED:
    if not isinstance(expr, Expression):
        return False
    cdef unsigned char kind = (<Expression>expr).kind
    if kind == CHOICE:
        return not (<Choice>expr).items
    if kind == BYTES:
        return (<ByteClass>expr).mask == 0
    if kind == CHARS:
        return not (<CharClass>expr).ranges
    if kind == TOKEN:
        return not (
            (<TokenTerminal>expr).token_names
            or (<TokenTerminal>expr).id_ranges
            or (<TokenTerminal>expr).negated
        )
    return False


cdef inline bint is_epsilon(object expr):
    return type(expr) is Literal and not (<Literal>expr).data


def sequence(items, span=None):
    """Return the concatenation of the items."""
    return sequence_of(tuple(items), span)


cdef object sequence_of(tuple items, object span):
    cdef list flat = []
    cdef object item
    for item in items:
        if means_nothing(item):
            return NOTHING
        if type(item) is Sequence:
            flat.extend((<Sequence>item).items)
        elif not is_epsilon(item):
            flat.append(item)
    if not flat:
        return EPSILON
    return flat[0] if len(flat) == 1 else new_sequence(tuple(flat), span)


cdef Sequence new_sequence(tuple items, object span):
    """Return ``Sequence(items, span)``."""
    cdef Sequence made = Sequence.__new__(Sequence)
    made.kind = SEQUENCE
    made.items = items
    made.span = span
    made.take_all(items)
    return made


def choice(items, span=None):
    """Return the union of the items, without duplicates."""
    return choice_of(tuple(items), span)


cdef object choice_of(tuple items, object span):
    cdef dict flat = {}
    cdef object item, inner
    for item in items:
        if type(item) is Choice:
            for inner in (<Choice>item).items:
                flat[inner] = None
        elif not means_nothing(item):
            flat[item] = None
    if len(flat) == 1:
        return next(iter(flat))
    return Choice(tuple(flat), span)


def repeat(item, low, high, span=None):
    """Return low to high repetitions of the item; nested ones are merged if the counts leave no gaps."""
    if high == 0 or is_epsilon(item) or (means_nothing(item) and low == 0):
        return EPSILON
    if means_nothing(item):
        return NOTHING
    if low == high == 1:
        return item
    if type(item) is Repeat:
        # rounds j = low..high give counts [j·m, j·n]; these meet if those of the first two do
        m, n = item.min, item.max
        first = max(low, 1)
        meets = n is None or low == high or (first + 1) * m <= first * n + 1  # mutant: repeat-gap
        most = None if n is None or high is None else n * high
        if meets and (low > 0 or m <= 1) and max(m * low, most or 0) <= MAX_COUNT:
            return Repeat(item.item, m * low, most, span)
    return Repeat(item, low, high, span)


def rebuild(expr, tuple items not None):
    """Return the expression with other subexpressions; the same object if they are unchanged."""
    if len(items) != len(children(expr)):
        raise ValueError("as many subexpressions as there were")
    return rebuilt(expr, list(items)) if items else expr


cdef object rebuilt(Expression expr, list items):
    """Return an expression with its subexpressions replaced."""
    cdef Py_ssize_t i
    cdef tuple old
    cdef object item
    if expr.kind == SEQUENCE or expr.kind == CHOICE or expr.kind == INTERSECTION:
        old = items_of(expr)
        for i in range(len(old)):
            if old[i] is not items[i]:
                break
        else:
            return expr
        if expr.kind == SEQUENCE:
            return sequence_of(tuple(items), expr.span)
        if expr.kind == CHOICE:
            return choice_of(tuple(items), expr.span)
        return Intersection(tuple(items), expr.span)
    item = items[0]
    if item is item_of(expr):
        return expr
    if expr.kind == REPEAT:
        return repeat(item, (<Repeat>expr).min, (<Repeat>expr).max, expr.span)
    if expr.kind == COMPLEMENT:
        return Complement(item, expr.span)
    if means_nothing(item):
        return NOTHING
    if expr.kind == CAPTURE:
        return Capture(item, (<Capture>expr).action, expr.span)
    if expr.kind == SCOPE:
        return Scope(item, expr.span)
    return Keyed(item, (<Keyed>expr).spec, expr.span)


def rewrite(expr, leaf, bint everywhere=False):
    """Return the expression with ``leaf`` applied to every expression without subexpressions; in parts that are
    pure only ``everywhere``.

    An object that occurs several times is rewritten once, and stays one object.
    Cost: linear; recursion as deep as the expression, which ``check_wellformed`` limits.
    """
    return rewritten(expr, leaf, everywhere, {})


cdef object rewritten(object expr, object leaf, bint everywhere, dict known):
    if not everywhere and isinstance(expr, Expression) and not (<Expression>expr).flags:
        return expr
    cdef object key = <Py_ssize_t><void*>expr, items = children(expr), found, item
    cdef list inner
    if not items:
        return leaf(expr)
    found = known.get(key)
    if found is None:
        inner = []
        Py_EnterRecursiveCall(" in an expression")
        try:
            for item in items:
                inner.append(rewritten(item, leaf, everywhere, known))
        finally:
            Py_LeaveRecursiveCall()
        found = known[key] = rebuilt(expr, inner)
    return found


def referred(body):
    """Return the names of the rules to which an expression refers, in order. Cost: linear, no recursion."""
    cdef list found = [], todo = [body]
    cdef set seen = set()
    cdef object expr, key
    cdef tuple items
    cdef Py_ssize_t i
    cdef unsigned char kind
    while todo:
        expr = todo.pop()
        if not isinstance(expr, Expression) or not (<Expression>expr).flags:
            continue
        kind = (<Expression>expr).kind
        if kind == REFERENCE:
            found.append((<RuleRef>expr).name)
            continue
        if kind == FOLLOW or kind == SLOT or kind == KEY_TEST or kind == TOKEN or kind == DYNAMIC:
            continue
        key = <Py_ssize_t><void*>expr
        if key in seen:
            continue
        seen.add(key)
        if kind == SEQUENCE or kind == CHOICE or kind == INTERSECTION:
            items = items_of(expr)
            for i in range(len(items) - 1, -1, -1):
                if not isinstance(items[i], Expression) or (<Expression>items[i]).flags:
                    todo.append(items[i])
        else:
            todo.append(item_of(expr))
    return found


def survey(body):
    """Return facts about the contents of an expression: see ``normalize.graph.Facts``.

    Cost: linear, no recursion.
    """
    cdef list references = [], stack = [body]
    cdef set seen = set(), kinds = set()
    cdef dict names = {}
    cdef Py_ssize_t size = 0, written = 1, text = 0, placed = 0, ranges = 0, held, depth = 0, i
    cdef bint counts = True
    cdef object expr, key, item
    cdef tuple items
    while stack:
        expr = stack.pop()
        key = <Py_ssize_t><void*>expr
        if key in seen:
            continue
        seen.add(key)
        size += 1
        kinds.add(type(expr))
        if type(expr) is RuleRef:
            references.append(expr)
            names[(<RuleRef>expr).name] = None
        elif type(expr) is Literal:
            text += len((<Literal>expr).data)
        elif type(expr) is CharClass:
            ranges += len((<CharClass>expr).ranges)
        else:
            if type(expr) is Repeat and ((<Repeat>expr).min < 0 or (
                (<Repeat>expr).max is not None and (<Repeat>expr).max < (<Repeat>expr).min
            )):
                counts = False
            items = children(expr)
            written += len(items)
            for i in range(len(items) - 1, -1, -1):
                item = items[i]
                stack.append(item)
                if type(item) is Literal:
                    placed += len((<Literal>item).data)
    if isinstance(body, Expression):
        depth = (<Expression>body).depth
    held = size + ranges + text // 128
    if text and written > size:  # some literal may stand at several places
        text = placed
    return tuple(references), tuple(names), frozenset(kinds), size, written, text, depth, counts, held


def derives(expr, productive):
    """Return whether an expression derives a string, given productive rules. Cost: linear; recursion as ``rewrite``."""
    return is_derived(expr, productive, {})


cdef bint is_derived(object expr, object productive, dict known) except FAILED:
    cdef object key = <Py_ssize_t><void*>expr, item, found
    cdef unsigned char kind = (<Expression?>expr).kind
    cdef bint all_of, answer
    if kind == REFERENCE:
        return productive[(<RuleRef>expr).name]
    if kind == COMPLEMENT or kind == REPEAT and (<Repeat>expr).min == 0:
        return True
    cdef tuple items = children(expr)
    if not items:
        return not means_nothing(expr)
    found = known.get(key)
    if found is not None:
        return found
    all_of = kind != CHOICE
    answer = all_of
    Py_EnterRecursiveCall(" in an expression")
    try:
        for item in items:
            if is_derived(item, productive, known) != all_of:
                answer = not all_of
                break
    finally:
        Py_LeaveRecursiveCall()
    known[key] = answer
    return answer


def without_nothing(expr):
    """Return an expression without syntactically empty alternatives, except for operands of operators.

    Cost: linear; recursion as ``rewrite``.
    """
    return dropped(expr, {})


cdef object dropped(object expr, dict known):
    cdef object key = <Py_ssize_t><void*>expr, item, found
    cdef unsigned char kind = (<Expression?>expr).kind
    cdef list inner
    if kind == REPEAT and (<Repeat>expr).max == 0:
        return EPSILON
    if kind == COMPLEMENT or kind == INTERSECTION:
        return expr
    if means_nothing(expr):
        return NOTHING
    cdef tuple items = children(expr)
    if not items:
        return expr
    found = known.get(key)
    if found is not None:
        return found
    inner = []
    Py_EnterRecursiveCall(" in an expression")
    try:
        for item in items:
            inner.append(dropped(item, known))
    finally:
        Py_LeaveRecursiveCall()
    if kind == REPEAT:  # made anew, so that what is around it is put together anew
        found = repeat(inner[0], (<Repeat>expr).min, (<Repeat>expr).max, (<Repeat>expr).span)
    else:
        found = rebuilt(expr, inner)
    known[key] = found
    return found


def effects_of(rules):
    """Return three flags: whether some rule restricts the following text, tests the semantic state or keys,
    or may change the state.
    """
    cdef int flags = 0
    for rule in rules.values():
        flags |= (<Expression?>(<Rule?>rule).body).flags
    return flags & HAS_RESTRICTIONS != 0, flags & HAS_TESTS != 0, flags & KEEPS_STATE != 0


def with_bodies(ruleset, bodies):
    """Return the RuleSet with exactly these rules and bodies."""
    cdef dict rules = {}
    cdef object name, body, old
    for name, body in bodies.items():
        old = ruleset.rules.get(name)
        rules[name] = Rule(name, body, (<Rule>old).span) if old is not None else Rule(name, body)
    return RuleSet(rules, ruleset.start, ruleset.initial, ruleset.sources)
