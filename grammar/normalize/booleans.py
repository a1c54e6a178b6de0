"""Pass 3: expand regular rules in the operands of `&` and `!`, so that these have no references."""

from __future__ import annotations

from collections.abc import Iterator

from stackmask.grammar.ir import (
    EPSILON,
    NOTHING,
    Capture,
    Complement,
    Dynamic,
    Expr,
    Intersection,
    Keyed,
    KeyTest,
    NotFollowedBy,
    RuleRef,
    RuleSet,
    Scope,
    Slot,
    Span,
    TokenTerminal,
    children,
    walk,
)
from stackmask.grammar.ir.build import rebuild, rewrite, with_bodies
from stackmask.grammar.normalize.graph import (
    components,
    cycle_through,
    facts,
    reachable,
    reference_graph,
    references,
    remove_useless,
)
from stackmask.grammar.normalize.nullable import ends_of, nonempty_part
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError
from stackmask.grammar.source.work import spend
from stackmask.pda.errors import BudgetError
from stackmask.pda.lowering.questions import is_empty

MAX_EXPANDED = 1_000_000  # nodes of one operand once its rules are written out
MAX_LEVELS = 400  # ... and how deeply they nest: some passes go down them by recursion

_BOOLEANS = frozenset({Intersection, Complement})
_FORBIDDEN = {
    NotFollowedBy: "a follow restriction",
    TokenTerminal: "a special token",
    Capture: "a capture or text whose tokens are counted",
    Scope: "a scope",
    Dynamic: "a dynamic rule",
    Keyed: "an object with keys",
    Slot: "an object key",
    KeyTest: "an object key",
}


def expand_booleans(ruleset: RuleSet) -> RuleSet:
    """Return the RuleSet with operands of `&` and `!` that have no references.

    Raises: GrammarError (G107 an operand is recursive, G108 it is not regular, G109 it is too large).
    """
    outermost = {
        name: _outermost_booleans(rule.body)
        for name, rule in ruleset.rules.items()
        if not facts(rule.body).kinds.isdisjoint(_BOOLEANS)
    }
    operands = [item for found in outermost.values() for expr in found for item in children(expr)]
    if not operands:
        return ruleset
    graph = reference_graph(ruleset)
    needed = reachable({name for item in operands for name in facts(item).names}, graph)
    inner = {name: targets for name, targets in graph.items() if name in needed}
    problems = _recursive_operands(operands, inner) + _irregular_operands(operands, inner, ruleset)
    if problems:
        raise GrammarError(problems, ruleset.sources)

    expanded: dict[str, Expr] = {}
    sizes: dict[str, tuple[int, int]] = {}

    def substitute(expr: Expr) -> Expr:
        def leaf(part: Expr) -> Expr:
            if not isinstance(part, RuleRef):
                return part
            body = expanded[part.name]
            return nonempty_part(body, {}) if part.nonempty else body

        return rewrite(expr, leaf)

    def checked_size(expr: Expr, span: Span | None) -> tuple[int, int]:
        """Return the numbers of parts and levels of an expression with rules expanded, within the limits."""
        spend(2 * facts(expr).size)
        found = _size(expr, sizes)
        if found[0] > MAX_EXPANDED:
            raise GrammarError([_too_large(span)], ruleset.sources)
        if found[1] > MAX_LEVELS:
            raise GrammarError([_too_deep(span)], ruleset.sources)
        return found

    for [name] in components(inner):  # callees first; all are single, nothing here is recursive
        body = ruleset.rules[name].body
        sizes[name] = checked_size(body, ruleset.rules[name].span)
        expanded[name] = substitute(body)
    for item in operands:
        checked_size(item, item.span)

    def outside(expr: Expr) -> Expr:
        if isinstance(expr, Intersection | Complement):
            return substitute(expr)
        items = children(expr)
        return rebuild(expr, tuple(map(outside, items))) if items else expr

    # rules that only operands call are not needed any more: written out in each other, they would be quadratic
    calls = {name: list(targets) for name, targets in graph.items()}
    for name, found in outermost.items():
        if found:
            calls[name] = _names_outside(ruleset.rules[name].body)
    needed = reachable([ruleset.start], calls)
    bodies = {}
    for name in ruleset.rules:
        if name not in needed:
            continue
        body = ruleset.rules[name].body
        bodies[name] = outside(body) if name in outermost else body
    return with_bodies(ruleset, bodies)


def _outermost_booleans(body: Expr) -> tuple[Expr, ...]:
    found: list[Expr] = []
    stack = [body]
    seen: set[int] = set()
    while stack:
        expr = stack.pop()
        if id(expr) in seen:
            continue
        seen.add(id(expr))
        if isinstance(expr, Intersection | Complement):
            found.append(expr)
        else:
            stack.extend(reversed(children(expr)))
    spend(len(seen))
    return tuple(found)


def _names_outside(body: Expr) -> list[str]:
    """Return the rules that a body calls outside operands."""
    names: dict[str, None] = {}
    stack = [body]
    while stack:
        expr = stack.pop()
        spend(1)
        if isinstance(expr, RuleRef):
            names[expr.name] = None
        elif not isinstance(expr, Intersection | Complement):
            stack.extend(children(expr))
    return list(names)


def _size(expr: Expr, sizes: dict[str, tuple[int, int]]) -> tuple[int, int]:
    """Return the numbers of parts and levels of an expression. Shared parts count at each occurrence."""
    known: dict[int, tuple[int, int]] = {}

    def visit(expr: Expr) -> tuple[int, int]:
        found = known.get(id(expr))
        if found is None:
            if isinstance(expr, RuleRef):
                found = sizes[expr.name]
            else:
                parts = [visit(item) for item in children(expr)]
                levels = 1 + max((part[1] for part in parts), default=0)
                found = 1 + sum(part[0] for part in parts), levels
            known[id(expr)] = found
        return found

    return visit(expr)


def _too_deep(span: Span | None) -> Diagnostic:
    return Diagnostic(
        "G105",
        f"an operand of `&`, `-` or `!` nests more than {MAX_LEVELS} expressions once its rules are written out",
        span,
        help="let fewer rules with `&`, `-` or `!` lead through each other",
    )


def _too_large(span: Span | None) -> Diagnostic:
    return Diagnostic(
        "G109",
        f"an operand of `&`, `-` or `!` has more than {MAX_EXPANDED} parts once its rules are written out",
        span,
    )


def _recursive_operands(operands: list[Expr], inner: dict[str, tuple[str, ...]]) -> list[Diagnostic]:
    recursive = {
        name
        for component in components(inner)
        for name in component
        if len(component) > 1 or component[0] in inner[component[0]]
    }
    if not recursive:
        return []
    problems = []
    for ref, reached in _reached_by(operands, inner):
        if not recursive.isdisjoint(reached):
            name = ref.name if ref.name in recursive else next(n for n in inner if n in recursive & reached)
            cycle = " → ".join(f"`{n}`" for n in cycle_through(name, inner))
            problems.append(
                Diagnostic(
                    "G107",
                    f"`&`, `-` and `!` need regular operands, and `{name}` is recursive",
                    ref.span,
                    f"recursive: {cycle}",
                    "write the operand without recursion, with `*` or `+`",
                )
            )
    return problems


def _irregular_operands(
    operands: list[Expr], inner: dict[str, tuple[str, ...]], ruleset: RuleSet
) -> list[Diagnostic]:
    def forbidden(expr: Expr) -> Iterator[Expr]:
        if facts(expr).kinds.isdisjoint(_FORBIDDEN):
            return iter(())
        return (e for e in walk(expr) if type(e) in _FORBIDDEN)

    problems = [
        Diagnostic("G108", f"{_FORBIDDEN[type(e)]} is not allowed under `&`, `-` or `!`", e.span or item.span)
        for item in operands
        for e in forbidden(item)
    ]
    offending = {name: e for name in inner if (e := next(forbidden(ruleset.rules[name].body), None))}
    if not offending:
        return problems
    for ref, reached in _reached_by(operands, inner):
        name = next((n for n in offending if n in reached), None)
        if name is not None:
            what = _FORBIDDEN[type(offending[name])]
            problems.append(
                Diagnostic(
                    "G108", f"{what} is not allowed under `&`, `-` or `!`", ref.span, f"rule `{name}` has one"
                )
            )
    return problems


def _reached_by(
    operands: list[Expr], inner: dict[str, tuple[str, ...]]
) -> Iterator[tuple[RuleRef, set[str]]]:
    """Yield each reference in the operands, with all rules to which it leads."""
    cache: dict[str, set[str]] = {}
    for item in operands:
        for ref in references(item):
            if ref.name not in cache:
                cache[ref.name] = reachable([ref.name], inner)
            yield ref, cache[ref.name]


# -- Pass 4: drop `&` and `!` expressions that match nothing, and with them the rules that need them. ----
#
# Emptiness is decided by the automaton's own terms: from the expression, derivatives are followed breadth first
# until one may end.


def drop_empty_booleans(ruleset: RuleSet) -> RuleSet:
    """Return the RuleSet without `&` and `!` whose language is empty, or only ε.

    Raises: GrammarError (G102, G103 for rules that then derive nothing; G117 if the search is too long).
    Cost: few derivatives if the language is not empty, else up to ``Limits.max_explored`` derivatives.
    """
    if all(facts(rule.body).kinds.isdisjoint(_BOOLEANS) for rule in ruleset.rules.values()):
        return ruleset
    verdicts: dict[Expr, Expr] = {}
    problems: list[Diagnostic] = []

    def prune(expr: Expr) -> Expr:
        if isinstance(expr, Intersection | Complement):
            if expr not in verdicts:
                verdicts[expr] = expr
                try:
                    verdicts[expr] = _simplest(expr)
                except BudgetError as error:
                    if error.limit != "max_explored":
                        raise
                    problems.append(
                        Diagnostic(
                            "G117",
                            f"cannot tell within {error.value:,} steps whether anything matches here",
                            expr.span,
                            help="make the operands of `&`, `-` or `!` smaller",
                        )
                    )
            return verdicts[expr]
        items = children(expr)
        return rebuild(expr, tuple(map(prune, items))) if items else expr

    bodies = {}
    for name, rule in ruleset.rules.items():
        known = facts(rule.body)
        spend(known.size)
        bodies[name] = rule.body if known.kinds.isdisjoint(_BOOLEANS) else prune(rule.body)
    if problems:
        raise GrammarError(problems, ruleset.sources)
    return remove_useless(with_bodies(ruleset, bodies), written=ruleset)


def _simplest(expr: Expr) -> Expr:
    """Return ∅ or ε if the expression is equivalent to either."""
    if is_empty(expr):  # mutant: empty-operands
        return NOTHING
    if ends_of(expr, {}) and is_empty(nonempty_part(expr, {})):
        return EPSILON
    return expr
