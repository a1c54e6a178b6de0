# distutils: language = c++
"""Terms as text, for goldens and debugging.

    ε  ∅  b'text'  [61-7a]  a b  (a | b)  (a & b)  ¬(a)  (a){2,}    as in regular expressions, over bytes
    ≫[61]           the next byte must be in the set, or the input ends
    token0          a special token of a class
    rule1           a call; rule1⁺ without the empty string
    resolver0       a call of a dynamic rule
    close, slot2    a test of an object key
    action0(rule1), scope(rule1), keys0(rule1)      calls with what happens at their return
"""

from stackmask.pda.ids cimport ACTION_COUNTED, ACTION_KEYED, ACTION_NONE, ACTION_SCOPE, UNBOUNDED, Nullability
from stackmask.pda.terms.term_table cimport (
    CALL_RESOLVER,
    CALL_TEST,
    K_ALT,
    K_AND,
    K_EMPTY,
    K_EPS,
    K_GUARD,
    K_LIT,
    K_NOT,
    K_REP,
    K_SEQ,
    K_SET,
    K_TOKEN,
    Call,
    Term,
)

# tests of object keys, by number; then the slots
TESTS = ("close", "continue", "undeclared")


cdef str dump_term(TermTable table, TermId t):
    """Return a term as text. Each term in it is spelled once; no recursion, as terms may be deep."""
    cdef dict known = {}
    cdef list todo = [t], operands, missing
    while todo:
        u = todo[len(todo) - 1]
        operands = operands_of(table, u)
        missing = [] if u in known else [operand for operand in operands if operand not in known]
        if missing:
            todo.extend(missing)
            continue
        todo.pop()
        if u not in known:
            known[u] = spell(table, u, [known[operand] for operand in operands])
    return known[t]


cpdef str dump_rules(TermTable table, object rules):
    """Return rules as text, one a line: where they may be empty, their height, and their body."""
    cdef list lines = []
    cdef int32_t rule
    cdef Nullability nu
    for rule in rules:
        nu = table.rule_nu[rule]
        empty = ""
        if nu.always():
            empty = ", may be empty"
        elif nu.possible():
            empty = f", may be empty before {dump_set(table, table.classes.guard_sets[nu.guard()])}"
        body = dump_term(table, table.rule_body[rule])
        lines.append(f"rule{rule} (height {table.rule_height[rule]}{empty}) = {body}\n")
    return "".join(lines)


cdef list operands_of(TermTable table, TermId t):
    """Return the terms that a term is made of; of a sequence, all its items."""
    cdef Term u = table.terms[t]
    cdef list items = []
    if u.kind == K_ALT or u.kind == K_AND:
        return [table.kids[u.operands.first + k] for k in range(u.operands.count)]
    if u.kind == K_REP:
        return [u.rep.item]
    if u.kind == K_NOT:
        return [u.negated]
    while u.kind == K_SEQ:
        items.append(u.seq.first)
        t = u.seq.rest
        u = table.terms[t]
    if items:
        items.append(t)
    return items


cdef str spell(TermTable table, TermId t, list operands):
    """Return a term as text, given that of its operands."""
    cdef Term u = table.terms[t]
    if u.kind == K_EMPTY:
        return "∅"
    if u.kind == K_EPS:
        return "ε"
    if u.kind == K_GUARD:
        return f"≫{dump_set(table, table.classes.guard_sets[u.guard])}"
    if u.kind == K_SET:
        return dump_set(table, u.set_id)
    if u.kind == K_LIT:
        return repr(bytes([table.pool[u.literal.first + i] for i in range(u.literal.length)]))
    if u.kind == K_SEQ:
        return " ".join(operands)
    if u.kind == K_ALT:
        return "(" + " | ".join(operands) + ")"
    if u.kind == K_AND:
        return "(" + " & ".join(operands) + ")"
    if u.kind == K_NOT:
        return f"¬({operands[0]})"
    if u.kind == K_REP:
        return f"({operands[0]}){{{u.rep.low},{'' if u.rep.high == UNBOUNDED else u.rep.high}}}"
    if u.kind == K_TOKEN:
        return f"token{u.token_class}"
    return dump_call(table.call_table[u.call.id]) + ("⁺" if u.call.nonempty else "")


cdef str dump_call(Call call):
    """Return an entry of the call table as text."""
    if call.kind == CALL_TEST:
        return TESTS[call.test] if call.test < len(TESTS) else f"slot{call.test - len(TESTS)}"
    called = f"resolver{call.resolver}" if call.kind == CALL_RESOLVER else f"rule{call.rule}"
    if call.action == ACTION_NONE:
        return called
    if call.action == ACTION_SCOPE:
        return f"scope({called})"
    if call.action == ACTION_KEYED:
        return f"keys{call.spec}({called})"
    if call.action == ACTION_COUNTED:
        return f"tokens{call.most_tokens}({called})"
    return f"action{call.action.action()}({called})"


cdef str dump_set(TermTable table, SetId set_id):
    """Return a byte set as text."""
    members = [b for b in range(256) if table.classes.set_has(set_id, b)]
    runs = []
    start = previous = None
    for b in [*members, None]:
        if start is not None and b != previous + 1:
            runs.append((start, previous))
            start = None
        if start is None:
            start = b
        previous = b
    return "[" + " ".join(f"{a:02x}" if a == b else f"{a:02x}-{b:02x}" for a, b in runs) + "]"
