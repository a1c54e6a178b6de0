# One switch for each optimisation of masks.


cdef struct Layers:
    bint walks              # masks come from walks of local states, else from trials of all tokens, where these may
    bint runs               # runs of one character class come from tables
    bint subtrees           # walks classify whole subtrees of the trie
    bint accepted           # walks leave out tokens and subtrees that an alternative X* allows
    bint counts             # tokens too short to reach a bound of a count are decided without the count
    bint prefixes           # states are split into a prefix and a continuation
    bint literals           # masks of literals come from their bytes alone, without a walk
    bint operand_lists      # configurations with the same operands share a mask
    bint patched            # finished masks are kept as the difference from a row, sparse ones as a row
    bint settled_places     # places where the semantic state decides are tried with masks, not token by token


cdef Layers layers_now() noexcept nogil
