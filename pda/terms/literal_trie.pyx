# distutils: language = c++
"""Sets of literals, each with what may follow it, as one term that shares their prefixes."""

from stackmask.pda.terms.term_table cimport EMPTY


cpdef int32_t literal_trie(TermStore terms, dict tails) except -1:
    """Return any of the words, each followed by one of its tails. The words share their prefixes.

    Cost: linear in the bytes, after sorting.
    """
    cdef list words = sorted(tails), stack
    cdef bytes word, following
    cdef Py_ssize_t i, after, depth, top, outer, n
    if not words:
        return EMPTY
    if len(words) == 1:
        return ending(terms, tails, words[0], 0)
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
        stack[len(stack) - 1][1].append(ending(terms, tails, word, depth))
        while stack[len(stack) - 1][0] > after:
            top, kids = stack.pop()
            joined = terms.alternatives(kids)
            outer = max(after, stack[len(stack) - 1][0])
            if outer > stack[len(stack) - 1][0]:
                stack.append((outer, []))
            stack[len(stack) - 1][1].append(terms.mk_seq(terms.literal(word[outer:top]), joined))
    return terms.alternatives(stack[0][1])


cdef int32_t ending(TermStore terms, dict tails, bytes word, Py_ssize_t depth) except -1:
    cdef list ends = tails[word]
    cdef int32_t tail = ends[0] if len(ends) == 1 else terms.alternatives(ends)
    return terms.mk_seq(terms.literal(word[depth:]), tail)
