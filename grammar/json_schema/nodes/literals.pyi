from collections.abc import Callable
from typing import Any

from stackmask.grammar.json_schema.document.errors import Where
from stackmask.grammar.json_schema.document.references import Resource
from stackmask.grammar.json_schema.nodes.nodes import Node
from stackmask.grammar.json_schema.nodes.structural_keys import Contents

class Literals:
    """The numbers of the nodes of one schema: one for all subschemas that say the same."""

    def __init__(self, nodes: list[Node], root: Resource, repeated: list[Where], formats: str) -> None:
        """``repeated``: gets the place of a node, and that of another schema with its number."""

    @property
    def nodes(self) -> list[Node]:
        """The nodes, by number."""

    @property
    def contents(self) -> Contents | None:
        """Tells equal parts; None where they are not looked for."""

    @contents.setter
    def contents(self, value: Contents | None) -> None: ...
    @property
    def repeats(self) -> bool:
        """Whether a node stands for several schemas."""

    def plain(self, schema: Any, resource: Resource, scope: tuple[Resource, ...], where: Where) -> int | None:
        """Return the literal of a schema, or None where references, resources or errors are to be seen to."""

    def known(self, schema: dict[str, Any], resource: Resource, scope: tuple[Resource, ...]) -> int | None:
        """Return the number of a schema that was met before, or None."""

    def number(
        self, schema: dict[str, Any], resource: Resource, scope: tuple[Resource, ...], where: Where
    ) -> int:
        """Return the number of a schema not met before: of a node that says the same, or a new one."""

    def add_properties(
        self,
        atoms: list[tuple[Any, ...]],
        schemas: dict[str, Any],
        resource: Resource,
        scope: tuple[Resource, ...],
        place: Where,
        literal_in: Callable[[Any, Resource, tuple[Resource, ...], Where], int],
    ) -> int:
        """Add what `properties` says; ``literal_in`` is asked for what is not plain.

        Raises: SchemaError for a name that is no string, and what ``literal_in`` raises.
        """
