# distutils: language = c++
"""Sets of literals, each with what may follow it, as one term that shares their prefixes."""

from stackmask.pda.terms.term_table cimport EMPTY


cpdef int32_t literal_trie(TermBuilder build, dict tails) except -1:
    """Return any of the words, each followed by one of its tails. The words share their prefixes.

    Cost: linear in the bytes, after sorting.
    """
    cdef list words = sorted(tails), stack
    cdef bytes word, following
    cdef Py_ssize_t i, after, depth, top, outer, n
    if not words:
        return EMPTY
    if len(words) == 1:
        return ending(build, tails, words[0], 0)
    # a stack of open branch points: (length of the prefix, alternatives so far)
    stack = [(0, [])]
    for i in range(len(words)):
        word = words[i]
        after = 0
        if i + 1 < len(words):
            following = words[i + 1]
            n = min(len(word), len(following))
            while after < n and word[after] == following[after]:
                after += 1
        depth = stack[len(stack) - 1][0]
        if after > depth:
            # the next word branches off closer to the root
            stack.append((after, []))
            depth = after
        stack[len(stack) - 1][1].append(ending(build, tails, word, depth))
        while stack[len(stack) - 1][0] > after:
            top, kids = stack.pop()
            joined = build.alternatives(kids)
            outer = max(after, stack[len(stack) - 1][0])
            if outer > stack[len(stack) - 1][0]:
                stack.append((outer, []))
            stack[len(stack) - 1][1].append(build.terms.mk_seq(build.literal(word[outer:top]), joined))
    return build.alternatives(stack[0][1])


cdef int32_t ending(TermBuilder build, dict tails, bytes word, Py_ssize_t depth) except -1:
    cdef list ends = tails[word]
    cdef int32_t tail = ends[0] if len(ends) == 1 else build.alternatives(ends)
    return build.terms.mk_seq(build.literal(word[depth:]), tail)
