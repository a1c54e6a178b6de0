"""Working off disjunctions: what a state means for arrays or for objects, as conjunctions of atoms.

Everything that follows without a choice is collected first; then the shortest disjunction is worked off, and
branches that clash are dropped.
"""

from __future__ import annotations

from typing import Any, Final

from stackmask.grammar.json_schema.algebra import arrays, objects
from stackmask.grammar.json_schema.algebra.unevaluated import item_alternatives, property_alternatives
from stackmask.grammar.json_schema.document.errors import UnsupportedSchemaError
from stackmask.grammar.json_schema.nodes.interfaces import States
from stackmask.grammar.json_schema.nodes.nodes import (
    EVERYTHING,
    KEYS,
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
    KeySet,
    Node,
    State,
)
from stackmask.grammar.json_schema.sets.values import OBJECT
from stackmask.grammar.source.work import spend

MAX_STEPS: Final = 6_000  # of working off disjunctions, for one schema
MAX_FORMS: Final = 512  # alternatives for one value
CLASH_DEPTH: Final = 4  # levels of values that are looked into for a clash before everything is known


class _Branch:
    """A conjunction being collected: what is assumed, atoms found, disjunctions left.

    ``present``: names that are required (True) or forbidden (False). ``properties``: literals by name; ``keys``:
    atoms about many keys. ``touched``: required names whose values changed and were not checked yet.
    """

    __slots__ = ("assumed", "atoms", "clauses", "keys", "present", "properties", "touched", "unchecked")

    def __init__(self) -> None:
        self.assumed: set[Any] = set()
        self.atoms: list[Any] = []
        self.clauses: list[list[tuple[Any, ...]]] = []
        self.present: dict[str, bool] = {}
        self.properties: dict[str, tuple[int, ...]] = {}
        self.keys: tuple[tuple[Any, ...], ...] = ()
        self.touched: dict[str, None] = {}  # in order: a clash ends the look at them
        self.unchecked = False

    def copy(self) -> _Branch:
        """Return an independent copy. Cost: what was collected, shallowly."""
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
    """Works off the disjunctions of one state for one type."""

    def __init__(self, algebra: States, kind: int) -> None:
        self.algebra = algebra
        self.kind = kind
        self.negate = objects.negate if kind == OBJECT else arrays.negate
        self.consistent = objects.is_consistent if kind == OBJECT else arrays.is_consistent

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
        """Return the alternatives of a branch. Raises: UnsupportedSchemaError beyond the budgets."""
        algebra = self.algebra
        results: dict[tuple[Any, ...], None] = {}
        stack = [first]
        while stack:
            branch = stack.pop()
            algebra.charge(1 + (len(branch.clauses) >> 4), state)
            if len(results) > MAX_FORMS:
                raise UnsupportedSchemaError(
                    algebra.where(state),
                    self.culprit(state),
                    f"its combinations come to more than {MAX_FORMS} alternatives for one value",
                )
            spend(20 + len(branch.atoms) // 4)
            clause = self.next_clause(branch)
            if clause is None:
                results[tuple(dict.fromkeys(branch.atoms))] = None
                continue
            if not clause:
                continue
            if branch.unchecked and len(clause) > 1:
                branch.unchecked = False
                if not self.consistent(algebra, branch.atoms):
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
        """Return a keyword that makes disjunctions, for messages."""
        names = {PART_ONE: "oneOf", PART_SOME: "anyOf", PART_IF: "if", PART_NEEDS: "dependencies"}
        for literal in state:
            for part in self.algebra.node(literal).parts:
                if part[0] in names:
                    return names[part[0]]
        return "allOf"

    def next_clause(self, branch: _Branch) -> list[tuple[Any, ...]] | None:
        """Take the shortest open disjunction, with only the alternatives that are still possible.

        Returns None if there is none left, and an empty list if one cannot be met.
        """
        best: list[tuple[Any, ...]] | None = None
        kept = []
        for clause in branch.clauses:
            spend(1 + len(clause))
            possible: list[tuple[Any, ...]] = []
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

    def verdict(self, branch: _Branch, alternative: tuple[Any, ...]) -> int:
        """Return 1 if the alternative holds already, -1 if it cannot, 0 if it may be chosen."""
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
        """Add literals and atoms with all that follows from them. False if they contradict one another."""
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

    def add_atom(self, branch: _Branch, atom: tuple[Any, ...]) -> bool:
        kind = atom[0]
        if kind == REQUIRED:
            name = atom[1]
            if branch.present.get(name) is False:
                return False
            branch.present[name] = True
            branch.touched[name] = None
        elif kind == PROPERTY:
            name, literal = atom[1], atom[2]
            present = branch.present.get(name)
            if literal == NOTHING:
                if present:
                    return False
                branch.present[name] = False
            branch.properties[name] = (*branch.properties.get(name, ()), literal)
            if present:
                branch.touched[name] = None
        elif kind == KEYS:
            branch.keys = (*branch.keys, atom)
            branch.touched.update((name, None) for name, there in branch.present.items() if there)
        else:
            branch.unchecked = True
        branch.atoms.append(atom)
        return True

    def check_touched(self, branch: _Branch) -> bool:
        """Return whether the values of the required names that were touched may still be possible."""
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

    def clauses(self, part: tuple[Any, ...]) -> list[list[tuple[Any, ...]]]:
        """Return what a part says of this type: disjunctions, all of which hold."""
        kind = part[0]
        objects_only = self.kind == OBJECT
        if kind == PART_ALL:
            return [[part[1]]]
        if kind == PART_SOME:
            return [[(literal,) for literal in part[1]]]
        if kind == PART_ONE:
            return [self.exactly_one(part[1])]
        if kind == PART_IF:
            return [[(part[1], part[2]), (-part[1], part[3])]]
        if kind == PART_VALUES:
            return [[(literal,) for literal in part[1] if self.algebra.node(literal).mask & self.kind]]
        if kind == PART_NEEDS and objects_only:
            needed = tuple((REQUIRED, name) for name in part[2])
            return [[((PROPERTY, part[1], NOTHING),), needed]]
        if kind == PART_NEEDS_SCHEMA and objects_only:
            return [[((PROPERTY, part[1], NOTHING),), (part[2],)]]
        return []

    def exactly_one(self, literals: tuple[int, ...]) -> list[tuple[Any, ...]]:
        """Return one alternative per literal: it holds, and of the others none that could hold too."""
        possible = [x for x in literals if x < 0 or self.algebra.node(x).mask & self.kind]
        alternatives: list[tuple[Any, ...]] = []
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
                        self.consistent(algebra, list(atoms))
                        for atoms in Expansion(algebra, self.kind).run(frozenset((a, b)))
                    )
                finally:
                    algebra.depth -= 1
            constants[key] = found
        return bool(found)

    def discriminated(self, a: int, b: int) -> bool:
        """Return whether a property that both require tells two schemas of objects apart. Cost: their properties."""
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

    def negations(self, node: Node) -> list[tuple[Any, ...]]:
        """Return the alternatives of "not this node"."""
        kind = self.kind
        if node.loose:
            return [()]  # not known, so nothing follows
        result: list[tuple[Any, ...]] = []
        for atom in node.objects if kind == OBJECT else node.arrays:
            result.extend(self.negate(atom))
        unevaluated = node.unevaluated_properties if kind == OBJECT else node.unevaluated_items
        if unevaluated is not None and unevaluated != EVERYTHING:
            result.extend(self.evaluations(node, unevaluated, True))
        for part in node.parts:
            result.extend(self.negated_part(part))
        return list(dict.fromkeys(result))

    def negated_part(self, part: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        kind = part[0]
        objects_only = self.kind == OBJECT
        if kind == PART_ALL:
            return [(-literal,) for literal in part[1]]
        if kind == PART_SOME:
            return [tuple(-literal for literal in part[1])]
        if kind == PART_VALUES:
            return [tuple(-x for x in part[1] if self.algebra.node(x).mask & self.kind)]
        if kind == PART_ONE:
            literals = [x for x in part[1] if x < 0 or self.algebra.node(x).mask & self.kind]
            result: list[tuple[Any, ...]] = [tuple(-literal for literal in literals)]
            for i, a in enumerate(literals):
                result.extend((a, b) for b in literals[i + 1 :] if not self.disjoint(a, b))
            return result
        if kind == PART_IF:
            return [(part[1], -part[2]), (-part[1], -part[3])]
        if kind == PART_NEEDS and objects_only:
            return [((REQUIRED, part[1]), (PROPERTY, name, NOTHING)) for name in part[2]]
        if kind == PART_NEEDS_SCHEMA and objects_only:
            return [((REQUIRED, part[1]), -part[2])]
        return []

    def evaluations(self, node: Node, unevaluated: int, negated: bool) -> list[tuple[Any, ...]]:
        """Return the alternatives of which subschemas hold, each with what is left for the unevaluated keyword."""
        algebra = self.algebra
        plain = algebra.without_unevaluated(node)
        algebra.check_cycles(algebra.nodes[plain])
        result: list[tuple[Any, ...]] = []
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


def _is_choice(alternative: tuple[Any, ...]) -> bool:
    """Return whether an alternative says more than that one key is there, or is not."""
    atom = alternative[0]
    return (
        len(alternative) > 1
        or isinstance(atom, int)
        or not (atom[0] == REQUIRED or (atom[0] == PROPERTY and atom[2] == NOTHING))
    )


def _minimal(results: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Leave out conjunctions that another, weaker one makes superfluous. Cost: quadratic for up to 64 of them."""
    if len(results) < 2 or len(results) > 64:
        return results
    sets = [frozenset(atoms) for atoms in results]
    return [
        atoms
        for i, atoms in enumerate(results)
        if not any(other < sets[i] for j, other in enumerate(sets) if j != i)
    ]
