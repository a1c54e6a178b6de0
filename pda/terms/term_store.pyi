from collections.abc import Sequence
from typing import final

from stackmask.pda.terms.term_table import TermTable

@final
class TermStore(TermTable):
    """The terms, rules and calls of one automaton. A term is an int: equal terms are one id.

    Invariant: append-only; ids stay valid for the life of the store.
    Raises: BudgetError where a limit is met.
    """

    def __new__(cls, max_terms: int = ..., max_explored: int = ...) -> TermStore: ...
    def matches(self, t: int, data: bytes) -> bool:
        """Tell whether the regular term holds exactly these bytes."""

    def alive(self, t: int) -> bool:
        """Tell whether the term has a string."""

    def size(self) -> int:
        """Return the number of terms."""

    def nbytes_held(self) -> int:
        """Return about how many bytes the terms take."""

    def counts(self) -> dict[str, int]:
        """Return sizes: terms, transition rows, byte classes, guards, rules."""

    def dump(self, t: int) -> str:
        """Return the term as text, for goldens and debugging."""

@final
class TermBuilder:
    """Makes the terms, rules and calls of grammars in a store, for the lowering.

    A byte mask is an int of 256 bits, bit b for byte b. Raises: BudgetError where a limit is met.
    """

    def __new__(cls, terms: TermStore) -> TermBuilder: ...
    @property
    def terms(self) -> TermStore:
        """The store that the terms are in."""

    def byte_set(self, mask: int) -> int:
        """Return the term of one byte out of the mask."""

    def guard(self, mask: int) -> int:
        """Return the guard that requires the next byte to be in the mask, without consuming it."""

    def guard_id(self, mask: int) -> int:
        """Return the id of the guard that allows the bytes in the mask."""

    def literal(self, data: bytes) -> int:
        """Return the term of exactly these bytes."""

    def sequence(self, items: Sequence[int]) -> int:
        """Return the terms one after the other."""

    def alternatives(self, items: Sequence[int]) -> int:
        """Return any of the terms; of none, the term of the empty language."""

    def repeat(self, item: int, low: int, high: int | None) -> int:
        """Return the term ``low`` to ``high`` times; None for no upper bound."""

    def token(self, token_class: int) -> int:
        """Return one special token of the class."""

    def call(self, call: int, nonempty: bool = False, keys: bool = False) -> int:
        """Return the term that calls; ``nonempty`` leaves out the empty string; ``keys``: it tests keys."""

    def add_rule(self, nu: int | None) -> int:
        """Declare a rule; ``nu`` is the mask of bytes before which it may be empty, or None for never."""

    def set_rule(self, rule: int, body: int, height: int) -> None:
        """Give a declared rule its body and its height, more than that of the rules it can call first."""

    def add_token_class(self) -> int:
        """Add a class of special tokens and return its number."""
