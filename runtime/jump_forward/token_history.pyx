# distutils: language = c++
"""The tokens that a matcher has accepted, for callers that rewrite the last tokens."""

cimport cython
from libc.stdint cimport uint8_t
from libcpp.vector cimport vector

from stackmask.pda.memory.checked_vectors cimport copy_items, make_room

from stackmask.runtime.jump_forward.drafts import EMPTY
from stackmask.runtime.jump_forward.jump_forward import KEEPS, NOTHING


cdef enum:
    TEXT = -1           # not a token, but text
    CHECKED = 8         # tokens of a context that are compared


@cython.final
cdef class TokenHistory:
    """The input of each accept call: a token, or text."""

    def __cinit__(self, TokenBytes texts):
        self.texts = texts
        self.pieces = []

    cdef TokenHistory copy(self):
        cdef TokenHistory other = TokenHistory.__new__(TokenHistory, self.texts)
        copy_items(other.taken, self.taken)
        copy_items(other.text_calls, self.text_calls)
        other.pieces = list(self.pieces)
        return other

    cdef int reserve(self) except FAILED:
        """Reserve memory for one accept call, so that its addition cannot fail."""
        make_room(self.taken)
        make_room(self.text_calls)
        return 0

    cdef int push_text(self, bytes text) except FAILED:
        self.pieces.append(text)
        self.text_calls.push_back(self.taken.size())
        self.taken.push_back(TEXT)
        return 0

    cdef void keep(self, size_t calls) noexcept:
        """Drop all but the first accept calls."""
        self.taken.resize(calls)
        while self.text_calls.size() and self.text_calls.back() >= calls:  # mutant: text-place
            self.text_calls.pop_back()
        if len(self.pieces) > <Py_ssize_t>self.text_calls.size():
            del self.pieces[self.text_calls.size():]

    cdef size_t first(self) noexcept:
        """Return the index of the first token after all text."""
        return self.text_calls.back() + 1 if self.text_calls.size() else 0

    cdef bint has_text(self) noexcept:
        """Return whether some accept call received text."""
        return not self.text_calls.empty()

    def tokens(self):
        """Return the accepted tokens, with -1 for text."""
        return list(self.taken)

    def symbols(self):
        """Return the accepted input: the ids of tokens, and text as bytes."""
        texts = iter(self.pieces)
        return [next(texts) if token == TEXT else token for token in self.taken]

    def size(self):
        """Return the number of accept calls."""
        return self.taken.size()

    def is_empty(self):
        """Return whether nothing was accepted."""
        return self.taken.empty()

    def ends_with(self, tuple tokens):
        """Return whether these tokens were accepted last."""
        cdef size_t size = self.taken.size(), given = len(tokens), i
        if given > size:
            return False
        for i in range(given):
            if <int32_t>tokens[<Py_ssize_t>i] != self.taken[size - given + i]:
                return False
        return True

    def tail(self, size_t size):
        """Return the last bytes, about ``size``, of the tokens accepted after the last text.

        Special tokens have no bytes. Cost: linear in the result, and in the special tokens within it.
        """
        cdef size_t i = self.taken.size(), first = self.first(), total = 0, k
        cdef int32_t token
        cdef const uint8_t* start
        cdef vector[uint8_t] found
        while i > first and total < size:
            i -= 1
            token = self.taken[i]
            if token < self.texts.size and not self.texts.is_absent(token):
                total += self.texts.length(token)
        found.reserve(total)
        for k in range(i, self.taken.size()):
            token = self.taken[k]
            if token < self.texts.size and not self.texts.is_absent(token):
                start = self.texts.blob + self.texts.start[token]
                found.insert(found.end(), start, start + self.texts.length(token))
        return (<char*>found.data())[:found.size()]

    def window(self, size_t size):
        """Return (the last tokens, whether a text begins there), covering at least ``size`` bytes if
        available.

        A text begins with the first token, after a call of ``accept_string``, and after a special token.
        Otherwise the window begins at a character boundary, preferably at a space after another character
        unless this doubles the size.
        """
        cdef size_t i = self.taken.size(), first = self.first(), total = 0, k
        cdef const uint8_t* data
        cdef int32_t token, before, length
        cdef bint begins = True
        while i > first:
            token = self.taken[i - 1]
            if token >= self.texts.size or self.texts.is_absent(token):
                break
            i -= 1
            length = <int32_t>self.texts.length(token)
            total += length
            data = self.texts.blob + self.texts.start[token]
            if total < size or i == first or length == 0 or data[0] & 0xC0 == 0x80:
                continue
            before = self.taken[i - 1]
            if total >= 2 * size or (
                data[0] == c" " and before < self.texts.size and not self.texts.is_absent(before)
                and self.texts.length(before) and self.texts.blob[self.texts.start[before + 1] - 1] > c" "
            ):
                begins = False
                break
        return tuple([self.taken[k] for k in range(i, self.taken.size())]), begins

    def count_before(self, context):
        """Return the number of context tokens before the accepted ones; None if the context ends otherwise.

        The last few tokens are compared.
        """
        cdef size_t given = len(context), size = self.taken.size(), first = self.first(), i
        for i in range(size - min(size - first, <size_t>CHECKED), size):
            if given + i < size or context[<Py_ssize_t>(given + i - size)] != self.taken[i]:
                return None
        return max(0, <Py_ssize_t>given - <Py_ssize_t>size)


# ------------------------------------------------------------------------------------------------
# The calls about what may and must come next that the matchers of both engines have.
# ------------------------------------------------------------------------------------------------


cdef class JumpCalls:
    """The methods of a matcher for next bytes and forced text.

    They use ``expected``, ``find_jump_forward_bytes`` and the matcher's plans.
    """

    cdef object find_plan(self, object context_ids):
        """Return the plan after a context. Here, nothing is forced."""
        return NOTHING

    cdef object find_draft(self, object sources, object count, object batch):
        """Return a draft of at most ``count`` tokens, which is always empty here."""
        return EMPTY

    def expected_bytes(self):
        """Return the bytes that may come next, as a set."""
        return self.expected()[0]

    def find_jump_forward_string(self):
        """Return the forced text, up to the next branch or end, in whole characters.

        The result is empty inside a character; ``find_jump_forward_bytes`` also returns partial characters.
        """
        text, _ = self.find_jump_forward_bytes()
        try:
            return text.decode()
        except UnicodeDecodeError:
            return ""

    def find_jump_forward_tokens(self, context_ids=(), *, max_rollback=None):
        """Return (number of tokens to remove, tokens to append), as the tokenizer would write the forced
        text; (0, []) if no text is forced, or no token is certain.

        A token is only proposed if its end does not depend on the following text. ``context_ids``: the
        prompt, if there is one, and the tokens so far; tokens of the prompt are never removed.
        ``max_rollback``: the maximum number of tokens to remove. The vocabulary must know its tokenizer
        (``Vocabulary.with_encoder``); otherwise only single allowed tokens are proposed.
        Raises: MatcherError if the context does not end with the tokens accepted.
        """
        plan = self.plan_jump(context_ids, max_rollback)
        return plan.rollback, list(plan.tokens)

    def draft(self, sources, count, *, batch=1):
        """Return a ``Draft`` of at most ``count`` tokens that probably come next, for a model to verify.

        It begins with forced text. Guesses are copied from ``sources``, the ``Sources`` of this text, as far
        as the grammar allows. ``batch``: the number of rows that wait for the tokens; a draft is shorter, or
        empty, where reading costs more than it saves. Drafts are empty without the tokenizer
        (``Vocabulary.with_encoder``).
        Raises: BudgetError at a limit of the request.
        Cost: a comparison while the text agrees with the last draft; else tens of microseconds.
        """
        return self.find_draft(sources, count, batch)

    def plan_jump(self, context_ids=(), max_rollback=None):
        """As ``find_jump_forward_tokens``, but with the reason if no tokens are proposed."""
        plan = self.find_plan(context_ids)
        return plan if max_rollback is None or plan.rollback <= max_rollback else KEEPS

    def _repr_html_(self):
        from stackmask.runtime.jump_forward.notebook import matcher_html

        return matcher_html(self)
