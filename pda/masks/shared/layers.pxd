# One switch for each optimisation of masks. See layers.pyx.


cdef struct Layers:
    bint runs               # runs of one character class come from tables
    bint constrained        # ... also where a pattern or a list of strings narrows them:
    bint side_by_side       # ... found by stepping with and without what narrows them
    bint by_first_byte      # ... or by their first bytes
    bint subtrees           # subtrees of the trie are taken whole
    bint accepted           # tokens that an alternative X* allows are not walked
    bint accepted_subtrees  # ... nor subtrees of which it allows all
    bint short_tokens       # tokens too short to meet a count are decided without it
    bint uncounted          # ... also for counts inside of a sequence
    bint prefixes           # states are split into a prefix and a continuation
    bint literals           # literals are spelled down the trie
    bint known_stack        # walks are repeated with the stack known
    bint merged             # what tokens leave over is merged into suffix tries
    bint operand_lists      # configurations with the same operands share a mask
    bint patched            # masks are kept as the difference from a row
    bint sparse_rows        # sparse masks that are in most lists get a row
    bint settled_places     # what the semantic state decides is put together from masks


cdef Layers layers_now() noexcept
