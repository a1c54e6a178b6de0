# distutils: language = c++
"""Terms as text, for goldens and debugging."""

from stackmask.pda.terms.term_table cimport (
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
    Term,
)


cdef str dump_term(TermTable table, TermId t):
    """Return a term as text. Calls are named by number."""
    cdef Term u = table.terms[t]
    kids = [dump_term(table, table.kids[u.a + k]) for k in range(u.b)] if u.kind in (K_ALT, K_AND) else []
    if u.kind == K_EMPTY:
        return "∅"
    if u.kind == K_EPS:
        return "ε"
    if u.kind == K_GUARD:
        return f"≫{dump_set(table, table.guard_sets[u.a])}"
    if u.kind == K_SET:
        return dump_set(table, u.a)
    if u.kind == K_LIT:
        return repr(bytes([table.pool[u.a + i] for i in range(u.b)]))[1:]
    if u.kind == K_SEQ:
        return f"{dump_term(table, u.a)} {dump_term(table, u.b)}"
    if u.kind == K_ALT:
        return "(" + " | ".join(kids) + ")"
    if u.kind == K_AND:
        return "(" + " & ".join(kids) + ")"
    if u.kind == K_NOT:
        return f"¬({dump_term(table, u.a)})"
    if u.kind == K_REP:
        return f"({dump_term(table, u.a)}){{{u.b},{'' if u.c < 0 else u.c}}}"
    if u.kind == K_TOKEN:
        return f"token{u.a}"
    return f"call{u.a}{'⁺' if u.c else ''}"


cdef str dump_set(TermTable table, SetId set_id):
    """Return a byte set as text."""
    members = [b for b in range(256) if (table.sets[4 * set_id + (b >> 6)] >> (b & 63)) & 1]
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
