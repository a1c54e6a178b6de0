# distutils: language = c++
"""Which terms have only strings of well-formed UTF-8, as far as their structure shows it."""

from libc.stdint cimport int32_t, uint8_t, uint64_t

from stackmask.pda.ids cimport SetId, TermId
from stackmask.pda.terms.term_table cimport K_ALT, K_AND, K_EPS, K_LIT, K_REP, K_SEQ, K_SET, Term, TermTable
from stackmask.pda.memory.hash_tables cimport NO_VALUE, KeyMap, map_free, map_get, map_init, map_put
from stackmask.pda.text.utf8 cimport NOT_UTF8, UTF8_BETWEEN, UTF8_STATES, utf8_step

cdef enum:
    MAX_NESTED = 100        # levels of a term that are visited
    NOT_SEEN = -1           # nothing is known, or the bytes are not well-formed


cdef int after_set(TermTable terms, SetId set_id, int states) noexcept nogil:
    """Return the states after any byte of a set, as bits, or NOT_SEEN."""
    cdef int byte, state, next, out = 0
    cdef uint64_t word
    for byte in range(256):
        word = terms.classes.sets[4 * set_id + (byte >> 6)]
        if not (word >> (byte & 63)) & 1:
            continue
        for state in range(UTF8_STATES):
            if (states >> state) & 1:
                next = utf8_step(state, <uint8_t>byte)
                if next == NOT_UTF8:
                    return NOT_SEEN
                out |= 1 << next
    return out


cdef int after(TermTable terms, TermId t, int states, KeyMap* known, int depth) except -2 nogil:
    """Return states among which are all those after the strings of a term, as bits, or NOT_SEEN."""
    cdef Term u = terms.terms[t]
    cdef uint64_t key = (<uint64_t>t << 8) | <uint64_t>states
    cdef int32_t k
    cdef int out = states, more, state, next
    if u.kind == K_EPS:
        return states
    if u.kind == K_LIT:
        for k in range(u.literal.length):
            more = 0
            for state in range(UTF8_STATES):
                if (out >> state) & 1:
                    next = utf8_step(state, terms.pool[u.literal.first + k])
                    if next == NOT_UTF8:
                        return NOT_SEEN
                    more |= 1 << next
            out = more
        return out
    if depth > MAX_NESTED:
        return NOT_SEEN
    out = map_get(known, key)
    if out != NO_VALUE:
        return out
    out = NOT_SEEN
    if u.kind == K_SET:
        out = after_set(terms, u.set_id, states)
    elif u.kind == K_SEQ:
        out = states
        while out != NOT_SEEN and terms.terms[t].kind == K_SEQ:
            out = after(terms, terms.terms[t].seq.first, out, known, depth + 1)
            t = terms.terms[t].seq.rest
        if out != NOT_SEEN:
            out = after(terms, t, out, known, depth + 1)
    elif u.kind == K_ALT:
        out = 0
        for k in range(u.operands.count):
            more = after(terms, terms.kids[u.operands.first + k], states, known, depth + 1)
            if more == NOT_SEEN:
                out = NOT_SEEN
                break
            out |= more
    elif u.kind == K_AND:  # one operand is enough
        for k in range(u.operands.count):
            more = after(terms, terms.kids[u.operands.first + k], states, known, depth + 1)
            if more != NOT_SEEN:
                out = more if out == NOT_SEEN else out & more
    elif u.kind == K_REP:
        out = states
        while True:  # at most one round for each state
            more = after(terms, u.rep.item, out, known, depth + 1)
            if more == NOT_SEEN:
                out = NOT_SEEN
                break
            if out | more == out:
                break
            out |= more
    map_put(known, key, out)
    return out


cdef bint is_wellformed(TermTable terms, TermId t) except -1 nogil:
    """Tell whether the structure of a term shows that it holds well-formed UTF-8 only. Cost: its operands."""
    cdef KeyMap known
    map_init(&known)
    try:
        return after(terms, t, 1 << UTF8_BETWEEN, &known, 0) == 1 << UTF8_BETWEEN
    finally:
        map_free(&known)
