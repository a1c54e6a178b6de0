"""Drafts of the next tokens of one request in a server."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from stackmask.runtime.jump_forward.drafts import EMPTY, SEARCHED, Draft, Sources
from stackmask.runtime.matching.compiler import CompiledGrammar
from stackmask.runtime.serving.metrics import Metrics

logger = logging.getLogger("stackmask.serving")


class Follower:
    """Follow the output of a request with a matcher besides that of its masks: a limit reached here ends only its drafts.

    ``prompt``: the tokens from which drafts are copied.
    """

    def __init__(self, compiled: CompiledGrammar, prompt: Sequence[int]) -> None:
        texts = compiled.vocabulary.token_bytes
        self.matcher = compiled.matcher()
        self.sources = Sources(b"".join(texts[i] or b"" for i in prompt[-SEARCHED:] if 0 <= i < len(texts)))
        self.proposed: Draft = EMPTY
        self.right = 0  # tokens of the draft before it that came

    def draft(self, tokens: Any, start: int, end: int, most: int, batch: int = 1) -> Sequence[int] | None:
        """Return up to ``most`` tokens that probably come after ``tokens[start:end]``, an array with the output so far.

        None if there will be no more drafts: after the end of the text, or if a token is not allowed.
        ``batch``: as in ``Matcher.draft``. Raises: BudgetError at a limit of the request.
        """
        matcher = self.matcher
        if matcher.accept_calls > end - start:  # the request was restarted
            matcher.reset()
            self.proposed = EMPTY
        came = tokens[start + matcher.accept_calls : end].tolist()
        read = Draft(*(part[: len(came)] for part in self.proposed))
        self.right = next((n for n, token in enumerate(read.tokens) if token != came[n]), len(read.tokens))
        self.sources.judge(read, self.right)
        self.proposed = EMPTY
        for token in came:
            if not matcher.accept_token(token):
                return None
        self.proposed = matcher.draft(self.sources, most, batch=batch)
        return self.proposed.tokens


def end_drafts(request_id: str, error: Exception, metrics: Metrics) -> None:
    """Log and count an error that ends the drafts of a request; its output does not depend on them."""
    logger.warning("no more drafts for request %s: %s: %s", request_id, type(error).__name__, error)
    metrics.add("draft_errors")
