"""A fixed indentation, as ``json.dumps(indent=…)`` writes it: a line break and as many indents as the depth.

The depth is part of the semantic state: a pair of the depth and of what other actions of the grammar keep. An
opening bracket makes it one deeper, and every array and object is a scope, which restores it. So the rules are the
same at all depths, and there is no bound on them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.source.work import spend

START: Final = (0, None)
"""The state that a text begins in: depth 0, and nothing else is known."""


class OfDepth:
    """What asks for the depth, or changes it, and is not to be told of anything else."""

    __slots__ = ()


class Deeper(OfDepth):
    """The action of an opening bracket."""

    __slots__ = ()
    never_forbids = True

    def __call__(self, state: Hashable, _: bytes) -> Hashable:
        """Return the state one level deeper."""
        assert isinstance(state, tuple)
        return (state[0] + 1, state[1])


class LineBreak(OfDepth):
    """A resolver: text, a line break and the indentation of the depth, or of another one."""

    __slots__ = ("before", "indent", "offset")

    def __init__(self, before: bytes, indent: bytes, offset: int) -> None:
        self.before = before
        self.indent = indent
        self.offset = offset

    @property
    def written(self) -> bytes:
        """What diagrams show."""
        return self.before

    def __call__(self, state: Hashable) -> ir.Expr:
        """Return the text as an expression. Cost: its length."""
        assert isinstance(state, tuple)
        return ir.Literal(self.before + b"\n" + self.indent * (state[0] + self.offset))


class _Inner:
    """An action on what the state holds beside the depth."""

    __slots__ = ("action",)

    def __init__(self, action: Callable[[Hashable, bytes], Hashable | None]) -> None:
        self.action = action

    def __call__(self, state: Hashable, text: bytes) -> Hashable | None:
        assert isinstance(state, tuple)
        inner = self.action(state[1], text)
        return None if inner is None else (state[0], inner)


class _InnerResolver:
    """A resolver that asks for what the state holds beside the depth."""

    __slots__ = ("resolver",)

    def __init__(self, resolver: Callable[[Hashable], ir.Expr]) -> None:
        self.resolver = resolver

    def __call__(self, state: Hashable) -> ir.Expr:
        assert isinstance(state, tuple)
        return self.resolver(state[1])


def beside_depth(rules: ir.RuleSet, start: Hashable = START) -> ir.RuleSet:
    """Return the rules with a depth beside what their actions and resolvers keep; ``start`` is the first state.

    Cost: linear in the rules; no recursion.
    """
    wrapped: dict[int, _Inner | _InnerResolver] = {}
    known: dict[int, ir.Expr] = {}

    def wrap_action(action: ir.Action) -> ir.Action:
        if isinstance(action, str | OfDepth | ir.TokenLimit):
            return action
        found = wrapped.setdefault(id(action), _Inner(action))
        assert isinstance(found, _Inner)
        return found

    def wrap_resolver(resolver: ir.Resolver) -> ir.Resolver:
        if isinstance(resolver, str | OfDepth):
            return resolver
        found = wrapped.setdefault(id(resolver), _InnerResolver(resolver))
        assert isinstance(found, _InnerResolver)
        return found

    def visit(whole: ir.Expr) -> ir.Expr:
        todo = [whole]  # the parts of an expression come after it, and are done before it
        while todo:
            expr = todo[-1]
            if id(expr) in known or not _may_keep(expr):
                todo.pop()
                continue
            parts = ir.children(expr)
            waiting = [part for part in parts if id(part) not in known and _may_keep(part)]
            if waiting:
                todo += waiting
                continue
            todo.pop()
            spend(1 + len(parts))
            known[id(expr)] = rebuilt(expr, tuple([known.get(id(part), part) for part in parts]))
        return known.get(id(whole), whole)

    def rebuilt(expr: ir.Expr, items: tuple[ir.Expr, ...]) -> ir.Expr:
        match expr:
            case ir.Dynamic(resolver):
                other = wrap_resolver(resolver)
                return expr if other is resolver else ir.Dynamic(other)
            case ir.Capture(item, action):
                wrapper = wrap_action(action)
                same = items[0] is item and wrapper is action
                return expr if same else ir.Capture(items[0], wrapper)
        if all(a is b for a, b in zip(ir.children(expr), items, strict=True)):
            return expr
        match expr:
            case ir.Sequence():
                return ir.Sequence(items)
            case ir.Choice():
                return ir.Choice(items)
            case ir.Repeat(_, low, high):
                return ir.Repeat(items[0], low, high)
            case ir.Scope():
                return ir.Scope(items[0])
            case ir.Keyed(_, spec):
                return ir.Keyed(items[0], spec)
        raise TypeError(f"a dynamic rule cannot stand in {type(expr).__name__}")

    bodies = {name: ir.Rule(name, visit(rule.body)) for name, rule in rules.rules.items()}
    return ir.RuleSet(bodies, rules.start, start)


def _may_keep(expr: ir.Expr) -> bool:
    """Return whether an action or a resolver may stand in an expression."""
    return not ir.is_pure(expr) and bool(isinstance(expr, ir.Dynamic) or ir.children(expr))
