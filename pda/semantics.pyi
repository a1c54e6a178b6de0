from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal, final

@final
class Semantics:
    """The semantic states of one automaton, with its actions and resolvers.

    ``initial`` is a tuple of bytes (bottom of the stack first) or any hashable value. ``actions`` hold
    ``"push"`` or pure callables (S, captured bytes) -> S or None; ``resolvers`` hold ``"top"`` or pure
    callables S -> regular expression; ``resolve_term`` turns what a callable answers into a term.
    """

    def __new__(
        cls,
        initial: Hashable = (),
        actions: Sequence[Literal["push"] | Callable[[Any, bytes], Hashable | None]] = (),
        resolvers: Sequence[Literal["top"] | Callable[[Any], Any]] = (),
        resolve_term: Callable[[Any], int] | None = None,
        max_states: int = ...,
    ) -> Semantics: ...
    @property
    def active(self) -> bool:
        """Whether anything depends on semantic states; if not, they cost nothing."""
