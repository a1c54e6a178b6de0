# distutils: language = c++
"""Which characters occur in the subtrees of a trie.

Where all characters of a subtree belong to one class, its tokens need not be visited one by one: see
``masks.runs.run_tables`` and ``masks.walk.subtree_acceptance``.
"""

from libc.stdint cimport int8_t
from libc.string cimport memset

from stackmask.pda.ids cimport NO_SUMMARY
from stackmask.pda.text.utf8 cimport utf8_steps

cdef enum:
    WORTH_A_LOOK = 4        # nodes; smaller subtrees get no summary
    MANY_CHARACTERS = 0xFFFF


cdef struct Open:
    # a node whose subtree is being visited
    SubtreeSummary found    # but for what follows, which may be more than it can hold
    NodeId node
    int32_t characters
    int32_t height      # from the root
    int8_t state        # of UTF-8 after the node; -1: the path is not UTF-8
    bint broken         # some path in the subtree is not UTF-8


cdef int summarize_subtrees(
    int32_t nodes,
    int32_t max_depth,
    const int32_t* depth,
    const NodeId* end,
    const int32_t* token_first,
    const uint8_t* byte,
    vector[SummaryId]& summary_of,
    vector[SubtreeSummary]& summaries,
    vector[uint16_t]& characters,
    vector[NodeId]& incomplete,
) except -1 nogil:
    """Summarize the subtrees of a trie. Cost: a few nanoseconds a node.

    ``summary_of``: node -> index in ``summaries``, or NO_SUMMARY. ``characters``: of each token, in the order
    of the trie; an incomplete one counts. ``incomplete``: nodes whose tokens end inside of a character.
    """
    cdef vector[Open] path          # by depth: only open nodes are kept, since most subtrees get no summary
    cdef NodeId i
    cdef int32_t d, above = 0, t, needed, state
    cdef size_t most = 0
    cdef const int8_t* steps = utf8_steps()
    cdef Open* at
    cdef Open* parent
    path.resize(<size_t>max_depth + 1)
    memset(&path[0], 0, sizeof(Open))
    characters.resize(token_first[nodes])
    summary_of.resize(nodes, NO_SUMMARY)
    for i in range(1, nodes):
        most += end[i] - i >= WORTH_A_LOOK
    summaries.reserve(most)  # growing would touch twice the memory
    for i in range(1, nodes):
        d = depth[i]
        while above >= d:
            close_subtree(&path[above], i, byte, summary_of, summaries)
            above -= 1
        above = d - 1
        parent = &path[above]
        state = steps[256 * parent.state + byte[i]] if parent.state >= 0 else -1
        needed = parent.characters + (state >= 0)
        for t in range(token_first[i], token_first[i + 1]):
            characters[t] = <uint16_t>min(needed, MANY_CHARACTERS)
        if state > 0 and token_first[i] < token_first[i + 1]:
            incomplete.push_back(i)
        if i + 1 == nodes or depth[i + 1] <= d:
            add_byte(&parent.found, byte[i])  # a leaf, as most nodes are
            parent.height = max(parent.height, needed)
            parent.broken |= state < 0
            continue
        above = d
        at = &path[d]
        memset(at, 0, sizeof(Open))
        at.node = i
        at.state = <int8_t>state
        at.broken = state < 0
        at.characters = parent.characters + (state == 0)
        at.height = needed
    while above > 0:
        close_subtree(&path[above], nodes, byte, summary_of, summaries)
        above -= 1
    return 0


cdef inline void add_byte(SubtreeSummary* summary, uint8_t byte) noexcept nogil:
    """Add the byte of a child."""
    if byte < 0x80:
        summary.ascii[byte >> 6] |= <uint64_t>1 << (byte & 63)
    elif byte >= 0xC0:
        summary.leads |= <uint64_t>1 << (byte - 0xC0)


cdef inline int close_subtree(
    Open* at,
    NodeId end,
    const uint8_t* byte,
    vector[SummaryId]& summary_of,
    vector[SubtreeSummary]& summaries,
) except -1 nogil:
    """Keep the summary of a subtree, and add it to that of its parent, which is before it in memory."""
    cdef SubtreeSummary* above = &(at - 1).found
    above.ascii[0] |= at.found.ascii[0]
    above.ascii[1] |= at.found.ascii[1]
    above.leads |= at.found.leads
    (at - 1).height = max((at - 1).height, at.height)
    above.nested += at.found.nested
    if at.state == 0 and end > at.node + 1:
        above.nested += end - at.node
    (at - 1).broken |= at.broken
    add_byte(above, byte[at.node])
    # `characters` cannot hold the numbers of these tokens, so the subtree gets no summary
    if at.height >= MANY_CHARACTERS:
        return 0
    if end - at.node >= WORTH_A_LOOK and not at.broken and at.state == 0:
        summary_of[at.node] = <int32_t>summaries.size()
        at.found.characters = <uint16_t>at.characters
        at.found.height = <uint16_t>(at.height - at.characters)
        summaries.push_back(at.found)
    return 0
