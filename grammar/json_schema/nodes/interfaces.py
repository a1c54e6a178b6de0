"""What the keywords, the expansion and the forms ask of the algebra, and members of the writer: interfaces."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

from stackmask.grammar.json_schema.document.errors import Where
from stackmask.grammar.json_schema.document.references import Resource
from stackmask.grammar.json_schema.document.report import Report
from stackmask.grammar.json_schema.nodes.literals import Literals
from stackmask.grammar.json_schema.nodes.nodes import Node, State
from stackmask.grammar.json_schema.sets.string_sets import Texts


class NodeReader(Protocol):
    """Reads subschemas, references, patterns and formats for the keywords of a node."""

    formats: str
    of_type: bool
    report: Report
    literals: Literals
    nodes: list[Node]
    nesting: int

    def literal(self, schema: Any, parent: Node, where: Where) -> int:
        """Return the literal of a subschema."""

    def literal_in(self, schema: Any, resource: Resource, scope: tuple[Resource, ...], where: Where) -> int:
        """Return the literal of a schema in a resource."""

    def reference(self, ref: Any, node: Node, keyword: str) -> int:
        """Return the literal that a reference leads to."""

    def constant(self, value: Any, where: Where) -> int:
        """Return the literal of exactly this value."""

    def node(self, literal: int) -> Node:
        """Return the node of a literal, read."""

    def unsupported(self, where: Where, keyword: str, reason: str) -> None:
        """Refuse a keyword, or note that it is relaxed."""

    def where(self, state: State) -> Where:
        """Return the place of the most telling literal of a state."""

    def check_cycles(self, node: Node) -> None:
        """Refuse a node whose subschemas for the same value contain it."""


class States(NodeReader, Protocol):
    """Knows all nodes, and tells which conjunctions of literals (states) clash."""

    singles: dict[int, State]
    constants: dict[Any, int]
    depth: int
    relax: bool

    def state(self, literals: Collection[int]) -> State:
        """Return the conjunction of literals."""

    def clashes(self, state: State) -> bool:
        """Return whether a state is known to have no value."""

    def charge(self, steps: int, state: State = ...) -> None:
        """Count steps of working off combinations."""

    def complement(self, texts: Texts) -> Texts:
        """Return all other strings."""

    def without_unevaluated(self, node: Node) -> int:
        """Return the literal of a node but for its unevaluated keywords."""

    def any_of(self, literals: list[int], where: Where) -> int:
        """Return the literal of a disjunction."""
