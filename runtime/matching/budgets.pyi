from dataclasses import dataclass
from typing import final

from stackmask.pda.stack.configurations import ConfigSpace
from stackmask.runtime.matching.mask_buffer import MatcherError
from stackmask.runtime.matching.matcher import Matcher

class CompletionError(MatcherError):
    """A budget that the text cannot be completed in, or a text for which no completion was found."""

    needed: int | None
    """The tokens that the text needs at least, stop token included; None where no completion was found."""

    def __init__(self, message: str, needed: int | None = None) -> None: ...

@dataclass(frozen=True)
class Completion:
    """A shortest completion of a text.

    ``text``: its bytes; special tokens have none. ``tokens``: the same as the fewest tokens found for it, without
    the stop token.
    """

    text: bytes
    tokens: tuple[int, ...]

@final
class FamilyBudgets:
    """What is known of the ends of the texts of one family."""

    def belongs_to(self, family: ConfigSpace) -> bool:
        """Return whether this is about a family."""

    def nbytes_held(self) -> int:
        """Return about how many bytes are held."""

def fill_within(matcher: Matcher, budget: int, address: int) -> None:
    """Write the mask at the place of a matcher under a budget to an address. Hold the lock of its store.

    Where a limit of the request is met, only what a short end begins with stays allowed, with a RuntimeWarning.
    """

def count_needed(matcher: Matcher) -> int:
    """Return the fewest tokens to the end, stop token included; 0 after a stop token. Hold the lock."""

def find_completion(matcher: Matcher) -> Completion:
    """Return the shortest completion at the place of a matcher. Hold the lock of its store."""

def can_end_within(matcher: Matcher, budget: int) -> bool | None:
    """Return whether the text can end within so many tokens, stop token included; None if no end was found."""
