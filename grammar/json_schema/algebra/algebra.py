"""Boolean algebra over schemas: literals of nodes, states (conjunctions of literals), and the values of a state.

A state's constraints on null, booleans, numbers and strings are one set each, closed under union and
complement. Those on arrays and objects are a disjunction of *forms*, each a conjunction of atoms.
Disjunctions are expanded one at a time, after all deterministic consequences; contradictory branches are
dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from stackmask.grammar.json_schema.algebra.keywords import key_set, read_keywords, write_values
from stackmask.grammar.json_schema.document.drafts import UNDECLARED, Draft
from stackmask.grammar.json_schema.document.errors import SchemaError, UnsupportedSchemaError, Where, pointer
from stackmask.grammar.json_schema.document.references import Registry, Resource
from stackmask.grammar.json_schema.document.report import Report
from stackmask.grammar.json_schema.document.schema_size import is_larger
from stackmask.grammar.json_schema.nodes.forms import (
    NO_SETS,
    SIMPLE,
    ArrayForm,
    Counted,
    KeyClass,
    ObjectForm,
    StateValue,
)
from stackmask.grammar.json_schema.nodes.literals import Literals
from stackmask.grammar.json_schema.nodes.nodes import (
    ANY_OF,
    CONTAINS,
    COUNT,
    EVERYTHING,
    ITEM,
    KEYS,
    LENGTH,
    NOTHING,
    PART_ALL,
    PART_IF,
    PART_NEEDS,
    PART_NEEDS_SCHEMA,
    PART_ONE,
    PART_SOME,
    PART_VALUES,
    PROPERTY,
    REQUIRED,
    REST,
    SOME_KEY,
    UNIQUE,
    Alternative,
    ArrayAtom,
    Atom,
    KeySet,
    Node,
    ObjectAtom,
    Part,
    State,
    in_place,
)
from stackmask.grammar.json_schema.nodes.object_members import Member, find_members, sort_out
from stackmask.grammar.json_schema.nodes.structural_keys import Contents
from stackmask.grammar.json_schema.sets.numbers import NO_NUMBERS, UnsupportedNumber
from stackmask.grammar.json_schema.sets.scalars import ALL_SCALARS, LOOSE, NO_SCALARS, Scalars
from stackmask.grammar.json_schema.sets.string_sets import ALL, NONE, SharedQuestions, Texts
from stackmask.grammar.json_schema.sets.values import (
    ANY,
    ARRAY,
    NUMBER,
    OBJECT,
    STRING,
    canonical,
    shown,
)
from stackmask.grammar.source.work import spend

MAX_IN_PLACE: Final = 100  # subschemas of one value within one another (`allOf` in `allOf`, references)
MAX_STATES: Final = 20_000

ANY_STATE: Final[State] = frozenset()
NO_STATE: Final[State] = frozenset((NOTHING,))


def _constant(schema: bool) -> Node:
    """Return the node of a schema that allows all values, or none. All documents share these two nodes."""
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
        self.literals = Literals(self.nodes, self.registry, report.repeated)
        contents = Contents() if share and not of_type and not is_larger([schema, resources]) else None
        self.constants: dict[Any, int] = {}
        self.values: dict[State, StateValue] = {}
        self.singles: dict[int, State] = {NOTHING: NO_STATE}
        self.questions = SharedQuestions()
        self.known_clashes: dict[State, bool] = {}
        self.steps = 0
        self.combinations = 0  # states of more than one literal
        self.depth = self.nesting = 0  # nesting: of scalar values within one another
        # no part of an object with properties says the same as all of it: that is not worth asking
        self.literals.contents = None if isinstance(schema, dict) and "properties" in schema else contents
        self.start: int = self.literals.literal(schema, root, (), root.where)
        self.literals.contents = contents

    # -- nodes -------------------------------------------------------------------------------------------

    def literal(self, schema: Any, parent: Node, where: Where) -> int:
        """Return the literal of a subschema of ``parent``."""
        found: int = self.literals.literal(schema, parent.resource, parent.scope, where)
        return found

    def reference(self, ref: Any, node: Node, keyword: str) -> int:
        """Return the literal of a reference that is dynamic or has other keywords beside it."""
        if not isinstance(ref, str):
            raise SchemaError(node.where, keyword, f"must be a string, not {shown(ref)}")
        registry, literal = self.registry, self.literals.literal
        found: int
        target = registry.resolve(ref, node.resource, node.where, keyword)
        scope = node.scope
        chain = scope or (registry.root,)
        if keyword == "$dynamicRef" and target.anchor:
            for resource in chain:
                registry.scan(resource.document)
                if target.anchor in resource.dynamic:
                    schema, where = resource.anchors[target.anchor]
                    found = literal(schema, resource, registry.scope_in(resource, scope), where)
                    return found
        elif keyword == "$recursiveRef" and target.resource.recursive:
            for resource in chain:
                if resource.recursive:
                    found = literal(
                        resource.root, resource, registry.scope_in(resource, scope), resource.where
                    )
                    return found
        if target.resource is not node.resource:
            scope = registry.scope_in(target.resource, scope)
        found = literal(target.schema, target.resource, scope, target.where)
        return found

    def constant(self, value: Any, where: Where) -> int:
        """Return the literal that allows exactly this value."""
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
        """Return the literal of a node without its unevaluated keywords."""
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
        """Return the node of a literal. Its schema is read first."""
        node = self.nodes[abs(literal)]
        if not node.ready:
            node.ready = True
            spend(16 + 4 * len(node.schema))
            read_keywords(self, node)
        return node

    def check_cycles(self, node: Node) -> None:
        """Refuse a node that contains itself through subschemas for the same value, or is nested too deeply.

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
        """Count steps of expanding combinations. Raises: UnsupportedSchemaError beyond the limit."""
        self.steps += steps
        spend(20 * steps)
        if self.steps > MAX_STEPS:
            raise UnsupportedSchemaError(
                self.where(state), "allOf", f"the schema's combinations take more than {MAX_STEPS} steps"
            )

    def name_scalars(self, literal: int, where: Where) -> Scalars:
        """Return the scalar values of names. Raises: UnsupportedSchemaError if their schemas nest too deeply."""
        if self.nesting > MAX_NESTING:
            raise UnsupportedSchemaError(where, "propertyNames", "subschemas of names are nested too deeply")
        self.nesting += 3  # as many calls as for that many subschemas
        result = state_scalars(self, frozenset((literal,)))
        self.nesting -= 3
        return result

    def place(self, literal: int) -> str:
        """Return the place of a literal for messages."""
        place = pointer(self.nodes[abs(literal)].where)
        return f"not {place}" if literal < 0 else place

    def unsupported(self, where: Where, keyword: str, reason: str) -> None:
        """Refuse a keyword, or record that it is relaxed."""
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

    def value(self, state: State) -> StateValue:
        """Return the values of a state. Raises: UnsupportedSchemaError if there are too many."""
        found = self.values.get(state)
        if found is not None:
            return found
        spend(16 + 16 * len(state))
        if len(state) == 1:
            (literal,) = state
            node = self.nodes[abs(literal)]
            scalars = node.scalars if literal > 0 else None
            found = self.values[state] = StateValue(state, scalars or literal_scalars(self, literal))
            if literal > 0 and not (node.parts or node.unevaluated_items or node.unevaluated_properties):
                # one conjunction, nearly always: what `Expansion` would say
                if node.mask & ARRAY:
                    found.arrays.extend(array_forms(self, tuple(node.arrays)))
                if node.mask & OBJECT:
                    found.objects.extend(object_forms(self, tuple(node.objects)))
                return found
        else:
            self.combinations += 1
            if self.combinations > MAX_STATES:
                raise UnsupportedSchemaError(
                    self.where(state),
                    "",
                    f"the schema needs more than {MAX_STATES} combinations of its parts",
                )
            found = self.values[state] = StateValue(state, state_scalars(self, state))
        possible = ARRAY | OBJECT
        for literal in state:
            if literal > 0:
                possible &= kinds(self, literal)
        if possible & ARRAY:
            for atoms in Expansion(self, ARRAY).run(state):
                found.arrays.extend(array_forms(self, atoms))
        if possible & OBJECT:
            for atoms in Expansion(self, OBJECT).run(state):
                found.objects.extend(object_forms(self, atoms))
        return found

    def where(self, state: State) -> Where:
        """Return the location of the most informative part of a state."""
        return self.nodes[abs(max(state, default=1))].where

    def clashes(self, state: State) -> bool:
        """Return whether a state is known to have no value. False proves nothing: only a few levels are inspected."""
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
        """Return whether a state has no value; None if only a deeper inspection could show this."""
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


def _read_constant(algebra: Algebra, node: Node, value: Any) -> None:
    """Constrain a node to exactly this array or object."""
    if isinstance(value, dict):
        node.mask = OBJECT
        for key, item in value.items():
            if not isinstance(key, str):
                raise SchemaError(node.where, "", f"{key!r:.60} is not a key of a JSON object")
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


# -- arrays: leading items, the rest, and what must be counted ---------------------------------------------


def negate_array_atom(atom: ArrayAtom) -> list[Alternative]:
    """Return the alternatives of "not this atom"."""
    if atom[0] == ITEM:
        return [((LENGTH, atom[1] + 1, None), (ITEM, atom[1], -atom[2]))]  # mutant: not-item
    if atom[0] == REST:
        return [((CONTAINS, atom[1], -atom[2], 1, None),)]
    if atom[0] == UNIQUE:
        return [((UNIQUE, not atom[1]),)]
    if atom[0] == CONTAINS:
        return [((CONTAINS, atom[1], atom[2], *bounds),) for bounds in _outside(atom[3], atom[4])]
    return [((LENGTH, *bounds),) for bounds in _outside(atom[1], atom[2])]


def _outside(low: int, high: int | None) -> list[tuple[int, int | None]]:
    """Return the bounds of all counts below the lower bound or above the upper one."""
    below: list[tuple[int, int | None]] = [(0, low - 1)] if low else []
    return below if high is None else [*below, (high + 1, None)]  # mutant: not-count


def array_forms(algebra: Algebra, atoms: tuple[ArrayAtom, ...]) -> list[ArrayForm]:
    """Return the form of a conjunction of atoms, or no form if the conjunction is contradictory."""
    items: dict[int, list[int]] = {}
    rests: list[tuple[int, int]] = []
    contains: list[Counted] = []
    low, high = 0, None
    unique: bool | None = None
    for atom in atoms:
        if atom[0] == ITEM:
            items.setdefault(atom[1], []).append(atom[2])
        elif atom[0] == REST:
            rests.append((atom[1], atom[2]))
        elif atom[0] == CONTAINS:
            contains.append(atom[1:])
        elif atom[0] == UNIQUE:
            if unique is not None and unique != atom[1]:
                return []
            unique = atom[1]
        else:
            low = max(low, atom[1])
            if atom[2] is not None:
                high = atom[2] if high is None else min(high, atom[2])
    length = max((*(index + 1 for index in items), *(start for start, _ in rests)), default=0)
    prefix: list[State] = []
    for index in range(length):
        if high is not None and index >= high:
            break
        literals = items.get(index, []) + [literal for start, literal in rests if start <= index]
        state = algebra.state(literals)
        if algebra.clashes(state):
            high = index
            break
        prefix.append(state)
    rest = algebra.state([literal for _, literal in rests])
    if len(prefix) == length and (high is None or high > length) and algebra.clashes(rest):
        high = length
    kept: list[Counted] = []
    for counted in contains:
        start, literal, least, most = counted
        if most is not None and most < least:
            return []
        places = prefix[start:high]
        if high is None or high > len(prefix):
            places = [*places, rest]
        if least and all(algebra.clashes(algebra.state([*place, literal])) for place in places):
            return []
        if least:
            low = max(low, start + least)
        if all(algebra.clashes(algebra.state([*place, -literal])) for place in places):  # every item counts
            if most is not None:
                high = start + most if high is None else min(high, start + most)
        elif (least or most is not None) and literal != NOTHING:
            kept.append(counted)
    if high is not None and low > high:
        return []
    if unique and high is not None and high <= 1:
        unique = None
    if unique is False:
        low = max(low, 2)
        if high is not None and high < 2:
            return []
    return [ArrayForm(prefix, rest, low, high, kept, unique)]


# -- objects: named members and classes of other keys ------------------------------------------------------

MAX_KEY_SETS: Final = 8  # patterns that may overlap in one object: their combinations are told apart


def negate_object_atom(atom: ObjectAtom) -> list[Alternative]:
    """Return the alternatives of "not this atom"."""
    if atom[0] == PROPERTY:
        if atom[2] == NOTHING:
            return [((REQUIRED, atom[1]),)]
        return [((REQUIRED, atom[1]), (PROPERTY, atom[1], -atom[2]))]
    if atom[0] == REQUIRED:
        return [((PROPERTY, atom[1], NOTHING),)]
    if atom[0] == KEYS:
        return [((SOME_KEY, atom[1], -atom[2]),)]
    if atom[0] == SOME_KEY:
        return [((KEYS, atom[1], -atom[2]),)]
    return [((COUNT, *bounds),) for bounds in _outside(atom[1], atom[2])]


def object_forms(algebra: Algebra, atoms: tuple[ObjectAtom, ...]) -> list[ObjectForm]:
    """Return the forms of a conjunction of atoms: none for a contradiction, several if a key must be found.

    Raises: UnsupportedSchemaError if more than 8 patterns may overlap.
    """
    if algebra.depth or len(atoms) > 32:
        algebra.charge(len(atoms) >> 5)
    # `nameless`: those known to be outside of the members
    declared, required, rules, some, nameless, low, high, names = sort_out(atoms)
    members = find_members(algebra, declared, required, rules, names)
    if members is None:
        return []

    low = max(low, len(required) + bool(nameless))
    if high is not None and low > high:
        return []
    classes = _classes(algebra, rules, some + nameless) if high is None or high > len(required) else []
    if not classes and low > len(members):
        return []
    if some:
        # few keys first: they become members, which the others may be found among
        chosen = next((found for found in some if _few_names(found[0]) is not None), some[0])
        return _found(algebra, atoms, members, classes, chosen, high is None or high > len(required))
    for keys, literal in nameless:
        if not any(
            keys.covers(entry.inside) and not algebra.clashes(algebra.state([*entry.state, literal]))
            for entry in classes
        ):
            return []
    return [ObjectForm(members, names, classes, low, high, nameless)]


def _classes(
    algebra: Algebra, rules: list[tuple[KeySet, int]], some: list[tuple[KeySet, int]]
) -> list[KeyClass]:
    """Return the classes of unnamed keys, merging those with equal values."""
    sets: list[Texts] = []
    for keys, _ in (*rules, *some):
        if keys.sets:
            sets.extend([texts for texts in keys.sets if texts not in sets])
    if not sets:
        literals = [literal for keys, literal in rules if keys.negated]
        if NOTHING in literals:
            return []
        state = algebra.state(literals)
        return [] if algebra.clashes(state) else [KeyClass(ALL, state, NO_SETS)]
    if len(sets) > MAX_KEY_SETS:
        raise UnsupportedSchemaError(
            "", "patternProperties", f"more than {MAX_KEY_SETS} patterns of keys in one object"
        )
    cells: list[tuple[Texts, frozenset[int]]] = [(ALL, frozenset())]
    for texts in sets:
        others = texts.complement()
        split: list[tuple[Texts, frozenset[int]]] = []
        for cell, inside in cells:
            within, without = cell.meet(texts), cell.meet(others)
            if within.is_empty(algebra.questions):
                split.append((cell, inside))  # a condition that holds for all of it need not be written
            elif without.is_empty(algebra.questions):
                split.append((cell, inside | {id(texts)}))
            else:
                split += [(within, inside | {id(texts)}), (without, inside)]
        cells = split
    joined: dict[Any, KeyClass] = {}
    whole = True  # nothing was left out, so that one class is all keys
    for cell, inside in cells:
        state = algebra.state([literal for keys, literal in rules if keys.covers(inside)])
        if algebra.clashes(state):
            whole = False
            continue
        key = (state, tuple(keys.covers(inside) for keys, _ in some))
        known = joined.get(key)
        if known is None:
            joined[key] = KeyClass(cell, state, inside)
        else:
            # the first cell stands for all: whether keys that must be found lie in it is the same for each of them
            joined[key] = KeyClass(known.texts.join(cell), state, known.inside)
    if whole and len(joined) == 1:
        (only,) = joined.values()
        return [KeyClass(ALL, only.state, only.inside)]
    return list(joined.values())


def _found(
    algebra: Algebra,
    atoms: tuple[ObjectAtom, ...],
    members: list[Member],
    classes: list[KeyClass],
    some: tuple[KeySet, int],
    room: bool,
) -> list[ObjectForm]:
    """Distinguish cases by the location of a key that must be found: a member, or an unnamed key."""
    keys, literal = some
    others = tuple(atom for atom in atoms if atom != (SOME_KEY, keys, literal))
    for member in members:
        if member.required and keys.has(member.name) and (literal == 1 or literal in member.state):
            return object_forms(algebra, others)  # found already
    result: list[ObjectForm] = []
    names = _few_names(keys)
    if names is not None:  # so each of them is a member
        for name in names:
            result.extend(object_forms(algebra, (*others, (REQUIRED, name), (PROPERTY, name, literal))))
        return result
    for member in members:
        if keys.has(member.name) and not algebra.clashes(algebra.state([*member.state, literal])):
            added: tuple[ObjectAtom, ...] = ((REQUIRED, member.name), (PROPERTY, member.name, literal))
            result.extend(object_forms(algebra, (*others, *added)))
    if room and any(
        keys.covers(entry.inside) and not algebra.clashes(algebra.state([*entry.state, literal]))
        for entry in classes
    ):
        result.extend(object_forms(algebra, (*others, (SOME_KEY, keys, literal, True))))
    return result


def _few_names(keys: KeySet) -> list[str] | None:
    """Return all keys of a set if the set is written as a few words, else None."""
    names = set(keys.names)
    if not keys.negated:
        words = [texts.words for texts in keys.sets]
        if None in words:
            return None
        return sorted(names.union(*(word for word in words if word is not None)))
    if len(keys.sets) != 1:
        return None
    others = keys.sets[0].complement().words
    return None if others is None else sorted(set(others) - names)


# -- what holds of one value without a choice: types, atoms, the order of members --------------------------

ENDLESS = "the schema refers to itself for the same value, without end"


def kinds(algebra: Algebra, literal: int) -> int:
    """Return which of the types array and object a literal may allow, once its scalar values are known.

    An omitted type has no form. To find this out later, every alternative would have to be checked.
    Raises: SchemaError if the literal refers to itself.
    Cost: linear in the subschemas for the same value. No recursion, since chains of references may be long.
    """
    if literal < 0:
        return ARRAY | OBJECT
    answer = algebra.nodes[literal].kinds
    if answer >= 0:
        return answer
    asked = [_Asked(_asking(algebra, literal), literal)]
    open_literals = {literal}
    while asked:
        spend(2)
        try:
            inner = asked[-1].questions.send(None if asked[-1].is_new else answer)
        except StopIteration as end:
            finished = asked.pop()
            open_literals.discard(finished.literal)
            answer = algebra.nodes[finished.literal].kinds = end.value
            continue
        asked[-1].is_new = False
        answer = ARRAY | OBJECT if inner < 0 else algebra.nodes[inner].kinds
        if answer < 0:
            if inner in open_literals:
                raise SchemaError(algebra.nodes[inner].where, "$ref", ENDLESS)
            asked.append(_Asked(_asking(algebra, inner), inner))
            open_literals.add(inner)
    return answer


@dataclass(slots=True)
class _Asked:
    """A literal whose kinds are being computed, which depends on those of others."""

    questions: Generator[int, int | None, int]
    literal: int
    is_new: bool = True


def _asking(algebra: Algebra, literal: int) -> Generator[int, int | None, int]:
    """Compute the kinds of a literal. Yields each literal that they depend on, and receives its kinds."""
    node = algebra.nodes[literal]
    if not node.ready:
        algebra.node(literal)
    found: int = node.mask & (ARRAY | OBJECT)
    for part in node.parts if found else ():
        if part[0] == PART_ALL:
            for inner in part[1]:
                found &= (yield inner) or 0
        elif part[0] == PART_SOME or part[0] == PART_ONE:
            some = 0
            for inner in part[1]:
                some |= (yield inner) or 0
                if some == ARRAY | OBJECT:
                    break
            found &= some
    return found


def in_order(
    algebra: Algebra, state: State, assumed: Collection[Any], atoms: list[ObjectAtom]
) -> list[ObjectAtom]:
    """Sort declared members in the order of declaration, from left to right through all subschemas in place.

    In `anyOf` and `oneOf`, only the assumed branches are in place: each object has the order of its own
    schema.
    """
    ranks: dict[str, int] = {}
    seen: set[int] = set()
    todo: list[Any] = sorted((x for x in state if x > 0), reverse=True)
    while todo:
        literal = todo.pop()
        spend(3)
        if not isinstance(literal, int):
            spend(len(literal.objects) // 2)
            for atom in literal.objects:
                if atom[0] == PROPERTY:
                    ranks.setdefault(atom[1], len(ranks))
            continue
        if literal in seen:
            continue
        seen.add(literal)
        node = algebra.node(literal)
        inside = [x for x in in_place(node, assumed) if x > 0]
        inside.reverse()
        if node.parts_first:
            todo.append(node)
            todo.extend(inside)
        else:
            todo.extend(inside)
            todo.append(node)
    last = len(ranks)
    return sorted(atoms, key=lambda atom: ranks.get(atom[1], last) if atom[0] == PROPERTY else last)


# -- scalar values: null, booleans, numbers and strings, one set each --------------------------------------

MAX_NESTING: Final = 100  # subschemas of one value within one another; those of names count three times


def state_scalars(algebra: Algebra, state: State) -> Scalars:
    """Return the scalar values of a state."""
    result = None
    # what holds first: against few words, all that does not hold is a look-up
    for literal in sorted(state, reverse=True) if len(state) > 2 else state:
        found = literal_scalars(algebra, literal)
        try:
            result = found if result is None else result.meet(found)
        except UnsupportedNumber as error:
            algebra.unsupported(algebra.where(state), "multipleOf", str(error))
            return LOOSE
    return ALL_SCALARS if result is None else result


def literal_scalars(algebra: Algebra, literal: int) -> Scalars:
    """Return the scalar values of a literal, cached in its node."""
    node = algebra.nodes[abs(literal)]
    found = node.scalars
    if found is None:
        if not node.ready:
            algebra.node(literal)
        if node.parts:
            algebra.check_cycles(node)
        found = own_scalars(node)
        if node.parts:
            algebra.nesting += 1
            try:
                for part in node.parts:
                    found = found.meet(_part_scalars(algebra, part))
            except UnsupportedNumber as error:
                algebra.unsupported(node.where, "multipleOf", str(error))
                found = LOOSE
            algebra.nesting -= 1
        node.scalars = found
    scalars: Scalars = found
    if literal > 0:
        return scalars
    if node.opposite is None:
        try:
            node.opposite = scalars.complement()
        except UnsupportedNumber as error:
            algebra.unsupported(node.where, "multipleOf", str(error))
            node.opposite = LOOSE
    opposite: Scalars = node.opposite
    return opposite


def _part_scalars(algebra: Algebra, part: Part) -> Scalars:
    if part[0] == PART_ALL:
        result = ALL_SCALARS
        for literal in part[1]:
            result = result.meet(literal_scalars(algebra, literal))
        return result
    if part[0] == PART_SOME:
        result = NO_SCALARS
        for literal in part[1]:
            result = result.join(literal_scalars(algebra, literal))
        return result
    if part[0] == PART_ONE:
        none, one = ALL_SCALARS, NO_SCALARS
        for literal in part[1]:
            this = literal_scalars(algebra, literal)
            other = this.complement()
            one = one.meet(other).join(none.meet(this))
            none = none.meet(other)  # mutant: one-of
        return one
    if part[0] == PART_IF:
        condition = literal_scalars(algebra, part[1])
        yes = condition.meet(literal_scalars(algebra, part[2]))
        return yes.join(condition.complement().meet(literal_scalars(algebra, part[3])))
    return ALL_SCALARS


def own_scalars(node: Node) -> Scalars:
    """Return the scalar values of a node, without the constraints of its parts."""
    mask = node.mask
    number = node.number if mask & NUMBER else NO_NUMBERS
    text = node.text if mask & STRING else NONE
    if node.whole:
        return Scalars(mask, NO_NUMBERS, text, number, node.loose)
    return Scalars(mask, number, text, None, node.loose)


# -- working off disjunctions ------------------------------------------------------------------------------
#
# Everything that follows without a choice is collected first; then the shortest disjunction is worked off, and
# branches that clash are dropped.

MAX_STEPS: Final = 6_000  # of working off disjunctions, for one schema
MAX_FORMS: Final = 512  # alternatives for one value
CLASH_DEPTH: Final = 4  # levels of values that are looked into for a clash before everything is known


class _Branch:
    """A conjunction under construction, with its assumptions, atoms and remaining disjunctions.

    ``present``: names that are required (True) or forbidden (False). ``properties``: literals by name;
    ``keys``: atoms about many keys. ``touched``: required names whose values have changed, still unchecked.
    """

    __slots__ = ("assumed", "atoms", "clauses", "keys", "present", "properties", "touched", "unchecked")

    def __init__(self) -> None:
        self.assumed: set[Any] = set()
        self.atoms: list[Any] = []
        self.clauses: list[list[Alternative]] = []
        self.present: dict[str, bool] = {}
        self.properties: dict[str, tuple[int, ...]] = {}
        self.keys: tuple[tuple[Any, ...], ...] = ()
        self.touched: dict[str, None] = {}  # in order: a clash ends the look at them
        self.unchecked = False

    def copy(self) -> _Branch:
        """Return an independent copy. Cost: a shallow copy of the collected data."""
        other = _Branch.__new__(_Branch)
        other.assumed = set(self.assumed)
        other.atoms = list(self.atoms)
        other.clauses = list(self.clauses)
        other.present = dict(self.present)
        other.properties = dict(self.properties)
        other.keys = self.keys
        other.touched = dict(self.touched)
        other.unchecked = self.unchecked
        return other


class Expansion:
    """Expands the disjunctions of one state for one type."""

    def __init__(self, algebra: Algebra, kind: int) -> None:
        self.algebra = algebra
        self.kind = kind
        self.negate: Callable[..., list[Alternative]] = (
            negate_object_atom if kind == OBJECT else negate_array_atom
        )
        self.forms: Callable[..., list[Any]] = object_forms if kind == OBJECT else array_forms

    def run(self, state: State) -> list[tuple[tuple[Any, ...], ...]]:
        algebra = self.algebra
        first = _Branch()
        if not self.assume(first, sorted(state, key=abs)):
            return []
        known = tuple(dict.fromkeys(first.atoms))
        try:
            return self.work_off(first, state)
        except UnsupportedSchemaError as error:
            if not algebra.relax:
                raise
            # what follows without a choice holds of every alternative
            algebra.report.add("relaxed", error.where, error.keyword, error.reason)
            return [known]

    def work_off(self, first: _Branch, state: State) -> list[tuple[Any, ...]]:
        """Return the alternatives for a branch. Raises: UnsupportedSchemaError beyond the budgets."""
        algebra = self.algebra
        results: dict[tuple[Any, ...], None] = {}
        stack = [first]
        while stack:
            branch = stack.pop()
            if branch.clauses or branch is not first:  # one conjunction takes no steps
                algebra.charge(1 + (len(branch.clauses) >> 4), state)
            if len(results) > MAX_FORMS:
                raise UnsupportedSchemaError(
                    algebra.where(state),
                    self.culprit(state),
                    f"its combinations give more than {MAX_FORMS} alternatives for one value",
                )
            spend(20 + len(branch.atoms) // 4)
            clause = self.next_clause(branch)
            if clause is None:
                atoms = list(dict.fromkeys(branch.atoms))
                if self.kind == OBJECT:
                    atoms = in_order(algebra, state, branch.assumed, atoms)
                results[tuple(atoms)] = None
                continue
            if not clause:
                continue
            if branch.unchecked and len(clause) > 1:
                branch.unchecked = False
                if not self.forms(algebra, tuple(branch.atoms)):
                    continue
            # what is there or not splits the rest in two: the other alternatives assume the opposite
            clause.sort(key=_is_choice)
            opposites: list[Any] = []
            chosen: list[_Branch] = []
            copied = 8 + (len(branch.assumed) + len(branch.atoms) + len(branch.clauses)) // 32
            spend(copied * len(clause))
            for alternative in clause:
                inner = branch.copy()
                if self.assume(inner, [*opposites, *alternative]):
                    chosen.append(inner)
                if not _is_choice(alternative):
                    opposites.extend(self.negate(alternative[0])[0])
            stack.extend(reversed(chosen))
        return _minimal(list(results))

    def culprit(self, state: State) -> str:
        """Return a keyword that causes disjunctions, for use in messages."""
        names = {PART_ONE: "oneOf", PART_SOME: "anyOf", PART_IF: "if", PART_NEEDS: "dependencies"}
        for literal in state:
            for part in self.algebra.node(literal).parts:
                if part[0] in names:
                    return names[part[0]]
        return "allOf"

    def next_clause(self, branch: _Branch) -> list[Alternative] | None:
        """Choose the shortest open disjunction, with only the alternatives that are still possible.

        Returns None if there is none left, and an empty list if one cannot be satisfied.
        """
        best: list[Alternative] | None = None
        kept = []
        for clause in branch.clauses:
            spend(1 + len(clause))
            possible: list[Alternative] = []
            met = False
            for alternative in clause:
                verdict = self.verdict(branch, alternative)
                if verdict == 1:
                    met = True
                    break
                if verdict == 0:
                    possible.append(alternative)
            if met:
                continue
            if not possible:
                return []
            kept.append(possible)
            if best is None or len(possible) < len(best):
                best = possible
        if best is not None:
            kept.remove(best)
        branch.clauses = kept
        return best

    def verdict(self, branch: _Branch, alternative: Alternative) -> int:
        """Return 1 if the alternative already holds, -1 if it is impossible, 0 if it may be chosen."""
        holds = True
        assumed, present = branch.assumed, branch.present
        for item in alternative:
            if item in assumed:
                continue
            if isinstance(item, int):
                if -item in assumed or item == NOTHING:
                    return -1
                if item == EVERYTHING:
                    continue
                node = self.algebra.node(item)
                if not node.mask & self.kind:
                    if item > 0:
                        return -1
                    continue
            elif item[0] == REQUIRED:
                there = present.get(item[1])
                if there is False:
                    return -1
                if there:
                    continue
            elif item[0] == PROPERTY:
                name, literal = item[1], item[2]
                there = present.get(name)
                if there is False:
                    continue
                if there or (REQUIRED, name) in alternative:
                    if literal == NOTHING:
                        return -1
                    known = branch.properties.get(name, ())
                    if self.algebra.clashes(self.algebra.state((*known, literal))):
                        return -1
                    if there and self.algebra.clashes(self.algebra.state((*known, -literal))):
                        continue
            holds = False
        return 1 if holds else 0

    def assume(self, branch: _Branch, items: Any) -> bool:
        """Add literals and atoms with all their consequences. Return False on a contradiction."""
        algebra = self.algebra
        todo = list(items)
        spend(2 + 2 * len(todo))
        todo.reverse()  # a stack: the first comes off first, as the order of declaration has it
        assumed = branch.assumed
        while todo:
            item = todo.pop()
            if item in assumed or item == EVERYTHING:
                continue
            assumed.add(item)
            if not isinstance(item, int):
                if not self.add_atom(branch, item):
                    return False
                continue
            if item == NOTHING or -item in assumed:
                return False
            node = algebra.node(item)
            if node.parts:
                algebra.check_cycles(node)
            if item > 0:
                if not node.mask & self.kind or not self.assume_node(branch, node, todo):
                    return False
            elif node.mask & self.kind:
                alternatives = self.negations(node)
                if not alternatives:
                    return False
                if len(alternatives) == 1:
                    todo.extend(reversed(alternatives[0]))
                else:
                    branch.clauses.append(alternatives)
        return not branch.touched or self.check_touched(branch)

    def add_atom(self, branch: _Branch, atom: Atom) -> bool:
        if atom[0] == REQUIRED:
            name = atom[1]
            if branch.present.get(name) is False:
                return False
            branch.present[name] = True
            branch.touched[name] = None
        elif atom[0] == PROPERTY:
            name, literal = atom[1], atom[2]
            present = branch.present.get(name)
            if literal == NOTHING:
                if present:
                    return False
                branch.present[name] = False
            branch.properties[name] = (*branch.properties.get(name, ()), literal)
            if present:
                branch.touched[name] = None
        elif atom[0] == KEYS:
            branch.keys = (*branch.keys, atom)
            branch.touched.update((name, None) for name, there in branch.present.items() if there)
        else:
            branch.unchecked = True
        branch.atoms.append(atom)
        return True

    def check_touched(self, branch: _Branch) -> bool:
        """Return whether the values of the touched required names may still be possible."""
        algebra = self.algebra
        for name in branch.touched:
            literals = list(branch.properties.get(name, ()))
            literals.extend(atom[2] for atom in branch.keys if atom[1].has(name))
            if literals and algebra.clashes(algebra.state(literals)):
                return False
        branch.touched.clear()
        return True

    def assume_node(self, branch: _Branch, node: Node, todo: list[Any]) -> bool:
        kind = self.kind
        own = node.objects if kind == OBJECT else node.arrays
        unevaluated = node.unevaluated_properties if kind == OBJECT else node.unevaluated_items
        if unevaluated is not None and unevaluated != EVERYTHING:
            branch.clauses.append(self.evaluations(node, unevaluated, False))
        follows: list[Any] = []
        for part in node.parts:
            for clause in self.clauses(part):
                if not clause:
                    return False
                if len(clause) == 1:
                    follows.extend(clause[0])
                else:
                    branch.clauses.append(clause)
        follows = [*follows, *own] if node.parts_first else [*own, *follows]
        if follows:
            spend(2 * len(follows))
        todo.extend(reversed(follows))
        return True

    def clauses(self, part: Part) -> list[list[Alternative]]:
        """Return the constraints that a part puts on this type: a conjunction of disjunctions."""
        objects_only = self.kind == OBJECT
        if part[0] == PART_ALL:
            return [[part[1]]]
        if part[0] == PART_SOME:
            return [[(literal,) for literal in part[1]]]
        if part[0] == PART_ONE:
            return [self.exactly_one(part[1])]
        if part[0] == PART_IF:
            return [[(part[1], part[2]), (-part[1], part[3])]]
        if part[0] == PART_VALUES:
            return [[(literal,) for literal in part[1] if self.algebra.node(literal).mask & self.kind]]
        if part[0] == PART_NEEDS and objects_only:
            needed: Alternative = tuple((REQUIRED, name) for name in part[2])
            return [[((PROPERTY, part[1], NOTHING),), needed]]
        if part[0] == PART_NEEDS_SCHEMA and objects_only:
            return [[((PROPERTY, part[1], NOTHING),), (part[2],)]]
        return []

    def exactly_one(self, literals: tuple[int, ...]) -> list[Alternative]:
        """Return one alternative for each literal: this one holds, and no other that could also hold."""
        possible = [x for x in literals if x < 0 or self.algebra.node(x).mask & self.kind]
        alternatives: list[Alternative] = []
        for i, literal in enumerate(possible):
            spend(2 * len(possible))
            others = tuple(
                -other for j, other in enumerate(possible) if j != i and not self.disjoint(literal, other)
            )
            alternatives.append((literal, *others))
        return alternatives

    def disjoint(self, a: int, b: int) -> bool:
        """Return whether two literals are known to share no value of this type."""
        if a == -b:
            return True
        if a == b:
            return False
        key = ("disjoint", self.kind, min(a, b), max(a, b))
        constants = self.algebra.constants
        found = constants.get(key)
        if found is None:
            found = self.discriminated(a, b)
            if not found:
                algebra = self.algebra
                if algebra.depth >= CLASH_DEPTH:
                    return False  # not known: not remembered either
                algebra.depth += 1
                try:
                    found = not any(
                        self.forms(algebra, atoms)
                        for atoms in Expansion(algebra, self.kind).run(frozenset((a, b)))
                    )
                finally:
                    algebra.depth -= 1
            constants[key] = found
        return bool(found)

    def discriminated(self, a: int, b: int) -> bool:
        """Return whether a property that both require distinguishes two object schemas. Cost: linear in these."""
        if a < 0 or b < 0 or self.kind != OBJECT:
            return False
        algebra = self.algebra
        first, second = algebra.node(a), algebra.node(b)
        required = {atom[1] for atom in first.objects if atom[0] == REQUIRED}
        required.update(atom[1] for atom in second.objects if atom[0] == REQUIRED)
        if not required:
            return False
        ours = {atom[1]: atom[2] for atom in first.objects if atom[0] == PROPERTY and atom[1] in required}
        return any(
            algebra.clashes(algebra.state((ours[atom[1]], atom[2])))
            for atom in second.objects
            if atom[0] == PROPERTY and atom[1] in ours
        )

    def negations(self, node: Node) -> list[Alternative]:
        """Return the alternatives of "not this node"."""
        kind = self.kind
        if node.loose:
            return [()]  # not known, so nothing follows
        result: list[Alternative] = []
        for atom in node.objects if kind == OBJECT else node.arrays:
            result.extend(self.negate(atom))
        unevaluated = node.unevaluated_properties if kind == OBJECT else node.unevaluated_items
        if unevaluated is not None and unevaluated != EVERYTHING:
            result.extend(self.evaluations(node, unevaluated, True))
        for part in node.parts:
            result.extend(self.negated_part(part))
        return list(dict.fromkeys(result))

    def negated_part(self, part: Part) -> list[Alternative]:
        objects_only = self.kind == OBJECT
        if part[0] == PART_ALL:
            return [(-literal,) for literal in part[1]]
        if part[0] == PART_SOME:
            return [tuple(-literal for literal in part[1])]
        if part[0] == PART_VALUES:
            return [tuple(-x for x in part[1] if self.algebra.node(x).mask & self.kind)]
        if part[0] == PART_ONE:
            literals = [x for x in part[1] if x < 0 or self.algebra.node(x).mask & self.kind]
            result: list[Alternative] = [tuple(-literal for literal in literals)]
            for i, a in enumerate(literals):
                result.extend((a, b) for b in literals[i + 1 :] if not self.disjoint(a, b))
            return result
        if part[0] == PART_IF:
            return [(part[1], -part[2]), (-part[1], -part[3])]
        if part[0] == PART_NEEDS and objects_only:
            return [((REQUIRED, part[1]), (PROPERTY, name, NOTHING)) for name in part[2]]
        if part[0] == PART_NEEDS_SCHEMA and objects_only:
            return [((REQUIRED, part[1]), -part[2])]
        return []

    def evaluations(self, node: Node, unevaluated: int, negated: bool) -> list[Alternative]:
        """Return the cases of subschemas that hold, each with the rest for the unevaluated keyword."""
        algebra = self.algebra
        plain = algebra.without_unevaluated(node)
        algebra.check_cycles(algebra.nodes[plain])
        result: list[Alternative] = []
        sign = -1 if negated else 1
        if self.kind == OBJECT:
            for assumptions, names, sets, everything in property_alternatives(algebra, node):
                if everything:
                    if not negated:
                        result.append((plain, *assumptions))
                    continue
                atom: tuple[Any, ...] = (KEYS, KeySet(names, sets, True), unevaluated)
                outcomes = [(atom,)] if sign > 0 else self.negate(atom)
                result.extend((plain, *assumptions, *outcome) for outcome in outcomes)
            return result
        for assumptions, start, contained, everything in item_alternatives(algebra, node):
            if everything:
                if not negated:
                    result.append((plain, *assumptions))
                continue
            literal = algebra.any_of([unevaluated, *contained], node.where)
            atom = (REST, start, literal)
            outcomes = [(atom,)] if sign > 0 else self.negate(atom)
            result.extend((plain, *assumptions, *outcome) for outcome in outcomes)
        return result


def _is_choice(alternative: Alternative) -> bool:
    """Return whether an alternative contains more than the presence or absence of one key."""
    atom = alternative[0]
    return (
        len(alternative) > 1
        or isinstance(atom, int)
        or not (atom[0] == REQUIRED or (atom[0] == PROPERTY and atom[2] == NOTHING))
    )


def _minimal(results: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Remove conjunctions that are implied by a weaker one in the same order.

    Cost: quadratic, for up to 64 conjunctions.
    """
    if len(results) < 2 or len(results) > 64:
        return results
    sets = [frozenset(atoms) for atoms in results]
    return [
        atoms
        for i, atoms in enumerate(results)
        if not any(
            other < sets[i] and _names(results[j]) == _names(atom for atom in atoms if atom in other)
            for j, other in enumerate(sets)
        )
    ]


def _names(atoms: Iterable[Any]) -> list[str]:
    """Return the names of members in the order of the conjunctions."""
    return [atom[1] for atom in atoms if atom[0] == PROPERTY]


# -- what `unevaluatedProperties` and `unevaluatedItems` see -----------------------------------------------
#
# Each alternative assumes of every subschema that looks at properties or items either that it holds or that it does
# not, so that what is left over is known.

MAX_ALTERNATIVES: Final = 512

Names = dict[str, Any]
Properties = tuple[tuple[Any, ...], Names, tuple[Texts, ...], bool]
"""The assumptions, the names and sets of keys that were inspected, and whether all keys were inspected."""
Items = tuple[tuple[Any, ...], int, tuple[int, ...], bool]
"""The assumptions, the number of leading items inspected, the schemas of others, and whether all were."""

NO_PROPERTIES: Final[Properties] = ((), {}, (), False)
NO_ITEMS: Final[Items] = ((), 0, (), False)


def property_alternatives(algebra: Algebra, node: Node, inner: bool = False) -> list[Properties]:
    """Return all cases of the properties that the subschemas of a node inspect.

    Raises: UnsupportedSchemaError if there are more than 512.
    """
    own = NO_PROPERTIES
    schema = node.schema
    if isinstance(schema, dict):
        keywords = node.resource.draft.keywords
        names = schema.get("properties", {}) if "properties" in keywords else {}
        patterns = schema.get("patternProperties", {}) if "patternProperties" in keywords else {}
        keys = key_set(algebra, node, names, patterns, False)
        everything = "additionalProperties" in schema or (inner and node.unevaluated_properties is not None)
        own = ((), dict(keys.names), keys.sets, everything)

    def join(a: Properties, b: Properties) -> Properties:
        sets = a[2] + tuple(texts for texts in b[2] if texts not in a[2])
        return a[0] + b[0], {**a[1], **b[1]}, sets, a[3] or b[3]

    def looks(case: Properties) -> bool:
        return bool(case[1] or case[2] or case[3])

    return _cases(
        algebra, node, own, NO_PROPERTIES, property_alternatives, join, looks, "unevaluatedProperties"
    )


def item_alternatives(algebra: Algebra, node: Node, inner: bool = False) -> list[Items]:
    """Return all cases of the items that the subschemas of a node inspect.

    Raises: UnsupportedSchemaError if there are more than 512.
    """
    own = NO_ITEMS
    schema = node.schema
    if isinstance(schema, dict):
        draft = node.resource.draft
        prefix, everything = 0, inner and node.unevaluated_items is not None
        contained: tuple[int, ...] = ()
        items = schema.get("items")
        if draft.prefix_in_items and isinstance(items, list):
            prefix, everything = len(items), everything or "additionalItems" in schema
        else:
            everything = everything or items is not None
        if "prefixItems" in draft.keywords:
            prefix = max(prefix, len(schema.get("prefixItems", ())))
            if "contains" in schema:
                contained = (algebra.literal(schema["contains"], node, (node.where, "contains")),)
        own = ((), prefix, contained, everything)

    def join(a: Items, b: Items) -> Items:
        return a[0] + b[0], max(a[1], b[1]), (*a[2], *b[2]), a[3] or b[3]

    def looks(case: Items) -> bool:
        return bool(case[1] or case[2] or case[3])

    return _cases(algebra, node, own, NO_ITEMS, item_alternatives, join, looks, "unevaluatedItems")


def _cases(
    algebra: Algebra,
    node: Node,
    own: Any,
    nothing: Any,
    alternatives: Any,
    join: Any,
    looks: Any,
    keyword: str,
) -> list[Any]:
    results = [own]

    def cross(options: list[Any]) -> None:
        nonlocal results
        if len(results) * len(options) > MAX_ALTERNATIVES:
            raise UnsupportedSchemaError(
                node.where, keyword, f"more than {MAX_ALTERNATIVES} cases of which subschemas hold"
            )
        results = [join(a, b) for a, b in product(results, options)]

    def assuming(assumptions: tuple[Any, ...], cases: list[Any]) -> list[Any]:
        return [(assumptions + case[0], *case[1:]) for case in cases]

    def inside(literal: int) -> list[Any]:
        if abs(literal) == 1 or literal < 0:
            return [nothing]
        return alternatives(algebra, algebra.node(literal), True)

    for part in node.parts:
        if part[0] == PART_ALL:
            for literal in part[1]:
                cross(inside(literal))
        elif part[0] == PART_SOME or part[0] == PART_ONE:
            for literal in part[1]:
                cases = inside(literal)
                if any(map(looks, cases)):
                    cross([*assuming((literal,), cases), ((-literal,), *nothing[1:])])
        elif part[0] == PART_IF:
            condition = part[1]
            yes = [join(a, b) for a, b in product(inside(condition), inside(part[2]))]
            no = inside(part[3])
            if any(map(looks, yes + no)):
                cross([*assuming((condition,), yes), *assuming((-condition,), no)])
        elif part[0] == PART_NEEDS_SCHEMA and keyword == "unevaluatedProperties":
            cases = inside(part[2])
            if any(map(looks, cases)):
                absent = (((PROPERTY, part[1], -1),), *nothing[1:])
                cross([*assuming(((REQUIRED, part[1]),), cases), absent])
    return results
