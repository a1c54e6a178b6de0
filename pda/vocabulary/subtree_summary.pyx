# distutils: language = c++
"""Which characters occur in the subtrees of a trie.

Where all characters of a subtree belong to one class, its tokens need not be visited one by one: see
``masks.runs.run_tables`` and ``masks.walk.subtree_acceptance``.
"""

from libc.stdint cimport int8_t

from stackmask.pda.ids cimport NO_SUMMARY
from stackmask.pda.text.utf8 cimport utf8_step

cdef enum:
    WORTH_A_LOOK = 4        # nodes; smaller subtrees get no summary
    MANY_CHARACTERS = 0xFFFF


cdef int summarize_subtrees(
    int32_t nodes,
    const NodeId* parent,
    const NodeId* end,
    const int32_t* token_first,
    const uint8_t* byte,
    vector[SummaryId]& summary_of,
    vector[SubtreeSummary]& summaries,
    vector[uint16_t]& characters,
) except -1 nogil:
    """Summarize the subtrees of a trie. Cost: a few nanoseconds a node.

    ``summary_of``: node -> index in ``summaries``, or NO_SUMMARY. ``characters``: of each token, in the order
    of the trie; an incomplete one counts.
    """
    cdef vector[SubtreeSummary] found
    cdef vector[int8_t] state
    cdef vector[int8_t] broken      # by node: some path in the subtree is not UTF-8
    cdef SubtreeSummary nothing
    cdef NodeId i, above
    cdef int32_t t, needed
    cdef SubtreeSummary* at
    nothing.ascii[0] = nothing.ascii[1] = nothing.leads = 0
    nothing.characters = nothing.height = nothing.nested = 0
    found.resize(nodes, nothing)
    state.resize(nodes, 0)
    broken.resize(nodes, 0)
    characters.resize(token_first[nodes])
    summary_of.resize(nodes, NO_SUMMARY)
    for i in range(1, nodes):
        above = parent[i]
        state[i] = -1
        if state[above] >= 0:
            state[i] = <int8_t>utf8_step(state[above], byte[i])
        found[i].characters = found[above].characters + (state[i] == 0)
        needed = found[i].characters + (state[i] > 0)
        found[i].height = needed
        for t in range(token_first[i], token_first[i + 1]):
            characters[t] = <uint16_t>min(needed, MANY_CHARACTERS)
    for i in range(nodes - 1, 0, -1):
        at = &found[parent[i]]
        at.ascii[0] |= found[i].ascii[0]
        at.ascii[1] |= found[i].ascii[1]
        at.leads |= found[i].leads
        at.height = max(at.height, found[i].height)
        at.nested += found[i].nested
        if state[i] == 0 and end[i] > i + 1:
            at.nested += end[i] - i
        if broken[i] or state[i] < 0:
            broken[parent[i]] = True
        if byte[i] < 0x80:
            at.ascii[byte[i] >> 6] |= <uint64_t>1 << (byte[i] & 63)
        elif byte[i] >= 0xC0:
            at.leads |= <uint64_t>1 << (byte[i] - 0xC0)
        # `characters` cannot hold the numbers of these tokens, so the subtree gets no summary
        if found[i].height >= MANY_CHARACTERS:
            continue
        if end[i] - i >= WORTH_A_LOOK and not broken[i] and state[i] == 0:
            summary_of[i] = <int32_t>summaries.size()
            found[i].height -= found[i].characters
            summaries.push_back(found[i])
            found[i].height += found[i].characters
    return 0
