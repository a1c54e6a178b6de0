from dataclasses import dataclass
from typing import final

from stackmask.pda.stack.configurations import ConfigSpace
from stackmask.runtime.matching.mask_buffer import MatcherError
from stackmask.runtime.matching.matcher import Matcher

class CompletionError(MatcherError):
    """A text cannot be completed within a budget, or no completion was found."""

    needed: int | None
    """The tokens that the text needs at least, stop token included; None where no completion was found."""

    def __init__(self, message: str, needed: int | None = None) -> None: ...

@dataclass(frozen=True)
class Completion:
    """A shortest completion of a text.

    ``text``: its bytes; special tokens have none. ``tokens``: the fewest tokens found for it, without the
    stop token.
    """

    text: bytes
    tokens: tuple[int, ...]

@final
class FamilyBudgets:
    """The known completions of the texts of one family."""

    def belongs_to(self, family: ConfigSpace) -> bool:
        """Return whether this belongs to a family."""

    def nbytes_held(self) -> int:
        """Return the approximate number of bytes held."""

def fill_within(matcher: Matcher, budget: int, address: int) -> None:
    """Write a matcher's next mask under a budget to an address. The caller holds the lock of its store.

    If a limit of the request is reached, only the first token of a short completion stays allowed, with a
    RuntimeWarning.
    """

def count_needed(matcher: Matcher) -> int:
    """Return how many tokens the end takes, with the stop token; 0 after it. The caller holds the lock."""

def find_completion(matcher: Matcher) -> Completion:
    """Return the shortest completion of a matcher's text. The caller holds the lock of its store."""

def can_end_within(matcher: Matcher, budget: int) -> bool | None:
    """Return whether the text can end within ``budget`` tokens, with the stop token; None if unknown."""
