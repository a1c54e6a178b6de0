# distutils: language = c++
"""Which terms hold nothing but well-formed UTF-8, as far as their structure shows it."""

from libc.stdint cimport int32_t, uint64_t

from stackmask.pda.terms.term_table cimport K_ALT, K_AND, K_EPS, K_LIT, K_REP, K_SEQ, K_SET, Term, TermTable
from stackmask.pda.memory.hash_tables cimport NO_VALUE, KeyMap, map_free, map_get, map_init, map_put

cdef enum:
    MAX_NESTED = 100        # levels of a term that are looked at
    NOT_SEEN = -1

# The states of the automaton of texts: 0 between characters, 1 to 3 before that many bytes of one, 4 to 7
# behind a first byte after which not all bytes may come: E0, ED, F0, F4. Source: RFC 3629, section 4.


cdef inline int after_byte(int state, int byte) noexcept:
    """Return the state behind one more byte, or NOT_SEEN where it makes no text."""
    if state == 0:
        if byte < 0x80:
            return 0
        if 0xC2 <= byte < 0xE0:
            return 1
        if byte == 0xE0:
            return 4
        if byte == 0xED:
            return 5
        if 0xE0 < byte < 0xF0:
            return 2
        if byte == 0xF0:
            return 6
        if 0xF0 < byte < 0xF4:
            return 3
        return 7 if byte == 0xF4 else NOT_SEEN
    if not 0x80 <= byte < 0xC0:
        return NOT_SEEN
    if state <= 3:
        return state - 1
    if state == 4:
        return 1 if byte >= 0xA0 else NOT_SEEN
    if state == 5:
        return 1 if byte < 0xA0 else NOT_SEEN
    if state == 6:
        return 2 if byte >= 0x90 else NOT_SEEN
    return 2 if byte < 0x90 else NOT_SEEN


cdef int after_set(TermTable terms, int32_t set_id, int states) noexcept:
    """Return the states behind any byte of a set, as bits, or NOT_SEEN."""
    cdef int byte, state, next, out = 0
    cdef uint64_t word
    for byte in range(256):
        word = terms.sets[4 * set_id + (byte >> 6)]
        if not (word >> (byte & 63)) & 1:
            continue
        for state in range(8):
            if (states >> state) & 1:
                next = after_byte(state, byte)
                if next == NOT_SEEN:
                    return NOT_SEEN
                out |= 1 << next
    return out


cdef int after(TermTable terms, int32_t t, int states, KeyMap* known, int depth) except -2:
    """Return states that hold all those behind the texts of a term, as bits, or NOT_SEEN."""
    cdef Term u = terms.terms[t]
    cdef uint64_t key = (<uint64_t>t << 8) | <uint64_t>states
    cdef int32_t k
    cdef int out = states, more, next
    if u.kind == K_EPS:
        return states
    if u.kind == K_LIT:
        for k in range(u.b):
            more = 0
            for next in range(8):
                if (out >> next) & 1:
                    next = after_byte(next, terms.pool[u.a + k])
                    if next == NOT_SEEN:
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
        out = after_set(terms, u.a, states)
    elif u.kind == K_SEQ:
        out = states
        while out != NOT_SEEN and terms.terms[t].kind == K_SEQ:
            out = after(terms, terms.terms[t].a, out, known, depth + 1)
            t = terms.terms[t].b
        if out != NOT_SEEN:
            out = after(terms, t, out, known, depth + 1)
    elif u.kind == K_ALT:
        out = 0
        for k in range(u.b):
            more = after(terms, terms.kids[u.a + k], states, known, depth + 1)
            if more == NOT_SEEN:
                out = NOT_SEEN
                break
            out |= more
    elif u.kind == K_AND:  # what one part shows holds of all
        for k in range(u.b):
            more = after(terms, terms.kids[u.a + k], states, known, depth + 1)
            if more != NOT_SEEN:
                out = more if out == NOT_SEEN else out & more
    elif u.kind == K_REP:
        out = states
        while True:  # at most eight rounds
            more = after(terms, u.a, out, known, depth + 1)
            if more == NOT_SEEN:
                out = NOT_SEEN
                break
            if out | more == out:
                break
            out |= more
    map_put(known, key, out)
    return out


cdef bint is_wellformed(TermTable terms, int32_t t) except -1:
    """Tell whether the structure of a term shows that it holds whole texts only. Cost: its parts."""
    cdef KeyMap known
    map_init(&known)
    try:
        return after(terms, t, 1, &known, 0) == 1
    finally:
        map_free(&known)
