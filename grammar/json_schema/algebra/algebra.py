"""Boolean algebra over schemas: literals of nodes, states (conjunctions of literals), and what a state means.

What a state says of null, booleans, numbers and strings is one set each, closed under union and complement. What
it says of arrays and objects is a disjunction of *forms*, each a conjunction of atoms. Disjunctions are worked
off one at a time, after everything that follows without a choice, and branches that clash are dropped.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from stackmask.grammar.json_schema.algebra import arrays, objects
from stackmask.grammar.json_schema.algebra.conjunctions import conjunction, kinds, order_members
from stackmask.grammar.json_schema.algebra.expansion import CLASH_DEPTH, MAX_STEPS, Expansion
from stackmask.grammar.json_schema.algebra.keywords import read_keywords, write_values
from stackmask.grammar.json_schema.algebra.scalar_values import literal_scalars, state_scalars
from stackmask.grammar.json_schema.document.drafts import UNDECLARED, Draft, says_only
from stackmask.grammar.json_schema.document.errors import SchemaError, UnsupportedSchemaError, Where, pointer
from stackmask.grammar.json_schema.document.references import Registry, Resource
from stackmask.grammar.json_schema.document.report import Report
from stackmask.grammar.json_schema.document.schema_size import is_larger
from stackmask.grammar.json_schema.nodes.literals import Literals
from stackmask.grammar.json_schema.nodes.nodes import (
    ANY_OF,
    EVERYTHING,
    ITEM,
    KEYS,
    LENGTH,
    NOTHING,
    PART_SOME,
    PROPERTY,
    REQUIRED,
    KeySet,
    Node,
    State,
    in_place,
)
from stackmask.grammar.json_schema.nodes.state_values import SIMPLE, Value
from stackmask.grammar.json_schema.nodes.structural_keys import Contents
from stackmask.grammar.json_schema.sets.string_sets import NONE, Texts
from stackmask.grammar.json_schema.sets.values import (
    ANY,
    ARRAY,
    OBJECT,
    canonical,
    shown,
)
from stackmask.grammar.source.work import spend

MAX_IN_PLACE: Final = 100  # subschemas of one value within one another (`allOf` in `allOf`, references)
MAX_STATES: Final = 20_000

ANY_STATE: Final[State] = frozenset()
NO_STATE: Final[State] = frozenset((NOTHING,))


def _constant(schema: bool) -> Node:
    """Return the node of a schema that says nothing, or allows nothing: the same one for all documents."""
    node = Node(int(schema), schema, Resource("", schema, UNDECLARED, ""), (), "")
    node.ready = node.checked = True
    node.mask = ANY if schema else 0
    return node


_NOT_ANY: Final = _constant(False)
_ANY: Final = _constant(True)


class Algebra:
    """All nodes and states of one schema."""

    def __init__(
        self,
        schema: Any,
        *,
        draft: Draft | None,
        resources: Any,
        formats: str,
        relax: bool,
        report: Report,
        leaves: dict[Any, Any],
        of_type: bool = False,
        share: bool = True,
    ) -> None:
        self.registry = Registry(schema, resources, draft)
        self.formats = formats
        self.relax = relax
        self.of_type = of_type  # the schema of a Python type: pydantic's formats count, integers are digits
        self.report = report
        root = self.registry.root
        self.nodes: list[Node] = [_NOT_ANY, _ANY]
        self.literals = Literals(self.nodes, root, report.repeated, formats, leaves)
        contents = Contents() if share and not of_type and not is_larger([schema, resources]) else None
        self.constants: dict[Any, int] = {}
        self.values: dict[State, Value] = {}
        self.singles: dict[int, State] = {NOTHING: NO_STATE}
        self.complements: dict[int, tuple[Texts, Texts]] = {}
        self.known_clashes: dict[State, bool] = {}
        self.steps = 0
        self.combinations = 0  # states of more than one literal
        self.depth = self.nesting = 0  # nesting: of scalar values within one another
        # no part of an object with properties says the same as all of it: that is not worth asking
        self.literals.contents = None if isinstance(schema, dict) and "properties" in schema else contents
        self.start = self.literal_in(schema, root, (), root.where)
        self.literals.contents = contents

    # -- nodes -------------------------------------------------------------------------------------------

    def literal(self, schema: Any, parent: Node, where: Where) -> int:
        """Return the literal of a subschema of ``parent``."""
        found = self.literals.plain(schema, parent.resource, parent.scope, where)
        return self.literal_in(schema, parent.resource, parent.scope, where) if found is None else found

    def literal_in(self, schema: Any, resource: Resource, scope: tuple[Resource, ...], where: Where) -> int:
        """Return the literal of a schema in a resource; plain references are followed.

        Raises: SchemaError if it is no schema, or a reference leads nowhere or in a circle.
        """
        literals = self.literals
        seen: set[int] | None = None  # schemas that only lead on
        while True:
            spend(2)
            if schema is True:
                return EVERYTHING
            if schema is False:
                return NOTHING
            if not isinstance(schema, dict):
                raise SchemaError(where, "", f"a schema is an object or a boolean, not {shown(schema)}")
            if not schema:
                return EVERYTHING
            draft = resource.draft
            if draft.id_keyword in schema:
                identifier = schema[draft.id_keyword]
                if not isinstance(identifier, str) and not (draft.ref_alone and "$ref" in schema):
                    raise SchemaError(where, draft.id_keyword, f"must be a string, not {shown(identifier)}")
                inner = self.registry.enter(schema, resource, where)
                if inner is not resource:
                    resource, scope = inner, self._entered(inner, scope)
                    draft = resource.draft
            found = literals.known(schema, resource, scope)
            if found is not None:
                return found
            if "$ref" not in schema or not (draft.ref_alone or says_only(schema, "$ref", draft)):
                only = schema.get("allOf")
                if only and isinstance(only, list) and len(only) == 1 and says_only(schema, "allOf", draft):
                    seen = _led_on(schema, seen, where)
                    schema, where = only[0], ((where, "allOf"), 0)
                    continue
                return literals.number(schema, resource, scope, where)
            seen = _led_on(schema, seen, where)
            ref = schema["$ref"]
            if not isinstance(ref, str):
                raise SchemaError(where, "$ref", f"must be a string, not {shown(ref)}")
            target = self.registry.resolve(ref, resource, where)
            if target.resource is not resource:
                scope = self._entered(target.resource, scope)
            schema, resource, where = target.schema, target.resource, target.where

    def _entered(self, resource: Resource, scope: tuple[Resource, ...]) -> tuple[Resource, ...]:
        """Return the dynamic scope after a resource is entered.

        Of all resources passed only the outermost one with each dynamic anchor matters.
        """
        registry = self.registry
        if not scope and resource is not registry.root and registry.has_dynamic_anchors(registry.root):
            scope = (registry.root,)
        if resource in scope or not registry.has_dynamic_anchors(resource):
            return scope
        known = set().union(*(outer.dynamic for outer in scope))
        if resource.dynamic <= known and not (
            resource.recursive and not any(outer.recursive for outer in scope)
        ):
            return scope
        return (*scope, resource)

    def reference(self, ref: Any, node: Node, keyword: str) -> int:
        """Return the literal that a reference beside other keywords, or a dynamic one, leads to."""
        if not isinstance(ref, str):
            raise SchemaError(node.where, keyword, f"must be a string, not {shown(ref)}")
        target = self.registry.resolve(ref, node.resource, node.where, keyword)
        scope = node.scope
        chain = scope or (self.registry.root,)
        if keyword == "$dynamicRef" and target.anchor:
            for resource in chain:
                self.registry.scan(resource.document)
                if target.anchor in resource.dynamic:
                    schema, where = resource.anchors[target.anchor]
                    return self.literal_in(schema, resource, self._entered(resource, scope), where)
        elif keyword == "$recursiveRef" and target.resource.recursive:
            for resource in chain:
                if resource.recursive:
                    return self.literal_in(
                        resource.root, resource, self._entered(resource, scope), resource.where
                    )
        if target.resource is not node.resource:
            scope = self._entered(target.resource, scope)
        return self.literal_in(target.schema, target.resource, scope, target.where)

    def constant(self, value: Any, where: Where) -> int:
        """Return the literal of exactly this value."""
        key = canonical(value, where, "const")
        found = self.constants.get(key)
        if found is None:
            found = self._synthetic(where)
            self.constants[key] = found
            _read_constant(self, self.nodes[found], value)
        return found

    def _synthetic(self, where: Where) -> int:
        node = Node(len(self.nodes), None, self.registry.root, (), where)
        node.ready = True
        self.nodes.append(node)
        return node.id

    def any_of(self, literals: list[int], where: Where) -> int:
        """Return the literal of a disjunction."""
        spend(2 + len(literals) // 2)
        literals = sorted(set(literals) - {NOTHING})
        if EVERYTHING in literals:
            return EVERYTHING
        if len(literals) < 2:
            return literals[0] if literals else NOTHING
        key = (ANY_OF, *literals)
        found = self.constants.get(key)
        if found is None:
            found = self._synthetic(where)
            self.constants[key] = found
            self.nodes[found].parts.append((PART_SOME, tuple(literals)))
        return found

    def without_unevaluated(self, node: Node) -> int:
        """Return the literal of a node but for its unevaluated keywords."""
        key = ("plain", node.id)
        found = self.constants.get(key)
        if found is None:
            found = self._synthetic(node.where)
            self.constants[key] = found
            plain = self.nodes[found]
            plain.schema, plain.resource, plain.scope = node.schema, node.resource, node.scope
            plain.mask, plain.number, plain.text, plain.whole = node.mask, node.number, node.text, node.whole
            plain.objects, plain.arrays, plain.parts = node.objects, node.arrays, node.parts
            plain.parts_first, plain.loose = node.parts_first, node.loose
        return found

    def node(self, literal: int) -> Node:
        """Return the node of a literal, read."""
        node = self.nodes[abs(literal)]
        if not node.ready:
            node.ready = True
            spend(16 + 4 * len(node.schema))
            read_keywords(self, node)
        return node

    def check_cycles(self, node: Node) -> None:
        """Refuse a node whose subschemas for the same value contain it, or nest too deeply.

        Cost: each node is visited once.
        """
        if node.checked:
            return
        path: list[tuple[Node, list[int]]] = [(node, in_place(node))]
        open_ids = {node.id}
        while path:
            current, rest = path[-1]
            spend(2)
            if not rest:
                path.pop()
                open_ids.discard(current.id)
                current.checked = True
                continue
            inner = self.node(rest.pop())
            if inner.id in open_ids:
                raise SchemaError(
                    inner.where, "$ref", "the schema refers to itself for the same value, without end"
                )
            if inner.checked:
                continue
            if len(path) > MAX_IN_PLACE:
                raise UnsupportedSchemaError(
                    inner.where,
                    "allOf",
                    f"more than {MAX_IN_PLACE} subschemas of one value within one another",
                )
            open_ids.add(inner.id)
            path.append((inner, in_place(inner)))

    # -- what keywords and the expansion ask -------------------------------------------------------------------------------

    def charge(self, steps: int, state: State = ANY_STATE) -> None:
        """Count steps of working off combinations. Raises: UnsupportedSchemaError beyond the limit."""
        self.steps += steps
        spend(20 * steps)
        if self.steps > MAX_STEPS:
            raise UnsupportedSchemaError(
                self.where(state), "allOf", f"the schema's combinations take more than {MAX_STEPS} steps"
            )

    def complement(self, texts: Texts) -> Texts:
        """Return all other strings; the same set for the same argument, so that it can be told by identity."""
        found = self.complements.get(id(texts))
        if found is None:
            found = (texts, texts.complement())
            self.complements[id(texts)] = found
        return found[1]

    def place(self, literal: int) -> str:
        """Return the place of a literal for messages."""
        place = pointer(self.nodes[abs(literal)].where)
        return f"not {place}" if literal < 0 else place

    def unsupported(self, where: Where, keyword: str, reason: str) -> None:
        """Refuse a keyword, or note that it is relaxed."""
        if not self.relax:
            raise UnsupportedSchemaError(where, keyword, reason)
        self.report.add("relaxed", where, keyword, reason)

    # -- states ------------------------------------------------------------------------------------------

    def state(self, literals: Collection[int]) -> State:
        """Return the conjunction of literals; contradictions are ``NO_STATE``."""
        if len(literals) == 1:  # nearly always: one object for one literal, which knows its hash
            (literal,) = literals
            found = self.singles.get(literal)
            if found is None:
                found = self.singles[literal] = ANY_STATE if literal == EVERYTHING else frozenset((literal,))
            return found
        state = frozenset(literals)
        if EVERYTHING in state:
            state -= {EVERYTHING}
        if NOTHING in state:
            return NO_STATE
        if len(state) > 1:
            for literal in state:
                if literal < 0 and -literal in state:
                    return NO_STATE
        return state

    def value(self, state: State) -> Value:
        """Return what a state means. Raises: UnsupportedSchemaError if that is too much."""
        found = self.values.get(state)
        if found is not None:
            return found
        spend(16 + 16 * len(state))
        if len(state) == 1:
            (literal,) = state
            node = self.nodes[abs(literal)]
            scalars = node.scalars if literal > 0 else None
            found = self.values[state] = Value(state, scalars or literal_scalars(self, literal))
            if literal > 0 and not (node.parts or node.unevaluated_items or node.unevaluated_properties):
                # one conjunction, nearly always: what `expand` would say
                if node.mask & ARRAY:
                    found.arrays.extend(arrays.forms(self, tuple(node.arrays)))
                if node.mask & OBJECT:
                    found.objects.extend(objects.forms(self, tuple(node.objects)))
                return found
        else:
            self.combinations += 1
            if self.combinations > MAX_STATES:
                raise UnsupportedSchemaError(
                    self.where(state),
                    "",
                    f"the schema needs more than {MAX_STATES} combinations of its parts",
                )
            found = self.values[state] = Value(state, state_scalars(self, state))
        possible = ARRAY | OBJECT
        for literal in state:
            if literal > 0:
                possible &= kinds(self, literal)
        if possible & ARRAY:
            for atoms in self.expand(state, ARRAY):
                found.arrays.extend(arrays.forms(self, atoms))
        if possible & OBJECT:
            ways = self.without_choice(state, OBJECT)
            if ways is not None:  # members come in order from these
                for atoms in ways:
                    found.objects.extend(objects.forms(self, atoms))
                return found
            for atoms in Expansion(self, OBJECT).run(state):
                found.objects.extend(objects.forms(self, atoms))
            if found.objects and (len(state) > 1 or any(self.node(x).parts for x in state)):
                order_members(self, state, found.objects)
        return found

    def where(self, state: State) -> Where:
        """Return the place of the most telling part of a state."""
        return self.nodes[abs(max(state, default=1))].where

    def clashes(self, state: State) -> bool:
        """Return whether a state is known to have no value. False means nothing: only a few levels are looked at."""
        if state == NO_STATE:
            return True
        if len(state) == 0:
            return False
        if len(state) == 1:
            (literal,) = state
            if literal > 0:
                node = self.node(literal)
                return not node.mask
        known = self.known_clashes.get(state)
        if known is None:
            known = self._clashes(state)
            if known is None:
                return False
            self.known_clashes[state] = known
        return known

    def _clashes(self, state: State) -> bool | None:
        """Return whether a state has no value; None if that takes a look too deep."""
        found = self.values.get(state)
        if found is None:
            spend(16 * len(state))
            scalars = state_scalars(self, state)
            if (
                scalars.mask & SIMPLE
                or scalars.has_numbers()
                or (scalars.text is not NONE and not scalars.text.is_empty())
            ):
                return False
            structured = ARRAY | OBJECT
            for literal in state:
                if literal > 0:
                    structured &= kinds(self, literal)
            if not structured:
                return True
            if self.depth >= CLASH_DEPTH:
                return None
            self.depth += 1
            try:
                found = self.value(state)
            finally:
                self.depth -= 1
        return not (found.arrays or found.objects or found.has_scalars())

    def expand(self, state: State, kind: int) -> list[tuple[tuple[Any, ...], ...]]:
        """Return the disjunction of conjunctions of atoms that a state means for arrays or for objects."""
        found = self.without_choice(state, kind)
        return Expansion(self, kind).run(state) if found is None else found

    def without_choice(self, state: State, kind: int) -> list[tuple[tuple[Any, ...], ...]] | None:
        """Return what ``expand`` does, where nothing is left to choose: one conjunction or none; else None."""
        if len(state) == 1:
            (literal,) = state
            if literal > 0:
                node = self.node(literal)
                if not node.mask & kind:
                    return []
                if not node.parts and (
                    node.unevaluated_items is None and node.unevaluated_properties is None
                ):
                    return [tuple(node.objects if kind == OBJECT else node.arrays)]
        elif not state:
            return [()]
        atoms = conjunction(self, state, kind)
        return None if atoms is None else [tuple(atoms)]


def _read_constant(algebra: Algebra, node: Node, value: Any) -> None:
    """Write into a node that the value is exactly this array or object."""
    if isinstance(value, dict):
        node.mask = OBJECT
        for key, item in value.items():
            if not isinstance(key, str):
                raise SchemaError(node.where, "", f"{key!r:.60} is no key of a JSON object")
            node.objects.append((PROPERTY, key, algebra.constant(item, (node.where, key))))
            node.objects.append((REQUIRED, key))
        node.objects.append((KEYS, KeySet(value, (), True), NOTHING))
        return
    node.mask = ANY
    if isinstance(value, list | tuple):
        node.mask = ARRAY
        for i, item in enumerate(value):
            node.arrays.append((ITEM, i, algebra.constant(item, (node.where, i))))
        node.arrays.append((LENGTH, len(value), len(value)))
        return
    write_values(algebra, node, "const", [value])


def _led_on(schema: dict[str, Any], seen: set[int] | None, where: Where) -> set[int]:
    """Note a schema that only leads to another one. Raises: SchemaError if it was met before."""
    if seen is None:
        return {id(schema)}
    if id(schema) in seen:
        raise SchemaError(where, "$ref", "the reference leads back to itself and never to a schema")
    seen.add(id(schema))
    return seen
