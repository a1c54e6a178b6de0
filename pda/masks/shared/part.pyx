# distutils: language = c++
"""The interface of a part of the mask engine, and the context that all parts share.

A part has one job, such as run tables or the walk of the trie, and owns the memory of that job.
``MaskEngine`` owns the parts and hands each one the parts that it uses. It drops them all together, since
masks refer to each other by number, and it adds up their bytes.
"""

cimport cython

from stackmask.pda.masks.shared.layers cimport layers_now

cdef enum:
    CLASS_BYTES = 200       # of a class of special tokens, in Python and here
    ID_BYTES = 12           # of each of its ids
    NUMBER_BYTES = 28       # of an id as a number of Python; wide sets share theirs
    OWN_NUMBERS = 1000      # of a set, at most: see `FEW_IDS` of ``pda.store``


@cython.final
cdef class MaskContext:
    """What masks are made from: terms, configurations, the vocabulary. One for each engine."""

    def __cinit__(
        self,
        TermStore terms not None,
        Semantics semantics not None,
        ConfigSpace space not None,
        Trie trie not None,
        int32_t vocab_size,
        uint64_t max_bytes,
    ):
        self.terms = terms
        self.semantics = semantics
        self.trie = trie
        self.width = (vocab_size + 31) // 32
        self.max_bytes = max_bytes
        self.layers = layers_now()
        self.class_bytes = 0
        self.key_text = semantics.key_text
        self.space = space
        self.tries = SuffixTries(trie)
        self.runs = Runs(terms, self.tries)

    def add_token_class(self, tokens):
        """Add the ids of the next class of special tokens. Raises: BudgetError, without a change."""
        cdef vector[TokenId] ids
        for token in tokens:
            ids.push_back(token)
        cdef size_t held = CLASS_BYTES + ID_BYTES * ids.size()
        held += NUMBER_BYTES * min(ids.size(), <size_t>OWN_NUMBERS)
        self.terms.meter.hold(held)
        self.class_bytes += held
        self.class_tokens.push_back(ids)

    cdef int renew(self) except -1 nogil:
        """Begin again without configurations, suffix tries and run tables; they are made when needed."""
        with gil:
            self.space = ConfigSpace(
                self.terms, self.semantics, True, self.space.max_configurations, self.space.max_members
            )
            self.tries = SuffixTries(self.trie)
            self.runs = Runs(self.terms, self.tries)
        return 0


cdef class MaskPart:
    """One part of the mask engine. Subclasses are final, and hold what their job needs."""

    def __cinit__(self, MaskContext context not None, *_):
        self.context = context
        self.terms = context.terms
        self.space = context.space
        self.runs = context.runs

    cdef int drop(self) except -1 nogil:
        """Forget all masks. The context was renewed before, so its new objects are taken here."""
        with gil:
            self.space = self.context.space
            self.runs = self.context.runs
        return 0

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes that the part holds and a drop gives back."""
        return 0


cdef int drop_from(MaskPart part) except -1 nogil:
    """Drop a part of an engine and those after it: an engine has a dozen."""
    part.drop()
    if part.next_part is not None:
        drop_from(part.next_part)
    return 0


cdef size_t nbytes_from(MaskPart part) noexcept nogil:
    """Return the bytes of a part of an engine and of those after it."""
    cdef size_t held = part.nbytes()
    if part.next_part is not None:
        held += nbytes_from(part.next_part)
    return held
