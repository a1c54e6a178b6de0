from collections.abc import Callable, Hashable
from typing import Any, final

from stackmask.grammar.ir import Action, KeySyntax, Resolver
from stackmask.pda.context.object_keys import KeyStates

@final
class Semantics:
    """The semantic states of the grammars of one store, with their actions and resolvers."""

    def __new__(
        cls,
        resolve_term: Callable[[Any], int] | None,
        keys: KeyStates,
        max_states: int = ...,
        key_syntax: KeySyntax | None = None,
    ) -> Semantics: ...
    @property
    def keys(self) -> KeyStates:
        """The key states of objects."""

    def add_action(self, action: Action) -> int:
        """Return the number of an action: ``"push"``, ``"key"`` or a callable."""

    def add_resolver(self, resolver: Resolver) -> int:
        """Return the number of a resolver: ``"top"`` or a callable."""

    def size(self) -> int:
        """Return the number of semantic states."""

    def nbytes_held(self) -> int:
        """Return about how many bytes the states take; those of Python's values are guessed."""

    def start(self, initial: Hashable, stacked: bool) -> int:
        """Return the state in which a string starts. ``stacked``: ``initial`` is a stack, bottom first."""
