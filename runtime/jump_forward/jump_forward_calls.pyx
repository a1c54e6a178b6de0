"""The calls about what may and must come next that the matchers of both engines have."""

from stackmask.runtime.jump_forward.jump_forward import KEEPS, NOTHING


cdef class JumpCalls:
    """What a matcher says of the next bytes and of forced text.

    Made of ``expected``, ``find_jump_forward_bytes`` and its plans.
    """

    cdef object find_plan(self, object context_ids):
        """Return the plan after a context; here nothing is forced."""
        return NOTHING

    def expected_bytes(self):
        """Return the bytes that may come next, as a set."""
        return self.expected()[0]

    def find_jump_forward_string(self):
        """Return the text that must come next, up to the next branch or end, in whole characters.

        Empty inside a character; ``find_jump_forward_bytes`` has those bytes, and what is cut off.
        """
        text, _ = self.find_jump_forward_bytes()
        try:
            return text.decode()
        except UnicodeDecodeError:
            return ""

    def find_jump_forward_tokens(self, context_ids=(), *, max_rollback=None):
        """Return (how many tokens to take back, tokens to append then), such as the tokenizer would write the
        forced text; (0, []) where nothing is forced, or nothing is sure.

        A token is proposed only if its right edge stays where it is whatever may follow. ``context_ids``: the
        prompt, if there is one, and the tokens so far; tokens of the prompt are never taken back. With
        ``max_rollback``, no proposal that takes back more. The vocabulary must know its tokenizer
        (``Vocabulary.with_encoder``); else only tokens are proposed that are the single one allowed.
        Raises: MatcherError if the context does not end with the tokens accepted.
        """
        plan = self.plan_jump(context_ids, max_rollback)
        return plan.rollback, list(plan.tokens)

    def plan_jump(self, context_ids=(), max_rollback=None):
        """Do as ``find_jump_forward_tokens``, and say why where nothing is proposed."""
        plan = self.find_plan(context_ids)
        return plan if max_rollback is None or plan.rollback <= max_rollback else KEEPS

    def _repr_html_(self):
        from stackmask.runtime.jump_forward.notebook import matcher_html

        return matcher_html(self)
