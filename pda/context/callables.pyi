from typing import final

from stackmask.grammar.ir import Action, Resolver

@final
class Callables:
    """Actions and resolvers: what captures do when they end, and what dynamic rules mean."""

    def add_action(self, action: Action) -> int:
        """Return the number of an action: ``"push"``, ``"key"`` or a callable."""

    def add_resolver(self, resolver: Resolver) -> int:
        """Return the number of a resolver: ``"top"`` or a callable."""
