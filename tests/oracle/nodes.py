"""Turn a RuleSet into numbered nodes, and compute which of them can derive anything, and in what context.

Follow restrictions are made exact by guessing. The restriction masks of a grammar split the symbols
into a few *classes* (class 0: in no mask, with the end of input and the special tokens). For a node x,
(f, c) says: x derives some w such that, where a symbol of class c comes after w, the first symbol of
"w and what comes after" has class f. So ε relates each f to itself, a restriction relates f to itself
where f is allowed, a byte of class f relates f to every c, and a sequence is the product of relations.
Relations are Boolean matrices, kept apart for empty and for non-empty w: a *pair* (E, N).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from oracle.regular import Dfa, compile_dfa
from stackmask.grammar import ir

Matrix = tuple[int, ...]  # row f is a bit set of the columns c
Pair = tuple[Matrix, Matrix]
Kind = Literal[
    "seq", "choice", "repeat", "leaf", "token", "restrict", "capture", "scope", "dynamic", "nonempty"
]


@dataclass(eq=False)
class Node:
    kind: Kind
    kids: list[int] = field(default_factory=list)
    low: int = 0
    high: int | None = None
    dfa: Dfa | None = None
    token_ids: frozenset[int] = frozenset()
    allowed_classes: int = 0  # of "restrict": the classes that may come next
    call: Callable[..., object] | str | None = None  # the action or the resolver


class Nodes:
    """The nodes of a RuleSet; ``pairs[i]`` is the relation of node i (the least fixpoint)."""

    def __init__(
        self, ruleset: ir.RuleSet, special_names: Mapping[str, int], known_ids: Collection[int] | None
    ) -> None:
        self.ruleset = ruleset
        self.special_names = special_names
        self.known_ids = frozenset(special_names.values() if known_ids is None else known_ids)
        self.nodes: list[Node] = []
        self.leaves: dict[ir.Expr, int] = {}
        self._leaf_classes: dict[tuple[int, int], int] = {}
        self._relations: list[Matrix] = []
        self._set_classes()
        self.has_callables = any(
            (isinstance(e, ir.Dynamic) and e.resolver != "top")
            or (isinstance(e, ir.Capture) and e.action != "push")
            for rule in ruleset.rules.values()
            for e in ir.walk(rule.body)
        )
        self.rule_node = {name: self._new(Node("seq")) for name in ruleset.rules}
        for name, rule in ruleset.rules.items():
            self.nodes[self.rule_node[name]].kids = [self._compile(rule.body)]
        self.start = self.rule_node[ruleset.start]
        self.zero: Matrix = (0,) * self.n_classes
        self.one: Matrix = tuple(1 << i for i in range(self.n_classes))
        self.full: Matrix = ((1 << self.n_classes) - 1,) * self.n_classes
        self.pairs: list[Pair] = [(self.zero, self.zero)] * len(self.nodes)
        self._solve()
        self._relations = [self._plus(*pair) for pair in self.pairs]
        self._rests: dict[tuple[int, int], Matrix] = {}

    # --- symbol classes -------------------------------------------------------------------------

    def _set_classes(self) -> None:
        masks = sorted(
            {
                e.mask
                for rule in self.ruleset.rules.values()
                for e in ir.walk(rule.body)
                if isinstance(e, ir.NotFollowedBy)
            }
        )
        signatures = {(False,) * len(masks): 0}
        self.class_of_byte = [
            signatures.setdefault(tuple(bool(m >> b & 1) for m in masks), len(signatures)) for b in range(256)
        ]
        self.n_classes = len(signatures)
        self.allowed_by_mask = {
            m: sum(1 << number for signature, number in signatures.items() if not signature[i])
            for i, m in enumerate(masks)
        }

    # --- compilation ----------------------------------------------------------------------------

    def _new(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def leaf(self, expr: ir.Expr) -> int:
        """Return the node of a regular expression, made a DFA as a whole."""
        if expr not in self.leaves:
            self.leaves[expr] = self._new(Node("leaf", dfa=compile_dfa(expr, self.ruleset.rules)))
        return self.leaves[expr]

    def _compile(self, expr: ir.Expr) -> int:
        match expr:
            case ir.Literal() | ir.CharClass() | ir.ByteClass() | ir.Intersection() | ir.Complement():
                return self.leaf(expr)
            case ir.Sequence(items):
                return self._new(Node("seq", [self._compile(item) for item in items]))
            case ir.Choice(items):
                return self._new(Node("choice", [self._compile(item) for item in items]))
            case ir.Repeat(item, low, high):
                return self._new(Node("repeat", [self._compile(item)], low, high))
            case ir.RuleRef(name, nonempty):
                node = self.rule_node[name]
                return self._new(Node("nonempty", [node])) if nonempty else node
            case ir.TokenTerminal(names, id_ranges, negated):
                named = {self.special_names[name] for name in names}
                named.update(i for a, b in id_ranges for i in range(a, b + 1))
                ids = self.known_ids - named if negated else named
                return self._new(Node("token", token_ids=frozenset(ids)))
            case ir.NotFollowedBy(mask):
                return self._new(Node("restrict", allowed_classes=self.allowed_by_mask[mask]))
            case ir.Capture(item, action):
                return self._new(Node("capture", [self._compile(item)], call=action))
            case ir.Scope(item):
                return self._new(Node("scope", [self._compile(item)]))
            case ir.Dynamic(resolver):
                return self._new(Node("dynamic", call=resolver))
        raise TypeError(expr)

    def resolve(self, resolver: object, value: Hashable) -> int | None:
        """Return the leaf of what a dynamic rule means for a semantic value, None where it means nothing."""
        if resolver == "top":
            assert isinstance(value, tuple)
            return self.leaf(ir.Literal(value[-1])) if value else None
        assert callable(resolver)
        return self.leaf(resolver(value))

    # --- relations ------------------------------------------------------------------------------

    def _times(self, left: Matrix, right: Matrix) -> Matrix:
        rows = []
        for row in left:
            out = 0
            for i, other in enumerate(right):
                if row >> i & 1:
                    out |= other
            rows.append(out)
        return tuple(rows)

    def _plus(self, left: Matrix, right: Matrix) -> Matrix:
        return tuple(a | b for a, b in zip(left, right, strict=True))

    def _then(self, left: Pair, right: Pair) -> Pair:
        empty = self._times(left[0], right[0])
        some = self._times(left[1], self._plus(right[0], right[1]))
        return empty, self._plus(some, self._times(left[0], right[1]))

    def _either(self, left: Pair, right: Pair) -> Pair:
        return self._plus(left[0], right[0]), self._plus(left[1], right[1])

    def _power(self, base: Pair, exponent: int) -> Pair:
        result: Pair = (self.one, self.zero)
        while exponent:
            if exponent & 1:
                result = self._then(result, base)
            base = self._then(base, base)
            exponent >>= 1
        return result

    def _repeat(self, item: Pair, low: int, high: int | None) -> Pair:
        optional = self._either((self.one, self.zero), item)
        if high is not None:
            return self._then(self._power(item, low), self._power(optional, high - low))
        while (squared := self._then(optional, optional)) != optional:
            optional = squared
        return self._then(self._power(item, low), optional)

    def leaf_classes(self, dfa: Dfa, state: int) -> int:
        """Return the classes of the bytes that may come next inside a DFA state."""
        key = (id(dfa), state)
        if key not in self._leaf_classes:
            self._leaf_classes[key] = sum({1 << self.class_of_byte[b] for b in dfa.steps[state]})
        return self._leaf_classes[key]

    def _evaluate(self, node: Node) -> Pair:
        match node.kind:
            case "seq":
                result: Pair = (self.one, self.zero)
                for kid in node.kids:
                    result = self._then(result, self.pairs[kid])
                return result
            case "choice":
                result = (self.zero, self.zero)
                for kid in node.kids:
                    result = self._either(result, self.pairs[kid])
                return result
            case "repeat":
                return self._repeat(self.pairs[node.kids[0]], node.low, node.high)
            case "leaf":
                assert node.dfa is not None
                first = self.leaf_classes(node.dfa, 0)
                some = tuple(self.full[i] if first >> i & 1 else 0 for i in range(self.n_classes))
                return (self.one if 0 in node.dfa.accepting else self.zero), some
            case "token":
                return self.zero, (self.full[0] if node.token_ids else 0, *self.zero[1:])
            case "restrict":
                return tuple(
                    r if node.allowed_classes >> i & 1 else 0 for i, r in enumerate(self.one)
                ), self.zero
            case "capture" | "scope":
                return self.pairs[node.kids[0]]
            case "nonempty":
                return self.zero, self.pairs[node.kids[0]][1]
            case "dynamic":
                return self.zero, self.full

    def _solve(self) -> None:
        users: list[list[int]] = [[] for _ in self.nodes]
        for i, node in enumerate(self.nodes):
            for kid in node.kids:
                users[kid].append(i)
        todo = list(range(len(self.nodes)))
        queued = set(todo)
        while todo:
            i = todo.pop()
            queued.discard(i)
            pair = self._evaluate(self.nodes[i])
            if pair != self.pairs[i]:
                self.pairs[i] = pair
                new = [u for u in users[i] if u not in queued]
                todo += new
                queued.update(new)

    def relation(self, node: int) -> Matrix:
        """Return the relation of a node, empty and non-empty derivations together."""
        return self._relations[node]

    def rest(self, node_id: int, position: int) -> Matrix:
        """Return the relation of what is left of a "seq" after ``position`` kids, or of a "repeat"."""
        key = (node_id, position)
        if key not in self._rests:
            node = self.nodes[node_id]
            if node.kind == "seq":
                result: Pair = (self.one, self.zero)
                for kid in node.kids[position:]:
                    result = self._then(result, self.pairs[kid])
            else:
                high = None if node.high is None else node.high - position
                result = self._repeat(self.pairs[node.kids[0]], max(node.low - position, 0), high)
            self._rests[key] = self._plus(*result)
        return self._rests[key]
