# What a walk does at every node. The functions are inline, since the loop of the walk is hot.
from libc.stdint cimport int32_t, uint8_t, uint32_t

from stackmask.pda.ids cimport ConfigId, TokenId
from stackmask.pda.vocabulary.subtree_summary cimport SubtreeSummary
from stackmask.pda.stack.configuration_table cimport DEAD, UNKNOWN, Config, has_row
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.vocabulary.suffix_tries cimport Nodes
from stackmask.pda.masks.walk.subtree_acceptance cimport (
    ALL_ALLOWED,
    DESCEND,
    SAME_STATE,
    Characters,
    SelfLoop,
)


cdef inline bint is_within(const SubtreeSummary* summary, const Characters& all) noexcept nogil:
    # Tell whether all characters in a subtree belong to a class.
    return (
        not summary.ascii[0] & ~all.ascii[0]
        and not summary.ascii[1] & ~all.ascii[1]
        and not summary.leads & ~all.leads
    )


cdef inline int classify_loop(const SubtreeSummary* summary, const SelfLoop& loop_of) noexcept nogil:
    # ``SubtreeAcceptance.classify`` where the loop has no bound on the number of characters.
    if summary.height <= loop_of.high and is_within(summary, loop_of.accepted):
        return ALL_ALLOWED
    if is_within(summary, loop_of.all):
        return SAME_STATE
    if summary.height <= loop_of.kept_length and is_within(summary, loop_of.kept):
        return SAME_STATE
    return DESCEND


cdef inline bint is_unconditional(const Config* c) noexcept nogil:
    # Tell whether tokens that end in a configuration are allowed with any stack, and nothing else happens in
    # it: no return, no member that the semantic state decides, no capture.
    return (
        c.ends & 1
        and c.count
        and c.sure == c.count
        and not c.reads
        and not c.pop_count
        and not c.capturing
    )


cdef inline int32_t next_alive(
    ConfigSpace space, ConfigId config, const Nodes& n, int32_t k, int32_t stop, ConfigId* next
) noexcept nogil:
    # Return the first child from k on that may be alive, or stop. ``next`` gets its configuration, or UNKNOWN
    # if a step must find it. Most children fail, at two loads each.
    cdef const Config* c = &space.configs[config]
    cdef const ConfigId* row
    cdef const uint8_t* of
    next[0] = UNKNOWN
    if has_row(c[0]):
        row = space.rows.data() + c.row
        of = space.terms.classes.maps[c.map].of
        while k < stop:
            next[0] = row[of[n.kid_byte[k]]]
            if next[0] != DEAD:
                break
            k += 1
    return k


cdef inline void allow(uint32_t* bits, const TokenId* tokens, int32_t t, int32_t stop) noexcept nogil:
    # Set the bits of tokens[t:stop].
    cdef uint32_t n
    while t < stop:
        n = <uint32_t>tokens[t]
        bits[n >> 5] |= <uint32_t>1 << (n & 31)
        t += 1
