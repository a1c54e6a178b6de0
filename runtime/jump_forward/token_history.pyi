"""The methods for allowed and forced text that the matchers of both engines share."""

from collections.abc import Sequence
from typing import final

from stackmask.pda.vocabulary.token_bytes import TokenBytes
from stackmask.runtime.jump_forward.drafts import Draft, Sources
from stackmask.runtime.jump_forward.jump_forward import Plan

class JumpCalls:
    """The methods of a matcher for next bytes and forced text, based on ``expected``,
    ``find_jump_forward_bytes`` and its plans.
    """

    def expected_bytes(self) -> set[int]:
        """Return the bytes that may come next."""

    def find_jump_forward_string(self) -> str:
        """Return the forced text, up to the next branch or end, in whole characters.

        The result is empty inside a character; ``find_jump_forward_bytes`` also returns partial characters.
        """

    def find_jump_forward_tokens(
        self, context_ids: Sequence[int] = (), *, max_rollback: int | None = None
    ) -> tuple[int, list[int]]:
        """Return (number of tokens to remove, tokens to append), as the tokenizer would write the forced
        text; (0, []) if nothing is forced, or no token is certain.

        A token is proposed only if its end does not depend on the following text. ``context_ids``: the
        prompt, if there is one, and the tokens so far; tokens of the prompt are never removed.
        ``max_rollback``: the maximum number of tokens to remove. The vocabulary must know its tokenizer
        (``Vocabulary.with_encoder``); otherwise only single allowed tokens are proposed.
        Raises: MatcherError if the context does not end with the tokens accepted.
        Cost: a look-up if the configuration was seen before, otherwise tens of microseconds, independent of
            the length of the context.
        """

    def draft(self, sources: Sources, count: int, *, batch: int = 1) -> Draft:
        """Return a ``Draft`` of at most ``count`` tokens that probably come next, for a model to verify.

        It begins with forced text. Guesses are copied from ``sources``, the ``Sources`` of this text, as far
        as the grammar allows. ``batch``: the number of rows that wait for the tokens; a draft is shorter, or
        empty, where reading costs more than it saves. Drafts are empty without the tokenizer
        (``Vocabulary.with_encoder``).
        Raises: BudgetError at a limit of the request.
        Cost: a comparison while the text agrees with the last draft; else tens of microseconds.
        """

    def plan_jump(self, context_ids: Sequence[int] = (), max_rollback: int | None = None) -> Plan:
        """As ``find_jump_forward_tokens``, but with the reason if no tokens are proposed."""

    def _repr_html_(self) -> str: ...

@final
class TokenHistory:
    """The input of each accept call of a matcher: a token, or text."""

    def __new__(cls, texts: TokenBytes) -> TokenHistory: ...
    def tokens(self) -> list[int]:
        """Return the accepted tokens, with -1 for text."""

    def symbols(self) -> list[int | bytes]:
        """Return the accepted input: the ids of tokens, and text as bytes."""

    def size(self) -> int:
        """Return the number of accept calls."""

    def is_empty(self) -> bool:
        """Return whether nothing was accepted."""

    def ends_with(self, tokens: tuple[int, ...]) -> bool:
        """Return whether these tokens were accepted last."""

    def tail(self, size: int) -> bytes:
        """Return the last bytes of the tokens accepted after all text: about ``size`` if there are so many.

        Special tokens have none. Cost: linear in what is returned, and in the special tokens there.
        """

    def window(self, size: int) -> tuple[tuple[int, ...], bool]:
        """Return (the last tokens, whether a text begins there), covering at least ``size`` bytes if
        available.

        A text begins with the first token, after a call of ``accept_string``, and after a special token.
        Otherwise the window begins at a character boundary, preferably at a space after another character
        unless this doubles the size.
        """

    def count_before(self, context: Sequence[int]) -> int | None:
        """Return the number of context tokens before the accepted ones; None if the context ends otherwise.

        The last few tokens are compared.
        """
